//! `xoff run`: any scenario. That of a scheduled fabric goes on in [`fabric`].

mod again;
pub mod fabric;

use std::path::{Path, PathBuf};

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use schemars::JsonSchema;
use serde::Serialize;
use xoff_record::verdict::Allow;
use xoff_record::{FORMATS, Folder, Format, Manifest, Sink, Verdict};
use xoff_run::{Finished, NetworkScenario, Progress, RunError, Running, Scenario};
use xoff_scenario::document::Override;
use xoff_scenario::{Problem, Problems};
use xoff_units::{Bytes, Rate, Span, grouped};

use crate::answer::{Allowed, Answer, open_ends, refused, unwritten};
use crate::interrupt;
use crate::out::{self, Force};
use crate::progress::Bar;
use crate::terminal;

/// Run a scenario.
///
/// Writes tables (flows, queues, rates, control, deadlocks, pauses, ports, causes), manifest.json, the
/// resolved scenario (resolved.toml) and report.html, a page for any browser, into the folder. What is recorded besides flows, ports and deadlocks is set in [probes].
/// A scenario with [scheduled_fabric] instead of [topology] is that of a scheduled fabric; its tables are windows, fabric_ports and
/// host_flows.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  xoff run scenarios/tutorial/ring.toml --out out/ring\n  xoff run scenarios/tutorial/ring.toml --out out/ring-gfc \\\n    --set flow_control=gfc-buffer --set switch.discipline=round-robin\n  xoff run scenarios/bench/websearch.toml --set run.duration=4ms \\\n    --out out/web --checkpoint 10min\n  xoff run --resume out/web  # after it was killed\n  xoff run --from out/web --at 3.2ms --set failure[0].link=A1-C1 \\\n    --set failure[0].at=3.2ms --out out/web-failed"
)]
pub struct Args {
    /// Scenario file
    #[arg(required_unless_present_any = ["resume", "from"], conflicts_with_all = ["resume", "from"])]
    scenario: Option<PathBuf>,
    /// Folder for the results; created if missing. Only results of the same subcommand are replaced
    #[arg(long, value_name = "DIR", required_unless_present = "resume", conflicts_with = "resume")]
    out: Option<PathBuf>,
    #[command(flatten)]
    pub force: Force,
    /// Continue the run in this folder, which was killed or interrupted, from its last checkpoint: same rows, same hash
    #[arg(
        long,
        value_name = "DIR",
        conflicts_with_all = ["seed", "set", "format", "threads", "engine", "no_report", "checkpoint", "from", "at"]
    )]
    resume: Option<PathBuf>,
    /// Continue a copy of the run in this folder from the time --at with other settings: what if a link failed here?
    #[arg(long, value_name = "DIR", requires = "at")]
    from: Option<PathBuf>,
    /// The time from which --from continues a run, such as 3.2ms
    #[arg(long, value_name = "TIME", requires = "from")]
    at: Option<String>,
    /// Write a checkpoint every so often by the clock, such as 10min; replaces run.checkpoint
    #[arg(long, value_name = "INTERVAL")]
    checkpoint: Option<String>,
    /// Seed of every random stream; replaces run.seed
    #[arg(long)]
    pub seed: Option<u64>,
    /// Replace or add a value, such as flow_control=gfc-buffer or run.duration=5ms; may be repeated
    #[arg(long, value_name = "PATH=VALUE")]
    pub set: Vec<String>,
    /// Format of the tables
    #[arg(long, value_name = "FORMAT", default_value = FORMATS[0].name, value_parser = format())]
    pub format: &'static Format,
    /// Threads; by default as many as the machine has and the network keeps busy. Never changes a result
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub threads: Option<u32>,
    /// Order in which events are handled: window by window where that is possible (windows) and pays (auto), or one global order, the
    /// reference (events). Never changes a result
    #[arg(long, value_enum, default_value_t, value_name = "ENGINE")]
    pub engine: EngineName,
    /// Write no report.html: tables, manifest and scenario only
    #[arg(long)]
    no_report: bool,
    #[command(flatten)]
    pub allowed: Allowed,
}

/// How events are handled.
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
    pub fn folder(&self) -> &Path {
        self.out.as_deref().or(self.resume.as_deref()).unwrap_or(Path::new(""))
    }

    /// Claims it, before the work begins.
    pub fn claim(&self) -> Result<Folder, Problems> {
        out::claim(if self.resume.is_some() { "--resume" } else { "--out" }, self.folder(), COMMAND, &self.force)
    }

    /// What is laid over the scenario.
    pub fn settings(&self) -> Result<Vec<Override>, Problems> {
        let mut settings = settings(&self.set, self.seed)?;
        if let Some(interval) = &self.checkpoint {
            settings.push(Override::option("--checkpoint", "run.checkpoint", interval)?);
        }
        Ok(settings)
    }

    /// How the run answers.
    pub fn ending(&self) -> Ending<'_> {
        Ending { folder: self.folder(), report: !self.no_report, allowed: self.allowed.clone() }
    }
}

/// How a run answers that has been started.
pub struct Ending<'a> {
    /// The folder of its results.
    pub folder: &'a Path,
    /// It ends with a page.
    pub report: bool,
    pub allowed: Allowed,
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
    let mut scenario = match Scenario::load(file, &args.settings()?)? {
        Scenario::Fabric(scenario) => return fabric::run(args, &scenario),
        Scenario::Network(scenario) => *scenario,
    };
    scenario.engine = args.engine.into();
    terminal::problems(&scenario.warnings);
    interrupt::ask_first();
    let folder = args.claim()?;
    let running = scenario.start(Sink::Files(folder, args.format), args.threads.map(|n| n as usize)).map_err(problem)?;
    if let Some(asked) = args.threads {
        report_threads(asked as usize, running.threads(), running.unsplit());
    }
    to_the_end(&args.ending(), &scenario, running)
}

/// Runs what has been started, with its page, and answers.
pub fn to_the_end<'s>(ending: &Ending, scenario: &'s NetworkScenario, running: Running<'s>) -> Result<Answer, Problems> {
    let name = ending.folder.display().to_string();
    let running = running.noting(&again::note(&ending.allowed));
    let running = if ending.report { running.with_page(|f| Some(xoff_view::of_network(scenario, f, &name))) } else { running };
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
    let headline = ending.allowed.headline(&scenario.title, verdict);
    let text = format!("{headline}\n\n{}", text(scenario, &finished, ending.folder));
    Ok(Answer::new(text, &json(&finished, &ending.allowed, ending.folder), exit))
}

/// Shows what a run has warned of since `shown`, which its scenario was read with.
fn warn_since(m: &Manifest, shown: &Problems) {
    let mut since = Problems::default();
    m.warnings.iter().skip(shown.iter().count()).for_each(|w| since.push(Problem::new(w, "").warning()));
    terminal::problems(&since);
}

/// What a run of this version came to.
pub fn verdict(m: &xoff_record::Manifest) -> &Verdict {
    m.verdict.as_ref().expect("every run is judged")
}

/// Reports what became of the threads that were asked for; the result is the same in any case.
fn report_threads(asked: usize, running: usize, unsplit: Option<&str>) {
    let cores = xoff_run::cores();
    match unsplit {
        Some(why) => terminal::note(&format!("one thread instead of {asked}: {why}")),
        None if running < asked => terminal::note(&format!("{running} threads instead of {asked}: there are no more switches to share")),
        None if running > cores => terminal::note(&format!("{running} threads share {cores} cores; more than {cores} gain nothing")),
        None => {}
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

/// Shows on a bar how far a run is. The time left supposes that the work per simulated time stays what it was.
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

/// What a run of a network came to.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Run")]
pub struct Json<'a> {
    #[serde(flatten)]
    manifest: &'a xoff_record::Manifest,
    /// Checks that were violated: loss, order, conservation, accounting.
    violations: u64,
    /// What --allow names.
    allowed: Vec<Allow>,
    /// Folder of the results.
    out: String,
}

/// What programs get.
pub fn json<'a>(f: &'a Finished, allowed: &Allowed, out: &std::path::Path) -> Json<'a> {
    Json { manifest: &f.manifest, violations: f.outcome.violations_total, allowed: allowed.list(), out: out.display().to_string() }
}

/// What people get below the headline.
pub fn text(s: &NetworkScenario, f: &Finished, out: &std::path::Path) -> String {
    let m = &f.manifest;
    let mut t = terminal::pairs();
    let mut row = |name: &str, value: String| {
        t.add_row([name, &value]);
    };
    row("Ended because", m.ended_because.clone());
    open_ends(verdict(m)).into_iter().for_each(|(name, value)| row(name, value));
    f.summary.active.iter().for_each(|x| row("Took effect", x.clone()));
    f.summary.inactive.iter().for_each(|x| row("Never triggered", x.clone()));
    row("Flows", format!("{} of {} complete", grouped(m.flows_completed), grouped(m.flows_total)));
    m.slowdown.iter().for_each(|x| row("Slowdown", x.words()));
    row("Frame hops", format!("{}, of these data {}", grouped(m.frame_hops), grouped(m.data_frame_hops)));
    row(
        "Speed",
        format!(
            "{} events, {:.1} million frame hops per CPU second{}",
            grouped(m.events),
            m.frame_hops as f64 / m.cpu_seconds.max(1e-9) / 1e6,
            if m.fast_forward.events_skipped > 0 { ", with those that were skipped" } else { "" }
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
    row("Time taken", format!("{:.3} seconds, on the CPU {:.3} seconds", m.wall_seconds, m.cpu_seconds));
    row("Result hash", m.result_hash.clone());
    if let Some(page) = m.files.iter().find(|f| f.name == xoff_view::REPORT) {
        row("Report", format!("{} (open it in a browser)", out.join(&page.name).display()));
    }
    row("Tables", format!("{} ({})", out.display(), f.tables.rows.iter().filter(|r| r.1 > 0).map(|r| r.0).collect::<Vec<_>>().join(", ")));
    format!("{}{}", terminal::draw(&t), flows(s, f))
}

/// What fast-forward has skipped, or why nothing.
fn fast_forward(m: &Manifest) -> String {
    let f = &m.fast_forward;
    match &f.because {
        Some(why) => format!("nothing skipped: {why}"),
        None => {
            let recurred = (f.periods > 0).then(|| format!("the state recurred after {}", Span(f.longest_ps)));
            let repeated =
                (f.repeated > 0).then(|| format!("{} times the same flows began in a state that was known", grouped(f.repeated)));
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

/// The flows, when there are few enough to read.
fn flows(s: &NetworkScenario, f: &Finished) -> String {
    let flows = &f.outcome.flows;
    if flows.is_empty() || flows.len() > 20 {
        return String::new();
    }
    let mut t = terminal::table(["Flow", "From", "To", "Size", "Delivered", "Mean rate", "Completion time"]);
    for (i, r) in flows.iter().enumerate() {
        let w = &r.flow;
        let size = if w.size == xoff_workload::UNLIMITED { "unlimited".into() } else { Bytes(w.size).to_string() };
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
