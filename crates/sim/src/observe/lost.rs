//! Frames that did not reach the end of their way: how many, why, and whether a lossless network
//! may lose them.

use std::fmt;
use std::ops::{Index, IndexMut};

use xoff_node::{Drop, Frame, FrameKind, RetryEvent};
use xoff_units::state::State;
use xoff_units::{Class, Fate, FlowId, Loss, Meaning, PortId};

use crate::engine::clock::Clock;
use crate::observe::checks::ViolationKind;
use crate::observe::monitor::Monitor;

/// Frames: data, and control frames apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, State)]
#[state(counted)]
pub struct FrameCount {
    /// Data frames.
    pub data: u64,
    /// Acknowledgements, CNMs, CNPs and messages of the flow control.
    pub control: u64,
}

impl FrameCount {
    /// Frames of any kind.
    pub fn total(self) -> u64 {
        self.data + self.control
    }

    pub(crate) fn count(&mut self, kind: FrameKind) {
        match kind {
            FrameKind::Data => self.data += 1,
            _ => self.control += 1,
        }
    }
}

impl std::ops::Add for FrameCount {
    type Output = FrameCount;
    fn add(self, o: FrameCount) -> FrameCount {
        FrameCount { data: self.data + o.data, control: self.control + o.control }
    }
}

/// Lost frames of a run by cause: `lost[Loss::BufferFull]`.
#[derive(Clone, Copy, Default, PartialEq, Eq, State)]
#[state(counted)]
pub struct LostFrames(pub(crate) [FrameCount; Loss::ALL.len()]);

impl LostFrames {
    /// Frames dropped by nodes.
    pub fn dropped(&self) -> FrameCount {
        self.sum(|cause| cause.fate() == Fate::Dropped)
    }
    /// Frames dropped where lossy classes found no room.
    pub fn lossy(&self) -> FrameCount {
        self.sum(|cause| cause.meaning() == Meaning::Measured)
    }
    /// Frames lost on links.
    pub fn on_links(&self) -> FrameCount {
        self.sum(|cause| cause.fate() == Fate::Lost)
    }
    /// All lost frames.
    pub fn total(&self) -> FrameCount {
        self.sum(|_| true)
    }
    /// Losses that no fault explains. In a lossless network
    /// ([`Outcome::lossless`](crate::Outcome::lossless)) each of them is a violation.
    pub fn unexcused(&self) -> FrameCount {
        self.sum(|cause| cause.meaning() == Meaning::Violation)
    }
    /// Losses that a failed or faulty link, the watchdog, or a lossy class explains.
    pub fn excused(&self) -> FrameCount {
        self.sum(|cause| cause.meaning() != Meaning::Violation)
    }
    /// Causes with their counts, in the order of messages.
    pub fn iter(&self) -> impl Iterator<Item = (Loss, FrameCount)> {
        Loss::ALL.into_iter().zip(self.0)
    }

    fn sum(&self, of: impl Fn(Loss) -> bool) -> FrameCount {
        self.iter()
            .filter(|&(cause, _)| of(cause))
            .fold(FrameCount::default(), |all, (_, count)| all + count)
    }

    /// Adds those of another partition of the network.
    pub(crate) fn add(&mut self, o: &LostFrames) {
        o.iter().for_each(|(cause, count)| self[cause] = self[cause] + count);
    }
}

impl Index<Loss> for LostFrames {
    type Output = FrameCount;
    fn index(&self, cause: Loss) -> &FrameCount {
        &self.0[cause as usize]
    }
}

impl IndexMut<Loss> for LostFrames {
    fn index_mut(&mut self, cause: Loss) -> &mut FrameCount {
        &mut self.0[cause as usize]
    }
}

impl fmt::Debug for LostFrames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter().filter(|(_, count)| count.total() > 0)).finish()
    }
}

/// Activity of links that repeat corrupted frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, State)]
pub struct RetryCounts {
    /// Frames that a link corrupted, and kept to send them again.
    pub corrupted: FrameCount,
    /// Good frames that were not the expected ones.
    pub discarded: FrameCount,
    /// Frames sent again.
    pub replayed: FrameCount,
    /// Times that a far end was sent that a frame is missing.
    pub nacks: u64,
    /// Times that a replay timer expired.
    pub timeouts: u64,
    /// Signals between the two ends of a link that were lost.
    pub signals_lost: u64,
    /// Frames that a link would send again no more, whether they had arrived or not: those that had
    /// not are among [`LostFrames`].
    pub given_up: FrameCount,
    /// Frames of links that repeat, on the wire when it failed.
    pub on_failed_link: FrameCount,
}

impl RetryCounts {
    /// Adds those of another partition of the network.
    pub(crate) fn add(&mut self, o: &RetryCounts) {
        self.corrupted = self.corrupted + o.corrupted;
        self.discarded = self.discarded + o.discarded;
        self.replayed = self.replayed + o.replayed;
        self.nacks += o.nacks;
        self.timeouts += o.timeouts;
        self.signals_lost += o.signals_lost;
        self.given_up = self.given_up + o.given_up;
        self.on_failed_link = self.on_failed_link + o.on_failed_link;
    }

    /// Data frames that are under way once more than they were sent, less those that are no longer.
    pub(crate) fn copies(&self) -> u64 {
        self.replayed
            .data
            .wrapping_sub(self.corrupted.data + self.discarded.data + self.on_failed_link.data)
    }
}

/// A dropped frame, as its node describes it.
pub(crate) struct Dropped {
    /// Ingress port, as a column.
    pub at: usize,
    /// The port at the far end of that.
    pub from: u32,
    pub class: Class,
    pub flow: FlowId,
    pub len: u32,
    pub kind: FrameKind,
    pub why: Drop,
}

impl Monitor {
    /// A node has dropped a frame.
    #[cold]
    pub(crate) fn note_dropped(&mut self, clock: &Clock, d: &Dropped) {
        self.ports[d.at].dropped += 1;
        let Drop { cause, queue } = d.why;
        if let (Loss::BufferFull, Some(port)) = (cause, queue) {
            let node = self.layout.ports.place(d.at as u32).node;
            self.ports[self.layout.port_index(PortId { node, port })].tail_dropped += 1;
        }
        let cause = match cause {
            Loss::BufferFull if self.layout.lossy.has(d.class) && queue.is_some() => {
                Loss::LossyEgress
            }
            Loss::BufferFull if self.layout.lossy.has(d.class) => Loss::LossyIngress,
            Loss::NoRoute if self.link_failed => Loss::CutOff,
            cause => cause,
        };
        self.counts.lost[cause].count(d.kind);
        if let (Loss::Watchdog, Some(port)) = (cause, queue) {
            self.note_discarded(d, port);
        }
        if self.layout.lossless && cause.meaning() == Meaning::Violation {
            if d.kind == FrameKind::Data {
                self.checks.loses(d.flow);
            }
            let layout = &self.layout;
            self.checks.broken(clock.of_run(), clock.place().rank, ViolationKind::Loss, || {
                layout.describe_dropped(d)
            });
        }
    }

    /// A link that repeats did something.
    #[cold]
    pub(crate) fn note_retry(&mut self, at: PortId, what: RetryEvent) {
        let n = &mut self.counts.retry;
        match what {
            RetryEvent::Corrupted(kind) => n.corrupted.count(kind),
            RetryEvent::Discarded(kind) => n.discarded.count(kind),
            RetryEvent::Replayed(kind) => n.replayed.count(kind),
            RetryEvent::Nack => n.nacks += 1,
            RetryEvent::TimedOut => n.timeouts += 1,
            RetryEvent::SignalLost => n.signals_lost += 1,
            RetryEvent::GivenUp { kind, flow, number, sent, why } => {
                n.given_up.count(kind);
                let to = self.layout.ports.peer(self.layout.port_index(at) as u32);
                self.given_up.give_up(to, kind, number, sent, why);
                if kind == FrameKind::Data {
                    self.checks.loses(flow); // the gap that it leaves breaks no other promise
                }
            }
            RetryEvent::Skipped { from, to } => {
                self.given_up.skip(self.layout.port_index(at) as u32, from..to)
            }
        }
    }

    /// A frame is lost on the link by which it comes to a port; `up`: the link has not failed.
    pub(crate) fn note_lost(&mut self, at: usize, frame: &Frame, up: bool) {
        let kind = frame.kind();
        if frame.number().is_some() {
            // Its link has another one, and gives that up as it fails.
            self.counts.retry.on_failed_link.count(kind);
            return;
        }
        if kind == FrameKind::Data {
            self.checks.loses(frame.flow);
        }
        self.ports[at].lost += 1;
        let cause = if up { Loss::OnFaultyLink } else { Loss::OnFailedLink };
        self.counts.lost[cause].count(kind);
    }
}
