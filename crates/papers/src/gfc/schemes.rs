//! The four flow controls of the paper, and the disciplines it leaves open.

use xoff_report::{Colour, mechanism};
use xoff_units::Span;

use crate::Check;
use crate::lab::Observed;

/// A flow control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scheme {
    /// Kind in a scenario.
    pub kind: &'static str,
    /// Name in figures.
    pub title: &'static str,
    /// Colour in figures.
    pub colour: Colour,
    /// True if the scheme slows ports down and never pauses them.
    pub gentle: bool,
}

/// Priority flow control.
pub const PFC: Scheme = Scheme { kind: "pfc", title: "PFC", colour: mechanism::PFC.colour, gentle: false };
/// Credit based flow control.
pub const CBFC: Scheme = Scheme { kind: "cbfc", title: "CBFC", colour: mechanism::CBFC.colour, gentle: false };
/// Buffer-based GFC.
pub const GFC_BUFFER: Scheme = Scheme { kind: "gfc-buffer", title: "Buffer-based GFC", colour: mechanism::GFC_BUFFER.colour, gentle: true };
/// Time-based GFC.
pub const GFC_TIME: Scheme = Scheme { kind: "gfc-time", title: "Time-based GFC", colour: mechanism::GFC_TIME.colour, gentle: true };

/// Buffer-based GFC whose entry ports slow down first: an xoff extension.
pub const REPAIRED: Scheme = Scheme { kind: "gfc-buffer", title: "GFC with entry ports", colour: Colour::Purple, gentle: true };

/// Schemes of the paper, in the order of the tables.
pub const SCHEMES: [Scheme; 4] = [PFC, CBFC, GFC_BUFFER, GFC_TIME];
/// The same and xoff's extension.
pub const WITH_REPAIR: [Scheme; 5] = [PFC, CBFC, GFC_BUFFER, GFC_TIME, REPAIRED];

/// Assumption behind a deadlock.
pub const FIFO: &str = "the egress is FIFO across ingresses (the paper names no discipline)";
/// Assumption behind 5 Gb/s per flow.
pub const ROUND_ROBIN: &str = "the egress serves its ingresses round robin (the paper names no discipline)";
/// Why GFC's buffer is larger than B_m.
pub const SLACK: &str = "under GFC a buffer is 2 MTU larger than B_m: the theorems describe a fluid, and frames are not divisible";

/// Time without a byte after which a flow counts as stopped.
pub const STANDSTILL: Span = Span::from_ms(1);

/// What GFC must not do. A deadlock is no check on it: it holds no port, so that no cycle of ports can wait forever, whatever becomes of
/// the flows.
pub fn standstill(name: &str, runs: &[&Observed]) -> Check {
    let what = format!("{name}: stopped flows, no byte in the last 1 ms");
    Check::none(what, "flows", runs.iter().map(|r| r.standing_still(STANDSTILL)).sum()).claimed()
}

impl Scheme {
    /// Settings of a scenario for this scheme and a discipline. `slack`: the buffer to use under GFC, B_m + 2 MTU.
    pub fn settings(&self, discipline: &str, slack: &str) -> Vec<String> {
        let mut all = vec![format!("flow_control={}", self.kind), format!("switch.discipline={discipline}")];
        if self.gentle {
            all.push(format!("switch.buffer={slack}"));
        }
        all
    }
}

/// B_1 + (C - R_d) tau with tau = 90 us: where the queue of a port parks [bytes].
pub const PARKED: f64 = 750e3 + 5e9 / 8.0 * 90e-6;
