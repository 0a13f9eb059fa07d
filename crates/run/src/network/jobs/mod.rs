//! Jobs in a scenario: `[[job]]`, `[[collective]]`, and what is reported of them.

mod account;
mod answer;
pub(crate) mod keys;
mod read;
mod traces;

pub(super) use account::Pauses;
pub(super) use answer::write;
pub use answer::{Iteration, JobSummary};
pub(super) use read::read_jobs;
