//! The study: filter, search for deadlocks, performance with and without them, messages.

use serde::{Deserialize, Serialize};

use super::job::{Aim, Egress, Job, Runs, SCENARIO, Scheme};
use super::network::{Filtered, Network, RoutingRule};
use super::sizes::{Effort, LONG_US, SIZE_MAX, Sizes};
use crate::study::Pieces;
use crate::{Context, ReproduceError};

/// Networks per piece of the filter.
const BLOCK: u32 = 500;

/// A network under the four flow controls.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// The network.
    pub network: Network,
    /// What was run under each of [`Scheme::ALL`]; none: not done, the time was up.
    pub runs: [Option<Runs>; 4],
}

impl Case {
    /// The runs of a scheme.
    pub fn of(&self, scheme: Scheme) -> Option<&Runs> {
        self.runs[scheme as usize].as_ref()
    }
    /// Whether a scheme deadlocked; none: not known.
    pub fn deadlocks(&self, scheme: Scheme) -> Option<bool> {
        self.of(scheme).map(|r| r.deadlock().is_some())
    }
}

/// A search for deadlocks.
#[derive(Clone, Debug, PartialEq)]
pub struct Search {
    /// What was asked for.
    pub effort: Effort,
    /// Networks with a cycle under its routing rule.
    pub cyclic: usize,
    /// Networks simulated.
    pub cases: Vec<Case>,
}

/// Messages of buffer-based GFC.
#[derive(Clone, Debug, PartialEq)]
pub struct Messages {
    /// Size of the fat-tree.
    pub k: u32,
    /// Hysteresis between stages [bytes].
    pub hysteresis: u32,
    /// Runs counted.
    pub runs: usize,
    /// How many (port, window) saw 0, 1, 2 ... messages.
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

/// Which parts of the study a figure needs, besides the filter.
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
        let needs = |part: bool, n: usize| if part { n } else { 0 };
        let phases = sizes.scales.len()
            + needs(parts.headline, sizes.headline.len())
            + needs(parts.further, sizes.further.len())
            + [parts.free, parts.stuck, parts.round_robin, parts.messages].iter().filter(|p| **p).count();
        let mut pieces = Pieces::new(cx, &file, &basis(), sizes.limit, phases)?;
        let mut filtered = Vec::new();
        for &(k, networks) in &sizes.scales {
            filtered.push((k, filter(&mut pieces, k, networks)?));
        }
        let mut headline = Vec::new();
        for effort in sizes.headline.iter().filter(|_| parts.headline) {
            headline.push(search(&mut pieces, cx, &filtered, *effort)?);
        }
        let cases = deadlock_cases(&headline, sizes.stuck);
        let mut all = LargeScale { filtered, headline, ..LargeScale::default() };
        if parts.stuck {
            all.stuck = stuck(&mut pieces, &cases, Egress::Fifo)?;
        }
        if parts.free {
            all.free = free(&mut pieces, &all.filtered, &sizes)?;
        }
        if parts.messages {
            all.messages = messages(&mut pieces, &all.filtered, &sizes)?;
        }
        if parts.round_robin {
            all.stuck_round_robin = stuck(&mut pieces, &cases, Egress::RoundRobin)?;
        }
        for effort in sizes.further.iter().filter(|_| parts.further) {
            all.further.push(search(&mut pieces, cx, &all.filtered, *effort)?);
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

/// What results depend on besides the job: the program and the scenario (FNV-1a).
pub(super) fn basis() -> String {
    let hash = SCENARIO.bytes().fold(0xcbf2_9ce4_8422_2325u64, |h, b| (h ^ b as u64).wrapping_mul(0x0100_0000_01b3));
    format!("{} {hash:016x}", xoff_run::VERSION)
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

fn search(pieces: &mut Pieces, cx: &Context, filtered: &[(u32, Filtered)], effort: Effort) -> Result<Search, ReproduceError> {
    let cyclic: &[u32] = filtered.iter().find(|f| f.0 == effort.k).map_or(&[], |f| f.1.cyclic(effort.rule));
    let numbers = &cyclic[..cyclic.len().min(effort.networks)];
    let job = |number: u32, scheme: Scheme| Job {
        aim: Aim::Deadlock,
        network: Network { k: effort.k, number },
        rule: effort.rule,
        egress: effort.egress,
        scheme,
        hysteresis: 3000,
        size_max: effort.size_max,
        duration_us: effort.duration_us,
        first: first_repetition(cx),
        repetitions: if scheme.is_gentle() { effort.gentle_repetitions } else { effort.repetitions },
    };
    let what = format!("search k = {}, {}, {}", effort.k, effort.rule.name(), effort.egress.name());
    let cases = four(pieces, &what, numbers.iter().map(|&n| (Network { k: effort.k, number: n }, move |s| job(n, s))))?;
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
        jobs.extend(Scheme::ALL.map(job));
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
        size_max: SIZE_MAX,
        duration_us,
        first,
        repetitions: 1,
    }
}

fn free(pieces: &mut Pieces, filtered: &[(u32, Filtered)], sizes: &Sizes) -> Result<Vec<Case>, ReproduceError> {
    let mut networks = Vec::new();
    for &(k, count) in &sizes.free {
        networks.extend(free_networks(filtered, k).take(count));
    }
    let jobs = networks.into_iter().map(|n| (n, move |scheme| performance(n, scheme, n.number, LONG_US)));
    four(pieces, "performance without a cycle", jobs)
}

/// The first networks in which no routing rule has a cycle.
fn free_networks(filtered: &[(u32, Filtered)], k: u32) -> impl Iterator<Item = Network> + '_ {
    let found = filtered.iter().filter(move |f| f.0 == k);
    found.flat_map(move |(_, f)| {
        let cyclic = f.cyclic(RoutingRule::Ecmp);
        let numbers = (0..f.networks).filter(|n| !cyclic.contains(n));
        let networks = numbers.map(move |number| Network { k, number });
        networks.filter(|n| n.build().is_ok_and(|t| xoff_topology::failures::is_connected_hosts(&t)))
    })
}

fn messages(pieces: &mut Pieces, filtered: &[(u32, Filtered)], sizes: &Sizes) -> Result<Vec<Messages>, ReproduceError> {
    let mut jobs = Vec::new();
    for &(k, count, duration_us) in &sizes.messages {
        for hysteresis in [3000, 0] {
            jobs.extend(free_networks(filtered, k).take(count).map(|n| Job {
                aim: Aim::Messages,
                hysteresis,
                rule: RoutingRule::Ecmp,
                ..performance(n, Scheme::GfcBuffer, n.number, duration_us)
            }));
        }
    }
    let runs = pieces.phase("messages", &jobs, |job, stop| job.run(stop))?;
    let mut all: Vec<Messages> = Vec::new();
    for (job, runs) in jobs.iter().zip(runs) {
        let Some(runs) = runs else { continue };
        let (k, hysteresis) = (job.network.k, job.hysteresis);
        if all.last().is_none_or(|m| (m.k, m.hysteresis) != (k, hysteresis)) {
            all.push(Messages { k, hysteresis, runs: 0, histogram: Vec::new() });
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
