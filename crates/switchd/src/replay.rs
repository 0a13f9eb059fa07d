//! The proof that the real switch is the simulated one: what a capture says came in makes a world in virtual time send what the
//! capture says went out.

use std::collections::VecDeque;

use xoff_sim::World;
use xoff_units::{Span, Time};

use crate::machine::Machine;

/// A frame of a capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Captured {
    /// When, in whole nanoseconds.
    pub at: Time,
    /// Which of the machine's links.
    pub link: usize,
    /// It came in.
    pub inbound: bool,
    /// Its length [bytes].
    pub len: usize,
    /// Its first bytes, or all of them.
    pub bytes: Vec<u8>,
}

/// How a replay went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replayed {
    /// Frames that came in.
    pub inbound: u64,
    /// Frames that went out in both.
    pub outbound: u64,
    /// The first difference, in words; `None`: there is none.
    pub difference: Option<String>,
}

/// Nanoseconds are the finest that a capture tells.
fn ns(t: Time) -> u64 {
    t.0 / 1000
}

/// Replays what came in and compares what goes out, frame by frame: time, port, length and bytes.
///
/// The machine and its world are those of the run that was captured, at rest. A time of sending that a frame carries is part of
/// its bytes.
pub fn replay(world: &mut World, machine: &mut Machine, capture: impl Iterator<Item = Captured>) -> Replayed {
    let mut last = Time::ZERO;
    let mut seen = Replayed::default();
    let mut made: VecDeque<(Time, usize, Vec<u8>)> = VecDeque::new();
    let mut logged: VecDeque<Captured> = VecDeque::new();
    let compare = |made: &mut VecDeque<(Time, usize, Vec<u8>)>, logged: &mut VecDeque<Captured>, seen: &mut Replayed| {
        while let (None, Some((at, link, bytes)), Some(c)) = (&seen.difference, made.front(), logged.front()) {
            let same = (ns(*at), *link, bytes.len()) == (ns(c.at), c.link, c.len) && bytes.starts_with(&c.bytes);
            if !same {
                seen.difference = Some(format!(
                    "frame {} out: {} B by link {link} at {at} in the replay, {} B by link {} at {} in the capture",
                    seen.outbound + 1,
                    bytes.len(),
                    c.len,
                    c.link,
                    c.at
                ));
                return;
            }
            seen.outbound += 1;
            made.pop_front();
            logged.pop_front();
        }
    };
    for c in capture {
        if seen.difference.is_some() {
            return seen;
        }
        last = last.max(c.at);
        if !c.inbound {
            logged.push_back(c);
            compare(&mut made, &mut logged, &mut seen);
            continue;
        }
        seen.inbound += 1;
        // A cut-off frame is as long as it was: nodes look at lengths, nobody at what lies behind the headers.
        let mut bytes = c.bytes;
        bytes.resize(c.len, 0);
        let at = machine.receive(world, c.at, c.link, &bytes);
        if at != c.at {
            seen.difference = Some(format!("frame {} in: at {} in the capture, taken at {at}", seen.inbound, c.at));
            return seen;
        }
        machine.depart(at, |at, link, bytes| made.push_back((at, link, bytes.to_vec())));
        compare(&mut made, &mut logged, &mut seen);
    }
    // Times of sending are cut to nanoseconds in a capture.
    let until = last + Span(999);
    machine.run(world, until);
    machine.depart(until, |at, link, bytes| made.push_back((at, link, bytes.to_vec())));
    compare(&mut made, &mut logged, &mut seen);
    if seen.difference.is_none() {
        let left = |(at, link): (Time, usize), who: &str| format!("a frame by link {link} at {at} went out only in the {who}");
        let made = made.front().map(|(at, link, _)| left((*at, *link), "replay"));
        seen.difference = made.or(logged.front().map(|c| left((c.at, c.link), "capture")));
    }
    seen
}
