//! The fabric under test: network, switches and hosts of a scenario, without its traffic.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use xoff_net::topology::failures::{fail_links, is_connected_hosts, link_name};
use xoff_net::topology::routing::all_paths;
use xoff_net::topology::{Port, Routes, Topology};
use xoff_run::NetworkScenario;
use xoff_scenario::document::{Given, Override};
use xoff_scenario::{Problem, Problems};
use xoff_units::NodeId;

use crate::bench::text::{Text, quoted};

/// Sections of a scenario that the tests replace by their own.
const REPLACED: [&str; 8] =
    ["run", "flow", "workload", "job", "collective", "probes", "failure", "pause_storm"];
/// Upper end of the usual gap of flowlets: draft-calabria-bmwg-ai-fabric-terminology, "DLB /
/// Flowlet: typically 500 ns - 2 us".
pub(crate) const FLOWLET_GAP: &str = "2us";

/// The fabric under test.
pub struct Dut {
    /// File of the scenario.
    pub file: PathBuf,
    /// The scenario, with its traffic.
    pub scenario: NetworkScenario,
    /// Settings of its file, without those that the tests replace.
    base: Vec<Given>,
    /// Traffic of the scenario that no test uses, `[[flow]]`.
    pub ignored: Vec<String>,
    /// Names of the hosts, those of a leaf together.
    pub hosts: Vec<String>,
    /// Indices of the hosts below each leaf.
    pub racks: Vec<Vec<usize>>,
    /// Ports of leaves that lead up, `E1->A1`.
    pub uplinks: Vec<String>,
    /// Their rates [bit/s].
    pub uplink_rates: Vec<f64>,
    /// Rate of the slowest link of a host [bit/s].
    pub rate: f64,
    /// Priority of the traffic.
    pub priority: u8,
}

/// A way to balance load that is compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Balancer {
    /// In tables.
    pub label: String,
    /// Of the files.
    pub file: String,
    kind: String,
    gap: Option<&'static str>,
}

/// A kind of failure, and its links.
pub(crate) struct Failing {
    /// In tables: `leaf uplink`.
    pub label: &'static str,
    /// In words: `E1-A1`, `switch S1`.
    pub what: String,
    /// Links that fail.
    pub links: Vec<String>,
}

impl Dut {
    /// Reads a scenario.
    ///
    /// # Errors
    /// Everything wrong with it, each with its place; hosts that no test can use.
    pub fn load(file: &Path, settings: &[Override]) -> Result<Dut, Problems> {
        let (scenario, given) = NetworkScenario::load_given(file, settings)?;
        let first = |path: &str| path.split(['.', '[']).next().unwrap_or_default().to_owned();
        let (replaced, mut base): (Vec<Given>, Vec<Given>) =
            given.into_iter().partition(|s| REPLACED.contains(&first(&s.path).as_str()));
        let mut ignored: Vec<String> = Vec::new();
        for s in replaced.iter().map(|s| first(&s.path)) {
            let name = if ["run", "probes"].contains(&s.as_str()) {
                continue;
            } else {
                format!("[[{s}]]")
            };
            if !ignored.contains(&name) {
                ignored.push(name);
            }
        }
        base.iter_mut().for_each(|s| absolute(s, &scenario.folder));
        let priority = scenario.flows.flows.first().map_or(0, |f| f.priority);
        let t = &scenario.topology;
        let mut racks: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        let (mut leaves, mut hosts, mut rate) = (Vec::new(), Vec::new(), f64::INFINITY);
        for host in t.hosts() {
            let Some(port) = working(t, &t.nodes[host.index()].ports).next() else { continue };
            let leaf = leaves.iter().position(|l| *l == port.peer).unwrap_or_else(|| {
                leaves.push(port.peer);
                leaves.len() - 1
            });
            rate = rate.min(t.links[port.link as usize].rate.0 as f64);
            racks.entry(leaf).or_default().push(host.index());
        }
        let mut of_leaf = Vec::new();
        for nodes in racks.values() {
            let first = hosts.len();
            hosts.extend(nodes.iter().map(|&h| t.nodes[h].name.clone()));
            of_leaf.push((first..hosts.len()).collect());
        }
        if hosts.len() < 3 {
            return Err(Problem::new(
                format!("the network has {} hosts with a working link", hosts.len()),
                "a benchmark needs at least three: for example [topology] kind = \"leaf-spine\"",
            )
            .at(scenario.source.place(0..0))
            .into());
        }
        let distance = t.distances_to_hosts();
        let (mut uplinks, mut uplink_rates) = (Vec::new(), Vec::new());
        for &leaf in &leaves {
            for (n, p) in t.nodes[leaf.index()].ports.iter().enumerate() {
                let link = &t.links[p.link as usize];
                if link.up && distance[p.peer.index()] > distance[leaf.index()] {
                    uplinks.push(t.port_name(leaf, n as u16));
                    uplink_rates.push(link.rate.0 as f64);
                }
            }
        }
        let file = file.to_owned();
        let racks = of_leaf;
        Ok(Dut {
            file,
            base,
            ignored,
            hosts,
            racks,
            uplinks,
            uplink_rates,
            rate,
            priority,
            scenario,
        })
    }

    /// The network.
    pub fn topology(&self) -> &Topology {
        &self.scenario.topology
    }

    /// A scenario of this fabric without traffic, that runs for a time [ps].
    pub(crate) fn text(&self, title: &str, duration: u64, stop_when_done: bool) -> Text {
        let mut text = Text::new(self.base.clone());
        text.set("run", "title", quoted(title));
        text.set("run", "duration", time(duration));
        text.set("run", "stop_when_done", stop_when_done.to_string());
        text
    }

    /// A parameter as it took effect, without quotes; empty: it has none.
    pub(crate) fn parameter(&self, path: &str) -> &str {
        let found = self.scenario.parameters.iter().find(|p| p.path == path);
        found.map_or("", |p| p.value.trim_matches('"'))
    }

    /// Payload of a full frame over its length on the wire.
    pub(crate) fn payload_share(&self) -> f64 {
        let (payload, header) = self.scenario.frame();
        f64::from(payload) / f64::from(payload + header)
    }

    /// Time of bytes of payload on the link of a host [ps].
    pub(crate) fn wire_ps(&self, bytes: u64) -> f64 {
        bytes as f64 * 8e12 / self.rate
    }

    /// Time that hides cables, switches and the ends of a test [ps].
    pub(crate) fn slack_ps(&self) -> u64 {
        let delay = self.topology().links.iter().map(|l| l.delay.0).max().unwrap_or(0);
        1_000_000_000 + 100 * delay
    }

    /// Whether some pair of hosts below different leaves has several shortest paths.
    pub(crate) fn has_paths(&self) -> bool {
        let (t, routing) = (self.topology(), self.scenario.routing());
        let routes = Routes::build(t, routing.paths, routing.order);
        let of_rack = |r: usize| t.find(&self.hosts[self.racks[r][0]]).expect("a host's name");
        let (first, last) = (of_rack(0), of_rack(self.racks.len() - 1));
        first != last && all_paths(t, &routes, first, last).iter().any(|ports| ports.len() > 1)
    }

    /// For each host, the host that half of all are between: below another leaf where there are
    /// two of one size.
    pub(crate) fn shifted(&self) -> Vec<(usize, usize)> {
        let n = self.hosts.len();
        (0..n).map(|i| (i, (i + n / 2) % n)).collect()
    }

    /// ECMP, flowlets, spraying, and what the scenario has if it is none of these; where hosts have
    /// one path, the first alone.
    pub(crate) fn balancers(&self) -> Vec<Balancer> {
        let of = |kind: &str, gap: Option<&'static str>| Balancer {
            label: gap.map_or(kind.to_owned(), |gap| format!("{kind} {gap}")),
            file: gap.map_or(kind.to_owned(), |gap| format!("{kind}-{gap}")),
            kind: kind.to_owned(),
            gap,
        };
        let own = self.parameter("load_balancing.kind");
        let mut all =
            vec![of("ecmp", None), of("flowlet", Some(FLOWLET_GAP)), of("spray-random", None)];
        if own == "flowlet" {
            all[1] = of("flowlet", None);
        } else if !own.is_empty() && all.iter().all(|b| b.kind != own) {
            all.push(of(own, None));
        }
        if !self.has_paths() {
            all.truncate(1);
        }
        all
    }

    /// Balancers of flowlets with several gaps.
    pub(crate) fn flowlets(gaps: &[&'static str]) -> Vec<Balancer> {
        let one = |gap: &&'static str| Balancer {
            label: format!("flowlet {gap}"),
            file: format!("flowlet-{gap}"),
            kind: "flowlet".into(),
            gap: Some(gap),
        };
        gaps.iter().map(one).collect()
    }

    /// Sets the balancer; the section of the scenario stays where it is of the same kind.
    pub(crate) fn balance(&self, text: &mut Text, by: &Balancer) {
        if self.parameter("load_balancing.kind") != by.kind {
            text.drop("load_balancing");
            text.set("load_balancing", "kind", quoted(&by.kind));
            // The order that fits the new balancer is the default.
            text.unset("host", "order");
        }
        if let Some(gap) = by.gap {
            text.set("load_balancing", "gap", quoted(gap));
        }
    }

    /// Failures of the draft's section 11.2 that this network can have.
    pub(crate) fn failures(&self) -> Vec<Failing> {
        let t = self.topology();
        let distance = &t.distances_to_hosts();
        let up = |node: NodeId| {
            working(t, &t.nodes[node.index()].ports)
                .filter(move |p| distance[p.peer.index()] > distance[node.index()])
        };
        let first = t.find(&self.hosts[0]).expect("a host's name");
        let leaf = working(t, &t.nodes[first.index()].ports).next().map(|p| p.peer);
        let Some(spine) = leaf.and_then(|leaf| up(leaf).next()) else { return Vec::new() };
        let one = |label, p: &Port| Failing {
            label,
            what: link_name(t, p.link),
            links: vec![link_name(t, p.link)],
        };
        let mut all = vec![one("leaf uplink", spine)];
        let links = working(t, &t.nodes[spine.peer.index()].ports);
        all.push(Failing {
            label: "spine switch",
            what: t.name(spine.peer).to_owned(),
            links: links.map(|p| link_name(t, p.link)).collect(),
        });
        all.extend(up(spine.peer).next().map(|p| one("superspine link", p)));
        // Hosts that a failure cuts off would show nothing else.
        all.retain(|f| {
            let mut t = t.clone();
            fail_links(&mut t, &f.links).is_ok() && is_connected_hosts(&t)
        });
        all
    }
}

fn working<'t>(t: &'t Topology, ports: &'t [Port]) -> impl Iterator<Item = &'t Port> {
    ports.iter().filter(|p| t.links[p.link as usize].up)
}

/// Names files from the folder of the scenario: the new one is elsewhere.
fn absolute(section: &mut Given, folder: &Path) {
    let names = match section.path.as_str() {
        "topology" => ["path", "links_file"],
        _ => return,
    };
    for (_, value) in section.values.iter_mut().filter(|(key, _)| names.contains(&key.as_str())) {
        // Basic strings of TOML escape as JSON's do.
        if let Ok(name) = serde_json::from_str::<String>(value) {
            *value = quoted(&folder.join(name).display().to_string());
        }
    }
}

/// A time as a scenario has it.
pub(crate) fn time(ps: u64) -> String {
    let (n, unit) = match ps {
        _ if ps.is_multiple_of(1_000_000) => (ps / 1_000_000, "us"),
        _ if ps.is_multiple_of(1_000) => (ps / 1_000, "ns"),
        _ => (ps, "ps"),
    };
    format!("\"{n}{unit}\"")
}
