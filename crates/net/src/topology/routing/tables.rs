//! Forwarding tables as they are installed: for each switch and destination the ports that a frame
//! may take.
//!
//! Unlike [`super::Routes`] they follow no rule, so that a table may miss a destination, drop it,
//! or lead into a loop.

use std::collections::HashMap;

use xoff_units::NodeId;

/// Destination of the tables: a host under one of its addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    /// The host.
    pub host: NodeId,
    /// The address as the tables have it: a LID, a prefix.
    pub address: String,
}

/// Service levels and their use in switches. Without them all traffic is on virtual lane 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lanes {
    /// Service level of the paths from a host to a destination (its index); 0 where absent.
    pub level: HashMap<(NodeId, u32), u8>,
    /// Virtual lane of each service level by node, ingress port ([`Lanes::LOCAL`] at the source)
    /// and egress port; absent: the virtual lane of the same number.
    pub lane: HashMap<(NodeId, u16, u16), [u8; 16]>,
}

impl Lanes {
    /// The ingress port of frames that begin at a node.
    pub const LOCAL: u16 = u16::MAX;

    /// The virtual lane that a frame of a level takes.
    pub fn of(&self, node: NodeId, ingress: u16, egress: u16, level: u8) -> u8 {
        self.lane
            .get(&(node, ingress, egress))
            .map_or(level, |lanes| lanes[usize::from(level & 15)])
    }
}

/// The tables of a network.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tables {
    /// Everything that is routed to.
    pub destinations: Vec<Destination>,
    /// Service levels, where they are known.
    pub lanes: Option<Lanes>,
    /// Set of each destination, by switch with a table.
    sets_of: HashMap<NodeId, Vec<u32>>,
    /// Sets of ports, each stored once; the first is empty.
    sets: Vec<Vec<u16>>,
    known: HashMap<Vec<u16>, u32>,
}

impl Tables {
    /// Without any entry.
    pub fn new(destinations: Vec<Destination>) -> Tables {
        Tables {
            destinations,
            sets: vec![Vec::new()],
            known: HashMap::from([(Vec::new(), 0)]),
            ..Tables::default()
        }
    }

    /// Sets the ports that a switch takes towards a destination (its index); none: it drops frames
    /// to it.
    pub fn set(&mut self, switch: NodeId, destination: u32, mut ports: Vec<u16>) {
        ports.sort_unstable();
        ports.dedup();
        let next = self.sets.len() as u32;
        let id = *self.known.entry(ports.clone()).or_insert(next);
        if id == next {
            self.sets.push(ports);
        }
        let row = self.sets_of.entry(switch).or_insert_with(|| vec![0; self.destinations.len()]);
        row[destination as usize] = id;
    }

    /// The ports that a switch takes towards a destination; empty where it drops frames to it.
    pub fn ports(&self, switch: NodeId, destination: u32) -> &[u16] {
        self.sets_of.get(&switch).map_or(&[], |row| &self.sets[row[destination as usize] as usize])
    }

    /// True if a switch has a table.
    pub fn has(&self, switch: NodeId) -> bool {
        self.sets_of.contains_key(&switch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_set_is_dropped() {
        let to = |host| Destination { host, address: format!("lid {host}") };
        let mut t = Tables::new(vec![to(NodeId(0)), to(NodeId(1))]);
        t.set(NodeId(5), 1, vec![3, 2, 3]);
        assert_eq!(
            (t.ports(NodeId(5), 1), t.ports(NodeId(5), 0), t.ports(NodeId(6), 1)),
            (&[2, 3][..], &[][..], &[][..])
        );
        assert!(t.has(NodeId(5)) && !t.has(NodeId(6)));
    }

    #[test]
    fn a_level_keeps_its_number_without_a_map() {
        let mut lanes = Lanes::default();
        lanes.lane.insert((NodeId(1), 2, 3), [7; 16]);
        assert_eq!((lanes.of(NodeId(1), 2, 3, 4), lanes.of(NodeId(1), 2, 4, 4)), (7, 4));
    }
}
