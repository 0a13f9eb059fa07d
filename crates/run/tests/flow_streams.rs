//! `run.stream`: flows that are over leave memory. The same results as in memory, and a bound on
//! the memory.

use std::path::Path;

use arrow_array::{ArrayRef, RecordBatch};
use xoff_record::Sink;
use xoff_run::{Finished, NetworkScenario};
use xoff_sim::Engine;

fn load(text: &str) -> NetworkScenario {
    NetworkScenario::from_text("flows.toml", text, &[], Path::new("."))
        .unwrap_or_else(|e| panic!("{e}\n{text}"))
}

fn run(text: &str, engine: Engine, threads: usize) -> Finished {
    let mut s = load(text);
    s.engine = engine;
    s.start(Sink::Memory, Some(threads)).unwrap().run(|_| true).unwrap()
}

/// Columns that need all flows at once.
const NEED_ALL_FLOWS: [(&str, &str); 5] = [
    ("flows", "paths"),
    ("flows", "collided"),
    ("uplinks", "flows"),
    ("uplinks", "collided"),
    ("ranks", "collided"),
];

/// The columns of all tables, without these.
fn tables(f: &Finished) -> Vec<(&str, Vec<Vec<ArrayRef>>)> {
    let plain = |name: &str, batch: &RecordBatch| {
        let mut batch = batch.clone();
        for (_, column) in NEED_ALL_FLOWS.iter().filter(|c| c.0 == name) {
            let at = batch.schema().index_of(column).expect("a column of the table");
            batch.remove_column(at);
        }
        batch.columns().to_vec()
    };
    let all = f.tables.memory.iter();
    all.map(|t| (t.name, t.batches.iter().map(|b| plain(t.name, b)).collect())).collect()
}

/// All that a run says of its flows.
fn answers(f: &Finished) -> String {
    let m = &f.manifest;
    let flows = (m.flows_completed, m.flows_total);
    format!("{:?} {flows:?} {:?} {}", f.tables.rows, m.slowdown, f.summary.ended)
}

fn scenario(run: &str, rest: &str) -> String {
    format!(
        "[run]\nduration = \"300us\"\nfast_forward = \"off\"\n{run}[topology]\nkind = \"leaf-spine\"\nleaves = 3\nspines = 2\n\
         hosts_per_leaf = 4\nrate = \"100Gbps\"\n[host]\nframe_max = \"1048B\"\nheader = \"48B\"\n{rest}"
    )
}

/// Short flows, long ones that the run ends, and one that it ends before its start.
const FLOWS: &str = "[[workload]]\nkind = \"poisson\"\nsize = \"1500B\"\nload = 0.3\nduration = \"250us\"\n\
    [[workload]]\nkind = \"incast\"\nreceiver = \"H0\"\nsize = \"2MB\"\n\
    [[flow]]\nsrc = \"H1\"\ndst = \"H5\"\nstart = \"400us\"\nsize = \"1KB\"\n";
const LOOP: &str = "[[workload]]\nkind = \"closed-loop\"\nsize = \"3KB\"\nconcurrency = 2\n";
const JOB: &str =
    "[[job]]\nranks = 12\niterations = 2\n[[collective]]\nkind = \"all-to-all\"\nsize = \"24KB\"\n";
const DCQCN: &str = "acks = \"per-frame\"\n[flow_control]\nkind = \"pfc\"\n[detection]\nkind = \"red\"\nkmin = \"5KB\"\nkmax = \"50KB\"\n\
    [rate_control]\nkind = \"dcqcn\"\n";

#[test]
fn results_are_those_of_flows_in_memory() {
    let cases = [
        ("[flow_control]\nkind = \"pfc\"\n", FLOWS.to_owned()),
        ("acks = \"per-frame\"\n[flow_control]\nkind = \"cbfc\"\n", FLOWS.to_owned()),
        (DCQCN, FLOWS.to_owned()),
        (
            "acks = \"per-frame\"\n[flow_control]\nkind = \"pfc\"\n[rate_control]\nkind = \"hpcc\"\n",
            FLOWS.to_owned(),
        ),
        ("[flow_control]\nkind = \"bfc\"\n[switch]\nbuffer = \"4MB\"\n", FLOWS.to_owned()),
        (DCQCN, format!("{FLOWS}{LOOP}")),
        (DCQCN, format!("{FLOWS}{JOB}")),
    ];
    let mut split = 0;
    for (config, flows) in cases {
        let rest = format!("{config}{flows}");
        let kept = run(&scenario("", &rest), Engine::Events, 1);
        for (engine, threads) in [(Engine::Events, 1), (Engine::Windows, 1), (Engine::Windows, 2)] {
            let streamed = run(&scenario("stream = true\n", &rest), engine, threads);
            assert_eq!(answers(&streamed), answers(&kept), "{rest}, {engine:?} on {threads}");
            assert!(tables(&streamed) == tables(&kept), "{rest}, {engine:?} on {threads}");
            assert!(streamed.outcome.flows.is_empty() && kept.outcome.flows.len() > 100);
            split = split.max(streamed.manifest.threads);
        }
    }
    assert!(split > 1);
}

/// A frame of a flow that is over would find nothing.
#[test]
fn flows_whose_frames_may_come_later_stay_in_memory() {
    let refused = |rest: &str| {
        let s = load(&scenario("stream = true\n", rest));
        s.start(Sink::Nothing, None).err().expect("it is refused").to_string()
    };
    let pfc = "[flow_control]\nkind = \"pfc\"\n";
    for rest in [
        format!("{pfc}[[failure]]\nlink = \"L1-S1\"\nat = \"10us\"\n"),
        format!("{pfc}[probes]\ninterval = \"10us\"\nflow_rates = true\n"),
    ] {
        let e = refused(&format!("{rest}{FLOWS}"));
        assert!(e.contains("run.stream") && e.contains("leave memory"), "{e}");
    }
}

/// Peak of this process's memory [bytes].
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches("kB").trim().parse::<u64>().unwrap() << 10
}

/// 120,000 flows of one frame, one after the other. In memory they take 90 MB more.
#[test]
fn flows_that_are_over_leave_memory() {
    let flows = |n: u32| {
        let run = "[run]\nduration = \"1s\"\nfast_forward = \"off\"\nstream = true\n";
        let text = format!(
            "{run}[topology]\nkind = \"star\"\nhosts = 8\nrate = \"100Gbps\"\ndelay = \"1us\"\n[host]\nacks = \"per-frame\"\n\
             [flow_control]\nkind = \"pfc\"\n[[workload]]\nkind = \"poisson\"\nsize = \"1000B\"\nload = 0.3\nflows = {n}\n"
        );
        let f = load(&text).start(Sink::Nothing, Some(1)).unwrap().run(|_| true).unwrap();
        assert_eq!((f.manifest.flows_completed, f.tables.rows[0].1), (n.into(), n.into()));
    };
    flows(80_000); // fills the pages of records and the buffers of tables
    let before = peak();
    flows(200_000);
    let grown = peak() - before;
    assert!(grown < 30 << 20, "{} MB for 120,000 more flows", grown >> 20);
}
