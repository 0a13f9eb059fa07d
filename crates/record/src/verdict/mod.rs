//! Result of a run: the single source of headline, manifest, JSON, exit code and Python's answer.
//!
//! ```text
//!   Deadlock, Losses, Promises, Work, interrupted, failures -> Verdict -> headline, answer (yes, no, interrupted), exit code
//! ```
//!
//! The code that makes a [`Verdict`] states every part: skipped checks are listed, and never count
//! as a pass.

mod losses;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_units::grouped;

pub use losses::Losses;
pub use xoff_units::{Fate, Loss};

/// Result of the deadlock detector.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub enum Deadlock {
    /// Searched, and found none.
    None,
    /// A deadlock formed.
    Found {
        /// In the headline: `deadlock at 4.2ms`.
        what: String,
        /// Ports, each waiting for the next.
        ports: Vec<String>,
    },
    /// No search took place.
    #[serde(rename = "not-watched")]
    NotChecked {
        /// The reason.
        why: String,
    },
}

/// Loss, order, conservation and accounting, as the checks saw them.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub enum Promises {
    /// Checked and kept.
    Kept,
    /// At least one check was violated.
    Violated {
        /// Number of violations.
        violations: u64,
        /// Violations that are a lost frame: allowed together with the loss.
        of_loss: u64,
        /// The first one in words.
        first: String,
    },
    /// Not checked.
    NotChecked {
        /// The reason.
        why: String,
    },
    /// No checks: a replay must equal another simulator, which may lose frames.
    NotMade,
}

/// Requested and delivered bytes. A flow without a size has no end.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Work {
    /// Unit of the counts: `flows`, or `packets`.
    pub unit: String,
    /// All that began; of a job all messages, those too that it never sent.
    pub total: u64,
    /// Items that are complete.
    pub complete: u64,
    /// Flows with a size that did not finish.
    pub incomplete: u64,
}

impl Work {
    /// `4 of 4 flows`; `None`: all that can be complete is.
    pub fn incomplete_words(&self) -> Option<String> {
        (self.incomplete > 0).then(|| {
            format!("{} of {} {}", grouped(self.incomplete), grouped(self.total), self.unit)
        })
    }
}

/// The answer of any command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Conclusion {
    /// Done, and nothing is against it.
    Yes,
    /// Done, and the answer is "no".
    No,
    /// Stopped before its end.
    Interrupted,
}

impl Conclusion {
    /// Conclusion of a command that answers one question. An interruption goes first: skipped
    /// checks decide nothing.
    pub fn of(interrupted: bool, yes: bool) -> Conclusion {
        match (interrupted, yes) {
            (true, _) => Conclusion::Interrupted,
            (false, true) => Conclusion::Yes,
            (false, false) => Conclusion::No,
        }
    }

    /// The conclusion for scripts.
    pub fn exit_code(self) -> u8 {
        match self {
            Conclusion::Yes => 0,
            Conclusion::No => 1,
            Conclusion::Interrupted => 130,
        }
    }
}

/// A "no" that the user expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Allow {
    /// A deadlock.
    Deadlock,
    /// Frames that did not arrive, for any reason.
    Loss,
}

impl Allow {
    /// As on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Allow::Deadlock => "deadlock",
            Allow::Loss => "loss",
        }
    }
}

/// Look of a headline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// All was checked, and all is well.
    Good,
    /// Something was not checked, not finished or only allowed.
    Caution,
    /// The answer is "no", or there is none.
    Bad,
}

/// Outcome of a run.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Verdict {
    /// `yes`, `no` or `interrupted`, nothing being allowed.
    answer: Conclusion,
    /// The headline.
    headline: String,
    /// Frames that did not arrive, of all causes.
    lost_frames: u64,
    /// The parts.
    #[serde(flatten)]
    parts: Parts,
}

/// The parts of a verdict; each has to be stated.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Parts {
    /// The user stopped it.
    pub interrupted: bool,
    /// Whether there was a deadlock, and whether it was checked.
    pub deadlock: Deadlock,
    /// Frames that did not arrive.
    pub losses: Losses,
    /// The checks.
    pub promises: Promises,
    /// The flows.
    pub work: Work,
    /// Reason why nothing was simulated or sent; null: something was.
    pub nothing_ran: Option<String>,
    /// Additional files that could not be written, such as checkpoints; null: none. No result
    /// depends on it.
    #[serde(default)]
    pub not_kept: Option<String>,
    /// Further reasons for the answer "no": a command that failed.
    pub failures: Vec<String>,
    /// Jobs that did not finish although all flows are complete; they alone do not make the answer
    /// a "no".
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unfinished: Vec<String>,
}

impl From<Parts> for Verdict {
    fn from(parts: Parts) -> Verdict {
        let (answer, headline, lost_frames) =
            (parts.conclusion(&[]), parts.headline(), parts.losses.total());
        Verdict { answer, headline, lost_frames, parts }
    }
}

impl Verdict {
    /// One line: `no deadlock, 0 frames lost`.
    pub fn headline(&self) -> &str {
        &self.headline
    }

    /// The answer, if these are allowed.
    pub fn conclusion(&self, allowed: &[Allow]) -> Conclusion {
        self.parts.conclusion(allowed)
    }

    /// Look of the headline, if these are allowed.
    pub fn tone(&self, allowed: &[Allow]) -> Tone {
        let p = &self.parts;
        let sure = self.answer == Conclusion::Yes
            && p.deadlock == Deadlock::None
            && p.losses.total() == 0
            && matches!(p.promises, Promises::Kept | Promises::NotMade)
            && p.work.incomplete == 0
            && p.unfinished.is_empty()
            && p.nothing_ran.is_none()
            && p.not_kept.is_none();
        match self.conclusion(allowed) {
            Conclusion::Yes if sure => Tone::Good,
            Conclusion::Yes => Tone::Caution,
            Conclusion::No | Conclusion::Interrupted => Tone::Bad,
        }
    }

    /// Skipped checks, as pairs of a heading and a reason.
    pub fn not_known(&self) -> Vec<(&'static str, String)> {
        let mut all = Vec::new();
        if let Deadlock::NotChecked { why } = &self.parts.deadlock {
            all.push(("Not checked", format!("deadlock: {why}")));
        }
        if let Promises::NotChecked { why } = &self.parts.promises {
            all.push(("Not checked", format!("loss, order, conservation: {why}")));
        }
        all
    }

    /// Parts.
    pub fn parts(&self) -> &Parts {
        &self.parts
    }

    /// Frames that did not arrive.
    pub fn losses(&self) -> &Losses {
        &self.parts.losses
    }

    /// Verdict with another part changed.
    #[must_use]
    pub fn with(&self, change: impl FnOnce(&mut Parts)) -> Verdict {
        let mut parts = self.parts.clone();
        change(&mut parts);
        parts.into()
    }
}

impl Parts {
    fn conclusion(&self, allowed: &[Allow]) -> Conclusion {
        let loss = allowed.contains(&Allow::Loss);
        let deadlock =
            matches!(self.deadlock, Deadlock::Found { .. }) && !allowed.contains(&Allow::Deadlock);
        let lost = self.losses.unmeasured() > 0 && !loss;
        let violated = match &self.promises {
            Promises::Violated { violations, of_loss, .. } => {
                violations - of_loss.min(violations) > 0 || !loss
            }
            Promises::Kept | Promises::NotMade | Promises::NotChecked { .. } => false,
        };
        Conclusion::of(
            self.interrupted,
            !(deadlock || lost || violated || !self.failures.is_empty()),
        )
    }

    fn headline(&self) -> String {
        let mut stated = Vec::new();
        if self.interrupted {
            stated.push("interrupted; partial results kept".to_owned());
        }
        if let Promises::Violated { violations, .. } = &self.promises {
            stated.push(format!(
                "{} check{} violated",
                grouped(*violations),
                if *violations == 1 { "" } else { "s" }
            ));
        }
        stated.extend(self.failures.iter().cloned());
        stated.extend(self.not_kept.iter().cloned());
        if let Some(why) = &self.nothing_ran {
            stated.push(format!("nothing ran: {why}"));
            if self.losses.total() == 0 && !matches!(self.deadlock, Deadlock::Found { .. }) {
                return stated.join(", ");
            }
        }
        stated.push(match &self.deadlock {
            Deadlock::None => "no deadlock".into(),
            Deadlock::Found { what, .. } => what.clone(),
            Deadlock::NotChecked { .. } => "deadlock not checked".into(),
        });
        stated.push(self.losses.words());
        if let Promises::NotChecked { .. } = self.promises {
            stated.push("invariants not checked".into());
        }
        stated.extend(self.work.incomplete_words().map(|words| format!("{words} incomplete")));
        stated.extend(self.unfinished.iter().cloned());
        stated.join(", ")
    }
}

#[cfg(test)]
mod tests;
