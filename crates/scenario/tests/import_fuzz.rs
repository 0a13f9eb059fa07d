//! No bytes make a reader panic.

use std::sync::Arc;

use proptest::prelude::*;
use xoff_scenario::Source;
use xoff_scenario::import::formats::read_sources;
use xoff_scenario::import::{FORMATS, Options};

/// Samples to be cut and mixed.
fn samples() -> Vec<String> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/import");
    [
        "sonic/fabric/leaf1.config_db.json",
        "sonic/fabric/pg_profile_lookup.ini",
        "containerlab/leafspine.clab.yml",
        "graph/leafspine.edges.json",
    ]
    .iter()
    .chain(&[
        "graph/leafspine.graphml",
        "htsim/barrier.cm",
        "ib/ring5-minhop/ibnetdiscover.topo",
        "ib/ring5-minhop/opensm.fdbs",
    ])
    .chain(&["routing/ring3/R1.show-ip-route.json", "routing/ring3/layer1_topology.json"])
    .chain(&["infragraph/rails.yaml", "infragraph/rack.json", "simai/dual-plane_H100"])
    .map(|name| std::fs::read_to_string(folder.join(name)).unwrap())
    .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn no_bytes_make_a_reader_panic(which in 0usize..13, cuts in prop::collection::vec((0.0f64..1.0, ".{0,3}|[0-9]{1,30}|[\\[\\]{}\":,x#-]"), 1..4)) {
        let mut text = samples()[which].clone();
        for (at, insert) in &cuts {
            let mut at = (*at * text.len() as f64) as usize;
            while !text.is_char_boundary(at) {
                at -= 1;
            }
            let end = (at + insert.len()).min(text.len());
            let end = (end..=text.len()).find(|e| text.is_char_boundary(*e)).unwrap_or(text.len());
            text.replace_range(at..end, insert);
        }
        let source: Arc<Source> = Source::file("R1.mixed", text);
        for format in FORMATS {
            if let Err(problems) = read_sources(format, std::slice::from_ref(&source), &Options::default()) {
                prop_assert!(!problems.is_empty());
                let _ = problems.render(false);
            }
        }
    }
}
