//! What goes from one part of a fabric to another.

use super::part::{Coming, Part};
use crate::scheduled::event::Kind;
use crate::scheduled::flow::{Packet, Tag};
use crate::scheduled::segment::Segment;

/// News for another part.
pub(super) enum Mail {
    /// A segment on a link: arrival of its head or its tail, and where.
    Segment { time: u64, kind: Kind, at: u32, segment: Segment },
    /// Room behind a link that is free at a time.
    Room { time: u64, link: u32, bytes: u32, place: u32 },
    /// A packet that has begun to leave its input: part of the headers of the segments that carry
    /// it.
    Packet { source: u32, destination: u32, packet: Packet },
    /// A control message next to the data.
    Message { time: u64, segment: Segment },
    /// A frame has left its output.
    Acknowledged { time: u64, source: u32, from: u32, len: u32, tag: Tag },
    /// A CNM of an output, to the port of the flow's host.
    Cnm { time: u64, port: u32, arg: u32 },
}

impl Mail {
    /// Time at which it may matter [ps].
    pub fn time(&self) -> u64 {
        match *self {
            Mail::Segment { time, .. }
            | Mail::Room { time, .. }
            | Mail::Message { time, .. }
            | Mail::Acknowledged { time, .. }
            | Mail::Cnm { time, .. } => time,
            Mail::Packet { .. } => u64::MAX, // the segment matters
        }
    }
}

/// Puts an item in the order of arrival, then sender; those of one sender keep their order.
fn insert<T>(coming: &mut Coming<T>, time: u64, from: u32, item: T) {
    let after = coming.iter().rposition(|c| (c.0, c.1) <= (time, from));
    coming.insert(after.map_or(0, |last| last + 1), (time, from, item));
}

impl Part {
    /// Something from another part, or from this one. Compiled into each sender, which knows what it
    /// sends.
    #[inline(always)]
    pub fn receive(&mut self, mail: Mail) {
        match mail {
            Mail::Segment { time, kind, at, segment } => {
                let id = self.segments.add(segment);
                self.events.add(time, kind, at as usize, id);
            }
            Mail::Room { time, link, bytes, place } => {
                if let Some(at) = self.links[link as usize].give_back(time, bytes, place) {
                    self.call_link(link, at);
                }
            }
            Mail::Packet { source, destination, packet } => {
                self.reassembly(source as usize, destination as usize).expect(packet);
            }
            Mail::Message { time, segment } => {
                let port = segment.destination as usize;
                insert(&mut self.messages[port], time, segment.source, segment);
                self.events.add(time, Kind::Message, port, 0);
            }
            Mail::Acknowledged { time, source, from, len, tag } => {
                let port = source as usize;
                insert(&mut self.acknowledged[port], time, from, (len, tag));
                self.events.add(time, Kind::Acknowledged, port, 0);
            }
            Mail::Cnm { time, port, arg } => {
                self.events.add(time, Kind::CnmAtEdge, port as usize, arg);
            }
        }
    }

    /// Sends to the part of a port.
    #[inline(always)]
    pub fn post(&mut self, port: u32, mail: Mail) {
        self.post_to(self.plan.part_of[port as usize], mail);
    }

    /// Sends to a part.
    #[inline(always)]
    pub fn post_to(&mut self, part: u16, mail: Mail) {
        if part == self.number {
            return self.receive(mail);
        }
        self.outgoing[part as usize].push(mail);
    }
}
