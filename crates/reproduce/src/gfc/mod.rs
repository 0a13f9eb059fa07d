//! Gentle Flow Control (SIGCOMM'19), figure by figure.

mod fat_tree;
mod fig05;
mod fig09;
mod fig10;
mod fig12;
mod fig13;
mod fig14;
mod fig20;
mod h1;
pub mod large_scale;
mod matrix;
mod ring;
mod ring_hosts;
pub(crate) mod schemes;
mod sec4_2;
mod sec4_2_steady;
mod sec5_4;
mod sec5_4_stages;
mod sec7_granularity;
mod sec7_loop;
mod sec7_priorities;
mod thm4_1;
mod thm5_1;

use crate::Item;

/// An entry with its text from the folder of the paper's scenarios.
macro_rules! item {
    ($id:literal, $run:path) => {
        Item {
            id: $id,
            text: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/papers/gfc/", $id, ".entry.toml")),
            run: $run,
        }
    };
}

/// A scenario of the paper's folder: its name and its text.
macro_rules! scenario {
    ($file:literal) => {
        ($file, include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/papers/gfc/", $file)))
    };
}
use scenario;

/// The entries in the order of the paper.
pub const GFC: &[Item] = &[
    item!("ring", ring::run),
    item!("fig05", fig05::run),
    item!("thm4.1", thm4_1::run),
    item!("sec4.2", sec4_2::run),
    item!("sec4.2-steady", sec4_2_steady::run),
    item!("thm5.1", thm5_1::run),
    item!("sec5.4", sec5_4::run),
    item!("sec5.4-stages", sec5_4_stages::run),
    item!("fig09", fig09::run),
    item!("fig10", fig10::run),
    item!("matrix", matrix::run),
    item!("ring-hosts", ring_hosts::run),
    item!("fig12", fig12::run),
    item!("fig13", fig13::run),
    item!("fig14", fig14::run),
    item!("tab1", large_scale::tab1::run),
    item!("fig15", large_scale::fig15::run),
    item!("fig16", large_scale::performance::run_fig16),
    item!("fig17", large_scale::performance::run_fig17),
    item!("fig18", large_scale::fig18::run),
    item!("fig19", large_scale::fig19::run),
    item!("fig20", fig20::run),
    item!("sec7-priorities", sec7_priorities::run),
    item!("sec7-loop", sec7_loop::run),
    item!("sec7-granularity", sec7_granularity::run),
];
