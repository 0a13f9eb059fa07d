//! First decision at an ingress: whether a frame is a control frame, and its content.

use crate::wire::ethernet::{Frame, LOCAL, MAC_CONTROL, Mac};
use crate::wire::{Malformed, local, mac_control};

/// A frame for the port itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// PAUSE or PFC.
    Mac(mac_control::Repr),
    /// One of ours; never a test frame.
    Local(local::Message),
}

/// The message of a whole frame for the port that received it. `None`: nothing, it is data.
///
/// Control frames are those to 01-80-C2-00-00-01 with EtherType 0x8808, or with 0x88B5 if it is no
/// test frame. Control frames carry no VLAN tag. A malformed one is an error, so that it is neither
/// obeyed nor forwarded; so is one that goes elsewhere, because control ends at the next port. What
/// others send with 0x88B5 to another address is data.
pub fn parse(frame: &[u8]) -> Result<Option<Control>, Malformed> {
    let frame = Frame::new(frame)?;
    let here = frame.destination() == Mac::FLOW_CONTROL;
    let elsewhere = || {
        let found = frame.destination().0.iter().fold(0, |n, &b| n << 8 | u64::from(b));
        Err(Malformed::Value {
            field: "destination of a control frame",
            found,
            expected: "0x180c2000001",
        })
    };
    match (frame.ether_type(), here) {
        (MAC_CONTROL, true) => {
            mac_control::Repr::parse(frame.payload()).map(|m| Some(Control::Mac(m)))
        }
        (MAC_CONTROL, false) => elsewhere(),
        (LOCAL, true) => match local::Message::parse(frame.payload())? {
            local::Message::Test(_) => Ok(None),
            message => Ok(Some(Control::Local(message))),
        },
        (LOCAL, false) => match local::Message::parse(frame.payload()) {
            Ok(local::Message::Test(_)) | Err(_) => Ok(None),
            Ok(_) => elsewhere(),
        },
        _ => Ok(None),
    }
}
