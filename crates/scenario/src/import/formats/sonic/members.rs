//! Profiles of every priority at a port: of its group at the ingress and of its queue at the
//! egress.

use crate::{Place, Problem};
use xoff_units::Bytes;

use super::device::{Device, Port, Profile as Given};
use crate::import::network::{Members, Network, Pool, PortSettings, Profile, Threshold};

/// A profile as given; `None`: it has no threshold.
pub(super) fn profile(name: &str, p: &Given) -> Option<Profile> {
    let threshold = match (p.dynamic_th, p.static_th) {
        (Some(n), _) => Threshold::Dynamic(n),
        (None, Some(b)) => Threshold::Static(Bytes(b)),
        (None, None) => return None,
    };
    Some(Profile {
        name: name.to_owned(),
        pool: p.pool.clone(),
        size: Bytes(p.size),
        headroom: Bytes(p.headroom.unwrap_or(0)),
        xon: Bytes(p.xon),
        xon_offset: p.xon_offset.map(Bytes),
        threshold,
    })
}

/// The members of a port by priority; `lossless`: the settings of its lossless groups.
pub(super) fn members(
    device: &Device,
    port: &Port,
    lossless: &PortSettings,
) -> Result<Members, Problem> {
    let mut all = Members::default();
    let of = |entry: Option<&(String, Place)>| -> Result<Option<Profile>, Problem> {
        let Some((name, place)) = entry else { return Ok(None) };
        // One that is not defined is rejected, or made at run time, with the lossless groups.
        let Some(given) = device.profiles.get(name) else { return Ok(None) };
        let lacks = || {
            let what = format!("profile '{name}' has neither dynamic_th nor static_th");
            Problem::new(what, "add dynamic_th or static_th").at(place.clone())
        };
        profile(name, given).map(Some).ok_or_else(lacks)
    };
    for priority in 0..8u8 {
        let (group, queue) =
            (port.maps.group[usize::from(priority)], port.maps.queue[usize::from(priority)]);
        let group = match lossless.profiles.get(&group).filter(|_| lossless.pfc.contains(&priority))
        {
            Some(profile) => Some(profile.clone()),
            None => of(port.groups.get(&group))?,
        };
        all.groups.extend(group.map(|g| (priority, g)));
        all.queues.extend(of(port.queues.get(&queue))?.map(|q| (priority, q)));
    }
    Ok(all)
}

/// The pools of a switch, those whose size the file says.
pub(super) fn pools(node: usize, device: &Device, network: &mut Network) {
    let sized = device
        .pools
        .iter()
        .filter_map(|(name, p)| Some((name.clone(), p.size?, p.shared_headroom)));
    let pools = sized.map(|(name, size, headroom)| {
        (name, Pool { size: Bytes(size), shared_headroom: Bytes(headroom) })
    });
    network.buffering.memory.insert(node, pools.collect());
}
