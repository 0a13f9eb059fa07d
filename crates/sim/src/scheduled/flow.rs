//! The stream of one flow (an input and an output of the fabric): its VOQ at the one end,
//! reassembly at the other.
//!
//! ```text
//!   packets:   |----p0----|--p1--|------p2------|---p3---|       one stream of bytes
//!              sent ^          requested ^            arrived ^
//!   segments:  [256][256][..]  cut when requested: full ones and a rest per request
//! ```
//!
//! The two ends have separate states. What the headers of segments say about packets goes from one
//! to the other when the first byte of a packet is sent; it is read when a segment arrives.

use std::collections::VecDeque;
use xoff_units::state::State;

use xoff_mech::scheduled::request_grant::{MaySend, Requester};

use crate::scheduled::flows::Half;

/// Owner of a packet, besides the flow between two ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, State)]
pub(crate) struct Tag {
    /// Flow of a host, over all hosts.
    pub flow: Option<u32>,
    /// A frame with several destinations, of which this is a copy.
    pub multicast: Option<u32>,
}

/// A packet in the stream of its flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, State)]
pub(crate) struct Packet {
    /// End of the packet in the stream.
    pub end: u64,
    pub len: u32,
    pub tag: Tag,
    /// Arrival of its last bit at the input adapter [ps].
    pub arrived: u64,
}

/// A packet that has not left the output adapter.
#[derive(Clone, Copy, Debug, State)]
struct Partial {
    packet: Packet,
    /// Bytes that have not come to the output adapter.
    missing: u32,
    /// Segments whose last byte is in it: granted ones, and unsolicited ones. They leave the buffer
    /// with it.
    granted: u32,
    unsolicited: u32,
}

/// A packet as it leaves the output adapter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Departure {
    pub len: u32,
    pub tag: Tag,
    pub arrived: u64,
    pub granted: u32,
    pub unsolicited: u32,
}

/// A piece of the stream for a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub offset: u64,
    pub len: u32,
}

/// A flow at its input.
#[derive(Clone, Debug, Default, State)]
pub(crate) struct Flow {
    /// Counters of the VOQ.
    pub requester: Requester,
    /// Grants and ACKs for the flow that goes the other way, waiting to travel with this one
    /// [segments].
    pub transit_grants: u32,
    pub transit_acks: u32,
    /// The first packet has been sent in part.
    begun: bool,
    /// Packets that have not wholly left the VOQ, by place in the stream.
    packets: VecDeque<Packet>,
    /// Packets of those that are wholly requested or sent unsolicited.
    asked: usize,
    arrived: u64,
    requested: u64,
    sent: u64,
    /// Requests not yet injected: bytes left of each.
    batches: VecDeque<u64>,
}

/// Offset at which a stream begins that is set in motion at a time. A flow rests only if it has not
/// sent beyond the offset of the time: two streams of a flow do not overlap, although nothing is
/// kept of the first one.
fn first_offset(now: u64) -> u64 {
    now << 10
}

impl Half for Flow {
    /// Nothing of the flow waits: no packet, no control message, no segment that is requested,
    /// granted or not acknowledged.
    fn may_rest(&self, now: u64) -> bool {
        self.packets.is_empty()
            && self.transit_grants + self.transit_acks == 0
            && self.requester == Requester::default()
            && self.sent <= first_offset(now)
    }
    fn begin(&mut self, now: u64) {
        debug_assert!(self.batches.is_empty() && self.sent == self.arrived);
        let first = first_offset(now);
        (self.arrived, self.requested, self.sent) = (first, first, first);
    }
}

impl Flow {
    /// A packet came to the VOQ.
    pub fn push(&mut self, len: u32, now: u64, tag: Tag) {
        self.arrived += u64::from(len);
        self.packets.push_back(Packet { end: self.arrived, len, tag, arrived: now });
    }

    /// True if bytes wait that are not requested.
    #[inline]
    pub fn waits(&self) -> bool {
        self.arrived > self.requested
    }

    /// Bytes in the VOQ.
    pub fn unsent(&self) -> u64 {
        self.arrived - self.sent
    }

    /// Requests all that may be requested: whole packets, as long as the segments pending stay
    /// within `requests_max` (sections 3.2 and 3.4). Returns the size of the request [segments].
    pub fn request(&mut self, requests_max: u32, segment_max: u32, pack: bool) -> u32 {
        if !pack {
            return self.request_each(requests_max, segment_max);
        }
        let room = self.requester.room(requests_max);
        let mut segments = 0;
        let mut end = self.requested;
        while let Some(p) = self.packets.get(self.asked) {
            let with_it = (p.end - self.requested).div_ceil(segment_max.into()) as u32;
            if with_it > room {
                break;
            }
            (segments, end) = (with_it, p.end);
            self.asked += 1;
        }
        if segments > 0 {
            self.batches.push_back(end - self.requested);
            self.requested = end;
            self.requester.on_requested(segments);
        }
        segments
    }

    /// As [`Flow::request`], where no segment carries parts of two packets.
    fn request_each(&mut self, requests_max: u32, segment_max: u32) -> u32 {
        let mut segments = 0;
        while let Some(p) = self.packets.get(self.asked) {
            let more = (p.end - self.requested).div_ceil(segment_max.into()) as u32;
            if more > self.requester.room(requests_max) {
                break;
            }
            self.batches.push_back(p.end - self.requested);
            self.requested = p.end;
            self.requester.on_requested(more);
            self.asked += 1;
            segments += more;
        }
        segments
    }

    /// The next segment that was requested and granted.
    pub fn take_granted(&mut self, segment_max: u32) -> Piece {
        let left = self.batches.front_mut().expect("a grant is for a request");
        let len = (*left).min(segment_max.into());
        *left -= len;
        if *left == 0 {
            self.batches.pop_front();
        }
        self.take(len)
    }

    /// A segment without a request; all that was requested is gone.
    pub fn take_unsolicited(&mut self, segment_max: u32) -> Piece {
        debug_assert!(self.batches.is_empty() && self.sent == self.requested);
        let len = (self.arrived - self.sent).min(segment_max.into());
        self.requested = self.sent + len;
        while self.packets.get(self.asked).is_some_and(|p| p.end <= self.requested) {
            self.asked += 1;
        }
        self.take(len)
    }

    fn take(&mut self, len: u64) -> Piece {
        let offset = self.sent;
        self.sent += len;
        Piece { offset, len: len as u32 }
    }

    /// The next packet, if its first byte has left the VOQ; once for each packet.
    pub fn next_begun(&mut self) -> Option<Packet> {
        let p = *self.packets.front().filter(|_| !self.begun)?;
        self.begun = p.end - u64::from(p.len) < self.sent;
        self.begun.then_some(p)
    }

    /// The packet that has begun to leave the VOQ, if it has wholly left: its length, and its flow.
    pub fn next_injected(&mut self) -> Option<(u32, Tag)> {
        let p = *self.packets.front().filter(|p| p.end <= self.sent)?;
        self.packets.pop_front();
        self.asked -= 1;
        self.begun = false;
        Some((p.len, p.tag))
    }
}

/// A flow at its output.
#[derive(Clone, Debug, Default, State)]
pub(crate) struct Reassembly {
    /// Packets that have begun to leave the input and have not departed, by place in the stream.
    packets: VecDeque<Partial>,
    /// Packets of those, from the front, that are complete.
    ready: usize,
    /// Highest offset that came.
    highest: u64,
}

impl Half for Reassembly {
    fn may_rest(&self, _: u64) -> bool {
        self.packets.is_empty()
    }
    fn begin(&mut self, _: u64) {
        self.highest = 0;
    }
}

impl Reassembly {
    /// A packet has begun to leave the input.
    pub fn expect(&mut self, packet: Packet) {
        self.packets.push_back(Partial { packet, missing: packet.len, granted: 0, unsolicited: 0 });
    }

    /// The `nth` of the packets that are complete and have not departed.
    pub fn complete(&self, nth: usize) -> (u32, Tag) {
        let p = &self.packets[nth].packet;
        (p.len, p.tag)
    }

    /// Number of complete packets that have not departed.
    pub fn ready(&self) -> usize {
        self.ready
    }

    /// True if a later segment arrived before this one.
    pub fn is_late(&mut self, offset: u64) -> bool {
        let late = offset < self.highest;
        self.highest = self.highest.max(offset);
        late
    }

    /// A segment came to the output adapter, in whatever order. Returns how many packets are
    /// complete by it and may depart in order.
    pub fn on_segment(&mut self, offset: u64, len: u32, how: MaySend) -> usize {
        let (mut at, end) = (offset, offset + u64::from(len));
        let mut place = self.packets.partition_point(|p| p.packet.end <= offset);
        while let Some(p) = self.packets.get_mut(place) {
            let to = p.packet.end.min(end);
            p.missing -= (to - at) as u32;
            at = to;
            if at == end {
                // The packet of its last byte departs last of those it carries a part of.
                match how {
                    MaySend::Granted => p.granted += 1,
                    MaySend::Unsolicited => p.unsolicited += 1,
                    MaySend::No => {}
                }
                break;
            }
            place += 1;
        }
        let before = self.ready;
        while self.packets.get(self.ready).is_some_and(|p| p.missing == 0) {
            self.ready += 1;
        }
        self.ready - before
    }

    /// The next complete packet departs.
    pub fn depart(&mut self) -> Departure {
        let p = self.packets.pop_front().expect("a packet is ready");
        debug_assert!(self.ready > 0 && p.missing == 0);
        self.ready -= 1;
        let Packet { len, tag, arrived, .. } = p.packet;
        Departure { len, tag, arrived, granted: p.granted, unsolicited: p.unsolicited }
    }

    /// Segments that packets hold at the output adapter while parts of them are missing, granted
    /// and unsolicited, and what the first of them lacks [segments, segments, bytes].
    pub fn partial(&self) -> Option<(u32, u32, u32)> {
        let mut begun = self
            .packets
            .iter()
            .skip(self.ready)
            .filter(|p| p.granted + p.unsolicited > 0)
            .peekable();
        let missing = begun.peek()?.missing;
        let (granted, unsolicited) =
            begun.fold((0, 0), |(g, u), p| (g + p.granted, u + p.unsolicited));
        Some((granted, unsolicited, missing))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(packets: &[u32]) -> Flow {
        let mut f = Flow::default();
        packets.iter().for_each(|&len| f.push(len, 7, Tag::default()));
        f
    }
    fn piece(offset: u64, len: u32) -> Piece {
        Piece { offset, len }
    }

    /// Section 2.1: a segment carries fragments of several packets; it is cut when it is requested,
    /// so that grants fit.
    #[test]
    fn segments_are_cut_from_the_stream_at_each_request() {
        let mut f = flow(&[100, 100, 500]);
        // 700 bytes in segments of 256: two full ones and 188.
        assert_eq!((f.request(50, 256, true), f.waits()), (3, false));
        f.push(40, 8, Tag::default());
        assert_eq!(f.request(50, 256, true), 1, "a request of its own");
        f.requester.on_grant(4);
        let pieces: Vec<_> = (0..4).map(|_| f.take_granted(256)).collect();
        assert_eq!(pieces, [piece(0, 256), piece(256, 256), piece(512, 188), piece(700, 40)]);
        assert_eq!(f.unsent(), 0);
    }

    /// Without packing each packet has segments of its own.
    #[test]
    fn packets_may_keep_to_themselves() {
        let mut f = flow(&[100, 300, 100]);
        assert_eq!((f.request(3, 256, false), f.waits()), (3, true));
        f.requester.on_grant(3);
        assert_eq!(
            [f.take_granted(256), f.take_granted(256), f.take_granted(256)],
            [piece(0, 100), piece(100, 256), piece(356, 44)]
        );
        let sizes: Vec<_> = std::iter::from_fn(|| {
            f.next_begun();
            f.next_injected()
        })
        .map(|p| p.0)
        .collect();
        assert_eq!(sizes, [100, 300]);
    }

    /// Section 3.4: whole packets, or nothing beyond G.
    #[test]
    fn a_request_is_for_whole_packets_within_the_limit() {
        let mut f = flow(&[256, 512, 256]);
        assert_eq!(f.request(2, 256, true), 1, "the second packet would make three");
        f.requester.on_grant(1);
        assert_eq!(f.request(2, 256, true), 2);
        assert_eq!((f.request(2, 256, true), f.waits()), (0, true));
    }

    /// Section 2.1: an unsolicited segment carries the first bytes, and the next request is for the
    /// rest of the packet.
    #[test]
    fn an_unsolicited_segment_goes_before_the_requests() {
        let mut f = flow(&[40, 600, 40]);
        assert_eq!(f.take_unsolicited(256), piece(0, 256));
        // 384 bytes of the second packet and the third: two segments, cut across the packets.
        assert_eq!((f.request(2, 256, true), f.waits()), (2, false));
        f.requester.on_grant(2);
        assert_eq!([f.take_granted(256), f.take_granted(256)], [piece(256, 256), piece(512, 168)]);
        assert_eq!(f.unsent(), 0);
    }

    /// Segments come in any order; packets leave in order, with the slots of the segments whose
    /// last byte is theirs.
    #[test]
    fn packets_are_put_together_from_segments_out_of_order() {
        let (mut input, mut f) = (flow(&[100, 100, 300]), Reassembly::default());
        input.request(50, 256, true);
        input.requester.on_grant(2);
        let mut take = || {
            let piece = input.take_granted(256);
            let mut left = 0;
            while let Some(p) = input.next_begun() {
                f.expect(p);
                left += u32::from(input.next_injected().is_some());
            }
            (piece, left + u32::from(input.next_injected().is_some()))
        };
        let ((a, left_a), (b, left_b)) = (take(), take());
        assert_eq!((left_a, left_b), (2, 1));
        assert_eq!(
            (f.on_segment(b.offset, b.len, MaySend::Granted), f.partial()),
            (0, Some((1, 0, 56)))
        );
        assert_eq!((f.on_segment(a.offset, a.len, MaySend::Granted), f.partial()), (3, None));
        let departures: Vec<_> =
            (0..3).map(|_| f.depart()).map(|d| (d.len, d.granted, d.arrived)).collect();
        assert_eq!(departures, [(100, 0, 7), (100, 0, 7), (300, 2, 7)]);
    }
}
