//! Oblivious spraying: the values in rotation, from a random one on.

use xoff_units::Time;
use xoff_units::state::State;

use super::{Entropy, any};

/// The law of one flow.
#[derive(Clone, Debug, PartialEq, Eq, State)]
pub struct Oblivious {
    paths: u16,
    /// The value of the latest frame.
    latest: Option<u16>,
}

impl Oblivious {
    /// With values from 0 to `paths` - 1.
    pub fn new(paths: u16) -> Oblivious {
        Oblivious { paths, latest: None }
    }
}

impl Entropy for Oblivious {
    fn next(&mut self, _: Time, draw: &mut dyn FnMut() -> f64) -> u16 {
        let value = match self.latest {
            Some(latest) => (latest + 1) % self.paths,
            None => any(self.paths, draw),
        };
        self.latest = Some(value);
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_rotate_from_a_random_one_on() {
        let mut law = Oblivious::new(4);
        let mut next = || law.next(Time::ZERO, &mut || 0.6);
        assert_eq!([next(), next(), next(), next(), next()], [2, 3, 0, 1, 2]);
    }
}
