//! Pools and profiles, and keys of theirs, that no group or queue of any switch reads.

use xoff_mech::sharing::AnySharing;
use xoff_sim::Side;
use xoff_units::Bytes;
use xoff_units::params::ParamError;

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

/// Keys without effect at any of these switches, given with their numbers of ports: the key, and
/// the reason.
pub fn unread(b: &Buffers, switches: &[(u16, SwitchPools)], lossy: &[u8]) -> Vec<Refused> {
    let (mut pools, mut profiles) =
        (vec![Use::default(); b.pools.len()], vec![Use::default(); b.profiles.len()]);
    for (ports, made) in switches {
        for side in [Side::Ingress, Side::Egress] {
            for (port, priority) in (0..*ports)
                .flat_map(|port| (0..PRIORITIES as u8).map(move |priority| (port, priority)))
            {
                let (Some(profile), member) = made.member(side, port, priority) else { continue };
                let Some(pool) = member.pool else { continue };
                let lossless = side == Side::Ingress && !lossy.contains(&priority);
                for (of, n) in [(&mut profiles, *profile), (&mut pools, made.of[pool])] {
                    of[n] = Use {
                        any: true,
                        lossless: of[n].lossless || lossless,
                        most: of[n].most.max(made.pools[pool].size),
                    };
                }
            }
        }
    }
    let of_pools = pools.iter().enumerate().flat_map(|(n, used)| of_pool(b, n, used));
    of_pools
        .chain(profiles.iter().enumerate().flat_map(|(n, used)| of_profile(b, n, used)))
        .collect()
}

fn of_pool(b: &Buffers, n: usize, used: &Use) -> Vec<Refused> {
    let name = &b.pools[n].name;
    let no_effect =
        |key: &str, what: String, hint: &str| vec![(Of::Pool(n), ParamError::new(key, what, hint))];
    match used {
        Use { any: false, .. } => no_effect(
            "name",
            format!("no [[buffer_profile]] uses pool '{name}'"),
            "remove the pool, or name it in a profile",
        ),
        Use { lossless: false, .. } => {
            let what = format!(
                "no lossless priority group uses pool '{name}', and lossy groups have no headroom"
            );
            no_effect("headroom", what, "remove the key, or shorten flow_control.lossy")
        }
        _ => Vec::new(),
    }
}

fn of_profile(b: &Buffers, n: usize, used: &Use) -> Vec<Refused> {
    let p = &b.profiles[n];
    let no_effect =
        |key: &str, what: String, hint: &str| (Of::Profile(n), ParamError::new(key, what, hint));
    if !used.any {
        let what =
            "at each of its ports, a profile that names the port or its switch overrides this one"
                .to_owned();
        return vec![no_effect(
            "priorities",
            what,
            "choose other ports or priorities, or remove the profile",
        )];
    }
    let mut unread = Vec::new();
    if !used.lossless && p.side == Side::Ingress {
        let what = "no group of this profile is lossless, and only lossless groups are paused";
        let keys = ["headroom", "xon", "xon_offset"];
        return keys
            .map(|key| {
                no_effect(key, what.to_owned(), "remove the key, or shorten flow_control.lossy")
            })
            .into();
    }
    for (key, size) in [("xon", p.xon), ("xon_offset", p.xon_offset)] {
        if let Some(size) = size.filter(|size| *size >= used.most) {
            let what = match key {
                "xon" => format!(
                    "xon {size} >= {}, the whole pool: a group is always below it",
                    used.most
                ),
                _ => format!(
                    "xon_offset {size} >= {}, the whole pool: no group can grow that large",
                    used.most
                ),
            };
            unread.push(no_effect(key, what, "expected less than the largest size of the group"));
        }
    }
    if let AnySharing::Fixed(f) = &p.sharing
        && f.limit > used.most
    {
        let what = format!(
            "limit {} > {}, the whole pool: no member reaches the limit",
            f.limit, used.most
        );
        unread.push(no_effect("limit", what, "a smaller limit, or none"));
    }
    unread
}
