//! A network in operation: watchdogs of switches, hosts whose NICs are broken, hosts that drain slowly.

use xoff_mech::flow_control::{FlowControl, Occupancy, Pauses, Sender as _};
use xoff_mech::{LinkFacts, watchdog};
use xoff_net::topology::{NodeKind, Topology};
use xoff_net::workload::{Flow, Flows, UNLIMITED};
use xoff_node::{Classes, DrainConfig};
use xoff_scenario::document::Section;
use xoff_sim::{PauseStorm, SlowReceiver};
use xoff_units::params::{ParamError, Values as _};
use xoff_units::{Bytes, Span, Time};

use super::{NetworkScenario, pool};

/// Reads `[watchdog]`; `None` in it: there is none.
pub(super) fn read_watchdog(s: &mut Section<'_>, duration: Span) -> Result<Option<watchdog::Config>, ParamError> {
    let kind = s.kind().unwrap_or("none");
    let entry = watchdog::REGISTRY.iter().find(|e| e.name == kind).expect("a kind of the registry");
    let config = (entry.read)(s)?;
    if let Some(c) = config.filter(|_| duration.0 > 0) {
        warn_of_times(s, &c, duration);
    }
    Ok(config)
}

/// Warnings about times after the end of the run.
fn warn_of_times(s: &Section<'_>, c: &watchdog::Config, duration: Span) {
    let longer = "shorten the times, or extend run.duration";
    let restored = Span(c.detect.0.saturating_add(c.restore.0));
    if c.detect >= duration {
        let what = format!("detect {} >= run.duration {duration}: the watchdog never finds a storm", c.detect);
        s.warn(&ParamError::new("detect", what, longer));
    } else if restored >= duration && c.action != watchdog::Action::Alert {
        let what = format!("detect + restore = {restored} >= run.duration {duration}: the watchdog restores no queue before the run ends");
        s.warn(&ParamError::new("restore", what, longer));
    }
}

/// Warns of a watchdog if no queue in use is ever paused.
pub(super) fn watchdog_has_queues(s: &Section<'_>, classes: &Classes, lossy: &[u8]) {
    if (0..classes.len()).all(|class| lossy.contains(&classes.priority(class))) {
        s.has_no_effect(
            "kind",
            "every priority in use is lossy: flow control never pauses a queue",
            "remove [watchdog], or shorten flow_control.lossy",
        );
    }
}

/// True if a host receives frames, of this priority if one is given. Flows that are added during the run may end at any host.
fn receives(flows: &Flows, answers: bool, host: u32, priority: Option<u8>) -> bool {
    let is_for = |f: &Flow| f.dst == host && priority.is_none_or(|p| p == f.priority) || answers && f.src == host;
    !flows.all_listed() || flows.flows.iter().any(is_for)
}

/// Refuses a watchdog that could do nothing.
pub(super) fn watchdog_fits(name: &str, links: &[(LinkFacts, FlowControl)]) -> Result<(), ParamError> {
    let why = match () {
        _ if links.iter().any(|(_, fc)| !fc.holds_priorities()) => "pauses single flows, but a watchdog releases whole priorities",
        _ if links.iter().all(|(_, fc)| matches!(fc, FlowControl::None)) => "pauses no queue that a watchdog could release",
        _ => return Ok(()),
    };
    Err(ParamError::new("kind", format!("{name} {why}"), "set watchdog.kind = \"none\", or another flow control"))
}

/// Warns of pauses that come again later than the next poll, where a poll has to see one (`status`).
pub(super) fn watchdog_sees(s: &Section<'_>, c: &watchdog::Config, links: &[(LinkFacts, FlowControl)], storms: &[Option<PauseStorm>]) {
    let stops = |fc: &FlowControl| fc.pauses() != Pauses::Never;
    if c.detector != watchdog::Detector::Status || !links.iter().any(|(_, fc)| stops(fc)) {
        return;
    }
    // Storms come by their own clock.
    let again = match storms.iter().flatten().map(|storm| storm.interval).max() {
        Some(interval) => Some(interval),
        None => links.iter().filter(|(_, fc)| stops(fc)).filter_map(|(facts, fc)| pause_comes_again(facts, fc)).max(),
    };
    match again {
        None => {
            let what = "status counts repeated pauses, but this flow control sends each pause once: the watchdog finds no storm";
            s.warn(&ParamError::new("kind", what, "set kind = \"duration\", pause = \"quanta\", or repeat"));
        }
        Some(again) if again > c.poll => {
            let what = format!("poll {} < {again}, the time between two pauses: most polls of status find no pause", c.poll);
            s.warn(&ParamError::new("poll", what, "use a longer poll, shorter pauses, or kind = \"duration\""));
        }
        Some(_) => {}
    }
}

/// After which time the pause of a full buffer comes again; `None`: it does not.
fn pause_comes_again(facts: &LinkFacts, fc: &FlowControl) -> Option<Span> {
    let full = Bytes(u64::MAX / 4);
    let full = Occupancy { bytes: full, shared: full, headroom: full, limit: Bytes::ZERO };
    let (mut rx, _) = fc.halves(facts);
    rx.on_arrival(Time::ZERO, &full, facts.mtu)?;
    rx.next_wake().map(|t| Span(t.0))
}

/// For how long the strongest message of a flow control holds a frame; `None`: until another one comes.
fn held_by_a_message(facts: &LinkFacts, fc: &FlowControl) -> Option<Span> {
    let (rx, mut tx) = fc.halves(facts);
    tx.on_message(Time::ZERO, rx.hold()?);
    tx.stopped_until(Time::ZERO, facts.mtu, Span(u64::MAX)).filter(|&t| t != Time::NEVER).map(|t| Span(t.0))
}

/// The host of a section.
fn host(s: &mut Section<'_>, topology: &Topology) -> Result<u32, ParamError> {
    let name = s.text("host")?;
    let found = topology.find(&name).filter(|&n| topology.nodes[n as usize].kind == NodeKind::Host);
    found.ok_or_else(|| {
        let hosts: Vec<&str> = topology.hosts().map(|h| topology.name(h)).collect();
        ParamError::new("host", format!("there is no host '{name}'"), xoff_scenario::suggest::hint(&name, "hosts", &hosts))
    })
}

/// Reads a `[[pause_storm]]`.
pub(super) fn read_storm(s: &mut Section<'_>, topology: &Topology, duration: Span) -> Result<PauseStorm, ParamError> {
    let host = host(s, topology)?;
    let priority = s.count("priority")?;
    if priority > 7 {
        return Err(ParamError::new("priority", "there are 8 priorities", "expected 0 to 7"));
    }
    let (from, until, interval) = (s.span("start")?, s.span_opt("stop")?, s.span("interval")?);
    if interval.0 == 0 {
        return Err(ParamError::new("interval", "the interval is 0: the time of the run could not advance", "expected a time above zero"));
    }
    if let Some(until) = until.filter(|&u| u <= from) {
        return Err(ParamError::new("stop", format!("stop {until} <= start {from}: no storm"), "choose a later time"));
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
    Ok(PauseStorm { host, priority: priority as u8, from: Time(from.0), until: until.map_or(Time::NEVER, |u| Time(u.0)), interval })
}

/// Refuses a storm without a message that could hold a peer, one that the wire does not carry, and two at the same time; warns of a storm
/// that pauses nothing, or not all the time.
pub(super) fn storm_fits(
    s: &Section<'_>,
    (n, storms): (usize, &[Option<PauseStorm>]),
    (name, links): (&str, &[(LinkFacts, FlowControl)]),
    (topology, classes): (&Topology, &Classes),
    (lossy, flows, answers): (&[u8], &Flows, bool),
) -> Result<(), ParamError> {
    let Some(storm) = &storms[n] else { return Ok(()) };
    if lossy.contains(&storm.priority) {
        let what = format!("priority {} is lossy: no message pauses it", storm.priority);
        return Err(ParamError::new("priority", what, "choose a priority that is not in flow_control.lossy"));
    }
    let link = topology.link_at(storm.host, 0);
    let found = links.iter().find(|(facts, _)| (facts.rate, facts.delay) == (link.rate, link.delay));
    let Some((facts, fc)) = found else { return Ok(()) };
    let messages = storms.iter().flatten().filter(|s| s.host == storm.host).count() as u64;
    let wire = facts.rate.time_for(fc.message_len().max(Bytes(1)) * messages);
    if storm.interval < wire {
        let which = if messages == 1 { "a message".to_owned() } else { format!("{messages} messages, one of each storm of the host,") };
        let what = format!("interval {} < {wire}, the time of {which} at {}", storm.interval, link.rate);
        return Err(ParamError::new("interval", what, "expected at least that time"));
    }
    let same = |o: &&PauseStorm| (o.host, o.priority) == (storm.host, storm.priority) && o.from < storm.until && storm.from < o.until;
    if let Some(other) = storms[..n].iter().flatten().find(same) {
        let what = format!(
            "the storm of priority {} from {} overlaps the one from {}: the first to end would release both",
            storm.priority, storm.from, other.from
        );
        return Err(ParamError::new("start", what, "separate the storms in time, or merge them into one"));
    }
    if fc.halves(facts).0.hold().is_none() {
        let what = format!("{name} has no message that pauses a whole priority");
        return Err(ParamError::new("host", what, "remove [[pause_storm]], or choose another flow control"));
    }
    if classes.class(storm.priority).is_none() {
        let what = format!("no flow has priority {}: the storm blocks no frame", storm.priority);
        s.warn(&ParamError::new("priority", what, "choose the priority of a flow"));
    } else if !receives(flows, answers, storm.host, Some(storm.priority)) {
        let what = format!("no flow of priority {} ends at {}: the storm blocks no frame", storm.priority, topology.name(storm.host));
        s.warn(&ParamError::new("host", what, "choose the destination and the priority of a flow"));
    }
    if let Some(ends) = held_by_a_message(facts, fc).filter(|&ends| storm.interval > ends) {
        let what =
            format!("interval {} > {ends}, the longest pause of a message of {name}: the peer sends between two messages", storm.interval);
        s.warn(&ParamError::new("interval", what, "shorten the interval to pause the peer all the time"));
    }
    Ok(())
}

/// Reads a `[[slow_receiver]]`; `buffer`: the size that flow control plans with.
pub(super) fn read_slow_receiver(
    s: &mut Section<'_>,
    topology: &Topology,
    buffer: Bytes,
    duration: Span,
) -> Result<SlowReceiver, ParamError> {
    let host = host(s, topology)?;
    let (rate, line) = (s.rate("rate")?, topology.link_at(host, 0).rate);
    if rate.0 == 0 {
        return Err(ParamError::new("rate", "the rate is 0", "expected a rate above zero; use stalls to stop the drain for a time"));
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
        let what = format!("buffer {own} < switch.buffer {buffer}, the value in the plan of the flow control: frames would be lost");
        return Err(ParamError::new("buffer", what, "expected at least switch.buffer"));
    }
    let stalls = s.texts("stalls")?.iter().map(|text| read_stall(text)).collect::<Result<Vec<_>, _>>()?;
    if let Some(w) = stalls.windows(2).find(|w| w[1].0 < w[0].1) {
        let what = format!("a stall starts at {}, before the previous one ends at {}", w[1].0, w[0].1);
        return Err(ParamError::new("stalls", what, "list the stalls by time, without overlaps"));
    }
    if let Some(late) = stalls.iter().find(|stall| duration.0 > 0 && stall.0.0 >= duration.0) {
        let what = format!("a stall starts at {} >= run.duration {duration}: it never takes place", late.0);
        s.warn(&ParamError::new("stalls", what, "choose an earlier time"));
    } else if let Some(last) = stalls.last().filter(|stall| duration.0 > 0 && stall.1.0 > duration.0) {
        let what = format!("a stall lasts until {}, after run.duration {duration}: the host never drains again", last.1);
        s.warn(&ParamError::new("stalls", what, "shorten the stall, or extend run.duration"));
    }
    let message_gap = match s.count_opt("message_rate")? {
        None => Span::ZERO,
        Some(0) => return Err(ParamError::new("message_rate", "the message rate is 0", "expected messages per second, above zero")),
        Some(n) => Span(PS_PER_SECOND.div_ceil(n)),
    };
    Ok(SlowReceiver { host, drain: DrainConfig { rate, buffer: own, plain: own, limit: own, stalls, message_gap } })
}

/// A slow receiver that nothing is for, and messages that never end or are never as frequent.
pub(super) fn slow_receiver_has_frames(s: &Section<'_>, slow: &SlowReceiver, topology: &Topology, flows: &Flows, answers: bool) {
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
    if slow.drain.message_gap > Span::ZERO && flows.all_listed() && own.all(|f| f.size == UNLIMITED) {
        let why = format!("every flow to {name} is endless: no message completes");
        s.has_no_effect("message_rate", &why, "give the flows a size, or remove the key");
    } else if slow.drain.message_gap > Span::ZERO && slow.drain.message_gap <= slow.drain.rate.time_for(Bytes(1)) {
        let why = format!("at {}, no message completes within {}", slow.drain.rate, slow.drain.message_gap);
        s.has_no_effect("message_rate", &why, "use fewer messages per second");
    }
}

/// Refuses a flow control that could not hold the switch of such a host. Where thresholds follow the memory of a switch the NIC has those
/// of its own buffer: bytes beyond the buffer minus headroom pause the switch.
pub(super) fn slow_receiver_fits(
    slow: &mut SlowReceiver,
    topology: &Topology,
    (name, links): (&str, &[(LinkFacts, FlowControl)]),
) -> Result<(), ParamError> {
    let what = match () {
        _ if !links.iter().all(|(_, fc)| fc.holds_priorities()) => "pauses single flows by their bytes in a switch",
        _ if links.iter().any(|(_, fc)| fc.shares_port()) => "shares the buffer of a port among its priorities",
        _ => return follow_its_buffer(slow, topology, links),
    };
    let hint = "remove [[slow_receiver]], or choose a flow control, or a threshold, by the buffer of a port";
    Err(ParamError::new("host", format!("{name} {what}, which the memory of a NIC cannot do"), hint))
}

fn follow_its_buffer(slow: &mut SlowReceiver, topology: &Topology, links: &[(LinkFacts, FlowControl)]) -> Result<(), ParamError> {
    let link = topology.link_at(slow.host, 0);
    let found = links.iter().find(|(facts, _)| (facts.rate, facts.delay) == (link.rate, link.delay));
    let Some((facts, fc)) = found else { return Ok(()) };
    let pauses = fc.pauses();
    if !matches!(pauses, Pauses::ByFreeMemory | Pauses::ByProfile) {
        return Ok(());
    }
    let (headroom, buffer, interval) = (pool::headroom(None, facts, fc), slow.drain.buffer, facts.mtu * 2);
    let least = headroom + interval + facts.mtu;
    if buffer < least {
        let what = format!("buffer {buffer} < {least}: the NIC needs {headroom} of headroom and 3 MTU between its pause and resume levels");
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
    let span = |text: &str| text.trim().parse::<Span>().ok().filter(|s| *s <= xoff_units::params::SPAN_MAX).ok_or_else(refuse);
    let (from, lasting) = (span(from)?, span(lasting)?);
    if lasting.0 == 0 {
        return Err(ParamError::new("stalls", format!("'{text}' has a duration of 0"), hint));
    }
    Ok((Time(from.0), Time(from.0) + lasting))
}

impl NetworkScenario {
    /// The watchdog of its switches.
    pub fn watchdog(&self) -> Option<watchdog::Config> {
        self.model.watchdog
    }

    /// Gives its switches another watchdog.
    ///
    /// # Errors
    /// Its flow control holds no port, or single flows.
    pub fn set_watchdog(&mut self, config: watchdog::Config) -> Result<(), ParamError> {
        watchdog_fits(self.flow_control, &self.model.flow_control)?;
        self.model.watchdog = Some(config);
        Ok(())
    }
}
