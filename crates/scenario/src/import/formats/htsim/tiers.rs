//! `.topo`: a fat-tree of two or three tiers. A tier's downlink describes the links below it.

use std::collections::HashMap;
use std::sync::Arc;

use crate::{Place, Problem, Source, suggest};
use xoff_net::topology::NodeKind;
use xoff_units::{Rate, Span};

use crate::import::network::{End, Names};
use crate::import::text::{end, lines};
use crate::import::{Link, Network, Wire};

const HEAD: [&str; 3] = ["nodes", "tiers", "podsize"];
const TIER: [&str; 9] = [
    "downlink_speed_gbps",
    "radix_down",
    "radix_up",
    "downlink_latency_ns",
    "switch_latency_ns",
    "oversubscribed",
    "bundle",
    "queue_up",
    "queue_down",
];
/// Largest number of nodes that is built; a larger one is a mistake.
const NODES_MAX: u64 = 1 << 20;

/// A number with its place.
#[derive(Clone)]
struct Number {
    value: u64,
    place: Place,
}

/// Keys of the head or of a tier.
struct Keys {
    of: HashMap<&'static str, Number>,
    /// Name of the block, and its start.
    name: String,
    place: Place,
}

impl Keys {
    fn get(&self, key: &str) -> Option<u64> {
        self.of.get(key).map(|n| n.value)
    }

    fn place(&self, key: &str) -> Place {
        self.of.get(key).map_or(self.place.clone(), |n| n.place.clone())
    }

    /// A number above 0.
    fn need(&self, key: &'static str) -> Result<u64, Problem> {
        match self.get(key) {
            Some(0) => {
                Err(Problem::new(format!("{}: {key} is 0", self.name), "expected a number above 0")
                    .at(self.place(key)))
            }
            Some(n) => Ok(n),
            None => Err(Problem::new(
                format!("{}: {key} is missing", self.name),
                "htsim requires this key",
            )
            .at(self.place.clone())),
        }
    }
}

/// Reads the file and builds its topology.
pub(super) fn read(source: &Arc<Source>) -> Result<Network, Problem> {
    let mut blocks =
        vec![Keys { of: HashMap::new(), name: "head".into(), place: source.place(0..0) }];
    for line in lines(source) {
        let mut words = line.text.split_whitespace();
        let Some(key) = words.next().filter(|w| !w.starts_with('#')) else { continue };
        let number = words.next().ok_or_else(|| {
            line.problem(key, format!("{key} without a value"), "expected a whole number after it")
        })?;
        if let Some(extra) = words.next() {
            return Err(line.problem(
                extra,
                format!("unexpected word '{}'", suggest::clip(extra)),
                "expected a key and a number",
            ));
        }
        let value = line.count(number, key, u32::MAX.into())?;
        let lower = key.to_ascii_lowercase();
        if lower == "tier" {
            if value + 1 != blocks.len() as u64 {
                return Err(line.problem(
                    number,
                    format!("found tier {value} instead of tier {}", blocks.len() - 1),
                    "list the tiers in order, from 0",
                ));
            }
            blocks.push(Keys {
                of: HashMap::new(),
                name: format!("tier {value}"),
                place: line.place(),
            });
            continue;
        }
        let known: &[&'static str] = if blocks.len() == 1 { &HEAD } else { &TIER };
        let Some(known) = known.iter().find(|k| **k == lower) else {
            return Err(line.problem(
                key,
                format!("unknown key '{}'", suggest::clip(key)),
                suggest::hint(&lower, "keys", known),
            ));
        };
        let last = blocks.len() - 1;
        if blocks[last].of.insert(known, Number { value, place: line.place_of(number) }).is_some() {
            return Err(line.problem(
                key,
                format!("{key} is defined twice"),
                "keep one of the two",
            ));
        }
    }
    let head = blocks.remove(0);
    for key in HEAD {
        head.need(key)?;
    }
    let tiers = head.need("tiers")?;
    if !(2..=3).contains(&tiers) {
        return Err(
            Problem::new(format!("{tiers} tiers"), "expected 2 or 3").at(head.place("tiers"))
        );
    }
    if blocks.len() as u64 != tiers {
        let what = format!("Tiers is {tiers}, but the file describes {}", blocks.len());
        return Err(Problem::new(what, "expected a block 'Tier k' for each").at(end(source)));
    }
    build(&head, &blocks)
}

/// The fat-tree that htsim builds without a file.
pub(super) fn default_for(hosts: u64, source: &Arc<Source>) -> Result<Network, Problem> {
    let k = (2..=128u64).step_by(2).find(|k| k * k * k / 4 == hosts);
    let Some(k) = k else {
        let what = format!(
            "{hosts} hosts do not fit htsim's default fat-tree, which has 2, 16, 54, 128, ... hosts (k^3/4)"
        );
        return Err(
            Problem::new(what, "also give the .topo file of the run").at(source.place(0..0))
        );
    };
    let text = format!(
        "Nodes {hosts}\nTiers 3\nPodsize {pod}\nTier 0\nDownlink_speed_Gbps 100\nRadix_Down {h}\nRadix_Up {h}\nDownlink_Latency_ns 1000\n\
         Tier 1\nDownlink_speed_Gbps 100\nRadix_Down {h}\nRadix_Up {h}\nDownlink_Latency_ns 1000\n\
         Tier 2\nDownlink_speed_Gbps 100\nRadix_Down {k}\nDownlink_Latency_ns 1000\n",
        pod = k * k / 4,
        h = k / 2
    );
    let mut network = read(&Source::file("htsim's default", text))?;
    network.leave_out("no .topo file: xoff builds htsim's default, a 3-tier fat-tree of 100 Gb/s and 1 us per hop");
    Ok(network)
}

struct Shape {
    hosts: u64,
    tors_per_pod: u64,
    aggs_per_pod: u64,
    tors: u64,
    aggs: u64,
    cores: u64,
    /// Uplinks of an aggregation switch to different cores.
    cores_per_agg: u64,
}

/// Numbers that do not fit each other.
fn wrong(keys: &Keys, key: &str, what: String) -> Problem {
    Problem::new(
        format!("{}: {what}", keys.name),
        "check that speeds, radices and oversubscription match",
    )
    .at(keys.place(key))
}

fn shape(head: &Keys, tiers: &[Keys]) -> Result<Shape, Problem> {
    let whole = |keys: &Keys, key: &str, a: u64, b: u64, what: &str| match a % b {
        0 => Ok(a / b),
        _ => Err(wrong(keys, key, format!("{what}: {a} / {b} is not a whole number"))),
    };
    let (t0, t1) = (&tiers[0], &tiers[1]);
    for (i, tier) in tiers.iter().enumerate() {
        for key in ["downlink_speed_gbps", "radix_down", "downlink_latency_ns"] {
            tier.need(key)?;
        }
        if i + 1 < tiers.len() {
            tier.need("radix_up")?;
        }
        for key in ["oversubscribed", "bundle"] {
            if tier.get(key) == Some(0) {
                tier.need(key)?;
            }
        }
    }
    let speed = |t: &Keys| t.get("downlink_speed_gbps").unwrap_or(1);
    let (over, bundle) =
        (|t: &Keys| t.get("oversubscribed").unwrap_or(1), |t: &Keys| t.get("bundle").unwrap_or(1));
    if bundle(t0) != 1 {
        return Err(wrong(t0, "bundle", "expected bundle 1".into()));
    }
    let (hosts, podsize) = (head.need("nodes")?, head.need("podsize")?);
    if hosts > NODES_MAX {
        return Err(wrong(
            head,
            "nodes",
            format!("{hosts} hosts are more than xoff can build, {NODES_MAX}"),
        ));
    }
    let pods = whole(head, "podsize", hosts, podsize, "Nodes / Podsize")?;
    let (down0, down1) = (t0.need("radix_down")?, t1.need("radix_down")?);
    let tors_per_pod = whole(t0, "radix_down", podsize, down0, "Podsize / Radix_Down")?;
    let uplinks =
        whole(t0, "oversubscribed", hosts * speed(t0), speed(t1) * over(t0), "ToR uplinks")?;
    let aggs_per_pod =
        whole(t1, "radix_down", uplinks, pods * down1, "aggregation switches of a pod")?;
    let up0 = t0.need("radix_up")?;
    if aggs_per_pod * bundle(t1) != up0 {
        let what = format!(
            "Radix_Up is {up0}, but there are {aggs_per_pod} aggregation switches x bundle {}",
            bundle(t1)
        );
        return Err(wrong(t0, "radix_up", what));
    }
    if down0 * speed(t0) != up0 * speed(t1) * over(t0) {
        return Err(wrong(
            t0,
            "oversubscribed",
            "speeds and radices do not match this oversubscription".into(),
        ));
    }
    let (tors, aggs) = (tors_per_pod * pods, aggs_per_pod * pods);
    let mut shape =
        Shape { hosts, tors_per_pod, aggs_per_pod, tors, aggs, cores: 0, cores_per_agg: 0 };
    if let Some(t2) = tiers.get(2) {
        let uplinks = whole(
            t1,
            "oversubscribed",
            uplinks * speed(t1),
            speed(t2) * over(t1),
            "aggregation uplinks",
        )?;
        let cores = whole(t2, "radix_down", uplinks, t2.need("radix_down")?, "cores")?;
        let up1 = t1.need("radix_up")?;
        if aggs_per_pod == 0 || cores % aggs_per_pod != 0 {
            return Err(wrong(
                t2,
                "radix_down",
                format!("{cores} cores for {aggs_per_pod} aggregation switches of a pod"),
            ));
        }
        if cores * bundle(t2) / aggs_per_pod != up1 {
            let what = format!(
                "Radix_Up is {up1}, but {cores} cores x bundle {} / {aggs_per_pod} give another",
                bundle(t2)
            );
            return Err(wrong(t1, "radix_up", what));
        }
        shape.cores_per_agg = whole(t2, "bundle", up1, bundle(t2), "Radix_Up / Bundle")?;
        shape.cores = cores;
        if shape.cores_per_agg * aggs_per_pod != cores {
            return Err(wrong(t2, "radix_down", "some cores have no link".into()));
        }
    }
    Ok(shape)
}

fn build(head: &Keys, tiers: &[Keys]) -> Result<Network, Problem> {
    let shape = shape(head, tiers)?;
    let (mut network, mut names) = (Network::default(), Names::default());
    let mut add = |prefix: &str, n: u64, kind, place: &Place| -> Result<Vec<usize>, Problem> {
        (0..n)
            .map(|i| network.add_node(&mut names, &format!("{prefix}{i}"), kind, place.clone()))
            .collect()
    };
    let hosts = add("host", shape.hosts, NodeKind::Host, &head.place("nodes"))?;
    let tors = add("tor", shape.tors, NodeKind::Switch, &tiers[0].place)?;
    let aggs = add("agg", shape.aggs, NodeKind::Switch, &tiers[1].place)?;
    let cores = add("core", shape.cores, NodeKind::Switch, &tiers[tiers.len() - 1].place)?;
    let mut join = |a: usize, b: usize, tier: usize| {
        let t = &tiers[tier];
        // The switch delays a frame on its way out; in xoff that is part of the wire. A link takes
        // that of the switch above it.
        let latency =
            t.get("downlink_latency_ns").unwrap_or(0) + t.get("switch_latency_ns").unwrap_or(0);
        let speed = t.get("downlink_speed_gbps").unwrap_or(1);
        let end = |node| End { node, port: None };
        for _ in 0..t.get("bundle").unwrap_or(1) {
            let wire = Some(Wire::Delay(Span::from_ns(latency)));
            network.links.push(Link {
                a: end(a),
                b: end(b),
                rate: Some(Rate::from_gbps(speed)),
                wire,
                place: t.place.clone(),
            });
        }
    };
    let radix = tiers[0].need("radix_down")?;
    for (h, &host) in hosts.iter().enumerate() {
        join(host, tors[h / radix as usize], 0);
    }
    let per = shape.aggs_per_pod as usize;
    for (t, &tor) in tors.iter().enumerate() {
        let pod = t / shape.tors_per_pod as usize;
        for a in 0..per {
            join(tor, aggs[pod * per + a], 1);
        }
    }
    for (a, &agg) in aggs.iter().enumerate() {
        for l in 0..shape.cores_per_agg as usize {
            join(agg, cores[a % per + per * l], 2);
        }
    }
    if tiers.iter().any(|t| t.get("switch_latency_ns").is_some_and(|ns| ns > 0)) {
        network.leave_out("Switch_Latency_ns as a delay of its own, because xoff adds it to the links below the switch");
    }
    if tiers.iter().any(|t| t.get("queue_up").is_some() || t.get("queue_down").is_some()) {
        network.leave_out("Queue_Up and Queue_Down, which htsim also ignores");
    }
    Ok(network)
}
