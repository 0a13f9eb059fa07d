//! Numbers at the edge of their type: refused with a reason, or they stop at the largest; none
//! wraps into a small one.

use std::path::Path;

use xoff_record::Sink;
use xoff_run::{FabricScenario, NetworkScenario};

const TWO: &str = "[run]\nduration = \"20us\"\n[topology]\nkind = \"star\"\nhosts = 3\nrate = \"10Gbps\"\ndelay = \"1us\"\n\
                   [[workload]]\nkind = \"incast\"\nreceiver = \"H2\"\nsize = \"30KB\"\n";

fn refusal(of: Result<NetworkScenario, xoff_scenario::Problems>) -> String {
    of.err().map_or("it was accepted".into(), |p| p.to_string())
}

#[test]
fn what_does_not_fit_is_refused() {
    for (lines, words) in [
        // One byte more than 16 bits hold: acknowledgements had a length of 0.
        ("[host]\nacks = \"per-frame\"\nack_len = \"65536B\"\n", "an acknowledgement of 65.536 KB"),
        (
            "[detection]\nkind = \"red\"\n[rate_control]\nkind = \"dcqcn\"\ncnp_interval = \"50us\"\nfast_recovery = 4294967296\n",
            "4294967296 stages",
        ),
    ] {
        let stated = refusal(NetworkScenario::from_text(
            "limits.toml",
            &format!("{TWO}{lines}"),
            &[],
            Path::new("."),
        ));
        assert!(stated.contains(words), "{stated}");
    }
    // Port 65535 represents none, and a 65536th would have the number of the first.
    let star = TWO.replace("hosts = 3", "hosts = 65536");
    assert_ne!(star, TWO);
    let stated = refusal(NetworkScenario::from_text("limits.toml", &star, &[], Path::new(".")));
    assert!(stated.contains("expected 1 to 65534"), "{stated}");
}

#[test]
fn numbers_of_a_fabric_that_do_not_fit_are_refused() {
    let text = |traffic: &str, core: &str| {
        format!(
            "[run]\nduration = \"10us\"\nwarm_up = \"1us\"\nwindow = \"1us\"\n[scheduled_fabric]\n{core}\n[traffic]\n{traffic}load = 0.5\nsize = \"40B\"\n"
        )
    };
    let uniform = "kind = \"uniform\"\n";
    let clos = "kind = \"clos\"\nradix = 4\nstages = 3\n";
    let stated = |text: String| {
        FabricScenario::from_text("limits.toml", &text, &[], Path::new(""))
            .err()
            .map(|p| p.to_string())
            .unwrap_or_default()
    };
    assert_eq!(stated(text(uniform, clos)), "");
    // 2^32 was port 0.
    let incast =
        stated(text("kind = \"incast\"\ninputs = [\"1\", \"2\"]\noutput = 4294967296\n", clos));
    assert!(incast.contains("4294967296 is out of range"), "{incast}");
    // 4096^3 paths were none.
    let fan = stated(text(uniform, "kind = \"clos\"\nradix = 2\nstages = 7\nabove = 4096\n"));
    assert!(fan.contains("more than 1048576 links between two stages"), "{fan}");
}

/// Delays, buffers, thresholds and reserves as large as their unit allows: such a run does nothing
/// useful, but it neither panics nor takes a product for a small number.
#[test]
fn the_largest_numbers_do_not_wrap() {
    let most = u64::MAX;
    for lines in [
        format!("[switch]\nbuffer = \"{most}B\"\n"),
        format!("[switch]\nmemory = \"shared\"\nbuffer = \"300KB\"\nreserve = \"{}B\"\n", most / 2),
        format!(
            "[switch]\nbuffer = \"{most}B\"\n[flow_control]\nkind = \"pfc\"\nxoff = \"{most}B\"\nxon = \"{most}B\"\n"
        ),
        format!(
            "[control_delay]\nprocessing = \"{most}ps\"\n[flow_control]\nkind = \"pfc\"\nxoff = \"100KB\"\nxon = \"90KB\"\n"
        ),
        format!(
            "[switch]\ndiscipline = \"drr\"\nquantum = \"{most}B\"\n[flow_control]\nkind = \"none\"\n"
        ),
        format!("[probes]\ninterval = \"{most}ps\"\nqueues = [\"all\"]\n"),
    ] {
        let text = format!("{TWO}{lines}");
        match NetworkScenario::from_text("limits.toml", &text, &[], Path::new(".")) {
            Ok(s) => {
                let f = s.run(Sink::Nothing).unwrap_or_else(|e| panic!("{e}\n{text}"));
                assert_eq!(f.outcome.violations, [], "{text}");
            }
            Err(e) => assert!(!e.to_string().is_empty(), "{text}"),
        }
    }
}
