//! mech (under construction)
