//! `xoff replay`: a capture of a real run, again in virtual time.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;
use xoff_real::testbed::replay::{self, ReplayError};
use xoff_record::verdict::Conclusion;
use xoff_scenario::{Problem, Problems};

use crate::answer::Answer;
use crate::progress::Bar;
use crate::{interrupt, terminal};

/// Prove from a capture that a real run matches the simulation, frame by frame.
///
/// The capture names the scenario. xoff feeds its incoming frames at their times into the same
/// nodes in virtual time, and compares the frames they send with the captured ones: time, port,
/// length and bytes. Exit code 1: there is a difference.
#[derive(clap::Args)]
#[command(
    after_long_help = "Examples:\n  xoff testbed scenarios/testbed/ring-gfc.toml \\\n    --out out/testbed-gfc --capture gfc.pcapng\n  xoff replay gfc.pcapng"
)]
pub struct Args {
    /// Capture of `xoff testbed --capture` or `xoff switch --capture`
    capture: PathBuf,
}

/// A capture compared with its simulation.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Replay")]
pub struct Json {
    /// File of the capture.
    capture: String,
    /// Nodes whose frames it holds.
    nodes: Vec<String>,
    /// Frames that came in.
    frames_in: u64,
    /// Frames that went out.
    frames_out: u64,
    /// No difference in the compared part.
    identical: bool,
    /// The first difference, in words; null: there is none.
    difference: Option<String>,
    /// `yes`: identical to the end.
    answer: Conclusion,
    /// Whether the replay compared something, and to the end.
    complete: bool,
}

/// Runs it.
pub fn run(args: &Args) -> Result<Answer, Problems> {
    interrupt::ask_first();
    let bar = Bar::spinner("{spinner} {msg}");
    let replayed = replay::replay(&args.capture, |frames| {
        if frames > 0 {
            bar.message(format!("{} frames", xoff_units::grouped(frames)));
        }
        bar.tick();
        !interrupt::asked()
    });
    drop(bar);
    let (facts, seen) = replayed.map_err(|e| match e {
        ReplayError::Scenario(problems) => problems,
        e => Problem::new(
            format!("{}: {e}", args.capture.display()),
            "write one with xoff testbed --capture or xoff switch --capture",
        )
        .into(),
    })?;
    let (identical, interrupted) = (seen.difference.is_none(), interrupt::asked());
    let conclusion = Conclusion::of(interrupted, identical);
    let counts = format!(
        "{} frames in, {} frames out",
        xoff_units::grouped(seen.inbound),
        xoff_units::grouped(seen.outbound)
    );
    let nothing = seen.inbound + seen.outbound == 0;
    let text = match &seen.difference {
        // Frames that were not read on either side are no difference.
        _ if interrupted => {
            terminal::bad(&format!("Interrupted after {counts}: not compared to the end"))
        }
        None if nothing => terminal::caution("Not compared: the capture contains no frames"),
        None => terminal::good(&format!("Identical: {counts}, same time, port and bytes")),
        Some(d) => format!("{}\n{d}", terminal::bad(&format!("Different after {counts}"))),
    };
    let json = Json {
        capture: args.capture.display().to_string(),
        nodes: facts.nodes,
        frames_in: seen.inbound,
        frames_out: seen.outbound,
        identical,
        difference: seen.difference,
        answer: conclusion,
        complete: !interrupted && !nothing,
    };
    Ok(Answer::new(text, &json, conclusion.into()))
}
