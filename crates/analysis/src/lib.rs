//! analysis (under construction)

pub mod plan;
pub mod theorems;
