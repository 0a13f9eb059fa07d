//! The analytical claims of the request-grant paper (RG: Chrysos et al., IBM Research), each as a small solver.

pub mod clos;
pub mod fluid;
pub mod lemma_1;
pub mod network;
pub mod rational;
mod server;
