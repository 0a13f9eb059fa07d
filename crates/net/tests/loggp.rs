//! The machine of a rank on the ideal network of LogGP: LogGOPSim's published figures, and a second
//! implementation of the model.

mod ranks;

use std::sync::Arc;

use xoff_net::jobs::collectives::{ALGORITHMS, KINDS};
use xoff_net::jobs::loggp::{LogGp, run};
use xoff_net::jobs::{Collective, Graph, Job, Kind, NONE, Overheads, Work};
use xoff_units::{Span, Time};

use ranks::NET;

fn job(mut graph: Graph, o: Span) -> Arc<Job> {
    if o > Span::ZERO {
        for p in &mut graph.programs {
            p.change_ops(|o| {
                o.stream = if matches!(o.work, Work::Compute(_)) { o.stream } else { 0 }
            });
        }
    }
    ranks::job(graph, |job| job.overheads = Overheads { send: o, receive: o, gap: Span::ZERO })
}

fn collective(c: &Collective) -> Graph {
    let mut graph = Graph::new(c.ranks.len());
    c.check().unwrap_or_else(|e| panic!("{e:?}"));
    c.add_to(&mut graph, &[]);
    graph
}

/// README of LogGOPSim: L 2500, o 1500, g 1000, G 6 ns, a binomial reduce of 1024 B among 8.
#[test]
fn the_eight_finish_times_of_loggopsim() {
    let logs = run(
        &job(
            collective(&Collective::new(Kind::Reduce, 1024, (0..8).collect())),
            Span::from_ns(1500),
        ),
        NET,
    );
    let ends: Vec<u64> = logs.iter().map(|l| l.iterations[0].1.unwrap().as_ns()).collect();
    let mut sorted = ends.clone();
    sorted.sort_unstable_by(|a, b| b.cmp(a));
    assert_eq!(sorted, [34914, 24776, 13138, 13138, 1500, 1500, 1500, 1500]);
    assert_eq!(ends, [34914, 1500, 13138, 1500, 24776, 1500, 13138, 1500]);
    // The same where the host keeps the gap, not the network.
    let mut of_host = (*job(
        collective(&Collective::new(Kind::Reduce, 1024, (0..8).collect())),
        Span::from_ns(1500),
    ))
    .clone();
    of_host.overheads.gap = NET.gap;
    let logs = run(&Arc::new(of_host), LogGp { gap: Span::ZERO, ..NET });
    assert_eq!(logs.iter().map(|l| l.iterations[0].1.unwrap().as_ns()).collect::<Vec<_>>(), ends);
}

/// The model once more, written as equations that are gone through until nothing changes: when an
/// operation ends follows from those before it. Without overheads, where a rank's operations take
/// none of its time, its sends leave in the order of the times at which they can.
fn by_equations(graph: &Graph, net: LogGp) -> Vec<u64> {
    let n = graph.programs.len();
    let mut ends: Vec<Vec<u64>> =
        graph.programs.iter().map(|p| vec![0; p.len() as usize]).collect();
    loop {
        let before = ends.clone();
        let mut arrives = std::collections::HashMap::new();
        for r in 0..n {
            let ready = |op: usize| {
                let all = (0..graph.programs[r].len())
                    .filter(|&b| graph.programs[r].successors(b).contains(&(op as u32, false)));
                all.map(|b| before[r][b as usize]).max().unwrap_or(0)
            };
            let mut sends: Vec<(u64, usize)> = (0..graph.programs[r].len() as usize)
                .filter(|&op| matches!(graph.programs[r].op(op as u32).work, Work::Send { .. }))
                .map(|op| (ready(op), op))
                .collect();
            sends.sort_unstable();
            let mut free = 0;
            for (at, op) in sends {
                let Work::Send { to, bytes, tag, .. } = graph.programs[r].op(op as u32).work else {
                    continue;
                };
                let wire = net.gap_per_byte.0 * (bytes.max(1) - 1);
                let leaves = free.max(at);
                free = leaves + net.gap.0 + wire;
                ends[r][op] = at;
                arrives.insert((r as u32, to, tag), leaves + net.latency.0 + wire);
            }
            for (op, end) in ends[r].iter_mut().enumerate() {
                if let Work::Compute(span) = graph.programs[r].op(op as u32).work {
                    *end = ready(op) + span.0;
                }
            }
        }
        for r in 0..n {
            for (op, end) in ends[r].iter_mut().enumerate() {
                let Work::Receive { from: Some(from), tag: Some(tag), .. } =
                    graph.programs[r].op(op as u32).work
                else {
                    continue;
                };
                let posted = (0..graph.programs[r].len())
                    .filter(|&b| graph.programs[r].successors(b).contains(&(op as u32, false)))
                    .map(|b| before[r][b as usize])
                    .max()
                    .unwrap_or(0);
                *end = posted.max(arrives[&(from, r as u32, tag)]);
            }
        }
        if ends == before {
            return ends.iter().map(|e| e.iter().copied().max().unwrap_or(0)).collect();
        }
    }
}

/// Every kind by every algorithm that does it, for several numbers of ranks, chunks and channels,
/// against the equations; and every rank's bytes add up to the volume of the collective.
#[test]
fn every_collective_takes_what_the_equations_give() {
    let mut met = 0;
    for &(kind_name, kind) in KINDS {
        for &(name, algorithm) in ALGORITHMS {
            for n in [2u32, 3, 4, 5, 8] {
                for (channels, chunk, peers) in [(1, 0, 0), (2, 400, 2)] {
                    let peers = if kind == Kind::AllToAll { peers } else { 0 };
                    let c = Collective {
                        algorithm,
                        channels,
                        chunk,
                        peers,
                        node: 2,
                        ..Collective::new(kind, 2403, (0..n).collect())
                    };
                    if c.check().is_err() {
                        continue;
                    }
                    let graph = collective(&c);
                    // The estimate before construction is not smaller. It is larger by marks that
                    // not every algorithm has: two of a rank and piece.
                    let (ops, at_most, pieces) =
                        (graph.ops(), c.ops_at_most(), if channels == 1 { 1 } else { 8 });
                    assert!(
                        (ops..=ops + 2 * n as u64 * pieces).contains(&at_most),
                        "{kind_name} {name} {n} {channels}: {ops} of {at_most}"
                    );
                    let mut finished = graph.clone();
                    finished.finish();
                    let logs = run(&job(graph, Span::ZERO), NET);
                    let ends: Vec<u64> =
                        logs.iter().map(|l| l.iterations[0].1.unwrap().0).collect();
                    assert_eq!(
                        ends,
                        by_equations(&finished, NET),
                        "{kind_name} {name} {n} {channels}"
                    );
                    let received = |r: u32| -> u64 {
                        let bytes = |o: xoff_net::jobs::Op| {
                            if let Work::Receive { bytes, .. } = o.work { bytes } else { 0 }
                        };
                        finished.programs[r as usize].ops().map(bytes).sum()
                    };
                    let all: u64 = (0..n).map(received).sum();
                    let (n, s) = (n as u64, 2403);
                    let needed = match kind {
                        // Each byte is added up once and handed out once, at every rank but one.
                        Kind::AllReduce => 2 * (n - 1) * s,
                        Kind::Barrier => all,
                        // The own share of each rank goes nowhere.
                        Kind::ReduceScatter
                        | Kind::AllGather
                        | Kind::Broadcast
                        | Kind::Reduce
                        | Kind::AllToAll => (n - 1) * s,
                    };
                    assert_eq!(all, needed, "{kind_name} {name} {n}");
                    met += 1;
                }
            }
        }
    }
    assert_eq!(met, 142, "cases that a check has refused");
}

fn fault(build: impl FnOnce(&mut Graph)) -> (u32, u32, String) {
    let mut g = Graph::new(3);
    build(&mut g);
    g.finish();
    let f = g.check(&|rank, op| format!("{rank}.{op}")).expect_err("it cannot run");
    (f.rank, f.op, f.what)
}

fn send(g: &mut Graph, rank: u32, to: u32, bytes: u64, tag: u64) -> u32 {
    g.add(rank, Work::Send { to, bytes, tag, channel: 0 }, u16::MAX)
}

fn receive(g: &mut Graph, rank: u32, from: u32, bytes: u64, tag: u64) -> u32 {
    g.add(rank, Work::Receive { from: Some(from), bytes, tag: Some(tag) }, u16::MAX)
}

#[test]
fn what_cannot_come_to_its_end_is_found_before() {
    let (rank, op, what) = fault(|g| _ = send(g, 1, 0, 8, 3));
    assert_eq!((rank, op), (1, 0));
    assert!(what.contains("never received"), "{what}");
    let (rank, _, what) = fault(|g| _ = receive(g, 2, 0, 8, 3));
    assert!(rank == 2 && what.contains("never sent"), "{what}");
    let (rank, _, what) = fault(|g| {
        send(g, 0, 1, 8, 0);
        receive(g, 1, 0, 9, 0);
    });
    assert!(rank == 1 && what.contains("9 B") && what.contains("8 B"), "{what}");
    let (_, _, what) = fault(|g| _ = send(g, 0, 0, 8, 0));
    assert!(what.contains("itself"), "{what}");
    let (_, _, what) = fault(|g| _ = send(g, 0, 3, 8, 0));
    assert!(what.contains("no rank 3"), "{what}");
    let (_, _, what) = fault(|g| {
        let (a, b) = (g.mark(0), g.mark(0));
        g.after(0, a, b);
        g.after(0, b, a);
    });
    assert!(what.contains("cycle of dependencies"), "{what}");
    // Both receive before they send.
    let (_, _, what) = fault(|g| {
        for (rank, peer) in [(0, 1), (1, 0)] {
            let (r, s) = (receive(g, rank, peer, 8, 0), send(g, rank, peer, 8, 0));
            g.after(rank, s, r);
        }
    });
    assert!(what.contains("deadlock of the application"), "{what}");
}

/// The canary of the check: the same graph with the send first runs.
#[test]
fn sends_before_receives_do_not_deadlock() {
    let mut g = Graph::new(2);
    for (rank, peer) in [(0, 1), (1, 0)] {
        let (s, r) = (send(&mut g, rank, peer, 8, 0), receive(&mut g, rank, peer, 8, 0));
        g.after(rank, r, s);
    }
    let logs = run(&job(g, Span::ZERO), NET);
    assert_eq!(logs[0].iterations[0].1, Some(Time::from_ns(2500 + 7 * 6)));
    assert!(
        logs.iter()
            .flat_map(|l| l.ops.iter())
            .all(|o| o.ended < Time::NEVER && (o.cause == NONE || o.begun >= Time::ZERO))
    );
}
