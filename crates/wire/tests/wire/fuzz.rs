//! No bytes make a parser panic: each gives a struct that can be written and read again, or a refusal that can be printed.

use std::hint::black_box;

use proptest::prelude::*;
use xoff_wire::ecn::{self, Ecn};
use xoff_wire::ethernet;
use xoff_wire::local::{Message, Subtype};
use xoff_wire::{Malformed, Unfit, cbfc, cnm, cnp, control, gfc, ipv4, ipv6, mac_control, pffc, test_frame, vlan};

use crate::frames::{cnp_v4, cnp_v6, frames, messages};

/// A refusal says what and why.
fn reported(e: Malformed) {
    assert!(e.to_string().len() > 10, "{e}");
}

/// What was read is written and read again: the same.
macro_rules! again {
    ($t:ty, $parse:ident, $emit:ident, $bytes:expr) => {
        match <$t>::$parse($bytes) {
            Ok(repr) => {
                let mut out = [0xEE; 512];
                let len = repr.$emit(&mut out).unwrap_or_else(|e| panic!("{repr:?}: {e}"));
                // An IP header announces a payload that is not written with it.
                let rest = $bytes.len().max(len);
                assert_eq!(<$t>::$parse(&out[..rest]), Ok(repr));
                assert!(matches!(repr.$emit(&mut out[..len - 1]), Err(Unfit::Room { .. })));
            }
            Err(e) => reported(e),
        }
    };
}

/// Every reader of the crate, on the same bytes.
fn all_parsers(bytes: &[u8]) {
    again!(ethernet::Repr, parse, emit, bytes);
    again!(vlan::Tag, parse, emit, bytes);
    again!(mac_control::Repr, parse, emit, bytes);
    again!(cbfc::LinkPacket, parse, emit, bytes);
    again!(cbfc::LinkPacket, parse_local, emit_local, bytes);
    again!(cbfc::Wide, parse, emit, bytes);
    again!(gfc::Repr, parse, emit, bytes);
    again!(pffc::Repr, parse, emit, bytes);
    again!(test_frame::Repr, parse, emit, bytes);
    again!(Message, parse, emit, bytes);
    again!(cnm::Tag, parse, emit, bytes);
    again!(cnm::Repr, parse, emit, bytes);
    again!(cnp::Repr, parse, emit, bytes);
    again!(ipv4::Repr, parse, emit, bytes);
    again!(ipv6::Repr, parse, emit, bytes);
    let _ = (Subtype::parse(bytes).map_err(reported), control::parse(bytes).map_err(reported), vlan::inner(bytes).map_err(reported));
    vlan::outer(bytes);
    changed_in_place(bytes);
}

/// What rewrites bytes in place leaves a frame that is read as before, but for what was to change.
fn changed_in_place(bytes: &[u8]) {
    let mut buf = bytes.to_vec();
    match (ecn::of_frame(bytes), ecn::rewrite_frame(&mut buf, Ecn::with_ce)) {
        (Ok(Some(before)), Ok(Some(same))) => {
            assert_eq!((before, ecn::of_frame(&buf)), (same, Ok(Some(before.with_ce()))));
            ecn::rewrite_frame(&mut buf, |_| before).unwrap();
            let at = vlan::inner(bytes).unwrap().1;
            let right = ipv4::Packet::new(&bytes[at..]).is_ok_and(|p| p.check().is_ok());
            // A checksum of 0xFFFF comes back as 0x0000, the same number in ones' complement.
            assert!(buf == bytes || ipv4::Packet::new(&buf[at..]).is_ok_and(|p| p.check().is_ok() == right));
        }
        (before, after) => assert_eq!(before.map_err(reported), after.map_err(reported)),
    }
    let mut buf = bytes.to_vec();
    buf.extend([0; 8]);
    if let Ok((tag, len)) = vlan::pop(&mut buf, bytes.len()) {
        assert_eq!(vlan::push(&mut buf, len, tag), Ok(bytes.len()));
        assert_eq!(&buf[..bytes.len()], bytes);
    }
    assert_eq!(vlan::restore(&mut buf, bytes.len(), 0x6001, None).is_ok(), bytes.len() >= 12);
    if bytes.len() >= 12 {
        assert_eq!(vlan::outer(&buf).map(|t| (t.pcp, t.vid)), Some((3, 1)));
    }
    let _ = test_frame::stamp(&mut buf, 1).map_err(reported);
}

/// Bytes of every valid frame, from each place where one of its formats begins.
fn valid() -> Vec<Vec<u8>> {
    let mut all = frames();
    let inner: Vec<Vec<u8>> = all.iter().flat_map(|f| [14, 18].map(|at| f[at..].to_vec())).collect();
    all.extend(inner);
    let mut link = vec![0; 6];
    cbfc::LinkPacket { op: cbfc::Op::Init, fctbs: 1, vl: 0, fccl: 2 }.emit(&mut link).unwrap();
    all.push(link);
    let mut tag = vec![0; 4];
    vlan::Tag { tpid: vlan::S_TAG, pcp: 3, dei: true, vid: 5 }.emit(&mut tag).unwrap();
    all.push(tag.clone());
    cnm::Tag { flow: 9 }.emit(&mut tag).unwrap();
    all.push(tag);
    all
}

/// Cheap and reproducible random bytes (xorshift64*; Vigna, 2016).
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }
}

#[test]
fn every_truncation() {
    for bytes in valid() {
        (0..=bytes.len()).for_each(|len| all_parsers(&bytes[..len]));
    }
}

/// Every byte of every valid frame, with every other value.
#[test]
fn every_corruption_of_a_byte() {
    for mut bytes in valid() {
        for at in 0..bytes.len() {
            let right = bytes[at];
            for wrong in 1..=255 {
                bytes[at] = right ^ wrong;
                all_parsers(&bytes);
            }
            bytes[at] = right;
        }
    }
}

#[test]
fn a_million_random_payloads() {
    let (mut noise, mut bytes) = (Noise(0x786F_6666), [0; 96]);
    for _ in 0..1_000_000 {
        bytes.chunks_mut(8).for_each(|c| c.copy_from_slice(&noise.next().to_le_bytes()));
        let len = (noise.next() % 97) as usize;
        only_parse(&bytes[..len]);
        // Past the first checks: with a header that is known.
        bytes[..4].copy_from_slice(&[0x78, 0x6F, 1, 1 + (noise.next() % 5) as u8]);
        only_parse(&bytes[..len]);
        bytes[0] = 0x45;
        only_parse(&bytes[..len]);
    }
}

/// Without the writing, so that a million is quick.
fn only_parse(bytes: &[u8]) {
    fn look<T>(read: Result<T, Malformed>) {
        black_box(read.is_ok());
    }
    look(ethernet::Repr::parse(bytes));
    look(vlan::Tag::parse(bytes));
    look(mac_control::Repr::parse(bytes));
    look(Message::parse(bytes));
    look(cbfc::LinkPacket::parse(bytes));
    look(cnm::Tag::parse(bytes));
    look(cnm::Repr::parse(bytes));
    look(cnp::Repr::parse(bytes));
    look(ipv4::Repr::parse(bytes));
    look(ipv6::Repr::parse(bytes));
    look(control::parse(bytes));
    look(ecn::of_frame(bytes));
}

/// The checksums of a CNP catch every change of a byte that the format does not ignore.
#[test]
fn a_damaged_cnp_is_refused_or_means_the_same() {
    for cnp in [cnp_v4(), cnp_v6()] {
        let mut bytes = vec![0; cnp.len()];
        cnp.emit(&mut bytes).unwrap();
        for at in 0..bytes.len() {
            for bit in 0..8 {
                bytes[at] ^= 1 << bit;
                if let Ok(read) = cnp::Repr::parse(&bytes) {
                    // Over IPv6 no checksum covers traffic class, flow label and hop limit.
                    let same = cnp::Repr { dscp: cnp.dscp, ecn: cnp.ecn, hop_limit: cnp.hop_limit, ..read };
                    assert_eq!(same, cnp, "byte {at}, bit {bit}");
                    assert!(bytes[0] >> 4 == 6 && (at < 4 || at == 7), "byte {at}, bit {bit}");
                }
                bytes[at] ^= 1 << bit;
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn bytes(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        all_parsers(&bytes);
    }

    /// Valid frames cut into pieces and put together otherwise.
    #[test]
    fn pieces(cuts in proptest::collection::vec((0..16usize, 0..200usize, 0..40usize), 1..6)) {
        let frames = frames();
        let piece = |&(n, from, len): &(usize, usize, usize)| frames[n].iter().copied().skip(from % 60).take(len).collect::<Vec<u8>>();
        all_parsers(&cuts.iter().flat_map(piece).collect::<Vec<u8>>());
    }
}

#[test]
fn there_is_a_frame_of_every_kind() {
    assert_eq!((frames().len(), messages().len()), (16, 10));
}
