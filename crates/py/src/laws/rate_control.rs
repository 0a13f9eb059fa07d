//! A rate control written in Python: the reaction point of each flow.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use xoff_mech::detection::Mark;
use xoff_mech::rate_control::{self as mech, CnpMode, Feedback, RateControl, Wakes};
use xoff_units::{Bytes, Rate, Span, Time};

use super::{Fault, hook, number, protocol, time, whole};

/// Facts of a flow when it begins.
#[pyclass(frozen, get_all)]
pub struct FlowFacts {
    line_bps: u64,
    window_bytes: Option<u64>,
    base_rtt_ps: Option<u64>,
    seed: u64,
}

impl From<&mech::FlowFacts> for FlowFacts {
    fn from(f: &mech::FlowFacts) -> FlowFacts {
        FlowFacts {
            line_bps: f.line.0,
            window_bytes: f.window,
            base_rtt_ps: f.base_rtt.map(|s| s.0),
            seed: f.seed,
        }
    }
}

#[pymethods]
impl FlowFacts {
    fn __repr__(&self) -> String {
        format!("FlowFacts(line of {})", Rate(self.line_bps))
    }
}

/// An acknowledgement.
#[pyclass(frozen, get_all)]
pub struct Ack {
    acked_bytes: u64,
    sent_bytes: u64,
    rtt_ps: u64,
    frame_bytes: u64,
    mark: &'static str,
}

#[pymethods]
impl Ack {
    fn __repr__(&self) -> String {
        format!(
            "Ack({} of {} bytes, after {}, mark {})",
            self.acked_bytes,
            self.sent_bytes,
            Span(self.rtt_ps),
            self.mark
        )
    }
}

fn mark(mark: Mark) -> &'static str {
    match mark {
        Mark::None => "none",
        Mark::Ce => "ce",
        Mark::Ue => "ue",
    }
}

/// The timers of a flow, for the length of one hook.
#[pyclass(frozen)]
pub struct Timers(Mutex<Asked>);

struct Asked {
    now: Time,
    armed: Vec<(u8, Time)>,
    moves: bool,
}

/// Timers that one hook may arm.
const TIMERS_MAX: usize = 4;

#[pymethods]
impl Timers {
    /// Asks for a wake-up with this number at a time [ps].
    fn arm(&self, timer: &Bound<'_, PyAny>, at_ps: &Bound<'_, PyAny>) -> PyResult<()> {
        let mut asked = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let timer = whole("arm", timer, 255, "the number of a timer, 0 to 255")? as u8;
        let at = time("arm", at_ps, asked.now)?;
        if asked.armed.len() == TIMERS_MAX {
            return Err(PyValueError::new_err(format!("arm: a hook may arm {TIMERS_MAX} timers")));
        }
        asked.armed.push((timer, at));
        Ok(())
    }
    /// The frame that waits goes when it would have gone at the new rate.
    fn move_next_frame(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).moves = true;
    }
}

/// A rate control whose reaction points are Python objects.
#[derive(Debug)]
pub struct Law {
    name: Arc<str>,
    law: Py<PyAny>,
    fault: Arc<Fault>,
    cnps: CnpMode,
    undetermined: bool,
    acks: bool,
    quantized: bool,
}

impl Law {
    pub fn new(py: Python<'_>, name: &str, law: &Py<PyAny>, fault: &Arc<Fault>) -> PyResult<Law> {
        let (of, base) = (law.bind(py), protocol(py, "RateControl")?);
        if !of.is_callable() {
            return Err(PyTypeError::new_err(format!(
                "{name} is no rate control: expected a class that takes an xoff.FlowFacts (see xoff.RateControl)"
            )));
        }
        // The class itself, or that of a functools.partial.
        let class = of.getattr_opt("func")?.unwrap_or_else(|| of.clone());
        let own = |hook: &str| -> PyResult<bool> {
            Ok(match class.getattr_opt(hook)? {
                Some(method) => !method.is(&base.getattr(hook)?),
                None => false,
            })
        };
        if !own("rate")? {
            return Err(PyTypeError::new_err(format!(
                "{name} is no rate control: it has no method 'rate()' (see xoff.RateControl)"
            )));
        }
        let interval =
            class.getattr_opt("cnp_interval_ps")?.unwrap_or(base.getattr("cnp_interval_ps")?);
        let interval =
            whole("cnp_interval_ps", &interval, u64::MAX, "a time in whole picoseconds")?;
        Ok(Law {
            name: name.into(),
            law: law.clone_ref(py),
            fault: fault.clone(),
            cnps: if own("on_cnp")? {
                CnpMode::Frame { interval: Span(interval) }
            } else {
                CnpMode::Never
            },
            undetermined: class
                .getattr_opt("undetermined")?
                .is_some_and(|u| u.is_truthy().unwrap_or(false)),
            acks: own("on_ack")? || own("window")?,
            quantized: own("on_cnm")?,
        })
    }
}

impl mech::Law for Law {
    type ReactionPoint = Box<dyn RateControl + Send>;
    fn reaction_point(&self, flow: &mech::FlowFacts) -> Self::ReactionPoint {
        let dead = Reaction { line: flow.line, ..Reaction::default() };
        Box::new(self.fault.call(&self.name, None, dead, |py| {
            let object = self.law.bind(py).call1((Py::new(py, FlowFacts::from(flow))?,))?;
            let base = protocol(py, "RateControl")?;
            let hook = |name| hook(&object, &base, name);
            Ok(Reaction {
                name: self.name.clone(),
                fault: self.fault.clone(),
                line: flow.line,
                now: Time::ZERO,
                rate: hook("rate")?,
                window: hook("window")?,
                on_sent: hook("on_sent")?,
                on_ack: hook("on_ack")?,
                on_cnp: hook("on_cnp")?,
                on_cnm: hook("on_cnm")?,
                on_wake: hook("on_wake")?,
            })
        }))
    }
    fn cnp_mode(&self) -> CnpMode {
        self.cnps
    }
    fn reports_undetermined(&self) -> bool {
        self.undetermined
    }
    fn wants_acks(&self) -> bool {
        self.acks
    }
    fn wants_quantized(&self) -> bool {
        self.quantized
    }
    fn draws(&self) -> bool {
        true
    }
}

/// The reaction point of one flow; at line rate after an exception.
#[derive(Default)]
struct Reaction {
    name: Arc<str>,
    fault: Arc<Fault>,
    line: Rate,
    /// Time of the last hook.
    now: Time,
    rate: Option<Py<PyAny>>,
    window: Option<Py<PyAny>>,
    on_sent: Option<Py<PyAny>>,
    on_ack: Option<Py<PyAny>>,
    on_cnp: Option<Py<PyAny>>,
    on_cnm: Option<Py<PyAny>>,
    on_wake: Option<Py<PyAny>>,
}

impl Reaction {
    /// Calls a hook with timers as its last argument, and takes over the armed timers.
    fn timed(
        &self,
        now: Time,
        wakes: &mut Wakes,
        call: impl FnOnce(Python<'_>, &Py<Timers>) -> PyResult<()>,
    ) {
        let nothing = || Asked { now, armed: Vec::new(), moves: false };
        let asked = self.fault.call(&self.name, Some(now), nothing(), |py| {
            let timers = Py::new(py, Timers(Mutex::new(nothing())))?;
            call(py, &timers)?;
            Ok(std::mem::replace(
                &mut *timers.get().0.lock().unwrap_or_else(PoisonError::into_inner),
                nothing(),
            ))
        });
        asked.armed.into_iter().for_each(|(timer, at)| wakes.arm(timer, at));
        if asked.moves {
            wakes.move_next_frame();
        }
    }
}

impl RateControl for Reaction {
    fn rate(&self) -> Rate {
        let Some(hook) = &self.rate else { return self.line };
        self.fault.call(&self.name, Some(self.now), self.line, |py| {
            let rate = hook.bind(py).call0()?;
            number("rate", &rate, 1.0..1e18, "a rate of 1 bit/s or more").map(Rate)
        })
    }
    fn window(&self) -> Option<u64> {
        let hook = self.window.as_ref()?;
        self.fault.call(&self.name, Some(self.now), None, |py| {
            let window = hook.bind(py).call0()?;
            if window.is_none() {
                return Ok(None);
            }
            number("window", &window, 1.0..1.8e19, "a window of 1 byte or more, or None").map(Some)
        })
    }
    fn on_sent(&mut self, now: Time, len: Bytes, wakes: &mut Wakes) {
        self.now = now;
        if let Some(hook) = &self.on_sent {
            self.timed(now, wakes, |py, timers| {
                hook.bind(py).call1((now.0, len.0, timers)).map(drop)
            });
        }
    }
    fn on_feedback(&mut self, now: Time, feedback: Feedback<'_>, wakes: &mut Wakes) {
        self.now = now;
        let hook = match feedback {
            Feedback::Ack(_) => &self.on_ack,
            Feedback::Congestion | Feedback::Undetermined => &self.on_cnp,
            Feedback::Quantized(_) => &self.on_cnm,
        };
        let Some(hook) = hook else { return };
        self.timed(now, wakes, |py, timers| {
            let hook = hook.bind(py);
            let done = match feedback {
                Feedback::Ack(a) => {
                    let (acked_bytes, sent_bytes, rtt_ps, frame_bytes) =
                        (a.acked, a.sent, a.rtt.0, a.len.0);
                    hook.call1((
                        now.0,
                        Py::new(
                            py,
                            Ack {
                                acked_bytes,
                                sent_bytes,
                                rtt_ps,
                                frame_bytes,
                                mark: mark(a.mark),
                            },
                        )?,
                        timers,
                    ))
                }
                Feedback::Congestion => hook.call1((now.0, "ce", timers)),
                Feedback::Undetermined => hook.call1((now.0, "ue", timers)),
                Feedback::Quantized(degree) => hook.call1((now.0, degree, timers)),
            };
            done.map(drop)
        });
    }
    fn on_wake(&mut self, now: Time, which: u8, wakes: &mut Wakes) {
        self.now = now;
        if let Some(hook) = &self.on_wake {
            self.timed(now, wakes, |py, timers| {
                hook.bind(py).call1((now.0, which, timers)).map(drop)
            });
        }
    }
}
