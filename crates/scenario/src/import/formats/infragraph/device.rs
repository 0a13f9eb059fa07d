//! A device as a graph of components, with the devices in it; what of it becomes a network.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::rc::Rc;

use crate::{Problem, suggest};
use xoff_units::{Rate, Span};

use crate::import::tree::{Document, Tree};
use crate::import::{Network, Wire};

/// Largest number of nodes or edges that is built; a larger one is a mistake.
pub(super) const MAX: usize = 1 << 22;
/// The same, of a device with everything in it.
const MAX_INSIDE: usize = 1 << 16;

/// Use of a component for a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Xpu,
    Nic,
    Port,
    Switch,
    /// A device of its own.
    Device,
    Other,
}

/// Facts of the links of one name.
#[derive(Clone, Debug, Default)]
pub(super) struct LinkKind {
    pub name: String,
    pub rate: Option<Rate>,
    pub wire: Option<Wire>,
}

/// A component of a flat device.
#[derive(Clone, Debug)]
pub(super) struct Component {
    /// Name with the number, below those of the devices around it: `cx5.0.port.1`.
    pub path: String,
    pub role: Role,
    /// The unit that it is part of.
    unit: usize,
}

/// A component, or all of a device without xpus: a NIC with its ports.
#[derive(Clone, Debug)]
struct Unit {
    name: String,
    is_nic: bool,
}

/// A device whose components are all listed.
#[derive(Debug, Default)]
pub(super) struct Flat {
    pub components: Vec<Component>,
    pub index: HashMap<String, usize>,
    units: Vec<Unit>,
    edges: Vec<(usize, usize, Rc<LinkKind>)>,
    /// Components that are nodes of the network: xpus and scale-up switches. None: the device is
    /// one node.
    pub nodes: Vec<usize>,
    /// By component, the node that has its links; `None`: they cannot be used.
    pub owners: Vec<Option<usize>>,
    /// Links between the nodes.
    pub inside: Vec<(usize, usize, Rc<LinkKind>)>,
}

/// Components of a device, as declared.
struct Declared<'t> {
    tree: &'t Tree,
    /// Name, role and number.
    components: Vec<(&'t str, Role, usize)>,
    flat: Option<Rc<Flat>>,
    is_open: bool,
}

/// All devices by name.
pub(super) struct Devices<'t> {
    d: &'t Document,
    of: HashMap<&'t str, Declared<'t>>,
}

impl<'t> Devices<'t> {
    pub fn read(d: &'t Document, root: &'t Tree) -> Result<Devices<'t>, Problem> {
        let mut of = HashMap::new();
        for tree in d.list(d.need(root, "devices", "infrastructure")?, "devices")? {
            let at = d.need(tree, "name", "device")?;
            let mut components = Vec::new();
            for c in d.list(d.need(tree, "components", "device")?, "components")? {
                let role = role(d, d.need(c, "choice", "component")?)?;
                let count = d.count(d.need(c, "count", "component")?, "count", MAX as u64)?;
                let name = d.text(d.need(c, "name", "component")?, "name")?;
                components.push((name, role, count as usize));
            }
            let name = d.text(at, "name")?;
            let one = Declared { tree, components, flat: None, is_open: false };
            if of.insert(name, one).is_some() {
                let what = format!("device '{}' is defined twice", suggest::clip(name));
                return Err(d.problem(at, what, "keep one of the two"));
            }
        }
        Ok(Devices { d, of })
    }

    fn declared(&self, at: &Tree, name: &str) -> Result<&Declared<'t>, Problem> {
        self.of.get(name).ok_or_else(|| {
            let known: Vec<&str> = self.of.keys().copied().collect();
            let what = format!("there is no device '{}'", suggest::clip(name));
            self.d.problem(at, what, suggest::hint(name, "devices", &known))
        })
    }

    /// The device of this name with everything in it; `at` names it.
    pub fn flat(&mut self, at: &Tree, name: &str, out: &mut Network) -> Result<Rc<Flat>, Problem> {
        let declared = self.declared(at, name)?;
        if let Some(flat) = &declared.flat {
            return Ok(flat.clone());
        }
        let tree = declared.tree;
        if declared.is_open {
            let what = format!("device '{}' contains itself", suggest::clip(name));
            let hint = "expected devices within devices without a cycle";
            return Err(self.d.problem(at, what, hint));
        }
        let components = declared.components.clone();
        self.of.get_mut(name).expect("found above").is_open = true;
        let mut flat = Flat::default();
        for (component, role, count) in components {
            let within = match role {
                Role::Device => Some(self.flat(tree, component, out)?),
                _ => None,
            };
            let each = within.as_ref().map_or(1, |w| w.components.len() + w.edges.len());
            let before = flat.components.len() + flat.edges.len();
            if before + each.saturating_mul(count) > MAX_INSIDE {
                let what = format!("device '{}' has too many components", suggest::clip(name));
                return Err(self.d.problem(tree, what, format!("expected at most {MAX_INSIDE}")));
            }
            for i in 0..count {
                let path = format!("{component}.{i}");
                match &within {
                    Some(device) => flat.add_device(component, &path, device),
                    None => {
                        let unit = flat.unit(component, matches!(role, Role::Nic | Role::Port));
                        flat.add(path, role, unit);
                    }
                }
            }
        }
        let kinds = links(self.d, tree, "device", out)?;
        let mut seen = BTreeSet::new();
        for edge in self.d.list(self.d.need(tree, "edges", "device")?, "edges")? {
            let kind = kind(self.d, edge, &kinds)?;
            let end = |key: &str| self.components_of(edge, key, name, &flat);
            for (a, b) in joined(self.d, edge, &end("ep1")?, &end("ep2")?, out)? {
                if seen.insert((a.min(b), a.max(b))) {
                    flat.edges.push((a, b, kind.clone()));
                }
            }
        }
        flat.find_nodes();
        let flat = Rc::new(flat);
        self.of.get_mut(name).expect("found above").flat = Some(flat.clone());
        Ok(flat)
    }

    /// The components of an end of a device's edge.
    fn components_of(
        &self,
        edge: &Tree,
        key: &str,
        device: &str,
        flat: &Flat,
    ) -> Result<Vec<usize>, Problem> {
        let d = self.d;
        let end = d.need(edge, key, "edge")?;
        let at = d.need(end, "component", key)?;
        let within = end.given("device").map(|t| d.text(t, "device")).transpose()?;
        let text = within.map(|w| format!("{w}.")).unwrap_or_default() + d.text(at, "component")?;
        self.expand(at, device, &text, flat)
    }

    /// The components that a text such as `cx5[0:2].port[0]` names, by their place in the device.
    pub fn expand(
        &self,
        at: &Tree,
        device: &str,
        text: &str,
        flat: &Flat,
    ) -> Result<Vec<usize>, Problem> {
        let d = self.d;
        let mut paths = vec![String::new()];
        let mut inside = Some(device);
        for part in text.split('.') {
            let (name, slice) = split(d, at, part)?;
            let Some(device) = inside else {
                let what = format!("'{}' is inside no device", suggest::clip(part));
                return Err(d.problem(at, what, "expected the name of a component"));
            };
            let of = &self.declared(at, device)?.components;
            let Some(&(_, role, count)) = of.iter().find(|c| c.0 == name) else {
                let known: Vec<&str> = of.iter().map(|c| c.0).collect();
                let (device, component) = (suggest::clip(device), suggest::clip(name));
                let what = format!("device '{device}' has no component '{component}'");
                return Err(d.problem(at, what, suggest::hint(name, "components", &known)));
            };
            let numbers = slice.numbers(d, at, count)?;
            if paths.len().saturating_mul(numbers.len()) > MAX {
                let hint = format!("expected at most {MAX}");
                return Err(d.problem(at, "too many components", hint));
            }
            let dot = |path: &String| if path.is_empty() { "" } else { "." };
            let below = |path: &String| {
                let start = format!("{path}{}{name}", dot(path));
                numbers.iter().map(|i| format!("{start}.{i}")).collect::<Vec<_>>()
            };
            paths = paths.iter().flat_map(below).collect();
            inside = (role == Role::Device).then_some(name);
        }
        match inside {
            Some(device) => {
                let what = format!("'{}' is a device", suggest::clip(device));
                Err(d.problem(at, what, "expected a component of it, such as nic[0].port[0]"))
            }
            None => Ok(paths.iter().map(|path| flat.index[path]).collect()),
        }
    }
}

/// Role of a component, from its `choice`.
fn role(d: &Document, choice: &Tree) -> Result<Role, Problem> {
    Ok(match d.text(choice, "choice")? {
        "xpu" => Role::Xpu,
        "nic" => Role::Nic,
        "port" => Role::Port,
        "switch" => Role::Switch,
        "device" => Role::Device,
        "custom" | "cpu" | "memory" => Role::Other,
        other => {
            let known = ["custom", "device", "cpu", "xpu", "nic", "memory", "port", "switch"];
            let what = format!("unknown kind of component '{}'", suggest::clip(other));
            return Err(d.problem(choice, what, suggest::hint(other, "kinds", &known)));
        }
    })
}

impl Flat {
    fn unit(&mut self, name: &str, is_nic: bool) -> usize {
        self.units.push(Unit { name: name.to_owned(), is_nic });
        self.units.len() - 1
    }

    fn add(&mut self, path: String, role: Role, unit: usize) {
        self.index.insert(path.clone(), self.components.len());
        self.components.push(Component { path, role, unit });
    }

    fn add_device(&mut self, name: &str, path: &str, device: &Flat) {
        let (first, first_unit) = (self.components.len(), self.units.len());
        let is_nic = !device.has(Role::Xpu);
        if is_nic {
            self.unit(name, true);
        } else {
            self.units.extend_from_slice(&device.units);
        }
        for c in &device.components {
            let unit = first_unit + if is_nic { 0 } else { c.unit };
            self.add(format!("{path}.{}", c.path), c.role, unit);
        }
        let moved = device.edges.iter().map(|(a, b, kind)| (a + first, b + first, kind.clone()));
        self.edges.extend(moved);
    }

    /// True if a component has this role.
    pub fn has(&self, role: Role) -> bool {
        self.components.iter().any(|c| c.role == role)
    }

    /// Names of what is no part of a network.
    pub fn left_out(&self) -> BTreeSet<&str> {
        let out = self.components.iter().zip(&self.owners).filter(|(_, owner)| owner.is_none());
        out.map(|(c, _)| self.units[c.unit].name.as_str()).collect()
    }

    /// Finds the nodes, their links, and the owners.
    fn find_nodes(&mut self) {
        let role = |c: usize| self.components[c].role;
        let mut near: Vec<Vec<(usize, &str)>> = vec![Vec::new(); self.components.len()];
        for (a, b, kind) in &self.edges {
            near[*a].push((*b, &kind.name));
            near[*b].push((*a, &kind.name));
        }
        // A scale-up switch joins xpus by links that lead to nothing but xpus and switches. A PCIe
        // switch has CPUs, slots or NICs on the same links.
        let scales_up = |c: usize| {
            role(c) == Role::Switch
                && near[c].iter().any(|&(_, link)| {
                    let mut over = near[c].iter().filter(|n| n.1 == link).map(|n| role(n.0));
                    over.clone().filter(|r| *r == Role::Xpu).count() > 1
                        && over.all(|r| matches!(r, Role::Xpu | Role::Switch))
                })
        };
        let has_xpus = self.has(Role::Xpu);
        let is_node = |c: usize| has_xpus && (role(c) == Role::Xpu || scales_up(c));
        let nodes: Vec<usize> = (0..self.components.len()).filter(|&c| is_node(c)).collect();
        let place: HashMap<usize, usize> = nodes.iter().enumerate().map(|(i, &c)| (c, i)).collect();
        let both = |(a, b, kind): &(usize, usize, Rc<LinkKind>)| {
            Some((*place.get(a)?, *place.get(b)?, kind.clone()))
        };
        let inside = self.edges.iter().filter_map(both).collect();
        let mut owners = vec![None; self.components.len()];
        let mut load: HashMap<(&str, usize), u32> = HashMap::new();
        let mut units: Vec<Vec<usize>> = vec![Vec::new(); self.units.len()];
        self.components.iter().enumerate().for_each(|(c, of)| units[of.unit].push(c));
        for (own, Unit { name, is_nic }) in units.iter().zip(&self.units) {
            let owner = match own[..] {
                _ if nodes.is_empty() => Some(0),
                [one] if place.contains_key(&one) => Some(place[&one]),
                _ if *is_nic => {
                    let xpus = nearest(own, &near, |c| role(c) == Role::Xpu);
                    let least = |&c: &usize| (load.get(&(name.as_str(), c)).copied(), c);
                    let xpu = xpus.into_iter().min_by_key(least);
                    xpu.iter().for_each(|&c| *load.entry((name, c)).or_default() += 1);
                    xpu.map(|c| place[&c])
                }
                _ => None,
            };
            own.iter().for_each(|&c| owners[c] = owner);
        }
        (self.nodes, self.inside, self.owners) = (nodes, inside, owners);
    }
}

/// The nearest components that are wanted.
fn nearest(
    from: &[usize],
    near: &[Vec<(usize, &str)>],
    wanted: impl Fn(usize) -> bool,
) -> Vec<usize> {
    let mut seen: BTreeSet<usize> = from.iter().copied().collect();
    let mut ring: VecDeque<usize> = from.iter().copied().collect();
    while !ring.is_empty() {
        let around = ring.drain(..).flat_map(|c| near[c].iter().map(|n| n.0));
        let next: Vec<usize> = around.filter(|&c| seen.insert(c)).collect();
        let found: Vec<usize> = next.iter().copied().filter(|&c| wanted(c)).collect();
        if !found.is_empty() {
            return found;
        }
        ring.extend(next);
    }
    Vec::new()
}

/// The links of a device or of the infrastructure, by name.
pub(super) fn links(
    d: &Document,
    at: &Tree,
    what: &str,
    out: &mut Network,
) -> Result<HashMap<String, Rc<LinkKind>>, Problem> {
    let mut all = HashMap::new();
    for link in d.list(d.need(at, "links", what)?, "links")? {
        let name = d.text(d.need(link, "name", "link")?, "name")?;
        let mut kind = LinkKind { name: name.to_owned(), ..LinkKind::default() };
        // Programs write a choice without its value where nothing was set.
        let value = |key: &str| -> Result<Option<(&str, &str)>, Problem> {
            let Some(of) = link.given("physical").and_then(|p| p.given(key)) else {
                return Ok(None);
            };
            let Some(choice) = of.given("choice") else { return Ok(None) };
            let choice = d.text(choice, "choice")?;
            of.given(choice).map(|v| Ok((choice, d.word(v, choice)?))).transpose()
        };
        let refuse =
            |e: xoff_units::UnitError| d.problem(link, e.what, format!("expected {}", e.expected));
        if let Some((unit, number)) = value("bandwidth")? {
            let rate = || format!("{number}Gbps").parse::<Rate>().map_err(refuse);
            kind.rate = match unit {
                "gigabits_per_second" => Some(rate()?),
                "gigabytes_per_second" => Some(Rate(rate()?.0.saturating_mul(8))),
                _ => {
                    out.leave_out(format!("{unit} of link {}", suggest::clip(name)));
                    None
                }
            };
        }
        if let Some((unit, number)) = value("latency")? {
            let delay = format!("{number}{unit}").parse::<Span>().map_err(refuse)?;
            kind.wire = Some(Wire::Delay(delay));
        }
        all.insert(name.to_owned(), Rc::new(kind));
    }
    Ok(all)
}

/// The link of an edge.
pub(super) fn kind(
    d: &Document,
    edge: &Tree,
    kinds: &HashMap<String, Rc<LinkKind>>,
) -> Result<Rc<LinkKind>, Problem> {
    let link = d.need(edge, "link", "edge")?;
    let name = d.text(link, "link")?;
    kinds.get(name).cloned().ok_or_else(|| {
        let known: Vec<&str> = kinds.keys().map(String::as_str).collect();
        let what = format!("there is no link '{}'", suggest::clip(name));
        d.problem(link, what, suggest::hint(name, "links", &known))
    })
}

/// The pairs of an edge, by its scheme.
pub(super) fn joined<T: Clone + PartialEq>(
    d: &Document,
    edge: &Tree,
    a: &[T],
    b: &[T],
    out: &mut Network,
) -> Result<Vec<(T, T)>, Problem> {
    let scheme = d.need(edge, "scheme", "edge")?;
    let pairs: Vec<(&T, &T)> = match d.text(scheme, "scheme")? {
        "one2one" => {
            if a.len() != b.len() {
                out.leave_out("components of one2one edges with more on one end");
            }
            a.iter().zip(b).collect()
        }
        "many2many" if a.len().saturating_mul(b.len()) <= MAX => {
            a.iter().flat_map(|x| b.iter().map(move |y| (x, y))).collect()
        }
        "many2many" => {
            let hint = format!("expected at most {MAX}");
            return Err(d.problem(edge, "more edges than fit", hint));
        }
        other => {
            let what = format!("scheme '{}' is not read", suggest::clip(other));
            return Err(d.problem(scheme, what, "expected one2one or many2many"));
        }
    };
    Ok(pairs.into_iter().filter(|(x, y)| x != y).map(|(x, y)| (x.clone(), y.clone())).collect())
}

/// Numbers of a slice: all, `[2]`, `[0:4]`, `[:8:2]`.
pub(super) struct Slice<'s>(Option<&'s str>);

/// A name and its slice.
pub(super) fn split<'s>(
    d: &Document,
    at: &Tree,
    text: &'s str,
) -> Result<(&'s str, Slice<'s>), Problem> {
    match text.split_once('[') {
        None => Ok((text, Slice(None))),
        Some((name, rest)) => match rest.strip_suffix(']') {
            Some(inside) => Ok((name, Slice(Some(inside)))),
            None => {
                let what = format!("'{}' has no ]", suggest::clip(text));
                Err(d.problem(at, what, "expected a form such as nic[0:4]"))
            }
        },
    }
}

impl Slice<'_> {
    /// The numbers, all below `count`.
    pub fn numbers(&self, d: &Document, at: &Tree, count: usize) -> Result<Vec<usize>, Problem> {
        let Some(text) = self.0 else { return Ok((0..count).collect()) };
        let refuse = || {
            let what = format!("[{}] is no slice of {count}", suggest::clip(text));
            d.problem(at, what, "expected a form such as [0], [0:4] or [0:8:2] within the count")
        };
        let parts: Vec<&str> = text.split(':').collect();
        let part = |i: usize, default: usize| match parts.get(i) {
            None | Some(&"") => Ok(default),
            Some(word) => word.parse::<usize>().map_err(|_| refuse()),
        };
        let (start, stop, step) = match parts.len() {
            1 => {
                let number = part(0, count)?;
                (number, number.saturating_add(1), 1)
            }
            2 | 3 => (part(0, 0)?, part(1, count)?, part(2, 1)?),
            _ => return Err(refuse()),
        };
        if stop > count || step == 0 {
            return Err(refuse());
        }
        Ok((start..stop).step_by(step).collect())
    }
}
