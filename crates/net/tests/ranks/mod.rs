//! Jobs on the ideal network of LogGP.

use std::sync::Arc;

use xoff_net::jobs::loggp::LogGp;
use xoff_net::jobs::{Graph, Job, Overheads};
use xoff_units::{NodeId, Span, Time};

/// Parameters of LogGOPSim's figures.
pub const NET: LogGp = LogGp {
    latency: Span::from_ns(2500),
    gap: Span::from_ns(1000),
    gap_per_byte: Span::from_ns(6),
};

/// A job of one iteration without overheads that completes, except for the given change.
pub fn job(mut graph: Graph, change: impl FnOnce(&mut Job)) -> Arc<Job> {
    graph.finish();
    graph.check(&|rank, op| format!("{rank}.{op}")).expect("a job that comes to its end");
    let ranks = graph.ranks();
    let mut job = Job {
        name: "test".into(),
        label: 0,
        hosts: (0..ranks).map(NodeId).collect(),
        graph: Arc::new(graph),
        iterations: 1,
        start: Time::ZERO,
        src_port: 0,
        queue_pairs: 1,
        priority: 0,
        overheads: Overheads { send: Span::ZERO, receive: Span::ZERO, gap: Span::ZERO },
        inner: None,
        messages: Default::default(),
        first_flow: 0,
        pace: vec![1000; ranks as usize],
        sends: Vec::new(),
    };
    change(&mut job);
    job.number();
    Arc::new(job)
}
