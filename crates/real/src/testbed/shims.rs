//! Hosts with an ordinary IP stack: a stack knows nothing of flow control, a shim in front of it
//! does.
//!
//! ```text
//!   before   H1 ------------------- S1
//!   after    H1 ---- H1.shim ------ S1        H1.shim is a switch like any other: it queues, paces and obeys S1;
//!            stack   a node here              H1 is an ordinary stack, and no node of the world any more
//! ```
//!
//! A host of several ports has one stack and one shim, whose ports into the network are the host's.
//! A flow of the stack takes one of those that lead to its destination, by hash.
//!
//! The stack gets no message: the shim reads from it only as long as it holds little from it
//! ([`RunnerConfig::plain_backlog`](crate::switchd::RunnerConfig::plain_backlog)), and unread data
//! waits in the stack.

use std::net::Ipv4Addr;

use xoff_net::topology::{Link, NodeKind, Port};
use xoff_run::NetworkScenario;
use xoff_units::params::ParamError;
use xoff_units::{NodeId, Rate};

/// Most hosts that the addresses 10.88.0.1 to 10.88.0.254 are enough for.
const ADDRESSES: usize = 254;

/// A shim and the host that it stands before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shim {
    /// The host.
    pub host: NodeId,
    /// The host's name.
    pub name: String,
    /// The shim.
    pub node: NodeId,
    /// Port of the shim that leads to the stack; those before it lead into the network.
    pub stack: u16,
    /// Address of the host in a testbed: 10.88.0.1 for the scenario's first host, and so on.
    pub address: Ipv4Addr,
}

/// Puts a shim before each of these hosts, and leaves out the flows that begin or end at them;
/// returns the shims and the number of those flows. Numbers of nodes, ports and links stay as they
/// were; new ones come last.
pub fn insert(s: &mut NetworkScenario, hosts: &[String]) -> Result<(Vec<Shim>, usize), ParamError> {
    let bad = |what: String, hint: String| Err(ParamError::new("--ip", what, hint));
    let all: Vec<NodeId> = s.topology.hosts().collect();
    let names = all.iter().map(|&h| s.topology.name(h)).collect::<Vec<_>>().join(", ");
    if !hosts.is_empty() && s.link_retry().is_some() {
        return bad(
            "the link to an IP stack numbers no frames, so it cannot resend them".into(),
            "remove [link_retry]".into(),
        );
    }
    for name in hosts {
        let Some(at) = all.iter().position(|&h| s.topology.name(h) == name) else {
            return bad(format!("there is no host {name}"), format!("hosts are {names}"));
        };
        if of(s).any(|s| s.name == *name) {
            return bad(format!("host {name} is named twice"), String::new());
        }
        if at >= ADDRESSES {
            return bad(
                format!("host {name} is number {}", at + 1),
                format!("only the first {ADDRESSES} hosts have addresses"),
            );
        }
        if s.topology.nodes[all[at].index()].ports.is_empty() {
            return bad(format!("host {name} has no link"), String::new());
        }
        if !s.flows.loops.is_empty() {
            return bad(
                "the testbed does not support closed loops, which choose their own hosts".into(),
                "use single flows".into(),
            );
        }
        shim(s, all[at]);
    }
    s.routing().fits(&s.topology)?;
    let shims: Vec<Shim> = of(s).collect();
    let stack = |h: NodeId| shims.iter().any(|s| s.host == h);
    let left_out = s.leave_out(|f| stack(f.src) || stack(f.dst));
    Ok((shims, left_out))
}

/// The shims of a scenario, in the order in which they were put in.
pub fn of(s: &NetworkScenario) -> impl Iterator<Item = Shim> + '_ {
    s.boundary.links_without_flow_control.iter().map(|&link| {
        let Link { a: node, a_port: stack, b: host, .. } = s.topology.links[link as usize];
        let at = s.topology.hosts().position(|h| h == host).unwrap_or_default();
        let address = Ipv4Addr::new(10, 88, 0, at as u8 + 1);
        Shim { host, name: s.topology.name(host).to_owned(), node, stack, address }
    })
}

/// The port of a shim that leads to its stack?
pub fn is_plain(s: &NetworkScenario, node: NodeId, port: u16) -> bool {
    of(s).any(|shim| (shim.node, shim.stack) == (node, port))
}

/// Nodes of the world: all but the hosts behind a shim.
pub fn here(s: &NetworkScenario) -> Vec<bool> {
    let stack = |n: NodeId| {
        s.boundary.links_without_flow_control.iter().any(|&l| s.topology.links[l as usize].b == n)
    };
    s.topology.node_ids().map(|n| !stack(n)).collect()
}

/// Puts a shim between a host and its switches.
fn shim(s: &mut NetworkScenario, host: NodeId) {
    let t = &mut s.topology;
    let ports = std::mem::take(&mut t.nodes[host.index()].ports);
    let links = || ports.iter().map(|p| &t.links[p.link as usize]);
    // The stack is as fast as all of the host's links together.
    let rate = Rate(links().map(|l| l.rate.0).sum());
    let delay = links().map(|l| l.delay).min().unwrap_or_default();
    let rack = t.nodes[host.index()].rack;
    // Up-down routing distinguishes up from down by levels: there has to be one between the host
    // and whatever it was linked to.
    let level = t.nodes[host.index()].level + 1;
    if ports.iter().any(|p| t.nodes[p.peer.index()].level <= level) {
        t.nodes
            .iter_mut()
            .filter(|n| n.kind == NodeKind::Switch && n.level >= level)
            .for_each(|n| n.level += 1);
    }
    let node = t.add_node(format!("{}.shim", t.name(host)), NodeKind::Switch, level, rack);
    t.nodes[node.index()].transit = false;
    // The links to the switches are the shim's now ...
    for (&Port { peer, peer_port, link }, own) in ports.iter().zip(0..) {
        let far = &mut t.nodes[peer.index()].ports[peer_port as usize];
        (far.peer, far.peer_port) = (node, own);
        let l = &mut t.links[link as usize];
        match l.a == host {
            true => (l.a, l.a_port) = (node, own),
            false => (l.b, l.b_port) = (node, own),
        }
    }
    t.nodes[node.index()].ports = ports;
    // ... and the host has a new one.
    let links_without_flow_control = t.add_link(node, host, rate, delay);
    s.boundary.links_without_flow_control.push(links_without_flow_control);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use xoff_net::topology::Topology;
    use xoff_units::Span;

    fn ring() -> NetworkScenario {
        let text = "[run]\nduration = \"1ms\"\n[topology]\nkind = \"ring\"\n[[flow]]\nsrc = \"H1\"\ndst = \"H2\"\n[[flow]]\nsrc = \"H2\"\ndst = \"H3\"\n";
        NetworkScenario::from_text("ring", text, &[], Path::new(""))
            .unwrap_or_else(|e| panic!("{}", e.render(false)))
    }

    fn links_end_where_their_ports_have_them(t: &Topology) {
        for (i, l) in t.links.iter().enumerate() {
            for (node, port, peer, peer_port) in
                [(l.a, l.a_port, l.b, l.b_port), (l.b, l.b_port, l.a, l.a_port)]
            {
                assert_eq!(
                    t.nodes[node.index()].ports[port as usize],
                    Port { peer, peer_port, link: i as u32 }
                );
            }
        }
    }

    /// Two ToRs, two spines, four hosts with a port at each ToR. Without H0's link to T1 its frames
    /// from T1 go over a spine, and never through the shim of another host, which is as near.
    #[test]
    fn a_shim_has_all_ports_of_its_host_and_is_on_the_way_to_nobody_else() {
        let mut s = ring();
        let mut t = Topology::default();
        let (tors, spines) = (["T0", "T1"], ["S0", "S1"]);
        let hosts: Vec<NodeId> =
            (0..4).map(|h| t.add_node(format!("H{h}"), NodeKind::Host, 0, 0)).collect();
        let tors = tors.map(|n| t.add_node(n, NodeKind::Switch, 1, 0));
        let spines = spines.map(|n| t.add_node(n, NodeKind::Switch, 2, 0));
        let delay = Span::from_us(1);
        for &h in &hosts {
            for tor in tors {
                t.add_link(h, tor, Rate::from_gbps(10), delay);
            }
        }
        for tor in tors {
            for spine in spines {
                t.add_link(tor, spine, Rate::from_gbps(10), delay);
            }
        }
        t.links[1].up = false;
        s.topology = t;
        s.flows.flows = Default::default();
        let (shims, _) = insert(&mut s, &["H0".into(), "H1".into(), "H2".into()]).unwrap();
        let t = &s.topology;
        links_end_where_their_ports_have_them(t);
        assert_eq!(t.link_at(shims[1].node, shims[1].stack).rate, Rate::from_gbps(20));
        let routes = s.routing().routes(t);
        let next = |node: NodeId, dst: NodeId| -> Vec<&str> {
            let ports = routes.candidates(node, dst).iter();
            ports.map(|&p| t.name(t.nodes[node.index()].ports[p as usize].peer)).collect()
        };
        assert_eq!(next(shims[1].node, hosts[2]), ["T0", "T1"]);
        assert_eq!(next(tors[1], hosts[1]), ["H1.shim"]);
        assert_eq!(next(tors[1], hosts[0]), ["S0", "S1"]);
        assert_eq!(next(tors[0], hosts[0]), ["H0.shim"]);
        assert_eq!(next(shims[1].node, hosts[0]), ["T0"]);
    }

    #[test]
    fn a_shim_takes_the_place_of_its_host() {
        let (mut s, before) = (ring(), ring());
        let (shims, left_out) = insert(&mut s, &["H1".into(), "H3".into()]).unwrap();
        assert_eq!((left_out, s.flows.flows.len()), (2, 0));
        assert_eq!(s.boundary.priorities.len(), 2);
        let (t, old) = (&s.topology, &before.topology);
        let h1 = t.find("H1").unwrap();
        let switch = old.nodes[h1.index()].ports[0];
        assert_eq!(shims[0].address, Ipv4Addr::new(10, 88, 0, 1));
        assert_eq!(
            t.nodes[switch.peer.index()].ports[switch.peer_port as usize].peer,
            shims[0].node
        );
        assert_eq!(t.port_name(shims[0].node, shims[0].stack), "H1.shim->H1");
        assert_eq!(
            t.nodes[h1.index()].ports,
            [Port { peer: shims[0].node, peer_port: 1, link: old.links.len() as u32 }]
        );
        links_end_where_their_ports_have_them(t);
        let routes = s.routing().routes(t);
        assert!(t.node_ids().filter(|&n| n != h1).all(|n| routes.candidates(n, h1).len() == 1));
    }

    #[test]
    fn hosts_that_cannot_have_one_are_named() {
        let refused = |hosts: &[&str]| {
            insert(&mut ring(), &hosts.iter().map(|h| h.to_string()).collect::<Vec<_>>())
                .unwrap_err()
        };
        assert!(refused(&["H9"]).hint.contains("H1, H2, H3"));
        assert!(refused(&["S1"]).what.contains("no host S1"));
        assert!(refused(&["H1", "H1"]).what.contains("twice"));
    }
}
