//! `flow.txt` and `trace.txt`: the flows, and the traced nodes.
//!
//! ```text
//!   count
//!   src dst pg dport size_bytes start_seconds      once per flow, sorted by start
//!   src dst pg size_bytes start_seconds            the same in conweave-ns3
//! ```

use std::sync::Arc;

use super::ns3;
use crate::words::{Line, Words};
use crate::{Problem, Problems, Source};

/// One flow of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HpccFlow {
    /// Sending host.
    pub src: u32,
    /// Receiving host.
    pub dst: u32,
    /// Priority group, 0 to 7.
    pub pg: u8,
    /// Source port; `None`: ports count from 10000 for each pair of hosts.
    pub sport: Option<u16>,
    /// Destination port.
    pub dport: u16,
    /// Payload [bytes].
    pub size: u64,
    /// Effective start: the seconds of the file, cut off as ns-3 does [ns].
    pub start_ns: u64,
}

/// A flow file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HpccFlows {
    /// The flows in the order of the file, sorted by start.
    pub flows: Vec<HpccFlow>,
    /// Differences from the original, for the user.
    pub warnings: Problems,
}

impl HpccFlows {
    /// Reads a flow file; `is_switch` comes from the topology.
    ///
    /// # Errors
    /// Every line that is no flow between two hosts, with its place.
    pub fn read(source: &Arc<Source>, is_switch: &[bool]) -> Result<HpccFlows, Problems> {
        let mut w = Words::new(source);
        let mut flows = HpccFlows::default();
        parse(&mut w, is_switch, &COLUMNS, &mut flows);
        w.problems.or(flows)
    }

    /// Reads a flow file of conweave-ns3. Ports count there: from 10000 for each source, from 100
    /// for each destination.
    ///
    /// # Errors
    /// The same.
    pub fn read_conweave_ns3(
        source: &Arc<Source>,
        is_switch: &[bool],
    ) -> Result<HpccFlows, Problems> {
        let mut w = Words::new(source);
        let mut flows = HpccFlows::default();
        let columns: Vec<&str> = COLUMNS.into_iter().filter(|name| *name != "dport").collect();
        parse(&mut w, is_switch, &columns, &mut flows);
        let mut ports = vec![(10_000u16, 100u16); is_switch.len()];
        for flow in &mut flows.flows {
            let sport = &mut ports[flow.src as usize].0;
            flow.sport = Some(*sport);
            *sport = sport.wrapping_add(1);
            let dport = &mut ports[flow.dst as usize].1;
            flow.dport = *dport;
            *dport = dport.wrapping_add(1);
        }
        w.problems.or(flows)
    }
}

/// Columns of a flow.
const COLUMNS: [&str; 6] = ["src", "dst", "pg", "dport", "size_bytes", "start_seconds"];

fn parse(w: &mut Words<'_>, is_switch: &[bool], columns: &[&str], out: &mut HpccFlows) {
    let mut lines = w.lines().filter(|l| !l.words.is_empty());
    let Some(count) = announced(w, lines.next(), "the flow file") else { return };
    let mut found = 0;
    let mut last_ns = 0;
    for line in lines {
        found += 1;
        if found > count {
            w.refuse(
                &line.words[0].span,
                "the file continues after the last flow",
                format!("the first line announces {count} flows"),
            );
            return;
        }
        let what = format!("flow {found}");
        let flow = flow_line(w, &line, (&what, columns), is_switch, &mut out.warnings);
        let Some(flow) = flow else { continue };
        if flow.start_ns < last_ns {
            let hint = "expected flows sorted by start, as in the original";
            let start = &line.words[columns.len() - 1];
            w.refuse(&start.span, format!("{what}: starts before the previous flow"), hint);
        }
        last_ns = flow.start_ns;
        out.flows.push(flow);
    }
    if found < count {
        let end = w.source.text().len();
        w.refuse(
            &(end..end),
            format!("{found} flows in the file"),
            format!("the first line announces {count}"),
        );
    }
}

/// The count on a line of its own.
fn announced(w: &mut Words<'_>, line: Option<Line<'_>>, what: &str) -> Option<u64> {
    let Some(line) = line else {
        w.refuse(&(0..0), format!("{what} is empty"), "expected the count on the first line");
        return None;
    };
    if !w.expect(&line, "first line", &["count"]) {
        return None;
    }
    w.count(&line.words[0], "count", u32::MAX.into())
}

fn flow_line(
    w: &mut Words<'_>,
    line: &Line<'_>,
    (what, columns): (&str, &[&str]),
    is_switch: &[bool],
    warnings: &mut Problems,
) -> Option<HpccFlow> {
    if !w.expect(line, what, columns) {
        return None;
    }
    let [src, dst, pg, dport @ .., size, start] = line.words.as_slice() else { return None };
    let mut host = |word, name| {
        let name = format!("{what}: {name}");
        let id = w.count(word, &name, u32::MAX.into())?;
        let end = is_switch.len().saturating_sub(1);
        match is_switch.get(id as usize) {
            Some(false) => return Some(id as u32),
            Some(true) => {
                w.refuse(&word.span, format!("{name}: node {id} is a switch"), "expected a host")
            }
            None => w.refuse(
                &word.span,
                format!("{name}: there is no node {id}"),
                format!("nodes are 0 to {end}"),
            ),
        }
        None
    };
    let ends = (host(src, "src"), host(dst, "dst"));
    if ends.0.is_some() && ends.0 == ends.1 {
        w.refuse(
            &dst.span,
            format!("{what}: the source is the destination"),
            "expected two different hosts",
        );
    }
    let pg = w.count(pg, &format!("{what}: pg"), 7);
    let dport = match dport.first() {
        Some(dport) => w.count(dport, &format!("{what}: dport"), u16::MAX.into()),
        None => Some(0),
    };
    let bytes = w.count(size, &format!("{what}: size_bytes"), 1 << 60);
    match bytes {
        Some(0) => {
            let p = Problem::new(
                format!("{what}: a flow of 0 bytes"),
                "as in the original, the flow sends nothing and never completes",
            );
            warnings.push(p.at(w.place(&size.span)).warning());
        }
        Some(bytes) if bytes > u32::MAX.into() => {
            let p = Problem::new(
                format!("{what}: {bytes} bytes"),
                "the original would send fewer, because it counts in 32 bits; xoff sends \
                                                                all",
            );
            warnings.push(p.at(w.place(&size.span)).warning());
        }
        _ => {}
    }
    let seconds = w.number(start, &format!("{what}: start_seconds"));
    let start_ns = seconds.and_then(ns3::seconds_to_ns);
    if seconds.is_some() && start_ns.is_none() {
        w.refuse(
            &start.span,
            format!("{what}: start_seconds: {} is too late", start.text),
            "expected at most 18446744 seconds",
        );
    }
    Some(HpccFlow {
        src: ends.0?,
        dst: ends.1?,
        pg: pg? as u8,
        sport: None,
        dport: dport? as u16,
        size: bytes?,
        start_ns: start_ns?,
    })
}

/// Reads a trace file: a count and as many node ids. Ids beyond the last node are skipped there;
/// here they are reported.
///
/// # Errors
/// A file that is not a count with as many numbers. Ids beyond the last node are no failure: they
/// are returned as problems.
pub fn read_trace(source: &Arc<Source>, nodes: usize) -> Result<(Vec<u32>, Problems), Problems> {
    let mut w = Words::new(source);
    let mut warnings = Problems::default();
    let mut ids = Vec::new();
    let mut words = w.lines().flat_map(|l| l.words);
    let Some(count) = words.next() else {
        w.refuse(&(0..0), "the trace file is empty", "expected the count on the first line");
        return w.problems.or((ids, warnings));
    };
    let Some(count) = w.count(&count, "count", u32::MAX.into()) else {
        return w.problems.or((ids, warnings));
    };
    for (i, word) in words.enumerate() {
        if i as u64 >= count {
            w.refuse(
                &word.span,
                "the file continues after the last node id",
                format!("the first line announces {count}"),
            );
            break;
        }
        match w.count(&word, "node id", u32::MAX.into()) {
            Some(id) if id < nodes as u64 => ids.push(id as u32),
            Some(id) => {
                let p = Problem::new(
                    format!("node id: there is no node {id}"),
                    format!("nodes are 0 to {}; xoff skips this id", nodes.saturating_sub(1)),
                );
                warnings.push(p.at(w.place(&word.span)).warning());
            }
            None => {}
        }
    }
    let found = ids.len() + warnings.len();
    if w.problems.is_empty() && (found as u64) < count {
        let end = source.text().len();
        w.refuse(
            &(end..end),
            format!("{found} node ids in the file"),
            format!("the first line announces {count}"),
        );
    }
    w.problems.or((ids, warnings))
}
