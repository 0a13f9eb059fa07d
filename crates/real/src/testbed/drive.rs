//! A scenario in real time on given ports: tables like a simulation's, and facts that only real
//! frames show.

use std::fmt;
use std::io;
use std::time::{Duration, Instant};

use crate::netio::{Port, PortCounters};
use crate::switchd::{Attached, Ended, Gaps, Link, Live, LiveError, Outage, RunnerConfig};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_record::Sink;
use xoff_record::verdict::{Loss, Losses};
use xoff_run::{Finished, NetworkScenario, Page, RunError, Running};
use xoff_sim::World;
use xoff_units::{NodeId, Time};

use crate::testbed::wiring::{self, Real};

/// Reason for a missing result.
#[derive(Debug)]
pub enum DriveError {
    /// The scenario, or its tables.
    Run(RunError),
    /// Ports or the capture.
    Live(LiveError),
}

impl fmt::Display for DriveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DriveError::Run(e) => fmt::Display::fmt(e, f),
            DriveError::Live(e) => fmt::Display::fmt(e, f),
        }
    }
}
impl std::error::Error for DriveError {}

/// A port after a run.
#[derive(Clone, Debug, JsonSchema, Serialize, Deserialize)]
pub struct PortReport {
    /// Name.
    pub port: String,
    /// Frames that came in.
    pub received: u64,
    /// Frames that the kernel took to send.
    pub sent: u64,
    /// Control frames among those that came in.
    pub control_received: u64,
    /// Control frames among those that went out.
    pub control_sent: u64,
    /// Refused: malformed, not configured, or of an unknown flow.
    pub refused: u64,
    /// Malformed frames among those.
    pub malformed: u64,
    /// Control frames among those that are not configured.
    pub unexpected: u64,
    /// Frames to an address that is in no table, or to the port that they came from.
    pub no_route: u64,
    /// Lost in the kernel's ring because the process was not scheduled for too long.
    pub kernel_drops: u64,
    /// Given up because the kernel would not send them.
    pub send_errors: u64,
    /// Not yet taken by the kernel at the end.
    pub unsent: u64,
    /// Frames without a checksum, because the sender's stack left it to hardware.
    pub checksums_completed: u64,
    /// Longer than the MTU allows: an offload of the neighbour's.
    pub too_long: u64,
    /// Pauses without end that the watchdog found.
    pub storms: u64,
    /// Frames that it threw away.
    pub thrown_away: u64,
    /// Control frames refused because a newer one had come before.
    pub stale: u64,
    /// Control frames with impossible values, such as credits for more than the buffer; the node
    /// assumed the safe case.
    pub impossible: u64,
    /// Data frames dropped because the port was down.
    pub port_down: u64,
    /// Number of times that the port went down.
    pub downs: u64,
    /// Outages, the first thousand.
    pub outages: Vec<OutageReport>,
}

/// A time in which a port was down, by the node's clock.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct OutageReport {
    /// From then on [s].
    pub from_seconds: f64,
    /// Until then [s]; null: to the end of the run.
    pub until_seconds: Option<f64>,
}

/// Facts that only real frames show.
#[derive(Clone, Debug, JsonSchema, Serialize, Deserialize)]
pub struct RealReport {
    /// Time on the wall [s].
    pub wall_seconds: f64,
    /// Time in which the process was not scheduled and the virtual clock stopped [s].
    pub left_out_seconds: f64,
    /// The longest time between two polls [us].
    pub gap_longest_us: f64,
    /// The time that 99 of 100 gaps stayed below [us].
    pub gap_p99_us: f64,
    /// Frames sent that the other end never saw; null: the other ends are not here.
    pub lost_on_wire: Option<i64>,
    /// Ports in order.
    pub ports: Vec<PortReport>,
    /// Lines of the watchdog.
    pub log: Vec<String>,
}

impl RealReport {
    /// Frames that did not arrive, of those causes that only real frames have. A port's counter
    /// that is new does not compile before it has its place here.
    pub fn losses(&self) -> Losses {
        let on_wire = self.lost_on_wire.unwrap_or(0).max(0) as u64;
        let mut all = Losses::of([(Loss::OnWire, on_wire)]);
        self.ports.iter().for_each(|p| all.merge(&p.losses()));
        all
    }

    /// Whether any frame arrived or left.
    pub fn moved_any(&self) -> bool {
        self.ports.iter().any(|p| p.received + p.sent > 0)
    }

    /// Frames lost in the kernel's rings.
    pub fn kernel_drops(&self) -> u64 {
        self.ports.iter().map(|p| p.kernel_drops).sum()
    }

    /// Advice about the neighbours' offloads and the rings from the counts, with the commands that
    /// help.
    pub fn advice(&self, interfaces: &[String]) -> Vec<String> {
        let of = |(p, interface): (&PortReport, &String)| {
            let (kernel_drops, checksums_completed, too_long) =
                (p.kernel_drops, p.checksums_completed, p.too_long);
            PortCounters { kernel_drops, checksums_completed, too_long, ..PortCounters::default() }
                .advice(interface)
        };
        self.ports.iter().zip(interfaces).filter_map(of).collect()
    }

    fn new(
        s: &NetworkScenario,
        ports: &[Attached],
        wall: Duration,
        gaps: &Gaps,
        log: Vec<String>,
    ) -> RealReport {
        RealReport {
            wall_seconds: wall.as_secs_f64(),
            left_out_seconds: gaps.left_out.as_secs_f64(),
            gap_longest_us: gaps.longest.as_secs_f64() * 1e6,
            gap_p99_us: gaps.quantile(0.99).as_secs_f64() * 1e6,
            lost_on_wire: lost(s, ports),
            ports: ports.iter().map(port).collect(),
            log,
        }
    }
}

impl PortReport {
    fn losses(&self) -> Losses {
        let &PortReport {
            port: _,
            received: _,
            sent: _,
            control_received: _,
            control_sent: _,
            refused,
            malformed,
            unexpected,
            no_route,
            kernel_drops,
            send_errors,
            unsent,
            checksums_completed: _,
            too_long,
            storms: _,
            thrown_away: _, // the world has counted them
            stale,
            impossible,
            port_down,
            downs: _,
            outages: _,
        } = self;
        Losses::of([
            (Loss::KernelRing, kernel_drops),
            (Loss::KernelRefused, send_errors),
            (Loss::Unsent, unsent),
            (Loss::TooLong, too_long),
            (Loss::Malformed, malformed),
            (Loss::Unexpected, unexpected),
            (Loss::UnknownFlow, refused - malformed - unexpected),
            (Loss::UnknownAddress, no_route),
            (Loss::Stale, stale),
            (Loss::Impossible, impossible),
            (Loss::FailedPort, port_down),
        ])
    }
}

fn port(a: &Attached) -> PortReport {
    let (c, k) = (&a.counters, &a.kernel);
    PortReport {
        port: a.link.name.clone(),
        received: c.received,
        sent: k.sent,
        control_received: c.control_received,
        control_sent: c.control_sent,
        refused: c.malformed + c.unexpected + c.strange,
        malformed: c.malformed,
        unexpected: c.unexpected,
        no_route: c.no_route,
        kernel_drops: k.kernel_drops,
        send_errors: k.send_errors,
        unsent: c.departed.saturating_sub(k.sent + k.send_errors),
        checksums_completed: k.checksums_completed,
        too_long: k.too_long,
        storms: c.storms,
        thrown_away: c.thrown_away,
        stale: c.stale,
        impossible: c.impossible,
        port_down: c.port_down,
        downs: c.downs,
        outages: a.outages.iter().map(outage).collect(),
    }
}

fn outage(o: &Outage) -> OutageReport {
    OutageReport {
        from_seconds: o.from.as_secs_f64(),
        until_seconds: o.until.map(Time::as_secs_f64),
    }
}

/// Frames sent by one end of a link and not received by the other, over all links with both ends
/// here. Unknown frames on one link, such as frames of the kernel, do not make up for frames lost
/// on another.
fn lost(s: &NetworkScenario, ports: &[Attached]) -> Option<i64> {
    let find =
        |node: NodeId, port: u16| ports.iter().find(|a| (a.link.node, a.link.port) == (node, port));
    let pairs: Vec<_> = ports
        .iter()
        .filter_map(|a| {
            let far = s.topology.nodes[a.link.node.index()].ports[a.link.port as usize];
            find(far.peer, far.peer_port).map(|b| (a, b))
        })
        .collect();
    let lost = |a: &Attached, b: &Attached| {
        a.kernel
            .sent
            .saturating_sub(b.counters.received + b.kernel.kernel_drops + b.kernel.too_long)
    };
    (!pairs.is_empty()).then(|| pairs.iter().map(|(a, b)| lost(a, b) as i64).sum())
}

/// Callbacks of a run.
pub struct Drive<'a> {
    /// Clock, naps, reports.
    pub runner: RunnerConfig,
    /// Forwarding and repetition.
    pub real: Real,
    /// Sees every frame.
    pub tap: Option<crate::switchd::Tap<'a>>,
    /// Draws the page that goes next to the tables.
    pub page: Option<Page<'a>>,
}

/// Time between two polls that a page shows; doubled whenever every other look goes.
const LOOKS_APART: Duration = Duration::from_millis(250);

/// Progress of a run.
pub struct Look<'a> {
    /// Time of the world, and when it ends.
    pub time: Time,
    /// End of the run.
    pub until: Time,
    /// Deadlocks found.
    pub deadlocks: usize,
    /// Ports, in order.
    pub ports: &'a [Attached],
    /// Regularity of the loop's clock readings.
    pub gaps: &'a Gaps,
    /// New log entries of the watchdog.
    pub log: &'a [String],
    /// By port: bytes that wait in a switch for this port [bytes].
    pub queues: Vec<u64>,
    /// The nodes; none in tests that need only counters.
    pub world: Option<&'a World>,
    /// By port: frames that a node dropped when they came in by it, for want of memory or of a
    /// route.
    pub drops: Vec<u64>,
}

/// Decision after a poll of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Continue.
    On,
    /// Stop early, because the run has achieved its purpose.
    Done,
    /// The user stops it.
    Stop,
}

impl From<bool> for Next {
    /// True: it continues; false: the user stops it.
    fn from(on: bool) -> Next {
        if on { Next::On } else { Next::Stop }
    }
}

/// Runs those nodes of a scenario that are `here` on real ports, one for each of [`wiring::links`],
/// until its duration is over or `look` stops it. Tables and manifest go into `sink` as those of a
/// simulation do.
pub fn drive<'s, N: Into<Next>>(
    s: &'s NetworkScenario,
    here: Vec<bool>,
    links: Vec<Link>,
    ports: Vec<Box<dyn Port>>,
    sink: Sink,
    mut d: Drive<'s>,
    mut look: impl FnMut(&Look) -> N,
) -> Result<(Finished, RealReport), DriveError> {
    let mut running: Running = s.start_outside(sink, here).map_err(DriveError::Run)?;
    if let Some(page) = d.page.take() {
        running = running.with_page(page);
    }
    let (world, mut course) = running.world_and_course();
    let (mut looked, mut apart) = (Instant::now(), LOOKS_APART);
    let mut noted = |l: &Look| {
        if let (Some(course), Some(world)) = (&mut course, l.world)
            && looked.elapsed() >= apart
        {
            looked = Instant::now();
            let before = course.looks.len();
            course.note(world);
            apart *= 1 + u32::from(course.looks.len() < before);
        }
        look(l).into()
    };
    let (ended, real) = real_time(s, world, links, ports, d, &mut noted)?;
    if let (world, Some(course)) = running.world_and_course() {
        course.end(world);
    }
    let finished = running.finish_judged(ended, |parts| {
        parts.losses.merge(&real.losses());
        if !real.moved_any() {
            parts.nothing_ran = Some("no frame arrived or was sent".into());
        } else if parts.work.total == 0 {
            parts.nothing_ran = None; // others' frames, not those of flows
        }
    });
    Ok((finished.map_err(DriveError::Run)?, real))
}

/// Runs a world in real time on its ports.
fn real_time(
    s: &NetworkScenario,
    world: &mut World,
    links: Vec<Link>,
    ports: Vec<Box<dyn Port>>,
    d: Drive,
    look: &mut dyn FnMut(&Look) -> Next,
) -> Result<(xoff_sim::Ended, RealReport), DriveError> {
    let machine = wiring::machine(s, links, &d.real, world);
    let mut live = Live::new(machine, ports, d.runner.clone(), d.tap);
    let (mut last, mut log, mut next) = (None, Vec::new(), Next::On);
    let (ended, gaps) = live
        .run(world, |now| {
            log.extend(now.log.iter().cloned());
            let deadlocks = now.world.deadlocks().len();
            let at = |of: fn(&xoff_sim::World, xoff_units::PortId) -> u64| {
                now.ports.iter().map(|a| of(now.world, a.link.at())).collect()
            };
            let (queues, drops) =
                (at(xoff_sim::World::waiting_at), at(xoff_sim::World::dropped_at));
            let (time, until, log) = (now.time, d.runner.until, &now.log);
            next = look(&Look {
                time,
                until,
                deadlocks,
                ports: &now.ports,
                gaps: now.gaps,
                log,
                world: Some(&*now.world),
                queues,
                drops,
            });
            last = Some((now.ports, now.wall));
            next == Next::On
        })
        .map_err(DriveError::Live)?;
    let (ports, wall) = last.unwrap_or_default();
    let ended = match ended {
        Ended::TimeUp => xoff_sim::Ended::TimeUp,
        Ended::Asked if next == Next::Done => xoff_sim::Ended::TimeUp,
        Ended::Asked => xoff_sim::Ended::Interrupted,
        Ended::World(e) => e,
    };
    Ok((ended, RealReport::new(s, &ports, wall, &gaps, log)))
}

impl From<io::Error> for DriveError {
    fn from(e: io::Error) -> DriveError {
        DriveError::Live(LiveError::Capture(e))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(
        lost_on_wire: Option<i64>,
        counters: crate::switchd::Counters,
        kernel: PortCounters,
    ) -> RealReport {
        let link = Link { node: NodeId(0), port: 0, name: "S1->H1".into(), plain: false };
        RealReport {
            wall_seconds: 1.0,
            left_out_seconds: 0.0,
            gap_longest_us: 0.0,
            gap_p99_us: 0.0,
            lost_on_wire,
            ports: vec![port(&Attached { link, counters, outages: Vec::new(), kernel })],
            log: Vec::new(),
        }
    }

    /// One frame lost anywhere outside of the nodes is enough, each counter alone; and none is
    /// none.
    #[test]
    fn a_frame_lost_anywhere_counts() {
        use crate::switchd::Counters as C;
        let (c, k) = (C::default(), PortCounters::default());
        for well in [
            report(None, c, k),
            report(Some(0), c, k),
            report(Some(0), C { departed: 9, received: 9, ..c }, PortCounters { sent: 9, ..k }),
        ] {
            assert_eq!(well.losses().words(), "0 frames lost");
        }
        for (lost, why) in [
            (report(Some(1), c, k), Loss::OnWire),
            (report(None, c, PortCounters { send_errors: 1, ..k }), Loss::KernelRefused),
            (report(None, c, PortCounters { kernel_drops: 1, ..k }), Loss::KernelRing),
            (report(None, c, PortCounters { too_long: 1, ..k }), Loss::TooLong),
            (report(None, C { departed: 1, ..c }, k), Loss::Unsent),
            (report(None, C { malformed: 1, ..c }, k), Loss::Malformed),
            (report(None, C { unexpected: 1, ..c }, k), Loss::Unexpected),
            (report(None, C { strange: 1, ..c }, k), Loss::UnknownFlow),
            (report(None, C { no_route: 1, ..c }, k), Loss::UnknownAddress),
            (report(None, C { stale: 1, ..c }, k), Loss::Stale),
            (report(None, C { impossible: 1, ..c }, k), Loss::Impossible),
            (report(None, C { port_down: 1, ..c }, k), Loss::FailedPort),
        ] {
            assert_eq!(lost.losses(), Losses::of([(why, 1)]));
        }
        let refused = report(
            None,
            C { departed: 200, ..c },
            PortCounters { sent: 100, send_errors: 100, ..k },
        );
        assert_eq!(
            (
                refused.ports[0].sent,
                refused.losses().count(Loss::KernelRefused),
                refused.losses().total()
            ),
            (100, 100, 100)
        );
    }
}
