//! Figs. 3 and 4: port P2 under ECN and FECN, with one and with two congestion points.

use xoff_mech::detection::Mark as Marking;
use xoff_report::{Align, Axis, Cell, Figure, Mark, Panel, Table, Unit};
use xoff_sim::RateSource;

use super::fig2::{self, BECN, DISCIPLINES, Detection, Fabric, Flows, Load, P1, P2, PAPER_PERIOD, READ, ROUNDS, Setup, VARIANTS};
use crate::lab::{self, Observed};
use crate::{Check, Context, Findings, ReproduceError};

/// The fabrics with the time at which the paper's P2 stops alternating [ms].
pub(super) const FABRICS: [(Fabric, f64); 2] = [(Fabric::Cee, 1.6), (Fabric::Ib, 4.0)];

/// The entry. Its InfiniBand has the paper's credit period.
pub fn run(cx: &Context) -> Result<Findings, ReproduceError> {
    let seen = observe(cx, Load::Single, true)?;
    let mut checks = Vec::new();
    for ((fabric, paper), run) in FABRICS.into_iter().zip(&seen.runs) {
        let name = fabric.name();
        let flows = Flows::of(run);
        checks.extend(course(fabric, paper, run));
        let (_, after) = fig2::queue_after(run);
        // F0 and F2, and what F1 sends again by then.
        checks.push(
            Check::new(
                format!("{name}: rate of P2 in the millisecond after it is drained"),
                Unit::BitsPerSecond,
                fig2::rate_after(run),
                9.5e9,
                11e9,
            )
            .paper(10e9)
            .assuming(assumption(fabric)),
        );
        checks.push(
            Check::new(format!("{name}: longest queue of P2 once it is drained"), Unit::Bytes, after, 0.0, 5e3)
                .claimed()
                .assuming(assumption(fabric)),
        );
        let of = |flow| fig2::count(run, P2, flow, Marking::Ce);
        checks.push(fig2::some(format!("{name}: wrong marks of P2 on F0"), of(flows.f0)).assuming(assumption(fabric)));
        checks.push(fig2::some(format!("{name}: wrong marks of P2 on F1"), of(flows.f1)).assuming(assumption(fabric)));
    }
    let ib = &seen.runs[1];
    let p1 = fig2::count(ib, P1, Flows::of(ib).f2, Marking::Ce);
    checks.push(fig2::some("InfiniBand: wrong marks of P1 on F2", p1).assuming(BECN));
    let mut why = seen.why;
    let off = fig2::last_off(&seen.runs[0], P2);
    why.insert(
        0,
        format!(
            "CEE: {} instead of 1.6 ms is the time that P3 needs for the bytes that F1 has sent before its slowdown: {} at F1's share \
             of 2.5 Gb/s. One CNP (50 us) more or less shifts it by 0.4 to 0.8 ms, because F1 sends at 20 to 40 Gb/s at the time.",
            lab::time(off),
            lab::bytes(off / 1e12 * 2.5e9 / 8.0)
        ),
    );
    why.push(format!(
        "InfiniBand: with the paper's period of {PAPER_PERIOD} and 280 KB every busy port runs out of credits once per period. P3 \
         therefore sends {}, and the bursts last longer: {} until the release of P2, near the paper's 4 ms. With shorter periods P3 has \
         its full rate, and P2 is released soon after 3 ms (table).",
        lab::rate(lab::mean(&ib.port_rate(fig2::P3, RateSource::Measured), lab::ms(0.5), lab::ms(3.0))),
        lab::time(fig2::last_off(ib, P2))
    ));
    let measured = summary(&seen.runs);
    let figure = figure(
        "Single congestion point: port P2 (paper: Fig. 3)",
        "P2 carries 12.5 Gb/s and is paused because of P3. The paper: more than 500 KB wait at P2, and F0 and part of F1 are marked \
         although P2 is not congested. P2 alternates until 1.6 ms (CEE) or 4 ms (InfiniBand), then sends 10 Gb/s and drains.",
        &seen.runs,
    );
    Ok(Findings { measured, checks, figures: vec![figure], tables: seen.tables, why, ..Findings::default() })
}

/// Runs of both figures: the entry's reading, and the others for the tables.
pub(super) struct Seen {
    /// CEE and InfiniBand.
    pub runs: Vec<Observed>,
    /// The same with every other reading, and the marks.
    pub tables: Vec<Table>,
    /// Tables of the readings.
    pub why: Vec<String>,
}

/// Runs a scenario in both fabrics and in all readings. `paper`: InfiniBand with the paper's credit period.
pub(super) fn observe(cx: &Context, load: Load, paper: bool) -> Result<Seen, ReproduceError> {
    let [cee, ib] = FABRICS.map(|(fabric, _)| Setup::new(fabric, Detection::Own, load));
    let ib_here = if paper { ib.clone().paper_period() } else { ib.clone() };
    let mut setups = vec![cee.clone(), ib_here];
    let mut names = Vec::new();
    for (discipline, variant) in DISCIPLINES.iter().flat_map(|d| VARIANTS.map(|v| (*d, v))) {
        names.push(format!("{discipline}, {variant}"));
        setups.push(cee.clone().read(discipline, variant));
    }
    let of_cee = names.len();
    let mut credit = |name: String, setup: Setup| {
        names.push(name);
        setups.push(setup);
    };
    for (period, rate) in [("13.1us", 40), ("26.2us", 40), ("46us", 40), (PAPER_PERIOD, 40), (PAPER_PERIOD, 32)] {
        let more = [format!("flow_control.cbfc.period={period}"), format!("topology.rate={rate}Gbps")];
        let period = period.replace("us", " us");
        credit(format!("{period}, {rate} Gb/s, round-robin, 50 us"), ib.clone().with(more));
    }
    for discipline in &DISCIPLINES[1..] {
        credit(format!("46 us, 40 Gb/s, {discipline}, 50 us"), ib.clone().read(discipline, fig2::READING.variant));
    }
    for becn in [0, 20, 100] {
        credit(format!("46 us, 40 Gb/s, round-robin, {becn} us"), ib.clone().with([format!("rate_control.ib-cc.cnp_interval={becn}us")]));
    }
    let mut runs = fig2::observe(cx, &setups)?;
    let others = runs.split_off(2);

    let heading = |first: &str| {
        let rest =
            ["Highest queue of P2", "Last OFF of P2", "Rate of P2 after", "Queue after", "CE of P2 on F0", "on F1", "CE of P1 on F2"];
        Table::new([first].into_iter().chain(rest)).align([Align::Left].into_iter().chain([Align::Right; 7]))
    };
    let row = |(name, run): (&String, &Observed)| -> Vec<Cell> {
        let flows = Flows::of(run);
        let (low, high) = fig2::queue_after(run);
        vec![
            name.clone().into(),
            lab::bytes(run.totals(P2).egress_bytes_max as f64).into(),
            lab::time(fig2::last_off(run, P2)).into(),
            lab::rate(fig2::rate_after(run)).into(),
            format!("{} to {}", lab::bytes(low), lab::bytes(high)).into(),
            fig2::count(run, P2, flows.f0, Marking::Ce).into(),
            fig2::count(run, P2, flows.f1, Marking::Ce).into(),
            fig2::count(run, P1, flows.f2, Marking::Ce).into(),
        ]
    };
    let all: Vec<(&String, &Observed)> = names.iter().zip(&others).collect();
    let (by_reading, by_credit) = all.split_at(of_cee);
    let table = |first: &str, part: &[(&String, &Observed)]| part.iter().fold(heading(first), |t, p| t.row(row(*p)));
    let tables = vec![
        table("CEE: egress, DCQCN", by_reading).caption(
            "Open in the paper under PFC: the order in which an egress serves its \
            ingresses, and the variant of DCQCN. The paper: more than 500 KB, 1.6 ms. Rate and queue: from the time when the queue has \
            drained after the last OFF, or from that OFF.",
        ),
        table("InfiniBand: credit period, link, egress, BECNs", by_credit).caption(
            "Open in the paper with credits: the credit period, \
            the data rate, the order at an egress, the rate of notifications per flow. The paper: more than 500 KB, 4 ms, marks of P1 \
            on F2.",
        ),
        fig2::marks_table(&[("CEE", &runs[0]), ("InfiniBand", &runs[1])]),
    ];
    let list = |part: &[(&String, &Observed)]| {
        part.iter().map(|(n, r)| format!("{n}: {}", lab::time(fig2::last_off(r, P2)))).collect::<Vec<_>>().join("; ")
    };
    let why = vec![
        format!("The last pause of P2 depends on settings that the paper does not state. CEE, by egress and DCQCN: {}.", list(by_reading)),
        format!("InfiniBand, by credit period, link, egress and distance of BECNs: {}.", list(by_credit)),
    ];
    Ok(Seen { runs, tables, why })
}

/// Notes on the dependence of P2's queue.
pub(super) fn assumption(fabric: Fabric) -> &'static str {
    match fabric {
        Fabric::Cee => READ,
        Fabric::Ib => BECN,
    }
}

/// P2's longest queue, and until when it alternates.
pub(super) fn course(fabric: Fabric, paper_ms: f64, run: &Observed) -> Vec<Check> {
    let name = fabric.name();
    let top = run.totals(P2).egress_bytes_max as f64;
    // CEE: one CNP of F1 more or less is 0.4 to 0.8 ms.
    let (from, to) = if fabric == Fabric::Cee { (1.1, 2.1) } else { (2.0, 5.0) };
    vec![
        Check::new(format!("{name}: highest queue of P2"), Unit::Bytes, top, 400e3, 800e3).paper(500e3).assuming(ROUNDS),
        Check::new(format!("{name}: P2 alternates until"), Unit::Picoseconds, fig2::last_off(run, P2), lab::ms(from), lab::ms(to))
            .paper(lab::ms(paper_ms))
            .assuming(assumption(fabric)),
        Check::none(format!("{name}: frames lost"), "frames", run.lost()),
    ]
}

/// Sentence per fabric.
pub(super) fn summary(runs: &[Observed]) -> String {
    let one = |fabric: Fabric, run: &Observed| {
        let flows = Flows::of(run);
        let (low, high) = fig2::queue_after(run);
        let of = |flow| fig2::count(run, P2, flow, Marking::Ce);
        format!(
            "{}: up to {} at P2, ON and OFF until {}, then {} (F1: {}) and a queue of {} to {}. CE of P2: {} on F0, {} on F1, {} on \
             F2.",
            fabric.name(),
            lab::bytes(run.totals(P2).egress_bytes_max as f64),
            lab::time(fig2::last_off(run, P2)),
            lab::rate(fig2::rate_after(run)),
            lab::rate(fig2::f1_after(run)),
            lab::bytes(low),
            lab::bytes(high),
            of(flows.f0),
            of(flows.f1),
            of(flows.f2)
        )
    };
    FABRICS.iter().zip(runs).map(|((f, _), r)| one(*f, r)).collect::<Vec<_>>().join(" ")
}

/// Queue, rate and marks of P2, one column a fabric.
pub(super) fn figure(title: &str, caption: &str, runs: &[Observed]) -> Figure {
    let until = lab::ms(6.0);
    let mut figure = Figure::new(title).caption(caption).columns(2);
    let names = ["CEE: PFC and ECN", "InfiniBand: credits and FECN"];
    for ((name, run), (_, paper)) in names.into_iter().zip(runs).zip(FABRICS) {
        let panel = Panel::new(name, fig2::time(until), Axis::new("Queue of P2", Unit::Bytes).range(0.0, 800e3));
        figure = figure.panel(
            panel
                .mark(Mark::line("queue of P2", fig2::first(run.egress(P2), until)))
                .mark(Mark::vline(lab::ms(paper), "paper: end of ON and OFF"))
                .mark(Mark::hline(500e3, "paper: over 500 KB")),
        );
    }
    for run in runs {
        let panel = Panel::new("", fig2::time(until), Axis::new("Rate of P2", Unit::BitsPerSecond).range(0.0, 42e9));
        figure = figure.panel(panel.mark(Mark::line("rate of P2", fig2::first(run.port_rate(P2, RateSource::Measured), until))));
    }
    for run in runs {
        figure = figure.panel(fig2::marks_by_flow("Marks of P2", run, P2, until));
    }
    figure
}
