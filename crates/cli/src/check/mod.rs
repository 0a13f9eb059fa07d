//! `xoff check`: can these routes deadlock?

pub mod fabric;
mod flows;
pub mod report;
mod topology;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::builder::RangedU64ValueParser;
use xoff_analysis::cbd::{self, FailureStudy, Report, Rule, Traffic, Verdict};
use xoff_net::topology::failures::{fail_links, is_fabric_link};
use xoff_net::topology::routing::Tables;
use xoff_net::topology::{LinkId, Topology};
use xoff_scenario::{Problem, Problems};

use crate::answer::{Answer, refused};
use crate::progress::Bar;
use crate::terminal::counted;
use crate::{interrupt, terminal};
use topology::Network;
use xoff_units::grouped;

/// Check whether routes can deadlock, now or after failures.
///
/// A deadlock needs a cycle of buffers that wait for each other, under any backpressure. Without a
/// cycle no deadlock can form. With a cycle, some flows at some time can close it. Of a scheduled
/// fabric, xoff checks whether incomplete packets can fill a reassembly buffer, and prints the
/// limits on the throughput of an output.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Args {
    /// Scenario or topology file (TOML, or HPCC's topology.txt), a built-in topology such as
    /// fat-tree:k=4, or files of another program such as sonic:configs/ or
    /// ibnetdiscover:fabric.topo,lfts.dump (see xoff import)
    topology: String,
    /// Fail this node or link first; name a link by its ends, A1-C1; may be repeated
    #[arg(long, value_name = "NODE|LINK", value_delimiter = ',')]
    fail: Vec<String>,
    /// Then fail every set of 1 to N links between switches, and report the sets that create a
    /// cycle, or with installed tables (which a failure does not change) the sets that make black
    /// holes
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    fail_any: Option<usize>,
    /// Assume this routing [default: that of the scenario, else all-paths: every equal-cost
    /// shortest path]
    #[arg(long, value_name = "NAME", value_parser = clap::builder::PossibleValuesParser::new(Rule::NAMES))]
    routing: Option<String>,
    /// Check only these flows: lines `H0 H8`, or whole paths `H0 E1 A1 E2 H2`, or HPCC's flow.txt
    #[arg(long, value_name = "FILE")]
    flows: Option<PathBuf>,
    /// Let every host send to every other; this is the default unless a scenario lists its flows
    #[arg(long, conflicts_with = "flows")]
    all_pairs: bool,
    /// Set the seed of routing hashes and of random sets
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// With --fail-any: examine at most N sets of each size above one, drawn at random if there are
    /// more
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..))]
    sets_max: u64,
}

const EXAMPLES: &str = "\
Examples:
  xoff check fat-tree:k=4
  xoff check fat-tree:k=4 --fail A1-C1 --fail E2-A2
  xoff check leaf-spine:leaves=16,spines=8,hosts=8 --fail-any 2
  xoff check fat-tree:k=8 --fail C1 --fail-any 1
  xoff check ibnetdiscover:fabric.topo,opensm-lfts.dump  # as installed
  xoff check crates/run/tests/hpcc/hpcc_fat4/topology.txt \\
    --flows crates/run/tests/hpcc/hpcc_fat4/flow.txt --routing hashed --json

Exit codes: 0 no cycle; 1 a cycle, now or after some failure, tables with a black hole or a loop, or not all pairs, flows and sets examined; 2 bad input; 130 interrupted, with the sets examined so far.";

/// Checks it.
pub fn run(args: &Args) -> Result<Answer, Problems> {
    interrupt::ask_first();
    if let Some(fabric) = topology::scheduled_fabric(&args.topology)? {
        return fabric::run(args, &fabric);
    }
    let Network { mut topology, routing, flows, tables, infiniband, findings } =
        topology::load(&args.topology)?;
    fail(&mut topology, &args.fail)?;
    if let Some(tables) = tables.filter(|_| args.routing.is_none()) {
        return installed(args, &topology, &tables, (&findings, infiniband));
    }
    let (routing, rule) = match (&args.routing, routing) {
        (None, Some(of_scenario)) => of_scenario,
        (name, _) => {
            let name = name.as_deref().unwrap_or("all-paths");
            let rule = Rule::named(name, args.seed)
                .and_then(|rule| rule.fits(&topology).map(|()| rule))
                .map_err(|e| refused(&e))?;
            (name.to_owned(), rule)
        }
    };
    let given = match &args.flows {
        Some(path) => Some(flows::load(path, &topology)?),
        None => flows.filter(|_| !args.all_pairs).map(|f| over_working_links(f, &topology)),
    };
    let traffic = given
        .as_ref()
        .map_or(Traffic::AllPairs, |g| Traffic::Flows { flows: &g.flows, paths: &g.paths });

    let report = working("searching for a cycle", || cbd::check(&topology, &rule, traffic));
    let study = study(args, &topology, &rule, traffic, &report);
    let remedies = working("searching for a remedy", || match &study {
        _ if report.verdict == Verdict::Cyclic => cbd::remedies(&topology, &rule, traffic, &report),
        Some(s) if s.cyclic_total > 0 => cbd::remedies_after(&topology, &rule, traffic, s),
        _ => Vec::new(),
    });
    let all = report::Checked::new(
        &args.topology,
        &topology,
        &routing,
        given.as_ref().map(|g| g.flows.len()),
        &report,
        study.as_ref(),
    )
    .with(remedies);
    Ok(Answer::new(report::text(&all), &all, all.conclusion().into()).next(next(
        args,
        &report,
        study.as_ref(),
    )))
}

/// The command that shows a cycle at work: a run of the scenario, or the first set of failures.
fn next(args: &Args, report: &Report, study: Option<&FailureStudy>) -> Option<String> {
    let topology = terminal::word(&args.topology);
    if report.verdict == Verdict::Cyclic {
        return topology::is_scenario_file(&args.topology).then(|| format!("xoff run {topology}"));
    }
    let failed: String = study?
        .cyclic
        .first()?
        .links
        .iter()
        .map(|link| format!(" --fail {}", terminal::word(link)))
        .collect();
    let before: String =
        args.fail.iter().map(|link| format!(" --fail {}", terminal::word(link))).collect();
    let routing = args.routing.as_ref().map_or(String::new(), |r| format!(" --routing {r}"));
    let flows = args.flows.as_ref().map_or(String::new(), |f| {
        format!(" --flows {}", terminal::word(&f.display().to_string()))
    });
    let all = if args.all_pairs { " --all-pairs" } else { "" };
    Some(format!("xoff check {topology}{before}{failed}{routing}{flows}{all}"))
}

/// Checks installed routes, which a failure does not change.
fn installed(
    args: &Args,
    topology: &Topology,
    tables: &Tables,
    findings: (&Problems, bool),
) -> Result<Answer, Problems> {
    if args.flows.is_some() {
        let problem = Problem::new(
            "--flows needs a routing rule, but these routes are installed tables",
            "remove --flows, or name a rule: --routing \
                                                                                        all-paths",
        );
        return Err(problem.into());
    }
    let found = working("following the tables", || cbd::check_installed(topology, tables));
    // Tables stay as they are: a failure takes routes away and adds no cycle, so black holes are
    // counted.
    let study = args.fail_any.map(|n| {
        let asked = interrupt::asker();
        let message = "failing links and following the tables";
        working(message, || {
            cbd::fail_any_installed(topology, tables, n, args.sets_max, args.seed, &|| !asked())
        })
    });
    let all = report::Checked::new(
        &args.topology,
        topology,
        "installed tables",
        None,
        &found.report,
        None,
    )
    .of_tables(&found, findings)
    .after_failures(study.as_ref());
    Ok(Answer::new(report::text(&all), &all, all.conclusion().into()))
}

/// Fails the named nodes, with all their links, and links; a wrong name is shown as it was given.
fn fail(topology: &mut Topology, names: &[String]) -> Result<(), Problems> {
    let mut problems = Problems::default();
    for name in names {
        if let Some(node) = topology.find(name) {
            for port in topology.nodes[node.index()].ports.clone() {
                topology.links[port.link as usize].up = false;
            }
            continue;
        }
        if let Err(e) = fail_links(topology, &[name]) {
            problems.push(Problem::new(e.what, e.hint).at(terminal::option("--fail", name)));
        }
    }
    problems.or(())
}

/// A scenario's flows after `--fail`.
fn over_working_links(mut given: flows::Given, topology: &Topology) -> flows::Given {
    let lost = given.leave_failed_links(topology);
    if lost > 0 {
        terminal::note(&format!(
            "{}: the given path uses a failed link; xoff routes the flow by the rule instead",
            counted(lost as u64, "flow")
        ));
    }
    given
}

/// The study of further failures, where it has a result.
fn study(
    args: &Args,
    topology: &Topology,
    rule: &Rule,
    traffic: Traffic<'_>,
    report: &Report,
) -> Option<FailureStudy> {
    let n = args.fail_any?;
    if report.verdict == Verdict::Cyclic {
        terminal::note(
            "xoff skips --fail-any: the network already has a cycle without further failures",
        );
        return None;
    }
    let links = (0..topology.links.len() as LinkId)
        .filter(|&l| topology.links[l as usize].up && is_fabric_link(topology, l))
        .count();
    let message = match n {
        1 => format!("failing each of {}", counted(links as u64, "link")),
        _ => format!("failing every set of 1 to {n} of {}", counted(links as u64, "link")),
    };
    let started = Instant::now();
    let message = match cbd::is_incremental(rule, traffic) {
        // The changes of a set take very little time.
        true => message,
        false => {
            cbd::is_cyclic(topology, rule, traffic);
            format!("{message}, {}", time_left(links, n, args.sets_max, started.elapsed()))
        }
    };
    let asked = interrupt::asker();
    Some(working(&message, || {
        cbd::fail_any(topology, rule, traffic, n, args.sets_max, args.seed, &|| !asked())
    }))
}

/// A guess: every set takes as long as `one` look at the network without failures.
fn time_left(links: usize, n: usize, sets_max: u64, one: Duration) -> String {
    let choose = |k: usize| (0..k).fold(1.0, |c, i| c * (links - i) as f64 / (i + 1) as f64);
    let sets: f64 = (1..=n.min(links)).map(|k| choose(k).min(sets_max as f64)).sum();
    let seconds = (sets * one.as_secs_f64()).ceil();
    format!(
        "{} checks, about {}",
        grouped(sets as u64),
        humantime::format_duration(Duration::from_secs_f64(seconds.min(1e9)))
    )
}

/// Shows that something is going on while `work` takes its time.
fn working<T>(message: &str, work: impl FnOnce() -> T) -> T {
    let spinner = Bar::spinner("{spinner} {msg} {elapsed:.dim}");
    spinner.message(message.to_owned());
    spinner.turn();
    work()
}
