//! The occupancy of a two-node link by direct reasoning, without events: equal to the simulation's
//! to the byte, in every phase.
//!
//! H1 sends frames of one size to H2 behind a slow link; H3 sends frames to H1, which messages of
//! the switch may have to wait for.

use std::fmt::Write;

use xoff_units::{Bytes, Rate};

use crate::harness::{Dice, load};
use xoff_record::Sink;

/// The link. Times in ps.
struct Link {
    rate: Rate,
    drain: Rate,
    mtu: u64,
    delay: u64,
    processing: u64,
    /// Times at which frames of `reverse` bytes reach the switch on their way to H1.
    crossing: Vec<u64>,
    reverse: u64,
    /// Start of H1.
    start: u64,
    until: u64,
}

/// Times at which frames begin on a wire that are ready at these instants and take `each`, with
/// control frames before them that are due at `own`.
fn in_turn(ready: &[u64], each: u64, own: &[u64], own_each: u64) -> Vec<u64> {
    let (mut own, mut free) = (own.iter().peekable(), 0u64);
    let mut begin = |&ready: &u64| {
        while let Some(due) = own.next_if(|due| **due <= ready.max(free)) {
            free = free.max(*due) + own_each;
        }
        let begin = ready.max(free);
        free = begin + each;
        begin
    };
    ready.iter().map(&mut begin).collect()
}

impl Link {
    fn time(&self, len: u64) -> u64 {
        self.rate.time_for(Bytes(len)).0
    }

    /// Arrival of a frame that H1 begins to send at `sent`.
    fn arrival(&self, sent: u64) -> u64 {
        sent + self.time(self.mtu) + self.delay
    }

    /// Departures of frames from the buffer: at once if the slow wire is free, else when it is;
    /// credits for the switch's other buffers, made at `due`, go before them.
    fn departures(&self, arrivals: &[u64], due: &[u64]) -> Vec<u64> {
        in_turn(
            arrivals,
            self.drain.time_for(Bytes(self.mtu)).0,
            due,
            self.drain.time_for(Bytes(64)).0,
        )
    }

    /// Most frames in the buffer: counted whenever one has come in; what leaves at that instant has
    /// left, itself excepted.
    fn peak(&self, arrivals: &[u64], due: &[u64]) -> u64 {
        let gone = self.departures(arrivals, due);
        let seen = arrivals.iter().enumerate().take_while(|(_, a)| **a <= self.until);
        seen.map(|(k, &a)| (k + 1 - gone[..k].iter().filter(|d| **d <= a).count()) as u64)
            .max()
            .unwrap_or(0)
            * self.mtu
    }

    /// Times at which control frames due at these instants have arrived at H1 and taken effect.
    /// They go before data, but not into a frame on the wire; of a frame and a control frame that
    /// come up at one instant, `data_first` decides which goes.
    fn effects(&self, due: &[u64], crossing: &[u64], data_first: bool) -> Vec<u64> {
        let mut waiting = crossing.iter().copied().peekable();
        let mut free = 0;
        let mut effect = |&at: &u64| {
            while let Some(begin) =
                waiting.peek().map(|r| free.max(*r)).filter(|b| *b < at || data_first && *b == at)
            {
                waiting.next();
                free = begin + self.time(self.reverse);
            }
            free = free.max(at) + self.time(64);
            free + self.delay + self.processing
        };
        due.iter().map(&mut effect).collect()
    }

    /// PFC up to its first resume: H1 sends until the pause is obeyed. A frame that would begin at
    /// that very time does so only if the pause takes effect as it comes in: what was processed is
    /// obeyed first.
    fn under_pfc(&self, xoff: u64) -> u64 {
        let endless: Vec<u64> =
            (0..4_000).map(|k| self.arrival(self.start + k * self.time(self.mtu))).collect();
        let gone = self.departures(&endless, &[]);
        let above = |k: &usize| {
            (k + 1 - gone[..*k].iter().filter(|d| **d <= endless[*k]).count()) as u64 * self.mtu
                > xoff
        };
        let Some(passes) = (0..endless.len()).find(above) else { return self.peak(&endless, &[]) };
        let obeyed = self.effects(&[endless[passes]], &self.crossing, true)[0];
        let sent = |k: &usize| self.start + *k as u64 * self.time(self.mtu);
        let n = (0..)
            .take_while(|k| sent(k) < obeyed || self.processing == 0 && sent(k) == obeyed)
            .count();
        self.peak(&endless[..n], &[])
    }

    /// Credits: every period the blocks received and free at that instant; H1 sends while they
    /// last.
    fn under_cbfc(&self, buffer: u64, period: u64) -> u64 {
        let (blocks, frame) = (buffer / 64, self.mtu.div_ceil(64));
        let due: Vec<u64> = (1..).map(|k| k * period).take_while(|t| *t <= self.until).collect();
        let (mut limit, mut sent, mut free) = (blocks, Vec::<u64>::new(), 0);
        // H3 sends one frame after the other, its own credits first.
        let ready: Vec<u64> =
            self.crossing.iter().map(|at| at - self.time(self.reverse) - self.delay).collect();
        let begun = in_turn(&ready, self.time(self.reverse), &due, self.time(64));
        let crossing: Vec<u64> =
            begun.iter().map(|at| at + self.time(self.reverse) + self.delay).collect();
        // H1 has a buffer of its own and reports it every period too, on the wire of its data.
        let mut own = due.clone().into_iter().peekable();
        let mut send_until = |instant: u64, limit: u64, sent: &mut Vec<u64>, since: u64| {
            loop {
                let credit = (sent.len() as u64 + 1) * frame <= limit;
                let data = if credit { free.max(since).max(self.start) } else { u64::MAX };
                match own.peek().map(|&due| free.max(due)) {
                    Some(message) if message.max(free) <= data && message < instant => {
                        own.next();
                        free = message + self.time(64);
                    }
                    _ if data < instant => {
                        sent.push(data);
                        free = data + self.time(self.mtu);
                    }
                    _ => break,
                }
            }
        };
        let mut since = 0;
        for (&made, effect) in due.iter().zip(self.effects(&due, &crossing, false)) {
            send_until(effect, limit, &mut sent, since);
            let arrivals: Vec<u64> = sent.iter().map(|&s| self.arrival(s)).collect();
            let count = |of: &[u64]| of.iter().filter(|t| **t < made).count() as u64;
            let (came, left) = (count(&arrivals), count(&self.departures(&arrivals, &due)));
            limit = came * frame + (blocks - (came - left) * frame);
            since = effect;
        }
        send_until(self.until, limit, &mut sent, since);
        self.peak(&sent.iter().map(|&s| self.arrival(s)).collect::<Vec<_>>(), &due)
    }

    /// Result of the simulator for the same link: most that the ingress of H1 held [bytes], and
    /// frames lost.
    fn simulated(&self, buffer: u64, flow_control: &str) -> (u64, u64) {
        let mut t = format!(
            "[run]\nduration = \"{}ps\"\nwatch = \"0us\"\nchecks = false\n[topology]\nkind = \"custom\"\nrate = \"{}bps\"\ndelay = \"{}ps\"\n",
            self.until, self.rate.0, self.delay
        );
        for n in ["H3", "H1", "H2", "S"] {
            let kind = if n == "S" { "switch" } else { "host" };
            write!(t, "[[topology.node]]\nname = \"{n}\"\nkind = \"{kind}\"\n").unwrap();
        }
        write!(
            t,
            "[[topology.link]]\na = \"H3\"\nb = \"S\"\n[[topology.link]]\na = \"H1\"\nb = \"S\"\n"
        )
        .unwrap();
        write!(t, "[[topology.link]]\na = \"S\"\nb = \"H2\"\nrate = \"{}bps\"\n", self.drain.0)
            .unwrap();
        write!(
            t,
            "[host]\nframe_max = \"{}B\"\n[switch]\nbuffer = \"{buffer}B\"\n",
            self.mtu.max(self.reverse)
        )
        .unwrap();
        write!(
            t,
            "[control_delay]\nprocessing = \"{}ps\"\n[flow_control]\n{flow_control}",
            self.processing
        )
        .unwrap();
        // H3 sends single frames; H1 sends frames of `mtu` one after the other as flows of one
        // frame each where they are not the largest.
        for at in &self.crossing {
            let start = at - self.time(self.reverse) - self.delay;
            write!(
                t,
                "[[flow]]\nsrc = \"H3\"\ndst = \"H1\"\nsize = \"{}B\"\nstart = \"{start}ps\"\n",
                self.reverse
            )
            .unwrap();
        }
        write!(t, "[[flow]]\nsrc = \"H1\"\ndst = \"H2\"\nstart = \"{}ps\"\n", self.start).unwrap();
        let s = load(&t);
        let f = s.run(Sink::Nothing).unwrap();
        let node = s.topology.find("S").unwrap().index();
        (f.outcome.ports[node][1].ingress_bytes_max, f.outcome.dropped_frames)
    }
}

/// A link in some phase of the frames against the messages.
fn drawn(d: &mut Dice, crossings: u64) -> Link {
    let rate = Rate(d.pick(&[10_000_000_000, 40_000_000_000, 3_333_333_333, 9_999_999_967]));
    let mtu = d.pick(&[256, 1_000, 1_270, 1_500, 4_000]);
    let reverse = d.pick(&[64, 700, 1_000]).min(mtu);
    let frame = rate.time_for(Bytes(mtu)).0;
    let delay = d.roll(frame * 6);
    let processing = if d.roll(3) == 0 { 0 } else { d.roll(frame * 4) };
    let drain = Rate((rate.0 / d.pick(&[2, 3, 10, 1_000])).max(1));
    let start = 4 * frame + 2 * delay;
    let mut crossing: Vec<u64> =
        (0..crossings).map(|_| start + frame + delay + d.roll(frame * 30)).collect();
    crossing.sort_unstable();
    Link {
        rate,
        drain,
        mtu,
        delay,
        processing,
        crossing,
        reverse,
        start,
        until: start + 2 * delay + 60 * frame + processing,
    }
}

#[test]
fn pfc_holds_exactly_what_the_model_holds_in_every_phase() {
    let mut peaks = Vec::new();
    for case in 0..24 {
        let mut d = Dice::new(case);
        let mut link = drawn(&mut d, 1);
        let (frame, reverse) = (link.time(link.mtu), link.time(link.reverse));
        let xoff = (2 + d.roll(4)) * link.mtu + d.roll(link.mtu);
        // XON 0: resumed when all of it has drained, and the run ends before that.
        let fc = format!("kind = \"pfc\"\nxoff = \"{xoff}B\"\nxon = \"0B\"\n");
        // The frame in the way begins at 12 instants around the one at which XOFF is passed, two of
        // them a picosecond away.
        let passes = link.arrival(link.start + (xoff / link.mtu + 1) * frame);
        let instants = (0..10).map(|k| passes + frame - k * (reverse + frame) / 8).chain([
            passes - 1,
            passes,
            passes + 1,
        ]);
        for instant in instants.filter(|m| *m > reverse + link.delay) {
            link.crossing = vec![instant];
            link.until = passes + 2 * link.delay + link.processing + 4 * frame + reverse;
            let (model, (simulated, lost)) =
                (link.under_pfc(xoff), link.simulated(10_000_000, &fc));
            assert_eq!(
                (model, 0),
                (simulated, lost),
                "case {case}, frame in the way at {instant} ps"
            );
            peaks.push(model - xoff);
        }
    }
    peaks.dedup();
    assert!(peaks.len() > 24, "phases differ: {}", peaks.len());
}

#[test]
fn credits_hold_exactly_what_the_model_holds_in_every_phase() {
    let (mut tested, mut full) = (0, 0);
    for case in 0..200 {
        let mut d = Dice::new(case);
        let mut link = drawn(&mut d, 6);
        let frame = link.time(link.mtu);
        let period = frame * (2 + d.roll(20)) + d.roll(frame);
        let buffer = link.mtu.div_ceil(64) * 64 * (1 + d.roll(12)) + d.roll(1_000);
        link.until += period * 3;
        // Crossing frames have credits from the start.
        link.crossing.truncate((buffer / 64 / link.reverse.div_ceil(64)) as usize);
        // The slow link has credits of its own: only where those never run out is it the drain that
        // the model has.
        let drained = buffer / 64 / link.mtu.div_ceil(64) * link.drain.time_for(Bytes(link.mtu)).0;
        if drained < period + 2 * link.delay + link.processing + 6 * frame {
            continue;
        }
        tested += 1;
        let fc = format!("kind = \"cbfc\"\nperiod = \"{period}ps\"\n");
        let (model, (simulated, lost)) =
            (link.under_cbfc(buffer, period), link.simulated(buffer, &fc));
        assert_eq!((model, 0), (simulated, lost), "case {case}: buffer {buffer}, period {period}");
        assert!(model <= buffer / 64 * 64);
        full += (model + link.mtu > buffer / 64 * 64) as u32;
    }
    println!("cbfc: {tested} links equal, in {full} of them the credits were used up");
    assert!(tested > 60 && full > 10, "{tested} links, the credits were used up in {full}");
}
