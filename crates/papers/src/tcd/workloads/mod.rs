//! Whole fabrics under realistic workloads (section 5.2).

pub mod claims;
pub mod mpi_io;
mod readings;
pub mod slowdown;
