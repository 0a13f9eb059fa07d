//! Congestion Detection in Lossless Networks (TCD, SIGCOMM'21), figure by figure.

mod alpha;
mod covered_root;
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
#[cfg(test)]
mod tests;
mod victims;
mod workloads;

use crate::Item;

/// An entry with its text from the folder of the paper's scenarios.
macro_rules! item {
    ($id:literal, $run:path) => {
        Item {
            id: $id,
            text: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/papers/tcd/", $id, ".entry.toml")),
            run: $run,
        }
    };
}

/// A scenario of the paper's folder: its name and its text.
macro_rules! scenario {
    ($file:literal) => {
        ($file, include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/papers/tcd/", $file)))
    };
}
use scenario;

/// The entries in the order of the paper.
pub const TCD: &[Item] = &[
    item!("fig03", fig03::run),
    item!("fig04", fig04::run),
    item!("same-evolution", same_evolution::run),
    item!("fig05", fig05::run),
    item!("fig08", fig08::run),
    item!("sec4.3", sec4_3::run),
    item!("fig11", fig11::run),
    item!("fig12", fig12::run),
    item!("fig13", fig13::run),
    item!("covered-root", covered_root::run),
    item!("tab3", victims::tab3::run),
    item!("fig14", fig14::run),
    item!("alpha-1.2", alpha::run),
    item!("fig15a", victims::by_size::run_fig15a),
    item!("fig15b", victims::bursts::run_fig15b),
    item!("fig16a", workloads::slowdown::run_fig16a),
    item!("fig16b", workloads::slowdown::run_fig16b),
    item!("fig17a", victims::by_size::run_fig17a),
    item!("fig17b", workloads::mpi_io::run),
    item!("fig18a", victims::by_size::run_fig18a),
    item!("fig18b", victims::bursts::run_fig18b),
    item!("fig19a", workloads::slowdown::run_fig19a),
    item!("fig19b", workloads::slowdown::run_fig19b),
    item!("fig20a", fig20::run_dcqcn),
    item!("fig20b", fig20::run_timely),
    item!("abstract", workloads::claims::run),
    item!("fig16-gfc", workloads::slowdown::run_fig16_gfc),
    item!("matrix", matrix::run),
];
