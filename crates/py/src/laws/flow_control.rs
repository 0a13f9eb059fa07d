//! A flow control written in Python: the two halves of a link.

use std::sync::Arc;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyInt};
use xoff_mech::LinkFacts;
use xoff_mech::flow_control::{self as mech, Gate, Message, Receiver, Sender, StoppedBy, pfc};
use xoff_units::{Bytes, Rate, Span, Time};

use super::{Fault, hook, number, protocol, ps, time, whole, wrong};

/// Facts of a link that a flow control may use.
#[pyclass(frozen, get_all)]
pub struct Link {
    rate_bps: u64,
    delay_ps: u64,
    mtu_bytes: u64,
    mtu_other_bytes: u64,
    buffer_bytes: u64,
    processing_ps: u64,
    jitter_ps: u64,
    control_ahead: u64,
}

impl From<&LinkFacts> for Link {
    fn from(l: &LinkFacts) -> Link {
        Link {
            rate_bps: l.rate.0,
            delay_ps: ps(l.delay),
            mtu_bytes: l.mtu.0,
            mtu_other_bytes: l.mtu_other.0,
            buffer_bytes: l.buffer.0,
            processing_ps: ps(l.processing),
            jitter_ps: ps(l.jitter),
            control_ahead: l.control_ahead,
        }
    }
}

#[pymethods]
impl Link {
    /// Time that so many bytes take on the wire [ps].
    fn time_for(&self, bytes: u64) -> u64 {
        Rate(self.rate_bps).time_for(Bytes(bytes)).0
    }
    fn __repr__(&self) -> String {
        format!(
            "Link({}, {}, buffer of {})",
            Rate(self.rate_bps),
            Span(self.delay_ps),
            Bytes(self.buffer_bytes)
        )
    }
}

/// An ingress buffer after a change.
#[pyclass(frozen, get_all)]
pub struct Occupancy {
    bytes: u64,
    shared_bytes: u64,
    headroom_bytes: u64,
    limit_bytes: u64,
}

impl From<&mech::Occupancy> for Occupancy {
    fn from(o: &mech::Occupancy) -> Occupancy {
        Occupancy {
            bytes: o.bytes.0,
            shared_bytes: o.shared.0,
            headroom_bytes: o.headroom.0,
            limit_bytes: o.limit.0,
        }
    }
}

#[pymethods]
impl Occupancy {
    fn __repr__(&self) -> String {
        format!(
            "Occupancy({} bytes, {} shared of {}, {} in headroom)",
            self.bytes, self.shared_bytes, self.limit_bytes, self.headroom_bytes
        )
    }
}

/// A PAUSE of 802.1Q as a message.
#[pyclass(frozen, eq, hash)]
#[derive(PartialEq, Hash)]
pub struct Pause {
    #[pyo3(get)]
    quanta: Option<u32>,
}

#[pymethods]
impl Pause {
    #[new]
    fn new(quanta: Option<&Bound<'_, PyAny>>) -> PyResult<Pause> {
        let most = u64::from(u16::MAX);
        let quanta = quanta.map(|q| whole("quanta", q, most, "a whole number from 0 to 65535"));
        Ok(Pause { quanta: quanta.transpose()?.map(|q| q as u32) })
    }
    fn __repr__(&self) -> String {
        format!("Pause({})", self.quanta.map_or("None".to_owned(), |q| q.to_string()))
    }
}

/// A message as Python has it.
fn to_python(py: Python<'_>, message: Message) -> PyResult<Py<PyAny>> {
    match message {
        Message::Custom(word) => Ok(word.into_pyobject(py)?.into_any().unbind()),
        Message::Pfc(pfc::Pause::STICKY) => Ok(Py::new(py, Pause { quanta: None })?.into_any()),
        Message::Pfc(pfc::Pause(quanta)) => {
            Ok(Py::new(py, Pause { quanta: Some(quanta) })?.into_any())
        }
        other => Err(PyTypeError::new_err(format!(
            "a message of another flow control, {}",
            other.describe().0
        ))),
    }
}

/// A message from Python: a whole number below 2^64, or a [`Pause`].
fn from_python(hook: &str, value: &Bound<'_, PyAny>) -> PyResult<Option<Message>> {
    if value.is_none() {
        return Ok(None);
    }
    if let Ok(pause) = value.cast::<Pause>() {
        let quanta = pause.get().quanta;
        return Ok(Some(Message::Pfc(quanta.map_or(pfc::Pause::STICKY, pfc::Pause))));
    }
    if value.is_instance_of::<PyInt>()
        && !value.is_instance_of::<PyBool>()
        && let Ok(word) = value.extract::<u64>()
    {
        return Ok(Some(Message::Custom(word)));
    }
    Err(wrong(hook, value, "a message: a whole number from 0 to 2**64 - 1, an xoff.Pause, or None"))
}

/// A flow control whose halves are Python objects.
#[derive(Debug)]
pub struct Law {
    name: Arc<str>,
    law: Py<PyAny>,
    message_len: Bytes,
    fault: Arc<Fault>,
}

impl Law {
    pub fn new(py: Python<'_>, name: &str, law: &Py<PyAny>, fault: &Arc<Fault>) -> PyResult<Law> {
        let of = law.bind(py);
        let len = of.getattr_opt("message_bytes")?;
        let message_len = match len {
            None => mech::MESSAGE_LEN,
            Some(len) => Bytes(whole("message_bytes", &len, u64::MAX, "a size in whole bytes")?),
        };
        for needed in ["receiver", "sender"] {
            if of.getattr_opt(needed)?.is_none_or(|m| !m.is_callable()) {
                let what = format!(
                    "{name} is no flow control: it has no method '{needed}(link)' (see xoff.FlowControl)"
                );
                return Err(PyTypeError::new_err(what));
            }
        }
        Ok(Law { name: name.into(), law: law.clone_ref(py), message_len, fault: fault.clone() })
    }
}

impl mech::Law for Law {
    type Receiver = Box<dyn Receiver + Send + Sync>;
    type Sender = Box<dyn Sender + Send + Sync>;
    fn halves(&self, link: &LinkFacts) -> (Self::Receiver, Self::Sender) {
        let fault = &self.fault;
        let dead = (Downstream::default(), Upstream { line: link.rate, ..Upstream::default() });
        let (rx, tx) = fault.call(&self.name, None, dead, |py| {
            let facts = Py::new(py, Link::from(link))?;
            let rx = self.law.bind(py).call_method1("receiver", (&facts,))?;
            let tx = self.law.bind(py).call_method1("sender", (&facts,))?;
            Ok((Downstream::new(py, self, &rx)?, Upstream::new(py, self, &tx, link.rate)?))
        });
        (Box::new(rx), Box::new(tx))
    }
    fn message_len(&self) -> Bytes {
        self.message_len
    }
}

/// The downstream half; without hooks after an exception.
#[derive(Default)]
struct Downstream {
    name: Arc<str>,
    fault: Arc<Fault>,
    on_arrival: Option<Py<PyAny>>,
    on_departure: Option<Py<PyAny>>,
    on_wake: Option<Py<PyAny>>,
    next_wake: Option<Py<PyAny>>,
    holds: Option<Py<PyAny>>,
    /// Time of the last hook, and wake-ups at that very time.
    now: Time,
    woken: u32,
}

/// Wake-ups at one time after which a receiver is rejected: it would be woken forever.
const WAKES_MAX: u32 = 1_000;

impl Downstream {
    fn new(py: Python<'_>, law: &Law, object: &Bound<'_, PyAny>) -> PyResult<Downstream> {
        let base = protocol(py, "Receiver")?;
        let hook = |name| hook(object, &base, name);
        let name = format!("{}, receiver of {}", object.get_type().name()?, law.name);
        Ok(Downstream {
            name: name.into(),
            fault: law.fault.clone(),
            on_arrival: hook("on_arrival")?,
            on_departure: hook("on_departure")?,
            on_wake: hook("on_wake")?,
            next_wake: hook("next_wake")?,
            holds: hook("holds")?,
            now: Time::ZERO,
            woken: 0,
        })
    }
}

/// Calls a hook that may return a message.
macro_rules! message_of {
    ($self:ident, $hook:ident, $now:expr, $arguments:expr) => {{
        let Some(hook) = &$self.$hook else { return None };
        $self.fault.call(&$self.name, Some($now), None, |py| {
            let arguments = $arguments(py)?;
            from_python(stringify!($hook), &hook.bind(py).call1(arguments)?)
        })
    }};
}

impl Receiver for Downstream {
    fn on_arrival(
        &mut self,
        now: Time,
        occupancy: &mech::Occupancy,
        len: Bytes,
    ) -> Option<Message> {
        (self.now, self.woken) = (now, 0);
        message_of!(self, on_arrival, now, |py| PyResult::Ok((
            now.0,
            Py::new(py, Occupancy::from(occupancy))?,
            len.0
        )))
    }
    fn on_departure(
        &mut self,
        now: Time,
        occupancy: &mech::Occupancy,
        len: Bytes,
    ) -> Option<Message> {
        (self.now, self.woken) = (now, 0);
        message_of!(self, on_departure, now, |py| PyResult::Ok((
            now.0,
            Py::new(py, Occupancy::from(occupancy))?,
            len.0
        )))
    }
    fn on_wake(&mut self, now: Time, occupancy: &mech::Occupancy) -> Option<Message> {
        self.woken = if self.now == now { self.woken + 1 } else { 0 };
        self.now = now;
        if self.woken > WAKES_MAX {
            let what = format!(
                "next_wake: still {} ps after on_wake at that time, again and again",
                now.0
            );
            return self
                .fault
                .call(&self.name, Some(now), None, |_| Err(PyValueError::new_err(what)));
        }
        message_of!(self, on_wake, now, |py| PyResult::Ok((
            now.0,
            Py::new(py, Occupancy::from(occupancy))?
        )))
    }
    fn next_wake(&self) -> Option<Time> {
        let hook = self.next_wake.as_ref()?;
        self.fault.call(&self.name, Some(self.now), None, |py| {
            let at = hook.bind(py).call0()?;
            if at.is_none() { Ok(None) } else { time("next_wake", &at, self.now).map(Some) }
        })
    }
    fn holds(&self, occupancy: &mech::Occupancy, stuck: Bytes, len: Bytes) -> bool {
        let Some(hook) = &self.holds else { return false };
        self.fault.call(&self.name, Some(self.now), false, |py| {
            let occupancy = Py::new(py, Occupancy::from(occupancy))?;
            let held = hook.bind(py).call1((occupancy, stuck.0, len.0))?;
            held.extract::<bool>().map_err(|_| wrong("holds", &held, "True or False"))
        })
    }
}

/// The upstream half; open after an exception.
#[derive(Default)]
struct Upstream {
    name: Arc<str>,
    fault: Arc<Fault>,
    line: Rate,
    gate: Option<Py<PyAny>>,
    on_sent: Option<Py<PyAny>>,
    on_message: Option<Py<PyAny>>,
    held: Option<Py<PyAny>>,
    rate: Option<Py<PyAny>>,
    restart: Option<Py<PyAny>>,
    stopped_by: StoppedBy,
}

impl Upstream {
    fn new(py: Python<'_>, law: &Law, object: &Bound<'_, PyAny>, line: Rate) -> PyResult<Upstream> {
        let base = protocol(py, "Sender")?;
        let hook = |name| hook(object, &base, name);
        let credits =
            object.getattr_opt("credits")?.is_some_and(|c| c.is_truthy().unwrap_or(false));
        let name = format!("{}, sender of {}", object.get_type().name()?, law.name);
        Ok(Upstream {
            name: name.into(),
            fault: law.fault.clone(),
            line,
            gate: hook("gate")?,
            on_sent: hook("on_sent")?,
            on_message: hook("on_message")?,
            held: hook("held")?,
            rate: hook("rate")?,
            restart: hook("restart")?,
            stopped_by: if credits { StoppedBy::Credits } else { StoppedBy::Pause },
        })
    }
}

impl Sender for Upstream {
    fn gate(&self, now: Time, len: Bytes) -> Gate {
        let Some(hook) = &self.gate else { return Gate::Open };
        self.fault.call(&self.name, Some(now), Gate::Open, |py| {
            let answer = hook.bind(py).call1((now.0, len.0))?;
            if answer.is_instance_of::<PyBool>() {
                return Ok(if answer.extract()? { Gate::Open } else { Gate::Blocked });
            }
            if !answer.is_instance_of::<PyInt>() {
                return Err(wrong("gate", &answer, "True, False, or a time in whole picoseconds"));
            }
            match time("gate", &answer, now)? {
                at if at == now => Err(PyValueError::new_err(format!(
                    "gate: not before {} ps, which is now; answer True",
                    at.0
                ))),
                at => Ok(Gate::Until(at)),
            }
        })
    }
    fn on_sent(&mut self, now: Time, len: Bytes, tx: Span) {
        if let Some(hook) = &self.on_sent {
            self.fault.call(&self.name, Some(now), (), |py| {
                hook.bind(py).call1((now.0, len.0, tx.0)).map(drop)
            });
        }
    }
    fn on_message(&mut self, now: Time, message: Message) {
        if let Some(hook) = &self.on_message {
            self.fault.call(&self.name, Some(now), (), |py| {
                hook.bind(py).call1((now.0, to_python(py, message)?)).map(drop)
            });
        }
    }
    fn held(&self, now: Time, len: Bytes) -> bool {
        let Some(hook) = &self.held else { return self.gate(now, len) == Gate::Blocked };
        self.fault.call(&self.name, Some(now), false, |py| {
            let held = hook.bind(py).call1((now.0, len.0))?;
            held.extract::<bool>().map_err(|_| wrong("held", &held, "True or False"))
        })
    }
    fn rate(&self, now: Time) -> Rate {
        let Some(hook) = &self.rate else {
            return if self.held(now, Bytes(1)) { Rate::ZERO } else { self.line };
        };
        self.fault.call(&self.name, Some(now), self.line, |py| {
            let rate = hook.bind(py).call1((now.0,))?;
            number("rate", &rate, 0.0..1e18, "a rate in bit/s, 0 or more").map(Rate)
        })
    }
    fn restart(&mut self, now: Time) {
        if let Some(hook) = &self.restart {
            self.fault
                .call(&self.name, Some(now), (), |py| hook.bind(py).call1((now.0,)).map(drop));
        }
    }
    fn stopped_by(&self) -> StoppedBy {
        self.stopped_by
    }
}
