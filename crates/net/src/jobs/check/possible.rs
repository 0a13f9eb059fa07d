//! Whether a job can complete if receives take messages of any source or tag. The matching depends
//! on the run, so only a job that no order of messages could complete is rejected.
//!
//! ```text
//!   counts      as many messages to a rank as receives there, and enough of each source and tag for those that name them
//!   progress    a receive ends once as many messages that it could take have been sent as receives of its kind were posted: less than that
//!               ends none, so an operation that never ends here ends in no run
//! ```

use std::collections::{BTreeMap, VecDeque};

use super::{Fault, Walk, fault};
use crate::jobs::graph::{Graph, Work};

/// Request of a receive: source and tag; `None`: any.
type Kind = (Option<u32>, Option<u64>);

/// The kinds of receives that take a message.
fn kinds(from: u32, tag: u64) -> [Kind; 4] {
    [(Some(from), Some(tag)), (Some(from), None), (None, Some(tag)), (None, None)]
}

fn words((from, tag): Kind) -> String {
    let word = |v: Option<u64>| v.map_or("any".to_owned(), |v| v.to_string());
    format!("rank {} with tag {}", word(from.map(u64::from)), word(tag))
}

/// Traffic of a rank, by kind: number of sent messages, number of posted receives, and the waiting
/// ones.
#[derive(Default)]
struct Coming {
    sent: BTreeMap<Kind, usize>,
    posted: BTreeMap<Kind, VecDeque<u32>>,
    ended: BTreeMap<Kind, usize>,
}

/// Number of messages of a kind, and the rank and operation of the last one.
type Sent = (usize, (u32, u32));

impl Graph {
    /// Whether a receive takes messages of any source or tag.
    pub fn takes_any(&self) -> bool {
        let any = |w: &Work| matches!(w, Work::Receive { from, tag, .. } if from.is_none() || tag.is_none());
        self.programs.iter().flat_map(|p| p.ops()).any(|o| any(&o.work))
    }

    pub(super) fn possible(&self, name: &dyn Fn(u32, u32) -> String) -> Result<(), Fault> {
        self.counts_fit()?;
        let mut walks: Vec<Walk> = self.programs.iter().map(|p| Walk::of(self, p)).collect();
        let mut coming: Vec<Coming> = self.programs.iter().map(|_| Coming::default()).collect();
        let mut ready = self.first();
        while let Some((rank, op)) = ready.pop_front() {
            walks[rank as usize].steps.update(op as usize, |s| s.begun = true);
            self.release(&mut walks, rank, op, true, &mut ready);
            let (at, touched) = match self.programs[rank as usize].op(op).work {
                Work::Compute(_) => {
                    self.end(&mut walks, rank, op, &mut ready);
                    continue;
                }
                Work::Send { to, tag, .. } => {
                    self.end(&mut walks, rank, op, &mut ready);
                    let touched = kinds(rank, tag);
                    touched
                        .iter()
                        .for_each(|k| *coming[to as usize].sent.entry(*k).or_default() += 1);
                    (to, touched.to_vec())
                }
                Work::Receive { from, tag, .. } => {
                    coming[rank as usize].posted.entry((from, tag)).or_default().push_back(op);
                    (rank, vec![(from, tag)])
                }
            };
            for kind in touched {
                let c = &mut coming[at as usize];
                let (sent, ended) =
                    (c.sent.get(&kind).copied().unwrap_or(0), c.ended.entry(kind).or_default());
                let Some(posted) = c.posted.get_mut(&kind) else { continue };
                let take = posted.len().min(sent.saturating_sub(*ended));
                *ended += take;
                let ends: Vec<u32> = posted.drain(..take).collect();
                ends.into_iter().for_each(|op| self.end(&mut walks, at, op, &mut ready));
            }
        }
        self.all_ended(&walks, name)
    }

    /// Whether each rank gets as many messages as receives, and enough for those that name a source
    /// or a tag.
    fn counts_fit(&self) -> Result<(), Fault> {
        let ranks = self.programs.len();
        // By rank and kind: messages, with the send of the last one, and receives, with the last
        // one.
        let mut sent: Vec<BTreeMap<Kind, Sent>> = vec![BTreeMap::new(); ranks];
        let mut received: Vec<BTreeMap<Kind, (usize, u32)>> = vec![BTreeMap::new(); ranks];
        for (rank, p) in (0u32..).zip(&self.programs) {
            for (op, o) in (0u32..).zip(p.ops()) {
                match o.work {
                    Work::Send { to, tag, .. } => {
                        for kind in kinds(rank, tag) {
                            let all = sent[to as usize].entry(kind).or_insert((0, (rank, op)));
                            *all = (all.0 + 1, (rank, op));
                        }
                    }
                    Work::Receive { from, tag, .. } => {
                        let all = received[rank as usize].entry((from, tag)).or_insert((0, op));
                        *all = (all.0 + 1, op);
                    }
                    Work::Compute(_) => {}
                }
            }
        }
        for (rank, (sent, received)) in (0u32..).zip(sent.iter().zip(&received)) {
            for (&kind, &(receives, op)) in received {
                let messages = sent.get(&kind).map_or(0, |s| s.0);
                if receives > messages {
                    let what = format!(
                        "{receives} receives expect a message from {}, but {messages} such messages are sent",
                        words(kind)
                    );
                    return Err(fault(rank, op, what, "match the send's rank and tag"));
                }
            }
            let receives: usize = received.values().map(|r| r.0).sum();
            let Some(&(messages, (from, send))) = sent.get(&(None, None)) else { continue };
            if messages > receives {
                // Of a source and tag with more messages than anything there could take, if there
                // is one.
                let takes = |from, tag| {
                    kinds(from, tag)
                        .iter()
                        .filter_map(|k| received.get(k))
                        .map(|r| r.0)
                        .sum::<usize>()
                };
                let surplus = sent
                    .iter()
                    .find_map(|(&k, &(n, at))| (n > takes(k.0?, k.1?)).then_some(at))
                    .unwrap_or((from, send));
                let what = format!(
                    "its message to rank {rank} is never received: that rank gets {messages} messages, but has {receives} receives"
                );
                return Err(fault(
                    surplus.0,
                    surplus.1,
                    what,
                    format!("add a receive at rank {rank} for each message"),
                ));
            }
            if receives > messages {
                let op = received.values().map(|r| r.1).max().unwrap_or(0);
                let what = format!(
                    "{receives} receives, but {messages} messages are sent to rank {rank}: a receive waits for a message that is never \
                     sent"
                );
                return Err(fault(rank, op, what, "add a send for each receive"));
            }
        }
        Ok(())
    }
}
