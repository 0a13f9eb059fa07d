//! The loop: real ports, real time.

use std::fmt;
use std::io;
use std::time::{Duration, Instant};

use xoff_netio::{Port, PortCounters};
use xoff_sim::World;
use xoff_units::{Span, Time};

use crate::clock::{Clock, Gaps};
use crate::machine::{Counters, Link, Machine};

/// Frames taken from a port before the next one has its turn.
const BURST: usize = 64;

/// How a machine is run.
#[derive(Clone, Debug)]
pub struct RunnerConfig {
    /// What the world's clock makes up for at a look.
    pub budget: Duration,
    /// Longest sleep of an idle loop; zero: it never sleeps.
    pub nap: Duration,
    /// The run ends at this time of the world; [`Time::NEVER`]: it does not.
    pub until: Time,
    /// A plain neighbour is listened to as long as the switch holds less from it [bytes].
    pub plain_backlog: u64,
    /// Distance of two reports.
    pub report: Duration,
}

impl Default for RunnerConfig {
    fn default() -> Self {
        RunnerConfig {
            budget: Duration::from_millis(1),
            nap: Duration::from_micros(50),
            until: Time::NEVER,
            plain_backlog: 64 * 1024,
            report: Duration::from_millis(500),
        }
    }
}

/// Why there is no result.
#[derive(Debug)]
pub enum LiveError {
    /// A port failed.
    Port(String, io::Error),
    /// What has to be written could not be.
    Capture(io::Error),
}

impl fmt::Display for LiveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LiveError::Port(name, e) => write!(f, "port {name}: {e}"),
            LiveError::Capture(e) => write!(f, "capture: {e}"),
        }
    }
}
impl std::error::Error for LiveError {}

/// Why it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The time is up.
    TimeUp,
    /// The caller asked for it.
    Asked,
    /// The world ended its run: all flows are complete, or a deadlock was to end it.
    World(xoff_sim::Ended),
}

/// A port with what the kernel says of it.
pub struct Attached {
    /// Which port of which node.
    pub link: Link,
    /// What the machine counted.
    pub counters: Counters,
    /// What the kernel counted.
    pub kernel: PortCounters,
}

/// How things stand.
pub struct Now<'a> {
    /// Time of the world.
    pub time: Time,
    /// Time on the wall since the start.
    pub wall: Duration,
    /// Nodes.
    pub world: &'a mut World,
    /// Ports, in order.
    pub ports: Vec<Attached>,
    /// How regularly the loop looked at the clock.
    pub gaps: &'a Gaps,
    /// What the watchdog has said since the last report.
    pub log: Vec<String>,
}

/// Sees every frame: time, link, inbound, bytes.
pub type Tap<'a> = Box<dyn FnMut(Time, usize, bool, &[u8]) -> io::Result<()> + 'a>;

/// A machine in motion.
pub struct Live<'a> {
    machine: Machine,
    ports: Vec<Box<dyn Port>>,
    c: RunnerConfig,
    tap: Option<Tap<'a>>,
    /// Bytes that a port had no room for yet, in order.
    unsent: Vec<std::collections::VecDeque<Vec<u8>>>,
}

impl<'a> Live<'a> {
    /// A machine whose links are these ports, in the same order.
    pub fn new(machine: Machine, ports: Vec<Box<dyn Port>>, c: RunnerConfig, tap: Option<Tap<'a>>) -> Live<'a> {
        let unsent = ports.iter().map(|_| Default::default()).collect();
        Live { machine, ports, c, tap, unsent }
    }

    /// Runs until the time is up, the world has ended, or `report` says so.
    pub fn run(&mut self, world: &mut World, mut report: impl FnMut(Now) -> bool) -> Result<(Ended, Gaps), LiveError> {
        let started = Instant::now();
        let mut clock = Clock::start(self.c.budget);
        let mut reported = started;
        let ended = loop {
            let now = clock.look().min(self.c.until);
            // At the end nothing is heard any more: the world ends there.
            let heard = if now < self.c.until { self.listen(world, now)? } else { 0 };
            // What came in is a little later than the look, frame by frame.
            let now = now.max(self.machine.heard_last());
            let ended = self.machine.run(world, now);
            let spoken = self.speak(now)?;
            if let Some(e) = ended {
                break Ended::World(e);
            }
            if now >= self.c.until {
                break Ended::TimeUp;
            }
            if reported.elapsed() >= self.c.report {
                reported = Instant::now();
                if !report(self.now(world, now, started.elapsed(), clock.gaps())) {
                    break Ended::Asked;
                }
            }
            if heard == 0 && spoken == 0 {
                self.rest(world, now)?;
            }
        };
        self.drain()?;
        let now = clock.look().min(self.c.until);
        report(self.now(world, now, started.elapsed(), clock.gaps()));
        Ok((ended, clock.gaps().clone()))
    }

    fn now<'n>(&mut self, world: &'n mut World, time: Time, wall: Duration, gaps: &'n Gaps) -> Now<'n> {
        let log = self.machine.take_log();
        let ports = self.machine.links().zip(&mut self.ports);
        let ports =
            ports.map(|((link, counters), port)| Attached { link: link.clone(), counters: *counters, kernel: port.counters() }).collect();
        Now { time, wall, world, ports, gaps, log }
    }

    /// Takes what has come in by every port. Control frames among it take effect before anything is sent.
    fn listen(&mut self, world: &mut World, now: Time) -> Result<usize, LiveError> {
        let mut heard = 0;
        for link in 0..self.ports.len() {
            let mut max = BURST;
            if let Some((node, port)) = self.machine.plain(link) {
                let room = self.c.plain_backlog.saturating_sub(world.held_from(node, port));
                max = max.min((room / 2048) as usize);
            }
            let (machine, tap) = (&mut self.machine, &mut self.tap);
            let mut failed = None;
            let mut each = |bytes: &[u8]| {
                let at = machine.receive(world, now, link, bytes);
                if let Some(tap) = tap {
                    failed = tap(at, link, true, bytes).err().or(failed.take());
                }
            };
            heard += self.ports[link].receive(max, &mut each).map_err(|e| LiveError::Port(self.ports[link].name().into(), e))?;
            if let Some(e) = failed {
                return Err(LiveError::Capture(e));
            }
        }
        Ok(heard)
    }

    fn speak(&mut self, now: Time) -> Result<usize, LiveError> {
        let (ports, tap, unsent) = (&mut self.ports, &mut self.tap, &mut self.unsent);
        let mut failed = None;
        let mut spoken = 0;
        self.machine.depart(now, |at, link, bytes| {
            spoken += 1;
            if let Some(tap) = tap {
                failed = tap(at, link, false, bytes).err().map(LiveError::Capture).or(failed.take());
            }
            let waiting = &mut unsent[link];
            let sent = if waiting.is_empty() { ports[link].send(bytes) } else { Ok(false) };
            match sent {
                Ok(true) => {}
                Ok(false) => waiting.push_back(bytes.to_vec()),
                Err(e) => failed = Some(LiveError::Port(ports[link].name().into(), e)),
            }
        });
        if let Some(e) = failed {
            return Err(e);
        }
        for (port, waiting) in self.ports.iter_mut().zip(&mut self.unsent) {
            // A port that has nothing to send makes no call.
            if let Err(e) = port.flush() {
                return Err(LiveError::Port(port.name().into(), e));
            }
            while let Some(bytes) = waiting.front() {
                match port.send(bytes) {
                    Ok(true) => _ = waiting.pop_front(),
                    Ok(false) => break,
                    Err(e) => return Err(LiveError::Port(port.name().into(), e)),
                }
            }
        }
        Ok(spoken)
    }

    /// What was on its way when the run ended still comes in, and is only counted: what is missing then is lost.
    fn drain(&mut self) -> Result<(), LiveError> {
        const QUIET: Duration = Duration::from_millis(20);
        // A neighbour that goes on sending is not waited for.
        const LONGEST: Duration = Duration::from_millis(200);
        let began = Instant::now();
        let mut last = began;
        while last.elapsed() < QUIET && began.elapsed() < LONGEST {
            for link in 0..self.ports.len() {
                let machine = &mut self.machine;
                let port = &mut self.ports[link];
                port.flush().map_err(|e| LiveError::Port(port.name().into(), e))?;
                let heard = port.receive(BURST, &mut |bytes| machine.count(link, bytes.len()));
                if heard.map_err(|e| LiveError::Port(port.name().into(), e))? > 0 {
                    last = Instant::now();
                }
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    /// Nothing to do: sleeps until a frame comes in or the next thing is due, but not for long.
    fn rest(&mut self, world: &mut World, now: Time) -> Result<(), LiveError> {
        let next = self.machine.next(world).map_or(Span(u64::MAX), |t| Span(t.0.saturating_sub(now.0)));
        let nap = Duration::from_nanos(next.0 / 1000).min(self.c.nap);
        // A shorter one takes longer than it says.
        if nap < Duration::from_micros(5) {
            std::hint::spin_loop();
            return Ok(());
        }
        let ports = self.ports.iter().map(|p| p.as_ref());
        xoff_netio::wait(ports, nap).map(|_| ()).map_err(|e| LiveError::Port("all".into(), e))
    }

    /// The machine.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }
}
