//! Nodes of a world with real frames at their ports, without sockets or clock: bytes come in at a
//! time, bytes go out at a time.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use crate::wire::{Malformed, ethernet, link_retry};
use xoff_mech::flow_control::Message;
use xoff_mech::watchdog::Action;
use xoff_net::topology::routing::{FlowKey, native_hash};
use xoff_node::{Frame, FrameKind};
use xoff_sim::{Ended, NO_PORT, UNKNOWN_SOURCE, World};
use xoff_units::{Class, FlowId, NodeId, PortId, Span, Time};

use crate::switchd::classify::classify;
use crate::switchd::codec::{Decoded, Refused, decode, encode, mac, rewrite_mark};
use crate::switchd::formats::{Terms, blocks};
use crate::switchd::forwarding::{Forward, Forwarding};
use crate::switchd::sequence::Sequence;

mod departures;
mod links;
mod storms;

pub(in crate::switchd) use departures::addresses;
pub use links::Outage;

/// Frame check sequence [bytes]: counts on a link, and is never seen.
const FCS: usize = 4;
/// Distance of two frames that came at once: the resolution of a capture.
const TICK: Span = Span::from_ns(1);

/// A node's port and its state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Number of the node.
    pub node: NodeId,
    /// Number of the port at its node, from 0.
    pub port: u16,
    /// Name in messages and captures.
    pub name: String,
    /// The neighbour is an ordinary host without our flow control: none is sent to it or accepted
    /// from it.
    pub plain: bool,
}

impl Link {
    /// Name of the neighbour; with parallel links it has the port's number: `S2#3`.
    pub fn peer(&self) -> &str {
        self.name.split_once("->").map_or("", |(_, peer)| peer)
    }

    /// Port of the node.
    pub fn at(&self) -> PortId {
        PortId { node: self.node, port: self.port }
    }
}

/// Settings of a machine besides its world.
pub struct MachineConfig {
    /// The ports that lead outside, all ports of all nodes that the world builds.
    pub links: Vec<Link>,
    /// The messages that the flow control knows; others are refused at the port.
    pub accepts: Box<dyn Fn(&Message) -> bool + Send>,
    /// Counted length of a control frame on a link [bytes].
    pub control_len: u32,
    /// Tables of addresses, by node.
    pub forwarding: Vec<Forwarding>,
    /// Time after which messages of a state are repeated, so that a loss heals; zero: never [ps].
    pub repeat: Span,
    /// Messages that a port sends at its start, to a neighbour that may have state of an earlier
    /// run.
    pub opening: Vec<Message>,
    /// Frames that a link keeps for another transmission; `None`: links resend nothing.
    pub frames_kept: Option<u32>,
    /// Action of the nodes' watchdog on a queue in a storm; `None`: there is no watchdog.
    pub watchdog: Option<Action>,
}

/// Counters of a port in addition to those of the world.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Frames in.
    pub received: u64,
    /// Frames given to the port to be sent; which of them the kernel took the port reports.
    pub departed: u64,
    /// Bytes in, without FCS.
    pub received_bytes: u64,
    /// Control frames in.
    pub control_received: u64,
    /// Control frames out, repetitions included.
    pub control_sent: u64,
    /// Frames refused: malformed.
    pub malformed: u64,
    /// Control frames refused: not configured here, or for a priority that is not in use.
    pub unexpected: u64,
    /// Control frames refused: older than one that came before them.
    pub stale: u64,
    /// Control frames whose values cannot be true: the sender half took the safe side.
    pub impossible: u64,
    /// Frames refused: no node could be given them.
    pub strange: u64,
    /// Frames that the table has no port for.
    pub no_route: u64,
    /// Storms that the watchdog found.
    pub storms: u64,
    /// Frames that it threw away.
    pub thrown_away: u64,
    /// Number of link failures.
    pub downs: u64,
    /// Data frames dropped because the port was down.
    pub port_down: u64,
}

/// State of a port.
struct At {
    link: Link,
    counters: Counters,
    class_states: Vec<ClassState>,
    /// Times without a link; the last one has no end while the link is down.
    outages: Vec<Outage>,
    down: bool,
    /// Bytes of numbered frames that came from outside, which the link may send again.
    numbered: VecDeque<(u32, Vec<u8>)>,
}

/// State of a class at a port.
#[derive(Clone, Default)]
struct ClassState {
    /// Number of the next control message.
    sequence: u32,
    /// Data frames that have left, and how much they count for [blocks].
    left: u64,
    left_blocks: u64,
    /// The last message that represents a state, and when it was sent.
    last_sent: Option<(Frame, Time)>,
    inbound: Sequence,
}

/// A frame of another sender, without an egress port.
fn unknown(bytes: &[u8], class: Class, flow: FlowId) -> Frame {
    let mut frame = Frame::new(FrameKind::Data, flow, class, (bytes.len() + FCS) as u32);
    frame.out_port = NO_PORT;
    frame
}

/// Nodes with real frames.
pub struct Machine {
    c: MachineConfig,
    at: Vec<At>,
    /// Index in `at` by node, then port.
    by_place: Vec<Vec<usize>>,
    /// Bytes of frames that came from outside, by handle.
    kept: Vec<Vec<u8>>,
    /// Buffers that can be used again.
    spare: Vec<Vec<u8>>,
    departures: BinaryHeap<Reverse<departures::Departure>>,
    departed: u64,
    /// Arrival of the last frame: the next one arrives later.
    last: Time,
    /// Time up to and at which the nodes have acted.
    reached: Time,
    /// The storms that the watchdog has found.
    storms: Vec<storms::Stated>,
    /// Expiry of the next message with a limited validity; never: there is none.
    expires_at: Time,
    /// The ports have sent their first messages.
    opened: bool,
    /// The world has ended its run.
    ended: Option<Ended>,
    /// Log of the machine.
    log: Vec<String>,
}

impl Machine {
    /// Nothing has come in yet.
    pub fn new(c: MachineConfig, world: &World) -> Machine {
        let classes = world.classes().len();
        let mut by_place: Vec<Vec<usize>> = Vec::new();
        for (i, l) in c.links.iter().enumerate() {
            let (node, port) = (l.node.index(), l.port as usize);
            by_place.resize_with(by_place.len().max(node + 1), Vec::new);
            let ports = &mut by_place[node];
            ports.resize(ports.len().max(port + 1), usize::MAX);
            ports[port] = i;
        }
        let at = |l: &Link| At {
            link: l.clone(),
            counters: Counters::default(),
            class_states: vec![ClassState::default(); classes],
            outages: Vec::new(),
            down: false,
            numbered: VecDeque::new(),
        };
        Machine {
            at: c.links.iter().map(at).collect(),
            c,
            by_place,
            kept: Vec::new(),
            spare: Vec::new(),
            departures: BinaryHeap::new(),
            departed: 0,
            last: Time::ZERO,
            reached: Time::ZERO,
            storms: Vec::new(),
            expires_at: Time::NEVER,
            opened: false,
            ended: None,
            log: Vec::new(),
        }
    }

    /// A frame came in by a link at `now`. Returns the time under which it was taken: that, or just
    /// after the previous one.
    pub fn receive(&mut self, world: &mut World, now: Time, link: usize, bytes: &[u8]) -> Time {
        // No two frames at the same time, by the finest step that a capture can resolve: so their
        // order is that of their times.
        let mut now = now.max(self.last + TICK);
        // What the nodes have done already they did before it.
        if now <= self.reached {
            now = Time((self.reached.0 / TICK.0 + 1) * TICK.0);
        }
        self.last = now;
        self.run(world, Time(now.0 - 1));
        let a = &mut self.at[link];
        a.counters.received += 1;
        a.counters.received_bytes += bytes.len() as u64;
        let plain = a.link.plain;
        let (number, bytes) = match self.numbered(bytes) {
            Ok(Some((r, _))) if r.kind > 0 => {
                self.at[link].counters.control_received += 1;
                let at = self.at[link].link.at();
                world.over_link(now, at, Frame::link_signal(r.kind, r.number));
                return now;
            }
            Ok(Some((r, inner))) => (Some(r.number), inner),
            Ok(None) => (None, bytes),
            Err(_) => {
                self.at[link].counters.malformed += 1;
                return now;
            }
        };
        let accepts = |m: &Message| !plain && (self.c.accepts)(m);
        let mut in_it = [None; 8];
        let mut n = 0;
        let seen = decode(bytes, world.classes(), self.c.control_len, accepts, |d| {
            in_it[n] = Some(d);
            n += 1;
        });
        // Its check sequence comes before its content.
        let mut frame = match in_it[0] {
            Some(Decoded::Control(f, _) | Decoded::Ours(f)) => f,
            _ => unknown(bytes, Class(0), FlowId(UNKNOWN_SOURCE.0)),
        };
        if let Some(number) = number {
            frame.set_number(number);
        }
        if !world.over_link(now, self.at[link].link.at(), frame) {
            return now;
        }
        let a = &mut self.at[link];
        match seen {
            Ok(()) => {}
            Err(Refused::Malformed) => a.counters.malformed += 1,
            Err(Refused::Priority | Refused::Unexpected) => a.counters.unexpected += 1,
        }
        for (nth, d) in in_it.into_iter().flatten().enumerate() {
            // The values of one frame for several priorities take effect one after the other.
            self.last = now + TICK * nth as u64;
            match d {
                Decoded::Control(f, terms) => self.obey(world, self.last, link, f, &terms),
                Decoded::Ours(f) => self.take_in(world, self.last, link, f),
                Decoded::UnknownSource => self.forward(world, now, link, bytes),
            }
        }
        now
    }

    /// A frame of link retry, and the frame that follows; `None`: the frame is another one, or links
    /// resend nothing.
    fn numbered<'b>(
        &self,
        bytes: &'b [u8],
    ) -> Result<Option<(link_retry::Repr, &'b [u8])>, Malformed> {
        match self.c.frames_kept {
            Some(_) => link_retry::parse_frame(bytes),
            None => Ok(None),
        }
    }

    /// A frame came in by a link after the end: it is discarded.
    pub fn count(&mut self, link: usize, bytes: usize) {
        let c = &mut self.at[link].counters;
        c.received += 1;
        c.received_bytes += bytes as u64;
    }

    fn take_in(&mut self, world: &mut World, now: Time, link: usize, f: Frame) {
        let a = &mut self.at[link];
        if world.enter(now, a.link.at(), f).is_err() {
            a.counters.strange += 1;
        }
    }

    /// A control message came in: obeyed unless a newer one came before it.
    fn obey(&mut self, world: &mut World, now: Time, link: usize, f: Frame, terms: &Terms) {
        let a = &mut self.at[link];
        let at = a.link.at().class(f.class());
        a.counters.control_received += 1;
        let inbound = &mut a.class_states[at.class.index()].inbound;
        if !inbound.accepts(now, f.message(), terms) {
            a.counters.stale += 1;
            return;
        }
        self.expires_at = self.expires_at.min(inbound.expires().unwrap_or(Time::NEVER));
        a.counters.impossible += u64::from(!world.is_possible(at.port_id(), &f));
        // All that came before it has been counted: only frames that were lost are missing.
        if let Some(sent) = terms.sent {
            world.on_peer_total(at, sent);
        }
        self.take_in(world, now, link, f);
    }

    /// Takes back messages to a port for a time that is over.
    fn expire(&mut self, world: &mut World, now: Time) {
        let mut next = Time::NEVER;
        for link in 0..self.at.len() {
            for class in 0..self.at[link].class_states.len() {
                let inbound = &mut self.at[link].class_states[class].inbound;
                let back = inbound.expired(now);
                next = next.min(inbound.expires().unwrap_or(Time::NEVER));
                if let Some(message) = back {
                    self.take_in(
                        world,
                        now,
                        link,
                        Frame::control(message, Class(class as u8), self.c.control_len),
                    );
                }
            }
        }
        self.expires_at = next;
    }

    fn forward(&mut self, world: &mut World, now: Time, link: usize, bytes: &[u8]) {
        let (node, port) = (self.at[link].link.node, self.at[link].link.port);
        let Ok(header) = ethernet::Repr::parse(bytes) else {
            self.at[link].counters.malformed += 1;
            return;
        };
        let (class, flow) = classify(bytes, world.classes());
        let mut frame = unknown(bytes, class, FlowId(flow.0));
        let forward = match self.c.forwarding.get_mut(node.index()) {
            Some(table) => {
                let key = FlowKey { src: NodeId(flow.0), dst: NodeId(0), src_port: 0, dst_port: 0 };
                let hash = native_hash(0, &key, node);
                table.forward(now, port, header.source, header.destination, hash)
            }
            None => Forward::Nowhere,
        };
        let ports = match forward {
            Forward::Port(out) => out..out + 1,
            Forward::Everywhere => 0..self.by_place[node.index()].len() as u16,
            Forward::Nowhere => {
                self.at[link].counters.no_route += 1;
                0..0
            }
        };
        let mut at = now;
        for out in ports.filter(|&p| p != port) {
            frame.out_port = out;
            // Each copy is a frame of its own: it came a little later, and counts against the
            // ingress.
            match world.enter(at, PortId { node, port }, frame) {
                Ok(id) => self.keep(id as usize, bytes),
                Err(_) => self.at[link].counters.strange += 1,
            }
            self.last = at;
            at += TICK;
        }
    }

    fn keep(&mut self, id: usize, bytes: &[u8]) {
        debug_assert!(id < 1 << 24, "handles are dense");
        if self.kept.len() <= id {
            self.kept.resize_with(id + 1, Vec::new);
        }
        let place = &mut self.kept[id];
        place.clear();
        place.extend_from_slice(bytes);
    }

    /// Lets the nodes act up to and at `now`. `Some`: the run is over.
    ///
    /// Repetitions happen at times of their own, whenever this is called: what a machine does must
    /// depend on what came in and when, and on nothing else.
    pub fn run(&mut self, world: &mut World, now: Time) -> Option<Ended> {
        if !std::mem::replace(&mut self.opened, true) {
            self.open(world);
        }
        while self.ended.is_none() {
            let stop = now.min(self.repeat_at()).min(self.expires_at);
            self.ended = loop {
                match world.run(stop, u64::MAX) {
                    None => {}
                    Some(Ended::TimeUp | Ended::Quiet) => break None,
                    other => break other,
                }
            };
            for l in world.leaving() {
                let link = self.by_place[l.node.index()][l.port as usize];
                self.leave(world, link, l.at, &l.frame, l.id as usize);
            }
            if stop == self.expires_at {
                self.expire(world, stop);
            }
            self.note_storms(world);
            self.repeat_stops(world, stop);
            if stop == now {
                break;
            }
        }
        self.reached = self.reached.max(now);
        self.ended
    }

    /// Next time at which the machine acts without an arriving frame.
    pub fn next(&self, world: &mut World) -> Option<Time> {
        let departure = self.departures.peek().map(|Reverse(d)| d.at);
        [world.next_event(), departure].into_iter().flatten().min()
    }

    /// Arrival of the last frame.
    pub fn received_last(&self) -> Time {
        self.last
    }

    /// The node and port of a link whose neighbour knows no flow control; `None`: it does.
    pub fn plain(&self, link: usize) -> Option<(NodeId, u16)> {
        let l = &self.at[link].link;
        l.plain.then_some((l.node, l.port))
    }

    /// Name of a port.
    pub fn name(&self, link: usize) -> &str {
        &self.at[link].link.name
    }

    /// The ports, their counters, and their outages.
    pub fn links(&self) -> impl Iterator<Item = (&Link, &Counters, &[Outage])> {
        self.at.iter().map(|a| (&a.link, &a.counters, &a.outages[..]))
    }

    /// Log entries of the watchdog and the ports since the last call.
    pub fn take_log(&mut self) -> Vec<String> {
        std::mem::take(&mut self.log)
    }
}
