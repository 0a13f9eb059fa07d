//! Switches joined to a network, and the result of their settings, port by port.

use std::collections::{BTreeMap, HashMap};

use crate::{Problem, Problems, suggest};
use xoff_net::topology::NodeKind;
use xoff_units::{Bytes, Length, Rate};

use super::device::{Device, Port};
use super::lookup::Lookup;
use super::members;
use super::unread::Unread;
use crate::import::network::{End, Names, Pool, PortSettings, Profile, Threshold, Watchdog};
use crate::import::{Link, Network, Wire};

/// The pool of the profiles that the switch makes from the lookup table (buffermgr.cpp).
const LOSSLESS_POOL: &str = "ingress_lossless_pool";

/// Joins them.
pub(super) fn join(devices: Vec<Device>, lookup: Option<Lookup>) -> Result<Network, Problems> {
    let mut network = Network::default();
    let mut names = Names::default();
    let mut problems = Problems::default();
    let mut of_name: HashMap<&str, usize> = HashMap::new();
    for (i, device) in devices.iter().enumerate() {
        network.add_node(&mut names, &device.name, NodeKind::Switch, device.place.clone())?;
        of_name.insert(&device.name, i);
    }
    if let Err(p) = wire(&devices, &of_name, &mut network, &mut names) {
        problems.push(p);
    }
    for (node, device) in devices.iter().enumerate() {
        if let Err(p) = settings(node, device, lookup.as_ref(), &mut network) {
            problems.push(p);
        }
        network.warnings.extend(device.warnings.clone());
        device
            .skipped
            .iter()
            .for_each(|(what, n)| network.leave_out(format!("{}: {n} {what}", device.name)));
    }
    problems.or(())?;
    compare_ends(&mut network);
    let watchdogs: std::collections::BTreeSet<&Watchdog> =
        devices.iter().flat_map(|d| &d.watchdogs).collect();
    match watchdogs.len() {
        0 => {}
        1 => network.watchdog = watchdogs.first().map(|w| **w),
        n => network.leave_out(format!(
            "PFC_WD: {n} different settings, because xoff has one watchdog for all switches"
        )),
    }
    Unread::name(devices.iter().map(|d| &d.unread), &mut network);
    Ok(network)
}

/// The place of an end of a link: which port of which device, or a neighbour without a file.
type Seat = (String, String);

/// Links from both ends' views, which must not differ.
fn wire(
    devices: &[Device],
    of_name: &HashMap<&str, usize>,
    network: &mut Network,
    names: &mut Names,
) -> Result<(), Problem> {
    let mut seen: HashMap<Seat, (Seat, crate::Place)> = HashMap::new();
    let mut hosts_ports: BTreeMap<String, u32> = BTreeMap::new();
    for device in devices {
        let mut unwired = 0;
        for n in &device.neighbours {
            if device.down.contains(&n.port) {
                network.leave_out(format!(
                    "{}: links of ports that are down (admin_status)",
                    device.name
                ));
                continue;
            }
            let Some(port) = device.ports.iter().find(|p| p.name == n.port) else { continue };
            // The peer's port may be given by its alias.
            let peer = of_name.get(n.peer.as_str()).map(|&i| &devices[i]);
            let peer_port = match (&n.peer_port, peer) {
                (Some(p), Some(peer)) => peer.aliases.get(p).cloned().unwrap_or_else(|| p.clone()),
                (Some(p), None) => p.clone(),
                (None, _) => {
                    let count = hosts_ports.entry(n.peer.clone()).or_default();
                    *count += 1;
                    format!("port{count}")
                }
            };
            if let Some(peer) = peer.filter(|p| p.down.contains(&peer_port)) {
                network.leave_out(format!(
                    "{}: links of ports that are down (admin_status)",
                    peer.name
                ));
                continue;
            }
            if let Some(peer) = peer
                && !peer.ports.is_empty()
                && !peer.ports.iter().any(|p| p.name == peer_port)
            {
                let what = format!(
                    "{} {} leads to port '{}' of {}, which does not exist",
                    device.name,
                    n.port,
                    suggest::clip(&peer_port),
                    peer.name
                );
                return Err(Problem::new(what, "expected a name or an alias in its PORT")
                    .at(n.place.clone()));
            }
            let (own, other) = ((device.name.clone(), n.port.clone()), (n.peer.clone(), peer_port));
            let known = seen.contains_key(&own) && seen.contains_key(&other);
            for (a, b) in [(&own, &other), (&other, &own)] {
                if let Some((before, place)) = seen.get(a).filter(|(before, _)| before != b) {
                    let what = format!(
                        "{} {} is wired to {} {} here, but to {} {} at {place}",
                        a.0, a.1, b.0, b.1, before.0, before.1
                    );
                    return Err(Problem::new(what, "a port has only one link").at(n.place.clone()));
                }
                seen.insert(a.clone(), (b.clone(), n.place.clone()));
            }
            if known {
                continue;
            }
            link(device, port, n, peer, &other, network, names)?;
        }
        for port in &device.ports {
            unwired += u32::from(port.up && !device.neighbours.iter().any(|n| n.port == port.name));
        }
        if unwired > 0 {
            network.leave_out(format!(
                "{}: {unwired} ports without a neighbour (DEVICE_NEIGHBOR)",
                device.name
            ));
        }
        if device.neighbours.is_empty() {
            let what =
                format!("'{}' has no DEVICE_NEIGHBOR: xoff cannot find its links", device.name);
            network.warnings.push(
                Problem::new(what, "add DEVICE_NEIGHBOR, the only table with links")
                    .at(device.place.clone())
                    .warning(),
            );
        }
    }
    Ok(())
}

fn link(
    device: &Device,
    port: &Port,
    n: &super::device::Neighbour,
    peer: Option<&Device>,
    other: &Seat,
    network: &mut Network,
    names: &mut Names,
) -> Result<(), Problem> {
    let own = names.need(&device.name, "DEVICE_NEIGHBOR", &n.place)?;
    let node = match names.get(&n.peer) {
        Some(node) => node,
        None => {
            let kind = device.types.get(&n.peer);
            if kind.is_some_and(|k| k != "Server") {
                let what = format!(
                    "'{}' is a {} without a config_db.json: xoff treats it as a host",
                    n.peer,
                    kind.map_or("", String::as_str)
                );
                network.warnings.push(
                    Problem::new(what, "also give its config_db.json")
                        .at(n.place.clone())
                        .warning(),
                );
            }
            network.add_node(names, &n.peer, NodeKind::Host, n.place.clone())?
        }
    };
    if node == own {
        return Err(Problem::new(
            format!("'{}' is its own neighbour", device.name),
            "expected two different nodes",
        )
        .at(n.place.clone()));
    }
    let back = peer.and_then(|p| p.ports.iter().find(|p| p.name == other.1));
    if let Some(back) = back
        && back.speed != port.speed
    {
        let what = format!(
            "{} {} has {} Mb/s, but {} {} has {}",
            device.name, port.name, port.speed, other.0, other.1, back.speed
        );
        return Err(
            Problem::new(what, "set one speed at both ends of the link").at(port.place.clone())
        );
    }
    let metres = |p: &Port| {
        p.cable
            .as_ref()
            .and_then(|(text, _)| text.trim_end_matches('m').parse::<u64>().ok())
            .filter(|m| *m > 0)
    };
    let (here, there) = (metres(port), back.and_then(metres));
    if let (Some(a), Some(b), Some((_, place))) = (here, there, &port.cable)
        && a != b
    {
        let what = format!(
            "the cable of {} {} is {a} m long, but {b} m at its other end: xoff uses the larger length",
            device.name, port.name
        );
        network.warnings.push(
            Problem::new(what, "set the same CABLE_LENGTH at both ends")
                .at(place.clone())
                .warning(),
        );
    }
    let length = here.max(there);
    network.links.push(Link {
        a: End { node: own, port: Some(port.name.clone()) },
        b: End { node, port: Some(other.1.clone()) },
        rate: Some(Rate(port.speed * 1_000_000)),
        wire: length.map(|m| Wire::Length(Length::from_m(m))),
        place: n.place.clone(),
    });
    Ok(())
}

/// The settings of a switch's ports.
fn settings(
    node: usize,
    device: &Device,
    lookup: Option<&Lookup>,
    network: &mut Network,
) -> Result<(), Problem> {
    let mut pool_of_lossless: Option<&str> = None;
    for port in device.ports.iter().filter(|p| p.up) {
        let mut set = PortSettings {
            pfc: port.pfc.clone(),
            mtu: port.mtu.map(Bytes),
            profiles: BTreeMap::new(),
        };
        let cable = port.cable.as_ref().map_or("0m", |(text, _)| text.as_str());
        let made = made(device, port, cable, lookup, network)?;
        for (&group, (name, place)) in &port.groups {
            let own_name = format!("pg_lossless_{}_{cable}_profile", port.speed);
            let profile = match (device.profiles.get(name), &made) {
                (Some(p), _) if p.headroom.is_none() => continue,
                (Some(p), _) => {
                    pool_of_lossless = Some(&p.pool);
                    members::profile(name, p).ok_or_else(|| {
                        let what = format!("profile '{name}' has neither dynamic_th nor static_th");
                        Problem::new(what, "add dynamic_th or static_th").at(place.clone())
                    })?
                }
                (None, Some(p)) if *name == p.name => p.clone(),
                (None, None) if *name == own_name && lookup.is_none() => {
                    let what = format!(
                        "SONiC creates profile '{name}' at run time from pg_profile_lookup.ini"
                    );
                    network.warnings.push(
                        Problem::new(what, "also give that file").at(place.clone()).warning(),
                    );
                    continue;
                }
                (None, _) => {
                    let what = format!(
                        "profile '{}' is not defined, and not in the lookup table",
                        suggest::clip(name)
                    );
                    let hint = suggest::hint(
                        name,
                        "profiles",
                        &device.profiles.keys().map(String::as_str).collect::<Vec<_>>(),
                    );
                    return Err(Problem::new(what, hint).at(place.clone()));
                }
            };
            if !port.pfc.contains(&group) {
                let what = format!(
                    "{}: group {group} has the lossless profile '{name}', but PFC is off for the group",
                    port.name
                );
                return Err(Problem::new(what, "add its priority to pfc_enable of PORT_QOS_MAP")
                    .at(place.clone()));
            }
            set.profiles.insert(group, profile);
        }
        if let Some(profile) = made {
            for &priority in &port.pfc {
                set.profiles.entry(priority).or_insert_with(|| profile.clone());
            }
        }
        if let Some(p) = port
            .pfc
            .iter()
            .find(|p| !set.profiles.contains_key(p))
            .filter(|_| !device.is_dynamic_model && lookup.is_some())
        {
            let what = format!(
                "{} {}: PFC is on for priority {p}, but its group has no lossless profile",
                device.name, port.name
            );
            network.warnings.push(
                Problem::new(what, "give the group a profile with xoff")
                    .at(port.place.clone())
                    .warning(),
            );
        }
        network
            .buffering
            .members
            .insert((node, port.name.clone()), members::members(device, port, &set)?);
        if !set.pfc.is_empty() || !set.profiles.is_empty() {
            network.buffering.ports.insert((node, port.name.clone()), set);
        }
    }
    members::pools(node, device, network);
    let pool = pool_of_lossless.unwrap_or(LOSSLESS_POOL);
    if let Some((pool, size)) = device.pools.get(pool).and_then(|p| Some((p, p.size?))) {
        network
            .buffering
            .pools
            .insert(node, Pool { size: Bytes(size), shared_headroom: Bytes(pool.shared_headroom) });
    } else if device.is_dynamic_model {
        network.leave_out(format!(
            "{}: sizes that the dynamic buffer model computes at run time",
            device.name
        ));
    }
    Ok(())
}

/// The profile that the switch makes for a port from the lookup table.
fn made(
    device: &Device,
    port: &Port,
    cable: &str,
    lookup: Option<&Lookup>,
    network: &mut Network,
) -> Result<Option<Profile>, Problem> {
    let Some(lookup) = lookup.filter(|_| !port.pfc.is_empty() && !device.is_dynamic_model) else {
        return Ok(None);
    };
    let name = format!("pg_lossless_{}_{cable}_profile", port.speed);
    if cable == "0m" {
        let what = format!(
            "{} {}: PFC is on, but CABLE_LENGTH is 0 m or absent: SONiC creates no lossless profile",
            device.name, port.name
        );
        network.warnings.push(
            Problem::new(what, "set CABLE_LENGTH to the length of the cable")
                .at(port.place.clone())
                .warning(),
        );
        return Ok(None);
    }
    let Some(row) = lookup.rows.get(&(port.speed, cable.to_owned())) else {
        if device.profiles.contains_key(&name) {
            return Ok(None);
        }
        let what = format!(
            "{} {}: no row '{} {cable}' in {}, so SONiC carries no lossless traffic on the port",
            device.name,
            port.name,
            port.speed,
            lookup.source.name()
        );
        return Err(
            Problem::new(what, "add the row (SONiC only logs an error)").at(port.place.clone())
        );
    };
    let is_dynamic = device.pools.get(LOSSLESS_POOL).is_none_or(|p| p.is_dynamic);
    let threshold = match (is_dynamic, i8::try_from(row.threshold), u64::try_from(row.threshold)) {
        (true, Ok(n @ -8..=7), _) => Threshold::Dynamic(n),
        (true, ..) => {
            let what = format!("threshold {} for a dynamic pool", row.threshold);
            return Err(Problem::new(
                what,
                "expected -8 to 7; only a pool of mode static takes bytes",
            )
            .at(row.place.clone()));
        }
        (false, _, Ok(bytes)) => Threshold::Static(Bytes(bytes)),
        (false, ..) => {
            let what = format!("threshold {} for a static pool", row.threshold);
            return Err(Problem::new(what, "expected bytes").at(row.place.clone()));
        }
    };
    Ok(Some(Profile {
        name,
        pool: LOSSLESS_POOL.into(),
        size: Bytes(row.size),
        headroom: Bytes(row.headroom),
        xon: Bytes(row.xon),
        xon_offset: row.xon_offset.map(Bytes),
        threshold,
    }))
}

/// Checks that the two ends of a link pause the same priorities.
fn compare_ends(network: &mut Network) {
    let mut found = Vec::new();
    for link in &network.links {
        let set =
            |end: &End| network.buffering.ports.get(&(end.node, end.port.clone()?)).map(|s| &s.pfc);
        let is_switch = |end: &End| network.nodes[end.node].kind == NodeKind::Switch;
        if !is_switch(&link.a) || !is_switch(&link.b) {
            continue;
        }
        let empty = Default::default();
        let (a, b) = (set(&link.a).unwrap_or(&empty), set(&link.b).unwrap_or(&empty));
        if a != b {
            let name = |end: &End| {
                format!("{} {}", network.nodes[end.node].name, end.port.as_deref().unwrap_or("?"))
            };
            let list = |s: &std::collections::BTreeSet<u8>| {
                s.iter().map(u8::to_string).collect::<Vec<_>>().join(",")
            };
            let what = format!(
                "{} pauses priorities [{}], but {} pauses [{}]",
                name(&link.a),
                list(a),
                name(&link.b),
                list(b)
            );
            let problem = Problem::new(
                what,
                "set the same pfc_enable at both ends, or one end will ignore pauses",
            )
            .at(link.place.clone());
            found.push(problem.warning());
        }
    }
    found.into_iter().for_each(|p| network.warnings.push(p));
}
