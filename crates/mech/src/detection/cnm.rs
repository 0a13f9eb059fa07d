//! The congestion notification message of 802.1Q, clause 33: its fields, as values. No byte of it
//! is simulated.
//!
//! ```text
//!   MAC addresses, VLAN tag, CN-TAG 0x22E9 | 0x22E7 | version 4 bits, reserved 6, feedback 6 | CPID 8 bytes
//!     | cnmQOffset 2 | cnmQDelta 2 | encapsulated priority 2 | encapsulated destination 6 | MSDU length 2 | MSDU 0 to 64
//! ```

use super::congestion_point::Congestion;

/// Unit of the two queue fields [bytes].
const QUEUE_UNIT: i64 = 64;

/// Contents of a CNM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cnm {
    /// 1 to 63; 6 bits.
    pub feedback: u8,
    /// Congestion point identifier: unique in the network.
    pub cpid: u64,
    /// Q - Q_eq, with the sign of RZ 3880 [64 bytes], cut off towards zero and clipped to 16 bits.
    pub q_offset: i16,
    /// Q - Q_old [64 bytes], likewise.
    pub q_delta: i16,
    /// Priority of the frame that was sampled.
    pub priority: u8,
    /// Destination address of that frame.
    pub destination: [u8; 6],
    /// Bytes of that frame that follow: 0 to 64. No header of it is simulated, so 0.
    pub msdu_len: u16,
}

impl Cnm {
    /// The result of a sample for a frame.
    pub fn new(cpid: u64, congestion: Congestion, priority: u8, destination: [u8; 6]) -> Cnm {
        let units =
            |bytes: i64| (bytes / QUEUE_UNIT).clamp(i16::MIN as i64, i16::MAX as i64) as i16;
        Cnm {
            feedback: congestion.degree,
            cpid,
            q_offset: units(congestion.above),
            q_delta: units(congestion.growth),
            priority,
            destination,
            msdu_len: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 50 KB above the set point are 781 units of 64 B; larger values than 16 bits are clipped.
    #[test]
    fn queue_fields_count_64_bytes() {
        let of = |q_off, q_delta| {
            let c =
                Cnm::new(1, Congestion { degree: 10, above: q_off, growth: q_delta }, 3, [0; 6]);
            (c.feedback, c.q_offset, c.q_delta)
        };
        assert_eq!(of(50_000, -130), (10, 781, -2));
        assert_eq!(of(1 << 40, -(1 << 40)), (10, i16::MAX, i16::MIN));
    }
}
