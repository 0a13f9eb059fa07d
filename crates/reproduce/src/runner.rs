//! Runs entries one after the other, keeps each as soon as it is judged.

use std::path::PathBuf;

use crate::output::{self, Store};
use crate::{Context, Entry, Item, Judged, ReproduceError, Verdict, gfc, pffc, request_grant, tcd, testbed, unbiased_qcn};

/// A paper with its entries.
pub struct Paper {
    /// Short name, `gfc`.
    pub id: &'static str,
    /// Authors, title, place.
    pub title: &'static str,
    /// The entries in the order of the paper.
    pub items: &'static [Item],
}

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

impl Paper {
    /// Are its frames real?
    pub fn is_testbed(&self) -> bool {
        self.id.ends_with(SUFFIX)
    }

    /// Short name of the same paper, simulated instead of with real frames or the other way round; there need be none.
    pub fn other(&self) -> String {
        self.id.strip_suffix(SUFFIX).map_or_else(|| format!("{}{SUFFIX}", self.id), str::to_owned)
    }

    /// What `xoff reproduce` is told to get it.
    pub fn command(&self) -> String {
        self.id.strip_suffix(SUFFIX).map_or_else(|| self.id.to_owned(), |paper| format!("{paper} --testbed"))
    }
}

/// What the names of [`TESTBEDS`] end with.
const SUFFIX: &str = "-testbed";

/// A reproduction: complete, or as far as it came.
pub struct Report {
    /// The paper.
    pub paper: &'static Paper,
    /// The entries that are judged, in the order of the paper.
    pub entries: Vec<Judged>,
    /// The user stopped it before all entries were judged.
    pub interrupted: bool,
    /// The page to open.
    pub page: PathBuf,
}

impl Report {
    /// Whether all entries are judged and none of them "not reproduced".
    pub fn is_reproduced(&self) -> bool {
        !self.interrupted && self.entries.iter().all(|e| e.verdict != Verdict::NotReproduced)
    }
}

fn find(paper: &str, testbed: bool) -> Result<&'static Paper, ReproduceError> {
    let (all, suffix) = if testbed { (TESTBEDS, SUFFIX) } else { (PAPERS, "") };
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

/// Runs the entries `items` of a paper (none: all) and writes the results to `cx.out`. Entries that an earlier run of
/// the same program, mode and seed has judged there are kept as they are.
pub fn reproduce(paper: &str, items: &[String], cx: &Context) -> Result<Report, ReproduceError> {
    let paper = find(paper, cx.testbed)?;
    if let Some(unknown) = items.iter().find(|i| !paper.items.iter().any(|p| p.id == i.as_str())) {
        let known: Vec<&str> = paper.items.iter().map(|i| i.id).collect();
        return Err(ReproduceError::Unknown {
            what: format!("'{}' has no entry '{unknown}'", paper.id),
            hint: format!("known: {}", known.join(", ")),
        });
    }
    let wanted: Vec<&Item> = paper.items.iter().filter(|p| items.is_empty() || items.iter().any(|i| i == p.id)).collect();
    let store = Store::open(paper, cx)?;
    let mut report = Report { paper, entries: Vec::new(), interrupted: false, page: cx.out.join("index.html") };
    for (nth, item) in wanted.iter().enumerate() {
        let entry = item.entry()?;
        let kept = store.load(&entry);
        let was_kept = kept.is_some();
        let judged = match kept {
            Some(judged) => judged,
            // What is kept is still shown.
            None if report.interrupted => continue,
            None => {
                cx.progress.started(&entry, nth, wanted.len());
                match (item.run)(&Context { entry: item.id, ..*cx }) {
                    Ok(found) => store.save(&entry, &found)?,
                    Err(ReproduceError::Interrupted) => {
                        report.interrupted = true;
                        continue;
                    }
                    Err(e) => return Err(e),
                }
            }
        };
        cx.progress.finished(&judged, was_kept);
        report.entries.push(judged);
        output::write(&report, cx)?;
    }
    output::write(&report, cx)?;
    Ok(report)
}
