//! Whole frames, written out by hand from the standards and compared byte by byte.

use xoff_real::wire::control::{self, Control};
use xoff_real::wire::ecn::{self, Ecn};
use xoff_real::wire::ethernet::{Frame, Mac};
use xoff_real::wire::mac_control::{Pfc, Repr};
use xoff_real::wire::{Malformed, ipv4, local, vlan};

use xoff_farm::frames::{HOST, PORT, frames, messages};

/// Bytes from hexadecimal digits; spaces and line breaks group them.
fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.chars().filter_map(|c| c.to_digit(16)).map(|d| d as u8).collect();
    digits.chunks(2).map(|d| d[0] << 4 | d[1]).collect()
}

/// 802.1Q, clause 36: priority 3 stops for 65535 quanta, priority 4 continues; the others are not
/// named.
#[test]
fn pfc() {
    let mut bytes =
        hex("0180C2000001 020000000001 8808 0101 0018  0000 0000 0000 FFFF 0000 0000 0000 0000");
    bytes.resize(60, 0);
    let mut times = [None; 8];
    (times[3], times[4]) = (Some(65535), Some(0));
    let m = Repr::Pfc(Pfc { times });
    let mut out = [0xEE; 60];
    assert_eq!((m.emit_frame(PORT, &mut out), out.to_vec()), (Ok(60), bytes.clone()));
    assert_eq!(control::parse(&bytes), Ok(Some(Control::Mac(m))));
    // Every priority at once, each with its own time.
    let all = hex("0101 00FF 0001 0203 0405 0607 0809 0A0B 0C0D 0E0F");
    let Ok(Repr::Pfc(pfc)) = Repr::parse(&all) else { panic!() };
    assert_eq!(
        pfc.times.map(Option::unwrap),
        [0x0001, 0x0203, 0x0405, 0x0607, 0x0809, 0x0A0B, 0x0C0D, 0x0E0F]
    );
}

/// 802.3, annex 31B.
#[test]
fn pause() {
    let mut bytes = hex("0180C2000001 020000000001 8808 0001 1234");
    bytes.resize(60, 0);
    let mut out = [0xEE; 60];
    assert_eq!(Repr::Pause { quanta: 0x1234 }.emit_frame(PORT, &mut out), Ok(60));
    assert_eq!(out.to_vec(), bytes);
    assert_eq!(control::parse(&bytes), Ok(Some(Control::Mac(Repr::Pause { quanta: 0x1234 }))));
}

/// Control goes to the group address and no further: elsewhere, or malformed, it is an error and
/// not data.
#[test]
fn what_is_control() {
    let mut out = [0; 60];
    Repr::Pause { quanta: 1 }.emit_frame(PORT, &mut out).unwrap();
    out[..6].copy_from_slice(&HOST.0);
    assert!(matches!(
        control::parse(&out),
        Err(Malformed::Value {
            field: "destination of a control frame",
            found: 0x0200_0000_0002,
            ..
        })
    ));
    out[..6].copy_from_slice(&Mac::FLOW_CONTROL.0);
    out[15] = 6;
    assert!(matches!(control::parse(&out), Err(Malformed::Value { found: 6, .. })));
    out[13] = 9;
    assert_eq!(control::parse(&out), Ok(None));
    for (message, mut frame) in messages().into_iter().zip(frames().split_off(4)) {
        let test = matches!(message, local::Message::Test(_));
        assert_eq!(control::parse(&frame), Ok((!test).then_some(Control::Local(message))));
        frame[..6].copy_from_slice(&HOST.0);
        assert_eq!(control::parse(&frame).is_ok(), test);
        // Another use of the EtherType.
        frame[14] = 0;
        assert_eq!(control::parse(&frame), Ok(None));
    }
}

/// Another magic, version or subtype is rejected.
#[test]
fn unknown_frames_are_refused() {
    let good = hex("786F 01 03");
    assert_eq!(local::Subtype::parse(&good), Ok(local::Subtype::Credit64));
    for (at, wrong, field) in [
        (0, 0x79, "magic"),
        (1, 0, "magic"),
        (2, 0, "version"),
        (2, 2, "version"),
        (3, 0, "subtype"),
        (3, 7, "subtype"),
    ] {
        let mut bytes = good.clone();
        bytes[at] = wrong;
        assert!(
            matches!(local::Subtype::parse(&bytes), Err(Malformed::Value { field: f, .. }) if f.starts_with(field)),
            "{bytes:02x?}"
        );
    }
    let credit = hex("786F 01 02 0000 0000 FFFF");
    assert!(matches!(
        xoff_real::wire::gfc::Repr::parse(&credit),
        Err(Malformed::Value { field: "subtype of 0x88b5", found: 2, .. })
    ));
}

/// In a frame with a tag, IP is found and marked; a frame without IP is left alone.
#[test]
fn marking_a_frame() {
    let frames = frames();
    let (pfc, tagged) = (frames[1].clone(), frames[15].clone());
    let mut frame = pfc.clone();
    assert_eq!((ecn::rewrite_frame(&mut frame, Ecn::with_ce), frame), (Ok(None), pfc));
    let mut frame = tagged.clone();
    assert_eq!(ecn::rewrite_frame(&mut frame, Ecn::with_ue), Ok(Some(Ecn::TCD_CAPABLE)));
    assert_eq!(ecn::of_frame(&frame), Ok(Some(Ecn::UE)));
    assert!(ipv4::Repr::parse(&frame[18..]).is_ok(), "the checksum is updated");
    let changed: Vec<usize> = (0..frame.len()).filter(|&i| frame[i] != tagged[i]).collect();
    assert!(changed.iter().all(|i| [19, 28, 29].contains(i)) && changed.len() >= 2, "{changed:?}");
}

/// What a packet socket hands over: a frame without its tag, TCI 0x6000 (priority 3) and TPID next
/// to it.
#[test]
fn a_tag_is_restored() {
    let frames = frames();
    let (plain, tagged) = (&frames[2], &frames[15]);
    let mut buf = plain.clone();
    buf.resize(plain.len() + vlan::Tag::LEN, 0);
    assert_eq!(vlan::restore(&mut buf, plain.len(), 0x6000, Some(0x8100)), Ok(tagged.len()));
    assert_eq!(&buf, tagged);
    assert_eq!(Frame::new(&buf).unwrap().ether_type(), vlan::C_TAG);
}
