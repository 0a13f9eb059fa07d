//! analysis (under construction)

pub mod cbd;
pub mod plan;
pub mod scheduled;
pub mod theorems;
