//! The page `docs/links-with-errors.md`: its tables are computed here. `XOFF_TEST_BLESS=1 cargo test --release -p xoff-run --test
//! links_with_errors` renews it.

use std::fmt::Write;
use std::path::Path;

use xoff_record::Sink;
use xoff_report::{Axis, Figure, Mark, Panel, Unit};
use xoff_run::{Finished, NetworkScenario};
use xoff_units::{Bytes, Loss, Rate, Span};

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
        (f.outcome.lost.total().total() == 0 && f.outcome.violations_total == 0).then_some(f.outcome.flows[0].end?.0)
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

/// A figure of the page.
fn draw(name: &str, figure: &Figure) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/links-with-errors");
    std::fs::create_dir_all(&folder).unwrap();
    xoff_testing::golden(&folder.join(name).with_extension("svg"), &figure.to_svg());
}

fn buffers(page: &mut String) {
    let lengths = [5u64, 40, 100, 300, 1000, 10_000];
    let mut lines = Vec::new();
    let mut table: Vec<Vec<u64>> = Vec::new();
    let _ = writeln!(page, "| scheme | {} |", lengths.map(|m| format!("{m} m")).join(" | "));
    let _ = writeln!(page, "|---|{}", "---|".repeat(lengths.len()));
    for (name, kind) in SCHEMES {
        let row: Vec<u64> = lengths.iter().map(|&m| needed(kind, m)).collect();
        let cells: Vec<String> = row.iter().map(|&b| format!("{:.1}", b as f64 / 1000.0)).collect();
        let _ = writeln!(page, "| {name} | {} |", cells.join(" | "));
        lines.push(Mark::line(name, lengths.iter().zip(&row).map(|(&m, &b)| (m as f64, b as f64))));
        table.push(row);
    }
    let axes = (Axis::new("cable", Unit::Other("m".into())).log(), Axis::new("buffer", Unit::Bytes).log());
    let figure = Figure::new("Buffer for full rate at 100 Gb/s")
        .caption("Pauses need two loops of a cable, credits one and the spacing of their updates.")
        .panel(Panel::new("", axes.0, axes.1).marks(lines));
    draw("buffer", &figure);
    page.push_str("\n![Buffer for full rate over the length of the cable](links-with-errors/buffer.svg)\n");
    // 12.5 B in a nanosecond, there and back: what a metre costs each scheme, on a long cable where all else is small.
    for (row, loops) in table.iter().zip([2.0, 1.0, 1.0, 1.0]) {
        let slope = (row[5] - row[4]) as f64 / 9000.0;
        assert!((slope / (loops * 125.0) - 1.0).abs() < 0.05, "{slope} B per metre for {loops} loops");
    }
}

/// Hosts of a leaf-spine network send flows of 100 KB at 30 % load over links with bit errors.
fn errors(ber: f64, host: &str, retry: &str) -> (f64, f64, f64, u64, u64) {
    let errors = if ber > 0.0 { format!("[[link_errors]]\nkind = \"bit\"\nber = {ber}\n") } else { String::new() };
    let text = format!(
        "[run]\nduration = \"60ms\"\nstop_when_done = true\ndeadlock_interval = \"0us\"\n[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\n\
         hosts_per_leaf = 4\nrate = \"100Gbps\"\ndelay = \"500ns\"\n[switch]\nbuffer = \"300KB\"\n[host]\nframe_max = \"4096B\"\nacks = \"per-frame\"\n{host}\
         [flow_control]\nkind = \"uec-cbfc\"\n{errors}{retry}[[workload]]\nkind = \"poisson\"\nsize = \"100KB\"\nload = 0.3\nduration = \"4ms\"\n"
    );
    let f = run(&text).unwrap_or_else(|| panic!("refused: {text}"));
    let o = &f.outcome;
    assert_eq!(o.violations_total, 0, "{:?}", o.violations);
    let mut slowdowns: Vec<f64> = (o.flows.iter().zip(&f.ideals))
        .filter_map(|(flow, ideal)| Some(flow.received?.since(flow.flow.start).0 as f64 / ideal.filter(|i| *i > Span::ZERO)?.0 as f64))
        .collect();
    slowdowns.sort_by(f64::total_cmp);
    let at = |q: f64| slowdowns[((slowdowns.len() - 1) as f64 * q) as usize];
    assert!(slowdowns.len() > 500 && slowdowns.len() == o.flows.len(), "{} of {} flows", slowdowns.len(), o.flows.len());
    let sent: u64 = o.flows.iter().map(|f| f.sent).sum();
    let size: u64 = o.flows.iter().map(|f| f.flow.size).sum();
    (size as f64 / sent as f64, at(0.5), at(0.99), o.retransmission_timeouts, o.retry.replayed.data)
}

/// Points: bit error ratio, and the result.
type Curve = Vec<(f64, f64)>;

fn bit_errors(page: &mut String) {
    page.push_str("| bit error ratio | hosts | links | payload per payload sent | median slowdown | 99th percentile | host timers | frames replayed |\n");
    page.push_str("|---|---|---|---|---|---|---|---|\n");
    let mut worst = [0.0; 2];
    // Of each row: goodput and tail over the ratio.
    let mut curves = [const { (Vec::new(), Vec::new()) }; 3];
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
                page,
                "| {} | {hosts} | {links} | {useful:.4} | {median:.2} | {tail:.2} | {timers} | {replayed} |",
                if ber == 0.0 { "0".into() } else { format!("{ber:e}") }
            );
            if n != 1 {
                worst[n / 2] = tail;
            }
            if ber > 0.0 {
                curves[n].0.push((ber, useful));
                curves[n].1.push((ber, tail));
            }
        }
    }
    let names = ["go-back-N", "selective repeat", "go-back-N, links with retry"];
    let lines =
        |of: fn(&(Curve, Curve)) -> Curve| names.iter().zip(&curves).map(move |(name, c)| Mark::line(*name, of(c))).collect::<Vec<_>>();
    let ratio = || Axis::new("bit error ratio", Unit::None).log();
    let goodput = Panel::new("Payload per payload sent", ratio(), Axis::new("goodput", Unit::Fraction).range(0.0, 1.0));
    let tail = Panel::new("99th percentile of slowdown", ratio(), Axis::new("slowdown", Unit::None).log());
    let figure = Figure::new("Bit errors with and without a retry on the link")
        .caption("Goodput and tail of flows of 100 KB over links with bit errors.")
        .panel(goodput.marks(lines(|c| c.0.clone())))
        .panel(tail.marks(lines(|c| c.1.clone())));
    draw("bit-errors", &figure);
    page.push_str("\n![Goodput and tail over the bit error ratio](links-with-errors/bit-errors.svg)\n");
    assert!(worst[1] * 3.0 < worst[0], "at the last ratio a retry helps the tail: {worst:?}");
}

/// A host sends 8 MB while another one sends the same destination 100 KB every 40 us; `rest` is the flow control, and what errors do.
fn bursts(rest: &str) -> String {
    let burst = |n: u64| format!("[[flow]]\nsrc = \"H1\"\ndst = \"H2\"\nsize = \"100KB\"\nstart = \"{}us\"\n", 20 + 40 * n);
    let all: String = (0..12).map(burst).collect();
    format!(
        "[run]\nduration = \"50ms\"\nstop_when_done = true\n[topology]\nkind = \"star\"\nhosts = 3\nrate = \"100Gbps\"\ndelay = \"1us\"\n\
         [switch]\nbuffer = \"200KB\"\n[host]\nacks = \"per-frame\"\nrecovery = \"selective\"\nrto = \"100us\"\n{rest}\
         [[flow]]\nsrc = \"H0\"\ndst = \"H2\"\nsize = \"8MB\"\n{all}"
    )
}

/// Worst cost of a single lost message of the switch to the first host: frames dropped, and time of its flow.
fn cost_of_a_message(flow_control: &str) -> (u64, u64, u64) {
    let end = |f: &Finished| f.outcome.flows[0].received.map_or(u64::MAX, |t| t.0);
    let whole = run(&bursts(flow_control)).unwrap();
    assert_eq!(whole.outcome.lost.total().total(), 0, "{flow_control}");
    let (mut dropped, mut later, mut tried) = (0, 0, 0);
    for n in (1..=40).chain((41..600).step_by(13)) {
        let lost = format!("[[link_errors]]\nports = [\"S1->H0\"]\nframes = \"control\"\nkind = \"nth\"\nnumbers = [\"{n}\"]\n");
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
    ("pfc, pauses without an end", "kind = \"pfc\"\npause = \"sticky\"\nrepeat = \"2us\"\n", "2 us"),
    ("cbfc", "kind = \"cbfc\"\n", "its period"),
    ("uec-cbfc", "kind = \"uec-cbfc\"\n", "its spacing"),
    ("gfc-buffer", "kind = \"gfc-buffer\"\n", "never"),
    ("gfc-buffer", "kind = \"gfc-buffer\"\nrepeat = \"2us\"\n", "2 us"),
    ("gfc-time", "kind = \"gfc-time\"\n", "its period"),
    ("gfc-conceptual", "kind = \"gfc-conceptual\"\n", "-"),
    ("pffc", "kind = \"pffc\"\n", "half a pause time"),
    ("pffc", "kind = \"pffc\"\nrepeat = \"2us\"\n", "2 us"),
];

fn lost_messages(page: &mut String) {
    page.push_str(
        "| flow control | sent again after | messages tried | frames dropped at worst | the flow later at worst |\n|---|---|---|---|---|\n",
    );
    for (name, flow_control, again) in MESSAGES {
        let (tried, dropped, later) = cost_of_a_message(&format!("[flow_control]\n{flow_control}"));
        if again == "2 us" {
            assert_eq!(dropped, 0, "{flow_control}: derived thresholds tolerate the loss of one message");
            assert!(later < 20_000_000, "{flow_control}: {later} ps");
        }
        let later = if later > 1_000_000_000_000 { "never ends".to_owned() } else { Span(later).to_string() };
        let _ = writeln!(page, "| {name} | {again} | {tried} | {dropped} | {later} |");
    }
}

#[test]
fn the_page_has_what_is_computed() {
    let mut page = String::from(
        "# Links with errors\n\n\
         This page measures the buffer that a cable needs under pauses and under credits, the cost of one lost message, and the effect of bit errors on flows with and without\n\
         [a retry on the link](mechanisms/link-retry.md). `cargo test --release -p xoff-run --test links_with_errors` computes all figures and compares this page.\n\n\
         ## Buffer for full rate\n\n\
         One flow of 100 Gb/s in frames of 1500 B, through a switch, to a host that stalls for a while and then continues at the rate of the link. The table has\n\
         the smallest buffer, for each ingress and priority, that loses nothing and makes the stall cost exactly its length [KB]. A metre is 5 ns.\n\n",
    );
    buffers(&mut page);
    let spacing = Bytes(6400);
    let _ = write!(
        page,
        "\nPauses need two loops of a cable: room for frames that arrive after XOFF is sent, and frames to send until new ones arrive after XON. Credits need one\n\
         loop, plus the spacing of their messages: InfiniBand sends one every 65,535 B of link time, Ultra Ethernet {spacing} after the previous one. So the\n\
         spacing decides on short cables, and the scheme on long ones.\n\n\
         ## What a lost message costs\n\n\
         A host sends 8 MB to a second host at 100 Gb/s, while a third host sends the second 100 KB every 40 us. Links have a delay of 1 us, buffers\n\
         200 KB, and hosts repeat missing frames. In each run one message of the switch to the first host is lost: one of the first forty, or every thirteenth after them.\n\n",
    );
    lost_messages(&mut page);
    page.push_str(
        "\nCredits are totals, so the next message repairs a lost one. Pauses and stages are events. `flow_control.repeat` of [pfc](mechanisms/pfc.md),\n\
         [gfc-buffer](mechanisms/gfc-buffer.md) and [pffc](mechanisms/pffc.md) repeats the message of the current state at intervals. Derived thresholds then\n\
         tolerate the loss of one message. The price: ",
    );
    let (line, every) = (Rate::from_gbps(100), Span::from_us(2));
    let _ = write!(
        page,
        "{} more headroom, and {} of a link, for {every}. Messages of `gfc-conceptual` are ideal and\n\
         cannot be lost. [Proof](proof.md) covers any number of losses on one link.\n\n",
        line.bytes_in(every),
        Rate(64 * 8 * 1_000_000_000_000 / every.0),
    );
    page.push_str(
        "## Bit errors\n\n\
         Eight hosts below two leaf switches, 100 Gb/s, flows of 100 KB at 30 % load for 4 ms in frames of 4096 B under `uec-cbfc`. Every link has the bit error\n\
         ratio, without error correction; errors hit control frames too. Timers of hosts: 320 us. *Payload per payload sent* is 1 if hosts repeat nothing.\n\n",
    );
    bit_errors(&mut page);
    page.push_str(
        "\nWithout a retry, the hosts' timer decides the tail as soon as one flow in a hundred loses its last frame or the acknowledgement of that frame. With a retry,\n\
         the tail stays near that of links without errors.\n",
    );
    xoff_testing::golden(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/links-with-errors.md"), &page);
}
