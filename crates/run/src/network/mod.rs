//! A scenario of a network as a run: from its file to everything a world is built from.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use xoff_mech::LinkFacts;
use xoff_mech::detection::Detection;
use xoff_mech::flow_control::{FlowControl, pfc};
use xoff_mech::rate_control::RateControlKind;
use xoff_node::{
    BufferPolicy, Classes, ControlDelay, Delay, DisciplineKind, LEN_MAX, Pacing, PausedWith, SchedulerKind, SharedPool, Transport,
    VlArbitration, VlEntry,
};
use xoff_params::{ParamError, Values};
use xoff_scenario::document::{Document, Override, Section};
use xoff_scenario::{Problem, Problems};
use xoff_sim::{Faults, LinkFailure, Lone, Model, NicModel, PathFacts, PathFactsOf, Probes, Selection, classes_in_use, ideal_time};
use xoff_topology::routing::{FlowKey, Routes, Routing, trace_path};
use xoff_topology::{Topology, failures};
use xoff_units::{Bytes, Span, Time, WireClock};
use xoff_workload::{Context, Flow, Flows, SizeCdf, generators};

use crate::boundary::Boundary;
use crate::standstill::{self, Drains};
use crate::{conditions, derived, idle, sections};

mod execute;
mod parts;
mod pool;

pub(crate) use execute::write_last;
pub use execute::{Finished, Progress, RESOLVED, RunError, Running};
use parts::{
    congestion_points, every_class_has_turns, most_at_an_egress, read_flow_control, read_flows, read_host, read_probes, read_switch,
    read_topology, warn_of_cut_through,
};

/// A network of switches and hosts that can run.
pub struct NetworkScenario {
    /// One line about it.
    pub title: String,
    /// Where files that it names are looked up.
    pub folder: PathBuf,
    /// The network, failed links marked.
    pub topology: Topology,
    /// Its flows.
    pub flows: Flows,
    /// Simulated time.
    pub until: Time,
    /// Seed of every random stream.
    pub seed: u64,
    /// Name of the flow control.
    pub flow_control: &'static str,
    /// Name of the detection.
    pub detection: &'static str,
    /// Name of the rate control.
    pub rate_control: &'static str,
    /// Everything resolved, as a document that gives the same run.
    pub resolved: String,
    /// Every parameter with its origin.
    pub parameters: Vec<xoff_record::Parameter>,
    /// What the user should know; each with its place.
    pub warnings: Problems,
    /// What surrounds it where its frames are real.
    pub boundary: Boundary,
    pub(crate) model: ModelParts,
}

/// What [`NetworkScenario::model`] assembles a fresh model from.
pub(crate) struct ModelParts {
    pub flow_control: Vec<(LinkFacts, FlowControl)>,
    pub detection: Detection,
    pub rate_control: RateControlKind,
    pub memory: Memory,
    pub ingress_buffer: Bytes,
    pub discipline: DisciplineKind,
    pub scheduler: SchedulerKind,
    pub cut_through: Option<Bytes>,
    pub control_delay: ControlDelay,
    pub routing: Routing,
    pub payload_max: u32,
    pub header: u32,
    pub transport: Transport,
    pub pacing: Pacing,
    pub window: Option<u64>,
    pub deadlock_interval: Span,
    pub stop_on_deadlock: bool,
    pub stop_when_done: bool,
    pub checks: bool,
    pub probes: Probes,
    pub failures: Vec<LinkFailure>,
}

impl ModelParts {
    /// The facts of a kind of link, which differ in rate and delay only, and its flow control.
    fn link(&self, like: &LinkFacts) -> Option<&(LinkFacts, FlowControl)> {
        self.flow_control.iter().find(|(f, _)| (f.rate, f.delay) == (like.rate, like.delay))
    }
}

pub(crate) enum Memory {
    PerIngress,
    Shared { total: Bytes, reserve: Bytes, headroom: Option<Bytes>, shift: u8 },
}

impl NetworkScenario {
    /// Reads a file; `settings` replace or add values.
    pub fn load(path: &Path, settings: &[Override]) -> Result<NetworkScenario, Problems> {
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        read(Document::load(path, settings)?, &folder)
    }

    /// From a text; `name` stands in messages, files are looked up in `folder`.
    pub fn from_text(name: &str, text: &str, settings: &[Override], folder: &Path) -> Result<NetworkScenario, Problems> {
        read(Document::from_text(name, text, settings)?, folder)
    }

    /// A fresh model of this scenario.
    pub fn model(&self) -> Model<'_> {
        let m = &self.model;
        let buffer = m.ingress_buffer;
        Model {
            flow_control: Box::new(move |facts| {
                let found = m.link(facts).map(|(_, fc)| fc.clone());
                found.ok_or_else(|| ParamError::new("flow_control", "a link without flow control", ""))
            }),
            detection: Box::new(move |_| m.detection.clone()),
            buffer: Box::new(move |links| match &m.memory {
                Memory::PerIngress => BufferPolicy::PerIngress(buffer),
                Memory::Shared { total, reserve, headroom, shift } => BufferPolicy::Shared(SharedPool {
                    total: *total,
                    reserve: *reserve,
                    headroom: links.iter().map(|l| pool::headroom(*headroom, m.link(l).map_or(l, |(facts, _)| facts))).collect(),
                    shift: vec![*shift; links.len()],
                    wraps: false,
                }),
            }),
            ingress_buffer: buffer,
            discipline: m.discipline,
            scheduler: m.scheduler.clone(),
            cut_through: m.cut_through,
            control_delay: m.control_delay,
            message_len: None,
            clock: WireClock::Picoseconds,
            routing: m.routing,
            nic: NicModel {
                payload_max: m.payload_max,
                header: m.header,
                transport: m.transport,
                rate_control: m.rate_control.clone(),
                window_follows_rate: false,
                rate_bound: true,
                pacing: m.pacing,
                as_hpcc_simulator: false,
            },
            order: Default::default(),
            threads: 1,
            seed: self.seed,
            deadlock_interval: m.deadlock_interval,
            stop_on_deadlock: m.stop_on_deadlock,
            stop_when_done: m.stop_when_done,
            checks: m.checks,
            probes: m.probes.clone(),
            faults: Faults { failures: m.failures.clone(), ..Faults::default() },
            path_facts: self.path_facts(),
            ..Model::plain(buffer, |_| Ok(FlowControl::None))
        }
    }

    /// What flows know of their ways: the window of the file, and for who reckons with it the round trip of a full frame
    /// and its acknowledgement in the empty network.
    fn path_facts(&self) -> Option<PathFactsOf<'_>> {
        let m = &self.model;
        let window = m.window;
        let (true, Transport::Acks { ack_len, .. }) = (m.rate_control.telemetry().is_some(), m.transport) else {
            return window.map(|_| -> PathFactsOf { Box::new(move |_, _| PathFacts { window, base_rtt: None }) });
        };
        let routes = m.routing.routes(&self.topology);
        Some(Box::new(move |src, dst| {
            let key = FlowKey { src, dst, src_port: 0, dst_port: 0 };
            let time = |key: FlowKey, payload: u32, header: u32| {
                let path = trace_path(&self.topology, &routes, &m.routing.choice, &key)?;
                let frame = Lone { size: payload as u64, rate: None, payload_max: payload, header };
                Some(ideal_time(&self.topology, &path, &frame, m.cut_through))
            };
            let there = time(key, m.payload_max, m.header);
            let back = time(key.reversed(), ack_len, 0);
            PathFacts { window, base_rtt: there.zip(back).map(|(a, b)| a + b) }
        }))
    }

    /// The egress ports that a flow goes through, its host's first; `None`: there is no way, or it leads in a circle.
    pub fn path(&self, routes: &Routes, w: &Flow) -> Option<Vec<(u32, u16)>> {
        match w.path {
            Some(p) if self.flows.paths.is_loop(p) => None,
            Some(p) => Some(self.flows.paths.hops(p).to_vec()),
            None => {
                let key = FlowKey { src: w.src, dst: w.dst, src_port: w.src_port, dst_port: w.dst_port };
                trace_path(&self.topology, routes, &self.model.routing.choice, &key)
            }
        }
    }

    /// Payload of a full frame and bytes around it.
    pub fn frame(&self) -> (u32, u32) {
        (self.model.payload_max, self.model.header)
    }

    /// Bytes after which switches go on with a frame; `None`: they wait for all of it.
    pub fn cut_through(&self) -> Option<Bytes> {
        self.model.cut_through
    }

    /// Do frames have to carry records of the ports they pass?
    pub fn needs_telemetry(&self) -> bool {
        self.model.rate_control.telemetry().is_some()
    }

    /// Is the run held to its promises?
    pub fn is_checked(&self) -> bool {
        self.model.checks
    }

    /// Do links fail during the run?
    pub fn has_failures(&self) -> bool {
        !self.model.failures.is_empty()
    }

    /// The routing rule.
    pub fn routing(&self) -> Routing {
        self.model.routing
    }

    /// The facts of every kind of link with the flow control configured for it.
    pub fn links(&self) -> &[(LinkFacts, FlowControl)] {
        &self.model.flow_control
    }
}

/// Texts that were read, so that the same parameters can be read again for another link without a second entry in the
/// list of parameters.
#[derive(Default)]
struct Replay(BTreeMap<String, Option<String>>);

impl Values for Replay {
    fn raw(&mut self, key: &str) -> Result<Option<String>, ParamError> {
        Ok(self.0.get(key).cloned().flatten())
    }
}

/// Reads through to a section and keeps the texts.
struct RecordingValues<'s, 'd>(&'s mut Section<'d>, &'s mut Replay);

impl Values for RecordingValues<'_, '_> {
    fn raw(&mut self, key: &str) -> Result<Option<String>, ParamError> {
        let value = self.0.raw(key)?;
        self.1.0.insert(key.to_owned(), value.clone());
        Ok(value)
    }
}

pub(crate) fn read(mut doc: Document, folder: &Path) -> Result<NetworkScenario, Problems> {
    if let Some(section) = doc.open_if_present(&crate::fabric::sections::fabric()) {
        let what = "this is the scenario of a scheduled fabric";
        return Err(Problem::new(what, "xoff run runs it; a network has [topology] instead of [fabric]").at(section.place("")).into());
    }
    doc.spread_kinds(&sections::sections());
    let doc = &doc;
    doc.declare(&sections::sections());
    let mut run_section = doc.open(&sections::run());
    let run = run_section.take(|s| {
        Ok((
            s.text("title")?,
            s.span("duration")?,
            s.count("seed")?,
            s.flag("stop_when_done")?,
            s.flag("stop_on_deadlock")?,
            s.flag("checks")?,
            s.span("deadlock_interval")?,
        ))
    });
    let topology = read_topology(doc, run.as_ref().map_or(1, |r| r.2), folder);
    // Everything after this needs the network.
    let (Some(run), Some(topology)) = (run, topology) else { return Err(doc.check().err().unwrap_or_default()) };
    let (title, duration, seed, stop_when_done, stop_on_deadlock, checks, deadlock_interval) = run;

    let routing = doc.open(&sections::routing()).take(|s| {
        let rule = Routing::named(&s.text("kind")?, seed).and_then(|rule| rule.fits(&topology).map(|()| rule));
        rule.map_err(|e| ParamError::new("kind", e.what, e.hint))
    });
    let host = doc.open(&sections::host()).take(read_host);
    let control_delay = doc.open(&sections::control_delay()).take(|s| {
        Ok(ControlDelay {
            generation: Delay { constant: s.span("generation")?, jitter: s.span("generation_jitter")? },
            processing: Delay { constant: s.span("processing")?, jitter: s.span("processing_jitter")? },
        })
    });
    let mut switch_section = doc.open(&sections::switch());
    let switch = host.as_ref().and_then(|h| switch_section.take(|s| read_switch(s, h)));
    if let (Some(switch), Some(host)) = (&switch, &host) {
        warn_of_cut_through(&switch_section, &topology, switch, host);
    }
    let mut detection_section = doc.open(&sections::detection());
    let detection = detection_section.take(|s| {
        let kind = s.kind().unwrap_or("none");
        let entry = xoff_mech::detection::REGISTRY.iter().find(|e| e.name == kind).expect("a kind of the registry");
        Ok((entry.name, (entry.read)(s)?))
    });
    let mut rate_section = doc.open(&sections::rate_control());
    let rate_control = rate_section.take(|s| {
        let kind = s.kind().unwrap_or("none");
        let entry = xoff_mech::rate_control::REGISTRY.iter().find(|e| e.name == kind).expect("a kind of the registry");
        Ok((entry.name, (entry.read)(s)?))
    });
    let flows = read_flows(doc, &topology, (seed, Time(duration.0)), folder);
    if let (Some(switch), Some(host), Some(flows)) = (&switch, &host, &flows) {
        switch_section.take(|_| every_class_has_turns(switch, &classes_in_use(flows, &host.transport, None)));
    }
    let mut probes_section = doc.open(&sections::probes());
    let probes = probes_section.take(|s| read_probes(s, &topology));

    let mut failure_sections = doc.open_all(&sections::failure());
    let failures: Vec<Option<LinkFailure>> = failure_sections
        .iter_mut()
        .map(|s| {
            s.take(|s| {
                let name = s.text("link")?;
                let link = failures::find_link(&topology, &name).map_err(|e| ParamError::new("link", e.what, e.hint))?;
                let at = s.span("at")?;
                if at >= duration {
                    s.warn(&ParamError::new("at", format!("the run ends at {duration}, before the link fails"), "give an earlier time"));
                }
                Ok(LinkFailure { at: Time(at.0), link })
            })
        })
        .collect();

    let fails = failure_sections.iter().zip(&failures).filter_map(|(s, f)| Some((s, f.as_ref()?.at)));
    let interval = probes.as_ref().map_or(Span::ZERO, |p| p.interval);
    idle::warn_of_times(&run_section, duration, (&probes_section, interval), &fails.collect::<Vec<_>>());

    // Flow control comes last: it plans with the links, the frames, the buffer and the delays.
    let classes = match (&host, &flows) {
        (Some(host), Some(flows)) => classes_in_use(flows, &host.transport, None).len() as u64,
        _ => 1,
    };
    let flow_control = match (&switch, &host, &control_delay) {
        (Some(switch), Some(host), Some(delay)) => {
            let notices = detection.as_ref().is_some_and(|(_, d)| d.notifies());
            let ahead = LinkFacts::messages_of_other_classes(classes) + if notices { congestion_points(&topology, classes) } else { 0 };
            read_flow_control(doc, &topology, (switch, &switch_section), host, delay, ahead)
        }
        _ => {
            doc.open(&sections::flow_control());
            None
        }
    };
    let pool = match (&switch, &flow_control) {
        (Some(switch), Some((_, links))) => switch_section.take(|_| pool::smallest(&topology, &switch.memory, links, classes)).flatten(),
        _ => None,
    };
    // A detection may depend on the flow control of its link.
    if let (Some((_, detection)), Some(switch), Some((_, links))) = (&detection, &switch, &flow_control) {
        let memory = most_at_an_egress(&topology, switch);
        detection_section.take(|_| {
            links.iter().try_for_each(|(link, flow_control)| {
                detection.validate(&xoff_mech::detection::Place { link, flow_control, to_host: false }, memory)
            })
        });
    }
    if let (Some((name, rate_control)), Some(host)) = (&rate_control, &host)
        && rate_control.needs_acks()
        && matches!(host.transport, Transport::None)
    {
        let what = format!("{name} learns from acknowledgements, and hosts send none");
        rate_section.take(|_| Err::<(), _>(ParamError::new("kind", what, "set host.acks = \"per-frame\"")));
    }
    doc.finish()?;
    let failures = failures.into_iter().flatten().collect();
    // Without problems every part was read.
    let missing = || Problems::from(Problem::new("the scenario is incomplete", "see what is said about its sections above"));
    let (Some(routing), Some(host), Some(control_delay), Some(switch)) = (routing, host, control_delay, switch) else {
        return Err(missing());
    };
    let (Some((detection_name, detection)), Some((rate_name, rate_control)), Some(flows), Some(probes), Some((fc_name, flow_control))) =
        (detection, rate_control, flows, probes, flow_control)
    else {
        return Err(missing());
    };

    let mut warnings = doc.warnings();
    for w in flows.notes.iter() {
        warnings.push(Problem::new(w.clone(), "").warning());
    }
    let endless = conditions::endless_flows(&flows);
    for (facts, fc) in &flow_control {
        conditions::warn(fc_name, facts, fc, endless, pool.map(|p| pool::at(p, &switch.memory, facts)), &mut warnings);
        conditions::warn_of_blocks(facts, fc, &mut warnings);
    }
    conditions::warn_of_header((rate_name, &rate_control), host.header, &mut warnings);
    conditions::warn_of_marks(&detection, (rate_name, &rate_control), &mut warnings);
    conditions::warn_of_late_marks(&detection, &flow_control, most_at_an_egress(&topology, &switch), &mut warnings);
    conditions::warn_of_constants(&rate_control, &flow_control, &mut warnings);
    conditions::warn_of_notices((detection_name, &detection), (rate_name, &rate_control), &flow_control, &mut warnings);
    let drains = Drains { topology: &topology, flows: &flows, routing: &routing, scheduler: &switch.scheduler, duration };
    standstill::warn(fc_name, &drains, &flow_control, &mut warnings);
    let resolved = doc.resolved();
    let mut parameters: Vec<xoff_record::Parameter> = resolved
        .rows()
        .iter()
        .map(|r| xoff_record::Parameter { path: r.path(), value: r.value.clone(), origin: r.origin.to_string(), source: r.source.clone() })
        .collect();
    derived::add(&mut parameters, [fc_name, detection_name, rate_name], &flow_control, &detection, &rate_control);
    Ok(NetworkScenario {
        title,
        folder: folder.to_owned(),
        until: Time(duration.0),
        seed,
        flow_control: fc_name,
        detection: detection_name,
        rate_control: rate_name,
        resolved: resolved.to_toml(),
        parameters,
        warnings,
        boundary: Boundary::default(),
        model: ModelParts {
            flow_control,
            detection,
            rate_control,
            memory: switch.memory,
            ingress_buffer: switch.ingress_buffer,
            discipline: switch.discipline,
            scheduler: switch.scheduler,
            cut_through: switch.cut_through,
            control_delay,
            routing,
            payload_max: host.payload_max,
            header: host.header,
            transport: host.transport,
            pacing: host.pacing,
            window: host.window,
            deadlock_interval,
            stop_on_deadlock,
            stop_when_done,
            checks,
            probes,
            failures,
        },
        topology,
        flows,
    })
}
