//! Hosts that recover what networks lose: closed forms, exact timers, and that no pattern of losses lets a flow hang.

use std::path::Path;

use xoff_record::Sink;
use xoff_run::{Finished, NetworkScenario};

fn run(text: &str) -> Finished {
    let s = NetworkScenario::from_text("hosts.toml", text, &[], Path::new("")).unwrap_or_else(|e| panic!("{}\n{text}", e.render(false)));
    s.run(Sink::Nothing).unwrap()
}

const PS_PER_BYTE: u64 = 80;
const MTU: u64 = 1000;
const TX: u64 = MTU * PS_PER_BYTE;
const ACK: u64 = 64 * PS_PER_BYTE;

/// One flow H0 - S1 - H1 at 100 Gb/s; errors on the first link, of data only.
fn line(delay_ns: u64, frames: u64, host: &str, errors: &str) -> String {
    format!(
        "[run]\nduration = \"1s\"\ndeadlock_interval = \"0us\"\n[topology]\nkind = \"star\"\nhosts = 2\nrate = \"100Gbps\"\ndelay = \"{delay_ns}ns\"\n\
         [host]\nmtu = \"{MTU}B\"\nacks = \"per-frame\"\n{host}[switch]\nbuffer = \"10MB\"\n[flow_control]\nkind = \"none\"\n\
         [[flow]]\nsrc = \"H0\"\ndst = \"H1\"\nsize = \"{}B\"\n[[link_errors]]\nports = [\"H0->S1\"]\nseen = false\n{errors}",
        MTU * frames
    )
}

/// From the first bit of a frame until its acknowledgement is in.
fn round(delay_ns: u64) -> u64 {
    2 * (TX + delay_ns * 1000) + 2 * (ACK + delay_ns * 1000)
}

fn received(f: &Finished) -> u64 {
    f.outcome.flows[0].received.expect("complete").0
}

/// A lost frame costs one slot under selective repeat: 1 - p. Under go-back-N it costs a round trip: (1-p)/(1-p+pW).
#[test]
fn efficiency_under_loss_is_the_closed_form() {
    let delay_ns = 120;
    // Until the Nack that the frame behind the lost one causes is in, and the frame that is then on the wire has left.
    let w = (TX + round(delay_ns)).div_ceil(TX) as f64;
    for (p, frames) in [(1e-5, 100_000u64), (1e-4, 100_000), (1e-3, 200_000), (1e-2, 300_000), (1e-1, 300_000)] {
        let errors = format!("kind = \"frame\"\nloss = {p}\n");
        for selective in [false, true] {
            let host = if selective {
                // What is lost twice waits for the timer, and the flow goes on meanwhile.
                "recovery = \"selective\"\nrto = \"20us\"\n".to_owned()
            } else {
                format!("recovery = \"go-back-n\"\nrto = \"200us\"\nnack_interval = \"{}ps\"\n", round(delay_ns))
            };
            let f = run(&line(delay_ns, frames, &host, &errors));
            let efficiency = (frames * TX) as f64 / received(&f) as f64;
            let form = if selective { 1.0 - p } else { (1.0 - p) / (1.0 - p + p * w) };
            println!(
                "p {p}, selective {selective}: {efficiency:.5}, the closed form {form:.5}, {} timers",
                f.outcome.retransmission_timeouts
            );
            assert!((efficiency / form - 1.0).abs() < 0.01, "p {p}, selective {selective}: {efficiency:.5}, the closed form {form:.5}");
            assert_eq!((f.outcome.flows[0].delivered, f.outcome.violations_total), (frames * MTU, 0));
        }
    }
}

/// A flow of one frame that is lost once, twice, three times: each costs exactly the timer.
#[test]
fn a_lost_tail_costs_exactly_the_timer() {
    for recovery in ["go-back-n", "selective"] {
        for rto_us in [20, 67, 320] {
            let host = format!("recovery = \"{recovery}\"\nrto = \"{rto_us}us\"\n");
            for times in 1..4u64 {
                let numbers: Vec<String> = (1..=times).map(|n| format!("\"{n}\"")).collect();
                let f = run(&line(100, 1, &host, &format!("kind = \"nth\"\nnumbers = [{}]\n", numbers.join(", "))));
                assert_eq!(received(&f), times * rto_us * 1_000_000 + 2 * (TX + 100_000), "{recovery}");
            }
            // The last of ten: the timer runs from the last progress, the acknowledgement of the ninth.
            let f = run(&line(100, 10, &host, "kind = \"nth\"\nnumbers = [\"10\"]\n"));
            assert_eq!(received(&f), 8 * TX + round(100) + rto_us * 1_000_000 + 2 * (TX + 100_000), "{recovery}");
        }
    }
}

/// The k-th of a hundred frames is lost: selective repeat sends one frame more, go-back-N a round trip of them; to the picosecond.
#[test]
fn a_gap_costs_one_frame_or_a_round_trip() {
    let delay_ns = 120;
    let w = (TX + round(delay_ns)).div_ceil(TX);
    let whole = 100 * TX + TX + 2 * delay_ns * 1000;
    for k in [1, 2, 50, 100 - w] {
        let errors = format!("kind = \"nth\"\nnumbers = [\"{k}\"]\n");
        let f = run(&line(delay_ns, 100, "recovery = \"selective\"\n", &errors));
        assert_eq!(received(&f), whole + TX, "frame {k}");
        let f = run(&line(delay_ns, 100, "recovery = \"go-back-n\"\n", &errors));
        assert_eq!(received(&f), whole + w * TX, "frame {k}");
    }
}

/// No run hangs: random losses of data and of acknowledgements, in bursts too, up to half of all frames, on both links.
#[test]
fn no_pattern_of_losses_lets_a_flow_hang() {
    let mut cases = 0;
    for seed in 0..40u64 {
        for recovery in ["go-back-n", "selective"] {
            let loss = [0.01, 0.1, 0.3, 0.5][seed as usize % 4];
            let kind = if seed % 3 == 0 {
                format!("kind = \"burst\"\nto_bad = {}\nto_good = 0.3\n", loss / 4.0)
            } else {
                format!("kind = \"frame\"\nloss = {loss}\n")
            };
            let fc = ["none", "pfc", "cbfc", "uec-cbfc", "gfc-buffer", "pffc"][seed as usize % 6];
            let rc = ["none", "dcqcn", "timely"][seed as usize % 3];
            let detection = if rc == "dcqcn" { "[detection]\nkind = \"red\"\nkmin = \"5KB\"\nkmax = \"200KB\"\n" } else { "" };
            let window = if seed % 2 == 0 { "window = \"30KB\"\n" } else { "" };
            let text = format!(
                "[run]\nduration = \"5s\"\nseed = {seed}\nstop_when_done = true\n[topology]\nkind = \"dumbbell\"\nsenders = 2\nreceivers = 2\n\
                 rate = \"10Gbps\"\ndelay = \"1us\"\n[host]\nmtu = \"1000B\"\nacks = \"per-frame\"\nrecovery = \"{recovery}\"\nrto = \"100us\"\n\
                 nack_interval = \"20us\"\n{window}[flow_control]\nkind = \"{fc}\"\n{detection}[rate_control]\nkind = \"{rc}\"\n[[link_errors]]\n{kind}\
                 [[workload]]\nkind = \"permutation\"\nsize = \"{}B\"\n",
                1 + 997 * seed * (1 + seed % 5)
            );
            let f = run(&text);
            for flow in &f.outcome.flows {
                assert!(flow.end.is_some() && flow.delivered == flow.flow.size, "seed {seed}, {recovery}, {fc}, {rc}: {flow:?}\n{text}");
            }
            cases += f.outcome.lost.on_faulty_link.total().min(1);
        }
    }
    assert!(cases > 60, "{cases} of 80 lost something");
}

/// Without the timer the last frame stays lost: what the default still does.
#[test]
fn without_a_timer_a_lost_tail_hangs() {
    let text = line(100, 10, "", "kind = \"nth\"\nnumbers = [\"10\"]\n").replace("duration = \"1s\"", "duration = \"10ms\"");
    assert!(run(&text).outcome.flows[0].end.is_none());
}

#[test]
fn what_cannot_recover_is_refused() {
    let refused = |host: &str, what: &str| {
        let text = line(100, 1, host, "kind = \"frame\"\nloss = 0\n");

        let e = NetworkScenario::from_text("hosts.toml", &text, &[], Path::new("")).err().unwrap_or_else(|| panic!("accepted: {text}"));
        assert!(e.render(false).contains(what), "{}", e.render(false));
    };
    refused("recovery = \"selective\"\nrto = \"0us\"\n", "a retransmission timer of 0");
    let none =
        line(100, 1, "recovery = \"go-back-n\"\n", "kind = \"frame\"\nloss = 0\n").replace("acks = \"per-frame\"", "acks = \"none\"");
    let e = NetworkScenario::from_text("hosts.toml", &none, &[], Path::new("")).err().unwrap().render(false);
    assert!(e.contains("go-back-n without acknowledgements"), "{e}");
}
