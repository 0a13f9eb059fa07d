//! Fig. 15: hosts suddenly stop accepting data.

use xoff_report::{Align, Axis, Cell, Figure, Mark, Panel, Table, Unit};
use xoff_sim::scheduled::{Blocked, Config};
use xoff_units::Time;

use super::run::{Plan, Results, Run, Stretch, soundness};
use super::setups::{self, MAX_P, t_min};
use super::sweep::figure;
use crate::stats::Mean;
use crate::study::Series;
use crate::{Check, Context, Findings, ReproduceError};

/// Departures are blocked from here to there [t_min].
const FROM: u64 = 30_000;
/// End.
const TO: u64 = 50_000;

fn blocked(mut c: Config, until: u64) -> Config {
    let t = c.t_min().0;
    c.blocked = Some(Blocked { outputs: setups::hotspots(8), from: Time(FROM * t), until: Time(TO * t) });
    c = setups::during(c, FROM / 3, until);
    c.window.0 = 1_000 * t;
    c
}

/// Both schemes without in-band control and without speed-up (a to c), or with both (d to f).
fn cases(in_band: bool, load: f64, until: u64) -> [Config; 2] {
    let traffic = || setups::traffic(8, load, setups::fixed(MAX_P), 1.0);
    let [reserve, implicit] = if in_band {
        [setups::section_4(traffic(), 1.1), setups::implicit(setups::section_4(traffic(), 1.4))]
    } else {
        let base = || Config { unsolicited: false, ..setups::out_of_band(setups::section_4(traffic(), 1.0)) };
        [base(), setups::implicit(base())]
    };
    [blocked(reserve, until), blocked(implicit, until)]
}

/// Mean throughput and delay of the others over stretches that end in a span of time.
fn over(run: &Run, from: u64, to: u64) -> (f64, f64) {
    let inside: Vec<&Stretch> = run.stretches.iter().filter(|s| s.end > from as f64 + 0.5 && s.end <= to as f64 + 0.5).collect();
    let delays: Vec<f64> = inside.iter().filter_map(|s| s.delay).collect();
    (inside.iter().map(|s| s.cold).sum::<f64>() / inside.len() as f64, delays.iter().sum::<f64>() / delays.len() as f64)
}

/// Throughput while blocked over that before.
fn kept(run: &Run) -> f64 {
    over(run, FROM + 5_000, TO).0 / over(run, FROM / 2, FROM).0
}

/// Largest delay of a stretch after the end, over the mean before.
fn rise(run: &Run) -> f64 {
    let top = run.stretches.iter().filter(|s| s.end > TO as f64).filter_map(|s| s.delay).fold(0.0, f64::max);
    top / over(run, FROM / 2, FROM).1
}

/// How long after the end of the blocking the delay is back within half as much again as before, for good [t_min]; to the end
/// of the run if never.
fn recovery(run: &Run) -> f64 {
    let before = over(run, FROM / 2, FROM).1;
    let late = run.stretches.iter().rev().find(|s| s.delay.is_none_or(|d| d > 1.5 * before));
    late.map_or(0.0, |s| (s.end - TO as f64).max(0.0))
}

struct Seen {
    results: Results,
    series: [Series; 2],
    until: u64,
}

impl Seen {
    fn run(cx: &Context, in_band: bool, load: f64) -> Result<Seen, ReproduceError> {
        let until = cx.mode.pick(90_000, 150_000);
        let mut plan = Plan::default();
        let series = cases(in_band, load, until).map(|c| plan.series(cx, setups::seeds(cx, setups::PORTS), &c));
        Ok(Seen { results: plan.run(cx)?, series, until })
    }
    fn mean(&self, scheme: usize, value: impl Fn(&Run) -> f64) -> Mean {
        self.results.mean(self.series[scheme], value)
    }
    fn kept(&self, scheme: usize) -> Mean {
        self.mean(scheme, kept)
    }
    fn slower(&self, scheme: usize) -> Mean {
        self.mean(scheme, |r| over(r, FROM + 2_000, TO).1 / over(r, FROM / 2, FROM).1)
    }
    fn rise(&self, scheme: usize) -> Mean {
        self.mean(scheme, rise)
    }
    fn recovery(&self, scheme: usize) -> Mean {
        self.mean(scheme, recovery)
    }
    /// Ratio of implicit rates to reserving, seed by seed.
    fn beside(&self, value: impl Fn(&Run) -> f64) -> Mean {
        let of = |scheme: usize| self.results.values(self.series[scheme], &value);
        Mean::of(of(1).iter().zip(of(0)).map(|(implicit, reserve)| implicit / reserve))
    }

    fn panels(&self, letters: [&str; 3]) -> Vec<Panel> {
        let x = || Axis::new("Time", t_min()).range(0.0, self.until as f64);
        let of = |scheme: usize| self.results.of(self.series[scheme])[0].stretches.clone();
        let names = ["reserve", "implicit"];
        let line = |value: fn(&Stretch) -> Option<f64>| {
            (0..2)
                .map(move |s| Mark::line(names[s], of(s).iter().map(|w| (w.end, value(w).unwrap_or(f64::NAN))).collect::<Vec<_>>()))
                .collect::<Vec<_>>()
        };
        let band = || Mark::vband(FROM as f64, TO as f64, "blocked");
        vec![
            Panel::new(format!("({}) Mean fill of the hotspots' fabric-output buffers", letters[0]), x(), Axis::new("Fill", Unit::Bytes))
                .mark(band())
                .marks(line(|w| Some(w.hot_queue_mean))),
            Panel::new(format!("({}) Delay of packets to the other outputs", letters[1]), x(), Axis::new("Mean delay", t_min()).log())
                .mark(band())
                .marks(line(|w| w.delay)),
            Panel::new(
                format!("({}) Throughput of the other outputs", letters[2]),
                x(),
                Axis::new("Share of a link", Unit::Fraction).range(0.0, 1.05),
            )
            .mark(band())
            .marks(line(|w| Some(w.cold))),
        ]
    }

    fn draw(&self, title: &str, caption: &str, letters: [&str; 3]) -> Figure {
        figure(title, caption, self.panels(letters)).columns(1)
    }

    fn words(&self) -> String {
        let one = |s: usize| {
            format!(
                "{}: throughput of the others is {:.2} times the earlier value while blocked; delay {:.2} times, up to {:.1} times \
                 afterwards, and back to normal after {:.0} t_min",
                ["reserve", "implicit"][s],
                self.kept(s).mean,
                self.slower(s).mean,
                self.rise(s).mean,
                self.recovery(s).mean
            )
        };
        format!("{}; {}", one(0), one(1))
    }

    fn table(&self, what: &str) -> Table {
        let mut t = Table::new(["Scheme", "Throughput before", "while blocked", "after", "Delay before", "while blocked", "after", "Longest queue by stage"])
            .align([Align::Left].into_iter().chain([Align::Right; 7]))
            .caption(format!("{what} Before: 15,000 to 30,000 t_min; while blocked: from 35,000; after: from 50,000 to the end. Means over seeds, delays in t_min, queues in bytes."));
        for (s, name) in ["reserve", "implicit"].iter().enumerate() {
            let spans = [(FROM / 2, FROM), (FROM + 5_000, TO), (TO, self.until)];
            let mean = |which: usize, k: usize| {
                let value = |r: &Run| {
                    let (thr, delay) = over(r, spans[k].0, spans[k].1);
                    if which == 0 { thr } else { delay }
                };
                self.mean(s, value)
            };
            let queues: Vec<String> =
                (0..3).map(|stage| self.results.max(self.series[s], |r| f64::from(r.queue_max[stage])).to_string()).collect();
            let mut row = vec![Cell::from(*name)];
            row.extend((0..3).map(|k| Cell::from(mean(0, k).words(|v| format!("{v:.3}")))));
            row.extend((0..3).map(|k| {
                let m = mean(1, k);
                Cell::from(if m.n == 0 { "no packet".to_owned() } else { m.words(|v| format!("{v:.0}")) })
            }));
            row.push(queues.join(" / ").into());
            t.push(row);
        }
        t
    }
}

/// Panels (a) to (c).
pub fn run_abc(cx: &Context) -> Result<Findings, ReproduceError> {
    let seen = Seen::run(cx, false, 0.7)?;
    let peak = Seen::run(cx, false, 0.78)?;
    let mut checks = vec![
        Check::mean("reserve: throughput of the others while blocked, relative to the time before", Unit::None, seen.kept(0), 0.95, 1.1)
            .claimed(),
        Check::mean("reserve: delay while blocked, relative to the time before", Unit::None, seen.slower(0), 0.0, 1.2).claimed(),
        Check::mean("reserve: longest delay afterwards, relative to the time before", Unit::None, seen.rise(0), 0.0, 2.0).claimed(),
        Check::mean("implicit: throughput of the others while blocked, relative to the time before", Unit::None, seen.kept(1), 0.0, 0.2)
            .claimed(),
        Check::mean("implicit: recovery time of delays", t_min(), seen.recovery(1), 20_000.0, f64::INFINITY).claimed(),
        soundness(&seen.results),
    ];
    setups::assuming(&mut checks, setups::LOAD);
    let mut f = Findings {
        measured: seen.words(),
        checks,
        figures: vec![seen.draw(
            "Eight hosts stop: control out of band, no speed-up (paper: Fig. 15a-c)",
            "Nothing leaves the fabric-output buffers of the hotspots from 30,000 to 50,000 t_min. With reserved buffers the others are \
             not affected. With implicit rate regulation everything stops, and delays stay long. In a gap of the delay line, no packet \
             left at all.",
            ["a", "b", "c"],
        )],
        tables: vec![seen.table("The other outputs at load 0.7."), peak.table("The other outputs at load 0.78, the peak possible.")],
        ..Findings::default()
    };
    f.notes.push(format!("At the peak possible load, 0.78: {}.", peak.words()));
    setups::quick_note(cx, &mut f.notes);
    Ok(f)
}

/// Panels (d) to (f).
pub fn run_def(cx: &Context) -> Result<Findings, ReproduceError> {
    let load = 0.6;
    let seen = Seen::run(cx, true, load)?;
    let peak = Seen::run(cx, true, 0.78)?;
    // What the adapters of the hotspots send on, while blocked.
    let mut plan = Plan::default();
    let [reserve, _] = cases(true, load, TO);
    let end_of_block = Config { warm_up: Time((FROM + 10_000) * reserve.t_min().0), ..reserve };
    let series = plan.series(cx, setups::seeds(cx, setups::PORTS), &end_of_block);
    let alone = plan.run(cx)?;
    let part = |hot: bool| {
        let ports: Vec<usize> = (0..setups::PORTS as usize).filter(|p| (*p as u32 / 8 == setups::HOT_SWITCH) == hot).collect();
        alone.mean(series, |r| ports.iter().map(|&p| r.by_input[p]).sum::<f64>() / ports.len() as f64).mean
    };
    let (hot_inputs, other_inputs) = (part(true), part(false));
    let expected = load * f64::from(setups::PORTS - 8) / f64::from(setups::PORTS);
    let mut checks = vec![
        Check::mean("reserve: delay while blocked, relative to the time before", Unit::None, seen.slower(0), 0.0, 1.2).claimed(),
        Check::mean("reserve: longest delay after the end, relative to the time before", Unit::None, seen.rise(0), 1.05, f64::INFINITY)
            .claimed(),
        Check::new(
            "reserve: fullest queue of the last stage",
            Unit::Bytes,
            seen.results.max(seen.series[0], |r| f64::from(r.queue_max[2])),
            0.0,
            61_440.0 - 256.0,
        )
        .possible(0.0, 61_440.0)
        .claimed(),
        Check::mean("implicit: throughput of the others while blocked, relative to reserve", Unit::None, seen.beside(kept), 0.0, 0.9)
            .claimed(),
        Check::mean("implicit: longest delay after the end, relative to reserve", Unit::None, seen.beside(rise), 1.0, f64::INFINITY)
            .claimed(),
        Check::mean(
            "implicit: recovery time of delays, relative to reserve",
            Unit::None,
            seen.beside(|r| recovery(r).max(1_000.0)),
            1.0,
            f64::INFINITY,
        )
        .claimed(),
        soundness(&seen.results),
    ];
    setups::assuming(&mut checks, setups::LOAD);
    let mut f = Findings {
        measured: seen.words(),
        checks,
        figures: vec![seen.draw(
            "Eight hosts stop: control in band, with speed-up (paper: Fig. 15d-f)",
            "As before, with requests, grants and ACKs in band and unsolicited segments, and links of 1.1 times the line rate (reserve) \
             and 1.4 times (implicit). With reserving, delays do not change while the hosts are stopped, and rise afterwards. Implicit \
             rate regulation stops everything although it is faster.",
            ["d", "e", "f"],
        )],
        tables: vec![seen.table("The other outputs at load 0.6."), peak.table("The other outputs at load 0.78, the peak possible.")],
        ..Findings::default()
    };
    f.why.push(format!(
        "In band, reserving is not transparent for throughput ({:.2} times the earlier value while blocked). Grants for the adapters of \
         the hotspots are stuck behind their own data. In the second half of the blocking those eight inputs send {hot_inputs:.3} of \
         the line rate, the other 56 {other_inputs:.3} ({expected:.3} offered to the others). The outputs that granted to these inputs \
         have reserved slots that stay empty: eight requests of 36 segments are 288 slots of 240. An output that granted to six of them \
         grants to no other until the end. The paper mentions only delays, and the delays of packets that arrive are indeed unaffected.",
        seen.kept(0).mean
    ));
    f.why.push(format!(
        "The rise at the end is the backlog of those eight adapters: up to {:.1} times the earlier delay, and back to normal after \
         {:.0} t_min at load {load}. At load 0.78, where inputs are full, {:.1} times and {:.0} t_min.",
        seen.rise(0).mean,
        seen.recovery(0).mean,
        peak.rise(0).mean,
        peak.recovery(0).mean
    ));
    setups::quick_note(cx, &mut f.notes);
    Ok(f)
}
