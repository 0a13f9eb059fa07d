//! State of nodes, mechanisms and the simulator: one derive, and one list of fields, for every
//! walk.
//!
//! ```text
//!   compare   does the state of a network recur? (fast-forward)       State::walk with a Walk that compares
//!   save      checkpoints; mail between the processes of a run        State::walk with a Writer
//!   count     add the results of a skipped period (fast-forward)      Counters
//!   restore   into a world that was built from the same scenario      State::restore, Value::read
//! ```
//!
//! `#[derive(State)]` writes the walk of a type, so the compiler counts its fields. A field without
//! an attribute is compared and saved. A field needs an attribute if it is one of these:
//!
//! ```text
//!   built       neither compared nor saved: a constant that comes with the world, or a cache
//!   saved       saved, not compared: a result or a timer that no other state depends on
//!   compared    compared, not saved
//!   each        list whose elements are restored in their place
//!   by = module module::walk(&field, walk) and module::restore(&mut field, reader)
//!   feeder      state of the opposite direction of the link: a receiver half, and the messages that it sends
//!   unwritten   with a reason, also on a type or variant: no run returns to such a state
//!   refused     on a variant: a mechanism from outside, which can be neither compared nor saved
//!   in_place    on a type: some of its parts are restored in their place
//!   counted     on a type: its fields are Counters, except those that are `saved`
//!   canonical   on a type: its method `compare` writes the form in which it is compared
//!   a Meaning   deadline, sequence, counter, number, flow, slot, slots (a list), iteration or frame
//! ```
//!
//! A network moves on while it recurs: times grow, and so do byte offsets and credit counters. So a
//! comparison receives each number with its [`Meaning`]. A missing one costs speed, not truth. Only
//! a field that is not compared needs its reason.
//!
//! A scenario decides the parameters and the kinds of mechanisms. They are built again and not
//! saved, so a state with such parts is restored in its place ([`State`]). Frames, messages and
//! entries of lists come and go during a run, and are created from their saved form ([`Value`]).

pub use xoff_state_derive::State;

mod bytes;
mod values;

pub use bytes::{Broken, Reader, Writer};

/// Meaning of a number of a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// Itself: it has to be equal.
    Plain,
    /// A point in time [ps]: two states recur if all of them are later by one period.
    Time,
    /// A time that means nothing once it has passed [ps].
    Deadline,
    /// A byte offset of the flow at hand: all of them are further by the same number of bytes.
    Sequence,
    /// A counter that both ends of a link keep: all of them are higher by the same amount.
    Counter,
    /// A second such counter.
    Number,
    /// The interval of a clock whose ticks are multiples of it since the start of the run [ps]: the
    /// phase has to be equal.
    Ticks,
    /// The number of a flow, whose byte offsets follow.
    Flow,
    /// A handle of a frame: the frame counts, not the handle.
    Frame,
    /// The first handle of a list of frames.
    Frames,
    /// A place in the list of flows that a node has begun: all of them are higher by the same
    /// number.
    Slot,
    /// An iteration of the job at hand: all of them are later by the same number.
    Iteration,
}

/// Receiver of the numbers of a state.
pub trait Walk {
    /// Reason for the end of the walk.
    type Stop;
    /// True if states are compared, as far as the future depends on them; otherwise they are saved.
    const COMPARES: bool;

    /// The next number. Lists, options and variants have one in front: their length, presence or
    /// position.
    ///
    /// # Errors
    /// Reason for the end of the walk.
    fn number(&mut self, meaning: Meaning, value: u64) -> Result<(), Self::Stop>;
    /// A number that uses all its bits.
    ///
    /// # Errors
    /// Those of [`Walk::number`].
    #[inline]
    fn wide(&mut self, value: u64) -> Result<(), Self::Stop> {
        self.number(Meaning::Plain, value)
    }
    /// Bytes, as a list.
    ///
    /// # Errors
    /// Those of [`Walk::number`].
    fn bytes(&mut self, bytes: &[u8]) -> Result<(), Self::Stop>
    where
        Self: Sized,
    {
        self.list(bytes.iter())
    }
    /// A state that cannot be saved, or that no run returns to.
    ///
    /// # Errors
    /// Reason for the end of the walk.
    fn refuse(&mut self, what: &'static str) -> Result<(), Self::Stop>;
    /// A structure of this name begins.
    #[inline]
    fn structure(&mut self, _name: &'static str) {}
    /// Start or end of the state of the opposite direction of the link. Returns the previous value.
    #[inline]
    fn feeder(&mut self, _on: bool) -> bool {
        false
    }

    /// Length and elements of a list.
    ///
    /// # Errors
    /// Those of [`Walk::number`].
    #[inline]
    fn list<'t, T: State + 't>(
        &mut self,
        mut list: impl ExactSizeIterator<Item = &'t T>,
    ) -> Result<(), Self::Stop>
    where
        Self: Sized,
    {
        self.number(Meaning::Plain, list.len() as u64)?;
        list.try_for_each(|part| part.walk(self))
    }
}

/// A state, which is restored in its place.
pub trait State {
    /// Goes through its numbers.
    ///
    /// # Errors
    /// Those of the walk.
    fn walk<W: Walk>(&self, w: &mut W) -> Result<(), W::Stop>;
    /// Becomes the saved state.
    ///
    /// # Errors
    /// The input is no state of this type; the value is then unusable.
    fn restore(&mut self, from: &mut Reader) -> Result<(), Broken>;
}

/// A state that is created from its saved form, which has one byte at least.
pub trait Value: State + Sized {
    /// Reads one.
    ///
    /// # Errors
    /// The input is no such value.
    fn read(from: &mut Reader) -> Result<Self, Broken>;
}

/// Counters without influence on a state: results, to which a skipped period adds.
pub trait Counters {
    /// Hands out each counter, always in the same order.
    fn counters(&mut self, f: &mut impl FnMut(&mut u64));
}

impl Counters for u64 {
    fn counters(&mut self, f: &mut impl FnMut(&mut u64)) {
        f(self);
    }
}

impl<T: Counters, const N: usize> Counters for [T; N] {
    fn counters(&mut self, f: &mut impl FnMut(&mut u64)) {
        self.iter_mut().for_each(|n| n.counters(f));
    }
}

/// Restores the elements of a list, of known length.
///
/// # Errors
/// Another number was saved, or an element cannot be restored.
pub fn restore_each<'t, T: State + 't>(
    there: usize,
    list: impl Iterator<Item = &'t mut T>,
    from: &mut Reader,
) -> Result<(), Broken> {
    if from.number()? != there as u64 {
        return Err(Broken("a list of another length"));
    }
    list.into_iter().try_for_each(|part| part.restore(from))
}

/// Parts that are built and may be gone later, for `state(by = may_be_gone)`.
pub mod may_be_gone {
    use super::{Broken, Reader, State, Value, Walk};

    /// Goes through it, if it is there.
    ///
    /// # Errors
    /// Those of the walk.
    pub fn walk<T: State, W: Walk>(state: &Option<T>, w: &mut W) -> Result<(), W::Stop> {
        w.list(state.iter())
    }

    /// Becomes the saved value, or is removed.
    ///
    /// # Errors
    /// It was there, and is not here; or it cannot be restored.
    pub fn restore<T: State>(state: &mut Option<T>, from: &mut Reader) -> Result<(), Broken> {
        if !bool::read(from)? {
            *state = None;
            return Ok(());
        }
        state.as_mut().ok_or(Broken("a part that was not built"))?.restore(from)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::{Span, Time};

    #[derive(Clone, Debug, PartialEq, State)]
    enum Phase {
        Nothing,
        Waits(Time, i16),
        Goes { at: Option<Span>, parts: Vec<u8> },
    }

    #[derive(Debug, PartialEq, State)]
    struct Machine {
        #[state(built)]
        limit: u64,
        #[state(saved)]
        held: u64,
        phase: Phase,
        #[state(saved)]
        table: HashMap<u32, f64>,
        #[state(each)]
        parts: Vec<Piece>,
        #[state(feeder)]
        state: Half,
    }

    #[derive(Debug, PartialEq, State)]
    struct Piece {
        #[state(compared)]
        name: u8,
        #[state(counter)]
        sent: u64,
        #[state(deadline)]
        until: Time,
    }

    #[derive(Debug, PartialEq, State)]
    enum Half {
        On(Piece),
        Off,
        #[state(unwritten = "never again")]
        Once,
        #[state(refused)]
        Outside,
    }

    fn machine(limit: u64, sent: u64) -> Machine {
        let part = |name| Piece { name, sent, until: Time(3) };
        Machine {
            limit,
            held: u64::MAX,
            phase: Phase::Goes { at: Some(Span(7)), parts: vec![1, 200] },
            table: HashMap::from([(3, -0.0), (1, f64::INFINITY)]),
            parts: vec![part(10), part(11)],
            state: Half::On(part(12)),
        }
    }

    fn saved(state: &impl State) -> Vec<u8> {
        let mut to = Writer::default();
        to.put(state);
        to.end().unwrap()
    }

    #[test]
    fn a_state_is_restored_in_what_was_built() {
        let bytes = saved(&machine(5, 300));
        let mut other =
            Machine { held: 0, phase: Phase::Nothing, table: HashMap::new(), ..machine(9, 4) };
        let mut from = Reader::new(&bytes);
        other.restore(&mut from).unwrap();
        assert!(from.is_over());
        assert_eq!(other, Machine { limit: 9, ..machine(5, 300) });
        assert_eq!(saved(&other), bytes);
        let wait = Phase::Waits(Time(1 << 63), i16::MIN);
        assert_eq!(Phase::read(&mut Reader::new(&saved(&wait))), Ok(wait));
    }

    #[test]
    fn what_does_not_fit_is_refused_and_nothing_panics() {
        let bytes = saved(&machine(5, 1));
        for cut in 0..bytes.len() {
            assert!(machine(5, 1).restore(&mut Reader::new(&bytes[..cut])).is_err(), "{cut}");
        }
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut wrong = bytes.clone();
                wrong[at] ^= 1 << bit;
                let _ = machine(5, 1).restore(&mut Reader::new(&wrong));
            }
        }
        let off = Machine { state: Half::Off, ..machine(5, 1) };
        assert_eq!(
            machine(5, 1).restore(&mut Reader::new(&saved(&off))),
            Err(Broken("another kind of Half"))
        );
        let mut shorter = machine(5, 1);
        shorter.parts.pop();
        assert_eq!(
            shorter.restore(&mut Reader::new(&bytes)),
            Err(Broken("a list of another length"))
        );
        let mut to = Writer::default();
        to.put(&Half::Outside);
        assert_eq!(to.end(), Err("Half::Outside".into()));
        assert_eq!(saved(&Half::Once), [2]);
    }

    /// What a comparison sees.
    #[derive(Default)]
    struct Seen {
        numbers: Vec<(Meaning, u64, bool)>,
        names: Vec<&'static str>,
        feeder: bool,
    }

    impl Walk for Seen {
        type Stop = &'static str;
        const COMPARES: bool = true;
        fn number(&mut self, meaning: Meaning, value: u64) -> Result<(), Self::Stop> {
            self.numbers.push((meaning, value, self.feeder));
            Ok(())
        }
        fn refuse(&mut self, what: &'static str) -> Result<(), Self::Stop> {
            Err(what)
        }
        fn structure(&mut self, name: &'static str) {
            self.names.push(name);
        }
        fn feeder(&mut self, on: bool) -> bool {
            std::mem::replace(&mut self.feeder, on)
        }
    }

    #[test]
    fn every_number_comes_with_its_meaning() {
        let mut seen = Seen::default();
        machine(5, 4).walk(&mut seen).unwrap();
        let here = |m, v| (m, v, false);
        let piece = |name, feeder| {
            [
                (Meaning::Plain, name, feeder),
                (Meaning::Counter, 4, feeder),
                (Meaning::Deadline, 3, feeder),
            ]
        };
        let phase = [2, 1, 7, 2, 1, 200].map(|v| here(Meaning::Plain, v));
        let list = [here(Meaning::Plain, 2)];
        let half = [(Meaning::Plain, 0, true)];
        let all =
            [&phase[..], &list, &piece(10, false), &piece(11, false), &half, &piece(12, true)];
        assert_eq!(seen.numbers, all.concat());
        assert_eq!((seen.names, seen.feeder), (vec!["Machine", "Piece", "Piece", "Piece"], false));
        let mut seen = Seen::default();
        assert_eq!(Half::Once.walk(&mut seen), Err("never again"));
        assert_eq!(Half::Outside.walk(&mut seen), Err("a mechanism from outside"));
        Phase::Waits(Time(1), 0).walk(&mut seen).unwrap();
        assert_eq!(
            seen.numbers,
            [here(Meaning::Plain, 1), here(Meaning::Time, 1), here(Meaning::Plain, 0)]
        );
    }
}
