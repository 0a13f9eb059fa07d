//! Congestion Detection in Lossless Networks (TCD, SIGCOMM'21), figure by figure.

mod alpha;
mod covered_root;
mod eq4;
mod fig03;
mod fig04;
mod fig05;
mod fig08;
mod fig11;
mod fig12;
mod fig13;
mod fig14;
mod fig2;
mod fig20;
mod matrix;
mod run;
mod same_evolution;
mod schemes;
mod sec4_3;
mod second_reading;
#[cfg(test)]
mod tests;
mod victims;
mod workloads;

use crate::Item;

/// The entries in the order of the paper.
pub const TCD: &[Item] = &[
    item!("tcd", "fig03", fig03::run),
    item!("tcd", "fig04", fig04::run),
    item!("tcd", "same-evolution", same_evolution::run),
    item!("tcd", "fig05", fig05::run),
    item!("tcd", "fig08", fig08::run),
    item!("tcd", "sec4.3", sec4_3::run),
    item!("tcd", "eq4", eq4::run),
    item!("tcd", "fig11", fig11::run),
    item!("tcd", "fig12", fig12::run),
    item!("tcd", "fig13", fig13::run),
    item!("tcd", "covered-root", covered_root::run),
    item!("tcd", "tab3", victims::tab3::run),
    item!("tcd", "fig14", fig14::run),
    item!("tcd", "alpha-1.2", alpha::run),
    item!("tcd", "fig15a", victims::by_size::run_fig15a),
    item!("tcd", "fig15b", victims::bursts::run_fig15b),
    item!("tcd", "fig16a", workloads::slowdown::run_fig16a),
    item!("tcd", "fig16b", workloads::slowdown::run_fig16b),
    item!("tcd", "fig17a", victims::by_size::run_fig17a),
    item!("tcd", "fig17b", workloads::mpi_io::run),
    item!("tcd", "fig18a", victims::by_size::run_fig18a),
    item!("tcd", "fig18b", victims::bursts::run_fig18b),
    item!("tcd", "fig19a", workloads::slowdown::run_fig19a),
    item!("tcd", "fig19b", workloads::slowdown::run_fig19b),
    item!("tcd", "fig20a", fig20::run_dcqcn),
    item!("tcd", "fig20b", fig20::run_timely),
    item!("tcd", "abstract", workloads::claims::run),
    item!("tcd", "fig16-gfc", workloads::slowdown::run_fig16_gfc),
    item!("tcd", "matrix", matrix::run),
];
