//! The one way in which users name a link or a port of it.
//!
//! ```text
//!   S1->S2   S1:S2   S1-S2        the port of S1 towards S2; as a link, either order
//!   S1:S2#3                       the one with port number 3 at S1, where links are parallel
//!   leaf1:Ethernet8               the port that the topology calls Ethernet8
//! ```
//!
//! A shell takes the `>` of the first form for itself, so help and pages show the second where a
//! command is meant.

use xoff_units::NodeId;
use xoff_units::params::ParamError;

use crate::topology::graph::Topology;

/// Between the two ends, the clearest first: a node's own name may hold a dash or a colon.
const BETWEEN: [&str; 3] = ["->", ":", "-"];

/// Expected kind of a name, for messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// All of the link, in both directions.
    Link,
    /// One direction: the port of the first end.
    Port,
}

impl What {
    fn word(self) -> &'static str {
        match self {
            What::Link => "link",
            What::Port => "port",
        }
    }
    fn hint(self) -> &'static str {
        match self {
            What::Link => "name a link by its two ends, such as A1-C1 or A1:C1",
            What::Port => "name a port by its two ends, such as S1:S2 or \"S1->S2\"",
        }
    }
}

/// The port of this name: the node that transmits, and its port number. The error's key is `key`.
///
/// # Errors
/// It is no name of this form, a node is missing, the nodes are not neighbours, or several links
/// join them.
pub fn find_port(
    t: &Topology,
    key: &str,
    name: &str,
    what: What,
) -> Result<(NodeId, u16), ParamError> {
    let refuse = |what: String, hint: String| Err(ParamError::new(key, what, hint));
    let name = name.trim();
    let (ends, number) = match name.rsplit_once('#') {
        Some((ends, number)) => match number.parse::<u16>() {
            Ok(number) => (ends, Some(number)),
            Err(_) => {
                return refuse(
                    format!("'{number}' in '{name}' is not a port number"),
                    "expected the form A:B#3".into(),
                );
            }
        },
        None => (name, None),
    };
    let Some((a, b)) = nodes(t, ends) else {
        let label = |(node, port): (&str, &str)| {
            t.find(node.trim()).and_then(|n| Some((n, t.labelled(n, port.trim())?)))
        };
        if let Some(port) = splits(name).find_map(label) {
            return Ok(port);
        }
        let (what, hint) = why_not(t, name, ends, what);
        return refuse(what, hint);
    };
    let (a_name, b_name) = (t.name(a), t.name(b));
    let ports: Vec<u16> = (0u16..)
        .zip(&t.nodes[a.index()].ports)
        .filter(|(_, p)| p.peer == b)
        .map(|(i, _)| i)
        .collect();
    match (ports.as_slice(), number) {
        ([], _) => refuse(format!("'{a_name}' and '{b_name}' are not linked"), neighbours(t, a)),
        ([port], None) => Ok((a, *port)),
        (several, None) => refuse(
            format!("'{name}' names {} parallel links", several.len()),
            format!("add the port at {a_name}, such as '{name}#{}'", several[0]),
        ),
        (several, Some(number)) if several.contains(&number) => Ok((a, number)),
        (_, Some(number)) => refuse(
            format!("port {number} of '{a_name}' does not lead to '{b_name}'"),
            neighbours(t, a),
        ),
    }
}

/// All readings of `ends` as two names.
fn splits(ends: &str) -> impl Iterator<Item = (&str, &str)> {
    BETWEEN.iter().flat_map(move |between| {
        ends.match_indices(between).map(move |(at, _)| (&ends[..at], &ends[at + between.len()..]))
    })
}

fn nodes(t: &Topology, ends: &str) -> Option<(NodeId, NodeId)> {
    splits(ends).find_map(|(a, b)| Some((t.find(a.trim())?, t.find(b.trim())?)))
}

/// Problem of a name that gives no two nodes, and a hint.
fn why_not(t: &Topology, name: &str, ends: &str, what: What) -> (String, String) {
    if let Some(first) = ends
        .strip_suffix('-')
        .or_else(|| ends.strip_suffix("->"))
        .filter(|first| t.find(first.trim()).is_some())
    {
        let hint = format!(
            "the shell treats '>' as a redirection: quote the name, '{first}->...', or write {first}:..."
        );
        return (format!("'{name}' has only one end"), hint);
    }
    let Some((a, b)) = splits(ends).next() else {
        return (format!("'{name}' is not a {}", what.word()), what.hint().into());
    };
    let unknown = if t.find(a.trim()).is_none() { a.trim() } else { b.trim() };
    let near = t
        .nodes
        .iter()
        .find(|n| n.name.eq_ignore_ascii_case(unknown))
        .map(|n| format!("did you mean '{}'? ", n.name));
    (
        format!("there is no node '{unknown}' (in {} '{name}')", what.word()),
        format!("{}{}", near.unwrap_or_default(), what.hint()),
    )
}

fn neighbours(t: &Topology, node: NodeId) -> String {
    let ports = &t.nodes[node.index()].ports;
    let names: Vec<_> = ports.iter().take(8).map(|p| t.name(p.peer)).collect();
    let more = if ports.len() > names.len() {
        format!(" and {} more", ports.len() - names.len())
    } else {
        String::new()
    };
    format!("'{}' is linked to {}{more}", t.name(node), names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::graph::NodeKind;
    use xoff_units::{Rate, Span};

    fn network() -> Topology {
        let mut t = Topology::default();
        let names = ["H1", "S1", "S2", "a-b", "c:d"];
        let ids: Vec<_> = names.map(|n| t.add_node(n, NodeKind::Switch, 1, 0)).into();
        for (a, b) in [(0, 1), (1, 2), (1, 2), (1, 3), (3, 4)] {
            t.add_link(ids[a], ids[b], Rate::from_gbps(10), Span::ZERO);
        }
        t
    }

    fn find(name: &str) -> Result<(NodeId, u16), ParamError> {
        find_port(&network(), "key", name, What::Port)
    }

    #[test]
    fn all_forms_name_the_same_port() {
        for name in ["S1->H1", "S1:H1", "S1-H1", " S1 -> H1 ", "S1->H1#0"] {
            assert_eq!(find(name), Ok((NodeId(1), 0)), "{name}");
        }
        for name in ["a-b->c:d", "a-b:c:d", "a-b-c:d"] {
            assert_eq!(find(name), Ok((NodeId(3), 1)), "{name}");
        }
        assert_eq!(find("S1:S2#2"), Ok((NodeId(1), 2)));
    }

    #[test]
    fn a_label_names_the_port_unless_it_is_a_node() {
        let mut t = network();
        t.label(1, Some("Ethernet8"), Some("eth0/1#2"));
        t.label(3, Some("S2"), None);
        let find = |name: &str| find_port(&t, "key", name, What::Port);
        assert_eq!(find("S1:Ethernet8"), Ok((NodeId(1), 1)));
        assert_eq!(find("S2:eth0/1#2"), Ok((NodeId(2), 0)));
        assert_eq!(find("S1:S2#1"), Ok((NodeId(1), 1)), "a node's name comes first");
        assert!(find("S1:Ethernet9").unwrap_err().what.contains("no node 'Ethernet9'"));
    }

    #[test]
    fn refusals_name_what_to_write() {
        for (name, what, hint) in [
            ("S1:S2", "names 2 parallel links", "S1:S2#1"),
            ("S1:S2#0", "port 0 of 'S1' does not lead to 'S2'", "linked to H1"),
            ("S1:S2#x", "'x' in 'S1:S2#x' is not a port number", "A:B#3"),
            ("H1:S2", "'H1' and 'S2' are not linked", "'H1' is linked to S1"),
            ("H1-", "'H1-' has only one end", "quote the name, 'H1->...', or write H1:"),
            ("H1->", "has only one end", "quote the name"),
            ("h1:S1", "there is no node 'h1'", "did you mean 'H1'?"),
            ("H1:X", "there is no node 'X' (in port 'H1:X')", "S1:S2"),
            ("", "'' is not a port", "S1:S2"),
            ("S1", "'S1' is not a port", "S1:S2"),
        ] {
            let e = find(name).unwrap_err();
            assert!(e.what.contains(what) && e.hint.contains(hint), "{name}: {e}");
        }
    }
}
