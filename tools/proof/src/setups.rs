//! The flow controls with the parameters that they are checked with: small ones, so that all states
//! can be gone through.

use xoff_mech::LinkFacts;
use xoff_mech::flow_control::{FlowControl, REGISTRY, Sender};
use xoff_units::params::Defaults;

use crate::faults::Faults;
use crate::link::{Bounds, Link, facts};

/// A flow control on the link that is checked.
#[derive(Clone)]
pub struct Setup {
    /// Name on the page.
    pub name: &'static str,
    /// Name in the registry.
    pub law: &'static str,
    /// Parameters that are not at their default.
    pub given: &'static [(&'static str, &'static str)],
    /// Room in the buffer [frames].
    pub frames: u64,
    /// Limits of the search.
    pub bounds: Bounds,
    /// Frames that the buffer may have less and still lose none; one more, and the search finds a
    /// frame that is lost.
    pub spare: u8,
}

const fn setup(
    name: &'static str,
    law: &'static str,
    frames: u64,
    given: &'static [(&'static str, &'static str)],
) -> Setup {
    Setup { name, law, given, frames, bounds: Bounds::NONE, spare: 0 }
}

/// All that are checked. Thresholds are derived from the link, as a run derives them.
pub const SETUPS: &[Setup] = &[
    Setup { spare: 1, ..setup("pfc", "pfc", 10, &[("quanta", "512")]) },
    Setup { spare: 1, ..setup("pfc, pauses without an end", "pfc", 10, &[("pause", "sticky")]) },
    Setup {
        spare: 5,
        ..setup(
            "pfc, pauses without an end, repeated",
            "pfc",
            15,
            &[("pause", "sticky"), ("repeat", REPEAT)],
        )
    },
    setup("cbfc", "cbfc", 10, &[("period", "16384ns")]),
    Setup {
        bounds: Bounds { wraps: true, ..Bounds::NONE },
        ..setup(
            "cbfc, 12-bit counters",
            "cbfc",
            8,
            &[("period", "16384ns"), ("counters", "12-bit")],
        )
    },
    Setup {
        // An update that is overtaken moves both counters of the receiver by almost 2^20.
        bounds: Bounds { counter_bits: 20, ..Bounds::NONE },
        ..setup("uec-cbfc", "uec-cbfc", 6, UEC_CBFC)
    },
    Setup {
        spare: 5,
        bounds: Bounds {
            standstill_max: Some(4),
            greedy: true,
            filled: 9,
            ticks_max: Some(18),
            ..Bounds::NONE
        },
        ..setup("gfc-buffer", "gfc-buffer", 20, &[("rate_unit", "500Mbps")])
    },
    Setup {
        spare: 7,
        bounds: Bounds {
            standstill_max: Some(8),
            greedy: true,
            filled: 13,
            ticks_max: Some(18),
            ..Bounds::NONE
        },
        ..setup(
            "gfc-buffer, repeated",
            "gfc-buffer",
            24,
            &[("rate_unit", "500Mbps"), ("repeat", REPEAT)],
        )
    },
    Setup {
        spare: 5,
        bounds: Bounds {
            every: 3,
            standstill_max: Some(9),
            greedy: true,
            filled: 12,
            ticks_max: Some(21),
            ..Bounds::NONE
        },
        ..setup("gfc-conceptual", "gfc-conceptual", 20, &[("rate_unit", "500Mbps")])
    },
    Setup {
        spare: 6,
        bounds: Bounds {
            every: 3,
            standstill_max: Some(9),
            greedy: true,
            filled: 12,
            ticks_max: Some(21),
            ..Bounds::NONE
        },
        ..setup("gfc-time", "gfc-time", 24, &[("period", "16384ns"), ("rate_unit", "500Mbps")])
    },
    Setup {
        bounds: Bounds { greedy: true, ticks_max: Some(16), ..Bounds::NONE },
        ..setup(
            "pffc",
            "pffc",
            12,
            &[
                ("queues", "2"),
                ("slots", "4"),
                ("pause", "sticky"),
                ("xoff_s", "4KiB"),
                ("xon_s", "0B"),
            ],
        )
    },
    Setup {
        spare: 4,
        bounds: Bounds { greedy: true, ticks_max: Some(11), ..Bounds::NONE },
        ..setup(
            "pffc, repeated",
            "pffc",
            12,
            &[
                ("queues", "2"),
                ("slots", "4"),
                ("pause", "sticky"),
                ("xoff_s", "4KiB"),
                ("xon_s", "0B"),
                ("repeat", REPEAT),
            ],
        )
    },
    Setup {
        spare: 6,
        bounds: Bounds { greedy: true, flows: 1, ..Bounds::NONE },
        ..setup(
            "pffc, a single flow, repeated",
            "pffc",
            12,
            &[
                ("queues", "1"),
                ("slots", "1"),
                ("pause", "sticky"),
                ("xoff_s", "4KiB"),
                ("xon_s", "0B"),
                ("repeat", REPEAT),
            ],
        )
    },
    Setup {
        spare: 1,
        bounds: Bounds { flows: 1, ..Bounds::NONE },
        ..setup("bfc, a single flow", "bfc", 13, &[("queues", "1"), ("period", "8192ns")])
    },
];

/// Four ticks.
const REPEAT: &str = "16384ns";

/// Updates at least two and at most four frames apart, reports every eight.
const UEC_CBFC: &[(&str, &str)] = &[
    ("credit_size", "2048B"),
    ("cf_min_spacing", "8192B"),
    ("cf_max_spacing", "16384B"),
    ("cc_period", "32768ns"),
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
        let mut values = self
            .given
            .iter()
            .fold(Defaults::of(entry.params), |v, (key, value)| v.with(key, value));
        (entry.read)(&mut values, &self.facts()).unwrap_or_else(|e| panic!("{}: {e:?}", self.name))
    }

    /// The faults that make a difference: where the sender does not count what it sends, or reports
    /// it in any case, reports are no case of their own.
    pub fn faults(&self) -> impl Iterator<Item = Faults> {
        let (_, tx) = self.law().halves(&self.facts());
        let reports = tx.sent_total().is_some() && !self.always_reports();
        // BFC sends a filter in every period, and all messages of a filter in one frame.
        let filters = self.law == "bfc";
        let repeats = filters || self.given.iter().any(|(key, _)| *key == "repeat");
        let by_kind = self.law().per_flow() && !filters;
        Faults::ALL.into_iter().filter(move |&f| match f {
            Faults::FrameLostReported => reports,
            Faults::LostRarely => repeats,
            // Of two flows no search comes far enough.
            Faults::LostByKind => repeats && by_kind && self.bounds.flows == 1,
            Faults::Turned => by_kind,
            _ => true,
        })
    }

    /// Totals travel on every link, not only on one that loses frames.
    pub fn always_reports(&self) -> bool {
        self.law == "uec-cbfc"
    }

    /// The link to be checked under these faults.
    pub fn link(&self, faults: Faults) -> Link {
        Link {
            law: self.law(),
            facts: self.facts(),
            faults,
            bounds: self.bounds,
            only: None,
            canary: None,
        }
    }
}
