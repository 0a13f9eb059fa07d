//! The result of every reader: a graph, settings of its ports, installed routes, and flows.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::{Place, Problem, Problems};
use xoff_net::topology::builders::custom::{self, LinkSpec, NodeSpec};
use xoff_net::topology::routing::Tables;
use xoff_net::topology::{NodeKind, Topology};
use xoff_units::params::ParamError;
use xoff_units::{Bytes, Length, Rate, Span};

/// Distance between the ends of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    /// As a cable; a metre is 5 ns.
    Length(Length),
    /// As a propagation delay [ps].
    Delay(Span),
}

impl Wire {
    /// Propagation delay [ps].
    pub fn delay(self) -> Span {
        match self {
            Wire::Length(length) => length.propagation(),
            Wire::Delay(delay) => delay,
        }
    }
}

/// A host or a switch.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Unique name.
    pub name: String,
    /// Host or switch.
    pub kind: NodeKind,
    /// Level for up-down routing, where the file says it.
    pub level: Option<u8>,
    /// Place in the file.
    pub place: Place,
}

/// One end of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    /// Index of the node.
    pub node: usize,
    /// Name of the port, as the file has it.
    pub port: Option<String>,
}

/// A full-duplex link.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// First end.
    pub a: End,
    /// Second end.
    pub b: End,
    /// Rate of each direction [bit/s], where known.
    pub rate: Option<Rate>,
    /// Length or delay, where known.
    pub wire: Option<Wire>,
    /// Place in the file.
    pub place: Place,
}

/// Threshold at which a port pauses its peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Threshold {
    /// At a share of the free pool: 2 to this power.
    Dynamic(i8),
    /// At so many bytes of the shared part; 0: no limit.
    Static(Bytes),
}

/// Buffers of a lossless priority group.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Profile {
    /// Name.
    pub name: String,
    /// The pool that it draws on.
    pub pool: String,
    /// Reserved for the group [bytes]: with the headroom in it or without, as the chip takes it.
    pub size: Bytes,
    /// Room for bytes that arrive after the pause [bytes]. SONiC calls it `xoff`.
    pub headroom: Bytes,
    /// Occupancy at or below which the peer is resumed [bytes].
    pub xon: Bytes,
    /// Distance to the limit at which the peer is resumed [bytes].
    pub xon_offset: Option<Bytes>,
    /// Threshold for pausing the peer.
    pub threshold: Threshold,
}

impl Profile {
    /// True if [`Self::size`] contains the headroom, as on Spectrum. On other chips, and where
    /// headroom is shared, the size is the reserve alone.
    pub fn contains_headroom(&self) -> bool {
        self.size >= self.headroom
    }

    /// Reserve of the group besides headroom [bytes].
    pub fn reserve(&self) -> Bytes {
        if self.contains_headroom() { self.size - self.headroom } else { self.size }
    }
}

/// Settings of one port.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PortSettings {
    /// Priorities on which it pauses and obeys pauses.
    pub pfc: BTreeSet<u8>,
    /// Largest frame [bytes], where the files say it.
    pub mtu: Option<Bytes>,
    /// Buffers of its lossless priority groups.
    pub profiles: BTreeMap<u8, Profile>,
}

/// Profiles of every priority at a port; a priority without an entry has no profile there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Members {
    /// Profile of its group at the ingress.
    pub groups: BTreeMap<u8, Profile>,
    /// Profile of its queue at the egress.
    pub queues: BTreeMap<u8, Profile>,
}

/// Memory of a switch that lossless traffic shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pool {
    /// All of it [bytes].
    pub size: Bytes,
    /// Headroom that all groups share [bytes]; 0: each has its own.
    pub shared_headroom: Bytes,
}

/// Settings of ports and switches; absent values are not in the files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Buffering {
    /// By node and name of the port.
    pub ports: BTreeMap<(usize, String), PortSettings>,
    /// By node: the pool of its lossless groups.
    pub pools: BTreeMap<usize, Pool>,
    /// By node and name of the port: lossless and lossy groups and queues.
    pub members: BTreeMap<(usize, String), Members>,
    /// By node: all of its pools, by name.
    pub memory: BTreeMap<usize, BTreeMap<String, Pool>>,
}

/// Start of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// At this time of the run.
    At(Span),
}

/// A flow between hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Index of the source.
    pub src: usize,
    /// Index of the destination.
    pub dst: usize,
    /// Payload [bytes].
    pub size: Bytes,
    /// Start.
    pub start: Start,
}

/// Action of the switches on queues that are paused for too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Watchdog {
    /// A queue paused for this time is freed [ps].
    pub detect: Span,
    /// A peer that has let go for this time is obeyed again [ps].
    pub restore: Span,
    /// Time between two polls [ps].
    pub poll: Span,
    /// Action on the queue, in the words of a scenario.
    pub action: &'static str,
}

/// A network as read.
#[derive(Clone, Debug, Default)]
pub struct Network {
    /// Title in the file; may be empty.
    pub title: String,
    /// Hosts and switches.
    pub nodes: Vec<Node>,
    /// Links between the nodes.
    pub links: Vec<Link>,
    /// Settings of switches and ports.
    pub buffering: Buffering,
    /// The watchdog of its switches.
    pub watchdog: Option<Watchdog>,
    /// Links have credits, as those of InfiniBand.
    pub has_credits: bool,
    /// Routes as installed.
    pub tables: Option<Tables>,
    /// Flows that the files list.
    pub flows: Vec<Flow>,
    /// Known but ignored parts, one clause each.
    pub left_out: Vec<String>,
    /// Black holes and forwarding loops of the tables, each at its entry.
    pub findings: Problems,
    /// Contradictions that do not stop the import.
    pub warnings: Problems,
}

impl Network {
    /// Adds a node and returns its index; refuses a name that is no name, or that is taken.
    pub(crate) fn add_node(
        &mut self,
        names: &mut Names,
        name: &str,
        kind: NodeKind,
        place: Place,
    ) -> Result<usize, Problem> {
        names.add(name, self.nodes.len(), &place)?;
        self.nodes.push(Node { name: name.into(), kind, level: None, place });
        Ok(self.nodes.len() - 1)
    }

    /// Reports omissions once.
    pub(crate) fn leave_out(&mut self, what: impl Into<String>) {
        let what = what.into();
        if !self.left_out.contains(&what) {
            self.left_out.push(what);
        }
    }

    /// The graph, for a check: rates and delays decide nothing there, so that links without them
    /// are taken as they are.
    ///
    /// # Errors
    /// What the graph contradicts, where it stands.
    pub fn graph(&self) -> Result<Topology, Problem> {
        self.build(|link| {
            (link.rate.unwrap_or(Rate::from_gbps(1)), link.wire.map_or(Span::ZERO, Wire::delay))
        })
    }

    fn build(&self, wire: impl Fn(&Link) -> (Rate, Span)) -> Result<Topology, Problem> {
        let nodes: Vec<_> = self
            .nodes
            .iter()
            .map(|n| NodeSpec { name: n.name.clone(), kind: n.kind, level: n.level })
            .collect();
        let name = |end: &End| self.nodes[end.node].name.clone();
        let spec = |l: &Link| {
            let (rate, delay) = wire(l);
            LinkSpec { a: name(&l.a), b: name(&l.b), rate, delay }
        };
        let links: Vec<_> = self.links.iter().map(spec).collect();
        let mut topology = custom::graph(&nodes, &links).map_err(|e| self.problem(&e))?;
        for (i, link) in self.links.iter().enumerate() {
            topology.label(i as u32, link.a.port.as_deref(), link.b.port.as_deref());
        }
        Ok(topology)
    }

    /// A refusal of the graph, where its cause stands.
    fn problem(&self, e: &ParamError) -> Problem {
        let index = |list: &str| {
            e.key.strip_prefix(list)?.strip_prefix('[')?.split(']').next()?.parse::<usize>().ok()
        };
        let place = index("node").and_then(|i| self.nodes.get(i)).map(|n| n.place.clone());
        let place = place
            .or_else(|| index("link").and_then(|i| self.links.get(i)).map(|l| l.place.clone()));
        let problem = Problem::new(e.what.clone(), e.hint.clone());
        match place {
            Some(place) => problem.at(place),
            None => problem,
        }
    }
}

/// Names in use, each with its node.
#[derive(Default)]
pub(crate) struct Names {
    of: HashMap<String, (usize, Place)>,
}

impl Names {
    /// Takes a name.
    ///
    /// # Errors
    /// A name that is none, and one that another node has.
    pub fn add(&mut self, name: &str, node: usize, place: &Place) -> Result<(), Problem> {
        let shown = crate::suggest::clip(name);
        if !crate::suggest::is_name(name) || name.contains('"') {
            return Err(Problem::new(
                format!("'{shown}' is not a name"),
                "expected a name without spaces, such as leaf1",
            )
            .at(place.clone()));
        }
        if let Some((_, first)) = self.of.get(name) {
            return Err(Problem::new(
                format!("node '{shown}' is defined twice"),
                format!("the first is at {first}"),
            )
            .at(place.clone()));
        }
        self.of.insert(name.into(), (node, place.clone()));
        Ok(())
    }

    /// The node of a name.
    pub fn get(&self, name: &str) -> Option<usize> {
        self.of.get(name).map(|(node, _)| *node)
    }

    /// The node of a name that something at `place` refers to.
    ///
    /// # Errors
    /// A name that no node has; the hint has the nearest one.
    pub fn need(&self, name: &str, what: &str, place: &Place) -> Result<usize, Problem> {
        self.get(name).ok_or_else(|| {
            let near = crate::suggest::nearest(name, self.of.keys().map(String::as_str));
            let hint = near.map_or("list every node before a link names it".into(), |n| {
                format!("did you mean '{n}'?")
            });
            Problem::new(format!("{what}: there is no node '{}'", crate::suggest::clip(name)), hint)
                .at(place.clone())
        })
    }
}
