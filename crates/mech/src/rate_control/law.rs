//! Registry requirements of a rate control: [`Law`] of its parameters.

use std::fmt::Debug;

use xoff_units::params::{ParamError, ParamSpec, Values};
use xoff_units::{Rate, Span};

use super::{CnpMode, RateControl, RateControlKind, RecordFormat};
use crate::Unmet;

/// A name, its parameters and their reader.
pub struct Entry {
    /// Name in files and on the command line.
    pub name: &'static str,
    /// Description in one line.
    pub about: &'static str,
    /// Declared parameters.
    pub params: &'static [ParamSpec],
    /// Reads the parameters.
    pub read: fn(&mut dyn Values) -> Result<RateControlKind, ParamError>,
}

/// Facts about a flow at its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowFacts {
    /// Line rate of its NIC [bit/s].
    pub line: Rate,
    /// Window that its environment gives it [bytes].
    pub window: Option<u64>,
    /// Round-trip time of its path without load, if the environment knows it [ps].
    pub base_rtt: Option<Span>,
    /// A random number of its own, where the rate control [`draws`](RateControlKind::draws).
    pub seed: u64,
}

/// Properties that follow from the parameters of a rate control. Its module also has `PARAMS` and `Params::read`. Answers that most share
/// are defaults.
pub trait Law {
    /// Reaction point.
    type ReactionPoint: RateControl;
    /// The reaction point of one new flow.
    fn reaction_point(&self, flow: &FlowFacts) -> Self::ReactionPoint;
    /// See [`RateControlKind::cnp_mode`].
    #[inline]
    fn cnp_mode(&self) -> CnpMode {
        CnpMode::Never
    }
    /// See [`RateControlKind::reports_undetermined`].
    #[inline]
    fn reports_undetermined(&self) -> bool {
        false
    }
    /// See [`RateControlKind::wants_acks`].
    #[inline]
    fn wants_acks(&self) -> bool {
        false
    }
    /// See [`RateControlKind::knows_undetermined`].
    fn knows_undetermined(&self) -> bool {
        self.reports_undetermined()
    }
    /// See [`RateControlKind::wants_quantized`].
    fn wants_quantized(&self) -> bool {
        false
    }
    /// See [`RateControlKind::draws`].
    #[inline]
    fn draws(&self) -> bool {
        false
    }
    /// See [`RateControlKind::telemetry`].
    #[inline]
    fn telemetry(&self) -> Option<RecordFormat> {
        None
    }
    /// Conditions that do not hold in a network whose slowest link has this rate.
    fn unmet(&self, _slowest: Rate) -> Vec<Unmet> {
        Vec::new()
    }
    /// Values of the keys without a default, as they take effect.
    fn resolved(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }
}

/// Methods of an external rate control.
pub trait Custom: Debug + Send + Sync {
    /// The reaction point of one new flow.
    fn reaction_point(&self, flow: &FlowFacts) -> Box<dyn RateControl + Send>;
    /// See [`RateControlKind::cnp_mode`].
    fn cnp_mode(&self) -> CnpMode;
    /// See [`RateControlKind::reports_undetermined`].
    fn reports_undetermined(&self) -> bool {
        false
    }
    /// See [`RateControlKind::wants_acks`].
    fn wants_acks(&self) -> bool {
        false
    }
    /// See [`RateControlKind::telemetry`].
    fn telemetry(&self) -> Option<RecordFormat> {
        None
    }
    /// See [`RateControlKind::wants_quantized`].
    fn wants_quantized(&self) -> bool {
        false
    }
    /// See [`RateControlKind::draws`].
    fn draws(&self) -> bool {
        false
    }
}
