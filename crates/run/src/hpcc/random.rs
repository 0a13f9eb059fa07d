//! The random numbers of ns-3: L'Ecuyer's MRG32k3a with streams 2^127 steps apart and substreams
//! 2^76 apart (L'Ecuyer, Simard, Chen, Kelton: "An object-oriented random-number package with many
//! long streams and substreams", Operations Research 50(6), 2002).
//!
//! The HPCC simulator makes a new generator for every marking decision and for every PFC frame,
//! each on the next stream, and takes its first number. With the right first stream its random
//! draws come out exactly.

use xoff_sim::RngSource;

const M1: u64 = 4_294_967_087;
const M2: u64 = 4_294_944_443;

type Matrix = [[u64; 3]; 3];
type State = [u64; 3];

/// One step of each component as a matrix on its last three values.
const STEP1: Matrix = [[0, 1, 0], [0, 0, 1], [M1 - 810_728, 1_403_580, 0]];
const STEP2: Matrix = [[0, 1, 0], [0, 0, 1], [M2 - 1_370_589, 0, 527_612]];

fn product(a: &Matrix, b: &Matrix, m: u64) -> Matrix {
    let cell = |i: usize, j: usize| (0..3).fold(0, |sum, k| (sum + a[i][k] * b[k][j] % m) % m);
    std::array::from_fn(|i| std::array::from_fn(|j| cell(i, j)))
}

fn apply(a: &Matrix, s: &State, m: u64) -> State {
    std::array::from_fn(|i| (0..3).fold(0, |sum, k| (sum + a[i][k] * s[k] % m) % m))
}

/// `a` to the power 2^e.
fn square_times(a: Matrix, e: u32, m: u64) -> Matrix {
    (0..e).fold(a, |a, _| product(&a, &a, m))
}

/// One generator.
#[derive(Clone)]
pub(crate) struct Generator {
    s1: State,
    s2: State,
}

impl Generator {
    /// The generator of this stream, seed 1, run 1.
    pub fn new(stream: u64) -> Self {
        // Run 1 is the second substream.
        let (mut j1, mut j2) = (square_times(STEP1, 76, M1), square_times(STEP2, 76, M2));
        let mut g = Generator { s1: apply(&j1, &[1; 3], M1), s2: apply(&j2, &[1; 3], M2) };
        (j1, j2) = (square_times(STEP1, 127, M1), square_times(STEP2, 127, M2));
        for bit in 0..u64::BITS {
            if stream >> bit & 1 == 1 {
                g.jump(&j1, &j2);
            }
            (j1, j2) = (product(&j1, &j1, M1), product(&j2, &j2, M2));
        }
        g
    }

    fn jump(&mut self, j1: &Matrix, j2: &Matrix) {
        self.s1 = apply(j1, &self.s1, M1);
        self.s2 = apply(j2, &self.s2, M2);
    }

    /// The next number in [0, 1).
    pub fn next(&mut self) -> f64 {
        self.jump(&STEP1, &STEP2);
        let (p1, p2) = (self.s1[2], self.s2[2]);
        let difference = if p1 > p2 { p1 - p2 } else { p1 + M1 - p2 };
        difference as f64 * (1.0 / (M1 + 1) as f64)
    }
}

/// The streams, one after the other.
pub(crate) struct Streams {
    /// Start of the next stream.
    next: Generator,
    jump1: Matrix,
    jump2: Matrix,
}

impl Streams {
    /// The generators from stream `first` on.
    pub fn from(first: u64) -> Self {
        Streams {
            next: Generator::new(first),
            jump1: square_times(STEP1, 127, M1),
            jump2: square_times(STEP2, 127, M2),
        }
    }

    fn skip(&mut self) {
        self.next.jump(&self.jump1, &self.jump2);
    }
}

impl RngSource for Streams {
    fn draw(&mut self) -> f64 {
        let u = self.next.clone().next();
        self.skip();
        u
    }

    fn message_sent(&mut self) {
        self.skip(); // the identification field of the PFC frame's IP header
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// MRG32k3a from the package's default seed 12345 gives 0.1270111 first (L'Ecuyer et al. 2002,
    /// test program).
    #[test]
    fn the_recurrence_is_mrg32k3a() {
        let mut g = Generator { s1: [12_345; 3], s2: [12_345; 3] };
        assert!((g.next() - 0.127_011_122_046_059).abs() < 1e-12);
    }

    /// Printed by that simulator: first numbers of a stream as it counts them, and of one in the
    /// upper half.
    #[test]
    fn streams_start_where_they_do_there() {
        let mut g = Generator::new(26);
        assert_eq!([g.next(), g.next()], [0.698_337_424_372_831_5, 0.611_480_610_721_737]);
        let mut g = Generator::new((1 << 63) + 50);
        assert_eq!([g.next(), g.next()], [0.460_392_457_377_545_36, 0.056_660_465_380_497_47]);
    }

    #[test]
    fn streams_follow_each_other() {
        let mut a = Streams::from(26);
        let mut b = Streams::from(27);
        a.message_sent();
        assert_eq!(a.draw(), b.draw());
        assert_ne!(a.draw(), Streams::from(27).draw());
    }
}
