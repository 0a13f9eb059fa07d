//! The same flows again and again: the iterations of a job whose messages go over the same queue pairs each time.

use xoff_params::{Kind, ParamError, ParamSpec, Values};
use xoff_units::{Span, Time};

use crate::arrivals::End;
use crate::{Flow, Generated};

/// Keys of every flow and workload that say how often it comes.
pub const PARAMS: &[ParamSpec] = &[
    ParamSpec::optional(
        "repeat",
        Kind::Count,
        "How often its flows come, the first time included: the same hosts, sizes, ports and hence paths each time. Absent: once.",
        "",
    ),
    ParamSpec::optional("every", Kind::Span, "From one time to the next. Needed with `repeat`.", ""),
];

/// How often flows come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repeat {
    times: u64,
    every: Span,
}

impl Repeat {
    /// Reads the two keys for what a generator has made.
    ///
    /// # Errors
    /// One key without the other, none or too many repetitions, flows that have no list.
    pub fn read(v: &mut dyn Values, part: &Generated) -> Result<Option<Repeat>, ParamError> {
        let (times, every) = (v.count_opt("repeat")?, v.span_opt("every")?);
        let (times, every) = match (times, every) {
            (None, None) => return Ok(None),
            (Some(_), None) => return Err(ParamError::new("repeat", "when it comes again is not said", "add every, for example \"500us\"")),
            (None, Some(_)) => return Err(ParamError::new("every", "how often it comes is not said", "add repeat, for example 100")),
            (Some(times), Some(every)) => (times, every),
        };
        if times == 0 {
            return Err(ParamError::new("repeat", "it would never come", "at least 1"));
        }
        if every == Span::ZERO {
            return Err(ParamError::new("every", "all repetitions would begin at once", "give a time above 0"));
        }
        if part.closed_loop.is_some() {
            return Err(ParamError::new("repeat", "a closed loop starts its next flow when one ends", "leave repeat and every out"));
        }
        End { duration: None, count: Some(times) }.check("repeat", 0.0, part.flows.len().max(1))?;
        Ok(Some(Repeat { times, every }))
    }

    /// These flows, each so often; what would begin after the end of time never does.
    pub(crate) fn of(self, flows: Vec<Flow>) -> Vec<Flow> {
        let mut all = Vec::with_capacity(flows.len() * self.times as usize);
        for nth in 0..self.times {
            let Some(later) = self.every.0.checked_mul(nth) else { break };
            let again = |f: &Flow| Some(Flow { start: Time(f.start.0.checked_add(later)?), ..f.clone() });
            all.extend(flows.iter().filter_map(again));
        }
        all
    }
}
