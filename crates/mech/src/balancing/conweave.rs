//! ConWeave (SIGCOMM 2023): a flow whose path answers late takes another one, and the leaf of the
//! destination puts its frames in order again.
//!
//! ```text
//!   leaf A    INIT ------------------------------> leaf B     INIT, TAIL: answered at once
//!             deadline of the reply <------------- INIT
//!   in time:  a new epoch, INIT on the same path
//!   late:     TAIL on the old path, phase 1 on the new one: of two drawn paths, one that is not busy
//!                                                  phase 1 before TAIL: held, until TAIL comes or is overdue
//!             a new epoch <----------------------- TAIL
//!             path busy for a time <-------------- NOTIFY, for each frame with a mark
//! ```

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;
use xoff_units::params::{Kind, ParamError, ParamSpec, Values};
use xoff_units::state::State;
use xoff_units::{FlowId, NodeId, Span, Time};

use super::flow_table::{AGING, SMALL};
use super::{Arrival, Balancer, Header, Landing, NextHops, Verdict};
use crate::detection::Mark;

/// Parameters in a file.
pub const PARAMS: &[ParamSpec] = &[
    ParamSpec::new(
        "reply",
        Kind::Span,
        "8us",
        "deadline of the reply to the first frame of an epoch; a later frame takes another path",
        "conweave-ns3: base round trip (4 links of 1 us) + 4 us",
    ),
    ParamSpec::new(
        "inactive",
        Kind::Span,
        "300us",
        "idle time of a flow after which it may take another path without order",
        "conweave-ns3: two tiers",
    ),
    ParamSpec::new(
        "busy",
        Kind::Span,
        "16us",
        "time for which no flow is rerouted to a path with a marked frame",
        "conweave-ns3",
    ),
    ParamSpec::new(
        "extra",
        Kind::Span,
        "16us",
        "time that the last frame of the old path may be overdue before held frames continue",
        "conweave-ns3: two tiers",
    ),
    ParamSpec::new(
        "wait",
        Kind::Span,
        "200us",
        "estimate of that frame's arrival if no frame of the old path has arrived",
        "conweave-ns3: two tiers",
    ),
    ParamSpec::new(
        "queues",
        Kind::Count,
        "0",
        "flows whose frames a leaf can hold at a time; frames of others continue out of order; 0: no limit",
        "conweave-ns3: no limit",
    ),
];

/// Role of a frame in its epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, State)]
pub enum Role {
    /// None.
    #[default]
    Data,
    /// First frame of the epoch.
    Init,
    /// Last frame on the old path.
    Tail,
}

/// Place of a frame in the paths of its flow: the header between leaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, State)]
pub struct Place {
    /// Number of the epoch, which grows.
    pub epoch: u64,
    /// True on the new path: phase 1 of the epoch.
    pub rerouted: bool,
    /// Role of the frame.
    pub role: Role,
    /// Arrival at the first leaf.
    pub sent: Time,
    /// Arrival of the epoch's TAIL there; only TAIL and frames on the new path have it.
    pub tail: Time,
}

/// Message of the last leaf to the first one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reply {
    /// INIT of this epoch has arrived.
    Init(u64),
    /// TAIL of this epoch has arrived.
    Tail(u64),
    /// A frame with a mark has arrived over the path of this port.
    Notify(u16),
}

impl Reply {
    fn to_word(self) -> u64 {
        match self {
            Reply::Notify(port) => u64::from(port) << 2,
            Reply::Init(epoch) => epoch << 2 | 1,
            Reply::Tail(epoch) => epoch << 2 | 2,
        }
    }
    fn from_word(word: u64) -> Reply {
        match word & 3 {
            0 => Reply::Notify((word >> 2) as u16),
            1 => Reply::Init(word >> 2),
            _ => Reply::Tail(word >> 2),
        }
    }
}

/// Flow at the leaf of its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, State)]
struct Source {
    epoch: u64,
    /// Port of the next frame.
    path: u16,
    rerouted: bool,
    /// The next frame starts an epoch.
    settled: bool,
    /// Deadline of the reply to INIT; never: none is awaited.
    deadline: Time,
    tail: Time,
    last: Time,
}

/// Flow at the leaf of its destination.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, State)]
struct Sink {
    epoch: u64,
    /// TAIL of the epoch has come, or is given up.
    rerouted: bool,
    /// The latest frame on the old path in this epoch: departure and arrival.
    old_path: Option<(Time, Time)>,
    tail: Time,
    /// Held frames: release, and their epoch.
    held: Option<(Time, u64)>,
    last: Time,
}

impl Sink {
    /// Time at which TAIL is overdue.
    fn overdue(&self, now: Time, s: &Settings) -> Time {
        let expected = match self.old_path {
            Some((sent, arrived)) => arrived + Span(self.tail.0.saturating_sub(sent.0)),
            None => now + s.wait,
        };
        (expected + s.extra).max(now)
    }
}

/// Settings of the law.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Settings {
    reply: Span,
    inactive: Span,
    busy: Span,
    extra: Span,
    wait: Span,
    queues: u64,
}

/// The law.
#[derive(Clone, Debug, PartialEq, Eq, State)]
pub struct ConWeave {
    #[state(built)]
    settings: Settings,
    sources: FxHashMap<FlowId, Source>,
    sinks: FxHashMap<FlowId, Sink>,
    #[state(saved)] // when flows are forgotten changes no choice
    grown: usize,
    /// Number of the latest epoch of any flow.
    epochs: u64,
    /// Paths to other leaves that are busy, by leaf and uplink, with the end of it.
    busy: FxHashMap<(NodeId, u16), Time>,
    /// Releases of held frames.
    due: BTreeSet<(Time, FlowId)>,
}

impl ConWeave {
    /// Reads [`PARAMS`].
    ///
    /// # Errors
    /// None of its own: each time is valid.
    pub fn read(v: &mut dyn Values) -> Result<ConWeave, ParamError> {
        let settings = Settings {
            reply: v.span("reply")?,
            inactive: v.span("inactive")?,
            busy: v.span("busy")?,
            extra: v.span("extra")?,
            wait: v.span("wait")?,
            queues: v.count("queues")?,
        };
        Ok(ConWeave {
            settings,
            sources: FxHashMap::default(),
            sinks: FxHashMap::default(),
            grown: SMALL,
            epochs: 0,
            busy: FxHashMap::default(),
            due: BTreeSet::new(),
        })
    }

    /// Idle time after which a flow is forgotten.
    fn aging(&self) -> Span {
        self.settings.inactive.max(AGING)
    }

    fn forget(&mut self, now: Time) {
        let (flows, aging) = (self.sources.len() + self.sinks.len(), self.aging());
        if flows < self.grown {
            return;
        }
        let idle = |last| now.since(last) >= aging;
        self.sources.retain(|_, s| !idle(s.last));
        self.sinks.retain(|_, s| s.held.is_some() || !idle(s.last));
        self.grown = SMALL.max(2 * (self.sources.len() + self.sinks.len()));
    }

    /// The first of two next hops at random that is not busy, and true; the first one and false if
    /// both are.
    fn draw(&self, now: Time, leaf: NodeId, hops: &mut dyn NextHops) -> (usize, bool) {
        let drawn = [hops.any(), hops.any()];
        let is_free = |&hop: &usize| {
            let until = self.busy.get(&(leaf, hops.port(hop)));
            until.is_none_or(|&until| until <= now)
        };
        let free = drawn.into_iter().find(is_free);
        (free.unwrap_or(drawn[0]), free.is_some())
    }
}

impl Balancer for ConWeave {
    fn pick(&mut self, frame: &Arrival, hops: &mut dyn NextHops) -> usize {
        let n = hops.count();
        let Some(leaf) = frame.to_leaf else { return hops.hashed(n as u64) as usize };
        let now = frame.now;
        self.forget(now);
        let recent = self.sources.get(&frame.flow).filter(|s| now.since(s.last) < self.aging());
        let known = recent.copied().and_then(|s| {
            let hop = (0..n).find(|&hop| hops.port(hop) == s.path)?;
            Some((s, hop))
        });
        let active = known.filter(|(s, _)| now.since(s.last) <= self.settings.inactive);
        let (source, hop, role) = match active {
            Some((s, hop)) if s.settled => (s, hop, Role::Init),
            Some((s, hop)) if s.deadline < now => {
                let (drawn, free) = self.draw(now, leaf, hops);
                let path = hops.port(if free { drawn } else { hop });
                let rerouted =
                    Source { path, rerouted: true, deadline: Time::NEVER, tail: now, ..s };
                (rerouted, hop, Role::Tail)
            }
            Some((s, hop)) => (s, hop, Role::Data),
            None => {
                let (drawn, free) = self.draw(now, leaf, hops);
                let hop = known.filter(|_| !free).map_or(drawn, |(_, hop)| hop);
                let new = Source {
                    epoch: 0,
                    path: hops.port(hop),
                    rerouted: false,
                    settled: false,
                    deadline: Time::NEVER,
                    tail: Time::ZERO,
                    last: now,
                };
                (new, hop, Role::Init)
            }
        };
        let mut source = Source { last: now, ..source };
        if role == Role::Init {
            self.epochs += 1;
            (source.epoch, source.rerouted, source.settled) = (self.epochs, false, false);
            (source.deadline, source.tail) = (now + self.settings.reply, Time::ZERO);
        }
        self.sources.insert(frame.flow, source);
        let place = Place {
            epoch: source.epoch,
            rerouted: source.rerouted && role != Role::Tail,
            role,
            sent: now,
            tail: source.tail,
        };
        *hops.header() = Header { tag: hops.port(hop), place, ..Header::default() };
        hop
    }

    fn adds_headers(&self) -> bool {
        true
    }

    fn replies(&self) -> bool {
        true
    }

    fn on_header(&mut self, frame: &Landing, header: &Header) -> Verdict {
        if !frame.is_data {
            return Verdict::default();
        }
        let (now, place, aging) = (frame.now, &header.place, self.aging());
        self.forget(now);
        let sink = self.sinks.entry(frame.flow).or_default();
        if sink.held.is_none() && now.since(sink.last) >= aging {
            *sink = Sink::default();
        }
        sink.last = now;
        if place.epoch < sink.epoch {
            return Verdict::default();
        }
        if place.epoch > sink.epoch {
            (sink.epoch, sink.rerouted, sink.old_path) = (place.epoch, false, None);
        }
        if !place.rerouted {
            sink.old_path = Some((place.sent, now));
        }
        if place.rerouted || place.role == Role::Tail {
            sink.tail = place.tail;
        }
        let before = sink.held;
        let hold = match sink.held {
            // Frames of an earlier epoch go first.
            Some((_, epoch)) if epoch < sink.epoch => {
                sink.rerouted |= place.role == Role::Tail;
                sink.held = Some((now, epoch));
                true
            }
            Some(_) if place.rerouted => true,
            Some((at, epoch)) => {
                let overdue = sink.overdue(now, &self.settings);
                let tail = at == now || place.role == Role::Tail;
                sink.held = Some((if tail { now } else { overdue }, epoch));
                false
            }
            None if place.role == Role::Tail => {
                sink.rerouted = true;
                false
            }
            None => {
                let free =
                    self.settings.queues == 0 || (self.due.len() as u64) < self.settings.queues;
                let hold = place.rerouted && !sink.rerouted && free;
                if hold {
                    sink.held = Some((sink.overdue(now, &self.settings), sink.epoch));
                }
                hold
            }
        };
        if sink.held != before {
            before.map(|(at, _)| self.due.remove(&(at, frame.flow)));
            sink.held.map(|(at, _)| self.due.insert((at, frame.flow)));
        }
        let notify = (frame.mark == Mark::Ce).then_some(Reply::Notify(header.tag));
        let reply = match place.role {
            Role::Data => None,
            Role::Init => Some(Reply::Init(place.epoch)),
            Role::Tail => Some(Reply::Tail(place.epoch)),
        };
        Verdict { hold, replies: [notify, reply].map(|r| r.map(Reply::to_word)) }
    }

    fn on_reply(&mut self, now: Time, flow: FlowId, from_leaf: NodeId, content: u64) {
        let of = match Reply::from_word(content) {
            Reply::Notify(port) => {
                self.busy.insert((from_leaf, port), now + self.settings.busy);
                return;
            }
            Reply::Init(epoch) => (epoch, false),
            Reply::Tail(epoch) => (epoch, true),
        };
        let source = self.sources.get_mut(&flow).filter(|s| (s.epoch, s.rerouted) == of);
        if let Some(s) = source.filter(|s| s.rerouted || now < s.deadline) {
            (s.settled, s.deadline) = (true, Time::NEVER);
        }
    }

    fn due(&self) -> Time {
        self.due.first().map_or(Time::NEVER, |&(at, _)| at)
    }

    fn release(&mut self, now: Time) -> Option<FlowId> {
        let &(at, flow) = self.due.first().filter(|(at, _)| *at <= now)?;
        self.due.remove(&(at, flow));
        let sink = self.sinks.get_mut(&flow)?;
        let (_, epoch) = sink.held.take()?;
        sink.rerouted |= epoch == sink.epoch;
        Some(flow)
    }
}
