//! Priority-based flow control (IEEE 802.1Q, clause 36; 802.3 Annex 31D for the timer).
//!
//!   occupancy -----+-------- XOFF -> Pause        XOFF + headroom <= buffer, where headroom covers
//!                  +-- XON <-------- Resume       bytes in flight when the pause is sent
//!
//! A pause carries a time in quanta of 512 bit times and expires; a receiver that is still above
//! XON repeats it at half life, so a standstill lasts. `sticky` replaces the timer by "until
//! resumed", which is what several simulators do. With `repeat` the last message, pause or resume,
//! is sent again each interval. Thresholds are fixed bytes or a dynamic share of the free pool
//! (alpha = 2^n).

use xoff_units::params::{Kind, ParamError, ParamSpec, Values};
use xoff_units::state::State;
use xoff_units::{Bytes, Rate, Span, Time};

use super::law::{Law, Pauses, Signal};
use super::on_off::Stop;
use super::{Gate, MESSAGE_LEN, Message, Occupancy, Receiver, Sender, repeat};
use crate::{ControlLoop, LinkFacts};

/// Parameters in a file.
pub const PARAMS: &[ParamSpec] = &[
    ParamSpec::new(
        "threshold",
        Kind::Choice(&["static", "dynamic", "profile"]),
        "static",
        "fixed XOFF/XON; or a share alpha of the free shared pool; or by the [[buffer_profile]] of each priority group: paused while it uses headroom",
        "802.1Q leaves it open; SONiC BUFFER_PROFILE",
    ),
    ParamSpec::optional(
        "xoff",
        Kind::Bytes,
        "occupancy above which the peer is paused; default: buffer - (C tau + MTU), with tau = MTU/C + MTU_other/C + k x 64 B/C + 2 t_w + t_r",
        "GFC section 4.2, Eq. (6), and the wire time of k control frames; proved by simulation, crates/run/tests/dimensioning",
    ),
    ParamSpec::optional(
        "xon",
        Kind::Bytes,
        "occupancy at or below which it is resumed; default: XOFF minus 2 MTU",
        "GFC section 4.1, recommended interval of 2 MTU",
    ),
    ParamSpec::new(
        "xon_offset",
        Kind::Bytes,
        "3000B",
        "dynamic only: resume when the used share is this much below the limit",
        "HPCC simulator: 3 KiB; SONiC xon_offset",
    ),
    ParamSpec::new(
        "pause",
        Kind::Choice(&["quanta", "sticky"]),
        "quanta",
        "timed pause with refresh at half life, or until resumed",
        "802.3 Annex 31D",
    ),
    ParamSpec::new(
        "quanta",
        Kind::Count,
        "65535",
        "pause time in units of 512 bit times at the port's rate",
        "802.1Q: 16-bit field",
    ),
    repeat::PARAM,
];

/// Thresholds for pause and resume.
#[derive(Clone, Copy, Debug, PartialEq, Eq, State)]
pub enum Threshold {
    /// Pause above `xoff`, resume at or below `xon` [bytes].
    Static {
        /// Occupancy above which the peer is stopped.
        xoff: Bytes,
        /// Occupancy at or below which the peer may resume.
        xon: Bytes,
    },
    /// Pause when headroom is in use or the shared part reaches its limit; resume when headroom is
    /// empty and the shared part is zero or at least `xon_offset` below the limit.
    Dynamic {
        /// Distance to the limit at which the peer may resume [bytes].
        xon_offset: Bytes,
    },
    /// Pause when headroom is in use; resume when it is empty and no more is held than the buffer
    /// profile of the group says.
    Profile,
}

impl Threshold {
    /// Each has keys of its own.
    fn name_what_it_does_not_read(self, v: &mut dyn Values) {
        let (unread, why, hint): (&[&str], _, _) = match self {
            Threshold::Static { .. } => (
                &["xon_offset"],
                "a static threshold resumes at xon",
                "set xon, or threshold = \"dynamic\"",
            ),
            Threshold::Dynamic { .. } => (
                &["xoff", "xon"],
                "a dynamic threshold follows the free memory of the switch",
                "set switch.alpha_shift and xon_offset, or threshold = \"static\"",
            ),
            Threshold::Profile => (
                &["xoff", "xon", "xon_offset"],
                "each group pauses and resumes by its [[buffer_profile]]",
                "set the keys of that profile, or choose another threshold",
            ),
        };
        unread.iter().for_each(|key| v.without_effect(key, why, hint));
    }
}

/// Values of [`PARAMS`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Params {
    /// Fixed or dynamic thresholds for pause and resume.
    pub threshold: Threshold,
    /// Pause time in quanta; `None`: until resumed.
    pub quanta: Option<u16>,
    /// Time after which the last message is sent again; zero: a pause at half its life, a resume
    /// never [ps].
    pub repeat: Span,
}

impl Params {
    /// Reads [`PARAMS`], deriving thresholds from the link where they are not given.
    pub fn read(v: &mut dyn Values, link: &LinkFacts) -> Result<Params, ParamError> {
        let kind = v.text("threshold")?;
        let repeat = repeat::read(v, link)?;
        let threshold = if kind == "dynamic" {
            Threshold::Dynamic { xon_offset: v.bytes("xon_offset")? }
        } else if kind == "profile" {
            Threshold::Profile
        } else {
            let l = repeat::with_one_lost(link.control_loop(MESSAGE_LEN), repeat);
            let (xoff, xon) =
                thresholds(&l, headroom(&l), v.bytes_opt("xoff")?, v.bytes_opt("xon")?);
            Threshold::Static { xoff, xon }
        };
        let p = Params { threshold, quanta: read_quanta(v)?, repeat };
        p.validate(link)?;
        p.threshold.name_what_it_does_not_read(v);
        Ok(p)
    }

    /// Rejects parameters that cannot work. Broken rules of thumb are left to the planner's
    /// warnings.
    pub fn validate(&self, link: &LinkFacts) -> Result<(), ParamError> {
        if let Threshold::Static { xoff, xon } = self.threshold {
            if xon > xoff {
                return Err(ParamError::new(
                    "xon",
                    format!("XON {xon} is above XOFF {xoff}"),
                    "choose XON <= XOFF: a peer is paused before it is resumed",
                ));
            }
            if xoff.0 == 0 {
                return Err(ParamError::new(
                    "xoff",
                    format!(
                        "the buffer of {} has no room for an XOFF: {} arrive above XOFF",
                        link.buffer,
                        headroom(&self.control_loop(link))
                    ),
                    "use a larger buffer, a shorter link, or an explicit xoff; see `xoff plan`",
                ));
            }
            if xoff > link.buffer {
                return Err(ParamError::new(
                    "xoff",
                    format!("XOFF {xoff} is above the buffer of {}", link.buffer),
                    "choose XOFF <= buffer, or frames would be lost before the first pause",
                ));
            }
        }
        Ok(())
    }
}

impl Law for Params {
    type Receiver = PfcReceiver;
    type Sender = PfcSender;

    fn halves(&self, link: &LinkFacts) -> (PfcReceiver, PfcSender) {
        (PfcReceiver::new(self, link.rate), PfcSender::new(link.rate))
    }
    fn resolved(&self) -> Vec<(&'static str, String)> {
        match self.threshold {
            Threshold::Static { xoff, xon } => {
                vec![("xoff", xoff.compact()), ("xon", xon.compact())]
            }
            Threshold::Dynamic { .. } | Threshold::Profile => Vec::new(),
        }
    }
    fn control_loop(&self, link: &LinkFacts) -> ControlLoop {
        repeat::with_one_lost(link.control_loop(MESSAGE_LEN), self.repeat)
    }
    fn pauses(&self) -> Pauses {
        match self.threshold {
            Threshold::Static { xoff, .. } => Pauses::At(xoff),
            Threshold::Dynamic { .. } => Pauses::ByFreeMemory,
            Threshold::Profile => Pauses::ByProfile,
        }
    }
    fn on_a_wire(&self) -> Result<(), ParamError> {
        timed(self.quanta)
    }
    /// TCD Eq. (3) with B_1 - B_0 = XOFF - XON, of dynamic thresholds the offset of XON.
    fn stop(&self) -> Option<Stop> {
        match self.threshold {
            Threshold::Static { xoff, xon } => Some(Stop::Queue(xoff.saturating_sub(xon))),
            Threshold::Dynamic { xon_offset } => Some(Stop::Queue(xon_offset)),
            Threshold::Profile => None, // each group has its own
        }
    }
}

/// Refuses pauses without a time, which no frame can carry.
pub(super) fn timed<T>(quanta: Option<T>) -> Result<(), ParamError> {
    match quanta {
        Some(_) => Ok(()),
        None => Err(ParamError::new(
            "pause",
            "a pause on a real link needs a time",
            "set pause = \"quanta\"",
        )),
    }
}

/// The most that a buffer holds above XOFF [bytes], exact: the frame that takes it above, all that
/// is sent at C until the pause is obeyed, and the frame that has just been started then: C tau + 1
/// MTU, since tau has the time of the last one.
pub fn headroom(l: &ControlLoop) -> Bytes {
    l.rate.bytes_in(l.tau) + l.mtu
}

/// XOFF - XON: 2 MTU (GFC section 4.1).
pub fn hysteresis(mtu: Bytes) -> Bytes {
    mtu * 2
}

/// XOFF and XON with this headroom, where they are not given.
pub fn thresholds(
    l: &ControlLoop,
    headroom: Bytes,
    xoff: Option<Bytes>,
    xon: Option<Bytes>,
) -> (Bytes, Bytes) {
    let xoff = xoff.unwrap_or(l.buffer.saturating_sub(headroom));
    (xoff, xon.unwrap_or(xoff.saturating_sub(hysteresis(l.mtu))))
}

/// A pause in quanta; 0 resumes, [`Pause::STICKY`] holds until resumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, State)]
pub struct Pause(pub u32);

impl Pause {
    /// Longer than the 16-bit field can hold.
    pub const STICKY: Pause = Pause(u32::MAX);
    /// Resume at once.
    pub const RESUME: Pause = Pause(0);

    /// A pause of a number of quanta; `None`: until resumed.
    pub fn of(quanta: Option<u16>) -> Pause {
        quanta.map_or(Pause::STICKY, |q| Pause(q as u32))
    }

    /// End of a pause that takes effect now and gets no further message; zero for a resume, never
    /// if it is sticky. 802.3 Annex 31D: a new time overwrites the rest of the old one; 0 clears
    /// it.
    pub fn ends(self, now: Time, line: Rate) -> Time {
        match self {
            Pause::RESUME => Time::ZERO,
            Pause::STICKY => Time::NEVER,
            Pause(q) => now + duration(q, line),
        }
    }

    /// Time at which a pause sent now has to be repeated: at half life, so the repeat arrives long
    /// before the peer's timer ends, whatever the link delay. Never if it is sticky.
    pub fn repeat_at(self, now: Time, line: Rate) -> Time {
        match self {
            Pause::RESUME | Pause::STICKY => Time::NEVER,
            Pause(q) => now + duration(q, line) / 2,
        }
    }
}

impl Signal for Pause {
    fn to_words(self) -> (u64, u64) {
        (self.0 as u64, 0)
    }
    fn from_words(a: u64, _: u64) -> Pause {
        Pause(a as u32)
    }
    fn describe(self) -> (&'static str, u64) {
        match self {
            Pause::RESUME => ("resume", 0),
            Pause(quanta) => ("pause", quanta as u64),
        }
    }
    fn stops(self) -> Option<bool> {
        Some(self != Pause::RESUME)
    }
    /// A timed pause ends on its own and its receiver half repeats it; a sticky one does not.
    fn release(self) -> Option<Pause> {
        Some(Pause::RESUME)
    }
}

/// Duration of `quanta` at `rate`: 512 bit times, i.e. 64 bytes, each.
pub fn duration(quanta: u32, rate: Rate) -> Span {
    rate.time_for(Bytes(64 * quanta as u64))
}

/// Reads `pause` and `quanta`: the pause time in quanta, `None` until resumed.
pub(super) fn read_quanta(v: &mut dyn Values) -> Result<Option<u16>, ParamError> {
    if v.text("pause")? == "sticky" {
        v.without_effect(
            "quanta",
            "a sticky pause has no time: it lasts until it is resumed",
            "remove it, or set pause = \"quanta\"",
        );
        return Ok(None);
    }
    match v.count("quanta")? {
        q @ 1..=65535 => Ok(Some(q as u16)),
        q => Err(ParamError::new(
            "quanta",
            format!("{q} does not fit the 16-bit field"),
            "expected 1 to 65535",
        )),
    }
}

/// The receiver half. What every frame asks stands first, so that it shares a cache line with the
/// accounting before it.
#[derive(Clone, Debug, PartialEq, Eq, State)]
#[repr(C)]
pub struct PfcReceiver {
    /// True from a pause to its resume.
    pausing: bool,
    quanta: Option<u16>,
    threshold: Threshold,
    line: Rate,
    /// Time of the next repeat of the last message; never: no repeat.
    refresh_at: Time,
    /// Time after which each is; zero: a pause at half its life, a resume never.
    repeat: Span,
}

impl PfcReceiver {
    /// A receiver on a link of this rate.
    pub fn new(p: &Params, line: Rate) -> Self {
        PfcReceiver {
            threshold: p.threshold,
            quanta: p.quanta,
            line,
            pausing: false,
            refresh_at: Time::NEVER,
            repeat: p.repeat,
        }
    }

    #[inline(always)] // asked for every frame; the compiler takes the three rules together for too large
    fn above_xoff(&self, occupancy: &Occupancy) -> bool {
        match self.threshold {
            Threshold::Static { xoff, .. } => occupancy.bytes > xoff,
            Threshold::Dynamic { .. } => {
                occupancy.headroom.0 > 0 || occupancy.shared >= occupancy.limit
            }
            Threshold::Profile => occupancy.headroom.0 > 0,
        }
    }

    #[inline]
    fn above_xon(&self, occupancy: &Occupancy) -> bool {
        match self.threshold {
            Threshold::Static { xon, .. } => occupancy.bytes > xon,
            Threshold::Dynamic { xon_offset } => {
                occupancy.headroom.0 > 0
                    || (occupancy.shared.0 > 0 && occupancy.shared + xon_offset > occupancy.limit)
            }
            Threshold::Profile => occupancy.headroom.0 > 0 || occupancy.bytes > occupancy.limit,
        }
    }

    #[inline(never)] // rare compared with frames
    fn pause(&mut self, now: Time) -> Option<Message> {
        self.pausing = true;
        let pause = Pause::of(self.quanta);
        self.refresh_at = pause.repeat_at(now, self.line).min(repeat::after(now, self.repeat));
        Some(Message::Pfc(pause))
    }

    #[inline(never)]
    fn resume(&mut self, now: Time) -> Option<Message> {
        self.pausing = false;
        self.refresh_at = repeat::after(now, self.repeat);
        Some(Message::Pfc(Pause::RESUME))
    }
}

impl Receiver for PfcReceiver {
    #[inline(always)]
    fn on_arrival(&mut self, now: Time, occupancy: &Occupancy, _len: Bytes) -> Option<Message> {
        if !self.pausing && self.above_xoff(occupancy) { self.pause(now) } else { None }
    }

    #[inline]
    fn on_departure(&mut self, now: Time, occupancy: &Occupancy, _len: Bytes) -> Option<Message> {
        if self.pausing && !self.above_xon(occupancy) { self.resume(now) } else { None }
    }

    fn on_wake(&mut self, now: Time, _occupancy: &Occupancy) -> Option<Message> {
        match self.refresh_at <= now {
            true if self.pausing => self.pause(now),
            true => self.resume(now),
            false => None,
        }
    }

    #[inline]
    fn next_wake(&self) -> Option<Time> {
        (self.refresh_at != Time::NEVER).then_some(self.refresh_at)
    }

    /// The longest pause that a frame can carry.
    fn hold(&self) -> Option<Message> {
        Some(Message::Pfc(Pause(u16::MAX.into())))
    }

    fn holds(&self, occupancy: &Occupancy, stuck: Bytes, _len: Bytes) -> bool {
        // Headroom is freed before anything else.
        let gone = occupancy.bytes.saturating_sub(stuck);
        let headroom = occupancy.headroom.saturating_sub(gone);
        let shared = occupancy.shared.saturating_sub(gone.saturating_sub(occupancy.headroom));
        self.pausing && self.above_xon(&Occupancy { bytes: stuck, shared, headroom, ..*occupancy })
    }
}

/// The sender half.
#[derive(Clone, Debug, PartialEq, Eq, State)]
pub struct PfcSender {
    line: Rate,
    /// End of the running pause; zero: none, never: until resumed.
    #[state(deadline)]
    paused_until: Time,
}

impl PfcSender {
    /// A sender on a link of this rate.
    pub fn new(line: Rate) -> Self {
        PfcSender { line, paused_until: Time::ZERO }
    }
}

impl Sender for PfcSender {
    #[inline]
    fn gate(&self, now: Time, _len: Bytes) -> Gate {
        if now >= self.paused_until {
            Gate::Open
        } else if self.paused_until == Time::NEVER {
            Gate::Blocked
        } else {
            Gate::Until(self.paused_until)
        }
    }

    #[inline]
    fn on_sent(&mut self, _now: Time, _len: Bytes, _tx: Span) {}

    fn on_message(&mut self, now: Time, message: Message) {
        if let Message::Pfc(pause) = message {
            self.paused_until = pause.ends(now, self.line);
        }
    }

    fn restart(&mut self, _now: Time) {
        self.paused_until = Time::ZERO;
    }

    #[inline]
    fn held(&self, now: Time, _len: Bytes) -> bool {
        now < self.paused_until
    }

    #[inline]
    fn rate(&self, now: Time) -> Rate {
        if now < self.paused_until { Rate::ZERO } else { self.line }
    }
}

#[cfg(test)]
mod tests;
