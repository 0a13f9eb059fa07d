//! Sharing of memory, watchdogs, connections, and the arbiter of a scheduled fabric.

use std::collections::{BTreeSet, VecDeque};

use xoff_mech::detection::Mark;
use xoff_mech::rate_control::NotificationPoint;
use xoff_mech::scheduled::request_grant::{
    Admission, Decision, Granter, GranterParams, MaySend, Requester, Service,
};
use xoff_mech::sharing::{self, Sharing, Supply};
use xoff_mech::transport::tcp::{Connection, Params};
use xoff_mech::transport::{self, Acked, Answer, Sink, Source as _};
use xoff_mech::watchdog::{self, Change, Meter, Queue};
use xoff_units::state::State;
use xoff_units::{Bytes, Span, Time};

use super::{Digest, LINK, Lcg, lines};

pub fn all() -> String {
    let mut t = String::new();
    for e in sharing::REGISTRY {
        let params: &'static [_] = e.params.concat().leak();
        t += &lines(
            &format!("sharing {}", e.name),
            params,
            &["gain=0.9 alpha=2", "alpha=0.25"],
            |v| (e.read)(v).ok(),
            shares,
        );
    }
    for e in watchdog::REGISTRY {
        let params: &'static [_] = e.params.concat().leak();
        let together = [
            "detect=20us poll=20us",
            "detect=60us poll=20us restore=30us action=forward",
            "detect=60us poll=20us action=alert",
            "detect=90us poll=20us restore=70us empty_queues=true",
        ];
        t += &lines(
            &format!("watchdog {}", e.name),
            params,
            &together,
            |v| (e.read)(v).ok().flatten(),
            watchdogs,
        );
    }
    for e in transport::REGISTRY {
        let params: &'static [_] = e.params.concat().leak();
        let together = [
            "congestion_control=reno rto_min=1ms rto_initial=3ms",
            "rto_min=1ms rto_initial=3ms",
            "congestion_control=reno rto_min=1ms delayed_ack=40us initial_window=4",
            "rto_min=2ms delayed_ack=900us initial_window=40",
        ];
        t += &lines(
            &format!("transport {}", e.name),
            params,
            &together,
            |v| (e.read)(v).ok().flatten(),
            |c| [1, 1_000].map(|scale| Path::new(*c, scale).run(4_000)).join("; "),
        );
    }
    t + &grants() + &cnps()
}

fn shares(law: &sharing::AnySharing) -> String {
    let mut s = law.at(LINK.rate);
    let (mut r, mut d) = (Lcg(3), Digest::default());
    let (mut now, mut free, mut crowd, mut held, mut up) = (Time::ZERO, 900_000u64, 0u64, 0u64, 3);
    let (mut least, mut most) = (u64::MAX, 0);
    for step in 0..3_000 {
        if step % 150 == 0 {
            up = r.of(&[1, 3, 4, 5]);
        }
        now += Span(r.below(3_000_000));
        free = (free + r.below(40_000)).saturating_sub(r.below(40_000)).min(1_000_000);
        crowd = (crowd + r.below(5_000)).saturating_sub(r.below(5_000)).min(200_000);
        if r.below(6) < up {
            held += 1_500;
        } else if held > 0 {
            held -= 1_500;
            s.on_departure(now, Bytes(held), Bytes(1_500));
        }
        let limit = s.limit(&Supply { free: Bytes(free), crowd: Bytes(crowd) }).0;
        (least, most) = (least.min(limit), most.max(limit));
        d.words([limit, s.measured(Bytes(held)).0, s.crowding(Bytes(held)).0]);
    }
    format!("{:016x}, limits {least} to {most}", d.0)
}

fn watchdogs(c: &watchdog::Config) -> String {
    let (mut r, mut d) = (Lcg(4), Digest::default());
    let (mut now, mut meter, mut queue, mut look_at) =
        (Time::ZERO, Meter::default(), Queue::default(), Time::ZERO);
    let (mut stopped, mut waits, mut bad) = (None, 0u64, false);
    let (mut began, mut ended) = (0, 0);
    for step in 0..6_000 {
        if step % 150 == 0 {
            bad = r.below(5) < 2;
        }
        now += Span(r.below(c.poll.0 / 5));
        match r.below(10) {
            0..3 => {
                stopped = if bad {
                    r.of(&[Some(Time::NEVER), Some(now + c.poll * 2)])
                } else {
                    r.of(&[
                        None,
                        None,
                        None,
                        None,
                        None,
                        None,
                        None,
                        None,
                        None,
                        None,
                        None,
                        Some(now + c.poll / 3),
                    ])
                };
                meter.note_message(now, stopped);
            }
            3..6 if stopped.is_none_or(|t| t <= now) => {
                stopped = None;
                waits = waits.saturating_sub(1_500);
                meter.note_sent(now, stopped);
            }
            6..8 => waits = (waits + 1_500).min(30_000),
            _ => {
                stopped = stopped.filter(|t| *t > now);
                meter.note(now, stopped);
            }
        }
        if now >= look_at {
            look_at = now + c.poll;
            stopped = stopped.filter(|t| *t > now);
            meter.note(now, stopped);
            let seen = meter.look(now, Bytes(if r.once_in(4) { 0 } else { waits }));
            d.words([seen.sent, seen.stopped_for.0, seen.began, seen.stops, seen.waiting.0]);
            d.time(seen.stopped);
            match queue.look(seen, c) {
                Some(Change::Began(t)) => (began, _) = (began + 1, d.put(t.0)),
                Some(Change::Ended(t)) => (ended, _) = (ended + 1, d.put(t.0)),
                None => d.put(0),
            }
        }
        d.put(u64::from(queue.is_stormed()) + u64::from(queue.was_stormed()) * 2);
    }
    format!("{:016x}, {began} storms, {ended} ended", d.0)
}

/// Payload of a segment [bytes].
const MSS: u64 = 1_000;

/// A connection over a queue that drops what it has no room for, and other frames now and then.
struct Path {
    p: Params,
    /// Scale of all times: 1 us for a segment, 20 us one way.
    scale: u64,
    r: Lcg,
    d: Digest,
    now: Time,
    source: Connection,
    sink: Sink,
    acked: u64,
    next: u64,
    expected: u64,
    there: BTreeSet<u64>,
    /// Arrivals of segments, and of acknowledgements: time, segment or cumulative number, time of
    /// sending.
    forth: VecDeque<(Time, u64, Time)>,
    back: VecDeque<(Time, u64, Time)>,
    call: Option<Time>,
    free_at: Time,
    counts: [u64; 5],
    most: u64,
}

impl Path {
    fn new(p: Params, scale: u64) -> Path {
        Path {
            p,
            scale,
            r: Lcg(3),
            d: Digest::default(),
            now: Time::ZERO,
            source: Connection::new(p, MSS as u32),
            sink: Sink::default(),
            acked: 0,
            next: 0,
            expected: 0,
            there: BTreeSet::new(),
            forth: VecDeque::new(),
            back: VecDeque::new(),
            call: None,
            free_at: Time::ZERO,
            counts: [0; 5],
            most: 0,
        }
    }

    fn transmit(&mut self, seq: u64) {
        self.source.on_sent(self.now, seq + MSS);
        self.counts[0] += 1;
        self.free_at = self.free_at.max(self.now) + Span::from_us(self.scale);
        if self.free_at.since(self.now) > Span::from_us(60 * self.scale) && seq + MSS == self.next
            || self.r.once_in(400)
        {
            self.counts[1] += 1;
            return;
        }
        self.forth.push_back((self.free_at + Span::from_us(20 * self.scale), seq, self.now));
    }

    fn run(mut self, steps: u64) -> String {
        for step in 0..steps {
            // Now and then it has nothing to send, or the window of the receiver is small.
            let idle = step % 900 > 850;
            let window = if step % 1_300 > 1_200 { 9_000 } else { u64::MAX };
            if let Some(seq) = self.source.again(self.acked) {
                self.transmit(seq);
                self.counts[2] += 1;
            }
            while !idle && self.next + MSS <= self.limit(window) {
                self.next += MSS;
                self.transmit(self.next - MSS);
            }
            self.event();
            self.most = self.most.max(self.source.cwnd());
            self.d.put(
                self.source.cwnd() * 4
                    + u64::from(self.source.recovers()) * 2
                    + u64::from(self.source.again(self.acked).is_some()),
            );
            self.d.put(self.limit(window));
            self.d.time(self.source.due(self.next - self.acked));
            self.d.put(self.sink.rests().into());
        }
        let [sent, lost, again, timeouts, acks] = self.counts;
        format!(
            "{:016x}, {sent} segments, {lost} lost, {again} again, {timeouts} timeouts, {acks} acknowledgements, largest window {}",
            self.d.0, self.most
        )
    }

    fn limit(&self, window: u64) -> u64 {
        self.source.limit(self.acked, window).unwrap()
    }

    /// Next event.
    fn event(&mut self) {
        let at = |t: Option<Time>| t.unwrap_or(Time::NEVER);
        let times = [
            at(self.forth.front().map(|f| f.0)),
            at(self.back.front().map(|b| b.0)),
            at(self.call),
            at(self.source.due(self.next - self.acked)),
        ];
        let first = times.into_iter().min().unwrap_or(Time::NEVER);
        if first == Time::NEVER {
            self.now += Span::from_us(50 * self.scale);
            return;
        }
        self.now = self.now.max(first);
        let kind = times.iter().position(|t| *t == first);
        match kind {
            Some(0) => {
                let Some((_, seq, sent)) = self.forth.pop_front() else { return };
                let plain =
                    seq == self.expected && self.there.is_empty() && self.p.delayed_ack.0 > 0;
                self.there.insert(seq);
                while self.there.remove(&self.expected) {
                    self.expected += MSS;
                }
                let answer = self.sink.on_segment(self.p.delayed_ack, self.now, sent, plain);
                self.answer(answer);
            }
            Some(1) => {
                let Some((_, until, sent)) = self.back.pop_front() else { return };
                let ack = Acked {
                    before: self.acked,
                    until: until.max(self.acked),
                    next: self.next,
                    rtt: self.now.since(sent),
                    ahead: None,
                };
                self.acked = ack.until;
                self.source.on_ack(self.now, &ack);
                self.next = self.next.max(self.acked);
                self.counts[4] += 1;
            }
            Some(2) => {
                self.call = None;
                let answer = self.sink.on_call(self.now);
                self.answer(answer);
            }
            _ => {
                self.next = self.source.on_timer(self.now, self.acked, self.next);
                self.counts[3] += 1;
            }
        }
    }

    fn answer(&mut self, answer: Answer) {
        match answer {
            Answer::Now(sent) => {
                self.d.put(sent.0);
                if !self.r.once_in(300) {
                    self.back.push_back((
                        self.now + Span::from_us(20 * self.scale),
                        self.expected,
                        sent,
                    ));
                }
            }
            Answer::Later(call) => {
                self.d.time(call);
                self.call = call.or(self.call);
            }
        }
    }
}

/// Inputs that ask an output, whose grants they use, in each form of the arbiter.
fn grants() -> String {
    let mut t = String::from("\n## request-grant\n");
    let plain = GranterParams {
        inputs: 70,
        admission: Admission::ImplicitRate,
        segment_time: Span::from_ns(70),
        output_slots: 24,
        requests_max: 8,
        fair: true,
        whole_requests: false,
        service: Service::BySegments,
        grant_max: 4,
    };
    let reserved = Admission::ReserveFabricBuffers { slots: 10 };
    let all = [
        ("implicit rate", plain),
        ("reserved", GranterParams { admission: reserved, ..plain }),
        ("round robin", GranterParams { service: Service::RoundRobin, ..plain }),
        ("not fair", GranterParams { fair: false, admission: reserved, ..plain }),
        (
            "whole requests",
            GranterParams {
                fair: false,
                whole_requests: true,
                grant_max: 8,
                output_slots: 9,
                ..plain
            },
        ),
        (
            "whole requests in a circle",
            GranterParams {
                fair: false,
                whole_requests: true,
                grant_max: 8,
                output_slots: 9,
                service: Service::RoundRobin,
                ..plain
            },
        ),
    ];
    for (name, p) in all {
        let (mut g, mut r, mut d) = (Granter::new(p), Lcg(2), Digest::default());
        let mut inputs = vec![Requester::default(); p.inputs as usize];
        let (mut now, mut fabric, mut output) = (Time::ZERO, 0u32, 0u32);
        let (mut grants, mut unasked, mut waits) = (0, 0, 0);
        for _ in 0..3_000 {
            now += Span(r.below(400_000));
            let input = r.of(&[0, 1, 1, 1, 2, 63, 64, 65, 69]) as usize;
            let asks = (1 + r.below(8) as u32).min(inputs[input].room(p.requests_max));
            if asks > 0 && r.once_in(3) {
                inputs[input].on_requested(asks);
                g.on_request(input as u32, asks);
            }
            match g.decide(now) {
                Decision::Grant { input, segments } => {
                    grants += 1;
                    inputs[input as usize].on_grant(segments);
                    fabric += segments;
                    d.put(u64::from(input) << 8 | u64::from(segments));
                }
                Decision::Wait(t) => (waits, _) = (waits + 1, d.put(t.0)),
                Decision::Nothing => d.put(1),
            }
            if fabric > 0 && r.below(4) > 0 {
                fabric -= 1;
                output += 1;
                g.on_arrived();
            }
            if output > 0 && r.once_in(2) {
                let n = 1 + r.below(u64::from(output.min(3))) as u32;
                output -= n.min(output);
                g.on_departed(n);
            }
            let may = inputs[input].may_send(r.once_in(2), r.once_in(2));
            d.put(may as u64);
            unasked += u64::from(may == MaySend::Unsolicited);
            if may != MaySend::No {
                inputs[input].on_sent(may);
            }
            if inputs[input].unacknowledged() > 0 && r.once_in(2) {
                inputs[input].on_ack(1);
            }
            let i = inputs[input];
            let all = [
                i.granted(),
                i.pending(),
                i.unacknowledged(),
                g.requested_by(input as u32),
                g.output_free(),
                g.fabric_free().unwrap_or(1),
            ];
            d.words(all.map(u64::from));
        }
        t += &format!(
            "{name}: {:016x}, {grants} grants, {waits} times idle, {unasked} unasked\n",
            d.0
        );
    }
    t
}

/// A notification point that frames of all marks pass.
fn cnps() -> String {
    let (mut point, mut r, mut d, mut now) =
        (NotificationPoint::default(), Lcg(1), Digest::default(), Time::ZERO);
    let mut reports = [0u64; 2];
    for _ in 0..3_000 {
        now += Span(r.below(20_000_000));
        let mark = r.of(&[Mark::None, Mark::None, Mark::Ue, Mark::Ce, Mark::Ue]);
        let sent = point.on_frame(now, mark, Span::from_us(50), !r.once_in(10));
        d.put(sent.map_or(0, |m| m as u64));
        reports[0] += u64::from(sent == Some(Mark::Ce));
        reports[1] += u64::from(sent == Some(Mark::Ue));
        point.walk(&mut d).unwrap();
    }
    format!(
        "\n## notification point\n{:016x}, {} times CE, {} times UE\n",
        d.0, reports[0], reports[1]
    )
}
