//! `xoff explain`: the causal chain from a pause back to its root, and that of the message for
//! which a job waited longest.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;
use xoff_record::{JobAnswer, Manifest, Sink, StragglerAnswer};
use xoff_run::{
    Circle, Explanation, How, MessageExplanation, NetworkScenario, Root, Scenario, explain_in,
    explain_message,
};
use xoff_scenario::{Problem, Problems};
use xoff_units::Time;

use crate::answer::{Answer, Exit, refused, unwritten};
use crate::caller::{self, Caller};
use crate::run::{bar, problem};
use crate::{interrupt, terminal, waits};

/// Explain why a port was paused: which flows filled which buffer, back to the root.
///
/// xoff repeats the run up to that time and records the contents of the buffer whenever a port is
/// paused or slowed down. Of a scheduled fabric it shows what waits at a port, and for what. Nothing
/// in the run's folder changes.
#[derive(clap::Args)]
#[command(
    after_long_help = "Examples:\n  xoff run scenarios/tutorial/ring.toml\n  xoff explain out/ring H1:S1 15ms\n  xoff explain scenarios/tutorial/ring.toml S1:S2 2.9ms\n  xoff explain scenarios/training/all-reduce.toml --straggler\n\nA port is named by its two ends: H1:S1 is H1's port towards S1. H1->S1 works too; quote it in a shell."
)]
pub struct Args {
    /// Folder of a run, or a scenario file
    pub run: PathBuf,
    /// Port to explain, as FROM:TO; a port of a scheduled fabric, as P3
    #[arg(required_unless_present = "straggler")]
    port: Option<String>,
    /// Time, such as 2.9ms
    #[arg(required_unless_present = "straggler")]
    time: Option<String>,
    /// Explain this priority [default: the lowest one that was paused]
    #[arg(long, value_parser = clap::value_parser!(u8).range(0..8))]
    pub priority: Option<u8>,
    /// Explain the message that the longest iteration of a job waited for longest; name a job, or a
    /// job and an iteration from 0
    #[arg(long, value_name = "JOB:ITERATION", num_args = 0..=1, require_equals = true, default_missing_value = "", conflicts_with_all = ["port", "time", "priority"])]
    straggler: Option<String>,
}

/// Explains it.
pub fn run(args: &Args) -> Result<Answer, Problems> {
    interrupt::end_at_once();
    if let Some(which) = &args.straggler {
        return straggler(&args.run, which);
    }
    let (port, time) =
        (args.port.as_deref().unwrap_or_default(), args.time.as_deref().unwrap_or_default());
    in_order(&[args.run.as_os_str(), port.as_ref(), time.as_ref()], "explain")?;
    let at = parse_time(time)?;
    let scenario = match load_any(&args.run)? {
        Scenario::Network(scenario) => *scenario,
        Scenario::Fabric(scenario) => return waits::explain(args, &scenario, (port, at)),
    };
    let folder = Some(args.run.as_path()).filter(|run| run.is_dir());
    let e = explain_in(&scenario, folder, port, at, args.priority, repeats(at))
        .map_err(|e| refused(&e))?;
    let text = e.to_string();
    let (head, steps) = text.split_once('\n').unwrap_or((&text, ""));
    let head = terminal::hanging(head, "");
    let head = head.trim_end();
    let head = match e.root {
        Root::NotHeld => terminal::good(head),
        Root::Cycle { circle: Circle::Deadlock, .. } => terminal::bad(head),
        _ => terminal::caution(head),
    };
    let tree = format!(
        "xoff tree {} {}",
        terminal::word(&args.run.display().to_string()),
        terminal::word(time)
    );
    let next = (e.root != Root::NotHeld).then_some(tree);
    let steps: String = steps.lines().map(|line| terminal::hanging(line, "   ")).collect();
    Ok(Answer::new(format!("{head}\n{steps}"), &json(&e), Exit::Done).next(next))
}

/// The message that an iteration of a job waited for longest, and why.
fn straggler(run: &Path, which: &str) -> Result<Answer, Problems> {
    let scenario = load(run)?;
    let jobs = if run.is_dir() && caller::present().as_deref().and_then(Caller::scenario).is_none()
    {
        Manifest::read(run).map_err(|e| unwritten(&e))?.jobs
    } else {
        let mut look = repeats(scenario.until);
        scenario
            .start(Sink::Nothing, None)
            .map_err(problem)?
            .run(|p| look(p.now))
            .map_err(problem)?
            .manifest
            .jobs
    };
    let (job, iteration, s) = find_straggler(&jobs, which)?;
    let (from, to) = (Time(s.start_ps), Time(s.end_ps));
    let e = explain_message(&scenario, s.flow as u32, (from, to), repeats(to))
        .map_err(|e| refused(&e))?;
    let text = format!(
        "Job {}, iteration {iteration}, rank {} to rank {}.\n{e}",
        job.name, s.from_rank, s.to_rank
    );
    let nothing = Explanation { at: to, steps: Vec::new(), root: Root::NotHeld };
    let answer = Json {
        straggler: Some(json_straggler(job, iteration, s, &e)),
        ..json(e.chain.as_ref().unwrap_or(&nothing))
    };
    Ok(Answer::new(text, &answer, Exit::Done))
}

/// The job, iteration and straggler that `--straggler` names.
fn find_straggler<'j>(
    jobs: &'j [JobAnswer],
    which: &str,
) -> Result<(&'j JobAnswer, usize, &'j StragglerAnswer), Problem> {
    let refuse = |what: String, hint: &str| {
        Err(Problem::new(what, hint).at(terminal::option("--straggler", which)))
    };
    let names: Vec<&str> = jobs.iter().map(|j| j.name.as_str()).collect();
    let (name, iteration) = match which.rsplit_once(':') {
        Some((name, n)) if !names.contains(&which) => match n.parse::<usize>() {
            Ok(n) => (name, Some(n)),
            Err(_) => {
                return refuse(
                    format!("'{n}' is not an iteration"),
                    "expected a whole number from 0",
                );
            }
        },
        _ => (which, None),
    };
    let job = match jobs.iter().find(|j| j.name == name) {
        Some(job) => job,
        None if jobs.is_empty() => {
            return refuse("the run has no job".into(), "give a port and a time");
        }
        None if name.is_empty() => {
            jobs.iter().find(|j| !j.iterations.is_empty()).unwrap_or(&jobs[0])
        }
        None => {
            return refuse(
                format!("there is no job '{name}'"),
                &format!("expected one of {}", names.join(", ")),
            );
        }
    };
    let at = match iteration {
        // Of equal ones the first.
        None => (0..job.iterations.len()).rev().max_by_key(|&i| job.iterations[i].time_ps),
        n => n.filter(|&n| n < job.iterations.len()),
    };
    let Some(at) = at else {
        let what = format!(
            "job {} completed {} of {} iterations",
            job.name,
            job.iterations.len(),
            job.iterations_planned
        );
        let hint = if job.iterations.is_empty() {
            "to explain an unfinished iteration, give a port and a time"
        } else {
            "name one of those; to explain an unfinished iteration, give a port and a time"
        };
        return refuse(what, hint);
    };
    match &job.iterations[at].straggler {
        Some(s) => Ok((job, at, s)),
        None => refuse(
            format!("iteration {at} of job {} waited for no message of the network", job.name),
            "another iteration",
        ),
    }
}

/// Shows on a bar how far a run is that is repeated up to `until`; it ends when a caller asks for
/// it. Ctrl-C ends the process.
pub fn repeats(until: Time) -> impl FnMut(Time) -> bool {
    let (bar, asked) = (bar(), interrupt::asker());
    move |now| {
        let part = now.as_secs_f64() / until.as_secs_f64().max(1e-12);
        bar.done(part);
        bar.message(format!("repeated {now} of {until}, {} left", bar.left(part)));
        !asked()
    }
}

/// Refuses arguments that were given in another order than RUN [PORT] TIME: the one that is a file
/// or folder comes first, the one that is a time last.
pub fn in_order(args: &[&OsStr], command: &str) -> Result<(), Problem> {
    let is_time = |a: &OsStr| a.to_str().is_some_and(|t| t.parse::<Time>().is_ok());
    let rank = |a: &OsStr| if Path::new(a).exists() { 0 } else { 1 + u8::from(is_time(a)) };
    let mut sorted = args.to_vec();
    sorted.sort_by_key(|a| rank(a));
    let all_there = rank(sorted[0]) == 0 && sorted.last().is_some_and(|a| is_time(a));
    if !all_there || (rank(args[0]) == 0 && is_time(args[args.len() - 1])) {
        return Ok(());
    }
    let quoted: Vec<String> = sorted.iter().map(|a| format!("'{}'", a.to_string_lossy())).collect();
    Err(Problem::new(
        "the arguments are swapped",
        format!("did you mean xoff {command} {}?", quoted.join(" ")),
    ))
}

/// The argument TIME.
pub fn parse_time(text: &str) -> Result<Time, Problem> {
    text.parse().map_err(|e: xoff_units::UnitError| {
        Problem::new(e.what, format!("expected {}", e.expected)).at(terminal::option("TIME", text))
    })
}

/// The scenario of a network, of a run's folder or a scenario file.
pub fn load(path: &Path) -> Result<NetworkScenario, Problems> {
    match load_any(path)? {
        Scenario::Network(scenario) => Ok(*scenario),
        Scenario::Fabric(_) => Err(Problem::new(
            format!("{} is of a scheduled fabric, and this needs a network", path.display()),
            "xoff explain RUN P3 TIME and xoff tree RUN TIME take it",
        )
        .into()),
    }
}

/// The scenario of a run's folder, or a scenario file.
pub fn load_any(path: &Path) -> Result<Scenario, Problems> {
    if let Some((text, folder)) = caller::present().as_deref().and_then(Caller::scenario) {
        return Scenario::from_text(xoff_run::RESOLVED, text, &[], folder);
    }
    if !path.exists() {
        let what = format!("there is no folder or file '{}'", path.display());
        return Err(Problem::new(
            what,
            "expected the folder of a run (--out of xoff run), or a scenario file",
        )
        .into());
    }
    if !path.is_dir() {
        return crate::import::or_foreign(Scenario::load(path, &[]), path, "run");
    }
    let m = Manifest::read(path).map_err(|e| unwritten(&e))?;
    unchanged(path)?;
    let owner = xoff_record::output::owner(path).unwrap_or_default();
    if let Some(real @ ("testbed" | "switch" | "host")) = owner.split_whitespace().next() {
        let what =
            format!("{} belongs to xoff {real}: real frames cannot be repeated", path.display());
        return Err(Problem::new(what, "give the scenario file: xoff simulates it").into());
    }
    if m.xoff_version != xoff_run::VERSION {
        let (then, now) = (&m.xoff_version, xoff_run::VERSION);
        let text = format!(
            "{} was written by xoff {then}; xoff {now} repeats the run, so the answer may differ",
            path.display()
        );
        terminal::note(&text);
    }
    let name = path.join(xoff_run::RESOLVED).display().to_string();
    let s = Scenario::from_text(&name, &m.scenario, &[], Path::new(&m.scenario_folder))?;
    let digest = match &s {
        Scenario::Network(s) => s.inputs_digest(),
        Scenario::Fabric(_) => String::new(),
    };
    if m.xoff_version == xoff_run::VERSION
        && !m.inputs_digest.is_empty()
        && m.inputs_digest != digest
    {
        let what =
            format!("input files of the scenario in {} have changed since the run", path.display());
        return Err(Problem::new(
            what,
            format!(
                "xoff reads them from {}: restore them, or run the scenario again",
                m.scenario_folder
            ),
        )
        .into());
    }
    Ok(s)
}

/// Refuses a folder whose results are not as the run left them.
pub fn unchanged(folder: &Path) -> Result<(), Problem> {
    let changed = xoff_record::output::changed_in(folder);
    let Some(name) = changed.first() else { return Ok(()) };
    let what = format!("{} has changed since the run", folder.join(name).display());
    Err(Problem::new(what, "the folder changed after the run: repeat the run"))
}

/// A port that waits.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "ExplainStep")]
struct JsonStep {
    /// Name.
    port: String,
    /// Priority that waits.
    priority: u8,
    /// Since when it is held back [ps].
    start_ps: u64,
    /// `stopped` or `slowed`.
    restraint: &'static str,
    /// Rate that flow control allows [bit/s]; 0: it is stopped.
    allowed_bps: u64,
    /// Bytes in the buffer at its far end, the reason of the pause [bytes].
    held_bytes: u64,
    /// Egress ports of that switch that these bytes wait for, with their bytes.
    waiting_for: Vec<(String, u64)>,
    /// Flows of these bytes: number, sending host, receiving host, bytes.
    flows: Vec<(u32, String, String, u64)>,
}

/// Reason of a pause, from port to port back to the root.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Explain")]
pub struct Json {
    /// The time that was asked about [ps].
    at_ps: u64,
    /// The explained port, then for each port the one that it waits for.
    steps: Vec<JsonStep>,
    /// Root of the chain: `bottleneck`, `deadlock`, `circle` (ports that wait for each other
    /// without a deadlock), `far end` (a host that accepts no frames), `not held` (the port did not
    /// wait).
    root: &'static str,
    /// The port that is the bottleneck; null: the chain ends elsewhere.
    root_port: Option<String>,
    /// Number, from 0, of the step that the last step leads back to; null: none.
    cycle_from_step: Option<usize>,
    /// With `--straggler`: the message; null: a port and a time were given.
    straggler: Option<JsonStraggler>,
}

/// A message that a job waited for longest.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "ExplainStraggler")]
struct JsonStraggler {
    /// Name of the job.
    job: String,
    /// Iteration, from 0.
    iteration: usize,
    /// The message, and the time that it lost.
    message: StragglerAnswer,
    /// The egress ports that it went through; empty: it took no one path.
    path: Vec<String>,
    /// Time in which the first port of `steps` was paused during the message, or the time that it
    /// lost while slowed down; 0: no port of the path was paused or slowed down [ps].
    paused_ps: u64,
    /// The port of its path that carried most bytes of other hosts during the message; null: none
    /// did.
    shared_port: Option<String>,
    /// Other flows, the one with most of them first: number, sending host, receiving host.
    shared_with: Vec<(u32, String, String)>,
}

fn json_straggler(
    job: &JobAnswer,
    iteration: usize,
    s: &StragglerAnswer,
    e: &MessageExplanation,
) -> JsonStraggler {
    let (shared_port, shared_with) = e.shared.clone().unzip();
    JsonStraggler {
        job: job.name.clone(),
        iteration,
        message: s.clone(),
        path: e.path.clone(),
        paused_ps: e.restrained.0,
        shared_port,
        shared_with: shared_with.unwrap_or_default(),
    }
}

fn json(e: &Explanation) -> Json {
    let (root, root_port, cycle_from_step) = match &e.root {
        Root::NotHeld => ("not held", None, None),
        Root::Cycle { step, circle: Circle::Deadlock } => ("deadlock", None, Some(*step)),
        Root::Cycle { step, .. } => ("circle", None, Some(*step)),
        Root::Bottleneck { port, .. } => ("bottleneck", Some(port.clone()), None),
        Root::FarEnd => ("far end", None, None),
    };
    let step = |s: &xoff_run::Step| JsonStep {
        port: s.port.clone(),
        priority: s.priority,
        start_ps: s.since.0,
        restraint: if s.how == How::Stopped { "stopped" } else { "slowed" },
        allowed_bps: if let How::Slowed(r) = s.how { r.0 } else { 0 },
        held_bytes: s.held.0,
        waiting_for: s.waiting_for.iter().map(|(p, b)| (p.clone(), b.0)).collect(),
        flows: s.flows.iter().map(|(f, a, b, x)| (*f, a.clone(), b.clone(), x.0)).collect(),
    };
    Json {
        at_ps: e.at.0,
        steps: e.steps.iter().map(step).collect(),
        root,
        root_port,
        cycle_from_step,
        straggler: None,
    }
}
