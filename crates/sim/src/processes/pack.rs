//! Data that processes of a run exchange, as bytes.
//!
//! ```text
//!   value -- pack --> little-endian bytes, one after the other -- another process of the same program -- unpack --> value
//! ```
//!
//! No `serde`: what the types here derive of it says how a state recurs (`xoff_units::state`), and leaves out what does not. [`packed`]
//! lists the fields of a type, and one that is missing does not compile.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use xoff_mech::detection::{Mark, MarkCounts};
use xoff_mech::rate_control::Hop;
use xoff_node::{EventKey, Frame, PoolUse, Telemetry};
use xoff_rows::{
    CauseRow, CnmRow, ControlRow, Direction, MarkRow, Message, Port, PortState, QueueRow, RateRow, RateSource, Side, StateRow, StoppedBy,
};
use xoff_units::{At, Bytes, PortId, Rate, Span, Time};

use crate::observe::lost::{FrameCount, LostFrames, RetryCounts};
use crate::observe::monitor::Counts;
use crate::observe::outcome::{PortCnms, PortTotals};
use crate::observe::probe::{HoldChange, PauseChange, Row};
use crate::observe::storms::Storm;
use crate::wire::line::RemoteArrival;

/// A value that another process of the same program can have.
pub(crate) trait Pack: Sized {
    /// Appends it.
    fn pack(&self, to: &mut Vec<u8>);
    /// Takes it from the front; `None`: the bytes are not those of [`Pack::pack`].
    fn take(from: &mut &[u8]) -> Option<Self>;
    /// Reads the data of another process. Panics at unexpected bytes, because all processes are the same program.
    #[inline]
    fn unpack(from: &mut &[u8]) -> Self {
        Self::take(from).expect("another process packed it")
    }
}

macro_rules! numbers {
    ($($t:ty),*) => {$(
        impl Pack for $t {
            #[inline]
            fn pack(&self, to: &mut Vec<u8>) {
                to.extend_from_slice(&self.to_le_bytes());
            }
            #[inline]
            fn take(from: &mut &[u8]) -> Option<Self> {
                let (bytes, rest) = from.split_first_chunk()?;
                *from = rest;
                Some(Self::from_le_bytes(*bytes))
            }
        }
    )*};
}
numbers!(u8, u16, u32, u64, i64);

/// Types that are a tuple of one field.
macro_rules! newtypes {
    ($($t:ident),*) => {$(
        impl Pack for $t {
            #[inline]
            fn pack(&self, to: &mut Vec<u8>) {
                self.0.pack(to);
            }
            #[inline]
            fn take(from: &mut &[u8]) -> Option<Self> {
                Some($t(Pack::take(from)?))
            }
        }
    )*};
}
newtypes!(Time, Span, Bytes, Rate, Port, LostFrames);

/// Makes a struct one that can be packed: all its fields, in any order.
macro_rules! packed {
    ($($t:ident { $($field:ident),* })*) => {$(
        impl $crate::processes::pack::Pack for $t {
            fn pack(&self, to: &mut Vec<u8>) {
                let $t { $($field),* } = self;
                $($crate::processes::pack::Pack::pack($field, to);)*
            }
            fn take(from: &mut &[u8]) -> Option<Self> {
                $(let $field = $crate::processes::pack::Pack::take(from)?;)*
                Some($t { $($field),* })
            }
        }
    )*};
}
pub(crate) use packed;

/// The above for enums without fields.
macro_rules! words {
    ($($t:ident { $($variant:ident),* })*) => {$(
        impl $crate::processes::pack::Pack for $t {
            fn pack(&self, to: &mut Vec<u8>) {
                enum Place { $($variant),* }
                to.push(match self { $($t::$variant => Place::$variant as u8),* });
            }
            fn take(from: &mut &[u8]) -> Option<Self> {
                const ALL: &[$t] = &[$($t::$variant),*];
                ALL.get(u8::take(from)? as usize).copied()
            }
        }
    )*};
}
pub(crate) use words;

words! {
    Side { Ingress, Egress }
    Direction { Sent, Received }
    PortState { NonCongestion, Congestion, Undetermined }
    StoppedBy { Pause, Credits, Flows }
    RateSource { Measured, FlowControl, RateControl }
}

packed! {
    EventKey { time, rank }
    PortId { node, port }
    At { node, port, class }
    RemoteArrival { at, to, frame, id, telemetry }
    PauseChange { time_ps, port, priority, stopped, by }
    HoldChange { time_ps, port, priority, on }
    FrameCount { data, control }
    Storm { node, port, priority, since, found, over, discarded }
    RetryCounts { corrupted, discarded, replayed, nacks, timeouts, signals_lost, given_up, on_failed_link }
    Counts { frame_hops, data_frame_hops, injected, delivered, rate_changes, lost, retry, retransmission_timeouts }
    PortCnms { ingress, egress }
    PoolUse { shared, shared_max, headroom, headroom_max }
    PortTotals {
        tx_bytes, tx_frames, messages_sent, messages_received, marked, dropped, tail_dropped, lost, ingress_bytes_max, egress_bytes_max, pauses,
        paused_ps, blocks, blocked_ps, allowed_min
    }
    Hop { at, tx_bytes, queue, rate }
    QueueRow { time_ps, port, kind, priority, bytes }
    RateRow { time_ps, port, priority, flow, rate_bps, source }
    ControlRow { time_ps, port, priority, direction, message, value }
    CauseRow { time_ps, port, priority, flow, next_port, bytes }
    MarkRow { time_ps, port, priority, flow, mark }
    CnmRow { time_ps, port, kind, priority, flow, feedback, q_off, q_delta }
    StateRow { time_ps, port, priority, state }
}

impl Pack for bool {
    fn pack(&self, to: &mut Vec<u8>) {
        to.push(*self as u8);
    }
    fn take(from: &mut &[u8]) -> Option<Self> {
        Some(u8::take(from)? != 0)
    }
}

impl<T: Pack> Pack for Option<T> {
    fn pack(&self, to: &mut Vec<u8>) {
        self.is_some().pack(to);
        self.iter().for_each(|v| v.pack(to));
    }
    fn take(from: &mut &[u8]) -> Option<Self> {
        Some(if bool::take(from)? { Some(T::take(from)?) } else { None })
    }
}

impl<T: Pack> Pack for Vec<T> {
    fn pack(&self, to: &mut Vec<u8>) {
        (self.len() as u64).pack(to);
        self.iter().for_each(|v| v.pack(to));
    }
    fn take(from: &mut &[u8]) -> Option<Self> {
        (0..u64::take(from)?).map(|_| T::take(from)).collect()
    }
}

impl<T: Pack, const N: usize> Pack for [T; N] {
    fn pack(&self, to: &mut Vec<u8>) {
        self.iter().for_each(|v| v.pack(to));
    }
    fn take(from: &mut &[u8]) -> Option<Self> {
        let all: [Option<T>; N] = std::array::from_fn(|_| T::take(from));
        all.iter().all(Option::is_some).then(|| all.map(|v| v.expect("each is there")))
    }
}

impl Pack for String {
    fn pack(&self, to: &mut Vec<u8>) {
        (self.len() as u64).pack(to);
        to.extend_from_slice(self.as_bytes());
    }
    fn take(from: &mut &[u8]) -> Option<Self> {
        let length = usize::try_from(u64::take(from)?).ok()?;
        let (text, rest) = from.split_at_checked(length)?;
        *from = rest;
        Some(String::from_utf8_lossy(text).into_owned())
    }
}

macro_rules! tuples {
    ($(($($t:ident),+))*) => {$(
        impl<$($t: Pack),+> Pack for ($($t,)+) {
            fn pack(&self, to: &mut Vec<u8>) {
                #[expect(non_snake_case, reason = "named after their types")]
                let ($($t,)+) = self;
                $($t.pack(to);)+
            }
            fn take(from: &mut &[u8]) -> Option<Self> {
                Some(($($t::take(from)?,)+))
            }
        }
    )*};
}
tuples! { (A, B) (A, B, C) (A, B, C, D) }

impl Pack for Message {
    fn pack(&self, to: &mut Vec<u8>) {
        self.0.to_owned().pack(to);
    }
    fn take(from: &mut &[u8]) -> Option<Self> {
        Some(Message(kept(String::take(from)?)))
    }
}

/// A word that lasts as long as the program. There are as many as mechanisms have messages.
fn kept(word: String) -> &'static str {
    static WORDS: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut words = WORDS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = words.get(word.as_str()) {
        return known;
    }
    let word: &'static str = word.leak();
    words.insert(word);
    word
}

impl Pack for Frame {
    #[inline]
    fn pack(&self, to: &mut Vec<u8>) {
        self.to_words().pack(to);
    }
    #[inline]
    fn take(from: &mut &[u8]) -> Option<Self> {
        Some(Frame::from_words(Pack::take(from)?))
    }
}

impl Pack for Telemetry {
    fn pack(&self, to: &mut Vec<u8>) {
        self.hops().to_vec().pack(to);
    }
    fn take(from: &mut &[u8]) -> Option<Self> {
        let mut telemetry = Telemetry::default();
        Vec::take(from)?.into_iter().for_each(|hop| telemetry.push(hop));
        Some(telemetry)
    }
}

impl Pack for Row {
    fn pack(&self, to: &mut Vec<u8>) {
        /// Puts the number of the variant before its row.
        fn put(number: u8, row: &impl Pack, to: &mut Vec<u8>) {
            to.push(number);
            row.pack(to);
        }
        match self {
            Row::Queue(r) => put(0, r, to),
            Row::Rate(r) => put(1, r, to),
            Row::Control(r) => put(2, r, to),
            Row::Cause(r) => put(3, r, to),
            Row::Mark(r) => put(4, r, to),
            Row::Cnm(r) => put(5, r, to),
            Row::State(r) => put(6, r, to),
            Row::Pause(r) => put(7, r, to),
            Row::Hold(r) => put(8, r, to),
        }
    }
    fn take(from: &mut &[u8]) -> Option<Self> {
        Some(match u8::take(from)? {
            0 => Row::Queue(Pack::take(from)?),
            1 => Row::Rate(Pack::take(from)?),
            2 => Row::Control(Pack::take(from)?),
            3 => Row::Cause(Pack::take(from)?),
            4 => Row::Mark(Pack::take(from)?),
            5 => Row::Cnm(Pack::take(from)?),
            6 => Row::State(Pack::take(from)?),
            7 => Row::Pause(Pack::take(from)?),
            8 => Row::Hold(Pack::take(from)?),
            _ => return None,
        })
    }
}

impl Row {
    /// Appends it to bytes, for [`Row::read`].
    pub fn put(&self, to: &mut Vec<u8>) {
        self.pack(to);
    }
    /// Takes a row from the front of the bytes of [`Row::put`]; `None`: other bytes.
    pub fn read(from: &mut &[u8]) -> Option<Row> {
        Pack::take(from)
    }
}

impl<T: Pack> Pack for Box<T> {
    fn pack(&self, to: &mut Vec<u8>) {
        (**self).pack(to);
    }
    fn take(from: &mut &[u8]) -> Option<Self> {
        Some(Box::new(T::take(from)?))
    }
}

impl Pack for Mark {
    fn pack(&self, to: &mut Vec<u8>) {
        to.push(*self as u8);
    }
    fn take(from: &mut &[u8]) -> Option<Self> {
        Some(Mark::from_code_point(u8::take(from)?.into()))
    }
}

impl Pack for MarkCounts {
    fn pack(&self, to: &mut Vec<u8>) {
        let mut counts = *self;
        counts.each(&mut |n| n.pack(to));
    }
    fn take(from: &mut &[u8]) -> Option<Self> {
        let mut counts = MarkCounts::default();
        let mut whole = true;
        counts.each(&mut |n| match u64::take(from) {
            Some(count) => *n = count,
            None => whole = false,
        });
        whole.then_some(counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn again<T: Pack>(value: &T) -> T {
        let mut bytes = Vec::new();
        value.pack(&mut bytes);
        let mut from = &bytes[..];
        let value = T::unpack(&mut from);
        assert!(from.is_empty(), "{} bytes are left", from.len());
        value
    }

    #[test]
    fn what_another_process_unpacks_is_what_was_packed() {
        let row = ControlRow {
            time_ps: u64::MAX,
            port: Port(7),
            priority: 3,
            direction: Direction::Received,
            message: Message("resume"),
            value: 9,
        };
        let cnm = CnmRow { kind: Side::Egress, q_off: i64::MIN, q_delta: -1, ..CnmRow::default() };
        let rate = RateRow { priority: None, flow: Some(u64::MAX), source: RateSource::RateControl, ..RateRow::default() };
        assert_eq!(again(&(row, cnm, rate)), (row, cnm, rate));
        let mut marks = MarkCounts::default();
        [Mark::Ce, Mark::Ce, Mark::from_code_point(0b10)].iter().for_each(|&m| marks.count(m));
        assert_eq!(again(&marks), marks);
        let lists = (vec![Some("ä".to_owned()), None], [1u16, 2], (Mark::Ce, PortState::Undetermined, StoppedBy::Flows, true));
        assert_eq!(again(&lists), lists);
        let mut telemetry = Telemetry::default();
        (0..3).for_each(|n| telemetry.push(Hop { at: Time(n), tx_bytes: n + 1, queue: Bytes(n + 2), rate: Rate(n + 3) }));
        assert_eq!(again(&telemetry).hops(), telemetry.hops());
    }

    /// Bytes that no process packed, such as those of a file: every prefix, every other byte in every place, and a list of any length.
    #[test]
    fn other_bytes_are_no_value() {
        let control = ControlRow { message: Message("pause"), direction: Direction::Sent, ..ControlRow::default() };
        let pause = PauseChange { time_ps: 1, port: Port(2), priority: 3, stopped: true, by: StoppedBy::Flows };
        let rows = [Row::Control(control), Row::Rate(RateRow { flow: Some(1), ..RateRow::default() }), Row::Pause(pause)];
        for row in rows {
            let mut bytes = Vec::new();
            row.put(&mut bytes);
            assert_eq!(Row::read(&mut &bytes[..]), Some(row));
            assert!((0..bytes.len()).all(|cut| Row::read(&mut &bytes[..cut]).is_none()));
            for at in 0..bytes.len() {
                for other in 0..=255 {
                    let mut broken = bytes.clone();
                    broken[at] = other;
                    let _ = Row::read(&mut &broken[..]);
                }
            }
        }
        assert_eq!(Row::read(&mut &[9][..]), None);
        assert_eq!(Vec::<u64>::take(&mut &[255; 8][..]), None);
        assert_eq!(StoppedBy::take(&mut &[3][..]), None);
    }
}
