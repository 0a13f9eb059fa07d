//! The calls of a driver as a table: written while the network is driven, read by `[messages]`.
//!
//! ```text
//!   Driven --Log--> messages.csv --read--> Call, as the world repeats them
//! ```

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use xoff_net::topology::failures::{self, link_name};
use xoff_net::topology::{NodeKind, Topology};
use xoff_net::workload::{Act, Call, DST_PORT, Flow, UNLIMITED, src_port};
use xoff_scenario::table::{self, Fields, Refusal};
use xoff_scenario::{Problems, Source};
use xoff_units::paged::{PageFile, Paged};
use xoff_units::state::State;
use xoff_units::{NodeId, Rate, Time, flat};

use super::Message;

/// Columns of the table.
const COLUMNS: [&str; 10] = [
    "event",
    "time_ps",
    "call",
    "src",
    "dst",
    "bytes",
    "priority",
    "queue_pair",
    "link",
    "rate_bps",
];

/// Turns messages into flows: counts those without a queue pair, and the queue pairs of each host.
#[derive(Default, State)]
pub(in crate::network) struct Numbering {
    /// Messages without a queue pair of their own, by source and destination.
    sent: HashMap<(NodeId, NodeId), u64>,
    /// Queue pairs by source, destination and number: each counted at its source in the order of
    /// first use.
    pairs: HashMap<(NodeId, NodeId, u16), u32>,
    /// Number of pairs of each source.
    pairs_of: HashMap<NodeId, u32>,
}

impl Numbering {
    /// The flow that the next message is, and its queue pair at its source. It begins when it is
    /// handed in. `label`: that of messages without a queue pair; the next one is that of the others.
    pub fn flow(&mut self, m: &Message, label: u32) -> (Flow, Option<u32>) {
        let nth = match m.queue_pair {
            Some(pair) => pair.into(),
            None => {
                let count = self.sent.entry((m.src, m.dst)).or_insert(0);
                *count += 1;
                *count - 1
            }
        };
        let pair = m.queue_pair.map(|number| {
            *self.pairs.entry((m.src, m.dst, number)).or_insert_with(|| {
                let count = self.pairs_of.entry(m.src).or_insert(0);
                *count += 1;
                *count - 1
            })
        });
        (flow_of(m, nth, label), pair)
    }
}

/// The flow that a message is: the `nth` of its ends by source port.
pub(super) fn flow_of(m: &Message, nth: u64, label: u32) -> Flow {
    Flow {
        src: m.src,
        dst: m.dst,
        priority: m.priority,
        size: m.bytes.max(1),
        start: Time::ZERO,
        rate: None,
        controlled: true,
        src_port: src_port(nth),
        dst_port: DST_PORT,
        path: None,
        // Of a message without a queue pair, late news are not those of a pair with the same ports.
        label: label + u32::from(m.queue_pair.is_some()),
    }
}

/// A call, as the log keeps it.
#[derive(Clone, Copy, Debug, Default, State)]
pub(super) struct Line {
    /// Events of the nodes before it.
    pub after: u64,
    pub at: u64,
    pub what: What,
    /// Source of a message; the link.
    pub a: u32,
    /// Destination of a message.
    pub b: u32,
    /// Bytes; the rate.
    pub amount: u64,
    pub priority: u8,
    pub queue_pair: Option<u16>,
}

/// Kinds of calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, State)]
pub(super) enum What {
    #[default]
    Wait,
    Send,
    FailLink,
    SetRate,
}

const NAMES: [(What, &str); 4] = [
    (What::Wait, "wait"),
    (What::Send, "send"),
    (What::FailLink, "fail_link"),
    (What::SetRate, "set_rate"),
];

impl xoff_units::paged::Flat for What {
    const BYTES: usize = 1;
    fn put(&self, to: &mut [u8]) {
        to[0] = *self as u8;
    }
    fn take(from: &[u8]) -> Self {
        NAMES[usize::from(from[0]) % NAMES.len()].0
    }
}

flat!(Line {
    after: u64,
    at: u64,
    what: What,
    a: u32,
    b: u32,
    amount: u64,
    priority: u8,
    queue_pair: Option<u16>,
});

/// The calls of a driver so far, in pages of a file.
#[derive(Debug)]
pub(super) struct Log {
    lines: Paged<Line>,
    file: PageFile,
}

impl Log {
    pub fn new(file: PageFile) -> Log {
        Log { lines: Paged::new(&file, 0, (1024, 4), |_| Line::default()), file }
    }

    pub fn push(&self, line: Line) {
        self.lines.push(line);
    }

    /// Number of calls.
    pub fn len(&self) -> u64 {
        self.lines.len()
    }

    /// All calls.
    pub fn lines(&self) -> impl Iterator<Item = Line> + '_ {
        self.lines.range(0, self.lines.len())
    }

    /// The file that it is in.
    pub fn file(&self) -> &PageFile {
        &self.file
    }

    /// Writes the table.
    pub fn write(&self, path: &Path, topology: &Topology) -> io::Result<()> {
        if let Some(failed) = self.file.failed() {
            return Err(io::Error::other(failed));
        }
        let mut to = io::BufWriter::new(File::create(path)?);
        writeln!(to, "{}", COLUMNS.join(","))?;
        let node = |n: u32| topology.name(NodeId(n));
        let mut line = String::new();
        for e in self.lines() {
            line.clear();
            let name = NAMES.iter().find(|n| n.0 == e.what).map_or("", |n| n.1);
            _ = write!(line, "{},{},{name},", e.after, e.at);
            _ = match e.what {
                What::Wait => write!(line, ",,,,,,"),
                What::Send => {
                    let pair = e.queue_pair.map_or(String::new(), |p| p.to_string());
                    let (src, dst) = (cell(node(e.a)), cell(node(e.b)));
                    write!(line, "{src},{dst},{},{},{pair},,", e.amount, e.priority)
                }
                What::FailLink => write!(line, ",,,,,{},", cell(&link_name(topology, e.a))),
                What::SetRate => {
                    write!(line, ",,,,,{},{}", cell(&link_name(topology, e.a)), e.amount)
                }
            };
            writeln!(to, "{line}")?;
        }
        to.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
    }
}

/// A field of a comma-separated table.
fn cell(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r', '#']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}

/// Reads the table. `label`: see [`Numbering::flow`].
///
/// # Errors
/// Everything wrong with it, each with its place.
pub(in crate::network) fn read(
    source: &Arc<Source>,
    topology: &Topology,
    label: u32,
) -> Result<Vec<Call>, Problems> {
    let hosts: HashMap<&str, NodeId> = (0u32..)
        .zip(&topology.nodes)
        .filter(|(_, n)| n.kind == NodeKind::Host)
        .map(|(i, n)| (n.name.as_str(), NodeId(i)))
        .collect();
    let (mut numbering, mut last) = (Numbering::default(), (0, 0));
    let rows = table::read(source, &COLUMNS, &COLUMNS[..3], |fields| {
        let call = row(fields, topology, &hosts, |m| numbering.flow(m, label))?;
        let place = (call.after, call.at.0);
        if place.0 < last.0 || place.1 < last.1 {
            let what = format!("event {} at {} ps is before the line above", place.0, place.1);
            return Err((what, "expected the calls in the order in which they were made".into()));
        }
        last = place;
        Ok(call)
    })?;
    Ok(rows.into_iter().map(|(call, _)| call).collect())
}

fn row(
    fields: &Fields<'_>,
    topology: &Topology,
    hosts: &HashMap<&str, NodeId>,
    flow: impl FnOnce(&Message) -> (Flow, Option<u32>),
) -> Result<Call, Refusal> {
    let text = |key: &str, expected: &str| {
        fields.get(key).ok_or_else(|| (format!("'{key}' is empty"), format!("expected {expected}")))
    };
    let wrong = |key: &str, given: &str, expected: &str| {
        let given = xoff_scenario::suggest::clip(given);
        (format!("{key}: '{given}'"), format!("expected {expected}"))
    };
    let number = |key: &str, most: u64| {
        let expected = format!("a whole number up to {most}");
        let given = text(key, &expected)?;
        let read = given.parse::<u64>().ok().filter(|n| *n <= most);
        read.ok_or_else(|| wrong(key, given, &expected))
    };
    let (after, at) = (number("event", u64::MAX)?, Time(number("time_ps", Time::NEVER.0 - 1)?));
    let link = || {
        let given = text("link", "the name of a link")?;
        failures::find_link(topology, given)
            .map_err(|e| (format!("link: {}", e.what), e.hint.clone()))
    };
    let names = NAMES.map(|n| n.1).join(", ");
    let given = text("call", &names)?;
    let what = NAMES.iter().find(|n| n.1 == given).map(|n| n.0);
    let act = match what.ok_or_else(|| wrong("call", given, &format!("one of {names}")))? {
        What::Wait => Act::Wait,
        What::FailLink => Act::Fail(link()?),
        What::SetRate => {
            let (link, rate) = (link()?, number("rate_bps", u64::MAX)?);
            let most = topology.links[link as usize].rate.0;
            if rate == 0 || rate > most {
                let expected = format!("more than 0, and at most {most}, the rate of the link");
                return Err(wrong("rate_bps", &rate.to_string(), &expected));
            }
            Act::SetRate(link, Rate(rate))
        }
        What::Send => {
            let host = |key: &str| {
                let given = text(key, "the name of a host")?;
                let host = hosts.get(given).copied();
                host.ok_or_else(|| wrong(key, given, "the name of a host"))
            };
            let (src, dst) = (host("src")?, host("dst")?);
            if src == dst {
                return Err(wrong("dst", topology.name(dst), "another host than the source"));
            }
            let queue_pair = match fields.get("queue_pair") {
                Some(_) => Some(number("queue_pair", u16::MAX.into())? as u16),
                None => None,
            };
            let message = Message {
                src,
                dst,
                bytes: number("bytes", UNLIMITED - 1)?,
                priority: number("priority", 7)? as u8,
                queue_pair,
                tag: 0,
            };
            let (flow, queue_pair) = flow(&message);
            Act::Send { flow: Flow { start: at, ..flow }, queue_pair }
        }
    };
    Ok(Call { after, at, act })
}
