//! `xoff testbed`: a whole network in one process.

use crate::support::{folder, path, xoff};
use crate::{INCAST, possible, taps};

/// Nothing is lost in a switch, on a wire or in a ring of the kernel.
fn lost_nothing(answer: &serde_json::Value) {
    let real = &answer["real"];
    assert_eq!(
        (answer["dropped_frames"].as_u64(), answer["violations"].as_u64()),
        (Some(0), Some(0)),
        "{answer:#}"
    );
    assert_eq!(real["lost_on_wire"].as_i64(), Some(0), "{answer:#}");
    for port in real["ports"].as_array().unwrap() {
        assert_eq!(
            (port["kernel_drops"].as_u64(), port["refused"].as_u64()),
            (Some(0), Some(0)),
            "{port:#}"
        );
    }
}

fn port<'a>(answer: &'a serde_json::Value, name: &str) -> &'a serde_json::Value {
    let all = answer["real"]["ports"].as_array().unwrap();
    all.iter().find(|p| p["port"] == name).unwrap_or_else(|| panic!("no port {name}: {answer:#}"))
}

/// Three senders towards a link that carries a third: two seconds, and not a frame is lost.
fn incast(flow_control: &str) {
    if !possible(&[]) {
        return;
    }
    let out = folder(&format!("incast-{flow_control}"));
    let kind = format!("flow_control={flow_control}");
    let ran = xoff(&[
        "testbed",
        INCAST,
        "--out",
        &path(&out, ""),
        "--set",
        &kind,
        "--set",
        "run.duration=2s",
        "--json",
    ]);
    assert_eq!(ran.code, 0, "{}\n{}", ran.out, ran.err);
    let answer = ran.json();
    lost_nothing(&answer);
    // A link of 100 Mb/s carries 16 556 frames of 1500 B and their preambles in two seconds.
    let arrived = port(&answer, "S1->H0")["sent"].as_u64().unwrap();
    assert!(arrived > 12_000, "only {arrived} frames through the bottleneck: {answer:#}");
    let control_sent: u64 = (1..=3)
        .map(|h| port(&answer, &format!("S1->H{h}"))["control_sent"].as_u64().unwrap())
        .sum();
    assert!(control_sent > 0, "no sender was held back: {answer:#}");
}

#[test]
fn incast_under_pfc() {
    incast("pfc");
}

#[test]
fn incast_under_cbfc() {
    incast("cbfc");
}

#[test]
fn incast_under_gfc() {
    incast("gfc-buffer");
}

#[test]
fn incast_under_pffc() {
    incast("pffc");
}

/// Runs a scenario of the ring with settings in a folder of its own, and returns its answer.
fn ring(flow_control: &str, more: &[&str]) -> serde_json::Value {
    let scenario =
        format!("{}/../../scenarios/testbed/ring-{flow_control}.toml", env!("CARGO_MANIFEST_DIR"));
    let kind = if more.is_empty() { "" } else { "-set" };
    let out = path(&folder(&format!("ring-{flow_control}{kind}")), "");
    let ran = xoff(&[&["testbed", &scenario, "--out", &out, "--json"], more].concat());
    assert_eq!(ran.code, 0, "{}\n{}", ran.out, ran.err);
    ran.json()
}

/// GFC keeps the ring moving until it is empty.
#[test]
fn a_ring_drains_under_gfc() {
    if possible(&[]) {
        let answer = ring("gfc", &[]);
        lost_nothing(&answer);
        assert_eq!(answer["flows_completed"].as_u64(), Some(3), "{answer:#}");
    }
}

/// Links hit every fiftieth frame of flows and resend it: the ring drains, and nothing is lost.
#[test]
fn a_ring_drains_over_links_that_resend() {
    if possible(&[]) {
        let set = [
            "link_errors[0].kind=frame",
            "link_errors[0].loss=0.02",
            "link_errors[0].frames=flows",
            "link_retry.kind=llr",
            "link_retry.replays=255",
            "link_retry.timer=10ms",
            "link_retry.buffer=200KB",
        ];
        let set: Vec<&str> = set.iter().flat_map(|s| ["--set", s]).collect();
        let answer = ring("gfc", &set);
        lost_nothing(&answer);
        assert_eq!(answer["flows_completed"].as_u64(), Some(3), "{answer:#}");
        let active = answer["active"].to_string();
        assert!(active.contains("links resent"), "{answer:#}");
    }
}

/// Each flow has at least nine tenths of its share, half of the 16 556 frames that a link carries
/// in two seconds.
#[test]
fn a_ring_is_fair_under_pffc() {
    if possible(&[]) {
        let answer = ring("pffc", &[]);
        lost_nothing(&answer);
        for name in ["S1->H1", "S2->H2", "S3->H3"] {
            assert!(
                port(&answer, name)["sent"].as_u64().unwrap() > 16_556 / 2 * 9 / 10,
                "{name}: {answer:#}"
            );
        }
    }
}

/// Programs that know nothing of xoff see that a link of the ring stops under PFC.
#[test]
fn a_packet_capture_sees_the_ring_stop() {
    if !possible(&["tshark", "dumpcap"]) {
        return;
    }
    let answer = ring("pfc", &["--observe", "S1->S2", "--allow", "deadlock"]);
    let seen = &answer["observed"];
    let counts =
        |of: &str| ["data", "pfc", "local", "other"].map(|kind| seen[of][kind].as_u64().unwrap());
    let ([before, ..], [data, pfc, local, other]) = (counts("whole_run"), counts("last_second"));
    assert!(before > 100 && pfc > 0, "{seen:#}");
    assert_eq!(
        (seen["stopped"].as_bool(), seen["missed"].as_u64(), data, local, other),
        (Some(true), Some(0), 0, 0, 0),
        "{seen:#}"
    );
    assert!(answer["deadlock"].as_array().is_some_and(|cycle| !cycle.is_empty()), "{answer:#}");
}

/// Ordinary programs on ordinary stacks, held back by flow control that is outside them.
fn iperf(flow_control: &str) {
    if !possible(&["iperf3", "tc"]) || !taps() {
        return;
    }
    let out = folder(&format!("iperf-{flow_control}"));
    let kind = format!("flow_control={flow_control}");
    // Offered 160 Mb/s in UDP, where 100 fit; the servers end with their clients.
    let ran = xoff(&[
        "testbed",
        INCAST,
        "--out",
        &path(&out, ""),
        "--set",
        &kind,
        "--set",
        "run.duration=15s",
        "--ip",
        "H0,H1,H2",
        "--run",
        "H0=iperf3 -s -1 -p 5201 >/dev/null & iperf3 -s -1 -p 5202 >/dev/null; wait; grep ^Udp: /proc/net/snmp",
        "--run",
        "H1=iperf3 -c 10.88.0.1 -p 5201 -u -b 80M -t 2 -J",
        "--run",
        "H2=iperf3 -c 10.88.0.1 -p 5202 -u -b 80M -t 2 -J",
        "--json",
    ]);
    assert_eq!(ran.code, 0, "{}\n{}", ran.out, ran.err);
    ran.complains(&["flows that start or end at H0, H1, H2"]);
    let answer = ran.json();
    lost_nothing(&answer);
    // The socket of a server discards data that the server does not read in time: that is no loss
    // of the network.
    let table = std::fs::read_to_string(out.join("H0.txt")).unwrap();
    let [names, values] =
        [0, 1].map(|n| table.lines().nth(n).unwrap().split_whitespace().collect::<Vec<_>>());
    let late: u64 =
        values[names.iter().position(|n| *n == "RcvbufErrors").unwrap()].parse().unwrap();
    let mut lost = 0;
    for host in ["H1", "H2"] {
        let text = std::fs::read_to_string(out.join(format!("{host}.txt"))).unwrap();
        let ran: serde_json::Value =
            serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"));
        lost += ran["end"]["sum"]["lost_packets"].as_u64().unwrap();
        assert!(ran["end"]["sum"]["packets"].as_u64().unwrap() > 1000, "{text}");
    }
    assert!(lost <= late, "{lost} datagrams lost, {late} of them by the receiver's socket");
    let commands = answer["commands"].as_array().unwrap();
    assert_eq!(commands.iter().filter(|c| c["exit_code"] == 0).count(), 3, "{answer:#}");
}

#[test]
fn iperf3_under_pfc() {
    iperf("pfc");
}

#[test]
fn iperf3_under_pffc() {
    iperf("pffc");
}

#[test]
fn ping_and_tcp_through_a_switch() {
    if !possible(&["ping", "iperf3", "tc"]) || !taps() {
        return;
    }
    let out = folder("ping");
    let ran = xoff(&[
        "testbed",
        INCAST,
        "--out",
        &path(&out, ""),
        "--set",
        "run.duration=15s",
        "--capture",
        &path(&out, "all.pcapng"),
        "--ip",
        "H0,H1",
        "--run",
        "H0=iperf3 -s -1",
        "--run",
        "H1=ping -i 0.2 -c 5 10.88.0.1 && iperf3 -c 10.88.0.1 -t 1 -J",
        "--run",
        "H1=ping -i 0.2 -c 10 10.88.0.1",
        "--json",
    ]);
    assert_eq!(ran.code, 0, "{}\n{}", ran.out, ran.err);
    lost_nothing(&ran.json());
    // Whoever reads the capture sees time go forward.
    let all: Vec<_> = xoff_real::netio::CaptureReader::open(out.join("all.pcapng"))
        .unwrap()
        .map(|f| f.unwrap().time_ns)
        .collect();
    assert!(all.len() > 1000 && all.is_sorted(), "{} frames, not in the order of time", all.len());
    // The nodes, shims included, did what a simulation's do with the same frames.
    let replayed = xoff(&["replay", &path(&out, "all.pcapng"), "--json"]);
    assert_eq!(replayed.code, 0, "{}\n{}", replayed.out, replayed.err);
    let json = replayed.json();
    assert_eq!(json["bytes_compared"], json["bytes_out"], "{json:#}");
    // What crossed a cable with both ends here came as it was sent.
    assert!(json["frames_followed"].as_u64() > Some(all.len() as u64 / 4), "{json:#}");
    let first = std::fs::read_to_string(out.join("H1.txt")).unwrap();
    let second = std::fs::read_to_string(out.join("H1-2.txt")).unwrap();
    assert!(
        first.contains("5 received, 0% packet loss")
            && second.contains("10 received, 0% packet loss"),
        "{first}\n{second}"
    );
}

/// The exit code of a command is the answer of the run; what is still running at its end is
/// stopped.
#[test]
fn commands_fail_and_are_stopped() {
    if !possible(&["tc"]) || !taps() {
        return;
    }
    let out = folder("commands");
    let args = [
        "testbed",
        INCAST,
        "--ip",
        "H1",
        "--run",
        "H1=sleep 60",
        "--run",
        "H1=echo said; exit 3",
        "--json",
        "--out",
    ];
    let ran = xoff(&[&args[..], &[&path(&out, "")]].concat());
    assert_eq!(ran.code, 1, "{}\n{}", ran.out, ran.err);
    let answer = ran.json();
    assert_eq!(answer["commands"][1]["exit_code"], 3, "{answer:#}");
    assert_eq!(answer["commands"][0]["ended"], "stopped at the end of the run", "{answer:#}");
    assert_eq!(std::fs::read_to_string(out.join("H1-2.txt")).unwrap(), "said\n");
}

/// Every node a process with a clock of its own: the ring under GFC drains all the same, and every
/// process leaves its tables.
#[test]
fn a_ring_of_processes_drains_under_gfc() {
    if !possible(&[]) {
        return;
    }
    let out = folder("processes");
    let ring = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/testbed/ring-gfc.toml");
    // Half the load of the scenario, and memory for a process that is away while the others send.
    let set = [
        "switch.buffer=8MB",
        "flow[0].size=1MB",
        "flow[1].size=1MB",
        "flow[2].size=1MB",
        "run.duration=4s",
    ];
    let dir = path(&out, "");
    let mut args = vec!["testbed", ring, "--processes", "--json", "--out", &dir];
    set.iter().for_each(|s| args.extend(["--set", s]));
    let ran = xoff(&args);
    assert_eq!(ran.code, 0, "{}\n{}", ran.out, ran.err);
    let answer = ran.json();
    assert_eq!(
        (answer["dropped_frames"].as_u64(), answer["kernel_drops"].as_u64()),
        (Some(0), Some(0)),
        "{answer:#}"
    );
    let nodes = answer["nodes"].as_array().unwrap();
    assert_eq!(nodes.len(), 6);
    let delivered = |n: &serde_json::Value| {
        let flows = n["answer"]["flows"].as_array().unwrap().clone();
        flows
            .into_iter()
            .filter(|f| f["dst"] == n["node"])
            .map(|f| f["delivered"].as_u64().unwrap())
            .sum::<u64>()
    };
    assert_eq!(
        nodes.iter().map(delivered).collect::<Vec<_>>().iter().filter(|&&d| d == 1_000_000).count(),
        3,
        "{answer:#}"
    );
    assert!(out.join("S1").join("ports.parquet").is_file());
}

/// Two planes of two leaves and two spines; four hosts with a port in each. Frames of 1500 B.
fn planes(name: &str, port: &str, duration: &str, traffic: &str) -> String {
    let file = path(&folder(name), "planes.toml");
    let text = format!(
        "[run]\nduration = \"{duration}\"\n[topology]\nkind = \"multi-plane\"\nplanes = 2\nleaves = 2\n\
         spines = 2\nhosts_per_leaf = 2\nrate = \"100Mbps\"\ndelay = \"1us\"\n[switch]\nbuffer = \"8MB\"\n\
         [host]\nport = \"{port}\"\n[flow_control]\nkind = \"pfc\"\n{traffic}"
    );
    std::fs::write(&file, text).unwrap();
    file
}

/// Frames that each port sent, by name, from the tables in a folder.
fn frames_sent(folder: &str) -> std::collections::BTreeMap<String, u64> {
    use xoff_record::read;
    let mut all = std::collections::BTreeMap::new();
    for b in read::batches(std::path::Path::new(folder), "ports").unwrap() {
        let (names, sent) = (read::texts(&b, "port"), read::numbers(&b, "tx_frames"));
        let rows = names.iter().zip(&sent);
        all.extend(rows.filter_map(|(name, n)| Some((name.as_deref()?.to_owned(), (*n)?))));
    }
    all
}

/// A ring all-reduce and an all-to-all of four hosts with two ports each: as many real frames take
/// each port of the network as in a simulation; sprayed ones take the port that is free first.
#[test]
fn hosts_of_two_ports_run_collectives() {
    if !possible(&[]) {
        return;
    }
    let collective = |kind: &str| format!("[[collective]]\nkind = \"{kind}\"\nsize = \"400KB\"\n");
    let job = "[[job]]\nhosts = [\"H0\", \"H1\", \"H2\", \"H3\"]\n".to_owned();
    let job = job + &collective("all-reduce") + &collective("all-to-all");
    for port in ["round-robin", "hash", "destination", "spray"] {
        let file = planes(&format!("planes-{port}"), port, "1s", &job);
        let out = file.replace("planes.toml", "out");
        let ran = xoff(&["testbed", &file, "--compare", "--json", "--out", &out]);
        assert_eq!(ran.code, 0, "{port}: {}\n{}", ran.out, ran.err);
        lost_nothing(&ran.json());
        let (real, simulated) = (frames_sent(&out), frames_sent(&format!("{out}/simulated")));
        let of = |all: &std::collections::BTreeMap<String, u64>, host: u32| {
            [0, 1].map(|plane| all[&format!("H{host}->L{plane}.{}", host / 2)])
        };
        for host in 0..4 {
            let (r, s) = (of(&real, host), of(&simulated, host));
            assert_eq!(r.iter().sum::<u64>(), s.iter().sum::<u64>(), "{port}: H{host}");
            let both = matches!(port, "round-robin" | "spray");
            assert!(!both || r.iter().all(|&n| n > 50), "{port}: H{host} {r:?}");
        }
        if port != "spray" {
            assert_eq!(real, simulated, "{port}");
        }
    }
}

/// Hosts of two ports as processes of their own, with an interface for each port.
#[test]
fn hosts_of_two_ports_are_processes() {
    if !possible(&[]) {
        return;
    }
    let flows: String = ["H2", "H3"]
        .map(|dst| format!("[[flow]]\nsrc = \"H0\"\ndst = \"{dst}\"\nsize = \"300KB\"\n"))
        .concat();
    let file = planes("planes-processes", "round-robin", "2s", &flows);
    let out = file.replace("planes.toml", "out");
    let ran = xoff(&["testbed", &file, "--processes", "--json", "--out", &out]);
    assert_eq!(ran.code, 0, "{}\n{}", ran.out, ran.err);
    let answer = ran.json();
    let node = |name: &str| {
        let all = answer["nodes"].as_array().unwrap();
        let one = all.iter().find(|n| n["node"] == name);
        one.unwrap_or_else(|| panic!("no {name}: {answer:#}"))["answer"].clone()
    };
    let sent = &node("H0")["real"]["ports"];
    assert_eq!([&sent[0]["sent"], &sent[1]["sent"]], [200, 200], "{sent:#}");
    for host in ["H2", "H3"] {
        let flows = node(host)["flows"].clone();
        assert!(flows.as_array().unwrap().iter().any(|f| f["complete"] == true), "{flows:#}");
    }
}

/// Eight TCP connections of a stack behind two ports: both carry some of them.
#[test]
fn a_stack_uses_both_ports_of_its_host() {
    if !possible(&["iperf3", "tc"]) || !taps() {
        return;
    }
    let flow = "[[flow]]\nsrc = \"H0\"\ndst = \"H2\"\nsize = \"1KB\"\n";
    let file = planes("planes-stack", "hash", "20s", flow);
    let out = file.replace("planes.toml", "out");
    let ran = xoff(&[
        "testbed",
        &file,
        "--out",
        &out,
        "--ip",
        "H0,H2",
        "--run",
        "H2=iperf3 -s -1",
        "--run",
        "H0=iperf3 -c 10.88.0.3 -t 1 -P 8",
        "--json",
    ]);
    assert_eq!(ran.code, 0, "{}\n{}", ran.out, ran.err);
    let answer = ran.json();
    lost_nothing(&answer);
    for name in ["H0.shim->L0.0", "H0.shim->L1.0"] {
        assert!(port(&answer, name)["sent"].as_u64().unwrap() > 500, "{name}: {answer:#}");
    }
}
