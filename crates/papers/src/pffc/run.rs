//! Common parts of the entries: the two schemes, the two kinds of sources, and the bandwidth-delay product of their hops.

use xoff_report::{Colour, mechanism};
use xoff_units::{Bytes, Rate, Span};

use crate::lab::{self, Observed};
use crate::{Context, ReproduceError};

/// A flow control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scheme {
    /// Kind in a scenario.
    pub kind: &'static str,
    /// Name in figures.
    pub title: &'static str,
    /// Colour in figures.
    pub colour: Colour,
}

/// Priority flow control.
pub const PFC: Scheme = Scheme { kind: "pfc", title: "PFC", colour: mechanism::PFC.colour };
/// Per-hop per-flow flow control.
pub const PFFC: Scheme = Scheme { kind: "pffc", title: "PFFC", colour: mechanism::PFFC.colour };

/// Sources that receive no feedback, and connections with a congestion window (CUBIC).
pub const SOURCES: [(&str, &[&str]); 2] = [("UDP", &[]), ("TCP", &["transport.kind=tcp"])];

/// Line rate of the scenarios.
pub const LINE: Rate = Rate::from_gbps(10);
/// The scenarios' tau of GFC Eq. (6): 2 frames of 1500 B, 2 links of 1 us, 3 us of processing.
pub const TAU: Span = Span(2 * 1_200_000 + 2 * 1_000_000 + 3_000_000);
/// Stretch at the end of a run over which rates are taken.
pub const END: Span = Span::from_ms(10);
/// Assumption of bands without a number of the slides.
pub const SHAPE: &str = "the slides' figures could not be read; the set-up is chosen";

/// C tau [bytes].
pub fn hop_bytes() -> Bytes {
    LINE.bytes_in(TAU)
}

/// Runs a scenario under a scheme.
pub fn run<S: AsRef<str>>(cx: &Context, scenario: (&str, &str), scheme: Scheme, more: &[S]) -> Result<Observed, ReproduceError> {
    let mut settings = vec![format!("flow_control.kind={}", scheme.kind), format!("run.seed={}", cx.seed)];
    settings.extend(more.iter().map(|s| s.as_ref().to_owned()));
    lab::run(cx, scenario.0, scenario.1, &settings)
}

/// Throughput of all flows together over the end of a run [bit/s].
pub fn total(run: &Observed) -> f64 {
    run.rates_at_end(END).iter().sum()
}

/// Frames that were lost, or that arrived out of order.
pub fn broken(run: &Observed) -> u64 {
    run.lost() + run.outcome.violations_total
}
