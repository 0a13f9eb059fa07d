//! Runs a scenario: world, tables, progress, interruption, manifest.

use std::fmt;
use std::time::{Instant, SystemTime};

use cpu_time::ProcessTime;
use xoff_params::ParamError;
use xoff_record::verdict::Parts;
use xoff_record::{Closed, Folder, Manifest, Names, RecordError, ResultFile, RunInfo, Sink, Tables, Verdict};
use xoff_sim::{Ended, Outcome, World};
use xoff_topology::PortNumbers;
use xoff_units::Time;

use super::NetworkScenario;
use super::rows::write_rows;
use crate::recorder::TableRecorder;
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
        world.record_to(Box::new(TableRecorder::new(tables, ports.len())));
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
        if let Sink::Files(folder, _) = &sink {
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
