//! Behaviour of hosts, from a scenario file: constant rates, completion, counters, and times at the
//! end of time.

use std::path::Path;

use xoff_record::Sink;
use xoff_run::{Finished, NetworkScenario};
use xoff_units::{Bytes, Rate, Span, Time};

fn load(text: &str) -> NetworkScenario {
    NetworkScenario::from_text("hosts.toml", text, &[], Path::new("."))
        .unwrap_or_else(|e| panic!("{e}"))
}

fn run(text: &str) -> Finished {
    let f = load(text).run(Sink::Nothing).unwrap();
    assert_eq!(f.outcome.violations, []);
    f
}

/// H0 sends flows at these rates (Gb/s; `None`: as fast as it goes), each to a host of its own, for
/// 10 ms over 10 Gb/s. What each gets.
fn rates(given: &[Option<f64>], host: &str) -> Vec<f64> {
    let mut text = format!(
        "[run]\nduration = \"10ms\"\n[topology]\nkind = \"star\"\nhosts = {}\nrate = \"10Gbps\"\n[flow_control]\nkind = \"pfc\"\n[host]\nframe_max = \"1500B\"\n{host}",
        given.len() + 1
    );
    for (i, rate) in given.iter().enumerate() {
        text.push_str(&format!("[[flow]]\nsrc = \"H0\"\ndst = \"H{}\"\n", i + 1));
        if let Some(rate) = rate {
            text.push_str(&format!("rate = \"{rate}Gbps\"\n"));
        }
    }
    let f = run(&text);
    f.outcome
        .flows
        .iter()
        .map(|f| Rate::of(Bytes(f.sent), Span(f.flow.start.0 + 10_000_000_000)).0 as f64 / 1e9)
        .collect()
}

/// By the distance from the previous frame, the former count, 4.9 Gb/s next to a greedy flow became
/// 3.33, and 5 and 4 became 4 and 4.
#[test]
fn a_constant_rate_is_kept_where_the_link_carries_it() {
    let near = |got: Vec<f64>, want: &[f64]| {
        assert!(
            got.len() == want.len() && got.iter().zip(want).all(|(g, w)| (g - w).abs() < 0.005),
            "{got:?}, not {want:?}"
        );
    };
    near(rates(&[Some(4.9), None], ""), &[4.9, 5.1]);
    near(rates(&[Some(5.0), Some(4.0)], ""), &[5.0, 4.0]);
    near(
        rates(&[Some(8.0), Some(0.3), Some(0.3), Some(0.3), Some(0.3), Some(0.3)], ""),
        &[8.0, 0.3, 0.3, 0.3, 0.3, 0.3],
    );
    // The link carries a fair share, not 7 Gb/s next to a greedy flow.
    near(rates(&[Some(7.0), None], ""), &[5.0, 5.0]);
    let gap = "pacing = \"gap\"\n";
    near(rates(&[Some(4.9), None], gap), &[3.333, 6.667]);
    near(rates(&[Some(5.0), Some(4.0)], gap), &[4.0, 4.0]);
}

/// H0's 4 Gb/s share a 10 Gb/s port with nine times as many bursts as it can carry: they wait, and
/// are all there in the end. Nothing is sent that has not been produced.
#[test]
fn what_a_pause_delays_is_made_up() {
    let text = |pacing: &str| {
        format!(
            "[run]\nduration = \"10ms\"\nstop_when_done = false\n[topology]\nkind = \"star\"\nhosts = 6\nrate = \"10Gbps\"\n[flow_control]\nkind = \"pfc\"\n\
             [host]\npacing = \"{pacing}\"\n[switch]\nbuffer = \"60KB\"\n[[flow]]\nsrc = \"H0\"\ndst = \"H1\"\nrate = \"4Gbps\"\n\
             [[workload]]\nkind = \"incast\"\nreceiver = \"H1\"\nsenders = [\"H2\", \"H3\", \"H4\", \"H5\"]\nsize = \"500KB\"\nstart = \"1ms\"\n"
        )
    };
    let sent = |pacing: &str| {
        let f = run(&text(pacing));
        assert!(f.outcome.ports[0][0].pauses > 0, "H0 was stopped");
        f.outcome.flows[0].sent
    };
    let produced = Rate::from_gbps(4).bytes_in(Span::from_ms(10)).0;
    let (schedule, gap) = (sent("schedule"), sent("gap"));
    assert!(schedule <= produced + 1500 && schedule >= produced - 3000, "{schedule} of {produced}");
    assert!(gap < produced - 100_000, "{gap} of {produced}: what a pause took is lost");
}

/// Two links of 1 us at 10 Gb/s: an acknowledgement of 64 B takes 2 x (1 us + 51.2 ns) back.
#[test]
fn delivery_and_acknowledgement_are_two_times() {
    let flow = |acks: &str| {
        run(&format!(
            "[topology]\nkind = \"star\"\nhosts = 2\nrate = \"10Gbps\"\ndelay = \"1us\"\n[host]\nacks = \"{acks}\"\n[[flow]]\nsrc = \"H0\"\ndst = \"H1\"\nsize = \"3KB\"\n"
        ))
    };
    let f = &flow("per-frame").outcome.flows[0];
    assert_eq!((f.received, f.acked()), (Some(Time(5_600_000)), Some(Time(5_600_000 + 2_102_400))));
    let f = &flow("none").outcome.flows[0];
    assert_eq!((f.received, f.acked()), (Some(Time(5_600_000)), None));
}

/// 1 MB at 1 Gb/s over a link that fails at 1 ms with eight frames on it. What came after the gap
/// arrived, but is not delivered: in order are 67 frames.
#[test]
fn what_arrives_behind_a_gap_is_counted_beside_what_is_delivered() {
    let f = run(
        "[run]\nduration = \"20ms\"\nwatch = \"0us\"\n[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 1\n\
                 rate = \"10Gbps\"\ndelay = \"100us\"\n[flow_control]\nkind = \"pfc\"\n[switch]\nbuffer = \"1MB\"\n[[failure]]\nlink = \"L1-S2\"\nat = \"1ms\"\n\
                 [[flow]]\nsrc = \"H0\"\ndst = \"H1\"\nrate = \"1Gbps\"\nsize = \"1MB\"\n",
    );
    let flow = &f.outcome.flows[0];
    assert_eq!(
        (flow.delivered, flow.arrived(), flow.received),
        (67 * 1500, 1_000_000 - 8 * 1500, None)
    );
}

/// A run with such a time never ended and ignored signals. Every such time in a file is rejected.
#[test]
fn the_end_of_time_is_refused() {
    let base = "[run]\nduration = \"1ms\"\n[topology]\nkind = \"star\"\nhosts = 2\n[flow_control]\nkind = \"pfc\"\n[[flow]]\nsrc = \"H0\"\ndst = \"H1\"\nsize = \"1MB\"\n";
    load(base);
    for text in [
        base.replace("1ms", "18446744073709551615ps"),
        base.replace("1ms", "1000001s"),
        format!("{base}start = \"18446744073709551000ps\"\n"),
        base.replace("[topology]", "deadlock_interval = \"18446744073709551000ps\"\n[topology]"),
        base.replace("[topology]", "[probes]\ninterval = \"18446744073709551000ps\"\n[topology]"),
        format!("{base}[[failure]]\nlink = \"S1-H1\"\nat = \"18446744073709551000ps\"\n"),
        base.replace("hosts = 2\n", "hosts = 2\ndelay = \"18446744073709551000ps\"\n"),
        format!("{base}[control_delay]\nprocessing_jitter = \"1000000001ms\"\n"),
        format!(
            "{base}[[workload]]\nkind = \"closed-loop\"\nsize = \"1KB\"\nstop = \"1000000001ms\"\n"
        ),
    ] {
        let refused = NetworkScenario::from_text("end.toml", &text, &[], Path::new("."))
            .err()
            .unwrap_or_else(|| panic!("accepted:\n{text}"));
        let refused = refused.to_string();
        let placed = text
            .lines()
            .position(|l| {
                l.contains("18446744073709551")
                    || l.contains("1000001s")
                    || l.contains("1000000001ms")
            })
            .unwrap()
            + 1;
        assert!(
            refused.contains("more than xoff can count")
                && refused.contains(&format!("end.toml:{placed}:")),
            "{refused} (line {placed})"
        );
        assert!(refused.contains("expected at most 1000000 s"), "{refused}");
    }
}

/// The longest run, with a flow in its last second, ends.
#[test]
fn the_longest_run_ends() {
    let f = run(
        "[run]\nduration = \"1000000s\"\nwatch = \"0us\"\n[topology]\nkind = \"star\"\nhosts = 2\n[flow_control]\nkind = \"pfc\"\n[[flow]]\nsrc = \"H0\"\ndst = \"H1\"\nsize = \"1MB\"\nstart = \"999999s\"\n",
    );
    assert!(f.outcome.flows[0].received.is_some());
}

/// HPCC's records need room in the header, and the ideal times of the run count them.
#[test]
fn a_header_without_room_for_records_is_a_warning() {
    let warned = |header: &str| {
        let s = load(&format!(
            "[topology]\nkind = \"star\"\nhosts = 2\n[host]\nacks = \"per-frame\"\n{header}[rate_control]\nkind = \"hpcc\"\n[[flow]]\nsrc = \"H0\"\ndst = \"H1\"\nsize = \"1MB\"\n"
        ));
        let stated = s
            .parameters
            .iter()
            .find(|p| p.path == "host.header")
            .expect("the header is among the parameters");
        (s.warnings.iter().any(|w| w.line().contains("42 B of records")), stated.value.clone())
    };
    assert_eq!(warned(""), (true, "0B".into()));
    assert_eq!(warned("header = \"42B\"\n"), (false, "42B".into()));
}
