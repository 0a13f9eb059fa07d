//! CONGA against an independent model of two leaves: registers that decay at every interval, and
//! tables that age as time passes. Every choice and every header is the same.

use std::collections::BTreeMap;

use xoff_mech::balancing::conga::{Conga, PARAMS};
use xoff_mech::balancing::{Arrival, Balancer, Departure, Feedback, Header, Landing, NextHops};
use xoff_mech::detection::Mark;
use xoff_units::params::Defaults;
use xoff_units::{Bytes, FlowId, NodeId, Rate, Time};

const GAP: u64 = 7;
const TAU: u64 = 40;
const INTERVAL: u64 = 8;
const AGING: u64 = 30;
/// Bytes of a full register: 8 Gb/s for 40 us.
const FULL: u64 = 40_000;

/// A leaf, written from the paper: everything happens at whole microseconds.
#[derive(Default)]
struct Model {
    now: u64,
    registers: BTreeMap<u16, u64>,
    /// By uplink: level, and the time since the latest news.
    to: BTreeMap<u16, (u64, u64)>,
    /// The same, and the level that the other leaf knows.
    from: BTreeMap<u16, (u64, u64, Option<u64>)>,
    fed_back: u16,
    /// By flow: uplink and time.
    flowlets: BTreeMap<u32, (usize, u64)>,
}

impl Model {
    fn reach(&mut self, now: u64) {
        while self.now < now {
            self.now += 1;
            if self.now.is_multiple_of(INTERVAL) {
                self.registers.values_mut().for_each(|x| *x = *x * (TAU - INTERVAL) / TAU);
            }
            let age = |level: &mut u64, idle: &mut u64| {
                *idle += 1;
                if idle.is_multiple_of(AGING) {
                    *level = level.saturating_sub(1);
                }
            };
            self.to.values_mut().for_each(|(level, idle)| age(level, idle));
            self.from.values_mut().for_each(|(level, idle, _)| age(level, idle));
        }
    }
    fn register(&self, port: u16) -> u64 {
        (self.registers.get(&port).unwrap_or(&0) * 8 / FULL).min(7)
    }
    fn choose(&mut self, flow: u32, uplinks: usize, draw: f64) -> usize {
        let known = self.flowlets.get(&flow).copied();
        let hop = match known {
            Some((hop, last)) if self.now - last < GAP => hop,
            _ => {
                let far = |hop: usize| self.to.get(&(hop as u16)).map_or(0, |to| to.0);
                let all: Vec<u64> =
                    (0..uplinks).map(|hop| self.register(hop as u16).max(far(hop))).collect();
                let least = *all.iter().min().unwrap();
                let equal: Vec<usize> = (0..uplinks).filter(|&hop| all[hop] == least).collect();
                match known {
                    Some((hop, _)) if all[hop] == least => hop,
                    _ => equal[(draw * equal.len() as f64) as usize],
                }
            }
        };
        self.flowlets.insert(flow, (hop, self.now));
        hop
    }
    fn departs(&mut self, port: u16, len: u64) -> (u64, Option<(u16, u64)>) {
        *self.registers.entry(port).or_default() += len;
        let n = self.from.len();
        let mut tags: Vec<u16> = self.from.keys().copied().collect();
        let first = tags.iter().position(|&tag| tag > self.fed_back).unwrap_or(0);
        tags.rotate_left(first.min(n));
        let changed = tags.iter().find(|tag| self.from[tag].2 != Some(self.from[tag].0));
        let feedback = changed.or(tags.first()).map(|tag| (*tag, self.from[tag].0));
        if let Some((tag, level)) = feedback {
            self.fed_back = tag;
            self.from.get_mut(&tag).unwrap().2 = Some(level);
        }
        (self.register(port), feedback)
    }
    fn arrives(&mut self, tag: u16, congestion: u64, feedback: Option<(u16, u64)>) {
        let fed = self.from.get(&tag).and_then(|from| from.2);
        self.from.insert(tag, (congestion, 0, fed));
        if let Some((tag, level)) = feedback {
            self.to.insert(tag, (level, 0));
        }
    }
}

/// Uplinks of 8 Gb/s; the only draw is given.
struct Uplinks(usize, f64);

impl NextHops for Uplinks {
    fn count(&self) -> usize {
        self.0
    }
    fn waiting(&self, _: usize) -> Bytes {
        Bytes::ZERO
    }
    fn is_held(&self, _: usize) -> bool {
        false
    }
    fn port(&self, hop: usize) -> u16 {
        hop as u16
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
        self.1
    }
    fn header(&mut self) -> &mut Header {
        unreachable!("CONGA writes headers at the departure")
    }
}

#[test]
fn every_choice_and_every_header_is_that_of_an_independent_model() {
    let uplinks = 5;
    let values = [("gap", "7us"), ("tau", "40us"), ("interval", "8us"), ("aging", "30us")];
    let law = || {
        let mut v = values.iter().fold(Defaults::of(PARAMS), |v, (key, x)| v.with(key, x));
        Conga::read(&mut v).unwrap()
    };
    let mut leaves = [(law(), Model::default()), (law(), Model::default())];
    let mut seed = 88_172_645_463_325_252_u64;
    let mut dice = |below: u64| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed >> 11) % below
    };
    // Frames under way, by arrival.
    let mut wire: BTreeMap<(u64, u64), (usize, Header)> = BTreeMap::new();
    let (mut now, mut levels, mut moves) = (0, [0u64; 8], 0);
    for n in 0..100_000 {
        now += dice(4);
        if dice(2_000) == 0 {
            now += dice(300);
        }
        while let Some(first) = wire.first_entry().filter(|e| e.key().0 <= now) {
            let ((at, _), (to, header)) = first.remove_entry();
            let (law, model) = &mut leaves[to];
            model.reach(at);
            let feedback = header.feedback.map(|f| (f.tag, u64::from(f.congestion)));
            model.arrives(header.tag, header.congestion.into(), feedback);
            let (now, from_leaf) = (Time(at * 1_000_000), NodeId(1 - to as u32));
            let landing =
                Landing { now, flow: FlowId(0), from_leaf, is_data: true, mark: Mark::None };
            law.on_header(&landing, &header);
        }
        let (side, flow, len) = (dice(2) as usize, dice(20) as u32, 64 + dice(8_000));
        let (law, model) = &mut leaves[side];
        model.reach(now);
        let (time, to_leaf) = (Time(now * 1_000_000), Some(NodeId(1 - side as u32)));
        let mut hops = Uplinks(uplinks, dice(1_000) as f64 / 1_000.0);
        let frame = Arrival { now: time, flow: FlowId(flow), len: Bytes(len), set: 0, to_leaf };
        let before = model.flowlets.get(&flow).map(|f| f.0);
        let port = law.pick(&frame, &mut hops);
        assert_eq!(port, model.choose(flow, uplinks, hops.1), "frame {n}, time {now}");
        moves += u64::from(before.is_some_and(|before| before != port));
        let (port, rate) = (port as u16, Rate::from_gbps(8));
        let mut header = Header::default();
        law.on_departure(
            &Departure { now: time, port, rate, len: Bytes(len), to_leaf },
            &mut header,
        );
        let (congestion, feedback) = model.departs(port, len);
        let feedback = feedback.map(|(tag, level)| Feedback { tag, congestion: level as u8 });
        let congestion = congestion as u8;
        assert_eq!(header, Header { tag: port, congestion, feedback, ..Header::default() }, "{n}");
        // The rest of the path is sometimes more congested.
        header.congestion = header.congestion.max(dice(24).saturating_sub(16) as u8);
        levels[usize::from(header.congestion)] += 1;
        wire.insert((now + 1 + dice(5), n), (1 - side, header));
    }
    assert!(moves > 10_000 && levels.iter().all(|&n| n > 500), "{moves} moves, {levels:?}");
}
