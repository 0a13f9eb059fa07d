//! Failed links: named ones, and random ones for studies of many networks.
//!
//! A link is named by its ends, `A1-C1`; among parallel links by the port number at the first end
//! too, `S1-S2#3`. The draw of a link depends on the seed and on its name alone, so that adding,
//! removing or renumbering other links changes nothing.

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};
use xoff_units::NodeId;
use xoff_units::params::ParamError;

use crate::topology::graph::{LinkId, NodeKind, Topology};
use crate::topology::names;

/// The purpose of these draws, part of the key of their streams.
const PURPOSE_LINK_FAILURE: u64 = 1000;

/// The name of a link, in the form that [`find_link`] reads.
pub fn link_name(t: &Topology, link: LinkId) -> String {
    let l = &t.links[link as usize];
    let parallel = t.nodes[l.a.index()].ports.iter().filter(|p| p.peer == l.b).count() > 1;
    let base = format!("{}-{}", t.name(l.a), t.name(l.b));
    if parallel { format!("{base}#{}", l.a_port) } else { base }
}

/// True if both ends are switches.
pub fn is_fabric_link(t: &Topology, link: LinkId) -> bool {
    let l = &t.links[link as usize];
    [l.a, l.b].iter().all(|&n| t.nodes[n.index()].kind == NodeKind::Switch)
}

/// The link of this name, in either order of its ends and in every form of
/// [`crate::topology::names`]. The error's key is `failed_links`.
///
/// # Errors
/// There is no such link, or there are several.
pub fn find_link(t: &Topology, name: &str) -> Result<LinkId, ParamError> {
    let (node, port) = names::find_port(t, "failed_links", name, names::What::Link)?;
    Ok(t.nodes[node.index()].ports[port as usize].link)
}

/// Fails the named links and returns their numbers.
///
/// # Errors
/// A name that no link has; the key is that of the name.
pub fn fail_links<S: AsRef<str>>(t: &mut Topology, names: &[S]) -> Result<Vec<LinkId>, ParamError> {
    let links = names.iter().map(|n| find_link(t, n.as_ref())).collect::<Result<Vec<_>, _>>()?;
    for &link in &links {
        t.links[link as usize].up = false;
    }
    Ok(links)
}

/// Fails each link between switches (with `host_links`, each link) with probability `p`; returns
/// those that failed.
///
/// # Errors
/// A probability outside 0 to 1.
pub fn fail_random(
    t: &mut Topology,
    p: f64,
    seed: u64,
    host_links: bool,
) -> Result<Vec<LinkId>, ParamError> {
    if !(0.0..=1.0).contains(&p) {
        return Err(ParamError::new(
            "failure_probability",
            format!("{p} is not a probability"),
            "expected 0 to 1",
        ));
    }
    let mut failed = Vec::new();
    for link in 0..t.links.len() as LinkId {
        let may_fail = host_links || is_fabric_link(t, link);
        if may_fail && draw(seed, PURPOSE_LINK_FAILURE, &link_name(t, link)) < p {
            t.links[link as usize].up = false;
            failed.push(link);
        }
    }
    Ok(failed)
}

/// The first number in [0, 1) of the ChaCha8 stream of this name (FNV-1a) under the key (seed,
/// purpose).
pub(super) fn draw(seed: u64, purpose: u64, name: &str) -> f64 {
    let mut key = *b"................xoff-random-0001";
    key[..8].copy_from_slice(&seed.to_le_bytes());
    key[8..16].copy_from_slice(&purpose.to_le_bytes());
    let mut rng = ChaCha8Rng::from_seed(key);
    rng.set_stream(
        name.bytes()
            .fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ b as u64).wrapping_mul(0x0100_0000_01b3)),
    );
    // 53 bits: every value is exact and equally spaced.
    (rng.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

/// True if every host reaches every other over links that are up; hosts do not forward.
pub fn is_connected_hosts(t: &Topology) -> bool {
    let component = switch_components(t);
    let up = |h: NodeId| t.nodes[h.index()].ports.iter().filter(|p| t.links[p.link as usize].up);
    // The switch components that a host is attached to; usually one.
    let of = |h: NodeId| -> Vec<u32> {
        up(h).map(|p| component[p.peer.index()]).filter(|&c| c != u32::MAX).collect()
    };
    let hosts: Vec<(NodeId, Vec<u32>)> = t.hosts().map(|h| (h, of(h))).collect();
    let Some((_, first)) = hosts.first() else { return true };
    if first.iter().any(|c| hosts.iter().all(|(_, cs)| cs.contains(c))) {
        return true;
    }
    // Hosts on several switches or linked to each other: look at the pairs.
    hosts.iter().enumerate().all(|(i, (h, cs))| {
        hosts[i + 1..].iter().all(|(other, others)| {
            cs.iter().any(|c| others.contains(c)) || up(*h).any(|p| p.peer == *other)
        })
    })
}

/// For each switch a number common to those it reaches through switches; `u32::MAX` for hosts.
fn switch_components(t: &Topology) -> Vec<u32> {
    let mut component = vec![u32::MAX; t.nodes.len()];
    let mut stack = Vec::new();
    for (number, start) in t.switches().enumerate() {
        if component[start.index()] != u32::MAX {
            continue;
        }
        component[start.index()] = number as u32;
        stack.push(start);
        while let Some(node) = stack.pop() {
            for port in t.nodes[node.index()].ports.iter().filter(|p| t.links[p.link as usize].up) {
                let peer = port.peer.index();
                if t.nodes[peer].kind == NodeKind::Switch && component[peer] == u32::MAX {
                    component[peer] = number as u32;
                    stack.push(port.peer);
                }
            }
        }
    }
    component
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::builders::{fat_tree, ring};
    use xoff_units::params::Defaults;

    fn fat_tree(k: &str) -> Topology {
        fat_tree::build(&mut Defaults::of(fat_tree::PARAMS).with("k", k)).unwrap()
    }

    #[test]
    fn links_are_named_by_their_ends_in_either_order() {
        let mut t = fat_tree("4");
        let link = find_link(&t, "A1-C1").unwrap();
        assert_eq!(find_link(&t, "C1-A1"), Ok(link));
        assert_eq!(link_name(&t, link), "A1-C1");
        assert_eq!(fail_links(&mut t, &["C1-A1", "E1-A2"]).unwrap().len(), 2);
        assert!(!t.links[link as usize].up);
        for (bad, what) in [
            ("A1-C3", "'A1' and 'C3' are not linked"),
            ("A1-C9", "there is no node 'C9' (in link 'A1-C9')"),
            ("A1", "'A1' is not a link"),
            ("A1-C1#x", "'x' in 'A1-C1#x' is not a port number"),
            ("A1-C1#0", "port 0 of 'A1' does not lead to 'C1'"),
        ] {
            assert_eq!(find_link(&t, bad).unwrap_err().what, what);
        }
        assert_eq!(find_link(&t, "A1-C3").unwrap_err().hint, "'A1' is linked to E1, E2, C1, C2");
    }

    #[test]
    fn parallel_links_need_a_port() {
        let mut t = ring::build(&mut Defaults::of(ring::PARAMS)).unwrap();
        let (a, b) = (t.find("S1").unwrap(), t.find("S2").unwrap());
        let second = t.add_link(a, b, xoff_units::Rate::from_gbps(10), xoff_units::Span::ZERO);
        assert!(find_link(&t, "S1-S2").unwrap_err().hint.contains("S1-S2#0"));
        assert_eq!(link_name(&t, second), "S1-S2#3");
        assert_eq!(find_link(&t, "S1-S2#3"), Ok(second));
    }

    #[test]
    fn adding_links_changes_no_other_draw() {
        let (mut small, mut large) = (fat_tree("4"), fat_tree("4"));
        let (a, b) = (large.find("E1").unwrap(), large.find("E2").unwrap());
        large.add_link(a, b, xoff_units::Rate::from_gbps(10), xoff_units::Span::ZERO);
        let before = fail_random(&mut small, 0.3, 7, false).unwrap();
        let mut after = fail_random(&mut large, 0.3, 7, false).unwrap();
        after.retain(|&l| l < 48);
        assert_eq!(before, after);
        assert!(before.iter().all(|&l| is_fabric_link(&small, l)));
    }

    #[test]
    fn five_percent_of_the_links_fail() {
        // 1000 networks x 32 links at 5 %: mean 1600, standard deviation 39.
        let failed: usize = (0..1000)
            .map(|seed| fail_random(&mut fat_tree("4"), 0.05, seed, false).unwrap().len())
            .sum();
        assert!((1600 - 4 * 39..=1600 + 4 * 39).contains(&failed), "{failed}");
        assert_eq!(fail_random(&mut fat_tree("4"), 1.0, 1, true).unwrap().len(), 48);
        assert_eq!(fail_random(&mut fat_tree("4"), 0.0, 1, true).unwrap().len(), 0);
        assert_eq!(
            fail_random(&mut fat_tree("4"), 1.5, 1, true).unwrap_err().key,
            "failure_probability"
        );
    }

    #[test]
    fn connectivity_counts_hosts_only() {
        let mut t = fat_tree("4");
        // A core switch without any link separates no host.
        fail_links(&mut t, &["A1-C1", "A3-C1", "A5-C1", "A7-C1"]).unwrap();
        assert!(is_connected_hosts(&t));
        fail_links(&mut t, &["E1-A1", "E1-A2"]).unwrap();
        assert!(!is_connected_hosts(&t));
    }
}
