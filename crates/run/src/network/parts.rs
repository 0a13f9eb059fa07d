//! The sections of a scenario, each converted for the model.

use xoff_net::topology::names::{What, find_port};

use std::collections::BTreeMap;
use std::path::Path;

use xoff_mech::LinkFacts;
use xoff_mech::flow_control::{FlowControl, Pauses};
use xoff_net::topology::{Topology, failures};
use xoff_net::workload::{Context, Flows, Generated, Repeat, SizeCdf, generators};
use xoff_node::{ControlDelay, DisciplineKind};
use xoff_scenario::Problem;
use xoff_scenario::document::{Document, Section};
use xoff_sim::{PORT_PROBES, Probes, Selection};
use xoff_units::Time;
use xoff_units::params::{ParamError, Values};

use super::host::Host;
use super::switch::{Memory, SwitchParts};
use crate::network::jobs;
use crate::{idle, sections};

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
    fn without_effect(&mut self, key: &str, why: &str, hint: &str) {
        self.0.without_effect(key, why, hint);
    }

    fn raw(&mut self, key: &str) -> Result<Option<String>, ParamError> {
        let value = self.0.raw(key)?;
        self.1.0.insert(key.to_owned(), value.clone());
        Ok(value)
    }
}

pub(super) fn read_topology(doc: &Document, run_seed: u64, folder: &Path) -> Option<Topology> {
    let spec = xoff_scenario::topology::sections().swap_remove(0);
    let mut section = doc.open(&spec);
    let mut topology = xoff_scenario::topology::build_in(&mut section, folder)?;
    // Before routes and flows are laid over it.
    section.take(|_| crate::network::resources::network_fits(&topology))?;
    doc.open(&sections::failures()).take(|s| {
        let names = s.texts("links")?;
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        failures::fail_links(&mut topology, &names).map_err(|e| ParamError::new("links", e.what, e.hint))?;
        let p = s.float("probability")?;
        if !(0.0..=1.0).contains(&p) {
            return Err(ParamError::new("probability", format!("{p} is not a probability"), "expected 0 to 1"));
        }
        let seed = s.count_opt("seed")?.unwrap_or(run_seed);
        let host_links = s.flag("host_links")?;
        if p > 0.0 {
            failures::fail_random(&mut topology, p, seed, host_links)?;
        }
        Ok(())
    })?;
    Some(topology)
}

/// Hint for memory in pools.
const BY_PROFILE: &str = "set kind = \"pfc\" and threshold = \"profile\", or kind = \"none\"";

pub(super) fn read_flow_control(
    section: &mut Section<'_>,
    topology: &Topology,
    (switch, switch_section): (&SwitchParts, &Section<'_>),
    host: &Host,
    delay: &ControlDelay,
    control_ahead: u64,
) -> Option<(&'static str, Vec<(LinkFacts, FlowControl)>)> {
    let kind = section.kind()?;
    let (buffer, shared) = (switch.ingress_buffer, matches!(switch.memory, Memory::Shared { .. }));
    let entry = xoff_mech::flow_control::REGISTRY.iter().find(|e| e.name == kind).expect("a kind of the registry");
    // Acknowledgements are frames of a lossless class too.
    let mtu = host.longest_frame();
    let (processing, jitter) = (delay.longest(), delay.generation.jitter + delay.processing.jitter);
    let mut all: Vec<(LinkFacts, FlowControl)> = Vec::new();
    let mut again = Replay::default();
    for link in &topology.links {
        let facts = LinkFacts { processing, jitter, control_ahead, ..LinkFacts::plain(link.rate, link.delay, mtu, buffer) };
        if all.iter().any(|(f, _)| *f == facts) {
            continue;
        }
        let read =
            if all.is_empty() { (entry.read)(&mut RecordingValues(section, &mut again), &facts) } else { (entry.read)(&mut again, &facts) };
        let read = read.and_then(|fc| fc.holds_a_frame(&facts).map(|()| fc));
        match read {
            Ok(fc) => all.push((facts, fc)),
            Err(e) => {
                // The buffer is a key of the switch.
                if e.key == "buffer" {
                    switch_section.refuse(&e)
                } else {
                    section.refuse(&e)
                }
                return None;
            }
        }
    }
    if !shared && all.iter().any(|(_, fc)| fc.pauses() == Pauses::ByFreeMemory) {
        let what = "a dynamic threshold needs a shared pool: with a fixed buffer per ingress, ports would pause only when the buffer is \
                    full";
        section.refuse(&ParamError::new("threshold", what, "set memory = \"shared\" in [switch], or threshold = \"static\""));
        return None;
    }
    if let Some((_, fc)) = all.iter().find(|(_, fc)| (fc.pauses() == Pauses::ByProfile) != matches!(switch.memory, Memory::Pools))
        && !matches!(fc, FlowControl::None)
    {
        let (what, hint) = match fc.pauses() {
            Pauses::ByProfile => {
                ("buffer profiles are for memory in pools".to_owned(), "set memory = \"pools\" in [switch], or another threshold")
            }
            _ => (format!("{kind} has its own thresholds, but memory in pools uses those of buffer profiles"), BY_PROFILE),
        };
        let key = if section.declares("threshold") { "threshold" } else { "kind" };
        section.refuse(&ParamError::new(key, what, hint));
        return None;
    }
    if switch.discipline != DisciplineKind::Fifo && all.iter().any(|(_, fc)| fc.per_flow()) {
        let what = format!("{kind} has its own egress queues, which are FIFO");
        switch_section.refuse(&ParamError::new("discipline", what, "set discipline = \"fifo\", or remove the key"));
        return None;
    }
    Some((entry.name, all))
}

/// Rejects settings that contradict a flow control whose priorities share the buffer of a port.
pub(super) fn shared_ports_fit(
    (name, links): (&str, &[(LinkFacts, FlowControl)]),
    memory: &Memory,
    priorities: u64,
    lossy: bool,
) -> Result<(), ParamError> {
    if !links.iter().any(|(_, fc)| fc.shares_port()) {
        return Ok(());
    }
    let refuse =
        |what, hint| Err(ParamError::new("sharing", format!("{name} shares the buffer of a port among its priorities, {what}"), hint));
    if !matches!(memory, Memory::PerIngress) {
        return refuse("and switch.memory shares it among ports", "set memory = \"per-ingress\" in [switch], or sharing = \"none\"");
    }
    if lossy {
        return refuse("and lossy priorities would use the buffer of the others", "remove flow_control.lossy, or set sharing = \"none\"");
    }
    links.iter().try_for_each(|(facts, fc)| fc.fits_priorities(facts, priorities))
}

pub(super) fn read_flows(doc: &Document, topology: &Topology, (seed, end): (u64, Time), folder: &Path, handed_in: &[u8]) -> Option<Flows> {
    let cdfs = |name: &str| -> Result<SizeCdf, ParamError> {
        let points = xoff_scenario::cdf::find(name, folder).map_err(|problems| {
            let (what, hint) = problems.iter().next().map(|p| (p.place_and_message(), p.hint.clone())).unwrap_or_default();
            ParamError::new("cdf", what, hint)
        })?;
        SizeCdf::new(points).map_err(|e| ParamError::new("cdf", e.what, "expected sizes and percentages that grow from 0 to 100"))
    };
    let (mut labels, mut parts) = (Vec::new(), Vec::new());
    let mut complete = true;
    let mut generate = |section: &mut Section<'_>, name: &str, label: String| {
        let g = generators::find(name).expect("a known generator");
        let cx = Context { topo: topology, seed, label: parts.len() as u32, cdfs: &cdfs };
        let made = section.take(|s| {
            let mut part = (g.generate)(s, &cx)?;
            part.repeat = Repeat::read(s, &part)?;
            Ok(part)
        });
        match made {
            Some(part) => {
                idle::warn_of_flows(section, &part, end);
                labels.push(label);
                parts.push(part);
            }
            None => complete = false,
        }
    };
    for mut section in doc.open_all(&sections::flow()) {
        let label = section.path().to_owned();
        generate(&mut section, sections::FLOWS, label);
    }
    for mut section in doc.open_all(&sections::workload()) {
        let kind = section.kind()?;
        let label = format!("{} {kind}", section.path());
        generate(&mut section, kind, label);
    }
    if !complete {
        return None;
    }
    let jobs = doc.has(&jobs::keys::job()) || doc.has(&jobs::keys::collective());
    if !handed_in.is_empty() {
        return driven_flows(doc, topology, labels, parts, handed_in);
    }
    if parts.is_empty() && !jobs {
        // A section that is written wrongly has been reported.
        if !doc.has(&sections::flow()) && !doc.has(&sections::workload()) {
            let place = doc.source().place(0..0);
            doc.push(Problem::new("the scenario has no flows", "add a [[flow]] or a [[workload]]").at(place));
        }
        return None;
    }
    match Flows::new(topology, labels, parts) {
        Ok(mut flows) => jobs::read_jobs(doc, topology, (seed, end), folder, &mut flows).map(|()| flows),
        Err(e) => {
            doc.push(Problem::new(format!("{}: {}", e.key, e.what), e.hint).at(doc.source().place(0..0)));
            None
        }
    }
}

pub(super) fn read_probes(s: &mut Section<'_>, topology: &Topology) -> Result<Probes, ParamError> {
    let mut select = |key: &str| -> Result<Selection, ParamError> {
        let names = s.texts(key)?;
        if names.is_empty() {
            return Ok(Selection::None);
        }
        if names.iter().any(|n| n == "all") {
            return Ok(Selection::All);
        }
        names.iter().map(|n| find_port(topology, key, n, What::Port)).collect::<Result<Vec<_>, _>>().map(Selection::Some)
    };
    let mut p = Probes::default();
    for probe in PORT_PROBES {
        *(probe.of_mut)(&mut p) = select(probe.key)?;
    }
    p.interval = s.span("interval")?;
    p.flow_rates = s.flag("flow_rates")?;
    p.causes = s.flag("causes")?;
    if p.interval.0 == 0 && PORT_PROBES.iter().any(|probe| probe.sampled && !(probe.of)(&p).is_none()) {
        return Err(ParamError::new("interval", "sampling needs an interval", "set, for example, interval = \"10us\""));
    }
    // A port is named by the link direction; its queue as an ingress is at the far end.
    for probe in PORT_PROBES.iter().filter(|probe| probe.ingress_too) {
        if let Selection::Some(ports) = (probe.of_mut)(&mut p) {
            let far: Vec<(u32, u16)> = ports
                .iter()
                .map(|&(n, port)| {
                    let peer = topology.nodes[n as usize].ports[port as usize];
                    (peer.peer, peer.peer_port)
                })
                .collect();
            ports.extend(far);
            ports.sort_unstable();
            ports.dedup();
        }
    }
    Ok(p)
}

/// The flows of a scenario to which others are handed in while it runs.
fn driven_flows(doc: &Document, topology: &Topology, labels: Vec<String>, parts: Vec<Generated>, handed_in: &[u8]) -> Option<Flows> {
    let place = || doc.source().place(0..0);
    if doc.has(&jobs::keys::job()) || doc.has(&jobs::keys::collective()) || parts.iter().any(|p| p.closed_loop.is_some()) {
        let what = "the scenario has a job, a collective or a closed loop, but another program submits the messages";
        doc.push(Problem::new(what, "remove them: only the other program may start messages").at(place()));
        return None;
    }
    match Flows::new(topology, labels, parts) {
        Ok(flows) => Some(Flows { handed_in: handed_in.to_vec(), ..flows }),
        Err(e) => {
            doc.push(Problem::new(format!("{}: {}", e.key, e.what), e.hint).at(place()));
            None
        }
    }
}
