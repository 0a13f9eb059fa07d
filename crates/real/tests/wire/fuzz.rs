//! No bytes make a parser panic: each gives a struct that can be written and read again, or a
//! refusal that can be printed.

use std::hint::black_box;

use proptest::prelude::*;
use xoff_farm::frames::{frames, messages};
use xoff_farm::parsers::{all_parsers, valid};
use xoff_real::wire::local::Message;
use xoff_real::wire::{Malformed, cbfc, control, ecn, ethernet, ipv4, ipv6, mac_control, vlan};

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
    look(ipv4::Repr::parse(bytes));
    look(ipv6::Repr::parse(bytes));
    look(control::parse(bytes));
    look(ecn::of_frame(bytes));
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
    assert_eq!((frames().len(), messages().len()), (16, 11));
}
