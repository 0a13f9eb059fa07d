//! Runs a scenario: world, tables, progress, interruption, manifest.

use std::fmt;
use std::time::{Instant, SystemTime};

use cpu_time::ProcessTime;
use xoff_params::ParamError;
use xoff_record::verdict::Parts;
use xoff_record::{
    Beside, Closed, DeadlockRow, FlowRow, Folder, Known, Label, Late, Manifest, Names, Node, PortRow, RecordError, ResultFile,
};
use xoff_record::{RunInfo, Sink, Slowdown, Tables, Verdict};
use xoff_sim::{Ended, Outcome, World};
use xoff_units::{Span, Time};

use super::NetworkScenario;
use crate::ideal::Ideals;
use crate::recorder::{PortNumbers, TableRecorder};
use crate::summary::Summary;
use crate::verdict::judge;

/// How far a run is.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Simulated time reached.
    pub now: Time,
    /// Simulated time to reach.
    pub until: Time,
    /// Events handled.
    pub events: u64,
    /// Deadlocks found.
    pub deadlocks: usize,
}

/// Why there is no result.
#[derive(Clone, Debug, PartialEq)]
pub enum RunError {
    /// The scenario cannot be built.
    Build(ParamError),
    /// Tables or manifest cannot be written.
    Record(RecordError),
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunError::Build(e) => fmt::Display::fmt(e, f),
            RunError::Record(e) => fmt::Display::fmt(e, f),
        }
    }
}
impl std::error::Error for RunError {}

/// A world with open tables.
pub struct Running<'s> {
    scenario: &'s NetworkScenario,
    world: World,
    sink: Sink,
    ports: PortNumbers,
    /// Nodes that run here, where others run elsewhere.
    here: Option<Vec<bool>>,
    /// Calendar time, for the manifest only.
    begun: SystemTime,
    started: Instant,
    cpu: ProcessTime,
}

/// A run that has ended.
pub struct Finished {
    /// What happened.
    pub outcome: Outcome,
    /// The tables, closed.
    pub tables: Closed,
    /// The manifest, written if the run had a folder.
    pub manifest: Manifest,
    /// What took effect and what did not, in words.
    pub summary: Summary,
}

impl NetworkScenario {
    /// Puts the scenario in motion on so many threads, if it can be split; `None`: as many as seem worth it. Never changes a
    /// result.
    pub fn start(&self, sink: Sink, threads: Option<usize>) -> Result<Running<'_>, RunError> {
        let threads = threads.unwrap_or_else(|| self.threads_worth());
        self.start_with(sink, threads, None)
    }

    /// Puts those nodes of the scenario in motion that are `here`, by number, with every link leading out of the world. Whoever drives
    /// it tells it the time; see [`World::leaving`].
    pub fn start_outside(&self, sink: Sink, here: Vec<bool>) -> Result<Running<'_>, RunError> {
        self.start_with(sink, 1, Some(here))
    }

    fn start_with(&self, sink: Sink, threads: usize, outside: Option<Vec<bool>>) -> Result<Running<'_>, RunError> {
        self.fits(threads).map_err(RunError::Build)?;
        let ports = PortNumbers::new(&self.topology);
        let t = &self.topology;
        let port_name = |n: usize| (0..t.nodes[n].ports.len() as u16).map(move |p| t.port_name(n as u32, p));
        let names = Names {
            nodes: t.nodes.iter().map(|n| n.name.clone()).collect(),
            ports: (0..t.nodes.len()).flat_map(port_name).collect(),
            labels: self.flows.labels.clone(),
        };
        let mut hasher = xoff_record::TableHasher::new();
        hasher.text(&self.resolved);
        let scenario_hash = xoff_record::ResultHash::of([("scenario", &hasher)]).to_string();
        let mut model = self.model();
        model.threads = threads;
        model.outside.clone_from(&outside);
        model.links_without_flow_control.clone_from(&self.boundary.links_without_flow_control);
        model.priorities.clone_from(&self.boundary.priorities);
        let mut world = World::build(t, self.flows.clone(), &mut model).map_err(RunError::Build)?;
        drop(model);
        let info = RunInfo { xoff_version: crate::VERSION.into(), scenario_hash };
        let tables = Tables::create(&sink, &info, &names).map_err(RunError::Record)?;
        world.record_to(Box::new(TableRecorder::new(tables, ports.clone())));
        let (begun, started, cpu) = (SystemTime::now(), Instant::now(), ProcessTime::now());
        Ok(Running { scenario: self, world, sink, ports, here: outside, begun, started, cpu })
    }

    /// Runs from start to end without a caller to report to.
    pub fn run(&self, sink: Sink) -> Result<Finished, RunError> {
        self.start(sink, Some(1))?.run(|_| true)
    }
}

impl<'s> Running<'s> {
    /// Threads it runs on.
    pub fn threads(&self) -> usize {
        self.world.threads()
    }

    /// Why it runs on one thread although more were asked for.
    pub fn unsplit(&self) -> Option<&str> {
        self.world.unsplit()
    }

    /// Runs to the end. `look` is called now and then; when it returns false, the run stops and closes properly.
    pub fn run(mut self, mut look: impl FnMut(&Progress) -> bool) -> Result<Finished, RunError> {
        let until = self.scenario.until;
        let ended =
            self.world.drive(until, |w| look(&Progress { now: w.now(), until, events: w.events(), deadlocks: w.deadlocks().len() }));
        self.finish(ended)
    }

    /// The world, for who drives it.
    pub fn world(&mut self) -> &mut World {
        &mut self.world
    }

    /// Ends the run: closes tables, writes the manifest.
    pub fn finish(self, ended: Ended) -> Result<Finished, RunError> {
        self.finish_judged(ended, |_| ())
    }

    /// Ends the run; `seen` adds to the verdict what only the caller has seen, such as frames lost on real wires.
    pub fn finish_judged(self, ended: Ended, seen: impl FnOnce(&mut Parts)) -> Result<Finished, RunError> {
        let Running { scenario, world, sink, ports, here, begun, started, cpu } = self;
        let threads = world.threads() as u32;
        let (outcome, recorder) = world.finish(ended);
        let recorder = recorder.expect("the world was given a recorder").into_any();
        let mut recorder = *recorder.downcast::<TableRecorder>().expect("the world returns the recorder it was given");
        recorder.close_pauses();
        let mut tables = recorder.tables;
        // An error here is kept by its table and reported when it is closed.
        let slowdown = write_rows(scenario, &outcome, &ports, &mut tables).unwrap_or_default();
        let closed = tables.close();
        if let Some(e) = closed.error {
            return Err(RunError::Record(e));
        }
        let mut parts = judge(scenario, &outcome, here.as_deref());
        seen(&mut parts);
        let verdict = Verdict::from(parts);
        let summary = Summary::of(scenario, &outcome, &verdict);
        let manifest = Manifest {
            xoff_version: crate::VERSION.into(),
            scenario: scenario.resolved.clone(),
            scenario_folder: scenario.folder.display().to_string(),
            parameters: scenario.parameters.clone(),
            seed: scenario.seed,
            threads,
            result_hash: closed.hash.to_string(),
            started: humantime::format_rfc3339_seconds(begun).to_string(),
            wall_seconds: started.elapsed().as_secs_f64(),
            cpu_seconds: cpu.elapsed().as_secs_f64(),
            simulated_seconds: outcome.now.as_secs_f64(),
            events: outcome.events,
            frame_hops: outcome.frame_hops,
            data_frame_hops: outcome.data_frame_hops,
            flows_completed: outcome.flows.iter().filter(|f| f.received.is_some()).count() as u64,
            flows_total: outcome.flows.len() as u64,
            ended_because: summary.ended.clone(),
            took_effect: summary.took_effect.clone(),
            never_triggered: summary.never_triggered.clone(),
            warnings: scenario.warnings.iter().map(|p| p.line()).collect(),
            slowdown,
            files: closed.files.clone(),
            ..Manifest::default()
        };
        let mut manifest = manifest.judged(verdict);
        if let Sink::Files(folder) = &sink {
            write_last(folder, &scenario.resolved, &mut manifest).map_err(RunError::Record)?;
        }
        Ok(Finished { outcome, tables: closed, manifest, summary })
    }
}

/// Name of the scenario beside the tables: not one that users give to theirs.
pub const RESOLVED: &str = "resolved.toml";

/// Writes the resolved scenario and the manifest, and puts the tables in place.
pub(crate) fn write_last(folder: &Folder, resolved: &str, manifest: &mut Manifest) -> Result<(), RecordError> {
    let staged = folder.stage_bytes(RESOLVED, resolved.as_bytes())?;
    manifest.files.push(ResultFile { name: staged.name, rows: resolved.lines().count() as u64, bytes: staged.bytes });
    manifest.write(folder).map(drop)
}

/// Flows, deadlocks and port counters: known only at the end.
fn write_rows(s: &NetworkScenario, o: &Outcome, ports: &PortNumbers, tables: &mut Tables) -> Result<Option<Slowdown>, RecordError> {
    let (mut complete, mut unfinished) = (Vec::new(), Vec::new());
    let ideals = Ideals::new(s, o.now);
    for (i, f) in o.flows.iter().enumerate() {
        let w = &f.flow;
        let fct = f.fct();
        let ideal = ideals.of(f);
        let slowdown = |time: Span| ideal.filter(|i| i.0 > 0).map(|i| time.0 as f64 / i.0 as f64);
        match fct {
            Some(fct) => complete.extend(slowdown(fct)),
            None => unfinished.extend(slowdown(o.now.since(w.start)).map(|bound| bound.max(1.0))),
        }
        tables.flows.push(FlowRow {
            flow: i as u64,
            src: Node(w.src),
            dst: Node(w.dst),
            src_port: w.src_port,
            dst_port: w.dst_port,
            priority: w.priority,
            size_bytes: w.size,
            start_ps: w.start.0,
            end_ps: f.received.map(|t| t.0),
            fct_ps: fct.map(|t| t.0),
            bytes_delivered: f.delivered,
            ce_frames: f.ce_frames,
            ue_frames: f.ue_frames,
            ideal_fct_ps: ideal.map(|t| t.0),
            slowdown: fct.and_then(slowdown),
            label: Label(w.label),
            notices: Late(f.notices),
            acked_ps: Known(f.acked().map(|t| t.0)),
            bytes_arrived: Beside { usual: f.delivered, value: f.arrived() },
        })?;
    }
    for (cycle, d) in o.deadlocks.iter().enumerate() {
        for (position, p) in d.cycle.iter().enumerate() {
            tables.deadlocks.push(DeadlockRow {
                time_ps: d.seen.0,
                closed_ps: d.closed.0,
                cycle: cycle as u32,
                position: position as u32,
                port: ports.of(p.node, p.port),
                priority: p.priority,
                frames: p.frames as u64,
                bytes: p.bytes.0,
                blocked_since_ps: p.since.0,
            })?;
        }
    }
    for (n, node) in o.ports.iter().enumerate() {
        for (p, t) in node.iter().enumerate() {
            let peer = s.topology.nodes[n].ports[p];
            let far = &o.ports[peer.peer as usize][peer.peer_port as usize];
            let notices = |node: u32, port: u16| o.notices.get(&(node, port)).copied().unwrap_or_default();
            tables.ports.push(PortRow {
                port: ports.of(n as u32, p as u16),
                tx_bytes: t.tx_bytes,
                tx_frames: t.tx_frames,
                messages: t.messages_received,
                marked: t.marked,
                marked_ue: t.marked_ue,
                dropped: far.dropped,
                egress_bytes_max: t.egress_bytes_max,
                ingress_bytes_max: far.ingress_bytes_max,
                pauses: t.pauses,
                pause_ps_total: t.pause_ps_total,
                holds: t.holds,
                hold_ps_total: t.hold_ps_total,
                allowed_rate_min: t.allowed_min.map(|r| r.0),
                notices_egress: Late(notices(n as u32, p as u16).egress),
                notices_ingress: Late(notices(peer.peer, peer.peer_port).ingress),
            })?;
        }
    }
    Ok(Slowdown::of(&complete, &unfinished))
}
