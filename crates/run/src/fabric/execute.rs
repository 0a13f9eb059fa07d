//! Runs a fabric: world, tables, interruption, manifest.

use std::ops::ControlFlow;

use xoff_record::verdict::{Deadlock, Losses, Parts, Promises, Work};
use xoff_record::{
    Closed, FabricDelays, FabricHosts, FabricPortRow, FabricTables, FabricTotals, Folder,
    HostFlowRow, Load, Manifest, Names, Node, RecordError, Sink, WindowRow,
};
use xoff_scenario::Problems;
use xoff_sim::scheduled::{Core, Delay, HostReport, Problem, Report, World};
use xoff_units::params::ParamError;
use xoff_units::{Rate, Time, grouped};

use super::{FabricScenario, jobs};
use crate::manifest::{
    Clocks, ExtraFile, Progress, RunError, Source, add_file, manifest, run_info, write_last,
};
use crate::network::checkpoint::{self, Checkpoints, Saved};

/// A run of a fabric that has ended.
pub struct FabricFinished {
    /// Report of the simulator.
    pub report: Report,
    /// The tables, closed.
    pub tables: Closed,
    /// The manifest, written if the run had a folder.
    pub manifest: Manifest,
    /// True if the user stopped the run.
    pub interrupted: bool,
}

/// A fabric in motion, with open tables.
pub struct FabricRunning<'s> {
    scenario: &'s FabricScenario,
    world: World,
    tables: FabricTables,
    sink: Sink,
    clocks: Clocks,
    checkpoints: Option<Checkpoints>,
    page: Option<Box<Page<'s>>>,
}

/// Draws a file from everything except the tables.
type Page<'s> = dyn FnOnce(&FabricFinished) -> ExtraFile + 's;

impl FabricScenario {
    /// Runs from start to end, on one thread. `look` is called now and then; when it returns false, the run stops
    /// and closes properly.
    ///
    /// # Errors
    /// The memory will not suffice; tables or manifest cannot be written.
    pub fn run(
        &self,
        sink: Sink,
        look: impl FnMut(&Progress) -> bool,
    ) -> Result<FabricFinished, RunError> {
        self.start(sink, 1)?.run(look)
    }

    /// Puts it in motion, on at most this number of threads. Never changes a result.
    ///
    /// # Errors
    /// The memory will not suffice, a table cannot be written, or the folder contains a run that
    /// can continue.
    pub fn start(&self, sink: Sink, threads: usize) -> Result<FabricRunning<'_>, RunError> {
        if let Sink::Files(folder, _) = &sink {
            checkpoint::refuse_unfinished(folder).map_err(RunError::Record)?;
        }
        let mut running = self.start_without_checkpoints(sink, threads)?;
        let FabricRunning { world, clocks, .. } = &running;
        let header = |format: &str| self.header(format, world.threads(), clocks);
        running.checkpoints = Checkpoints::begin(self.checkpoint, &running.sink, header)?;
        Ok(running)
    }

    /// The run continues from a checkpoint, in the folder in which it stopped.
    ///
    /// # Errors
    /// The state is none of this scenario, or a table cannot be written.
    pub fn resume(&self, saved: &Saved, folder: Folder) -> Result<FabricRunning<'_>, Problems> {
        let sink = Sink::Files(folder.clone(), saved.format());
        let mut running =
            self.start_without_checkpoints(sink, saved.threads()).map_err(checkpoint::problems)?;
        saved.restore_fabric(&mut running.world, &mut running.clocks)?;
        let header = self.header(saved.format().name, saved.threads(), &running.clocks);
        running.checkpoints = saved.checkpoints(self.checkpoint, &folder, header, true)?;
        Ok(running)
    }

    fn start_without_checkpoints(
        &self,
        sink: Sink,
        threads: usize,
    ) -> Result<FabricRunning<'_>, RunError> {
        let clocks = Clocks::start();
        self.fits().map_err(RunError::Build)?;
        let names = Names {
            nodes: (0..self.config.ports()).map(|p| format!("P{p}")).collect(),
            ..Names::default()
        };
        let tables = FabricTables::create(&sink, &run_info(&self.resolved), &names)
            .map_err(RunError::Record)?;
        let world = World::on_threads(self.config.clone(), threads)
            .map_err(|problems| RunError::Build(refused(problems)))?;
        Ok(FabricRunning {
            scenario: self,
            world,
            tables,
            sink,
            clocks,
            checkpoints: None,
            page: None,
        })
    }
}

impl<'s> FabricRunning<'s> {
    /// Threads it runs on.
    pub fn threads(&self) -> usize {
        self.world.threads()
    }

    /// Sets the note that the command that started the run finds in its checkpoints.
    pub fn noting(mut self, note: &str) -> Self {
        self.checkpoints.iter_mut().for_each(|c| c.note(note));
        self
    }

    /// Writes the file that `page` returns next to the tables. Never changes a result.
    pub fn with_page(mut self, page: impl FnOnce(&FabricFinished) -> ExtraFile + 's) -> Self {
        self.page = Some(Box::new(page));
        self.checkpoints.iter_mut().for_each(Checkpoints::with_page);
        self
    }

    /// Runs to the end. `look` is called now and then; when it returns false, the run stops and
    /// closes properly.
    ///
    /// # Errors
    /// Tables or manifest cannot be written.
    pub fn run(
        mut self,
        mut look: impl FnMut(&Progress) -> bool,
    ) -> Result<FabricFinished, RunError> {
        let until = self.scenario.config.until;
        let mut interrupted = false;
        let FabricRunning { world, checkpoints, clocks, .. } = &mut self;
        while !interrupted {
            let ended = world.advance(until, &mut |now, events| {
                interrupted = !look(&Progress { now, until, events, deadlocks: 0 });
                match interrupted || checkpoints.as_ref().is_some_and(Checkpoints::are_due) {
                    true => ControlFlow::Break(()),
                    false => ControlFlow::Continue(()),
                }
            });
            if ended {
                break;
            }
            if let Some(checkpoints) = checkpoints {
                let at = (world.now(), world.events(), world.threads());
                checkpoints.write_state(world.save(), at, clocks);
            }
        }
        self.finish(interrupted)
    }

    /// Closes tables and manifest.
    fn finish(self, interrupted: bool) -> Result<FabricFinished, RunError> {
        let FabricRunning { scenario, world, mut tables, sink, clocks, checkpoints, page } = self;
        let threads = world.threads() as u32;
        let report = world.finish();
        // An error here is kept by its table and reported when it is closed.
        let _ = scenario.write_rows(&report, &mut tables);
        let closed = tables.close();
        if let Some(e) = closed.error {
            return Err(RunError::Record(e));
        }
        let FabricScenario { resolved, parameters, warnings, config, .. } = scenario;
        let source = Source { resolved, parameters, warnings, seed: config.seed };
        let mut of_all = manifest(&source, &clocks, &closed);
        of_all.warnings.extend(match &checkpoints {
            Some(c) => c.warning(),
            None => scenario.checkpoint.map(|_| checkpoint::NO_FOLDER.to_owned()),
        });
        let manifest = Manifest {
            threads,
            simulated_seconds: report.now.as_secs_f64(),
            events: report.events,
            frame_hops: report.link_hops,
            data_frame_hops: report.data_link_hops,
            flows_completed: report.packets_out,
            flows_total: report.packets_in,
            ended_because: ended(interrupted, &report),
            scenario_folder: scenario.folder.display().to_string(),
            active: scenario.active(&report),
            inactive: scenario.inactive(&report),
            fabric: Some(FabricTotals {
                jobs: jobs::answers(config.jobs.as_ref(), &report),
                ..totals(&report)
            }),
            ..of_all
        };
        let not_kept = checkpoints.as_ref().and_then(Checkpoints::missed_words);
        let parts = Parts { not_kept, ..scenario.judge(&report, interrupted) };
        let manifest = manifest.judged(parts.into());
        let mut finished = FabricFinished { report, tables: closed, manifest, interrupted };
        if let Sink::Files(folder, _) = &sink {
            if let Some(page) = page {
                let file = page(&finished);
                add_file(folder, &file, &mut finished.manifest);
            }
            write_last(folder, resolved, &mut finished.manifest).map_err(RunError::Record)?;
        }
        Ok(finished)
    }
}

impl FabricScenario {
    /// Adapters and elements cannot drop: a segment that leaves a VOQ has its room granted, and the
    /// final bytes have to add up. An input buffer of hosts that overflows still takes the frame; a
    /// real one would have lost it. Packets under way at the end are not incomplete: the workload
    /// has no end.
    fn judge(&self, r: &Report, interrupted: bool) -> Parts {
        let broken = |violations, of_loss, first| Promises::Violated { violations, of_loss, first };
        let promises = match &r.hosts {
            Some(h) if h.overflows > 0 => {
                let first = format!(
                    "{} frames arrived at a full input buffer, although PAUSE must prevent this",
                    h.overflows
                );
                broken(h.overflows, h.overflows, first)
            }
            None if !r.balance.holds() => {
                broken(1, 0, format!("the bytes of packets do not add up: {:?}", r.balance))
            }
            _ => Promises::Kept,
        };
        Parts {
            interrupted,
            deadlock: match &r.stuck {
                None => Deadlock::None,
                Some(s) => {
                    Deadlock::Found { what: s.to_string(), ports: vec![format!("P{}", s.output)] }
                }
            },
            losses: Losses::default(),
            promises,
            work: Work {
                unit: "packets".into(),
                total: r.packets_in,
                complete: r.packets_out,
                incomplete: 0,
            },
            not_kept: None,
            nothing_ran: (r.packets_in == 0).then(|| format!("no packet arrived in {}", r.now)),
            failures: Vec::new(),
            unfinished: jobs::answers(self.config.jobs.as_ref(), r)
                .iter()
                .filter(|j| (j.complete_ps.len() as u64) < j.iterations)
                .map(|j| format!("job {}: {}", j.name, j.words()))
                .collect(),
        }
    }

    fn write_rows(&self, r: &Report, tables: &mut FabricTables) -> Result<(), RecordError> {
        for w in &r.windows {
            tables.windows.push(WindowRow {
                time_ps: w.end.0,
                cold_bytes: w.cold_bytes,
                hot_bytes: w.hot_bytes,
                cold_packets: w.cold_packets,
                cold_delay_ps: w.cold_delay.checked_div(w.cold_packets),
                hot_queue_bytes_max: w.hot_queue_max,
                hot_queue_bytes_mean: w.hot_queue_mean,
                grants_held_max: w.grants_max,
                grants_held_mean: w.grants_mean,
                cold_delay_sum_ps: w.cold_delay,
            })?;
        }
        for (port, hot) in self.config.hot_outputs().into_iter().enumerate() {
            let hosts = r.hosts.as_ref();
            tables.fabric_ports.push(FabricPortRow {
                port: Node(port as u32),
                load: if hot { Load::Hotspot } else { Load::Normal },
                offered_bytes: r.offered[port],
                delivered_bytes: r.delivered[port],
                sent_bytes: r.delivered_by_input[port],
                pauses: hosts.map_or(0, |h| h.stops[port]),
                paused_ps: hosts.map_or(0, |h| h.stopped_ps[port]),
            })?;
        }
        let (Some(hosts), Some(seen)) = (&self.config.hosts, &r.hosts) else { return Ok(()) };
        let mut before = Time::ZERO;
        for (end, w) in r.windows.iter().map(|w| w.end).zip(&seen.windows) {
            for (flow, f) in hosts.flows.iter().enumerate() {
                tables.host_flows.push(HostFlowRow {
                    time_ps: end.0,
                    flow: flow as u32,
                    source: Node(f.source),
                    rate_bps: Rate::of(xoff_units::Bytes(w.arrived[flow]), end.since(before)).0,
                    limit_bps: w.limit[flow].map(|r| r.0),
                    input_bytes: w.input[flow],
                    output_bytes: w.output[flow],
                    held_bytes: w.held[flow],
                    delivered_bytes: w.delivered[flow],
                    cnms: w.cnms[flow].into(),
                })?;
            }
            before = end;
        }
        Ok(())
    }

    /// Active mechanisms and their effects, one sentence each.
    fn active(&self, r: &Report) -> Vec<String> {
        let mut stated = Vec::new();
        if r.segments > 0 {
            stated.push(format!(
                "request-grant: {} segments, {} of them unsolicited; {} control messages alone ({:.2} % of the bytes)",
                grouped(r.segments),
                grouped(r.unsolicited),
                grouped(r.control),
                100.0 * r.control_bytes as f64 / (r.control_bytes + r.segment_bytes).max(1) as f64
            ));
        }
        if r.out_of_order > 0 {
            stated.push(format!(
                "resequencing: {} segments overtook an earlier segment of their flow",
                grouped(r.out_of_order)
            ));
        }
        if let Some(h) = &r.hosts {
            let (stops, cnms): (u64, u64) = (h.stops.iter().sum(), h.cnms.iter().sum());
            if stops > 0 {
                stated.push(format!("PAUSE: {} times", grouped(stops)));
            }
            if cnms > 0 {
                stated.push(format!("CNMs: {}", grouped(cnms)));
            }
        }
        if let Some(stuck) = &r.stuck {
            stated.push(stuck.to_string());
        }
        stated
    }

    /// Mechanisms that were configured and never triggered, one sentence each.
    fn inactive(&self, r: &Report) -> Vec<String> {
        let mut stated = Vec::new();
        if let (Some(hosts), Some(h)) = (&self.config.hosts, &r.hosts) {
            if h.stops.iter().all(|&n| n == 0) {
                stated
                    .push("PAUSE: not sent, because no input buffer reached its threshold".into());
            }
            if hosts.qcn.is_some() && h.cnms.iter().all(|&n| n == 0) {
                stated.push("CNMs: none; no sample was congested".into());
            }
        }
        if r.segments > 0 && r.out_of_order == 0 && !matches!(self.config.core, Core::Ideal { .. })
        {
            stated.push("resequencing: all segments arrived in order".into());
        }
        stated
    }
}

/// A fabric that cannot be built: the reader has already rejected values that the model rejects.
pub(super) fn refused(problems: Vec<Problem>) -> ParamError {
    let p = problems.into_iter().next().expect("a refusal has a reason");
    ParamError::new(p.key, p.what, p.hint)
}

/// Totals of the run that no table has.
fn totals(r: &Report) -> FabricTotals {
    let hosts = |h: &HostReport| FabricHosts {
        input_bytes_max: h.input_max,
        overflows: h.overflows,
        control_bytes: h.control_bytes,
        delays: h.delays.iter().map(delays).collect(),
        background: delays(&h.background),
    };
    FabricTotals {
        measured_ps: r.measured,
        cold: delays(&r.cold),
        hot: delays(&r.hot),
        hot_bytes_by_input: r.hot_by_input.clone(),
        queue_bytes_max: r.queue_max.clone(),
        waits: r.waits.clone(),
        reassembly_bytes_max: r.reassembly_max,
        segments: r.segments,
        unsolicited: r.unsolicited,
        out_of_order: r.out_of_order,
        control: r.control,
        control_bytes: r.control_bytes,
        segment_bytes: r.segment_bytes,
        hops: r.hops,
        stuck: r.stuck.as_ref().map(ToString::to_string),
        hosts: r.hosts.as_ref().map(hosts),
        jobs: Vec::new(),
    }
}

fn delays(d: &Delay) -> FabricDelays {
    FabricDelays {
        packets: d.count(),
        min_ps: d.min(),
        mean_ps: d.mean(),
        p99_ps: d.quantile(0.99),
        max_ps: d.max(),
    }
}

fn ended(interrupted: bool, r: &Report) -> String {
    match (&r.stuck, interrupted) {
        (_, true) => format!("interrupted at {}", r.now),
        (Some(stuck), _) => format!("stopped at {} (run.duration); {stuck}", r.now),
        _ => format!("stopped at {} (run.duration)", r.now),
    }
}
