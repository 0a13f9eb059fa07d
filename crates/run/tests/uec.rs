//! Credits of Ultra Ethernet on a line of two links, against direct reasoning: when every frame
//! leaves, to the picosecond.

use std::path::Path;

use xoff_record::Sink;
use xoff_run::{Finished, NetworkScenario};

fn run(text: &str) -> Finished {
    let s = NetworkScenario::from_text("uec.toml", text, &[], Path::new(""))
        .unwrap_or_else(|e| panic!("{}\n{text}", e.render(false)));
    s.run(Sink::Nothing).unwrap()
}

/// H1 - S1 - H2 at 100 Gb/s. Times in ps.
#[derive(Clone, Copy, Debug)]
struct Line {
    mtu: u64,
    credit: u64,
    limit: u64,
    /// Least spacing [bytes].
    spacing: u64,
    delay_ns: u64,
    frames: u64,
}

const PS_PER_BYTE: u64 = 80;

impl Line {
    fn text(&self) -> String {
        let Line { mtu, credit, limit, spacing, delay_ns, frames } = *self;
        format!(
            "[run]\nduration = \"20ms\"\n[topology]\nkind = \"star\"\nhosts = 2\nrate = \"100Gbps\"\ndelay = \"{delay_ns}ns\"\n\
             [host]\nframe_max = \"{mtu}B\"\n[switch]\nbuffer = \"10MB\"\n\
             [flow_control]\nkind = \"uec-cbfc\"\ncredit_size = \"{credit}B\"\nlimit = {limit}\ncf_min_spacing = \"{spacing}B\"\n\
             cf_max_spacing = \"1GB\"\ncc_period = \"250ms\"\n\
             [[flow]]\nsrc = \"H0\"\ndst = \"H1\"\nsize = \"{}B\"\n",
            mtu * frames
        )
    }
    fn tx(&self) -> u64 {
        self.mtu * PS_PER_BYTE
    }
    fn delay(&self) -> u64 {
        self.delay_ns * 1000
    }
    /// Frames that the credits cover.
    fn window(&self) -> u64 {
        self.limit / self.mtu.div_ceil(self.credit)
    }
    /// From the first bit of a frame to the effect of an update that leaves as the frame is stored.
    fn loop_time(&self) -> u64 {
        self.tx() + 2 * self.delay() + 8 * PS_PER_BYTE
    }
}

/// Frames that are ready at `ready`, over a wire whose far end frees each at
/// `freed(its arrival, of the previous one)`. Returns when they begin, and when they are freed.
/// Written from the rules of the standard, frame by frame, without events.
struct Wire<'l> {
    l: &'l Line,
    /// Updates: when they take effect, and frames freed by then.
    updates: Vec<(u64, u64)>,
    freed: Vec<u64>,
    last_update: Option<u64>,
    counted: u64,
}

impl Wire<'_> {
    fn new(l: &Line) -> Wire<'_> {
        Wire { l, updates: Vec::new(), freed: Vec::new(), last_update: None, counted: 0 }
    }

    /// The next update.
    fn update(&mut self) {
        let n = self.counted as usize;
        let first_new = self.freed[n];
        let (at, counts) = match self.last_update.map(|t| t + self.l.spacing * PS_PER_BYTE) {
            // The timer comes before what is freed at that very time.
            Some(soonest) if first_new < soonest => {
                (soonest, self.freed.iter().filter(|&&f| f < soonest).count() as u64)
            }
            _ => (first_new, n as u64 + 1),
        };
        (self.last_update, self.counted) = (Some(at), counts);
        self.updates.push((at + 8 * PS_PER_BYTE + self.l.delay(), counts));
    }

    /// Time at which credits for frame `n` are there. It is known when all earlier frames are
    /// freed, and an update that it waits for comes before itself.
    fn credit(&mut self, n: u64) -> u64 {
        let Some(need) = (n + 1).checked_sub(self.l.window()).filter(|&need| need > 0) else {
            return 0;
        };
        while self.counted < need {
            self.update();
        }
        self.updates.iter().find(|u| u.1 >= need).unwrap().0
    }
}

/// Arrival of the last frame at H1.
fn ends(l: &Line) -> u64 {
    let (mut first, mut second) = (Wire::new(l), Wire::new(l));
    let (mut free, mut free_2, mut end) = (0, 0, 0);
    for n in 0..l.frames {
        let begin = free.max(first.credit(n));
        free = begin + l.tx();
        let arrives = free + l.delay();
        let begin_2 = arrives.max(free_2).max(second.credit(n));
        free_2 = begin_2 + l.tx();
        first.freed.push(begin_2);
        end = free_2 + l.delay();
        second.freed.push(end);
    }
    end
}

fn lines() -> Vec<Line> {
    let mut all = Vec::new();
    for (mtu, credit) in [(1500, 128), (1024, 64), (4096, 2048), (65, 64)] {
        let each = u64::div_ceil(mtu, credit);
        for window in [1, 2, 3, 5, 8, 13, 21, 34, 55] {
            for (spacing, delay_ns) in [(64, 200), (1024, 1000), (6400, 500), (20_000, 37)] {
                all.push(Line {
                    mtu,
                    credit,
                    limit: window * each + window % each,
                    spacing,
                    delay_ns,
                    frames: 300,
                });
            }
        }
    }
    all
}

#[test]
fn every_frame_leaves_when_direct_reasoning_has_it() {
    for l in lines() {
        let f = run(&l.text());
        let end = f.outcome.flows[0].end.unwrap_or_else(|| panic!("{l:?}: not complete")).0;
        assert_eq!((end, f.outcome.violations_total), (ends(&l), 0), "{l:?}");
    }
}

/// Every frame has its update where the spacing is not longer than a frame: then n credits carry
/// exactly their frames in a loop.
#[test]
fn credits_carry_their_frames_in_a_loop() {
    for (mtu, window, delay_ns) in [
        (1500, 1, 500),
        (1500, 4, 1000),
        (1500, 16, 1000),
        (1500, 17, 1000),
        (1024, 3, 100),
        (9000, 2, 2000),
    ] {
        let credit = 64;
        let l = Line {
            mtu,
            credit,
            limit: window * mtu.div_ceil(credit),
            spacing: 64,
            delay_ns,
            frames: 1000,
        };
        // As soon as the credits outlast the loop the line is full.
        let period = l.loop_time().max(window * l.tx());
        let last = (l.frames - 1) / window * period + (l.frames - 1) % window * l.tx();
        let end = run(&l.text()).outcome.flows[0].end.unwrap().0;
        assert_eq!(end, last + 2 * (l.tx() + l.delay()), "{l:?}");
    }
}

/// With updates that are spaced, so many credits as a loop and a spacing hold keep the line full;
/// and one frame less in half as many does not.
#[test]
fn a_loop_and_a_spacing_of_credits_fill_the_line() {
    for (spacing, delay_ns) in [(6400, 500), (20_000, 1000), (3000, 100)] {
        let mut l = Line { mtu: 1500, credit: 128, limit: 0, spacing, delay_ns, frames: 2000 };
        let full = l.frames * l.tx() + l.tx() + 2 * l.delay();
        let window = (l.loop_time() + spacing * PS_PER_BYTE).div_ceil(l.tx());
        l.limit = window * 12;
        assert_eq!(run(&l.text()).outcome.flows[0].end.unwrap().0, full, "{l:?}");
        l.limit = (window / 2 - 1) * 12;
        assert!(run(&l.text()).outcome.flows[0].end.unwrap().0 > full, "{l:?}");
    }
}

/// Two priorities from H0 to H1 through S1, whose ports have 2000 credits of 128 B; H1 stops
/// priority 3 forever.
fn one_stands_still(sharing: &str) -> (Finished, u64) {
    let text = format!(
        "[run]\nduration = \"1ms\"\n[topology]\nkind = \"star\"\nhosts = 2\nrate = \"100Gbps\"\ndelay = \"500ns\"\n[switch]\nbuffer = \"256000B\"\n\
         scheduler = \"round-robin\"\n[flow_control]\nkind = \"uec-cbfc\"\n{sharing}[[pause_storm]]\nhost = \"H1\"\npriority = 3\ninterval = \"10us\"\n\
         [[flow]]\nsrc = \"H0\"\ndst = \"H1\"\nsize = \"5MB\"\npriority = 0\n[[flow]]\nsrc = \"H0\"\ndst = \"H1\"\nsize = \"5MB\"\npriority = 3\n"
    );
    let f = run(&text);
    let most = f.outcome.ports.iter().flatten().map(|p| p.ingress_bytes_max).max().unwrap();
    (f, most)
}

/// A blocked channel holds its limit, reserve + alpha S / (1 + alpha), within a frame of 12
/// credits; the rest is the other one's, whose flow runs as without it.
#[test]
fn a_priority_that_stands_still_takes_its_share_of_the_credits_and_no_more() {
    let alone = one_stands_still("").0.outcome.flows[0].received.expect("complete");
    for (sharing, credits) in [
        ("sharing = \"dynamic\"\n", 12 + 1976 / 2),
        ("sharing = \"dynamic\"\nshared_th = -2\n", 12 + 1976 / 5),
        ("sharing = \"dynamic\"\nshared_th = 1\nreserved = 100\n", 100 + 1800 * 2 / 3),
        ("sharing = \"static\"\nshared_limit = 600\n", 12 + 600),
    ] {
        let (f, most) = one_stands_still(sharing);
        assert_eq!(
            (f.outcome.lost.total().total(), f.outcome.violations_total),
            (0, 0),
            "{sharing}"
        );
        let held = most / 1500 * 12;
        assert!(
            held.abs_diff(credits) <= 12,
            "{sharing}: {held} credits are held, the closed form {credits}"
        );
        let end = f.outcome.flows[0].received.expect("complete").0;
        assert!(end < alone.0 + 1_000_000, "{sharing}: {end}, with a limit of its own {alone:?}");
        assert!(f.outcome.flows[1].received.is_none());
    }
    // Without a threshold it takes all but the reserves: a frame of the other one in each loop.
    let (f, most) = one_stands_still("sharing = \"static\"\n");
    assert_eq!((most / 1500 * 12).abs_diff(1988) / 13, 0, "{most} B are held");
    assert!(
        f.outcome.flows[0].received.is_none_or(|t| t.0 > alone.0 * 2)
            && f.outcome.flows[0].delivered > 0
    );
    assert_eq!(f.outcome.lost.total().total(), 0);
}

/// One priority alone has the whole buffer, where a limit of its own for each of two would give it
/// half.
#[test]
fn credits_are_where_they_are_needed() {
    let end = |sharing: &str, buffer: u64| {
        let text = format!(
            "[run]\nduration = \"5ms\"\n[topology]\nkind = \"star\"\nhosts = 2\nrate = \"100Gbps\"\ndelay = \"2us\"\n[switch]\nbuffer = \"{buffer}B\"\n\
             [flow_control]\nkind = \"uec-cbfc\"\ncf_min_spacing = \"800B\"\n{sharing}[[flow]]\nsrc = \"H0\"\ndst = \"H1\"\nsize = \"10MB\"\npriority = 0\n\
             [[flow]]\nsrc = \"H0\"\ndst = \"H1\"\nsize = \"1500B\"\npriority = 3\n"
        );
        run(&text).outcome.flows[0].received.expect("complete").0
    };
    let full = end("", 200_000);
    assert_eq!(end("sharing = \"static\"\n", 60_000), full, "60 KB of the port fill the line");
    assert!(end("", 30_000) > full * 3 / 2, "of 30 KB for each priority it has half the rate");
}

#[test]
fn shares_that_do_not_fit_the_network_are_refused_with_their_place() {
    let text = |switch: &str, fc: &str, rest: &str| {
        format!(
            "[run]\nduration = \"1ms\"\n[topology]\nkind = \"star\"\nhosts = 2\n[switch]\n{switch}[flow_control]\nkind = \"uec-cbfc\"\n{fc}{rest}\
             [[flow]]\nsrc = \"H0\"\ndst = \"H1\"\nsize = \"1MB\"\n[[flow]]\nsrc = \"H0\"\ndst = \"H1\"\nsize = \"1MB\"\npriority = 3\n"
        )
    };
    let refused = |switch: &str, fc: &str, rest: &str, stated: &[&str]| {
        let text = text(switch, fc, rest);
        let e = NetworkScenario::from_text("uec.toml", &text, &[], Path::new(""))
            .err()
            .unwrap_or_else(|| panic!("accepted: {text}"));
        let e = e.render(false);
        stated
            .iter()
            .chain(&["uec.toml:"])
            .for_each(|stated| assert!(e.contains(stated), "'{stated}' is not in: {e}"));
    };
    refused(
        "",
        "sharing = \"static\"\nlimit = 100\nreserved = 51\n",
        "",
        &["2 priorities x 51 reserved credits = 102 > 100", "fewer reserved"],
    );
    refused(
        "",
        "sharing = \"dynamic\"\nshared_th = 9\n",
        "",
        &["a factor of 2^9", "expected -8 to 7"],
    );
    refused("", "sharing = \"some\"\n", "", &["'some'", "static"]);
    refused(
        "memory = \"shared\"\n",
        "sharing = \"static\"\n",
        "",
        &["and switch.memory shares it among", "per-ingress"],
    );
    refused("", "sharing = \"static\"\nlossy = [\"3\"]\n", "", &["and lossy priorities would use"]);
    refused(
        "",
        "sharing = \"static\"\n",
        "[[slow_receiver]]\nhost = \"H1\"\nrate = \"1Gbps\"\n",
        &["shares the buffer of a port"],
    );
}

/// A timer whose place an earlier one has taken is over: the events of a flow that is slower than
/// updates may come grow with the time, not with its square.
#[test]
fn timers_do_not_become_more() {
    let events = |ms: u64, slow: &str| {
        let text = format!(
            "[run]\nduration = \"{ms}ms\"\nstop_when_done = false\nfast_forward = \"off\"\n[topology]\nkind = \"star\"\nhosts = 2\nrate = \"100Gbps\"\n\
             delay = \"1us\"\n[flow_control]\nkind = \"uec-cbfc\"\n[[flow]]\nsrc = \"H0\"\ndst = \"H1\"\n{slow}"
        );
        run(&text).outcome.events as f64
    };
    for slow in ["rate = \"1Gbps\"\n", "[[slow_receiver]]\nhost = \"H1\"\nrate = \"3Gbps\"\n"] {
        let (one, four) = (events(1, slow), events(4, slow));
        assert!(four < 4.5 * one, "{slow}: {one} events in 1 ms, {four} in 4 ms");
    }
}

/// Messages by the clock that would only pile up behind the wire: of every flow control that has a
/// clock.
#[test]
fn messages_that_the_wire_does_not_carry_are_refused() {
    let refused = |fc: &str, stated: &str| {
        let text = format!(
            "[run]\nduration = \"1ms\"\n[topology]\nkind = \"star\"\nhosts = 2\nrate = \"10Gbps\"\n[flow_control]\nkind = {fc}\n[[flow]]\nsrc = \"H0\"\n\
             dst = \"H1\"\nsize = \"1MB\"\n[[flow]]\nsrc = \"H0\"\ndst = \"H1\"\nsize = \"1MB\"\npriority = 3\n"
        );
        let e = NetworkScenario::from_text("uec.toml", &text, &[], Path::new(""))
            .err()
            .unwrap_or_else(|| panic!("accepted: {text}"));
        let e = e.render(false);
        assert!(e.contains(stated) && e.contains("uec.toml:"), "'{stated}' is not in: {e}");
    };
    refused(
        "\"uec-cbfc\"\ncc_period = \"1ps\"",
        "cc_period 1 ps < 102.4 ns, the time of 2 messages at 10 Gb/s",
    );
    refused(
        "\"uec-cbfc\"\ncc_period = \"110ns\"\ncf_min_spacing = \"64B\"",
        "CC_Updates every 110 ns take 0.93 of a wire of 10 Gb/s, CF_Updates 0.25",
    );
    refused(
        "\"cbfc\"\nperiod = \"100ps\"",
        "period 100 ps < 102.4 ns, the time of 2 messages at 10 Gb/s",
    );
    refused(
        "\"gfc-time\"\nb0 = \"100KB\"\nperiod = \"1ps\"",
        "period 1 ps < 102.4 ns, the time of 2 messages at 10 Gb/s",
    );
}

/// A period below the time of a message runs if only a slow link among fast ones is concerned, with
/// a warning that has the inequality.
#[test]
fn messages_that_fill_a_wire_are_warned_of() {
    for (fc, period, warned) in [
        ("\"cbfc\"", "50 ns", true),
        ("\"gfc-time\"\nb0 = \"100KB\"", "50 ns", true),
        ("\"cbfc\"", "110 ns", false),
    ] {
        let text = format!(
            "[run]\nduration = \"10us\"\n[topology]\nkind = \"star\"\nhosts = 2\nrate = \"10Gbps\"\n[flow_control]\nkind = {fc}\nperiod = \"{period}\"\n\
             [[flow]]\nsrc = \"H0\"\ndst = \"H1\"\nsize = \"1MB\"\n"
        );
        let s = NetworkScenario::from_text("period.toml", &text, &[], Path::new(""))
            .unwrap_or_else(|e| panic!("{}", e.render(false)));
        let stated = format!(
            "period {period} < 51.2 ns, the time of a message at 10 Gb/s: messages alone fill the wire"
        );
        assert_eq!(
            s.warnings.iter().any(|w| w.to_string().contains(&stated)),
            warned,
            "{fc} {period}: {:?}",
            s.warnings
        );
    }
}
