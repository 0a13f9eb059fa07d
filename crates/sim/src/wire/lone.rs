//! The ideal completion time of a flow: that of a lone flow in an empty network, to the picosecond.

use std::ops::Range;

use xoff_net::topology::Topology;
use xoff_units::{Bytes, NodeId, Rate, Span, WireClock};

use crate::wire::cut_through::head_time;

/// A flow as if it were alone: the schedule of its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lone {
    /// Payload [bytes].
    pub size: u64,
    /// Constant rate of its application, counted in bytes on the wire [bit/s]; `None`: as fast as
    /// the link lets it.
    pub rate: Option<Rate>,
    /// Largest payload of a frame [bytes].
    pub payload_max: u32,
    /// Bytes on the wire around the payload of every frame.
    pub header: u32,
}

/// A stage of the path: how long it is busy with a frame, and after how much of that time the frame
/// moves on.
struct Stage {
    full: Passage,
    last: Passage,
}

#[derive(Clone, Copy)]
struct Passage {
    busy: u128,
    goes_on: u128,
}

/// The time from the start of a flow to the arrival of its last bit at the end of a path of (node,
/// egress port), if nothing else is in the network: a lower bound of every completion time on that
/// path, and exactly that of a lone flow that no rate control or window slows down. `cut_through`:
/// the bytes after which switches forward a frame; `None`: store and forward. Times beyond 2^64 ps
/// are cut off there.
///
/// (GFC section 6.2.3: "the shortest possible time for a same-sized flow to finish in an unloaded
/// network".)
///
/// Frame k + 1 enters a stage when frame k has left it and it has come out of the stage before, so
/// the time is that of the longest way through a grid of frames and stages. A step to the next
/// stage costs the time until the frame moves on. A step to the next frame costs the time for which
/// the stage is busy. The first stage is the application, busy with a frame for as long as it takes
/// to produce one; the others are the links. All frames but the last one are alike: their steps are
/// taken at the slowest of the stages passed by then.
///
/// `spread`: hops at which frames may take other links too. No frame waits for another one there,
/// so the time is a lower bound if the path is the fastest of all.
pub fn ideal_time(
    t: &Topology,
    (path, spread): (&[(NodeId, u16)], Range<usize>),
    flow: &Lone,
    cut_through: Option<Bytes>,
) -> Span {
    let frames = flow.size.div_ceil(flow.payload_max.max(1) as u64).max(1);
    let full = Bytes(flow.payload_max as u64 + flow.header as u64);
    let last = Bytes(
        flow.size.saturating_sub((frames - 1) * flow.payload_max as u64) + flow.header as u64,
    );
    let mut delays = 0;
    // A produced frame leaves at once, so a full frame's production only delays the next one.
    let produced =
        |len| Passage { busy: flow.rate.map_or(0, |r| r.time_for(len).0 as u128), goes_on: 0 };
    let mut stages = vec![Stage { full: produced(full), last: produced(last) }];
    for (i, &(node, port)) in path.iter().enumerate() {
        let link = t.link_at(node, port);
        let head = if i + 1 < path.len() {
            head_time(t, node, port, cut_through, WireClock::Picoseconds).0
        } else {
            u64::MAX
        };
        let passage = |len| {
            let busy = link.rate.time_for(len).0;
            let waits = !spread.contains(&i);
            Passage { busy: if waits { busy.into() } else { 0 }, goes_on: busy.min(head) as u128 }
        };
        delays += link.delay.0 as u128;
        stages.push(Stage { full: passage(full), last: passage(last) });
    }
    let total = delays + longest_path(&stages, frames);
    Span(total.min(u64::MAX as u128) as u64)
}

/// The longest way through the grid of `frames` frames and these stages.
fn longest_path(stages: &[Stage], frames: u64) -> u128 {
    let mut rest: u128 = stages.iter().map(|s| s.last.goes_on).sum(); // of the last frame, from the stage at hand on
    if frames == 1 {
        return rest;
    }
    let (mut before, mut slowest, mut longest) = (0, 0, 0);
    for s in stages {
        // The last frame follows the previous one here.
        slowest = s.full.busy.max(slowest);
        longest = longest.max(before + s.full.busy + rest + slowest * (frames - 2) as u128);
        before += s.full.goes_on;
        rest -= s.last.goes_on;
    }
    longest
}

#[cfg(test)]
mod tests {
    use super::*;
    use xoff_net::topology::NodeKind;

    fn two_hops(gbps: [u64; 2]) -> Topology {
        let mut t = Topology::default();
        let a = t.add_node("a", NodeKind::Host, 0, 0);
        let s = t.add_node("s", NodeKind::Switch, 1, 0);
        let b = t.add_node("b", NodeKind::Host, 0, 0);
        t.add_link(a, s, Rate::from_gbps(gbps[0]), Span::from_us(1));
        t.add_link(s, b, Rate::from_gbps(gbps[1]), Span::from_us(1));
        t
    }
    const ROUTE: [(NodeId, u16); 2] = [(NodeId(0), 0), (NodeId(1), 1)];

    fn ideal(gbps: [u64; 2], size: u64, rate: Option<u64>) -> Span {
        ideal_time(
            &two_hops(gbps),
            (&ROUTE, 0..0),
            &Lone { size, rate: rate.map(Rate::from_gbps), payload_max: 1500, header: 0 },
            None,
        )
    }

    #[test]
    fn two_hops_of_one_rate() {
        // 2 frames of 1500 B: 2.4 us + 1.2 us store and forward + 2 us.
        assert_eq!(ideal([10, 10], 3000, None), Span(5_600_000));
        assert_eq!(ideal([10, 10], 100, None), Span(2_160_000));
    }

    /// 1501 B at 10 and 100 Gb/s: the last frame has one byte, so the fast link hardly delays it.
    /// The whole flow at the slow link and a full frame at the fast one, as it used to be counted,
    /// would be 3.3208 us.
    #[test]
    fn a_short_last_frame_over_links_of_two_rates() {
        assert_eq!(ideal([10, 100], 1501, None), Span(2_000_000 + 1_200_000 + 120_000 + 80));
        assert_eq!(ideal([100, 10], 1501, None), Span(2_000_000 + 120_000 + 1_200_000 + 800));
    }

    /// 3 frames at 5 Gb/s: produced every 2.4 us, the last one at 4.8 us.
    #[test]
    fn an_application_with_a_rate() {
        assert_eq!(ideal([10, 10], 4500, Some(5)), Span(2_000_000 + 4_800_000 + 2 * 1_200_000));
        assert_eq!(
            ideal([10, 10], 4500, Some(40)),
            ideal([10, 10], 4500, None),
            "faster than the link"
        );
    }

    /// 2^64 - 2 bytes at 1 kb/s: more than 2^64 ps, not a short time.
    #[test]
    fn huge_flows_do_not_wrap() {
        let mut t = two_hops([10, 10]);
        t.links[1].rate = Rate(1000);
        let flow = |size| Lone { size, rate: None, payload_max: 1500, header: u32::MAX };
        assert_eq!(ideal_time(&t, (&ROUTE, 0..0), &flow(u64::MAX - 1), None), Span(u64::MAX));
        assert_eq!(
            ideal([10, 10], 1 << 53, None),
            Span((1u64 << 53) * 800 + 2_000_000 + 1_200_000)
        );
    }
}
