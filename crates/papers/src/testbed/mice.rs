//! Mice next to elephants with real frames and the TCP of the kernel: programs in hosts with a stack of their own, behind shims.

use std::path::Path;

use serde::Serialize;
use xoff_real::testbed::hosts::Run;
use xoff_real::testbed::programs;
use xoff_report::{Align, Bar, BarGroup, Mark, Table, Unit};

use super::repeat::{LEFT_OUT, repetitions};
use crate::lab::{self, Observed};
use crate::pffc::mice::completion_times;
use crate::pffc::run::{PFC, PFFC, SHAPE, Scheme};
use crate::stats::Mean;
use crate::{Check, Context, Findings, ReproduceError};

const SCENARIO: (&str, &str) = scenario!("pffc/testbed", "mice.toml");
/// The programs.
const PROGRAMS: &str = include_str!("mice.py");
/// Time before the first mouse [s].
const SETTLE: u32 = 4;
/// Sizes of mice [bytes], and how many begin in a second: the loads of the simulated entry, 2 and 5 % of the line.
const KINDS: [(u64, f64); 2] = [(10_000, 25.0), (100_000, 6.25)];
/// Number of tries until the process was not descheduled.
const TRIES: usize = 3;
const SCHEMES: [Scheme; 2] = [PFC, PFFC];

/// Elephants: their name, and the congestion control of theirs and of the mice; `None`: the generator of the host, at line rate.
type Elephants = (&'static str, Option<&'static str>);

/// The entry `mice-udp`.
pub fn run_udp(cx: &Context) -> Result<Findings, ReproduceError> {
    entry(cx, "Real frames: TCP mice next to UDP elephants", &[("UDP elephants", None)])
}

/// The entry `mice-tcp`.
pub fn run_tcp(cx: &Context) -> Result<Findings, ReproduceError> {
    entry(cx, "Real frames: TCP mice next to TCP elephants", &[("CUBIC", Some("cubic")), ("Reno", Some("reno"))])
}

/// Result of a run.
#[derive(Clone, Debug, Default, Serialize)]
struct Seen {
    elephants: String,
    scheme: String,
    run: usize,
    counts: bool,
    /// Share of the time in which the processor was elsewhere.
    left_out: f64,
    /// Longest interruption of the loop [us].
    gap_longest_us: f64,
    /// Mice that were begun, and each that was done: its size [bytes], its time [s].
    begun: usize,
    mice: Vec<(u64, f64)>,
    /// Frames dropped by nodes, lost on wires or in the kernel.
    lost: u64,
    /// Times that the last switch stopped the first, by the first's count.
    stops: u64,
}

impl Seen {
    fn mean(&self, size: Option<u64>) -> f64 {
        Mean::of(self.mice.iter().filter(|m| size.is_none_or(|s| s == m.0)).map(|m| m.1 * 1e12)).mean
    }
}

fn seconds(cx: &Context) -> u32 {
    cx.mode.pick(4, 6)
}

/// Runs the testbed once.
fn once(cx: &Context, elephants: Elephants, scheme: Scheme, nth: usize, folder: &Path) -> Result<Seen, ReproduceError> {
    let settings = vec![format!("run.seed={}", cx.seed), format!("flow_control.kind={}", scheme.kind)];
    let scenario = lab::load(SCENARIO.0, SCENARIO.1, &settings)?;
    let script = folder.join("mice.py");
    std::fs::write(&script, PROGRAMS).map_err(|e| ReproduceError::file(&script, e))?;
    let python = |host: &str, args: String| Run { host: host.into(), command: format!("exec python3 '{}' {args}", script.display()) };
    let mut hosts = vec!["H1", "H5"];
    let mut programs = vec![python("H5", "serve 5001".into())];
    if let Some(control) = elephants.1 {
        hosts.extend(["H2", "H4", "H6"]);
        programs.push(python("H6", "serve 5001".into()));
        programs.extend(["H2", "H4"].map(|h| python(h, format!("elephant 10.88.0.6 5001 {control}"))));
    }
    let kinds = KINDS.map(|(size, rate)| format!("{size}:{rate}")).join(" ");
    let seed = cx.seed + nth as u64;
    let control = elephants.1.unwrap_or("cubic");
    programs.push(python("H1", format!("mice 10.88.0.5 5001 {control} {seed} {SETTLE} {} {kinds}", seconds(cx))));
    let names: Vec<String> = hosts.iter().map(|h| (*h).to_owned()).collect();
    let ran = programs::run(scenario, &names, programs, folder, cx.interrupted).map_err(|e| ReproduceError::Testbed(e.to_string()))?;
    cx.go_on()?;
    if let Some(failed) = ran.programs.iter().find(|p| p.exit_code.is_some_and(|code| code != 0)) {
        return Err(ReproduceError::Testbed(format!("the program at {} failed: {}", failed.host, failed.ended)));
    }
    let output = std::fs::read_to_string(folder.join("H1.txt")).unwrap_or_default();
    let numbers = |line: &str| line.split(' ').map(|w| w.parse::<f64>().ok()).collect::<Option<Vec<f64>>>();
    let mice = output.lines().filter_map(numbers).filter(|n| n.len() == 3).map(|n| (n[0] as u64, n[2])).collect();
    let begun = output.lines().find_map(|l| l.strip_prefix("begun ")?.split(' ').next()?.parse().ok());
    let Some(begun) = begun else {
        let last = output.lines().last().unwrap_or("nothing").to_owned();
        return Err(ReproduceError::Testbed(format!("the program of the mice at H1 ended with: {last}")));
    };
    let seen = Observed { topology: ran.topology, outcome: ran.outcome, rows: Vec::new(), warnings: Vec::new() };
    Ok(Seen {
        elephants: elephants.0.into(),
        scheme: scheme.title.into(),
        run: nth + 1,
        counts: false,
        left_out: ran.real.left_out_seconds / ran.real.wall_seconds.max(1e-9),
        gap_longest_us: ran.real.gap_longest_us,
        begun,
        mice,
        lost: seen.lost() + ran.real.losses().total(),
        stops: seen.totals("S1->S2").blocks,
    })
}

/// All runs of an entry, those that count.
struct Mice {
    runs: Vec<Seen>,
    tries: usize,
    inconclusive: usize,
}

impl Mice {
    fn run(cx: &Context, elephants: &[Elephants]) -> Result<Mice, ReproduceError> {
        let folder = cx.below("evidence")?.join(cx.entry);
        std::fs::create_dir_all(&folder).map_err(|e| ReproduceError::file(&folder, e))?;
        let n = repetitions(cx);
        let mut all = Mice { runs: Vec::new(), tries: 0, inconclusive: 0 };
        let mut evidence = Vec::new();
        // Schemes take turns, so that the machine is the same for both.
        let jobs = elephants.iter().flat_map(|e| (0..n).flat_map(move |nth| SCHEMES.map(|s| (*e, nth, s))));
        let jobs: Vec<(Elephants, usize, Scheme)> = jobs.collect();
        for (done, (e, nth, scheme)) in jobs.iter().enumerate() {
            let mut counts = false;
            for _ in 0..TRIES {
                cx.go_on()?;
                cx.progress.note(cx.entry, &format!("{}, {}, run {} of {n}", e.0, scheme.title, nth + 1));
                all.tries += 1;
                let mut seen = once(cx, *e, *scheme, *nth, &folder)?;
                counts = seen.left_out <= LEFT_OUT;
                seen.counts = counts;
                evidence.push(seen.clone());
                if counts {
                    all.runs.push(seen);
                    break;
                }
            }
            all.inconclusive += usize::from(!counts);
            cx.fraction((done + 1) as f64 / jobs.len() as f64);
        }
        let text = serde_json::to_string_pretty(&evidence).expect("plain values") + "\n";
        xoff_record::output::write(&folder.join("runs.json"), text.as_bytes())?;
        Ok(all)
    }

    fn of<'a>(&'a self, e: &'a Elephants, scheme: Scheme) -> impl Iterator<Item = &'a Seen> {
        self.runs.iter().filter(move |r| r.elephants == e.0 && r.scheme == scheme.title)
    }

    fn mean(&self, e: &Elephants, scheme: Scheme, size: Option<u64>) -> Mean {
        Mean::of(self.of(e, scheme).map(|r| r.mean(size)))
    }

    /// PFC relative to PFFC, of the runs of the same mice that both count.
    fn ratio(&self, e: &Elephants, size: Option<u64>) -> Mean {
        let pairs: Vec<(f64, f64)> =
            self.of(e, PFC).filter_map(|pfc| Some((pfc.mean(size), self.of(e, PFFC).find(|r| r.run == pfc.run)?.mean(size)))).collect();
        let (over, under): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
        Mean::ratio(&over, &under)
    }
}

fn entry(cx: &Context, title: &str, elephants: &[Elephants]) -> Result<Findings, ReproduceError> {
    let mice = Mice::run(cx, elephants)?;
    let n = repetitions(cx);
    let mut checks = Vec::new();
    for e in elephants {
        let what = format!("{}: mean completion time, PFC relative to PFFC", e.0);
        checks.push(Check::mean(what, Unit::None, mice.ratio(e, None), 1.0, f64::INFINITY).claimed().assuming(SHAPE));
        for scheme in SCHEMES {
            let what = format!("{}, {}: runs that count, of {n}", e.0, scheme.title);
            let least = (n as f64 * 2.0 / 3.0).round();
            checks.push(Check::new(what, Unit::Other("runs".into()), mice.of(e, scheme).count() as f64, least, n as f64));
        }
    }
    let unfinished = mice.runs.iter().map(|r| (r.begun - r.mice.len()) as u64).sum();
    checks.push(Check::none("mice that did not complete, all runs", "messages", unfinished));
    checks.push(Check::none(
        "frames lost in nodes, on wires and in the kernel, all runs",
        "frames",
        mice.runs.iter().map(|r| r.lost).sum(),
    ));
    let mut table =
        Table::new(["Elephants", "Flow control", "Runs", "10 KB", "100 KB", "All mice", "PFC relative to PFFC", "Stops of S1->S2"])
            .align([Align::Left, Align::Left, Align::Right, Align::Right, Align::Right, Align::Right, Align::Right, Align::Right])
            .caption(
                "Means over the runs that count, with their 95 % intervals; each run has its own mice. Times are by the wall clock, \
            from the first byte that the program sends until the receiving program has confirmed the last.",
            );
    for e in elephants {
        for scheme in SCHEMES {
            let time = |size| mice.mean(e, scheme, size).words(lab::time);
            table.push([
                e.0.to_owned(),
                scheme.title.to_owned(),
                mice.of(e, scheme).count().to_string(),
                time(Some(KINDS[0].0)),
                time(Some(KINDS[1].0)),
                time(None),
                if scheme == PFFC { mice.ratio(e, None).words(|v| format!("{v:.2}")) } else { String::new() },
                format!("{:.0}", Mean::of(mice.of(e, scheme).map(|r| r.stops as f64)).mean),
            ]);
        }
    }
    let bars = SCHEMES.map(|s| BarGroup::new(s.title, elephants.iter().map(|e| Bar::new(mice.mean(e, s, None).mean))).colour(s.colour));
    let cdf = |scheme: Scheme| {
        let all = mice.of(&elephants[0], scheme).flat_map(|r| r.mice.iter().map(|m| m.1 * 1e12)).collect::<Vec<_>>();
        Mark::cdf(scheme.title, all).colour(scheme.colour)
    };
    let names = elephants.iter().map(|e| e.0.to_owned());
    let figure = completion_times(title, "all mice of all runs that count", names, bars, elephants[0].0, SCHEMES.map(cdf));
    let words = |e: &Elephants| {
        let time = |s| mice.mean(e, s, None).words(lab::time);
        format!("{}: PFC {}, PFFC {}, ratio {}", e.0, time(PFC), time(PFFC), mice.ratio(e, None).words(|v| format!("{v:.2}")))
    };
    let measured = elephants.iter().map(words).collect::<Vec<_>>().join(". ") + ".";
    let worst = |of: fn(&Seen) -> f64| mice.runs.iter().map(of).fold(0.0, f64::max);
    let notes = vec![format!(
        "{} runs were made, and {} count. If the loop of a run did not serve the ports for more than {} of the time, the run is \
         repeated, at most {TRIES} times. In runs that count, the virtual clock stopped for up to {} of the time, which the programs' clock includes, and \
         the longest interruption of the loop was {}. {} runs stayed inconclusive.",
        mice.tries,
        mice.runs.len(),
        Unit::Fraction.format(LEFT_OUT),
        Unit::Fraction.format(worst(|r| r.left_out)),
        lab::time(lab::us(worst(|r| r.gap_longest_us))),
        mice.inconclusive,
    )];
    Ok(Findings { measured, checks, figures: vec![figure], tables: vec![table], notes, ..Findings::default() })
}
