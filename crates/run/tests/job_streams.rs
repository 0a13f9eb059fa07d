//! Streamed jobs, whose operations and messages are in a file: the same results as in memory, to
//! the last row, and the same refusals.

use std::io::Write;
use std::path::{Path, PathBuf};

use arrow_array::{Array, ArrayRef, RecordBatch};
use xoff_record::Sink;
use xoff_run::{Finished, NetworkScenario};
use xoff_sim::Engine;

/// A folder of its own.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Folder {
        let folder =
            std::env::temp_dir().join(format!("xoff-streams-{test}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.0.join(name), bytes).unwrap();
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn run(text: &str, folder: &Path, engine: Engine, threads: usize) -> Finished {
    let mut s =
        NetworkScenario::from_text("job.toml", text, &[], folder).unwrap_or_else(|e| panic!("{e}"));
    s.engine = engine;
    s.start(Sink::Memory, Some(threads)).unwrap().run(|_| true).unwrap()
}

/// All that a run says of its flows and jobs.
fn answers(f: &Finished) -> String {
    let m = &f.manifest;
    // Only a run in memory can be asked further.
    let active: Vec<String> =
        m.active.iter().map(|x| x.replace(". Why: xoff explain DIR --straggler", "")).collect();
    let flows = (m.flows_completed, m.flows_total);
    format!("{:?} {flows:?} {:?} {:?} {active:?}", f.tables.rows, m.slowdown, m.jobs)
}

/// Columns that need all messages at once, which a streamed job does not keep.
const NEED_ALL_MESSAGES: [(&str, &str); 5] = [
    ("flows", "paths"),
    ("flows", "collided"),
    ("uplinks", "flows"),
    ("uplinks", "collided"),
    ("ranks", "collided"),
];

/// The columns of all tables, without these. The hash of the scenario in a batch differs.
fn tables(f: &Finished) -> Vec<(&str, Vec<Vec<ArrayRef>>)> {
    let plain = |name: &str, batch: &RecordBatch| {
        let mut batch = batch.clone();
        for (_, column) in NEED_ALL_MESSAGES.iter().filter(|c| c.0 == name) {
            let at = batch.schema().index_of(column).expect("a column of the table");
            batch.remove_column(at);
        }
        batch.columns().to_vec()
    };
    let all = f.tables.memory.iter();
    all.map(|t| (t.name, t.batches.iter().map(|b| plain(t.name, b)).collect())).collect()
}

/// Values of a column that are not null.
fn values(f: &Finished, table: &str, column: &str) -> usize {
    let batches = f.tables.memory.iter().filter(|t| t.name == table).flat_map(|t| &t.batches);
    let known = |b: &RecordBatch| {
        let column = b.column_by_name(column).expect("a column of the table");
        b.num_rows() - column.null_count()
    };
    batches.map(known).sum()
}

/// A fabric with an incast and jobs.
fn fabric(flow_control: &str, more: &str, jobs: &str) -> String {
    format!(
        "[run]\nduration = \"20ms\"\nfast_forward = \"off\"\n[topology]\nkind = \"leaf-spine\"\nleaves = 3\nspines = 2\nhosts_per_leaf = 4\nrate = \"100Gbps\"\n\
         [host]\nframe_max = \"1048B\"\nheader = \"48B\"\n{more}[flow_control]\nkind = \"{flow_control}\"\n\
         [[workload]]\nkind = \"incast\"\nreceiver = \"H0\"\nsize = \"300KB\"\nstart = \"20us\"\n{jobs}"
    )
}

const CASES: [(&str, &str); 6] = [
    ("pfc", ""),
    ("cbfc", "acks = \"per-frame\"\n"),
    (
        "pfc",
        "[detection]\nkind = \"red\"\nkmin = \"5KB\"\nkmax = \"50KB\"\n[rate_control]\nkind = \"dcqcn\"\n",
    ),
    (
        "pfc",
        "acks = \"per-frame\"\n[detection]\nkind = \"red\"\nkmin = \"5KB\"\nkmax = \"50KB\"\n[rate_control]\nkind = \"dcqcn\"\n",
    ),
    ("pfc", "acks = \"per-frame\"\n[rate_control]\nkind = \"hpcc\"\n"),
    ("bfc", "[switch]\nbuffer = \"4MB\"\n"),
];

/// Same tables and answers as in memory, with either engine, on any number of threads.
fn compare(name: &str, folder: &Path, jobs: &dyn Fn(&str) -> String, cases: &[(&str, &str)]) {
    let mut split = 0;
    for &(flow_control, more) in cases {
        let case = format!("{name}, {flow_control} {more:?}");
        let kept = run(&fabric(flow_control, more, &jobs("")), folder, Engine::Events, 1);
        assert!(kept.jobs.iter().all(|j| j.iterations.len() == j.planned as usize), "{case}");
        let wanted = answers(&kept);
        let text = fabric(flow_control, more, &jobs("stream = true\n"));
        for (engine, threads) in [
            (Engine::Events, 1),
            (Engine::Windows, 1),
            (Engine::Windows, 2),
            (Engine::Windows, 3),
            (Engine::Windows, 8),
        ] {
            let streamed = run(&text, folder, engine, threads);
            assert_eq!(answers(&streamed), wanted, "{case}, {engine:?} on {threads}");
            assert!(tables(&streamed) == tables(&kept), "{case}, {engine:?} on {threads}");
            for (table, column) in NEED_ALL_MESSAGES {
                // The flows of the incast are in memory, and have values.
                let known = if table == "flows" { 11 } else { 0 };
                assert!(values(&streamed, table, column) <= known, "{case}: {table}.{column}");
                assert!(values(&kept, table, column) > known, "{case}: {table}.{column}");
            }
            // Only the flows of the incast are in memory.
            assert_eq!(streamed.outcome.flows.len(), 11);
            split = split.max(streamed.manifest.threads);
        }
    }
    assert!(split > 1);
}

#[test]
fn streamed_collectives_are_those_in_memory() {
    let jobs = |stream: &str| {
        format!(
            "[[job]]\nname = \"a\"\niterations = 2\nqueue_pairs = 2\ncompute = \"7us\"\nslow_hosts = [\"H5\"]\nslow_by = 1.5\nplacement = \"random\"\n\
             send_overhead = \"300ns\"\nreceive_overhead = \"200ns\"\n{stream}\
             [[job]]\nname = \"b\"\nranks = 8\nplacement = \"strided\"\nstride = 4\niterations = 2\nstart = \"9us\"\n\
             [[collective]]\njob = \"a\"\nsize = \"600KB\"\nchannels = 3\nchunk = \"100KB\"\ncompute = \"20us\"\noverlap = true\n\
             [[collective]]\njob = \"a\"\nkind = \"all-to-all\"\nsize = \"240KB\"\npeers = 3\ncompute = \"10us\"\n\
             [[collective]]\njob = \"b\"\nalgorithm = \"double-binary-tree\"\nsize = \"200KB\"\nchunk = \"50KB\"\n\
             [[collective]]\njob = \"b\"\nkind = \"barrier\"\n"
        )
    };
    compare("collectives", Path::new("."), &jobs, &CASES);
}

/// GOAL text of so many rounds: computing, a message to another rank of its choice, the receive
/// there, dependencies on operations far before.
fn goal(ranks: usize, rounds: usize) -> String {
    let mut state = 11u64;
    let mut draw = |n: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % n
    };
    let (mut texts, mut ops) = (vec![String::new(); ranks], vec![0; ranks]);
    for round in 0..rounds {
        for r in 0..ranks {
            let (to, bytes) = ((r + 1 + draw(ranks - 1)) % ranks, 1 + draw(4000));
            let (calc, send) = (ops[r], ops[r] + 1);
            texts[r] += &format!(
                "l{calc}: calc {} cpu {}\nl{send}: send {bytes}b to {to} tag {round} nic {}\n",
                draw(900),
                draw(2),
                draw(2)
            );
            texts[r] += &format!("l{send} requires l{calc}\n");
            for _ in 0..draw(3) {
                if calc > 0 {
                    texts[r] += &format!(
                        "l{calc} {} l{}\n",
                        ["requires", "irequires"][draw(2)],
                        draw(calc)
                    );
                }
            }
            ops[r] += 2;
            let receive = ops[to];
            ops[to] += 1;
            // Of an own stream, so that a computing before it does not wait for messages of later
            // rounds.
            texts[to] += &format!("l{receive}: recv {bytes}b from {r} tag {round} cpu 7\n");
        }
    }
    let blocks = texts.iter().enumerate().map(|(r, t)| format!("rank {r} {{\n{t}}}\n"));
    format!("num_ranks {ranks}\n{}", blocks.collect::<String>())
}

#[test]
fn a_streamed_trace_is_the_one_in_memory() {
    let folder = Folder::new("same");
    let text = goal(12, 500);
    folder.write("x.goal", text.as_bytes());
    let mut zipped = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    zipped.write_all(text.as_bytes()).unwrap();
    folder.write("x.goal.gz", &zipped.finish().unwrap());
    let jobs = |stream: &str| {
        format!(
            "[[job]]\nqueue_pairs = 2\niterations = 2\ngoal = \"x.goal{}\"\n{stream}",
            if stream.is_empty() { "" } else { ".gz" }
        )
    };
    compare("trace", &folder.0, &jobs, &CASES[1..4]);
}

/// A run in memory lists the messages of all iterations before it begins, and says beforehand what
/// that takes; a streamed one does not.
#[test]
fn iterations_that_take_much_memory_are_warned_of() {
    let load = |more: &str| {
        let text = format!(
            "[run]\nduration = \"1s\"\n[topology]\nkind = \"star\"\nhosts = 4\n[[job]]\n{more}[[collective]]\nsize = \"4KB\"\n"
        );
        let s = NetworkScenario::from_text("job.toml", &text, &[], Path::new("."))
            .unwrap_or_else(|e| panic!("{e}"));
        s.warnings.to_string()
    };
    let warned = load("iterations = 100000\n");
    assert!(
        warned.contains("job.toml:7:")
            && warned.contains("of memory")
            && warned.contains("stream = true"),
        "{warned}"
    );
    assert_eq!(load("iterations = 1000\n"), "");
    assert_eq!(load("iterations = 100000\nstream = true\n"), "");
}

/// A broken trace is rejected with the same message and the same place.
#[test]
fn a_streamed_trace_is_refused_as_one_in_memory() {
    let folder = Folder::new("broken");
    let good = goal(4, 30);
    let refusal = |text: &str, more: &str| {
        folder.write("x.goal", text.as_bytes());
        let scenario = format!(
            "[run]\nduration = \"1ms\"\n[topology]\nkind = \"star\"\nhosts = 4\n[[job]]\ngoal = \"x.goal\"\n{more}"
        );
        NetworkScenario::from_text("job.toml", &scenario, &[], &folder.0).map(|_| ()).map_err(|e| {
            // In the order of the places, which count within a file.
            let mut lines: Vec<String> = e.to_string().lines().map(str::to_owned).collect();
            lines.sort_unstable();
            lines
        })
    };
    assert_eq!(refusal(&good, "stream = true\n"), Ok(()));
    let cycle = good.replacen("l1 requires l0\n", "l1 requires l0\nl0 requires l1\n", 1);
    let lines: Vec<&str> = good.split_inclusive('\n').collect();
    let cut = |n: usize| lines[..n].concat();
    let half = &good[..good.len() / 2 + 3];
    let broken = [
        cycle,
        good.replacen("recv", "send", 1),
        good.replacen("from 1 tag 3", "from 1 tag 99", 1),
        good.replacen("recv 1", "recv 2", 1),
        good.replacen("l7:", "l6:", 1),
        good.replacen("l9 requires", "l900 requires", 1),
        good.replacen("rank 2 {", "rank 0 {", 1),
        good.replacen("calc", "calcul", 1),
        format!("{good}x"),
        cut(1),
        cut(40),
        cut(lines.len() - 1),
        half[..=half.rfind('\n').unwrap()].to_owned(),
        half[..half.rfind(' ').unwrap()].to_owned(),
        String::new(),
    ];
    for (nth, text) in broken.iter().enumerate() {
        let kept = refusal(text, "").expect_err(&format!("{nth}"));
        assert_eq!(refusal(text, "stream = true\n"), Err(kept), "{nth}");
    }
}

/// A trace that would have to be kept in memory is rejected, with the reason.
#[test]
fn what_cannot_be_streamed_is_refused() {
    let folder = Folder::new("refused");
    folder.write("x.goal", goal(4, 5).as_bytes());
    let built = |more: &str| {
        let text = format!(
            "[run]\nduration = \"1ms\"\n[topology]\nkind = \"star\"\nhosts = 4\n{more}[[job]]\ngoal = \"x.goal\"\nstream = true\n"
        );
        let s = NetworkScenario::from_text("job.toml", &text, &[], &folder.0)
            .unwrap_or_else(|e| panic!("{e}"));
        let started = s.start(Sink::Nothing, None).map(|_| ());
        (s, started.map_err(|e| e.to_string()))
    };
    for (more, why) in [
        ("[host]\nacks = \"per-frame\"\nrecovery = \"go-back-n\"\n", "recover from losses"),
        ("[[failure]]\nlink = \"H0-S1\"\nat = \"5us\"\n", "link fails"),
        ("[probes]\ninterval = \"5us\"\nflow_rates = true\n", "value for every message"),
    ] {
        let (_, started) = built(more);
        assert!(
            started.as_ref().is_err_and(|e| e.contains(why) && e.contains("job.stream")),
            "{more}: {started:?}"
        );
    }
    let (s, started) = built("");
    assert_eq!(started, Ok(()));
    let e = xoff_run::explain(&s, "H0:S1", xoff_units::Time(1_000_000), None, |_| true)
        .map(|_| ())
        .unwrap_err();
    assert!(e.what.contains("does not keep"), "{e:?}");
}
