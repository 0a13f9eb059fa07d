//! Chakra traces: a valid trace takes the expected time, and a broken one is rejected with its rank
//! and node.

use std::io::Write;
use std::path::{Path, PathBuf};

use xoff_record::Sink;
use xoff_run::{Finished, NetworkScenario};

const TX: u64 = 83_840;
const D: u64 = 1_000_000;

// Protocol buffers by hand, so that the reader is not tested with itself.

fn varint(mut n: u64) -> Vec<u8> {
    let mut out = Vec::new();
    while n >= 0x80 {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
    out
}
fn number(field: u64, n: u64) -> Vec<u8> {
    [varint(field << 3), varint(n)].concat()
}
fn bytes(field: u64, b: &[u8]) -> Vec<u8> {
    [varint(field << 3 | 2), varint(b.len() as u64), b.to_vec()].concat()
}
fn attribute(name: &str, value: Vec<u8>) -> Vec<u8> {
    bytes(10, &[bytes(1, name.as_bytes()), value].concat())
}
fn long(name: &str, n: u64) -> Vec<u8> {
    attribute(name, number(9, n))
}
fn int(name: &str, n: u64) -> Vec<u8> {
    attribute(name, number(7, n))
}
fn text(name: &str, t: &str) -> Vec<u8> {
    attribute(name, bytes(29, t.as_bytes()))
}

/// A node of a type; proto3 leaves zeros out.
fn node(id: u64, kind: u64, after: &[u64], more: &[Vec<u8>]) -> Vec<u8> {
    let id = if id == 0 { vec![] } else { number(1, id) };
    let after: Vec<u8> = after.iter().flat_map(|&a| varint(a)).collect();
    let after = if after.is_empty() { vec![] } else { bytes(5, &after) };
    [id, bytes(2, b"work"), number(3, kind), after, more.concat()].concat()
}
fn compute(id: u64, us: u64, after: &[u64]) -> Vec<u8> {
    node(id, 4, after, &[number(7, us)])
}
fn send(id: u64, to: u64, size: u64, tag: u64, after: &[u64]) -> Vec<u8> {
    node(id, 5, after, &[long("comm_size", size), int("comm_dst", to), int("comm_tag", tag)])
}
fn receive(id: u64, from: u64, size: u64, tag: u64, after: &[u64]) -> Vec<u8> {
    node(id, 6, after, &[long("comm_size", size), int("comm_src", from), int("comm_tag", tag)])
}
fn collective(id: u64, kind: u64, size: u64, group: &str, after: &[u64]) -> Vec<u8> {
    let group = if group.is_empty() { vec![] } else { text("pg_name", group) };
    node(id, 7, after, &[long("comm_type", kind), long("comm_size", size), group])
}

/// A file: metadata and nodes, each after its length.
fn file(nodes: &[Vec<u8>]) -> Vec<u8> {
    let metadata = bytes(1, b"0.0.4");
    std::iter::once(&metadata)
        .chain(nodes)
        .flat_map(|m| [varint(m.len() as u64), m.clone()].concat())
        .collect()
}

fn zipped(file: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    out.write_all(file).unwrap();
    out.finish().unwrap()
}

fn load_in(folder: &Path, job: &str) -> Result<NetworkScenario, String> {
    let scenario = format!(
        "[run]\nduration = \"200ms\"\n[topology]\nkind = \"star\"\nhosts = 4\nrate = \"100Gbps\"\ndelay = \"1us\"\n\
         [host]\nframe_max = \"1048B\"\nheader = \"48B\"\n[flow_control]\nkind = \"pfc\"\n[[job]]\n{job}"
    );
    NetworkScenario::from_text("job.toml", &scenario, &[], folder).map_err(|e| e.to_string())
}

fn load(ranks: &[Vec<u8>], job: &str) -> Result<NetworkScenario, String> {
    let folder = tempfile::tempdir().unwrap();
    for (rank, bytes) in ranks.iter().enumerate() {
        std::fs::write(folder.path().join(format!("x.{rank}.et")), bytes).unwrap();
    }
    let groups = if ranks.len() < 4 { r#"{"a": [0, 1]}"# } else { r#"{"a": [0, 1], "b": [2, 3]}"# };
    std::fs::write(folder.path().join("groups.json"), groups).unwrap();
    std::fs::write(folder.path().join("outside.json"), r#"{"a": [0, 9]}"#).unwrap();
    load_in(folder.path(), &format!("chakra = \"x\"\n{job}"))
}

fn run(ranks: &[Vec<u8>], job: &str) -> Finished {
    let s = load(ranks, job).unwrap_or_else(|e| panic!("{e}"));
    let f = s.run(Sink::Nothing).unwrap();
    assert_eq!(f.outcome.violations, []);
    f
}

fn ends(f: &Finished) -> Vec<u64> {
    f.outcome.ranks[0].iter().map(|r| r.log.iterations[0].1.expect("an end").0).collect()
}

/// Two ranks that compute, exchange a message and sum up: a pipeline.
fn pipeline() -> Vec<Vec<u8>> {
    let first =
        [compute(0, 120, &[]), send(1, 1, 100_000, 7, &[0]), collective(2, 0, 200_000, "a", &[1])];
    let second = [
        receive(5, 0, 100_000, 7, &[]),
        compute(6, 30, &[5]),
        collective(9, 0, 200_000, "a", &[6]),
    ];
    vec![file(&first), file(&second)]
}
const GROUPS: &str = "chakra_groups = \"groups.json\"\n";

/// Nodes begin when what they depend on has ended; the all-reduce begins where both ranks have
/// come.
#[test]
fn a_pipeline_takes_what_its_nodes_take() {
    let message = 101 * TX + 2 * D;
    // Rank 1 comes last. It has the first part of rank 0 by then, and so sends both of its own at
    // once.
    let last = 120_000_000 + message + 30_000_000;
    let ended = [last + 201 * TX + 2 * D, last + 2 * message];
    assert_eq!(ends(&run(&pipeline(), GROUPS)), ended);
    let gz: Vec<Vec<u8>> = pipeline().iter().map(|f| zipped(f)).collect();
    assert_eq!(ends(&run(&gz, GROUPS)), ended);
    // Twice as much, each iteration after the previous one.
    let f = run(&pipeline(), &format!("{GROUPS}iterations = 2\n"));
    assert_eq!(f.outcome.ranks[0][0].log.iterations.len(), 2);
}

/// Collectives equal those of a scenario, for every type; a ring's all-gather is of shares unless
/// the job says otherwise.
#[test]
fn collectives_are_those_of_scenarios() {
    for (number, kind, size, option) in [
        (0, "all-reduce", 400_000, ""),
        (0, "all-reduce", 400_000, "halving-doubling"),
        (2, "all-gather", 100_000, "share"),
        (2, "all-gather", 400_000, "whole"),
        (5, "broadcast", 400_000, ""),
        (1, "reduce", 400_000, ""),
        (6, "all-to-all", 400_000, ""),
        (7, "reduce-scatter", 400_000, ""),
        (8, "reduce-scatter", 400_000, ""),
        (9, "barrier", 0, ""),
    ] {
        let ranks = vec![file(&[collective(3, number, size, "", &[])]); 4];
        let job = match (kind, option) {
            (_, "") => String::new(),
            ("all-reduce", o) => format!("chakra_all_reduce = \"{o}\"\n"),
            (_, o) => format!("chakra_all_gather = \"{o}\"\n"),
        };
        let algorithm = if kind == "all-reduce" && !option.is_empty() {
            format!("algorithm = \"{option}\"\n")
        } else {
            String::new()
        };
        let size = if kind == "barrier" { String::new() } else { "size = \"400KB\"\n".to_owned() };
        let same = load_in(
            Path::new("."),
            &format!("[[collective]]\nkind = \"{kind}\"\n{size}{algorithm}"),
        )
        .unwrap_or_else(|e| panic!("{kind}: {e}"));
        assert_eq!(
            ends(&run(&ranks, &job)),
            ends(&same.run(Sink::Nothing).unwrap()),
            "{kind} {option}"
        );
    }
}

/// Groups by name or by dimension run side by side; a group of one rank exchanges nothing.
#[test]
fn groups_are_named_or_dimensions() {
    let pair = 2 * (101 * TX + 2 * D);
    let named: Vec<_> =
        ["a", "a", "b", "b"].iter().map(|g| file(&[collective(1, 0, 200_000, g, &[])])).collect();
    assert_eq!(ends(&run(&named, GROUPS)), [pair; 4]);
    let dims = |values: &[u8]| {
        let flags = attribute("involved_dim", bytes(28, &bytes(1, values)));
        vec![file(&[[collective(1, 0, 200_000, "", &[]), flags].concat()]); 4]
    };
    for involved in [[1, 0], [0, 1]] {
        assert_eq!(ends(&run(&dims(&involved), "chakra_dimensions = \"2x2\"\n")), [pair; 4]);
    }
    assert_eq!(ends(&run(&dims(&[0, 0]), "chakra_dimensions = \"2x2\"\n")), [0; 4]);
    let all = ends(&run(&dims(&[1, 1, 1]), ""));
    assert_eq!(all, ends(&run(&vec![file(&[collective(1, 0, 200_000, "0", &[])]); 4], "")));
}

/// The accelerator computes one node after the other; the processor computes in parallel.
#[test]
fn the_processor_computes_beside_the_accelerator() {
    let on_processor =
        |id: u64, us: u64| [compute(id, us, &[]), attribute("is_cpu_op", number(27, 1))].concat();
    let one = file(&[
        compute(1, 10, &[]),
        compute(2, 20, &[]),
        on_processor(3, 25),
        node(4, 1, &[], &[]),
        node(5, 2, &[], &[number(7, 3)]),
    ]);
    assert_eq!(ends(&run(&[one], "")), [30_000_000]);
}

/// A rank is busy with one message at a time, in parallel with its computing.
#[test]
fn overheads_of_messages_follow_each_other() {
    let ranks = [
        file(&[compute(0, 100, &[]), send(1, 1, 1000, 0, &[]), send(2, 1, 1000, 1, &[])]),
        file(&[compute(0, 100, &[]), receive(1, 0, 1000, 0, &[]), receive(2, 0, 1000, 1, &[])]),
    ];
    let f = run(&ranks, "send_overhead = \"1us\"\nreceive_overhead = \"5us\"\n");
    let ended = |rank: usize| {
        f.outcome.ranks[0][rank].log.ops.iter().map(|t| t.ended.0).collect::<Vec<_>>()
    };
    let there = D + 2 * TX + 2 * D;
    assert_eq!(ended(0), [100 * D, D, 2 * D]);
    assert_eq!(ended(1), [100 * D, there + 5 * D, there + 10 * D]);
}

/// Nodes with operations and without a duration take the longer of both parts of a roofline; before,
/// they took no time. A duration is a measurement, and stays.
#[test]
fn operations_take_the_time_of_a_roofline() {
    let node = |id: u64, us: u64, operations: u64, bytes: u64| {
        [compute(id, us, &[]), long("num_ops", operations), long("tensor_size", bytes)].concat()
    };
    let nodes = [node(1, 0, 3_000_000, 1_000), node(2, 0, 1_000, 3_000_000), node(3, 7, 1, 1)];
    let trace = [file(&nodes)];
    let took = |keys: &str| {
        let f = run(&trace, keys);
        let ops = &f.outcome.ranks[0][0].log.ops;
        ops.iter().map(|t| t.ended.0 - t.begun.0).collect::<Vec<_>>()
    };
    let us = 1_000_000;
    let peak = "chakra_peak_perf = 1\n";
    let memory = "chakra_memory_bandwidth = 500\n";
    assert_eq!(took(peak), [3 * us, 1_000, 7 * us]);
    assert_eq!(took(&format!("{peak}{memory}")), [3 * us, 6 * us, 7 * us]);
    let half = format!("{peak}{memory}chakra_efficiency = 0.5\n");
    assert_eq!(took(&half), [6 * us, 12 * us, 7 * us]);
    assert_eq!(took("chakra_peak_perf = 0\n"), [0, 0, 7 * us]);
    for (keys, wanted) in [
        ("", "2 nodes compute a number of operations and have no duration"),
        (memory, "the speed of the accelerator is missing"),
        ("chakra_peak_perf = -1\n", "expected 0 or more"),
        ("chakra_peak_perf = 1\nchakra_efficiency = 1.1\n", "at most 1"),
        ("chakra_peak_perf = 1\nchakra_memory_bandwidth = 0\n", "more than 0, in GB/s"),
        ("chakra_peak_perf = 0.000000000001\n", "it computes 3000000 operations"),
    ] {
        let e = load(&trace, keys).err().unwrap_or_else(|| panic!("{keys}")).to_string();
        assert!(e.contains(wanted), "{wanted}: {e}");
    }
}

/// Name, file of each rank, keys of the job, place and text of the error.
type Case = (&'static str, Vec<Vec<u8>>, &'static str, &'static str, &'static str);

#[test]
#[expect(clippy::too_many_lines, reason = "a list of cases")]
fn broken_traces_are_refused_with_rank_and_node() {
    let two = |a: Vec<Vec<u8>>, b: Vec<Vec<u8>>| vec![file(&a), file(&b)];
    let whole = file(&[compute(0, 120, &[]), compute(1, 5, &[0])]);
    let float = [vec![5 << 3 | 5], 1.0e6f32.to_le_bytes().to_vec()].concat();
    let control = |id: u64, on: u64| [compute(id, 1, &[]), bytes(4, &varint(on))].concat();
    let gather = |kind| vec![file(&[collective(1, kind, 8, "", &[])]); 2];
    let cases: &[Case] = &[
        (
            "cut",
            vec![whole[..whole.len() - 2].to_vec()],
            "",
            "x.0.et: after 1 nodes",
            "the file ends after",
        ),
        ("nothing", vec![file(&[]); 2], "", "job.toml:", "contains no operation"),
        (
            "length",
            vec![[file(&[]), vec![0x80]].concat()],
            "",
            "x.0.et: after 0 nodes",
            "in the length",
        ),
        (
            "endless",
            vec![[file(&[]), vec![0xff; 12]].concat()],
            "",
            "x.0.et",
            "is longer than 32 bits",
        ),
        ("gzip", vec![zipped(&whole)[..30].to_vec()], "", "x.0.et", "unpacked"),
        (
            "metadata",
            vec![[varint(whole.len() as u64), whole.clone()].concat()],
            "",
            "x.0.et",
            "not GlobalMetadata",
        ),
        ("empty", vec![vec![]], "", "x.0.et", "the file is empty"),
        (
            "size",
            two(vec![node(0, 5, &[], &[int("comm_dst", 1)])], vec![]),
            "",
            "x.0.et: node 0 'work'",
            "no comm_size",
        ),
        (
            "float",
            vec![
                file(&[node(4, 7, &[], &[long("comm_type", 0), attribute("comm_size", float)])]);
                2
            ],
            "",
            "x.0.et: node 4",
            "floating",
        ),
        ("minus", two(vec![send(4, 1, u64::MAX, 0, &[])], vec![]), "", "x.0.et: node 4", "-1 B"),
        (
            "cycle",
            vec![file(&[compute(1, 1, &[2]), compute(2, 1, &[1])])],
            "",
            "x.0.et: node 1 'work'",
            "cycle of dependencies",
        ),
        (
            "control",
            vec![file(&[control(1, 2), control(2, 1)])],
            "",
            "x.0.et",
            "cycle of dependencies",
        ),
        (
            "unknown",
            vec![file(&[compute(1, 1, &[99])])],
            "",
            "x.0.et: node 1",
            "depends on node 99",
        ),
        (
            "twice",
            vec![file(&[compute(1, 1, &[]), compute(1, 1, &[])])],
            "",
            "x.0.et: node 1",
            "not unique",
        ),
        (
            "tags",
            two(vec![send(1, 1, 8, 3, &[])], vec![receive(1, 0, 8, 4, &[])]),
            "",
            "x.1.et: node 1",
            "never sent",
        ),
        ("self", two(vec![send(1, 0, 8, 3, &[])], vec![]), "", "x.0.et: node 1", "itself"),
        ("rank", two(vec![send(1, 5, 8, 3, &[])], vec![]), "", "x.0.et: node 1", "no rank 5"),
        ("type", vec![file(&[node(1, 9, &[], &[])])], "", "x.0.et: node 1", "type 9"),
        (
            "differ",
            two(vec![collective(1, 0, 8, "", &[])], vec![collective(1, 0, 9, "", &[])]),
            "",
            "x.1.et: node 1",
            "of 9 B",
        ),
        (
            "kinds",
            two(vec![collective(1, 0, 8, "", &[])], vec![collective(1, 2, 4, "", &[])]),
            "",
            "x.1.et: node 1",
            "all-gather",
        ),
        (
            "missing",
            two(vec![collective(1, 0, 8, "", &[])], vec![]),
            "",
            "x.0.et: node 1",
            "rank 1 has only 0 collectives",
        ),
        ("gather", gather(3), "", "x.0.et: node 1", "a gather"),
        ("number", gather(12), "", "x.0.et: node 1", "comm_type 12"),
        (
            "group",
            two(vec![collective(1, 0, 8, "q", &[])], vec![]),
            GROUPS,
            "x.0.et: node 1",
            "no process group 'q'",
        ),
        ("member", two(vec![collective(1, 0, 8, "b", &[])], vec![]), "", "x.0.et", "chakra_groups"),
        (
            "outside",
            two(vec![], vec![]),
            "chakra_groups = \"outside.json\"\n",
            "outside.json",
            "rank 9",
        ),
        ("long", vec![file(&[compute(1, 1 << 60, &[])])], "", "x.0.et: node 1", "11.6 days"),
        ("product", two(vec![], vec![]), "chakra_dimensions = \"4x2\"\n", "", "give 8 ranks"),
    ];
    for (name, ranks, job, place, what) in cases {
        let e = load(ranks, job).err().unwrap_or_else(|| panic!("{name} was read"));
        assert!(e.contains(place) && e.contains(what), "{name}: {e}");
    }
    // Ranks wait for each other: the application is blocked.
    let both = |peer| vec![receive(1, peer, 8, 0, &[]), send(2, peer, 8, 0, &[1])];
    let e = load(&two(both(1), both(0)), "").err().unwrap();
    assert!(e.contains("deadlock of the application"), "{e}");
    let e = load(&[], "").err().unwrap();
    assert!(e.contains("there is no file") && e.contains("x.0.et"), "{e}");
}

/// Every good sample is read, every broken one refused.
#[test]
fn samples_are_read_or_refused() {
    let Some(folder) = xoff_testing::sample("ai/chakra") else { return };
    for (prefix, ranks) in [("pipeline", 2), ("pipeline-gz", 2), ("real-all_reduce", 4)] {
        let s = load_in(
            &folder,
            &format!("chakra = \"{prefix}\"\nchakra_groups = \"comm_group.json\"\n"),
        )
        .unwrap_or_else(|e| panic!("{prefix}: {e}"));
        assert_eq!(ends(&s.run(Sink::Nothing).unwrap()).len(), ranks, "{prefix}");
    }
    let broken: Vec<PathBuf> =
        std::fs::read_dir(folder.join("broken")).unwrap().map(|f| f.unwrap().path()).collect();
    let mut prefixes: Vec<String> = broken
        .iter()
        .map(|p| p.file_name().unwrap().to_str().unwrap().split('.').next().unwrap().to_owned())
        .collect();
    prefixes.sort();
    prefixes.dedup();
    assert!(prefixes.len() >= 8, "{prefixes:?}");
    for prefix in prefixes {
        let e = load_in(&folder.join("broken"), &format!("chakra = \"{prefix}\"\n")).err();
        println!("{prefix}: {}", e.unwrap_or_else(|| panic!("{prefix} was read")));
    }
}
