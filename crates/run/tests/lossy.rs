//! Lossy and lossless priorities together: losses match a closed form, and promises are kept.

use std::path::Path;

use xoff_farm::checkers::{self, How};
use xoff_net::topology::Topology;
use xoff_net::topology::names::{What, find_port};
use xoff_record::Sink;
use xoff_record::verdict::Loss;
use xoff_run::{Finished, NetworkScenario};
use xoff_sim::Engine;
use xoff_units::NodeId;

fn load(text: &str) -> NetworkScenario {
    NetworkScenario::from_text("lossy.toml", text, &[], Path::new(""))
        .unwrap_or_else(|e| panic!("{}\n{text}", e.render(false)))
}

fn run(text: &str) -> Finished {
    load(text).run(Sink::Nothing).unwrap()
}

fn port_of(t: &Topology, name: &str) -> (NodeId, u16) {
    find_port(t, "port", name, What::Port).unwrap()
}

const MTU: u64 = 1000;

/// A star at 100 Gb/s with frames of 1000 B.
fn star(hosts: u64, rest: &str) -> String {
    format!(
        "[run]\nduration = \"3ms\"\nstop_when_done = true\n[topology]\nkind = \"star\"\nhosts = {hosts}\nrate = \"100Gbps\"\ndelay = \"1us\"\n\
         [host]\nframe_max = \"{MTU}B\"\n{rest}"
    )
}

fn flow(src: u64, dst: u64, priority: u64, frames: u64) -> String {
    format!(
        "[[flow]]\nsrc = \"H{src}\"\ndst = \"H{dst}\"\npriority = {priority}\nsize = \"{}B\"\n",
        frames * MTU
    )
}

/// Lossless groups with headroom of their own, and queues of priority 0 by some policy.
fn pools(of_queues: &str) -> String {
    format!(
        "[switch]\nmemory = \"pools\"\n[flow_control]\nkind = \"pfc\"\nthreshold = \"profile\"\nlossy = [\"0\"]\n\
         [[buffer_pool]]\nname = \"lossless\"\nsize = \"2MB\"\n[[buffer_profile]]\npool = \"lossless\"\npriorities = [\"3\"]\nalpha = 0.25\n\
         [[buffer_pool]]\nname = \"lossy\"\nsize = \"300KB\"\n\
         [[buffer_profile]]\npool = \"lossy\"\nside = \"egress\"\npriorities = [\"0\"]\n{of_queues}"
    )
}

/// n senders at line rate into one port, S frames each: in the time of S frames S leave, and the
/// queue keeps its limit L. Lost: n S - S - L. At the same time, n senders of a lossless priority
/// into another port of the same switch lose nothing.
#[test]
fn a_lossy_incast_loses_what_the_closed_form_gives_and_a_lossless_one_nothing() {
    let (n, s) = (4, 500);
    for (policy, limit) in [
        ("kind = \"static\"\nlimit = \"100KB\"\n", 100),
        ("kind = \"static\"\nlimit = \"7KB\"\n", 7),
        ("kind = \"static\"\n", 300),
        // Dynamic: alpha B / (1 + alpha) of 300 KB.
        ("alpha = 1\n", 150),
        ("alpha = 0.5\n", 100),
        ("alpha = 2\n", 200),
    ] {
        let flows: String = (1..=n).map(|h| flow(h, 0, 0, s) + &flow(5 + h, 5, 3, s)).collect();
        let text = star(10, &(pools(policy) + &flows));
        let f = run(&text);
        let o = &f.outcome;
        assert_eq!(
            (o.lost[Loss::LossyEgress].data, o.lost.total().total()),
            (n * s - s - limit, n * s - s - limit),
            "{policy}"
        );
        assert_eq!(o.violations_total, 0, "{policy}");
        let incomplete = o.flows.iter().filter(|f| f.received.is_none()).map(|f| f.flow.priority);
        assert_eq!(
            incomplete.collect::<Vec<_>>(),
            [0; 3],
            "{policy}: the first flow always finds the place of the frame that has left"
        );
        assert_eq!(f.summary.incomplete.as_deref(), Some("3 of 8 flows"));
        let delivered: u64 =
            o.flows.iter().filter(|f| f.flow.priority == 0).map(|f| f.arrived()).sum();
        assert_eq!(delivered, (s + limit) * MTU, "{policy}");
        let (node, port) = port_of(&load(&text).topology, "S1:H0");
        assert_eq!(
            o.ports[node.index()][port as usize].tail_dropped,
            n * s - s - limit,
            "the queue to H0 dropped them"
        );
        assert_eq!(o.ports[node.index()][port as usize].egress_bytes_max, limit * MTU, "{policy}");
        let verdict = f.manifest.verdict.as_ref().unwrap();
        assert_eq!(verdict.losses().count(Loss::LossyEgress), n * s - s - limit);
        assert_eq!(
            (verdict.conclusion(&[]).exit_code(), verdict.losses().unmeasured()),
            (0, 0),
            "a result, no violation"
        );
        assert!(
            verdict.headline().contains("of lossy priorities at full egress queues"),
            "{}",
            verdict.headline()
        );
        assert!(
            f.summary.active.iter().any(|t| t.contains("pool lossy (egress): S1 used at most")),
            "{:?}",
            f.summary
        );
    }
}

/// A priority that is promised to be lossless stays one: where its headroom is too small, a loss is
/// a violation and the answer is no.
#[test]
fn a_loss_of_a_lossless_priority_is_a_violation() {
    let flows: String = (1..=4).map(|h| flow(h, 0, 3, 500)).collect();
    let text = star(
        5,
        &(pools("alpha = 1\n").replace(
            "alpha = 0.25\n",
            "kind = \"static\"\nlimit = \"10KB\"\nheadroom = \"5KB\"\n",
        ) + &flows),
    );
    let s = load(&text);
    assert!(s.warnings.iter().any(|w| w.line().contains("headroom 5 KB < ")), "it was warned of");
    let f = s.run(Sink::Nothing).unwrap();
    assert!(
        f.outcome.lost[Loss::BufferFull].data > 0
            && f.outcome.violations_total >= f.outcome.lost[Loss::BufferFull].data
    );
    assert_eq!(
        (
            f.outcome.lost.lossy().total(),
            f.manifest.verdict.as_ref().unwrap().conclusion(&[]).exit_code()
        ),
        (0, 1)
    );
}

/// n ports, each overloaded twofold, whose queues share 300 KB by some policy: each holds what the
/// closed form says, within one frame.
fn overloaded(policy: &str, n: u64, form: f64) {
    // Not in step: where all ports send a frame at once, n frames are free for an instant.
    let to = |r: u64, from: u64| flow(from, r, 0, 700) + &format!("start = \"{}ns\"\n", 10 * r);
    let flows: String = (0..n).map(|r| to(r, 8 + 2 * r) + &to(r, 9 + 2 * r)).collect();
    let s = load(&star(24, &(pools(policy) + &flows)));
    let f = s.run(Sink::Nothing).unwrap();
    for r in 0..n {
        let name = format!("S1:H{r}");
        let (node, port) = port_of(&s.topology, &name);
        let most = f.outcome.ports[node.index()][port as usize].egress_bytes_max as f64;
        assert!(
            (most - form).abs() <= MTU as f64,
            "{policy}, {n} ports, {name}: {most}, the closed form {form}"
        );
    }
}

/// Dynamic thresholds: alpha B / (1 + n alpha) each.
#[test]
fn queues_of_n_ports_hold_the_share_of_the_closed_form() {
    for alpha in [0.25, 1.0, 4.0] {
        (1..=8).for_each(|n| {
            overloaded(
                &format!("alpha = {alpha}\n"),
                n,
                alpha * 300_000.0 / (1.0 + n as f64 * alpha),
            )
        });
    }
}

/// ABM divides by the number of congested ports, so that all of them together hold alpha B / (1 +
/// alpha), however many they are; their queues are longer than 20 KiB here, and drain at line rate.
#[test]
fn abm_leaves_as_much_free_whatever_the_number_of_ports() {
    for (alpha, ports) in [(1.0, 7), (4.0, 8)] {
        (1..=ports).for_each(|n| {
            overloaded(
                &format!("kind = \"abm\"\nalpha = {alpha}\n"),
                n,
                alpha * 300_000.0 / (1.0 + alpha) / n as f64,
            )
        });
    }
}

/// The longest queue of two senders of 700 frames each into one port, by the rule of Reverie, slot
/// by slot: two frames come, one leaves.
fn reverie_by_hand(pool: f64, alpha: f64, gain: f64) -> f64 {
    let (mut q, mut l, mut most) = (0.0f64, 0.0f64, 0.0f64);
    let frame = MTU as f64;
    for _ in 0..700 {
        for _ in 0..2 {
            if l.min(q) + frame <= alpha * (pool - q) && q + frame <= pool {
                q += frame;
                most = most.max(q);
            }
        }
        q -= frame;
        l = q.min((1.0 - gain) * l + gain * q);
    }
    most
}

/// Reverie compares a smoothed queue with the threshold: without smoothing a queue holds alpha B /
/// (1 + alpha); the less the present queue weighs, the more of a burst is taken in, as the rule by
/// hand has it.
#[test]
fn reverie_takes_in_as_much_of_a_burst_as_its_rule_allows() {
    let mut longest = Vec::new();
    for alpha in [0.25, 0.5, 1.0] {
        assert!(
            (reverie_by_hand(300_000.0, alpha, 1.0) - alpha * 300_000.0 / (1.0 + alpha)).abs()
                <= 1000.0,
            "the rule has the closed form"
        );
        for gain in [1.0, 0.1, 0.01] {
            let text = star(
                24,
                &(pools(&format!("kind = \"reverie\"\nalpha = {alpha}\ngain = {gain}\n"))
                    + &flow(8, 0, 0, 700)
                    + &flow(9, 0, 0, 700)),
            );
            let s = load(&text);
            let f = s.run(Sink::Nothing).unwrap();
            let (node, port) = port_of(&s.topology, "S1:H0");
            let most = f.outcome.ports[node.index()][port as usize].egress_bytes_max as f64;
            let form = reverie_by_hand(300_000.0, alpha, gain);
            assert!(
                (most - form).abs() <= 2.0 * MTU as f64,
                "alpha {alpha}, gain {gain}: {most}, by hand {form}"
            );
            longest.push(most);
        }
    }
    assert!(
        longest.chunks(3).all(|by_gain| by_gain[0] < by_gain[1] && by_gain[1] < by_gain[2]),
        "{longest:?}"
    );
}

/// Loss with a fixed buffer by ingress: each of n ingresses keeps B.
#[test]
fn a_fixed_buffer_drops_at_the_ingress() {
    let (n, s, frames) = (4, 500, 20);
    let flows: String = (1..=n).map(|h| flow(h, 0, 0, s)).collect();
    let text = format!(
        "[switch]\nbuffer = \"{}B\"\n[flow_control]\nkind = \"pfc\"\nxoff = \"5KB\"\nlossy = [\"0\"]\n",
        frames * MTU
    );
    let f = run(&star(5, &(text + &flows)));
    assert_eq!(
        (f.outcome.lost[Loss::LossyIngress].data, f.outcome.lost.total().total()),
        (n * s - s - n * frames, n * s - s - n * frames)
    );
    assert_eq!(
        (
            f.outcome.violations_total,
            f.manifest.verdict.as_ref().unwrap().conclusion(&[]).exit_code()
        ),
        (0, 0)
    );
}

/// Hosts with a reliable transport recover the losses of a lossy priority; the lossless one loses
/// nothing.
#[test]
fn a_reliable_transport_recovers_what_is_dropped() {
    for recovery in ["go-back-n", "selective"] {
        let flows: String = (1..=4).map(|h| flow(h, 0, 0, 300) + &flow(5 + h, 5, 3, 300)).collect();
        let host = format!(
            "acks = \"per-frame\"\nrecovery = \"{recovery}\"\nrto = \"100us\"\nnack_interval = \"10us\"\nwindow = \"100KB\"\n"
        );
        let text = star(10, &(host + &pools("alpha = 0.125\n") + &flows)).replace("3ms", "1s");
        let f = run(&text);
        assert!(f.outcome.lost[Loss::LossyEgress].data > 0, "{recovery}");
        assert!(
            f.outcome.flows.iter().all(|f| f.end.is_some() && f.delivered == f.flow.size),
            "{recovery}"
        );
        assert_eq!(
            (f.outcome.violations_total, f.outcome.lost.unexcused().total()),
            (0, 0),
            "{recovery}"
        );
    }
}

/// A fabric with pools of both kinds of sharing, groups that share headroom, lossy and lossless
/// traffic, with and without a transport.
fn fabric(policy: &str, host: &str) -> String {
    format!(
        "[run]\nduration = \"400us\"\n[topology]\nkind = \"leaf-spine\"\nleaves = 3\nspines = 2\nhosts_per_leaf = 3\nrate = \"100Gbps\"\ndelay = \"500ns\"\n\
         [host]\nframe_max = \"{MTU}B\"\n{host}[switch]\nmemory = \"pools\"\nscheduler = \"round-robin\"\n\
         [flow_control]\nkind = \"pfc\"\nthreshold = \"profile\"\nlossy = [\"0-2\"]\n\
         [[buffer_pool]]\nname = \"all\"\nsize = \"900KB\"\nheadroom = \"300KB\"\n\
         [[buffer_pool]]\nname = \"out\"\nsize = \"400KB\"\n\
         [[buffer_profile]]\npool = \"all\"\npriorities = [\"3\"]\nheadroom = \"60KB\"\nreserve = \"2KB\"\n{policy}\
         [[buffer_profile]]\npool = \"all\"\npriorities = [\"0-1\"]\nkind = \"static\"\nlimit = \"200KB\"\n\
         [[buffer_profile]]\npool = \"out\"\nside = \"egress\"\npriorities = [\"0-1\"]\nreserve = \"3KB\"\n{policy}\
         [[buffer_profile]]\npool = \"all\"\nside = \"egress\"\npriorities = [\"3\"]\nkind = \"static\"\n\
         [[workload]]\nkind = \"incast\"\nreceiver = \"H0\"\nsize = \"300KB\"\npriority = 0\n\
         [[workload]]\nkind = \"incast\"\nreceiver = \"H8\"\nsize = \"200KB\"\npriority = 3\n\
         [[workload]]\nkind = \"permutation\"\nsize = \"500KB\"\npriority = 1\n\
         [probes]\ninterval = \"20us\"\nqueue_changes = [\"all\"]\npauses = [\"all\"]\n"
    )
}

/// The rows and counters are the same with both engines, on 1, 2, 3, 4 and 8 threads, with
/// fast-forward and without.
#[test]
fn every_way_to_run_it_has_the_same_result() {
    let acks = "acks = \"per-frame\"\nrecovery = \"selective\"\nrto = \"50us\"\n";
    for policy in [
        "alpha = 0.5\n",
        "kind = \"abm\"\nalpha = 0.5\n",
        "kind = \"reverie\"\nalpha = 0.5\n",
        "kind = \"static\"\nlimit = \"60KB\"\n",
    ] {
        for host in ["", acks] {
            let s = load(&fabric(policy, host));
            let run = |engine, threads, fast_forward| {
                let ran =
                    checkers::run(&s, How { engine, threads, fast_forward, ..checkers::REFERENCE })
                        .unwrap();
                (xoff_farm::outcome::stated(&ran.outcome), format!("{:?}", ran.outcome.pools), ran)
            };
            let reference = run(Engine::Events, 1, false);
            let o = &reference.2.outcome;
            assert!(
                o.lost.lossy().data > 0
                    && o.lost.unexcused().total() == 0
                    && o.violations_total == 0,
                "{policy}{host}: {:?}",
                o.lost
            );
            assert!(
                o.pools.values().flatten().any(|p| p.headroom_max > 0),
                "{policy}: headroom was used"
            );
            for engine in [Engine::Auto, Engine::Windows, Engine::Events] {
                for threads in [1, 2, 3, 4, 8] {
                    for fast_forward in [false, true] {
                        let other = run(engine, threads, fast_forward);
                        assert!(
                            reference.2.rows == other.2.rows,
                            "{policy}{host}: rows, {engine:?}, {threads} threads, {fast_forward}"
                        );
                        assert_eq!(
                            (&reference.0, &reference.1),
                            (&other.0, &other.1),
                            "{policy}{host}: {engine:?}, {threads} threads"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let flows = flow(1, 0, 0, 10) + &flow(2, 0, 3, 10);
    let text = star(4, &(pools("alpha = 1\n") + &flows));
    let refused = |from: &str, to: &str, stated: &[&str]| {
        let changed = text.replacen(from, to, 1);
        assert_ne!(changed, text, "'{from}' is in it");
        let e = NetworkScenario::from_text("lossy.toml", &changed, &[], Path::new("")).err();
        let e = e.unwrap_or_else(|| panic!("accepted: {changed}")).render(false);
        for stated in stated.iter().chain(&["lossy.toml:"]) {
            assert!(e.contains(stated), "'{stated}' is not in: {e}");
        }
    };
    let of_lossless = "pool = \"lossless\"\npriorities = [\"3\"]\n";
    // Four groups with the headroom of 1 us: 4 x 29,160 B.
    refused(
        "size = \"2MB\"",
        "size = \"100KB\"",
        &[
            "size 100 KB < 0 B of reserves + ",
            "of headroom of its groups = ",
            "'lossless'",
            "expected at least",
        ],
    );
    refused("size = \"300KB\"\n", "size = \"900B\"\n", &["shared part < 1 KB (one frame)"]);
    refused(
        of_lossless,
        &format!("{of_lossless}reserve = \"600KB\"\n"),
        &["size 2 MB < 2.4 MB of reserves"],
    );
    refused(
        "alpha = 1\n",
        "alpha = 200\n",
        &["a factor of 200", "2^-8 = 0.00390625 to 2^7 = 128", "dynamic_th"],
    );
    refused("alpha = 1\n", "alpha = 0\n", &["a factor of 0"]);
    refused(
        "alpha = 1\n",
        "kind = \"reverie\"\ngain = 2\n",
        &["a weight of 2", "expected 1/1024 to 1"],
    );
    refused(
        "pool = \"lossy\"",
        "pool = \"losy\"",
        &["pool 'losy' is not defined", "did you mean 'lossy'"],
    );
    refused("lossy = [\"0\"]", "lossy = [\"8\"]", &["'8' is not a priority"]);
    refused("lossy = [\"0\"]", "lossy = [\"3-1\"]", &["'3-1' is not a range"]);
    refused("lossy = [\"0\"]", "lossy = [\"0\", \"0\"]", &["repeats priority 0"]);
    refused(
        "lossy = [\"0\"]\n",
        "",
        &["priority 0 needs a [[buffer_profile]] at the ingress: it is lossless"],
    );
    refused(
        of_lossless,
        &format!("{of_lossless}switches = [\"S9\"]\n"),
        &["there is no switch 'S9'"],
    );
    refused(
        of_lossless,
        &format!("{of_lossless}ports = [\"H1:S1\"]\n"),
        &["'H1:S1' is a port of a host", "S1:H1"],
    );
    refused(of_lossless, &format!("{of_lossless}headroom = \"1\"\n"), &["has no unit"]);
    refused("name = \"lossless\"\n", "name = \"lossy\"\n", &["pool 'lossy' is already defined"]);
    refused(
        "size = \"300KB\"\n",
        "size = \"300KB\"\nheadroom = \"400KB\"\n",
        &["headroom 400 KB > size 300 KB"],
    );
    refused(
        "side = \"egress\"\n",
        "side = \"egress\"\nheadroom = \"4KB\"\n",
        &["never pause a peer"],
    );
    refused(
        "memory = \"pools\"",
        "memory = \"shared\"",
        &["buffer profiles are for memory in pools"],
    );
    refused(
        "threshold = \"profile\"\n",
        "",
        &["pfc has its own thresholds", "threshold = \"profile\""],
    );
    refused(
        "kind = \"pfc\"\nthreshold = \"profile\"\n",
        "kind = \"cbfc\"\n",
        &["cbfc has its own thresholds"],
    );
    let twice = format!("[[buffer_profile]]\nname = \"again\"\n{of_lossless}[[flow]]\n");
    refused("[[flow]]\n", &twice, &["priority 3 already has the profile 'lossless' at this port"]);
    let storm = "[[pause_storm]]\nhost = \"H0\"\n[[flow]]\n";
    refused("[[flow]]\n", storm, &["priority 0 is lossy: no message pauses it"]);
}

/// A limit of a lossless queue at the egress that a group fills before it is paused: its frames
/// would be dropped there, which is a violation. Warned of.
#[test]
fn a_limit_before_the_pause_is_warned_of() {
    let of = |queue: &str| {
        let queue = format!(
            "[[buffer_profile]]\npool = \"lossy\"\nside = \"egress\"\npriorities = [\"3\"]\n{queue}"
        );
        let flows: String = (1..4).map(|n| flow(n, 0, 3, 300)).collect();
        load(&star(4, &(pools("alpha = 1\n") + &queue + &flows)))
    };
    for (queue, drops) in [
        ("kind = \"static\"\nlimit = \"20KB\"\n", true),
        ("alpha = 0.125\n", true),
        ("kind = \"static\"\n", true),
    ] {
        let s = of(queue);
        let warnings = s.warnings.render(false);
        let stated = warnings.contains("a queue of lossless priority 3, S1->H")
            && warnings.contains("before its pause takes effect");
        assert!(stated, "{queue}: {warnings}");
        let o = s.run(Sink::Nothing).unwrap().outcome;
        assert_eq!(o.lost[Loss::BufferFull].total() > 0, drops, "{queue}: {:?}", o.lost);
        assert_eq!(o.violations_total, o.lost[Loss::BufferFull].total(), "{queue}");
    }
    // As SONiC has it: no limit but a pool that holds more than all groups.
    let wide = star(
        4,
        &(pools("alpha = 1\n").replace("size = \"300KB\"", "size = \"5MB\"") + &flow(1, 0, 3, 300)),
    );
    assert!(
        !load(&wide).warnings.render(false).contains("takes effect: the queue may drop frames")
    );
}

/// A group under Reverie whose queue is stopped takes in the whole pool, which the warning of a
/// queue that drops before the pause reckons with. Before: half of it, as if the value that is
/// compared with the limit grew with the occupancy, and no warning.
#[test]
fn what_reverie_takes_in_behind_a_stopped_port_is_warned_of() {
    let of = |kind: &str| {
        format!(
            "[run]\nduration = \"3ms\"\nstop_when_done = false\n[topology]\nkind = \"star\"\nhosts = 3\nrate = \"10Gbps\"\n[switch]\nmemory = \"pools\"\n\
             [flow_control]\nkind = \"pfc\"\nthreshold = \"profile\"\n[[buffer_pool]]\nname = \"i\"\nsize = \"1MB\"\n[[buffer_pool]]\nname = \"e\"\nsize = \"1.5MB\"\n\
             [[buffer_profile]]\npool = \"i\"\npriorities = [\"0\"]\nkind = \"{kind}\"\nalpha = 1\n\
             [[buffer_profile]]\npool = \"e\"\nside = \"egress\"\npriorities = [\"0\"]\n\
             [[pause_storm]]\nhost = \"H0\"\nstart = \"200us\"\n[[flow]]\nsrc = \"H1\"\ndst = \"H0\"\n"
        )
    };
    let warned =
        |kind| load(&of(kind)).warnings.iter().any(|w| w.line().contains("the queue may drop"));
    assert!(!warned("dynamic") && warned("reverie"));
    let dropped = |kind| run(&of(kind)).outcome.lost.total().total();
    assert!(
        dropped("dynamic") == 0 && dropped("reverie") > 0,
        "{} {}",
        dropped("dynamic"),
        dropped("reverie")
    );
}
