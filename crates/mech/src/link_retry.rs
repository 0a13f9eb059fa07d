//! Link-level retry (Ultra Ethernet 1.0, section 5.1): a frame that a link corrupts is sent again
//! by the link, in order, before flow control and hosts see that it was missing.
//!
//! ```text
//!   sender                                                     receiver
//!   numbers frames, mod 2^20          ---- frame n --------->  n is expected: accept, Ack(n), at most one in the spacing of control sets
//!   keeps them until acknowledged     <--- Ack(last good) ---  n is beyond, or the frame is bad: Nack(last good) once,
//!   Nack or timer: REPLAY, all after  <--- Nack(last good) --      then discard until the expected one comes
//!     the last good one, then new ones                         n has been accepted before: discard, Ack again
//!
//!   ADVANCE --Nack, timer--> REPLAY --all sent--> ADVANCE
//!      ^                       | more replays without progress than allowed
//!      |                       v
//!     INIT <--re-init------- FLUSH    kept frames are given up
//!      Init(n) -->  <-- InitEcho(n)
//! ```
//!
//! The replay buffer itself is the port's: frames are counted here by their place in it, oldest
//! first.

use std::collections::VecDeque;

use xoff_units::params::{Kind, ParamError, ParamSpec, Values};
use xoff_units::{Bytes, Rate, Span, Time, state};

/// Keys of `[link_retry]`.
pub const PARAMS: &[ParamSpec] = &[
    ParamSpec::new(
        "frames",
        Kind::Count,
        "2047",
        "largest number of outstanding frames, 1 to 524,288",
        "SAI LLR: OUTSTANDING_FRAMES_MAX; OTG 2047",
    ),
    ParamSpec::optional(
        "buffer",
        Kind::Bytes,
        "replay buffer: largest number of outstanding bytes; default: twice the bytes of a full link in a loop",
        "SAI LLR: OUTSTANDING_BYTES_MAX",
    ),
    ParamSpec::optional(
        "timer",
        Kind::Span,
        "replay timer: without an acknowledgement for this time, the port resends all outstanding frames; default: four loops",
        "SAI LLR: REPLAY_TIMER_MAX, 0 to 65,535 ns; SONiC's sample has 5000 ns",
    ),
    ParamSpec::new(
        "replays",
        Kind::Count,
        "3",
        "replays in a row without progress, 1 to 254; one more flushes the buffer; 255: no limit",
        "SAI LLR: REPLAY_COUNT_MAX; SONiC's sample has 3",
    ),
    ParamSpec::new(
        "ack_spacing",
        Kind::Bytes,
        "2048B",
        "smallest distance between two acknowledgements, in bytes of the link",
        "SAI LLR: CTLOS_TARGET_SPACING, 2048 B",
    ),
    ParamSpec::new(
        "nack_again",
        Kind::Flag,
        "false",
        "after a Nack, a receiver sends another one when a replay skips the expected frame; the standard leaves that to the timer",
        "xoff extension",
    ),
    ParamSpec::new(
        "on_flush",
        Kind::Choice(&["re-init", "best-effort"]),
        "re-init",
        "after a flush: start over with a handshake, or send frames without numbers from then on",
        "SAI LLR: RE_INIT_ON_FLUSH, flush action",
    ),
];

/// A wrapper of links; `None`: links repeat nothing.
pub type Entry = crate::choice::Choice<Option<Config>>;

/// All of them.
pub const REGISTRY: &[Entry] = &[
    Entry { name: "none", about: "corrupted frames are lost", params: &[], read: |_| Ok(None) },
    Entry {
        name: "llr",
        about: "link-level retry of Ultra Ethernet: numbered frames, a replay buffer, Ack and Nack",
        params: &[PARAMS],
        read: |v| Config::read(v).map(Some),
    },
];

/// Bits of a sequence number on the wire.
const BITS: u32 = 20;
/// Frames outstanding at most: half the numbers, so that an old one is never taken for a new one.
pub const FRAMES_MAX: u64 = 1 << (BITS - 1);
/// Length of a control ordered set [bytes].
pub const SET_LEN: Bytes = Bytes(8);
/// Value of `replays` for no limit.
const NO_LIMIT: u64 = 255;

/// Settings in a file, for all links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    frames: u64,
    buffer: Option<Bytes>,
    timer: Option<Span>,
    replays: Option<u32>,
    ack_spacing: Bytes,
    nack_again: bool,
    re_init: bool,
}

/// Values of the settings on one link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// Frames that may be outstanding.
    pub frames: u64,
    /// Bytes that may be outstanding.
    pub buffer: Bytes,
    /// Largest frame [bytes].
    pub mtu: Bytes,
    /// Replay timer [ps].
    pub timer: Span,
    /// Replays without progress; `None`: any number.
    pub replays: Option<u32>,
    /// Least time between two acknowledgements [ps].
    pub ack_spacing: Span,
    /// Another Nack when a replay passes by.
    pub nack_again: bool,
    /// A flush is followed by a handshake.
    pub re_init: bool,
    /// Bits of a sequence number: 20. With fewer of them all states of a link can be gone through.
    pub bits: u32,
}

impl Params {
    /// Numbers wrap beyond it.
    fn mask(&self) -> u64 {
        (1 << self.bits) - 1
    }
}

/// From the first bit of a frame until its acknowledgement has come, at the latest: the frame, the
/// way there and back, the spacing of acknowledgements, a frame that is on the wire before it, and
/// itself [ps].
pub fn loop_time(rate: Rate, delay: Span, mtu: Bytes, ack_spacing: Span) -> Span {
    rate.time_for(mtu) * 2 + delay * 2 + ack_spacing + rate.time_for(SET_LEN)
}

impl Config {
    fn read(v: &mut dyn Values) -> Result<Config, ParamError> {
        let frames = v.count("frames")?;
        if !(1..=FRAMES_MAX).contains(&frames) {
            let what = format!("{frames} frames outstanding");
            return Err(ParamError::new(
                "frames",
                what,
                format!("expected 1 to {FRAMES_MAX} = 2^19: 20 bits cannot distinguish more"),
            ));
        }
        let (buffer, timer) = (v.bytes_opt("buffer")?, v.span_opt("timer")?);
        if timer == Some(Span::ZERO) {
            return Err(ParamError::new(
                "timer",
                "a replay timer of 0",
                "expected more than a loop of the link",
            ));
        }
        let replays = match v.count("replays")? {
            NO_LIMIT => None,
            n @ 1..NO_LIMIT => Some(n as u32),
            n => {
                return Err(ParamError::new(
                    "replays",
                    format!("{n} replays"),
                    "expected 1 to 254, or 255: no limit",
                ));
            }
        };
        if replays.is_none() {
            v.without_effect(
                "on_flush",
                "replays = 255 repeats forever: the port never flushes",
                "remove it, or set replays below 255",
            );
        }
        Ok(Config {
            frames,
            buffer,
            timer,
            replays,
            ack_spacing: v.bytes("ack_spacing")?,
            nack_again: v.flag("nack_again")?,
            re_init: v.text("on_flush")? == "re-init",
        })
    }

    /// Frames that may be outstanding.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// On a link of this rate, delay and largest frame.
    ///
    /// # Errors
    /// The replay buffer holds no frame.
    pub fn on(&self, rate: Rate, delay: Span, mtu: Bytes) -> Result<Params, ParamError> {
        let ack_spacing = rate.time_for(self.ack_spacing);
        let round = loop_time(rate, delay, mtu, ack_spacing);
        let buffer = self.buffer.unwrap_or(Bytes(rate.bytes_in(round).0 * 2 + mtu.0));
        if buffer < mtu {
            return Err(ParamError::new(
                "buffer",
                format!("a replay buffer of {buffer} has no room for a frame of {mtu}"),
                "use a larger buffer",
            ));
        }
        Ok(Params {
            frames: self.frames,
            buffer,
            mtu,
            timer: self.timer.unwrap_or(round * 4),
            replays: self.replays,
            ack_spacing,
            nack_again: self.nack_again,
            re_init: self.re_init,
            bits: BITS,
        })
    }

    /// Conditions that do not hold on such a link, as key, inequality and advice.
    pub fn unmet(&self, rate: Rate, delay: Span, mtu: Bytes) -> Vec<ParamError> {
        let Ok(p) = self.on(rate, delay, mtu) else { return Vec::new() };
        let round = loop_time(rate, delay, mtu, p.ack_spacing);
        let (need, frames) = (rate.bytes_in(round), round.0.div_ceil(rate.time_for(mtu).0.max(1)));
        let mut unmet = Vec::new();
        if p.buffer < need {
            let what = format!(
                "replay buffer {} < {need}, the outstanding bytes of a link of {rate} and {delay} in a loop of {round}",
                p.buffer
            );
            unmet.push(ParamError::new(
                "buffer",
                what,
                "use a larger value, or the link does not reach its rate",
            ));
        }
        if p.frames < frames {
            let what = format!(
                "frames {} < {frames} of {mtu}, the outstanding frames of a link of {rate} and {delay} in a loop of {round}",
                p.frames
            );
            unmet.push(ParamError::new(
                "frames",
                what,
                "use a larger value, or the link does not reach its rate",
            ));
        }
        if p.timer < round {
            let what =
                format!("timer {} < {round}, the loop of a link of {rate} and {delay}", p.timer);
            unmet.push(ParamError::new(
                "timer",
                what,
                "use a longer timer, or the port resends frames that were not lost",
            ));
        }
        unmet
    }
}

/// Signal between the two ends of a link; a number is a sequence number of 20 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// All up to this one came.
    Ack(u32),
    /// All up to this one came, and the next did not.
    Nack(u32),
    /// The next frame has this number.
    Init(u32),
    /// Answer to INIT: this number is expected.
    InitEcho(u32),
}

impl Signal {
    /// Kind, in the numbers of the standard, and sequence number.
    pub fn to_words(self) -> (u8, u32) {
        match self {
            Signal::Ack(n) => (1, n),
            Signal::Nack(n) => (2, n),
            Signal::Init(n) => (3, n),
            Signal::InitEcho(n) => (4, n),
        }
    }
    /// The inverse of [`Signal::to_words`]; `None`: no such kind.
    pub fn from_words(kind: u8, n: u32) -> Option<Signal> {
        [Signal::Ack(n), Signal::Nack(n), Signal::Init(n), Signal::InitEcho(n)]
            .into_iter()
            .find(|s| s.to_words().0 == kind)
    }
}

/// State of the sending half.
#[derive(Clone, Copy, Debug, PartialEq, Eq, state::State)]
pub enum State {
    /// A handshake is under way: nothing goes.
    Init,
    /// New frames go.
    Advance,
    /// Frames go again, this one next, counted from the first of the run.
    Replay(#[state(counter)] u64),
    /// The buffer was flushed: frames go without numbers.
    Flush,
}

/// Fate of the kept frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Change {
    /// Number of the oldest frames that have arrived.
    pub freed: usize,
    /// All others are given up.
    pub flushed: bool,
}

/// The sending half.
#[derive(Clone, Debug, PartialEq, Eq, state::State)]
pub struct RetrySender {
    #[state(built)] // constant
    p: Params,
    state: State,
    /// Number of the oldest kept frame, and of the next new one; counted from the start of the run.
    /// 20 bits are on the wire.
    #[state(counter)]
    first: u64,
    #[state(counter)]
    next: u64,
    /// Lengths of those kept [bytes].
    lens: VecDeque<u32>,
    bytes: u64,
    /// Never: nothing is outstanding.
    timer: Time,
    /// Replays without progress, where their number is limited.
    tries: u32,
}

impl RetrySender {
    /// A sender on a link that has been initialised.
    pub fn new(p: Params) -> RetrySender {
        RetrySender {
            p,
            state: State::Advance,
            first: 0,
            next: 0,
            lens: VecDeque::new(),
            bytes: 0,
            timer: Time::NEVER,
            tries: 0,
        }
    }

    /// State of the sending half.
    pub fn state(&self) -> State {
        self.state
    }
    /// Frames kept.
    pub fn outstanding(&self) -> u64 {
        self.next - self.first
    }
    /// The next new one, counted from the first of the run.
    pub fn next_number(&self) -> u64 {
        self.next
    }
    /// Expiry of the timer; never: the timer does not run.
    pub fn next_wake(&self) -> Time {
        self.timer
    }
    /// True if a new frame of any length may leave.
    pub fn has_room(&self) -> bool {
        match self.state {
            State::Advance => {
                self.outstanding() < self.p.frames && self.bytes + self.p.mtu.0 <= self.p.buffer.0
            }
            State::Flush => true,
            State::Init | State::Replay(_) => false,
        }
    }

    /// A new frame goes. Returns its number; `None`: it has none, and is not kept.
    pub fn on_sent(&mut self, now: Time, len: u32) -> Option<u32> {
        if matches!(self.state, State::Flush | State::Init) {
            return None;
        }
        self.lens.push_back(len);
        self.bytes += u64::from(len);
        if self.timer == Time::NEVER {
            self.timer = now + self.p.timer;
        }
        self.next += 1;
        Some(((self.next - 1) & self.p.mask()) as u32)
    }

    /// The next frame to go again: its place among those kept, and its number. It goes now.
    pub fn replay(&mut self) -> Option<(usize, u32)> {
        let State::Replay(at) = self.state else { return None };
        let next = at + 1;
        self.state = if next < self.next { State::Replay(next) } else { State::Advance };
        Some(((at - self.first) as usize, (at & self.p.mask()) as u32))
    }

    /// Frees all frames up to this number: they have arrived. Frames that are not outstanding are
    /// earlier ones.
    fn free(&mut self, now: Time, last: u32) -> usize {
        let before = self.first.wrapping_sub(1);
        let n = u64::from(last).wrapping_sub(before) & self.p.mask();
        if n == 0 || n > self.outstanding() {
            return 0;
        }
        for len in self.lens.drain(..n as usize) {
            self.bytes -= u64::from(len);
        }
        self.first += n;
        self.tries = 0;
        self.timer = if self.outstanding() == 0 { Time::NEVER } else { now + self.p.timer };
        if let State::Replay(at) = self.state {
            let at = at.max(self.first);
            self.state = if at < self.next { State::Replay(at) } else { State::Advance };
        }
        n as usize
    }

    /// The oldest one goes again, and all after it.
    fn again(&mut self, now: Time) -> bool {
        if self.outstanding() == 0 || matches!(self.state, State::Init | State::Flush) {
            return false;
        }
        if let Some(most) = self.p.replays {
            self.tries += 1;
            if self.tries > most {
                self.flush(now);
                return true;
            }
        }
        self.state = State::Replay(self.first);
        self.timer = now + self.p.timer;
        false
    }

    fn flush(&mut self, now: Time) {
        self.lens.clear();
        (self.first, self.bytes, self.tries) = (self.next, 0, 0);
        (self.state, self.timer) = if self.p.re_init {
            (State::Init, now + self.p.timer)
        } else {
            (State::Flush, Time::NEVER)
        };
    }

    /// The link has failed: nothing goes again.
    pub fn on_link_failed(&mut self) {
        self.lens.clear();
        (self.first, self.bytes, self.tries) = (self.next, 0, 0);
        (self.state, self.timer) = (State::Flush, Time::NEVER);
    }

    /// Signal to send after a flush, and again until it is answered.
    pub fn handshake(&self) -> Option<Signal> {
        (self.state == State::Init).then_some(Signal::Init((self.next & self.p.mask()) as u32))
    }

    /// The far end has sent this.
    pub fn on_signal(&mut self, now: Time, signal: Signal) -> Change {
        match signal {
            Signal::Ack(last) => Change { freed: self.free(now, last), flushed: false },
            Signal::Nack(last) => {
                let freed = self.free(now, last);
                Change { freed, flushed: self.again(now) }
            }
            Signal::InitEcho(n) => {
                if self.handshake() == Some(Signal::Init(n)) {
                    (self.state, self.timer) = (State::Advance, Time::NEVER);
                }
                Change::default()
            }
            Signal::Init(_) => Change::default(),
        }
    }

    /// The clock has reached `now`. Returns whether the timer had expired, and the consequence.
    pub fn on_wake(&mut self, now: Time) -> (bool, Change) {
        if now < self.timer {
            return (false, Change::default());
        }
        if self.state == State::Init {
            self.timer = now + self.p.timer;
            return (true, Change::default());
        }
        (true, Change { freed: 0, flushed: self.again(now) })
    }
}

/// The receiving half.
#[derive(Clone, Debug, PartialEq, Eq, state::State)]
pub struct RetryReceiver {
    #[state(built)] // constant
    p: Params,
    /// Counted from the first frame of the run.
    #[state(counter)]
    expected: u64,
    /// Since a Nack, how far beyond the expected one the last good frame was; `None`: no Nack
    /// stands.
    beyond: Option<u64>,
    ack_due: bool,
    nack_due: bool,
    /// No acknowledgement before.
    #[state(deadline)]
    ack_after: Time,
}

impl RetryReceiver {
    /// A receiver on a link that has been initialised.
    pub fn new(p: Params) -> RetryReceiver {
        RetryReceiver {
            p,
            expected: 0,
            beyond: None,
            ack_due: false,
            nack_due: false,
            ack_after: Time::ZERO,
        }
    }

    /// A good frame of this number came. Is it accepted?
    pub fn on_frame(&mut self, number: u32) -> bool {
        let beyond = u64::from(number).wrapping_sub(self.expected) & self.p.mask();
        if beyond == 0 {
            self.expected += 1;
            self.beyond = None;
            self.ack_due = true;
            return true;
        }
        if beyond > self.p.mask() / 2 {
            // It has been accepted, and the answer was lost: an acknowledgement, or the Nack.
            // Without another one a sender whose buffer is full of such frames would send them
            // forever.
            self.ack_due = true;
        } else if let Some(last) = self.beyond {
            self.nack_due |= self.p.nack_again && beyond <= last;
            self.beyond = Some(beyond);
        } else {
            (self.beyond, self.nack_due) = (Some(beyond), true);
        }
        false
    }

    /// A frame came that the link had corrupted.
    pub fn on_bad(&mut self) {
        if self.beyond.is_none() {
            (self.beyond, self.nack_due) = (Some(0), true);
        }
    }

    /// The far end has sent this. Returns the answer.
    pub fn on_signal(&mut self, signal: Signal) -> Option<Signal> {
        let Signal::Init(n) = signal else { return None };
        // Frames that the far end has given up are skipped.
        self.expected += u64::from(n).wrapping_sub(self.expected) & self.p.mask();
        (self.beyond, self.nack_due, self.ack_due) = (None, false, false);
        Some(Signal::InitEcho(n))
    }

    /// The frame that it expects, counted from the first of the run: it has accepted all before, or
    /// skipped them for an `Init`.
    pub fn expected(&self) -> u64 {
        self.expected
    }

    /// The link has failed: nothing is answered any more.
    pub fn on_link_failed(&mut self) {
        (self.beyond, self.nack_due, self.ack_due) = (None, false, false);
    }

    /// Signal that is due now.
    pub fn due(&mut self, now: Time) -> Option<Signal> {
        let last = (self.expected.wrapping_sub(1) & self.p.mask()) as u32;
        if std::mem::take(&mut self.nack_due) {
            self.ack_due = false;
            return Some(Signal::Nack(last));
        }
        if !self.ack_due || now < self.ack_after {
            return None;
        }
        self.ack_due = false;
        self.ack_after = now + self.p.ack_spacing;
        Some(Signal::Ack(last))
    }

    /// Due time of an acknowledgement; never: none is due.
    pub fn next_wake(&self) -> Time {
        if self.ack_due { self.ack_after } else { Time::NEVER }
    }
}

#[cfg(test)]
mod tests;
