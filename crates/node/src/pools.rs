//! Memory of a switch in pools, as SONiC and SAI configure it: a priority group at its ingress and
//! a queue at its egress each draw on a pool.
//!
//! ```text
//!   frame --> queue of its egress: reserve, then shared part up to its limit ---- no room: dropped (the tail of the queue)
//!         --> group of its ingress: reserve, then shared part up to its limit,
//!             then headroom, its own or that which all groups of the pool share - no room: dropped
//!
//!   pool      size = reserves of all members + headroom + shared part
//!   limit     by the policy of the member's profile, from the free bytes of the shared part
//! ```
//!
//! A frame counts at both of its ends at once. It leaves both when its transmission starts:
//! headroom is freed first, then the shared part, then the reserve. A pool that groups and queues
//! draw on has an account for each of the two.

use xoff_mech::detection::Side;
use xoff_mech::flow_control::Occupancy;
use xoff_mech::sharing::{AnySharing, CONGESTED, Sharing, Supply};
use xoff_units::state::State;
use xoff_units::{Bytes, Class, Time};

use crate::buffer::{Ingress, Passage};

/// A pool at one of its sides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolConfig {
    /// Name of the pool.
    pub name: String,
    /// Users of this account: groups or queues.
    pub side: Side,
    /// All of it: reserves, headroom and shared part [bytes].
    pub size: Bytes,
    /// Reserves of all members, including those of priorities without traffic [bytes].
    pub reserves: Bytes,
    /// Headroom that is set aside: the sum over all groups, or their shared headroom [bytes].
    pub headroom: Bytes,
}

impl PoolConfig {
    /// Rest that all members share [bytes].
    pub fn shared(&self) -> Bytes {
        self.size.saturating_sub(self.reserves).saturating_sub(self.headroom)
    }
}

/// Rights of a group or queue, from its profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberConfig {
    /// The pool on which it draws, by number; `None`: nothing limits it at this side.
    pub pool: Option<usize>,
    /// Guaranteed to it [bytes].
    pub reserve: Bytes,
    /// The most headroom that it may use [bytes].
    pub headroom: Bytes,
    /// Occupancy at or below which the peer is resumed [bytes].
    pub xon: Bytes,
    /// Or this far below its limit [bytes], if that is more.
    pub xon_offset: Option<Bytes>,
    /// Limit in the shared part.
    pub sharing: AnySharing,
}

impl MemberConfig {
    /// Nothing limits it.
    pub const UNLIMITED: MemberConfig = MemberConfig {
        pool: None,
        reserve: Bytes::ZERO,
        headroom: Bytes::ZERO,
        xon: Bytes::ZERO,
        xon_offset: None,
        sharing: AnySharing::UNLIMITED,
    };
}

/// The memory of a switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolsConfig {
    /// The pools, apart by side.
    pub pools: Vec<PoolConfig>,
    /// By port, then by class: its priority groups.
    pub groups: Vec<MemberConfig>,
    /// By port, then by class: its queues.
    pub queues: Vec<MemberConfig>,
    /// Classes of a port.
    pub classes: usize,
}

/// The most that was ever held in a pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, State)]
pub struct PoolUse {
    /// Size of the shared part [bytes].
    pub shared: u64,
    /// Most of the shared part that was held [bytes].
    pub shared_max: u64,
    /// Size of the headroom [bytes].
    pub headroom: u64,
    /// Most of the headroom that was held [bytes].
    pub headroom_max: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, State)]
struct Pool {
    /// Shared part [bytes] -- constant.
    shared: u64,
    /// Used part [bytes].
    used: u64,
    /// Headroom of all groups [bytes] -- constant.
    headroom: u64,
    /// Used part [bytes].
    headroom_used: u64,
    #[state(saved)] // a result
    used_max: u64,
    #[state(saved)] // a result
    headroom_max: u64,
}

/// A group or a queue.
#[derive(Clone, Debug, PartialEq, Eq, State)]
struct Member {
    #[state(built)] // constant
    pool: Option<usize>,
    #[state(built)] // constant
    reserve: u64,
    #[state(built)] // constant
    headroom: u64,
    #[state(built)] // constant
    xon: u64,
    #[state(built)] // constant
    xon_offset: Option<u64>,
    /// All that it holds, headroom included [bytes].
    held: u64,
    sharing: AnySharing,
}

impl Member {
    fn new(c: &MemberConfig) -> Member {
        let (pool, reserve, headroom) = (c.pool, c.reserve.0, c.headroom.0);
        Member {
            pool,
            reserve,
            headroom,
            xon: c.xon.0,
            xon_offset: c.xon_offset.map(|o| o.0),
            held: 0,
            sharing: c.sharing.clone(),
        }
    }
}

impl Member {
    /// Contribution to the congestion of its class.
    fn crowding(&self) -> u64 {
        self.sharing.crowding(Bytes(self.held)).0.min(CONGESTED)
    }
}

/// All members at one side.
#[derive(Clone, Debug, PartialEq, Eq, State)]
struct Members {
    /// By port, then by class.
    #[state(each)]
    all: Vec<Member>,
    /// By class: sum over the ports of min(counted bytes of the port, [`CONGESTED`]).
    crowd: Vec<u64>,
}

impl Members {
    fn new(all: &[MemberConfig], classes: usize) -> Members {
        Members { all: all.iter().map(Member::new).collect(), crowd: vec![0; classes] }
    }

    /// Updates the bytes that a member holds.
    fn set_held(&mut self, at: usize, held: u64) {
        self.change(at, |m| m.held = held);
    }

    /// A frame has left a member.
    fn left(&mut self, at: usize, now: Time, len: Bytes) {
        self.change(at, |m| m.sharing.on_departure(now, Bytes(m.held), len));
    }

    /// Changes a member, and with it how crowded its class is.
    fn change(&mut self, at: usize, by: impl FnOnce(&mut Member)) {
        let (class, m) = (at % self.crowd.len(), &mut self.all[at]);
        let old = m.crowding();
        by(m);
        self.crowd[class] = self.crowd[class] + m.crowding() - old;
    }

    /// The limit of a member that draws on this pool.
    fn limit(&self, at: usize, pool: &Pool) -> u64 {
        let supply = Supply {
            free: Bytes(pool.shared.saturating_sub(pool.used)),
            crowd: Bytes(self.crowd[at % self.crowd.len()]),
        };
        self.all[at].sharing.limit(&supply).0
    }

    /// A member holds `bytes` in reserve and shared part. What would a frame take of the shared
    /// part? `None`: it does not fit there.
    fn takes(&self, at: usize, pool: &Pool, bytes: u64, len: u64) -> Option<u64> {
        let m = &self.all[at];
        let shared = (bytes + len).saturating_sub(m.reserve);
        let takes = shared.min(len);
        let fits = || {
            takes <= pool.shared.saturating_sub(pool.used)
                && m.sharing.measured(Bytes(shared)).0 <= self.limit(at, pool)
        };
        (takes == 0 || fits()).then_some(takes)
    }
}

/// The accounts of a switch.
#[derive(Clone, Debug, PartialEq, Eq, State)]
pub(crate) struct Pools {
    pools: Vec<Pool>,
    groups: Members,
    queues: Members,
    #[state(built)] // constant
    classes: usize,
}

impl Pools {
    /// Empty pools. A pool that is smaller than its promises has no shared part.
    pub fn new(c: &PoolsConfig) -> Pools {
        let pool = |p: &PoolConfig| Pool {
            shared: p.shared().0,
            used: 0,
            headroom: p.headroom.0,
            headroom_used: 0,
            used_max: 0,
            headroom_max: 0,
        };
        Pools {
            pools: c.pools.iter().map(pool).collect(),
            groups: Members::new(&c.groups, c.classes),
            queues: Members::new(&c.queues, c.classes),
            classes: c.classes,
        }
    }

    fn at(&self, port: u16, class: Class) -> usize {
        port as usize * self.classes + class.index()
    }

    /// Takes a frame in, or refuses it.
    #[cold]
    #[inline(never)]
    pub fn admit(&mut self, i: &mut Ingress, at: &Passage, len: u64) -> Option<Occupancy> {
        let (group, queue) = (self.at(at.port, at.class), self.at(at.out, at.class));
        let (q, g) = (&self.queues.all[queue], &self.groups.all[group]);
        let of_queue = match q.pool {
            Some(pool) => self.queues.takes(queue, &self.pools[pool], q.held, len)?,
            None => 0,
        };
        let of_group = match g.pool {
            Some(pool) => self.groups.takes(group, &self.pools[pool], i.bytes, len),
            None => Some(0),
        };
        match (of_group, g.pool) {
            (Some(taken), pool) => {
                i.bytes += len;
                self.take(pool, taken);
            }
            (None, Some(pool)) => {
                let p = &mut self.pools[pool];
                if i.headroom + len > g.headroom || p.headroom_used + len > p.headroom {
                    return None;
                }
                i.headroom += len;
                p.headroom_used += len;
                p.headroom_max = p.headroom_max.max(p.headroom_used);
            }
            (None, None) => {}
        }
        self.take(self.queues.all[queue].pool, of_queue);
        self.queues.set_held(queue, self.queues.all[queue].held + len);
        self.groups.set_held(group, i.bytes + i.headroom);
        i.highest = i.highest.max(i.bytes + i.headroom);
        Some(self.occupancy(i, at.port, at.class))
    }

    /// True if the queue rejects such a frame, whatever its group does.
    pub fn queue_is_full(&self, at: &Passage, len: u64) -> bool {
        let queue = self.at(at.out, at.class);
        let q = &self.queues.all[queue];
        q.pool
            .is_some_and(|pool| self.queues.takes(queue, &self.pools[pool], q.held, len).is_none())
    }

    fn take(&mut self, pool: Option<usize>, bytes: u64) {
        if let Some(pool) = pool {
            let p = &mut self.pools[pool];
            p.used += bytes;
            p.used_max = p.used_max.max(p.used);
        }
    }

    /// Lets a frame go.
    #[cold]
    #[inline(never)]
    pub fn release(&mut self, i: &mut Ingress, at: &Passage, len: u64) -> Occupancy {
        let (group, queue) = (self.at(at.port, at.class), self.at(at.out, at.class));
        let from_headroom = i.headroom.min(len);
        let rest = len - from_headroom;
        if let Some(pool) = self.groups.all[group].pool {
            let p = &mut self.pools[pool];
            p.headroom_used -= from_headroom;
            p.used -= rest.min(i.bytes.saturating_sub(self.groups.all[group].reserve));
        }
        i.headroom -= from_headroom;
        i.bytes -= rest;
        self.groups.set_held(group, i.bytes + i.headroom);
        let q = &self.queues.all[queue];
        if let Some(pool) = q.pool {
            self.pools[pool].used -= len.min(q.held.saturating_sub(q.reserve));
        }
        self.queues.set_held(queue, q.held - len);
        self.groups.left(group, at.now, Bytes(len));
        self.queues.left(queue, at.now, Bytes(len));
        self.occupancy(i, at.port, at.class)
    }

    /// Occupancy of a group, as a receiver sees it.
    pub fn occupancy(&self, i: &Ingress, port: u16, class: Class) -> Occupancy {
        let at = self.at(port, class);
        let g = &self.groups.all[at];
        let limit = g.pool.map_or(u64::MAX, |pool| self.groups.limit(at, &self.pools[pool]));
        let below = |offset: u64| g.reserve.saturating_add(limit).saturating_sub(offset);
        Occupancy {
            bytes: Bytes(i.bytes + i.headroom),
            shared: Bytes(i.bytes.saturating_sub(g.reserve)),
            headroom: Bytes(i.headroom),
            limit: Bytes(g.xon_offset.map_or(g.xon, |offset| below(offset).max(g.xon))),
        }
    }

    /// The most that was held in each pool.
    pub fn uses(&self) -> Vec<PoolUse> {
        let of = |p: &Pool| PoolUse {
            shared: p.shared,
            shared_max: p.used_max,
            headroom: p.headroom,
            headroom_max: p.headroom_max,
        };
        self.pools.iter().map(of).collect()
    }
}

#[cfg(test)]
mod tests;
