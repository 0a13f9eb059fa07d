//! One of several kinds under a name, as registries list them.

use xoff_params::{ParamError, ParamSpec, Values};

/// A kind, its parameters and their reader.
pub struct Choice<T> {
    /// Name in files and on the command line.
    pub name: &'static str,
    /// One line about it.
    pub about: &'static str,
    /// Declared parameters.
    pub params: &'static [&'static [ParamSpec]],
    /// Reads them.
    pub read: fn(&mut dyn Values) -> Result<T, ParamError>,
}
