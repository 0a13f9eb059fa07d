//! The ring with real frames, in namespaces of a child process: flows that stop, flows that continue, and their shares.
//!
//! Where the machine cannot do that, a test is skipped (`xoff_testing::skip`). Times and rates are those of the world's clock, which
//! stops while the processor is elsewhere.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use xoff_real::netio::sandbox;
use xoff_real::testbed::packet_capture::By;
use xoff_real::testbed::{Observed, Run, observe, stood_still};
use xoff_run::NetworkScenario;
use xoff_sim::{Ended, RateSource, Row};
use xoff_units::Time;

/// One ring at a time: they would take the processor from each other.
static ONE: Mutex<()> = Mutex::new(());

/// Runs `body` in fresh namespaces, by running the test of this name again in a child process.
fn in_namespaces(test: &str, body: fn()) {
    if xoff_testing::inside(test) {
        return body();
    }
    if let Err(missing) = sandbox::probe() {
        return xoff_testing::skip(missing.capability.name(), format_args!("{}; {}", missing.error, missing.remedy()));
    }
    let _one = ONE.lock().unwrap_or_else(|e| e.into_inner());
    let text = xoff_testing::again(&mut sandbox::command(std::env::current_exe().unwrap()), test);
    text.lines().filter(|line| line.starts_with("capture")).for_each(|line| println!("{line}"));
}

fn scenario(name: &str) -> NetworkScenario {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/testbed").join(name);
    NetworkScenario::load(&path, &[]).unwrap_or_else(|e| panic!("{e}"))
}

/// A folder for captures, taken away at the end.
struct Folder(PathBuf);
impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Runs it with a packet capture at the link S1-S2.
fn run(s: &NetworkScenario) -> Observed {
    let folder = Folder(std::env::temp_dir().join(format!("xoff-testbed-ring-{}", std::process::id())));
    let o = observe(s, Run { capture: Some(("S1->S2", &folder.0)), ..Run::default() }).unwrap_or_else(|e| panic!("{e}"));
    let lost = o.outcome.dropped_frames + o.outcome.lost_frames + o.real.kernel_drops();
    assert_eq!((lost, o.real.lost_on_wire), (0, Some(0)), "nothing is lost anywhere");
    assert_eq!(o.outcome.violations_total, 0, "{:?}", o.outcome.violations);
    println!("capture {:?}: {:?} in the last second, {:?} in all", o.by, o.seen, o.whole);
    o
}

#[test]
fn pfc_in_order_of_arrival_stands_still_within_a_second() {
    in_namespaces("pfc_in_order_of_arrival_stands_still_within_a_second", || {
        let s = scenario("ring-pfc.toml");
        let o = run(&s);
        let closed = o.outcome.deadlocks.first().map(|d| d.closed).expect("a deadlock");
        assert!(closed < Time::from_us(1_000_000), "{closed}");
        let seen = o.seen.expect("a capture");
        assert!(stood_still(&seen, &s.links()[0].1), "{seen:?}");
        // Nothing was wrong with the capture: before, it saw data.
        assert!(o.whole.expect("a capture").data > 100, "{:?}", o.whole);
        if o.by == Some(By::Own) {
            xoff_testing::skip("tcpdump", "the independent packet capture: neither tcpdump nor dumpcap with tshark works here");
        }
    });
}

#[test]
fn gfc_moves_on_and_drains() {
    in_namespaces("gfc_moves_on_and_drains", || {
        let s = scenario("ring-gfc.toml");
        let o = run(&s);
        assert_eq!(o.outcome.ended, Ended::FlowsDone);
        assert!(o.outcome.deadlocks.is_empty());
        for f in &o.outcome.flows {
            assert_eq!(f.delivered, f.flow.size);
        }
    });
}

#[test]
fn pffc_gives_each_flow_nine_tenths_of_its_share() {
    in_namespaces("pffc_gives_each_flow_nine_tenths_of_its_share", || {
        let s = scenario("ring-pffc.toml");
        let o = run(&s);
        assert!(o.outcome.deadlocks.is_empty());
        let from = Time(s.until.0 / 2);
        for number in 0..3 {
            let rates: Vec<f64> = o
                .rows
                .iter()
                .filter_map(|r| match *r {
                    Row::Rate(r) if (r.flow, r.source) == (Some(number as u64), RateSource::Measured) && r.time_ps > from.0 => {
                        Some(r.rate_bps as f64)
                    }
                    _ => None,
                })
                .collect();
            let mean = rates.iter().sum::<f64>() / rates.len() as f64;
            assert!(mean > 0.9 * 50e6, "flow {number}: {mean}");
        }
    });
}
