//! `[[buffer_profile]]`: limits of priority groups and queues, as SONiC's BUFFER_PROFILE, BUFFER_PG
//! and BUFFER_QUEUE.

use std::sync::Arc;

use xoff_mech::sharing::{AnySharing, REGISTRY};
use xoff_net::topology::names::{What, find_port};
use xoff_net::topology::{NodeKind, Topology};
use xoff_scenario::document::{KindSpec, Section, SectionSpec};
use xoff_sim::Side;
use xoff_units::params::{Kind, ParamError, ParamSpec, Values as _};

use super::buffer_pool::{SWITCHES, named_once, refuse_without_pools, switches};
use super::switch::Memory;
use super::{Context, Part, Read, Sections, priorities};
use crate::network::buffers::{self, Buffers, Of, ProfileKeys, SwitchLinks};

const KEYS: &[ParamSpec] = &[
    ParamSpec::optional(
        "name",
        Kind::Text,
        "its name, for messages; default: that of its pool",
        "SONiC BUFFER_PROFILE",
    ),
    ParamSpec::required("pool", Kind::Text, "the [[buffer_pool]] on which it draws"),
    ParamSpec::new(
        "side",
        Kind::Choice(&["ingress", "egress"]),
        "ingress",
        "ingress: for priority groups, by the port through which frames arrive; egress: for queues, by the port through which they leave",
        "SONiC BUFFER_PG, BUFFER_QUEUE",
    ),
    ParamSpec::required(
        "priorities",
        Kind::Texts,
        "priorities of these groups or queues, such as [\"3\", \"0-2\"]",
    ),
    ParamSpec::optional(
        "ports",
        Kind::Texts,
        "its ports, by name, `S1:H1`; such a profile overrides a profile without ports; default: all ports of its switches",
        "",
    ),
    SWITCHES,
    ParamSpec::new(
        "reserve",
        Kind::Bytes,
        "0B",
        "guaranteed to each group or queue, headroom not counted",
        "SONiC BUFFER_PROFILE size",
    ),
    ParamSpec::optional(
        "headroom",
        Kind::Bytes,
        "ingress, lossless: largest number of bytes that a group holds after its pause; default: C tau + 1 MTU of the port's link, as the headroom of pfc",
        "SONiC BUFFER_PROFILE xoff",
    ),
    ParamSpec::optional(
        "xon",
        Kind::Bytes,
        "ingress, lossless: the peer is resumed at or below this; default: by xon_offset alone",
        "SONiC BUFFER_PROFILE xon",
    ),
    ParamSpec::optional(
        "xon_offset",
        Kind::Bytes,
        "ingress, lossless: or this far below the limit of the group, if that is more; default: 2 MTU, or absent if xon is given",
        "SONiC BUFFER_PROFILE xon_offset",
    ),
];

pub type Value = ProfileKeys;

impl Part for ProfileKeys {
    fn specs() -> Vec<SectionSpec> {
        let kinds = REGISTRY.iter().map(|e| KindSpec {
            name: e.name,
            doc: e.about,
            specs: e.params.to_vec(),
        });
        let doc = "Limits of priority groups or queues in a pool, and their policy.";
        vec![SectionSpec::many("buffer_profile", doc, vec![KEYS]).kinds(
            "kind",
            Some("dynamic"),
            kinds.collect(),
        )]
    }

    fn read<'d>(cx: &Context<'d>, all: &Sections<'d>) -> Read<'d, ProfileKeys> {
        let in_pools = all.switch.value().map(|switch| matches!(switch.memory, Memory::Pools(_)));
        if in_pools != Some(true) {
            let read = Read::skipped(cx);
            if let (Some(false), Some(section), true) =
                (in_pools, read.sections.first(), all.buffer_pool.is_empty())
            {
                refuse_without_pools(section, "name");
            }
            return read;
        }
        Read::each(cx, |s| profile(s, cx.topology))
    }

    /// Pools and profiles have to fit the switches, their links and the flow control.
    fn plan(cx: &Context<'_>, all: &mut Sections<'_>) {
        let (Some(switch), Some(host), Some(classes)) =
            (all.switch.value(), all.host.value(), all.classes())
        else {
            return;
        };
        let (Memory::Pools(_), Some((_, links))) = (&switch.memory, all.flow_control.links())
        else {
            return;
        };
        let (pools, profiles) =
            (all.buffer_pool.values.iter().cloned(), all.buffer_profile.values.iter().cloned());
        let (Some(pools), Some(profiles)) = (pools.collect(), profiles.collect()) else { return };
        let frame = host.longest_frame();
        let buffers = Buffers { pools, profiles, hysteresis: frame * 2 };
        let priorities = classes.priorities();
        let section_of = |of| match of {
            Of::Pool(n) => &all.buffer_pool.sections[n],
            Of::Profile(n) => &all.buffer_profile.sections[n],
            Of::Switch => all.switch.section(),
        };
        let mut doubts: Vec<buffers::Refused> = Vec::new();
        let mut made = Vec::new();
        for node in cx.topology.switches() {
            let at = SwitchLinks::of(cx.topology, node, links, all.lossy());
            match buffers::fits(&buffers, &at, cx.topology, priorities, frame) {
                // One of each kind and section: of the first switch that it concerns.
                Ok(found) => found.into_iter().for_each(|d| {
                    if !doubts.iter().any(|known| known.0 == d.0 && known.1.key == d.1.key) {
                        doubts.push(d);
                    }
                }),
                Err((of, e)) => return section_of(of).refuse(&e),
            }
            made.extend(buffers.at(&at).map(|made| (at.ports(), made)));
        }
        doubts.iter().for_each(|(of, e)| section_of(*of).warn(e));
        for (of, e) in buffers::unread(&buffers, &made, &buffers::lossy(links, all.lossy())) {
            section_of(of).has_no_effect(&e.key, &e.what, &e.hint);
        }
        if let Some(switch) = all.switch.value_mut() {
            switch.memory = Memory::Pools(Some(Arc::new(buffers)));
        }
    }
}

fn profile(s: &mut Section<'_>, topology: &Topology) -> Result<ProfileKeys, ParamError> {
    let pool = s.text("pool")?;
    let name = s.text_opt("name")?.unwrap_or_else(|| pool.clone());
    let side = if s.text("side")? == "egress" { Side::Egress } else { Side::Ingress };
    let given = s.texts("priorities")?;
    if given.is_empty() {
        return Err(ParamError::new(
            "priorities",
            "no priority",
            "expected priorities from 0 to 7, such as [\"3\"]",
        ));
    }
    let priorities = priorities("priorities", &given)?;
    let find = |name: &String| {
        let (node, port) = find_port(topology, "ports", name, What::Port)?;
        if topology.nodes[node.index()].kind == NodeKind::Host {
            let what = format!("'{name}' is a port of a host");
            return Err(ParamError::new(
                "ports",
                what,
                "expected ports of switches: the switch first, such as S1:H1",
            ));
        }
        Ok((node, port))
    };
    let names = s.texts("ports")?;
    let ports = names.iter().map(find).collect::<Result<Vec<_>, _>>()?;
    named_once(s, "ports", &names, &ports)?;
    let switches = switches(s, topology)?;
    if switches.is_some() && !ports.is_empty() {
        return Err(ParamError::new(
            "switches",
            "both ports and switches",
            "keep one key: the name of a port includes its switch",
        ));
    }
    let (reserve, headroom) = (s.bytes("reserve")?, s.bytes_opt("headroom")?);
    let (xon, xon_offset) = (s.bytes_opt("xon")?, s.bytes_opt("xon_offset")?);
    if side == Side::Egress {
        let given = [("headroom", headroom), ("xon", xon), ("xon_offset", xon_offset)];
        if let Some((key, _)) = given.into_iter().find(|(_, v)| v.is_some()) {
            return Err(ParamError::new(
                key,
                "the profile is for egress queues, which never pause a peer",
                "remove the key, or set side = \"ingress\"",
            ));
        }
    }
    let sharing = AnySharing::read(s.kind().unwrap_or("dynamic"), s)?;
    let ports = (!ports.is_empty()).then_some(ports);
    Ok(ProfileKeys {
        name,
        pool,
        side,
        priorities,
        ports,
        switches,
        reserve,
        headroom,
        xon,
        xon_offset,
        sharing,
    })
}
