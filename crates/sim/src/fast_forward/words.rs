//! The state of a network in words, to find out whether it recurs (see [`xoff_units::state`]).
//!
//! A word is a number with the group that it belongs to. Two states recur if their words are equal
//! in number and group, those of no group in value, and all words of a group have grown by the same
//! amount: times by the period, byte offsets of a flow by the bytes that it sent in the period,
//! credit counters of a link by the bytes that passed it.

use rustc_hash::FxHashMap;
use xoff_net::jobs::Jobs;
use xoff_node::{Frame, FrameStore};
use xoff_units::state::{Meaning, State, Walk};
use xoff_units::{Class, FlowId, NodeId, Time};

use crate::wire::layout::Layout;

/// Group of numbers that grow together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Group {
    /// No group: such numbers have to be equal.
    Plain,
    /// Points in time.
    Time,
    /// Byte offsets of a flow.
    Flow(u32),
    /// Counters of a link and class, by the port that transmits there.
    Counter(u32, u8),
    /// Second counters of a link and class.
    Number(u32, u8),
    /// Places in the list of flows that a node has begun.
    Slot(NodeId),
    /// Iterations of a job.
    Iteration(u32),
    /// Byte offsets of a message of a job, in whichever iteration.
    Message(u32, u32),
}

/// A state.
pub(super) type Words = Vec<(Group, u64)>;

/// Growth of each group.
pub(super) type Growth = FxHashMap<Group, u64>;

/// Reason why no words were written.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// The state is another one.
    Differs,
    /// A part that cannot be written.
    Unwritten(String),
}

/// Destination of words.
pub(super) enum Out<'w> {
    /// Store them.
    Keep(&'w mut Words),
    /// Compare them with earlier words, up to the first difference.
    Compare { with: &'w [(Group, u64)], at: usize, growth: Growth },
}

/// Writes states as words.
pub(super) struct Writer<'w> {
    pub out: Out<'w>,
    pub frames: &'w FrameStore,
    layout: &'w Layout,
    jobs: Option<&'w Jobs>,
    /// Everything before this time has happened.
    at: Time,
    /// Byte offsets of the flow at hand.
    flow: Group,
    node: NodeId,
    job: u32,
    /// The port at hand, counted over the whole network, and whether the link that leads to it is
    /// meant instead of its own.
    port: u32,
    of_feeder: bool,
    class: Class,
    /// The next port of the node at hand, and the next class of the port at hand.
    next_port: u32,
    next_class: Class,
    /// Words written.
    pub count: usize,
}

impl<'w> Writer<'w> {
    pub fn new(
        out: Out<'w>,
        frames: &'w FrameStore,
        layout: &'w Layout,
        jobs: Option<&'w Jobs>,
        at: Time,
    ) -> Writer<'w> {
        Writer {
            out,
            frames,
            layout,
            jobs,
            at,
            flow: Group::Flow(0),
            node: NodeId(0),
            job: 0,
            port: 0,
            of_feeder: false,
            class: Class(0),
            next_port: 0,
            next_class: Class(0),
            count: 0,
        }
    }

    /// A node, by its number.
    pub fn node(&mut self, node: NodeId, state: &impl State) -> Result<(), Stop> {
        self.node = node;
        self.next_port = self.layout.ports.of(node, 0);
        state.walk(self)
    }

    /// A rank of a job.
    pub fn rank(&mut self, job: u32, state: &impl State) -> Result<(), Stop> {
        self.job = job;
        state.walk(self)
    }

    /// A flow: that of the list, or a message of an iteration.
    fn flow(&mut self, flow: FlowId) -> Result<(), Stop> {
        let jobs = self.jobs;
        let of = jobs.and_then(|jobs| Some((jobs, jobs.of_flow(flow.0)?)));
        let Some((jobs, job)) = of else {
            self.flow = Group::Flow(flow.0);
            return self.put(Group::Plain, u64::from(flow));
        };
        let (iteration, message) = jobs.jobs[job].of_flow(flow.0);
        self.flow = Group::Message(job as u32, message);
        self.put(Group::Iteration(job as u32), iteration as u64)?;
        self.put(Group::Plain, message as u64)
    }

    /// A frame that arrives at a port.
    pub fn arriving(&mut self, port: u32, frame: u32) -> Result<(), Stop> {
        (self.port, self.of_feeder) = (port, false);
        self.frame(&self.frames[frame])
    }

    /// One word.
    pub fn put(&mut self, group: Group, value: u64) -> Result<(), Stop> {
        self.count += 1;
        match &mut self.out {
            Out::Keep(words) => words.push((group, value)),
            Out::Compare { with, at, growth } => {
                let Some(&(g, before)) = with.get(*at) else { return Err(Stop::Differs) };
                *at += 1;
                let grown = value.wrapping_sub(before);
                let same = g == group && *growth.entry(group).or_insert(grown) == grown;
                if !same || group == Group::Plain && grown != 0 {
                    return Err(Stop::Differs);
                }
            }
        }
        Ok(())
    }

    fn frame(&mut self, frame: &Frame) -> Result<(), Stop> {
        let (flow, class) = (self.flow, self.class);
        self.class = frame.class();
        frame.walk(self)?;
        (self.flow, self.class) = (flow, class);
        Ok(())
    }

    /// The link that counters belong to, by the port that transmits there.
    fn link(&self) -> u32 {
        if self.of_feeder { self.layout.ports.peer(self.port) } else { self.port }
    }
}

impl Walk for Writer<'_> {
    type Stop = Stop;
    const COMPARES: bool = true;

    fn number(&mut self, meaning: Meaning, value: u64) -> Result<(), Stop> {
        let never = value == Time::NEVER.0;
        match meaning {
            Meaning::Time if !never => self.put(Group::Time, value),
            Meaning::Deadline if value < self.at.0 => self.put(Group::Plain, 0),
            Meaning::Deadline if !never => self.put(Group::Time, value),
            Meaning::Sequence => self.put(self.flow, value),
            Meaning::Counter => self.put(Group::Counter(self.link(), self.class.0), value),
            Meaning::Number => self.put(Group::Number(self.link(), self.class.0), value),
            Meaning::Ticks => self.put(Group::Plain, self.at.0 % value.max(1)),
            Meaning::Flow => self.flow(FlowId(value as u32)),
            Meaning::Slot => self.put(Group::Slot(self.node), value),
            Meaning::Iteration => self.put(Group::Iteration(self.job), value),
            Meaning::Frame => self.frame(&self.frames[value as u32]),
            Meaning::Frames => {
                let frames = self.frames;
                for frame in frames.list(value as u32) {
                    self.put(Group::Plain, 1)?;
                    self.frame(frame)?;
                }
                self.put(Group::Plain, 0)
            }
            Meaning::Plain | Meaning::Time | Meaning::Deadline => self.put(Group::Plain, value),
        }
    }

    fn refuse(&mut self, what: &'static str) -> Result<(), Stop> {
        Err(Stop::Unwritten(what.to_owned()))
    }

    fn structure(&mut self, name: &'static str) {
        match name {
            "Port" => {
                (self.port, self.next_class) = (self.next_port, Class(0));
                self.next_port += 1;
            }
            "ClassState" => {
                self.class = self.next_class;
                self.next_class = self.next_class + 1;
            }
            _ => {}
        }
    }

    fn feeder(&mut self, on: bool) -> bool {
        std::mem::replace(&mut self.of_feeder, on)
    }
}
