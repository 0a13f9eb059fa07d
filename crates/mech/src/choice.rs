//! Kind under a name, as in a registry.

use xoff_units::params::{ParamError, ParamSpec, Values};

/// A kind, its parameters and their reader.
pub struct Choice<T> {
    /// Name in files and on the command line.
    pub name: &'static str,
    /// Description in one line.
    pub about: &'static str,
    /// Declared parameters.
    pub params: &'static [&'static [ParamSpec]],
    /// Reads them.
    pub read: fn(&mut dyn Values) -> Result<T, ParamError>,
}
