//! Faults of messages and of frames.

/// Ticks after a lost message in which no other one is: two intervals of those that are repeated.
pub(crate) const SPARED: u16 = 8;

/// Faults that the adversary may cause on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Faults {
    /// Nothing: a message takes between the least and the longest time for which the link was
    /// dimensioned.
    None,
    /// A message may come twice, the second one right behind the first.
    Doubled,
    /// A message may take three frame times longer than the link was dimensioned for. What is sent
    /// after it comes after it, as on any wire.
    Late,
    /// Late, and later messages may overtake: no wire does that, an end that takes messages from
    /// several queues may.
    Overtaken,
    /// A message may be lost, and any number of them.
    Lost,
    /// A message may be lost, and none in the [`SPARED`] ticks after it.
    LostRarely,
    /// Some messages of a decision may be lost, but never two of a kind in a row: of those that
    /// pause, or migrate, a queue or a flow.
    LostByKind,
    /// The messages of a decision may come in the other order.
    Turned,
    /// A frame may be lost: to a bit error, not for want of room.
    FrameLost,
    /// Frames may be lost, and the sender reports its total of bytes sent with every frame that
    /// arrives, as FCTBS of InfiniBand does.
    FrameLostReported,
}

impl Faults {
    /// All of them, in the order of the page.
    pub const ALL: [Faults; 10] = [
        Faults::None,
        Faults::Doubled,
        Faults::Late,
        Faults::Overtaken,
        Faults::Turned,
        Faults::Lost,
        Faults::LostRarely,
        Faults::LostByKind,
        Faults::FrameLost,
        Faults::FrameLostReported,
    ];

    /// In words.
    pub const fn describe(self) -> &'static str {
        match self {
            Faults::None => "none",
            Faults::Doubled => "a message comes twice",
            Faults::Late => "a message is late by three frames",
            Faults::Overtaken => "a message is late by three frames, and overtaken",
            Faults::Lost => "messages are lost",
            Faults::LostRarely => "messages are lost, one in eight ticks at most",
            Faults::LostByKind => "messages are lost, no two of a kind in a row",
            Faults::Turned => "messages of a decision come in the other order",
            Faults::FrameLost => "frames are lost to errors",
            Faults::FrameLostReported => "frames are lost, and totals reported",
        }
    }

    /// Fates of the messages that are sent in a tick.
    pub(crate) const fn fates(self) -> &'static [Fate] {
        match self {
            Faults::None | Faults::FrameLost | Faults::FrameLostReported => {
                &[Fate::Soon, Fate::Slow]
            }
            Faults::Doubled => &[Fate::Soon, Fate::Slow, Fate::Twice],
            Faults::Late | Faults::Overtaken => &[Fate::Soon, Fate::Late],
            Faults::Lost | Faults::LostRarely => &[Fate::Soon, Fate::Slow, Fate::Never],
            Faults::LostByKind => {
                &[Fate::Soon, Fate::Slow, Fate::Never, Fate::FirstNever, Fate::RestNever]
            }
            Faults::Turned => &[Fate::Soon, Fate::Slow, Fate::Turned],
        }
    }

    /// Whether frames may be lost to errors.
    pub(crate) const fn loses_frames(self) -> bool {
        matches!(self, Faults::FrameLost | Faults::FrameLostReported)
    }
}

/// Fate of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Nothing is in its way.
    Soon,
    /// Everything is that the dimensioning counts.
    Slow,
    /// More than that is.
    Late,
    /// Slow, and once more right behind it.
    Twice,
    /// Lost.
    Never,
    /// Lost if it is the first of its decision, else slow.
    FirstNever,
    /// Slow if it is the first of its decision, else lost.
    RestNever,
    /// Slow, and those of a decision from the last to the first.
    Turned,
}
