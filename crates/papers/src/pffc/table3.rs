//! Table 3: what control frames take of the link.

use xoff_report::{Align, Axis, Bar, BarGroup, Figure, Mark, Panel, Table, Unit};

use super::run::{LINE, PFC, PFFC, Scheme, broken, hop_bytes, run};
use super::thresholds::TWO;
use crate::lab;
use crate::{Check, Context, Findings, ReproduceError};

/// Frames of Table 3, the share of the link next to them, and the Mbytes.
const PAPER: [(Scheme, u64, f64, f64); 2] = [(PFC, 156_461, 0.0040, 100e6), (PFFC, 211_010, 0.0054, 135e6)];
/// The smallest Ethernet frame [bytes].
const FRAME: u64 = 64;
/// Duration of the measurement, by both rows [s].
const LASTED: f64 = 2.0;
/// Assumption behind the shares.
const TWO_SECONDS: &str = "the measurement lasted 2.0 s";

/// Share of a 10 Gb/s link that frames of 64 B take in so many seconds.
fn share(frames: u64, seconds: f64) -> f64 {
    (frames * FRAME * 8) as f64 / (LINE.as_f64() * seconds)
}

/// Distance of XON from XOFF, of Xon_s from Xoff_s [bytes]. The paper names none; half of Xoff_s is PFFC's default.
const GAPS: [u64; 14] = [500, 1_500, 2_000, 3_000, 3_500, 4_000, 4_500, 5_000, 6_000, 7_500, 9_250, 12_000, 15_000, 18_500];
const OWN: u64 = 9_250;

/// The entry `table3`.
pub fn run_table(cx: &Context) -> Result<Findings, ReproduceError> {
    let seconds = cx.mode.pick(0.1, LASTED);
    let xoff = 2 * hop_bytes().0;
    let jobs: Vec<(u64, Scheme)> = PAPER.iter().flat_map(|p| GAPS.map(|g| (g, p.0))).collect();
    let runs = cx.parallel(&jobs, |&(gap, scheme)| {
        let names = if scheme == PFC { ["pfc.xoff", "pfc.xon"] } else { ["pffc.xoff_s", "pffc.xon_s"] };
        let settings = [
            format!("flow_control.{}={xoff}B", names[0]),
            format!("flow_control.{}={}B", names[1], xoff - gap),
            format!("run.duration={}us", (seconds * 1e6) as u64),
            "probes.interval=0us".to_owned(),
            "probes.flow_rates=false".to_owned(),
        ];
        run(cx, TWO, scheme, &settings)
    })?;
    let frames = |n: usize, gap: u64| {
        let at = jobs.iter().position(|j| *j == (gap, PAPER[n].0)).expect("a gap of the table");
        runs[at].totals("S2->S1").messages_sent
    };
    let part = |n: usize, gap: u64| share(frames(n, gap), seconds);
    let ratio = |gap: u64| frames(1, gap) as f64 / frames(0, gap) as f64;
    let printed = PAPER[1].1 as f64 / PAPER[0].1 as f64;
    // Where a scheme comes closest to its share of the paper.
    let closest = |n: usize| {
        let off = |gap: &u64| (part(n, *gap) - PAPER[n].2).abs();
        GAPS.into_iter().min_by(|a, b| off(a).total_cmp(&off(b))).expect("there are gaps")
    };
    let mut checks = Vec::new();
    for (scheme, count, overhead, _) in PAPER {
        let what = format!("{}: {count} frames of 64 B over 2.0 s at 10 Gb/s", scheme.title);
        // Printed with two digits of a per cent.
        let half = 0.00005;
        let c = Check::new(what, Unit::Fraction, share(count, LASTED), overhead - half, overhead + half);
        checks.push(c.paper(overhead).assuming(TWO_SECONDS));
    }
    for (n, (scheme, _, overhead, _)) in PAPER.iter().enumerate() {
        let gap = closest(n);
        let what = format!("{}: share of the link, thresholds {} apart", scheme.title, lab::bytes(gap as f64));
        let c = Check::near(what, Unit::Fraction, part(n, gap), *overhead, 0.1);
        checks
            .push(c.paper(*overhead).assuming("the distance of the thresholds is chosen for each scheme, so that its share comes closest"));
    }
    checks.push(Check::near("PFFC over PFC, the same thresholds", Unit::None, ratio(OWN), printed, RATIO).paper(printed));
    checks.push(Check::none("frames lost or out of order, all runs", "frames", runs.iter().map(broken).sum()));
    let mut table = Table::new(["Xoff - Xon", "PFC frames", "share of the link", "PFFC frames", "share of the link", "PFFC over PFC"])
        .align([Align::Right; 6]);
    for gap in GAPS {
        let cells = [0, 1].map(|n| [frames(n, gap).to_string(), Unit::Fraction.format(part(n, gap))]);
        table.push([lab::bytes(gap as f64)].into_iter().chain(cells.into_iter().flatten()).chain([format!("{:.3}", ratio(gap))]));
    }
    let cells = PAPER.map(|p| [p.1.to_string(), Unit::Fraction.format(p.2)]);
    table.push(["paper, 2 s".to_owned()].into_iter().chain(cells.into_iter().flatten()).chain([format!("{printed:.3}")]));
    let table = table.caption(format!("Control frames from S2 to S1 in {seconds} s; Xoff is {} for both.", lab::bytes(xoff as f64)));
    let figure = figure(part);
    let measured = format!(
        "Paper's frames x 64 B over 2.0 s: {} and {}. Same thresholds: PFC {}, PFFC {}, ratio {:.2} (paper {printed:.2}).",
        Unit::Fraction.format(share(PAPER[0].1, LASTED)),
        Unit::Fraction.format(share(PAPER[1].1, LASTED)),
        Unit::Fraction.format(part(0, OWN)),
        Unit::Fraction.format(part(1, OWN)),
        ratio(OWN)
    );
    // A stop is two frames of PFC and four of PFFC.
    let stops = |n: usize, per: f64| lab::time(1e12 * LASTED * per / PAPER[n].1 as f64);
    let all = || GAPS.into_iter().map(ratio);
    let why = vec![format!(
        "PFC sends PAUSE and RESUME, and PFFC also sends MIGRATE and MIGRATE-BACK. With the same thresholds both pause equally often, \
         and the ratio is {:.2} to {:.2} over all distances. The paper's {printed:.2} needs a PFFC that pauses less often than the PFC \
         it is compared with: once in {}, not in {}. Here PFC comes closest to its share with thresholds {} apart, and PFFC with {}; \
         frames are whole, so that the share changes in steps. The paper's ratio implies different thresholds, or flows that share a \
         pause queue.",
        all().fold(f64::INFINITY, f64::min),
        all().fold(0.0, f64::max),
        stops(1, 4.0),
        stops(0, 2.0),
        lab::bytes(closest(0) as f64),
        lab::bytes(closest(1) as f64)
    )];
    Ok(Findings { measured, checks, figures: vec![figure], tables: vec![table], why, ..Findings::default() })
}

/// Share of the link over the distance of the thresholds; `part` is that of a scheme and a distance.
fn figure(part: impl Fn(usize, u64) -> f64) -> Figure {
    let axis = Axis::new("Share of the link", Unit::Fraction);
    let mut panel = Panel::new("", Axis::new("Distance of the thresholds", Unit::Bytes), axis);
    for (n, (scheme, _, overhead, _)) in PAPER.iter().enumerate() {
        panel = panel
            .mark(Mark::line(scheme.title, GAPS.map(|g| (g as f64, part(n, g)))).colour(scheme.colour))
            .mark(Mark::hline(*overhead, format!("paper, {}: {}", scheme.title, Unit::Fraction.format(*overhead))));
    }
    Figure::new("Share of the link that control frames take (Table 3)")
        .caption("The paper names no thresholds. Their distance sets the share of both schemes, but hardly their ratio.")
        .panel(panel)
}

/// Tolerance of the ratio of Table 3, in the simulator and with real frames.
pub const RATIO: f64 = 0.1;

/// The entry `table3-bytes`.
pub fn run_bytes(_cx: &Context) -> Result<Findings, ReproduceError> {
    let mut table = Table::new(["Flow control", "Frames", "x 64 B", "Printed", "Printed / 10"]).align([
        Align::Left,
        Align::Right,
        Align::Right,
        Align::Right,
        Align::Right,
    ]);
    let mut checks = Vec::new();
    let mut why = Vec::new();
    for (scheme, count, overhead, printed) in PAPER {
        let bytes = (count * FRAME) as f64;
        // Printed as whole Mbytes.
        let what = format!("{}: {count} frames of 64 B", scheme.title);
        checks.push(Check::new(what, Unit::Bytes, bytes, printed - 0.5e6, printed + 0.5e6).paper(printed));
        table.push([scheme.title.to_owned(), count.to_string(), lab::bytes(bytes), lab::bytes(printed), lab::bytes(printed / 10.0)]);
        why.push(format!(
            "{}: {} is a tenth of the printed value, {:.3} of it; and {} over 2.0 s would be {} of 10 Gb/s, where {} is printed. The \
             decimal point was lost.",
            scheme.title,
            lab::bytes(bytes),
            bytes / printed,
            lab::bytes(printed),
            Unit::Fraction.format(printed * 8.0 / (LINE.as_f64() * LASTED)),
            Unit::Fraction.format(overhead)
        ));
    }
    let bars = |value: &dyn Fn(usize) -> f64| [0, 1].map(|n| Bar::new(value(n)));
    let panel = Panel::new("", Axis::new("", Unit::None), Axis::new("Bytes", Unit::Bytes)).mark(Mark::bars(
        PAPER.map(|p| p.0.title),
        [
            BarGroup::new("frames x 64 B", bars(&|n| (PAPER[n].1 * FRAME) as f64)),
            BarGroup::new("printed", bars(&|n| PAPER[n].3)),
            BarGroup::new("printed / 10", bars(&|n| PAPER[n].3 / 10.0)),
        ],
    ));
    let figure = Figure::new("Bytes of the control frames (Table 3)")
        .caption("The printed bytes are ten times those of the printed frames.")
        .panel(panel);
    let measured = PAPER.map(|p| format!("{}: {}", p.0.title, lab::bytes((p.1 * FRAME) as f64))).join(", ") + ".";
    Ok(Findings { measured, checks, figures: vec![figure], tables: vec![table], why, ..Findings::default() })
}
