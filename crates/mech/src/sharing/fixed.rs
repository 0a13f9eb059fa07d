//! Static threshold: a member may hold a fixed number of bytes of the shared part. SONiC's
//! `static_th`; 0: no limit but the pool.

use xoff_units::Bytes;
use xoff_units::params::{Kind, ParamError, ParamSpec, Values};
use xoff_units::state::State;

use super::{Sharing, Supply};

/// Parameters in a file.
pub const PARAMS: &[ParamSpec] = &[ParamSpec::new(
    "limit",
    Kind::Bytes,
    "0B",
    "limit of a member in the shared part, without its reserve; 0 B: no limit but the pool",
    "SONiC BUFFER_PROFILE static_th; SAI: 0 is no limit",
)];

/// The law, which has no state.
#[derive(Clone, Debug, PartialEq, Eq, State)]
pub struct Fixed {
    /// Limit of a member [bytes]; 0: no limit.
    pub limit: Bytes,
}

impl Fixed {
    /// Reads [`PARAMS`].
    ///
    /// # Errors
    /// The limit is no size.
    pub fn read(v: &mut dyn Values) -> Result<Fixed, ParamError> {
        Ok(Fixed { limit: v.bytes("limit")? })
    }
}

impl Sharing for Fixed {
    fn limit(&self, _: &Supply) -> Bytes {
        if self.limit == Bytes::ZERO { Bytes(u64::MAX) } else { self.limit }
    }
}
