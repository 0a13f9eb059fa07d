//! Fig. 5 of the GFC paper as a fluid model: two flows into one port, PFC and conceptual GFC.
//!
//! ```text
//!   queue                 PFC: full rate up to XOFF + (C - R_d) tau, then none down to XON - R_d tau
//!     |   /\    /\    /\
//!     |  /  \  /  \  /     GFC: one damped overshoot, then B_s = B_m - (R_d/C)(B_m - B_0), where the
//!     | /    \/    \/      mapping gives back exactly the draining rate
//! ```
//!
//! The paper's B_m - B_0 = 50 KB is 1.6 C tau, outside Theorem 4.1 (125 KB). It works because R_d =
//! C/2 never stops.

use xoff_units::{Bytes, Rate, Span, Time};

use super::theorem_4_1::ConceptualFluid;

/// Parameters of the figure, as stated in GFC section 4.1. `Default` is the paper's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fig5 {
    /// Link rate C -- constant. Default 10 Gb/s.
    pub rate: Rate,
    /// Draining rate R_d of the ingress queue -- constant. Default 5 Gb/s, half of the shared
    /// output.
    pub drain: Rate,
    /// Feedback latency tau -- constant. Default 25 us.
    pub tau: Span,
    /// Queue at which GFC's rate is zero, B_m [bytes] -- constant. Default 100 KB.
    pub b_m: Bytes,
    /// Queue from which GFC slows down, B_0 [bytes] -- constant. Default 50 KB.
    pub b_0: Bytes,
    /// PFC's pause threshold [bytes] -- constant. Default 80 KB.
    pub xoff: Bytes,
    /// PFC's resume threshold [bytes] -- constant. Default 77 KB, 2 MTU lower.
    pub xon: Bytes,
}

impl Default for Fig5 {
    fn default() -> Self {
        Fig5 {
            rate: Rate::from_gbps(10),
            drain: Rate::from_gbps(5),
            tau: Span::from_us(25),
            b_m: Bytes::from_kb(100),
            b_0: Bytes::from_kb(50),
            xoff: Bytes::from_kb(80),
            xon: Bytes::from_kb(77),
        }
    }
}

/// One point of a curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// Simulated time.
    pub time: Time,
    /// Ingress queue [bytes].
    pub queue: Bytes,
    /// Input rate from here on.
    pub rate: Rate,
}

/// The steady swing of PFC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PfcSwing {
    /// Lowest queue, XON - R_d tau (0 if the queue runs dry) [bytes].
    pub queue_min: Bytes,
    /// Highest queue, XOFF + (C - R_d) tau [bytes].
    pub queue_max: Bytes,
    /// Time at full rate per period.
    pub on: Span,
    /// Time at rate zero per period.
    pub off: Span,
}

impl Fig5 {
    /// The steady swing of PFC in closed form.
    pub fn pfc_swing(&self) -> PfcSwing {
        let occupancy = self.rate - self.drain;
        let queue_max = self.xoff + occupancy.bytes_in(self.tau);
        let below = self.drain.bytes_in(self.tau);
        let queue_min = self.xon.saturating_sub(below);
        // A queue that runs dry waits at zero for the rest of tau.
        let dry = self.tau.0.saturating_sub(self.drain.time_for(self.xon).0);
        let swing = queue_max - queue_min;
        PfcSwing {
            queue_min,
            queue_max,
            on: occupancy.time_for(swing),
            off: self.drain.time_for(swing) + Span(dry),
        }
    }

    /// PFC from an empty queue: the corners of the curve up to `until`, in time order.
    pub fn pfc(&self, until: Time) -> Vec<Point> {
        let swing = self.pfc_swing();
        let mut points = vec![Point { time: Time::ZERO, queue: Bytes::ZERO, rate: self.rate }];
        let mut now = Time::ZERO + (self.rate - self.drain).time_for(swing.queue_max);
        let mut paused = true;
        while now <= until && swing.on + swing.off > Span::ZERO {
            points.push(if paused {
                Point { time: now, queue: swing.queue_max, rate: Rate::ZERO }
            } else {
                Point { time: now, queue: swing.queue_min, rate: self.rate }
            });
            now += if paused { swing.off } else { swing.on };
            paused = !paused;
        }
        points
    }

    /// Conceptual GFC from an empty queue: about 512 points per tau from the time B_0 is reached,
    /// up to `until`. Queue and rate are rounded to whole bytes and bit/s.
    pub fn gfc(&self, until: Time) -> Vec<Point> {
        let ctau = self.rate.as_f64() * self.tau.as_secs_f64() / 8.0;
        let l = (self.b_m - self.b_0).0 as f64 / ctau;
        let mut fluid = ConceptualFluid::new(l, self.drain.as_f64() / self.rate.as_f64());
        // Up to B_0 the queue fills in a straight line at C - R_d.
        let start = Time::ZERO + (self.rate - self.drain).time_for(self.b_0);
        let mut points = vec![Point { time: Time::ZERO, queue: Bytes::ZERO, rate: self.rate }];
        loop {
            let time = start + Span((fluid.time() * self.tau.0 as f64) as u64);
            if time > until {
                return points;
            }
            let queue = Bytes((self.b_m.0 as f64 - fluid.gap() * ctau).max(0.0).round() as u64);
            points.push(Point {
                time,
                queue,
                rate: Rate::from_f64((fluid.rate() * self.rate.as_f64()).round()),
            });
            fluid.step();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pfc_swings_as_computed() {
        let f = Fig5::default();
        let expected = PfcSwing {
            queue_min: Bytes(61_375),
            queue_max: Bytes(95_625),
            on: Span::from_ns(54_800),
            off: Span::from_ns(54_800),
        };
        assert_eq!(f.pfc_swing(), expected);
        let curve = f.pfc(Time::from_us(1_000));
        assert_eq!(
            curve[1],
            Point { time: Time::from_us(153), queue: Bytes(95_625), rate: Rate::ZERO }
        );
        assert_eq!(curve[3].time - curve[1].time, Span::from_ns(109_600));
        assert!(curve.windows(2).all(|w| w[0].time < w[1].time));
    }

    #[test]
    fn a_queue_that_runs_dry_pauses_longer() {
        let f = Fig5 { xoff: Bytes::from_kb(10), xon: Bytes::from_kb(7), ..Fig5::default() };
        let s = f.pfc_swing();
        assert_eq!(s.queue_min, Bytes::ZERO);
        // 25.625 KB drain in 41 us; XON is passed 11.2 us before the end, so 13.8 us of tau are
        // spent empty.
        assert_eq!(s.off, Span::from_ns(41_000 + 13_800));
    }

    #[test]
    fn gfc_settles_at_75_kb() {
        let f = Fig5::default();
        // B_s = B_m - (R_d/C)(B_m - B_0) (GFC section 4.1).
        assert_eq!(f.b_m - (f.b_m - f.b_0) / 2, Bytes::from_kb(75));
        let curve = f.gfc(Time::from_us(1_000));
        assert_eq!((curve[1].time, curve[1].queue), (Time::from_us(80), Bytes::from_kb(50)));
        let peak = curve.iter().max_by_key(|p| p.queue).unwrap();
        assert!((78_400..=78_600).contains(&peak.queue.0), "{peak:?}");
        // The peak comes exactly tau after the queue passed B_s, and B_s cannot be reached before
        // 120 us.
        assert!((149..=151).contains(&(peak.time.as_ns() / 1_000)), "{peak:?}");
        for p in curve.iter().filter(|p| p.time >= Time::from_us(400)) {
            assert!((74_800..=75_200).contains(&p.queue.0), "{p:?}");
        }
        assert!(curve.iter().all(|p| p.rate > Rate::ZERO));
        assert_eq!(curve.last().unwrap().rate.0 / 10_000_000, 500);
    }
}
