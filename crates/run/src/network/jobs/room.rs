//! Memory for a job. Its size is known before its operations and messages are listed.

use xoff_net::jobs::{Graph, Job, OPS_MAX};
use xoff_sim::Memory;
use xoff_units::Bytes;
use xoff_units::params::{ParamError, memory};

/// Operations of a streamed job: some hundred bytes of its file each.
const STREAMED_OPS_MAX: u64 = 1 << 31;
/// Lists of a rank in pages, and of one in memory, while they are empty [bytes]: 4.9 KB and 120 B
/// were measured.
const STREAMED_RANK: u64 = 5_500;
const RANK: u64 = 200;
/// Memory of a job from which xoff warns before the run.
const LARGE: Bytes = Bytes(1_000_000_000);

fn ops_max(graph: &Graph) -> u64 {
    if graph.pages().is_some() { STREAMED_OPS_MAX } else { OPS_MAX }
}

fn each_of(iterations: u64) -> String {
    if iterations == 1 { "1 iteration".to_owned() } else { format!("{iterations} iterations") }
}

/// Memory check for the ranks, whose number a file gives first. On failure: the missing memory, and
/// a hint.
pub(super) fn for_ranks(ranks: u64, streamed: bool) -> Result<(), (String, String)> {
    let needed = Bytes(ranks.saturating_mul(if streamed { STREAMED_RANK } else { RANK }));
    // That much is there anywhere.
    let available = (needed.0 > 1 << 26).then(memory::available).flatten();
    match available {
        Some(available) if needed > available => Err((
            format!("{ranks} ranks need about {needed} of memory"),
            format!("{available} are available; use fewer ranks"),
        )),
        _ => Ok(()),
    }
}

/// Memory check for a number of further operations of a job. On failure: the missing memory, and a
/// hint.
pub(super) fn for_more(graph: &Graph, more: u64, iterations: u64) -> Result<(), (String, String)> {
    let ops = graph.ops().saturating_add(more);
    let each = each_of(iterations);
    let most = ops_max(graph);
    if ops.saturating_mul(iterations) > most {
        let what = format!("up to {ops} operations in each of {each}");
        return Err((
            what,
            format!(
                "xoff can keep the times of {most}; use fewer ranks, iterations, channels or chunks"
            ),
        ));
    }
    if graph.pages().is_some() {
        return Ok(()); // they go to a file
    }
    let needed = Bytes(graph.bytes(iterations).saturating_add(Graph::bytes_of(more, iterations)));
    // That much is there anywhere.
    let available = (needed.0 > 1 << 28).then(memory::available).flatten();
    match available {
        Some(available) if needed > available => Err((
            format!("up to {ops} operations in each of {each} need about {needed}"),
            format!("{available} are available; use fewer ranks, iterations, channels or chunks"),
        )),
        _ => Ok(()),
    }
}

/// Refuses a trace with too many operations, or more than there is memory for.
pub(super) fn of_trace(graph: &Graph, iterations: u64) -> Result<(), ParamError> {
    if graph.ops().saturating_mul(iterations) <= ops_max(graph) {
        return of_graph(graph, iterations, "iterations");
    }
    let what = format!("{} operations in each of {}", graph.ops(), each_of(iterations));
    let hint = match graph.pages() {
        Some(_) => format!("at most {STREAMED_OPS_MAX}"),
        None => format!(
            "expected at most {OPS_MAX}; with stream = true, xoff does not keep them in memory"
        ),
    };
    Err(ParamError::new("iterations", what, hint))
}

/// Refuses operations for which there is no memory, at a key.
pub(super) fn of_graph(
    graph: &Graph,
    iterations: u64,
    key: &'static str,
) -> Result<(), ParamError> {
    fits(Bytes(graph.bytes(iterations)), key, || {
        format!("{} operations in each of {}", graph.ops(), each_of(iterations))
    })
}

/// Refuses a job for which there is no memory: its messages in all iterations are flows, which are
/// listed before a run that streams none. Returns a warning where they take much.
pub(super) fn of_job(job: &Job) -> Result<Option<ParamError>, ParamError> {
    if job.is_streamed() {
        return Ok(None);
    }
    let iterations = job.iterations.into();
    let needed = Bytes(job.bytes().saturating_add(Memory::of_flows(job.flows(), 1).0));
    let all = || {
        format!(
            "{} operations and {} messages in each of {}",
            job.graph.ops(),
            job.messages.len(),
            each_of(iterations)
        )
    };
    fits(needed, "iterations", all)?;
    let what = || format!("{} need about {needed} of memory before the run starts", all());
    let hint = "set stream = true (no fast-forward, no report.html), or use fewer iterations";
    Ok((needed >= LARGE).then(|| ParamError::new("iterations", what(), hint)))
}

fn fits(needed: Bytes, key: &'static str, what: impl Fn() -> String) -> Result<(), ParamError> {
    match memory::available() {
        Some(available) if needed > available => Err(ParamError::new(
            key,
            format!("{} need about {needed}", what()),
            format!(
                "{available} are available; set stream = true, or use fewer iterations, channels or chunks"
            ),
        )),
        _ => Ok(()),
    }
}
