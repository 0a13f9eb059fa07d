//! The lines of ports, and the frames on those that lead to another partition of the network.

use xoff_net::topology::LinkId;
use xoff_node::{Beside, EventKey, Frame, FrameId};
use xoff_units::Span;
use xoff_units::state::State;

/// A port's line: the far end, the delay between, and the counts of frames: all that a transmission
/// touches here.
#[derive(Clone, Copy, Debug, State)]
#[repr(align(64))] // one cache line, not two halves
pub(crate) struct Line {
    /// The port at the far end, counted over the whole network.
    #[state(built)]
    pub to: u32,
    #[state(built)]
    pub link: LinkId,
    #[state(built)]
    pub delay: Span,
    /// Time after its start at which the far end can forward a frame; never before its last bit:
    /// [`NO_HEAD`](crate::wire::cut_through::NO_HEAD) [ps].
    #[state(built)]
    pub head: Span,
    /// Bytes put on the wire, control frames not counted.
    pub tx_bytes: u64,
    /// Frames put on the wire, control frames not counted.
    pub tx_frames: u64,
    /// Partition of the network in which the far end lives; with [`TAPPED`], what it transmits is
    /// recorded.
    #[state(built)]
    partition: u16,
    /// False once the link has failed.
    pub up: bool,
}

/// In the partition of a line's far end: its frames are recorded. So a line that is not recorded
/// pays nothing.
pub(crate) const TAPPED: u16 = 1 << 15;

impl Line {
    /// Records the transmissions from now on.
    pub fn tap(&mut self) {
        self.partition |= TAPPED;
    }
    /// True if its transmissions are recorded.
    pub fn is_tapped(&self) -> bool {
        self.partition & TAPPED != 0
    }
    pub fn new(to: u32, link: LinkId, delay: Span, head: Span, partition: u16, up: bool) -> Line {
        Line { to, link, delay, head, tx_bytes: 0, tx_frames: 0, partition, up }
    }
    /// The far end: its port and its partition.
    #[inline]
    pub fn far(&self) -> (u32, u16) {
        (self.to, self.partition)
    }
}

/// A frame on its way to another partition of the network, or out of it.
#[derive(State)]
pub(crate) struct RemoteArrival {
    pub at: EventKey,
    /// The port at the far end.
    pub to: u32,
    pub frame: Frame,
    /// The handle that it had here.
    pub id: FrameId,
    /// Records of its way and its header, in a run whose frames have any.
    pub beside: Option<Box<Beside>>,
}
