//! `xoff run` of a scheduled fabric.

use schemars::JsonSchema;
use serde::Serialize;
use xoff_record::Sink;
use xoff_record::verdict::Allow;
use xoff_run::{FabricFinished, FabricRunning, FabricScenario};
use xoff_scenario::Problems;
use xoff_sim::scheduled::{Config, Delay, Report};
use xoff_units::{Bytes, Rate, Span, grouped};

use super::{
    Args, Ending, again, bar, problem, report_threads, show, threads, verdict, warn_since,
};
use crate::answer::Answer;
use crate::interrupt;
use crate::terminal;

/// Runs it.
pub fn run(args: &Args, scenario: &FabricScenario) -> Result<Answer, Problems> {
    terminal::problems(&scenario.warnings);
    interrupt::ask_first();
    let sink = Sink::Files(args.claim()?, args.format);
    // Unless asked for, one: a run with few ports would wait more than it works.
    let threads = threads(args.threads).unwrap_or(1);
    let running = scenario.start(sink, threads).map_err(problem)?;
    report_threads(threads, running.threads(), None);
    to_the_end(&args.ending(), scenario, running)
}

/// Runs a started run, with its report, and answers.
pub fn to_the_end<'s>(
    ending: &Ending,
    scenario: &'s FabricScenario,
    running: FabricRunning<'s>,
) -> Result<Answer, Problems> {
    let running = running.noting(&again::note(&ending.allowed));
    let running = if ending.report {
        running.with_page(|f| xoff_report::view::of_fabric(scenario, f))
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
    let exit = ending.allowed.exit(verdict(&finished.manifest));
    let folder = ending.folder.display().to_string();
    let next = finished
        .manifest
        .files
        .iter()
        .any(|f| f.name == xoff_report::view::REPORT)
        .then(|| format!("xoff view {}", terminal::word(&folder)));
    Ok(Answer::new(
        text(scenario, &finished, ending),
        &json(&scenario.config, &finished, ending),
        exit,
    )
    .next(next))
}

/// Outcome of a run of a scheduled fabric.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "RunFabric")]
pub struct Json<'a> {
    #[serde(flatten)]
    manifest: &'a xoff_record::Manifest,
    /// Mean throughput of outputs that are no hotspots, as a share of their lines.
    throughput: f64,
    /// Mean throughput of hotspots, as a share of their lines; null: there are none.
    hotspot_throughput: Option<f64>,
    /// Delay of packets to outputs that are no hotspots; null: none was delivered.
    delay_ps: Option<Quantiles>,
    /// Delay of packets to hotspots; null: none was delivered.
    hotspot_delay_ps: Option<Quantiles>,
    /// The longest queue of each stage [bytes].
    queue_bytes_max: &'a [u32],
    /// Largest reassembly buffer of an output [bytes].
    reassembly_bytes_max: u64,
    /// The outputs for which most bytes wait at the inputs at the end of the run, at most three.
    backlog: Vec<Waiting>,
    /// Share of control messages in all bytes between ports and elements.
    control_share: f64,
    /// Names of `--allow`.
    allowed: Vec<Allow>,
    /// Folder of the results.
    out: String,
}

/// Delay of packets from their arrival to their last byte on the output's line.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Delay")]
struct Quantiles {
    /// Packets that were delivered.
    packets: u64,
    /// Mean [ps].
    mean: f64,
    /// Median [ps].
    median: u64,
    /// 99th percentile [ps].
    p99: u64,
    /// The longest [ps].
    max: u64,
}

/// Packets for one output that wait at the inputs.
#[derive(JsonSchema, Serialize)]
struct Waiting {
    /// Output.
    port: String,
    /// Bytes that have not been sent into the fabric [bytes].
    bytes: u64,
    /// Flows with such bytes.
    flows: u32,
    /// Flows of those that hold a grant: they wait for their link. The others wait for a grant.
    granted: u32,
}

/// The outputs for which most waits, at most three.
fn backlog(r: &Report) -> Vec<Waiting> {
    let mut all: Vec<_> = r.backlog.iter().enumerate().filter(|(_, b)| b.bytes > 0).collect();
    all.sort_by_key(|(_, b)| std::cmp::Reverse(b.bytes));
    all.truncate(3);
    let waiting = |(port, b): (usize, &xoff_sim::scheduled::Backlog)| Waiting {
        port: format!("P{port}"),
        bytes: b.bytes,
        flows: b.flows,
        granted: b.granted,
    };
    all.into_iter().map(waiting).collect()
}

fn quantiles(d: &Delay) -> Option<Quantiles> {
    (d.count() > 0).then(|| Quantiles {
        packets: d.count(),
        mean: d.mean(),
        median: d.quantile(0.5),
        p99: d.quantile(0.99),
        max: d.max(),
    })
}

/// Throughput of the outputs that are, or are not, hotspots; `None`: there are none.
fn throughput(c: &Config, f: &FabricFinished, hot: bool) -> Option<f64> {
    let outputs: Vec<u32> =
        c.hot_outputs().iter().zip(0..).filter(|(h, _)| **h == hot).map(|(_, o)| o).collect();
    (!outputs.is_empty()).then(|| f.report.throughput(outputs, c.line))
}

fn control_share(f: &FabricFinished) -> f64 {
    let r = &f.report;
    r.control_bytes as f64 / (r.control_bytes + r.segment_bytes).max(1) as f64
}

fn json<'a>(c: &Config, f: &'a FabricFinished, ending: &Ending) -> Json<'a> {
    let r = &f.report;
    Json {
        manifest: &f.manifest,
        throughput: throughput(c, f, false).unwrap_or(0.0),
        hotspot_throughput: throughput(c, f, true),
        delay_ps: quantiles(&r.cold),
        hotspot_delay_ps: quantiles(&r.hot),
        queue_bytes_max: &r.queue_max,
        reassembly_bytes_max: r.reassembly_max,
        backlog: backlog(r),
        control_share: control_share(f),
        allowed: ending.allowed.list(),
        out: ending.folder.display().to_string(),
    }
}

fn text(s: &FabricScenario, f: &FabricFinished, ending: &Ending) -> String {
    let (r, m, c) = (&f.report, &f.manifest, &s.config);
    let headline = ending.allowed.headline(&s.title, verdict(m));
    let mut t = terminal::pairs();
    let mut row = |name: &str, value: String| {
        t.add_row([name, &value]);
    };
    row("Run", m.ended_because.clone());
    verdict(m).not_known().into_iter().for_each(|(name, value)| row(name, value));
    row("Packets", format!("{} of {} delivered", grouped(r.packets_out), grouped(r.packets_in)));
    for job in m.fabric.iter().flat_map(|f| &f.jobs) {
        row(&format!("Job {}", job.name), job.words());
    }
    m.active.iter().for_each(|x| row("Active", x.clone()));
    m.inactive.iter().for_each(|x| row("Inactive", x.clone()));
    for (name, delay, share) in [
        ("outputs", &r.cold, throughput(c, f, false)),
        ("hotspots", &r.hot, throughput(c, f, true)),
    ] {
        let Some(share) = share else { continue };
        row(&format!("Throughput of {name}"), format!("{:.2} % of their lines", 100.0 * share));
        if let Some(q) = quantiles(delay) {
            let time = |ps: u64| Span(ps).to_string();
            row(
                &format!("Delay to {name}"),
                format!(
                    "mean {} ({:.1} t_min), median {}, 99th percentile {}, longest {}",
                    time(q.mean.round() as u64),
                    q.mean / c.t_min().0 as f64,
                    time(q.median),
                    time(q.p99),
                    time(q.max)
                ),
            );
        }
    }
    if !r.queue_max.is_empty() {
        let stages: Vec<String> =
            r.queue_max.iter().map(|&b| Bytes(b.into()).to_string()).collect();
        row(
            "Longest queues",
            format!("{} by stage; reassembly {}", stages.join(", "), Bytes(r.reassembly_max)),
        );
    }
    for w in backlog(r) {
        let asking = w.flows - w.granted;
        row(
            &format!("Waiting for {}", w.port),
            format!(
                "{} of {} flows at the inputs: {asking} wait for a grant, {} for their link",
                Bytes(w.bytes),
                w.flows,
                w.granted
            ),
        );
    }
    if r.waits.iter().any(|&n| n > 0) {
        let stages: Vec<String> = r.waits.iter().map(|&n| grouped(n)).collect();
        row(
            "Waits for credits",
            format!("{} times at the links of inputs, then by stage", stages.join(", ")),
        );
    }
    if m.files.iter().any(|f| f.name == xoff_report::view::REPORT) {
        row("Report", ending.folder.join(xoff_report::view::REPORT).display().to_string());
    }
    let tables: Vec<_> = f.tables.rows.iter().filter(|r| r.1 > 0).map(|r| r.0).collect();
    row("Tables", format!("{}: {}", ending.folder.display(), tables.join(", ")));
    let mut text = format!("{headline}\n{}\n{}", flows(c, f), terminal::draw(&t));
    if ending.verbose {
        let mut t = terminal::pairs();
        let million = m.events as f64 / m.cpu_seconds.max(1e-9) / 1e6;
        t.add_row([
            "Speed",
            &format!("{} events, {million:.1} million per CPU second", grouped(m.events)),
        ]);
        t.add_row(["Time taken", &format!("{:.3} s, CPU {:.3} s", m.wall_seconds, m.cpu_seconds)]);
        t.add_row(["Result hash", &m.result_hash]);
        text += &format!("\n{}", terminal::draw(&t));
    }
    text
}

/// The flows of hosts, if there are few enough to read: their rates over the last tenth of the run.
fn flows(c: &Config, f: &FabricFinished) -> String {
    let (Some(hosts), Some(seen)) = (&c.hosts, &f.report.hosts) else { return String::new() };
    if hosts.flows.is_empty() || hosts.flows.len() > 20 {
        return String::new();
    }
    let windows = &seen.windows[seen.windows.len() - seen.windows.len().div_ceil(10)..];
    let lasted = Span(c.window.0 * windows.len() as u64);
    let mut t = terminal::table([
        "Flow",
        "From",
        "To",
        "Rate at the end",
        "Limiter",
        "CNMs",
        "Input buffer at the end",
    ]);
    for (i, flow) in hosts.flows.iter().enumerate() {
        let bytes: u64 = windows.iter().map(|w| w.arrived[i]).sum();
        let last = windows.last();
        let to: Vec<String> = flow.destinations.iter().map(|d| format!("P{d}")).collect();
        t.add_row([
            i.to_string(),
            format!("P{}", flow.source),
            to.join(", "),
            Rate::of(Bytes(bytes), lasted).to_string(),
            last.and_then(|w| w.limit[i]).map_or("-".into(), |r| r.to_string()),
            grouped(seen.cnms[i]),
            last.map_or("-".into(), |w| Bytes(w.input[i]).to_string()),
        ]);
    }
    format!("\n{}", terminal::draw(&t))
}
