//! Reads pools and profiles, each alone.

use xoff_mech::sharing::AnySharing;
use xoff_net::topology::names::{What, find_port};
use xoff_net::topology::{NodeKind, Topology};
use xoff_scenario::document::Section;
use xoff_scenario::suggest;
use xoff_sim::Side;
use xoff_units::Bytes;
use xoff_units::params::{ParamError, Values as _};

use super::{Buffers, PoolKeys, ProfileKeys};
use crate::network::read::priorities;

/// Reads `[[buffer_pool]]` and `[[buffer_profile]]`; `None`: one has a mistake.
pub fn read(pools: &mut [Section<'_>], profiles: &mut [Section<'_>], topology: &Topology, mtu: Bytes) -> Option<Buffers> {
    let mut read_pools: Vec<PoolKeys> = Vec::new();
    for section in pools.iter_mut() {
        let pool = section.take(|s| {
            let pool = pool(s, topology)?;
            let meets = |a: &PoolKeys, b: &PoolKeys| match (&a.switches, &b.switches) {
                (None, None) => true,
                (Some(a), Some(b)) => a.iter().any(|s| b.contains(s)),
                _ => false, // the one that names a switch goes before
            };
            match read_pools.iter().any(|p| p.name == pool.name && meets(p, &pool)) {
                true => Err(ParamError::new(
                    "name",
                    format!("pool '{}' is already defined", pool.name),
                    "each pool of a switch needs its own name",
                )),
                false => Ok(pool),
            }
        });
        read_pools.extend(pool);
    }
    let read_profiles: Vec<_> = profiles.iter_mut().filter_map(|s| s.take(|s| profile(s, topology))).collect();
    let complete = read_pools.len() == pools.len() && read_profiles.len() == profiles.len();
    complete.then_some(Buffers { pools: read_pools, profiles: read_profiles, hysteresis: mtu * 2 })
}

fn switches(s: &mut Section<'_>, topology: &Topology) -> Result<Option<Vec<u32>>, ParamError> {
    let names = s.texts("switches")?;
    let find = |name: &String| {
        let found = topology.find(name).filter(|&n| topology.nodes[n as usize].kind == NodeKind::Switch);
        found.ok_or_else(|| {
            let switches: Vec<&str> = topology.switches().map(|n| topology.name(n)).collect();
            ParamError::new("switches", format!("there is no switch '{}'", suggest::clip(name)), suggest::hint(name, "switches", &switches))
        })
    };
    let found = names.iter().map(find).collect::<Result<Vec<_>, _>>()?;
    named_once(s, "switches", &names, &found)?;
    Ok((!found.is_empty()).then_some(found))
}

/// Refuses an empty list, which would be for all, and warns of a name that it contains twice.
fn named_once<T: PartialEq>(s: &Section<'_>, key: &str, names: &[String], found: &[T]) -> Result<(), ParamError> {
    if found.is_empty() && s.given(key) {
        return Err(ParamError::new(key, "the list is empty", "remove the key: the default is all"));
    }
    if let Some(n) = (1..found.len()).find(|&n| found[..n].contains(&found[n])) {
        s.warn(&ParamError::new(
            key,
            format!("'{}' is already in the list: the repetition has no effect", suggest::clip(&names[n])),
            "each once",
        ));
    }
    Ok(())
}

fn pool(s: &mut Section<'_>, topology: &Topology) -> Result<PoolKeys, ParamError> {
    let (name, size, headroom) = (s.text("name")?, s.bytes("size")?, s.bytes("headroom")?);
    if size == Bytes::ZERO {
        return Err(ParamError::new("size", "a pool of 0 bytes", "expected a size above zero"));
    }
    if headroom > size {
        let what = format!("headroom {headroom} > size {size}, which includes the headroom");
        return Err(ParamError::new("headroom", what, "a larger size, or less headroom"));
    }
    Ok(PoolKeys { name, size, headroom, switches: switches(s, topology)? })
}

fn profile(s: &mut Section<'_>, topology: &Topology) -> Result<ProfileKeys, ParamError> {
    let pool = s.text("pool")?;
    let name = s.text_opt("name")?.unwrap_or_else(|| pool.clone());
    let side = if s.text("side")? == "egress" { Side::Egress } else { Side::Ingress };
    let given = s.texts("priorities")?;
    if given.is_empty() {
        return Err(ParamError::new("priorities", "no priority", "expected priorities from 0 to 7, such as [\"3\"]"));
    }
    let priorities = priorities("priorities", &given)?;
    let find = |name: &String| {
        let (node, port) = find_port(topology, "ports", name, What::Port)?;
        if topology.nodes[node as usize].kind == NodeKind::Host {
            let what = format!("'{name}' is a port of a host");
            return Err(ParamError::new("ports", what, "expected ports of switches: the switch first, such as S1:H1"));
        }
        Ok((node, port))
    };
    let names = s.texts("ports")?;
    let ports = names.iter().map(find).collect::<Result<Vec<_>, _>>()?;
    named_once(s, "ports", &names, &ports)?;
    let switches = switches(s, topology)?;
    if switches.is_some() && !ports.is_empty() {
        return Err(ParamError::new("switches", "both ports and switches", "keep one key: the name of a port includes its switch"));
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
    Ok(ProfileKeys { name, pool, side, priorities, ports, switches, reserve, headroom, xon, xon_offset, sharing })
}
