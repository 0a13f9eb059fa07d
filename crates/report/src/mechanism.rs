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

/// All flow controls.
pub const FLOW_CONTROLS: [Mechanism; 9] = [
    of("none", "No flow control", Colour::Grey),
    of("pfc", "PFC", Colour::Vermilion),
    of("cbfc", "CBFC", Colour::Orange),
    of("uec-cbfc", "Ultra Ethernet CBFC", Colour::Brown),
    of("gfc-conceptual", "Conceptual GFC", Colour::Sky),
    of("gfc-buffer", "Buffer-based GFC", Colour::Blue),
    of("gfc-time", "Time-based GFC", Colour::Green),
    of("pffc", "PFFC", Colour::Purple),
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
