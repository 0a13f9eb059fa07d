//! Receiver and sender of a flow control at the ends of a link that loses and doubles messages,
//! before a drain that is fast, slow or blocked.

use std::collections::VecDeque;

use xoff_mech::LinkFacts;
use xoff_mech::flow_control::bfc::FilterPart;
use xoff_mech::flow_control::cbfc::CreditLimit;
use xoff_mech::flow_control::gfc_buffer::Stage;
use xoff_mech::flow_control::gfc_conceptual::Level;
use xoff_mech::flow_control::pfc::Pause;
use xoff_mech::flow_control::pffc::Order;
use xoff_mech::flow_control::uec_cbfc::Update;
use xoff_mech::flow_control::{
    FlowControl, Gate, Message, Occupancy, QueueState, REGISTRY, Rx, Sender, Totals, Tx, Waiting,
    saved_tx,
};
use xoff_units::state::{Reader, State, Writer};
use xoff_units::{Bytes, FlowId, Rate, Span, Time};

use super::{Digest, LINK, Lcg, lines};

/// A link whose sending port is next to hosts, and a buffer that fills soon.
const ENTRY: LinkFacts =
    LinkFacts { peer_tier: std::cmp::Ordering::Less, buffer: Bytes(60_000), ..LINK };

pub fn all() -> String {
    let together: &[(&str, &[&str])] = &[
        (
            "pfc",
            &[
                "pause=sticky repeat=20us",
                "threshold=dynamic quanta=30",
                "threshold=profile quanta=30",
                "quanta=20 repeat=1us",
                "xoff=30KB xon=30KB quanta=10",
            ],
        ),
        ("cbfc", &["period=10us", "period=3us"]),
        (
            "gfc-buffer",
            &[
                "entry_ports=2 entry_b1=15KB b1=40KB",
                "entry_ports=3 entry_b1=10KB b1=30KB spacing=7us repeat=20us",
                "b1=20KB hysteresis=0B",
                "b1=30KB spacing=9us",
                "bm=30KB b1=5KB spacing=3us",
            ],
        ),
        ("gfc-conceptual", &["b0=20KB", "repeat=20us b0=30KB"]),
        ("gfc-time", &["period=5us b0=20KB", "period=5us remaining=occupancy"]),
        (
            "uec-cbfc",
            &[
                "sharing=static shared_limit=40",
                "sharing=static shared_limit=200 reserved=10",
                "sharing=dynamic shared_th=2",
                "sharing=dynamic shared_th=-2 reserved=30",
                "sharing=dynamic shared_th=0",
                "cc_period=9us cf_min_spacing=3KB cf_max_spacing=30KB",
            ],
        ),
        (
            "pffc",
            &[
                "xoff_s=12KB",
                "xoff_s=12KB xon_s=3KB queues=2 slots=7",
                "xoff_s=15KB quanta=30",
                "xoff_s=15KB pause=sticky repeat=9us queues=3",
                "xoff_s=9KB xon_s=9KB slots=3 queues=5 quanta=40",
            ],
        ),
        ("bfc", &["queues=3 vfids=50", "queues=2 period=3us resumes=1"]),
    ];
    let mut t = String::new();
    for e in REGISTRY {
        let extra =
            together.iter().find(|(name, _)| *name == e.name).map_or(&[][..], |(_, extra)| extra);
        t += &lines(
            e.name,
            e.params,
            extra,
            |v| (e.read)(v, &ENTRY).ok(),
            |f| Course::new(f, 11).run(2_500),
        );
    }
    t
}

#[derive(Clone, Copy)]
struct Frame {
    len: Bytes,
    flow: FlowId,
    port: u16,
}

/// Item on its way downstream.
enum Wire {
    Frame(Frame),
    /// Total of bytes sent.
    Total(u64),
}

#[derive(Default)]
struct Counts {
    sent: u64,
    messages: u64,
    stops: u64,
    blocked: u64,
    impossible: u64,
    lost: u64,
    slowest: Option<Rate>,
}

struct Course<'f> {
    f: &'f FlowControl,
    r: Lcg,
    d: Digest,
    now: Time,
    rx: Rx,
    tx: Tx,
    wire: VecDeque<(Time, Wire)>,
    back: VecDeque<(Time, Message)>,
    last: Option<Message>,
    buffer: VecDeque<Frame>,
    bytes: u64,
    /// The part of it that came when the limit was reached, and has not left.
    headroom: u64,
    /// Bytes from elsewhere that wait at each egress.
    others: [u64; 3],
    limit: u64,
    handles: Vec<Frame>,
    free_at: Time,
    released: bool,
    /// Probabilities, of four: that a frame leaves, and that one arrives.
    drain: u64,
    offer: u64,
    counts: Counts,
}

impl<'f> Course<'f> {
    fn new(f: &'f FlowControl, seed: u64) -> Self {
        let (rx, tx) = f.halves(&ENTRY);
        Course {
            f,
            r: Lcg(seed),
            d: Digest::default(),
            now: Time::ZERO,
            rx,
            tx,
            wire: VecDeque::new(),
            back: VecDeque::new(),
            last: None,
            buffer: VecDeque::new(),
            bytes: 0,
            headroom: 0,
            others: [0; 3],
            limit: 30_000,
            handles: Vec::new(),
            free_at: Time::ZERO,
            released: false,
            drain: 2,
            offer: 4,
            counts: Counts::default(),
        }
    }

    fn run(mut self, steps: u64) -> String {
        for step in 0..steps {
            if step % 120 == 0 {
                (self.drain, self.offer) =
                    (self.r.of(&[0, 1, 1, 1, 2, 3, 6]), self.r.of(&[4, 4, 3, 1]));
            }
            self.step();
        }
        let c = &self.counts;
        format!(
            "{:016x}, {} frames, {} lost, {} messages, {} stops, blocked {}, impossible {}, slowest {}",
            self.d.0,
            c.sent,
            c.lost,
            c.messages,
            c.stops,
            c.blocked,
            c.impossible,
            c.slowest.unwrap_or_default()
        )
    }

    fn step(&mut self) {
        let jump = if self.r.once_in(150) { 90_000_000 } else { 1_300_000 };
        self.now += Span(self.r.below(jump));
        let port = self.r.below(3) as usize;
        self.others[port] = (self.others[port] + self.r.below(9_000))
            .saturating_sub(self.r.below(9_100))
            .min(60_000);
        self.limit = (self.limit + self.r.below(4_000))
            .saturating_sub(self.r.below(4_000))
            .clamp(3_000, 50_000);
        self.deliver();
        self.obey();
        if self.rx.next_wake().is_some_and(|t| t <= self.now) || self.r.once_in(40) {
            let message = self.rx.on_wake(self.now, &self.occupancy());
            self.carry(message);
        }
        for _ in 0..2 {
            if self.r.below(8) < self.drain {
                self.leave();
            }
        }
        self.send();
        self.ask();
        match self.r.below(250) {
            0..20 => self.try_a_lie(),
            20..24 => self.save_and_restore(),
            36..38 => self.write(),
            24..30 => self.total(),
            30..33 => self.others_use(),
            33 => {
                self.released = !self.released;
                self.tx.release(self.now, LINK.rate, self.released);
            }
            34 => self.tx.release(self.now, LINK.rate, self.released),
            35 if self.r.once_in(3) => self.tx.restart(self.now),
            _ => {}
        }
    }

    fn occupancy(&self) -> Occupancy {
        let shared = Bytes(self.bytes - self.headroom);
        Occupancy {
            bytes: Bytes(self.bytes),
            shared,
            headroom: Bytes(self.headroom),
            limit: Bytes(self.limit),
        }
    }

    fn waiting(&self, port: u16) -> Waiting {
        let own: u64 = self.buffer.iter().filter(|f| f.port == port).map(|f| f.len.0).sum();
        Waiting { port, bytes: Bytes(own + self.others[port as usize]) }
    }

    /// The queue of a flow at the next egress, without its frame: two flows share one. The last
    /// flow goes to a host, which has none.
    fn queue(&mut self, flow: FlowId) -> Option<QueueState> {
        let own: u64 =
            self.buffer.iter().filter(|f| f.flow.0 / 2 == flow.0 / 2).map(|f| f.len.0).sum();
        let active = 1 + self.r.below(4) as u32;
        (flow != FlowId(8)).then_some(QueueState { bytes: Bytes(own), rate: LINK.rate, active })
    }

    fn carry(&mut self, message: Option<Message>) {
        let mut next = message;
        self.d.put(u64::from(next.is_some()));
        while let Some(m) = next {
            let (tag, a, b) = m.to_words();
            [u64::from(tag), a, b].into_iter().for_each(|w| self.d.put(w));
            assert_eq!(Message::from_words(tag, a, b), m);
            let (kind, value) = m.describe();
            self.d.text(kind);
            self.d.put(value);
            self.d.put(m.own_len().map_or(3, |l| l.0));
            self.d.put(
                u64::from(m.totals() == Totals::Always)
                    + u64::from(m.totals() == Totals::Never) * 2,
            );
            self.d.put(
                u64::from(m.is_part())
                    + u64::from(m.is_per_flow()) * 2
                    + u64::from(self.f.accepts(&m)) * 4,
            );
            self.counts.messages += 1;
            self.counts.stops += u64::from(m.stops() == Some(true));
            for _ in 0..self.r.of(&[0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2]) {
                self.back.push_back((self.now + Span(1_100_000), m));
            }
            self.last = Some(m);
            next = self.rx.more();
        }
        self.d.time(self.rx.next_wake());
    }

    fn deliver(&mut self) {
        while self.wire.front().is_some_and(|(at, _)| *at <= self.now) {
            let frame = match self.wire.pop_front() {
                Some((_, Wire::Frame(frame))) => frame,
                Some((_, Wire::Total(total))) => {
                    self.rx.on_peer_total(total);
                    continue;
                }
                None => return,
            };
            if self.bytes + frame.len.0 > ENTRY.buffer.0 || self.r.once_in(200) {
                self.counts.lost += 1;
                continue;
            }
            let queue = self.queue(frame.flow);
            self.buffer.push_back(frame);
            if self.bytes - self.headroom + frame.len.0 > self.limit {
                self.headroom += frame.len.0;
            }
            self.bytes += frame.len.0;
            let (now, occupancy) = (self.now, self.occupancy());
            let message = if self.rx.per_flow() {
                self.rx.on_flow_arrival(now, frame.flow, queue, frame.len)
            } else if self.rx.wants_egress() {
                let egress = self.waiting(frame.port);
                self.rx.on_arrival_to(now, &occupancy, egress, frame.len)
            } else {
                self.rx.on_arrival(now, &occupancy, frame.len)
            };
            self.carry(message);
        }
    }

    fn leave(&mut self) {
        let Some(frame) = self.buffer.pop_front() else { return };
        self.bytes -= frame.len.0;
        self.headroom = self.headroom.saturating_sub(frame.len.0);
        let queue = self.queue(frame.flow);
        let (now, occupancy) = (self.now, self.occupancy());
        let message = if self.rx.per_flow() {
            self.rx.on_flow_departure(now, frame.flow, queue, frame.len)
        } else if self.rx.wants_egress() {
            let egress = self.waiting(frame.port);
            self.rx.on_departure_from(now, &occupancy, egress, frame.len)
        } else {
            self.rx.on_departure(now, &occupancy, frame.len)
        };
        self.carry(message);
    }

    fn obey(&mut self) {
        while self.back.front().is_some_and(|(at, _)| *at <= self.now) {
            let Some((_, message)) = self.back.pop_front() else { return };
            self.counts.impossible += u64::from(!self.tx.is_possible(message));
            self.tx.on_message(self.now, message);
        }
    }

    fn send(&mut self) {
        let flow = self.r.of(&[0, 0, 0, 0, 1, 1, 2, 3, 4, 5, 6, 7, 8]);
        let len = Bytes(self.r.of(&[64, 700, 1_500, 1_500, 1_500]));
        let frame = Frame { len, flow: FlowId(flow), port: (flow % 3) as u16 };
        let offered = self.r.below(4) < self.offer;
        let free = self.free_at <= self.now;
        let now = self.now;
        let mut goes = None;
        if let Some(flows) = self.tx.flows_mut() {
            if offered {
                self.d.put(
                    flows.queue(now, FlowId(flow)).map_or(5, |q| q.bytes.0 + u64::from(q.active)),
                );
                flows.push(now, self.handles.len() as u32, FlowId(flow), len);
                self.handles.push(frame);
            }
            let head = flows.head(now);
            self.d.put(head.map_or(9, |(handle, may)| u64::from(handle) * 2 + u64::from(may)));
            if free {
                goes = flows.pop(now).map(|handle| self.handles[handle as usize]);
            }
            if self.r.once_in(300) {
                self.d.put(flows.discard().map_or(9, u64::from));
            }
        } else if offered && free && self.tx.gate(now, len) == Gate::Open {
            goes = Some(frame);
        }
        let Some(frame) = goes else { return };
        let tx = LINK.rate.time_for(frame.len);
        self.tx.on_sent(now, frame.len, tx);
        self.free_at = now + tx;
        self.counts.sent += 1;
        self.wire.push_back((now + tx + LINK.delay, Wire::Frame(frame)));
    }

    /// Everything that a port, a watchdog or a look for deadlocks asks.
    fn ask(&mut self) {
        let occupancy = self.occupancy();
        for stuck in [Bytes::ZERO, Bytes(self.bytes / 2), Bytes(self.bytes)] {
            self.d.put(u64::from(self.rx.holds(&occupancy, stuck, LINK.mtu)));
        }
        if let Some(m) = self.rx.hold() {
            self.d.put(m.to_words().1);
        }
        self.d.put(self.rx.collisions());
        let (rate, open) = (self.tx.rate(self.now), self.tx.gate(self.now, LINK.mtu));
        self.counts.slowest = Some(self.counts.slowest.map_or(rate, |slowest| slowest.min(rate)));
        self.counts.blocked += u64::from(open == Gate::Blocked);
        ask(&self.tx, self.now, &mut self.d);
    }

    /// A message that another one sent, or an old one, obeyed by a copy.
    fn try_a_lie(&mut self) {
        let Some(mut copy) = self.tx.copy() else { return };
        let near =
            copy.sent_total().unwrap_or(0).wrapping_add(self.r.below(5_200)).wrapping_sub(2_600);
        let (small, large) = (self.r.below(9) as u16, self.r.below(70_000));
        let message = match self.r.below(13) {
            0 => Message::Pfc(Pause(large as u32)),
            1 => Message::Pfc(self.r.of(&[Pause::STICKY, Pause::RESUME])),
            2 | 3 => Message::Credit(CreditLimit { fccl: near, occupied: Bytes(large * 2) }),
            4 => Message::Level(Level(Bytes(large * 3))),
            5 => Message::Stage(Stage(small * 3)),
            6 => Message::Flow(Order::Pause(small, Pause(large as u32 / 500))),
            7 => Message::Flow(self.r.of(&[
                Order::Migrate(small),
                Order::Resume(small),
                Order::MigrateBack(small),
            ])),
            8 => Message::Flow(self.r.of(&[
                Order::Migrate(large as u16),
                Order::Migrate(6),
                Order::Migrate(7),
                Order::Resume(6),
                Order::Resume(7),
            ])),
            9 | 10 => Message::Cells(self.r.of(&[
                Update::Freed(near),
                Update::Freed(near & 0xf_ffff),
                Update::Consumed,
            ])),
            11 => Message::Filter(self.r.of(&[
                FilterPart::Word(small.into(), 3, large << 20),
                FilterPart::End(small.into(), 3),
            ])),
            _ => self.last.unwrap_or(Message::Custom(large)),
        };
        self.d.put(u64::from(copy.is_possible(message)));
        copy.on_message(self.now, message);
        for n in 0..4 {
            let now = self.now + Span(n * n * 1_900_000);
            ask(&copy, now, &mut self.d);
            match copy.flows_mut() {
                Some(flows) => self.d.put(flows.pop(now).map_or(9, u64::from)),
                None => copy.on_sent(now, LINK.mtu, LINK.rate.time_for(LINK.mtu)),
            }
        }
        copy.restart(self.now + Span(20_000_000));
        ask(&copy, self.now + Span(20_000_000), &mut self.d);
    }

    /// The restored state continues as if nothing had happened.
    fn save_and_restore(&mut self) {
        let mut to = Writer::default();
        to.put(&self.rx);
        let Ok(()) = saved_tx::walk(&self.tx, &mut to);
        let bytes = to.end().unwrap();
        (self.rx, self.tx) = self.f.halves(&ENTRY);
        let mut from = Reader::new(&bytes);
        self.rx.restore(&mut from).unwrap();
        saved_tx::restore(&mut self.tx, &mut from).unwrap();
        assert!(from.is_over());
    }

    /// Values that are compared to find out whether a state recurs.
    fn write(&mut self) {
        self.rx.walk(&mut self.d).unwrap();
        self.tx.walk(&mut self.d).unwrap();
    }

    fn total(&mut self) {
        if let Some(total) = self.tx.sent_total() {
            let at = self.wire.back().map_or(self.now, |(at, _)| *at);
            self.wire.push_back((at, Wire::Total(total)));
        }
    }

    fn others_use(&mut self) {
        if let Some(own) = self.tx.shared_use() {
            self.d.put(own);
            let (others, classes) = (self.r.below(60), 1 + self.r.below(3));
            self.tx.on_shared_use(others, classes);
        }
    }
}

fn ask(tx: &Tx, now: Time, d: &mut Digest) {
    for len in [64, 1_500] {
        let len = Bytes(len);
        d.put(match tx.gate(now, len) {
            Gate::Open => 1,
            Gate::Blocked => 2,
            Gate::Until(t) => t.0,
        });
        d.put(u64::from(tx.held(now, len)) + 2 * u64::from(tx.lets_go(now, len, Span::from_us(9))));
        d.time(tx.stopped_until(now, len, Span::from_us(4)));
    }
    d.put(tx.rate(now).0);
    d.put(u64::from(tx.overdrawn()));
    d.put(tx.sent_total().unwrap_or(1));
    d.put(tx.shared_use().unwrap_or(1));
    d.put(tx.stopped_by() as u64);
    if let Some(flows) = tx.flows() {
        for flow in 0..9 {
            d.put((flows.flow_gate(now, FlowId(flow)) == Gate::Open).into());
            d.put(flows.queue(now, FlowId(flow)).map_or(5, |q| q.bytes.0 + u64::from(q.active)));
        }
        d.put((flows.whole_gate(now) == Gate::Open).into());
        flows.for_each(&mut |handle| d.put(handle.into()));
    }
}
