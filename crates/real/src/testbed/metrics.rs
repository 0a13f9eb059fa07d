//! The numbers of a running node for Prometheus (exposition format 0.0.4).

use std::fmt::Write;

use crate::switchd::Attached;

use crate::testbed::drive::Look;

/// A number of a port, by its labels beyond port and interface.
type Series<'a> = (&'a str, Box<dyn Fn(usize, &Attached) -> u64 + 'a>);

/// The text for one look at a node; `interfaces` are those of its ports, in order.
pub fn text(node: &str, interfaces: &[String], look: &Look) -> String {
    let mut out = String::new();
    let mut family = |name: &str, kind: &str, help: &str, series: Vec<Series>| {
        let _ = writeln!(out, "# HELP xoff_{name} {help}\n# TYPE xoff_{name} {kind}");
        for (i, a) in look.ports.iter().enumerate() {
            for (labels, value) in &series {
                let interface = interfaces.get(i).map_or("", String::as_str);
                let port = &a.link.name;
                let _ = writeln!(
                    out,
                    "xoff_{name}{{node=\"{node}\",port=\"{port}\",interface=\"{interface}\"{labels}}} {}",
                    value(i, a)
                );
            }
        }
    };
    let (rx, tx) = (",direction=\"in\"", ",direction=\"out\"");
    family(
        "frames_total",
        "counter",
        "Frames.",
        vec![(rx, Box::new(|_, a| a.counters.received)), (tx, Box::new(|_, a| a.kernel.sent))],
    );
    family(
        "bytes_total",
        "counter",
        "Bytes, without check sequences.",
        vec![
            (rx, Box::new(|_, a| a.counters.received_bytes)),
            (tx, Box::new(|_, a| a.kernel.sent_bytes)),
        ],
    );
    family(
        "control_frames_total",
        "counter",
        "Frames of flow control.",
        vec![
            (rx, Box::new(|_, a| a.counters.control_received)),
            (tx, Box::new(|_, a| a.counters.control_sent)),
        ],
    );
    family(
        "dropped_frames_total",
        "counter",
        "Frames that were lost here.",
        vec![
            (",reason=\"memory\"", Box::new(|i, _| look.drops[i])),
            (",reason=\"kernel\"", Box::new(|_, a| a.kernel.kernel_drops)),
            (",reason=\"kernel_send\"", Box::new(|_, a| a.kernel.send_errors)),
            (",reason=\"watchdog\"", Box::new(|_, a| a.counters.thrown_away)),
            (",reason=\"port_down\"", Box::new(|_, a| a.counters.port_down)),
        ],
    );
    family(
        "refused_frames_total",
        "counter",
        "Frames that xoff rejected.",
        vec![
            (",reason=\"malformed\"", Box::new(|_, a| a.counters.malformed)),
            (",reason=\"unexpected\"", Box::new(|_, a| a.counters.unexpected)),
            (",reason=\"strange\"", Box::new(|_, a| a.counters.strange)),
            (",reason=\"stale\"", Box::new(|_, a| a.counters.stale)),
            (",reason=\"no_route\"", Box::new(|_, a| a.counters.no_route)),
            (",reason=\"too_long\"", Box::new(|_, a| a.kernel.too_long)),
        ],
    );
    family(
        "storms_total",
        "counter",
        "Pause storms that the watchdog found.",
        vec![("", Box::new(|_, a| a.counters.storms))],
    );
    family(
        "impossible_messages_total",
        "counter",
        "Control frames with impossible values; xoff assumed the safe value.",
        vec![("", Box::new(|_, a| a.counters.impossible))],
    );
    let up = |a: &Attached| a.outages.last().is_none_or(|o| o.until.is_some()) as u64;
    family(
        "port_up",
        "gauge",
        "1 if the link of the port is up.",
        vec![("", Box::new(move |_, a| up(a)))],
    );
    family(
        "port_downs_total",
        "counter",
        "Number of times the port went down.",
        vec![("", Box::new(|_, a| a.counters.downs))],
    );
    family(
        "queue_bytes",
        "gauge",
        "Bytes in the egress queue.",
        vec![("", Box::new(|i, _| look.queues[i]))],
    );
    let mut one = |name: &str, kind: &str, help: &str, value: f64| {
        let _ = writeln!(
            out,
            "# HELP xoff_{name} {help}\n# TYPE xoff_{name} {kind}\nxoff_{name}{{node=\"{node}\"}} {value}"
        );
    };
    let gaps = look.gaps;
    one(
        "loop_gap_longest_seconds",
        "gauge",
        "Longest time between two iterations of the loop.",
        gaps.longest.as_secs_f64(),
    );
    one(
        "loop_gap_p99_seconds",
        "gauge",
        "99th percentile of the gaps between iterations.",
        gaps.quantile(0.99).as_secs_f64(),
    );
    one(
        "clock_left_out_seconds_total",
        "counter",
        "Time during which the node's clock was stopped.",
        gaps.left_out.as_secs_f64(),
    );
    one("clock_seconds", "counter", "Time of the node's clock.", look.time.as_secs_f64());
    out
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::path::Path;

    use crate::switchd::{Gaps, Link};
    use xoff_units::{NodeId, Time};

    use super::*;

    /// Names of the families with the values of their label beyond node, port and interface, as a
    /// node with a port has them.
    fn families() -> BTreeMap<String, BTreeSet<String>> {
        let link = Link { node: NodeId(0), port: 0, name: "S1->H1".into(), plain: false };
        let ports = [Attached {
            link,
            counters: Default::default(),
            outages: Vec::new(),
            kernel: Default::default(),
        }];
        let gaps = Gaps::default();
        let look = Look {
            time: Time(0),
            until: Time(0),
            deadlocks: 0,
            ports: &ports,
            gaps: &gaps,
            log: &[],
            world: None,
            queues: vec![0],
            drops: vec![0],
        };
        let text = text("S1", &["eth0".into()], &look);
        let mut found = BTreeMap::<String, BTreeSet<String>>::new();
        for line in text.lines().filter(|l| !l.starts_with('#')) {
            let (name, labels) = line.split_once('{').unwrap();
            let values = found.entry(name.into()).or_default();
            for label in ["direction=\"", "reason=\""] {
                values.extend(
                    labels
                        .split_once(label)
                        .map(|(_, rest)| rest.split('"').next().unwrap().to_owned()),
                );
            }
        }
        found
    }

    /// Every text below a key of the dashboard.
    fn texts<'v>(v: &'v serde_json::Value, key: &str, found: &mut Vec<&'v str>) {
        match v {
            serde_json::Value::Object(fields) => {
                found.extend(fields.get(key).and_then(serde_json::Value::as_str));
                fields.values().for_each(|v| texts(v, key, found));
            }
            serde_json::Value::Array(items) => items.iter().for_each(|v| texts(v, key, found)),
            _ => {}
        }
    }

    /// Grafana shows an empty panel for a name that does not exist, and says nothing.
    #[test]
    fn the_dashboard_asks_for_what_a_node_reports_and_for_all_of_it() {
        let path =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/grafana/xoff-switch.json");
        let dashboard: serde_json::Value =
            serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        let (families, mut asked) = (families(), BTreeSet::new());
        let mut queries = Vec::new();
        texts(&dashboard, "expr", &mut queries);
        assert!(queries.len() >= 15, "{queries:?}");
        texts(&dashboard, "definition", &mut queries);
        for query in queries {
            for name in query
                .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
                .filter(|w| w.starts_with("xoff_"))
            {
                let values =
                    families.get(name).unwrap_or_else(|| panic!("{query}: no node reports {name}"));
                let direction = query
                    .split_once("direction=\"")
                    .map(|(_, rest)| rest.split('"').next().unwrap());
                assert!(direction.is_none_or(|d| values.contains(d)), "{query}");
                asked.insert(name);
            }
            assert_eq!(query.matches('(').count(), query.matches(')').count(), "{query}");
            assert_eq!(query.matches('{').count(), query.matches('}').count(), "{query}");
        }
        let unseen: Vec<&String> =
            families.keys().filter(|name| !asked.contains(name.as_str())).collect();
        assert!(unseen.is_empty(), "no panel shows {unseen:?}");
        let mut titles = Vec::new();
        texts(&dashboard, "description", &mut titles);
        assert!(
            titles.iter().all(|t| t.ends_with('.')),
            "what a panel shows, as a sentence: {titles:?}"
        );
    }
}
