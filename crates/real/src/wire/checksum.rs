//! Checksums: the internet's (RFC 1071, updated by RFC 1624), and the CRCs of Ethernet and
//! InfiniBand.

/// Internet checksum (RFC 1071) of bytes taken as 16-bit words, an odd last byte padded with zero:
/// the value to put in the field. Over bytes that include a right checksum it is zero.
pub fn internet(bytes: &[u8]) -> u16 {
    finish(sum(0, bytes))
}

/// Checksum of a header in which one 16-bit word changed from `old` to `new`: RFC 1624, equation 3,
/// HC' = ~(~HC + ~m + m').
///
/// A header that was damaged before stays recognisably damaged; computing the checksum again would
/// hide it.
pub fn internet_update(checksum: u16, old: u16, new: u16) -> u16 {
    // Erratum 4782: without a change the equation would turn 0x0000 into 0xFFFF, the other zero.
    if old == new {
        return checksum;
    }
    finish(u64::from(!checksum) + u64::from(!old) + u64::from(new))
}

/// Adds bytes to a running sum of 16-bit words. All pieces but the last have an even length.
pub(crate) fn sum(start: u64, bytes: &[u8]) -> u64 {
    bytes
        .chunks(2)
        .fold(start, |sum, w| sum + (u64::from(w[0]) << 8) + u64::from(*w.get(1).unwrap_or(&0)))
}

/// Folds the carries in and takes the complement.
pub(crate) fn finish(mut sum: u64) -> u16 {
    while sum > 0xFFFF {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    !(sum as u16)
}

/// CRC-32 of IEEE 802.3 (polynomial 0x04C11DB7, bit-reversed, all ones before and complemented
/// after).
pub fn crc32(bytes: &[u8]) -> u32 {
    !crc32_add(!0, bytes)
}

/// The register of CRC-32 after more bytes; begins with all ones, and its complement is the CRC.
pub(crate) fn crc32_add(register: u32, bytes: &[u8]) -> u32 {
    bytes.iter().fold(register, |r, &b| (r >> 8) ^ CRC32[((r ^ u32::from(b)) & 0xFF) as usize])
}

const CRC32: [u32; 256] = {
    let mut table = [0; 256];
    let mut n = 0;
    while n < 256 {
        let (mut r, mut bit) = (n as u32, 0);
        while bit < 8 {
            r = if r & 1 == 1 { (r >> 1) ^ 0xEDB8_8320 } else { r >> 1 };
            bit += 1;
        }
        table[n] = r;
        n += 1;
    }
    table
};

/// CRC-16 of InfiniBand, used as VCRC and LPCRC (polynomial 0x100B, bit-reversed, all ones before
/// and complemented after; the low byte goes first on the wire).
pub(crate) fn crc16_ib(bytes: &[u8]) -> u16 {
    let step = |r: u16| if r & 1 == 1 { (r >> 1) ^ 0xD008 } else { r >> 1 };
    !bytes.iter().fold(!0u16, |r, &b| (0..8).fold(r ^ u16::from(b), |r, _| step(r)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 1071, section 3: words 0001 f203 f4f5 f6f7, sum ddf2 after the end-around carry.
    #[test]
    fn the_example_of_rfc_1071() {
        assert_eq!(internet(&[0x00, 0x01, 0xF2, 0x03, 0xF4, 0xF5, 0xF6, 0xF7]), !0xDDF2);
        assert_eq!(internet(&[0x00, 0x01, 0xF2]), internet(&[0x00, 0x01, 0xF2, 0x00]));
        assert_eq!(internet(&[]), 0xFFFF);
    }

    /// RFC 1624, section 4: equation 3 gives 0x0000 where RFC 1141's gave 0xFFFF.
    #[test]
    fn the_example_of_rfc_1624() {
        assert_eq!(internet_update(0xDD2F, 0x5555, 0x3285), 0x0000);
        assert_eq!(internet_update(0x0000, 0x5555, 0x5555), 0x0000);
    }

    /// Check value of the usual catalogues.
    #[test]
    fn crc_32_of_nine_digits() {
        assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
    }

    /// The packet with which IBA volume 1, section 7.8 illustrates both its CRCs (read in a public
    /// header generator, not in the standard): ICRC 96 25 B7 5A with VL and the BTH's reserved byte
    /// masked, then VCRC over all.
    #[test]
    fn the_sample_packet_of_infiniband() {
        let mut packet = [
            0x70, 0x12, 0x37, 0x5C, 0x00, 0x0E, 0x17, 0xD2, 0x0A, 0x20, 0x24, 0x87, 0x00, 0x87,
            0xB1, 0xB3, 0x00, 0x0D, 0xEC, 0x2A, 0x01, 0x71, 0x0A, 0x1C, 0x01, 0x5D, 0x40, 0x02,
            0x38, 0xF2, 0x7A, 0x05, 0x00, 0x00, 0x00, 0x0E, 0xBB, 0x88, 0x4D, 0x85, 0xFD, 0x5C,
            0xFB, 0xA4, 0x72, 0x8B, 0xC0, 0x69, 0x0E, 0xD4, 0x00, 0x00, 0x96, 0x25, 0xB7, 0x5A,
        ];
        assert_eq!(crc16_ib(&packet).to_le_bytes(), [0x45, 0xFA]);
        (packet[0], packet[12]) = (0xF0, 0xFF);
        assert_eq!(crc32(&packet[..52]).to_le_bytes(), [0x96, 0x25, 0xB7, 0x5A]);
    }
}
