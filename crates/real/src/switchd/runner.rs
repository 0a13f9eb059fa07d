//! The loop: real ports, real time.

use std::fmt;
use std::io;
use std::time::{Duration, Instant};

use crate::netio::{Carrier, Port, PortCounters};
use xoff_sim::World;
use xoff_units::{PortId, Span, Time};

use crate::switchd::clock::{Clock, Gaps};
use crate::switchd::machine::{Counters, Link, Machine, Outage};
use crate::switchd::record::{Recording, Tap};

/// Interval between two polls of the links.
const LOOK: Duration = Duration::from_millis(20);
/// Frames taken from a port before the next one has its turn.
const BURST: usize = 64;

/// Settings of a machine's loop.
#[derive(Clone, Debug)]
pub struct RunnerConfig {
    /// Largest advance of the world's clock at a poll.
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

/// Reason for a missing result.
#[derive(Debug)]
pub enum LiveError {
    /// A port failed.
    Port(String, io::Error),
    /// The capture could not be written.
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

/// Reason for the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The time is up.
    TimeUp,
    /// The caller asked for it.
    Asked,
    /// The world ended its run: all flows are complete, or a deadlock was to end it.
    World(xoff_sim::Ended),
}

/// A port with the kernel's report on it.
pub struct Attached {
    /// Port of a node.
    pub link: Link,
    /// Counters of the machine.
    pub counters: Counters,
    /// Times without a link.
    pub outages: Vec<Outage>,
    /// Counters of the kernel.
    pub kernel: PortCounters,
}

/// Present state of the run.
pub struct Now<'a> {
    /// Time of the world.
    pub time: Time,
    /// Time on the wall since the start.
    pub wall: Duration,
    /// The nodes.
    pub world: &'a mut World,
    /// Ports, in order.
    pub ports: Vec<Attached>,
    /// Regularity of the loop's clock readings.
    pub gaps: &'a Gaps,
    /// Log entries of the watchdog since the last report.
    pub log: Vec<String>,
}

/// A machine in motion.
pub struct Live<'a> {
    machine: Machine,
    ports: Vec<Box<dyn Port>>,
    c: RunnerConfig,
    tap: Option<Recording<'a>>,
    /// Last poll of the links.
    looked: Instant,
    /// Bytes that a port had no room for yet, in order.
    unsent: Vec<std::collections::VecDeque<Vec<u8>>>,
}

impl<'a> Live<'a> {
    /// A machine whose links are these ports, in the same order.
    pub fn new(
        machine: Machine,
        ports: Vec<Box<dyn Port>>,
        c: RunnerConfig,
        tap: Option<Tap<'a>>,
    ) -> Live<'a> {
        let unsent = ports.iter().map(|_| Default::default()).collect();
        Live { machine, ports, c, tap: tap.map(Recording::new), looked: Instant::now(), unsent }
    }

    /// Runs until the time is up, the world has ended, or `report` stops it.
    pub fn run(
        &mut self,
        world: &mut World,
        mut report: impl FnMut(Now) -> bool,
    ) -> Result<(Ended, Gaps), LiveError> {
        let started = Instant::now();
        let mut clock = Clock::start(self.c.budget);
        let mut reported = started;
        let ended = loop {
            let now = clock.look().min(self.c.until);
            if self.looked.elapsed() >= LOOK {
                self.look_at_ports(world, now);
            }
            // At the end nothing is received any more: the world ends there.
            let (received, trouble) =
                if now < self.c.until { self.listen(world, now)? } else { (0, false) };
            // What came in is a little later than the poll, frame by frame.
            let now = now.max(self.machine.received_last());
            let ended = self.machine.run(world, now);
            let (transmitted, trouble_sending) = self.transmit(now)?;
            if trouble || trouble_sending {
                self.look_at_ports(world, now);
            }
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
            if received == 0 && transmitted == 0 {
                self.rest(world, now);
            }
        };
        self.drain();
        let now = clock.look().min(self.c.until);
        report(self.now(world, now, started.elapsed(), clock.gaps()));
        Ok((ended, clock.gaps().clone()))
    }

    fn now<'n>(
        &mut self,
        world: &'n mut World,
        time: Time,
        wall: Duration,
        gaps: &'n Gaps,
    ) -> Now<'n> {
        let log = self.machine.take_log();
        let ports = self.machine.links().zip(&mut self.ports);
        let ports = ports
            .map(|((link, counters, outages), port)| Attached {
                link: link.clone(),
                counters: *counters,
                outages: outages.to_vec(),
                kernel: port.counters(),
            })
            .collect();
        Now { time, wall, world, ports, gaps, log }
    }

    /// Polls every port for its link, and reports changes to the machine. Ports that do not know
    /// are left alone.
    fn look_at_ports(&mut self, world: &mut World, now: Time) {
        self.looked = Instant::now();
        let now = now.max(self.machine.received_last());
        for link in 0..self.ports.len() {
            let carrier = self.ports[link].carrier();
            match (carrier, self.machine.is_down(link)) {
                (Carrier::Down(why), false) => {
                    self.machine.run(world, now);
                    let waiting = std::mem::take(&mut self.unsent[link]);
                    let unsent = self.ports[link].clear() + waiting.len() as u64;
                    self.machine.link_down(world, now, link, unsent);
                    let text = format!(
                        "port {} went down at {now}: {why}; frames to it are dropped",
                        self.name(link)
                    );
                    self.machine.log_line(text);
                }
                (Carrier::Up, true) => {
                    self.machine.run(world, now);
                    self.machine.link_up(world, now, link);
                    self.machine.log_line(format!("port {} is up again at {now}", self.name(link)));
                }
                _ => {}
            }
        }
    }

    /// A port in messages: `S1->H0 (eth1)`.
    fn name(&self, link: usize) -> String {
        let of = self.machine.links().nth(link).map_or("", |(l, ..)| &l.name);
        format!("{of} ({})", self.ports[link].name())
    }

    /// Meaning of an error on a port: the link is gone, which [`Live::look_at_ports`] is to find
    /// out (true), or the run cannot continue.
    fn trouble(&mut self, link: usize, e: io::Error) -> Result<bool, LiveError> {
        match self.ports[link].carrier() {
            Carrier::Unknown => Err(LiveError::Port(self.name(link), e)),
            // It may have been down briefly.
            Carrier::Up | Carrier::Down(_) => Ok(true),
        }
    }

    /// Takes received frames of every port. Control frames among them take effect before anything
    /// is sent. Returns how many frames came, and whether a port is in trouble.
    fn listen(&mut self, world: &mut World, now: Time) -> Result<(usize, bool), LiveError> {
        let (mut received, mut trouble) = (0, false);
        for link in 0..self.ports.len() {
            if self.machine.is_down(link) {
                continue;
            }
            let mut max = BURST;
            if let Some((node, port)) = self.machine.plain(link) {
                let room =
                    self.c.plain_backlog.saturating_sub(world.held_from(PortId { node, port }));
                max = max.min((room / 2048) as usize);
            }
            let (machine, tap) = (&mut self.machine, &mut self.tap);
            let mut each = |bytes: &[u8]| {
                let at = machine.receive(world, now, link, bytes);
                if let Some(tap) = tap {
                    tap.came_in(at, link, bytes);
                }
            };
            match self.ports[link].receive(max, &mut each) {
                Ok(n) => received += n,
                Err(e) => trouble |= self.trouble(link, e)?,
            }
        }
        Ok((received, trouble))
    }

    /// Sends frames that are due on the wire. Returns their number, and whether a port has an
    /// error.
    fn transmit(&mut self, now: Time) -> Result<(usize, bool), LiveError> {
        let (ports, tap, unsent) = (&mut self.ports, &mut self.tap, &mut self.unsent);
        let mut failed = Vec::new();
        let mut transmitted = 0;
        self.machine.depart(now, |at, link, bytes| {
            transmitted += 1;
            if let Some(tap) = tap {
                tap.goes_out(at, link, bytes);
            }
            let waiting = &mut unsent[link];
            let sent = if waiting.is_empty() { ports[link].send(bytes) } else { Ok(false) };
            if sent.as_ref().is_ok_and(|&sent| sent) {
                return;
            }
            waiting.push_back(bytes.to_vec());
            failed.extend(sent.err().map(|e| (link, e)));
        });
        if let Some(tap) = tap {
            tap.end_of_round().map_err(LiveError::Capture)?;
        }
        for (link, (port, waiting)) in self.ports.iter_mut().zip(&mut self.unsent).enumerate() {
            // A port that has nothing to send makes no call.
            let mut flushed = port.flush();
            while let (Ok(()), Some(bytes)) = (&flushed, waiting.front()) {
                match port.send(bytes) {
                    Ok(true) => _ = waiting.pop_front(),
                    Ok(false) => break,
                    Err(e) => flushed = Err(e),
                }
            }
            failed.extend(flushed.err().map(|e| (link, e)));
        }
        let mut trouble = false;
        for (link, e) in failed {
            trouble |= self.trouble(link, e)?;
        }
        Ok((transmitted, trouble))
    }

    /// Receives the frames in transit at the end of the run, and only counts them. Frames that are
    /// still missing then are lost.
    fn drain(&mut self) {
        const QUIET: Duration = Duration::from_millis(20);
        // A neighbour that keeps sending is not waited for.
        const LONGEST: Duration = Duration::from_millis(200);
        let began = Instant::now();
        let mut last = began;
        while last.elapsed() < QUIET && began.elapsed() < LONGEST {
            for link in 0..self.ports.len() {
                let machine = &mut self.machine;
                let port = &mut self.ports[link];
                // A port that has gone down brings nothing more, and takes nothing.
                let _ = port.flush();
                if port.receive(BURST, &mut |bytes| machine.count(link, bytes.len())).unwrap_or(0)
                    > 0
                {
                    last = Instant::now();
                }
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Nothing to do: sleeps until a frame comes in or the next thing is due, but not for long. A
    /// port with an error is found when it is asked for frames.
    fn rest(&mut self, world: &mut World, now: Time) {
        let next =
            self.machine.next(world).map_or(Span(u64::MAX), |t| Span(t.0.saturating_sub(now.0)));
        let nap = Duration::from_nanos(next.0 / 1000).min(self.c.nap);
        // A shorter one takes longer than announced.
        if nap < Duration::from_micros(5) {
            std::hint::spin_loop();
            return;
        }
        let up = (0..self.ports.len()).filter(|&link| !self.machine.is_down(link));
        if crate::netio::wait(up.map(|link| self.ports[link].as_ref()), nap).is_err() {
            self.looked = Instant::now() - LOOK;
        }
    }
}
