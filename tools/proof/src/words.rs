//! A state as numbers that are equal where the link continues alike.

use xoff_units::Time;
use xoff_units::state::{Meaning, State, Walk};

/// A time that has passed and means nothing any more.
const PASSED: u64 = u64::MAX - 1;

/// Collects numbers: times as of now, counters as of the first that is met.
pub(crate) struct Words {
    pub numbers: Vec<u64>,
    now: Time,
    /// Counters stay as they are: where they wrap matters.
    absolute: bool,
    /// Bits of a difference of counters that count.
    mask: u64,
    counter: Option<u64>,
    /// Frames by handle: a flow, and which of its frames, as of the next that is to arrive there.
    frame: fn(u32, &[u32]) -> u64,
    expected: Vec<u32>,
}

/// A half from outside.
pub(crate) type Unwritten = &'static str;

impl Words {
    pub fn new(
        now: Time,
        absolute: bool,
        counter_bits: u32,
        frame: fn(u32, &[u32]) -> u64,
        expected: &[u32],
    ) -> Words {
        let mask = u64::MAX >> (64 - counter_bits);
        Words {
            numbers: Vec::new(),
            now,
            absolute,
            mask,
            counter: None,
            frame,
            expected: expected.to_vec(),
        }
    }

    /// Adds a state.
    pub fn add(&mut self, state: &impl State) -> Result<(), Unwritten> {
        state.walk(self)
    }

    /// Adds a time.
    pub fn time(&mut self, t: Time) {
        self.numbers.push(if t == Time::NEVER { u64::MAX } else { t.0.wrapping_sub(self.now.0) });
    }

    /// Adds a time that means nothing once it has passed.
    pub fn deadline(&mut self, t: Time) {
        if t < self.now { self.numbers.push(PASSED) } else { self.time(t) }
    }

    /// Adds a counter.
    pub fn counter(&mut self, value: u64) {
        let first = if self.absolute { 0 } else { *self.counter.get_or_insert(value) };
        self.numbers.push(value.wrapping_sub(first) & self.mask);
    }

    /// Adds a frame.
    pub fn handle(&mut self, frame: u32) {
        self.numbers.push((self.frame)(frame, &self.expected));
    }
}

impl Walk for Words {
    type Stop = Unwritten;
    const COMPARES: bool = true;

    fn refuse(&mut self, what: &'static str) -> Result<(), Unwritten> {
        Err(what)
    }

    fn number(&mut self, meaning: Meaning, value: u64) -> Result<(), Unwritten> {
        match meaning {
            Meaning::Time => self.time(Time(value)),
            Meaning::Deadline => self.deadline(Time(value)),
            Meaning::Counter => self.counter(value),
            Meaning::Ticks => self.numbers.push(self.now.0 % value.max(1)),
            Meaning::Frame => self.handle(value as u32),
            // The number of a filter, which its words share: they arrive as one frame.
            Meaning::Number => {}
            // Byte offsets and flows do not occur in the halves of one link, but
            // if they did, nothing would be taken for equal.
            _ => self.numbers.push(value),
        }
        Ok(())
    }
}

/// States are one where their keys are equal: what [`Words`] has written down.
macro_rules! equal_by_key {
    ($state:ty) => {
        impl PartialEq for $state {
            fn eq(&self, o: &$state) -> bool {
                self.key == o.key
            }
        }
        impl Eq for $state {}
        impl std::hash::Hash for $state {
            fn hash<H: std::hash::Hasher>(&self, h: &mut H) {
                self.key.hash(h);
            }
        }
    };
}
pub(crate) use equal_by_key;
