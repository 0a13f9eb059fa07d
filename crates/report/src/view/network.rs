//! Data of the report of a network's run: topology, totals, samples over time, waiting ports.

use std::collections::BTreeMap;

use crate::mechanism;
use serde::Serialize;
use xoff_mech::detection::Mark;
use xoff_net::topology::{NodeKind, PortNumbers, Topology};
use xoff_record::Manifest;
use xoff_record::verdict::Tone;
use xoff_run::{Course, Finished, NetworkScenario, PortLook};
use xoff_sim::{Deadlock, FlowRecord, PortTotals};
use xoff_units::{NodeId, PortId, Span, Time, grouped};

use crate::view::flows::{FlowsView, LISTED_MAX};
use crate::view::jobs::{JobView, jobs_of};
use crate::view::layout::layout;
use crate::view::page::{Blob, Column};

/// A part of one as the page gets it: ten thousand are all.
const WHOLE: f64 = 10_000.0;
/// Deadlocks that are listed.
const DEADLOCKS_MAX: usize = 16;

/// Parts of a scenario that a report draws.
#[derive(Clone, Debug)]
pub struct Drawn {
    subject: String,
    topology: Topology,
}

impl Drawn {
    /// Parts of this scenario.
    pub fn of(s: &NetworkScenario) -> Drawn {
        Drawn { subject: subject(s), topology: s.topology.clone() }
    }
}

/// State of a run, finished or not.
#[derive(Clone, Copy)]
pub struct Seen<'a> {
    /// Up to this time.
    pub now: Time,
    /// Counters by node and port.
    pub ports: &'a [Vec<PortTotals>],
    /// Flows that have begun.
    pub flows: &'a [FlowRecord],
    /// By flow: its completion time alone in the network, where that is known.
    pub ideals: &'a [Option<Span>],
    /// Deadlocks found.
    pub deadlocks: &'a [Deadlock],
    /// Samples over time.
    pub course: Option<&'a Course>,
}

impl<'a> Seen<'a> {
    /// State of a finished run.
    pub fn of(f: &'a Finished) -> Seen<'a> {
        let o = &f.outcome;
        Seen {
            now: o.now,
            ports: &o.ports,
            flows: &o.flows,
            ideals: &f.ideals,
            deadlocks: &o.deadlocks,
            course: f.course.as_ref(),
        }
    }
}

/// Number at the top of the report.
#[derive(Clone, Debug, Serialize)]
pub struct Fact {
    /// Name of the number.
    pub label: &'static str,
    /// Value with its unit.
    pub value: String,
    /// A few words under it.
    pub note: String,
    /// Class of its colour.
    pub tone: &'static str,
}

/// Nodes, by number.
#[derive(Serialize)]
struct Nodes {
    name: Vec<String>,
    x: Vec<f64>,
    y: Vec<f64>,
    host: Vec<u8>,
}

/// Directed ports, by number.
#[derive(Serialize)]
struct Ports {
    node: Column,
    peer: Column,
    rate: Column,
    /// Suffix of a port name, for parallel links.
    suffix: BTreeMap<u32, String>,
}

/// Counters over the whole run, by port.
#[derive(Serialize)]
struct Totals {
    tx: Column,
    pauses: Column,
    paused_ps: Column,
    blocks: Column,
    blocked_ps: Column,
    marked: Column,
    marked_ue: Column,
    dropped: Column,
    egress_max: Column,
    ingress_max: Column,
}

/// Waiting port: port, priority, start (none: rate-limited), and the frames in the peer: port that
/// they wait for, flow, bytes.
type Wait = (u32, u8, Option<u64>, Vec<(u32, u32, u64)>);

/// Samples over time: by port, then by sample.
#[derive(Serialize)]
struct CourseView {
    times: Vec<u64>,
    /// Bytes sent since the previous sample.
    sent: Column,
    /// Time paused since the previous sample.
    stopped: Column,
    /// Rate that flow control allows, as a part of the line's.
    limit: Column,
    /// Egress queue [bytes].
    egress: Column,
    /// Ingress buffer of the peer [bytes].
    ingress: Column,
    /// Frames marked since the previous sample.
    marked: Column,
    waiters: Vec<Option<Vec<Wait>>>,
}

#[derive(Serialize)]
struct StuckView {
    port: u32,
    priority: u8,
    frames: u32,
    bytes: u64,
    start_ps: u64,
}

#[derive(Serialize)]
struct DeadlockView {
    start_ps: u64,
    seen_ps: u64,
    stuck: usize,
    ports: Vec<StuckView>,
}

/// All of it.
#[derive(Serialize)]
pub struct RunView {
    /// Scenario, flow control and seed in one line.
    pub subject: String,
    end_ps: u64,
    tiers: bool,
    nodes: Nodes,
    ports: Ports,
    totals: Totals,
    course: Option<CourseView>,
    flows: FlowsView,
    deadlocks: Vec<DeadlockView>,
    /// Jobs of ranks.
    pub jobs: Vec<JobView>,
    /// The run's folder, as commands name it.
    folder: String,
    /// Parts that the report leaves out, one sentence each.
    pub left_out: Vec<String>,
    /// Numbers at the top.
    pub facts: Vec<Fact>,
    /// The run is live: the report requests new data.
    pub live: bool,
    /// Frames were real, so xoff cannot repeat it.
    pub real: bool,
    /// Server answers questions.
    served: bool,
}

impl RunView {
    /// Data of a finished run in this folder; columns go into `blob`.
    pub fn new(s: &NetworkScenario, f: &Finished, folder: &str, blob: &mut Blob) -> RunView {
        let view = RunView::seen(&Drawn::of(s), &Seen::of(f), folder, blob);
        let mut left_out = left_out(f);
        let jobs = jobs_of(s, f, blob, &mut left_out);
        RunView { left_out, facts: facts(f), jobs, ..view }
    }

    /// Data of a run so far.
    pub fn seen(s: &Drawn, f: &Seen, folder: &str, blob: &mut Blob) -> RunView {
        let t = &s.topology;
        let numbers = PortNumbers::new(t);
        let places = numbers.places();
        let rates: Vec<f64> =
            places.iter().map(|p| t.link_at(p.node, p.port).rate.0 as f64).collect();
        let base = |n: NodeId, p: u16| {
            format!("{}->{}", t.name(n), t.name(t.nodes[n.index()].ports[p as usize].peer))
        };
        let suffix = |(i, p): (usize, &PortId)| {
            let rest = t.port_name(p.node, p.port).strip_prefix(&base(p.node, p.port))?.to_owned();
            (!rest.is_empty()).then_some((i as u32, rest))
        };
        let place = layout(t);
        let course = f.course.filter(|c| c.looks.len() > 1);
        RunView {
            subject: s.subject.clone(),
            end_ps: f.now.0,
            tiers: place.tiers,
            nodes: Nodes {
                name: t.nodes.iter().map(|n| n.name.clone()).collect(),
                x: place.x,
                y: place.y,
                host: t.nodes.iter().map(|n| u8::from(n.kind == NodeKind::Host)).collect(),
            },
            ports: Ports {
                node: blob.u32(places.iter().map(|p| p.node.0)),
                peer: blob.u32((0..numbers.len() as u32).map(|i| numbers.peer(i))),
                rate: blob.f64(rates.iter().copied()),
                suffix: places.iter().enumerate().filter_map(suffix).collect(),
            },
            totals: totals(f, &numbers, blob),
            course: course.map(|c| of_course(c, numbers.len(), blob)),
            flows: FlowsView::new(f),
            deadlocks: f
                .deadlocks
                .iter()
                .take(DEADLOCKS_MAX)
                .map(|d| deadlock(d, &numbers))
                .collect(),
            jobs: Vec::new(),
            folder: folder.into(),
            left_out: Vec::new(),
            facts: Vec::new(),
            live: false,
            real: false,
            served: false,
        }
    }
}

/// Name of a run.
pub fn title(s: &NetworkScenario) -> &str {
    if s.title.is_empty() { "Run" } else { &s.title }
}

/// The scenario's title, its flow control and rate control, and the seed.
fn subject(s: &NetworkScenario) -> String {
    let kinds = [s.flow_control, s.rate_control].into_iter().filter(|k| *k != "none");
    let names = kinds.map(|k| mechanism(k).map_or(k, |m| m.name).to_owned());
    let parts =
        std::iter::once(title(s).to_owned()).chain(names).chain([format!("seed {}", s.seed)]);
    parts.collect::<Vec<_>>().join(" \u{b7} ")
}

fn totals(f: &Seen, numbers: &PortNumbers, blob: &mut Blob) -> Totals {
    let own = |of: fn(&PortTotals) -> u64| -> Vec<f64> {
        numbers
            .places()
            .iter()
            .map(|p| of(&f.ports[p.node.index()][p.port as usize]) as f64)
            .collect()
    };
    // Counters of the peer belong to the port that sends.
    let far = |of: fn(&PortTotals) -> u64| -> Vec<f64> {
        let at = own(of);
        (0..numbers.len() as u32).map(|i| at[numbers.peer(i) as usize]).collect()
    };
    Totals {
        tx: blob.f64(own(|t| t.tx_bytes)),
        pauses: blob.f64(own(|t| t.pauses)),
        paused_ps: blob.f64(own(|t| t.paused_ps)),
        blocks: blob.f64(own(|t| t.blocks)),
        blocked_ps: blob.f64(own(|t| t.blocked_ps)),
        marked: blob.f64(own(|t| t.marked.of(Mark::Ce))),
        marked_ue: blob.f64(own(|t| t.marked.of(Mark::Ue))),
        dropped: blob.f64(far(|t| t.dropped)),
        egress_max: blob.f64(own(|t| t.egress_bytes_max)),
        ingress_max: blob.f64(far(|t| t.ingress_bytes_max)),
    }
}

fn of_course(c: &Course, ports: usize, blob: &mut Blob) -> CourseView {
    let looks = &c.looks;
    // Time since the previous sample; the first sample has none.
    let spans: Vec<f64> = (0..looks.len())
        .map(|i| if i == 0 { 0.0 } else { looks[i].at.since(looks[i - 1].at).0 as f64 })
        .collect();
    let part = |value: f64| (value * WHOLE).round().clamp(0.0, WHOLE) as u16;
    let grown = |i: usize, of: &dyn Fn(&PortLook) -> u64| {
        if i == 0 { 0 } else { of(&looks[i]) - of(&looks[i - 1]) }
    };
    let share = |grown: f64, whole: f64| if whole > 0.0 { part(grown / whole) } else { 0 };
    let cells = || (0..ports).flat_map(|p| (0..looks.len()).map(move |i| (p, i)));
    CourseView {
        times: looks.iter().map(|l| l.at.0).collect(),
        sent: blob.whole(cells().map(|(p, i)| grown(i, &|l| l.ports[p].tx_bytes))),
        stopped: blob
            .u16(cells().map(|(p, i)| share(grown(i, &|l| l.ports[p].paused_ps) as f64, spans[i]))),
        limit: blob.u16(cells().map(|(p, i)| part(f64::from(looks[i].ports[p].allowed)))),
        egress: blob.u32(cells().map(|(p, i)| looks[i].ports[p].egress_bytes)),
        ingress: blob.u32(cells().map(|(p, i)| looks[i].ports[p].ingress_bytes)),
        marked: blob.whole(cells().map(|(p, i)| grown(i, &|l| u64::from(l.ports[p].marked)))),
        waiters: looks
            .iter()
            .map(|l| l.waiters.as_ref().map(|w| w.iter().map(waits).collect()))
            .collect(),
    }
}

fn waits(w: &xoff_run::Waiter) -> Wait {
    (
        w.port.0,
        w.priority,
        w.since.map(|t| t.0),
        w.behind.iter().map(|&(p, flow, bytes)| (p.0, flow, bytes)).collect(),
    )
}

fn deadlock(d: &Deadlock, numbers: &PortNumbers) -> DeadlockView {
    let stuck = |p: &xoff_sim::StuckPort| StuckView {
        port: numbers.of(p.node, p.port),
        priority: p.priority,
        frames: p.frames,
        bytes: p.bytes.0,
        start_ps: p.since.0,
    };
    DeadlockView {
        start_ps: d.closed.0,
        seen_ps: d.seen.0,
        stuck: d.stuck_ports,
        ports: d.cycle.iter().map(stuck).collect(),
    }
}

/// Parts that the report leaves out, and their places.
fn left_out(f: &Finished) -> Vec<String> {
    let mut out = Vec::new();
    let flows = f.outcome.flows.len();
    match &f.course {
        None => {
            out.push("No samples over time were recorded; totals and flows are complete.".into())
        }
        Some(c) => match c.absent_because() {
            Some(why) => out.push(format!("No samples over time: {why}.")),
            None => {
                let longest =
                    c.looks.windows(2).map(|w| w[1].at.since(w[0].at).0).max().unwrap_or(0);
                let text = format!(
                    "{} samples over time, at most {} apart. Bytes, pauses and marks between two samples are exact; buffers are values at a sample.",
                    c.looks.len().saturating_sub(1),
                    Span(longest)
                );
                out.push(text);
            }
        },
    }
    let forward = &f.outcome.fast_forwarded;
    if forward.skipped.0 > 0 {
        out.push(format!(
            "The state recurred after {}. Fast-forward skipped {} of the run, which is one interval here.",
            forward.longest, forward.skipped
        ));
    }
    if flows > LISTED_MAX {
        out.push(format!("{LISTED_MAX} of {flows} flows are listed, unfinished and slow ones first; curves and percentiles count all."));
    }
    if f.outcome.deadlocks.len() > DEADLOCKS_MAX {
        out.push(format!("{DEADLOCKS_MAX} of {} deadlocks are shown.", f.outcome.deadlocks.len()));
    }
    out.push("Values of a port are sums over its priorities, also its paused times. The tables in the run's folder hold all rows.".into());
    out
}

/// Class of a tone.
pub fn class(tone: Tone) -> &'static str {
    match tone {
        Tone::Good => "good",
        Tone::Caution => "caution",
        Tone::Bad => "bad",
    }
}

/// Numbers at the top.
pub fn facts(f: &Finished) -> Vec<Fact> {
    let (m, o): (&Manifest, _) = (&f.manifest, &f.outcome);
    let plain = |label, value: String, note: String| Fact { label, value, note, tone: "neutral" };
    let mut facts =
        vec![plain("Simulated time", Span(o.now.0).to_string(), m.ended_because.clone())];
    let unfinished = o
        .flows
        .iter()
        .filter(|r| r.received.is_none() && r.flow.size != xoff_net::workload::UNLIMITED)
        .count();
    facts.push(Fact {
        label: "Flows complete",
        value: format!("{} of {}", grouped(m.flows_completed), grouped(m.flows_total)),
        note: match (unfinished as u64, m.flows_total.saturating_sub(m.flows_completed)) {
            (0, 0) => String::new(),
            (0, open) => format!("{} of unlimited size", grouped(open)),
            (unfinished, _) => format!("{} unfinished", grouped(unfinished)),
        },
        tone: if unfinished > 0 { "caution" } else { "neutral" },
    });
    if let Some(s) = &m.slowdown {
        let at_least = if s.censored > 0 { "≥ " } else { "" };
        facts.push(plain(
            "Slowdown, 99th percentile",
            format!("{at_least}{:.2}", s.p99),
            format!("median {at_least}{:.2}", s.median),
        ));
    }
    let sum = |of: fn(&PortTotals) -> u64| o.ports.iter().flatten().map(of).sum::<u64>();
    let stopped = o.ports.iter().flatten().filter(|t| t.pauses + t.blocks > 0).count();
    let ports = if stopped == 1 { "port" } else { "ports" };
    facts.push(plain(
        "Pauses",
        grouped(sum(|t| t.pauses)),
        format!("{} {ports} paused or blocked at least once", grouped(stopped as u64)),
    ));
    let lost = m.lost_frames;
    let tone = if lost > 0 { "bad" } else { "good" };
    facts.push(Fact { label: "Frames lost", value: grouped(lost), note: String::new(), tone });
    use xoff_record::verdict::Deadlock as D;
    let (value, note, tone) = match m.verdict.as_ref().map(|v| &v.parts().deadlock) {
        Some(D::None) => ("none".to_owned(), "checked during the whole run".to_owned(), "good"),
        Some(D::Found { ports, .. }) => (
            o.deadlocks.first().map_or("yes".into(), |d| format!("at {}", d.closed)),
            format!("{} ports in the cycle", ports.len()),
            "bad",
        ),
        Some(D::NotChecked { why }) => ("not checked".to_owned(), why.clone(), "caution"),
        None => ("unknown".to_owned(), String::new(), "caution"),
    };
    facts.push(Fact { label: "Deadlock", value, note, tone });
    facts
}

/// Numbers at the top of the report of a live run.
pub fn live_facts(f: &Seen) -> Vec<Fact> {
    let plain = |label, value: String, tone| Fact { label, value, note: String::new(), tone };
    let sum = |of: fn(&PortTotals) -> u64| f.ports.iter().flatten().map(of).sum::<u64>();
    let done = f.flows.iter().filter(|r| r.received.is_some()).count();
    let dropped = sum(|t| t.dropped);
    let deadlock = f.deadlocks.first().map_or("none so far".into(), |d| format!("at {}", d.closed));
    vec![
        plain("Time", Span(f.now.0 / 1_000_000_000 * 1_000_000_000).to_string(), "info"),
        plain(
            "Flows complete",
            format!("{} of {}", grouped(done as u64), grouped(f.flows.len() as u64)),
            "neutral",
        ),
        plain("Pauses", grouped(sum(|t| t.pauses)), "neutral"),
        plain("Frames dropped", grouped(dropped), if dropped > 0 { "bad" } else { "good" }),
        plain("Deadlock", deadlock, if f.deadlocks.is_empty() { "good" } else { "bad" }),
    ]
}

#[cfg(test)]
mod tests {
    use crate::mechanism::{FLOW_CONTROLS, Mechanism, RATE_CONTROLS};

    #[test]
    fn every_mechanism_has_a_name_and_a_colour() {
        let kinds = |all: &[Mechanism]| {
            all.iter().map(|m| m.kind).collect::<std::collections::BTreeSet<_>>()
        };
        assert_eq!(
            kinds(&FLOW_CONTROLS),
            xoff_mech::flow_control::REGISTRY.iter().map(|e| e.name).collect()
        );
        assert_eq!(
            kinds(&RATE_CONTROLS),
            xoff_mech::rate_control::REGISTRY.iter().map(|e| e.name).collect()
        );
        let colours: std::collections::BTreeSet<_> =
            FLOW_CONTROLS.iter().map(|m| m.colour).collect();
        assert_eq!(colours.len(), FLOW_CONTROLS.len(), "two flow controls have the same colour");
    }
}
