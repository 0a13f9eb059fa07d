//! Jobs from files of other programs: a valid job takes the expected time, and a broken one is
//! rejected with its line.

use std::path::PathBuf;

use xoff_record::{MismatchAnswer, Sink, StuckAnswer};
use xoff_run::{Finished, NetworkScenario};

/// A folder of its own with one file in it.
struct Folder(PathBuf);

impl Folder {
    fn with(test: &str, name: &str, text: &str) -> Folder {
        let folder =
            std::env::temp_dir().join(format!("xoff-traces-{test}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(name), text).unwrap();
        Folder(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const TX: u64 = 83_840;
const D: u64 = 1_000_000;

fn load(test: &str, name: &str, text: &str, job: &str) -> Result<NetworkScenario, String> {
    let folder = Folder::with(test, name, text);
    let scenario = format!(
        "[run]\nduration = \"200ms\"\n[topology]\nkind = \"star\"\nhosts = 4\nrate = \"100Gbps\"\ndelay = \"1us\"\n\
         [host]\nframe_max = \"1048B\"\nheader = \"48B\"\n[flow_control]\nkind = \"pfc\"\n[[job]]\n{job}"
    );
    NetworkScenario::from_text("job.toml", &scenario, &[], &folder.0).map_err(|e| e.to_string())
}

fn run(test: &str, name: &str, text: &str, job: &str) -> Finished {
    let s = load(test, name, text, job).unwrap_or_else(|e| panic!("{e}"));
    let f = s.run(Sink::Nothing).unwrap();
    assert_eq!(f.outcome.violations, []);
    f
}

fn ends(f: &Finished) -> Vec<u64> {
    f.outcome.ranks[0].iter().map(|r| r.log.iterations[0].1.expect("an end").0).collect()
}

const GOAL: &str = "goal = \"x.goal\"\n";

/// Compute, then send and receive at once, then compute. The receive is posted when computing
/// starts.
#[test]
fn goal_takes_what_its_operations_take() {
    let mut text = "num_ranks 4\n\n".to_owned();
    for rank in 0..4 {
        text += &format!(
            "rank {rank} {{\n// a step of a ring\nl1: calc 1000 cpu 0\nl2: send 1048576b to {} tag 7 cpu 0 nic 0\nl3: recv 1048576b from {} tag 7 cpu 0 nic 0\n\
             l4: calc 500\nl2 requires l1\nl3 irequires l1\nl4 requires l2\nl4 requires l3\n}}\n",
            (rank + 1) % 4,
            (rank + 3) % 4
        );
    }
    // 1048 full frames and one of 576 B, which waits at the switch for the previous one.
    let message = 1049 * TX + (576 + 48) * 80 + 2 * D;
    assert_eq!(ends(&run("ring", "x.goal", &text, GOAL)), [1_500_000 + message; 4]);
    assert_eq!(
        ends(&run("crlf", "x.goal", &text.replace('\n', "\r\n"), GOAL)),
        [1_500_000 + message; 4]
    );
}

/// Any source and tag: the first one that comes. Operations of one cpu follow each other, those of
/// two do not.
#[test]
fn goal_has_wildcards_cpus_and_comments() {
    let text = "num_ranks 3\nrank 0 {\n  a: recv 2000b from -1 tag -1 // whichever\n  b: recv 1000b from -1 tag -1\n  b requires a\n}\n\
                rank 1 {\nx: calc 9000\ny: send 1000b to 0 tag 5\ny requires x\n}\nrank 2 {\nsend 2000b to 0 tag 6\n}\n";
    let f = run("any", "x.goal", text, GOAL);
    assert_eq!(ends(&f)[0], 9_000_000 + 2 * TX + 2 * D);
    let cpus = "num_ranks 1\nrank 0 {\ncalc 5 cpu 0\ncalc 7 cpu 1\ncalc 4 cpu 0\n}\n";
    assert_eq!(ends(&run("cpus", "x.goal", cpus, GOAL)), [9_000]);
}

/// A cpu has one operation at a time, sends and receives without overhead too, as in LogGOPSim:
/// `calc 5000` keeps the send of its cpu waiting, `calc 9000` what its receive has, and neither the
/// other cpu.
#[test]
fn goal_cpus_have_one_operation_at_a_time() {
    let text = "num_ranks 2\nrank 0 {\na: calc 5000\nb: send 1000b to 1\nc: send 1000b to 1 tag 1 cpu 1\n}\n\
                rank 1 {\na: calc 9000\nb: calc 0\nc: recv 1000b from 0\nd: recv 1000b from 0 tag 1 cpu 1\n}\n";
    let f = run("cpus-messages", "x.goal", text, GOAL);
    let times = |rank: usize| -> Vec<(u64, u64)> {
        f.outcome.ranks[0][rank].log.ops.iter().map(|t| (t.begun.as_ns(), t.ended.0)).collect()
    };
    let way = 2 * TX + 2 * D;
    assert_eq!(times(0), [(0, 5_000_000), (5000, 5_000_000), (0, 0)]);
    assert!(5_000_000 + way < 9_000_000, "it comes while its cpu computes");
    assert_eq!(times(1), [(0, 9_000_000), (9000, 9_000_000), (0, 9_000_000), (0, way)]);
    // That the receive waited for computing is no overhead of its message.
    let path = f.jobs[0].iterations[0].path_ps;
    assert_eq!(
        (path[0], path[1], path.iter().sum::<u64>()),
        (9_000_000 - way, 0, 9_000_000),
        "{path:?}"
    );
    // However many wait for it.
    let many = format!(
        "num_ranks 2\nrank 0 {{\na: calc 1000\n{}}}\nrank 1 {{\n{}}}\n",
        "send 8b to 1\n".repeat(50_000),
        "recv 8b from 0\n".repeat(50_000)
    );
    assert_eq!(ends(&run("cpus-many", "x.goal", &many, GOAL))[0], 1_000_000 + 49_999 * 56 * 80);
}

/// LogP's g: two messages of a rank are handed over, and taken, no sooner than that after each
/// other, but not inside a node.
#[test]
fn messages_of_a_rank_keep_their_gap() {
    let text = "num_ranks 4\nrank 0 {\nrecv 1000b from 1\nrecv 1000b from 2\n}\nrank 1 {\nsend 1000b to 0\nsend 1000b to 3\nsend 1000b to 3\n}\n\
                rank 2 {\nsend 1000b to 0\n}\nrank 3 {\nrecv 1000b from 1\nrecv 1000b from 1\n}\n";
    let ended = |job: &str| -> Vec<Vec<u64>> {
        let f = run("gap", "x.goal", text, job);
        f.outcome.ranks[0].iter().map(|r| r.log.ops.iter().map(|t| t.ended.0).collect()).collect()
    };
    let (way, us) = (2 * TX + 2 * D, 1_000_000);
    assert_eq!(ended(GOAL)[..2], [vec![way, way + TX], vec![0, TX, 2 * TX]]);
    // From two sources at once the second is taken a gap later.
    let with = ended("goal = \"x.goal\"\ngap = \"1us\"\n");
    assert_eq!(
        with,
        [vec![way, way + us], vec![0, us, 2 * us], vec![0], vec![us + way, 2 * us + way]]
    );
    let inside = ended(
        "goal = \"x.goal\"\ngap = \"1us\"\nnode_ranks = 4\nnode_rate = \"100Gbps\"\nnode_latency = \"1us\"\n",
    );
    assert_eq!(inside[1], [80_000, 160_000, 240_000]);
    // Overheads longer than the gap hide it.
    let hidden = |gap: &str| {
        ended(&format!(
            "goal = \"x.goal\"\ngap = \"{gap}\"\nsend_overhead = \"2us\"\nreceive_overhead = \"2us\"\n"
        ))
    };
    assert_eq!(hidden("1us"), hidden("0us"));
    assert_ne!(hidden("3us"), hidden("0us"));
}

/// A receive of any source takes what comes first, so whether the next one gets its message is
/// known in a run only: the application is named, not the network.
#[test]
fn an_application_that_waits_for_itself_is_named() {
    let text = "num_ranks 3\nrank 0 {\na: recv 8b from -1 tag -1\nb: recv 8b from 2 tag 5\nb requires a\n}\nrank 1 {\nc: calc 100000\nd: send 8b to 0 tag 5\n\
        d requires c\n}\nrank 2 {\nc: calc 1\nd: calc 1\ne: send 8b to 0 tag 5\nd requires c\ne requires d\n}\n";
    let f = run("itself", "x.goal", text, GOAL);
    let words = f
        .summary
        .active
        .iter()
        .find(|w| w.contains("waits for itself, not for the network"))
        .expect("a sentence");
    assert!(
        words.contains("rank 0, operation 1, waits for a message from rank 2 with tag 5"),
        "{words}"
    );
    assert!(words.contains("1 of its ranks have not finished"), "{words}");
    assert_eq!(f.outcome.deadlocks, []);
    // Headline, answer, exit code and manifest have it, not the summary alone.
    let verdict = f.manifest.verdict.as_ref().expect("a verdict");
    assert_eq!(verdict.conclusion(&[]).exit_code(), 1);
    assert!(
        verdict.headline().contains("job job0 waits for itself: rank 0, operation 1, waits for a message from rank 2 with tag 5"),
        "{}",
        verdict.headline()
    );
    let stuck = StuckAnswer {
        ranks: 1,
        rank: 0,
        iteration: 0,
        operation: 1,
        from_rank: Some(2),
        tag: Some(5),
    };
    assert_eq!(f.manifest.jobs[0].stuck, Some(stuck));
    // A parallel flow that lasts until the end of the run changes nothing.
    let beside = "goal = \"x.goal\"\n[[flow]]\nsrc = \"H3\"\ndst = \"H2\"\n";
    let f = run("beside", "x.goal", text, beside);
    assert!(f.manifest.jobs[0].stuck.is_some());
    // The other order of arrival has an end.
    let f = run("ends", "x.goal", &text.replace("calc 100000", "calc 0"), GOAL);
    assert!(!f.summary.active.iter().any(|w| w.contains("waits for itself")));
    assert_eq!(
        (f.manifest.jobs[0].stuck.clone(), f.manifest.verdict.unwrap().conclusion(&[]).exit_code()),
        (None, 0)
    );
    // A run that ends while a rank computes, or a message is under way, shows nothing of the kind.
    for end in ["40us", "101us"] {
        let folder = Folder::with("early", "x.goal", text);
        let scenario = format!(
            "[run]\nduration = \"{end}\"\n[topology]\nkind = \"star\"\nhosts = 4\n[[job]]\n{GOAL}"
        );
        let f = NetworkScenario::from_text("job.toml", &scenario, &[], &folder.0)
            .unwrap()
            .run(Sink::Nothing)
            .unwrap();
        assert_eq!(f.manifest.jobs[0].stuck, None, "{end}");
    }
}

/// A receive that may take a message of another size is named with both ends: the order of several
/// messages of a source and tag depends on the run, if they take different queue pairs.
#[test]
fn a_receive_that_takes_a_message_of_another_size_is_named() {
    let text = "num_ranks 2\nrank 0 {\na: send 5000b to 1 tag 0 nic 0\nb: send 8b to 1 tag 0 nic 1\n}\nrank 1 {\na: recv 5000b from 0 tag 0\nb: recv 8b from 0 tag 0\n}\n";
    let two = "goal = \"x.goal\"\nqueue_pairs = 2\niterations = 3\n";
    let f = run("mixed", "x.goal", text, two);
    let verdict = f.manifest.verdict.as_ref().expect("a verdict");
    assert_eq!(verdict.conclusion(&[]).exit_code(), 1);
    let words = "job job0 exchanges messages of different sizes: rank 1, operation 0, expects 5000 B and took the 8 B of rank 0, operation 1";
    assert!(verdict.headline().contains(words), "{}", verdict.headline());
    let j = &f.manifest.jobs[0];
    let first = MismatchAnswer {
        iteration: 0,
        rank: 1,
        operation: 0,
        bytes: 5000,
        from_rank: 0,
        from_operation: 1,
        sent_bytes: 8,
    };
    assert_eq!((j.mismatches, j.mismatch.as_ref()), (6, Some(&first)));
    assert!(f.summary.active.iter().any(|w| w.contains("a receive took a message of another size") && w.contains("5 more")));
    // In one queue pair they come as they were sent.
    let f = run("one", "x.goal", text, GOAL);
    assert_eq!(
        (f.manifest.jobs[0].mismatches, f.manifest.verdict.unwrap().conclusion(&[]).exit_code()),
        (0, 0)
    );
    // An order of sizes that no run can have is rejected, one that a run may have is accepted.
    let chain = |from: &str, to: &str| {
        format!(
            "num_ranks 2\nrank 0 {{\na: send {from}b to 1\nb: send 9b to 1\n{to}}}\nrank 1 {{\na: recv 9b from 0\nb: recv 8b from 0\nb requires a\n}}\n"
        )
    };
    let e = load("chain", "x.goal", &chain("8", "b requires a\n"), GOAL).err().expect("refused");
    assert!(e.contains("expects 9 B from rank 0 with tag 0, but that rank sends 8 B"), "{e}");
    assert!(load("order", "x.goal", &chain("8", ""), GOAL).is_ok());
    let e = load("none", "x.goal", &chain("7", ""), GOAL).err().expect("refused");
    assert!(e.contains("that rank sends 7 B"), "{e}");
}

/// Receives of any source or tag that some order of messages fits are read, those that none fits
/// are refused.
#[test]
fn what_receives_of_any_source_may_take_is_left_to_the_run() {
    let three = |zero: &str, one: &str, two: &str| {
        format!("num_ranks 3\nrank 0 {{\n{zero}\n}}\nrank 1 {{\n{one}\n}}\nrank 2 {{\n{two}\n}}\n")
    };
    let late = "z: calc 50000\na: send 8b to 0\na requires z";
    let early = "y1: calc 1\ny2: calc 1\ny2 requires y1\na: send 8b to 0\na requires y2";
    let read = [
        three("a: recv 8b from -1\nb: recv 8b from 1\nb requires a", late, early),
        three("a: recv 8b from -1\nb: recv 8b from 1\nb requires a", early, late),
        three(
            "a: recv 8b from -1\nb: recv 9b from -1\nb requires a",
            "z: calc 50000\na: send 9b to 0\na requires z",
            early,
        ),
        three(
            "a: recv 8b from 1 tag -1\nb: recv 8b from 1 tag 3",
            "a: send 8b to 0 tag 3\nb: send 8b to 0 tag 4",
            "calc 1",
        ),
    ];
    for (nth, text) in read.iter().enumerate() {
        load("possible", "x.goal", text, GOAL).map(drop).unwrap_or_else(|e| panic!("{nth}: {e}"));
    }
    // In the first and the third the order of the run has an end; in the second it has none, and
    // the run finds that.
    let ends = [0, 1, 2].map(|nth| {
        run("possible-run", "x.goal", &read[nth], GOAL).manifest.jobs[0].stuck.is_none()
    });
    assert_eq!(ends, [true, false, true]);
    let two = |zero: &str, one: &str| three(zero, one, "calc 1");
    let refused = [
        (
            two(
                "a: recv 8b from -1\nb: send 8b to 1\nb requires a",
                "a: recv 8b from -1\nb: send 8b to 0\nb requires a",
            ),
            "deadlock of the application",
        ),
        (
            two("a: recv 8b from -1\nb: recv 8b from -1", "a: send 8b to 0"),
            "2 receives expect a message from rank any with tag 0",
        ),
        (two("a: recv 8b from -1", "a: send 8b to 0\nb: send 8b to 0"), "never received"),
        (
            two(
                "a: recv 8b from -1 tag -1\nb: recv 8b from 2 tag -1",
                "a: send 8b to 0\nb: send 8b to 0",
            ),
            "1 receives expect a message from rank 2",
        ),
        (two("a: recv 7b from -1", "a: send 8b to 0"), "expects 7 B"),
        (
            two(
                "a: recv 8b from -1\nb: calc 1\nc: calc 1\nb requires c\nc requires b",
                "a: send 8b to 0",
            ),
            "cycle of dependencies",
        ),
        (
            three(
                "a: recv 8b from -1\nb: recv 8b from 1\na requires b",
                "a: recv 8b from 0\nb: send 8b to 0\nb requires a",
                "a: send 8b to 0",
            ),
            "receives",
        ),
    ];
    for (nth, (text, what)) in refused.iter().enumerate() {
        let e = load("impossible", "x.goal", text, GOAL)
            .err()
            .unwrap_or_else(|| panic!("{nth} was read"));
        assert!(e.contains(what), "{nth}: {e}");
    }
}

#[test]
fn broken_goal_is_refused_with_its_line() {
    let two = |first: &str, second: &str| {
        format!("num_ranks 2\nrank 0 {{\n{first}\n}}\nrank 1 {{\n{second}\n}}\n")
    };
    let cases: &[(&str, String, &str, &str)] = &[
        ("open", "num_ranks 1\nrank 0 {\nl1: calc 5\n".into(), "x.goal:2:1", "no end"),
        (
            "label",
            two("l1: send 8b to 1\nl1 requires l9", "l1: recv 8b from 0"),
            "x.goal:4:13",
            "no label 'l9'",
        ),
        (
            "nic",
            "num_ranks 1\nrank 0 {\nl1: calc 5 cpu 0 nic 0\n}\n".into(),
            "x.goal:3:18",
            "'nic' is not part of a calc",
        ),
        ("rank", two("l1: send 8b to 5", "l1: calc 1"), "x.goal:3:1", "no rank 5"),
        (
            "order",
            "num_ranks 2\nrank 1 {\nl1: recv 8b from 0\n}\nrank 0 {\nl1: send 8b to 1\n}\n".into(),
            "x.goal:5:1",
            "ranks ascend",
        ),
        ("size", two("l1: send 8 to 1", "l1: recv 8b from 0"), "x.goal:3:10", "'8' is not a size"),
        ("unmatched", two("l1: send 8b to 1", "l1: calc 1"), "x.goal:3:1", "never received"),
        (
            "cycle",
            "num_ranks 1\nrank 0 {\nl1: calc 1\nl2: calc 1\nl1 requires l2\nl2 requires l1\n}\n"
                .into(),
            "x.goal:3:1",
            "cycle of dependencies",
        ),
        (
            "twice",
            "num_ranks 1\nrank 0 {\nl1: calc 1\nl1: calc 2\n}\n".into(),
            "x.goal:4:1",
            "is defined twice",
        ),
        ("differ", two("send 8b to 1", "recv 9b from 0"), "x.goal:6:1", "expects 9 B"),
        (
            "first",
            two(
                "a: recv 8b from 1\nb: send 8b to 1\nb requires a",
                "a: recv 8b from 0\nb: send 8b to 0\nb requires a",
            ),
            "x.goal:3:1",
            "deadlock of the application",
        ),
        (
            "boundary",
            "num_ranks 3\nrank 0 {\ncalc 1\n}\nrank 1 {\ncalc 1\n}\n".into(),
            "x.goal:8:1",
            "ends before rank 2",
        ),
        ("long", two("calc 1000000000000001", "calc 1"), "x.goal:3:1", "more than xoff can count"),
        ("large", two("send 18446744073709551615b to 1", "calc 1"), "x.goal:3:6", "at most 1 PiB"),
        ("empty", "".into(), "x.goal:1:1", "the file is empty"),
        ("self", two("send 8b to 0", "calc 1"), "x.goal:3:1", "itself"),
        (
            "hosts",
            "num_ranks 9\n".to_owned()
                + &(0..9).map(|r| format!("rank {r} {{\n}}\n")).collect::<String>(),
            "job.toml:13:1",
            "rank 4 has no host",
        ),
    ];
    for (name, text, place, what) in cases {
        let e = load(name, "x.goal", text, GOAL).err().unwrap_or_else(|| panic!("{name} was read"));
        assert!(e.contains(place) && e.contains(what), "{name}: {e}");
    }
}

fn step(kind: &str, s: u32, at: u32) -> String {
    format!(
        "<step s=\"{s}\" type=\"{kind}\" srcbuf=\"i\" srcoff=\"{at}\" dstbuf=\"i\" dstoff=\"{at}\" cnt=\"1\" depid=\"-1\" deps=\"-1\" hasdep=\"0\"/>\n"
    )
}

/// A ring of four in MSCCL's form: what a rank receives it adds up and hands on.
fn msccl_ring() -> String {
    let mut text =
        "<algo name=\"ring\" proto=\"Simple\" nchannels=\"1\" nchunksperloop=\"4\" ngpus=\"4\" coll=\"allreduce\" inplace=\"1\">\n"
            .to_owned();
    for g in 0..4u32 {
        text += &format!(
            "<gpu id=\"{g}\" i_chunks=\"4\" o_chunks=\"0\" s_chunks=\"0\">\n<tb id=\"0\" send=\"{}\" recv=\"{}\" chan=\"0\">\n",
            (g + 1) % 4,
            (g + 3) % 4
        );
        for (s, kind) in (0..).zip(["s", "rrs", "rrs", "rrcs", "rcs", "rcs", "r"]) {
            text += &step(kind, s, (g + 8 - s) % 4);
        }
        text += "</tb>\n</gpu>\n";
    }
    text + "</algo>\n"
}

const MSCCL: &str = "msccl = \"x.xml\"\nmessage_size = \"400KB\"\n";

#[test]
fn msccl_takes_what_its_steps_take() {
    assert_eq!(ends(&run("msccl", "x.xml", &msccl_ring(), MSCCL)), [6 * (101 * TX + 2 * D); 4]);
    // A block that waits for one of the same GPU, which takes no time.
    let blocks = "<algo name=\"c\" nchunksperloop=\"1\" nchannels=\"1\" proto=\"Simple\" ngpus=\"2\" coll=\"custom\" inplace=\"0\">\n\
         <gpu id=\"0\" i_chunks=\"1\" o_chunks=\"1\" s_chunks=\"1\">\n<tb id=\"0\" send=\"-1\" recv=\"-1\" chan=\"0\">\n\
         <step s=\"0\" type=\"cpy\" srcbuf=\"i\" srcoff=\"0\" dstbuf=\"s\" dstoff=\"0\" cnt=\"1\" depid=\"-1\" deps=\"-1\" hasdep=\"1\"/>\n</tb>\n\
         <tb id=\"1\" send=\"1\" recv=\"-1\" chan=\"0\">\n\
         <step s=\"0\" type=\"s\" srcbuf=\"s\" srcoff=\"0\" dstbuf=\"o\" dstoff=\"0\" cnt=\"1\" depid=\"0\" deps=\"0\" hasdep=\"0\"/>\n</tb>\n</gpu>\n\
         <gpu id=\"1\" i_chunks=\"1\" o_chunks=\"1\" s_chunks=\"0\">\n<tb id=\"0\" send=\"-1\" recv=\"0\" chan=\"0\">\n\
         <step s=\"0\" type=\"r\" srcbuf=\"s\" srcoff=\"0\" dstbuf=\"o\" dstoff=\"0\" cnt=\"1\" depid=\"-1\" deps=\"-1\" hasdep=\"0\"/>\n</tb>\n</gpu>\n</algo>\n";
    assert_eq!(ends(&run("blocks", "x.xml", blocks, MSCCL))[1], 401 * TX + 2 * D);
}

#[test]
fn broken_msccl_is_refused_with_its_line() {
    let ring = msccl_ring();
    let first = |from: &str, to: &str| ring.replacen(from, to, 1);
    let both_wait = {
        let gpu = |g: u32| {
            format!(
                "<gpu id=\"{g}\" i_chunks=\"1\" o_chunks=\"0\" s_chunks=\"0\">\n<tb id=\"0\" send=\"{0}\" recv=\"{0}\" chan=\"0\">\n{1}{2}</tb>\n</gpu>\n",
                1 - g,
                step("r", 0, 0),
                step("s", 1, 0)
            )
        };
        format!("<algo name=\"x\" nchunksperloop=\"1\" ngpus=\"2\">\n{}{}</algo>\n", gpu(0), gpu(1))
    };
    let cases: &[(&str, String, &str, &str)] = &[
        ("peer", first("send=\"1\"", "send=\"5\""), "x.xml:3:1", "no peer 5"),
        ("chunk", first("srcoff=\"0\"", "srcoff=\"9\""), "x.xml:4:1", "chunks 9 to 9"),
        ("type", first("type=\"rrs\"", "type=\"rxx\""), "x.xml:5:1", "'rxx'"),
        ("receive", first(&step("r", 6, 2), ""), "x.xml:", "never received"),
        ("count", first("<step s=\"2\"", "<step s=\"5\""), "x.xml:6:1", "steps do not count"),
        (
            "block",
            first("depid=\"-1\" deps=\"-1\"", "depid=\"4\" deps=\"0\""),
            "x.xml:4:1",
            "thread block 4",
        ),
        ("wait", both_wait, "x.xml:", "deadlock of the application"),
        ("gpu", first("ngpus=\"4\"", "ngpus=\"5\""), "x.xml:1:1", "GPU 4 is missing"),
        ("cut", ring[..ring.len() / 2].to_owned(), "x.xml:", "not XML"),
    ];
    for (name, text, place, what) in cases {
        let e = load(name, "x.xml", text, MSCCL).err().unwrap_or_else(|| panic!("{name} was read"));
        assert!(e.contains(place) && e.contains(what), "{name}: {e}");
    }
    let e = load("no-size", "x.xml", &ring, "msccl = \"x.xml\"\n").err().unwrap();
    assert!(e.contains("job.toml:13:1") && e.contains("message_size"), "{e}");
    let e = load(
        "both",
        "x.goal",
        "num_ranks 1\nrank 0 {\ncalc 1\n}\n",
        "goal = \"x.goal\"\n[[collective]]\nsize = \"1KB\"\n",
    )
    .err()
    .unwrap();
    assert!(e.contains("operations from a trace"), "{e}");
}
