//! The congestion tree at a time: roots, leaves, flows that cause it, and flows that only suffer.
//!
//! ```text
//!   root: a congested port      <- leaf: an undetermined port whose frames wait for it  <- leaf  <- a paused host
//!   culprit: a flow through a root          victim: a flow through leaves only
//! ```
//!
//! After TCD (SIGCOMM'21), section 3.2 and Fig. 5. A run is deterministic, so it needs no log: it
//! is repeated up to the requested time. The states are those of its own detectors. Without such a
//! detector the tree shows which ports are paused and what they wait for, as the report does
//! ([`World::waiters`]).

use std::collections::BTreeMap;
use std::fmt;

use xoff_mech::detection::{Mark, PortState};
use xoff_net::topology::{NodeKind, PortNumbers};
use xoff_sim::{Ended, FlowRecord, PortNow, Waiter, World};
use xoff_units::params::ParamError;
use xoff_units::{Bytes, NodeId, Time};

use crate::network::NetworkScenario;

/// A directed port.
type PortId = (NodeId, u16);

/// Role of a port in the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Congested itself.
    Root,
    /// Flow control switches it off and on; the cause is further on.
    Leaf,
    /// A host that is paused now.
    Host,
    /// Paused or slowed down now, with frames that wait at its far end; no detector has a state for
    /// it.
    Paused,
    /// Free to send, and others wait for it; no detector has a state for it.
    Free,
}

/// A port of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branch {
    /// `S1->S2`.
    pub port: String,
    /// Priority, 0 to 7.
    pub priority: u8,
    /// Role of the port.
    pub role: Role,
    /// Queue of the port [bytes].
    pub queue: Bytes,
    /// True if its far end blocks a waiting frame at present.
    pub held: bool,
    /// The branches that its frames wait for at its far end, most first: place in
    /// [`Tree::branches`], bytes.
    pub waits_for: Vec<(usize, Bytes)>,
}

/// A flow and its role in the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Number of the flow.
    pub flow: u32,
    /// Source host.
    pub src: String,
    /// Destination host.
    pub dst: String,
    /// Frames of it that have arrived marked CE so far.
    pub ce_frames: u64,
    /// Frames of it that have arrived marked UE so far.
    pub ue_frames: u64,
}

/// The congestion trees of a network at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    /// The time.
    pub at: Time,
    /// The ports that are congested, undetermined or, at hosts, held.
    pub branches: Vec<Branch>,
    /// Flows under way through a root.
    pub culprits: Vec<Member>,
    /// Flows under way through leaves and no root.
    pub victims: Vec<Member>,
    /// Detection that has no states, so that only pauses are known; `None`: the detector
    /// distinguishes congested ports.
    pub stateless: Option<String>,
}

/// Finds the congestion trees at `at`.
///
/// # Errors
/// A time after the end of the run, and a network that cannot be built.
pub fn congestion_tree(
    scenario: &NetworkScenario,
    at: Time,
    mut look: impl FnMut(Time) -> bool,
) -> Result<Tree, ParamError> {
    if at > scenario.until {
        return Err(ParamError::new(
            "TIME",
            format!("{at} is after the end of the run at {}", scenario.until),
            "choose an earlier time",
        ));
    }
    scenario.keeps_flows()?;
    let mut model = scenario.model();
    model.probes = Default::default();
    model.fast_forward = false; // the state is read at a time of its own
    let mut world = World::build(&scenario.topology, scenario.flows.clone(), &model)?;
    world.drive(at, |w| look(w.now()));
    if !scenario.model.detection.any(|d| d.has_states()) {
        let waiters = world.waiters();
        let queue: Vec<u32> = world.sample_ports().iter().map(|p| p.egress_bytes).collect();
        world.finish(Ended::TimeUp);
        return Ok(pauses(scenario, at, &waiters, &queue));
    }
    let (ports, flows) = (world.congested_ports(), world.flows_now());
    world.finish(Ended::TimeUp);
    Ok(grow(scenario, at, &ports, &flows))
}

/// Role of a branch, whether it is held, and the branches that it waits for with the bytes.
type Waiting = (Role, bool, Vec<(usize, Bytes)>);

/// The paused ports, and the ports for which their frames wait; `queue`: bytes that wait to leave,
/// by number of the port.
fn pauses(s: &NetworkScenario, at: Time, waiters: &[Waiter], queue: &[u32]) -> Tree {
    let t = &s.topology;
    let ports = PortNumbers::new(t);
    // Paused ports first, then the free ones for which they wait.
    let mut places: Vec<(u32, u8)> = waiters.iter().map(|w| (w.port.0, w.priority)).collect();
    let mut place: BTreeMap<(u32, u8), usize> =
        places.iter().enumerate().map(|(i, &p)| (p, i)).collect();
    let mut branches = Vec::new();
    for w in waiters {
        let mut by_port = BTreeMap::<u32, u64>::new();
        w.behind.iter().for_each(|&(out, _, bytes)| *by_port.entry(out.0).or_default() += bytes);
        let mut waits_for = Vec::new();
        for (out, bytes) in by_port {
            let next = *place.entry((out, w.priority)).or_insert_with(|| {
                places.push((out, w.priority));
                places.len() - 1
            });
            waits_for.push((next, Bytes(bytes)));
        }
        waits_for.sort_by_key(|&(i, bytes)| (std::cmp::Reverse(bytes), i));
        branches.push((Role::Paused, w.since.is_some(), waits_for));
    }
    branches.resize(places.len(), (Role::Free, false, Vec::new()));
    let branch = |((role, held, waits_for), (number, priority)): (Waiting, (u32, u8))| {
        let (node, port) = ports.place(number).into();
        let role = if role == Role::Paused && t.nodes[node.index()].kind == NodeKind::Host {
            Role::Host
        } else {
            role
        };
        Branch {
            port: t.port_name(node, port),
            priority,
            role,
            queue: Bytes(queue[number as usize].into()),
            held,
            waits_for,
        }
    };
    let branches = branches.into_iter().zip(places).map(branch).collect();
    Tree {
        at,
        branches,
        culprits: Vec::new(),
        victims: Vec::new(),
        stateless: Some(s.detection.to_owned()),
    }
}

fn role(p: &PortNow) -> Role {
    match p.state {
        Some(PortState::Congestion) => Role::Root,
        Some(_) => Role::Leaf,
        None => Role::Host,
    }
}

fn grow(s: &NetworkScenario, at: Time, ports: &[PortNow], flows: &[FlowRecord]) -> Tree {
    let t = &s.topology;
    let routes = s.routing().routes(t);
    let paths: Vec<(u32, Vec<PortId>)> = flows
        .iter()
        .enumerate()
        .filter(|(_, f)| f.flow.start <= at && f.received.is_none())
        .filter_map(|(n, f)| Some((n as u32, s.ports(&routes, &f.flow)?)))
        .collect();
    let place: BTreeMap<(PortId, u8), usize> =
        ports.iter().enumerate().map(|(i, p)| (((p.node, p.port), p.priority), i)).collect();
    let branch = |p: &PortNow| {
        let here = (p.node, p.port);
        let mut waits_for: Vec<(usize, Bytes)> = p
            .behind
            .iter()
            .filter_map(|&(out, bytes)| Some((*place.get(&(out.into(), p.priority))?, bytes)))
            .collect();
        if waits_for.is_empty() {
            // Its far end has just let everything go: the next hops of its flows decide.
            let mut next: Vec<usize> = paths
                .iter()
                .filter(|(n, _)| flows[*n as usize].flow.priority == p.priority)
                .filter_map(|(_, path)| path.get(path.iter().position(|&h| h == here)? + 1))
                .filter_map(|&h| place.get(&(h, p.priority)).copied())
                .collect();
            next.sort_unstable();
            next.dedup();
            waits_for = next.into_iter().map(|i| (i, Bytes::ZERO)).collect();
        }
        waits_for.sort_by_key(|&(i, bytes)| (std::cmp::Reverse(bytes), i));
        Branch {
            port: t.port_name(p.node, p.port),
            priority: p.priority,
            role: role(p),
            queue: p.queue,
            held: p.held,
            waits_for,
        }
    };
    let mut tree = Tree {
        at,
        branches: ports.iter().map(branch).collect(),
        culprits: Vec::new(),
        victims: Vec::new(),
        stateless: None,
    };
    for (n, path) in &paths {
        let f = &flows[*n as usize];
        let met = |wanted: Role| {
            path.iter().any(|&h| {
                place.get(&(h, f.flow.priority)).is_some_and(|&i| role(&ports[i]) == wanted)
            })
        };
        let member = || Member {
            flow: *n,
            src: t.name(f.flow.src).to_owned(),
            dst: t.name(f.flow.dst).to_owned(),
            ce_frames: f.marked.of(Mark::Ce),
            ue_frames: f.marked.of(Mark::Ue),
        };
        if met(Role::Root) {
            tree.culprits.push(member());
        } else if met(Role::Leaf) {
            tree.victims.push(member());
        }
    }
    tree
}

impl Tree {
    /// The branches that wait for nothing in the tree: its roots, and leaves whose root is gone or
    /// still undetermined.
    pub fn bases(&self) -> Vec<usize> {
        (0..self.branches.len()).filter(|&i| self.parent(i).is_none()).collect()
    }

    /// The branch that most of a branch's frames wait for. A root waits for none.
    pub fn parent(&self, i: usize) -> Option<usize> {
        let b = &self.branches[i];
        if b.role == Role::Root { None } else { b.waits_for.iter().map(|w| w.0).find(|&p| p != i) }
    }

    /// The branches whose parent this is.
    pub fn children(&self, i: usize) -> Vec<usize> {
        (0..self.branches.len()).filter(|&c| self.parent(c) == Some(i)).collect()
    }

    /// Ports that wait for each other, each for the next and the last for the first: one list for
    /// each cycle.
    pub fn cycles(&self) -> Vec<Vec<usize>> {
        let mut cycles: Vec<Vec<usize>> = Vec::new();
        let mut known = vec![false; self.branches.len()];
        for start in 0..self.branches.len() {
            let mut way = Vec::new();
            let mut next = Some(start);
            while let Some(i) = next.filter(|&i| !known[i]) {
                known[i] = true;
                way.push(i);
                next = self.parent(i);
            }
            if let Some(at) = next.and_then(|i| way.iter().position(|&w| w == i)) {
                cycles.push(way.split_off(at));
            }
        }
        cycles
    }

    /// State of a branch in words.
    pub fn state(&self, i: usize) -> String {
        let b = &self.branches[i];
        let behind = match b.waits_for.iter().map(|w| w.1.0).sum::<u64>() {
            0 => String::new(),
            bytes => format!(", {} wait at its far end", Bytes(bytes)),
        };
        let now = if b.held { ", paused now" } else { "" };
        match b.role {
            Role::Root => format!("congested, {} queued{now}", b.queue),
            Role::Leaf => format!("undetermined, {} queued{now}", b.queue),
            Role::Host if self.stateless.is_none() => "paused host".into(),
            Role::Host | Role::Paused if b.held => format!("paused{behind}"),
            Role::Host | Role::Paused => format!("slowed down{behind}"),
            Role::Free => format!("free to send, {} queued", b.queue),
        }
    }

    fn write(
        &self,
        f: &mut fmt::Formatter<'_>,
        i: usize,
        indent: &str,
        seen: &mut Vec<usize>,
    ) -> fmt::Result {
        let b = &self.branches[i];
        writeln!(f, "{} (priority {}): {}", b.port, b.priority, self.state(i))?;
        seen.push(i);
        let children: Vec<usize> =
            self.children(i).into_iter().filter(|c| !seen.contains(c)).collect();
        for (k, &c) in children.iter().enumerate() {
            if seen.contains(&c) {
                continue;
            }
            let (here, below) =
                if k + 1 == children.len() { ("└─ ", "   ") } else { ("├─ ", "│  ") };
            write!(f, "{indent}{here}")?;
            self.write(f, c, &format!("{indent}{below}"), seen)?;
        }
        Ok(())
    }
}

/// Number of flows that are named; the rest is counted.
const NAMED: usize = 8;

fn members(f: &mut fmt::Formatter<'_>, title: &str, members: &[Member]) -> fmt::Result {
    writeln!(f, "{title}: {}", members.len())?;
    for m in members.iter().take(NAMED) {
        writeln!(
            f,
            "  flow {} {} to {}: {} frames marked CE, {} UE so far",
            m.flow, m.src, m.dst, m.ce_frames, m.ue_frames
        )?;
    }
    if members.len() > NAMED {
        writeln!(f, "  and {} more", members.len() - NAMED)?;
    }
    Ok(())
}

impl fmt::Display for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let states = if self.stateless.is_some() {
            "paused or slowed down"
        } else {
            "congested, undetermined or paused"
        };
        if self.branches.is_empty() {
            return writeln!(f, "At {} no port is {states}.", self.at);
        }
        writeln!(f, "At {}, below each port the ports that wait for it:\n", self.at)?;
        let mut seen = Vec::new();
        for base in self.bases() {
            self.write(f, base, "", &mut seen)?;
        }
        // Ports that wait for each other have no base.
        for cycle in self.cycles() {
            let name = |&i: &usize| self.branches[i].port.as_str();
            let names: Vec<&str> = cycle.iter().chain(cycle.first()).map(name).collect();
            writeln!(f, "Cycle: {}", names.join(" waits for "))?;
            self.write(f, cycle[0], "", &mut seen)?;
        }
        if let Some(detection) = &self.stateless {
            return writeln!(
                f,
                "\nPauses only: detection \"{detection}\" does not tell congested from undetermined ports; detection.kind = \"tcd\" does."
            );
        }
        writeln!(f)?;
        members(f, "Culprits (flows through a congested port)", &self.culprits)?;
        members(f, "Victims (flows through undetermined ports only)", &self.victims)?;
        let mismarked = self.victims.iter().filter(|m| m.ce_frames > 0).count();
        if mismarked > 0 {
            writeln!(
                f,
                "{mismarked} of the victims have frames marked CE: a port was congested before, or marked them wrongly"
            )?;
        }
        Ok(())
    }
}
