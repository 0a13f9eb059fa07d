//! Runs a fabric: world, tables, interruption, manifest.

use std::ops::ControlFlow;

use xoff_record::verdict::{Deadlock, Losses, Parts, Promises, Work};
use xoff_record::{
    Closed, FabricDelays, FabricHosts, FabricPortRow, FabricTables, FabricTotals, HostFlowRow,
    Load, Manifest, Names, Node, RecordError, Sink, WindowRow,
};
use xoff_sim::scheduled::{Core, Delay, HostReport, Report, World};
use xoff_units::{Rate, Time, grouped};

use super::FabricScenario;
use crate::manifest::{
    Clocks, ExtraFile, Progress, RunError, Source, add_file, manifest, run_info, write_last,
};

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
        self.run_with_page(1, sink, look, |_| None)
    }

    /// [`Self::run`] on at most this number of threads, with the file that `page` draws from everything except the tables. Never
    /// changes a result.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub fn run_with_page(
        &self,
        threads: usize,
        sink: Sink,
        mut look: impl FnMut(&Progress) -> bool,
        page: impl FnOnce(&FabricFinished) -> Option<ExtraFile>,
    ) -> Result<FabricFinished, RunError> {
        let clocks = Clocks::start();
        self.fits().map_err(RunError::Build)?;
        let names = Names {
            nodes: (0..self.config.ports()).map(|p| format!("P{p}")).collect(),
            ..Names::default()
        };
        let mut tables = FabricTables::create(&sink, &run_info(&self.resolved), &names)
            .map_err(RunError::Record)?;
        let world = World::on_threads(self.config.clone(), threads).map_err(|problems| {
            // The reader has already rejected values that the model rejects.
            let p = problems.into_iter().next().expect("a refusal has a reason");
            RunError::Build(xoff_units::params::ParamError::new(p.key, p.what, p.hint))
        })?;
        let threads = world.threads() as u32;
        let until = self.config.until;
        let mut interrupted = false;
        let report = world.run(&mut |now, events| {
            if look(&Progress { now, until, events, deadlocks: 0 }) {
                return ControlFlow::Continue(());
            }
            interrupted = true;
            ControlFlow::Break(())
        });
        // An error here is kept by its table and reported when it is closed.
        let _ = self.write_rows(&report, &mut tables);
        let closed = tables.close();
        if let Some(e) = closed.error {
            return Err(RunError::Record(e));
        }
        let FabricScenario { resolved, parameters, warnings, config, .. } = self;
        let source = Source { resolved, parameters, warnings, seed: config.seed };
        let manifest = Manifest {
            threads,
            simulated_seconds: report.now.as_secs_f64(),
            events: report.events,
            frame_hops: report.link_hops,
            data_frame_hops: report.data_link_hops,
            flows_completed: report.packets_out,
            flows_total: report.packets_in,
            ended_because: ended(interrupted, &report),
            scenario_folder: self.folder.display().to_string(),
            active: self.active(&report),
            inactive: self.inactive(&report),
            fabric: Some(totals(&report)),
            ..manifest(&source, &clocks, &closed)
        };
        let manifest = manifest.judged(self.judge(&report, interrupted).into());
        let mut finished = FabricFinished { report, tables: closed, manifest, interrupted };
        if let Sink::Files(folder, _) = &sink {
            if let Some(file) = page(&finished) {
                add_file(folder, &file, &mut finished.manifest);
            }
            write_last(folder, &self.resolved, &mut finished.manifest).map_err(RunError::Record)?;
        }
        Ok(finished)
    }

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
            unfinished: Vec::new(),
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
