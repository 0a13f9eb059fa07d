//! Closed loop: each host keeps a number of flows going; when one ends, its next one starts.
//!
//! ```text
//!   next_after = "delivery"   host |--flow 0--|              |--flow 1--| ...     never more than `concurrency` flows are open
//!                             dst     |........delivered|-way back->
//!   next_after = "sent"       host |--flow 0--|--flow 1--| ...                    as many are open as the network holds back
//! ```
//!
//! A host learns of a delivery from the last acknowledgement. Where hosts send none it learns of it
//! after the propagation delay of the flow's links: the earliest time at which news could be there,
//! without a frame that would change what it reports. (And never sooner than a part of the network
//! on another thread can get the news, which takes one link.)
//!
//! When a flow ends is known only during the run, but the run does not decide the next flow: the
//! n-th flow of a host is a pure function of (seed, host, n). The order in which other hosts finish
//! cannot change it.

use std::sync::Arc;

use xoff_units::params::{Kind, ParamError, ParamSpec, Values};
use xoff_units::{NodeId, Rate, Span, Time};

use super::constant_rate::late;
use crate::workload::destinations::Destinations;
use crate::workload::flow::{DST_PORT, src_port};
use crate::workload::random::{Purpose, entity, stream_at};
use crate::workload::{Context, Flow, Generated, SizeCdf, select};

/// Declared keys, with defaults and sources.
pub const PARAMS: &[ParamSpec] = &[
    select::CDF,
    select::FIXED_SIZE,
    select::SIZE_MAX,
    ParamSpec::new(
        "concurrency",
        Kind::Count,
        "1",
        "Number of simultaneous flows of each host.",
        "GFC section 6.2.3: one",
    ),
    select::HOSTS,
    ParamSpec::new(
        "different_rack",
        Kind::Flag,
        "true",
        "Every destination is in another rack than its source.",
        "GFC section 6.2.3",
    ),
    select::START,
    select::JITTER,
    ParamSpec::optional(
        "stop",
        Kind::Span,
        "No flow starts at or after this time; absent: the run's end.",
        "",
    ),
    ParamSpec::new(
        "next_after",
        Kind::Choice(&["delivery", "sent"]),
        "delivery",
        "Event that lets a host start its next flow. delivery: the last flow has arrived, known from the last acknowledgement or, without acknowledgements, after the propagation delay of the flow's links. sent: its last frame has left the host, so flows accumulate where the network pauses them.",
        "GFC section 6.2.3: each host keeps one flow",
    ),
    select::RATE,
    select::PRIORITY,
];

/// Event that lets a host start its next flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextAfter {
    /// The host knows that the last flow has arrived.
    Delivery,
    /// The last frame of the last one has left.
    Sent,
}

/// A source that is asked for a host's next flow whenever one of its flows ends.
#[derive(Clone, Debug, PartialEq)]
pub struct ClosedLoop {
    seed: u64,
    label: u32,
    priority: u8,
    rate: Option<Rate>,
    concurrency: u32,
    stop: Time,
    next_after: NextAfter,
    /// Participants with their first start, in index order.
    hosts: Vec<(NodeId, Time)>,
    /// Random entity of each node of the topology, by node index.
    entities: Vec<u64>,
    dsts: Destinations,
    sizes: Arc<SizeCdf>,
}

impl ClosedLoop {
    /// Label of this workload: flows that carry it are the ones to follow up.
    pub fn label(&self) -> u32 {
        self.label
    }

    /// Event that lets a host start its next flow.
    pub fn next_after(&self) -> NextAfter {
        self.next_after
    }

    /// True if `host` takes part.
    pub fn has(&self, host: NodeId) -> bool {
        self.dsts.has(host)
    }

    /// Destination and size [bytes] of the `nth` flow (from 0) of `host`, which must take part: a
    /// pure function of the seed, the host and `nth`.
    pub fn next(&self, host: NodeId, nth: u64) -> (NodeId, u64) {
        let mut rng = stream_at(
            self.seed,
            self.entities[host.index()],
            Purpose::ClosedLoop.of(self.label),
            nth,
        );
        let size = self.sizes.sample(&mut rng);
        (self.dsts.pick(host, &mut rng), size)
    }

    /// Start of its first flow; `None`: it has no hosts.
    pub fn first_start(&self) -> Option<Time> {
        self.hosts.iter().map(|h| h.1).min()
    }

    /// The `nth` flow (from 0) of `host`, started at `at`; `None` from the time at which the loop
    /// stops.
    pub fn flow(&self, host: NodeId, nth: u64, at: Time) -> Option<Flow> {
        if at >= self.stop {
            return None;
        }
        let (dst, size) = self.next(host, nth);
        let (priority, rate, label) = (self.priority, self.rate, self.label);
        Some(Flow {
            src: host,
            dst,
            priority,
            size,
            start: at,
            rate,
            controlled: true,
            src_port: src_port(nth),
            dst_port: DST_PORT,
            path: None,
            label,
        })
    }

    /// The flows to begin with: those numbered 0 to `concurrency - 1` of each host.
    pub fn initial(&self) -> impl Iterator<Item = Flow> + '_ {
        self.hosts.iter().flat_map(move |&(host, at)| {
            (0..self.concurrency as u64).filter_map(move |nth| self.flow(host, nth, at))
        })
    }
}

/// The source; no flow in advance.
pub fn generate(v: &mut dyn Values, cx: &Context) -> Result<Generated, ParamError> {
    let mut notes = Vec::new();
    let mut hosts = select::participants(v, cx.topo, &mut notes)?;
    hosts.sort_unstable();
    let concurrency = v.count("concurrency")?;
    if !(1..=1_000_000).contains(&concurrency) {
        return Err(ParamError::new(
            "concurrency",
            format!("{concurrency} flows per host"),
            "expected 1 to 1000000",
        ));
    }
    let (start, jitter) = (select::start(v)?, v.span("jitter")?);
    let stop = v.span_opt("stop")?.map_or(Time::NEVER, |s: Span| Time(s.0));
    if stop <= start {
        return Err(ParamError::new(
            "stop",
            format!("{stop} is not after the start, {start}"),
            "give a later time",
        ));
    }
    let closed_loop = ClosedLoop {
        seed: cx.seed,
        label: cx.label,
        priority: select::priority(v)?,
        rate: select::rate(v)?,
        concurrency: concurrency as u32,
        stop,
        next_after: if v.text("next_after")? == "sent" {
            NextAfter::Sent
        } else {
            NextAfter::Delivery
        },
        dsts: Destinations::new(cx.topo, &hosts, v.flag("different_rack")?)?,
        hosts: hosts.iter().map(|&h| (h, start + late(cx, h, jitter))).collect(),
        entities: cx.topo.nodes.iter().map(|n| entity(&n.name)).collect(),
        sizes: Arc::new(select::sizes(v, cx)?),
    };
    Ok(Generated { closed_loop: Some(closed_loop), notes, ..Generated::default() })
}
