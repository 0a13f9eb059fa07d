//! `[[pause_storm]]`: a host with a broken NIC.

use xoff_mech::LinkFacts;
use xoff_mech::flow_control::{FlowControl, Sender as _};
use xoff_net::topology::Topology;
use xoff_net::workload::Flows;
use xoff_node::Classes;
use xoff_scenario::document::{Section, SectionSpec};
use xoff_sim::{Model, PauseStorm};
use xoff_units::params::{Kind, ParamError, ParamSpec, Values as _};
use xoff_units::{Bytes, Span, Time};

use super::flows::receives;
use super::host::find_host;
use super::{Context, Part, Read, Sections};

const KEYS: &[ParamSpec] = &[
    ParamSpec::required(
        "host",
        Kind::Text,
        "host whose NIC keeps pausing its switch, whatever it receives",
    ),
    ParamSpec::new("priority", Kind::Count, "0", "priority that it pauses, 0 to 7", ""),
    ParamSpec::new(
        "start",
        Kind::Span,
        "0us",
        "time of its first message, which is the longest pause that the flow control has",
        "",
    )
    .renamed_from(&["from"]),
    ParamSpec::optional("stop", Kind::Span, "time of its release; default: the end of the run", "")
        .renamed_from(&["until"]),
    ParamSpec::new(
        "interval",
        Kind::Span,
        "100us",
        "time between two messages",
        "802.3 Annex 31D: a pause ends after 65,535 quanta",
    ),
];

pub type Value = PauseStorm;

impl Part for PauseStorm {
    fn specs() -> Vec<SectionSpec> {
        vec![SectionSpec::many("pause_storm", "A host with a broken NIC.", vec![KEYS])]
    }

    fn read<'d>(cx: &Context<'d>, _: &Sections<'d>) -> Read<'d, PauseStorm> {
        Read::each(cx, |s| read(s, cx.topology, cx.run.duration))
    }

    fn agree(cx: &Context<'_>, all: &mut Sections<'_>) {
        let (answers, lossy, storms) =
            (all.hosts_answer(), all.lossy().to_vec(), all.pause_storm.values.clone());
        let (Some((name, links)), Some(classes), Some(flows)) =
            (all.flow_control.links(), all.classes(), all.flows.value())
        else {
            return;
        };
        for (n, section) in all.pause_storm.sections.iter_mut().enumerate() {
            let of = (&*lossy, flows, answers);
            section.take(|s| fits(s, (n, &storms), (name, links), (cx.topology, &classes), of));
        }
    }

    fn set(self, model: &mut Model<'static>) {
        model.faults.storms.push(self);
    }
}

/// Reads a `[[pause_storm]]`.
fn read(
    s: &mut Section<'_>,
    topology: &Topology,
    duration: Span,
) -> Result<PauseStorm, ParamError> {
    let host = find_host(s, topology)?;
    let priority = s.count("priority")?;
    if priority > 7 {
        return Err(ParamError::new("priority", "there are 8 priorities", "expected 0 to 7"));
    }
    let (from, until, interval) = (s.span("start")?, s.span_opt("stop")?, s.span("interval")?);
    if interval.0 == 0 {
        return Err(ParamError::new(
            "interval",
            "the interval is 0: the time of the run could not advance",
            "expected a time above zero",
        ));
    }
    if let Some(until) = until.filter(|&u| u <= from) {
        return Err(ParamError::new(
            "stop",
            format!("stop {until} <= start {from}: no storm"),
            "choose a later time",
        ));
    }
    if duration.0 > 0 && from >= duration {
        s.warn(&ParamError::new(
            "start",
            format!("start {from} >= run.duration {duration}: the storm never starts"),
            "choose an earlier \
                                                                                                                      time",
        ));
    } else if let Some(until) = until.filter(|&u| duration.0 > 0 && u > duration) {
        s.has_no_effect(
            "stop",
            &format!("stop {until} > run.duration {duration}: the run ends first"),
            "choose an earlier time, or \
                                                                                                         extend run.duration",
        );
    }
    if let Some(until) = until.filter(|&u| interval.0 >= u.0 - from.0) {
        let why = format!("the storm ends at {until}, before a second message");
        s.has_no_effect("interval", &why, "remove the key, or shorten the interval");
    }
    Ok(PauseStorm {
        host,
        priority: priority as u8,
        from: Time(from.0),
        until: until.map_or(Time::NEVER, |u| Time(u.0)),
        interval,
    })
}

/// Refuses a storm without a message that could hold a peer, one that the wire does not carry, and
/// two at the same time; warns of a storm that pauses nothing, or not all the time.
fn fits(
    s: &Section<'_>,
    (n, storms): (usize, &[Option<PauseStorm>]),
    (name, links): (&str, &[(LinkFacts, FlowControl)]),
    (topology, classes): (&Topology, &Classes),
    (lossy, flows, answers): (&[u8], &Flows, bool),
) -> Result<(), ParamError> {
    let Some(storm) = &storms[n] else { return Ok(()) };
    if lossy.contains(&storm.priority) {
        let what = format!("priority {} is lossy: no message pauses it", storm.priority);
        return Err(ParamError::new(
            "priority",
            what,
            "choose a priority that is not in flow_control.lossy",
        ));
    }
    // The slowest link of the host.
    let Some(link) = topology.links_at(storm.host).min_by_key(|l| l.rate) else { return Ok(()) };
    let found =
        links.iter().find(|(facts, _)| (facts.rate, facts.delay) == (link.rate, link.delay));
    let Some((facts, fc)) = found else { return Ok(()) };
    let messages = storms.iter().flatten().filter(|s| s.host == storm.host).count() as u64;
    let wire = facts.rate.time_for(fc.message_len().max(Bytes(1)) * messages);
    if storm.interval < wire {
        let which = if messages == 1 {
            "a message".to_owned()
        } else {
            format!("{messages} messages, one of each storm of the host,")
        };
        let what =
            format!("interval {} < {wire}, the time of {which} at {}", storm.interval, link.rate);
        return Err(ParamError::new("interval", what, "expected at least that time"));
    }
    let same = |o: &&PauseStorm| {
        (o.host, o.priority) == (storm.host, storm.priority)
            && o.from < storm.until
            && storm.from < o.until
    };
    if let Some(other) = storms[..n].iter().flatten().find(same) {
        let what = format!(
            "the storm of priority {} from {} overlaps the one from {}: the first to end would release both",
            storm.priority, storm.from, other.from
        );
        return Err(ParamError::new(
            "start",
            what,
            "separate the storms in time, or merge them into one",
        ));
    }
    if fc.halves(facts).0.hold().is_none() {
        let what = format!("{name} has no message that pauses a whole priority");
        return Err(ParamError::new(
            "host",
            what,
            "remove [[pause_storm]], or choose another flow control",
        ));
    }
    if classes.class(storm.priority).is_none() {
        let what = format!("no flow has priority {}: the storm blocks no frame", storm.priority);
        s.warn(&ParamError::new("priority", what, "choose the priority of a flow"));
    } else if !receives(flows, answers, storm.host, Some(storm.priority)) {
        let what = format!(
            "no flow of priority {} ends at {}: the storm blocks no frame",
            storm.priority,
            topology.name(storm.host)
        );
        s.warn(&ParamError::new("host", what, "choose the destination and the priority of a flow"));
    }
    if let Some(ends) = held_by_a_message(facts, fc).filter(|&ends| storm.interval > ends) {
        let what = format!(
            "interval {} > {ends}, the longest pause of a message of {name}: the peer sends between two messages",
            storm.interval
        );
        s.warn(&ParamError::new(
            "interval",
            what,
            "shorten the interval to pause the peer all the time",
        ));
    }
    Ok(())
}

/// For how long the strongest message of a flow control holds a frame; `None`: until another one
/// comes.
fn held_by_a_message(facts: &LinkFacts, fc: &FlowControl) -> Option<Span> {
    let (rx, mut tx) = fc.halves(facts);
    tx.on_message(Time::ZERO, rx.hold()?);
    tx.stopped_until(Time::ZERO, facts.mtu, Span(u64::MAX))
        .filter(|&t| t != Time::NEVER)
        .map(|t| Span(t.0))
}
