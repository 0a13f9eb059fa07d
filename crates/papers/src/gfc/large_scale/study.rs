//! The study: filter, search for deadlocks, performance with and without them, messages.

use serde::{Deserialize, Serialize};

use super::job::{Aim, Egress, Job, NextAfter, Runs, SCENARIO, Scheme};
use super::network::{Filtered, Network, RoutingRule};
use super::sizes::{DURATION_US, Effort, LONG_US, SIZE_MAX, Sizes};
use crate::study::{self, Pieces};
use crate::{Context, ReproduceError};

/// Networks of a search that are done together.
const NETWORKS: usize = 10;
/// The order in which a search takes flow controls: those that are compared first, and whose deadlocks are looked into.
const GROUPS: [&[Scheme]; 2] = [&[Scheme::Pfc, Scheme::GfcBuffer, Scheme::Repaired], &[Scheme::Cbfc, Scheme::GfcTime]];
/// Repetitions of a piece of a search.
const CHUNK: u32 = 10;
/// Networks per piece of the filter.
const BLOCK: u32 = 500;

/// A network under the four flow controls and xoff's extension.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// The network.
    pub network: Network,
    /// What was run under each of [`Scheme::WITH_REPAIR`]; none: not done, the time was up.
    pub runs: [Option<Runs>; 5],
}

impl Case {
    /// The runs of a scheme.
    pub fn of(&self, scheme: Scheme) -> Option<&Runs> {
        self.runs[scheme as usize].as_ref()
    }
    /// True if a scheme deadlocked; none: not known.
    pub fn deadlocks(&self, scheme: Scheme) -> Option<bool> {
        self.of(scheme).map(|r| r.deadlock().is_some())
    }
}

/// A search for deadlocks.
#[derive(Clone, Debug, PartialEq)]
pub struct Search {
    /// Requested name.
    pub effort: Effort,
    /// Networks with a cycle under its routing rule.
    pub cyclic: usize,
    /// Networks simulated.
    pub cases: Vec<Case>,
}

/// Rule that keeps single frames around a threshold from sending a message each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chatter {
    /// At most one message per tau, the latest stage: the paper's worst case of m/tau.
    Spacing,
    /// A falling crossing is announced 2 MTU late: an xoff extension.
    Hysteresis,
    /// Nothing.
    Neither,
}

impl Chatter {
    const ALL: [Chatter; 3] = [Chatter::Spacing, Chatter::Hysteresis, Chatter::Neither];

    /// Hysteresis [bytes] and least time between messages [ns]: tau of Eq. (6) with the parameters of section 6.2.2.
    fn settings(self) -> (u32, u32) {
        match self {
            Chatter::Spacing => (0, 7_400),
            Chatter::Hysteresis => (3_000, 0),
            Chatter::Neither => (0, 0),
        }
    }

    /// Text for people.
    pub fn words(self) -> &'static str {
        match self {
            Chatter::Spacing => "one message per tau",
            Chatter::Hysteresis => "hysteresis of 2 MTU",
            Chatter::Neither => "neither",
        }
    }
}

/// Messages of buffer-based GFC.
#[derive(Clone, Debug, PartialEq)]
pub struct Messages {
    /// Size of the fat-tree.
    pub k: u32,
    /// Name of the rule.
    pub by: Chatter,
    /// Runs counted.
    pub runs: usize,
    /// Number of (port, window) pairs with 0, 1, 2 ... messages.
    pub histogram: Vec<u64>,
}

/// Everything that was found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LargeScale {
    /// The filter, per scale.
    pub filtered: Vec<(u32, Filtered)>,
    /// Searches, one per scale.
    pub headline: Vec<Search>,
    /// Searches under other rules.
    pub further: Vec<Search>,
    /// Performance without a cycle.
    pub free: Vec<Case>,
    /// The same under another choice of path or of the time at which flows start; [`FREE_MORE`] in that order.
    pub free_more: Vec<Vec<Case>>,
    /// Performance where PFC deadlocks, with the repetition in which it does.
    pub stuck: Vec<Case>,
    /// The same networks and traffic with round robin at every egress.
    pub stuck_round_robin: Vec<Case>,
    /// Messages.
    pub messages: Vec<Messages>,
}

#[derive(Serialize, Deserialize)]
struct Block {
    filter: u32,
    first: u32,
    past: u32,
}

/// Other settings without a cycle: how a path is chosen, when a host goes on, and what they are called.
pub const FREE_MORE: [(RoutingRule, NextAfter, &str); 2] = [
    (RoutingRule::Ecmp, NextAfter::Delivery, "No cycle, ECMP"),
    (RoutingRule::LowestId, NextAfter::Sent, "No cycle, next flow starts when sent"),
];

/// Parts of the study that a figure needs, besides the filter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    /// The searches of Table 1.
    pub headline: bool,
    /// The searches under other rules.
    pub further: bool,
    /// Performance without a cycle.
    pub free: bool,
    /// Performance in the deadlock cases.
    pub stuck: bool,
    /// The same with round robin.
    pub round_robin: bool,
    /// Messages.
    pub messages: bool,
}

impl Parts {
    /// Everything.
    pub const ALL: Parts = Parts { headline: true, further: true, free: true, stuck: true, round_robin: true, messages: true };
}

impl LargeScale {
    /// Does parts of the study. Finished work is kept in the context's folder and not done again.
    pub fn run(cx: &Context, sizes: Sizes, parts: Parts) -> Result<LargeScale, ReproduceError> {
        let file = cx.below("large-scale")?.join("done.jsonl");
        // With a limit a tenth of everything first, so that no part goes without.
        let passes: Vec<Sizes> = sizes.limit.map(|_| sizes.tenth()).into_iter().chain([sizes]).collect();
        let phases = passes.iter().map(|sizes| Self::phases(sizes, parts)).sum();
        let mut pieces = Pieces::new(cx, &file, &basis(), passes.last().and_then(|s| s.limit), phases)?;
        let mut all = LargeScale::default();
        for sizes in &passes {
            all = Self::pass(&mut pieces, cx, sizes, parts)?;
        }
        Ok(all)
    }

    fn phases(sizes: &Sizes, parts: Parts) -> usize {
        // Networks with a cycle are not counted yet; at k = 4 there are some 110.
        let blocks = |e: &Effort| e.networks.min(110).div_ceil(NETWORKS);
        let pieces_of = |e: &Effort| GROUPS.len() * blocks(e) * e.repetitions.max(e.gentle_repetitions).div_ceil(CHUNK) as usize;
        let needs = |part: bool, n: usize| if part { n } else { 0 };
        sizes.scales.len()
            + needs(parts.headline, 2 * sizes.headline.iter().map(pieces_of).sum::<usize>())
            + needs(parts.further, sizes.further.iter().map(pieces_of).sum())
            + needs(parts.free, FREE_MORE.len())
            + [parts.free, parts.stuck, parts.round_robin, parts.messages].iter().filter(|p| **p).count()
    }

    fn pass(pieces: &mut Pieces, cx: &Context, sizes: &Sizes, parts: Parts) -> Result<LargeScale, ReproduceError> {
        let mut filtered = Vec::new();
        for &(k, networks) in &sizes.scales {
            filtered.push((k, filter(pieces, k, networks)?));
        }
        let mut all = LargeScale::default();
        if parts.free {
            all.free = free(pieces, &filtered, &sizes.free, (RoutingRule::LowestId, NextAfter::Delivery, "No cycle"))?;
            for more in FREE_MORE {
                all.free_more.push(free(pieces, &filtered, &sizes.free_more, more)?);
            }
        }
        if parts.messages {
            all.messages = messages(pieces, &filtered, sizes)?;
        }
        let efforts = if parts.headline { &sizes.headline[..] } else { &[] };
        let searches =
            |pieces: &mut Pieces, groups| efforts.iter().map(|e| search(pieces, cx, &filtered, *e, groups)).collect::<Result<Vec<_>, _>>();
        let cases = deadlock_cases(&searches(pieces, &GROUPS[..1])?, sizes.stuck);
        if parts.stuck {
            all.stuck = stuck(pieces, &cases, Egress::Fifo)?;
        }
        if parts.round_robin {
            all.stuck_round_robin = stuck(pieces, &cases, Egress::RoundRobin)?;
        }
        all.headline = searches(pieces, &GROUPS)?;
        all.filtered = filtered;
        for effort in sizes.further.iter().filter(|_| parts.further) {
            all.further.push(search(pieces, cx, &all.filtered, *effort, &GROUPS)?);
        }
        Ok(all)
    }

    /// The headline search of a size.
    pub fn headline(&self, k: u32) -> Option<&Search> {
        self.headline.iter().find(|s| s.effort.k == k)
    }

    /// The filter of a size.
    pub fn filtered(&self, k: u32) -> Option<&Filtered> {
        self.filtered.iter().find(|f| f.0 == k).map(|f| &f.1)
    }
}

/// What results depend on besides the job: the engine, the scenario, and what is drawn, run and kept.
pub(super) fn basis() -> String {
    study::basis([SCENARIO, include_str!("job.rs"), include_str!("meter.rs"), include_str!("network.rs")])
}

fn filter(pieces: &mut Pieces, k: u32, networks: u32) -> Result<Filtered, ReproduceError> {
    let blocks: Vec<Block> =
        (0..networks).step_by(BLOCK as usize).map(|first| Block { filter: k, first, past: (first + BLOCK).min(networks) }).collect();
    let found = pieces.phase(&format!("filter k = {k}"), &blocks, |b, _| Ok(Some(Filtered::scan(b.filter, b.first, b.past)?)))?;
    let mut all = Filtered::default();
    // A block that is missing ends the range of networks examined.
    found.iter().map_while(|f| f.as_ref()).for_each(|f| all.append(f));
    Ok(all)
}

fn search(
    pieces: &mut Pieces,
    cx: &Context,
    filtered: &[(u32, Filtered)],
    effort: Effort,
    groups: &[&[Scheme]],
) -> Result<Search, ReproduceError> {
    let cyclic: &[u32] = filtered.iter().find(|f| f.0 == effort.k).map_or(&[], |f| f.1.cyclic(effort.rule));
    let numbers = &cyclic[..cyclic.len().min(effort.networks)];
    let what = format!("search k = {}, {}, {}", effort.k, effort.rule.name(), effort.egress.name());
    let mut cases: Vec<Case> =
        numbers.iter().map(|&n| Case { network: Network { k: effort.k, number: n }, runs: Default::default() }).collect();
    let all = |scheme: Scheme| effort.repetitions_of(scheme);
    let found = |r: &Runs| r.deadlock().is_some() || r.for_good();
    // Some networks after others, each as often as it takes: what is done when the time is up are fewer networks.
    let blocks = cases.len().div_ceil(NETWORKS);
    for (group, at) in groups.iter().flat_map(|g| (0..blocks).map(move |b| (g, b * NETWORKS))) {
        let end = cases.len().min(at + NETWORKS);
        let block = &mut cases[at..end];
        for first in (0..effort.repetitions.max(effort.gentle_repetitions)).step_by(CHUNK as usize) {
            let (mut places, mut jobs) = (Vec::new(), Vec::new());
            for (at, case) in block.iter().enumerate() {
                for scheme in group.iter().copied().filter(|s| first < all(*s)) {
                    if case.of(scheme).map_or(first == 0, |r| r.runs.len() == first as usize && !found(r)) {
                        places.push((at, scheme as usize));
                        let (from, repetitions) = (first_repetition(cx) + first, CHUNK.min(all(scheme) - first));
                        jobs.push(effort.job(case.network, scheme, from, repetitions));
                    }
                }
            }
            let done = pieces.phase(&what, &jobs, |job, stop| job.run(stop))?;
            for ((at, scheme), runs) in places.into_iter().zip(done) {
                if let Some(runs) = runs {
                    block[at].runs[scheme].get_or_insert_default().runs.extend(runs.runs);
                }
            }
        }
    }
    // A series that was cut short says nothing.
    for case in &mut cases {
        for scheme in Scheme::WITH_REPAIR {
            let runs = &mut case.runs[scheme as usize];
            if runs.as_ref().is_some_and(|r| r.runs.len() < all(scheme) as usize && !found(r)) {
                *runs = None;
            }
        }
    }
    Ok(Search { effort, cyclic: cyclic.len(), cases })
}

/// The seed of the traffic of the first repetition.
fn first_repetition(cx: &Context) -> u32 {
    (cx.seed % 1_000_000) as u32 * 1000
}

/// Runs networks under all flow controls.
fn four<F: Fn(Scheme) -> Job>(
    pieces: &mut Pieces,
    what: &str,
    networks: impl Iterator<Item = (Network, F)>,
) -> Result<Vec<Case>, ReproduceError> {
    let (mut all, mut jobs) = (Vec::new(), Vec::new());
    for (network, job) in networks {
        all.push(network);
        jobs.extend(Scheme::WITH_REPAIR.map(job));
    }
    let mut runs = pieces.phase(what, &jobs, |job, stop| job.run(stop))?.into_iter();
    let mut next = || runs.next().expect("an answer for every job");
    Ok(all.into_iter().map(|network| Case { network, runs: std::array::from_fn(|_| next()) }).collect())
}

/// The first deadlock cases of each search, with the repetition in which PFC deadlocks.
fn deadlock_cases(searches: &[Search], most: usize) -> Vec<(Network, u32)> {
    let of = |s: &Search| -> Vec<(Network, u32)> {
        s.cases.iter().filter_map(|c| Some((c.network, c.of(Scheme::Pfc)?.deadlock()?.repetition))).take(most).collect()
    };
    searches.iter().flat_map(of).collect()
}

fn stuck(pieces: &mut Pieces, cases: &[(Network, u32)], egress: Egress) -> Result<Vec<Case>, ReproduceError> {
    let job = |network, first| move |scheme| Job { egress, ..performance(network, scheme, first, LONG_US) };
    let jobs = cases.iter().map(|&(network, first)| (network, job(network, first)));
    four(pieces, &format!("performance in deadlock cases, {}", egress.name()), jobs)
}

fn performance(network: Network, scheme: Scheme, first: u32, duration_us: u64) -> Job {
    Job {
        aim: Aim::Performance,
        network,
        rule: RoutingRule::LowestId,
        egress: Egress::Fifo,
        scheme,
        hysteresis: 3000,
        spacing_ns: 0,
        next_after: NextAfter::Delivery,
        size_max: SIZE_MAX,
        duration_us,
        first,
        repetitions: 1,
    }
}

fn free(
    pieces: &mut Pieces,
    filtered: &[(u32, Filtered)],
    sizes: &[(u32, usize)],
    (rule, next_after, name): (RoutingRule, NextAfter, &str),
) -> Result<Vec<Case>, ReproduceError> {
    let mut networks = Vec::new();
    for &(k, count) in sizes {
        networks.extend(free_networks(filtered, k).take(count));
    }
    let job = |n: Network| move |scheme| Job { rule, next_after, ..performance(n, scheme, n.number, DURATION_US) };
    four(pieces, &format!("performance: {name}"), networks.into_iter().map(|n| (n, job(n))))
}

/// The first networks in which no routing rule has a cycle.
fn free_networks(filtered: &[(u32, Filtered)], k: u32) -> impl Iterator<Item = Network> + '_ {
    let found = filtered.iter().filter(move |f| f.0 == k);
    found.flat_map(move |(_, f)| {
        let cyclic = f.cyclic(RoutingRule::Ecmp);
        let numbers = (0..f.networks).filter(|n| !cyclic.contains(n));
        let networks = numbers.map(move |number| Network { k, number });
        networks.filter(|n| n.build().is_ok_and(|t| xoff_net::topology::failures::is_connected_hosts(&t)))
    })
}

fn messages(pieces: &mut Pieces, filtered: &[(u32, Filtered)], sizes: &Sizes) -> Result<Vec<Messages>, ReproduceError> {
    let mut jobs = Vec::new();
    for &(k, count, duration_us) in &sizes.messages {
        for by in Chatter::ALL {
            let (hysteresis, spacing_ns) = by.settings();
            jobs.extend(free_networks(filtered, k).take(count).map(|n| Job {
                aim: Aim::Messages,
                hysteresis,
                spacing_ns,
                rule: RoutingRule::Ecmp,
                ..performance(n, Scheme::GfcBuffer, n.number, duration_us)
            }));
        }
    }
    let runs = pieces.phase("messages", &jobs, |job, stop| job.run(stop))?;
    let mut all: Vec<Messages> = Vec::new();
    for (job, runs) in jobs.iter().zip(runs) {
        let Some(runs) = runs else { continue };
        let k = job.network.k;
        let by = Chatter::ALL.into_iter().find(|by| by.settings() == (job.hysteresis, job.spacing_ns)).expect("one of them");
        if all.last().is_none_or(|m| (m.k, m.by) != (k, by)) {
            all.push(Messages { k, by, runs: 0, histogram: Vec::new() });
        }
        let m = all.last_mut().expect("just pushed");
        for run in &runs.runs {
            m.runs += 1;
            let counts = &run.measured.messages;
            m.histogram.resize(m.histogram.len().max(counts.len()), 0);
            m.histogram.iter_mut().zip(counts).for_each(|(all, n)| *all += n);
        }
    }
    Ok(all)
}
