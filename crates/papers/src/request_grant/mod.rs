//! End-to-End Congestion Management for Non-Blocking, Multi-Stage Switching Fabrics using Commodity Switches (Chrysos et al., IBM
//! Research report), figure by figure.

mod comparison;
mod crossbars;
mod delays;
mod elements;
mod fig04;
mod fig06;
mod fig11;
mod fig15;
mod fig2;
mod lemma_packets;
mod path_orders;
mod reassembly;
mod run;
mod section_4;
mod setups;
mod speedups;
mod spray;
mod sweep;
#[cfg(test)]
mod tests;
mod theory;
mod unbalanced;

use crate::Item;

/// The entries in the order of the paper, then those beyond it.
pub const REQUEST_GRANT: &[Item] = &[
    item!("request-grant", "fig2", fig2::run_fig2),
    item!("request-grant", "lemma-1", theory::run_lemma_1),
    item!("request-grant", "fig3", fig2::run_fig3),
    item!("request-grant", "lemma-1-packets", lemma_packets::run),
    item!("request-grant", "fig04", fig04::run),
    item!("request-grant", "fig06", fig06::run_fig06),
    item!("request-grant", "theorem-1", theory::run_theorem_1),
    item!("request-grant", "fig08", fig06::run_fig08),
    item!("request-grant", "buffered-crossbars", crossbars::run),
    item!("request-grant", "fairness", reassembly::run_fairness),
    item!("request-grant", "reassembly", reassembly::run),
    item!("request-grant", "sec4", section_4::run),
    item!("request-grant", "delays", delays::run),
    item!("request-grant", "fig11", fig11::run_fig11),
    item!("request-grant", "fig12", fig11::run_fig12),
    item!("request-grant", "fig13", unbalanced::run_fig13),
    item!("request-grant", "fig14", unbalanced::run_fig14),
    item!("request-grant", "unbalanced-worst", unbalanced::run_worst),
    item!("request-grant", "implicit-speedup", speedups::run),
    item!("request-grant", "fig15abc", fig15::run_abc),
    item!("request-grant", "fig15def", fig15::run_def),
    item!("request-grant", "elements", elements::run),
    item!("request-grant", "stages", spray::run_stages),
    item!("request-grant", "spray", spray::run),
    item!("request-grant", "path-orders", path_orders::run),
    item!("request-grant", "compare-incast", comparison::run_incast),
    item!("request-grant", "compare-hotspots", comparison::run_hotspots),
];
