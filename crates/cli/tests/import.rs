//! `xoff import`, `xoff new` and FORMAT:FILES as a user types them: good samples give a scenario that checks, broken ones exit code 2
//! with file and place.

mod support;

use std::path::{Path, PathBuf};

use support::{Ran, folder, path, xoff};

/// A sample of the project's own.
fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../import/tests/data").join(name)
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

/// What is missing in most formats.
const WIRES: [&str; 4] = ["--rate", "100Gbps", "--length", "5m"];

fn import(format: &str, files: &[PathBuf], out: &str) -> Ran {
    let files: Vec<String> = files.iter().map(|f| text(f)).collect();
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    xoff(&[&["import", format], &files[..], &WIRES, &["--out", out]].concat())
}

/// Each text runs as it is; only the ring, whose point it is, deadlocks.
#[test]
fn every_new_scenario_checks_and_runs() {
    let dir = folder("new");
    for kind in ["star", "leaf-spine", "fat-tree", "ring", "testbed"] {
        let file = path(&dir, &format!("{kind}.toml"));
        let ran = xoff(&["new", kind, "--out", &file]);
        assert_eq!(ran.code, 0, "{kind}: {}", ran.err);
        assert_eq!(xoff(&["new", kind]).out.trim_end(), std::fs::read_to_string(&file).unwrap().trim_end(), "{kind}");
        xoff(&["new", kind, "--out", &file]).complains(&["is there already", "--force"]);
        let expected = i32::from(kind == "ring");
        let checked = xoff(&["check", &file]);
        assert_eq!((checked.code, checked.err.as_str()), (expected, ""), "{kind}: {}", checked.out);
        let results = path(&dir, kind);
        let run = xoff(&["run", &file, "--out", &results, "--json"]);
        assert_eq!(run.code, expected, "{kind}: {}{}", run.err, run.out);
        assert!(run.json()["data_frame_hops"].as_u64() > Some(1_000), "{kind}: {}", run.out);
    }
    xoff(&["new", "moon"]).complains(&["moon", "leaf-spine"]);
}

/// A broken sample as it is given: its format, and the files that belong to it.
fn broken(file: &Path, own: &Path) -> (&'static str, Vec<PathBuf>) {
    let name = file.file_name().unwrap().to_string_lossy().into_owned();
    let one = vec![file.to_owned()];
    match file.parent().unwrap().parent().unwrap().file_name().unwrap().to_str().unwrap() {
        "sonic" => {
            ("sonic", [one, ["spine1.config_db.json", "pg_profile_lookup.ini"].map(|f| data("sonic/fabric").join(f)).to_vec()].concat())
        }
        "containerlab" => ("containerlab", one),
        "graph" => (if name.ends_with(".graphml") { "graphml" } else { "networkx" }, one),
        "htsim" => ("htsim", one),
        "ib" if name.ends_with(".dump") => ("ibnetdiscover", [vec![data("ib/ring5-minhop/ibnetdiscover.topo")], one].concat()),
        "ib" => ("ibnetdiscover", one),
        "routing" => {
            // The router's name is that of the file.
            let r1 = own.join("R1.show-ip-route.json");
            std::fs::copy(file, &r1).unwrap();
            let others = ["R2.show-ip-route.json", "R3.show-ip-route.json", "layer1_topology.json"].map(|f| data("routing/ring3").join(f));
            ("frr", [vec![r1], others.to_vec()].concat())
        }
        other => panic!("{other}"),
    }
}

/// Reads the broken samples below `root`; each must be refused, at its place, by import and by check.
fn refuses(root: &Path, name: &str) -> u32 {
    let dir = folder(name);
    let mut refused = 0;
    for format in ["sonic", "containerlab", "graph", "htsim", "ib", "routing"] {
        let mut files: Vec<PathBuf> = std::fs::read_dir(root.join(format).join("broken")).unwrap().map(|e| e.unwrap().path()).collect();
        files.sort();
        for file in files {
            let (format, list) = broken(&file, &dir);
            let (out, name) = (path(&dir, "never.toml"), text(&file));
            // networkx reads what has no namespace, and so does xoff, with a warning.
            if name.ends_with("b9-no-namespace.graphml") {
                import(format, &list, &path(&dir, "b9.toml")).complains(&["namespace"]);
                continue;
            }
            let ran = import(format, &list, &out);
            assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{name}: {}", ran.err);
            assert!(!Path::new(&out).exists(), "{name}");
            let short: Vec<String> = list.iter().map(|f| text(f)).collect();
            let checked = xoff(&["check", &format!("{format}:{}", short.join(","))]);
            assert_eq!(checked.code, 2, "{name}: {}", checked.out);
            for ran in [ran, checked] {
                // Long names are wrapped; the place is a name with line and column.
                let flat: String = ran.err.split(|c: char| c.is_whitespace() || c == '│').collect();
                let places = list.iter().filter_map(|f| f.file_name()).any(|f| {
                    let file = format!("{}:", f.to_string_lossy());
                    flat.match_indices(&file).any(|(at, _)| flat[at + file.len()..].starts_with(|c: char| c.is_ascii_digit()))
                });
                assert!(places, "{name}: no place in\n{}", ran.err);
                ran.complains(&[]);
            }
            refused += 1;
        }
    }
    refused
}

#[test]
fn broken_samples_are_refused_with_file_and_place() {
    let refused = refuses(&data(""), "import-broken");
    assert!(refused >= 38, "{refused}");
}

#[test]
fn broken_samples_of_others_too() {
    if let Some(root) = xoff_testing::sample("") {
        let refused = refuses(&root, "import-broken-others");
        assert!(refused >= 38, "{refused}");
    }
}

/// Files that other programs or people wrote.
#[test]
fn real_files_are_read() {
    let dir = folder("import-real");
    let mut read = 0;
    for (format, name) in [
        ("containerlab", "containerlab/real-clos01.clab.yml"),
        ("containerlab", "containerlab/real-link-vars-ip.clab.yml"),
        ("networkx", "graph/real-Abilene.topohub.json"),
        ("graphml", "graph/real-Abilene.graphml"),
        ("htsim", "htsim/real-astra-sim-8nodes.topo"),
        ("htsim", "htsim/real-leaf_spine_tiny.topo"),
        ("htsim", "htsim/real-test.topo"),
        ("htsim", "htsim/real-foo2.cm"),
        ("htsim", "htsim/real-one.cm"),
        ("htsim", "htsim/real-test_cr_1f10m1p.cm"),
        ("sonic", "sonic/real-buffers-mellanox4600c-t0-dynamic.trimmed.json"),
        ("sonic", "sonic/real-buffer-lt2-p32o64.trimmed.json"),
        ("sonic", "sonic/real-qos-arista7060x6.trimmed.json"),
    ] {
        let Some(file) = xoff_testing::sample(name) else { continue };
        let out = path(&dir, &format!("{read}.toml"));
        let ran = import(format, &[file], &out);
        assert_eq!(ran.code, 0, "{name}: {}", ran.err);
        let checked = xoff(&["check", &out]);
        assert!(checked.code < 2, "{name}: {}", checked.err);
        read += 1;
    }
    for lookup in ["sonic/real-msn2700.pg_profile_lookup.ini", "sonic/real-accton-static-th.pg_profile_lookup.ini"] {
        let Some(file) = xoff_testing::sample(lookup) else { continue };
        // A table alone is no network, and is refused as such; its rows were read.
        let ran = import("sonic", &[file], &path(&dir, "never.toml"));
        assert_eq!(ran.code, 2, "{lookup}: {}", ran.out);
        ran.complains(&["a lookup table of", "no config_db.json"]);
    }
}

/// One command each from a sample to a verdict and to a scenario that runs.
#[test]
fn a_sonic_fabric_comes_to_a_verdict_and_runs() {
    let dir = folder("import-sonic");
    let fabric = text(&data("sonic/fabric"));
    let checked = xoff(&["check", &format!("sonic:{fabric}"), "--json"]);
    assert_eq!((checked.code, &checked.json()["hosts"]), (0, &4.into()), "{}", checked.err);
    let out = path(&dir, "network.toml");
    let ran = xoff(&["import", "sonic", &fabric, "--out", &out]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let incast = "[[workload]]\nkind = \"incast\"\nreceiver = \"server0\"\nsize = \"100KB\"\n";
    let scenario = std::fs::read_to_string(&out).unwrap();
    let receiver = scenario.lines().find_map(|l| l.trim().strip_prefix("hosts = [\"")?.split('"').next()).expect("hosts");
    std::fs::write(&out, format!("{scenario}\n{}", incast.replace("server0", receiver))).unwrap();
    let run = xoff(&["run", &out, "--out", &path(&dir, "results"), "--json"]);
    assert_eq!(run.code, 0, "{}{}", run.err, run.out);
    assert_eq!(run.json()["dropped_frames"], 0);
}
