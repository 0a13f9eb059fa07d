//! Entry ports, which slow down before the others. Not in the paper: `docs/theory/gfc-repair.md`.
//!
//! ```text
//!   stage   transit port, by its buffer's occupancy     entry port, by the egress queue
//!     0     below B_1                                   below E_1
//!     1     B_1 .. B_2                                  E_1 .. E_2        E_k = B_1 - (B_1 - E_1)/2^(k-1), k <= s
//!     s     B_s .. B_s+1                                E_s .. B_1
//!   s + 1   B_s+1 ..                                    B_1 ..            the last one of this kind
//!
//!   bytes   0 ......... E_1 .... E_2 .. B_1 . B_2 . B_m                   s = 2 + log2 n, n entry ports
//! ```
//!
//! The queue of an egress is at least the bytes of any one ingress for it. So an entry port is
//! slowed down before every link that the same egress slows down, in any order of service. The
//! paper's rule holds at every port as well: the higher stage is announced, so that the buffer
//! needs no more room than without entry ports. It ends at stage s + 1: several transit ports may
//! keep an egress queue far above B_1, and an entry port must not starve behind them.

use xoff_units::Bytes;
use xoff_units::params::{ParamError, Values};
use xoff_units::state::State;

use super::{Params, StageTable};
use crate::flow_control::Waiting;
use crate::{ControlLoop, Unmet};

/// Stages by which entry ports are ahead of the others: the least s with 2^s >= 4 n. Then n entry
/// ports send at most a quarter of the rate of a link that the same egress slows down.
pub fn entry_stages(ports: u64) -> u16 {
    2 + ports.max(1).next_power_of_two().trailing_zeros() as u16
}

/// Smallest B_1 - E_1: 2 n C tau, rounded up. Eq. (1) of the paper for n ports that fill one queue.
pub fn entry_range(l: &ControlLoop, ports: u64) -> Bytes {
    l.arrivals(ports.saturating_mul(2))
}

/// Reads `entry_ports` and `entry_b1`.
pub(super) fn read(
    v: &mut dyn Values,
    l: &ControlLoop,
    b1: Bytes,
) -> Result<Option<(u64, Bytes)>, ParamError> {
    let (ports, given) = (v.count("entry_ports")?, v.bytes_opt("entry_b1")?);
    if ports == 0 {
        return match given {
            Some(_) => Err(ParamError::new(
                "entry_b1",
                "no port is an entry port: entry_ports = 0",
                "set entry_ports, or remove entry_b1",
            )),
            None => Ok(None),
        };
    }
    if ports > 1 << 10 {
        return Err(ParamError::new(
            "entry_ports",
            format!("{ports} entry ports share an egress"),
            "expected 0 to 1024",
        ));
    }
    let need = entry_range(l, ports);
    let e_1 = match given {
        Some(e_1) => e_1,
        None if need >= b1 => {
            let what = format!(
                "no default: {ports} entry ports need B_1 - E_1 >= {need}, but B_1 is {b1}"
            );
            return Err(ParamError::new(
                "entry_b1",
                what,
                "use a larger buffer, a shorter link, or an explicit entry_b1",
            ));
        }
        None => b1 - need,
    };
    if e_1.0 == 0 || e_1 >= b1 {
        return Err(ParamError::new(
            "entry_b1",
            format!("E_1 {e_1} must be between 0 and B_1 {b1}"),
            "see `xoff plan`",
        ));
    }
    Ok(Some((ports, e_1)))
}

/// Conditions of the repair.
pub(super) fn unmet(p: &Params, l: &ControlLoop) -> Vec<Unmet> {
    let Some((ports, e_1)) = p.entry else { return Vec::new() };
    let (need, idle) = (entry_range(l, ports), l.arrivals(1) + p.hysteresis);
    let mut all = Vec::new();
    if p.b1.saturating_sub(e_1) < need {
        all.push(Unmet {
            what: format!("entry_b1 {e_1} > B_1 - 2 n C tau = {}, for {ports} entry ports", p.b1.saturating_sub(need)),
            hint: "use a larger buffer, or fewer entry ports: transit ports may slow down before the entry ports".into(),
        });
    }
    if e_1 < idle {
        all.push(Unmet {
            what: format!("entry_b1 {e_1} < C tau + hysteresis = {idle}"),
            hint: "use a larger buffer, or fewer entry ports: an egress may run empty before its entry ports speed up".into(),
        });
    }
    all
}

/// Thresholds E_1 ..= E_s and B_1 of the queue at an egress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryTable {
    /// `starts[k-1]` = E_k, and B_1 behind them [bytes].
    starts: Vec<u64>,
}

impl EntryTable {
    /// Stages of n entry ports: from E_1 on towards B_1, rounded down so that a stage never begins
    /// late.
    pub fn new(ports: u64, e_1: Bytes, b_1: Bytes) -> EntryTable {
        let distance = |halvings: u16| (b_1.0 - e_1.0).div_ceil(1 << halvings);
        EntryTable {
            starts: (0..entry_stages(ports))
                .map(|halvings| b_1.0 - distance(halvings))
                .chain([b_1.0])
                .collect(),
        }
    }

    /// The stage of a queue; none that the sender's table `rest` does not have.
    pub fn stage(&self, queue: Bytes, rest: &StageTable) -> u16 {
        (self.starts.partition_point(|&e| e <= queue.0) as u16).min(rest.len() as u16)
    }
}

/// State of the receiver half of an entry port.
#[derive(Clone, Debug, PartialEq, Eq, State)]
pub(super) struct Entry {
    #[state(built)] // constant
    table: EntryTable,
    /// Stage by the ingress occupancy, as at every port.
    own: u16,
    /// Stage by the queue of the egress that counts.
    lead: u16,
    /// Egress with the highest stage at the last check.
    egress: u16,
}

impl Entry {
    pub(super) fn new(table: EntryTable) -> Entry {
        Entry { table, own: 0, lead: 0, egress: u16::MAX }
    }

    /// A frame joins a queue; `alone`: the ingress held nothing else.
    pub(super) fn joined(
        &mut self,
        rest: &StageTable,
        held: Bytes,
        egress: Waiting,
        hysteresis: Bytes,
        alone: bool,
    ) -> u16 {
        self.own = self.own.max(rest.stage(held));
        if self.table.stage(egress.bytes, rest) > self.lead {
            (self.lead, self.egress) = (self.table.stage(egress.bytes, rest), egress.port);
        } else if alone || egress.port == self.egress {
            self.egress = egress.port;
            self.lead = self.lead.min(self.table.stage(egress.bytes + hysteresis, rest));
        }
        self.own.max(self.lead)
    }

    /// A frame has left a queue.
    pub(super) fn left(
        &mut self,
        rest: &StageTable,
        held: Bytes,
        egress: Waiting,
        hysteresis: Bytes,
    ) -> u16 {
        self.own = self.own.min(rest.stage(held + hysteresis));
        if egress.port == self.egress {
            self.lead = self.lead.min(self.table.stage(egress.bytes + hysteresis, rest));
        }
        self.own.max(self.lead)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use xoff_units::Rate;

    #[test]
    fn entry_ports_slow_down_first_and_not_for_ever() {
        assert_eq!([1, 2, 3, 4, 5, 8].map(entry_stages), [2, 3, 4, 4, 5, 5]);
        let rest = StageTable::new(Bytes(1_000_000), Bytes(750_000), Rate::from_gbps(10));
        let t = EntryTable::new(2, Bytes(350_000), Bytes(750_000));
        let stage = |queue| t.stage(Bytes(queue), &rest);
        assert_eq!(
            [349_999, 350_000, 549_999, 550_000, 649_999, 650_000, 749_999].map(stage),
            [0, 1, 1, 2, 2, 3, 3]
        );
        assert_eq!([750_000, 990_000, u64::MAX].map(stage), [4; 3], "never below C/16");
        let few = StageTable::new(Bytes(10), Bytes(8), Rate::from_gbps(10));
        assert_eq!(
            t.stage(Bytes(900_000), &few) as usize,
            few.len(),
            "no stage that the sender does not have"
        );
    }

    #[test]
    fn the_egress_with_the_highest_stage_counts_until_nothing_is_held_for_it() {
        let rest = StageTable::new(Bytes(1_000_000), Bytes(750_000), Rate::from_gbps(10));
        let mut e = Entry::new(EntryTable::new(1, Bytes(500_000), Bytes(750_000)));
        let at = |port, bytes| Waiting { port, bytes: Bytes(bytes) };
        let h = Bytes(3_000);
        assert_eq!(e.joined(&rest, Bytes(1_500), at(1, 499_999), h, true), 0);
        assert_eq!(e.joined(&rest, Bytes(3_000), at(1, 500_000), h, false), 1);
        assert_eq!(
            e.joined(&rest, Bytes(4_500), at(2, 1_500), h, false),
            1,
            "another egress is no reason to send faster"
        );
        assert_eq!(e.left(&rest, Bytes(3_000), at(2, 0), h), 1);
        assert_eq!(e.left(&rest, Bytes(1_500), at(1, 498_000), h), 1, "the hysteresis");
        assert_eq!(e.joined(&rest, Bytes(3_000), at(1, 625_000), h, false), 2);
        assert_eq!(e.left(&rest, Bytes(1_500), at(1, 621_900), h), 1);
        assert_eq!(e.left(&rest, Bytes(0), at(1, 600_000), h), 1, "what waits there still waits");
        assert_eq!(
            e.joined(&rest, Bytes(1_500), at(2, 1_500), h, true),
            0,
            "nothing is held for it any more"
        );
        assert_eq!(
            e.joined(&rest, Bytes(750_000), at(2, 1_500), h, false),
            1,
            "the paper's rule holds as well"
        );
    }
}
