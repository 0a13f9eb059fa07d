//! Fast-forward never changes a result: random scenarios with long flows, whose states recur, give
//! the same rows in the same order, and the same counters, with it and without it.
//!
//! `XOFF_TEST_SWARM_CASE=123 cargo test --release --workspace --test fast_forward -- --nocapture`
//! runs one case.

use std::collections::BTreeMap;
use std::path::Path;

use xoff_farm::cores::on_all_cores;
use xoff_farm::draw::{Dice, Drawn};
use xoff_farm::operation::{links, operation};
use xoff_farm::outcome::{first_difference, stated};
use xoff_mech::flow_control;
use xoff_record::Sink;
use xoff_run::NetworkScenario;
use xoff_sim::{Engine, FastForwarded, Outcome, PORT_PROBES, Row, World};
use xoff_units::Span;

fn topology(d: &mut Dice) -> String {
    let kind = match d.roll(6) {
        0 => format!(
            "kind = \"ring\"\nswitches = {}\nhosts_per_switch = {}",
            3 + d.roll(3),
            1 + d.roll(2)
        ),
        1 => format!(
            "kind = \"chain\"\nswitches = {}\nhosts_per_switch = {}",
            2 + d.roll(3),
            1 + d.roll(2)
        ),
        2 => format!(
            "kind = \"leaf-spine\"\nleaves = {}\nspines = {}\nhosts_per_leaf = {}",
            2 + d.roll(2),
            1 + d.roll(2),
            1 + d.roll(2)
        ),
        _ => format!("kind = \"star\"\nhosts = {}", 3 + d.roll(6)),
    };
    format!(
        "{kind}\nrate = \"{}\"\ndelay = \"{}\"\n",
        d.pick(&["40Gbps", "100Gbps"]),
        d.pick(&["100ns", "600ns", "1us", "1300ns"])
    )
}

/// Parameters under which a mechanism acts, without drawing at random.
fn parameters(kind: &str, d: &mut Dice) -> String {
    match kind {
        "pfc" => format!(
            "xoff = \"{}KB\"\nquanta = {}\n",
            30 + d.roll(60),
            d.pick(&["400", "2000", "65535"])
        ),
        "cbfc" => "period = \"4us\"\n".into(),
        "gfc-time" => "period = \"4us\"\nb0 = \"60KB\"\n".into(),
        "uec-cbfc" => {
            "cc_period = \"4us\"\ncf_min_spacing = \"1500B\"\ncf_max_spacing = \"50000B\"\n".into()
        }
        "gfc-conceptual" => format!("b0 = \"{}KB\"\n", 20 + d.roll(60)),
        "gfc-buffer" => "b1 = \"80KB\"\nhysteresis = \"2KB\"\n".into(),
        "pffc" => "xoff_s = \"30KB\"\nxon_s = \"20KB\"\n".into(),
        _ => String::new(),
    }
}

/// A flow from host to host, by their places in the list of hosts.
fn flow(hosts: &[String], (src, dst): (u64, u64), size: &str, start: &str, more: &str) -> String {
    let n = hosts.len() as u64;
    let (src, dst) = (src % n, dst % n);
    let dst = if src == dst { (dst + 1) % n } else { dst };
    format!(
        "[[flow]]\nsrc = \"{}\"\ndst = \"{}\"\nsize = \"{size}\"\nstart = \"{start}\"\n{more}",
        hosts[src as usize], hosts[dst as usize]
    )
}

fn workload(d: &mut Dice, hosts: &[String], periodic: bool) -> String {
    let n = hosts.len() as u64;
    if periodic {
        // Their messages come by the clock, and delay data by their time on the wire: it takes half
        // a millisecond until both meet again.
        return (0..n - 1).step_by(3).map(|k| flow(hosts, (k, k + 1), "20MB", "0ns", "")).collect();
    }
    let size = d.pick(&["4MB", "3MB", "4234567B"]);
    let mut text = String::new();
    let start = |d: &mut Dice| format!("{}ns", d.pick(&["0", "0", "0", "733"]));
    match d.roll(4) {
        0 => (0..n).for_each(|k| text += &flow(hosts, (k, k + 1), size, &start(d), "")),
        1 => (1..n.min(2 + d.roll(4)))
            .for_each(|k| text += &flow(hosts, (k, 0), size, &start(d), "")),
        2 => {
            let priority = |k: u64| if k.is_multiple_of(2) { "" } else { "priority = 1\n" };
            (0..n).for_each(|k| {
                text += &flow(hosts, (k, (k * 3 + 1) % n), size, &start(d), priority(k))
            });
        }
        _ => (0..1 + d.roll(4))
            .for_each(|_| text += &flow(hosts, (d.roll(n), d.roll(n)), size, &start(d), "")),
    }
    match d.roll(4) {
        // One that comes in the middle, and one with a rate of its own.
        0 => text += &flow(hosts, (d.roll(n), d.roll(n)), "30KB", "60us", ""),
        1 => text += &flow(hosts, (d.roll(n), d.roll(n)), "300KB", "5us", "rate = \"10Gbps\"\n"),
        _ => {}
    }
    text
}

/// Groups of short flows that recur, some at the same time as others, like the iterations of jobs.
fn iterations(d: &mut Dice, hosts: &[String]) -> String {
    let n = hosts.len() as u64;
    let mut text = String::new();
    let jobs = 1 + d.roll(2);
    for job in 0..jobs {
        // Two jobs of one interval are at rest together; of two intervals, sometimes.
        let every = d.pick(&["100us", "100us", "100us", "200us", "230us"]);
        let again = format!("repeat = {}\nevery = \"{every}\"\n", 3 + d.roll(8));
        let start = format!("{}ns", job * 7000 + d.roll(3) * 333);
        let (size, apart) = (format!("{}B", 2000 + d.roll(60_000)), 1 + d.roll(n - 1));
        match d.roll(3) {
            0 => (0..n).for_each(|k| text += &flow(hosts, (k, k + apart), &size, &start, &again)),
            1 => (1..n).for_each(|k| text += &flow(hosts, (k, 0), &size, &start, &again)),
            _ => (0..n).for_each(|k| {
                let more = format!("{again}priority = {}\n", k % 2);
                text += &flow(hosts, (k, k * 3 + 1), &size, &format!("{}ns", k * 100), &more)
            }),
        }
    }
    text
}

/// Jobs whose iterations recur: some ranks are slow, some jobs have other iterations than the job
/// that runs with them.
fn jobs(d: &mut Dice, hosts: &[String]) -> String {
    let n = hosts.len() as u64;
    let jobs = if n >= 6 { 1 + d.roll(2) } else { 1 };
    let mut text = String::new();
    for job in 0..jobs {
        // Jobs share hosts, or not.
        let first = if d.roll(2) == 0 { 0 } else { job * n / 2 };
        let ranks = 2 + d.roll((n - first).min(6) - 1);
        let of = |k: u64| format!("\"{}\"", hosts[(first + k) as usize]);
        let names: Vec<String> = (0..ranks).map(of).collect();
        text += &format!(
            "[[job]]\nname = \"j{job}\"\nhosts = [{}]\niterations = {}\nstart = \"{}us\"\nqueue_pairs = {}\ncompute = \"{}us\"\n",
            names.join(", "),
            3 + d.roll(60),
            d.roll(20),
            1 + d.roll(2),
            d.pick(&["0", "1", "7", "20"]),
        );
        if d.roll(5) == 0 {
            text +=
                &format!("slow_hosts = [{}]\nslow_by = 1.{}\n", of(d.roll(ranks)), 1 + d.roll(8));
        }
        for _ in 0..1 + d.roll(2) {
            let kind = d.pick(&[
                "all-reduce",
                "all-reduce",
                "all-to-all",
                "all-gather",
                "broadcast",
                "barrier",
            ]);
            let size = if kind == "barrier" {
                String::new()
            } else {
                format!("size = \"{}B\"\n", 1 + d.roll(20_000))
            };
            let channels = if kind == "all-reduce" {
                format!("channels = {}\n", 1 + d.roll(2))
            } else {
                String::new()
            };
            let compute = format!("compute = \"{}us\"\noverlap = {}\n", d.roll(5), d.roll(2) == 0);
            text += &format!(
                "[[collective]]\njob = \"j{job}\"\nkind = \"{kind}\"\n{size}{channels}{compute}"
            );
        }
    }
    if d.roll(6) == 0 {
        text += &flow(hosts, (d.roll(n), d.roll(n)), "70KB", "90us", "");
    }
    text
}

/// Kind of the flows of a case.
#[derive(Clone, Copy, PartialEq)]
enum Flows {
    Long,
    Repeated,
    Jobs,
}

fn load(case: u64, flows: Flows) -> (NetworkScenario, Drawn) {
    let mut d = Dice(case ^ 0x00ff_f0a2 ^ (flows as u64) << 40);
    let fcs: Vec<&str> = flow_control::REGISTRY.iter().map(|e| e.name).collect();
    let fc = fcs[case as usize % fcs.len()];
    let per_flow = flow_control::REGISTRY.iter().any(|e| e.name == fc && e.per_flow);
    let discipline = if per_flow {
        "fifo"
    } else {
        d.pick(&["fifo", "fifo", "round-robin", "drr", "input-fifo"])
    };
    let scheduler = d.pick(&["strict", "round-robin", "drr", "vl-arbitration"]);
    // A deficit that is left from one iteration to the next makes another state of it.
    let (discipline, scheduler) = match flows {
        Flows::Repeated | Flows::Jobs if d.roll(4) > 0 => {
            ("fifo", d.pick(&["strict", "round-robin"]))
        }
        _ => (discipline, scheduler),
    };
    let acks = d.pick(&["none", "per-frame"]);
    let rate_control = d.pick(&["none", "none", "dcqcn", "timely"]);
    let by_clock = ["cbfc", "gfc-time", "uec-cbfc"].contains(&fc);
    let (acks, rate_control) = match rate_control {
        // Acknowledgements that meet data make iterations differ by some picoseconds.
        _ if flows == Flows::Jobs && d.roll(4) > 0 => ("none", "none"),
        _ if by_clock => ("none", "none"),
        "timely" => ("per-frame", "timely"),
        other => (acks, other),
    };
    let head = format!(
        "[run]\nduration = \"{}\"\nseed = {case}\ndeadlock_interval = \"{}\"\nstop_when_done = {}\n[topology]\n{}[routing]\nkind = \"{}\"\n\
         [host]\nframe_max = \"{}\"\nheader = \"48B\"\nacks = \"{acks}\"\n{}[control_delay]\nprocessing = \"{}\"\n",
        if by_clock || flows == Flows::Jobs { "2ms" } else { d.pick(&["400us", "1ms", "2ms"]) },
        d.pick(&["0us", "20us", "100us"]),
        d.roll(2) == 0,
        topology(&mut d),
        d.pick(&["ecmp", "lowest-id"]),
        if by_clock { "952B" } else { d.pick(&["952B", "1000B", "1452B"]) },
        ["", "", "cnp_priority = 6\n"][case as usize % 3],
        d.pick(&["0us", "200ns"]),
    );
    let mut switch = format!("buffer = \"200KB\"\nquantum = \"{}B\"\n", 1000 + d.roll(5000));
    if scheduler == "vl-arbitration" {
        switch += "vl_high = [\"2:20\"]\nvl_low = [\"0:30\", \"1:40\"]\nvl_high_limit = 9\n";
    }
    let detection = d.pick(&["none", "none", "red", "tcd", "np-ecn"]);
    let detection = if flows == Flows::Repeated && detection == "tcd" { "red" } else { detection };
    let mut drawn = Drawn {
        head,
        switch,
        discipline,
        scheduler,
        cut_through: [None, None, Some(64)][d.roll(3) as usize],
        flow_control: (fc, parameters(fc, &mut d)),
        // Marks are not drawn at random below Kmin.
        detection: (
            detection,
            if ["red", "tcd"].contains(&detection) {
                "kmin = \"190KB\"\nkmax = \"195KB\"\n".into()
            } else {
                String::new()
            },
        ),
        rate_control: (
            rate_control,
            if rate_control == "dcqcn" && acks == "none" {
                "cnp_interval = \"20us\"\n".into()
            } else {
                String::new()
            },
        ),
        // Hosts have the names of their network: it is built once without the flows.
        workload: "[[workload]]\nkind = \"permutation\"\nsize = \"1KB\"\n".into(),
        // Nothing is skipped that takes longer than from one sample to the next.
        probes: match d.roll(if flows == Flows::Jobs { 12 } else { 3 }) {
            0 => PORT_PROBES.iter().map(|p| p.key).collect(),
            1 => vec!["pauses"],
            _ => Vec::new(),
        },
        operation: String::new(),
        failures: Vec::new(),
    };
    let plain = drawn.load().unwrap_or_else(|e| panic!("case {case}: {e}\n{}", drawn.text()));
    let hosts: Vec<String> =
        plain.topology.hosts().map(|h| plain.topology.name(h).to_owned()).collect();
    drawn.workload = match flows {
        Flows::Long => workload(&mut d, &hosts, by_clock),
        Flows::Repeated => iterations(&mut d, &hosts),
        Flows::Jobs => jobs(&mut d, &hosts),
    };
    if case % 11 == 3 {
        drawn.operation = operation(case, fc, hosts.last().expect("a host"), true);
    }
    if case % 13 == 4 {
        drawn.operation += &links(case, drawn.cut_through.is_some());
    }
    if case.is_multiple_of(5) {
        let l = &plain.topology.links[d.roll(plain.topology.links.len() as u64) as usize];
        drawn.failures.push((
            format!("{}-{}", plain.topology.name(l.a), plain.topology.name(l.b)),
            "70us".into(),
        ));
    }
    (drawn.load().unwrap_or_else(|e| panic!("case {case}: {e}\n{}", drawn.text())), drawn)
}

struct Seen {
    rows: Vec<Row>,
    outcome: Outcome,
}

fn run(s: &NetworkScenario, engine: Engine, threads: usize, fast_forward: bool) -> Seen {
    let mut m = s.model();
    (m.engine, m.threads, m.fast_forward) = (engine, threads, fast_forward);
    let mut w = World::build(&s.topology, s.flows.clone(), &m).expect("it was built before");
    w.record_to(Box::new(Vec::<Row>::new()));
    let ended = w.drive(s.until, |_| true);
    let (outcome, recorder) = w.finish(ended);
    let rows = *recorder.expect("it was given").into_any().downcast::<Vec<Row>>().expect("rows");
    Seen { rows, outcome }
}

/// One case, with fast-forward and without. Returns what it did.
fn same(case: u64, flows: Flows) -> (Drawn, FastForwarded) {
    let (s, drawn) = load(case, flows);
    let all = run(&s, Engine::Events, 1, false);
    let mut done = FastForwarded::default();
    let without = [(Engine::Windows, 2, false), (Engine::Auto, 4, false)];
    let with = [
        (Engine::Events, 1, true),
        (Engine::Windows, 1, true),
        (Engine::Windows, 2, true),
        (Engine::Auto, 3, true),
        (Engine::Windows, 8, true),
    ];
    for (engine, threads, fast_forward) in with.into_iter().chain(without) {
        let seen = run(&s, engine, threads, fast_forward);
        let place = format!(
            "case {case}, {engine:?}, {threads} threads, {:?}",
            seen.outcome.fast_forwarded
        );
        if let Some(at) = all.rows.iter().zip(&seen.rows).position(|(a, b)| a != b) {
            panic!(
                "{place}, row {at}: {:?} without, {:?} with fast-forward\n{}",
                all.rows[at],
                seen.rows[at],
                drawn.text()
            );
        }
        assert_eq!(all.rows.len(), seen.rows.len(), "{place}\n{}", drawn.text());
        // Events are left out: timers that find nothing due come at other times.
        assert_eq!(
            first_difference(&stated(&all.outcome), &stated(&seen.outcome)),
            None,
            "{place}\n{}",
            drawn.text()
        );
        if seen.outcome.fast_forwarded.skipped > done.skipped {
            done = seen.outcome.fast_forwarded;
        }
    }
    (drawn, done)
}

/// Returns how many cases skipped something, by flow control.
fn swarm(cases: std::ops::Range<u64>, flows: Flows) -> BTreeMap<&'static str, (u32, u32)> {
    let work = |cases: &mut dyn Iterator<Item = u64>| {
        cases
            .map(|case| same(case, flows))
            .map(|(drawn, done)| (drawn.flow_control.0, done.events_skipped > 0))
            .collect()
    };
    let all: Vec<Vec<(&'static str, bool)>> = on_all_cores(cases, work);
    let mut by_flow_control: BTreeMap<&'static str, (u32, u32)> = BTreeMap::new();
    for (name, skipped) in all.into_iter().flatten() {
        let (of, met) = by_flow_control.entry(name).or_default();
        *met += 1;
        *of += skipped as u32;
    }
    // A swarm in which nothing is skipped proves nothing.
    println!("skipped something, of: {by_flow_control:?}");
    by_flow_control
}

/// Every flow control but these skipped something.
fn all_skipped(seen: BTreeMap<&str, (u32, u32)>, but: &[&str]) {
    for (name, (skipped, _)) in seen {
        assert!(skipped > 0 || but.contains(&name), "{name} never skipped anything");
    }
}

/// Without flow control frames are lost, which no state recovers from. BFC's clock ticks from the
/// start of the run: few periods fit it. Updates that are spaced, and come on idle links too,
/// seldom meet the period of long flows; they do between iterations.
const NO_PERIOD: [&str; 3] = ["none", "bfc", "uec-cbfc"];
/// Mechanisms that distinguish flows by their numbers, which differ the next time.
const NO_MEMORY: [&str; 2] = ["bfc", "pffc"];
/// Messages that these send by the clock also have to meet an iteration.
const BY_CLOCK: [&str; 6] = ["bfc", "pffc", "none", "cbfc", "gfc-time", "uec-cbfc"];

#[test]
fn random_scenarios_are_the_same_with_fast_forward_and_without() {
    if let Some(case) = std::env::var("XOFF_TEST_SWARM_CASE").ok().and_then(|c| c.parse().ok()) {
        for flows in [Flows::Long, Flows::Repeated, Flows::Jobs] {
            println!("{}", load(case, flows).1.text());
            println!("{:?}", same(case, flows).1);
        }
        return;
    }
    all_skipped(swarm(0..171, Flows::Long), &NO_PERIOD);
    // Filters of BFC leave at multiples of a time since the start, which no period has to be a
    // multiple of.
    same(10_775, Flows::Long);
    // A link fails and flows never end: how many calls that find nothing due are left decides
    // nothing, not even how long samples are taken.
    same(13_510, Flows::Long);
    same(14_605, Flows::Long);
    // The deadlock detector asked for the next frame of a deficit round robin, which moved its turn
    // on.
    same(14_805, Flows::Long);
}

#[test]
fn random_iterations_are_the_same_with_fast_forward_and_without() {
    all_skipped(swarm(0..153, Flows::Repeated), &NO_MEMORY);
}

#[test]
fn random_jobs_are_the_same_with_fast_forward_and_without() {
    all_skipped(swarm(0..153, Flows::Jobs), &BY_CLOCK);
}

#[test]
fn a_hundred_iterations_of_128_hosts_take_the_events_of_two() {
    let text = "[run]\nduration = \"20ms\"\nstop_when_done = true\n[topology]\nkind = \"fat-tree\"\nk = 8\nrate = \"100Gbps\"\ndelay = \"1us\"\n\
        [host]\nframe_max = \"1048B\"\nheader = \"48B\"\nacks = \"per-frame\"\nack_len = \"60B\"\n[flow_control]\nkind = \"pfc\"\nxoff = \"20KB\"\n[switch]\nbuffer = \"100KB\"\n\
        [[workload]]\nkind = \"permutation\"\nsize = \"40KB\"\nstart = \"1us\"\nrepeat = 100\nevery = \"100us\"\n[probes]\npauses = [\"all\"]\n";
    let s = NetworkScenario::from_text("iterations.toml", text, &[], Path::new("."))
        .unwrap_or_else(|e| panic!("{e}"));
    let without = run(&s, Engine::Windows, 1, false);
    let with = run(&s, Engine::Windows, 1, true);
    assert_eq!(without.rows, with.rows);
    assert!(!with.rows.is_empty(), "nothing was paused");
    assert_eq!(first_difference(&stated(&without.outcome), &stated(&with.outcome)), None);
    let done = &with.outcome.fast_forwarded;
    let handled = with.outcome.events - done.events_skipped;
    assert!(
        handled * 50 <= with.outcome.events,
        "{handled} of {} handled: {done:?}",
        with.outcome.events
    );
}

/// A job whose iterations recur: how many of them are gone through, by how many there are.
fn gone_through(algorithm: &str, size: &str, iterations: u32, threads: usize) -> f64 {
    let text = format!(
        "[run]\nduration = \"1s\"\nstop_when_done = true\n[topology]\nkind = \"star\"\nhosts = 128\nrate = \"100Gbps\"\ndelay = \"1us\"\n[host]\nframe_max = \"1048B\"\n\
        header = \"48B\"\n[flow_control]\nkind = \"pfc\"\n[[job]]\nname = \"train\"\niterations = {iterations}\n[[collective]]\nkind = \"all-reduce\"\n\
        algorithm = \"{algorithm}\"\nsize = \"{size}\"\ncompute = \"50us\"\n"
    );
    let s = NetworkScenario::from_text("iterations.toml", &text, &[], Path::new("."))
        .unwrap_or_else(|e| panic!("{e}"));
    let without = run(&s, Engine::Windows, threads, false);
    let with = run(&s, Engine::Windows, threads, true);
    assert_eq!(without.rows, with.rows);
    assert_eq!(first_difference(&stated(&without.outcome), &stated(&with.outcome)), None);
    let done = &with.outcome.fast_forwarded;
    assert!(done.events_skipped > 0, "{done:?}");
    iterations as f64 * (with.outcome.events - done.events_skipped) as f64
        / with.outcome.events as f64
}

#[test]
fn iterations_of_128_ranks_are_gone_through_until_one_comes_again() {
    let of = |iterations, threads| gone_through("double-binary-tree", "20KB", iterations, threads);
    let (few, many) = (of(20, 1), of(60, 2));
    println!("{few:.2} iterations of 20, {many:.2} of 60");
    assert!(many < 8.0, "{many}");
    assert!((many - few).abs() < 0.2, "{few} of 20, {many} of 60");
}

#[test]
fn where_the_second_iteration_is_as_the_first_two_are_gone_through() {
    let of = |iterations, threads| gone_through("halving-doubling", "256KB", iterations, threads);
    let (few, many) = (of(6, 2), of(30, 1));
    // Ranks that compute first begin without an event; looks for deadlocks are events too, and more
    // of them are skipped.
    assert!(few < 2.001 && many <= 2.0, "{few} of 6, {many} of 30");
}

#[test]
#[ignore = "slow: a hundred iterations without fast-forward"]
fn a_hundred_iterations_of_128_ranks_take_a_fiftieth_of_their_events() {
    let gone = gone_through("halving-doubling", "256KB", 100, 1);
    assert!(gone <= 2.0, "{gone} iterations of 100");
}

#[test]
fn a_run_that_skips_much_is_looked_at_in_between() {
    let text = "[run]\nduration = \"20s\"\n[topology]\nkind = \"star\"\nhosts = 4\nrate = \"100Gbps\"\ndelay = \"1us\"\n[host]\nframe_max = \"1048B\"\nheader = \"48B\"\n\
        [flow_control]\nkind = \"pfc\"\n[switch]\nbuffer = \"400KB\"\n[[workload]]\nkind = \"incast\"\nreceiver = \"H3\"\n[probes]\npauses = [\"all\"]\n";
    let s = NetworkScenario::from_text("pauses.toml", text, &[], Path::new("."))
        .unwrap_or_else(|e| panic!("{e}"));
    let mut w =
        World::build(&s.topology, s.flows.clone(), &s.model()).expect("it was built before");
    w.record_to(Box::new(Vec::<Row>::new()));
    let mut skipped = Vec::new();
    w.drive(s.until, |w| {
        skipped.push(w.fast_forwarded().skipped);
        skipped.len() < 100
    });
    skipped.dedup();
    // A look for each quarter of a million rows, and the run has some millions.
    assert!(skipped.len() > 5, "{skipped:?}");
}

#[test]
#[ignore = "ten thousand scenarios with fast-forward and without take minutes"]
fn thousands_of_random_scenarios_are_the_same_with_fast_forward_and_without() {
    swarm(10_000..15_000, Flows::Long);
    swarm(10_000..15_000, Flows::Repeated);
    swarm(10_000..15_000, Flows::Jobs);
}

/// Flows that begin often for a while do not end the search for the rest of the run, in which one
/// begins now and then.
#[test]
fn a_busy_start_does_not_end_the_search() {
    let text = "[run]\nduration = \"100ms\"\nstop_when_done = false\n[topology]\nkind = \"star\"\nhosts = 8\nrate = \"100Gbps\"\ndelay = \"1us\"\n\
                [flow_control]\nkind = \"pfc\"\n[[flow]]\nsrc = \"H0\"\ndst = \"H1\"\n[[flow]]\nsrc = \"H2\"\ndst = \"H3\"\n\
                [[workload]]\nkind = \"bursts\"\nsources = [\"H4\"]\ndestinations = [\"H5\"]\nsize = \"10KB\"\ngap = \"9us\"\nrounds = 200\n\
                [[workload]]\nkind = \"bursts\"\nsources = [\"H6\"]\ndestinations = [\"H7\"]\nsize = \"10KB\"\nstart = \"2ms\"\ngap = \"1700us\"\nrounds = 57\n";
    let s = NetworkScenario::from_text("bursty.toml", text, &[], Path::new("."))
        .unwrap_or_else(|e| panic!("{e}"));
    let done = s.run(Sink::Nothing).unwrap().outcome.fast_forwarded;
    assert!(done.skipped > Span::from_us(80_000), "{done:?}");
}
