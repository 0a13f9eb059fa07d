//! Frames that links gave up which repeat: those that had not arrived are lost.
//!
//! ```text
//!   sending end     gives up 10 .. 20: too many replays without progress, or the link has failed
//!   receiving end   had accepted all before 13, and skips 13 .. 20 when the link restarts: these are lost
//!                   or the link never does: all from the next expected number are lost
//! ```
//!
//! Facts that only one end knows are joined after the run. A frame is not lost while a copy may be
//! on the wire.

use std::collections::BTreeMap;
use std::ops::Range;

use xoff_node::{FrameKind, Surrender};
use xoff_units::state::State;
use xoff_units::{Loss, Span, Time};

use crate::observe::lost::{FrameCount, LostFrames};
use crate::processes::Others;

/// Frames of one link with numbers in a row that were given up together.
#[derive(State)]
struct Run {
    /// The port to which the link leads.
    to: u32,
    first: u64,
    count: u64,
    data: bool,
    failed: bool,
    /// The last bit before left the sending end then.
    sent: Time,
}

/// Numbers that a port will not accept any more.
#[derive(State)]
struct Skipped {
    to: u32,
    from: u64,
    until: u64,
}

/// Given-up frames that both ends of links know.
#[derive(Default, State)]
pub(crate) struct GivenUp {
    runs: Vec<Run>,
    skipped: Vec<Skipped>,
}

impl GivenUp {
    /// The sending end of the link to port `to` gives this frame up.
    pub fn give_up(&mut self, to: u32, kind: FrameKind, number: u64, sent: Time, why: Surrender) {
        let (data, failed) = (kind == FrameKind::Data, why == Surrender::LinkFailed);
        match self.runs.last_mut() {
            Some(r)
                if (r.to, r.first + r.count, r.data, r.failed, r.sent)
                    == (to, number, data, failed, sent) =>
            {
                r.count += 1
            }
            _ => self.runs.push(Run { to, first: number, count: 1, data, failed, sent }),
        }
    }

    /// A port will not accept these numbers any more.
    pub fn skip(&mut self, to: u32, numbers: Range<u64>) {
        self.skipped.push(Skipped { to, from: numbers.start, until: numbers.end });
    }

    /// Merges the records of another part of the network.
    pub fn add(&mut self, other: GivenUp) {
        self.runs.extend(other.runs);
        self.skipped.extend(other.skipped);
    }

    /// Records of all processes, at the first one.
    pub fn at_first(self, others: &mut Others) -> GivenUp {
        GivenUp { runs: others.at_first(self.runs), skipped: others.at_first(self.skipped) }
    }

    /// Reports for each port how many frames that were given up have not come, and cannot come any
    /// more at `now`. `delay`: of the link to a port.
    pub fn lost(
        &self,
        now: Time,
        delay: impl Fn(u32) -> Span,
        mut report: impl FnMut(u32, LostFrames),
    ) {
        let mut skipped: BTreeMap<u32, Vec<Range<u64>>> = BTreeMap::new();
        self.skipped.iter().for_each(|s| skipped.entry(s.to).or_default().push(s.from..s.until));
        skipped.values_mut().for_each(|ranges| ranges.sort_by_key(|r| r.start)); // they do not overlap
        for run in &self.runs {
            // Frames on the wire of a failed link do not arrive.
            let may_come = !run.failed && run.sent + delay(run.to) > now;
            let Some(skipped) = skipped.get(&run.to).filter(|_| !may_come) else { continue };
            let numbers = run.first..run.first + run.count;
            let from = skipped.partition_point(|r| r.end <= numbers.start);
            let within = skipped[from..].iter().take_while(|r| r.start < numbers.end);
            let n = within.map(|r| r.end.min(numbers.end) - r.start.max(numbers.start)).sum();
            if n > 0 {
                let mut lost = LostFrames::default();
                let cause = if run.failed { Loss::OnFailedLink } else { Loss::GivenUp };
                lost[cause] = if run.data {
                    FrameCount { data: n, control: 0 }
                } else {
                    FrameCount { data: 0, control: n }
                };
                report(run.to, lost);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINK: u32 = 7;

    fn lost(g: &GivenUp, now: u64) -> (u64, u64, u64) {
        let mut all = LostFrames::default();
        g.lost(
            Time(now),
            |_| Span(100),
            |to, l| {
                assert_eq!(to, LINK);
                all.add(&l);
            },
        );
        (all[Loss::GivenUp].data, all[Loss::GivenUp].control, all[Loss::OnFailedLink].data)
    }

    /// Frames 10 to 19 of a link are given up at 1000; 13 is still expected there.
    fn flushed() -> GivenUp {
        let mut g = GivenUp::default();
        for n in 10..20 {
            let kind = if n == 15 { FrameKind::Ack } else { FrameKind::Data };
            g.give_up(LINK, kind, n, Time(1000), Surrender::NoProgress);
        }
        g
    }

    #[test]
    fn what_had_arrived_is_not_lost_and_what_is_on_the_wire_not_yet() {
        let mut g = flushed();
        assert_eq!(g.runs.len(), 3);
        g.skip(LINK, 13..u64::MAX); // the link never restarted
        assert_eq!((lost(&g, 1099), lost(&g, 1100)), ((0, 0, 0), (6, 1, 0)));
        let mut g = flushed();
        g.skip(LINK, 13..20); // it did, and the next ones came
        g.skip(LINK, 500..u64::MAX);
        assert_eq!(lost(&g, 5000), (6, 1, 0));
        let mut g = flushed();
        g.skip(LINK, 20..u64::MAX); // all came, and the answers were lost
        assert_eq!(lost(&g, 5000), (0, 0, 0));
        assert_eq!(lost(&flushed(), 5000), (0, 0, 0), "of another process");
    }

    #[test]
    fn a_link_that_fails_loses_at_once_and_beside_what_it_gave_up_before() {
        let mut g = flushed();
        (20..25)
            .for_each(|n| g.give_up(LINK, FrameKind::Data, n, Time(9000), Surrender::LinkFailed));
        g.skip(LINK, 13..u64::MAX);
        assert_eq!(lost(&g, 8000), (6, 1, 5));
    }
}
