//! Size of the study.

use std::time::Duration;

use super::job::{Aim, Egress, Job, NextAfter, Scheme};
use super::network::{Network, RoutingRule};
use crate::Mode;

/// Number of tries of a routing rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// Size of the fat-tree.
    pub k: u32,
    /// Routing rule.
    pub rule: RoutingRule,
    /// Order across ingresses.
    pub egress: Egress,
    /// When the next flow of a host starts.
    pub next_after: NextAfter,
    /// Largest flow [bytes]; 0: as the distribution has it.
    pub size_max: u64,
    /// Length of a run [us].
    pub duration_us: u64,
    /// Networks with a cycle that are simulated: the first ones, at most this many.
    pub networks: usize,
    /// Repetitions under PFC and CBFC.
    pub repetitions: u32,
    /// Repetitions under GFC, of all kinds.
    pub gentle_repetitions: u32,
}

impl Effort {
    /// Repetitions under a flow control.
    pub fn repetitions_of(&self, scheme: Scheme) -> u32 {
        if scheme.is_gentle() { self.gentle_repetitions } else { self.repetitions }
    }

    /// Some repetitions of a network that look for a deadlock.
    pub fn job(&self, network: Network, scheme: Scheme, first: u32, repetitions: u32) -> Job {
        let &Effort { k: _, rule, egress, next_after, size_max, duration_us, .. } = self;
        Job {
            aim: Aim::Deadlock,
            network,
            rule,
            egress,
            scheme,
            hysteresis: 3000,
            spacing_ns: 0,
            next_after,
            size_max,
            duration_us,
            first,
            repetitions,
        }
    }
}

/// Size of a mode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Fat-trees: k and number of random networks.
    pub scales: Vec<(u32, u32)>,
    /// Searches for deadlocks, one per scale: Table 1.
    pub headline: Vec<Effort>,
    /// Searches under other rules, done last.
    pub further: Vec<Effort>,
    /// Performance in networks without a cycle, 20 ms each: k and number of networks.
    pub free: Vec<(u32, usize)>,
    /// The same under the other settings of [`FREE_MORE`](super::study::FREE_MORE).
    pub free_more: Vec<(u32, usize)>,
    /// Performance in deadlock cases, at most so many per k.
    pub stuck: usize,
    /// Messages: k, networks, length of a run [us].
    pub messages: Vec<(u32, usize, u64)>,
    /// After this no further piece of work begins.
    pub limit: Option<Duration>,
}

/// Largest flow of short runs [bytes].
pub const SIZE_MAX: u64 = 30_000_000;
/// Length of a run, unless stated otherwise [us].
pub const DURATION_US: u64 = 20_000;
/// Length of a run that shows performance, and what a deadlock leaves: flows of [`SIZE_MAX`] that miss it take 24 ms at
/// line rate [us].
pub const LONG_US: u64 = 60_000;

impl Sizes {
    /// A tenth of the work that takes long: of networks, not of repetitions, which make a case; the filter whole, which says which networks
    /// there are.
    pub fn tenth(&self) -> Sizes {
        // Of all that have a cycle: some 110 at k = 4.
        let some = |n: usize| if n == usize::MAX { 10 } else { n.div_ceil(10) };
        let search = |e: &Effort| Effort { networks: some(e.networks), ..*e };
        let networks = |all: &[(u32, usize)]| all.iter().map(|&(k, n)| (k, some(n))).collect();
        Sizes {
            headline: self.headline.iter().map(search).collect(),
            further: self.further.iter().map(search).collect(),
            free: networks(&self.free),
            free_more: networks(&self.free_more),
            messages: self.messages.iter().map(|&(k, n, us)| (k, some(n), us)).collect(),
            ..self.clone()
        }
    }

    /// The sizes of a mode.
    pub fn of(mode: Mode) -> Sizes {
        use RoutingRule::{Ecmp, LowestId, PerEdge};
        let search = |k, rule, networks, repetitions, gentle_repetitions| Effort {
            k,
            rule,
            egress: Egress::Fifo,
            next_after: NextAfter::Delivery,
            size_max: SIZE_MAX,
            duration_us: DURATION_US,
            networks,
            repetitions,
            gentle_repetitions,
        };
        match mode {
            Mode::Quick => Sizes {
                scales: vec![(4, 1000), (8, 1000), (16, 200)],
                headline: vec![search(4, LowestId, usize::MAX, 5, 5), search(8, LowestId, 2, 1, 1), search(16, LowestId, 1, 1, 0)],
                further: vec![],
                free: vec![(4, 8), (8, 1)],
                free_more: vec![(4, 4)],
                stuck: 4,
                messages: vec![(8, 1, 10_000)],
                limit: None,
            },
            Mode::Full => {
                let four = search(4, LowestId, 30, 5, 5);
                Sizes {
                    scales: vec![(4, 10_000), (8, 10_000), (16, 10_000)],
                    headline: vec![
                        search(4, LowestId, usize::MAX, 100, 100),
                        search(8, LowestId, usize::MAX, 100, 10),
                        search(16, LowestId, usize::MAX, 100, 10),
                    ],
                    further: vec![
                        Effort { next_after: NextAfter::Sent, ..four },
                        Effort { egress: Egress::RoundRobin, ..four },
                        search(4, PerEdge, 30, 5, 5),
                        search(4, Ecmp, 20, 5, 5),
                        search(8, PerEdge, 10, 25, 5),
                        search(8, Ecmp, 10, 10, 2),
                        search(16, PerEdge, usize::MAX, 100, 10),
                    ],
                    free: vec![(4, 100), (8, 100), (16, 100)],
                    free_more: vec![(4, 100), (8, 100), (16, 40)],
                    stuck: 12,
                    messages: vec![(8, 20, 20_000), (16, 10, 5_000)],
                    limit: Some(Duration::from_secs(6 * 3600)),
                }
            }
        }
    }
}
