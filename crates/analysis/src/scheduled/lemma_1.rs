//! Lemma 1 of the request-grant paper (RG section 2.3): with implicit rate regulation, the backlog
//! of a fabric-output buffer caused by different round-trip times is at most (rtt_max - rtt_min) L.
//!
//! ```text
//!   arbiter  |grant 5 to input 1| idle 5 segment times |grant 4 to input 2| idle 4 | ...
//!                    \------ rtt(1) ------> 5 segments at link rate --\
//!                                            \-- rtt(2) --> 4 segments -+-> [ fabric-output buffer ] --> L
//! ```
//!
//! Why it holds: segments that arrive in an interval (u, v] were granted places in (u - rtt_max,
//! v - rtt_min], and places do not overlap, so it is at most v - u + rtt_max - rtt_min of link time,
//! while the link takes v - u.
//!
//! Work is counted in time the link needs for it [ps], which is exact for every rate. Segments
//! arrive as they are sent, at link rate. Where a segment counts only once it is whole, it counts
//! while it is on the wire as well: one segment more, [`Run::whole_segments_max`].
//!
//! An input that answers late, because it was granted by several outputs at once (Fig. 2(b)), has
//! an *effective* round trip that is longer. The lemma then holds with the spread of the effective
//! ones ([`Regulated::effective_bound`]) and fails with that of the real ones; [`one_at_a_time`]
//! computes the delays.

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};
use xoff_units::{Bytes, Rate, Span, Time};

/// One grant, in the order in which the output issues them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Input, as an index into [`Regulated::rtts`].
    pub input: usize,
    /// Number of segments; the arbiter stays idle for as many segment times.
    pub segments: u64,
    /// Wait of the arbiter beyond its idle period before this grant, because there are no requests.
    pub wait: Span,
    /// Delay of the input's answer, because of contention at the input. The lemma assumes zero.
    pub late: Span,
}

impl Grant {
    /// A grant at the earliest time, answered at once.
    pub fn now(input: usize, segments: u64) -> Grant {
        Grant { input, segments, wait: Span::ZERO, late: Span::ZERO }
    }
}

/// One fabric output under implicit rate regulation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Regulated {
    /// Time a segment takes on the link, at rate L.
    pub segment_time: Span,
    /// From a grant to the first bit at the fabric-output buffer, for each input.
    pub rtts: Vec<Span>,
}

/// A corner of the backlog, which moves in straight lines between corners.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Corner {
    /// Simulated time.
    pub time: Time,
    /// Backlog as the time the link needs to drain it.
    pub backlog: Span,
}

/// Effect of a sequence of grants on the buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Time of each grant.
    pub issued: Vec<Time>,
    /// The backlog, in time order, from the first arrival to an empty buffer.
    pub corners: Vec<Corner>,
    /// The first time of the highest backlog.
    pub peak: Corner,
    /// Highest backlog if a segment counts from the time it is whole until it has left, in
    /// segments.
    pub whole_segments_max: u64,
}

impl Regulated {
    /// rtt_max - rtt_min: the lemma's bound, as time of the link. Zero without inputs.
    pub fn bound(&self) -> Span {
        spread(self.rtts.iter().copied())
    }

    /// Bound for the actual round trips, with every delay of an answer: holds for any sequence.
    pub fn effective_bound(&self, grants: &[Grant]) -> Span {
        spread(grants.iter().filter(|g| g.segments > 0).map(|g| self.rtts[g.input] + g.late))
    }

    /// The times at which the grants are issued, the first one's wait after `start`.
    pub fn issue(&self, start: Time, grants: &[Grant]) -> Vec<Time> {
        let mut free = start;
        let issue = |g: &Grant| {
            let at = free + g.wait;
            free = at + self.segment_time * g.segments;
            at
        };
        grants.iter().map(issue).collect()
    }

    /// Two grants of `segments`: the longest round trip just before the shortest, which reaches the
    /// bound if they are long enough.
    pub fn longest_first(&self, segments: u64) -> [Grant; 2] {
        let place = |longest: bool| {
            (0..self.rtts.len())
                .max_by_key(|&i| if longest { self.rtts[i].0 } else { u64::MAX - self.rtts[i].0 })
        };
        [place(true), place(false)].map(|i| Grant::now(i.unwrap_or(0), segments))
    }

    /// Plays the grants in their order and records the buffer. Exact.
    pub fn run(&self, grants: &[Grant]) -> Run {
        let issued = self.issue(Time::ZERO, grants);
        let arrivals: Vec<(Time, u64)> = grants
            .iter()
            .zip(&issued)
            .map(|(g, at)| (*at + self.rtts[g.input] + g.late, g.segments))
            .collect();
        let corners = self.fluid(&arrivals);
        let none = Corner { time: Time::ZERO, backlog: Span::ZERO };
        // Of equal backlogs the first.
        let peak =
            corners.iter().fold(none, |best, c| if c.backlog > best.backlog { *c } else { best });
        Run { issued, corners, peak, whole_segments_max: self.whole(&arrivals) }
    }

    /// Backlog when every answer arrives at link rate and the link drains while it does.
    fn fluid(&self, arrivals: &[(Time, u64)]) -> Vec<Corner> {
        let mut steps: Vec<(Time, i64)> = Vec::with_capacity(2 * arrivals.len());
        for &(at, segments) in arrivals.iter().filter(|a| a.1 > 0) {
            steps.push((at, 1));
            steps.push((at + self.segment_time * segments, -1));
        }
        steps.sort_unstable();
        let mut corners = Vec::with_capacity(steps.len() + 1);
        let (mut now, mut backlog, mut arriving) = (Time::ZERO, 0u64, 0i64);
        for (at, change) in steps {
            let dt = (at - now).0;
            if arriving > 0 {
                backlog += (arriving as u64 - 1) * dt;
            } else if backlog > 0 && backlog < dt {
                corners.push(Corner { time: now + Span(backlog), backlog: Span::ZERO });
                backlog = 0;
            } else {
                backlog = backlog.saturating_sub(dt);
            }
            now = at;
            arriving += change;
            let corner = Corner { time: now, backlog: Span(backlog) };
            match corners.last_mut() {
                Some(last) if last.time == now => *last = corner,
                _ => corners.push(corner),
            }
        }
        if backlog > 0 {
            corners.push(Corner { time: now + Span(backlog), backlog: Span::ZERO });
        }
        corners
    }

    /// Highest number of whole segments in the buffer, the one on the wire included: each leaves
    /// one segment time after the link turned to it.
    fn whole(&self, arrivals: &[(Time, u64)]) -> u64 {
        let mut whole: Vec<Time> = arrivals
            .iter()
            .flat_map(|&(at, n)| (1..=n).map(move |j| at + self.segment_time * j))
            .collect();
        whole.sort_unstable();
        let mut left: Vec<Time> = Vec::with_capacity(whole.len());
        let (mut gone, mut most) = (0, 0);
        for (n, &at) in whole.iter().enumerate() {
            left.push(left.last().map_or(at, |free| at.max(*free)) + self.segment_time);
            while left[gone] <= at {
                gone += 1;
            }
            most = most.max((n + 1 - gone) as u64);
        }
        most
    }
}

fn spread(spans: impl Iterator<Item = Span> + Clone) -> Span {
    match (spans.clone().max(), spans.min()) {
        (Some(max), Some(min)) => max - min,
        _ => Span::ZERO,
    }
}

/// Sets [`Grant::late`] for outputs that share their inputs: an input answers one grant at a time,
/// at link rate, in the order in which the grants become due (of equal times the lower output
/// first). `outputs` pairs each output's first time with its grants; all have the round trips and
/// segments of `fabric`.
///
/// An input is equally far from all outputs here, so that times at the buffers stand for times at
/// the input.
pub fn one_at_a_time(fabric: &Regulated, outputs: &mut [(Time, Vec<Grant>)]) {
    let mut due: Vec<(Time, usize, usize)> = Vec::new();
    for (o, (start, grants)) in outputs.iter().enumerate() {
        let issued = fabric.issue(*start, grants);
        due.extend(
            grants
                .iter()
                .zip(issued)
                .enumerate()
                .map(|(n, (g, at))| (at + fabric.rtts[g.input], o, n)),
        );
    }
    due.sort_unstable();
    let mut free = vec![Time::ZERO; fabric.rtts.len()];
    for (at, o, n) in due {
        let grant = &mut outputs[o].1[n];
        let begins = at.max(free[grant.input]);
        grant.late = begins - at;
        free[grant.input] = begins + fabric.segment_time * grant.segments;
    }
}

/// Fig. 3: inputs with round trips of 20 down to 16 segment times, granted `segments` each in that
/// order. Any number of segments brings the backlog to the bound, 4 segment times.
pub fn fig_3(segment_time: Span, segments: u64) -> (Regulated, Vec<Grant>) {
    let rtts = (16..=20).rev().map(|r| segment_time * r).collect();
    (Regulated { segment_time, rtts }, (0..5).map(|input| Grant::now(input, segments)).collect())
}

/// Fig. 2(b) as a counter-example: two inputs with equal round trips (bound 0), two outputs. Both
/// outputs grant `segments` to input 0 at time zero; it answers output 0 first, and its answer to
/// output 1 then coincides with that of input 1. Returns the fabric and the grants of output 1,
/// whose backlog reaches `segments`.
pub fn fig_2b(segment_time: Span, segments: u64) -> (Regulated, Vec<Grant>) {
    let fabric = Regulated { segment_time, rtts: vec![segment_time * 10; 2] };
    let mut outputs = [
        (Time::ZERO, vec![Grant::now(0, segments)]),
        (Time::ZERO, vec![Grant::now(0, segments), Grant::now(1, segments)]),
    ];
    one_at_a_time(&fabric, &mut outputs);
    let [_, (_, grants)] = outputs;
    (fabric, grants)
}

/// A random output and grants for it: 2 to 16 inputs, round trips that differ by up to 400 ns in
/// steps of a picosecond, 1 to 64 grants of 1 to 50 segments of 256 B at 100 Gb/s, one in four
/// after a pause. Answers are prompt.
pub fn random(seed: u64) -> (Regulated, Vec<Grant>) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut below = |bound: u64| ((u128::from(rng.next_u64()) * u128::from(bound)) >> 64) as u64;
    let inputs = 2 + below(15);
    let rtts = (0..inputs).map(|_| Span::from_ns(1_000) + Span(below(400_001))).collect();
    let segment_time = Rate::from_gbps(100).time_for(Bytes(256));
    let count = 1 + below(64);
    let grant = |_| {
        let (input, segments) = (below(inputs) as usize, 1 + below(50));
        let wait = if below(4) == 0 { Span(below(100_000)) } else { Span::ZERO };
        Grant { input, segments, wait, late: Span::ZERO }
    };
    (Regulated { segment_time, rtts }, (0..count).map(grant).collect())
}

/// Four outputs with random grants that share the inputs of one: their round trips, and each
/// output's first time and grants, with the delays of [`one_at_a_time`].
pub fn random_sharing(seed: u64) -> (Regulated, Vec<(Time, Vec<Grant>)>) {
    let fabric = random(4 * seed).0;
    let grants = |o| {
        let mut grants = random(4 * seed + o).1;
        grants.iter_mut().for_each(|g| g.input %= fabric.rtts.len());
        (Time::ZERO, grants)
    };
    let mut outputs: Vec<_> = (0..4).map(grants).collect();
    one_at_a_time(&fabric, &mut outputs);
    (fabric, outputs)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Times in segment times of 1 ps.
    fn output(rtts: &[u64]) -> Regulated {
        Regulated { segment_time: Span(1), rtts: rtts.iter().map(|r| Span(*r)).collect() }
    }

    fn grants(list: &[(usize, u64)]) -> Vec<Grant> {
        list.iter().map(|&(input, n)| Grant::now(input, n)).collect()
    }

    #[test]
    fn fig_3_reaches_four_segments_and_no_more() {
        // One segment each: all five arrive together, at 20.
        let (o, grants) = fig_3(Span(1), 1);
        let run = o.run(&grants);
        assert_eq!((o.bound(), run.peak), (Span(4), Corner { time: Time(21), backlog: Span(4) }));
        assert_eq!(run.corners.last(), Some(&Corner { time: Time(25), backlog: Span::ZERO }));
        assert_eq!(run.whole_segments_max, 5);
        // Coarser grants: each overlaps its forerunner by one segment time.
        for segments in [2, 5, 128] {
            let (o, grants) = fig_3(Span(1), segments);
            assert_eq!(o.run(&grants).peak.backlog, Span(4));
        }
        // The figure's end: the longest round trip again. The answer leaves a gap in which the
        // backlog drains.
        let run = o.run(&[grants, vec![Grant::now(0, 1)]].concat());
        assert_eq!(
            run.corners[1..3],
            [
                Corner { time: Time(21), backlog: Span(4) },
                Corner { time: Time(25), backlog: Span::ZERO }
            ]
        );
    }

    #[test]
    fn increasing_round_trips_never_queue() {
        let run =
            output(&[16, 17, 18, 19, 20]).run(&grants(&[(0, 3), (1, 3), (2, 3), (3, 3), (4, 3)]));
        assert_eq!((run.peak.backlog, run.whole_segments_max), (Span::ZERO, 1));
    }

    #[test]
    fn the_papers_arithmetic() {
        let o = Regulated {
            segment_time: Span(20_480),
            rtts: vec![Span::from_ns(1_400), Span::from_ns(1_000)],
        };
        assert_eq!(Rate::from_gbps(100).bytes_in(o.bound()), Bytes::from_kb(5));
        // 400 ns are not whole segments of 256 B; the bound is still reached, by a grant of 20
        // segments.
        let run = o.run(&grants(&[(0, 20), (1, 20)]));
        assert_eq!(run.peak.backlog, Span::from_ns(400));
    }

    #[test]
    fn an_input_that_answers_late_breaks_it() {
        let (o, grants) = fig_2b(Span(1), 8);
        assert_eq!(grants, [Grant { late: Span(8), ..Grant::now(0, 8) }, Grant::now(1, 8)]);
        assert_eq!(
            (o.bound(), o.run(&grants).peak.backlog, o.effective_bound(&grants)),
            (Span::ZERO, Span(8), Span(8))
        );
    }

    #[test]
    fn grants_that_share_inputs_pass_the_bound_and_the_longest_first_reaches_it() {
        for seed in 0..100 {
            let (o, _) = random(seed);
            assert_eq!(o.run(&o.longest_first(50)).peak.backlog, o.bound(), "seed {seed}");
        }
        let mut passed = 0;
        for seed in 0..20 {
            let (fabric, outputs) = random_sharing(seed);
            let peaks: Vec<_> = outputs
                .iter()
                .map(|(_, grants)| {
                    (fabric.run(grants).peak.backlog, fabric.effective_bound(grants))
                })
                .collect();
            assert!(peaks.iter().all(|(peak, bound)| peak <= bound), "seed {seed}: {peaks:?}");
            passed += u32::from(peaks.iter().any(|(peak, _)| *peak > fabric.bound()));
        }
        // The outputs of seed 6 reach the bound and do not pass it.
        assert_eq!(passed, 19);
    }

    #[test]
    fn an_answer_that_finds_its_input_busy_waits_for_it() {
        let o = output(&[10, 10]);
        let mut outputs = [
            (Time(0), grants(&[(0, 4), (1, 4)])),
            (Time(1), grants(&[(0, 4)])),
            (Time(6), grants(&[(0, 1), (1, 1)])),
        ];
        one_at_a_time(&o, &mut outputs);
        let late: Vec<Vec<u64>> =
            outputs.iter().map(|o| o.1.iter().map(|g| g.late.0).collect()).collect();
        // Input 0 sends [10, 14), then [14, 18) for output 1, which wanted it at 11; output 2
        // wanted it at 16.
        assert_eq!(late, [vec![0, 0], vec![3], vec![2, 1]]);
    }

    #[test]
    fn the_backlog_is_that_of_a_step_by_step_queue() {
        // Another way to the same figure: one picosecond after the other.
        for seed in 0..300 {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let mut below = |bound: u64| rng.next_u64() % bound;
            let o = Regulated {
                segment_time: Span(3),
                rtts: (0..4).map(|_| Span(5 + below(12))).collect(),
            };
            let grants: Vec<Grant> = (0..12)
                .map(|_| Grant {
                    wait: Span(below(3)),
                    late: Span(below(9)),
                    ..Grant::now(below(4) as usize, below(5))
                })
                .collect();
            let run = o.run(&grants);
            let (mut backlog, mut most, mut first) = (0u64, 0, 0);
            for t in 0..400 {
                let arriving = grants.iter().zip(&run.issued).filter(|(g, at)| {
                    let begin = at.0 + o.rtts[g.input].0 + g.late.0;
                    (begin..begin + 3 * g.segments).contains(&t)
                });
                backlog = (backlog + arriving.count() as u64).saturating_sub(1);
                if backlog > most {
                    (most, first) = (backlog, t + 1);
                }
            }
            assert_eq!(run.peak, Corner { time: Time(first), backlog: Span(most) }, "seed {seed}");
        }
    }
}
