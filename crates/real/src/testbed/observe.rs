//! One run of a scenario on a testbed of its own, its rows in memory: for those who run many.

use std::fmt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::switchd::{RunnerConfig, Tap};
use xoff_mech::flow_control::FlowControl;
use xoff_run::{NetworkScenario, RunError};
use xoff_sim::{Outcome, Recorder, Row, World};
use xoff_units::params::ParamError;

use crate::testbed::drive::{Drive, DriveError, Look, Next, RealReport, real_time};
use crate::testbed::packet_capture::{By, LAST, PacketCapture, Seen};
use crate::testbed::veth_network::{self, NetworkError};
use crate::testbed::wiring::{self, Real};

/// Reason for a missing observation.
#[derive(Debug)]
pub enum RealError {
    /// Real frames cannot follow the scenario.
    Refused(ParamError),
    /// Interfaces and ports.
    VethNetwork(NetworkError),
    /// The run itself.
    Drive(DriveError),
    /// The independent packet capture.
    PacketCapture(std::io::Error),
}

impl fmt::Display for RealError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RealError::Refused(e) => write!(f, "{}: {}; {}", e.key, e.what, e.hint),
            RealError::VethNetwork(e) => fmt::Display::fmt(e, f),
            RealError::Drive(e) => fmt::Display::fmt(e, f),
            RealError::PacketCapture(e) => write!(f, "packet capture: {e}"),
        }
    }
}
impl std::error::Error for RealError {}

impl From<NetworkError> for RealError {
    fn from(e: NetworkError) -> Self {
        RealError::VethNetwork(e)
    }
}
impl From<DriveError> for RealError {
    fn from(e: DriveError) -> Self {
        RealError::Drive(e)
    }
}

/// Requests for a run.
#[derive(Default)]
pub struct Run<'a> {
    /// The packet capture is of the link behind this port, such as `S1->S2`, and keeps its captures in this folder.
    pub capture: Option<(&'a str, &'a Path)>,
    /// Sees every frame.
    pub tap: Option<Tap<'a>>,
    /// Callback that stops the run.
    pub stop: Option<&'a dyn Fn() -> bool>,
}

/// A finished run.
pub struct Observed {
    /// Counts of the nodes.
    pub outcome: Outcome,
    /// The rows of the probes, in the order of events.
    pub rows: Vec<Row>,
    /// Results that only real frames have.
    pub real: RealReport,
    /// The tool that captured; `None`: nothing was captured.
    pub by: Option<By>,
    /// Frames of its link in the capture during the last second.
    pub seen: Option<Seen>,
    /// `seen` for the whole run.
    pub whole: Option<Seen>,
    /// Frames that the capture missed, by its own count.
    pub missed: u64,
}

/// Runs all nodes of a scenario on veth pairs made for it, which are gone afterwards. The process must be in namespaces of its own
/// ([`veth_network::isolate`]).
pub fn observe(s: &NetworkScenario, run: Run) -> Result<Observed, RealError> {
    wiring::refuse(s).map_err(RealError::Refused)?;
    let here = vec![true; s.topology.nodes.len()];
    let links = wiring::links(s, &here, |_, _| false);
    let ports = veth_network::ports(s, &links)?;
    let names: Vec<String> = links.iter().map(veth_network::interface).collect();
    let captured = run.capture.map(|(port, folder)| (wiring::ends(s, &links, port).unwrap_or_else(|| panic!("no port '{port}'")), folder));
    let packet_capture = captured
        .map(|(ends, folder)| PacketCapture::start(&ends.map(|i| names[i].clone()), folder).map(|w| (w, ends)))
        .transpose()
        .map_err(RealError::PacketCapture)?;

    let by = packet_capture.as_ref().map(|(w, _)| w.by());
    let mut model = s.model();
    model.threads = 1;
    model.outside = Some(here);
    let mut world = World::build(&s.topology, s.flows.clone(), &model).map_err(|e| DriveError::Run(RunError::Build(e)))?;
    drop(model);
    world.record_to(Box::new(Vec::<Row>::new()));
    let runner = RunnerConfig { until: s.until, report: Duration::from_millis(100), ..RunnerConfig::default() };
    let mut own = packet_capture.as_ref().and_then(|(w, ends)| w.own(*ends)).transpose().map_err(RealError::PacketCapture)?;
    let mut users = run.tap;
    let tap: Option<Tap> = match (&mut own, &mut users) {
        (None, None) => None,
        (own, users) => Some(Box::new(move |at, link, inbound, bytes| {
            if let Some(own) = own {
                own.write(link, inbound, bytes)?;
            }
            users.as_mut().map_or(Ok(()), |tap| tap(at, link, inbound, bytes))
        })),
    };
    let d = Drive { runner, real: Real::default(), tap, page: None };
    let began = SystemTime::now();
    // The last poll is when the last frame has come in; closing the ports takes a while longer.
    let mut end = began;
    let mut go_on = |_: &Look| {
        end = SystemTime::now();
        Next::from(!run.stop.is_some_and(|stop| stop()))
    };
    let driven = real_time(s, &mut world, links.clone(), ports, d, &mut go_on);
    if let Some(own) = own {
        own.finish().map_err(RealError::PacketCapture)?;
    }
    let seen = packet_capture.map(|(w, _)| {
        let captures = w.stop()?;
        Ok((captures.count(end - LAST, end)?, (captures.count(began, end)?, captures.missed)))
    });
    // Interfaces go before any error is reported: the next run makes them again.
    veth_network::remove(s, &links)?;
    let (ended, real) = driven?;
    let (seen, whole) = seen.transpose().map_err(RealError::PacketCapture)?.unzip();
    let (whole, missed) = whole.unzip();
    let (outcome, recorder) = world.finish(ended);
    let rows = recorder.and_then(|r: Box<dyn Recorder>| r.into_any().downcast::<Vec<Row>>().ok()).map(|r| *r).unwrap_or_default();
    Ok(Observed { outcome, rows, real, by, seen, whole, missed: missed.unwrap_or(0) })
}

/// Whether a link was blocked: no data frame in the checked time, while flow control kept sending.
pub fn stood_still(seen: &Seen, kind: &FlowControl) -> bool {
    seen.stopped(kind)
}
