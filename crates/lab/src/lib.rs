//! Many runs: sweeps ([`sweep`]), and runs side by side ([`compare`]).

pub mod bench;
pub mod compare;
pub mod stats;
pub mod sweep;
