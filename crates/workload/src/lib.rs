//! workload (under construction)
