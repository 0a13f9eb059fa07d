//! Hosts that send at a constant rate, forever or for a while.

use xoff_units::params::{Kind, ParamError, ParamSpec, Values};
use xoff_units::{NodeId, Span};

use crate::workload::flow::DST_PORT;
use crate::workload::random::{Purpose, below, entity, stream};
use crate::workload::{Context, Flow, Generated, select};

/// Declared keys, with defaults and sources.
pub const PARAMS: &[ParamSpec] = &[
    select::SOURCES,
    select::DESTINATIONS,
    ParamSpec::required("rate", Kind::Rate, "Rate of each source."),
    ParamSpec::optional(
        "duration",
        Kind::Span,
        "Sending time of each source; absent: `size` decides.",
        "",
    ),
    select::SIZE,
    select::START,
    select::JITTER,
    select::CONTROLLED,
    select::PRIORITY,
];

/// One flow per source.
pub fn generate(v: &mut dyn Values, cx: &Context) -> Result<Generated, ParamError> {
    let pairs = select::pairs(v, cx.topo)?;
    let rate = select::rate(v)?
        .ok_or_else(|| ParamError::new("rate", "missing", "this key must be given"))?;
    let mut size = select::size(v)?;
    if let Some(span) = v.span_opt("duration")? {
        if v.bytes_opt("size")?.is_some() {
            return Err(ParamError::new(
                "duration",
                "given together with size",
                "give one of the two",
            ));
        }
        size = rate.bytes_in(span).0;
        if size == 0 {
            return Err(ParamError::new(
                "duration",
                format!("nothing is sent in {span} at {rate}"),
                "give a longer duration",
            ));
        }
    }
    let (start, jitter, priority) = (select::start(v)?, v.span("jitter")?, select::priority(v)?);
    let controlled = v.flag("rate_control")?;
    let mut out = Generated::default();
    for (src, dst) in pairs {
        let start = start + late(cx, src, jitter);
        out.flows.push(Flow {
            src,
            dst,
            priority,
            size,
            start,
            rate: Some(rate),
            controlled,
            src_port: 0,
            dst_port: DST_PORT,
            path: None,
            label: cx.label,
        });
    }
    Ok(out)
}

/// The random delay of a host's start, uniform in [0, jitter) whole picoseconds.
pub(crate) fn late(cx: &Context, host: NodeId, jitter: Span) -> Span {
    if jitter == Span::ZERO {
        return jitter;
    }
    let mut rng = stream(cx.seed, entity(cx.topo.name(host)), Purpose::Jitter.of(cx.label));
    Span(below(&mut rng, jitter.0))
}
