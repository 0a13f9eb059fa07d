//! Unbiased QCN for Scalable Server-Fabrics (UQCN, IBM Research report RZ 3880), figure by figure.

mod af_qcn;
mod fig2;
mod fig4;
mod fig5;
mod fig6;
mod fig7;
mod laws;
mod multicast;
mod rack;
mod run;
mod scenes;
mod setpoint;

use crate::Item;

/// An entry with its text from the folder of the paper's scenarios.
macro_rules! item {
    ($id:literal, $run:path) => {
        Item {
            id: $id,
            text: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/papers/unbiased-qcn/", $id, ".entry.toml")),
            run: $run,
        }
    };
}

/// The entries in the order of the paper.
pub const UNBIASED_QCN: &[Item] = &[
    item!("fig2a", fig2::run_a),
    item!("fig2b", fig2::run_b),
    item!("fig2c", fig2::run_c),
    item!("fig2d", fig2::run_d),
    item!("fig4", fig4::run),
    item!("fig5a", fig5::run_a),
    item!("fig5b", fig5::run_b),
    item!("fig5c", fig5::run_c),
    item!("fig5d", fig5::run_d),
    item!("fig6", fig6::run),
    item!("fig7", fig7::run),
    item!("sampling-law", laws::sampling),
    item!("multicast", multicast::run),
    item!("qfb", laws::feedback),
    item!("reaction-point", laws::reaction_point),
    item!("setpoint", setpoint::run),
    item!("af-qcn", af_qcn::run),
    item!("rack", rack::run),
];
