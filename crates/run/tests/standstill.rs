//! A drain that stops, under a flow control whose lowest rate is not zero: foretold, warned of, and
//! fixed by the advice.

use std::path::Path;

use xoff_record::Sink;
use xoff_run::NetworkScenario;
use xoff_scenario::document::Override;
use xoff_units::Loss;

const STAR: &str = "[topology]\nkind = \"star\"\nhosts = 3\nrate = \"10Gbps\"\ndelay = \"500ns\"\n[switch]\nbuffer = \"300KB\"\n";

fn load(text: &str) -> NetworkScenario {
    NetworkScenario::from_text("s.toml", text, &[], Path::new(""))
        .unwrap_or_else(|e| panic!("{e}\n{text}"))
}

fn warned(s: &NetworkScenario) -> Vec<String> {
    s.warnings.iter().map(|p| p.line()).filter(|w| w.contains("into a blocked buffer")).collect()
}

/// Priority 7 keeps the egress to H2 busy, and priority 0 behind it is blocked.
fn starving(duration: &str, bm: &str) -> String {
    let flow = |src: &str, priority: u8| {
        format!("[[flow]]\nsrc = \"{src}\"\ndst = \"H2\"\npriority = {priority}\n")
    };
    format!(
        "{STAR}[run]\nduration = \"{duration}\"\n[flow_control]\nkind = \"gfc-buffer\"\n{bm}{}{}",
        flow("H0", 7),
        flow("H1", 0)
    )
}

/// Two other designs, whose lowest rate is the limiter's unit: 8 ms a frame.
fn by_unit(kind: &str) -> impl Fn(&str) -> String {
    let kind = format!("kind = \"{kind}\"\nrate_unit = \"1500kbps\"");
    move |text| text.replace("kind = \"gfc-buffer\"", &kind)
}

/// Before: frames were lost without a warning, and without a reason.
#[test]
fn a_standstill_loses_what_was_predicted_and_the_advice_mends_it() {
    loses_and_is_mended("120ms", |text| text.to_owned());
    loses_and_is_mended("60ms", by_unit("gfc-conceptual"));
    loses_and_is_mended("60ms", by_unit("gfc-time"));
}

fn loses_and_is_mended(duration: &str, of: impl Fn(&str) -> String) {
    let text = of(&starving(duration, ""));
    let s = load(&text);
    let w = warned(&s);
    assert_eq!(w.len(), 1, "{w:?}");
    assert!(w[0].contains("priority 7 can starve priority 0"), "{w:?}");
    let r = s.run(Sink::Nothing).unwrap();
    assert!(r.outcome.lost[Loss::BufferFull].data > 0, "the prediction");
    assert!(r.summary.active.iter().any(|t| t.contains("never pauses")), "{:?}", r.summary);
    let advice = |key: &str| {
        w[0].split(&format!("{key} = \""))
            .nth(1)
            .and_then(|t| t.split('"').next())
            .unwrap()
            .to_owned()
    };
    let fixed = starving(duration, &format!("bm = \"{}\"\n", advice("flow_control.bm")))
        .replace("300KB", &advice("switch.buffer"));
    let s = load(&of(&fixed));
    assert_eq!(warned(&s), [""; 0]);
    assert_eq!(
        s.run(Sink::Nothing).unwrap().outcome.lost[Loss::BufferFull].data,
        0,
        "its own advice"
    );
}

/// A warning belongs to a scenario that can have a standstill, and to no other.
#[test]
fn only_what_can_stand_still_is_warned_of() {
    let starves = starving("120ms", "");
    let count = |text: &str| warned(&load(text)).len();
    assert_eq!(count(&starves), 1);
    assert_eq!(count(&starves.replace("120ms", "20ms")), 0, "shorter than the thresholds bear");
    assert_eq!(count(&starves.replace("priority = 7", "priority = 0")), 0, "one priority");
    assert_eq!(
        count(&starves.replace("[switch]\n", "[switch]\nscheduler = \"round-robin\"\n")),
        0,
        "a turn for each"
    );
    assert_eq!(count(&starves.replace("gfc-buffer", "cbfc")), 0, "credits stop the sender");
    assert_eq!(count(&by_unit("gfc-time")(&starves)), 1, "credits that are read as room do not");
    let ring = NetworkScenario::load(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/tutorial/ring.toml"),
        &["flow_control=gfc-buffer", "run.duration=6s"].map(|o| Override::set(o).unwrap()),
    );
    let w = warned(&ring.unwrap_or_else(|e| panic!("{e}")));
    assert!(w.len() == 1 && w[0].contains("form a cycle"), "{w:?}");
}

/// An egress of 100 kb/s behind a link whose last stage lets 152,587 bit/s through: 10 Gb/s, B_m -
/// B_1 of 18,628 B, 16 stages.
#[test]
fn an_egress_slower_than_the_last_stage_is_warned_of() {
    let node = |name: &str, kind: &str| {
        format!("[[topology.node]]\nname = \"{name}\"\nkind = \"{kind}\"\n")
    };
    let link = |a: &str, rate: &str| {
        format!("[[topology.link]]\na = \"{a}\"\nb = \"S\"\nrate = \"{rate}\"\n")
    };
    let text = |egress: &str| {
        let network = [
            node("A", "host"),
            node("B", "host"),
            node("S", "switch"),
            link("A", "10Gbps"),
            link("B", egress),
        ]
        .concat();
        format!(
            "[run]\nduration = \"500ms\"\n[topology]\nkind = \"custom\"\ndelay = \"500ns\"\n{network}[switch]\nbuffer = \"300KB\"\n\
             [flow_control]\nkind = \"gfc-buffer\"\nbm = \"297000B\"\nb1 = \"278372B\"\n[[flow]]\nsrc = \"A\"\ndst = \"B\"\n"
        )
    };
    let w = warned(&load(&text("100kbps")));
    assert!(
        w.iter().any(|w| w.contains("S->B drains 100 kb/s") && w.contains("152.587 kb/s")),
        "{w:?}"
    );
    assert_eq!(warned(&load(&text("1Mbps"))), [""; 0], "faster than the last stage");
}
