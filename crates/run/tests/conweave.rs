//! ConWeave in networks: exact times of a rerouted flow, memory of held frames, equal results.

use std::path::Path;

use xoff_record::Sink;
use xoff_run::{Finished, NetworkScenario};
use xoff_sim::Engine;
use xoff_units::{Span, Time};

fn load(text: &str) -> NetworkScenario {
    NetworkScenario::from_text("conweave.toml", text, &[], Path::new(""))
        .unwrap_or_else(|e| panic!("{}\n{text}", e.render(false)))
}

/// Two leaves and two spines, links of 100 Gb/s and 1 us; those of S1 are 5 us long. H1 is at L1,
/// H2 and H3 are at L2.
fn slow_spine(seed: u64, h1: &str, rest: &str) -> String {
    format!(
        "[run]\nseed = {seed}\nduration = \"1ms\"\n[topology]\nkind = \"custom\"\nrate = \"100Gbps\"\ndelay = \"1us\"\nnode = [\n\
         {{ name = \"H1\", kind = \"host\" }}, {{ name = \"H2\", kind = \"host\" }}, {{ name = \"H3\", kind = \"host\" }},\n\
         {{ name = \"L1\", kind = \"switch\" }}, {{ name = \"L2\", kind = \"switch\" }},\n\
         {{ name = \"S1\", kind = \"switch\" }}, {{ name = \"S2\", kind = \"switch\" }}]\nlink = [\n\
         {{ a = \"H1\", b = \"L1\", rate = \"{h1}\" }}, {{ a = \"H2\", b = \"L2\" }}, {{ a = \"H3\", b = \"L2\" }},\n\
         {{ a = \"L1\", b = \"S1\", delay = \"5us\" }}, {{ a = \"S1\", b = \"L2\", delay = \"5us\" }},\n\
         {{ a = \"L1\", b = \"S2\" }}, {{ a = \"S2\", b = \"L2\" }}]\n[switch]\nbuffer = \"1MB\"\n[flow_control]\nkind = \"pfc\"\n\
         [load_balancing]\nkind = \"conweave\"\n{rest}"
    )
}

/// Traffic of the port of a switch that leads to a node: of the first one to the second one.
fn port<'f>(
    s: &NetworkScenario,
    f: &'f Finished,
    from: &str,
    to: &str,
) -> &'f xoff_sim::PortTotals {
    let at = s.topology.find(from).unwrap().index();
    let peer = s.topology.find(to).unwrap();
    let nth = s.topology.nodes[at].ports.iter().position(|p| p.peer == peer).unwrap();
    &f.outcome.ports[at][nth]
}

const TX: Span = Span::from_ns(120);

/// A flow of 100 frames that starts over the slow spine. Frame k arrives at its leaf at
/// (k + 1) tx + 1 us, and the reply to the first one is late. Frame 67 is the first to come more
/// than 8 us after it: TAIL. Frames 68 to 99 take the fast spine, are at the other leaf before
/// TAIL, and follow it: the flow ends when TAIL has come, and 33 frames after it.
#[test]
fn a_rerouted_flow_arrives_in_order_at_the_time_of_its_tail() {
    let mut seen = 0;
    for seed in 0..24 {
        let text =
            slow_spine(seed, "100Gbps", "[[flow]]\nsrc = \"H1\"\ndst = \"H2\"\nsize = \"150KB\"\n");
        let s = load(&text);
        let f = s.run(Sink::Nothing).unwrap();
        let flow = &f.outcome.flows[0];
        assert_eq!((flow.delivered, flow.ahead.frames), (150_000, 0), "seed {seed}");
        let up = ["S1", "S2"].map(|spine| port(&s, &f, "L1", spine).tx_bytes / 1500);
        if up != [68, 32] {
            continue;
        }
        seen += 1;
        let tail = Span(68 * TX.0) + Span::from_us(1) + Span(2 * TX.0) + Span::from_us(10);
        let end = Time::ZERO + tail + Span(33 * TX.0) + Span::from_us(1);
        assert_eq!(flow.received, Some(end));
        assert_eq!(port(&s, &f, "L2", "S2").ingress_bytes_max, 32 * 1500, "held, and counted");
        assert_eq!(port(&s, &f, "L2", "H2").egress_bytes_max, 32 * 1500, "released at once");
    }
    assert!(seen > 1, "{seen}");
}

/// The same at half the rate, while a local flow goes to the same host: its frames wait for no more
/// than the frame on the wire.
#[test]
fn held_frames_delay_no_others() {
    let mut seen = 0;
    for seed in 0..24 {
        let rest = "[[flow]]\nsrc = \"H1\"\ndst = \"H2\"\nsize = \"150KB\"\n\
                    [[flow]]\nsrc = \"H3\"\ndst = \"H2\"\nsize = \"1500B\"\nstart = \"18us\"\n";
        let s = load(&slow_spine(seed, "50Gbps", rest));
        let f = s.run(Sink::Nothing).unwrap();
        let up = ["S1", "S2"].map(|spine| port(&s, &f, "L1", spine).tx_bytes / 1500);
        if up[0] == 0 || up[1] == 0 || port(&s, &f, "L2", "S2").ingress_bytes_max < 20_000 {
            continue;
        }
        seen += 1;
        let time = f.outcome.flows[1].fct().unwrap();
        let alone = Span(2 * TX.0) + Span::from_us(2);
        assert!(time >= alone && time <= alone + TX, "{time}");
        assert!(f.outcome.flows.iter().all(|f| f.ahead.frames == 0));
    }
    assert!(seen > 1, "{seen}");
}

/// A poisson load over four spines, one of half the rate, with marks and replies.
fn busy(rest: &str) -> String {
    let file =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/mechanisms/conweave.toml");
    std::fs::read_to_string(file).unwrap().replace("[host]\n", &format!("{rest}[host]\n"))
}

/// Frames are held and rerouted, and reach their hosts in order.
#[test]
fn hosts_see_no_frame_out_of_order_if_the_timers_suffice() {
    let text = busy("").replace("reply = \"6us\"", "reply = \"6us\"\nextra = \"200us\"");
    let f = load(&text).run(Sink::Nothing).unwrap();
    let paths = f.manifest.load_balance.as_ref().unwrap().paths_mean;
    assert!(paths.is_some_and(|n| n > 1.2), "{paths:?}");
    assert!(f.outcome.flows.iter().all(|f| f.received.is_some() && f.ahead.frames == 0));
    // The same flows sprayed: the order is not that of the network.
    let sprayed = text.replace("\"conweave\"\nreply = \"6us\"\nextra = \"200us\"", "\"drill\"");
    let f = load(&sprayed).run(Sink::Nothing).unwrap();
    assert!(f.outcome.flows.iter().any(|f| f.ahead.frames > 0));
}

/// Equal for both engines and any number of threads, also while a link fails and frames are lost.
#[test]
fn results_are_equal_on_both_engines_and_any_number_of_threads() {
    let fails = "[[failure]]\nlink = \"L1-S2\"\nat = \"60us\"\n[[failure]]\nlink = \"S1-L2\"\nat = \"90us\"\n";
    let again = "recovery = \"selective\"\nrto = \"100us\"\n";
    for (rest, transport, law) in [
        ("", "", "extra = \"1us\"\nwait = \"5us\"\n"),
        (fails, again, ""),
        (fails, again, "queues = 2\nbusy = \"100us\"\ninactive = \"5us\"\n"),
    ] {
        let text = busy(rest)
            .replace("[host]\n", &format!("[host]\n{transport}"))
            .replace("reply = \"6us\"\n", &format!("reply = \"6us\"\n{law}"));
        let hash = |engine, threads| {
            let mut s = load(&text);
            s.engine = engine;
            let f = s.start(Sink::Nothing, Some(threads)).unwrap().run(|_| true).unwrap();
            assert_eq!(f.outcome.violations, [], "{text}");
            assert!(f.outcome.flows.iter().all(|f| f.received.is_some()), "{text}");
            f.manifest.result_hash.clone()
        };
        let one = hash(Engine::Events, 1);
        for threads in [1, 2, 3, 4] {
            assert_eq!(hash(Engine::Windows, threads), one, "{threads} threads, {text}");
        }
    }
}
