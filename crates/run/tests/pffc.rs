//! PFFC in a scenario: what the loader warns of.

use std::path::Path;

use xoff_run::NetworkScenario;
use xoff_scenario::document::Override;

/// Three flows of one host into a slow link.
const TEXT: &str = r#"
[topology]
kind = "star"
hosts = 4
delay = "1us"
[control_delay]
processing = "3us"
[switch]
buffer = "300KB"
[flow_control]
kind = "pffc"
[[flow]]
src = "H0"
dst = "H1"
[[flow]]
src = "H0"
dst = "H2"
[[flow]]
src = "H0"
dst = "H3"
[[flow]]
src = "H1"
dst = "H3"
size = "1MB"
"#;

#[test]
fn what_does_not_fit_is_warned_of() {
    let warnings = |given: &[&str]| {
        let settings: Vec<Override> = given.iter().map(|s| Override::set(s).unwrap()).collect();
        let s = NetworkScenario::from_text("flows.toml", TEXT, &settings, Path::new(""))
            .unwrap_or_else(|e| panic!("{e}"));
        s.warnings.iter().map(|w| w.line()).collect::<Vec<_>>()
    };
    assert_eq!(warnings(&[]), [""; 0]);
    // Three flows of one host that never end; C tau = 9.25 KB.
    for (given, condition) in [
        ("flow_control.xoff_s=9KB", "Xoff_s >= C tau"),
        ("switch.buffer=80KB", "flows x (Xoff_s + headroom) <= buffer"),
        ("flow_control.queues=2", "congested flows <= pause queues"),
        ("flow_control.slots=16", "1 - (1 - 1/slots)^(flows - 1) <= 0.1"),
    ] {
        let w = warnings(&[given]);
        assert!(w.len() == 1 && w[0].contains(condition), "{given}: {w:?}");
    }
    assert_eq!(warnings(&["flow_control.queues=3"]), [""; 0]);
}
