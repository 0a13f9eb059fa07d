//! Poisson arrivals of random sizes: each host starts flows at random so that its link carries a
//! given load.
//!
//! Mean gap of a host = mean size x 8 / (load x rate of the host's link), destination uniform over
//! the other hosts, as in HPCC's traffic_gen. Gaps, sizes and destinations come from three streams
//! per host, so a cap on the size moves no start and a change of load changes no destination. A
//! number of flows cuts off later ones and moves none.

use xoff_units::params::{Kind, ParamError, ParamSpec, Values};

use crate::workload::arrivals::{End, Poisson};
use crate::workload::destinations::Destinations;
use crate::workload::flow::DST_PORT;
use crate::workload::random::{Purpose, entity, stream};
use crate::workload::{Context, Flow, Generated, select};

/// Declared keys, with defaults and sources.
pub const PARAMS: &[ParamSpec] = &[
    ParamSpec::required(
        "load",
        Kind::Float,
        "Load of each source's link, payload over link rate; 0.5 is 50 %.",
    ),
    ParamSpec::optional(
        "duration",
        Kind::Span,
        "Time after `start` during which flows start. Give this, `flows`, or both.",
        "",
    ),
    ParamSpec::optional(
        "flows",
        Kind::Count,
        "Only this many flows start, the first ones of all hosts together.",
        "TCD section 5.2.1: 40000",
    ),
    select::CDF,
    select::FIXED_SIZE,
    select::SIZE_MAX,
    select::HOSTS,
    ParamSpec::optional(
        "destinations",
        Kind::Texts,
        "Hosts that receive, each equally likely, while `hosts` (absent: every other host) send; absent: those of `hosts`.",
        "",
    ),
    ParamSpec::new(
        "different_rack",
        Kind::Flag,
        "false",
        "Every destination is in another rack than its source.",
        "",
    ),
    select::START,
    select::PRIORITY,
];

/// Flows by host, each host's in order of time.
pub fn generate(v: &mut dyn Values, cx: &Context) -> Result<Generated, ParamError> {
    let load = v.float("load")?;
    if load <= 0.0 {
        return Err(ParamError::new(
            "load",
            format!("{load} is not a load"),
            "give a number above 0, such as 0.5 for 50 %",
        ));
    }
    let end = End::read(v, "flows", "flow")?;
    let mut out = Generated::default();
    let sizes = select::sizes(v, cx)?;
    let (hosts, dsts) = match select::named_hosts(v, "destinations", cx.topo)? {
        None => {
            let hosts = select::participants(v, cx.topo, &mut out.notes)?;
            let dsts = Destinations::new(cx.topo, &hosts, v.flag("different_rack")?)?;
            (hosts, dsts)
        }
        Some(named) => {
            let hosts = select::senders(v, "hosts", cx.topo, &named, &mut out.notes)?;
            let dsts = Destinations::among(cx.topo, &hosts, &named, v.flag("different_rack")?)
                .map_err(|alone| select::no_destination("destinations", cx.topo, alone))?;
            (hosts, dsts)
        }
    };
    let (start, priority) = (select::start(v)?, select::priority(v)?);
    if load > 1.0 {
        out.notes.push(format!(
            "load {load} is more than the hosts' links can carry: flows pile up in the hosts"
        ));
    }
    // Mean gap [ps]; a byte takes 8e12 / rate picoseconds.
    let gap = |src| sizes.mean() * 8e12 / (load * select::link_rate(cx.topo, src).as_f64());
    end.check("flows", hosts.iter().map(|&h| 1.0 / gap(h)).sum(), 1)?;
    let who = |src| entity(cx.topo.name(src));
    let processes = hosts
        .iter()
        .map(|&h| Poisson::new(gap(h), stream(cx.seed, who(h), Purpose::Arrival.of(cx.label))));
    for (src, arrivals) in hosts.iter().copied().zip(end.cut(processes.collect())) {
        let mut size = stream(cx.seed, who(src), Purpose::Size.of(cx.label));
        let mut to = stream(cx.seed, who(src), Purpose::Destination.of(cx.label));
        for at in arrivals {
            out.flows.push(Flow {
                src,
                dst: dsts.pick(src, &mut to),
                priority,
                size: sizes.sample(&mut size),
                start: start + at,
                rate: None,
                controlled: true,
                src_port: 0,
                dst_port: DST_PORT,
                path: None,
                label: cx.label,
            });
        }
    }
    Ok(out)
}
