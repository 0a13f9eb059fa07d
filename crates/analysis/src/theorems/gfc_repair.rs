//! The ring of GFC Fig. 1 as a fluid, with FIFO: why buffer-based GFC decays there, and what entry
//! ports change (docs/theory/gfc-repair.md).
//!
//! ```text
//!   n hosts --n L--> [ local | transit ]--R--> next switch: local becomes transit, transit goes to its host
//!   link before --T-->   one queue, first in, first out
//! ```
//!
//! N switches, n hosts each, flows of two ring links. Rates are those of the stages that were
//! announced tau ago; a queue is a list of slices of one step, so that departures have the mix of
//! the arrivals.

use std::collections::VecDeque;

use xoff_mech::flow_control::gfc_buffer::{EntryTable, StageTable};
use xoff_units::{Bytes, Rate};

/// A ring under buffer-based GFC.
#[derive(Clone, Debug)]
pub struct Ring {
    /// Switches.
    pub switches: usize,
    /// Hosts of a switch.
    pub hosts: u64,
    /// Feedback latency [steps].
    pub tau: usize,
    /// Bytes that a link carries in a step.
    pub step: f64,
    /// The paper's stages.
    pub stages: StageTable,
    /// Stages of the entry ports; none: the paper's rule alone.
    pub entry: Option<EntryTable>,
}

/// The queue at an egress: slices of (local, transit) bytes, and their sums.
#[derive(Clone, Debug, Default)]
struct Queue {
    slices: VecDeque<(f64, f64)>,
    local: f64,
    transit: f64,
}

impl Queue {
    fn push(&mut self, local: f64, transit: f64) {
        self.slices.push_back((local, transit));
        self.local += local;
        self.transit += transit;
    }

    /// Removes up to `room` bytes from the front; returns (local, transit).
    fn pop(&mut self, mut room: f64) -> (f64, f64) {
        let mut out = (0.0, 0.0);
        while let Some(front) = self.slices.front_mut().filter(|_| room > 0.0) {
            let all = front.0 + front.1;
            let share = if all > room { room / all } else { 1.0 };
            let part = (front.0 * share, front.1 * share);
            out = (out.0 + part.0, out.1 + part.1);
            if all > room {
                *front = (front.0 - part.0, front.1 - part.1);
                break;
            }
            room -= all;
            self.slices.pop_front();
        }
        self.local = (self.local - out.0).max(0.0);
        self.transit = (self.transit - out.1).max(0.0);
        out
    }
}

/// Course of a run, step by step.
#[derive(Clone, Debug, Default)]
pub struct Course {
    /// Mean rate of a host, as a share of the line.
    pub delivered: Vec<f64>,
    /// Bytes in the ring, each counted once for every ring link before it.
    pub work: Vec<f64>,
    /// Fewest stages by which a ring link is slowed down; 0: at least one has the line's rate.
    pub slowest: Vec<u16>,
    /// Highest that an ingress held [bytes].
    pub highest: f64,
}

impl Ring {
    fn share(&self, stage: u16) -> f64 {
        self.stages.rate(stage).0 as f64 / self.stages.rate(0).0 as f64
    }

    /// Runs `steps` steps from queues that hold `begin` of (local, transit) each, evenly mixed
    /// [bytes].
    pub fn run(&self, begin: (f64, f64), steps: usize) -> Course {
        let (n, hosts) = (self.switches, self.hosts as f64);
        let mut queues = vec![Queue::default(); n];
        queues
            .iter_mut()
            .for_each(|q| (0..1000).for_each(|_| q.push(begin.0 / 1000.0, begin.1 / 1000.0)));
        // Stages of (host ports, ring ports), the oldest first.
        let mut announced: VecDeque<Vec<(u16, u16)>> = VecDeque::new();
        let mut course = Course::default();
        for _ in 0..steps {
            let stages = |q: &Queue| {
                let at = |bytes: f64| Bytes(bytes.max(0.0) as u64);
                let own = self.stages.stage(at(q.local / hosts));
                let lead = self
                    .entry
                    .as_ref()
                    .map_or(0, |e| e.stage(at(q.local + q.transit), &self.stages));
                (own.max(lead), self.stages.stage(at(q.transit)))
            };
            announced.push_back(queues.iter().map(stages).collect());
            let in_force = if announced.len() > self.tau { announced.pop_front() } else { None }
                .unwrap_or_else(|| vec![(0, 0); n]);
            // Traffic on link i is slowed down by the switch behind the link.
            let links: Vec<u16> = (0..n).map(|i| in_force[(i + 1) % n].1).collect();
            let out: Vec<(f64, f64)> =
                (0..n).map(|i| queues[i].pop(self.step * self.share(links[i]))).collect();
            for i in 0..n {
                let local = hosts * self.step * self.share(in_force[i].0);
                queues[i].push(local, out[(i + n - 1) % n].0);
            }
            course
                .delivered
                .push(out.iter().map(|o| o.1).sum::<f64>() / (self.step * hosts * n as f64));
            course.work.push(queues.iter().map(|q| 2.0 * q.local + q.transit).sum());
            course.slowest.push(links.iter().copied().min().unwrap_or(0));
            course.highest =
                queues.iter().fold(course.highest, |h, q| h.max(q.transit).max(q.local / hosts));
        }
        course
    }
}

/// The testbed's ring: 10 Gb/s, tau 90 us, B_m 1 MB, B_1 750 KB, steps of 1 us; `entry`: E_1 of
/// entry ports [bytes].
pub fn testbed(switches: usize, hosts: u64, entry: Option<u64>) -> Ring {
    let (b_m, b_1) = (Bytes(1_000_000), Bytes(750_000));
    Ring {
        switches,
        hosts,
        tau: 90,
        step: 1250.0,
        stages: StageTable::new(b_m, b_1, Rate::from_gbps(10)),
        entry: entry.map(|e_1| EntryTable::new(hosts, Bytes(e_1), b_1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(values: &[f64]) -> f64 {
        values.iter().sum::<f64>() / values.len() as f64
    }

    /// Rates of a host between two times [ms].
    fn between(c: &Course, from: usize, to: usize) -> f64 {
        mean(&c.delivered[from * 1000..to * 1000])
    }

    /// By the paper's rule alone the rate falls as 1/t: three times as late a third of it, and so
    /// on.
    #[test]
    fn without_entry_ports_the_rate_falls_as_one_over_t() {
        let c = testbed(3, 1, None).run((0.0, 0.0), 120_000);
        let products: Vec<f64> = [(10, 20), (20, 40), (40, 80), (80, 120)]
            .map(|(a, b)| between(&c, a, b) * (a + b) as f64 / 2.0)
            .into();
        assert!(products.iter().all(|p| *p < 0.5 * 15.0), "{products:?}");
        let (low, high) =
            products.iter().fold((f64::INFINITY, 0.0f64), |(l, h), p| (l.min(*p), h.max(*p)));
        assert!(high / low < 3.0, "t times rate is about constant: {products:?}");
        assert!(between(&c, 110, 120) < 0.05, "a tenth of the half is long gone");
    }

    /// With entry ports every host keeps C/(2 n), no ring link is slowed down, and no ingress
    /// passes B_1.
    #[test]
    fn with_entry_ports_the_ring_keeps_its_rate() {
        for (switches, hosts, e_1) in
            [(3, 1, 525_000), (3, 2, 300_000), (3, 4, 200_000), (5, 1, 525_000), (4, 2, 300_000)]
        {
            let c = testbed(switches, hosts, Some(e_1)).run((0.0, 0.0), 100_000);
            let rate = between(&c, 50, 100) * 2.0 * hosts as f64;
            assert!((0.98..1.02).contains(&rate), "{switches} switches, {hosts} hosts: {rate}");
            assert!(
                c.slowest[50_000..].iter().all(|k| *k == 0),
                "{switches} switches, {hosts} hosts"
            );
            assert!(c.highest < 750_000.0, "{switches} switches, {hosts} hosts: {}", c.highest);
        }
    }

    /// Theorem 2: from a ring whose links are all in their first stage the work falls until they
    /// are not, and the rate comes back.
    #[test]
    fn with_entry_ports_a_ring_that_is_slowed_down_recovers() {
        for hosts in [1, 2, 4] {
            for local in [200_000.0, 300_000.0] {
                let c = testbed(3, hosts, Some(525_000 / hosts)).run((local, 860_000.0), 60_000);
                // The first tau is that of the rates before the beginning.
                let slowed = (100..c.work.len()).take_while(|t| c.slowest[*t] > 0).count();
                let course: Vec<f64> = (100..100 + slowed).step_by(20).map(|t| c.work[t]).collect();
                assert!(
                    course.len() > 5 && course.windows(2).all(|w| w[1] < w[0]),
                    "{hosts} hosts, {local}: {course:?}"
                );
                let rate = mean(&c.delivered[40_000..]) * 2.0 * hosts as f64;
                assert!((0.98..1.02).contains(&rate), "{hosts} hosts, {local}: {rate}");
            }
        }
    }
}
