//! Pause and resume of a priority: PFC frames of 802.1Q.

use crate::wire::control::Control;
use crate::wire::mac_control::{Pfc, Repr};
use xoff_mech::flow_control::Message;
use xoff_mech::flow_control::pfc::Pause;

use super::{Carrier, Format, Terms};

pub(super) const FORMAT: Format = Format {
    carrier: Carrier::MacControl,
    carries: &[Message::Pfc(Pause(u16::MAX as u32))],
    encode: |message, priority, _| {
        let Message::Pfc(Pause(quanta)) = message else { return None };
        Some(Control::Mac(Repr::Pfc(Pfc::one(priority, u16::try_from(quanta).ok()?)?)))
    },
    decode: |control, each| {
        let Control::Mac(Repr::Pfc(pfc)) = control else { return None };
        // A vector may name priorities that are not in use here: the codec leaves those out, as
        // long as one is.
        (0..8u8)
            .zip(pfc.times)
            .filter_map(|(priority, time)| time.map(|quanta| (priority, quanta)))
            .for_each(|(priority, quanta)| {
                each(Message::Pfc(Pause(quanta.into())), priority, Terms::default())
            });
        Some(Ok(()))
    },
};
