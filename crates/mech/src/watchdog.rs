//! The watchdog of a switch: frees an egress queue that its peer holds for too long, because one
//! broken receiver must not stop a fabric.
//!
//! ```text
//!   operational --a storm for `detect`--> stormed --no stop for `restore`--> operational
//!                                           drop: queued and new frames are discarded; forward: they are sent; alert: nothing changes
//!   looks   |----poll----|----poll----|----poll----|      a look compares counters with those of the look before it
//! ```
//!
//! Sources: SONiC, sonic-swss `orchagent/pfc_detect_mellanox.lua` (`duration`: queues that hold
//! frames, send none and are paused for 99 % of the time), `pfc_detect_broadcom.lua` as of 0cb8610
//! (`status`), `pfc_restore.lua`; sonic-mgmt `docs/testplan/pfcwd`. There the counters are those of
//! pauses; here a queue is *stopped* if its sender half would not let a full frame go within the
//! detection time, whatever the flow control: by a pause, for lack of credits, or at a rate close
//! to zero.

use xoff_units::params::{Kind, ParamError, ParamSpec, Values};
use xoff_units::state::State;
use xoff_units::{Bytes, Span, Time};

/// Keys of both detectors.
pub const PARAMS: &[ParamSpec] = &[
    ParamSpec::new(
        "detect",
        Kind::Span,
        "200ms",
        "a queue paused for this time is released",
        "sonic-utilities pfcwd, start_default",
    ),
    ParamSpec::optional(
        "restore",
        Kind::Span,
        "flow control applies again after the peer has released the queue for this time; default: 2 x detect",
        "sonic-utilities pfcwd, start",
    ),
    ParamSpec::new(
        "poll",
        Kind::Span,
        "200ms",
        "time between two polls of every queue",
        "sonic-utilities pfcwd, start_default",
    ),
    ParamSpec::new(
        "action",
        Kind::Choice(&["drop", "forward", "alert"]),
        "drop",
        "drop: discard the queue, new frames for it, and frames that arrive through its port; forward: send them anyway; alert: only report",
        "SONiC, PFC Watchdog",
    ),
];

/// Keys of `duration`.
pub const DURATION: &[ParamSpec] = &[ParamSpec::new(
    "empty_queues",
    Kind::Flag,
    "false",
    "empty queues are released too",
    "false: pfc_detect_mellanox.lua; true: sonic-mgmt PFCWD_BASIC",
)];

/// A detector; `None`: there is no watchdog.
pub type Entry = crate::choice::Choice<Option<Config>>;

/// All detectors.
pub const REGISTRY: &[Entry] = &[
    Entry { name: "none", about: "no watchdog", params: &[], read: |_| Ok(None) },
    Entry {
        name: "duration",
        about: "frames wait, none left, and the queue was paused for 99 % of the time between two polls",
        params: &[PARAMS, DURATION],
        read: |v| {
            let empty_queues = v.flag("empty_queues")?;
            Config::read(v, Detector::Duration { empty_queues }).map(Some)
        },
    },
    Entry {
        name: "status",
        about: "messages that pause the queue arrived, and it was paused at both polls without a break between them",
        params: &[PARAMS],
        read: |v| Config::read(v, Detector::Status).map(Some),
    },
];

/// Criterion of a storm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detector {
    /// By how long the queue was stopped.
    Duration {
        /// Empty queues are released too.
        empty_queues: bool,
    },
    /// By the state at the polls and the messages between them.
    Status,
}

/// Treatment of a queue in a storm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Action {
    /// Discard the queue, new frames for it, and frames of its class that arrive through its port.
    #[default]
    Drop,
    /// Send frames as if there were no flow control.
    Forward,
    /// Nothing changes; the storm is stated.
    Alert,
}

impl Action {
    /// As in a file.
    pub fn word(self) -> &'static str {
        match self {
            Action::Drop => "drop",
            Action::Forward => "forward",
            Action::Alert => "alert",
        }
    }

    /// The inverse of [`Action::word`].
    pub fn named(word: &str) -> Option<Action> {
        [Action::Drop, Action::Forward, Action::Alert].into_iter().find(|a| a.word() == word)
    }
}

/// A watchdog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Criterion of a storm.
    pub detector: Detector,
    /// A storm of this length is acted upon [ps].
    pub detect: Span,
    /// Time without a storm after which the storm is over [ps].
    pub restore: Span,
    /// Time between two polls [ps].
    pub poll: Span,
    /// Treatment of the queue.
    pub action: Action,
}

impl Config {
    /// Reads [`PARAMS`].
    fn read(v: &mut dyn Values, detector: Detector) -> Result<Config, ParamError> {
        let (detect, restore, poll) = (v.span("detect")?, v.span_opt("restore")?, v.span("poll")?);
        let action = Action::named(&v.text("action")?).unwrap_or_default();
        let c = Config { detector, detect, restore: restore.unwrap_or(detect * 2), poll, action }
            .validated()?;
        match restore {
            _ if action == Action::Alert => {
                let why = "action = \"alert\" changes no queue: there is nothing to restore";
                v.without_effect(
                    "restore",
                    why,
                    "remove the key, or set action = \"drop\" or \"forward\"",
                );
            }
            Some(restore) if restore < poll => {
                let why = format!(
                    "restore {restore} < poll {poll}: the watchdog restores queues only at polls, {poll} apart"
                );
                v.without_effect("restore", &why, "expected at least poll");
            }
            _ => {}
        }
        Ok(c)
    }

    /// Refuses times between which nothing could be seen.
    ///
    /// # Errors
    /// The key of the time that does not fit.
    pub fn validated(self) -> Result<Config, ParamError> {
        for (key, span) in [("detect", self.detect), ("restore", self.restore), ("poll", self.poll)]
        {
            if span.0 == 0 {
                return Err(ParamError::new(key, "a time of 0", "expected a time above zero"));
            }
        }
        if self.detect < self.poll {
            return Err(ParamError::new(
                "detect",
                format!(
                    "detect {} < poll {}: the watchdog finds a storm only at the next poll",
                    self.detect, self.poll
                ),
                "choose detect >= poll",
            ));
        }
        Ok(self)
    }

    /// Longest time from the beginning of a lasting storm to its detection, if frames wait from the
    /// beginning [ps].
    pub fn latest(&self) -> Span {
        let polls = match self.detector {
            Detector::Duration { .. } => self.detect.0.div_ceil(self.poll.0),
            // One look shows the state, and the first charge is less than all of the detection
            // time.
            Detector::Status => self.detect.0.div_ceil(self.poll.0).max(2),
        };
        Span((polls + 1) * self.poll.0)
    }
}

/// Effect of the sender half on a queue so far: number and total time of stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, State)]
pub struct Meter {
    /// Since when it is stopped; never: it is not.
    since: Time,
    /// Scheduled end of the stop; never: a message or another poll ends it.
    ends: Time,
    /// For how long it was stopped before.
    total: Span,
    /// Number of stops.
    began: u64,
    /// Messages after which it was stopped.
    stops: u64,
    /// Frames that have left it.
    sent: u64,
}

impl Default for Meter {
    fn default() -> Self {
        Meter {
            since: Time::NEVER,
            ends: Time::NEVER,
            total: Span::ZERO,
            began: 0,
            stops: 0,
            sent: 0,
        }
    }
}

impl Meter {
    /// Notes the state of the half at `now`; `stopped`: time until which it stops the queue,
    /// `Time::NEVER`: forever.
    pub fn note(&mut self, now: Time, stopped: Option<Time>) {
        if self.since != Time::NEVER && (self.ends < now || stopped.is_none()) {
            self.total += self.ends.min(now).since(self.since);
            self.since = Time::NEVER;
        }
        self.ends = stopped.unwrap_or(Time::NEVER);
        if stopped.is_some() && self.since == Time::NEVER {
            (self.since, self.began) = (now, self.began + 1);
        }
    }

    /// Updates the state after a message of the peer.
    pub fn note_message(&mut self, now: Time, stopped: Option<Time>) {
        self.stops += u64::from(stopped.is_some());
        self.note(now, stopped);
    }

    /// Updates the state after a frame has left.
    pub fn note_sent(&mut self, now: Time, stopped: Option<Time>) {
        self.sent += 1;
        self.note(now, stopped);
    }

    /// Poll at a time at which the half has just been asked; `waiting`: queued bytes.
    pub fn look(&self, now: Time, waiting: Bytes) -> Look {
        let stopped = (self.since != Time::NEVER).then_some(self.since);
        let stopped_for = self.total + stopped.map_or(Span::ZERO, |since| now.since(since));
        Look {
            at: now,
            waiting,
            sent: self.sent,
            stopped,
            stopped_for,
            began: self.began,
            stops: self.stops,
        }
    }
}

/// State of a queue at a poll, with counters since the start of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, State)]
pub struct Look {
    /// Time of the poll.
    pub at: Time,
    /// Queued bytes.
    pub waiting: Bytes,
    /// Frames that have left.
    pub sent: u64,
    /// Since when it is stopped, if it is.
    pub stopped: Option<Time>,
    /// For how long it has been stopped in all [ps].
    pub stopped_for: Span,
    /// Number of starts of a stop.
    pub began: u64,
    /// Messages after which it was stopped.
    pub stops: u64,
}

/// Change by a poll.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// A storm was found: the queue had been stopped since then.
    Began(Time),
    /// End of a storm, with the time of its detection.
    Ended(Time),
}

/// A storm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, State)]
struct Storm {
    found: Time,
    /// Further time for which the peer must not stop the queue.
    left: Span,
}

/// State of the watchdog for a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, State)]
pub struct Queue {
    last: Option<Look>,
    /// Collected part of the detection time.
    gathered: Span,
    storm: Option<Storm>,
    /// There has been a storm.
    stormed: bool,
}

/// 99 % of a span are less than another one.
fn nearly_all(of: Span, span: Span) -> bool {
    span.0 as u128 * 100 > of.0 as u128 * 99
}

impl Queue {
    /// True if it is in a storm.
    pub fn is_stormed(&self) -> bool {
        self.storm.is_some()
    }

    /// True if it has ever been in a storm.
    pub fn was_stormed(&self) -> bool {
        self.stormed
    }

    /// A look at it.
    pub fn look(&mut self, look: Look, c: &Config) -> Option<Change> {
        // The first poll has nothing to compare with.
        let last = self.last.replace(look)?;
        match &mut self.storm {
            None => self.detect(&last, &look, c),
            Some(storm) if c.action == Action::Alert => {
                let found = storm.found;
                self.suspicious(&last, &look, c).is_none().then(|| self.end(found))
            }
            Some(storm) => {
                if look.stops > last.stops || look.stopped.is_some() {
                    storm.left = c.restore;
                    return None;
                }
                let passed = look.at.since(last.at);
                if storm.left > passed {
                    storm.left -= passed;
                    return None;
                }
                let found = storm.found;
                Some(self.end(found))
            }
        }
    }

    fn end(&mut self, found: Time) -> Change {
        self.storm = None;
        Change::Ended(found)
    }

    fn detect(&mut self, last: &Look, look: &Look, c: &Config) -> Option<Change> {
        let Some(more) = self.suspicious(last, look, c) else {
            self.gathered = Span::ZERO;
            return None;
        };
        self.gathered += more;
        let enough = match c.detector {
            Detector::Duration { .. } => nearly_all(c.detect, self.gathered),
            Detector::Status => self.gathered >= c.detect,
        };
        if !enough {
            return None;
        }
        self.gathered = Span::ZERO;
        self.storm = Some(Storm { found: look.at, left: c.restore });
        self.stormed = true;
        Some(Change::Began(look.stopped.unwrap_or(look.at)))
    }

    /// Part of the detection time that the interval between two polls adds; `None`: there was no
    /// storm.
    fn suspicious(&self, last: &Look, look: &Look, c: &Config) -> Option<Span> {
        let passed = look.at.since(last.at);
        match c.detector {
            Detector::Duration { empty_queues } => {
                let stopped = look.stopped_for - last.stopped_for;
                let waits = empty_queues || look.waiting.0 > 0;
                (waits && look.sent == last.sent && nearly_all(passed, stopped)).then_some(stopped)
            }
            Detector::Status => {
                let stopped =
                    last.stopped.is_some() && look.stopped.is_some() && look.began == last.began;
                // No single pair of polls is enough.
                (stopped && look.stops > last.stops)
                    .then_some(passed.min(Span(c.detect.0.saturating_sub(1))))
            }
        }
    }
}

#[cfg(test)]
mod tests;
