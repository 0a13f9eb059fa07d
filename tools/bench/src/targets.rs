//! The rows of the table: the run, the measured figure, and its target.

use serde::{Deserialize, Serialize};

use crate::Failed;
use crate::results::{Measured, Row, Stat};

/// Unit of a figure; values are in the base unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Frame-hops per CPU second.
    FrameHopsPerSecond,
    /// Frames per second.
    FramesPerSecond,
    /// Bits per second.
    BitsPerSecond,
    /// Seconds.
    Seconds,
    /// Bytes.
    Bytes,
    /// A share of 1, shown in per cent.
    Share,
    /// Ratio.
    Times,
}

impl Unit {
    /// A value with its unit.
    pub fn show(self, v: f64) -> String {
        match self {
            Unit::FrameHopsPerSecond => format!("{:.2} M/s", v / 1e6),
            Unit::FramesPerSecond => format!("{:.2} Mpps", v / 1e6),
            Unit::BitsPerSecond => format!("{:.2} Gb/s", v / 1e9),
            Unit::Seconds if v < 1e-3 => format!("{:.0} us", v * 1e6),
            Unit::Seconds if v < 1.0 => format!("{:.1} ms", v * 1e3),
            Unit::Seconds => format!("{v:.2} s"),
            Unit::Bytes if v < 10240.0 => format!("{v:.0} B"),
            Unit::Bytes if v < 1024.0 * 1024.0 * 1024.0 => {
                format!("{:.0} MiB", v / f64::from(1 << 20))
            }
            Unit::Bytes => format!("{:.2} GiB", v / f64::from(1 << 30)),
            Unit::Share => format!("{:.0} %", v * 100.0),
            Unit::Times => format!("{v:.2}x"),
        }
    }
}

/// Target of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// At least this value.
    AtLeast(f64),
    /// At most this value.
    AtMost(f64),
}

impl Target {
    /// Whether a value reaches it.
    pub fn met(self, v: f64) -> bool {
        match self {
            Target::AtLeast(t) => v >= t,
            Target::AtMost(t) => v <= t,
        }
    }

    /// In words.
    pub fn show(self, unit: Unit) -> String {
        match self {
            Target::AtLeast(t) => format!("at least {}", unit.show(t)),
            Target::AtMost(t) => format!("at most {}", unit.show(t)),
        }
    }
}

/// A row before it is measured.
#[derive(Clone, Copy)]
pub struct Spec {
    id: &'static str,
    work: &'static str,
    figure: &'static str,
    unit: Unit,
    target: Option<Target>,
}

impl Spec {
    /// The row with its measured value.
    pub fn row(&self, measured: Result<Stat, Failed>) -> Row {
        Row {
            id: self.id.into(),
            work: self.work.into(),
            figure: self.figure.into(),
            unit: self.unit,
            target: self.target,
            measured: measured.map_or_else(Measured::Missing, Measured::Runs),
        }
    }
}

const fn spec(
    id: &'static str,
    work: &'static str,
    figure: &'static str,
    unit: Unit,
    target: Option<Target>,
) -> Spec {
    Spec { id, work, figure, unit, target }
}
const fn at_least(v: f64) -> Option<Target> {
    Some(Target::AtLeast(v))
}
const fn at_most(v: f64) -> Option<Target> {
    Some(Target::AtMost(v))
}

const SPEED: &str = "frame-hops per CPU second";
const GIB: f64 = (1u64 << 30) as f64;

const HPCC: &str = "HPCC format, k = 8, 128 hosts, WebSearch 50 %, 5 ms";
pub const HPCC_CPU: Spec = spec("hpcc-cpu", HPCC, "CPU time", Unit::Seconds, None);
pub const HPCC_SPEED: Spec =
    spec("hpcc-speed", HPCC, SPEED, Unit::FrameHopsPerSecond, at_least(16e6));
pub const TOML_SPEED: Spec = spec(
    "toml-speed",
    "the same network as a scenario",
    SPEED,
    Unit::FrameHopsPerSecond,
    at_least(16e6),
);
pub const K8_PERMUTATION: Spec = spec(
    "k8-permutation",
    "k = 8, 128 hosts, permutation, 100 us",
    SPEED,
    Unit::FrameHopsPerSecond,
    None,
);
pub const K16_PERMUTATION: Spec = spec(
    "k16-permutation",
    "k = 16, 1024 hosts, permutation, 100 us",
    SPEED,
    Unit::FrameHopsPerSecond,
    at_least(12e6),
);
pub const K16_WEBSEARCH: Spec = spec(
    "k16-websearch",
    "k = 16, 1024 hosts, WebSearch 50 %, 0.3 ms",
    SPEED,
    Unit::FrameHopsPerSecond,
    at_least(12e6),
);

const K64: &str = "k = 64, 65,536 hosts, permutation, 100 us";
pub const K64_SETUP: Spec = spec("k64-setup", K64, "set-up and exit", Unit::Seconds, at_most(30.0));
pub const K64_MEMORY: Spec =
    spec("k64-memory", K64, "peak memory", Unit::Bytes, at_most(3.0 * GIB));
pub const K64_SPEED: Spec = spec("k64-speed", K64, SPEED, Unit::FrameHopsPerSecond, at_least(5e6));
pub const K64_SHARE: Spec =
    spec("k64-share", K64, "speed relative to 128 hosts", Unit::Share, at_least(0.4));

const K102: &str = "k = 102, 265,302 hosts, permutation, 20 us";
pub const K102_CLOCK: Spec =
    spec("k102-clock", K102, "start to exit, wall clock", Unit::Seconds, at_most(600.0));
pub const K102_MEMORY: Spec =
    spec("k102-memory", K102, "peak memory", Unit::Bytes, at_most(12.0 * GIB));
pub const K102_SPEED: Spec = spec("k102-speed", K102, SPEED, Unit::FrameHopsPerSecond, None);

pub const QUEUE_SHARE: Spec = spec(
    "queue-share",
    "k = 8, WebSearch, stretches of 2 million events",
    "speed as a share of its event queue alone",
    Unit::Share,
    at_least(0.5),
);
pub const FRAMES_GROWTH: Spec = spec(
    "frames-growth",
    "k = 8, 128,000 frames in flight",
    "CPU time of a frame-hop relative to 1,280 frames",
    Unit::Times,
    at_most(1.5),
);

const ENGINES: &str = "CPU time with one global order of events, relative to windows";
pub const ENGINES_WEBSEARCH: Spec = spec(
    "engines-websearch",
    "k = 8, WebSearch 50 %, 1 ms of arrivals",
    ENGINES,
    Unit::Times,
    None,
);
pub const ENGINES_PERMUTATION: Spec =
    spec("engines-permutation", "k = 16, permutation, 100 us", ENGINES, Unit::Times, None);
pub const ENGINES_LARGE: Spec =
    spec("engines-large", "k = 32, 8192 hosts, permutation, 30 us", ENGINES, Unit::Times, None);

const SAVED: &str = "events of the run for each one handled, fast-forward";
pub const RING_SAVED: Spec =
    spec("ring-saved", "ring step of 30 MB, 8 hosts", SAVED, Unit::Times, at_least(100.0));
pub const INCAST_SAVED: Spec =
    spec("incast-saved", "PFC incast 7:1 of 30 MB", SAVED, Unit::Times, at_least(5.0));
pub const ITERATIONS_SAVED: Spec = spec(
    "iterations-saved",
    "100 iterations of a permutation, 128 hosts",
    SAVED,
    Unit::Times,
    at_least(50.0),
);

const JOB: &str = "100 iterations of a job of 128 ranks";
pub const JOB_SAVED: Spec = spec("job-saved", JOB, SAVED, Unit::Times, at_least(50.0));
pub const JOB_CPU: Spec = spec("job-cpu", JOB, "CPU time", Unit::Seconds, None);
const RANKS: &str = "1,024 ranks: hierarchical all-reduce of 1 GB, all-to-all, PFC, DCQCN";
pub const RANKS_CLOCK: Spec =
    spec("ranks-clock", RANKS, "start to exit, wall clock", Unit::Seconds, at_most(300.0));
pub const RANKS_MEMORY: Spec =
    spec("ranks-memory", RANKS, "peak memory", Unit::Bytes, at_most(2.0 * GIB));
pub const RANKS_SPEED: Spec = spec("ranks-speed", RANKS, SPEED, Unit::FrameHopsPerSecond, None);

pub const THREADS_RATIO: Spec = spec(
    "threads-ratio",
    "k = 16, permutation, 2 threads",
    "speed relative to 1 thread, wall clock",
    Unit::Times,
    at_least(1.85),
);
pub const THREADS_CEILING: Spec = spec(
    "threads-ceiling",
    "k = 16, permutation, two processes at once",
    "speed of both together relative to one alone, wall clock: the limit of the machine",
    Unit::Times,
    None,
);
pub const FRAME_MEMORY: Spec = spec(
    "frame-memory",
    "memory of the engine",
    "per queued or flying frame",
    Unit::Bytes,
    at_most(64.0),
);
pub const PORT_MEMORY: Spec =
    spec("port-memory", "memory of the engine", "per idle port", Unit::Bytes, at_most(1024.0));
pub const SHORT_RUN: Spec =
    spec("short-run", "ten flows, start to exit", "wall-clock time", Unit::Seconds, at_most(0.05));

/// Real frames: what one core forwards from a veth pair to another, by length, as frames and as
/// bits.
pub const FORWARDING: [(Spec, Spec); 4] = [
    forwarding("forward-64", "forward-64-bits", "real frames of 64 B through a switch"),
    forwarding("forward-1500", "forward-1500-bits", "real frames of 1500 B through a switch"),
    forwarding("forward-4096", "forward-4096-bits", "real frames of 4096 B through a switch"),
    forwarding("forward-9000", "forward-9000-bits", "real frames of 9000 B through a switch"),
];
const fn forwarding(frames: &'static str, bits: &'static str, work: &'static str) -> (Spec, Spec) {
    (
        spec(frames, work, "frames", Unit::FramesPerSecond, None),
        spec(bits, work, "bits", Unit::BitsPerSecond, None),
    )
}
const REACTION: &str =
    "host and switch at 1 Gb/s: from a pause to the last frame that still arrives";
pub const REACTION_P50: Spec = spec("reaction-p50", REACTION, "median", Unit::Seconds, None);
pub const REACTION_P99: Spec =
    spec("reaction-p99", REACTION, "99 of 100 below", Unit::Seconds, None);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_carry_their_unit() {
        assert_eq!(Unit::FrameHopsPerSecond.show(8.126e6), "8.13 M/s");
        assert_eq!(
            (Unit::Seconds.show(0.0312), Unit::Seconds.show(31.2)),
            ("31.2 ms".into(), "31.20 s".into())
        );
        assert_eq!(
            (Unit::Bytes.show(64.0), Unit::Bytes.show(6.0 * GIB)),
            ("64 B".into(), "6.00 GiB".into())
        );
        assert_eq!((Unit::Share.show(0.4), Unit::Times.show(1.7)), ("40 %".into(), "1.70x".into()));
    }

    #[test]
    fn a_target_is_met_at_its_bound() {
        assert!(Target::AtLeast(5e6).met(5e6) && !Target::AtLeast(5e6).met(4.9e6));
        assert!(Target::AtMost(30.0).met(30.0) && !Target::AtMost(30.0).met(30.1));
        assert_eq!(Target::AtMost(30.0).show(Unit::Seconds), "at most 30.00 s");
    }
}
