//! Plans end to end: requests, answers and rejected input.

use xoff_analysis::plan::{self, PlanInput};
use xoff_units::Bytes;
use xoff_units::params::Defaults;

/// Defaults with the paper's wire delay of 1 us and `extra`.
fn input(flow_control: &str, extra: &[(&str, &str)]) -> PlanInput {
    let mut v = Defaults::of(plan::PARAMS).with("flow_control", flow_control).with("t_w", "1us");
    for (key, value) in extra {
        v = v.with(key, value);
    }
    PlanInput::read(&mut v).unwrap()
}

/// `plan` end to end with the paper's inputs: the same numbers, and a plan for the smallest buffer
/// has no warnings.
#[test]
fn plans_of_the_paper() {
    for fc in plan::FLOW_CONTROLS {
        for rate in ["10Gbps", "25Gbps", "40Gbps", "100Gbps", "400Gbps"] {
            let p = plan::plan(&input(fc, &[("rate", rate)])).unwrap();
            // 65535 B / C falls below tau from 100 Gb/s on.
            let expected: &[&str] = if *fc == "gfc-time"
                && (rate == "100Gbps" && p.integer("tau") > p.integer("T") || rate == "400Gbps")
            {
                &["tau <= T"]
            } else {
                &[]
            };
            let seen: Vec<_> = p.warnings.iter().map(|w| w.condition).collect();
            assert_eq!(seen, expected, "{fc} {rate}");
        }
    }
    let p = plan::plan(&input("gfc-buffer", &[("buffer", "300KB")])).unwrap();
    let get = |s| p.integer(s);
    assert_eq!(
        (get("tau"), get("2 C tau"), get("B_m"), get("B_1"), get("N")),
        (Some(7_451_200), Some(18_628), Some(297_000), Some(278_372), Some(16)),
        "Eq. (6) and the message itself; 2 MTU for whole frames"
    );
    assert_eq!(
        (p.tables[0].rows.len(), p.tables[0].rows[15][1], p.warnings.len()),
        (16, 296_999, 0)
    );
    let p = plan::plan(&input(
        "gfc-buffer",
        &[("buffer", "300KB"), ("b_m", "300KB"), ("tau", "7.4us")],
    ))
    .unwrap();
    let get = |s| p.integer(s);
    assert_eq!(
        (get("2 C tau"), get("B_m"), get("B_1"), get("N")),
        (Some(18_500), Some(300_000), Some(281_500), Some(16)),
        "the paper's"
    );
    assert_eq!(p.warnings.len(), 1); // B_m = B, as in the paper, leaves no room for packets

    let p = plan::plan(&input("gfc-time", &[("buffer", "300KB"), ("mtu", "4000B")])).unwrap();
    assert_eq!((p.integer("T"), p.integer("B_0")), (Some(52_428_000), Some(292_000 - 141_105)));

    let p = plan::plan(&input("pfc", &[("buffer", "300KB"), ("xoff", "280KB"), ("xon", "277KB")]))
        .unwrap();
    assert_eq!(
        (p.integer("H gfc"), p.integer("XOFF"), p.warnings.len()),
        (Some(9_314), Some(280_000), 0)
    );
    let p = plan::plan(&input("pfc", &[("buffer", "300KB")])).unwrap();
    // 802.1Q: two frames and a PAUSE with 20 B each, 2 us of cable, two interfaces and the
    // response, in bits.
    let annex = (2 * 1_520 * 8 + 672 + 20_000 + 2 * 8_192 + 30_720) / 8;
    assert_eq!(
        (p.integer("XOFF"), p.integer("XON")),
        (Some(300_000 - annex), Some(297_000 - annex))
    );
    let p = plan::plan(&input("pfc", &[("buffer", "300KB"), ("headroom", "worst-case")])).unwrap();
    assert_eq!((p.integer("XOFF"), p.integer("XON")), (Some(289_186), Some(286_186)));

    let p = plan::plan(&input("cbfc", &[("buffer", "1MB")])).unwrap();
    assert_eq!((p.integer("B blocks"), p.integer("B_full")), (Some(15_625), Some(50 * 1_536)));
}

/// A mechanism or value without a plan is rejected by its key.
#[test]
fn refusals() {
    let refuse = |fc: &str, extra: &[(&str, &str)]| {
        let mut v = Defaults::of(plan::PARAMS).with("flow_control", fc);
        for (key, value) in extra {
            v = v.with(key, value);
        }
        PlanInput::read(&mut v).and_then(|i| plan::plan(&i)).unwrap_err().key
    };
    assert_eq!(refuse("pfc", &[("buffer", "5KB")]), "buffer");
    assert_eq!(refuse("pfc", &[("buffer", "100KB"), ("xoff", "50KB"), ("xon", "60KB")]), "xon");
    assert_eq!(refuse("pfc", &[("rate", "800Gbps"), ("headroom", "802.1q")]), "headroom");
    assert_eq!(refuse("cbfc", &[("buffer", "1000B")]), "buffer");
    assert_eq!(refuse("gfc-conceptual", &[("buffer", "20KB")]), "buffer");
    assert_eq!(refuse("gfc-buffer", &[("buffer", "10KB")]), "buffer");
    assert_eq!(refuse("gfc-buffer", &[("buffer", "100KB"), ("b_1", "100KB")]), "b_1");
    assert_eq!(refuse("gfc-buffer", &[("buffer", "100KB"), ("b_m", "101KB")]), "b_m");
    assert_eq!(refuse("gfc-time", &[("buffer", "100KB")]), "buffer");
    assert_eq!(refuse("gfc-time", &[("rate", "0bps")]), "rate");
    assert_eq!(refuse("gfc-time", &[("rate", "10")]), "rate");
    assert_eq!(refuse("ethernet", &[]), "flow_control");
    assert_eq!(refuse("ethernet", &[("detection", "tcd")]), "flow_control");
    assert_eq!(refuse("pfc", &[("detection", "red")]), "detection");
    assert_eq!(refuse("pfc", &[("detection", "tcd"), ("epsilon", "0")]), "epsilon");
    assert_eq!(refuse("pfc", &[("detection", "tcd"), ("xoff", "1KB"), ("xon", "2KB")]), "xon");
    assert_eq!(refuse("pfc", &[("detection", "tcd"), ("xon", "2KB")]), "xon");
    assert_eq!(refuse("pffc", &[("xoff_s", "10KB"), ("xon_s", "11KB")]), "xon_s");
    assert_eq!(refuse("pffc", &[("xoff_s", "0B")]), "xoff_s");
    assert_eq!(refuse("pffc", &[("buffer", "20KB")]), "buffer");
    assert_eq!(refuse("pffc", &[("queues", "0")]), "queues");
    assert_eq!(refuse("pffc", &[("slots", "65537")]), "slots");
    assert_eq!(refuse("pffc", &[("flows", "0")]), "flows");
    assert_eq!(refuse("pffc", &[("hops", "65")]), "hops");
    assert_eq!(refuse("pffc", &[("detection", "tcd")]), "flow_control");
    assert_eq!(refuse("cbfc", &[("detection", "pffc")]), "flow_control");
}

/// SplitMix64: enough to draw links by.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    }

    /// A link with frames, delays and priorities of any size.
    fn link(&mut self) -> Vec<(&'static str, String)> {
        let gbps = [1, 10, 25, 40, 50, 100, 200, 400, 800, 7][self.roll(10) as usize];
        let mtu = 64 + self.roll(9_153);
        vec![
            ("rate", format!("{gbps}Gbps")),
            ("t_w", format!("{}ps", self.roll(20_000_000))),
            ("mtu", format!("{mtu}B")),
            ("mtu_other", format!("{}B", 64 + self.roll(9_153))),
            ("t_r", format!("{}ps", self.roll(8_000_000))),
            ("priorities", (1 + self.roll(8)).to_string()),
        ]
    }
}

fn of(flow_control: &str, given: &[(&str, String)]) -> plan::Plan {
    let given: Vec<(&str, &str)> = given.iter().map(|(k, v)| (*k, v.as_str())).collect();
    plan::plan(&input(flow_control, &given)).unwrap()
}

/// The default headroom is never below the exact rule, nor below the standard's row; it is one of
/// them; and every other choice is warned of exactly if it is below the exact rule.
#[test]
fn the_default_headroom_is_safe() {
    let (mut by_standard, mut by_exact, mut warned) = (0, 0, 0);
    let mut dice = Dice(13);
    for _ in 0..2_000 {
        let link = dice.link();
        let p = of("pfc", &link);
        let (h, exact, standard) =
            (p.integer("H").unwrap(), p.integer("H worst").unwrap(), p.integer("H 802.1q"));
        assert!(h >= exact && h >= standard.unwrap_or(0), "{link:?}");
        assert!(h == exact || Some(h) == standard, "{link:?}");
        assert!(
            p.evidence[0].chosen
                && p.evidence[0].difference == 0
                && p.evidence.iter().filter(|e| e.chosen).count() == 1,
            "{link:?}"
        );
        assert_eq!(p.integer("B").unwrap() - h, p.integer("XOFF").unwrap());
        let below =
            |p: &plan::Plan| p.warnings.iter().any(|w| w.condition == "headroom >= C tau + MTU");
        assert!(!below(&p), "{link:?}");
        *if h == exact { &mut by_exact } else { &mut by_standard } += 1;

        let choice = plan::HEADROOMS[dice.roll(plan::HEADROOMS.len() as u64) as usize];
        if choice == "802.1q" && standard.is_none() {
            continue;
        }
        let p = of("pfc", &[&link[..], &[("headroom", choice.to_owned())]].concat());
        let h = p.integer("H").unwrap();
        assert_eq!(below(&p), h < exact, "{choice} {link:?}");
        if h < exact {
            let text =
                &p.warnings.iter().find(|w| w.condition == "headroom >= C tau + MTU").unwrap().text;
            assert!(text.contains(&format!("{h} B < C tau + MTU = {exact} B")), "{text}");
            warned += 1;
        }
        for e in &p.evidence {
            assert_eq!(
                e.row.value_exact,
                plan::Exact::Integer((h as i64 + e.difference) as u64),
                "{choice} {link:?}"
            );
            assert_eq!(
                p.integer(e.row.symbol).map(plan::Exact::Integer),
                Some(e.row.value_exact),
                "its row is there too"
            );
        }
    }
    assert!(
        by_standard > 100 && by_exact > 100 && warned > 100,
        "{by_standard} {by_exact} {warned}"
    );
}

/// The link that was reported: 93,432 B were picked, next to rows of 111,992 and 119,968 B.
#[test]
fn the_reported_link_gets_the_standards_headroom() {
    let link =
        [("rate", "100Gbps"), ("t_w", "1500ns"), ("mtu", "9216B")].map(|(k, v)| (k, v.to_owned()));
    let p = of("pfc", &link);
    let set: Vec<(&str, plan::Exact)> =
        p.answer.set.iter().map(|r| (r.symbol, r.value_exact)).collect();
    let bytes = plan::Exact::Integer;
    assert_eq!(
        set,
        [
            ("XOFF", bytes(111_928)),
            ("XON", bytes(93_496)),
            ("H", bytes(111_992)),
            ("B", bytes(223_920))
        ],
        "per priority and port; nothing is multiplied"
    );
    assert_eq!(
        (p.integer("H worst"), p.integer("H gfc"), p.integer("H mlx5e")),
        (Some(102_712), Some(93_496), Some(119_968))
    );
    assert!(
        p.answer.why[0].contains("802.1Q Annex N = 111992 B; it exceeds")
            && p.answer.why[0].contains("102712 B"),
        "{}",
        p.answer.why[0]
    );
    assert!(
        p.answer
            .check
            .iter()
            .any(|c| c.contains("802.1Q allows 4.475 us") && c.contains("--t-r 4.475us")),
        "{:?}",
        p.answer.check
    );
    assert!(
        p.answer
            .apply
            .iter()
            .any(|c| c.contains("xoff = \"111928B\"") && c.contains("xon = \"93496B\"")),
        "{:?}",
        p.answer.apply
    );
    let many = of(
        "pfc",
        &[&link[..], &[("priorities", "2".to_owned()), ("ports", "32".to_owned())]].concat(),
    );
    let total = many.answer.set.last().unwrap();
    assert_eq!(
        (total.symbol, total.value_exact),
        ("H switch", bytes(64 * many.integer("H").unwrap()))
    );
    assert!(
        many.answer.why.iter().any(|w| w.contains("B x 2 priorities x 32 ports = ")),
        "{:?}",
        many.answer.why
    );
    let less = of("pfc", &[&link[..], &[("headroom", "hpcc".to_owned())]].concat());
    assert!(
        less.answer.why.iter().all(|w| !w.contains("is enough against loss")),
        "{:?}",
        less.answer.why
    );
    // Each ASIC and each table that covers the link has a row.
    let symbols: Vec<&str> = p.evidence.iter().map(|e| e.row.symbol).collect();
    for symbol in [
        "H sonic-spectrum",
        "H sonic-spectrum-6",
        "H MSN2700",
        "H SN4280",
        "H SN5610N",
        "H 7050CX3",
        "H cisco",
        "H hpcc",
        "H gfc",
    ] {
        assert!(symbols.contains(&symbol), "{symbol}: {symbols:?}");
    }
}

/// A standard without published delays for a rate is marked as interpolated, or to have no row.
#[test]
fn where_the_standards_row_comes_from() {
    let plan = |rate: &str| of("pfc", &[("rate", rate.to_owned())]);
    let source = |rate| plan(rate).row("H 802.1q").map(|r| r.source);
    assert!(source("100Gbps").unwrap().contains("published for this rate"));
    for rate in ["50Gbps", "200Gbps", "400Gbps"] {
        assert!(source(rate).unwrap().contains("interpolated"), "{rate}");
        assert!(plan(rate).answer.why[0].contains("interpolated"), "{rate}");
    }
    assert_eq!(source("800Gbps"), None);
    assert!(plan("800Gbps").answer.why[0].contains("no delays for 800 Gb/s"));
}

/// Every plan begins with something to set.
#[test]
fn every_plan_has_an_answer() {
    for fc in plan::FLOW_CONTROLS {
        let p = plan::plan(&input(fc, &[])).unwrap();
        assert!(
            p.answer.set.len() >= 2 && p.answer.check.iter().any(|c| c.contains("t_r = 3 us")),
            "{fc}: {:?}",
            p.answer
        );
    }
    let p = plan::plan(&input("pfc", &[("detection", "tcd")])).unwrap();
    assert_eq!(p.answer.set.iter().map(|r| r.symbol).collect::<Vec<_>>(), ["max(T_on)", "T"]);
}

/// A given threshold replaces the bound: the plan follows it, and names what it violates.
#[test]
fn given_thresholds() {
    let plan = |fc: &str, extra: &[(&str, &str)]| plan::plan(&input(fc, extra)).unwrap();
    // The testbed of section 6.1.
    let testbed =
        [("tau", "90us"), ("buffer", "1MB"), ("b_m", "1MB"), ("b_1", "750KB"), ("b_0", "492KB")];
    let p = plan("gfc-buffer", &testbed);
    assert_eq!(
        (p.integer("B_1"), p.integer("2 C tau"), p.tables[0].rows[1][1]),
        (Some(750_000), Some(225_000), 875_000)
    );
    let p = plan("gfc-time", &testbed);
    assert_eq!((p.integer("B_s occupancy"), p.integer("range")), (Some(746_000), Some(399_085)));
    assert_eq!(
        p.warnings.iter().map(|w| w.condition).collect::<Vec<_>>(),
        ["tau <= T", "B_m + 2 MTU <= buffer"]
    );
    // Fig. 5 runs, with its warning.
    let p = plan(
        "gfc-conceptual",
        &[("tau", "25us"), ("buffer", "103KB"), ("b_m", "100KB"), ("b_0", "50KB")],
    );
    assert_eq!((p.integer("B_s"), p.warnings[0].condition), (Some(75_000), "B_0 <= B_m - 4 C tau"));
    // Without a buffer it follows from the threshold.
    assert_eq!(
        plan("gfc-buffer", &[("b_1", "100KB")]).integer("B"),
        Some(100_000 + 18_628 + 3_000)
    );
    assert_eq!(plan("pfc", &[("xoff", "100KB")]).integer("B"), Some(111_512));
}

/// `plan pffc`: what the law needs, how many flows a buffer, the pause queues and the table are
/// good for.
#[test]
fn flows_of_pffc() {
    let plan = |extra: &[(&str, &str)]| plan::plan(&input("pffc", extra)).unwrap();
    let p = plan(&[]);
    let get = |s| p.integer(s);
    // C tau = 10 Gb/s x 7.4 us; one MTU and 6 flows with 4 messages of 64 B above it.
    let flow = 18_500 + 9_250 + 1_500 + 6 * 256;
    assert_eq!((get("Xoff_s"), get("Xon_s"), get("H")), (Some(18_500), Some(9_250), Some(12_286)));
    assert_eq!(
        (get("B flow"), get("B_min"), get("B"), get("B flows")),
        (Some(flow), Some(6 * flow), Some(6 * flow), Some(6))
    );
    // 4 x 9.25 KB at 10 Gb/s and 4 tau are 29.6 us each.
    assert_eq!((get("T"), get("4 m/T")), (Some(59_200_000), Some(34_594_594)));
    // 5 others in 6 queues: 1 - (5/6)^5; 9 of 10 alone needs 1/(1 - 0.9^(1/5)).
    let ratio = |s: &str| p.row(s).unwrap().value.clone();
    assert_eq!(
        (ratio("P queue").as_str(), get("q 90 %"), ratio("P slot").as_str()),
        ("0.598", Some(48), "0.001")
    );
    assert_eq!(
        (p.tables[0].rows[2][0], p.tables[0].rows[2][1]),
        (4_096, 1_220),
        "1 - (4095/4096)^5"
    );
    assert_eq!(plan(&[("hops", "3")]).integer("B_min"), Some(18 * flow));
    assert_eq!(
        plan::plan(&input("pfc", &[("detection", "pffc")])).unwrap(),
        p,
        "either key names it"
    );
    let warned = |extra: &[(&str, &str)]| {
        plan(extra).warnings.iter().map(|w| w.condition).collect::<Vec<_>>()
    };
    assert_eq!(warned(&[("xoff_s", "9249B")]), ["Xoff_s >= C tau"]);
    assert_eq!(warned(&[("flows", "7")]), ["congested flows <= pause queues"]);
    assert_eq!(warned(&[("buffer", "100KB")]), ["flows x (Xoff_s + headroom) <= buffer"]);
    assert_eq!(warned(&[("slots", "40")]), ["1 - (1 - 1/slots)^(flows - 1) <= 0.1"]);
}

/// `plan tcd`: the numbers of TCD sections 4.3 and 5.1.1, and Fig. 8.
#[test]
fn tcd_on_a_link() {
    let plan = |extra: &[(&str, &str)]| {
        plan::plan(&input("pfc", &[&[("detection", "tcd"), ("t_r", "0us")], extra].concat()))
            .unwrap()
    };
    let conditions = |p: &plan::Plan| p.warnings.iter().map(|w| w.condition).collect::<Vec<_>>();
    for (rate, tau, max_ton) in [
        ("40Gbps", 2_400_000, 34_400_000),
        ("100Gbps", 2_160_000, 26_960_000),
        ("200Gbps", 2_080_000, 24_480_000),
    ] {
        let p = plan(&[("rate", rate), ("mtu", "1000B")]);
        assert_eq!(
            (p.integer("tau"), p.integer("max(T_on)"), p.integer("T")),
            (Some(tau), Some(max_ton), Some(max_ton)),
            "{rate}"
        );
        assert_eq!((p.integer("B_1 - B_0"), conditions(&p)), (Some(2_000), vec![]));
        assert_eq!((p.flow_control.as_str(), p.detection.as_deref()), ("pfc", Some("tcd")));
    }
    // The simulations: XOFF 320 KB, XON 318 KB, links of 4 us.
    let p = plan(&[
        ("rate", "40Gbps"),
        ("mtu", "1000B"),
        ("t_w", "4us"),
        ("xoff", "320KB"),
        ("xon", "318KB"),
    ]);
    assert_eq!(
        (p.integer("max(T_on)"), p.integer("max(T_on) + T")),
        (Some(100_400_000), Some(200_800_000))
    );
    assert_eq!(
        (p.integer("34.4 us"), p.integer("100.4 us")),
        (Some(34_400_000), Some(100_400_000))
    );
    assert_eq!(conditions(&p), ["t_p = 1 us"]);
    for number in ["34.4 us", "4 us", "100.4 us"] {
        assert!(p.warnings[0].text.contains(number), "{}", p.warnings[0].text);
    }
    // The testbed.
    let p = plan(&[("tau", "20us"), ("xoff", "800KB"), ("xon", "770KB"), ("epsilon", "0.04")]);
    assert_eq!(p.integer("max(T_on)"), Some(870_000_000));
    // Fig. 8: the last row is R_d = C/2.
    let p = plan(&[("rate", "40Gbps"), ("mtu", "1000B"), ("tau", "8us")]);
    let half = [
        20_000_000_000,
        448_000_000,
        228_000_000,
        154_666_667,
        96_000_000,
        52_000_000,
        30_000_000,
        16_800_000,
    ];
    assert_eq!(p.tables[0].rows.last().unwrap()[..], half);
    assert_eq!(
        p.tables[0].rows[0][..3],
        [4_000_000_000, 128_000_000, 68_000_000],
        "R_d = C/10: 0.4 us + 0.8 us, over epsilon, + 8 us"
    );
    for (i, row) in p.tables[0].rows.iter().enumerate() {
        assert!(row[1..].windows(2).all(|w| w[0] > w[1]), "T_on falls with epsilon");
        assert!(
            i == 0 || row.iter().zip(&p.tables[0].rows[i - 1]).all(|(more, less)| more > less),
            "and rises with R_d"
        );
    }
    assert_eq!(conditions(&plan(&[("epsilon", "0.1")])), ["epsilon < 0.1"]);
}

/// `plan tcd` with credits (TCD section 4.4), and with GFC.
#[test]
fn tcd_on_credits_and_rates() {
    let plan = |fc, extra: &[(&str, &str)]| {
        plan::plan(&input(fc, &[&[("detection", "tcd"), ("t_r", "0us")], extra].concat())).unwrap()
    };
    let p = plan("cbfc", &[("credit_period", "66us"), ("buffer", "400KB"), ("rate", "40Gbps")]);
    assert_eq!(
        (p.integer("T_c"), p.integer("max(T_on)"), p.integer("T")),
        (Some(66_000_000), Some(66_000_000), Some(66_000_000))
    );
    assert_eq!(
        (p.integer("T_on"), p.warnings.len()),
        (Some(60_000_000), 0),
        "Eq. (4): 10/11 of T_c at C/2 and 0.05"
    );
    assert_eq!(p.tables[0].rows[4][4], 60_000_000);
    // TCD's own buffer with the period of IBA at 40 Gb/s: C T_c = 327.68 KB.
    let p = plan("cbfc", &[("credit_period", "65.536us"), ("buffer", "280KB"), ("rate", "40Gbps")]);
    assert_eq!(p.warnings[0].condition, "buffer >= C (T + tau)");
    assert_eq!(plan("gfc-time", &[]).integer("max(T_on)"), Some(52_428_000));
    assert_eq!(
        plan("cbfc", &[("credit_period", "1us")]).warnings[0].condition,
        "max(T_on) >= MTU/C"
    );
    // tau = 4.4 us at 10 Gb/s, 1500 B, 1 us: 2.2 us/0.05 + 4.4 us, and 2.4 us more over 0.05.
    assert_eq!(plan("gfc-conceptual", &[]).integer("max(T_on)"), Some(48_400_000));
    assert_eq!(plan("gfc-buffer", &[]).integer("max(T_on)"), Some(96_400_000));
}

/// The corners of the accepted range: an answer or a refusal, never an overflow.
#[test]
fn corners() {
    for fc in plan::FLOW_CONTROLS {
        for rate in ["1Mbps", "3333333333bps", "100Tbps"] {
            for mtu in ["64B", "65536B"] {
                for length in ["0m", "100000km"] {
                    for (tau, period) in
                        [("1ps", "1ps"), ("1s", "1s"), ("1ps", "1s"), ("1s", "1ps")]
                    {
                        for buffer in ["0B", "64B", "1GB", "1000TB"] {
                            let extra = [
                                ("rate", rate),
                                ("mtu", mtu),
                                ("length", length),
                                ("t_w", "1s"),
                                ("tau", tau),
                                ("credit_period", period),
                                ("buffer", buffer),
                                ("rate_unit", "1kbps"),
                            ];
                            let mut tcd = input(
                                fc,
                                &[&extra[..], &[("detection", "tcd"), ("epsilon", "0.000001")]]
                                    .concat(),
                            );
                            let mut input = input(fc, &extra);
                            let _ = plan::plan(&input);
                            (tcd.xoff, tcd.xon) = (tcd.buffer, Some(Bytes(0)));
                            let _ = plan::plan(&tcd);
                            (input.tau, input.t_w, input.buffer, input.credit_period) =
                                (None, None, None, None);
                            let _ = plan::plan(&input);
                        }
                    }
                }
            }
        }
    }
}

/// If a drain stops, the last stage keeps sending. Before: no row and no line, and 4 frames were
/// lost in 200 ms of standstill on this link.
#[test]
fn a_standstill_of_the_drain_is_in_the_plan() {
    let p = plan::plan(&input("gfc-buffer", &[])).unwrap();
    let (b_m, r_n) = (p.integer("B_m").unwrap(), p.integer("R_N").unwrap());
    let stop = p.integer("T_stop").unwrap();
    assert_eq!((r_n, stop / 1_000_000_000), (152_587, 78), "one frame of 1500 B at C/2^16");
    let line =
        p.answer.check.iter().find(|c| c.starts_with("drain: blocked for at most 78.6")).unwrap();
    // For one second: 12.7 frames, and the one in flight.
    for text in [
        "starved priority",
        "152.587 kb/s",
        "cycle",
        &format!("for 1 s: B_m = {b_m} B and a buffer of {} B", b_m + 14 * 1_500),
    ] {
        assert!(line.contains(text), "'{text}' is not in {line}");
    }
    let (b_m, more) = (format!("{b_m}B"), format!("{}B", b_m + 14 * 1_500));
    let longer = plan::plan(&input("gfc-buffer", &[("b_m", &b_m), ("buffer", &more)])).unwrap();
    assert!(longer.integer("T_stop").unwrap() >= 1_000_000_000_000, "its own advice");
    // Credits that are read as room stop no sender either. Before: the plan of gfc-time had no such
    // row.
    for fc in ["gfc-conceptual", "gfc-time"] {
        let p = plan::plan(&input(fc, &[])).unwrap();
        assert_eq!(p.integer("T_stop"), Some(1_500_000_000_000), "{fc}: 1500 B at 8 kb/s");
        assert!(
            p.answer.check.iter().any(|c| c.contains("GFC keeps sending 8 kb/s")),
            "{fc}: {:?}",
            p.answer.check
        );
    }
    for fc in ["pfc", "cbfc", "pffc"] {
        assert_eq!(
            plan::plan(&input(fc, &[])).unwrap().integer("T_stop"),
            None,
            "{fc} stops its senders"
        );
    }
}

/// A size that counters of 12 bits cannot announce is rejected, as in a run. Before: an answer of
/// 238,080 B next to "131072B or less".
#[test]
fn twelve_bits_that_do_not_suffice_are_refused() {
    let with = |extra: &[(&str, &str)]| {
        let all = [&[("rate", "100Gbps"), ("counters", "12-bit")], extra].concat();
        let mut v = all
            .iter()
            .fold(Defaults::of(plan::PARAMS).with("flow_control", "cbfc"), |v, (k, value)| {
                v.with(k, value)
            });
        PlanInput::read(&mut v).and_then(|i| plan::plan(&i))
    };
    let e = with(&[("length", "1km")]).unwrap_err();
    assert_eq!(e.key, "counters");
    assert!(
        e.what.contains("impossible") && e.what.contains("131072 B") && e.what.contains("238080 B"),
        "{e}"
    );
    // 85 frames of 24 blocks are 10.2 us, less than the tau of 13.2 us: no period helps.
    assert!(!e.hint.contains("credit-period") && e.hint.contains("64-bit"), "{e}");
    let length = e
        .hint
        .split("--length of ")
        .nth(1)
        .and_then(|h| h.split(' ').next())
        .unwrap_or_else(|| panic!("{e}"))
        .to_owned();
    let p = with(&[("length", &length)]).unwrap();
    assert!(
        p.integer("B").unwrap() <= 131_072 && p.warnings.is_empty(),
        "its own advice: {length}"
    );
    let e = with(&[("length", "100m"), ("credit_period", "20us")]).unwrap_err();
    let period = e
        .hint
        .split("--credit-period of ")
        .nth(1)
        .and_then(|h| h.split(' ').next())
        .unwrap_or_else(|| panic!("{e}"))
        .to_owned();
    let p = with(&[("length", "100m"), ("credit_period", &period)]).unwrap();
    assert!(
        p.integer("B").unwrap() <= 131_072 && p.warnings.is_empty(),
        "its own advice: {period}"
    );
    assert_eq!(with(&[("buffer", "131073B")]).unwrap_err().key, "buffer");
    let p = with(&[("buffer", "131072B"), ("length", "1km")]).unwrap();
    assert!(
        !p.warnings[0].text.contains("set the buffer to") || p.warnings[0].text.contains("64-bit"),
        "{}",
        p.warnings[0].text
    );
}

/// No advice is to set a threshold to nothing. Before: "set XOFF to 0B or less", and the same of
/// B_0, B_1 and B_m.
#[test]
fn advice_never_is_a_threshold_of_zero() {
    for (fc, extra) in [
        ("pfc", &[("xoff", "10KB"), ("buffer", "5KB")][..]),
        ("gfc-buffer", &[("b_1", "1KB"), ("b_m", "5KB"), ("buffer", "8KB")]),
        ("gfc-buffer", &[("b_1", "1KB"), ("b_m", "2KB"), ("buffer", "2KB")]),
        ("gfc-conceptual", &[("b_0", "1KB"), ("b_m", "5KB"), ("buffer", "8KB")]),
        ("gfc-time", &[("b_0", "1KB"), ("b_m", "5KB"), ("buffer", "8KB")]),
    ] {
        let p = plan::plan(&input(fc, extra)).unwrap();
        assert!(!p.warnings.is_empty(), "{fc}");
        for w in &p.warnings {
            assert!(
                !w.text.contains("to 0 B")
                    && (w.condition.contains("XON") || w.text.contains("buffer to")),
                "{fc}: {}",
                w.text
            );
        }
    }
    let p = plan::plan(&input("pfc", &[("xoff", "10KB"), ("buffer", "5KB")])).unwrap();
    assert!(p.warnings[0].text.contains("no XOFF works"), "{}", p.warnings[0].text);
}

/// Before: the line named --mtu-other for a length that was --mtu's, and a shorter one was ignored
/// without a word.
#[test]
fn a_shorter_mtu_of_other_classes_is_noted() {
    let checks =
        |extra: &[(&str, &str)]| plan::plan(&input("pfc", extra)).unwrap().answer.check.join("\n");
    let with = checks(&[("mtu", "9100B"), ("mtu_other", "1500B")]);
    assert!(
        with.contains("at most 9.1 KB in any priority (--mtu,")
            && with.contains("--mtu-other 1.5 KB has no effect"),
        "{with}"
    );
    let with = checks(&[("mtu", "1500B"), ("mtu_other", "9100B")]);
    assert!(
        with.contains("at most 9.1 KB in any priority (--mtu-other)")
            && !with.contains("has no effect"),
        "{with}"
    );
    let p = plan::plan(&input("pfc", &[("priorities", "2"), ("ports", "1")])).unwrap();
    assert!(
        p.answer.why.iter().any(|w| w.contains("2 priorities x 1 port =")),
        "{:?}",
        p.answer.why
    );
}
