//! The watchdog against a neighbour that holds a priority for ever, by pauses, for want of credits or with a rate next to nothing: a
//! broken NIC must not stop the whole fabric.
//!
//! ```text
//!   no frame leaves --detect--> storm: the flow control no longer counts; what waits is sent (forward) or dropped (drop)
//!                                 +--would not have held for restore--> back to normal
//! ```
//!
//! Source: the PFC watchdog of SONiC ("PFC Watchdog", detection and restoration time, actions drop and forward). Deviation: where
//! SONiC polls counters of the chip, this one has the time of the last departure of a queue; and it acts for every flow control.

use xoff_units::{Span, Time};

/// What becomes of the frames that waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// They are sent as if there were no pause.
    Forward,
    /// They are thrown away, so that they delay nothing behind them.
    Drop,
}

/// Times and action of the watchdog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatchdogConfig {
    /// A hold of this length is a storm [ps].
    pub detect: Span,
    /// After this time in which the neighbour would have let frames go a storm is over [ps].
    pub restore: Span,
    /// What becomes of what waited.
    pub action: Action,
}

/// Since when, and when the neighbour last held it; `None`: no storm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Storm(Option<(Time, Time)>);

/// What has just changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// A storm was found; it had held for so long.
    Began(Span),
    /// It is over; it lasted so long.
    Ended(Span),
}

impl Storm {
    /// Does flow control count for nothing now?
    pub fn is_active(&self) -> bool {
        self.0.is_some()
    }

    /// The neighbour still holds it during a storm, and is ignored.
    pub fn hold(&mut self, now: Time) {
        if let Some((_, last)) = &mut self.0 {
            *last = now;
        }
    }

    /// A look; `held`: since when the peer has let nothing go of what waits, if it does not.
    pub fn look(&mut self, now: Time, held: Option<Time>, c: &WatchdogConfig) -> Option<Change> {
        match (self.0, held) {
            (None, Some(since)) if now.since(since) >= c.detect => {
                self.0 = Some((now, now));
                Some(Change::Began(now.since(since)))
            }
            (Some((began, last)), _) if now.since(last) >= c.restore => {
                self.0 = None;
                Some(Change::Ended(now.since(began)))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_storm_begins_after_detection_and_ends_after_silence() {
        let (detect, restore) = (Span::from_ms(200), Span::from_ms(300));
        let c = WatchdogConfig { detect, restore, action: Action::Drop };
        let ms = |n: u64| Time(n * 1_000_000_000);
        let mut s = Storm::default();
        assert_eq!(s.look(ms(150), Some(ms(0)), &c), None);
        assert_eq!(s.look(ms(200), Some(ms(0)), &c), Some(Change::Began(detect)));
        assert_eq!(s.look(ms(201), Some(ms(0)), &c), None, "reported once");
        s.hold(ms(400));
        assert_eq!(s.look(ms(699), None, &c), None);
        assert_eq!((s.look(ms(700), None, &c), s.is_active()), (Some(Change::Ended(Span::from_ms(500))), false));
    }
}
