//! What processes of one run hand each other, as bytes.
//!
//! ```text
//!   value -- pack --> little-endian bytes, one after the other -- another process of the same program -- unpack --> value
//! ```
//!
//! No `serde`: what the types here derive of it says how a state recurs (`xoff_units::state`), and leaves out what does not. [`packed`] lists the
//! fields of a type, and one that is missing does not compile.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use xoff_mech::detection::{Mark, MarkCounts};
use xoff_mech::rate_control::Hop;
use xoff_node::{EventKey, Frame, PoolUse, Telemetry};
use xoff_rows::{
    CauseRow, CnmRow, ControlRow, Direction, MarkRow, Message, Port, PortState, QueueRow, RateRow, RateSource, Side, StateRow, StoppedBy,
};
use xoff_units::{Bytes, Rate, Span, Time};

use crate::line::RemoteArrival;
use crate::lost::{FrameCount, LostFrames, RetryCounts};
use crate::monitor::Counts;
use crate::outcome::{PortCnms, PortTotals};
use crate::probe::{HoldChange, PauseChange, Row};
use crate::storms::Storm;

/// A value that another process of the same program can have.
pub(crate) trait Pack: Sized {
    /// Appends it.
    fn pack(&self, to: &mut Vec<u8>);
    /// Takes it from the front. Panics where the bytes are not those of [`Pack::pack`]: all processes are the same program.
    fn unpack(from: &mut &[u8]) -> Self;
}

macro_rules! numbers {
    ($($t:ty),*) => {$(
        impl Pack for $t {
            #[inline]
            fn pack(&self, to: &mut Vec<u8>) {
                to.extend_from_slice(&self.to_le_bytes());
            }
            #[inline]
            fn unpack(from: &mut &[u8]) -> Self {
                let (bytes, rest) = from.split_first_chunk().expect("another process packed a whole number");
                *from = rest;
                Self::from_le_bytes(*bytes)
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
            fn unpack(from: &mut &[u8]) -> Self {
                $t(Pack::unpack(from))
            }
        }
    )*};
}
newtypes!(Time, Span, Bytes, Rate, Port);

/// Makes a struct one that can be packed: all its fields, in any order.
macro_rules! packed {
    ($($t:ident { $($field:ident),* })*) => {$(
        impl $crate::pack::Pack for $t {
            fn pack(&self, to: &mut Vec<u8>) {
                let $t { $($field),* } = self;
                $($crate::pack::Pack::pack($field, to);)*
            }
            fn unpack(from: &mut &[u8]) -> Self {
                $(let $field = $crate::pack::Pack::unpack(from);)*
                $t { $($field),* }
            }
        }
    )*};
}
pub(crate) use packed;

/// The same for enums without fields.
macro_rules! words {
    ($($t:ident { $($variant:ident),* })*) => {$(
        impl $crate::pack::Pack for $t {
            fn pack(&self, to: &mut Vec<u8>) {
                enum Place { $($variant),* }
                to.push(match self { $($t::$variant => Place::$variant as u8),* });
            }
            fn unpack(from: &mut &[u8]) -> Self {
                const ALL: &[$t] = &[$($t::$variant),*];
                ALL[u8::unpack(from) as usize]
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
    RemoteArrival { at, to, frame, id, telemetry }
    PauseChange { time_ps, port, priority, stopped, by }
    HoldChange { time_ps, port, priority, on }
    FrameCount { data, control }
    LostFrames { buffer_full, no_route, cut_off, link_failed, by_watchdog, on_failed_link, on_faulty_link, given_up, lossy_ingress, lossy_egress }
    Storm { node, port, priority, since, found, over, discarded }
    RetryCounts { corrupted, discarded, replayed, nacks, timeouts, signals_lost, given_up, on_failed_link }
    Counts { frame_hops, data_frame_hops, injected, delivered, rate_changes, lost, retry, retransmission_timeouts }
    PortCnms { ingress, egress }
    PoolUse { shared, shared_max, headroom, headroom_max }
    PortTotals {
        tx_bytes, tx_frames, messages_sent, messages_received, marked, dropped, tail_dropped, lost, ingress_bytes_max, egress_bytes_max, pauses,
        pause_ps_total, holds, hold_ps_total, allowed_min
    }
    Hop { at, tx_bytes, queue, rate }
    QueueRow { time_ps, port, kind, priority, bytes }
    RateRow { time_ps, port, priority, flow, bits_per_second, source }
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
    fn unpack(from: &mut &[u8]) -> Self {
        u8::unpack(from) != 0
    }
}

impl<T: Pack> Pack for Option<T> {
    fn pack(&self, to: &mut Vec<u8>) {
        self.is_some().pack(to);
        self.iter().for_each(|v| v.pack(to));
    }
    fn unpack(from: &mut &[u8]) -> Self {
        bool::unpack(from).then(|| T::unpack(from))
    }
}

impl<T: Pack> Pack for Vec<T> {
    fn pack(&self, to: &mut Vec<u8>) {
        (self.len() as u64).pack(to);
        self.iter().for_each(|v| v.pack(to));
    }
    fn unpack(from: &mut &[u8]) -> Self {
        (0..u64::unpack(from)).map(|_| T::unpack(from)).collect()
    }
}

impl<T: Pack, const N: usize> Pack for [T; N] {
    fn pack(&self, to: &mut Vec<u8>) {
        self.iter().for_each(|v| v.pack(to));
    }
    fn unpack(from: &mut &[u8]) -> Self {
        std::array::from_fn(|_| T::unpack(from))
    }
}

impl Pack for String {
    fn pack(&self, to: &mut Vec<u8>) {
        (self.len() as u64).pack(to);
        to.extend_from_slice(self.as_bytes());
    }
    fn unpack(from: &mut &[u8]) -> Self {
        let length = u64::unpack(from) as usize;
        let (text, rest) = from.split_at(length);
        *from = rest;
        String::from_utf8_lossy(text).into_owned()
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
            fn unpack(from: &mut &[u8]) -> Self {
                ($($t::unpack(from),)+)
            }
        }
    )*};
}
tuples! { (A, B) (A, B, C) (A, B, C, D) }

impl Pack for Message {
    fn pack(&self, to: &mut Vec<u8>) {
        self.0.to_owned().pack(to);
    }
    fn unpack(from: &mut &[u8]) -> Self {
        Message(kept(String::unpack(from)))
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
    fn unpack(from: &mut &[u8]) -> Self {
        Frame::from_words(Pack::unpack(from))
    }
}

impl Pack for Telemetry {
    fn pack(&self, to: &mut Vec<u8>) {
        self.hops().to_vec().pack(to);
    }
    fn unpack(from: &mut &[u8]) -> Self {
        let mut telemetry = Telemetry::default();
        Vec::unpack(from).into_iter().for_each(|hop| telemetry.push(hop));
        telemetry
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
    fn unpack(from: &mut &[u8]) -> Self {
        match u8::unpack(from) {
            0 => Row::Queue(Pack::unpack(from)),
            1 => Row::Rate(Pack::unpack(from)),
            2 => Row::Control(Pack::unpack(from)),
            3 => Row::Cause(Pack::unpack(from)),
            4 => Row::Mark(Pack::unpack(from)),
            5 => Row::Cnm(Pack::unpack(from)),
            6 => Row::State(Pack::unpack(from)),
            7 => Row::Pause(Pack::unpack(from)),
            8 => Row::Hold(Pack::unpack(from)),
            other => unreachable!("no row has the number {other}"),
        }
    }
}

impl Row {
    /// Appends it to bytes, for [`Row::take`].
    pub fn put(&self, to: &mut Vec<u8>) {
        self.pack(to);
    }
    /// Takes one from the front of what [`Row::put`] wrote; `None`: nothing is left.
    ///
    /// # Panics
    /// The bytes are others: who keeps them has to know that they are whole.
    pub fn take(from: &mut &[u8]) -> Option<Row> {
        (!from.is_empty()).then(|| Row::unpack(from))
    }
}

impl<T: Pack> Pack for Box<T> {
    fn pack(&self, to: &mut Vec<u8>) {
        (**self).pack(to);
    }
    fn unpack(from: &mut &[u8]) -> Self {
        Box::new(T::unpack(from))
    }
}

impl Pack for Mark {
    fn pack(&self, to: &mut Vec<u8>) {
        to.push(*self as u8);
    }
    fn unpack(from: &mut &[u8]) -> Self {
        Mark::from_code_point(u8::unpack(from).into())
    }
}

impl Pack for MarkCounts {
    fn pack(&self, to: &mut Vec<u8>) {
        let mut counts = *self;
        counts.each(&mut |n| n.pack(to));
    }
    fn unpack(from: &mut &[u8]) -> Self {
        let mut counts = MarkCounts::default();
        counts.each(&mut |n| *n = u64::unpack(from));
        counts
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
}
