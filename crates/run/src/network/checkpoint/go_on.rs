//! From checkpoints to a resumed run.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use xoff_record::{Folder, Format, OutputError, Sink};
use xoff_scenario::document::Override;
use xoff_scenario::{Problem, Problems};
use xoff_sim::{Engine, World};
use xoff_units::Time;
use xoff_units::state::{Broken, Reader};

use super::file::{self, Header};
use super::{Checkpoints, FOLDER, Kept, ROWS, RowLog, is_finished, owned, rows};
use crate::manifest::{Clocks, RunError};
use crate::network::execute::{ALONE, Running, Whereabouts};
use crate::network::{Course, NetworkScenario};
use crate::scenario::Scenario;

/// The files of checkpoints in a folder, and their places.
pub(super) fn list(folder: &Path) -> Vec<(PathBuf, usize)> {
    let place = |path: &Path| path.file_name()?.to_str()?.strip_suffix(".checkpoint")?.parse().ok();
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path());
    entries.filter_map(|path| place(&path).map(|slot| (path, slot))).collect()
}

/// The newest checkpoint with a header, whole or not.
pub(super) fn newest(folder: &Path) -> Option<(PathBuf, Header)> {
    let headers = list(folder)
        .into_iter()
        .filter_map(|(path, _)| file::header(&path).ok().map(|h| (path, h)));
    headers.max_by_key(|(_, h)| h.events)
}

/// A checkpoint from which a run can resume.
pub struct Saved {
    /// The folder of checkpoints that it is in.
    folder: PathBuf,
    path: PathBuf,
    header: Header,
    state: Vec<u8>,
    /// All that are in the folder and belong to the same run, by age.
    kept: Vec<Kept>,
    /// Newer ones that cannot be used, and why.
    passed_over: Vec<String>,
}

impl Saved {
    /// The newest checkpoint in the folder of an unfinished run.
    ///
    /// # Errors
    /// There is none, none can be used, or the run is finished; each with the reason.
    pub fn newest(root: &Path) -> Result<Saved, Problem> {
        let folder = root.join(FOLDER);
        if let Some((_, header)) = newest(&folder)
            && is_finished(root, &header)
        {
            let what =
                format!("the run in {} is complete: there is nothing to resume", root.display());
            let hint = format!(
                "to continue a copy from a given time: xoff run --from {} --at TIME --out NEW",
                root.display()
            );
            return Err(Problem::new(what, hint));
        }
        let hint = "to write checkpoints, set run.checkpoint or use --checkpoint 10min";
        Saved::before(root, Time::NEVER)?.ok_or_else(|| {
            let what = match (root.is_dir(), root.join(xoff_record::manifest::MANIFEST).is_file()) {
                (false, _) => format!("there is no folder {}", root.display()),
                (true, true) => {
                    format!("the run in {} is complete and has no checkpoints", root.display())
                }
                (true, false) => format!("there are no checkpoints in {}", folder.display()),
            };
            Problem::new(what, hint)
        })
    }

    /// The newest checkpoint at or before a time that can be used; `None`: there is no checkpoint
    /// so early.
    ///
    /// # Errors
    /// There are some, and none of them can be used: the reason.
    pub(super) fn before(root: &Path, at: Time) -> Result<Option<Saved>, Problem> {
        let folder = root.join(FOLDER);
        let (mut unusable, mut all) = (Vec::new(), Vec::new());
        for (path, slot) in list(&folder) {
            match file::header(&path) {
                Ok(header) => all.push((header, path, slot)),
                Err(e) => unusable.push((path, e.to_string())),
            }
        }
        all.sort_by_key(|(h, ..)| std::cmp::Reverse(h.events));
        all.retain(|(h, ..)| Time(h.time_ps) <= at);
        let kept: Vec<Kept> =
            all.iter().rev().map(|(h, _, slot)| Kept { slot: *slot, events: h.events }).collect();
        for (header, path, _) in all {
            let events = header.events;
            match usable(header, &path) {
                Ok((header, state)) => {
                    let kept = kept.into_iter().filter(|k| k.events <= events).collect();
                    let words = |(path, why): (PathBuf, String)| {
                        format!("xoff skipped {}: {why}", path.display())
                    };
                    let passed_over = unusable.into_iter().map(words).collect();
                    return Ok(Some(Saved { folder, path, header, state, kept, passed_over }));
                }
                Err(why) => unusable.push((path, why)),
            }
        }
        match unusable.into_iter().next() {
            None => Ok(None),
            Some((path, why)) => Err(Problem::new(
                format!("xoff cannot use {}: {why}", path.display()),
                "run the scenario again; only the build that wrote a checkpoint can use it",
            )),
        }
    }

    /// The newest checkpoint of a run of this scenario at or before a time that can be used, if
    /// there is one.
    pub(crate) fn of(s: &NetworkScenario, root: &Path, at: Time) -> Option<Saved> {
        let saved = Saved::before(root, at).ok().flatten()?;
        // Read from the results of the run, its text is the resolved one.
        let same = [&*s.resolved, s.source.text()].contains(&&*saved.header.resolved);
        (same && saved.header.digest == s.digest()).then_some(saved)
    }

    /// Reasons why newer checkpoints were skipped.
    pub fn passed_over(&self) -> &[String] {
        &self.passed_over
    }

    /// Simulated time reached.
    pub fn time(&self) -> Time {
        Time(self.header.time_ps)
    }

    /// Note of the command that started the run, for itself.
    pub fn note(&self) -> &str {
        &self.header.note
    }

    /// The run ends with a page.
    pub fn page(&self) -> bool {
        self.header.page
    }

    /// The format of the tables.
    pub fn format(&self) -> &'static Format {
        Format::find(&self.header.format).unwrap_or_default()
    }

    /// The scenario as it was resolved, and where its files are.
    pub(super) fn resolved(&self) -> (&str, &Path) {
        (&self.header.resolved, &self.header.given.folder)
    }

    /// The scenario of the run, read again.
    ///
    /// # Errors
    /// It cannot be read any more, or is another one by now.
    pub fn scenario(&self) -> Result<Scenario, Problems> {
        let given = &self.header.given;
        let settings = given
            .settings
            .iter()
            .map(|(name, text)| Override::from_origin(name, text))
            .collect::<Result<Vec<_>, _>>()?;
        let mut scenario = Scenario::from_text(&given.name, &given.text, &settings, &given.folder)?;
        let forks = matches!(scenario, Scenario::Network(_));
        let changed = |what: String| {
            let mut hint = "restore the file, or start a new run".to_owned();
            if forks {
                let from = self.path.display();
                hint += &format!("; to continue with other settings, use xoff run --from ({from})");
            }
            Problems::from(Problem::new(what, hint))
        };
        if fs::read_to_string(&given.name).is_ok_and(|now| now != given.text) {
            return Err(changed(format!("{} has changed since the run started", given.name)));
        }
        let (resolved, digest) = match &mut scenario {
            Scenario::Network(s) => {
                s.engine = self.engine();
                (&s.resolved, s.digest())
            }
            Scenario::Fabric(s) => (&s.resolved, s.digest()),
        };
        if *resolved != self.header.resolved || digest != self.header.digest {
            return Err(changed(format!(
                "input files of {} have changed since the run started",
                given.name
            )));
        }
        Ok(scenario)
    }

    pub(crate) fn engine(&self) -> Engine {
        match self.header.engine.as_str() {
            "windows" => Engine::Windows,
            "events" => Engine::Events,
            _ => Engine::Auto,
        }
    }

    pub(super) fn digest(&self) -> u64 {
        self.header.digest
    }

    pub(crate) fn threads(&self) -> usize {
        self.header.threads
    }

    /// Gives a world the state.
    pub(crate) fn restore(&self, world: &mut World) -> Result<Option<Course>, Problem> {
        let mut from = Reader::new(&self.state);
        let read = from.bytes().and_then(|state| {
            world.restore(state)?;
            from.take()
        });
        read.map_err(|broken| self.unfit(&broken))
    }

    fn unfit(&self, broken: &Broken) -> Problem {
        Problem::new(
            format!("{} does not fit the scenario: {broken}", self.path.display()),
            "run the scenario again",
        )
    }

    /// Gives the world of a scheduled fabric the state, and its clocks the time taken before.
    pub(crate) fn restore_fabric(
        &self,
        world: &mut xoff_sim::scheduled::World,
        clocks: &mut Clocks,
    ) -> Result<(), Problem> {
        world.restore(&self.state).map_err(|broken| self.unfit(&broken))?;
        let h = &self.header;
        clocks.go_on(&h.started, h.wall_seconds, h.cpu_seconds);
        Ok(())
    }

    /// A run that resumes from here, in its own folder or in another one.
    fn running<'s>(
        &self,
        s: &'s NetworkScenario,
        folder: Folder,
        format: &'static Format,
        goes_on: bool,
    ) -> Result<Running<'s>, Problems> {
        let of = Whereabouts { threads: self.threads(), ..ALONE };
        let sink = Sink::Files(folder.clone(), format);
        let mut running = s.start_without_checkpoints(sink, of, None).map_err(problems)?;
        if running.world.threads() != self.threads() {
            return Err(Problem::new(
                format!("{} was written with {} threads", self.path.display(), self.threads()),
                "run the scenario again",
            )
            .into());
        }
        let course = self.restore(&mut running.world)?;
        running.again = course.filter(|_| self.page());
        let mut recorder = running.world.take_recorder();
        let rows_at = self.folder.join(ROWS);
        let fed = rows::read(&rows_at, self.header.rows, running.ports.len() as u32, |row| {
            recorder.iter_mut().for_each(|r| r.row(row))
        });
        fed.map_err(|why| {
            Problem::new(
                format!("xoff cannot use {}: {why}", rows_at.display()),
                "run the scenario again",
            )
        })?;
        if let Some(recorder) = recorder {
            running.world.record_to(recorder);
        }
        if goes_on {
            running.clocks.go_on(
                &self.header.started,
                self.header.wall_seconds,
                self.header.cpu_seconds,
            );
        }
        let header = s.header(format.name, self.threads(), &running.clocks);
        let checkpoints = self.checkpoints(s.checkpoint, &folder, header, goes_on)?;
        checkpoints.into_iter().for_each(|c| running.keep(c));
        Ok(running)
    }

    /// Checkpoints of a run that resumes from here, in its own folder or in another one.
    pub(crate) fn checkpoints(
        &self,
        every: Option<Duration>,
        folder: &Folder,
        mut header: Header,
        goes_on: bool,
    ) -> Result<Option<Checkpoints>, Problems> {
        let Some(every) = every else { return Ok(None) };
        let rows_at = self.folder.join(ROWS);
        let sub = folder.sub(FOLDER).map_err(|e| written(&e))?;
        let path = owned(&sub, ROWS).map_err(|e| problems(RunError::Record(e)))?;
        let log = if goes_on {
            RowLog::go_on(&path, self.header.rows)
        } else {
            rows::copy(&rows_at, self.header.rows, &path)
        };
        let log =
            log.map_err(|e| Problem::new(format!("cannot write {}: {e}", path.display()), ""))?;
        let kept = if goes_on { self.kept.clone() } else { Vec::new() };
        if !goes_on {
            list(&sub.path()).iter().for_each(|(path, _)| _ = fs::remove_file(path)); // those of earlier results
        }
        for k in &kept {
            owned(&sub, &super::name(k.slot)).map_err(|e| problems(RunError::Record(e)))?;
        }
        header.build.clone_from(&self.header.build);
        Ok(Some(Checkpoints::new(every, sub, header, log, kept)))
    }

    /// The run resumes in the folder in which it stopped.
    ///
    /// # Errors
    /// The state is none of this scenario, rows are missing, or a table cannot be written.
    pub fn resume<'s>(
        &self,
        s: &'s NetworkScenario,
        folder: Folder,
    ) -> Result<Running<'s>, Problems> {
        self.running(s, folder, self.format(), true)
    }

    /// A run of another scenario continues from here in a separate folder; see
    /// [`Fork`](super::Fork).
    pub(super) fn fork<'s>(
        &self,
        s: &'s NetworkScenario,
        folder: Folder,
        format: &'static Format,
    ) -> Result<Running<'s>, Problems> {
        self.running(s, folder, format, false)
    }
}

/// Header and state, if this build of xoff can use them.
pub(super) fn usable(header: Header, path: &Path) -> Result<(Header, Vec<u8>), String> {
    if header.xoff != crate::VERSION {
        return Err(format!(
            "xoff {} wrote the file, but this is xoff {}",
            header.xoff,
            crate::VERSION
        ));
    }
    if header.build != file::build() {
        return Err(format!("another build of xoff {} wrote the file", header.xoff));
    }
    file::read(path).map_err(|e| e.to_string())
}

fn written(e: &OutputError) -> Problems {
    Problem::new(e.what.clone(), e.hint.clone()).into()
}

/// A run that cannot begin, as problems.
pub(crate) fn problems(e: RunError) -> Problems {
    match e {
        RunError::Build(e) => Problem::new(format!("{}: {}", e.key, e.what), e.hint).into(),
        RunError::Record(e) => Problem::new(e.to_string(), e.hint).into(),
    }
}
