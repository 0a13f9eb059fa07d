//! A small network of processes for hours: real frames over cables that lose, double and delay
//! control frames, that go down, and on which frames come that no node sent; neighbours are killed.
//!
//! ```text
//!   H0 == cable 0 == S1 == cable 1 == S2 == cable 2 == H1       H0, H1: new in each round; S2: killed in some; S1 stays
//!   a round: traffic, a fault in the middle of it, no fault at its end; then sent bytes are compared with delivered bytes
//! ```

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

mod cables;
mod nodes;
pub mod report;

use cables::{Cables, Counts, Faults, Link};
use nodes::{CABLES, Counted, H0, H1, Node, S1, S2, Spawn};

use crate::draw::Dice;
use crate::readers::Reader;

const CHAIN: &str = include_str!("chain.toml");
/// Rate of the slowest cable, to say how long traffic takes [bytes/s].
const BOTTLENECK: u64 = 1_250_000;
/// Share of payload in a frame.
const PAYLOAD: f64 = 0.95;
/// A round is over so long after the last data frame, if the last frame of both flows has come to
/// its host.
const QUIET: Duration = Duration::from_millis(300);
/// Else it is over without a data frame for so long. The longest pause of the chain, at 10 Mb/s,
/// lasts 3.4 s, a source may wait for two one after the other, and the clock of a node stops while
/// its process gets no processor.
const STILL: Duration = Duration::from_secs(15);
/// Longest time until a process has its ports open, or has ended: minutes on a machine that has to
/// read the program from the disk again.
const PATIENCE: Duration = Duration::from_secs(240);
/// Longest time that traffic may take beyond five times its own.
const SLOW: Duration = Duration::from_secs(60);

/// Flow controls of a soak, with what their switches need besides the scenario.
pub const KINDS: [(&str, &[&str]); 6] = [
    ("pfc", &[]),
    ("cbfc", &["switch.buffer=400KB"]),
    ("gfc-buffer", &[]),
    ("gfc-time", &[]),
    ("gfc-conceptual", &[]),
    ("pffc", &[]),
];

/// Faults of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    /// Only what cables do to frames.
    Nothing,
    /// A cable goes down three times, without any sign of it.
    Silent,
    /// A cable goes down three times, and its ports have no carrier.
    Carrier,
    /// S2 is killed and started again.
    Killed,
}

/// Possible fates of frames in a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum May {
    /// Nothing: all must be delivered.
    Nothing,
    /// Frames lost that the cables counted as lost, and no others.
    CountedLoss,
    /// Some are lost; traffic must go on afterwards.
    Loss,
}

struct Fault {
    name: &'static str,
    about: &'static str,
    faults: Faults,
    event: Event,
    may: May,
}

const NO: Faults = Faults { doubled: 0, late: 0, late_ms: 0, lost: 0, noise: 0, lies: 0 };

const FAULTS: [Fault; 9] = [
    Fault { name: "none", about: "no fault", faults: NO, event: Event::Nothing, may: May::Nothing },
    Fault {
        name: "doubled",
        about: "half of the control frames arrive twice",
        faults: Faults { doubled: 50, ..NO },
        event: Event::Nothing,
        may: May::Nothing,
    },
    Fault {
        name: "late",
        about: "half of the control frames are late by up to 20 ms, and overtake each other",
        faults: Faults { late: 50, late_ms: 20, ..NO },
        event: Event::Nothing,
        may: May::Nothing,
    },
    Fault {
        name: "lost",
        about: "three of ten control frames are lost, at most two of a kind in a row",
        faults: Faults { lost: 30, ..NO },
        event: Event::Nothing,
        may: May::Nothing,
    },
    Fault {
        name: "noise",
        about: "200 broken frames per second that no node sent",
        faults: Faults { noise: 200, ..NO },
        event: Event::Nothing,
        may: May::Nothing,
    },
    Fault {
        name: "lies",
        about: "20 valid control frames per second, of any content, that no node sent",
        faults: Faults { lies: 20, ..NO },
        event: Event::Nothing,
        may: May::Loss,
    },
    Fault {
        name: "silent",
        about: "the cable between the switches is dead three times, unnoticed",
        faults: NO,
        event: Event::Silent,
        may: May::CountedLoss,
    },
    Fault {
        name: "carrier",
        about: "the cable between the switches loses its carrier three times",
        faults: NO,
        event: Event::Carrier,
        may: May::Loss,
    },
    Fault {
        name: "killed",
        about: "a switch is killed and started again",
        faults: NO,
        event: Event::Killed,
        may: May::Loss,
    },
];

/// Plan of a soak.
pub struct Plan {
    /// The program `xoff`.
    pub program: PathBuf,
    /// For the files of nodes: there, and empty.
    pub folder: PathBuf,
    /// Flow controls, of [`KINDS`].
    pub kinds: Vec<&'static str>,
    /// Faults, by name; empty: all.
    pub faults: Vec<String>,
    /// Settings of all nodes, `KEY=VALUE`.
    pub settings: Vec<String>,
    /// Ends after this time, but each kind has each fault once.
    pub lasting: Duration,
    /// Traffic of a round lasts about so long.
    pub traffic: Duration,
    /// Seed of the random draws.
    pub seed: u64,
}

/// A round, as a line of the ledger.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Round {
    /// The flow control.
    pub kind: String,
    /// The fault.
    pub fault: String,
    /// Duration [s].
    pub seconds: f64,
    /// Bytes that the two flows sent.
    pub sent: [u64; 2],
    /// Bytes of them that were delivered.
    pub delivered: [u64; 2],
    /// Whether no frame may be lost.
    pub lossless: bool,
    /// On the cables.
    pub cables: Counts,
    /// Since the switch that stays was started [s].
    pub age: f64,
    /// Memory at the end of the round [KiB].
    pub memory: u64,
    /// Frames that nodes dropped, by node and reason. Of those that the kernel drops before a
    /// process that does not come in time, the process could know; a frame for which a switch has
    /// no room is a broken promise.
    #[serde(default)]
    pub dropped: BTreeMap<String, u64>,
    /// The longest time for which the clock of a node stopped, because its process got no processor
    /// [s]. A pause is longer by as much.
    #[serde(default)]
    pub stood: f64,
    /// The longest time without a data frame on any cable before the last frame of both flows came
    /// to its host [s].
    #[serde(default)]
    pub still: f64,
    /// Problems found.
    pub problems: Vec<String>,
}

impl Round {
    /// The soak itself lost frames, as its own process came too late: the round shows nothing of
    /// xoff, and restarts.
    pub fn is_void(&self) -> bool {
        self.cables.own_drops > 0
    }
}

/// A soak under way.
struct Soak<'a> {
    plan: &'a Plan,
    spawn: Spawn,
    cables: Cables,
    dice: Dice,
    asked: &'a AtomicBool,
}

/// Names of all faults.
pub fn fault_names() -> impl Iterator<Item = &'static str> {
    FAULTS.iter().map(|f| f.name)
}

/// Runs rounds until the time is over; each goes to `done`. The process is in namespaces of its
/// own. Returns whether it was asked to end.
///
/// # Errors
/// Interfaces or processes that cannot be made, a full disk.
pub fn run(
    plan: &Plan,
    noise: Reader,
    asked: &AtomicBool,
    mut done: impl FnMut(&Round) -> io::Result<()>,
) -> io::Result<bool> {
    let scenario = plan.folder.join("chain.toml");
    std::fs::write(&scenario, CHAIN)?;
    let spawn = Spawn { program: plan.program.clone(), scenario, folder: plan.folder.clone() };
    let cables = Cables::new(CABLES, plan.seed, noise)?;
    let mut soak = Soak { plan, spawn, cables, dice: Dice(!plan.seed), asked };
    let share = plan.lasting / plan.kinds.len().max(1) as u32;
    for kind in &plan.kinds {
        soak.stretch(kind, share, &mut done)?;
        if asked.load(Ordering::Relaxed) {
            return Ok(true);
        }
    }
    Ok(false)
}

impl Soak<'_> {
    /// Rounds with one flow control, and one S1.
    fn stretch(
        &mut self,
        kind: &str,
        lasting: Duration,
        done: &mut impl FnMut(&Round) -> io::Result<()>,
    ) -> io::Result<()> {
        let more = KINDS.iter().find(|k| k.0 == kind).map_or(&[][..], |k| k.1);
        let size = (BOTTLENECK as f64 * PAYLOAD * self.plan.traffic.as_secs_f64()) as u64;
        let mut settings = vec![
            format!("flow_control={kind}"),
            format!("flow[0].size={size}B"),
            format!("flow[1].size={}B", size / 2),
        ];
        settings.extend(more.iter().map(|s| s.to_string()));
        settings.extend(self.plan.settings.iter().cloned());
        let began = Instant::now();
        let mut s1 = self.start(S1, &settings)?;
        let mut s2 = Some(self.start(S2, &settings)?);
        s1.begin();
        s2.iter_mut().for_each(Node::begin);
        let faults: Vec<&Fault> = FAULTS
            .iter()
            .filter(|f| self.plan.faults.is_empty() || self.plan.faults.iter().any(|n| n == f.name))
            .collect();
        let mut rounds = 0;
        while rounds < faults.len() || began.elapsed() < lasting {
            if self.asked.load(Ordering::Relaxed) {
                break;
            }
            let fault = faults[rounds % faults.len()];
            let mut round = self.round(kind, fault, &settings, size, &mut s1, &mut s2)?;
            round.age = began.elapsed().as_secs_f64();
            done(&round)?;
            rounds += usize::from(!round.is_void());
        }
        Ok(())
    }

    /// Starts a node and waits until its ports are open.
    fn start(&mut self, place: nodes::Place, settings: &[String]) -> io::Result<Node> {
        let mut node = self.spawn.start(place, settings)?;
        let from = Instant::now();
        while !node.is_ready() {
            if node.ended() || from.elapsed() > PATIENCE {
                let why = node.report().err().unwrap_or_default();
                return Err(io::Error::other(format!(
                    "{} did not open its ports: {why}",
                    place.name
                )));
            }
            self.cables.carry()?;
        }
        Ok(node)
    }

    /// Counters of a switch; waits until it has counters.
    fn counted(&mut self, switch: &Node) -> io::Result<Counted> {
        let from = Instant::now();
        loop {
            match switch.counted() {
                Err(_) if from.elapsed() < PATIENCE => self.cables.carry()?,
                other => return other,
            }
        }
    }

    #[expect(
        clippy::too_many_lines,
        reason = "a round from start to end: each step needs the processes of all others"
    )]
    fn round(
        &mut self,
        kind: &str,
        fault: &Fault,
        settings: &[String],
        size: u64,
        s1: &mut Node,
        s2: &mut Option<Node>,
    ) -> io::Result<Round> {
        let (mut h1, mut h0) = (self.start(H1, settings)?, self.start(H0, settings)?);
        let before = [Some(self.counted(s1)?), s2.as_ref().map(|s2| self.counted(s2)).transpose()?];
        self.cables.take();
        h1.begin();
        h0.begin();
        let began = Instant::now();
        let mut problems = Vec::new();
        let traffic = self.plan.traffic;
        let part = |of: f64| began + traffic.mul_f64(of);
        // When a cable goes down and comes back, or a switch.
        let mut plan: Vec<(Instant, Instant)> = match fault.event {
            Event::Nothing => vec![],
            Event::Killed => vec![(part(0.3), part(0.4))],
            Event::Silent | Event::Carrier => {
                let times = [0.15, 0.35, 0.55]
                    .map(|at| (part(at), part(at + 0.02 + self.dice.roll(10) as f64 / 100.0)));
                times.to_vec()
            }
        };
        plan.reverse();
        let (from, to) = (part(0.1), part(0.8));
        // From then on nothing is wrong any more.
        let mut healed = if fault.event == Event::Nothing { to } else { began };
        let (mut is_down, mut still) = (false, Duration::ZERO);
        loop {
            self.cables.carry()?;
            let now = Instant::now();
            self.cables.faults =
                if now >= from && now < to { fault.faults } else { Faults::default() };
            if let Some(&(down, up)) = plan.last() {
                if !is_down && now >= down {
                    is_down = true;
                    match fault.event {
                        Event::Killed => s2.take().into_iter().for_each(Node::kill),
                        Event::Silent => self.cables.set(1, Link::Silent)?,
                        _ => self.cables.set(1, Link::NoCarrier)?,
                    }
                }
                if is_down && now >= up {
                    (is_down, healed) = (false, now);
                    plan.pop();
                    match fault.event {
                        Event::Killed => {
                            let mut new = self.start(S2, settings)?;
                            new.begin();
                            *s2 = Some(new);
                        }
                        _ => self.cables.set(1, Link::Up)?,
                    }
                }
            }
            let last =
                self.cables.data.iter().flatten().filter_map(|d| d.at).max().unwrap_or(began);
            let all = self.cables.data[CABLES - 1][1].all && self.cables.data[0][0].all;
            let rest = if all { QUIET } else { STILL };
            if !all {
                still = still.max(now.duration_since(last));
            }
            if now > to && now.duration_since(last) > rest {
                break;
            }
            if now.duration_since(began) > traffic * 5 + SLOW {
                problems.push("traffic has not ended after five times its time".to_owned());
                break;
            }
            if s1.ended() || s2.as_mut().is_some_and(Node::ended) {
                problems.push("a switch has ended by itself".to_owned());
                break;
            }
        }
        let data = self.cables.data.clone();
        let delivered_after = data[CABLES - 1][1].at.is_some_and(|last| last > healed);
        // A receiver delivers no byte behind a gap, so frames are counted, where they leave hosts
        // and where they come to hosts.
        let of = |cable: usize, to: usize| data[cable][to].frames;
        let gone = (of(0, 1) + of(CABLES - 1, 0)).saturating_sub(of(0, 0) + of(CABLES - 1, 1));
        [&h0, &h1].into_iter().for_each(Node::interrupt);
        let asked = Instant::now();
        while !(h0.ended() && h1.ended()) && asked.elapsed() < PATIENCE {
            self.cables.carry()?;
        }
        let counts = self.cables.take();
        let (mut dropped, mut stood) = (BTreeMap::new(), 0.0f64);
        for (switch, before) in
            [Some(&*s1), s2.as_ref()].into_iter().flatten().zip(before.iter().flatten())
        {
            let now = self.counted(switch)?;
            // One that was started again counts from zero again.
            stood = stood.max(if now.stood < before.stood {
                now.stood
            } else {
                now.stood - before.stood
            });
            for (reason, n) in now.dropped {
                let n =
                    n.checked_sub(before.dropped.get(&reason).copied().unwrap_or(0)).unwrap_or(n);
                if n > 0 {
                    dropped.insert(reason, n);
                }
            }
        }
        let reports = [h0.report(), h1.report()];
        stood = reports.iter().flatten().map(|r| r.real.left_out_seconds).fold(stood, f64::max);
        problems.extend(
            [Some(&h0), Some(&h1), Some(&*s1), s2.as_ref()]
                .into_iter()
                .flatten()
                .filter_map(Node::panicked),
        );
        problems.extend(reports.iter().filter_map(|r| r.as_ref().err().cloned()));
        let of = |host: usize,
                  flow: usize,
                  what: fn(&xoff_real::testbed::protocol::FlowReport) -> u64| {
            reports[host]
                .as_ref()
                .ok()
                .and_then(|r| r.flows.iter().find(|f| f.flow == flow))
                .map_or(0, what)
        };
        let (sent, delivered) = (
            [of(0, 0, |f| f.sent), of(1, 1, |f| f.sent)],
            [of(1, 0, |f| f.delivered), of(0, 1, |f| f.delivered)],
        );
        let missing = (sent[0] + sent[1]).saturating_sub(delivered[0] + delivered[1]);
        if sent != [size, size / 2] {
            problems.push(format!(
                "{} and {} of {size} and {} bytes were sent: a source is still held",
                sent[0],
                sent[1],
                size / 2
            ));
        }
        match fault.may {
            May::Nothing if missing > 0 => {
                problems.push(format!("{missing} bytes are lost, and none may be"))
            }
            May::CountedLoss if gone != counts.data_lost => {
                problems.push(format!(
                    "{gone} frames are lost, and the dead cable took {}",
                    counts.data_lost
                ));
            }
            May::Loss if !delivered_after => {
                problems.push("nothing was delivered after the fault".to_owned())
            }
            _ => {}
        }
        for report in reports.iter().flatten() {
            let kernel: u64 = report.real.ports.iter().map(|p| p.kernel_drops).sum();
            for (reason, n) in [("kernel", kernel), ("memory", report.dropped_frames)]
                .into_iter()
                .filter(|d| d.1 > 0)
            {
                dropped.insert(format!("{} {reason}", report.node), n);
            }
        }
        if counts.own_drops > 0 {
            // The process came too late to its own cables: no node could know of the missing
            // frames.
            problems.retain(|p| p.contains("panicked"));
        } else if !problems.is_empty() {
            let at = |what: String| {
                if what.is_empty() { "nowhere that is counted".into() } else { what }
            };
            let places = at(dropped
                .iter()
                .map(|(place, n)| format!("{place} {n}"))
                .collect::<Vec<_>>()
                .join(", "));
            problems.push(format!(
                "frames were dropped at: {places}; the soak was away for {} ms at most, and the clock of a node stood still for {stood:.1} s",
                counts.away_ms
            ));
        }
        let memory = s1.memory().unwrap_or(0);
        let (kind, name) = (kind.to_owned(), fault.name.to_owned());
        let lossless = fault.may == May::Nothing;
        let seconds = began.elapsed().as_secs_f64();
        Ok(Round {
            kind,
            fault: name,
            seconds,
            sent,
            delivered,
            lossless,
            cables: counts,
            age: 0.0,
            memory,
            dropped,
            stood,
            still: still.as_secs_f64(),
            problems,
        })
    }
}
