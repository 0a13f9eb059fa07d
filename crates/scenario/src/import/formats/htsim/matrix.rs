//! `.cm`: flows. As strict as the programs are: one space between words, comments only before the
//! first item.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;

use crate::{Place, Problem, Problems, Source, suggest};
use xoff_units::{Bytes, Span};

use crate::import::Options;
use crate::import::network::{Flow, Start};
use crate::import::options::StartUnit;
use crate::import::text::{Line, end, lines};

/// Contents of a matrix.
pub(super) struct Matrix {
    pub nodes: u64,
    pub nodes_at: Place,
    pub flows: Vec<Flow>,
    pub left_out: Vec<String>,
    pub warnings: Problems,
    /// All connections, and the events that those with triggers wait for.
    pub connections: Vec<Connection>,
    pub triggers: BTreeMap<u64, Trigger>,
}

/// Condition under which a trigger starts its targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TriggerKind {
    /// All at its first activation.
    OneShot,
    /// One at each activation.
    MultiShot,
    /// All at this activation, counted from 1.
    Barrier(u64),
}

/// A trigger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trigger {
    /// Condition of the trigger.
    pub kind: TriggerKind,
    /// Line in the file.
    pub place: Range<usize>,
}

/// A connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connection {
    /// Number of the sending host.
    pub src: usize,
    /// Number of the receiving host.
    pub dst: usize,
    /// Payload [bytes].
    pub size: Bytes,
    /// Start; `None`: with its trigger.
    pub start: Option<Span>,
    /// The trigger that starts it.
    pub trigger: Option<u64>,
    /// The trigger that it activates when its sender is done.
    pub send_done: Option<u64>,
    /// The trigger that it activates when its receiver has all.
    pub receive_done: Option<u64>,
    /// Line in the file.
    pub place: Range<usize>,
}

const HEAD: [&str; 4] = ["Nodes", "Connections", "Triggers", "Failures"];
const WORDS: [&str; 7] =
    ["id", "start", "size", "trigger", "send_done_trigger", "recv_done_trigger", "prio"];
/// Above this many microseconds, picoseconds were meant.
const START_MAX_US: f64 = 1e5;

#[derive(Default)]
struct Items {
    head: HashMap<&'static str, (u64, Option<Place>)>,
    connections: u64,
    triggers: BTreeMap<u64, Trigger>,
    /// Connections with everything that was read of them.
    all: Vec<Connection>,
    failures: u64,
    ids: HashMap<u64, bool>,
    /// Triggers that flows name.
    named: Vec<(u64, Place)>,
    waiting: u64,
    with_prio: u64,
    latest_us: f64,
}

/// Reads it.
pub(super) fn read(source: &Arc<Source>, options: &Options) -> Result<Matrix, Problem> {
    let (mut items, mut flows, mut in_body) = (Items::default(), Vec::new(), false);
    for line in lines(source) {
        let text = line.text.trim_end_matches([' ', '\r']);
        if text.is_empty() {
            continue;
        }
        let words: Vec<&str> = text.split(' ').collect();
        if !in_body {
            if let (Some(key), 2) = (HEAD.iter().find(|k| **k == words[0]), words.len()) {
                let n = line.count(words[1], key, u32::MAX.into())?;
                if items.head.insert(key, (n, Some(line.place_of(words[1])))).is_some() {
                    return Err(line.problem(
                        words[0],
                        format!("{key} is defined twice"),
                        "keep one of the two",
                    ));
                }
                continue;
            }
            if text.starts_with('#') {
                continue;
            }
        }
        match words[0] {
            "trigger" => trigger(&line, &words, &mut items)?,
            "failure" => items.failures += 1,
            first if first.contains("->") => {
                flows.extend(connection(&line, &words, &mut items, options)?)
            }
            first if in_body || text.contains("->") => {
                let hint = match text.starts_with('#') {
                    true => "htsim allows comments before the first item only",
                    false => {
                        "expected SRC->DST without spaces around the arrow, trigger, or failure"
                    }
                };
                return Err(line.problem(
                    first,
                    format!("'{}' is not a connection, trigger or failure", suggest::clip(first)),
                    hint,
                ));
            }
            // htsim skips unknown lines before the first item.
            _ => continue,
        }
        in_body = true;
    }
    items.finish(source, flows, options)
}

fn trigger(line: &Line<'_>, words: &[&str], items: &mut Items) -> Result<(), Problem> {
    let form = "expected trigger id N oneshot, multishot, or barrier count K";
    let at = |i: usize| words.get(i).copied().unwrap_or_default();
    if at(1) != "id" || words.len() < 4 {
        return Err(line.problem("", "a trigger without id or kind", form));
    }
    let id = line.count(at(2), "trigger id", u32::MAX.into())?;
    let kind = match at(3) {
        "oneshot" if words.len() == 4 => TriggerKind::OneShot,
        "multishot" if words.len() == 4 => TriggerKind::MultiShot,
        "barrier" if words.len() == 6 && at(4) == "count" => {
            TriggerKind::Barrier(line.count(at(5), "count", u32::MAX.into())?)
        }
        "barrier" => return Err(line.problem("", "a barrier without count", form)),
        other => {
            return Err(line.problem(
                other,
                format!("unknown kind of trigger '{}'", suggest::clip(other)),
                form,
            ));
        }
    };
    if items.triggers.insert(id, Trigger { kind, place: line.span() }).is_some() {
        return Err(line.problem(
            at(2),
            format!("trigger {id} is defined twice"),
            "keep one of the two",
        ));
    }
    Ok(())
}

/// Options after `SRC->DST`.
#[derive(Default)]
struct Given<'l> {
    of: HashMap<&'static str, &'l str>,
    msg: bool,
}

fn given<'l>(line: &Line<'_>, words: &[&'l str]) -> Result<Given<'l>, Problem> {
    let mut given = Given::default();
    let mut i = 1;
    while i < words.len() {
        let word = words[i];
        match word {
            "" => {
                return Err(line.problem(
                    "",
                    "two spaces in a row",
                    "htsim takes one space between words, and no tab",
                ));
            }
            "addon" => i += 1,
            "msg" => {
                given.msg = true;
                i += 1 + usize::from(words.get(i + 1).is_some_and(|w| w.parse::<u64>().is_ok()));
            }
            _ => {
                let Some(key) = WORDS.iter().find(|k| **k == word) else {
                    return Err(line.problem(
                        word,
                        format!("unknown word '{}'", suggest::clip(word)),
                        suggest::hint(word, "words", &WORDS),
                    ));
                };
                let Some(value) = words.get(i + 1).filter(|v| !v.is_empty()) else {
                    return Err(line.problem(
                        word,
                        format!("{key} without a value"),
                        "expected a number after it",
                    ));
                };
                if given.of.insert(key, value).is_some() {
                    return Err(line.problem(
                        word,
                        format!("{key} is defined twice"),
                        "keep one of the two",
                    ));
                }
                i += 2;
            }
        }
    }
    Ok(given)
}

/// A connection; `None` where it waits for a trigger.
fn connection(
    line: &Line<'_>,
    words: &[&str],
    items: &mut Items,
    options: &Options,
) -> Result<Option<Flow>, Problem> {
    let nodes = items.head.get("Nodes").map_or(0, |n| n.0);
    let (src, dst) = words[0].split_once("->").unwrap_or_default();
    let host = |part: &str| {
        let n = line.count(part, "host", u32::MAX.into())?;
        match n < nodes {
            true => Ok(n as usize),
            false => Err(line.problem(
                part,
                format!("host {n}, but Nodes is {nodes}"),
                "hosts count from 0",
            )),
        }
    };
    let (src, dst) = (host(src)?, host(dst)?);
    if src == dst {
        return Err(line.problem(
            words[0],
            "the connection leads from a host to itself",
            "expected two different hosts",
        ));
    }
    let given = given(line, words)?;
    let number =
        |key: &str, max: u64| given.of.get(key).map(|v| line.count(v, key, max)).transpose();
    let id = number("id", u32::MAX.into())?;
    if id == Some(0) {
        return Err(line.problem(given.of["id"], "id 0", "ids count from 1"));
    }
    for key in ["trigger", "send_done_trigger", "recv_done_trigger"] {
        if let Some(n) = number(key, u32::MAX.into())? {
            if id.is_none() {
                return Err(line.problem(
                    given.of[key],
                    format!("{key} without an id"),
                    "a connection with a trigger needs an id",
                ));
            }
            items.named.push((n, line.place_of(given.of[key])));
        }
    }
    match (given.of.contains_key("start"), given.of.contains_key("trigger")) {
        (true, true) => {
            return Err(line.problem(
                given.of["trigger"],
                "the connection has both start and trigger",
                "keep one of the two",
            ));
        }
        (false, false) => {
            return Err(line.problem(
                "",
                "the connection has neither start nor trigger",
                "give one of the two",
            ));
        }
        _ => {}
    }
    if !given.of.contains_key("size") {
        return Err(line.problem("", "no size", "expected size BYTES"));
    }
    // The programs keep it in 32 bits.
    let size = number("size", (1 << 31) - 1)?.unwrap_or(0);
    if let Some(id) = id
        && items.ids.insert(id, given.msg).is_some_and(|before| !(before && given.msg))
    {
        return Err(line.problem(
            given.of["id"],
            format!("id {id} is defined twice"),
            "give each its own id",
        ));
    }
    number("prio", u32::MAX.into())?;
    items.with_prio += u64::from(given.of.contains_key("prio"));
    items.connections += 1;
    if size == 0 {
        return Err(line.problem(given.of["size"], "size 0", "htsim never sends such a flow"));
    }
    let ends = |key: &str| number(key, u32::MAX.into());
    let (trigger, send_done, receive_done) =
        (ends("trigger")?, ends("send_done_trigger")?, ends("recv_done_trigger")?);
    let mut all = Connection {
        src,
        dst,
        size: Bytes(size),
        start: None,
        trigger,
        send_done,
        receive_done,
        place: line.span(),
    };
    let Some(start) = given.of.get("start") else {
        items.waiting += 1;
        items.all.push(all);
        return Ok(None);
    };
    let value = start.parse::<f64>().ok().filter(|v| v.is_finite() && (0.0..=1e18).contains(v));
    let value = value.ok_or_else(|| {
        line.problem(
            start,
            format!("start: '{}' is not a number", suggest::clip(start)),
            "expected a number from 0",
        )
    })?;
    let start = match options.start_unit {
        StartUnit::Us => Span((value * 1e6) as u64),
        StartUnit::Ps => Span(value as u64),
    };
    items.latest_us = items.latest_us.max(value);
    all.start = Some(start);
    items.all.push(all);
    Ok(Some(Flow { src, dst, size: Bytes(size), start: Start::At(start) }))
}

impl Items {
    fn finish(
        self,
        source: &Arc<Source>,
        flows: Vec<Flow>,
        options: &Options,
    ) -> Result<Matrix, Problem> {
        let counted = [
            ("Connections", self.connections),
            ("Triggers", self.triggers.len() as u64),
            ("Failures", self.failures),
        ];
        for (key, found) in counted {
            let (stated, place) = self.head.get(key).cloned().unwrap_or((0, None));
            if stated != found {
                let what = format!("{key} is {stated}, but the file lists {found}");
                let place = place.unwrap_or_else(|| end(source));
                return Err(
                    Problem::new(what, "correct the number; htsim also rejects the file").at(place)
                );
            }
        }
        if let Some((id, place)) = self.named.iter().find(|(id, _)| !self.triggers.contains_key(id))
        {
            return Err(Problem::new(
                format!("trigger {id} is not defined"),
                format!("expected a line 'trigger id {id} oneshot'"),
            )
            .at(place.clone()));
        }
        let Some((nodes, Some(nodes_at))) = self.head.get("Nodes").cloned() else {
            return Err(Problem::new(
                "the file has no Nodes",
                "expected the number of hosts first",
            )
            .at(source.place(0..0)));
        };
        let mut left_out = Vec::new();
        let mut warnings = Problems::default();
        if self.waiting > 0 {
            left_out.push(format!(
                "{} connections that wait for a trigger, because a flow of xoff has a start time",
                self.waiting
            ));
        }
        if self.with_prio > 0 {
            left_out.push(format!(
                "prio of {} connections, which only htsim's scheduler uses",
                self.with_prio
            ));
        }
        if self.failures > 0 {
            left_out.push(format!("{} failures of links", self.failures));
        }
        let refuse =
            |what: &str, hint: &str| Problem::new(what, hint).at(source.place(0..0)).warning();
        match options.start_unit {
            StartUnit::Us if self.latest_us > START_MAX_US => {
                warnings.push(refuse(
                    "connections start after 100 ms: the unit may be picoseconds",
                    "if so, use --start-unit ps",
                ));
            }
            StartUnit::Ps if self.latest_us > 0.0 && self.latest_us < 1e6 => {
                warnings.push(refuse(
                    "all connections start before 1 us: the unit may be microseconds",
                    "if so, remove --start-unit",
                ));
            }
            _ => {}
        }
        Ok(Matrix {
            nodes,
            nodes_at,
            flows,
            left_out,
            warnings,
            connections: self.all,
            triggers: self.triggers,
        })
    }
}
