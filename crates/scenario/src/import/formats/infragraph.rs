//! InfraGraph: an infrastructure of devices, instances, links and edges, in YAML or JSON.
//!
//! ```text
//!   instance server[0]                                            instance leaf[0]
//!     xpu.0 --nvlink-- nvsw.0    xpu.0 --pcie-- pciesw.0 --- nic.0 ==edge== port.0 -- asic.0
//!
//!   server.0.xpu.0 -- server.0.nvsw.0                     a host for each xpu, a scale-up switch
//!   server.0.xpu.0 ------------------------ leaf.0        its NIC's link; a switch for each instance of ports
//! ```
//!
//! A NIC belongs to the xpu that is nearest in the device; of equally near ones, to the one with the
//! fewest NICs of its kind. What else is inside a device (PCIe, CPUs, memory) is left out.

mod device;

use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;

use crate::{Place, Problem, Problems, Source, suggest};
use xoff_net::topology::NodeKind;

use self::device::{Devices, Flat, LinkKind, MAX, Role};
use crate::import::network::Names;
use crate::import::tree::{Document, Tree};
use crate::import::{End, Link, Network, Options, json, yaml};

/// One line for help.
pub const DOC: &str = "InfraGraph's infrastructure, YAML or JSON: one file";

/// Reads it.
pub(super) fn read(sources: &[Arc<Source>], _: &Options) -> Result<Network, Problems> {
    let source = super::only(sources, DOC)?;
    let is_json = source.text().trim_start().starts_with('{');
    let d = if is_json { json::parse(source)? } else { yaml::parse(source)? };
    let root = d.root.given("infrastructure").unwrap_or(&d.root);
    let mut network = Network {
        title: root.given("name").and_then(Tree::as_text).unwrap_or_default().to_owned(),
        ..Network::default()
    };
    if d.root.given("annotations").is_some() {
        network.leave_out("annotations");
    }
    let mut devices = Devices::read(&d, root)?;
    let instances = Instances::read(&d, root, &mut devices, &mut network)?;
    let edges = instances.edges(&d, root, &devices, &mut network)?;
    Ok(instances.build(&d, &edges, network)?)
}

/// Devices of one kind under a name.
struct Instance<'t> {
    name: &'t str,
    device: &'t str,
    count: usize,
    flat: Rc<Flat>,
    /// Number of the first node of all.
    first: usize,
    place: Place,
}

impl Instance<'_> {
    /// Nodes of each device.
    fn width(&self) -> usize {
        self.flat.nodes.len().max(1)
    }

    /// Name, kind and level of a node of device `index`.
    fn node(&self, index: usize, node: usize) -> (String, NodeKind, Option<u8>) {
        let own = format!("{}.{index}", self.name);
        let Some(&component) = self.flat.nodes.get(node) else {
            let is_switch = !self.flat.has(Role::Nic)
                && (self.flat.has(Role::Port) || self.flat.has(Role::Switch));
            return (own, if is_switch { NodeKind::Switch } else { NodeKind::Host }, None);
        };
        let component = &self.flat.components[component];
        let name = format!("{own}.{}", component.path);
        match component.role {
            Role::Xpu => (name, NodeKind::Host, None),
            _ => (name, NodeKind::Switch, Some(0)),
        }
    }
}

/// A component of one device.
#[derive(Clone, Debug, PartialEq)]
struct Reached {
    instance: usize,
    index: usize,
    component: usize,
}

/// An edge between two devices.
struct Edge<'t> {
    ends: [Reached; 2],
    kind: Rc<LinkKind>,
    at: &'t Tree,
}

/// A link of the network.
struct Joined<'a> {
    /// Numbers of the nodes.
    ends: [usize; 2],
    ports: [Option<&'a str>; 2],
    kind: &'a LinkKind,
    place: Place,
}

struct Instances<'t> {
    all: Vec<Instance<'t>>,
    by_name: HashMap<&'t str, usize>,
    /// Nodes in all.
    nodes: usize,
}

impl<'t> Instances<'t> {
    fn read(
        d: &'t Document,
        root: &'t Tree,
        devices: &mut Devices<'t>,
        network: &mut Network,
    ) -> Result<Instances<'t>, Problem> {
        let mut read = Instances { all: Vec::new(), by_name: HashMap::new(), nodes: 0 };
        for at in d.list(d.need(root, "instances", "infrastructure")?, "instances")? {
            let name = d.text(d.need(at, "name", "instance")?, "name")?;
            let of = d.need(at, "device", "instance")?;
            let device = d.text(of, "device")?;
            let flat = devices.flat(of, device, network)?;
            let out: Vec<String> = flat.left_out().into_iter().map(suggest::clip).collect();
            if !out.is_empty() {
                let what = format!("{} of device {}", out.join(", "), suggest::clip(device));
                network.leave_out(what);
            }
            let count = d.need(at, "count", "instance")?;
            let one = Instance {
                name,
                device,
                count: d.count(count, "count", MAX as u64)? as usize,
                flat,
                first: read.nodes,
                place: d.place(at),
            };
            let each = one.width() + one.flat.inside.len();
            read.nodes += one.count.saturating_mul(one.width());
            if read.nodes > MAX || one.count.saturating_mul(each) > MAX {
                let hint = format!("expected at most {MAX} nodes and links");
                return Err(d.problem(count, "more nodes than fit", hint));
            }
            if read.by_name.insert(name, read.all.len()).is_some() {
                let what = format!("instance '{}' is defined twice", suggest::clip(name));
                return Err(d.problem(at, what, "keep one of the two"));
            }
            read.all.push(one);
        }
        Ok(read)
    }

    fn edges(
        &self,
        d: &Document,
        root: &'t Tree,
        devices: &Devices<'_>,
        network: &mut Network,
    ) -> Result<Vec<Edge<'t>>, Problem> {
        if let Some(old) = root.given("connections") {
            let hint = "write the file with a version of InfraGraph that has edges";
            return Err(d.problem(old, "connections are of an earlier schema", hint));
        }
        let kinds = device::links(d, root, "infrastructure", network)?;
        let mut edges = Vec::new();
        for at in d.list(d.need(root, "edges", "infrastructure")?, "edges")? {
            let kind = device::kind(d, at, &kinds)?;
            let a = self.reached(d, at, "ep1", devices)?;
            let b = self.reached(d, at, "ep2", devices)?;
            let pairs = device::joined(d, at, &a, &b, network)?;
            if edges.len() + pairs.len() > MAX {
                return Err(d.problem(
                    at,
                    "more edges than fit",
                    format!("expected at most {MAX}"),
                ));
            }
            edges.extend(pairs.into_iter().map(|(a, b)| Edge {
                ends: [a, b],
                kind: kind.clone(),
                at,
            }));
        }
        Ok(edges)
    }

    /// The components at one end of an edge, by device and then by component.
    fn reached(
        &self,
        d: &Document,
        edge: &Tree,
        key: &str,
        devices: &Devices<'_>,
    ) -> Result<Vec<Reached>, Problem> {
        let end = d.need(edge, key, "edge")?;
        let of = d.need(end, "instance", key)?;
        let (name, slice) = device::split(d, of, d.text(of, "instance")?)?;
        let Some(&instance) = self.by_name.get(name) else {
            let known: Vec<&str> = self.by_name.keys().copied().collect();
            let what = format!("there is no instance '{}'", suggest::clip(name));
            return Err(d.problem(of, what, suggest::hint(name, "instances", &known)));
        };
        let at = d.need(end, "component", key)?;
        let one = &self.all[instance];
        let components = devices.expand(at, one.device, d.text(at, "component")?, &one.flat)?;
        let indices = slice.numbers(d, of, one.count)?;
        if indices.len().saturating_mul(components.len()) > MAX {
            return Err(d.problem(at, "too many components", format!("expected at most {MAX}")));
        }
        let reach = |&index: &usize| {
            components.iter().map(move |&component| Reached { instance, index, component })
        };
        Ok(indices.iter().flat_map(reach).collect())
    }

    /// Links between devices come first, so that NICs are the first ports of a host.
    fn build(
        &self,
        d: &Document,
        edges: &[Edge<'_>],
        mut network: Network,
    ) -> Result<Network, Problem> {
        let mut links: Vec<Joined<'_>> = Vec::new();
        // A switch that is joined to xpus alone scales up.
        let mut scales_up = vec![true; self.nodes];
        let role = |r: &Reached| self.all[r.instance].flat.components[r.component].role;
        for Edge { ends, kind, at } in edges {
            let [a, b] = [self.node(d, at, &ends[0])?, self.node(d, at, &ends[1])?];
            scales_up[a] &= role(&ends[1]) == Role::Xpu;
            scales_up[b] &= role(&ends[0]) == Role::Xpu;
            let ports = [0, 1].map(|i| {
                let Reached { instance, component, .. } = ends[i];
                Some(self.all[instance].flat.components[component].path.as_str())
            });
            links.push(Joined { ends: [a, b], ports, kind, place: d.place(at) });
        }
        let mut is_linked = vec![edges.is_empty(); self.nodes];
        links.iter().flat_map(|l| l.ends).for_each(|n| is_linked[n] = true);
        for one in &self.all {
            for first in (0..one.count).map(|i| one.first + i * one.width()) {
                // A device takes part as a whole, or not at all.
                if !is_linked[first..first + one.width()].contains(&true) {
                    continue;
                }
                for (a, b, kind) in &one.flat.inside {
                    let ends = [first + a, first + b];
                    ends.iter().for_each(|&n| is_linked[n] = true);
                    let place = one.place.clone();
                    links.push(Joined { ends, ports: [None; 2], kind, place });
                }
            }
        }
        let (mut names, mut places, mut idle) = (Names::default(), vec![0; self.nodes], 0);
        for one in &self.all {
            for own in 0..one.count * one.width() {
                let number = one.first + own;
                if !is_linked[number] {
                    idle += 1;
                    continue;
                }
                let (name, kind, level) = one.node(own / one.width(), own % one.width());
                places[number] = network.add_node(&mut names, &name, kind, one.place.clone())?;
                let is_beside = kind == NodeKind::Switch && scales_up[number];
                network.nodes[places[number]].level = level.or(is_beside.then_some(0));
            }
        }
        if idle > 0 {
            network.leave_out(format!("{idle} hosts or switches without a link"));
        }
        let mut labels = HashSet::new();
        for Joined { ends, ports, kind, place } in links {
            let mut end = |i: usize| {
                let port = ports[i].filter(|port| labels.insert((ends[i], *port)));
                End { node: places[ends[i]], port: port.map(str::to_owned) }
            };
            let (a, b) = (end(0), end(1));
            network.links.push(Link { a, b, rate: kind.rate, wire: kind.wire, place });
        }
        Ok(network)
    }

    /// The node that has the links of a component.
    fn node(&self, d: &Document, at: &Tree, r: &Reached) -> Result<usize, Problem> {
        let one = &self.all[r.instance];
        let owner = one.flat.owners[r.component].ok_or_else(|| {
            let (path, device) =
                (&one.flat.components[r.component].path, suggest::clip(one.device));
            let hint = "expected an xpu, or a nic or port that the device's edges join to one";
            d.problem(at, format!("'{path}' of device '{device}' belongs to no xpu"), hint)
        })?;
        Ok(one.first + r.index * one.width() + owner)
    }
}
