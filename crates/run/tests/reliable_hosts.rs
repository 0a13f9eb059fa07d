//! Hosts that send lost frames again: closed forms, exact timers, and no pattern of losses that
//! stops a flow.

use std::path::Path;

use xoff_record::Sink;
use xoff_run::{Finished, NetworkScenario};
use xoff_units::Loss;

fn run(text: &str) -> Finished {
    let s = NetworkScenario::from_text("hosts.toml", text, &[], Path::new(""))
        .unwrap_or_else(|e| panic!("{}\n{text}", e.render(false)));
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
         [host]\nframe_max = \"{MTU}B\"\nacks = \"per-frame\"\n{host}[switch]\nbuffer = \"10MB\"\n[flow_control]\nkind = \"none\"\n\
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

/// TIMELY's snippet at a constant 1 Gb/s: ten segments of 64 frames. As bursts they begin 512 us
/// apart and their frames follow at line rate; frame by frame all are 8 us apart.
#[test]
fn bursts_of_timely() {
    let time = |bursts: bool| {
        received(&run(&format!(
            "[run]\nduration = \"1s\"\n[topology]\nkind = \"star\"\nhosts = 2\nrate = \"100Gbps\"\ndelay = \"120ns\"\n\
             [host]\nframe_max = \"{MTU}B\"\nacks = \"per-frame\"\n[switch]\nbuffer = \"10MB\"\n[flow_control]\nkind = \"none\"\n\
             [rate_control]\nkind = \"timely\"\nvariant = \"snippet\"\nbursts = {bursts}\ninitial_rate = \"1Gbps\"\nbeta = 0\ndelta = \"0bps\"\n\
             [[flow]]\nsrc = \"H0\"\ndst = \"H1\"\nsize = \"640KB\"\n"
        )))
    };
    let rest = 2 * (TX + 120_000);
    assert_eq!(time(true), 9 * 512_000_000 + 63 * TX + rest);
    assert_eq!(time(false), 639 * 8_000_000 + rest);
}

/// A lost frame costs one slot under selective repeat: 1 - p. Under go-back-N it costs a round
/// trip: (1-p)/(1-p+pW).
#[test]
fn efficiency_under_loss_is_the_closed_form() {
    let delay_ns = 120;
    // Until the Nack that the frame behind the lost one causes is in, and the frame that is then on
    // the wire has left.
    let w = (TX + round(delay_ns)).div_ceil(TX) as f64;
    for (p, frames) in
        [(1e-5, 100_000u64), (1e-4, 100_000), (1e-3, 200_000), (1e-2, 300_000), (1e-1, 300_000)]
    {
        let errors = format!("kind = \"frame\"\nloss = {p}\n");
        for selective in [false, true] {
            let host = if selective {
                // A frame that is lost twice waits for the timer, and the flow continues meanwhile.
                "recovery = \"selective\"\nrto = \"20us\"\n".to_owned()
            } else {
                format!(
                    "recovery = \"go-back-n\"\nrto = \"200us\"\nnack_interval = \"{}ps\"\n",
                    round(delay_ns)
                )
            };
            let f = run(&line(delay_ns, frames, &host, &errors));
            let efficiency = (frames * TX) as f64 / received(&f) as f64;
            let form = if selective { 1.0 - p } else { (1.0 - p) / (1.0 - p + p * w) };
            println!(
                "p {p}, selective {selective}: {efficiency:.5}, the closed form {form:.5}, {} timers",
                f.outcome.retransmission_timeouts
            );
            assert!(
                (efficiency / form - 1.0).abs() < 0.01,
                "p {p}, selective {selective}: {efficiency:.5}, the closed form {form:.5}"
            );
            assert_eq!(
                (f.outcome.flows[0].delivered, f.outcome.violations_total),
                (frames * MTU, 0)
            );
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
                let f = run(&line(
                    100,
                    1,
                    &host,
                    &format!("kind = \"nth\"\nnumbers = [{}]\n", numbers.join(", ")),
                ));
                assert_eq!(
                    received(&f),
                    times * rto_us * 1_000_000 + 2 * (TX + 100_000),
                    "{recovery}"
                );
            }
            // The last of ten: the timer runs from the last progress, the acknowledgement of the
            // ninth.
            let f = run(&line(100, 10, &host, "kind = \"nth\"\nnumbers = [\"10\"]\n"));
            assert_eq!(
                received(&f),
                8 * TX + round(100) + rto_us * 1_000_000 + 2 * (TX + 100_000),
                "{recovery}"
            );
        }
    }
}

/// The k-th of a hundred frames is lost: selective repeat sends one frame more, go-back-N a round
/// trip of them; to the picosecond.
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

/// No run hangs: random losses of data and of acknowledgements, in bursts too, up to half of all
/// frames, on both links.
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
            let detection = if rc == "dcqcn" {
                "[detection]\nkind = \"red\"\nkmin = \"5KB\"\nkmax = \"200KB\"\n"
            } else {
                ""
            };
            let window = if seed % 2 == 0 { "window = \"30KB\"\n" } else { "" };
            let text = format!(
                "[run]\nduration = \"5s\"\nseed = {seed}\nstop_when_done = true\n[topology]\nkind = \"dumbbell\"\nsenders = 2\nreceivers = 2\n\
                 rate = \"10Gbps\"\ndelay = \"1us\"\n[host]\nframe_max = \"1000B\"\nacks = \"per-frame\"\nrecovery = \"{recovery}\"\nrto = \"100us\"\n\
                 nack_interval = \"20us\"\n{window}[flow_control]\nkind = \"{fc}\"\n{detection}[rate_control]\nkind = \"{rc}\"\n[[link_errors]]\n{kind}\
                 [[workload]]\nkind = \"permutation\"\nsize = \"{}B\"\n",
                1 + 997 * seed * (1 + seed % 5)
            );
            let f = run(&text);
            for flow in &f.outcome.flows {
                assert!(
                    flow.end.is_some() && flow.delivered == flow.flow.size,
                    "seed {seed}, {recovery}, {fc}, {rc}: {flow:?}\n{text}"
                );
            }
            cases += f.outcome.lost[Loss::OnFaultyLink].total().min(1);
        }
    }
    assert!(cases > 60, "{cases} of 80 lost something");
}

/// The shorter timer counts while at most three frames are outstanding: a lost tail costs it, and a
/// lost window the longer one.
#[test]
fn few_frames_outstanding_have_the_shorter_timer() {
    for recovery in ["go-back-n", "selective"] {
        let host = format!("recovery = \"{recovery}\"\nrto = \"320us\"\nrto_low = \"50us\"\n");
        let lost = |n: &[u64]| {
            let numbers: Vec<String> = n.iter().map(|n| format!("\"{n}\"")).collect();
            format!("kind = \"nth\"\nnumbers = [{}]\n", numbers.join(", "))
        };
        // The last k of ten: the timer runs from the acknowledgement of the last one before them.
        for (k, timer_us) in [(1u64, 50), (2, 50), (3, 50), (4, 320), (5, 320)] {
            let gone: Vec<u64> = (10 - k + 1..=10).collect();
            let f = run(&line(100, 10, &host, &lost(&gone)));
            // Go-back-N sends all again; selective repeat the first, and the others when the timer
            // has expired for each, or a Nack names them.
            let first_again = (9 - k) * TX + round(100) + timer_us * 1_000_000;
            let end = received(&f);
            if k == 1 || recovery == "go-back-n" {
                assert_eq!(end, first_again + k * TX + TX + 200_000, "{recovery}, {k} lost");
            } else {
                assert!(end >= first_again + TX + TX + 200_000, "{recovery}, {k} lost: {end}");
            }
        }
    }
    let refused = |host: &str, what: &str| {
        let text = line(100, 1, host, "kind = \"frame\"\nloss = 0\n");
        let e = NetworkScenario::from_text("hosts.toml", &text, &[], Path::new(""))
            .err()
            .unwrap_or_else(|| panic!("accepted: {text}"));
        assert!(
            e.render(false).contains(what) && e.render(false).contains("hosts.toml:"),
            "{}",
            e.render(false)
        );
    };
    refused(
        "recovery = \"go-back-n\"\nrto = \"10us\"\nrto_low = \"11us\"\n",
        "rto_low 11 us > rto 10 us",
    );
    refused("recovery = \"selective\"\nrto_low = \"0us\"\n", "a retransmission timer of 0");
    refused("rto_low = \"10us\"\n", "nack has no timer");
    refused("recovery = \"selective\"\norder = \"strict\"\n", "whose receivers keep frames ahead");
}

/// Frames ahead of a gap: delivered as they come, or once the gap is filled; the message is
/// complete at the same time, and with the same frames.
#[test]
fn the_order_of_delivery_is_a_choice() {
    let at = |order: &str, until: &str| {
        let host = format!("recovery = \"selective\"\nrto = \"30us\"\n{order}");
        let text = line(1000, 100, &host, "kind = \"nth\"\nnumbers = [\"10\", \"40\"]\n")
            .replace("duration = \"1s\"", until);
        run(&text)
    };
    let (buffer, count) = (
        at("order = \"buffer\"\n", "duration = \"1ms\""),
        at("order = \"count\"\n", "duration = \"1ms\""),
    );
    let default = at("", "duration = \"1ms\"");
    assert_eq!(
        (received(&buffer), buffer.outcome.flows[0].end),
        (received(&count), count.outcome.flows[0].end)
    );
    assert_eq!(
        (received(&buffer), 100 * MTU),
        (received(&default), default.outcome.flows[0].delivered)
    );
    assert_eq!(
        (count.outcome.flows[0].delivered, count.outcome.flows[0].out_of_order),
        (100 * MTU, 0)
    );
    // While the first gap is open: nine frames are in order, and what came behind it counts or does
    // not.
    let (buffer, count) = (
        at("order = \"buffer\"\n", "duration = \"5us\""),
        at("order = \"count\"\n", "duration = \"5us\""),
    );
    assert_eq!(buffer.outcome.flows[0].delivered, 9 * MTU);
    assert!(count.outcome.flows[0].delivered > 15 * MTU, "{}", count.outcome.flows[0].delivered);
}

/// Messages of one queue pair in sequence, and several queue pairs of a host in parallel: none
/// hangs under any pattern of losses, and the awaited messages of a job arrive.
#[test]
fn no_pattern_of_losses_lets_a_queue_pair_hang() {
    let mut lost = 0;
    for seed in 0..36u64 {
        let recovery = ["go-back-n", "selective"][seed as usize % 2];
        let loss = [0.01, 0.1, 0.3][seed as usize / 2 % 3];
        let order = if recovery == "selective" {
            ["", "order = \"count\"\n"][seed as usize / 6 % 2]
        } else {
            ""
        };
        let (rc, detection) = [
            ("none", ""),
            ("dcqcn", "[detection]\nkind = \"red\"\nkmin = \"5KB\"\nkmax = \"200KB\"\n"),
            ("timely", ""),
        ][seed as usize / 3 % 3];
        let errors = if seed % 4 == 0 {
            format!("kind = \"burst\"\nto_bad = {}\nto_good = 0.3\n", loss / 4.0)
        } else {
            format!("kind = \"frame\"\nloss = {loss}\n")
        };
        let text = format!(
            "[run]\nduration = \"5s\"\nseed = {seed}\nstop_when_done = true\n[topology]\nkind = \"star\"\nhosts = 4\nrate = \"10Gbps\"\ndelay = \"1us\"\n\
             [host]\nframe_max = \"1000B\"\nacks = \"per-frame\"\nrecovery = \"{recovery}\"\nrto = \"100us\"\nrto_low = \"40us\"\nnack_interval = \"20us\"\n{order}\
             [flow_control]\nkind = \"{}\"\n{detection}[rate_control]\nkind = \"{rc}\"\n[[link_errors]]\n{errors}\
             [[job]]\nqueue_pairs = {}\niterations = 2\n[[collective]]\nkind = \"{}\"\nsize = \"{}B\"\nchannels = 2\n",
            ["pfc", "none", "uec-cbfc"][seed as usize % 3],
            1 + seed / 4 % 2,
            ["all-reduce", "all-to-all"][seed as usize / 2 % 2],
            4000 + 7001 * seed,
        );
        let f = run(&text);
        for flow in &f.outcome.flows {
            assert!(
                flow.end.is_some() && flow.delivered == flow.flow.size,
                "seed {seed}: {flow:?}\n{text}"
            );
        }
        lost += f.outcome.lost[Loss::OnFaultyLink].total().min(1);
    }
    assert!(lost > 30, "{lost} of 36 lost something");
}

/// Without the timer the last frame stays lost: what the default still does.
#[test]
fn without_a_timer_a_lost_tail_hangs() {
    let text = line(100, 10, "", "kind = \"nth\"\nnumbers = [\"10\"]\n")
        .replace("duration = \"1s\"", "duration = \"10ms\"");
    assert!(run(&text).outcome.flows[0].end.is_none());
}

/// A timer that is shorter than the queues, or than a storm, sends again what has not been lost.
/// What comes twice is no frame out of order, and the flows end.
#[test]
fn timers_that_expire_for_nothing_break_no_promise() {
    let star = |flow_control: &str, host: &str, rest: &str| {
        format!(
            "[run]\nduration = \"100ms\"\n[topology]\nkind = \"star\"\nhosts = 9\nrate = \"10Gbps\"\ndelay = \"1us\"\n[host]\nacks = \"per-frame\"\n\
             window = \"15KB\"\n{host}[flow_control]\nkind = \"{flow_control}\"\n{rest}[[workload]]\nkind = \"incast\"\nreceiver = \"H0\"\nsize = \"100KB\"\n"
        )
    };
    let storm =
        "[[pause_storm]]\nhost = \"H0\"\nstart = \"50us\"\nstop = \"1ms\"\ninterval = \"20us\"\n";
    for recovery in ["go-back-n", "selective"] {
        for (flow_control, rto, rest) in [
            ("pfc", "8us", ""),
            ("uec-cbfc", "8us", ""),
            ("pffc", "8us", ""),
            ("pfc", "200us", storm),
        ] {
            let case = format!("{recovery}, {flow_control}, {rto}");
            let text =
                star(flow_control, &format!("recovery = \"{recovery}\"\nrto = \"{rto}\"\n"), rest);
            let s = NetworkScenario::from_text("hosts.toml", &text, &[], Path::new(""))
                .unwrap_or_else(|e| panic!("{}", e.render(false)));
            assert!(!s.warnings.render(false).contains("rto"), "{case}");
            let o = s.run(Sink::Nothing).unwrap().outcome;
            assert!(o.retransmission_timeouts > 0, "{case}: no timer expired");
            assert_eq!(
                (o.violations_total, o.lost.total().total()),
                (0, 0),
                "{case}: {:?}",
                o.violations.first()
            );
            assert!(o.flows.iter().all(|f| f.end.is_some()), "{case}: a flow is not complete");
        }
    }
    // Shorter than any round trip: stated beforehand.
    let text = star("pfc", "recovery = \"selective\"\nrto = \"6us\"\nrto_low = \"2us\"\n", "");
    let s = NetworkScenario::from_text("hosts.toml", &text, &[], Path::new("")).unwrap();
    let warnings = s.warnings.render(false);
    for stated in [
        "rto 6 us is shorter than 6.502 us, the least round trip from H",
        "rto_low 2 us is shorter than 6.502 us",
        "hosts.toml:",
    ] {
        assert!(warnings.contains(stated), "'{stated}' is not in: {warnings}");
    }
}

#[test]
fn what_cannot_recover_is_refused() {
    let refused = |host: &str, what: &str| {
        let text = line(100, 1, host, "kind = \"frame\"\nloss = 0\n");

        let e = NetworkScenario::from_text("hosts.toml", &text, &[], Path::new(""))
            .err()
            .unwrap_or_else(|| panic!("accepted: {text}"));
        assert!(e.render(false).contains(what), "{}", e.render(false));
    };
    refused("recovery = \"selective\"\nrto = \"0us\"\n", "a retransmission timer of 0");
    let none = line(100, 1, "recovery = \"go-back-n\"\n", "kind = \"frame\"\nloss = 0\n")
        .replace("acks = \"per-frame\"", "acks = \"none\"");
    let e = NetworkScenario::from_text("hosts.toml", &none, &[], Path::new(""))
        .err()
        .unwrap()
        .render(false);
    assert!(e.contains("go-back-n needs acknowledgements, but hosts send none"), "{e}");
}

/// A Nack that goes back may leave three frames outstanding whose shorter timer has expired
/// already: the source acts on it then, and not in the past, and the next timer counts from there.
/// The times are those of an independent model.
#[test]
fn a_timer_that_becomes_shorter_expires_no_earlier_than_now() {
    let f = run(r#"
[run]
duration = "20ms"
[topology]
kind = "custom"
delay = "3264637ps"
hosts = ["H0","H1"]
links = ["H0 S1 10Gbps", "H1 S1 10Gbps"]
[switch]
buffer = "5MB"
[host]
frame_max = "1500B"
acks = "per-frame"
ack_len = "71B"
recovery = "go-back-n"
rto = "52921287ps"
rto_low = "24943907ps"
nack_interval = "23124504ps"
[[link_errors]]
kind = "nth"
ports = ["H0->S1"]
numbers = ["6", "9", "11", "17", "19", "22", "24", "25", "28", "29", "32", "34", "36", "38", "44", "52", "53", "56"]
[[link_errors]]
kind = "nth"
ports = ["S1->H1"]
numbers = ["1", "6", "7", "10", "11", "14", "15", "17", "19", "20", "23", "26", "29", "33", "38", "39", "42", "44", "45", "49", "52", "54", "56"]
[[link_errors]]
kind = "nth"
ports = ["H1->S1"]
numbers = ["3", "8", "15", "23", "24", "26", "27", "34", "35", "37", "40", "41", "45", "53", "54", "59"]
[[link_errors]]
kind = "nth"
ports = ["S1->H0"]
numbers = ["1", "3", "8", "11", "12", "18", "21", "24", "29", "30", "31", "32", "33", "34", "39", "41", "44", "46", "50", "53", "57"]
[[flow]]
src = "H0"
dst = "H1"
size = "15622B"
"#);
    let flow = &f.outcome.flows[0];
    assert_eq!((flow.received.unwrap().0, flow.end.unwrap().0), (324_172_762, 330_815_636));
}
