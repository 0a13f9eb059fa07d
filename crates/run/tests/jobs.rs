//! Jobs in the simulator: closed forms of collectives, accounts that add up, and the same result
//! however a run is simulated.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use xoff_node::FrameKind;
use xoff_record::{ResultHash, Sink, read};
use xoff_run::{Finished, NetworkScenario, OnWire, Selection};
use xoff_sim::Engine;
use xoff_units::{NodeId, Time};

/// Hosts around one switch: 100 Gb/s, 1 us, frames of 1000 B payload and 48 B header.
fn star(hosts: u32, more: &str) -> String {
    format!(
        "[run]\nduration = \"200ms\"\n[topology]\nkind = \"star\"\nhosts = {hosts}\nrate = \"100Gbps\"\ndelay = \"1us\"\n\
         [host]\nframe_max = \"1048B\"\nheader = \"48B\"\n[flow_control]\nkind = \"pfc\"\n{more}"
    )
}

fn load(text: &str) -> Result<NetworkScenario, String> {
    NetworkScenario::from_text("job.toml", text, &[], Path::new(".")).map_err(|e| e.to_string())
}

fn run(text: &str, engine: Engine, threads: usize) -> Finished {
    let mut s = load(text).unwrap_or_else(|e| panic!("{e}"));
    s.engine = engine;
    let f = s.start(Sink::Memory, Some(threads)).unwrap().run(|_| true).unwrap();
    assert_eq!(f.outcome.violations, []);
    f
}

/// End of the last iteration of the first job, at its last rank.
fn end(f: &Finished) -> Time {
    let ends = f.outcome.ranks[0]
        .iter()
        .map(|r| r.log.iterations.last().and_then(|i| i.1).expect("an end"));
    ends.max().expect("a rank")
}

/// The end of one collective in a star.
fn takes(hosts: u32, collective: &str) -> u64 {
    end(&run(&star(hosts, &format!("[[job]]\n[[collective]]\n{collective}")), Engine::Windows, 1)).0
}

/// A frame of 1048 B at 100 Gb/s, and a cable [ps].
const TX: u64 = 83_840;
const D: u64 = 1_000_000;

/// A message of so many full frames over one switch: all but the last go on the wire, the last one
/// is stored and forwarded.
fn step(frames: u64) -> u64 {
    (frames + 1) * TX + 2 * D
}

#[test]
fn ring_all_reduce_takes_what_the_closed_form_gives() {
    let text = star(8, "[[job]]\n[[collective]]\nkind = \"all-reduce\"\nsize = \"800KB\"\n");
    assert_eq!(14 * step(100), 146_549_760, "146.54976 us");
    for engine in [Engine::Events, Engine::Windows] {
        let f = run(&text, engine, 1);
        assert_eq!(end(&f).0, 14 * step(100));
        // Each rank sends 1,400 frames; a step costs a frame and two cables more than that.
        let (job, ideal) = (&f.manifest.jobs[0], 1_400 * TX);
        assert_eq!((job.time_ps, job.ideal_ps), (14 * step(100), ideal));
        assert_eq!(job.time_over_ideal, Some((14 * step(100)) as f64 / ideal as f64));
    }
    // A part each: half of the steps.
    assert_eq!(takes(8, "kind = \"reduce-scatter\"\nsize = \"800KB\"\n"), 7 * step(100));
    assert_eq!(takes(8, "kind = \"all-gather\"\nsize = \"800KB\"\n"), 7 * step(100));
    // Any number of ranks.
    assert_eq!(takes(5, "size = \"500KB\"\n"), 8 * step(100));
}

#[test]
fn halving_doubling_takes_what_the_closed_form_gives() {
    // 800 KB among 8: 400, 200 and 100 frames, and back.
    let all: u64 = [400, 200, 100, 100, 200, 400].map(step).iter().sum();
    assert_eq!(takes(8, "algorithm = \"halving-doubling\"\nsize = \"800KB\"\n"), all);
    let gather: u64 = [100, 200, 400].map(step).iter().sum();
    assert_eq!(
        takes(8, "kind = \"all-gather\"\nalgorithm = \"halving-doubling\"\nsize = \"800KB\"\n"),
        gather
    );
}

/// The one figure of its analytical back end that astra-sim's repository prints (tests/rt_template)
/// has 56 steps of 32 KiB at 50 GB/s (of 2^30 B) and 500 ns, and the model of a local memory, which
/// xoff does not have. A switch that cuts through adds 64 B to each step.
#[test]
fn a_ring_takes_what_astra_sims_network_takes() {
    let text = "[run]\nduration = \"10ms\"\n[topology]\nkind = \"star\"\nhosts = 8\nrate = \"429496729600bps\"\ndelay = \"250ns\"\n[switch]\ncut_through = \"64B\"\n\
        [host]\nframe_max = \"4097B\"\nheader = \"1B\"\n[flow_control]\nkind = \"pfc\"\n[[job]]\niterations = 4\n[[collective]]\nsize = \"262144B\"\n";
    let found = end(&run(text, Engine::Windows, 1)).0 as f64;
    let network = 56.0 * (500e3 + 32768.0 / 53.687_091_2 * 1e3);
    assert!(found > network && found < network * 1.002, "{found} {network}");
    assert!(found < 117_780e3, "with the memory");
}

/// Each rank sends to another one at any time, so nothing ever meets: seven messages are one of
/// seven times the frames.
#[test]
fn all_to_all_takes_what_the_closed_form_gives() {
    for peers in [0, 1, 3] {
        assert_eq!(
            takes(8, &format!("kind = \"all-to-all\"\nsize = \"800KB\"\npeers = {peers}\n")),
            step(700),
            "{peers}"
        );
    }
}

#[test]
fn broadcast_reduce_and_barrier_take_what_their_trees_give() {
    // The root's messages share its wire, the furthest subtree first: round robin among three, two
    // and one of them. With one frame each the first goes at once, and each level adds a hop.
    let hop = step(1);
    assert_eq!(takes(8, "kind = \"broadcast\"\nsize = \"1KB\"\n"), 3 * hop);
    assert_eq!(takes(8, "kind = \"reduce\"\nsize = \"100KB\"\n"), 3 * step(100));
    // A chain hands on the whole, piece by piece: the second piece follows the first.
    assert_eq!(
        takes(4, "kind = \"broadcast\"\nalgorithm = \"ring\"\nsize = \"100KB\"\n"),
        3 * step(100)
    );
    assert_eq!(
        takes(
            4,
            "kind = \"broadcast\"\nalgorithm = \"ring\"\nsize = \"100KB\"\nchunk = \"10KB\"\n"
        ),
        3 * step(10) + 9 * 10 * TX
    );
    // A byte with its header: 49 B at 80 ps.
    assert_eq!(takes(8, "kind = \"barrier\"\n"), 3 * (2 * 49 * 80 + 2 * D));
}

/// Two groups of four do the same at the same time, and a separate job in parallel does not meet
/// them.
#[test]
fn groups_and_jobs_share_a_fabric() {
    let text = star(
        8,
        "[[job]]\nname = \"a\"\nhosts = [\"H0\", \"H1\", \"H2\", \"H3\"]\n[[job]]\nname = \"b\"\nhosts = [\"H7\", \"H6\", \"H5\", \"H4\"]\niterations = 2\n\
         [[collective]]\njob = \"a\"\nsize = \"400KB\"\n[[collective]]\njob = \"b\"\nsize = \"400KB\"\ngroups = [\"0-1\", \"2,3\"]\ncompute = \"5us\"\n",
    );
    let f = run(&text, Engine::Windows, 1);
    let ends: Vec<u64> = f
        .outcome
        .ranks
        .iter()
        .map(|job| job.iter().map(|r| r.log.iterations.last().unwrap().1.unwrap().0).max().unwrap())
        .collect();
    assert_eq!(ends, [6 * step(100), 2 * (2 * step(200) + 5_000_000)]);
}

/// Nodes of two ranks, with a way of their own: 100 KB at 400 Gb/s and 1 us after it, then the ring
/// of each place on its half.
#[test]
fn a_hierarchy_takes_what_the_closed_form_gives() {
    let job = "[[job]]\nnode_ranks = 2\nnode_rate = \"400Gbps\"\nnode_latency = \"1us\"\n[[collective]]\nalgorithm = \"hierarchical\"\nsize = \"200KB\"\n";
    let inner = 100_000 * 20 + 1_000_000;
    let f = run(&star(8, job), Engine::Auto, 4);
    assert_eq!(end(&f).0, 2 * inner + 6 * step(25));
    assert_eq!(f.outcome.flows.len(), 8 * 6, "messages within nodes are no flows");
    assert_eq!(f.manifest.threads, 1);
}

fn tables_add_up(f: &Finished, name: &str) {
    use arrow_array::cast::AsArray;
    use arrow_array::types::UInt64Type;
    let table = f.tables.memory.iter().find(|t| t.name == "ranks").expect("a table");
    let mut rows = 0;
    for batch in &table.batches {
        let column = |name: &str| {
            batch
                .column_by_name(name)
                .unwrap_or_else(|| panic!("{name}"))
                .as_primitive::<UInt64Type>()
                .clone()
        };
        for i in 0..batch.num_rows() {
            let sum = |names: &[&str]| names.iter().map(|n| column(n).value(i)).sum::<u64>();
            let time = column("end_ps").value(i) - column("start_ps").value(i);
            assert_eq!(sum(&["compute_ps", "exposed_ps", "idle_ps"]), time, "{name}");
            let path = [
                "compute",
                "overhead",
                "peer",
                "serialisation",
                "propagation",
                "pause",
                "rate_limit",
                "queueing",
            ];
            let path: Vec<String> = path.iter().map(|p| format!("path_{p}_ps")).collect();
            assert_eq!(sum(&path.iter().map(String::as_str).collect::<Vec<_>>()), time, "{name}");
            rows += 1;
        }
    }
    assert!(rows > 0);
    let starts: Vec<u64> =
        f.outcome.ranks.iter().map(|ranks| ranks[0].log.iterations[0].0.0).collect();
    for ((job, ranks), start) in f.jobs.iter().zip(&f.outcome.ranks).zip(starts) {
        let mut before = start;
        for (nth, i) in job.iterations.iter().enumerate() {
            // From the last end of the iteration before to its own.
            let last = ranks.iter().map(|r| r.log.iterations[nth].1.unwrap().0).max().unwrap();
            assert_eq!((i.end_ps, i.time_ps), (last, last - before), "{name}");
            before = last;
            assert_eq!(i.path_ps.iter().sum::<u64>(), i.time_ps, "{name}: iteration {nth}");
            assert_eq!(i.path_ps[2], 0, "{name}: the path continues at the awaited peer");
            let answer = &f
                .manifest
                .jobs
                .iter()
                .find(|j| j.name == job.name)
                .expect("in the manifest")
                .iterations[nth];
            let c = &answer.critical_path;
            let answered = c.compute_ps
                + c.overhead_ps
                + c.serialisation_ps
                + c.propagation_ps
                + c.pause_ps
                + c.rate_limit_ps
                + c.queueing_ps;
            assert_eq!((answered, answer.time_ps), (i.time_ps, i.time_ps), "{name}");
        }
        assert_eq!(job.time_ps(), before - start, "{name}: the iterations are the job");
    }
    paths_add_up(f, name);
}

/// The stretches of the critical path follow each other, from the start of the job to its end.
fn paths_add_up(f: &Finished, name: &str) {
    use arrow_array::cast::AsArray;
    use arrow_array::types::{UInt32Type, UInt64Type};
    let table = f.tables.memory.iter().find(|t| t.name == "critical_path").expect("a table");
    let mut stretches = Vec::new();
    for batch in &table.batches {
        let number = |name: &str| {
            batch
                .column_by_name(name)
                .unwrap_or_else(|| panic!("{name}"))
                .as_primitive::<UInt64Type>()
                .clone()
        };
        let iteration =
            batch.column_by_name("iteration").unwrap().as_primitive::<UInt32Type>().clone();
        stretches.extend(
            (0..batch.num_rows()).map(|i| {
                (iteration.value(i), number("start_ps").value(i), number("end_ps").value(i))
            }),
        );
    }
    let jobs = stretches.chunk_by(|a, b| a.0 <= b.0).collect::<Vec<_>>();
    assert_eq!(jobs.len(), f.jobs.len(), "{name}");
    for (stretches, job) in jobs.into_iter().zip(&f.jobs) {
        assert!(stretches.windows(2).all(|w| w[0].2 == w[1].1), "{name}: {}", job.name);
        assert_eq!(stretches.last().unwrap().2 - stretches[0].1, job.time_ps(), "{name}");
    }
}

/// A rank that is far ahead of the others does not make iterations longer: iterations follow each
/// other, and add up to the job.
#[test]
fn iterations_of_ranks_that_drift_apart_are_not_counted_twice() {
    let folder = std::env::temp_dir().join(format!("xoff-drift-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(
        folder.join("drift.goal"),
        "num_ranks 2\nrank 0 {\nc: calc 1000000\n}\nrank 1 {\nc: calc 5\n}\n",
    )
    .unwrap();
    let text = star(2, "[[job]]\ngoal = \"drift.goal\"\niterations = 5\nstart = \"3us\"\n");
    let s = NetworkScenario::from_text("job.toml", &text, &[], &folder)
        .unwrap_or_else(|e| panic!("{e}"));
    let f = s.run(Sink::Memory).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    let times: Vec<u64> = f.jobs[0].iterations.iter().map(|i| i.time_ps).collect();
    assert_eq!(times, [1_000_000_000; 5]);
    // It has no messages, and yet something ran.
    assert_eq!(f.manifest.verdict.as_ref().and_then(|v| v.parts().nothing_ran.clone()), None);
    assert!(
        f.jobs[0]
            .iterations
            .iter()
            .all(|i| i.path_ps[0] == i.time_ps && i.computed == Some((0, i.time_ps)))
    );
    tables_add_up(&f, "drift");
}

/// Pauses that the last frames of messages met, from the frames on all wires and the table of
/// pauses. The port that has a frame delays it, not a port that it has left.
fn met(s: &NetworkScenario) -> (Finished, Vec<u64>) {
    let wires = Arc::new(Mutex::new(BTreeMap::<u32, Vec<(Time, Time, NodeId, u16)>>::new()));
    let taken = wires.clone();
    let tap = move |frame: &OnWire| {
        if let OnWire::Sent { at, arrives, node, port, ref frame, ends: Some(_) } = *frame
            && frame.kind() == FrameKind::Data
            && frame.ends_flow()
        {
            taken.lock().unwrap().entry(frame.flow.0).or_default().push((at, arrives, node, port));
        }
        true
    };
    let f =
        s.start_tapped(Sink::Memory, Selection::All, Box::new(tap)).unwrap().run(|_| true).unwrap();
    let mut pauses = BTreeMap::<(String, u64), Vec<(u64, u64)>>::new();
    for batch in f.tables.memory.iter().filter(|t| t.name == "pauses").flat_map(|t| &t.batches) {
        let (port, number) = (read::texts(batch, "port"), |name| read::numbers(batch, name));
        let (priority, from, to) = (number("priority"), number("start_ps"), number("end_ps"));
        for i in 0..batch.num_rows() {
            let of = pauses.entry((port[i].unwrap().to_owned(), priority[i].unwrap())).or_default();
            of.push((from[i].unwrap(), to[i].unwrap_or(u64::MAX)));
        }
    }
    let wires = std::mem::take(&mut *wires.lock().unwrap());
    let met = |flow: u32| {
        let hops = wires.get(&flow).map_or(&[][..], |h| h);
        let priority = u64::from(f.outcome.flows[flow as usize].flow.priority);
        let at_port = |w: &[(Time, Time, NodeId, u16)]| {
            let (from, to, port) = (w[0].1.0, w[1].0.0, s.topology.port_name(w[1].2, w[1].3));
            let of_port = pauses.get(&(port, priority)).map_or(&[][..], |p| p);
            of_port.iter().map(|&(a, b)| b.min(to).saturating_sub(a.max(from))).sum::<u64>()
        };
        hops.windows(2).map(at_port).sum()
    };
    let all = (0..f.outcome.flows.len() as u32).map(met).collect();
    (f, all)
}

#[test]
fn a_pause_counts_at_the_port_at_which_the_frame_stands() {
    let folder = std::env::temp_dir().join(format!("xoff-position-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let text = "[run]\nduration = \"1ms\"\n[topology]\nkind = \"dumbbell\"\nsenders = 2\nreceivers = 2\nrate = \"100Gbps\"\ndelay = \"100ns\"\n[host]\nframe_max = \"1048B\"\nheader = \"48B\"\n\
        [switch]\nbuffer = \"400KB\"\n[flow_control]\nkind = \"pfc\"\n[flow_control.pfc]\nxoff = \"100KB\"\nxon = \"50KB\"\n[[flow]]\nsrc = \"H0\"\ndst = \"H2\"\nsize = \"1MB\"\n\
        [[flow]]\nsrc = \"H3\"\ndst = \"H2\"\nsize = \"1MB\"\n[[job]]\ngoal = \"one.goal\"\nhosts = [\"H1\", \"H2\"]\n";
    let mut seen = 0;
    for ns in (0..120_000).step_by(10_000) {
        let goal = format!(
            "num_ranks 2\nrank 0 {{\nc: calc {ns}\na: send 285b to 1\na requires c\n}}\nrank 1 {{\na: recv 285b from 0\n}}\n"
        );
        std::fs::write(folder.join("one.goal"), goal).unwrap();
        let s = NetworkScenario::from_text("job.toml", text, &[], &folder)
            .unwrap_or_else(|e| panic!("{e}"));
        let (f, met) = met(&s);
        // All of the message is one frame, which its NIC does not hold: what of its time is pause,
        // it met in switches.
        assert_eq!(
            (f.outcome.flows[2].stopped, f.jobs[0].iterations[0].path_ps[5]),
            (met[2], met[2]),
            "{ns} ns"
        );
        seen += met[2];
    }
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(seen > 0, "some were held up");
    // And every message of busy jobs.
    let mut all_held = 0;
    for case in BUSY {
        let (f, met) = met(&load(&busy_case(case)).unwrap_or_else(|e| panic!("{e}")));
        let jobs = f.outcome.flows.iter().zip(&met).skip(11);
        let (mut messages, mut held) = (0, 0);
        for (at, (record, met)) in jobs.enumerate() {
            assert_eq!(record.stopped, *met, "{case:?}: message {at}");
            (messages, held) = (messages + 1, held + u32::from(*met > 0));
        }
        assert!(messages > 1000, "{case:?}: {messages}");
        all_held += held;
    }
    assert!(all_held > 100, "{all_held}");
}

/// Ranks at their own pace, an incast in parallel, chunks, channels and queue pairs, two jobs on
/// the same hosts, under mechanisms that hold frames back in different manners.
fn busy(flow_control: &str, rest: &str) -> String {
    format!(
        "[run]\nduration = \"20ms\"\nstop_when_done = true\n[topology]\nkind = \"leaf-spine\"\nleaves = 3\nspines = 2\nhosts_per_leaf = 4\nrate = \"100Gbps\"\n\
         [host]\nframe_max = \"1048B\"\nheader = \"48B\"\n[flow_control]\nkind = \"{flow_control}\"\n{rest}\
         [[workload]]\nkind = \"incast\"\nreceiver = \"H0\"\nsize = \"300KB\"\nstart = \"20us\"\n\
         [[job]]\nname = \"a\"\niterations = 3\nqueue_pairs = 2\ncompute = \"7us\"\nslow_hosts = [\"H5\"]\nslow_by = 1.5\nplacement = \"random\"\n\
         send_overhead = \"300ns\"\nreceive_overhead = \"200ns\"\n\
         [[job]]\nname = \"b\"\nranks = 8\nplacement = \"strided\"\nstride = 4\niterations = 2\nstart = \"9us\"\n\
         [[collective]]\njob = \"a\"\nsize = \"600KB\"\nchannels = 3\nchunk = \"100KB\"\ncompute = \"20us\"\noverlap = true\n\
         [[collective]]\njob = \"a\"\nkind = \"all-to-all\"\nsize = \"240KB\"\npeers = 3\ncompute = \"10us\"\n\
         [[collective]]\njob = \"b\"\nalgorithm = \"double-binary-tree\"\nsize = \"200KB\"\nchunk = \"50KB\"\n\
         [[collective]]\njob = \"b\"\nalgorithm = \"direct\"\nsize = \"80KB\"\n[[collective]]\njob = \"b\"\nkind = \"barrier\"\n"
    )
}

const BUSY: [(&str, &str); 8] = [
    ("pfc", ""),
    ("cbfc", ""),
    ("gfc-buffer", ""),
    ("gfc-time", "[switch]\nbuffer = \"4MB\"\n"),
    ("pffc", "[switch]\nbuffer = \"4MB\"\n"),
    ("bfc", "[switch]\nbuffer = \"4MB\"\n"),
    ("pfc", "[detection]\nkind = \"red\"\n[rate_control]\nkind = \"dcqcn\"\n"),
    ("pfc", "[rate_control]\nkind = \"hpcc\"\n"),
];

fn busy_case((flow_control, rest): (&str, &str)) -> String {
    let acks = if rest.contains("hpcc") { "acks = \"per-frame\"\n" } else { "" };
    busy(flow_control, rest).replace("header = \"48B\"\n", &format!("header = \"48B\"\n{acks}"))
}

#[test]
fn accounts_add_up_to_the_picosecond() {
    for case in BUSY {
        let f = run(&busy_case(case), Engine::Windows, 1);
        assert!(f.jobs.iter().all(|j| j.iterations.len() == j.planned as usize), "{case:?}");
        tables_add_up(&f, &format!("{case:?}"));
    }
}

fn hash(text: &str, engine: Engine, threads: usize) -> (ResultHash, u32) {
    let f = run(text, engine, threads);
    (f.tables.hash, f.manifest.threads)
}

#[test]
fn engines_and_threads_give_the_same_hash() {
    for case in BUSY {
        let text = busy_case(case);
        let (reference, _) = hash(&text, Engine::Events, 1);
        let mut split = 0;
        for threads in [1, 2, 3, 4, 8] {
            let (found, on) = hash(&text, Engine::Windows, threads);
            assert_eq!(found, reference, "{case:?} on {threads}");
            split = split.max(on);
        }
        assert!(split > 1, "{case:?}");
    }
}

/// The state of congestion control applies to the next message of a queue pair: without that, or on
/// another pair, its frames would follow each other at line rate.
#[test]
fn a_queue_pair_keeps_its_rate() {
    let folder = std::env::temp_dir().join(format!("xoff-jobs-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(
        folder.join("incast.csv"),
        "# to rank 0\n0,0,0,0,0\n400000,0,0,0,0\n400000,0,0,0,0\n400000,0,0,0,0\n400000,0,0,0,0\n",
    )
    .unwrap();
    std::fs::write(
        folder.join("one.csv"),
        "0 0 0 0 0\n40000 0 0 0 0\n0 0 0 0 0\n0 0 0 0 0\n0 0 0 0 0\n",
    )
    .unwrap();
    let last_message = |incast: &str, pairs: u32| {
        let collective = |matrix: &str, compute: &str| {
            format!(
                "[[collective]]\nkind = \"all-to-all\"\nmatrix = \"{matrix}.csv\"\ncompute = \"{compute}\"\n"
            )
        };
        let text = star(
            5,
            &format!(
                "[detection]\nkind = \"red\"\nkmin = \"5KB\"\nkmax = \"50KB\"\n[rate_control]\nkind = \"dcqcn\"\n[[job]]\nqueue_pairs = {pairs}\n{}{}",
                collective(incast, "0us"),
                collective("one", "100us")
            ),
        );
        let s = NetworkScenario::from_text("job.toml", &text, &[], &folder)
            .unwrap_or_else(|e| panic!("{e}"));
        let flows = s.run(Sink::Nothing).unwrap().outcome.flows;
        let last = flows.iter().max_by_key(|f| f.flow.start).unwrap();
        let others = flows
            .iter()
            .filter(|f| f.flow.start < last.flow.start)
            .map(|f| f.received.unwrap())
            .max();
        assert!(others < Some(last.flow.start), "it is alone");
        last.all_sent.unwrap().since(last.flow.start).0
    };
    assert_eq!(last_message("one", 1), 39 * TX, "nothing was found out");
    assert!(last_message("incast", 1) > 39 * TX * 5 / 4, "{}", last_message("incast", 1));
    std::fs::remove_dir_all(&folder).unwrap();
}

/// A job may be cut off by the end of the run when no message of it is under way or missing: the
/// headline has it.
#[test]
fn a_job_that_is_cut_off_is_in_the_headline() {
    let job = |iterations: u32| {
        format!(
            "[[job]]\nname = \"train\"\niterations = {iterations}\ncompute = \"300ms\"\n[[collective]]\nsize = \"4KB\"\n"
        )
    };
    let verdict =
        |more: &str| run(&star(4, more), Engine::Events, 1).manifest.verdict.expect("a verdict");
    let v = verdict(&job(1));
    assert_eq!(v.headline(), "no deadlock, 0 frames lost, job train: 0 of 1 iterations complete");
    assert_eq!(
        (v.conclusion(&[]).exit_code(), v.tone(&[])),
        (0, xoff_record::verdict::Tone::Caution)
    );
    // Flows that never began say it themselves.
    assert_eq!(
        verdict(&job(2)).headline(),
        "no deadlock, 0 frames lost, 24 of 48 flows incomplete"
    );
    assert_eq!(
        verdict("[[job]]\n[[collective]]\nsize = \"4KB\"\n").headline(),
        "no deadlock, 0 frames lost"
    );
}

#[test]
fn a_matrix_of_nothing_is_refused() {
    let folder = std::env::temp_dir().join(format!("xoff-nothing-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("m.csv"), "0 0\n0 0\n").unwrap();
    let text = star(2, "[[job]]\n[[collective]]\nkind = \"all-to-all\"\nmatrix = \"m.csv\"\n");
    let e = NetworkScenario::from_text("job.toml", &text, &[], &folder)
        .err()
        .expect("refused")
        .to_string();
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(
        e.contains("job.toml:16:") && e.contains("the size is 0: the ranks exchange nothing"),
        "{e}"
    );
}

fn refused(more: &str, at: &str, words: &[&str]) {
    let e = load(&star(4, more)).err().unwrap_or_else(|| panic!("it was read: {more}"));
    assert!(e.contains(at), "{e}: {at}");
    words.iter().for_each(|w| assert!(e.contains(w), "{e}: {w}"));
}

#[test]
fn bad_jobs_are_refused_with_their_places() {
    refused("[[job]]\n", "job.toml:13:", &["nothing to do", "[[collective]]"]);
    refused("[[collective]]\nsize = \"1MB\"\n", "job.toml:13:", &["no [[job]]"]);
    refused(
        "[[job]]\nhosts = [\"H0\"]\n[[collective]]\nsize = \"1MB\"\n",
        "job.toml:14:",
        &["1 rank", "at least two"],
    );
    refused(
        "[[job]]\nhosts = [\"H0\", \"H9\"]\n[[collective]]\nsize = \"1MB\"\n",
        "job.toml:14:",
        &["no host 'H9'"],
    );
    refused(
        "[[job]]\nranks = 5\n[[collective]]\nsize = \"1MB\"\n",
        "job.toml:14:",
        &["rank 4 has no host"],
    );
    refused(
        "[[job]]\n[[collective]]\nsize = \"1MB\"\ngroups = [\"0-4\"]\n",
        "job.toml:16:",
        &["no rank 4", "0 to 3"],
    );
    refused(
        "[[job]]\n[[collective]]\nsize = \"1MB\"\ngroups = [\"2\"]\n",
        "job.toml:16:",
        &["one rank"],
    );
    refused(
        "[[job]]\n[[collective]]\nsize = \"1MB\"\ngroups = [\"0-1\", \"1-2\"]\n",
        "job.toml:16:",
        &["two groups"],
    );
    refused("[[job]]\n[[collective]]\n", "job.toml:14:", &["size", "missing"]);
    refused(
        "[[job]]\n[[collective]]\nsize = \"1MB\"\nkind = \"all-to-all\"\nalgorithm = \"ring\"\n",
        "job.toml:17:",
        &["ring does not support all-to-all"],
    );
    refused(
        "[[job]]\nranks = 3\n[[collective]]\nsize = \"1MB\"\nalgorithm = \"halving-doubling\"\n",
        "job.toml:17:",
        &["2, 4, 8"],
    );
    refused(
        "[[job]]\n[[collective]]\nsize = \"1MB\"\nalgorithm = \"hierarchical\"\n",
        "job.toml:16:",
        &["node_ranks"],
    );
    refused(
        "[[job]]\n[[collective]]\njob = \"b\"\nsize = \"1MB\"\n",
        "job.toml:15:",
        &["no job 'b'"],
    );
    refused("[[job]]\n[[collective]]\nsize = \"2000000GB\"\n", "job.toml:15:", &["1 PiB"]);
    // Keys that would mean nothing.
    for (job, collective, key) in [
        ("", "kind = \"barrier\"\nsize = \"1MB\"\n", "a barrier moves no bytes"),
        ("", "kind = \"barrier\"\nchannels = 2\n", "a barrier moves no bytes"),
        ("", "size = \"1MB\"\nroot = 1\n", "only a broadcast and a reduce"),
        ("stride = 2\n", "size = \"1MB\"\n", "without placement"),
        ("node_rate = \"1Gbps\"\n", "size = \"1MB\"\n", "without node_ranks"),
        ("node_latency = \"1us\"\n", "size = \"1MB\"\n", "without node_ranks"),
        ("slow_by = 2\n", "size = \"1MB\"\n", "without slow_hosts"),
        ("hosts = []\n", "size = \"1MB\"\n", "the list is empty"),
        ("slow_hosts = []\n", "size = \"1MB\"\n", "the list is empty"),
        ("", "size = \"1MB\"\ngroups = []\n", "the list is empty"),
        ("", "size = \"1MB\"\ngroups = [\"\"]\n", "text number 1 of the list is empty"),
        ("", "size = \"1MB\"\ngroups = [\"0-1\", \"\"]\n", "text number 2 of the list is empty"),
        ("", "size = \"1MB\"\nchunk = \"0B\"\n", "a piece of 0 bytes"),
        ("message_size = \"1MB\"\n", "size = \"1MB\"\n", "the key belongs to msccl"),
    ] {
        refused(&format!("[[job]]\n{job}[[collective]]\n{collective}"), "job.toml:1", &[key]);
    }
    // More operations than there is room for are counted, not put together: 8 thousand million, 17,
    // 17 and 1.6.
    let many = |collective: &str| {
        let text = star(65_000, &format!("[[job]]\n[[collective]]\nsize = \"1GB\"\n{collective}"));
        load(&text).err().expect("refused")
    };
    for collective in
        ["kind = \"all-to-all\"\n", "", "algorithm = \"direct\"\n", "groups = [\"0-20000\"]\n"]
    {
        let e = many(collective);
        assert!(
            e.contains("job.toml:15:") && e.contains("operations in each of 1 iteration"),
            "{e}"
        );
    }
    refused(
        "[[job]]\niterations = 1000000\n[[collective]]\nsize = \"1MB\"\nchannels = 64\n",
        "job.toml:16:",
        &["operations"],
    );
}
