//! Networks from the files of other programs.
//!
//! ```text
//!   files --formats::<name>--> Network --+-- graph  --> Topology (for a check)
//!                                |       +-- write  --> network.toml (for a run)
//!                                +-- tables --> analysis (a check of the routes that are installed)
//! ```
//!
//! A reader accepts keys that it knows, rejects contradictions with file and place, and names its
//! omissions ([`Network::left_out`]). Units are never guessed: a format without rates or lengths
//! needs [`Options`].

mod foreign;
pub mod formats;
mod json;
mod network;
mod options;
mod text;
mod tree;
mod write;
mod yaml;

pub use foreign::{foreign, unknown_format};
pub use formats::{FORMATS, Format, find, read};
pub use network::{
    Buffering, End, Flow, Link, Members, Network, Node, Pool, PortSettings, Profile, Start,
    Threshold, Wire,
};
pub use options::{Options, StartUnit};
pub use write::{Written, scenario};
