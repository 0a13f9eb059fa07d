//! sim (under construction)
