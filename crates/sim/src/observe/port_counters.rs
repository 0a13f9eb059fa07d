//! Counters of all ports, with memory only for ports at which something happened: most ports of a
//! large network see no message, mark or loss.

use std::ops::{Index, IndexMut};

use xoff_units::state::{Broken, Counters, Reader, State, Value, Walk};

use crate::observe::outcome::PortTotals;

/// Counters by port.
#[derive(Clone)]
pub(crate) struct PortCounters {
    /// By port, the place of its counters in `own`; 0: nothing happened there.
    place: Vec<u32>,
    /// The first entry stays empty.
    own: Vec<PortTotals>,
}

impl PortCounters {
    /// Nothing has happened at any of these ports.
    pub fn new(ports: usize) -> PortCounters {
        PortCounters { place: vec![0; ports], own: vec![PortTotals::default()] }
    }
}

impl Index<usize> for PortCounters {
    type Output = PortTotals;
    #[inline]
    fn index(&self, port: usize) -> &PortTotals {
        &self.own[self.place[port] as usize]
    }
}

impl IndexMut<usize> for PortCounters {
    #[inline]
    fn index_mut(&mut self, port: usize) -> &mut PortTotals {
        let place = &mut self.place[port];
        if *place == 0 {
            *place = self.own.len() as u32;
            self.own.push(PortTotals::default());
        }
        &mut self.own[*place as usize]
    }
}

/// All ports, in order.
impl Counters for PortCounters {
    fn counters(&mut self, f: &mut impl FnMut(&mut u64)) {
        for port in 0..self.place.len() {
            let mut totals = self[port];
            totals.counters(f);
            if totals != self[port] {
                self[port] = totals;
            }
        }
    }
}

/// Ports at which something happened, in order.
impl State for PortCounters {
    fn walk<W: Walk>(&self, w: &mut W) -> Result<(), W::Stop> {
        let ports = (0u32..).zip(&self.place).filter(|(_, place)| **place != 0);
        ports.map(|(port, _)| (port, self[port as usize])).collect::<Vec<_>>().walk(w)
    }

    fn restore(&mut self, from: &mut Reader) -> Result<(), Broken> {
        *self = PortCounters::new(self.place.len());
        for (port, totals) in Vec::<(u32, PortTotals)>::read(from)? {
            if port as usize >= self.place.len() {
                return Err(Broken("a port that is not there"));
            }
            self[port as usize] = totals;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use xoff_units::state::Writer;

    use super::*;

    #[test]
    fn ports_take_memory_when_something_happens_there() {
        let mut ports = PortCounters::new(1000);
        ports[7].pauses += 2;
        ports[3].lost += 1;
        ports[7].pauses += 3;
        assert_eq!((ports[7].pauses, ports[3].lost, ports[8]), (5, 1, PortTotals::default()));
        // A walk over all counters makes none, and may add to each.
        let (mut before, mut sum) = (0, 0);
        ports.counters(&mut |c| (before, sum) = (before + 1, sum + *c));
        assert_eq!((sum, ports.own.len()), (6, 3));
        let mut nth = 0;
        ports.counters(&mut |c| (nth, *c) = (nth + 1, *c + u64::from(nth == before - 1)));
        assert_eq!((nth, ports.own.len()), (before, 4));
        let mut to = Writer::default();
        to.put(&ports);
        let (bytes, mut again) = (to.end().unwrap(), PortCounters::new(1000));
        again[5].dropped = 9;
        again.restore(&mut Reader::new(&bytes)).unwrap();
        assert!((0..1000).all(|port| again[port] == ports[port]));
        assert!(PortCounters::new(7).restore(&mut Reader::new(&bytes)).is_err());
    }
}
