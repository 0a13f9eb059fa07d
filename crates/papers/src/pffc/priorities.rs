//! Hosts that know priorities only, as the network cards of the slides: what a switch holds of one flow, they hold of all.

use xoff_report::{Align, Axis, Bar, BarGroup, Figure, Mark, Panel, Table, Unit};

use super::mice::{SCENARIO, UDP, times};
use super::run::{PFC, PFFC, Scheme, broken, run};
use crate::lab::{self, Observed};
use crate::stats::Mean;
use crate::{Check, Context, Findings, ReproduceError};

/// Pause that hosts support: name, scheme, setting.
const HOSTS: [(&str, Scheme, &str); 3] =
    [("PFC", PFC, "host.obeys=flows"), ("PFFC, by flow", PFFC, "host.obeys=flows"), ("PFFC, by priority", PFFC, "host.obeys=priorities")];
/// Source of the first elephant, and whether mice start at the same host.
const SOURCES: [(&str, &str, bool); 2] = [("at H2, mice at H1", "flow[0].src=H2", false), ("at H1, like the mice", "flow[0].src=H1", true)];

/// The study.
pub fn run_hosts(cx: &Context) -> Result<Findings, ReproduceError> {
    let seeds: u64 = cx.mode.pick(5, 20);
    let of = |(s, h): (usize, usize)| (0..seeds).map(move |n| (s, h, n));
    let jobs: Vec<(usize, usize, u64)> = (0..SOURCES.len()).flat_map(|s| (0..HOSTS.len()).map(move |h| (s, h))).flat_map(of).collect();
    let runs = cx.parallel(&jobs, |&(s, h, n)| {
        let seed = format!("run.seed={}", cx.seed + n);
        let settings: Vec<&str> = UDP.iter().copied().chain([SOURCES[s].1, HOSTS[h].2, seed.as_str()]).collect();
        run(cx, SCENARIO, HOSTS[h].1, &settings)
    })?;
    let by_seed = |s: usize, h: usize, value: &dyn Fn(&Observed) -> f64| -> Vec<f64> {
        jobs.iter().zip(&runs).filter(|(j, _)| (j.0, j.1) == (s, h)).map(|(_, r)| value(r)).collect()
    };
    let mean = |r: &Observed| Mean::of(times(r, None)).mean;
    let slower = |s: usize, over: usize, under: usize| Mean::ratio(&by_seed(s, over, &mean), &by_seed(s, under, &mean));
    let mut checks = Vec::new();
    for (s, (source, _, same)) in SOURCES.iter().enumerate() {
        let what = format!("elephant {source}: mean completion time, hosts with priority pause relative to hosts with flow pause");
        checks.push(match same {
            true => Check::mean(what, Unit::None, slower(s, 2, 1), 1.0, f64::INFINITY),
            false => Check::mean(what, Unit::None, slower(s, 2, 1), 0.9, 1.1),
        });
    }
    checks.push(Check::none("frames lost or out of order, all runs", "frames", runs.iter().map(broken).sum()));
    let mut table = Table::new(["Elephant", "Flow control, hosts", "Mean of all mice", "Over PFFC by flow"]).align([
        Align::Left,
        Align::Left,
        Align::Right,
        Align::Right,
    ]);
    for (s, (source, ..)) in SOURCES.iter().enumerate() {
        for (h, (name, ..)) in HOSTS.iter().enumerate() {
            table.push([
                (*source).to_owned(),
                (*name).to_owned(),
                Mean::of(by_seed(s, h, &mean)).words(lab::time),
                slower(s, h, 1).words(|v| format!("{v:.2}")),
            ]);
        }
    }
    let table = table.caption(format!("Means over {seeds} seeds, with 95 % intervals. UDP elephants, TCP mice that start after 2 ms."));
    let colours = [PFC.colour, PFFC.colour, xoff_report::Colour::Green];
    let bars = HOSTS.iter().enumerate().map(|(h, (name, ..))| {
        BarGroup::new(*name, (0..SOURCES.len()).map(|s| Bar::new(Mean::of(by_seed(s, h, &mean)).mean))).colour(colours[h])
    });
    let figure = Figure::new("Mice with hosts that support only priority pause")
        .caption("When a switch pauses one flow, such a host pauses all of its flows.")
        .panel(
            Panel::new("", Axis::new("First elephant", Unit::None), Axis::new("Mean completion time", Unit::Picoseconds))
                .mark(Mark::bars(SOURCES.map(|s| s.0), bars)),
        );
    let words = |s: usize| {
        let time = |h: usize| lab::time(Mean::of(by_seed(s, h, &mean)).mean);
        format!("elephant {}: PFC {}, PFFC {}, PFFC and hosts with priority pause {}", SOURCES[s].0, time(0), time(1), time(2))
    };
    let measured = format!("Mean of all mice, {}; {}.", words(0), words(1));
    Ok(Findings { measured, checks, figures: vec![figure], tables: vec![table], ..Findings::default() })
}
