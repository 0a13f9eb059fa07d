//! reproduce (under construction)
