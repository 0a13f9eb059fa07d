//! The network of Fig. 2: its ports and flows by name, its settings, and what every entry asks of a run of it.
//!
//! ```text
//!   S0 S1      S2                     R0 R1 A0 .. A14      F0  S0 -> R0
//!     T0       T1                          T2              F1  S1 -> R1
//!      +--P0----+--P1---- L0 ---P2---------+ P3 = T2->R1   F2  S2 -> R0
//! ```

use xoff_mech::detection::{Mark, PortState};
use xoff_report::{Align, Axis, Cell, Colour, LaneGroup, Panel, Table, Unit};
use xoff_sim::RateSource;

use crate::lab::{self, Marked, Observed};
use crate::{Check, Context, ReproduceError};

/// T0->L0: shared by F0 and F1.
pub const P0: &str = "T0->L0";
/// T1->L0: F2 alone.
pub const P1: &str = "T1->L0";
/// L0->T2: F0, F1, F2.
pub const P2: &str = "L0->T2";
/// T2->R1: F1 and the bursts; the root of the first congestion tree.
pub const P3: &str = "T2->R1";
/// The ports with the paper's names, as a frame of F1 or F2 meets them.
pub const PORTS: [(&str, &str); 4] = [("P0", P0), ("P1", P1), ("P2", P2), ("P3", P3)];

/// The scenario of all micro-benchmarks in this network.
pub const SCENARIO: (&str, &str) = scenario!("tcd", "fig2.toml");

/// The paper's CEE and InfiniBand: flow control with its own detection and rate control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fabric {
    /// PFC, ECN, DCQCN.
    Cee,
    /// Credits, FECN, IB CC.
    Ib,
}

impl Fabric {
    /// Name in the paper.
    pub fn name(self) -> &'static str {
        match self {
            Fabric::Cee => "CEE",
            Fabric::Ib => "InfiniBand",
        }
    }
}

/// Detection that marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detection {
    /// ECN, or FECN.
    Own,
    /// Ternary congestion detection. A CNP or BECN of UE holds the rate; cuts are those of section 3.1, because with the
    /// deeper ones of section 5.2.1 P2 is never stopped here (entry alpha-1.2).
    Tcd,
}

/// F0 and F2 in the two scenarios of section 3.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// 5 Gb/s each: P3 is the only congestion point.
    Single,
    /// 25 Gb/s each: P2 is the second one.
    Multiple,
}

/// The egress discipline and the form of DCQCN: what the paper leaves open and what decides for how long P2 is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Order across ingresses.
    pub discipline: &'static str,
    /// Form of DCQCN.
    pub variant: &'static str,
}

/// The reading of all entries.
pub const READING: Reading = Reading { discipline: "round-robin", variant: "ns3-rdma" };
/// The disciplines and the forms of DCQCN that the paper's words admit.
pub const DISCIPLINES: [&str; 3] = ["round-robin", "fifo", "input-fifo"];
/// See [`DISCIPLINES`].
pub const VARIANTS: [&str; 2] = ["ns3-rdma", "paper"];

/// Assumption behind every number that depends on the reading.
pub const READ: &str = "the egress serves its ingresses round robin (the paper names no discipline); DCQCN is that of ns3-rdma, the \
    base of the paper's simulator";
/// The longest credit period at which a port can send at full rate: 280 KB are 273 frames of 16 blocks, which cover
/// C (T_c + tau) with tau = 8.4 us [us].
pub const FULL_RATE_PERIOD_US: u64 = 46;
/// T_c of section 4.4: 65,536 symbol times of 1 ns.
pub const PAPER_PERIOD: &str = "65.536us";
/// Assumption behind the numbers with credits at full rate.
pub const FULL_RATE: &str = "credits arrive every 46 us, the longest period at which a port can send at full rate with the buffer of \
    280 KB. With the 65.536 us of section 4.4 every busy port runs out of credits in every period.";
/// Assumption behind the reaction of InfiniBand's rate control.
pub const BECN: &str = "a flow gets one BECN per 50 us, as with DCQCN. With one per marked frame (IBA A10) F1 is slow before P2 is ever \
    paused (see fig03, table).";
/// Assumption behind the length of the bursts.
pub const ROUNDS: &str = "a round of 15 x 64 KB every 192 us, the time it needs at P3, for 3 ms. Bursts ignore marks (the paper: 64 KB \
    bursts that last for about 3 ms and cannot be controlled).";

/// Setup of one run.
#[derive(Clone, Debug)]
pub struct Setup {
    /// CEE or InfiniBand.
    pub fabric: Fabric,
    /// Detection that marks.
    pub detection: Detection,
    /// F0 and F2.
    pub load: Load,
    /// Reading of the settings that the paper leaves open.
    pub reading: Reading,
    /// More settings, laid over all others.
    pub more: Vec<String>,
}

impl Setup {
    /// The run of the entries' reading.
    pub fn new(fabric: Fabric, detection: Detection, load: Load) -> Setup {
        Setup { fabric, detection, load, reading: READING, more: Vec::new() }
    }

    /// With another reading.
    pub fn read(mut self, discipline: &'static str, variant: &'static str) -> Setup {
        self.reading = Reading { discipline, variant };
        self
    }

    /// With credits as often as section 4.4 says.
    pub fn paper_period(self) -> Setup {
        self.with([format!("flow_control.cbfc.period={PAPER_PERIOD}")])
    }

    /// With more settings.
    pub fn with<S: Into<String>>(mut self, settings: impl IntoIterator<Item = S>) -> Setup {
        self.more.extend(settings.into_iter().map(Into::into));
        self
    }

    /// The settings laid over the scenario.
    pub fn settings(&self, seed: u64) -> Vec<String> {
        let mut all = vec![format!("run.seed={seed}"), format!("switch.discipline={}", self.reading.discipline)];
        let mut set = |s: &[&str]| all.extend(s.iter().map(|s| (*s).to_owned()));
        if self.load == Load::Multiple {
            set(&["workload[0].rate=25Gbps"]);
        }
        let tcd = self.detection == Detection::Tcd;
        match (self.fabric, tcd) {
            (Fabric::Cee, false) => set(&["detection=red"]),
            (Fabric::Ib, false) => set(&["detection=fecn"]),
            (_, true) => set(&["detection=tcd"]),
        }
        match self.fabric {
            Fabric::Cee => set(&[&format!("rate_control.dcqcn.variant={}", self.reading.variant)]),
            Fabric::Ib => {
                set(&["flow_control=cbfc", "rate_control=ib-cc", "switch.buffer=280KB"]);
                set(&[&format!("flow_control.cbfc.period={FULL_RATE_PERIOD_US}us")]);
                if tcd {
                    // The thresholds of FECN: a step at 50 KB, down to one frame.
                    set(&["detection.tcd.kmin=50KB", "detection.tcd.kmax=50KB", "detection.tcd.low_threshold=1KB"]);
                }
            }
        }
        all.extend(self.more.iter().cloned());
        all
    }
}

/// Runs them, in order.
pub fn observe(cx: &Context, setups: &[Setup]) -> Result<Vec<Observed>, ReproduceError> {
    cx.parallel(setups, |s| lab::run(cx, SCENARIO.0, SCENARIO.1, &s.settings(cx.seed)))
}

/// Numbers of the flows in a run.
#[derive(Clone, Copy, Debug)]
pub struct Flows {
    /// S0 -> R0, a victim.
    pub f0: u32,
    /// S1 -> R1, congested.
    pub f1: u32,
    /// S2 -> R0, a victim of P2.
    pub f2: u32,
}

impl Flows {
    /// Finds them by their sources.
    pub fn of(run: &Observed) -> Flows {
        Flows { f0: number(run, "S0"), f1: number(run, "S1"), f2: number(run, "S2") }
    }

    /// With the paper's names.
    pub fn named(self) -> [(&'static str, u32); 3] {
        [("F0", self.f0), ("F1", self.f1), ("F2", self.f2)]
    }
}

/// Number of the first flow of a host. The name comes from a built-in scenario.
pub fn number(run: &Observed, host: &str) -> u32 {
    let source = run.topology.find(host).unwrap_or_else(|| panic!("no host '{host}'"));
    run.outcome.flows.iter().position(|f| f.flow.src == source).unwrap_or_else(|| panic!("no flow of '{host}'")) as u32
}

/// Marks of one kind that a port put on the frames of a flow.
pub fn count(run: &Observed, port: &str, flow: u32, mark: Mark) -> u64 {
    run.marks(port).iter().filter(|m| m.flow == flow && m.mark == mark).count() as u64
}

/// Marks of a port in a stretch of time.
pub fn between(marks: &[Marked], mark: Mark, from: f64, to: f64) -> u64 {
    marks.iter().filter(|m| m.mark == mark && from <= m.time && m.time < to).count() as u64
}

/// End of the last OFF of a port [ps]; NaN if it was never stopped.
pub fn last_off(run: &Observed, port: &str) -> f64 {
    run.offs(port).last().map_or(f64::NAN, |off| off.1)
}

/// When P2 has its queue behind it: the first sample below 5 KB after its last OFF [ps]; the last OFF if there is none.
pub fn drained(run: &Observed) -> f64 {
    let off = last_off(run, P2);
    run.egress(P2).iter().find(|p| p.0 > off && p.1 < 5e3).map_or(off, |p| p.0)
}

/// Mean rate of P2 in the millisecond after that [bit/s].
pub fn rate_after(run: &Observed) -> f64 {
    let from = drained(run);
    lab::mean(&run.port_rate(P2, RateSource::Measured), from, from + lab::ms(1.0))
}

/// Part of F1: the rate that is not F0's or F2's at their receiver [bit/s].
pub fn f1_after(run: &Observed) -> f64 {
    let from = drained(run);
    let flows = Flows::of(run);
    let of = |flow| lab::mean(&run.flow_rate(flow, RateSource::Measured), from, from + lab::ms(1.0));
    (rate_after(run) - of(flows.f0) - of(flows.f2)).max(0.0)
}

/// P2's queue after that: smallest and largest sample to the end [bytes].
pub fn queue_after(run: &Observed) -> (f64, f64) {
    lab::range(&run.egress(P2), drained(run), lab::ps(run.outcome.now))
}

/// A count of marks that must be there.
pub fn some(what: impl Into<String>, n: u64) -> Check {
    Check::some(what, "frames", n).claimed()
}

/// A count of marks that must not be there.
pub fn none(what: impl Into<String>, n: u64) -> Check {
    Check::none(what, "frames", n).claimed()
}

/// Stretches of states as lanes, one row a port.
pub fn state_lanes(run: &Observed, ports: &[(&str, &str)], until: f64) -> Vec<LaneGroup> {
    let kinds = [
        (PortState::NonCongestion, "non-congestion", Colour::Green),
        (PortState::Undetermined, "undetermined", Colour::Orange),
        (PortState::Congestion, "congestion", Colour::Vermilion),
    ];
    kinds
        .into_iter()
        .map(|(kind, name, colour)| {
            let mut stretches = Vec::new();
            for (row, (_, port)) in ports.iter().enumerate() {
                let states = run.states(port);
                let ends = states.iter().skip(1).map(|s| s.0).chain([until]);
                let all = states.iter().zip(ends).filter(|(s, _)| s.1 == kind && s.0 < until);
                stretches.extend(all.map(|(s, end)| (row, s.0, end.min(until))));
            }
            LaneGroup::new(name, stretches).colour(colour)
        })
        .collect()
}

/// Marks as lanes: each a frame long, one row per port or flow as chosen by `row`.
pub fn mark_lanes(marks: impl IntoIterator<Item = (usize, Marked)>, until: f64) -> Vec<LaneGroup> {
    // 1000 B at 40 Gb/s.
    let frame = lab::us(0.2);
    let (mut ue, mut ce) = (Vec::new(), Vec::new());
    for (row, m) in marks.into_iter().filter(|(_, m)| m.time < until) {
        if m.mark == Mark::Ce { &mut ce } else { &mut ue }.push((row, m.time, m.time + frame));
    }
    let groups = [LaneGroup::new("UE", ue).colour(Colour::Sky), LaneGroup::new("CE", ce).colour(Colour::Purple)];
    groups.into_iter().filter(|g| !g.stretches.is_empty()).collect()
}

/// A port's marks, one row a flow.
pub fn marks_by_flow(title: &str, run: &Observed, port: &str, until: f64) -> Panel {
    let flows = Flows::of(run).named();
    let marks = run.marks(port).into_iter().filter_map(|m| Some((flows.iter().position(|f| f.1 == m.flow)?, m)));
    let lanes = xoff_report::Mark::lanes(flows.map(|f| f.0), mark_lanes(marks, until));
    Panel::new(title, time(until), Axis::new("", Unit::None)).mark(lanes)
}

/// The axis of time.
pub fn time(until: f64) -> Axis {
    Axis::new("Time", Unit::Picoseconds).range(0.0, until)
}

/// Points up to a time.
pub fn first(points: lab::Points, until: f64) -> impl Iterator<Item = (f64, f64)> {
    points.into_iter().filter(move |p| p.0 <= until)
}

/// Marks by port, flow and kind.
pub fn marks_table(runs: &[(&str, &Observed)]) -> Table {
    let mut table =
        Table::new(["Run", "Port", "CE on F0", "CE on F1", "CE on F2", "CE on bursts", "UE on F0", "UE on F1", "UE on F2", "UE on bursts"])
            .align([Align::Left, Align::Left].into_iter().chain([Align::Right; 8]))
            .caption("Frames that each port marked.");
    for (name, run) in runs {
        let flows = Flows::of(run).named();
        for (port, at) in PORTS {
            let marks = run.marks(at);
            let mut row = vec![Cell::from(*name), Cell::from(port)];
            for kind in [Mark::Ce, Mark::Ue] {
                for (_, flow) in flows {
                    row.push((marks.iter().filter(|m| m.mark == kind && m.flow == flow).count() as u64).into());
                }
                row.push((marks.iter().filter(|m| m.mark == kind && flows.iter().all(|f| f.1 != m.flow)).count() as u64).into());
            }
            table.push(row);
        }
    }
    table
}
