//! A network that another program drives: it submits messages and timers, and receives their
//! results, one after the other. So a simulator of computing hosts gets a lossless network.
//!
//! ```text
//!   send(message) ---> the network: exact, frame by frame --\
//!   schedule(time) --> timers ------------------------------+--> next() : sent, delivered, timer, deadlock; time stops there
//! ```

use std::cmp::Reverse;
use std::collections::hash_map::Entry;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::path::Path;

use xoff_net::topology::NodeKind;
use xoff_net::topology::routing::Routes;
use xoff_net::workload::{DST_PORT, Flow, UNLIMITED, src_port};
use xoff_scenario::document::{Document, Override};
use xoff_scenario::{Problem, Problems};
use xoff_sim::{PathFacts, SLICE, World, path_facts};
use xoff_units::params::ParamError;
use xoff_units::{FlowId, NodeId, Span, Time};

use super::NetworkScenario;
use super::execute::ALONE;
use super::read::read_driven;
use crate::RunError;

/// A message from one host to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Number of the sending host, see [`Driven::host`].
    pub src: NodeId,
    /// Number of the receiving host.
    pub dst: NodeId,
    /// Payload [bytes], at least 1.
    pub bytes: u64,
    /// Priority, one of those that the network was made for.
    pub priority: u8,
    /// Messages of one queue pair leave one after the other, by one way, and share their congestion
    /// state; `None`: a pair of its own.
    pub queue_pair: Option<u16>,
    /// Value of the driver that returns with the result.
    pub tag: u64,
}

/// Event of a driven network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// The source has begun to put the last frame of a message on its wire: the next one of its
    /// queue pair follows.
    Sent,
    /// The last byte of a message has arrived, and all before it.
    Delivered,
    /// A time that was asked for has come.
    Timer,
    /// The deadlock detector has found ports that can never send again. From then on each wait
    /// without a limit ends so.
    Deadlock,
}

/// Something that has happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Happened {
    /// Kind of the event.
    pub what: What,
    /// Time of the event.
    pub at: Time,
    /// Number of the message, or of the timer, as [`Driven::send`] or [`Driven::schedule`] returned
    /// it.
    pub id: u64,
    /// The tag that was given with it.
    pub tag: u64,
}

/// A network that another program drives.
pub struct Driven {
    scenario: NetworkScenario,
    world: World,
    routes: Routes,
    facts: HashMap<(NodeId, NodeId), PathFacts>,
    /// Messages without a queue pair of their own, by source and destination.
    sent: HashMap<(NodeId, NodeId), u64>,
    /// By number of the flow: the message that it is, with its number. Flows of the scenario are
    /// none.
    messages: HashMap<FlowId, (u64, Message)>,
    messages_made: u64,
    /// Queue pairs by source, destination and number: each counted at its source in the order of
    /// first use.
    pairs: HashMap<(NodeId, NodeId, u16), u32>,
    /// Number of pairs of each source.
    pairs_of: HashMap<NodeId, u32>,
    /// By queue pair in use: the messages that wait for it.
    behind: HashMap<(NodeId, NodeId, u16), VecDeque<(u64, Message)>>,
    /// Timers by time and number, with their tags.
    timers: BinaryHeap<Reverse<(Time, u64, u64)>>,
    timers_made: u64,
    waiting: VecDeque<Happened>,
    now: Time,
    deadlocks_reported: usize,
}

impl Driven {
    /// A network at rest, from the text of a scenario, which needs no flows; those that it has run
    /// as usual. Error messages contain `name`, files are looked up in `folder`. Messages may have
    /// any of `priorities`, each 0 to 7. `run.duration` ends nothing.
    ///
    /// # Errors
    /// All problems of the scenario, each with its place and the expected form; no priority, or one
    /// above 7.
    pub fn new(
        name: &str,
        text: &str,
        settings: &[Override],
        folder: &Path,
        priorities: &[u8],
    ) -> Result<Driven, Problems> {
        if priorities.is_empty() || priorities.iter().any(|p| *p > 7) {
            return Err(Problem::new(
                format!("priorities: {priorities:?}"),
                "expected one or more from 0 to 7",
            )
            .into());
        }
        let mut scenario =
            read_driven(Document::from_text(name, text, settings)?, folder, priorities)?;
        // The last flow of the scenario is not the end.
        scenario.model.stop_when_done = false;
        let world = scenario.build(&ALONE, Default::default()).map_err(|e| match e {
            RunError::Build(e) => Problem::new(format!("{}: {}", e.key, e.what), e.hint),
            other => Problem::new(other.to_string(), ""),
        })?;
        let routes = scenario.model.routing.routes(&scenario.topology);
        Ok(Driven {
            scenario,
            world,
            routes,
            facts: HashMap::new(),
            sent: HashMap::new(),
            messages: HashMap::new(),
            messages_made: 0,
            pairs: HashMap::new(),
            pairs_of: HashMap::new(),
            behind: HashMap::new(),
            timers: BinaryHeap::new(),
            timers_made: 0,
            waiting: VecDeque::new(),
            now: Time::ZERO,
            deadlocks_reported: 0,
        })
    }

    /// Number of the host with a name.
    pub fn host(&self, name: &str) -> Option<NodeId> {
        let nodes = &self.scenario.topology.nodes;
        nodes
            .iter()
            .position(|n| n.kind == NodeKind::Host && n.name == name)
            .map(|i| NodeId(i as u32))
    }

    /// The hosts, by number.
    pub fn hosts(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.scenario.topology.hosts()
    }

    /// Name of a node.
    pub fn name(&self, node: NodeId) -> Option<&str> {
        self.scenario.topology.nodes.get(node.index()).map(|n| n.name.as_str())
    }

    /// Present time: the time of the last [`Self::next`].
    pub fn now(&self) -> Time {
        self.now
    }

    /// Frames that were lost until now, of every kind.
    pub fn lost_frames(&self) -> u64 {
        self.world.lost_frames()
    }

    /// A message begins now. Returns its number.
    ///
    /// # Errors
    /// No such host, both ends the same, no route, nothing to send, a priority that the network was
    /// not made for, as many messages as can be distinguished: the argument, and the expected form.
    pub fn send(&mut self, m: &Message) -> Result<u64, ParamError> {
        let is_host = |n: NodeId| {
            self.scenario.topology.nodes.get(n.index()).is_some_and(|n| n.kind == NodeKind::Host)
        };
        for (key, node) in [("src", m.src), ("dst", m.dst)] {
            if !is_host(node) {
                return Err(ParamError::new(
                    key,
                    format!("node {node} is not a host"),
                    "expected the number of a host",
                ));
            }
        }
        if m.src == m.dst {
            return Err(ParamError::new(
                "dst",
                "the destination is the source itself",
                "name another host",
            ));
        }
        if m.bytes == 0 || m.bytes == UNLIMITED {
            return Err(ParamError::new(
                "bytes",
                format!("{} bytes", m.bytes),
                "expected 1 to 2^64 - 2",
            ));
        }
        if !self.scenario.flows.handed_in.contains(&m.priority) {
            let what = format!("priority {}", m.priority);
            return Err(ParamError::new(
                "priority",
                what,
                format!("expected one of {:?}", self.scenario.flows.handed_in),
            ));
        }
        let nth = match m.queue_pair {
            Some(pair) => pair as u64,
            None => {
                let count = self.sent.entry((m.src, m.dst)).or_insert(0);
                *count += 1;
                *count - 1
            }
        };
        let flow = flow_of(m, nth);
        let (scenario, routes) = (&self.scenario, &self.routes);
        if scenario.ports(routes, &flow).is_none() {
            let (src, dst) = (scenario.topology.name(m.src), scenario.topology.name(m.dst));
            return Err(ParamError::new(
                "dst",
                format!("{src} has no route to {dst}"),
                "choose hosts with a route between them",
            ));
        }
        if self.messages_made >= self.world.flows_max() {
            return Err(ParamError::new(
                "message",
                "the network has no message numbers left",
                "create a new network",
            ));
        }
        let id = self.messages_made;
        self.messages_made += 1;
        if let Some(number) = m.queue_pair {
            match self.behind.entry((m.src, m.dst, number)) {
                Entry::Occupied(mut before) => {
                    before.get_mut().push_back((id, *m));
                    return Ok(id);
                }
                Entry::Vacant(free) => free.insert(VecDeque::new()),
            };
        }
        self.begin(id, m, flow);
        Ok(id)
    }

    fn begin(&mut self, id: u64, m: &Message, flow: Flow) {
        let (scenario, routes) = (&self.scenario, &self.routes);
        let facts = *self.facts.entry((m.src, m.dst)).or_insert_with(|| {
            path_facts(&scenario.topology, routes, &scenario.model, m.src, m.dst)
        });
        let pair = m.queue_pair.map(|number| {
            *self.pairs.entry((m.src, m.dst, number)).or_insert_with(|| {
                let count = self.pairs_of.entry(m.src).or_insert(0);
                *count += 1;
                *count - 1
            })
        });
        let number = self.world.hand_in(flow, facts, pair);
        self.messages.insert(FlowId(number.0), (id, *m));
    }

    /// The last frame of a message leaves: the next one of its queue pair begins.
    fn follow_in_pair(&mut self, m: &Message) {
        let Some(number) = m.queue_pair else { return };
        let Entry::Occupied(mut waiting) = self.behind.entry((m.src, m.dst, number)) else {
            return;
        };
        match waiting.get_mut().pop_front() {
            Some((id, next)) => self.begin(id, &next, flow_of(&next, number.into())),
            None => drop(waiting.remove()),
        }
    }

    /// [`Self::next`] returns no later than this time from now. Returns the timer's number.
    pub fn schedule(&mut self, after: Span, tag: u64) -> u64 {
        let id = self.timers_made;
        self.timers_made += 1;
        self.timers.push(Reverse((Time(self.now.0.saturating_add(after.0)), id, tag)));
        id
    }

    /// Next event; `None`: no event until `until`, which is then the present time, or, if that is
    /// [`Time::NEVER`], no event ever. At equal times the network comes first, then timers in the
    /// order of their creation.
    pub fn next(&mut self, until: Time) -> Option<Happened> {
        loop {
            if let Some(next) = self.waiting.pop_front() {
                return Some(next);
            }
            let timer = self.timers.peek().map(|Reverse(t)| *t).filter(|t| t.0 <= until);
            let limit = timer.map_or(until, |t| t.0).max(self.now);
            self.run(limit);
            if !self.waiting.is_empty() {
                continue;
            }
            // Time stops while a caller waits without a limit.
            if timer.is_none() && limit == Time::NEVER {
                return (self.deadlocks_reported > 0).then(|| self.deadlock());
            }
            self.reach(limit);
            let (at, id, tag) = timer?;
            self.timers.pop();
            return Some(Happened { what: What::Timer, at, id, tag });
        }
    }

    /// Runs the network until something becomes known, or until `limit`.
    fn run(&mut self, limit: Time) {
        loop {
            let ended = self.world.run(limit, SLICE);
            for news in self.world.news() {
                self.now = news.at;
                let what = if news.delivered { What::Delivered } else { What::Sent };
                let Some(&(id, message)) = self.messages.get(&news.flow) else { continue };
                self.waiting.push_back(Happened { what, at: news.at, id, tag: message.tag });
                if news.delivered {
                    self.messages.remove(&news.flow);
                } else {
                    self.follow_in_pair(&message);
                }
            }
            if self.world.deadlocks().len() > self.deadlocks_reported {
                self.deadlocks_reported = self.world.deadlocks().len();
                self.now = self.now.max(self.world.now());
                let deadlock = self.deadlock();
                self.waiting.push_back(deadlock);
            }
            // In a blocked network, messages of flow control continue forever.
            let stands = limit == Time::NEVER && self.deadlocks_reported > 0;
            if ended.is_some() || !self.waiting.is_empty() || stands {
                return;
            }
        }
    }

    fn deadlock(&self) -> Happened {
        Happened { what: What::Deadlock, at: self.now, id: self.deadlocks_reported as u64, tag: 0 }
    }

    fn reach(&mut self, time: Time) {
        self.now = time;
        self.world.wait_until(time);
    }
}

/// The flow that a message is: the `nth` of its ends by source port. It begins when it is handed
/// in.
fn flow_of(m: &Message, nth: u64) -> Flow {
    Flow {
        src: m.src,
        dst: m.dst,
        priority: m.priority,
        size: m.bytes,
        start: Time::ZERO,
        rate: None,
        controlled: true,
        src_port: src_port(nth),
        dst_port: DST_PORT,
        path: None,
        label: 0,
    }
}

#[cfg(test)]
mod tests;
