//! What a mechanism declares for `xoff plan` and for the warnings of a scenario.

use xoff_mech::flow_control::FlowControl;
use xoff_mech::flow_control::on_off::Stop;
use xoff_units::params::{ParamError, ParamSpec};

use super::conditions::{Configured, Parameters};
use super::input::PlanInput;
use super::link::Link;
use super::output::{Plan, Warning};

/// Facts about a mechanism for `xoff plan` and the warnings of a scenario.
pub struct Entry {
    /// Name, as in its own registry.
    pub name: &'static str,
    /// Keys of a plan that no other mechanism has; [`PlanInput::own`] has their values.
    pub keys: &'static [ParamSpec],
    /// Rejects impossible values of these keys, in any plan.
    pub check: fn(&PlanInput) -> Result<(), ParamError>,
    /// Plans it.
    pub plan: fn(&PlanInput) -> Result<Plan, ParamError>,
    /// The conditions that these numbers do not satisfy.
    pub conditions: fn(&Parameters, &mut Vec<Warning>),
    /// The conditions that a configured flow control does not satisfy where it is used.
    pub configured: fn(&FlowControl, &Configured, &mut Vec<Warning>),
    /// Values that a plan and a scenario both derive from a configured flow control.
    pub derived: fn(&FlowControl) -> Vec<Derived>,
    /// Way in which it stops a port as a whole; `None`: it does not, and a detector of ON and OFF
    /// periods has no plan on such a link.
    pub on_off: Option<OnOff>,
}

impl Entry {
    /// Entry that declares only its name, its keys and its plan.
    pub(super) const PLAIN: Entry = Entry {
        name: "",
        keys: &[],
        check: |_| Ok(()),
        plan: |input| {
            Err(ParamError::new(
                "flow_control",
                format!("'{}' has no plan", input.flow_control),
                "name another mechanism",
            ))
        },
        conditions: |_, _| {},
        configured: |_, _, _| {},
        derived: |_| Vec::new(),
        on_off: None,
    };
}

/// A value that follows from the link: its symbol in a plan, its key in a scenario, and the value
/// there [bytes or ps].
pub type Derived = (&'static str, &'static str, u64);

/// Statements of a detector's plan about the flow control that switches its port on and off.
pub struct OnOff {
    /// Formula and source of the rule that stops the port.
    pub formula: fn(&PlanInput) -> (&'static str, &'static str),
    /// Conditions of the flow control that matter to the detector as well.
    pub warnings: fn(&PlanInput, &Link, Stop) -> Result<Vec<Warning>, ParamError>,
}

/// The conditions that do not hold, as a list.
pub(super) fn conditions_of(
    conditions: fn(&Parameters, &mut Vec<Warning>),
    p: &Parameters,
) -> Vec<Warning> {
    let mut w = Vec::new();
    conditions(p, &mut w);
    w
}
