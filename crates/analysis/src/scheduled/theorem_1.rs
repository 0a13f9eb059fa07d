//! Theorem 1 and Corollary 1 of the request-grant paper (RG section 2.4) as a trial: play an
//! admission, measure every buffer and every premise.
//!
//! > Assume a fluid model in which (i) there is a buffer in front of every switch output that can
//! > hold b; (ii) every switch output buffer has a full write bandwidth; (iii) there is no flow
//! > control between adjacent stages; (iv) each output arbiter ensures that no more than b grants
//! > are outstanding; and (v) the traffic is distributed evenly on a per-flow basis over all
//! > possible routes. Then the output buffers in switching elements never overflow.
//! > Corollary 1: with flow control, it is never activated.
//!
//! Why it holds, if "outstanding" means granted and not yet departed from the fabric-output buffer:
//! a buffer of the routing half that leads to g outputs is one of g that share their traffic. If
//! all g are alike at every time, it holds 1/g of the outstanding bytes for each output, and so at
//! most g b/g. This counts and does not use that anything drains: it holds with a stopped host.
//! Three premises are implied:
//!
//! - inputs inject at most at link rate; else the distribution half queues;
//! - the routes of a flow are equally long ([`Premise::EqualLinks`]);
//! - the g buffers serve alike ([`Premise::AlikeService`]); needed from five stages on.
//!
//! Without the last two, (i) to (v) are not enough ([`super::examples::unequal_links`],
//! [`super::examples::unlike_service`]).
//!
//! The paper's outline uses less than (iv): at most T + b granted in any T
//! ([`super::admission::Limit::Envelope`]). That is not enough
//! ([`super::examples::envelope_only`]).

use super::admission::{Admission, Arbiters};
use super::clos::BufferId;
use super::fluid::{Fluid, Injection, TooFine};
use super::network::Network;
use super::rational::Q;

/// Premise of the theorem that a trial can lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Premise {
    /// (i) Every buffer can hold b.
    BufferSize,
    /// (ii) Buffers accept traffic from all inputs of their switch at once.
    FullWriteBandwidth,
    /// (iv) At most b per output granted and not yet departed from its fabric-output buffer.
    Outstanding,
    /// (v) Every flow evenly over all routes.
    EvenSplit,
    /// Implied: no input injects above link rate.
    InputRate,
    /// Implied from five stages on: buffers that share the traffic to an output serve it alike.
    AlikeService,
    /// Implied: the links behind a stage are equally long. (Enough, and a little more than needed:
    /// what counts is that the routes of a flow are.)
    EqualLinks,
}

/// An output whose adapter takes nothing for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped {
    /// Fabric output, from 0.
    pub output: usize,
    /// Beginning [segment times].
    pub from: Q,
    /// End [segment times].
    pub until: Q,
}

/// A network, the traffic admitted to it, and the theorem's b.
#[derive(Clone, Debug)]
pub struct Trial {
    /// Premises (ii), (v), order of service.
    pub network: Network,
    /// The theorem's b [segments].
    pub b: Q,
    /// Size of each buffer [segments]; b in premise (i). Only for [`Report::first_full`]: nothing
    /// is lost.
    pub buffer: Q,
    /// Admitted traffic.
    pub admission: Admission,
    /// Hosts that stop (RG section 4.1).
    pub stopped: Vec<Stopped>,
}

/// A level that a buffer reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peak {
    /// Buffer.
    pub buffer: BufferId,
    /// First time of that level [segment times].
    pub time: Q,
    /// Level [segments].
    pub level: Q,
}

/// A level that an output reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputPeak {
    /// Fabric output, from 0.
    pub output: usize,
    /// First time of that level [segment times].
    pub time: Q,
    /// Level [segments].
    pub level: Q,
}

/// Measurements of a trial. Exact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Highest level of each stage, from the first; of equal ones the earliest.
    pub stages: Vec<Peak>,
    /// Number of them that belong to the distribution half.
    pub distribution_stages: usize,
    /// Most that waited at a switch's inputs for one buffer; zero with full write bandwidth.
    pub waiting: Peak,
    /// First action of flow control: a buffer is full and still filling. Up to then a network with
    /// flow control behaves like this one, so `None` is Corollary 1.
    pub first_full: Option<Peak>,
    /// Most outstanding for one output: premise (iv) as it turned out.
    pub outstanding: OutputPeak,
    /// Largest excess of the bytes admitted to one output in some interval over the bytes that its
    /// link carries in it. At most b is the outline's version of premise (iv). For links that never
    /// stop, (iv) implies it.
    pub burst: OutputPeak,
    /// Highest rate of one input [link rates].
    pub input_rate: Q,
    /// Premises that did not hold.
    pub broken: Vec<Premise>,
    /// The theorem's b [segments].
    pub b: Q,
}

impl Report {
    /// The fullest buffer of the routing half.
    pub fn routing(&self) -> Peak {
        fullest(&self.stages[self.distribution_stages..])
    }

    /// The fullest buffer of the distribution half; `None` where there is none (one stage).
    pub fn distribution(&self) -> Option<Peak> {
        (self.distribution_stages > 0).then(|| fullest(&self.stages[..self.distribution_stages]))
    }

    /// No buffer of the routing half ever held more than b.
    pub fn routing_holds(&self) -> bool {
        self.routing().level <= self.b
    }

    /// No buffer of the distribution half ever held anything.
    pub fn distribution_never_queues(&self) -> bool {
        self.distribution().is_none_or(|p| p.level.is_zero())
    }

    /// All statements: both halves, and flow control that never acts.
    pub fn holds(&self) -> bool {
        self.routing_holds() && self.distribution_never_queues() && self.first_full.is_none()
    }
}

fn fullest(peaks: &[Peak]) -> Peak {
    peaks.iter().skip(1).fold(peaks[0], |best, p| if p.level > best.level { *p } else { best })
}

impl Trial {
    /// Plays the admission to its end.
    ///
    /// # Errors
    /// A level no longer fits into a fraction of 128 bits, and when.
    pub fn run(&self) -> Result<Report, TooFine> {
        let clos = self.network.clos;
        let mut fluid = Fluid::new(self.network.clone());
        let mut meter = Meter::new(self);
        match &self.admission {
            Admission::Script(phases) => {
                for phase in phases {
                    meter.inputs(&phase.flows, clos.ports());
                    fluid.inject(&phase.flows);
                    self.play(&mut fluid, phase.until, &mut meter)?;
                }
            }
            Admission::Arbitrated(rule) => {
                let unreliable =
                    (0..clos.ports()).map(|o| self.stopped.iter().any(|s| s.output == o)).collect();
                let mut arbiters = Arbiters::new(rule, clos, unreliable);
                for n in 1..=rule.epochs {
                    let flows = arbiters.next(&fluid);
                    meter.inputs(&flows, clos.ports());
                    fluid.inject(&flows);
                    self.play(&mut fluid, rule.epoch * Q::int(n.into()), &mut meter)?;
                }
            }
        }
        Ok(meter.report(self))
    }

    /// Advances to `end`, stopping and opening outputs on the way.
    fn play(&self, fluid: &mut Fluid, end: Q, meter: &mut Meter) -> Result<(), TooFine> {
        while fluid.now() < end {
            let now = fluid.now();
            for s in &self.stopped {
                fluid
                    .drain(s.output, if s.from <= now && now < s.until { Q::ZERO } else { Q::ONE });
            }
            let changes = self.stopped.iter().flat_map(|s| [s.from, s.until]).filter(|t| *t > now);
            fluid.advance_to(changes.min().map_or(end, |t| t.min(end)), &mut |f| meter.look(f))?;
        }
        Ok(())
    }
}

/// Peaks as they come.
struct Meter {
    buffers: Vec<BufferId>,
    buffer: Q,
    time: Q,
    levels: Vec<Q>,
    stages: Vec<Peak>,
    waiting: Peak,
    first_full: Option<Peak>,
    outstanding: OutputPeak,
    burst: OutputPeak,
    bursts: Vec<Q>,
    input_rate: Q,
}

impl Meter {
    fn new(trial: &Trial) -> Meter {
        let clos = trial.network.clos;
        let positions = |stage| (0..clos.ports()).map(move |p| clos.buffer_at(stage, p));
        let buffers: Vec<BufferId> = (1..=clos.stages()).flat_map(positions).collect();
        let empty =
            |stage| Peak { buffer: clos.buffer_at(stage, 0), time: Q::ZERO, level: Q::ZERO };
        let none = OutputPeak { output: 0, time: Q::ZERO, level: Q::ZERO };
        Meter {
            levels: vec![Q::ZERO; buffers.len()],
            buffers,
            buffer: trial.buffer,
            time: Q::ZERO,
            stages: (1..=clos.stages()).map(empty).collect(),
            waiting: empty(1),
            first_full: None,
            outstanding: none,
            burst: none,
            bursts: vec![Q::ZERO; clos.ports()],
            input_rate: Q::ZERO,
        }
    }

    fn inputs(&mut self, flows: &[Injection], ports: usize) {
        let mut rates = vec![Q::ZERO; ports];
        flows.iter().for_each(|f| rates[f.input] += f.rate);
        self.input_rate = rates.into_iter().fold(self.input_rate, Q::max);
    }

    /// Called after every stretch in which everything moved in straight lines.
    fn look(&mut self, fluid: &Fluid) {
        let (now, dt) = (fluid.now(), fluid.now() - self.time);
        for (n, &buffer) in self.buffers.iter().enumerate() {
            let (was, level) = (self.levels[n], fluid.backlog(buffer));
            self.levels[n] = level;
            if level > self.stages[buffer.stage - 1].level {
                self.stages[buffer.stage - 1] = Peak { buffer, time: now, level };
            }
            if level > self.buffer && was <= self.buffer {
                let time = self.time + dt * (self.buffer - was) / (level - was);
                if self.first_full.is_none_or(|f| time < f.time) {
                    self.first_full = Some(Peak { buffer, time, level: self.buffer });
                }
            }
            let waiting = fluid.waiting(buffer);
            if waiting > self.waiting.level {
                self.waiting = Peak { buffer, time: now, level: waiting };
            }
        }
        for output in 0..self.bursts.len() {
            let level = fluid.outstanding(output);
            if level > self.outstanding.level {
                self.outstanding = OutputPeak { output, time: now, level };
            }
            // A queue served at link rate holds the largest excess of any interval that ends now.
            let level = Q::ZERO.max(self.bursts[output] + (fluid.admission(output) - Q::ONE) * dt);
            self.bursts[output] = level;
            if level > self.burst.level {
                self.burst = OutputPeak { output, time: now, level };
            }
        }
        self.time = now;
    }

    fn report(self, trial: &Trial) -> Report {
        let net = &trial.network;
        let full_write = net.write.is_none_or(|w| w >= Q::int(net.clos.element() as i128));
        let premises = [
            (Premise::BufferSize, trial.buffer >= trial.b),
            (Premise::FullWriteBandwidth, full_write),
            (Premise::Outstanding, self.outstanding.level <= trial.b),
            (Premise::EvenSplit, net.split.is_even(net.clos)),
            (Premise::InputRate, self.input_rate <= Q::ONE),
            (Premise::AlikeService, net.discipline.is_alike(net.clos)),
            (Premise::EqualLinks, net.has_equal_links()),
        ];
        Report {
            stages: self.stages,
            distribution_stages: net.clos.distribution_stages(),
            waiting: self.waiting,
            first_full: self.first_full,
            outstanding: self.outstanding,
            burst: self.burst,
            input_rate: self.input_rate,
            broken: premises.into_iter().filter(|p| !p.1).map(|p| p.0).collect(),
            b: trial.b,
        }
    }
}
