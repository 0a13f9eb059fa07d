//! Reserves of SONiC for a lossless priority group: its dynamic headroom formula and rows of its
//! lookup tables.
//!
//! ```text
//!   PG occupancy   0 ...... xon ...... [reserved size] ...... limit of the shared part ........ + xoff
//!                           resume at or below                PAUSE is sent                     full: a frame is dropped
//! ```
//!
//! In SONiC (and SAI) `xoff` is **room above the trigger**, called headroom here; it is no
//! threshold.
//!
//! The formula is that of sonic-swss `cfgmgr/buffer_headroom_mellanox.lua` with the constants of
//! `asic_table.j2`, computed here in exact fractions. The lookup tables are `pg_profile_lookup.ini`
//! of sonic-buildimage, folder `device/`. Formula and table of one platform differ, by up to 2.4
//! times: the tables of Spectrum-1 are older than the response times of the formula.

use xoff_units::{Bytes, Length, Rate};

/// A buffer profile of one lossless priority group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profile {
    /// Reserved for the group; whether it contains the headroom depends on the vendor [bytes].
    pub size: Bytes,
    /// Occupancy at or below which the peer may resume [bytes].
    pub xon: Bytes,
    /// Headroom: room for bytes that arrive after the PAUSE [bytes].
    pub xoff: Bytes,
}

/// A generation of the switch chip, as far as the formula distinguishes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asic {
    /// Name in `ASIC_TABLE`.
    pub name: &'static str,
    /// Name among the rules for headroom.
    pub choice: &'static str,
    /// Symbol in a plan.
    pub symbol: &'static str,
    /// Unit in which the chip stores frames [bytes].
    cell: u64,
    /// Latency of the pipeline [KiB at the port].
    pipeline_kib: u64,
    /// Frames are cut into tiles on the way: 120 bit times a Gb/s.
    tiles: bool,
    /// Added to the headroom at the end [KiB].
    extra_kib: u64,
}

const fn asic(
    name: &'static str,
    (choice, symbol): (&'static str, &'static str),
    cell: u64,
    tiles: bool,
) -> Asic {
    Asic { name, choice, symbol, cell, pipeline_kib: 19, tiles, extra_kib: 0 }
}

/// The generations of `asic_table.j2`.
pub const ASICS: &[Asic] = &[
    asic("SPECTRUM", ("sonic-spectrum", "H sonic-spectrum"), 96, false),
    asic("SPECTRUM-2", ("sonic-spectrum-2", "H sonic-spectrum-2"), 144, false),
    asic("SPECTRUM-3", ("sonic-spectrum-3", "H sonic-spectrum-3"), 144, false),
    asic("SPECTRUM-4", ("sonic-spectrum-4", "H sonic-spectrum-4"), 192, true),
    asic("SPECTRUM-5", ("sonic-spectrum-5", "H sonic-spectrum-5"), 192, true),
    Asic {
        pipeline_kib: 42,
        extra_kib: 18,
        ..asic("SPECTRUM-6", ("sonic-spectrum-6", "H sonic-spectrum-6"), 256, false)
    },
];

/// Response time of the peer [pause quanta of 512 bit times] by rate [Mb/s]; other rates take 3.8
/// us.
const QUANTA: [(u64, u64); 10] = [
    (100, 1),
    (1_000, 2),
    (10_000, 67),
    (25_000, 80),
    (40_000, 118),
    (50_000, 147),
    (100_000, 394),
    (200_000, 453),
    (400_000, 905),
    (800_000, 905),
];

/// All fractions of the sum have this denominator: 792,000 of the cable (198,000 km/s, in both
/// directions, in mm), 5 of the times in tenths of a microsecond, 200 of the tiles.
const DENOMINATOR: u128 = 792_000;

/// Traffic of the port, besides its rate and cable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Port {
    /// Rate; the formula counts in whole Mb/s, here rounded up.
    pub rate: Rate,
    /// Cable; counted twice, at 198,000 km/s.
    pub length: Length,
    /// Largest frame of the port, `mtu` of the table PORT.
    pub mtu: Bytes,
    /// Largest frame of the lossless group, `mtu` of LOSSLESS_TRAFFIC_PATTERN.
    pub lossless_mtu: Bytes,
    /// Share of frames of 64 B in the lossless traffic [per cent], `small_packet_percentage`; 100
    /// is SONiC's own default.
    pub small_percent: u64,
    /// Lanes of the port: 8 doubles the pipeline's latency.
    pub lanes: u64,
    /// A pool of headroom is shared by the groups (`over_subscribe_ratio`, or `xoff` of the pool).
    pub shared_headroom: bool,
}

/// The profile that SONiC's dynamic buffer model computes for this port.
pub fn dynamic(asic: &Asic, p: &Port) -> Profile {
    let mbps = u128::from(p.rate.0.div_ceil(1_000_000));
    let (mtu, lossless) = (u128::from(p.mtu.0), u128::from(p.lossless_mtu.0));
    let quanta = QUANTA.iter().find(|q| u128::from(q.0) == mbps).map(|q| u128::from(q.1));
    // In units of 1/DENOMINATOR bytes: the port's largest frame, the cable, 0.8 us of MAC and PHY,
    // the peer's response, the tiles.
    let propagation = mtu * DENOMINATOR
        + u128::from(p.length.0) * mbps
        + 8 * 1024 * DENOMINATOR / 10
        + quanta.map_or(38 * 1024 * DENOMINATOR / 10, |q| q * 64 * DENOMINATOR)
        + if asic.tiles { mbps * 3 * DENOMINATOR / 200 } else { 0 };
    let cell = u128::from(asic.cell);
    // Cells that a worst-case frame takes for one that it fills: a frame of 64 B, or one of a byte
    // more than a cell.
    let worst = if cell > 128 { cell.div_ceil(64) } else { (2 * cell).div_ceil(1 + cell) };
    let small = u128::from(p.small_percent.min(100));
    let mean = small * 64 + (100 - small) * lossless;
    // 1 + (worst - 1) x share of small frames by bytes, as a fraction over `mean`.
    let occupancy = mean + 64 * 100 * (worst - 1);
    let kib = |numerator: u128, denominator: u128| {
        Bytes((numerator.div_ceil(denominator * 1024) * 1024) as u64)
    };
    let mut xoff = kib(lossless * DENOMINATOR * mean + propagation * occupancy, DENOMINATOR * mean)
        + Bytes(asic.extra_kib * 1024);
    let most = kib(lossless * DENOMINATOR + propagation * worst, DENOMINATOR);
    if !p.shared_headroom && small != 100 && xoff + Bytes(2048) < most {
        xoff += Bytes(2048);
    }
    let eight = p.lanes == 8;
    let xon = Bytes(asic.pipeline_kib * 1024 * if eight { 2 } else { 1 });
    // A port of eight lanes keeps room for one more of its largest frames.
    let reserved = u128::from((xoff + xon).0) + if eight { mtu } else { 0 };
    let size = if p.shared_headroom { xon } else { kib(reserved, 1) };
    Profile { size, xon, xoff }
}

/// A row of a lookup table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Platform and SKU, a folder below `device/` of sonic-buildimage.
    pub platform: &'static str,
    /// Symbol in a plan.
    pub symbol: &'static str,
    /// Rate [Gb/s].
    pub gbps: u64,
    /// Cable [m].
    pub metres: u64,
    /// The profile.
    pub profile: Profile,
}

type Platform = (&'static str, &'static str);

const fn row(
    (platform, symbol): Platform,
    gbps: u64,
    metres: u64,
    size: u64,
    xon: u64,
    xoff: u64,
) -> Row {
    Row {
        platform,
        symbol,
        gbps,
        metres,
        profile: Profile { size: Bytes(size), xon: Bytes(xon), xoff: Bytes(xoff) },
    }
}

const MSN2700: Platform =
    ("pg_profile_lookup.ini of mellanox ACS-MSN2700 (Spectrum-1)", "H MSN2700");
const SN4280: Platform = ("pg_profile_lookup.ini of mellanox SN4280-O28 (Spectrum-3)", "H SN4280");
const SN5610N: Platform =
    ("pg_profile_lookup.ini of mellanox SN5610N-C256S2 (Spectrum-4)", "H SN5610N");
const ARISTA7050: Platform =
    ("pg_profile_lookup.ini of arista 7050CX3-32S-C28S4 (Trident 3)", "H 7050CX3");
const ARISTA7060: Platform =
    ("pg_profile_lookup.ini of arista 7060X6-64PE-O128S2 (Tomahawk 5)", "H 7060X6");

/// Rows of published tables, one platform after the other, by rate and cable.
pub const ROWS: &[Row] = &[
    row(MSN2700, 10, 5, 49_152, 19_456, 29_696),
    row(MSN2700, 10, 300, 56_320, 19_456, 36_864),
    row(MSN2700, 40, 40, 52_224, 19_456, 32_768),
    row(MSN2700, 40, 300, 78_848, 19_456, 59_392),
    row(MSN2700, 100, 5, 50_176, 19_456, 30_720),
    row(MSN2700, 100, 40, 58_368, 19_456, 38_912),
    row(MSN2700, 100, 300, 123_904, 19_456, 104_448),
    row(SN4280, 100, 300, 19_456, 19_456, 75_776),
    row(SN4280, 200, 40, 19_456, 19_456, 51_200),
    row(SN4280, 400, 300, 38_912, 38_912, 225_280),
    row(SN4280, 400, 2_000, 38_912, 38_912, 555_008),
    row(SN5610N, 40, 40, 45_056, 19_456, 25_600),
    row(SN5610N, 100, 300, 103_424, 19_456, 83_968),
    row(SN5610N, 400, 40, 123_904, 19_456, 104_448),
    row(SN5610N, 800, 300, 450_560, 38_912, 411_648),
    row(SN5610N, 800, 1_000, 38_912, 38_912, 1_153_024),
    row(ARISTA7050, 10, 300, 4_608, 4_608, 160_000),
    row(ARISTA7050, 50, 300, 4_608, 4_608, 160_000),
    row(ARISTA7050, 100, 300, 4_608, 4_608, 160_000),
    row(ARISTA7060, 400, 150, 18_796, 0, 612_140),
];

/// The row of each platform that covers this link: its rate, and the shortest cable that is no
/// shorter.
pub fn rows_for(rate: Rate, length: Length) -> Vec<&'static Row> {
    let covers = |r: &&Row| Rate::from_gbps(r.gbps) == rate && Length::from_m(r.metres) >= length;
    let mut found: Vec<&Row> = Vec::new();
    // Rows of a platform stand by rising cable, so the first that covers is the shortest.
    for r in ROWS.iter().filter(covers) {
        if found.iter().all(|f| f.platform != r.platform) {
            found.push(r);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn port(gbps: u64, metres: u64) -> Port {
        Port {
            rate: Rate::from_gbps(gbps),
            length: Length::from_m(metres),
            mtu: Bytes(9_100),
            lossless_mtu: Bytes(1_024),
            small_percent: 100,
            lanes: 4,
            shared_headroom: false,
        }
    }
    fn asic(name: &str) -> &'static Asic {
        ASICS.iter().find(|a| a.name == name).unwrap()
    }
    fn numbers(p: Profile) -> (u64, u64, u64) {
        (p.xon.0, p.xoff.0, p.size.0)
    }

    /// Results of the script itself for these ports.
    #[test]
    fn the_formula_is_the_scripts() {
        for (name, gbps, metres, expected) in [
            ("SPECTRUM", 10, 5, (19_456, 29_696, 49_152)),
            ("SPECTRUM", 100, 5, (19_456, 72_704, 92_160)),
            ("SPECTRUM", 100, 300, (19_456, 147_456, 166_912)),
            ("SPECTRUM-2", 200, 40, (19_456, 148_480, 167_936)),
            ("SPECTRUM-3", 400, 40, (19_456, 265_216, 284_672)),
            ("SPECTRUM-4", 400, 40, (19_456, 283_648, 303_104)),
            ("SPECTRUM-6", 800, 40, (43_008, 452_608, 495_616)),
        ] {
            assert_eq!(
                numbers(dynamic(asic(name), &port(gbps, metres))),
                expected,
                "{name} {gbps}G {metres} m"
            );
        }
        let eight = Port { lanes: 8, ..port(800, 5) };
        assert_eq!(numbers(dynamic(asic("SPECTRUM-4"), &eight)), (38_912, 256_000, 304_128));
        let small = |percent, mtu, port_mtu| {
            let p = Port {
                small_percent: percent,
                lossless_mtu: Bytes(mtu),
                mtu: Bytes(port_mtu),
                ..port(100, 300)
            };
            numbers(dynamic(asic("SPECTRUM-3"), &p))
        };
        assert_eq!(small(0, 1_024, 9_100), (19_456, 86_016, 105_472));
        assert_eq!(small(20, 1_024, 9_100), (19_456, 88_064, 107_520));
        assert_eq!(small(50, 9_216, 9_216), (19_456, 87_040, 106_496));
        let pool = Port { shared_headroom: true, ..port(100, 5) };
        assert_eq!(numbers(dynamic(asic("SPECTRUM"), &pool)), (19_456, 72_704, 19_456));
    }

    /// 36 drawn ports as the script computes them: Mb/s, metres, MTU, lossless MTU, per cent of
    /// small frames, lanes; whether headroom is shared; xon, xoff, size.
    #[test]
    fn drawn_ports_as_in_the_script() {
        type Vector = (&'static str, [u64; 6], bool, [u64; 3]);
        let vectors: [Vector; 36] = [
            ("SPECTRUM", [50000, 300, 9100, 1024, 100, 4], false, [19456, 77824, 97280]),
            ("SPECTRUM-2", [25000, 40, 1500, 1500, 100, 4], true, [19456, 27648, 19456]),
            ("SPECTRUM-3", [50000, 1, 9216, 1024, 100, 1], false, [19456, 60416, 79872]),
            ("SPECTRUM-4", [25000, 5, 9100, 4096, 100, 8], false, [38912, 51200, 99328]),
            ("SPECTRUM-5", [50000, 300, 9100, 4096, 100, 8], true, [38912, 121856, 38912]),
            ("SPECTRUM-6", [100000, 1000, 9100, 1024, 20, 4], true, [43008, 218112, 43008]),
            ("SPECTRUM", [400000, 40, 9216, 4096, 80, 4], false, [19456, 101376, 120832]),
            ("SPECTRUM-2", [40000, 40, 9100, 1500, 20, 8], false, [38912, 25600, 73728]),
            ("SPECTRUM-3", [20000, 300, 9216, 1024, 80, 8], true, [38912, 33792, 38912]),
            ("SPECTRUM-4", [40000, 40, 9100, 1500, 10, 1], false, [19456, 25600, 45056]),
            ("SPECTRUM-5", [400000, 1000, 1500, 1500, 100, 1], false, [19456, 1716224, 1735680]),
            ("SPECTRUM-6", [25000, 2000, 9216, 1500, 10, 8], true, [86016, 109568, 86016]),
            ("SPECTRUM", [50000, 300, 9100, 1500, 80, 4], true, [19456, 47104, 19456]),
            ("SPECTRUM-2", [20000, 40, 9216, 1024, 100, 1], true, [19456, 46080, 19456]),
            ("SPECTRUM-3", [20000, 1, 9100, 9100, 100, 4], false, [19456, 51200, 70656]),
            ("SPECTRUM-4", [50000, 40, 9100, 9100, 0, 4], false, [19456, 34816, 54272]),
            ("SPECTRUM-5", [10000, 1000, 1500, 1500, 100, 4], true, [19456, 60416, 19456]),
            ("SPECTRUM-6", [10000, 1, 9100, 1500, 0, 8], false, [86016, 38912, 134144]),
            ("SPECTRUM", [50000, 5, 9216, 9216, 20, 1], false, [19456, 31744, 51200]),
            ("SPECTRUM-2", [100000, 300, 9100, 4096, 80, 8], false, [38912, 90112, 138240]),
            ("SPECTRUM-3", [40000, 300, 1500, 1500, 80, 4], true, [19456, 35840, 19456]),
            ("SPECTRUM-4", [25000, 300, 9216, 1024, 20, 8], true, [38912, 30720, 38912]),
            ("SPECTRUM-5", [40000, 300, 9100, 9100, 20, 8], false, [38912, 45056, 93184]),
            ("SPECTRUM-6", [100000, 1000, 1500, 1500, 50, 8], false, [86016, 214016, 302080]),
            ("SPECTRUM", [10000, 1, 1500, 1500, 10, 8], false, [38912, 11264, 52224]),
            ("SPECTRUM-2", [800000, 1000, 9100, 1024, 20, 8], false, [38912, 1247232, 1295360]),
            ("SPECTRUM-3", [25000, 1, 1500, 1500, 100, 4], false, [19456, 24576, 44032]),
            ("SPECTRUM-4", [50000, 300, 9216, 1500, 0, 4], false, [19456, 46080, 65536]),
            ("SPECTRUM-5", [10000, 300, 9216, 4096, 80, 8], false, [38912, 27648, 75776]),
            ("SPECTRUM-6", [100000, 300, 9100, 1024, 20, 4], true, [43008, 109568, 43008]),
            ("SPECTRUM", [25000, 1, 9100, 1024, 0, 8], false, [38912, 19456, 67584]),
            ("SPECTRUM-2", [10000, 300, 9100, 1024, 0, 4], true, [19456, 21504, 19456]),
            ("SPECTRUM-3", [40000, 2000, 9100, 9100, 50, 1], true, [19456, 131072, 19456]),
            ("SPECTRUM-4", [1000, 5, 9100, 9100, 100, 4], true, [19456, 39936, 19456]),
            ("SPECTRUM-5", [200000, 300, 9100, 9100, 20, 4], false, [19456, 131072, 150528]),
            ("SPECTRUM-6", [100000, 1, 1500, 1024, 100, 1], false, [43008, 131072, 174080]),
        ];
        for v in vectors {
            let (
                name,
                [mbps, metres, mtu, lossless_mtu, small_percent, lanes],
                shared_headroom,
                expected,
            ) = v;
            let (rate, length) = (Rate(mbps * 1_000_000), Length::from_m(metres));
            let p = Port {
                rate,
                length,
                mtu: Bytes(mtu),
                lossless_mtu: Bytes(lossless_mtu),
                small_percent,
                lanes,
                shared_headroom,
            };
            let (xon, xoff, size) = numbers(dynamic(asic(name), &p));
            assert_eq!([xon, xoff, size], expected, "{v:?}");
        }
    }

    /// Over drawn ports: more of anything never needs less, and a pool of headroom reserves XON
    /// only.
    #[test]
    fn a_longer_or_faster_link_never_needs_less() {
        let mut state = 7u64;
        let mut roll = |n: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % n
        };
        for _ in 0..2_000 {
            let a = &ASICS[roll(ASICS.len() as u64) as usize];
            let lossless_mtu = Bytes(64 + roll(9_152));
            let p = Port {
                rate: Rate(1_000_000 * (1 + roll(800_000))),
                length: Length::from_m(roll(2_000)),
                mtu: lossless_mtu + Bytes(roll(1_000)),
                lossless_mtu,
                small_percent: 100,
                lanes: [1, 4, 8][roll(3) as usize],
                shared_headroom: roll(2) == 0,
            };
            let base = dynamic(a, &p);
            let longer = Port { length: Length(p.length.0 + 1 + roll(500_000)), ..p };
            let larger = Port { mtu: p.mtu + Bytes(1 + roll(500)), ..p };
            for more in [longer, larger] {
                assert!(dynamic(a, &more).xoff >= base.xoff, "{a:?} {p:?} {more:?}");
            }
            assert!(
                base.xoff >= p.lossless_mtu + p.mtu && base.xoff.0.is_multiple_of(1_024),
                "{p:?}"
            );
            assert!(
                if p.shared_headroom {
                    base.size == base.xon
                } else {
                    base.size >= base.xon + base.xoff
                },
                "{p:?}"
            );
        }
    }

    #[test]
    fn a_row_covers_cables_up_to_its_own() {
        let of = |gbps, metres| {
            rows_for(Rate::from_gbps(gbps), Length::from_m(metres))
                .iter()
                .map(|r| r.profile.xoff.0)
                .collect::<Vec<_>>()
        };
        assert_eq!(of(100, 5), [30_720, 75_776, 83_968, 160_000]);
        assert_eq!(of(100, 41), [104_448, 75_776, 83_968, 160_000]);
        assert_eq!(of(800, 301), [1_153_024]);
        assert!(of(100, 2_001).is_empty());
        for pair in
            ROWS.windows(2).filter(|p| p[0].platform == p[1].platform && p[0].gbps == p[1].gbps)
        {
            assert!(
                pair[0].metres < pair[1].metres && pair[0].profile.xoff <= pair[1].profile.xoff,
                "{pair:?}"
            );
        }
    }
}
