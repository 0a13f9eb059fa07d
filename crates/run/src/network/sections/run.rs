//! `[run]`: duration, seed, conditions for its end, checks.

use std::time::Duration;

use xoff_scenario::document::{Document, Section, SectionSpec};
use xoff_sim::Model;
use xoff_units::Span;
use xoff_units::params::{Kind, ParamError, ParamSpec, Values as _};

use crate::network::checkpoint::read_interval;

/// Key of a run of a network or of a scheduled fabric.
pub(crate) const CHECKPOINT: ParamSpec = ParamSpec::optional(
    "checkpoint",
    Kind::Text,
    "wall-clock time between two checkpoints, `10min`, from which a killed run can continue (docs/checkpoints.md); default: none",
    "",
);

const KEYS: &[ParamSpec] = &[
    ParamSpec::new("title", Kind::Text, "", "purpose of the run, one line", ""),
    ParamSpec::new("duration", Kind::Span, "20ms", "simulated time", ""),
    ParamSpec::new("seed", Kind::Count, "1", "seed of every random stream", ""),
    ParamSpec::new("stop_when_done", Kind::Flag, "true", "end when all flows are complete", ""),
    ParamSpec::new("stop_on_deadlock", Kind::Flag, "false", "end when a deadlock is found", ""),
    CHECKPOINT,
    ParamSpec::new(
        "stream",
        Kind::Flag,
        "false",
        "flows that are over leave memory, so that a run can have more of them (docs/performance.md); no report, no checkpoints",
        "",
    ),
    ParamSpec::new(
        "checks",
        Kind::Flag,
        "true",
        "check invariants: no loss, in-order delivery, conservation of frames",
        "",
    ),
    ParamSpec::new(
        "deadlock_interval",
        Kind::Span,
        "100us",
        "time between two runs of the deadlock detector; 0 us: off",
        "",
    )
    .renamed_from(&["watch"]),
    ParamSpec::new(
        "fast_forward",
        Kind::Choice(&["auto", "off"]),
        "auto",
        "a network whose state recurs is advanced by whole periods; never changes a result",
        "",
    ),
];

pub(super) fn spec() -> SectionSpec {
    SectionSpec::once("run", "The run itself.", vec![KEYS])
}

/// `[run]`.
pub(in crate::network) struct Run {
    pub title: String,
    pub duration: Span,
    pub seed: u64,
    stop_when_done: bool,
    stop_on_deadlock: bool,
    checks: bool,
    deadlock_interval: Span,
    fast_forward: bool,
    pub checkpoint: Option<Duration>,
    /// Flows that are over leave memory.
    pub stream: bool,
}

impl Run {
    pub fn read(doc: &Document) -> Option<Run> {
        doc.open(&spec()).take(|s| {
            let run = Run::read_section(s)?;
            if run.duration == Span::ZERO {
                let what = "the run has a duration of 0: xoff simulates nothing";
                s.warn(&ParamError::new(
                    "duration",
                    what,
                    "expected a time above zero, such as \"20ms\"",
                ));
            }
            Ok(run)
        })
    }

    fn read_section(s: &mut Section<'_>) -> Result<Run, ParamError> {
        Ok(Run {
            title: s.text("title")?,
            duration: s.span("duration")?,
            seed: s.count("seed")?,
            stop_when_done: s.flag("stop_when_done")?,
            stop_on_deadlock: s.flag("stop_on_deadlock")?,
            stream: s.flag("stream")?,
            checks: s.flag("checks")?,
            deadlock_interval: s.span("deadlock_interval")?,
            fast_forward: s.text("fast_forward")? == "auto",
            checkpoint: s.text_opt("checkpoint")?.map(|text| read_interval(&text)).transpose()?,
        })
    }

    pub fn set(&self, model: &mut Model<'_>) {
        model.seed = self.seed;
        model.stop_when_done = self.stop_when_done;
        model.stop_on_deadlock = self.stop_on_deadlock;
        model.checks = self.checks;
        model.deadlock_interval = self.deadlock_interval;
        model.fast_forward = self.fast_forward;
    }
}
