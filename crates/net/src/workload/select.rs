//! Reading of common keys of generators: hosts by name, sizes, priorities, limits.

use std::collections::HashSet;

use crate::topology::{NodeKind, Topology};
use xoff_units::params::suggest::nearest;
use xoff_units::params::{Kind, ParamError, ParamSpec, Values};
use xoff_units::{NodeId, Rate, Time};

use crate::workload::{Context, SizeCdf, UNLIMITED};

pub(crate) const PRIORITY: ParamSpec =
    ParamSpec::new("priority", Kind::Count, "0", "Priority of the flows, 0 to 7.", "");
pub(crate) const START: ParamSpec =
    ParamSpec::new("start", Kind::Span, "0us", "Earliest start of the first flow.", "");
pub(crate) const JITTER: ParamSpec = ParamSpec::new(
    "jitter",
    Kind::Span,
    "0us",
    "Each start is later by a random time below this, uniform.",
    "",
);
pub(crate) const RATE: ParamSpec = ParamSpec::optional(
    "rate",
    Kind::Rate,
    "Constant rate limit of the application; absent: as fast as the NIC permits.",
    "",
);
pub(crate) const CONTROLLED: ParamSpec = ParamSpec::new(
    "rate_control",
    Kind::Flag,
    "true",
    "The run's rate control or transport applies; false: the sender ignores marks, and next to connections of [transport] it is UDP.",
    "TCD section 3.1: flows at a constant rate, bursts too short for rate control",
);
pub(crate) const SIZE: ParamSpec = ParamSpec::optional(
    "size",
    Kind::Bytes,
    "Payload of each flow; absent: unlimited, the flow never ends.",
    "",
);
pub(crate) const HOSTS: ParamSpec =
    ParamSpec::optional("hosts", Kind::Texts, "Hosts that take part; absent: every host.", "");
pub(crate) const SOURCES: ParamSpec = ParamSpec::optional(
    "sources",
    Kind::Texts,
    "Sending hosts; absent: every host that is not a destination.",
    "",
);
pub(crate) const DESTINATIONS: ParamSpec = ParamSpec::required(
    "destinations",
    Kind::Texts,
    "One receiver for all sources, or one for each source, in the same order.",
);
pub(crate) const CDF: ParamSpec = ParamSpec::optional(
    "cdf",
    Kind::Text,
    "Flow size distribution: a built-in name or a file of `size percent` lines. Give either this or `size`.",
    "HPCC traffic_gen: linear in size between points",
);
pub(crate) const FIXED_SIZE: ParamSpec = ParamSpec::optional(
    "size",
    Kind::Bytes,
    "Every flow has this payload. Give either this or `cdf`.",
    "",
);
pub(crate) const SIZE_MAX: ParamSpec = ParamSpec::optional(
    "size_max",
    Kind::Bytes,
    "Largest size: larger flows are reduced to it, also in the average and in the load. Absent: \
                                                  no cap.",
    "",
);

fn unknown<'a>(
    key: &str,
    what: &str,
    name: &str,
    known: impl Iterator<Item = &'a str>,
) -> ParamError {
    let hint = match nearest(name, known) {
        Some(near) => format!("did you mean '{near}'?"),
        None => format!("expected the name of a {what} of this topology"),
    };
    ParamError::new(key, format!("there is no {what} '{name}'"), hint)
}

/// The node of this name.
pub(crate) fn node(topo: &Topology, key: &str, name: &str) -> Result<NodeId, ParamError> {
    topo.find(name)
        .ok_or_else(|| unknown(key, "node", name, topo.nodes.iter().map(|n| n.name.as_str())))
}

/// The host of this name.
pub(crate) fn host(topo: &Topology, key: &str, name: &str) -> Result<NodeId, ParamError> {
    match topo.find(name) {
        Some(n) if topo.nodes[n.index()].kind == NodeKind::Host => Ok(n),
        Some(_) => {
            Err(ParamError::new(key, format!("'{name}' is a switch"), "flows run between hosts"))
        }
        None => Err(unknown(key, "host", name, topo.hosts().map(|h| topo.name(h)))),
    }
}

/// Hosts by name, each at most once; `None` when the key is absent.
pub(crate) fn named_hosts(
    v: &mut dyn Values,
    key: &str,
    topo: &Topology,
) -> Result<Option<Vec<NodeId>>, ParamError> {
    let names = v.texts(key)?;
    if names.is_empty() {
        return Ok(None);
    }
    let mut seen = HashSet::new();
    let mut hosts = Vec::with_capacity(names.len());
    for name in &names {
        let h = host(topo, key, name)?;
        if !seen.insert(h) {
            return Err(ParamError::new(
                key,
                format!("'{name}' is listed twice"),
                "name each host once",
            ));
        }
        hosts.push(h);
    }
    Ok(Some(hosts))
}

/// Keys `sources` and `destinations`: every source with its destination, in the order of the
/// sources.
pub(crate) fn pairs(
    v: &mut dyn Values,
    topo: &Topology,
) -> Result<Vec<(NodeId, NodeId)>, ParamError> {
    let names = v.texts("destinations")?;
    if names.is_empty() {
        return Err(ParamError::new("destinations", "missing", "name at least one host"));
    }
    let dsts =
        names.iter().map(|n| host(topo, "destinations", n)).collect::<Result<Vec<_>, _>>()?;
    let sources = match named_hosts(v, "sources", topo)? {
        Some(named) => named,
        None => topo.hosts().filter(|h| !dsts.contains(h)).collect(),
    };
    if dsts.len() != 1 && dsts.len() != sources.len() {
        let what = format!("{} destinations for {} sources", dsts.len(), sources.len());
        return Err(ParamError::new("destinations", what, "name one, or one for each source"));
    }
    let pairs: Vec<_> = sources
        .into_iter()
        .enumerate()
        .map(|(i, src)| (src, dsts[if dsts.len() == 1 { 0 } else { i }]))
        .collect();
    if let Some((src, _)) = pairs.iter().find(|(src, dst)| src == dst) {
        let what = format!("'{0}' would send to '{0}'", topo.name(*src));
        return Err(ParamError::new("destinations", what, "give each source another host"));
    }
    Ok(pairs)
}

/// The hosts of key `hosts`, or every host with a working link, at least two.
pub(crate) fn participants(
    v: &mut dyn Values,
    topo: &Topology,
    notes: &mut Vec<String>,
) -> Result<Vec<NodeId>, ParamError> {
    let hosts = participants_of(v, "hosts", topo, notes)?;
    if hosts.len() < 2 {
        return Err(ParamError::new(
            "hosts",
            "fewer than two hosts",
            "a flow needs a source and another host",
        ));
    }
    Ok(hosts)
}

/// The hosts of `key`, or every host with a working link; reports in `notes` which were left out. A
/// host named without a working link is an error, because it was asked for.
fn participants_of(
    v: &mut dyn Values,
    key: &str,
    topo: &Topology,
    notes: &mut Vec<String>,
) -> Result<Vec<NodeId>, ParamError> {
    Ok(match named_hosts(v, key, topo)? {
        Some(named) => {
            connected(key, topo, &named)?;
            named
        }
        None => {
            let (plugged, alone): (Vec<_>, Vec<_>) =
                topo.hosts().partition(|&h| link_rate(topo, h) > Rate::ZERO);
            if !alone.is_empty() {
                let names: Vec<_> = alone.iter().map(|&h| topo.name(h)).collect();
                notes.push(format!(
                    "xoff leaves out hosts without a working link: {}",
                    names.join(", ")
                ));
            }
            plugged
        }
    })
}

/// Refuses a host of `key` without a working link.
pub(crate) fn connected(key: &str, topo: &Topology, hosts: &[NodeId]) -> Result<(), ParamError> {
    match hosts.iter().find(|&&h| link_rate(topo, h) == Rate::ZERO) {
        Some(&h) => {
            let what = format!("'{}' has no working link", topo.name(h));
            Err(ParamError::new(key, what, "remove the host, or repair the link"))
        }
        None => Ok(()),
    }
}

/// The hosts of `key`, or every host with a working link that is not among `receivers`.
pub(crate) fn senders(
    v: &mut dyn Values,
    key: &str,
    topo: &Topology,
    receivers: &[NodeId],
    notes: &mut Vec<String>,
) -> Result<Vec<NodeId>, ParamError> {
    let hosts = participants_of(v, key, topo, notes)?;
    let named = !v.texts(key)?.is_empty();
    let hosts: Vec<NodeId> =
        hosts.into_iter().filter(|h| named || !receivers.contains(h)).collect();
    if hosts.is_empty() {
        return Err(ParamError::new(key, "no host can send", "name at least one host"));
    }
    Ok(hosts)
}

/// The refusal of a source that may send to none.
pub(crate) fn no_destination(key: &str, topo: &Topology, source: NodeId) -> ParamError {
    ParamError::new(
        key,
        format!("'{}' would have no destination", topo.name(source)),
        "name another host, or remove the source",
    )
}

/// Largest rate of a host [bit/s]: the sum of its working links.
pub(crate) fn link_rate(topo: &Topology, host: NodeId) -> Rate {
    let ports = 0..topo.nodes[host.index()].ports.len() as u16;
    ports.map(|p| topo.link_at(host, p)).filter(|l| l.up).fold(Rate::ZERO, |sum, l| sum + l.rate)
}

/// Key `priority`.
pub(crate) fn priority(v: &mut dyn Values) -> Result<u8, ParamError> {
    match v.count("priority")? {
        p @ 0..=7 => Ok(p as u8),
        p => Err(ParamError::new("priority", format!("{p} is not a priority"), "expected 0 to 7")),
    }
}

/// Key `start`.
pub(crate) fn start(v: &mut dyn Values) -> Result<Time, ParamError> {
    Ok(Time(v.span("start")?.0))
}

/// Key `rate`, never zero.
pub(crate) fn rate(v: &mut dyn Values) -> Result<Option<Rate>, ParamError> {
    match v.rate_opt("rate")? {
        Some(Rate::ZERO) => Err(ParamError::new(
            "rate",
            "a flow at rate 0 never sends",
            "give a rate above 0, or remove the key",
        )),
        rate => Ok(rate),
    }
}

/// Key `size`, never zero; absent means unlimited.
pub(crate) fn size(v: &mut dyn Values) -> Result<u64, ParamError> {
    match v.bytes_opt("size")?.map(|b| b.0) {
        Some(0) => Err(ParamError::new(
            "size",
            "a flow of 0 bytes",
            "give at least 1 B, or remove the key for an unlimited flow",
        )),
        size => Ok(size.unwrap_or(UNLIMITED)),
    }
}

/// Keys `cdf` or `size`, and `size_max`.
pub(crate) fn sizes(v: &mut dyn Values, cx: &Context) -> Result<SizeCdf, ParamError> {
    let cdf = match (v.text_opt("cdf")?, v.bytes_opt("size")?.map(|b| b.0)) {
        (Some(_), Some(_)) => {
            return Err(ParamError::new("size", "given together with cdf", "give one of the two"));
        }
        (None, None) => {
            return Err(ParamError::new(
                "cdf",
                "missing",
                "give a size distribution here, or one `size` for every flow",
            ));
        }
        (_, Some(0)) => {
            return Err(ParamError::new("size", "a flow of 0 bytes", "give at least 1 B"));
        }
        (_, Some(size)) => SizeCdf::fixed(size),
        (Some(name), _) => (cx.cdfs)(&name)?,
    };
    match v.bytes_opt("size_max")?.map(|b| b.0) {
        Some(0) => Err(ParamError::new(
            "size_max",
            "a flow of 0 bytes",
            "give at least 1 B, or remove the key",
        )),
        Some(cap) => Ok(cdf.capped(cap)),
        None => Ok(cdf),
    }
}
