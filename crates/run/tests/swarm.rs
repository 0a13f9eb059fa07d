//! A thousand random small networks under the checkers: nothing is lost, nothing overtakes, nothing leaks, and the
//! same scenario gives the same hash.
//!
//! Each case is a scenario text made from its number, so that a failure is reproduced by running that number alone:
//! `XOFF_TEST_SWARM_CASE=123 cargo test --release --workspace --test swarm -- --nocapture`.

mod draw;

use draw::{Dice, Drawn};
use xoff_mech::flow_control;
use xoff_record::Sink;
use xoff_run::NetworkScenario;
use xoff_sim::LostFrames;

/// The flow controls of the registry that hold single flows, or whole priorities.
fn registered(per_flow: bool) -> Vec<&'static str> {
    let some = flow_control::REGISTRY.iter().filter(|e| e.name != "none" && e.per_flow == per_flow);
    some.map(|e| e.name).collect()
}

fn scenario(case: u64) -> Drawn {
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
    let flow_control = d.pick(&registered(false));
    let (constant, jitter) = (d.roll(3), d.roll(4));
    let discipline = d.pick(&["fifo", "round-robin", "drr", "input-fifo"]);
    let scheduler = d.pick(&["strict", "round-robin", "drr"]);
    let acks = d.pick(&["none", "per-frame"]);
    let mtu = d.pick(&["1000B", "1500B", "4096B", "9000B"]);
    let rate_control = d.pick(&["none", "qcn", "dcqcn"]);
    let routing = d.pick(&["ecmp", "lowest-id", "per-destination"]);
    let head = format!(
        "[run]\nduration = \"2ms\"\nseed = {case}\nwatch = \"200us\"\n[topology]\n{topology}\nrate = \"{rate}\"\ndelay = \"{delay}\"\n\
         [routing]\nkind = \"{routing}\"\n[control_delay]\nprocessing = \"{constant}us\"\nprocessing_jitter = \"{jitter}us\"\n\
         generation_jitter = \"{}ns\"\n[host]\nmtu = \"{mtu}\"\nacks = \"{acks}\"\n",
        d.roll(2) * 500
    );
    // The generation jitter is part of the loop but not of Eq. (6); two frames of slack for packet granularity.
    let gentle = if flow_control.starts_with("gfc") { "bm = \"3900KB\"\n" } else { "" };
    let (detection, rate_control) = rate_control_and_detection(&mut d, rate_control, acks);
    let mut workload = String::new();
    for _ in 0..1 + d.roll(2) {
        workload += &some_flows(&mut d);
    }
    Drawn {
        head,
        // Room for Theorem 5.1's bound (the largest of all) at this rate, loop and period, and two frames.
        switch: "buffer = \"4MB\"\nquantum = \"9000B\"\n".into(),
        discipline,
        scheduler,
        flow_control: (flow_control, gentle.into()),
        detection,
        rate_control,
        workload,
        ..Drawn::default()
    }
}

type Section = (&'static str, String);

fn rate_control_and_detection(d: &mut Dice, rate_control: &'static str, acks: &str) -> (Section, Section) {
    match rate_control {
        "dcqcn" => {
            let kmax = 20 + d.roll(200);
            let mut dcqcn = format!("variant = \"{}\"\n", d.pick(&["paper", "ns3-rdma", "hpcc"]));
            if acks == "none" {
                dcqcn += "cnp_interval = \"50us\"\n";
            }
            (("red", format!("kmin = \"20KB\"\nkmax = \"{kmax}KB\"\npmax = 0.2\n")), ("dcqcn", dcqcn))
        }
        "qcn" => {
            let (placement, sampling) = (d.pick(&["output", "input", "both"]), d.pick(&["arrival", "largest", "random"]));
            let keep_alive = placement != "output" && sampling != "arrival" && d.roll(2) == 0;
            let kind = d.pick(&["qcn", "qcn", "af-qcn"]);
            let (setpoint, base) = (10 + d.roll(90), 10 + d.roll(140));
            let point = format!(
                "setpoint = \"{setpoint}KB\"\nsample_base = \"{base}KB\"\nplacement = \"{placement}\"\nsampling = \"{sampling}\"\n\
                 keep_alive = {keep_alive}\n"
            );
            ((kind, point), ("qcn", format!("timer = \"{}us\"\n", 50 + d.roll(500))))
        }
        _ => (("none", String::new()), ("none", String::new())),
    }
}

fn some_flows(d: &mut Dice) -> String {
    let priority = d.roll(3);
    let lines = match d.roll(4) {
        0 => format!("kind = \"permutation\"\nsize = \"{}KB\"", 1 + d.roll(3000)),
        1 => format!("kind = \"closed-loop\"\nsize = \"{}KB\"\ndifferent_rack = false", 1 + d.roll(300)),
        2 => format!("kind = \"poisson\"\ncdf = \"websearch\"\nload = 0.{}\nduration = \"1ms\"\nsize_max = \"1MB\"", 1 + d.roll(9)),
        _ => format!("kind = \"permutation\"\nsize = \"2MB\"\nrate = \"{}Gbps\"\njitter = \"300us\"", 1 + d.roll(20)),
    };
    format!("[[workload]]\n{lines}\npriority = {priority}\n")
}

fn check(case: u64, drawn: &Drawn) -> Result<(), String> {
    let fail = |what: String| Err(format!("case {case}: {what}\n{}", drawn.text()));
    let s = match drawn.load() {
        Ok(s) => s,
        Err(e) => return fail(e),
    };
    let f = match s.run(Sink::Nothing) {
        Ok(f) => f,
        Err(e) => return fail(e.to_string()),
    };
    if f.outcome.violations_total > 0 {
        return fail(format!("{:?}", f.outcome.violations));
    }
    if f.outcome.lost != LostFrames::default() {
        return fail(format!("{:?}", f.outcome.lost));
    }
    if let Err(e) = none_too_fast(&s, &f.outcome) {
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
fn infiniband(case: u64) -> Drawn {
    let mut d = Dice(!case);
    let head = [1, 40, 64, 500, 1500][d.roll(5) as usize];
    let (a, b, c, limit) = (1 + d.roll(255), 1 + d.roll(255), d.roll(256), d.pick(&["0", "1", "9", "255"]));
    let mut drawn = Drawn { cut_through: Some(head), ..scenario(case) };
    if drawn.scheduler == "strict" {
        drawn.scheduler = "vl-arbitration";
        drawn.switch += &format!("vl_high = [\"2:{a}\", \"1:{c}\"]\nvl_low = [\"0:{b}\", \"1:{a}\", \"0:{c}\"]\nvl_high_limit = {limit}\n");
    }
    drawn
}

/// The same with a per-flow flow control, few slots and few queues, so that flows share both. What one flow may hold grows
/// with the length of its way and many flows share a link, so that the buffer is larger.
fn by_flow(case: u64) -> Drawn {
    let kinds = registered(true);
    let kind = kinds[case as usize % kinds.len()];
    let mut d = Dice(case ^ 0x5eed);
    let xoff = 10 + d.roll(200);
    let (xon, queues, slots) = (d.roll(xoff + 1), 1 + d.roll(8), d.pick(&["1", "3", "16", "4096"]));
    Drawn {
        switch: "buffer = \"100MB\"\n".into(),
        discipline: "fifo",
        flow_control: (
            kind,
            match kind {
                "pffc" => format!("xoff_s = \"{xoff}KB\"\nxon_s = \"{xon}KB\"\nqueues = {queues}\nslots = {slots}\n"),
                _ => String::new(),
            },
        ),
        ..scenario(case)
    }
}

/// No flow is faster than its way allows.
fn none_too_fast(s: &NetworkScenario, o: &xoff_sim::Outcome) -> Result<(), String> {
    let routes = s.routing().routes(&s.topology);
    for f in &o.flows {
        let Some(fct) = f.fct() else { continue };
        let ideal = s.ideal_time(&routes, &f.flow).ok_or("no route")?;
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
    if let Some(case) = std::env::var("XOFF_TEST_SWARM_CASE").ok().and_then(|c| c.parse().ok()) {
        println!("{}", scenario(case).text());
        return check(case, &scenario(case)).unwrap();
    }
    all_keep(0..1000, |case| check(case, &scenario(case)));
}

#[test]
fn three_hundred_random_scenarios_with_cut_through_keep_every_promise() {
    let with_arbitration = (2000..2300).filter(|&case| infiniband(case).scheduler == "vl-arbitration").count();
    assert!((60..140).contains(&with_arbitration), "{with_arbitration} of 300 with virtual lanes");
    all_keep(2000..2300, |case| check(case, &infiniband(case)));
}

#[test]
fn three_hundred_random_scenarios_with_flow_control_by_flow_keep_every_promise() {
    all_keep(3000..3300, |case| check(case, &by_flow(case)));
}
