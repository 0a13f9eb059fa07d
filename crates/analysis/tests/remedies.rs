//! Remedies are true: what they propose takes the cycles away.

use xoff_analysis::cbd::{Rule, Traffic, Verdict, check, fail_any, remedies, remedies_after};
use xoff_net::topology::failures::fail_links;
use xoff_net::topology::{Topology, builders};
use xoff_units::params::Defaults;

fn build(name: &str, keys: &[(&'static str, &str)]) -> Topology {
    let builder = builders::find(name).unwrap();
    (builder.build)(&mut keys.iter().fold(Defaults::of(builder.params), |d, (k, v)| d.with(k, v)))
        .unwrap()
}

#[test]
fn a_ring_has_three_remedies() {
    let t = build("ring", &[("switches", "5")]);
    let rule = Rule::named("all-paths", 1).unwrap();
    let report = check(&t, &rule, Traffic::AllPairs);
    let found = remedies(&t, &rule, Traffic::AllPairs, &report);
    let kinds: Vec<&str> = found.iter().map(|r| r.kind).collect();
    assert!(kinds.ends_with(&["forbid-links", "second-class"]), "{found:#?}");
    let links = &found.iter().find(|r| r.kind == "forbid-links").unwrap().links;
    let mut less = t.clone();
    fail_links(&mut less, links).unwrap();
    assert_eq!(
        (links.len(), check(&less, &rule, Traffic::AllPairs).verdict),
        (1, Verdict::CycleFree)
    );
    // One turn in each direction is enough, and no shortest way in a ring of five makes two.
    let second = found.last().unwrap();
    assert_eq!((second.turns.len(), second.classes), (2, 2), "{second:#?}");
}

/// The bounces of Tagger: two failed links of a leaf-spine let frames go down and up again.
#[test]
fn bounces_after_failures_need_a_second_class() {
    let t = build("leaf-spine", &[]);
    let rule = Rule::named("all-paths", 1).unwrap();
    let study = fail_any(&t, &rule, Traffic::AllPairs, 2, 1_000, 1, &|| true);
    assert!(study.by_size[0].cyclic == 0 && study.by_size[1].cyclic > 0, "{:?}", study.by_size);
    let found = remedies_after(&t, &rule, Traffic::AllPairs, &study);
    let second = found.iter().find(|r| r.kind == "second-class").unwrap();
    assert_eq!(second.classes, 2, "{second:?}");
}
