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
    /// A random number of its own, where the rate control [`draws`](Law::draws).
    pub seed: u64,
}

/// Properties that follow from the parameters of a rate control. Its module also has `PARAMS` and
/// `Params::read`. Answers that most share are defaults. [`RateControlKind`] dereferences to its
/// law: a new method of the trait needs no other edit.
pub trait Law {
    /// Reaction point: a [`RateControl`].
    type ReactionPoint
    where
        Self: Sized;
    /// The reaction point of one new flow.
    fn reaction_point(&self, flow: &FlowFacts) -> Self::ReactionPoint
    where
        Self: Sized;
    /// Return path of marks.
    #[inline]
    fn cnp_mode(&self) -> CnpMode {
        CnpMode::Never
    }
    /// Undetermined marks are reported too, as
    /// [`Feedback::Undetermined`](super::Feedback::Undetermined).
    #[inline]
    fn reports_undetermined(&self) -> bool {
        false
    }
    /// Every acknowledgement is feedback, as [`Feedback::Ack`](super::Feedback::Ack). The others
    /// are spared it.
    #[inline]
    fn wants_acks(&self) -> bool {
        false
    }
    /// True if undetermined marks are treated separately (TCD, section 5.2).
    fn knows_undetermined(&self) -> bool {
        self.reports_undetermined()
    }
    /// Congestion points send it a value, as [`Feedback::Quantized`](super::Feedback::Quantized).
    fn wants_quantized(&self) -> bool {
        false
    }
    /// True if its flows draw random numbers: each then needs a [`seed`](FlowFacts::seed). Other
    /// flows skip the draw.
    #[inline]
    fn draws(&self) -> bool {
        false
    }
    /// Frames must collect records of their path, kept like this; `None`: no telemetry.
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

/// A rate control from outside this repository: a [`Law`] with boxed reaction points.
pub trait Custom: Law + Debug + Send + Sync {
    /// See [`Law::reaction_point`].
    fn boxed_reaction_point(&self, flow: &FlowFacts) -> Box<dyn RateControl + Send>;
}

impl<L> Custom for L
where
    L: Law<ReactionPoint = Box<dyn RateControl + Send>> + Debug + Send + Sync,
{
    fn boxed_reaction_point(&self, flow: &FlowFacts) -> L::ReactionPoint {
        self.reaction_point(flow)
    }
}
