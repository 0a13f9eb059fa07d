//! Size distributions and topology files: each message with its line and column.

use std::path::Path;

use xoff_scenario::document::{Document, Override};
use xoff_scenario::{Source, cdf, topology};
use xoff_units::NodeId;

#[test]
fn built_in_distributions() {
    let ends: Vec<_> = cdf::BUILT_IN
        .iter()
        .map(|(name, _)| (*name, cdf::built_in(name).unwrap().last().copied().unwrap()))
        .collect();
    let expected = [
        ("websearch", (30_000_000, 100.0)),
        ("hadoop", (10_000_000, 100.0)),
        ("alistorage2019", (2_000_000, 100.0)),
        ("googlerpc2008", (15_158_197, 100.0)),
        ("enterprise", (1_773_379_248, 100.0)),
        ("mpi-io", (4_194_304, 100.0)),
    ];
    assert_eq!(ends, expected);
    let e = cdf::find("web-search", Path::new("")).unwrap_err().to_string();
    assert_eq!(
        e,
        "'web-search' is neither a built-in size distribution nor a file (did you mean 'websearch'? built-in: websearch, hadoop, alistorage2019, googlerpc2008, enterprise, mpi-io)"
    );
}

#[track_caller]
fn refused(text: &str, expected: &str) {
    assert_eq!(cdf::read(&Source::file("d.txt", text)).unwrap_err().to_string(), expected);
}

#[test]
fn distribution_errors() {
    assert_eq!(
        cdf::read(&Source::file("d.txt", "# x\n0 0 # start\n\n10 50\n10 60.5\n20 100")).unwrap(),
        [(0, 0.0), (10, 50.0), (10, 60.5), (20, 100.0)]
    );
    refused(
        "0 0\n10\n",
        "d.txt:2:3: point: 'cumulative_percent' is missing (expected size_bytes cumulative_percent)",
    );
    refused(
        "0 0\n10 50 7\n",
        "d.txt:2:7: point: unexpected word '7' (expected size_bytes cumulative_percent)",
    );
    refused(
        "0 0\n1.5 50\n",
        "d.txt:2:1: size: '1.5' is not a whole number (expected 0, 1, 2, ...)",
    );
    refused(
        "0 0\n10 half\n",
        "d.txt:2:4: percentage: 'half' is not a number (expected a number, such as 0.5)",
    );
    refused("0 0\n10 101\n", "d.txt:2:4: 101 is not a percentage (expected 0 to 100)");
    refused("0 0\n10 -1\n", "d.txt:2:4: percentage: -1 is out of range (expected a number from 0)");
    refused(
        "0 1\n10 100\n",
        "d.txt:1:3: the first point is at 1 % instead of 0 % (expected 0, as in \"0 0\")",
    );
    refused(
        "0 0\n10 50\n9 100\n",
        "d.txt:3:1: size 9 is below the previous one, 10 (expected sizes that grow)",
    );
    refused(
        "0 0\n10 50\n20 40\n",
        "d.txt:3:4: 40 % is below the previous value, 50 % (expected percentages that grow)",
    );
    refused("0 0\n10 99\n", "d.txt:2:1: the last point is at 99 % instead of 100 % (expected 100)");
    refused("0 0\n0 100\n", "d.txt:2:1: every flow would have 0 bytes (expected sizes above 0)");
    refused(
        "",
        "d.txt:1:1: the distribution has fewer than two points (expected lines of size_bytes cumulative_percent, such as \"0 0\" and \"1000 100\")",
    );
}

const FILE: &str = "rate = \"40Gbps\"\n[[node]]\nname = \"H0\"\nkind = \"host\"\n[[node]]\nname = \"S0\"\nkind = \"switch\"\n[[link]]\na = \"H0\"\nb = \"S0\"\n";

fn read(text: &str) -> Result<xoff_net::topology::Topology, String> {
    topology::read(Source::file("t.toml", text), &[]).map_err(|e| e.to_string())
}

#[test]
fn topologies_from_every_kind_of_file() {
    let t = read(FILE).unwrap();
    assert_eq!(
        (t.port_name(NodeId(0), 0), t.links[0].rate.0, t.links[0].delay.as_ns()),
        ("H0->S0".into(), 40_000_000_000, 1_000)
    );
    let scenario = "[topology]\nkind = \"ring\"\nswitches = 3\n[flow_control]\nkind = \"pfc\"\n";
    assert_eq!(read(scenario).unwrap().switches().count(), 3);
    let four = topology::read(
        Source::file("t.toml", scenario),
        &[Override::set("topology.switches=4").unwrap()],
    )
    .unwrap();
    assert_eq!(four.switches().count(), 4);
    let hpcc = "3 1 2\n2\n0 2 100Gbps 1us 0\n1 2 100Gbps 1us 0\n";
    assert_eq!(read(hpcc).unwrap().name(NodeId(2)), "S2");
    let e = topology::read(Source::file("t.txt", hpcc), &[Override::set("rate=1Gbps").unwrap()])
        .unwrap_err()
        .to_string();
    assert_eq!(
        e,
        "--set rate=1Gbps: a setting cannot change this topology (the file has HPCC's format)"
    );
}

#[test]
fn topology_errors() {
    let with = |more: &str| read(&format!("{FILE}{more}")).unwrap_err();
    assert_eq!(
        with("[[link]]\na = \"H0\"\nb = \"S9\"\n"),
        "t.toml:13:5: b: there is no node 'S9' (list every node before linking it)"
    );
    assert_eq!(
        with("[[link]]\na = \"H0\"\n"),
        "t.toml:11:1: missing key 'b' in link[1] (name of the second end; expected a text in quotes)"
    );
    assert_eq!(
        with("[[link]]\na = \"S0\"\nb = \"S0\"\n"),
        "t.toml:13:5: b: 'S0' is linked to itself (expected two different nodes)"
    );
    assert_eq!(
        with("[[node]]\nname = \"S0\"\nkind = \"switch\"\n"),
        "t.toml:12:8: name: 'S0' is already the name of another node (give each node its own name)"
    );
    assert_eq!(
        with("[[node]]\nname = \"H1\"\nkind = \"hots\"\n"),
        "t.toml:13:8: kind: unknown choice 'hots' (did you mean 'host'? choices: host, switch)"
    );
    assert_eq!(
        with("[[node]]\nname = \"S1\"\nkind = \"switch\"\nlevel = 256\n"),
        "t.toml:14:9: level: 256 is out of range (expected 0 to 255)"
    );
    assert_eq!(
        with("[[link]]\na = \"H0\"\nb = \"S0\"\nrate = \"0Gbps\"\n")
            .split(": the rate of the link")
            .next()
            .unwrap(),
        "t.toml:14:8: rate"
    );
    assert_eq!(
        with("[[nodes]]\nname = \"S1\"\n"),
        "t.toml:11:3: unknown section 'nodes' (did you mean 'node'? known sections: link, node)"
    );
    assert_eq!(
        read("").unwrap_err(),
        "t.toml:1:1: the file is empty (a topology has at least one [[node]] and one [[link]])"
    );
    assert_eq!(
        read("[topology]\nkind = \"ring\"\nrate = \"0Gbps\"\n")
            .unwrap_err()
            .split(": the rate of the link")
            .next()
            .unwrap(),
        "t.toml:3:8: rate"
    );
    let inside = FILE
        .replace("rate = \"40Gbps\"\n", "[topology]\nkind = \"custom\"\n")
        .replace("[[", "[[topology.");
    assert_eq!(read(&inside).unwrap().links[0].rate.0, 10_000_000_000);
    assert_eq!(
        read(&inside.replace("b = \"S0\"", "b = \"S7\"")).unwrap_err(),
        "t.toml:11:5: b: there is no node 'S7' (list every node before linking it)"
    );
}

#[test]
fn the_resolved_topology_reads_the_same() {
    let doc = Document::from_text("t.toml", "[topology]\nkind = \"ring\"\n", &[]).unwrap();
    let built = topology::build_in(&mut doc.open(&topology::sections()[0]), Path::new("")).unwrap();
    doc.finish().unwrap();
    assert_eq!(read(&doc.resolved().to_toml()).unwrap(), built);
}
