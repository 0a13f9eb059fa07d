//! scenario (under construction)
