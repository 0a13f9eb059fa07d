//! Credit-based flow control (InfiniBand Architecture, volume 1, section 7.9).
//!
//!   receiver: ABR += blocks received; every period: FCCL = ABR + free blocks  --->  sender
//!   sender:   FCTBS += blocks sent;   may send p blocks while FCTBS + p <= FCCL
//!
//! A block is 64 bytes, a frame counts in whole blocks. The wire format has 12-bit counters, so a
//! link can never have more than 2048 blocks = 131,072 bytes outstanding; the papers' buffers of
//! 280 KB to 1 MB do not fit. The default therefore counts in 64 bits, and `counters = "12-bit"` is
//! the conformance mode that refuses a buffer it cannot hold.
//!
//! Links of a simulation lose nothing, so ABR is always right. On a real link the peer's FCTBS
//! replaces ABR whenever it comes ([`Receiver::on_peer_total`]): a lost frame, or a neighbour that
//! restarted, costs two periods of credits at most. Until then the sender is on the safe side: an
//! FCCL that is below FCTBS, or that grants more than the whole buffer, is no credit at all.

use xoff_units::params::{Kind, ParamError, ParamSpec, Values};
use xoff_units::state::State;
use xoff_units::{Bytes, Rate, Span, Time};

use super::law::{Law, Signal, Totals};
use super::on_off::Stop;
use super::repeat::{bears_period, fills_wire};
use super::{Gate, MESSAGE_LEN, Message, Occupancy, Receiver, Sender, StoppedBy};
use crate::{ControlLoop, LinkFacts, Unmet};

/// Parameters in a file.
pub const PARAMS: &[ParamSpec] = &[
    ParamSpec::optional(
        "period",
        Kind::Span,
        "time between credit messages; default: the time to send 65,535 bytes",
        "GFC section 5.4; IBA requires at least one per 65,536 symbol times",
    ),
    ParamSpec::new(
        "counters",
        Kind::Choice(&["64-bit", "12-bit"]),
        "64-bit",
        "width of FCTBS, ABR and FCCL; 12-bit conforms and limits the buffer to 131072 B",
        "IBA 7.9.4",
    ),
];

/// Size of a credit block.
pub const BLOCK: u64 = 64;
/// Largest number of blocks a 12-bit link can have outstanding.
pub const BLOCKS_MAX_12_BIT: u64 = 2048;

/// Whole blocks that `len` occupies.
pub fn blocks(len: Bytes) -> u64 {
    len.0.div_ceil(BLOCK)
}

/// Values of [`PARAMS`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Params {
    /// Time between credit messages [ps].
    pub period: Span,
    /// Buffer behind the link [blocks].
    pub buffer_blocks: u64,
    /// Counters wrap at 4096 and FCCL announces at most 2048 blocks.
    pub conformance: bool,
}

impl Params {
    /// Reads [`PARAMS`].
    pub fn read(v: &mut dyn Values, link: &LinkFacts) -> Result<Params, ParamError> {
        let p = Params {
            period: read_period(v, link)?,
            buffer_blocks: link.buffer.0 / BLOCK,
            conformance: v.text("counters")? == "12-bit",
        };
        p.validate(link)?;
        Ok(p)
    }

    /// Refuses a buffer that holds no frame or that the counters cannot hold.
    pub fn validate(&self, link: &LinkFacts) -> Result<(), ParamError> {
        if self.conformance && self.buffer_blocks > BLOCKS_MAX_12_BIT {
            return Err(ParamError::new(
                "counters",
                format!(
                    "12-bit counters cannot count a buffer of {} ({} blocks)",
                    link.buffer, self.buffer_blocks
                ),
                "FCCL announces at most 2048 blocks = 131072 B (IBA 7.9.4); use a smaller buffer or 64-bit",
            ));
        }
        if self.buffer_blocks < blocks(link.mtu) {
            return Err(ParamError::new(
                "buffer",
                format!(
                    "a buffer of {} holds {} blocks of {BLOCK} B, a frame of {} takes {}",
                    link.buffer,
                    self.buffer_blocks,
                    link.mtu,
                    blocks(link.mtu)
                ),
                "use a larger buffer: a virtual lane without credits for a frame never sends it",
            ));
        }
        Ok(())
    }
}

impl Law for Params {
    type Receiver = CreditReceiver;
    type Sender = CbfcSender;

    fn halves(&self, link: &LinkFacts) -> (CreditReceiver, CbfcSender) {
        (CreditReceiver::new(self), CbfcSender::new(self, link.rate))
    }
    fn resolved(&self) -> Vec<(&'static str, String)> {
        vec![("period", self.period.compact())]
    }
    fn holds_a_frame(&self, link: &LinkFacts) -> Result<(), ParamError> {
        self.validate(link)
    }
    /// Credits count whole blocks: frames that leave much of their last one empty get less than the
    /// buffer promises. Only where the rate of the link suffers, and the plain condition on the
    /// buffer does not cover it already.
    fn unmet(&self, link: &LinkFacts) -> Vec<Unmet> {
        let mut all = Vec::from_iter(fills_wire(("period", self.period), MESSAGE_LEN, link));
        let per_frame = blocks(link.mtu).max(1);
        let frames = self.buffer_blocks / per_frame;
        let (carried, need) =
            (link.mtu * frames, link.rate.bytes_in(self.period + self.control_loop(link).tau));
        if carried >= need || Bytes(self.buffer_blocks * BLOCK) < need {
            return all;
        }
        all.push(Unmet::new(
            format!(
                "credits carry C (T + tau) on {} links: {} blocks are {frames} frames of {}, {carried}, and {need} are needed",
                link.rate, self.buffer_blocks, link.mtu
            ),
            format!("use a larger buffer, or frames that fill {per_frame} whole blocks of {BLOCK} B"),
        ));
        all
    }
    fn messages_fit(&self, link: &LinkFacts, priorities: u64) -> Result<(), ParamError> {
        bears_period(("period", self.period), (priorities, MESSAGE_LEN), link)
    }
    /// The period of the messages: T_c of TCD section 4.4.
    fn stop(&self) -> Option<Stop> {
        Some(Stop::Credits(self.period))
    }
}

/// The credit period, given or T = 65,535 B / C.
pub(super) fn read_period(v: &mut dyn Values, link: &LinkFacts) -> Result<Span, ParamError> {
    let period = v.span_opt("period")?.unwrap_or(link.rate.time_for(Bytes(65_535)));
    if period.0 == 0 {
        return Err(ParamError::new("period", "a period of 0", "expected a time above zero"));
    }
    Ok(period)
}

/// Smallest buffer that sustains the full rate with frames of one MTU, in whole blocks [bytes]. A
/// message made at t counts what has come in by then; its credits must last from the frame that is
/// still coming in until the next message takes effect. That is T + tau of frames, since tau has
/// the time of one frame, each in whole blocks.
pub fn buffer_for_full_rate(l: &ControlLoop, period: Span) -> Bytes {
    let frame = l.rate.time_for(l.mtu).0.max(1);
    let frames = period.0.saturating_add(l.tau.0).div_ceil(frame);
    Bytes(frames.saturating_mul(blocks(l.mtu) * BLOCK))
}

/// FCCL, in blocks since link initialisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, State)]
pub struct CreditLimit {
    /// Flow control credit limit [blocks].
    #[state(counter)]
    pub fccl: u64,
    /// Bytes held when the message was made [bytes]. Not on the wire of a real link; one reading of
    /// time-based GFC needs it.
    pub occupied: Bytes,
}

impl Signal for CreditLimit {
    fn to_words(self) -> (u64, u64) {
        (self.fccl, self.occupied.0)
    }
    fn from_words(a: u64, b: u64) -> CreditLimit {
        CreditLimit { fccl: a, occupied: Bytes(b) }
    }
    fn describe(self) -> (&'static str, u64) {
        ("credit", self.fccl)
    }
    /// FCTBS. Where nothing is lost it equals ABR.
    fn totals(self) -> Totals {
        Totals::OnLossyLinks
    }
}

/// The receiver half; time-based GFC uses it unchanged (GFC section 5.2).
#[derive(Clone, Debug, PartialEq, Eq, State)]
pub struct CreditReceiver {
    period: Span,
    buffer_blocks: u64,
    /// Modulus mask of the counters.
    mask: u64,
    conformance: bool,
    /// Adjusted blocks received.
    #[state(counter)]
    abr: u64,
    /// Blocks now in the buffer.
    held: u64,
    next: Time,
}

impl CreditReceiver {
    /// A receiver whose first message leaves one period after the start; credits for the whole
    /// buffer were exchanged when the link was initialised.
    pub fn new(p: &Params) -> Self {
        CreditReceiver {
            period: p.period,
            buffer_blocks: p.buffer_blocks,
            mask: if p.conformance { 0xfff } else { u64::MAX },
            conformance: p.conformance,
            abr: 0,
            held: 0,
            next: Time::ZERO + p.period,
        }
    }

    fn free(&self) -> u64 {
        let free = self.buffer_blocks.saturating_sub(self.held);
        if self.conformance { free.min(BLOCKS_MAX_12_BIT) } else { free }
    }
}

impl Receiver for CreditReceiver {
    #[inline]
    fn on_arrival(&mut self, _now: Time, _occupancy: &Occupancy, len: Bytes) -> Option<Message> {
        self.abr = self.abr.wrapping_add(blocks(len)) & self.mask;
        self.held += blocks(len);
        None
    }

    #[inline]
    fn on_departure(&mut self, _now: Time, _occupancy: &Occupancy, len: Bytes) -> Option<Message> {
        self.held -= blocks(len);
        None
    }

    fn on_wake(&mut self, now: Time, occupancy: &Occupancy) -> Option<Message> {
        if now < self.next {
            return None;
        }
        // A late wake-up sends one message, not the missed ones: only the latest counts.
        self.next += self.period * (now.since(self.next).0 / self.period.0 + 1);
        Some(Message::Credit(CreditLimit {
            fccl: self.abr.wrapping_add(self.free()) & self.mask,
            occupied: occupancy.bytes,
        }))
    }

    #[inline]
    fn next_wake(&self) -> Option<Time> {
        Some(self.next)
    }

    fn holds(&self, occupancy: &Occupancy, stuck: Bytes, len: Bytes) -> bool {
        if occupancy.bytes.0 == 0 {
            return false;
        }
        // Blocks of the stuck part, in proportion: frames of one buffer are mostly of one size.
        let stuck_blocks = (self.held * stuck.0).div_ceil(occupancy.bytes.0);
        self.buffer_blocks.saturating_sub(stuck_blocks) < blocks(len)
    }

    fn on_dropped(&mut self, _now: Time, len: Bytes) -> Option<Message> {
        self.abr = self.abr.wrapping_add(blocks(len)) & self.mask;
        None
    }

    fn on_peer_total(&mut self, sent: u64) {
        self.abr = sent & self.mask;
    }

    /// No credit beyond the received bytes: a full buffer.
    fn hold(&self) -> Option<Message> {
        Some(Message::Credit(CreditLimit {
            fccl: self.abr,
            occupied: Bytes(self.buffer_blocks * BLOCK),
        }))
    }
}

/// The sender half.
#[derive(Clone, Debug, PartialEq, Eq, State)]
pub struct CbfcSender {
    line: Rate,
    /// Total blocks sent.
    #[state(counter)]
    fctbs: u64,
    /// Latest credit limit.
    #[state(counter)]
    fccl: u64,
    /// Buffer behind the link, in 32 bits to stay small; a larger one than they hold, 256 GiB, is
    /// not distinguished [blocks].
    buffer_blocks: u32,
    conformance: bool,
    /// FCTBS has been beyond FCCL under an earlier limit.
    overdrawn: bool,
}

impl CbfcSender {
    /// A sender with the credits of link initialisation.
    pub fn new(p: &Params, line: Rate) -> Self {
        let buffer_blocks = u32::try_from(p.buffer_blocks).unwrap_or(u32::MAX);
        CbfcSender {
            line,
            fctbs: 0,
            fccl: p.buffer_blocks,
            buffer_blocks,
            conformance: p.conformance,
            overdrawn: false,
        }
    }

    /// FCCL - FCTBS: blocks that may still be sent; zero where FCCL is below the blocks sent.
    #[inline]
    pub fn credits(&self) -> u64 {
        self.grant(self.fccl).unwrap_or(0)
    }

    /// Blocks that a limit grants beyond the sent ones; `None`: the limit is below the sent blocks.
    #[inline]
    fn grant(&self, fccl: u64) -> Option<u64> {
        if self.conformance {
            // IBA 7.9.4.2: send if (FCCL - (FCTBS + p)) mod 4096 <= 2048. More than that is a
            // negative difference.
            Some(fccl.wrapping_sub(self.fctbs) & 0xfff).filter(|&grant| grant <= BLOCKS_MAX_12_BIT)
        } else {
            fccl.checked_sub(self.fctbs)
        }
    }
}

impl Sender for CbfcSender {
    #[inline]
    fn gate(&self, _now: Time, len: Bytes) -> Gate {
        if blocks(len) <= self.credits() { Gate::Open } else { Gate::Blocked }
    }

    #[inline]
    fn on_sent(&mut self, _now: Time, len: Bytes, _tx: Span) {
        self.fctbs = self.fctbs.wrapping_add(blocks(len));
        if self.conformance {
            self.fctbs &= 0xfff;
        }
    }

    fn on_message(&mut self, _now: Time, message: Message) {
        if let Message::Credit(limit) = message {
            self.overdrawn = self.overdrawn();
            self.fccl = if self.is_possible(message) { limit.fccl } else { self.fctbs };
        }
    }

    /// FCCL = ABR + free blocks, and ABR is at most FCTBS: a receiver cannot grant more than its
    /// buffer, nor take a grant back.
    fn is_possible(&self, message: Message) -> bool {
        let Message::Credit(limit) = message else { return true };
        let most =
            if self.buffer_blocks == u32::MAX { u64::MAX } else { self.buffer_blocks.into() };
        self.grant(limit.fccl).is_some_and(|grant| grant <= most)
    }

    /// FCTBS only grows until the next limit: beyond FCCL once, it is still there when this is
    /// asked or the limit changes.
    fn overdrawn(&self) -> bool {
        self.overdrawn || self.grant(self.fccl).is_none()
    }

    fn restart(&mut self, _now: Time) {
        self.overdrawn = self.overdrawn();
        self.fccl = self.fctbs;
    }

    #[inline]
    fn rate(&self, _now: Time) -> Rate {
        if self.credits() > 0 { self.line } else { Rate::ZERO }
    }

    #[inline]
    fn stopped_by(&self) -> StoppedBy {
        StoppedBy::Credits
    }

    fn sent_total(&self) -> Option<u64> {
        Some(self.fctbs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const C: Rate = Rate::from_gbps(10);

    fn params(blocks: u64, conformance: bool) -> Params {
        Params { period: Span(52_428_000), buffer_blocks: blocks, conformance }
    }

    /// Used by the check of credits: a port that sends although its gate is closed is found out,
    /// also after new credits have come.
    #[test]
    fn sending_without_credit_is_remembered() {
        for conformance in [false, true] {
            let p = params(48, conformance);
            let mut s = CbfcSender::new(&p, C);
            (0..2).for_each(|_| s.on_sent(Time::ZERO, Bytes(1500), Span::ZERO));
            assert!(!s.overdrawn(), "all credits are spent, none too many");
            s.on_sent(Time::ZERO, Bytes(1), Span::ZERO);
            assert!(s.overdrawn());
            s.on_message(Time(1), Message::Credit(CreditLimit { fccl: 96, occupied: Bytes::ZERO }));
            assert!(s.overdrawn() && s.credits() == 47);
        }
    }

    #[test]
    fn frames_count_in_whole_blocks() {
        assert_eq!(
            [blocks(Bytes(1)), blocks(Bytes(64)), blocks(Bytes(65)), blocks(Bytes(1500))],
            [1, 1, 2, 24]
        );
    }

    /// The trace of figure 2(b) of the GFC paper: credits run out, a message brings them back.
    #[test]
    fn sending_stops_without_credit_and_goes_on_with_it() {
        let p = params(48, false); // two frames of 24 blocks
        let (mut r, mut s) = (CreditReceiver::new(&p), CbfcSender::new(&p, C));
        let (len, f) = (Bytes(1500), Occupancy::default());
        for _ in 0..2 {
            assert_eq!(s.gate(Time::ZERO, len), Gate::Open);
            s.on_sent(Time::ZERO, len, Span::ZERO);
            r.on_arrival(Time::ZERO, &f, len);
        }
        assert_eq!(s.gate(Time::ZERO, len), Gate::Blocked);
        let full = Occupancy { bytes: Bytes(3000), ..f };
        assert!(r.holds(&full, Bytes(3000), len) && !r.holds(&full, Bytes(1500), len));
        r.on_departure(Time::from_us(10), &f, len);
        assert_eq!(r.on_wake(Time::from_us(52), &f), None, "not before the period");
        let m = r.on_wake(Time(52_428_000), &f).unwrap();
        assert_eq!(m, Message::Credit(CreditLimit { fccl: 48 + 24, occupied: Bytes::ZERO }));
        s.on_message(Time(53_000_000), m);
        assert_eq!(s.gate(Time(53_000_000), len), Gate::Open);
        assert_eq!(s.credits(), 24);
    }

    #[test]
    fn twelve_bit_counters_wrap_and_agree_with_wide_ones() {
        let (narrow, wide) = (params(2048, true), params(2048, false));
        let (mut rn, mut sn) = (CreditReceiver::new(&narrow), CbfcSender::new(&narrow, C));
        let (mut rw, mut sw) = (CreditReceiver::new(&wide), CbfcSender::new(&wide, C));
        let (len, f) = (Bytes(4000), Occupancy::default());
        let mut now = Time::ZERO;
        for step in 0..20_000u64 {
            assert_eq!(sn.gate(now, len), sw.gate(now, len), "step {step}");
            if sn.gate(now, len) == Gate::Open {
                for (r, s) in [(&mut rn, &mut sn), (&mut rw, &mut sw)] {
                    s.on_sent(now, len, Span::ZERO);
                    r.on_arrival(now, &f, len);
                }
            }
            if step % 3 == 0 && rn.held >= blocks(len) {
                rn.on_departure(now, &f, len);
                rw.on_departure(now, &f, len);
            }
            now += Span::from_us(5);
            if let Some(m) = rn.on_wake(now, &f) {
                sn.on_message(now, m);
            }
            if let Some(m) = rw.on_wake(now, &f) {
                sw.on_message(now, m);
            }
        }
        assert!(sw.fctbs > 3 * 4096, "the counters wrapped");
    }

    /// Every FCCL against every count of blocks sent, in both widths: credits never exceed the
    /// buffer, and a limit below what was sent, one beyond the buffer or one around the wrap is no
    /// credit.
    #[test]
    fn no_limit_grants_more_than_the_buffer() {
        const BUFFER: u64 = 48;
        for conformance in [false, true] {
            for sent in [0, 1, 24, 47, 48, 2047, 2048, 4095, 100_000] {
                let sent: u64 = if conformance { sent & 0xfff } else { sent };
                for fccl in [
                    0,
                    1,
                    sent,
                    sent + 1,
                    sent + 24,
                    sent + 48,
                    sent + 49,
                    sent + 4096,
                    sent.wrapping_sub(1),
                    1 << 63,
                    u64::MAX - 1,
                    u64::MAX,
                ] {
                    let mut s = CbfcSender::new(&params(BUFFER, conformance), C);
                    s.fctbs = sent;
                    s.on_message(
                        Time::ZERO,
                        Message::Credit(CreditLimit { fccl, occupied: Bytes(u64::MAX) }),
                    );
                    let modulus = if conformance { 1 << 12 } else { 1 << 64 };
                    let ahead = (i128::from(fccl) - i128::from(sent)).rem_euclid(modulus);
                    let granted = if ahead <= i128::from(BUFFER) && (conformance || fccl >= sent) {
                        ahead as u64
                    } else {
                        0
                    };
                    assert_eq!(
                        s.credits(),
                        granted,
                        "FCCL {fccl}, FCTBS {sent}, 12-bit: {conformance}"
                    );
                    let gate = if granted >= 24 { Gate::Open } else { Gate::Blocked };
                    assert_eq!(
                        s.gate(Time::ZERO, Bytes(1500)),
                        gate,
                        "FCCL {fccl}, FCTBS {sent}, 12-bit: {conformance}"
                    );
                }
            }
        }
    }

    /// A frame that bypasses the gate (an acknowledgement that no pause stops) leaves no credits,
    /// not 2^64 of them. (Kills the mutant that subtracts with a wrap.)
    #[test]
    fn credits_end_at_zero() {
        for conformance in [false, true] {
            let mut s = CbfcSender::new(&params(48, conformance), C);
            (0..3).for_each(|_| s.on_sent(Time::ZERO, Bytes(1500), Span::ZERO));
            assert_eq!(
                (s.credits(), s.gate(Time::ZERO, Bytes(1)), s.rate(Time::ZERO)),
                (0, Gate::Blocked, Rate::ZERO)
            );
        }
    }

    /// IBA 7.9.4: FCTBS replaces ABR. A receiver that restarts, or that lost frames, and a sender
    /// that restarts are back in step after one message of each; until then the sender has no
    /// credits, however its counters stand.
    #[test]
    fn either_end_may_restart() {
        for conformance in [false, true] {
            let p = params(48, conformance);
            let (len, f, now) = (Bytes(1500), Occupancy::default(), Time(u64::MAX / 2));
            for (sent, received) in [(4000u64, 0u64), (0, 4000), (4000, 3976), (24, 0)] {
                let (mut r, mut s) = (CreditReceiver::new(&p), CbfcSender::new(&p, C));
                (s.fctbs, s.fccl, r.abr) = (sent, sent, received);
                let period = |r: &mut CreditReceiver| {
                    r.next = now;
                    r.on_wake(now, &f).unwrap()
                };
                s.on_message(now, period(&mut r));
                assert!(s.credits() <= 48, "{sent}, {received}");
                r.on_peer_total(s.fctbs);
                s.on_message(now, period(&mut r));
                assert_eq!(s.credits(), 48, "{sent}, {received}: the whole buffer is free");
                s.on_sent(now, len, Span::ZERO);
                r.on_arrival(now, &f, len);
                s.on_message(now, period(&mut r));
                assert_eq!(s.credits(), 24, "{sent}, {received}: in step");
                // After a link that was down, nothing until the peer sends.
                s.restart(now);
                assert_eq!(s.credits(), 0);
                s.on_message(now, period(&mut r));
                assert_eq!(s.credits(), 24);
            }
        }
    }

    /// A frame that is dropped as it arrives was sent and takes no room.
    #[test]
    fn a_dropped_frame_keeps_no_credits() {
        for conformance in [false, true] {
            let p = params(48, conformance);
            let (mut r, mut s) = (CreditReceiver::new(&p), CbfcSender::new(&p, C));
            for _ in 0..1_000 {
                s.on_sent(Time::ZERO, Bytes(1500), Span::ZERO);
                assert_eq!(s.credits(), 24);
                let due = r.next_wake().unwrap();
                assert_eq!(r.on_dropped(due, Bytes(1500)), None);
                s.on_message(due, r.on_wake(due, &Occupancy::default()).unwrap());
                assert_eq!(s.credits(), 48);
            }
        }
    }

    #[test]
    fn conformance_refuses_what_twelve_bits_cannot_hold() {
        let link = LinkFacts::plain(C, Span::from_us(1), Bytes(1500), Bytes::from_kb(300));
        assert_eq!(
            params(link.buffer.0 / BLOCK, true).validate(&link).unwrap_err().key,
            "counters"
        );
        assert!(params(link.buffer.0 / BLOCK, false).validate(&link).is_ok());
        let small = LinkFacts { buffer: Bytes(131_072), ..link };
        assert!(params(2048, true).validate(&small).is_ok());
    }
}
