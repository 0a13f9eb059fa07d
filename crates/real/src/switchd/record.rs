//! Every frame, in the order of time.
//!
//! A round of the loop takes frames in and then sends those that were due before, between and after
//! them. What came in is therefore kept until the round is over, and merged with sent frames.

use std::io;

use xoff_units::Time;

/// Sees every frame: time, link, inbound, bytes.
pub type Tap<'a> = Box<dyn FnMut(Time, usize, bool, &[u8]) -> io::Result<()> + 'a>;

/// Frames that a tap has yet to see.
pub(crate) struct Recording<'a> {
    tap: Tap<'a>,
    /// Frames of this round that came in: when, link, end of the bytes; and their bytes, one behind
    /// the other.
    inbound: Vec<(Time, usize, usize)>,
    bytes: Vec<u8>,
    /// The first of them that the tap has not seen.
    next: usize,
    failed: io::Result<()>,
}

impl<'a> Recording<'a> {
    pub(crate) fn new(tap: Tap<'a>) -> Recording<'a> {
        Recording { tap, inbound: Vec::new(), bytes: Vec::new(), next: 0, failed: Ok(()) }
    }

    pub(crate) fn came_in(&mut self, at: Time, link: usize, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.inbound.push((at, link, self.bytes.len()));
    }

    pub(crate) fn goes_out(&mut self, at: Time, link: usize, bytes: &[u8]) {
        self.catch_up(at);
        self.see(at, link, false, bytes);
    }

    /// All of a round is known: the rest is written.
    pub(crate) fn end_of_round(&mut self) -> io::Result<()> {
        self.catch_up(Time::NEVER);
        self.inbound.clear();
        self.bytes.clear();
        self.next = 0;
        std::mem::replace(&mut self.failed, Ok(()))
    }

    fn catch_up(&mut self, until: Time) {
        while let Some(&(at, link, end)) =
            self.inbound.get(self.next).filter(|(at, ..)| *at <= until)
        {
            let begin = self.next.checked_sub(1).map_or(0, |before| self.inbound[before].2);
            if self.failed.is_ok() {
                self.failed = (self.tap)(at, link, true, &self.bytes[begin..end]);
            }
            self.next += 1;
        }
    }

    fn see(&mut self, at: Time, link: usize, inbound: bool, bytes: &[u8]) {
        if self.failed.is_ok() {
            self.failed = (self.tap)(at, link, inbound, bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_is_seen_in_the_order_of_time() {
        let mut seen = Vec::new();
        {
            let mut r = Recording::new(Box::new(|at, link, inbound, bytes: &[u8]| {
                seen.push((at.0, link, inbound, bytes.to_vec()));
                Ok(())
            }));
            [(5, &b"a"[..]), (6, b"bb"), (20, b"")]
                .into_iter()
                .for_each(|(at, bytes)| r.came_in(Time(at), 1, bytes));
            [(3, b"x"), (6, b"y"), (19, b"z")]
                .into_iter()
                .for_each(|(at, bytes)| r.goes_out(Time(at), 2, bytes));
            r.end_of_round().unwrap();
            r.came_in(Time(21), 3, b"c");
            r.end_of_round().unwrap();
        }
        let order: Vec<_> =
            seen.iter().map(|(at, _, inbound, bytes)| (*at, *inbound, bytes.as_slice())).collect();
        let wanted: [(u64, bool, &[u8]); 7] = [
            (3, false, b"x"),
            (5, true, b"a"),
            (6, true, b"bb"),
            (6, false, b"y"),
            (19, false, b"z"),
            (20, true, b""),
            (21, true, b"c"),
        ];
        assert_eq!(order, wanted);
    }

    #[test]
    fn a_disk_that_is_full_is_reported_once_and_ends_the_round() {
        let mut calls = 0;
        {
            let mut r = Recording::new(Box::new(|_, _, _, _: &[u8]| {
                calls += 1;
                Err(io::ErrorKind::StorageFull.into())
            }));
            r.came_in(Time(1), 0, b"a");
            r.goes_out(Time(2), 0, b"b");
            assert_eq!(r.end_of_round().unwrap_err().kind(), io::ErrorKind::StorageFull);
        }
        assert_eq!(calls, 1);
    }
}
