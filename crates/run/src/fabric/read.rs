//! From a scenario file to the configuration of a fabric.

use std::path::Path;

use xoff_mech::detection::{af_qcn, qcn};
use xoff_mech::rate_control::qcn as reaction;
use xoff_mech::scheduled::request_grant::{Admission, Service};
use xoff_scenario::document::{Document, Section};
use xoff_scenario::{Problem, Problems};
use xoff_sim::scheduled::{
    Blocked, Config, CongestionPoints, Control, ControlPath, Core, HostFlow, Hosts, Pattern, Shape,
    Sizes, Spray, Traffic,
};
use xoff_units::params::{ParamError, Values};
use xoff_units::{Bytes, Rate, Span, Time};

use super::{FabricScenario, jobs, sections, workload};
use crate::manifest::parameters;
use crate::network::checkpoint::read_interval;

/// Reads a document that has a section `[scheduled_fabric]`; files that it names are looked up in
/// `folder`.
pub(crate) fn read(mut doc: Document, folder: &Path) -> Result<FabricScenario, Problems> {
    let all = sections::sections();
    doc.spread_kinds(&all);
    let doc = &doc;
    doc.declare(&all);
    let mut run = doc.open(&sections::run());
    let times = run.take(|s| {
        Ok((
            s.text("title")?,
            s.span("duration")?,
            s.count("seed")?,
            s.span("warm_up")?,
            s.span("window")?,
            s.text_opt("checkpoint")?.map(|text| read_interval(&text)).transpose()?,
        ))
    });
    let mut fabric = doc.open(&sections::fabric());
    let core = fabric.take(read_core);
    let line = fabric.take(|s| s.rate("line"));
    let mut traffic_section = doc.open(&sections::traffic());
    let traffic =
        workload::read(doc, &mut traffic_section, times.as_ref().map(|t| (t.1, t.2)), folder);
    let packet = traffic_section.take(|s| s.bytes("size")).unwrap_or_default();
    let traffic_stop = traffic_section.take(|s| s.span_opt("stop")).flatten();
    let jobs = match (&core, line, &times) {
        (Some(core), Some(line), Some(t)) => jobs::read(doc, (core, line), (t.1, t.2), folder),
        _ => None,
    };
    let mut hosts_section = doc.open_if_present(&sections::hosts());
    if let (Some(section), true) = (&hosts_section, jobs.is_some()) {
        let what = "[hosts] and [[job]]: ranks send their messages without hosts";
        doc.push(Problem::new(what, "remove one of them").at(section.place("")));
    }
    let mut points_section = doc.open(&sections::congestion_points());
    let points = points_section.take(read_points);
    let has_points = matches!(points, Some(Some(_)));
    // Read in any case, so that one file serves with congestion points and without.
    let limiter = doc.open(&sections::reaction_point()).take(|s| reaction::Params::read(s));
    let duration = times.as_ref().map_or(Span::ZERO, |t| t.1);
    let mut flow_sections = doc.open_all(&sections::host_flow());
    let flows: Vec<Option<HostFlow>> = flow_sections
        .iter_mut()
        .map(|s| s.take(|s| read_flow(s, line.unwrap_or(Rate::ZERO), duration)))
        .collect();
    for (section, flow) in
        flow_sections.iter().zip(&flows).filter_map(|(s, f)| Some((s, f.as_ref()?)))
    {
        warn_of_span(section, (flow.start, flow.stop), Time(duration.0));
    }
    let changes: Vec<Option<(Time, u32, Rate)>> = doc
        .open_all(&sections::line_change())
        .iter_mut()
        .map(|s| s.take(read_line_change))
        .collect();
    if hosts_section.is_none() {
        let without = if flows.is_empty() {
            has_points.then_some("congestion_points")
        } else {
            Some("host_flow")
        };
        if let Some(what) = without {
            doc.push(
                Problem::new(
                    format!("[{what}] without [hosts]"),
                    "add [hosts]: its keys have defaults",
                )
                .at(fabric.place("kind")),
            );
        }
    }
    let mut element = doc.open(&sections::element());
    let mut admission = doc.open(&sections::admission());
    let blocked = doc.open_if_present(&sections::blocked()).and_then(|mut s| s.take(read_blocked));
    let (Some(times), Some(core), Some(line), Some(traffic), Some(points), Some(limiter)) =
        (times, core, line, traffic, points, limiter)
    else {
        return Err(doc.check().err().unwrap_or_default());
    };
    let (title, duration, seed, warm_up, window, checkpoint) = times;
    warn_of_measurement(&run, duration, (warm_up, window));
    let idle = |t: &Traffic| {
        t.load == 0.0 && !matches!(t.pattern, Pattern::Streams(_) | Pattern::Listed { .. })
    };
    if traffic.as_ref().is_some_and(idle) && hosts_section.is_none() {
        traffic_section.warn(&ParamError::new("load", "0: no packet arrives", "a load above 0"));
    }
    let (flows, line_changes) =
        (flows.into_iter().flatten().collect(), changes.into_iter().flatten().collect());
    let hosts = hosts_section
        .as_mut()
        .and_then(|s| s.take(|s| read_hosts(s, flows, line_changes, points.map(|p| (p, limiter)))));
    let mut config = defaults(core, line, traffic, hosts);
    fabric.take(|s| read_common(s, &mut config));
    element.take(|s| read_element(s, &mut config));
    admission.take(|s| read_admission(s, &mut config));
    (config.jobs, config.message_packet) = (jobs, packet);
    config.traffic_stop = traffic_stop.map_or(Time::NEVER, |s| Time(s.0));
    config.blocked = blocked;
    (config.seed, config.warm_up, config.until, config.window) =
        (seed, Time(warm_up.0), Time(duration.0), window);
    // The model itself finds failures that combine several keys; this code adds their place.
    let mut places: Vec<&Section> =
        vec![&run, &fabric, &traffic_section, &points_section, &element, &admission];
    places.extend(&hosts_section);
    for p in config.problems() {
        let section = places.iter().find(|s| s.declares(p.key)).unwrap_or(&places[1]);
        section.refuse(&ParamError::new(p.key, p.what, p.hint));
    }
    doc.finish()?;
    for p in config.warnings() {
        let section = places.iter().find(|s| s.declares(p.key)).unwrap_or(&places[1]);
        section.warn(&ParamError::new(p.key, p.what, p.hint));
    }
    let resolved = doc.resolved();
    Ok(FabricScenario {
        title,
        folder: crate::network::absolute(folder),
        config,
        checkpoint,
        source: doc.source().clone(),
        settings: doc.settings().to_vec(),
        parameters: parameters(&resolved),
        resolved: resolved.to_toml(),
        warnings: doc.warnings(),
    })
}

fn read_line_change(s: &mut Section) -> Result<(Time, u32, Rate), ParamError> {
    let at = Time(s.span("at")?.0);
    Ok((at, count(s, "port", 0, u64::from(PORTS_MAX) - 1)?, s.rate("rate")?))
}

fn read_blocked(s: &mut Section) -> Result<Blocked, ParamError> {
    Ok(Blocked {
        outputs: ports(s, "outputs")?,
        from: Time(s.span("start")?.0),
        until: Time(s.span("stop")?.0),
    })
}

fn read_hosts(
    s: &mut Section,
    flows: Vec<HostFlow>,
    line_changes: Vec<(Time, u32, Rate)>,
    qcn: Option<(CongestionPoints, reaction::Params)>,
) -> Result<Hosts, ParamError> {
    Ok(Hosts {
        flows,
        frame: s.bytes("frame")?,
        control: s.bytes("control")?,
        overhead: s.bytes("overhead")?,
        gap_jitter: match s.float("gap_jitter")? {
            part if (0.0..=1.0).contains(&part) => (part * 1_000.0).round() as u32,
            part => {
                return Err(ParamError::new(
                    "gap_jitter",
                    format!("{part} is not between 0 and 1"),
                    "0 is evenly paced",
                ));
            }
        },
        delay: s.span("delay")?,
        input_buffer: s.bytes("input_buffer")?,
        stop: s.bytes("stop")?,
        go: s.bytes("go")?,
        qcn,
        reliable: s.flag("reliable")?,
        edge_delay: s.span("edge_delay")?,
        line_changes,
    })
}

/// Links between two stages: those of all stages are distinguished by 24 bits.
const LINKS_MAX: u64 = 1 << 20;

fn read_core(s: &mut Section) -> Result<Core, ParamError> {
    Ok(match s.kind().unwrap_or("clos") {
        "rack" => {
            let (edges, edge_ports) =
                (count(s, "edges", 1, 1_000)?, count(s, "edge_ports", 1, 64)?);
            if edges * edge_ports > PORTS_MAX {
                return Err(ParamError::new(
                    "edges",
                    format!("edges * edge_ports = {}", edges * edge_ports),
                    "expected up to 4096 ports",
                ));
            }
            Core::Spine { edges, edge_ports, spines: count(s, "spines", 1, 1_000)? }
        }
        "ideal" => Core::Ideal { ports: count(s, "ports", 1, PORTS_MAX.into())? },
        kind => {
            let (below, stages) = (count(s, "radix", 1, 1_000)?, count(s, "stages", 1, 15)?);
            if stages % 2 == 0 {
                return Err(ParamError::new(
                    "stages",
                    format!("{stages} is even"),
                    "expected 1, 3, 5, ...: a Clos network has one middle stage",
                ));
            }
            let mut width = |key| match s.count_opt(key)? {
                None => Ok(below),
                Some(n) => in_range(key, n, 1, 4_096),
            };
            let (above, middle) = (width("above")?, width("middle")?);
            let shape = Shape {
                below,
                above,
                middle,
                levels: (stages - 1) / 2,
                folded: kind == "fat-tree",
            };
            let ports =
                u64::from(below).checked_pow(shape.levels).map(|n| n.saturating_mul(middle.into()));
            let widest = u64::from(below.max(above))
                .checked_pow(shape.levels)
                .and_then(|n| n.checked_mul(middle.into()));
            match ports {
                Some(1..=4_096) if widest.is_none_or(|n| n > LINKS_MAX) => {
                    let what =
                        format!("paths fan out to more than {LINKS_MAX} links between two stages");
                    return Err(ParamError::new("above", what, "fewer paths up, or fewer stages"));
                }
                Some(1..=4_096) => Core::Network(shape),
                _ => {
                    return Err(ParamError::new(
                        "radix",
                        "radix^levels * middle is out of range",
                        "expected 1 to 4096 ports",
                    ));
                }
            }
        }
    })
}

pub(super) fn count(
    s: &mut Section,
    key: &'static str,
    least: u64,
    most: u64,
) -> Result<u32, ParamError> {
    in_range(key, s.count(key)?, least, most)
}

fn in_range(key: &'static str, n: u64, least: u64, most: u64) -> Result<u32, ParamError> {
    match u32::try_from(n) {
        Ok(fits) if (least..=most).contains(&n) => Ok(fits),
        _ => Err(ParamError::new(
            key,
            format!("{n} is out of range"),
            format!("expected {least} to {most}"),
        )),
    }
}

/// Ports of the largest fabric; lists of them are no longer.
pub(super) const PORTS_MAX: u32 = 4_096;

/// Port numbers: `["3", "8-15"]`.
pub(super) fn ports(s: &mut Section, key: &'static str) -> Result<Vec<u32>, ParamError> {
    let mut ports = Vec::new();
    for text in s.texts(key)? {
        let (from, to) = text.split_once('-').unwrap_or((&text, &text));
        match (from.trim().parse::<u32>(), to.trim().parse::<u32>()) {
            (Ok(from), Ok(to)) if from <= to && to < PORTS_MAX => ports.extend(from..=to),
            (Ok(from), Ok(to)) if from > to => {
                return Err(ParamError::new(
                    key,
                    format!("the range '{text}' is reversed"),
                    format!("expected \"{to}-{from}\""),
                ));
            }
            (Ok(_), Ok(to)) => {
                return Err(ParamError::new(
                    key,
                    format!("there is no port {to}"),
                    "expected 0 to 4095",
                ));
            }
            _ => {
                return Err(ParamError::new(
                    key,
                    format!("'{text}' is neither a port nor a range"),
                    "expected \"3\" or \"8-15\"",
                ));
            }
        }
    }
    if ports.len() > PORTS_MAX as usize {
        return Err(ParamError::new(
            key,
            format!("a list of {} ports", ports.len()),
            "name each port once",
        ));
    }
    if ports.is_empty() {
        return Err(ParamError::new(
            key,
            "the list of ports is empty",
            "expected [\"3\", \"8-15\"]",
        ));
    }
    Ok(ports)
}

fn read_points(s: &mut Section) -> Result<Option<CongestionPoints>, ParamError> {
    Ok(match s.kind().unwrap_or("none") {
        "qcn" => Some(CongestionPoints::Qcn(qcn::Params::read(s)?)),
        "af-qcn" => Some(CongestionPoints::AfQcn(af_qcn::Params::read(s)?)),
        _ => None,
    })
}

fn read_flow(s: &mut Section, line: Rate, duration: Span) -> Result<HostFlow, ParamError> {
    Ok(HostFlow {
        source: count(s, "source", 0, u64::from(PORTS_MAX) - 1)?,
        destinations: ports(s, "destinations")?,
        rate: s.rate_opt("rate")?.unwrap_or(line),
        start: Time(s.span("start")?.0),
        stop: Time(s.span_opt("stop")?.unwrap_or(duration).0),
    })
}

/// Defaults of a kind of fabric.
fn defaults(core: Core, line: Rate, traffic: Option<Traffic>, hosts: Option<Hosts>) -> Config {
    // Hosts may send frames that are shorter than 1500 B, and a grant is then shorter too.
    let size = hosts.as_ref().map_or(Bytes(1_500), |h| h.frame);
    let quiet = Traffic {
        pattern: Pattern::Uniform,
        load: 0.0,
        sizes: Sizes::Fixed(size),
        burst_packets: 1.0,
    };
    let without_hosts = || Hosts::unbiased_qcn(Vec::new(), None);
    let given = hosts.clone();
    let config = match core {
        Core::Network(_) => Config { core, ..Config::paper_at(line, quiet.clone()) },
        Core::Spine { edges, .. } => Config {
            core,
            ..Config::unbiased_qcn_rack(edges, line, hosts.unwrap_or_else(without_hosts))
        },
        Core::Ideal { ports } => {
            Config::unbiased_qcn_ideal(ports, line, hosts.unwrap_or_else(without_hosts))
        }
    };
    Config { traffic: traffic.unwrap_or(quiet), hosts: given, ..config }
}

fn read_common(s: &mut Section, c: &mut Config) -> Result<(), ParamError> {
    c.fabric = s.rate_opt("links")?.unwrap_or(c.fabric);
    c.link_delay = s.span_opt("link_delay")?.unwrap_or(c.link_delay);
    c.credit_delay = s.span_opt("credit_delay")?.unwrap_or(c.credit_delay);
    c.adapter_delay = s.span_opt("adapter_delay")?.unwrap_or(c.adapter_delay);
    c.port_delays = s
        .texts("port_delays")?
        .iter()
        .map(|text| text.parse().map_err(|e| ParamError::unit("port_delays", &e)))
        .collect::<Result<_, _>>()?;
    c.segment_min = s.bytes_opt("segment_min")?.unwrap_or(c.segment_min);
    c.segment_max = s.bytes_opt("segment_max")?.unwrap_or(c.segment_max);
    c.header = s.bytes("header")?;
    c.pack = flag(s, "pack")?.unwrap_or(c.pack);
    c.unsolicited = flag(s, "unsolicited")?.unwrap_or(c.unsolicited);
    c.spray = match s.text("spray")?.as_str() {
        "random" => Spray::Random,
        "per-flow" => Spray::PerFlow,
        "permuted" => Spray::Permuted,
        _ => Spray::RoundRobin,
    };
    c.control_path =
        if s.text("control_path")? == "own" { ControlPath::Own } else { ControlPath::Shared };
    c.control_within_adapter = s.text("control_within")? == "adapter";
    let size = s.bytes("control_size")?;
    c.control = match (s.span_opt("control_delay")?, s.flag("control_lane")?, c.control) {
        (Some(_), true, _) => {
            let what = "control_lane conflicts with control_delay: separate wires need no lane";
            return Err(ParamError::new("control_lane", what, "remove one of the two"));
        }
        (Some(delay), ..) => Control::OutOfBand { delay },
        (None, true, _) => Control::Lane { alone: size },
        (None, false, Control::OutOfBand { delay }) => Control::OutOfBand { delay },
        (None, false, _) => Control::InBand { alone: size },
    };
    let too_large = c.segment_max.0 > 1 << 20;
    if too_large {
        Err(ParamError::new("segment_max", "out of range", "expected up to 1 MiB"))
    } else {
        Ok(())
    }
}

fn flag(s: &mut Section, key: &'static str) -> Result<Option<bool>, ParamError> {
    Ok(s.text_opt(key)?.map(|t| t == "true"))
}

fn read_element(s: &mut Section, c: &mut Config) -> Result<(), ParamError> {
    c.element.input = s.bytes("input")?;
    c.element.output = s.bytes_opt("output")?.unwrap_or(c.element.output);
    c.element.speedup = count(s, "speedup", 0, 1_000)?;
    c.element.crosspoint = s.bytes_opt("crosspoint")?;
    c.element.holds = s.flag("holds")?;
    c.element.arbitration = match s.text("arbitration")?.as_str() {
        "oldest-first" => xoff_sim::scheduled::Arbitration::OldestFirst,
        "islip" => xoff_sim::scheduled::Arbitration::Islip,
        _ => xoff_sim::scheduled::Arbitration::RoundRobin,
    };
    let crosspoint = c.element.crosspoint.unwrap_or(Bytes::ZERO);
    for (key, size) in
        [("input", c.element.input), ("output", c.element.output), ("crosspoint", crosspoint)]
    {
        if size.0 > 1 << 30 {
            return Err(ParamError::new(key, "out of range", "expected up to 1 GiB"));
        }
    }
    Ok(())
}

fn read_admission(s: &mut Section, c: &mut Config) -> Result<(), ParamError> {
    let reserve = s.kind() == Some("reserve");
    let mut narrow = |key: &'static str| match s.count_opt(key)? {
        None => Ok(None),
        Some(n @ 1..=1_000_000) => Ok(Some(n as u32)),
        Some(n) => {
            Err(ParamError::new(key, format!("{n} is out of range"), "expected 1 to 1000000"))
        }
    };
    c.requests_max = narrow("requests_max")?.unwrap_or(c.requests_max);
    c.output_slots = narrow("output_slots")?.unwrap_or(c.output_slots);
    c.grant_max = narrow("grant_max")?.or(c.grant_max);
    if reserve {
        let all = (c.element.output.0 / c.segment_max.0.max(1)) as u32;
        c.admission =
            Admission::ReserveFabricBuffers { slots: narrow("fabric_slots")?.unwrap_or(all) };
    } else {
        c.admission = Admission::ImplicitRate;
        if let Core::Network(_) = c.core {
            c.grant_rate = c.line;
        }
    }
    c.grant_rate = s.rate_opt("grant_rate")?.unwrap_or(c.grant_rate);
    c.fair = flag(s, "fair")?.unwrap_or(c.fair);
    c.whole_requests = s.flag("whole_requests")?;
    c.service = match s.text_opt("service")?.as_deref() {
        Some("round-robin") => Service::RoundRobin,
        Some(_) => Service::BySegments,
        None => c.service,
    };
    Ok(())
}

/// A fabric that is never measured.
fn warn_of_measurement(run: &Section<'_>, duration: Span, (warm_up, window): (Span, Span)) {
    if duration.0 == 0 {
        run.warn(&ParamError::new(
            "duration",
            "the run has a duration of 0: xoff simulates nothing",
            "expected a time above zero, such as \"1ms\"",
        ));
    } else if warm_up >= duration {
        let what = format!(
            "the warm-up of {warm_up} is not shorter than the run of {duration}: xoff measures nothing"
        );
        run.warn(&ParamError::new(
            "warm_up",
            what,
            "expected, for example, a fifth of run.duration",
        ));
    } else if window > duration {
        let what = format!(
            "the window of {window} is longer than the run of {duration}: the table of windows stays empty"
        );
        run.warn(&ParamError::new(
            "window",
            what,
            "expected, for example, a hundredth of run.duration",
        ));
    }
}

/// A source that sends from a time to another.
fn warn_of_span(section: &Section<'_>, (start, stop): (Time, Time), end: Time) {
    if end.0 > 0 && start >= end {
        let what =
            format!("the source starts at {start}, but the run ends at {end}: it sends nothing");
        section.warn(&ParamError::new(
            "start",
            what,
            "choose an earlier start, or extend run.duration",
        ));
    } else if end.0 > 0 && stop <= start {
        let what = format!("stop {stop} is not after start {start}: the source sends nothing");
        section.warn(&ParamError::new("stop", what, "choose a later time"));
    }
}
