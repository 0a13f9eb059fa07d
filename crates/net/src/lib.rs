//! A network and its traffic, before anything moves.
//!
//! ```text
//!   topology   graphs of nodes, ports and links; failures; routes
//!   jobs       programs of several ranks that compute and exchange messages
//!   workload   flows of the hosts: single ones, patterns, random arrivals, messages of jobs
//! ```

pub mod jobs;
pub mod topology;
pub mod workload;
