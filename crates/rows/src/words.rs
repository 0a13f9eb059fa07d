//! Columns of a small, fixed vocabulary: enumerations with a word for each variant, those of the
//! mechanisms among them.

use xoff_mech::detection::{Mark, PortState, Side};
use xoff_mech::flow_control::StoppedBy;
use xoff_mech::watchdog::Action;
use xoff_units::state::State;

/// A word of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word {
    /// Text in the column.
    pub word: &'static str,
    /// Meaning.
    pub about: &'static str,
}

/// Makes an enumeration a column: a word and its meaning for each variant. Their order is part of
/// the result hash.
macro_rules! words {
    ($name:ident { $($variant:ident = $word:literal, $about:literal;)* }) => {
        impl $crate::cell::Cell for $name {
            const KIND: $crate::spec::Kind =
                $crate::spec::Kind::Word(&[$($crate::words::Word { word: $word, about: $about }),*]);
            #[inline]
            fn value(self) -> $crate::cell::Value {
                enum Place { $($variant),* }
                $crate::cell::Value::Word(match self { $($name::$variant => Place::$variant as u8),* })
            }
            #[inline]
            fn feed(self, bytes: &mut Vec<u8>) {
                if let $crate::cell::Value::Word(place) = self.value() {
                    bytes.push(place);
                }
            }
        }
    };
}
pub(crate) use words;

/// Direction of a control message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, State)]
pub enum Direction {
    /// Sent by the port's receiving end.
    #[default]
    Sent,
    /// Arrived at the port's sending end.
    Received,
}

/// Source of a recorded rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, State)]
pub enum RateSource {
    /// Bytes on the wire (ports: all frames but control; flows: payload) per sampling interval.
    #[default]
    Measured,
    /// Rate that flow control allows.
    FlowControl,
    /// Rate that rate control sets.
    RateControl,
}

/// Work of an operation of a rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operation {
    /// Keeps the rank busy.
    #[default]
    Compute,
    /// Sends a message.
    Send,
    /// Receives a message.
    Receive,
}

/// Cause of a stretch of time that a rank waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// Computing.
    #[default]
    Compute,
    /// Being busy with the message itself.
    Overhead,
    /// The sender had not begun.
    Peer,
    /// Bytes on the wire.
    Serialisation,
    /// The way through the cables.
    Propagation,
    /// Flow control.
    Pause,
    /// Rate control or a window.
    RateLimit,
    /// Frames before it.
    Queueing,
}

words! {
    Operation {
        Compute = "compute", "it keeps the rank busy";
        Send = "send", "it sends a message";
        Receive = "receive", "it receives one";
    }
}
words! {
    Cause {
        Compute = "compute", "a rank computed";
        Overhead = "overhead", "a rank was busy with the message itself";
        Peer = "peer", "a rank had not sent yet";
        Serialisation = "serialisation", "bytes of the message were on the wire, and nothing else was in its way";
        Propagation = "propagation", "it went through the cables";
        Pause = "pause", "a port on its way was not allowed to transmit";
        RateLimit = "rate_limit", "rate control, or a window, held it back at its source";
        Queueing = "queueing", "it stood behind other frames";
    }
}
words! {
    Side {
        Ingress = "ingress", "frames that arrived at the port and have not left the switch";
        Egress = "egress", "frames that wait to leave through the port";
    }
}
words! {
    Direction {
        Sent = "sent", "by the port's receiving end";
        Received = "received", "at the port's sending end";
    }
}
words! {
    Mark {
        Ue = "ue", "undetermined encountered";
        Ce = "ce", "congestion encountered";
        None = "none", "not marked; no row has it";
    }
}
words! {
    PortState {
        NonCongestion = "non_congestion", "the port transmits whenever it has a frame, and no queue builds up";
        Congestion = "congestion", "the port transmits all the time, and a queue builds up that flow control has not caused";
        Undetermined = "undetermined", "flow control pauses the port again and again";
    }
}
words! {
    StoppedBy {
        Pause = "pause", "a message of the far end, from the time it took effect until another one lifted it or its time was over";
        Credits = "credits", "a frame waited and the far end had given no credits for it";
        Flows = "flows", "frames waited, all of flows that the far end had paused";
    }
}
words! {
    Action {
        Drop = "drop", "queued frames, later frames for the queue, and frames that arrived at its port in its priority were discarded";
        Forward = "forward", "its frames were sent nevertheless";
        Alert = "alert", "nothing changed";
    }
}
words! {
    RateSource {
        Measured = "measured", "bytes that were transmitted, over the sampling interval; of flows: payload that arrived";
        FlowControl = "flow_control", "the limit that flow control sets";
        RateControl = "rate_control", "the rate that rate control sets";
    }
}
