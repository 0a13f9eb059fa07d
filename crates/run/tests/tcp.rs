//! Connections over real links of the simulator: completion times in closed form, to the
//! picosecond; the same with both engines and any number of threads; with datagrams in parallel;
//! and combinations that are rejected.

use std::path::Path;

use xoff_record::Sink;
use xoff_run::{Finished, NetworkScenario};
use xoff_sim::{Engine, Outcome, Row, World};

fn load(text: &str) -> NetworkScenario {
    NetworkScenario::from_text("tcp.toml", text, &[], Path::new(""))
        .unwrap_or_else(|e| panic!("{}\n{text}", e.render(false)))
}

fn run(text: &str) -> Finished {
    load(text).run(Sink::Nothing).unwrap()
}

const PS_PER_BYTE: u64 = 80;
const MTU: u64 = 1000;
const MSS: u64 = 960;
/// A frame on a link.
const T: u64 = MTU * PS_PER_BYTE;
/// An acknowledgement on a link.
const A: u64 = 64 * PS_PER_BYTE;
/// A cable.
const D: u64 = 2_000_000;
/// From the first bit of a segment until its acknowledgement is in: two links there, two back.
const ROUND: u64 = 2 * (T + D) + 2 * (A + D);
/// From the first bit of a segment until it is delivered.
const THERE: u64 = 2 * (T + D);

/// One message of so many segments, H0 - S1 - H1 at 100 Gb/s.
fn message(segments: u64, transport: &str, errors: &str) -> String {
    format!(
        "[run]\nduration = \"5s\"\ndeadlock_interval = \"0us\"\n[topology]\nkind = \"star\"\nhosts = 2\nrate = \"100Gbps\"\ndelay = \"{D}ps\"\n\
         [host]\nframe_max = \"{MTU}B\"\nheader = \"40B\"\n[transport]\nkind = \"tcp\"\n{transport}[switch]\nbuffer = \"10MB\"\n[flow_control]\n\
         kind = \"none\"\n[[flow]]\nsrc = \"H0\"\ndst = \"H1\"\nsize = \"{}B\"\n{errors}",
        MSS * segments
    )
}

fn received(f: &Finished) -> u64 {
    assert_eq!(f.outcome.violations_total, 0);
    f.outcome.flows[0].received.expect("complete").0
}

fn lose(numbers: &[u64]) -> String {
    let numbers: Vec<String> = numbers.iter().map(|n| format!("\"{n}\"")).collect();
    format!(
        "[[link_errors]]\nports = [\"H0->S1\"]\nseen = false\nkind = \"nth\"\nnumbers = [{}]\n",
        numbers.join(", ")
    )
}

/// Round k begins with the first acknowledgement of round k - 1 and sends W 2^k segments back to
/// back, until one lasts as long as a round trip: from then on the link is never idle. The j-th
/// segment of round k is delivered after k R + (j - 1) T + 2 (T + D).
fn slow_start(segments: u64, window: u64) -> u64 {
    let (mut round, mut before) = (0, 0);
    while before + (window << round) < segments && (window << round) * T < ROUND {
        before += window << round;
        round += 1;
    }
    round * ROUND + (segments - before - 1) * T + THERE
}

#[test]
fn a_message_takes_its_rounds_of_slow_start() {
    for law in ["reno", "cubic"] {
        for window in [1, 2, 10] {
            let transport = format!("congestion_control = \"{law}\"\ninitial_window = {window}\n");
            for segments in [1, 2, 3, 9, 10, 11, 29, 30, 31, 69, 70, 71, 150, 400, 2000] {
                let f = run(&message(segments, &transport, ""));
                assert_eq!(
                    received(&f),
                    slow_start(segments, window),
                    "{law}, {window}, {segments} segments"
                );
                assert_eq!(
                    (f.outcome.flows[0].delivered, f.outcome.retransmission_timeouts),
                    (segments * MSS, 0)
                );
            }
        }
    }
    // As the RFC says where nothing is said: ten segments.
    assert_eq!(received(&run(&message(30, "", ""))), slow_start(30, 10));
}

/// With an acknowledgement for two segments a round grows by half, and begins a segment later.
#[test]
fn delayed_acknowledgements_let_a_round_grow_by_half() {
    let transport = "initial_window = 8\ndelayed_ack = \"40ms\"\n";
    for (segments, round, before) in [(8, 0, 0), (10, 1, 8), (20, 1, 8), (22, 2, 20), (38, 2, 20)] {
        let f = run(&message(segments, transport, ""));
        assert_eq!(
            received(&f),
            round * (ROUND + T) + (segments - before - 1) * T + THERE,
            "{segments} segments"
        );
    }
    // Three segments: the source knows of the last one when the receiver has waited for a fourth in
    // vain.
    let acked = |text: &str| run(text).outcome.flows[0].acked().unwrap().0;
    assert_eq!(acked(&message(3, transport, "")), 2 * T + ROUND + 40_000_000_000);
    assert_eq!(acked(&message(3, "initial_window = 8\n", "")), 2 * T + ROUND);
}

/// First of ten segments lost: the fourth causes the third duplicate, and the first is sent again
/// at once.
#[test]
fn a_lost_segment_goes_again_with_the_third_duplicate() {
    for law in ["reno", "cubic"] {
        let transport = format!("congestion_control = \"{law}\"\n");
        for (lost, behind) in [(1, 9), (4, 6), (7, 3)] {
            let f = run(&message(10, &transport, &lose(&[lost])));
            // Third duplicate: that of the third segment behind the lost one.
            assert!(behind >= 3);
            assert_eq!(received(&f), (lost + 2) * T + ROUND + THERE, "{law}, segment {lost}");
            assert_eq!(f.outcome.retransmission_timeouts, 0);
        }
    }
}

/// NewReno: two of ten are lost. The partial acknowledgement of the first one's repetition sends
/// the second again.
#[test]
fn a_second_loss_in_a_window_costs_a_round_trip() {
    let f = run(&message(10, "congestion_control = \"reno\"\n", &lose(&[1, 5])));
    assert_eq!(received(&f), 3 * T + 2 * ROUND + THERE);
    assert_eq!(f.outcome.retransmission_timeouts, 0);
}

/// The last of ten is lost, and its first repetition too: the timer runs from the last progress,
/// and doubles.
#[test]
fn a_lost_tail_costs_the_timer() {
    let transport = "rto_min = \"3ms\"\n";
    let f = run(&message(10, transport, &lose(&[10])));
    assert_eq!(received(&f), 8 * T + ROUND + 3_000_000_000 + THERE);
    assert_eq!(f.outcome.retransmission_timeouts, 1);
    let f = run(&message(10, transport, &lose(&[10, 11])));
    assert_eq!(received(&f), 8 * T + ROUND + 9_000_000_000 + THERE);
    // A lone segment: no round trip is known.
    let f = run(&message(1, "rto_initial = \"50ms\"\n", &lose(&[1, 2])));
    assert_eq!(received(&f), 150_000_000_000 + THERE);
}

/// Congestion avoidance: after a loss in a window of 16 the next windows are 8, 9, 10 ... segments,
/// each a round trip.
#[test]
fn beyond_slow_start_each_round_trip_adds_a_segment() {
    let after = |segments| {
        received(&run(&message(
            segments,
            "congestion_control = \"reno\"\ninitial_window = 16\n",
            &lose(&[1]),
        )))
    };
    let times: Vec<u64> = (20..150).map(after).collect();
    // After the recovery the window goes in two bursts, which begin where the segment before was
    // more than a frame earlier.
    let begins = times.windows(2).position(|w| w[1] > w[0] + T).unwrap() + 1;
    let in_round = |k: u64| {
        times
            .iter()
            .filter(|&&t| t >= times[begins] + k * ROUND && t < times[begins] + (k + 1) * ROUND)
            .count() as u64
    };
    assert_eq!((0..9).map(in_round).collect::<Vec<_>>(), (8..17).collect::<Vec<_>>());
}

/// No pattern of losses lets a connection hang: up to a fifth of all frames, data and
/// acknowledgements, on lossy and lossless links.
#[test]
fn no_pattern_of_losses_lets_a_connection_hang() {
    for seed in 0..24u64 {
        let (law, kind) =
            (["reno", "cubic"][seed as usize % 2], ["none", "pfc", "pffc"][seed as usize % 3]);
        let delayed = ["0us", "100us"][seed as usize / 2 % 2];
        let text = message(
            200,
            &format!("congestion_control = \"{law}\"\nrto_min = \"1ms\"\nrto_initial = \"1ms\"\ndelayed_ack = \"{delayed}\"\n"),
            "",
        )
        .replace("kind = \"none\"", &format!("kind = \"{kind}\""))
        .replace("duration = \"5s\"", &format!("duration = \"2000s\"\nseed = {seed}\n"));
        let loss = [0.01, 0.05, 0.2][seed as usize % 3];
        let f = run(&(text
            + &format!(
                "[[link_errors]]\nports = [\"all\"]\nseen = false\nkind = \"frame\"\nloss = {loss}\n"
            )));
        let flow = &f.outcome.flows[0];
        assert_eq!(flow.delivered, 200 * MSS, "{law}, {kind}, loss {loss}, seed {seed}");
        assert!(flow.received.is_some() && flow.acked().is_some());
    }
}

/// Connections and datagrams through one bottleneck, with pauses, delayed acknowledgements and lost
/// frames.
fn busy(flow_control: &str) -> String {
    format!(
        "[run]\nduration = \"3ms\"\nseed = 5\ndeadlock_interval = \"0us\"\n[topology]\nkind = \"chain\"\nswitches = 3\nhosts_per_switch = 3\n\
         rate = \"10Gbps\"\ndelay = \"1us\"\n[switch]\nbuffer = \"60KB\"\n[host]\nheader = \"40B\"\nwindow = \"200KB\"\n[transport]\nkind = \"tcp\"\n\
         delayed_ack = \"50us\"\nrto_min = \"300us\"\n[flow_control]\nkind = \"{flow_control}\"\n\
         [[flow]]\nsrc = \"H1\"\ndst = \"H8\"\nrate_control = false\nrate = \"6Gbps\"\n\
         [[flow]]\nsrc = \"H2\"\ndst = \"H8\"\nrate_control = false\nsize = \"500KB\"\n\
         [[flow]]\nsrc = \"H3\"\ndst = \"H8\"\n[[flow]]\nsrc = \"H5\"\ndst = \"H9\"\n\
         [[workload]]\nkind = \"poisson\"\nsize = \"20KB\"\nload = 0.2\nhosts = [\"H1\", \"H4\"]\ndestinations = [\"H7\", \"H9\"]\nduration = \"3ms\"\n\
         [[link_errors]]\nports = [\"all\"]\nseen = false\nkind = \"frame\"\nloss = 0.001\n[probes]\nflow_rates = true\ninterval = \"100us\"\n"
    )
}

fn rows(s: &NetworkScenario, engine: Engine, threads: usize) -> (Vec<Row>, Outcome) {
    let mut m = s.model();
    (m.engine, m.threads) = (engine, threads);
    let mut w = World::build(&s.topology, s.flows.clone(), &m).unwrap();
    w.record_to(Box::new(Vec::<Row>::new()));
    let ended = loop {
        if let Some(ended) = w.run(s.until, 1 << 16) {
            break ended;
        }
    };
    let (outcome, recorder) = w.finish(ended);
    (*recorder.unwrap().into_any().downcast::<Vec<Row>>().unwrap(), outcome)
}

#[test]
fn engines_and_threads_change_nothing() {
    let mut all_timers = 0;
    for flow_control in ["none", "pfc", "pffc", "cbfc"] {
        let s = load(&busy(flow_control));
        let (first, outcome) = rows(&s, Engine::Events, 1);
        all_timers += outcome.retransmission_timeouts;
        assert!(outcome.delivered_frames > 2_000, "{flow_control}");
        // No window holds datagrams, and a lost one stays lost.
        assert_eq!(outcome.flows[1].sent, 500_000, "{flow_control}: more than the window");
        for (engine, threads) in
            [(Engine::Windows, 1), (Engine::Events, 2), (Engine::Windows, 3), (Engine::Events, 4)]
        {
            let (other, o) = rows(&s, engine, threads);
            assert_eq!(first.len(), other.len(), "{flow_control}");
            assert!(
                first.iter().zip(&other).all(|(a, b)| format!("{a:?}") == format!("{b:?}")),
                "{flow_control}, {threads} threads"
            );
            let ends = |o: &Outcome| {
                o.flows.iter().map(|f| (f.received, f.acked(), f.delivered)).collect::<Vec<_>>()
            };
            assert_eq!(ends(&outcome), ends(&o));
        }
    }
    assert!(all_timers > 0, "timers took part");
}

/// Datagrams are not acknowledged: they are complete when they have arrived, at the rate of their
/// application, whatever is lost.
#[test]
fn datagrams_go_beside_connections() {
    let text = "[run]\nduration = \"10ms\"\n[topology]\nkind = \"star\"\nhosts = 3\nrate = \"10Gbps\"\ndelay = \"20us\"\n[host]\nheader = \"40B\"\n\
                [transport]\nkind = \"tcp\"\n[switch]\nbuffer = \"300KB\"\n[flow_control]\nkind = \"pfc\"\n\
                [[flow]]\nsrc = \"H0\"\ndst = \"H1\"\nsize = \"100KB\"\nrate_control = false\n\
                [[flow]]\nsrc = \"H2\"\ndst = \"H1\"\nsize = \"100KB\"\nstart = \"5ms\"\n";
    let f = run(text);
    let (udp, tcp) = (&f.outcome.flows[0], &f.outcome.flows[1]);
    assert_eq!((udp.delivered, udp.acked()), (100_000, None));
    assert_eq!((tcp.delivered, tcp.acked().is_some()), (100_000, true));
    // Back to back, and no frame comes back.
    let frames = 100_000u64.div_ceil(1460);
    let last = 100_000 - (frames - 1) * 1460 + 40;
    assert_eq!(
        udp.received.unwrap().0,
        ((frames - 1) * 1500 + 1500) * 800 + 40_000_000 + last * 800
    );
    assert!(
        tcp.received.unwrap().0 - 5_000_000_000 > udp.received.unwrap().0,
        "rounds of slow start"
    );
    // Ports by node: hosts first, then the switch, whose port 0 leads to H0.
    assert_eq!(f.outcome.ports[3][0].tx_frames, 0, "towards the source of datagrams");
    assert!(f.outcome.ports[3][2].tx_frames > 0, "towards the source of a connection");
}

#[test]
fn what_does_not_go_together_is_refused() {
    let refused = |text: &str, what: &str| {
        let problems = NetworkScenario::from_text("tcp.toml", text, &[], Path::new(""))
            .err()
            .unwrap_or_else(|| panic!("accepted: {what}\n{text}"));
        let text = problems.render(false);
        assert!(text.contains(what), "{what}: {text}");
        assert!(text.contains("tcp.toml:"), "{text}");
    };
    let plain = message(10, "", "");
    refused(
        &(plain.clone() + "[rate_control]\nkind = \"timely\"\n"),
        "remove [rate_control] or [transport]",
    );
    refused(
        &plain.replace("header =", "recovery = \"selective\"\nheader ="),
        "keep frames ahead of a gap",
    );
    refused(&message(10, "mss = \"961B\"\n", ""), "expected at most host.frame_max - host.header");
    refused(
        &plain.replace("header =", "window = \"959B\"\nheader ="),
        "the window is smaller than a segment",
    );
    refused(&message(10, "rto_min = \"4us\"\n", ""), "more than a round trip");
    refused(&message(10, "rto_min = \"1ms\"\ndelayed_ack = \"1ms\"\n", ""), "less than rto_min");
    refused(&message(10, "initial_window = 0\n", ""), "RFC 6928");
    refused(&message(10, "congestion_control = \"vegas\"\n", ""), "reno");
    // Shorter segments in the same frames.
    let f = run(&message(10, "mss = \"480B\"\n", ""));
    assert_eq!(f.outcome.flows[0].delivered, 10 * MSS);
}
