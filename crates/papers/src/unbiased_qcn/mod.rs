//! Unbiased QCN for Scalable Server-Fabrics (Unbiased QCN, IBM Research report RZ 3880), figure by figure.

mod af_qcn;
mod complexity;
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

/// The entries in the order of the paper.
pub const UNBIASED_QCN: &[Item] = &[
    item!("unbiased-qcn", "fig2a", fig2::run_a),
    item!("unbiased-qcn", "fig2b", fig2::run_b),
    item!("unbiased-qcn", "fig2c", fig2::run_c),
    item!("unbiased-qcn", "fig2d", fig2::run_d),
    item!("unbiased-qcn", "fig4", fig4::run),
    item!("unbiased-qcn", "fig5a", fig5::run_a),
    item!("unbiased-qcn", "fig5b", fig5::run_b),
    item!("unbiased-qcn", "fig5c", fig5::run_c),
    item!("unbiased-qcn", "fig5d", fig5::run_d),
    item!("unbiased-qcn", "fig6", fig6::run),
    item!("unbiased-qcn", "fig7", fig7::run),
    item!("unbiased-qcn", "sampling-law", laws::sampling),
    item!("unbiased-qcn", "multicast", multicast::run),
    item!("unbiased-qcn", "qfb", laws::feedback),
    item!("unbiased-qcn", "reaction-point", laws::reaction_point),
    item!("unbiased-qcn", "complexity", complexity::run),
    item!("unbiased-qcn", "setpoint", setpoint::run),
    item!("unbiased-qcn", "af-qcn", af_qcn::run),
    item!("unbiased-qcn", "rack", rack::run),
];
