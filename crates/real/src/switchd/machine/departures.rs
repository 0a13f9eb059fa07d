//! Frames on their way out of a machine: encoded when they leave their node, in the order of their
//! times, and states repeated.

use super::*;
use crate::wire::ethernet::Mac;
use crate::wire::local;
use xoff_mech::link_retry::FRAMES_MAX;
use xoff_units::Class;

/// Destination and source of a test frame, which is data or feedback.
pub(in crate::switchd) fn addresses((src, dst): (NodeId, NodeId), is_data: bool) -> (Mac, Mac) {
    if is_data { (mac(dst, 0), mac(src, 0)) } else { (mac(src, 0), mac(dst, 0)) }
}

/// A frame that is to be on the wire at a time. Of two at once that of the first port goes first:
/// the order of their nodes depends on how far the world is run at once.
pub(super) struct Departure {
    pub at: Time,
    nth: u64,
    link: usize,
    /// It is lost for good if its port is down: data that no link retry sends again.
    lost_if_down: bool,
    bytes: Vec<u8>,
}

impl PartialEq for Departure {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}
impl Eq for Departure {}
impl PartialOrd for Departure {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Departure {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.link, self.nth).cmp(&(other.at, other.link, other.nth))
    }
}

impl At {
    /// Bytes of a frame from outside that its link has sent before.
    fn sent_before(&self, f: &Frame) -> Option<&[u8]> {
        let number = f.number()?;
        self.numbered.iter().find(|(n, _)| *n == number).map(|(_, bytes)| &bytes[..])
    }

    /// Keeps the bytes of a numbered frame from outside, once.
    fn keep_numbered(&mut self, number: u32, bytes: &[u8]) {
        if self.numbered.iter().all(|(n, _)| *n != number) {
            self.numbered.push_back((number, bytes.to_vec()));
        }
    }

    /// Forgets frames that are no longer outstanding when the one with this number leaves. Those
    /// ahead of a frame that is sent again stay.
    fn forget_numbered(&mut self, number: u32, kept: u32) {
        let numbers = 2 * FRAMES_MAX as u32;
        let old = |n: u32| (kept..numbers - kept).contains(&(number.wrapping_sub(n) % numbers));
        while self.numbered.front().is_some_and(|(n, _)| old(*n)) {
            self.numbered.pop_front();
        }
    }
}

impl Machine {
    /// Next repeat of a message.
    pub(super) fn repeat_at(&self) -> Time {
        if self.c.repeat.0 == 0 {
            return Time::NEVER;
        }
        let last_sent =
            self.at.iter().flat_map(|a| &a.class_states).filter_map(|l| l.last_sent.as_ref());
        let repeated = last_sent.filter(|(f, _)| f.message().is_state());
        repeated.map(|(_, at)| *at + self.c.repeat).min().unwrap_or(Time::NEVER)
    }

    /// Sends the opening messages of the ports.
    pub(super) fn open(&mut self, world: &World) {
        let messages = std::mem::take(&mut self.c.opening);
        for link in 0..self.at.len() {
            for class in 0..self.at[link].class_states.len() {
                for &m in &messages {
                    self.leave(
                        world,
                        link,
                        Time::ZERO,
                        &Frame::control(m, Class(class as u8), self.c.control_len),
                        0,
                    );
                }
            }
        }
    }

    pub(super) fn leave(&mut self, world: &World, link: usize, at: Time, f: &Frame, id: usize) {
        let a = &mut self.at[link];
        let control = f.kind() == FrameKind::Control;
        if control && a.link.plain {
            return;
        }
        let own = mac(a.link.node, a.link.port);
        if let Some((kind, number)) = f.as_link_signal() {
            let mut bytes = vec![0; ethernet::FRAME_MIN];
            let signal = local::Message::LinkRetry(link_retry::Repr { kind, number });
            if signal.emit_frame(Mac::FLOW_CONTROL, own, &mut bytes).is_ok() {
                a.counters.control_sent += 1;
                self.send(at, link, false, bytes);
            }
            return;
        }
        let class = f.class().index();
        let mut terms = Terms::default();
        if let Some(class_state) = a.class_states.get_mut(class) {
            if control {
                terms = Terms {
                    sequence: Some(class_state.sequence),
                    // A frame counts once, however often its link sends it.
                    sent: match self.c.frames_kept {
                        Some(_) => f.total(),
                        None => Some(class_state.left_blocks),
                    },
                    ..terms
                };
            } else {
                class_state.left += 1;
                class_state.left_blocks = class_state.left_blocks.wrapping_add(blocks(f.bytes()));
            }
        }
        let mut bytes = self.spare.pop().unwrap_or_default();
        if !control && f.flow >= UNKNOWN_SOURCE {
            match a.sent_before(f) {
                Some(before) => before.clone_into(&mut bytes),
                None => {
                    std::mem::swap(&mut bytes, &mut self.kept[id]);
                    rewrite_mark(&mut bytes, f.mark());
                }
            }
        } else {
            bytes.clear();
            bytes.resize(f.len().max(ethernet::FRAME_MIN as u32 + 40) as usize, 0);
            let ends = world.ends(f.flow).unwrap_or_default();
            let data = f.kind() == FrameKind::Data;
            let macs = if control { (own, own) } else { addresses(ends, data) };
            let Some(len) = encode(f, world.classes(), macs, &terms, at, &mut bytes) else {
                return;
            };
            bytes.truncate(len);
        }
        if control {
            a.counters.control_sent += 1;
            if let Some(class_state) = a.class_states.get_mut(class) {
                class_state.sequence = class_state.sequence.wrapping_add(1);
                if f.message().release().is_some() {
                    class_state.last_sent = Some((*f, at));
                }
            }
        }
        if let (Some(number), Some(kept)) = (f.number(), self.c.frames_kept) {
            a.forget_numbered(number, kept);
            if f.flow >= UNKNOWN_SOURCE && !control {
                a.keep_numbered(number, &bytes);
            }
            let frame = std::mem::replace(&mut bytes, self.spare.pop().unwrap_or_default());
            bytes.resize(link_retry::AROUND + frame.len(), 0);
            let written = link_retry::emit_numbered(number, &frame, own, &mut bytes);
            debug_assert!(written.is_ok(), "a number of 20 bits");
            self.spare.push(frame);
        }
        self.send(at, link, !control && f.number().is_none(), bytes);
    }

    fn send(&mut self, at: Time, link: usize, lost_if_down: bool, bytes: Vec<u8>) {
        self.departed += 1;
        let departure = Departure { at, nth: self.departed, link, lost_if_down, bytes };
        self.departures.push(Reverse(departure));
    }

    /// Messages that represent a state, repeated: a lost one would otherwise hold forever.
    pub(super) fn repeat_stops(&mut self, world: &World, now: Time) {
        if self.c.repeat.0 == 0 {
            return;
        }
        for link in 0..self.at.len() {
            for class in 0..self.at[link].class_states.len() {
                if let Some((f, last_sent)) = self.at[link].class_states[class].last_sent
                    && f.message().is_state()
                    && now >= last_sent + self.c.repeat
                {
                    self.leave(world, link, now, &f, 0);
                }
            }
        }
    }

    /// Takes the frames that are to be on the wire at `now` or before, in that order:
    /// `f(time, link, bytes)`.
    pub fn depart(&mut self, now: Time, mut f: impl FnMut(Time, usize, &[u8])) {
        while self.departures.peek().is_some_and(|Reverse(d)| d.at <= now) {
            let Some(Reverse(d)) = self.departures.pop() else { return };
            let a = &mut self.at[d.link];
            if a.down {
                a.counters.port_down += u64::from(d.lost_if_down);
            } else {
                a.counters.departed += 1;
                f(d.at, d.link, &d.bytes);
            }
            self.spare.push(d.bytes);
        }
    }
}
