//! Every format reads its samples as independent reference readers do, and refuses the broken ones
//! with file and place.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use xoff_net::topology::NodeKind;
use xoff_scenario::Problems;
use xoff_scenario::import::{Network, Options, Threshold, find, read, scenario};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/import").join(name)
}

fn try_read(format: &str, files: &[PathBuf]) -> Result<Network, Problems> {
    let mut options = Options::default();
    for (key, value) in [("rate", "100Gbps"), ("length", "5m")] {
        options.set(key, value).unwrap();
    }
    read(find(format).unwrap(), files, &options)
}

fn good(format: &str, files: &[PathBuf]) -> Network {
    try_read(format, files).unwrap_or_else(|p| panic!("{format} {files:?}: {p}"))
}

/// The scenario that is written has the same graph, names and rates.
fn round_trip(network: &Network) {
    let folder = tempfile::tempdir().unwrap();
    let written = scenario(network, "Written by a test.", "links.csv").unwrap();
    let path = folder.path().join("network.toml");
    std::fs::write(&path, &written.scenario).unwrap();
    if let Some(links) = &written.links {
        std::fs::write(folder.path().join("links.csv"), links).unwrap();
    }
    let again = xoff_scenario::topology::read(xoff_scenario::Source::read(&path).unwrap(), &[])
        .unwrap_or_else(|p| panic!("{p}\n{}", written.scenario));
    let before = network.graph().unwrap();
    let facts = |t: &xoff_net::topology::Topology| {
        let mut links: Vec<_> = t
            .links
            .iter()
            .map(|l| (t.name(l.a).to_owned(), t.name(l.b).to_owned(), l.rate, l.delay))
            .collect();
        links.sort_unstable();
        let kinds: BTreeMap<_, _> =
            t.nodes.iter().map(|n| (n.name.clone(), n.kind == NodeKind::Host)).collect();
        (links, kinds, t.port_labels.len())
    };
    assert_eq!(facts(&again), facts(&before));
}

#[test]
fn samples_are_read_as_the_reference_readers_do() {
    let expected = std::fs::read_to_string(data("expected.txt")).unwrap();
    let mut checked = 0;
    for line in expected.lines().filter(|l| !l.starts_with('#')) {
        let words: Vec<&str> = line.split(' ').collect();
        let [format, sample, nodes, links, rates @ ..] = words.as_slice() else { panic!("{line}") };
        let path = if sample.contains("real-") {
            xoff_testing::sample(sample)
        } else {
            Some(data(sample))
        };
        let Some(path) = path else { continue };
        let network = good(format, &[path]);
        // Hosts without a link take no part, and are named.
        let idle = network
            .left_out
            .iter()
            .filter_map(|w| w.strip_prefix("hosts without a link: "))
            .map(|l| l.split(", ").count())
            .sum::<usize>();
        assert_eq!(
            (network.nodes.len() + idle, network.links.len()),
            (nodes.parse().unwrap(), links.parse().unwrap()),
            "{sample}"
        );
        let mut count: BTreeMap<String, u32> = BTreeMap::new();
        network
            .links
            .iter()
            .for_each(|l| *count.entry(l.rate.unwrap().compact()).or_default() += 1);
        if !rates.is_empty() {
            let found: Vec<String> = count.iter().map(|(rate, n)| format!("{rate}x{n}")).collect();
            assert_eq!(&found, rates, "{sample}");
        }
        round_trip(&network);
        checked += 1;
    }
    assert!(checked >= 12, "{checked}");
}

#[test]
fn broken_samples_are_refused_with_file_and_place() {
    let fabric =
        [data("sonic/fabric/spine1.config_db.json"), data("sonic/fabric/pg_profile_lookup.ini")];
    let minhop = |f: &str| data(&format!("ib/ring5-minhop/{f}"));
    let ring: Vec<PathBuf> = ["R2", "R3"]
        .iter()
        .map(|r| data(&format!("routing/ring3/{r}.show-ip-route.json")))
        .collect();
    let mut checked = 0;
    for (folder, format) in [
        ("sonic", "sonic"),
        ("containerlab", "containerlab"),
        ("graph", "networkx"),
        ("htsim", "htsim"),
        ("ib", "ibnetdiscover"),
        ("infragraph", "infragraph"),
        ("routing", "frr"),
        ("simai", "simai"),
    ] {
        let mut files: Vec<PathBuf> = std::fs::read_dir(data(folder).join("broken"))
            .unwrap()
            .map(|e| e.unwrap().path())
            .collect();
        files.sort();
        for file in files {
            let name = file.file_name().unwrap().to_string_lossy().into_owned();
            let temp = tempfile::tempdir().unwrap();
            let (format, list) = match format {
                "networkx" if name.ends_with(".graphml") => ("graphml", vec![file]),
                "sonic" => ("sonic", [vec![file], fabric.to_vec()].concat()),
                "ibnetdiscover" if name.ends_with(".dump") => {
                    (format, vec![minhop("ibnetdiscover.topo"), file])
                }
                "frr" => {
                    // The router's name is that of the file.
                    let own = temp.path().join("R1.show-ip-route.json");
                    std::fs::copy(&file, &own).unwrap();
                    (
                        format,
                        [ring.clone(), vec![own, data("routing/ring3/layer1_topology.json")]]
                            .concat(),
                    )
                }
                other => (other, vec![file]),
            };
            if name == "b9-no-namespace.graphml" {
                let network = good(format, &list);
                assert!(network.warnings.iter().any(|w| w.message.contains("namespace")), "{name}");
                continue;
            }
            let Err(problems) = try_read(format, &list) else {
                panic!("{folder}/broken/{name} was read")
            };
            for p in problems.iter() {
                assert!(p.place.is_some() && !p.hint.is_empty(), "{name}: {}", p.line());
            }
            eprintln!("{name}: {problems}");
            checked += 1;
        }
    }
    assert!(checked >= 65, "{checked}");
}

/// yEd draws lines and writes arrows; what people read is the label, not the id.
#[test]
fn a_graph_of_yed_has_the_names_that_it_shows() {
    let network = good("graphml", &[data("graph/drawn-by-yed.graphml")]);
    let names: Vec<&str> = network.nodes.iter().map(|n| n.name.as_str()).collect();
    assert_eq!(
        (names, network.links[0].rate),
        (vec!["leaf1", "leaf2", "spine1"], Some(xoff_units::Rate::from_gbps(100)))
    );
    assert!(
        network.warnings.to_string().contains("yEd marks all graphs as directed"),
        "{}",
        network.warnings
    );
    // Two nodes of one label: ids again.
    let text = std::fs::read_to_string(data("graph/drawn-by-yed.graphml"))
        .unwrap()
        .replace(">leaf2<", ">leaf1<");
    let file = tempfile::Builder::new().suffix(".graphml").tempfile().unwrap();
    std::fs::write(file.path(), text).unwrap();
    assert_eq!(good("graphml", &[file.path().to_owned()]).nodes[2].name, "n2");
}

/// Names of the ports of a node, as `NODE->PEER`, in their order.
fn ports(network: &Network, name: &str) -> Vec<String> {
    let t = network.graph().unwrap();
    let node = t.find(name).unwrap_or_else(|| panic!("no node {name}"));
    (0..t.nodes[node.index()].ports.len() as u16).map(|p| t.port_name(node, p)).collect()
}

/// The level of each node whose name begins so.
fn levels(network: &Network, prefix: &str) -> Vec<u8> {
    let t = network.graph().unwrap();
    t.nodes.iter().filter(|n| n.name.starts_with(prefix)).map(|n| n.level).collect()
}

#[test]
fn simai_gives_gpus_with_nvswitches_and_two_planes() {
    let network = good("simai", &[data("simai/dual-plane_H100")]);
    assert_eq!(ports(&network, "gpu5"), ["gpu5->nvswitch9", "gpu5->switch11", "gpu5->switch15"]);
    assert_eq!((levels(&network, "nvswitch"), levels(&network, "gpu").len()), (vec![0; 2], 8));
    assert_eq!(levels(&network, "switch"), [[1; 8].as_slice(), &[2; 4]].concat());
    assert_eq!(network.left_out, ["servers of 4 GPUs, and their kind (H100)"]);
    let lossy = good("simai", &[data("simai/rail_A100")]);
    assert_eq!(lossy.left_out[1], "error rates, of 1 of 14 links");
    round_trip(&network);
    round_trip(&lossy);
}

#[test]
fn infragraph_gives_xpus_their_nearest_nics() {
    let network = good("infragraph", &[data("infragraph/rails.yaml")]);
    // Both ports of its NIC, then the NVSwitches; the PCIe switch is none of them.
    let own = ["leaf.2#0", "leaf.2#1", "host.1.nvsw.0", "host.1.nvsw.1"];
    assert_eq!(ports(&network, "host.1.xpu.2"), own.map(|p| format!("host.1.xpu.2->{p}")));
    assert_eq!(
        (levels(&network, "host.0.nvsw"), levels(&network, "leaf")),
        (vec![0; 2], vec![1; 4])
    );
    assert_eq!(levels(&network, "spine"), [2]);
    assert_eq!(
        network.left_out,
        [
            "components of one2one edges with more on one end",
            "cpu, pciesw of device server",
            "6 hosts or switches without a link",
        ]
    );
    let facts = |b: &str| {
        let link = network.links.iter().find(|l| network.nodes[l.b.node].name == b).unwrap();
        (link.rate.unwrap().0 / 1_000_000_000, link.wire.unwrap().delay())
    };
    let ns = xoff_units::Span::from_ns;
    assert_eq!(
        [facts("leaf.0"), facts("spine.0"), facts("host.0.nvsw.1")],
        [(200, ns(500)), (400, ns(750)), (1_800, ns(25))]
    );
    round_trip(&network);
}

/// Switches that are joined to xpus alone scale up; a device without xpus is one host.
#[test]
fn infragraph_knows_scale_up_switches_between_devices() {
    let network = good("infragraph", &[data("infragraph/rack.json")]);
    assert_eq!(ports(&network, "tray.1.xpu.0"), ["tray.1.xpu.0->nvsw.0", "tray.1.xpu.0->nvsw.1"]);
    assert_eq!(ports(&network, "store.1"), ["store.1->tor.0#0", "store.1->tor.0#1"]);
    assert_eq!((levels(&network, "nvsw"), levels(&network, "tor")), (vec![0; 2], vec![1]));
    assert!(network.left_out.iter().any(|w| w == "gigatransfers_per_second of link eth"));
    assert_eq!(network.links[11].rate, Some(xoff_units::Rate::from_gbps(100)), "the option's");
    round_trip(&network);
}

/// InfiniBand has credits, and so has the scenario of its files.
#[test]
fn infiniband_runs_with_credits() {
    let network = good("ibnetdiscover", &[data("ib/several-vendors.topo")]);
    let written = scenario(&network, "Written by a test.", "links.csv").unwrap();
    assert!(written.scenario.contains("kind = \"cbfc\""), "{}", written.scenario);
}

/// A port that is down may have no speed; one that is up needs it, in Mb/s.
#[test]
fn a_sonic_port_needs_a_speed_when_it_is_up() {
    let text = std::fs::read_to_string(data("sonic/fabric/leaf1.config_db.json")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let read = |change: &dyn Fn(&str) -> String| {
        let file = folder.path().join("leaf1.config_db.json");
        std::fs::write(&file, change(&text)).unwrap();
        try_read("sonic", &[file])
    };
    let speed = text.lines().find(|l| l.contains("\"speed\"")).unwrap().to_owned() + "\n";
    let refused = |change: &dyn Fn(&str) -> String| read(change).unwrap_err().to_string();
    let absent = refused(&|t| t.replacen(&speed, "", 1));
    assert!(
        absent.contains("the speed is missing")
            && absent.contains("Mb/s")
            && absent.contains("leaf1.config_db.json:"),
        "{absent}"
    );
    let named = refused(&|t| t.replacen(&speed, "\"speed\": \"400G\",\n", 1));
    assert!(
        named.contains("speed '400G'") && named.contains("expected Mb/s, such as 100000"),
        "{named}"
    );
    let zero = refused(&|t| t.replacen(&speed, "\"speed\": \"0\",\n", 1));
    assert!(zero.contains("speed '0'"), "{zero}");
    let down = read(&|t| {
        t.replacen("\"PORT\": {", "\"PORT\": {\n\"Ethernet252\": {\"lanes\": \"1\"},", 1)
    })
    .unwrap();
    assert!(
        down.left_out.iter().any(|w| w.contains("ports that are down and have no speed")),
        "{:?}",
        down.left_out
    );
}

/// A link of which one end is down is down: no route takes it, whichever end says so.
#[test]
fn a_sonic_link_is_down_when_one_of_its_ends_is() {
    for (device, port) in [("spine1", "Ethernet0"), ("leaf1", "Ethernet8")] {
        for gone in ["\"admin_status\"", "\"speed\""] {
            let folder = tempfile::tempdir().unwrap();
            for name in ["leaf1", "leaf2", "spine1"] {
                let file = format!("{name}.config_db.json");
                let mut text =
                    std::fs::read_to_string(data(&format!("sonic/fabric/{file}"))).unwrap();
                if name == device {
                    let start = text.find(&format!("\"{port}\": {{\n   \"lanes\"")).unwrap();
                    let own = text[start..start + text[start..].find('}').unwrap()].to_owned();
                    let down = own.replace("\"up\"", "\"down\"");
                    let down: String = down
                        .lines()
                        .filter(|l| gone != "\"speed\"" || !l.contains(gone))
                        .map(|l| l.to_owned() + "\n")
                        .collect();
                    text = text.replacen(&own, &down, 1);
                }
                std::fs::write(folder.path().join(file), text).unwrap();
            }
            let network = good("sonic", &[folder.path().to_owned()]);
            let names = |l: &xoff_scenario::import::Link| {
                [l.a.node, l.b.node].map(|n| network.nodes[n].name.clone())
            };
            assert_eq!(network.links.len(), 5, "{device} {gone}");
            assert!(
                !network
                    .links
                    .iter()
                    .map(names)
                    .any(|ends| ends.contains(&"leaf1".into()) && ends.contains(&"spine1".into()))
            );
            assert!(
                network.left_out.iter().any(|w| w.contains(device) && w.contains("are down")),
                "{:?}",
                network.left_out
            );
        }
    }
}

#[test]
fn a_sonic_fabric_has_its_settings_by_port() {
    let all = good("sonic", &[data("sonic/fabric")]);
    let hosts = all.nodes.iter().filter(|n| n.kind == NodeKind::Host).count();
    assert_eq!((hosts, all.buffering.ports.len(), all.buffering.pools.len()), (4, 8, 3));
    let leaf = all.nodes.iter().position(|n| n.name == "leaf1").unwrap();
    let port = &all.buffering.ports[&(leaf, "Ethernet8".to_owned())];
    assert_eq!(port.pfc.iter().copied().collect::<Vec<_>>(), [3, 4]);
    let profile = &port.profiles[&3];
    assert_eq!(
        (profile.headroom.0, profile.size.0, profile.xon.0, profile.threshold),
        (265_216, 284_672, 19_456, Threshold::Dynamic(0))
    );
    assert!(all.warnings.is_empty(), "{}", all.warnings);
    // The lookup table makes the profiles that a rendered file lacks.
    let folder = tempfile::tempdir().unwrap();
    let rendered = folder.path().join("leaf1.config_db.json");
    let text = std::fs::read_to_string(data("sonic/fabric/leaf1.config_db.json")).unwrap();
    let mut json: serde_json::Value = serde_json::from_str(&text).unwrap();
    let object = json.as_object_mut().unwrap();
    object.remove("BUFFER_PG");
    object["BUFFER_PROFILE"]
        .as_object_mut()
        .unwrap()
        .retain(|name, _| !name.starts_with("pg_lossless"));
    std::fs::write(&rendered, json.to_string()).unwrap();
    let made = good("sonic", &[rendered.clone(), data("sonic/fabric/pg_profile_lookup.ini")]);
    assert_eq!(
        made.buffering.ports[&(0, "Ethernet8".to_owned())].profiles[&3].headroom,
        profile.headroom
    );
    let alone = good("sonic", &[rendered]);
    assert!(alone.buffering.ports.values().all(|p| p.profiles.is_empty()));
}

/// Every table and every field of which nothing is taken over is named. Before: MTU and FEC of
/// ports, and all tables but seven, without a word.
#[test]
fn what_a_sonic_import_does_not_use_is_named() {
    let text = std::fs::read_to_string(data("sonic/fabric/leaf1.config_db.json")).unwrap();
    let mut json: serde_json::Value = serde_json::from_str(&text).unwrap();
    let tables = json.as_object_mut().unwrap();
    for (_, port) in tables["PORT"].as_object_mut().unwrap() {
        let port = port.as_object_mut().unwrap();
        ["fec", "pfc_asym"].iter().for_each(|key| drop(port.insert((*key).into(), "none".into())));
        port.insert("mtu".into(), "9100".into());
    }
    tables.insert("NTP_SERVER".into(), serde_json::json!({ "10.0.0.1": { "prefer": "true" } }));
    tables.insert(
        "SCHEDULER".into(),
        serde_json::json!({ "scheduler.0": { "type": "DWRR", "weight": "14" } }),
    );
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("leaf1.config_db.json");
    std::fs::write(&file, json.to_string()).unwrap();
    let network = good("sonic", &[file, data("sonic/fabric/pg_profile_lookup.ini")]);
    let named = |words: &str| network.left_out.iter().any(|what| what.contains(words));
    let of = |table: &str| {
        network
            .left_out
            .iter()
            .find(|what| what.starts_with(&format!("{table}: ")))
            .cloned()
            .unwrap_or_default()
    };
    assert!(
        of("PORT").contains("fec")
            && of("PORT").contains("pfc_asym")
            && of("PORT").contains("lanes"),
        "{:?}",
        network.left_out
    );
    assert!(named("PORT: mtu, except for xoff plan"), "{:?}", network.left_out);
    assert!(named("tables") && named("NTP_SERVER") && named("SCHEDULER"), "{:?}", network.left_out);
    assert!(
        !named("speed") && !named("xon_offset") && !named("dynamic_th") && !named("CABLE_LENGTH"),
        "{:?}",
        network.left_out
    );
    let written = scenario(&network, "Written by a test.", "links.csv").unwrap().scenario;
    assert!(written.contains("#   PORT: ") && written.contains("NTP_SERVER"), "{written}");
}

/// PFC_WD is written as it is and left off; settings that differ are left out and named; a
/// detection below the interval is rejected where it stands.
#[test]
fn a_sonic_watchdog_is_taken_over() {
    let network = good("sonic", &[data("sonic/fabric")]);
    let ms = xoff_units::Span::from_ms;
    let w = network.watchdog.expect("all switches have the same");
    assert_eq!((w.detect, w.restore, w.poll, w.action), (ms(200), ms(200), ms(200), "drop"));
    assert!(!network.left_out.iter().any(|what| what.contains("PFC_WD")), "{:?}", network.left_out);
    let written = scenario(&network, "Written by a test.", "links.csv").unwrap().scenario;
    for stated in [
        "[watchdog]\nkind = \"none\"",
        "[watchdog.duration]\ndetect = \"200ms\"\nrestore = \"200ms\"\npoll = \"200ms\"\naction = \"drop\"",
    ] {
        assert!(written.contains(stated), "{written}");
    }
    let with = |from: &str, to: &str| {
        let folder = tempfile::tempdir().unwrap();
        for file in ["leaf1", "leaf2", "spine1"]
            .map(|s| format!("{s}.config_db.json"))
            .iter()
            .chain(&["pg_profile_lookup.ini".to_owned()])
        {
            let text = std::fs::read_to_string(data(&format!("sonic/fabric/{file}"))).unwrap();
            let text = if file.starts_with("leaf1") { text.replacen(from, to, 1) } else { text };
            std::fs::write(folder.path().join(file), text).unwrap();
        }
        try_read("sonic", &[folder.path().to_owned()])
    };
    let differ = with("\"detection_time\": \"200\"", "\"detection_time\": \"400\"").unwrap();
    assert!(
        differ.watchdog.is_none()
            && differ.left_out.iter().any(|what| what.starts_with("PFC_WD: 2 different settings")),
        "{:?}",
        differ.left_out
    );
    let refused = |from: &str, to: &str, stated: &str| {
        let e = with(from, to).err().unwrap_or_else(|| panic!("{to} was read")).to_string();
        assert!(e.contains(stated) && e.contains("leaf1.config_db.json"), "{e}");
    };
    refused(
        "\"detection_time\": \"200\"",
        "\"detection_time\": \"100\"",
        "detection_time 100, restoration_time 200, POLL_INTERVAL 200",
    );
    refused(
        "\"detection_time\": \"200\"",
        "\"detection_time\": \"soon\"",
        "'soon' is not a whole number",
    );
    refused("\"action\": \"drop\"", "\"action\": \"burn\"", "action 'burn'");
}

#[test]
fn a_matrix_gives_its_flows_and_names_those_that_wait() {
    let m = good("htsim", &[data("htsim/barrier.cm")]);
    assert_eq!((m.flows.len(), m.nodes.len()), (3, 16 + 20));
    assert!(
        m.left_out.iter().any(|w| w.contains("2 connections that wait for a trigger")),
        "{:?}",
        m.left_out
    );
    assert_eq!(m.flows[2].size.0, 4096);
}

#[test]
fn what_a_format_does_not_contain_is_not_guessed() {
    let network = read(
        find("containerlab").unwrap(),
        &[data("containerlab/leafspine.clab.yml")],
        &Options::default(),
    )
    .unwrap();
    let refusal = scenario(&network, "", "links.csv").unwrap_err().to_string();
    assert!(
        refusal.contains("the link h2-leaf2 has no rate") && refusal.contains("--rate 100Gbps"),
        "{refusal}"
    );
    assert!(refusal.contains("no length or delay"), "{refusal}");
}

#[test]
fn many_links_go_to_a_table_and_come_back() {
    use std::fmt::Write;
    let n = 200_000;
    let mut text = String::from("{\"directed\": false, \"nodes\": [");
    for s in 0..400 {
        let _ = write!(text, "{{\"id\": \"s{s}\", \"kind\": \"switch\"}},");
    }
    for h in 0..n {
        let _ = write!(
            text,
            "{}{{\"id\": \"h{h}\", \"kind\": \"host\"}}",
            if h > 0 { "," } else { "" }
        );
    }
    text += "], \"edges\": [";
    for h in 0..n {
        let comma = if h > 0 { "," } else { "" };
        let _ = write!(
            text,
            "{comma}{{\"source\": \"h{h}\", \"target\": \"s{}\", \"rate\": \"100Gbps\", \"length\": \"5m\"}}",
            h % 400
        );
    }
    text += "]}";
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large.json");
    std::fs::write(&path, text).unwrap();
    let network = good("networkx", &[path]);
    assert_eq!(network.links.len(), n);
    round_trip(&network);
}
