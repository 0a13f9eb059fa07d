//! Orders for single flows: 0x88B5, subtype 4, without the key of the flow.

use crate::wire::control::Control;
use crate::wire::local;
use crate::wire::pffc::{Kind, Repr};
use xoff_mech::flow_control::Message;
use xoff_mech::flow_control::pfc::Pause;
use xoff_mech::flow_control::pffc::Order;

use super::{Carrier, Format, Terms};
use crate::switchd::codec::Refused;

pub(super) const FORMAT: Format = Format {
    carrier: Carrier::Local,
    carries: &[
        Message::Flow(Order::Pause(6, Pause(u16::MAX as u32))),
        Message::Flow(Order::Resume(6)),
        Message::Flow(Order::Migrate(4_095)),
        Message::Flow(Order::MigrateBack(4_095)),
    ],
    encode: |message, priority, terms| {
        let Message::Flow(order) = message else { return None };
        let (kind, hash) = match order {
            Order::Pause(q, Pause(quanta)) => (Kind::Pause(u16::try_from(quanta).ok()?), q),
            Order::Resume(q) => (Kind::Resume, q),
            Order::Migrate(slot) => (Kind::Migrate, slot),
            Order::MigrateBack(slot) => (Kind::MigrateBack, slot),
        };
        let sequence = terms.sequence.unwrap_or(0);
        Some(Control::Local(local::Message::Pffc(Repr {
            kind,
            queue: priority,
            sequence,
            hash: hash.into(),
            key: None,
        })))
    },
    decode: |control, each| {
        let Control::Local(local::Message::Pffc(p)) = control else { return None };
        let Ok(at) = u16::try_from(p.hash) else { return Some(Err(Refused::Malformed)) };
        let order = match p.kind {
            Kind::Pause(quanta) => Order::Pause(at, Pause(quanta.into())),
            Kind::Resume => Order::Resume(at),
            Kind::Migrate => Order::Migrate(at),
            Kind::MigrateBack => Order::MigrateBack(at),
        };
        each(
            Message::Flow(order),
            p.queue,
            Terms { sequence: Some(p.sequence), ..Terms::default() },
        );
        Some(Ok(()))
    },
};
