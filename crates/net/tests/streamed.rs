//! A job whose operations are in a file does what it does with them in memory.

mod ranks;

use std::fs::File;
use std::sync::Arc;

use xoff_net::jobs::loggp::run;
use xoff_net::jobs::{Graph, Job, Op, Overheads, Pages, Work};
use xoff_units::Span;
use xoff_units::paged::PageFile;

use ranks::NET;

fn file(name: &str) -> PageFile {
    let path = std::env::temp_dir().join(format!("xoff-streamed-{}-{name}", std::process::id()));
    let file = File::options().read(true).write(true).create_new(true).open(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    PageFile::new(file)
}

/// Operations at random: computing on two streams, messages to others with their receives,
/// dependencies on any operation before, many of them far away, some twice; with and without
/// receives of any source.
fn random(mut graph: Graph, ranks: u32, rounds: u32, any: bool) -> Graph {
    let mut state = 7u64;
    let mut draw = |n: u32| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) % u64::from(n)) as u32
    };
    for round in 0..rounds {
        for r in 0..ranks {
            let (to, bytes) = ((r + 1 + draw(ranks - 1)) % ranks, u64::from(1 + draw(5000)));
            let tag = u64::from(if any { draw(2) } else { round });
            let compute =
                graph.add(r, Work::Compute(Span::from_ns(u64::from(draw(3000)))), draw(2) as u16);
            let send =
                graph.add(r, Work::Send { to, bytes, tag, channel: draw(2) as u16 }, Op::FREE);
            let (from, tag) = if any { (None, None) } else { (Some(r), Some(tag)) };
            let receive = graph.add(to, Work::Receive { from, bytes, tag }, Op::FREE);
            graph.after(r, send, compute);
            let earlier = graph.mark(to);
            graph.after(to, earlier, receive);
            // A rank waits for earlier operations only, so there is no cycle. Messages go from a
            // round to the next one only.
            for _ in 0..draw(3) {
                if compute > 0 && round > 0 {
                    let before = draw(compute);
                    graph.after_start(r, compute, before);
                    graph.after_start(r, compute, before);
                }
            }
        }
    }
    graph
}

fn job(graph: Graph, streamed: bool) -> Arc<Job> {
    let overheads =
        Overheads { send: Span::from_ns(100), receive: Span::from_ns(50), gap: Span::from_ns(40) };
    let job = ranks::job(graph, |job| {
        (job.iterations, job.queue_pairs, job.overheads) = (2, 2, overheads)
    });
    assert_eq!(job.is_streamed(), streamed);
    job
}

#[test]
fn a_streamed_job_does_what_it_does_in_memory() {
    for any in [false, true] {
        let (ranks, rounds) = (5, 600);
        let pages = Pages { page: 16, ..Pages::new(file(&format!("{any}")), 5) };
        let kept = job(random(Graph::new(ranks), 5, rounds, any), false);
        let streamed = job(random(Graph::paged(ranks, pages.clone()), 5, rounds, any), true);
        assert!(pages.file.bytes() > 100_000, "{}", pages.file.bytes());
        assert_eq!(kept.messages, streamed.messages);
        for (a, b) in kept.graph.programs.iter().zip(&streamed.graph.programs) {
            assert!(a.ops().eq(b.ops()) && a.all_waits_for().eq(b.all_waits_for()));
            assert!(
                (0..a.len()).all(
                    |op| a.successors(op) == b.successors(op) && a.message(op) == b.message(op)
                )
            );
        }
        let logs = run(&kept, NET);
        assert!(logs.iter().all(|l| l.iterations.len() == 2 && l.iterations[1].1.is_some()));
        assert_eq!(logs, run(&streamed, NET));
    }
}

/// A faulty job is rejected with the same message.
#[test]
fn a_streamed_job_is_refused_as_one_in_memory() {
    let broken: [fn(&mut Graph); 4] = [
        |g| {
            let (a, b) = (g.mark(0), g.mark(0));
            g.after(0, b, a);
            g.after(0, a, b);
        },
        |g| _ = g.add(0, Work::Receive { from: Some(1), bytes: 8, tag: Some(99) }, Op::FREE),
        |g| _ = g.add(3, Work::Send { to: 1, bytes: 8, tag: 99, channel: 0 }, Op::FREE),
        |g| {
            g.add(3, Work::Send { to: 1, bytes: 8, tag: 99, channel: 0 }, Op::FREE);
            g.add(1, Work::Receive { from: Some(3), bytes: 9, tag: Some(99) }, Op::FREE);
        },
    ];
    for (nth, breaks) in broken.into_iter().enumerate() {
        let fault = |mut graph: Graph| {
            breaks(&mut graph);
            graph.finish();
            graph.check(&|rank, op| format!("{rank}.{op}")).unwrap_err()
        };
        let pages = Pages { page: 16, ..Pages::new(file(&format!("broken{nth}")), 5) };
        assert_eq!(
            fault(random(Graph::new(5), 5, 100, false)),
            fault(random(Graph::paged(5, pages), 5, 100, false))
        );
    }
}
