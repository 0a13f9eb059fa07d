//! Report of jobs: rows of their tables, and a summary.

use std::collections::BTreeMap;

use xoff_net::jobs::{Job, NONE, Work};
use xoff_net::topology::PortNumbers;
use xoff_record::{
    Cause, CollectiveRow, IterationAnswer, JobAnswer, Label, MismatchAnswer, Node, Operation,
    OperationRow, PathAnswer, PathRow, RankRow, RecordError, StuckAnswer, Tables,
};
use xoff_sim::Outcome;
use xoff_units::paged::Items;
use xoff_units::{Bytes, FlowId, NodeId, Rate, Span};

use super::account::{Accounts, Pauses, Stretch, difference, joined};
use super::straggler::{Straggler, Stragglers};
use super::wrong::{mismatches, stuck};
use crate::network::NetworkScenario;
use crate::network::uplinks::Balance;

/// Outcome of an iteration of a job.
#[derive(Clone, Debug, PartialEq)]
pub struct Iteration {
    /// From the end of the iteration before to its own, each that of the rank that ends last; of
    /// the first one from the job's start. So those of all iterations add up to the time of the
    /// job, however far its ranks drift apart [ps].
    pub time_ps: u64,
    /// End of the last rank [ps].
    pub end_ps: u64,
    /// Longest exposed communication of a rank [ps].
    pub exposed_ps: u64,
    /// The rank that ended last.
    pub last_rank: u32,
    /// The message of the critical path that lost most; `None`: no message is on it.
    pub straggler: Option<Straggler>,
    /// The rank that computed longest on the critical path, and for how long [ps].
    pub computed: Option<(u32, u64)>,
    /// The critical path by cause, in the order of the table's words; together `time_ps` [ps].
    pub path_ps: [u64; 8],
}

/// Outcome of a job.
#[derive(Clone, Debug, PartialEq)]
pub struct JobSummary {
    /// Name of the job.
    pub name: String,
    /// The host of each rank.
    pub hosts: Vec<NodeId>,
    /// Iterations that it was to do.
    pub planned: u32,
    /// Least time of these in any network [ps].
    pub ideal_ps: u64,
    /// Iterations that all ranks have done.
    pub iterations: Vec<Iteration>,
    /// The critical path of the longest of these, in the order of time; of a streamed job the table
    /// alone has it.
    pub path: Vec<Stretch>,
    /// By collective: its name, and its lowest and highest bus bandwidth [bit/s].
    pub bus: Vec<(String, u64, u64)>,
    /// Place where the job waits for itself.
    pub stuck: Option<StuckAnswer>,
    /// Receives that took a message of another size.
    pub mismatches: u64,
    /// The first of them.
    pub mismatch: Option<MismatchAnswer>,
}

/// Causes in the order of [`Iteration::path_ps`].
pub const CAUSES: [(Cause, &str); 8] = [
    (Cause::Compute, "computing"),
    (Cause::Overhead, "overhead"),
    (Cause::Peer, "peers"),
    (Cause::Serialisation, "serialisation"),
    (Cause::Propagation, "propagation"),
    (Cause::Pause, "pause"),
    (Cause::RateLimit, "rate limit"),
    (Cause::Queueing, "queueing"),
];

/// Adds a stretch to the times by cause.
fn add(to: &mut [u64; 8], s: &Stretch) {
    if let Some(at) = CAUSES.iter().position(|c| c.0 == s.cause) {
        to[at] += s.to - s.from;
    }
}

/// Writes the tables of all jobs and sums them up.
pub(in crate::network) fn write(
    s: &NetworkScenario,
    o: &Outcome,
    (ports, pauses, balance): (&PortNumbers, &Pauses, &Balance),
    tables: &mut Tables,
) -> Result<Vec<JobSummary>, RecordError> {
    let Some(jobs) = &s.flows.jobs else { return Ok(Vec::new()) };
    let accounts = Accounts::new(s, o, ports, pauses);
    let mut all = Vec::new();
    for (at, job) in jobs.jobs.iter().enumerate() {
        let mut summary = JobSummary {
            name: job.name.clone(),
            hosts: job.hosts.clone(),
            planned: job.iterations,
            ideal_ps: 0,
            iterations: vec![],
            path: vec![],
            bus: vec![],
            stuck: stuck(s, o, (at, job)),
            mismatches: 0,
            mismatch: None,
        };
        (summary.mismatches, summary.mismatch) = mismatches(o, (at, job));
        let least = wire_times(s, job);
        for iteration in 0..job.iterations {
            let begun = o.ranks[at].iter().any(|r| r.log.iterations.len() > iteration as usize);
            if !begun {
                break;
            }
            let reordered = reordered(o, balance, job, iteration);
            let (exposed_ps, ideal_ps) =
                write_ranks(&accounts, (at, job), iteration, (&least, &reordered), tables)?;
            write_collectives(&accounts, (at, job), iteration, tables, &mut summary)?;
            let since = summary.iterations.last().map_or(job.start.0, |i| i.end_ps);
            if let Some((done, path)) =
                write_path(&accounts, (at, job), iteration, (since, exposed_ps), tables)?
            {
                if summary.iterations.iter().all(|i| i.time_ps < done.time_ps) {
                    summary.path = path;
                }
                summary.ideal_ps += ideal_ps;
                summary.iterations.push(done);
            }
            write_operations(&accounts, (at, job), iteration, tables)?;
        }
        all.push(summary);
    }
    Ok(all)
}

/// By rank: the time that the bytes of an iteration take on the link of its host, those that it
/// sends or those that it receives, whichever takes longer [ps].
fn wire_times(s: &NetworkScenario, job: &Job) -> Vec<u64> {
    let (payload, header) = s.frame();
    let mut bytes = vec![(0u64, 0u64); job.hosts.len()];
    for (from, program) in job.graph.programs.iter().enumerate() {
        for (op, o) in (0..).zip(program.ops()) {
            if let Work::Send { to, bytes: size, .. } = o.work
                && program.message(op) != NONE
            {
                let frames = size.div_ceil(u64::from(payload)).max(1);
                let on_wire = size + frames * u64::from(header);
                bytes[from].0 += on_wire;
                bytes[to as usize].1 += on_wire;
            }
        }
    }
    let time = |(&host, (sent, received)): (&NodeId, (u64, u64))| {
        let rate = s.topology.links_at(host).map(|l| l.rate.0).sum();
        Rate(rate).time_for(Bytes(sent.max(received))).0
    };
    job.hosts.iter().zip(bytes).map(time).collect()
}

/// By rank: frames ahead of a gap in messages to it, the largest reorder buffer, and messages of it
/// that collided.
fn reordered(o: &Outcome, balance: &Balance, job: &Job, iteration: u32) -> Vec<(u64, u64, u64)> {
    let mut all = vec![(0, 0, 0); job.hosts.len()];
    for (from, program) in job.graph.programs.iter().enumerate() {
        for (op, sent) in (0..).zip(program.ops()) {
            let message = program.message(op);
            let Work::Send { to, .. } = sent.work else { continue };
            if message == NONE {
                continue;
            }
            let flow = FlowId(job.flow(iteration, message));
            let ahead = o.flow(flow).ahead;
            let at = &mut all[to as usize];
            (at.0, at.1) = (at.0 + ahead.frames, at.1.max(ahead.peak));
            all[from].2 += u64::from(balance.collided.get(flow.index()) == Some(&Some(true)));
        }
    }
    all
}

/// The ranks of an iteration. Returns the longest exposed communication, and the ideal time of the
/// iteration [ps].
fn write_ranks(
    a: &Accounts,
    (at, job): (usize, &Job),
    iteration: u32,
    (least, reordered): (&[u64], &[(u64, u64, u64)]),
    tables: &mut Tables,
) -> Result<(u64, u64), RecordError> {
    let (mut most, mut ideal) = (0, 0);
    for (rank, host) in (0..).zip(&job.hosts) {
        let Some(&(start, end)) =
            a.outcome.ranks[at][rank as usize].log.iterations.get(iteration as usize)
        else {
            continue;
        };
        let mut row = RankRow {
            job: Label(job.label),
            iteration,
            rank,
            host: Node(host.0),
            start_ps: start.0,
            end_ps: end.map(|t| t.0),
            ..RankRow::default()
        };
        if let Some(end) = end {
            (row.compute_ps, row.comm_ps, row.exposed_ps) = shares(a, (at, job), rank, iteration);
            row.idle_ps = end.since(start).0 - row.compute_ps - row.exposed_ps;
            row.paused_ps = a.paused(a.ports.all_of(*host), job.priority, start.0, end.0);
            let mut path = [0; 8];
            a.walk((at, job), rank, iteration, start.0, false, &mut |s| add(&mut path, &s));
            row.path_compute_ps = path[0];
            row.path_overhead_ps = path[1];
            row.path_peer_ps = path[2];
            row.path_serialisation_ps = path[3];
            row.path_propagation_ps = path[4];
            row.path_pause_ps = path[5];
            row.path_rate_limit_ps = path[6];
            row.path_queueing_ps = path[7];
            row.ideal_ps = row.compute_ps.max(least[rank as usize]);
            let collided;
            (row.frames_ahead, row.ahead_bytes_max, collided) = reordered[rank as usize];
            row.collided = (!a.scenario.is_streamed()).then_some(collided);
            most = most.max(row.exposed_ps);
            ideal = ideal.max(row.ideal_ps);
        }
        tables.ranks.push(row)?;
    }
    Ok((most, ideal))
}

/// Times in which a rank computed, in which messages of it were under way, and those of the second
/// without the first [ps].
fn shares(a: &Accounts, (at, job): (usize, &Job), rank: u32, iteration: u32) -> (u64, u64, u64) {
    let log = &a.outcome.ranks[at][rank as usize];
    if let Some(s) = log.shares.get(iteration as usize) {
        return (s.compute.0, s.comm.0, s.exposed.0);
    }
    let program = &job.graph.programs[rank as usize];
    let of = |computes: bool| {
        let mine = (0..)
            .zip(program.ops())
            .filter(|(_, o)| matches!(o.work, Work::Compute(_)) == computes);
        joined(
            mine.map(|(op, _)| a.times(at, job, rank, iteration, op))
                .map(|x| (x.begun.0, x.ended.0))
                .collect(),
        )
    };
    let (compute, comm) = (of(true), of(false));
    let sum = |x: &[(u64, u64)]| x.iter().map(|i| i.1 - i.0).sum::<u64>();
    (sum(&compute), sum(&comm), difference(&comm, &compute))
}

/// A size over a time, times a fraction, cut off [bit/s].
fn bandwidth(bytes: u64, time_ps: u64, (over, under): (u64, u64)) -> u64 {
    let bits = bytes as u128 * 8 * 1_000_000_000_000 * over as u128;
    u64::try_from(bits / (time_ps as u128 * under as u128).max(1)).unwrap_or(u64::MAX)
}

fn write_collectives(
    a: &Accounts,
    (at, job): (usize, &Job),
    iteration: u32,
    tables: &mut Tables,
    summary: &mut JobSummary,
) -> Result<(), RecordError> {
    for (nth, part) in (0..).zip(&job.graph.phases) {
        let has = |rank: u32| {
            a.outcome.ranks[at][rank as usize].log.iterations.len() > iteration as usize
        };
        let of = |rank: u32, op: u32| {
            if has(rank) { a.times(at, job, rank, iteration, op).ended.0 } else { u64::MAX }
        };
        let begins = || part.members.iter().map(|&(rank, begin, _)| of(rank, begin));
        let start = begins().min().unwrap_or(u64::MAX);
        if start == u64::MAX {
            continue; // no rank has come to it
        }
        let known = |t: u64| Some(t).filter(|&t| t < u64::MAX);
        let end = known(
            part.members.iter().map(|&(rank, _, end)| of(rank, end)).max().unwrap_or(u64::MAX),
        );
        let time = end.map(|e| e - start).filter(|&t| t > 0 && part.bytes > 0);
        let bus = time.map(|t| bandwidth(part.bytes, t, part.bus));
        tables.collectives.push(CollectiveRow {
            job: Label(job.label),
            iteration,
            collective: Label(job.label + 1 + nth),
            ranks: part.members.len() as u32,
            start_ps: start,
            all_started_ps: known(begins().max().unwrap_or(u64::MAX)),
            end_ps: end,
            bytes: part.bytes,
            algorithm_bps: time.map(|t| bandwidth(part.bytes, t, (1, 1))),
            bus_bps: bus,
        })?;
        if let Some(bus) = bus {
            match summary.bus.iter_mut().find(|b| b.0 == part.name) {
                Some(b) => (b.1, b.2) = (b.1.min(bus), b.2.max(bus)),
                None => summary.bus.push((part.name.clone(), bus, bus)),
            }
        }
    }
    Ok(())
}

/// The critical path of an iteration that all ranks have done.
fn write_path(
    a: &Accounts,
    (at, job): (usize, &Job),
    iteration: u32,
    (since, exposed_ps): (u64, u64),
    tables: &mut Tables,
) -> Result<Option<(Iteration, Vec<Stretch>)>, RecordError> {
    let ranks = 0..job.hosts.len() as u32;
    let Some(spans) = ranks.map(|r| a.span(at, r, iteration)).collect::<Option<Vec<_>>>() else {
        return Ok(None);
    };
    let Some((last_rank, end)) = (0u32..)
        .zip(&spans)
        .map(|(r, s)| (r, s.1))
        .max_by_key(|&(r, end)| (end, std::cmp::Reverse(r)))
    else {
        return Ok(None);
    };
    // The walk finds the last stretch first.
    let mut found = job.graph.pages().map_or_else(Items::default, |p| p.list(|_| Stretch::NONE));
    a.walk((at, job), last_rank, iteration, since, true, &mut |s| found.push(s));
    let (mut path_ps, mut lost, mut computed) =
        ([0; 8], Stragglers::default(), BTreeMap::<u32, u64>::new());
    let mut path = Vec::new();
    for (position, x) in (0..).zip((0..found.len()).rev().map(|nth| found.get(nth))) {
        add(&mut path_ps, &x);
        lost.add(&x);
        if x.cause == Cause::Compute {
            *computed.entry(x.rank).or_default() += x.to - x.from;
        }
        if !job.is_streamed() {
            path.push(x);
        }
        tables.critical_path.push(PathRow {
            job: Label(job.label),
            iteration,
            position,
            rank: x.rank,
            operation: x.op,
            start_ps: x.from,
            end_ps: x.to,
            cause: x.cause,
            flow: x.flow.map(u64::from),
        })?;
    }
    let done = Iteration {
        time_ps: end.0 - since,
        end_ps: end.0,
        exposed_ps,
        last_rank,
        straggler: lost.longest().map(|l| a.straggler(job, l)),
        // The rank that computed longest; of equal ones the first.
        computed: computed.into_iter().max_by_key(|&(rank, ps)| (ps, std::cmp::Reverse(rank))),
        path_ps,
    };
    Ok(Some((done, path)))
}

fn write_operations(
    a: &Accounts,
    (at, job): (usize, &Job),
    iteration: u32,
    tables: &mut Tables,
) -> Result<(), RecordError> {
    for (rank, program) in (0..).zip(&job.graph.programs) {
        if a.outcome.ranks[at][rank as usize].log.iterations.len() <= iteration as usize {
            continue;
        }
        let first = iteration as usize * program.len() as usize;
        let log = &a.outcome.ranks[at][rank as usize].log;
        let times = log.ops.range(first, first + program.len() as usize);
        for ((op, o), x) in (0..).zip(program.ops()).zip(times) {
            let ended = x.ended.0 < u64::MAX;
            let flow = |from: u32, op: u32| {
                let message = job.graph.programs[from as usize].message(op);
                (message != xoff_net::jobs::NONE).then(|| job.flow(iteration, message) as u64)
            };
            let (work, peer, bytes, flow) = match o.work {
                Work::Compute(Span::ZERO) => continue, // a mark
                Work::Compute(_) => (Operation::Compute, None, None, None),
                Work::Send { to, bytes, .. } => {
                    (Operation::Send, Some(to), Some(bytes), flow(rank, op))
                }
                Work::Receive { from, bytes, .. } if x.from == xoff_net::jobs::NONE => {
                    (Operation::Receive, from, Some(bytes), None)
                }
                Work::Receive { bytes, .. } => {
                    (Operation::Receive, Some(x.from), Some(bytes), flow(x.from, x.from_op))
                }
            };
            if x.begun.0 == u64::MAX {
                continue; // it has not begun
            }
            tables.operations.push(OperationRow {
                job: Label(job.label),
                iteration,
                rank,
                operation: op,
                work,
                peer,
                bytes,
                flow,
                start_ps: x.begun.0,
                end_ps: ended.then_some(x.ended.0),
            })?;
        }
    }
    Ok(())
}

impl JobSummary {
    /// The longest iteration, of equal ones the first.
    pub fn longest(&self) -> Option<&Iteration> {
        self.iterations.iter().rev().max_by_key(|i| i.time_ps)
    }

    /// From its start to the end of the last iteration that all ranks have done [ps].
    pub fn time_ps(&self) -> u64 {
        self.iterations.iter().map(|i| i.time_ps).sum()
    }

    /// For the manifest.
    pub(in crate::network) fn answer(&self, s: &NetworkScenario) -> JobAnswer {
        let iteration = |i: &Iteration| {
            // No rank waits for a peer on the critical path: the path continues at the peer.
            let [
                compute_ps,
                overhead_ps,
                _,
                serialisation_ps,
                propagation_ps,
                pause_ps,
                rate_limit_ps,
                queueing_ps,
            ] = i.path_ps;
            IterationAnswer {
                time_ps: i.time_ps,
                end_ps: i.end_ps,
                exposed_ps: i.exposed_ps,
                last_rank: i.last_rank,
                straggler: i.straggler.as_ref().map(|x| x.answer(s)),
                critical_path: PathAnswer {
                    compute_ps,
                    overhead_ps,
                    serialisation_ps,
                    propagation_ps,
                    pause_ps,
                    rate_limit_ps,
                    queueing_ps,
                },
            }
        };
        let iterations = self.iterations.iter().map(iteration).collect();
        JobAnswer {
            name: self.name.clone(),
            ranks: self.hosts.len() as u32,
            iterations_planned: self.planned,
            time_ps: self.time_ps(),
            ideal_ps: self.ideal_ps,
            time_over_ideal: (self.ideal_ps > 0)
                .then(|| self.time_ps() as f64 / self.ideal_ps as f64),
            iterations,
            stuck: self.stuck.clone(),
            mismatches: self.mismatches,
            mismatch: self.mismatch.clone(),
        }
    }

    /// Problems that make the answer of the run a "no", for its headline.
    pub(in crate::network) fn failures(&self) -> Vec<String> {
        let mut all = Vec::new();
        all.extend(
            self.stuck
                .as_ref()
                .map(|x| format!("job {} waits for itself: {}", self.name, x.words())),
        );
        all.extend(self.mismatch.as_ref().map(|x| {
            format!("job {} exchanges messages of different sizes: {}", self.name, x.words())
        }));
        all
    }

    /// Statement that the job did not finish, for the headline if no flow states it; `None`: the
    /// job finished, or a failure gives the reason.
    pub(in crate::network) fn unfinished(&self) -> Option<String> {
        let done = self.iterations.len();
        let unfinished = done < self.planned as usize && self.stuck.is_none();
        unfinished
            .then(|| format!("job {}: {done} of {} iterations complete", self.name, self.planned))
    }

    /// Errors of the application, in sentences.
    fn wrong(&self) -> Vec<String> {
        let mut all = Vec::new();
        all.extend(self.stuck.as_ref().map(|x| {
            format!(
                "job {}: the application waits for itself, not for the network: every message has arrived, but {} of its ranks have not \
                 finished; {}",
                self.name,
                x.ranks,
                x.words()
            )
        }));
        all.extend(self.mismatch.as_ref().map(|x| {
            let more = if self.mismatches > 1 {
                format!("; {} more", self.mismatches - 1)
            } else {
                String::new()
            };
            format!(
                "job {}: a receive took a message of another size: {}{more}",
                self.name,
                x.words()
            )
        }));
        all
    }

    /// In sentences.
    pub(in crate::network) fn words(&self, s: &NetworkScenario, o: &Outcome) -> Vec<String> {
        let (name, done) = (&self.name, self.iterations.len());
        let mut all = Vec::new();
        let times = || self.iterations.iter().map(|i| i.time_ps);
        let (Some(least), Some(most)) = (times().min(), times().max()) else {
            all.push(format!("job {name}: no iteration of {} completed", self.planned));
            all.extend(self.wrong());
            return all;
        };
        let range = |a: u64, b: u64| {
            if a == b { Span(a).to_string() } else { format!("{} to {}", Span(a), Span(b)) }
        };
        let of = if done == self.planned as usize {
            String::new()
        } else {
            format!(" of {}", self.planned)
        };
        let exposed = || self.iterations.iter().map(|i| i.exposed_ps);
        all.push(format!(
            "job {name}: {done}{of} iteration{} of {} ranks in {}, {} each; exposed communication {} at the rank with the most",
            if self.planned == 1 { "" } else { "s" },
            self.hosts.len(),
            Span(self.time_ps()),
            range(least, most),
            range(exposed().min().unwrap_or(0), exposed().max().unwrap_or(0))
        ));
        let Some(longest) = self.longest() else { return all };
        let total: u64 = longest.path_ps.iter().sum();
        let host = |rank: u32| s.topology.name(self.hosts[rank as usize]);
        let part = |&((cause, word), ps): &(&(Cause, &str), u64)| {
            let most = longest.computed.filter(|_| *cause == Cause::Compute);
            let most = most.map_or_else(String::new, |(rank, _)| {
                format!(", most at rank {rank} on {}", host(rank))
            });
            format!("{word} {} ({:.1} %{most})", Span(ps), ps as f64 * 100.0 / total.max(1) as f64)
        };
        let parts: Vec<String> = CAUSES
            .iter()
            .zip(longest.path_ps)
            .filter(|(_, ps)| *ps > 0)
            .map(|x| part(&x))
            .collect();
        all.push(format!(
            "job {name}: critical path of the longest iteration: {}",
            parts.join(", ")
        ));
        all.extend(longest.straggler.as_ref().map(|x| format!("job {name}: {}", x.words(s, o))));
        all.extend(self.wrong());
        for (collective, low, high) in &self.bus {
            let rate = |bits: u64| format!("{:.3} Gbps", bits as f64 / 1e9);
            let range =
                if low == high { rate(*low) } else { format!("{} to {}", rate(*low), rate(*high)) };
            all.push(format!("job {name}: {collective} at a bus bandwidth of {range}"));
        }
        all
    }
}
