//! Nothing: only the features in Cargo.toml matter.
