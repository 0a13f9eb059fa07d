//! One run with programs of hosts that have an IP stack of their own, for those who run many: what `xoff testbed --ip --run` does, in memory.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::switchd::{Link, RunnerConfig};
use xoff_net::topology::Topology;
use xoff_record::Sink;
use xoff_run::NetworkScenario;
use xoff_sim::Outcome;

use crate::testbed::drive::{Drive, Look, Next, RealReport, drive};
use crate::testbed::hosts::{IpHosts, Run, RunReport};
use crate::testbed::observe::RealError;
use crate::testbed::veth_network::{self, NetworkError};
use crate::testbed::wiring::{self, Real};
use crate::testbed::{DriveError, shims};

/// A finished run.
pub struct Ran {
    /// The network with its shims.
    pub topology: Topology,
    /// Counts of the nodes.
    pub outcome: Outcome,
    /// Results that only real frames have.
    pub real: RealReport,
    /// Reports of the programs, in their order.
    pub programs: Vec<RunReport>,
}

/// Runs a scenario of which these hosts have a stack each, with programs in them whose output goes into files of `folder`, until the last of them
/// has ended. The process must be in namespaces of its own ([`veth_network::isolate`]).
///
/// # Errors
/// What the scenario, the machine or a program refuses.
pub fn run(mut s: NetworkScenario, hosts: &[String], programs: Vec<Run>, folder: &Path, stop: &dyn Fn() -> bool) -> Result<Ran, RealError> {
    wiring::refuse(&s).map_err(RealError::Refused)?;
    let (inserted, _) = shims::insert(&mut s, hosts).map_err(RealError::Refused)?;
    let here = shims::here(&s);
    let links = wiring::links(&s, &here, |node, port| shims::is_plain(&s, node, port));
    let wired: Vec<Link> = links.iter().filter(|l| !l.plain).cloned().collect();
    let (hosts, ports) = IpHosts::new(&s, &inserted, &links)?;
    let mut commands = hosts.commands_in(programs, folder);
    let runner = RunnerConfig { until: s.until, report: Duration::from_millis(100), ..RunnerConfig::default() };
    let d = Drive { runner, real: Real::default(), tap: None, page: None };
    let began = Instant::now();
    let driven = drive(&s, here, links, ports, Sink::Nothing, d, |_: &Look| {
        if stop() {
            return Next::Stop;
        }
        commands.look(began.elapsed())
    });
    let unstarted = commands.unstarted();
    let programs = commands.finish();
    // Interfaces go before any error is reported: the next run makes them again.
    veth_network::remove(&s, &wired)?;
    if let Some(e) = unstarted {
        return Err(RealError::VethNetwork(NetworkError::Host("a program".into(), e)));
    }
    let (finished, real) = driven.map_err(|e: DriveError| RealError::Drive(e))?;
    Ok(Ran { topology: s.topology, outcome: finished.outcome, real, programs })
}
