//! From `[[job]]` and `[[collective]]` to jobs.

use std::path::Path;
use std::sync::Arc;

use xoff_net::jobs::collectives::{ALGORITHMS, KINDS, Kind};
use xoff_net::jobs::{Collective, Graph, Inner, Job, NONE, Op, Overheads, Work};
use xoff_net::topology::{NodeKind, Topology};
use xoff_net::workload::Flows;
use xoff_net::workload::flow::PAIRS_MAX;
use xoff_net::workload::random::{Purpose, below, entity, stream};
use xoff_scenario::document::{Document, Section};
use xoff_scenario::{Problem, Problems, Source};
use xoff_units::paged::{Items, PageFile};
use xoff_units::params::suggest::nearest;
use xoff_units::params::{ParamError, Values};
use xoff_units::{NodeId, Rate, Span, Time};

use super::traces::{graph, read_trace};
use super::{keys, room};

/// Messages that a run can have.
const FLOWS_MAX: u64 = 1 << 28;

/// Defaults of the way within a node.
const NODE_RATE: Rate = Rate(3_200_000_000_000);
const NODE_LATENCY: Span = Span(936_250);
/// Streams that compute, and streams that are busy with messages; no stream of a trace has this
/// number (a `cpu` of GOAL is at most 255).
const COMPUTING: u16 = 0;
const MESSAGING: u16 = 256;

/// A job while its collectives are added.
struct Draft {
    job: Job,
    graph: Graph,
    compute: Span,
    /// By rank: operations that the next computing waits for, and the end of the last collective.
    ready: Vec<Vec<u32>>,
    comm: Vec<u32>,
    node_ranks: u32,
    collectives: u32,
    /// True for operations from a file, which have been checked.
    from_trace: bool,
}

/// Reads all jobs and adds them to the flows; `None`: something is wrong, which the document knows.
/// `suits` refuses or warns of keys that mean nothing in the world of the caller.
pub(crate) fn read_jobs(
    doc: &Document,
    topology: &Topology,
    (seed, end): (u64, Time),
    folder: &Path,
    flows: &mut Flows,
    suits: impl Fn(&mut Section<'_>, &Job) -> Result<(), ParamError>,
) -> Option<()> {
    let mut complete = true;
    let mut drafts: Vec<Draft> = Vec::new();
    let mut sections = doc.open_all(&keys::job());
    // Flows are numbered through all jobs: either none of them is streamed, or all are.
    let streamed = sections
        .iter_mut()
        .any(|s| s.take(|s| Ok(s.given("stream") && s.flag("stream")?)) == Some(true));
    let of_run = flows.pages.as_ref().map(|pages| Ok(pages.file.clone()));
    let pages = match of_run.or_else(|| streamed.then(page_file)).transpose() {
        Ok(pages) => pages,
        Err(problem) => {
            doc.push(problem.at(doc.source().place(0..0)));
            return None;
        }
    };
    for (nth, section) in sections.iter_mut().enumerate() {
        let draft = section.take(|s| {
            let draft = read_job(s, topology, (seed, nth), folder, pages.as_ref())?;
            suits(s, &draft.job).map(|()| draft)
        });
        match draft {
            Some(draft) if drafts.iter().any(|d| d.job.name == draft.job.name) => {
                section.refuse(&ParamError::new(
                    "name",
                    format!("two jobs have the name '{}'", draft.job.name),
                    "give each job its own name",
                ));
                complete = false;
            }
            Some(draft) => {
                drafts.push(draft);
            }
            None => complete = false,
        }
    }
    for mut section in doc.open_all(&keys::collective()) {
        if !complete {
            continue; // it may name a job that has a mistake
        }
        complete &= section.take(|s| add_collective(s, &mut drafts, folder)).is_some();
    }
    if !complete {
        return None;
    }
    let mut jobs = Vec::new();
    for (draft, section) in drafts.into_iter().zip(&mut sections) {
        let mut job = section.take(|_| finish(draft))?;
        if let Some(warning) = section.take(|_| room::of_job(&job))? {
            section.warn(&warning);
        }
        // Its phases have the labels after its own.
        job.label = flows.labels.len() as u32;
        if job.start >= end {
            let what = format!(
                "the job starts at {}, but the run ends at {end}: the job does nothing",
                job.start
            );
            section.warn(&ParamError::new(
                "start",
                what,
                "choose an earlier start, or extend run.duration",
            ));
        }
        flows.labels.push(format!("{} {}", section.path(), job.name));
        flows.labels.extend(job.graph.phases.iter().map(|p| format!("{} {}", job.name, p.name)));
        jobs.push(job);
    }
    if !flows.loops.is_empty() && !jobs.is_empty() {
        let problem = Problem::new(
            "the scenario has a closed loop and a job",
            "remove one of them: a closed loop numbers its flows as they end",
        );
        doc.push(problem.at(doc.source().place(0..0)));
        return None;
    }
    let messages = flows.flows.len() as u64 + jobs.iter().map(Job::flows).sum::<u64>();
    if messages > FLOWS_MAX {
        let problem = Problem::new(
            format!("{messages} messages and flows"),
            format!("at most {FLOWS_MAX}: fewer iterations, larger chunks"),
        );
        doc.push(problem.at(doc.source().place(0..0)));
        return None;
    }
    if let Some(e) = pages.and_then(|p| p.failed()) {
        let what = format!(
            "operations of jobs cannot be written to '{}': {e}",
            crate::temporary().display()
        );
        doc.push(
            Problem::new(what, "free some space, or set TMPDIR to another folder")
                .at(doc.source().place(0..0)),
        );
        return None;
    }
    flows.add_jobs(jobs);
    Some(())
}

/// A temporary file for data that does not fit into memory. It has no name, and disappears with
/// this process.
pub(in crate::network) fn page_file() -> Result<PageFile, Problem> {
    tempfile::tempfile_in(crate::temporary()).map(PageFile::new).map_err(|e| {
        let what =
            format!("cannot create a temporary file in '{}': {e}", crate::temporary().display());
        Problem::new(
            what,
            "set TMPDIR to another folder: a streamed run or job needs a temporary file",
        )
    })
}

fn find_host(topology: &Topology, key: &str, name: &str) -> Result<NodeId, ParamError> {
    match topology.find(name) {
        Some(n) if topology.nodes[n.index()].kind == NodeKind::Host => Ok(n),
        Some(_) => Err(ParamError::new(key, format!("'{name}' is a switch"), "ranks run on hosts")),
        None => {
            let hint = match nearest(name, topology.hosts().map(|h| topology.name(h))) {
                Some(near) => format!("did you mean '{near}'?"),
                None => "expected the name of a host of this topology".into(),
            };
            Err(ParamError::new(key, format!("there is no host '{name}'"), hint))
        }
    }
}

/// The host of each rank.
fn placed(
    s: &mut Section<'_>,
    topology: &Topology,
    (seed, nth): (u64, usize),
    trace: Option<u32>,
) -> Result<Vec<NodeId>, ParamError> {
    let names = s.texts("hosts")?;
    if names.is_empty() && s.given("hosts") {
        return Err(ParamError::new(
            "hosts",
            "the list is empty",
            "name the host of each rank, or remove the key (default: every host)",
        ));
    }
    let mut hosts =
        names.iter().map(|n| find_host(topology, "hosts", n)).collect::<Result<Vec<_>, _>>()?;
    for (i, h) in hosts.iter().enumerate() {
        if hosts[..i].contains(h) {
            let what = format!("'{}' is listed twice", topology.name(*h));
            return Err(ParamError::new("hosts", what, "each host has at most one rank of a job"));
        }
    }
    if names.is_empty() {
        hosts = topology
            .hosts()
            .filter(|&h| {
                topology.nodes[h.index()].ports.iter().any(|p| topology.links[p.link as usize].up)
            })
            .collect();
    }
    let all = hosts.len();
    let (stride, placement) = (s.count("stride")? as usize, s.text("placement")?);
    match placement.as_str() {
        "strided" => {
            if stride == 0 || stride > all.max(1) {
                return Err(ParamError::new(
                    "stride",
                    format!("{stride} among {all} hosts"),
                    "expected 1 or more, at most the number of hosts",
                ));
            }
            hosts = (0..stride)
                .flat_map(|first| {
                    hosts.iter().skip(first).step_by(stride).copied().collect::<Vec<_>>()
                })
                .collect();
        }
        "random" => {
            // Each host draws a key of its own: a host more leaves the order of the others.
            let key = |h: &NodeId| {
                below(
                    &mut stream(seed, entity(topology.name(*h)), Purpose::Placement.of(nth as u32)),
                    u64::MAX,
                )
            };
            hosts.sort_by_cached_key(|h| (key(h), *h));
        }
        _ => {}
    }
    let ranks = s.count_opt("ranks")?;
    if let (Some(given), Some(of_trace)) = (ranks, trace)
        && given != of_trace as u64
    {
        return Err(ParamError::new(
            "ranks",
            format!("{given}, but the trace has {of_trace}"),
            "remove the key",
        ));
    }
    if let Some(ranks) = trace.map(u64::from).or(ranks) {
        if ranks > all as u64 {
            let what = format!("{ranks} ranks on {all} hosts: rank {all} has no host");
            return Err(ParamError::new("ranks", what, "fewer ranks, or more hosts"));
        }
        hosts.truncate(ranks as usize);
    }
    if hosts.len() < 2 && trace.is_none() {
        return Err(ParamError::new(
            "hosts",
            format!("{} rank{}", hosts.len(), if hosts.len() == 1 { "" } else { "s" }),
            "a job needs at least two ranks",
        ));
    }
    Ok(hosts)
}

fn read_job(
    s: &mut Section<'_>,
    topology: &Topology,
    (seed, nth): (u64, usize),
    folder: &Path,
    pages: Option<&PageFile>,
) -> Result<Draft, ParamError> {
    let name = s.text_opt("name")?.unwrap_or_else(|| format!("job{nth}"));
    let trace = read_trace(s, folder, pages)?;
    let hosts = placed(s, topology, (seed, nth), trace.as_ref().map(Graph::ranks))?;
    // A value without effect is rejected; the resolved scenario has its default.
    let strided = s.text("placement")? == "strided";
    let nodes = s.count("node_ranks")? > 1;
    let slow = s.given("slow_hosts");
    for (key, of, means_nothing) in [
        ("stride", "placement = \"strided\"", !strided && s.count("stride")? != 1),
        ("node_rate", "node_ranks", !nodes && s.rate("node_rate")? != NODE_RATE),
        ("node_latency", "node_ranks", !nodes && s.span("node_latency")? != NODE_LATENCY),
        ("slow_by", "slow_hosts", !slow && s.float("slow_by")? != 1.0),
    ] {
        if means_nothing {
            return Err(ParamError::new(
                key,
                format!("the key has no effect without {of}"),
                format!("add {of}, or remove the key"),
            ));
        }
    }
    let count = |s: &mut Section<'_>, key: &'static str, most: u64| -> Result<u64, ParamError> {
        let n = s.count(key)?;
        if (1..=most).contains(&n) {
            Ok(n)
        } else {
            Err(ParamError::new(key, n.to_string(), format!("expected 1 to {most}")))
        }
    };
    let (iterations, pairs) =
        (count(s, "iterations", 1_000_000)?, count(s, "queue_pairs", PAIRS_MAX as u64)?);
    let priority = s.count("priority")?;
    if priority > 7 {
        return Err(ParamError::new("priority", "there are 8 priorities", "expected 0 to 7"));
    }
    let node_ranks = count(s, "node_ranks", u32::MAX as u64)? as u32;
    if !hosts.len().is_multiple_of(node_ranks as usize) {
        let what = format!("nodes of {node_ranks} among {} ranks", hosts.len());
        return Err(ParamError::new(
            "node_ranks",
            what,
            "expected a number that divides the ranks",
        ));
    }
    let (rate, latency) = (s.rate("node_rate")?, s.span("node_latency")?);
    if rate.0 == 0 {
        return Err(ParamError::new("node_rate", "0", "expected a rate above zero"));
    }
    if s.given("slow_hosts") && s.texts("slow_hosts")?.is_empty() {
        return Err(ParamError::new(
            "slow_hosts",
            "the list is empty",
            "name hosts of the job, or remove the key",
        ));
    }
    let slow = s
        .texts("slow_hosts")?
        .iter()
        .map(|n| find_host(topology, "slow_hosts", n))
        .collect::<Result<Vec<_>, _>>()?;
    let by = s.float("slow_by")?;
    if !(0.001..=1000.0).contains(&by) {
        return Err(ParamError::new("slow_by", by.to_string(), "expected 0.001 to 1000"));
    }
    if let Some(&other) = slow.iter().find(|h| !hosts.contains(h)) {
        let what = format!("'{}' has no rank of this job", topology.name(other));
        return Err(ParamError::new("slow_hosts", what, "name hosts of the job"));
    }
    let pace = hosts
        .iter()
        .map(|h| if slow.contains(h) { (by * 1000.0).round() as u32 } else { 1000 })
        .collect();
    let ranks = hosts.len();
    let ports = 1..=u64::from(u16::MAX - PAIRS_MAX);
    let src_port = match s.count_opt("src_port")? {
        Some(port) if !ports.contains(&port) => {
            let hint = format!("expected 1 to {}: {PAIRS_MAX} queue pairs follow", ports.end());
            return Err(ParamError::new("src_port", format!("port {port}"), hint));
        }
        port => port.unwrap_or(0) as u16,
    };
    let job = Job {
        name,
        label: 0,
        hosts,
        graph: Arc::default(),
        iterations: iterations as u32,
        start: Time(s.span("start")?.0),
        queue_pairs: pairs as u16,
        src_port,
        priority: priority as u8,
        overheads: Overheads {
            send: s.span("send_overhead")?,
            receive: s.span("receive_overhead")?,
            gap: s.span("gap")?,
        },
        inner: (node_ranks > 1).then_some(Inner { ranks: node_ranks, rate, latency }),
        messages: Items::default(),
        first_flow: 0,
        pace,
        sends: Vec::new(),
    };
    let compute = s.span("compute")?;
    let (ready, comm) = (vec![Vec::new(); ranks], vec![NONE; ranks]);
    let from_trace = trace.is_some();
    if from_trace && compute > Span::ZERO {
        return Err(ParamError::new(
            "compute",
            "the trace of the job states its computation",
            "remove the key",
        ));
    }
    let graph = trace.unwrap_or_else(|| graph(ranks, pages));
    if from_trace && graph.ops() == 0 {
        let key = ["goal", "msccl", "chakra", "htsim", "simai"]
            .into_iter()
            .find(|k| s.given(k))
            .unwrap_or("name");
        return Err(ParamError::new(
            key,
            "the file contains no operation",
            "a trace lists the computations, sends and receives of its ranks",
        ));
    }
    room::of_trace(&graph, iterations)?;
    Ok(Draft { job, graph, from_trace, compute, ready, comm, node_ranks, collectives: 0 })
}

/// The ranks that a text like `0-7`, `0-56/8` or `0,3,5` names.
fn ranks_of(text: &str, ranks: u32) -> Result<Vec<u32>, ParamError> {
    let bad = |what: String| {
        ParamError::new("groups", what, "expected ranks such as \"0-7\", \"0-56/8\" or \"0,3,5\"")
    };
    let number = |t: &str| {
        t.trim().parse::<u32>().map_err(|_| bad(format!("'{t}' in '{text}' is not a rank")))
    };
    let mut all = Vec::new();
    for item in text.split(',') {
        let (range, step) = match item.split_once('/') {
            Some((range, step)) => (range, number(step)?),
            None => (item, 1),
        };
        let (from, to) = match range.split_once('-') {
            Some((from, to)) => (number(from)?, number(to)?),
            None => (number(range)?, number(range)?),
        };
        if step == 0 || to < from {
            return Err(bad(format!("'{item}' names no rank")));
        }
        if to >= ranks {
            let what = format!("there is no rank {to}");
            return Err(ParamError::new(
                "groups",
                what,
                format!("the job has the ranks 0 to {}", ranks - 1),
            ));
        }
        all.extend((from..=to).step_by(step as usize));
    }
    Ok(all)
}

/// Bytes from each to each.
fn read_matrix(name: &str, folder: &Path, ranks: usize) -> Result<Vec<u64>, Problems> {
    let source = Source::read(&folder.join(name))?;
    let (mut all, mut rows, mut problems, mut offset) = (Vec::new(), 0, Problems::default(), 0);
    for line in source.text().split_inclusive('\n') {
        let (from, text) = (offset, line.trim());
        offset += line.len();
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        let place = || source.place(from..from + text.len());
        let row: Result<Vec<u64>, &str> = text
            .split([',', ' ', '\t'])
            .filter(|t| !t.is_empty())
            .map(|t| t.parse().map_err(|_| t))
            .collect();
        match row {
            Err(t) => problems.push(
                Problem::new(
                    format!("'{t}' is not a number of bytes"),
                    "whole numbers, separated by commas",
                )
                .at(place()),
            ),
            Ok(row) if row.len() != ranks => {
                let what = format!("{} numbers for {ranks} ranks", row.len());
                problems.push(
                    Problem::new(
                        what,
                        "expected a column for each receiver, in the order of the group",
                    )
                    .at(place()),
                );
            }
            Ok(row) => {
                if row[rows.min(ranks - 1)] != 0 && rows < ranks {
                    let what = format!("rank {rows} sends {} B to itself", row[rows]);
                    problems.push(Problem::new(what, "expected 0 on the diagonal").at(place()));
                }
                all.extend(row);
            }
        }
        rows += 1;
    }
    if problems.is_empty() && rows != ranks {
        problems.push(
            Problem::new(
                format!("{rows} rows for {ranks} ranks"),
                "expected a row for each sender",
            )
            .at(source.place(0..0)),
        );
    }
    problems.or(all)
}

#[expect(clippy::too_many_lines, reason = "a list: one condition an item")]
fn add_collective(
    s: &mut Section<'_>,
    drafts: &mut [Draft],
    folder: &Path,
) -> Result<(), ParamError> {
    let job = s.text_opt("job")?;
    let at = match (&job, drafts.len()) {
        (_, 0) => {
            return Err(ParamError::new(
                "job",
                "the scenario has no [[job]]",
                "add a [[job]]: its hosts are the ranks of the collective",
            ));
        }
        (None, 1) => 0,
        (None, n) => {
            return Err(ParamError::new(
                "job",
                format!("missing: there are {n} jobs"),
                "name the job",
            ));
        }
        (Some(name), _) => drafts.iter().position(|d| d.job.name == *name).ok_or_else(|| {
            let hint = match nearest(name, drafts.iter().map(|d| d.job.name.as_str())) {
                Some(near) => format!("did you mean '{near}'?"),
                None => "expected the name of a [[job]]".into(),
            };
            ParamError::new("job", format!("there is no job '{name}'"), hint)
        })?,
    };
    let draft = &mut drafts[at];
    if draft.from_trace {
        let what = format!("job '{}' takes its operations from a trace", draft.job.name);
        return Err(ParamError::new("job", what, "give the collective its own job"));
    }
    let ranks = draft.job.hosts.len() as u32;
    let kind_name = s.text("kind")?;
    let kind = KINDS.iter().find(|k| k.0 == kind_name).map_or(Kind::AllReduce, |k| k.1);
    let algorithm = s.text_opt("algorithm")?;
    let algorithm = algorithm
        .and_then(|a| ALGORITHMS.iter().find(|x| x.0 == a))
        .map_or(Collective::usual(kind), |a| a.1);
    let texts = s.texts("groups")?;
    if texts.is_empty() && s.given("groups") {
        return Err(ParamError::new(
            "groups",
            "the list is empty",
            "name ranks, such as \"0-7\", or remove the key (default: all in one \
                                                                   group)",
        ));
    }
    let groups = match texts.is_empty() {
        true => vec![(0..ranks).collect()],
        false => texts.iter().map(|t| ranks_of(t, ranks)).collect::<Result<Vec<_>, _>>()?,
    };
    let (compute, overlap) = (s.span("compute")?, s.flag("overlap")?);
    let name = s.text_opt("name")?.unwrap_or(kind_name);
    let (channels, root, peers) = (s.count("channels")?, s.count("root")?, s.count("peers")?);
    if channels > 64 {
        return Err(ParamError::new("channels", channels.to_string(), "expected 1 to 64"));
    }
    let (size, chunk) = (s.bytes_opt("size")?, s.bytes_opt("chunk")?);
    if chunk.is_some_and(|c| c.0 == 0) {
        return Err(ParamError::new(
            "chunk",
            "a piece of 0 bytes",
            "expected a size above zero; without the key, a channel is one piece",
        ));
    }
    let matrix = match s.text_opt("matrix")? {
        Some(_) if kind != Kind::AllToAll => {
            return Err(ParamError::new(
                "matrix",
                "only an all-to-all has this key",
                "remove the key",
            ));
        }
        Some(file) => match read_matrix(&file, folder, groups[0].len()) {
            Ok(matrix) => matrix,
            Err(problems) => {
                s.refuse_file(problems);
                return Err(ParamError::new(
                    "matrix",
                    "xoff cannot use the file",
                    "see the messages about the file",
                ));
            }
        },
        None => Vec::new(),
    };
    if size.is_none() && matrix.is_empty() && kind != Kind::Barrier {
        return Err(ParamError::new("size", "missing", "set, for example, size = \"1MB\""));
    }
    if !matrix.is_empty() && matrix.iter().all(|&bytes| bytes == 0) {
        return Err(ParamError::new(
            "matrix",
            "the size is 0: the ranks exchange nothing",
            "give a size above 0",
        ));
    }
    if peers > 0 && kind != Kind::AllToAll {
        return Err(ParamError::new(
            "peers",
            "only an all-to-all has this limit",
            "remove the key",
        ));
    }
    // A value without effect is rejected; the resolved scenario has its default.
    if kind == Kind::Barrier {
        for (key, given) in
            [("size", s.given("size")), ("channels", channels != 1), ("chunk", s.given("chunk"))]
        {
            if given {
                return Err(ParamError::new(key, "a barrier moves no bytes", "remove the key"));
            }
        }
    }
    if s.given("size") && !matrix.is_empty() {
        return Err(ParamError::new(
            "size",
            "the matrix has all sizes",
            "remove one of the two keys",
        ));
    }
    if root != 0 && !matches!(kind, Kind::Broadcast | Kind::Reduce) {
        return Err(ParamError::new(
            "root",
            "only a broadcast and a reduce have a root",
            "remove the key",
        ));
    }
    let mut seen = vec![false; ranks as usize];
    for &r in groups.iter().flatten() {
        if std::mem::replace(&mut seen[r as usize], true) {
            return Err(ParamError::new(
                "groups",
                format!("rank {r} is in two groups, or twice in one"),
                "name each rank once",
            ));
        }
    }
    draft.collectives += 1;
    for (nth, group) in groups.iter().enumerate() {
        let collective = Collective {
            name: if groups.len() > 1 { format!("{name}[{nth}]") } else { name.clone() },
            algorithm,
            root: root as u32,
            channels: channels as u16,
            chunk: chunk.map_or(0, |b| b.0),
            peers: peers as u32,
            matrix: matrix.clone(),
            node: draft.node_ranks,
            ..Collective::new(kind, size.map_or(0, |b| b.0), group.clone())
        };
        collective.check().map_err(|(key, what, hint)| {
            ParamError::new(if key == "ranks" { "groups" } else { key }, what, hint)
        })?;
        // Before it is put together: among many ranks that alone may take more than there is.
        room::for_more(&draft.graph, collective.ops_at_most(), draft.job.iterations.into())
            .map_err(|(what, hint)| ParamError::new("size", what, hint))?;
        draft.add(&collective, compute, overlap);
        room::of_graph(&draft.graph, draft.job.iterations.into(), "size")?;
    }
    Ok(())
}

impl Draft {
    fn add(&mut self, c: &Collective, compute: Span, overlap: bool) {
        let mut before = Vec::with_capacity(c.ranks.len());
        for &rank in &c.ranks {
            let r = rank as usize;
            let mut waits = self.ready[r].clone();
            if compute > Span::ZERO {
                let op = self.graph.add(rank, Work::Compute(compute), COMPUTING);
                waits.iter().for_each(|&w| self.graph.after(rank, op, w));
                self.ready[r] = vec![op];
                waits = vec![op];
            }
            let mark = self.graph.mark(rank);
            waits.iter().for_each(|&w| self.graph.after(rank, mark, w));
            self.graph.after(rank, mark, self.comm[r]);
            before.push(mark);
        }
        let ends = c.add_to(&mut self.graph, &before);
        for (&rank, end) in c.ranks.iter().zip(ends) {
            self.comm[rank as usize] = end;
            if !overlap {
                self.ready[rank as usize] = vec![end];
            }
        }
    }
}

/// Adds the last operations and checks the whole.
fn finish(mut d: Draft) -> Result<Job, ParamError> {
    if d.collectives == 0 && !d.from_trace {
        return Err(ParamError::new(
            "name",
            format!("job '{}' has nothing to do", d.job.name),
            "add a [[collective]]",
        ));
    }
    if d.compute > Span::ZERO {
        for rank in 0..d.graph.ranks() {
            let op = d.graph.add(rank, Work::Compute(d.compute), COMPUTING);
            let waits: Vec<u32> =
                d.ready[rank as usize].iter().copied().chain([d.comm[rank as usize]]).collect();
            waits.iter().for_each(|&w| d.graph.after(rank, op, w));
        }
    }
    let o = d.job.overheads;
    if o.send > Span::ZERO || o.receive > Span::ZERO {
        for p in &mut d.graph.programs {
            // An operation of GOAL has its cpu.
            p.change_ops(|op| {
                if !matches!(op.work, Work::Compute(_)) && op.stream == Op::FREE {
                    op.stream = MESSAGING;
                }
            });
        }
    }
    if d.from_trace {
        d.job.graph = Arc::new(d.graph);
        d.job.number();
        return Ok(d.job);
    }
    d.graph.finish();
    let name = |rank: u32, op: u32| format!("rank {rank} operation {op}");
    d.graph.check(&name).map_err(|f| {
        ParamError::new("name", format!("rank {}, operation {}: {}", f.rank, f.op, f.what), f.hint)
    })?;
    d.job.graph = Arc::new(d.graph);
    d.job.number();
    Ok(d.job)
}
