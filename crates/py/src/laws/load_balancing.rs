//! A load balancing written in Python: the balancer of each switch.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyInt, PyTuple};
use xoff_mech::balancing as mech;
use xoff_run::{BalancingDraws, NetworkScenario};
use xoff_units::NodeId;

use super::{Fault, hook, protocol, wrong};

/// A frame that has several next hops.
#[pyclass(frozen, get_all)]
pub struct Arrival {
    flow: u32,
    frame_bytes: u64,
    hop_set: u32,
}

#[pymethods]
impl Arrival {
    fn __repr__(&self) -> String {
        format!("Arrival({} bytes of flow {})", self.frame_bytes, self.flow)
    }
}

/// The random stream of a switch, shared by the arguments of its hooks.
type Draws = Arc<Mutex<BalancingDraws>>;

/// The next hops of a frame.
#[pyclass(frozen)]
pub struct NextHops {
    #[pyo3(get)]
    waiting_bytes: Py<PyTuple>,
    #[pyo3(get)]
    paused: Py<PyTuple>,
    #[pyo3(get)]
    capacity_bps: Py<PyTuple>,
    #[pyo3(get)]
    hashed: u64,
    count: usize,
    draws: Draws,
}

impl NextHops {
    fn new(
        py: Python<'_>,
        hops: &mut dyn mech::NextHops,
        capacities: bool,
        draws: &Draws,
    ) -> PyResult<NextHops> {
        let count = hops.count();
        let capacity: Vec<u64> = match capacities {
            true => (0..count).map(|hop| hops.capacity(hop).0).collect(),
            false => Vec::new(),
        };
        Ok(NextHops {
            waiting_bytes: PyTuple::new(
                py,
                (0..count).map(|hop| hops.waiting(hop).0).collect::<Vec<_>>(),
            )?
            .unbind(),
            paused: PyTuple::new(py, (0..count).map(|hop| hops.is_held(hop)).collect::<Vec<_>>())?
                .unbind(),
            capacity_bps: PyTuple::new(py, capacity)?.unbind(),
            hashed: hops.hashed(count as u64),
            count,
            draws: draws.clone(),
        })
    }
}

#[pymethods]
impl NextHops {
    fn __len__(&self) -> usize {
        self.count
    }
    /// A random number in [0, 1).
    fn draw(&self) -> f64 {
        self.draws.lock().unwrap_or_else(PoisonError::into_inner).draw()
    }
    fn __repr__(&self) -> String {
        format!("NextHops({})", self.count)
    }
}

/// A load balancing whose balancers are Python objects.
#[derive(Debug)]
pub struct Law {
    name: Arc<str>,
    law: Py<PyAny>,
    fault: Arc<Fault>,
    /// Names of the nodes.
    switches: Vec<String>,
    seed: u64,
    reorders: bool,
    capacities: bool,
}

/// A flag of the class, or of that of a `functools.partial`.
fn flag(law: &Bound<'_, PyAny>, name: &str) -> PyResult<bool> {
    let class = law.getattr_opt("func")?.unwrap_or_else(|| law.clone());
    let given = class.getattr_opt(name)?;
    let given = given.map_or_else(|| protocol(law.py(), "LoadBalancing")?.getattr(name), Ok)?;
    given.extract::<bool>().map_err(|_| wrong(name, &given, "True or False"))
}

/// Whether frames of a flow may overtake each other under this law.
///
/// # Errors
/// It is no load balancing.
pub fn reorders(py: Python<'_>, name: &str, law: &Py<PyAny>) -> PyResult<bool> {
    let law = law.bind(py);
    let class = law.getattr_opt("func")?.unwrap_or_else(|| law.clone());
    let picks = class.getattr_opt("pick")?;
    let base = protocol(py, "LoadBalancing")?.getattr("pick")?;
    if !law.is_callable() || picks.is_none_or(|p| p.is(&base)) {
        return Err(PyTypeError::new_err(format!(
            "{name} is no load balancing: expected a class with a method 'pick(now_ps, frame, hops)' (see xoff.LoadBalancing)"
        )));
    }
    flag(law, "reorders")
}

impl Law {
    pub fn new(
        py: Python<'_>,
        name: &str,
        law: &Py<PyAny>,
        fault: &Arc<Fault>,
        scenario: &NetworkScenario,
    ) -> PyResult<Law> {
        Ok(Law {
            name: name.into(),
            law: law.clone_ref(py),
            fault: fault.clone(),
            switches: scenario.topology.nodes.iter().map(|n| n.name.to_string()).collect(),
            seed: scenario.seed,
            reorders: reorders(py, name, law)?,
            capacities: flag(law.bind(py), "capacities")?,
        })
    }
}

impl mech::Custom for Law {
    fn balancer(&self, switch: NodeId) -> Box<dyn mech::Balancer + Send + Sync> {
        let at = &self.switches[switch.index()];
        let pick = self.fault.call(&format!("{} of {at}", self.name), None, None, |py| {
            let object = self.law.bind(py).call1((at.as_str(),))?;
            hook(&object, &protocol(py, "LoadBalancing")?, "pick")
        });
        Box::new(Balancer {
            name: format!("{} of {at}", self.name),
            fault: self.fault.clone(),
            pick,
            capacities: self.capacities,
            draws: Arc::new(Mutex::new(BalancingDraws::new(self.seed, switch))),
        })
    }
    fn reorders(&self) -> bool {
        self.reorders
    }
}

/// The balancer of one switch; after an exception frames take the first next hop.
struct Balancer {
    name: String,
    fault: Arc<Fault>,
    pick: Option<Py<PyAny>>,
    capacities: bool,
    draws: Draws,
}

impl mech::Balancer for Balancer {
    fn pick(&mut self, frame: &mech::Arrival, hops: &mut dyn mech::NextHops) -> usize {
        let Some(pick) = &self.pick else { return 0 };
        self.fault.call(&self.name, Some(frame.now), 0, |py| {
            let count = hops.count();
            let arrival =
                Arrival { flow: frame.flow.0, frame_bytes: frame.len.0, hop_set: frame.set };
            let hops = NextHops::new(py, hops, self.capacities, &self.draws)?;
            let hop = pick.bind(py).call1((frame.now.0, arrival, hops))?;
            let whole = hop.is_instance_of::<PyInt>() && !hop.is_instance_of::<PyBool>();
            match hop.extract::<usize>() {
                Ok(hop) if whole && hop < count => Ok(hop),
                _ => Err(wrong(
                    "pick",
                    &hop,
                    &format!("a next hop: a whole number from 0 to {}", count - 1),
                )),
            }
        })
    }
}
