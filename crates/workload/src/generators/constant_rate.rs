//! Hosts that send at a constant rate, for ever or for a while.

use xoff_params::{Kind, ParamError, ParamSpec, Values};
use xoff_units::Span;

use crate::flow::DST_PORT;
use crate::random::{Purpose, below, entity, stream};
use crate::{Context, Flow, Generated, select};

/// Parameters.
pub const PARAMS: &[ParamSpec] = &[
    ParamSpec::optional("sources", Kind::Texts, "Sending hosts; absent: every host that is not a destination.", ""),
    ParamSpec::required("destinations", Kind::Texts, "One receiver for all sources, or one for each source, in the same order."),
    ParamSpec::required("rate", Kind::Rate, "Rate of each source."),
    ParamSpec::optional("duration", Kind::Span, "How long each source sends; absent: `size` decides.", ""),
    select::SIZE,
    select::START,
    select::JITTER,
    select::PRIORITY,
];

/// One flow per source.
pub fn generate(v: &mut dyn Values, cx: &Context) -> Result<Generated, ParamError> {
    let names = v.texts("destinations")?;
    if names.is_empty() {
        return Err(ParamError::new("destinations", "missing", "name at least one host"));
    }
    let dsts = names.iter().map(|n| select::host(cx.topo, "destinations", n)).collect::<Result<Vec<_>, _>>()?;
    let sources = match select::named_hosts(v, "sources", cx.topo)? {
        Some(named) => named,
        None => cx.topo.hosts().filter(|h| !dsts.contains(h)).collect(),
    };
    if dsts.len() != 1 && dsts.len() != sources.len() {
        let what = format!("{} destinations for {} sources", dsts.len(), sources.len());
        return Err(ParamError::new("destinations", what, "name one, or as many as there are sources"));
    }
    let rate = select::rate(v)?.ok_or_else(|| ParamError::new("rate", "missing", "this key must be given"))?;
    let mut size = select::size(v)?;
    if let Some(span) = v.span_opt("duration")? {
        if v.bytes_opt("size")?.is_some() {
            return Err(ParamError::new("duration", "given together with size", "give one of the two"));
        }
        size = rate.bytes_in(span).0;
        if size == 0 {
            return Err(ParamError::new("duration", format!("nothing is sent in {span} at {rate}"), "give a longer duration"));
        }
    }
    let (start, jitter, priority) = (select::start(v)?, v.span("jitter")?, select::priority(v)?);
    let mut out = Generated::default();
    for (i, &src) in sources.iter().enumerate() {
        let dst = dsts[if dsts.len() == 1 { 0 } else { i }];
        if src == dst {
            let what = format!("'{0}' would send to '{0}'", cx.topo.name(src));
            return Err(ParamError::new("destinations", what, "give each source another host"));
        }
        let start = start + late(cx, src, jitter);
        out.flows.push(Flow {
            src,
            dst,
            priority,
            size,
            start,
            rate: Some(rate),
            src_port: 0,
            dst_port: DST_PORT,
            path: None,
            label: cx.label,
        });
    }
    Ok(out)
}

/// The random delay of a host's start, uniform in [0, jitter) whole picoseconds.
pub(crate) fn late(cx: &Context, host: u32, jitter: Span) -> Span {
    if jitter == Span::ZERO {
        return jitter;
    }
    let mut rng = stream(cx.seed, entity(cx.topo.name(host)), Purpose::Jitter.of(cx.label));
    Span(below(&mut rng, jitter.0))
}
