//! The flow controls with the parameters that they are checked with: small ones, so that all states can be gone through.

use xoff_mech::LinkFacts;
use xoff_mech::flow_control::{FlowControl, REGISTRY};
use xoff_params::Defaults;

use crate::faults::Faults;
use crate::link::{Link, facts};

/// A flow control on the link that is checked.
#[derive(Clone)]
pub struct Setup {
    /// Name on the page.
    pub name: &'static str,
    /// Name in the registry.
    law: &'static str,
    /// What is not at its default.
    pub given: &'static [(&'static str, &'static str)],
    /// Room in the buffer [frames].
    pub frames: u64,
    /// Ticks for which the drain may stand still.
    pub standstill_max: Option<u16>,
    /// Counters are followed until they wrap.
    pub wraps: bool,
    /// The source always has frames.
    pub greedy: bool,
    /// The search begins with so many frames in the buffer.
    pub filled: usize,
    /// It ends after so many ticks.
    pub ticks_max: Option<usize>,
    /// Frames that the buffer may have less and still lose none; one more, and the search finds a frame that is lost.
    pub spare: u8,
}

const fn setup(name: &'static str, law: &'static str, frames: u64, given: &'static [(&'static str, &'static str)]) -> Setup {
    Setup { name, law, given, frames, standstill_max: None, wraps: false, greedy: false, filled: 0, ticks_max: None, spare: 0 }
}

/// All that are checked. Thresholds are derived from the link, as a run derives them.
pub const SETUPS: &[Setup] = &[
    Setup { spare: 1, ..setup("pfc", "pfc", 10, &[("quanta", "512")]) },
    Setup { spare: 1, ..setup("pfc, pauses without an end", "pfc", 10, &[("pause", "sticky")]) },
    setup("cbfc", "cbfc", 10, &[("period", "16384ns")]),
    Setup { wraps: true, ..setup("cbfc, 12-bit counters", "cbfc", 8, &[("period", "16384ns"), ("counters", "12-bit")]) },
    Setup {
        spare: 5,
        standstill_max: Some(4),
        greedy: true,
        filled: 9,
        ticks_max: Some(18),
        ..setup("gfc-buffer", "gfc-buffer", 20, &[("rate_unit", "500Mbps")])
    },
    Setup {
        spare: 2,
        greedy: true,
        ticks_max: Some(15),
        ..setup("pffc", "pffc", 14, &[("queues", "2"), ("slots", "4"), ("pause", "sticky"), ("xoff_s", "4KiB"), ("xon_s", "0B")])
    },
];

impl Setup {
    /// The link facts.
    pub fn facts(&self) -> LinkFacts {
        facts(self.frames)
    }

    /// The flow control.
    ///
    /// # Panics
    /// Its parameters are refused: a mistake in [`SETUPS`].
    pub fn law(&self) -> FlowControl {
        let entry = REGISTRY.iter().find(|e| e.name == self.law).expect("a name of the registry");
        let mut values = self.given.iter().fold(Defaults::of(entry.params), |v, (key, value)| v.with(key, value));
        (entry.read)(&mut values, &self.facts()).unwrap_or_else(|e| panic!("{}: {e:?}", self.name))
    }

    /// The link to be checked under these faults.
    pub fn link(&self, faults: Faults) -> Link {
        Link {
            law: self.law(),
            facts: self.facts(),
            faults,
            standstill_max: self.standstill_max,
            wraps: self.wraps,
            greedy: self.greedy,
            filled: self.filled,
            ticks_max: self.ticks_max,
            only: None,
            canary: None,
        }
    }
}
