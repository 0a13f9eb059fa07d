//! Which bytes carry which message of flow control: one line for each wire format; its file
//! declares the rest.
//!
//! ```text
//!   pfc.rs:  FORMAT = Format { carrier, carries, encode, decode }        bytes of a message: crate::wire
//!   here:    FORMATS = [.., pfc::FORMAT, ..]  -->  codec, errors of a testbed, counts of a packet capture
//! ```
//!
//! A flow control has bytes if one of these formats carries a message that it accepts.

mod credit;
mod gfc;
mod pfc;
mod pffc;

use crate::wire::control::Control;
use xoff_mech::flow_control::{FlowControl, Message};
use xoff_units::Span;

use crate::switchd::codec::Refused;

pub use credit::blocks;

/// Additional fields of a control message. Formats that lack a field leave it empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Terms {
    /// Number among the messages of its port and priority.
    pub sequence: Option<u32>,
    /// Validity without another message; zero: until it is replaced [ps].
    pub validity: Span,
    /// Total that its sender has sent in this priority [blocks].
    pub sent: Option<u64>,
}

/// The kind of frame that a message travels in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// MAC control, EtherType 0x8808, which switches of others know.
    MacControl,
    /// EtherType 0x88B5, which only nodes of this project know.
    Local,
}

/// Takes a frame apart, see [`Format::decode`].
pub type Decode = fn(&Control, &mut dyn FnMut(Message, u8, Terms)) -> Option<Result<(), Refused>>;

/// A wire format.
pub struct Format {
    /// The frame.
    pub carrier: Carrier,
    /// A message of each kind that it carries.
    pub carries: &'static [Message],
    /// The message for a priority as the content of a frame; `None`: it is of another kind, or too
    /// large for its field.
    pub encode: fn(Message, u8, &Terms) -> Option<Control>,
    /// Calls back with each message of a frame and its priority, in the order of priorities;
    /// `None`: the frame is of another format.
    pub decode: Decode,
}

/// All wire formats.
pub const FORMATS: &[Format] = &[pfc::FORMAT, gfc::FORMAT, credit::FORMAT, pffc::FORMAT];

/// The wire format of a flow control; `None`: it has no messages, or no bytes are defined for them.
pub fn format_of(flow_control: &FlowControl) -> Option<&'static Format> {
    FORMATS.iter().find(|f| f.carries.iter().any(|m| flow_control.accepts(m)))
}

/// Bytes for a message on the wire; `None`: no bytes are defined for it.
pub(crate) fn encode(message: Message, priority: u8, terms: &Terms) -> Option<Control> {
    FORMATS.iter().find_map(|f| (f.encode)(message, priority, terms))
}

/// Calls back with each message of a control frame.
pub(crate) fn decode(
    control: &Control,
    each: &mut dyn FnMut(Message, u8, Terms),
) -> Result<(), Refused> {
    FORMATS.iter().find_map(|f| (f.decode)(control, each)).unwrap_or(Err(Refused::Unexpected))
}

/// Picoseconds in a microsecond: validities are in microseconds on the wire.
const PS_PER_US: u64 = 1_000_000;

#[cfg(test)]
mod tests {
    use xoff_units::params::Defaults;
    use xoff_units::{Bytes, Rate};

    use super::*;

    /// Every format does what it declares, and no message has two formats.
    #[test]
    fn a_message_has_one_format_and_comes_back() {
        let terms = Terms { sequence: Some(7), validity: Span(3 * PS_PER_US), sent: Some(9) };
        for f in FORMATS {
            assert!(!f.carries.is_empty());
            for &m in f.carries {
                assert_eq!(
                    FORMATS.iter().filter(|f| (f.encode)(m, 3, &terms).is_some()).count(),
                    1,
                    "{m:?}"
                );
                let control = (f.encode)(m, 3, &terms).unwrap();
                let carrier = if matches!(control, Control::Mac(_)) {
                    Carrier::MacControl
                } else {
                    Carrier::Local
                };
                assert_eq!(carrier, f.carrier, "{m:?}");
                let mut back = Vec::new();
                decode(&control, &mut |m, priority, _| back.push((m, priority))).unwrap();
                assert_eq!(back, [(m, 3)]);
            }
        }
    }

    /// A flow control is found by the messages that it accepts; one without a format here is
    /// rejected by a testbed.
    #[test]
    fn the_format_of_a_flow_control_carries_what_it_accepts() {
        let link = xoff_mech::LinkFacts::plain(
            Rate::from_gbps(10),
            Span::from_us(1),
            Bytes(1_500),
            Bytes(1_000_000),
        );
        let mut found = 0;
        for e in xoff_mech::flow_control::REGISTRY {
            let fc = (e.read)(&mut Defaults::of(e.params), &link).unwrap();
            let carried = FORMATS.iter().flat_map(|f| f.carries).filter(|m| fc.accepts(m)).count();
            let format = format_of(&fc);
            assert_eq!(
                format.map_or(0, |f| f.carries.iter().filter(|m| fc.accepts(m)).count()),
                carried,
                "{}: in one format",
                e.name
            );
            assert!(
                fc.opening().iter().all(|&m| encode(m, 0, &Terms::default()).is_some())
                    || format.is_none(),
                "{}",
                e.name
            );
            found += usize::from(format.is_some());
        }
        assert!(
            format_of(&FlowControl::None).is_none() && found >= FORMATS.len(),
            "{found} have bytes"
        );
    }
}
