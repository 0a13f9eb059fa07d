//! `xoff run`: any scenario. [`fabric`] handles that of a scheduled fabric.

mod again;
pub mod fabric;

use std::path::{Path, PathBuf};

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use schemars::JsonSchema;
use serde::Serialize;
use xoff_record::verdict::{Allow, Deadlock};
use xoff_record::{FORMATS, Folder, Format, Manifest, Sink, Verdict};
use xoff_run::{Finished, NetworkScenario, Progress, RunError, Running, Scenario};
use xoff_scenario::document::Override;
use xoff_scenario::{Problem, Problems};
use xoff_units::{Bytes, Rate, Span, grouped};

use crate::answer::{Allowed, Answer, refused, unwritten};
use crate::import;
use crate::interrupt;
use crate::out::{self, Force};
use crate::progress::Bar;
use crate::terminal;

/// Run a scenario.
///
/// The results are report.html for a browser, tables (flows, ports, deadlocks, and whatever
/// [probes] records), manifest.json and resolved.toml, the scenario with all its values. A scenario
/// with [scheduled_fabric] instead of [topology] describes a scheduled fabric; its tables are
/// windows, fabric_ports and host_flows.
#[derive(clap::Args)]
#[command(
    after_long_help = "Examples:\n  xoff run scenarios/tutorial/ring.toml  # results in out/ring\n  xoff run scenarios/tutorial/ring.toml --out out/ring-gfc \\\n    --set flow_control=gfc-buffer --set switch.discipline=round-robin\n  xoff run scenarios/bench/websearch.toml --set run.duration=4ms \\\n    --out out/web --checkpoint 10min\n  xoff run --resume out/web  # after it was killed\n  xoff run --from out/web --at 3.2ms --set failure[0].link=A1-C1 \\\n    --set failure[0].at=3.2ms --out out/web-failed"
)]
pub struct Args {
    /// Scenario file
    #[arg(required_unless_present_any = ["resume", "from"], conflicts_with_all = ["resume", "from"])]
    scenario: Option<PathBuf>,
    /// Write the results into this folder; replace only results of the same subcommand [default:
    /// out/SCENARIO]
    #[arg(long, value_name = "DIR", conflicts_with = "resume")]
    out: Option<PathBuf>,
    #[command(flatten)]
    pub force: Force,
    /// Continue the killed or interrupted run in this folder from its last checkpoint: same rows,
    /// same hash
    #[arg(
        long,
        value_name = "DIR",
        conflicts_with_all = ["seed", "set", "format", "threads", "engine", "no_report", "checkpoint", "from", "at"]
    )]
    resume: Option<PathBuf>,
    /// Continue a copy of the run in this folder from the time --at with other settings, such as a
    /// failed link
    #[arg(long, value_name = "DIR", requires_all = ["at", "out"])]
    from: Option<PathBuf>,
    /// Start the copy of --from at this time, such as 3.2ms
    #[arg(long, value_name = "TIME", requires = "from")]
    at: Option<String>,
    /// Write a checkpoint at this interval of real time, such as 10min; replaces run.checkpoint
    #[arg(long, value_name = "INTERVAL")]
    checkpoint: Option<String>,
    /// Set the seed of every random stream; replaces run.seed
    #[arg(long)]
    pub seed: Option<u64>,
    /// Set a value of the scenario, such as flow_control=gfc-buffer or run.duration=5ms; may be
    /// repeated
    #[arg(long, value_name = "PATH=VALUE")]
    pub set: Vec<String>,
    /// Write the tables in this format
    #[arg(long, value_name = "FORMAT", default_value = FORMATS[0].name, value_parser = format())]
    pub format: &'static Format,
    /// Use N threads; never changes a result [default: as many as the machine has and the network
    /// keeps busy; one for a scheduled fabric]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub threads: Option<u32>,
    /// Process events window by window (windows), in one global order (events), or whichever is
    /// faster (auto); never changes a result
    #[arg(long, value_enum, default_value_t, value_name = "ENGINE")]
    pub engine: EngineName,
    /// Write no report.html: tables, manifest and scenario only
    #[arg(long)]
    no_report: bool,
    #[command(flatten)]
    pub allowed: Allowed,
    /// Also print engine, speed, fast-forward, times and the result hash
    #[arg(short, long)]
    pub verbose: bool,
}

/// Engine: the order in which events are handled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum EngineName {
    #[default]
    Auto,
    Windows,
    Events,
}

impl From<EngineName> for xoff_run::Engine {
    fn from(name: EngineName) -> Self {
        match name {
            EngineName::Auto => xoff_run::Engine::Auto,
            EngineName::Windows => xoff_run::Engine::Windows,
            EngineName::Events => xoff_run::Engine::Events,
        }
    }
}

/// Owner of the folders of results.
pub const COMMAND: &str = "run";

/// Reads the name of a format.
fn format() -> impl TypedValueParser<Value = &'static Format> {
    let names = FORMATS.iter().map(|f| PossibleValue::new(f.name).help(f.about));
    PossibleValuesParser::new(names).map(|name| Format::find(&name).unwrap_or_default())
}

/// Settings of the command line.
pub fn settings(set: &[String], seed: Option<u64>) -> Result<Vec<Override>, Problems> {
    let mut settings = set.iter().map(|s| Override::set(s)).collect::<Result<Vec<_>, Problem>>()?;
    if let Some(seed) = seed {
        settings.push(Override::set(&format!("run.seed={seed}"))?);
    }
    Ok(settings)
}

impl Args {
    /// The scenario file; `None`: a run is continued.
    pub fn scenario(&self) -> Option<&Path> {
        self.scenario.as_deref()
    }

    /// The folder of the results.
    pub fn folder(&self) -> PathBuf {
        let named = self.out.as_ref().or(self.resume.as_ref()).cloned();
        named.unwrap_or_else(|| out::default(self.scenario.as_deref().unwrap_or(Path::new("")), ""))
    }

    /// Claims it, before the work begins.
    pub fn claim(&self) -> Result<Folder, Problems> {
        if let (Some(file), None) = (&self.scenario, &self.out) {
            out::of_this_file(&self.folder(), file, &self.force)?;
        }
        out::claim(
            if self.resume.is_some() { "--resume" } else { "--out" },
            &self.folder(),
            COMMAND,
            &self.force,
        )
    }

    /// Settings that override keys of the scenario.
    pub fn settings(&self) -> Result<Vec<Override>, Problems> {
        let mut settings = settings(&self.set, self.seed)?;
        if let Some(interval) = &self.checkpoint {
            settings.push(Override::option("--checkpoint", "run.checkpoint", interval)?);
        }
        Ok(settings)
    }

    /// Form of the run's answer.
    pub fn ending(&self) -> Ending {
        Ending {
            folder: self.folder(),
            report: !self.no_report,
            allowed: self.allowed.clone(),
            verbose: self.verbose,
        }
    }
}

/// Form of the answer of a run that has been started.
pub struct Ending {
    /// The folder of its results.
    pub folder: PathBuf,
    /// Ends with a report.
    pub report: bool,
    pub allowed: Allowed,
    /// Prints facts about the engine.
    pub verbose: bool,
}

/// Runs it.
pub fn run(args: &Args) -> Result<Answer, Problems> {
    match (&args.resume, &args.from, &args.scenario) {
        (Some(folder), ..) => again::resume(args, folder),
        (_, Some(folder), _) => again::fork(args, folder),
        (.., Some(file)) => begin(args, file),
        _ => unreachable!("the parser requires one of them"),
    }
}

/// Runs a scenario from its start.
fn begin(args: &Args, file: &Path) -> Result<Answer, Problems> {
    let mut scenario =
        match import::or_foreign(Scenario::load(file, &args.settings()?), file, "run")? {
            Scenario::Fabric(scenario) => return fabric::run(args, &scenario),
            Scenario::Network(scenario) => *scenario,
        };
    scenario.engine = args.engine.into();
    terminal::problems(&scenario.warnings);
    interrupt::ask_first();
    let folder = args.claim()?;
    let building = bar();
    building.message(format!(
        "builds the network; the run needs at least {} of memory",
        scenario.memory(1).total()
    ));
    let running = scenario
        .start(Sink::Files(folder, args.format), threads(args.threads))
        .map_err(|e| too_large(e, &scenario))?;
    drop(building);
    if let Some(asked) = args.threads {
        report_threads(asked as usize, running.threads(), running.unsplit());
    }
    to_the_end(&args.ending(), &scenario, running)
}

/// Runs a started run, with its report, and answers.
pub fn to_the_end<'s>(
    ending: &Ending,
    scenario: &'s NetworkScenario,
    running: Running<'s>,
) -> Result<Answer, Problems> {
    let name = ending.folder.display().to_string();
    let running = running.noting(&again::note(&ending.allowed));
    let running = if ending.report {
        running.with_page(|f| Some(xoff_report::view::of_network(scenario, f, &name)))
    } else {
        running
    };
    let bar = bar();
    let finished = running.run(|p| {
        show(&bar, p);
        !interrupt::asked()
    });
    drop(bar);
    let finished = finished.map_err(problem)?;
    warn_since(&finished.manifest, &scenario.warnings);
    let verdict = verdict(&finished.manifest);
    let exit = ending.allowed.exit(verdict);
    let text = text(scenario, &finished, &ending.folder, (&ending.allowed, ending.verbose));
    Ok(Answer::new(text, &json(&finished, &ending.allowed, &ending.folder), exit).next(next(
        scenario,
        &finished,
        &ending.folder,
    )))
}

/// Commands that lead on from a run: after a deadlock the cause, and always the report.
pub fn next(s: &NetworkScenario, f: &Finished, folder: &Path) -> Vec<String> {
    let folder = folder.display().to_string();
    let folder = terminal::word(&folder);
    let explain = f.outcome.deadlocks.first().filter(|_| s.keeps_flows().is_ok()).and_then(|d| {
        let port =
            d.cycle.first().map(|p| s.topology.port_name(p.node, p.port).replacen("->", ":", 1))?;
        let at = rounded_up(Span(d.closed.0))
            .filter(|t| t.0 <= f.outcome.now.0)
            .unwrap_or(Span(d.closed.0));
        Some(format!("xoff explain {folder} {} {}", terminal::word(&port), at.compact()))
    });
    explain.into_iter().chain([format!("xoff view {folder}")]).collect()
}

/// The next time with two digits: 2.9 ms for 2.795 ms.
fn rounded_up(t: Span) -> Option<Span> {
    let step = 10u64.checked_pow(t.0.checked_ilog10()?.saturating_sub(1))?;
    t.0.div_ceil(step).checked_mul(step).map(Span)
}

/// Shows the warnings of a run since `shown`, those of reading its scenario.
fn warn_since(m: &Manifest, shown: &Problems) {
    let mut since = Problems::default();
    m.warnings
        .iter()
        .skip(shown.iter().count())
        .for_each(|w| since.push(Problem::new(w, "").warning()));
    terminal::problems(&since);
}

/// Verdict of a run of this version.
pub fn verdict(m: &xoff_record::Manifest) -> &Verdict {
    m.verdict.as_ref().expect("every run is judged")
}

/// Threads of a run: one in WebAssembly.
fn threads(asked: Option<u32>) -> Option<usize> {
    asked.map(|n| if cfg!(target_family = "wasm") { 1 } else { n as usize })
}

/// Reports the use of the requested threads; the result is the same in any case.
fn report_threads(asked: usize, running: usize, unsplit: Option<&str>) {
    let cores = xoff_run::cores();
    match unsplit {
        _ if cfg!(target_family = "wasm") && asked > 1 => {
            terminal::note(&format!("one thread instead of {asked}: WebAssembly has no more"));
        }
        Some(why) => terminal::note(&format!("one thread instead of {asked}: {why}")),
        None if running < asked => terminal::note(&format!(
            "{running} threads instead of {asked}: there are no more switches or ports to share"
        )),
        None if running > cores => terminal::note(&format!(
            "{} instead of {running}: this process may use no more cores",
            terminal::counted(cores as u64, "thread")
        )),
        None => {}
    }
}

/// Names the section of a network that needs too much memory.
fn too_large(e: RunError, scenario: &NetworkScenario) -> Problems {
    let source = &scenario.source;
    match (&e, source.text().find("[topology")) {
        (RunError::Build(e), Some(at)) if e.key == "topology" => {
            refused(e).at(source.place(at..at + "[topology".len())).into()
        }
        _ => problem(e),
    }
}

/// A run that failed, as problems.
pub fn problem(e: RunError) -> Problems {
    match e {
        RunError::Build(e) => refused(&e).into(),
        RunError::Record(e) => unwritten(&e).into(),
    }
}

/// An empty bar for a run.
pub fn bar() -> Bar {
    Bar::new("{bar:24} {msg} {elapsed_precise:.dim}")
}

/// Shows on a bar how far a run is. The time left supposes that the work per simulated time stays
/// constant.
pub fn show(bar: &Bar, p: &Progress) {
    let part = p.now.as_secs_f64() / p.until.as_secs_f64().max(1e-12);
    bar.done(part);
    let deadlock = if p.deadlocks > 0 { ", deadlock" } else { "" };
    bar.message(format!(
        "simulated {} of {}, {} events, {:.1} million/s, {} left{deadlock}",
        p.now,
        p.until,
        grouped(p.events),
        p.events as f64 / bar.elapsed().as_secs_f64().max(1e-9) / 1e6,
        bar.left(part),
    ));
}

/// Outcome of a run of a network.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Run")]
pub struct Json<'a> {
    #[serde(flatten)]
    manifest: &'a xoff_record::Manifest,
    /// Checks that were violated: loss, order, conservation, accounting.
    violations: u64,
    /// Names of `--allow`.
    allowed: Vec<Allow>,
    /// Folder of the results.
    out: String,
}

/// Answer for programs.
pub fn json<'a>(f: &'a Finished, allowed: &Allowed, out: &Path) -> Json<'a> {
    Json {
        manifest: &f.manifest,
        violations: f.outcome.violations_total,
        allowed: allowed.list(),
        out: out.display().to_string(),
    }
}

/// Flows that are listed one by one.
const FLOWS_MAX: usize = 20;
/// Mechanisms whose effects are shown without --verbose.
const ACTIVE_MAX: usize = 3;

/// Text for people: verdict, flows, network facts; the engine too if `verbose`.
pub fn text(
    s: &NetworkScenario,
    f: &Finished,
    out: &Path,
    (allowed, verbose): (&Allowed, bool),
) -> String {
    let (m, verdict) = (&f.manifest, verdict(&f.manifest));
    let mut t = terminal::pairs();
    let mut row = |name: &str, value: String| {
        t.add_row([name, &value]);
    };
    row("Run", f.summary.ended.clone());
    if m.flows_total > FLOWS_MAX as u64 {
        row(
            "Flows",
            format!("{} of {} complete", grouped(m.flows_completed), grouped(m.flows_total)),
        );
    }
    verdict.not_known().into_iter().for_each(|(name, value)| row(name, value));
    let (active, inactive) = (f.summary.active_mechanisms(), f.summary.inactive_mechanisms());
    let shown = if verbose || active.len() <= ACTIVE_MAX + 1 { active.len() } else { ACTIVE_MAX };
    active.iter().take(shown).for_each(|x| row("Active", (*x).to_owned()));
    if active.len() > shown {
        row("", format!("{} more: --verbose or the report", active.len() - shown));
    }
    inactive.iter().for_each(|x| row("Inactive", (*x).to_owned()));
    m.slowdown.iter().for_each(|x| row("Slowdown", x.words()));
    if let Some(page) = m.files.iter().find(|f| f.name == xoff_report::view::REPORT) {
        row("Report", out.join(&page.name).display().to_string());
    }
    row(
        "Tables",
        format!(
            "{}: {}",
            out.display(),
            f.tables.rows.iter().filter(|r| r.1 > 0).map(|r| r.0).collect::<Vec<_>>().join(", ")
        ),
    );
    let mut text = format!(
        "{}\n{}{}\n{}",
        allowed.headline(&s.title, verdict),
        cycle(verdict),
        flows(s, f),
        terminal::draw(&t)
    );
    if verbose {
        text += &format!("\n{}", engine(m));
    }
    text
}

/// The ports of a deadlock in a line.
pub fn cycle(v: &Verdict) -> String {
    let Deadlock::Found { ports, .. } = &v.parts().deadlock else { return String::new() };
    let first = ports.first().cloned().unwrap_or_default();
    terminal::wrapped(&format!("Cycle: {} waits for {first}", ports.join(" waits for ")))
        .trim_start()
        .to_owned()
}

/// Facts about the engine, in words.
fn engine(m: &Manifest) -> String {
    let mut t = terminal::pairs();
    let mut row = |name: &str, value: String| {
        t.add_row([name, &value]);
    };
    row("Frame-hops", format!("{} ({} data)", grouped(m.frame_hops), grouped(m.data_frame_hops)));
    row(
        "Speed",
        format!(
            "{} events, {:.1} million frame-hops per CPU second{}",
            grouped(m.events),
            m.frame_hops as f64 / m.cpu_seconds.max(1e-9) / 1e6,
            if m.fast_forward.events_skipped > 0 { ", skipped ones included" } else { "" }
        ),
    );
    let engine = match &m.engine_because {
        Some(why) => format!("{}: {why}", m.engine),
        None => m.engine.clone(),
    };
    row("Engine", engine);
    if m.processes > 1 {
        row("Processes", m.processes.to_string());
    }
    row("Fast-forward", fast_forward(m));
    row("Time taken", format!("{:.3} s, CPU {:.3} s", m.wall_seconds, m.cpu_seconds));
    row("Result hash", m.result_hash.clone());
    terminal::draw(&t)
}

/// Work that fast-forward has skipped, or the reason why it skipped none.
fn fast_forward(m: &Manifest) -> String {
    let f = &m.fast_forward;
    match &f.because {
        Some(why) => format!("not used: {why}"),
        None => {
            let recurred =
                (f.periods > 0).then(|| format!("the state recurred after {}", Span(f.longest_ps)));
            let repeated = (f.repeated > 0).then(|| {
                format!("the same flows started {} times in a known state", grouped(f.repeated))
            });
            format!(
                "{} of {} simulated and {} of {} events skipped; {}",
                Span(f.skipped_ps),
                Span::from_secs_f64(m.simulated_seconds),
                grouped(f.events_skipped),
                grouped(m.events),
                recurred.into_iter().chain(repeated).collect::<Vec<_>>().join("; ")
            )
        }
    }
}

/// The flows, if there are few enough to read.
fn flows(s: &NetworkScenario, f: &Finished) -> String {
    let flows = &f.outcome.flows;
    if flows.is_empty() || flows.len() > FLOWS_MAX {
        return String::new();
    }
    let mut t = terminal::table([
        "Flow",
        "From",
        "To",
        "Size",
        "Delivered",
        "Mean rate",
        "Completion time",
    ]);
    for (i, r) in flows.iter().enumerate() {
        let w = &r.flow;
        let size = if w.size == xoff_net::workload::UNLIMITED {
            "unlimited".into()
        } else {
            Bytes(w.size).to_string()
        };
        let lasted = r.received.unwrap_or(f.outcome.now).since(w.start);
        t.add_row([
            i.to_string(),
            s.topology.name(w.src).into(),
            s.topology.name(w.dst).into(),
            size,
            Bytes(r.delivered).to_string(),
            Rate::of(Bytes(r.delivered), lasted).to_string(),
            r.fct().map_or("-".into(), |t: Span| t.to_string()),
        ]);
    }
    format!("\n{}", terminal::draw(&t))
}
