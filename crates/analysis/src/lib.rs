//! analysis (under construction)

pub mod cbd;
pub mod plan;
pub mod theorems;
