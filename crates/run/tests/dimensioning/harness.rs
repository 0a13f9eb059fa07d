//! A link between two switches that is drawn, filled and drained, and what became of it.
//!
//! ```text
//!   H1 --+                         +-- H2  slow: it fills the buffer of S2
//!   H5 --+-- S1 === drawn link === S2
//!   H4 --+                         +-- H3  sends to H4: frames in the way of messages
//! ```

use std::fmt::Write;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use xoff_analysis::plan::{self, Plan, PlanInput};
use xoff_record::Sink;
use xoff_run::NetworkScenario;
use xoff_sim::PortTotals;
use xoff_units::params::Defaults;
use xoff_units::{Bytes, Rate};

/// SplitMix64: enough to choose settings by.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Dice {
        Dice(seed.wrapping_mul(0x2545_f491_4f6c_dd1d))
    }
    pub fn roll(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n.max(1)
    }
    pub fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.roll(of.len() as u64) as usize]
    }
}

/// Rates; some do not divide [bit/s].
const RATES: [u64; 10] = [
    1_000_000_000,
    10_000_000_000,
    10_000_000_000,
    25_000_000_000,
    40_000_000_000,
    100_000_000_000,
    400_000_000_000,
    3_333_333_333,
    7_777_777_777,
    9_999_999_967,
];

/// Random draw of a case. Times in ps, sizes in bytes, rates in bit/s.
#[derive(Clone, Debug)]
pub struct Draw {
    pub rate: u64,
    pub delay: u64,
    pub sender_rate: u64,
    pub sender_delay: u64,
    pub drain: u64,
    pub mtu: u64,
    pub header: u64,
    /// Generation, its jitter, processing, its jitter.
    pub control: [u64; 4],
    /// Length and priority of acknowledgements.
    pub acks: Option<(u64, u64)>,
    pub cut_through: Option<u64>,
    /// Source, destination, priority, size (0: endless), start.
    pub flows: Vec<(&'static str, &'static str, u64, u64, u64)>,
    pub duration: u64,
    pub seed: u64,
}

impl Draw {
    /// Draws a link and its traffic: a flow into a slow drain, others in both directions, frames of
    /// many sizes.
    pub fn new(case: u64) -> Draw {
        let mut d = Dice::new(case);
        let rate = d.pick(&RATES);
        let mtu = match d.roll(3) {
            0 => 64 + d.roll(9_152),
            _ => d.pick(&[256, 1_000, 1_500, 1_500, 1_518, 2_048, 4_096, 9_000]),
        };
        let header = if d.roll(3) == 0 { d.roll(mtu.min(64)) } else { 0 };
        let frame = Rate(rate).time_for(Bytes(mtu)).0;
        let far = |d: &mut Dice| match d.roll(4) {
            0 => d.roll(frame),
            1 => d.roll(20_000),
            _ => d.roll(frame * 12),
        };
        let (delay, sender_delay) = (far(&mut d), far(&mut d));
        let mut part = |odds: u64, most: u64| if d.roll(odds) == 0 { d.roll(most) } else { 0 };
        let control =
            [part(3, frame * 3), part(3, frame * 3), part(2, frame * 4), part(3, frame * 3)];
        let sender_rate = if d.roll(3) == 0 { d.pick(&RATES) } else { rate };
        let drain = rate / d.pick(&[2, 3, 7, 20, 100]);
        let acks = (d.roll(3) == 0).then(|| (d.pick(&[1, 64, 84, 700, 9_000]), d.roll(3)));
        let cut_through = (d.roll(5) == 0).then(|| 1 + d.roll(mtu));
        let other = d.roll(3);
        let mut flows =
            vec![("H1", "H2", 0, 0, d.roll(frame)), ("H3", "H4", other, 0, d.roll(frame * 4))];
        if d.roll(2) == 0 {
            flows.push(("H5", "H2", d.roll(2), 0, d.roll(frame * 8)));
        }
        if d.roll(2) == 0 {
            flows.push(("H5", "H3", d.roll(3), 0, d.roll(frame * 8)));
        }
        for _ in 0..d.roll(8) {
            let (src, dst) =
                d.pick(&[("H1", "H2"), ("H5", "H2"), ("H3", "H4"), ("H1", "H3"), ("H2", "H4")]);
            flows.push((src, dst, d.roll(2), 1 + d.roll(mtu * 5), d.roll(frame * 200)));
        }
        let tau = 2 * delay + 3 * frame + control.iter().sum::<u64>();
        Draw {
            rate,
            delay,
            sender_rate,
            sender_delay,
            drain,
            mtu,
            header,
            control,
            acks,
            cut_through,
            flows,
            duration: frame * 300 + tau * 8,
            seed: case,
        }
    }

    /// Classes in use.
    pub fn classes(&self) -> u64 {
        let mut all: Vec<u64> =
            self.flows.iter().map(|f| f.2).chain(self.acks.map(|a| a.1)).collect();
        all.sort_unstable();
        all.dedup();
        all.len() as u64
    }

    /// The longest frame.
    pub fn longest(&self) -> u64 {
        self.acks.map_or(self.mtu, |a| a.0.max(self.mtu))
    }

    /// Rate and delay of the three kinds of link.
    pub fn links(&self) -> [(u64, u64); 3] {
        [
            (self.rate, self.delay),
            (self.sender_rate, self.sender_delay),
            (self.drain, self.sender_delay),
        ]
    }

    /// The scenario with this `[switch]` and `[flow_control]`.
    pub fn text(&self, switch: &str, flow_control: &str) -> String {
        let [g, gj, p, pj] = self.control;
        let mut t = format!(
            "[run]\nduration = \"{}ps\"\nseed = {}\nwatch = \"0us\"\nchecks = false\n[topology]\nkind = \"custom\"\nrate = \"{}bps\"\ndelay = \"{}ps\"\n",
            self.duration, self.seed, self.sender_rate, self.sender_delay
        );
        for n in ["H3", "H1", "H2", "H4", "H5", "S1", "S2"] {
            let kind = if n.starts_with('H') { "host" } else { "switch" };
            writeln!(t, "[[topology.node]]\nname = \"{n}\"\nkind = \"{kind}\"").unwrap();
        }
        for (a, b) in [("H3", "S2"), ("H1", "S1"), ("H4", "S1"), ("H5", "S1")] {
            writeln!(t, "[[topology.link]]\na = \"{a}\"\nb = \"{b}\"").unwrap();
        }
        writeln!(
            t,
            "[[topology.link]]\na = \"S1\"\nb = \"S2\"\nrate = \"{}bps\"\ndelay = \"{}ps\"",
            self.rate, self.delay
        )
        .unwrap();
        writeln!(t, "[[topology.link]]\na = \"S2\"\nb = \"H2\"\nrate = \"{}bps\"", self.drain)
            .unwrap();
        writeln!(t, "[host]\nframe_max = \"{}B\"\nheader = \"{}B\"", self.mtu, self.header)
            .unwrap();
        if let Some((len, priority)) = self.acks {
            writeln!(t, "acks = \"per-frame\"\nack_len = \"{len}B\"\nack_priority = {priority}")
                .unwrap();
        }
        writeln!(t, "[control_delay]\ngeneration = \"{g}ps\"\ngeneration_jitter = \"{gj}ps\"\nprocessing = \"{p}ps\"\nprocessing_jitter = \"{pj}ps\"").unwrap();
        write!(t, "[switch]\n{switch}").unwrap();
        if let Some(head) = self.cut_through {
            writeln!(t, "cut_through = \"{head}B\"").unwrap();
        }
        write!(t, "[flow_control]\n{flow_control}").unwrap();
        for (src, dst, priority, size, start) in &self.flows {
            write!(t, "[[flow]]\nsrc = \"{src}\"\ndst = \"{dst}\"\npriority = {priority}\nstart = \"{start}ps\"\n").unwrap();
            if *size > 0 {
                writeln!(t, "size = \"{size}B\"").unwrap();
            }
        }
        t
    }

    /// Answer of `xoff plan` for a link of this rate and delay, with more keys.
    pub fn plan(
        &self,
        flow_control: &str,
        (rate, delay): (u64, u64),
        more: &[(&'static str, String)],
    ) -> Plan {
        let t_r: u64 = self.control.iter().sum();
        let given = [
            ("flow_control", flow_control.to_owned()),
            ("rate", format!("{rate}bps")),
            ("t_w", format!("{delay}ps")),
            ("mtu", format!("{}B", self.longest())),
            ("t_r", format!("{t_r}ps")),
            ("priorities", self.classes().to_string()),
            ("rate_unit", "8kbps".to_owned()),
            // A run knows how fast its nodes are: it derives the exact rule, where a plan takes the
            // standard's if that is more.
            ("headroom", "worst-case".to_owned()),
        ];
        let v = given
            .iter()
            .chain(more)
            .fold(Defaults::of(plan::PARAMS), |v, (key, value)| v.with(key, value));
        let input = { PlanInput::read(&mut { v }) }.unwrap_or_else(|e| panic!("{self:?}: {e}"));
        plan::plan(&input).unwrap_or_else(|e| panic!("{self:?}: {e}"))
    }

    /// The largest value of a row of the plans of all links [its unit].
    pub fn largest(
        &self,
        flow_control: &str,
        symbol: &str,
        more: &[(&'static str, String)],
    ) -> u64 {
        self.links()
            .iter()
            .map(|&link| self.plan(flow_control, link, more).integer(symbol).unwrap())
            .max()
            .unwrap()
    }
}

/// Result of a run.
pub struct Ran {
    /// Frames lost.
    pub lost: u64,
    /// The drawn link's port of S2: what its ingress held at most is there.
    pub ingress: PortTotals,
    /// The drawn link's port of S1: what held it back is there.
    pub egress: PortTotals,
    /// Frames that PFFC took for those of another flow.
    pub collisions: u64,
    /// Text of the warnings.
    pub warnings: Vec<String>,
}

/// Reads a scenario and runs it.
pub fn run(text: &str) -> Ran {
    let s = load(text);
    let f = s.run(Sink::Nothing).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let port = |from: &str, to: &str| {
        let (from, to) = (s.topology.find(from).unwrap(), s.topology.find(to).unwrap());
        let at = s.topology.nodes[from.index()].ports.iter().position(|p| p.peer == to).unwrap();
        f.outcome.ports[from.index()][at]
    };
    Ran {
        lost: f.outcome.dropped_frames + f.outcome.lost_frames,
        ingress: port("S2", "S1"),
        egress: port("S1", "S2"),
        collisions: f.outcome.flow_collisions,
        warnings: s.warnings.iter().map(|w| w.line()).collect(),
    }
}

/// Reads a scenario.
pub fn load(text: &str) -> NetworkScenario {
    NetworkScenario::from_text("drawn.toml", text, &[], Path::new(""))
        .unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// Runs the draws of a flow control on two threads; `check` returns what is wrong.
pub fn all(
    name: &str,
    cases: std::ops::Range<u64>,
    check: impl Fn(u64) -> Result<(), String> + Sync,
) {
    let one = std::env::var("XOFF_TEST_DIM_CASE")
        .ok()
        .and_then(|c| c.strip_prefix(&format!("{name}:")).and_then(|c| c.parse().ok()));
    let cases = one.map_or(cases, |case: u64| case..case + 1);
    let (next, failures) = (AtomicU64::new(cases.start), Mutex::new(Vec::new()));
    std::thread::scope(|s| {
        for _ in 0..2 {
            s.spawn(|| {
                loop {
                    let case = next.fetch_add(1, Ordering::Relaxed);
                    if case >= cases.end {
                        break;
                    }
                    if let Err(e) = check(case) {
                        failures.lock().unwrap().push(format!("{name}:{case}: {e}"));
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap();
    assert!(
        failures.is_empty(),
        "{} of {} draws; the first: {}",
        failures.len(),
        cases.end - cases.start,
        failures[0]
    );
}
