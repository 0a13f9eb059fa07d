//! Runs scenarios in memory and answers questions about them.

use std::path::Path;

use xoff_mech::detection::{Mark, PortState, Side};
use xoff_net::topology::{PortNumbers, Topology};
use xoff_report::Unit;
use xoff_run::NetworkScenario;
use xoff_scenario::document::Override;
use xoff_sim::{Deadlock, Ended, Model, Outcome, Port, PortTotals, RateSource, Recorder, Row, World};
use xoff_units::{Rate, Span, Time};

use crate::{Context, ReproduceError};

/// Reads an embedded scenario with settings laid over it, each as `path=value`.
pub fn load<S: AsRef<str>>(name: &str, text: &str, settings: &[S]) -> Result<NetworkScenario, ReproduceError> {
    let settings = settings.iter().map(|s| Override::set(s.as_ref())).collect::<Result<Vec<_>, _>>();
    let settings = settings.map_err(xoff_scenario::Problems::from)?;
    Ok(NetworkScenario::from_text(name, text, &settings, Path::new(""))?)
}

/// A finished run with its rows.
pub struct Observed {
    /// The network.
    pub topology: Topology,
    /// Outcome of the run.
    pub outcome: Outcome,
    /// The rows of the probes, in the order of events.
    pub rows: Vec<Row>,
    /// Warnings of the loader, one line each.
    pub warnings: Vec<String>,
}

/// A run of a scenario, its rows in memory.
pub fn observe(cx: &Context, s: &NetworkScenario) -> Result<Observed, ReproduceError> {
    observe_with(cx, s, |_| ())
}

/// A run whose model `change` alters first, for settings that no scenario can describe.
pub fn observe_with(cx: &Context, s: &NetworkScenario, change: impl FnOnce(&mut Model)) -> Result<Observed, ReproduceError> {
    let mut model = s.model();
    change(&mut model);
    let mut world = World::build(&s.topology, s.flows.clone(), &model)?;
    world.record_to(Box::new(Vec::<Row>::new()));
    let ended = world.drive(s.until, |_| cx.go_on().is_ok());
    if ended == Ended::Interrupted {
        return Err(ReproduceError::Interrupted);
    }
    let (outcome, recorder) = world.finish(ended);
    let rows = recorder.and_then(|r: Box<dyn Recorder>| r.into_any().downcast::<Vec<Row>>().ok()).map(|r| *r).unwrap_or_default();
    Ok(Observed { topology: s.topology.clone(), outcome, rows, warnings: s.warnings.iter().map(|p| p.line()).collect() })
}

/// [`load`], then [`observe`].
pub fn run<S: AsRef<str>>(cx: &Context, name: &str, text: &str, settings: &[S]) -> Result<Observed, ReproduceError> {
    observe(cx, &load(name, text, settings)?)
}

/// A time in the unit of figures [ps].
pub fn ps(t: Time) -> f64 {
    t.0 as f64
}
/// Milliseconds in the unit of figures [ps].
pub fn ms(t: f64) -> f64 {
    t * 1e9
}
/// Microseconds in the unit of figures [ps].
pub fn us(t: f64) -> f64 {
    t * 1e6
}

/// A size in words.
pub fn bytes(v: f64) -> String {
    Unit::Bytes.format(v)
}
/// A rate in words.
pub fn rate(v: f64) -> String {
    Unit::BitsPerSecond.format(v)
}
/// A time in words.
pub fn time(ps: f64) -> String {
    Unit::Picoseconds.format(ps)
}

/// Points of a curve: time [ps], value [base unit].
pub type Points = Vec<(f64, f64)>;

/// A mark that a port put on a frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Marked {
    /// Simulated time [ps].
    pub time: f64,
    /// Flow of the frame.
    pub flow: u32,
    /// CE or UE.
    pub mark: Mark,
}

/// Node and port of a name such as `H1->S1`. The name comes from a built-in scenario.
fn find(t: &Topology, name: &str) -> (u32, u16) {
    let (from, to) = name.split_once("->").unwrap_or((name, ""));
    let node = t.find(from).unwrap_or_else(|| panic!("no node '{from}'"));
    let ports = &t.nodes[node as usize].ports;
    let port = ports.iter().position(|p| t.name(p.peer) == to).unwrap_or_else(|| panic!("no port '{name}'"));
    (node, port as u16)
}

impl Observed {
    /// The deadlock that was found first.
    pub fn deadlock(&self) -> Option<&Deadlock> {
        self.outcome.deadlocks.first()
    }

    /// A deadlock's cycle by the names of its ports.
    pub fn cycle(&self, d: &Deadlock) -> String {
        let mut names: Vec<String> = d.cycle.iter().map(|p| self.topology.port_name(p.node, p.port)).collect();
        names.push(names[0].clone());
        names.join(", ")
    }

    /// Fill of the ingress buffer behind a port such as `H1->S1`, sampled or on change.
    pub fn ingress(&self, port: &str) -> Points {
        self.queue(port, Side::Ingress)
    }

    /// Rate of a port: measured over the sampling interval, or allowed by flow control.
    pub fn port_rate(&self, port: &str, wanted: RateSource) -> Points {
        let at = self.number(port);
        let of = |r: &Row| match *r {
            Row::Rate(r) if (r.port, r.flow, r.source) == (at, None, wanted) => Some((r.time_ps as f64, r.rate_bps as f64)),
            _ => None,
        };
        self.rows.iter().filter_map(of).collect()
    }

    /// Rate of a flow: payload that arrived, or the rate of its rate control.
    pub fn flow_rate(&self, number: u32, wanted: RateSource) -> Points {
        let of = |r: &Row| match *r {
            Row::Rate(r) if (r.flow, r.source) == (Some(number as u64), wanted) => Some((r.time_ps as f64, r.rate_bps as f64)),
            _ => None,
        };
        self.rows.iter().filter_map(of).collect()
    }

    /// Egress queue of a port, sampled or on change.
    pub fn egress(&self, port: &str) -> Points {
        self.queue(port, Side::Egress)
    }

    fn queue(&self, port: &str, kind: Side) -> Points {
        let at = self.number(port);
        let of = |r: &Row| match *r {
            Row::Queue(q) if (q.port, q.kind) == (at, kind) => Some((q.time_ps as f64, q.bytes as f64)),
            _ => None,
        };
        self.rows.iter().filter_map(of).collect()
    }

    /// The number of a port such as `H1->S1`, which rows carry.
    fn number(&self, port: &str) -> Port {
        let (node, port) = find(&self.topology, port);
        Port(PortNumbers::new(&self.topology).of(node, port))
    }

    /// Every mark of a port, in order of time. Needs the probe `marks`.
    pub fn marks(&self, port: &str) -> Vec<Marked> {
        let at = self.number(port);
        let of = |r: &Row| match *r {
            Row::Mark(m) if m.port == at => Some(Marked { time: m.time_ps as f64, flow: m.flow as u32, mark: m.mark }),
            _ => None,
        };
        self.rows.iter().filter_map(of).collect()
    }

    /// States of a port as its detector sees them: since when [ps], which. Needs the probe `states`.
    pub fn states(&self, port: &str) -> Vec<(f64, PortState)> {
        let at = self.number(port);
        let of = |r: &Row| match *r {
            Row::State(s) if s.port == at => Some((s.time_ps as f64, s.state)),
            _ => None,
        };
        // Everything begins without congestion.
        std::iter::once((0.0, PortState::NonCongestion)).chain(self.rows.iter().filter_map(of)).collect()
    }

    /// OFF times of a port: from when to when a frame waited and the peer held it [ps]. Needs the probe `causes`.
    pub fn offs(&self, port: &str) -> Vec<(f64, f64)> {
        let at = self.number(port);
        let mut all: Vec<(f64, f64)> = Vec::new();
        for r in &self.rows {
            match *r {
                Row::Hold(h) if h.port == at && h.on => all.push((h.time_ps as f64, ps(self.outcome.now))),
                Row::Hold(h) if h.port == at => {
                    if let Some(last) = all.last_mut() {
                        last.1 = h.time_ps as f64;
                    }
                }
                _ => {}
            }
        }
        all
    }

    /// Counters of a port over the whole run.
    pub fn totals(&self, port: &str) -> &PortTotals {
        let (node, port) = find(&self.topology, port);
        &self.outcome.ports[node as usize][port as usize]
    }

    /// Highest fill of the ingress buffer behind a port over the whole run, every frame counted [bytes].
    pub fn ingress_peak(&self, port: &str) -> f64 {
        let (node, out) = find(&self.topology, port);
        let peer = self.topology.nodes[node as usize].ports[out as usize];
        self.outcome.ports[peer.peer as usize][peer.peer_port as usize].ingress_bytes_max as f64
    }

    /// Highest fill of any ingress buffer of any switch [bytes].
    pub fn peak(&self) -> f64 {
        self.outcome.ports.iter().flatten().map(|p| p.ingress_bytes_max).max().unwrap_or(0) as f64
    }

    /// Smallest rate flow control allowed a port [bit/s].
    pub fn allowed_min(&self, port: &str) -> Option<Rate> {
        let (node, port) = find(&self.topology, port);
        self.outcome.ports[node as usize][port as usize].allowed_min
    }

    /// Flow control messages that went over links.
    pub fn messages(&self) -> u64 {
        self.outcome.ports.iter().flatten().map(|p| p.messages_sent).sum()
    }

    /// Frames that did not arrive, of all causes.
    pub fn lost(&self) -> u64 {
        xoff_run::verdict::losses(&self.outcome).total()
    }

    /// Flows that stop: begun, not complete, and no byte of them arrived in the last `at_least` of the run and up to its end. Unlike
    /// a deadlock this can happen under any flow control, one that only slows ports down too. Needs the probe `flow_rates`, with
    /// samples closer than `at_least`.
    pub fn standing_still(&self, at_least: Span) -> u64 {
        let since = ps(self.outcome.now) - at_least.0 as f64;
        let moved = |f: u32| self.flow_rate(f, RateSource::Measured).iter().any(|p| p.0 > since && p.1 > 0.0);
        let waits = |(f, o): &(usize, &xoff_sim::FlowRecord)| ps(o.flow.start) < since && o.received.is_none() && !moved(*f as u32);
        self.outcome.flows.iter().enumerate().filter(waits).count() as u64
    }

    /// Mean rate of every flow over the last `span` of the run, from the sampled arrivals.
    pub fn rates_at_end(&self, span: Span) -> Vec<f64> {
        let end = ps(self.outcome.now);
        let from = end - span.0 as f64;
        (0..self.outcome.flows.len() as u32).map(|f| mean(&self.flow_rate(f, RateSource::Measured), from, end)).collect()
    }
}

/// Mean of the samples after `from` up to `to`; NaN without any.
pub fn mean(points: &[(f64, f64)], from: f64, to: f64) -> f64 {
    let inside: Vec<f64> = points.iter().filter(|p| p.0 > from && p.0 <= to).map(|p| p.1).collect();
    inside.iter().sum::<f64>() / inside.len() as f64
}

/// Smallest and largest sample after `from` up to `to`; NaN without any.
pub fn range(points: &[(f64, f64)], from: f64, to: f64) -> (f64, f64) {
    points.iter().filter(|p| p.0 > from && p.0 <= to).fold((f64::NAN, f64::NAN), |(low, high), p| (low.min(p.1), high.max(p.1)))
}

/// The highest point, the first of equals; zeros without any.
pub fn highest(points: &[(f64, f64)]) -> (f64, f64) {
    points.iter().fold((0.0, 0.0), |top, p| if p.1 > top.1 { *p } else { top })
}
