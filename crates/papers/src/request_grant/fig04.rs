//! Fig. 4: how grants pile up at inputs and congestion trees come back when rates are regulated implicitly.

use xoff_report::{Axis, Mark, Panel, Table, Unit};

use super::run::{Plan, Results, Run, Stretch, soundness};
use super::setups::{self, BURST, MIN_P, t_min};
use super::sweep::{figure, grants_max};
use crate::study::Series;
use crate::{Check, Context, Findings, ReproduceError};

/// Grants of a single transaction at most [segments].
const G: f64 = 128.0;
/// Size of a queue [bytes].
const QUEUE: f64 = 4_000.0;

/// The entry.
pub fn run(cx: &Context) -> Result<Findings, ReproduceError> {
    let load = 0.78;
    let until = cx.mode.pick(20_000, 50_000);
    let mut plan = Plan::default();
    let series = [1.0, 1.2].map(|speedup| {
        let mut c = setups::section_2_3(setups::traffic(8, load, setups::fixed(MIN_P), BURST), speedup);
        c = setups::during(c, until / 4, until);
        c.window.0 /= 5;
        plan.series(cx, setups::seeds(cx, setups::PORTS), &c)
    });
    let results = plan.run(cx)?;
    let [slow, fast] = series;
    let fullest = |s: Series| results.min(s, |r| f64::from(*r.queue_max.last().expect("three stages")));
    let held_at_end = |s: Series| results.mean(s, |r| held(r, 0.75, 1.0));
    let grown = |s: Series| results.mean(s, |r| held(r, 0.75, 1.0) / held(r, 0.25, 0.5));
    let carried = |s: Series| results.mean(s, |r| r.carried());
    let segments = || Unit::Other("segments".into());
    let mut checks = vec![
        Check::new("no speed-up: most grants held by an input", segments(), results.min(slow, grants_max), G + 1.0, f64::INFINITY).paper(G),
        Check::new(
            "no speed-up: grants beyond those that two outputs can have issued",
            segments(),
            results.min(slow, grants_max),
            2.0 * G + 1.0,
            f64::INFINITY,
        )
        .claimed(),
        Check::exact("no speed-up: fullest fabric-output buffer", Unit::Bytes, fullest(slow), QUEUE).paper(QUEUE),
        Check::mean("no speed-up: grants held at the end, relative to a third of the run", Unit::None, grown(slow), 1.5, f64::INFINITY)
            .claimed(),
        Check::mean("no speed-up: carried share of the load offered to the other outputs", Unit::Fraction, carried(slow), 0.0, 0.95)
            .claimed(),
        Check::mean("1.2 times: mean number of grants held by an input at the end", segments(), held_at_end(fast), 0.0, G).claimed(),
        Check::mean("1.2 times: grants held at the end, relative to a third of the run", Unit::None, grown(fast), 0.5, 1.5).claimed(),
        Check::mean("1.2 times: carried share of the load offered to the other outputs", Unit::Fraction, carried(fast), 0.98, 1.02)
            .claimed(),
        soundness(&results),
    ];
    setups::assuming(&mut checks, setups::LOAD);
    let words = |s: Series| {
        format!(
            "up to {:.0} grants at one input, {:.0} on average at the end, other outputs carry {:.3} of their load, throughput of hotspots {:.3}",
            results.max(s, grants_max),
            held_at_end(s).mean,
            carried(s).mean,
            results.mean(s, |r| r.hot).mean
        )
    };
    let mut f = Findings { measured: format!("no speed-up: {}; 1.2 times: {}", words(slow), words(fast)), checks, ..Findings::default() };
    f.notes.push(format!(
        "With a speed-up of 1.2 an input still briefly holds up to {:.0} grants, from several outputs at once; they do not accumulate.",
        results.max(fast, grants_max)
    ));
    f.figures.push(draw(&results, series, until as f64));
    f.tables.push(order(&results, slow));
    setups::quick_note(cx, &mut f.notes);
    Ok(f)
}

/// Mean number of grants held by an input in a part of a run [segments].
fn held(run: &Run, from: f64, to: f64) -> f64 {
    let end = run.stretches.last().map_or(0.0, |s| s.end);
    let inside: Vec<f64> = run.stretches.iter().filter(|s| s.end > from * end && s.end <= to * end).map(|s| s.grants_mean).collect();
    inside.iter().sum::<f64>() / inside.len() as f64
}

/// Order of events: an input with more grants than one output gives, a full buffer, lost throughput.
fn order(results: &Results, s: Series) -> Table {
    let mut table = Table::new([
        "Seed",
        "An input holds over 128",
        "over 256",
        "A hotspot's buffer holds over 3900 B",
        "Throughput of the others below 0.74",
    ])
    .caption("No speed-up: end of the first interval with this result [t_min].");
    for (nth, run) in results.of(s).iter().enumerate() {
        let first = |is: &dyn Fn(&Stretch) -> bool| {
            run.stretches.iter().skip(4).find(|w| is(w)).map_or("never".to_owned(), |w| format!("{:.0}", w.end))
        };
        table.push([
            format!("{}", nth + 1),
            first(&|w| w.grants_max > 128),
            first(&|w| w.grants_max > 256),
            first(&|w| w.hot_queue_max > 3_900),
            first(&|w| w.cold < 0.74),
        ]);
    }
    table
}

fn draw(results: &Results, series: [Series; 2], until: f64) -> xoff_report::Figure {
    let x = || Axis::new("Time", t_min()).range(0.0, until);
    let line = |name: &str, s: Series, value: fn(&Stretch) -> f64| {
        Mark::line(name, results.of(s)[0].stretches.iter().map(|w| (w.end, value(w))).collect::<Vec<_>>())
    };
    let segments = || Unit::Other("segments".into());
    let [slow, fast] = series;
    let panels = [
        Panel::new("(a) Hotspots' buffers, no speed-up", x(), Axis::new("Fill", Unit::Bytes).range(0.0, 4_400.0))
            .mark(line("fullest of eight", slow, |w| f64::from(w.hot_queue_max)))
            .mark(line("mean", slow, |w| w.hot_queue_mean))
            .mark(Mark::hline(QUEUE, "4000 B")),
        Panel::new("(b) Grants at the input with the most grants", x(), Axis::new("Grants", segments()).log())
            .mark(line("no speed-up", slow, |w| f64::from(w.grants_max)))
            .mark(line("1.2 times", fast, |w| f64::from(w.grants_max)))
            .mark(Mark::hline(G, "128: one output's")),
        Panel::new("(c, d) Grants held by an input, mean", x(), Axis::new("Grants", segments()))
            .mark(line("no speed-up", slow, |w| w.grants_mean))
            .mark(line("1.2 times", fast, |w| w.grants_mean)),
        Panel::new("Throughput of the other outputs", x(), Axis::new("Share of a link", Unit::Fraction))
            .mark(line("no speed-up", slow, |w| w.cold))
            .mark(line("1.2 times", fast, |w| w.cold)),
    ];
    figure(
        "Grants pile up under implicit rate regulation (paper: Fig. 4)",
        "All outputs of a last-stage switch are hotspots, 2.5 times overloaded; the others are bursty at the peak possible rate. \
         Without speed-up buffers fill to their 4000 B, inputs hold ever more grants, and the other outputs lose throughput. At 1.2 \
         times the line rate this does not happen.",
        panels,
    )
}
