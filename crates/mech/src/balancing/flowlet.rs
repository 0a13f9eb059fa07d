//! Flowlets (LetFlow, NSDI 2017): after a gap in a flow its next frames take a random next hop.
//!
//! ```text
//!   |||||| |||||   ............   ||||||||        idle >= gap: a new flowlet, on a next hop drawn at random
//!   flowlet 1          gap        flowlet 2       gap = 0: every frame (spray-random); an endless gap: ECMP
//! ```
//!
//! If the gap is longer than the paths differ in delay, no frame overtakes another.

use xoff_units::params::{Kind, ParamError, ParamSpec, Values};
use xoff_units::state::State;
use xoff_units::{Span, UnitError};

use super::{Arrival, Balancer, FlowTable, NextHops};

/// Parameters in a file.
pub const PARAMS: &[ParamSpec] = &[ParamSpec::new(
    "gap",
    Kind::Text,
    "100us",
    "idle time of a flow after which it may take another next hop; 0s: each frame may, never: none does",
    "LetFlow section 4.2; 100 us: conweave-ns3",
)];

/// The law.
#[derive(Clone, Debug, PartialEq, Eq, State)]
pub struct Flowlet {
    /// `None`: endless.
    #[state(built)]
    gap: Option<Span>,
    table: FlowTable,
}

impl Flowlet {
    /// With this gap; `None`: endless.
    pub fn new(gap: Option<Span>) -> Flowlet {
        Flowlet { gap, table: FlowTable::new(gap.unwrap_or_default()) }
    }

    /// Reads [`PARAMS`].
    ///
    /// # Errors
    /// The gap is no time.
    pub fn read(v: &mut dyn Values) -> Result<Flowlet, ParamError> {
        read_gap(v).map(Flowlet::new)
    }
}

/// Reads the key `gap`; `None`: endless.
fn read_gap(v: &mut dyn Values) -> Result<Option<Span>, ParamError> {
    let text = v.text("gap")?;
    if text == "never" {
        return Ok(None);
    }
    let wrong = |e: UnitError| {
        ParamError::new("gap", e.what, format!("expected {}, or \"never\"", e.expected))
    };
    text.parse::<Span>().map(Some).map_err(wrong)
}

impl Balancer for Flowlet {
    fn pick(&mut self, frame: &Arrival, hops: &mut dyn NextHops) -> usize {
        let n = hops.count();
        let Some(gap) = self.gap else { return hops.hashed(n as u64) as usize };
        let goes_on = |last| frame.now.since(last) < gap;
        let hop = match self.table.get(frame, n) {
            Some((hop, last)) if goes_on(last) => hop,
            _ => hops.any(),
        };
        if gap > Span::ZERO {
            self.table.put(frame, hop);
        }
        hop
    }
    fn reorders(&self) -> bool {
        self.gap.is_some()
    }
}

#[cfg(test)]
mod tests {
    use xoff_units::FlowId;

    use super::super::tests::{Hops, frame};
    use super::*;

    #[test]
    fn a_flowlet_keeps_its_next_hop_until_the_gap_is_full() {
        let mut law = Flowlet::new(Some(Span::from_us(10)));
        let mut hops = Hops { draws: vec![0.9, 0.3, 0.6], ..Hops::new(&[0; 4]) };
        let mut at = |us, flow| law.pick(&frame(us, flow), &mut hops);
        assert_eq!(
            [at(0, FlowId(1)), at(0, FlowId(2)), at(9, FlowId(1)), at(18, FlowId(1))],
            [3, 1, 3, 3]
        );
        assert_eq!(at(28, FlowId(1)), 2, "10 us after the last frame");
    }

    #[test]
    fn an_endless_gap_is_the_hash_and_none_is_a_draw_for_every_frame() {
        let mut hops = Hops { hash: 0.6, draws: vec![0.1, 0.8], ..Hops::new(&[0; 4]) };
        let mut law = Flowlet::new(None);
        assert_eq!([0, 1_000_000].map(|us| law.pick(&frame(us, FlowId(1)), &mut hops)), [2, 2]);
        let mut law = Flowlet::new(Some(Span::ZERO));
        assert_eq!([0, 0, 1].map(|us| law.pick(&frame(us, FlowId(1)), &mut hops)), [0, 3, 0]);
    }
}
