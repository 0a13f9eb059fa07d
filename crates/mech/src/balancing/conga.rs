//! CONGA (SIGCOMM 2014): a new flowlet takes the uplink whose path to the destination's leaf is
//! least congested, as measured by the links of that path.
//!
//! ```text
//!   leaf A                               spine                        leaf B
//!   tag = uplink, congestion = its own   max with the link's own      table "from A": congestion by tag
//!   table "to B": congestion by tag  <---- any frame from B to A: one entry of that table, round robin
//!
//!   link      X += bytes sent; X -= X interval / tau at each multiple of interval; X / (C tau) in 2^bits levels
//!   flowlet   uplink with the least max(own link, "to B"); its latest one if that is among the least, else at random
//! ```

use std::collections::BTreeMap;
use std::ops::Bound;

use rustc_hash::FxHashMap;
use xoff_units::params::{Kind, ParamError, ParamSpec, Values};
use xoff_units::state::State;
use xoff_units::{NodeId, Rate, Span, Time};

use super::{
    Arrival, Balancer, Departure, Feedback, FlowTable, Header, Landing, NextHops, Verdict,
};

/// Parameters in a file.
pub const PARAMS: &[ParamSpec] = &[
    ParamSpec::new(
        "gap",
        Kind::Span,
        "500us",
        "idle time of a flow after which it may take another uplink; 0s: each frame may",
        "CONGA section 3.6: T_fl",
    ),
    ParamSpec::new(
        "tau",
        Kind::Span,
        "160us",
        "time constant of the congestion measurement of a link",
        "CONGA section 3.6",
    ),
    ParamSpec::new(
        "interval",
        Kind::Span,
        "20us",
        "interval at which the measurement of a link decays, by interval / tau; at least tau / 1024",
        "CONGA section 3.2: T_dre = alpha tau; alpha = 1/8 is a shift",
    ),
    ParamSpec::new(
        "bits",
        Kind::Count,
        "3",
        "bits of a congestion metric, 1 to 8",
        "CONGA section 3.6: Q",
    ),
    ParamSpec::new(
        "aging",
        Kind::Span,
        "10ms",
        "time without news after which a metric falls by one level, and again after each such time",
        "CONGA section 3.3",
    ),
];

/// The law.
#[derive(Clone, Debug, PartialEq, Eq, State)]
pub struct Conga {
    #[state(built)]
    gap: Span,
    #[state(built)]
    meter: Meter,
    #[state(built)]
    aging: Span,
    table: FlowTable,
    /// By port.
    links: Vec<Load>,
    /// Congestion of paths to other leaves, by leaf and uplink.
    to: FxHashMap<(NodeId, u16), Metric>,
    /// Congestion of paths from other leaves, by leaf.
    from: FxHashMap<NodeId, FromLeaf>,
    /// Congestion of each next hop.
    #[state(built)] // made for each flowlet
    compared: Vec<u8>,
}

/// Measurement of links (DRE, discounting rate estimator).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Meter {
    tau: Span,
    interval: Span,
    bits: u32,
}

/// Recent bytes of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, State)]
struct Load {
    bytes: u64,
    /// Intervals that are over.
    intervals: u64,
}

impl Meter {
    /// Decays up to now.
    fn decay(&self, now: Time, load: &mut Load) {
        let over = now.0 / self.interval.0;
        while load.intervals < over && load.bytes > 0 {
            load.intervals += 1;
            let kept = u128::from(load.bytes) * u128::from(self.tau.0 - self.interval.0);
            load.bytes = (kept / u128::from(self.tau.0)) as u64;
        }
        load.intervals = over;
    }

    /// Level of congestion: 0 for an idle link, 2^bits - 1 for a full one.
    fn level(&self, load: &Load, rate: Rate) -> u8 {
        let full = u128::from(rate.0) * u128::from(self.tau.0);
        let sent = u128::from(load.bytes) * 8 * u128::from(Span::from_ms(1000).0);
        ((sent << self.bits) / full).min((1 << self.bits) - 1) as u8
    }
}

/// Congestion of a path, with the time of the latest news.
#[derive(Clone, Copy, Debug, PartialEq, Eq, State)]
struct Metric {
    level: u8,
    at: Time,
}

impl Metric {
    fn now(&self, now: Time, aging: Span) -> u8 {
        u64::from(self.level).saturating_sub(now.since(self.at).0 / aging.0) as u8
    }
}

/// Congestion of the paths from a leaf.
#[derive(Clone, Debug, Default, PartialEq, Eq, State)]
struct FromLeaf {
    /// By tag: the metric, and the level that was fed back.
    metrics: BTreeMap<u16, (Metric, Option<u8>)>,
    /// Tag that was fed back last.
    latest: u16,
}

impl FromLeaf {
    /// The next metric, round robin, that has changed since it was fed back, or else the next one.
    fn feed_back(&mut self, now: Time, aging: Span) -> Option<Feedback> {
        let after = self.metrics.range((Bound::Excluded(self.latest), Bound::Unbounded));
        let in_turn = || after.clone().chain(self.metrics.range(..=self.latest));
        let changed = in_turn().find(|(_, (metric, fed))| *fed != Some(metric.now(now, aging)));
        let (&tag, (metric, _)) = changed.or_else(|| in_turn().next())?;
        let congestion = metric.now(now, aging);
        self.latest = tag;
        self.metrics.get_mut(&tag)?.1 = Some(congestion);
        Some(Feedback { tag, congestion })
    }
}

impl Conga {
    /// Reads [`PARAMS`].
    ///
    /// # Errors
    /// A time or a number of bits out of range.
    pub fn read(v: &mut dyn Values) -> Result<Conga, ParamError> {
        let meter = Meter {
            tau: v.span("tau")?,
            interval: v.span("interval")?,
            bits: v.count("bits")? as u32,
        };
        let Meter { tau, interval, bits } = meter;
        if tau == Span::ZERO {
            return Err(ParamError::new("tau", "0", "expected a time above zero"));
        }
        if interval > tau || interval.0 < tau.0.div_ceil(1024).max(1) {
            let hint = format!("expected {} to {tau}", Span(tau.0.div_ceil(1024)));
            return Err(ParamError::new("interval", interval.to_string(), hint));
        }
        if !(1..=8).contains(&bits) {
            return Err(ParamError::new("bits", format!("{bits} bits"), "expected 1 to 8"));
        }
        let (gap, aging) = (v.span("gap")?, v.span("aging")?);
        if aging == Span::ZERO {
            return Err(ParamError::new("aging", "0s", "expected a time above zero"));
        }
        Ok(Conga {
            gap,
            meter,
            aging,
            table: FlowTable::new(gap),
            links: Vec::new(),
            to: FxHashMap::default(),
            from: FxHashMap::default(),
            compared: Vec::new(),
        })
    }

    /// The measurement of a port's link, decayed up to now.
    fn link(&mut self, now: Time, port: u16) -> &mut Load {
        let at = usize::from(port);
        if self.links.len() <= at {
            self.links.resize(at + 1, Load::default());
        }
        let load = &mut self.links[at];
        self.meter.decay(now, load);
        load
    }

    /// Congestion of the path to a leaf over an uplink.
    fn congestion(&mut self, now: Time, leaf: NodeId, uplink: u16, rate: Rate) -> u8 {
        let load = *self.link(now, uplink);
        let far = self.to.get(&(leaf, uplink)).map_or(0, |metric| metric.now(now, self.aging));
        self.meter.level(&load, rate).max(far)
    }

    /// Next hop of a new flowlet. `latest`: that of the flow's previous one.
    fn least_congested(
        &mut self,
        now: Time,
        leaf: NodeId,
        latest: Option<usize>,
        hops: &mut dyn NextHops,
    ) -> usize {
        let mut compared = std::mem::take(&mut self.compared);
        compared.clear();
        let congestion = |hop| self.congestion(now, leaf, hops.port(hop), hops.rate(hop));
        compared.extend((0..hops.count()).map(congestion));
        let least = compared.iter().min().copied().unwrap_or_default();
        let latest = latest.filter(|&hop| compared[hop] == least);
        let hop = latest.unwrap_or_else(|| {
            let mut equal = (0..compared.len()).filter(|&hop| compared[hop] == least);
            let n = equal.clone().count();
            let nth = if n > 1 { ((hops.draw() * n as f64) as usize).min(n - 1) } else { 0 };
            equal.nth(nth).unwrap_or_default()
        });
        self.compared = compared;
        hop
    }
}

impl Balancer for Conga {
    fn pick(&mut self, frame: &Arrival, hops: &mut dyn NextHops) -> usize {
        let n = hops.count();
        let Some(leaf) = frame.to_leaf else { return hops.hashed(n as u64) as usize };
        let hop = match self.table.get(frame, n) {
            Some((hop, last)) if frame.now.since(last) < self.gap => hop,
            known => self.least_congested(frame.now, leaf, known.map(|(hop, _)| hop), hops),
        };
        self.table.put(frame, hop);
        hop
    }

    fn adds_headers(&self) -> bool {
        true
    }

    fn on_departure(&mut self, frame: &Departure, header: &mut Header) {
        let load = self.link(frame.now, frame.port);
        load.bytes += frame.len.0;
        let load = *load;
        let congestion = self.meter.level(&load, frame.rate);
        let Some(leaf) = frame.to_leaf else {
            header.congestion = header.congestion.max(congestion);
            return;
        };
        let from = self.from.get_mut(&leaf);
        let feedback = from.and_then(|from| from.feed_back(frame.now, self.aging));
        *header = Header { tag: frame.port, congestion, feedback, ..Header::default() };
    }

    fn on_header(&mut self, frame: &Landing, header: &Header) -> Verdict {
        let (now, leaf) = (frame.now, frame.from_leaf);
        let metric = Metric { level: header.congestion, at: now };
        let from = self.from.entry(leaf).or_default();
        from.metrics.entry(header.tag).or_insert((metric, None)).0 = metric;
        if let Some(Feedback { tag, congestion }) = header.feedback {
            self.to.insert((leaf, tag), Metric { level: congestion, at: now });
        }
        Verdict::default()
    }
}

#[cfg(test)]
mod tests {
    use xoff_units::params::Defaults;
    use xoff_units::{Bytes, FlowId};

    use super::super::tests::{Hops, frame};
    use super::*;
    use crate::detection::Mark;

    fn law(values: &[(&str, &str)]) -> Conga {
        let defaults = Defaults::of(PARAMS);
        Conga::read(&mut values.iter().fold(defaults, |v, (key, x)| v.with(key, x))).unwrap()
    }

    fn us(us: u64) -> Time {
        Time(us * 1_000_000)
    }

    /// A frame of `len` bytes leaves a port of 8 Gb/s, where the register is full with 160,000 B.
    fn sends(law: &mut Conga, at: u64, port: u16, len: u64, to_leaf: Option<NodeId>) -> Header {
        let mut header = Header { tag: 77, congestion: 3, ..Header::default() };
        let rate = Rate::from_gbps(8);
        law.on_departure(
            &Departure { now: us(at), port, rate, len: Bytes(len), to_leaf },
            &mut header,
        );
        header
    }

    fn comes(law: &mut Conga, at: u64, leaf: NodeId, tag: u16, congestion: u8) {
        lands(law, at, leaf, &Header { tag, congestion, ..Header::default() });
    }

    fn lands(law: &mut Conga, at: u64, from_leaf: NodeId, header: &Header) {
        let (flow, is_data, mark) = (FlowId(0), true, Mark::None);
        law.on_header(&Landing { now: us(at), flow, from_leaf, is_data, mark }, header);
    }

    fn told(law: &mut Conga, at: u64, leaf: NodeId, tag: u16, congestion: u8) {
        let feedback = Some(Feedback { tag, congestion });
        lands(law, at, leaf, &Header { feedback, ..Header::default() });
    }

    #[test]
    fn a_register_counts_bytes_and_loses_an_eighth_each_20_us() {
        let mut law = law(&[]);
        let bytes = |law: &mut Conga, at| law.link(us(at), 5).bytes;
        assert_eq!(
            sends(&mut law, 0, 5, 80_000, Some(NodeId(9))).congestion,
            4,
            "half of 8 levels"
        );
        assert_eq!(bytes(&mut law, 19), 80_000);
        assert_eq!([20, 40, 60].map(|at| bytes(&mut law, at)), [70_000, 61_250, 53_593]);
        assert_eq!(
            sends(&mut law, 60, 5, 6_407, Some(NodeId(9))).congestion,
            3,
            "60,000 B of 160,000"
        );
        assert_eq!(sends(&mut law, 60, 5, 79_999, Some(NodeId(9))).congestion, 6, "139,999 B");
        assert_eq!(sends(&mut law, 60, 5, 1, Some(NodeId(9))).congestion, 7, "140,000 B");
        assert_eq!(
            sends(&mut law, 60, 5, 100_000, Some(NodeId(9))).congestion,
            7,
            "no more levels"
        );
        assert_eq!(bytes(&mut law, 3_000), 0);
    }

    #[test]
    fn a_frame_takes_along_the_most_congested_link() {
        let mut law = law(&[]);
        assert_eq!(
            sends(&mut law, 0, 2, 20_000, Some(NodeId(9))),
            Header { tag: 2, congestion: 1, ..Header::default() },
            "a leaf writes the header"
        );
        let spine = |law: &mut Conga, len| sends(law, 0, 0, len, None);
        let passed = |congestion| Header { tag: 77, congestion, ..Header::default() };
        assert_eq!(spine(&mut law, 60_000), passed(3));
        assert_eq!(spine(&mut law, 20_000), passed(4));
    }

    #[test]
    fn changed_metrics_are_fed_back_first_and_each_in_turn() {
        let mut law = law(&[]);
        (4..8).for_each(|tag| comes(&mut law, 0, NodeId(1), tag, tag as u8));
        let fed = |law: &mut Conga, at| {
            let f = sends(law, at, 0, 0, Some(NodeId(1))).feedback.unwrap();
            (f.tag, f.congestion)
        };
        assert_eq!([0; 4].map(|at| fed(&mut law, at)), [(4, 4), (5, 5), (6, 6), (7, 7)]);
        assert_eq!(fed(&mut law, 1), (4, 4), "none has changed: in turn");
        comes(&mut law, 2, NodeId(1), 4, 0);
        comes(&mut law, 2, NodeId(1), 7, 7);
        assert_eq!([2, 2].map(|at| fed(&mut law, at)), [(4, 0), (5, 5)], "7 has its old level");
        assert_eq!(fed(&mut law, 10_000), (6, 5), "old by 10 ms: a level less");
        assert_eq!(
            sends(&mut law, 2, 0, 0, Some(NodeId(2))).feedback,
            None,
            "nothing came from leaf 2"
        );
    }

    #[test]
    fn a_flowlet_takes_the_least_congested_path() {
        let mut law = law(&[]);
        let mut hops = Hops { draws: vec![0.9, 0.4], ..Hops::new(&[0; 3]) };
        let mut at = |law: &mut Conga, us, flow| {
            law.pick(&Arrival { to_leaf: Some(NodeId(1)), ..frame(us, FlowId(flow)) }, &mut hops)
        };
        assert_eq!(at(&mut law, 0, 1), 2, "all equal: at random");
        told(&mut law, 0, NodeId(1), 2, 5);
        assert_eq!(at(&mut law, 499, 1), 2, "the flowlet goes on");
        assert_eq!(at(&mut law, 999, 1), 0, "0 and 1 are equal");
        told(&mut law, 1000, NodeId(1), 0, 2);
        told(&mut law, 1000, NodeId(1), 1, 2);
        assert_eq!(at(&mut law, 1500, 1), 0, "a path that is not better: the flow stays");
        told(&mut law, 1501, NodeId(1), 2, 1);
        told(&mut law, 1501, NodeId(2), 1, 0);
        assert_eq!(at(&mut law, 2100, 1), 2, "leaf 2 is another one");
        // Port 2 of this leaf has 40,000 of 160,000 B: level 2, as 0 and 1 by now.
        sends(&mut law, 2100, 2, 40_000, Some(NodeId(1)));
        assert_eq!(at(&mut law, 2100, 2), 2, "0.9 of three");
        assert_eq!(law.pick(&frame(2100, FlowId(2)), &mut hops), 0, "elsewhere: the hash");
    }

    #[test]
    fn a_metric_without_news_falls_by_a_level_each_10_ms() {
        let mut law = law(&[]);
        told(&mut law, 100, NodeId(1), 0, 2);
        let mut level = |at| law.congestion(us(at), NodeId(1), 0, Rate(1));
        assert_eq!([100, 10_099, 10_100, 20_100, 90_000].map(&mut level), [2, 2, 1, 0, 0]);
    }

    #[test]
    fn values_out_of_range_are_refused() {
        for (key, value, hint) in [
            ("interval", "161us", "expected 156.25 ns to 160 us"),
            ("interval", "156ns", "expected 156.25 ns to 160 us"),
            ("bits", "9", "expected 1 to 8"),
            ("aging", "0s", "expected a time above zero"),
        ] {
            let e = Conga::read(&mut Defaults::of(PARAMS).with(key, value)).unwrap_err();
            assert_eq!((e.key.as_str(), e.hint.as_str()), (key, hint));
        }
    }
}
