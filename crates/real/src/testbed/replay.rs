//! Captures that can be replayed: the file itself names the scenario that was run.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::netio::{Capture, CaptureOptions, CaptureReader, Direction, Whole};
use crate::switchd::{Captured, Link, Replayed, Tap};
use crate::wire::ethernet::Mac;
use serde::{Deserialize, Serialize};
use xoff_record::Sink;
use xoff_run::{NetworkScenario, RunError};
use xoff_scenario::Problems;
use xoff_units::{NodeId, Span, Time};

use crate::testbed::shims;
use crate::testbed::wiring::{self, Real};

/// Facts that rebuild the same machine; the comment of a capture, as JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// The scenario with everything resolved.
    pub scenario: String,
    /// Folder in which its files are looked up.
    pub folder: PathBuf,
    /// Names of the nodes that ran.
    pub nodes: Vec<String>,
    /// Ports whose neighbour knows no flow control.
    pub plain: Vec<String>,
    /// Frames of unknown origin went where their addresses had been seen.
    pub learns: bool,
    /// Hosts with a shim, in the order in which they got it.
    #[serde(default)]
    pub shims: Vec<String>,
    /// Addresses of hosts that were given: (host, address).
    #[serde(default)]
    pub macs: Vec<(u32, [u8; 6])>,
}

impl Facts {
    fn real(&self) -> Real {
        let known = |(host, address): &(u32, [u8; 6])| (NodeId(*host), Mac(*address));
        Real { learns: self.learns, macs: self.macs.iter().map(known).collect(), ..Real::default() }
    }

    /// Facts of a run.
    pub fn of(s: &NetworkScenario, here: &[bool], links: &[Link], real: &Real) -> Facts {
        Facts {
            scenario: s.resolved.clone(),
            folder: s.folder.clone(),
            nodes: s
                .topology
                .nodes
                .iter()
                .zip(here)
                .filter(|(_, here)| **here)
                .map(|(n, _)| n.name.clone())
                .collect(),
            plain: links.iter().filter(|l| l.plain).map(|l| l.name.clone()).collect(),
            learns: real.learns,
            shims: shims::of(s).map(|s| s.name).collect(),
            macs: real.macs.iter().map(|(host, address)| (host.0, address.0)).collect(),
        }
    }
}

/// Reason why a capture could not be replayed.
#[derive(Debug)]
pub enum ReplayError {
    /// The file could not be read.
    Read(io::Error),
    /// The capture does not contain the run's facts.
    NoFacts(String),
    /// The scenario in it has a mistake.
    Scenario(Problems),
    /// The scenario in it cannot be built.
    Run(RunError),
}

impl fmt::Display for ReplayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReplayError::Read(e) => write!(f, "the capture cannot be read: {e}"),
            ReplayError::NoFacts(why) => write!(f, "the capture contains no scenario: {why}"),
            ReplayError::Scenario(_) => f.write_str("the scenario in the capture has an error"),
            ReplayError::Run(e) => write!(f, "the scenario in the capture cannot be built: {e}"),
        }
    }
}
impl std::error::Error for ReplayError {}

/// Longest option of a pcapng block [bytes].
const COMMENT_MAX: usize = u16::MAX as usize;

/// A capture of a run with all that a replay needs; of each frame at most `snap` bytes are kept, 0:
/// all of it.
pub fn create(path: &Path, links: &[Link], facts: &Facts, snap: u32) -> io::Result<Capture> {
    let comment = serde_json::to_string(facts).map_err(io::Error::other)?;
    if comment.len() > COMMENT_MAX {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "the scenario is too long for the comment of a capture",
        ));
    }
    let names: Vec<&str> = links.iter().map(|l| l.name.as_str()).collect();
    Capture::create(
        path,
        &names,
        &CaptureOptions {
            comment: Some(comment),
            snap_length: snap,
            sealed: true,
            ..CaptureOptions::default()
        },
    )
}

/// Tap that writes every frame.
pub fn tap(capture: &mut Capture) -> Tap<'_> {
    Box::new(|at: Time, link, inbound, bytes| {
        let direction = if inbound { Direction::Inbound } else { Direction::Outbound };
        capture.write(at.0 / 1000, link, direction, bytes)
    })
}

/// Replays a capture in a world in virtual time, and tells whether the capture is whole. A capture
/// with other bytes than those that were written differs from the run. `look(frames)` is called now and then, with 0
/// within a long gap; when it returns false, the replay ends where it is.
pub fn replay(
    path: &Path,
    look: impl FnMut(u64) -> bool,
) -> Result<(Facts, Replayed, Whole), ReplayError> {
    xoff_scenario::read::is_readable(path).map_err(|p| ReplayError::Scenario(p.into()))?;
    let mut reader = CaptureReader::open(path).map_err(ReplayError::Read)?;
    let facts = reader.comment().ok_or_else(|| ReplayError::NoFacts("it has no comment".into()))?;
    let facts: Facts =
        serde_json::from_str(facts).map_err(|e| ReplayError::NoFacts(e.to_string()))?;
    let mut s = NetworkScenario::from_text(
        &path.display().to_string(),
        &facts.scenario,
        &[],
        &facts.folder,
    )
    .map_err(ReplayError::Scenario)?;
    shims::insert(&mut s, &facts.shims).map_err(|e| ReplayError::NoFacts(e.to_string()))?;
    let here: Vec<bool> = s.topology.nodes.iter().map(|n| facts.nodes.contains(&n.name)).collect();
    let plain = |node, port| facts.plain.contains(&s.topology.port_name(node, port));
    let links = wiring::links(&s, &here, plain);
    let ports = links.len();
    // A neighbour without our flow control is no node of ours.
    let far: Vec<_> = wiring::far(&s, &links)
        .into_iter()
        .zip(&links)
        .map(|(far, l)| far.filter(|&far| !l.plain && !links[far].plain))
        .collect();
    let mut running = s.start_outside(Sink::Nothing, here).map_err(ReplayError::Run)?;
    let mut machine = wiring::machine(&s, links, &facts.real(), running.world());
    let (mut frames, mut failed) = (0u64, None);
    let look = std::cell::RefCell::new(look);
    let mut last = Time::ZERO;
    let captured = std::iter::from_fn(|| {
        frames += 1;
        if frames.is_multiple_of(4096) && !look.borrow_mut()(frames) {
            return None;
        }
        match reader.next()?.and_then(|f| plausible(f, frames, ports, &mut last)) {
            Ok(frame) => Some(frame),
            Err(e) => {
                failed = Some(e);
                None
            }
        }
    });
    let mut seen = crate::switchd::replay(running.world(), &mut machine, &far, captured, || {
        look.borrow_mut()(0)
    });
    if let Some(e) = failed {
        return Err(ReplayError::Read(e));
    }
    // A difference ends the replay early: is it one of the run, or of the file?
    if seen.difference.is_some() {
        reader.by_ref().for_each(drop);
    }
    if reader.whole() == Whole::Changed {
        let changed =
            "the capture is not the one that xoff wrote: number or hash in its last block differ";
        seen.difference = Some(match seen.difference {
            Some(first) => format!("{first}; {changed}"),
            None => changed.into(),
        });
    }
    Ok((facts, seen, reader.whole()))
}

/// Longest time without a frame in a capture. A port that is idle over a night is replayed; a time
/// stamp with a flipped bit is not taken for a year.
const GAP_MAX: Span = Span::from_ms(24 * 3600 * 1000);
/// Longest frame: a length with a flipped bit is not allocated.
const FRAME_MAX: u32 = 1 << 16;

/// Packet number `number` as the replay uses it, or its impossible value.
fn plausible(
    f: crate::netio::Captured,
    number: u64,
    ports: usize,
    last: &mut Time,
) -> io::Result<Captured> {
    let refuse = |what: String| {
        Err(io::Error::new(io::ErrorKind::InvalidData, format!("packet {number} {what}")))
    };
    if f.port >= ports {
        return refuse(format!(
            "is of interface {}; the nodes of the scenario have {ports}",
            f.port
        ));
    }
    if f.original_len > FRAME_MAX {
        return refuse(format!("is {} bytes long; expected at most {FRAME_MAX}", f.original_len));
    }
    let at = Time(f.time_ns.saturating_mul(1000));
    if at.since(*last) > GAP_MAX {
        let hours = at.since(*last).as_secs_f64() / 3600.0;
        return refuse(format!(
            "is {hours:.0} h later than the previous one; expected at most 24 h. Check its time stamp"
        ));
    }
    *last = (*last).max(at);
    Ok(Captured {
        at,
        link: f.port,
        inbound: f.direction == Some(Direction::Inbound),
        len: f.original_len as usize,
        bytes: f.bytes,
    })
}
