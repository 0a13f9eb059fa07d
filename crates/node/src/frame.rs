//! Frames, the slab they live in, and queues threaded through it.

use xoff_mech::detection::Mark;
use xoff_mech::flow_control::Message;
use xoff_units::{Bytes, Time};

/// Handle of a frame in a [`FrameStore`].
pub type FrameId = u32;
/// No frame.
pub const NIL: FrameId = u32::MAX;

/// What a frame is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameKind {
    /// Part of a flow.
    Data,
    /// Cumulative acknowledgement.
    Ack,
    /// Acknowledgement that also reports a gap.
    Nack,
    /// Congestion notification.
    Notification,
    /// Link-local control frame of the flow control; never forwarded.
    Control,
}

/// A frame in the network. At most 56 bytes, so that a queued frame stays inside a cache line.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// Next in whatever queue holds it.
    next: FrameId,
    /// The flow it belongs to.
    pub flow: u32,
    /// Node that created it.
    pub src: u32,
    /// Node it is for.
    pub dst: u32,
    /// Length on the wire [bytes].
    pub len: u32,
    /// Payload carried [bytes].
    pub payload: u32,
    /// Data: offset of the first payload byte. Acknowledgement: bytes received in order.
    pub seq: u64,
    /// When its first bit left the source.
    pub sent_at: Time,
    /// Ingress port at the switch that now holds it.
    pub in_port: u16,
    /// Egress port it waits for at that switch.
    pub out_port: u16,
    /// Kind.
    pub kind: FrameKind,
    /// Priority class.
    pub class: u8,
    /// Congestion mark.
    pub mark: Mark,
    /// Acknowledgement: it reports a mark.
    pub reports_mark: bool,
    /// Data: the flow ends with this frame.
    pub ends_flow: bool,
}

impl Frame {
    /// A frame without content; callers set what they need.
    pub fn new(kind: FrameKind, src: u32, dst: u32, flow: u32, class: u8, len: u32) -> Frame {
        Frame {
            next: NIL,
            flow,
            src,
            dst,
            len,
            payload: 0,
            seq: 0,
            sent_at: Time::ZERO,
            in_port: 0,
            out_port: 0,
            kind,
            class,
            mark: Mark::None,
            reports_mark: false,
            ends_flow: false,
        }
    }

    /// A control frame that carries `message` for `class`. The message is packed into fields that control frames
    /// do not need otherwise, so that data frames stay small.
    pub fn control(message: Message, class: u8, len: u32) -> Frame {
        let (tag, a, b) = message.to_words();
        let mut f = Frame::new(FrameKind::Control, 0, 0, tag as u32, class, len);
        f.seq = a;
        f.sent_at = Time(b);
        f
    }

    /// The message of a control frame.
    pub fn message(&self) -> Message {
        Message::from_words(self.flow as u8, self.seq, self.sent_at.0)
    }

    /// Length on the wire.
    pub fn bytes(&self) -> Bytes {
        Bytes(self.len as u64)
    }
}

/// All frames that exist, in one slab with a free list.
#[derive(Default)]
pub struct FrameStore {
    frames: Vec<Frame>,
    free: FrameId,
    live: usize,
}

impl FrameStore {
    /// An empty store.
    pub fn new() -> Self {
        FrameStore { frames: Vec::new(), free: NIL, live: 0 }
    }
    /// Stores a frame.
    pub fn insert(&mut self, frame: Frame) -> FrameId {
        self.live += 1;
        if self.free == NIL {
            self.frames.push(frame);
            (self.frames.len() - 1) as FrameId
        } else {
            let id = self.free;
            self.free = self.frames[id as usize].next;
            self.frames[id as usize] = frame;
            id
        }
    }
    /// Removes a frame and returns its content.
    pub fn remove(&mut self, id: FrameId) -> Frame {
        self.live -= 1;
        let frame = self.frames[id as usize];
        self.frames[id as usize].next = self.free;
        self.free = id;
        frame
    }
    /// Frames that exist now.
    pub fn live(&self) -> usize {
        self.live
    }
}

impl std::ops::Index<FrameId> for FrameStore {
    type Output = Frame;
    fn index(&self, id: FrameId) -> &Frame {
        &self.frames[id as usize]
    }
}
impl std::ops::IndexMut<FrameId> for FrameStore {
    fn index_mut(&mut self, id: FrameId) -> &mut Frame {
        &mut self.frames[id as usize]
    }
}

/// A first-in-first-out queue of frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameList {
    head: FrameId,
    tail: FrameId,
    /// Number of frames.
    pub frames: u32,
    /// Sum of their lengths [bytes].
    pub bytes: u64,
}

impl Default for FrameList {
    fn default() -> Self {
        FrameList { head: NIL, tail: NIL, frames: 0, bytes: 0 }
    }
}

impl FrameList {
    /// The oldest frame.
    pub fn front(&self) -> Option<FrameId> {
        (self.head != NIL).then_some(self.head)
    }
    /// Appends a frame.
    pub fn push(&mut self, id: FrameId, store: &mut FrameStore) {
        store[id].next = NIL;
        if self.head == NIL {
            self.head = id;
        } else {
            store[self.tail].next = id;
        }
        self.tail = id;
        self.frames += 1;
        self.bytes += store[id].len as u64;
    }
    /// Takes the oldest frame.
    pub fn pop(&mut self, store: &FrameStore) -> Option<FrameId> {
        let id = self.front()?;
        self.head = store[id].next;
        if self.head == NIL {
            self.tail = NIL;
        }
        self.frames -= 1;
        self.bytes -= store[id].len as u64;
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
    use super::*;
    use xoff_mech::flow_control::{cbfc::CreditLimit, pfc::Pause};

    #[test]
    fn a_frame_stays_small() {
        assert!(size_of::<Frame>() <= 56, "{}", size_of::<Frame>());
    }

    #[test]
    fn lists_are_first_in_first_out_and_handles_are_reused() {
        let mut store = FrameStore::new();
        let mut q = FrameList::default();
        let ids: Vec<_> = (0..3).map(|i| store.insert(Frame::new(FrameKind::Data, 0, 1, i, 0, 100 + i))).collect();
        ids.iter().for_each(|&id| q.push(id, &mut store));
        assert_eq!((q.frames, q.bytes), (3, 303));
        assert_eq!(q.iter(&store).map(|f| f.flow).collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(q.pop(&store), Some(ids[0]));
        assert_eq!(store.remove(ids[0]).flow, 0);
        assert_eq!(store.insert(Frame::new(FrameKind::Data, 0, 1, 9, 0, 1)), ids[0]);
        assert_eq!(store.live(), 3);
        assert_eq!([q.pop(&store), q.pop(&store), q.pop(&store)], [Some(ids[1]), Some(ids[2]), None]);
    }

    #[test]
    fn control_frames_carry_any_message() {
        for m in [
            Message::Pfc(Pause(65_535)),
            Message::Pfc(Pause::STICKY),
            Message::Credit(CreditLimit { fccl: u64::MAX / 3, occupied: Bytes(7) }),
            Message::Stage(17),
            Message::Level(Bytes(99)),
            Message::Custom(5),
        ] {
            assert_eq!(Frame::control(m, 3, 64).message(), m);
        }
    }
}
