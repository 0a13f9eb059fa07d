//! The headrooms that a plan of PFC can choose from: the engine's own rule, the standard's, and
//! those of vendors and simulators, each with the contributions that it counts and those that it
//! omits.
//!
//! ```text
//!   rules() -> Rules -choose("safe" or a name)-> headroom H, and Evidence: every rule against H
//! ```

use xoff_mech::flow_control::pfc;
use xoff_units::{Bytes, Length};

use super::headroom::{self, AnnexN, Basis};
use super::input::{HEADROOMS, PlanInput};
use super::link::Link;
use super::output::{Evidence, PlanRow};
use super::sonic;

/// One rule with its value for a link.
pub(super) struct Rule {
    /// Name as `--headroom` takes it; "": not a choice.
    pub choice: &'static str,
    /// The value with its formula and source.
    pub row: PlanRow,
    /// Value [bytes].
    pub bytes: Bytes,
    counts: &'static str,
    leaves_out: &'static str,
}

/// Name, symbol, formula and source of a rule.
type Label = (&'static str, &'static str, &'static str, &'static str);

fn rule(
    choice: &'static str,
    (name, symbol, formula, source): Label,
    bytes: Bytes,
    counts: &'static str,
    leaves_out: &'static str,
) -> Rule {
    Rule {
        choice,
        row: PlanRow::bytes(name, symbol, bytes, formula, source),
        bytes,
        counts,
        leaves_out,
    }
}

/// All rules for one link.
pub(super) struct Rules {
    /// The engine's own rule, then the standard's if it has one for this rate, then the others.
    pub all: Vec<Rule>,
    /// The parts of the standard's sum.
    pub annex: Option<AnnexN>,
}

/// The rules for the link of `input`.
pub(super) fn rules(input: &PlanInput, link: &Link) -> Rules {
    let other = input.mtu_other.unwrap_or(link.mtu).max(link.mtu);
    let annex = AnnexN::of(link.rate, other, link.mtu, link.t_w);
    let mut all = vec![exact(link)];
    all.extend(annex.as_ref().map(standard));
    all.extend(sonic_formulas(link, other));
    all.extend(sonic_tables(link));
    all.extend(closed_forms(link, other));
    Rules { all, annex }
}

/// The cable; if its delay was given, one of that delay at 5 ns a metre.
fn cable(link: &Link) -> Length {
    Length(link.t_w.0.div_ceil(Length::from_m(1).propagation().0 / 1_000))
}

fn exact(link: &Link) -> Rule {
    let source = "simulated: no frame lost, one byte less loses (docs/mechanisms/pfc.md)";
    rule(
        "worst-case",
        ("headroom, worst case", "H worst", "C tau + MTU", source),
        pfc::headroom(&link.control_loop(Bytes::ZERO)),
        "the frame that passes XOFF, a frame and other control frames before the PAUSE, the PAUSE, cable in both directions, t_r, a frame just begun",
        "response and interfaces beyond t_r; preamble and gap of frames",
    )
}

fn standard(annex: &AnnexN) -> Rule {
    let (source, leaves_out) = match annex.basis {
        Basis::Published => {
            ("IEEE 802.1Q Annex N, delays published for this rate", "the frame that passes XOFF")
        }
        Basis::Interpolated => (
            "IEEE 802.1Q Annex N, response published, interface delay interpolated",
            "the frame that passes XOFF; the interface delay is not published",
        ),
    };
    let formula = "MTU_other + 2 D_cable + 2 D_intf + D_pause + D_resp + MTU, in bit times";
    rule(
        "802.1q",
        ("headroom, sum of components", "H 802.1q", formula, source),
        annex.bytes(),
        "a frame before the PAUSE, the PAUSE, cable in both directions, two interfaces, the longest response allowed, a frame just begun",
        leaves_out,
    )
}

/// The dynamic buffer model of SONiC, one rule for each generation that differs: without a shared
/// pool of headroom, all frames of 64 B.
fn sonic_formulas(link: &Link, other: Bytes) -> impl Iterator<Item = Rule> {
    let port = sonic::Port {
        rate: link.rate,
        length: cable(link),
        mtu: other,
        lossless_mtu: link.mtu,
        small_percent: 100,
        lanes: 4,
        shared_headroom: false,
    };
    sonic::ASICS.iter().map(move |asic| {
        let formula = "MTU + cells x (MTU_other + 2 cables + response + 819 B), rounded up to KiB";
        rule(
            asic.choice,
            ("headroom, SONiC dynamic model", asic.symbol, formula, "sonic-swss, buffer_headroom_mellanox.lua with asic_table.j2"),
            sonic::dynamic(asic, &port).xoff,
            "two frames, cable in both directions at 198,000 km/s, response time of 802.3, all in cells that 64 B frames leave half empty",
            "the frame that passes the trigger; interfaces are 819 B at every rate",
        )
    })
}

/// Rows of published tables that cover the link.
fn sonic_tables(link: &Link) -> impl Iterator<Item = Rule> {
    sonic::rows_for(link.rate, cable(link)).into_iter().map(|row| {
        rule(
            "",
            (
                "headroom, SONiC lookup table",
                row.symbol,
                "xoff of the row with the shortest cable that is long enough",
                row.platform,
            ),
            row.profile.xoff,
            "the value that the vendor found for this rate and cable",
            "frames longer than the 9100 B of the platform; other chips",
        )
    })
}

fn closed_forms(link: &Link, other: Bytes) -> [Rule; 4] {
    let (rate, mtu, length) = (link.rate, link.mtu, cable(link));
    [
        rule(
            "mlx5e",
            (
                "headroom, NIC driver",
                "H mlx5e",
                "(301 + 2.16 m) x max(Gb/s, 40) + 2.72 MTU",
                "Linux mlx5e, port_buffer.c",
            ),
            headroom::mlx5e(rate, mtu, length),
            "2.72 frames, a fitted cable and response of a NIC",
            "frames of other classes; t_r",
        ),
        rule(
            "cisco",
            (
                "headroom, shorthand",
                "H cisco",
                "MTU_other + MTU + 3840 B + 130 B per 100 m and Gb/s",
                "Cisco white paper c11-542809",
            ),
            headroom::cisco(rate, other, mtu, length),
            "two frames, 60 quanta of response, cable in both directions",
            "interfaces, the PAUSE, the frame that passes XOFF; above 10 Gb/s 60 quanta are less than peers take",
        ),
        rule(
            "gfc",
            (
                "headroom, one feedback latency",
                "H gfc",
                "C tau, without the frame that passes XOFF",
                "GFC section 4.2",
            ),
            headroom::gfc(rate, link.tau),
            "all bytes that arrive in one feedback latency",
            "the frame that passes XOFF",
        ),
        rule(
            "hpcc",
            ("headroom, HPCC simulator", "H hpcc", "3 C t_w", "HPCC simulator, third.cc"),
            headroom::hpcc(rate, link.t_w),
            "one and a half round trips of the cable",
            "frames and response; on a short link the result is almost 0",
        ),
    ]
}

impl Rules {
    /// The engine's own rule.
    pub fn exact(&self) -> &Rule {
        &self.all[0]
    }

    /// The rule of this name, or the safe one: the largest of the engine's own and the standard's.
    /// `None`: there is none for this rate.
    pub fn choose(&self, name: &str) -> Option<&Rule> {
        let named = |name: &str| self.all.iter().find(|r| r.choice == name);
        if name != HEADROOMS[0] {
            return named(name);
        }
        let exact = self.exact();
        Some(named("802.1q").filter(|r| r.bytes > exact.bytes).unwrap_or(exact))
    }

    /// Every rule against the chosen one, which stands first.
    pub fn against(&self, chosen: &Rule) -> Vec<Evidence> {
        let one = |r: &Rule| Evidence {
            row: r.row.clone(),
            choice: r.choice,
            chosen: r.row.symbol == chosen.row.symbol,
            difference: r.bytes.0 as i64 - chosen.bytes.0 as i64,
            counts: r.counts,
            leaves_out: r.leaves_out,
        };
        let mut all: Vec<Evidence> = self.all.iter().map(one).collect();
        all.sort_by_key(|e| !e.chosen);
        all
    }
}
