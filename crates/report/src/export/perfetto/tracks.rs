//! The tracks of a trace: nodes, below them their ports, below these the records of a port. A track
//! is described before its first event.
//!
//! ```text
//!   S2                       a node: Perfetto's process
//!     S2->S3                 a port, as an egress: queue, paused, rate, state, marks
//!     from S1->S2            the same link as an ingress: buffer, messages sent to S1
//!     flows                  a host's flows, side by side where they overlap
//! ```

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::io::{self, Write};

use super::encode::{Packets, Track, TrackKind, Unit};

/// Contents of a track of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Leaf {
    /// Bytes of a priority that wait to leave.
    Queue(u8),
    /// Stretches in which a priority may not leave; messages that arrive about it.
    Paused(u8),
    /// State of detection.
    State(u8),
    /// Marked frames.
    Marks(u8),
    /// CNMs of a buffer to sources.
    Cnms(u8),
    /// A rate [bit/s]: its source, and its priority, if it belongs to one.
    Rate(&'static str, Option<u8>),
    /// A rate of a flow [bit/s].
    FlowRate(&'static str, u64),
    /// At the far end: bytes of a priority that came in and have not left.
    Ingress(u8),
    /// At the far end: messages sent back.
    Sent(u8),
}

impl Leaf {
    fn is_at_far_end(self) -> bool {
        matches!(self, Leaf::Ingress(_) | Leaf::Sent(_))
    }

    fn kind(self) -> TrackKind {
        match self {
            Leaf::Queue(_) | Leaf::Ingress(_) => TrackKind::Counter(Unit::Bytes),
            Leaf::Rate(..) | Leaf::FlowRate(..) => TrackKind::Counter(Unit::Named("bit/s")),
            Leaf::Paused(_) | Leaf::State(_) | Leaf::Marks(_) | Leaf::Cnms(_) | Leaf::Sent(_) => {
                TrackKind::Slices
            }
        }
    }

    fn name(self) -> String {
        match self {
            Leaf::Queue(p) => format!("queue p{p}"),
            Leaf::Paused(p) => format!("paused p{p}"),
            Leaf::State(p) => format!("state p{p}"),
            Leaf::Marks(p) => format!("marks p{p}"),
            Leaf::Cnms(p) => format!("CNMs p{p}"),
            Leaf::Rate(which, Some(p)) => format!("rate p{p}, {which}"),
            Leaf::Rate(which, None) => format!("rate, {which}"),
            Leaf::FlowRate(which, flow) => format!("rate of flow {flow}, {which}"),
            Leaf::Ingress(p) => format!("buffer p{p}"),
            Leaf::Sent(p) => format!("messages sent p{p}"),
        }
    }

    /// Position below its port: priorities together, single flows last.
    fn rank(self) -> u64 {
        let at = |p: u8, what: u64| u64::from(p) * 16 + what;
        match self {
            Leaf::Queue(p) | Leaf::Ingress(p) => at(p, 0),
            Leaf::Paused(p) | Leaf::Sent(p) => at(p, 1),
            Leaf::State(p) => at(p, 2),
            Leaf::Marks(p) => at(p, 3),
            Leaf::Cnms(p) => at(p, 4),
            Leaf::Rate(_, p) => at(p.unwrap_or(8), 5),
            Leaf::FlowRate(_, flow) => 256 + flow,
        }
    }
}

/// A port, by its place among those met.
pub type PortId = u32;

struct Port {
    name: String,
    /// Group numbers, once described: as an egress, and at the far end.
    groups: [u64; 2],
}

/// The tracks of a group: until when each is taken [ns], and its number.
type Rows = BinaryHeap<Reverse<(u64, u64)>>;

/// All tracks described so far.
#[derive(Default)]
pub struct Tracks {
    last: u64,
    nodes: HashMap<String, u64>,
    numbers: HashMap<String, PortId>,
    ports: Vec<Port>,
    leaves: HashMap<(PortId, Leaf), u64>,
    named: HashMap<(u64, String), u64>,
    /// Per node and group: where its slices go, and until when each track is taken [ns].
    rows: HashMap<(String, String), (u64, Rows)>,
}

impl Tracks {
    /// Number of tracks.
    pub fn len(&self) -> u64 {
        self.last
    }

    /// The number of a port by its name, `A->B`.
    pub fn port(&mut self, name: &str) -> PortId {
        if let Some(&id) = self.numbers.get(name) {
            return id;
        }
        let id = self.ports.len() as PortId;
        self.numbers.insert(name.to_owned(), id);
        self.ports.push(Port { name: name.to_owned(), groups: [0; 2] });
        id
    }

    fn describe<W: Write>(
        &mut self,
        out: &mut Packets<W>,
        parent: u64,
        rank: u64,
        name: &str,
        kind: TrackKind,
    ) -> io::Result<u64> {
        self.last += 1;
        out.track(&Track { uuid: self.last, parent, rank, name, kind })?;
        Ok(self.last)
    }

    /// The track of a node, or of an item that is shown like one.
    pub fn node<W: Write>(&mut self, out: &mut Packets<W>, name: &str) -> io::Result<u64> {
        if let Some(&uuid) = self.nodes.get(name) {
            return Ok(uuid);
        }
        // Not 0, which is that of the idle process.
        let pid = self.nodes.len() as u32 + 1;
        let uuid = self.describe(out, 0, pid.into(), name, TrackKind::Process(pid))?;
        self.nodes.insert(name.to_owned(), uuid);
        Ok(uuid)
    }

    /// A track of a name below a node.
    pub fn below<W: Write>(
        &mut self,
        out: &mut Packets<W>,
        node: &str,
        name: &str,
        kind: TrackKind,
    ) -> io::Result<u64> {
        let node = self.node(out, node)?;
        if let Some(&uuid) = self.named.get(&(node, name.to_owned())) {
            return Ok(uuid);
        }
        let uuid = self.describe(out, node, u64::MAX >> 33, name, kind)?;
        self.named.insert((node, name.to_owned()), uuid);
        Ok(uuid)
    }

    /// The track of a port that shows this.
    pub fn leaf<W: Write>(
        &mut self,
        out: &mut Packets<W>,
        port: PortId,
        leaf: Leaf,
    ) -> io::Result<u64> {
        if let Some(&uuid) = self.leaves.get(&(port, leaf)) {
            return Ok(uuid);
        }
        let group = self.group(out, port, leaf.is_at_far_end())?;
        let uuid = self.describe(out, group, leaf.rank(), &leaf.name(), leaf.kind())?;
        self.leaves.insert((port, leaf), uuid);
        Ok(uuid)
    }

    fn group<W: Write>(
        &mut self,
        out: &mut Packets<W>,
        port: PortId,
        far: bool,
    ) -> io::Result<u64> {
        let Port { name, groups } = &self.ports[port as usize];
        if groups[far as usize] != 0 {
            return Ok(groups[far as usize]);
        }
        let name = name.clone();
        let (near_end, far_end) = ends(&name);
        let (node, shown) =
            if far { (far_end, format!("from {name}")) } else { (near_end, name.clone()) };
        // Both directions of a link stand together, where the names show which these are.
        let forth = self.numbers.get(&format!("{far_end}->{near_end}")).filter(|_| far).copied();
        let rank = u64::from(forth.unwrap_or(port)) * 2 + u64::from(far);
        let parent = self.node(out, node)?;
        let uuid = self.describe(out, parent, rank, &shown, TrackKind::Group)?;
        self.ports[port as usize].groups[far as usize] = uuid;
        Ok(uuid)
    }

    /// A track in a group of `node` for what lasts from `start` to `end` [ns], on which nothing
    /// else is under way: slices of one track never cross.
    pub fn row<W: Write>(
        &mut self,
        out: &mut Packets<W>,
        node: &str,
        group: &str,
        start: u64,
        end: u64,
    ) -> io::Result<u64> {
        let key = (node.to_owned(), group.to_owned());
        let below = match self.rows.get(&key) {
            Some((below, _)) => *below,
            None => {
                let parent = self.node(out, node)?;
                let below = self.describe(out, parent, u64::MAX >> 34, group, TrackKind::Group)?;
                self.rows.insert(key.clone(), (below, Rows::new()));
                below
            }
        };
        let rows = &mut self.rows.get_mut(&key).expect("it is there").1;
        // The one that is free first: if it is taken, all are.
        let uuid = match rows.peek() {
            Some(&Reverse((taken, track))) if taken <= start => {
                rows.pop();
                track
            }
            _ => {
                let rank = rows.len() as u64;
                self.describe(
                    out,
                    below,
                    rank,
                    &format!("{group}, row {}", rank + 1),
                    TrackKind::Slices,
                )?
            }
        };
        self.rows.get_mut(&key).expect("it is there").1.push(Reverse((end, uuid)));
        Ok(uuid)
    }
}

/// The two nodes of a port's name, `A->B` or `A->B#3`.
pub fn ends(port: &str) -> (&str, &str) {
    let (from, to) = port.split_once("->").unwrap_or((port, port));
    (from, to.split_once('#').map_or(to, |(to, _)| to))
}
