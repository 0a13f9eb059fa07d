//! A world in a checkpoint: everything that has changed since it was built.
//!
//! ```text
//!   World::build -- run -- save --> bytes       the same scenario: World::build -- restore --> continues from the saved state
//! ```
//!
//! Parts that a scenario decides are not written: they are built again. Fast-forward searches for a
//! period again, which changes no result. A world that is restored may have been built with other
//! failures, if they are in its future, and with other probes; see [`World::restore`].

use xoff_units::state::{Broken, Reader, Walk, Writer};

use super::*;

impl World {
    /// Reason why its state cannot be saved.
    fn unsaved(&self) -> Option<&'static str> {
        let first = &self.partitions[0].core;
        let rows = |p: &Partition| {
            !p.core.monitor.rows.rows.is_empty() || p.core.outgoing.iter().any(|o| !o.is_empty())
        };
        let reasons = [
            (
                self.jobs.as_ref().is_some_and(|j| j.are_streamed()),
                "a streamed job, whose operations and messages are in a file of their own",
            ),
            (
                self.streamed_from == Some(0) && self.partitions[0].news.is_none(),
                "flows whose records are in a file of their own",
            ),
            (self.outside, "nodes that act in real time"),
            (self.others.exist() || self.share.is_some(), "a network that several processes share"),
            (first.loses_by_other(), "frames lost in the order of another simulator"),
            (
                self.partitions[0].starts.round_robin.is_some(),
                "flows in the order of another simulator",
            ),
            (first.monitor.histogram.is_some(), "a histogram of queues"),
            (!self.probes.frames.is_none(), "frames on wires that are recorded one by one"),
            (self.partitions.iter().any(rows), "rows that have not been taken"),
        ];
        reasons.into_iter().find(|r| r.0).map(|r| r.1)
    }

    /// State of the world, between two calls of [`World::run`].
    ///
    /// # Errors
    /// The part that cannot be written: one that comes from outside, or time that is not simulated.
    pub fn save(&self) -> Result<Vec<u8>, String> {
        if let Some(what) = self.unsaved() {
            return Err(what.into());
        }
        let mut to = Writer::default();
        #[rustfmt::skip]
        let World {
            // Built, or none of them exist here.
            layout: _, probes: _, lookahead: _, threads: _, cores: _, others: _, share: _, busy: _, unsplit: _, by_events: _, recorder: _, listed: _, jobs: _,
            deadlock_interval: _, stop_on_deadlock: _, outside: _, over: _, streamed_from: _, routes: _,
            // Rebuilt: caches, and the states that a search has seen.
            noted: _, rerouting: _, paused: _,
            partitions, elsewhere, met, threads_pay, global_events, now, events, looked, acted, complete_at, disturbed, skipped, events_skipped, forward,
            failures, completions, messages_complete, ranks_left, leaps, deadlocks, samples, held, looks, checks, overdrawn, calls,
        } = self;
        let Ok(()) = to.list(partitions.iter());
        to.put(&(*elsewhere, *met, *threads_pay, *now));
        to.put(global_events);
        to.put(&(*events, *looked, *acted, *disturbed));
        to.put(&(*skipped, *events_skipped, *failures));
        to.put(&forward.as_ref().map(|f| f.done().clone()));
        to.put(completions);
        to.put(messages_complete);
        to.put(complete_at);
        to.put(ranks_left);
        to.put(leaps);
        to.put(deadlocks);
        to.put(samples);
        to.put(held);
        to.put(looks);
        to.put(checks);
        to.put(overdrawn);
        to.put(&(calls.made as u64));
        to.end()
    }

    /// Becomes the state that [`World::save`] wrote. This world has been built from the same
    /// scenario and has not begun; it may differ in failures of links after the time of the state
    /// and in its probes, and is then as if it had been built so from the start, but for rows that
    /// the other one did not record.
    ///
    /// # Errors
    /// The state is none of such a world; this one is then of no use.
    pub fn restore(&mut self, state: &[u8]) -> Result<(), Broken> {
        let mut from = Reader::new(state);
        let planned = std::mem::take(&mut self.global_events);
        xoff_units::state::restore_each(
            self.partitions.len(),
            self.partitions.iter_mut(),
            &mut from,
        )?;
        (self.elsewhere, self.met, self.threads_pay, self.now) = from.take()?;
        let saved: BinaryHeap<Reverse<Event>> = from.take()?;
        (self.events, self.looked, self.acted, self.disturbed) = from.take()?;
        (self.skipped, self.events_skipped, self.failures) = from.take()?;
        let done: Option<FastForwarded> = from.take()?;
        self.completions = from.take()?;
        self.messages_complete = from.take()?;
        self.complete_at = from.take()?;
        self.ranks_left = from.take()?;
        self.leaps = from.take()?;
        self.deadlocks = from.take()?;
        self.samples = from.take()?;
        self.held = from.take()?;
        self.looks = from.take()?;
        self.checks = from.take()?;
        self.overdrawn = from.take()?;
        self.calls.made = from.take::<u64>()? as usize;
        if !from.is_over() {
            return Err(Broken("more than the state of a network"));
        }
        let begins = |p: &Partition| {
            p.starts
                .own
                .get(..p.starts.next)
                .is_some_and(|o| o.iter().all(|&f| f < p.core.monitor.flows.others_from))
        };
        if !self.partitions.iter().all(begins) {
            return Err(Broken("a flow is about to begin that is another one here"));
        }
        self.partitions.iter_mut().for_each(Partition::replan_flow_start);
        self.global_events = self.planned_from(planned, saved);
        if let (Some(f), Some(done)) = (&mut self.forward, done) {
            f.go_on_from(done, self.partitions.iter().map(|p| p.starts.begun).sum());
        }
        self.reroute_again();
        Ok(())
    }

    /// Planned events of the whole network: polls and samples as saved, if this world has any, and
    /// the pending failures of this world.
    fn planned_from(
        &self,
        built: BinaryHeap<Reverse<Event>>,
        saved: BinaryHeap<Reverse<Event>>,
    ) -> BinaryHeap<Reverse<Event>> {
        let (reached, skipped) = (self.now(), self.skipped);
        let (failures, looks): (Vec<Event>, Vec<Event>) =
            built.into_iter().map(|Reverse(e)| e).partition(|e| e.kind() == Kind::LinkFails);
        let fails_now = |e: &Event| {
            saved.iter().any(|Reverse(s)| (s.time(), s.rank()) == (e.time() - skipped.0, e.rank()))
        };
        let to_come =
            |e: &Event| Time(e.time()) > reached || (Time(e.time()) == reached && fails_now(e));
        let sooner = |e: Event| {
            let key = EventKey { time: Time(e.time() - skipped.0), rank: e.rank() };
            Event::new(key, e.kind(), e.port(), e.arg)
        };
        let failures: Vec<Event> = failures.into_iter().filter(to_come).map(sooner).collect();
        let has =
            |e: &Event| e.kind() != Kind::LinkFails && looks.iter().any(|l| l.kind() == e.kind());
        saved.into_iter().map(|Reverse(e)| e).filter(has).chain(failures).map(Reverse).collect()
    }

    /// Routes and links after the failures so far.
    fn reroute_again(&mut self) {
        let Some((topology, routing)) = self.rerouting.as_deref_mut() else { return };
        if self.failures == 0 {
            return;
        }
        for line in self.partitions[0].core.lines.iter().filter(|l| !l.up) {
            topology.links[line.link as usize].up = false;
        }
        let routes = Arc::new(routing.routes(topology));
        self.partitions.iter_mut().for_each(|p| p.core.set_routes(routes.clone()));
    }
}
