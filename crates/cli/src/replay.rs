//! `xoff replay`: a capture of a real run, again in virtual time.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;
use xoff_real::netio::Whole;
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
/// length and bytes. A frame that came in is compared with the one that its neighbour sent, if the
/// capture holds both. Exit code 1: there is a difference, a frame did not arrive, or the capture is
/// not whole.
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
    /// Bytes of the frames that came in.
    bytes_in: u64,
    /// Bytes of them that were compared with those of their sender. Frames of other programs and
    /// control frames have a sender only if the capture holds both ends of the cable.
    bytes_in_compared: u64,
    /// Frames that went out.
    frames_out: u64,
    /// Bytes of the frames that went out.
    bytes_out: u64,
    /// Bytes of them that were compared: a capture may hold only the first bytes of each.
    bytes_compared: u64,
    /// Frames found at both ends of a cable.
    frames_followed: u64,
    /// Frames sent at the end of the capture, whose arrival it does not hold.
    frames_under_way: u64,
    /// No difference in the compared part.
    identical: bool,
    /// The first difference, in words; null: there is none.
    difference: Option<String>,
    /// `yes`: identical, and complete.
    answer: Conclusion,
    /// Whether the replay compared something, to the end, and the capture has all bytes that were
    /// written: its last block has the number of frames and a hash.
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
    let (facts, seen, whole) = replayed.map_err(|e| match e {
        ReplayError::Scenario(problems) => problems,
        e => Problem::new(
            format!("{}: {e}", args.capture.display()),
            "write one with xoff testbed --capture or xoff switch --capture",
        )
        .into(),
    })?;
    let (identical, interrupted) = (seen.difference.is_none(), interrupt::asked());
    let nothing = seen.inbound + seen.outbound == 0;
    let complete = !interrupted && !nothing && whole == Whole::Yes;
    let conclusion = Conclusion::of(interrupted, identical && complete);
    let counts = format!(
        "{} frames in, {} frames out",
        xoff_units::grouped(seen.inbound),
        xoff_units::grouped(seen.outbound)
    );
    let [out, all_out, inward, all_in, followed, under_way] = [
        seen.bytes_compared,
        seen.bytes_out,
        seen.bytes_in_compared,
        seen.bytes_in,
        seen.followed,
        seen.under_way,
    ]
    .map(xoff_units::grouped);
    let compared = format!(
        "Compared {out} of {all_out} bytes out and {inward} of {all_in} bytes in. {followed} frames were followed \
         across a cable, {under_way} were under way at the end."
    );
    let text = match &seen.difference {
        // Frames that were not read on either side are no difference.
        _ if interrupted => {
            terminal::bad(&format!("Interrupted after {counts}: not compared to the end"))
        }
        None if nothing => terminal::caution("Not compared: the capture contains no frames"),
        None if whole != Whole::Yes => terminal::caution(&format!(
            "Not complete: identical so far, {counts}, but the end of the capture is missing"
        )),
        None => {
            let all = seen.bytes_compared == seen.bytes_out;
            let what = if all { "same time, port and bytes" } else { "same time and port" };
            format!("{}\n{compared}", terminal::good(&format!("Identical: {counts}, {what}")))
        }
        Some(d) => format!("{}\n{d}", terminal::bad(&format!("Different after {counts}"))),
    };
    let json = Json {
        capture: args.capture.display().to_string(),
        nodes: facts.nodes,
        frames_in: seen.inbound,
        bytes_in: seen.bytes_in,
        bytes_in_compared: seen.bytes_in_compared,
        frames_out: seen.outbound,
        bytes_out: seen.bytes_out,
        bytes_compared: seen.bytes_compared,
        frames_followed: seen.followed,
        frames_under_way: seen.under_way,
        identical,
        difference: seen.difference,
        answer: conclusion,
        complete,
    };
    Ok(Answer::new(text, &json, conclusion.into()))
}
