//! The arithmetic of the GFC paper, row by row: section 5.4, the theorems, the testbed's
//! thresholds. Comments name the printed value; where it is wrong, the right one is asserted and
//! the printed one noted.

use xoff_analysis::plan::{
    Parameters, cbfc, conditions, gfc_buffer, gfc_conceptual, gfc_time, link,
};
use xoff_analysis::theorems::{message_rate, theorem_4_1, theorem_5_1};
use xoff_units::{Bytes, Length, Rate, Span};

const GBPS: [u64; 3] = [10, 40, 100];
const T_W: Span = Span::from_us(1);
const T_R: Span = Span::from_us(3);

fn tau(gbps: u64, mtu: u64) -> Span {
    link::tau(Rate::from_gbps(gbps), Bytes(mtu), T_W, T_R)
}

fn close(value: f64, expected: f64, relative: f64) {
    assert!(
        (value / expected - 1.0).abs() <= relative,
        "{value} is not {expected} within {relative}"
    );
}

fn warned(flow_control: &str, p: &Parameters) -> Vec<&'static str> {
    conditions(flow_control, p).iter().map(|w| w.condition).collect()
}

/// A port with the paper's 2 MTU of slack, so that only the condition under test can fail.
fn port(rate_gbps: u64, tau: Span, buffer_kb: u64) -> Parameters {
    Parameters {
        rate: Rate::from_gbps(rate_gbps),
        tau,
        mtu: Bytes(1_500),
        buffer: Bytes::from_kb(buffer_kb),
        ..Parameters::default()
    }
}

/// Section 5.4, CEE: printed 7.4 / 5.6 / 5.2 us; the last is 5.24, cut.
#[test]
fn tau_of_ethernet() {
    assert_eq!(GBPS.map(|g| tau(g, 1_500)), [7_400, 5_600, 5_240].map(Span::from_ns));
}

/// Section 5.4, InfiniBand: printed 11.4 / 6.6 / 5.6 us. Exact for "4KB" = 4000 B.
#[test]
fn tau_of_infiniband() {
    assert_eq!(GBPS.map(|g| tau(g, 4_000)), [11_400, 6_600, 5_640].map(Span::from_ns));
    for (g, us) in [(10, 11.55), (40, 6.64), (100, 5.66)] {
        close(tau(g, 4_096).as_secs_f64() * 1e6, us, 0.005);
    }
}

/// Section 5.4, 2 C tau: printed 18.5 / 56 / 130 KB; the last is 131.0 (130 comes from the cut 5.2
/// us).
#[test]
fn two_c_tau() {
    let kb = GBPS.map(|g| gfc_buffer::range(Rate::from_gbps(g), tau(g, 1_500)));
    assert_eq!(kb, [Bytes(18_500), Bytes(56_000), Bytes(131_000)]);
    assert_eq!(gfc_buffer::range(Rate::from_gbps(100), Span::from_ns(5_200)), Bytes(130_000));
}

/// Section 5.4, number of stages: printed 16 / 18 / 20; B_N - B_{N-1} <= 8 bit gives 16 / 17 / 18.
/// With the InfiniBand latencies 16 / 18 / 19, so no set of latencies gives both 18 and 20.
#[test]
fn stage_counts() {
    let count =
        |g, mtu| gfc_buffer::stage_count(gfc_buffer::range(Rate::from_gbps(g), tau(g, mtu)));
    assert_eq!(GBPS.map(|g| count(g, 1_500)), [16, 17, 18]);
    // 28.5, 66 and 141 KB.
    assert_eq!(GBPS.map(|g| count(g, 4_000)), [16, 18, 19]);
}

/// Section 5.4: R_k = C/2^k, B_k = B_m - (B_m - B_1)/2^(k-1); Eq. (1) with equality for B_m - B_1 =
/// 2 C tau.
#[test]
fn stage_table_is_exact() {
    // tau = 26.2144 us at 10 Gb/s: 2 C tau = 2^16 B, so that every stage is a whole number of
    // bytes.
    let (c, tau) = (Rate::from_gbps(10), Span(26_214_400));
    assert_eq!(gfc_buffer::range(c, tau), Bytes(65_536));
    let stages = gfc_buffer::stage_table(c, Bytes(300_000), Bytes(300_000 - 65_536));
    assert_eq!(stages.len(), 17);
    for (i, s) in stages.iter().enumerate() {
        let k = s.k;
        assert_eq!(k as usize, i + 1);
        assert_eq!(s.threshold, Bytes(300_000 - (65_536 >> (k - 1))));
        assert_eq!(s.rate, Rate(c.0 >> k));
        if let Some(next) = stages.get(i + 1) {
            assert_eq!((next.threshold - s.threshold).0, 65_536 >> k);
            // R_{k-1} tau = (C tau)/2^(k-1).
            assert_eq!((next.threshold - s.threshold).0, link::bytes_ceil(c, tau).0 >> (k - 1));
        }
    }
}

/// Section 6.2.2: B 300, B_1 281 KB, B_{n+1} - B_n = 19 x 2^-n KB.
#[test]
fn stages_of_the_fat_tree_case() {
    let stages = gfc_buffer::stage_table(Rate::from_gbps(10), Bytes(300_000), Bytes(281_000));
    assert_eq!(stages[1].threshold, Bytes(290_500));
    let steps: Vec<u64> =
        stages.windows(2).take(3).map(|w| (w[1].threshold - w[0].threshold).0).collect();
    assert_eq!(steps, [9_500, 4_750, 2_375]);
    assert_eq!((stages.len(), stages[15].rate), (16, Rate(152_587)));
    // The bounds: 300 - 18.5 = 281.5 KB with the Ethernet latency, 300 - 140.9 = 159.1 KB with
    // InfiniBand's.
    let b = Bytes(300_000);
    assert_eq!(b - gfc_buffer::range(Rate::from_gbps(10), tau(10, 1_500)), Bytes(281_500));
    let time = gfc_time::range(
        Rate::from_gbps(10),
        tau(10, 4_000),
        cbfc::period_bytes(Rate::from_gbps(10)),
    );
    assert!(b - time >= Bytes(159_000) && b - time < Bytes(159_200));
}

/// Section 4.2: m/tau = 69 Mb/s, m/(8 tau) = 8.6 Mb/s: right as arithmetic.
#[test]
fn message_rates() {
    let m = message_rate::MESSAGE;
    close(message_rate::worst(m, tau(10, 1_500)).as_f64(), 69.19e6, 0.005);
    close(message_rate::steady_as_printed(m, tau(10, 1_500)).as_f64(), 8.65e6, 0.005);
}

/// Section 4.2, "steady worst case m/(8 tau)": the limit cycle gives m/(2 tau) = 34.6 Mb/s at R_d =
/// 0.75 C, and 22.1 Mb/s at 0.2 or 0.8 of the step; the event-driven fluid agrees.
#[test]
fn limit_cycle_message_rate() {
    let (m, c, half, tau) =
        (message_rate::MESSAGE, Rate::from_gbps(10), Rate::from_gbps(5), tau(10, 1_500));
    for (drain, mbps) in [(7_500_000_000, 34.6), (6_000_000_000, 22.1), (9_000_000_000, 22.1)] {
        let closed = message_rate::limit_cycle(m, tau, c, half, Rate(drain)).as_f64();
        let fluid =
            message_rate::simulate(m, tau, c, half, Rate(drain), Span::from_ms(10)).rate.as_f64();
        close(closed, mbps * 1e6, 0.005);
        close(fluid, mbps * 1e6, 0.005);
        // No drain between the two stages does worse than midway.
        assert!(closed <= message_rate::steady_worst(m, tau).as_f64());
    }
}

/// Section 5.4, (sqrt(tau/T)+1)^2 C T: printed 140.8 / 191.4 / 271 KB, which are the InfiniBand
/// latencies.
#[test]
fn theorem_5_1_bounds() {
    let bound = |g: u64, tau: Span| {
        theorem_5_1::bound(Rate::from_gbps(g), tau, cbfc::period_bytes(Rate::from_gbps(g))).0 as f64
    };
    for ((g, tau), kb) in [(10, 11_400), (40, 6_600), (100, 5_600)]
        .map(|(g, ns)| (g, Span::from_ns(ns)))
        .into_iter()
        .zip([140.8, 191.4, 271.0])
    {
        close(bound(g, tau), kb * 1e3, 0.005);
    }
    close(bound(100, Span::from_ns(5_640)), 271.9e3, 0.0005);
    for (g, kb) in [(10, 124.0), (40, 179.2), (100, 262.0)] {
        close(bound(g, tau(g, 1_500)), kb * 1e3, 0.005);
    }
}

/// Theorem 5.1 against the sampled fluid over all phases. A visible overshoot (one byte) starts 3-4
/// % below the bound for tau <= T, and above it for tau > T: the counter-examples.
#[test]
fn theorem_5_1_holds_up_to_t_and_fails_beyond() {
    let us = |us: f64| Span::from_secs_f64(us * 1e-6);
    // (rate, tau, T, critical KB, printed bound KB)
    let cases = [
        (10, 7.4, 52.428, 119.5, 124.0),
        (10, 11.4, 52.428, 136.2, 140.9),
        (40, 6.6, 13.107, 185.5, 191.5),
        (100, 5.64, 5.2428, 273.1, 271.9),
        (10, 90.0, 52.428, 388.7, 349.7),
    ];
    for (g, tau, period, critical_kb, bound_kb) in cases {
        let (c, tau, period) = (Rate::from_gbps(g), us(tau), us(period));
        let bound = theorem_5_1::bound(c, tau, period);
        let critical = theorem_5_1::critical(c, tau, period, 1.0);
        let exact = theorem_5_1::bound_any(c, tau, period);
        close(bound.0 as f64, bound_kb * 1e3, 0.001);
        close(critical.0 as f64, critical_kb * 1e3, 0.02);
        assert!(critical < exact);
        assert_eq!(tau > period, critical > bound, "{tau} {period}");
        if tau <= period {
            // Exact: the smallest range whose gap stays positive is the theorem's, to the byte.
            assert_eq!(bound, exact);
            assert_eq!(theorem_5_1::overshoot(c, tau, period, bound), 0.0);
        } else {
            assert!(theorem_5_1::overshoot(c, tau, period, bound) > 1.0);
            assert_eq!(theorem_5_1::overshoot(c, tau, period, exact), 0.0);
        }
    }
}

/// Theorem 4.1 by the delay equation: never above B_m for l >= 4; above for l <= 2.5 with a stopped
/// drain, by these overshoots [C tau]; onset at e.
#[test]
fn theorem_4_1_by_the_delay_equation() {
    for l in [1.0, 1.5, 2.0, 2.5, std::f64::consts::E, 3.0, 4.0, 5.0, 8.0] {
        for tenths in 0..10 {
            let gap = theorem_4_1::smallest_gap(l, f64::from(tenths) / 10.0);
            if l >= 4.0 {
                assert!(gap > 0.0, "l = {l}, R_d = 0.{tenths} C");
            }
            if l <= 2.5 && tenths == 0 {
                assert!(gap < 0.0, "l = {l}");
            }
        }
    }
    for (l, overshoot) in [(2.5, 0.00177), (2.0, 0.08104), (1.5, 0.26289), (1.0, 0.50)] {
        assert!(
            (theorem_4_1::overshoot(l, 0.0) - overshoot).abs() < 0.00001,
            "l = {l}: {}",
            theorem_4_1::overshoot(l, 0.0)
        );
    }
    let onset = theorem_4_1::onset();
    assert!((onset - std::f64::consts::E).abs() < 0.001, "{onset}");
}

/// Fig. 5: B_m - B_0 = 50 KB = 1.6 C tau violates Theorem 4.1 (125 KB), and draws the warning.
#[test]
fn fig_5_violates_theorem_4_1() {
    let p = Parameters {
        b_m: Some(Bytes(100_000)),
        b_0: Some(Bytes(50_000)),
        ..port(10, Span::from_us(25), 103)
    };
    assert_eq!(gfc_conceptual::range_sufficient(p.rate, p.tau), Bytes(125_000));
    assert_eq!(warned("gfc-conceptual", &p), ["B_0 <= B_m - 4 C tau"]);
    assert!(conditions("gfc-conceptual", &p)[0].text.contains("reaches B_m when the drain stops"));
    // B_m = B, as in the figure, leaves no room for packets either.
    let p = Parameters { buffer: Bytes(100_000), ..p };
    assert_eq!(warned("gfc-conceptual", &p), ["B_0 <= B_m - 4 C tau", "B_m + 2 MTU <= buffer"]);
}

/// Section 6.1: the testbed's thresholds. B_1 = 750 KB against a bound of 775 (750 is exactly tau =
/// 100 us); B_0 = 492 KB against 650 by the theorem, which is false there (tau > T), and 601 by the
/// exact bound: safe either way.
#[test]
fn testbed_thresholds() {
    let (c, tau, b) = (Rate::from_gbps(10), Span::from_us(90), Bytes(1_000_000));
    let period = cbfc::period_bytes(c);
    assert_eq!(b - gfc_buffer::range(c, tau), Bytes(775_000));
    assert_eq!(b - gfc_buffer::range(c, Span::from_us(100)), Bytes(750_000));
    close((b - theorem_5_1::bound(c, tau, period)).0 as f64, 650.3e3, 0.001);
    close((b - gfc_time::range(c, tau, period)).0 as f64, 600.9e3, 0.001);
    // Steady queue of time-based GFC: printed 745 KB, (1000 + 492)/2 = 746; by credit 86 us lower
    // it is 692.
    assert_eq!(gfc_time::steady_by_occupancy(c, c / 2, b, Bytes(492_000)), Bytes(746_000));
    assert_eq!(
        gfc_time::steady_by_credit(c, c / 2, b, Bytes(492_000), Span::from_us(86)),
        Bytes(692_250)
    );
    // Overshoot to 884 KB: stage 2 starts at 875 KB, its rate is 2.5 Gb/s.
    let stages = gfc_buffer::stage_table(c, b, Bytes(750_000));
    assert_eq!((stages[1].threshold, stages[1].rate), (Bytes(875_000), Rate(2_500_000_000)));

    let testbed = Parameters {
        b_m: Some(Bytes(1_000_000)),
        b_0: Some(Bytes(492_000)),
        b_1: Some(Bytes(750_000)),
        period: Some(period),
        ..port(10, tau, 1_003)
    };
    assert!(warned("gfc-buffer", &testbed).is_empty());
    assert_eq!(warned("gfc-time", &testbed), ["tau <= T"]);
    assert!(conditions("gfc-time", &testbed)[0].text.ends_with("it is met"));
}

/// Section 7: six cascaded 16:1 fan-ins leave 0.59 / 2.38 / 5.96 kb/s, below the 8 kb/s unit. The
/// stages never do.
#[test]
fn cascaded_fan_in() {
    for (g, kbps) in [(10, 0.596), (40, 2.384), (100, 5.960)] {
        let c = Rate::from_gbps(g);
        close((0..6).fold(c, |r, _| r / 16).as_f64(), kbps * 1e3, 0.002);
        let range = gfc_buffer::range(c, tau(g, 1_500));
        let lowest = gfc_buffer::stage_table(c, range, Bytes::ZERO).last().unwrap().rate;
        assert!(lowest > Rate(8_000), "{lowest}");
    }
    let p = Parameters {
        b_m: Some(Bytes(300_000)),
        b_1: Some(Bytes(281_500)),
        rate_lowest: Some(Rate(7_999)),
        ..port(10, tau(10, 1_500), 303)
    };
    assert_eq!(warned("gfc-buffer", &p), ["R_N >= rate unit"]);
    assert!(warned("gfc-buffer", &Parameters { rate_lowest: None, ..p }).is_empty());
}

/// Section 5.4 (2): 100 m take 500 ns at 2 x 10^8 m/s; printed 512.
#[test]
fn wire_delay() {
    assert_eq!(Length::from_m(100).propagation(), Span::from_ns(500));
}

/// CBFC in 12 bits: 131,072 B at most. The paper's 1 MB and 300 KB buffers exceed it, and so does
/// B_m - B_0 = 140.8 KB.
#[test]
fn twelve_bit_credits() {
    assert_eq!(cbfc::twelve_bit_limit(), Bytes(131_072));
    for kb in [1_000, 300, 280] {
        let p = Parameters { twelve_bit: true, ..port(10, tau(10, 1_500), kb) };
        assert_eq!(warned("cbfc", &p), ["buffer <= 2048 x 64 B"]);
        assert!(warned("cbfc", &Parameters { twelve_bit: false, ..p }).is_empty());
    }
    assert!(
        gfc_time::range(
            Rate::from_gbps(10),
            tau(10, 4_000),
            cbfc::period_bytes(Rate::from_gbps(10))
        ) > cbfc::twelve_bit_limit()
    );
}

/// The two credit periods: 65535 B / C = 52.4 / 13.1 / 5.24 us, and 65,536 symbol times of one lane
/// of four = 262.1 us at 10 Gb/s, 65.5 us at 40 Gb/s: a factor of five.
#[test]
fn credit_periods() {
    let by_bytes = GBPS.map(|g| cbfc::period_bytes(Rate::from_gbps(g)));
    assert_eq!(by_bytes, [Span(52_428_000), Span(13_107_000), Span(5_242_800)]);
    assert_eq!(cbfc::period_symbols(Rate::from_gbps(10), 4), Span(262_144_000));
    assert_eq!(cbfc::period_symbols(Rate::from_gbps(40), 4), Span(65_536_000));
    // TCD section 4.4, B > C T_c with a 280 KB buffer: 327.7 KB at 40 Gb/s, 262.1 KB at the data
    // rate of 32 Gb/s.
    let t_c = Span(65_536_000);
    assert_eq!(Rate::from_gbps(40).bytes_in(t_c), Bytes(327_680));
    assert_eq!(Rate::from_gbps(32).bytes_in(t_c), Bytes(262_144));
}

/// Section 5.3: 192 and 72 rate limiters.
#[test]
fn rate_limiters() {
    assert_eq!((gfc_buffer::rate_limiters(24, 8), gfc_buffer::rate_limiters(24, 3)), (192, 72));
}

/// Conditions of PFC, and of a buffer that credits cannot fill a link with.
#[test]
fn conditions_of_pfc_and_cbfc() {
    let p = Parameters {
        xoff: Some(Bytes(280_000)),
        xon: Some(Bytes(277_000)),
        ..port(10, tau(10, 1_500), 300)
    };
    assert!(warned("pfc", &p).is_empty());
    assert_eq!(
        warned("pfc", &Parameters { headroom: Some(Bytes(20_001)), ..p }),
        ["XOFF + headroom <= buffer"]
    );
    assert_eq!(
        warned("pfc", &Parameters { headroom: Some(Bytes(10_749)), ..p }),
        ["headroom >= C tau + MTU"]
    );
    assert_eq!(
        warned("pfc", &Parameters { xoff: Some(Bytes(289_251)), ..p }),
        ["XOFF + headroom <= buffer"]
    );
    assert!(warned("pfc", &Parameters { xoff: Some(Bytes(289_250)), ..p }).is_empty());
    assert_eq!(warned("pfc", &Parameters { xon: Some(Bytes(280_001)), ..p }), ["XON <= XOFF"]);
    assert_eq!(warned("pfc", &Parameters { xon: Some(Bytes(9_249)), ..p }), ["XON >= C tau"]);
    let p = Parameters { period: Some(Span(52_428_000)), ..port(10, tau(10, 1_500), 74) };
    assert_eq!(warned("cbfc", &p), ["buffer >= C (T + tau)"]);
    assert!(warned("cbfc", &Parameters { buffer: Bytes(50 * 1_536), ..p }).is_empty());
    assert_eq!(
        warned("cbfc", &Parameters { buffer: Bytes(1_000), period: None, ..p }),
        ["buffer >= 1 MTU in blocks"]
    );
    assert!(warned("none", &p).is_empty());
}
