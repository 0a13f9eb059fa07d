//! AF-QCN: a congestion point that cuts flows above their fair share more than the others (Kabbani,
//! Alizadeh, Yasuda, Pan, Prabhakar, "AF-QCN: Approximate Fairness with Quantized Congestion
//! Notification for Multi-tenanted Data Centers", Hot Interconnects 2010; known here from a public
//! summary, not from the text).
//!
//! ```text
//!   arrivals, flow by flow --> M_i, once per window --> fair share = w_i sum M / sum w   weights w, 1 unless given
//!   at a congested sample:     Fb_AF = 63 [1 - fair/M_i]+              of the culprit
//!                              Fb    = (1 - alpha) Fb_QCN + alpha Fb_AF
//! ```
//!
//! Rates are compared with one another only, so they are counted in bytes per window, and no clock
//! is needed.

use std::collections::BTreeMap;

use xoff_units::params::{Kind, ParamError, ParamSpec, Values};
use xoff_units::state::State;
use xoff_units::{Bytes, FlowId, Rate, Time};

use super::Place;
use super::congestion_point::{Cnm, CongestionPoint, Side};
use super::law::{CongestionPointLaw, Law, NetworkFacts};
use super::qcn::{self, FEEDBACK_MAX, Qcn};
use crate::Unmet;

/// Parameters in a file: those of QCN, and three more.
pub const PARAMS: &[ParamSpec] = &[
    qcn::PARAMS[0],
    qcn::PARAMS[1],
    qcn::PARAMS[2],
    qcn::PARAMS[3],
    qcn::PARAMS[4],
    qcn::PARAMS[5],
    qcn::PARAMS[6],
    qcn::PARAMS[7],
    ParamSpec::new(
        "alpha",
        Kind::Float,
        "0.5",
        "part of the feedback that follows the fair share, 0 to 1",
        "AF-QCN, Hot Interconnects 2010; value chosen by xoff",
    ),
    ParamSpec::new(
        "window",
        Kind::Bytes,
        "1500KB",
        "bytes that arrive between two calculations of the flows' shares",
        "AF-QCN, Hot Interconnects 2010; value chosen by xoff",
    ),
    ParamSpec::optional(
        "weights",
        Kind::Texts,
        "weights of flows in the fair share, each FLOW:WEIGHT, such as [\"0:3\"], by the number in the table flows; default: 1 each",
        "AF-QCN, Hot Interconnects 2010: weighted fair shares of tenants",
    ),
];

/// Values of [`PARAMS`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Params {
    /// Parameters of the congestion point.
    pub qcn: qcn::Params,
    /// alpha in thousandths.
    pub alpha_permille: u32,
    /// Window [bytes].
    pub window: Bytes,
    /// Weights of flows other than 1.
    pub weights: BTreeMap<FlowId, u64>,
}

impl Params {
    /// Reads [`PARAMS`].
    pub fn read(v: &mut dyn Values) -> Result<Params, ParamError> {
        let alpha = v.float("alpha")?;
        if !(0.0..=1.0).contains(&alpha) {
            return Err(ParamError::new(
                "alpha",
                format!("{alpha} is not between 0 and 1"),
                "expected 0 (QCN) to 1 (fair share only)",
            ));
        }
        let p = Params {
            qcn: qcn::Params::read(v)?,
            alpha_permille: (alpha * 1_000.0).round() as u32,
            window: v.bytes("window")?,
            weights: v
                .texts("weights")?
                .iter()
                .map(|text| weight(text))
                .collect::<Result<_, _>>()?,
        };
        if p.window.0 == 0 {
            return Err(ParamError::new("window", "the window is 0", "expected a size above zero"));
        }
        Ok(p)
    }
}

/// A flow and its weight.
fn weight(text: &str) -> Result<(FlowId, u64), ParamError> {
    let parts = text.split_once(':').and_then(|(flow, weight)| {
        Some((flow.trim().parse().ok()?, weight.trim().parse::<u32>().ok()?))
    });
    let Some((flow, weight @ 1..)) = parts else {
        return Err(ParamError::new(
            "weights",
            format!("'{text}' is not a weight of a flow"),
            "expected a flow and a whole number above zero, such as [\"0:3\", \"4:2\"]",
        ));
    };
    Ok((FlowId(flow), weight.into()))
}

impl Law for Params {
    fn unmet(&self, at: &NetworkFacts) -> Vec<Unmet> {
        self.qcn.unmet(at)
    }
    fn validate(&self, place: &Place, memory: Bytes) -> Result<(), ParamError> {
        self.qcn.validate(place.link.buffer, memory)
    }
}

impl CongestionPointLaw for Params {
    type CongestionPoint = AfQcn;

    fn congestion_point(&self, place: &Place, side: Side) -> Option<AfQcn> {
        self.qcn.placement.has(side).then(|| AfQcn::new(self, place.link.rate, place.link.buffer))
    }
}

/// State of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, State)]
struct Share {
    /// Arrived in this window [bytes].
    fresh: u64,
    /// M: half of its previous value, plus half of the bytes of the last window [bytes].
    average: u64,
}

/// The congestion point of one buffer.
#[derive(Clone, Debug, PartialEq, State)]
#[state(in_place)]
pub struct AfQcn {
    qcn: Qcn,
    alpha_permille: u32,
    window: u64,
    /// Bytes until the window ends.
    left: u64,
    /// By flow.
    shares: BTreeMap<FlowId, Share>,
    /// Sum of the averages [bytes].
    total: u64,
    weights: BTreeMap<FlowId, u64>,
}

impl AfQcn {
    /// An empty buffer of this size behind a line of this rate.
    pub fn new(p: &Params, line: Rate, buffer: Bytes) -> Self {
        AfQcn {
            qcn: Qcn::new(&p.qcn, line, buffer),
            alpha_permille: p.alpha_permille,
            window: p.window.0,
            left: p.window.0,
            shares: BTreeMap::new(),
            total: 0,
            weights: p.weights.clone(),
        }
    }

    /// The congestion point within, for pauses and dequeues.
    pub fn qcn_mut(&mut self) -> &mut Qcn {
        &mut self.qcn
    }

    /// A frame has been stored; `queue` includes it.
    pub fn on_enqueue(
        &mut self,
        now: Time,
        flow: FlowId,
        len: Bytes,
        queue: Bytes,
        draw: &mut dyn FnMut() -> f64,
    ) -> Option<Cnm> {
        self.shares.entry(flow).or_default().fresh += len.0;
        if self.left > len.0 {
            self.left -= len.0;
        } else {
            self.end_window();
        }
        self.qcn.on_enqueue(now, flow, len, queue, draw).and_then(|cnm| self.weigh(cnm))
    }

    /// As [`Qcn::on_clock`].
    pub fn on_clock(
        &mut self,
        now: Time,
        queue: Bytes,
        draw: &mut dyn FnMut() -> f64,
    ) -> Option<Cnm> {
        self.qcn.on_clock(now, queue, draw).and_then(|cnm| self.weigh(cnm))
    }

    fn end_window(&mut self) {
        self.left = self.window;
        for share in self.shares.values_mut() {
            // The first window of a flow counts in full.
            let last = if share.average == 0 { share.fresh } else { share.average };
            *share = Share { fresh: 0, average: (last + share.fresh) / 2 };
        }
        self.shares.retain(|_, s| s.average >= 64); // a frame's worth: fewer is no flow any more
        self.total = self.shares.values().map(|s| s.average).sum();
    }

    /// Fb_AF: how far the flow is above its fair share, 0 to 63.
    fn above_fair_share(&self, flow: FlowId) -> u64 {
        let own = self.shares.get(&flow).map_or(0, |s| s.average);
        let weight = |flow: &FlowId| self.weights.get(flow).copied().unwrap_or(1);
        let sending = self.shares.iter().filter(|(_, s)| s.average > 0);
        let all: u64 = sending.map(|(flow, _)| weight(flow)).sum();
        let fair =
            (u128::from(self.total) * u128::from(weight(&flow)) / u128::from(all.max(1))) as u64;
        if own <= fair { 0 } else { (own - fair) * FEEDBACK_MAX as u64 / own }
    }

    /// A CNM with the feedback that its flow deserves; none if nothing of it is left.
    fn weigh(&self, mut cnm: Cnm) -> Option<Cnm> {
        let alpha = self.alpha_permille as u64;
        let fb = (1_000 - alpha) * cnm.congestion.degree as u64
            + alpha * self.above_fair_share(cnm.flow);
        cnm.congestion.degree = (fb / 1_000) as u8;
        (cnm.congestion.degree > 0).then_some(cnm)
    }
}

impl CongestionPoint for AfQcn {
    fn on_enqueue(
        &mut self,
        now: Time,
        flow: FlowId,
        len: Bytes,
        queue: Bytes,
        draw: &mut dyn FnMut() -> f64,
    ) -> Option<Cnm> {
        AfQcn::on_enqueue(self, now, flow, len, queue, draw)
    }
    fn on_dequeue(&mut self, _now: Time, flow: FlowId, len: Bytes) {
        self.qcn.on_dequeue(flow, len);
    }
    fn on_stop(&mut self, now: Time) {
        self.qcn.on_pause(now);
    }
    fn on_release(&mut self, now: Time) {
        self.qcn.on_resume(now);
    }
    fn next_wake(&self) -> Option<Time> {
        self.qcn.next_clock()
    }
    fn on_wake(&mut self, now: Time, queue: Bytes, draw: &mut dyn FnMut() -> f64) -> Option<Cnm> {
        self.on_clock(now, queue, draw)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use xoff_units::params::Defaults;

    const LEN: Bytes = Bytes(1_500);

    fn read(given: &[(&str, &str)]) -> Result<Params, ParamError> {
        Params::read(
            &mut given.iter().fold(Defaults::of(PARAMS), |v, (key, value)| v.with(key, value)),
        )
    }

    fn point(alpha: &str) -> AfQcn {
        let p = read(&[
            ("setpoint", "60KB"),
            ("jitter", "false"),
            ("shrinking", "false"),
            ("alpha", alpha),
            ("window", "150KB"),
        ]);
        AfQcn::new(&p.unwrap(), Rate::from_gbps(10), Bytes(150_000))
    }

    /// Reports for 100 frames at this queue. Every flow sends its part, round robin, and the last
    /// frame is of the first flow.
    fn round(d: &mut AfQcn, parts: &[(u32, u64)], queue: u64) -> Vec<(u32, u8)> {
        let frames = parts.iter().rev().flat_map(|&(flow, n)| (0..n).map(move |_| flow));
        frames
            .filter_map(|flow| {
                d.on_enqueue(Time::ZERO, FlowId(flow), LEN, Bytes(queue), &mut || panic!("no draw"))
            })
            .map(|n| (n.flow.0, n.congestion.degree))
            .collect()
    }

    /// Hand-computed: flows 1, 2 and 3 bring 60, 20 and 20 of 100 frames, fair is 50 KB: Fb_AF of
    /// flow 1 is 63 (1 - 50/90) = 28. At a steady 100 KB Fb_QCN is 40/300 x 63 = 8. Half of each is
    /// 18.
    #[test]
    fn above_the_fair_share_is_cut_more() {
        let parts = [(1, 60), (2, 20), (3, 20)];
        let mut d = point("0.5");
        assert_eq!(
            round(&mut d, &parts, 100_000),
            [(1, (50 + 28) / 2)],
            "the window ends with the frame that is sampled"
        );
        assert_eq!(d.above_fair_share(FlowId(1)), 28);
        assert_eq!(round(&mut d, &parts, 100_000), [(1, 18)]);
        let mut d = point("0");
        round(&mut d, &parts, 100_000);
        assert_eq!(round(&mut d, &parts, 100_000), [(1, 8)], "plain QCN");
        let mut d = point("1");
        round(&mut d, &parts, 100_000);
        assert_eq!(round(&mut d, &parts, 100_000), [(1, 28)], "the fair share alone");
    }

    /// A flow below its share gets half of the feedback that QCN would send, and nothing that
    /// rounds to zero; at its share alike.
    #[test]
    fn below_the_fair_share_is_cut_less() {
        let parts = [(2, 20), (1, 60), (3, 20)];
        let mut d = point("0.5");
        round(&mut d, &parts, 100_000);
        assert_eq!(round(&mut d, &parts, 100_000), [(2, 4)]);
        assert_eq!(d.above_fair_share(FlowId(2)), 0);
        let mut d = point("1");
        round(&mut d, &parts, 100_000);
        assert_eq!(round(&mut d, &parts, 100_000), []);
        assert_eq!(d.above_fair_share(FlowId(99)), 0, "a flow that was never seen");
    }

    /// Hand-computed: of 150 KB flow 1 brings 60 % and has weight 3 of 5, so exactly its share. If
    /// they bring 25, 25 and 50 %, flow 2 has a share of 30 KB and M = 37.5 KB, so Fb_AF = 63 (1 -
    /// 30/37.5) = 12.
    #[test]
    fn shares_follow_the_weights() {
        let weighted = || AfQcn { weights: BTreeMap::from([(FlowId(1), 3)]), ..point("1") };
        let mut d = weighted();
        round(&mut d, &[(1, 60), (2, 20), (3, 20)], 100_000);
        for flow in 1..4 {
            assert_eq!(d.above_fair_share(FlowId(flow)), 0, "{flow}");
        }
        let mut d = weighted();
        round(&mut d, &[(1, 25), (2, 25), (3, 50)], 0);
        assert_eq!([1, 2, 3].map(|flow| d.above_fair_share(FlowId(flow))), [0, 12, 37]);
        for wrong in ["1", "1:0", "x:2", "1:2:3", "1:-1"] {
            assert_eq!(read(&[("weights", wrong)]).unwrap_err().key, "weights", "{wrong}");
        }
        assert_eq!(
            read(&[("weights", "1:3\n7:2")]).unwrap().weights,
            BTreeMap::from([(FlowId(1), 3), (FlowId(7), 2)])
        );
    }

    /// M halves with every window without the flow, and the flow is dropped: 90 KB are below 64 B
    /// after 11 windows.
    #[test]
    fn a_flow_that_stops_is_dropped() {
        let mut d = point("0.5");
        round(&mut d, &[(1, 60), (2, 40)], 0);
        assert_eq!(
            (d.shares[&FlowId(1)].average, d.shares[&FlowId(2)].average, d.total),
            (90_000, 60_000, 150_000)
        );
        round(&mut d, &[(2, 100)], 0);
        assert_eq!((d.shares[&FlowId(1)].average, d.shares[&FlowId(2)].average), (45_000, 105_000));
        (0..10).for_each(|_| _ = round(&mut d, &[(2, 100)], 0));
        assert_eq!(d.shares.len(), 1);
    }

    #[test]
    fn impossible_parameters_are_refused() {
        assert_eq!(read(&[("alpha", "1.1")]).unwrap_err().key, "alpha");
        assert_eq!(read(&[("window", "0KB")]).unwrap_err().key, "window");
        assert_eq!(read(&[("sample_base", "0KB")]).unwrap_err().key, "sample_base");
        assert_eq!(read(&[("alpha", "0.25")]).unwrap().alpha_permille, 250);
    }
}
