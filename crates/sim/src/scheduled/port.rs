//! What a port of the fabric keeps at its edge, on the way in and on the way out (section 3.2, Fig.
//! 10).

use std::collections::VecDeque;
use xoff_units::state::{Broken, Reader, State, Walk, restore_each};

use xoff_mech::scheduled::Bits;
use xoff_mech::scheduled::request_grant::Granter;
use xoff_units::Rate;

/// Items of consecutive ports or edges: those of one part of the fabric.
pub(crate) struct Local<T> {
    first: usize,
    all: Vec<T>,
}

impl<T> Local<T> {
    /// One for each number.
    pub fn new(numbers: std::ops::Range<u32>, one: impl FnMut(u32) -> T) -> Local<T> {
        Local { first: numbers.start as usize, all: numbers.map(one).collect() }
    }
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.all.iter()
    }
    /// The numbers.
    pub fn numbers(&self) -> std::ops::Range<usize> {
        self.first..self.first + self.all.len()
    }
}

impl<T: State> State for Local<T> {
    fn walk<W: Walk>(&self, w: &mut W) -> Result<(), W::Stop> {
        w.list(self.all.iter())
    }
    fn restore(&mut self, from: &mut Reader) -> Result<(), Broken> {
        restore_each(self.all.len(), self.all.iter_mut(), from)
    }
}

impl<T> std::ops::Index<usize> for Local<T> {
    type Output = T;
    #[inline(always)]
    fn index(&self, number: usize) -> &T {
        &self.all[number - self.first]
    }
}
impl<T> std::ops::IndexMut<usize> for Local<T> {
    #[inline(always)]
    fn index_mut(&mut self, number: usize) -> &mut T {
        &mut self.all[number - self.first]
    }
}

/// A port.
#[derive(State)]
pub(crate) struct Port {
    /// Edge that it belongs to.
    #[state(built)]
    pub edge: u32,
    /// Outputs for which it has a segment to inject: the eligibility mask.
    pub eligible: Bits,
    /// Next position of the round robin.
    pub next: usize,
    /// Bytes in its VOQs.
    pub waiting: u64,
    /// The output arbiter.
    pub granter: Granter,
    /// Pending call of the arbiter [ps].
    pub grant_call: u64,
    /// Complete packets in the order in which they became complete, by source.
    pub line: VecDeque<u32>,
    /// Rate of the line.
    pub line_rate: Rate,
    /// The line is busy until then [ps].
    pub line_busy_until: u64,
    /// Earliest pending call of the line [ps].
    pub line_call: u64,
    /// Bytes of segments in the reorder and reassembly buffer, and the most there ever were.
    pub output_held: u64,
    pub output_held_max: u64,
}

/// An edge: ports that share uplinks into the fabric. An adapter has one of each.
#[derive(State)]
pub(crate) struct Edge {
    /// First port; the others follow.
    #[state(built)]
    pub first_port: u32,
    /// Links into the fabric, and those that may be idle.
    #[state(built)]
    pub uplinks: Vec<u32>,
    pub idle: Bits,
    /// Control in a lane of its own.
    pub lane: VecDeque<u32>,
    /// Ports that have something to inject.
    pub eligible: Bits,
    /// Next positions of the round robins: port, uplink.
    pub next_port: usize,
    pub next_uplink: usize,
}
