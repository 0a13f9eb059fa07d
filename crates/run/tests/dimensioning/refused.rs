//! Values that cannot work are refused, or warned of with what to do, the inequality and both
//! numbers.

use std::path::Path;

use xoff_record::Sink;
use xoff_run::NetworkScenario;

use crate::harness::load;

/// H1 and H3 into a slow H2; `switch` and `flow_control` are sections.
fn text(switch: &str, flow_control: &str) -> String {
    format!(
        "[run]\nduration = \"2ms\"\nchecks = false\n[topology]\nkind = \"star\"\nhosts = 4\nrate = \"10Gbps\"\ndelay = \"1us\"\n[switch]\n{switch}\n\
         [flow_control]\n{flow_control}\n[[flow]]\nsrc = \"H0\"\ndst = \"H1\"\n[[flow]]\nsrc = \"H2\"\ndst = \"H1\"\n[[flow]]\nsrc = \"H1\"\ndst = \"H0\"\n"
    )
}

/// Frames lost, and the warnings.
fn run(text: &str) -> (u64, Vec<String>) {
    let s = load(text);
    (
        s.run(Sink::Nothing).unwrap().outcome.dropped_frames,
        s.warnings.iter().map(|w| w.line()).collect(),
    )
}

fn refusal(switch: &str, flow_control: &str) -> String {
    match NetworkScenario::from_text("case.toml", &text(switch, flow_control), &[], Path::new("")) {
        Ok(_) => panic!("accepted: {switch} {flow_control}"),
        Err(e) => e.to_string(),
    }
}

#[test]
fn what_cannot_work_is_refused_with_both_numbers() {
    let pool = "memory = \"shared\"\n";
    for (switch, fc, words) in [
        (
            &*format!("{pool}shared_buffer = \"1B\""),
            "kind = \"pfc\"",
            &["shared_buffer", "1 B is less than S1 reserves", "expected at least"][..],
        ),
        (&*format!("{pool}shared_buffer = \"1B\""), "kind = \"cbfc\"", &["shared_buffer"]),
        (
            &*format!("{pool}headroom = \"5MB\""),
            "kind = \"pfc\"\nthreshold = \"dynamic\"",
            &["shared_buffer", "headroom"],
        ),
        ("buffer = \"5KB\"", "kind = \"pfc\"", &["xoff", "has no room for an XOFF", "xoff plan"]),
        ("", "kind = \"pfc\"\nxoff = \"10KB\"\nxon = \"11KB\"", &["xon"]),
        ("", "kind = \"pfc\"\nquanta = 0", &["quanta"]),
        ("", "kind = \"cbfc\"\nperiod = \"0us\"", &["period"]),
        ("", "kind = \"gfc-time\"\nperiod = \"0us\"", &["period"]),
        ("buffer = \"2KB\"", "kind = \"gfc-buffer\"", &["b1"]),
    ] {
        let stated = refusal(switch, fc);
        words.iter().for_each(|s| assert!(stated.contains(s), "{switch} {fc}: {stated}"));
    }
}

#[test]
fn what_may_lose_frames_is_warned_of_with_what_to_do() {
    let warned = |switch: &str, fc: &str| run(&text(switch, fc)).1.join("\n");
    for (switch, fc, words) in [
        (
            "",
            "kind = \"pfc\"\nquanta = 1",
            &["half of a pause >= wait of its repeat", "set quanta to"][..],
        ),
        (
            "",
            "kind = \"pffc\"\nquanta = 1",
            &["half of a pause >= wait of its repeat", "set quanta to"],
        ),
        (
            "buffer = \"20KB\"",
            "kind = \"pfc\"\nxoff = \"15KB\"",
            &["XOFF + headroom <= buffer", "set XOFF to", "20 KB"],
        ),
        (
            "",
            "kind = \"pfc\"\nxoff = \"200KB\"\nxon = \"199KB\"",
            &["XOFF - XON >= MTU", "set XON to"],
        ),
        ("", "kind = \"pfc\"\nxoff = \"6KB\"", &["XON >= C tau", "set XON to"]),
        (
            "memory = \"shared\"\nshared_buffer = \"100KB\"",
            "kind = \"pfc\"",
            &["pool >= (ingresses + 1/alpha) x (held - reserve)", "set shared_buffer to"],
        ),
        (
            "memory = \"shared\"\nshared_buffer = \"100KB\"",
            "kind = \"cbfc\"",
            &["pool >= (ingresses + 1/alpha) x (held - reserve)"],
        ),
        (
            "memory = \"shared\"\nshared_buffer = \"100KB\"",
            "kind = \"uec-cbfc\"",
            &["pool >= (ingresses + 1/alpha) x (held - reserve)"],
        ),
        (
            "memory = \"shared\"\nshared_buffer = \"100KB\"",
            "kind = \"bfc\"",
            &["pool >= (ingresses + 1/alpha) x (held - reserve)"],
        ),
        (
            "memory = \"shared\"\nheadroom = \"0B\"",
            "kind = \"pfc\"\nthreshold = \"dynamic\"",
            &["headroom >= C tau + MTU", "set switch.headroom to"],
        ),
        (
            "",
            "kind = \"gfc-buffer\"\nbm = \"300KB\"",
            &["B_m + 2 MTU <= buffer", "set B_m to 297 KB or less"],
        ),
    ] {
        let stated = warned(switch, fc);
        words.iter().for_each(|s| assert!(stated.contains(s), "{switch} {fc}: {stated}"));
    }
    // Credits for less than the buffer count on no more.
    let few =
        warned("memory = \"shared\"\nshared_buffer = \"2MB\"", "kind = \"uec-cbfc\"\nlimit = 100");
    assert!(!few.contains("pool >="), "{few}");
    for fc in ["pfc", "cbfc", "gfc-conceptual", "gfc-buffer", "gfc-time", "pffc", "uec-cbfc"] {
        let stated = warned("", &format!("kind = \"{fc}\""));
        assert!(!stated.contains("may be lost"), "{fc}: {stated}");
    }
}

/// The number in the warning of quanta works: with it nothing is lost and nothing is reported, with
/// 10 frames are lost.
#[test]
fn the_quanta_of_the_warning_are_enough() {
    let with = |quanta: &str| {
        run(&text("buffer = \"14KB\"", &format!("kind = \"pfc\"\nquanta = {quanta}")))
    };
    let (lost, warnings) = with("10");
    assert!(lost > 0);
    let stated = warnings.iter().find(|w| w.contains("set quanta to")).unwrap();
    let number = stated.split("set quanta to ").nth(1).unwrap().split(' ').next().unwrap();
    let (lost, warnings) = with(number);
    assert_eq!(
        (lost, warnings.iter().filter(|w| w.contains("quanta")).count()),
        (0, 0),
        "quanta = {number}"
    );
}
