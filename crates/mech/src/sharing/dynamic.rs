//! Dynamic threshold (Choudhury, Hahne: "Dynamic Queue Length Thresholds for Shared-Memory Packet
//! Switches", ToN 1998): a member may hold alpha times what is free. SONiC's `dynamic_th` n is
//! alpha = 2^n.
//!
//! ```text
//!   T = alpha (B - used)        n equal hogs: each holds alpha B / (1 + n alpha), and B / (1 + n alpha) stays free
//! ```

use xoff_units::Bytes;
use xoff_units::params::{ParamError, ParamSpec, Values};
use xoff_units::state::State;

use super::{Alpha, Sharing, Supply};

/// Parameters in a file.
pub const PARAMS: &[ParamSpec] = super::ALPHA;

/// The law, which has no state.
#[derive(Clone, Debug, PartialEq, Eq, State)]
pub struct Dynamic {
    /// Factor of the free bytes.
    pub alpha: Alpha,
}

impl Dynamic {
    /// Reads [`PARAMS`].
    ///
    /// # Errors
    /// Alpha is out of range.
    pub fn read(v: &mut dyn Values) -> Result<Dynamic, ParamError> {
        Ok(Dynamic { alpha: Alpha::read(v)? })
    }
}

impl Sharing for Dynamic {
    fn limit(&self, supply: &Supply) -> Bytes {
        supply.share(self.alpha, false)
    }
}
