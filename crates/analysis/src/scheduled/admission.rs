//! Admission to the network: output arbiters that keep a limit, and traffic that requests the worst
//! case.

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

use super::clos::Clos;
use super::fluid::{Fluid, Injection};
use super::rational::Q;

/// Rule of every output arbiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Granted and not yet departed from the fabric-output buffer: at most this [segments]. Premise
    /// (iv).
    Outstanding(Q),
    /// At most T plus this many segments in any interval of T segment times, wherever the traffic
    /// is by then: what the paper's outline of the proof uses of premise (iv), and weaker.
    Envelope(Q),
    /// No limit but that of the inputs.
    None,
}

/// Traffic with constant rates until a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phase {
    /// End of the phase; the first begins at zero [segment times].
    pub until: Q,
    /// All flows of the phase; others are silent.
    pub flows: Vec<Injection>,
}

/// Source of the admitted traffic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Admission {
    /// Given rates. What they keep to is measured, not enforced.
    Script(Vec<Phase>),
    /// Inputs with traffic for everything, held back by the arbiters only.
    Arbitrated(Arbitrated),
}

/// Random and adversarial traffic under a limit. Rates change at the beginning of every epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arbitrated {
    /// Limit that each output arbiter enforces.
    pub limit: Limit,
    /// Seed of everything that is random.
    pub seed: u64,
    /// In how many of eight epochs an input sends to the current hotspot, the outputs behind one
    /// buffer of the routing half: 8 is a pure rush, one hotspot after the other; 0 is uniform
    /// traffic.
    pub hot_eighths: u64,
    /// Length of an epoch [segment times].
    pub epoch: Q,
    /// Number of epochs.
    pub epochs: u64,
}

/// Rates are multiples of 1/GRAIN link rates, so that fractions do not grow from epoch to epoch:
/// the arbiters round the admitted rates down to this grain.
const GRAIN: i128 = 12;
/// A hotspot lasts 1 to this many epochs.
const HOTSPOT_EPOCHS: u64 = 12;

/// The arbiters and inputs of [`Arbitrated`], as they go.
pub(super) struct Arbiters<'a> {
    rule: &'a Arbitrated,
    rng: ChaCha8Rng,
    /// Epochs begun.
    epoch: u64,
    hot: Vec<usize>,
    hot_until: u64,
    /// By output: segments that [`Limit::Envelope`] still allows at once [segments].
    tokens: Vec<Q>,
    /// Outputs whose drain may change within an epoch: nothing is certain to depart there.
    unreliable: Vec<bool>,
}

impl<'a> Arbiters<'a> {
    pub(super) fn new(rule: &'a Arbitrated, clos: Clos, unreliable: Vec<bool>) -> Arbiters<'a> {
        let tokens = match rule.limit {
            Limit::Envelope(burst) => vec![burst; clos.ports()],
            _ => Vec::new(),
        };
        Arbiters {
            rule,
            rng: ChaCha8Rng::seed_from_u64(rule.seed),
            epoch: 0,
            hot: Vec::new(),
            hot_until: 0,
            tokens,
            unreliable,
        }
    }

    /// The flows of the epoch that begins.
    pub(super) fn next(&mut self, fluid: &Fluid) -> Vec<Injection> {
        let clos = fluid.network().clos;
        let n = clos.ports();
        if self.epoch == self.hot_until {
            self.hot = self.hotspot(clos);
            self.hot_until += 1 + self.below(HOTSPOT_EPOCHS);
        }
        let mut allowed: Vec<Q> = (0..n).map(|o| self.allowed(fluid, o).floor_to(GRAIN)).collect();
        let mut flows: Vec<Injection> = Vec::new();
        for turn in 0..n {
            // Another input is first each time.
            let input = (turn + self.epoch as usize) % n;
            let mut left = Q::ONE;
            for output in self.wishes(n) {
                let rate = left.min(allowed[output]);
                if rate.is_positive()
                    && flows
                        .iter()
                        .rev()
                        .take_while(|f| f.input == input)
                        .all(|f| f.output != output)
                {
                    left -= rate;
                    allowed[output] -= rate;
                    flows.push(Injection { input, output, rate });
                }
            }
        }
        self.spend(&flows);
        self.epoch += 1;
        flows
    }

    /// The highest rate towards an output at which its limit is certain to hold for a whole epoch.
    fn allowed(&self, fluid: &Fluid, output: usize) -> Q {
        let clos = fluid.network().clos;
        let h = self.rule.epoch;
        match self.rule.limit {
            Limit::None => Q::int(clos.ports() as i128),
            Limit::Envelope(_) => self.tokens[output] / h + Q::ONE,
            Limit::Outstanding(b) => {
                // A fabric-output buffer that holds an epoch's worth sends at link rate to its end;
                // else nothing is certain.
                let busy = fluid.backlog(clos.buffer_at(clos.stages(), output)) >= h
                    && !self.unreliable[output];
                (b - fluid.outstanding(output)) / h + if busy { Q::ONE } else { Q::ZERO }
            }
        }
    }

    fn spend(&mut self, flows: &[Injection]) {
        if let Limit::Envelope(burst) = self.rule.limit {
            let h = self.rule.epoch;
            flows.iter().for_each(|f| self.tokens[f.output] -= f.rate * h);
            self.tokens.iter_mut().for_each(|t| *t = burst.min(*t + h));
        }
    }

    /// Outputs that an input asks, in order of preference.
    fn wishes(&mut self, n: usize) -> Vec<usize> {
        if self.below(8) < self.rule.hot_eighths {
            let first = self.below(self.hot.len() as u64) as usize;
            return (0..self.hot.len()).map(|k| self.hot[(first + k) % self.hot.len()]).collect();
        }
        (0..1 + self.below(3)).map(|_| self.below(n as u64) as usize).collect()
    }

    fn hotspot(&mut self, clos: Clos) -> Vec<usize> {
        let routing = (clos.stages() - clos.distribution_stages()) as u64;
        let stage = clos.stages() - self.below(routing) as usize;
        let position = self.below(clos.ports() as u64) as usize;
        clos.outputs_behind(clos.buffer_at(stage, position))
    }

    /// A draw in [0, bound), good enough for choosing traffic.
    fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.rng.next_u64()) * u128::from(bound)) >> 64) as u64
    }
}
