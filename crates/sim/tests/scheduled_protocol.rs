//! The request-grant system of Chrysos et al. in motion: delays of section 4 as closed forms, what
//! its premises cost, and the deadlock that whole grants prevent.

use std::ops::ControlFlow;

use xoff_mech::scheduled::request_grant::{Admission, Service};
use xoff_sim::scheduled::{
    Arrival, Blocked, Config, Control, Core, Hold, Pattern, Report, Shape, Sizes, Spray, Stream,
    Traffic, World,
};
use xoff_units::{Bytes, Rate, Span, Time};

fn run(config: Config) -> Report {
    World::new(config)
        .map_err(|p| format!("{p:?}"))
        .unwrap()
        .run(&mut |_, _| ControlFlow::Continue(()))
}

fn traffic(pattern: Pattern, load: f64, size: u64, burst_packets: f64) -> Traffic {
    Traffic { pattern, load, sizes: Sizes::Fixed(Bytes(size)), burst_packets }
}

/// No packet comes after the stop, and those before it are the same.
#[test]
fn a_workload_stops() {
    let mut c = Config::paper(traffic(Pattern::Uniform, 0.5, 40, 1.0));
    (c.warm_up, c.until) = (Time::ZERO, Time(5_000 * c.t_min().0));
    let all = run(c.clone());
    c.traffic_stop = Time(c.until.0 / 2);
    let half = run(c.clone());
    let share = half.packets_in as f64 / all.packets_in as f64;
    assert!((share - 0.5).abs() < 0.02, "{share}");
    assert_eq!(half.packets_in, half.packets_out, "and all of them are through at the end");
    c.traffic_stop = c.until;
    assert_eq!(run(c).packets_in, all.packets_in);
}

/// One packet from the first port to the last, in an empty fabric.
fn one_packet(size: u64) -> Config {
    let mut c = Config::paper(traffic(Pattern::Uniform, 0.0, size, 1.0));
    c.warm_up = Time::ZERO;
    c.until = Time(5_000 * c.t_min().0);
    c
}

/// Delay [ps].
fn delay_of(mut c: Config) -> u64 {
    let size = c.traffic.sizes.max();
    let packets = vec![Arrival { at: Time(1_000), input: 0, output: c.ports() - 1, size }];
    c.traffic.pattern = Pattern::Listed { packets, hot: vec![] };
    let r = run(c);
    assert_eq!((r.packets_in, r.packets_out, r.cold.count()), (1, 1, 1));
    r.cold.mean() as u64
}

/// Links of the longest path.
fn links(c: &Config) -> u64 {
    match c.core {
        Core::Network(shape) => u64::from(shape.stages()) + 1,
        Core::Spine { .. } => 2,
        Core::Ideal { .. } => 1,
    }
}

/// On the wires: every link, and the last bit of a segment of `len` bytes.
fn one_way(c: &Config, len: u64) -> u64 {
    links(c) * c.link_delay.0 + c.fabric.time_for(Bytes(len)).0
}

/// The same for what only asks, grants or acknowledges.
fn control(c: &Config) -> u64 {
    match c.control {
        Control::InBand { alone } | Control::Lane { alone } => one_way(c, alone.0),
        Control::OutOfBand { delay } => delay.0,
    }
}

/// Cores and speeds that differ in all that a delay depends on.
fn fabrics() -> Vec<Config> {
    let base = one_packet(40);
    let cores = [
        Core::Network(Shape::benes(8, 3)),
        Core::Network(Shape::benes(4, 5)),
        Core::Network(Shape::benes(2, 7)),
        Core::Network(Shape::benes(8, 1)),
        Core::Network(Shape { folded: true, ..Shape::benes(4, 3) }),
        Core::Spine { edge_ports: 4, edges: 4, spines: 4 },
        Core::Ideal { ports: 8 },
    ];
    let speeds = [10, 11, 14].map(|tenths| Rate(base.line.0 / 10 * tenths));
    let out_of_band = Control::OutOfBand { delay: Span(77_777) };
    let with = |core: Core, fabric: Rate, control: Control| Config {
        core,
        fabric,
        control,
        ..base.clone()
    };
    let all = cores.into_iter().flat_map(|c| speeds.map(|s| (c, s)));
    let queues: Vec<Config> = all
        .clone()
        .flat_map(|(core, s)| [with(core, s, base.control), with(core, s, out_of_band)])
        .collect();
    let lane = Control::Lane { alone: Bytes(20) };
    let lanes: Vec<Config> = all.map(|(core, s)| with(core, s, lane)).collect();
    let mut crosspoints: Vec<Config> =
        queues.iter().filter(|c| matches!(c.core, Core::Network(_))).cloned().collect();
    crosspoints.iter_mut().for_each(|c| c.element.crosspoint = Some(Bytes(61_440)));
    [queues, crosspoints, lanes].concat()
}

/// Section 4, to the picosecond: links, the transfer at L_F, the adapter; a scheduling round trip
/// more if it must ask.
#[test]
fn a_small_packet_takes_its_links_its_transfer_and_the_adapter() {
    for base in fabrics() {
        for size in [1, 39, 40, 41, 255, 256] {
            let sizes = Sizes::Fixed(Bytes(size));
            let c = Config { traffic: Traffic { sizes, ..base.traffic.clone() }, ..base.clone() };
            let unasked = one_way(&c, size.max(40)) + c.adapter_delay.0;
            assert_eq!(delay_of(c.clone()), unasked, "{size} B, {:?}", c.core);
            let asked = Config { unsolicited: false, ..c.clone() };
            assert_eq!(
                delay_of(asked),
                unasked + 2 * control(&c),
                "{size} B asked for, {:?}",
                c.core
            );
        }
    }
}

/// The receiver of a port takes nothing until a time U, and the port has a packet for another one.
/// In band the grant waits in front of it until U; in a lane it arrives as if nothing were blocked.
#[test]
fn control_in_a_lane_passes_a_blocked_output() {
    let base = Config { unsolicited: false, ..one_packet(256) };
    let (port, at, until) = (9, 1_000, 700_000);
    let size = Bytes(256);
    let packets = vec![Arrival { at: Time(at), input: port, output: 40, size }];
    let blocked = Blocked { outputs: vec![port], from: Time::ZERO, until: Time(until) };
    let delay = |control| {
        let mut c = Config { control, blocked: Some(blocked.clone()), ..base.clone() };
        c.traffic.pattern = Pattern::Listed { packets: packets.clone(), hot: vec![] };
        let r = run(c);
        assert_eq!((r.packets_out, r.cold.count()), (1, 1));
        r.cold.mean() as u64
    };
    let data = one_way(&base, 256) + base.adapter_delay.0;
    let alone = Bytes(20);
    assert_eq!(delay(Control::Lane { alone }), 2 * one_way(&base, 20) + data);
    let grant = until - at + base.fabric.time_for(alone).0 + base.link_delay.0;
    assert_eq!(delay(Control::InBand { alone }), grant + data);
}

/// Section 2.1: an adapter passes control from one of its sides to the other without the fabric. A
/// packet from a port to itself is asked for in no time, and no control is sent.
#[test]
fn control_within_an_adapter_takes_no_time() {
    for mut c in fabrics() {
        let size = c.traffic.sizes.max();
        let packets = vec![Arrival { at: Time(1_000), input: 3, output: 3, size }];
        c.traffic.pattern = Pattern::Listed { packets, hot: vec![] };
        let unasked = run(c.clone()).cold.mean();
        c.unsolicited = false;
        for within in [false, true] {
            let r = run(Config { control_within_adapter: within, ..c.clone() });
            assert_eq!(r.cold.mean() == unasked, within, "{:?}", c.core);
            assert_eq!(r.control == 0, within, "{:?}", c.core);
        }
    }
}

/// The first segment goes unasked and carries the request, the others follow back to back when the
/// grant comes.
#[test]
fn a_large_packet_waits_for_one_grant() {
    for base in fabrics() {
        for (size, whole, rest) in [(257, 0, 1), (512, 1, 0), (1_500, 4, 220), (9_000, 34, 40)] {
            let sizes = Sizes::Fixed(Bytes(size));
            let c = Config { traffic: Traffic { sizes, ..base.traffic.clone() }, ..base.clone() };
            if let Core::Spine { .. } = c.core {
                continue; // several uplinks send at once
            }
            let wire = |len: u64| c.fabric.time_for(Bytes(len)).0;
            // Out of band the request leaves with the first segment and overtakes it.
            let request = match c.control {
                Control::InBand { .. } => one_way(&c, 256),
                // In a lane it follows the first segment.
                Control::Lane { alone } => wire(256) + one_way(&c, alone.0),
                Control::OutOfBand { delay } => delay.0,
            };
            let granted = request + control(&c);
            // A grant that comes while the first segment is still on the wire waits for it.
            let begin = granted.max(wire(256));
            let tail = whole * wire(256) + if rest > 0 { wire(rest.max(40)) } else { 0 };
            let expected = begin + links(&c) * c.link_delay.0 + tail + c.adapter_delay.0;
            assert_eq!(delay_of(c.clone()), expected, "{size} B, {:?}, {:?}", c.core, c.control);
        }
    }
}

/// The figures of section 4 [t_min]: a round trip of 55; 28.5 and the transfer, 83.5 and the
/// transfer; 308 for 9000 B, which are 3/2 round trips and 225, and a transfer of half a t_min less
/// for the request on the first segment.
#[test]
fn the_papers_delays() {
    let t = one_packet(40).t_min().0 as f64;
    let of = |size, unsolicited, tenths: u64| {
        let c = one_packet(size);
        delay_of(Config { unsolicited, fabric: Rate(c.line.0 / 10 * tenths), ..c }) as f64 / t
    };
    assert_eq!(one_packet(40).round_trip().0 as f64 / t, 55.0);
    assert_eq!(
        [of(40, true, 10), of(256, true, 10), of(40, false, 10), of(9_000, true, 10)],
        [29.5, 34.9, 84.5, 308.0]
    );
    assert!((of(9_000, true, 11) - 287.5).abs() < 0.1);
}

/// Eight inputs with 5 segments each for one output of a switch, which grants one segment in a
/// segment time T, from a control delay d after the packets came: what waits at any time, and for
/// what, is a count of grants.
#[test]
fn what_waits_is_a_count_of_grants() {
    let mut c = Config::unbiased_qcn_ideal(
        9,
        Rate::from_gbps(100),
        xoff_sim::scheduled::Hosts::unbiased_qcn(Vec::new(), None),
    );
    (c.hosts, c.grant_rate) = (None, c.line);
    let (t0, size) = (1_000_000, c.segment_max);
    let packets = (0..40).map(|n| Arrival { at: Time(t0), input: n % 8, output: 8, size });
    c.traffic.pattern = Pattern::Listed { packets: packets.collect(), hot: vec![] };
    let Control::OutOfBand { delay } = c.control else { unreachable!() };
    let (d, t) = (delay.0, c.line.time_for(size).0);
    for at in
        [t0, t0 + d, t0 + 2 * d, t0 + 2 * d + 10 * t - 1, t0 + 2 * d + 10 * t, t0 + d + 39 * t]
    {
        let mut world = World::new(c.clone()).unwrap();
        world.advance(Time(at), &mut |_, _| ControlFlow::Continue(()));
        let waits = world.waits();
        let by = |from: u64| at.checked_sub(from).map_or(0, |past| past / t + 1);
        let (granted, sent) = (by(t0 + d), by(t0 + 2 * d));
        let o = &waits.outputs[0];
        assert_eq!((o.output, o.backlog.bytes), (8, (40 - sent) * size.0), "{at}");
        let asked = if at < t0 + d { 0 } else { 40 - granted };
        assert_eq!(o.requested, asked, "{at}");
        let hold =
            if asked == 0 { Hold::NoRequest } else { Hold::Idle(Time(t0 + d + granted * t)) };
        assert_eq!(o.hold, hold, "{at}");
        assert_eq!(o.inputs.iter().map(|i| i.1).sum::<u64>(), o.backlog.bytes);
        assert_eq!(waits.inputs.iter().map(|i| i.held).sum::<u64>(), o.backlog.bytes);
    }
}

/// Lemma 1's round trips: what is between an adapter and the fabric comes on top.
#[test]
fn a_port_may_be_further_away() {
    let c = one_packet(40);
    let near = delay_of(c.clone());
    assert_eq!(delay_of(Config { port_delays: vec![Span(123_456)], ..c.clone() }), near + 123_456);
    assert_eq!(
        delay_of(Config { port_delays: vec![Span::ZERO, Span(123_456)], ..c }),
        near,
        "another port"
    );
}

fn t_min_times(c: &Config, n: u64) -> Time {
    Time(n * c.t_min().0)
}

/// A crossbar of twice the speed must have it for segments that are still coming in, too:
/// one-to-one traffic of large packets at full load, where eight flows go round their paths in
/// step.
#[test]
fn an_output_of_the_crossbar_gets_its_whole_speed() {
    let carried = |holds| {
        let mut c =
            Config::paper(traffic(Pattern::Unbalanced { w: 1.0, shift: 0 }, 1.0, 9_000, 1.0));
        c.fabric = Rate(c.line.0 / 10 * 11);
        c.element.holds = holds;
        (c.warm_up, c.until) = (t_min_times(&c, 20_000), t_min_times(&c, 60_000));
        let line = c.line;
        run(c).throughput(0..64, line)
    };
    assert!(carried(false) > 0.99);
    assert!(carried(true) < 0.8);
}

/// Inputs 0 to 11 send packets of several sizes to one output, whose buffer holds little more than
/// the largest.
fn small_buffer(whole_requests: bool, seed: u64) -> Config {
    let sizes = Sizes::Bimodal { small: Bytes(3_000), large: Bytes(9_000), small_share: 0.5 };
    let pattern = Pattern::Incast { inputs: (0..32).collect(), output: 63 };
    let mut c = Config::paper(Traffic { pattern, load: 0.5, sizes, burst_packets: 1.0 });
    (c.output_slots, c.whole_requests, c.fair, c.unsolicited, c.seed) =
        (48, whole_requests, false, false, seed);
    c.until = t_min_times(&c, 100_000);
    c
}

/// Section 3.4: parts of packets fill the buffer, none of them can be completed, nothing moves any
/// more. Whole grants prevent it.
#[test]
fn grants_in_parts_deadlock_and_whole_grants_do_not() {
    for seed in 1..=3 {
        let r = run(small_buffer(false, seed));
        let stuck = r.stuck.expect("a deadlock");
        let held: u32 = stuck.partial.iter().map(|p| p.granted).sum();
        assert_eq!(
            (stuck.output, held + stuck.free),
            (63, 48),
            "all slots are accounted for: {stuck}"
        );
        assert!(stuck.partial.iter().all(|p| p.missing > 0), "packets lack bytes: {stuck}");
        assert!(r.windows.last().unwrap().hot_bytes == 0 && r.balance.holds());
        let r = run(small_buffer(true, seed));
        assert!(r.stuck.is_none() && r.windows.last().unwrap().hot_bytes > 0, "{:?}", r.stuck);
    }
}

/// Section 3.3: one input always has packets and asks for up to G at a time, 23 ask for one,
/// together for all that the output carries; slots come free one by one.
#[test]
fn the_rule_of_g_free_slots_gives_equal_bytes() {
    let large_over_small = |fair| {
        let stream = |input, load| Stream { input, output: 63, load, size: Bytes(256) };
        let streams =
            std::iter::once(stream(0, 1.0)).chain((1..24).map(|i| stream(i, 0.0434))).collect();
        let mut c = Config::paper(traffic(Pattern::Streams(streams), 0.0, 256, 1.0));
        c.fabric = Rate(c.line.0 / 10 * 11);
        (c.output_slots, c.unsolicited, c.fair) = (64, false, fair);
        // Long enough that a grant of 50 more or less is no more than 1 %.
        c.until = t_min_times(&c, 600_000);
        let r = run(c);
        23.0 * r.delivered_by_input[0] as f64
            / r.delivered_by_input[1..24].iter().sum::<u64>() as f64
    };
    let (with, without) = (large_over_small(true), large_over_small(false));
    assert!((0.95..1.05).contains(&with) && without < 0.5, "{with} {without}");
}

/// Section 2.4: a fabric-output buffer never holds more than what was reserved in it, if nothing
/// else may enter; section 3.3: nor does a reassembly buffer. Also while hosts take nothing.
#[test]
fn reserved_buffers_hold_no_more_than_was_reserved() {
    let hot: Vec<u32> = (56..64).collect();
    for size in [40, 1_500, 9_000] {
        let mut c = Config::paper(traffic(
            Pattern::Hotspots { outputs: hot.clone(), factor: 2.5 },
            0.78,
            size,
            4.0,
        ));
        c.control = Control::OutOfBand { delay: Span(88_000) };
        (c.unsolicited, c.output_slots) = (false, 64);
        c.admission = Admission::ReserveFabricBuffers { slots: 60 };
        c.blocked = Some(Blocked {
            outputs: hot.clone(),
            from: t_min_times(&c, 5_000),
            until: t_min_times(&c, 12_000),
        });
        (c.warm_up, c.until) = (Time::ZERO, t_min_times(&c, 20_000));
        let r = run(c);
        assert!(
            r.queue_max[2] <= 60 * 256 && r.queue_max[2] > 20 * 40,
            "{size} B: {:?}",
            r.queue_max
        );
        assert!(r.reassembly_max <= 64 * 256, "{size} B: {}", r.reassembly_max);
        assert!(r.balance.holds() && r.stuck.is_none());
    }
}

/// Theorem 1, premise (v): one path per flow overloads some links of a permutation, paths in round
/// robin order do not.
#[test]
fn flows_must_be_spread() {
    let carried = |spray| {
        let mut c = Config::paper(traffic(Pattern::Unbalanced { w: 1.0, shift: 0 }, 0.9, 256, 1.0));
        (c.spray, c.service) = (spray, Service::RoundRobin);
        (c.warm_up, c.until) = (t_min_times(&c, 5_000), t_min_times(&c, 20_000));
        let line = c.line;
        run(c).throughput(0..64, line)
    };
    let [in_turn, at_random, permuted, one_path] =
        [Spray::RoundRobin, Spray::Random, Spray::Permuted, Spray::PerFlow].map(carried);
    assert!(
        in_turn > 0.89 && at_random > 0.85 && permuted > 0.89 && one_path < 0.75,
        "{in_turn} {at_random} {permuted} {one_path}"
    );
}

/// One stream over one link of its own rate: a segment of 256 B with a header of h bytes leaves
/// 256 / (256 + h) of the link to the payload.
#[test]
fn a_header_takes_its_share_of_a_link() {
    for header in [0, 10, 64] {
        let stream = Stream { input: 0, output: 63, load: 1.0, size: Bytes(256) };
        let mut c = Config::paper(traffic(Pattern::Streams(vec![stream]), 0.0, 256, 1.0));
        c.header = Bytes(header);
        c.control = Control::OutOfBand { delay: Span::from_ns(50) };
        (c.warm_up, c.until) = (t_min_times(&c, 5_000), t_min_times(&c, 20_000));
        let line = c.line;
        let (carried, left) = (run(c).throughput(63..64, line), 256.0 / (256.0 + header as f64));
        assert!((carried - left).abs() < 0.002, "{header} B: {carried}, not {left}");
    }
}

/// The heavy share of an input goes to the output of its number: then its grants and ACKs ride with
/// its own data. With another pair some of them travel alone.
#[test]
fn control_of_a_pair_of_ports_rides_only_with_its_own_data() {
    let control = |shift| {
        let mut c = Config::paper(traffic(Pattern::Unbalanced { w: 0.9, shift }, 0.8, 40, 1.0));
        c.fabric = Rate(c.line.0 / 10 * 11);
        (c.warm_up, c.until) = (Time::ZERO, t_min_times(&c, 10_000));
        let r = run(c);
        assert!(r.balance.holds() && r.stuck.is_none());
        r.control_bytes as f64 / (r.control_bytes + r.segment_bytes) as f64
    };
    let (same, next) = (control(0), control(1));
    assert!(next > 1.5 * same, "{same} {next}");
}

/// Elements whose crossbar has no speed to spare: a first-in-first-out queue at each input loses a
/// third of uniform bursty traffic (as the 2 - sqrt 2 = 0.586 of large switches at full load), a
/// buffer at each crosspoint next to nothing.
#[test]
fn no_segment_holds_another_one_up_at_a_crosspoint() {
    let carried = |crosspoint| {
        let mut c = Config::paper(traffic(Pattern::Uniform, 0.95, 40, 36.0));
        c.fabric = Rate(c.line.0 / 10 * 11);
        (c.element.speedup, c.element.crosspoint) = (1, crosspoint);
        (c.warm_up, c.until) = (t_min_times(&c, 5_000), t_min_times(&c, 15_000));
        let line = c.line;
        let r = run(c);
        assert!(r.balance.holds() && r.stuck.is_none());
        r.throughput(0..64, line)
    };
    let (queue, crosspoints) = (carried(None), carried(Some(Bytes(8 << 10))));
    assert!(queue < 0.75 && crosspoints > 0.92, "{queue} {crosspoints}");
}

#[test]
fn a_buffered_crossbar_wants_room_and_paths_that_are_known_before() {
    let mut c = Config::paper(traffic(Pattern::Uniform, 0.5, 40, 1.0));
    c.element.crosspoint = Some(Bytes(8 << 10));
    assert_eq!(c.problems(), []);
    let keys = |c: &Config| c.problems().iter().map(|p| p.key).collect::<Vec<_>>();
    assert_eq!(keys(&Config { spray: Spray::Random, ..c.clone() }), ["crosspoint"]);
    c.element.crosspoint = Some(Bytes(255));
    assert_eq!(
        keys(&c),
        ["crosspoint", "fabric_slots"],
        "nor does it hold what is reserved: 8 times 255 B"
    );
}
