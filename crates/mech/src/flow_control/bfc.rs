//! Backpressure Flow Control (BFC, NSDI 2022): per hop and per flow, by the queue in which a flow waits at the next egress.
//!
//! ```text
//!   upstream egress                                        downstream switch
//!                   +-> queue 0 [head paused]                             +-> queue 0 - - - Th - - -> flow paused
//!   frame of flow --+-> queue 1 --------------+-> wire --> ingress -------+-> queue 1
//!                   +-> ...                                |              +-> ...
//!        ^                                                 v
//!        +---- Bloom filter of paused flows, every tau ----+
//! ```
//!
//! A flow gets an empty queue of the egress, if there is one. It is paused when a frame of it comes while its queue holds more than
//! Th = (HRTT + tau) mu / N_active: what the egress sends of the queue until a resume takes effect. All paused flows of an ingress travel
//! as one Bloom filter every tau. A queue whose head is a frame of a paused flow does not send.
//!
//! Rules, and where they differ from the paper: `docs/mechanisms/bfc.md`.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use xoff_params::{Kind, ParamError, ParamSpec, Values};
use xoff_units::{Bytes, Rate, Span, Time};

use super::law::{Law, Signal};
use super::{FlowReceiver, FlowSender, Gate, Message, QueueState};
use crate::LinkFacts;

/// What the file calls them.
pub const PARAMS: &[ParamSpec] = &[
    ParamSpec::new("queues", Kind::Count, "32", "queues of an egress port and priority", "BFC section 5: 32 queues a port"),
    ParamSpec::new("vfids", Kind::Count, "16384", "virtual flow numbers, by a hash of the flow", "BFC section 5: 16 K"),
    ParamSpec::optional(
        "period",
        Kind::Span,
        "tau, between two filters; default: half of HRTT",
        "BFC section 3.3: half a hop's round trip",
    ),
    ParamSpec::new(
        "resumes",
        Kind::Count,
        "2",
        "flows of an ingress that are resumed in one period, at most",
        "BFC section 3.3: 2 per queue",
    ),
];

/// Bits of a filter: 128 B.
pub const FILTER_BITS: u32 = 1024;
/// Hashes of a filter.
pub const HASHES: u32 = 4;
/// Words of a filter.
const WORDS: usize = FILTER_BITS as usize / 64;
/// A filter, its Ethernet header, EtherType and check sequence [bytes].
pub const FRAME_LEN: Bytes = Bytes(128 + 14 + 4);

/// Paused flows, with false positives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Filter([u64; WORDS]);

impl Filter {
    fn insert(&mut self, vfid: u32) {
        bits(vfid).for_each(|b| self.0[b / 64] |= 1 << (b % 64));
    }
    fn contains(&self, vfid: u32) -> bool {
        bits(vfid).all(|b| self.0[b / 64] >> (b % 64) & 1 != 0)
    }
}

/// The bits of a flow.
fn bits(vfid: u32) -> impl Iterator<Item = usize> {
    (0..HASHES).map(move |n| (hash(vfid.wrapping_mul(HASHES).wrapping_add(n)) % FILTER_BITS) as usize)
}

/// The finalizer of MurmurHash3, for hashes of a switch.
fn hash(x: u32) -> u32 {
    let mut h = x.wrapping_add(0x9e37_79b9); // zero would stay zero
    h = (h ^ h >> 16).wrapping_mul(0x85eb_ca6b);
    h = (h ^ h >> 13).wrapping_mul(0xc2b2_ae35);
    h ^ h >> 16
}

/// Parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Params {
    /// Queues of an egress.
    pub queues: u16,
    /// Virtual flow numbers.
    pub vfids: u32,
    /// tau [ps].
    pub period: Span,
    /// Flows resumed in one period.
    pub resumes: u32,
}

impl Params {
    /// Reads [`PARAMS`]; tau follows from the link where it is not given.
    ///
    /// # Errors
    /// The key that is out of its range.
    pub fn read(v: &mut dyn Values, link: &LinkFacts) -> Result<Params, ParamError> {
        let period = v.span_opt("period")?.unwrap_or(Span(hrtt(link).0 / 2));
        if period.0 == 0 {
            return Err(ParamError::new("period", "period is 0", "filters would leave without end; choose at least 1ns"));
        }
        let mut count = |key: &'static str, most: u64| match v.count(key)? {
            n if (1..=most).contains(&n) => Ok(n),
            n => Err(ParamError::new(key, format!("{n} {key}"), format!("expected 1 to {most}"))),
        };
        let (queues, vfids) = (count("queues", 1 << 12)? as u16, count("vfids", 1 << 24)? as u32);
        Ok(Params { queues, vfids, period, resumes: count("resumes", 1 << 16)? as u32 })
    }

    /// Th of a queue [bytes].
    pub fn threshold(&self, link: &LinkFacts, queue: &QueueState) -> Bytes {
        threshold(hrtt(link) + self.period, queue)
    }

    fn vfid(&self, flow: u32) -> u32 {
        hash(flow) % self.vfids
    }
}

/// Round trip of one hop: twice the delay, the times inside the nodes, and a frame that is on the wire when a filter comes and when it
/// leaves [ps].
pub fn hrtt(link: &LinkFacts) -> Span {
    link.delay + link.delay + link.processing + link.rate.time_for(link.mtu) + link.rate.time_for(FRAME_LEN)
}

fn threshold(horizon: Span, queue: &QueueState) -> Bytes {
    Bytes(queue.rate.bytes_in(horizon).0 / u64::from(queue.active.max(1)))
}

impl Law for Params {
    type Receiver = Box<BfcReceiver>;
    type Sender = Box<BfcSender>;

    fn halves(&self, link: &LinkFacts) -> (Box<BfcReceiver>, Box<BfcSender>) {
        (Box::new(BfcReceiver::new(self, link)), Box::new(BfcSender::new(self, link)))
    }
    fn resolved(&self) -> Vec<(&'static str, String)> {
        vec![("period", self.period.to_string())]
    }
    fn message_len(&self) -> Bytes {
        FRAME_LEN
    }
}

/// A word of a filter that is not zero, or the end of its frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilterPart {
    /// The word at this place of the filter with this number.
    Word(u32, u8, u64),
    /// The filter with this number is complete: it has so many paused flows.
    End(u32, u32),
}

impl Signal for FilterPart {
    const PER_FLOW: bool = true;

    #[cold]
    fn to_words(self) -> (u64, u64) {
        match self {
            FilterPart::Word(number, at, word) => (word, u64::from(number) << 8 | u64::from(at)),
            FilterPart::End(number, flows) => (u64::from(flows), u64::from(number) << 8 | 0xff),
        }
    }
    #[cold]
    fn from_words(a: u64, b: u64) -> FilterPart {
        let number = (b >> 8) as u32;
        match b as u8 {
            0xff => FilterPart::End(number, a as u32),
            at => FilterPart::Word(number, at, a),
        }
    }
    fn describe(self) -> (&'static str, u64) {
        match self {
            FilterPart::Word(_, at, _) => ("word", u64::from(at)),
            FilterPart::End(_, flows) => ("paused", u64::from(flows)),
        }
    }
    fn is_part(self) -> bool {
        matches!(self, FilterPart::Word(..))
    }
}

/// What an ingress holds of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Held {
    bytes: u64,
    /// The flow that found it empty.
    owner: u32,
    paused: bool,
    /// It waits for its turn to be resumed.
    leaving: bool,
}

/// The receiver half, for one ingress and priority.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BfcReceiver {
    p: Params,
    /// HRTT + tau.
    horizon: Span,
    held: BTreeMap<u32, Held>,
    paused: BTreeSet<u32>,
    /// Flows to be resumed, in the order in which their queues have drained.
    leaving: VecDeque<u32>,
    /// The next filter is due; never: nothing is paused, and the neighbour has been sent that.
    due: Time,
    /// Filters sent.
    number: u32,
    parts: VecDeque<FilterPart>,
    collisions: u64,
}

impl BfcReceiver {
    /// A receiver that holds nothing.
    pub fn new(p: &Params, link: &LinkFacts) -> Self {
        BfcReceiver {
            p: p.clone(),
            horizon: hrtt(link) + p.period,
            held: BTreeMap::new(),
            paused: BTreeSet::new(),
            leaving: VecDeque::new(),
            due: Time::NEVER,
            number: 0,
            parts: VecDeque::new(),
            collisions: 0,
        }
    }

    /// Filters leave at multiples of tau.
    fn after(&self, now: Time) -> Time {
        Time((now.0 / self.p.period.0 + 1) * self.p.period.0)
    }
}

impl FlowReceiver for BfcReceiver {
    fn on_arrival(&mut self, now: Time, flow: u32, queue: Option<QueueState>, len: Bytes) -> Option<Message> {
        let queue = queue?; // a host takes in everything
        let vfid = self.p.vfid(flow);
        let held = self.held.entry(vfid).or_insert(Held { owner: flow, ..Held::default() });
        self.collisions += u64::from(held.owner != flow);
        held.bytes += len.0;
        if queue.bytes + len > threshold(self.horizon, &queue) {
            held.leaving = false;
            if !held.paused {
                held.paused = true;
                self.paused.insert(vfid);
                self.due = self.due.min(self.after(now));
            }
        }
        None
    }

    fn on_departure(&mut self, _now: Time, flow: u32, queue: Option<QueueState>, len: Bytes) -> Option<Message> {
        let queue = queue?;
        let vfid = self.p.vfid(flow);
        let held = self.held.get_mut(&vfid)?;
        held.bytes -= len.0;
        let drained = held.bytes == 0 || queue.bytes <= threshold(self.horizon, &queue);
        if held.paused && !held.leaving && drained {
            held.leaving = true;
            self.leaving.push_back(vfid);
        }
        if held.bytes == 0 && !held.paused {
            self.held.remove(&vfid);
        }
        None
    }

    fn on_wake(&mut self, now: Time) -> Option<Message> {
        if now < self.due {
            return None;
        }
        let mut left = self.p.resumes;
        while left > 0
            && let Some(vfid) = self.leaving.pop_front()
        {
            let Some(held) = self.held.get_mut(&vfid).filter(|h| h.leaving) else { continue };
            (held.leaving, held.paused) = (false, false);
            if held.bytes == 0 {
                self.held.remove(&vfid);
            }
            self.paused.remove(&vfid);
            left -= 1;
        }
        let mut filter = Filter::default();
        self.paused.iter().for_each(|&vfid| filter.insert(vfid));
        self.number = self.number.wrapping_add(1);
        let words = filter.0.iter().enumerate().filter(|(_, w)| **w != 0);
        self.parts = words.map(|(at, &w)| FilterPart::Word(self.number, at as u8, w)).collect();
        self.parts.push_back(FilterPart::End(self.number, self.paused.len() as u32));
        self.due = if self.paused.is_empty() { Time::NEVER } else { self.after(now) };
        self.more()
    }

    fn next_wake(&self) -> Option<Time> {
        (self.due != Time::NEVER).then_some(self.due)
    }

    fn more(&mut self) -> Option<Message> {
        self.parts.pop_front().map(Message::Filter)
    }

    fn holds(&self, gone: Bytes) -> bool {
        // Any frame of a paused flow that leaves may resume it, and whose leave is not said.
        gone.0 == 0 && self.leaving.is_empty() && !self.paused.is_empty()
    }

    fn collisions(&self) -> u64 {
        self.collisions
    }
}

/// A frame that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Waiting {
    handle: u32,
    vfid: u32,
    len: u64,
    /// Its number in the order of arrival.
    nth: u64,
}

/// A queue of an egress.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Queue {
    frames: VecDeque<Waiting>,
    bytes: u64,
    /// Its last flow may come back to it until then.
    kept_until: Time,
}

/// Where a flow waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    queue: usize,
    frames: u32,
    kept_until: Time,
}

/// The sender half, for one egress and priority.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BfcSender {
    p: Params,
    line: Rate,
    /// 2 HRTT: a flow that has nothing waiting keeps its queue for so long.
    sticky: Span,
    queues: Vec<Queue>,
    places: BTreeMap<u32, Place>,
    /// In effect.
    filter: Filter,
    /// The one that comes in, and its number.
    coming: (u32, Filter),
    /// The queue that sent last.
    last: usize,
    count: u64,
}

impl BfcSender {
    /// A sender with empty queues.
    pub fn new(p: &Params, link: &LinkFacts) -> Self {
        BfcSender {
            p: p.clone(),
            line: link.rate,
            sticky: hrtt(link) + hrtt(link),
            queues: vec![Queue::default(); p.queues as usize],
            places: BTreeMap::new(),
            filter: Filter::default(),
            coming: (0, Filter::default()),
            last: 0,
            count: 0,
        }
    }

    /// The queue that a frame of this flow joins now: its own, else the first empty one, else one by its number.
    pub fn queue_of(&self, now: Time, flow: u32) -> usize {
        let vfid = self.p.vfid(flow);
        if let Some(place) = self.places.get(&vfid).filter(|p| p.frames > 0 || now < p.kept_until) {
            return place.queue;
        }
        let empty = self.queues.iter().position(|q| q.frames.is_empty() && now >= q.kept_until);
        empty.unwrap_or(hash(!vfid) as usize % self.queues.len())
    }

    fn sends(&self, queue: usize) -> bool {
        self.queues[queue].frames.front().is_some_and(|f| !self.filter.contains(f.vfid))
    }

    /// Round robin.
    fn next(&self) -> Option<usize> {
        let n = self.queues.len();
        (1..=n).map(|k| (self.last + k) % n).find(|&q| self.sends(q))
    }

    fn take(&mut self, now: Option<Time>, at: usize) -> Option<u32> {
        let q = &mut self.queues[at];
        let frame = q.frames.pop_front()?;
        q.bytes -= frame.len;
        let place = self.places.get_mut(&frame.vfid).expect("a flow that waits has a queue");
        place.frames -= 1;
        if place.frames == 0 {
            match now {
                Some(now) => {
                    place.kept_until = now + self.sticky;
                    q.kept_until = place.kept_until;
                }
                None => _ = self.places.remove(&frame.vfid),
            }
        }
        Some(frame.handle)
    }
}

impl FlowSender for BfcSender {
    fn push(&mut self, now: Time, handle: u32, flow: u32, len: Bytes) {
        let (queue, vfid) = (self.queue_of(now, flow), self.p.vfid(flow));
        let place = self.places.entry(vfid).or_insert(Place { queue, frames: 0, kept_until: Time::ZERO });
        place.queue = queue;
        place.frames += 1;
        self.queues[queue].frames.push_back(Waiting { handle, vfid, len: len.0, nth: self.count });
        self.queues[queue].bytes += len.0;
        self.count += 1;
    }
    fn queue(&self, now: Time, flow: u32) -> Option<QueueState> {
        let at = self.queue_of(now, flow);
        let active = (0..self.queues.len()).filter(|&q| q == at || self.sends(q)).count() as u32;
        Some(QueueState { bytes: Bytes(self.queues[at].bytes), rate: self.line, active })
    }
    fn head(&self, _now: Time) -> Option<(u32, bool)> {
        match self.next() {
            Some(q) => self.queues[q].frames.front().map(|f| (f.handle, true)),
            None => self.queues.iter().filter_map(|q| q.frames.front()).min_by_key(|f| f.nth).map(|f| (f.handle, false)),
        }
    }
    fn gate(&self, _now: Time) -> Gate {
        let waits = self.queues.iter().any(|q| !q.frames.is_empty());
        if waits && self.next().is_none() { Gate::Blocked } else { Gate::Open }
    }
    fn pop(&mut self, now: Time) -> Option<u32> {
        self.last = self.next()?;
        self.take(Some(now), self.last)
    }
    fn discard(&mut self) -> Option<u32> {
        (0..self.queues.len()).find_map(|at| self.take(None, at))
    }
    fn flow_gate(&self, _now: Time, flow: u32) -> Gate {
        if self.filter.contains(self.p.vfid(flow)) { Gate::Blocked } else { Gate::Open }
    }
    fn on_message(&mut self, _now: Time, message: Message) {
        let Message::Filter(part) = message else { return };
        let (FilterPart::Word(number, ..) | FilterPart::End(number, _)) = part;
        if self.coming.0 != number {
            self.coming = (number, Filter::default());
        }
        match part {
            FilterPart::Word(_, at, word) => {
                if let Some(w) = self.coming.1.0.get_mut(at as usize) {
                    *w = word;
                }
            }
            FilterPart::End(..) => self.filter = self.coming.1,
        }
    }
    fn is_possible(&self, message: Message) -> bool {
        match message {
            Message::Filter(FilterPart::Word(_, at, _)) => (at as usize) < WORDS,
            _ => true,
        }
    }
    fn restart(&mut self, _now: Time) {
        self.filter = Filter::default();
    }
    fn rate(&self) -> Rate {
        self.line
    }
    fn for_each(&self, f: &mut dyn FnMut(u32)) {
        self.queues.iter().flat_map(|q| &q.frames).for_each(|w| f(w.handle));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const C: Rate = Rate::from_gbps(10);
    const LINK: LinkFacts = LinkFacts::plain(C, Span::from_us(1), Bytes(1500), Bytes(100_000));
    const MTU: Bytes = Bytes(1500);

    fn params(queues: u16) -> Params {
        Params { queues, vfids: 16_384, period: Span::from_us(2), resumes: 2 }
    }

    fn state(bytes: u64, active: u32) -> Option<QueueState> {
        Some(QueueState { bytes: Bytes(bytes), rate: C, active })
    }

    /// What a frame on the wire carries.
    fn filter_of(r: &mut BfcReceiver, now: Time) -> Vec<Message> {
        let first = r.on_wake(now);
        first.into_iter().chain(std::iter::from_fn(|| r.more())).collect()
    }

    /// HRTT = 2 x 1 us + 1.2 us + 146 B at 10 Gb/s = 3.3168 us; with tau = 2 us: 6646 B for one queue, a third of it for three.
    #[test]
    fn the_threshold_is_what_a_queue_sends_in_a_round_trip() {
        let of = |active| params(8).threshold(&LINK, &state(0, active).unwrap());
        assert_eq!(hrtt(&LINK), Span(3_316_800));
        assert_eq!([of(1), of(3), of(0)], [Bytes(6646), Bytes(2215), Bytes(6646)]);
    }

    #[test]
    fn a_flow_is_paused_above_its_threshold_and_resumed_at_it() {
        let (p, at) = (params(8), Time::from_us);
        let (mut r, mut s) = (BfcReceiver::new(&p, &LINK), BfcSender::new(&p, &LINK));
        r.on_arrival(at(1), 7, state(5146, 1), MTU);
        assert_eq!(r.next_wake(), None, "6646 B: at Th, not above it");
        r.on_arrival(at(1), 7, state(5147, 1), MTU);
        assert_eq!(r.next_wake(), Some(at(2)), "at the next multiple of tau");
        filter_of(&mut r, at(2)).into_iter().for_each(|m| s.on_message(at(3), m));
        assert_eq!([7, 8].map(|f| s.flow_gate(at(3), f)), [Gate::Blocked, Gate::Open]);
        r.on_departure(at(3), 7, state(6647, 1), MTU);
        assert!(r.holds(Bytes::ZERO));
        r.on_departure(at(3), 7, state(6646, 1), MTU);
        assert!(!r.holds(Bytes::ZERO));
        let last = filter_of(&mut r, at(4));
        assert_eq!((&last[..], r.next_wake()), (&[Message::Filter(FilterPart::End(2, 0))][..], None));
        last.into_iter().for_each(|m| s.on_message(at(5), m));
        assert_eq!(s.flow_gate(at(5), 7), Gate::Open);
    }

    #[test]
    fn a_period_resumes_two_flows_at_most() {
        let (p, at) = (params(8), Time::from_us);
        let mut r = BfcReceiver::new(&p, &LINK);
        (0..5).for_each(|f| _ = r.on_arrival(at(1), f, state(9000, 1), MTU));
        (0..5).for_each(|f| _ = r.on_departure(at(1), f, state(0, 1), MTU));
        let paused = [2, 4, 6].map(|t| filter_of(&mut r, at(t)).pop());
        assert_eq!(paused, [(1, 3), (2, 1), (3, 0)].map(|(n, left)| Some(Message::Filter(FilterPart::End(n, left)))));
    }

    #[test]
    fn flows_get_empty_queues_keep_them_and_take_turns() {
        let (p, now) = (params(2), Time::from_us(1));
        let mut s = BfcSender::new(&p, &LINK);
        [(10, 1), (11, 1), (20, 2), (21, 2)].into_iter().for_each(|(handle, flow)| s.push(now, handle, flow, MTU));
        assert_eq!([1, 2].map(|f| s.queue_of(now, f)), [0, 1]);
        assert_eq!(s.queue(now, 1), Some(QueueState { bytes: Bytes(3000), rate: C, active: 2 }));
        assert_eq!(std::iter::from_fn(|| s.pop(now)).collect::<Vec<_>>(), [20, 10, 21, 11]);
        let late = now + hrtt(&LINK) + hrtt(&LINK);
        assert_eq!((s.queue_of(Time(late.0 - 1), 2), s.queue_of(late, 2)), (1, 0), "kept for two round trips");
    }

    /// A flow at line rate into an egress of a tenth of it: its queue never holds more than Th and what C sends in HRTT + tau.
    #[test]
    fn a_queue_holds_its_threshold_and_one_round_trip_at_most() {
        let p = params(8);
        let mu = Rate::from_gbps(1);
        let (slow, mut r) = (LinkFacts { rate: mu, ..LINK }, BfcReceiver::new(&p, &LINK));
        let (mut up, mut egress) = (BfcSender::new(&p, &LINK), BfcSender::new(&p, &slow));
        let step = C.time_for(MTU); // of the clock: a frame at line rate
        let mut arrivals: VecDeque<Time> = VecDeque::new();
        let mut filters: VecDeque<(Time, Message)> = VecDeque::new();
        let (mut highest, mut sent, mut pauses) = (Bytes::ZERO, 0, 0);
        for n in 0..5_000u64 {
            let now = Time(step.0 * n);
            while filters.front().is_some_and(|f| f.0 <= now) {
                up.on_message(now, filters.pop_front().unwrap().1);
            }
            if r.next_wake().is_some_and(|at| at <= now) {
                let arrives = now + LINK.delay + C.time_for(FRAME_LEN);
                filters.extend(filter_of(&mut r, now).into_iter().map(|m| (arrives, m)));
                pauses += 1;
            }
            if arrivals.front().is_some_and(|&at| at <= now) {
                arrivals.pop_front();
                r.on_arrival(now, 7, egress.queue(now, 7), MTU);
                egress.push(now, n as u32, 7, MTU);
            }
            highest = highest.max(egress.queue(now, 7).unwrap().bytes);
            if n % 10 == 0 && egress.pop(now).is_some() {
                sent += 1;
                r.on_departure(now, 7, egress.queue(now, 7), MTU);
            }
            if up.flow_gate(now, 7) == Gate::Open {
                arrivals.push_back(now + step + LINK.delay);
            }
        }
        let threshold = p.threshold(&LINK, &QueueState { bytes: Bytes::ZERO, rate: mu, active: 1 });
        // Two steps of the clock: filters leave and take effect on its ticks here.
        let bound = threshold + C.bytes_in(hrtt(&LINK) + p.period) + MTU + MTU;
        assert!(threshold < highest && highest <= bound, "{threshold} < {highest} <= {bound}");
        assert!(pauses > 100 && sent > 450, "{pauses} filters, {sent} of 500 frames");
    }

    #[test]
    fn parts_survive_their_packing() {
        for part in [FilterPart::Word(u32::MAX, 15, u64::MAX), FilterPart::Word(0, 0, 1), FilterPart::End(3, 16_384)] {
            let (a, b) = part.to_words();
            assert_eq!(FilterPart::from_words(a, b), part);
        }
        assert!(FilterPart::Word(1, 1, 1).is_part() && !FilterPart::End(1, 0).is_part());
    }
}
