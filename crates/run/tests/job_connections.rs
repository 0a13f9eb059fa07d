//! Jobs from htsim's connection matrices with triggers and from SimAI's workload texts: what is
//! read takes what it should, what is broken is rejected with its line, and bytes that are neither
//! make no reader panic.

use std::path::PathBuf;

use xoff_record::Sink;
use xoff_run::{Finished, NetworkScenario};
use xoff_units::NodeId;

/// A folder of its own with one file in it.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A frame of 1048 B at 100 Gb/s, and a cable [ps].
const TX: u64 = 83_840;
const D: u64 = 1_000_000;

/// A message of so many full frames over one switch.
fn step(frames: u64) -> u64 {
    (frames + 1) * TX + 2 * D
}

/// A byte with its header over one switch.
const SIGNAL: u64 = 2 * 49 * 80 + 2 * D;

fn load(test: &str, hosts: u32, key: &str, text: &str) -> Result<NetworkScenario, String> {
    load_bytes(test, hosts, key, text.as_bytes())
}

fn load_bytes(test: &str, hosts: u32, key: &str, text: &[u8]) -> Result<NetworkScenario, String> {
    let folder = Folder(
        std::env::temp_dir().join(format!("xoff-connections-{test}-{}", std::process::id())),
    );
    std::fs::create_dir_all(&folder.0).unwrap();
    std::fs::write(folder.0.join("x.txt"), text).unwrap();
    let scenario = format!(
        "[run]\nduration = \"200ms\"\n[topology]\nkind = \"star\"\nhosts = {hosts}\nrate = \"100Gbps\"\ndelay = \"1us\"\n\
         [host]\nframe_max = \"1048B\"\nheader = \"48B\"\n[flow_control]\nkind = \"pfc\"\n[[job]]\n{key} = \"x.txt\"\n"
    );
    NetworkScenario::from_text("job.toml", &scenario, &[], &folder.0).map_err(|e| e.to_string())
}

fn run(test: &str, hosts: u32, key: &str, text: &str) -> (Finished, Vec<String>) {
    let s = load(test, hosts, key, text).unwrap_or_else(|e| panic!("{test}: {e}"));
    let f = s.run(Sink::Nothing).unwrap();
    assert_eq!(f.outcome.violations, []);
    let warnings = f.manifest.warnings.clone();
    (f, warnings)
}

fn ends(f: &Finished) -> Vec<u64> {
    f.outcome.ranks[0].iter().map(|r| r.log.iterations[0].1.expect("an end").0).collect()
}

/// Start and arrival of each flow, by source and destination.
fn flows(f: &Finished) -> Vec<(u32, u32, u64, u64)> {
    let mut all: Vec<_> = f
        .outcome
        .flows
        .iter()
        .map(|f| (f.flow.src.0, f.flow.dst.0, f.flow.start.0, f.received.expect("it is there").0))
        .collect();
    all.sort_unstable();
    all
}

const ONE_AFTER_ANOTHER: &str = "Nodes 4\nConnections 3\nTriggers 2\n0->1 id 1 start 0 size 100000 send_done_trigger 1\n\
     0->2 id 2 trigger 1 size 50000 send_done_trigger 2\n0->3 id 3 trigger 2 size 1000\ntrigger id 1 oneshot\ntrigger id 2 oneshot\n";

#[test]
fn connections_begin_when_those_before_them_are_done() {
    let (f, warnings) = run("chain", 4, "htsim", ONE_AFTER_ANOTHER);
    // Each begins when the last frame of the previous one starts on the wire, and follows it there.
    assert_eq!(
        flows(&f),
        [
            (0, 1, 0, step(100)),
            (0, 2, 99 * TX, 100 * TX + step(50)),
            (0, 3, 149 * TX, 150 * TX + step(1))
        ]
    );
    assert!(warnings.is_empty(), "{warnings:?}");
    let (f, _) = run("crlf", 4, "htsim", &ONE_AFTER_ANOTHER.replace('\n', "\r\n"));
    assert_eq!(flows(&f).len(), 3);
}

/// Two flows, a barrier, two flows behind it: hosts 2 and 3 know of both when a message of a byte
/// from each is there.
#[test]
fn a_barrier_of_other_hosts_takes_its_path_through_the_network() {
    let text = "# a comment\nNodes 6\nConnections 5\nTriggers 1\n0->2 id 1 start 0 size 100000 send_done_trigger 1\n\
        1->3 id 2 start 0 size 200000 send_done_trigger 1\n2->0 id 3 trigger 1 size 100000\n3->1 id 4 trigger 1 size 100000 prio 3\n\
        4->5 id 5 start 25 size 4000\ntrigger id 1 barrier count 2\n";
    let (f, warnings) = run("barrier", 6, "htsim", text);
    // The signal of host 1 follows the message on the way to host 3, and goes alone to host 2.
    let begins = 200 * TX + SIGNAL;
    let of = |src: u32, dst: u32| {
        flows(&f).into_iter().filter(|x| (x.0, x.1) == (src, dst)).map(|x| x.2).collect::<Vec<_>>()
    };
    assert_eq!(of(2, 0), [begins]);
    // Behind the signal to host 2 at the source, and behind the last frame of the message at the
    // switch.
    assert_eq!(of(3, 1), [201 * TX + 2 * D + 2 * 49 * 80]);
    assert_eq!(of(4, 5), [25_000_000]);
    assert!(
        warnings.iter().any(|w| w.contains("4 activations of triggers at other hosts")),
        "{warnings:?}"
    );
    assert!(warnings.iter().any(|w| w.contains("prio")), "{warnings:?}");
}

#[test]
fn the_receivers_end_and_one_target_at_a_time() {
    // Host 1 answers what it has received: no signal is needed.
    let text = "Nodes 2\nConnections 2\nTriggers 1\n0->1 id 1 start 0 size 100000 recv_done_trigger 1\n1->0 id 2 trigger 1 size 1000\ntrigger id 1 oneshot\n";
    let (f, warnings) = run("receive", 2, "htsim", text);
    assert_eq!((flows(&f)[1].2, warnings.len()), (step(100), 0));
    // Each of a series starts the next one.
    let text = "Nodes 2\nConnections 4\nTriggers 1\n0->1 id 1 start 0 size 10000 send_done_trigger 1\n0->1 id 2 trigger 1 size 20000 send_done_trigger 1\n\
        0->1 id 3 trigger 1 size 30000 send_done_trigger 1\n0->1 id 4 trigger 1 size 40000\ntrigger id 1 multishot\n";
    let (f, _) = run("multishot", 2, "htsim", text);
    assert_eq!(flows(&f).iter().map(|x| x.2).collect::<Vec<_>>(), [0, 9 * TX, 29 * TX, 59 * TX]);
}

#[test]
fn broken_matrices_are_refused_with_their_lines() {
    let with = |from: &str, to: &str| ONE_AFTER_ANOTHER.replacen(from, to, 1);
    let cases: &[(&str, String, &str, &str)] = &[
        (
            "count",
            with("Connections 3", "Connections 4"),
            "x.txt:2:13",
            "Connections is 4, but the file lists 3",
        ),
        ("spaces", with("0->2 id 2", "0->2  id 2"), "x.txt:5:1", "two spaces"),
        ("arrow", with("0->2", "0 -> 2"), "x.txt:5:1", "is not a connection"),
        (
            "nodes",
            with("Nodes 4", "Nodes 4294967295"),
            "x.txt:1:1",
            "4294967295 nodes, and each host is a rank",
        ),
        ("host", with("0->3", "0->9"), "x.txt:6:4", "host 9, but Nodes is 4"),
        ("self", with("0->3", "0->0"), "x.txt:6:1", "itself"),
        (
            "undefined",
            with("trigger id 2 oneshot\n", "trigger id 3 oneshot\n"),
            "x.txt:5:",
            "trigger 2 is not defined",
        ),
        (
            "never",
            with(" send_done_trigger 1", ""),
            "x.txt:5:1",
            "it never starts: nothing activates trigger 1",
        ),
        ("size", with("size 1000\n", "size 3000000000\n"), "x.txt:6:", "3000000000"),
        (
            "both",
            with("trigger 1 size 50000", "trigger 1 start 4 size 50000"),
            "x.txt:5:",
            "the connection has both start and trigger",
        ),
        (
            "few",
            with("trigger id 1 oneshot", "trigger id 1 barrier count 2"),
            "x.txt:5:1",
            "waits for 2: it never starts",
        ),
        (
            "several",
            with("trigger 2 size 1000", "start 3 size 1000 send_done_trigger 1"),
            "x.txt:7:1",
            "2 connections activate trigger 1: their order",
        ),
        ("far", with("start 0", "start 1e17"), "x.txt:4:", "later than xoff can count"),
        ("circle", with("start 0 size", "trigger 2 size"), "x.txt:", "activate trigger 2"),
    ];
    for (name, text, place, what) in cases {
        let e = load(name, 4, "htsim", text).err().unwrap_or_else(|| panic!("{name} was read"));
        if *name != "circle" {
            assert!(e.contains(place) && e.contains(what), "{name}: {e}");
        }
    }
    let circle = "Nodes 2\nConnections 2\nTriggers 2\n0->1 id 1 trigger 2 size 10 send_done_trigger 1\n0->1 id 2 trigger 1 size 10 send_done_trigger 2\n\
        trigger id 1 oneshot\ntrigger id 2 oneshot\n";
    let e = load("circle2", 2, "htsim", circle).err().expect("a circle");
    assert!(e.contains("x.txt:") && e.contains("cycle of dependencies"), "{e}");
    let e = load("hosts", 2, "htsim", ONE_AFTER_ANOTHER).err().expect("too few hosts");
    assert!(e.contains("rank 2 has no host"), "{e}");
}

const LAYERS: &str = "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 1 pp: 1 vpp: 1 ga: 1 all_gpus: 4 checkpoints: 0 checkpoint_initiates: 0\n\
     2\nfirst -1 1000 ALLREDUCE 200000 2000 ALLREDUCE 200000 3000 NONE 0 0\nsecond\t-1\t4000\tALLREDUCE\t400000\t5000\tALLREDUCE\t200000\t6000\tALLREDUCE\t100000\t700\n";

/// Forward: each all-reduce of two ranks is two steps of a half. Back: that of the input gradient
/// in parallel with the next computing, that of the first layer not at all; that of the weight
/// gradient, among ranks two apart, in parallel with everything after it.
#[test]
fn a_transformer_takes_what_its_layers_take() {
    let (f, warnings) = run("layers", 4, "simai", LAYERS);
    assert!(warnings.is_empty(), "{warnings:?}");
    let pair = |frames: u64| 2 * step(frames / 2);
    let forward = 1_000_000 + pair(200) + 4_000_000 + pair(400);
    let input = pair(200);
    assert!(input > 6_000_000);
    // Its messages meet those of the weight gradient at the wire of each rank: they end later than
    // alone, and no sooner.
    let (found, alone) = (ends(&f)[0], forward + 5_000_000 + input + 2_000_000 + 3_000_000);
    assert_eq!(ends(&f), [found; 4]);
    assert!(found >= alone && found < alone + 100 * TX, "{found} {alone}");
    // Without them to the picosecond.
    let without = LAYERS.replace("ALLREDUCE\t100000", "NONE\t0");
    let (f, _) = run("alone", 4, "simai", &without);
    assert_eq!(ends(&f), [alone; 4]);
    // Before: the update of a layer whose weight gradient has no collective took no time. That of
    // the second layer is in parallel with the first layer, that of the first layer is the end.
    let (f, _) = run("update", 4, "simai", &without.replace("NONE 0 0", "NONE 0 5000"));
    assert_eq!(ends(&f), [alone + 5_000_000; 4]);
    let (f, _) = run("updates", 4, "simai", &without.replace("\t700", "\t50000"));
    let last = forward + 5_000_000 + 6_000_000 + 50_000_000;
    assert_eq!(ends(&f), [last; 4]);
}

/// A pass of the written order: micro-batch, chunk, whether backward.
type Passes = Vec<(usize, usize, bool)>;

/// `f01` is the forward pass of micro-batch 0 and chunk 1, `b01` its backward pass.
fn passes(text: &str) -> Passes {
    let digit = |word: &str, at: usize| word[at..=at].parse().unwrap();
    text.split(' ').map(|w| (digit(w, 1), digit(w, 2), w.starts_with('b'))).collect()
}

/// Ends of the stages: passes take `times` (forward, backward), a message `handed`. A pass starts
/// after the pass before it in its stage, and after the message that it needs.
fn ends_of_stages(orders: &[Passes], chunks: usize, times: [u64; 2], handed: u64) -> Vec<u64> {
    let stages = orders.len();
    let mut done = std::collections::HashMap::new();
    let (mut at, mut next) = (vec![0u64; stages], vec![0; stages]);
    while (0..stages).any(|s| next[s] < orders[s].len()) {
        for s in 0..stages {
            while let Some(&(batch, chunk, back)) = orders[s].get(next[s]) {
                let place = chunk * stages + s;
                let needed = if back { place + 1 } else { place.wrapping_sub(1) };
                let there = match needed < chunks * stages {
                    false => Some(0),
                    true => done.get(&(batch, needed, back)).map(|end| end + handed),
                };
                let Some(there) = there else { break };
                at[s] = at[s].max(there) + times[usize::from(back)];
                done.insert((batch, place, back), at[s]);
                next[s] += 1;
            }
        }
    }
    at
}

/// The schedules of Figs. 3 and 4 (bottom) of the paper that names them, written out. Two layers
/// before and after several micro-batches belong to none.
#[test]
fn a_pipeline_takes_what_its_schedule_takes() {
    let times = [100_000_000, 200_000_000];
    let text = |stages: usize, chunks: usize, batches: usize| {
        let layer = |name: &str, ns: [u32; 3]| {
            format!("{name} -1 {} NONE 0 {} NONE 0 {} NONE 0 0\n", ns[0], ns[1], ns[2])
        };
        // The first layer of a micro-batch belongs to its first chunk.
        let block = layer("block", [100_000, 150_000, 50_000]);
        let batch = layer("first", [0, 0, 0]) + &block.repeat(chunks);
        let all = match batches {
            1 => batch,
            _ => {
                layer("before", [1_000, 2_000, 3_000])
                    + &batch.repeat(batches)
                    + &layer("after", [10_000, 20_000, 30_000])
            }
        };
        format!(
            "{} model_parallel_NPU_group: 1 ep: 1 pp: {stages} vpp: {chunks} ga: {batches} all_gpus: {stages} \
             checkpoints: 0 checkpoint_initiates: 0 pp_comm 10000\n{}\n{all}",
            &LAYERS[..31],
            all.lines().count()
        )
    };
    let cases: &[(usize, usize, &[&str])] = &[
        (3, 1, &["f00 f10 b00 f20 b10 b20", "f00 b00 f10 b10 f20 b20"]),
        (2, 1, &["f00 f10 b00 b10", "f00 b00 f10 b10"]),
        (1, 1, &["f00 b00", "f00 b00", "f00 b00", "f00 b00"]),
        (
            5,
            1,
            &[
                "f00 f10 f20 f30 b00 f40 b10 b20 b30 b40",
                "f00 f10 f20 b00 f30 b10 f40 b20 b30 b40",
                "f00 f10 b00 f20 b10 f30 b20 f40 b30 b40",
                "f00 b00 f10 b10 f20 b20 f30 b30 f40 b40",
            ],
        ),
        (2, 2, &["f00 f10 f01 f11 b01 b11 b00 b10", "f00 f10 f01 b01 f11 b11 b00 b10"]),
        (
            4,
            2,
            &[
                "f00 f10 f01 f11 f20 b01 f30 b11 f21 b00 f31 b10 b21 b31 b20 b30",
                "f00 f10 f01 b01 f11 b11 f20 b00 f30 b10 f21 b21 f31 b31 b20 b30",
            ],
        ),
    ];
    for &(batches, chunks, orders) in cases {
        let stages = orders.len();
        let name = format!("pipeline{stages}x{chunks}x{batches}");
        let (f, warnings) = run(&name, stages as u32, "simai", &text(stages, chunks, batches));
        assert!(warnings.is_empty(), "{warnings:?}");
        let orders: Vec<Passes> = orders.iter().map(|o| passes(o)).collect();
        // A stage ends with the layers after the pipeline, or when its last message has left.
        let last = |stage: usize| match (batches, stage) {
            (1, 0) => 0,
            (1, _) => 9 * TX,
            _ => 66_000_000,
        };
        let expected: Vec<u64> = ends_of_stages(&orders, chunks, times, step(10))
            .into_iter()
            .enumerate()
            .map(|(stage, end)| end + last(stage))
            .collect();
        assert_eq!(ends(&f), expected, "{name}");
        // Each micro-batch is handed over between all chunks, forward and backward.
        assert_eq!(f.outcome.flows.len(), 2 * batches * (stages * chunks - 1), "{name}");
    }
}

/// Micro-batches of a pipeline have the same collectives: none leaves out that of its first layer.
#[test]
fn micro_batches_are_equal() {
    let layer = "x -1 0 NONE 0 0 ALLREDUCE 10000 0 NONE 0 0\n";
    let text = format!(
        "{} model_parallel_NPU_group: 2 ep: 1 pp: 2 vpp: 1 ga: 2 all_gpus: 4 pp_comm: 1000\n2\n{}",
        &LAYERS[..31],
        layer.repeat(2)
    );
    let (f, _) = run("equal", 4, "simai", &text);
    let of = |size: u64| f.outcome.flows.iter().filter(|x| x.flow.size == size).count();
    // An all-reduce of two ranks has two steps of a message each.
    assert_eq!((of(5_000), of(1_000)), (2 * 2 * 4, 2 * 2 * 2));
}

/// SimAI's generator writes `pp_comm: 0` without a pipeline, and sizes as floats.
#[test]
fn the_first_line_is_as_the_generator_writes_it() {
    let same = |name, from: &str, to: &str, wanted: &str| {
        let hash = |text: &str| run(name, 8, "simai", text).0.manifest.result_hash;
        assert_eq!(hash(&LAYERS.replace(from, to)), hash(wanted), "{to}");
    };
    same("nothing handed on", " pp: 1", " pp: 1 pp_comm: 0", LAYERS);
    let pipeline =
        |comm: &str| LAYERS.replace(" pp: 1", comm).replace("all_gpus: 4", "all_gpus: 8");
    let wanted = pipeline(" pp: 2 pp_comm: 1000");
    same("a float", LAYERS, &pipeline(" pp: 2 pp_comm: 1000.0"), &wanted);
}

/// Stages of a pipeline are consecutive ranks, with their groups inside.
#[test]
fn groups_stay_in_their_stage() {
    let text =
        LAYERS.replace(" pp: 1", " pp: 2 pp_comm 1000").replace("all_gpus: 4", "all_gpus: 8");
    let (f, _) = run("stages", 8, "simai", &text);
    let mut peers: Vec<(u32, u32)> =
        f.outcome.flows.iter().map(|x| (x.flow.src.0, x.flow.dst.0)).collect();
    peers.sort_unstable();
    peers.dedup();
    let of = |rank| peers.iter().filter(|p| p.0 == rank).map(|p| p.1).collect::<Vec<_>>();
    assert_eq!([of(0), of(1), of(6)], [vec![1, 2, 4], vec![0, 3, 5], vec![2, 4, 7]]);
}

/// 16 ranks, tensor groups of 4, experts on 2: which ranks exchange messages.
#[test]
fn groups_are_those_of_simai() {
    let text = |word: &str, at: usize| {
        let mut w = ["x", "-1", "1", "NONE", "0", "1", "NONE", "0", "1", "NONE", "0", "0"];
        (w[at], w[at + 1]) = (word, "16000");
        format!(
            "{} model_parallel_NPU_group: 4 ep: 2 pp: 1 vpp: 1 ga: 1 all_gpus: 16 checkpoints: 0 checkpoint_initiates: 0\n1\n{}\n",
            &LAYERS[..31],
            w.join(" ")
        )
    };
    let peers = |word: &str, at: usize| {
        let (f, _) = run(&format!("groups{word}{at}"), 16, "simai", &text(word, at));
        let mut of: Vec<u32> = f
            .outcome
            .flows
            .iter()
            .filter(|x| x.flow.src == NodeId(6))
            .map(|x| x.flow.dst.0)
            .collect();
        of.sort_unstable();
        of.dedup();
        of
    };
    assert_eq!(peers("ALLTOALL", 3), [4, 5, 7]);
    assert_eq!(peers("ALLTOALL", 9), [2, 10, 14]);
    assert_eq!(peers("ALLTOALL_EP", 3), [2]);
    assert_eq!(peers("ALLTOALL_DP_EP", 9), [14]);
}

#[test]
fn broken_workloads_are_refused_with_their_lines() {
    let with = |from: &str, to: &str| LAYERS.replacen(from, to, 1);
    let cases: &[(&str, String, &str, &str)] = &[
        ("layers", with("\n2\n", "\n5\n"), "x.txt:2:1", "announces 5 layers, but 2 follow"),
        ("columns", with(" 0 0\n", " 0\n"), "x.txt:3:1", "11 columns"),
        (
            "collective",
            with("ALLREDUCE", "BROADCAST"),
            "x.txt:3:",
            "'BROADCAST' is not a collective",
        ),
        ("groups", with("all_gpus: 4", "all_gpus: 5"), "x.txt:1:", "groups of 2 among 5"),
        (
            "policy",
            with("HYBRID_TRANSFORMER_FWD_IN_BCKWD", "QUANTUM"),
            "x.txt:1:1",
            "xoff cannot read 'QUANTUM'",
        ),
        ("experts", with("ep: 1", "ep: 3"), "x.txt:1:", "ep 3 among 2"),
        ("handed", with(" pp: 1", " pp: 2"), "x.txt:1:", "pp_comm is missing"),
        ("nothing", with(" pp: 1", " pp: 2 pp_comm: 0"), "x.txt:1:", "pp_comm is 0"),
        ("no pipeline", with(" pp: 1", " pp: 1 pp_comm: 9"), "x.txt:1:", "needs a pipeline"),
        (
            "stages",
            with(" pp: 1", " pp: 3 pp_comm: 9"),
            "x.txt:1:",
            "3 stages of a pipeline among 4",
        ),
        ("stage", with(" pp: 1", " pp: 4 pp_comm: 9"), "x.txt:1:", "groups of 2 among 1 ranks"),
        (
            "batches",
            with(" pp: 1 vpp: 1 ga: 1", " pp: 2 pp_comm: 9 vpp: 1 ga: 2"),
            "x.txt:1:",
            "the names of the layers do not repeat 2 times",
        ),
        (
            "interleaved",
            with(" pp: 1 vpp: 1 ga: 1", " pp: 2 pp_comm: 9 vpp: 2 ga: 3"),
            "x.txt:1:",
            "3 micro-batches on 2 interleaved stages",
        ),
        ("checkpoints", with("checkpoints: 0", "checkpoints: 2"), "x.txt:1:", "recomputation"),
        ("time", with("1000", "-1000"), "x.txt:3:", "'-1000' is not a time"),
        ("key", with("ep:", "epp:"), "x.txt:1:", "unknown key 'epp'"),
        ("missing", with(" ga: 1", ""), "", ""),
        ("empty", String::new(), "x.txt:1:1", "the file is empty"),
        ("cut", LAYERS[..LAYERS.len() / 2].to_owned(), "x.txt:", ""),
    ];
    for (name, text, place, what) in cases {
        let read = load(name, 5, "simai", text);
        if place.is_empty() {
            assert!(read.is_ok(), "{name}: what is not there is as usual");
            continue;
        }
        let e = read.err().unwrap_or_else(|| panic!("{name} was read"));
        assert!(e.contains(place) && e.contains(what), "{name}: {e}");
    }
}

const GOAL: &str = "num_ranks 3\nrank 0 {\nl1: calc 1500 cpu 0\nl2: send 100000b to 1 tag 7 cpu 0 nic 0\n\
    l3: send 50000b to 2 tag 9 cpu 1 nic 2\nl2 requires l1\nl3 irequires l2\n}\nrank 1 {\nl1: recv 100000b from 0 tag 7 cpu 0 nic 0\n\
    l2: calc 40 cpu 0\nl3: send 30000b to 2 tag 5 cpu 0 nic 0\nl2 requires l1\nl3 requires l2\n}\nrank 2 {\n\
    l1: recv 50000b from -1 tag 9 cpu 0 nic 0\nl2: recv 30000b from 1 tag -1 cpu 0 nic 0\nl2 requires l1\n}\n";

/// An operation of [`GOAL`]: kind, peer, size, tag, cpu, nic; operations after its end, and after
/// its start.
type Node = (u8, u32, u64, u32, [u8; 2], [&'static [u32]; 2]);

/// [`GOAL`] as txt2bin writes it, byte for byte.
fn goal_in_binary() -> Vec<u8> {
    const ANY: u32 = u32::MAX;
    let ranks: [&[Node]; 3] = [
        &[
            (3, 0, 1_500, 0, [0, 0], [&[1], &[]]),
            (1, 1, 100_000, 7, [0, 0], [&[], &[2]]),
            (1, 2, 50_000, 9, [1, 2], [&[], &[]]),
        ],
        &[
            (2, 0, 100_000, 7, [0, 0], [&[1], &[]]),
            (3, 0, 40, 0, [0, 0], [&[2], &[]]),
            (1, 2, 30_000, 5, [0, 0], [&[], &[]]),
        ],
        &[(2, ANY, 50_000, 9, [0, 0], [&[1], &[]]), (2, 1, 30_000, ANY, [0, 0], [&[], &[]])],
    ];
    let mut table = Vec::new();
    let mut data = Vec::new();
    let first = 6 + 16 * ranks.len();
    for nodes in ranks {
        table.extend((first as u64 + data.len() as u64).to_le_bytes());
        let waits = |op: usize| {
            nodes.iter().flat_map(|n| n.5).flatten().filter(|later| **later == op as u32).count()
                as u32
        };
        let roots: Vec<u32> =
            (0..nodes.len()).filter(|op| waits(*op) == 0).map(|op| op as u32).collect();
        let mut of: Vec<u8> = [nodes.len() as u32, roots.len() as u32]
            .into_iter()
            .chain(roots)
            .flat_map(u32::to_le_bytes)
            .collect();
        let mut successors: Vec<u32> = Vec::new();
        for (op, (kind, peer, size, tag, place, later)) in nodes.iter().enumerate() {
            of.extend(waits(op).to_le_bytes());
            of.push(*kind);
            of.extend(peer.to_le_bytes());
            of.extend(size.to_le_bytes());
            of.extend(tag.to_le_bytes());
            of.extend(place);
            for later in later {
                of.extend((later.len() as u32).to_le_bytes());
                of.extend((successors.len() as u32).to_le_bytes());
                successors.extend(*later);
            }
        }
        of.extend(successors.into_iter().flat_map(u32::to_le_bytes));
        data.extend(of);
        table.extend((first as u64 + data.len() as u64).to_le_bytes());
    }
    // Highest CPU and NIC.
    [&4223u64.to_le_bytes()[..], &3u32.to_le_bytes(), &[1, 2], &table, &data].concat()
}

#[test]
fn binary_goal_is_the_job_of_its_text() {
    let binary = goal_in_binary();
    let text = load("text", 3, "goal", GOAL).unwrap().run(Sink::Nothing).unwrap();
    for streamed in ["", "stream = true\n"] {
        let s = load_bytes("binary", 3, &format!("{streamed}goal"), &binary).unwrap();
        let f = s.run(Sink::Nothing).unwrap();
        assert_eq!(ends(&f), ends(&text), "{streamed}");
        assert!(!streamed.is_empty() || flows(&f) == flows(&text));
    }
    // The first message starts after the computing. The second one starts with it and shares its link.
    assert_eq!(flows(&text)[0], (0, 1, 1_500_000, 1_500_000 + step(100) + 50 * TX));
}

/// Before: "byte 0x.. is not UTF-8".
#[test]
fn binary_goal_in_gzip_is_refused_with_the_remedy() {
    let mut zipped = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut zipped, &goal_in_binary()).unwrap();
    let zipped = zipped.finish().unwrap();
    for streamed in ["", "stream = true\n"] {
        let e = load_bytes("zipped", 3, &format!("{streamed}goal"), &zipped).err().unwrap();
        assert!(e.contains("x.txt: a binary GOAL file in gzip"), "{e}");
        assert!(e.contains("unpack it with gunzip"), "{e}");
    }
}

/// A file cut at each of its bytes, and one with each byte changed: read or rejected with the file's
/// name, never a panic.
#[test]
fn damaged_binary_goal_is_refused() {
    let binary = goal_in_binary();
    for length in 8..binary.len() {
        let e = load_bytes("cut", 3, "goal", &binary[..length]).err();
        let e = e.unwrap_or_else(|| panic!("{length} of {} bytes were read", binary.len()));
        assert!(e.contains("x.txt: ") && e.contains("the data end too early"), "{length}: {e}");
    }
    let mut refused = 0;
    for at in 8..binary.len() {
        for change in [1u8, 0x80, 0xff] {
            let mut bytes = binary.clone();
            bytes[at] ^= change;
            match load_bytes("changed", 3, "goal", &bytes) {
                Ok(s) => drop(s.run(Sink::Nothing)),
                Err(e) => {
                    assert!(e.contains("x.txt: ") || e.contains("job.toml"), "{at}: {e}");
                    refused += 1;
                }
            }
        }
    }
    assert!(refused > 400, "{refused}");
    // The second operation of rank 0 names the successor of the first one: its number of later ones
    // stands 23 B behind its start.
    let mut shared = binary.clone();
    let second = 8 + 6 + 48 + 8 + 4 + 39 + 23;
    shared[second..second + 8].copy_from_slice(&[1, 0, 0, 0, 0, 0, 0, 0]);
    let e = load_bytes("shared", 3, "goal", &shared).err().expect("three of two successors");
    assert!(e.contains("rank 0: operation 1: it shares successors"), "{e}");
}

/// Bytes of all readers' own samples, cut, doubled and changed at random: read or rejected, never a
/// panic, and a valid job has an end.
#[test]
fn changed_files_are_read_or_refused() {
    let mut state = 7u64;
    let mut draw = |n: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % n.max(1)
    };
    let words = [
        "0",
        "1",
        "-1",
        "99999999999999999999",
        "->",
        " ",
        "\n",
        "trigger",
        "id",
        "}",
        "{",
        "NONE",
        "ALLTOALL_EP",
        "\u{fe}",
        "4294967295",
        "send",
    ];
    let mut read = 0;
    let pipeline = LAYERS.replace(" pp: 1", " pp: 2 pp_comm: 9");
    let samples =
        [("htsim", ONE_AFTER_ANOTHER), ("simai", LAYERS), ("simai", &pipeline), ("goal", GOAL)];
    for (key, sample) in samples {
        for nth in 0..800 {
            let mut text: Vec<char> = sample.chars().collect();
            for _ in 0..1 + draw(4) {
                let at = draw(text.len());
                match draw(4) {
                    0 => drop(text.drain(at..(at + draw(9)).min(text.len()))),
                    1 => drop(
                        text.splice(at..at, words[draw(words.len())].chars()).collect::<Vec<_>>(),
                    ),
                    2 => text.truncate(at),
                    _ => {
                        let copy: Vec<char> = text[at..(at + draw(40)).min(text.len())].to_vec();
                        drop(text.splice(at..at, copy).collect::<Vec<_>>());
                    }
                }
            }
            let text: String = text.into_iter().collect();
            match load("fuzz", 4, key, &text) {
                Ok(s) => {
                    let f = s.run(Sink::Nothing).unwrap();
                    assert!(
                        f.outcome.violations.is_empty() && f.outcome.deadlocks.is_empty(),
                        "{key} {nth}: {text}"
                    );
                    read += 1;
                }
                Err(e) => {
                    assert!(e.contains("x.txt") || e.contains("job.toml"), "{key} {nth}: {e}")
                }
            }
        }
    }
    assert!(read > 30, "{read}");
}
