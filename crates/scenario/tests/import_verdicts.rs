//! Installed tables come to the verdicts that were recorded with them: those of `ibdmchk` on
//! OpenSM's tables, and a ring of FRR.

use std::path::{Path, PathBuf};

use xoff_analysis::cbd::{Installed, Verdict, check_installed};
use xoff_scenario::import::{Options, find, read};

fn check(format: &str, files: &[&str]) -> Installed {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/import");
    let files: Vec<PathBuf> = files.iter().map(|f| folder.join(f)).collect();
    let network =
        read(find(format).unwrap(), &files, &Options::default()).unwrap_or_else(|p| panic!("{p}"));
    check_installed(&network.graph().unwrap(), network.tables.as_ref().unwrap())
}

#[test]
fn opensm_tables_in_every_form() {
    for (net, cycle) in
        [("ring5-minhop", Some(5)), ("ring5-lash", Some(5)), ("leafspine-updn", None)]
    {
        for form in ["opensm-lfts.dump", "opensm.fdbs", "dump_fts.txt"] {
            let found = check(
                "ibnetdiscover",
                &[&format!("ib/{net}/ibnetdiscover.topo"), &format!("ib/{net}/{form}")],
            );
            assert_eq!(found.report.cycle.map(|c| c.links.len()), cycle, "{net} {form}");
            assert_eq!((found.report.unrouted, found.virtual_lanes), (0, false), "{net} {form}");
        }
    }
}

#[test]
fn service_levels_take_the_cycle_of_lash_away() {
    let lash = |levels: &str| {
        let files = ["ibnetdiscover.topo", "opensm-lfts.dump", "psl.txt", levels]
            .map(|f| format!("ib/ring5-lash/{f}"));
        check("ibnetdiscover", &files.each_ref().map(String::as_str))
    };
    for levels in ["slvl.txt", "opensm-sl2vl.dump"] {
        let found = lash(levels);
        assert_eq!(
            (found.report.verdict, found.virtual_lanes, found.report.unrouted),
            (Verdict::CycleFree, true, 0),
            "{levels}"
        );
    }
}

#[test]
fn clockwise_routes_of_frr_close_a_ring() {
    let tables = ["R1", "R2", "R3"].map(|r| format!("routing/ring3/{r}.show-ip-route.json"));
    let briefs = ["R1", "R2", "R3"].map(|r| format!("routing/ring3/{r}.show-interface-brief.json"));
    let of = |more: &[&str]| {
        let all: Vec<&str> =
            tables.iter().map(String::as_str).chain(more.iter().copied()).collect();
        check("frr", &all).report.cycle.map(|c| c.links.len())
    };
    assert_eq!(of(&["routing/ring3/layer1_topology.json"]), Some(3));
    assert_eq!(of(&["routing/ring3/ring3.clab.yml"]), Some(3));
    assert_eq!(of(&briefs.each_ref().map(String::as_str)), Some(3));
    let folder = check("frr", &["routing/ring3"]);
    assert_eq!(folder.report.cycle.unwrap().links, ["R1->R2", "R2->R3", "R3->R1"]);
}
