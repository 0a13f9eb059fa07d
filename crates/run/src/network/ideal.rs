//! Ideal completion times: those of lone flows, on the paths that the flows of a run took.

use std::cell::OnceCell;
use std::sync::Arc;

use xoff_net::topology::routing::{FlowKey, Routes, Way};
use xoff_net::workload::{Flow, UNLIMITED};
use xoff_sim::{FlowRecord, Lone, Outcome, ideal_time};
use xoff_units::{NodeId, Span, Time};

use crate::network::NetworkScenario;

impl NetworkScenario {
    /// The completion time of a flow that is alone, on these routes; `None`: it has no route or no
    /// end. No completion time is shorter.
    pub fn ideal_time(&self, routes: &Routes, flow: &Flow) -> Option<Span> {
        if flow.size == UNLIMITED {
            return None;
        }
        let (payload_max, header) = self.frame();
        let spray = self.model.spray_rate(&self.topology, routes, flow.src, flow.dst);
        let rate = flow.rate.into_iter().chain(spray).min();
        let lone = Lone { size: flow.size, rate, payload_max, header };
        let (path, spread) = self.way(routes, flow)?;
        Some(ideal_time(&self.topology, (&path, spread), &lone, self.cut_through()))
    }
}

/// The routes of a run, each with the time from which on they hold: links may fail.
pub(crate) struct Ideals<'s> {
    scenario: &'s NetworkScenario,
    first: &'s Arc<Routes>,
    /// Found when a flow first needs them: after failures in a large network that takes seconds, and
    /// flows without an end have no ideal.
    routes: OnceCell<Vec<(Time, Arc<Routes>)>>,
    /// End of the run.
    end: Time,
}

impl<'s> Ideals<'s> {
    pub fn new(scenario: &'s NetworkScenario, o: &'s Outcome) -> Ideals<'s> {
        Ideals { scenario, first: &o.routes, routes: OnceCell::new(), end: o.now }
    }

    fn routes(&self) -> &[(Time, Arc<Routes>)] {
        self.routes.get_or_init(|| self.find_routes())
    }

    fn find_routes(&self) -> Vec<(Time, Arc<Routes>)> {
        let scenario = self.scenario;
        let mut routes = vec![(Time::ZERO, self.first.clone())];
        let mut failures = scenario.failures();
        failures.retain(|f| f.at <= self.end);
        if failures.is_empty() {
            return routes;
        }
        failures.sort_by_key(|f| f.at);
        let (rule, mut topology) = (scenario.routing(), scenario.topology.clone());
        for f in failures {
            topology.links[f.link as usize].up = false;
            routes.push((f.at, Arc::new(rule.routes(&topology))));
        }
        routes
    }

    /// The first switch of a flow's path by the hash of the flow or its explicit path, the port that
    /// it takes there, and whether there are others; `None`: there is no switch or no route, or the
    /// ports changed during its life. `left_by`: the port by which it left its host, if it is known.
    pub fn first_switch(&self, f: &FlowRecord, left_by: Option<u16>) -> Option<(u32, u16, bool)> {
        let all = self.routes();
        let (first, past) = self.life(f);
        let by = |r: &(Time, Arc<Routes>)| self.first_switch_by(&r.1, &f.flow, left_by);
        let taken = by(&all[first])?;
        all[first + 1..past].iter().all(|r| by(r) == Some(taken)).then_some(taken)
    }

    fn first_switch_by(
        &self,
        routes: &Routes,
        flow: &Flow,
        left_by: Option<u16>,
    ) -> Option<(u32, u16, bool)> {
        let (t, choice) = (&self.scenario.topology, self.scenario.routing().choice);
        let key = FlowKey::from(flow);
        let port = |node: NodeId| {
            let ports = routes.candidates(node, flow.dst);
            ports.get(choice.index(&key, node, ports.len())).copied()
        };
        let (switch, port) = match flow.path {
            Some(p) if self.scenario.flows.paths.is_loop(p) => None,
            Some(p) => self.scenario.flows.paths.hops(p).get(1).copied(),
            None => {
                let first = left_by.or_else(|| port(flow.src))?;
                let switch = t.nodes[flow.src.index()].ports[usize::from(first)].peer;
                (switch != flow.dst).then(|| Some((switch, port(switch)?)))?
            }
        }?;
        Some((switch.0, port, routes.alternatives(switch, flow.dst).len() > 1))
    }

    /// The epochs of the routes in the life of a flow: the first of them, and one beyond the last.
    fn life(&self, f: &FlowRecord) -> (usize, usize) {
        let all = self.routes();
        let until = f.received.unwrap_or(self.end);
        let first = all.partition_point(|r| r.0 <= f.flow.start).saturating_sub(1);
        (first, all.partition_point(|r| r.0 <= until).max(first + 1))
    }

    /// Routes that are valid at a time.
    pub fn epoch(&self, at: Time) -> usize {
        let all = self.routes();
        all.partition_point(|r| r.0 <= at).saturating_sub(1)
    }

    /// The egress ports that a flow may go through by those routes.
    pub fn ports(&self, epoch: usize, flow: &Flow) -> Option<Vec<(NodeId, u16)>> {
        let all = self.routes();
        self.scenario.ports(&all[epoch].1, flow)
    }

    /// The path of its ideal time, see [`NetworkScenario::way`].
    pub fn way(&self, epoch: usize, flow: &Flow) -> Option<Way> {
        let all = self.routes();
        self.scenario.way(&all[epoch].1, flow)
    }

    /// Ideal time of a flow; `None` also if its paths changed during its life.
    pub fn of(&self, f: &FlowRecord) -> Option<Span> {
        let (flow, s) = (&f.flow, self.scenario);
        if flow.size == UNLIMITED {
            return None;
        }
        let all = self.routes();
        let (first, past) = self.life(f);
        let (_, routes) = &all[first];
        let ideal = s.ideal_time(routes, flow)?;
        let stays = past == first + 1 || {
            let ports = s.ports(routes, flow);
            all[first + 1..past].iter().all(|(_, r)| s.ports(r, flow) == ports)
        };
        stays.then_some(ideal)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use xoff_record::Sink;
    use xoff_units::Time;

    use super::*;

    /// A link that most flows do not use fails at 1 ms. Flows over before it, after it, or by
    /// another way keep an ideal time, by the routes that held; those that it caught have none.
    /// None is faster than its ideal.
    #[test]
    fn a_way_that_changes_has_no_ideal_time() {
        let text = "[run]\nduration = \"3ms\"\n[topology]\nkind = \"leaf-spine\"\nleaves = 3\nspines = 2\nhosts_per_leaf = 3\n[flow_control]\nkind = \"pfc\"\n\
                    [[failure]]\nlink = \"L1-S2\"\nat = \"1ms\"\n[[workload]]\nkind = \"poisson\"\nload = 0.4\nsize = \"30KB\"\nduration = \"2ms\"\n";
        let s = NetworkScenario::from_text("fails.toml", text, &[], Path::new("."))
            .unwrap_or_else(|e| panic!("{e}"));
        let f = s.run(Sink::Nothing).unwrap();
        let ideals = Ideals::new(&s, &f.outcome);
        let at = Time::from_us(1000);
        let (mut caught, mut others, mut after) = (0, 0, 0);
        for f in &f.outcome.flows {
            let lasted = f.flow.start < at && f.received.is_none_or(|r| r >= at);
            match ideals.of(f) {
                None => {
                    assert!(lasted, "{f:?}");
                    caught += 1;
                }
                Some(ideal) => {
                    assert!(f.fct().is_none_or(|fct| fct >= ideal), "{f:?}: {ideal}");
                    others += lasted as u32;
                    after += (f.flow.start > at) as u32;
                }
            }
        }
        assert!(caught > 0 && others > 0 && after > 100, "{caught} {others} {after}");
    }
}
