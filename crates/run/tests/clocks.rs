//! `[clocks]`: the completion time of a lone flow, from the rates of its two links.

use std::path::Path;

use xoff_record::Sink;
use xoff_run::NetworkScenario;

/// A flow of 1000 frames through a switch: rates of its links, and its completion time [ps].
fn run(ppm: &str) -> ([u64; 2], u64) {
    let text = format!(
        "[run]\nseed = 7\nduration = \"5ms\"\n[topology]\nkind = \"star\"\nhosts = 2\nrate = \"10Gbps\"\ndelay = \"1us\"\n\
         [clocks]\n{ppm}\n[host]\nframe_max = \"1000B\"\nheader = \"0B\"\n[[flow]]\nsrc = \"H0\"\ndst = \"H1\"\nsize = \"1MB\"\n"
    );
    let s = NetworkScenario::from_text("clocks.toml", &text, &[], Path::new(""))
        .unwrap_or_else(|e| panic!("{}", e.render(false)));
    let rates = [0, 1].map(|n| s.topology.links[n].rate.0);
    let f = s.run(Sink::Nothing).unwrap();
    assert_eq!(f.outcome.violations, []);
    (rates, f.outcome.flows[0].fct().expect("complete").0)
}

/// 1000 frames over the slower link, one over the other, and two cables. A frame takes whole
/// picoseconds, so that each may be off by one.
#[test]
fn the_slower_link_sets_the_pace() {
    let mut found = Vec::new();
    for ppm in ["", "ppm = 10", "ppm = 100", "ppm = 100\nseed = 8"] {
        let (rates, time) = run(ppm);
        let frame = |rate: u64| 8_000e12 / rate as f64;
        let slow = frame(rates[0].min(rates[1]));
        let expected = 1_000.0 * slow + frame(rates[0].max(rates[1])) + 2e6;
        assert!((time as f64 - expected).abs() <= 1_001.0, "{ppm}: {time} instead of {expected}");
        found.push(time);
    }
    assert_eq!(found[0], 802_800_000);
    found.dedup();
    assert_eq!(found.len(), 4, "each setting changes the result");
}
