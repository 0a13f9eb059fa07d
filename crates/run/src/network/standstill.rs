//! Buffers that can be blocked longer than a flow control tolerates whose lowest rate is not zero
//! ([`Standstill`]). Only a scenario that can block a buffer gets the warning.

use xoff_analysis::cbd::{self, Rule, Traffic};
use xoff_mech::LinkFacts;
use xoff_mech::flow_control::FlowControl;
use xoff_mech::flow_control::standstill::Standstill;
use xoff_net::topology::routing::{FlowKey, Routing};
use xoff_net::topology::{NodeKind, Topology};
use xoff_net::workload::Flows;
use xoff_node::SchedulerKind;
use xoff_scenario::{Problem, Problems};
use xoff_units::{NodeId, Rate, Span};

/// Flows and links up to which the routes are examined for a cycle before the run.
const SMALL: usize = 2_000;

/// Parts of a scenario that decide whether a buffer can be blocked.
pub(crate) struct Drains<'a> {
    pub topology: &'a Topology,
    pub flows: &'a Flows,
    pub routing: &'a Routing,
    /// Switches choose among all candidates.
    pub balances: bool,
    pub scheduler: &'a SchedulerKind,
    pub duration: Span,
}

/// Warns about every kind of link whose buffer can be blocked longer than its thresholds tolerate.
pub(crate) fn warn(
    name: &str,
    drains: &Drains<'_>,
    links: &[(LinkFacts, FlowControl)],
    warnings: &mut Problems,
) {
    let short = |(link, fc): &(LinkFacts, FlowControl)| {
        let s = fc.standstill(link)?;
        let longest = s.longest(link.buffer);
        (longest < drains.duration).then_some((*link, s, longest))
    };
    let short: Vec<(LinkFacts, Standstill, Span)> = links.iter().filter_map(short).collect();
    if short.is_empty() {
        return;
    }
    let Some(why) = drains.may_stop(links) else { return };
    for (link, s, longest) in short {
        let lost =
            if longest == Span::ZERO { "at once".to_owned() } else { format!("after {longest}") };
        let what = format!(
            "{name} on {} links keeps sending {} into a blocked buffer, so frames can be lost {lost}: {why}",
            link.rate, s.lowest
        );
        let hint = format!(
            "to lose none in {}, set flow_control.bm = \"{}B\" and switch.buffer = \"{}B\", or use a flow control that pauses its senders",
            drains.duration,
            s.b_m.0,
            (s.b_m + s.room(drains.duration)).0
        );
        warnings.push(Problem::new(what, hint).warning());
    }
}

impl Drains<'_> {
    /// Reason for which a buffer of this network may be blocked for long; `None`: there is none.
    fn may_stop(&self, links: &[(LinkFacts, FlowControl)]) -> Option<String> {
        self.starved().or_else(|| self.slow_egress(links)).or_else(|| self.cycle())
    }

    /// Strict scheduling, and flows of more than one priority.
    fn starved(&self) -> Option<String> {
        let mut priorities: Vec<u8> = self.flows.flows.iter().map(|f| f.priority).collect();
        priorities.extend(
            self.flows
                .jobs
                .iter()
                .flat_map(|j| &j.jobs)
                .filter(|j| j.flows() > 0)
                .map(|j| j.priority),
        );
        priorities.extend(self.flows.loops.iter().flat_map(|l| l.initial().map(|f| f.priority)));
        priorities.sort_unstable();
        priorities.dedup();
        let strict = matches!(self.scheduler, SchedulerKind::Strict);
        let (&low, &high) = priorities.first().zip(priorities.last())?;
        (strict && low < high).then(|| {
            format!("priority {high} can starve priority {low} under scheduler = \"strict\"")
        })
    }

    /// An egress that drains less than the others of its switch send at their lowest rates.
    fn slow_egress(&self, links: &[(LinkFacts, FlowControl)]) -> Option<String> {
        let lowest = |rate: Rate| {
            links
                .iter()
                .filter(|(l, _)| l.rate == rate)
                .find_map(|(l, fc)| fc.standstill(l))
                .map_or(0, |s| s.lowest.0)
        };
        let t = self.topology;
        for (n, node) in
            t.nodes.iter().enumerate().filter(|(_, node)| node.kind == NodeKind::Switch)
        {
            let rate = |port: usize| t.link_at(NodeId(n as u32), port as u16).rate;
            let floors: Vec<u64> = (0..node.ports.len()).map(|p| lowest(rate(p))).collect();
            let all: u64 = floors.iter().sum();
            if let Some(p) = (0..node.ports.len()).find(|&p| rate(p).0 < all - floors[p]) {
                let (port, rest) = (t.port_name(NodeId(n as u32), p as u16), Rate(all - floors[p]));
                return Some(format!(
                    "{port} drains {}, and the other ports bring at least {rest}",
                    rate(p)
                ));
            }
        }
        None
    }

    /// Buffers that wait for each other. Flows that are drawn during the run, and large networks,
    /// are for `xoff check`.
    fn cycle(&self) -> Option<String> {
        let t = self.topology;
        if self.flows.len() > SMALL as u64 || t.links.len() > SMALL {
            return None;
        }
        let all = self.flows.flows.iter().cloned().chain(self.flows.streamed());
        let flows: Vec<cbd::Flow> =
            all.map(|f| cbd::Flow { key: FlowKey::from(&f), path: f.path }).collect();
        let given = Traffic::Flows { flows: &flows, paths: &self.flows.paths };
        let traffic = if self.flows.loops.is_empty() { given } else { Traffic::AllPairs };
        let cyclic = cbd::is_cyclic(t, &Rule::of(self.routing, self.balances), traffic);
        cyclic.then(|| "the buffers of this topology form a cycle (see xoff check)".to_owned())
    }
}
