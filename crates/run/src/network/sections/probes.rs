//! `[probes]`: recordings in addition to flows, totals and deadlocks.

use std::sync::LazyLock;

use xoff_net::topology::Topology;
use xoff_net::topology::names::{What, find_port};
use xoff_net::topology::routing::{Routing, Uplinks, uplinks};
use xoff_scenario::document::{Section, SectionSpec};
use xoff_sim::{Model, PORT_PROBES, PortProbe, Probes, Selection};
use xoff_units::PortId;
use xoff_units::params::{Kind, ParamError, ParamSpec, Values as _};

use super::{Context, Part, Read, Sections};

const SAMPLES: &[ParamSpec] =
    &[ParamSpec::new("interval", Kind::Span, "0us", "distance between samples; 0 us: none", "")];

/// A key for each probe of ports.
static PORT_KEYS: LazyLock<Vec<ParamSpec>> = LazyLock::new(|| {
    let ports = "ports by name, `H1->S1` or `H1:S1`, [\"all\"], or [\"uplinks\"]: all ports of switches to which there are alternatives";
    let key = |p: &PortProbe| {
        ParamSpec::optional(p.key, Kind::Texts, p.about, ports).renamed_from(p.renamed_from)
    };
    PORT_PROBES.iter().map(key).collect()
});

const PROBES: &[ParamSpec] = &[
    ParamSpec::new(
        "flow_rates",
        Kind::Flag,
        "false",
        "sampled: rate of every flow; on change: rate control's rate",
        "",
    ),
    ParamSpec::new(
        "causes",
        Kind::Flag,
        "false",
        "flows that fill the buffer whenever a port is paused or slowed down",
        "",
    ),
];

pub type Value = Probes;

impl Part for Probes {
    fn specs() -> Vec<SectionSpec> {
        let doc = "Recordings in addition to flows, totals and deadlocks.";
        vec![SectionSpec::once("probes", doc, vec![SAMPLES, &PORT_KEYS, PROBES])]
    }

    fn read<'d>(cx: &Context<'d>, all: &Sections<'d>) -> Read<'d, Probes> {
        Read::each(cx, |s| {
            let probes = read(s, cx.topology, all.routing.value())?;
            let (interval, duration) = (probes.interval, cx.run.duration);
            if interval > duration && duration.0 > 0 {
                let what = format!(
                    "the interval of {interval} is longer than the run of {duration}: xoff takes no samples"
                );
                s.warn(&ParamError::new(
                    "interval",
                    what,
                    "expected, for example, a hundredth of run.duration",
                ));
            }
            Ok(probes)
        })
    }

    fn agree(_: &Context<'_>, all: &mut Sections<'_>) {
        // The time of a job is explained by pauses.
        if let (Some(flows), Some(probes)) = (all.flows.value(), all.probes.value_mut())
            && flows.jobs.is_some()
        {
            probes.pauses = Selection::All;
        }
    }

    fn set(self, model: &mut Model<'static>) {
        model.probes = self;
    }
}

/// The ports of switches to which there are alternatives.
fn all_uplinks(topology: &Topology, routing: &Routing) -> Vec<PortId> {
    let groups = uplinks(topology, &routing.routes(topology));
    let ports = |u: Uplinks| u.ports.into_iter().map(move |port| PortId { node: u.switch, port });
    groups.into_iter().flat_map(ports).collect()
}

fn read(
    s: &mut Section<'_>,
    topology: &Topology,
    routing: Option<&Routing>,
) -> Result<Probes, ParamError> {
    let mut select = |key: &str| -> Result<Selection, ParamError> {
        let names = s.texts(key)?;
        if names.is_empty() {
            return Ok(Selection::None);
        }
        if names.iter().any(|n| n == "all") {
            return Ok(Selection::All);
        }
        let mut ports = Vec::new();
        for n in &names {
            match (n.as_str(), routing) {
                ("uplinks", Some(routing)) => ports.extend(all_uplinks(topology, routing)),
                ("uplinks", None) => {} // the error of [routing] is reported there
                _ => ports.push(find_port(topology, key, n, What::Port)?.into()),
            }
        }
        Ok(Selection::Some(ports))
    };
    let mut p = Probes::default();
    for probe in PORT_PROBES {
        *(probe.of_mut)(&mut p) = select(probe.key)?;
    }
    p.interval = s.span("interval")?;
    p.flow_rates = s.flag("flow_rates")?;
    p.causes = s.flag("causes")?;
    if p.interval.0 == 0
        && PORT_PROBES.iter().any(|probe| probe.sampled && !(probe.of)(&p).is_none())
    {
        return Err(ParamError::new(
            "interval",
            "sampling needs an interval",
            "set, for example, interval = \"10us\"",
        ));
    }
    // A port is named by the link direction; its queue as an ingress is at the far end.
    for probe in PORT_PROBES.iter().filter(|probe| probe.ingress_too) {
        if let Selection::Some(ports) = (probe.of_mut)(&mut p) {
            let far: Vec<PortId> = ports
                .iter()
                .map(|p| {
                    let peer = topology.nodes[p.node.index()].ports[p.port as usize];
                    PortId { node: peer.peer, port: peer.peer_port }
                })
                .collect();
            ports.extend(far);
            ports.sort_unstable();
            ports.dedup();
        }
    }
    Ok(p)
}
