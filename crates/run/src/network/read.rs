//! From the document of a network to a scenario, in four steps.
//!
//! ```text
//!   Document --> RunSettings, Topology --> Sections: each alone, then their common conditions --> Complete --> NetworkScenario
//! ```

use std::path::{Path, PathBuf};
use std::time::Duration;

use xoff_mech::LinkFacts;
use xoff_mech::detection::{Detection, NetworkFacts, Place};
use xoff_mech::flow_control::FlowControl;
use xoff_mech::rate_control::RateControlKind;
use xoff_mech::{link_retry, watchdog};
use xoff_net::topology::routing::Routing;
use xoff_net::topology::{Topology, failures};
use xoff_net::workload::Flows;
use xoff_node::{Classes, ControlDelay, Delay, Transport};
use xoff_scenario::document::{Document, Section};
use xoff_scenario::{Problem, Problems};
use xoff_sim::{LinkErrors, LinkFailure, PauseStorm, Probes, SlowReceiver, classes_in_use};
use xoff_units::params::{ParamError, Values};
use xoff_units::{Span, Time};

use super::buffers::{self, Buffers, SwitchLinks};
use super::host::{Host, cnps_are_alone, name_what_no_flow_reads, read_host};
use super::link_errors::{read_errors, read_retry, retry_fits, stores_frames};
use super::operation::{
    read_slow_receiver, read_storm, read_watchdog, slow_receiver_fits, slow_receiver_has_frames, storm_fits, watchdog_fits,
    watchdog_has_queues, watchdog_sees,
};
use super::parts::{read_flow_control, read_flows, read_probes, read_topology, shared_ports_fit};
use super::switch::{Memory, SwitchParts, congestion_points, every_class_is_served, most_at_an_egress, read_switch, warn_of_cut_through};
use super::transport::{read_transport, transport_fits};
use super::{ModelParts, NetworkScenario, link_errors, pool, switch};
use xoff_sim::Engine;

use crate::manifest::parameters;
use crate::network::boundary::Boundary;
use crate::network::checkpoint::read_interval;
use crate::network::standstill::{self, Drains};
use crate::network::{conditions, derived, flows_at_once};
use crate::{idle, sections};

/// `[run]`.
struct RunSettings {
    title: String,
    duration: Span,
    seed: u64,
    stop_when_done: bool,
    stop_on_deadlock: bool,
    checks: bool,
    deadlock_interval: Span,
    fast_forward: bool,
    checkpoint: Option<Duration>,
}

fn read_run(s: &mut Section<'_>) -> Result<RunSettings, ParamError> {
    Ok(RunSettings {
        title: s.text("title")?,
        duration: s.span("duration")?,
        seed: s.count("seed")?,
        stop_when_done: s.flag("stop_when_done")?,
        stop_on_deadlock: s.flag("stop_on_deadlock")?,
        checks: s.flag("checks")?,
        deadlock_interval: s.span("deadlock_interval")?,
        fast_forward: s.text("fast_forward")? == "auto",
        checkpoint: s.text_opt("checkpoint")?.map(|text| read_interval(&text)).transpose()?,
    })
}

/// The folder wherever the process is; as it was given where the system does not know.
pub(crate) fn absolute(folder: &Path) -> PathBuf {
    let here = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    std::path::absolute(here).unwrap_or_else(|_| folder.to_owned())
}

/// Reads a document that has no section `[scheduled_fabric]`; files that it names are looked up in `folder`.
pub(crate) fn read(doc: Document, folder: &Path) -> Result<NetworkScenario, Problems> {
    read_driven(doc, folder, &[])
}

/// Reads a scenario whose flows, of some priorities, are added during the run: it needs no flows of its own.
pub(crate) fn read_driven(mut doc: Document, folder: &Path, handed_in: &[u8]) -> Result<NetworkScenario, Problems> {
    if let Some(section) = doc.open_if_present(&crate::fabric::sections::fabric()) {
        let what = "this is the scenario of a scheduled fabric";
        return Err(Problem::new(what, "use xoff run; a network has [topology] instead of [scheduled_fabric]")
            .at(section.place(""))
            .into());
    }
    doc.spread_kinds(&sections::sections());
    let doc = &doc;
    doc.declare(&sections::sections());
    let mut run_section = doc.open(&sections::run());
    let run = run_section.take(read_run);
    let topology = read_topology(doc, run.as_ref().map_or(1, |r| r.seed), folder);
    // Everything after this needs the network.
    let (Some(run), Some(topology)) = (run, topology) else { return Err(doc.check().err().unwrap_or_default()) };
    let mut sections = Sections::open(doc, &topology, (&run, &run_section), folder, handed_in);
    sections.read_flow_control();
    sections.read_buffers();
    sections.agree();
    doc.finish()?;
    // Without problems every part was read.
    let incomplete = || Problem::new("the scenario is incomplete", "see the messages about its sections above");
    let parts = sections.complete().ok_or_else(incomplete)?;
    let warnings = parts.warnings(doc, &topology, run.duration);
    Ok(parts.scenario(doc, topology, run, warnings, folder))
}

/// A mechanism and its name.
type Named<T> = (&'static str, T);

/// Contents of each section. `None`: the section has an error, which the document knows.
struct Sections<'d> {
    topology: &'d Topology,
    switch_section: Section<'d>,
    flow_section: Section<'d>,
    pool_sections: Vec<Section<'d>>,
    profile_sections: Vec<Section<'d>>,
    /// Memory in pools.
    buffers: Option<Buffers>,
    detection_section: Section<'d>,
    rate_section: Section<'d>,
    watchdog_section: Section<'d>,
    routing: Option<Routing>,
    host: Option<Host>,
    control_delay: Option<ControlDelay>,
    switch: Option<SwitchParts>,
    /// Priorities that no flow control holds.
    lossy: Option<Vec<u8>>,
    detection: Option<Named<Detection>>,
    rate_control: Option<Named<RateControlKind>>,
    watchdog: Option<Option<watchdog::Config>>,
    flows: Option<Flows>,
    /// Priorities in use.
    classes: Option<Classes>,
    probes: Option<Probes>,
    failures: Vec<Option<LinkFailure>>,
    storm_sections: Vec<Section<'d>>,
    storms: Vec<Option<PauseStorm>>,
    slow_sections: Vec<Section<'d>>,
    slow_receivers: Vec<Option<SlowReceiver>>,
    error_sections: Vec<Section<'d>>,
    errors: Vec<Option<LinkErrors>>,
    retry_section: Section<'d>,
    link_retry: Option<Option<link_retry::Config>>,
    flow_control: Option<Named<Vec<(LinkFacts, FlowControl)>>>,
    pool: Option<xoff_analysis::plan::Pool>,
}

impl<'d> Sections<'d> {
    /// Reads every section alone, except that of the flow control.
    #[expect(clippy::too_many_lines, reason = "a list: one section an item")]
    fn open(
        doc: &'d Document,
        topology: &'d Topology,
        (run, run_section): (&RunSettings, &Section<'d>),
        folder: &Path,
        handed_in: &[u8],
    ) -> Sections<'d> {
        let routing = doc.open(&sections::routing()).take(|s| {
            let (kind, seed) = (s.text("kind")?, s.count_opt("seed")?.unwrap_or(run.seed));
            let rule = Routing::named(&kind, seed).and_then(|rule| rule.fits(topology).map(|()| rule));
            rule.map_err(|e| ParamError::new("kind", e.what, e.hint))
        });
        let mut host_section = doc.open(&sections::host());
        let mut transport_section = doc.open(&sections::transport());
        let connection = transport_section.take(read_transport);
        let host = connection.and_then(|connection| host_section.take(|s| read_host(s, connection)));
        let control_delay = doc.open(&sections::control_delay()).take(read_control_delay);
        let mut switch_section = doc.open(&sections::switch());
        let switch = host.as_ref().and_then(|h| switch_section.take(|s| read_switch(s, h)));
        if let (Some(switch), Some(host)) = (&switch, &host) {
            warn_of_cut_through(&switch_section, topology, switch, host);
        }
        let mut flow_section = doc.open(&sections::flow_control());
        let lossy = flow_section.take(|s| priorities("lossy", &s.texts("lossy")?));
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
        let mut watchdog_section = doc.open(&sections::watchdog());
        let watchdog = watchdog_section.take(|s| read_watchdog(s, run.duration));
        let flows = read_flows(doc, topology, (run.seed, Time(run.duration.0)), folder, handed_in);
        if let (Some(host), Some(flows)) = (&host, &flows) {
            host_section.take(|s| cnps_are_alone(host, flows).map(|()| conditions::warn_of_timers(s, host, flows, topology)));
            if let Some((rate_control, law)) = &rate_control {
                name_what_no_flow_reads(&host_section, host, flows, law, run.duration);
                transport_section.take(|s| transport_fits(s, (topology, host, flows), rate_control));
            }
        }
        let classes = host.as_ref().zip(flows.as_ref()).map(|(host, flows)| classes_in_use(flows, &host.transport, host.cnp_priority));
        if let (Some(switch), Some(classes)) = (&switch, &classes) {
            switch_section.take(|_| every_class_is_served(switch, classes));
        }
        let mut probes_section = doc.open(&sections::probes());
        let probes = probes_section.take(|s| read_probes(s, topology));
        let mut failure_sections = doc.open_all(&sections::failure());
        let failures: Vec<_> = failure_sections.iter_mut().map(|s| s.take(|s| read_failure(s, topology, run.duration))).collect();

        let mut storm_sections = doc.open_all(&sections::pause_storm());
        let storms = storm_sections.iter_mut().map(|s| s.take(|s| read_storm(s, topology, run.duration))).collect();

        let mut slow_sections = doc.open_all(&sections::slow_receiver());
        let buffer = switch.as_ref().map(|s| s.ingress_buffer);
        let mut slow_receivers: Vec<_> =
            slow_sections.iter_mut().map(|s| buffer.and_then(|b| s.take(|s| read_slow_receiver(s, topology, b, run.duration)))).collect();
        refuse_twice(&mut slow_sections, &mut slow_receivers);

        let mut error_sections = doc.open_all(&sections::link_errors());
        let errors: Vec<_> = error_sections.iter_mut().map(|s| s.take(|s| read_errors(s, topology))).collect();
        let mut retry_section = doc.open(&sections::link_retry());
        let link_retry = retry_section.take(read_retry);
        if let Some(switch) = &switch {
            let what = if errors.is_empty() { "link_retry" } else { "link_errors" };
            if !errors.is_empty() || matches!(link_retry, Some(Some(_))) {
                switch_section.take(|_| stores_frames(switch, what));
            }
        }

        let fails = failure_sections.iter().zip(&failures).filter_map(|(s, f)| Some((s, f.as_ref()?.at)));
        let interval = probes.as_ref().map_or(Span::ZERO, |p| p.interval);
        idle::warn_of_times(run_section, run.duration, (&probes_section, interval), &fails.collect::<Vec<_>>());
        Sections {
            topology,
            switch_section,
            flow_section,
            pool_sections: doc.open_all(&sections::buffer_pool()),
            profile_sections: doc.open_all(&sections::buffer_profile()),
            buffers: None,
            detection_section,
            rate_section,
            watchdog_section,
            routing,
            host,
            control_delay,
            switch,
            lossy,
            detection,
            rate_control,
            watchdog,
            flows,
            classes,
            probes,
            failures,
            storm_sections,
            storms,
            slow_sections,
            slow_receivers,
            error_sections,
            errors,
            retry_section,
            link_retry,
            flow_control: None,
            pool: None,
        }
    }

    fn class_count(&self) -> u64 {
        self.classes.as_ref().map_or(1, |c| c.len() as u64)
    }

    /// Classes that flow control holds, at least one: none has messages before its own.
    fn lossless_count(&self) -> u64 {
        let lossy = self.classes.as_ref().zip(self.lossy.as_ref()).map_or(0, |(c, l)| c.set(l).count());
        self.class_count().saturating_sub(lossy).max(1)
    }

    /// Flow control comes last: it plans with the links, the frames, the buffer and the delays.
    fn read_flow_control(&mut self) {
        let (Some(switch), Some(host), Some(delay)) = (&self.switch, &self.host, &self.control_delay) else { return };
        let cnms = self.detection.as_ref().is_some_and(|(_, d)| d.sends_cnms());
        let classes = self.class_count();
        let points = if cnms { congestion_points(self.topology, classes) } else { 0 };
        let ahead = LinkFacts::messages_of_other_classes(self.lossless_count()) + points;
        self.flow_control = read_flow_control(&mut self.flow_section, self.topology, (switch, &self.switch_section), host, delay, ahead);
    }

    /// Pools and profiles, which have to fit the switches, their links and the flow control.
    fn read_buffers(&mut self) {
        let (Some(switch), Some(host)) = (&self.switch, &self.host) else { return };
        if !matches!(switch.memory, Memory::Pools) {
            if let Some(section) = self.pool_sections.first().or(self.profile_sections.first()) {
                let key = if self.pool_sections.is_empty() { "pool" } else { "name" };
                section.refuse(&ParamError::new(key, "pools need switch.memory = \"pools\"", "set memory = \"pools\" in [switch]"));
            }
            return;
        }
        let read = buffers::read(&mut self.pool_sections, &mut self.profile_sections, self.topology, host.longest_frame());
        let (Some(read), Some((name, links)), Some(classes)) = (read, &self.flow_control, &self.classes) else { return };
        let lossy = buffers::lossy(name, self.lossy.as_deref().unwrap_or_default());
        let priorities: Vec<u8> = (0..classes.len()).map(|class| classes.priority(class)).collect();
        let mut doubts: Vec<buffers::Refused> = Vec::new();
        for node in self.topology.switches() {
            let fits = |s: &SwitchLinks<'_>| buffers::fits(&read, s, self.topology, &priorities, host.longest_frame());
            match buffers::with_links(self.topology, links, node, &lossy, fits) {
                // One of each kind and section: of the first switch that it concerns.
                Ok(found) => found.into_iter().for_each(|d| {
                    if !doubts.iter().any(|known| known.0 == d.0 && known.1.key == d.1.key) {
                        doubts.push(d);
                    }
                }),
                Err((of, e)) => {
                    self.section_of(of).refuse(&e);
                    return;
                }
            }
        }
        doubts.iter().for_each(|(of, e)| self.section_of(*of).warn(e));
        let at = |node| buffers::with_links(self.topology, links, node, &lossy, |s| read.at(s).map(|made| (s.ports, made)));
        let made: Vec<_> = self.topology.switches().filter_map(|node| at(node).ok()).collect();
        for (of, e) in buffers::unread(&read, &made, &lossy) {
            self.section_of(of).has_no_effect(&e.key, &e.what, &e.hint);
        }
        self.buffers = Some(read);
    }

    fn section_of(&self, of: buffers::Of) -> &Section<'d> {
        match of {
            buffers::Of::Pool(n) => &self.pool_sections[n],
            buffers::Of::Profile(n) => &self.profile_sections[n],
            buffers::Of::Switch => &self.switch_section,
        }
    }

    /// Checks that parts agree: memory with headrooms, detection with flow control, rate control with acknowledgements.
    fn agree(&mut self) {
        if let (Some(switch), Some((_, links))) = (&self.switch, &self.flow_control) {
            let (topology, classes) = (self.topology, self.class_count());
            let smallest = || pool::smallest(topology, &switch.memory, links, classes);
            self.pool = self.switch_section.take(|_| smallest()).flatten();
            if let Some((_, detection)) = &self.detection {
                let memory = most_at_an_egress(self.topology, switch);
                self.detection_section.take(|_| {
                    links
                        .iter()
                        .try_for_each(|(link, flow_control)| detection.validate(&Place { link, flow_control, to_host: false }, memory))
                });
            }
        }
        if let (Some(switch), Some((name, links))) = (&self.switch, &self.flow_control) {
            let (priorities, lossy) = (self.class_count(), self.lossy.as_ref().is_some_and(|l| !l.is_empty()));
            self.flow_section.take(|_| shared_ports_fit((name, links), &switch.memory, priorities, lossy));
            let held = self.lossless_count();
            self.flow_section.take(|_| links.iter().try_for_each(|(facts, fc)| fc.messages_fit(facts, held)));
        }
        if let (Some((name, links)), Some(host)) = (&self.flow_control, &self.host)
            && host.obeys_priorities
            && links.iter().all(|(_, fc)| !fc.per_flow())
        {
            let what = format!("{name} pauses priorities, so host.obeys has no other choice");
            self.flow_section.take(|_| Err::<(), _>(ParamError::new("kind", what, "remove host.obeys, or set kind = \"pffc\" or \"bfc\"")));
        }
        self.name_what_is_unread();
        if let (Some(Some(retry)), Some(host)) = (&self.link_retry, &self.host) {
            self.retry_section.take(|s| retry_fits(s, retry, (self.topology, host)));
        }
        if let (Some(Some(watchdog)), Some((name, links))) = (&self.watchdog, &self.flow_control) {
            self.watchdog_section.take(|s| watchdog_fits(name, links).map(|()| watchdog_sees(s, watchdog, links, &self.storms)));
        }
        if let Some((name, links)) = &self.flow_control {
            for (section, slow) in self.slow_sections.iter_mut().zip(&mut self.slow_receivers) {
                let Some(slow) = slow else { continue };
                section.take(|_| slow_receiver_fits(slow, self.topology, (name, links)));
            }
        }
        let answers = self.hosts_answer();
        if let (Some((name, links)), Some(classes), Some(flows)) = (&self.flow_control, &self.classes, &self.flows) {
            let lossy = self.lossy.as_deref().unwrap_or_default();
            for (n, section) in self.storm_sections.iter_mut().enumerate() {
                let of = (lossy, flows, answers);
                section.take(|s| storm_fits(s, (n, &self.storms), (name, links), (self.topology, classes), of));
            }
        }
        if let (Some((name, rate_control)), Some(host)) = (&self.rate_control, &self.host)
            && rate_control.needs_acks()
            && matches!(host.transport, Transport::None)
        {
            let what = format!("{name} reacts to acknowledgements, but hosts send none: rates never change");
            self.rate_section.take(|_| Err::<(), _>(ParamError::new("kind", what, "set host.acks = \"per-frame\"")));
        }
    }

    /// True if sources receive answers: acknowledgements, or notifications of a rate control.
    fn hosts_answer(&self) -> bool {
        let acks = self.host.as_ref().is_some_and(|h| !matches!(h.transport, Transport::None));
        acks || self.rate_control.as_ref().is_some_and(|(_, r)| !matches!(r, RateControlKind::None))
    }

    /// Warns of keys without effect next to the other sections.
    fn name_what_is_unread(&self) {
        let (Some((name, links)), Some(classes), Some(flows)) = (&self.flow_control, &self.classes, &self.flows) else { return };
        let lossy = self.lossy.as_deref().unwrap_or_default();
        if *name != "none" && (0..classes.len()).all(|class| lossy.contains(&classes.priority(class))) {
            let what = format!("every priority in use is lossy: {name} never pauses a port");
            self.flow_section.warn(&ParamError::new("lossy", what, "list fewer priorities, or set kind = \"none\""));
        }
        if let Some(switch) = &self.switch {
            let slow = !self.slow_receivers.is_empty();
            switch::name_what_is_unread_beside(&self.switch_section, switch, classes, links, slow);
        }
        if matches!(self.watchdog, Some(Some(_))) {
            watchdog_has_queues(&self.watchdog_section, classes, lossy);
        }
        for (section, slow) in self.slow_sections.iter().zip(&self.slow_receivers) {
            slow.iter().for_each(|slow| slow_receiver_has_frames(section, slow, self.topology, flows, self.hosts_answer()));
        }
        let retry = matches!(self.link_retry, Some(Some(_)));
        for (section, errors) in self.error_sections.iter().zip(&self.errors) {
            errors.iter().for_each(|e| link_errors::name_what_is_unread(section, e, retry, links));
        }
    }

    /// All parts; `None`: one has a mistake.
    fn complete(self) -> Option<Complete> {
        Some(Complete {
            routing: self.routing?,
            host: self.host?,
            control_delay: self.control_delay?,
            switch: self.switch?,
            lossy: self.lossy?,
            buffers: self.buffers,
            detection: self.detection?,
            rate_control: self.rate_control?,
            watchdog: self.watchdog?,
            flows: self.flows?,
            probes: self.probes?,
            failures: self.failures.into_iter().flatten().collect(),
            storms: self.storms.into_iter().flatten().collect(),
            slow_receivers: self.slow_receivers.into_iter().flatten().collect(),
            errors: self.errors.into_iter().flatten().collect(),
            link_retry: self.link_retry?,
            flow_control: self.flow_control?,
            pool: self.pool,
        })
    }
}

/// Priorities from their texts, each one of them or a range: `3`, `3-4`.
pub(super) fn priorities(key: &str, texts: &[String]) -> Result<Vec<u8>, ParamError> {
    let refuse = |text: &str, what: &str| {
        let what = format!("'{}' {what}", xoff_scenario::suggest::clip(text));
        ParamError::new(key, what, "expected priorities from 0 to 7, such as [\"3\"] or [\"0-2\", \"5\"]")
    };
    let mut all = Vec::new();
    for text in texts {
        let one = |n: &str| n.trim().parse::<u8>().ok().filter(|n| *n < 8).ok_or_else(|| refuse(text, "is not a priority"));
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let (first, last) = (one(first)?, one(last)?);
        if first > last {
            return Err(refuse(text, "is not a range: its end is before its start"));
        }
        for p in first..=last {
            if all.contains(&p) {
                return Err(refuse(text, &format!("repeats priority {p}")));
            }
            all.push(p);
        }
    }
    Ok(all)
}

/// A host drains in one manner.
fn refuse_twice(sections: &mut [Section<'_>], slow: &mut [Option<SlowReceiver>]) {
    for n in 1..slow.len() {
        let host = slow[n].as_ref().map(|s| s.host);
        if host.is_some() && slow[..n].iter().any(|s| s.as_ref().map(|s| s.host) == host) {
            slow[n] =
                sections[n].take(|_| Err(ParamError::new("host", "the host already has a [[slow_receiver]]", "keep one for each host")));
        }
    }
}

fn read_control_delay(s: &mut Section<'_>) -> Result<ControlDelay, ParamError> {
    Ok(ControlDelay {
        generation: Delay { constant: s.span("generation")?, jitter: s.span("generation_jitter")? },
        processing: Delay { constant: s.span("processing")?, jitter: s.span("processing_jitter")? },
    })
}

fn read_failure(s: &mut Section<'_>, topology: &Topology, duration: Span) -> Result<LinkFailure, ParamError> {
    let name = s.text("link")?;
    let link = failures::find_link(topology, &name).map_err(|e| ParamError::new("link", e.what, e.hint))?;
    let at = s.span("at")?;
    if at >= duration {
        s.warn(&ParamError::new("at", format!("the run ends at {duration}, before the link fails"), "give an earlier time"));
    }
    Ok(LinkFailure { at: Time(at.0), link })
}

/// Every part of a scenario without mistakes.
struct Complete {
    routing: Routing,
    host: Host,
    control_delay: ControlDelay,
    switch: SwitchParts,
    lossy: Vec<u8>,
    buffers: Option<Buffers>,
    detection: Named<Detection>,
    rate_control: Named<RateControlKind>,
    watchdog: Option<watchdog::Config>,
    flows: Flows,
    probes: Probes,
    failures: Vec<LinkFailure>,
    storms: Vec<PauseStorm>,
    slow_receivers: Vec<SlowReceiver>,
    errors: Vec<LinkErrors>,
    link_retry: Option<link_retry::Config>,
    flow_control: Named<Vec<(LinkFacts, FlowControl)>>,
    pool: Option<xoff_analysis::plan::Pool>,
}

impl Complete {
    /// Warnings for the user: from the document, then about conditions that the parts do not meet.
    fn warnings(&self, doc: &Document, topology: &Topology, duration: Span) -> Problems {
        let mut warnings = doc.warnings();
        for w in self.flows.notes.iter() {
            warnings.push(Problem::new(w.clone(), "").warning());
        }
        let (fc_name, flow_control) = (self.flow_control.0, &self.flow_control.1);
        let (detection, rate_control) = ((self.detection.0, &self.detection.1), (self.rate_control.0, &self.rate_control.1));
        let endless = conditions::endless_flows(&self.flows);
        for (facts, fc) in flow_control {
            let pool = self.pool.map(|p| pool::at(p, &self.switch.memory, facts, fc));
            conditions::warn(fc_name, facts, fc, endless, pool, &mut warnings);
            conditions::warn_of(fc.unmet(facts), &mut warnings);
        }
        if let Some((_, fc)) = flow_control.first() {
            conditions::warn_of_entry_ports(fc_name, fc, topology, self.switch.discipline, &mut warnings);
        }
        conditions::warn_of_header(rate_control, self.host.header, &mut warnings);
        conditions::warn_of_marks(detection, rate_control, &mut warnings);
        let at = NetworkFacts { links: flow_control, memory: most_at_an_egress(topology, &self.switch) };
        conditions::warn_of(detection.1.unmet(&at), &mut warnings);
        let slowest = flow_control.iter().map(|(link, _)| link.rate).min();
        conditions::warn_of(slowest.map(|rate| rate_control.1.unmet(rate)).unwrap_or_default(), &mut warnings);
        conditions::warn_of_cnms(detection, rate_control, &mut warnings);
        let drains = Drains { topology, flows: &self.flows, routing: &self.routing, scheduler: &self.switch.scheduler, duration };
        standstill::warn(fc_name, &drains, flow_control, &mut warnings);
        if matches!(self.switch.memory, Memory::PerIngress) {
            flows_at_once::warn(fc_name, topology, &self.flows, flow_control, &mut warnings);
        }
        warnings
    }

    fn scenario(self, doc: &Document, topology: Topology, run: RunSettings, warnings: Problems, folder: &Path) -> NetworkScenario {
        let ((fc_name, flow_control), (detection_name, detection)) = (self.flow_control, self.detection);
        let (rate_name, rate_control) = self.rate_control;
        let resolved = doc.resolved();
        let mut parameters = parameters(&resolved);
        derived::add(&mut parameters, [fc_name, detection_name, rate_name], &flow_control, &detection, &rate_control);
        NetworkScenario {
            title: run.title,
            folder: absolute(folder),
            until: Time(run.duration.0),
            seed: run.seed,
            flow_control: fc_name,
            detection: detection_name,
            rate_control: rate_name,
            resolved: resolved.to_toml(),
            parameters,
            warnings,
            boundary: Boundary::default(),
            engine: Engine::default(),
            checkpoint: run.checkpoint,
            source: doc.source().clone(),
            settings: doc.settings().to_vec(),
            model: ModelParts {
                flow_control,
                detection,
                rate_control,
                switch: self.switch,
                lossy: self.lossy,
                buffers: self.buffers,
                watchdog: self.watchdog,
                control_delay: self.control_delay,
                routing: self.routing,
                host: self.host,
                deadlock_interval: run.deadlock_interval,
                stop_on_deadlock: run.stop_on_deadlock,
                stop_when_done: run.stop_when_done,
                fast_forward: run.fast_forward,
                checks: run.checks,
                probes: self.probes,
                failures: self.failures,
                storms: self.storms,
                slow_receivers: self.slow_receivers,
                errors: self.errors,
                link_retry: self.link_retry,
            },
            topology,
            flows: self.flows,
        }
    }
}
