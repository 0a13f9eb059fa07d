//! Frames that did not arrive, by cause.
//!
//! The one place that states how many frames were lost: [`Losses::words`] takes all counters, so
//! that no headline can state "0 frames lost" while one of them is not zero.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_units::{Fate, Loss, Meaning, grouped};

/// Frames that did not arrive.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Losses {
    /// Lost frames by cause; causes without lost frames are absent.
    #[schemars(with = "BTreeMap<String, u64>")]
    by_cause: BTreeMap<Loss, u64>,
    /// Acknowledgements, CNMs, CNPs and control frames among them, as far as that is known.
    control_frames: u64,
}

impl Losses {
    /// Counts of causes.
    pub fn of(counts: impl IntoIterator<Item = (Loss, u64)>) -> Losses {
        let mut all = Losses::default();
        counts.into_iter().for_each(|(why, frames)| all.add(why, frames));
        all
    }

    /// Counts a number of further frames.
    pub fn add(&mut self, why: Loss, frames: u64) {
        if frames > 0 {
            let n = self.by_cause.entry(why).or_default();
            *n = n.saturating_add(frames);
        }
    }

    /// Adds the counts of another one.
    pub fn merge(&mut self, other: &Losses) {
        other.by_cause.iter().for_each(|(&why, &frames)| self.add(why, frames));
        self.control_frames = self.control_frames.saturating_add(other.control_frames);
    }

    /// Counts data frames and control frames lost for this reason.
    pub fn add_both(&mut self, why: Loss, data: u64, control: u64) {
        self.add(why, data.saturating_add(control));
        self.control_frames = self.control_frames.saturating_add(control);
    }

    /// Frames lost for this reason.
    pub fn count(&self, why: Loss) -> u64 {
        self.by_cause.get(&why).copied().unwrap_or(0)
    }

    /// All frames that did not arrive.
    pub fn total(&self) -> u64 {
        self.by_cause.values().fold(0, |a, &n| a.saturating_add(n))
    }

    /// Losses that the network had promised not to have, or that no result explains.
    pub fn unmeasured(&self) -> u64 {
        self.by_cause
            .iter()
            .filter(|(why, _)| why.meaning() != Meaning::Measured)
            .fold(0, |a, (_, &n)| a.saturating_add(n))
    }

    /// Losses of one fate.
    pub fn of_fate(&self, fate: Fate) -> u64 {
        self.by_cause
            .iter()
            .filter(|(why, _)| why.fate() == fate)
            .fold(0, |a, (_, &n)| a.saturating_add(n))
    }

    /// Causes and counts, none of them zero.
    pub fn iter(&self) -> impl Iterator<Item = (Loss, u64)> + '_ {
        self.by_cause.iter().map(|(&why, &frames)| (why, frames))
    }

    /// `0 frames lost`, or how many and why: `21 frames lost (on links that failed)`.
    pub fn words(&self) -> String {
        let total = match self.control_frames {
            0 => format!("{} lost", frames(self.total())),
            n => format!("{} lost, {} of them control", frames(self.total()), grouped(n)),
        };
        let causes: Vec<String> = match self.by_cause.len() {
            1 => self.iter().map(|(why, _)| why.words().to_owned()).collect(),
            _ => self.iter().map(|(why, n)| format!("{} {}", grouped(n), why.words())).collect(),
        };
        if causes.is_empty() { total } else { format!("{total} ({})", causes.join("; ")) }
    }
}

/// `12,345 frames`.
fn frames(n: u64) -> String {
    format!("{} frame{}", grouped(n), if n == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// "0 frames lost" is printed only where no counter at all has a loss: each counter once.
    #[test]
    fn zero_frames_lost_means_that_every_counter_is_zero() {
        assert_eq!(Losses::default().words(), "0 frames lost");
        assert_eq!(Losses::of(Loss::ALL.map(|why| (why, 0))).words(), "0 frames lost");
        for why in Loss::ALL {
            let one = Losses::of([(why, 1)]);
            assert_eq!(
                (one.total(), one.of_fate(why.fate()), one.count(why)),
                (1, 1, 1),
                "{why:?}"
            );
            assert!(one.words().starts_with("1 frame lost ("), "{why:?}: {}", one.words());
        }
        let all = Losses::of(Loss::ALL.map(|why| (why, u64::MAX / 4)));
        assert_eq!(all.total(), u64::MAX, "a sum that does not fit is no small one");
    }

    #[test]
    fn causes_are_named() {
        let l = Losses::of([(Loss::OnFailedLink, 1_234_567), (Loss::BufferFull, 1)]);
        assert_eq!(
            l.words(),
            "1,234,568 frames lost (1 dropped at full buffers; 1,234,567 on links that failed)"
        );
        assert_eq!(
            Losses::of([(Loss::OnFailedLink, 21)]).words(),
            "21 frames lost (on links that failed)"
        );
        let mut control = Losses::default();
        control.add_both(Loss::OnFaultyLink, 2, 3);
        assert_eq!(
            (control.words().as_str(), control.total()),
            ("5 frames lost, 3 of them control (to errors on links)", 5)
        );
        control.merge(&l);
        assert_eq!((control.total(), control.control_frames), (1_234_573, 3));
        let json = serde_json::to_string(&l).unwrap();
        assert_eq!(
            json,
            r#"{"by_cause":{"buffer-full":1,"on-failed-link":1234567},"control_frames":0}"#
        );
        assert_eq!(serde_json::from_str::<Losses>(&json).unwrap(), l);
    }
}
