//! PFC headroom by the published formulas. They differ by a factor of twenty, because they count
//! different things; what each of them leaves out is in [`evidence`](super::evidence).
//!
//! | name | counts | source |
//! | --- | --- | --- |
//! | gfc | everything in one latency, C tau | GFC section 4.2 ("at least C tau") |
//! | 802.1q | frames, cable, interface and response delays in bit times | IEEE 802.1Q Annex N (802.1Qbb Annex O) |
//! | cisco | two frames, 60 quanta of response, cable | Cisco white paper c11-542809 |
//! | mlx5e | fitted constants per Gb/s, metre and MTU | Linux, mlx5e port_buffer.c |
//! | hpcc | bandwidth-delay product only | HPCC simulator, third.cc |
//!
//! The figures of the 802.1q and cisco sums were taken from published digests of these texts, not
//! from the texts.

use xoff_units::{Bytes, Length, Rate, Span};

use super::link::bytes_ceil;

/// Preamble, start delimiter and gap of an Ethernet frame [bytes] -- IEEE 802.3.
const FRAME_OVERHEAD: Bytes = Bytes(20);

/// C tau, rounded up (GFC section 4.2: "the required headroom in PFC is at least C tau").
pub fn gfc(rate: Rate, tau: Span) -> Bytes {
    bytes_ceil(rate, tau)
}

/// Source of the delays of a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// Response time and interface delay are published.
    Published,
    /// The response time is published, the interface delay is not.
    Interpolated,
}

/// Interface delay per direction and response time of the peer [bit times].
struct Delays {
    gbps: u64,
    interface: u64,
    response: u64,
    basis: Basis,
}

const fn delays(gbps: u64, interface: u64, quanta: u64, basis: Basis) -> Delays {
    Delays { gbps, interface, response: quanta * 512, basis }
}

/// The delays of a rate. Response times are pause quanta of 802.3 Annex 31B: 10, 25, 40, 100 and
/// 400 Gb/s from a digest of Annex N, 50 and 200 Gb/s from the table of sonic-swss, which has the
/// digest's numbers for 25, 40, 100 and 400. Interface delays are the digest's for 10, 25, 40 and
/// 100 Gb/s; at 50 Gb/s their time is interpolated between 40 and 100, and above 100 Gb/s it is
/// that of 100, 1228.8 ns.
const ANNEX_N: &[Delays] = &[
    delays(10, 8_192, 60, Basis::Published),
    delays(25, 6_144, 80, Basis::Published),
    delays(40, 24_576, 118, Basis::Published),
    delays(50, 35_840, 147, Basis::Interpolated),
    delays(100, 122_880, 394, Basis::Published),
    delays(200, 245_760, 453, Basis::Interpolated),
    delays(400, 491_520, 905, Basis::Interpolated),
];

/// The parts of the 802.1Q Annex N sum [bit times at the link rate].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnnexN {
    /// Largest frame of any class, just started by the pausing station.
    pub frame_receiver: u64,
    /// The PFC frame itself, 64 + 20 B.
    pub pause: u64,
    /// The cable, in both directions.
    pub cable: u64,
    /// Interface (PCS, PMA, PHY) delays, both ends.
    pub interfaces: u64,
    /// Reaction time of the paused station.
    pub response: u64,
    /// Largest lossless frame, just started by the paused station.
    pub frame_sender: u64,
    /// Source of interface delay and response time.
    pub basis: Basis,
}

impl AnnexN {
    /// The parts for a link, `None` if there are no figures for the rate. `mtu_other` is the
    /// largest frame in the pausing direction, `mtu` that of the paused class, `t_w` the one-way
    /// cable delay.
    pub fn of(rate: Rate, mtu_other: Bytes, mtu: Bytes, t_w: Span) -> Option<AnnexN> {
        let &Delays { interface, response, basis, .. } =
            ANNEX_N.iter().find(|d| Rate::from_gbps(d.gbps) == rate)?;
        let bits = |b: Bytes| (b + FRAME_OVERHEAD).0 * 8;
        // A bit time is 10^12/rate ps; the cable delay in bit times, rounded up.
        let cable = (u128::from(t_w.0) * 2 * u128::from(rate.0)).div_ceil(1_000_000_000_000) as u64;
        Some(AnnexN {
            frame_receiver: bits(mtu_other),
            pause: bits(Bytes(64)),
            cable,
            interfaces: 2 * interface,
            response,
            frame_sender: bits(mtu),
            basis,
        })
    }
    /// The sum [bit times].
    pub fn bit_times(&self) -> u64 {
        self.frame_receiver
            + self.pause
            + self.cable
            + self.interfaces
            + self.response
            + self.frame_sender
    }
    /// All that it lets the two stations take, t_r of GFC Eq. (6): two interfaces and the response.
    pub fn processing(&self, rate: Rate) -> Span {
        let ps = u128::from(self.interfaces + self.response) * 1_000_000_000_000;
        Span(ps.div_ceil(u128::from(rate.0)) as u64)
    }
    /// The sum in bytes, rounded up.
    pub fn bytes(&self) -> Bytes {
        Bytes(self.bit_times().div_ceil(8))
    }
}

/// MTU of the receiver + MTU of the sender + 3840 B (60 quanta of response) + 130 B per 100 m and
/// Gb/s, rounded up (Cisco white paper c11-542809).
pub fn cisco(rate: Rate, mtu_other: Bytes, mtu: Bytes, length: Length) -> Bytes {
    let cable = (130 * u128::from(length.0) * u128::from(rate.0)).div_ceil(100_000 * 1_000_000_000);
    mtu_other + mtu + Bytes(3_840) + Bytes(cable as u64)
}

/// (301 + 2.16 x metres) x Gb/s + 2.72 MTU, with the rate taken as at least 40 Gb/s, rounded up
/// (Linux mlx5e driver, port_buffer.c).
pub fn mlx5e(rate: Rate, mtu: Bytes, length: Length) -> Bytes {
    let rate = rate.max(Rate::from_gbps(40));
    // 301 + 2.16 m in units of 10^-5: length is in mm.
    let per_gbps = 301 * 100_000 + 216 * u128::from(length.0);
    let link = (per_gbps * u128::from(rate.0)).div_ceil(100_000 * 1_000_000_000);
    Bytes(link as u64 + (mtu.0 * 272).div_ceil(100))
}

/// 3 x rate x one-way delay (HPCC simulator, third.cc); it has no frame term, so it vanishes on a
/// short link.
pub fn hpcc(rate: Rate, t_w: Span) -> Bytes {
    bytes_ceil(rate, t_w * 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANNEX_N_FRAMES: (Bytes, Bytes) = (Bytes(9_216), Bytes(2_300));

    #[test]
    fn annex_n_sums() {
        let sum = |gbps, m| {
            let t_w = Length::from_m(m).propagation();
            AnnexN::of(Rate::from_gbps(gbps), ANNEX_N_FRAMES.0, ANNEX_N_FRAMES.1, t_w).unwrap()
        };
        assert_eq!(sum(10, 100).bit_times(), 150_224);
        assert_eq!(sum(10, 100).pause, 672);
        assert_eq!(sum(10, 100).bytes(), Bytes(18_778));
        assert_eq!(sum(40, 100).bytes(), Bytes(30_336));
        assert_eq!(sum(40, 300).bytes(), Bytes(40_336));
        assert_eq!(sum(100, 100).bytes(), Bytes(80_076));
        assert_eq!(sum(100, 300).bytes(), Bytes(105_076));
        assert_eq!(AnnexN::of(Rate::from_gbps(800), Bytes(9_216), Bytes(1_500), Span::ZERO), None);
        assert_eq!(sum(100, 100).processing(Rate::from_gbps(100)), Span(4_474_880));
    }

    /// Published delays as the digest prints them; the others are between their neighbours, in
    /// time.
    #[test]
    fn delays_of_the_rates() {
        let of = |gbps| {
            AnnexN::of(Rate::from_gbps(gbps), Bytes(1_500), Bytes(1_500), Span::ZERO).unwrap()
        };
        for (gbps, interface, response) in [
            (10, 8_192, 30_720),
            (25, 6_144, 40_960),
            (40, 24_576, 60_416),
            (100, 122_880, 201_728),
        ] {
            let a = of(gbps);
            assert_eq!(
                (a.interfaces, a.response, a.basis),
                (2 * interface, response, Basis::Published),
                "{gbps}"
            );
        }
        assert_eq!((of(400).response, of(400).basis), (463_360, Basis::Interpolated));
        let interface_ps = |gbps| of(gbps).interfaces * 500 / gbps;
        assert_eq!(
            (interface_ps(40), interface_ps(50), interface_ps(100)),
            (614_400, 716_800, 1_228_800)
        );
        assert_eq!((interface_ps(200), interface_ps(400)), (1_228_800, 1_228_800));
    }

    #[test]
    fn closed_forms() {
        let (mtu, m100) = (Bytes(1_500), Length::from_m(100));
        let at = |g| cisco(Rate::from_gbps(g), mtu, mtu, m100);
        assert_eq!((at(10), at(40), at(100)), (Bytes(8_140), Bytes(12_040), Bytes(19_840)));
        assert_eq!(mlx5e(Rate::from_gbps(100), mtu, m100), Bytes(55_780));
        assert_eq!(mlx5e(Rate::from_gbps(10), mtu, m100), mlx5e(Rate::from_gbps(40), mtu, m100));
        assert_eq!(hpcc(Rate::from_gbps(100), Span::from_us(1)), Bytes(37_500));
    }
}
