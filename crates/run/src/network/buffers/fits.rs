//! Minimum sizes of pools: their reserves and headrooms, a frame, and the bytes that arrive after a
//! pause.

use xoff_mech::sharing::{Sharing as _, Supply};
use xoff_net::topology::Topology;
use xoff_node::MemberConfig;
use xoff_sim::Side;
use xoff_units::Bytes;
use xoff_units::params::ParamError;

use super::{Buffers, Of, Refused, SwitchLinks, SwitchPools};

/// Rejects pools that cannot keep their promises at a switch, and returns doubtful ones.
///
/// # Errors
/// The section of the mistake, and the inequality that fails.
pub fn fits(
    b: &Buffers,
    s: &SwitchLinks,
    topology: &Topology,
    priorities: &[u8],
    frame: Bytes,
) -> Result<Vec<Refused>, Refused> {
    let made = b.at(s)?;
    let name = topology.name(s.node);
    for (n, p) in made.pools.iter().enumerate() {
        let keys = &b.pools[made.of[n]];
        let committed = p.reserves.0.saturating_add(p.headroom.0);
        if committed > p.size.0 {
            let kind = if keys.headroom > Bytes::ZERO && p.side == Side::Ingress {
                "that is shared"
            } else {
                "of its groups"
            };
            let what = format!(
                "size {} < {} of reserves + {} of headroom {kind} = {} in pool '{}' of {name} ({})",
                p.size,
                p.reserves,
                p.headroom,
                Bytes(committed),
                p.name,
                side(p.side)
            );
            let hint = format!(
                "expected at least {committed} B, or smaller reserves or headrooms in its profiles"
            );
            return Err((Of::Pool(made.of[n]), ParamError::new("size", what, hint)));
        }
    }
    let mut doubts = Vec::new();
    for port in 0..s.ports() {
        for &priority in priorities {
            member_fits(s, &made, (topology, frame), (port, priority), &mut doubts)?;
        }
    }
    let lossless = priorities.iter().filter(|p| !s.lossy.contains(p));
    doubts.extend(
        lossless.filter_map(|&priority| dropped_before_a_pause(s, &made, topology, priority)),
    );
    doubts.extend(oversubscribed(b, s, &made, name, priorities));
    Ok(doubts)
}

fn side(side: Side) -> &'static str {
    match side {
        Side::Ingress => "ingress",
        Side::Egress => "egress",
    }
}

/// A port and priority with traffic.
fn member_fits(
    s: &SwitchLinks,
    made: &SwitchPools,
    (topology, frame): (&Topology, Bytes),
    (port, priority): (u16, u8),
    doubts: &mut Vec<Refused>,
) -> Result<(), Refused> {
    let port_name = || topology.port_name(s.node, port);
    let lossy = s.lossy.contains(&priority);
    let (of_group, of_queue) =
        (made.member(Side::Ingress, port, priority).0, made.member(Side::Egress, port, priority).0);
    if of_group.is_none() && (!lossy || of_queue.is_none()) {
        let need = if lossy {
            "a [[buffer_profile]]"
        } else {
            "a [[buffer_profile]] at the ingress: it is lossless"
        };
        let what = format!("priority {priority} needs {need}, but {} has none", port_name());
        let hint = "add a profile (without ports and switches it applies to all), or list the priority in flow_control.lossy";
        return Err((Of::Switch, ParamError::new("memory", what, hint)));
    }
    for side in [Side::Ingress, Side::Egress] {
        let (Some(profile), member) = made.member(side, port, priority) else { continue };
        let Some(pool) = member.pool.map(|n| &made.pools[n]) else { continue };
        let limit = member
            .sharing
            .limit(&Supply { free: pool.shared(), crowd: Bytes::ZERO })
            .min(pool.shared());
        let most = Bytes(member.reserve.0.saturating_add(limit.0));
        if most < frame && member.headroom < frame {
            let what = format!(
                "reserve {} + {} of the shared part < {frame} (one frame): priority {priority} of {} accepts no frame",
                member.reserve,
                limit,
                port_name()
            );
            return Err((
                Of::Profile(*profile),
                ParamError::new("reserve", what, "a larger reserve, pool or limit"),
            ));
        }
        if side == Side::Ingress && !lossy {
            let needed = s.headroom(port);
            let known = |d: &Refused| d.0 == Of::Profile(*profile) && d.1.key == "headroom";
            if member.headroom < needed && !doubts.iter().any(known) {
                let what = format!(
                    "headroom {} < {needed}, the bytes that arrive after a pause at {} (C tau + 1 MTU): frames of priority {priority} \
                     may be lost",
                    member.headroom,
                    port_name()
                );
                doubts.push((
                    Of::Profile(*profile),
                    ParamError::new(
                        "headroom",
                        what,
                        "set headroom to at least this size; \
                                                                                       docs/mechanisms/pfc.md explains the formula",
                    ),
                ));
            }
        }
    }
    Ok(())
}

/// A queue of a lossless priority that may hold less than one group receives before and after its
/// pause: its frames are dropped although the priority is paused.
fn dropped_before_a_pause(
    s: &SwitchLinks,
    made: &SwitchPools,
    topology: &Topology,
    priority: u8,
) -> Option<Refused> {
    let most = |side: Side, port: u16| {
        let (profile, member) = made.member(side, port, priority);
        let shared = made.pools[member.pool?].shared();
        // A group whose queue is stopped, and a queue that has been as long for some time.
        let of_pool =
            if side == Side::Ingress { taken_in(member, shared) } else { alone(member, shared) }.0;
        Some((
            member.reserve.0.saturating_add(of_pool).saturating_add(member.headroom.0),
            (*profile)?,
            port,
        ))
    };
    let (needed, _, from) =
        (0..s.ports()).filter_map(|port| most(Side::Ingress, port)).max_by_key(|m| m.0)?;
    let queues =
        (0..s.ports()).filter(|&port| port != from).filter_map(|port| most(Side::Egress, port));
    let (held, profile, port) = queues.min_by_key(|m| m.0).filter(|m| m.0 < needed)?;
    let what = format!(
        "a queue of lossless priority {priority}, {}, has room for {} at most, but {} may accept {} before its pause takes effect: the \
         queue may drop frames",
        topology.port_name(s.node, port),
        Bytes(held),
        topology.port_name(s.node, from),
        Bytes(needed)
    );
    Some((
        Of::Profile(profile),
        ParamError::new("kind", what, "kind = \"static\" without a limit, or a larger pool"),
    ))
}

/// Largest fill of a shared part by a member from which nothing leaves. The compared quantity may
/// not grow with the fill.
fn taken_in(member: &MemberConfig, shared: Bytes) -> Bytes {
    if member.sharing.measured(shared) == Bytes::ZERO { shared } else { alone(member, shared) }
}

/// Limit of a member in a shared part if no other member holds any of it.
fn alone(member: &MemberConfig, shared: Bytes) -> Bytes {
    // The limit falls as it fills the pool: it stops where both are equal.
    let (mut low, mut high) = (0, shared.0);
    while low < high {
        let at = low + (high - low).div_ceil(2);
        let supply = Supply { free: Bytes(shared.0 - at), crowd: Bytes::ZERO };
        if member.sharing.limit(&supply).0 >= at { low = at } else { high = at - 1 }
    }
    Bytes(low)
}

/// Shared headroom below the sum that its groups may need at once.
fn oversubscribed(
    b: &Buffers,
    s: &SwitchLinks,
    made: &SwitchPools,
    name: &str,
    priorities: &[u8],
) -> Vec<Refused> {
    let mut doubts = Vec::new();
    for (n, p) in made.pools.iter().enumerate().filter(|(_, p)| p.side == Side::Ingress) {
        if b.pools[made.of[n]].headroom == Bytes::ZERO {
            continue;
        }
        let members = (0..s.ports()).flat_map(|port| priorities.iter().map(move |&p| (port, p)));
        let needs: Vec<u64> = members
            .map(|(port, priority)| &made.member(Side::Ingress, port, priority).1)
            .filter(|m| m.pool == Some(n) && m.headroom > Bytes::ZERO)
            .map(|m| m.headroom.0)
            .collect();
        let all: u64 = needs.iter().fold(0, |sum, n| sum.saturating_add(*n));
        if all > p.headroom.0 {
            let what = format!(
                "pool '{}' of {name} shares {} of headroom among {} groups, which may need {} at once: frames may be lost",
                p.name,
                p.headroom,
                needs.len(),
                Bytes(all)
            );
            doubts.push((
                Of::Pool(made.of[n]),
                ParamError::new(
                    "headroom",
                    what,
                    "give the pool more headroom; the report states the \
                                                                                  most that was used",
                ),
            ));
        }
    }
    doubts
}
