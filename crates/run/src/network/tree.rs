//! The congestion tree at a time: which ports are its roots, which its leaves, who causes it and who only suffers.
//!
//! ```text
//!   root: a congested port      <- leaf: an undetermined port whose frames wait for it  <- leaf  <- a host that is held
//!   culprit: a flow through a root          victim: a flow through leaves only
//! ```
//!
//! After TCD (SIGCOMM'21), section 3.2 and Fig. 5. A run is deterministic, so it needs no log: it is run again up to the
//! time asked for. The states are those of its own detectors.

use std::collections::BTreeMap;
use std::fmt;

use xoff_mech::detection::{Detection, Mark, PortState};
use xoff_params::ParamError;
use xoff_sim::{Ended, FlowRecord, PortNow, World};
use xoff_units::{Bytes, Time};

use crate::network::NetworkScenario;

/// A directed port.
type PortId = (u32, u16);

/// Role of a port in the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Congested itself.
    Root,
    /// Flow control switches it off and on; the cause lies further on.
    Leaf,
    /// A host that is held now.
    Host,
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
    /// The branches that its frames wait for at its far end, most first: place in [`Tree::branches`], bytes.
    pub waits_for: Vec<(usize, Bytes)>,
}

/// A flow and what it has to do with the tree.
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
}

/// Finds the congestion trees at `at`.
///
/// # Errors
/// A detection without states of ports, a time after the end of the run, and a network that cannot be built.
pub fn congestion_tree(scenario: &NetworkScenario, at: Time, mut look: impl FnMut(Time) -> bool) -> Result<Tree, ParamError> {
    if at > scenario.until {
        return Err(ParamError::new("TIME", format!("{at} lies after the end of the run, {}", scenario.until), "choose an earlier time"));
    }
    if !scenario.model.detection.has_states() {
        let what = format!("detection '{}' does not distinguish congested from undetermined ports", scenario.detection);
        let hint = format!("{} and run again", crate::network::conditions::detections(Detection::has_states));
        return Err(ParamError::new("detection", what, hint));
    }
    scenario.keeps_flows()?;
    let mut model = scenario.model();
    model.probes = Default::default();
    model.fast_forward = false; // the state is read at a time of its own
    let mut world = World::build(&scenario.topology, scenario.flows.clone(), &mut model)?;
    world.drive(at, |w| look(w.now()));
    let (ports, flows) = (world.congested_ports(), world.flows_now());
    world.finish(Ended::TimeUp);
    Ok(grow(scenario, at, &ports, &flows))
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
        .filter_map(|(n, f)| Some((n as u32, s.path(&routes, &f.flow)?)))
        .collect();
    let place: BTreeMap<(PortId, u8), usize> = ports.iter().enumerate().map(|(i, p)| (((p.node, p.port), p.priority), i)).collect();
    let branch = |p: &PortNow| {
        let here = (p.node, p.port);
        let mut waits_for: Vec<(usize, Bytes)> =
            p.behind.iter().filter_map(|&(out, bytes)| Some((*place.get(&(out, p.priority))?, bytes))).collect();
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
        Branch { port: t.port_name(p.node, p.port), priority: p.priority, role: role(p), queue: p.queue, held: p.held, waits_for }
    };
    let mut tree = Tree { at, branches: ports.iter().map(branch).collect(), culprits: Vec::new(), victims: Vec::new() };
    for (n, path) in &paths {
        let f = &flows[*n as usize];
        let met = |wanted: Role| path.iter().any(|&h| place.get(&(h, f.flow.priority)).is_some_and(|&i| role(&ports[i]) == wanted));
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
    /// The branches that wait for nothing in the tree: its roots, and leaves whose root is gone or still undetermined.
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

    fn write(&self, f: &mut fmt::Formatter<'_>, i: usize, indent: &str, seen: &mut Vec<usize>) -> fmt::Result {
        let b = &self.branches[i];
        let what = match b.role {
            Role::Root => "congested",
            Role::Leaf => "undetermined",
            Role::Host => "held host",
        };
        let held = if b.held && b.role != Role::Host { ", held now" } else { "" };
        let queue = if b.role == Role::Host { String::new() } else { format!(", {} wait", b.queue) };
        writeln!(f, "{} (priority {}): {what}{queue}{held}", b.port, b.priority)?;
        seen.push(i);
        let children: Vec<usize> = self.children(i).into_iter().filter(|c| !seen.contains(c)).collect();
        for (k, &c) in children.iter().enumerate() {
            let (here, below) = if k + 1 == children.len() { ("└─ ", "   ") } else { ("├─ ", "│  ") };
            write!(f, "{indent}{here}")?;
            self.write(f, c, &format!("{indent}{below}"), seen)?;
        }
        Ok(())
    }
}

/// So many flows are named; the rest is counted.
const NAMED: usize = 8;

fn members(f: &mut fmt::Formatter<'_>, title: &str, members: &[Member]) -> fmt::Result {
    writeln!(f, "{title}: {}", members.len())?;
    for m in members.iter().take(NAMED) {
        writeln!(f, "  flow {} {} to {}: {} frames marked CE, {} UE so far", m.flow, m.src, m.dst, m.ce_frames, m.ue_frames)?;
    }
    if members.len() > NAMED {
        writeln!(f, "  and {} more", members.len() - NAMED)?;
    }
    Ok(())
}

impl fmt::Display for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.branches.is_empty() {
            return writeln!(f, "At {} no port is congested, undetermined or held.", self.at);
        }
        writeln!(f, "At {}, each port above those whose frames wait for it:", self.at)?;
        let mut seen = Vec::new();
        for base in self.bases() {
            self.write(f, base, "", &mut seen)?;
        }
        // Ports that wait for each other in a circle have no base.
        for i in 0..self.branches.len() {
            if !seen.contains(&i) {
                write!(f, "(in a circle) ")?;
                self.write(f, i, "", &mut seen)?;
            }
        }
        members(f, "Culprits (flows through a congested port)", &self.culprits)?;
        members(f, "Victims (flows through undetermined ports only)", &self.victims)?;
        let mismarked = self.victims.iter().filter(|m| m.ce_frames > 0).count();
        if mismarked > 0 {
            writeln!(f, "{mismarked} of the victims have frames marked CE: by a port that was congested before, or wrongly")?;
        }
        Ok(())
    }
}
