//! `[[slow_receiver]]`: a host that drains frames more slowly than they can arrive.

use xoff_mech::LinkFacts;
use xoff_mech::flow_control::{FlowControl, Pauses};
use xoff_net::topology::Topology;
use xoff_net::workload::{Flows, UNLIMITED};
use xoff_node::DrainConfig;
use xoff_scenario::document::{Section, SectionSpec};
use xoff_sim::{Model, SlowReceiver};
use xoff_units::params::{Kind, ParamError, ParamSpec, Values as _};
use xoff_units::{Bytes, Span, Time};

use super::flows::receives;
use super::host::find_host;
use super::{Context, Part, Read, Sections};
use crate::network::pool;

const KEYS: &[ParamSpec] = &[
    ParamSpec::required("host", Kind::Text, "host that drains frames slowly"),
    ParamSpec::required(
        "rate",
        Kind::Rate,
        "rate at which its NIC drains frames (PCIe, table misses); at most the rate of its link",
    ),
    ParamSpec::optional(
        "buffer",
        Kind::Bytes,
        "memory of the NIC for each priority; default: switch.buffer, the value in the plan of the flow control",
        "",
    ),
    ParamSpec::optional(
        "stalls",
        Kind::Texts,
        "times without draining, `FROM+FOR`, such as `100us+20us`",
        "",
    ),
    ParamSpec::optional(
        "message_rate",
        Kind::Count,
        "largest number of messages (flows) that it completes per second; default: no limit",
        "",
    ),
];

pub type Value = SlowReceiver;

impl Part for SlowReceiver {
    fn specs() -> Vec<SectionSpec> {
        vec![SectionSpec::many(
            "slow_receiver",
            "A host that drains frames more slowly than they can arrive.",
            vec![KEYS],
        )]
    }

    fn read<'d>(cx: &Context<'d>, all: &Sections<'d>) -> Read<'d, SlowReceiver> {
        let Some(switch) = all.switch.value() else { return Read::skipped(cx) };
        let mut read =
            Read::each(cx, |s| read(s, cx.topology, switch.ingress_buffer, cx.run.duration));
        refuse_twice(&mut read);
        read
    }

    fn agree(cx: &Context<'_>, all: &mut Sections<'_>) {
        let answers = all.hosts_answer();
        let Some(links) = all.flow_control.links() else { return };
        all.slow_receiver.check(|_, slow| fits(slow, cx.topology, links));
        let Some(flows) = all.flows.value() else { return };
        all.slow_receiver.check(|s, slow| {
            has_frames(s, slow, cx.topology, flows, answers);
            Ok(())
        });
    }

    fn set(self, model: &mut Model<'static>) {
        model.faults.slow_receivers.push(self);
    }
}

/// A host drains in one manner.
fn refuse_twice(read: &mut Read<'_, SlowReceiver>) {
    let Read { sections, values } = read;
    for n in 1..values.len() {
        let host = values[n].as_ref().map(|s| s.host);
        if host.is_some() && values[..n].iter().any(|s| s.as_ref().map(|s| s.host) == host) {
            let twice = ParamError::new(
                "host",
                "the host already has a [[slow_receiver]]",
                "keep one for each host",
            );
            values[n] = sections[n].take(|_| Err(twice));
        }
    }
}

/// Reads a `[[slow_receiver]]`; `buffer`: the size that flow control plans with.
fn read(
    s: &mut Section<'_>,
    topology: &Topology,
    buffer: Bytes,
    duration: Span,
) -> Result<SlowReceiver, ParamError> {
    let host = find_host(s, topology)?;
    let line = topology.links_at(host).map(|l| l.rate).min().unwrap_or_default();
    let rate = s.rate("rate")?;
    if rate.0 == 0 {
        return Err(ParamError::new(
            "rate",
            "the rate is 0",
            "expected a rate above zero; use stalls to stop the drain for a time",
        ));
    }
    if rate > line {
        return Err(ParamError::new(
            "rate",
            format!("rate {rate} > {line}, the rate of the link"),
            "expected at most the rate of the link",
        ));
    }
    let own = s.bytes_opt("buffer")?.unwrap_or(buffer);
    if own < buffer {
        let what = format!(
            "buffer {own} < switch.buffer {buffer}, the value in the plan of the flow control: frames would be lost"
        );
        return Err(ParamError::new("buffer", what, "expected at least switch.buffer"));
    }
    let stalls =
        s.texts("stalls")?.iter().map(|text| read_stall(text)).collect::<Result<Vec<_>, _>>()?;
    if let Some(w) = stalls.windows(2).find(|w| w[1].0 < w[0].1) {
        let what =
            format!("a stall starts at {}, before the previous one ends at {}", w[1].0, w[0].1);
        return Err(ParamError::new("stalls", what, "list the stalls by time, without overlaps"));
    }
    if let Some(late) = stalls.iter().find(|stall| duration.0 > 0 && stall.0.0 >= duration.0) {
        let what = format!(
            "a stall starts at {} >= run.duration {duration}: it never takes place",
            late.0
        );
        s.warn(&ParamError::new("stalls", what, "choose an earlier time"));
    } else if let Some(last) =
        stalls.last().filter(|stall| duration.0 > 0 && stall.1.0 > duration.0)
    {
        let what = format!(
            "a stall lasts until {}, after run.duration {duration}: the host never drains again",
            last.1
        );
        s.warn(&ParamError::new("stalls", what, "shorten the stall, or extend run.duration"));
    }
    let message_gap = match s.count_opt("message_rate")? {
        None => Span::ZERO,
        Some(0) => {
            return Err(ParamError::new(
                "message_rate",
                "the message rate is 0",
                "expected messages per second, above zero",
            ));
        }
        Some(n) => Span(PS_PER_SECOND.div_ceil(n)),
    };
    Ok(SlowReceiver {
        host,
        drain: DrainConfig { rate, buffer: own, plain: own, limit: own, stalls, message_gap },
    })
}

/// A slow receiver that nothing is for, and messages that never end or are never as frequent.
fn has_frames(
    s: &Section<'_>,
    slow: &SlowReceiver,
    topology: &Topology,
    flows: &Flows,
    answers: bool,
) {
    let name = topology.name(slow.host);
    if !receives(flows, answers, slow.host, None) {
        s.warn(&ParamError::new(
            "host",
            format!("no frame has the destination {name}: the host receives nothing"),
            "choose the destination of a flow",
        ));
        return;
    }
    let mut own = flows.flows.iter().filter(|f| f.dst == slow.host);
    if slow.drain.message_gap > Span::ZERO && flows.all_listed() && own.all(|f| f.size == UNLIMITED)
    {
        let why = format!("every flow to {name} is endless: no message completes");
        s.has_no_effect("message_rate", &why, "give the flows a size, or remove the key");
    } else if slow.drain.message_gap > Span::ZERO
        && slow.drain.message_gap <= slow.drain.rate.time_for(Bytes(1))
    {
        let why = format!(
            "at {}, no message completes within {}",
            slow.drain.rate, slow.drain.message_gap
        );
        s.has_no_effect("message_rate", &why, "use fewer messages per second");
    }
}

/// Refuses a flow control that could not hold the switch of such a host. Where thresholds follow
/// the memory of a switch the NIC has those of its own buffer: bytes beyond the buffer minus
/// headroom pause the switch.
fn fits(
    slow: &mut SlowReceiver,
    topology: &Topology,
    (name, links): (&str, &[(LinkFacts, FlowControl)]),
) -> Result<(), ParamError> {
    let what = match () {
        _ if !links.iter().all(|(_, fc)| fc.holds_priorities()) => {
            "pauses single flows by their bytes in a switch"
        }
        _ if links.iter().any(|(_, fc)| fc.shares_port()) => {
            "shares the buffer of a port among its priorities"
        }
        _ => return follow_its_buffer(slow, topology, links),
    };
    let hint = "remove [[slow_receiver]], or choose a flow control, or a threshold, by the buffer of a port";
    Err(ParamError::new(
        "host",
        format!("{name} {what}, which the memory of a NIC cannot do"),
        hint,
    ))
}

fn follow_its_buffer(
    slow: &mut SlowReceiver,
    topology: &Topology,
    links: &[(LinkFacts, FlowControl)],
) -> Result<(), ParamError> {
    // Each port has such a memory; the link that needs most headroom counts.
    let found = topology.links_at(slow.host).filter_map(|link| {
        links.iter().find(|(facts, _)| (facts.rate, facts.delay) == (link.rate, link.delay))
    });
    let most = found.max_by_key(|(facts, fc)| pool::headroom(None, facts, fc));
    let Some((facts, fc)) = most else { return Ok(()) };
    let pauses = fc.pauses();
    if !matches!(pauses, Pauses::ByFreeMemory | Pauses::ByProfile) {
        return Ok(());
    }
    let (headroom, buffer, interval) =
        (pool::headroom(None, facts, fc), slow.drain.buffer, facts.mtu * 2);
    let least = headroom + interval + facts.mtu;
    if buffer < least {
        let what = format!(
            "buffer {buffer} < {least}: the NIC needs {headroom} of headroom and 3 MTU between its pause and resume levels"
        );
        return Err(ParamError::new("buffer", what, "use a larger buffer"));
    }
    slow.drain.plain = buffer.saturating_sub(headroom);
    slow.drain.limit = match pauses {
        // The level at which the peer is resumed.
        Pauses::ByProfile => slow.drain.plain.saturating_sub(interval),
        _ => slow.drain.plain,
    };
    Ok(())
}

/// Picoseconds in a second.
const PS_PER_SECOND: u64 = 1_000_000_000_000;

/// A stall, `FROM+FOR`.
fn read_stall(text: &str) -> Result<(Time, Time), ParamError> {
    let hint = "expected FROM+FOR, such as \"100us+20us\"";
    let refuse = || ParamError::new("stalls", format!("'{text}' is not a stall"), hint);
    let (from, lasting) = text.split_once('+').ok_or_else(refuse)?;
    let span = |text: &str| {
        text.trim()
            .parse::<Span>()
            .ok()
            .filter(|s| *s <= xoff_units::params::SPAN_MAX)
            .ok_or_else(refuse)
    };
    let (from, lasting) = (span(from)?, span(lasting)?);
    if lasting.0 == 0 {
        return Err(ParamError::new("stalls", format!("'{text}' has a duration of 0"), hint));
    }
    Ok((Time(from.0), Time(from.0) + lasting))
}
