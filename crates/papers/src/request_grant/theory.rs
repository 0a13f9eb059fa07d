//! Lemma 1 and Theorem 1 without packets: exact solvers of `xoff_analysis::scheduled`.

use xoff_analysis::scheduled::admission::{Admission, Arbitrated, Limit};
use xoff_analysis::scheduled::clos::Clos;
use xoff_analysis::scheduled::network::Network;
use xoff_analysis::scheduled::rational::Q;
use xoff_analysis::scheduled::theorem_1::{Report, Trial};
use xoff_analysis::scheduled::{examples, lemma_1};
use xoff_report::{Align, Axis, Bar, BarGroup, Cell, Figure, Mark, Panel, Table, Unit};
use xoff_units::{Rate, Span};

use crate::{Check, Context, Findings, ReproduceError};

/// Lemma 1.
pub fn run_lemma_1(cx: &Context) -> Result<Findings, ReproduceError> {
    let outputs = 10_000;
    let (mut ratios, mut above, mut reached, mut whole) = (Vec::new(), 0u64, 0u64, 0u64);
    for seed in 0..outputs {
        if seed % 1_000 == 0 {
            cx.go_on()?;
        }
        let (output, grants) = lemma_1::random(cx.seed - 1 + seed);
        let run = output.run(&grants);
        let bound = output.bound();
        above += u64::from(run.peak.backlog > bound);
        whole += u64::from(run.whole_segments_max > bound.0.div_ceil(output.segment_time.0) + 1);
        ratios.push(run.peak.backlog.0 as f64 / bound.0.max(1) as f64);
        reached += u64::from(output.run(&output.longest_first(50)).peak.backlog == bound);
    }
    let count = |n: u64| (Unit::Other("outputs".into()), n as f64);
    let (fig_3, grants) = lemma_1::fig_3(Span(1), 4);
    let run = fig_3.run(&grants);
    let (fig_2b, late) = lemma_1::fig_2b(Span(1), 5);
    let backlog_2b = fig_2b.run(&late).peak.backlog.0 as f64;
    let (mut passed, mut of_four) = (0u64, 0u64);
    for seed in 0..500 {
        let (fabric, four) = lemma_1::random_sharing(seed);
        of_four += four.len() as u64;
        passed += four.iter().filter(|(_, g)| fabric.run(g).peak.backlog > fabric.bound()).count() as u64;
    }
    let bytes = Rate::from_gbps(100).bytes_in(Span::from_ns(400)).0 as f64;
    let segments = || Unit::Other("segments".into());
    let checks = vec![
        Check::none(format!("outputs of {outputs} whose backlog exceeds the bound"), "outputs", above).claimed(),
        Check::exact(
            "of those, outputs that reach it with the longest round trip before the shortest",
            count(0).0,
            reached as f64,
            outputs as f64,
        ),
        Check::exact("Fig. 3: longest backlog", segments(), run.peak.backlog.0 as f64, 4.0).paper(4.0),
        Check::exact("400 ns at 100 Gb/s", Unit::Bytes, bytes, 5e3).paper(5e3),
        Check::none("outputs more than one whole segment beyond the bound", "outputs", whole),
        Check::some("Fig. 2(b): backlog if an input answers late and round trips are equal", "segments", backlog_2b as u64).claimed(),
    ];
    let figure = Figure::new("Lemma 1: backlog over its bound")
        .caption("Share of 10,000 random outputs (2 to 16 inputs, round trips up to 400 ns apart, grants of 1 to 50 segments, some pauses) whose longest backlog is at most this part of the difference of round trips.")
        .panel(
            Panel::new("", Axis::new("Longest backlog / bound", Unit::None).range(0.0, 1.1), Axis::new("Share of outputs", Unit::Fraction))
                .mark(Mark::cdf("random grants", ratios))
                .mark(Mark::vline(1.0, "Lemma 1")),
        );
    let measured = format!(
        "{above} of {outputs} random outputs exceed the bound, and {reached} reach it exactly; Fig. 3: {} segments; 400 ns at 100 Gb/s: \
         5 KB",
        run.peak.backlog.0
    );
    let notes = vec![
        format!(
            "The lemma needs inputs that answer immediately: of {of_four} outputs that share their inputs in groups of four, {passed} \
             exceed the bound of the real round trips (Fig. 2(b))."
        ),
        "If a segment counts only once it is whole, the one on the link is added: one segment more.".to_owned(),
    ];
    Ok(Findings { measured, checks, figures: vec![figure], notes, ..Findings::default() })
}

/// b of the trials [segments].
fn b() -> Q {
    Q::int(6)
}

fn level(r: &Report) -> f64 {
    (r.routing().level / r.b).to_f64()
}

/// Results of the trials of a network; levels are over b.
struct Levels {
    /// Trials with all premises.
    kept: Vec<Report>,
    /// Highest level under the script that fills a routing stage, by stage.
    tight: Vec<f64>,
    /// Highest level without (iv).
    free: f64,
    /// Highest level with a single route.
    one: f64,
}

impl Levels {
    fn of(clos: Clos, stages: usize, epochs: u64) -> Levels {
        let random = |limit: Limit, epochs: u64| {
            [(0, 1), (3, 2), (6, 3), (8, 4), (8, 5)].map(|(hot_eighths, seed)| {
                let admission = Admission::Arbitrated(Arbitrated { limit, seed, hot_eighths, epoch: Q::ONE, epochs });
                Trial { network: Network::of_the_theorem(clos), b: b(), buffer: b(), admission, stopped: Vec::new() }
                    .run()
                    .expect("even splits keep fractions short")
            })
        };
        Levels {
            kept: random(Limit::Outstanding(b()), epochs).into(),
            tight: (1..=stages).filter_map(|s| examples::tight(clos, s, b())).map(|t| level(&t.run().expect("short fractions"))).collect(),
            free: random(Limit::None, epochs.min(60)).iter().map(level).fold(0.0, f64::max),
            one: level(&examples::single_route(clos, b()).run().expect("short fractions")),
        }
    }
}

/// Theorem 1 and Corollary 1.
#[expect(clippy::too_many_lines, reason = "a list: one check of the claim an item, then figures and tables")]
pub fn run_theorem_1(cx: &Context) -> Result<Findings, ReproduceError> {
    let networks: &[(usize, usize, u64)] = cx.mode.pick(
        &[(2, 3, 400), (2, 5, 200), (2, 7, 40), (3, 3, 100), (4, 3, 60), (8, 3, 20)],
        &[(2, 3, 2_000), (2, 5, 1_000), (2, 7, 200), (3, 3, 400), (3, 5, 100), (4, 3, 300), (4, 5, 20), (8, 3, 100)],
    );
    let mut f = Findings::default();
    let (mut over, mut queued, mut fired, mut trials) = (0u64, 0u64, 0u64, 0u64);
    let (mut not_tight, mut without_iv) = (0u64, f64::INFINITY);
    let mut names = Vec::new();
    let (mut held, mut flooded, mut single) = (Vec::new(), Vec::new(), Vec::new());
    let mut table = Table::new([
        "Switches",
        "Stages",
        "N",
        "Routing, highest",
        "Distribution, highest",
        "Reached in every routing stage",
        "Without (iv)",
        "Without (v)",
        "g",
    ])
    .align([Align::Right; 9])
    .caption(
        "Highest level over b: random and adversarial admissions that keep all premises; a script that fills each routing \
            stage; no limit on outstanding grants (random admissions); and a single route, where g outputs behind a middle buffer give \
            g b.",
    );
    for &(m, stages, epochs) in networks {
        cx.go_on()?;
        let clos = Clos::new(m, stages).expect("a Clos network");
        let Levels { kept, tight, free, one } = Levels::of(clos, stages, epochs);
        trials += kept.len() as u64;
        over += kept.iter().filter(|r| !r.routing_holds()).count() as u64;
        queued += kept.iter().filter(|r| !r.distribution_never_queues()).count() as u64;
        fired += kept.iter().filter(|r| r.first_full.is_some()).count() as u64;
        not_tight += tight.iter().filter(|l| **l != 1.0).count() as u64;
        without_iv = free.min(without_iv);
        let highest = kept.iter().map(level).fold(0.0, f64::max);
        let distribution = kept.iter().filter_map(|r| r.distribution()).map(|p| p.level.to_f64()).fold(0.0, f64::max);
        let g = clos.routes();
        f.checks.push(Check::exact(
            format!("{m} x {m}, {stages} stages, a single route: highest level, relative to b"),
            Unit::None,
            one,
            g as f64,
        ));
        table.push([
            Cell::from(format!("{m} x {m}")),
            stages.to_string().into(),
            clos.ports().to_string().into(),
            format!("{highest:.2}").into(),
            format!("{distribution:.2}").into(),
            format!("{} of {}", tight.iter().filter(|l| **l == 1.0).count(), tight.len()).into(),
            format!("{free:.1}").into(),
            format!("{one:.0}").into(),
            g.to_string().into(),
        ]);
        names.push(format!("{m} x {m}, {stages} stages"));
        held.push(Bar::new(highest));
        flooded.push(Bar::new(free));
        single.push(Bar::new(one));
    }
    let unlike = level(&examples::unlike_service(b()).expect("whole b").run().expect("short fractions"));
    let unequal = level(&examples::unequal_links(b(), b()).expect("d of b").run().expect("short fractions"));
    let envelope = level(&examples::envelope_only(b()).expect("whole b").run().expect("short fractions"));
    let none = |what: &str, n: u64| Check::none(format!("{what}, of {trials} trials with all premises"), "trials", n).claimed();
    f.checks.splice(
        0..0,
        [
            none("a buffer of the routing half above b", over),
            none("anything queued in the distribution half", queued),
            none("flow control activated (Corollary 1)", fired),
            Check::none("routing stages in which b is not reached exactly", "stages", not_tight),
            Check::new("without (iv): highest level, relative to b, smallest of all networks", Unit::None, without_iv, 2.0, f64::INFINITY),
            Check::near(
                "(i) to (v) only, switches that serve in different orders (five stages): highest level, relative to b",
                Unit::None,
                unlike,
                4.0 / 3.0,
                1e-9,
            ),
            Check::near("(i) to (v) only, one link longer by b: highest level, relative to b", Unit::None, unequal, 1.5, 1e-9),
            Check::near(
                "(iv) as T + b in any T, which the outline uses: highest level, relative to b",
                Unit::None,
                envelope,
                4.0 / 3.0,
                1e-9,
            ),
        ],
    );
    f.measured = format!(
        "{trials} trials with all premises: no buffer exceeds b, nothing is queued in the distribution half, flow control is never \
         activated, and b is reached in every routing stage. Without premise (iv) the peak is at least {without_iv:.1} b, and with a single route g b"
    );
    f.why.push(format!(
        "(i) to (v) alone are not enough: routes must also be alike. With switches that serve in different orders {unlike:.3} b (five \
         stages); with one link longer by b {unequal:.2} b. The outline's own form of (iv), T + b granted in any T, allows \
         {envelope:.3} b: \"outstanding\" must mean granted and not yet departed from the fabric-output buffer."
    ));
    f.tables.push(table);
    f.figures.push(theorem_1_figure(names, [held, flooded, single]));
    Ok(f)
}

/// Highest level of each network: with all premises, without (iv), with a single route.
fn theorem_1_figure(names: Vec<String>, [held, flooded, single]: [Vec<Bar>; 3]) -> Figure {
    Figure::new("Theorem 1: highest level, relative to b")
        .caption(
            "The fullest buffer of the routing half. With all premises its level is b. Without the limit on outstanding \
                grants, or with a single route, it is higher.",
        )
        .panel(Panel::new("", Axis::new("", Unit::None), Axis::new("Highest level / b", Unit::None)).mark(Mark::bars(
            names,
            [BarGroup::new("all premises", held), BarGroup::new("without (iv)", flooded), BarGroup::new("a single route", single)],
        )))
}
