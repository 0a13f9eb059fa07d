//! The entries of all papers: each reads, its scenarios load, and the published page has it as its file says.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use xoff_lab::{Entry, Paper};
use xoff_papers::{PAPERS, TESTBEDS};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn all() -> impl Iterator<Item = (&'static Paper, Vec<Entry>)> {
    PAPERS.iter().chain(TESTBEDS).map(|p| (p, p.items.iter().map(|i| i.entry().unwrap_or_else(|e| panic!("{e}"))).collect()))
}

/// Words alone: the page escapes signs of Markdown.
fn words(text: &str) -> String {
    let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    text.split_whitespace().map(|w| w.chars().filter(|c| c.is_alphanumeric()).collect::<String>()).collect::<Vec<_>>().join(" ")
}

/// A page that was not written again is found here.
#[test]
fn the_page_of_a_paper_has_its_entries() {
    for (paper, entries) in all() {
        let page = std::fs::read_to_string(root().join(format!("docs/papers/{}.md", paper.id))).unwrap();
        let headings: Vec<&str> = page.lines().filter_map(|l| l.strip_prefix("## ")?.split(':').next()).collect();
        assert_eq!(headings, entries.iter().map(|e| e.id).collect::<Vec<_>>(), "{}", paper.id);
        let sections: Vec<String> = page.split("\n## ").skip(1).map(words).collect();
        for (e, section) in entries.iter().zip(&sections) {
            for (key, text) in [("title", &e.title), ("paper", &e.paper), ("band", &e.band)] {
                assert!(text.split_whitespace().count() > 1, "{} {}: {key} is '{text}'", paper.id, e.id);
                assert!(section.contains(&words(text)), "{} {}: the page lacks the {key} '{text}'", paper.id, e.id);
            }
            for text in &e.assumptions {
                assert!(section.contains(&words(text)), "{} {}: the page lacks the assumption '{text}'", paper.id, e.id);
            }
        }
    }
}

#[test]
fn the_scenarios_of_entries_load() {
    let mut loaded = 0;
    for (paper, entries) in all() {
        let folder = match paper.id.strip_suffix("-testbed") {
            Some(id) => root().join("scenarios/papers").join(id).join("testbed"),
            None => root().join("scenarios/papers").join(paper.id),
        };
        for e in entries {
            let once: HashSet<&String> = e.scenarios.iter().collect();
            assert_eq!(once.len(), e.scenarios.len(), "{} {}: a scenario twice", paper.id, e.id);
            for s in &e.scenarios {
                match xoff_run::NetworkScenario::load(&folder.join(s), &[]).map_err(|e| e.to_string()) {
                    // The entry adds the flows.
                    Err(e) if e.contains("the scenario has no flows") => {}
                    read => drop(read.unwrap_or_else(|e| panic!("{e}"))),
                }
                loaded += 1;
            }
            assert!(!paper.is_testbed() || !e.scenarios.is_empty(), "{} {}: real frames of which scenario?", paper.id, e.id);
        }
    }
    assert!(loaded > 20, "{loaded}");
}

#[test]
fn papers_with_real_frames_are_known_as_such() {
    assert_eq!(xoff_papers::testbed_entries("gfc").unwrap().len(), TESTBEDS[0].items.len());
    assert!(xoff_papers::testbed_entries("request-grant").is_err());
}
