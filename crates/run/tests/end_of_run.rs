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

/// The last sample of a report is that of the end, with all that was counted: not one at which
/// further events of that time, or polls behind the end, were still to come.
#[test]
fn the_last_sample_is_the_end() {
    let star = |hosts: u32, duration: &str, more: &str| {
        format!(
            "[run]\nduration = \"{duration}\"\n[topology]\nkind = \"star\"\nhosts = {hosts}\nrate = \"10Gbps\"\ndelay = \"100ns\"\n\
             [host]\nframe_max = \"1000B\"\n{more}"
        )
    };
    let permutation =
        "[flow_control]\nkind = \"pfc\"\n[[workload]]\nkind = \"permutation\"\nsize = \"2040KB\"\n";
    let by_the_clock = "[flow_control]\nkind = \"cbfc\"\nperiod = \"300ns\"\n\
                        [[workload]]\nkind = \"permutation\"\nsize = \"20KB\"\n";
    for text in [star(4, "20us", permutation), star(4, "1ms", by_the_clock)] {
        let s = load(&text);
        let r = s.start(Sink::Memory, Some(1)).unwrap().with_page(|_| None).run(|_| true).unwrap();
        let last = r.course.as_ref().and_then(|c| c.looks.last()).unwrap();
        assert_eq!(last.at, r.outcome.now, "{text}");
        let sent: Vec<u64> = last.ports.iter().map(|p| p.tx_bytes).collect();
        let counted: Vec<u64> = r.outcome.ports.iter().flatten().map(|p| p.tx_bytes).collect();
        assert_eq!(sent, counted, "{text}");
    }
}

/// How often a run is looked at changes nothing: the flow is complete between two looks at the
/// ports, and hosts that report credits by the clock never rest.
#[test]
fn a_report_does_not_make_a_run_longer() {
    let s = load(
        "[run]\nduration = \"50us\"\n[topology]\nkind = \"star\"\nhosts = 64\nrate = \"10Gbps\"\ndelay = \"100ns\"\n\
         [flow_control]\nkind = \"cbfc\"\nperiod = \"100ns\"\n[transport]\nkind = \"tcp\"\n\
         [[flow]]\nsrc = \"H1\"\ndst = \"H0\"\nsize = \"1B\"\n",
    );
    let ran = |with_report: bool, threads| {
        let running = s.start(Sink::Memory, Some(threads)).unwrap();
        let running = if with_report { running.with_page(|_| None) } else { running };
        let r = running.run(|_| true).unwrap();
        let messages: u64 = r.outcome.ports.iter().flatten().map(|p| p.messages_sent).sum();
        (r.outcome.now, messages, r.manifest.result_hash)
    };
    let short = ran(false, 1);
    // 128 ports, ten messages a microsecond each.
    assert!((1_000..2_000).contains(&short.1), "{} messages", short.1);
    for (with_report, threads) in [(true, 1), (true, 3), (false, 3)] {
        assert_eq!(ran(with_report, threads), short, "{with_report} {threads}");
    }
}
