//! The laws of QCN by themselves, for the metrics of claims: which flow a congestion point
//! notifies, its feedback, a rate limiter after a cut, and the reads of a search for a culprit.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use xoff_mech::detection::culprit::{CulpritArray, Occupancy, Sampling, TRIES, UNIT};
use xoff_mech::detection::qcn::{Params, Placement, Qcn, Sampler, quantise};
use xoff_mech::rate_control::{Feedback, RateControl as _, Wakes, qcn as reaction};
use xoff_net::workload::random;
use xoff_units::{Bytes, FlowId, Rate, Span, Time};

/// Purposes of random streams; see `xoff_net::workload::random`.
const SAMPLES: u64 = 3_002;
const PICKS: u64 = 3_003;
const LINE: Rate = Rate::from_gbps(10);
const FRAME: Bytes = Bytes(1_522);

/// CNMs of each flow, of a congestion point that samples every frame and always finds congestion.
///
/// A flow is its share of the arrivals, how many frames the buffer holds of it, and their length.
/// Before a frame arrives, one of its flow leaves: the shares stay as they are. `stream`: of the
/// random numbers of the point. `mixed`: the frames lie in a random order.
#[pyfunction]
#[pyo3(signature = (sampling, flows, draws, seed, stream = 9, mixed = true))]
pub fn qcn_notified(
    py: Python<'_>,
    sampling: &str,
    flows: Vec<(f64, u64, u64)>,
    draws: u64,
    seed: u64,
    stream: u64,
    mixed: bool,
) -> PyResult<Vec<u64>> {
    let sampling = match sampling {
        "arrival" => Sampling::Arrival,
        "largest" => Sampling::Largest,
        "random" => Sampling::Random,
        other => {
            return Err(PyValueError::new_err(format!(
                "sampling '{other}' (expected arrival, largest or random)"
            )));
        }
    };
    Ok(py.detach(|| notified(sampling, &flows, draws, (seed, stream), mixed)))
}

fn notified(
    sampling: Sampling,
    flows: &[(f64, u64, u64)],
    draws: u64,
    (seed, stream): (u64, u64),
    mixed: bool,
) -> Vec<u64> {
    let unbiased = Params::unbiased_qcn(Placement::Input, sampling);
    let always = Params {
        sample_base: Bytes(1),
        setpoint: Bytes(1_000),
        weight: 0,
        jitter: false,
        ..unbiased
    };
    let mut point = Qcn::new(&always, LINE, Bytes::from_kb(150));
    let mut rng = random::stream(seed, sampling as u64, SAMPLES);
    let mut own = random::stream(seed, stream, SAMPLES);
    let mut random = || random::uniform(&mut own);
    let queue = Bytes(140_000);
    let length = |flow: u32| Bytes(flows[flow as usize].2);
    let mut order: Vec<u32> =
        (0u32..).zip(flows).flat_map(|(flow, f)| (0..f.1).map(move |_| flow)).collect();
    if mixed {
        random::shuffle(&mut rng, &mut order);
    }
    for &flow in &order {
        point.on_enqueue(Time::ZERO, FlowId(flow), length(flow), queue, &mut random);
    }
    let mut seen = vec![0; flows.len()];
    for _ in 0..draws {
        let mut at = random::uniform(&mut rng);
        let arrives = flows.iter().position(|f| {
            at -= f.0;
            at < 0.0
        });
        let flow = arrives.unwrap_or(flows.len() - 1) as u32;
        point.on_dequeue(FlowId(flow), length(flow));
        if let Some(cnm) =
            point.on_enqueue(Time::ZERO, FlowId(flow), length(flow), queue, &mut random)
        {
            seen[cnm.flow.index()] += 1;
        }
    }
    seen
}

fn table_1() -> Params {
    Params::unbiased_qcn(Placement::Output, Sampling::Arrival)
}

/// Feedback in six bits of values of `F_b` [bytes], with the parameters of Unbiased QCN.
#[pyfunction]
pub fn qcn_feedback(py: Python<'_>, f_b: Vec<i64>) -> Vec<u32> {
    let range = table_1().feedback_range();
    py.detach(|| f_b.into_iter().map(|fb| quantise(fb, range).into()).collect())
}

/// `F_b` of the largest feedback, `(2w + 1) Q_eq` [bytes].
#[pyfunction]
pub fn qcn_feedback_range() -> u64 {
    table_1().feedback_range().0
}

/// Bytes to the next sample after a feedback.
#[pyfunction]
pub fn qcn_interval(feedback: u8) -> u64 {
    table_1().interval(feedback).0
}

/// Feedback of queues [bytes] that are sampled one after the other.
#[pyfunction]
pub fn qcn_sampled(queues: Vec<u64>) -> Vec<u32> {
    let mut sampler =
        Sampler::new(&Params { sample_base: Bytes(1), jitter: false, ..table_1() }, LINE);
    let mut degree = |queue| {
        sampler
            .on_arrival(Time::ZERO, FRAME, Bytes(queue), &mut || 0.5)
            .map_or(0, |c| c.degree.into())
    };
    queues.into_iter().map(&mut degree).collect()
}

/// Rate limiter of 10 Gb/s on its own, without jitter: it sends at its rate, or not at all.
#[pyclass]
pub struct QcnLimiter {
    law: reaction::Qcn,
    now: Time,
    timer: Option<Time>,
}

impl QcnLimiter {
    fn arm(&mut self, wakes: &Wakes) {
        self.timer = wakes.iter().map(|(_, at)| at).last().or(self.timer);
    }
}

#[pymethods]
impl QcnLimiter {
    #[new]
    fn new() -> QcnLimiter {
        let params = reaction::Params {
            jitter: false,
            reaction: Span::ZERO,
            ..reaction::Params::unbiased_qcn_10g()
        };
        QcnLimiter { law: reaction::Qcn::new(&params, LINE, 0), now: Time::ZERO, timer: None }
    }

    /// A CNM arrives.
    fn cnm(&mut self, feedback: u8) {
        let mut wakes = Wakes::default();
        self.law.on_feedback(self.now, Feedback::Quantized(feedback), &mut wakes);
        self.arm(&wakes);
    }

    /// It sends so many bytes at once, in frames of 1500 B.
    fn sends(&mut self, bytes: u64) {
        let mut wakes = Wakes::default();
        (0..bytes / 1_500).for_each(|_| self.law.on_sent(self.now, Bytes(1_500), &mut wakes));
    }

    /// Until the timer has run out once: how long that took [ps]; `None`: it does not run.
    fn waits(&mut self) -> Option<u64> {
        let at = self.timer.take()?;
        let took = at.since(self.now).0;
        self.now = at;
        let mut wakes = Wakes::default();
        self.law.on_wake(at, 0, &mut wakes);
        self.arm(&wakes);
        Some(took)
    }

    /// Its rate [bit/s].
    #[getter]
    fn rate(&self) -> f64 {
        self.law.rate().as_f64()
    }

    /// Its target [bit/s].
    #[getter]
    fn target(&self) -> f64 {
        self.law.target().as_f64()
    }
}

/// Searches of an array of so many words, in which frames of these flows lie one after the other,
/// each of `length` bytes: the reads of each, and how many ended row by row. `at_once`: words that
/// a random read considers.
#[pyfunction]
pub fn culprit_reads(
    py: Python<'_>,
    frames: Vec<u32>,
    length: u64,
    words: u64,
    at_once: usize,
    searches: u64,
    seed: u64,
) -> (Vec<u32>, usize) {
    py.detach(|| {
        let mut array = CulpritArray::new(Bytes(words * UNIT), at_once, TRIES);
        frames.iter().for_each(|&flow| array.insert(FlowId(flow), Bytes(length)));
        let flows = frames.iter().max().map_or(0, |last| u64::from(*last) + 1);
        let mut rng = random::stream(seed, flows, PICKS);
        let mut draw = || random::uniform(&mut rng);
        let all: Vec<_> = (0..searches).filter_map(|_| array.pick(&mut draw)).collect();
        (all.iter().map(|f| f.reads).collect(), all.iter().filter(|f| f.sequential).count())
    })
}

/// Words that a frame takes.
#[pyfunction]
pub fn culprit_units(length: u64) -> u64 {
    CulpritArray::units(Bytes(length))
}

/// Counters that deterministic sampling keeps for frames of so many flows.
#[pyfunction]
pub fn culprit_counters(flows: u32) -> usize {
    let mut occupancy = Occupancy::default();
    (0..flows).for_each(|flow| occupancy.insert(FlowId(flow), Bytes(UNIT)));
    occupancy.len()
}
