//! BFC against an independent model of its rules, as `docs/mechanisms/bfc.md` states them: every
//! answer of both halves, after every event of some thousand random sequences. The model is slow
//! and simple: it keeps every frame and looks through all of them for each answer.

use std::collections::BTreeMap;

use xoff_mech::LinkFacts;
use xoff_mech::flow_control::bfc::{BfcReceiver, BfcSender, FilterPart, Params, hrtt};
use xoff_mech::flow_control::{FlowReceiver, FlowSender, Gate, Message, QueueState};
use xoff_units::{Bytes, FlowId, Rate, Span, Time};

const C: Rate = Rate::from_gbps(10);
const LINK: LinkFacts = LinkFacts::plain(C, Span::from_us(1), Bytes(1500), Bytes(100_000));
const FLOWS: u32 = 12;

/// The finalizer of MurmurHash3.
fn fmix(x: u32) -> u32 {
    let x = x.wrapping_add(0x9e37_79b9);
    let x = (x ^ (x >> 16)).wrapping_mul(0x85eb_ca6b);
    let x = (x ^ (x >> 13)).wrapping_mul(0xc2b2_ae35);
    x ^ (x >> 16)
}

type Bits = Vec<bool>;

/// The four bits of a flow.
fn places(vfid: u32) -> [usize; 4] {
    [0, 1, 2, 3].map(|n| fmix(4 * vfid + n) as usize % 1024)
}

/// Rules 2 to 4 of the page.
struct Ingress {
    p: Params,
    /// Flow and length of every frame held, by virtual flow.
    held: BTreeMap<u32, Vec<(u32, u64)>>,
    first: BTreeMap<u32, u32>,
    paused: Vec<u32>,
    drained: Vec<u32>,
    next: Option<u64>,
    collisions: u64,
}

impl Ingress {
    fn threshold(&self, q: &QueueState) -> u64 {
        let horizon = (hrtt(&LINK) + self.p.period).0;
        let bytes = u128::from(horizon) * u128::from(q.rate.0) / 8_000_000_000_000;
        bytes as u64 / u64::from(q.active.max(1))
    }
    fn multiple_after(&self, now: u64) -> u64 {
        (1..).map(|n| n * self.p.period.0).find(|&t| t > now).unwrap()
    }
    fn arrives(&mut self, now: u64, flow: FlowId, q: &QueueState, len: u64) {
        let (vfid, above) = (fmix(flow.0) % self.p.vfids, q.bytes.0 + len > self.threshold(q));
        let held = self.held.entry(vfid).or_default();
        if held.is_empty() {
            self.first.insert(vfid, flow.0);
        }
        self.collisions += u64::from(self.first[&vfid] != flow.0);
        held.push((flow.0, len));
        if above {
            self.drained.retain(|v| *v != vfid);
            if !self.paused.contains(&vfid) {
                self.paused.push(vfid);
                self.next = self.next.or(Some(self.multiple_after(now)));
            }
        }
    }
    fn leaves(&mut self, flow: FlowId, q: &QueueState) -> u64 {
        let vfid = fmix(flow.0) % self.p.vfids;
        let held = self.held.get_mut(&vfid).unwrap();
        let (_, len) = held.remove(held.iter().position(|f| f.0 == flow.0).unwrap());
        let done = held.is_empty() || q.bytes.0 <= self.threshold(q);
        if done && self.paused.contains(&vfid) && !self.drained.contains(&vfid) {
            self.drained.push(vfid);
        }
        len
    }
    /// The filter that leaves now, and how many flows it pauses.
    fn filter(&mut self, now: u64) -> Option<(Bits, u32)> {
        self.next.filter(|&at| at <= now)?;
        let resumed: Vec<u32> =
            self.drained.drain(..self.drained.len().min(self.p.resumes as usize)).collect();
        self.paused.retain(|v| !resumed.contains(v));
        self.next = (!self.paused.is_empty()).then(|| self.multiple_after(now));
        let mut bits = vec![false; 1024];
        self.paused.iter().flat_map(|&v| places(v)).for_each(|at| bits[at] = true);
        Some((bits, self.paused.len() as u32))
    }
}

/// Rules 1 and 5 of the page.
struct Egress {
    p: Params,
    /// Handle, virtual flow, length and queue, by arrival.
    waiting: Vec<(u32, u32, u64, usize)>,
    /// The queue that a virtual flow keeps, and until when.
    keeps: BTreeMap<u32, (usize, u64)>,
    filter: Bits,
    last: usize,
}

impl Egress {
    fn queue_of(&self, now: u64, vfid: u32) -> usize {
        let kept = |q: usize| self.keeps.values().any(|&(of, until)| of == q && now < until);
        let own = self.waiting.iter().find(|f| f.1 == vfid).map(|f| f.3);
        own.or_else(|| self.keeps.get(&vfid).filter(|k| now < k.1).map(|k| k.0))
            .or_else(|| {
                (0..usize::from(self.p.queues)).find(|&q| self.first_of(q).is_none() && !kept(q))
            })
            .unwrap_or(fmix(!vfid) as usize % usize::from(self.p.queues))
    }
    fn first_of(&self, q: usize) -> Option<(u32, u32, u64, usize)> {
        self.waiting.iter().copied().find(|f| f.3 == q)
    }
    fn held_back(&self, vfid: u32) -> bool {
        places(vfid).iter().all(|&at| self.filter[at])
    }
    fn next(&self) -> Option<(u32, u32, u64, usize)> {
        let n = usize::from(self.p.queues);
        let in_turn = (self.last + 1..=self.last + n).map(|q| q % n);
        in_turn.filter_map(|q| self.first_of(q)).find(|f| !self.held_back(f.1))
    }
    fn state(&self, now: u64, flow: FlowId) -> QueueState {
        let at = self.queue_of(now, fmix(flow.0) % self.p.vfids);
        let sends = |q: usize| self.first_of(q).is_some_and(|f| !self.held_back(f.1));
        let active = (0..usize::from(self.p.queues)).filter(|&q| q == at || sends(q)).count();
        let bytes = self.waiting.iter().filter(|f| f.3 == at).map(|f| f.2).sum();
        QueueState { bytes: Bytes(bytes), rate: C, active: active as u32 }
    }
    fn pop(&mut self, now: u64) -> Option<u32> {
        let (handle, vfid, _, q) = self.next()?;
        self.last = q;
        self.waiting.retain(|f| f.0 != handle);
        if !self.waiting.iter().any(|f| f.1 == vfid) {
            self.keeps.insert(vfid, (q, now + 2 * hrtt(&LINK).0));
        }
        Some(handle)
    }
}

/// SplitMix64.
struct Draw(u64);

impl Draw {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ z >> 31) % n
    }
    fn of<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }
}

/// Receivers and senders, and the link from the receiver to the sender: the parts of a filter take
/// no time on the wire and overtake the closing messages of earlier ones.
struct Pair {
    laws: (BfcReceiver, BfcSender),
    models: (Ingress, Egress),
    parts: Vec<Message>,
    /// Closing messages with the filters that they put into effect.
    ends: Vec<(Message, Bits)>,
    frames: u32,
    filters: u32,
}

impl Pair {
    fn new(p: &Params) -> Pair {
        let ingress = Ingress {
            p: p.clone(),
            held: BTreeMap::new(),
            first: BTreeMap::new(),
            paused: Vec::new(),
            drained: Vec::new(),
            next: None,
            collisions: 0,
        };
        let egress = Egress {
            p: p.clone(),
            waiting: Vec::new(),
            keeps: BTreeMap::new(),
            filter: vec![false; 1024],
            last: 0,
        };
        let laws = (BfcReceiver::new(p, &LINK), BfcSender::new(p, &LINK));
        Pair {
            laws,
            models: (ingress, egress),
            parts: Vec::new(),
            ends: Vec::new(),
            frames: 0,
            filters: 0,
        }
    }

    /// The timer: what leaves is the same set of bits in as many words as are not zero, and a
    /// closing message.
    fn wake(&mut self, now: u64) {
        let (r, m) = (&mut self.laws.0, &mut self.models.0);
        let first = r.on_wake(Time(now));
        let sent: Vec<Message> = first.into_iter().chain(std::iter::from_fn(|| r.more())).collect();
        let Some((bits, flows)) = m.filter(now) else {
            return assert!(sent.is_empty(), "nothing is due");
        };
        self.filters += 1;
        let mut of_law = vec![false; 1024];
        let (end, words) = sent.split_last().expect("a filter is due");
        for w in words {
            let Message::Filter(FilterPart::Word(n, at, word)) = *w else { panic!("{w:?}") };
            assert!(n == self.filters && word != 0);
            (0..64).for_each(|b| of_law[usize::from(at) * 64 + b] = word >> b & 1 != 0);
        }
        assert_eq!(*end, Message::Filter(FilterPart::End(self.filters, flows)));
        assert!(of_law == bits, "the same bits");
        self.parts.extend(words);
        self.ends.push((*end, bits));
    }

    fn event(&mut self, now: u64, d: &mut Draw) {
        let flow = d.below(u64::from(FLOWS)) as u32;
        let near = |m: &Ingress, d: &mut Draw| {
            let mut q = QueueState {
                bytes: Bytes::ZERO,
                rate: d.of(&[C, Rate::from_gbps(1)]),
                active: d.below(4) as u32,
            };
            q.bytes = Bytes(
                (m.threshold(&q) + d.below(3)).saturating_sub(d.of(&[0, 1, 64, 1500, 1501, 9000])),
            );
            q
        };
        match d.below(9) {
            0 | 1 => {
                let (q, len) = (near(&self.models.0, d), d.of(&[64, 1500]));
                self.models.0.arrives(now, FlowId(flow), &q, len);
                assert_eq!(
                    self.laws.0.on_arrival(Time(now), FlowId(flow), Some(q), Bytes(len)),
                    None
                );
            }
            2 => {
                let held: Vec<u32> = self.models.0.held.values().flatten().map(|f| f.0).collect();
                if !held.is_empty() {
                    let (flow, q) = (d.of(&held), near(&self.models.0, d));
                    let len = self.models.0.leaves(FlowId(flow), &q);
                    assert_eq!(
                        self.laws.0.on_departure(Time(now), FlowId(flow), Some(q), Bytes(len)),
                        None
                    );
                }
            }
            3 => self.wake(now),
            4 | 5 => {
                let (handle, len, vfid) =
                    (self.frames, d.of(&[64, 1500]), fmix(flow) % self.models.1.p.vfids);
                self.frames += 1;
                let q = self.models.1.queue_of(now, vfid);
                self.models.1.waiting.push((handle, vfid, len, q));
                self.laws.1.push(Time(now), handle, FlowId(flow), Bytes(len));
            }
            6 => assert_eq!(self.laws.1.pop(Time(now)), self.models.1.pop(now)),
            _ => {
                // All parts on their way have come before a closing message does; more of them may
                // have.
                self.parts.drain(..).for_each(|m| self.laws.1.on_message(Time(now), m));
                if d.below(2) == 0 && !self.ends.is_empty() {
                    let (end, bits) = self.ends.remove(0);
                    self.models.1.filter = bits;
                    self.laws.1.on_message(Time(now), end);
                }
            }
        }
    }

    /// Every answer.
    fn agree(&self, now: u64) {
        let ((r, s), (ingress, egress)) = (&self.laws, &self.models);
        assert_eq!(r.next_wake(), ingress.next.map(Time), "next filter");
        assert_eq!(r.collisions(), ingress.collisions, "collisions");
        assert_eq!(
            r.holds(Bytes(0)),
            !ingress.paused.is_empty() && ingress.drained.is_empty(),
            "holds"
        );
        let head = egress
            .next()
            .map(|f| (f.0, true))
            .or_else(|| egress.waiting.first().map(|f| (f.0, false)));
        assert_eq!(s.head(Time(now)), head, "head");
        assert_eq!(
            s.gate(Time(now)),
            if head.is_some_and(|h| !h.1) { Gate::Blocked } else { Gate::Open },
            "gate"
        );
        for flow in 0..FLOWS {
            let held_back = egress.held_back(fmix(flow) % egress.p.vfids);
            assert_eq!(
                s.flow_gate(Time(now), FlowId(flow)) == Gate::Blocked,
                held_back,
                "gate of flow {flow}"
            );
            assert_eq!(
                s.queue(Time(now), FlowId(flow)),
                Some(egress.state(now, FlowId(flow))),
                "queue of flow {flow}"
            );
        }
        let mut handles = Vec::new();
        s.for_each(&mut |h| handles.push(h));
        let in_queues = (0..usize::from(egress.p.queues))
            .flat_map(|q| egress.waiting.iter().filter(move |f| f.3 == q));
        assert_eq!(handles, in_queues.map(|f| f.0).collect::<Vec<_>>(), "all that waits");
    }
}

#[test]
fn the_law_answers_as_an_independent_model_does() {
    let (mut filters, mut collisions) = (0, 0);
    for seed in 0..3_000 {
        let mut d = Draw(seed);
        let p = Params {
            queues: d.of(&[1, 2, 5, 32]),
            vfids: d.of(&[3, 16, 16_384]),
            period: Span(d.of(&[500_000, 1_658_400, 4_000_000])),
            resumes: d.of(&[1, 2, 3]),
        };
        let (mut pair, mut now) = (Pair::new(&p), d.below(10_000_000));
        for _ in 0..150 {
            now += d.of(&[0, 1, 120_000, 1_200_000, 9_000_000]);
            pair.event(now, &mut d);
            let same = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| pair.agree(now)));
            assert!(same.is_ok(), "sequence {seed} of {p:?}, at {now} ps");
        }
        filters += u64::from(pair.filters);
        collisions += pair.laws.0.collisions();
    }
    assert!(filters > 20_000 && collisions > 20_000, "{filters} filters, {collisions} collisions");
}
