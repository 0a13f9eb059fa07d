//! Runs a scenario: world, tables, progress, interruption, manifest.

use xoff_mech::rate_control::RateControlKind;
use xoff_net::topology::PortNumbers;
use xoff_record::verdict::Parts;
use xoff_record::{
    Closed, FastForward, Manifest, Names, RecordError, Sink, Tables, UplinkRow, Verdict,
};
use xoff_sim::{Ended, Outcome, SLICE, Selection, Share, World};
use xoff_units::params::ParamError;
use xoff_units::{NodeId, Span};

use super::NetworkScenario;
use super::checkpoint::{self, Checkpoints};
use super::course::Course;
use super::jobs::JobSummary;
use super::rows::{Totals, write_rows};
use super::uplinks::{Groups, Samples};
use crate::manifest::{
    Clocks, ExtraFile, Progress, RunError, Source, add_file, manifest, run_info, write_last,
};
use crate::network::recorder::{FrameTap, TableRecorder};
use crate::network::summary::Summary;
use crate::network::verdict::judge;

/// A world with open tables.
pub struct Running<'s> {
    scenario: &'s NetworkScenario,
    pub(super) world: World,
    sink: Sink,
    pub(super) ports: PortNumbers,
    /// Nodes that run here, where others run elsewhere.
    here: Option<Vec<bool>>,
    pub(super) clocks: Clocks,
    /// Written now and then, if that was asked for.
    checkpoints: Option<Checkpoints>,
    /// The course so far of a run that resumes from a checkpoint.
    pub(super) again: Option<Course>,
    /// Draws the report next to the tables.
    page: Option<Page<'s>>,
    /// Set if a report was requested that would need all flows of a streamed run or messages of a streamed job.
    without_page: bool,
    course: Option<Course>,
}

/// Place where a run's nodes are simulated.
pub(super) struct Whereabouts {
    /// Threads of this process.
    pub threads: usize,
    /// The nodes that are here, where others run elsewhere in real time.
    pub outside: Option<Vec<bool>>,
    /// The share of this process, where several share the network.
    pub share: Option<Share>,
}

/// All in this process, on one thread.
pub(super) const ALONE: Whereabouts = Whereabouts { threads: 1, outside: None, share: None };

/// Makes a further file of a run from all that is known of it.
pub type Page<'s> = Box<dyn FnOnce(&Finished) -> Option<ExtraFile> + 's>;

/// A run that has ended.
pub struct Finished {
    /// Outcome of the simulation.
    pub outcome: Outcome,
    /// The tables, closed.
    pub tables: Closed,
    /// The manifest, written if the run had a folder.
    pub manifest: Manifest,
    /// Active and inactive mechanisms, in words.
    pub summary: Summary,
    /// By flow: its completion time alone in the network; `None`: it has no end or no route, or its
    /// route changed.
    pub ideals: Vec<Option<Span>>,
    /// Rows of the table `uplinks`.
    pub uplinks: Vec<UplinkRow>,
    /// Outcomes of the jobs.
    pub jobs: Vec<JobSummary>,
    /// Time series of each port; only for a run that ends with a report.
    pub course: Option<Course>,
}

impl NetworkScenario {
    /// Starts the scenario on `threads` threads, if it can be split; `None`: as many as seem worth
    /// it. Never changes a result.
    ///
    /// # Errors
    /// [`RunError::Build`]: the network cannot be built. [`RunError::Record`]: a table or the manifest cannot be written.
    pub fn start(&self, sink: Sink, threads: Option<usize>) -> Result<Running<'_>, RunError> {
        let threads = threads.unwrap_or_else(|| self.threads_worth());
        self.start_with(sink, Whereabouts { threads, ..ALONE }, None)
    }

    /// [`Self::start`] on one thread, with every frame on the wires that begin at `ports` handed to
    /// `tap`. Never changes a result.
    ///
    /// # Errors
    /// [`RunError::Build`]: the network cannot be built. [`RunError::Record`]: a table or the manifest cannot be written.
    pub fn start_tapped(
        &self,
        sink: Sink,
        ports: Selection,
        tap: FrameTap,
    ) -> Result<Running<'_>, RunError> {
        self.start_with(sink, ALONE, Some((ports, tap)))
    }

    /// Puts those nodes of the scenario in motion that are `here`, by number, with every link
    /// leading out of the world. Whoever drives it sets its time; see [`World::leaving`].
    ///
    /// # Errors
    /// [`RunError::Build`]: the network cannot be built. [`RunError::Record`]: a table or the manifest cannot be written.
    pub fn start_outside(&self, sink: Sink, here: Vec<bool>) -> Result<Running<'_>, RunError> {
        self.start_with(sink, Whereabouts { outside: Some(here), ..ALONE }, None)
    }

    /// Builds the world.
    pub(super) fn build(&self, of: &Whereabouts, frames: Selection) -> Result<World, RunError> {
        match of.share {
            Some(share) => self.share_fits(share.count),
            None => self.fits(of.threads),
        }
        .map_err(RunError::Build)?;
        let mut model = self.model();
        model.threads = of.threads;
        model.share = of.share;
        model.outside.clone_from(&of.outside);
        model.links_without_flow_control.clone_from(&self.boundary.links_without_flow_control);
        model.priorities.clone_from(&self.boundary.priorities);
        model.probes.frames = frames;
        World::build(&self.topology, self.flows.clone(), &model).map_err(RunError::Build)
    }

    pub(super) fn start_with(
        &self,
        sink: Sink,
        of: Whereabouts,
        tapped: Option<(Selection, FrameTap)>,
    ) -> Result<Running<'_>, RunError> {
        if let Sink::Files(folder, _) = &sink {
            checkpoint::refuse_unfinished(folder).map_err(RunError::Record)?;
        }
        let mut running = self.start_without_checkpoints(sink, of, tapped)?;
        let Some(every) = self.checkpoint else { return Ok(running) };
        let refused = match (&running.sink, &self.model.nic.rate_control) {
            (Sink::Files(..), RateControlKind::Custom(_)) => {
                Some("a rate control from outside".to_owned())
            }
            (Sink::Files(..), _) => running.world.save().err(),
            _ => None,
        };
        if let Some(what) = refused {
            let what = format!(
                "{} is set, but xoff cannot save {what}",
                humantime::format_duration(every)
            );
            return Err(RunError::Build(ParamError::new("run.checkpoint", what, "remove the key")));
        }
        let header = |format: &str| self.header(format, running.world.threads(), &running.clocks);
        if let Some(checkpoints) = Checkpoints::begin(Some(every), &running.sink, header)? {
            running.keep(checkpoints);
        }
        Ok(running)
    }

    /// The world with open tables, which writes no checkpoints.
    pub(super) fn start_without_checkpoints(
        &self,
        sink: Sink,
        of: Whereabouts,
        tapped: Option<(Selection, FrameTap)>,
    ) -> Result<Running<'_>, RunError> {
        let (frames, tap) = tapped.unzip();
        let mut world = self.build(&of, frames.unwrap_or_default())?;
        let ports = PortNumbers::new(&self.topology);
        let t = &self.topology;
        let port_name = |n: usize| {
            (0..t.nodes[n].ports.len() as u16).map(move |p| t.port_name(NodeId(n as u32), p))
        };
        let names = Names {
            nodes: t.nodes.iter().map(|n| n.name.clone()).collect(),
            ports: (0..t.nodes.len()).flat_map(port_name).collect(),
            labels: [self.flows.labels.clone(), self.pool_names()].concat(),
        };
        let samples = (!self.model.probes.rates.is_none())
            .then(|| Samples::new(Groups::new(self, world.routes(), &ports)));
        let tables =
            Tables::create(&sink, &run_info(&self.resolved), &names).map_err(RunError::Record)?;
        world.record_to(Box::new(
            TableRecorder::new(tables)
                .keeping_pauses(self.flows.jobs.as_deref())
                .sampling(samples)
                .with_tap(tap),
        ));
        let (here, clocks) = (of.outside, Clocks::start());
        Ok(Running {
            scenario: self,
            world,
            sink,
            ports,
            here,
            clocks,
            checkpoints: None,
            again: None,
            page: None,
            without_page: false,
            course: None,
        })
    }

    /// Runs from start to end without a caller to report to.
    ///
    /// # Errors
    /// [`RunError::Build`]: the network cannot be built. [`RunError::Record`]: a table or the manifest cannot be written.
    pub fn run(&self, sink: Sink) -> Result<Finished, RunError> {
        self.start(sink, Some(1))?.run(|_| true)
    }
}

impl<'s> Running<'s> {
    /// Processes that share its network, and how many of them have something to do: there may be
    /// more than switches.
    pub fn processes(&self) -> (usize, usize) {
        (self.world.processes(), self.world.busy_processes())
    }

    /// Threads it runs on.
    pub fn threads(&self) -> usize {
        self.world.threads()
    }

    /// Reason for one thread although more were requested.
    pub fn unsplit(&self) -> Option<&str> {
        self.world.unsplit()
    }

    /// Notes the course of every port, where all are in this process, and writes the file that
    /// `page` returns next to the tables. Never changes a result.
    pub fn with_page(mut self, page: impl FnOnce(&Finished) -> Option<ExtraFile> + 's) -> Self {
        self.without_page = self.scenario.is_streamed();
        if self.without_page {
            return self;
        }
        self.page = Some(Box::new(page));
        // The ports of other processes are not visible during the run.
        let alone = self.world.processes() == 1;
        let begun = self.again.take();
        self.course = begun.or_else(|| {
            alone.then(|| Course::new(&self.world, self.ports.len(), self.scenario.until))
        });
        self.checkpoints.iter_mut().for_each(Checkpoints::with_page);
        self
    }

    /// Runs to the end. `look` is called now and then; when it returns false, the run stops and
    /// closes properly.
    ///
    /// # Errors
    /// [`RunError::Record`]: a table or the manifest cannot be written.
    pub fn run(mut self, look: impl FnMut(&Progress) -> bool) -> Result<Finished, RunError> {
        let ended = self.drive(look);
        self.finish(ended)
    }

    /// Run without its end: [`Self::finish`] closes it.
    pub fn drive(&mut self, mut look: impl FnMut(&Progress) -> bool) -> Ended {
        let until = self.scenario.until;
        let Running { world, course, checkpoints, clocks, .. } = self;
        let slice = world.slice();
        let step =
            |course: &Option<Course>, w: &World| course.as_ref().map_or(slice, |c| c.step(w));
        let file = self.scenario.flows.pages().map(|p| &p.file);
        let mut shown = world.events_handled();
        let first = step(course, world);
        let ended = world.drive_by(until, first, |w| {
            if let Some(course) = course {
                course.note(w);
                if w.events_handled() < shown + SLICE {
                    return Some(course.step(w));
                }
                shown = w.events_handled();
            }
            let goes_on = file.is_none_or(|f| f.failed().is_none())
                && look(&Progress {
                    now: w.now(),
                    until,
                    events: w.events(),
                    deadlocks: w.deadlocks().len(),
                });
            if let Some(checkpoints) = checkpoints.as_mut().filter(|c| !goes_on || c.are_due()) {
                checkpoints.write(w, course.as_ref(), clocks);
            }
            goes_on.then(|| step(course, w))
        });
        if let Some(course) = course {
            course.end(world);
        }
        ended
    }

    /// Writes checkpoints from now on.
    pub(super) fn keep(&mut self, checkpoints: Checkpoints) {
        if let Some(recorder) = self.world.take_recorder() {
            let mut recorder = recorder
                .into_any()
                .downcast::<TableRecorder>()
                .expect("the world returns the recorder it was given");
            recorder.log_to(checkpoints.log());
            self.world.record_to(recorder);
        }
        self.checkpoints = Some(checkpoints);
    }

    /// Sets the note that the command that started the run finds in its checkpoints.
    pub fn noting(mut self, note: &str) -> Self {
        self.checkpoints.iter_mut().for_each(|c| c.note(note));
        self
    }

    /// The world, for who drives it.
    pub fn world(&mut self) -> &mut World {
        &mut self.world
    }

    /// The world, and the course that its driver notes; `None`: it ends without a page.
    pub fn world_and_course(&mut self) -> (&mut World, Option<&mut Course>) {
        (&mut self.world, self.course.as_mut())
    }

    /// Ends the run: closes tables, writes the manifest.
    ///
    /// # Errors
    /// [`RunError::Record`]: a table or the manifest cannot be written.
    pub fn finish(self, ended: Ended) -> Result<Finished, RunError> {
        self.finish_judged(ended, |_| ())
    }

    /// Ends the run; `seen` adds the caller's own observations to the verdict, such as frames lost
    /// on real wires.
    ///
    /// # Errors
    /// [`RunError::Record`]: a table or the manifest cannot be written.
    pub fn finish_judged(
        self,
        ended: Ended,
        seen: impl FnOnce(&mut Parts),
    ) -> Result<Finished, RunError> {
        let Running {
            scenario,
            mut world,
            sink,
            ports,
            here,
            clocks,
            checkpoints,
            again: _,
            page,
            without_page,
            course,
        } = self;
        if let Some((at, came)) = world.astray(ended) {
            let came =
                came.map_or("its place never comes".into(), |t| format!("its place comes at {t}"));
            let what = format!(
                "a message or call was made at {at}, and {came}: this network is another one"
            );
            let hint = "repeat it with the scenario and the version of xoff that were driven, or set messages.exact = false";
            return Err(RunError::Build(ParamError::new("messages.file", what, hint)));
        }
        let (threads, by_events) = (world.threads() as u32, world.by_events().map(str::to_owned));
        let (processes, cpu_elsewhere) = (world.processes() as u32, world.sum_over_processes(0));
        let (outcome, recorder) = world.finish(ended);
        let recorder = recorder.expect("the world was given a recorder").into_any();
        let mut recorder = *recorder
            .downcast::<TableRecorder>()
            .expect("the world returns the recorder it was given");
        recorder.close_pauses();
        let pauses = recorder.kept.take().unwrap_or_default();
        let samples = recorder.samples.take();
        let mut tables = recorder.tables;
        // An error here is kept by its table and reported when it is closed.
        let Totals { slowdown, ideals, balance } =
            write_rows(scenario, &outcome, &ports, samples, &mut tables).unwrap_or_default();
        let jobs = super::jobs::write(scenario, &outcome, (&ports, &pauses, &balance), &mut tables)
            .unwrap_or_default();
        let closed = tables.close();
        let file = scenario.flows.pages().map(|p| &p.file);
        if let Some(e) = file.and_then(|f| f.failed()) {
            let folder = crate::temporary();
            return Err(RunError::Record(RecordError::new(
                "write a temporary file in",
                &folder,
                e,
            )));
        }
        if let Some(e) = closed.error {
            return Err(RunError::Record(e));
        }
        let mut parts = judge(scenario, &outcome, here.as_deref());
        parts.failures.extend(jobs.iter().flat_map(JobSummary::failures));
        if parts.work.incomplete == 0 {
            parts.unfinished.extend(jobs.iter().filter_map(JobSummary::unfinished));
        }
        parts.not_kept = checkpoints.as_ref().and_then(Checkpoints::missed_words);
        seen(&mut parts);
        let verdict = Verdict::from(parts);
        let mut summary = Summary::of(scenario, &outcome, &verdict);
        summary.active.splice(0..0, jobs.iter().flat_map(|j| j.words(scenario, &outcome)));
        let NetworkScenario { resolved, parameters, warnings, seed, .. } = scenario;
        let source = Source { resolved, parameters, warnings, seed: *seed };
        let mut of_all = manifest(&source, &clocks, &closed);
        of_all.warnings.extend(match &checkpoints {
            Some(c) => c.warning(),
            None => scenario.checkpoint.map(|_| checkpoint::NO_FOLDER.to_owned()),
        });
        if without_page {
            of_all
                .warnings
                .push(if scenario.flows.pages.is_some() {
                    "no report.html was written: it would hold all flows, and run.stream does not keep them".to_owned()
                } else {
                    "no report.html was written: it would hold all messages, and those of a streamed job are not kept".to_owned()
                });
        }
        let manifest = Manifest {
            // Whoever repeats the run may do so from elsewhere.
            scenario_folder: scenario.folder.display().to_string(),
            inputs_digest: scenario.inputs_digest(),
            threads,
            processes,
            cpu_seconds: of_all.cpu_seconds
                + if processes > 1 { cpu_elsewhere as f64 / 1e9 } else { 0.0 },
            engine: if by_events.is_some() { "events" } else { "windows" }.into(),
            engine_because: by_events,
            fast_forward: fast_forward(&outcome),
            simulated_seconds: outcome.now.as_secs_f64(),
            events: outcome.events,
            frame_hops: outcome.frame_hops,
            data_frame_hops: outcome.data_frame_hops,
            flows_completed: outcome.all_flows().filter(|f| f.received.is_some()).count() as u64,
            flows_total: outcome.flows_total(),
            delivered_frames: outcome.delivered_frames,
            flow_collisions: outcome.flow_collisions,
            ended_because: summary.ended.clone(),
            active: summary.active.clone(),
            inactive: summary.inactive.clone(),
            slowdown,
            load_balance: balance.of_run,
            jobs: jobs.iter().map(|j| j.answer(scenario)).collect(),
            ..of_all
        };
        let mut finished = Finished {
            outcome,
            tables: closed,
            manifest: manifest.judged(verdict),
            summary,
            ideals,
            uplinks: balance.rows,
            course,
            jobs,
        };
        if let Sink::Files(folder, _) = &sink {
            if let Some(file) = page.and_then(|page| page(&finished)) {
                add_file(folder, &file, &mut finished.manifest);
            }
            write_last(folder, &scenario.resolved, &mut finished.manifest)
                .map_err(RunError::Record)?;
        }
        Ok(finished)
    }
}

/// Entry of the manifest about fast-forward.
fn fast_forward(outcome: &Outcome) -> FastForward {
    let f = &outcome.fast_forwarded;
    FastForward {
        periods: f.periods,
        longest_ps: f.longest.0,
        repeated: f.repeated,
        skipped_ps: f.skipped.0,
        events_skipped: f.events_skipped,
        because: f.because.clone(),
    }
}
