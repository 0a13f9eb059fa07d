//! Ideal completion times: those of lone flows, on the ways that the flows of a run took.

use xoff_sim::{FlowRecord, Lone, ideal_time};
use xoff_topology::routing::Routes;
use xoff_units::{Span, Time};
use xoff_workload::{Flow, UNLIMITED};

use crate::load::Scenario;

impl Scenario {
    /// The completion time of a flow that is alone, on its way by these routes; `None`: it has no way or no end. No completion time is
    /// shorter.
    pub fn ideal_time(&self, routes: &Routes, flow: &Flow) -> Option<Span> {
        if flow.size == UNLIMITED {
            return None;
        }
        let (payload_max, header) = self.frame();
        let lone = Lone { size: flow.size, rate: flow.rate, payload_max, header };
        Some(ideal_time(&self.topology, &self.way(routes, flow)?, &lone, self.cut_through()))
    }
}

/// The routes of a run, each with the time from which on they hold: links may fail.
pub(crate) struct Ideals<'s> {
    scenario: &'s Scenario,
    routes: Vec<(Time, Routes)>,
    /// When the run ended.
    end: Time,
}

impl<'s> Ideals<'s> {
    pub fn new(scenario: &'s Scenario, end: Time) -> Ideals<'s> {
        let (rule, mut topology) = (scenario.routing(), scenario.topology.clone());
        let mut routes = vec![(Time::ZERO, rule.routes(&topology))];
        let mut failures = scenario.model.failures.clone();
        failures.sort_by_key(|f| f.at);
        for f in failures.iter().filter(|f| f.at <= end) {
            topology.links[f.link as usize].up = false;
            routes.push((f.at, rule.routes(&topology)));
        }
        Ideals { scenario, routes, end }
    }

    /// That of a flow; `None` also if its way changed while it lasted: then it took no one way.
    pub fn of(&self, f: &FlowRecord) -> Option<Span> {
        let (flow, s) = (&f.flow, self.scenario);
        let until = f.received.unwrap_or(self.end);
        let first = self.routes.partition_point(|r| r.0 <= flow.start).saturating_sub(1);
        let past = self.routes.partition_point(|r| r.0 <= until).max(first + 1);
        let (_, routes) = &self.routes[first];
        let ideal = s.ideal_time(routes, flow)?;
        let stays = past == first + 1 || {
            let way = s.way(routes, flow);
            self.routes[first + 1..past].iter().all(|(_, r)| s.way(r, flow) == way)
        };
        stays.then_some(ideal)
    }
}
