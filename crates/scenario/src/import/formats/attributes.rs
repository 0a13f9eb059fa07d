//! Attributes of nodes and links in graphs of any format: the meaning and unit of each name.

use crate::{Place, Problem, suggest};
use xoff_net::topology::NodeKind;
use xoff_units::{Length, Rate, Span};

use crate::import::tree::Item;
use crate::import::{Options, Wire};

/// An attribute with its place.
pub(super) struct Attribute<'t> {
    pub name: &'t str,
    pub item: Item,
    pub place: Place,
}

impl Attribute<'_> {
    fn problem(&self, what: impl std::fmt::Display, hint: impl Into<String>) -> Problem {
        Problem::new(format!("{}: {what}", self.name), hint).at(self.place.clone())
    }

    fn text(&self) -> Result<&str, Problem> {
        match &self.item {
            Item::Text(t) | Item::Number(t) => Ok(t.trim()),
            _ => {
                Err(self
                    .problem("found neither a text nor a number", "expected a text or a number"))
            }
        }
    }

    fn number(&self) -> Result<f64, Problem> {
        match self.text()?.parse::<f64>() {
            Ok(v) if v.is_finite() && v >= 0.0 => Ok(v),
            _ => Err(self.problem(
                format!("'{}' is not a number from 0", suggest::clip(self.text()?)),
                "expected a number such as 0.5",
            )),
        }
    }

    fn is_plain(&self) -> bool {
        self.text().is_ok_and(|t| t.parse::<f64>().is_ok())
    }

    /// A rate.
    pub fn rate(&self) -> Result<Rate, Problem> {
        self.quantity()
    }

    /// A quantity with a unit.
    fn quantity<T: std::str::FromStr<Err = xoff_units::UnitError>>(&self) -> Result<T, Problem> {
        self.text()?
            .parse::<T>()
            .map_err(|e| self.problem(e.what, format!("expected {}", e.expected)))
    }
}

/// Result of a link's attributes.
#[derive(Default)]
pub(super) struct LinkFacts {
    pub rate: Option<Rate>,
    pub wire: Option<Wire>,
    pub a_port: Option<String>,
    pub b_port: Option<String>,
    /// Attributes that mean nothing here.
    pub unknown: Vec<String>,
}

/// Attributes of a link that are known to say nothing about rate or length.
const SILENT: &[&str] = &["key", "id", "label", "name", "LinkLabel", "LinkType", "LinkNote"];

/// Reads a link's attributes; two with the same meaning must agree.
pub(super) fn link(attributes: &[Attribute<'_>], options: &Options) -> Result<LinkFacts, Problem> {
    let mut facts = LinkFacts::default();
    for a in attributes {
        let fits = |v: f64| v <= u64::MAX as f64;
        match a.name {
            "rate_bps" | "LinkSpeedRaw" => {
                set_rate(&mut facts, a, Rate(round(a, a.number()?, fits)?))?
            }
            "rate" | "speed" | "bandwidth" | "capacity" => {
                let rate = match (a.is_plain(), options.unit) {
                    (false, _) => a.rate()?,
                    (true, Some(unit)) => Rate(round(a, a.number()? * unit.as_f64(), fits)?),
                    (true, None) => {
                        let hint = "write the number with its unit, such as \"100Gbps\", or set the unit of all: --unit Gbps";
                        return Err(a.problem(format!("{} has no unit", a.text()?), hint));
                    }
                };
                set_rate(&mut facts, a, rate)?;
            }
            "delay_ps" => set_wire(&mut facts, a, Wire::Delay(Span(round(a, a.number()?, fits)?)))?,
            "delay" | "latency" => set_wire(&mut facts, a, Wire::Delay(a.quantity()?))?,
            "length_m" => {
                set_wire(&mut facts, a, Wire::Length(Length(round(a, a.number()? * 1e3, fits)?)))?
            }
            "length" => set_wire(&mut facts, a, Wire::Length(a.quantity()?))?,
            // As topohub writes it, in kilometres.
            "dist" if a.is_plain() => {
                set_wire(&mut facts, a, Wire::Length(Length(round(a, a.number()? * 1e6, fits)?)))?
            }
            "dist" => set_wire(&mut facts, a, Wire::Length(a.quantity()?))?,
            "source_port" | "a_port" => facts.a_port = Some(port(a)?),
            "target_port" | "b_port" => facts.b_port = Some(port(a)?),
            name if SILENT.contains(&name) => {}
            name => facts.unknown.push(name.to_owned()),
        }
    }
    Ok(facts)
}

fn port(a: &Attribute<'_>) -> Result<String, Problem> {
    let text = a.text()?;
    if !suggest::is_name(text) || text.contains('"') {
        return Err(a.problem(
            format!("'{}' is not the name of a port", suggest::clip(text)),
            "expected a name without spaces",
        ));
    }
    Ok(text.to_owned())
}

fn round(a: &Attribute<'_>, value: f64, fits: impl Fn(f64) -> bool) -> Result<u64, Problem> {
    // A number above 2^53 in the file keeps its digits.
    if let Ok(exact) = a.text()?.parse::<u64>()
        && value == exact as f64
    {
        return Ok(exact);
    }
    if fits(value) {
        Ok(value.round() as u64)
    } else {
        Err(a.problem("out of range", "expected a smaller number"))
    }
}

fn set_rate(facts: &mut LinkFacts, a: &Attribute<'_>, rate: Rate) -> Result<(), Problem> {
    if rate == Rate::ZERO {
        return Err(a.problem("the rate of the link is 0", "expected a rate above 0"));
    }
    match facts.rate.replace(rate) {
        Some(other) if other != rate => Err(a.problem(
            format!("{rate}, but another attribute gives {other}"),
            "keep one of the two",
        )),
        _ => Ok(()),
    }
}

fn set_wire(facts: &mut LinkFacts, a: &Attribute<'_>, wire: Wire) -> Result<(), Problem> {
    match facts.wire.replace(wire) {
        Some(other) if other.delay() != wire.delay() => Err(a.problem(
            format!("{}, but another attribute gives {}", wire.delay(), other.delay()),
            "keep one of them; 1 m is 5 ns",
        )),
        _ => Ok(()),
    }
}

/// Facts that a node's attributes give.
#[derive(Default)]
pub(super) struct NodeFacts {
    pub kind: Option<NodeKind>,
    /// Kind from other attributes, `type` or `role`: useful if all nodes have them and none has a
    /// kind.
    pub kind_by_type: Option<NodeKind>,
    pub level: Option<u8>,
    pub unknown: Vec<String>,
}

/// Reads a node's attributes.
pub(super) fn node(attributes: &[Attribute<'_>]) -> Result<NodeFacts, Problem> {
    let mut facts = NodeFacts::default();
    for a in attributes {
        match a.name {
            "kind" => {
                facts.kind = Some(match a.text()? {
                    "host" => NodeKind::Host,
                    "switch" => NodeKind::Switch,
                    other => {
                        return Err(a.problem(
                            format!("unknown kind '{}'", suggest::clip(other)),
                            "expected host or switch",
                        ));
                    }
                });
            }
            "type" | "role" | "node_type" if a.text().is_ok_and(|t| by_type(t).is_some()) => {
                facts.kind_by_type = by_type(a.text()?)
            }
            "level" => {
                let level = a.text()?.parse::<u8>();
                facts.level = Some(level.map_err(|_| {
                    a.problem("not a level", "expected a whole number from 0 to 255")
                })?);
            }
            "name" | "label" | "rack" | "pos" | "id" => {}
            name => facts.unknown.push(name.to_owned()),
        }
    }
    Ok(facts)
}

/// Kind of a node, by a word.
fn by_type(word: &str) -> Option<NodeKind> {
    match word.to_ascii_lowercase().as_str() {
        "host" | "server" => Some(NodeKind::Host),
        "switch" | "router" => Some(NodeKind::Switch),
        _ => None,
    }
}
