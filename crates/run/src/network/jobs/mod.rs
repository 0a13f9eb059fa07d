//! Jobs in a scenario: `[[job]]`, `[[collective]]`, and their reports.

mod account;
mod answer;
mod computed;
pub(crate) mod keys;
mod read;
mod room;
mod states;
mod straggler;
mod traces;
mod wrong;

pub(super) use account::Pauses;
pub use account::Stretch;
pub(super) use answer::write;
pub use answer::{CAUSES, Iteration, JobSummary};
pub(super) use read::page_file;
pub(crate) use read::read_jobs;
pub use states::{RankState, rank_states};
pub use straggler::Straggler;
pub(super) use straggler::shared;
