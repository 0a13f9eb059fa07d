//! Registry of papers, and the function that runs one.

use std::sync::Arc;

use xoff_lab::sweep::Study;
use xoff_lab::{Context, Entry, Paper, Report, ReproduceError, TESTBED_SUFFIX, run_entries};

use crate::{gfc, pffc, request_grant, tcd, testbed, unbiased_qcn};

/// The papers that can be reproduced.
pub const PAPERS: &[Paper] = &[
    Paper { id: "gfc", title: "Gentle Flow Control: Avoiding Deadlock in Lossless Networks (SIGCOMM 2019)", items: gfc::GFC },
    Paper { id: "tcd", title: "Congestion Detection in Lossless Networks (SIGCOMM 2021)", items: tcd::TCD },
    Paper {
        id: "request-grant",
        title: "End-to-End Congestion Management for Non-Blocking, Multi-Stage Switching Fabrics using Commodity Switches (IBM Research report)",
        items: request_grant::REQUEST_GRANT,
    },
    Paper {
        id: "unbiased-qcn",
        title: "Unbiased QCN for Scalable Server-Fabrics (IBM Research report RZ 3880, 2014)",
        items: unbiased_qcn::UNBIASED_QCN,
    },
    Paper {
        id: "pffc",
        title: "A Flow Control Scheme Based on Per Hop and Per Flow in Commodity Switches for Lossless Networks (IEEE Access 2021)",
        items: pffc::PFFC,
    },
];

/// The papers' experiments with real frames.
pub const TESTBEDS: &[Paper] = &[
    Paper {
        id: "gfc-testbed",
        title: "Gentle Flow Control: Avoiding Deadlock in Lossless Networks (SIGCOMM 2019), with real frames",
        items: testbed::GFC,
    },
    Paper { id: "tcd-testbed", title: "Congestion Detection in Lossless Networks (SIGCOMM 2021), with real frames", items: testbed::TCD },
    Paper {
        id: "pffc-testbed",
        title: "A Flow Control Scheme Based on Per Hop and Per Flow in Commodity Switches for Lossless Networks (IEEE Access 2021), with real frames",
        items: testbed::PFFC,
    },
];

fn find(paper: &str, testbed: bool) -> Result<&'static Paper, ReproduceError> {
    let (all, suffix) = if testbed { (TESTBEDS, TESTBED_SUFFIX) } else { (PAPERS, "") };
    all.iter().find(|p| p.id.strip_suffix(suffix) == Some(paper)).ok_or_else(|| {
        let known: Vec<&str> = all.iter().map(|p| p.id.trim_end_matches(suffix)).collect();
        let what = if testbed { "no entries with real frames for" } else { "unknown paper" };
        ReproduceError::Unknown { what: format!("{what} '{paper}'"), hint: format!("known: {}", known.join(", ")) }
    })
}

/// The entries of a paper, in its order.
pub fn entries(paper: &str) -> Result<Vec<Entry>, ReproduceError> {
    find(paper, false)?.items.iter().map(|i| Ok(i.entry()?)).collect()
}

/// The entries of a paper with real frames, in its order.
pub fn testbed_entries(paper: &str) -> Result<Vec<Entry>, ReproduceError> {
    find(paper, true)?.items.iter().map(|i| Ok(i.entry()?)).collect()
}

/// The studies that a sweep can run cell by cell, on as many machines as there are.
pub fn studies() -> Vec<Arc<dyn Study>> {
    vec![Arc::new(gfc::large_scale::sweep::Table1)]
}

/// Runs the entries `items` of a paper (none: all) and writes the results to `cx.out`. Entries that an earlier run of
/// the same program, mode and seed has judged there are kept as they are.
///
/// # Errors
/// No such paper or entry; a scenario that is refused; a file that cannot be written.
pub fn reproduce(paper: &str, items: &[String], cx: &Context) -> Result<Report, ReproduceError> {
    run_entries(find(paper, cx.testbed)?, items, cx)
}
