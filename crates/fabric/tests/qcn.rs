//! QCN at the inputs and at the outputs of the rack fabric (RZ 3880).

use std::ops::ControlFlow;

use xoff_fabric::{Config, CongestionPoints, HostFlow, Hosts, Report, World};
use xoff_mech::detection::culprit::Sampling;
use xoff_mech::detection::qcn::{Params, Placement};
use xoff_mech::rate_control::qcn as reaction;
use xoff_units::{Rate, Span, Time};

fn run(config: Config) -> Report {
    World::new(config).map_err(|p| format!("{p:?}")).unwrap().run(|_| ControlFlow::Continue(()))
}

fn ms(n: u64) -> Time {
    Time(Span::from_ms(n).0)
}

fn flow(source: u32, destination: u32, gbps: u64, from: u64, until: u64) -> HostFlow {
    HostFlow { source, destinations: vec![destination], rate: Rate::from_gbps(gbps), start: ms(from), stop: ms(until) }
}

fn fig2(qcn: Option<(Placement, Sampling)>, victim: bool, seed: u64) -> Report {
    let mut flows: Vec<HostFlow> = (0..4).map(|s| flow(s, 15, 10, 0, 300)).collect();
    flows.push(flow(4, 15, 10, 100, 200));
    if victim {
        flows[0].rate = Rate::from_gbps(3);
        flows.push(flow(0, 14, 7, 0, 300));
    }
    let qcn = qcn.map(|(p, s)| (CongestionPoints::Qcn(Params::rz3880(p, s)), reaction::Params::rz3880_10g()));
    let mut c = Config::rz3880_ideal(16, Rate::from_gbps(10), Hosts::rz3880(flows, qcn));
    c.seed = seed;
    run(c)
}

#[test]
fn first_look() {
    for (name, qcn, victim) in [
        ("pause", None, false),
        ("out", Some((Placement::Output, Sampling::Arrival)), false),
        ("in", Some((Placement::Input, Sampling::Arrival)), false),
        ("both", Some((Placement::Both, Sampling::Arrival)), false),
        ("pause v", None, true),
        ("in v", Some((Placement::Input, Sampling::Arrival)), true),
        ("in det v", Some((Placement::Input, Sampling::Largest)), true),
        ("in rnd v", Some((Placement::Input, Sampling::Random)), true),
    ] {
        for seed in 1..=2 {
            let now = std::time::Instant::now();
            let r = fig2(qcn, victim, seed);
            let h = r.hosts.unwrap();
            let rate = |from: usize, to: usize| -> Vec<String> {
                (0..h.notified.len())
                    .map(|f| {
                        format!(
                            "{:.2}",
                            h.windows[from..to].iter().map(|w| w.arrived[f]).sum::<u64>() as f64 * 8.0 / ((to - from) as f64) / 1e6
                        )
                    })
                    .collect()
            };
            println!(
                "{name}: 50-100 {:?} 140-200 {:?} 250-300 {:?} cnm {:?} stops {:?} over {} inmax {} events {} {:?}",
                rate(50, 100),
                rate(140, 200),
                rate(250, 300),
                h.notified,
                &h.stops[..5],
                h.overflows,
                h.input_max,
                r.events,
                now.elapsed()
            );
        }
    }
}
