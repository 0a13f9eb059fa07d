//! `[[buffer_pool]]` and `[[buffer_profile]]`: the memory of switches as they have it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use xoff_net::topology::NodeKind;
use xoff_units::Bytes;

use super::{bytes, quote};
use crate::import::network::{Members, Pool, Profile, Threshold};
use crate::import::{End, Network};

/// A port of a switch: its node and its name.
type Port<'n> = (usize, &'n str);

/// Pools to write.
pub(super) struct Pools<'n> {
    network: &'n Network,
    ports: Vec<Port<'n>>,
    /// Priorities that are paused at some port.
    pub lossless: BTreeSet<u8>,
}

/// The two sides of a switch, and where a port has its profiles.
type Of = fn(&Members) -> &BTreeMap<u8, Profile>;
const SIDES: [(&str, Of); 2] = [("ingress", |m| &m.groups), ("egress", |m| &m.queues)];

impl<'n> Pools<'n> {
    /// Values that the files give for all ports with a link.
    ///
    /// # Errors
    /// What they do not say, one clause; nothing of it is guessed.
    pub fn of(network: &'n Network) -> Result<Pools<'n>, String> {
        let b = &network.buffering;
        let is_switch = |end: &&End| network.nodes[end.node].kind == NodeKind::Switch;
        let ends = network.links.iter().flat_map(|l| [&l.a, &l.b]).filter(is_switch);
        let ports: Vec<Port<'_>> =
            ends.map(|end| (end.node, end.port.as_deref().unwrap_or_default())).collect();
        let lossless: BTreeSet<u8> = b.ports.values().flat_map(|p| p.pfc.iter().copied()).collect();
        if lossless.is_empty() {
            return Err("PFC is on for no priority".into());
        }
        for &(node, port) in &ports {
            let name = || format!("{} {port}", network.nodes[node].name);
            let Some(members) = b.members.get(&(node, port.to_owned())) else {
                return Err(format!("{} has no settings", name()));
            };
            if let Some(p) = lossless
                .iter()
                .find(|p| members.groups.get(p).is_none_or(|g| g.headroom == Bytes::ZERO))
            {
                return Err(format!("{} has no lossless profile for priority {p}", name()));
            }
            let pools = b.memory.get(&node);
            for profile in members.groups.values().chain(members.queues.values()) {
                if pools.is_none_or(|pools| !pools.contains_key(&profile.pool)) {
                    return Err(format!(
                        "pool '{}' of {} has no size",
                        profile.pool, network.nodes[node].name
                    ));
                }
            }
        }
        Ok(Pools { network, ports, lossless })
    }

    /// The sections.
    pub fn write(&self, out: &mut String) {
        let lossy: Vec<u8> = (0..8).filter(|p| !self.lossless.contains(p)).collect();
        out.push_str(
            "# Memory from BUFFER_POOL, BUFFER_PROFILE, BUFFER_PG and BUFFER_QUEUE. A priority here is a traffic class of \
                      SONiC.\n",
        );
        out.push_str(
            "[switch]\nmemory = \"pools\"\n\n# Priority groups pause when they begin to use headroom. Priorities without PFC \
                      are lossy.\n[flow_control]\n",
        );
        let _ =
            writeln!(out, "kind = \"pfc\"\nthreshold = \"profile\"\nlossy = {}\n", ranges(&lossy));
        self.pools(out);
        for (side, of) in SIDES {
            self.profiles(side, of, out);
        }
    }

    /// Pools, those alike once.
    fn pools(&self, out: &mut String) {
        let used: BTreeSet<(usize, &str)> = self
            .members()
            .flat_map(|(&(node, _), m)| all(m).map(move |p| (node, p.pool.as_str())))
            .collect();
        let mut alike: BTreeMap<(&str, Pool), Vec<usize>> = BTreeMap::new();
        for &(node, name) in &used {
            alike.entry((name, self.network.buffering.memory[&node][name])).or_default().push(node);
        }
        let switches: BTreeSet<usize> = self.ports.iter().map(|p| p.0).collect();
        for ((name, pool), nodes) in alike {
            let _ = writeln!(
                out,
                "[[buffer_pool]]\nname = {}\nsize = \"{}\"",
                quote(name),
                bytes(pool.size)
            );
            if pool.shared_headroom > Bytes::ZERO {
                let _ = writeln!(
                    out,
                    "headroom = \"{}\"          # SONiC: xoff",
                    bytes(pool.shared_headroom)
                );
            }
            if nodes.len() < switches.len() {
                self.switches(nodes.iter().copied(), out);
            }
            out.push('\n');
        }
    }

    fn members(&self) -> impl Iterator<Item = (&Port<'n>, &'n Members)> {
        self.ports
            .iter()
            .map(|port| (port, &self.network.buffering.members[&(port.0, port.1.to_owned())]))
    }

    /// Profiles of one side, each with its priorities and the ports that have it for the same ones.
    fn profiles(&self, side: &str, of: Of, out: &mut String) {
        let mut alike: BTreeMap<(&Profile, Vec<u8>), Vec<Port<'_>>> = BTreeMap::new();
        for (&port, members) in self.members() {
            let mut priorities: BTreeMap<&Profile, Vec<u8>> = BTreeMap::new();
            of(members)
                .iter()
                .for_each(|(p, profile)| priorities.entry(profile).or_default().push(*p));
            priorities
                .into_iter()
                .for_each(|(profile, of)| alike.entry((profile, of)).or_default().push(port));
        }
        for ((p, priorities), ports) in alike {
            let _ = writeln!(
                out,
                "[[buffer_profile]]\nname = {}\npool = {}\nside = \"{side}\"",
                quote(&p.name),
                quote(&p.pool)
            );
            let _ = writeln!(out, "priorities = {}", ranges(&priorities));
            self.whose(&ports, out);
            let _ = writeln!(out, "reserve = \"{}\"", bytes(p.reserve()));
            if p.headroom > Bytes::ZERO {
                let _ = writeln!(
                    out,
                    "headroom = \"{}\"          # SONiC: xoff\nxon = \"{}\"",
                    bytes(p.headroom),
                    bytes(p.xon)
                );
                p.xon_offset
                    .iter()
                    .for_each(|o| _ = writeln!(out, "xon_offset = \"{}\"", bytes(*o)));
            }
            let _ = match p.threshold {
                Threshold::Dynamic(n) => writeln!(
                    out,
                    "kind = \"dynamic\"\nalpha = {}          # dynamic_th {n}\n",
                    2f64.powi(n.into())
                ),
                Threshold::Static(limit) => writeln!(
                    out,
                    "kind = \"static\"\nlimit = \"{}\"          # static_th\n",
                    bytes(limit)
                ),
            };
        }
    }

    /// The ports of a profile; all of them need no list.
    fn whose(&self, ports: &[Port<'_>], out: &mut String) {
        if ports.len() == self.ports.len() {
            return;
        }
        let nodes: BTreeSet<usize> = ports.iter().map(|p| p.0).collect();
        let all = nodes
            .iter()
            .map(|node| self.ports.iter().filter(|p| p.0 == *node).count())
            .sum::<usize>();
        if all == ports.len() {
            return self.switches(nodes.into_iter(), out);
        }
        let names =
            ports.iter().map(|(node, port)| format!("{}:{port}", self.network.nodes[*node].name));
        list("ports", names, out);
    }

    fn switches(&self, nodes: impl Iterator<Item = usize>, out: &mut String) {
        list("switches", nodes.map(|node| self.network.nodes[node].name.clone()), out);
    }
}

fn all(m: &Members) -> impl Iterator<Item = &Profile> {
    m.groups.values().chain(m.queues.values())
}

fn list(key: &'static str, names: impl Iterator<Item = String>, out: &mut String) {
    let names: Vec<String> = names.collect();
    super::list(out, key, names.iter().map(String::as_str));
}

/// `["0-2", "5"]`.
fn ranges(numbers: &[u8]) -> String {
    let mut runs: Vec<(u8, u8)> = Vec::new();
    for &n in numbers {
        match runs.last_mut() {
            Some(run) if run.1 + 1 == n => run.1 = n,
            _ => runs.push((n, n)),
        }
    }
    let text =
        |&(a, b): &(u8, u8)| if a == b { format!("\"{a}\"") } else { format!("\"{a}-{b}\"") };
    format!("[{}]", runs.iter().map(text).collect::<Vec<_>>().join(", "))
}
