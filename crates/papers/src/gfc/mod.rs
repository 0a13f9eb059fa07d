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
mod repair;
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

/// The entries in the order of the paper.
pub const GFC: &[Item] = &[
    item!("gfc", "ring", ring::run),
    item!("gfc", "fig05", fig05::run),
    item!("gfc", "thm4.1", thm4_1::run),
    item!("gfc", "sec4.2", sec4_2::run),
    item!("gfc", "sec4.2-steady", sec4_2_steady::run),
    item!("gfc", "thm5.1", thm5_1::run),
    item!("gfc", "sec5.4", sec5_4::run),
    item!("gfc", "sec5.4-stages", sec5_4_stages::run),
    item!("gfc", "fig09", fig09::run),
    item!("gfc", "fig10", fig10::run),
    item!("gfc", "matrix", matrix::run),
    item!("gfc", "ring-hosts", ring_hosts::run),
    item!("gfc", "repair", repair::run),
    item!("gfc", "fig12", fig12::run),
    item!("gfc", "fig13", fig13::run),
    item!("gfc", "fig14", fig14::run),
    item!("gfc", "tab1", large_scale::tab1::run),
    item!("gfc", "fig15", large_scale::fig15::run),
    item!("gfc", "fig16", large_scale::performance::run_fig16),
    item!("gfc", "fig17", large_scale::performance::run_fig17),
    item!("gfc", "fig18", large_scale::fig18::run),
    item!("gfc", "fig19", large_scale::fig19::run),
    item!("gfc", "fig20", fig20::run),
    item!("gfc", "sec7-priorities", sec7_priorities::run),
    item!("gfc", "sec7-loop", sec7_loop::run),
    item!("gfc", "sec7-granularity", sec7_granularity::run),
];
