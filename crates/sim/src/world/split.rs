//! Splits a network into partitions that run on threads of their own.
//!
//! Nodes send through links with a delay, so an event of one partition reaches another partition no
//! sooner than the shortest delay between them: the lookahead. Hosts stay with their switch; a
//! switch goes where most of its neighbours below it went, as long as that partition has not had
//! its share of the ports.

use xoff_net::topology::{NodeKind, Topology};
use xoff_units::{NodeId, Span};

/// A network in partitions.
pub(crate) struct Split {
    /// Partition of each node.
    pub partition_of: Vec<u16>,
    /// Shortest delay of a link between two partitions.
    pub lookahead: Span,
}

impl Split {
    /// Everything in one partition.
    pub fn whole(t: &Topology) -> Split {
        Split { partition_of: vec![0; t.nodes.len()], lookahead: Span(u64::MAX) }
    }

    /// At most `partitions` partitions of about equally many ports; fewer if there are fewer
    /// switches. The same network always splits alike.
    pub fn new(t: &Topology, partitions: usize) -> Split {
        const NOWHERE: u16 = u16::MAX;
        let mut switches: Vec<NodeId> = t.switches().collect();
        switches.sort_by_key(|&s| (t.nodes[s.index()].level, s));
        let partitions = partitions.min(switches.len()).clamp(1, NOWHERE as usize);
        let hosts_of = |s: NodeId| {
            t.nodes[s.index()]
                .ports
                .iter()
                .filter(|p| t.nodes[p.peer.index()].kind == NodeKind::Host)
                .map(|p| p.peer)
        };
        let mut partition_of = vec![NOWHERE; t.nodes.len()];
        // Shares are kept tier by tier: a tier works at a time of its own, and each should keep
        // every thread busy.
        for tier in switches.chunk_by(|&a, &b| t.nodes[a.index()].level == t.nodes[b.index()].level)
        {
            let ports: usize = tier.iter().map(|&s| t.nodes[s.index()].ports.len()).sum();
            let mut load = vec![0; partitions];
            let mut filling = 0;
            for &s in tier {
                let size = t.nodes[s.index()].ports.len();
                let mut votes = vec![0usize; partitions];
                for p in &t.nodes[s.index()].ports {
                    if let Some(v) = votes.get_mut(partition_of[p.peer.index()] as usize) {
                        *v += 1;
                    }
                }
                let fits = |partition: usize, load: &[usize]| {
                    (load[partition] + size / 2) * partitions <= ports
                };
                // Most votes first; without votes neighbours by number stay together.
                let voted = (0..partitions)
                    .filter(|&p| votes[p] > 0 && fits(p, &load))
                    .max_by_key(|&p| (votes[p], std::cmp::Reverse(p)));
                let partition = voted.unwrap_or_else(|| {
                    while filling + 1 < partitions && !fits(filling, &load) {
                        filling += 1;
                    }
                    filling
                });
                load[partition] += size;
                partition_of[s.index()] = partition as u16;
                hosts_of(s).for_each(|h| partition_of[h.index()] = partition as u16);
            }
        }
        // A host without a switch: wherever its peer is, or the first partition.
        partition_of.iter_mut().filter(|p| **p == NOWHERE).for_each(|p| *p = 0);
        let cut = t.links.iter().filter(|l| partition_of[l.a.index()] != partition_of[l.b.index()]);
        let lookahead = cut.map(|l| l.delay).min().unwrap_or(Span(u64::MAX));
        Split { partition_of, lookahead }
    }

    /// Number of partitions.
    pub fn partitions(&self) -> usize {
        self.partition_of.iter().max().map_or(1, |&p| p as usize + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use xoff_net::topology::builders;
    use xoff_units::params::Defaults;

    fn build(kind: &str, key: &str, value: &str) -> Topology {
        let builder = builders::find(kind).unwrap();
        (builder.build)(
            &mut Defaults::of(builder.params)
                .with(key, value)
                .with("rate", "100Gbps")
                .with("delay", "1us"),
        )
        .unwrap()
    }

    #[test]
    fn shares_are_even_and_hosts_stay_with_their_switch() {
        let t = build("fat-tree", "k", "8");
        for partitions in [2, 3, 4, 8] {
            let s = Split::new(&t, partitions);
            assert_eq!((s.partitions(), s.lookahead), (partitions, Span::from_us(1)));
            for h in t.hosts() {
                assert_eq!(
                    s.partition_of[h.index()],
                    s.partition_of[(t.nodes[h.index()].ports[0].peer).index()]
                );
            }
            let mut load = vec![0; partitions];
            t.nodes
                .iter()
                .zip(&s.partition_of)
                .for_each(|(n, &p)| load[p as usize] += n.ports.len());
            let (least, most) = (load.iter().min().unwrap(), load.iter().max().unwrap());
            assert!(most * 10 <= least * 14, "{partitions} partitions: {load:?}");
        }
    }

    #[test]
    fn a_network_of_one_switch_stays_whole() {
        let s = Split::new(&build("star", "hosts", "5"), 4);
        assert_eq!((s.partitions(), s.lookahead), (1, Span(u64::MAX)));
    }
}
