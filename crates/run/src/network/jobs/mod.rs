//! Jobs in a scenario: `[[job]]`, `[[collective]]`, and what is reported of them.

pub(crate) mod keys;
mod read;

pub(super) use read::read_jobs;
