//! Counters that wrap: every place in them at which a link may stand.

use xoff_mech::LinkFacts;
use xoff_mech::flow_control::cbfc::{self, CreditLimit};
use xoff_mech::flow_control::uec_cbfc::{self, Update};
use xoff_mech::flow_control::{Gate, Law, Message, Receiver, Sender};
use xoff_units::params::Defaults;
use xoff_units::{Bytes, Rate, Span, Time};

const C: Rate = Rate::from_gbps(10);
const BLOCK: Bytes = Bytes(cbfc::BLOCK);

fn blocks(n: u64) -> Bytes {
    BLOCK * n
}

/// The longest frame that the gate lets go, in blocks.
fn open_for(s: &impl Sender, most: u64) -> u64 {
    // The gate is open for all shorter ones.
    let (mut open, mut shut) = (0, most + 1);
    while shut - open > 1 {
        let n = (open + shut) / 2;
        if s.gate(Time::ZERO, blocks(n)) == Gate::Open { open = n } else { shut = n }
    }
    open
}

/// InfiniBand: at each of the 4096 places, with each number of blocks in the buffer and on the way,
/// a sender may use what is free and no more. Every other limit that 12 bits can name is none that
/// a receiver can have sent, and grants nothing.
#[test]
fn twelve_bits_grant_what_is_free_wherever_they_stand() {
    const BUFFER: u64 = 160;
    let link = LinkFacts::plain(C, Span::from_us(1), blocks(1), blocks(BUFFER));
    let mut values = Defaults::of(cbfc::PARAMS).with("counters", "12-bit");
    let p = cbfc::Params::read(&mut values, &link).unwrap();
    let (_, mut sender) = p.halves(&link);
    for sent in 0..2 * 4096u64 {
        for ahead in 0..4096u64 {
            // Every third place in full, the others where it matters: around the wrap and around
            // what is possible.
            let near = !(BUFFER + 2..4094).contains(&ahead);
            if sent % 128 != 0 && !near {
                continue;
            }
            let mut s = sender.clone();
            let limit = CreditLimit { fccl: (sent + ahead) & 0xfff, occupied: Bytes::ZERO };
            let possible = s.is_possible(Message::Credit(limit));
            s.on_message(Time::ZERO, Message::Credit(limit));
            assert_eq!(possible, ahead <= BUFFER, "{sent} sent, a limit {ahead} ahead");
            let free = if ahead <= BUFFER { ahead } else { 0 };
            assert_eq!(s.credits(), free, "{sent} sent, a limit {ahead} ahead");
            if sent % 128 == 0 {
                assert_eq!(open_for(&s, BUFFER), free, "{sent} sent, a limit {ahead} ahead");
            }
        }
        sender.on_sent(Time::ZERO, blocks(1), Span::ZERO);
    }
    assert_eq!(sender.sent_total(), Some(0), "twice round");
}

/// Ultra Ethernet: at each of the 2^20 places the two ends agree on the credits in use, over a lost
/// frame, its CC_Update and a CF_Update with 20 known bits.
#[test]
fn twenty_bits_agree_wherever_they_stand() {
    const LIMIT: u64 = 5;
    let (mask, cell) = ((1u64 << 20) - 1, Bytes(32));
    let link = LinkFacts::plain(C, Span::from_us(1), cell, cell * LIMIT);
    let mut values =
        Defaults::of(uec_cbfc::PARAMS).with("credit_size", "32B").with("cf_min_spacing", "64B");
    let p = uec_cbfc::Params::read(&mut values, &link).unwrap();
    let (mut r, mut s) = p.halves(&link);
    let none = Default::default();
    let mut now = Time::ZERO;
    for place in 0..(1u64 << 20) + 8 {
        assert_eq!(s.in_use(), 0, "at {place}");
        for n in 0..LIMIT {
            assert_eq!(s.gate(now, cell), Gate::Open, "at {place}, {n} in use");
            s.on_sent(now, cell, Span::ZERO);
            // The second one is lost on every third place.
            if n != 1 || place % 3 != 0 {
                r.on_arrival(now, &none, cell);
            }
        }
        assert_eq!(s.gate(now, cell), Gate::Blocked, "at {place}");
        r.on_peer_total(s.sent_total().unwrap() & mask);
        now += Span::from_ms(1);
        let held = r.held();
        assert_eq!(held, LIMIT - u64::from(place % 3 == 0), "at {place}");
        for left in (0..held).rev() {
            let Some(Message::Cells(Update::Freed(freed))) = r.on_departure(now, &none, cell)
            else {
                panic!("at {place}")
            };
            let update = freed & mask;
            now += Span::from_ms(1); // much later than the least spacing
            assert!(s.is_possible(Message::Cells(Update::Freed(update))), "at {place}");
            s.on_message(now, Message::Cells(Update::Freed(update)));
            assert_eq!(s.in_use(), left, "at {place}");
        }
        // A number beyond the bytes sent, or further behind than the limit, is no update.
        for wrong in [1, mask - LIMIT, mask / 2] {
            let m =
                Message::Cells(Update::Freed(s.sent_total().unwrap().wrapping_add(wrong) & mask));
            assert!(!s.is_possible(m), "at {place}, {wrong} ahead");
        }
    }
}
