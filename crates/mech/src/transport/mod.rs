//! Transports of hosts: how a receiver replies to data, and how a source repairs losses.
//!
//! ```text
//!   source NIC                                                destination NIC
//!     Source::again, limit   the frame that goes next  --->     Law::reply   Ack, Nack or nothing
//!     Source::on_ack, due, on_timer                    <---     Sink         acknowledgements that wait for another segment
//!
//!   none       no replies: a flow is complete for its source when its last byte is on the wire
//!   roce       a Nack for a gap, or a timer: all from the first missing byte on goes again (go-back-N)
//!   selective  a Nack for each frame ahead of a gap, or a timer: only missing frames go again (IRN)
//!   tcp        a congestion window, duplicate acknowledgements, a timer
//! ```
//!
//! Sans-IO: byte offsets and times are inputs, permissions to send are outputs. The host knows the
//! bytes sent and acknowledged, and passes them. A transport is one file and a line of
//! [`transports`].

pub mod roce;
pub mod selective;
mod sink;
pub mod tcp;

use std::ops::{Deref, DerefMut};

pub use roce::Timers;
pub use sink::{Answer, Sink};
use xoff_units::state::State;
use xoff_units::{Span, Time};

/// A transport, by its settings.
pub trait Law {
    /// The source of one flow.
    type Source: Source;
    /// The source of a new flow in frames of at most `payload` bytes; `None`: a flow keeps no
    /// state, and goes back after a Nack.
    fn source(&self, payload: u32) -> Option<Self::Source>;
    /// Reply to a frame of data that begins at `seq`, where `expected` was the first missing byte;
    /// `r` already counts it. `keeps`: frames ahead of a gap are kept.
    fn reply(
        &self,
        now: Time,
        r: &mut Received,
        seq: u64,
        expected: u64,
        keeps: bool,
    ) -> Option<Reply>;
    /// Byte up to which a reply with this offset acknowledges.
    #[inline]
    fn acked(&self, seq: u64) -> u64 {
        seq
    }
    /// Facts of it that a host needs.
    fn facts(&self) -> Facts;
}

/// Facts of a transport that a host needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// A Nack names the frame that caused it, instead of the time at which that was sent. Sources
    /// do not go back then.
    pub nacks_name_frames: bool,
    /// Flows are connections, and those without end-to-end control datagrams without replies.
    pub connections: bool,
    /// Longest wait of an acknowledgement for another segment; zero: none waits [ps].
    pub delayed_ack: Span,
    /// Timers that do not depend on measured round trips.
    pub timers: Option<Timers>,
    /// Replies depend on the place of a byte in chunks of this size [bytes].
    pub chunk: Option<u64>,
}

/// The source of a flow, which repairs its losses.
pub trait Source {
    /// First byte of the frame that goes again, with all before `acked` acknowledged; `None`: the
    /// next frame is a new one.
    fn again(&self, acked: u64) -> Option<u64>;
    /// No byte from here on may be in flight; `None`: unlimited.
    fn limit(&self, _acked: u64, _receive_window: u64) -> Option<u64> {
        None
    }
    /// A frame was sent that ends before byte `end`.
    fn on_sent(&mut self, now: Time, end: u64);
    /// An acknowledgement came.
    fn on_ack(&mut self, now: Time, ack: &Acked);
    /// Expiry of the timer with these bytes in flight; `None`: it does not run.
    fn due(&self, in_flight: u64) -> Option<Time>;
    /// The timer has expired. `next` was the next byte to send. Returns the one from now on.
    fn on_timer(&mut self, now: Time, acked: u64, next: u64) -> u64;
}

/// An acknowledgement at the source of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acked {
    /// All before this byte was acknowledged before.
    pub before: u64,
    /// All before this byte is acknowledged now.
    pub until: u64,
    /// Next byte to send.
    pub next: u64,
    /// Round trip of the frame that caused it [ps].
    pub rtt: Span,
    /// First byte of that frame, if it arrived ahead of a gap and the receiver names it.
    pub ahead: Option<u64>,
}

/// Progress of a flow at its receiver.
#[derive(Clone, Copy, Debug, Default, State)]
pub struct Received {
    /// All before this byte has arrived.
    pub expected: u64,
    /// Time from which a Nack may report the same gap again.
    pub nack_after: Time,
    /// Start of the gap that the latest Nack reported.
    pub nacked: u64,
}

/// Reply to a frame of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// All before a byte has arrived.
    Ack,
    /// The same, and a gap begins there.
    Nack,
}

/// The leading `$` is for the macro that it makes: `ask`.
macro_rules! transports {
    ($d:tt $($T:ident($t:ident);)+) => {
        /// A configured transport.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Transport {
            /// No replies: a flow is complete for its source when its last byte is on the wire.
            None,
            $(#[doc = concat!("[`", stringify!($t), "`].")] $T($t::Params),)+
        }

        /// The source of a flow under any transport.
        #[derive(Debug, State)]
        #[state(in_place)]
        pub enum AnySource {
            $(#[doc = concat!("Of [`", stringify!($t), "`].")] $T(<$t::Params as Law>::Source),)+
        }

        /// Asks the law of a transport, with static dispatch.
        macro_rules! ask {
            ($d transport:expr, $d p:ident => $d answer:expr, $d none:expr) => {
                match $d transport {
                    Transport::None => $d none,
                    $(Transport::$T($d p) => $d answer,)+
                }
            };
        }

        impl Transport {
            /// See [`Law::source`].
            pub fn source(&self, payload: u32) -> Option<AnySource> {
                match self {
                    Transport::None => None,
                    $(Transport::$T(p) => p.source(payload).map(AnySource::$T),)+
                }
            }
        }

        impl Deref for AnySource {
            type Target = dyn Source;
            fn deref(&self) -> &Self::Target {
                match self { $(AnySource::$T(s) => s,)+ }
            }
        }

        impl DerefMut for AnySource {
            fn deref_mut(&mut self) -> &mut Self::Target {
                match self { $(AnySource::$T(s) => s,)+ }
            }
        }
    };
}

transports! {
    $
    Roce(roce);
    Selective(selective);
    Tcp(tcp);
}

impl Transport {
    /// See [`Law::reply`].
    #[inline(always)]
    pub fn reply(
        &self,
        now: Time,
        r: &mut Received,
        seq: u64,
        expected: u64,
        keeps: bool,
    ) -> Option<Reply> {
        ask!(self, p => p.reply(now, r, seq, expected, keeps), None)
    }

    /// See [`Law::acked`].
    #[inline]
    pub fn acked(&self, seq: u64) -> u64 {
        ask!(self, p => p.acked(seq), seq)
    }

    /// See [`Law::facts`].
    #[inline(always)]
    pub fn facts(&self) -> Facts {
        ask!(self, p => p.facts(), Facts::default())
    }

    /// True if receivers reply.
    #[inline]
    pub fn acknowledges(&self) -> bool {
        !matches!(self, Transport::None)
    }

    /// True if sources have a timer: they may repeat frames that are only late.
    pub fn has_timer(&self) -> bool {
        let f = self.facts();
        f.connections || f.timers.is_some()
    }
}

/// A transport in a file; `None`: hosts send as `[host]` says.
pub type Entry = crate::choice::Choice<Option<tcp::Params>>;

/// Transports of a section of their own; the others follow from `[host]`.
pub const REGISTRY: &[Entry] = &[
    Entry {
        name: "none",
        about: "hosts send as their flows and [host] define",
        params: &[],
        read: |_| Ok(None),
    },
    Entry {
        name: "tcp",
        about: "TCP: a congestion window, acknowledgements that clock it, fast retransmit and a timer",
        params: &[tcp::PARAMS],
        read: |v| tcp::Params::read(v).map(Some),
    },
];
