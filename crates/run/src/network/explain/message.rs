//! Reason why a message took so long: the port of its path that was restrained longest meanwhile,
//! and the chain from there to its root.

use std::fmt;

use xoff_sim::FlowRecord;
use xoff_units::params::ParamError;
use xoff_units::{Rate, Span, Time};

use super::{Explanation, How, Log, PortId, follow, simulate};
use crate::network::NetworkScenario;
use crate::network::ideal::Ideals;
use crate::network::jobs::shared;

/// Flows that are listed in words.
const LISTED_MAX: usize = 4;

/// An explanation of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageExplanation {
    /// Flow of the message.
    pub flow: u32,
    /// Source of the message.
    pub src: String,
    /// Destination of the message.
    pub dst: String,
    /// Since when it was under way.
    pub from: Time,
    /// Time of its arrival.
    pub to: Time,
    /// The egress ports that it went through, or may have where load balancing chose.
    pub path: Vec<String>,
    /// For how long the port at the beginning of the chain was stopped or slowed down meanwhile.
    pub restrained: Span,
    /// The chain behind that port; `None`: no port of its path was restrained.
    pub chain: Option<Explanation>,
    /// The port of its path through which most bytes of other hosts went meanwhile, and their
    /// flows: number, source, destination.
    pub shared: Option<(String, Vec<FlowName>)>,
}

/// Number, source and destination of a flow.
pub type FlowName = (u32, String, String);

/// Explains why a flow took from one time to another. The run is repeated up to the second, from
/// its start.
///
/// # Errors
/// A flow that is not there, a time after the end, and a network that cannot be built: the problem,
/// and the expected form.
pub fn explain_message(
    scenario: &NetworkScenario,
    flow: u32,
    (from, to): (Time, Time),
    mut look: impl FnMut(Time) -> bool,
) -> Result<MessageExplanation, ParamError> {
    if to > scenario.until {
        return Err(ParamError::new(
            "TIME",
            format!("{to} is after the end of the run at {}", scenario.until),
            "choose an earlier time",
        ));
    }
    let (outcome, log) = simulate(scenario, None, to, &mut look)?.expect("name an earlier time");
    let Some(f) = outcome.flows.get(flow as usize) else {
        return Err(ParamError::new(
            "flow",
            format!("there is no flow {flow}"),
            "check that the scenario is the same",
        ));
    };
    let t = &scenario.topology;
    let ideals = Ideals::new(scenario, &outcome);
    let path =
        |f: &FlowRecord| ideals.ports(ideals.epoch(f.flow.start), &f.flow).unwrap_or_default();
    let ports = path(f);
    let rate = |p: &PortId| t.link_at(p.0, p.1).rate;
    let held = |p: &PortId| log.restrained(*p, f.flow.priority, (from, to), rate(p));
    // Of equal ones the first on the path.
    let most =
        ports.iter().filter_map(|p| Some((*p, held(p)?))).rev().max_by_key(|(_, (sum, _))| *sum);
    let name = |(n, p): PortId| t.port_name(n, p);
    let ends = |flow: u32| {
        let w = &outcome.flows[flow as usize].flow;
        (flow, t.name(w.src).to_owned(), t.name(w.dst).to_owned())
    };
    let (_, src, dst) = ends(flow);
    Ok(MessageExplanation {
        flow,
        src,
        dst,
        from,
        to,
        path: ports.iter().copied().map(name).collect(),
        restrained: most.map_or(Span::ZERO, |m| m.1.0),
        chain: most.map(|(port, (_, at))| {
            follow(scenario, &log, &outcome.flows, port, f.flow.priority, at)
        }),
        shared: shared(scenario, &outcome, flow, (from.0, to.0))
            .map(|(port, with)| (name(port), with.into_iter().map(ends).collect())),
    })
}

impl Log {
    /// For how long a port was stopped between two times, or as much of them as slowing down took
    /// of its rate, and the middle of the longest such stretch; `None`: never.
    fn restrained(
        &self,
        port: PortId,
        priority: u8,
        (from, to): (Time, Time),
        line: Rate,
    ) -> Option<(Span, Time)> {
        let changes = self.states.get(&(port, priority))?;
        let ends = changes.iter().skip(1).map(|c| c.0).chain([Time::NEVER]);
        let (mut sum, mut longest) = (0, None);
        for (&(begin, how), end) in changes.iter().zip(ends) {
            let (a, b) = (begin.max(from), end.min(to));
            let Some(how) = how.filter(|_| a < b) else { continue };
            let length = b.since(a).0;
            let lost = match how {
                How::Stopped => length,
                How::Slowed(rate) => {
                    (length as u128 * line.0.saturating_sub(rate.0) as u128 / line.0.max(1) as u128)
                        as u64
                }
            };
            sum += lost;
            if longest.is_none_or(|(most, _)| lost > most) {
                longest = Some((lost, Time(a.0 + length / 2)));
            }
        }
        longest.map(|(_, at)| (Span(sum), at))
    }
}

impl fmt::Display for MessageExplanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "Flow {}, {} to {}, took from {} to {}.",
            self.flow, self.src, self.dst, self.from, self.to
        )?;
        if !self.path.is_empty() {
            writeln!(f, "Path: {}", self.path.join(", "))?;
        }
        match &self.chain {
            Some(chain) => {
                let first = chain.steps.first().map_or("", |s| &s.port);
                writeln!(
                    f,
                    "{first} was paused or slowed down for {} of that time. At {}:",
                    self.restrained, chain.at
                )?;
                write!(f, "{chain}")?;
            }
            None => {
                writeln!(f, "Flow control paused or slowed down no port of its path in that time.")?
            }
        }
        let Some((port, with)) = &self.shared else {
            return writeln!(f, "No flow of another host used a port of its path in that time.");
        };
        let mut list: Vec<String> =
            with.iter().take(LISTED_MAX).map(|(n, a, b)| format!("flow {n} {a} to {b}")).collect();
        list.extend((with.len() > LISTED_MAX).then(|| format!("{} more", with.len() - LISTED_MAX)));
        writeln!(f, "It shared {port} with {}.", list.join(", "))
    }
}
