//! A scenario's network on one machine: a veth pair for every link, in namespaces of this process's
//! own.

use std::fmt;
use std::io;

use crate::netio::sandbox::{self, Missing, VethPair};
use crate::netio::{OpenError, PacketOptions, PacketPort, Port};
use crate::switchd::Link;
use xoff_run::NetworkScenario;

use crate::testbed::wiring;

/// Reason for a missing testbed.
#[derive(Debug)]
pub enum NetworkError {
    /// This machine lacks a capability.
    Missing(Missing),
    /// Interfaces could not be made.
    Interfaces(io::Error),
    /// A port could not be opened.
    Open(OpenError),
    /// A host or its command.
    Host(String, io::Error),
}

impl fmt::Display for NetworkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NetworkError::Missing(m) => fmt::Display::fmt(m, f),
            NetworkError::Interfaces(e) => {
                write!(f, "the testbed's interfaces could not be made: {e}")
            }
            NetworkError::Open(e) => fmt::Display::fmt(e, f),
            NetworkError::Host(name, e) => write!(f, "host {name}: {e}"),
        }
    }
}
impl std::error::Error for NetworkError {}

impl NetworkError {
    /// The command that would help; empty: the message has it, or there is none.
    pub fn remedy(&self) -> &'static str {
        match self {
            NetworkError::Missing(m) => m.remedy(),
            _ => "",
        }
    }
}

/// Puts this process into namespaces of its own, in which it may do everything. To be called before
/// it has a second thread.
pub fn isolate() -> Result<(), NetworkError> {
    sandbox::enter().map_err(NetworkError::Missing)
}

/// The name of a port's interface.
pub fn interface(link: &Link) -> String {
    format!("n{}p{}", link.node, link.port)
}

/// Makes a veth pair for every link of the scenario with both ends among these, and opens all
/// ports, in order.
pub fn ports(s: &NetworkScenario, links: &[Link]) -> Result<Vec<Box<dyn Port>>, NetworkError> {
    cables(s, links)?;
    let open = |l: &Link| {
        let port = PacketPort::open(&interface(l), &PacketOptions::default())
            .map_err(NetworkError::Open)?;
        Ok(Box::new(port) as Box<dyn Port>)
    };
    links.iter().map(open).collect()
}

/// Makes a veth pair for every link of the scenario with both ends among these, and leaves them to
/// another process.
pub fn cables(s: &NetworkScenario, links: &[Link]) -> Result<(), NetworkError> {
    sandbox::veth_pairs(&pairs(s, links)).map_err(NetworkError::Interfaces)
}

/// The veth pairs of the links with both ends among these.
fn pairs(s: &NetworkScenario, links: &[Link]) -> Vec<VethPair> {
    let mtu = wiring::mtu(s);
    let far = |l: &Link| {
        let p = s.topology.nodes[l.node.index()].ports[l.port as usize];
        links.iter().find(|o| (o.node, o.port) == (p.peer, p.peer_port))
    };
    links
        .iter()
        .filter_map(|a| far(a).map(|b| (a, b)))
        .filter(|(a, b)| (a.node, a.port) < (b.node, b.port))
        .map(|(a, b)| VethPair { a: interface(a), b: interface(b), mtu })
        .collect()
}
