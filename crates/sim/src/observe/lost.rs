//! Frames that did not reach the end of their way: how many, why, and whether a lossless network may lose them.

use xoff_node::{Drop, Frame, FrameKind, RetryEvent};
use xoff_units::save::Value;

use crate::engine::clock::Clock;
use crate::observe::checks::ViolationKind;
use crate::observe::monitor::Monitor;

/// Frames: data, and control frames apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Value)]
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

/// The lost frames of a run by cause. A lossless network that is dimensioned right has the first two at zero; the others come from faults
/// of the scenario, and from classes without a promise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Value)]
pub struct LostFrames {
    /// Dropped by a switch, of a lossless class: the ingress buffer or the egress queue had no room.
    pub buffer_full: FrameCount,
    /// Dropped by a switch: no route to the destination, although no link has failed.
    pub no_route: FrameCount,
    /// Dropped by a switch: no route to the destination is left after a link has failed.
    pub cut_off: FrameCount,
    /// Dropped by a node: they waited for a link that failed.
    pub link_failed: FrameCount,
    /// Dropped by a switch: its watchdog had found a storm.
    pub by_watchdog: FrameCount,
    /// Lost on the wire of a link that failed, or sent over it, hit, and not sent again before it failed.
    pub on_failed_link: FrameCount,
    /// Lost on the wire to an error ([`Losses`](crate::Losses)).
    pub on_faulty_link: FrameCount,
    /// Given up by a link that repeats, without having arrived: too many replays made no progress.
    pub given_up: FrameCount,
    /// Dropped by a switch, of a lossy class: the ingress buffer had no room.
    pub lossy_ingress: FrameCount,
    /// Dropped by a switch, of a lossy class: the egress queue had no room.
    pub lossy_egress: FrameCount,
}

impl LostFrames {
    /// Dropped by nodes.
    pub fn dropped(&self) -> FrameCount {
        self.buffer_full + self.no_route + self.cut_off + self.link_failed + self.by_watchdog + self.lossy()
    }
    /// Dropped where lossy classes found no room.
    pub fn lossy(&self) -> FrameCount {
        self.lossy_ingress + self.lossy_egress
    }
    /// Lost on links.
    pub fn on_links(&self) -> FrameCount {
        self.on_failed_link + self.on_faulty_link + self.given_up
    }
    /// All of them.
    pub fn total(&self) -> FrameCount {
        self.dropped() + self.on_links()
    }
    /// Losses that no fault explains. In a lossless network ([`Outcome::lossless`](crate::Outcome::lossless)) each of them is a violation.
    pub fn unexcused(&self) -> FrameCount {
        self.buffer_full + self.no_route
    }
    /// Losses that a failed or faulty link, the watchdog, or a lossy class explains.
    pub fn excused(&self) -> FrameCount {
        self.cut_off + self.link_failed + self.by_watchdog + self.on_links() + self.lossy()
    }

    /// Adds those of another partition of the network.
    pub(crate) fn add(&mut self, o: &LostFrames) {
        self.buffer_full = self.buffer_full + o.buffer_full;
        self.no_route = self.no_route + o.no_route;
        self.cut_off = self.cut_off + o.cut_off;
        self.link_failed = self.link_failed + o.link_failed;
        self.by_watchdog = self.by_watchdog + o.by_watchdog;
        self.on_failed_link = self.on_failed_link + o.on_failed_link;
        self.on_faulty_link = self.on_faulty_link + o.on_faulty_link;
        self.given_up = self.given_up + o.given_up;
        self.lossy_ingress = self.lossy_ingress + o.lossy_ingress;
        self.lossy_egress = self.lossy_egress + o.lossy_egress;
    }
}

/// Activity of links that repeat corrupted frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Value)]
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
    /// Frames that a link would send again no more, whether they had arrived or not: those that had not are among [`LostFrames`].
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
        self.replayed.data.wrapping_sub(self.corrupted.data + self.discarded.data + self.on_failed_link.data)
    }
}

/// A dropped frame, as its node describes it.
pub(crate) struct Dropped {
    /// Ingress port, as a column.
    pub at: usize,
    /// The port at the far end of that.
    pub from: u32,
    pub class: u8,
    pub flow: u32,
    pub len: u32,
    pub kind: FrameKind,
    pub why: Drop,
}

impl Monitor {
    /// A node has dropped a frame.
    #[cold]
    pub(crate) fn note_dropped(&mut self, clock: &Clock, d: &Dropped) {
        self.ports[d.at].dropped += 1;
        if let Drop::QueueFull(port) = d.why {
            let node = self.layout.ports.place(d.at as u32).0;
            self.ports[self.layout.port_index(node, port)].tail_dropped += 1;
        }
        let lossy = self.layout.lossy.has(d.class);
        let lost = &mut self.counts.lost;
        let (count, excused) = match d.why {
            Drop::BufferFull if lossy => (&mut lost.lossy_ingress, true),
            Drop::QueueFull(_) if lossy => (&mut lost.lossy_egress, true),
            Drop::BufferFull | Drop::QueueFull(_) => (&mut lost.buffer_full, false),
            Drop::NoRoute if self.link_failed => (&mut lost.cut_off, true),
            Drop::NoRoute => (&mut lost.no_route, false),
            Drop::LinkFailed => (&mut lost.link_failed, true),
            Drop::Stormed(_) => (&mut lost.by_watchdog, true),
        };
        count.count(d.kind);
        if let Drop::Stormed(port) = d.why {
            self.note_discarded(d, port);
        }
        if self.layout.lossless && !excused {
            if d.kind == FrameKind::Data {
                self.checks.loses(d.flow);
            }
            let layout = &self.layout;
            self.checks.broken(clock.of_run(), clock.place().rank, ViolationKind::Loss, || layout.describe_dropped(d));
        }
    }

    /// A link that repeats did something.
    #[cold]
    pub(crate) fn note_retry(&mut self, node: u32, port: u16, what: RetryEvent) {
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
                let to = self.layout.ports.peer(self.layout.port_index(node, port) as u32);
                self.given_up.give_up(to, kind, number, sent, why);
                if kind == FrameKind::Data {
                    self.checks.loses(flow); // the gap that it leaves breaks no other promise
                }
            }
            RetryEvent::Skipped { from, to } => self.given_up.skip(self.layout.port_index(node, port) as u32, from..to),
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
        let count = if up { &mut self.counts.lost.on_faulty_link } else { &mut self.counts.lost.on_failed_link };
        count.count(kind);
    }
}
