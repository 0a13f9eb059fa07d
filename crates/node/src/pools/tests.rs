use xoff_mech::sharing::dynamic::Dynamic;
use xoff_mech::sharing::{Alpha, AnySharing, CONGESTED};
use xoff_units::{Class, Time};

use super::*;
use crate::buffer::Full;

const MTU: u64 = 1500;

/// A switch with this number of ports and one class.
struct Bench {
    pools: Pools,
    ingresses: Vec<Ingress>,
}

fn member(pool: Option<usize>, reserve: u64, headroom: u64, sharing: AnySharing) -> MemberConfig {
    let (reserve, headroom) = (Bytes(reserve), Bytes(headroom));
    MemberConfig {
        pool,
        reserve,
        headroom,
        xon: Bytes::ZERO,
        xon_offset: Some(Bytes(3000)),
        sharing,
    }
}

fn dynamic(n: i8) -> AnySharing {
    AnySharing::Dynamic(Dynamic { alpha: Alpha(1u32 << (16 + n)) })
}

fn pool(side: Side, size: u64, reserves: u64, headroom: u64) -> PoolConfig {
    PoolConfig {
        name: "p".into(),
        side,
        size: Bytes(size),
        reserves: Bytes(reserves),
        headroom: Bytes(headroom),
    }
}

impl Bench {
    fn new(
        pools: Vec<PoolConfig>,
        ports: usize,
        group: &MemberConfig,
        queue: &MemberConfig,
    ) -> Bench {
        let (groups, queues) = (vec![group.clone(); ports], vec![queue.clone(); ports]);
        Bench {
            pools: Pools::new(&PoolsConfig { pools, groups, queues, classes: 1 }),
            ingresses: vec![Ingress::default(); ports],
        }
    }

    fn admit(&mut self, port: u16, out: u16, len: u64) -> Result<Occupancy, Full> {
        let at = Passage { now: Time::ZERO, port, out, class: Class(0) };
        let full = if self.pools.queue_is_full(&at, len) { Full::Queue } else { Full::Ingress };
        self.pools.admit(&mut self.ingresses[port as usize], &at, len).ok_or(full)
    }

    fn release(&mut self, port: u16, out: u16, len: u64) -> Occupancy {
        self.pools.release(
            &mut self.ingresses[port as usize],
            &Passage { now: Time::ZERO, port, out, class: Class(0) },
            len,
        )
    }

    fn queue(&self, out: usize) -> u64 {
        self.pools.queues.all[out].held
    }
}

/// Choudhury and Hahne: n equal hogs hold alpha B / (1 + n alpha) each, and B / (1 + n alpha) stays
/// free; within one frame.
#[test]
fn equal_hogs_hold_the_share_of_the_closed_form() {
    let size = 3_000_000;
    for exponent in [-3i8, -1, 0, 1, 3] {
        let alpha = 2f64.powi(exponent.into());
        for n in 1..=8u16 {
            let config = member(Some(0), 0, 0, dynamic(exponent));
            let mut b = Bench::new(
                vec![pool(Side::Egress, size, 0, 0)],
                9,
                &MemberConfig::UNLIMITED,
                &config,
            );
            // Round robin, until all of them are full.
            while (0..n).filter(|&out| b.admit(8, out, MTU).is_ok()).count() > 0 {}
            let form = alpha * size as f64 / (1.0 + f64::from(n) * alpha);
            for out in 0..n.into() {
                let held = b.queue(out) as f64;
                assert!(
                    (held - form).abs() <= MTU as f64,
                    "alpha {alpha}, {n} queues: {held}, the closed form {form}"
                );
            }
            let free = (size - b.pools.pools[0].used) as f64;
            assert!(
                (free - size as f64 / (1.0 + f64::from(n) * alpha)).abs()
                    <= f64::from(n) * MTU as f64,
                "{free}"
            );
        }
    }
}

/// A queue takes its reserve first, and gives it back last.
#[test]
fn reserves_come_before_the_shared_part() {
    let config = member(Some(0), 4000, 0, dynamic(0));
    let mut b =
        Bench::new(vec![pool(Side::Egress, 20_000, 8000, 0)], 2, &MemberConfig::UNLIMITED, &config);
    assert_eq!(b.pools.pools[0].shared, 12_000);
    (0..3).for_each(|_| assert!(b.admit(0, 1, MTU).is_ok()));
    assert_eq!(
        (b.queue(1), b.pools.pools[0].used),
        (4500, 500),
        "the third frame takes 500 B of the shared part"
    );
    b.release(0, 1, MTU);
    assert_eq!((b.queue(1), b.pools.pools[0].used), (3000, 0));
    // alpha 1: half of the shared part, and the reserve.
    while b.admit(0, 1, MTU).is_ok() {}
    assert_eq!(
        b.queue(1),
        10_500,
        "6500 of the shared part, when 7000 were free; 8000 of 5500 is too much"
    );
    assert_eq!(b.admit(0, 1, MTU), Err(Full::Queue));
    assert!(b.admit(0, 0, MTU).is_ok(), "the other queue has its reserve");
}

/// Frames above the limit go into headroom. Headroom is freed first, and the peer resumes when it
/// is empty and enough memory is free.
#[test]
fn a_group_uses_headroom_and_is_resumed() {
    let config = member(Some(0), 0, 4500, AnySharing::UNLIMITED);
    let mut b = Bench::new(
        vec![pool(Side::Ingress, 24_000, 0, 9000)],
        2,
        &config,
        &MemberConfig::UNLIMITED,
    );
    (0..10).for_each(|_| assert_eq!(b.admit(0, 1, MTU).unwrap().headroom, Bytes::ZERO));
    for n in 1..=3 {
        assert_eq!(b.admit(0, 1, MTU).unwrap().headroom, Bytes(n * MTU));
    }
    assert_eq!(b.admit(0, 1, MTU), Err(Full::Ingress), "its headroom is 4500 B");
    assert_eq!(b.admit(1, 0, MTU).unwrap().headroom, Bytes(MTU), "the other group has its own");
    let occupancy = b.release(0, 1, MTU);
    assert_eq!(
        (occupancy.headroom, occupancy.bytes, b.pools.pools[0].headroom_used),
        (Bytes(3000), Bytes(18_000), 4500)
    );
    assert_eq!(
        b.pools.uses(),
        [PoolUse { shared: 15_000, shared_max: 15_000, headroom: 9000, headroom_max: 6000 }]
    );
}

/// Dell's manual of the S6100: 12 ports with 2 lossless queues of 94 KB each. A pause threshold of
/// 18 KB leaves 76 KB of headroom in each: 2464 KB with 208 KB for the rest, 1824 KB of them
/// headroom. A shared pool assumes that not all need it at once: 35 KB each, 840 KB, are enough for
/// 11 of the 24 in full.
#[test]
fn groups_share_headroom() {
    const KB: u64 = 1000;
    let groups = 12 * 2u64;
    assert_eq!((groups * 94 * KB + 208 * KB, groups * (94 - 18) * KB), (2464 * KB, 1824 * KB));
    let frame = 1000;
    let of = |headroom: u64| {
        // Nothing is shared, so bytes beyond the reserve of 18 KB use headroom.
        let config = member(Some(0), 18 * KB, 76 * KB, AnySharing::UNLIMITED);
        let pool = pool(Side::Ingress, groups * 18 * KB + headroom, groups * 18 * KB, headroom);
        let mut b = Bench::new(vec![pool], groups as usize, &config, &MemberConfig::UNLIMITED);
        let all: Vec<u64> = (0..groups as u16)
            .map(|port| (0..200).filter(|_| b.admit(port, 0, frame).is_ok()).count() as u64)
            .collect();
        (all, b.pools.uses()[0].headroom_max)
    };
    let (all, used) = of(groups * 76 * KB);
    assert_eq!(
        (all, used),
        (vec![94; 24], 1824 * KB),
        "headroom of its own: every group has all of it"
    );
    let (all, used) = of(groups * 35 * KB);
    assert_eq!(used, 840 * KB);
    assert_eq!(all.iter().filter(|n| **n == 94).count(), 11, "840 = 11 x 76 + 4");
    assert_eq!((all[11], &all[12..]), (18 + 4, &[18; 12][..]), "the others have their reserves");
}

/// A frame counts at both of its ends, and one that either has no room for changes neither.
#[test]
fn a_refused_frame_changes_nothing() {
    let (group, queue) =
        (member(Some(0), 0, 0, dynamic(0)), member(Some(1), 0, 0, AnySharing::UNLIMITED));
    let pools = vec![pool(Side::Ingress, 9000, 0, 0), pool(Side::Egress, 4500, 0, 0)];
    let mut b = Bench::new(pools, 2, &group, &queue);
    (0..3).for_each(|_| assert!(b.admit(0, 1, MTU).is_ok()));
    let before = (b.pools.clone(), b.ingresses.clone());
    assert_eq!(b.admit(0, 1, MTU), Err(Full::Queue));
    assert_eq!((&b.pools, &b.ingresses), (&before.0, &before.1));
    assert_eq!(
        b.admit(1, 1, MTU),
        Err(Full::Queue),
        "the pool of the queues is used up, whoever comes"
    );
    (0..3).for_each(|_| _ = b.release(0, 1, MTU));
    assert!(
        b.pools.pools.iter().all(|p| p.used == 0)
            && b.pools.groups.crowd == [0]
            && b.pools.queues.crowd == [0]
    );
}

fn reverie(gain: &str) -> AnySharing {
    let entry = xoff_mech::sharing::REGISTRY.iter().find(|e| e.name == "reverie").unwrap();
    let mut values =
        xoff_units::params::Defaults::of(entry.params[0]).with("alpha", "1").with("gain", gain);
    AnySharing::read("reverie", &mut values).unwrap()
}

/// Reverie counts a port as congested by its smoothed queue, which is renewed at departures
/// (switch-mmu.cc: satLevel of the low-pass counter). Before: by its occupancy, so that a burst at
/// one port halved the threshold of the others at once.
#[test]
fn reverie_counts_congested_ports_by_their_smoothed_queues() {
    let config = member(Some(0), 0, 0, reverie("0.01"));
    let mut b =
        Bench::new(vec![pool(Side::Egress, 3_000_000, 0, 0)], 3, &MemberConfig::UNLIMITED, &config);
    for out in [0, 1] {
        (0..100).for_each(|_| _ = b.admit(2, out, MTU).unwrap());
    }
    assert_eq!(b.pools.queues.crowd[0], 0, "150 KB each, and nothing has left");
    b.release(2, 0, MTU);
    let smoothed = (148_500f64 * 655.0 / 65_536.0) as u64;
    assert_eq!(b.pools.queues.crowd[0], smoothed, "1 % of the rest");
    (0..40).for_each(|_| _ = b.release(2, 0, MTU));
    assert_eq!(b.pools.queues.crowd[0], CONGESTED, "one of the two");
}

/// Rule for a queue without departures: its smoothed length stays constant, whatever the gain, and
/// it takes the whole pool.
#[test]
fn reverie_takes_in_a_queue_that_is_stopped_up_to_the_pool() {
    for gain in ["0.01", "1"] {
        let config = member(Some(0), 0, 0, reverie(gain));
        let mut b = Bench::new(
            vec![pool(Side::Egress, 300_000, 0, 0)],
            2,
            &MemberConfig::UNLIMITED,
            &config,
        );
        while b.admit(1, 0, MTU).is_ok() {}
        assert_eq!(b.queue(0), 300_000, "gain {gain}");
    }
}
