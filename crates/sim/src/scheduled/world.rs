//! A fabric in motion.

mod build;
mod crosspoints;
mod egress;
mod elements;
mod hosts;
mod ingress;
mod jobs;
mod mail;
mod part;
mod together;
mod waits;

use std::ops::ControlFlow;
use std::sync::Arc;
use xoff_units::state::{Broken, Reader, State, Writer};

use xoff_mech::rate_control::RateControl as _;
use xoff_mech::scheduled::request_grant::Hold;
use xoff_units::Time;

use crate::scheduled::config::{Config, Core, Problem};
use crate::scheduled::host::HostWindow;
use crate::scheduled::link::Feeder;
use crate::scheduled::measure::{Partial, Report, Stuck, Window};
use crate::scheduled::shape::Place;
use part::{Part, Plan};

pub use waits::{InputWaits, OutputWaits, Waits};

/// A fabric with everything in it.
#[derive(State)]
pub struct World {
    #[state(built)]
    plan: Arc<Plan>,
    #[state(each)]
    parts: Vec<Part>,
    #[state(built)]
    threads: usize,
    now: u64,
    /// Next end of a window, and start of the time in which outputs are blocked [ps].
    window_end: u64,
    block: u64,
    /// Events that concern the whole fabric.
    events: u64,
    windows: Vec<Window>,
    host_windows: Vec<HostWindow>,
    stuck: Option<Stuck>,
}

/// Ports of a part at least, if there are no more threads: the second-level cache holds its state.
const PORTS_OF_PART: usize = 128;
/// Interval between progress reports of a run [events].
const PROGRESS_EVERY: u64 = 1 << 20;

impl World {
    /// A fabric at rest, on one thread.
    ///
    /// # Errors
    /// The settings that cannot work.
    pub fn new(config: Config) -> Result<World, Vec<Problem>> {
        World::on_threads(config, 1)
    }

    /// A fabric at rest, divided among at most this number of threads. The result does not depend
    /// on it.
    ///
    /// # Errors
    /// The settings that cannot work.
    pub fn on_threads(config: Config, threads: usize) -> Result<World, Vec<Problem>> {
        let problems = config.problems();
        if !problems.is_empty() {
            return Err(problems);
        }
        let most = if cfg!(target_family = "wasm") { 1 } else { build::parts_max(&config) };
        let threads = threads.clamp(1, most);
        let parts = threads.max(config.ports() as usize / PORTS_OF_PART).min(most);
        let parts = build::parts(config, parts);
        let plan = parts[0].plan.clone();
        Ok(World {
            window_end: plan.config.window.0,
            block: plan.config.blocked.as_ref().map_or(u64::MAX, |b| b.from.0),
            plan,
            parts,
            threads,
            now: 0,
            events: 0,
            windows: Vec::new(),
            host_windows: Vec::new(),
            stuck: None,
        })
    }

    /// Threads of the run.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Simulated time reached.
    pub fn now(&self) -> Time {
        Time(self.now)
    }

    /// Number of events handled.
    pub fn events(&self) -> u64 {
        self.events + self.parts.iter().map(|p| p.events.done).sum::<u64>()
    }

    /// The state as bytes, for [`World::restore`] in a fabric of the same settings and threads.
    ///
    /// # Errors
    /// None: the same type as that of a network.
    pub fn save(&self) -> Result<Vec<u8>, String> {
        let mut to = Writer::default();
        to.put(self);
        to.end()
    }

    /// Becomes the saved state.
    ///
    /// # Errors
    /// The bytes are no state of this fabric; it is then unusable.
    pub fn restore(&mut self, state: &[u8]) -> Result<(), Broken> {
        let mut from = Reader::new(state);
        State::restore(self, &mut from)?;
        if from.is_over() { Ok(()) } else { Err(Broken("more than a state")) }
    }

    /// Runs to the end, or until `progress` (simulated time, events) breaks off.
    pub fn run(mut self, progress: &mut dyn FnMut(Time, u64) -> ControlFlow<()>) -> Report {
        self.advance(self.plan.config.until, progress);
        self.finish()
    }

    /// As [`World::run`], up to a time, and leaves the fabric as it is then. True: it has reached
    /// that time or the end. It can continue in any case.
    // Not generic over `progress`: the loop is then compiled here, with this crate's optimisation,
    // once for all callers.
    pub fn advance(
        &mut self,
        to: Time,
        progress: &mut dyn FnMut(Time, u64) -> ControlFlow<()>,
    ) -> bool {
        let window = self.plan.config.window.0;
        let until = to.min(self.plan.config.until).0;
        loop {
            // What concerns the whole fabric comes before everything else of its time.
            let stop = self.window_end.min(self.block).min(until.saturating_add(1));
            if !self.advance_before(stop, progress) {
                let reached = self.parts.iter().map(|p| p.now).max().unwrap_or_default();
                self.now = self.now.max(reached);
                return false;
            }
            if stop > until {
                break;
            }
            self.now = stop;
            self.events += 1;
            if stop == self.block {
                self.block();
                self.block = u64::MAX;
            } else {
                self.end_window();
                self.window_end = stop.saturating_add(window);
            }
        }
        self.now = until;
        true
    }

    /// Handles the events before `bound`; false: `progress` broke off.
    fn advance_before(
        &mut self,
        bound: u64,
        progress: &mut dyn FnMut(Time, u64) -> ControlFlow<()>,
    ) -> bool {
        let before = self.events;
        let mut shown = |now, events| progress(Time(now), before + events).is_continue();
        if let [part] = &mut self.parts[..] {
            loop {
                let left = PROGRESS_EVERY - part.events.done % PROGRESS_EVERY;
                if part.run(bound, left) {
                    return true;
                }
                if !shown(part.now, part.events.done) {
                    return false;
                }
            }
        }
        let look_ahead = build::look_ahead(&self.plan.config);
        together::run(&mut self.parts, self.threads, bound, look_ahead, &mut shown)
    }

    fn block(&mut self) {
        let Some(blocked) = &self.plan.config.blocked else { return };
        for part in &mut self.parts {
            for &(port, link) in &part.last_links {
                if blocked.outputs.contains(&port) {
                    part.links[link as usize].blocked_until = blocked.until.0;
                }
            }
        }
    }

    fn end_window(&mut self) {
        let mut w = Window { end: Time(self.now), ..Window::default() };
        let (mut sum, mut n, mut grants) = (0, 0u64, 0u64);
        for part in &mut self.parts {
            let own = std::mem::take(&mut part.window);
            w.cold_bytes += own.cold_bytes;
            w.hot_bytes += own.hot_bytes;
            w.cold_packets += own.cold_packets;
            w.cold_delay += own.cold_delay;
            for &held in part.grants_held.iter() {
                w.grants_max = held.max(w.grants_max);
                grants += u64::from(held);
            }
            for &(port, link) in &part.last_links {
                let times = self.plan.hot_behind[port as usize];
                if let (1.., Feeder::Output(o)) = (times, part.links[link as usize].feeder) {
                    let held = part.outputs[o as usize].held;
                    w.hot_queue_max = held.max(w.hot_queue_max);
                    (sum, n) = (sum + u64::from(held * times), n + u64::from(times));
                }
            }
        }
        if n > 0 {
            w.hot_queue_mean = sum as f64 / n as f64;
        }
        w.grants_mean = grants as f64 / f64::from(self.plan.ports);
        if w.cold_bytes + w.hot_bytes == 0 && self.stuck.is_none() {
            self.stuck = self.find_stuck();
        }
        self.windows.push(w);
        self.end_host_window();
    }

    fn end_host_window(&mut self) {
        let Some(hosts) = &self.plan.config.hosts else { return };
        let mut w = HostWindow::new(hosts.flows.len());
        for part in &mut self.parts {
            let Some(side) = &mut part.hosts else { continue };
            let fresh = HostWindow::new(hosts.flows.len());
            w.add(&std::mem::replace(&mut side.window, fresh));
        }
        for (number, flow) in hosts.flows.iter().enumerate() {
            let Some(side) = &self.part(flow.source).hosts else { continue };
            let sender = &side.hosts[flow.source as usize].senders[side.place[number] as usize];
            let output = flow.destinations[0];
            w.limit
                .push(sender.rate_control.as_ref().filter(|rc| rc.limited()).map(|rc| rc.rate()));
            w.held.push(side.held[number]);
            w.input.push(side.buffers[flow.source as usize].held);
            w.output.push(self.part(output).ports[output as usize].output_held);
        }
        self.host_windows.push(w);
    }

    /// Part of a port.
    fn part(&self, port: u32) -> &Part {
        &self.parts[usize::from(self.plan.part_of[port as usize])]
    }

    /// An output whose buffer is held by packets that came in part, while nothing moves that could
    /// complete one of them.
    fn find_stuck(&self) -> Option<Stuck> {
        let moves = |p: &Part| p.segments.alive() > 0 || p.messages.iter().any(|m| !m.is_empty());
        if self.parts.iter().any(moves)
            || self.plan.config.blocked.as_ref().is_some_and(|b| b.until.0 >= self.now)
        {
            return None;
        }
        (0..self.plan.ports).find_map(|output| {
            let part = self.part(output);
            let port = &part.ports[output as usize];
            let partial: Vec<_> =
                (0..self.plan.ports)
                    .filter_map(|input| {
                        let flow = part.reassemblies.moving(output as usize, input as usize)?;
                        let (granted, unsolicited, missing) = flow.partial()?;
                        let asked = port.granter.requested_by(input);
                        let at_input =
                            self.part(input).flows.moving(input as usize, output as usize);
                        at_input
                            .is_none_or(|flow| flow.requester.granted() == 0)
                            .then_some(Partial { input, granted, unsolicited, missing, asked })
                    })
                    .collect();
            let stuck = port.line.is_empty()
                && partial.iter().any(|p| p.asked > 0)
                && matches!(port.granter.hold(Time(self.now)), Hold::OutputSlots { .. });
            stuck.then(|| Stuck { output, free: port.granter.output_free(), partial })
        })
    }

    /// Report of the run so far.
    pub fn finish(mut self) -> Report {
        let stuck = self.stuck.take().or_else(|| self.find_stuck());
        let stages = match self.plan.config.core {
            Core::Network(shape) => shape.stages() as usize,
            Core::Spine { .. } => 1,
            Core::Ideal { .. } => 0,
        };
        let mut r = Report {
            queue_max: vec![0; stages],
            waits: vec![0; stages + 1],
            windows: std::mem::take(&mut self.windows),
            stuck,
            events: self.events,
            measured: self
                .now
                .max(self.plan.config.until.0)
                .saturating_sub(self.plan.config.warm_up.0),
            now: Time(self.now),
            ..Report::default()
        };
        for part in &mut self.parts {
            part.now = self.now;
            let mut own = std::mem::take(&mut part.report);
            own.events = part.events.done;
            own.balance.waiting = part.ports.iter().map(|p| p.waiting).sum();
            own.balance.inside = part.segments.payload();
            own.balance.output = part.ports.iter().map(|p| p.output_held).sum();
            own.reassembly_max = part.ports.iter().map(|p| p.output_held_max).max().unwrap_or(0);
            own.hosts = part.finish_hosts();
            own.backlog = part.backlog();
            own.ranks = part.rank_reports();
            r.add(&own);
            let stage_of = |output: u32| {
                let element = part.outputs[output as usize].element;
                stage(self.plan.config.core, part.elements[element as usize].place)
            };
            for link in &part.links {
                let stage = match link.feeder {
                    Feeder::Edge(_) => 0,
                    Feeder::Output(o) => stage_of(o) + 1,
                };
                r.waits[stage] += link.waits;
            }
            for (number, output) in (0..).zip(&part.outputs) {
                let max = &mut r.queue_max[stage_of(number)];
                *max = output.held_max.max(*max);
            }
        }
        r.ranks.sort_by_key(|rank| (rank.job, rank.rank));
        if let Some(hosts) = &mut r.hosts {
            hosts.windows = self.host_windows;
        }
        r
    }
}

/// Place of an element on the way of a segment, from 0.
fn stage(core: Core, place: Place) -> usize {
    let Core::Network(shape) = core else { return 0 };
    match place {
        Place::Left { level, .. } => level as usize,
        Place::Middle { .. } => shape.levels as usize,
        Place::Right { level, .. } => (2 * shape.levels - level) as usize,
    }
}
