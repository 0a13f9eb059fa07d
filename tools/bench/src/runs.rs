//! Measures the rows of the table, one run of `xoff` at a time.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use indicatif::{ProgressBar, ProgressStyle};

use crate::child::{Run, Xoff};
use crate::growth::{self, Curve};
use crate::machine::Machine;
use crate::results::{Report, Row, Stat};
use crate::targets as t;
use crate::{Failed, engines, forwarding, hpcc_case, memory, queue, threads};

/// Runs of a figure, unless they take long.
const RUNS: usize = 5;
/// A figure whose first run took less [s] gets that many: short runs feel every neighbour.
const SHORT: (f64, usize) = (1.0, 11);
/// A figure whose first run took longer gets three runs [s].
const LONG: f64 = 5.0;
/// A figure whose first run took longer gets no second one [s].
const VERY_LONG: f64 = 60.0;

/// Tools of a benchmark.
pub struct Bench {
    /// The program.
    pub xoff: Xoff,
    /// Folder of the scenarios.
    pub scenarios: PathBuf,
    /// Folder of the written files.
    pub out: PathBuf,
    /// Longest time of a run.
    limit: Duration,
    /// Without what takes minutes.
    pub quick: bool,
    bar: ProgressBar,
}

impl Bench {
    /// Looks whether scenarios and folder are there.
    pub fn new(
        xoff: Xoff,
        scenarios: &Path,
        out: &Path,
        limit: Duration,
        quick: bool,
    ) -> Result<Bench, Failed> {
        if !scenarios.is_dir() {
            return Err(format!(
                "no folder {}: start from the root of the repository, or give --scenarios",
                scenarios.display()
            ));
        }
        std::fs::create_dir_all(out)
            .map_err(|e| format!("cannot create {}: {e}", out.display()))?;
        let bar = ProgressBar::new_spinner();
        bar.set_style(
            ProgressStyle::with_template("{spinner} {msg} {elapsed:.dim}")
                .unwrap_or(ProgressStyle::default_spinner()),
        );
        bar.enable_steady_tick(Duration::from_millis(200));
        Ok(Bench { xoff, scenarios: scenarios.to_owned(), out: out.to_owned(), limit, quick, bar })
    }

    /// Path of a scenario.
    pub fn scenario(&self, name: &str) -> String {
        self.scenarios.join(name).display().to_string()
    }

    /// One run of a scenario with settings (`path=value`) and threads.
    pub fn once(&self, scenario: &str, settings: &[&str], threads: u32) -> Result<Run, Failed> {
        self.beside(scenario, settings, threads, "run")
    }

    /// Run on one thread with an engine: `windows` or `events`.
    pub fn with_engine(
        &self,
        scenario: &str,
        settings: &[&str],
        engine: &str,
    ) -> Result<Run, Failed> {
        let mut args = self.args(scenario, settings, 1);
        args.extend(["--engine".into(), engine.into()]);
        self.start(args)
    }

    /// Run with a separate folder for its results: it may run in parallel with another one.
    pub fn beside(
        &self,
        scenario: &str,
        settings: &[&str],
        threads: u32,
        folder: &str,
    ) -> Result<Run, Failed> {
        self.start_in(self.args(scenario, settings, threads), folder)
    }

    fn args(&self, scenario: &str, settings: &[&str], threads: u32) -> Vec<String> {
        let args = [
            "run".into(),
            self.scenario(scenario),
            "--no-report".into(),
            "--threads".into(),
            threads.to_string(),
        ];
        args.into_iter()
            .chain(settings.iter().flat_map(|s| ["--set".into(), (*s).into()]))
            .collect()
    }

    fn start(&self, args: Vec<String>) -> Result<Run, Failed> {
        // A folder belongs to one subcommand.
        let folder = args[0].clone();
        self.start_in(args, &folder)
    }

    fn start_in(&self, mut args: Vec<String>, folder: &str) -> Result<Run, Failed> {
        let folder = self.out.join(format!("results-{folder}"));
        args.extend(["--out".into(), folder.display().to_string()]);
        self.xoff.run(&args, self.limit)
    }

    /// Several runs; the first failure ends them.
    pub fn several(
        &self,
        what: &str,
        run: impl Fn() -> Result<Run, Failed>,
    ) -> Result<Vec<Run>, Failed> {
        self.report(what);
        let mut runs = vec![run().inspect_err(|e| self.done(what, e))?];
        let wanted = match runs[0].process_seconds {
            s if s > VERY_LONG => 1,
            s if s > LONG => 3,
            s if s < SHORT.0 => SHORT.1,
            _ => RUNS,
        };
        while runs.len() < wanted {
            runs.push(run().inspect_err(|e| self.done(what, e))?);
        }
        let speed = stat(&runs, Run::speed)?;
        self.done(
            what,
            &format!("{:.2} M frame-hops per CPU second, {} runs", speed.median / 1e6, speed.runs),
        );
        Ok(runs)
    }

    /// Prints what is being measured.
    pub fn report(&self, what: &str) {
        self.bar.set_message(what.to_owned());
    }

    /// Prints the result.
    pub fn done(&self, what: &str, result: &str) {
        self.bar.suspend(|| eprintln!("{what}: {result}"));
    }

    /// Measures everything.
    pub fn run(&self) -> Result<Report, Failed> {
        let hosts = growth::Hosts::measure(self);
        let frames = growth::frames(self);
        let others = [
            growth::cables(self),
            growth::messages(self),
            growth::time(self),
            growth::threads(self),
        ];
        // After the curves: the queue alone makes this process large, and a child's peak counts
        // what it was forked from.
        let rows = self.rows(&hosts, &frames);
        let growth: Vec<Curve> = [hosts.curve(), frames].into_iter().chain(others).collect();
        let hashes = threads::hashes(self);
        self.bar.finish_and_clear();
        let now = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
        Ok(Report {
            measured: now,
            xoff_version: env!("CARGO_PKG_VERSION").into(),
            machine: Machine::this(),
            rows,
            growth,
            hashes,
        })
    }

    /// Measures some rows only.
    pub fn only(&self, rows: impl Fn(&Bench) -> Vec<Row>) -> Report {
        let rows = rows(self);
        self.bar.finish_and_clear();
        let now = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
        let (growth, hashes) = (Vec::new(), Vec::new());
        Report {
            measured: now,
            xoff_version: env!("CARGO_PKG_VERSION").into(),
            machine: Machine::this(),
            rows,
            growth,
            hashes,
        }
    }

    fn rows(&self, hosts: &growth::Hosts, frames: &Curve) -> Vec<Row> {
        let hpcc = self.hpcc();
        let scenario =
            self.several("scenario, k = 8, WebSearch", || self.once("websearch.toml", &[], 1));
        let short_web = ["topology.k=16", "workload[0].duration=300us"];
        let k16_web =
            self.several("k = 16, WebSearch", || self.once("websearch.toml", &short_web, 1));
        let k102 = self.largest();
        let (job, ranks) = (self.job(), self.ranks());
        let (k8, k16, k64) = (hosts.runs(8), hosts.runs(16), hosts.runs(64));
        let share = figure(k8, Run::speed)
            .and_then(|k8| Ok(figure(k64, Run::speed)?.map(|v| v / k8.median)));
        let known = |size: Option<Stat>| size.ok_or_else(|| "no size".to_owned());
        let mut rows = vec![
            t::HPCC_CPU.row(figure(&hpcc, |r| r.answer.cpu_seconds)),
            t::HPCC_SPEED.row(figure(&hpcc, Run::speed)),
            t::TOML_SPEED.row(figure(&scenario, Run::speed)),
            t::K8_PERMUTATION.row(figure(k8, Run::speed)),
            t::K16_PERMUTATION.row(figure(k16, Run::speed)),
            t::K16_WEBSEARCH.row(figure(&k16_web, Run::speed)),
            t::K64_SETUP.row(figure(k64, Run::setup_seconds)),
            t::K64_MEMORY.row(figure(k64, |r| r.peak_bytes as f64)),
            t::K64_SPEED.row(figure(k64, Run::speed)),
            t::K64_SHARE.row(share),
            t::K102_CLOCK.row(figure(&k102, |r| r.process_seconds)),
            t::K102_MEMORY.row(figure(&k102, |r| r.peak_bytes as f64)),
            t::K102_SPEED.row(figure(&k102, Run::speed)),
            t::QUEUE_SHARE.row(queue::queue_alone_share(self)),
            t::FRAMES_GROWTH.row(frames.growth()),
            t::ENGINES_WEBSEARCH.row(engines::ratio(
                self,
                "websearch.toml",
                &["workload[0].duration=1ms"],
            )),
            t::ENGINES_PERMUTATION.row(engines::ratio(
                self,
                "permutation.toml",
                &["topology.k=16"],
            )),
            t::ENGINES_LARGE.row(engines::ratio(
                self,
                "permutation.toml",
                &["topology.k=32", "run.duration=30us"],
            )),
            t::RING_SAVED.row(self.saved("ring.toml")),
            t::INCAST_SAVED.row(self.saved("incast.toml")),
            t::ITERATIONS_SAVED.row(self.saved("iterations.toml")),
            t::JOB_SAVED.row(figure(&job, Run::saved)),
            t::JOB_CPU.row(figure(&job, |r| r.answer.cpu_seconds)),
            t::RANKS_CLOCK.row(figure(&ranks, |r| r.process_seconds)),
            t::RANKS_MEMORY.row(figure(&ranks, |r| r.peak_bytes as f64)),
            t::RANKS_SPEED.row(figure(&ranks, Run::speed)),
            t::THREADS_RATIO.row(threads::ratio(self)),
            t::THREADS_CEILING.row(threads::ceiling(self)),
            t::FRAME_MEMORY.row(known(memory::per_frame())),
            t::PORT_MEMORY.row(known(memory::per_idle_port())),
            t::SHORT_RUN.row(self.short_run()),
        ];
        rows.extend(forwarding::rows(self));
        rows
    }

    fn hpcc(&self) -> Result<Vec<Run>, Failed> {
        let config = hpcc_case::write(&self.out.join("hpcc"), 8, "5ms")?;
        self.several("HPCC format, k = 8, WebSearch", || {
            self.start(vec!["hpcc".into(), config.display().to_string()])
        })
    }

    /// The largest network; minutes.
    fn largest(&self) -> Result<Vec<Run>, Failed> {
        if self.quick {
            return Err("left out by --quick".into());
        }
        self.several("k = 102, permutation", || {
            self.once("permutation.toml", &["topology.k=102", "run.duration=20us"], 1)
        })
    }

    /// A job that does the same again and again.
    fn job(&self) -> Result<Vec<Run>, Failed> {
        self.several("100 iterations of 128 ranks", || self.once("job.toml", &[], 1))
    }

    /// A job of many ranks: the scenario that its page describes, about a minute.
    fn ranks(&self) -> Result<Vec<Run>, Failed> {
        if self.quick {
            return Err("left out by --quick".into());
        }
        self.several("1,024 ranks", || self.once("../training/thousand.toml", &[], 1))
    }

    /// Work that fast-forward saves; a count, so one run is enough.
    fn saved(&self, scenario: &str) -> Result<Stat, Failed> {
        self.report(scenario);
        let saved = self.once(scenario, &[], 1)?.saved();
        self.done(scenario, &format!("{saved:.1} events for each one handled"));
        stat_of([saved])
    }

    /// From start to exit, on the clock.
    fn short_run(&self) -> Result<Stat, Failed> {
        let what = "ten flows, start to exit";
        self.report(what);
        let times = (0..20)
            .map(|_| Ok(self.once("ten-flows.toml", &[], 1)?.process_seconds))
            .collect::<Result<Vec<f64>, Failed>>()?;
        let stat = Stat::of(times).ok_or("no run")?;
        self.done(what, &format!("{:.1} ms", stat.median * 1e3));
        Ok(stat)
    }
}

/// A figure of each run.
pub fn stat(runs: &[Run], of: impl Fn(&Run) -> f64) -> Result<Stat, Failed> {
    stat_of(runs.iter().map(of))
}

/// Statistic of these values.
pub fn stat_of(values: impl IntoIterator<Item = f64>) -> Result<Stat, Failed> {
    Stat::of(values).ok_or_else(|| "no run".into())
}

/// A figure of each run, if they ended well.
pub fn figure(runs: &Result<Vec<Run>, Failed>, of: impl Fn(&Run) -> f64) -> Result<Stat, Failed> {
    stat(runs.as_ref().map_err(Clone::clone)?, of)
}
