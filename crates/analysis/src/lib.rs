//! analysis (under construction)
