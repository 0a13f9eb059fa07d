//! One node of a scenario on interfaces that it is given.
//!
//! ```text
//!   --node S1 --port H1=eth1 --port S2=eth2 ...    every port of the node gets an interface, and no other is touched
//!   --node H1 --port eth1                          the host's NIC with its flows; T0=eth1 where it has several ports
//!   --node H1 --port eth1 --tap t0                 a shim instead, and this machine's stack behind it
//! ```

use std::fmt;
use std::io;
use std::net::IpAddr;

use crate::netio::interface::Interface;
use crate::netio::{OpenError, PacketOptions, PacketPort, Port, sandbox};
use crate::switchd::Link;
use crate::wire::ethernet::Mac;
use xoff_mech::watchdog::Action;
use xoff_net::topology::NodeKind;
use xoff_run::NetworkScenario;
use xoff_units::params::ParamError;
use xoff_units::{NodeId, Span};

use crate::testbed::hosts;
use crate::testbed::shims;
use crate::testbed::stack::{StackPort, tc};
use crate::testbed::veth_network::NetworkError;
use crate::testbed::wiring;

/// Reason for a node without ports.
#[derive(Debug)]
pub enum NodeError {
    /// The request does not fit the scenario.
    Asked(ParamError),
    /// An interface cannot be used.
    Open(OpenError),
    /// An interface does not fit the scenario or the others: the problem, and the command that
    /// helps.
    Interface(String, String),
    /// The tap or its address.
    Tap(NetworkError),
}

impl fmt::Display for NodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NodeError::Asked(e) => write!(f, "{}: {}", e.key, e.what),
            NodeError::Open(e) => fmt::Display::fmt(e, f),
            NodeError::Interface(what, _) => f.write_str(what),
            NodeError::Tap(e) => fmt::Display::fmt(e, f),
        }
    }
}
impl std::error::Error for NodeError {}

impl NodeError {
    /// Remedy; empty: the message suffices.
    pub fn hint(&self) -> &str {
        match self {
            NodeError::Asked(e) => &e.hint,
            NodeError::Interface(_, hint) => hint,
            NodeError::Open(OpenError::Offloads { source: None, .. }) => {
                "or use --fix-offloads, which needs cap_net_admin"
            }
            NodeError::Open(_) => "",
            NodeError::Tap(e) => e.remedy(),
        }
    }
}

fn bad<T>(key: &str, what: impl Into<String>, hint: impl Into<String>) -> Result<T, ParamError> {
    Err(ParamError::new(key, what.into(), hint.into()))
}

/// A port of the node and the interface that it gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    /// The port.
    pub link: Link,
    /// The interface.
    pub interface: String,
}

/// The node of this name and kind.
pub fn find(s: &NetworkScenario, name: &str, kind: NodeKind) -> Result<NodeId, ParamError> {
    let t = &s.topology;
    let all: Vec<NodeId> = t.node_ids().filter(|&n| t.nodes[n.index()].kind == kind).collect();
    match all.iter().find(|&&n| t.name(n) == name) {
        Some(&n) => Ok(n),
        None => {
            let what = if kind == NodeKind::Host { "host" } else { "switch" };
            let names = all.iter().map(|&n| t.name(n)).collect::<Vec<_>>().join(", ");
            bad(
                "--node",
                format!("the scenario has no {what} {name}"),
                format!("expected one of {names}"),
            )
        }
    }
}

/// Assigns interfaces to all ports of a node; each of `given` is `PEER=INTERFACE`, or `INTERFACE`
/// at a host with one port.
pub fn assign(
    s: &NetworkScenario,
    node: NodeId,
    given: &[String],
) -> Result<Vec<Given>, ParamError> {
    let t = &s.topology;
    let ports = 0..t.nodes[node.index()].ports.len() as u16;
    let link = |port| Link { node, port, name: t.port_name(node, port), plain: false };
    let mut all: Vec<(Link, Option<String>)> = ports.map(|p| (link(p), None)).collect();
    let peer = |l: &Link| l.peer().to_owned();
    let peers = all.iter().map(|(l, _)| peer(l)).collect::<Vec<_>>().join(", ");
    let lone =
        (all.len() == 1 && t.nodes[node.index()].kind == NodeKind::Host).then(|| peer(&all[0].0));
    for text in given {
        let named = match (text.split_once('='), &lone) {
            (None, Some(only)) => Some((only.as_str(), text.as_str())),
            (named, _) => named,
        };
        let Some((name, interface)) = named.filter(|(a, b)| !a.is_empty() && !b.is_empty()) else {
            return bad(
                "--port",
                format!("'{text}' is not PEER=INTERFACE"),
                format!("neighbours of {} are {peers}", t.name(node)),
            );
        };
        if all.iter().any(|(_, i)| i.as_deref() == Some(interface)) {
            return bad(
                "--port",
                format!("interface {interface} is listed twice"),
                "each port needs its own interface",
            );
        }
        match all.iter_mut().find(|(l, _)| peer(l) == name) {
            None => {
                return bad(
                    "--port",
                    format!("{} has no port to {name}", t.name(node)),
                    format!("its neighbours are {peers}"),
                );
            }
            Some((_, Some(_))) => {
                return bad("--port", format!("the port to {name} is listed twice"), "");
            }
            Some((_, place)) => *place = Some(interface.to_owned()),
        }
    }
    let missing: Vec<String> =
        all.iter().filter(|(_, i)| i.is_none()).map(|(l, _)| peer(l)).collect();
    if !missing.is_empty() {
        let hint =
            missing.iter().map(|p| format!("--port {p}=INTERFACE")).collect::<Vec<_>>().join(" ");
        return bad(
            "--port",
            format!("the interface of {} is missing", missing.join(", ")),
            format!("add {hint}"),
        );
    }
    Ok(all
        .into_iter()
        .filter_map(|(link, interface)| interface.map(|interface| Given { link, interface }))
        .collect())
}

/// Only this node is here.
pub fn only(s: &NetworkScenario, node: NodeId) -> Vec<bool> {
    s.topology.node_ids().map(|n| n == node).collect()
}

/// Opens the interfaces, in order; an interface that cannot carry the scenario's frames, or that
/// carries longer ones than another, is refused.
pub fn open(
    s: &NetworkScenario,
    given: &[Given],
    fix_offloads: bool,
) -> Result<Vec<Box<dyn Port>>, NodeError> {
    let needed = wiring::mtu(s);
    let options = PacketOptions { fix_offloads, ..PacketOptions::default() };
    let mut first: Option<Interface> = None;
    let mut ports: Vec<Box<dyn Port>> = Vec::new();
    for g in given {
        let found = Interface::look(&g.interface).map_err(NodeError::Open)?;
        if found.mtu < needed {
            let what = format!(
                "interface {} has an MTU of {}, but the frames of the scenario need {needed}",
                found.name, found.mtu
            );
            return Err(NodeError::Interface(
                what,
                format!("ip link set dev {} mtu {needed}", found.name),
            ));
        }
        if let Some(first) = first.as_ref().filter(|f| f.mtu != found.mtu) {
            let what = format!(
                "interfaces {} and {} differ in their MTU, {} and {}: one cannot forward all frames of the other",
                first.name, found.name, first.mtu, found.mtu
            );
            return Err(NodeError::Interface(
                what,
                format!("ip link set dev {} mtu {}", found.name, first.mtu),
            ));
        }
        first.get_or_insert(found);
        ports.push(Box::new(PacketPort::open(&g.interface, &options).map_err(NodeError::Open)?));
    }
    Ok(ports)
}

/// Opens the ports of the shim before a host: the interfaces `given` to the ports of the host, and a
/// new tap of this machine's stack, with an address if one is given (such as `10.0.0.1/24`).
pub fn open_shim(
    s: &NetworkScenario,
    given: &[Given],
    (tap, address): (&str, Option<&str>),
    fix_offloads: bool,
) -> Result<Vec<Box<dyn Port>>, NodeError> {
    let failed = |e: io::Error| NodeError::Tap(NetworkError::Host(tap.to_owned(), e));
    let shim = shims::of(s)
        .next()
        .ok_or_else(|| NodeError::Asked(ParamError::new("--tap", "there is no shim", "")))?;
    let mut ports = open(s, given, fix_offloads)?;
    let mtu = hosts::mtu(s).map_err(NodeError::Asked)?;
    let made = hosts::tap(tap, shim.host, mtu).map_err(NodeError::Tap)?;
    if let Some(address) = address {
        sandbox::ip(&format!("addr add {address} dev {tap}\n")).map_err(failed)?;
    }
    let tc = tc().spawn().map_err(failed)?;
    let rate = s.topology.link_at(shim.node, shim.stack).rate;
    ports.push(Box::new(StackPort::new(made, tc, rate).map_err(failed)?));
    Ok(ports)
}

/// Reads an address with the length of its prefix, as `ip` wants it.
pub fn address(text: &str) -> Result<(), ParamError> {
    let good = text.split_once('/').is_some_and(|(address, prefix)| {
        let longest = match address.parse::<IpAddr>() {
            Ok(IpAddr::V4(_)) => 32,
            Ok(IpAddr::V6(_)) => 128,
            Err(_) => return false,
        };
        prefix.parse::<u8>().is_ok_and(|p| p <= longest)
    });
    if good {
        Ok(())
    } else {
        bad(
            "--address",
            format!("'{text}' is not an address with a prefix"),
            "expected an address such as 10.0.0.1/24",
        )
    }
}

/// The shortest time between two polls of the watchdog at real queues.
const POLL_MIN: Span = Span::from_us(500);
/// Looks in a detection time.
const LOOKS: u64 = 20;

/// Reads `200ms,300ms,drop`: detection, restoration, and the action on queued frames. As keys of
/// the scenario and their values.
pub fn watchdog(text: &str) -> Result<[(&'static str, String); 5], ParamError> {
    let hint =
        "expected detection,restoration,action, such as 200ms,300ms,drop (or forward, alert)";
    let [detect, restore, action] = text.split(',').map(str::trim).collect::<Vec<_>>()[..] else {
        return bad("--watchdog", format!("'{text}' does not have three parts"), hint);
    };
    let span = |text: &str| match text.parse::<Span>() {
        Ok(Span(0)) => bad("--watchdog", format!("'{text}' is not a time to wait"), hint),
        Ok(span) => Ok(span),
        Err(e) => bad("--watchdog", e.to_string(), hint),
    };
    let Some(action) = Action::named(action) else {
        return bad("--watchdog", format!("there is no action '{action}'"), hint);
    };
    let (detect, restore) = (span(detect)?, span(restore)?);
    let poll = (detect / LOOKS).max(POLL_MIN).min(detect);
    Ok([
        ("watchdog.kind", "duration".into()),
        ("watchdog.detect", detect.compact()),
        ("watchdog.restore", restore.compact()),
        ("watchdog.poll", poll.compact()),
        ("watchdog.action", action.word().into()),
    ])
}

/// Reads `H1=02:00:00:00:00:01`.
pub fn host_mac(s: &NetworkScenario, text: &str) -> Result<(NodeId, Mac), ParamError> {
    let hint = "expected, for example, H1=02:00:00:00:00:01";
    let Some((name, address)) = text.split_once('=') else {
        return bad("--mac", format!("'{text}' is not HOST=ADDRESS"), hint);
    };
    let host =
        find(s, name, NodeKind::Host).map_err(|e| ParamError::new("--mac", e.what, e.hint))?;
    let bytes: Option<Vec<u8>> = address
        .split(':')
        .map(|b| u8::from_str_radix(b, 16).ok().filter(|_| b.len() == 2))
        .collect();
    match bytes.and_then(|b| <[u8; 6]>::try_from(b).ok()).map(Mac) {
        Some(mac) if !mac.is_group() => Ok((host, mac)),
        Some(_) => bad("--mac", format!("{address} is a group address"), hint),
        None => bad("--mac", format!("'{address}' is not an address"), hint),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn ring() -> NetworkScenario {
        let text = "[run]\nduration = \"1ms\"\n[topology]\nkind = \"ring\"\n[[flow]]\nsrc = \"H1\"\ndst = \"H2\"\n";
        NetworkScenario::from_text("ring", text, &[], Path::new(""))
            .unwrap_or_else(|e| panic!("{}", e.render(false)))
    }

    #[test]
    fn every_port_gets_one_interface() {
        let s = ring();
        let node = find(&s, "S1", NodeKind::Switch).unwrap();
        let given =
            |all: &[&str]| assign(&s, node, &all.iter().map(|g| g.to_string()).collect::<Vec<_>>());
        let all = given(&["S3=c", "H1=a", "S2=b"]).unwrap();
        let names: Vec<_> =
            all.iter().map(|g| (g.link.name.as_str(), g.interface.as_str())).collect();
        assert_eq!(names.len(), 3);
        assert!(
            [("S1->H1", "a"), ("S1->S2", "b"), ("S1->S3", "c")].iter().all(|n| names.contains(n)),
            "{names:?}"
        );
        let refused = |all: &[&str]| given(all).unwrap_err();
        assert!(refused(&["H1=a", "S2=b"]).hint.contains("--port S3=INTERFACE"));
        assert!(refused(&["H2=a"]).hint.contains("H1"));
        assert!(refused(&["H1=a", "S2=a"]).what.contains("interface a is listed twice"));
        assert!(refused(&["H1=a", "H1=b"]).what.contains("port to H1 is listed twice"));
        assert!(refused(&["H1"]).what.contains("PEER=INTERFACE"));
        assert!(find(&s, "S9", NodeKind::Switch).unwrap_err().hint.contains("S1, S2, S3"));
    }

    #[test]
    fn options_are_read_or_explained() {
        let w = watchdog("200ms,300ms,drop").unwrap();
        assert_eq!(w.map(|(_, value)| value), ["duration", "200ms", "300ms", "10ms", "drop"]);
        for wrong in ["200ms", "0ms,1ms,drop", "1ms,2,drop", "1ms,2ms,explode"] {
            assert!(watchdog(wrong).unwrap_err().hint.contains("200ms,300ms,drop"), "{wrong}");
        }
        let s = ring();
        let h2 = s.topology.find("H2").unwrap();
        assert_eq!(host_mac(&s, "H2=02:00:00:00:00:0a").unwrap(), (h2, Mac([2, 0, 0, 0, 0, 10])));
        for wrong in
            ["H2", "H2=1:2", "H2=01:00:00:00:00:01", "H9=02:00:00:00:00:01", "H2=02:00:00:00:00:zz"]
        {
            assert!(host_mac(&s, wrong).is_err(), "{wrong}");
        }
        assert!(address("10.0.0.1/24").is_ok() && address("fd00::1/64").is_ok());
        assert!(["10.0.0.1", "10.0.0.1/33", "x/24"].iter().all(|a| address(a).is_err()));
    }
}
