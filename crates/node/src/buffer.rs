//! Ingress accounting of a switch: who may still come in, and how full is each ingress.
//!
//! Memory is shared between egress queues; what flow control measures is, per ingress port and
//! class, how much of it this ingress has brought in and not yet sent on.

use xoff_mech::flow_control::Occupancy;
use xoff_units::state::State;
use xoff_units::{Bytes, Class, Time};

use crate::accounts::Accounts;
use crate::pools::{PoolUse, Pools, PoolsConfig};

/// Division of the memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BufferPolicy {
    /// A fixed buffer for every ingress and class (the papers' "input buffer size") [bytes].
    PerIngress(Bytes),
    /// A fixed buffer for every ingress port, for all its classes together [bytes].
    PerPort(Bytes),
    /// A shared pool with a reserve and headroom per port, and a dynamic limit on each ingress.
    Shared(SharedPool),
    /// Pools on which priority groups and queues draw, each by a profile.
    Pools(PoolsConfig),
}

/// Passage of a frame through a switch, with its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passage {
    /// Now.
    pub now: Time,
    /// Ingress port.
    pub port: u16,
    /// Egress port.
    pub out: u16,
    /// Class.
    pub class: Class,
}

/// Part of the memory that had no room for a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Full {
    /// The buffer of its ingress.
    Ingress,
    /// The queue of its egress.
    Queue,
}

/// A shared pool as in the Broadcom-like models and in SONiC: `limit = (free pool) >> shift`, i.e.
/// alpha = 2^-shift.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedPool {
    /// All memory of the switch [bytes].
    pub total: Bytes,
    /// Guaranteed to each port and class before the pool is touched [bytes].
    pub reserve: Bytes,
    /// Headroom of each port for bytes that arrive after a pause [bytes].
    pub headroom: Vec<Bytes>,
    /// Right shift of the free pool that gives the limit of each port; alpha = 2^-shift.
    pub shift: Vec<u8>,
}

/// Contents and limits of an ingress and class. It is part of the class state of its port, next to
/// the receiver half that measures it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, State)]
pub struct Ingress {
    /// In reserve or pool [bytes].
    pub(crate) bytes: u64,
    /// In headroom [bytes].
    pub(crate) headroom: u64,
    /// Most that it has held at any time [bytes].
    #[state(saved)] // a result
    pub(crate) highest: u64,
    /// Room in its headroom [bytes] -- constant; a larger one is as good as this.
    headroom_size: u32,
    /// Right shift of the free pool that gives its limit -- constant.
    shift: u8,
}

impl Ingress {
    /// The most that was ever held [bytes].
    pub fn highest(&self) -> u64 {
        self.highest
    }
}

/// The rule, without the values that differ between ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    /// A fixed capacity [bytes].
    PerIngress(u64),
    /// Pool (total minus all headroom and reserves; reserves counted once per port, whatever the
    /// classes), reserve [bytes].
    Shared { pool: u64, reserve: u64, wraps: bool },
    /// By [`Buffer::accounts`].
    Accounts,
}

/// The accounting of a switch. What differs from ingress to ingress is in [`Ingress`].
#[derive(Clone, Debug, PartialEq, Eq, State)]
pub struct Buffer {
    #[state(built)] // constant
    rule: Rule,
    /// Pool in use [bytes].
    shared_used: u64,
    /// All that is held [bytes].
    held: u64,
    /// Accounts of more than ingresses; switches without them pay nothing.
    #[state(each)]
    accounts: Option<Box<Accounts>>,
}

impl Buffer {
    /// An empty buffer for a switch of this many ports. `wraps`:
    /// [`Compat::pool_wraps`](crate::Compat).
    pub fn new(policy: &BufferPolicy, ports: usize, wraps: bool) -> Self {
        let mut accounts = None;
        let rule = match policy {
            BufferPolicy::PerIngress(capacity) => Rule::PerIngress(capacity.0),
            BufferPolicy::Shared(s) => {
                let committed =
                    (s.headroom.iter().fold(s.reserve * ports as u64, |sum, &h| sum + h)).0;
                let pool = if wraps {
                    (s.total.0 as u32).wrapping_sub(committed as u32) as u64
                } else {
                    s.total.0.saturating_sub(committed)
                };
                Rule::Shared { pool, reserve: s.reserve.0, wraps }
            }
            BufferPolicy::Pools(c) => {
                accounts = Some(Box::new(Accounts::Pools(Pools::new(c))));
                Rule::Accounts
            }
            BufferPolicy::PerPort(capacity) => {
                accounts = Some(Box::new(Accounts::ports(*capacity, ports)));
                Rule::Accounts
            }
        };
        Buffer { rule, shared_used: 0, held: 0, accounts }
    }

    /// Limit on the shared part of an ingress.
    #[inline]
    fn limit(pool: u64, used: u64, wraps: bool, shift: u8) -> u64 {
        if wraps {
            ((pool as u32).wrapping_sub(used as u32) >> shift) as u64
        } else {
            pool.saturating_sub(used) >> shift
        }
    }

    /// Stores a frame, or rejects it. Returns the receiver's view afterwards.
    #[inline(always)] // every frame, and held ones
    pub fn admit(
        &mut self,
        i: &mut Ingress,
        at: impl FnOnce() -> Passage,
        len: u32,
    ) -> Option<Occupancy> {
        let len = len as u64;
        match self.rule {
            Rule::PerIngress(capacity) => {
                if i.bytes + len > capacity {
                    return None;
                }
                i.bytes += len;
            }
            Rule::Shared { pool, reserve, wraps } => {
                let limit = Self::limit(pool, self.shared_used, wraps, i.shift);
                let shared = i.bytes.saturating_sub(reserve);
                if len + i.headroom > i.headroom_size as u64 && len + shared > limit {
                    return None;
                }
                let new = i.bytes + len;
                if new <= reserve {
                    i.bytes = new;
                } else if new - reserve > limit {
                    i.headroom += len;
                } else {
                    i.bytes = new;
                    self.shared_used += len.min(new - reserve);
                }
            }
            Rule::Accounts => {
                let occupancy = self.accounts.as_mut()?.admit(i, &at(), len)?;
                self.held += len;
                return Some(occupancy);
            }
        }
        i.highest = i.highest.max(i.bytes + i.headroom);
        self.held += len;
        Some(self.of_rule(i))
    }

    /// [`Buffer::admit`] in the most common case; `None`: it is another one, or there is no room.
    #[inline(always)]
    pub fn admit_plain(&mut self, i: &mut Ingress, len: u32) -> Option<Occupancy> {
        let len = len as u64;
        let new = i.bytes + len;
        let occupancy = match self.rule {
            Rule::Shared { pool, reserve, wraps: false } => {
                let shared = new.saturating_sub(reserve);
                let free = pool.saturating_sub(self.shared_used);
                if i.headroom != 0 || shared > free >> i.shift || len > i.headroom_size as u64 {
                    return None;
                }
                let from_pool = len.min(shared);
                self.shared_used += from_pool;
                let limit = Bytes(free.saturating_sub(from_pool) >> i.shift);
                Occupancy { bytes: Bytes(new), shared: Bytes(shared), headroom: Bytes::ZERO, limit }
            }
            Rule::PerIngress(capacity) if new <= capacity => Occupancy {
                bytes: Bytes(new),
                shared: Bytes(new),
                headroom: Bytes::ZERO,
                limit: Bytes(capacity),
            },
            _ => return None,
        };
        i.bytes = new;
        i.highest = i.highest.max(new);
        self.held += len;
        Some(occupancy)
    }

    /// [`Buffer::release`], shorter in the most common case; there are no accounts.
    #[inline(always)]
    pub fn release_plain(&mut self, i: &mut Ingress, len: u32) -> Occupancy {
        let Rule::Shared { pool, reserve, wraps: false } = self.rule else {
            return self.release_slowly(i, len);
        };
        if i.headroom != 0 {
            return self.release_slowly(i, len);
        }
        let len = len as u64;
        self.held -= len;
        self.shared_used -= len.min(i.bytes.saturating_sub(reserve));
        i.bytes -= len;
        Occupancy {
            bytes: Bytes(i.bytes),
            shared: Bytes(i.bytes.saturating_sub(reserve)),
            headroom: Bytes::ZERO,
            limit: Bytes(pool.saturating_sub(self.shared_used) >> i.shift),
        }
    }

    #[inline(never)]
    fn release_slowly(&mut self, i: &mut Ingress, len: u32) -> Occupancy {
        self.release(i, || unreachable!("there are no accounts"), len)
    }

    /// True if more than ingresses is accounted for.
    pub fn has_accounts(&self) -> bool {
        self.accounts.is_some()
    }

    /// Part of the memory that refused a frame.
    #[cold]
    pub fn full(&self, at: &Passage, len: u32) -> Full {
        let queue = self.accounts.as_ref().is_some_and(|a| a.queue_is_full(at, len.into()));
        if queue { Full::Queue } else { Full::Ingress }
    }

    /// Removes a frame: headroom is freed first, then the pool, then the reserve. Returns the
    /// receiver's view afterwards.
    #[inline]
    pub fn release(
        &mut self,
        i: &mut Ingress,
        at: impl FnOnce() -> Passage,
        len: u32,
    ) -> Occupancy {
        let len = len as u64;
        self.held -= len;
        match self.rule {
            Rule::Shared { reserve, .. } => {
                let from_headroom = i.headroom.min(len);
                let rest = len - from_headroom;
                self.shared_used -= rest.min(i.bytes.saturating_sub(reserve));
                i.headroom -= from_headroom;
                i.bytes -= rest;
            }
            Rule::PerIngress(_) => i.bytes -= len,
            Rule::Accounts => {
                return self
                    .accounts
                    .as_mut()
                    .map_or(Occupancy::default(), |a| a.release(i, &at(), len));
            }
        }
        self.of_rule(i)
    }

    /// A frame is gone, but its memory is not freed.
    pub fn lose(&mut self, len: u32) {
        self.held -= len as u64;
    }

    /// Occupancy of the ingress of a port and class, as a receiver sees it.
    #[inline]
    pub fn occupancy(&self, i: &Ingress, port: u16, class: Class) -> Occupancy {
        match &self.accounts {
            Some(accounts) => accounts.occupancy(i, port, class),
            None => self.of_rule(i),
        }
    }

    /// Occupancy without accounts.
    #[inline]
    fn of_rule(&self, i: &Ingress) -> Occupancy {
        match self.rule {
            Rule::PerIngress(capacity) => Occupancy {
                bytes: Bytes(i.bytes),
                shared: Bytes(i.bytes),
                headroom: Bytes::ZERO,
                limit: Bytes(capacity),
            },
            Rule::Accounts => Occupancy::default(),
            Rule::Shared { pool, reserve, wraps } => Occupancy {
                bytes: Bytes(i.bytes + i.headroom),
                shared: Bytes(i.bytes.saturating_sub(reserve)),
                headroom: Bytes(i.headroom),
                limit: Bytes(Self::limit(pool, self.shared_used, wraps, i.shift)),
            },
        }
    }

    /// The most that was held in each pool, if it has any.
    pub fn pool_uses(&self) -> Vec<PoolUse> {
        self.accounts.as_ref().map_or(Vec::new(), |a| a.uses())
    }

    /// All that the switch holds.
    pub fn held(&self) -> Bytes {
        Bytes(self.held)
    }
}

impl BufferPolicy {
    /// The ingress of a port and class, empty. A lossy class has no headroom: nothing is under way
    /// to it that a pause did not stop.
    pub fn ingress(&self, port: usize, lossy: bool) -> Ingress {
        match self {
            BufferPolicy::PerIngress(_) | BufferPolicy::PerPort(_) | BufferPolicy::Pools(_) => {
                Ingress::default()
            }
            BufferPolicy::Shared(s) => {
                let headroom_size =
                    if lossy { 0 } else { s.headroom[port].0.try_into().unwrap_or(u32::MAX) };
                Ingress { headroom_size, shift: s.shift[port], ..Ingress::default() }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: Passage = Passage { now: Time::ZERO, port: 0, out: 0, class: Class(0) };

    #[test]
    fn a_fixed_buffer_refuses_the_frame_that_does_not_fit() {
        let policy = BufferPolicy::PerIngress(Bytes(3000));
        let (mut b, mut i, mut other) =
            (Buffer::new(&policy, 2, false), policy.ingress(0, false), policy.ingress(1, false));
        assert_eq!(
            [1500, 1500, 1].map(|len| b.admit(&mut i, || AT, len).is_some()),
            [true, true, false]
        );
        assert!(b.admit(&mut other, || AT, 1500).is_some(), "another ingress has its own");
        assert_eq!(
            (b.release(&mut i, || AT, 1500).bytes, b.held(), i.highest()),
            (Bytes(1500), Bytes(3000), 3000)
        );
    }

    fn pool(total: u64) -> SharedPool {
        SharedPool {
            total: Bytes(total),
            reserve: Bytes(4096),
            headroom: vec![Bytes(37_500); 3],
            shift: vec![3; 3],
        }
    }

    fn shared(pool: SharedPool) -> (Buffer, Ingress) {
        wrapping(pool, false)
    }

    fn wrapping(pool: SharedPool, wraps: bool) -> (Buffer, Ingress) {
        let policy = BufferPolicy::Shared(pool);
        (Buffer::new(&policy, 3, wraps), policy.ingress(0, false))
    }

    /// 4 MiB, three 100G/1us ports: (4194304 - 112500 - 12288) / 8 = 508689 bytes of limit on an
    /// empty switch.
    #[test]
    fn limit_is_a_share_of_the_free_pool() {
        let (mut b, mut i) = shared(pool(4 << 20));
        assert_eq!(b.occupancy(&i, 0, Class(0)).limit, Bytes(508_689));
        for _ in 0..3 {
            b.admit(&mut i, || AT, 1048).unwrap();
        }
        let occupancy = b.admit(&mut i, || AT, 1048).unwrap(); // 4192 bytes: 96 beyond the reserve
        assert_eq!((occupancy.shared, occupancy.limit), (Bytes(96), Bytes((4_069_516 - 96) >> 3)));
    }

    #[test]
    fn headroom_takes_what_the_limit_refuses_and_is_freed_first() {
        let (mut b, mut i) = shared(pool(112_500 + 12_288 + 8_000)); // limit 1000
        assert!((0..4).all(|_| b.admit(&mut i, || AT, 1024).is_some()));
        assert_eq!(b.admit(&mut i, || AT, 800).unwrap().headroom, Bytes::ZERO, "within the limit");
        assert_eq!(b.admit(&mut i, || AT, 1048).unwrap().headroom, Bytes(1048));
        let occupancy = b.release(&mut i, || AT, 1024);
        assert_eq!((occupancy.headroom, occupancy.bytes), (Bytes(24), Bytes(4096 + 800 + 24)));
    }

    #[test]
    fn an_over_committed_pool_wraps_only_when_asked() {
        let (b, i) = shared(pool(1000));
        assert_eq!(b.occupancy(&i, 0, Class(0)).limit, Bytes::ZERO);
        let (b, i) = shared(SharedPool { reserve: Bytes(u64::MAX / 2), ..pool(4 << 20) });
        assert_eq!(
            b.occupancy(&i, 0, Class(0)).limit,
            Bytes::ZERO,
            "what is promised to the ports does not wrap either"
        );
        let (b, i) = wrapping(pool(1000), true);
        assert!(b.occupancy(&i, 0, Class(0)).limit > Bytes(1 << 28));
    }
}
