//! A run that stops with its flows ends where the last of them is complete, not where it was next
//! polled, and records nothing later.

use std::path::Path;

use xoff_record::Sink;
use xoff_run::NetworkScenario;
use xoff_units::Time;

fn load(text: &str) -> NetworkScenario {
    NetworkScenario::from_text("s.toml", text, &[], Path::new(""))
        .unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// One frame of 1500 B at 10 Gb/s takes 1.2 us a hop, and each of two links 1 us: 4.4 us, whatever
/// the period in which idle receivers report their credits.
#[test]
fn the_end_does_not_depend_on_who_sends_by_the_clock() {
    for period in ["900ns", "1300ns", "4700ns"] {
        let s = load(&format!(
            "[run]\nduration = \"1ms\"\n[topology]\nkind = \"star\"\nhosts = 3\nrate = \"10Gbps\"\n\
             [flow_control]\nkind = \"cbfc\"\nperiod = \"{period}\"\n\
             [[flow]]\nsrc = \"H1\"\ndst = \"H0\"\nsize = \"1500B\"\n\
             [probes]\ncontrol = [\"all\"]\nrates = [\"all\"]\ninterval = \"100ns\"\n"
        ));
        for threads in [1, 3] {
            let r = s.start(Sink::Memory, Some(threads)).unwrap().run(|_| true).unwrap();
            let end = Time(4_400_000);
            assert_eq!((r.outcome.now, r.outcome.flows[0].end), (end, Some(end)), "{period}");
            assert_eq!(r.manifest.simulated_seconds, 4.4e-6);
            assert_eq!(r.summary.ended, "ended at 4.4 us: the flow is complete");
        }
    }
}

/// Where acknowledgements report completion, the last of them ends the run.
#[test]
fn the_last_acknowledgement_ends_a_run() {
    let s = load(
        "[run]\nduration = \"1ms\"\n[topology]\nkind = \"star\"\nhosts = 3\nrate = \"10Gbps\"\n\
         [flow_control]\nkind = \"pfc\"\n[host]\nacks = \"per-frame\"\n\
         [[flow]]\nsrc = \"H1\"\ndst = \"H0\"\nsize = \"1500B\"\n",
    );
    let r = s.run(Sink::Nothing).unwrap();
    let flow = &r.outcome.flows[0];
    assert!(flow.acked() > flow.received);
    assert_eq!(Some(r.outcome.now), flow.acked());
}
