//! node (under construction)
