//! Destinations that look the same from almost everywhere: groups of hosts below switches with the
//! same neighbours.
//!
//! ```text
//!   A1    A2         E1 and E2 are twins: both are next to A1 and A2 and to no other switch
//!   | \\  / |
//!   |  \\/  |         so every switch but A1, A2, E1, E2 is as far from E1 as from E2, and takes the same ports towards both
//!   E1    E2
//! ```
//!
//! In a fat-tree of 102-port switches one search per pod does for the 51 edge switches in it. A
//! failed link parts its switch from its twins.

use std::collections::HashMap;

use xoff_units::NodeId;

use super::groups::Groups;
use super::routes::Paths;
use super::search::Search;

/// The columns of the table, by twins.
pub(super) struct Twins {
    /// Columns to search for, each with those that follow from it.
    pub columns: Vec<(usize, Vec<usize>)>,
    /// Classes of hosts next to each switch.
    classes: HashMap<NodeId, Vec<u32>>,
}

impl Twins {
    pub fn new(groups: &Groups, search: &Search, paths: Paths) -> Twins {
        let mut columns: Vec<(usize, Vec<usize>)> = Vec::new();
        let mut known: HashMap<Vec<NodeId>, usize> = HashMap::new();
        for (column, neighbours) in groups.neighbours.iter().enumerate() {
            // A tree of one path per group is a choice by the group's own number, and up-down ranks
            // switches by theirs.
            let alike = matches!(paths, Paths::Shortest | Paths::DModK);
            match neighbours[..] {
                [switch] if alike && groups.source_of[switch.index()] == u32::MAX => {
                    let at = *known.entry(search.peers(switch)).or_insert(columns.len());
                    match columns.get_mut(at) {
                        Some((_, others)) => others.push(column),
                        None => columns.push((column, Vec::new())),
                    }
                }
                _ => columns.push((column, Vec::new())),
            }
        }
        let mut classes: HashMap<NodeId, Vec<u32>> = HashMap::new();
        for (class, own) in groups.sources.iter().enumerate() {
            own.iter()
                .for_each(|&(_, switch)| classes.entry(switch).or_default().push(class as u32));
        }
        Twins { columns, classes }
    }

    /// Each column alone.
    #[cfg(test)]
    pub fn apart(self) -> Twins {
        let columns = self
            .columns
            .into_iter()
            .flat_map(|(first, others)| std::iter::once(first).chain(others));
        Twins {
            columns: columns.map(|column| (column, Vec::new())).collect(),
            classes: self.classes,
        }
    }

    /// The classes of hosts next to a switch.
    pub fn classes_at(&self, switch: NodeId) -> &[u32] {
        self.classes.get(&switch).map_or(&[], Vec::as_slice)
    }
}
