//! Hosts that receive frames more slowly than their link delivers them: pauses at their switch, and
//! the rate of a flow.

use std::path::Path;

use xoff_record::Sink;
use xoff_run::{Finished, NetworkScenario};
use xoff_sim::{Row, World};
use xoff_units::{Span, Time};

fn load(text: &str) -> NetworkScenario {
    NetworkScenario::from_text("slow.toml", text, &[], Path::new(""))
        .unwrap_or_else(|e| panic!("{}\n{text}", e.render(false)))
}

fn run(text: &str) -> Finished {
    load(text).run(Sink::Nothing).unwrap()
}

/// A star at 100 Gb/s in which H2 drains slowly.
fn star(flow_control: &str, slow: &str, flows: &str) -> String {
    format!(
        "[run]\nduration = \"3ms\"\nstop_when_done = true\n[topology]\nkind = \"star\"\nhosts = 4\nrate = \"100Gbps\"\ndelay = \"1us\"\n\
         [switch]\nbuffer = \"200KB\"\n[flow_control]\nkind = \"{flow_control}\"\n{}[[slow_receiver]]\nhost = \"H2\"\n{slow}{flows}",
        if ["cbfc", "gfc-time"].contains(&flow_control) { "period = \"4800ns\"\n" } else { "" }
    )
}

const ENDLESS: &str = "[[flow]]\nsrc = \"H1\"\ndst = \"H2\"\n[probes]\ncauses = true\n";

/// Start and length of each pause of the port to the slow host.
fn holds(text: &str) -> Vec<(u64, u64)> {
    let s = load(text);
    let t = &s.topology;
    let (node, port) = xoff_net::topology::names::find_port(
        t,
        "port",
        "S1->H2",
        xoff_net::topology::names::What::Port,
    )
    .unwrap();
    let number = xoff_net::topology::PortNumbers::new(t).of(node, port);
    let model = s.model();
    let mut w = World::build(t, s.flows.clone(), &model).unwrap();
    drop(model);
    w.record_to(Box::new(Vec::<Row>::new()));
    let ended = w.drive(s.until, |_| true);
    let (o, recorder) = w.finish(ended);
    assert_eq!((o.lost.total().total(), o.violations_total), (0, 0));
    let rows = *recorder.unwrap().into_any().downcast::<Vec<Row>>().unwrap();
    let (mut all, mut since) = (Vec::new(), None);
    for row in rows {
        if let Row::Hold(h) = row
            && h.port.0 == number
        {
            match (h.on, since) {
                (true, _) => since = Some(h.time_ps),
                (false, Some(from)) => all.push((from, h.time_ps - from)),
                (false, None) => {}
            }
        }
    }
    all
}

/// Steady state: over whole periods the gate of a port whose far end drains at r is shut for 1 -
/// r/C of the time, to the picosecond.
#[test]
fn the_gate_is_shut_for_one_minus_r_over_the_line() {
    for flow_control in ["pfc", "cbfc"] {
        for gbps in [10, 25, 50] {
            let case = format!("{flow_control}, {gbps} Gb/s");
            let holds = holds(&star(flow_control, &format!("rate = \"{gbps}Gbps\"\n"), ENDLESS));
            let cycles: Vec<(u64, u64)> =
                holds.windows(2).map(|w| (w[1].0 - w[0].0, w[0].1)).collect();
            // The last half is steady: the shortest period in cycles that it has.
            let steady = &cycles[cycles.len() / 2..];
            let period = (1..=steady.len() / 3)
                .find(|&k| steady.iter().zip(&steady[k..]).all(|(a, b)| a == b));
            let period = period.unwrap_or_else(|| {
                panic!(
                    "{case}: no period in {} cycles: {:?}",
                    steady.len(),
                    &steady[..8.min(steady.len())]
                )
            });
            let (time, shut) = steady[..period].iter().fold((0, 0), |(t, s), c| (t + c.0, s + c.1));
            assert_eq!(shut * 100, time * (100 - gbps), "{case}: {period} cycles");
        }
    }
}

/// Every flow control that holds a port keeps the NIC's memory from overflowing; the host gets what
/// it can drain.
#[test]
fn nothing_is_lost_and_the_drain_is_the_bottleneck() {
    for kind in xoff_mech::flow_control::REGISTRY.iter().filter(|e| !e.per_flow && e.name != "none")
    {
        let flows = "[[flow]]\nsrc = \"H1\"\ndst = \"H2\"\nsize = \"3MB\"\n[[flow]]\nsrc = \"H3\"\ndst = \"H2\"\nsize = \"3MB\"\n";
        let f = run(&star(kind.name, "rate = \"25Gbps\"\n", flows));
        let o = &f.outcome;
        assert_eq!((o.lost.total().total(), o.violations_total), (0, 0), "{}", kind.name);
        let last = o
            .flows
            .iter()
            .map(|f| f.received.unwrap_or_else(|| panic!("{}", kind.name)))
            .max()
            .unwrap();
        let least = Time::from_us(6_000_000 * 8 / 25_000);
        assert!(
            last >= least && last < least + Span::from_us(400),
            "{}: {last}, {least} at 25 Gb/s",
            kind.name
        );
    }
}

/// A NIC has thresholds of its own buffer if those of switches follow a memory, its pools or its
/// free part: nothing is lost, and the buffer is used.
#[test]
fn a_nic_has_thresholds_of_its_own_where_switches_have_pools() {
    let pools = "memory = \"pools\"\n[flow_control]\nthreshold = \"profile\"\n[[buffer_pool]]\nname = \"all\"\nsize = \"1MB\"\n\
                 [[buffer_profile]]\npool = \"all\"\npriorities = [\"0\"]\n";
    for (case, switch) in [
        ("pools", pools),
        ("shared", "memory = \"shared\"\n[flow_control]\nthreshold = \"dynamic\"\n"),
    ] {
        let flows = "[[flow]]\nsrc = \"H1\"\ndst = \"H2\"\nsize = \"3MB\"\n[[flow]]\nsrc = \"H3\"\ndst = \"H2\"\nsize = \"3MB\"\n";
        let (first, rest) = switch.split_once("[flow_control]\n").unwrap();
        let (own, sections) =
            rest.split_once("[[").map_or((rest, String::new()), |(own, s)| (own, format!("[[{s}")));
        let of = |slow: &str| {
            star("pfc", slow, &format!("{flows}{sections}"))
                .replace("buffer = \"200KB\"\n", &format!("buffer = \"200KB\"\n{first}"))
                .replace("kind = \"pfc\"\n", &format!("kind = \"pfc\"\n{own}"))
        };
        let o = run(&of("rate = \"25Gbps\"\n")).outcome;
        assert_eq!((o.lost.total().total(), o.violations_total), (0, 0), "{case}");
        let last =
            o.flows.iter().map(|f| f.received.unwrap_or_else(|| panic!("{case}"))).max().unwrap();
        let least = Time::from_us(6_000_000 * 8 / 25_000);
        assert!(
            last >= least && last < least + Span::from_us(400),
            "{case}: {last}, {least} at 25 Gb/s"
        );
        let e = NetworkScenario::from_text(
            "slow.toml",
            &of("rate = \"25Gbps\"\n").replace("200KB", "20KB"),
            &[],
            Path::new(""),
        )
        .err();
        let e = e.unwrap_or_else(|| panic!("{case}: accepted")).render(false);
        assert!(
            e.contains("buffer 20 KB < ") && e.contains("of headroom and 3 MTU"),
            "{case}: {e}"
        );
    }
}

/// A stall delays a flow that the drain limits by its length, to the picosecond.
#[test]
fn a_stall_costs_its_length() {
    let with = |stalls: &str| {
        let flow = "[[flow]]\nsrc = \"H1\"\ndst = \"H2\"\nsize = \"1500KB\"\n";
        run(&star("pfc", &format!("rate = \"25Gbps\"\n{stalls}"), flow)).outcome.flows[0]
            .received
            .unwrap()
    };
    let without = with("");
    assert_eq!(with("stalls = [\"100us+20us\"]\n").since(without), Span::from_us(20));
    assert_eq!(
        with("stalls = [\"100us+20us\", \"120us+1us\", \"200us+7us\"]\n").since(without),
        Span::from_us(28)
    );
}

/// At most so many messages in a second: the completions of short flows are as far apart.
#[test]
fn messages_are_complete_at_the_rate_of_messages() {
    let flows = "[[flow]]\nsrc = \"H1\"\ndst = \"H2\"\nsize = \"15KB\"\n".repeat(20);
    let f = run(&star("pfc", "rate = \"25Gbps\"\nmessage_rate = 100000\n", &flows));
    let mut ends: Vec<Time> = f.outcome.flows.iter().map(|f| f.received.unwrap()).collect();
    ends.sort_unstable();
    assert!(ends.windows(2).all(|w| w[1].since(w[0]) == Span::from_us(10)), "{ends:?}");
}

#[test]
fn drains_that_cannot_be_are_refused() {
    let flow = "[[flow]]\nsrc = \"H1\"\ndst = \"H2\"\nsize = \"1500KB\"\n";
    let refused = |kind: &str, slow: &str, stated: &str| {
        let e =
            NetworkScenario::from_text("slow.toml", &star(kind, slow, flow), &[], Path::new(""))
                .err();
        let e = e.unwrap_or_else(|| panic!("{slow}")).render(false);
        assert!(e.contains(stated) && e.contains("slow.toml:"), "{slow}: {e}");
    };
    refused("pfc", "rate = \"200Gbps\"\n", "rate 200 Gb/s > 100 Gb/s");
    refused("pfc", "rate = \"0bps\"\n", "the rate is 0");
    refused("pfc", "", "missing key 'rate'");
    refused(
        "pfc",
        "rate = \"1Gbps\"\nbuffer = \"100KB\"\n",
        "buffer 100 KB < switch.buffer 200 KB",
    );
    refused("pfc", "rate = \"1Gbps\"\nstalls = [\"100us\"]\n", "'100us' is not a stall");
    refused("pfc", "rate = \"1Gbps\"\nstalls = [\"100us+0us\"]\n", "has a duration of 0");
    refused(
        "pfc",
        "rate = \"1Gbps\"\nstalls = [\"100us+20us\", \"110us+5us\"]\n",
        "before the previous one ends at 120 us",
    );
    refused("pfc", "rate = \"1Gbps\"\nmessage_rate = 0\n", "the message rate is 0");
    refused(
        "pfc",
        "rate = \"1Gbps\"\n[[slow_receiver]]\nhost = \"H2\"\nrate = \"2Gbps\"\n",
        "already",
    );
    refused("pffc", "rate = \"1Gbps\"\n", "pauses single flows");
    let late = load(&star("pfc", "rate = \"1Gbps\"\nstalls = [\"3ms+1us\"]\n", flow))
        .warnings
        .render(false);
    assert!(late.contains("a stall starts at 3 ms >= run.duration 3 ms"), "{late}");
}

/// The summary states what a slow host and a storm held, at the port before them; the times are
/// those of the table of ports.
#[test]
fn the_summary_states_what_a_fault_held() {
    let f = run(&star("pfc", "rate = \"40Gbps\"\n", ENDLESS));
    let s1 = f.outcome.ports.iter().position(|ports| ports.len() == 4).unwrap();
    let port = &f.outcome.ports[s1][2];
    let words = format!(
        "S1->H2 was paused {} times, for {} in total, and blocked frames {} times, for {} in total",
        port.pauses,
        Span(port.paused_ps),
        port.blocks,
        Span(port.blocked_ps)
    );
    let line =
        f.summary.active.iter().find(|w| w.starts_with("slow receiver H2 (40 Gb/s, ")).unwrap();
    assert!(port.pauses > 0 && line.ends_with(&words), "{words}\n{line}");
    let idle = run(&star(
        "pfc",
        "rate = \"100Gbps\"\n",
        "[[flow]]\nsrc = \"H1\"\ndst = \"H2\"\nsize = \"3KB\"\n",
    ));
    let held_nothing = "slow receiver H2 (100 Gb/s, ";
    assert!(
        idle.summary
            .inactive
            .iter()
            .any(|w| w.starts_with(held_nothing) && w.contains("paused nothing")),
        "{:?}",
        idle.summary
    );
    let storm = star("pfc", "rate = \"100Gbps\"\n", ENDLESS).replace(
        "[[slow_receiver]]\nhost = \"H2\"\nrate = \"100Gbps\"",
        "[[pause_storm]]\nhost = \"H2\"\nstart = \"1ms\"\nstop = \"2ms\"",
    );
    let f = run(&storm);
    let line = f
        .summary
        .active
        .iter()
        .find(|w| {
            w.starts_with("pause storm of H2 (priority 0, from 1 ms): S1->H2 was paused once, ")
        })
        .cloned();
    let held = f.outcome.ports[s1][2].blocked_ps;
    assert!(
        (990_000_000..1_001_000_000).contains(&held),
        "a millisecond but for the way of the messages: {held}"
    );
    assert!(
        line.is_some_and(|l| l.ends_with(&format!("{} in total", Span(held)))),
        "{:?}",
        f.summary
    );
}
