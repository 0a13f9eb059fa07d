//! A world that is one of several processes' share of a network.
//!
//! ```text
//!   process 0   its nodes | nodes of others: Remote        run to T + lookahead ----|==| ...
//!   process 1   its nodes | nodes of others: Remote        run to T + lookahead ----|==| ...
//!                                                                                meeting: one mail for each of the others
//!                                                                                         (where I stand, frames for you)
//! ```
//!
//! Every process executes the same run. Decisions that need figures of all nodes are the same in
//! every process ([`Others::joined`]), and so are global events. Each process handles the events of
//! its own nodes, and sends rows, counters and broken promises to the first process.

use super::meeting::{self, Meeting, Standing};
use super::*;
use crate::observe::flows::Seen;
use crate::observe::monitor::Counts;
use crate::observe::outcome::{PortCnms, PortTotals};
use crate::observe::taken::Taken;
use crate::processes::{Processes, pack, unpack};
use xoff_node::PoolUse;
use xoff_units::NodeId;
use xoff_units::state::{Reader, Value};

/// Meetings after which a run returns to who drives it: a network with little to do in a window
/// meets often, and a user who stops it does not want to wait for so many events as are worth a
/// stretch.
pub(super) const MEETINGS: u64 = 500;

/// One process among others.
struct Among<'a> {
    processes: &'a mut dyn Processes,
    mail: &'a mut Vec<Vec<u8>>,
}

impl Among<'_> {
    /// Exchanges frames under way, with a leading word for all; returns the leading words of the
    /// others, by number.
    fn exchange<T: Value>(&mut self, mine: &T, core: &mut Core) -> Vec<T> {
        let share = Share::of(self.processes);
        for (process, mail) in self.mail.iter_mut().enumerate() {
            mail.clear();
            pack(mail, |to| {
                to.put(mine);
                core.outgoing[share.local(process)].drain(..).for_each(|frame| to.put(&frame));
            });
        }
        core.first_outgoing = EventKey::NEVER;
        self.processes.exchange(self.mail);
        let mut words = Vec::with_capacity(self.mail.len());
        for mail in self.mail.iter() {
            let mut from = Reader::new(mail);
            words.push(unpack(&mut from));
            while !from.is_over() {
                core.enter(unpack(&mut from));
            }
        }
        words
    }
}

impl Meeting for Among<'_> {
    fn meet(&mut self, mine: Standing, core: &mut Core) -> Standing {
        self.exchange(&mine, core).into_iter().fold(Standing::NOWHERE, Standing::and)
    }
}

impl World {
    /// From here on the run is that of all these processes: each calls this once, with its share of
    /// the same network built from the same model ([`Model::share`](crate::Model::share)), and then
    /// whatever the others call. The recorder of the first one gets the rows of all.
    ///
    /// Queries of a world - [`World::sample_ports`], [`World::flows_now`] and the like - return
    /// this process's share.
    pub fn join(&mut self, processes: Box<dyn Processes>) {
        assert_eq!(self.share, Some(Share::of(&*processes)), "a world is built for its share");
        self.others = Others::new(processes);
        let recording = self.others.joined(self.recorder.is_some(), |a, b| a | b);
        self.partitions.iter_mut().for_each(|p| p.core.monitor.rows.recording = recording);
        self.exchange_with_others();
    }

    /// Processes of this run.
    pub fn processes(&self) -> usize {
        self.others.count()
    }

    /// Processes that have nodes to simulate: there may be more processes than switches.
    pub fn busy_processes(&self) -> usize {
        self.busy
    }

    /// The sum of a figure over all processes; each of them asks.
    pub fn sum_over_processes(&mut self, mine: u64) -> u64 {
        self.others.joined(mine, u64::saturating_add)
    }

    /// Hands over the frames that are on their way to nodes of other processes.
    pub(super) fn exchange_with_others(&mut self) {
        if let Some((processes, mail)) = self.others.processes() {
            Among { processes, mail }.exchange(&0u8, &mut self.partitions[0].core);
        }
    }

    /// [`World::advance`] of all processes.
    pub(super) fn advance_together(&mut self, next: Time, task: Task) {
        let count = self.others.count() as u64;
        let Some((processes, mail)) = self.others.processes() else { return };
        let looks = task.looks.map(|(mut look, left)| {
            look.move_on(next);
            (look, left)
        });
        let mine = &mut self.partitions[0];
        let task = Task {
            events: task.events.saturating_mul(count),
            windows: MEETINGS - self.met,
            looks,
            ..task
        };
        let stretch = meeting::run(mine, &mut Among { processes, mail }, task);
        self.elsewhere = stretch.standing.events - mine.core.events;
        self.met += stretch.windows;
        self.now = self.now.max(stretch.standing.reached);
        self.looks = stretch.looks;
    }
}

/// Totals of a run, as far as this process has seen them.
pub(super) struct Sums<'a> {
    pub ports: &'a mut [Vec<PortTotals>],
    pub begun: &'a mut usize,
    pub flow_collisions: &'a mut u64,
    pub pools: &'a mut BTreeMap<NodeId, Vec<PoolUse>>,
    pub counts: &'a mut Counts,
    pub flows: &'a mut [FlowRecord],
    pub cnms: &'a mut BTreeMap<PortId, PortCnms>,
    pub taken: &'a mut Taken,
}

impl Sums<'_> {
    /// At the first process: as far as all have seen it.
    pub fn join(self, others: &mut Others) {
        let (begun, collisions) = others
            .joined((*self.begun as u64, *self.flow_collisions), |a, b| (a.0 + b.0, a.1 + b.1));
        (*self.begun, *self.flow_collisions) = (begun as usize, collisions);
        *self.counts = others.joined(std::mem::take(self.counts), |mut a, b| {
            a.add(&b);
            a
        });
        *self.pools =
            others.at_first(std::mem::take(self.pools).into_iter().collect()).into_iter().collect();
        *self.cnms =
            others.at_first(std::mem::take(self.cnms).into_iter().collect()).into_iter().collect();
        // At the others nothing is left.
        let taken = others.at_first(std::mem::take(self.taken).into_list());
        *self.taken = Taken::of_list(taken);
        // A port is counted where its node is: elsewhere nothing has happened to it.
        let counted = |ports: &[PortTotals]| ports.iter().any(|p| *p != PortTotals::default());
        let nodes = (0u32..)
            .zip(self.ports.iter())
            .filter(|n| counted(n.1))
            .map(|(n, ports)| (n, ports.clone()));
        let nodes = if others.is_first() { Vec::new() } else { nodes.collect() };
        others.at_first(nodes).into_iter().for_each(|(n, ports)| self.ports[n as usize] = ports);
        let seen = (0u32..)
            .zip(self.flows.iter())
            .map(|(n, f)| (n, Seen::of(f)))
            .filter(|f| !f.1.is_nothing());
        let seen = if others.is_first() { Vec::new() } else { seen.collect() };
        for (n, seen) in others.at_first(seen) {
            let record = &mut self.flows[n as usize];
            record.add(&seen.record(record.flow.clone()));
        }
    }
}
