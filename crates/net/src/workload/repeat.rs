//! Recurring flows: the iterations of a job whose messages go over the same queue pairs each time.

use xoff_units::params::{Kind, ParamError, ParamSpec, Values};
use xoff_units::{Span, Time};

use crate::workload::arrivals::End;
use crate::workload::{Flow, Generated};

/// Keys of every flow and workload that say how often it comes.
pub const PARAMS: &[ParamSpec] = &[
    ParamSpec::optional(
        "repeat",
        Kind::Count,
        "Number of repetitions of the flows, including the first. Each has the same hosts, sizes, ports and paths. Absent: once.",
        "",
    ),
    ParamSpec::optional(
        "every",
        Kind::Span,
        "Time between two repetitions. Needed with `repeat`.",
        "",
    ),
];

/// Repetitions of flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repeat {
    times: u64,
    every: Span,
}

impl Repeat {
    /// Reads the two keys, for the flows of a generator.
    ///
    /// # Errors
    /// One key without the other, none or too many repetitions, flows that have no list.
    pub fn read(v: &mut dyn Values, part: &Generated) -> Result<Option<Repeat>, ParamError> {
        let (times, every) = (v.count_opt("repeat")?, v.span_opt("every")?);
        let (times, every) = match (times, every) {
            (None, None) => return Ok(None),
            (Some(_), None) => {
                return Err(ParamError::new(
                    "repeat",
                    "repeat needs the time between two repetitions",
                    "add every, for example \"500us\"",
                ));
            }
            (None, Some(_)) => {
                return Err(ParamError::new(
                    "every",
                    "every needs the number of repetitions",
                    "add repeat, for example 100",
                ));
            }
            (Some(times), Some(every)) => (times, every),
        };
        if times == 0 {
            return Err(ParamError::new(
                "repeat",
                "the number of repetitions is 0",
                "expected at least 1",
            ));
        }
        if every == Span::ZERO {
            return Err(ParamError::new(
                "every",
                "all repetitions would start at once",
                "give a time above 0",
            ));
        }
        if part.closed_loop.is_some() {
            return Err(ParamError::new(
                "repeat",
                "a closed loop starts its next flow when one ends",
                "remove repeat and every",
            ));
        }
        End { duration: None, count: Some(times) }.check("repeat", 0.0, part.flows.len().max(1))?;
        Ok(Some(Repeat { times, every }))
    }

    /// Repetitions of these flows; a start after the end of time never happens.
    pub(crate) fn of(self, flows: Vec<Flow>) -> Vec<Flow> {
        let mut all = Vec::with_capacity(flows.len() * self.times as usize);
        for nth in 0..self.times {
            let Some(later) = self.every.0.checked_mul(nth) else { break };
            let again =
                |f: &Flow| Some(Flow { start: Time(f.start.0.checked_add(later)?), ..f.clone() });
            all.extend(flows.iter().filter_map(again));
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::{Topology, builders};
    use crate::workload::{Context, Flows, generators};
    use xoff_units::params::Defaults;

    fn star() -> Topology {
        let star = builders::find("star").unwrap();
        (star.build)(
            &mut Defaults::of(star.params)
                .with("hosts", "4")
                .with("rate", "100Gbps")
                .with("delay", "1us"),
        )
        .unwrap()
    }

    fn made(topo: &Topology) -> Generated {
        let g = generators::find("permutation").unwrap();
        let cdfs = |_: &str| unreachable!();
        let cx = Context { topo, seed: 1, label: 0, cdfs: &cdfs };
        (g.generate)(&mut Defaults::of(g.params).with("size", "10KB").with("start", "3us"), &cx)
            .unwrap()
    }

    #[test]
    fn each_time_is_the_first_one_later_with_the_same_ports() {
        let topo = star();
        let mut part = made(&topo);
        part.repeat = Repeat::read(
            &mut Defaults::of(PARAMS).with("repeat", "3").with("every", "50us"),
            &part,
        )
        .unwrap();
        let flows = Flows::new(&topo, vec!["jobs".into()], vec![part]).unwrap().flows;
        assert_eq!(flows.len(), 12);
        for (nth, again) in flows.chunks(4).enumerate() {
            for (first, f) in flows.iter().zip(again) {
                assert_eq!(
                    *f,
                    Flow { start: first.start + Span::from_us(50 * nth as u64), ..first.clone() }
                );
            }
        }
    }

    #[test]
    fn one_key_alone_nothing_and_too_much_are_refused() {
        let part = made(&star());
        let refused = |keys: &[(&'static str, &str)]| {
            let mut v =
                keys.iter().fold(Defaults::of(PARAMS), |v, (key, value)| v.with(key, value));
            Repeat::read(&mut v, &part).unwrap_err().key
        };
        assert_eq!(refused(&[("repeat", "3")]), "repeat");
        assert_eq!(refused(&[("every", "3us")]), "every");
        assert_eq!(refused(&[("repeat", "0"), ("every", "3us")]), "repeat");
        assert_eq!(refused(&[("repeat", "3"), ("every", "0us")]), "every");
        assert_eq!(refused(&[("repeat", "1000000000"), ("every", "1us")]), "repeat");
    }
}
