//! A message that sets a state, sent again as long as the state lasts: on a link with errors a lost
//! one costs an interval.
//!
//! ```text
//!   pause ....... again .. again .. resume ....... again .. again ..
//!     |<- every ->|<- every ->|        |<- every ->|
//! ```
//!
//! A lost message is then one that comes `every` later, if the next one is not lost too. So
//! thresholds that are derived from the latency of a message include `every`: they tolerate the
//! loss of one.

use xoff_units::params::{Kind, ParamError, ParamSpec, Values};
use xoff_units::state::State;
use xoff_units::{Bytes, Span, Time};

use super::MESSAGE_LEN;
use crate::{ControlLoop, LinkFacts, Unmet};

/// The key, of every mechanism whose messages set a state and do not come by themselves.
pub const PARAM: ParamSpec = ParamSpec::new(
    "repeat",
    Kind::Span,
    "0us",
    "interval at which the message of the current state is repeated, for links with errors; derived thresholds then tolerate the loss of \
     one message; 0: never",
    "xoff extension; the standards and papers assume that no message is lost",
);

/// Priorities of a link: number of repetitions that may leave at once.
const PRIORITIES: u64 = 8;

/// Reads [`PARAM`].
///
/// # Errors
/// The repetitions of all priorities would fill the wire.
pub(super) fn read(v: &mut dyn Values, link: &LinkFacts) -> Result<Span, ParamError> {
    let every = v.span(PARAM.key)?;
    if every.0 > 0 {
        fits_wire((PARAM.key, every), (PRIORITIES, MESSAGE_LEN), link).map_err(|e| ParamError {
            hint: "expected at least as much, or 0 us for no repetition".into(),
            ..e
        })?;
    }
    Ok(every)
}

/// Refuses messages that come by the clock faster than the wire carries them: those that wait would
/// only become more.
///
/// # Errors
/// The key that says how often they come.
pub(super) fn fits_wire(
    (key, every): (&str, Span),
    (messages, len): (u64, Bytes),
    link: &LinkFacts,
) -> Result<(), ParamError> {
    let all = link.rate.time_for(len * messages);
    if every >= all {
        return Ok(());
    }
    let which = if messages == 1 { "a message".to_owned() } else { format!("{messages} messages") };
    Err(ParamError::new(
        key,
        format!("{key} {every} < {all}, the time of {which} at {}", link.rate),
        "expected at least that time",
    ))
}

/// Rejects a period that is too short for every link of a network. It is chosen for the fast links
/// of a network; on a far slower link the messages alone may fill the wire. [`fills_wire`] warns of
/// that.
///
/// # Errors
/// As of [`fits_wire`].
pub(super) fn bears_period(
    (key, period): (&str, Span),
    messages: (u64, Bytes),
    link: &LinkFacts,
) -> Result<(), ParamError> {
    const SLOWER: u64 = 1000;
    if Span(period.0.saturating_mul(SLOWER)) >= link.rate.time_for(messages.1 * messages.0) {
        Ok(())
    } else {
        fits_wire((key, period), messages, link)
    }
}

/// Warns if messages with this period would fill the wire.
pub(super) fn fills_wire(period: (&str, Span), len: Bytes, link: &LinkFacts) -> Option<Unmet> {
    let why = fits_wire(period, (1, len), link).err()?;
    Some(Unmet::new(
        format!("{}: messages alone fill the wire, and their queue grows", why.what),
        "use a longer period, or a faster link",
    ))
}

/// Control loop if one message is lost: its repetition arrives, behind those of all priorities.
pub(super) fn with_one_lost(l: ControlLoop, every: Span) -> ControlLoop {
    if every.0 == 0 {
        return l;
    }
    ControlLoop { tau: l.tau + every + l.rate.time_for(MESSAGE_LEN * PRIORITIES), ..l }
}

/// Timer for sending the last message again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, State)]
pub struct Repeat {
    every: Span,
    /// Never before the first message: both ends know how they begin.
    at: Time,
}

impl Repeat {
    /// Time after which the message is repeated; zero: never.
    pub fn new(every: Span) -> Repeat {
        Repeat { every, at: Time::NEVER }
    }
    /// A message goes now.
    pub fn sent(&mut self, now: Time) {
        self.at = after(now, self.every);
    }
    /// True if the last message must be repeated.
    pub fn is_due(&self, now: Time) -> bool {
        self.at <= now
    }
    /// Time of the next repeat.
    pub fn next(&self) -> Option<Time> {
        (self.at != Time::NEVER).then_some(self.at)
    }
}

/// Time of the repeat of a message that is sent now.
pub(super) fn after(now: Time, every: Span) -> Time {
    if every.0 == 0 { Time::NEVER } else { now + every }
}

#[cfg(test)]
mod tests {
    use super::*;
    use xoff_units::Rate;
    use xoff_units::params::Defaults;

    #[test]
    fn a_message_goes_again_after_its_time() {
        let mut r = Repeat::new(Span(100));
        assert_eq!(
            (r.next(), r.is_due(Time(1 << 60))),
            (None, false),
            "nothing before the first message"
        );
        r.sent(Time(5));
        assert_eq!(
            (r.next(), r.is_due(Time(104)), r.is_due(Time(105))),
            (Some(Time(105)), false, true)
        );
        let mut never = Repeat::new(Span::ZERO);
        never.sent(Time(5));
        assert_eq!((never.next(), never.is_due(Time(1 << 60))), (None, false));
    }

    #[test]
    fn repetitions_that_would_fill_the_wire_are_refused() {
        let link =
            LinkFacts::plain(Rate::from_gbps(100), Span::from_us(1), Bytes(1500), Bytes(300_000));
        let of = |every: &str| read(&mut Defaults::of(&[PARAM]).with("repeat", every), &link);
        assert_eq!(of("0us"), Ok(Span::ZERO));
        assert_eq!(of("41ns"), Ok(Span::from_ns(41)));
        let e = of("40ns").unwrap_err();
        assert_eq!(
            (e.key.as_str(), e.what.as_str()),
            ("repeat", "repeat 40 ns < 40.96 ns, the time of 8 messages at 100 Gb/s")
        );
        let l = link.control_loop(MESSAGE_LEN);
        assert_eq!(with_one_lost(l, Span::ZERO), l);
        assert_eq!(with_one_lost(l, Span::from_us(2)).tau, l.tau + Span::from_us(2) + Span(40_960));
    }
}
