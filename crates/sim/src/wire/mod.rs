//! The network between nodes: links and what happens on them, the egress port of a frame.

pub(crate) mod capacity;
pub(crate) mod cut_through;
pub(crate) mod draws;
pub(crate) mod errors;
pub(crate) mod fault;
pub(crate) mod ideal;
pub(crate) mod layout;
pub(crate) mod line;
pub(crate) mod lone;
pub(crate) mod route_cache;
pub(crate) mod routing;
