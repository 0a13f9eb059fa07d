//! Credit-based flow control of Ultra Ethernet (UE 1.0, section 5.2): credits are cells, counters
//! have 20 bits, updates are spaced in bytes.
//!
//! ```text
//!   sender, per class                                        receiver, per class
//!   S_CC += cost of each frame   ---- data ---------------->  R_CC += cost when it is stored
//!   in use = S_CC - S_CF                                      R_CF += cost when it leaves
//!   sends while in use + cost <= limit
//!   S_CF = R_CF                  <--- CF_Update(R_CF) ------  at least one spacing after the previous one, if R_CF has changed;
//!                                                             at the latest after the largest, changed or not
//!   every period                 ---- CC_Update(S_CC) ----->  d = S_CC - R_CC was lost on the wire: R_CF += d, R_CC = S_CC
//!
//!   cost = ceil((frame + overhead) / credit size)             all differences mod 2^20
//! ```
//!
//! Both totals are cumulative: a lost CF_Update is healed by the next one, and credits of lost
//! frames come back with the next CC_Update. The total of a CC_Update is filled in when its
//! transmission starts ([`Signal::totals`]): frames before it on the link are in it, those behind
//! it are not. With `sharing` the limit is one of the port, and its channels share it
//! ([`Sharing`]).

mod sharing;

pub use sharing::Sharing;

use xoff_units::params::{Kind, ParamError, ParamSpec, Values};
use xoff_units::state::State;
use xoff_units::{Bytes, Rate, Span, Time};

use super::law::{Law, Signal, Totals};
use super::on_off::Stop;
use super::repeat::fits_wire;
use super::{Gate, Message, Occupancy, Receiver, Sender, StoppedBy};
use crate::{LinkFacts, Unmet};
use sharing::Shared;

/// Parameters in a file.
pub const PARAMS: &[ParamSpec] = &[
    ParamSpec::new(
        "credit_size",
        Kind::Bytes,
        "128B",
        "bytes per credit: a power of two, 32 B to 2048 B",
        "SAI CBFC: 32 to 2048, default 128",
    ),
    ParamSpec::new(
        "overhead",
        Kind::Integer,
        "0",
        "bytes added to each frame before credits are counted, -16 to 127",
        "SAI CBFC: -16 to 127, default 0",
    ),
    ParamSpec::optional(
        "limit",
        Kind::Count,
        "largest number of credits in use; default: as many as the buffer holds",
        "SAI CBFC: credit limit, 20 bits",
    ),
    ParamSpec::new(
        "cf_min_spacing",
        Kind::Bytes,
        "6400B",
        "smallest distance between two CF_Updates, in bytes of the link",
        "SAI CBFC: 6400 B",
    ),
    ParamSpec::new(
        "cf_max_spacing",
        Kind::Bytes,
        "262144B",
        "largest distance between two CF_Updates, in bytes of the link",
        "SAI CBFC: 262,144 B",
    ),
    ParamSpec::new(
        "cc_period",
        Kind::Span,
        "256us",
        "time between two CC_Updates",
        "SAI CBFC: 256 us, 1 us to 250 ms",
    ),
    sharing::OWN[0],
    sharing::OWN[1],
    sharing::OWN[2],
    sharing::OWN[3],
];

/// Counters wrap at 2^20.
const MASK: u64 = (1 << 20) - 1;
/// A limit below this: an update that is behind the previous one is never taken for one ahead of
/// it.
pub const LIMIT_END: u64 = 1 << 19;
/// A control ordered set [bytes].
pub const CF_UPDATE_LEN: Bytes = Bytes(8);
/// The smallest Ethernet frame [bytes].
pub const CC_UPDATE_LEN: Bytes = Bytes(64);

/// Values of [`PARAMS`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Params {
    /// Cost of frames.
    pub cost: Cost,
    /// Credits that may be in use.
    pub limit: u64,
    /// True if the limit was given, not derived from the buffer.
    limit_given: bool,
    /// Least time between two CF_Updates [ps].
    pub cf_min: Span,
    /// Largest time between two of them [ps].
    pub cf_max: Span,
    /// Time between two CC_Updates [ps].
    pub cc_period: Span,
    /// Sharing of a port's credits among its priorities; `None`: each has its own limit.
    pub sharing: Option<Sharing>,
}

/// Cost of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// Binary logarithm of the credit size.
    shift: u8,
    /// Added to each frame [bytes].
    overhead: i8,
}

impl Cost {
    /// Credits of a size that is a power of two.
    pub const fn new(credit_size: u64, overhead: i8) -> Cost {
        Cost { shift: credit_size.trailing_zeros() as u8, overhead }
    }
    /// Credits of a frame; at least one.
    #[inline]
    pub fn of(self, len: Bytes) -> u64 {
        let counted = len.0.saturating_add_signed(self.overhead.into());
        (counted.saturating_add((1 << self.shift) - 1) >> self.shift).max(1)
    }
    /// The most that frames of one credit may hold [bytes].
    fn most(self) -> u64 {
        (1 << self.shift) + u64::from(self.overhead.min(0).unsigned_abs())
    }
}

/// Credits that a buffer holds, whatever frames they are used for.
pub fn limit_of(buffer: Bytes, cost: Cost) -> u64 {
    buffer.0 / cost.most()
}

impl Params {
    /// Largest number of bytes that its credits allow behind the link.
    pub fn held(&self) -> Bytes {
        Bytes(self.limit.saturating_mul(self.cost.most()))
    }

    /// Reads [`PARAMS`].
    pub fn read(v: &mut dyn Values, link: &LinkFacts) -> Result<Params, ParamError> {
        let size = v.bytes("credit_size")?;
        if !size.0.is_power_of_two() || !(32..=2048).contains(&size.0) {
            return Err(ParamError::new(
                "credit_size",
                format!("credits of {size}"),
                "expected a power of two, 32 B to 2048 B",
            ));
        }
        let overhead = v.integer("overhead")?;
        if !(-16..=127).contains(&overhead) {
            return Err(ParamError::new(
                "overhead",
                format!("an overhead of {overhead} B"),
                "expected -16 to 127",
            ));
        }
        let cost = Cost::new(size.0, overhead as i8);
        let given = v.count_opt("limit")?;
        let (min, max) = (v.bytes("cf_min_spacing")?, v.bytes("cf_max_spacing")?);
        if min.0 < 64 {
            return Err(ParamError::new(
                "cf_min_spacing",
                format!("CF_Updates every {min}"),
                "expected at least 64 B; SAI has 800 B and more",
            ));
        }
        if max < min {
            return Err(ParamError::new(
                "cf_max_spacing",
                format!("cf_max_spacing {max} < cf_min_spacing {min}"),
                "expected at least cf_min_spacing",
            ));
        }
        let cc_period = v.span("cc_period")?;
        if cc_period.0 == 0 || cc_period > Span::from_us(250_000) {
            return Err(ParamError::new(
                "cc_period",
                format!("a period of {cc_period}"),
                "expected more than 0 us, at most 250 ms",
            ));
        }
        let p = Params {
            cost,
            limit: given.unwrap_or_else(|| limit_of(link.buffer, cost)),
            limit_given: given.is_some(),
            cf_min: link.rate.time_for(min),
            cf_max: link.rate.time_for(max),
            cc_period,
            sharing: Sharing::read(v, cost.of(link.mtu))?,
        };
        p.validate(link)?;
        if let Some(why) = p.sharing.and_then(|s| s.out_of_reach(p.limit)) {
            v.without_effect("shared_limit", &why, "a smaller number, or 0: all");
        }
        Ok(p)
    }

    /// Refuses a limit behind which the longest frame never goes, and one that the counters cannot
    /// hold.
    pub fn validate(&self, link: &LinkFacts) -> Result<(), ParamError> {
        let (limit, each) = (self.limit, self.cost.of(link.mtu));
        let key = if self.limit_given { "limit" } else { "buffer" };
        if limit < each {
            let what = format!("a limit of {limit} credits, a frame of {} takes {each}", link.mtu);
            return Err(ParamError::new(
                key,
                what,
                "a virtual channel without the credits for a frame never sends it",
            ));
        }
        if limit >= LIMIT_END {
            let what = format!(
                "{limit} credits >= {LIMIT_END} = 2^19: 20-bit counters cannot distinguish an old update from a new one"
            );
            return Err(ParamError::new(
                key,
                what,
                "a smaller buffer or limit, or a larger credit_size",
            ));
        }
        self.sharing.map_or(Ok(()), |s| s.fits(limit, each, 1))
    }

    /// Credits that a priority may use at most.
    fn most(&self) -> u64 {
        self.sharing.map_or(self.limit, |s| s.most(self.limit))
    }
}

impl Law for Params {
    type Receiver = CellReceiver;
    type Sender = Box<CellSender>;

    fn halves(&self, link: &LinkFacts) -> (CellReceiver, Box<CellSender>) {
        (CellReceiver::new(self), Box::new(CellSender::new(self, link.rate)))
    }
    fn resolved(&self) -> Vec<(&'static str, String)> {
        let reserved = self.sharing.map(|s| ("reserved", s.reserved().to_string()));
        std::iter::once(("limit", self.limit.to_string())).chain(reserved).collect()
    }
    fn holds_a_frame(&self, link: &LinkFacts) -> Result<(), ParamError> {
        self.validate(link)
    }
    fn message_len(&self) -> Bytes {
        CF_UPDATE_LEN
    }
    fn shares_port(&self) -> bool {
        self.sharing.is_some()
    }
    fn fits_priorities(&self, link: &LinkFacts, priorities: u64) -> Result<(), ParamError> {
        self.sharing.map_or(Ok(()), |s| s.fits(self.limit, self.cost.of(link.mtu), priorities))
    }
    /// CF_Updates at their least spacing leave the rest of the wire to CC_Updates.
    fn messages_fit(&self, link: &LinkFacts, priorities: u64) -> Result<(), ParamError> {
        fits_wire(("cc_period", self.cc_period), (priorities, CC_UPDATE_LEN), link)?;
        fits_wire(("cf_min_spacing", self.cf_min), (priorities, CF_UPDATE_LEN), link)?;
        let of = |len: Bytes, every: Span| {
            link.rate.time_for(len * priorities).0 as f64 / every.0 as f64
        };
        let (freed, consumed) = (of(CF_UPDATE_LEN, self.cf_min), of(CC_UPDATE_LEN, self.cc_period));
        if freed + consumed <= 1.0 {
            return Ok(());
        }
        let what = format!(
            "CC_Updates every {} take {consumed:.2} of a wire of {}, CF_Updates {freed:.2}",
            self.cc_period, link.rate
        );
        Err(ParamError::new("cc_period", what, "use a longer period, or a larger cf_min_spacing"))
    }
    fn unmet(&self, link: &LinkFacts) -> Vec<Unmet> {
        let mut unmet = Vec::new();
        let most = self.limit.saturating_mul(self.cost.most());
        if most > link.buffer.0 {
            let what = format!(
                "limit x credit size <= buffer: {} credits may hold {most} B, the buffer has {}",
                self.limit, link.buffer
            );
            unmet.push(Unmet::new(
                what,
                format!("frames may be lost: limit = {}", limit_of(link.buffer, self.cost)),
            ));
        }
        if let Some(s) = self.sharing.filter(|s| !s.bears(self.cost.of(link.mtu))) {
            let what = format!(
                "reserved >= a frame: {} credits, a frame of {} takes {}",
                s.reserved(),
                link.mtu,
                self.cost.of(link.mtu)
            );
            unmet.push(Unmet::new(
                what,
                "use more reserved credits: a priority may wait while others use the shared part",
            ));
        }
        let (frames, loop_time) =
            (self.most() / self.cost.of(link.mtu), self.cf_min + self.control_loop(link).tau);
        let (carried, need) = (link.mtu * frames, link.rate.bytes_in(loop_time));
        if carried < need {
            let what = format!(
                "credits carry C (spacing + tau) on {} links: {} credits are {frames} frames of {}, {carried}, and {need} are needed",
                link.rate,
                self.most(),
                link.mtu
            );
            unmet.push(Unmet::new(
                what,
                "the link does not reach its rate: a larger buffer, a smaller cf_min_spacing, or frames that fill their credits",
            ));
        }
        unmet
    }
    /// The least time between two updates, as a credit period.
    fn stop(&self) -> Option<Stop> {
        Some(Stop::Credits(self.cf_min))
    }
}

/// Contents of a message, in credits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, State)]
pub enum Update {
    /// CF_Update: R_CF, credits freed in all. Halves use the lower 20 bits, which are on the wire.
    Freed(#[state(counter)] u64),
    /// CC_Update: S_CC, credits used in all, travels with it.
    Consumed,
}

impl Signal for Update {
    fn to_words(self) -> (u64, u64) {
        match self {
            Update::Freed(total) => (total, 0),
            Update::Consumed => (0, 1),
        }
    }
    fn from_words(a: u64, b: u64) -> Update {
        if b == 0 { Update::Freed(a) } else { Update::Consumed }
    }
    fn describe(self) -> (&'static str, u64) {
        match self {
            Update::Freed(total) => ("cf-update", total & MASK),
            Update::Consumed => ("cc-update", 0),
        }
    }
    fn own_len(self) -> Option<Bytes> {
        (self == Update::Consumed).then_some(CC_UPDATE_LEN)
    }
    fn totals(self) -> Totals {
        if self == Update::Consumed { Totals::Always } else { Totals::Never }
    }
}

/// The receiver half.
#[derive(Clone, Debug, PartialEq, Eq, State)]
pub struct CellReceiver {
    #[state(built)] // constant; elsewhere, so that a port stays small
    p: Box<Params>,
    /// R_CC: credits of received frames, and of frames known to be lost.
    #[state(counter)]
    consumed: u64,
    /// R_CF: credits of frames that have left, and of frames known to be lost.
    #[state(counter)]
    freed: u64,
    /// R_CF of the last CF_Update.
    #[state(counter)]
    sent: u64,
    /// No CF_Update before; zero: the least spacing is over, one may go as soon as something is
    /// freed.
    #[state(deadline)]
    soonest: Time,
    /// A CF_Update at the latest.
    latest: Time,
    /// The next CC_Update.
    cc_next: Time,
}

impl CellReceiver {
    /// A receiver whose sender has all credits. An update may go at once.
    pub fn new(p: &Params) -> Self {
        CellReceiver {
            consumed: 0,
            freed: 0,
            sent: 0,
            soonest: Time::ZERO,
            latest: Time::ZERO + p.cf_max,
            cc_next: Time::ZERO + p.cc_period,
            p: Box::new(p.clone()),
        }
    }

    /// Credits whose frames are in the buffer.
    pub fn held(&self) -> u64 {
        self.consumed.wrapping_sub(self.freed)
    }

    fn update(&mut self, now: Time) -> Option<Message> {
        self.sent = self.freed;
        (self.soonest, self.latest) = (now + self.p.cf_min, now + self.p.cf_max);
        Some(Message::Cells(Update::Freed(self.freed)))
    }

    /// An update if one may go, and there is something new in it.
    #[inline]
    fn news(&mut self, now: Time) -> Option<Message> {
        if now < self.soonest {
            return None;
        }
        if self.freed != self.sent {
            return self.update(now);
        }
        self.soonest = Time::ZERO;
        None
    }
}

impl Receiver for CellReceiver {
    #[inline]
    fn on_arrival(&mut self, _now: Time, _occupancy: &Occupancy, len: Bytes) -> Option<Message> {
        self.consumed = self.consumed.wrapping_add(self.p.cost.of(len));
        None
    }

    #[inline]
    fn on_departure(&mut self, now: Time, _occupancy: &Occupancy, len: Bytes) -> Option<Message> {
        self.freed = self.freed.wrapping_add(self.p.cost.of(len));
        self.news(now)
    }

    fn on_dropped(&mut self, now: Time, len: Bytes) -> Option<Message> {
        self.consumed = self.consumed.wrapping_add(self.p.cost.of(len));
        self.freed = self.freed.wrapping_add(self.p.cost.of(len));
        self.news(now)
    }

    fn on_wake(&mut self, now: Time, _occupancy: &Occupancy) -> Option<Message> {
        if now >= self.cc_next {
            // A late wake-up sends one, not the missed ones.
            self.cc_next += self.p.cc_period * (now.since(self.cc_next).0 / self.p.cc_period.0 + 1);
            return Some(Message::Cells(Update::Consumed));
        }
        self.news(now).or_else(|| if now >= self.latest { self.update(now) } else { None })
    }

    #[inline]
    fn next_wake(&self) -> Option<Time> {
        Some(self.cc_next.min(if self.soonest == Time::ZERO { self.latest } else { self.soonest }))
    }

    fn holds(&self, occupancy: &Occupancy, stuck: Bytes, len: Bytes) -> bool {
        if occupancy.bytes.0 == 0 {
            return false;
        }
        // Credits of the stuck part, in proportion: frames of one buffer are mostly of one size.
        let stuck = (self.held() * stuck.0).div_ceil(occupancy.bytes.0);
        self.p.most().saturating_sub(stuck) < self.p.cost.of(len)
    }

    /// A CC_Update: credits that were used without an arrival were lost.
    fn on_peer_total(&mut self, sent: u64) {
        let lost = sent.wrapping_sub(self.consumed) & MASK;
        self.consumed = self.consumed.wrapping_add(lost);
        self.freed = self.freed.wrapping_add(lost);
    }

    /// As if nothing had been freed of all that a priority may have in the buffer.
    fn hold(&self) -> Option<Message> {
        Some(Message::Cells(Update::Freed(self.consumed.wrapping_sub(self.p.most()))))
    }
}

/// The sender half.
#[derive(Clone, Debug, PartialEq, Eq, State)]
pub struct CellSender {
    #[state(built)] // constant
    line: Rate,
    /// S_CC.
    #[state(counter)]
    consumed: u64,
    /// S_CF.
    #[state(counter)]
    freed: u64,
    #[state(built)] // constant
    limit: u32,
    #[state(built)] // constant
    cost: Cost,
    /// More than the limit has been in use when a frame was sent.
    overdrawn: bool,
    /// `limit` is of the port.
    #[state(each)]
    shared: Option<Shared>,
}

impl CellSender {
    /// A sender with all credits.
    pub fn new(p: &Params, line: Rate) -> Self {
        CellSender {
            line,
            consumed: 0,
            freed: 0,
            limit: p.limit as u32,
            cost: p.cost,
            overdrawn: false,
            shared: p.sharing.map(Shared::new),
        }
    }

    /// S_CC - S_CF: credits in use.
    #[inline]
    pub fn in_use(&self) -> u64 {
        self.consumed.wrapping_sub(self.freed)
    }

    /// True if this number of further credits may be used.
    #[inline]
    fn may_use(&self, cost: u64) -> bool {
        match &self.shared {
            None => self.in_use() + cost <= self.limit.into(),
            Some(shared) => shared.allows(self.limit.into(), self.in_use(), cost),
        }
    }

    /// Credits that would be in use with this R_CF. Only its lower 20 bits are known.
    fn with(&self, freed: u64) -> u64 {
        self.consumed.wrapping_sub(freed) & MASK
    }
}

impl Sender for CellSender {
    #[inline]
    fn gate(&self, _now: Time, len: Bytes) -> Gate {
        if self.may_use(self.cost.of(len)) { Gate::Open } else { Gate::Blocked }
    }

    #[inline]
    fn on_sent(&mut self, _now: Time, len: Bytes, _tx: Span) {
        self.consumed = self.consumed.wrapping_add(self.cost.of(len));
        self.overdrawn |= self.in_use() > self.limit.into();
    }

    fn on_message(&mut self, _now: Time, message: Message) {
        if let Message::Cells(Update::Freed(freed)) = message {
            // An impossible update grants nothing.
            let in_use =
                if self.is_possible(message) { self.with(freed) } else { self.limit.into() };
            self.freed = self.consumed.wrapping_sub(in_use);
        }
    }

    /// R_CF is neither beyond S_CC nor more than the limit behind it.
    fn is_possible(&self, message: Message) -> bool {
        let Message::Cells(Update::Freed(freed)) = message else { return true };
        self.with(freed) <= self.limit.into()
    }

    fn overdrawn(&self) -> bool {
        self.overdrawn
    }

    fn restart(&mut self, _now: Time) {
        self.freed = self.consumed.wrapping_sub(self.limit.into());
    }

    #[inline]
    fn rate(&self, _now: Time) -> Rate {
        if self.may_use(1) { self.line } else { Rate::ZERO }
    }

    #[inline]
    fn stopped_by(&self) -> StoppedBy {
        StoppedBy::Credits
    }

    fn sent_total(&self) -> Option<u64> {
        Some(self.consumed)
    }

    fn shared_use(&self) -> Option<u64> {
        Some(self.shared.as_ref()?.used(self.in_use()))
    }

    fn on_shared_use(&mut self, others: u64, classes: u64) {
        if let Some(shared) = &mut self.shared {
            shared.note(others, classes);
        }
    }
}

#[cfg(test)]
#[path = "uec_cbfc/tests.rs"]
mod tests;
