//! Hosts, PAUSE and QCN at the inputs and at the outputs of the rack fabric (RZ 3880).

use std::ops::ControlFlow;

use xoff_mech::detection::culprit::Sampling;
use xoff_mech::detection::qcn::{Params, Placement};
use xoff_mech::rate_control::qcn as reaction;
use xoff_net::workload::random;
use xoff_sim::scheduled::{
    Config, CongestionPoints, HostFlow, HostReport, HostWindow, Hosts, Problem, Report, World,
};
use xoff_units::{Bytes, Rate, Span, Time};

fn run(config: Config) -> (Report, HostReport) {
    on_threads(config, 1)
}

fn on_threads(config: Config, threads: usize) -> (Report, HostReport) {
    finished(World::on_threads(config, threads).map_err(|p| format!("{p:?}")).unwrap())
}

/// Saved after a twentieth, and continued in another world.
fn continued(config: Config, threads: usize) -> (Report, HostReport) {
    let build = || World::on_threads(config.clone(), threads).map_err(|p| format!("{p:?}"));
    let (mut first, mut second) = (build().unwrap(), build().unwrap());
    first.advance(Time(config.until.0 / 20), &mut |_, _| ControlFlow::Continue(()));
    second.restore(&first.save().unwrap()).unwrap();
    finished(second)
}

fn finished(world: World) -> (Report, HostReport) {
    let mut report = world.run(&mut |_, _| ControlFlow::Continue(()));
    let hosts = report.hosts.take().unwrap();
    (report, hosts)
}

fn ms(n: u64) -> Time {
    Time(Span::from_ms(n).0)
}

fn flow(source: u32, destination: u32, gbps: u64, from: u64, until: u64) -> HostFlow {
    HostFlow {
        source,
        destinations: vec![destination],
        rate: Rate::from_gbps(gbps),
        start: ms(from),
        stop: ms(until),
    }
}

fn points(placement: Placement, sampling: Sampling) -> CongestionPoints {
    CongestionPoints::Qcn(Params::unbiased_qcn(placement, sampling))
}

/// Mean rate of a flow over windows of 1 ms [Gb/s].
fn rate(h: &HostReport, f: usize, from: usize, to: usize) -> f64 {
    h.windows[from..to].iter().map(|w| w.arrived[f]).sum::<u64>() as f64 * 8.0
        / (to - from) as f64
        / 1e6
}

/// Unbiased QCN Fig. 2 and, with a victim (the last flow), Fig. 5: four flows to output 15, a fifth
/// from 100 to 200 ms.
fn fan_in(points: Option<CongestionPoints>, victim: bool, seed: u64) -> HostReport {
    let mut flows: Vec<HostFlow> = (0..4).map(|s| flow(s, 15, 10, 0, 300)).collect();
    flows.push(flow(4, 15, 10, 100, 200));
    if victim {
        flows[0].rate = Rate::from_gbps(3);
        flows.push(flow(0, 14, 7, 0, 300));
    }
    let qcn = points.map(|p| (p, reaction::Params::unbiased_qcn_10g()));
    let mut c =
        Config::unbiased_qcn_ideal(16, Rate::from_gbps(10), Hosts::unbiased_qcn(flows, qcn));
    c.seed = seed;
    let (_, h) = run(c);
    assert!(h.overflows == 0 && h.input_max <= 150_000, "{}", h.input_max);
    h
}

/// Shares of the first five flows once each phase has settled.
fn phases(h: &HostReport) -> [Vec<f64>; 3] {
    [(50, 100), (140, 200), (250, 300)]
        .map(|(from, to)| (0..5).map(|f| rate(h, f, from, to)).filter(|r| *r > 0.0).collect())
}

/// Fig. 2(c): 2.5, 2 and 2.5 Gb/s each, within 1 %.
#[test]
fn congestion_points_at_inputs_give_fair_shares() {
    for seed in 1..=3 {
        let phases =
            phases(&fan_in(Some(points(Placement::Input, Sampling::Arrival)), false, seed));
        for (shares, fair) in phases.iter().zip([2.5, 2.0, 2.5]) {
            assert!(
                shares.len() as f64 * fair == 10.0
                    && shares.iter().all(|r| (r / fair - 1.0).abs() < 0.01),
                "{seed}: {phases:?}"
            );
        }
    }
}

/// Fig. 2(b): the output is as busy, and its flows are not alike.
#[test]
fn congestion_points_at_outputs_do_not() {
    let mut unfair = 0;
    for seed in 1..=4 {
        for shares in
            phases(&fan_in(Some(points(Placement::Output, Sampling::Arrival)), false, seed))
        {
            assert!((shares.iter().sum::<f64>() - 10.0).abs() < 0.2, "{seed}: {shares:?}");
            let (low, high) =
                shares.iter().fold((f64::MAX, 0.0f64), |(l, h), r| (l.min(*r), h.max(*r)));
            unfair += u32::from(high / low >= 1.3);
        }
    }
    assert!(unfair >= 10, "{unfair} of 12");
}

/// Fig. 5(b) to (d): PAUSE keeps the ratio of 7 to 3, occupancy sampling leaves the victim alone.
#[test]
fn occupancy_sampling_spares_the_victim() {
    let h = fan_in(None, true, 1);
    for (from, to, fair) in [(50, 100, 2.5), (140, 200, 2.0), (250, 300, 2.5)] {
        assert!(
            (rate(&h, 5, from, to) / (fair * 7.0 / 3.0) - 1.0).abs() < 0.02,
            "{}",
            rate(&h, 5, from, to)
        );
    }
    for (sampling, most) in [(Sampling::Largest, 0.0), (Sampling::Random, 0.05)] {
        let h = fan_in(Some(points(Placement::Input, sampling)), true, 1);
        assert!(
            (rate(&h, 5, 10, 300) / 7.0 - 1.0).abs() < 0.01,
            "{sampling:?}: {}",
            rate(&h, 5, 10, 300)
        );
        assert!(h.cnms[5] as f64 <= most * h.cnms[0] as f64, "{sampling:?}: {:?}", h.cnms);
    }
}

/// Unbiased QCN section IV: one flow, whose output falls to 1 Gb/s at 10 ms; windows of 0.1 ms.
fn drop_to_1g(placement: Placement, keep_alive: bool, reliable: bool) -> HostReport {
    let p = Params {
        keep_alive,
        ..Params::unbiased_qcn(
            placement,
            if keep_alive { Sampling::Random } else { Sampling::Arrival },
        )
    };
    let qcn = Some((CongestionPoints::Qcn(p), reaction::Params::unbiased_qcn_10g()));
    let line_changes = vec![(ms(10), 1, Rate::from_gbps(1))];
    let h =
        Hosts { line_changes, reliable, ..Hosts::unbiased_qcn(vec![flow(0, 1, 10, 0, 200)], qcn) };
    let mut c = Config::unbiased_qcn_ideal(4, Rate::from_gbps(10), h);
    (c.window, c.until) = (Span::from_us(100), ms(200));
    run(c).1
}

/// Windows until the limiter is at 1.2 Gb/s.
fn settled(h: &HostReport) -> usize {
    h.windows
        .iter()
        .position(|w| w.limit[0].is_some_and(|r| r < Rate(1_200_000_000)))
        .unwrap_or(usize::MAX)
}

#[test]
fn keep_alive_sends_cnms_during_a_pause() {
    let (without, with) =
        (drop_to_1g(Placement::Input, false, false), drop_to_1g(Placement::Input, true, false));
    assert!(settled(&with) < settled(&without) / 2, "{} {}", settled(&with), settled(&without));
    assert!(with.stops[0] * 3 < without.stops[0], "{:?} {:?}", with.stops, without.stops);
}

/// Section IV: with reliable delivery all frames at the output are also at the input; without it
/// none is.
#[test]
fn reliable_delivery_keeps_copies() {
    let both = |w: &HostWindow| (w.input[0], w.output[0]);
    let h = drop_to_1g(Placement::Output, false, true);
    assert!(h.windows.iter().map(both).all(|(input, output)| input >= output));
    assert!(h.windows.iter().any(|w| w.output[0] > 50_000));
    let h = drop_to_1g(Placement::Output, false, false);
    assert!(h.windows.iter().map(both).any(|(input, output)| input < 5_000 && output > 100_000));
    assert!(settled(&drop_to_1g(Placement::Output, false, true)) > 2 * settled(&h));
}

/// Section III-A: a frame for three outputs is sampled once at its input, and once at each of them.
/// Every frame is sampled, and CNMs change no rate.
#[test]
fn multicast_gets_one_cnm_per_frame_at_inputs() {
    let of = |placement| {
        let p = Params {
            sample_base: Bytes(1),
            setpoint: Bytes(100),
            jitter: false,
            weight: 0,
            ..Params::unbiased_qcn(placement, Sampling::Arrival)
        };
        let still = reaction::Params { min_dec_fac: 100, ..reaction::Params::unbiased_qcn_10g() };
        let flows = vec![
            HostFlow { destinations: vec![5, 6, 7], ..flow(0, 5, 2, 0, 10) },
            flow(1, 5, 2, 0, 10),
        ];
        let mut c = Config::unbiased_qcn_ideal(
            8,
            Rate::from_gbps(10),
            Hosts::unbiased_qcn(flows, Some((CongestionPoints::Qcn(p), still))),
        );
        c.until = ms(12);
        let (report, h) = run(c);
        let frames = |f: usize| h.windows.iter().map(|w| w.arrived[f]).sum::<u64>() / 1_542;
        assert_eq!(
            (report.packets_in, report.packets_out),
            (3 * frames(0) + frames(1), 3 * frames(0) + frames(1))
        );
        assert!(frames(0) > 1_000);
        [h.cnms[0] as f64 / frames(0) as f64, h.cnms[1] as f64 / frames(1) as f64]
    };
    assert_eq!((of(Placement::Input), of(Placement::Output)), ([1.0, 1.0], [3.0, 1.0]));
}

/// Random hosts, buffers and fabrics: no input buffer overflows, and after the flows have stopped
/// every byte has come out. Nothing depends on the number of threads.
#[test]
fn pause_never_overflows_and_no_byte_is_lost() {
    for case in 0..40 {
        let mut rng = random::stream(case, 0, 77);
        let mut below = |n: u64| random::below(&mut rng, n);
        let rack = below(2) == 1;
        let edges = 2 + below(3) as u32;
        let ports = if rack { 5 * edges } else { 2 + below(14) as u32 };
        let line = Rate::from_gbps([10, 25, 100][below(3) as usize]);
        let flows = (0..1 + below(12)).map(|_| {
            let copies = if below(4) == 0 { 1 + below(3) } else { 1 };
            let mut destinations: Vec<u32> =
                (0..copies).map(|_| below(ports.into()) as u32).collect();
            destinations.sort_unstable();
            destinations.dedup();
            let (start, stop) = (Span::from_us(below(500)), Span::from_us(500 + below(1_500)));
            let rate = Rate(line.0 * (1 + below(10)) / 10);
            HostFlow {
                source: below(ports.into()) as u32,
                destinations,
                rate,
                start: Time(start.0),
                stop: Time(stop.0),
            }
        });
        let flows: Vec<HostFlow> = flows.collect();
        let placement = [Placement::Input, Placement::Output, Placement::Both][below(3) as usize];
        let sampling = [Sampling::Arrival, Sampling::Largest, Sampling::Random][below(3) as usize];
        let keep_alive = sampling != Sampling::Arrival && below(2) == 0;
        let qcn = CongestionPoints::Qcn(Params {
            keep_alive,
            ..Params::unbiased_qcn(placement, sampling)
        });
        let qcn = (below(4) > 0).then(|| (qcn, reaction::Params::unbiased_qcn_100g()));
        let line_changes = (0..below(3))
            .map(|_| (Time(Span::from_us(below(2_000)).0), below(ports.into()) as u32, line / 10))
            .collect();
        let h = Hosts { reliable: below(2) == 0, line_changes, ..Hosts::unbiased_qcn(flows, qcn) };
        let copies: Vec<u64> = h.flows.iter().map(|f| f.destinations.len() as u64).collect();
        let mut c = if rack {
            Config::unbiased_qcn_rack(edges, line, h)
        } else {
            Config::unbiased_qcn_ideal(ports, line, h)
        };
        c.seed = case;
        c.until = ms(20);
        let (report, h) = run(c.clone());
        let threads = 2 + case as usize % 3;
        assert!(
            on_threads(c.clone(), threads) == (report.clone(), h.clone()),
            "case {case} on {threads} threads"
        );
        assert!(
            continued(c, threads) == (report.clone(), h.clone()),
            "case {case}, continued on {threads} threads"
        );
        assert!(
            h.overflows == 0 && h.input_max <= 150_000,
            "case {case}: {} {}",
            h.overflows,
            h.input_max
        );
        assert!(report.reassembly_max <= 150_000, "case {case}: {}", report.reassembly_max);
        for (f, copies) in copies.iter().enumerate() {
            let sum =
                |of: fn(&HostWindow) -> &Vec<u64>| h.windows.iter().map(|w| of(w)[f]).sum::<u64>();
            assert_eq!(
                sum(|w| &w.arrived) * copies,
                sum(|w| &w.delivered),
                "case {case}, flow {f}"
            );
        }
        let last = h.windows.last().unwrap();
        assert!(
            last.input.iter().chain(&last.output).all(|held| *held == 0),
            "case {case}: {last:?}"
        );
        assert!(report.packets_in == report.packets_out && report.stuck.is_none(), "case {case}");
    }
}

/// Fan-in through the segments, spines and reassembly of the rack fabric: as the ideal switch has
/// it.
#[test]
fn the_rack_fabric_is_as_fair_as_the_ideal_switch() {
    let flows = (0..4).map(|s| flow(5 * s, 23, 100, 0, 30)).collect();
    let qcn =
        Some((points(Placement::Input, Sampling::Random), reaction::Params::unbiased_qcn_100g()));
    let mut c = Config::unbiased_qcn_rack(5, Rate::from_gbps(100), Hosts::unbiased_qcn(flows, qcn));
    c.until = ms(30);
    let (report, h) = run(c);
    assert!(
        (0..4).all(|f| (rate(&h, f, 20, 30) / 25.0 - 1.0).abs() < 0.02),
        "{:?}",
        [0, 1, 2, 3].map(|f| rate(&h, f, 20, 30))
    );
    assert!(report.out_of_order > 0 && report.stuck.is_none());
}

/// Random gaps keep the rate and part the frames: 2 Gb/s in frames of 1542 B on the line, 6168 ns
/// apart on average.
#[test]
fn random_gaps_keep_the_rate() {
    let h = Hosts { gap_jitter: 1_000, ..Hosts::unbiased_qcn(vec![flow(0, 1, 2, 0, 300)], None) };
    let (_, h) = run(Config::unbiased_qcn_ideal(2, Rate::from_gbps(10), h));
    assert!((rate(&h, 0, 0, 300) / 2.0 - 1.0).abs() < 0.01, "{}", rate(&h, 0, 0, 300));
    let frames: Vec<u64> = h.windows.iter().map(|w| w.arrived[0] / 1_542).collect();
    assert!(frames.iter().max() > frames.iter().min().map(|n| n + 20).as_ref(), "{frames:?}");
}

#[test]
fn a_seed_gives_one_result() {
    let of = |seed| fan_in(Some(points(Placement::Both, Sampling::Random)), true, seed);
    assert_eq!(of(1), of(1));
    assert_ne!(of(1).cnms, of(2).cnms);
}

/// A control frame that took the line once left a call of the line behind forever; after a thousand
/// of them each frame cost a thousand events.
#[test]
fn control_frames_leave_no_events_behind() {
    let mut flows = vec![flow(0, 15, 50, 0, 50), flow(0, 14, 50, 0, 50)];
    flows.extend((1..6).map(|s| flow(s, 15, 100, 10, 50)));
    let qcn =
        Some((points(Placement::Output, Sampling::Arrival), reaction::Params::unbiased_qcn_100g()));
    let mut c =
        Config::unbiased_qcn_ideal(16, Rate::from_gbps(100), Hosts::unbiased_qcn(flows, qcn));
    c.until = ms(30);
    let (report, _) = run(c);
    assert!(
        report.events < 10 * report.packets_out,
        "{} events for {} frames",
        report.events,
        report.packets_out
    );
}

#[test]
fn settings_that_cannot_work_are_refused_with_the_inequality() {
    let good = || {
        Hosts::unbiased_qcn(
            vec![flow(0, 1, 10, 0, 1)],
            Some((
                points(Placement::Input, Sampling::Random),
                reaction::Params::unbiased_qcn_10g(),
            )),
        )
    };
    let refused = |hosts: Hosts| -> Vec<Problem> {
        World::new(Config::unbiased_qcn_ideal(4, Rate::from_gbps(10), hosts))
            .err()
            .unwrap_or_default()
    };
    assert_eq!(refused(good()), []);
    let qcn = |change: fn(&mut Params)| {
        let mut p = Params::unbiased_qcn(Placement::Both, Sampling::Arrival);
        change(&mut p);
        Hosts {
            qcn: Some((CongestionPoints::Qcn(p), reaction::Params::unbiased_qcn_10g())),
            ..good()
        }
    };
    let cases = [
        (Hosts { go: Bytes::from_kb(110), ..good() }, "stop", "go < stop"),
        // Two frames of 1542 B, 84 B and 1250 B of line must fit behind the threshold.
        (Hosts { stop: Bytes(150_000 - 4_417), ..good() }, "stop", "145583 + 4418 > 150000 B"),
        (Hosts { gap_jitter: 1_001, ..good() }, "gap_jitter", "gap_jitter <= 1000"),
        (qcn(|p| p.sample_base = Bytes(0)), "sample_base", "sample_base > 0"),
        (qcn(|p| p.setpoint = Bytes::from_kb(151)), "setpoint", "setpoint <= input_buffer"),
        (qcn(|p| p.keep_alive = true), "keep_alive", "no packet arrives during a pause"),
        (Hosts { flows: vec![flow(0, 4, 1, 0, 1)], ..good() }, "flows", "below 4"),
        (Hosts { flows: vec![flow(0, 1, 11, 0, 1)], ..good() }, "flows", "rate of a flow <= line"),
        (Hosts { flows: vec![flow(0, 1, 0, 0, 1)], ..good() }, "flows", "0 < rate"),
        (
            Hosts { line_changes: vec![(ms(1), 4, Rate(1))], ..good() },
            "line_changes",
            "port 4 of 4",
        ),
        (Hosts { line_changes: vec![(ms(1), 1, Rate(0))], ..good() }, "line_changes", "rate > 0"),
    ];
    for (hosts, key, what) in cases {
        let found = refused(hosts);
        assert!(
            found.iter().any(|p| p.key == key && p.what.contains(what)),
            "{key}, {what}: {found:?}"
        );
    }
    let mut c = Config::unbiased_qcn_ideal(
        4,
        Rate::from_gbps(10),
        Hosts { stop: Bytes(150_000 - 4_418), ..good() },
    );
    assert_eq!(c.problems(), []);
    (c.traffic.load, c.traffic.sizes) = (0.1, xoff_sim::scheduled::Sizes::Fixed(Bytes(9_000)));
    c.segment_max = Bytes(9_000);
    assert!(c.problems().iter().any(|p| p.key == "sizes"), "{:?}", c.problems());
}
