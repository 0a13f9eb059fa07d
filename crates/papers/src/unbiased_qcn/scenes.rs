//! The paper's scenes: which host sends to which, when, and what the ports do about it.

use xoff_mech::detection::culprit::Sampling;
use xoff_mech::detection::qcn::{Params, Placement};
use xoff_mech::rate_control::qcn as reaction;
use xoff_net::workload::random;
use xoff_sim::scheduled::{Config, CongestionPoints, HostFlow, Hosts};
use xoff_units::{Rate, Span, Time};

/// Assumptions of every simulation.
pub const SETTING: &str = "the fabric is one ideal VOQ switch with 150 KB at each input and output. It grants single frames round robin \
    and carries them at 1.6 times the line rate. From input to output a frame takes 0.78 us at 100 Gb/s and 1.46 us at 10 Gb/s. The \
    extension rack also has the fabric of Fig. 1, but not with the victim of arrival sampling. Q_eq = 60 is 60 KB (see setpoint); gain \
    1/128, floor 5 Mb/s, five cycles of fast recovery and shrinking, jittered sampling intervals as in 802.1Qau";

/// The same where the fabric of Fig. 1 counts.
pub const RACK: &str = "the fabric of Fig. 1 with 8 leaf switches: 32 spines with 8 KiB at each input and output. Segments of 256 B travel on links at a quarter of the line rate. Each input and output has 150 KB, and single frames are granted round robin. Q_eq = 60 is 60 KB (see \
    setpoint); gain 1/128, floor 5 Mb/s, five cycles of fast recovery and shrinking, jittered sampling intervals as in 802.1Qau";

/// Purpose of a random stream; see `xoff_net::workload::random`.
const START: u64 = 3_001;

/// Congestion signal: `None` is PAUSE only.
pub type Signal = Option<(CongestionPoints, reaction::Params)>;

/// A configuration that runs are made with: its name, and how congestion is signalled.
pub type Scheme = (&'static str, fn() -> Signal);

/// Congestion points with the paper's parameters at 10 Gb/s.
pub fn at_10g(placement: Placement, sampling: Sampling) -> Signal {
    Some((CongestionPoints::Qcn(Params::unbiased_qcn(placement, sampling)), reaction::Params::unbiased_qcn_10g()))
}

/// At 100 Gb/s (section V).
pub fn at_100g(placement: Placement, sampling: Sampling) -> Signal {
    Some((CongestionPoints::Qcn(Params::unbiased_qcn(placement, sampling)), reaction::Params::unbiased_qcn_100g()))
}

/// With other parameters of the congestion points.
pub fn with(mut signal: Signal, change: impl FnOnce(&mut Params)) -> Signal {
    match signal.as_mut().map(|t| &mut t.0) {
        Some(CongestionPoints::Qcn(p)) => change(p),
        Some(CongestionPoints::AfQcn(p)) => change(&mut p.qcn),
        None => {}
    }
    signal
}

/// A flow, from and until when [ms].
pub fn flow(source: u32, destination: u32, rate: Rate, from: f64, until: f64) -> HostFlow {
    let at = |ms: f64| Time((ms * 1e9) as u64);
    HostFlow { source, destinations: vec![destination], rate, start: at(from), stop: at(until) }
}

/// Flows do not begin in the same picosecond: each up to `within` later, by its number and the seed.
pub fn stagger(flows: &mut [HostFlow], seed: u64, within: Span) {
    for (number, flow) in flows.iter_mut().enumerate() {
        let late = random::below(&mut random::stream(seed, number as u64, START), within.0);
        flow.start += Span(late);
    }
}

/// 10 and 100 Gb/s.
pub const G10: Rate = Rate::from_gbps(10);
/// 100 Gb/s.
pub const G100: Rate = Rate::from_gbps(100);

/// Output of a fan-in, and another one.
const HOT: u32 = 15;
const COOL: u32 = 14;

/// The phases of Figs. 2 and 5 [ms] and the flows that share the output in them.
pub const PHASES: [(f64, f64, usize); 3] = [(0.0, 100.0, 4), (100.0, 200.0, 5), (200.0, 300.0, 4)];
/// After a change the shares are examined from here on [ms].
pub const SETTLED: f64 = 30.0;
/// Index of the flow f5, and of f6 in the scene with a victim.
pub const F5: usize = 4;
/// The victim.
pub const F6: usize = 5;

/// Figs. 2 and 5: f1 to f4 to one output, f5 from 100 to 200 ms. With a victim f1 is 3 Gb/s and shares its input with f6, 7 Gb/s
/// to another output.
pub fn fan_in(signal: Signal, victim: bool, seed: u64) -> Config {
    on_ideal(fan_in_hosts(signal, victim, seed))
}

/// The hosts of [`fan_in`] on one ideal switch.
pub fn on_ideal(hosts: Hosts) -> Config {
    let mut c = Config::unbiased_qcn_ideal(16, G10, hosts);
    c.window = Span::from_us(500);
    c
}

/// Within what time flows begin.
pub const APART: Span = Span::from_us(100);

/// The hosts of [`fan_in`].
pub fn fan_in_hosts(signal: Signal, victim: bool, seed: u64) -> Hosts {
    fan_in_within(signal, victim, seed, APART)
}

/// The hosts of [`fan_in`], whose flows begin within another time.
pub fn fan_in_within(signal: Signal, victim: bool, seed: u64, within: Span) -> Hosts {
    let mut flows: Vec<HostFlow> = (0..4).map(|s| flow(s, HOT, G10, 0.0, 300.0)).collect();
    flows.push(flow(4, HOT, G10, 100.0, 200.0));
    if victim {
        flows[0].rate = Rate::from_gbps(3);
        flows.push(flow(0, COOL, Rate::from_gbps(7), 0.0, 300.0));
    }
    stagger(&mut flows, seed, within);
    Hosts::unbiased_qcn(flows, signal)
}

/// Leaf switches of a small fabric of Fig. 1, and ports of each.
const LEAVES: u32 = 8;
const LEAF_PORTS: u32 = 5;

/// A scene on the fabric of Fig. 1, its hosts on a leaf switch each as far as those go.
pub fn on_rack(ideal: Config) -> Config {
    let at = |port: u32| port % LEAVES * LEAF_PORTS + port / LEAVES;
    let mut hosts = ideal.hosts.expect("a scene has hosts");
    for flow in &mut hosts.flows {
        flow.source = at(flow.source);
        flow.destinations.iter_mut().for_each(|d| *d = at(*d));
    }
    hosts.line_changes.iter_mut().for_each(|c| c.1 = at(c.1));
    let (window, until) = (ideal.window, ideal.until);
    Config { window, until, ..Config::unbiased_qcn_rack(LEAVES, ideal.line, hosts) }
}

/// When the output of Fig. 6 slows down [ms].
pub const DROP: f64 = 10.0;

/// Fig. 6: one flow, whose output drops to 1 Gb/s.
pub fn drop_to_1g(signal: Signal, reliable: bool, until: f64, seed: u64) -> Config {
    let mut flows = vec![flow(0, 1, G10, 0.0, until)];
    stagger(&mut flows, seed, Span::from_us(100));
    let line_changes = vec![(Time((DROP * 1e9) as u64), 1, Rate::from_gbps(1))];
    let hosts = Hosts { line_changes, reliable, ..Hosts::unbiased_qcn(flows, signal) };
    let mut c = Config::unbiased_qcn_ideal(2, G10, hosts);
    (c.window, c.until) = (Span::from_us(50), Time((until * 1e9) as u64));
    c
}

/// Fig. 7: f1 and the victim share an input, 50 Gb/s each; at 10 ms the other flows come to the output of f1, 100 Gb/s each.
/// `hot` flows altogether to that output; the victim is the last.
pub fn input_hotspot(signal: Signal, hot: u32, until: f64, seed: u64) -> Config {
    let half = Rate::from_gbps(50);
    let mut flows = vec![flow(0, HOT, half, 0.0, until)];
    flows.extend((1..hot).map(|s| flow(s, HOT, G100, 10.0, until)));
    flows.push(flow(0, COOL, half, 0.0, until));
    stagger(&mut flows, seed, Span::from_us(10));
    let mut c = Config::unbiased_qcn_ideal(16, G100, Hosts::unbiased_qcn(flows, signal));
    (c.window, c.until) = (Span::from_us(50), Time((until * 1e9) as u64));
    c
}
