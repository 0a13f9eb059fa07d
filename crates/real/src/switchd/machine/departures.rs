//! Frames on their way out of a machine: encoded when they leave their node, in the order of their
//! times, and states repeated.

use super::*;
use crate::wire::ethernet::Mac;
use xoff_units::Class;

/// Destination and source of a test frame, which is data or feedback.
pub(in crate::switchd) fn addresses((src, dst): (NodeId, NodeId), is_data: bool) -> (Mac, Mac) {
    if is_data { (mac(dst, 0), mac(src, 0)) } else { (mac(src, 0), mac(dst, 0)) }
}

/// A frame that is to be on the wire at a time.
pub(super) struct Departure {
    pub at: Time,
    nth: u64,
    link: usize,
    control: bool,
    bytes: Vec<u8>,
}

impl PartialEq for Departure {
    fn eq(&self, other: &Self) -> bool {
        (self.at, self.nth) == (other.at, other.nth)
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
        (self.at, self.nth).cmp(&(other.at, other.nth))
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
        let class = f.class().index();
        let mut terms = Terms::default();
        if let Some(class_state) = a.class_states.get_mut(class) {
            if control {
                terms = Terms {
                    sequence: Some(class_state.sequence),
                    sent: Some(class_state.left_blocks),
                    ..terms
                };
            } else {
                class_state.left += 1;
                class_state.left_blocks = class_state.left_blocks.wrapping_add(blocks(f.bytes()));
            }
        }
        let mut bytes = self.spare.pop().unwrap_or_default();
        if !control && f.flow >= UNKNOWN_SOURCE {
            std::mem::swap(&mut bytes, &mut self.kept[id]);
            rewrite_mark(&mut bytes, f.mark());
        } else {
            bytes.clear();
            bytes.resize(f.len().max(ethernet::FRAME_MIN as u32 + 40) as usize, 0);
            let own = mac(a.link.node, a.link.port);
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
        self.departed += 1;
        self.departures.push(Reverse(Departure { at, nth: self.departed, link, control, bytes }));
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
                a.counters.port_down += u64::from(!d.control);
            } else {
                a.counters.departed += 1;
                f(d.at, d.link, &d.bytes);
            }
            self.spare.push(d.bytes);
        }
    }
}
