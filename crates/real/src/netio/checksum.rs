//! Completes the checksums that a sender left to its hardware.
//!
//! Between veth ends no hardware exists, and a frame travels with only the pseudo-header's sum in
//! its checksum field. A switch in user space would pass it on like that, and every receiver behind
//! a real wire would drop it.
//!
//! TCP and UDP over IPv4 and IPv6. In a tunnel only the outer header is examined.

use crate::wire::{ethernet, internet, vlan};

const TCP: u8 = 6;
const UDP: u8 = 17;
/// Extension headers of IPv6 that may stand before TCP or UDP (RFC 8200, section 4): hop-by-hop,
/// routing, destination options.
const EXTENSIONS: [u8; 3] = [0, 43, 60];
const FRAGMENT: u8 = 44;

/// Computes the TCP or UDP checksum of a frame again. False, and nothing is changed, if there is
/// none to compute.
pub(crate) fn complete(frame: &mut [u8]) -> bool {
    let Some(Segment { at, end, protocol, addresses }) = segment(frame) else { return false };
    let field = at
        + match protocol {
            TCP => 16,
            UDP => 6,
            _ => return false,
        };
    if field + 2 > end {
        return false;
    }
    frame[field..field + 2].fill(0);
    // `internet` gives the complement of a folded sum; sums of sums are what checksums are made of.
    let sum = |bytes: &[u8]| u32::from(!internet(bytes));
    let length = u32::try_from(end - at).unwrap_or(u32::MAX);
    let mut total = sum(&frame[addresses.0..addresses.1])
        + sum(&frame[at..end])
        + u32::from(protocol)
        + (length >> 16)
        + (length & 0xFFFF);
    while total > 0xFFFF {
        total = (total >> 16) + (total & 0xFFFF);
    }
    let checksum = match !(total as u16) {
        // Zero in UDP means "not computed" (RFC 768); the other zero is sent.
        0 if protocol == UDP => 0xFFFF,
        checksum => checksum,
    };
    frame[field..field + 2].copy_from_slice(&checksum.to_be_bytes());
    true
}

/// Position of a transport header with its payload [bytes], and of the addresses of its
/// pseudo-header.
struct Segment {
    at: usize,
    end: usize,
    protocol: u8,
    addresses: (usize, usize),
}

fn segment(frame: &[u8]) -> Option<Segment> {
    let (ether_type, ip) = vlan::inner(frame).ok()?;
    let word =
        |at: usize| Some(usize::from(u16::from_be_bytes([*frame.get(at)?, *frame.get(at + 1)?])));
    match ether_type {
        ethernet::IPV4 => {
            let first = *frame.get(ip)?;
            let header = usize::from(first & 0x0F) * 4;
            // More fragments, or an offset: the segment is not all here.
            if first >> 4 != 4 || header < 20 || word(ip + 6)? & 0x3FFF != 0 {
                return None;
            }
            let (at, end) = (ip + header, ip + word(ip + 2)?);
            let protocol = *frame.get(ip + 9)?;
            (at <= end && end <= frame.len()).then_some(Segment {
                at,
                end,
                protocol,
                addresses: (ip + 12, ip + 20),
            })
        }
        ethernet::IPV6 => {
            if *frame.get(ip)? >> 4 != 6 {
                return None;
            }
            let (mut protocol, mut at, end) =
                (*frame.get(ip + 6)?, ip + 40, ip + 40 + word(ip + 4)?);
            while EXTENSIONS.contains(&protocol) {
                let length = 8 + 8 * usize::from(*frame.get(at + 1)?);
                protocol = *frame.get(at)?;
                at += length;
            }
            (protocol != FRAGMENT && at <= end && end <= frame.len()).then_some(Segment {
                at,
                end,
                protocol,
                addresses: (ip + 8, ip + 40),
            })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Frame with an IPv4 header without options, a transport segment, and padding behind it.
    fn ipv4(protocol: u8, segment: &[u8], padding: usize) -> Vec<u8> {
        let mut f = vec![2; 12];
        f.extend([
            0x08,
            0x00,
            0x45,
            0,
            0,
            (20 + segment.len()) as u8,
            0,
            0,
            0x40,
            0,
            64,
            protocol,
            0,
            0,
            192,
            0,
            2,
            1,
            192,
            0,
            2,
            2,
        ]);
        f.extend(segment);
        f.extend(vec![0xEE; padding]);
        f
    }

    /// Sum over pseudo-header and segment: zero if the checksum is right.
    fn verify(addresses: &[u8], protocol: u8, segment: &[u8]) -> u16 {
        let mut all = addresses.to_vec();
        all.extend([0, protocol]);
        all.extend((segment.len() as u16).to_be_bytes());
        all.extend(segment);
        internet(&all)
    }

    #[test]
    fn udp_over_ipv4_with_padding_and_odd_length() {
        // Ports 1000 and 2000, length 11, a wrong checksum, "abc".
        let udp = [3, 232, 7, 208, 0, 11, 0x12, 0x34, b'a', b'b', b'c'];
        let mut f = ipv4(UDP, &udp, 15);
        let before = f.clone();
        assert!(complete(&mut f));
        assert_eq!(verify(&f[26..34], UDP, &f[34..45]), 0);
        assert_ne!(f[40..42], before[40..42]);
        assert_eq!((&f[..40], &f[42..]), (&before[..40], &before[42..]));
    }

    #[test]
    fn tcp_over_ipv6_behind_a_tag_and_an_extension() {
        let mut f = vec![2; 12];
        f.extend([0x81, 0, 0x60, 0, 0x86, 0xDD, 0x60, 0, 0, 0, 0, 28, 0, 64]);
        f.extend((1..=32).collect::<Vec<u8>>());
        f.extend([TCP, 0, 1, 4, 0, 0, 0, 0]);
        f.extend([7; 20]);
        assert!(complete(&mut f));
        let at = 18 + 40 + 8;
        assert_eq!(verify(&f[26..58], TCP, &f[at..]), 0);
        let mut again = f.clone();
        assert!(complete(&mut again));
        assert_eq!(again, f);
    }

    /// RFC 768: a sum of zero is sent as all ones.
    #[test]
    fn the_zero_that_means_none_is_not_sent() {
        let mut udp = [0, 0, 0, 0, 0, 10, 0, 0, 0, 0];
        let mut f = ipv4(UDP, &udp, 0);
        assert!(complete(&mut f));
        // The last word becomes what the checksum was: now the sum is all ones, the checksum zero.
        udp[8..].copy_from_slice(&f[40..42]);
        let mut f = ipv4(UDP, &udp, 0);
        assert!(complete(&mut f));
        assert_eq!(f[40..42], [0xFF, 0xFF]);
    }

    #[test]
    fn what_has_no_checksum_stays_as_it_is() {
        let udp = [3, 232, 7, 208, 0, 8, 0x12, 0x34];
        let mut cases =
            vec![ipv4(1, &udp, 0), ipv4(UDP, &udp[..7], 0), vec![2; 60], vec![], vec![2; 13]];
        let mut fragment = ipv4(UDP, &udp, 0);
        fragment[20] = 0x20;
        cases.push(fragment);
        let mut long = ipv4(UDP, &udp, 0);
        long[17] += 1;
        cases.push(long);
        for mut case in cases {
            let before = case.clone();
            assert!(!complete(&mut case), "{before:02x?}");
            assert_eq!(case, before);
        }
    }

    /// No bytes make it panic: every cut of a good frame, and headers that lie.
    #[test]
    fn cut_off_frames_are_left_alone() {
        let whole = ipv4(TCP, &[0; 20], 0);
        for len in 0..whole.len() {
            assert!(!complete(&mut whole[..len].to_vec()), "{len}");
        }
        for at in 14..34 {
            for value in [0, 1, 0x0F, 0x4F, 0x60, 0x6F, 0xFF] {
                let mut lie = whole.clone();
                lie[at] = value;
                complete(&mut lie);
                (lie[12], lie[13]) = (0x86, 0xDD);
                complete(&mut lie);
            }
        }
    }
}
