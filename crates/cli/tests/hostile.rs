//! Limits for numbers and sizes of an input: every row is rejected with exit code 2, or served,
//! within a bound of memory and time. A number that sizes something is rejected with the memory
//! that it would need.

mod support;

use std::io::Write;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Resource, Rlimit, prlimit};
use support::{command, folder};

/// Memory of the child [bytes]: more than any row needs, and less than what one of them took
/// before.
const MEMORY: u64 = 3 << 30;
/// Time of a row. Most take milliseconds; the machine may be busy.
const TIME: Duration = Duration::from_secs(60);

/// End of a child: its exit code (`None`: by a signal, or by this test when its time was up), and
/// its output.
struct Ended {
    code: Option<i32>,
    err: String,
}

/// Waits at a gate of a shell until the limit is set, then becomes the command.
fn limited(args: &[&str], dir: &Path, input: Option<&[u8]>) -> Ended {
    let mut gate = std::process::Command::new("sh");
    gate.args(["-c", "read gate; exec \"$0\" \"$@\""])
        .arg(command([""; 0]).get_program())
        .args(args);
    gate.current_dir(dir).env("NO_COLOR", "1").env("LC_ALL", "C.UTF-8").env_remove("COLUMNS");
    let mut child =
        gate.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let limit = Rlimit { current: Some(MEMORY), maximum: Some(MEMORY) };
    prlimit(Some(Pid::from_child(&child)), Resource::As, limit).unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"\n").unwrap();
    // The child may refuse without reading all of it.
    let _ = input.map(|bytes| stdin.write_all(bytes));
    drop(stdin);
    finish(child)
}

fn finish(mut child: Child) -> Ended {
    let mut stderr = child.stderr.take().unwrap();
    let reader = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = std::io::Read::read_to_end(&mut stderr, &mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    });
    let started = Instant::now();
    let code = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status.code();
        }
        if started.elapsed() > TIME {
            child.kill().unwrap();
            child.wait().unwrap();
            break None;
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    Ended { code, err: reader.join().unwrap() }
}

const FLOW: &str = "[[flow]]\nsrc = \"H1\"\ndst = \"H2\"\nsize = \"1KB\"\n";
const RING: &str = "[topology]\nkind = \"ring\"\n";

fn topology(kind: &str, keys: &str) -> String {
    format!("[topology]\nkind = \"{kind}\"\n{keys}\n[[workload]]\nkind = \"permutation\"\n")
}

fn workload(kind: &str, keys: &str) -> String {
    format!("[topology]\nkind = \"star\"\nhosts = 8\n[[workload]]\nkind = \"{kind}\"\n{keys}\n")
}

fn fabric(keys: &str, more: &str) -> String {
    format!(
        "[run]\nduration = \"10us\"\n[scheduled_fabric]\n{keys}\n[traffic]\nkind = \"uniform\"\nload = 0.5\n{more}\n"
    )
}

/// Checks rows of (name, scenario, words of the refusal).
fn refused(test: &str, rows: &[(&str, String, &[&str])]) {
    for (name, text, prints) in rows {
        let dir = folder(&format!("hostile/{test}"));
        std::fs::write(dir.join("s.toml"), text).unwrap();
        let ended = limited(&["run", "s.toml", "--out", "out"], &dir, None);
        assert_eq!(ended.code, Some(2), "{name}:\n{}", ended.err);
        let flat = ended.err.split_whitespace().filter(|w| *w != "│").collect::<Vec<_>>().join(" ");
        assert!(
            flat.contains("s.toml:") && flat.contains("help:"),
            "{name}: no place or no hint:\n{}",
            ended.err
        );
        prints.iter().for_each(|text| {
            assert!(flat.contains(text), "{name}: '{text}' is not in:\n{}", ended.err)
        });
    }
}

#[test]
fn numbers_that_size_a_network() {
    refused(
        "network",
        &[
            ("star", topology("star", "hosts = 1000000000000"), &["hosts", "expected 1 to 65534"]),
            ("ring", topology("ring", "switches = 1000000000000"), &["switches", "out of range"]),
            ("ring, hosts", topology("ring", "hosts_per_switch = 1000000000000"), &["hosts_per_switch"]),
            ("ring, product", topology("ring", "switches = 60000\nhosts_per_switch = 60000"), &["gives 3600000000 hosts"]),
            ("chain", topology("chain", "switches = 18446744073709551615"), &["switches", "out of range"]),
            ("chain, routes", topology("chain", "switches = 65000\nhosts_per_switch = 16"), &["the run needs at least", "available"]),
            ("dumbbell", topology("dumbbell", "senders = 1000000000000"), &["senders"]),
            ("fat-tree", topology("fat-tree", "k = 1000000000000"), &["k: ", "expected 2 to 128"]),
            ("fat-tree, routes", topology("fat-tree", "k = 128"), &["the run needs at least", "available"]),
            ("leaf-spine", topology("leaf-spine", "leaves = 1000000000000"), &["leaves"]),
            (
                "leaf-spine, links",
                topology("leaf-spine", "leaves = 30000\nspines = 30000\nhosts_per_leaf = 30"),
                &["links need about", "available"],
            ),
            ("tcd-fig2", topology("tcd-fig2", "burst_hosts = 1000000000000"), &["burst_hosts"]),
            (
                "level",
                "[topology]\nkind = \"custom\"\n[[topology.node]]\nname = \"a\"\nkind = \"switch\"\nlevel = 1000000000000\n".into(),
                &["0 to 255"],
            ),
        ],
    );
}

#[test]
fn numbers_that_size_a_workload() {
    let long = "load = 0.5\nsize = \"1KB\"\n";
    refused(
        "workload",
        &[
            (
                "poisson, flows",
                workload("poisson", &format!("{long}flows = 1000000000000")),
                &["million flows", "100 million"],
            ),
            (
                "poisson, memory",
                workload("poisson", &format!("{long}flows = 90000000")),
                &["90000000 flows need about", "available"],
            ),
            (
                "poisson, duration",
                workload("poisson", &format!("{long}duration = \"1000000s\"")),
                &["million flows", "shorter duration"],
            ),
            (
                "bursts",
                workload(
                    "bursts",
                    "sources = [\"H0\"]\ndestinations = [\"H1\"]\ngap = \"1us\"\nrounds = 1000000000000\nsize = \"1KB\"",
                ),
                &["million flows"],
            ),
            ("mpi-io", workload("mpi-io", "load = 0.5\nmessages = 1000000000000"), &["messages"]),
            (
                "closed-loop",
                workload("closed-loop", "concurrency = 1000000000000\nsize = \"1KB\""),
                &["1 to 1000000"],
            ),
            (
                "incast",
                workload("incast", "receiver = \"H0\"\nfan_in = 1000000000000"),
                &["other hosts"],
            ),
            ("priority", workload("permutation", "priority = 1000000000000"), &["priority", "7"]),
            (
                "burst of a fabric",
                fabric("kind = \"clos\"", "burst = 1e300"),
                &["burst", "expected 0 to 1000000"],
            ),
        ],
    );
}

/// A file of a job says how many ranks it has before it says anything of them. A streamed one has
/// lists in pages for each.
#[test]
fn numbers_that_size_a_job() {
    let msccl = "<algo name=\"a\" ngpus=\"1048576\" nchunksperloop=\"1\" coll=\"allreduce\" proto=\"Simple\"></algo>";
    let simai = "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 1 ep: 1 pp: 1 vpp: 1 ga: 1 all_gpus: 1048576 checkpoints: 0 \
                 checkpoint_initiates: 0\n1\na\t-1\t1\tNONE\t0\t1\tNONE\t0\t1\tNONE\t0\t1\n";
    let rows = [
        ("goal", "stream = true\ngoal", "num_ranks 16000000\nrank 0 {\n}\n"),
        ("goal in memory", "goal", "num_ranks 16777216\nrank 0 {\n}\n"),
        ("msccl", "stream = true\nmessage_size = \"1KB\"\nmsccl", msccl),
        (
            "htsim",
            "stream = true\nhtsim",
            "Nodes 16000000\nConnections 1\n0->1 start 0 size 1000\n",
        ),
        ("simai", "stream = true\nsimai", simai),
    ];
    for (name, key, file) in rows {
        let dir = folder("hostile/job");
        std::fs::write(dir.join("x"), file).unwrap();
        std::fs::write(
            dir.join("s.toml"),
            format!("[topology]\nkind = \"star\"\nhosts = 4\n[[job]]\n{key} = \"x\"\n"),
        )
        .unwrap();
        let ended = limited(&["run", "s.toml", "--out", "out"], &dir, None);
        assert_eq!(ended.code, Some(2), "{name}:\n{}", ended.err);
        let wanted = if name == "goal in memory" { "ranks" } else { "ranks need about" };
        assert!(
            ended.err.contains(wanted) && ended.err.contains("help:"),
            "{name}:\n{}",
            ended.err
        );
    }
}

#[test]
fn numbers_that_size_a_mechanism_or_a_fabric() {
    let with = |section: &str| format!("{RING}{FLOW}{section}\n");
    refused(
        "mechanism",
        &[
            ("slots", with("[flow_control]\nkind = \"pffc\"\nslots = 1000000000000"), &["slots"]),
            (
                "queues",
                with("[flow_control]\nkind = \"pffc\"\nqueues = 1000000000000"),
                &["queues"],
            ),
            ("quanta", with("[flow_control]\nkind = \"pfc\"\nquanta = 1000000000000"), &["quanta"]),
            (
                "shift",
                with("[switch]\nmemory = \"shared\"\nalpha_shift = 1000000000000"),
                &["alpha_shift"],
            ),
            (
                "vl limit",
                with(
                    "[switch]\nscheduler = \"vl-arbitration\"\nvl_low = [\"0:1\"]\nvl_high_limit = 1000000000000",
                ),
                &["vl_high_limit"],
            ),
            ("frame_max", with("[host]\nframe_max = \"1TB\""), &["frame_max"]),
            ("ack", with("[host]\nacks = \"per-frame\"\nack_len = \"1TB\""), &["ack_len"]),
            ("radix", fabric("kind = \"clos\"\nradix = 1000000000000", ""), &["radix"]),
            ("stages", fabric("kind = \"clos\"\nstages = 1000000000001", ""), &["stages"]),
            ("above", fabric("kind = \"clos\"\nabove = 1000000000000", ""), &["above"]),
            ("ports", fabric("kind = \"ideal\"\nports = 1000000000000", ""), &["ports"]),
            ("edges", fabric("kind = \"rack\"\nedges = 1000000000000", ""), &["edges"]),
            (
                "slots of an output",
                fabric("kind = \"clos\"", "[admission]\noutput_slots = 1000000000000"),
                &["output_slots"],
            ),
            (
                "element",
                fabric("kind = \"clos\"", "[element]\ninput = \"1TB\""),
                &["input", "1 GiB"],
            ),
        ],
    );
}

/// Times without an end are either quiet, or go on in bounded memory until Ctrl-C.
#[test]
fn long_times_are_served_in_bounded_memory() {
    let dir = folder("hostile/times");
    for (name, run) in [
        ("duration", "duration = \"1000000s\"\nstop_when_done = false"),
        (
            "deadlock_interval",
            "duration = \"10s\"\ndeadlock_interval = \"1ps\"\nstop_when_done = false",
        ),
    ] {
        std::fs::write(dir.join("s.toml"), format!("[run]\n{run}\n{RING}{FLOW}")).unwrap();
        let ended = limited(&["run", "s.toml", "--out", name], &dir, None);
        assert_eq!(ended.code, Some(0), "{name}:\n{}", ended.err);
    }
}

/// (name, arguments, file, words of the answer).
type Reader<'a> = (&'a str, &'a [&'a str], Vec<u8>, &'a [&'a str]);

#[test]
fn files_that_never_end_or_lead_in_a_circle() {
    let deep = |open: &str, n: usize| open.repeat(n).into_bytes();
    let own = "[topology]\nkind = \"file\"\npath = \"f\"\n";
    let long_path = format!("{}=1", ["a"; 30_000].join("."));
    let rows: &[Reader] = &[
        ("device, run", &["run", "/dev/zero", "--out", "o"], vec![], &["/dev/zero", "device"]),
        ("device, check", &["check", "/dev/zero"], vec![], &["/dev/zero", "device"]),
        (
            "device, flows",
            &["check", "ring", "--flows", "/dev/zero"],
            vec![],
            &["/dev/zero", "device"],
        ),
        ("device, hpcc", &["hpcc", "/dev/zero", "--out", "o"], vec![], &["/dev/zero", "device"]),
        ("device, replay", &["replay", "/dev/zero"], vec![], &["/dev/zero", "device"]),
        (
            "device, explain",
            &["explain", "/dev/zero", "H1:S1", "1ms"],
            vec![],
            &["/dev/zero", "device"],
        ),
        ("device, tree", &["tree", "/dev/zero", "1ms"], vec![], &["/dev/zero", "device"]),
        (
            "device, testbed",
            &["testbed", "/dev/zero", "--out", "o"],
            vec![],
            &["/dev/zero", "device"],
        ),
        (
            "device, switch",
            &["switch", "/dev/zero", "--node", "S1", "--port", "H1=lo"],
            vec![],
            &["/dev/zero", "device"],
        ),
        (
            "device, cdf",
            &["run", "f", "--out", "o"],
            format!(
                "{}cdf = \"/dev/zero\"\n",
                workload("poisson", "load = 0.5\nduration = \"1ms\"")
            )
            .into(),
            &["device"],
        ),
        (
            "device, topology",
            &["run", "f", "--out", "o"],
            b"[topology]\nkind = \"file\"\npath = \"/dev/zero\"\n".to_vec(),
            &["f:3:8", "device"],
        ),
        (
            "device, hpcc topology",
            &["hpcc", "f", "--out", "o"],
            b"TOPOLOGY_FILE /dev/zero\nFLOW_FILE f\n".to_vec(),
            &["f:1:15"],
        ),
        ("folder", &["run", ".", "--out", "o"], vec![], &["folder"]),
        ("itself, check", &["check", "./f"], own.into(), &["f:3:8", "refers to itself", "help:"]),
        (
            "itself, run",
            &["run", "f", "--out", "o"],
            own.into(),
            &["f:3:8", "refers to itself", "help:"],
        ),
        ("nested lists", &["run", "f", "--out", "o"], deep("x=[", 100_000), &["f:1:"]),
        (
            "nested tables",
            &["run", "f", "--out", "o"],
            [b"x=".to_vec(), deep("{a=", 100_000)].concat(),
            &["f:1:"],
        ),
        (
            "dotted key",
            &["run", "f", "--out", "o"],
            [deep("a.", 50_000), b"a=1".to_vec()].concat(),
            &["f:1:"],
        ),
        (
            "dotted header",
            &["run", "f", "--out", "o"],
            [b"[".to_vec(), deep("a.", 50_000), b"a]\nb=1".to_vec()].concat(),
            &["f:"],
        ),
        (
            "long setting",
            &["run", "f", "--out", "o", "--set", &long_path],
            format!("{RING}{FLOW}").into(),
            &["30000 parts", "at most"],
        ),
        (
            "entry of a setting",
            &["run", "f", "--out", "o", "--set", "flow[1000000000000].size=1KB"],
            format!("{RING}{FLOW}").into(),
            &["not an entry"],
        ),
        (
            "hpcc topology",
            &["check", "./f"],
            b"1000000000000 1 1\n0\n".to_vec(),
            &["f:1:1", "too large"],
        ),
        (
            "hpcc links",
            &["check", "./f"],
            b"3 1 4000000000\n0\n0 1 1Gbps 1us 0\n".to_vec(),
            &["announces 4000000000"],
        ),
        ("hpcc flows", &["check", "ring", "--flows", "f"], b"1000000000000\n".to_vec(), &["f:"]),
        ("document of 17 MB", &["run", "f", "--out", "o"], vec![b'#'; 17 << 20], &["f", "at most"]),
        ("capture", &["replay", "f"], vec![0x0a; 1 << 20], &["f", "capture"]),
        ("manifest", &["explain", "m", "H1:S1", "1ms"], vec![], &["manifest.json"]),
    ];
    for (name, args, bytes, prints) in rows {
        let dir = folder("hostile/files");
        std::fs::write(dir.join("f"), bytes).unwrap();
        std::fs::create_dir(dir.join("m")).unwrap();
        std::os::unix::fs::symlink("/dev/zero", dir.join("m/manifest.json")).unwrap();
        let ended = limited(args, &dir, None);
        assert_eq!(ended.code, Some(2), "{name}:\n{}", ended.err);
        let flat = ended.err.split_whitespace().filter(|w| *w != "│").collect::<Vec<_>>().join(" ");
        prints.iter().for_each(|text| {
            assert!(flat.contains(text), "{name}: '{text}' is not in:\n{}", ended.err)
        });
    }
}

/// Two files that name each other, and a chain that is too long.
#[test]
fn topology_files_that_name_each_other() {
    let dir = folder("hostile/circle");
    let file = |name: &str, path: &str| {
        std::fs::write(dir.join(name), format!("[topology]\nkind = \"file\"\npath = \"{path}\"\n"))
            .unwrap()
    };
    file("a.toml", "b.toml");
    file("b.toml", "a.toml");
    (0..20).for_each(|i| file(&format!("{i}.toml"), &format!("{}.toml", i + 1)));
    for (start, prints) in
        [("a.toml", "refers to itself through"), ("0.toml", "files refer to each other")]
    {
        let ended = limited(&["check", start], &dir, None);
        let flat = ended.err.split_whitespace().filter(|w| *w != "│").collect::<Vec<_>>().join(" ");
        assert!(
            ended.code == Some(2) && flat.contains(prints),
            "{start}: {:?}\n{}",
            ended.code,
            ended.err
        );
    }
    // A chain of files is served, each looked up next to the file that names it.
    std::fs::create_dir(dir.join("below")).unwrap();
    file("top.toml", "below/next.toml");
    file("below/next.toml", "ring.toml");
    std::fs::write(dir.join("below/ring.toml"), RING).unwrap();
    let ended = limited(&["check", "top.toml"], &dir, None);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
}

/// A pipe is a file like any other, read once and bounded; one without a writer is given up.
#[test]
fn pipes_are_served_and_bounded() {
    let dir = folder("hostile/pipes");
    let scenario = format!("{RING}{FLOW}");
    for args in [
        &["run", "/dev/stdin", "--out", "o"][..],
        &["check", "/dev/stdin"],
        &["explain", "/dev/stdin", "H1:S1", "1us"],
    ] {
        let ended = limited(args, &dir, Some(scenario.as_bytes()));
        assert!(matches!(ended.code, Some(0 | 1)), "{args:?}: {:?}\n{}", ended.code, ended.err);
    }
    let endless = vec![b'#'; 40 << 20];
    let ended = limited(&["run", "/dev/stdin", "--out", "p"], &dir, Some(&endless));
    assert!(
        ended.code == Some(2) && ended.err.contains("at most"),
        "{:?}\n{}",
        ended.code,
        ended.err
    );
    let status = std::process::Command::new("mkfifo").arg(dir.join("pipe")).status().unwrap();
    assert!(status.success());
    let ended = limited(&["run", "pipe", "--out", "q"], &dir, None);
    let flat = ended.err.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        ended.code == Some(2) && flat.contains("no process wrote into this pipe"),
        "{:?}\n{}",
        ended.code,
        ended.err
    );
}
