//! One figure of each kind and a report, all from synthetic data, for looking at.
//!
//! ```text
//! cargo run --release -p xoff-report --example gallery -- FOLDER
//! ```

use std::path::PathBuf;
use xoff_report::{Align, Axis, Bar, BarGroup, Card, Cell, Colour, Figure, HeatCell, Mark, Panel, Report, Section, Table, Tone, Unit};

const NOTE: &str = "SYNTHETIC DATA, drawn to test the layout. Not a measurement.";
const US: f64 = 1e6;
const MS: f64 = 1e9;
const GBPS: f64 = 1e9;
const KB: f64 = 1e3;

/// Noise that is the same everywhere, -0.5 .. 0.5 (the SplitMix64 finalizer).
fn noise(i: usize) -> f64 {
    let mut z = (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64 - 0.5
}

fn evolution() -> Figure {
    let pfc_rate = (0..40).map(|i| (f64::from(i) * 27.4 * US, if i % 2 == 0 { 10.0 * GBPS } else { 0.0 }));
    let gfc_rate = (0..400).map(|i| (f64::from(i) * 2.7 * US, (5.0 + 5.0 * (-f64::from(i) / 30.0).exp()) * GBPS));
    let pfc_queue = (0..400).map(|i| {
        let t = f64::from(i) * 2.7;
        let swing = ((t / 27.4) % 2.0 - 1.0).abs();
        (t * US, if t < 80.0 { t / 80.0 * 95.6 * KB } else { (61.4 + 34.2 * swing) * KB })
    });
    let gfc_queue = (0..400).map(|i| {
        let t = f64::from(i) * 2.7;
        (t * US, if t < 110.0 { (78.0 * t / 110.0) * KB } else { (75.0 + 3.0 * (-(t - 110.0) / 80.0).exp()) * KB })
    });
    Figure::new("Two senders into one port: input rate and queue length")
        .caption("PFC alternates between line rate and silence; GFC settles at the draining rate. Both hold the same mean rate.")
        .note(NOTE)
        .panel(
            Panel::new("Input rate", Axis::new("Time", Unit::Picoseconds), Axis::new("Rate", Unit::BitsPerSecond))
                .mark(Mark::steps("PFC", pfc_rate).colour(Colour::Vermilion))
                .mark(Mark::line("GFC, conceptual", gfc_rate).colour(Colour::Blue))
                .mark(Mark::hline(5.0 * GBPS, "paper: 5 Gb/s")),
        )
        .panel(
            Panel::new("Queue length", Axis::new("Time", Unit::Picoseconds), Axis::new("Queue", Unit::Bytes))
                .mark(Mark::line("PFC", pfc_queue).colour(Colour::Vermilion))
                .mark(Mark::line("GFC, conceptual", gfc_queue).colour(Colour::Blue))
                .mark(Mark::hline(80.0 * KB, "XOFF 80 KB"))
                .mark(Mark::hband(74.0 * KB, 76.0 * KB, "expected for GFC: 75 ± 1 KB")),
        )
}

fn deadlock() -> Figure {
    let rate = |scheme: usize| {
        (0..200_000).map(move |i| {
            let t = i as f64 * 1e-4;
            let value = match scheme {
                0 if t > 2.9 => 0.0,
                0 if (i / 548) % 2 == 0 => 10.0,
                0 => 0.0,
                _ => 5.0 + 5.0 * (-t / 0.4).exp() + 0.15 * noise(i),
            };
            (t * MS, value * GBPS)
        })
    };
    let queue = |scheme: usize| {
        (0..200_000).map(move |i| {
            let t = i as f64 * 1e-4;
            let value = match scheme {
                0 if t > 2.9 => 913.0,
                0 => (800.0 * t / 1.1).min(800.0) + 100.0 * noise(i) * (t / 1.1).min(1.0),
                _ => 840.0 - 840.0 * (-t / 0.35).exp() + 70.0 * (-(t - 1.4) * (t - 1.4) / 0.05).exp(),
            };
            (t * MS, value * KB)
        })
    };
    let time = || Axis::new("Time", Unit::Picoseconds);
    let panel = |title: &str, y: Axis| Panel::new(title, time(), y).height(150);
    Figure::new("Three-switch ring, port towards H1: PFC stands still, buffer-based GFC does not")
        .caption("200,000 samples a series; every extreme survives the reduction.")
        .note(NOTE)
        .columns(2)
        .panel(
            panel("(a) PFC", Axis::new("Input rate", Unit::BitsPerSecond))
                .mark(Mark::steps("rate", rate(0)))
                .mark(Mark::vline(2.9 * MS, "deadlock at 2.9 ms").colour(Colour::Vermilion)),
        )
        .panel(
            panel("(b) buffer-based GFC", Axis::new("Input rate", Unit::BitsPerSecond))
                .mark(Mark::line("rate", rate(1)))
                .mark(Mark::hband(4.9 * GBPS, 5.1 * GBPS, "expected 5.0 ± 0.1 Gb/s")),
        )
        .panel(
            panel("", Axis::new("Queue length", Unit::Bytes))
                .mark(Mark::line("queue", queue(0)))
                .mark(Mark::hline(800.0 * KB, "XOFF 800 KB"))
                .mark(Mark::vline(2.9 * MS, "deadlock at 2.9 ms").colour(Colour::Vermilion)),
        )
        .panel(
            panel("", Axis::new("Queue length", Unit::Bytes))
                .mark(Mark::line("queue", queue(1)))
                .mark(Mark::hline(884.0 * KB, "paper: peak 884 KB"))
                .mark(Mark::hline(840.0 * KB, "paper: steady 840 KB")),
        )
}

fn hand_over() -> Figure {
    let dcqcn = (0..600).map(|i| {
        let t = f64::from(i) * 0.02;
        (t * MS, (10.0 * (-t / 1.2).exp()).max(1.1 + 0.15 * (t * 3.0).sin()) * GBPS)
    });
    let gfc = [(0.0, 10.0), (0.26, 5.0), (0.31, 2.5), (0.4, 1.25), (5.0, 2.5), (5.4, 5.0), (5.6, 10.0), (12.0, 10.0)];
    let queue = (0..600).map(|i| {
        let t = f64::from(i) * 0.02;
        (
            t * MS,
            if t < 0.3 {
                950.0 * t
            } else if t < 4.0 {
                289.0 + 2.0 * noise(i as usize)
            } else {
                (289.0 - 60.0 * (t - 4.0)).max(24.0)
            } * KB,
        )
    });
    let axis = Axis::new("Rate", Unit::BitsPerSecond);
    Figure::new("GFC as a safeguard under DCQCN: host H1 of an 8-to-1 incast")
        .caption("The lower of the two rates decides. After the hand-over GFC is out of the way.")
        .note(NOTE)
        .panel(
            Panel::new("", Axis::new("Time", Unit::Picoseconds), axis)
                .height(230)
                .second_y(Axis::new("Ingress queue", Unit::Bytes).range(0.0, 400.0 * KB))
                .mark(Mark::vband(0.26 * MS, 4.4 * MS, "GFC governs"))
                .mark(Mark::line("DCQCN rate", dcqcn))
                .mark(Mark::steps("GFC rate", gfc.map(|(t, g)| (t * MS, g * GBPS))))
                .mark(Mark::line("queue", queue).on_second_axis().dashed())
                .mark(Mark::hline(1.25 * GBPS, "paper: 1.25 Gb/s")),
        )
}

fn table_one() -> Figure {
    let group = |name: &str, colour, values: [(f64, f64, f64); 3]| {
        let paper = if name.starts_with("GFC") { [0.0; 3] } else { [0.0032, 0.0012, 0.0002] };
        let bars = values.into_iter().zip(paper).map(|((v, l, h), p)| Bar::with_interval(v, l, h).reference(p));
        BarGroup::new(name, bars).colour(colour)
    };
    let none = [(0.0, 0.0, 0.0004), (0.0, 0.0, 0.0004), (0.0, 0.0, 0.0128)];
    Figure::new("Networks that deadlock, share of all generated")
        .caption("Bars: share of networks in which any run stood still, with 95 % Wilson intervals.")
        .note(NOTE)
        .panel(
            Panel::new("", Axis::new("", Unit::None), Axis::new("Deadlocked networks", Unit::Fraction)).height(220).mark(
                Mark::bars(
                    ["fat-tree k = 4 (10,000 networks)", "fat-tree k = 8 (10,000 networks)", "fat-tree k = 16 (300 networks)"],
                    [
                        group("PFC", Colour::Vermilion, [(0.0031, 0.0022, 0.0044), (0.0013, 0.0008, 0.0022), (0.0033, 0.0006, 0.0186)]),
                        group("CBFC", Colour::Orange, [(0.0030, 0.0021, 0.0043), (0.0012, 0.0007, 0.0021), (0.0033, 0.0006, 0.0186)]),
                        group("GFC, buffer", Colour::Blue, none),
                        group("GFC, time", Colour::Sky, none),
                    ],
                )
                .bar_reference("paper"),
            ),
        )
}

fn overhead() -> Figure {
    let samples = |shift: f64| (0..20_000).map(move |i| 0.0021 + shift + 0.0009 * (noise(i) + noise(i + 30_000) + noise(i + 60_000)));
    Figure::new("Bandwidth taken by GFC messages, per port and 500 us").note(NOTE).panel(
        Panel::new("", Axis::new("Share of the link", Unit::Fraction), Axis::new("Share of samples", Unit::Fraction).range(0.0, 1.0))
            .mark(Mark::cdf("buffer-based GFC, hysteresis 0", samples(0.0)))
            .mark(Mark::cdf("buffer-based GFC, hysteresis 2 MTU", samples(-0.0007)).dashed())
            .mark(Mark::vline(0.0021, "paper: mean 0.21 %"))
            .mark(Mark::vline(0.0049, "paper: maximum 0.49 %")),
    )
}

fn slowdown() -> Figure {
    let cloud = |k: f64, seed: usize| {
        (0..30_000).map(move |i| {
            let size = 10f64.powf(2.2 + 5.2 * (noise(i + seed) + 0.5));
            (size, 1.0 + k * (noise(i * 3 + seed + 1_000_000) + 0.5).powi(4) * (1.0 + 4e5 / size).ln())
        })
    };
    let log = |label: &str, unit| Axis::new(label, unit).log();
    Figure::new("Slowdown against flow size, with its 99th percentile").caption("Both axes are logarithmic.").note(NOTE).panel(
        Panel::new("", log("Flow size", Unit::Bytes), log("Slowdown", Unit::Other("times the unloaded time".into())))
            .height(220)
            .mark(Mark::points("PFC", cloud(9.0, 1)).colour(Colour::Vermilion))
            .mark(Mark::points("GFC, buffer", cloud(3.0, 5)).colour(Colour::Blue))
            .mark(
                Mark::line("p99, PFC", (0..30).map(|i| (10f64.powf(2.2 + 0.18 * f64::from(i)), 60.0 / (1.0 + f64::from(i) * 0.6))))
                    .colour(Colour::Orange),
            ),
    )
}

fn matrix() -> Figure {
    let rows = ["PFC", "CBFC", "GFC, buffer", "GFC, time", "GFC, conceptual"];
    let columns = ["arrival-order FIFO", "round robin", "DRR", "input FIFO", "round robin, jitter 20-90 us"];
    let dead = |t: &str| HeatCell::new(Tone::Bad, "deadlock").detail(format!("at {t}"));
    let fine = |r: &str| HeatCell::new(Tone::Good, format!("{r} Gb/s")).detail("no deadlock");
    let slow = |r: &str| HeatCell::new(Tone::Caution, format!("{r} Gb/s")).detail("slow progress");
    let cells = vec![
        vec![dead("2.9 ms"), fine("5.00"), fine("5.00"), dead("3.4 ms"), dead("41 ms (3 of 20 runs)")],
        vec![dead("24 ms"), fine("5.00"), fine("5.00"), dead("19 ms"), dead("33 ms (5 of 20 runs)")],
        vec![slow("0.17"), fine("5.00"), fine("5.00"), slow("0.21"), fine("4.98")],
        vec![slow("0.22"), fine("5.00"), fine("5.00"), slow("0.19"), fine("4.99")],
        vec![slow("0.15"), fine("5.00"), fine("5.00"), HeatCell::new(Tone::Neutral, "not run"), fine("5.01")],
    ];
    let share = |v: f64| HeatCell::with_level(v, format!("{:.0} %", v * 100.0));
    let shares = (0..3).map(|r| (0..8).map(|c| share(f64::from(r * 8 + c) / 23.0)).collect()).collect();
    let none = || Axis::new("", Unit::None);
    Figure::new("Which settings give the paper's pair?")
        .caption("Flow control against egress discipline in the three-switch ring, synchronous starts.")
        .note(NOTE)
        .panel(Panel::new("Outcome after 60 ms", none(), none()).mark(Mark::heatmap(rows, columns, cells).legend([
            (Tone::Good, "full rate"),
            (Tone::Caution, "progress below 1 Gb/s"),
            (Tone::Bad, "deadlock"),
            (Tone::Neutral, "not run"),
        ])))
        .panel(Panel::new("Share of runs in which round robin deadlocks, by jitter and start offset", none(), none()).mark(Mark::heatmap(
            ["0-20 us", "0-50 us", "0-90 us"],
            (0..8).map(|c| format!("{} us", c * 10)),
            shares,
        )))
}

fn edge_cases() -> Figure {
    let time = || Axis::new("Time", Unit::Picoseconds);
    Figure::new("What a figure does when there is little or nothing to show <&>")
        .note(NOTE)
        .columns(2)
        .panel(Panel::new("Empty series", time(), Axis::new("Rate", Unit::BitsPerSecond)).height(90).mark(Mark::line("GFC", [])))
        .panel(
            Panel::new("A single point", time(), Axis::new("Queue", Unit::Bytes))
                .height(90)
                .mark(Mark::line("queue", [(3.0 * MS, 5.0 * KB)])),
        )
        .panel(Panel::new("Gaps", Axis::new("Sample", Unit::None), Axis::new("Value", Unit::None)).height(90).mark(Mark::line(
            "with NaN",
            (0..60).map(|i| (f64::from(i), if (20..30).contains(&i) { f64::NAN } else { f64::from(i).sin() })),
        )))
        .panel(
            Panel::new("Huge values", Axis::new("Index", Unit::None), Axis::new("Value", Unit::None).log())
                .height(90)
                .mark(Mark::line("10^(10 i)", (0..30).map(|i| (f64::from(i), 10f64.powi(i * 10))))),
        )
        .panel(
            Panel::new("Long category names", Axis::new("", Unit::None), Axis::new("Messages", Unit::Other("messages".into())))
                .height(90)
                .mark(Mark::bars(
                    ["dcqcn-hpcc-variant", "dcqcn-ns3-rdma", "timely", "ib-congestion-control", "none"],
                    [BarGroup::new("a port", [1234.0, 55_000.0, f64::NAN, 0.0, 23.0].map(Bar::new))],
                )),
        )
        .panel(
            Panel::new("Many series", time(), Axis::new("Rate", Unit::BitsPerSecond))
                .height(90)
                .mark(Mark::hline(5.0 * GBPS, "fair"))
                .marks((0..9).map(|k| {
                    Mark::line(
                        format!("flow {k}"),
                        (0..50).map(move |i| (f64::from(i) * MS, (5.0 + f64::from(k - 4) * (-f64::from(i) / 20.0).exp()) * GBPS)),
                    )
                })),
        )
}

fn report(figures: &[(&str, Figure)]) -> Report {
    let verdicts = Table::new(["Entry", "Paper", "Measured", "Band", "Verdict", "Assumptions"])
        .align([Align::Left, Align::Right, Align::Right, Align::Right, Align::Left, Align::Left])
        .row([
            Cell::link("Fig. 5, GFC queue", "#s1"),
            "75 KB".into(),
            "75.0 KB".into(),
            "74 .. 76 KB".into(),
            Cell::badge(Tone::Good, "reproduced"),
            "packets of 1500 B".into(),
        ])
        .row([
            Cell::link("Fig. 9, PFC", "#s2"),
            "deadlock".into(),
            "2.9 ms".into(),
            "< 20 ms".into(),
            Cell::badge(Tone::Caution, "reproduced under assumption"),
            "egress discipline `fifo`".into(),
        ])
        .row([
            Cell::link("Sec. 5.4, stages", "#s3"),
            "18".into(),
            "17".into(),
            "17".into(),
            Cell::badge(Tone::Bad, "not reproduced"),
            "formula and printed number disagree".into(),
        ]);
    let parameters = Table::new(["Parameter", "Value", "Origin"])
        .row([Cell::code("flow_control.pfc.xoff"), "800 KB".into(), "paper, section 6.1".into()])
        .row([Cell::code("flow_control.pfc.xon"), "797 KB".into(), "default: XOFF - 2 MTU".into()])
        .row([Cell::code("run.seed"), "1".into(), "command line".into()]);
    let mut report = Report::new("Gallery: the ring under four flow controls (synthetic data)")
        .lead("This page shows every kind of figure with invented numbers. None of it was measured. It exists to look at the layout.")
        .cards([
            Card::new("Frames lost", "0").note("of 12,345,678 sent").tone(Tone::Good),
            Card::new("Deadlocks", "2 of 4").note("PFC at 2.9 ms, CBFC at 24 ms").tone(Tone::Bad),
            Card::new("Peak queue", "884 KB").note("S1 port 2").tone(Tone::Info),
            Card::new("Entries", "14 / 16").note("2 under a stated assumption").tone(Tone::Caution),
        ])
        .verdicts(verdicts)
        .details("Parameters", parameters)
        .provenance("xoff", "0.1.0")
        .provenance("seed", "1")
        .provenance("result hash", "9f2c4be1a07d5e3399f2c4be1a07d5e3");
    for (name, figure) in figures {
        let mut section = Section::new(figure.title.clone()).text(format!("Drawn from `{name}`."));
        if *name == "deadlock" {
            section = section
                .badge(Tone::Bad, "deadlock")
                .pre("S1:p2 waits for S2:p1   (paused since 2.871 ms, 913 KB held)\nS2:p2 waits for S3:p1   (paused since 2.884 ms, 912 KB held)\nS3:p2 waits for S1:p1   (paused since 2.902 ms, 913 KB held)");
        }
        report = report.section(section.figure(figure));
    }
    report
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = PathBuf::from(std::env::args_os().nth(1).ok_or("usage: gallery FOLDER")?);
    std::fs::create_dir_all(&folder)?;
    let figures = [
        ("evolution", evolution()),
        ("deadlock", deadlock()),
        ("hand-over", hand_over()),
        ("table-one", table_one()),
        ("overhead", overhead()),
        ("slowdown", slowdown()),
        ("matrix", matrix()),
        ("edge-cases", edge_cases()),
    ];
    for (name, figure) in &figures {
        figure.write_svg(folder.join(format!("{name}.svg")))?;
    }
    report(&figures).write(folder.join("gallery.html"))?;
    eprintln!("{} figures and gallery.html in {}", figures.len(), folder.display());
    Ok(())
}
