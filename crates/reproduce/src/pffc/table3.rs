//! Table 3: what control frames take of the link.

use xoff_report::{Align, Axis, Bar, BarGroup, Figure, Mark, Panel, Table, Unit};

use super::run::{LINE, PFC, PFFC, Scheme, TAU, broken, hop_bytes, run};
use super::thresholds::SCENARIO;
use crate::lab::{self, Observed};
use crate::{Check, Context, Findings, ReproduceError};

/// Frames of Table 3, the share of the link beside them, and the Mbytes.
const PAPER: [(Scheme, u64, f64, f64); 2] = [(PFC, 156_461, 0.0040, 100e6), (PFFC, 211_010, 0.0054, 135e6)];
/// The smallest Ethernet frame [bytes].
const FRAME: u64 = 64;
/// How long the measurement lasted, by both rows [s].
const LASTED: f64 = 2.0;
/// Assumption behind the shares.
const TWO_SECONDS: &str = "the measurement lasted 2.0 s";

/// Share of a 10 Gb/s link that frames of 64 B take in so many seconds.
fn share(frames: u64, seconds: f64) -> f64 {
    (frames * FRAME * 8) as f64 / (LINE.as_f64() * seconds)
}

/// Xon_s, XON of the runs, as tenths of Xoff_s. The paper names none; half is what the entry is about.
const TENTHS: [u64; 4] = [2, 5, 8, 9];
const OWN: usize = 1;

/// The entry `table3`.
pub fn run_table(cx: &Context) -> Result<Findings, ReproduceError> {
    let seconds = cx.mode.pick(0.1, LASTED);
    let xoff = 2 * hop_bytes().0;
    let jobs: Vec<(u64, Scheme)> = TENTHS.iter().flat_map(|t| PAPER.map(|p| (*t, p.0))).collect();
    let runs = cx.parallel(&jobs, |&(tenths, scheme)| {
        let xon = xoff * tenths / 10;
        let names = if scheme == PFC { ["pfc.xoff", "pfc.xon"] } else { ["pffc.xoff_s", "pffc.xon_s"] };
        let settings = [
            format!("flow_control.{}={xoff}B", names[0]),
            format!("flow_control.{}={xon}B", names[1]),
            format!("run.duration={}us", (seconds * 1e6) as u64),
            "probes.interval=0us".to_owned(),
            "probes.flow_rates=false".to_owned(),
        ];
        run(cx, SCENARIO, scheme, &settings)
    })?;
    let frames = |r: &Observed| r.totals("S2->S1").messages_sent;
    let of = |which: usize, scheme: usize| &runs[which * PAPER.len() + scheme];
    let ratio = |which: usize| frames(of(which, 1)) as f64 / frames(of(which, 0)) as f64;
    let printed = PAPER[1].1 as f64 / PAPER[0].1 as f64;
    let mut checks = Vec::new();
    for (scheme, count, overhead, _) in PAPER {
        let what = format!("{}: {count} frames of 64 B over 2.0 s at 10 Gb/s", scheme.title);
        // Printed with two digits of a per cent.
        let half = 0.00005;
        checks.push(
            Check::new(what, Unit::Fraction, share(count, LASTED), overhead - half, overhead + half).paper(overhead).assuming(TWO_SECONDS),
        );
    }
    checks.push(Check::new("PFFC over PFC, control frames", Unit::None, ratio(OWN), 1.0, 2.0).beside(printed).assuming(super::run::SHAPE));
    for (n, (scheme, _, overhead, _)) in PAPER.iter().enumerate() {
        let what = format!("{}: share of the link", scheme.title);
        let measured = share(frames(of(OWN, n)), seconds);
        checks.push(Check::new(what, Unit::Fraction, measured, 0.0, 0.01).beside(*overhead).assuming(super::run::SHAPE));
    }
    checks.push(Check::none("frames lost or out of order, all runs", "frames", runs.iter().map(broken).sum()));
    let mut table = Table::new(["Xon over Xoff", "PFC frames", "share of the link", "PFFC frames", "share of the link", "PFFC over PFC"])
        .align([Align::Right; 6]);
    for (which, tenths) in TENTHS.iter().enumerate() {
        let cell = |n: usize| {
            let count = frames(of(which, n));
            [count.to_string(), Unit::Fraction.format(share(count, seconds))]
        };
        let [a, b] = [cell(0), cell(1)];
        table.push([format!("0.{tenths}")].into_iter().chain(a).chain(b).chain([format!("{:.3}", ratio(which))]));
    }
    table.push([
        "paper".to_owned(),
        PAPER[0].1.to_string(),
        Unit::Fraction.format(PAPER[0].2),
        PAPER[1].1.to_string(),
        Unit::Fraction.format(PAPER[1].2),
        format!("{printed:.3}"),
    ]);
    let table = table.caption(format!("Control frames from S2 to S1 in {seconds} s; Xoff is {} in both.", lab::bytes(xoff as f64)));
    let group = |n: usize| {
        let bars = (0..TENTHS.len()).map(|which| Bar::new(share(frames(of(which, n)), seconds)).reference(PAPER[n].2));
        BarGroup::new(PAPER[n].0.title, bars).colour(PAPER[n].0.colour)
    };
    let panel =
        Panel::new("", Axis::new("Resume threshold over pause threshold", Unit::None), Axis::new("Share of the link", Unit::Fraction))
            .mark(Mark::bars(TENTHS.map(|t| format!("0.{t}")), [group(0), group(1)]).bar_reference("paper"));
    let figure = Figure::new("What control frames take of the link (Table 3)")
        .caption("The paper names no thresholds: the count depends on how far apart they are, the ratio hardly does.")
        .panel(panel);
    let measured = format!(
        "Paper's frames x 64 B over 2.0 s: {} and {}. Measured: PFC {}, PFFC {}, ratio {:.2} (paper {printed:.2}).",
        Unit::Fraction.format(share(PAPER[0].1, LASTED)),
        Unit::Fraction.format(share(PAPER[1].1, LASTED)),
        Unit::Fraction.format(share(frames(of(OWN, 0)), seconds)),
        Unit::Fraction.format(share(frames(of(OWN, 1)), seconds)),
        ratio(OWN)
    );
    let rate = |n: usize| PAPER[n].1 as f64 / LASTED;
    // A pause and its end are two frames of PFC and four of PFFC.
    let cycle = |n: usize, per: f64| 1e12 / (rate(n) / per);
    let notes = vec![format!(
        "PFC says PAUSE and RESUME, PFFC says MIGRATE and MIGRATE-BACK besides: where both stop equally often the ratio is 2, and it is {:.2} to {:.2} here. The paper's {printed:.2} means that its PFFC stopped less often: once in {}, its PFC once in {}. tau is {} here.",
        (0..TENTHS.len()).map(ratio).fold(f64::INFINITY, f64::min),
        (0..TENTHS.len()).map(ratio).fold(0.0, f64::max),
        lab::time(cycle(1, 4.0)),
        lab::time(cycle(0, 2.0)),
        lab::time(TAU.0 as f64)
    )];
    Ok(Findings { measured, checks, figures: vec![figure], tables: vec![table], notes, ..Findings::default() })
}

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
            "{}: {} is a tenth of what is printed, {:.3} of it; and {} over 2.0 s would be {} of 10 Gb/s, where {} is printed. The decimal point is lost.",
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
        .caption("What is printed is ten times what the printed frames weigh.")
        .panel(panel);
    let measured = PAPER.map(|p| format!("{}: {}", p.0.title, lab::bytes((p.1 * FRAME) as f64))).join(", ") + ".";
    Ok(Findings { measured, checks, figures: vec![figure], tables: vec![table], why, ..Findings::default() })
}
