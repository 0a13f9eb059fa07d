//! Laws from outside the repository, in the place of those that the scenario names.
//!
//! The text of such a scenario cannot be run. Its `kind` is in no registry, so the reader rejects
//! the scenario instead of repeating another run.

use std::sync::Arc;

use xoff_mech::{balancing, flow_control, rate_control};
use xoff_sim::PerLink;
use xoff_units::params::ParamError;

use super::NetworkScenario;

impl NetworkScenario {
    /// Every link gets this flow control; `name` stands in the summary and in the parameters.
    pub fn use_flow_control(&mut self, name: &'static str, law: Arc<dyn flow_control::Custom>) {
        self.flow_control = name;
        let links = self
            .links()
            .iter()
            .map(|(facts, _)| (*facts, flow_control::FlowControl::Custom(law.clone())));
        self.model.flow_control = PerLink::Kinds(links.collect());
        self.rename("flow_control", name);
    }

    /// Every flow that the run's rate control regulates gets this one.
    ///
    /// # Errors
    /// It needs acknowledgements, and hosts send none.
    pub fn use_rate_control(
        &mut self,
        name: &'static str,
        law: Arc<dyn rate_control::Custom>,
    ) -> Result<(), ParamError> {
        let kind = rate_control::RateControlKind::Custom(law);
        if kind.needs_acks() && !self.model.nic.transport.acknowledges() {
            let what = format!(
                "{name} reacts to acknowledgements, but hosts send none: rates never change"
            );
            return Err(ParamError::new("rate_control", what, "set host.acks = \"per-frame\""));
        }
        self.rate_control = name;
        self.model.nic.rate_control = kind;
        self.rename("rate_control", name);
        Ok(())
    }

    /// Every switch chooses among several next hops with this law.
    pub fn use_load_balancing(&mut self, name: &'static str, law: Arc<dyn balancing::Custom>) {
        self.model.balancing = balancing::Balancing::Custom(law);
        self.rename("load_balancing", name);
    }

    /// Puts the name of a law in the place of the kind, in the parameters and in the resolved text.
    fn rename(&mut self, section: &str, name: &str) {
        let path = format!("{section}.kind");
        for p in self.parameters.iter_mut().filter(|p| p.path == path) {
            name.clone_into(&mut p.value);
            "from outside".clone_into(&mut p.origin);
        }
        let header = format!("[{section}]");
        let mut inside = false;
        let line = |line: &str| {
            inside = if line.starts_with('[') { line == header } else { inside };
            if inside && line.starts_with("kind = ") {
                format!("kind = {name:?}  # from outside\n")
            } else {
                format!("{line}\n")
            }
        };
        self.resolved = self.resolved.lines().map(line).collect();
    }
}
