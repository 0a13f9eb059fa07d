//! One run of `xoff` in a separate process: its answer, and its cost as the system measured it.

use std::fs::File;
use std::io::{Read, Seek};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde::Deserialize;
use wait4::Wait4;

use crate::Failed;

/// The program to measure.
pub struct Xoff {
    /// File.
    pub binary: PathBuf,
}

/// The fields of `--json` that are used here.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Answer {
    /// Frames that crossed a link, counted per link.
    pub frame_hops: u64,
    /// Time on the processors from the start of the simulation to its closed tables [s].
    pub cpu_seconds: f64,
    /// Wall-clock time [s].
    pub wall_seconds: f64,
    /// Hash of the results.
    pub result_hash: String,
    /// Events of the run, those of skipped periods among them.
    #[serde(default)]
    pub events: u64,
    /// Result of fast-forward.
    #[serde(default)]
    pub fast_forward: FastForward,
}

/// Result of fast-forward.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct FastForward {
    /// Events that were not handled.
    pub events_skipped: u64,
}

/// A run that has ended well.
#[derive(Clone, Debug)]
pub struct Run {
    /// Answer of the command.
    pub answer: Answer,
    /// From start to exit [s].
    pub process_seconds: f64,
    /// Largest resident memory [bytes].
    pub peak_bytes: u64,
}

impl Run {
    /// Frame-hops per CPU second.
    pub fn speed(&self) -> f64 {
        self.answer.frame_hops as f64 / self.answer.cpu_seconds.max(1e-9)
    }

    /// CPU time of a frame-hop [s].
    pub fn per_hop(&self) -> f64 {
        self.answer.cpu_seconds / self.answer.frame_hops.max(1) as f64
    }

    /// Events of the run for each one that was handled: what fast-forward saves.
    pub fn saved(&self) -> f64 {
        let handled = self.answer.events.saturating_sub(self.answer.fast_forward.events_skipped);
        self.answer.events as f64 / handled.max(1) as f64
    }

    /// Time of the process in addition to the simulation itself: reading, building, routing, and
    /// leaving [s].
    pub fn setup_seconds(&self) -> f64 {
        (self.process_seconds - self.answer.wall_seconds).max(0.0)
    }
}

impl Xoff {
    /// The given program, or the one next to this program.
    pub fn find(given: Option<&Path>) -> Result<Xoff, Failed> {
        let beside = || Some(std::env::current_exe().ok()?.with_file_name("xoff"));
        let binary = given.map(Path::to_owned).or_else(beside).unwrap_or_default();
        match binary.is_file() {
            true => Ok(Xoff { binary }),
            false => Err(format!(
                "no program {}; build it with `cargo build --release`, or name it with --xoff",
                binary.display()
            )),
        }
    }

    /// Starts `xoff --json <args>` and waits for its end, `limit` at most.
    pub fn run(&self, args: &[String], limit: Duration) -> Result<Run, Failed> {
        let mut command = Command::new(&self.binary);
        command.arg("--json").args(args);
        wait_for(command, limit)
    }
}

/// What a program said, and its cost.
pub struct Ended {
    /// Standard output.
    pub said: String,
    /// Time on the processors, start and exit included [s].
    pub cpu_seconds: f64,
    /// From start to exit [s].
    pub process_seconds: f64,
    /// Largest resident memory [bytes].
    pub peak_bytes: u64,
}

/// Runs xoff to its end, `limit` at most, and reads its answer.
fn wait_for(command: Command, limit: Duration) -> Result<Run, Failed> {
    // 1: it ran, and its answer is "no": a deadlock, or frames lost.
    let ended = to_the_end(command, limit, &[0, 1])?;
    let answer = serde_json::from_str(&ended.said)
        .map_err(|e| format!("the answer of xoff is unreadable: {e}"))?;
    Ok(Run { answer, process_seconds: ended.process_seconds, peak_bytes: ended.peak_bytes })
}

/// Runs a command to its end, `limit` at most; other exit codes than these are failures.
pub fn to_the_end(mut command: Command, limit: Duration, codes: &[i32]) -> Result<Ended, Failed> {
    let program = command.get_program().to_string_lossy().into_owned();
    let failed = |e: std::io::Error| format!("cannot run {program}: {e}");
    // Files instead of pipes: nothing has to be read while the clock runs.
    let (mut out, mut err) =
        (tempfile::tempfile().map_err(failed)?, tempfile::tempfile().map_err(failed)?);
    command
        .stdin(Stdio::null())
        .stdout(out.try_clone().map_err(failed)?)
        .stderr(err.try_clone().map_err(failed)?);

    let started = Instant::now();
    let mut child = command.spawn().map_err(failed)?;
    // The thread owns the child while it waits, so a child that is late is ended by its number.
    let pid = Pid::from_child(&child);
    let (sender, receiver) = mpsc::channel();
    let waiter = thread::spawn(move || {
        let used = child.wait4();
        let _ = sender.send((used, started.elapsed()));
    });
    let ended = receiver.recv_timeout(limit);
    if ended.is_err() {
        let _ = kill_process(pid, Signal::KILL);
    }
    let _ = waiter.join();
    let Ok((used, elapsed)) = ended else {
        return Err(format!("not finished in {} s", limit.as_secs()));
    };
    let used = used.map_err(failed)?;
    if !used.status.code().is_some_and(|code| codes.contains(&code)) {
        return Err(format!("{}: {}", used.status, last_line(&text(&mut err).map_err(failed)?)));
    }
    Ok(Ended {
        said: text(&mut out).map_err(failed)?,
        cpu_seconds: (used.rusage.utime + used.rusage.stime).as_secs_f64(),
        process_seconds: elapsed.as_secs_f64(),
        peak_bytes: used.rusage.maxrss,
    })
}

fn text(file: &mut File) -> std::io::Result<String> {
    let mut text = String::new();
    file.rewind()?;
    file.read_to_string(&mut text)?;
    Ok(text)
}

fn last_line(text: &str) -> &str {
    text.lines().rev().find(|l| !l.trim().is_empty()).unwrap_or("no message").trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, limit: Duration) -> Result<Run, Failed> {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        wait_for(command, limit)
    }

    const ANSWER: &str = r#"echo '{"frame_hops": 100, "cpu_seconds": 0.5, "wall_seconds": 0.0, "result_hash": "ab", "events": 300,
        "fast_forward": {"events_skipped": 200}, "more": 1}'"#;

    #[test]
    fn an_answer_is_read_with_its_cost() {
        let run = shell(ANSWER, Duration::from_secs(60)).unwrap();
        assert_eq!(
            (run.answer.frame_hops, run.speed(), run.per_hop(), run.saved()),
            (100, 200.0, 0.005, 3.0)
        );
        assert_eq!(run.setup_seconds(), run.process_seconds);
        assert!(run.peak_bytes > 100_000, "a shell has more than 100 KB, not {}", run.peak_bytes);
    }

    #[test]
    fn a_run_that_takes_too_long_is_ended_with_a_message() {
        let started = Instant::now();
        let e = shell("exec sleep 60", Duration::from_millis(100)).unwrap_err();
        assert_eq!(e, "not finished in 0 s");
        assert!(started.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn a_failed_run_reports_its_last_words() {
        let e = shell("echo first >&2; echo 'no such key' >&2; exit 2", Duration::from_secs(60))
            .unwrap_err();
        assert_eq!(e, "exit status: 2: no such key");
    }
}
