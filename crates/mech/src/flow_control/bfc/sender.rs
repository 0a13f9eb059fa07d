//! The sender half of BFC: the queues of an egress, which flow waits in which, and which goes next.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use xoff_units::state::State;
use xoff_units::{Bytes, FlowId, Rate, Span, Time};

use super::super::parked::Parked;
use super::super::{FlowSender, Gate, Message, QueueState};
use super::filter::{Filter, FilterPart, WORDS, bits, hash};
use super::{Params, hrtt};
use crate::LinkFacts;

/// A frame that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, State)]
struct Waiting {
    #[state(frame)]
    handle: u32,
    vfid: u32,
    len: u64,
    /// Number in the order of arrival.
    #[state(counter)]
    nth: u64,
}

/// A queue of an egress.
#[derive(Clone, Debug, Default, PartialEq, Eq, State)]
struct Queue {
    frames: VecDeque<Waiting>,
    bytes: u64,
    /// Time until which its last flow may return.
    #[state(deadline)]
    kept_until: Time,
}

/// Queue of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, State)]
struct Place {
    queue: usize,
    frames: u32,
    #[state(deadline)]
    kept_until: Time,
}

/// The sender half, for one egress and priority.
#[derive(Clone, Debug, PartialEq, Eq, State)]
pub struct BfcSender {
    #[state(built)] // constant
    p: Params,
    line: Rate,
    /// 2 HRTT: time for which a flow without waiting frames keeps its queue.
    sticky: Span,
    queues: Vec<Queue>,
    places: BTreeMap<FlowId, Place>,
    /// In effect.
    filter: Filter,
    /// Arriving filters, with their numbers. A closing message waits for the frame on the wire,
    /// while words of later filters arrive.
    coming: VecDeque<(u32, Filter)>,
    /// The queue that sent last.
    last: usize,
    #[state(counter)]
    count: u64,
    /// Held flows of a source, by virtual flow.
    #[state(built)] // a source that is restored asks about all of its flows
    parked: Parked,
    /// Virtual flows with parked ones, by each of their bits in the filter.
    #[state(built)]
    watched: BTreeSet<(usize, u32)>,
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
            coming: VecDeque::new(),
            last: 0,
            count: 0,
            parked: Parked::default(),
            watched: BTreeSet::new(),
        }
    }

    /// The queue that a frame of this flow joins now: its own, else the first empty one, else one
    /// by its number.
    pub fn queue_of(&self, now: Time, flow: FlowId) -> usize {
        let vfid = self.p.vfid(flow);
        if let Some(place) =
            self.places.get(&FlowId(vfid)).filter(|p| p.frames > 0 || now < p.kept_until)
        {
            return place.queue;
        }
        let empty = self.queues.iter().position(|q| q.frames.is_empty() && now >= q.kept_until);
        empty.unwrap_or(hash(!vfid) as usize % self.queues.len())
    }

    /// Another filter takes effect: parked flows that it does not contain are free.
    fn adopt(&mut self, filter: Filter) {
        let before = std::mem::replace(&mut self.filter, filter);
        if self.watched.is_empty() {
            return;
        }
        for bit in before.bits_without(&filter) {
            while let Some(&(_, vfid)) = self.watched.range((bit, 0)..=(bit, u32::MAX)).next() {
                self.parked.free(vfid.into()..=vfid.into());
                self.watch_no_longer(vfid);
            }
        }
    }

    fn watch_no_longer(&mut self, vfid: u32) {
        bits(vfid).for_each(|bit| _ = self.watched.remove(&(bit, vfid)));
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
        let place =
            self.places.get_mut(&FlowId(frame.vfid)).expect("a flow that waits has a queue");
        place.frames -= 1;
        if place.frames == 0 {
            match now {
                Some(now) => {
                    place.kept_until = now + self.sticky;
                    q.kept_until = place.kept_until;
                }
                None => _ = self.places.remove(&FlowId(frame.vfid)),
            }
        }
        Some(frame.handle)
    }
}

impl FlowSender for BfcSender {
    fn push(&mut self, now: Time, handle: u32, flow: FlowId, len: Bytes) {
        let (queue, vfid) = (self.queue_of(now, flow), self.p.vfid(flow));
        let place = self.places.entry(FlowId(vfid)).or_insert(Place {
            queue,
            frames: 0,
            kept_until: Time::ZERO,
        });
        place.queue = queue;
        place.frames += 1;
        self.queues[queue].frames.push_back(Waiting { handle, vfid, len: len.0, nth: self.count });
        self.queues[queue].bytes += len.0;
        self.count += 1;
    }
    fn queue(&self, now: Time, flow: FlowId) -> Option<QueueState> {
        let at = self.queue_of(now, flow);
        let active = (0..self.queues.len()).filter(|&q| q == at || self.sends(q)).count() as u32;
        Some(QueueState { bytes: Bytes(self.queues[at].bytes), rate: self.line, active })
    }
    fn head(&self, _now: Time) -> Option<(u32, bool)> {
        match self.next() {
            Some(q) => self.queues[q].frames.front().map(|f| (f.handle, true)),
            None => self
                .queues
                .iter()
                .filter_map(|q| q.frames.front())
                .min_by_key(|f| f.nth)
                .map(|f| (f.handle, false)),
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
    fn flow_gate(&self, _now: Time, flow: FlowId) -> Gate {
        if self.filter.contains(self.p.vfid(flow)) { Gate::Blocked } else { Gate::Open }
    }
    fn whole_gate(&self, _now: Time) -> Gate {
        if self.filter == Filter::default() { Gate::Open } else { Gate::Blocked }
    }
    #[cold]
    fn park(&mut self, flow: FlowId, handle: u32) {
        let vfid = self.p.vfid(flow);
        self.parked.park(vfid.into(), handle);
        bits(vfid).for_each(|bit| _ = self.watched.insert((bit, vfid)));
    }
    #[cold]
    fn unpark(&mut self, flow: FlowId, handle: u32) -> bool {
        let vfid = self.p.vfid(flow);
        let was = self.parked.unpark(vfid.into(), handle);
        if was && !self.parked.has(vfid.into()..=vfid.into()) {
            self.watch_no_longer(vfid);
        }
        was
    }
    #[cold]
    fn freed(&mut self, _now: Time) -> BTreeSet<u32> {
        self.parked.freed()
    }
    fn parked_until(&self) -> Time {
        Time::NEVER
    }
    #[cold]
    fn any_parked(&self, f: &mut dyn FnMut(u32) -> bool) -> bool {
        self.parked.handles().any(f)
    }
    fn on_message(&mut self, _now: Time, message: Message) {
        let Message::Filter(part) = message else { return };
        match part {
            FilterPart::Word(number, at, word) => {
                if self.coming.back().is_none_or(|c| c.0 != number) {
                    self.coming.push_back((number, Filter::default()));
                }
                let filter = &mut self.coming.back_mut().expect("just found or added").1;
                if let Some(w) = filter.0.get_mut(at as usize) {
                    *w = word;
                }
            }
            FilterPart::End(number, flows) => {
                match self.coming.iter().position(|c| c.0 == number) {
                    Some(at) => {
                        let next = self.coming.drain(..=at).next_back().expect("it is there").1;
                        self.adopt(next);
                    }
                    None if flows == 0 => self.adopt(Filter::default()),
                    None => {} // its words were lost
                }
            }
        }
    }
    fn is_possible(&self, message: Message) -> bool {
        match message {
            Message::Filter(FilterPart::Word(_, at, _)) => (at as usize) < WORDS,
            _ => true,
        }
    }
    fn restart(&mut self, _now: Time) {
        self.adopt(Filter::default());
        self.coming.clear();
    }
    fn rate(&self) -> Rate {
        self.line
    }
    fn for_each(&self, f: &mut dyn FnMut(u32)) {
        self.queues.iter().flat_map(|q| &q.frames).for_each(|w| f(w.handle));
    }
}
