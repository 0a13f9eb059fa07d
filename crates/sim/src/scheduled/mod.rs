//! Scheduled switching fabrics: request-grant adapters, and elements that only forward.
//!
//! ```text
//!   packets -> Port: VOQs, Requester --uplink--> Element -- ... --> Element --> Port: reassembly, Granter -> line
//!              \________ Edge ______/   segments, local credits    |            \______ Edge _____/
//!                                                       fabric-output buffer
//! ```
//!
//! The unit inside is a segment of a flow's byte stream, which may carry parts of several packets.
//! A world is built from a [`Config`] and run; the result is a [`Report`]. Events are in the packet
//! simulator's queue; equal times are ordered by kind and place. Edges and elements are divided
//! into parts, one for each thread; the result does not depend on their number.
//!
//! Source: Chrysos et al., "End-to-End Congestion Management for Non-Blocking, Multi-Stage
//! Switching Fabrics using Commodity Switches", IBM Research report; section numbers refer to it.

mod config;
mod deadlock;
mod element;
mod event;
mod flow;
mod flows;
mod host;
mod limits;
mod link;
mod measure;
mod memory;
mod port;
mod segment;
mod shape;
mod traffic;
mod world;

pub use config::{Blocked, Config, Control, ControlPath, Core, ElementConfig, Problem, Spray};
pub use deadlock::Freedom;
pub use element::Arbitration;
pub use host::{CongestionPoints, HostFlow, HostReport, HostWindow, Hosts};
pub use limits::Limit;
pub use measure::{Backlog, Balance, Delay, Partial, RankReport, Report, Stuck, Window};
pub use shape::Shape;
pub use traffic::{Arrival, Pattern, Sizes, Stream, Traffic};
pub use world::{InputWaits, OutputWaits, Waits, World};
pub use xoff_mech::scheduled::request_grant::Hold;
