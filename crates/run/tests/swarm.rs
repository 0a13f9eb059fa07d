//! A thousand random small networks under the checkers: nothing is lost, nothing overtakes, nothing leaks, and the
//! same scenario gives the same hash.
//!
//! Each case is a scenario text made from its number, so that a failure is reproduced by running that number alone:
//! `XOFF_SWARM_CASE=123 cargo test --release -p xoff-run --test swarm -- --nocapture`.

use std::path::Path;

use xoff_record::Sink;
use xoff_run::Scenario;
use xoff_sim::ideal_time;
use xoff_topology::{FlowKey, trace_path};

/// SplitMix64: enough to choose settings by.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    }
    fn pick<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.roll(of.len() as u64) as usize]
    }
}

fn scenario(case: u64) -> String {
    let mut d = Dice(case);
    let topology = match d.roll(7) {
        0 => format!("kind = \"star\"\nhosts = {}", 2 + d.roll(7)),
        1 => format!("kind = \"dumbbell\"\nsenders = {}\nreceivers = {}", 1 + d.roll(5), 1 + d.roll(5)),
        2 => format!("kind = \"ring\"\nswitches = {}\nhosts_per_switch = {}", 3 + d.roll(3), 1 + d.roll(2)),
        3 => format!("kind = \"chain\"\nswitches = {}\nhosts_per_switch = {}", 2 + d.roll(3), 1 + d.roll(3)),
        4 => format!("kind = \"leaf-spine\"\nleaves = {}\nspines = {}\nhosts_per_leaf = {}", 2 + d.roll(2), 1 + d.roll(3), 1 + d.roll(3)),
        _ => "kind = \"fat-tree\"\nk = 4".to_owned(),
    };
    let rate = d.pick(&["10Gbps", "40Gbps", "100Gbps"]);
    let delay = d.pick(&["100ns", "1us", "5us"]);
    let flow_control = d.pick(&["pfc", "cbfc", "gfc-conceptual", "gfc-buffer", "gfc-time"]);
    let (constant, jitter) = (d.roll(3), d.roll(4));
    let discipline = d.pick(&["fifo", "round-robin", "drr", "input-fifo"]);
    let scheduler = d.pick(&["strict", "round-robin", "drr"]);
    let acks = d.pick(&["none", "per-frame"]);
    let mtu = d.pick(&["1000B", "1500B", "4096B", "9000B"]);
    let rate_control = d.pick(&["none", "qcn", "dcqcn"]);
    let routing = d.pick(&["ecmp", "lowest-id", "per-destination"]);
    // Buffer: room for Theorem 5.1's bound (the largest of all) at this rate, loop and period, and two frames.
    let mut t = format!(
        "[run]\nduration = \"2ms\"\nseed = {case}\nwatch = \"200us\"\n[topology]\n{topology}\nrate = \"{rate}\"\ndelay = \"{delay}\"\n\
         [routing]\nkind = \"{routing}\"\n[switch]\nbuffer = \"4MB\"\ndiscipline = \"{discipline}\"\nscheduler = \"{scheduler}\"\nquantum = \"9000B\"\n\
         [control_delay]\nprocessing = \"{constant}us\"\nprocessing_jitter = \"{jitter}us\"\ngeneration_jitter = \"{}ns\"\n\
         [host]\nmtu = \"{mtu}\"\nacks = \"{acks}\"\n[flow_control]\nkind = \"{flow_control}\"\n",
        d.roll(2) * 500
    );
    if flow_control.starts_with("gfc") {
        // The generation jitter is part of the loop but not of Eq. (6); two frames of slack for packet granularity.
        t.push_str("bm = \"3900KB\"\n");
    }
    if rate_control == "dcqcn" {
        t.push_str(&format!("[detection]\nkind = \"red\"\nkmin = \"20KB\"\nkmax = \"{}KB\"\npmax = 0.2\n[rate_control]\nkind = \"dcqcn\"\nvariant = \"{}\"\n", 20 + d.roll(200), d.pick(&["paper", "ns3-rdma", "hpcc"])));
        if acks == "none" {
            t.push_str("cnp_interval = \"50us\"\n");
        }
    }
    if rate_control == "qcn" {
        let (placement, sampling) = (d.pick(&["output", "input", "both"]), d.pick(&["arrival", "largest", "random"]));
        let keep_alive = placement != "output" && sampling != "arrival" && d.roll(2) == 0;
        t.push_str(&format!("[detection]\nkind = \"{}\"\nsetpoint = \"{}KB\"\nsample_base = \"{}KB\"\nplacement = \"{placement}\"\nsampling = \"{sampling}\"\nkeep_alive = {keep_alive}\n[rate_control]\nkind = \"qcn\"\ntimer = \"{}us\"\n", d.pick(&["qcn", "qcn", "af-qcn"]), 10 + d.roll(90), 10 + d.roll(140), 50 + d.roll(500)));
    }
    for _ in 0..1 + d.roll(2) {
        let priority = d.roll(3);
        match d.roll(4) {
            0 => t.push_str(&format!("[[workload]]\nkind = \"permutation\"\nsize = \"{}KB\"\npriority = {priority}\n", 1 + d.roll(3000))),
            1 => t.push_str(&format!("[[workload]]\nkind = \"closed-loop\"\nsize = \"{}KB\"\npriority = {priority}\ndifferent_rack = false\n", 1 + d.roll(300))),
            2 => t.push_str(&format!("[[workload]]\nkind = \"poisson\"\ncdf = \"websearch\"\nload = 0.{}\nduration = \"1ms\"\nsize_max = \"1MB\"\npriority = {priority}\n", 1 + d.roll(9))),
            _ => t.push_str(&format!("[[workload]]\nkind = \"permutation\"\nsize = \"2MB\"\nrate = \"{}Gbps\"\npriority = {priority}\njitter = \"300us\"\n", 1 + d.roll(20))),
        }
    }
    t
}

fn check(case: u64, text: &str) -> Result<(), String> {
    let fail = |what: String| Err(format!("case {case}: {what}\n{text}"));
    let s = match Scenario::from_text("swarm.toml", text, &[], Path::new(".")) {
        Ok(s) => s,
        Err(e) => return fail(e.to_string()),
    };
    let f = match s.run(Sink::Nothing) {
        Ok(f) => f,
        Err(e) => return fail(e.to_string()),
    };
    if f.outcome.violations_total > 0 {
        return fail(format!("{:?}", f.outcome.violations));
    }
    if f.outcome.dropped_frames > 0 {
        return fail(format!("{} frames lost", f.outcome.dropped_frames));
    }
    if let (Some(_), Err(e)) = (s.cut_through(), none_too_fast(&s, &f.outcome)) {
        return fail(e);
    }
    if case.is_multiple_of(10) {
        let again = s.run(Sink::Nothing).map_err(|e| e.to_string())?;
        if again.manifest.result_hash != f.manifest.result_hash {
            return fail("another hash the second time".into());
        }
    }
    Ok(())
}

/// The same with switches of InfiniBand: virtual cut-through, and in a third of the cases arbitration between virtual lanes.
fn infiniband(case: u64) -> String {
    let mut d = Dice(!case);
    let head = d.pick(&["1B", "40B", "64B", "500B", "1500B"]);
    let (a, b, c, limit) = (1 + d.roll(255), 1 + d.roll(255), d.roll(256), d.pick(&["0", "1", "9", "255"]));
    scenario(case).replace("[switch]\n", &format!("[switch]\ncut_through = \"{head}\"\n")).replace(
        "scheduler = \"strict\"",
        &format!(
            "scheduler = \"vl-arbitration\"\nvl_high = [\"2:{a}\", \"1:{c}\"]\nvl_low = [\"0:{b}\", \"1:{a}\", \"0:{c}\"]\nvl_high_limit = {limit}"
        ),
    )
}

/// The same with a flow control that looks at flows, few slots and few queues, so that flows share both. What one flow may hold grows
/// with the length of its way and many flows share a link, so that the buffer is larger.
fn by_flow(case: u64) -> String {
    let mut d = Dice(case ^ 0x5eed);
    let own = ["pfc", "cbfc", "gfc-conceptual", "gfc-buffer", "gfc-time"];
    let queues = ["round-robin", "drr", "input-fifo"];
    let text = scenario(case).replace("bm = \"3900KB\"\n", "").replace("buffer = \"4MB\"", "buffer = \"100MB\"");
    let text = queues.iter().fold(text, |t, q| t.replace(&format!("\ndiscipline = \"{q}\""), "\ndiscipline = \"fifo\""));
    let xoff = 10 + d.roll(200);
    let pffc = format!(
        "[flow_control]\nkind = \"pffc\"\nxoff_s = \"{xoff}KB\"\nxon_s = \"{}KB\"\nqueues = {}\nslots = {}\n",
        d.roll(xoff + 1),
        1 + d.roll(8),
        d.pick(&["1", "3", "16", "4096"])
    );
    own.iter().fold(text, |t, fc| t.replace(&format!("[flow_control]\nkind = \"{fc}\"\n"), &pffc))
}

/// No flow is faster than its way allows.
fn none_too_fast(s: &Scenario, o: &xoff_sim::Outcome) -> Result<(), String> {
    let (rule, (payload_max, header)) = (s.routing(), s.frame());
    let routes = rule.routes(&s.topology);
    for f in &o.flows {
        let Some(fct) = f.fct() else { continue };
        let key = FlowKey { src: f.flow.src, dst: f.flow.dst, src_port: f.flow.src_port, dst_port: f.flow.dst_port };
        let path = trace_path(&s.topology, &routes, &rule.choice, &key).ok_or("no way")?;
        let ideal = ideal_time(&s.topology, &path, f.flow.size, payload_max, header, s.cut_through());
        if fct < ideal {
            return Err(format!("{:?} took {fct}, ideal {ideal}", f.flow));
        }
    }
    Ok(())
}

fn all_keep(cases: std::ops::Range<u64>, check: impl Fn(u64) -> Result<(), String> + Sync) {
    let next = std::sync::atomic::AtomicU64::new(cases.start);
    let failures = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|s| {
        for _ in 0..2 {
            s.spawn(|| {
                loop {
                    let case = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    if case >= cases.end {
                        break;
                    }
                    if let Err(e) = check(case) {
                        failures.lock().unwrap().push(e);
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap();
    let kinds = |f: &String| f.lines().next().unwrap_or("").to_owned();
    failures.iter().take(12).for_each(|f| println!("{}", kinds(f)));
    assert!(failures.is_empty(), "{} of {} failed; the first:\n{}", failures.len(), cases.end - cases.start, failures[0]);
}

#[test]
fn a_thousand_random_scenarios_keep_every_promise() {
    if let Some(case) = std::env::var("XOFF_SWARM_CASE").ok().and_then(|c| c.parse().ok()) {
        println!("{}", scenario(case));
        return check(case, &scenario(case)).unwrap();
    }
    all_keep(0..1000, |case| check(case, &scenario(case)));
}

#[test]
fn three_hundred_random_scenarios_with_cut_through_keep_every_promise() {
    all_keep(2000..2300, |case| check(case, &infiniband(case)));
}

#[test]
fn three_hundred_random_scenarios_with_flow_control_by_flow_keep_every_promise() {
    all_keep(3000..3300, |case| check(case, &by_flow(case)));
}

/// A run without a closed loop (which is not split), with rows of every kind and, now and then, a link that fails.
fn for_threads(case: u64, scenario: fn(u64) -> String) -> Option<String> {
    let mut text = scenario(case);
    if text.contains("closed-loop") {
        return None;
    }
    text.push_str("[probes]\ninterval = \"50us\"\nqueues = [\"all\"]\nrates = [\"all\"]\nflow_rates = true\ncontrol = [\"all\"]\npauses = [\"all\"]\nnotices = [\"all\"]\n");
    if text.contains("fat-tree") && case.is_multiple_of(3) {
        text.push_str("[[failure]]\nlink = \"A1-C1\"\nat = \"200us\"\n");
    }
    Some(text)
}

/// Promise 2: the same result at any number of threads, rows in the same order included.
fn one_hash(scenario: fn(u64) -> String, cases: u32) {
    let (mut split, mut most) = (0, 0);
    for case in 5000.. {
        if split == cases {
            break;
        }
        let Some(text) = for_threads(case, scenario) else { continue };
        let s = Scenario::from_text("swarm.toml", &text, &[], Path::new(".")).unwrap_or_else(|e| panic!("case {case}: {e}\n{text}"));
        let run = |threads| {
            let running = s.start(Sink::Nothing, Some(threads)).unwrap_or_else(|e| panic!("case {case}: {e}"));
            let parts = running.threads();
            let f = running.run(|_| true).unwrap_or_else(|e| panic!("case {case}: {e}"));
            assert_eq!(f.outcome.violations, [], "case {case} on {threads} threads");
            (parts, f.manifest.result_hash, f.outcome.events, f.outcome.now)
        };
        let whole = run(1);
        // 2 always, and one of 3, 4 and 8.
        for threads in [2, [3, 4, 8][case as usize % 3]] {
            let parts = run(threads);
            if parts.0 == 1 {
                break; // a star has one switch
            }
            split += (threads == 2) as u32;
            most = most.max(parts.0);
            assert_eq!((&parts.1, parts.2, parts.3), (&whole.1, whole.2, whole.3), "case {case} on {threads} threads\n{text}");
        }
    }
    assert_eq!(most, 8, "some network was split in eight");
}

#[test]
fn two_hundred_random_scenarios_have_one_hash_for_any_number_of_threads() {
    one_hash(scenario, 200);
}

#[test]
fn sixty_random_scenarios_with_cut_through_have_one_hash_for_any_number_of_threads() {
    one_hash(infiniband, 60);
}

#[test]
fn sixty_random_scenarios_with_flow_control_by_flow_have_one_hash_for_any_number_of_threads() {
    one_hash(by_flow, 60);
}
