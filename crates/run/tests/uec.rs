//! Credits of Ultra Ethernet on a line of two links, against direct reasoning: when every frame leaves, to the picosecond.

use std::path::Path;

use xoff_record::Sink;
use xoff_run::{Finished, NetworkScenario};

fn run(text: &str) -> Finished {
    let s = NetworkScenario::from_text("uec.toml", text, &[], Path::new("")).unwrap_or_else(|e| panic!("{}\n{text}", e.render(false)));
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
             [host]\nmtu = \"{mtu}B\"\n[switch]\nbuffer = \"10MB\"\n\
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

/// Frames that are ready at `ready`, over a wire whose far end frees each at `freed(its arrival, of the one before)`. Returns when they
/// begin, and when they are freed. Written from the rules of the standard, frame by frame, without events.
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
            Some(soonest) if first_new < soonest => (soonest, self.freed.iter().filter(|&&f| f < soonest).count() as u64),
            _ => (first_new, n as u64 + 1),
        };
        (self.last_update, self.counted) = (Some(at), counts);
        self.updates.push((at + 8 * PS_PER_BYTE + self.l.delay(), counts));
    }

    /// When credits for frame `n` are there. It is known when all before it are freed, and an update that it waits for comes before itself.
    fn credit(&mut self, n: u64) -> u64 {
        let Some(need) = (n + 1).checked_sub(self.l.window()).filter(|&need| need > 0) else { return 0 };
        while self.counted < need {
            self.update();
        }
        self.updates.iter().find(|u| u.1 >= need).unwrap().0
    }
}

/// When the last frame is in at H1.
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
                all.push(Line { mtu, credit, limit: window * each + window % each, spacing, delay_ns, frames: 300 });
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

/// Every frame has its update where the spacing is not longer than a frame: then n credits carry exactly their frames in a loop.
#[test]
fn credits_carry_their_frames_in_a_loop() {
    for (mtu, window, delay_ns) in [(1500, 1, 500), (1500, 4, 1000), (1500, 16, 1000), (1500, 17, 1000), (1024, 3, 100), (9000, 2, 2000)] {
        let credit = 64;
        let l = Line { mtu, credit, limit: window * mtu.div_ceil(credit), spacing: 64, delay_ns, frames: 1000 };
        // As soon as the credits outlast the loop the line is full.
        let period = l.loop_time().max(window * l.tx());
        let last = (l.frames - 1) / window * period + (l.frames - 1) % window * l.tx();
        let end = run(&l.text()).outcome.flows[0].end.unwrap().0;
        assert_eq!(end, last + 2 * (l.tx() + l.delay()), "{l:?}");
    }
}

/// With updates that are spaced, so many credits as a loop and a spacing hold keep the line full; and one frame less in half as many does not.
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
