//! DRILL(d, m) (SIGCOMM 2017): of d random next hops and the m best of the previous choice a frame
//! takes the one with the shortest queue.

use rustc_hash::FxHashMap;
use xoff_units::params::{Kind, ParamError, ParamSpec, Values};
use xoff_units::state::State;

use super::{Arrival, Balancer, NextHops};

/// Parameters in a file.
pub const PARAMS: &[ParamSpec] = &[
    ParamSpec::new(
        "choices",
        Kind::Count,
        "2",
        "next hops drawn for each frame, all different (d)",
        "DRILL section 3.2: d = 2",
    ),
    ParamSpec::new(
        "memory",
        Kind::Count,
        "1",
        "best next hops of the previous choice that are compared again (m)",
        "DRILL section 3.2: m = 1",
    ),
];

/// The law.
#[derive(Clone, Debug, PartialEq, Eq, State)]
pub struct Drill {
    #[state(built)]
    choices: usize,
    #[state(built)]
    memory: usize,
    /// By set, the best first.
    best: FxHashMap<u32, Vec<u16>>,
    /// Next hops that are compared, the remembered ones first.
    #[state(built)] // made for each frame
    compared: Vec<u16>,
}

impl Drill {
    /// With d random choices and m remembered ones.
    pub fn new(choices: usize, memory: usize) -> Drill {
        Drill { choices, memory, best: FxHashMap::default(), compared: Vec::new() }
    }

    /// Reads [`PARAMS`].
    ///
    /// # Errors
    /// Nothing is drawn, or more than a switch has ports.
    pub fn read(v: &mut dyn Values) -> Result<Drill, ParamError> {
        let mut count = |key: &str, least: u64| match v.count(key)? {
            n if (least..=1024).contains(&n) => Ok(n as usize),
            n => {
                let hint = format!("expected {least} to 1024");
                Err(ParamError::new(key, format!("{n} next hops"), hint))
            }
        };
        Ok(Drill::new(count("choices", 1)?, count("memory", 0)?))
    }
}

impl Balancer for Drill {
    fn pick(&mut self, frame: &Arrival, hops: &mut dyn NextHops) -> usize {
        let n = hops.count();
        self.compared.clear();
        if let Some(best) = self.best.get(&frame.set) {
            self.compared.extend(best.iter().filter(|&&hop| usize::from(hop) < n));
        }
        // Floyd's sample of different numbers: one draw each.
        let drawn = self.compared.len();
        for last in n - self.choices.min(n)..n {
            let at = ((hops.draw() * (last + 1) as f64) as usize).min(last) as u16;
            let twice = self.compared[drawn..].contains(&at);
            self.compared.push(if twice { last as u16 } else { at });
        }
        let waiting = |hop: &u16| hops.waiting(usize::from(*hop));
        // Of equal queues the remembered one, then the first drawn.
        self.compared.sort_by_key(waiting);
        let hop = self.compared[0];
        if self.memory > 0 {
            let mut best = self.best.remove(&frame.set).unwrap_or_default();
            best.clear();
            for &hop in &self.compared {
                if best.len() < self.memory && !best.contains(&hop) {
                    best.push(hop);
                }
            }
            self.best.insert(frame.set, best);
        }
        hop.into()
    }
}

#[cfg(test)]
mod tests {
    use xoff_units::FlowId;

    use super::super::tests::{Hops, frame};
    use super::*;

    #[test]
    fn the_shorter_of_two_drawn_queues() {
        let mut hops = Hops { draws: vec![0.0, 0.9], ..Hops::new(&[5, 0, 3, 2]) };
        assert_eq!(
            Drill::new(2, 0).pick(&frame(0, FlowId(0)), &mut hops),
            3,
            "0 and 3 are compared"
        );
        let mut hops = Hops { draws: vec![0.0, 0.0], ..Hops::new(&[1, 0, 3, 2]) };
        assert_eq!(Drill::new(2, 0).pick(&frame(0, FlowId(0)), &mut hops), 0, "0 twice: 0 and 3");
    }

    #[test]
    fn the_best_is_remembered() {
        let mut law = Drill::new(1, 1);
        let mut hops = Hops { draws: vec![0.3, 0.9, 0.9], ..Hops::new(&[9, 1, 9, 5]) };
        let mut at = || law.pick(&frame(0, FlowId(0)), &mut hops);
        assert_eq!([at(), at()], [1, 1], "1 is remembered, and shorter than 3");
        hops.waiting[1] = 6;
        assert_eq!(law.pick(&frame(0, FlowId(0)), &mut hops), 3);
    }

    #[test]
    fn as_many_choices_as_next_hops_take_the_shortest_queue() {
        let mut hops = Hops { draws: vec![0.1, 0.7, 0.4], ..Hops::new(&[9, 8, 7, 9, 1]) };
        for d in [5, 9] {
            assert_eq!(Drill::new(d, 0).pick(&frame(0, FlowId(0)), &mut hops), 4);
        }
    }
}
