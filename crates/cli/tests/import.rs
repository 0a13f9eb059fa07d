//! `xoff import`, `xoff new` and FORMAT:FILES as a user types them: good samples give a scenario
//! that checks, broken ones exit code 2 with file and place.

mod support;

use std::path::{Path, PathBuf};

use support::{Ran, folder, path, xoff};

/// A sample of the project's own.
fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenario/tests/import").join(name)
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

/// Options for facts that most formats lack.
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
        let text = std::fs::read_to_string(&file).unwrap();
        let commands: Vec<&str> = text
            .lines()
            .filter(|l| l.contains(" xoff run ") || l.contains(" xoff testbed "))
            .collect();
        let names_file = |l: &&str| l.contains(&file) && !l.contains("--out");
        assert!(
            !commands.is_empty()
                && commands.iter().all(names_file)
                && text.contains(&format!("results in out/{kind}")),
            "{kind}: {text}"
        );
        assert_eq!(
            xoff(&["new", kind]).out.trim_end(),
            text.replace(&file, &format!("{kind}.toml")).trim_end(),
            "{kind}"
        );
        xoff(&["new", kind, "--out", &file]).complains(&["already exists", "--force"]);
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
        "sonic" => (
            "sonic",
            [
                one,
                ["spine1.config_db.json", "pg_profile_lookup.ini"]
                    .map(|f| data("sonic/fabric").join(f))
                    .to_vec(),
            ]
            .concat(),
        ),
        "containerlab" => ("containerlab", one),
        "graph" => (if name.ends_with(".graphml") { "graphml" } else { "networkx" }, one),
        "htsim" => ("htsim", one),
        "infragraph" => ("infragraph", one),
        "simai" => ("simai", one),
        "ib" if name.ends_with(".dump") => {
            ("ibnetdiscover", [vec![data("ib/ring5-minhop/ibnetdiscover.topo")], one].concat())
        }
        "ib" => ("ibnetdiscover", one),
        "routing" => {
            // The router's name is that of the file.
            let r1 = own.join("R1.show-ip-route.json");
            std::fs::copy(file, &r1).unwrap();
            let others = ["R2.show-ip-route.json", "R3.show-ip-route.json", "layer1_topology.json"]
                .map(|f| data("routing/ring3").join(f));
            ("frr", [vec![r1], others.to_vec()].concat())
        }
        other => panic!("{other}"),
    }
}

/// Reads the broken samples below `root`; each must be refused, at its place, by import and by
/// check.
fn refuses(root: &Path, name: &str) -> u32 {
    let dir = folder(name);
    let mut refused = 0;
    // Others have no samples of every format.
    let has_samples = |f: &&str| root.join(f).join("broken").is_dir();
    let formats =
        ["sonic", "containerlab", "graph", "htsim", "ib", "infragraph", "routing", "simai"];
    for format in formats.into_iter().filter(has_samples) {
        let mut files: Vec<PathBuf> = std::fs::read_dir(root.join(format).join("broken"))
            .unwrap()
            .map(|e| e.unwrap().path())
            .collect();
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
                    flat.match_indices(&file).any(|(at, _)| {
                        flat[at + file.len()..].starts_with(|c: char| c.is_ascii_digit())
                    })
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
    assert!(refused >= 65, "{refused}");
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
    for lookup in [
        "sonic/real-msn2700.pg_profile_lookup.ini",
        "sonic/real-accton-static-th.pg_profile_lookup.ini",
    ] {
        let Some(file) = xoff_testing::sample(lookup) else { continue };
        // A table alone is no network, and is rejected as such; its rows were read.
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
    let receiver = scenario
        .lines()
        .find_map(|l| l.trim().strip_prefix("hosts = [\"")?.split('"').next())
        .expect("hosts");
    std::fs::write(&out, format!("{scenario}\n{}", incast.replace("server0", receiver))).unwrap();
    let run = xoff(&["run", &out, "--out", &path(&dir, "results"), "--json"]);
    assert_eq!(run.code, 0, "{}{}", run.err, run.out);
    assert_eq!(run.json()["dropped_frames"], 0);
}

/// A switch with three hosts as SONiC has it: a pool with shared headroom, static and dynamic
/// thresholds, classes that share a priority group. The numbers are ours, and small.
const SWITCH: &str = r#"{
 "DEVICE_METADATA": {"localhost": {"hostname": "leaf1", "type": "ToRRouter"}},
 "PORT": {PORTS},
 "DEVICE_NEIGHBOR": {NEIGHBOURS},
 "CABLE_LENGTH": {"AZURE": {CABLES}},
 "BUFFER_POOL": {
  "ingress_lossless_pool": {"type": "ingress", "mode": "dynamic", "size": "900000", "xoff": "120000"},
  "egress_lossless_pool": {"type": "egress", "mode": "static", "size": "900000"},
  "egress_lossy_pool": {"type": "egress", "mode": "dynamic", "size": "300000"}
 },
 "BUFFER_PROFILE": {
  "pg_lossless": {"pool": "ingress_lossless_pool", "size": "1778", "xon": "18000", "xoff": "50000", "xon_offset": "3600", "dynamic_th": "-2"},
  "ingress_lossy_profile": {"pool": "ingress_lossless_pool", "size": "0", "static_th": "700000"},
  "egress_lossless_profile": {"pool": "egress_lossless_pool", "size": "0", "static_th": "0"},
  "egress_lossy_profile": {"pool": "egress_lossy_pool", "size": "1778", "dynamic_th": "-1"}
 },
 "BUFFER_PG": {PGS},
 "BUFFER_QUEUE": {QUEUES},
 "TC_TO_PRIORITY_GROUP_MAP": {"AZURE": {"0": "0", "1": "0", "2": "0", "3": "3", "4": "4", "5": "0", "6": "0", "7": "0"}},
 "PORT_QOS_MAP": {QOS}
}"#;

fn switch() -> String {
    let ports = ["Ethernet0", "Ethernet4", "Ethernet8", "Ethernet12"];
    let all = |of: &dyn Fn(usize, &str) -> String| {
        ports.iter().enumerate().map(|(n, p)| of(n, p)).collect::<Vec<_>>().join(", ")
    };
    SWITCH
        .replace("{PORTS}", &format!("{{{}}}", all(&|_, p| format!(r#""{p}": {{"speed": "100000", "admin_status": "up"}}"#))))
        .replace("{NEIGHBOURS}", &format!("{{{}}}", all(&|n, p| format!(r#""{p}": {{"name": "host{n}", "port": "eth0"}}"#))))
        .replace("{CABLES}", &format!("{{{}}}", all(&|_, p| format!(r#""{p}": "40m""#))))
        .replace("{QOS}", &format!("{{{}}}", all(&|_, p| format!(r#""{p}": {{"pfc_enable": "3,4", "tc_to_pg_map": "AZURE"}}"#))))
        .replace("{PGS}", &format!("{{{}}}", all(&|_, p| format!(r#""{p}|0": {{"profile": "ingress_lossy_profile"}}, "{p}|3-4": {{"profile": "pg_lossless"}}"#))))
        .replace(
            "{QUEUES}",
            &format!(
                "{{{}}}",
                all(&|_, p| format!(
                    r#""{p}|0-2": {{"profile": "egress_lossy_profile"}}, "{p}|3-4": {{"profile": "egress_lossless_profile"}}, "{p}|5-7": {{"profile": "egress_lossy_profile"}}"#
                ))
            ),
        )
}

/// The memory of a switch is imported as it is configured: pools, profiles, groups, queues. It
/// runs, and the report names the pools and the dropped frames: three hosts at line rate into one
/// queue of priority 0, S frames each, lose 3 S - S - L. Priority 3 loses nothing.
#[test]
fn pools_of_a_sonic_switch_run_as_they_are_configured() {
    let dir = folder("import-pools");
    let (config, out) = (path(&dir, "leaf1.json"), path(&dir, "network.toml"));
    std::fs::write(&config, switch()).unwrap();
    let ran = xoff(&["import", "sonic", &config, "--out", &out]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let scenario = std::fs::read_to_string(&out).unwrap();
    for part in [
        "lossy = [\"0-2\", \"5-7\"]",
        "name = \"ingress_lossless_pool\"\nsize = \"900KB\"\nheadroom = \"120KB\"",
        // Below the headroom is the reserve alone, as on Broadcom.
        "priorities = [\"3-4\"]\nreserve = \"1778B\"\nheadroom = \"50KB\"          # SONiC: xoff\nxon = \"18KB\"\nxon_offset = \"3600B\"\nkind = \"dynamic\"\nalpha = 0.25 ",
        // Classes 0 to 2 and 5 to 7 are all in priority group 0.
        "name = \"ingress_lossy_profile\"\npool = \"ingress_lossless_pool\"\nside = \"ingress\"\npriorities = [\"0-2\", \"5-7\"]\nreserve = \"0B\"\nkind = \"static\"\nlimit = \"700KB\"",
        "kind = \"static\"\nlimit = \"0B\"",
        "kind = \"dynamic\"\nalpha = 0.5 ",
    ] {
        assert!(scenario.contains(part), "'{part}' is not in\n{scenario}");
    }
    let frames = 400;
    let flow = |n: usize, priority: u8| {
        let bytes = frames * 1500;
        format!(
            "[[flow]]\nsrc = \"host{n}\"\ndst = \"host0\"\npriority = {priority}\nsize = \"{bytes}B\"\n"
        )
    };
    let network = &scenario[..scenario.find("# The files have no traffic").unwrap()];
    let incast = |priority| (1..4).map(|n| flow(n, priority)).collect::<String>();
    let run = |flows: String, name: &str| {
        std::fs::write(&out, format!("{network}{flows}")).unwrap();
        let run = xoff(&["run", &out, "--out", &path(&dir, name), "--json"]);
        (run.code, run.json(), run.err)
    };
    // Six queues of four ports reserve 1778 B each: 257,328 B are shared, and alpha 1/2 leaves a
    // queue a third of them, in addition to its reserve.
    let (code, json, _) = run(incast(0), "lossy");
    let shared = 300_000 - 4 * 6 * 1778;
    let limit = (shared / 3 + 1778) / 1500;
    assert_eq!(
        (code, &json["verdict"]["losses"]["by_cause"]["lossy-egress"]),
        (0, &(2 * frames - limit).into()),
        "{json}"
    );
    let words = json["active"].to_string();
    for part in [
        "pool egress_lossy_pool (egress): leaf1 used at most ",
        "pool ingress_lossless_pool (ingress): leaf1 used at most ",
        "leaf1->host0",
    ] {
        assert!(words.contains(part), "'{part}' is not in {words}");
    }
    let (code, json, err) = run(incast(3), "lossless");
    assert_eq!(
        (code, &json["verdict"]["lost_frames"], &json["flows_completed"]),
        (0, &0.into(), &3.into()),
        "{json}{err}"
    );
    assert!(err.contains("shares 120 KB of headroom") && err.contains("among 4 groups"), "{err}");
    assert!(json["active"].to_string().contains("of its headroom of 120 KB"), "{json}");
}
