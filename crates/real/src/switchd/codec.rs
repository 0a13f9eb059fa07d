//! Frames of the simulated nodes as bytes on a wire, and back.
//!
//! ```text
//!   Control  PFC              802.1Q frame, EtherType 0x8808
//!            credit, stage, level, order for a flow      0x88B5, docs/wire-formats.md
//!   Data, acknowledgements, CNPs                0x88B5, test frame
//! ```
//!
//! A frame is as long on the wire as the scenario says, FCS included, where Ethernet allows it;
//! what it counts for travels with it, and is never believed beyond the bytes there are.

use crate::wire::control::{self, Control};
use crate::wire::ecn::{self, Ecn};
use crate::wire::ethernet::{self, Mac};
use crate::wire::{local, test_frame};
use xoff_mech::detection::Mark;
use xoff_mech::flow_control::Message;
use xoff_node::{Classes, Frame, FrameKind, LEN_MAX};
use xoff_sim::UNKNOWN_SOURCE;
use xoff_units::{FlowId, NodeId, Time};

use crate::switchd::formats::{self, Terms};

/// Frame check sequence, which the kernel never shows [bytes].
const FCS: u16 = 4;
/// Length up to which Ethernet pads a frame, the FCS not counted [bytes].
const PADDED: usize = 60;
/// The least that a padded frame counts for [bytes]: headers of IPv4 and TCP.
const COUNTED_MIN: usize = 40;
/// Bytes of a frame around the payload of a test frame.
const AROUND: u16 = ethernet::HEADER as u16 + FCS;
/// Largest feedback value of a CNM.
const FEEDBACK_MAX: u64 = 63;

/// Reason why a frame was not accepted as an xoff frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The frame is a control frame with invalid bytes.
    Malformed,
    /// The frame names a priority that is not in use here.
    Priority,
    /// The frame is a control frame of a kind that the flow control of this port does not have.
    Unexpected,
}

/// Decoded input.
#[derive(Clone, Copy, Debug)]
pub enum Decoded {
    /// A message for the port.
    Control(Frame, Terms),
    /// A frame of a simulated node.
    Ours(Frame),
    /// A frame of unknown origin, to be forwarded as it is.
    UnknownSource,
}

/// The address of a port: locally administered, "XO", node, port.
pub fn mac(node: NodeId, port: u16) -> Mac {
    let ([.., b, c], [.., p]) = (node.0.to_be_bytes(), port.to_be_bytes());
    Mac([0x02, 0x58, 0x4F, b, c, p])
}

/// Meaning of two ECN bits (TCD Table 1).
fn of_ecn(e: Ecn) -> Mark {
    match e {
        Ecn::CE => Mark::Ce,
        Ecn::UE => Mark::Ue,
        _ => Mark::None,
    }
}

fn to_ecn(m: Mark) -> Ecn {
    match m {
        Mark::Ce => Ecn::CE,
        Mark::Ue => Ecn::UE,
        Mark::None => Ecn::TCD_CAPABLE,
    }
}

/// Sets the mark of a forwarded frame in its IP header, where it has one.
pub(crate) fn rewrite_mark(bytes: &mut [u8], mark: Mark) {
    match mark {
        Mark::None => {}
        Mark::Ce => _ = ecn::rewrite_frame(bytes, Ecn::with_ce),
        Mark::Ue => _ = ecn::rewrite_frame(bytes, Ecn::with_ue),
    }
}

/// Writes a frame that leaves at `now`; returns its length. `None`: no bytes are defined for its
/// content.
///
/// `terms` are those of a control message.
pub fn encode(
    f: &Frame,
    classes: &Classes,
    (to, from): (Mac, Mac),
    terms: &Terms,
    now: Time,
    out: &mut [u8],
) -> Option<usize> {
    let priority = classes.priority(f.class());
    if f.kind() == FrameKind::Control {
        return encode_message(f.message(), priority, from, terms, out);
    }
    let kind = match f.kind() {
        FrameKind::Data => test_frame::Kind::Data,
        FrameKind::Ack => test_frame::Kind::Ack,
        FrameKind::Nack => test_frame::Kind::Nack,
        _ => test_frame::Kind::CongestionNotification,
    };
    let counted = f.len() as u16;
    let repr = test_frame::Repr {
        kind,
        mark: to_ecn(f.mark()),
        reported: to_ecn(f.reported()),
        counted,
        priority,
        last: f.ends_flow(),
        len: counted.saturating_sub(AROUND).max(test_frame::Repr::LEN as u16),
        flow: f.flow.0,
        sequence: f.seq,
        due_ps: f.sent_at.0,
        sent_ps: now.0,
    };
    local::Message::Test(repr).emit_frame(to, from, out).ok()
}

fn encode_message(
    message: Message,
    priority: u8,
    from: Mac,
    terms: &Terms,
    out: &mut [u8],
) -> Option<usize> {
    match formats::encode(message, priority, terms)? {
        Control::Mac(m) => m.emit_frame(from, out).ok(),
        Control::Local(m) => m.emit_frame(Mac::FLOW_CONTROL, from, out).ok(),
    }
}

/// Reads a received frame: a control frame becomes one message per priority that it names, in the
/// order of priorities.
///
/// `len`: bytes for which a control frame counts [bytes]; `accepts`: the messages that the flow
/// control of the port knows.
pub fn decode(
    bytes: &[u8],
    classes: &Classes,
    len: u32,
    accepts: impl Fn(&Message) -> bool,
    mut each: impl FnMut(Decoded),
) -> Result<(), Refused> {
    let mut on_control = |message: Message, priority: u8, terms: Terms| {
        if !accepts(&message) {
            return Err(Refused::Unexpected);
        }
        let class = classes
            .class(priority)
            .filter(|&c| c.index() < classes.len())
            .ok_or(Refused::Priority)?;
        each(Decoded::Control(Frame::control(message, class, len), terms));
        Ok(())
    };
    match control::parse(bytes).map_err(|_| Refused::Malformed)? {
        Some(control) => {
            // One message that counts is enough: a frame may name priorities that are not in use
            // here.
            let mut any = Err(Refused::Priority);
            formats::decode(&control, &mut |message, priority, terms| {
                let one = on_control(message, priority, terms);
                any = any.or(one);
            })?;
            any
        }
        None => {
            each(test(bytes, classes)?);
            Ok(())
        }
    }
}

fn test(bytes: &[u8], classes: &Classes) -> Result<Decoded, Refused> {
    let frame = ethernet::Frame::new(bytes).map_err(|_| Refused::Malformed)?;
    let Ok(local::Message::Test(t)) = local::Message::parse(frame.payload()) else {
        return Ok(Decoded::UnknownSource);
    };
    // A test frame with a number that is none of ours is of unknown origin.
    if frame.ether_type() != ethernet::LOCAL || t.flow >= UNKNOWN_SOURCE.0 {
        return Ok(Decoded::UnknownSource);
    }
    let kind = match t.kind {
        test_frame::Kind::Data => FrameKind::Data,
        test_frame::Kind::Ack => FrameKind::Ack,
        test_frame::Kind::Nack => FrameKind::Nack,
        test_frame::Kind::CongestionNotification => FrameKind::CongestionNotification,
    };
    // Quantised feedback has six bits (802.1Q, clause 33).
    if kind == FrameKind::CongestionNotification && t.sequence > FEEDBACK_MAX {
        return Err(Refused::Malformed);
    }
    let class = classes.class(t.priority).ok_or(Refused::Priority)?;
    // The length that it claims is believed as far as there are bytes: 60 B that claimed 65,535
    // held most of a link.
    let claimed =
        if t.counted > 0 { t.counted.into() } else { usize::from(t.len) + usize::from(AROUND) };
    let there = bytes.len() + usize::from(FCS);
    // Below its bytes only where Ethernet pads, and there no further than to the shortest frames
    // that traffic has: 60 B that claimed one byte filled a buffer of 400 KB with 15 MB, and a link
    // of 100 Mb/s with 138.
    let least = if bytes.len() > PADDED { there } else { COUNTED_MIN };
    let len = claimed.max(least).min(there).min(LEN_MAX as usize) as u32;
    let mut f = Frame::new(kind, FlowId(t.flow), class, len);
    f.seq = t.sequence;
    f.sent_at = Time(t.due_ps);
    f.add_mark(of_ecn(t.mark));
    f.set_reported(of_ecn(t.reported));
    f.set_ends_flow(t.last);
    Ok(Decoded::Ours(f))
}

#[cfg(test)]
mod tests {
    use crate::wire::mac_control::{self, Pfc};
    use xoff_mech::flow_control::pfc::Pause;
    use xoff_units::{Class, Span};

    use super::*;
    use crate::switchd::formats::FORMATS;

    fn there_and_back(f: Frame) -> Vec<Frame> {
        let classes = Classes::new([3, 5]);
        let mut out = [0; 2048];
        let terms = Terms { sequence: Some(7), validity: Span::from_us(3), sent: Some(u64::MAX) };
        let len =
            encode(&f, &classes, (mac(NodeId(1), 0), mac(NodeId(2), 1)), &terms, Time(5), &mut out)
                .expect("bytes are defined");
        let mut back = Vec::new();
        let seen = decode(
            &out[..len],
            &classes,
            64,
            |_| true,
            |d| match d {
                Decoded::Ours(f) => back.push(f),
                Decoded::Control(f, had) => {
                    assert!(
                        had.sequence.is_none_or(|n| n == 7)
                            && had.sent.is_none_or(|n| n == u64::MAX)
                    );
                    assert!(had.validity == Span::ZERO || had.validity == terms.validity);
                    back.push(f);
                }
                Decoded::UnknownSource => panic!("unknown source"),
            },
        );
        assert_eq!(seen, Ok(()));
        back
    }

    #[test]
    fn every_message_comes_back_as_it_was() {
        let resume = Message::Pfc(Pause::RESUME);
        for m in FORMATS.iter().flat_map(|f| f.carries.iter().copied()).chain([resume]) {
            let back = there_and_back(Frame::control(m, Class(1), 64));
            assert_eq!(
                back.iter().map(|f| (f.kind(), f.class(), f.message())).collect::<Vec<_>>(),
                [(FrameKind::Control, Class(1), m)]
            );
        }
    }

    #[test]
    fn data_and_feedback_keep_what_nodes_look_at() {
        for (kind, len) in [
            (FrameKind::Data, 1500),
            (FrameKind::Ack, 60),
            (FrameKind::Nack, 64),
            (FrameKind::CongestionNotification, 64),
        ] {
            let mut f = Frame::new(kind, FlowId(41), Class(1), len);
            // A CNM carries six bits of feedback there.
            let seq =
                if kind == FrameKind::CongestionNotification { FEEDBACK_MAX } else { 1 << 40 };
            (f.seq, f.sent_at) = (seq, Time(123));
            f.add_mark(Mark::Ue);
            f.set_reported(Mark::Ce);
            f.set_ends_flow(true);
            let [b] = there_and_back(f)[..] else { panic!("one frame") };
            assert_eq!(
                (b.kind(), b.class(), b.len(), b.flow, b.seq),
                (kind, Class(1), len, FlowId(41), seq)
            );
            assert_eq!(
                (b.sent_at, b.mark(), b.reported(), b.ends_flow()),
                (Time(123), Mark::Ue, Mark::Ce, true)
            );
        }
    }

    /// 802.1Qbb: a frame with several classes in its vector has a value for each of them.
    #[test]
    fn one_pfc_frame_pauses_several_priorities() {
        let mut times = [None; 8];
        (times[3], times[4], times[5]) = (Some(10), Some(11), Some(0));
        let mut out = [0; 64];
        let len =
            mac_control::Repr::Pfc(Pfc { times }).emit_frame(mac(NodeId(1), 1), &mut out).unwrap();
        let mut received = Vec::new();
        let r = decode(
            &out[..len],
            &Classes::new([3, 5]),
            64,
            |_| true,
            |d| {
                if let Decoded::Control(f, _) = d {
                    received.push((f.class(), f.message()));
                }
            },
        );
        assert_eq!(
            (r, received),
            (Ok(()), vec![(Class(0), Message::Pfc(Pause(10))), (Class(1), Message::Pfc(Pause(0)))])
        );
        let r =
            decode(&out[..len], &Classes::new([1]), 64, |_| true, |_| panic!("none is used here"));
        assert_eq!(r, Err(Refused::Priority));
        let r = decode(
            &out[..len],
            &Classes::new([3]),
            64,
            |m| matches!(m, Message::Stage(_)),
            |_| panic!("not configured"),
        );
        assert_eq!(r, Err(Refused::Unexpected));
    }

    fn decoded(bytes: &[u8]) -> Result<Option<Frame>, Refused> {
        let mut ours = None;
        let each = |d| match d {
            Decoded::Ours(f) | Decoded::Control(f, _) => ours = Some(f),
            Decoded::UnknownSource => {}
        };
        decode(bytes, &Classes::new([3, 5]), 64, |_| true, each).map(|()| ours)
    }

    /// Every length and every other field of a test frame at its ends: a frame never counts for
    /// more than its bytes, whatever it claims.
    #[test]
    fn a_test_frame_counts_for_its_bytes() {
        let honest = test_frame::Repr {
            kind: test_frame::Kind::Data,
            mark: Ecn::TCD_CAPABLE,
            reported: Ecn::TCD_CAPABLE,
            counted: 0,
            priority: 3,
            last: false,
            len: 46,
            flow: 0,
            sequence: 0,
            due_ps: 0,
            sent_ps: 0,
        };
        let mut out = [0; 64];
        for counted in [0, 1, 59, 60, 64, 65, 1500, u16::MAX - 1, u16::MAX] {
            for len in [40u16, 46] {
                let frame = local::Message::Test(test_frame::Repr { counted, len, ..honest });
                let n = frame.emit_frame(mac(NodeId(1), 0), mac(NodeId(2), 0), &mut out).unwrap();
                let f = decoded(&out[..n]).unwrap().unwrap();
                let claimed = if counted > 0 { u32::from(counted) } else { u32::from(len) + 18 };
                assert_eq!(f.len(), claimed.clamp(40, 64), "counted {counted}, length {len}");
            }
        }
        // Where nothing is padded there is one truth.
        let mut long = [0; 200];
        for counted in [0, 1, 103, 104, 105, u16::MAX] {
            let frame = local::Message::Test(test_frame::Repr { counted, len: 86, ..honest });
            let n = frame.emit_frame(mac(NodeId(1), 0), mac(NodeId(2), 0), &mut long).unwrap();
            assert_eq!(
                (n, decoded(&long[..n]).unwrap().unwrap().len()),
                (100, 104),
                "counted {counted}"
            );
        }
        // A length beyond the bytes is rejected, as is a flow number of another sender for being
        // one of ours.
        let n = local::Message::Test(honest)
            .emit_frame(mac(NodeId(1), 0), mac(NodeId(2), 0), &mut out)
            .unwrap();
        for len in [47u16, 0, 39, u16::MAX - 1, u16::MAX] {
            let mut bytes = out[..n].to_vec();
            bytes[20..22].copy_from_slice(&len.to_be_bytes());
            assert!(
                decoded(&bytes).unwrap().is_none(),
                "length {len}: data of an unknown source, not one of our frames"
            );
        }
        for (kind, sequence, good) in [
            (test_frame::Kind::CongestionNotification, 0, true),
            (test_frame::Kind::CongestionNotification, 63, true),
            (test_frame::Kind::CongestionNotification, 64, false),
            (test_frame::Kind::CongestionNotification, u64::MAX, false),
            (test_frame::Kind::Ack, u64::MAX, true),
        ] {
            let all = test_frame::Repr {
                kind,
                sequence,
                due_ps: u64::MAX,
                sent_ps: u64::MAX,
                last: true,
                ..honest
            };
            let n = local::Message::Test(all)
                .emit_frame(mac(NodeId(1), 0), mac(NodeId(2), 0), &mut out)
                .unwrap();
            assert_eq!(decoded(&out[..n]).is_ok(), good, "{kind:?} {sequence}");
        }
    }
}
