//! The flows of a run: what they asked for and how they fared.

use xoff_topology::{Link, Topology};
use xoff_units::{Bytes, Span, Time, WireClock, prefetch};
use xoff_workload::Flow;

use crate::cut_through::head_time;

/// A flow and its fate.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowRecord {
    /// The flow as it was started.
    pub flow: Flow,
    /// How many flows its host had started before it (closed loops number by it).
    pub nth: u64,
    /// Payload put on the wire by the source, repetitions included [bytes].
    pub sent: u64,
    /// Payload delivered in order [bytes].
    pub delivered: u64,
    /// Data frames of it that arrived marked CE.
    pub ce_frames: u64,
    /// Data frames of it that arrived marked UE.
    pub ue_frames: u64,
    /// Notices of congested buffers that its source has had while it sent.
    pub notices: u64,
    /// When its source had put its last byte on the wire.
    pub all_sent: Option<Time>,
    /// When its last byte had arrived in order.
    pub received: Option<Time>,
    /// When it was complete: last acknowledgement at the source, or without acknowledgements last byte at the destination.
    pub end: Option<Time>,
}

impl FlowRecord {
    pub(crate) fn new(flow: Flow, nth: u64) -> Self {
        FlowRecord { flow, nth, sent: 0, delivered: 0, ce_frames: 0, ue_frames: 0, notices: 0, all_sent: None, received: None, end: None }
    }

    /// Its counters will be asked soon.
    #[inline]
    pub(crate) fn prefetch(&self) {
        prefetch(&self.sent);
    }

    /// Adds what another part of the network saw of the same flow.
    pub(crate) fn add(&mut self, o: &FlowRecord) {
        self.nth += o.nth;
        self.sent += o.sent;
        self.delivered += o.delivered;
        self.ce_frames += o.ce_frames;
        self.ue_frames += o.ue_frames;
        self.notices += o.notices;
        self.all_sent = self.all_sent.or(o.all_sent);
        self.received = self.received.or(o.received);
        self.end = self.end.or(o.end);
    }

    /// Completion time: from the start to the last byte at the destination.
    pub fn fct(&self) -> Option<Span> {
        self.received.map(|t| t.since(self.flow.start))
    }
}

/// The shortest possible time for a flow of `size` on a path of (node, egress port) in an empty store-and-forward
/// network: the whole flow at the slowest link, the largest frame once more at every other link, and the delays.
/// (GFC section 6.2.3: "the shortest possible time for a same-sized flow to finish in an unloaded network".)
///
/// With `cut_through`, the bytes after which switches go on with a frame, it is the exact time of a lone flow. (Without, it is too
/// long by less than a frame where a flow with a short last frame meets links of several rates.)
pub fn ideal_time(t: &Topology, path: &[(u32, u16)], size: u64, payload_max: u32, header: u32, cut_through: Option<Bytes>) -> Span {
    let links: Vec<_> = path.iter().map(|&(n, p)| t.link_at(n, p)).collect();
    let Some(slowest) = links.iter().enumerate().min_by_key(|(_, l)| l.rate).map(|(i, _)| i) else { return Span::ZERO };
    let frames = size.div_ceil(payload_max as u64).max(1);
    if cut_through.is_some() {
        let heads: Vec<Span> = path.iter().map(|&(n, p)| head_time(t, n, p, cut_through, WireClock::Picoseconds)).collect();
        let last = size.saturating_sub((frames - 1) * payload_max as u64) + header as u64;
        return pipelined(&links, &heads, frames, Bytes((payload_max + header) as u64), Bytes(last));
    }
    let wire = Bytes(size.saturating_add(frames.saturating_mul(header as u64)));
    let one = Bytes(size.min(payload_max as u64) + header as u64);
    let mut total = links[slowest].rate.time_for(wire);
    for (i, l) in links.iter().enumerate() {
        total += l.delay;
        if i != slowest {
            total += l.rate.time_for(one);
        }
    }
    total
}

/// When the last of `frames` frames, all of them `full` but that one, has arrived over links that pass a frame on when its
/// head is there or, at the latest, all of it.
///
/// Frame k + 1 leaves a node when frame k has left it and it has come in, so the time is that of the longest way through a
/// grid of frames and links. A step to the next link costs the head, a step to the next frame costs the frame on its wire.
/// Full frames are alike: their steps are all taken at the slowest of the links passed by then.
fn pipelined(links: &[&Link], heads: &[Span], frames: u64, full: Bytes, last: Bytes) -> Span {
    let end = links.len() - 1;
    let whole = |i: usize, len| links[i].rate.time_for(len);
    let passes = |i: usize, len| if i == end { whole(i, len) } else { whole(i, len).min(heads[i]) };
    let delays: Span = links.iter().fold(Span::ZERO, |sum, l| sum + l.delay);
    let mut rest: Span = (0..=end).fold(Span::ZERO, |sum, i| sum + passes(i, last)); // of the last frame, from link i on
    if frames == 1 {
        return delays + rest;
    }
    let (mut before, mut slowest, mut longest) = (Span::ZERO, Span::ZERO, Span::ZERO);
    for i in 0..=end {
        // The last frame follows the one before it at link i.
        slowest = slowest.max(whole(i, full));
        let others = Span(slowest.0.saturating_mul(frames - 2));
        longest = longest.max(Span((before + whole(i, full) + rest).0.saturating_add(others.0)));
        before += passes(i, full);
        rest = Span(rest.0 - passes(i, last).0);
    }
    Span(delays.0.saturating_add(longest.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use xoff_topology::NodeKind;
    use xoff_units::Rate;

    #[test]
    fn ideal_time_of_a_two_hop_path() {
        let mut t = Topology::default();
        let a = t.add_node("a", NodeKind::Host, 0, 0);
        let s = t.add_node("s", NodeKind::Switch, 1, 0);
        let b = t.add_node("b", NodeKind::Host, 0, 0);
        t.add_link(a, s, Rate::from_gbps(10), Span::from_us(1));
        t.add_link(s, b, Rate::from_gbps(10), Span::from_us(1));
        // 2 frames of 1500 B: 2.4 us + 1.2 us store and forward + 2 us.
        assert_eq!(ideal_time(&t, &[(a, 0), (s, 1)], 3000, 1500, 0, None), Span(5_600_000));
        assert_eq!(ideal_time(&t, &[(a, 0), (s, 1)], 100, 1500, 0, None), Span(2_160_000));
    }
}
