//! The paper's settings, and how entries vary them (sections 2.3, 2.4 and 4).

use xoff_mech::scheduled::request_grant::Admission;
use xoff_report::Unit;
use xoff_sim::scheduled::{Config, Control, Pattern, Sizes, Traffic};
use xoff_units::{Bytes, Rate, Span, Time};

use crate::{Check, Context, Mode};

/// Smallest packet, min_p [bytes].
pub const MIN_P: Bytes = Bytes(40);
/// Largest packet, max_p [bytes].
pub const MAX_P: Bytes = Bytes(9_000);
/// Packets of a burst, on average.
pub const BURST: f64 = 36.0;
/// Overload of hotspots.
pub const FACTOR: f64 = 2.5;
/// Outputs, and ports of a switch.
pub const PORTS: u32 = 64;
/// The last-stage switch whose outputs are hotspots: its number times 8 is its first output.
pub const HOT_SWITCH: u32 = 7;

/// Normalisation of loads, for the assumptions of entries.
pub const LOAD: &str = "the load is that of an output without a hotspot, as a share of its line rate. An input receives at most its \
    line rate. With 8 hotspots of 2.5 the others can therefore be loaded up to (64 - 20)/56 = 0.786, the \"peak possible rate\" of Fig. \
    4.";

/// Reading of the crossbar, for the assumptions of entries.
pub const CROSSBAR: &str = "the crossbar gives each output 2 L_F, also while a segment is still arriving";

/// Claims of the paper whose answer hangs on an assumption.
pub fn assuming(checks: &mut [Check], text: &str) {
    for c in checks.iter_mut().filter(|c| c.source.is_claim()) {
        c.assumption = Some(text.to_owned());
    }
}

/// Traffic to all outputs alike, or to `hot` hotspots in one last-stage switch and the others.
pub fn traffic(hot: u32, load: f64, sizes: Sizes, burst_packets: f64) -> Traffic {
    let outputs = hotspots(hot);
    let pattern = if hot == 0 { Pattern::Uniform } else { Pattern::Hotspots { outputs, factor: FACTOR } };
    Traffic { pattern, load, sizes, burst_packets }
}

/// The same with hotspots next to the rest.
pub fn beside(traffic: &Traffic) -> Traffic {
    let Pattern::Hotspots { outputs, factor } = traffic.pattern.clone() else { return traffic.clone() };
    Traffic { pattern: Pattern::HotspotsBeside { outputs, factor }, ..traffic.clone() }
}

/// The first `n` outputs of the last-stage switch with the hotspots.
pub fn hotspots(n: u32) -> Vec<u32> {
    (HOT_SWITCH * 8..HOT_SWITCH * 8 + n).collect()
}

/// The highest load of the other outputs when `hot` are hotspots.
pub fn load_max(hot: u32) -> f64 {
    (f64::from(PORTS) - f64::from(hot) * FACTOR) / f64::from(PORTS - hot)
}

/// All packets of one size.
pub fn fixed(size: Bytes) -> Sizes {
    Sizes::Fixed(size)
}

/// 95 % smallest and 5 % largest packets.
pub fn bimodal() -> Sizes {
    Sizes::Bimodal { small: MIN_P, large: MAX_P, small_share: 0.95 }
}

/// The configuration of section 4 with links of the fabric at `speedup` times the line; 10 times the line for grants.
pub fn section_4(traffic: Traffic, speedup: f64) -> Config {
    let mut c = Config::paper(traffic);
    c.fabric = times(c.line, speedup);
    c
}

/// As [`section_4`], regulating rates implicitly at the rate of the line.
pub fn implicit(mut c: Config) -> Config {
    c.admission = Admission::ImplicitRate;
    c.grant_rate = c.line;
    c
}

/// Requests, grants and ACKs next to the data, half a scheduling round trip away.
pub fn out_of_band(mut c: Config) -> Config {
    c.control = Control::OutOfBand { delay: Span(c.t_min().0 * 55 / 2) };
    c
}

/// Sections 2.3 and 2.4: segments of one smallest packet, up to 128 in a grant, control next to the data, and queues of
/// 4000 B.
fn small_segments(traffic: Traffic, speedup: f64) -> Config {
    let mut c = out_of_band(section_4(traffic, speedup));
    c.segment_max = MIN_P;
    c.requests_max = 128;
    // 4 Mbit in segments of 40 B.
    c.output_slots = (4 << 20) / 8 / 40;
    c.element.input = Bytes(4_000);
    c.element.output = Bytes(4_000);
    c
}

/// Figs. 4 and 6: implicit rate regulation.
pub fn section_2_3(traffic: Traffic, speedup: f64) -> Config {
    implicit(small_segments(traffic, speedup))
}

/// Fig. 8: fabric-output buffers of `kib` KiB are reserved.
pub fn section_2_4(traffic: Traffic, kib: u64) -> Config {
    let mut c = small_segments(traffic, 1.0);
    c.element.output = Bytes(kib << 10);
    c.admission = Admission::ReserveFabricBuffers { slots: ((kib << 10) / 40) as u32 };
    c
}

/// Measures from `from` to `to` [t_min], in twenty stretches.
pub fn during(mut c: Config, from: u64, to: u64) -> Config {
    let t = c.t_min().0;
    c.warm_up = Time(from * t);
    c.until = Time(to * t);
    c.window = Span(to * t / 20);
    c
}

/// Measures what a mode has time for, `longer` times that.
pub fn measured(cx: &Context, c: Config, longer: u64) -> Config {
    let (from, to) = cx.mode.pick((3_000, 10_000), (6_000, 20_000));
    during(c, from * longer, to * longer)
}

/// Seeds of a series with as many ports. Where congestion trees are about to come back delays of seeds lie decades apart, so that three say
/// nothing; a run of 256 ports takes half a minute.
pub fn seeds(cx: &Context, ports: u32) -> u64 {
    cx.mode.pick(1, if ports > PORTS { 3 } else { 10 })
}

/// Note on the parts that a quick run leaves out.
pub fn quick_note(cx: &Context, notes: &mut Vec<String>) {
    if cx.mode == Mode::Quick {
        notes.push("Quick: fewer loads and seeds, and half the time.".into());
    }
}

/// A rate times a factor.
pub fn times(rate: Rate, factor: f64) -> Rate {
    Rate::from_f64(rate.as_f64() * factor)
}

/// The unit of times.
pub fn t_min() -> Unit {
    Unit::Other("t_min".into())
}
