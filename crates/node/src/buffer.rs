//! Ingress accounting of a switch: who may still come in, and how full is each ingress.
//!
//! Memory is shared between egress queues; what flow control watches is, per ingress port and class, how much of
//! it this ingress has brought in and not yet sent on.

use xoff_mech::flow_control::Fill;
use xoff_units::{Bytes, prefetch};

/// How the memory is divided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BufferPolicy {
    /// A fixed buffer for every ingress and class (the papers' "input buffer size") [bytes].
    PerIngress(Bytes),
    /// A shared pool with a reserve and headroom per port, and a dynamic limit on each ingress.
    Shared(SharedPool),
}

/// A shared pool as in the Broadcom-like models and in SONiC: `limit = (free pool) >> shift`, i.e. alpha = 2^-shift.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedPool {
    /// All memory of the switch [bytes].
    pub total: Bytes,
    /// Guaranteed to each port and class before the pool is touched [bytes].
    pub reserve: Bytes,
    /// Headroom of each port for what arrives after a pause [bytes].
    pub headroom: Vec<Bytes>,
    /// Right shift of the free pool that gives the limit of each port; alpha = 2^-shift.
    pub shift: Vec<u8>,
    /// Unsigned 32-bit arithmetic that wraps where the pool is over-committed, as in the HPCC simulator. Off: it stops
    /// at zero.
    pub wraps: bool,
}

/// One ingress and class: what it holds and what bounds it, side by side, because a frame needs all of it at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Ingress {
    /// In reserve or pool [bytes].
    bytes: u64,
    /// In headroom [bytes].
    headroom: u64,
    /// Most that it has held at any time [bytes].
    highest: u64,
    /// Room in its headroom [bytes] -- constant.
    headroom_size: u64,
    /// Right shift of the free pool that gives its limit -- constant.
    shift: u8,
}

/// The rule, without what differs from port to port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    /// A fixed capacity [bytes].
    PerIngress(u64),
    /// Pool (total minus all headroom and reserves; reserves counted once per port, whatever the classes), reserve [bytes].
    Shared { pool: u64, reserve: u64, wraps: bool },
}

/// The accounting state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buffer {
    rule: Rule,
    classes: usize,
    ingress: Vec<Ingress>,
    /// Pool in use [bytes].
    shared_used: u64,
    /// All that is held [bytes].
    held: u64,
}

impl Buffer {
    /// What an ingress and class takes [bytes].
    pub(crate) const BYTES_PER_INGRESS: usize = size_of::<Ingress>();

    /// An empty buffer.
    pub fn new(policy: &BufferPolicy, ports: usize, classes: usize) -> Self {
        let mut ingress = vec![Ingress::default(); ports * classes];
        let rule = match policy {
            BufferPolicy::PerIngress(capacity) => Rule::PerIngress(capacity.0),
            BufferPolicy::Shared(s) => {
                for (i, ingress) in ingress.iter_mut().enumerate() {
                    ingress.headroom_size = s.headroom[i / classes].0;
                    ingress.shift = s.shift[i / classes];
                }
                let committed = s.headroom.iter().map(|h| h.0).sum::<u64>() + s.reserve.0 * ports as u64;
                let pool =
                    if s.wraps { (s.total.0 as u32).wrapping_sub(committed as u32) as u64 } else { s.total.0.saturating_sub(committed) };
                Rule::Shared { pool, reserve: s.reserve.0, wraps: s.wraps }
            }
        };
        Buffer { rule, classes, ingress, shared_used: 0, held: 0 }
    }

    #[inline]
    fn at(&self, port: u16, class: u8) -> usize {
        port as usize * self.classes + class as usize
    }

    /// Limit on the shared part of an ingress.
    #[inline]
    fn limit(pool: u64, used: u64, wraps: bool, shift: u8) -> u64 {
        if wraps { ((pool as u32).wrapping_sub(used as u32) >> shift) as u64 } else { pool.saturating_sub(used) >> shift }
    }

    /// An ingress will be asked soon.
    #[inline]
    pub fn prefetch(&self, port: u16) {
        prefetch(&self.ingress[self.at(port, 0)]);
    }

    /// Takes a frame in, or refuses it.
    #[inline]
    pub fn admit(&mut self, port: u16, class: u8, len: u32) -> bool {
        let len = len as u64;
        let at = self.at(port, class);
        let i = &mut self.ingress[at];
        match self.rule {
            Rule::PerIngress(capacity) => {
                if i.bytes + len > capacity {
                    return false;
                }
                i.bytes += len;
            }
            Rule::Shared { pool, reserve, wraps } => {
                let limit = Self::limit(pool, self.shared_used, wraps, i.shift);
                let shared = i.bytes.saturating_sub(reserve);
                if len + i.headroom > i.headroom_size && len + shared > limit {
                    return false;
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
        }
        i.highest = i.highest.max(i.bytes + i.headroom);
        self.held += len;
        true
    }

    /// Lets a frame go: headroom is freed first, then the pool, then the reserve.
    #[inline]
    pub fn release(&mut self, port: u16, class: u8, len: u32) {
        let at = self.at(port, class);
        let len = len as u64;
        self.held -= len;
        let i = &mut self.ingress[at];
        if let Rule::Shared { reserve, .. } = self.rule {
            let from_headroom = i.headroom.min(len);
            let rest = len - from_headroom;
            self.shared_used -= rest.min(i.bytes.saturating_sub(reserve));
            i.headroom -= from_headroom;
            i.bytes -= rest;
        } else {
            i.bytes -= len;
        }
    }

    /// A frame is gone, but what it occupied is not freed.
    pub fn lose(&mut self, len: u32) {
        self.held -= len as u64;
    }

    /// What a receiver sees of one ingress.
    #[inline]
    pub fn fill(&self, port: u16, class: u8) -> Fill {
        let i = &self.ingress[self.at(port, class)];
        match self.rule {
            Rule::PerIngress(capacity) => {
                Fill { bytes: Bytes(i.bytes), shared: Bytes(i.bytes), headroom: Bytes::ZERO, limit: Bytes(capacity) }
            }
            Rule::Shared { pool, reserve, wraps } => Fill {
                bytes: Bytes(i.bytes + i.headroom),
                shared: Bytes(i.bytes.saturating_sub(reserve)),
                headroom: Bytes(i.headroom),
                limit: Bytes(Self::limit(pool, self.shared_used, wraps, i.shift)),
            },
        }
    }

    /// The most that an ingress and class has held at any time [bytes].
    pub fn highest(&self, port: u16, class: u8) -> u64 {
        self.ingress[self.at(port, class)].highest
    }

    /// All that the switch holds.
    pub fn held(&self) -> Bytes {
        Bytes(self.held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fixed_buffer_refuses_the_frame_that_does_not_fit() {
        let mut b = Buffer::new(&BufferPolicy::PerIngress(Bytes(3000)), 2, 1);
        assert!(b.admit(0, 0, 1500) && b.admit(0, 0, 1500) && !b.admit(0, 0, 1));
        assert!(b.admit(1, 0, 1500), "another ingress has its own");
        b.release(0, 0, 1500);
        assert_eq!((b.fill(0, 0).bytes, b.held()), (Bytes(1500), Bytes(3000)));
    }

    fn pool(total: u64) -> SharedPool {
        SharedPool { total: Bytes(total), reserve: Bytes(4096), headroom: vec![Bytes(37_500); 3], shift: vec![3; 3], wraps: false }
    }

    /// 4 MiB, three 100G/1us ports: (4194304 - 112500 - 12288) / 8 = 508689 bytes of limit on an empty switch.
    #[test]
    fn limit_is_a_share_of_the_free_pool() {
        let mut b = Buffer::new(&BufferPolicy::Shared(pool(4 << 20)), 3, 1);
        assert_eq!(b.fill(0, 0).limit, Bytes(508_689));
        for _ in 0..4 {
            assert!(b.admit(0, 0, 1048)); // 4192 bytes: 96 beyond the reserve
        }
        assert_eq!(b.fill(0, 0).shared, Bytes(96));
        assert_eq!(b.fill(0, 0).limit, Bytes((4_069_516 - 96) >> 3));
    }

    #[test]
    fn headroom_takes_what_the_limit_refuses_and_is_freed_first() {
        let mut b = Buffer::new(&BufferPolicy::Shared(pool(112_500 + 12_288 + 8_000)), 3, 1); // limit 1000
        assert!((0..4).all(|_| b.admit(0, 0, 1024)));
        assert!(b.admit(0, 0, 800), "within the limit");
        assert!(b.admit(0, 0, 1048));
        assert_eq!(b.fill(0, 0).headroom, Bytes(1048));
        b.release(0, 0, 1024);
        assert_eq!((b.fill(0, 0).headroom, b.fill(0, 0).bytes), (Bytes(24), Bytes(4096 + 800 + 24)));
    }

    #[test]
    fn an_over_committed_pool_wraps_only_when_asked() {
        let mut s = pool(1000);
        assert_eq!(Buffer::new(&BufferPolicy::Shared(s.clone()), 3, 1).fill(0, 0).limit, Bytes::ZERO);
        s.wraps = true;
        assert!(Buffer::new(&BufferPolicy::Shared(s), 3, 1).fill(0, 0).limit > Bytes(1 << 28));
    }
}
