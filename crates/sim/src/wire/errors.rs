//! Links with errors: which frames a link corrupts.
//!
//! ```text
//!   bit      every bit is wrong with the probability ber: p = 1 - (1 - ber)^(8 (frame + overhead)); with a code that corrects errors, what
//! is left
//!   frame    every frame with the probability loss: the residual loss of a link with error correction
//!   burst    two states by frame (Gilbert 1960, Elliott 1963): in the bad one a frame is hit with loss_bad, in the good one with loss_good
//!   nth      the frames with these numbers, counted from 1 in each direction: for experiments without chance
//! ```
//!
//! Each direction of a link draws from a stream of its own, frame by frame as they arrive: no
//! result depends on how a network is split.

use std::sync::Arc;

use rand_chacha::ChaCha8Rng;
use xoff_net::workload::random;
use xoff_node::{Frame, FrameKind, Hit};
use xoff_units::NodeId;
use xoff_units::state::{Broken, Reader, State, Value, Walk};

/// Purpose of the random streams of links (ports draw with 2000).
const LINK_ERRORS: u64 = 2001;

/// A code that corrects errors: Reed-Solomon over symbols of 10 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code {
    /// Symbols of a codeword.
    symbols: u32,
    /// Symbols that it corrects.
    corrects: u32,
}

impl Code {
    /// RS(528,514), IEEE 802.3 clause 91: corrects 7 symbols.
    pub const KR4: Code = Code { symbols: 528, corrects: 7 };
    /// RS(544,514): corrects 15.
    pub const KP4: Code = Code { symbols: 544, corrects: 15 };
    /// Bits of a symbol, and bytes of frames in a codeword: 514 symbols carry 20 blocks of 257 bits
    /// with 256 bits of data each.
    const SYMBOL: f64 = 10.0;
    const BYTES: f64 = 640.0;

    /// Probability that a codeword is not corrected, where bits are wrong independently of each
    /// other.
    pub fn uncorrected(self, ber: f64) -> f64 {
        if ber <= 0.0 {
            return 0.0;
        }
        // ln of the probability that a symbol is right, and that it is wrong.
        let right = Code::SYMBOL * libm::log1p(-ber);
        let wrong = libm::log(-libm::expm1(right));
        let (n, ln_gamma) = (f64::from(self.symbols), libm::lgamma);
        let term = |k: u32| {
            let k = f64::from(k);
            let choices = ln_gamma(n + 1.0) - ln_gamma(k + 1.0) - ln_gamma(n - k + 1.0);
            libm::exp(choices + k * wrong + (n - k) * right)
        };
        (self.corrects + 1..=self.symbols).map(term).sum::<f64>().min(1.0)
    }

    /// Probability that a frame of this length is hit: one of the codewords that it touches is not
    /// corrected, on average (len - 1)/640 + 1.
    fn frame(self, ber: f64, len: f64) -> f64 {
        -libm::expm1(((len - 1.0) / Code::BYTES + 1.0) * libm::log1p(-self.uncorrected(ber)))
    }
}

/// Model of the errors.
#[derive(Clone, Debug, PartialEq)]
pub enum ErrorKind {
    /// By bit errors.
    Bits {
        /// Bit error ratio; before correction, if there is any.
        ber: f64,
        /// Bytes that count in addition to the frame.
        overhead: u32,
        /// Code that corrects errors.
        code: Option<Code>,
    },
    /// Frame by frame.
    Frames {
        /// Probability.
        loss: f64,
    },
    /// In bursts.
    Bursts {
        /// Probability of going from the good state to the bad one, asked before each frame.
        to_bad: f64,
        /// And back.
        to_good: f64,
        /// Probability in the bad state.
        loss_bad: f64,
        /// And in the good one.
        loss_good: f64,
    },
    /// Given frames, in order, counted from 1.
    Nth(Vec<u64>),
}

/// Frames that can be hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HitFrames {
    /// All.
    All,
    /// Frames of flows, and messages about them.
    Flows,
    /// Control frames.
    Control,
}

/// Errors of some directions of links.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkErrors {
    /// The ports that transmit, as node and port.
    pub ports: Vec<(NodeId, u16)>,
    /// Error model.
    pub kind: ErrorKind,
    /// Affected frames.
    pub frames: HitFrames,
    /// A hit frame comes, with a wrong check sequence; else nothing comes.
    pub seen: bool,
}

impl ErrorKind {
    /// Mean probability that a frame of this length is hit; `None`: hits are not random.
    pub fn loss(&self, len: u32) -> Option<f64> {
        Some(match *self {
            ErrorKind::Bits { ber, overhead, code } => {
                let bytes = f64::from(len) + f64::from(overhead);
                match code {
                    None => -libm::expm1(8.0 * bytes * libm::log1p(-ber)),
                    Some(code) => code.frame(ber, bytes),
                }
            }
            ErrorKind::Frames { loss } => loss,
            ErrorKind::Bursts { to_bad, to_good, loss_bad, loss_good } => match to_bad + to_good {
                0.0 => loss_good,
                both => (to_bad * loss_bad + to_good * loss_good) / both,
            },
            ErrorKind::Nth(_) => return None,
        })
    }
}

/// The errors of one direction of a link.
pub(crate) struct Direction {
    /// The same for all directions of a list; without its ports.
    errors: Arc<LinkErrors>,
    rng: ChaCha8Rng,
    /// True in the bad state of a burst.
    bad: bool,
    /// Number of arrived frames, for `nth`.
    seen: u64,
    /// The last length that was asked about, and its probability.
    known: (u32, f64),
}

impl Direction {
    /// Errors of the link direction to this port, which is numbered over the whole network.
    pub fn new(seed: u64, to: u32, nth: u64, errors: Arc<LinkErrors>) -> Direction {
        let rng = random::stream(seed, u64::from(to), LINK_ERRORS + (nth << 32));
        Direction { errors, rng, bad: false, seen: 0, known: (0, 0.0) }
    }

    /// Effect on a frame.
    pub fn hit(&mut self, frame: &Frame) -> Option<Hit> {
        let control = frame.kind() == FrameKind::Control;
        let concerned = match self.errors.frames {
            HitFrames::All => true,
            HitFrames::Flows => !control,
            HitFrames::Control => control,
        };
        // An ideal message is no frame.
        if !concerned || frame.is_empty() {
            return None;
        }
        let hit = match self.errors.kind {
            ErrorKind::Nth(ref which) => {
                self.seen += 1;
                which.binary_search(&self.seen).is_ok()
            }
            ErrorKind::Bursts { to_bad, to_good, loss_bad, loss_good } => {
                let leaves =
                    random::uniform(&mut self.rng) < if self.bad { to_good } else { to_bad };
                self.bad ^= leaves;
                random::uniform(&mut self.rng) < if self.bad { loss_bad } else { loss_good }
            }
            _ => {
                if self.known.0 != frame.len() {
                    self.known = (frame.len(), self.errors.kind.loss(frame.len()).unwrap_or(0.0));
                }
                random::uniform(&mut self.rng) < self.known.1
            }
        };
        hit.then_some(if self.errors.seen { Hit::Corrupted } else { Hit::Vanished })
    }
}

/// Effect of all errors of a link on a frame: each of them draws, so that none changes what another
/// draws.
pub(crate) fn hit(directions: &mut [Direction], frame: &Frame) -> Option<Hit> {
    directions.iter_mut().fold(None, |hit, d| d.hit(frame).or(hit))
}

/// State of the errors of a link.
impl State for Direction {
    fn walk<W: Walk>(&self, w: &mut W) -> Result<(), W::Stop> {
        let Direction { errors: _, rng, bad, seen, known: _ } = self;
        (rng.get_word_pos(), *bad, *seen).walk(w)
    }

    fn restore(&mut self, from: &mut Reader) -> Result<(), Broken> {
        let at;
        (at, self.bad, self.seen) = Value::read(from)?;
        self.rng.set_word_pos(at);
        Ok(())
    }
}

/// The errors of all links in a checkpoint.
pub(crate) mod directions {
    use super::*;
    use xoff_units::state::restore_each;

    pub fn walk<W: Walk>(all: &[Vec<Direction>], w: &mut W) -> Result<(), W::Stop> {
        all.len().walk(w)?;
        all.iter().try_for_each(|port| w.list(port.iter()))
    }

    pub fn restore(all: &mut [Vec<Direction>], from: &mut Reader) -> Result<(), Broken> {
        if from.number()? != all.len() as u64 {
            return Err(Broken("a list of another length"));
        }
        all.iter_mut().try_for_each(|port| restore_each(port.len(), port.iter_mut(), from))
    }
}

#[cfg(test)]
mod tests {
    use xoff_units::{Class, FlowId};

    use super::*;

    fn bits(ber: f64, code: Option<Code>) -> ErrorKind {
        ErrorKind::Bits { ber, overhead: 8, code }
    }

    #[test]
    fn bit_errors_hit_long_frames_more_often() {
        let p = |ber, len| bits(ber, None).loss(len).unwrap();
        // 1 - (1 - 1e-12)^(8 * 1508) and 1 - (1 - 1e-5)^(8 * 1508), from 50 digits.
        assert!((p(1e-12, 1500) - 1.206_399_992_7e-8).abs() < 1e-17, "{}", p(1e-12, 1500));
        assert!((p(1e-5, 1500) - 0.113_647_6).abs() < 1e-6, "{}", p(1e-5, 1500));
        assert_eq!((p(0.0, 1500), p(0.5, 9000)), (0.0, 1.0));
    }

    #[test]
    fn codes_leave_what_the_binomial_sum_has() {
        // Against a sum of exact fractions: P(more than t of n symbols are wrong).
        let exact = |n: u32, t: u32, ber: f64| {
            let wrong = 1.0 - (1.0 - ber).powi(10);
            let mut term = (1.0 - wrong).powi(n as i32);
            let mut within = term;
            for k in 1..=t {
                term *= f64::from(n - k + 1) / f64::from(k) * wrong / (1.0 - wrong);
                within += term;
            }
            1.0 - within
        };
        for (code, n, t) in [(Code::KR4, 528, 7), (Code::KP4, 544, 15)] {
            for ber in [1e-3, 2e-3, 5e-3] {
                let (a, b) = (code.uncorrected(ber), exact(n, t, ber));
                assert!((a - b).abs() < 1e-9 + 1e-6 * b, "{n} {ber}: {a} {b}");
            }
        }
        // Where so few fail that one minus the rest has no digits left, the first term is nearly
        // all: C(n, t+1) of t+1 symbols.
        for (code, n, t) in [(Code::KR4, 528u32, 7u32), (Code::KP4, 544, 15)] {
            let wrong = 1.0 - (1.0f64 - 1e-5).powi(10);
            let choices: f64 = (0..=t).map(|k| f64::from(n - k) / f64::from(k + 1)).product();
            let first = choices * wrong.powi(t as i32 + 1) * (1.0 - wrong).powi((n - t - 1) as i32);
            let ratio = code.uncorrected(1e-5) / first;
            assert!((1.0..1.01).contains(&ratio), "{n}: {ratio}");
        }
        assert_eq!(Code::KP4.uncorrected(0.0), 0.0);
    }

    fn direction(kind: ErrorKind, frames: HitFrames) -> Direction {
        let errors = LinkErrors { ports: Vec::new(), kind, frames, seen: true };
        Direction::new(7, 3, 0, Arc::new(errors))
    }

    fn data(len: u32) -> Frame {
        Frame::new(FrameKind::Data, FlowId(1), Class(0), len)
    }

    #[test]
    fn chance_has_its_mean() {
        for kind in [
            bits(1e-6, None),
            ErrorKind::Frames { loss: 0.03 },
            ErrorKind::Bursts { to_bad: 0.01, to_good: 0.2, loss_bad: 0.8, loss_good: 0.001 },
        ] {
            let (mut d, n) = (direction(kind.clone(), HitFrames::All), 400_000);
            let hits = (0..n).filter(|_| d.hit(&data(1500)).is_some()).count() as f64;
            let mean = kind.loss(1500).unwrap() * f64::from(n);
            // Bursts of five frames spread more: six times the deviation of independent ones.
            assert!((hits - mean).abs() < 6.0 * 3.0 * mean.sqrt(), "{kind:?}: {hits} for {mean}");
        }
    }

    /// Gilbert's model with loss only in the bad state: bursts are 1/to_good frames long on
    /// average.
    #[test]
    fn bursts_have_their_length() {
        let mut d = direction(
            ErrorKind::Bursts { to_bad: 0.01, to_good: 0.25, loss_bad: 1.0, loss_good: 0.0 },
            HitFrames::All,
        );
        let hits: Vec<bool> = (0..400_000).map(|_| d.hit(&data(100)).is_some()).collect();
        let bursts = hits.windows(2).filter(|w| !w[0] && w[1]).count() as f64;
        let mean = hits.iter().filter(|h| **h).count() as f64 / bursts;
        assert!((mean - 4.0).abs() < 0.15, "{mean}");
    }

    #[test]
    fn only_frames_that_are_meant_are_hit() {
        let control = Frame::control(xoff_mech::flow_control::Message::Custom(1), Class(0), 64);
        let mut d = direction(ErrorKind::Nth(vec![1, 3]), HitFrames::Control);
        let hits: Vec<bool> = [control, data(64), control, control, control]
            .iter()
            .map(|f| d.hit(f).is_some())
            .collect();
        assert_eq!(hits, [true, false, false, true, false]);
        let mut d = direction(ErrorKind::Nth(vec![2]), HitFrames::Flows);
        assert_eq!(
            [control, data(64), data(64)].map(|f| d.hit(&f)),
            [None, None, Some(Hit::Corrupted)]
        );
    }
}
