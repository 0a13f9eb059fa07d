//! Small networks in which nothing may be lost: every flow control has the room that it asks for.

use xoff_mech::flow_control;

use crate::draw::{Dice, Drawn};
use crate::networks::rarer;

/// The flow controls of the registry that hold single flows, or whole priorities.
fn registered(per_flow: bool) -> Vec<&'static str> {
    let some = flow_control::REGISTRY.iter().filter(|e| e.name != "none" && e.per_flow == per_flow);
    some.map(|e| e.name).collect()
}

/// A small network with two or three kinds of flows for two milliseconds.
pub fn scenario(case: u64) -> Drawn {
    on(case, any_kind)
}

fn any_kind(d: &mut Dice) -> String {
    match d.roll(7) {
        0 => format!("kind = \"star\"\nhosts = {}", 2 + d.roll(7)),
        1 => format!(
            "kind = \"dumbbell\"\nsenders = {}\nreceivers = {}",
            1 + d.roll(5),
            1 + d.roll(5)
        ),
        2 => format!(
            "kind = \"ring\"\nswitches = {}\nhosts_per_switch = {}",
            3 + d.roll(3),
            1 + d.roll(2)
        ),
        3 => format!(
            "kind = \"chain\"\nswitches = {}\nhosts_per_switch = {}",
            2 + d.roll(3),
            1 + d.roll(3)
        ),
        4 => format!(
            "kind = \"leaf-spine\"\nleaves = {}\nspines = {}\nhosts_per_leaf = {}",
            2 + d.roll(2),
            1 + d.roll(3),
            1 + d.roll(3)
        ),
        _ => "kind = \"fat-tree\"\nk = 4".to_owned(),
    }
}

/// Two to four hosts.
fn few_hosts(d: &mut Dice) -> String {
    match d.roll(4) {
        0 => format!("kind = \"star\"\nhosts = {}", 2 + d.roll(3)),
        1 => format!(
            "kind = \"dumbbell\"\nsenders = {}\nreceivers = {}",
            1 + d.roll(2),
            1 + d.roll(2)
        ),
        2 => "kind = \"ring\"\nswitches = 3\nhosts_per_switch = 1".to_owned(),
        _ => format!("kind = \"chain\"\nswitches = 2\nhosts_per_switch = {}", 1 + d.roll(2)),
    }
}

fn on(case: u64, topology: fn(&mut Dice) -> String) -> Drawn {
    let mut d = Dice(case);
    let topology = topology(&mut d);
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
        "[run]\nduration = \"2ms\"\nseed = {case}\ndeadlock_interval = \"200us\"\n[topology]\n{topology}\nrate = \"{rate}\"\ndelay = \"{delay}\"\n\
         [routing]\nkind = \"{routing}\"\n[control_delay]\nprocessing = \"{constant}us\"\nprocessing_jitter = \"{jitter}us\"\n\
         generation_jitter = \"{}ns\"\n[host]\nframe_max = \"{mtu}\"\nacks = \"{acks}\"\n",
        d.roll(2) * 500
    );
    // The generation jitter is part of the loop but not of Eq. (6); two frames of slack for packet
    // granularity.
    let gentle = if flow_control.starts_with("gfc") { "bm = \"3900KB\"\n" } else { "" };
    let (detection, rate_control) = rate_control_and_detection(&mut d, rate_control, acks);
    let mut workload = String::new();
    for _ in 0..1 + d.roll(2) {
        workload += &some_flows(&mut d);
    }
    let mut drawn = Drawn {
        head,
        // Room for Theorem 5.1's bound (the largest of all) at this rate, loop and period, and two
        // frames.
        switch: "buffer = \"4MB\"\nquantum = \"9000B\"\n".into(),
        discipline,
        scheduler,
        flow_control: (flow_control, gentle.into()),
        detection,
        rate_control,
        workload,
        ..Drawn::default()
    };
    rarer(case, &mut drawn);
    drawn
}

/// Scenario for so short a time that a run takes milliseconds.
pub fn tiny(case: u64) -> Drawn {
    shorter(scenario(case), 60)
}

/// Scenario of the smallest networks, for a time in which a host sends some ten to two hundred
/// frames.
pub fn smallest(case: u64) -> Drawn {
    shorter(on(!case, few_hosts), 20)
}

/// For so many microseconds.
fn shorter(mut drawn: Drawn, us: u64) -> Drawn {
    let shorter = [
        ("duration = \"2ms\"", format!("duration = \"{us}us\"")),
        ("deadlock_interval = \"200us\"", format!("deadlock_interval = \"{}us\"", us / 3)),
        ("jitter = \"300us\"", format!("jitter = \"{}us\"", us / 3)),
    ];
    for (long, short) in shorter {
        drawn.head = drawn.head.replace(long, &short);
        drawn.workload = drawn.workload.replace(long, &short);
    }
    drawn.workload =
        drawn.workload.replace("duration = \"1ms\"", &format!("duration = \"{}us\"", us * 5 / 6));
    drawn
}

type Section = (&'static str, String);

fn rate_control_and_detection(
    d: &mut Dice,
    rate_control: &'static str,
    acks: &str,
) -> (Section, Section) {
    match rate_control {
        "dcqcn" => {
            let kmax = 20 + d.roll(200);
            let mut dcqcn = format!("variant = \"{}\"\n", d.pick(&["paper", "ns3-rdma", "hpcc"]));
            if acks == "none" {
                dcqcn += "cnp_interval = \"50us\"\n";
            }
            (
                ("red", format!("kmin = \"20KB\"\nkmax = \"{kmax}KB\"\npmax = 0.2\n")),
                ("dcqcn", dcqcn),
            )
        }
        "qcn" => {
            let (placement, sampling) =
                (d.pick(&["output", "input", "both"]), d.pick(&["arrival", "largest", "random"]));
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
        1 => format!(
            "kind = \"closed-loop\"\nsize = \"{}KB\"\ndifferent_rack = false",
            1 + d.roll(300)
        ),
        2 => format!(
            "kind = \"poisson\"\ncdf = \"websearch\"\nload = 0.{}\nduration = \"1ms\"\nsize_max = \"1MB\"",
            1 + d.roll(9)
        ),
        _ => format!(
            "kind = \"permutation\"\nsize = \"2MB\"\nrate = \"{}Gbps\"\njitter = \"300us\"",
            1 + d.roll(20)
        ),
    };
    format!("[[workload]]\n{lines}\npriority = {priority}\n")
}

/// Scenario with switches of InfiniBand: virtual cut-through, and in a third of the cases
/// arbitration between virtual lanes.
pub fn infiniband(case: u64) -> Drawn {
    let mut d = Dice(!case);
    let head = [1, 40, 64, 500, 1500][d.roll(5) as usize];
    let (a, b, c, limit) =
        (1 + d.roll(255), 1 + d.roll(255), d.roll(256), d.pick(&["0", "1", "9", "255"]));
    let mut drawn = Drawn { cut_through: Some(head), ..scenario(case) };
    if drawn.scheduler == "strict" {
        drawn.scheduler = "vl-arbitration";
        drawn.switch += &format!(
            "vl_high = [\"2:{a}\", \"1:{c}\"]\nvl_low = [\"0:{b}\", \"1:{a}\", \"0:{c}\"]\nvl_high_limit = {limit}\n"
        );
    }
    drawn
}

/// Scenario with a per-flow flow control, few slots and few queues, so that flows share both. The
/// bytes that one flow may hold grow with the length of its way and many flows share a link, so
/// that the buffer is larger.
pub fn by_flow(case: u64) -> Drawn {
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
                "pffc" => format!(
                    "xoff_s = \"{xoff}KB\"\nxon_s = \"{xon}KB\"\nqueues = {queues}\nslots = {slots}\n"
                ),
                _ => String::new(),
            },
        ),
        ..scenario(case)
    }
}
