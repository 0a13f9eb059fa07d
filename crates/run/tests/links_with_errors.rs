//! `docs/links-with-errors.md`: its tables are those that are computed here.

use std::fmt::Write;
use std::path::Path;

use xoff_record::Sink;
use xoff_run::{Finished, NetworkScenario};
use xoff_units::{Loss, Span};

fn run(text: &str) -> Option<Finished> {
    let s = NetworkScenario::from_text("page.toml", text, &[], Path::new("")).ok()?;
    Some(s.run(Sink::Nothing).unwrap())
}

/// A flow at the rate of its links into a host that takes nothing in for a while.
fn stalled(kind: &str, metres: u64, buffer: u64) -> String {
    let stall_us = 60 + metres / 25;
    format!(
        "[run]\nduration = \"20ms\"\nstop_when_done = true\ndeadlock_interval = \"0us\"\n[topology]\nkind = \"star\"\nhosts = 2\nrate = \"100Gbps\"\n\
         delay = \"{}ns\"\n[switch]\nbuffer = \"{buffer}B\"\n[flow_control]\nkind = {kind}\n[[slow_receiver]]\nhost = \"H1\"\nrate = \"100Gbps\"\n\
         stalls = [\"40us+{stall_us}us\"]\n[[flow]]\nsrc = \"H0\"\ndst = \"H1\"\nsize = \"{}KB\"\n",
        metres * 5,
        4000 + metres
    )
}

/// Smallest buffer, to 100 B, with which the stall costs exactly its length and nothing is lost.
fn needed(kind: &str, metres: u64) -> u64 {
    let end = |buffer: u64| {
        let f = run(&stalled(kind, metres, buffer))?;
        (f.outcome.lost.total().total() == 0 && f.outcome.violations_total == 0)
            .then_some(f.outcome.flows[0].end?.0)
    };
    let best = end(20_000_000).expect("20 MB suffice");
    let (mut low, mut high) = (0, 200_000);
    while low + 1 < high {
        let middle = (low + high) / 2;
        if end(middle * 100) == Some(best) { high = middle } else { low = middle }
    }
    high * 100
}

const SCHEMES: [(&str, &str); 4] = [
    ("pfc", "\"pfc\"\npause = \"sticky\""),
    ("cbfc", "\"cbfc\""),
    ("uec-cbfc", "\"uec-cbfc\""),
    ("uec-cbfc, updates every 800 B", "\"uec-cbfc\"\ncf_min_spacing = \"800B\""),
];

fn page_has(rows: &str) {
    xoff_testing::page_has(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/links-with-errors.md"),
        rows,
    );
}

#[test]
fn buffers_for_full_rate() {
    let lengths = [5u64, 40, 100, 300, 1000, 10_000];
    let mut table: Vec<Vec<u64>> = Vec::new();
    let mut rows = String::new();
    for (name, kind) in SCHEMES {
        let row: Vec<u64> = lengths.iter().map(|&m| needed(kind, m)).collect();
        let cells: Vec<String> = row.iter().map(|&b| format!("{:.1}", b as f64 / 1000.0)).collect();
        let _ = writeln!(rows, "| {name} | {} |", cells.join(" | "));
        table.push(row);
    }
    page_has(&rows);
    // 12.5 B in a nanosecond, there and back: what a metre costs each scheme, on a long cable where
    // all else is small.
    for (row, loops) in table.iter().zip([2.0, 1.0, 1.0, 1.0]) {
        let slope = (row[5] - row[4]) as f64 / 9000.0;
        assert!(
            (slope / (loops * 125.0) - 1.0).abs() < 0.05,
            "{slope} B per metre for {loops} loops"
        );
    }
}

/// Hosts of a leaf-spine network send flows of 100 KB at 30 % load over links with bit errors.
fn errors(ber: f64, host: &str, retry: &str) -> (f64, f64, f64, u64, u64) {
    let errors = if ber > 0.0 {
        format!("[[link_errors]]\nkind = \"bit\"\nber = {ber}\n")
    } else {
        String::new()
    };
    let text = format!(
        "[run]\nduration = \"60ms\"\nstop_when_done = true\ndeadlock_interval = \"0us\"\n[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\n\
         hosts_per_leaf = 4\nrate = \"100Gbps\"\ndelay = \"500ns\"\n[switch]\nbuffer = \"300KB\"\n[host]\nframe_max = \"4096B\"\nacks = \"per-frame\"\n{host}\
         [flow_control]\nkind = \"uec-cbfc\"\n{errors}{retry}[[workload]]\nkind = \"poisson\"\nsize = \"100KB\"\nload = 0.3\nduration = \"4ms\"\n"
    );
    let f = run(&text).unwrap_or_else(|| panic!("refused: {text}"));
    let o = &f.outcome;
    assert_eq!(o.violations_total, 0, "{:?}", o.violations);
    let mut slowdowns: Vec<f64> = (o.flows.iter().zip(&f.ideals))
        .filter_map(|(flow, ideal)| {
            Some(
                flow.received?.since(flow.flow.start).0 as f64
                    / ideal.filter(|i| *i > Span::ZERO)?.0 as f64,
            )
        })
        .collect();
    slowdowns.sort_by(f64::total_cmp);
    let at = |q: f64| slowdowns[((slowdowns.len() - 1) as f64 * q) as usize];
    assert!(
        slowdowns.len() > 500 && slowdowns.len() == o.flows.len(),
        "{} of {} flows",
        slowdowns.len(),
        o.flows.len()
    );
    let sent: u64 = o.flows.iter().map(|f| f.sent).sum();
    let size: u64 = o.flows.iter().map(|f| f.flow.size).sum();
    (size as f64 / sent as f64, at(0.5), at(0.99), o.retransmission_timeouts, o.retry.replayed.data)
}

#[test]
fn bit_errors() {
    let mut rows = String::new();
    let mut worst = [0.0; 2];
    for ber in [0.0, 1e-9, 1e-8, 1e-7, 1e-6] {
        for (n, (hosts, links, host, retry)) in [
            ("go-back-N", "-", "recovery = \"go-back-n\"\n", ""),
            ("selective", "-", "recovery = \"selective\"\n", ""),
            ("go-back-N", "llr", "recovery = \"go-back-n\"\n", "[link_retry]\nkind = \"llr\"\n"),
        ]
        .into_iter()
        .enumerate()
        {
            let (useful, median, tail, timers, replayed) = errors(ber, host, retry);
            let _ = writeln!(
                rows,
                "| {} | {hosts} | {links} | {useful:.4} | {median:.2} | {tail:.2} | {timers} | {replayed} |",
                if ber == 0.0 { "0".into() } else { format!("{ber:e}") }
            );
            if n != 1 {
                worst[n / 2] = tail;
            }
        }
    }
    page_has(&rows);
    assert!(worst[1] * 3.0 < worst[0], "at the last ratio a retry helps the tail: {worst:?}");
}

/// A host sends 8 MB while another one sends the same destination 100 KB every 40 us; `rest` is the
/// flow control, and what errors do.
fn bursts(rest: &str) -> String {
    let burst = |n: u64| {
        format!(
            "[[flow]]\nsrc = \"H1\"\ndst = \"H2\"\nsize = \"100KB\"\nstart = \"{}us\"\n",
            20 + 40 * n
        )
    };
    let all: String = (0..12).map(burst).collect();
    format!(
        "[run]\nduration = \"50ms\"\nstop_when_done = true\n[topology]\nkind = \"star\"\nhosts = 3\nrate = \"100Gbps\"\ndelay = \"1us\"\n\
         [switch]\nbuffer = \"200KB\"\n[host]\nacks = \"per-frame\"\nrecovery = \"selective\"\nrto = \"100us\"\n{rest}\
         [[flow]]\nsrc = \"H0\"\ndst = \"H2\"\nsize = \"8MB\"\n{all}"
    )
}

/// Worst cost of a single lost message of the switch to the first host: frames dropped, and time of
/// its flow.
fn cost_of_a_message(flow_control: &str) -> (u64, u64, u64) {
    let end = |f: &Finished| f.outcome.flows[0].received.map_or(u64::MAX, |t| t.0);
    let whole = run(&bursts(flow_control)).unwrap();
    assert_eq!(whole.outcome.lost.total().total(), 0, "{flow_control}");
    let (mut dropped, mut later, mut tried) = (0, 0, 0);
    for n in (1..=40).chain((41..600).step_by(13)) {
        let lost = format!(
            "[[link_errors]]\nports = [\"S1->H0\"]\nframes = \"control\"\nkind = \"nth\"\nnumbers = [\"{n}\"]\n"
        );
        let f = run(&bursts(&format!("{flow_control}{lost}"))).unwrap();
        if f.outcome.lost[Loss::OnFaultyLink].control == 0 {
            break;
        }
        tried += 1;
        dropped = dropped.max(f.outcome.lost.dropped().data);
        later = later.max(end(&f).saturating_sub(end(&whole)));
    }
    (tried, dropped, later)
}

/// Flow controls, what they are given, and how often they send their messages again.
const MESSAGES: [(&str, &str, &str); 12] = [
    ("pfc", "kind = \"pfc\"\n", "half a pause time"),
    ("pfc", "kind = \"pfc\"\nrepeat = \"2us\"\n", "2 us"),
    ("pfc, pauses without an end", "kind = \"pfc\"\npause = \"sticky\"\n", "never"),
    (
        "pfc, pauses without an end",
        "kind = \"pfc\"\npause = \"sticky\"\nrepeat = \"2us\"\n",
        "2 us",
    ),
    ("cbfc", "kind = \"cbfc\"\n", "its period"),
    ("uec-cbfc", "kind = \"uec-cbfc\"\n", "its spacing"),
    ("gfc-buffer", "kind = \"gfc-buffer\"\n", "never"),
    ("gfc-buffer", "kind = \"gfc-buffer\"\nrepeat = \"2us\"\n", "2 us"),
    ("gfc-time", "kind = \"gfc-time\"\n", "its period"),
    ("gfc-conceptual", "kind = \"gfc-conceptual\"\n", "-"),
    ("pffc", "kind = \"pffc\"\n", "half a pause time"),
    ("pffc", "kind = \"pffc\"\nrepeat = \"2us\"\n", "2 us"),
];

#[test]
fn lost_messages() {
    let mut rows = String::new();
    for (name, flow_control, again) in MESSAGES {
        let (tried, dropped, later) = cost_of_a_message(&format!("[flow_control]\n{flow_control}"));
        if again == "2 us" {
            assert_eq!(
                dropped, 0,
                "{flow_control}: derived thresholds tolerate the loss of one message"
            );
            assert!(later < 20_000_000, "{flow_control}: {later} ps");
        }
        let later = if later > 1_000_000_000_000 {
            "never ends".to_owned()
        } else {
            Span(later).to_string()
        };
        let _ = writeln!(rows, "| {name} | {again} | {tried} | {dropped} | {later} |");
    }
    page_has(&rows);
}
