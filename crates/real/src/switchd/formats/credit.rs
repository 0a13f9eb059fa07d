//! Credit limits in 64 bits: 0x88B5, subtype 3. InfiniBand's own packet of 12 bits, subtype 2, is
//! not accepted.

use crate::wire::cbfc::{Op, Wide};
use crate::wire::control::Control;
use crate::wire::local;
use xoff_mech::flow_control::Message;
use xoff_mech::flow_control::cbfc::CreditLimit;
use xoff_units::Bytes;

use super::{Carrier, Format, Terms};

/// Blocks that a frame counts for in `Terms::sent`.
pub use xoff_mech::flow_control::cbfc::blocks;

pub(super) const FORMAT: Format = Format {
    carrier: Carrier::Local,
    carries: &[Message::Credit(CreditLimit { fccl: 1, occupied: Bytes(1) })],
    encode: |message, priority, terms| {
        let Message::Credit(CreditLimit { fccl, occupied }) = message else { return None };
        let wide = Wide {
            // While a link is initialised no message has a total.
            op: if terms.sent.is_some() { Op::Normal } else { Op::Init },
            vl: priority,
            fctbs: terms.sent.unwrap_or(0),
            fccl,
            occupied: occupied.0,
        };
        Some(Control::Local(local::Message::Credit64(wide)))
    },
    decode: |control, each| {
        let Control::Local(local::Message::Credit64(w)) = control else { return None };
        let limit = CreditLimit { fccl: w.fccl, occupied: Bytes(w.occupied) };
        let sent = (w.op == Op::Normal).then_some(w.fctbs);
        each(Message::Credit(limit), w.vl, Terms { sent, ..Terms::default() });
        Some(Ok(()))
    },
};
