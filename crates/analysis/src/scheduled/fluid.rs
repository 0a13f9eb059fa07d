//! An exact solver for the fluid model of Theorem 1: rates are constant between events, queues move
//! in straight lines, and every number is a fraction ([`Q`]). Nothing is rounded and there is no
//! step.
//!
//! ```text
//!   injection -> stage 1 -> ... -> stage 2k-1 -> drain        per stage: [wait for the write bandwidth ->] buffer
//! ```
//!
//! Links have a delay only if [`Network::delays`] says so. There is no flow control (premise iii).
//! With it, the network behaves the same up to the first time at which a buffer is full and still
//! filling; [`Fluid::advance_to`] shows the network at every event, so that this time can be found.
//!
//! Units: time in segment times at link rate, volume in segments, rates in link rates (RG section
//! 2.4).

use std::collections::{BTreeSet, VecDeque};
use std::fmt;
use std::sync::Arc;

use super::clos::BufferId;
use super::network::Network;
use super::rational::Q;
use super::server::{Mix, Server};

/// A value no longer fits into 128 bits: the run is too long or its rates too odd to be solved
/// exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooFine {
    /// Time of the detection; may itself be [`Q::LOST`].
    pub time: Q,
}

impl fmt::Display for TooFine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "at time {} a fraction exceeds 128 bits; use coarser rates or a shorter run",
            self.time
        )
    }
}

impl std::error::Error for TooFine {}

/// A flow and its rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Injection {
    /// Fabric input, from 0.
    pub input: usize,
    /// Fabric output, from 0.
    pub output: usize,
    /// Rate [link rates].
    pub rate: Q,
}

/// A link with a delay: the present rates at its end, and the changes under way.
#[derive(Clone, Debug)]
struct Line {
    delay: Q,
    end: Arc<Mix>,
    coming: VecDeque<(Q, Arc<Mix>)>,
}

/// A network with the fluid in its buffers.
#[derive(Clone, Debug)]
pub struct Fluid {
    net: Network,
    now: Q,
    /// By level (wait and buffer of each stage), then by position.
    levels: Vec<Vec<Server>>,
    /// The links behind the servers, where they have a delay.
    lines: Vec<Vec<Option<Line>>>,
    injected: Vec<Arc<Mix>>,
    /// True if the injection has changed since the last computation of the rates.
    touched: bool,
    /// By output: granted minus departed [segments], and how it changes.
    outstanding: Vec<Q>,
    admission: Vec<Q>,
}

impl Fluid {
    /// An empty network at time zero, with every output open.
    pub fn new(net: Network) -> Fluid {
        let clos = net.clos;
        let n = clos.ports();
        let mut levels = Vec::new();
        for stage in 1..=clos.stages() {
            if let Some(write) = net.write {
                levels.push(vec![Server::new(1, write); n]);
            }
            let buffer = |p: usize| {
                let id = clos.buffer_at(stage, p);
                let ranks: BTreeSet<usize> = clos
                    .outputs_behind(id)
                    .into_iter()
                    .map(|o| net.discipline.rank(clos, id, o))
                    .collect();
                Server::new(ranks.last().map_or(1, |r| r + 1), Q::ONE)
            };
            levels.push((0..n).map(buffer).collect());
        }
        let empty = Arc::new(Mix::EMPTY);
        let mut lines = vec![vec![None; n]; levels.len()];
        for (before, delays) in net.delays.iter().enumerate() {
            for (p, &delay) in delays.iter().enumerate().filter(|d| d.1.is_positive()) {
                lines[level_of(&net, before + 1)][p] =
                    Some(Line { delay, end: empty.clone(), coming: VecDeque::new() });
            }
        }
        let injected = vec![empty; n];
        Fluid {
            net,
            now: Q::ZERO,
            levels,
            lines,
            injected,
            touched: false,
            outstanding: vec![Q::ZERO; n],
            admission: vec![Q::ZERO; n],
        }
    }

    /// Time [segment times].
    pub fn now(&self) -> Q {
        self.now
    }

    /// The network's premises.
    pub fn network(&self) -> &Network {
        &self.net
    }

    /// Sets the rates of all flows from now on; flows that are not named are silent. Inputs are not
    /// held to link rate: that is for the caller to keep, or not. Inputs and outputs are below N.
    pub fn inject(&mut self, flows: &[Injection]) {
        let n = self.net.clos.ports();
        let mut parts = vec![Vec::new(); n];
        self.admission = vec![Q::ZERO; n];
        for f in flows {
            parts[f.input].push(((f.input * n + f.output) as u32, f.rate));
            self.admission[f.output] += f.rate;
        }
        self.injected = parts.into_iter().map(|p| Arc::new(Mix::gather(p))).collect();
        self.touched = true;
        self.settle();
    }

    /// Sets the rate at which the output adapter takes traffic, from now on. 1 unless set; 0 is a
    /// host that has stopped (RG section 4.1).
    pub fn drain(&mut self, output: usize, rate: Q) {
        if let Some(server) = self.levels.last_mut().and_then(|l| l.get_mut(output)) {
            server.stale |= server.capacity != rate;
            server.capacity = rate;
        }
        self.settle();
    }

    /// Contents of a buffer [segments].
    pub fn backlog(&self, buffer: BufferId) -> Q {
        self.levels[level_of(&self.net, buffer.stage)][self.net.clos.position_of(buffer)].backlog()
    }

    /// Traffic that waits at the inputs of a buffer's switch for the buffer's write bandwidth
    /// [segments]; zero where it is full.
    pub fn waiting(&self, buffer: BufferId) -> Q {
        let at = self.net.clos.position_of(buffer);
        if self.net.write.is_some() {
            self.levels[level_of(&self.net, buffer.stage) - 1][at].backlog()
        } else {
            Q::ZERO
        }
    }

    /// Granted to an output and not yet departed from its fabric-output buffer [segments].
    pub fn outstanding(&self, output: usize) -> Q {
        self.outstanding[output]
    }

    /// Rate of all flows towards an output [link rates].
    pub fn admission(&self, output: usize) -> Q {
        self.admission[output]
    }

    /// Rate at which traffic leaves the fabric-output buffer of an output, until the next event
    /// [link rates].
    pub fn departure(&self, output: usize) -> Q {
        self.levels.last().map_or(Q::ZERO, |l| l[output].output.total)
    }

    /// Lets time pass until `end`; `observe` gets the network at every event and at the end. In
    /// between everything moves in straight lines, so highest and lowest levels are among those
    /// seen.
    ///
    /// # Errors
    /// A level no longer fits into a fraction of 128 bits, and when.
    pub fn advance_to(&mut self, end: Q, observe: &mut dyn FnMut(&Fluid)) -> Result<(), TooFine> {
        while self.now < end {
            let mut dt = end - self.now;
            for lasts in self.levels.iter().flatten().filter_map(Server::lasts) {
                // A lost duration sorts last and would be passed over.
                dt = if lasts.fits() {
                    dt.min(lasts)
                } else {
                    return Err(TooFine { time: self.now });
                };
            }
            for line in self.lines.iter().flatten().flatten() {
                dt = line.coming.front().map_or(dt, |change| dt.min(change.0 - self.now));
            }
            for server in self.levels.iter_mut().flatten() {
                server.advance(dt);
            }
            for o in 0..self.outstanding.len() {
                let leaves = self.departure(o);
                self.outstanding[o] += (self.admission[o] - leaves) * dt;
            }
            self.now += dt;
            let fits = self.now.fits() && self.outstanding.iter().all(|q| q.fits());
            if !fits
                || self
                    .levels
                    .iter()
                    .flatten()
                    .any(|s| !s.backlog().fits() || !s.output.total.fits())
            {
                return Err(TooFine { time: self.now });
            }
            self.settle();
            observe(self);
        }
        Ok(())
    }

    /// Works out all rates from the inputs on, where something has changed.
    fn settle(&mut self) {
        let n = self.net.clos.ports();
        let mut changed = vec![std::mem::take(&mut self.touched); n];
        for level in 0..self.levels.len() {
            let (stage, behind_its_wait) = if self.net.write.is_some() {
                (level / 2 + 1, level % 2 == 1)
            } else {
                (level + 1, false)
            };
            for p in (0..n).filter(|_| changed.contains(&true)) {
                let from: Vec<usize> =
                    if behind_its_wait { vec![p] } else { self.inputs_of(stage, p) };
                if from.iter().any(|q| changed[*q]) {
                    let inflow = self.inflow(level, stage, p, &from, behind_its_wait);
                    self.levels[level][p].set_inflow(inflow);
                }
            }
            for (p, changed) in changed.iter_mut().enumerate() {
                *changed = self.levels[level][p].refresh();
                let Some(line) = &mut self.lines[level][p] else { continue };
                if std::mem::take(changed) {
                    line.coming
                        .push_back((self.now + line.delay, self.levels[level][p].output.clone()));
                }
                // Of several changes of one time the last holds.
                while let Some((at, mix)) = line.coming.front()
                    && *at <= self.now
                {
                    line.end = mix.clone();
                    line.coming.pop_front();
                    *changed = true;
                }
            }
        }
    }

    /// The positions that lead into the switch of position `p` behind `stage`.
    fn inputs_of(&self, stage: usize, p: usize) -> Vec<usize> {
        let clos = self.net.clos;
        let d = clos.digit_of_stage(stage);
        (0..clos.element()).map(|v| clos.with_digit(p, d, v)).collect()
    }

    /// Traffic that arrives at a server, by rank.
    fn inflow(
        &self,
        level: usize,
        stage: usize,
        p: usize,
        from: &[usize],
        direct: bool,
    ) -> Vec<Mix> {
        let clos = self.net.clos;
        let n = clos.ports();
        let buffer = clos.buffer_at(stage, p);
        let is_buffer = direct || self.net.write.is_none();
        let mut parts = vec![Vec::new(); self.levels[level][p].ranks()];
        for &q in from {
            let mix = match level.checked_sub(1) {
                None => &self.injected[q],
                Some(before) => self.lines[before][q]
                    .as_ref()
                    .map_or(&self.levels[before][q].output, |line| &line.end),
            };
            for &(class, rate) in &mix.parts {
                let (input, output) = (class as usize / n, class as usize % n);
                let share = if direct {
                    Q::ONE
                } else if clos.routes_in(stage) {
                    if clos.digit(output, clos.digit_of_stage(stage)) == buffer.port {
                        Q::ONE
                    } else {
                        Q::ZERO
                    }
                } else {
                    self.net.split.share(clos, stage, input, output, buffer.port)
                };
                if !share.is_zero() {
                    // Where the input no longer matters, traffic to one output is one class:
                    // shorter mixes, fewer layers.
                    let matters = !clos.routes_in(stage + 1) && stage < clos.stages();
                    let kept = if matters { class } else { output as u32 };
                    let rank =
                        if is_buffer { self.net.discipline.rank(clos, buffer, output) } else { 0 };
                    parts[rank].push((kept, rate * share));
                }
            }
        }
        parts.into_iter().map(Mix::gather).collect()
    }
}

/// The level of a stage's buffers.
fn level_of(net: &Network, stage: usize) -> usize {
    if net.write.is_some() { 2 * stage - 1 } else { stage - 1 }
}

#[cfg(test)]
mod tests {
    use super::super::clos::Clos;
    use super::super::network::{Discipline, Split};
    use super::*;

    fn everything_held(f: &Fluid) -> Q {
        f.levels.iter().flatten().map(Server::backlog).sum()
    }

    /// Traffic that meets everywhere, in networks of every kind: outstanding bytes equal held
    /// bytes, at every event.
    #[test]
    fn nothing_is_lost_or_made() {
        let clos = Clos::new(2, 5).unwrap();
        let theorem = Network::of_the_theorem(clos);
        let ranked = Discipline::Ranked(|_, b, output| (b.switch + output) % 3);
        let networks = [
            Network { split: Split::ByDestination, ..theorem.clone() },
            Network {
                split: Split::Weighted(vec![Q::new(2, 3), Q::new(1, 3)]),
                write: Some(Q::new(5, 4)),
                ..theorem.clone()
            },
            Network { discipline: ranked, ..theorem.clone() },
            theorem,
        ];
        for net in networks {
            let mut f = Fluid::new(net);
            let (mut seen, mut fullest) = (0, Q::ZERO);
            for round in 0..6 {
                let flow = |i: usize| Injection {
                    input: i % 8,
                    output: i * (round + 3) % 8 / 2,
                    rate: Q::new(1 + (i % 2) as i128, 4),
                };
                f.inject(&(0..16).map(flow).collect::<Vec<_>>());
                f.drain(0, if round == 2 { Q::ZERO } else { Q::ONE });
                let end = f.now() + Q::int(2);
                f.advance_to(end, &mut |f| {
                    seen += 1;
                    let outstanding: Q = (0..8).map(|o| f.outstanding(o)).sum();
                    fullest = fullest.max(outstanding);
                    assert_eq!(everything_held(f), outstanding);
                })
                .unwrap();
            }
            assert!(seen >= 10 && fullest > Q::int(8), "{seen} events, at most {fullest} held");
            // Silent, everything leaves.
            f.inject(&[]);
            f.advance_to(Q::int(1000), &mut |_| ()).unwrap();
            assert_eq!(everything_held(&f), Q::ZERO);
        }
    }

    #[test]
    fn traffic_goes_where_it_should() {
        let clos = Clos::new(3, 5).unwrap();
        let mut f = Fluid::new(Network::of_the_theorem(clos));
        let flows: Vec<Injection> = (0..27)
            .map(|input| Injection {
                input,
                output: 26 - input,
                rate: Q::new(1 + input as i128, 27),
            })
            .collect();
        f.inject(&flows);
        // A permutation passes at once: nothing queues, and traffic for an output leaves there at
        // the rate of its entry.
        assert!(
            (0..27).all(|o| f.departure(o) == f.admission(o)
                && f.admission(o) == Q::new(27 - o as i128, 27))
        );
        f.advance_to(Q::ONE, &mut |_| ()).unwrap();
        assert_eq!(everything_held(&f), Q::ZERO);
    }

    #[test]
    fn a_link_with_a_delay_shifts_what_it_carries() {
        // All links of stage 1 three segment times long: traffic that enters until 2 leaves from 3
        // to 7, at link rate.
        let clos = Clos::new(2, 3).unwrap();
        let delay = |b: BufferId| if b.stage == 1 { Q::int(3) } else { Q::ZERO };
        let mut f = Fluid::new(Network::of_the_theorem(clos).with_delays(delay));
        f.inject(&[0, 1].map(|input| Injection { input, output: 0, rate: Q::ONE }));
        let mut outstanding = Vec::new();
        f.advance_to(Q::int(2), &mut |_| ()).unwrap();
        f.inject(&[]);
        f.advance_to(Q::int(9), &mut |f| outstanding.push((f.now(), f.outstanding(0)))).unwrap();
        let at = |time, level| (Q::int(time), Q::int(level));
        assert_eq!(outstanding, [at(3, 4), at(5, 2), at(7, 0), at(9, 0)]);
    }

    #[test]
    fn what_cannot_be_solved_exactly_is_refused() {
        let clos = Clos::new(2, 3).unwrap();
        let mut f = Fluid::new(Network::of_the_theorem(clos));
        let odd = Q::new(1, (1 << 90) + 1);
        f.inject(&[
            Injection { input: 0, output: 0, rate: Q::ONE },
            Injection { input: 1, output: 0, rate: odd },
        ]);
        let refused = f.advance_to(Q::ONE / Q::int((1 << 80) + 7), &mut |_| ());
        assert!(refused.is_err(), "{refused:?}");
    }
}
