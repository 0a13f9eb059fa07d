//! Matches receives of hosts with the bytes that messages have delivered.

use std::collections::{HashMap, VecDeque};

use xoff_units::NodeId;
use xoff_units::state::State;

use super::{Message, Receive};

/// Source, destination and tag.
type Key = (NodeId, NodeId, u64);

/// Receives that wait, and bytes that wait for a receive.
#[derive(Default, State)]
pub(super) struct Receives {
    open: HashMap<Key, Open>,
    made: u64,
}

/// One of both waits.
#[derive(Default, State)]
struct Open {
    /// Bytes that have been delivered and not been received.
    bytes: u64,
    /// Receives in their order: number, token, bytes.
    waiting: VecDeque<(u64, u64, u64)>,
}

impl Receives {
    /// Adds a receive. Returns its number, and number and token of those that are complete.
    pub fn expect(&mut self, r: &Receive) -> (u64, Vec<(u64, u64)>) {
        let id = self.made;
        self.made += 1;
        let key = (r.src, r.dst, r.tag);
        self.open.entry(key).or_default().waiting.push_back((id, r.token, r.bytes.max(1)));
        (id, self.serve(key))
    }

    /// Adds the bytes of a message. Returns number and token of the receives that are complete.
    pub fn deliver(&mut self, m: &Message) -> Vec<(u64, u64)> {
        let key = (m.src, m.dst, m.tag);
        let open = self.open.entry(key).or_default();
        open.bytes = open.bytes.saturating_add(m.bytes.max(1));
        self.serve(key)
    }

    fn serve(&mut self, key: Key) -> Vec<(u64, u64)> {
        let Some(open) = self.open.get_mut(&key) else { return Vec::new() };
        let mut complete = Vec::new();
        while let Some(&(id, token, bytes)) = open.waiting.front().filter(|r| r.2 <= open.bytes) {
            open.bytes -= bytes;
            open.waiting.pop_front();
            complete.push((id, token));
        }
        if open.bytes == 0 && open.waiting.is_empty() {
            self.open.remove(&key);
        }
        complete
    }
}
