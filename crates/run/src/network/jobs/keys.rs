//! The keys of `[[job]]` and `[[collective]]`.

use xoff_scenario::document::SectionSpec;
use xoff_units::params::{Kind, ParamSpec};

pub(super) const KINDS: &[&str] =
    &["all-reduce", "reduce-scatter", "all-gather", "broadcast", "reduce", "all-to-all", "barrier"];
pub(super) const ALGORITHMS: &[&str] = &[
    "ring",
    "halving-doubling",
    "double-binary-tree",
    "binomial-tree",
    "direct",
    "dissemination",
    "hierarchical",
];

/// Algorithms of an all-reduce.
const ALL_REDUCE: &[&str] =
    &["ring", "halving-doubling", "double-binary-tree", "direct", "hierarchical"];

const JOB: &[ParamSpec] = &[
    ParamSpec::optional(
        "name",
        Kind::Text,
        "name in tables and messages; default: `job` and its number",
        "",
    ),
    ParamSpec::optional(
        "hosts",
        Kind::Texts,
        "the host of each rank, in the order of the ranks; default: every host",
        "",
    ),
    ParamSpec::optional(
        "ranks",
        Kind::Count,
        "only this number of these hosts, the first ones; default: all of them",
        "",
    ),
    ParamSpec::new(
        "placement",
        Kind::Choice(&["in-order", "strided", "random"]),
        "in-order",
        "host of the next rank: the next host, the host `stride` further on, or a random host of the run's seed",
        "",
    ),
    ParamSpec::new(
        "stride",
        Kind::Count,
        "1",
        "strided: distance between the hosts of two ranks",
        "",
    ),
    ParamSpec::new(
        "iterations",
        Kind::Count,
        "1",
        "number of iterations of its operations; each rank runs at its own pace",
        "",
    ),
    ParamSpec::new("start", Kind::Span, "0us", "start of the first iteration", ""),
    ParamSpec::new("priority", Kind::Count, "0", "priority of its messages, 0 to 7", ""),
    ParamSpec::new(
        "queue_pairs",
        Kind::Count,
        "1",
        "queue pairs of a rank for each peer; a channel uses the pair of its number, modulo this; rate control keeps its state from one message of a pair to the next",
        "",
    ),
    ParamSpec::optional(
        "src_port",
        Kind::Count,
        "source port of the first queue pair for ECMP hashes, 1 to 65279; absent: 10000, and 256 more for each job before it",
        "",
    ),
    ParamSpec::optional(
        "goal",
        Kind::Text,
        "a file of GOAL text with its operations, instead of collectives; a time in it is ns",
        "LogGOPSim",
    ),
    ParamSpec::optional(
        "msccl",
        Kind::Text,
        "a file of MSCCL XML with its operations, instead of collectives",
        "msccl-tools",
    ),
    ParamSpec::optional(
        "message_size",
        Kind::Bytes,
        "msccl: bytes that the algorithm divides into chunks",
        "",
    ),
    ParamSpec::optional(
        "chakra",
        Kind::Text,
        "Chakra traces with its operations, instead of collectives: the path before `.0.et`, `.1.et` and so on, a file for each rank",
        "mlcommons/chakra",
    ),
    ParamSpec::optional(
        "chakra_groups",
        Kind::Text,
        "chakra: a JSON file with the ranks of each process group",
        "",
    ),
    ParamSpec::optional(
        "chakra_dimensions",
        Kind::Text,
        "chakra: sizes of the dimensions that collectives use, the innermost first: `8x2`",
        "astra-sim: logical-dims",
    ),
    ParamSpec::new(
        "chakra_all_reduce",
        Kind::Choice(ALL_REDUCE),
        "ring",
        "chakra: algorithm of an all-reduce, which a trace does not contain",
        "",
    ),
    ParamSpec::new(
        "chakra_all_gather",
        Kind::Choice(&["share", "whole"]),
        "share",
        "chakra: meaning of the size of an all-gather: one rank's share, or the whole",
        "astra-sim: share",
    ),
    ParamSpec::new(
        "chakra_control",
        Kind::Flag,
        "true",
        "chakra: `ctrl_deps` count as well as `data_deps`",
        "astra-sim takes both",
    ),
    ParamSpec::optional(
        "chakra_peak_perf",
        Kind::Float,
        "chakra: speed of the accelerator for nodes with a number of operations and no duration [10^12 operations/s]; 0: they take no time",
        "astra-sim: peak-perf",
    ),
    ParamSpec::optional(
        "chakra_memory_bandwidth",
        Kind::Float,
        "chakra: memory bandwidth of the accelerator, which limits such nodes by their `tensor_size` [GB/s]; default: no limit",
        "astra-sim: local-mem-bw",
    ),
    ParamSpec::new(
        "chakra_efficiency",
        Kind::Float,
        "1",
        "chakra: part of both that such nodes reach, above 0 to 1",
        "",
    ),
    ParamSpec::optional(
        "htsim",
        Kind::Text,
        "a connection matrix of htsim with its operations, triggers too, instead of collectives: host n is rank n",
        "uet-htsim",
    ),
    ParamSpec::new(
        "htsim_start",
        Kind::Choice(&["us", "ps"]),
        "us",
        "htsim: unit of start times; programs differ",
        "",
    ),
    ParamSpec::optional(
        "simai",
        Kind::Text,
        "a workload text of SimAI with its operations, instead of collectives",
        "SimAI",
    ),
    ParamSpec::optional(
        "stream",
        Kind::Flag,
        "keep operations and messages of all jobs in a temporary file, and remove finished ones from memory: for traces larger than memory; same results",
        "",
    ),
    ParamSpec::new(
        "compute",
        Kind::Span,
        "0us",
        "computation of every rank after the last collective of an iteration",
        "",
    ),
    ParamSpec::new(
        "send_overhead",
        Kind::Span,
        "0us",
        "time for which a rank is busy with a message before it passes it to the network",
        "LogP: o",
    ),
    ParamSpec::new(
        "receive_overhead",
        Kind::Span,
        "0us",
        "time for which a rank is busy with a message that has arrived",
        "LogP: o",
    ),
    ParamSpec::new(
        "gap",
        Kind::Span,
        "0us",
        "shortest time between two messages that a rank sends, and between two that it receives: a NIC's message rate",
        "LogP: g",
    ),
    ParamSpec::new(
        "node_ranks",
        Kind::Count,
        "1",
        "ranks of a node, which are consecutive and exchange messages without the network",
        "",
    ),
    ParamSpec::new(
        "node_rate",
        Kind::Rate,
        "3200Gbps",
        "rate at which a rank sends to the others of its node, one message at a time",
        "astra-sim, HGX-H100: 400 GB/s",
    ),
    ParamSpec::new(
        "node_latency",
        Kind::Span,
        "936.25ns",
        "time from the last byte of such a message to its arrival",
        "astra-sim, HGX-H100",
    ),
    ParamSpec::optional("slow_hosts", Kind::Texts, "hosts with slower computation", ""),
    ParamSpec::new(
        "slow_by",
        Kind::Float,
        "1",
        "factor by which computation takes longer there, to a thousandth",
        "",
    ),
];

const COLLECTIVE: &[ParamSpec] = &[
    ParamSpec::optional("job", Kind::Text, "name of its job; default: the only one", ""),
    ParamSpec::optional("name", Kind::Text, "name in tables and messages; default: its kind", ""),
    ParamSpec::new("kind", Kind::Choice(KINDS), "all-reduce", "what it computes", ""),
    ParamSpec::optional(
        "algorithm",
        Kind::Choice(ALGORITHMS),
        "algorithm; default: ring, for all-to-all direct, for broadcast and reduce binomial-tree, for barrier dissemination",
        "",
    ),
    ParamSpec::optional(
        "size",
        Kind::Bytes,
        "bytes of a rank's vector; for an all-gather, the gathered whole; for an all-to-all, all bytes of a rank including its own share",
        "",
    ),
    ParamSpec::optional(
        "groups",
        Kind::Texts,
        "ranks of each group; groups run at the same time: `0-7`, `0-56/8` (every eighth), `0,3,5`; default: all ranks in one group",
        "",
    ),
    ParamSpec::new(
        "root",
        Kind::Count,
        "0",
        "broadcast, reduce: position of the root in its group",
        "",
    ),
    ParamSpec::new(
        "channels",
        Kind::Count,
        "1",
        "parts of the bytes that are sent in parallel",
        "NCCL: channels",
    ),
    ParamSpec::optional(
        "chunk",
        Kind::Bytes,
        "largest piece of a channel: pieces overlap; default: a channel is one piece",
        "",
    ),
    ParamSpec::new(
        "peers",
        Kind::Count,
        "0",
        "all-to-all: messages that a rank sends in parallel, each until its last frame is on the wire; 0: all",
        "",
    ),
    ParamSpec::optional(
        "matrix",
        Kind::Text,
        "all-to-all: a file with the bytes from each rank to each other, one line per sender, for mixtures of experts",
        "",
    ),
    ParamSpec::new("compute", Kind::Span, "0us", "computation of its ranks before it", ""),
    ParamSpec::new("overlap", Kind::Flag, "false", "the next computation does not wait for it", ""),
];

/// `[[job]]`.
pub(crate) fn job() -> SectionSpec {
    SectionSpec::many(
        "job",
        "Ranks that compute and exchange messages, as a training job does.",
        vec![JOB],
    )
}

/// `[[collective]]`.
pub(crate) fn collective() -> SectionSpec {
    SectionSpec::many(
        "collective",
        "A collective operation of a job, after the previous ones.",
        vec![COLLECTIVE],
    )
}
