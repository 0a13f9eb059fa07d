//! HPCC's files: the reference cases, and each message with its line and column.

use std::path::Path;

use xoff_scenario::hpcc::{
    self, CcMode, HpccConfig, HpccFlow, HpccFlows, HpccTopology, LinkDown, ns3, read_trace,
};
use xoff_scenario::{Problems, Source};
use xoff_units::{NodeId, Rate};

fn case(name: &str) -> hpcc::HpccCase {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hpcc").join(name).join("config.txt");
    hpcc::load(&path).unwrap_or_else(|e| panic!("{name}: {e}"))
}

#[test]
fn the_reference_cases_are_read() {
    let m1 = case("m1_one_1pkt_none");
    assert_eq!(
        m1.flows,
        [HpccFlow {
            src: 0,
            dst: 1,
            pg: 3,
            sport: None,
            dport: 100,
            size: 1_000,
            start_ns: 2_000_000_000
        }]
    );
    assert_eq!((m1.config.cc_mode, m1.config.ecn), (CcMode::None, false));
    assert!(m1.warnings.is_empty());
    assert_eq!(case("m2_one_1mb_none").flows[0].size, 1_000_000);
    let m4 = case("m4_star_2to1_dcqcnstep");
    assert_eq!(m4.flows.len(), 2);
    let c = &m4.config;
    assert_eq!(
        (c.cc_mode, c.ecn, c.payload, c.l2_chunk, c.l2_ack_interval),
        (CcMode::Dcqcn, true, 1_000, 4_000, 1)
    );
    assert_eq!(
        (c.alpha_resume_interval_us, c.rate_decrease_interval_us, c.rp_timer_us),
        (1, 4, 300)
    );
    assert_eq!(
        (c.rate_ai, c.rate_hai, c.min_rate),
        (Rate(20_000_000), Rate(200_000_000), Rate(1_000_000_000))
    );
    assert_eq!((c.ewma_gain, c.fast_recovery_times, c.buffer_mib), (1.0 / 256.0, 1, 1));
    assert_eq!(c.kmax[1], (Rate(100_000_000_000), 100));
    assert_eq!(
        (c.has_win, c.var_win, c.global_t, c.ack_high_prio, c.enable_trace),
        (false, false, true, true, false)
    );
    assert_eq!((c.stop_ns, c.link_down), (4_000_000_000, None));
    let graph = case("m4_star_2to1_none").topology.graph().unwrap();
    assert_eq!(
        (graph.name(NodeId(3)), graph.port_name(NodeId(3), 2), graph.links[0].delay.as_ns()),
        ("S3", "S3->H2".into(), 1_000)
    );
}

#[test]
fn what_has_no_effect_is_named() {
    let m4 = case("m4_star_2to1_none").config;
    let ignored: Vec<_> = m4.ignored.iter().map(|i| (i.key, i.missed)).collect();
    assert_eq!(ignored[0], ("USE_DYNAMIC_PFC_THRESHOLD", false));
    assert!(ignored.contains(&("FAST_REACT", false)));
    // The packet trace is on unless it is switched off.
    let on = HpccConfig::read(&Source::file("c.txt", "TOPOLOGY_FILE t FLOW_FILE f")).unwrap();
    assert_eq!((on.ignored[0].key, on.ignored[0].missed), ("ENABLE_TRACE", true));
}

#[test]
fn defaults_are_the_originals() {
    let c = HpccConfig::read(&Source::file("c.txt", "TOPOLOGY_FILE t FLOW_FILE f")).unwrap();
    assert_eq!(
        (c.topology_file.as_str(), c.flow_file.as_str(), c.fct_output_file.as_str()),
        ("t", "f", "fct.txt")
    );
    assert_eq!(Some(c.stop_ns), ns3::seconds_to_ns(3.01));
    assert_eq!(
        (c.cc_mode, c.alpha_resume_interval_us, c.buffer_mib, c.min_rate),
        (CcMode::Dcqcn, 55, 16, Rate(100_000_000))
    );
    assert!(c.has_win && c.global_t && c.rate_bound && !c.ack_high_prio);
}

#[track_caller]
fn config(lines: &str, expected: &str) {
    let text = format!("TOPOLOGY_FILE t\nFLOW_FILE f\n{lines}");
    let e = HpccConfig::read(&Source::file("c.txt", text)).map(drop).unwrap_err();
    assert_eq!(e.to_string(), expected);
}

#[test]
fn config_errors() {
    config("CC_MOD 1\n", "c.txt:3:1: unknown key 'CC_MOD' (did you mean 'CC_MODE'?)");
    config(
        "XYZZY_QQ 3\nCC_MODE 1\n",
        "c.txt:3:1: unknown key 'XYZZY_QQ' (expected a key of the HPCC simulator, such as CC_MODE)",
    );
    let modes = "(supported: 0 (none), 1 (DCQCN), 3 (HPCC), 7 (TIMELY))";
    config("CC_MODE 8\n", &format!("c.txt:3:9: CC_MODE 8 (DCTCP) is not supported yet {modes}"));
    config(
        "CC_MODE 10\n",
        &format!("c.txt:3:9: CC_MODE 10 (HPCC-PINT) is not supported yet {modes}"),
    );
    config("CC_MODE 12\n", &format!("c.txt:3:9: CC_MODE 12 is not supported yet {modes}"));
    config(
        "CC_MODE one\n",
        "c.txt:3:9: CC_MODE: 'one' is not a whole number (expected 0, 1, 2, ...)",
    );
    config(
        "CC_MODE\nHAS_WIN 0\n",
        "c.txt:3:1: CC_MODE: a value is missing (expected KEY value; 'HAS_WIN' is the next key)",
    );
    config("HAS_WIN", "c.txt:3:1: HAS_WIN: a value is missing (expected KEY value)");
    config(
        "ERROR_RATE_PER_LINK 1.01\n",
        "c.txt:3:21: ERROR_RATE_PER_LINK: 1.01 is out of range (expected 0 to 1)",
    );
    config(
        "RATE_AI 20\n",
        "c.txt:3:9: RATE_AI: '20' has no unit (expected a rate with a unit, such as 100Gbps (bps, kbps, Mbps, Gbps, or b/s, kb/s, Mb/s, Gb/s))",
    );
    config(
        "KMAX_MAP 2 100 5\nCC_MODE 1\n",
        "c.txt:3:1: KMAX_MAP: a value is missing (expected KEY value; 'CC_MODE' is the next key)",
    );
    config("PMAX_MAP 1 100 1.5\n", "c.txt:3:16: PMAX_MAP: 1.5 is out of range (expected 0 to 1)");
    config(
        "PAUSE_TIME 0.5\n",
        "c.txt:3:12: PAUSE_TIME: 0.5 is too small (expected at least 1: in the original, a pause of 0 us is a resume, so no port would ever pause)",
    );
    config(
        "BUFFER_SIZE 4096\n",
        "c.txt:3:13: BUFFER_SIZE: 4096 is too large (expected at most 4095)",
    );
    config("BUFFER_SIZE 0\n", "c.txt:3:13: BUFFER_SIZE: 0 is too small (expected 1 to 4095)");
    config(
        "PACKET_PAYLOAD_SIZE 0\n",
        "c.txt:3:21: PACKET_PAYLOAD_SIZE: 0 is too small (expected 1 to 65000)",
    );
    config(
        "SIMULATOR_STOP_TIME 1e12\n",
        "c.txt:3:21: SIMULATOR_STOP_TIME: 1e12 is too late (expected at most 18446744 seconds)",
    );
    config(
        "SIMULATOR_STOP_TIME -1\n",
        "c.txt:3:21: SIMULATOR_STOP_TIME: -1 is out of range (expected a number from 0)",
    );
    config(
        "RP_TIMER 4us\n",
        "c.txt:3:10: RP_TIMER: '4us' is not a number (expected a number, such as 0.5)",
    );
    config(
        "RP_TIMER 1e13\n",
        "c.txt:3:10: RP_TIMER: 10000000000000 is too large (expected microseconds)",
    );
    config(
        "# note\nCC_MODE 1\n",
        "c.txt:3:1: this format has no comments (expected a key of the HPCC simulator, such as CC_MODE)",
    );
    let e = HpccConfig::read(&Source::file("c.txt", "")).unwrap_err().to_string();
    assert_eq!(
        e,
        "c.txt:1:1: missing key TOPOLOGY_FILE (expected TOPOLOGY_FILE followed by the name of a file)\n\
         c.txt:1:1: missing key FLOW_FILE (expected FLOW_FILE followed by the name of a file)"
    );
    // A wrong value does not hide the errors behind it.
    config(
        "CC_MODE x y\nHAS_WIN z\n",
        "c.txt:3:9: CC_MODE: 'x' is not a whole number (expected 0, 1, 2, ...)\nc.txt:4:9: HAS_WIN: 'z' is not a whole number (expected 0, 1, 2, ...)",
    );
}

/// Values that only HPCC and TIMELY reject; the other modes do not read them.
#[test]
fn what_a_rate_control_cannot_work_with() {
    let text = "INT_MULTI 0\nHAS_WIN 0\nMIN_RATE 0Gbps\nU_TARGET 0\n";
    let floor = "c.txt:5:1: MIN_RATE: a floor of 0 (expected a rate above 0: a flow at rate 0 never speeds up)";
    config(
        &format!("{text}CC_MODE 3\n"),
        &format!(
            "{floor}\n\
             c.txt:4:1: HAS_WIN: 0 with HPCC (expected HAS_WIN 1: the law of CC_MODE 3 divides by the window)\n\
             c.txt:6:1: U_TARGET: a utilisation of 0 (expected above 0, such as 0.95)\n\
             c.txt:3:1: INT_MULTI: 0 is not a unit (expected 1 to 33554431, such as 1 at 25G and 4 at 100G)"
        ),
    );
    config(
        "CC_MODE 3\nINT_MULTI 33554432\n",
        "c.txt:4:1: INT_MULTI: 33554432 is not a unit (expected 1 to 33554431, such as 1 at 25G and 4 at 100G)",
    );
    config(&format!("{text}CC_MODE 7\n"), floor);
    for mode in [0, 1] {
        let text = format!("TOPOLOGY_FILE t\nFLOW_FILE f\n{text}CC_MODE {mode}\n");
        assert!(HpccConfig::read(&Source::file("c.txt", text)).is_ok());
    }
}

#[test]
fn keys_of_hpcc_have_an_effect_there() {
    let all = "U_TARGET 0.9\nMI_THRESH 2\nFAST_REACT 0\nMULTI_RATE 0\nSAMPLE_FEEDBACK 1\nINT_MULTI 4\nPINT_PROB 1\n";
    let read = |mode: u32| {
        HpccConfig::read(&Source::file(
            "c.txt",
            format!("TOPOLOGY_FILE t FLOW_FILE f ENABLE_TRACE 0 {all}CC_MODE {mode}"),
        ))
        .unwrap()
    };
    let ignored = |c: &HpccConfig| c.ignored.iter().map(|i| i.key).collect::<Vec<_>>();
    let c = read(3);
    assert_eq!((c.cc_mode, c.u_target, c.mi_thresh, c.int_multi), (CcMode::Hpcc, 0.9, 2, 4));
    assert_eq!((c.fast_react, c.multi_rate, c.sample_feedback), (false, false, true));
    assert_eq!(ignored(&c), ["PINT_PROB"]);
    assert_eq!(c.ignored[0].why, "only CC_MODE 10 (HPCC-PINT) uses it");
    assert_eq!(
        ignored(&read(7)),
        [
            "U_TARGET",
            "MI_THRESH",
            "FAST_REACT",
            "MULTI_RATE",
            "SAMPLE_FEEDBACK",
            "INT_MULTI",
            "PINT_PROB"
        ]
    );
}

#[test]
fn config_warnings_and_failures() {
    let c = HpccConfig::read(&Source::file(
        "c.txt",
        "TOPOLOGY_FILE t FLOW_FILE f RP_TIMER 1.5\nRP_TIMER 300 LINK_DOWN 7 1 2\n",
    ))
    .unwrap();
    assert_eq!((c.rp_timer_us, c.link_down), (300, Some(LinkDown { time_us: 7, a: 1, b: 2 })));
    assert_eq!(
        c.warnings.to_string(),
        "c.txt:1:29: warning: RP_TIMER: xoff rounds 1.5 us down to 1 us (the original counts whole microseconds)\n\
         c.txt:2:1: warning: RP_TIMER: given twice (the last one counts)\n\
         c.txt:1:1: warning: L2_ACK_INTERVAL: 0 (as in the original, senders then ignore all acknowledgements, and no flow completes)"
    );
}

#[track_caller]
fn topology(text: &str, expected: &str) {
    assert_eq!(HpccTopology::read(&Source::file("t.txt", text)).unwrap_err().to_string(), expected);
}

#[test]
fn topology_errors() {
    let link = "0 2 100Gbps 1us 0\n1 2 100Gbps 1us 0\n";
    let ok = format!("3 1 2\n2\n{link}");
    assert_eq!(
        HpccTopology::read(&Source::file("t.txt", ok)).unwrap().is_switch,
        [false, false, true]
    );
    // No switches: their line is empty, or missing.
    for gap in ["\n", ""] {
        assert_eq!(
            HpccTopology::read(&Source::file("t.txt", format!("2 0 1\n{gap}0 1 1Gbps 1us 0\n")))
                .unwrap()
                .links
                .len(),
            1
        );
    }
    topology(
        "",
        "t.txt:1:1: the topology file is empty (expected node_num switch_num link_num on the first line)",
    );
    topology(
        "3 1\n",
        "t.txt:1:4: first line: 'link_num' is missing (expected node_num switch_num link_num)",
    );
    topology(
        "3 1 2 9\n",
        "t.txt:1:7: first line: unexpected word '9' (expected node_num switch_num link_num)",
    );
    topology("x 1 2\n", "t.txt:1:1: node_num: 'x' is not a whole number (expected 0, 1, 2, ...)");
    topology("70000 1 2\n", "t.txt:1:1: node_num: 70000 is too large (expected at most 65536)");
    topology("0 0 0\n", "t.txt:1:1: node_num: the network has no nodes (expected at least 1)");
    topology("3 1 2\n", "t.txt:2:1: the line of switch ids is missing (expected 1 ids)");
    topology(
        &format!("3 1 2\n2 1\n{link}"),
        "t.txt:2:3: 2 switch ids on this line (the first line announces 1)",
    );
    topology(
        &format!("3 2 2\n2\n{link}"),
        "t.txt:2:1: 1 switch ids on this line (the first line announces 2)",
    );
    topology("3 1 0\n3\n", "t.txt:2:1: switch id: there is no node 3 (nodes are 0 to 2)");
    topology("2 2 0\n1 1\n", "t.txt:2:3: switch id: 1 is listed twice (expected each switch once)");
    topology(
        "3 1 2\n2\n0 2 100Gbps 1us 0\n",
        "t.txt:4:1: 1 links in the file (the first line announces 2)",
    );
    topology(
        &format!("{}x\n", format_args!("3 1 2\n2\n{link}")),
        "t.txt:5:1: the file continues after the last link (the first line announces 2 links)",
    );
    let one = |line: &str, expected: &str| {
        topology(&format!("3 1 2\n2\n0 2 100Gbps 1us 0\n{line}\n"), expected)
    };
    let fields = "(expected a b rate delay error_rate)";
    one("1 2 100Gbps 1us", &format!("t.txt:4:16: link 2: 'error_rate' is missing {fields}"));
    one("1 2 100Gbps 1us 0 7", &format!("t.txt:4:19: link 2: unexpected word '7' {fields}"));
    one(
        "1 2 100Gbps 1us 0 # x",
        &format!("t.txt:4:19: link 2: this format has no comments {fields}"),
    );
    one("1 9 100Gbps 1us 0", "t.txt:4:3: link 2: there is no node 9 (nodes are 0 to 2)");
    one(
        "1 1 100Gbps 1us 0",
        "t.txt:4:3: link 2: node 1 is linked to itself (expected two different nodes)",
    );
    one(
        "1 2 100gbps 1us 0",
        "t.txt:4:5: link 2: rate unknown unit 'gbps' (did you mean 'Gbps'?) (expected a rate with a unit, such as 100Gbps (bps, kbps, Mbps, Gbps, or b/s, kb/s, Mb/s, Gb/s))",
    );
    one("1 2 0Gbps 1us 0", "t.txt:4:5: link 2: a rate of 0 (expected a rate above 0)");
    one(
        "1 2 100Gbps 1000 0",
        "t.txt:4:13: link 2: delay '1000' has no unit (expected a time with a unit, such as 1000ns or 0.001ms (s, ms, us, ns))",
    );
    one(
        "1 2 100Gbps 1us 1.1",
        "t.txt:4:17: link 2: error_rate: 1.1 is out of range (expected 0 to 1)",
    );
    one(
        "1 2 100Gbps 1us x",
        "t.txt:4:17: link 2: error_rate: 'x' is not a number (expected a number, such as 0.5)",
    );
    one(
        "2 0 100Gbps 1us 0",
        "t.txt:4:1: link 2: a second link between 2 and 0 (link 1 joins the same nodes; like the original, xoff cannot use parallel links)",
    );
    topology(
        "3 1 1\n2\n0 2 1Gbps 1us 0\n",
        "t.txt:1:1: host 1 has no link (a host has exactly one link)",
    );
    topology(
        "3 0 2\n\n0 1 1Gbps 1us 0\n1 2 1Gbps 1us 0\n",
        "t.txt:4:5: host 1 has a second link (a host has exactly one link; if the node is a switch, list its id)",
    );
}

fn read_flows(text: &str) -> Result<HpccFlows, Problems> {
    HpccFlows::read(&Source::file("f.txt", text), &[false, false, true])
}

#[track_caller]
fn flow(line: &str, expected: &str) {
    assert_eq!(read_flows(&format!("1\n{line}\n")).unwrap_err().to_string(), expected);
}

/// conweave-ns3: ECMP with PFC and without IRN, and flows without a port.
#[test]
fn conweave_ns3_is_read_as_far_as_it_can_be_replayed() {
    let c = HpccConfig::read(&Source::file(
        "c.txt",
        "TOPOLOGY_FILE t FLOW_FILE f LB_MODE 0 ENABLE_PFC 1 ENABLE_IRN 0 FLOWGEN_STOP_TIME 2.1",
    ))
    .unwrap();
    assert_eq!((c.conweave_ns3, Some(c.stop_ns)), (true, ns3::seconds_to_ns(12.1)));
    let hint = "(expected 0 (ECMP); [load_balancing] in a scenario has the other laws)";
    config("LB_MODE 9\n", &format!("c.txt:3:9: LB_MODE 9 (ConWeave) is not supported {hint}"));
    config("LB_MODE 4\n", &format!("c.txt:3:9: LB_MODE 4 is not supported {hint}"));
    config(
        "ENABLE_PFC 0\n",
        "c.txt:3:12: ENABLE_PFC 0 is not supported (expected 1: xoff replays PFC only)",
    );
    config(
        "ENABLE_IRN 1\n",
        "c.txt:3:12: ENABLE_IRN 1 is not supported (expected 0; host.recovery in a scenario is IRN's)",
    );
    let read = |text: &str| {
        HpccFlows::read_conweave_ns3(&Source::file("f.txt", text), &[false, false, true])
    };
    let flows = read("3 \n0 1 3 10 2.0\n1 0 3 20 2.0\n0 1 3 30 2.1\n").unwrap().flows;
    let ports: Vec<_> = flows.iter().map(|f| (f.sport, f.dport, f.size)).collect();
    assert_eq!(ports, [(Some(10_000), 100, 10), (Some(10_000), 100, 20), (Some(10_001), 101, 30)]);
    let e = read("1\n0 1 3 100 10 2.0\n").unwrap_err().to_string();
    assert!(e.contains("src dst pg size_bytes start_seconds"), "{e}");
    let e = read("2\n0 1 3 10 2.0\n0 1 3 10 1.9\n").unwrap_err().to_string();
    assert!(e.starts_with("f.txt:3:10: flow 2: starts before the previous flow"), "{e}");
}

#[test]
fn flow_errors() {
    flow(
        "0 0 3 100 1 2",
        "f.txt:2:3: flow 1: the source is the destination (expected two different hosts)",
    );
    flow("0 2 3 100 1 2", "f.txt:2:3: flow 1: dst: node 2 is a switch (expected a host)");
    flow("7 1 3 100 1 2", "f.txt:2:1: flow 1: src: there is no node 7 (nodes are 0 to 2)");
    flow("0 1 8 100 1 2", "f.txt:2:5: flow 1: pg: 8 is too large (expected at most 7)");
    flow(
        "0 1 3 65536 1 2",
        "f.txt:2:7: flow 1: dport: 65536 is too large (expected at most 65535)",
    );
    flow(
        "0 1 3 100 -5 2",
        "f.txt:2:11: flow 1: size_bytes: '-5' is not a whole number (expected 0, 1, 2, ...)",
    );
    flow(
        "0 1 3 100 99999999999999999999 2",
        "f.txt:2:11: flow 1: size_bytes: 99999999999999999999 is too large (expected at most 1152921504606846976)",
    );
    flow(
        "0 1 3 100 1",
        "f.txt:2:12: flow 1: 'start_seconds' is missing (expected src dst pg dport size_bytes start_seconds)",
    );
    flow(
        "0 1 3 100 1 2 3",
        "f.txt:2:15: flow 1: unexpected word '3' (expected src dst pg dport size_bytes start_seconds)",
    );
    flow(
        "0 1 3 100 1 soon",
        "f.txt:2:13: flow 1: start_seconds: 'soon' is not a number (expected a number, such as 0.5)",
    );
    flow(
        "0 1 3 100 1 1e9",
        "f.txt:2:13: flow 1: start_seconds: 1e9 is too late (expected at most 18446744 seconds)",
    );
    flow(
        "0 1 3 100 1 2\n0 1 3 100 1 2",
        "f.txt:3:1: the file continues after the last flow (the first line announces 1 flows)",
    );
    let all = |text: &str| read_flows(text).unwrap_err().to_string();
    assert_eq!(all(""), "f.txt:1:1: the flow file is empty (expected the count on the first line)");
    assert_eq!(all("1 2\n"), "f.txt:1:3: first line: unexpected word '2' (expected count)");
    assert_eq!(
        all("2\n0 1 3 100 1 2\n"),
        "f.txt:3:1: 1 flows in the file (the first line announces 2)"
    );
    let unsorted = "2\n0 1 3 100 1 2.1\n0 1 3 100 1 2\n";
    assert_eq!(
        all(unsorted),
        "f.txt:3:13: flow 2: starts before the previous flow (expected flows sorted by start, as in the original)"
    );
}

#[test]
fn flows_start_where_the_original_starts_them() {
    let f =
        read_flows("3\r\n0 1 3 100 1 2.01\r\n1 0 3 100 5368709120 2.01\r\n\r\n0 1 3 100 1 2.1\r\n")
            .unwrap();
    assert_eq!(
        f.flows.iter().map(|f| f.start_ns).collect::<Vec<_>>(),
        [2_009_999_999, 2_009_999_999, 2_100_000_000]
    );
    // 5 GiB is legal here.
    assert_eq!(f.flows[1].size, 5 << 30);
    assert_eq!(
        f.warnings.to_string(),
        "f.txt:3:11: warning: flow 2: 5368709120 bytes (the original would send fewer, because it counts in 32 bits; xoff sends all)"
    );
    assert_eq!(read_flows("0\n").unwrap().flows, []);
    assert_eq!(
        read_flows("1\n0 1 3 100 0 2\n").unwrap().warnings.to_string(),
        "f.txt:2:11: warning: flow 1: a flow of 0 bytes (as in the original, the flow sends nothing and never completes)"
    );
}

#[test]
fn traces_are_checked() {
    let read = |text: &str| read_trace(&Source::file("tr.txt", text), 3);
    assert_eq!(read("2\n0\n2\n").unwrap().0, [0, 2]);
    assert_eq!(read("0").unwrap().0, [0u32; 0]);
    assert_eq!(
        read("2\n0 9\n").unwrap().1.to_string(),
        "tr.txt:2:3: warning: node id: there is no node 9 (nodes are 0 to 2; xoff skips this id)"
    );
    assert_eq!(
        read("").unwrap_err().to_string(),
        "tr.txt:1:1: the trace file is empty (expected the count on the first line)"
    );
    assert_eq!(
        read("1\n0\n1\n").unwrap_err().to_string(),
        "tr.txt:3:1: the file continues after the last node id (the first line announces 1)"
    );
    assert_eq!(
        read("2\n0\n").unwrap_err().to_string(),
        "tr.txt:3:1: 1 node ids in the file (the first line announces 2)"
    );
    assert_eq!(
        read("1\nx\n").unwrap_err().to_string(),
        "tr.txt:2:1: node id: 'x' is not a whole number (expected 0, 1, 2, ...)"
    );
}

/// Writes a case into a folder of its own and loads it.
fn load(name: &str, config: &str, topology: &str, flow: &str) -> Result<hpcc::HpccCase, String> {
    let folder = std::env::temp_dir().join(format!("xoff-hpcc-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for (file, text) in [("config.txt", config), ("topology.txt", topology), ("flow.txt", flow)] {
        std::fs::write(folder.join(file), text).unwrap();
    }
    let result = hpcc::load(&folder.join("config.txt"));
    std::fs::remove_dir_all(&folder).unwrap();
    let prefix = format!("{}{}", folder.display(), std::path::MAIN_SEPARATOR);
    result.map_err(|e| e.to_string().replace(&prefix, ""))
}

#[test]
fn the_files_must_fit_each_other() {
    let topology = "3 1 2\n2\n0 2 25Gbps 1us 0\n1 2 25Gbps 1us 0\n";
    let names = "TOPOLOGY_FILE topology.txt\nFLOW_FILE flow.txt\n";
    let e =
        load("maps", &format!("{names}KMAX_MAP 1 25000000000 5\n"), topology, "0\n").unwrap_err();
    assert_eq!(
        e,
        "topology.txt:3:5: no entry for 25000000000 bit/s in KMIN_MAP, PMAX_MAP (add an entry for each rate of a switch port)"
    );
    // Without marking the thresholds are not read.
    let off = format!("{names}ENABLE_QCN 0 L2_ACK_INTERVAL 1\n");
    assert!(load("off", &off, topology, "0\n").is_ok());
    let e = load("down", &format!("{off}LINK_DOWN 5 0 1\n"), topology, "0\n").unwrap_err();
    assert_eq!(
        e,
        "config.txt:4:1: LINK_DOWN: there is no link between 0 and 1 (expected microseconds after second 2 and the two nodes of a link)"
    );
    let e = load("none", "TOPOLOGY_FILE nowhere.txt\nFLOW_FILE flow.txt\n", topology, "0\n")
        .unwrap_err();
    assert!(
        e.starts_with(
            "config.txt:1:15: there is no file 'nowhere.txt' (looked for 'nowhere.txt', "
        ),
        "{e}"
    );
    let w = load("trace", &format!("{off}TRACE_FILE nowhere.txt\n"), topology, "0\n")
        .unwrap()
        .warnings
        .to_string();
    assert!(w.starts_with("warning: there is no file 'nowhere.txt'"), "{w}");
}

/// A row of switches with a host at each end, and `more` links. Records have room for five
/// switches.
#[test]
fn paths_too_long_for_their_records() {
    let row = |switches: u32, mode: u32, more: &str, down: &str| {
        let links: String =
            (0..=switches).map(|i| format!("{i} {} 40Gbps 1us 0\n", i + 1)).collect();
        let ids: Vec<String> = (1..=switches).map(|i| i.to_string()).collect();
        let count = switches + 1 + more.lines().count() as u32;
        let topology =
            format!("{} {switches} {count}\n{}\n{links}{more}", switches + 2, ids.join(" "));
        let config = format!(
            "TOPOLOGY_FILE topology.txt\nFLOW_FILE flow.txt\nENABLE_QCN 0 L2_ACK_INTERVAL 1\nCC_MODE {mode}\n{down}"
        );
        load("paths", &config, &topology, &format!("1\n0 {} 3 100 1000 2\n", switches + 1))
    };
    let warnings = row(5, 3, "", "").unwrap().warnings.to_string();
    let rate = "topology.txt:3:5: warning: records of the path have no code for 40000000000 bit/s \
                (as in the original, CC_MODE 3 treats such a link as 25 Gb/s)";
    assert!(warnings.ends_with(rate), "{warnings}");
    let long = |to: u32| {
        format!(
            "config.txt:4:9: flow 1: its path from 0 to {to} passes 6 switches \
             (expected at most 5 with CC_MODE 3: a frame of the original has no room for more records)"
        )
    };
    assert_eq!(row(6, 3, "", "").unwrap_err(), long(7));
    assert!(row(6, 1, "", "").is_ok() && row(6, 7, "", "").is_ok());
    // Cut apart is not longer; the short cut between 1 and 3 is.
    assert!(row(5, 3, "", "LINK_DOWN 5 2 3\n").is_ok());
    assert!(row(6, 3, "1 3 40Gbps 1us 0\n", "").is_ok());
    assert_eq!(row(6, 3, "1 3 40Gbps 1us 0\n", "LINK_DOWN 5 3 1\n").unwrap_err(), long(7));
}
