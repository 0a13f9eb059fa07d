//! Causes of loss: one line each, and nothing else lists them.
//!
//! ```text
//!   BufferFull: Dropped, Violation, "dropped at full buffers";
//!       |          |         |                 +- Loss::words, in headlines
//!       |          |         +- Loss::meaning
//!       |          +- Loss::fate
//!       +- Loss::BufferFull, "buffer-full" in JSON
//! ```

use serde::{Deserialize, Serialize};

/// Fate of a frame that did not arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fate {
    /// A node had it and dropped it.
    Dropped,
    /// Lost between two nodes.
    Lost,
    /// A node never accepted it.
    Refused,
}

/// Meaning of a loss for a network that promises to lose no frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// No fault explains the loss. A simulated lossless network breaks its promise.
    Violation,
    /// A fault, the watchdog or a real network explains the loss.
    Excused,
    /// Lossy class, which promises nothing: a measured result.
    Measured,
}

/// Makes the enum and its answers.
macro_rules! losses {
    ($($(#[$doc:meta])+ $name:ident: $fate:ident, $meaning:ident, $words:literal;)+) => {
        /// Reason why a frame did not arrive.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum Loss {
            $($(#[$doc])+ $name,)+
        }

        impl Loss {
            /// All causes, in the order of messages.
            pub const ALL: [Loss; [$(Loss::$name),+].len()] = [$(Loss::$name),+];

            /// Fate of the frame.
            pub const fn fate(self) -> Fate {
                match self {
                    $(Loss::$name => Fate::$fate,)+
                }
            }

            /// Meaning for a network that promises to lose no frame.
            pub const fn meaning(self) -> Meaning {
                match self {
                    $(Loss::$name => Meaning::$meaning,)+
                }
            }

            /// Text after a number of frames: `21 on links that failed`.
            pub const fn words(self) -> &'static str {
                match self {
                    $(Loss::$name => $words,)+
                }
            }
        }
    };
}

losses! {
    /// A node had no room for the frame.
    BufferFull: Dropped, Violation, "dropped at full buffers";
    /// A switch had no route for the frame, although no link had failed.
    NoRoute: Dropped, Violation, "dropped without a route";
    /// A switch had no route for the frame after a link had failed.
    CutOff: Dropped, Excused, "dropped without a route after a link failed";
    /// The frame waited at a port whose link failed.
    FailedPort: Dropped, Excused, "dropped at ports whose link failed";
    /// On the wire of a link that failed, or not sent again before it failed.
    OnFailedLink: Lost, Excused, "on links that failed";
    /// On a wire, to a bit error.
    OnFaultyLink: Lost, Excused, "to errors on links";
    /// Given up by the retry of a link, without having arrived.
    GivenUp: Lost, Excused, "given up by links after too many retries";
    /// Real frames: one end of a wire sent the frame and the other never received it.
    OnWire: Lost, Excused, "on wires";
    /// Real frames: the kernel's receive ring was full.
    KernelRing: Lost, Excused, "in the kernel's receive rings";
    /// Real frames: the kernel refused to send the frame.
    KernelRefused: Lost, Excused, "rejected by the kernel";
    /// Real frames: the kernel had not taken the frame when the run ended.
    Unsent: Lost, Excused, "not sent by the kernel before the end";
    /// The watchdog had found a storm.
    Watchdog: Dropped, Excused, "dropped by the watchdog";
    /// Real frames: longer than the MTU.
    TooLong: Refused, Excused, "rejected: longer than the MTU";
    /// Real frames: malformed.
    Malformed: Refused, Excused, "rejected: malformed";
    /// Real frames: a control frame of a kind or for a priority that is not configured.
    Unexpected: Refused, Excused, "control frames rejected: not configured";
    /// Real frames: a control frame older than a previous one.
    Stale: Refused, Excused, "control frames rejected: older than a previous one";
    /// Real frames: a control frame whose values cannot be true, such as credits for more than the
    /// buffer.
    Impossible: Refused, Excused, "control frames rejected: impossible";
    /// Real frames: of an unknown flow.
    UnknownFlow: Refused, Excused, "rejected: unknown flow";
    /// Real frames: to an address that is in no table.
    UnknownAddress: Refused, Excused, "rejected: unknown address";
    /// Lossy class: a node had no room for the frame at its ingress.
    LossyIngress: Dropped, Measured, "of lossy priorities at full ingress buffers";
    /// Lossy class: the egress queue was full.
    LossyEgress: Dropped, Measured, "of lossy priorities at full egress queues";
}
