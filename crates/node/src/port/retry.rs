//! A port whose link repeats corrupted frames ([`xoff_mech::link_retry`]): the replay buffer, and
//! frames that precede new ones.
//!
//! ```text
//!   queues -> gate of flow control -> a copy is kept, numbered -> wire -> good and expected? -> ingress, flow control
//!                                       ^                                        |
//!                                       +---- replay <--- Ack, Nack, timer <-----+
//! ```
//!
//! Numbered are frames of flows, their answers, and control frames that carry a total of bytes
//! sent: these must arrive in order. Other control frames are not numbered. Ports without link
//! retry do not pay for any of it.

use std::collections::VecDeque;

use xoff_mech::link_retry::{Change, Params, RetryReceiver, RetrySender, Signal};
use xoff_units::state::State;

use super::*;
use crate::env::{RetryEvent, Surrender};
use crate::frame::Beside;

/// Effect of a link on a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hit {
    /// The frame arrives with a wrong check sequence.
    Corrupted,
    /// The start of the frame was hit: it does not arrive.
    Vanished,
}

/// Fate of a frame that arrived over a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrived {
    /// The node has it.
    Goes,
    /// Lost.
    Lost,
    /// Removed without a loss. The port may have a frame to send now.
    Taken,
}

#[derive(State)]
struct Kept {
    frame: Frame,
    beside: Option<Box<Beside>>,
}

/// Retry halves of a port's link, and its replay buffer.
#[derive(State)]
#[state(in_place, unwritten = "a link that repeats")]
pub(crate) struct Retry {
    tx: RetrySender,
    rx: RetryReceiver,
    kept: VecDeque<Kept>,
}

impl Retry {
    fn rests(&self) -> bool {
        self.tx.outstanding() == 0
            && self.tx.handshake().is_none()
            && self.rx.next_wake() == Time::NEVER
    }
}

impl Port {
    /// Marks the link as lossy: messages then carry the counters that their far end needs.
    pub fn set_lossy(&mut self) {
        self.lossy = true;
    }

    /// Makes the link repeat corrupted frames.
    pub fn repeat_by(&mut self, p: Params) {
        (self.repeats, self.notes_frames) = (true, true);
        self.retry = Some(Box::new(Retry {
            tx: RetrySender::new(p),
            rx: RetryReceiver::new(p),
            kept: VecDeque::new(),
        }));
    }

    /// True if frames arrive in the order in which they left. While its link is initialised a frame
    /// has no number.
    pub(super) fn is_in_order(&self) -> bool {
        self.retry.as_ref().is_none_or(|r| r.tx.handshake().is_none())
    }

    pub(super) fn retry_rests(&self) -> bool {
        self.retry.as_ref().is_none_or(|r| r.rests())
    }

    /// The link has failed: kept frames will never be sent again.
    pub(super) fn drop_kept(&mut self, env: &mut impl Env) {
        self.repeats = false;
        let Some(r) = &mut self.retry else { return };
        r.tx.on_link_failed();
        r.rx.on_link_failed();
        self.give_up(Surrender::LinkFailed, env);
    }

    /// Nothing that is kept goes again.
    fn give_up(&mut self, why: Surrender, env: &mut impl Env) {
        let Some(r) = &mut self.retry else { return };
        let first = r.tx.next_number() - r.kept.len() as u64;
        for (number, k) in (first..).zip(r.kept.drain(..)) {
            let what = RetryEvent::GivenUp {
                kind: k.frame.kind(),
                flow: k.frame.flow,
                number,
                sent: self.free.time,
                why,
            };
            env.emit(self.node, NodeEvent::LinkRetry { port: self.number, what });
        }
    }

    /// The frame that its link expects next, counted from the first of the run; `None`: its link
    /// does not repeat.
    pub fn expected_number(&self) -> Option<u64> {
        self.retry.as_ref().map(|r| r.rx.expected())
    }

    /// Transmission of a frame begins: it gets a number, and a copy is kept.
    #[cold]
    pub(super) fn keep(&mut self, id: FrameId, env: &mut impl Env) {
        let now = env.now();
        let Some(r) = &mut self.retry else { return };
        let frame = env.frames()[id];
        if let Some(number) = r.tx.on_sent(now, frame.len()) {
            let beside = env.frames().beside(id);
            r.kept.push_back(Kept { frame, beside });
            env.frames()[id].set_number(number);
        }
        self.plan_retry(env);
    }

    /// The next time at which the link has to act.
    fn plan_retry(&mut self, env: &mut impl Env) {
        let Some(r) = &self.retry else { return };
        let at = r.tx.next_wake().min(r.rx.next_wake());
        if at != Time::NEVER {
            self.wake_at(at, env);
        }
    }

    /// Applies the change of a signal or of the timer: frames that have arrived, or are given up.
    fn after(&mut self, change: Change, env: &mut impl Env) {
        let Some(r) = &mut self.retry else { return };
        r.kept.drain(..change.freed);
        if change.flushed {
            let init = r.tx.handshake();
            self.give_up(Surrender::NoProgress, env);
            if let Some(init) = init {
                self.push_signal(init, env);
            }
        }
    }

    fn push_signal(&mut self, signal: Signal, env: &mut impl Env) {
        let (kind, number) = signal.to_words();
        let id = env.frames().insert(Frame::link_signal(kind, number));
        self.control.push(id, env.frames());
    }

    /// Sends the signals that the receiving half has due.
    fn push_due(&mut self, env: &mut impl Env) {
        let now = env.now();
        while let Some(signal) = self.retry.as_mut().and_then(|r| r.rx.due(now)) {
            if matches!(signal, Signal::Nack(_)) {
                env.emit(
                    self.node,
                    NodeEvent::LinkRetry { port: self.number, what: RetryEvent::Nack },
                );
            }
            self.push_signal(signal, env);
        }
    }

    /// Starts frames that precede new frames of classes: signals, control frames, replays. Returns
    /// whether nothing else may go now.
    #[cold]
    pub(super) fn start_before_new(&mut self, env: &mut impl Env) -> bool {
        let now = env.now();
        if self.busy(env) {
            self.call_when_free(env);
            return false;
        }
        let Some(r) = &mut self.retry else { return false };
        let (expired, change) = r.tx.on_wake(now);
        if expired {
            env.emit(
                self.node,
                NodeEvent::LinkRetry { port: self.number, what: RetryEvent::TimedOut },
            );
            if let Some(init) = r.tx.handshake().filter(|_| !change.flushed) {
                self.push_signal(init, env);
            }
            self.after(change, env);
        }
        self.push_due(env);
        let stands = self.pop_or_replay(env);
        self.plan_retry(env);
        stands
    }

    fn pop_or_replay(&mut self, env: &mut impl Env) -> bool {
        if let Some(id) = self.control.pop(env.frames()) {
            self.start_popped(id, env);
            return true;
        }
        let Some(r) = &mut self.retry else { return false };
        let Some((at, number)) = r.tx.replay() else { return !r.tx.has_room() };
        let kept = &r.kept[at];
        let mut frame = kept.frame;
        frame.set_number(number);
        let id = env.frames().insert(frame);
        if let Some(beside) = &kept.beside {
            env.frames().put_beside(id, beside);
        }
        env.emit(
            self.node,
            NodeEvent::LinkRetry { port: self.number, what: RetryEvent::Replayed(frame.kind()) },
        );
        let tx = env.wire_time(self.rate, frame.len());
        self.transmit(id, tx, env);
        true
    }

    /// A frame arrives over the link of the port, which has done this to it.
    pub fn on_link(&mut self, id: FrameId, hit: Option<Hit>, env: &mut impl Env) -> Arrived {
        let now = env.now();
        let frame = env.frames()[id];
        let Some(r) = &mut self.retry else {
            return if hit.is_some() { Arrived::Lost } else { Arrived::Goes };
        };
        let gone = |what: Option<RetryEvent>, env: &mut _| {
            Env::discard(env, id);
            if let Some(what) = what {
                Env::emit(env, self.node, NodeEvent::LinkRetry { port: self.number, what });
            }
        };
        if let Some((kind, number)) = frame.as_link_signal() {
            gone(hit.map(|_| RetryEvent::SignalLost), env);
            let Some(signal) = Signal::from_words(kind, number).filter(|_| hit.is_none()) else {
                return Arrived::Taken;
            };
            let (change, before) = (r.tx.on_signal(now, signal), r.rx.expected());
            if let Some(echo) = r.rx.on_signal(signal) {
                let skipped = before..r.rx.expected();
                if !skipped.is_empty() {
                    env.emit(
                        self.node,
                        NodeEvent::LinkRetry {
                            port: self.number,
                            what: RetryEvent::Skipped { from: skipped.start, to: skipped.end },
                        },
                    );
                }
                self.push_signal(echo, env);
            }
            self.after(change, env);
        } else if let Some(number) = frame.number() {
            let accepted = match hit {
                None => r.rx.on_frame(number),
                Some(Hit::Corrupted) => {
                    r.rx.on_bad();
                    false
                }
                Some(Hit::Vanished) => false,
            };
            if !accepted {
                let what = if hit.is_some() {
                    RetryEvent::Corrupted(frame.kind())
                } else {
                    RetryEvent::Discarded(frame.kind())
                };
                gone(Some(what), env);
            }
            self.push_due(env);
            if self.control.front().is_some() {
                self.start_before_new(env);
            }
            self.plan_retry(env);
            if accepted {
                env.frames()[id].clear_number();
                return Arrived::Goes;
            }
        } else {
            return if hit.is_some() { Arrived::Lost } else { Arrived::Goes };
        }
        self.plan_retry(env);
        Arrived::Taken
    }
}
