//! Whether a job can come to its end, found without a network: its operations are gone through untimed.
//!
//! A send never waits for its receive, so what can happen does not depend on when it happens: where no receive takes messages of any source
//! or tag, going through the graph in any one order finds out whether the run gets to its end. Where one does, only what no order of messages
//! could mend is refused (`possible.rs`), and so are sizes where the order of messages is certain; the rest is seen in the run.

mod possible;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::graph::{Graph, Work};

/// Why a job cannot run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The rank.
    pub rank: u32,
    /// Its operation.
    pub op: u32,
    /// What is wrong, one clause.
    pub what: String,
    /// What would be right.
    pub hint: String,
}

fn fault(rank: u32, op: u32, what: impl Into<String>, hint: impl Into<String>) -> Fault {
    Fault { rank, op, what: what.into(), hint: hint.into() }
}

/// Messages of a source and tag whose order is looked into; that of more is left to the run.
const ORDERED_MAX: usize = 64;

/// What a message is known by: its source and tag.
type Key = (u32, u64);

/// A rank on its way through its operations.
#[derive(Default)]
struct Walk {
    waits: Vec<u32>,
    begun: Vec<bool>,
    ended: Vec<bool>,
    /// Receives of one source and tag that wait, in the order in which they were posted.
    posted: BTreeMap<Key, VecDeque<u32>>,
    /// Messages that no receive has taken: the send of each.
    there: BTreeMap<Key, VecDeque<u32>>,
}

impl Graph {
    /// Goes through all operations. `number` says how an operation of a rank is called in messages.
    ///
    /// # Errors
    /// The first thing found that keeps the job from its end: a peer that does not exist, a message to itself, sizes that differ, operations that
    /// wait for each other, a receive without a send and a send without a receive.
    pub fn check(&self, name: &dyn Fn(u32, u32) -> String) -> Result<(), Fault> {
        self.peers_exist()?;
        if self.takes_any() {
            self.sizes_fit()?;
            return self.possible(name);
        }
        let mut sizes_differ = false;
        let mut walks: Vec<Walk> = self.programs.iter().map(|p| Walk::of(p.ops.len(), &p.waits_for)).collect();
        let mut ready: VecDeque<(u32, u32)> = VecDeque::new();
        for (rank, p) in self.programs.iter().enumerate() {
            ready.extend((0..p.ops.len() as u32).filter(|&op| p.waits_for[op as usize] == 0).map(|op| (rank as u32, op)));
        }
        while let Some((rank, op)) = ready.pop_front() {
            walks[rank as usize].begun[op as usize] = true;
            self.release(&mut walks, rank, op, true, &mut ready);
            match self.programs[rank as usize].ops[op as usize].work {
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
                Work::Receive { .. } => {} // what it takes is known in a run
            }
        }
        self.all_ended(&walks, name)?;
        if sizes_differ {
            self.sizes_fit()?;
        }
        for (rank, w) in walks.iter().enumerate() {
            if let Some((&(src, tag), sends)) = w.there.iter().find(|(_, sends)| !sends.is_empty()) {
                let what = format!("its message to rank {rank} with tag {tag} is never received");
                return Err(fault(src, sends[0], what, format!("rank {rank} needs a receive from {src} with tag {tag}")));
            }
        }
        Ok(())
    }

    fn peers_exist(&self) -> Result<(), Fault> {
        let ranks = self.ranks();
        for (rank, p) in (0..).zip(&self.programs) {
            for (op, o) in (0..).zip(&p.ops) {
                let peer = match o.work {
                    Work::Send { to, .. } => Some(to),
                    Work::Receive { from, .. } => from,
                    Work::Compute(_) => None,
                };
                let Some(peer) = peer else { continue };
                if peer >= ranks {
                    return Err(fault(rank, op, format!("there is no rank {peer}"), format!("the job has the ranks 0 to {}", ranks - 1)));
                }
                if peer == rank {
                    return Err(fault(rank, op, format!("rank {rank} exchanges a message with itself"), "name another rank"));
                }
            }
        }
        Ok(())
    }

    /// Have the messages to a rank that receives of it can take the sizes that these expect, in whatever order? Looked at by source and tag where
    /// receives name both.
    fn sizes_fit(&self) -> Result<(), Fault> {
        let any: BTreeSet<u32> = (0..self.ranks())
            .filter(|&r| {
                let any = |w: &Work| matches!(w, Work::Receive { from, tag, .. } if from.is_none() || tag.is_none());
                self.programs[r as usize].ops.iter().any(|o| any(&o.work))
            })
            .collect();
        // By receiving rank, and source and tag; with a receive of any: of all of them together.
        type Sizes = BTreeMap<(u32, Option<Key>), (Vec<(u64, u32, u32)>, Vec<(u64, u32)>)>;
        let mut sizes = Sizes::new();
        for (rank, p) in (0u32..).zip(&self.programs) {
            for (op, o) in (0u32..).zip(&p.ops) {
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
            if let Some((&(bytes, from, send), &(expects, op))) = sent.iter().zip(&expected).find(|(s, e)| s.0 != e.0) {
                let Work::Send { tag, .. } = self.programs[from as usize].ops[send as usize].work else { continue };
                let what = format!("it expects {expects} B from rank {from} with tag {tag}, which sends {bytes} B");
                return Err(fault(rank, op, what, "give both ends the same size"));
            }
        }
        Ok(())
    }

    /// Do the messages of a source and tag come in one order, and are their receives posted in one? Each begins after the one before it, and all go
    /// through one queue pair.
    fn in_order(&self, (from, tag): Key, to: u32) -> bool {
        let of = |rank: u32, fits: &dyn Fn(&Work) -> bool| -> Vec<u32> {
            let ops = &self.programs[rank as usize].ops;
            (0..ops.len() as u32).filter(|&op| fits(&ops[op as usize].work)).collect()
        };
        let sends = of(from, &|w| matches!(*w, Work::Send { to: t, tag: g, .. } if t == to && g == tag));
        let receives = of(to, &|w| matches!(*w, Work::Receive { from: Some(f), tag: Some(g), .. } if f == from && g == tag));
        let channel = |op: &u32| match self.programs[from as usize].ops[*op as usize].work {
            Work::Send { channel, .. } => channel,
            _ => 0,
        };
        let one_pair = sends.windows(2).all(|w| channel(&w[0]) == channel(&w[1]));
        one_pair && self.one_after_the_other(from, &sends) && self.one_after_the_other(to, &receives)
    }

    /// Does each of these operations wait for another one of them, but one?
    fn one_after_the_other(&self, rank: u32, all: &[u32]) -> bool {
        let p = &self.programs[rank as usize];
        // What follows an operation, in whatever order they have their numbers.
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

    fn release(&self, walks: &mut [Walk], rank: u32, op: u32, start: bool, ready: &mut VecDeque<(u32, u32)>) {
        for &(later, on_start) in self.programs[rank as usize].successors(op) {
            if on_start == start {
                let left = &mut walks[rank as usize].waits[later as usize];
                *left -= 1;
                if *left == 0 {
                    ready.push_back((rank, later));
                }
            }
        }
    }

    fn end(&self, walks: &mut [Walk], rank: u32, op: u32, ready: &mut VecDeque<(u32, u32)>) {
        walks[rank as usize].ended[op as usize] = true;
        self.release(walks, rank, op, false, ready);
    }

    /// Receives of a rank take what of their source and tag is there, in the order in which they were posted. Returns whether one took a message of
    /// another size that in the run may be another one's.
    fn take(&self, walks: &mut [Walk], rank: u32, key: Key, ready: &mut VecDeque<(u32, u32)>) -> Result<bool, Fault> {
        let mut sizes_differ = false;
        loop {
            let w = &mut walks[rank as usize];
            let (Some(posted), Some(there)) = (w.posted.get_mut(&key), w.there.get_mut(&key)) else { break };
            let (Some(&op), Some(&send)) = (posted.front(), there.front()) else { break };
            posted.pop_front();
            there.pop_front();
            if let Work::Receive { bytes, .. } = self.programs[rank as usize].ops[op as usize].work
                && let Work::Send { bytes: sent, .. } = self.programs[key.0 as usize].ops[send as usize].work
                && sent != bytes
            {
                if self.in_order(key, rank) {
                    let what = format!("it expects {bytes} B from rank {} with tag {}, which sends {sent} B", key.0, key.1);
                    return Err(fault(rank, op, what, "give both ends the same size"));
                }
                sizes_differ = true;
            }
            self.end(walks, rank, op, ready);
        }
        Ok(sizes_differ)
    }

    /// Explains the first operation that never ends.
    fn all_ended(&self, walks: &[Walk], name: &dyn Fn(u32, u32) -> String) -> Result<(), Fault> {
        let stuck = |rank: u32| walks[rank as usize].ended.iter().position(|e| !e).map(|op| op as u32);
        let Some((rank, op)) = (0..self.ranks()).find_map(|r| Some((r, stuck(r)?))) else { return Ok(()) };
        // From each to one that it waits for, until one comes again.
        let mut seen: Vec<(u32, u32)> = Vec::new();
        let mut at = (rank, op);
        while !seen.contains(&at) {
            seen.push(at);
            match self.waits(walks, at) {
                Some(next) => at = next,
                None => {
                    let Work::Receive { from, tag, .. } = self.programs[at.0 as usize].ops[at.1 as usize].work else {
                        return Err(fault(at.0, at.1, "it never begins", "look at what it waits for"));
                    };
                    let word = |v: Option<u64>| v.map_or("any".to_owned(), |v| v.to_string());
                    let (from, tag) = (word(from.map(u64::from)), word(tag));
                    let what = format!("it waits for a message from rank {from} with tag {tag} that is never sent");
                    return Err(fault(at.0, at.1, what, "match the send's rank and tag"));
                }
            }
        }
        let cycle: Vec<_> = seen.iter().skip_while(|&&s| s != at).collect();
        let one_rank = cycle.iter().all(|c| c.0 == at.0);
        let names: Vec<String> = cycle.iter().take(6).map(|c| name(c.0, c.1)).collect();
        let more = if cycle.len() > 6 { format!(" and {} more", cycle.len() - 6) } else { String::new() };
        let of = if one_rank { "a cycle of dependencies" } else { "a deadlock of the application, not of the network" };
        let hint = if one_rank { "leave one of the dependencies out" } else { "let one of the ranks send before it receives" };
        let wait = if cycle.len() == 1 { "waits for itself" } else { "wait for each other" };
        Err(fault(at.0, at.1, format!("{of}: {}{more} {wait}", names.join(", ")), hint))
    }

    /// One that an operation waits for.
    fn waits(&self, walks: &[Walk], (rank, op): (u32, u32)) -> Option<(u32, u32)> {
        let w = &walks[rank as usize];
        if !w.begun[op as usize] {
            let p = &self.programs[rank as usize];
            let holds = |before: u32| {
                let on =
                    |&(later, start): &(u32, bool)| later == op && !if start { w.begun[before as usize] } else { w.ended[before as usize] };
                p.successors(before).iter().any(on)
            };
            return (0..p.ops.len() as u32).find(|&before| holds(before)).map(|before| (rank, before));
        }
        let Work::Receive { from, tag, .. } = self.programs[rank as usize].ops[op as usize].work else { return None };
        let sends = |peer: u32| {
            let fits = |o: &crate::Op| matches!(o.work, Work::Send { to, tag: t, .. } if to == rank && tag.is_none_or(|tag| tag == t));
            let ops = &self.programs[peer as usize].ops;
            (0..ops.len()).find(|&i| !walks[peer as usize].ended[i] && fits(&ops[i])).map(|i| (peer, i as u32))
        };
        (0..self.ranks()).filter(|&p| from.is_none_or(|f| f == p)).find_map(sends)
    }
}

impl Walk {
    fn of(ops: usize, waits_for: &[u32]) -> Walk {
        Walk { waits: waits_for.to_vec(), begun: vec![false; ops], ended: vec![false; ops], ..Walk::default() }
    }
}
