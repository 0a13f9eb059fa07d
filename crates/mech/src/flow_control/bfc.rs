//! Backpressure Flow Control (BFC, NSDI 2022): per hop and per flow, by the queue in which a flow
//! waits at the next egress.
//!
//! ```text
//!   upstream egress                                        downstream switch
//!                   +-> queue 0 [head paused]                             +-> queue 0 - - - Th - - -> flow paused
//!   frame of flow --+-> queue 1 --------------+-> wire --> ingress -------+-> queue 1
//!                   +-> ...                                |              +-> ...
//!        ^                                                 v
//!        +---- Bloom filter of paused flows, every tau ----+
//! ```
//!
//! A flow gets an empty queue of the egress, if there is one. It is paused when a frame of it comes
//! while its queue holds more than Th = (HRTT + tau) mu / N_active: the bytes of the queue that the
//! egress sends until a resume takes effect. All paused flows of an ingress travel as one Bloom
//! filter every tau. A queue whose head is a frame of a paused flow does not send.
//!
//! Rules, and where they differ from the paper: `docs/mechanisms/bfc.md`.

mod filter;
mod receiver;
mod sender;

pub use filter::{FILTER_BITS, FRAME_LEN, FilterPart, HASHES};
pub use receiver::BfcReceiver;
pub use sender::BfcSender;

use xoff_units::params::{Kind, ParamError, ParamSpec, Values};
use xoff_units::{Bytes, FlowId, Span};

use super::QueueState;
use super::law::Law;
use crate::{LinkFacts, Unmet};

/// Parameters in a file.
pub const PARAMS: &[ParamSpec] = &[
    ParamSpec::new(
        "queues",
        Kind::Count,
        "32",
        "queues of an egress port and priority",
        "xoff's choice; the authors' simulator has 31 for flows",
    ),
    ParamSpec::new(
        "vfids",
        Kind::Count,
        "16384",
        "virtual flow numbers, by a hash of the flow",
        "xoff's choice; the authors' simulator has 7200 for each egress",
    ),
    ParamSpec::optional(
        "period",
        Kind::Span,
        "tau, between two filters; default: half of HRTT",
        "BFC: half of a hop's round trip",
    ),
    ParamSpec::new(
        "resumes",
        Kind::Count,
        "2",
        "largest number of flows of an ingress resumed in one period",
        "BFC: 2 for each queue",
    ),
];

/// Parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Params {
    /// Queues of an egress.
    pub queues: u16,
    /// Virtual flow numbers.
    pub vfids: u32,
    /// tau [ps].
    pub period: Span,
    /// Flows resumed in one period.
    pub resumes: u32,
}

impl Params {
    /// Reads [`PARAMS`]; tau follows from the link where it is not given.
    ///
    /// # Errors
    /// The key that is out of its range.
    pub fn read(v: &mut dyn Values, link: &LinkFacts) -> Result<Params, ParamError> {
        let shortest = filters(link);
        let period = v.span_opt("period")?.unwrap_or(Span(hrtt(link).0 / 2).max(shortest));
        if period < shortest {
            let what = format!(
                "period is {period}, but the filters of a link of {} take {shortest} on the wire",
                link.rate
            );
            return Err(ParamError::new(
                "period",
                what,
                format!(
                    "choose at least {shortest}, or the queue of filters would grow without limit"
                ),
            ));
        }
        let mut count = |key: &'static str, most: u64| match v.count(key)? {
            n if (1..=most).contains(&n) => Ok(n),
            n => Err(ParamError::new(key, format!("{n} {key}"), format!("expected 1 to {most}"))),
        };
        let (queues, vfids) = (count("queues", 1 << 12)? as u16, count("vfids", 1 << 24)? as u32);
        Ok(Params { queues, vfids, period, resumes: count("resumes", 1 << 16)? as u32 })
    }

    /// Th of a queue [bytes].
    pub fn threshold(&self, link: &LinkFacts, queue: &QueueState) -> Bytes {
        threshold(hrtt(link) + self.period, queue)
    }

    fn vfid(&self, flow: FlowId) -> u32 {
        filter::hash(flow.0) % self.vfids
    }
}

/// Round trip of one hop: twice the delay, the times inside the nodes, a frame that is on the wire
/// when a filter is to leave, and the filter with those of other priorities before it [ps].
pub fn hrtt(link: &LinkFacts) -> Span {
    link.delay + link.delay + link.processing + link.rate.time_for(link.mtu) + filters(link)
}

/// Filters of all priorities on the wire [ps].
fn filters(link: &LinkFacts) -> Span {
    link.rate.time_for(FRAME_LEN * (1 + link.control_ahead))
}

fn threshold(horizon: Span, queue: &QueueState) -> Bytes {
    Bytes(queue.rate.bytes_in(horizon).0 / u64::from(queue.active.max(1)))
}

impl Law for Params {
    type Receiver = Box<BfcReceiver>;
    type Sender = Box<BfcSender>;

    fn halves(&self, link: &LinkFacts) -> (Box<BfcReceiver>, Box<BfcSender>) {
        (Box::new(BfcReceiver::new(self, link)), Box::new(BfcSender::new(self, link)))
    }
    fn resolved(&self) -> Vec<(&'static str, String)> {
        vec![("period", self.period.compact())]
    }
    fn message_len(&self) -> Bytes {
        FRAME_LEN
    }
    /// Room if the egress is as fast: Th, the bytes that arrive until its pause takes effect, and
    /// two frames.
    fn flow_bytes(&self, link: &LinkFacts) -> Option<Bytes> {
        let on_the_way = link.rate.bytes_in(hrtt(link) + self.period);
        Some(on_the_way + on_the_way + link.mtu + link.mtu)
    }
    fn unmet(&self, link: &LinkFacts) -> Vec<Unmet> {
        let need = self.flow_bytes(link).unwrap_or_default();
        if link.buffer >= need {
            return Vec::new();
        }
        vec![Unmet::new(
            format!(
                "B >= 2 C (HRTT + tau) + 2 MTU on {} links: {} is less than {need}, so frames of one flow may be lost",
                link.rate, link.buffer
            ),
            "use a larger buffer, or a shorter period or cable: a queue needs Th and the bytes that arrive before its pause takes effect",
        )]
    }
}

#[cfg(test)]
mod tests;
