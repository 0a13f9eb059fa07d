//! The open question: which settings make PFC and CBFC deadlock on the ring and let GFC hold 5 Gb/s?

use xoff_report::{Align, Axis, Cell, Figure, HeatCell, Mark, Panel, Table, Tone, Unit};
use xoff_units::Span;

use super::ring::RING;
use super::schemes::{SCHEMES, Scheme};
use crate::{Check, Context, Findings, ReproduceError, lab};

/// Thresholds: name, buffer of GFC (B_m + 2 MTU), settings for all, settings by flow control.
pub(super) struct Set {
    pub(super) name: &'static str,
    pub(super) slack: &'static str,
    pub(super) settings: &'static [&'static str],
}

pub(super) const SETS: [Set; 3] = [
    Set { name: "testbed", slack: "1003KB", settings: &[] },
    Set {
        name: "simulations",
        slack: "303KB",
        settings: &[
            "switch.buffer=300KB",
            "control_delay.processing=3us",
            "flow_control.pfc.xoff=280KB",
            "flow_control.pfc.xon=277KB",
            "flow_control.gfc-buffer.bm=300KB",
            "flow_control.gfc-buffer.b1=281KB",
            "flow_control.gfc-time.bm=300KB",
            "flow_control.gfc-time.b0=159KB",
        ],
    },
    // PFC pauses far below C tau = 112.5 KB, so that it under-runs; GFC as in the testbed.
    Set { name: "testbed, XOFF 30 KB", slack: "1003KB", settings: &["flow_control.pfc.xoff=30KB", "flow_control.pfc.xon=27KB"] },
];
pub(super) const DISCIPLINES: [&str; 4] = ["fifo", "round-robin", "drr", "input-fifo"];
/// Disciplines that serve all inputs of an output.
const FAIR: [usize; 2] = [1, 2];
/// An input is read one frame at a time, so that a frame that may not go holds up those behind it.
pub(super) const INPUT_FIFO: usize = 3;
/// Uniform addition to the processing delay [us], quick and full.
const JITTERS: (&[u64], &[u64]) = (&[0, 40], &[0, 10, 40]);
/// Host i starts i times this later [us].
pub(super) const OFFSETS: [u64; 3] = [0, 100, 3000];

/// Run of one setting.
struct Job {
    set: usize,
    discipline: usize,
    /// [us]
    jitter: u64,
    offset: usize,
    scheme: usize,
    seed: u64,
}

/// Result of the run.
#[derive(Clone, Copy)]
struct Answer {
    deadlock: bool,
    slowest: f64,
    fastest: f64,
    lost: u64,
}

impl Answer {
    fn holds(&self) -> bool {
        !self.deadlock && self.slowest >= 4.9e9 && self.fastest <= 5.1e9
    }
}

/// Settings of one set of thresholds, counted.
#[derive(Clone, Copy, Default)]
struct Counts {
    /// PFC and CBFC deadlock.
    stops: u64,
    /// The same under FIFO.
    stops_in_order: u64,
    /// Both GFC hold 5 Gb/s.
    holds: u64,
}

/// All settings, counted.
struct Counted {
    settings: u64,
    by_set: [Counts; SETS.len()],
    /// Settings with the paper's whole pair.
    whole: u64,
    /// Settings with a part of it.
    pairs: Table,
}

/// All runs.
struct Grid {
    jitters: &'static [u64],
    jobs: Vec<Job>,
    results: Vec<Answer>,
}

/// The entry.
pub fn run(cx: &Context) -> Result<Findings, ReproduceError> {
    let grid = Grid::measure(cx)?;
    let counted = grid.count();
    let testbed = DISCIPLINES.len() * grid.jitters.len() * OFFSETS.len();
    let measured = format!(
        "Of {} settings, {} give both results of the paper (PFC and CBFC deadlock, both GFC hold 5 Gb/s) under one discipline. {} give \
         them for part of the four flow controls (table). Testbed thresholds: PFC and CBFC both deadlock in {} of {testbed} settings, \
         {} of them under FIFO; both GFC hold 5 Gb/s in {} of {testbed}.",
        counted.settings,
        counted.whole,
        counted.pairs.rows.len(),
        counted.by_set[0].stops,
        counted.by_set[0].stops_in_order,
        counted.by_set[0].holds
    );
    Ok(Findings {
        measured,
        checks: grid.checks(&counted),
        figures: vec![figure(grid.jitters, &|set, discipline, jitter, offset, scheme| grid.of(set, discipline, jitter, offset, scheme))],
        tables: vec![counted.pairs],
        notes: vec![grid.losses()],
        why: grid.why(),
    })
}

/// Part of the runs that deadlock.
fn stuck(all: &[Answer]) -> f64 {
    all.iter().filter(|r| r.deadlock).count() as f64 / all.len() as f64
}

/// Part of the runs that hold 5 Gb/s.
fn good(all: &[Answer]) -> f64 {
    all.iter().filter(|r| r.holds()).count() as f64 / all.len() as f64
}

impl Grid {
    fn measure(cx: &Context) -> Result<Grid, ReproduceError> {
        let seeds = cx.mode.pick(1, 6);
        let jitters = cx.mode.pick(JITTERS.0, JITTERS.1);
        let mut jobs = Vec::new();
        for set in 0..SETS.len() {
            for discipline in 0..DISCIPLINES.len() {
                for us in jitters {
                    for offset in 0..OFFSETS.len() {
                        for scheme in 0..SCHEMES.len() {
                            // Without jitter nothing is random.
                            let runs = if *us == 0 { 1 } else { seeds };
                            jobs.extend((0..runs).map(|seed| Job { set, discipline, jitter: *us, offset, scheme, seed: cx.seed + seed }));
                        }
                    }
                }
            }
        }
        let results = cx.parallel(&jobs, |j| one(cx, j))?;
        Ok(Grid { jitters, jobs, results })
    }

    fn of(&self, set: usize, discipline: usize, jitter: u64, offset: usize, scheme: usize) -> Vec<Answer> {
        let same = |j: &Job| (j.set, j.discipline, j.jitter, j.offset, j.scheme) == (set, discipline, jitter, offset, scheme);
        self.jobs.iter().zip(&self.results).filter(|(j, _)| same(j)).map(|(_, r)| *r).collect()
    }

    /// Every jitter and start under one discipline.
    fn along(&self, discipline: usize, set: usize, scheme: usize) -> Vec<Answer> {
        let starts = OFFSETS.len();
        (0..self.jitters.len() * starts).flat_map(|i| self.of(set, discipline, self.jitters[i / starts], i % starts, scheme)).collect()
    }

    /// FIFO, with the thresholds of testbed and simulations.
    fn both(&self, scheme: usize) -> Vec<Answer> {
        (0..2).flat_map(|set| self.along(0, set, scheme)).collect()
    }

    /// Lossless runs with the thresholds of testbed and simulations.
    fn under(&self, disciplines: &[usize], gentle: bool) -> Vec<Answer> {
        let wanted =
            |j: &Job, r: &Answer| j.set < 2 && disciplines.contains(&j.discipline) && SCHEMES[j.scheme].gentle == gentle && r.lost == 0;
        self.jobs.iter().zip(&self.results).filter(|(j, r)| wanted(j, r)).map(|(_, r)| *r).collect()
    }

    fn count(&self) -> Counted {
        let mut pairs = Table::new(["Thresholds", "Egress", "Jitter", "Offset", "PFC", "CBFC", "Buffer-based GFC", "Time-based GFC"])
            .align([Align::Left, Align::Left, Align::Right, Align::Right])
            .caption(
                "Settings under which PFC or CBFC deadlocks in every run and at least one GFC holds 5 Gb/s in every run without loss.",
            );
        let mut by_set = [Counts::default(); SETS.len()];
        let mut whole = 0;
        let mut settings = 0;
        for set in 0..SETS.len() {
            for (discipline, egress) in DISCIPLINES.iter().enumerate() {
                for jitter in self.jitters {
                    for (offset, apart) in OFFSETS.iter().enumerate() {
                        settings += 1;
                        let answers: Vec<Vec<Answer>> = (0..SCHEMES.len()).map(|s| self.of(set, discipline, *jitter, offset, s)).collect();
                        let stops = |s: usize| answers[s].iter().all(|r| r.deadlock);
                        let holds = |s: usize| answers[s].iter().all(|r| r.holds() && r.lost == 0);
                        by_set[set].stops += u64::from(stops(0) && stops(1));
                        by_set[set].stops_in_order += u64::from(stops(0) && stops(1) && discipline == 0);
                        by_set[set].holds += u64::from(holds(2) && holds(3));
                        whole += u64::from(stops(0) && stops(1) && holds(2) && holds(3));
                        if (stops(0) || stops(1)) && (holds(2) || holds(3)) {
                            let mut row = vec![
                                Cell::from(SETS[set].name),
                                Cell::code(*egress),
                                format!("{jitter} us").into(),
                                format!("{apart} us").into(),
                            ];
                            row.extend(answers.iter().map(|a| Cell::from(words(a))));
                            pairs.push(row);
                        }
                    }
                }
            }
        }
        Counted { settings, by_set, whole, pairs }
    }

    fn checks(&self, counted: &Counted) -> Vec<Check> {
        let mut checks = Vec::new();
        for (set, name) in [(0, "testbed"), (1, "simulations")] {
            for (scheme, title) in [(0, "PFC"), (1, "CBFC")] {
                checks.push(
                    Check::exact(
                        format!("{name}, FIFO: runs with {title} that deadlock"),
                        Unit::Fraction,
                        stuck(&self.along(0, set, scheme)),
                        1.0,
                    )
                    .claimed(),
                );
            }
        }
        checks.push(
            Check::exact("testbed, round robin: runs with buffer-based GFC at 5 Gb/s", Unit::Fraction, good(&self.along(1, 0, 2)), 1.0)
                .claimed(),
        );
        checks.push(
            Check::exact("testbed, round robin: runs with time-based GFC at 5 Gb/s", Unit::Fraction, good(&self.along(1, 0, 3)), 1.0)
                .claimed(),
        );
        checks.push(Check::some("settings that give both results of the paper under one discipline", "settings", counted.whole).claimed());
        checks
    }

    fn why(&self) -> Vec<String> {
        let (fair_stops, fair_gentle) = (self.under(&FAIR, false), self.under(&FAIR, true));
        let (read_stops, read_gentle) = (self.under(&[INPUT_FIFO], false), self.under(&[INPUT_FIFO], true));
        vec![
            format!(
                "Under FIFO, with the thresholds of testbed and simulations, PFC deadlocks in {} and CBFC in {} of the runs. The \
                 slowest flow under GFC has at best {}: the local ingress crowds out transit traffic, at any jitter and start.",
                Unit::Fraction.format(stuck(&self.both(0))),
                Unit::Fraction.format(stuck(&self.both(1))),
                lab::rate(self.both(2).into_iter().chain(self.both(3)).map(|r| r.slowest).fold(0.0, f64::max)),
            ),
            format!(
                "Round robin and deficit round robin guarantee transit traffic its half. There, with the same thresholds, {} of {} \
                 lossless runs with PFC or CBFC deadlock, and GFC holds 5 Gb/s in {} of its lossless runs.",
                fair_stops.iter().filter(|r| r.deadlock).count(),
                fair_stops.len(),
                Unit::Fraction.format(good(&fair_gentle)),
            ),
            format!(
                "Under a fair discipline, PFC deadlocks because of under-run: XOFF below C tau (30 KB against 112.5 KB) together with \
                 jitter or staggered starts. Then PFC deadlocks in {} of round-robin runs, as it did with real frames when scheduling \
                 stalls were longer than the thresholds.",
                Unit::Fraction.format(stuck(&self.along(1, 2, 0)))
            ),
            format!(
                "If a switch reads one frame at a time from an input (input FIFO), {} of {} lossless runs with PFC or CBFC deadlock. \
                 GFC holds 5 Gb/s within 2 % in {} of its lossless runs (its slowest flow has {} to {}). The discipline of the authors' \
                 switch and simulator is not stated. This single discipline comes nearest to both results of the paper. Otherwise two \
                 are needed: FIFO for PFC and CBFC, and a fair one for GFC.",
                read_stops.iter().filter(|r| r.deadlock).count(),
                read_stops.len(),
                Unit::Fraction.format(good(&read_gentle)),
                lab::rate(read_gentle.iter().map(|r| r.slowest).fold(f64::INFINITY, f64::min)),
                lab::rate(read_gentle.iter().map(|r| r.slowest).fold(0.0, f64::max)),
            ),
        ]
    }

    fn losses(&self) -> String {
        let lost: u64 = self.results.iter().map(|r| r.lost).sum();
        let lossy = self.results.iter().filter(|r| r.lost > 0).count();
        format!(
            "{lossy} of {} runs lost frames ({lost} in total): with the simulations' thresholds a jitter of 10 or 40 us exceeds what 20 \
             KB of headroom can absorb. The thresholds are correct for tau = 7.4 us.",
            self.results.len()
        )
    }
}

fn one(cx: &Context, j: &Job) -> Result<Answer, ReproduceError> {
    let (set, scheme): (&Set, Scheme) = (&SETS[j.set], SCHEMES[j.scheme]);
    let mut settings: Vec<String> = set.settings.iter().map(|s| (*s).to_owned()).collect();
    settings.extend(scheme.settings(DISCIPLINES[j.discipline], set.slack));
    settings.extend([
        format!("control_delay.processing_jitter={}us", j.jitter),
        format!("flow[1].start={}us", OFFSETS[j.offset]),
        format!("flow[2].start={}us", 2 * OFFSETS[j.offset]),
        format!("run.seed={}", j.seed),
        "run.stop_on_deadlock=true".into(),
        "run.duration=60ms".into(),
        "probes.interval=1ms".into(),
    ]);
    let run = lab::run(cx, RING.0, RING.1, &settings)?;
    let deadlock = run.deadlock().is_some();
    let rates = run.rates_at_end(Span::from_ms(10));
    let slowest = rates.iter().copied().fold(f64::INFINITY, f64::min);
    Ok(Answer { deadlock, slowest, fastest: rates.iter().copied().fold(0.0, f64::max), lost: run.lost() })
}

/// Some runs of one setting. After a loss a rate says nothing: the frame is not sent again.
fn words(all: &[Answer]) -> String {
    let stuck = all.iter().filter(|r| r.deadlock).count();
    let lost = all.iter().any(|r| r.lost > 0);
    if stuck == all.len() {
        return if lost { "deadlock, loss".into() } else { "deadlock".into() };
    }
    let part = if stuck > 0 { format!("{stuck}/{} stuck, ", all.len()) } else { String::new() };
    if lost {
        return format!("{part}loss");
    }
    let slowest = all.iter().filter(|r| !r.deadlock).map(|r| r.slowest).fold(f64::INFINITY, f64::min);
    format!("{part}{:.2} G", slowest / 1e9)
}

fn figure(jitters: &[u64], of: &dyn Fn(usize, usize, u64, usize, usize) -> Vec<Answer>) -> Figure {
    let mut figure = Figure::new("Which settings give both results of the paper?").caption(
        "A field matches the paper if PFC and CBFC deadlock and GFC holds 5 Gb/s; otherwise it shows the slowest flow of the last 10 ms \
         of 60 ms. A row gives both results if it is green from end to end.",
    );
    for (set, s) in SETS.iter().enumerate() {
        let rows: Vec<String> = DISCIPLINES.iter().flat_map(|d| OFFSETS.map(|o| format!("{d}, {o} us apart"))).collect();
        let columns: Vec<String> = SCHEMES.iter().flat_map(|s| jitters.iter().map(|j| format!("{}, {j} us", short(s)))).collect();
        let cell = |row: usize, column: usize| {
            let scheme = column / jitters.len();
            let all = of(set, row / OFFSETS.len(), jitters[column % jitters.len()], row % OFFSETS.len(), scheme);
            let as_shown = |r: &Answer| if SCHEMES[scheme].gentle { r.holds() && r.lost == 0 } else { r.deadlock };
            let tone = match all.iter().filter(|r| as_shown(r)).count() {
                n if n == all.len() => Tone::Good,
                0 => Tone::Bad,
                _ => Tone::Caution,
            };
            HeatCell::new(tone, words(&all))
        };
        let cells = (0..rows.len()).map(|r| (0..columns.len()).map(|c| cell(r, c)).collect()).collect();
        let legend = [(Tone::Good, "as in the paper"), (Tone::Caution, "in some runs"), (Tone::Bad, "not as in the paper")];
        let panel = Panel::new(
            format!("Thresholds: {}", s.name),
            Axis::new("Flow control, jitter", Unit::None),
            Axis::new("Egress, start of the hosts", Unit::None),
        );
        figure = figure.panel(panel.mark(Mark::heatmap(rows, columns, cells).legend(legend)));
    }
    figure
}

fn short(s: &Scheme) -> &'static str {
    match s.kind {
        "gfc-buffer" => "GFC-b",
        "gfc-time" => "GFC-t",
        "cbfc" => "CBFC",
        _ => "PFC",
    }
}
