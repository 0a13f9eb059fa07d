//! Mechanisms that have a plan: one line for each; its file declares the rest.
//!
//! ```text
//!   pfc.rs:  PLAN = Entry { name, keys, check, plan, conditions, configured, derived, on_off }
//!   here:    REGISTRY = [.., pfc::PLAN, ..]  -->  names and keys of `xoff plan`, its entry points, the warnings of a scenario
//! ```
//!
//! A mechanism without a line here still runs: `xoff plan` refuses it with the reason, and a
//! scenario gets no warnings of this kind.

use xoff_mech::flow_control::FlowControl;
use xoff_mech::{detection, flow_control, rate_control};
use xoff_units::Rate;
use xoff_units::params::{ParamError, ParamSpec};

use super::conditions::{Configured, Parameters, shared};
use super::entry::{Derived, Entry};
use super::output::Warning;
use super::read::SHARED;
use super::{cbfc, gfc_buffer, gfc_conceptual, gfc_time, pfc, pffc, tcd};

/// Flow controls with a plan.
pub const FLOW_CONTROL_PLANS: [Entry; 6] =
    [pfc::PLAN, cbfc::PLAN, gfc_conceptual::PLAN, gfc_buffer::PLAN, gfc_time::PLAN, pffc::PLAN];

/// Detections with a plan, on a link with one of the flow controls.
pub const DETECTION_PLANS: [Entry; 1] = [tcd::PLAN];

const F: usize = FLOW_CONTROL_PLANS.len();
const D: usize = DETECTION_PLANS.len();

const fn names<const N: usize>(of: &[Entry; N]) -> [&'static str; N] {
    let (mut names, mut i) = ([""; N], 0);
    while i < N {
        names[i] = of[i].name;
        i += 1;
    }
    names
}

/// Concatenation of two lists. `N` is the sum of their lengths.
const fn joined<T: Copy, const N: usize>(first: &[T], second: &[T], filler: T) -> [T; N] {
    assert!(first.len() + second.len() == N);
    let (mut all, mut i) = ([filler; N], 0);
    while i < N {
        all[i] = if i < first.len() { first[i] } else { second[i - first.len()] };
        i += 1;
    }
    all
}

/// The flow controls that can be planned.
pub const FLOW_CONTROLS: &[&str] = &names(&FLOW_CONTROL_PLANS);

/// The detections that can be planned.
pub const DETECTIONS: &[&str] = &names(&DETECTION_PLANS);

/// Either of them, the first key of a plan.
pub(super) const PLANNED: &[&str] = &joined::<_, { F + D }>(DETECTIONS, FLOW_CONTROLS, "");

const fn own_keys() -> usize {
    let (mut n, mut i) = (0, 0);
    while i < F {
        n += FLOW_CONTROL_PLANS[i].keys.len();
        i += 1;
    }
    i = 0;
    while i < D {
        n += DETECTION_PLANS[i].keys.len();
        i += 1;
    }
    n
}

const fn own<const N: usize>(filler: ParamSpec) -> [ParamSpec; N] {
    let (mut all, mut n, mut i) = ([filler; N], 0, 0);
    while i < F + D {
        let keys = if i < F { FLOW_CONTROL_PLANS[i].keys } else { DETECTION_PLANS[i - F].keys };
        let mut k = 0;
        while k < keys.len() {
            (all[n], n, k) = (keys[k], n + 1, k + 1);
        }
        i += 1;
    }
    all
}

const OWN: usize = own_keys();
const SHARED_KEYS: usize = SHARED.len();

/// The keys of single mechanisms, in the order of the registry.
pub(super) const OWN_KEYS: &[ParamSpec] = &own::<OWN>(SHARED[0]);

/// The parameters of a plan: the command line, the schema and the documentation come from this
/// table.
pub const PARAMS: &[ParamSpec] = &joined::<_, { SHARED_KEYS + OWN }>(SHARED, OWN_KEYS, SHARED[0]);

/// Values that a plan and a scenario both derive from it: `xoff plan` and a run agree in these.
pub fn derived(name: &str, fc: &FlowControl) -> Vec<Derived> {
    find(name).map_or(Vec::new(), |e| (e.derived)(fc))
}

/// The flow controls that stop a port as a whole, so that a detector of ON and OFF periods has a
/// plan there.
pub fn that_stop_ports() -> impl Iterator<Item = &'static str> {
    FLOW_CONTROL_PLANS.iter().filter(|e| e.on_off.is_some()).map(|e| e.name)
}

/// All entries.
pub(super) fn all() -> impl Iterator<Item = &'static Entry> {
    const FLOW: &[Entry] = &FLOW_CONTROL_PLANS;
    const DETECTION: &[Entry] = &DETECTION_PLANS;
    FLOW.iter().chain(DETECTION)
}

/// The plan of a mechanism; `None`: there is none.
pub fn find(name: &str) -> Option<&'static Entry> {
    all().find(|e| e.name == name)
}

/// The conditions of the mechanism of this name that do not hold; empty for one without conditions
/// ("none", or one without a plan).
pub fn conditions(name: &str, p: &Parameters) -> Vec<Warning> {
    let mut w = Vec::new();
    // Where nothing flows, nothing can be violated.
    if let Some(entry) = find(name).filter(|_| p.rate > Rate::ZERO) {
        (entry.conditions)(p, &mut w);
    }
    w
}

/// The conditions of a configured flow control that do not hold on its link.
pub fn configured(name: &str, fc: &FlowControl, at: &Configured) -> Vec<Warning> {
    let mut w = Vec::new();
    match find(name) {
        _ if at.link.rate == Rate::ZERO => {}
        Some(entry) => (entry.configured)(fc, at, &mut w),
        None => without_a_plan(fc, at, &mut w),
    }
    w
}

/// Conditions of a flow control without a plan, which also depends on its buffer.
fn without_a_plan(fc: &FlowControl, at: &Configured, w: &mut Vec<Warning>) {
    let held = match fc {
        FlowControl::None => return, // nothing is promised
        FlowControl::UecCbfc(p) => p.held().min(at.link.buffer),
        _ => at.link.buffer,
    };
    shared(&at.parameters(fc), held, w);
}

/// Mechanisms of the registries that have no plan, each with its description.
pub fn unplanned() -> impl Iterator<Item = (&'static str, &'static str)> {
    let flow_controls = flow_control::REGISTRY.iter().map(|e| (e.name, e.about));
    let detections = detection::REGISTRY.iter().map(|e| (e.name, e.about));
    let rate_controls = rate_control::REGISTRY.iter().map(|e| (e.name, e.about));
    flow_controls.chain(detections).chain(rate_controls).filter(|(name, _)| find(name).is_none())
}

/// Error for a missing plan.
pub(super) fn refused(key: &str, name: &str, planned: &[&str]) -> ParamError {
    let what = match unplanned().find(|(n, _)| *n == name) {
        Some((_, about)) => format!("'{name}' ({about}) has no plan: it has nothing to dimension"),
        None if find(name).is_some() => format!("xoff cannot plan '{name}'"),
        None => format!("unknown mechanism '{name}'"),
    };
    ParamError::new(key, what, format!("expected one of {}", planned.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A name is that of a mechanism, a key is declared once, and an entry belongs to its own
    /// mechanism only.
    #[test]
    fn entries_are_those_of_mechanisms() {
        for (i, name) in PLANNED.iter().enumerate() {
            assert!(!PLANNED[..i].contains(name), "{name} twice");
        }
        let known = |name: &str| {
            flow_control::REGISTRY.iter().any(|e| e.name == name)
                || detection::REGISTRY.iter().any(|e| e.name == name)
        };
        assert!(all().all(|e| known(e.name)));
        for (i, p) in PARAMS.iter().enumerate() {
            assert!(PARAMS[..i].iter().all(|q| q.key != p.key), "{} twice", p.key);
        }
        assert!(OWN_KEYS.iter().all(|k| PARAMS.iter().any(|p| p.key == k.key)));
        for (name, _) in unplanned() {
            let e = refused("detection", name, PLANNED);
            assert!(
                e.what.contains(name) && e.what.contains("has no plan") && e.hint.contains("pfc"),
                "{e}"
            );
        }
        assert!(unplanned().count() > 3, "or this tests nothing");
    }
}
