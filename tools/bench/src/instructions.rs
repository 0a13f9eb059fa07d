//! The gate: instructions per frame-hop of four small runs, counted by callgrind, against accepted
//! counts.
//!
//! The same binary on the same input executes the same instructions, whatever else the machine
//! does, so this can fail a test where a timing cannot. Start and exit count too: they are a few
//! per cent of each run.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::{Command, ExitCode};

use comfy_table::{ContentArrangement, Table, presets};
use serde::{Deserialize, Serialize};

use crate::Failed;
use crate::child::{Answer, Xoff};
use crate::machine;
use crate::results::{read_json, write_json};

/// More than this above the accepted count fails; as much below it calls for a new one.
const TOLERANCE: f64 = 0.03;

/// The scenarios: PFC with DCQCN and ACKs, the same with many flows in flight, buffer-based GFC,
/// CBFC.
const SCENARIOS: [&str; 4] = ["gate-websearch", "gate-short", "gate-gfc", "gate-cbfc"];

/// Counts that were accepted, or today's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Counts {
    /// The compiler: another one gives another binary, and its counts cannot be compared.
    rustc: String,
    /// One per scenario.
    scenarios: Vec<Count>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Count {
    /// File name without its ending.
    scenario: String,
    /// Instructions of the whole process.
    instructions: u64,
    /// Frame-hops of the run.
    frame_hops: u64,
}

impl Count {
    fn per_hop(&self) -> f64 {
        self.instructions as f64 / self.frame_hops.max(1) as f64
    }
}

/// A comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// More than the tolerance above.
    Worse,
    /// Within the tolerance.
    Same,
    /// More than the tolerance below.
    Better,
    /// Nothing was accepted for this scenario yet.
    New,
}

fn judge(before: Option<&Count>, now: &Count) -> Verdict {
    let Some(before) = before else { return Verdict::New };
    match now.per_hop() / before.per_hop() {
        r if r > 1.0 + TOLERANCE => Verdict::Worse,
        r if r < 1.0 - TOLERANCE => Verdict::Better,
        _ => Verdict::Same,
    }
}

/// Measures and compares: exit code 1 if any scenario is worse.
pub fn gate(xoff: &Xoff, scenarios: &Path, accepted: &Path) -> Result<ExitCode, Failed> {
    let skipped = |what: &str, why: &str| {
        xoff_testing::skip_as("instruction gate", what, why);
        Ok(ExitCode::SUCCESS)
    };
    if !accepted.exists() {
        return skipped(
            "accepted-counts",
            &format!("there is no {}; `make bench-accept` writes it", accepted.display()),
        );
    }
    let before: Counts = read_json(accepted)?;
    let rustc = match comparable(machine::rustc(), &before) {
        Ok(rustc) => rustc,
        Err(why) => return skipped("accepted-rustc", &why),
    };
    if !has_valgrind() {
        return skipped("valgrind", "not installed");
    }
    let now = Counts { rustc, scenarios: measure(xoff, scenarios)? };
    let (text, worse) = compare(&before, &now);
    println!("{text}");
    Ok(if worse { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Measures and writes the counts.
pub fn accept(xoff: &Xoff, scenarios: &Path, accepted: &Path) -> Result<(), Failed> {
    if !has_valgrind() {
        return Err("there is no valgrind; install it to count instructions".into());
    }
    let now = Counts {
        rustc: machine::rustc().ok_or("there is no rustc")?,
        scenarios: measure(xoff, scenarios)?,
    };
    let before = if accepted.exists() { Some(read_json::<Counts>(accepted)?) } else { None };
    println!(
        "{}",
        compare(
            before.as_ref().unwrap_or(&Counts { rustc: String::new(), scenarios: vec![] }),
            &now
        )
        .0
    );
    write_json(accepted, &now)?;
    println!("Accepted as {}", accepted.display());
    Ok(())
}

/// The compiler, if it is the one of the accepted counts; else why nothing can be compared.
fn comparable(rustc: Option<String>, before: &Counts) -> Result<String, String> {
    match rustc {
        None => Err("there is no rustc , whose version is needed".into()),
        Some(now) if now != before.rustc => {
            Err(format!("this is {now}, the accepted counts are of {}", before.rustc))
        }
        Some(now) => Ok(now),
    }
}

pub fn has_valgrind() -> bool {
    Command::new("valgrind").arg("--version").output().is_ok_and(|o| o.status.success())
}

fn measure(xoff: &Xoff, scenarios: &Path) -> Result<Vec<Count>, Failed> {
    let dir = tempfile::tempdir().map_err(|e| format!("cannot create a temporary folder: {e}"))?;
    let count = |name: &str| {
        let scenario = scenarios.join(format!("{name}.toml"));
        let (instructions, answer) = count(xoff, &run_of(&scenario, dir.path()), dir.path())
            .map_err(|e| format!("{name}: {e}"))?;
        let answer: Answer = serde_json::from_slice(&answer)
            .map_err(|e| format!("{name}: the answer of xoff is unreadable: {e}"))?;
        Ok(Count { scenario: name.into(), instructions, frame_hops: answer.frame_hops })
    };
    SCENARIOS.iter().map(|name| count(name)).collect()
}

/// Arguments of a run. The gate is on the engine: the page is measured where it is made.
pub fn run_of(scenario: &Path, dir: &Path) -> Vec<OsString> {
    let out = dir.join("run");
    ["run".as_ref(), scenario.as_ref(), "--no-report".as_ref(), "--out".as_ref(), out.as_os_str()]
        .map(OsStr::to_owned)
        .into()
}

/// Instructions of `xoff --json` with these arguments, and its answer.
pub fn count(xoff: &Xoff, args: &[OsString], dir: &Path) -> Result<(u64, Vec<u8>), Failed> {
    let out = Command::new("valgrind")
        .arg("--tool=callgrind")
        .arg(format!("--callgrind-out-file={}", dir.join("callgrind.out").display()))
        .arg(&xoff.binary)
        .arg("--json")
        .args(args)
        .output()
        .map_err(|e| format!("cannot run valgrind: {e}"))?;
    let stderr = String::from_utf8_lossy(&out.stderr);
    if !matches!(out.status.code(), Some(0 | 1)) {
        return Err(format!("failed under valgrind:\n{stderr}"));
    }
    let instructions =
        collected(&stderr).ok_or_else(|| format!("callgrind printed no count:\n{stderr}"))?;
    Ok((instructions, out.stdout))
}

/// Instructions in callgrind's report: `==123== Collected : 296945569`.
fn collected(report: &str) -> Option<u64> {
    report
        .lines()
        .find_map(|l| l.split_once("Collected :")?.1.split_whitespace().next()?.parse().ok())
}

/// Table and advice, and whether any scenario is worse.
fn compare(before: &Counts, now: &Counts) -> (String, bool) {
    let mut t = Table::new();
    t.load_preset(presets::UTF8_HORIZONTAL_ONLY)
        .set_content_arrangement(ContentArrangement::Disabled);
    t.set_header(["Scenario", "Instructions per frame-hop before", "now", "Change", "Verdict"]);
    let (mut worse, mut better) = (false, false);
    for count in &now.scenarios {
        let earlier = before.scenarios.iter().find(|c| c.scenario == count.scenario);
        let verdict = judge(earlier, count);
        worse |= verdict == Verdict::Worse;
        better |= verdict == Verdict::Better;
        let change = earlier.map_or("-".into(), |e| {
            format!("{:+.1} %", (count.per_hop() / e.per_hop() - 1.0) * 100.0)
        });
        let word = match verdict {
            Verdict::Worse => "WORSE",
            Verdict::Same => "same",
            Verdict::Better => "better",
            Verdict::New => "new",
        };
        let hops = earlier.filter(|e| e.frame_hops != count.frame_hops);
        let hops = hops.map_or(String::new(), |e| {
            format!("; frame-hops {} -> {}", e.frame_hops, count.frame_hops)
        });
        let was = earlier.map_or("-".into(), |e| format!("{:.0}", e.per_hop()));
        t.add_row([
            count.scenario.clone(),
            was,
            format!("{:.0}", count.per_hop()),
            change,
            format!("{word}{hops}"),
        ]);
    }
    let advice = match (worse, better) {
        (true, _) => {
            "\nMore than 3 % above the accepted counts. If there is a reason for it: `make bench-accept`, and state it in the commit."
        }
        (false, true) => {
            "\nMore than 3 % below the accepted counts: keep the gain with `make bench-accept`."
        }
        _ => "",
    };
    (format!("{t}{advice}"), worse)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(instructions: u64, frame_hops: u64) -> Counts {
        Counts {
            rustc: "rustc 1".into(),
            scenarios: vec![Count { scenario: "gate-gfc".into(), instructions, frame_hops }],
        }
    }

    #[test]
    fn three_per_cent_more_pass_and_more_than_that_fails() {
        let before = counts(1_000_000, 1000);
        let against = |now: u64| compare(&before, &counts(now, 1000));
        let (text, worse) = against(1_031_000);
        assert!(worse);
        for part in ["gate-gfc", "1000", "1031", "+3.1 %", "WORSE", "make bench-accept"] {
            assert!(text.contains(part), "{part} in {text}");
        }
        let (text, worse) = against(1_029_000);
        assert!(!worse && text.contains("same") && !text.contains("make bench-accept"), "{text}");
    }

    #[test]
    fn a_gain_passes_with_a_hint() {
        let (text, worse) = compare(&counts(1_000_000, 1000), &counts(960_000, 1000));
        assert!(!worse && text.contains("better") && text.contains("make bench-accept"), "{text}");
    }

    #[test]
    fn what_counts_is_the_cost_of_a_hop() {
        let (text, worse) = compare(&counts(1_000_000, 1000), &counts(2_000_000, 2000));
        assert!(!worse && text.contains("frame-hops 1000 -> 2000"), "{text}");
    }

    #[test]
    fn a_scenario_without_an_accepted_count_passes() {
        let none = Counts { rustc: "rustc 1".into(), scenarios: vec![] };
        let (text, worse) = compare(&none, &counts(1, 1));
        assert!(!worse && text.contains("new"), "{text}");
    }

    #[test]
    fn another_compiler_is_not_compared() {
        let before = counts(1, 1);
        assert_eq!(comparable(Some("rustc 1".into()), &before), Ok("rustc 1".into()));
        assert_eq!(
            comparable(Some("rustc 2".into()), &before).unwrap_err(),
            "this is rustc 2, the accepted counts are of rustc 1"
        );
        assert!(comparable(None, &before).is_err());
    }

    #[test]
    fn the_count_is_found_in_the_report_of_callgrind() {
        let report = "==13296== Events    : Ir\n==13296== Collected : 296945569\n==13296== \n==13296== I   refs:      296,945,569\n";
        assert_eq!(collected(report), Some(296_945_569));
        assert_eq!(collected("==1== valgrind: fatal error"), None);
    }
}
