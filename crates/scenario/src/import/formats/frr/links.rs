//! Neighbours of interfaces.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::{Place, Problem, Problems, Source, suggest};
use xoff_units::Rate;

use super::prefix::Prefix;
use crate::import::Options;
use crate::import::formats::containerlab;
use crate::import::tree::{Document, Tree};

/// Router and interface.
pub(super) type Interface = (String, String);

/// Links in the files.
#[derive(Default)]
pub(super) struct Wiring {
    pub edges: Vec<(Interface, Interface, Place)>,
    /// Peer of each interface.
    at: BTreeMap<Interface, (Interface, Place)>,
    pub rate_of: BTreeMap<Interface, Rate>,
    /// Interfaces in each small subnet.
    subnets: BTreeMap<Prefix, Vec<(Interface, Place)>>,
}

impl Wiring {
    fn add(&mut self, a: Interface, b: Interface, place: Place) -> Result<(), Problem> {
        for (x, y) in [(&a, &b), (&b, &a)] {
            if let Some((other, first)) = self.at.get(x) {
                if other == y {
                    return Ok(());
                }
                let what = format!(
                    "{} {} is wired to {} {} here, but to {} {} at {first}",
                    x.0, x.1, y.0, y.1, other.0, other.1
                );
                return Err(Problem::new(what, "an interface has one link").at(place));
            }
        }
        self.at.insert(a.clone(), (b.clone(), place.clone()));
        self.at.insert(b.clone(), (a.clone(), place.clone()));
        self.edges.push((a, b, place));
        Ok(())
    }

    /// Batfish's `layer1_topology.json`.
    ///
    /// # Errors
    /// A text that has another shape, and an interface with two links.
    pub fn layer1(&mut self, d: &Document) -> Result<(), Problem> {
        for edge in d.list(d.need(&d.root, "edges", "layer1_topology.json")?, "edges")? {
            let end = |key: &str| -> Result<Interface, Problem> {
                let node = d.need(edge, key, "edge")?;
                let (host, interface) =
                    (d.need(node, "hostname", key)?, d.need(node, "interfaceName", key)?);
                Ok((
                    d.text(host, "hostname")?.to_owned(),
                    d.text(interface, "interfaceName")?.to_owned(),
                ))
            };
            self.add(end("node1")?, end("node2")?, d.place(edge))?;
        }
        Ok(())
    }

    /// A lab of containerlab.
    ///
    /// # Errors
    /// All problems of the lab, each with its place.
    pub fn containerlab(&mut self, source: &Arc<Source>) -> Result<(), Problems> {
        let lab = containerlab::read(std::slice::from_ref(source), &Options::default())?;
        for link in lab.links {
            let end = |e: &crate::import::End| {
                (lab.nodes[e.node].name.clone(), e.port.clone().unwrap_or_default())
            };
            let (a, b) = (end(&link.a), end(&link.b));
            self.rate_of.extend(link.rate.map(|rate| (a.clone(), rate)));
            self.add(a, b, link.place)?;
        }
        Ok(())
    }

    /// Batfish's `runtime_data.json`.
    ///
    /// # Errors
    /// A text that has another shape, and a speed of 0.
    pub fn rates(&mut self, d: &Document) -> Result<(), Problem> {
        for (router, data) in
            d.object(d.need(&d.root, "runtimeData", "runtime_data.json")?, "runtimeData")?
        {
            let Some(interfaces) = data.get("interfaces") else { continue };
            for (interface, facts) in d.object(interfaces, "interfaces")? {
                if let Some(speed) = facts.given("speed").or(facts.given("bandwidth")) {
                    let rate = Rate(d.count(speed, "speed", u64::MAX)?);
                    if rate == Rate::ZERO {
                        return Err(d.problem(speed, "speed 0", "expected bit/s above 0"));
                    }
                    self.rate_of.insert((router.name.clone(), interface.name.clone()), rate);
                }
            }
        }
        Ok(())
    }

    /// `show interface brief json`.
    ///
    /// # Errors
    /// A text that has another shape, and an address that is none.
    pub fn addresses(&mut self, router: &str, d: &Document) -> Result<(), Problem> {
        for (interface, facts) in d.object(&d.root, "show interface brief json")? {
            let Some(addresses) = facts.given("addresses") else { continue };
            if facts.get("status").and_then(Tree::as_text).is_some_and(|s| s != "up") {
                continue;
            }
            for address in d.list(addresses, "addresses")? {
                let text = match address.get("address") {
                    Some(inner) => d.text(inner, "address")?,
                    None => d.text(address, "address")?,
                };
                let bad = |what: String| {
                    d.problem(
                        address,
                        format!("'{}': {what}", suggest::clip(text)),
                        "expected a form such as 10.1.1.0/31",
                    )
                };
                let (prefix, _) = Prefix::read(text).map_err(bad)?;
                if prefix.is_link() {
                    let seat = (router.to_owned(), interface.name.clone());
                    self.subnets.entry(prefix).or_default().push((seat, d.place(address)));
                }
            }
        }
        Ok(())
    }

    /// Two interfaces of one small subnet are a link, where no file says more.
    ///
    /// # Errors
    /// A subnet with a third interface.
    pub fn shared_subnets(&mut self) -> Result<(), Problem> {
        for (prefix, seats) in std::mem::take(&mut self.subnets) {
            match seats.as_slice() {
                [(a, place), (b, _)] if !self.at.contains_key(a) && !self.at.contains_key(b) => {
                    self.add(a.clone(), b.clone(), place.clone())?;
                }
                [_, _, (third, place), ..] => {
                    let what =
                        format!("{} {} is the third interface in {prefix}", third.0, third.1);
                    return Err(Problem::new(
                        what,
                        "expected two interfaces in the network of a link",
                    )
                    .at(place.clone()));
                }
                _ => {}
            }
        }
        Ok(())
    }
}
