//! Closed forms and solvers of `xoff-analysis`, for the metrics of a paper's claims.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use xoff_analysis::cbd::random_fat_trees;
use xoff_analysis::plan::pffc;
use xoff_analysis::scheduled::admission::{Admission, Arbitrated, Limit};
use xoff_analysis::scheduled::clos::Clos;
use xoff_analysis::scheduled::network::Network;
use xoff_analysis::scheduled::rational::Q;
use xoff_analysis::scheduled::theorem_1::{Report, Trial};
use xoff_analysis::scheduled::{examples, lemma_1, slots};
use xoff_analysis::theorems::fig5::{Fig5, Point};
use xoff_analysis::theorems::{message_rate, theorem_4_1, theorem_5_1};
use xoff_mech::flow_control::pffc::slot;
use xoff_mech::flow_control::{Countdown, Gate, RateLimiter};
use xoff_net::workload::{SizeCdf, random};
use xoff_scenario::cdf;
use xoff_units::{Bytes, FlowId, Rate, Span, Time};

/// Conceptual GFC: smallest gap `B_m - q` in the worst case, in units of `C tau`; `l` is
/// `(B_m - B_0) / (C tau)`, `drain` is `R_d / C`.
#[pyfunction]
pub fn gfc_smallest_gap(py: Python<'_>, l: f64, drain: f64) -> f64 {
    py.detach(|| theorem_4_1::smallest_gap(l, drain))
}

/// Conceptual GFC: largest queue beyond `B_m`, in the same units.
#[pyfunction]
pub fn gfc_overshoot(py: Python<'_>, l: f64, drain: f64) -> f64 {
    py.detach(|| theorem_4_1::overshoot(l, drain))
}

/// Conceptual GFC: largest `l` at which the queue still reaches `B_m` when the drain stops.
#[pyfunction]
pub fn gfc_onset(py: Python<'_>) -> f64 {
    py.detach(theorem_4_1::onset)
}

/// Time-based GFC: `B_m - B_0` by Theorem 5.1, and the exact bound for any `tau` and `T` [bytes].
#[pyfunction]
pub fn gfc_time_bounds(rate: u64, tau_ps: u64, period_ps: u64) -> (u64, u64) {
    let (rate, tau, period) = (Rate(rate), Span(tau_ps), Span(period_ps));
    (theorem_5_1::bound(rate, tau, period).0, theorem_5_1::bound_any(rate, tau, period).0)
}

/// The exact bound over `C T`; `d` is `tau / T`.
#[pyfunction]
pub fn gfc_time_critical_ratio(d: f64) -> f64 {
    theorem_5_1::critical_ratio(d)
}

/// Time-based GFC: smallest `(B_m - q) / (B_m - B_0)` of the sampled fluid in the worst phase; `l`
/// is `(B_m - B_0) / (C T)`, `d` is `tau / T`, `drain` is `R_d / C`.
#[pyfunction]
pub fn gfc_time_smallest_gap(py: Python<'_>, l: f64, d: f64, drain: f64) -> f64 {
    py.detach(|| theorem_5_1::smallest_gap(l, d, drain))
}

/// Time-based GFC: largest queue of the sampled fluid beyond `B_m` when the drain stops [bytes];
/// `span` is `B_m - B_0`.
#[pyfunction]
pub fn gfc_time_overshoot(
    py: Python<'_>,
    rate: u64,
    tau_ps: u64,
    period_ps: u64,
    span: u64,
) -> f64 {
    py.detach(|| theorem_5_1::overshoot(Rate(rate), Span(tau_ps), Span(period_ps), Bytes(span)))
}

/// Time-based GFC: smallest `B_m - B_0` at which that is at most `tolerance` [bytes].
#[pyfunction]
pub fn gfc_time_critical(
    py: Python<'_>,
    rate: u64,
    tau_ps: u64,
    period_ps: u64,
    tolerance: f64,
) -> u64 {
    py.detach(|| theorem_5_1::critical(Rate(rate), Span(tau_ps), Span(period_ps), tolerance).0)
}

/// Buffer-based GFC: rate of the messages of 64 B in the limit cycle between two stages, by a fluid
/// that is simulated until `until_ps` [bit/s].
#[pyfunction]
pub fn gfc_limit_cycle(
    py: Python<'_>,
    tau_ps: u64,
    upper: u64,
    lower: u64,
    drain: u64,
    until_ps: u64,
) -> u64 {
    let rates = [upper, lower, drain].map(Rate);
    py.detach(|| {
        let [upper, lower, drain] = rates;
        message_rate::simulate(
            message_rate::MESSAGE,
            Span(tau_ps),
            upper,
            lower,
            drain,
            Span(until_ps),
        )
        .rate
        .0
    })
}

/// GFC, Fig. 5 as a fluid: time [ps], queue [bytes] and input rate [bit/s] of PFC and of conceptual
/// GFC.
#[pyfunction]
#[expect(clippy::type_complexity, reason = "plain lists for Python")]
pub fn gfc_fig_5(py: Python<'_>, until_ps: u64) -> (Vec<(u64, u64, u64)>, Vec<(u64, u64, u64)>) {
    let plain =
        |points: Vec<Point>| points.iter().map(|p| (p.time.0, p.queue.0, p.rate.0)).collect();
    py.detach(|| {
        (plain(Fig5::default().pfc(Time(until_ps))), plain(Fig5::default().gfc(Time(until_ps))))
    })
}

/// Mean rate of so many frames through a rate limiter of GFC with a unit of 8 kb/s [bit/s].
#[pyfunction]
pub fn gfc_limited_rate(line: u64, limit: u64, frame_bytes: u64, frames: u64) -> u64 {
    let (tx, mut now) = (Rate(line).time_for(Bytes(frame_bytes)), Time::ZERO);
    let mut limiter = RateLimiter::new(Rate(line), Rate(8_000), Countdown::Scaled);
    limiter.set_rate(now, Rate(limit));
    for _ in 0..frames {
        limiter.on_sent(now, tx);
        if let Gate::Until(t) = limiter.gate(now) {
            now = t;
        }
    }
    Rate::of(Bytes(frame_bytes) * frames, now - Time::ZERO).0
}

/// Fat-trees with random failures, by the seeds of these: those whose hosts cannot all reach each
/// other; those whose routes have a cyclic buffer dependency under `lowest-id`, under `per-edge`,
/// and under any choice of shortest paths. In no list: no routing has a cycle.
#[pyfunction]
#[expect(clippy::type_complexity, reason = "plain lists for Python")]
pub fn fat_trees_with_cycles(
    py: Python<'_>,
    k: u32,
    probability: f64,
    first_seed: u64,
    past_seed: u64,
) -> PyResult<(Vec<u64>, Vec<u64>, Vec<u64>, Vec<u64>)> {
    let found = py.detach(|| random_fat_trees::scan(k, probability, first_seed..past_seed));
    found
        .map(|s| (s.disconnected, s.lowest_id, s.per_edge, s.all_paths))
        .map_err(|e| PyValueError::new_err(e.to_string()))
}

/// The links that fail in one of these networks, by name.
#[pyfunction]
pub fn fat_tree_failures(k: u32, probability: f64, seed: u64) -> PyResult<Vec<String>> {
    random_fat_trees::failed_links(k, probability, seed)
        .map_err(|e| PyValueError::new_err(e.to_string()))
}

/// Points of a distribution (bytes, percent of the flows), mean and median [bytes].
type FlowSizes = (Vec<(u64, f64)>, f64, f64);

/// A built-in distribution of flow sizes, with flows cut to `at_most` bytes: its points (bytes,
/// percent of the flows), mean and median [bytes].
#[pyfunction]
#[pyo3(signature = (name, at_most = None))]
pub fn flow_sizes(name: &str, at_most: Option<u64>) -> PyResult<FlowSizes> {
    let points = cdf::built_in(name)
        .ok_or_else(|| PyValueError::new_err(format!("there is no distribution '{name}'")))?;
    let all = SizeCdf::new(points).map_err(|e| PyValueError::new_err(e.to_string()))?;
    let sizes = at_most.map_or(all.clone(), |cap| all.capped(cap));
    Ok((sizes.points().to_vec(), sizes.mean(), sizes.quantile(50.0)))
}

/// Request-grant, Lemma 1: a random output and grants for it. Its longest backlog, the bound, and
/// the backlog if the longest round trip is granted just before the shortest [ps of the link]; the
/// most whole segments in the buffer, and how many the bound is, rounded up.
#[pyfunction]
pub fn lemma_1_random(py: Python<'_>, seed: u64) -> (u64, u64, u64, u64, u64) {
    py.detach(|| {
        let (output, grants) = lemma_1::random(seed);
        let (run, bound) = (output.run(&grants), output.bound());
        let reached = output.run(&output.longest_first(50)).peak.backlog;
        (
            run.peak.backlog.0,
            bound.0,
            reached.0,
            run.whole_segments_max,
            bound.0.div_ceil(output.segment_time.0),
        )
    })
}

/// The same for four outputs that share their inputs: the longest backlog and the bound of each [ps
/// of the link].
#[pyfunction]
pub fn lemma_1_sharing(py: Python<'_>, seed: u64) -> Vec<(u64, u64)> {
    py.detach(|| {
        let (fabric, outputs) = lemma_1::random_sharing(seed);
        outputs
            .iter()
            .map(|(_, grants)| (fabric.run(grants).peak.backlog.0, fabric.bound().0))
            .collect()
    })
}

/// The longest backlog of Fig. 3 and of Fig. 2(b) with grants of so many segments [segments].
#[pyfunction]
pub fn lemma_1_figures(segments: u64) -> (u64, u64) {
    let of = |(output, grants): (lemma_1::Regulated, Vec<lemma_1::Grant>)| {
        output.run(&grants).peak.backlog.0
    };
    (of(lemma_1::fig_3(Span(1), segments)), of(lemma_1::fig_2b(Span(1), segments)))
}

/// Request-grant, Figs. 2 and 3: outputs that regulate rates implicitly, in slots of a segment.
/// `rtts`: by input; `requests`: slot, input, output, segments. Returns grants (slot, output,
/// input, segments), arrivals (slot, input, output), and the backlog by output and slot.
#[pyfunction]
#[expect(clippy::type_complexity, reason = "plain lists for Python")]
pub fn granters_in_slots(
    rtts: Vec<u64>,
    outputs: usize,
    requests: Vec<(u64, usize, usize, u32)>,
    slots: u64,
) -> (Vec<(u64, usize, usize, u32)>, Vec<(u64, usize, usize)>, Vec<Vec<u64>>) {
    let seen = slots::run(&rtts, outputs, &requests, slots);
    (seen.grants, seen.arrivals, seen.backlog)
}

/// Request-grant, Theorem 1: a random admission to a network of `m` x `m` elements, with at most
/// `b` outstanding for an output or, if not `limited`, without a limit. Returns the highest level
/// of the routing half and of the distribution half over `b`, and whether no buffer exceeds `b`,
/// nothing queues in the distribution half, and flow control is never active.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "keywords in Python")]
pub fn theorem_1_trial(
    py: Python<'_>,
    m: usize,
    stages: usize,
    b: i64,
    hot_eighths: u64,
    seed: u64,
    epochs: u64,
    limited: bool,
) -> PyResult<(f64, f64, bool, bool, bool)> {
    let b = Q::int(b.into());
    let limit = if limited { Limit::Outstanding(b) } else { Limit::None };
    let admission =
        Admission::Arbitrated(Arbitrated { limit, seed, hot_eighths, epoch: Q::ONE, epochs });
    let trial = Trial {
        network: Network::of_the_theorem(clos(m, stages)?),
        b,
        buffer: b,
        admission,
        stopped: Vec::new(),
    };
    let r = play(py, &trial)?;
    let distribution = r.distribution().map_or(0.0, |p| (p.level / r.b).to_f64());
    Ok((
        level(&r),
        distribution,
        r.routing_holds(),
        r.distribution_never_queues(),
        r.first_full.is_none(),
    ))
}

/// Request-grant, Theorem 1: highest level of the routing half over `b` in an example: `tight`
/// (fills a stage to `b`), `single-route`, or, in a network of its own, `unlike-service`,
/// `unequal-links`, `envelope-only`. `None`: `tight` for a stage of the distribution half.
#[pyfunction]
#[pyo3(signature = (name, b, m = 2, stages = 3, stage = 1))]
pub fn theorem_1_example(
    py: Python<'_>,
    name: &str,
    b: i64,
    m: usize,
    stages: usize,
    stage: usize,
) -> PyResult<Option<f64>> {
    let b = Q::int(b.into());
    let trial = match name {
        "tight" => examples::tight(clos(m, stages)?, stage, b),
        "single-route" => Some(examples::single_route(clos(m, stages)?, b)),
        "unlike-service" => examples::unlike_service(b),
        "unequal-links" => examples::unequal_links(b, b),
        "envelope-only" => examples::envelope_only(b),
        _ => return Err(PyValueError::new_err(format!("there is no example '{name}'"))),
    };
    trial.map(|t| play(py, &t).map(|r| level(&r))).transpose()
}

fn clos(m: usize, stages: usize) -> PyResult<Clos> {
    Clos::new(m, stages).ok_or_else(|| {
        PyValueError::new_err(format!("there is no Clos network of {stages} stages of {m} x {m}"))
    })
}

fn play(py: Python<'_>, trial: &Trial) -> PyResult<Report> {
    py.detach(|| trial.run()).map_err(|e| PyValueError::new_err(e.to_string()))
}

fn level(r: &Report) -> f64 {
    (r.routing().level / r.b).to_f64()
}

/// PFFC: slot of a flow in a table of so many slots.
#[pyfunction]
pub fn pffc_slot(flow: u32, slots: u32) -> u16 {
    slot(FlowId(flow), slots)
}

/// PFFC: probability that a flow among `flows` meets another one in its slot, if each is equally
/// likely.
#[pyfunction]
pub fn pffc_meets_another(flows: u64, slots: u64) -> f64 {
    pffc::meets_another(flows, slots)
}

/// PFFC: share of flows that meet another one in their slot, of `drawn` flows in blocks of `flows`
/// that are concurrent.
#[pyfunction]
pub fn pffc_share_a_slot(py: Python<'_>, flows: u32, slots: u32, drawn: u32) -> f64 {
    py.detach(|| {
        let blocks = drawn / flows;
        let met = |block: u32| {
            let mut all: Vec<u16> =
                (0..flows).map(|f| slot(FlowId(block * flows + f), slots)).collect();
            all.sort_unstable();
            all.chunk_by(|a, b| a == b)
                .filter(|same| same.len() > 1)
                .map(|same| same.len() as u64)
                .sum::<u64>()
        };
        (0..blocks).map(met).sum::<u64>() as f64 / f64::from(blocks * flows)
    })
}

/// The first number of the random stream of a seed, a subject (a flow) and a purpose, from 0 to
/// below `below`.
#[pyfunction]
pub fn random_below(seed: u64, subject: u64, purpose: u64, below: u64) -> u64 {
    random::below(&mut random::stream(seed, subject, purpose), below)
}
