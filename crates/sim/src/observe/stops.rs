//! Pauses and releases of ports by the flow control of their peers: counters, and rows where they
//! are recorded.
//!
//! ```text
//!   message takes effect: rate 0 ---- stopped ----+--> message with a rate above 0
//!                                                 +--> the stop expires (a timed pause): no message, no event
//!   frame at the head and gate closed -- held ----+--> gate open
//! ```
//!
//! A stop that expires costs no event, and a run in which every stop is lifted by a message pays
//! one word per stop: expiries are kept by port and class next to the stops, with the earliest of
//! them. Whatever passes them - a later message, the end of a stretch of events, a sample, the end
//! of the run - notes them at their own time, before anything later is noted.

use std::collections::BTreeMap;

use xoff_mech::flow_control::StoppedBy;
use xoff_node::EventKey;
use xoff_units::state::State;
use xoff_units::{At, Class, FlowId, Rate, Time};

use crate::engine::clock::Clock;
use crate::observe::monitor::Monitor;

/// Ports and classes that are stopped or held. Columns are indexed by port * classes + class.
#[derive(State)]
pub(crate) struct Stops {
    /// Since when the peer stops each; never: it does not.
    stopped_since: Vec<Time>,
    /// End of each stop without a message, and the rate allowed then; never: only a message ends
    /// it. Empty until the first.
    expires: Vec<(Time, Rate)>,
    /// No expiry comes before.
    next: Time,
    /// Since when the peer holds a waiting frame; only where it does.
    held_since: BTreeMap<usize, Time>,
}

/// Rate that the peer allows, as a node reports it.
pub(crate) struct Allowed {
    pub at: At,
    pub rate: Rate,
    pub by: StoppedBy,
    pub expires: Option<(Time, Rate)>,
}

impl Stops {
    /// Nothing is stopped.
    pub fn new(classes: usize) -> Stops {
        Stops {
            stopped_since: vec![Time::NEVER; classes],
            expires: Vec::new(),
            next: Time::NEVER,
            held_since: BTreeMap::new(),
        }
    }

    /// From now on a stop ends like this.
    fn set_expiry(&mut self, class_at: usize, at: Option<(Time, Rate)>) {
        if at.is_none() && self.expires.is_empty() {
            return;
        }
        self.expires.resize(self.stopped_since.len(), (Time::NEVER, Rate::ZERO));
        self.expires[class_at] = at.unwrap_or((Time::NEVER, Rate::ZERO));
        self.next = self.next.min(self.expires[class_at].0);
    }

    /// Takes the expiry of a class if it is before a time.
    fn take_expired(&mut self, class_at: usize, before: Time) -> Option<(Time, Rate)> {
        let e = self.expires.get_mut(class_at).filter(|e| e.0 < before)?;
        Some(std::mem::replace(e, (Time::NEVER, Rate::ZERO)))
    }
}

/// The place of an expiry in the order of rows: after everything else of its time, then by port and
/// class.
fn event_key(at: Time, class_at: usize) -> EventKey {
    EventKey { time: at, rank: 0xf << 60 | class_at as u64 }
}

impl Monitor {
    /// The rate that flow control allows has changed: a message took effect.
    pub(crate) fn note_rate(&mut self, clock: &Clock, a: Allowed) {
        let class_at = self.layout.class_index(a.at);
        // Only stops that ended before this message: a message at that very time continues the
        // stop.
        if let Some((at, rate)) = self.stops.take_expired(class_at, clock.now) {
            self.expire(class_at, at, rate);
        }
        let t = &mut self.ports[self.layout.port_index(a.at.port_id())];
        t.allowed_min = Some(t.allowed_min.map_or(a.rate, |m| m.min(a.rate)));
        let stops = a.by == StoppedBy::Pause;
        let since = &mut self.stops.stopped_since[class_at];
        let change = match (a.rate.0 == 0 && stops, *since == Time::NEVER) {
            (true, true) => {
                *since = clock.now;
                t.pauses += 1;
                Some(true)
            }
            (false, false) => {
                t.paused_ps += clock.now.since(*since).0;
                if let Some(last) = &mut self.last_frames {
                    last.stop_ends(class_at, *since, clock.now);
                }
                *since = Time::NEVER;
                Some(false)
            }
            _ => None,
        };
        self.stops.set_expiry(class_at, a.expires);
        if !self.layout.detecting {
            return;
        }
        if self.probes.causes {
            self.rows.ask_why.push(a.at);
        }
        self.record_rate(clock.place(), class_at, a.rate, change);
    }

    /// A stop has expired, at a time that has passed.
    #[cold]
    fn expire(&mut self, class_at: usize, at: Time, rate: Rate) {
        let since = std::mem::replace(&mut self.stops.stopped_since[class_at], Time::NEVER);
        let ended = since != Time::NEVER;
        if ended {
            self.ports[class_at / self.layout.classes.len()].paused_ps += at.since(since).0;
            if let Some(last) = &mut self.last_frames {
                last.stop_ends(class_at, since, at);
            }
        }
        if self.layout.detecting {
            self.rows.out_of_order = true;
            self.record_rate(event_key(at, class_at), class_at, rate, ended.then_some(false));
        }
    }

    fn record_rate(&mut self, at: EventKey, class_at: usize, rate: Rate, change: Option<bool>) {
        let classes = self.layout.classes.len();
        let place =
            self.layout.ports.places()[class_at / classes].class(Class((class_at % classes) as u8));
        self.record_allowed_rate(at, place, rate, change);
    }

    /// True if a pause may expire before `bound`.
    #[inline]
    pub fn stop_expires_before(&self, bound: Time) -> bool {
        self.stops.next < bound
    }

    /// Notes the stops that have expired before `bound`, at their times. Nothing later may have
    /// been noted, but in this stretch.
    pub fn expire_stops(&mut self, bound: Time) {
        if self.stops.next < bound {
            self.expire_all(bound);
        }
    }

    #[cold]
    fn expire_all(&mut self, bound: Time) {
        for class_at in 0..self.stops.expires.len() {
            if let Some((at, rate)) = self.stops.take_expired(class_at, bound) {
                self.expire(class_at, at, rate);
            }
        }
        self.stops.next = self.stops.expires.iter().map(|e| e.0).min().unwrap_or(Time::NEVER);
    }

    /// Time for which a class has been stopped, and held, so far, where that has not ended [ps].
    pub fn open_stops(&self, class_at: usize, now: Time) -> (u64, u64) {
        let since = |t: Time| if t == Time::NEVER { 0 } else { now.since(t).0 };
        let held = self.stops.held_since.get(&class_at).copied().unwrap_or(Time::NEVER);
        (since(self.stops.stopped_since[class_at]), since(held))
    }

    /// Since when a class is stopped by a message, or held while a frame waits.
    pub fn stopped_since(&self, class_at: usize) -> Option<Time> {
        let stopped = Some(self.stops.stopped_since[class_at]).filter(|t| *t != Time::NEVER);
        stopped.into_iter().chain(self.stops.held_since.get(&class_at).copied()).min()
    }

    /// A switch transmits the last frame of a message: adds the time for which the frame waited
    /// there for its stopped port.
    #[cold]
    pub fn last_frame_leaves(&mut self, now: Time, at: At, flow: FlowId) {
        let class_at = self.layout.class_index(at);
        let Some(last) = &mut self.last_frames else { return };
        let Some(from) = last.leaves(flow, at.node) else { return };
        // One that has expired may not have been noted.
        let until = self.stops.expires.get(class_at).map_or(Time::NEVER, |e| e.0);
        let stopped = Some(self.stops.stopped_since[class_at])
            .filter(|t| *t != Time::NEVER)
            .map(|since| (since, until));
        let held = self.stops.held_since.get(&class_at).map(|since| (*since, Time::NEVER));
        self.flows.records.at(flow).stopped +=
            last.stopped(class_at, (from, now), stopped.into_iter().chain(held));
    }

    /// Adds the time that a port has been stopped or held so far where that has not ended.
    pub fn count_open(&mut self, now: Time) {
        let classes = self.layout.classes.len();
        for (i, since) in self.stops.stopped_since.iter().enumerate() {
            if *since != Time::NEVER {
                self.ports[i / classes].paused_ps += now.since(*since).0;
            }
        }
        for (i, since) in &self.stops.held_since {
            self.ports[i / classes].blocked_ps += now.since(*since).0;
        }
    }

    /// The peer began to hold a frame that waits, or let it go.
    pub(crate) fn note_hold(&mut self, clock: &Clock, at: At, on: bool, by: StoppedBy) {
        let (port, class_at) = (self.layout.port_index(at.port_id()), self.layout.class_index(at));
        if on {
            self.ports[port].blocks += 1;
            self.stops.held_since.insert(class_at, clock.now);
        } else if let Some(since) = self.stops.held_since.remove(&class_at) {
            self.ports[port].blocked_ps += clock.now.since(since).0;
            // As in the table of pauses: a port that a message stops is stopped whether something
            // waits or not.
            if let Some(last) = self.last_frames.as_mut().filter(|_| by != StoppedBy::Pause) {
                last.stop_ends(class_at, since, clock.now);
            }
        }
        self.record_hold(clock, at, on, by);
    }
}
