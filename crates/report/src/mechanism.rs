//! Names and colours of mechanisms: the same in reports, figures, papers, terminal and Matplotlib.

use crate::Colour;

/// A flow control or a rate control, as readers see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mechanism {
    /// Its `kind` in a scenario.
    pub kind: &'static str,
    /// Name in texts.
    pub name: &'static str,
    /// Colour in figures.
    pub colour: Colour,
}

const fn of(kind: &'static str, name: &'static str, colour: Colour) -> Mechanism {
    Mechanism { kind, name, colour }
}

/// Priority flow control.
pub const PFC: Mechanism = of("pfc", "PFC", Colour::Vermilion);
/// Credits of InfiniBand.
pub const CBFC: Mechanism = of("cbfc", "CBFC", Colour::Orange);
/// Gentle Flow Control for Ethernet.
pub const GFC_BUFFER: Mechanism = of("gfc-buffer", "Buffer-based GFC", Colour::Blue);
/// Gentle Flow Control for InfiniBand.
pub const GFC_TIME: Mechanism = of("gfc-time", "Time-based GFC", Colour::Green);
/// Per-hop per-flow flow control.
pub const PFFC: Mechanism = of("pffc", "PFFC", Colour::Purple);

/// All flow controls.
pub const FLOW_CONTROLS: [Mechanism; 9] = [
    of("none", "No flow control", Colour::Grey),
    PFC,
    CBFC,
    of("uec-cbfc", "Ultra Ethernet CBFC", Colour::Brown),
    of("gfc-conceptual", "Conceptual GFC", Colour::Sky),
    GFC_BUFFER,
    GFC_TIME,
    PFFC,
    of("bfc", "BFC", Colour::Ink),
];

/// All rate controls.
pub const RATE_CONTROLS: [Mechanism; 6] = [
    of("none", "No rate control", Colour::Grey),
    of("dcqcn", "DCQCN", Colour::Vermilion),
    of("timely", "TIMELY", Colour::Sky),
    of("ib-cc", "IB CC", Colour::Green),
    of("hpcc", "HPCC", Colour::Blue),
    of("qcn", "QCN", Colour::Orange),
];

/// The mechanism of a kind. `none` is a flow control and a rate control, both grey.
pub fn mechanism(kind: &str) -> Option<&'static Mechanism> {
    FLOW_CONTROLS.iter().chain(&RATE_CONTROLS).find(|m| m.kind == kind)
}
