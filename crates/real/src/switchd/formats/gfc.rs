//! Stage or queue of GFC: 0x88B5, subtype 1. The mapping from a rate that it can carry as well is
//! not used here.

use crate::wire::control::Control;
use crate::wire::gfc::{Feedback, Repr};
use crate::wire::local;
use xoff_mech::flow_control::Message;
use xoff_mech::flow_control::gfc_buffer::Stage;
use xoff_mech::flow_control::gfc_conceptual::Level;
use xoff_units::{Bytes, Span};

use super::{Carrier, Format, PS_PER_US, Terms};
use crate::switchd::codec::Refused;

pub(super) const FORMAT: Format = Format {
    carrier: Carrier::Local,
    carries: &[Message::Stage(Stage(1)), Message::Level(Level(Bytes(1)))],
    encode: |message, priority, terms| {
        let feedback = match message {
            Message::Stage(Stage(stage)) => Feedback::Stage(stage),
            Message::Level(Level(queue)) => Feedback::Queue(queue.0),
            _ => return None,
        };
        let validity_us = u32::try_from(terms.validity.0 / PS_PER_US).unwrap_or(u32::MAX);
        let repr = Repr { priority, sequence: terms.sequence.unwrap_or(0), validity_us, feedback };
        Some(Control::Local(local::Message::Gfc(repr)))
    },
    decode: |control, each| {
        let Control::Local(local::Message::Gfc(g)) = control else { return None };
        let message = match g.feedback {
            Feedback::Stage(k) => Message::Stage(Stage(k)),
            Feedback::Queue(q) => Message::Level(Level(Bytes(q))),
            Feedback::Rate(_) => return Some(Err(Refused::Unexpected)),
        };
        let validity = Span(u64::from(g.validity_us) * PS_PER_US);
        each(message, g.priority, Terms { sequence: Some(g.sequence), validity, sent: None });
        Some(Ok(()))
    },
};
