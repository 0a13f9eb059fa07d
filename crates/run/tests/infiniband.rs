//! Switches of InfiniBand from scenario files: shares of virtual lanes, time saved by cut-through,
//! and errors with their places.

use std::path::Path;

use xoff_record::Sink;
use xoff_run::{Finished, NetworkScenario};

fn load(text: &str) -> Result<NetworkScenario, String> {
    NetworkScenario::from_text("ib.toml", text, &[], Path::new(".")).map_err(|e| e.to_string())
}

fn run(text: &str) -> (NetworkScenario, Finished) {
    let s = load(text).unwrap_or_else(|e| panic!("{e}"));
    let f = s.run(Sink::Nothing).unwrap();
    assert_eq!((f.outcome.dropped_frames, f.outcome.violations_total), (0, 0));
    (s, f)
}

/// Three hosts send without end to a fourth, each on a virtual lane of its own; what each delivered
/// [bytes].
fn delivered(switch: &str, count: u64) -> Vec<u64> {
    let mut text = format!(
        "[run]\nduration = \"10ms\"\n[topology]\nkind = \"star\"\nhosts = 4\nrate = \"10Gbps\"\ndelay = \"1us\"\n\
         [flow_control]\nkind = \"cbfc\"\n[switch]\nbuffer = \"300KB\"\nscheduler = \"vl-arbitration\"\n{switch}\n"
    );
    (0..count).for_each(|vl| {
        text.push_str(&format!("[[flow]]\nsrc = \"H{vl}\"\ndst = \"H3\"\npriority = {vl}\n"))
    });
    run(&text).1.outcome.flows.iter().map(|f| f.delivered).collect()
}

/// 1500 B are 24 units of 64 B, so weights of 24, 48 and 72 are 1, 2 and 3 frames a turn.
#[test]
fn virtual_lanes_share_by_weight() {
    let got = delivered("vl_low = [\"0:24\", \"1:48\", \"2:72\"]", 3);
    let all: u64 = got.iter().sum();
    assert!(all > 12_400_000, "the wire is busy: {got:?}");
    for (vl, part) in got.iter().enumerate() {
        // A turn of six frames more or less, at the beginning and at the end.
        assert!(part.abs_diff(all * (vl as u64 + 1) / 6) < 2 * 6 * 1500, "{got:?}");
    }
}

#[test]
fn the_limit_of_high_priority_holds_in_a_run() {
    let got = |limit: u64| {
        delivered(
            &format!("vl_high = [\"1:255\"]\nvl_low = [\"0:255\"]\nvl_high_limit = {limit}"),
            2,
        )
    };
    // 4096 B: three frames of 1500 B, then one of low priority. 0: one each.
    let (three, one, none) = (got(1), got(0), got(255));
    assert!(three[1].abs_diff(3 * three[0]) < 20 * 1500, "{three:?}");
    assert!(one[1].abs_diff(one[0]) < 20 * 1500, "{one:?}");
    // Without a limit the low virtual lane has what the high one leaves: nothing once both wait.
    assert!(none[0] < 20 * 1500, "{none:?}");
}

/// A frame of 1500 B over two links of 10 Gb/s and 1 us: 40 B of head at the switch instead of
/// 1500.
#[test]
fn a_flow_over_a_cut_through_switch_takes_its_ideal_time() {
    let text = |switch: &str| {
        format!(
            "[topology]\nkind = \"star\"\nhosts = 2\nrate = \"10Gbps\"\ndelay = \"1us\"\n[switch]\n{switch}\n[[flow]]\nsrc = \"H0\"\ndst = \"H1\"\nsize = \"1500B\"\n"
        )
    };
    let fct = |switch: &str| run(&text(switch)).1.outcome.flows[0].fct().unwrap().0;
    assert_eq!(fct(""), 2_000_000 + 2 * 1_200_000);
    assert_eq!(fct("cut_through = \"40B\""), 2_000_000 + 32_000 + 1_200_000);
    assert_eq!(fct("cut_through = \"1500B\""), fct(""));
}

/// Cut-through without effect gives a warning.
#[test]
fn cut_through_without_effect_is_a_warning() {
    let stated = |head: &str, host: &str| {
        let text = format!(
            "[topology]\nkind = \"tcd-fig2\"\nsender_rate = \"{host}\"\n[switch]\ncut_through = \"{head}\"\n[[flow]]\nsrc = \"S0\"\ndst = \"R0\"\n"
        );
        load(&text).unwrap_or_else(|e| panic!("{e}")).warnings.to_string()
    };
    let slow = stated("64B", "20Gbps");
    assert!(
        slow.contains("ib.toml:5:15") && slow.contains("the frames of 2 of 26 link directions"),
        "{slow}"
    );
    assert!(stated("1500B", "40Gbps").contains("no frame is longer than 1.5 KB"));
    assert!(!stated("64B", "40Gbps").contains("cut_through"));
}

/// The keys of a switch that are refused, where, with which words.
#[test]
fn what_cannot_work_is_refused_with_place_and_hint() {
    let stated = |switch: &str, rest: &str| {
        let text = format!(
            "[topology]\nkind = \"star\"\nhosts = 3\n[switch]\n{switch}\n{rest}\n[[flow]]\nsrc = \"H0\"\ndst = \"H1\"\npriority = 2\n"
        );
        match load(&text) {
            Ok(_) => panic!("accepted: {switch}"),
            Err(e) => e,
        }
    };
    let vl = |tables: &str| format!("scheduler = \"vl-arbitration\"\n{tables}");
    for (switch, place, words) in [
        (
            vl("vl_low = [\"0-64\"]"),
            "ib.toml:6:10",
            ["'0-64' is not a table entry", "expected VL:WEIGHT"],
        ),
        (
            vl("vl_low = [\"0:64\", \"two:64\"]"),
            "ib.toml:6:10",
            ["'two:64' is not a table entry", "expected VL:WEIGHT"],
        ),
        (vl("vl_high = [\"9:64\"]"), "ib.toml:6:11", ["no virtual lane 9", "priorities 0 to 7"]),
        (
            vl("vl_high = [\"15:64\"]"),
            "ib.toml:6:11",
            ["VL 15 carries management", "priorities 0 to 7"],
        ),
        (vl("vl_low = [\"0:256\"]"), "ib.toml:6:10", ["a weight of 256", "0 (skipped) to 255"]),
        (
            vl("vl_low = [\"0:0\", \"2:0\"]\nvl_high = [\"2:0\"]"),
            "ib.toml:6:10",
            ["both tables are empty: no virtual lane may send", "vl_low = [\"0:64\""],
        ),
        (
            vl(""),
            "ib.toml:4:2",
            ["both tables are empty: no virtual lane may send", "weights count 64 B"],
        ),
        (
            vl("vl_low = [\"0:64\", \"2:0\"]"),
            "ib.toml:6:10",
            ["priority 2 is in use, but virtual lane 2 never", "\"2:64\""],
        ),
        (
            vl("vl_high = [\"0:64\"]"),
            "ib.toml:4:2",
            ["priority 2 is in use, but virtual lane 2 never", "vl_low or vl_high"],
        ),
        (
            vl("vl_low = [\"2:64\"]\nvl_high_limit = 256"),
            "ib.toml:7:17",
            ["a limit of 256", "255 (no limit)"],
        ),
        ("cut_through = \"0B\"".into(), "ib.toml:5:15", ["cut_through: 0 bytes", "above zero"]),
        ("cut_through = 40".into(), "ib.toml:5:15", ["cut_through", "unit"]),
        ("buffer = \"0B\"".into(), "ib.toml:5:10", ["buffer: 0 bytes", "above zero"]),
        (
            "buffer = \"1499B\"".into(),
            "ib.toml:5:10",
            ["has no room for a frame of 1.5 KB", "use a larger buffer"],
        ),
    ] {
        let stated = stated(&switch, "");
        assert!(
            stated.contains(place) && words.iter().all(|w| stated.contains(w)),
            "{switch}:\n{stated}"
        );
    }
    let many: Vec<String> = (0..65).map(|_| "\"2:1\"".into()).collect();
    assert!(
        stated(&vl(&format!("vl_low = [{}]", many.join(", "))), "")
            .contains("a table of 65 entries")
    );
    // A virtual lane without credits: 23 whole blocks, a frame takes 24. And an acknowledgement
    // that is longer than data.
    let credits = "[flow_control]\nkind = \"cbfc\"";
    let words = stated("buffer = \"1500B\"", credits);
    assert!(
        words.contains("ib.toml:5:10")
            && words.contains("holds 23 blocks of 64 B, a frame of 1.5 KB takes 24"),
        "{words}"
    );
    let words = stated(
        "buffer = \"2KB\"",
        &format!("[host]\nacks = \"per-frame\"\nack_len = \"1999B\"\n{credits}"),
    );
    assert!(
        words.contains("ib.toml:5:10") && words.contains("a frame of 1.999 KB takes 32"),
        "{words}"
    );
    let words = stated(
        "buffer = \"2KB\"",
        &format!("[host]\nacks = \"per-frame\"\nack_len = \"3KB\"\n{credits}"),
    );
    assert!(
        words.contains("ib.toml:5:10") && words.contains("has no room for a frame of 3 KB"),
        "{words}"
    );
}

/// Acknowledgements on a virtual lane of their own need turns too.
#[test]
fn the_class_of_acknowledgements_counts_as_used() {
    let text = |tables: &str| {
        format!(
            "[topology]\nkind = \"star\"\nhosts = 3\n[switch]\nscheduler = \"vl-arbitration\"\nvl_low = [{tables}]\n[host]\nacks = \"per-frame\"\nack_priority = 5\n[[flow]]\nsrc = \"H0\"\ndst = \"H1\"\nsize = \"1MB\"\n"
        )
    };
    assert!(load(&text("\"0:64\"")).err().unwrap().contains("priority 5 is in use"));
    let (_, f) = run(&text("\"0:64\", \"5:1\""));
    assert!(f.outcome.flows[0].end.is_some());
}

/// A port whose first frame has no credits is off: the rows of a port add up to the time that its
/// frames were held, and no message has stopped it. (The table was empty before.)
#[test]
fn off_periods_for_want_of_credits_are_rows_of_pauses() {
    let mut text = String::from(
        "[run]\nduration = \"2ms\"\n[topology]\nkind = \"star\"\nhosts = 4\nrate = \"10Gbps\"\ndelay = \"1us\"\n\
         [flow_control]\nkind = \"cbfc\"\n[switch]\nbuffer = \"100KB\"\n[probes]\npauses = [\"all\"]\n",
    );
    (1..4).for_each(|h| text.push_str(&format!("[[flow]]\nsrc = \"H{h}\"\ndst = \"H0\"\n")));
    let f = load(&text).unwrap_or_else(|e| panic!("{e}")).run(Sink::Memory).unwrap();
    let table = f.tables.memory.iter().find(|t| t.name == "pauses").unwrap();
    let column = |name| {
        table.batches.iter().flat_map(|b| xoff_record::read::numbers(b, name)).collect::<Vec<_>>()
    };
    let (from, to) = (column("start_ps"), column("end_ps"));
    let off: u64 =
        from.iter().zip(&to).map(|(from, to)| to.unwrap_or(f.outcome.now.0) - from.unwrap()).sum();
    let ports = || f.outcome.ports.iter().flatten();
    assert!(from.len() > 30, "{} rows", from.len());
    assert_eq!(from.len() as u64, ports().map(|p| p.blocks).sum::<u64>());
    assert_eq!(off, ports().map(|p| p.blocked_ps).sum::<u64>());
    assert_eq!(ports().map(|p| p.pauses + p.paused_ps).sum::<u64>(), 0);
    let causes: Vec<_> =
        table.batches.iter().flat_map(|b| xoff_record::read::texts(b, "cause")).collect();
    assert!(causes.iter().all(|c| *c == Some("credits")), "{causes:?}");
}

/// Frames of 65 B take two blocks: credits for a buffer that would do for larger frames carry half
/// the rate, with a warning.
#[test]
fn credits_in_blocks_that_small_frames_leave_half_empty_are_warned_of() {
    let warned = |mtu: &str, buffer: &str| {
        let text = format!(
            "[topology]\nkind = \"star\"\nhosts = 2\nrate = \"10Gbps\"\ndelay = \"1us\"\n[host]\nframe_max = \"{mtu}\"\nheader = \"0B\"\n\
             [flow_control]\nkind = \"cbfc\"\n[switch]\nbuffer = \"{buffer}\"\n[[flow]]\nsrc = \"H0\"\ndst = \"H1\"\n"
        );
        load(&text)
            .unwrap_or_else(|e| panic!("{e}"))
            .warnings
            .iter()
            .map(|w| w.line())
            .find(|w| w.contains("blocks"))
    };
    let w = warned("65B", "80KB").expect("a warning");
    assert!(w.contains("1250 blocks are 625 frames of 65 B, 40.625 KB"), "{w}");
    assert_eq!(
        (warned("64B", "80KB"), warned("65B", "200KB"), warned("1500B", "80KB")),
        (None, None, None)
    );
}

/// Frames that a switch drops for want of a route take no room: their credits come back, and a flow
/// to another host is as fast as if no link had failed.
#[test]
fn frames_without_a_route_keep_no_credits() {
    let kinds = [
        ("131072B", "cbfc"),
        ("131072B", "cbfc\"\ncounters = \"12-bit"),
        ("131072B", "uec-cbfc"),
        ("300KB", "gfc-time"),
    ];
    for (buffer, kind) in kinds {
        let ran = |failure: &str| {
            let text = format!(
                "[run]\nduration = \"2ms\"\n[topology]\nkind = \"star\"\nhosts = 4\nrate = \"100Gbps\"\n\
                 [switch]\nbuffer = \"{buffer}\"\n[flow_control]\nkind = \"{kind}\"\n\
                 [[flow]]\nsrc = \"H0\"\ndst = \"H1\"\nsize = \"450KB\"\n\
                 [[flow]]\nsrc = \"H0\"\ndst = \"H2\"\nsize = \"50KB\"\nstart = \"300us\"\n{failure}"
            );
            let s = load(&text).unwrap_or_else(|e| panic!("{e}"));
            let o = s.run(Sink::Nothing).unwrap().outcome;
            (o.lost_frames + o.dropped_frames, o.flows[1].end)
        };
        let (none, whole) = ran("");
        let (lost, cut) = ran("[[failure]]\nlink = \"S1-H1\"\nat = \"5us\"\n");
        assert!(none == 0 && lost * 1500 > 250_000, "{kind}: {lost} frames");
        assert_eq!(cut, whole, "{kind}");
    }
}
