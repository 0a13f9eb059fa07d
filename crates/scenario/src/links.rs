//! Links in short form: one line each, by hand or as a table.
//!
//! ```text
//!   leaf1 spine1 400Gbps 300m                       two nodes, rate, length (5 ns a metre) or delay, in any order after the nodes
//!   leaf1:Ethernet8 spine1:Ethernet0 400Gbps 1.5us  with the names of the ports
//!
//!   a,b,rate,length,delay,a_port,b_port             the same as a CSV file; a and b are required, the columns are in any order
//! ```

use std::collections::HashSet;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use xoff_net::topology::builders::custom::{LinkSpec, NodeSpec};
use xoff_net::topology::{NodeKind, Topology};
use xoff_units::{Length, Rate, Span};

use crate::suggest::clip;
use crate::table::{Fields, Refusal};
use crate::{Problems, Source};

/// A link as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShortLink {
    /// First end, `node` or `node:port`.
    pub a: String,
    /// Second end.
    pub b: String,
    /// Name of the first end's port, where it has a place of its own.
    pub a_port: Option<String>,
    /// Name of the second end's port.
    pub b_port: Option<String>,
    /// Rate of each direction [bit/s].
    pub rate: Option<Rate>,
    /// Propagation delay [ps].
    pub delay: Option<Span>,
}

/// Expected form of a line.
const EXPECTED: &str =
    "expected two nodes, a rate and a length or delay, such as \"leaf1 spine1 400Gbps 300m\"";

/// Reads one line.
///
/// # Errors
/// The problem, and the expected form.
pub fn line(text: &str) -> Result<ShortLink, Refusal> {
    let refuse = |what: String| Err((what, EXPECTED.to_owned()));
    let mut words = text.split_whitespace();
    let (Some(a), Some(b)) = (words.next(), words.next()) else {
        return refuse(format!("'{}' does not name two nodes", clip(text)));
    };
    let mut link =
        ShortLink { a: a.into(), b: b.into(), a_port: None, b_port: None, rate: None, delay: None };
    for word in words {
        match quantity(word) {
            Some(Quantity::Rate(rate)) if link.rate.is_none() => link.rate = Some(rate),
            Some(Quantity::Delay(delay)) if link.delay.is_none() => link.delay = Some(delay),
            Some(Quantity::Rate(_)) => return refuse(format!("'{}' is a second rate", clip(word))),
            Some(Quantity::Delay(_)) => {
                return refuse(format!("'{}' is a second length or delay", clip(word)));
            }
            None => {
                return refuse(format!(
                    "'{}' is neither a rate, nor a length, nor a delay",
                    clip(word)
                ));
            }
        }
    }
    Ok(link)
}

enum Quantity {
    Rate(Rate),
    Delay(Span),
}

fn quantity(word: &str) -> Option<Quantity> {
    let rate = word.parse().ok().map(Quantity::Rate);
    let delay = || word.parse().ok().map(Quantity::Delay);
    let length = || word.parse::<Length>().ok().map(|l| Quantity::Delay(l.propagation()));
    rate.or_else(delay).or_else(length)
}

const COLUMNS: [&str; 7] = ["a", "b", "rate", "length", "delay", "a_port", "b_port"];

/// Links of a table, each with where it stands.
pub type Rows = Vec<(ShortLink, Range<usize>)>;

/// Reads a table of links; each comes with the bytes of its record.
///
/// # Errors
/// Everything wrong with it, each with its place.
pub fn table(source: &Arc<Source>) -> Result<Rows, Problems> {
    crate::table::read(source, &COLUMNS, &COLUMNS[..2], row)
}

/// One record, given its fields by name.
fn row(fields: &Fields<'_>) -> Result<ShortLink, Refusal> {
    let field = |key: &str| fields.get(key);
    let name = |key: &str| {
        field(key)
            .map(str::to_owned)
            .ok_or_else(|| (format!("'{key}' is empty"), "expected the name of a node".into()))
    };
    let problem = |key: &str, e: xoff_units::UnitError| {
        (format!("{key}: {}", e.what), format!("expected {}", e.expected))
    };
    let rate =
        field("rate").map(|t| t.parse::<Rate>().map_err(|e| problem("rate", e))).transpose()?;
    let length = field("length")
        .map(|t| t.parse::<Length>().map_err(|e| problem("length", e)))
        .transpose()?;
    let delay =
        field("delay").map(|t| t.parse::<Span>().map_err(|e| problem("delay", e))).transpose()?;
    if length.is_some() && delay.is_some() {
        return Err(("both a length and a delay".into(), "keep one of them; 1 m is 5 ns".into()));
    }
    let port = |key: &str| field(key).map(str::to_owned);
    let delay = delay.or(length.map(Length::propagation));
    Ok(ShortLink {
        a: name("a")?,
        b: name("b")?,
        a_port: port("a_port"),
        b_port: port("b_port"),
        rate,
        delay,
    })
}

/// Reads the table in a file.
///
/// # Errors
/// The file cannot be read, or the problem in it.
pub fn file(path: &Path) -> Result<(Arc<Source>, Rows), Problems> {
    let source = Source::read(path)?;
    let links = table(&source)?;
    Ok((source, links))
}

/// Nodes and ports of short links, collected.
pub struct Ends<'n> {
    known: HashSet<&'n str>,
    /// Nodes that no list names, in the order in which links name them: switches.
    pub further: Vec<NodeSpec>,
    seen: HashSet<String>,
    /// Names of ports in use, by node.
    ports: HashSet<(String, String)>,
    /// Names of the two ports of each link.
    pub labels: Vec<(Option<String>, Option<String>)>,
}

impl<'n> Ends<'n> {
    /// With the nodes that lists name.
    pub fn of(listed: &'n [NodeSpec]) -> Ends<'n> {
        let known = listed.iter().map(|n| n.name.as_str()).collect();
        Ends {
            known,
            further: Vec::new(),
            seen: HashSet::new(),
            ports: HashSet::new(),
            labels: Vec::new(),
        }
    }

    /// Takes a link; rate and delay fall back to `wire`.
    ///
    /// # Errors
    /// A port is in another link already, or is named twice.
    pub fn take(&mut self, link: ShortLink, wire: (Rate, Span)) -> Result<LinkSpec, Refusal> {
        let (a, a_port) = self.end(link.a, link.a_port)?;
        let (b, b_port) = self.end(link.b, link.b_port)?;
        self.labels.push((a_port, b_port));
        Ok(LinkSpec {
            a,
            b,
            rate: link.rate.unwrap_or(wire.0),
            delay: link.delay.unwrap_or(wire.1),
        })
    }

    fn end(
        &mut self,
        end: String,
        port: Option<String>,
    ) -> Result<(String, Option<String>), Refusal> {
        let (node, port) = match (end.split_once(':'), port) {
            // A node's own name may hold a colon.
            (_, port) if self.known.contains(end.as_str()) => (end.clone(), port),
            (None, port) => (end.clone(), port),
            (Some((node, port)), None) => (node.to_owned(), Some(port.to_owned())),
            (Some(_), Some(_)) => {
                return Err((
                    format!("'{}' names its port twice", clip(&end)),
                    "keep one of the two".into(),
                ));
            }
        };
        if let Some(port) = &port
            && !self.ports.insert((node.clone(), port.clone()))
        {
            return Err((
                format!("port '{}' of '{}' is in another link already", clip(port), clip(&node)),
                "a port has only one link".into(),
            ));
        }
        if !self.known.contains(node.as_str()) && self.seen.insert(node.clone()) {
            self.further.push(NodeSpec::new(&node, NodeKind::Switch));
        }
        Ok((node, port))
    }

    /// Names the ports of a topology whose links from `first` on are those that were taken.
    pub fn label(&self, topology: &mut Topology, first: usize) {
        for (i, (a, b)) in self.labels.iter().enumerate() {
            topology.label((first + i) as u32, a.as_deref(), b.as_deref());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_two_nodes_and_quantities_in_any_order() {
        let link = line("leaf1:Ethernet8 spine1 400Gbps 300m").unwrap();
        assert_eq!((link.a.as_str(), link.b.as_str()), ("leaf1:Ethernet8", "spine1"));
        assert_eq!(
            (link.rate, link.delay),
            (Some(Rate::from_gbps(400)), Some(Span::from_ns(1500)))
        );
        assert_eq!(line("a b 1.5us 10Gbps").unwrap().delay, Some(Span::from_ns(1500)));
        assert_eq!(line("a b").unwrap().rate, None);
        for (text, what) in [
            ("a", "does not name two nodes"),
            ("a b 400", "'400' is neither a rate, nor a length, nor a delay"),
            ("a b 1Gbps 2Gbps", "'2Gbps' is a second rate"),
            ("a b 5m 2us", "'2us' is a second length or delay"),
            ("a,b,1Gbps", "does not name two nodes"),
        ] {
            assert!(line(text).unwrap_err().0.contains(what), "{text}");
        }
    }

    #[test]
    fn a_table_names_which_record_is_wrong() {
        let read = |text: &str| table(&Source::file("l.csv", text));
        let links =
            read("rate,a,b,length\n# a comment\n400Gbps,leaf1,spine1,40m\n,h1,leaf1,\n").unwrap();
        assert_eq!(links[0].0.delay, Some(Span::from_ns(200)));
        assert_eq!(
            links[1].0,
            ShortLink {
                a: "h1".into(),
                b: "leaf1".into(),
                a_port: None,
                b_port: None,
                rate: None,
                delay: None
            }
        );
        let refusal = |text: &str| read(text).unwrap_err().to_string();
        assert!(refusal("a,b,speed\n").starts_with("l.csv:1:1: unknown column 'speed'"));
        assert!(refusal("a,rate\n").contains("there is no column 'b'"));
        assert!(
            refusal("a,b,rate\nx,y,10Gbps\nx,y\n")
                .starts_with("l.csv:3:1: 2 fields, but the first line names 3 columns")
        );
        assert!(
            refusal("a,b,rate\nx,y,fast\n").starts_with("l.csv:2:1: rate: 'fast' has no number")
        );
        assert!(refusal("a,b,length,delay\nx,y,1m,1us\n").contains("both a length and a delay"));
        // Line ends of Windows, empty lines and comments stand before the record, not in it.
        for before in ["", "\n", "\n# comment, with commas\n", "\n\n#\n# \n\n"] {
            for end in ["\n", "\r\n"] {
                let read = |row: &str| {
                    let text = format!("# links\na,b,rate\nx,y,10Gbps\n{before}{row}\n")
                        .replace('\n', end);
                    let line = text.lines().position(|l| l == row).unwrap() + 1;
                    let at = text.find(row).unwrap();
                    (table(&Source::file("l.csv", &text)), line, at)
                };
                for (row, what) in [
                    ("x,y,fast", "rate: 'fast' has no number"),
                    ("x,y", "2 fields"),
                    ("x,,1Gbps", "'b' is empty"),
                ] {
                    let (links, line, _) = read(row);
                    let refusal = links.unwrap_err().to_string();
                    assert!(
                        refusal.starts_with(&format!("l.csv:{line}:")) && refusal.contains(what),
                        "{refusal}, line {line}, {before:?}, {end:?}"
                    );
                }
                let (links, _, at) = read("x,z,1Gbps");
                assert_eq!(links.unwrap()[1].1, at..at + 9, "{before:?}, {end:?}");
            }
        }
        assert!(
            refusal("# links\n\na,b,speed\r\n").starts_with("l.csv:3:1: unknown column 'speed'")
        );
    }
}
