//! The proof that the real switch is the simulated one: the inbound frames of a capture make a
//! world in virtual time send the same frames as the outbound frames of the capture.

use std::collections::VecDeque;

use xoff_sim::World;
use xoff_units::{FlowId, Span, Time};

use crate::switchd::machine::{Machine, addresses};
use crate::wire::{ethernet, local, test_frame};

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
    /// Their bytes.
    pub bytes_in: u64,
    /// Bytes of them that the replay compared with those of their sender.
    pub bytes_in_compared: u64,
    /// Frames that went out in both.
    pub outbound: u64,
    /// Their bytes.
    pub bytes_out: u64,
    /// Bytes of them that the capture holds and the replay compared with its own.
    pub bytes_compared: u64,
    /// Frames found at both ends of a cable.
    pub followed: u64,
    /// Frames that were sent at the end of the capture, and whose arrival it does not hold.
    pub under_way: u64,
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

/// Longest time of a frame on a cable. The kernel takes microseconds, a busy machine longer: the
/// world's clock advances a millisecond at most between two polls of the ports.
const ON_CABLE: Span = Span::from_ms(100);

/// A world in a replay, and the frames of both sides that are not compared yet.
struct Replay<'a> {
    world: &'a mut World,
    machine: &'a mut Machine,
    /// By link: the link at the other end of its cable.
    far: &'a [Option<usize>],
    /// By link: frames that its neighbour has sent to it.
    coming: Vec<VecDeque<Captured>>,
    /// The time up to which the world has been run.
    reached: Time,
    made: VecDeque<(Time, usize, Vec<u8>)>,
    logged: VecDeque<Captured>,
    seen: Replayed,
}

/// Replays received frames and compares sent ones, frame by frame: time, port, length and bytes. A
/// received frame is compared with the sent one where both ends of its cable are here (`far`, by
/// link). A test frame from elsewhere has the bytes that its sender writes. `look` is called for every millisecond of a gap; when it returns false, the replay ends where it
/// is.
///
/// The machine and its world are those of the run that was captured, at rest. A time of sending
/// that a frame carries is part of its bytes.
pub fn replay(
    world: &mut World,
    machine: &mut Machine,
    far: &[Option<usize>],
    capture: impl Iterator<Item = Captured>,
    mut look: impl FnMut() -> bool,
) -> Replayed {
    let mut last = Time::ZERO;
    let mut r = Replay {
        world,
        machine,
        far,
        coming: far.iter().map(|_| VecDeque::new()).collect(),
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
            if let Some(far) = r.far[c.link] {
                r.coming[far].push_back(c.clone());
            }
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
        r.nothing_is_lost(last);
        r.seen.under_way = r.coming.iter().map(|c| c.len() as u64).sum();
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
            self.nothing_is_lost(until);
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
        self.seen.bytes_in += c.len as u64;
        if let Some(wrong) = self.came_from(&c) {
            self.seen.difference = Some(wrong);
            return;
        }
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
                "frame {} in: by {} at {} in the capture, accepted at {at}",
                self.seen.inbound,
                self.machine.name(c.link),
                c.at
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
                let name = |link| self.machine.name(link);
                let first = if c.len == bytes.len() { first_other(bytes, &c.bytes) } else { None };
                self.seen.difference = Some(format!(
                    "frame {} out: {} B by {} at {at} in the replay, {} B by {} at {} in the capture{}",
                    self.seen.outbound + 1,
                    bytes.len(),
                    name(*link),
                    c.len,
                    name(c.link),
                    c.at,
                    first.map_or(String::new(), |at| format!("; byte {at} differs"))
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
                Some(format!("{}; the capture continues later", self.only_in("replay", at, link)));
        }
    }

    /// At the end each side has sent the frames of the other.
    fn nothing_is_left(&mut self) {
        if self.seen.difference.is_none() {
            let made = self.made.front().map(|(at, link, _)| self.only_in("replay", *at, *link));
            self.seen.difference =
                made.or(self.logged.front().map(|c| self.only_in("capture", c.at, c.link)));
        }
    }

    fn only_in(&self, side: &str, at: Time, link: usize) -> String {
        format!("a frame by {} at {at} was sent only in the {side}", self.machine.name(link))
    }

    /// Compares a frame with the one that its sender sent. Returns the difference.
    fn came_from(&mut self, c: &Captured) -> Option<String> {
        let here = |what: &str| {
            let (n, name) = (self.seen.inbound, self.machine.name(c.link));
            Some(format!("frame {n} in: by {name} at {}: {what}", c.at))
        };
        let Some(from) = self.far[c.link] else {
            let sent = as_sent(self.world, c)?;
            if let Some(at) = first_other(&sent, &c.bytes) {
                return here(&format!("byte {at} of the test frame is not the one of its sender"));
            }
            self.seen.bytes_in_compared += c.bytes.len() as u64;
            return None;
        };
        let coming = &self.coming[c.link];
        let same = |sent: &Captured| (sent.len, &sent.bytes) == (c.len, &c.bytes);
        let from = self.machine.name(from);
        match coming.iter().position(same) {
            Some(0) => {
                self.coming[c.link].pop_front();
                self.seen.followed += 1;
                self.seen.bytes_in_compared += c.bytes.len() as u64;
                None
            }
            Some(lost) => {
                let first = coming[0].at;
                here(&format!(
                    "{lost} frames that {from} sent before it did not arrive, the first at {first}"
                ))
            }
            None => match coming.front() {
                Some(sent) if sent.len == c.len => {
                    let at = first_other(&sent.bytes, &c.bytes).unwrap_or_default();
                    here(&format!("byte {at} is not the one that {from} sent at {}", sent.at))
                }
                _ => here(&format!("{from} did not send it")),
            },
        }
    }

    /// Frames that were sent long before a time have arrived by then.
    fn nothing_is_lost(&mut self, by: Time) {
        let late = |c: &VecDeque<Captured>| c.front().is_some_and(|f| f.at + ON_CABLE < by);
        if self.seen.difference.is_none()
            && let Some(link) = self.coming.iter().position(late)
        {
            let (at, name) = (self.coming[link][0].at, self.machine.name(link));
            let from = self.far[link].map_or("", |far| self.machine.name(far));
            self.seen.difference =
                Some(format!("a frame that {from} sent at {at} did not arrive at {name}"));
        }
    }
}

/// Position of the first byte that differs.
fn first_other(one: &[u8], other: &[u8]) -> Option<usize> {
    let differs = one.iter().zip(other).position(|(a, b)| a != b);
    differs.or((one.len() < other.len()).then_some(one.len()))
}

/// Bytes of a test frame as its sender writes them: nothing but what its header holds. `None`: no
/// test frame of this network.
fn as_sent(world: &World, c: &Captured) -> Option<Vec<u8>> {
    let mut whole = c.bytes.clone();
    whole.resize(c.len, 0);
    let frame = ethernet::Frame::new(&whole).ok()?;
    let Ok(local::Message::Test(test)) = local::Message::parse(frame.payload()) else {
        return None;
    };
    let ends = world.ends(FlowId(test.flow)).filter(|_| frame.ether_type() == ethernet::LOCAL)?;
    let (to, from) = addresses(ends, test.kind == test_frame::Kind::Data);
    let mut sent = vec![0; c.len.max(ethernet::FRAME_MIN)];
    let len = local::Message::Test(test).emit_frame(to, from, &mut sent).ok()?;
    sent.resize(len.max(c.len), 0);
    Some(sent)
}
