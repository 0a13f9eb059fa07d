//! Jobs in the report: states of each rank over time, iterations, critical path of the longest one.

use std::collections::HashSet;
use std::ops::Range;

use serde::Serialize;
use xoff_net::topology::PortNumbers;
use xoff_run::{CAUSES, Finished, JobSummary, NetworkScenario, RankState, rank_states};

use crate::view::page::{Blob, Column};

/// Stretches of time of ranks that a page holds at most: some 16 bytes each before they are
/// compressed.
const STRETCHES_MAX: usize = 250_000;
/// Stretches of a critical path that a page holds at most: the last ones.
const PATH_MAX: usize = 20_000;
/// Iterations before and behind the longest one that are shown where not all are.
const NEIGHBOURS: usize = 8;
/// A report contains at least as many ranks before it omits iterations.
const RANKS_LEAST: usize = 64;
/// Ranks that are drawn at first.
const FIRST_SHOWN: usize = 14;

/// The straggler of an iteration.
#[derive(Serialize)]
struct StragglerView {
    flow: u32,
    from_rank: u32,
    to_rank: u32,
    start_ps: u64,
    end_ps: u64,
    pause_ps: u64,
    rate_limit_ps: u64,
    queueing_ps: u64,
    /// Port of its path with the longest pause, and that time [ps].
    port: Option<(u32, u64)>,
}

/// An iteration.
#[derive(Serialize)]
struct IterationView {
    /// When the first rank began and the last one ended [ps]; no end: it has none.
    start_ps: u64,
    end_ps: Option<u64>,
    /// From the end of the previous one to its own [ps].
    time_ps: u64,
    exposed_ps: u64,
    path_ps: Vec<u64>,
    straggler: Option<StragglerView>,
}

/// Stretches of a critical path.
#[derive(Serialize)]
struct PathView {
    from: Column,
    to: Column,
    cause: Column,
    rank: Column,
}

/// A job.
#[derive(Serialize)]
pub struct JobView {
    name: String,
    /// Host of each rank, by number of the node.
    hosts: Vec<u32>,
    causes: Vec<&'static str>,
    /// Iterations that have begun, number of the first one here, and the iterations from there on.
    total: usize,
    begin: usize,
    iterations: Vec<IterationView>,
    /// Place of the longest of all among them.
    longest: Option<usize>,
    path: PathView,
    /// Ranks with their states over time; those that are drawn first come first.
    ranks: Vec<u32>,
    /// Count of ranks that are drawn first.
    shown: usize,
    /// By rank and iteration: where its stretches begin, and behind the last of the rank.
    first: Column,
    /// Begin of each stretch [ps], its end, and its kind: 0 computing, 1 both, 2 exposed
    /// communication.
    from: Column,
    to: Column,
    state: Column,
}

/// All jobs of a finished run; omissions are added to `left_out`.
pub fn jobs_of(
    s: &NetworkScenario,
    f: &Finished,
    blob: &mut Blob,
    left_out: &mut Vec<String>,
) -> Vec<JobView> {
    let ports = PortNumbers::new(&s.topology);
    (0..f.jobs.len()).filter_map(|at| job(s, f, at, &ports, blob, left_out)).collect()
}

fn job(
    s: &NetworkScenario,
    f: &Finished,
    at: usize,
    ports: &PortNumbers,
    blob: &mut Blob,
    left_out: &mut Vec<String>,
) -> Option<JobView> {
    let (job, summary) = (s.flows.jobs.as_ref()?.jobs.get(at)?, &f.jobs[at]);
    let logs = f.outcome.ranks.get(at)?;
    let begun = logs.iter().map(|r| r.log.iterations.len()).max().unwrap_or(0);
    let iteration = |i: usize| {
        let spans = || logs.iter().filter_map(|r| r.log.iterations.get(i));
        let done = summary.iterations.get(i);
        let end = spans()
            .map(|s| s.1)
            .collect::<Option<Vec<_>>>()
            .and_then(|e| e.into_iter().max())
            .filter(|_| done.is_some());
        IterationView {
            start_ps: spans().map(|s| s.0.0).min().unwrap_or(0),
            end_ps: end.map(|t| t.0),
            time_ps: done.map_or(0, |d| d.time_ps),
            exposed_ps: done.map_or(0, |d| d.exposed_ps),
            path_ps: done.map_or(Vec::new(), |d| d.path_ps.to_vec()),
            straggler: done.and_then(|d| d.straggler.as_ref()).map(|x| StragglerView {
                flow: x.flow,
                from_rank: x.from_rank,
                to_rank: x.to_rank,
                start_ps: x.start_ps,
                end_ps: x.end_ps,
                pause_ps: x.pause_ps,
                rate_limit_ps: x.rate_limit_ps,
                queueing_ps: x.queueing_ps,
                port: x.paused.map(|((n, p), ps)| (ports.of(n, p), ps)),
            }),
        }
    };
    let (mut order, shown) = of_interest(summary, job.hosts.len() as u32);
    let longest = summary
        .longest()
        .and_then(|l| summary.iterations.iter().position(|i| i.time_ps == l.time_ps));
    let middle = longest.unwrap_or(0);
    let near = middle.saturating_sub(NEIGHBOURS)..(middle + NEIGHBOURS + 1).min(begun);
    let wanted = order.len().min(RANKS_LEAST);
    // All iterations if enough ranks fit, or those around the longest one, or that one alone.
    let fits = |range: Range<usize>| {
        let states = States::of(&order, range, |rank, i| {
            rank_states(job, &logs[rank as usize].log, rank, i, f.outcome.now)
        });
        (states.ranks >= wanted).then_some(states)
    };
    let few =
        Some(0..begun).filter(|_| begun <= STRETCHES_MAX).and_then(fits).or_else(|| fits(near));
    let states = few.unwrap_or_else(|| {
        States::of(&order, middle..(middle + 1).min(begun), |r, i| {
            rank_states(job, &logs[r as usize].log, r, i, f.outcome.now)
        })
    });
    if states.ranks < order.len() {
        let (n, of, name) = (states.ranks, order.len(), &job.name);
        left_out.push(format!("The course of {n} of the {of} ranks of job {name} is here; the tables ranks and operations have all."));
        order.truncate(n);
    }
    let here = states.iterations.clone();
    if here.len() < begun {
        let name = &job.name;
        left_out.push(format!("Of job {name} {} of {begun} iterations are here, around the longest; the tables have all.", here.len()));
    }
    let path = &summary.path[summary.path.len().saturating_sub(PATH_MAX)..];
    if path.len() < summary.path.len() {
        left_out.push(format!(
            "The last {PATH_MAX} stretches of the critical path of job {} are here, of {}.",
            job.name,
            summary.path.len()
        ));
    }
    let cause = |c| CAUSES.iter().position(|x| x.0 == c).unwrap_or_default() as u16;
    Some(JobView {
        name: job.name.clone(),
        hosts: job.hosts.iter().map(|h| h.0).collect(),
        causes: CAUSES.iter().map(|c| c.1).collect(),
        total: begun,
        begin: here.start,
        longest: longest.map(|l| l - here.start),
        iterations: here.map(iteration).collect(),
        path: PathView {
            from: blob.f64(path.iter().map(|p| p.from as f64)),
            to: blob.f64(path.iter().map(|p| p.to as f64)),
            cause: blob.u16(path.iter().map(|p| cause(p.cause))),
            rank: blob.u32(path.iter().map(|p| p.rank)),
        },
        shown: shown.min(order.len()),
        ranks: order,
        first: blob.u32(states.first),
        from: blob.f64(states.all.iter().map(|x| x.0 as f64)),
        to: blob.f64(states.all.iter().map(|x| x.1 as f64)),
        state: blob.u16(states.all.iter().map(|x| match x.2 {
            RankState::Compute => 0,
            RankState::Overlap => 1,
            RankState::Exposed => 2,
        })),
    })
}

/// States of as many ranks as fit.
struct States {
    iterations: Range<usize>,
    ranks: usize,
    first: Vec<u32>,
    all: Vec<(u64, u64, RankState)>,
}

impl States {
    fn of(
        order: &[u32],
        iterations: Range<usize>,
        of: impl Fn(u32, u32) -> Vec<(u64, u64, RankState)>,
    ) -> States {
        let mut s =
            States { iterations: iterations.clone(), ranks: 0, first: Vec::new(), all: Vec::new() };
        for &rank in order {
            let (stretches, places) = (s.all.len(), s.first.len());
            for i in iterations.clone() {
                s.first.push(s.all.len() as u32);
                s.all.extend(of(rank, i as u32));
                if s.all.len() > STRETCHES_MAX {
                    s.all.truncate(stretches);
                    s.first.truncate(places);
                    return s;
                }
            }
            s.first.push(s.all.len() as u32);
            s.ranks += 1;
        }
        s
    }
}

/// All ranks, those first that decided about the longest iteration: the ends of its straggler, the
/// one that ended last, the one that computed longest, some that are evenly among the others; and
/// how many these are.
fn of_interest(summary: &JobSummary, ranks: u32) -> (Vec<u32>, usize) {
    let mut order = Vec::new();
    if let Some(i) = summary.longest() {
        order.extend(i.straggler.as_ref().map(|s| [s.from_rank, s.to_rank]).into_iter().flatten());
        order.push(i.last_rank);
        order.extend(i.computed.map(|c| c.0));
    }
    order.extend(
        (0..FIRST_SHOWN as u32)
            .map(|k| (u64::from(k) * u64::from(ranks) / FIRST_SHOWN as u64) as u32),
    );
    let mut seen = HashSet::new();
    order.retain(|&r| seen.insert(r));
    order.truncate(FIRST_SHOWN);
    let shown = order.len();
    let first: HashSet<u32> = order.iter().copied().collect();
    order.extend((0..ranks).filter(|r| !first.contains(r)));
    (order, shown)
}
