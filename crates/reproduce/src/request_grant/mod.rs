//! End-to-End Congestion Management for Non-Blocking, Multi-Stage Switching Fabrics using Commodity Switches (Chrysos et al., IBM
//! Research report), figure by figure.

mod comparison;
mod delays;
mod elements;
mod fig04;
mod fig06;
mod fig11;
mod fig15;
mod fig2;
mod lemma_packets;
mod reassembly;
mod run;
mod setups;
mod slots;
mod speedups;
mod spray;
mod sweep;
#[cfg(test)]
mod tests;
mod theory;
mod unbalanced;

use crate::Item;

/// An entry with its text from the folder of the paper.
macro_rules! item {
    ($id:literal, $run:path) => {
        Item {
            id: $id,
            text: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/papers/request-grant/", $id, ".entry.toml")),
            run: $run,
        }
    };
}

/// The entries in the order of the paper, then those beyond it.
pub const REQUEST_GRANT: &[Item] = &[
    item!("fig2", fig2::run_fig2),
    item!("lemma-1", theory::run_lemma_1),
    item!("fig3", fig2::run_fig3),
    item!("lemma-1-packets", lemma_packets::run),
    item!("fig04", fig04::run),
    item!("fig06", fig06::run_fig06),
    item!("theorem-1", theory::run_theorem_1),
    item!("fig08", fig06::run_fig08),
    item!("fairness", reassembly::run_fairness),
    item!("reassembly", reassembly::run),
    item!("delays", delays::run),
    item!("fig11", fig11::run_fig11),
    item!("fig12", fig11::run_fig12),
    item!("fig13", unbalanced::run_fig13),
    item!("fig14", unbalanced::run_fig14),
    item!("unbalanced-worst", unbalanced::run_worst),
    item!("implicit-speedup", speedups::run),
    item!("fig15abc", fig15::run_abc),
    item!("fig15def", fig15::run_def),
    item!("elements", elements::run),
    item!("stages", spray::run_stages),
    item!("spray", spray::run),
    item!("compare-incast", comparison::run_incast),
    item!("compare-hotspots", comparison::run_hotspots),
];
