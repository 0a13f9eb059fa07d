//! The chain from a paused port back to its root.
//!
//! A run is deterministic, so it needs no log. The explanation runs the scenario again up to the
//! requested time, from its start or from a checkpoint. A probe records the contents of the buffer
//! whenever a port is paused or slowed down. The explanation then follows
//!
//! ```text
//!   port paused since t0 -> the buffer it waits for, at t0 -> the egress most of it waits for -> paused at t0? ...
//! ```
//!
//! until an egress is free (a bottleneck), a port comes a second time (a deadlock), or the buffer
//! belongs to a host.

mod message;

use std::any::Any;
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex};

use xoff_net::topology::PortNumbers;
use xoff_net::topology::names::{What, find_port};
use xoff_sim::{
    CauseRow, Ended, FlowRecord, HoldChange, Outcome, RateRow, Recorder, Row, Selection, World,
};
use xoff_units::params::ParamError;
use xoff_units::{Bytes, NodeId, Rate, Time};

use crate::network::NetworkScenario;
use crate::network::checkpoint::Saved;

pub use message::{MessageExplanation, explain_message};

/// A directed port.
type PortId = (NodeId, u16);

/// Kind of a restraint on a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// The port could not send.
    Stopped,
    /// The port could send at this rate only.
    Slowed(Rate),
}

/// Step of the chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The port that waits, `S1->S2`.
    pub port: String,
    /// Priority.
    pub priority: u8,
    /// Since when.
    pub since: Time,
    /// Kind of the restraint.
    pub how: How,
    /// Bytes of its frames in the buffer at its far end at that instant.
    pub held: Bytes,
    /// Egresses that these frames waited for, most first: port and bytes.
    pub waiting_for: Vec<(String, Bytes)>,
    /// Flows of these frames, most first: flow number, source, destination, bytes.
    pub flows: Vec<(u32, String, String, Bytes)>,
}

/// End of the chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Root {
    /// The port was neither held nor slowed down at that time.
    NotHeld,
    /// The last step waits for the port of an earlier one again.
    Cycle {
        /// Number of that step.
        step: usize,
        /// Consequence for its ports.
        circle: Circle,
    },
    /// A free port that gets more traffic than its link can carry. With the flows that it served,
    /// by bytes.
    Bottleneck {
        /// The port.
        port: String,
        /// Rate of the port.
        rate: Rate,
        /// Number of ports that feed it at this switch.
        ingresses: usize,
    },
    /// The far end of the last step is a host, or held nothing: only its own flow control shows
    /// why.
    FarEnd,
}

/// Ports that wait for each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Circle {
    /// The deadlock detector found that none of them can ever send again.
    Deadlock,
    /// None could send then; the detector found no deadlock among them, or is off.
    Stopped,
    /// The ports slow each other down, and still send.
    Slowed,
}

/// An explanation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// The instant asked about.
    pub at: Time,
    /// The chain, from the port asked about.
    pub steps: Vec<Step>,
    /// End of the chain.
    pub root: Root,
}

/// A change of a port's state: when, and how it is restrained from then on (`None`: free).
type Change = (Time, Option<How>);
/// A part of a buffer: the port it waits for, its flow, its size.
type Share = (PortId, u32, Bytes);

#[derive(Default)]
struct Log {
    /// Restraints that began before the checkpoint from which the run was repeated: since when, is
    /// not known.
    older: BTreeSet<(PortId, u8)>,
    /// True after a query for such a restraint.
    incomplete: Cell<bool>,
    /// Changes by port and priority, in order of time.
    states: BTreeMap<(PortId, u8), Vec<Change>>,
    /// Awaited egresses of the frames that filled the buffer, by port, priority and time.
    causes: BTreeMap<(PortId, u8, Time), Vec<Share>>,
}

struct Collector {
    log: Arc<Mutex<Log>>,
    ports: PortNumbers,
    /// Rate of each port's link.
    lines: Vec<Rate>,
}

impl Recorder for Collector {
    fn row(&mut self, row: &Row) {
        let mut log = self.log.lock().unwrap_or_else(|e| e.into_inner());
        match *row {
            Row::Hold(HoldChange { time_ps, port, priority, on }) => {
                log.states
                    .entry((self.ports.place(port.0).into(), priority))
                    .or_default()
                    .push((Time(time_ps), on.then_some(How::Stopped)));
            }
            Row::Rate(RateRow { time_ps, port, priority: Some(priority), rate_bps, .. }) => {
                let line = self.lines[port.0 as usize];
                let how = match Rate(rate_bps) {
                    Rate::ZERO => Some(How::Stopped),
                    r if r < line => Some(How::Slowed(r)),
                    _ => None,
                };
                log.states
                    .entry((self.ports.place(port.0).into(), priority))
                    .or_default()
                    .push((Time(time_ps), how));
            }
            Row::Cause(CauseRow { time_ps, port, priority, flow, next_port, bytes }) => {
                let parts = log
                    .causes
                    .entry((self.ports.place(port.0).into(), priority, Time(time_ps)))
                    .or_default();
                let (next, flow, bytes) =
                    (self.ports.place(next_port.0).into(), flow as u32, Bytes(bytes));
                // A pause and the hold it leads to may fall on one instant: then the buffer is
                // reported twice.
                match parts.iter_mut().find(|(n, f, _)| (*n, *f) == (next, flow)) {
                    Some(known) => known.2 = bytes,
                    None => parts.push((next, flow, bytes)),
                }
            }
            _ => {}
        }
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

impl Log {
    /// Restraint of a port at `at`, and the start of its unbroken duration.
    fn state(&self, port: PortId, priority: u8, at: Time) -> Option<(Time, How)> {
        let changes = self.states.get(&(port, priority))?;
        let until = changes.partition_point(|(t, _)| *t <= at);
        let how = changes[..until].last()?.1?;
        // Back to the first change of an unbroken series of the same kind of restraint.
        let stopped = |h: Option<How>| matches!(h, Some(How::Stopped));
        let first = changes[..until]
            .iter()
            .rev()
            .take_while(|(_, h)| h.is_some() && stopped(*h) == stopped(Some(how)))
            .last()?;
        let since = match how {
            How::Stopped => first,
            How::Slowed(_) => changes[..until].last()?, // the latest stage is the best evidence
        };
        if self.older.contains(&(port, priority)) && std::ptr::eq(since, &raw const changes[0]) {
            self.incomplete.set(true);
        }
        let since = since.0;
        Some((since, how))
    }

    fn cause(&self, port: PortId, priority: u8, since: Time) -> &[Share] {
        self.causes.get(&(port, priority, since)).map_or(&[], Vec::as_slice)
    }
}

/// Explains why `port` (`S1->S2`) waited at `at`; `priority`: that of the port's first restraint
/// found, if not given.
///
/// # Errors
/// An unknown port, a time after the end, and a network that cannot be built: the argument or key,
/// and the expected form.
pub fn explain(
    scenario: &NetworkScenario,
    port: &str,
    at: Time,
    priority: Option<u8>,
    look: impl FnMut(Time) -> bool,
) -> Result<Explanation, ParamError> {
    explain_in(scenario, None, port, at, priority, look)
}

/// Checkpoints that are tried, the latest first: where a chain began before one, it is repeated
/// from an earlier one.
const TRIED_MAX: usize = 2;

/// Explanation of a run in a folder: repeated from a checkpoint, if there is one and the answer
/// does not depend on earlier events.
///
/// # Errors
/// As [`explain`].
pub fn explain_in(
    scenario: &NetworkScenario,
    folder: Option<&Path>,
    port: &str,
    at: Time,
    priority: Option<u8>,
    mut look: impl FnMut(Time) -> bool,
) -> Result<Explanation, ParamError> {
    let start = find_port(&scenario.topology, "PORT", port, What::Port)?;
    if at > scenario.until {
        return Err(ParamError::new(
            "TIME",
            format!("{at} is after the end of the run at {}", scenario.until),
            "choose an earlier time",
        ));
    }
    let mut before = at;
    for _ in 0..TRIED_MAX {
        // One that cannot be used is no reason not to explain.
        let Some(saved) = folder.and_then(|f| Saved::of(scenario, f, before)) else { break };
        before = Time(saved.time().0.saturating_sub(1));
        if let Some(e) = explain_from(scenario, Some(&saved), start, at, priority, &mut look)? {
            return Ok(e);
        }
    }
    let e = explain_from(scenario, None, start, at, priority, &mut look)?;
    Ok(e.expect("name an earlier time"))
}

/// `None`: it began before the checkpoint.
fn explain_from(
    scenario: &NetworkScenario,
    from: Option<&Saved>,
    start: PortId,
    at: Time,
    priority: Option<u8>,
    look: &mut impl FnMut(Time) -> bool,
) -> Result<Option<Explanation>, ParamError> {
    let Some((mut outcome, log)) = simulate(scenario, from, at, look)? else { return Ok(None) };
    let priority =
        priority.or_else(|| (0..8).find(|&p| log.state(start, p, at).is_some())).unwrap_or(0);
    let mut e = follow(scenario, &log, &outcome.flows, start, priority, at);
    if log.incomplete.get() {
        return Ok(None);
    }
    if let Root::Cycle { step, circle: Circle::Stopped } = e.root {
        let closed = |o: &Outcome| {
            let is_of_circle = |p: &xoff_sim::StuckPort| {
                e.steps[step..]
                    .iter()
                    .any(|s| s.port == scenario.topology.port_name(p.node, p.port))
            };
            o.deadlocks.iter().any(|d| d.closed <= at && d.cycle.iter().any(is_of_circle))
        };
        // The detector looks now and then: its next poll may be after the time that was asked
        // about.
        let next_looks = (at + scenario.model.deadlock_interval + scenario.model.deadlock_interval)
            .min(scenario.until);
        if !closed(&outcome)
            && next_looks > at
            && let Some((later, _)) = simulate(scenario, from, next_looks, look)?
        {
            outcome = later;
        }
        if closed(&outcome) {
            e.root = Root::Cycle { step, circle: Circle::Deadlock };
        }
    }
    Ok(Some(e))
}

/// Repeats the run up to a time, from a checkpoint or from its start, and records which ports
/// waited for which buffers. `None`: the checkpoint does not fit.
fn simulate(
    scenario: &NetworkScenario,
    from: Option<&Saved>,
    until: Time,
    look: &mut impl FnMut(Time) -> bool,
) -> Result<Option<(Outcome, Log)>, ParamError> {
    scenario.keeps_flows()?;
    let topology = &scenario.topology;
    let mut model = scenario.model();
    model.probes = Default::default();
    model.probes.rate_changes = Selection::All;
    model.probes.causes = true;
    model.fast_forward = false; // the state is read at a time of its own
    if let Some(saved) = from {
        (model.threads, model.engine) = (saved.threads(), saved.engine());
    }
    let mut world = World::build(topology, scenario.flows.clone(), &model)?;
    drop(model);
    let mut log = Log::default();
    if let Some(saved) = from {
        if saved.restore(&mut world).is_err() {
            return Ok(None);
        }
        for (port, priority, rate) in world.restrained() {
            let port = port.into();
            let how = if rate == Rate::ZERO { How::Stopped } else { How::Slowed(rate) };
            log.older.insert((port, priority));
            log.states.insert((port, priority), vec![(saved.time(), Some(how))]);
        }
    }
    let log = Arc::new(Mutex::new(log));
    let ports = PortNumbers::new(topology);
    let lines = ports.places().iter().map(|p| topology.link_at(p.node, p.port).rate).collect();
    world.record_to(Box::new(Collector { log: log.clone(), ports, lines }));
    world.drive(until, |w| look(w.now()));
    let (outcome, _) = world.finish(Ended::TimeUp);
    let log = std::mem::take(&mut *log.lock().unwrap_or_else(|e| e.into_inner()));
    Ok(Some((outcome, log)))
}

fn follow(
    scenario: &NetworkScenario,
    log: &Log,
    flows: &[FlowRecord],
    start: PortId,
    priority: u8,
    at: Time,
) -> Explanation {
    let t = &scenario.topology;
    let name = |p: PortId| t.port_name(p.0, p.1);
    let mut visited: Vec<PortId> = Vec::new();
    let mut steps = Vec::new();
    let (mut port, mut instant) = (start, at);
    let root = loop {
        let Some((since, how)) = log.state(port, priority, instant) else {
            if steps.is_empty() {
                break Root::NotHeld;
            }
            let ports = &t.nodes[port.0.index()].ports;
            break Root::Bottleneck {
                port: name(port),
                rate: t.link_at(port.0, port.1).rate,
                ingresses: ports.len().saturating_sub(1),
            };
        };
        if let Some(step) = visited.iter().position(|v| *v == port) {
            let slowed = steps[step..].iter().any(|s: &Step| s.how != How::Stopped);
            break Root::Cycle {
                step,
                circle: if slowed { Circle::Slowed } else { Circle::Stopped },
            };
        }
        visited.push(port);
        let (mut by_port, mut by_flow) =
            (BTreeMap::<PortId, u64>::new(), BTreeMap::<u32, u64>::new());
        for &(next, flow, bytes) in log.cause(port, priority, since) {
            *by_port.entry(next).or_default() += bytes.0;
            *by_flow.entry(flow).or_default() += bytes.0;
        }
        let mut by_port: Vec<(PortId, u64)> = by_port.into_iter().collect();
        by_port.sort_by_key(|&(p, b)| (std::cmp::Reverse(b), p));
        let mut by_flow: Vec<(u32, u64)> = by_flow.into_iter().collect();
        by_flow.sort_by_key(|&(f, b)| (std::cmp::Reverse(b), f));
        let flow_names = |(f, b): (u32, u64)| {
            let w = &flows[f as usize].flow;
            (f, t.name(w.src).to_owned(), t.name(w.dst).to_owned(), Bytes(b))
        };
        steps.push(Step {
            port: name(port),
            priority,
            since,
            how,
            held: Bytes(by_port.iter().map(|p| p.1).sum()),
            waiting_for: by_port.iter().map(|&(p, b)| (name(p), Bytes(b))).collect(),
            flows: by_flow.into_iter().map(flow_names).collect(),
        });
        let Some(&(next, _)) = by_port.first() else { break Root::FarEnd };
        // In a deadlock every port waits since before the others did: ask about now as well.
        instant = if log.state(next, priority, since).is_some() { since } else { at };
        port = next;
    };
    Explanation { at, steps, root }
}

/// Up to four of a list, and how many more there are.
fn list(items: Vec<String>) -> String {
    let more = items.len().saturating_sub(4);
    let mut text = items.into_iter().take(4).collect::<Vec<_>>().join(", ");
    if more > 0 {
        text.push_str(&format!(" and {more} more"));
    }
    text
}

impl Explanation {
    /// The root in a line.
    pub fn headline(&self) -> String {
        let last = self.steps.last().map_or("", |s| s.port.as_str());
        match &self.root {
            Root::NotHeld => {
                format!("Not paused: at {} the port was free to send at full rate.", self.at)
            }
            Root::Cycle { step, circle } => {
                let ring: Vec<&str> = self.steps[*step..].iter().map(|s| s.port.as_str()).collect();
                let ring = |verb: &str| {
                    format!(
                        "{} {verb} {}",
                        ring.join(&format!(" {verb} ")),
                        ring.first().unwrap_or(&"")
                    )
                };
                match circle {
                    Circle::Deadlock => format!(
                        "Deadlock: {}. None of these ports can send again.",
                        ring("waits for")
                    ),
                    Circle::Stopped => {
                        format!(
                            "Circle: {}. The detector found no deadlock, or is off (run.deadlock_interval).",
                            ring("waits for")
                        )
                    }
                    Circle::Slowed => format!(
                        "Circle: {}. All of these ports still send.",
                        ring("is slowed down by")
                    ),
                }
            }
            Root::Bottleneck { port, rate, ingresses } => {
                format!(
                    "Root: {port} is the bottleneck: up to {ingresses} ports send to it and exceed its {rate}."
                )
            }
            Root::FarEnd => {
                format!(
                    "Root: {}, the far end of {last}: it is a host, or held none of the port's frames.",
                    far_end(last)
                )
            }
        }
    }
}

/// The node to which a port sends.
fn far_end(port: &str) -> &str {
    port.split("->").nth(1).unwrap_or("").split('#').next().unwrap_or("")
}

impl fmt::Display for Explanation {
    /// The root, then every step from the port to it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.headline())?;
        for (i, s) in self.steps.iter().enumerate() {
            let how = match s.how {
                How::Stopped => "paused".to_owned(),
                How::Slowed(r) => format!("slowed down to {r}"),
            };
            write!(
                f,
                "\n{}. {} has been {how} since {} (priority {}).",
                i + 1,
                s.port,
                s.since,
                s.priority
            )?;
            let far = far_end(&s.port);
            if s.held.0 == 0 {
                write!(f, "\n   {far} then held no frame from it.")?;
                continue;
            }
            // The sum is that of the parts: a single part needs no number of its own.
            let out = match &s.waiting_for[..] {
                [(port, _)] => format!("all for {port}"),
                several => format!(
                    "for {}",
                    list(several.iter().map(|(p, b)| format!("{p} ({b})")).collect())
                ),
            };
            let flows = match &s.flows[..] {
                [(n, from, to, _)] => format!("all of flow {n} ({from} to {to})"),
                several => {
                    format!(
                        "of {}",
                        list(
                            several
                                .iter()
                                .map(|(n, a, b, bytes)| format!("flow {n} {a} to {b} ({bytes})"))
                                .collect()
                        )
                    )
                }
            };
            write!(f, "\n   {far} then held {} from it, {out}, {flows}.", s.held)?;
        }
        writeln!(f)
    }
}
