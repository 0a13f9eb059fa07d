//! Outputs that regulate rates implicitly, in slots of one segment: what Figs. 2 and 3 draw.
//!
//! ```text
//!   Granter of an output --grant--> input: one segment per slot, outputs in turn --rtt slots after--> fabric-output buffer
//!                                                                                                      1 segment per slot leaves
//! ```

use xoff_mech::scheduled::request_grant::{
    Admission, Decision, Granter, GranterParams, MaySend, Requester, Service,
};
use xoff_units::{Span, Time};

/// A slot [ps].
const SLOT: u64 = 10;

/// A request: when, by which input, to which output, for how many segments.
pub type Request = (u64, usize, usize, u32);

/// Outcome of the run.
#[derive(Default)]
pub struct Seen {
    /// Grants: slot, output, input, segments.
    pub grants: Vec<(u64, usize, usize, u32)>,
    /// Segments as they reach their fabric-output buffer: slot, input, output.
    pub arrivals: Vec<(u64, usize, usize)>,
    /// Segments that wait in the buffer of each output when a slot ends, slot by slot.
    pub backlog: Vec<Vec<u64>>,
}

/// Runs `slots` slots; `rtts` are those of the inputs, all on the way of the segments [slots].
pub fn run(rtts: &[u64], outputs: usize, requests: &[Request], slots: u64) -> Seen {
    let params = GranterParams {
        inputs: rtts.len() as u32,
        admission: Admission::ImplicitRate,
        segment_time: Span(SLOT),
        output_slots: 1_000_000,
        requests_max: 1_000,
        fair: false,
        whole_requests: true,
        service: Service::RoundRobin,
        grant_max: u32::MAX,
    };
    let mut granters = vec![Granter::new(params); outputs];
    let mut voqs = vec![vec![Requester::default(); outputs]; rtts.len()];
    let mut turn = vec![0; rtts.len()];
    let mut queue = vec![0u64; outputs];
    let mut seen = Seen { backlog: vec![Vec::new(); outputs], ..Seen::default() };
    for slot in 0..slots {
        for &(_, input, output, segments) in requests.iter().filter(|r| r.0 == slot) {
            voqs[input][output].on_requested(segments);
            granters[output].on_request(input as u32, segments);
        }
        for (output, granter) in granters.iter_mut().enumerate() {
            if let Decision::Grant { input, segments } = granter.decide(Time(slot * SLOT)) {
                voqs[input as usize][output].on_grant(segments);
                seen.grants.push((slot, output, input as usize, segments));
            }
        }
        for (input, voq) in voqs.iter_mut().enumerate() {
            let round = (0..outputs).map(|k| (turn[input] + k) % outputs);
            if let Some(output) = round.into_iter().find(|&o| voq[o].granted() > 0) {
                voq[output].on_sent(MaySend::Granted);
                turn[input] = output + 1;
                seen.arrivals.push((slot + rtts[input], input, output));
            }
        }
        for (output, waiting) in queue.iter_mut().enumerate() {
            let came = seen.arrivals.iter().filter(|a| a.0 == slot && a.2 == output).count() as u64;
            *waiting = (*waiting + came).saturating_sub(1);
            seen.backlog[output].push(*waiting);
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    /// First and last slot in which segments of an input reach output 0.
    fn arrives(s: &Seen, input: usize) -> (u64, u64) {
        let of = || s.arrivals.iter().filter(|a| a.1 == input).map(|a| a.0);
        (of().min().unwrap(), of().max().unwrap())
    }

    /// Fig. 2(a): five, then four, back to back.
    #[test]
    fn grants_at_the_rate_of_the_output_leave_no_backlog() {
        let s = run(&[3, 3], 1, &[(0, 0, 0, 5), (1, 1, 0, 4)], 20);
        assert_eq!(s.grants, [(0, 0, 0, 5), (5, 0, 1, 4)]);
        assert_eq!(
            (arrives(&s, 0), arrives(&s, 1), s.backlog[0].iter().copied().max().unwrap()),
            ((3, 7), (8, 11), 0)
        );
    }

    /// A larger round trip first: what comes later catches up by the difference.
    #[test]
    fn arrivals_move_together_by_the_difference_of_round_trips() {
        let s = run(&[6, 3], 1, &[(0, 0, 0, 5), (1, 1, 0, 4)], 30);
        assert_eq!(
            (arrives(&s, 0), arrives(&s, 1), s.backlog[0].iter().copied().max().unwrap()),
            ((6, 10), (8, 11), 3)
        );
    }
}
