//! CPU time per frame-hop as the work grows: against hosts, frames in flight, length of cables,
//! messages in flight, simulated time and threads.
//!
//! A flat curve is the aim: cost grows with the work, not faster.

use std::path::Path;

use serde::{Deserialize, Serialize};
use xoff_report::{Axis, Colour, Figure, Mark, Panel, Unit};

use crate::Failed;
use crate::child::Run;
use crate::results::Stat;
use crate::runs::{Bench, stat, stat_of};

/// One curve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// Name of its figure's file.
    pub id: String,
    /// Quantity that grows: label of the x axis.
    pub grows: String,
    /// Quantities that stay constant: one sentence.
    pub held: String,
    /// Points, by the quantity that grows.
    pub points: Vec<Point>,
    /// Points that were not measured, with the reason: one clause each.
    pub missing: Vec<String>,
}

/// One point of a curve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Hosts, frames, or seconds.
    pub x: f64,
    /// CPU time of a frame-hop [s].
    pub per_hop: Stat,
    /// Frame-hops of a run.
    pub frame_hops: u64,
    /// Largest resident memory [bytes].
    pub peak_bytes: u64,
}

impl Point {
    fn of(x: f64, runs: &[Run]) -> Result<Point, Failed> {
        let frame_hops = runs.first().map_or(0, |r| r.answer.frame_hops);
        let peak_bytes = runs.iter().map(|r| r.peak_bytes).max().unwrap_or(0);
        Ok(Point { x, per_hop: stat(runs, Run::per_hop)?, frame_hops, peak_bytes })
    }
}

impl Curve {
    fn of(
        id: &str,
        grows: &str,
        held: &str,
        measured: impl IntoIterator<Item = (f64, String, Result<Vec<Run>, Failed>)>,
    ) -> Curve {
        let mut curve = Curve {
            id: id.into(),
            grows: grows.into(),
            held: held.into(),
            points: vec![],
            missing: vec![],
        };
        for (x, what, runs) in measured {
            match runs.and_then(|r| Point::of(x, &r)) {
                Ok(point) => curve.points.push(point),
                Err(e) => curve.missing.push(format!("{what}: {e}")),
            }
        }
        curve
    }

    /// The x value of a point, for people.
    pub fn show_x(&self, x: f64) -> String {
        if self.is_over_time() {
            Unit::Seconds.format(x)
        } else {
            xoff_units::measured::long(&format!("{x:.0}"))
        }
    }

    fn is_over_time(&self) -> bool {
        matches!(&*self.id, TIME | CABLES | MESSAGES)
    }

    /// The median at the last point over that at the first.
    pub fn growth(&self) -> Result<Stat, Failed> {
        match (&self.points[..], &self.missing[..]) {
            ([first, .., last], []) => stat_of([last.per_hop.median / first.per_hop.median]),
            (_, missing) => Err(missing.first().cloned().unwrap_or_else(|| "no two points".into())),
        }
    }

    /// Draws it.
    pub fn write_svg(&self, folder: &Path) -> Result<(), Failed> {
        let points = || self.points.iter().map(|p| (p.x, p.per_hop.median));
        let top = points().map(|p| p.1).fold(0.0, f64::max) * 1.1;
        let x = Axis::new(
            self.grows.clone(),
            if self.is_over_time() { Unit::Seconds } else { Unit::None },
        )
        .log();
        let y = Axis::new("CPU time per frame-hop", Unit::Seconds).range(0.0, top.max(1e-9));
        let figure =
            Figure::new(format!("CPU time per frame-hop against {}", self.grows.to_lowercase()))
                .caption(self.held.clone())
                .panel(
                    Panel::new("", x, y)
                        .mark(Mark::line("", points()).colour(Colour::Blue))
                        .mark(Mark::points("", points()).colour(Colour::Blue)),
                );
        figure.write_svg(folder.join(format!("{}.svg", self.id))).map_err(|e| e.to_string())
    }
}

const HOSTS: &str = "hosts";
const FRAMES: &str = "frames";
const CABLES: &str = "cables";
const MESSAGES: &str = "messages";
const TIME: &str = "time";
const THREADS: &str = "threads";

/// The permutation on fat-trees of every size; rows of the table use it too.
pub struct Hosts(Vec<(u32, Result<Vec<Run>, Failed>)>);

impl Hosts {
    /// Measures k = 4 to 64.
    pub fn measure(bench: &Bench) -> Hosts {
        let runs = |k: u32| {
            if bench.quick && k == 64 {
                return Err("left out by --quick".into());
            }
            let size = format!("topology.k={k}");
            bench.several(&format!("k = {k}, permutation"), || {
                bench.once("permutation.toml", &[&size], 1)
            })
        };
        Hosts([4, 8, 16, 32, 64].map(|k| (k, runs(k))).into())
    }

    /// The runs of a size.
    pub fn runs(&self, k: u32) -> &Result<Vec<Run>, Failed> {
        const UNKNOWN: &Result<Vec<Run>, Failed> = &Err(String::new());
        self.0.iter().find(|(size, _)| *size == k).map_or(UNKNOWN, |(_, runs)| runs)
    }

    /// The curve.
    pub fn curve(&self) -> Curve {
        let held = "Fat-trees k = 4 to 64, permutation for 100 us, PFC, DCQCN, ACKs.";
        let points = self.0.iter().map(|(k, runs)| {
            let hosts = k * k * k / 4;
            (f64::from(hosts), format!("{hosts} hosts"), runs.clone())
        });
        Curve::of(HOSTS, "Hosts", held, points)
    }
}

/// Payload of a frame of the benchmark's scenarios [bytes].
const PAYLOAD: u32 = 1000;
/// Hosts of their k = 8 fat-tree.
const K8_HOSTS: u32 = 128;

/// Against frames in flight. Links of 10 us hold more than the largest window, so that the window
/// decides what is in flight; without rate control nothing else does. Simulated times give each
/// point some million frame-hops.
pub fn frames(bench: &Bench) -> Curve {
    let held = "Fat-tree k = 8, 128 hosts, permutation, links of 10 us, PFC, ACKs, no rate control; the windows of all flows together.";
    let windows = [
        (10_000, "20ms"),
        (30_000, "10ms"),
        (100_000, "4ms"),
        (300_000, "2ms"),
        (1_000_000, "1ms"),
    ];
    let points = windows.map(|(window, duration)| {
        let (window_set, duration) =
            (format!("host.window={window}B"), format!("run.duration={duration}"));
        let settings =
            ["topology.delay=10us", "rate_control=none", "detection=none", &window_set, &duration];
        let frames = window / PAYLOAD * K8_HOSTS;
        let what = format!("{frames} frames in flight");
        let runs = bench.several(&what, || bench.once("permutation.toml", &settings, 1));
        (f64::from(frames), what, runs)
    });
    Curve::of(FRAMES, "Frames in flight", held, points)
}

/// Against the delay of all cables: nodes act for one window at a time, and a window is no longer
/// than a cable.
pub fn cables(bench: &Bench) -> Curve {
    let held = "Fat-tree k = 8, 128 hosts, permutation, 300 us, PFC, DCQCN, ACKs; windows are as long as the cables, 2 us at most. Cables of 50 ns \
        are too short for windows, so all events stand in one order there.";
    let points = [50u32, 100, 200, 500, 1000, 2000, 5000].map(|ns| {
        let (what, delay) = (format!("cables of {ns} ns"), format!("topology.delay={ns}ns"));
        let runs = bench
            .several(&what, || bench.once("permutation.toml", &[&delay, "run.duration=300us"], 1));
        (f64::from(ns) * 1e-9, what, runs)
    });
    Curve::of(CABLES, "Delay of the cables", held, points)
}

/// Against the delay of all cables, with messages of one frame: the longer the cables, the more
/// messages of a host wait for their acknowledgement.
pub fn messages(bench: &Bench) -> Curve {
    let held = "Fat-tree k = 4, 16 hosts, messages of one frame at a load of 30 % for 2 ms, PFC, DCQCN, ACKs; some 45, 450 and 4,500 messages of a host \
        are in flight.";
    let points = [1u32, 10, 100].map(|us| {
        let (what, delay) =
            (format!("messages over cables of {us} us"), format!("topology.delay={us}us"));
        let settings = [&*delay, "workload[0].duration=2ms"];
        let runs = bench.several(&what, || bench.once("gate-short.toml", &settings, 1));
        (f64::from(us) * 1e-6, what, runs)
    });
    Curve::of(MESSAGES, "Delay of the cables", held, points)
}

/// Against threads: what all of them take together.
pub fn threads(bench: &Bench) -> Curve {
    let held = "Fat-tree k = 16, 1024 hosts, permutation, 100 us, PFC, DCQCN, ACKs; CPU time of all threads together, so a flat curve is a perfect one.";
    let points = [1u32, 2, 4, 8].map(|threads| {
        let what = format!("{threads} threads");
        let runs =
            bench.several(&what, || bench.once("permutation.toml", &["topology.k=16"], threads));
        (f64::from(threads), what, runs)
    });
    Curve::of(THREADS, "Threads", held, points)
}

/// Against simulated time.
pub fn time(bench: &Bench) -> Curve {
    let held = "Fat-tree k = 8, 128 hosts, permutation, PFC, DCQCN, ACKs.";
    let points = [100u32, 300, 1000, 3000, 10_000].map(|us| {
        let (what, duration) = (format!("{us} us simulated"), format!("run.duration={us}us"));
        let runs = match bench.quick && us == 10_000 {
            true => Err("left out by --quick".into()),
            false => bench.several(&what, || bench.once("permutation.toml", &[&duration], 1)),
        };
        (f64::from(us) * 1e-6, what, runs)
    });
    Curve::of(TIME, "Simulated time", held, points)
}

#[cfg(test)]
pub mod tests {
    use super::*;

    pub fn sample() -> Curve {
        let point = |x: f64, ns: f64| Point {
            x,
            per_hop: Stat::of([ns * 1e-9]).unwrap(),
            frame_hops: 1_000_000,
            peak_bytes: 50 << 20,
        };
        Curve {
            id: TIME.into(),
            grows: "Simulated time".into(),
            held: "Fat-tree k = 8.".into(),
            points: vec![point(1e-4, 130.0), point(1e-3, 125.0)],
            missing: vec!["10000 us simulated: left out by --quick".into()],
        }
    }

    #[test]
    fn a_curve_keeps_what_failed_apart() {
        let run = Run {
            answer: crate::child::Answer { frame_hops: 4, cpu_seconds: 2.0, ..Default::default() },
            process_seconds: 3.0,
            peak_bytes: 7,
        };
        let c = Curve::of(
            HOSTS,
            "Hosts",
            "",
            [
                (16.0, "16 hosts".into(), Ok(vec![run])),
                (128.0, "128 hosts".into(), Err("late".into())),
            ],
        );
        assert_eq!(
            (c.points.len(), c.points[0].per_hop.median, c.points[0].peak_bytes),
            (1, 0.5, 7)
        );
        assert_eq!(c.missing, ["128 hosts: late"]);
        assert_eq!(c.show_x(65536.0), "65,536");
    }

    #[test]
    fn growth_is_the_last_point_over_the_first_and_needs_all_of_them() {
        let whole = Curve { missing: vec![], ..sample() };
        assert_eq!(
            whole.growth().unwrap().median,
            whole.points[1].per_hop.median / whole.points[0].per_hop.median
        );
        assert_eq!(sample().growth().unwrap_err(), "10000 us simulated: left out by --quick");
        assert!(Curve { points: vec![], ..whole }.growth().is_err());
    }

    #[test]
    fn a_curve_is_drawn() {
        let dir = tempfile::tempdir().unwrap();
        sample().write_svg(dir.path()).unwrap();
        let svg = std::fs::read_to_string(dir.path().join("time.svg")).unwrap();
        assert!(svg.contains("CPU time per frame-hop") && svg.contains("Simulated time"));
        assert_eq!(sample().show_x(1e-3), "1 ms");
        // A line of the two points: from left to right, and down, as 125 ns are less than 130 ns.
        let lines = svg.split("<path").filter(|p| {
            p.contains(Colour::Blue.hex()) && p.contains("fill=\"none\"") && p.contains('L')
        });
        let numbers = |p: &str| -> Vec<f64> {
            let d = p.split(" d=\"").nth(1).and_then(|d| d.split('"').next()).unwrap_or_default();
            d.split(|c: char| !c.is_ascii_digit() && c != '.')
                .filter_map(|n| n.parse().ok())
                .collect()
        };
        let drawn: Vec<Vec<f64>> = lines.map(numbers).collect();
        assert!(
            matches!(&drawn[..], [line] if matches!(line[..], [x0, y0, x1, y1] if x0 < x1 && y0 < y1)),
            "{drawn:?} in\n{svg}"
        );
    }
}
