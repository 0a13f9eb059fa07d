//! Pools and profiles, and keys of theirs, that no group or queue of any switch reads.

use xoff_mech::sharing::AnySharing;
use xoff_params::ParamError;
use xoff_sim::Side;
use xoff_units::Bytes;

use super::{Buffers, Of, PRIORITIES, Refused, SwitchPools};

/// Groups that read a pool or a profile.
#[derive(Clone, Copy, Default)]
struct Use {
    any: bool,
    /// A group that is paused and resumed.
    lossless: bool,
    /// The largest pool that it draws on.
    most: Bytes,
}

/// Keys without effect at any of these switches, given with their numbers of ports: the key, and the reason.
pub fn unread(b: &Buffers, switches: &[(u16, SwitchPools)], lossy: &[u8]) -> Vec<Refused> {
    let (mut pools, mut profiles) = (vec![Use::default(); b.pools.len()], vec![Use::default(); b.profiles.len()]);
    for (ports, made) in switches {
        for side in [Side::Ingress, Side::Egress] {
            for (port, priority) in (0..*ports).flat_map(|port| (0..PRIORITIES as u8).map(move |priority| (port, priority))) {
                let (Some(profile), member) = made.member(side, port, priority) else { continue };
                let Some(pool) = member.pool else { continue };
                let lossless = side == Side::Ingress && !lossy.contains(&priority);
                for (of, n) in [(&mut profiles, *profile), (&mut pools, made.of[pool])] {
                    of[n] = Use { any: true, lossless: of[n].lossless || lossless, most: of[n].most.max(made.pools[pool].size) };
                }
            }
        }
    }
    let of_pools = pools.iter().enumerate().flat_map(|(n, used)| of_pool(b, n, used));
    of_pools.chain(profiles.iter().enumerate().flat_map(|(n, used)| of_profile(b, n, used))).collect()
}

fn of_pool(b: &Buffers, n: usize, used: &Use) -> Vec<Refused> {
    let name = &b.pools[n].name;
    let no_effect = |key: &str, what: String, hint: &str| vec![(Of::Pool(n), ParamError::new(key, what, hint))];
    match used {
        Use { any: false, .. } => {
            no_effect("name", format!("no [[buffer_profile]] draws on pool '{name}'"), "remove it, or name it in one")
        }
        Use { lossless: false, .. } => {
            let what = format!("no lossless priority group draws on pool '{name}', and no other has headroom");
            no_effect("headroom", what, "remove it, or a shorter flow_control.lossy")
        }
        _ => Vec::new(),
    }
}

fn of_profile(b: &Buffers, n: usize, used: &Use) -> Vec<Refused> {
    let p = &b.profiles[n];
    let no_effect = |key: &str, what: String, hint: &str| (Of::Profile(n), ParamError::new(key, what, hint));
    if !used.any {
        let what = "at each of its ports another profile, which names the port or its switch, goes before it".to_owned();
        return vec![no_effect("priorities", what, "other ports or priorities, or remove it")];
    }
    let mut unread = Vec::new();
    if !used.lossless && p.side == Side::Ingress {
        let what = "no group of this profile is lossless, and only those are paused";
        let keys = ["headroom", "xon", "xon_offset"];
        return keys.map(|key| no_effect(key, what.to_owned(), "remove it, or a shorter flow_control.lossy")).into();
    }
    for (key, size) in [("xon", p.xon), ("xon_offset", p.xon_offset)] {
        if let Some(size) = size.filter(|size| *size >= used.most) {
            let what = match key {
                "xon" => format!("xon {size} >= {}, all of the pool: a group is always below it", used.most),
                _ => format!("xon_offset {size} >= {}, all of the pool: no group may hold as much", used.most),
            };
            unread.push(no_effect(key, what, "less than the group may hold"));
        }
    }
    if let AnySharing::Fixed(f) = &p.sharing
        && f.limit > used.most
    {
        let what = format!("limit {} > {}, all of the pool: no member comes to it", f.limit, used.most);
        unread.push(no_effect("limit", what, "a smaller limit, or none"));
    }
    unread
}
