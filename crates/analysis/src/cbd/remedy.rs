//! Changes that would remove the cycles, each proved on the network itself.
//!
//! ```text
//!   up-down          routes that never turn up again after going down       no cycle under them, and no pair loses its route
//!   forbid-links     links of the cycle out of use                          no cycle without them, and all hosts connected
//!   second-class     a higher priority from a turn on, as in Tagger         the dependencies but for the turns have no cycle; classes
//!                                                                           only rise, so no cycle leads through several
//! ```
//!
//! A turn leads down to a switch and up from it (a bounce): in an order of the switches by level,
//! then number, every cycle has one at its lowest switch. Turns that are not needed to break all
//! cycles are left out one by one. A route needs one class more than the turns that it makes.

use std::collections::{HashMap, HashSet};

use schemars::JsonSchema;
use serde::Serialize;
use xoff_net::topology::failures::{fail_links, is_connected_hosts, link_name};
use xoff_net::topology::routing::up_down_ranks;
use xoff_net::topology::{LinkId, NodeKind, Topology};
use xoff_units::NodeId;

use super::buffers::{Buffer, behind, filled_by, switch_of};
use super::cycle::{self, Graph};
use super::failures::still_valid;
use super::forwarding::Forwarding;
use super::{FailureStudy, Report, Rule, Spread, Traffic, Verdict, check, is_cyclic};

/// Dependencies of a network up to which links are taken out one by one.
const TRIED_MAX: usize = 500_000;
/// Turns up to which each is tried for being needed.
const PRUNED_MAX: usize = 256;
/// Sets of failures that are examined.
const SETS_MAX: usize = 200;

/// A proved change.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Remedy {
    /// `up-down`, `forbid-links` or `second-class`.
    pub kind: &'static str,
    /// The change to make.
    pub change: String,
    /// The property that was proved.
    pub proof: String,
    /// forbid-links: their names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<String>,
    /// second-class: where the priority changes, from one link to the next; empty: at every bounce.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub turns: Vec<[String; 2]>,
    /// Lossless classes that are needed.
    pub classes: u32,
}

impl Remedy {
    fn of(kind: &'static str, change: String, proof: String) -> Remedy {
        Remedy { kind, change, proof, links: Vec::new(), turns: Vec::new(), classes: 1 }
    }

    /// A higher class after each of these turns. A route makes at most `most` of them.
    pub(super) fn second_class(turns: Vec<[String; 2]>, most: u32) -> Remedy {
        let shown: Vec<String> = turns.iter().take(3).map(|[a, b]| format!("{a} to {b}")).collect();
        let more = if turns.len() > 3 {
            format!(", ... ({} turns, all in --json)", turns.len())
        } else {
            String::new()
        };
        let change = format!(
            "Use {} for traffic that turns from {}{more}.",
            priorities(most),
            shown.join(", or from ")
        );
        let proof =
            format!("No route makes more than {most} of these turns, and no priority has a cycle.");
        Remedy { turns, classes: most + 1, ..Remedy::of("second-class", change, proof) }
    }
}

/// Lossless priorities for routes with at most `most` turns, in words.
fn priorities(most: u32) -> String {
    if most == 1 {
        "a second lossless priority".into()
    } else {
        format!("{} lossless priorities, the next one", most + 1)
    }
}

/// Remedies for a cycle that is there, the one that changes least first.
pub fn remedies(t: &Topology, rule: &Rule, traffic: Traffic<'_>, report: &Report) -> Vec<Remedy> {
    let mut found = Vec::new();
    found.extend(up_down(t, traffic, report.unrouted));
    if report.dependencies <= TRIED_MAX {
        found.extend(forbidden(t, rule, traffic));
    }
    if let Some((turns, most)) = bounces(t, rule, traffic) {
        found.push(Remedy::second_class(
            turns.iter().map(|&(a, b)| [directed(t, a), directed(t, b)]).collect(),
            most,
        ));
    }
    found
}

/// Remedies for networks that have a cycle only after failures.
pub fn remedies_after(
    t: &Topology,
    rule: &Rule,
    traffic: Traffic<'_>,
    study: &FailureStudy,
) -> Vec<Remedy> {
    let (mut found, mut routed, mut most, mut examined) = (Vec::new(), true, Some(0), 0);
    let intact = up_down(t, traffic, 0).is_some();
    for set in study.cyclic.iter().take(SETS_MAX) {
        let mut failed = t.clone();
        if fail_links(&mut failed, &set.links).is_err() {
            return found;
        }
        let kept = still_valid(&failed, traffic);
        let traffic = match (&kept, traffic) {
            (Some(flows), Traffic::Flows { paths, .. }) => Traffic::Flows { flows, paths },
            _ => traffic,
        };
        routed &=
            intact && up_down(&failed, traffic, check(&failed, rule, traffic).unrouted).is_some();
        most = match (most, bounces(&failed, rule, traffic)) {
            (Some(most), Some((_, own))) => Some(own.max(most)),
            _ => None,
        };
        examined += 1;
    }
    let of =
        format!("the {examined} sets of failures that create a cycle and contain no smaller one");
    if routed {
        let proof = format!("No cycle after any failure; no pair loses its route in {of}.");
        found.push(Remedy::of(
            "up-down",
            "Route up-down: never up again after going down (--routing up-down).".into(),
            proof,
        ));
    }
    if let Some(most) = most.filter(|m| *m > 0) {
        let change = format!(
            "Use {} for traffic that turns from a down link to an up link.",
            priorities(most)
        );
        let proof = format!(
            "No route makes more than {most} such turn{} in {of}.",
            if most == 1 { "" } else { "s" }
        );
        found.push(Remedy { classes: most + 1, ..Remedy::of("second-class", change, proof) });
    }
    found
}

/// Up-down routing, where it costs no pair its route.
pub(super) fn up_down(t: &Topology, traffic: Traffic<'_>, unrouted: u64) -> Option<Remedy> {
    let rule = Rule::named("up-down", 1).ok()?;
    let report = check(t, &rule, traffic);
    (report.verdict == Verdict::CycleFree && report.unrouted <= unrouted).then(|| {
        let change = "Route up-down: never up again after going down (--routing up-down; OpenSM: -R updn).";
        let proof = "No cycle under these routes, and every pair keeps a route; after a failure no route turns up again either.".to_owned();
        Remedy::of("up-down", change.into(), proof)
    })
}

/// One or two links of a shortest cycle without which there is none, and all hosts stay connected.
fn forbidden(t: &Topology, rule: &Rule, traffic: Traffic<'_>) -> Option<Remedy> {
    let graph = Forwarding::new(t, rule, traffic).dependencies().graph();
    let mut links: Vec<LinkId> =
        cycle::shortest(&graph, &cycle::components(&graph))?.iter().map(|b| b / 2).collect();
    links.sort_unstable();
    links.dedup();
    let mut sets: Vec<Vec<LinkId>> = links.iter().map(|&l| vec![l]).collect();
    let pairs = links
        .iter()
        .enumerate()
        .flat_map(|(i, &a)| links[i + 1..].iter().map(move |&b| vec![a, b]));
    sets.extend(pairs.take(64));
    let mut less = t.clone();
    for set in sets {
        set.iter().for_each(|&l| less.links[l as usize].up = false);
        let kept = still_valid(&less, traffic);
        let traffic = match (&kept, traffic) {
            (Some(flows), Traffic::Flows { paths, .. }) => Traffic::Flows { flows, paths },
            _ => traffic,
        };
        if is_connected_hosts(&less) && !is_cyclic(&less, rule, traffic) {
            let links: Vec<String> = set.iter().map(|&l| link_name(t, l)).collect();
            let change =
                format!("Remove {} from the routes of lossless traffic.", links.join(" and "));
            let proof = format!(
                "No cycle without {}, and every host reaches every other.",
                if links.len() == 1 { "this link" } else { "these links" }
            );
            return Some(Remedy { links, ..Remedy::of("forbid-links", change, proof) });
        }
        set.iter().for_each(|&l| less.links[l as usize].up = true);
    }
    None
}

/// The name of the link that fills a buffer.
fn directed(t: &Topology, buffer: Buffer) -> String {
    let (node, port) = filled_by(t, buffer);
    t.port_name(node, port)
}

type Turn = (Buffer, Buffer);

/// Turns that are enough to break every cycle of these dependencies.
pub(super) fn turns(t: &Topology, graph: &Graph) -> Option<HashSet<Turn>> {
    let ranks = up_down_ranks(t);
    let rank = |node: NodeId| ranks[node.index()];
    let of = |v: Buffer| {
        graph.next[graph.first[v as usize] as usize..graph.first[v as usize + 1] as usize]
            .iter()
            .map(move |&w| (v, w))
    };
    let edges = || (0..graph.first.len() as u32 - 1).flat_map(of);
    let is_bounce = |&(a, b): &Turn| {
        let (from, at, to) = (filled_by(t, a).0, switch_of(t, a), switch_of(t, b));
        rank(at) < rank(from) && rank(to) > rank(at)
    };
    let mut cut: HashSet<Turn> = edges().filter(is_bounce).collect();
    let without = |cut: &HashSet<Turn>| {
        let mut rest = Graph { first: vec![0], next: Vec::new() };
        for v in 0..graph.first.len() as u32 - 1 {
            rest.next.extend(of(v).filter(|e| !cut.contains(e)).map(|e| e.1));
            rest.first.push(rest.next.len() as u32);
        }
        rest
    };
    if cut.len() <= PRUNED_MAX {
        let mut list: Vec<Turn> = cut.iter().copied().collect();
        list.sort_unstable();
        for turn in list {
            cut.remove(&turn);
            if cycle::has_cycle(&without(&cut)) {
                cut.insert(turn);
            }
        }
    }
    (!cycle::has_cycle(&without(&cut))).then_some(cut)
}

/// The turns, ascending, and the most of them that a route makes.
fn bounces(t: &Topology, rule: &Rule, traffic: Traffic<'_>) -> Option<(Vec<Turn>, u32)> {
    let f = Forwarding::new(t, rule, traffic);
    let graph = f.dependencies().graph();
    let cut = turns(t, &graph)?;
    let mut most = 0;
    match traffic {
        Traffic::Flows { flows, paths } => {
            for flow in flows {
                let hops = match f.hops(flow, paths) {
                    Some(hops) => hops,
                    None if f.spread == Spread::All => {
                        most = most.max(from(
                            &f,
                            flow.key.src,
                            flow.key.dst,
                            &cut,
                            &mut HashMap::new(),
                        ));
                        continue;
                    }
                    None => continue,
                };
                let buffers: Vec<Buffer> =
                    hops.iter().map(|&(node, port)| behind(t, node, port)).collect();
                most = most
                    .max(buffers.windows(2).filter(|w| cut.contains(&(w[0], w[1]))).count() as u32);
            }
        }
        // A route of each pair: too many to walk in a large network.
        Traffic::AllPairs if f.is_hashed() => {
            if t.hosts().count() > 1_000 {
                return None;
            }
            let Spread::Chosen(choice) = &f.spread else { return None };
            for (src, dst) in
                t.hosts().flat_map(|a| t.hosts().map(move |b| (a, b))).filter(|(a, b)| a != b)
            {
                let hops = xoff_net::topology::trace_path(
                    t,
                    &f.routes,
                    choice,
                    &Forwarding::key(src, dst),
                )
                .unwrap_or_default();
                let buffers: Vec<Buffer> =
                    hops.iter().map(|&(node, port)| behind(t, node, port)).collect();
                most = most
                    .max(buffers.windows(2).filter(|w| cut.contains(&(w[0], w[1]))).count() as u32);
            }
        }
        Traffic::AllPairs => {
            for dst in f.destinations() {
                let mut known = HashMap::new();
                most = f
                    .sources(dst)
                    .map(|src| from(&f, src, dst, &cut, &mut known))
                    .fold(most, u32::max);
            }
        }
    }
    let mut list: Vec<Turn> = cut.into_iter().collect();
    list.sort_unstable();
    Some((list, most))
}

/// The most turns on a way from a host.
fn from(
    f: &Forwarding<'_>,
    src: NodeId,
    dst: NodeId,
    cut: &HashSet<Turn>,
    known: &mut HashMap<Buffer, u32>,
) -> u32 {
    f.ports(src, dst)
        .iter()
        .map(|&p| onward(f, behind(f.t, src, p), dst, cut, known))
        .max()
        .unwrap_or(0)
}

/// Largest number of turns on a path that starts at a buffer.
fn onward(
    f: &Forwarding<'_>,
    at: Buffer,
    dst: NodeId,
    cut: &HashSet<Turn>,
    known: &mut HashMap<Buffer, u32>,
) -> u32 {
    if let Some(&n) = known.get(&at) {
        return n;
    }
    let node = switch_of(f.t, at);
    let mut most = 0;
    if f.t.nodes[node.index()].kind == NodeKind::Switch {
        for &port in f.ports(node, dst) {
            let next = behind(f.t, node, port);
            most =
                most.max(u32::from(cut.contains(&(at, next))) + onward(f, next, dst, cut, known));
        }
    }
    known.insert(at, most);
    most
}
