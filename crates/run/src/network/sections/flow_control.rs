//! `[flow_control]`: hop-by-hop flow control of every link.

use std::collections::BTreeMap;

use xoff_analysis::plan::{Configured, Pool, configured};
use xoff_mech::LinkFacts;
use xoff_mech::flow_control::{FlowControl, Pauses, REGISTRY};
use xoff_net::topology::Topology;
use xoff_net::workload::{Flows, UNLIMITED};
use xoff_node::{ControlDelay, DisciplineKind};
use xoff_scenario::document::{KindSpec, Section, SectionSpec};
use xoff_scenario::{Problem, Problems};
use xoff_sim::{Model, PerLink};
use xoff_units::NodeId;
use xoff_units::params::{Kind, ParamError, ParamSpec, Values};

use super::host::Host;
use super::switch::{Memory, Switch, congestion_points};
use super::{Context, Part, Read, Sections, priorities, warn_of_unmet};
use crate::network::standstill::{self, Drains};
use crate::network::{flows_at_once, pool};

/// Keys of every flow control.
const KEYS: &[ParamSpec] = &[ParamSpec::optional(
    "lossy",
    Kind::Texts,
    "priorities that are never paused, such as [\"0\", \"2-3\"]: a full switch drops their frames, which is not a violation; default: none",
    "",
)];

/// Facts of each kind of link, with its flow control.
type Links = Vec<(LinkFacts, FlowControl)>;

/// `[flow_control]`.
pub(in crate::network) struct FlowControls {
    /// Priorities that no flow control pauses; `None`: the list has an error.
    lossy: Option<Vec<u8>>,
    /// Name and links. `None`: a key has an error, or the sections that the plan needs.
    planned: Option<(&'static str, Links)>,
}

pub type Value = FlowControls;

impl<'d> Read<'d, FlowControls> {
    /// Name, and flow control of each kind of link; `None`: a key has an error, or a section that
    /// its plan needs.
    pub fn links(&self) -> Option<(&'static str, &[(LinkFacts, FlowControl)])> {
        self.value()?.planned.as_ref().map(|(name, links)| (*name, &links[..]))
    }
}

impl Sections<'_> {
    /// Priorities that no flow control pauses.
    pub fn lossy(&self) -> &[u8] {
        self.flow_control.value().and_then(|fc| fc.lossy.as_deref()).unwrap_or_default()
    }

    /// Classes that flow control pauses, at least one: none has messages before its own.
    fn lossless_count(&self) -> u64 {
        let lossy = self.classes().map_or(0, |c| c.set(self.lossy()).count());
        self.class_count().saturating_sub(lossy).max(1)
    }
}

impl Part for FlowControls {
    fn specs() -> Vec<SectionSpec> {
        let kinds =
            REGISTRY.iter().map(|e| KindSpec { name: e.name, doc: e.about, specs: vec![e.params] });
        let spec =
            SectionSpec::once("flow_control", "Hop-by-hop flow control of every link.", vec![KEYS]);
        vec![spec.kinds("kind", Some("pfc"), kinds.collect())]
    }

    fn read<'d>(cx: &Context<'d>, _: &Sections<'d>) -> Read<'d, FlowControls> {
        let mut read = Read::each(cx, |s| {
            Ok(FlowControls {
                lossy: Some(priorities("lossy", &s.texts("lossy")?)?),
                planned: None,
            })
        });
        read.values = vec![Some(
            read.values.pop().flatten().unwrap_or(FlowControls { lossy: None, planned: None }),
        )];
        read
    }

    /// Plans with the links, the frames, the buffer and the delays.
    fn plan(cx: &Context<'_>, all: &mut Sections<'_>) {
        let cnms = all.detection.value().is_some_and(|d| d.law.sends_cnms());
        let points = if cnms { congestion_points(cx.topology, all.class_count()) } else { 0 };
        let ahead = LinkFacts::messages_of_other_classes(all.lossless_count()) + points;
        let (Some(switch), Some(host), Some(delay)) =
            (all.switch.value(), all.host.value(), all.control_delay.value())
        else {
            return;
        };
        let section = &mut all.flow_control.sections[0];
        let planned =
            plan_links(section, cx.topology, (switch, all.switch.section()), host, delay, ahead);
        if let Some(flow_control) = all.flow_control.value_mut() {
            flow_control.planned = planned;
        }
    }

    fn agree(_: &Context<'_>, all: &mut Sections<'_>) {
        let (classes, held, lossy) = (all.class_count(), all.lossless_count(), all.lossy());
        let Some((name, links)) = all.flow_control.links() else { return };
        let mut refused = Vec::new();
        if let Some(switch) = all.switch.value() {
            refused.push(shared_ports_fit(
                (name, links),
                &switch.memory,
                classes,
                !lossy.is_empty(),
            ));
            refused.push(links.iter().try_for_each(|(facts, fc)| fc.messages_fit(facts, held)));
        }
        if all.host.value().is_some_and(|h| h.nic.obeys_priorities)
            && links.iter().all(|(_, fc)| !fc.per_flow())
        {
            let what = format!("{name} pauses priorities, so host.obeys has no other choice");
            refused.push(Err(ParamError::new(
                "kind",
                what,
                "remove host.obeys, or set kind = \"pffc\" or \"bfc\"",
            )));
        }
        let section = all.flow_control.section();
        refused.iter().filter_map(|r| r.as_ref().err()).for_each(|e| section.refuse(e));
        if let Some(classes) = all.classes()
            && name != "none"
            && classes.priorities().iter().all(|p| lossy.contains(p))
        {
            let what = format!("every priority in use is lossy: {name} never pauses a port");
            section.warn(&ParamError::new(
                "lossy",
                what,
                "list fewer priorities, or set kind = \"none\"",
            ));
        }
    }

    fn warn(cx: &Context<'_>, all: &Sections<'_>, warnings: &mut Problems) {
        let (Some((name, links)), Some(switch), Some(flows)) =
            (all.flow_control.links(), all.switch.value(), all.flows.value())
        else {
            return;
        };
        let smallest =
            pool::smallest(cx.topology, &switch.memory, links, all.class_count()).ok().flatten();
        let endless = endless_flows(flows);
        for (facts, fc) in links {
            let pool = smallest.map(|p| pool::at(p, &switch.memory, facts, fc));
            warn_of_conditions(name, facts, fc, endless, pool, warnings);
            warn_of_unmet(fc.unmet(facts), warnings);
        }
        if let Some((_, fc)) = links.first() {
            warn_of_entry_ports(name, fc, cx.topology, switch.discipline, warnings);
        }
        let (Some(routing), Some(balancing)) = (all.routing.value(), all.load_balancing.value())
        else {
            return;
        };
        let drains = Drains {
            topology: cx.topology,
            flows,
            routing,
            balances: !balancing.is_ecmp()
                || all.host.value().is_some_and(|h| h.balances(cx.topology)),
            scheduler: &switch.scheduler,
            duration: cx.run.duration,
        };
        standstill::warn(name, &drains, links, warnings);
        if matches!(switch.memory, Memory::PerIngress) {
            flows_at_once::warn(name, (cx.topology, routing), flows, links, warnings);
        }
    }

    fn set(self, model: &mut Model<'static>) {
        model.flow_control = PerLink::Kinds(self.planned.map_or(Vec::new(), |(_, links)| links));
        model.lossy = self.lossy.unwrap_or_default();
    }
}

/// Texts that were read, so that the same parameters can be read again for another link without a
/// second entry in the list of parameters.
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

/// Hint for memory in pools.
const BY_PROFILE: &str = "set kind = \"pfc\" and threshold = \"profile\", or kind = \"none\"";

fn plan_links(
    section: &mut Section<'_>,
    topology: &Topology,
    (switch, switch_section): (&Switch, &Section<'_>),
    host: &Host,
    delay: &ControlDelay,
    control_ahead: u64,
) -> Option<(&'static str, Links)> {
    let kind = section.kind()?;
    let (buffer, shared) = (switch.ingress_buffer, matches!(switch.memory, Memory::Shared { .. }));
    let entry = REGISTRY.iter().find(|e| e.name == kind).expect("a kind of the registry");
    // Acknowledgements are frames of a lossless class too.
    let mtu = host.longest_frame();
    let (processing, jitter) = (delay.longest(), delay.generation.jitter + delay.processing.jitter);
    let mut all: Vec<(LinkFacts, FlowControl)> = Vec::new();
    let mut again = Replay::default();
    for link in &topology.links {
        let facts = LinkFacts {
            processing,
            jitter,
            control_ahead,
            ..LinkFacts::plain(link.rate, link.delay, mtu, buffer)
        };
        if all.iter().any(|(f, _)| *f == facts) {
            continue;
        }
        let read = if all.is_empty() {
            (entry.read)(&mut RecordingValues(section, &mut again), &facts)
        } else {
            (entry.read)(&mut again, &facts)
        };
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
        section.refuse(&ParamError::new(
            "threshold",
            what,
            "set memory = \"shared\" in [switch], or threshold = \"static\"",
        ));
        return None;
    }
    if let Some((_, fc)) = all.iter().find(|(_, fc)| {
        (fc.pauses() == Pauses::ByProfile) != matches!(switch.memory, Memory::Pools(_))
    }) && !matches!(fc, FlowControl::None)
    {
        let (what, hint) = match fc.pauses() {
            Pauses::ByProfile => (
                "buffer profiles are for memory in pools".to_owned(),
                "set memory = \"pools\" in [switch], or another threshold",
            ),
            _ => (
                format!(
                    "{kind} has its own thresholds, but memory in pools uses those of buffer profiles"
                ),
                BY_PROFILE,
            ),
        };
        let key = if section.declares("threshold") { "threshold" } else { "kind" };
        section.refuse(&ParamError::new(key, what, hint));
        return None;
    }
    if switch.discipline != DisciplineKind::Fifo && all.iter().any(|(_, fc)| fc.per_flow()) {
        let what = format!("{kind} has its own egress queues, which are FIFO");
        switch_section.refuse(&ParamError::new(
            "discipline",
            what,
            "set discipline = \"fifo\", or remove the key",
        ));
        return None;
    }
    Some((entry.name, all))
}

/// Rejects settings that contradict a flow control whose priorities share the buffer of a port.
fn shared_ports_fit(
    (name, links): (&str, &[(LinkFacts, FlowControl)]),
    memory: &Memory,
    priorities: u64,
    lossy: bool,
) -> Result<(), ParamError> {
    if !links.iter().any(|(_, fc)| fc.shares_port()) {
        return Ok(());
    }
    let refuse = |what, hint| {
        Err(ParamError::new(
            "sharing",
            format!("{name} shares the buffer of a port among its priorities, {what}"),
            hint,
        ))
    };
    if !matches!(memory, Memory::PerIngress) {
        return refuse(
            "and switch.memory shares it among ports",
            "set memory = \"per-ingress\" in [switch], or sharing = \"none\"",
        );
    }
    if lossy {
        return refuse(
            "and lossy priorities would use the buffer of the others",
            "remove flow_control.lossy, or set sharing = \"none\"",
        );
    }
    links.iter().try_for_each(|(facts, fc)| fc.fits_priorities(facts, priorities))
}

/// The most flows of one host and priority that never end: all of them may be congested, behind its
/// link, at once.
fn endless_flows(flows: &Flows) -> u64 {
    let mut by_source: BTreeMap<(NodeId, u8), u64> = BTreeMap::new();
    for f in flows.flows.iter().filter(|f| f.size == UNLIMITED) {
        *by_source.entry((f.src, f.priority)).or_default() += 1;
    }
    by_source.into_values().max().unwrap_or(0)
}

/// Conditions of a flow control on a link of a host that sends this number of flows at once.
fn warn_of_conditions(
    name: &str,
    link: &LinkFacts,
    fc: &FlowControl,
    flows: u64,
    pool: Option<Pool>,
    warnings: &mut Problems,
) {
    for w in configured(name, fc, &Configured { link: *link, flows, pool }) {
        let (problem, fix) = w.parts();
        let fix = fix.map_or(String::new(), |fix| format!("{fix}; "));
        let hint = format!("{fix}the condition is {} ({})", w.condition, w.source);
        warnings.push(
            Problem::new(format!("{name} on {} links: {problem}", link.rate), hint).warning(),
        );
    }
}

/// Entry ports, where more of them share an egress than the flow control is made for, or where a
/// frame does not wait at its egress.
fn warn_of_entry_ports(
    name: &str,
    fc: &FlowControl,
    topology: &Topology,
    discipline: DisciplineKind,
    warnings: &mut Problems,
) {
    let planned = fc.entry_ports();
    if planned == 0 {
        return;
    }
    let mut warn = |what: String, hint: &str| warnings.push(Problem::new(what, hint).warning());
    if matches!(discipline, DisciplineKind::InputFifo { .. } | DisciplineKind::Pipeline(_)) {
        let input_fifo = matches!(discipline, DisciplineKind::InputFifo { .. });
        let kind = if input_fifo { "input-fifo" } else { "pipeline" };
        let what = format!(
            "entry_ports of {name} measures egress queues; under {kind} those queues also delay frames for other egresses"
        );
        warn(what, "set discipline = \"fifo\", \"round-robin\" or \"drr\", or entry_ports = 0");
    }
    let tiers = topology.distances_to_hosts();
    let entries = |n: NodeId| {
        let ports = &topology.nodes[n.index()].ports;
        let entry = ports.iter().filter(|p| tiers[p.peer.index()] < tiers[n.index()]).count();
        // A switch without other ports has no transit to protect.
        if entry < ports.len() { entry as u64 } else { 0 }
    };
    if let Some((n, most)) = topology
        .switches()
        .map(|n| (n, entries(n)))
        .max_by_key(|(n, most)| (*most, std::cmp::Reverse(*n)))
        && most > planned
    {
        let what = format!(
            "entry_ports = {planned}, but {} has {most} entry ports, so transit traffic may lose its share",
            topology.name(n)
        );
        warn(
            what,
            "set it to the number of entry ports that can send to one egress at the same time",
        );
    }
}
