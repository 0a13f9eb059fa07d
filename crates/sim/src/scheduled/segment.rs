//! Segments on their way, and where they are kept.

use xoff_mech::scheduled::request_grant::MaySend;
use xoff_units::state::State;

/// Control fields and destination of a segment (section 3.2: route, request size, grant size, ACK
/// flag, unsolicited flag).
#[derive(Clone, Copy, Debug, State)]
pub(crate) struct Segment {
    pub source: u32,
    pub destination: u32,
    /// First byte in the stream of its flow.
    pub offset: u64,
    /// Payload; zero for a stand-alone control segment [bytes].
    pub payload: u32,
    /// Length on a link [bytes].
    pub len: u32,
    /// Granted or unsolicited; `No` for a control segment.
    pub how: MaySend,
    /// Requested with it [segments].
    pub request: u32,
    /// Granted with it to the flow that goes the other way [segments].
    pub grant: u32,
    /// Acknowledged with it to the flow that goes the other way [segments].
    pub acks: u32,
    /// Path through the fabric.
    pub path: u32,
    /// Arrival of its head at the present place [ps], and the output it needs there.
    pub head_at: u64,
    pub output: u32,
}

/// All segments of the fabric, by handle.
#[derive(Default, State)]
pub(crate) struct Segments {
    slots: Vec<Segment>,
    free: Vec<u32>,
}

impl Segments {
    pub fn add(&mut self, segment: Segment) -> u32 {
        match self.free.pop() {
            Some(id) => {
                self.slots[id as usize] = segment;
                id
            }
            None => {
                self.slots.push(segment);
                self.slots.len() as u32 - 1
            }
        }
    }
    #[inline]
    pub fn get(&self, id: u32) -> &Segment {
        &self.slots[id as usize]
    }
    #[inline]
    pub fn get_mut(&mut self, id: u32) -> &mut Segment {
        &mut self.slots[id as usize]
    }
    pub fn take(&mut self, id: u32) -> Segment {
        self.free.push(id);
        self.slots[id as usize]
    }
    /// Payload of all that exist [bytes].
    pub fn payload(&self) -> u64 {
        let free: std::collections::BTreeSet<u32> = self.free.iter().copied().collect();
        let alive = self.slots.iter().enumerate().filter(|(id, _)| !free.contains(&(*id as u32)));
        alive.map(|(_, s)| u64::from(s.payload)).sum()
    }
    /// Segments that exist.
    pub fn alive(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}
