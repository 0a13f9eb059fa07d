//! `[host]`: frames, acknowledgements, recovery from losses.

use xoff_mech::rate_control::{CnpMode, RateControlKind};
use xoff_mech::transport;
use xoff_net::workload::{Flows, UNLIMITED};
use xoff_node::{LEN_MAX, Pacing, PausedWith, Recovery, Transport};
use xoff_scenario::document::Section;
use xoff_sim::classes_in_use;
use xoff_units::params::{ParamError, Values as _};
use xoff_units::{Bytes, Span};

/// `[host]`.
pub(crate) struct Host {
    pub payload_max: u32,
    pub header: u32,
    pub transport: Transport,
    /// Priority of CNPs, which nothing pauses.
    pub cnp_priority: Option<u8>,
    pub recovery: Option<Recovery>,
    /// Flows are connections of this transport.
    pub connection: Option<transport::Config>,
    pub obeys_priorities: bool,
    pub pacing: Pacing,
    /// Messages between two hosts share a connection.
    pub shared_connections: bool,
    pub window: Option<u64>,
}

impl Host {
    /// The longest frame on the wire: acknowledgements may be longer than data.
    pub fn longest_frame(&self) -> Bytes {
        let data = self.payload_max + self.header;
        Bytes(match self.transport {
            Transport::Acks { ack_len, .. } => data.max(ack_len),
            Transport::None => data,
        } as u64)
    }
}

pub(super) fn read_host(s: &mut Section<'_>, connection: Option<transport::Config>) -> Result<Host, ParamError> {
    let (mtu, header) = (s.bytes("frame_max")?, s.bytes("header")?);
    if !(1..=LEN_MAX as u64).contains(&mtu.0) {
        return Err(ParamError::new("frame_max", format!("a frame of {mtu}"), format!("expected 1 B to {LEN_MAX} B")));
    }
    if header >= mtu {
        return Err(ParamError::new(
            "header",
            format!("a header of {header} leaves no payload in a frame of {mtu}"),
            "expected less than the MTU",
        ));
    }
    let ack_len = s.bytes("ack_len")?;
    let mut priority = |key: &'static str| match s.count_opt(key)? {
        Some(p) if p > 7 => Err(ParamError::new(key, "there are 8 priorities", "expected 0 to 7")),
        p => Ok(p.map(|p| p as u8)),
    };
    let (ack_priority, cnp_priority) = (priority("ack_priority")?, priority("cnp_priority")?);
    let payload_max = (mtu - header).0 as u32;
    let payload_max = connection.and_then(|c| c.mss).map_or(payload_max, |mss| payload_max.min(mss.0 as u32));
    let acks = s.text("acks")? == "per-frame" || connection.is_some();
    if acks && !(1..=LEN_MAX as u64).contains(&ack_len.0) {
        return Err(ParamError::new("ack_len", format!("an acknowledgement of {ack_len}"), format!("expected 1 B to {LEN_MAX} B")));
    }
    let window = s.bytes_opt("window")?;
    if window.is_some() && !acks {
        return Err(ParamError::new("window", "a window needs acknowledgements, but hosts send none", "set acks = \"per-frame\""));
    }
    if connection.is_some() && window.is_some_and(|w| w.0 < u64::from(payload_max)) {
        return Err(ParamError::new("window", "the window is smaller than a segment", format!("expected {payload_max} B or more")));
    }
    if window == Some(Bytes::ZERO) {
        return Err(ParamError::new("window", "the window is 0: hosts can send nothing", "expected a size above zero"));
    }
    let transport = if acks {
        Transport::Acks {
            ack_len: ack_len.0 as u32,
            class: ack_priority,
            paused_with: PausedWith::OwnClass,
            interval: 1,
            chunk: 1,
            back_to_zero: false,
            nack_interval: s.span("nack_interval")?,
        }
    } else {
        Transport::None
    };
    let recovery = read_recovery(s, acks, connection.is_some())?;
    name_what_is_unread(s, acks, connection.is_some());
    let obeys_priorities = s.text("obeys")? == "priorities";
    let pacing = if s.text("pacing")? == "gap" { Pacing::Gap } else { Pacing::Schedule };
    Ok(Host {
        payload_max,
        header: header.0 as u32,
        transport,
        cnp_priority,
        recovery,
        connection,
        obeys_priorities,
        pacing,
        shared_connections: s.text("connections")? == "per-pair",
        window: window.map(|w| w.0),
    })
}

/// Keys about acknowledgements and losses that nothing reads.
fn name_what_is_unread(s: &Section<'_>, acks: bool, connections: bool) {
    let unread = |keys: &[&str], why: &str, hint: &str| keys.iter().for_each(|key| s.has_no_effect(key, why, hint));
    let acknowledge = "remove the key, or set acks = \"per-frame\"";
    let recovery = s.chosen("recovery");
    match (recovery.as_deref(), acks, connections) {
        (_, false, _) => {
            unread(&["ack_len"], "hosts send no acknowledgements", acknowledge);
            // With that of CNPs it names their queue, which acknowledgements would share.
            if s.chosen("ack_priority") != s.chosen("cnp_priority") {
                unread(&["ack_priority"], "hosts send no acknowledgements", acknowledge);
            }
            let why = "without acknowledgements, sources cannot detect losses, and receivers accept frames in any order";
            unread(&["rto", "order", "nack_interval"], why, acknowledge);
        }
        (_, _, true) => {
            let why = "connections detect losses themselves, and have their own timers";
            unread(&["rto", "rto_low", "nack_interval"], why, "set transport.rto_min and rto_initial instead");
        }
        (Some("selective"), ..) => {
            let why = "recovery = \"selective\" reports missing frames with every acknowledgement";
            unread(&["nack_interval"], why, "remove the key, or set recovery = \"go-back-n\"");
        }
        (Some("nack"), ..) => {
            unread(&["rto"], "recovery = \"nack\" has no timer", "set recovery = \"go-back-n\" or \"selective\", or remove the key");
        }
        _ => {}
    }
}

/// Keys that nothing reads in a run of these flows.
pub(super) fn name_what_no_flow_reads(s: &Section<'_>, host: &Host, flows: &Flows, rate_control: &RateControlKind, duration: Span) {
    if let Some(recovery) = host.recovery.filter(|r| duration.0 > 0 && r.timer_of_few >= duration) {
        let why = format!("no timer expires before the run ends at {duration}, {} after a loss", recovery.timer_of_few);
        s.has_no_effect("rto", &why, "shorten the time, or extend run.duration");
    }
    let own_class = match host.transport {
        Transport::Acks { class, .. } => class,
        Transport::None => None,
    };
    let sends_cnps = matches!(rate_control.cnp_mode(), CnpMode::Frame { .. });
    if host.cnp_priority.is_some() && host.cnp_priority != own_class && !sends_cnps {
        s.has_no_effect("cnp_priority", "this rate control sends no CNPs", "remove the key, or choose a rate control that sends CNPs");
    }
    if let (Some(window), None) = (host.window, host.connection) {
        let frame = u64::from(host.payload_max);
        if window < frame {
            let what = format!("window {} < {}, the payload of a frame: hosts still send one frame at a time", Bytes(window), Bytes(frame));
            s.warn(&ParamError::new("window", what, "expected at least a frame"));
        }
    }
    if !flows.all_listed() {
        return; // others come during the run
    }
    if host.pacing == Pacing::Gap && flows.flows.iter().all(|f| f.rate.is_none()) {
        s.has_no_effect("pacing", "no flow has its own rate", "remove the key, or give flows a rate");
    }
    if host.shared_connections && !flows.flows.iter().any(|f| f.controlled && f.rate.is_none() && f.size != UNLIMITED) {
        let why = "endless flows, flows with a rate and flows without rate control keep their own connection, and the scenario has no \
                   other flows";
        s.has_no_effect("connections", why, "remove the key, or give the flows a size");
    }
}

/// Checks that only CNPs are unpaused: traffic that nothing pauses cannot be lossless, and CNPs are few enough. Acknowledgements, which are
/// few too, may join them.
pub(super) fn cnps_are_alone(host: &Host, flows: &Flows) -> Result<(), ParamError> {
    let Some(priority) = host.cnp_priority else { return Ok(()) };
    let data = classes_in_use(flows, &Transport::None, None);
    match data.class(priority) {
        None => Ok(()),
        Some(_) => Err(ParamError::new(
            "cnp_priority",
            format!("flows use priority {priority}, but CNPs need a priority that is never paused"),
            "give CNPs a priority that no flow uses",
        )),
    }
}

fn read_recovery(s: &mut Section<'_>, acks: bool, connections: bool) -> Result<Option<Recovery>, ParamError> {
    let (kind, timer, low) = (s.text("recovery")?, s.span("rto")?, s.span_opt("rto_low")?);
    let order = s.text_opt("order")?;
    let keeps = kind == "selective";
    let refused = if kind != "nack" { Some("recovery") } else { order.as_ref().map(|_| "order") };
    if let Some(key) = refused.filter(|_| connections) {
        let what = "connections already keep frames ahead of a gap, deliver in order and resend lost frames";
        return Err(ParamError::new(key, what, "remove the key, or set transport.kind = \"none\""));
    }
    match (order.as_deref(), kind.as_str()) {
        (Some("strict"), "selective") => {
            let what = "order = \"strict\" conflicts with selective repeat, whose receivers keep frames ahead of a gap";
            return Err(ParamError::new("order", what, "set recovery = \"go-back-n\", or order = \"buffer\" or \"count\""));
        }
        (Some(order @ ("buffer" | "count")), "nack" | "go-back-n") => {
            let what = format!("order = \"{order}\" conflicts with {kind}, whose receivers discard frames ahead of a gap");
            return Err(ParamError::new("order", what, "set recovery = \"selective\", or order = \"strict\""));
        }
        _ => {}
    }
    if kind == "nack" {
        return match low {
            Some(_) => Err(ParamError::new("rto_low", "nack has no timer", "set recovery = \"go-back-n\" or \"selective\"")),
            None => Ok(None),
        };
    }
    if !acks {
        return Err(ParamError::new("recovery", format!("{kind} needs acknowledgements, but hosts send none"), "set acks = \"per-frame\""));
    }
    if timer == Span::ZERO {
        return Err(ParamError::new("rto", "a retransmission timer of 0", "expected more than a round trip with queues"));
    }
    if let Some(low) = low.filter(|&low| low == Span::ZERO || low > timer) {
        let what = match low {
            Span::ZERO => "a retransmission timer of 0".to_owned(),
            _ => format!("rto_low {low} > rto {timer}"),
        };
        return Err(ParamError::new("rto_low", what, "expected more than a round trip with queues, and at most rto"));
    }
    Ok(Some(Recovery { timer, timer_of_few: low.unwrap_or(timer), selective: keeps, any_order: order.as_deref() == Some("count") }))
}
