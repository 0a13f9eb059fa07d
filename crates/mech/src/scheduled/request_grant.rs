//! The request-grant protocol of Chrysos et al., "End-to-End Congestion Management for
//! Non-Blocking, Multi-Stage Switching Fabrics using Commodity Switches" (IBM Research report),
//! sections 2 and 3.
//!
//! A [`Requester`] stands at the VOQ of an input adapter for one output, a [`Granter`] at an output
//! adapter for all inputs. Sizes are in segments: a grant of n lets n segments of any size up to
//! the largest one go.
//!
//! ```text
//!   VOQ:    bytes without request --request--> pending (pr <= G) --grant--> granted (g) --segment--> fabric
//!           one segment may go unasked (ps) while nothing is pending or granted; it is acknowledged when its packet leaves
//!   output: r[i] per input; grants while oc >= G and, if fabric-output buffers are reserved, fc >= G; then idles gs / L_G
//! ```
//!
//! The paper writes `r[i]` in the rule for unsolicited segments where it means the pending requests
//! `pr[i]`, and "== 1" for counters of transit messages where "at least 1" is meant; both are read
//! so here.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use xoff_units::state::State;

use xoff_units::{Span, Time};

use super::Bits;

/// Injection that a VOQ may do now (section 3.2, "eligibility").
#[derive(Clone, Copy, Debug, PartialEq, Eq, State)]
pub enum MaySend {
    /// A segment that was granted.
    Granted,
    /// One segment without a request: bytes wait, and nothing of this flow is pending, granted or
    /// unacknowledged.
    Unsolicited,
    /// Nothing may go.
    No,
}

/// The counters of one VOQ at its input adapter (section 3.2) [segments].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, State)]
pub struct Requester {
    granted: u32,
    pending: u32,
    unacknowledged: u32,
}

impl Requester {
    /// Allowed injection. `waiting` is true if the VOQ holds bytes that were not requested.
    /// Unsolicited segments may be forbidden.
    #[inline]
    pub fn may_send(&self, waiting: bool, unsolicited_allowed: bool) -> MaySend {
        if self.granted > 0 {
            MaySend::Granted
        } else if waiting && unsolicited_allowed && self.pending == 0 && self.unacknowledged == 0 {
            MaySend::Unsolicited
        } else {
            MaySend::No
        }
    }

    /// Segments that may still be requested, if at most `requests_max` (the paper's G) may be
    /// pending.
    #[inline]
    pub fn room(&self, requests_max: u32) -> u32 {
        requests_max.saturating_sub(self.pending)
    }

    /// `segments` were requested.
    #[inline]
    pub fn on_requested(&mut self, segments: u32) {
        self.pending += segments;
    }

    /// A grant arrived. Grants of one flow may overtake each other; they are merged, because each
    /// of them is for segments that were requested (section 3.3).
    ///
    /// # Panics
    /// If more is granted than was requested: a broken output adapter.
    #[inline]
    pub fn on_grant(&mut self, segments: u32) {
        assert!(
            segments <= self.pending,
            "granted {segments} segments of {} requested",
            self.pending
        );
        self.pending -= segments;
        self.granted += segments;
    }

    /// A segment was injected.
    #[inline]
    pub fn on_sent(&mut self, how: MaySend) {
        match how {
            MaySend::Granted => self.granted -= 1,
            MaySend::Unsolicited => self.unacknowledged += 1,
            MaySend::No => debug_assert!(false, "sent what may not be sent"),
        }
    }

    /// A number of unsolicited segments have left the output adapter.
    #[inline]
    pub fn on_ack(&mut self, segments: u32) {
        debug_assert!(segments <= self.unacknowledged);
        self.unacknowledged = self.unacknowledged.saturating_sub(segments);
    }

    /// Grants held and not used [segments].
    #[inline]
    pub fn granted(&self) -> u32 {
        self.granted
    }
    /// Requested and not granted [segments].
    #[inline]
    pub fn pending(&self) -> u32 {
        self.pending
    }
    /// Unsolicited and not acknowledged [segments].
    #[inline]
    pub fn unacknowledged(&self) -> u32 {
        self.unacknowledged
    }
}

/// On what an output adapter bases its admissions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// Implicit rate regulation (section 2.3): grants are spaced as the output could carry what
    /// they admit.
    ImplicitRate,
    /// Reserving fabric-buffers (section 2.4): each granted segment holds one slot of the
    /// fabric-output buffer, out of this number until it has arrived at the output adapter.
    ReserveFabricBuffers {
        /// Slots, the paper's b [segments].
        slots: u32,
    },
}

/// Choice of an output adapter among requesting inputs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Service {
    /// In a circle, whatever the size of the grant.
    RoundRobin,
    /// The input that has been granted the fewest segments goes first, by virtual start times
    /// (start-time fair queueing). The paper uses a hardware version of weighted round robin by
    /// virtual intervals: fair by bytes, as this is.
    #[default]
    BySegments,
}

/// Settings of an output adapter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GranterParams {
    /// Number of inputs.
    pub inputs: u32,
    /// Kind of admission.
    pub admission: Admission,
    /// Time after a grant for each of its segments: a largest segment at the peak rate of grants
    /// L_G [ps].
    pub segment_time: Span,
    /// Slots of the reorder and reassembly buffer, the paper's B [segments].
    pub output_slots: u32,
    /// Requests that one input may have pending, the paper's G [segments].
    pub requests_max: u32,
    /// Grants are only issued while G slots are free, so that an input that asks for much waits no
    /// longer than one that asks for little (section 3.3, "Fairness").
    pub fair: bool,
    /// All that an input asks for is granted, or nothing. Without it packets can fill the buffer in
    /// part and wait for each other forever (section 3.4).
    pub whole_requests: bool,
    /// Choice among inputs.
    pub service: Service,
    /// Most segments of one grant; what remains of the request waits for its next turn.
    pub grant_max: u32,
}

/// Next action of an output adapter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Grant this number of segments to this input.
    Grant {
        /// Number of the input.
        input: u32,
        /// Size [segments].
        segments: u32,
    },
    /// Not before this time.
    Wait(Time),
    /// Nothing to grant, or no space for it: a request or freed space will change that.
    Nothing,
}

/// Reason why an output adapter grants nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// No input requests.
    NoRequest,
    /// The idle time after the last grant, until then.
    Idle(Time),
    /// Too few free slots of the reorder and reassembly buffer [segments].
    OutputSlots {
        /// Free slots.
        free: u32,
        /// Slots that the next grant needs.
        needed: u32,
    },
    /// Too few free slots of the fabric-output buffer [segments].
    FabricSlots {
        /// Free slots.
        free: u32,
        /// Slots that the next grant needs.
        needed: u32,
    },
}

/// Virtual start from which on all are counted from the present one.
const START_MAX: u32 = if cfg!(test) { 40 } else { 1 << 31 };

/// The output arbiter and its counters (section 3.3) [segments].
#[derive(Clone, Debug, State)]
pub struct Granter {
    #[state(built)] // constant
    p: GranterParams,
    /// Requests per input, the paper's r[i].
    requests: Vec<u32>,
    asking: Bits,
    output_free: u32,
    fabric_free: u32,
    idle_until: Time,
    /// Round robin: where the next scan begins.
    next: usize,
    /// Virtual start times: of each input, and of the input granted last. They are counted from a
    /// time that moves on: a start before that of the last grant means no more than this one.
    starts: Vec<u32>,
    start: u32,
    queue: BinaryHeap<Reverse<(u32, u32)>>,
}

impl Granter {
    /// An output adapter at rest.
    pub fn new(p: GranterParams) -> Granter {
        let fabric_free = match p.admission {
            Admission::ImplicitRate => u32::MAX,
            Admission::ReserveFabricBuffers { slots } => slots,
        };
        Granter {
            p,
            requests: vec![0; p.inputs as usize],
            asking: Bits::new(p.inputs as usize),
            output_free: p.output_slots,
            fabric_free,
            idle_until: Time::ZERO,
            next: 0,
            starts: vec![0; if p.service == Service::BySegments { p.inputs as usize } else { 0 }],
            start: 0,
            queue: BinaryHeap::new(),
        }
    }

    /// Input `input` asks for `segments` more.
    pub fn on_request(&mut self, input: u32, segments: u32) {
        let r = &mut self.requests[input as usize];
        if *r == 0 && segments > 0 {
            self.asking.set(input as usize, true);
            self.enqueue(input);
        }
        self.requests[input as usize] += segments;
    }

    fn enqueue(&mut self, input: u32) {
        if self.p.service == Service::BySegments {
            let start = self.starts[input as usize].max(self.start);
            self.starts[input as usize] = start;
            self.queue.push(Reverse((start, input)));
        }
    }

    /// Counts virtual times from the earliest one that matters.
    fn move_on(&mut self) {
        let first = self.queue.peek().map_or(self.start, |Reverse(next)| next.0.min(self.start));
        self.starts.iter_mut().for_each(|start| *start = start.saturating_sub(first));
        let waiting = std::mem::take(&mut self.queue).into_iter();
        self.queue = waiting.map(|Reverse((at, input))| Reverse((at - first, input))).collect();
        self.start -= first;
    }

    /// A granted segment has arrived at the output adapter: its slot in the fabric is free again.
    #[inline]
    pub fn on_arrived(&mut self) {
        if let Admission::ReserveFabricBuffers { .. } = self.p.admission {
            self.fabric_free += 1;
        }
    }

    /// A number of granted segments have left the output buffer.
    #[inline]
    pub fn on_departed(&mut self, segments: u32) {
        self.output_free += segments;
        debug_assert!(self.output_free <= self.p.output_slots);
    }

    /// Action to take now. After a grant the arbiter idles; call this again then.
    pub fn decide(&mut self, now: Time) -> Decision {
        if self.asking.is_empty() {
            return Decision::Nothing;
        }
        if now < self.idle_until {
            return Decision::Wait(self.idle_until);
        }
        let free = self.output_free.min(self.fabric_free);
        if self.p.fair && free < self.p.requests_max {
            return Decision::Nothing;
        }
        let Some(input) = self.choose(free) else { return Decision::Nothing };
        let r = &mut self.requests[input as usize];
        let segments = (*r).min(self.p.grant_max).min(free);
        *r -= segments;
        let satisfied = *r == 0;
        if satisfied {
            self.asking.set(input as usize, false);
        }
        if self.p.service == Service::BySegments {
            self.start = self.starts[input as usize];
            if self.start >= START_MAX {
                self.move_on();
            }
            self.starts[input as usize] = self.start.saturating_add(segments);
            if !satisfied {
                self.enqueue(input);
            }
        }
        self.output_free -= segments;
        if let Admission::ReserveFabricBuffers { .. } = self.p.admission {
            self.fabric_free -= segments;
        }
        self.idle_until = now + Span(self.p.segment_time.0 * u64::from(segments));
        Decision::Grant { input, segments }
    }

    /// The input whose turn it is, among those that `free` slots can serve.
    fn choose(&mut self, free: u32) -> Option<u32> {
        let serves =
            |r: u32| if self.p.whole_requests { r.min(self.p.grant_max) <= free } else { free > 0 };
        match self.p.service {
            Service::RoundRobin => {
                let first = self.asking.next_from(self.next)?;
                let mut input = first;
                while !serves(self.requests[input]) {
                    input = self.asking.next_from(input + 1)?;
                    if input == first {
                        return None;
                    }
                }
                self.next = input + 1;
                Some(input as u32)
            }
            Service::BySegments => {
                let mut passed_over = Vec::new();
                let mut chosen = None;
                while let Some(Reverse((start, input))) = self.queue.pop() {
                    if serves(self.requests[input as usize]) {
                        chosen = Some(input);
                        break;
                    }
                    passed_over.push(Reverse((start, input)));
                }
                self.queue.extend(passed_over);
                chosen
            }
        }
    }

    /// Reason why nothing is granted now. It holds until a request, an arrival or a departure.
    pub fn hold(&self, now: Time) -> Hold {
        let asked = |i: usize| self.requests[i].min(self.p.grant_max);
        let smallest = self.asking.iter().map(asked).min();
        let Some(smallest) = smallest else { return Hold::NoRequest };
        let needed = match (self.p.fair, self.p.whole_requests) {
            (true, _) => self.p.requests_max,
            (false, true) => smallest,
            (false, false) => 1,
        };
        let (output, fabric) = (self.output_free, self.fabric_free);
        if output < needed {
            Hold::OutputSlots { free: output, needed }
        } else if fabric < needed {
            Hold::FabricSlots { free: fabric, needed }
        } else {
            Hold::Idle(self.idle_until.max(now))
        }
    }
    /// Requests of all inputs that are not granted yet [segments].
    pub fn requested(&self) -> u64 {
        self.requests.iter().map(|&r| u64::from(r)).sum()
    }
    /// Requests of an input that are not granted yet [segments].
    pub fn requested_by(&self, input: u32) -> u32 {
        self.requests[input as usize]
    }
    /// Free slots of the output buffer [segments].
    pub fn output_free(&self) -> u32 {
        self.output_free
    }
    /// Free slots of the fabric-output buffer; `None` if none are reserved [segments].
    pub fn fabric_free(&self) -> Option<u32> {
        (self.p.admission != Admission::ImplicitRate).then_some(self.fabric_free)
    }
}

#[cfg(test)]
mod tests {
    use super::Decision::*;
    use super::*;

    fn params() -> GranterParams {
        GranterParams {
            inputs: 4,
            admission: Admission::ImplicitRate,
            segment_time: Span(10),
            output_slots: 100,
            requests_max: 8,
            fair: true,
            whole_requests: true,
            service: Service::RoundRobin,
            grant_max: u32::MAX,
        }
    }
    fn grant(input: u32, segments: u32) -> Decision {
        Grant { input, segments }
    }

    /// Fig. 2(a): output 3 grants five segments to input 1 and stays idle for five segment times;
    /// input 2, which asked for four meanwhile, is granted only then.
    #[test]
    fn implicit_rate_regulation_idles_for_as_long_as_the_grant() {
        let mut g = Granter::new(params());
        g.on_request(1, 5);
        assert_eq!(g.decide(Time(100)), grant(1, 5));
        g.on_request(2, 4);
        assert_eq!((g.decide(Time(100)), g.decide(Time(149))), (Wait(Time(150)), Wait(Time(150))));
        assert_eq!((g.decide(Time(150)), g.decide(Time(190))), (grant(2, 4), Nothing));
        assert_eq!(g.fabric_free(), None);
        g.on_request(3, 0);
        assert_eq!(g.decide(Time(1_000)), Nothing, "no request at all");
    }

    /// Section 2.4: a slot in the fabric is taken by each granted segment until it has arrived;
    /// section 3.3: no port is granted while fewer than G slots are free.
    #[test]
    fn reserved_slots_bound_what_is_on_its_way() {
        let mut g = Granter::new(GranterParams {
            admission: Admission::ReserveFabricBuffers { slots: 10 },
            ..params()
        });
        g.on_request(0, 3);
        g.on_request(3, 1);
        assert_eq!((g.decide(Time(0)), g.fabric_free()), (grant(0, 3), Some(7)));
        assert_eq!(g.decide(Time(30)), Nothing, "7 < G = 8, although 1 would fit");
        g.on_arrived();
        assert_eq!((g.decide(Time(30)), g.fabric_free()), (grant(3, 1), Some(7)));
        g.on_departed(3);
        assert_eq!(
            (g.output_free(), g.fabric_free()),
            (99, Some(7)),
            "departing frees the adapter, arriving the fabric"
        );
    }

    /// Section 3.3: without the rule an input that asks for one segment overtakes one that asks for
    /// many forever.
    #[test]
    fn without_the_fairness_rule_small_requests_starve_large_ones() {
        let grants_of_the_large_one = |fair| {
            let mut g = Granter::new(GranterParams {
                output_slots: 8,
                fair,
                service: Service::BySegments,
                ..params()
            });
            let (mut large, mut held) = (0, 0);
            for step in 0..1_000 {
                for (input, size) in [(0, 8), (1, 1)] {
                    if g.requested_by(input) == 0 {
                        g.on_request(input, size);
                    }
                }
                if let Grant { input, segments } = g.decide(Time(step * 100)) {
                    held += segments;
                    large += u32::from(input == 0);
                }
                if held > 0 && step % 2 == 0 {
                    g.on_departed(1);
                    held -= 1;
                }
            }
            large
        };
        // 500 slots become free. With the rule each input has half of them: about 30 grants of
        // eight.
        assert!((25..=35).contains(&grants_of_the_large_one(true)));
        assert_eq!(grants_of_the_large_one(false), 1, "the first, while the buffer was empty");
    }

    /// Fair by segments: who asks for 8 at a time is granted as many segments as who asks for 2 at
    /// a time.
    #[test]
    fn service_by_segments_is_fair_whatever_the_size_of_requests() {
        let mut g = Granter::new(GranterParams { service: Service::BySegments, ..params() });
        let mut got = [0u32; 2];
        for step in 0..1_000u64 {
            for (input, size) in [(0, 8), (1, 2)] {
                if g.requested_by(input) == 0 {
                    g.on_request(input, size);
                }
            }
            if let Grant { input, segments } = g.decide(Time(step * 100)) {
                got[input as usize] += segments;
                g.on_departed(segments);
            }
        }
        assert!(got[0].abs_diff(got[1]) <= 8, "{got:?}");
        assert!(got[0] > 1_000);
    }

    /// Virtual times that are counted from later and later on decide as times without end do.
    #[test]
    fn virtual_times_move_on_without_a_difference() {
        let mut g = Granter::new(GranterParams { service: Service::BySegments, ..params() });
        let (mut starts, mut start, mut asked, mut state) = ([0u64; 4], 0u64, [0u32; 4], 7u32);
        for step in 0..5_000u64 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let (input, size) = (state >> 30, 1 + (state >> 16) % 8);
            if asked[input as usize] == 0 {
                g.on_request(input, size);
                asked[input as usize] = size;
                starts[input as usize] = starts[input as usize].max(start);
            }
            let next = (0..4).filter(|&i| asked[i] > 0).min_by_key(|&i| (starts[i], i));
            if let (Some(i), true) = (next, step % 3 > 0) {
                assert_eq!(g.decide(Time(step * 100)), grant(i as u32, asked[i]), "step {step}");
                g.on_departed(asked[i]);
                (start, starts[i]) = (starts[i], starts[i] + u64::from(asked[i]));
                asked[i] = 0;
            }
        }
        assert!(start > 50 * u64::from(START_MAX) && g.start < START_MAX + 8, "{start}");
    }

    /// Section 3.4: all of a request or nothing; a partial grant is what a deadlock is made of.
    #[test]
    fn a_request_is_granted_whole_unless_parts_are_allowed() {
        let few = GranterParams { output_slots: 5, fair: false, ..params() };
        let mut g = Granter::new(few);
        g.on_request(0, 6);
        assert_eq!(g.decide(Time(0)), Nothing);
        g.on_request(2, 4);
        assert_eq!(g.decide(Time(0)), grant(2, 4), "the one that fits");
        let mut g = Granter::new(GranterParams { whole_requests: false, ..few });
        g.on_request(0, 6);
        assert_eq!(
            (g.decide(Time(0)), g.decide(Time(50)), g.requested_by(0)),
            (grant(0, 5), Nothing, 1)
        );
    }

    /// Section 3.2: granted segments first; one unsolicited segment only while nothing is granted,
    /// pending or unacknowledged.
    #[test]
    fn a_voq_is_eligible_as_the_paper_defines() {
        let mut v = Requester::default();
        assert_eq!(
            (v.may_send(false, true), v.may_send(true, true), v.may_send(true, false)),
            (MaySend::No, MaySend::Unsolicited, MaySend::No)
        );
        v.on_sent(MaySend::Unsolicited);
        assert_eq!(v.may_send(true, true), MaySend::No, "not acknowledged");
        v.on_requested(3);
        v.on_ack(1);
        assert_eq!((v.may_send(true, true), v.room(8), v.room(2)), (MaySend::No, 5, 0), "pending");
        v.on_grant(2);
        assert_eq!(v.may_send(false, true), MaySend::Granted);
        v.on_sent(MaySend::Granted);
        assert_eq!((v.granted(), v.pending(), v.unacknowledged()), (1, 1, 0));
    }

    #[test]
    #[should_panic(expected = "granted 2 segments of 1 requested")]
    fn more_grants_than_requests_are_a_broken_output() {
        let mut v = Requester::default();
        v.on_requested(1);
        v.on_grant(2);
    }
}
