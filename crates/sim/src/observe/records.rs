//! The records of flows by number: those of the list in memory, or in pages where flows that are
//! over leave memory; those of messages of streamed jobs and of other programs in pages.
//!
//! ```text
//!   number   0 ... listed - 1 | listed ...
//!            Vec              | Paged: untouched records are made from the job's operations
//!            empty            | Paged: records of flows that are handed in
//! ```

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use xoff_net::jobs::{Jobs, Pages};
use xoff_net::workload::{Flow, message_flow};
use xoff_units::paged::{Flat, PageFile, Paged};
use xoff_units::state::{Broken, Reader, State, Walk};
use xoff_units::{FlowId, NodeId, Time};

use crate::observe::flows::{FlowRecord, Seen};

impl Flat for FlowRecord {
    const BYTES: usize = Flow::BYTES + Seen::BYTES;
    fn put(&self, to: &mut [u8]) {
        let (flow, seen) = to.split_at_mut(Flow::BYTES);
        self.flow.put(flow);
        Seen::of(self).put(seen);
    }
    fn take(from: &[u8]) -> Self {
        Seen::take(&from[Flow::BYTES..]).record(Flow::take(&from[..Flow::BYTES]))
    }
}

/// Records of a page, and pages in memory: some 20 MB.
const IN_MEMORY: (usize, usize) = (1024, 64);

/// Records of flows.
#[derive(Default)]
pub(crate) struct Records {
    listed: Vec<FlowRecord>,
    messages: Option<Box<Paged<FlowRecord>>>,
}

impl Records {
    /// Records of these flows, and of the messages of streamed jobs, which have the numbers after
    /// them.
    pub fn new(listed: &[Flow], jobs: Option<&Arc<Jobs>>) -> Records {
        let listed: Vec<FlowRecord> =
            listed.iter().map(|f| FlowRecord::new(f.clone(), 0)).collect();
        let messages = jobs.and_then(|j| Some((j, j.pages()?))).map(|(jobs, pages)| {
            // Every rank stands somewhere else in its own, as a sender and as a receiver of others.
            let (page, most) = (pages.page / 4, 16 * jobs.ranks() + 16);
            let (from, jobs) = (listed.len() as u64, jobs.clone());
            let many = jobs.flows();
            let made = move |n: u64| FlowRecord::new(message_flow(&jobs, (from + n) as u32), 0);
            Box::new(Paged::new(&pages.file, many, (page, most), made))
        });
        Records { listed, messages }
    }

    /// The same, all in pages of a file.
    pub fn streamed(listed: &Arc<Vec<Flow>>, jobs: Option<&Arc<Jobs>>, pages: &Pages) -> Records {
        let jobs = jobs.filter(|j| j.are_streamed()).cloned();
        let many = listed.len() as u64 + jobs.as_ref().map_or(0, |j| j.flows());
        let listed = listed.clone();
        let made = move |n: u64| {
            let message = || message_flow(jobs.as_ref().expect("its flow is listed"), n as u32);
            FlowRecord::new(listed.get(n as usize).cloned().unwrap_or_else(message), 0)
        };
        let messages = Paged::new(&pages.file, many, IN_MEMORY, made);
        Records { listed: Vec::new(), messages: Some(Box::new(messages)) }
    }

    /// Records of flows that begin later, in pages of this file.
    pub fn paged(file: &PageFile) -> Records {
        // A place before its flow.
        let made = |_| {
            let flow = Flow {
                src: NodeId(0),
                dst: NodeId(0),
                priority: 0,
                size: 0,
                start: Time::NEVER,
                rate: None,
                controlled: false,
                src_port: 0,
                dst_port: 0,
                path: None,
                label: 0,
            };
            FlowRecord::new(flow, 0)
        };
        Records {
            listed: Vec::new(),
            messages: Some(Box::new(Paged::new(file, 0, IN_MEMORY, made))),
        }
    }

    /// The next flow. Returns its number.
    pub fn append(&mut self, record: FlowRecord) -> FlowId {
        let listed = self.listed.len() as u64;
        let number = match &self.messages {
            Some(messages) => {
                messages.push(record);
                listed + messages.len() - 1
            }
            None => {
                self.listed.push(record);
                listed
            }
        };
        FlowId(number as u32)
    }

    /// Record of a flow.
    #[inline(always)]
    pub fn at(&mut self, flow: FlowId) -> &mut FlowRecord {
        if flow.index() < self.listed.len() {
            &mut self.listed[flow.index()]
        } else {
            self.message(flow)
        }
    }

    #[cold]
    fn message(&mut self, flow: FlowId) -> &mut FlowRecord {
        let n = flow.index() - self.listed.len();
        self.messages.as_mut().expect("a flow that is not listed is a message").get_mut(n as u64)
    }

    /// The flow of a number; `None`: there is none.
    pub fn known(&self, flow: FlowId) -> Option<Flow> {
        if let Some(record) = self.listed.get(flow.index()) {
            return Some(record.flow.clone());
        }
        let n = u64::from(flow) - self.listed.len() as u64;
        self.messages.as_ref().filter(|m| n < m.len()).map(|m| m.get(n).flow)
    }

    /// True if the records of messages are in pages.
    pub fn are_paged(&self) -> bool {
        self.messages.is_some()
    }

    /// Goes through the records of messages, if they are in pages.
    pub fn walk_messages<W: Walk>(&self, w: &mut W) -> Result<(), W::Stop> {
        let Some(messages) = &self.messages else { return Ok(()) };
        messages.len().walk(w)?;
        messages.range(0, messages.len()).try_for_each(|record| record.walk(w))
    }

    /// Adds the records that [`Self::walk_messages`] went through, where there are none yet.
    pub fn restore_messages(&self, from: &mut Reader) -> Result<(), Broken> {
        let Some(messages) = &self.messages else { return Ok(()) };
        for _ in 0..from.take::<u64>()? {
            messages.push(from.take()?);
        }
        Ok(())
    }

    /// Adds the record of another partition of the network.
    pub fn add(&mut self, other: &Records) {
        self.listed.iter_mut().zip(&other.listed).for_each(|(f, o)| f.add(o));
        let (Some(mine), Some(messages)) = (&self.messages, &other.messages) else { return };
        for (n, seen) in (0u64..).zip(messages.range(0, messages.len())) {
            if !Seen::of(&seen).is_nothing() || seen.flow.start < Time::NEVER {
                mine.update(n, |f| f.add(&seen));
            }
        }
    }

    /// Records of the list, and records of messages.
    pub fn into_parts(self) -> (Vec<FlowRecord>, Option<Box<Paged<FlowRecord>>>) {
        (self.listed, self.messages)
    }
}

impl Deref for Records {
    type Target = Vec<FlowRecord>;
    fn deref(&self) -> &Vec<FlowRecord> {
        &self.listed
    }
}

impl DerefMut for Records {
    fn deref_mut(&mut self) -> &mut Vec<FlowRecord> {
        &mut self.listed
    }
}
