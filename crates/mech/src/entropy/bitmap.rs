//! Spraying with a bitmap: the values in rotation, except that a value whose frame was marked is
//! passed over once (the bitmap of Ultra Ethernet's multipath, as htsim has it).

use xoff_units::Time;
use xoff_units::state::State;

use super::{Entropy, any};

/// The law of one flow.
#[derive(Clone, Debug, PartialEq, Eq, State)]
pub struct Bitmap {
    /// By value: its next turn goes to the value after it.
    passed_over: Vec<bool>,
    /// The value of the latest frame.
    latest: Option<u16>,
}

impl Bitmap {
    /// With values from 0 to `paths` - 1.
    pub fn new(paths: u16) -> Bitmap {
        Bitmap { passed_over: vec![false; usize::from(paths)], latest: None }
    }
}

impl Entropy for Bitmap {
    fn next(&mut self, _: Time, draw: &mut dyn FnMut() -> f64) -> u16 {
        let paths = self.passed_over.len() as u16;
        let mut value = match self.latest {
            Some(latest) => (latest + 1) % paths,
            None => any(paths, draw),
        };
        // Ends after one round at the latest: each step clears a bit.
        while std::mem::take(&mut self.passed_over[usize::from(value)]) {
            value = (value + 1) % paths;
        }
        self.latest = Some(value);
        value
    }

    fn on_ack(&mut self, _: Time, value: u16, marked: bool) {
        if let Some(bit) = self.passed_over.get_mut(usize::from(value)) {
            *bit |= marked;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marked_value_is_passed_over_once() {
        let mut law = Bitmap::new(4);
        let next = |law: &mut Bitmap| law.next(Time::ZERO, &mut || 0.0);
        assert_eq!([next(&mut law), next(&mut law)], [0, 1]);
        law.on_ack(Time::ZERO, 3, true);
        law.on_ack(Time::ZERO, 0, true);
        law.on_ack(Time::ZERO, 1, false);
        let values: Vec<u16> = (0..6).map(|_| next(&mut law)).collect();
        assert_eq!(values, [2, 1, 2, 3, 0, 1]);
        (0..4).for_each(|value| law.on_ack(Time::ZERO, value, true));
        assert_eq!(next(&mut law), 2, "all are marked: one round");
    }
}
