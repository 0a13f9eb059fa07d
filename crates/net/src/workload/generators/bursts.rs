//! Bursts: several senders that all send at the same times, round after round.
//!
//! ```text
//!   A0  ##            ##       ##                    gaps: fixed, or exponential and common to all
//!   A1  ####          #        ###                   sizes: one for all, or each sender's own draws
//!   A2  #             ######   ##
//!       start   gap   |  gap   |  gap ...
//! ```
//!
//! A round does not wait for the previous one: the rest of that round continues in parallel. An
//! [`incast`](super::incast) is one round with starts that may differ.

use xoff_units::Span;
use xoff_units::params::{Kind, ParamError, ParamSpec, Values};

use crate::workload::arrivals::{End, Poisson};
use crate::workload::flow::DST_PORT;
use crate::workload::random::{Purpose, entity, stream};
use crate::workload::{Context, Flow, Generated, select};

/// Declared keys, with defaults and sources.
pub const PARAMS: &[ParamSpec] = &[
    select::SOURCES,
    select::DESTINATIONS,
    select::CDF,
    select::FIXED_SIZE,
    select::SIZE_MAX,
    ParamSpec::required(
        "gap",
        Kind::Span,
        "Time between the starts of two rounds; the mean, if gaps are exponential.",
    ),
    ParamSpec::new(
        "gaps",
        Kind::Choice(&["fixed", "exponential"]),
        "fixed",
        "fixed: the first round begins at `start`; exponential: rounds are a Poisson process, the first one a gap after `start`.",
        "TCD sections 3.1.1 and 5.2.1",
    ),
    ParamSpec::optional(
        "duration",
        Kind::Span,
        "Time after `start` during which rounds start. Give this, `rounds`, or both.",
        "",
    ),
    ParamSpec::optional("rounds", Kind::Count, "Number of rounds.", ""),
    select::START,
    select::RATE,
    select::CONTROLLED,
    select::PRIORITY,
];

/// One flow per source and round: round by round, in the order of the sources.
pub fn generate(v: &mut dyn Values, cx: &Context) -> Result<Generated, ParamError> {
    let pairs = select::pairs(v, cx.topo)?;
    let sizes = select::sizes(v, cx)?;
    let gap = v.span("gap")?;
    if gap == Span::ZERO {
        return Err(ParamError::new("gap", "all rounds would start at once", "give a gap above 0"));
    }
    let end = End::read(v, "rounds", "round")?;
    end.check("rounds", pairs.len() as f64 / gap.0 as f64, pairs.len())?;
    let rounds = match v.text("gaps")?.as_str() {
        "fixed" => {
            let before = end.duration.map_or(u64::MAX, |d| d.0.div_ceil(gap.0));
            // Time has an end, even where a number of rounds is beyond it.
            let rounds = before.min(end.count.unwrap_or(u64::MAX)).min(u64::MAX / gap.0);
            (0..rounds).map(|r| gap * r).collect()
        }
        // The times belong to no host: all senders keep them when one is added.
        "exponential" => end
            .cut(vec![Poisson::new(
                gap.0 as f64,
                stream(cx.seed, 0, Purpose::Arrival.of(cx.label)),
            )])
            .remove(0),
        other => {
            return Err(ParamError::new(
                "gaps",
                format!("'{other}' is unknown"),
                "expected fixed or exponential",
            ));
        }
    };
    let (start, priority, rate) = (select::start(v)?, select::priority(v)?, select::rate(v)?);
    let controlled = v.flag("rate_control")?;
    let of = |src| stream(cx.seed, entity(cx.topo.name(src)), Purpose::Size.of(cx.label));
    let mut senders: Vec<_> = pairs.into_iter().map(|(src, dst)| (src, dst, of(src))).collect();
    let mut out = Generated::default();
    for at in rounds {
        for (src, dst, size) in &mut senders {
            out.flows.push(Flow {
                src: *src,
                dst: *dst,
                priority,
                size: sizes.sample(size),
                start: start + at,
                rate,
                controlled,
                src_port: 0,
                dst_port: DST_PORT,
                path: None,
                label: cx.label,
            });
        }
    }
    Ok(out)
}
