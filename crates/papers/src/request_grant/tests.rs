use xoff_sim::scheduled::World;

use super::run::Job;
use super::setups::{self, *};
use crate::study::Job as _;

/// Every configuration that entries start from can be built, and the peak possible loads are those of the paper's setting.
#[test]
fn settings_of_the_entries_work() {
    assert_eq!((load_max(0), (load_max(8) * 1_000.0).round()), (1.0, 786.0));
    let peak = || traffic(8, load_max(8), fixed(MIN_P), BURST);
    for c in [
        section_2_3(peak(), 1.0),
        section_2_4(peak(), 36),
        section_2_4(beside(&traffic(8, 1.0, fixed(MIN_P), BURST)), 32),
        section_4(traffic(8, load_max(8), bimodal(), 1.0), 1.1),
        implicit(section_4(traffic(1, load_max(1), fixed(MAX_P), 1.0), 1.4)),
    ] {
        assert_eq!(c.problems(), []);
        World::new(c).unwrap_or_else(|p| panic!("{p:?}"));
    }
}

/// A run is the same again, in all that is kept of it.
#[test]
fn runs_repeat() {
    let c = setups::during(section_4(traffic(8, 0.5, bimodal(), 1.0), 1.1), 500, 2_000);
    let job = Job(c);
    let once = job.run(&|| false).unwrap().unwrap();
    assert_eq!(job.run(&|| false).unwrap().unwrap(), once);
    assert!(once.delay.packets > 0 && once.stretches.len() == 20 && once.hot > 0.0 && once.stuck.is_none());
    let text = serde_json::to_string(&once).unwrap();
    assert_eq!(serde_json::from_str::<super::run::Run>(&text).unwrap(), once);
}
