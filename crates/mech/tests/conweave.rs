//! ConWeave between two leaves, over paths that delay and lose frames, against an independent model
//! that follows the steps of conweave-ns3. Every path, header, verdict, reply and release is the
//! same. Where no frame is lost and the timers are long enough, frames leave in order.

use std::collections::{BTreeMap, VecDeque};

use xoff_mech::balancing::conweave::{ConWeave, PARAMS, Role};
use xoff_mech::balancing::{Arrival, Balancer, Header, Landing, NextHops};
use xoff_mech::detection::Mark;
use xoff_units::params::Defaults;
use xoff_units::{Bytes, FlowId, NodeId, Rate, Time};

/// Times in microseconds.
struct Timers {
    reply: u64,
    inactive: u64,
    busy: u64,
    extra: u64,
    wait: u64,
}

const US: u64 = 1_000_000;
const PATHS: usize = 4;

/// A frame between the leaves, by its number.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Sent {
    path: usize,
    epoch: u64,
    phase: u8,
    /// 0 data, 1 INIT, 2 TAIL.
    flag: u8,
    sent: u64,
    tail: u64,
}

/// Source of a flow.
#[derive(Default)]
struct Tx {
    epoch: u64,
    phase: u8,
    stable: bool,
    timer: u64,
    path: Option<usize>,
    active: u64,
    tail: u64,
}

/// Destination of a flow.
#[derive(Default)]
struct Rx {
    epoch: u64,
    phase: u8,
    phase0: Option<(u64, u64)>,
    tail: u64,
    flush: Option<u64>,
    of_epoch: u64,
    voq: Vec<u64>,
}

#[derive(Default)]
struct Model {
    epochs: u64,
    tx: BTreeMap<u32, Tx>,
    rx: BTreeMap<u32, Rx>,
    paused: [u64; PATHS],
}

impl Model {
    fn sends(&mut self, t: &Timers, now: u64, flow: u32, draws: [f64; 2]) -> Sent {
        let tx = self.tx.entry(flow).or_default();
        let new = tx.path.is_none();
        let expired = new || now - tx.active > t.inactive;
        let stable = !expired && std::mem::take(&mut tx.stable);
        tx.active = now;
        let [one, two] = draws.map(|d| (d * PATHS as f64) as usize);
        let good = [one, two].into_iter().find(|&p| self.paused[p] <= now);
        let mut s = Sent { path: 0, epoch: 0, phase: 0, flag: 0, sent: now, tail: 0 };
        if expired || stable {
            tx.stable = false;
            self.epochs += 1;
            (tx.epoch, tx.phase, tx.timer, tx.tail) = (self.epochs, 0, now + t.reply, 0);
            s.flag = 1;
            if expired {
                tx.path = good.or(tx.path).or(Some(one));
            }
            s.path = tx.path.unwrap();
        } else {
            s.path = tx.path.unwrap();
            s.phase = tx.phase;
            if tx.timer < now {
                (tx.timer, tx.phase, tx.tail) = (u64::MAX, 1, now);
                s.flag = 2;
                tx.path = good.or(tx.path);
            }
        }
        (s.epoch, s.tail) = (tx.epoch, tx.tail);
        s
    }

    /// Whether the frame is held.
    fn arrives(&mut self, t: &Timers, now: u64, flow: u32, n: u64, s: &Sent) -> bool {
        let rx = self.rx.entry(flow).or_default();
        if s.epoch < rx.epoch {
            return false;
        }
        if s.epoch > rx.epoch {
            (rx.epoch, rx.phase, rx.phase0) = (s.epoch, 0, None);
        }
        if s.phase == 0 {
            rx.phase0 = Some((s.sent, now));
        }
        if s.phase == 1 || s.flag == 2 {
            rx.tail = s.tail;
        }
        let gap = rx.phase0.map(|(sent, _)| rx.tail.saturating_sub(sent));
        let estimate = rx.phase0.map_or(now + t.wait, |(_, at)| at + gap.unwrap()) + t.extra;
        let reordering = rx.flush.is_some();
        if reordering && rx.of_epoch < rx.epoch {
            if s.flag == 2 {
                rx.phase = 1;
            }
            rx.flush = Some(now);
            rx.voq.push(n);
            return true;
        }
        match (s.phase, s.flag) {
            (0, 2) if reordering => rx.flush = Some(now),
            (0, 2) => rx.phase = 1,
            (0, _) if reordering && rx.flush != Some(now) => rx.flush = Some(estimate.max(now)),
            (1, _) if reordering || rx.phase == 0 => {
                if !reordering {
                    (rx.flush, rx.of_epoch) = (Some(estimate.max(now)), rx.epoch);
                }
                rx.voq.push(n);
                return true;
            }
            _ => {}
        }
        false
    }

    fn replied(&mut self, now: u64, flow: u32, s: &Sent) {
        let Some(tx) = self.tx.get_mut(&flow).filter(|tx| tx.epoch == s.epoch) else { return };
        if tx.phase == s.flag - 1 && (s.flag == 2 || now < tx.timer && tx.timer != u64::MAX) {
            (tx.stable, tx.timer) = (true, u64::MAX);
        }
    }

    /// Flows whose frames are released, with these frames.
    fn flushes(&mut self, now: u64) -> Vec<(u32, Vec<u64>)> {
        let due = self.rx.iter_mut().filter(|(_, rx)| rx.flush.is_some_and(|at| at <= now));
        due.map(|(&flow, rx)| {
            rx.flush = None;
            if rx.of_epoch == rx.epoch {
                rx.phase = 1;
            }
            (flow, std::mem::take(&mut rx.voq))
        })
        .collect()
    }
}

/// Uplinks with given draws.
struct Uplinks {
    draws: VecDeque<f64>,
    header: Header,
}

impl NextHops for Uplinks {
    fn count(&self) -> usize {
        PATHS
    }
    fn waiting(&self, _: usize) -> Bytes {
        Bytes::ZERO
    }
    fn is_held(&self, _: usize) -> bool {
        false
    }
    fn port(&self, hop: usize) -> u16 {
        10 + hop as u16
    }
    fn rate(&self, _: usize) -> Rate {
        Rate::from_gbps(8)
    }
    fn capacity(&mut self, _: usize) -> Rate {
        Rate::ZERO
    }
    fn hashed(&mut self, _: u64) -> u64 {
        0
    }
    fn draw(&mut self) -> f64 {
        self.draws.pop_front().expect("two draws a choice")
    }
    fn header(&mut self) -> &mut Header {
        &mut self.header
    }
}

struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % n
    }
}

#[derive(Default, Debug)]
struct Seen {
    rerouted: u64,
    held: u64,
    by_tail: u64,
    overdue: u64,
    marked: u64,
    disordered: u64,
    lost_tails: u64,
}

/// Both leaves for `ticks` microseconds. Losses: one frame in so many; 0: none.
fn compare(t: &Timers, loss: u64, ticks: u64, seed: u64) -> Seen {
    let law = || {
        let times = [
            ("reply", t.reply),
            ("inactive", t.inactive),
            ("busy", t.busy),
            ("extra", t.extra),
            ("wait", t.wait),
        ];
        let defaults = Defaults::of(PARAMS);
        let read = times.iter().fold(defaults, |v, (key, us)| v.with(key, &format!("{us}us")));
        ConWeave::read(&mut { read }).unwrap()
    };
    let (mut first, mut last, mut model) = (law(), law(), Model::default());
    let (mut dice, mut seen) = (Dice(seed), Seen::default());
    // Frames of each path, FIFO: arrival, flow, number, content, and mark.
    type Wire = VecDeque<(u64, u32, u64, Sent, Header, bool)>;
    let mut wires: Vec<Wire> = vec![Wire::new(); PATHS];
    let mut delays = [3u64; PATHS];
    let mut replies: VecDeque<(u64, u32, u64, Sent, bool)> = VecDeque::new();
    let mut held: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
    let mut out: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
    let (mut numbers, mut quiet) = (0, 0);
    let leaves = [NodeId(5), NodeId(6)];
    for now in 0..ticks {
        let time = Time(now * US);
        while let Some(&(_, flow, content, sent, notify)) = replies.front().filter(|r| r.0 <= now) {
            replies.pop_front();
            first.on_reply(time, FlowId(flow), leaves[1], content);
            match notify {
                true => model.paused[sent.path] = now + t.busy,
                false => model.replied(now, flow, &sent),
            }
        }
        for wire in &mut wires {
            while let Some((_, flow, n, sent, header, mark)) =
                wire.front().copied().filter(|f| f.0 <= now)
            {
                wire.pop_front();
                let (is_data, mark_is) = (true, if mark { Mark::Ce } else { Mark::None });
                let from_leaf = leaves[0];
                let landing =
                    Landing { now: time, flow: FlowId(flow), from_leaf, is_data, mark: mark_is };
                let before = model.rx.get(&flow).is_some_and(|rx| rx.flush.is_some());
                let old = model.rx.get(&flow).is_some_and(|rx| sent.epoch < rx.epoch);
                let verdict = last.on_header(&landing, &header);
                assert_eq!(verdict.hold, model.arrives(t, now, flow, n, &sent), "{n}: {sent:?}");
                seen.by_tail += u64::from(before && sent.flag == 2);
                seen.held += u64::from(verdict.hold);
                let [notify, reply] = verdict.replies;
                assert_eq!(
                    (notify.is_some(), reply.is_some()),
                    (mark && !old, sent.flag > 0 && !old)
                );
                seen.marked += u64::from(notify.is_some());
                let answers = [(notify, true), (reply, false)];
                answers.into_iter().for_each(|(content, is_notify)| {
                    replies.extend(content.map(|c| (now + 3, flow, c, sent, is_notify)));
                });
                match verdict.hold {
                    true => held.entry(flow).or_default().push(n),
                    false => out.entry(flow).or_default().push(n),
                }
            }
        }
        let mut released = Vec::new();
        while last.due() <= time {
            let flow = last.release(time).expect("due").0;
            released.push((flow, held.remove(&flow).unwrap_or_default()));
        }
        released.sort();
        assert_eq!(released, model.flushes(now), "at {now} us");
        let due = model.rx.values().filter_map(|rx| rx.flush).min();
        assert_eq!(last.due(), due.map_or(Time::NEVER, |us| Time(us * US)));
        seen.overdue += released.len() as u64;
        released.into_iter().for_each(|(flow, all)| out.entry(flow).or_default().extend(all));
        // Paths get slow and fast again.
        if dice.below(20) == 0 {
            delays[dice.below(PATHS as u64) as usize] = 3 + dice.below(30);
        }
        // Now and then all flows are idle.
        if dice.below(600) == 0 {
            quiet = now + 150;
        }
        for _ in 0..if now < quiet { 0 } else { dice.below(3) } {
            let flow = dice.below(6) as u32;
            let draws = [0, 0].map(|_| dice.below(1_000) as f64 / 1_000.0);
            let mut hops = Uplinks { draws: draws.into(), header: Header::default() };
            let (flow_id, set, to_leaf) = (FlowId(flow), 0, Some(leaves[1]));
            let frame = Arrival { now: time, flow: flow_id, len: Bytes(1000), set, to_leaf };
            let hop = first.pick(&frame, &mut hops);
            let sent = model.sends(t, now, flow, draws);
            let place = hops.header.place;
            let flag = match place.role {
                Role::Data => 0,
                Role::Init => 1,
                Role::Tail => 2,
            };
            assert!(hops.draws.len().is_multiple_of(2));
            let got = Sent {
                path: hop,
                epoch: place.epoch,
                phase: u8::from(place.rerouted),
                flag,
                sent: place.sent.0 / US,
                tail: place.tail.0 / US,
            };
            assert_eq!((got, hops.header.tag), (sent, 10 + hop as u16));
            seen.rerouted += u64::from(flag == 2);
            let mark = delays[hop] > 20;
            let wire = &mut wires[hop];
            let arrival = wire.back().map_or(0, |f| f.0).max(now + delays[hop]);
            if loss > 0 && dice.below(loss) == 0 {
                seen.lost_tails += u64::from(flag == 2);
            } else {
                wire.push_back((arrival, flow, numbers, sent, hops.header, mark));
            }
            numbers += 1;
        }
    }
    for all in out.values() {
        seen.disordered += all.windows(2).filter(|w| w[0] > w[1]).count() as u64;
    }
    seen
}

#[test]
fn paths_headers_replies_and_releases_are_those_of_an_independent_model() {
    // Short timers: everything happens, disorder too.
    let t = Timers { reply: 8, inactive: 12, busy: 16, extra: 4, wait: 10 };
    let seen = compare(&t, 50, 60_000, 88_172_645_463_325_252);
    let all = [seen.rerouted, seen.held, seen.by_tail, seen.marked, seen.lost_tails];
    assert!(all.iter().all(|&n| n > 100) && seen.overdue > seen.by_tail, "{seen:?}");
    assert!(seen.disordered > 0, "{seen:?}");
}

/// Timers longer than paths differ, and no idle flow takes another path: nothing is out of order.
#[test]
fn frames_leave_in_order_if_the_timers_suffice() {
    let t = Timers { reply: 8, inactive: 100, busy: 16, extra: 60, wait: 100 };
    let seen = compare(&t, 0, 60_000, 1);
    assert!(seen.rerouted > 1_000 && seen.held > 1_000, "{seen:?}");
    assert_eq!((seen.disordered, seen.overdue), (0, seen.by_tail), "{seen:?}");
}

/// Lost frames, TAIL among them: the frames that wait for it leave, and the rest stays in order.
#[test]
fn a_lost_tail_is_survived() {
    let t = Timers { reply: 8, inactive: 100, busy: 16, extra: 60, wait: 100 };
    let seen = compare(&t, 20, 60_000, 7);
    assert!(seen.lost_tails > 20 && seen.overdue > seen.by_tail, "{seen:?}");
    assert_eq!(seen.disordered, 0, "{seen:?}");
}
