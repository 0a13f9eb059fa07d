//! The loop on ports in memory.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use xoff_real::netio::{Port, pair};
use xoff_real::switchd::{Ended, Live, RunnerConfig};
use xoff_real::testbed::wiring::{self, Real};
use xoff_record::Sink;
use xoff_run::NetworkScenario;
use xoff_units::Time;

const STAR: &str = "[topology]\nkind = \"star\"\nhosts = 2\nrate = \"100Mbps\"\n[[flow]]\nsrc = \"H0\"\ndst = \"H1\"\n";

/// A switch that has ended waits for frames that are on their way, but not for a neighbour that
/// never falls silent.
#[test]
fn a_run_ends_although_a_neighbour_goes_on_sending() {
    let s = NetworkScenario::from_text("star.toml", STAR, &[], Path::new("")).unwrap();
    let switch = s.topology.find("S1").unwrap();
    let here: Vec<bool> = s.topology.node_ids().map(|n| n == switch).collect();
    let links = wiring::links(&s, &here, |_, _| false);
    let ((a0, mut b0), (a1, _b1)) = (pair("a0", "b0"), pair("a1", "b1"));
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = stop.clone();
    let neighbour = std::thread::spawn(move || {
        while !stopped.load(Ordering::Relaxed) {
            b0.send(&[0x22; 100]).unwrap();
            b0.flush().unwrap();
            std::thread::sleep(Duration::from_micros(200));
        }
    });
    let mut running = s.start_outside(Sink::Nothing, here).unwrap();
    let machine = wiring::machine(&s, links, &Real::default(), running.world());
    let runner = RunnerConfig { until: Time::from_us(50_000), ..RunnerConfig::default() };
    let began = Instant::now();
    let mut received = 0;
    let ended = Live::new(machine, vec![Box::new(a0), Box::new(a1)], runner, None).run(
        running.world(),
        |now| {
            received = now.ports[0].counters.received;
            true
        },
    );
    let took = began.elapsed();
    stop.store(true, Ordering::Relaxed);
    neighbour.join().unwrap();
    assert_eq!(ended.unwrap().0, Ended::TimeUp);
    assert!(received > 20, "{received} frames came in");
    assert!(took < Duration::from_secs(20), "{took:?}");
}

/// A headroom that suffices for hardware does not for a process: the user is warned, with the
/// numbers.
#[test]
fn a_headroom_for_hardware_is_warned_of() {
    let pfc = |xoff: &str| {
        format!(
            "{STAR}[switch]\nbuffer = \"200KB\"\n[flow_control]\nkind = \"pfc\"\nxoff = \"{xoff}\"\nxon = \"10KB\"\n"
        )
    };
    let warned = |xoff: &str| {
        wiring::warnings(
            &NetworkScenario::from_text("star.toml", &pfc(xoff), &[], Path::new("")).unwrap(),
        )
    };
    // 3 ms at 100 Mb/s are 37.5 KB, and two frames of 1500 B.
    assert_eq!(warned("159KB"), Vec::<String>::new());
    let [text] = &warned("160KB")[..] else { panic!("one warning") };
    assert!(text.contains("200.5 KB") && text.contains("XOFF 160 KB"), "{text}");
}
