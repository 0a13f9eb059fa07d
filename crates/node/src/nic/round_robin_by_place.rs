//! Round robin by place ([`Compat::round_robin_by_place`](crate::Compat)): one ring for all
//! classes, and a place in it instead of a flow.
//!
//! Flows that are over leave the ring when they are asked, from the first of them on; the place
//! served last moves only with a flow that was picked, so that it is another flow's when some left
//! and none could send (`RdmaEgressQueue::GetNextQindex`).

use xoff_units::state::State;

use super::round_robin::{Answer, Flows};

/// The ring.
#[derive(Debug, Default, State)]
pub(super) struct RoundRobinByPlace {
    pub flows: Vec<u32>,
    /// Place in it that was served last.
    last: usize,
}

impl RoundRobinByPlace {
    /// Next flow in round robin order that may send, after the place served last.
    pub fn pick(&mut self, flows: &mut impl Flows) -> Option<u32> {
        let n = self.flows.len();
        let mut picked = None;
        let mut first_over = n;
        for k in 1..=n {
            let at = (k + self.last) % n;
            match flows.ask(self.flows[at]) {
                Answer::Go => {
                    picked = Some(at);
                    break;
                }
                Answer::Over => first_over = first_over.min(at),
                Answer::Waits(_) | Answer::Held(_) => {}
            }
        }
        let slot = picked.map(|at| self.flows[at]);
        if first_over < n {
            let mut keep = first_over;
            for at in first_over + 1..n {
                if !flows.finished(self.flows[at]) {
                    if picked == Some(at) {
                        picked = Some(keep);
                    }
                    self.flows[keep] = self.flows[at];
                    keep += 1;
                }
            }
            self.flows.truncate(keep);
        }
        if let Some(at) = picked {
            self.last = at;
        }
        slot
    }

    /// The flow at the place after the one served last.
    pub fn likely(&self) -> Option<u32> {
        self.flows.get(self.last + 1).or(self.flows.first()).copied()
    }
}
