//! Frames that did not arrive, by cause.
//!
//! The one place that states how many frames were lost: [`Losses::words`] takes all counters, so that no headline can state "0 frames lost"
//! while one of them is not zero.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_units::grouped;

/// Reason why a frame did not arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Loss {
    /// A switch had no room for it.
    BufferFull,
    /// A switch had no route for it.
    NoRoute,
    /// A switch had no route for it any more, after a link had failed.
    CutOff,
    /// Waited at a port whose link failed.
    FailedPort,
    /// On the wire of a link that failed.
    OnFailedLink,
    /// On a wire, to a bit error.
    OnFaultyLink,
    /// Given up by the retry of a link.
    GivenUp,
    /// Real frames: one end of a wire sent it and the other never received it.
    OnWire,
    /// Real frames: the kernel's receive ring was full.
    KernelRing,
    /// Real frames: the kernel refused to send it.
    KernelRefused,
    /// Real frames: the kernel had not taken it when the run ended.
    Unsent,
    /// The watchdog against storms dropped it.
    Watchdog,
    /// Real frames: it was longer than the MTU.
    TooLong,
    /// Real frames: malformed.
    Malformed,
    /// Real frames: a control frame of a kind or for a priority that is not configured.
    Unexpected,
    /// Real frames: a control frame older than one that came before it.
    Stale,
    /// Real frames: a control frame whose values cannot be true, such as credits for more than the buffer.
    Impossible,
    /// Real frames: of an unknown flow.
    UnknownFlow,
    /// Real frames: to an address that is in no table.
    UnknownAddress,
    /// Lossy class: a switch had no room for the frame at its ingress. A measured result.
    LossyIngress,
    /// Lossy class: the egress queue was full. A measured result.
    LossyEgress,
}

/// Fate of such a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fate {
    /// A node had it and dropped it.
    Dropped,
    /// Lost between two nodes.
    Lost,
    /// A node never accepted it.
    Refused,
}

impl Loss {
    /// All of them, in the order of messages.
    pub const ALL: [Loss; 21] = [
        Loss::BufferFull,
        Loss::NoRoute,
        Loss::CutOff,
        Loss::FailedPort,
        Loss::OnFailedLink,
        Loss::OnFaultyLink,
        Loss::GivenUp,
        Loss::OnWire,
        Loss::KernelRing,
        Loss::KernelRefused,
        Loss::Unsent,
        Loss::Watchdog,
        Loss::TooLong,
        Loss::Malformed,
        Loss::Unexpected,
        Loss::Stale,
        Loss::Impossible,
        Loss::UnknownFlow,
        Loss::UnknownAddress,
        Loss::LossyIngress,
        Loss::LossyEgress,
    ];

    /// Whether the loss is a result, as that of a class which promises nothing, and no answer "no".
    pub fn is_measured(self) -> bool {
        matches!(self, Loss::LossyIngress | Loss::LossyEgress)
    }

    /// Fate of the frame.
    pub fn fate(self) -> Fate {
        match self {
            Loss::BufferFull
            | Loss::NoRoute
            | Loss::CutOff
            | Loss::FailedPort
            | Loss::Watchdog
            | Loss::LossyIngress
            | Loss::LossyEgress => Fate::Dropped,
            Loss::OnFailedLink
            | Loss::OnFaultyLink
            | Loss::GivenUp
            | Loss::OnWire
            | Loss::KernelRing
            | Loss::KernelRefused
            | Loss::Unsent => Fate::Lost,
            Loss::TooLong
            | Loss::Malformed
            | Loss::Unexpected
            | Loss::Stale
            | Loss::Impossible
            | Loss::UnknownFlow
            | Loss::UnknownAddress => Fate::Refused,
        }
    }

    /// After a number of frames: `21 on links that failed`.
    fn words(self) -> &'static str {
        match self {
            Loss::BufferFull => "dropped at full buffers",
            Loss::NoRoute => "dropped without a route",
            Loss::CutOff => "dropped without a route after a link failed",
            Loss::FailedPort => "dropped at ports whose link failed",
            Loss::OnFailedLink => "on links that failed",
            Loss::OnFaultyLink => "to errors on links",
            Loss::GivenUp => "given up by links after too many retries",
            Loss::OnWire => "on wires",
            Loss::KernelRing => "in the kernel's receive rings",
            Loss::KernelRefused => "rejected by the kernel",
            Loss::Unsent => "not sent by the kernel before the end",
            Loss::Watchdog => "dropped by the watchdog",
            Loss::TooLong => "rejected: longer than the MTU",
            Loss::Malformed => "rejected: malformed",
            Loss::Unexpected => "control frames rejected: not configured",
            Loss::Stale => "control frames rejected: older than a previous one",
            Loss::Impossible => "control frames rejected: impossible",
            Loss::UnknownFlow => "rejected: unknown flow",
            Loss::UnknownAddress => "rejected: unknown address",
            Loss::LossyIngress => "of lossy priorities at full ingress buffers",
            Loss::LossyEgress => "of lossy priorities at full egress queues",
        }
    }
}

/// Frames that did not arrive.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Losses {
    /// Lost frames by cause; causes without lost frames are absent.
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
        self.by_cause.iter().filter(|(why, _)| !why.is_measured()).fold(0, |a, (_, &n)| a.saturating_add(n))
    }

    /// Losses of one fate.
    pub fn of_fate(&self, fate: Fate) -> u64 {
        self.by_cause.iter().filter(|(why, _)| why.fate() == fate).fold(0, |a, (_, &n)| a.saturating_add(n))
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
            assert_eq!((one.total(), one.of_fate(why.fate()), one.count(why)), (1, 1, 1), "{why:?}");
            assert!(one.words().starts_with("1 frame lost ("), "{why:?}: {}", one.words());
        }
        let all = Losses::of(Loss::ALL.map(|why| (why, u64::MAX / 4)));
        assert_eq!(all.total(), u64::MAX, "a sum that does not fit is no small one");
    }

    /// A kind missing in `ALL` would never be walked.
    #[test]
    fn every_kind_is_listed_once() {
        let mut all = Loss::ALL.to_vec();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), Loss::ALL.len());
        assert_eq!(all.last().map(|&l| l as usize), Some(Loss::ALL.len() - 1), "the last kind is in the list");
    }

    #[test]
    fn causes_are_named() {
        let l = Losses::of([(Loss::OnFailedLink, 1_234_567), (Loss::BufferFull, 1)]);
        assert_eq!(l.words(), "1,234,568 frames lost (1 dropped at full buffers; 1,234,567 on links that failed)");
        assert_eq!(Losses::of([(Loss::OnFailedLink, 21)]).words(), "21 frames lost (on links that failed)");
        let mut control = Losses::default();
        control.add_both(Loss::OnFaultyLink, 2, 3);
        assert_eq!((control.words().as_str(), control.total()), ("5 frames lost, 3 of them control (to errors on links)", 5));
        control.merge(&l);
        assert_eq!((control.total(), control.control_frames), (1_234_573, 3));
        let json = serde_json::to_string(&l).unwrap();
        assert_eq!(json, r#"{"by_cause":{"buffer-full":1,"on-failed-link":1234567},"control_frames":0}"#);
        assert_eq!(serde_json::from_str::<Losses>(&json).unwrap(), l);
    }
}
