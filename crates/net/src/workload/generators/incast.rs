//! Incast: several senders to one receiver at about the same time.

use rand_core::Rng;
use xoff_units::params::{Kind, ParamError, ParamSpec, Values};
use xoff_units::{NodeId, Span};

use super::constant_rate::late;
use crate::workload::flow::DST_PORT;
use crate::workload::random::{Purpose, entity, stream};
use crate::workload::{Context, Flow, Generated, select};

/// Declared keys, with defaults and sources.
pub const PARAMS: &[ParamSpec] = &[
    ParamSpec::required("receiver", Kind::Text, "Receiving host."),
    ParamSpec::optional(
        "senders",
        Kind::Texts,
        "Sending hosts; absent: `fan_in` hosts, or every other host.",
        "",
    ),
    ParamSpec::optional(
        "fan_in",
        Kind::Count,
        "Number of senders, chosen by `choice` among the other hosts.",
        "",
    ),
    ParamSpec::new(
        "choice",
        Kind::Choice(&["first", "random"]),
        "first",
        "Hosts that `fan_in` selects: the first ones of the topology, or random ones.",
        "",
    ),
    select::SIZE,
    select::START,
    ParamSpec::new(
        "stagger",
        Kind::Span,
        "0us",
        "Each sender starts this much after the previous one.",
        "",
    ),
    select::JITTER,
    select::RATE,
    select::PRIORITY,
];

/// One flow per sender, in the order of the senders.
pub fn generate(v: &mut dyn Values, cx: &Context) -> Result<Generated, ParamError> {
    let receiver = select::host(cx.topo, "receiver", &v.text("receiver")?)?;
    let (priority, size, rate) = (select::priority(v)?, select::size(v)?, select::rate(v)?);
    let (start, stagger, jitter) = (select::start(v)?, v.span("stagger")?, v.span("jitter")?);
    let mut out = Generated::default();
    for (i, src) in senders(v, cx, receiver)?.into_iter().enumerate() {
        let start = start + Span(stagger.0.saturating_mul(i as u64)) + late(cx, src, jitter);
        out.flows.push(Flow {
            src,
            dst: receiver,
            priority,
            size,
            start,
            rate,
            controlled: true,
            src_port: 0,
            dst_port: DST_PORT,
            path: None,
            label: cx.label,
        });
    }
    Ok(out)
}

fn senders(v: &mut dyn Values, cx: &Context, receiver: NodeId) -> Result<Vec<NodeId>, ParamError> {
    let (named, fan_in) = (select::named_hosts(v, "senders", cx.topo)?, v.count_opt("fan_in")?);
    if let Some(named) = named {
        if fan_in.is_some() {
            return Err(ParamError::new(
                "fan_in",
                "given together with senders",
                "give one of the two",
            ));
        }
        if named.contains(&receiver) {
            let what = format!("the receiver '{}' is among the senders", cx.topo.name(receiver));
            return Err(ParamError::new("senders", what, "a flow to itself is not possible"));
        }
        return Ok(named);
    }
    let mut others: Vec<NodeId> = cx.topo.hosts().filter(|&h| h != receiver).collect();
    let n = fan_in.unwrap_or(others.len() as u64);
    if n == 0 || n > others.len() as u64 {
        let what = format!("{n} senders, but there are {} other hosts", others.len());
        return Err(ParamError::new("fan_in", what, "expected 1 up to the number of other hosts"));
    }
    match v.text("choice")?.as_str() {
        "first" => {}
        "random" => {
            // The hosts with the lowest draws: a host added elsewhere displaces at most one of
            // them.
            let draw = |h: NodeId| {
                stream(cx.seed, entity(cx.topo.name(h)), Purpose::Order.of(cx.label)).next_u64()
            };
            others.sort_by_cached_key(|&h| (draw(h), h));
            others.truncate(n as usize);
            others.sort_unstable();
        }
        other => {
            return Err(ParamError::new(
                "choice",
                format!("'{other}' is unknown"),
                "expected first or random",
            ));
        }
    }
    others.truncate(n as usize);
    Ok(others)
}
