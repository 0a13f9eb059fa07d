//! The proof that the real switch is the simulated one: the inbound frames of a capture make a
//! world in virtual time send the same frames as the outbound frames of the capture.

use std::collections::VecDeque;

use xoff_sim::World;
use xoff_units::{Span, Time};

use crate::switchd::machine::Machine;

/// A frame of a capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Captured {
    /// Time, in whole nanoseconds.
    pub at: Time,
    /// Number of the machine's link.
    pub link: usize,
    /// True for an arriving frame.
    pub inbound: bool,
    /// Length [bytes].
    pub len: usize,
    /// First bytes, or all of them.
    pub bytes: Vec<u8>,
}

/// Result of a replay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replayed {
    /// Frames that came in.
    pub inbound: u64,
    /// Frames that went out in both.
    pub outbound: u64,
    /// Their bytes, and those of them that the capture holds and the replay compared.
    pub bytes_out: u64,
    /// Compared bytes.
    pub bytes_compared: u64,
    /// The first difference, in words; `None`: there is none.
    pub difference: Option<String>,
}

/// Nanoseconds are the finest that a capture records.
fn ns(t: Time) -> u64 {
    t.0 / 1000
}

/// Largest disorder of times in a capture: the frames that wait in a buffer while the process is
/// not scheduled.
const DISORDER: Span = Span::from_ms(1_000);
/// Step of the world's time, so that its frames do not pile up before they are compared.
const STEP: Span = Span::from_ms(1);

/// A world in a replay, and the frames of both sides that are not compared yet.
struct Replay<'a> {
    world: &'a mut World,
    machine: &'a mut Machine,
    /// The time up to which the world has been run.
    reached: Time,
    made: VecDeque<(Time, usize, Vec<u8>)>,
    logged: VecDeque<Captured>,
    seen: Replayed,
}

/// Replays received frames and compares sent ones, frame by frame: time, port, length and bytes.
/// `look` is called for every millisecond of a gap; when it returns false, the replay ends where it
/// is.
///
/// The machine and its world are those of the run that was captured, at rest. A time of sending
/// that a frame carries is part of its bytes.
pub fn replay(
    world: &mut World,
    machine: &mut Machine,
    capture: impl Iterator<Item = Captured>,
    mut look: impl FnMut() -> bool,
) -> Replayed {
    let mut last = Time::ZERO;
    let mut r = Replay {
        world,
        machine,
        reached: Time::ZERO,
        made: VecDeque::new(),
        logged: VecDeque::new(),
        seen: Replayed::default(),
    };
    for c in capture {
        if r.seen.difference.is_some() {
            return r.seen;
        }
        last = last.max(c.at);
        if c.inbound {
            if !r.run_to(Time(c.at.0.saturating_sub(1)), &mut look) {
                return r.seen;
            }
            r.take_in(c);
        } else {
            let behind = Time(c.at.0.saturating_sub(DISORDER.0));
            r.logged.push_back(c);
            r.compare();
            // A port that only sends would fill the memory with the whole capture.
            if behind > r.reached + DISORDER && !r.run_to(behind, &mut look) {
                return r.seen;
            }
        }
    }
    // Times of sending are cut to nanoseconds in a capture.
    if r.run_to(last + Span(999), &mut look) {
        r.nothing_is_left();
    }
    r.seen
}

impl Replay<'_> {
    /// Runs the world up to `to`, in steps; false: `look` wants no more.
    fn run_to(&mut self, to: Time, look: &mut impl FnMut() -> bool) -> bool {
        while self.seen.difference.is_none() && self.reached < to {
            // Nothing happens before the next event, however far it is.
            let quiet_until = self.machine.next(self.world).unwrap_or(Time::NEVER);
            let until = (self.reached.max(quiet_until) + STEP).min(to);
            self.machine.run(self.world, until);
            self.depart(until);
            self.reached = until;
            self.nothing_is_overdue();
            if !look() {
                return false;
            }
        }
        true
    }

    fn depart(&mut self, until: Time) {
        self.machine
            .depart(until, |at, link, bytes| self.made.push_back((at, link, bytes.to_vec())));
        self.compare();
    }

    fn take_in(&mut self, c: Captured) {
        if self.seen.difference.is_some() {
            return;
        }
        self.seen.inbound += 1;
        // A cut-off frame is as long as it was: nodes look at lengths, not at what is behind the
        // headers.
        let mut bytes = c.bytes;
        bytes.resize(c.len, 0);
        let at = if c.at < self.reached {
            self.reached
        } else {
            self.machine.receive(self.world, c.at, c.link, &bytes)
        };
        if at != c.at {
            self.seen.difference = Some(format!(
                "frame {} in: at {} in the capture, accepted at {at}",
                self.seen.inbound, c.at
            ));
            return;
        }
        self.reached = self.reached.max(at);
        self.depart(at);
    }

    /// Compares the frames of both sides.
    fn compare(&mut self) {
        while let (None, Some((at, link, bytes)), Some(c)) =
            (&self.seen.difference, self.made.front(), self.logged.front())
        {
            let same = (ns(*at), *link, bytes.len()) == (ns(c.at), c.link, c.len)
                && bytes.starts_with(&c.bytes);
            if !same {
                self.seen.difference = Some(format!(
                    "frame {} out: {} B by link {link} at {at} in the replay, {} B by link {} at {} in the capture",
                    self.seen.outbound + 1,
                    bytes.len(),
                    c.len,
                    c.link,
                    c.at
                ));
                return;
            }
            self.seen.outbound += 1;
            self.seen.bytes_out += c.len as u64;
            self.seen.bytes_compared += c.bytes.len() as u64;
            self.made.pop_front();
            self.logged.pop_front();
        }
    }

    /// Frames that the capture would have by now are missing from it: a time in it is wrong, or
    /// frames are.
    fn nothing_is_overdue(&mut self) {
        let overdue = self.made.front().filter(|(at, ..)| self.reached > *at + DISORDER);
        if let (None, Some((at, link, _)), true) =
            (&self.seen.difference, overdue, self.logged.is_empty())
        {
            let (at, link) = (*at, *link);
            self.seen.difference =
                Some(format!("{}; the capture continues later", only_in("replay", at, link)));
        }
    }

    /// At the end each side has sent the frames of the other.
    fn nothing_is_left(&mut self) {
        if self.seen.difference.is_none() {
            let made = self.made.front().map(|(at, link, _)| only_in("replay", *at, *link));
            self.seen.difference =
                made.or(self.logged.front().map(|c| only_in("capture", c.at, c.link)));
        }
    }
}

fn only_in(side: &str, at: Time, link: usize) -> String {
    format!("a frame by link {link} at {at} was sent only in the {side}")
}
