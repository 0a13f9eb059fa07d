//! Whether a job can complete, found without a network: its operations are processed without time.
//!
//! A send never waits for its receive, so the possible events do not depend on their times: where
//! no receive takes messages of any source or tag, going through the graph in any one order finds
//! out whether the run gets to its end. Where one does, only a job that no order of messages could
//! complete is rejected (`possible.rs`), and a wrong size where the order of messages is certain.
//! Other errors appear in the run.

mod possible;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use xoff_units::flat;
use xoff_units::paged::Items;

use crate::jobs::graph::{Graph, Program, Work};

/// Reason why a job cannot run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The rank.
    pub rank: u32,
    /// Number of the operation.
    pub op: u32,
    /// Problem, one clause.
    pub what: String,
    /// Remedy.
    pub hint: String,
}

fn fault(rank: u32, op: u32, what: impl Into<String>, hint: impl Into<String>) -> Fault {
    Fault { rank, op, what: what.into(), hint: hint.into() }
}

/// Messages of a source and tag whose order is looked into; that of more is left to the run.
const ORDERED_MAX: usize = 64;

/// Identity of a message: its source and tag.
type Key = (u32, u64);

/// Progress of an operation.
#[derive(Clone, Copy)]
struct Step {
    /// Number of awaited operations that have not ended.
    waits: u32,
    begun: bool,
    ended: bool,
}
flat!(Step { waits: u32, begun: bool, ended: bool });

/// A rank on its way through its operations.
#[derive(Default)]
struct Walk {
    steps: Items<Step>,
    /// Operations that have not ended.
    left: u32,
    /// Receives that wait.
    posted: BTreeMap<Key, VecDeque<u32>>,
    /// Messages that no receive has taken: the send of each.
    there: BTreeMap<Key, VecDeque<u32>>,
}

impl Graph {
    /// Goes through all operations. `number` says how an operation of a rank is called in messages.
    ///
    /// # Errors
    /// The first thing found that keeps the job from its end: a peer that does not exist, a message
    /// to itself, sizes that differ, operations that wait for each other, a receive without a send
    /// and a send without a receive.
    pub fn check(&self, name: &dyn Fn(u32, u32) -> String) -> Result<(), Fault> {
        self.peers_exist()?;
        if self.takes_any() {
            // There are as many sizes as messages: where these are not in memory, the run finds
            // differences.
            if self.pages().is_none() {
                self.sizes_fit()?;
            }
            return self.possible(name);
        }
        let mut sizes_differ = false;
        let mut walks: Vec<Walk> = self.programs.iter().map(|p| Walk::of(self, p)).collect();
        let mut ready = self.first();
        while let Some((rank, op)) = ready.pop_front() {
            walks[rank as usize].steps.update(op as usize, |s| s.begun = true);
            self.release(&mut walks, rank, op, true, &mut ready);
            match self.programs[rank as usize].op(op).work {
                Work::Compute(_) => self.end(&mut walks, rank, op, &mut ready),
                Work::Send { to, tag, .. } => {
                    self.end(&mut walks, rank, op, &mut ready);
                    walks[to as usize].there.entry((rank, tag)).or_default().push_back(op);
                    sizes_differ |= self.take(&mut walks, to, (rank, tag), &mut ready)?;
                }
                Work::Receive { from: Some(from), tag: Some(tag), .. } => {
                    walks[rank as usize].posted.entry((from, tag)).or_default().push_back(op);
                    sizes_differ |= self.take(&mut walks, rank, (from, tag), &mut ready)?;
                }
                Work::Receive { .. } => {} // the message is known in a run only
            }
        }
        self.all_ended(&walks, name)?;
        if sizes_differ {
            self.sizes_fit()?;
        }
        for (rank, w) in walks.iter().enumerate() {
            if let Some((&(src, tag), sends)) = w.there.iter().find(|(_, sends)| !sends.is_empty())
            {
                let what = format!("its message to rank {rank} with tag {tag} is never received");
                return Err(fault(
                    src,
                    sends[0],
                    what,
                    format!("rank {rank} needs a receive from {src} with tag {tag}"),
                ));
            }
        }
        Ok(())
    }

    fn peers_exist(&self) -> Result<(), Fault> {
        let ranks = self.ranks();
        for (rank, p) in (0..).zip(&self.programs) {
            for (op, o) in (0..).zip(p.ops()) {
                let peer = match o.work {
                    Work::Send { to, .. } => Some(to),
                    Work::Receive { from, .. } => from,
                    Work::Compute(_) => None,
                };
                let Some(peer) = peer else { continue };
                if peer >= ranks {
                    return Err(fault(
                        rank,
                        op,
                        format!("there is no rank {peer}"),
                        format!("the job has the ranks 0 to {}", ranks - 1),
                    ));
                }
                if peer == rank {
                    return Err(fault(
                        rank,
                        op,
                        format!("rank {rank} exchanges a message with itself"),
                        "name another rank",
                    ));
                }
            }
        }
        Ok(())
    }

    /// Whether the messages to a rank can have the sizes that its receives expect, in any order.
    /// Checked by source and tag where receives name both.
    fn sizes_fit(&self) -> Result<(), Fault> {
        let any: BTreeSet<u32> = (0..self.ranks())
            .filter(|&r| {
                let any = |w: &Work| matches!(w, Work::Receive { from, tag, .. } if from.is_none() || tag.is_none());
                self.programs[r as usize].ops().any(|o| any(&o.work))
            })
            .collect();
        // By receiving rank, and source and tag; with a receive of any: of all of them together.
        type Sizes = BTreeMap<(u32, Option<Key>), (Vec<(u64, u32, u32)>, Vec<(u64, u32)>)>;
        let mut sizes = Sizes::new();
        for (rank, p) in (0u32..).zip(&self.programs) {
            for (op, o) in (0u32..).zip(p.ops()) {
                match o.work {
                    Work::Send { to, bytes, tag, .. } => {
                        let key = (!any.contains(&to)).then_some((rank, tag));
                        sizes.entry((to, key)).or_default().0.push((bytes, rank, op));
                    }
                    Work::Receive { from, bytes, tag } => {
                        let key = from.zip(tag).filter(|_| !any.contains(&rank));
                        sizes.entry((rank, key)).or_default().1.push((bytes, op));
                    }
                    Work::Compute(_) => {}
                }
            }
        }
        for ((rank, _), (mut sent, mut expected)) in sizes {
            if sent.len() != expected.len() {
                continue; // another fault, which is found later
            }
            sent.sort_unstable();
            expected.sort_unstable();
            if let Some((&(bytes, from, send), &(expects, op))) =
                sent.iter().zip(&expected).find(|(s, e)| s.0 != e.0)
            {
                let Work::Send { tag, .. } = self.programs[from as usize].op(send).work else {
                    continue;
                };
                let what = format!(
                    "it expects {expects} B from rank {from} with tag {tag}, but that rank sends {bytes} B"
                );
                return Err(fault(rank, op, what, "give both ends the same size"));
            }
        }
        Ok(())
    }

    /// Whether the messages of a source and tag arrive in one order, and their receives are posted
    /// in one. Each begins after the previous one, and all use one queue pair.
    fn in_order(&self, (from, tag): Key, to: u32) -> bool {
        let of = |rank: u32, fits: &dyn Fn(&Work) -> bool| -> Vec<u32> {
            (0u32..)
                .zip(self.programs[rank as usize].ops())
                .filter(|(_, o)| fits(&o.work))
                .map(|(op, _)| op)
                .collect()
        };
        let sends =
            of(from, &|w| matches!(*w, Work::Send { to: t, tag: g, .. } if t == to && g == tag));
        let receives = of(
            to,
            &|w| matches!(*w, Work::Receive { from: Some(f), tag: Some(g), .. } if f == from && g == tag),
        );
        let channel = |op: &u32| match self.programs[from as usize].op(*op).work {
            Work::Send { channel, .. } => channel,
            _ => 0,
        };
        let one_pair = sends.windows(2).all(|w| channel(&w[0]) == channel(&w[1]));
        one_pair
            && self.one_after_the_other(from, &sends)
            && self.one_after_the_other(to, &receives)
    }

    /// Whether each of these operations except one waits for another of them.
    fn one_after_the_other(&self, rank: u32, all: &[u32]) -> bool {
        let p = &self.programs[rank as usize];
        // Operations that follow another one, in any order of their numbers.
        let follow = |op: u32| {
            let (mut seen, mut next) = (BTreeSet::new(), vec![op]);
            while let Some(op) = next.pop() {
                next.extend(p.successors(op).iter().map(|e| e.0).filter(|&o| seen.insert(o)));
            }
            seen
        };
        if all.len() > ORDERED_MAX {
            return false;
        }
        let after = |op: u32| {
            let follow = follow(op);
            all.iter().filter(|o| follow.contains(o)).count()
        };
        let mut followed: Vec<usize> = all.iter().map(|&op| after(op)).collect();
        followed.sort_unstable();
        followed.iter().enumerate().all(|(nth, &n)| nth == n)
    }

    /// Operations that wait for nothing, each with its rank.
    fn first(&self) -> VecDeque<(u32, u32)> {
        let of = |(rank, p): (u32, &Program)| {
            let first = (0u32..).zip(p.all_waits_for()).filter(|w| w.1 == 0);
            first.map(move |w| (rank, w.0)).collect::<Vec<_>>()
        };
        (0u32..).zip(&self.programs).flat_map(of).collect()
    }

    fn release(
        &self,
        walks: &mut [Walk],
        rank: u32,
        op: u32,
        start: bool,
        ready: &mut VecDeque<(u32, u32)>,
    ) {
        let steps = &mut walks[rank as usize].steps;
        self.programs[rank as usize].each_successor(op, |later, on_start| {
            if on_start == start {
                let left = steps.update(later as usize, |s| {
                    s.waits -= 1;
                    s.waits
                });
                if left == 0 {
                    ready.push_back((rank, later));
                }
            }
        });
    }

    fn end(&self, walks: &mut [Walk], rank: u32, op: u32, ready: &mut VecDeque<(u32, u32)>) {
        let w = &mut walks[rank as usize];
        w.steps.update(op as usize, |s| s.ended = true);
        w.left -= 1;
        self.release(walks, rank, op, false, ready);
    }

    /// The first receive of a source and tag takes the first message, if both are there. Returns
    /// whether it took a message of another size that in the run may be another one's.
    fn take(
        &self,
        walks: &mut [Walk],
        rank: u32,
        key: Key,
        ready: &mut VecDeque<(u32, u32)>,
    ) -> Result<bool, Fault> {
        let w = &mut walks[rank as usize];
        let waits =
            |all: &BTreeMap<Key, VecDeque<u32>>| all.get(&key).is_some_and(|q| !q.is_empty());
        if !waits(&w.posted) || !waits(&w.there) {
            return Ok(false);
        }
        // There may be as many tags as messages.
        let first = |all: &mut BTreeMap<Key, VecDeque<u32>>| {
            let taken = all.get_mut(&key).and_then(VecDeque::pop_front);
            if !waits(all) {
                all.remove(&key);
            }
            taken
        };
        let (Some(op), Some(send)) = (first(&mut w.posted), first(&mut w.there)) else {
            return Ok(false);
        };
        let bytes = |rank: u32, op: u32| match self.programs[rank as usize].op(op).work {
            Work::Send { bytes, .. } | Work::Receive { bytes, .. } => bytes,
            Work::Compute(_) => 0,
        };
        let (expects, sent) = (bytes(rank, op), bytes(key.0, send));
        if sent != expects && self.in_order(key, rank) {
            let what = format!(
                "it expects {expects} B from rank {} with tag {}, but that rank sends {sent} B",
                key.0, key.1
            );
            return Err(fault(rank, op, what, "give both ends the same size"));
        }
        self.end(walks, rank, op, ready);
        Ok(sent != expects)
    }

    /// Explains the first operation that never ends.
    fn all_ended(&self, walks: &[Walk], name: &dyn Fn(u32, u32) -> String) -> Result<(), Fault> {
        let stuck = |w: &Walk| w.steps.iter().position(|s| !s.ended).map(|op| op as u32);
        let not_ended = (0u32..).zip(walks).find(|(_, w)| w.left > 0);
        let Some((rank, op)) = not_ended.and_then(|(rank, w)| Some((rank, stuck(w)?))) else {
            return Ok(());
        };
        // From each to one that it waits for, until one comes again.
        let mut seen: Vec<(u32, u32)> = Vec::new();
        let mut at = (rank, op);
        while !seen.contains(&at) {
            seen.push(at);
            match self.waits(walks, at) {
                Some(next) => at = next,
                None => {
                    let Work::Receive { from, tag, .. } =
                        self.programs[at.0 as usize].op(at.1).work
                    else {
                        return Err(fault(
                            at.0,
                            at.1,
                            "the operation never starts",
                            "check the operations that it waits for",
                        ));
                    };
                    let word = |v: Option<u64>| v.map_or("any".to_owned(), |v| v.to_string());
                    let (from, tag) = (word(from.map(u64::from)), word(tag));
                    let what = format!(
                        "it waits for a message from rank {from} with tag {tag} that is never sent"
                    );
                    return Err(fault(at.0, at.1, what, "match the send's rank and tag"));
                }
            }
        }
        let cycle: Vec<_> = seen.iter().skip_while(|&&s| s != at).collect();
        let one_rank = cycle.iter().all(|c| c.0 == at.0);
        let names: Vec<String> = cycle.iter().take(6).map(|c| name(c.0, c.1)).collect();
        let more =
            if cycle.len() > 6 { format!(" and {} more", cycle.len() - 6) } else { String::new() };
        let of = if one_rank {
            "a cycle of dependencies"
        } else {
            "a deadlock of the application, not of the network"
        };
        let hint = if one_rank {
            "remove one of the dependencies"
        } else {
            "make one of the ranks send before it receives"
        };
        let wait = if cycle.len() == 1 { "waits for itself" } else { "wait for each other" };
        Err(fault(at.0, at.1, format!("{of}: {}{more} {wait}", names.join(", ")), hint))
    }

    /// Operation that an operation waits for.
    fn waits(&self, walks: &[Walk], (rank, op): (u32, u32)) -> Option<(u32, u32)> {
        let w = &walks[rank as usize];
        if !w.steps.get(op as usize).begun {
            let p = &self.programs[rank as usize];
            let holds = |before: u32| {
                let step = w.steps.get(before as usize);
                let on = |&(later, start): &(u32, bool)| {
                    later == op && !if start { step.begun } else { step.ended }
                };
                p.successors(before).iter().any(on)
            };
            return (0..p.len()).find(|&before| holds(before)).map(|before| (rank, before));
        }
        let Work::Receive { from, tag, .. } = self.programs[rank as usize].op(op).work else {
            return None;
        };
        let sends = |peer: u32| {
            let fits = |o: &crate::jobs::Op| matches!(o.work, Work::Send { to, tag: t, .. } if to == rank && tag.is_none_or(|tag| tag == t));
            let mut all = (0u32..)
                .zip(self.programs[peer as usize].ops())
                .zip(walks[peer as usize].steps.iter());
            all.find(|((_, o), step)| !step.ended && fits(o)).map(|((op, _), _)| (peer, op))
        };
        (0..self.ranks()).filter(|&p| from.is_none_or(|f| f == p)).find_map(sends)
    }
}

impl Walk {
    fn of(graph: &Graph, p: &Program) -> Walk {
        let step = |waits| Step { waits, begun: false, ended: false };
        let mut steps =
            graph.pages().map_or_else(Items::default, |pages| pages.list(move |_| step(0)));
        p.all_waits_for().for_each(|waits| steps.push(step(waits)));
        Walk { steps, left: p.len(), ..Walk::default() }
    }
}
