//! Arbitration between virtual lanes (InfiniBand Architecture, volume 1, section 7.6.9).
//!
//! ```text
//!   high:  (VL, weight) (VL, weight) ...  --+-- first, until the limit of high priority is used up
//!                                           +--> wire
//!   low:   (VL, weight) (VL, weight) ...  --+-- one packet when nothing high may go or the limit is used up
//! ```
//!
//! Round robin over both tables, an entry at a time. An entry keeps its turn while its VL has a
//! packet that may go and weight is left; the last packet of a turn may overdraw the weight.
//! Weights count 64 bytes, packets in whole units.

use crate::Classes;
use xoff_units::state::State;

/// Unit of a weight [bytes].
const WEIGHT_UNIT: u32 = 64;
/// Unit of the limit of high priority [bytes].
const LIMIT_UNIT: i64 = 4096;
/// Classes that frames can distinguish.
const CLASSES_MAX: usize = 8;

/// An entry of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VlEntry {
    /// Virtual lane: a priority in a model, a class in a switch.
    pub vl: u8,
    /// Weight of a turn [64 bytes]; 0: the entry is skipped.
    pub weight: u8,
}

/// The tables of all ports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VlArbitration {
    /// Round robin of high priority.
    pub high: Vec<VlEntry>,
    /// Round robin of low priority.
    pub low: Vec<VlEntry>,
    /// Limit of the high table before the low one gets an opportunity [4096 bytes]; 0: one packet,
    /// 255: no limit.
    pub high_limit: u8,
}

impl VlArbitration {
    /// Entries that a table has at most (IBA 7.6.9.1).
    pub const VL_ENTRIES_MAX: usize = 64;
    /// A limit that limits nothing (IBA 7.6.9.2).
    pub const NO_LIMIT: u8 = 255;

    /// True if a virtual lane ever has a turn.
    pub fn serves(&self, vl: u8) -> bool {
        self.high.iter().chain(&self.low).any(|t| t.vl == vl && t.weight > 0)
    }

    /// Tables by class. Entries that are always skipped are left out.
    pub(crate) fn in_classes(&self, classes: &Classes) -> VlArbitration {
        let table = |entries: &[VlEntry]| {
            let weighty = entries.iter().filter(|t| t.weight > 0);
            weighty
                .filter_map(|t| {
                    classes.class(t.vl).map(|vl| VlEntry { vl: vl.0, weight: t.weight })
                })
                .collect()
        };
        VlArbitration {
            high: table(&self.high),
            low: table(&self.low),
            high_limit: self.high_limit,
        }
    }

    /// Limit of the high table before the low one has an opportunity [bytes]: a packet may leave
    /// while some of it is left.
    fn high_bytes(&self) -> i64 {
        match self.high_limit {
            VlArbitration::NO_LIMIT => i64::MAX,
            limit => (limit as i64 * LIMIT_UNIT).max(1),
        }
    }
}

/// Position of a port in one table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, State)]
struct Place {
    /// Entry that has its turn.
    at: usize,
    /// Rest of the entry's weight [64 bytes]; below zero after a packet that overdrew it.
    left: i32,
}

impl Place {
    /// The entry that sends next, with the rest of its weight then. Nothing is changed.
    fn next(&self, entries: &[VlEntry], heads: &[Option<u32>; CLASSES_MAX]) -> Option<Place> {
        let n = entries.len();
        let may = |t: &VlEntry| t.weight > 0 && heads[t.vl as usize].is_some();
        if self.left > 0 && entries.get(self.at).is_some_and(may) {
            return Some(*self);
        }
        // Round to the same entry again, if it is the only one: a new turn.
        let at = (1..=n).map(|i| (self.at + i) % n).find(|&i| may(&entries[i]))?;
        Some(Place { at, left: entries[at].weight as i32 })
    }

    /// The entry sends a packet.
    fn send(self, len: u32) -> Place {
        Place { left: self.left - len.div_ceil(WEIGHT_UNIT) as i32, ..self }
    }
}

/// Position of a port. It changes only when a packet leaves; an extra call changes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, State)]
pub(crate) struct VlState {
    high: Place,
    low: Place,
    /// Rest of the high table's limit [bytes].
    high_left: i64,
}

impl VlState {
    /// At the first entry of both tables.
    pub fn new(rule: &VlArbitration) -> VlState {
        let first = |entries: &[VlEntry]| Place {
            at: 0,
            left: entries.first().map_or(0, |t| t.weight as i32),
        };
        VlState { high: first(&rule.high), low: first(&rule.low), high_left: rule.high_bytes() }
    }

    /// The class whose packet goes now; `heads`: length of the packet at the head of each class, if
    /// it may go.
    pub fn pick(
        &mut self,
        rule: &VlArbitration,
        heads: &[Option<u32>; CLASSES_MAX],
    ) -> Option<usize> {
        let len = |turn: &VlEntry| heads[turn.vl as usize].unwrap_or(0);
        let high = self.high.next(&rule.high, heads);
        // No packet of high priority, or the limit used up: an opportunity for the low table, and
        // the limit restarts.
        if high.is_none() || self.high_left <= 0 {
            if let Some(place) = self.low.next(&rule.low, heads) {
                let turn = &rule.low[place.at];
                self.low = place.send(len(turn));
                self.high_left = rule.high_bytes();
                return Some(turn.vl as usize);
            }
            high?;
            self.high_left = rule.high_bytes();
        }
        let place = high?;
        let turn = &rule.high[place.at];
        self.high = place.send(len(turn));
        if rule.high_limit != VlArbitration::NO_LIMIT {
            self.high_left -= len(turn) as i64;
        }
        Some(turn.vl as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(of: &[(u8, u8)]) -> Vec<VlEntry> {
        of.iter().map(|&(vl, weight)| VlEntry { vl, weight }).collect()
    }

    fn tables(high: &[(u8, u8)], low: &[(u8, u8)], high_limit: u8) -> VlArbitration {
        VlArbitration { high: entries(high), low: entries(low), high_limit }
    }

    fn heads(of: &[(usize, u32)]) -> [Option<u32>; 8] {
        let mut heads = [None; 8];
        of.iter().for_each(|&(class, len)| heads[class] = Some(len));
        heads
    }

    /// Classes in the order in which they are served while the same packets wait all the time.
    fn serve(rule: &VlArbitration, of: &[(usize, u32)], times: usize) -> Vec<usize> {
        let mut s = VlState::new(rule);
        (0..times).filter_map(|_| s.pick(rule, &heads(of))).collect()
    }

    /// Packets of 256 B are 4 units. VL 0 has 8 units, two packets a turn; VL 1 has 4, one; VL 2
    /// has 6: after one packet 2 units are left, so a second one goes and overdraws by 2. Its next
    /// turn begins with 6 again, not with 4.
    #[test]
    fn an_entry_keeps_its_turn_until_its_weight_is_used_up() {
        let rule = tables(&[], &[(0, 8), (1, 4), (2, 6)], 0);
        assert_eq!(
            serve(&rule, &[(0, 256), (1, 256), (2, 256)], 10),
            [0, 0, 1, 2, 2, 0, 0, 1, 2, 2]
        );
    }

    /// 65 B are two units, so a weight of 4 is two packets; 64 B are one unit and make four.
    #[test]
    fn packets_count_in_whole_units() {
        let rule = tables(&[], &[(0, 4), (1, 4)], 0);
        assert_eq!(serve(&rule, &[(0, 65), (1, 64)], 12), [0, 0, 1, 1, 1, 1, 0, 0, 1, 1, 1, 1]);
    }

    /// One VL may have several entries in a table, and entries in both; weight 0 is skipped.
    #[test]
    fn a_class_may_have_many_turns() {
        let rule = tables(&[], &[(0, 1), (1, 1), (0, 1), (2, 1), (3, 0)], 0);
        assert_eq!(
            serve(&rule, &[(0, 64), (1, 64), (2, 64), (3, 64)], 8),
            [0, 1, 0, 2, 0, 1, 0, 2]
        );
        let rule = tables(&[(1, 1)], &[(0, 1), (1, 1)], 0);
        // One high packet, then an opportunity for the low table: 0 and 1 alternate there.
        assert_eq!(serve(&rule, &[(0, 64), (1, 64)], 8), [1, 0, 1, 1, 1, 0, 1, 1]);
    }

    /// An entry without a packet is skipped and loses the rest of its weight.
    #[test]
    fn a_class_that_has_nothing_to_send_loses_its_turn() {
        let rule = tables(&[], &[(0, 4), (1, 2)], 0);
        let mut s = VlState::new(&rule);
        let (both, one) = (heads(&[(0, 64), (1, 64)]), heads(&[(1, 64)]));
        assert_eq!(
            [&both, &one, &both, &both, &both, &both, &both, &both].map(|h| s.pick(&rule, h)),
            [0, 1, 1, 0, 0, 0, 0, 1].map(Some)
        );
    }

    #[test]
    fn a_class_without_a_turn_never_sends() {
        let rule = tables(&[(2, 0)], &[(0, 1)], 255);
        assert_eq!(serve(&rule, &[(1, 64), (2, 64)], 5), [0usize; 0]);
        assert!(rule.serves(0) && !rule.serves(1) && !rule.serves(2));
    }

    /// Limit 1 is 4096 B: packets of 1500 B go three times (0, 1500 and 3000 B sent before them),
    /// then one low packet.
    #[test]
    fn the_limit_of_high_priority_counts_4096_bytes() {
        let rule = tables(&[(1, 255)], &[(0, 255)], 1);
        assert_eq!(serve(&rule, &[(0, 1500), (1, 1500)], 8), [1, 1, 1, 0, 1, 1, 1, 0]);
        // 4096 B use it up exactly.
        assert_eq!(serve(&rule, &[(0, 64), (1, 4096)], 4), [1, 0, 1, 0]);
    }

    #[test]
    fn a_limit_of_zero_is_one_packet_and_of_255_is_none() {
        let (both, high, low) = ([(0, 1500), (1, 9000)], (1, 255), (0, 255));
        assert_eq!(serve(&tables(&[high], &[low], 0), &both, 6), [1, 0, 1, 0, 1, 0]);
        assert_eq!(serve(&tables(&[high], &[low], 255), &both, 1000), [1; 1000]);
        // Low priority gets the share that high priority does not use.
        assert_eq!(serve(&tables(&[high], &[low], 255), &both[..1], 3), [0, 0, 0]);
    }

    /// The limit is used up after three packets; nothing low waits then, so the opportunity passes
    /// and the limit restarts.
    #[test]
    fn an_opportunity_that_is_not_taken_passes() {
        let rule = tables(&[(1, 255)], &[(0, 255)], 1);
        let mut s = VlState::new(&rule);
        let (high, both) = (heads(&[(1, 1500)]), heads(&[(0, 1500), (1, 1500)]));
        assert_eq!([(); 4].map(|()| s.pick(&rule, &high)), [Some(1); 4]);
        assert_eq!([(); 4].map(|()| s.pick(&rule, &both)), [1, 1, 0, 1].map(Some));
    }

    /// A question when nothing may go changes nothing.
    #[test]
    fn asking_in_vain_changes_nothing() {
        let rule = tables(&[(1, 4)], &[(0, 4)], 1);
        let mut s = VlState::new(&rule);
        s.pick(&rule, &heads(&[(1, 100)]));
        let before = s;
        assert_eq!(s.pick(&rule, &heads(&[])), None);
        assert_eq!(s, before);
    }

    /// Saturated virtual lanes share by weight: 1 : 2 : 4 with packets of 2048 B = 32 units.
    #[test]
    fn shares_go_by_weight() {
        let rule = tables(&[], &[(0, 32), (1, 64), (2, 128)], 0);
        let served = serve(&rule, &[(0, 2048), (1, 2048), (2, 2048)], 7000);
        assert_eq!(
            [0, 1, 2].map(|c| served.iter().filter(|&&s| s == c).count()),
            [1000, 2000, 4000]
        );
    }

    #[test]
    fn tables_of_priorities_become_tables_of_classes() {
        let rule = tables(&[(5, 3)], &[(3, 2), (4, 9), (5, 0)], 7);
        assert_eq!(rule.in_classes(&Classes::new([3, 5])), tables(&[(1, 3)], &[(0, 2)], 7));
    }
}
