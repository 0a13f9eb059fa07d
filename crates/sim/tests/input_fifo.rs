//! Input queues that send one frame at a time: exact times, and the saturation throughput of Karol,
//! Hluchyj and Morgan (1987).

use xoff_mech::flow_control::FlowControl;
use xoff_net::topology::{NodeKind, Topology};
use xoff_net::workload::{Flow, Flows, random};
use xoff_node::DisciplineKind;
use xoff_sim::{Model, World};
use xoff_units::{Bytes, NodeId, Rate, Span, Time};

const C: Rate = Rate::from_gbps(10);

fn flow(src: NodeId, dst: NodeId, size: u64) -> Flow {
    let start = Time::ZERO;
    Flow {
        src,
        dst,
        priority: 0,
        size,
        start,
        rate: None,
        controlled: true,
        src_port: 1,
        dst_port: 1,
        path: None,
        label: 0,
    }
}

/// `inputs` hosts that send and `outputs` hosts that receive, at one switch; hosts are numbered
/// after it, the senders first.
fn star(inputs: u32, outputs: u32, out_rate: Rate) -> Topology {
    let mut t = Topology::default();
    let s = t.add_node("S", NodeKind::Switch, 1, 0);
    for i in 0..inputs + outputs {
        let h = t.add_node(format!("H{i}"), NodeKind::Host, 0, i);
        t.add_link(h, s, if i < inputs { C } else { out_rate }, Span::from_us(1));
    }
    t
}

fn world(t: &Topology, flows: Vec<Flow>, payload_max: u32, discipline: DisciplineKind) -> World {
    let mut m = Model::plain(Bytes::from_kb(100_000), |_| Ok(FlowControl::None));
    m.discipline = discipline;
    m.nic.payload_max = payload_max;
    World::build(t, Flows { flows: flows.into(), labels: vec!["x".into()], ..Flows::default() }, &m)
        .unwrap()
}

/// Two frames of one input for two idle outputs: 9000 B are in the switch at 8.2 us, 64 B right
/// behind them. The second leaves when the first has been read at the rate of the input, 7.2 us
/// later, also where outputs are faster. With a queue per output it does not wait.
#[test]
fn an_input_reads_one_frame_at_a_time() {
    let arrivals = |out_rate, discipline| {
        let t = star(1, 2, out_rate);
        let mut w = world(
            &t,
            vec![flow(NodeId(1), NodeId(2), 9000), flow(NodeId(1), NodeId(3), 64)],
            9000,
            discipline,
        );
        w.run(Time::from_us(100), u64::MAX).unwrap();
        w.flows_now().iter().map(|f| f.received.unwrap().0).collect::<Vec<_>>()
    };
    let in_switch = 7_200_000 + 1_000_000;
    let read = in_switch + 7_200_000;
    assert_eq!(
        arrivals(C, DisciplineKind::InputFifo { arbitration: Span::ZERO }),
        [read + 1_000_000, read + 51_200 + 1_000_000],
        "9.3024 us before"
    );
    let arbitration = Span::from_ns(7);
    assert_eq!(
        arrivals(C, DisciplineKind::InputFifo { arbitration }),
        [read + 1_000_000, read + 7_000 + 51_200 + 1_000_000],
        "the second frame of an input waits for its turn"
    );
    let fast = Rate::from_gbps(40);
    assert_eq!(
        arrivals(fast, DisciplineKind::InputFifo { arbitration: Span::ZERO }),
        [in_switch + 1_800_000 + 1_000_000, read + 12_800 + 1_000_000]
    );
    assert_eq!(
        arrivals(C, DisciplineKind::Fifo),
        [read + 1_000_000, in_switch + 51_200 + 51_200 + 1_000_000]
    );
}

const FRAME: u64 = 1500;
/// Slots before counting begins, and slots counted.
const WARM: u64 = 300;
const COUNTED: u64 = 2700;

/// The part of the outputs' capacity that leaves a switch of n inputs with always something to
/// send, each frame for an output drawn at random.
fn saturation(n: u32, seed: u64, discipline: DisciplineKind) -> f64 {
    let t = star(n, n, C);
    let slots = WARM + COUNTED;
    let mut draws = random::stream(seed, 0, 9_999);
    let flows = (0..slots)
        .flat_map(|_| 0..n)
        .map(|i| {
            flow(NodeId(1 + i), NodeId(1 + n + random::below(&mut draws, n as u64) as u32), FRAME)
        })
        .collect();
    let mut w = world(&t, flows, FRAME as u32, discipline);
    let mut delivered = |at| {
        w.run(Time::ZERO + C.time_for(Bytes(FRAME * at)), u64::MAX).unwrap();
        w.flows_now().iter().filter(|f| f.received.is_some()).count() as f64
    };
    let before = delivered(WARM);
    (delivered(slots) - before) / (n as u64 * COUNTED) as f64
}

/// Table I of the paper (N = 8) and the same chain simulated (N = 16); forever more inputs 2 - sqrt
/// 2 = 0.586.
#[test]
fn the_saturation_throughput_is_that_of_head_of_line_blocking() {
    for (n, expected) in [(8, 0.6184), (16, 0.6013)] {
        let runs: Vec<f64> = (1..=6)
            .map(|seed| saturation(n, seed, DisciplineKind::InputFifo { arbitration: Span::ZERO }))
            .collect();
        let mean = runs.iter().sum::<f64>() / runs.len() as f64;
        let error = (runs.iter().map(|r| (r - mean).powi(2)).sum::<f64>()
            / (runs.len() * (runs.len() - 1)) as f64)
            .sqrt();
        // Four standard errors of the mean; and they are small enough to distinguish 8 from 16
        // inputs.
        assert!(
            (mean - expected).abs() < 4.0 * error && error < 0.002,
            "{n}: {mean} +- {error}, expected {expected}: {runs:?}"
        );
    }
    // The same load in queues by output leaves no output idle for want of a frame.
    assert!(saturation(8, 1, DisciplineKind::Fifo) > 0.95);
}
