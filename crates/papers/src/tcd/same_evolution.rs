//! Section 3.1.3: while P2 is stopped, its queue is the same whether it is congested or not.

use xoff_report::{Align, Axis, Cell, Figure, Mark, Panel, Table, Unit};

use super::fig2::{self, Detection, Fabric, Load, P2, Setup};
use super::fig03::{FABRICS, assumption};
use crate::lab::{self, Observed, Points};
use crate::{Check, Context, Findings, ReproduceError};

/// The paper's windows [ms].
const WINDOWS: [(f64, f64); 2] = [(1.0, 1.5), (2.6, 4.0)];

/// The entry.
pub fn run(cx: &Context) -> Result<Findings, ReproduceError> {
    let loads = [Load::Single, Load::Multiple];
    // As in Fig. 3: InfiniBand with the paper's credit period.
    let of = |fabric, load| {
        let setup = Setup::new(fabric, Detection::Own, load);
        if fabric == Fabric::Ib { setup.paper_period() } else { setup }
    };
    let setups: Vec<Setup> = FABRICS.iter().flat_map(|(f, _)| loads.map(|l| of(*f, l))).collect();
    let runs = fig2::observe(cx, &setups)?;
    let mut checks = Vec::new();
    let mut why = Vec::new();
    let mut sentences = Vec::new();
    let mut table = Table::new(["Fabric", "Window", "Mean queue, one point", "Mean queue, two points", "Correlation", "Mean difference"])
        .align([Align::Left, Align::Left, Align::Right, Align::Right, Align::Right, Align::Right])
        .caption(
            "P2's queue with one and with two congestion points, sampled every 10 us. Difference: mean distance over the mean of \
            both.",
        );
    for (((fabric, _), pair), window) in FABRICS.into_iter().zip(runs.chunks(2)).zip(WINDOWS) {
        let name = fabric.name();
        // Of this run: the last third of the time in which P2 alternates with one congestion point, as the paper's windows are.
        let end = fig2::last_off(&pair[0], P2).min(fig2::last_off(&pair[1], P2));
        let own = (end * 2.0 / 3.0, end);
        for (what, from, to) in [("paper's", lab::ms(window.0), lab::ms(window.1)), ("last third", own.0, own.1)] {
            let c = compare(pair, from, to);
            table.push([
                Cell::from(name),
                format!("{what}: {} to {}", lab::time(from), lab::time(to)).into(),
                lab::bytes(c.means.0).into(),
                lab::bytes(c.means.1).into(),
                format!("{:.3}", c.correlation).into(),
                Unit::Fraction.format(c.difference).into(),
            ]);
            if what == "paper's" {
                let assume = assumption(fabric);
                let what = format!("{name}, {} to {} ms", window.0, window.1);
                checks.push(
                    Check::new(format!("{what}: mean difference of the two queues"), Unit::Fraction, c.difference, 0.0, 0.1)
                        .claimed()
                        .assuming(assume),
                );
                checks.push(
                    Check::new(format!("{what}: correlation of the two queues"), Unit::None, c.correlation, 0.9, 1.0)
                        .possible(-1.0, 1.0)
                        .claimed()
                        .assuming(assume),
                );
                sentences.push(format!(
                    "{what}: correlation {:.3}, mean difference {}",
                    c.correlation,
                    Unit::Fraction.format(c.difference)
                ));
            } else {
                why.push(format!(
                    "{name}: with one congestion point P2 alternates here until {}, with two until {}. In the last third of the common \
                     time, {} to {}, the correlation is {:.3} and the mean difference {}.",
                    lab::time(fig2::last_off(&pair[0], P2)),
                    lab::time(fig2::last_off(&pair[1], P2)),
                    lab::time(from),
                    lab::time(to),
                    c.correlation,
                    Unit::Fraction.format(c.difference)
                ));
            }
        }
    }
    let until = lab::ms(6.0);
    let mut figure = Figure::new("P2's queue with one and with two congestion points (paper: Figs. 3 and 4)").caption(
        "While P2 alternates the two curves coincide: the queue alone does not show whether the port is congested. The band is \
            the paper's window.",
    );
    for (((fabric, _), pair), window) in FABRICS.into_iter().zip(runs.chunks(2)).zip(WINDOWS) {
        let panel = Panel::new(fabric.name(), fig2::time(until), Axis::new("Queue of P2", Unit::Bytes));
        figure = figure.panel(
            panel
                .mark(Mark::vband(lab::ms(window.0), lab::ms(window.1), "paper: the same evolution"))
                .mark(Mark::line("one congestion point", fig2::first(pair[0].egress(P2), until)))
                .mark(Mark::line("two congestion points", fig2::first(pair[1].egress(P2), until))),
        );
    }
    Ok(Findings { measured: sentences.join("; "), checks, figures: vec![figure], tables: vec![table], why, ..Findings::default() })
}

struct Compared {
    means: (f64, f64),
    correlation: f64,
    difference: f64,
}

/// Two queues at the same times.
fn compare(pair: &[Observed], from: f64, to: f64) -> Compared {
    let inside = |run: &Observed| -> Points { run.egress(P2).into_iter().filter(|p| from < p.0 && p.0 <= to).collect() };
    let (a, b) = (inside(&pair[0]), inside(&pair[1]));
    let n = a.len().min(b.len()) as f64;
    let mean = |p: &Points| p.iter().map(|p| p.1).sum::<f64>() / p.len() as f64;
    let (ma, mb) = (mean(&a), mean(&b));
    let sum = |f: &dyn Fn(f64, f64) -> f64| a.iter().zip(&b).map(|(x, y)| f(x.1, y.1)).sum::<f64>() / n;
    let (va, vb, cov) = (sum(&|x, _| (x - ma) * (x - ma)), sum(&|_, y| (y - mb) * (y - mb)), sum(&|x, y| (x - ma) * (y - mb)));
    Compared { means: (ma, mb), correlation: cov / (va * vb).sqrt(), difference: sum(&|x, y| (x - y).abs()) / ((ma + mb) / 2.0) }
}
