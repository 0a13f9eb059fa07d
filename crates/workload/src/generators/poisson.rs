//! Poisson arrivals of random sizes: each host starts flows at random so that its link carries a given load.
//!
//! Mean gap of a host = mean size x 8 / (load x rate of the host's link), destination uniform over the other hosts,
//! as in HPCC's traffic_gen. Gaps, sizes and destinations come from three streams per host, so a cap on the size
//! moves no start and a change of load changes no destination.

use xoff_params::{Kind, ParamError, ParamSpec, Values};
use xoff_units::Span;

use crate::destinations::Destinations;
use crate::flow::DST_PORT;
use crate::random::{Purpose, entity, exponential, stream};
use crate::{Context, Flow, Generated, select};

/// Parameters.
pub const PARAMS: &[ParamSpec] = &[
    ParamSpec::required("load", Kind::Float, "Load of each host's link, payload over link rate; 0.5 is 50 %."),
    ParamSpec::required("duration", Kind::Span, "Flows start from `start` until this much later."),
    select::CDF,
    select::FIXED_SIZE,
    select::SIZE_MAX,
    select::HOSTS,
    ParamSpec::new("different_rack", Kind::Flag, "false", "Every destination lies in another rack than its source.", ""),
    select::START,
    select::PRIORITY,
];

/// More flows than this are refused before memory runs out [flows].
const FLOWS_MAX: f64 = 100e6;

/// Flows by host, each host's in order of time.
pub fn generate(v: &mut dyn Values, cx: &Context) -> Result<Generated, ParamError> {
    let load = v.float("load")?;
    if load <= 0.0 {
        return Err(ParamError::new("load", format!("{load} is not a load"), "give a number above 0, such as 0.5 for 50 %"));
    }
    let duration = v.span("duration")?;
    if duration.0 == 0 {
        return Err(ParamError::new("duration", "no flow can start in no time", "give a duration above 0"));
    }
    let mut out = Generated::default();
    let sizes = select::sizes(v, cx)?;
    let hosts = select::participants(v, cx.topo, &mut out.notes)?;
    let dsts = Destinations::new(cx.topo, &hosts, v.flag("different_rack")?)?;
    let (start, priority) = (select::start(v)?, select::priority(v)?);
    if load > 1.0 {
        out.notes.push(format!("load {load} is more than the hosts' links carry; flows pile up in the hosts"));
    }
    // Mean gap [ps]; a byte takes 8e12 / rate picoseconds.
    let gap = |src| sizes.mean() * 8e12 / (load * select::link_rate(cx.topo, src).as_f64());
    let expected: f64 = hosts.iter().map(|&h| duration.0 as f64 / gap(h)).sum();
    if expected > FLOWS_MAX {
        let what = format!("about {:.0} million flows would start", expected / 1e6);
        return Err(ParamError::new("duration", what, "at most 100 million; give a shorter duration or a lower load"));
    }
    for src in hosts {
        let who = entity(cx.topo.name(src));
        let mut arrivals = stream(cx.seed, who, Purpose::Arrival.of(cx.label));
        let mut size = stream(cx.seed, who, Purpose::Size.of(cx.label));
        let mut to = stream(cx.seed, who, Purpose::Destination.of(cx.label));
        let mean = gap(src);
        let mut at = 0u64;
        loop {
            // Rounded to the nearest picosecond, at least one, so that time goes on; the cast saturates.
            at = at.saturating_add(((exponential(&mut arrivals, mean) + 0.5) as u64).max(1));
            if at >= duration.0 {
                break;
            }
            out.flows.push(Flow {
                src,
                dst: dsts.pick(src, &mut to),
                priority,
                size: sizes.sample(&mut size),
                start: start + Span(at),
                rate: None,
                src_port: 0,
                dst_port: DST_PORT,
                path: None,
                label: cx.label,
            });
        }
    }
    Ok(out)
}
