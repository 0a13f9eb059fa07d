//! Frames of a simulated run as a capture (pcapng).
//!
//! ```text
//!   scenario --run again--> World --every frame on chosen wires--> bytes (switchd::encode) --in the order of time--> Capture
//! ```
//!
//! No table holds frames. A run is deterministic, so its scenario is run again with a tap on the
//! wires of the chosen ports; the caller compares the result hash with that of the run. A port is
//! an interface, as on a real machine: frames that it sends are outbound and have the time of their
//! first bit, frames that arrive by it are inbound and have the time at which the node has them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use crate::netio::{Capture, CaptureOptions, Direction};
use crate::switchd::{Terms, blocks, encode, mac};
use crate::wire::ethernet::FRAME_MIN;
use xoff_node::{Classes, Frame, FrameKind};
use xoff_record::Sink;
use xoff_run::{NetworkScenario, OnWire, Progress, Selection};
use xoff_units::{NodeId, Time};

use xoff_report::export::ExportError;

/// A directed port: node, port of it.
pub type PortId = (NodeId, u16);

/// Room beyond a frame's length for bytes that Ethernet pads [bytes].
const PADDING: u32 = 40;

/// Selection of frames to capture.
#[derive(Clone, Debug)]
pub struct Options {
    /// Ports: an interface each, in this order.
    pub ports: Vec<PortId>,
    /// Of each frame so many bytes are kept; 0: all.
    pub snap_length: u32,
    /// Frames with an earlier time are left out.
    pub from: Time,
    /// Frames with a later time are left out.
    pub until: Time,
    /// Comment in the file.
    pub comment: String,
}

/// Result of a capture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Frames, by interface: outbound, inbound.
    pub frames: Vec<(u64, u64)>,
    /// Control frames among them.
    pub control: u64,
    /// Frames that were sent and lost on their link: they have no inbound frame.
    pub lost: u64,
    /// Control frames of a kind for which no bytes are defined: left out.
    pub without_bytes: u64,
    /// Result hash of the run.
    pub result_hash: String,
}

/// Runs the scenario again and writes the frames of the ports. `look` is called now and then; when
/// it returns false, the run ends.
///
/// # Errors
/// A network that cannot be built, and a file that cannot be written.
pub fn write<W: Write + Send + 'static>(
    scenario: &NetworkScenario,
    options: &Options,
    to: W,
    look: impl FnMut(&Progress) -> bool,
) -> Result<(W, Summary), ExportError> {
    let tap = Arc::new(Mutex::new(Tap::new(scenario, options, to).map_err(ExportError::Write)?));
    let taken = tap.clone();
    let wires = options
        .ports
        .iter()
        .flat_map(|&(n, p)| [(n, p), peer(scenario, (n, p))])
        .map(Into::into)
        .collect();
    let each = Box::new(move |frame: &OnWire| {
        taken.lock().unwrap_or_else(PoisonError::into_inner).on_wire(frame)
    });
    let mut running = scenario
        .start_tapped(Sink::Nothing, Selection::Some(wires), each)
        .map_err(ExportError::Run)?;
    tap.lock().unwrap_or_else(PoisonError::into_inner).classes = running.world().classes().clone();
    let finished = running.run(look).map_err(ExportError::Run)?;
    // The run is over, and with it the other owner.
    let tap = Arc::into_inner(tap).expect("the recorder is gone with its world");
    let mut tap = tap.into_inner().unwrap_or_else(PoisonError::into_inner);
    if finished.manifest.interrupted {
        return Err(ExportError::Stopped);
    }
    // A frame that has not arrived when the run ends never does.
    tap.flush_until(Time(finished.outcome.now.0.saturating_add(1)));
    tap.failed.map_err(ExportError::Write)?;
    tap.summary.result_hash = finished.manifest.result_hash;
    Ok((tap.capture.finish().map_err(ExportError::Write)?, tap.summary))
}

fn peer(s: &NetworkScenario, (node, port): PortId) -> PortId {
    let p = &s.topology.nodes[node.index()].ports[port as usize];
    (p.peer, p.peer_port)
}

/// A port that is captured.
#[derive(Clone, Copy)]
struct Interface {
    here: PortId,
    /// The port at the far end of its link.
    there: PortId,
}

/// Additional fields of the messages of a port and class.
#[derive(Clone, Copy, Default)]
struct Sender {
    /// Number of the next message.
    sequence: u32,
    /// Total that it has sent [blocks].
    blocks: u64,
}

/// A frame with its time, its place among those of the same time, its interface, whether it is
/// inbound, and its bytes.
type Stamped = Reverse<(Time, u64, usize, bool, Vec<u8>)>;

/// Takes frames as they are transmitted and writes them in the order of time.
struct Tap<W: Write> {
    interfaces: Vec<Interface>,
    classes: Classes,
    /// By interface, direction (sent here, sent there) and class.
    senders: Vec<[[Sender; 8]; 2]>,
    /// Frames under way: an inbound one is known before it arrives.
    waiting: BinaryHeap<Stamped>,
    /// Frames so far: the place of the next one.
    count: u64,
    capture: Capture<W>,
    from: Time,
    until: Time,
    failed: io::Result<()>,
    summary: Summary,
}

impl<W: Write> Tap<W> {
    fn new(s: &NetworkScenario, options: &Options, to: W) -> io::Result<Tap<W>> {
        let names: Vec<String> =
            options.ports.iter().map(|&(n, p)| s.topology.port_name(n, p)).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let about = CaptureOptions {
            comment: Some(options.comment.clone()),
            snap_length: options.snap_length,
            picoseconds: true,
            speeds: options.ports.iter().map(|&(n, p)| s.topology.link_at(n, p).rate.0).collect(),
            ..CaptureOptions::default()
        };
        Ok(Tap {
            interfaces: options
                .ports
                .iter()
                .map(|&here| Interface { here, there: peer(s, here) })
                .collect(),
            classes: Classes::new([]),
            senders: vec![[[Sender::default(); 8]; 2]; options.ports.len()],
            waiting: BinaryHeap::new(),
            count: 0,
            capture: Capture::new(to, &names, &about)?,
            from: options.from,
            until: options.until,
            failed: Ok(()),
            summary: Summary { frames: vec![(0, 0); options.ports.len()], ..Summary::default() },
        })
    }

    /// A frame is put on a wire, or is lost; false: the capture cannot be written.
    fn on_wire(&mut self, frame: &OnWire) -> bool {
        match *frame {
            OnWire::Sent { at, arrives, node, port, ref frame, ends } => {
                self.flush_until(at);
                for interface in 0..self.interfaces.len() {
                    let Interface { here, there } = self.interfaces[interface];
                    if here == (node, port) {
                        self.keep(interface, false, at, (at, (node, port)), frame, ends);
                    } else if there == (node, port) {
                        self.keep(interface, true, arrives, (at, (node, port)), frame, ends);
                    }
                }
            }
            OnWire::Lost { at, node, port } => {
                self.flush_until(at);
                self.lose(at, (node, port));
            }
        }
        self.failed.is_ok()
    }

    /// The frame of an interface that was to arrive now does not.
    fn lose(&mut self, at: Time, here: PortId) {
        let Some(interface) = self.interfaces.iter().position(|i| i.here == here) else { return };
        let mut waiting = std::mem::take(&mut self.waiting).into_vec();
        // The first of that time: frames of one wire arrive in their order.
        let lost = waiting
            .iter()
            .enumerate()
            .filter(|(_, Reverse(f))| (f.0, f.2, f.3) == (at, interface, true))
            .min_by_key(|(_, Reverse(f))| f.1);
        if let Some(index) = lost.map(|(index, _)| index) {
            waiting.swap_remove(index);
            self.summary.lost += 1;
        }
        self.waiting = waiting.into();
    }

    /// Makes the bytes of a frame, and keeps them until all earlier ones are written. `at` is the
    /// time of the frame on this interface.
    fn keep(
        &mut self,
        interface: usize,
        inbound: bool,
        at: Time,
        (sent, from): (Time, PortId),
        f: &Frame,
        ends: Option<(NodeId, NodeId)>,
    ) {
        let class = f.class().index() & 7;
        let sender = &mut self.senders[interface][inbound as usize][class];
        let mut terms = Terms::default();
        let own = mac(from.0, from.1);
        let macs = match (f.kind(), ends) {
            (FrameKind::Control, _) | (_, None) => {
                terms =
                    Terms { sequence: Some(sender.sequence), sent: Some(sender.blocks), ..terms };
                sender.sequence = sender.sequence.wrapping_add(1);
                (own, own)
            }
            // From and to the one port of a host, whichever switch it is between.
            (FrameKind::Data, Some((src, dst))) => (mac(dst, 0), mac(src, 0)),
            (_, Some((src, dst))) => (mac(src, 0), mac(dst, 0)),
        };
        if f.kind() != FrameKind::Control {
            sender.blocks = sender.blocks.wrapping_add(blocks(f.bytes()));
        }
        let mut bytes = vec![0; (f.len().max(FRAME_MIN as u32) + PADDING) as usize];
        let Some(len) = encode(f, &self.classes, macs, &terms, sent, &mut bytes) else {
            self.summary.without_bytes += 1;
            return;
        };
        if at < self.from || at > self.until {
            return;
        }
        bytes.truncate(len);
        self.summary.control += u64::from(f.kind() == FrameKind::Control);
        self.waiting.push(Reverse((at, self.count, interface, inbound, bytes)));
        self.count += 1;
    }

    /// Writes frames with an earlier time.
    fn flush_until(&mut self, bound: Time) {
        while self.failed.is_ok() && self.waiting.peek().is_some_and(|Reverse(f)| f.0 < bound) {
            let Some(Reverse((at, _, interface, inbound, bytes))) = self.waiting.pop() else {
                return;
            };
            let direction = if inbound { Direction::Inbound } else { Direction::Outbound };
            self.failed = self.capture.write(at.0, interface, direction, &bytes);
            let (outbound, arrived) = &mut self.summary.frames[interface];
            *(if inbound { arrived } else { outbound }) += 1;
        }
    }
}
