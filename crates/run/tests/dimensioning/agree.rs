//! `xoff plan` and `xoff run` derive the same thresholds, and a scenario that is given what the
//! plan answers resolves to them again.

use xoff_analysis::plan::{FLOW_CONTROLS, derived, that_stop_ports};
use xoff_mech::detection::{Place, tcd};
use xoff_units::params::Defaults;
use xoff_units::{Rate, Span};

use crate::harness::{Draw, all, load};

fn agrees(kind: &str, case: u64) -> Result<(), String> {
    let draw = Draw::new(case);
    let buffer = draw.largest(kind, "B", &[]) + case % 7 * 1_000;
    let switch = format!("buffer = \"{buffer}B\"\n");
    let given = load(&draw.text(&switch, &format!("kind = \"{kind}\"\n")));
    for (rate, delay) in draw.links() {
        let plan = draw.plan(kind, (rate, delay), &[("buffer", format!("{buffer}B"))]);
        let of = |s: &xoff_run::NetworkScenario| {
            let (_, fc) = s
                .links()
                .iter()
                .find(|(f, _)| (f.rate, f.delay) == (Rate(rate), Span(delay)))
                .unwrap();
            derived(kind, fc)
        };
        if of(&given).is_empty() {
            return Err("nothing that it derives is compared".into());
        }
        let mut keys = format!("kind = \"{kind}\"\n");
        for (symbol, key, resolved) in of(&given) {
            let answered = plan.integer(symbol).unwrap();
            if answered != resolved {
                return Err(format!("{symbol}: plan {answered}, run {resolved}, {draw:?}"));
            }
            keys.push_str(&format!(
                "{key} = \"{answered}{}\"\n",
                if key == "period" { "ps" } else { "B" }
            ));
        }
        let again = load(&draw.text(&switch, &keys));
        if of(&again) != of(&given) {
            return Err(format!("{:?} is read as {:?}", of(&given), of(&again)));
        }
    }
    Ok(())
}

#[test]
fn plan_and_run_derive_the_same() {
    for kind in FLOW_CONTROLS {
        all(kind, 0..60, |case| agrees(kind, case));
    }
}

/// `plan tcd` answers the max(T_on) and the T that a detector of a run has on such a link.
fn detectors_agree(kind: &str, case: u64) -> Result<(), String> {
    let draw = Draw::new(case);
    let buffer = draw.largest(kind, "B", &[]) + case % 7 * 1_000;
    let detection =
        format!("kind = \"{kind}\"\n[detection]\nkind = \"tcd\"\nkmin = \"1B\"\nkmax = \"64B\"\n");
    let run = load(&draw.text(&format!("buffer = \"{buffer}B\"\n"), &detection));
    for (rate, delay) in draw.links() {
        let plan = draw.plan(kind, (rate, delay), &[("detection", "tcd".to_owned())]);
        let (link, fc) = run
            .links()
            .iter()
            .find(|(f, _)| (f.rate, f.delay) == (Rate(rate), Span(delay)))
            .unwrap();
        let params = tcd::Params::read(&mut Defaults::of(tcd::PARAMS)).unwrap();
        let detector = tcd::Tcd::new(&params, &Place { link, flow_control: fc, to_host: false });
        let (planned, in_force) = (
            (plan.integer("max(T_on)"), plan.integer("T")),
            (detector.max_ton().0, detector.period().0),
        );
        if planned != (Some(in_force.0), Some(in_force.1)) {
            return Err(format!("plan {planned:?}, run {in_force:?}, {draw:?}"));
        }
    }
    Ok(())
}

#[test]
fn a_detector_has_the_periods_of_the_plan() {
    for kind in that_stop_ports() {
        all(kind, 0..40, |case| detectors_agree(kind, case));
    }
}
