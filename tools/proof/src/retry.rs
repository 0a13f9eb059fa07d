//! One direction of a link that repeats corrupted frames: both halves of link-level retry as a
//! closed system.
//!
//! ```text
//!   source --> RetrySender --- frames, Init ----------> RetryReceiver --> delivered
//!              replay buffer <--- Ack, Nack, InitEcho ---+
//! ```
//!
//! The order of things is that of a port (`node/src/port/retry.rs`): what came is looked at, then
//! the timer, then what is due is sent, then a frame goes, an old one before a new one. Everything
//! happens at whole ticks, of which a frame takes one on the wire and the cable another.

use std::collections::VecDeque;
use std::fmt;

use stateright::{Model, Property};
use xoff_mech::link_retry::{
    Change, Params, REGISTRY, RetryReceiver, RetrySender, Signal, State as Does,
};
use xoff_units::params::Defaults;
use xoff_units::{Bytes, Time};

use crate::faults::Fate;
use crate::link::{FRAME, IN_ORDER, RATE, RECOVERS, TICK};
use crate::verdict::System;
use crate::words::Words;

/// Bits of a number: it comes again after eight frames.
pub const BITS: u32 = 3;
/// Ticks in which a link that is left alone has to be at rest, and one that is used has to carry
/// frames again.
const RECOVERS_IN: usize = 96;
/// Least number of the last quarter of ticks that carry a frame.
const CARRIED_MIN: u64 = RECOVERS_IN as u64 / 4 / 2;

/// A link that repeats, with its parameters.
pub struct Setup {
    /// Name on the page.
    pub name: &'static str,
    /// Parameters that are not at their default.
    pub given: &'static [(&'static str, &'static str)],
}

/// All that are checked.
pub const SETUPS: &[Setup] = &[
    Setup {
        name: "llr",
        given: &[
            ("frames", "4"),
            ("ack_spacing", "8192B"),
            ("timer", "32768ns"),
            ("replays", "255"),
        ],
    },
    Setup {
        name: "llr, a Nack sent again",
        given: &[
            ("frames", "4"),
            ("ack_spacing", "8192B"),
            ("timer", "32768ns"),
            ("replays", "255"),
            ("nack_again", "true"),
        ],
    },
    Setup {
        name: "llr, two replays at most",
        given: &[("frames", "4"), ("ack_spacing", "8192B"), ("timer", "32768ns"), ("replays", "2")],
    },
];

impl Setup {
    /// The link under these faults.
    ///
    /// # Panics
    /// The parameters are refused: a mistake in [`SETUPS`].
    pub fn link(&self, faults: Hits) -> RetryLink {
        let entry = REGISTRY.iter().find(|e| e.name == "llr").expect("a name of the registry");
        let mut values = self
            .given
            .iter()
            .fold(Defaults::of(entry.params[0]), |v, (key, value)| v.with(key, value));
        let config =
            (entry.read)(&mut values).ok().flatten().unwrap_or_else(|| panic!("{}", self.name));
        let p = config.on(RATE, TICK, FRAME).unwrap_or_else(|e| panic!("{}: {e:?}", self.name));
        RetryLink { p: Params { bits: BITS, ..p }, faults, only: None, canary: None }
    }
}

/// Faults of frames and of signals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hits {
    /// Nothing: a signal may wait for a frame, no more.
    None,
    /// A frame comes, and its check sequence is wrong.
    Corrupted,
    /// A frame does not come.
    Vanished,
    /// A signal does not come.
    SignalLost,
    /// A signal comes twice.
    SignalTwice,
    /// A signal comes three frame times later than behind a frame.
    SignalLate,
    /// Frames come corrupted or vanish, signals are lost.
    All,
}

impl Hits {
    /// All of them, in the order of the page.
    pub const ALL: [Hits; 7] = [
        Hits::None,
        Hits::Corrupted,
        Hits::Vanished,
        Hits::SignalLost,
        Hits::SignalTwice,
        Hits::SignalLate,
        Hits::All,
    ];

    /// In words.
    pub const fn describe(self) -> &'static str {
        match self {
            Hits::None => "none",
            Hits::Corrupted => "frames come corrupted",
            Hits::Vanished => "frames vanish",
            Hits::SignalLost => "signals are lost",
            Hits::SignalTwice => "a signal comes twice",
            Hits::SignalLate => "a signal is late by three frames",
            Hits::All => "frames come corrupted or vanish, signals are lost",
        }
    }

    fn frames(self) -> &'static [Frame] {
        match self {
            Hits::Corrupted => &[Frame::Good, Frame::Corrupted],
            Hits::Vanished => &[Frame::Good, Frame::Vanished],
            Hits::All => &[Frame::Good, Frame::Corrupted, Frame::Vanished],
            _ => &[Frame::Good],
        }
    }

    fn signals(self) -> &'static [Fate] {
        match self {
            Hits::None | Hits::Corrupted | Hits::Vanished => &[Fate::Soon, Fate::Slow],
            Hits::SignalLost => &[Fate::Soon, Fate::Slow, Fate::Never],
            Hits::SignalTwice => &[Fate::Soon, Fate::Slow, Fate::Twice],
            Hits::SignalLate => &[Fate::Soon, Fate::Late],
            Hits::All => &[Fate::Soon, Fate::Never],
        }
    }
}

/// Fate of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Frame {
    Good,
    Corrupted,
    Vanished,
}

/// A fault that is planted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Canary {
    /// So many frames may be outstanding.
    Window(u64),
    /// The timer is never called.
    NoTimer,
    /// Accepts every uncorrupted frame.
    AcceptsAll,
    /// An acknowledgement counts a frame that has not come.
    AcksTheNext,
    /// Frames that were accepted before are not acknowledged again, as the letter of the standard
    /// has it.
    SilentOnOld,
}

/// A link to be checked.
#[derive(Clone)]
pub struct RetryLink {
    /// Parameters of both halves.
    pub p: Params,
    /// Faults that the adversary may cause.
    pub faults: Hits,
    /// Only this property is checked.
    pub only: Option<&'static str>,
    /// A fault that the check has to find.
    pub canary: Option<Canary>,
}

/// Item on its way to the receiver; a frame by its number on the wire and its number at the source.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sent {
    Frame { number: u32, nth: u32, good: bool },
    Signal(Signal),
}

/// Permanent error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// A frame was delivered that was not the next.
    Order,
    /// A frame left the replay buffer before it was delivered, or there was none.
    Freed,
}

/// A state of the link.
#[derive(Clone)]
pub struct State {
    now: Time,
    tx: RetrySender,
    rx: RetryReceiver,
    /// The replay buffer.
    kept: VecDeque<u32>,
    there: VecDeque<(Time, Sent)>,
    back: VecDeque<(Time, Signal)>,
    /// The next frame of the source.
    made: u32,
    /// The next frame to be delivered.
    expected: u32,
    /// The first frame after those that were given up last.
    fresh: u32,
    /// Frames that had not been delivered were given up in the last tick.
    gave_up: bool,
    delivered: u64,
    /// Error found.
    pub broken: Option<Broken>,
    key: Vec<u64>,
}

crate::words::equal_by_key!(State);
impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let does = match self.tx.state() {
            Does::Init => "INIT",
            Does::Advance => "ADVANCE",
            Does::Replay(_) => "REPLAY",
            Does::Flush => "FLUSH",
        };
        write!(
            f,
            "{does}, {} kept, {} on the wire, {:?} on their way back",
            self.kept.len(),
            self.there.len(),
            self.signals()
        )?;
        if self.gave_up {
            write!(f, ", frames given up")?;
        }
        if let Some(broken) = self.broken {
            write!(f, ", {broken:?}")?;
        }
        Ok(())
    }
}

impl State {
    fn signals(&self) -> Vec<Signal> {
        self.back.iter().map(|b| b.1).collect()
    }
}

/// Decision of the adversary for a tick.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Decision {
    /// The source has a frame.
    source: bool,
    /// Fate of a frame that leaves.
    frame: Frame,
    /// Fate of signals that leave.
    signals: Fate,
}

impl fmt::Debug for Decision {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(
            f,
            "{}, frame {:?}, signals {:?}",
            if self.source { "sends" } else { "idle" },
            self.frame,
            self.signals
        )
    }
}

/// Everything goes well.
const FAIR: Decision = Decision { source: false, frame: Frame::Good, signals: Fate::Soon };

impl RetryLink {
    fn start(&self) -> State {
        let p = if let Some(Canary::Window(frames)) = self.canary {
            Params { frames, buffer: Bytes(u64::MAX), ..self.p }
        } else {
            self.p
        };
        let mut s = State {
            now: Time::ZERO,
            tx: RetrySender::new(p),
            rx: RetryReceiver::new(p),
            kept: VecDeque::new(),
            there: VecDeque::new(),
            back: VecDeque::new(),
            made: 0,
            expected: 0,
            fresh: 0,
            gave_up: false,
            delivered: 0,
            broken: None,
            key: Vec::new(),
        };
        self.name(&mut s);
        s
    }

    /// Writes the values that are equal if the link continues alike. Numbers stay as they are on
    /// the wire, so that they wrap.
    fn name(&self, s: &mut State) {
        let mut w = Words::new(s.now, true, BITS, |frame, _| frame.into(), &[]);
        w.add(&s.tx).and_then(|()| w.add(&s.rx)).expect("halves are written");
        let ahead = |nth: u32| u64::from(nth.wrapping_sub(s.expected));
        w.numbers.extend([s.kept.len(), s.there.len()].map(|n| n as u64));
        w.numbers.extend(s.kept.iter().map(|&nth| ahead(nth)));
        for &(at, sent) in &s.there {
            w.time(at);
            w.numbers.extend(match sent {
                // Of one that comes corrupted nothing is known but that it was one.
                Sent::Frame { good: false, .. } => [0; 3],
                Sent::Frame { number, nth, .. } => [1, u64::from(number), ahead(nth)],
                Sent::Signal(signal) => words(signal),
            });
        }
        for &(at, signal) in &s.back {
            w.time(at);
            w.numbers.extend(words(signal));
        }
        w.numbers.extend([
            ahead(s.made),
            u64::from(s.fresh.saturating_sub(s.expected)),
            u64::from(s.gave_up),
        ]);
        w.numbers.push(s.broken.map_or(0, |b| 1 + b as u64));
        s.key = w.numbers;
    }

    /// A signal goes, behind those before it.
    fn send<T>(&self, wire: &mut VecDeque<(Time, T)>, now: Time, signal: T, fate: Fate)
    where
        T: Copy,
    {
        let takes = match fate {
            Fate::Never | Fate::FirstNever => return,
            Fate::Soon => TICK,
            Fate::Slow | Fate::Twice | Fate::RestNever | Fate::Turned => TICK * 2,
            Fate::Late => TICK * 5,
        };
        let at = wire.back().map_or(Time::ZERO, |w| w.0).max(now + takes);
        wire.push_back((at, signal));
        if fate == Fate::Twice {
            wire.push_back((at, signal));
        }
    }

    /// Answer of the receiver; `old`: about a frame that it has not accepted.
    fn answer(&self, s: &mut State, old: bool, fate: Fate) {
        while let Some(signal) = s.rx.due(s.now) {
            let signal = match (self.canary, signal) {
                (Some(Canary::SilentOnOld), Signal::Ack(_)) if old => continue,
                (Some(Canary::AcksTheNext), Signal::Ack(n)) => {
                    Signal::Ack((n + 1) & ((1 << BITS) - 1))
                }
                _ => signal,
            };
            self.send(&mut s.back, s.now, signal, fate);
        }
    }

    fn deliver(&self, s: &mut State, nth: u32) {
        if nth != s.expected && (nth != s.fresh || nth < s.expected) {
            s.broken = s.broken.or(Some(Broken::Order));
        }
        s.expected = nth.wrapping_add(1);
        s.delivered += 1;
    }

    /// Frames have arrived, or are given up.
    fn after(&self, s: &mut State, change: Change, fate: Fate) {
        for _ in 0..change.freed {
            // What comes after an earlier flush counts from there.
            if s.kept.pop_front().is_none_or(|nth| nth >= s.expected) {
                s.broken = s.broken.or(Some(Broken::Freed));
            }
        }
        if change.flushed {
            s.gave_up = s.kept.iter().any(|&nth| nth >= s.expected);
            s.kept.clear();
            s.fresh = s.made;
            self.shake_hands(s, fate);
        }
    }

    fn shake_hands(&self, s: &mut State, fate: Fate) {
        if let Some(init) = s.tx.handshake() {
            self.send(&mut s.there, s.now, Sent::Signal(init), fate);
        }
    }

    fn tick(&self, s: &mut State, d: Decision) {
        let now = s.now;
        s.gave_up = false;
        while s.there.front().is_some_and(|t| t.0 <= now) {
            match s.there.pop_front() {
                Some((_, Sent::Frame { number, nth, good })) => {
                    let mut accepted = false;
                    if good {
                        accepted = s.rx.on_frame(number);
                        if accepted || self.canary == Some(Canary::AcceptsAll) {
                            self.deliver(s, nth);
                        }
                    } else {
                        s.rx.on_bad();
                    }
                    self.answer(s, !accepted, d.signals);
                }
                Some((_, Sent::Signal(signal))) => {
                    if let Some(echo) = s.rx.on_signal(signal) {
                        // From here on none of those that were given up can come.
                        s.expected = s.fresh;
                        self.send(&mut s.back, now, echo, d.signals);
                    }
                }
                None => {}
            }
        }
        while s.back.front().is_some_and(|b| b.0 <= now) {
            if let Some((_, signal)) = s.back.pop_front() {
                let change = s.tx.on_signal(now, signal);
                self.after(s, change, d.signals);
            }
        }
        if self.canary != Some(Canary::NoTimer) {
            let (expired, change) = s.tx.on_wake(now);
            if expired && !change.flushed {
                self.shake_hands(s, d.signals);
            }
            self.after(s, change, d.signals);
        }
        self.answer(s, false, d.signals);
        if s.kept.len() as u64 != s.tx.outstanding() {
            s.broken = s.broken.or(Some(Broken::Freed));
        }
        let goes = if s.broken.is_some() {
            None
        } else if let Some((place, number)) = s.tx.replay() {
            Some((number, s.kept[place]))
        } else if d.source && s.tx.has_room() {
            let nth = s.made;
            s.made = nth.wrapping_add(1);
            s.tx.on_sent(now, FRAME.0 as u32).map(|number| {
                s.kept.push_back(nth);
                (number, nth)
            })
        } else {
            None
        };
        if let Some((number, nth)) = goes.filter(|_| d.frame != Frame::Vanished) {
            let sent = Sent::Frame { number, nth, good: d.frame == Frame::Good };
            let at = s.there.back().map_or(Time::ZERO, |t| t.0).max(now + TICK * 2);
            s.there.push_back((at, sent));
        }
        s.now = now + TICK;
    }

    /// Left alone, is all delivered that was not given up? And does the link carry frames if it is
    /// used?
    fn recovers(&self, from: &State) -> bool {
        let mut rests = from.clone();
        (0..RECOVERS_IN).for_each(|_| self.tick(&mut rests, FAIR));
        let all = rests.expected == rests.made || rests.fresh == rests.made;
        if !all
            || rests.tx.state() != Does::Advance
            || rests.tx.outstanding() != 0
            || rests.broken.is_some()
        {
            return false;
        }
        let mut runs = from.clone();
        let mut before = 0;
        for nth in 0..RECOVERS_IN {
            if nth == RECOVERS_IN * 3 / 4 {
                before = runs.delivered;
            }
            self.tick(&mut runs, Decision { source: true, ..FAIR });
        }
        runs.broken.is_none() && runs.delivered - before >= CARRIED_MIN
    }
}

/// A signal as numbers.
fn words(signal: Signal) -> [u64; 3] {
    let (kind, n) = signal.to_words();
    [2, kind.into(), n.into()]
}

/// The replay buffer holds what has not come; nothing is taken out of it before.
pub const KEPT: &str = "no frame leaves the replay buffer before it is delivered";
/// Nothing is given up.
pub const LOSSLESS: &str = "no frame is given up";

impl Model for RetryLink {
    type State = State;
    type Action = Decision;

    fn init_states(&self) -> Vec<State> {
        vec![self.start()]
    }

    fn actions(&self, s: &State, actions: &mut Vec<Decision>) {
        if s.broken.is_some() {
            return;
        }
        for source in [false, true] {
            for &frame in self.faults.frames() {
                actions.extend(self.faults.signals().iter().map(|&signals| Decision {
                    source,
                    frame,
                    signals,
                }));
            }
        }
    }

    fn next_state(&self, s: &State, d: Decision) -> Option<State> {
        let mut next = s.clone();
        self.tick(&mut next, d);
        self.name(&mut next);
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let all = vec![
            Property::always(KEPT, |_, s: &State| s.broken != Some(Broken::Freed)),
            Property::always(LOSSLESS, |_, s: &State| !s.gave_up),
            Property::always(IN_ORDER, |_, s: &State| s.broken != Some(Broken::Order)),
            Property::always(RECOVERS, |m: &RetryLink, s: &State| {
                s.broken.is_some() || m.recovers(s)
            }),
        ];
        all.into_iter().filter(|p| self.only.is_none_or(|only| p.name == only)).collect()
    }
}

impl System for RetryLink {
    const PROPERTIES: &'static [&'static str] = &[KEPT, LOSSLESS, IN_ORDER, RECOVERS];

    fn alone(&self, property: &'static str) -> Self {
        RetryLink { only: Some(property), ..self.clone() }
    }
    fn states_on_a_path_max(&self) -> Option<usize> {
        None
    }
    fn why(&self, property: &str, _: &State) -> Option<&'static str> {
        (property == RECOVERS).then_some(
            "without traffic from here on frames stay in the replay buffer, or with traffic the link carries less than half the line rate",
        )
    }
}
