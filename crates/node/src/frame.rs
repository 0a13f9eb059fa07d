//! Frames, the slab they live in, and queues threaded through it.

use xoff_mech::balancing::Header;
use xoff_mech::detection::Mark;
use xoff_mech::flow_control::Message;
use xoff_mech::rate_control::{HOPS_MAX, Hop};
use xoff_units::state::{Meaning, State, Walk};
use xoff_units::{Bytes, Class, FlowId, Time, prefetch};

/// Handle of a frame in a [`FrameStore`].
pub type FrameId = u32;
/// No frame.
pub const NIL: FrameId = u32::MAX;
/// Longest frame that can be distinguished [bytes]: lengths have 16 bits.
pub const LEN_MAX: u32 = u16::MAX as u32;

/// Purpose of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum FrameKind {
    /// Part of a flow.
    Data,
    /// Cumulative acknowledgement.
    Ack,
    /// Acknowledgement that also reports a gap.
    Nack,
    /// Congestion notification: a CNM (802.1Qau) of a congestion point, or the message of a
    /// receiver to a source (a CNP of RoCE, a BECN of IBTA).
    CongestionNotification,
    /// Link-local control frame of the flow control; never forwarded.
    Control,
    /// Message of a flow's last leaf to its first one, for their load balancers.
    Reply,
}

/// A frame in the network: 32 bytes, so that two share a cache line. Source and destination are
/// those of its flow; small fields are packed into `bits`.
#[derive(Clone, Copy, Debug, State)]
#[state(canonical)]
#[repr(align(32))] // so that none straddles two cache lines
pub struct Frame {
    /// Data: offset of the first payload byte. Acknowledgement: bytes received in order. CNM: its
    /// value. Reply: its content.
    pub seq: u64,
    /// Time at which the first bit left the source.
    pub sent_at: Time,
    /// Next frame in its queue.
    next: FrameId,
    /// The flow it belongs to.
    pub flow: FlowId,
    /// Length on the wire [bytes].
    len: u16,
    /// Ingress port at the switch that now holds it.
    pub in_port: u16,
    /// Egress port it waits for at that switch.
    pub out_port: u16,
    /// Bits 0-2 kind, 3-5 class, 6-7 mark, 8-9 mark that it reports, 10 ends its flow, 11-13
    /// switches it has been through, 14 it has a number on a link, in `next`, 15 it wants no
    /// answer.
    bits: u16,
}

const CLASS: u16 = 3;
const MARK: u16 = 6;
const REPORTED: u16 = 8;
const ENDS_FLOW: u16 = 1 << 10;
const HOPS: u16 = 11;
const NUMBERED: u16 = 1 << 14;
const UNANSWERED: u16 = 1 << 15;
/// Bit of a control frame with a total, above the tag of its message.
const HAS_TOTAL: u32 = 1 << 8;
/// Mark of a control frame that is a signal of the link itself, and carries no message.
const IS_SIGNAL: u32 = 1 << 9;

impl Frame {
    /// A frame of at most [`LEN_MAX`] bytes without content; callers set other fields.
    #[inline]
    pub fn new(kind: FrameKind, flow: FlowId, class: Class, len: u32) -> Frame {
        debug_assert!(len <= LEN_MAX && class < Class(8));
        Frame {
            seq: 0,
            sent_at: Time::ZERO,
            next: NIL,
            flow,
            len: len as u16,
            in_port: 0,
            out_port: 0,
            bits: kind as u16 | u16::from(class.0) << CLASS,
        }
    }

    /// A control frame that carries `message` for `class`. The message is packed into fields that
    /// control frames do not need otherwise, so that data frames stay small.
    pub fn control(message: Message, class: Class, len: u32) -> Frame {
        let (tag, a, b) = message.to_words();
        let mut f = Frame::new(FrameKind::Control, FlowId(tag as u32), class, len);
        f.seq = a;
        f.sent_at = Time(b);
        f
    }

    /// A CNM of a congestion point, with its feedback value: 1 to 63.
    pub fn cnm(flow: FlowId, class: Class, len: u32, value: u8) -> Frame {
        Frame {
            seq: value as u64,
            ..Frame::new(FrameKind::CongestionNotification, flow, class, len)
        }
    }

    /// A reply of a leaf, 64 B long.
    pub fn reply(flow: FlowId, class: Class, content: u64) -> Frame {
        Frame { seq: content, ..Frame::new(FrameKind::Reply, flow, class, 64) }
    }

    /// The feedback value of a CNM; 0: a CNP or BECN, which reports a mark.
    pub fn value(&self) -> u8 {
        self.seq as u8
    }

    /// The message of a control frame.
    pub fn message(&self) -> Message {
        Message::from_words(self.flow.0 as u8, self.seq, self.sent_at.0)
    }

    /// Lets a control frame take along how much its port has sent in all, mod 2^48; in fields that
    /// control frames do not need.
    pub fn set_total(&mut self, total: u64) {
        self.flow = FlowId((self.flow.0 & 0xff) | HAS_TOTAL | ((total >> 32) as u32) << 16);
        (self.in_port, self.out_port) = (total as u16, (total >> 16) as u16);
    }

    /// Value given to [`Frame::set_total`]; `None`: the control frame carries none.
    pub fn total(&self) -> Option<u64> {
        let total = u64::from(self.flow.0 >> 16) << 32
            | u64::from(self.out_port) << 16
            | u64::from(self.in_port);
        (self.flow.0 & HAS_TOTAL != 0).then_some(total)
    }

    /// Control ordered set of a link: its kind, and the number of a frame.
    pub fn link_signal(kind: u8, number: u32) -> Frame {
        let flow = FlowId(u32::from(u8::MAX) | IS_SIGNAL);
        Frame {
            seq: u64::from(number) | u64::from(kind) << 32,
            flow,
            ..Frame::new(FrameKind::Control, FlowId(0), Class(0), 8)
        }
    }

    /// Values given to [`Frame::link_signal`]; `None`: another kind of frame.
    pub fn as_link_signal(&self) -> Option<(u8, u32)> {
        let is = self.kind() == FrameKind::Control && self.flow.0 & IS_SIGNAL != 0;
        is.then_some(((self.seq >> 32) as u8, self.seq as u32))
    }

    /// Numbers a frame on a link. It is in no queue there.
    pub fn set_number(&mut self, number: u32) {
        self.next = number;
        self.bits |= NUMBERED;
    }

    /// The number of a frame on a link; `None`: it has none.
    pub fn number(&self) -> Option<u32> {
        (self.bits & NUMBERED != 0).then_some(self.next)
    }

    /// Removes the number after the frame has crossed the link.
    pub fn clear_number(&mut self) {
        self.next = NIL;
        self.bits &= !NUMBERED;
    }

    /// Kind.
    #[inline]
    pub fn kind(&self) -> FrameKind {
        use FrameKind::*;
        const BY_NUMBER: [FrameKind; 8] =
            [Data, Ack, Nack, CongestionNotification, Control, Reply, Control, Control];
        BY_NUMBER[(self.bits & 7) as usize]
    }
    /// True if it is part of a flow.
    #[inline]
    pub fn is_data(&self) -> bool {
        self.bits & 7 == FrameKind::Data as u16
    }
    /// True if it is a control frame.
    #[inline]
    pub fn is_control(&self) -> bool {
        self.bits & 7 == FrameKind::Control as u16
    }
    /// Priority class.
    #[inline]
    pub fn class(&self) -> Class {
        Class((self.bits >> CLASS & 7) as u8)
    }
    /// Congestion mark.
    #[inline]
    pub fn mark(&self) -> Mark {
        Mark::from_code_point(self.bits >> MARK)
    }
    /// Puts a congestion mark on it. A mark is never weakened.
    #[inline]
    pub fn add_mark(&mut self, mark: Mark) {
        self.bits = self.bits & !(3 << MARK) | (self.mark().merge(mark) as u16) << MARK;
    }
    /// Acknowledgement, CNP or BECN: the mark that it reports.
    #[inline]
    pub fn reported(&self) -> Mark {
        Mark::from_code_point(self.bits >> REPORTED)
    }
    /// Lets an acknowledgement, CNP or BECN report a mark.
    #[inline]
    pub fn set_reported(&mut self, mark: Mark) {
        self.bits = self.bits & !(3 << REPORTED) | (mark as u16) << REPORTED;
    }
    /// Data: the flow ends with this frame.
    #[inline]
    pub fn ends_flow(&self) -> bool {
        self.bits & ENDS_FLOW != 0
    }
    /// Sets whether the flow ends with this frame.
    #[inline]
    pub fn set_ends_flow(&mut self, on: bool) {
        self.bits = self.bits & !ENDS_FLOW | if on { ENDS_FLOW } else { 0 };
    }
    /// Data: no acknowledgement of it is waited for.
    #[inline]
    pub fn is_unanswered(&self) -> bool {
        self.bits & UNANSWERED != 0
    }
    /// Lets it go without an acknowledgement.
    pub fn set_unanswered(&mut self) {
        self.bits |= UNANSWERED;
    }
    /// Switches it has been through, counted to seven and then from zero again: a hint to where its
    /// route is cached.
    #[inline]
    pub fn hops(&self) -> usize {
        (self.bits >> HOPS & 7) as usize
    }
    /// Sets the ingress and the egress in a switch, and counts the hop.
    #[inline]
    pub fn pass_through(&mut self, in_port: u16, out_port: u16) {
        (self.in_port, self.out_port) = (in_port, out_port);
        let hops = ((self.bits >> HOPS) + 1) & 7;
        self.bits = self.bits & !(7 << HOPS) | hops << HOPS;
    }
    /// Length on the wire [bytes].
    #[inline]
    pub fn len(&self) -> u32 {
        self.len as u32
    }
    /// True for an ideal message, which takes no time on the wire.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
    /// Length on the wire.
    #[inline]
    pub fn bytes(&self) -> Bytes {
        Bytes(self.len as u64)
    }
}

/// The records that a frame has collected on its way.
#[derive(Clone, Copy, Debug, Default, State)]
pub struct Telemetry {
    hops: [Hop; HOPS_MAX],
    len: u8,
}

impl Telemetry {
    /// In the order of the way.
    pub fn hops(&self) -> &[Hop] {
        &self.hops[..self.len as usize]
    }
    /// Adds a hop; a hop that does not fit is not recorded.
    #[inline(always)] // every frame, and held ones
    pub fn push(&mut self, hop: Hop) {
        if let Some(place) = self.hops.get_mut(self.len as usize) {
            *place = hop;
            self.len += 1;
        }
    }
}

/// Data that a frame takes along outside of its 32 bytes.
#[derive(State)]
pub struct Beside {
    telemetry: Option<Telemetry>,
    header: Option<Header>,
    entropy: Option<u16>,
}

/// All frames that exist, in one slab.
#[derive(Default, State)]
pub struct FrameStore {
    frames: Vec<Frame>,
    /// Records of frames, by handle; only as far as frames have any. Kept apart from the frames, so
    /// that those stay small.
    telemetry: Vec<Telemetry>,
    /// Headers of frames between leaves, by handle; kept like the records.
    headers: Vec<Header>,
    /// Entropy values of frames, by handle; kept like the records.
    entropies: Vec<u16>,
    /// Handles of empty places. Kept apart from the frames: a list through them would have to read
    /// each place before the next is known.
    free: Vec<FrameId>,
    /// Frames that exist: all others, data.
    live: [u64; 2],
}

impl FrameStore {
    /// An empty store.
    pub fn new() -> Self {
        FrameStore::default()
    }
    /// Stores a frame.
    #[inline]
    pub fn insert(&mut self, frame: Frame) -> FrameId {
        self.live[frame.is_data() as usize] += 1;
        let Some(id) = self.free.pop() else {
            if self.frames.len() == self.frames.capacity() {
                self.grow();
            }
            self.frames.push(frame);
            return (self.frames.len() - 1) as FrameId;
        };
        self.frames[id as usize] = frame;
        // Frames that get no value have 0, not that of a frame before them under this handle.
        if let Some(value) = self.entropies.get_mut(id as usize) {
            *value = 0;
        }
        id
    }
    /// Makes room for more frames. A large store is given far more than it has: memory that nothing
    /// has touched is only a promise, and moving the frames to a larger place would need both
    /// places at once.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let frames = self.frames.len();
        let ahead = if frames < FrameStore::LARGE { &[][..] } else { &FrameStore::AHEAD };
        if !ahead.iter().any(|&times| self.frames.try_reserve_exact(frames * times).is_ok()) {
            self.frames.reserve(1);
        }
    }
    /// Frames of a large store: 32 MiB.
    const LARGE: usize = 1 << 20;
    /// Growth factor of a large store: it gets room for this multiple of its frames, the most that
    /// the system promises.
    const AHEAD: [usize; 4] = [255, 63, 15, 3];
    /// Removes a frame and returns its content.
    #[inline]
    pub fn remove(&mut self, id: FrameId) -> Frame {
        let frame = self.frames[id as usize];
        self.live[frame.is_data() as usize] -= 1;
        self.free.push(id);
        frame
    }
    /// The records of a frame, also just after it was removed; `None`: it never had any.
    pub fn telemetry(&self, id: FrameId) -> Option<&Telemetry> {
        self.telemetry.get(id as usize)
    }
    /// The records of a frame, to be set or added to. What a frame before it under this handle had
    /// collected is still there: the first to collect for a frame clears them.
    pub fn telemetry_mut(&mut self, id: FrameId) -> &mut Telemetry {
        let at = id as usize;
        if self.telemetry.len() <= at {
            self.telemetry.resize(at + 1, Telemetry::default());
        }
        &mut self.telemetry[at]
    }
    /// The header of a frame between leaves, to be read or written. The first leaf writes all of
    /// it: the header of a frame before it under this handle may still be there.
    pub fn header_mut(&mut self, id: FrameId) -> &mut Header {
        let at = id as usize;
        if self.headers.len() <= at {
            self.headers.resize(at + 1, Header::default());
        }
        &mut self.headers[at]
    }
    /// A copy of what a frame takes along; `None`: nothing.
    pub fn beside(&self, id: FrameId) -> Option<Box<Beside>> {
        let beside = Beside {
            telemetry: self.telemetry(id).copied(),
            header: self.headers.get(id as usize).copied(),
            entropy: self.entropies.get(id as usize).copied(),
        };
        let some =
            beside.telemetry.is_some() || beside.header.is_some() || beside.entropy.is_some();
        some.then(|| Box::new(beside))
    }
    /// Gives a frame what it has taken along from elsewhere.
    pub fn put_beside(&mut self, id: FrameId, beside: &Beside) {
        if let Some(telemetry) = beside.telemetry {
            *self.telemetry_mut(id) = telemetry;
        }
        if let Some(header) = beside.header {
            *self.header_mut(id) = header;
        }
        if let Some(value) = beside.entropy {
            self.set_entropy(id, value);
        }
    }
    /// The entropy value of a frame, in a run whose frames have one.
    pub fn entropy(&self, id: FrameId) -> u16 {
        self.entropies.get(id as usize).copied().unwrap_or(0)
    }
    /// Gives a frame an entropy value.
    pub fn set_entropy(&mut self, id: FrameId, value: u16) {
        let at = id as usize;
        if self.entropies.len() <= at {
            self.entropies.resize(at + 1, 0);
        }
        self.entropies[at] = value;
    }
    /// A frame will be looked at soon.
    #[inline]
    pub fn prefetch(&self, id: FrameId) {
        if let Some(f) = self.frames.get(id as usize) {
            prefetch(f);
        }
    }
    /// The frame under a handle, or under a number that may be none.
    #[inline]
    pub fn get(&self, id: FrameId) -> Option<&Frame> {
        self.frames.get(id as usize)
    }
    /// The frames of a list that begins with this one, from oldest to newest.
    pub fn list(&self, first: FrameId) -> impl Iterator<Item = &Frame> {
        FrameList { head: first, tail: NIL }.iter(self)
    }
    /// Data frames that exist now.
    pub fn live_data(&self) -> u64 {
        self.live[1]
    }
}

impl std::ops::Index<FrameId> for FrameStore {
    type Output = Frame;
    #[inline]
    fn index(&self, id: FrameId) -> &Frame {
        &self.frames[id as usize]
    }
}
impl std::ops::IndexMut<FrameId> for FrameStore {
    #[inline]
    fn index_mut(&mut self, id: FrameId) -> &mut Frame {
        &mut self.frames[id as usize]
    }
}

/// A first-in-first-out queue of frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, State)]
#[state(canonical)]
pub struct FrameList {
    head: FrameId,
    /// Means nothing while the list is empty.
    tail: FrameId,
}

impl Default for FrameList {
    fn default() -> Self {
        FrameList { head: NIL, tail: NIL }
    }
}

impl Frame {
    /// Compared without its place.
    fn compare<W: Walk>(&self, w: &mut W) -> Result<(), W::Stop> {
        let Frame { seq, sent_at, next: _, flow, len, in_port, out_port, bits } = *self;
        match self.kind() {
            FrameKind::Control => {
                (self.class(), len, self.message()).walk(w)?;
                let total = self.total();
                total.is_some().walk(w)?;
                // Total that the port has sent: a counter of the opposite direction of the link
                // than the message.
                let before = w.feeder(true);
                total.map_or(Ok(()), |total| w.number(Meaning::Counter, total))?;
                w.feeder(before);
                return Ok(());
            }
            // Its offset is a value, and nothing depends on when it was made.
            FrameKind::CongestionNotification | FrameKind::Reply => {
                w.number(Meaning::Flow, u64::from(flow))?;
                seq.walk(w)?;
            }
            FrameKind::Data | FrameKind::Ack | FrameKind::Nack => {
                w.number(Meaning::Flow, u64::from(flow))?;
                w.number(Meaning::Sequence, seq)?;
                sent_at.walk(w)?;
            }
        }
        (len, in_port, out_port, bits).walk(w)
    }
}

impl FrameList {
    fn compare<W: Walk>(&self, w: &mut W) -> Result<(), W::Stop> {
        w.number(Meaning::Frames, u64::from(self.head))
    }
    /// The oldest frame.
    #[inline]
    pub fn front(&self) -> Option<FrameId> {
        (self.head != NIL).then_some(self.head)
    }
    /// A frame will be appended soon: the last one must know of it.
    #[inline]
    pub fn prefetch_last(&self, store: &FrameStore) {
        if self.head != NIL {
            store.prefetch(self.tail);
        }
    }
    /// Appends a frame.
    #[inline]
    pub fn push(&mut self, id: FrameId, store: &mut FrameStore) {
        store[id].next = NIL;
        if self.head == NIL {
            self.head = id;
        } else {
            store[self.tail].next = id;
        }
        self.tail = id;
    }
    /// Puts a frame before the oldest one that is `behind`; at the end if none is.
    #[cold]
    pub fn push_before(
        &mut self,
        id: FrameId,
        store: &mut FrameStore,
        behind: impl Fn(&Frame) -> bool,
    ) {
        let (mut before, mut at) = (NIL, self.head);
        while at != NIL && !behind(&store[at]) {
            (before, at) = (at, store[at].next);
        }
        if at == NIL {
            return self.push(id, store);
        }
        store[id].next = at;
        if before == NIL {
            self.head = id;
        } else {
            store[before].next = id;
        }
    }
    /// Takes the oldest frame.
    #[inline]
    pub fn pop(&mut self, store: &FrameStore) -> Option<FrameId> {
        let id = self.front()?;
        self.head = store[id].next;
        // The next one leaves a frame time later; in a long queue it has not been touched since it
        // came.
        store.prefetch(self.head);
        Some(id)
    }
    /// The frames from oldest to newest.
    pub fn iter<'a>(&self, store: &'a FrameStore) -> impl Iterator<Item = &'a Frame> + use<'a> {
        let mut at = self.head;
        std::iter::from_fn(move || {
            (at != NIL).then(|| {
                let f = &store[at];
                at = f.next;
                f
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use xoff_units::state::{Reader, Writer};

    use super::*;

    /// Frame in another process.
    fn again(frame: &Frame) -> Frame {
        let mut to = Writer::default();
        to.put(frame);
        Reader::new(&to.end().unwrap()).take().unwrap()
    }

    #[test]
    fn a_frame_stays_small() {
        assert_eq!(size_of::<Frame>(), 32);
    }

    #[test]
    fn a_frame_is_the_same_in_another_process() {
        let mut f = Frame::new(FrameKind::Data, FlowId(u32::MAX - 1), Class(7), LEN_MAX);
        (f.seq, f.sent_at) = (u64::MAX - 1, Time(u64::MAX - 2));
        f.add_mark(Mark::Ce);
        f.set_reported(Mark::from_code_point(0b10));
        f.set_ends_flow(true);
        (0..7).for_each(|_| f.pass_through(u16::MAX - 1, u16::MAX - 2));
        assert_eq!(format!("{f:?}"), format!("{:?}", again(&f)));
        let control = Frame::control(Message::Custom(77), Class(3), 64);
        assert_eq!(again(&control).message(), Message::Custom(77));
        let signal = Frame::link_signal(2, 0xfffff);
        assert_eq!(
            (signal.as_link_signal(), signal.number(), signal.total()),
            (Some((2, 0xfffff)), None, None)
        );
        assert_eq!(again(&signal).as_link_signal(), Some((2, 0xfffff)));
        assert_eq!((control.as_link_signal(), control.number()), (None, None));
        for number in [0, 1, 0x1_8000, 0xfffff] {
            f.set_number(number);
            assert_eq!(
                (f.number(), f.as_link_signal(), f.flow, f.class()),
                (Some(number), None, FlowId(u32::MAX - 1), Class(7))
            );
            assert_eq!(again(&f).number(), Some(number));
        }
        f.clear_number();
        assert_eq!(f.number(), None);
        let mut control = Frame::control(Message::Custom(77), Class(3), 64);
        assert_eq!(control.total(), None);
        for total in [0, 0x1234_5678_9abc, (1 << 48) - 1] {
            control.set_total(total);
            assert_eq!((control.total(), control.message()), (Some(total), Message::Custom(77)));
            assert_eq!(again(&control).total(), Some(total));
        }
    }

    #[test]
    fn lists_are_first_in_first_out_and_handles_are_reused() {
        let mut store = FrameStore::new();
        let mut q = FrameList::default();
        let ids: Vec<_> = (0..3)
            .map(|i| store.insert(Frame::new(FrameKind::Data, FlowId(i), Class(0), 100 + i)))
            .collect();
        ids.iter().for_each(|&id| q.push(id, &mut store));
        assert_eq!(q.iter(&store).map(|f| f.flow.0).collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(q.pop(&store), Some(ids[0]));
        assert_eq!(store.remove(ids[0]).flow, FlowId(0));
        assert_eq!(store.insert(Frame::new(FrameKind::Data, FlowId(9), Class(0), 1)), ids[0]);
        let ack = store.insert(Frame::new(FrameKind::Ack, FlowId(9), Class(0), 1));
        assert_eq!(
            (store.live_data(), store.remove(ack).kind(), store.live_data()),
            (3, FrameKind::Ack, 3)
        );
        assert_eq!(
            [q.pop(&store), q.pop(&store), q.pop(&store)],
            [Some(ids[1]), Some(ids[2]), None]
        );
    }

    #[test]
    fn a_frame_is_put_before_others() {
        let mut store = FrameStore::new();
        let mut q = FrameList::default();
        let mut put = |q: &mut FrameList, flow: FlowId| {
            let id = store.insert(Frame::new(FrameKind::Data, flow, Class(0), 100));
            q.push_before(id, &mut store, |f| f.flow >= FlowId(10));
            q.iter(&store).map(|f| f.flow.0).collect::<Vec<_>>()
        };
        assert_eq!(put(&mut q, FlowId(10)), [10], "into an empty list");
        assert_eq!(put(&mut q, FlowId(0)), [0, 10], "to its front");
        assert_eq!(put(&mut q, FlowId(1)), [0, 1, 10], "into its middle");
        assert_eq!(
            put(&mut q, FlowId(11)),
            [0, 1, 11, 10],
            "where it is not the frame that counts"
        );
        assert_eq!(
            (0..4).map(|_| store[q.pop(&store).unwrap()].flow.0).collect::<Vec<_>>(),
            [0, 1, 11, 10]
        );
        let ids = [2, 3]
            .map(|flow| store.insert(Frame::new(FrameKind::Data, FlowId(flow), Class(0), 100)));
        ids.iter().for_each(|&id| q.push_before(id, &mut store, |f| f.flow >= FlowId(10)));
        assert_eq!(
            [q.pop(&store), q.pop(&store), q.pop(&store)],
            [Some(ids[0]), Some(ids[1]), None],
            "at the end"
        );
    }

    /// Growth of a large store: doubling would move 32 MiB, and twice as much the next time.
    #[test]
    fn a_large_store_is_moved_once() {
        let mut store = FrameStore::new();
        let frame = Frame::new(FrameKind::Data, FlowId(1), Class(0), 100);
        (0..FrameStore::LARGE).for_each(|_| _ = store.insert(frame));
        let id = store.insert(frame);
        assert!(
            store.frames.capacity() >= 4 * FrameStore::LARGE,
            "{} frames",
            store.frames.capacity()
        );
        assert_eq!(
            (id as usize, store.remove(id).flow, store.live_data()),
            (FrameStore::LARGE, FlowId(1), FrameStore::LARGE as u64)
        );
    }

    #[test]
    fn control_frames_carry_a_message() {
        let m = Message::Custom(u64::MAX / 3);
        assert_eq!(Frame::control(m, Class(3), 64).message(), m);
    }
}
