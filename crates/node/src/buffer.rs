//! Ingress accounting of a switch: who may still come in, and how full is each ingress.
//!
//! Memory is shared between egress queues; what flow control watches is, per ingress port and class, how much of
//! it this ingress has brought in and not yet sent on.

use xoff_mech::flow_control::Fill;
use xoff_units::Bytes;

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

/// Counters of one ingress and class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Ingress {
    /// In reserve or pool [bytes].
    bytes: u64,
    /// In headroom [bytes].
    headroom: u64,
}

/// The accounting state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buffer {
    policy: BufferPolicy,
    classes: usize,
    ingress: Vec<Ingress>,
    /// Pool in use [bytes].
    shared_used: u64,
    /// Pool size: total minus all headroom and reserves [bytes]; counted once per port, whatever the classes.
    pool: u64,
    /// All that is held [bytes].
    held: u64,
}

impl Buffer {
    /// An empty buffer.
    pub fn new(policy: BufferPolicy, ports: usize, classes: usize) -> Self {
        let pool = match &policy {
            BufferPolicy::PerIngress(_) => 0,
            BufferPolicy::Shared(s) => {
                let committed = s.headroom.iter().map(|h| h.0).sum::<u64>() + s.reserve.0 * ports as u64;
                if s.wraps { (s.total.0 as u32).wrapping_sub(committed as u32) as u64 } else { s.total.0.saturating_sub(committed) }
            }
        };
        Buffer { policy, classes, ingress: vec![Ingress::default(); ports * classes], shared_used: 0, pool, held: 0 }
    }

    fn limit(&self, s: &SharedPool, port: usize) -> u64 {
        if s.wraps {
            ((self.pool as u32).wrapping_sub(self.shared_used as u32) >> s.shift[port]) as u64
        } else {
            self.pool.saturating_sub(self.shared_used) >> s.shift[port]
        }
    }

    /// Takes a frame in, or refuses it.
    pub fn admit(&mut self, port: u16, class: u8, len: u32) -> bool {
        let (port, len) = (port as usize, len as u64);
        let at = port * self.classes + class as usize;
        let now = self.ingress[at];
        match &self.policy {
            BufferPolicy::PerIngress(capacity) => {
                if now.bytes + len > capacity.0 {
                    return false;
                }
                self.ingress[at].bytes += len;
            }
            BufferPolicy::Shared(s) => {
                let limit = self.limit(s, port);
                let shared = now.bytes.saturating_sub(s.reserve.0);
                if len + now.headroom > s.headroom[port].0 && len + shared > limit {
                    return false;
                }
                let new = now.bytes + len;
                if new <= s.reserve.0 {
                    self.ingress[at].bytes = new;
                } else if new - s.reserve.0 > limit {
                    self.ingress[at].headroom += len;
                } else {
                    self.ingress[at].bytes = new;
                    self.shared_used += len.min(new - s.reserve.0);
                }
            }
        }
        self.held += len;
        true
    }

    /// Lets a frame go: headroom is freed first, then the pool, then the reserve.
    pub fn release(&mut self, port: u16, class: u8, len: u32) {
        let at = port as usize * self.classes + class as usize;
        let len = len as u64;
        self.held -= len;
        let i = &mut self.ingress[at];
        if let BufferPolicy::Shared(s) = &self.policy {
            let from_headroom = i.headroom.min(len);
            let rest = len - from_headroom;
            self.shared_used -= rest.min(i.bytes.saturating_sub(s.reserve.0));
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
    pub fn fill(&self, port: u16, class: u8) -> Fill {
        let i = self.ingress[port as usize * self.classes + class as usize];
        match &self.policy {
            BufferPolicy::PerIngress(capacity) => {
                Fill { bytes: Bytes(i.bytes), shared: Bytes(i.bytes), headroom: Bytes::ZERO, limit: *capacity }
            }
            BufferPolicy::Shared(s) => Fill {
                bytes: Bytes(i.bytes + i.headroom),
                shared: Bytes(i.bytes.saturating_sub(s.reserve.0)),
                headroom: Bytes(i.headroom),
                limit: Bytes(self.limit(s, port as usize)),
            },
        }
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
        let mut b = Buffer::new(BufferPolicy::PerIngress(Bytes(3000)), 2, 1);
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
        let mut b = Buffer::new(BufferPolicy::Shared(pool(4 << 20)), 3, 1);
        assert_eq!(b.fill(0, 0).limit, Bytes(508_689));
        for _ in 0..4 {
            assert!(b.admit(0, 0, 1048)); // 4192 bytes: 96 beyond the reserve
        }
        assert_eq!(b.fill(0, 0).shared, Bytes(96));
        assert_eq!(b.fill(0, 0).limit, Bytes((4_069_516 - 96) >> 3));
    }

    #[test]
    fn headroom_takes_what_the_limit_refuses_and_is_freed_first() {
        let mut b = Buffer::new(BufferPolicy::Shared(pool(112_500 + 12_288 + 8_000)), 3, 1); // limit 1000
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
        assert_eq!(Buffer::new(BufferPolicy::Shared(s.clone()), 3, 1).fill(0, 0).limit, Bytes::ZERO);
        s.wraps = true;
        assert!(Buffer::new(BufferPolicy::Shared(s), 3, 1).fill(0, 0).limit > Bytes(1 << 28));
    }
}
