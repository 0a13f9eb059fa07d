//! Forward explicit congestion notification: the switch of InfiniBand congestion control (IBA
//! volume 1, annex A10).
//!
//! ```text
//!   queue over threshold?  -no->  nothing
//!        | yes
//!   did this frame wait for credits?  -no->  root of congestion  ---> marked: every (marking_rate + 1)-th
//!        | yes                                                          |     frame of packet_size or more
//!      victim  --- port in victim_mask? --- yes ------------------------+
//!                                       \-- no ->  nothing
//! ```
//!
//! "Delayed for lack of credit" is taken of each frame: it came to the head of the queue, and the
//! credits for it were not there. TCD (SIGCOMM'21) section 2.1 words the rule as packets that are
//! delayed, and section 3.1.2 finds ports that are merely stopped marking as well: credits come in
//! portions, and what reaches the head while a portion lasts has not waited for any. A reading by
//! port ("it lacked credits lately") would not show that; this one does.

use xoff_units::params::{Kind, ParamError, ParamSpec, Values};
use xoff_units::state::State;
use xoff_units::{Bytes, Time};

use super::law::{DetectorLaw, Law, reachable};
use super::{Detector, Mark, Place};

/// Parameters in a file.
pub const PARAMS: &[ParamSpec] = &[
    ParamSpec::optional(
        "threshold",
        Kind::Bytes,
        "queue above which a port is a root or a victim; default: 50 KB, or the value of the weight",
        "TCD section 3.1.2 (buffer of 280 KB)",
    ),
    ParamSpec::optional(
        "weight",
        Kind::Count,
        "replaces the threshold: 0 marks no frame, 1 is mildest, 15 most aggressive; (16 - weight)/16 of the ingress buffer",
        "IBA A10: Threshold, 4 bits; mapping to bytes chosen by xoff",
    ),
    ParamSpec::new(
        "victim_mask",
        Kind::Choice(&["none", "hosts", "all"]),
        "hosts",
        "ports that mark frames even if they are victims: none, ports to hosts, all",
        "IBA A10: Victim_Mask; Gran et al., IPDPS 2010",
    ),
    ParamSpec::new(
        "marking_rate",
        Kind::Count,
        "0",
        "eligible frames between two marked ones",
        "IBA A10: Marking_Rate; Gran et al., IPDPS 2010",
    ),
    ParamSpec::new(
        "packet_size",
        Kind::Count,
        "8",
        "smallest marked frame, in units of 64 bytes",
        "IBA A10: Packet_Size; Gran et al., IPDPS 2010",
    ),
];

/// The queue above which a port counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threshold {
    /// Fixed number of bytes.
    Bytes(Bytes),
    /// The weight of IBA, 0 to 15.
    Weight(u8),
}

impl Threshold {
    /// In bytes, for this ingress buffer; `None`: off. IBA leaves the map to the vendor. Here
    /// weight w is (16 - w)/16 of the buffer, cut off: 15 begins at a sixteenth of it, 1 a
    /// sixteenth below full.
    pub fn bytes(self, buffer: Bytes) -> Option<Bytes> {
        match self {
            Threshold::Bytes(b) => Some(b),
            Threshold::Weight(0) => None,
            Threshold::Weight(w) => {
                Some(Bytes(buffer.0 / 16 * (16 - w as u64) + buffer.0 % 16 * (16 - w as u64) / 16))
            }
        }
    }
}

/// Ports that mark even as victims.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VictimMask {
    /// No port.
    None,
    /// Ports that face a host: there is nothing behind them that could be the root.
    Hosts,
    /// Every port.
    All,
}

/// Values of [`PARAMS`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Params {
    /// Queue above which a port is a root or a victim.
    pub threshold: Threshold,
    /// Ports that mark even as victims.
    pub victim_mask: VictimMask,
    /// Eligible frames between two marked ones; 0: all are marked.
    pub marking_rate: u32,
    /// Smaller frames are not marked, and not counted as eligible [64 bytes].
    pub packet_size: u32,
}

/// TCD section 3.1.2.
const THRESHOLD: Bytes = Bytes::from_kb(50);
/// Unit of `packet_size`.
const UNIT: u64 = 64;

impl Params {
    /// Reads [`PARAMS`].
    pub fn read(v: &mut dyn Values) -> Result<Params, ParamError> {
        let threshold = match (v.bytes_opt("threshold")?, v.count_opt("weight")?) {
            (Some(_), Some(_)) => {
                return Err(ParamError::new(
                    "weight",
                    "the threshold is already given in bytes",
                    "give threshold or weight, not both",
                ));
            }
            (Some(bytes), None) => Threshold::Bytes(bytes),
            (None, Some(w @ 0..=15)) => Threshold::Weight(w as u8),
            (None, Some(w)) => {
                return Err(ParamError::new(
                    "weight",
                    format!("{w} does not fit 4 bits"),
                    "expected 0 to 15",
                ));
            }
            (None, None) => Threshold::Bytes(THRESHOLD),
        };
        let victim_mask = match v.text("victim_mask")?.as_str() {
            "none" => VictimMask::None,
            "all" => VictimMask::All,
            _ => VictimMask::Hosts,
        };
        let mut narrow = |key: &str, most: u32| match v.count(key)? {
            n if n <= u64::from(most) => Ok(n as u32),
            n => Err(ParamError::new(
                key,
                format!("{n} is out of range"),
                format!("expected 0 to {most}"),
            )),
        };
        Ok(Params {
            threshold,
            victim_mask,
            marking_rate: narrow("marking_rate", u16::MAX.into())?,
            packet_size: narrow("packet_size", u16::MAX.into())?,
        })
    }
}

impl Law for Params {
    fn validate(&self, place: &Place, memory: Bytes) -> Result<(), ParamError> {
        if let Threshold::Bytes(b) = self.threshold {
            reachable("threshold", b, memory)?;
        }
        let least = UNIT * u64::from(self.packet_size);
        if least > place.link.mtu.0 {
            return Err(ParamError::new(
                "packet_size",
                format!(
                    "{} x 64 B = {least} B is more than the largest frame of {}",
                    self.packet_size, place.link.mtu
                ),
                "choose a smaller size, or no frame is ever marked",
            ));
        }
        Ok(())
    }
    fn resolved(&self, _place: &Place) -> Vec<(&'static str, String)> {
        match self.threshold {
            Threshold::Bytes(b) => vec![("threshold", b.compact())],
            Threshold::Weight(w) => {
                vec![("threshold", format!("threshold for weight {w} of the ingress buffer"))]
            }
        }
    }
}

impl DetectorLaw for Params {
    type Detector = Fecn;

    fn detector(&self, place: &Place) -> Fecn {
        Fecn::new(self, place)
    }
}

/// The registers of one queue, with their parameters.
#[derive(Clone, Debug, PartialEq, Eq, State)]
pub struct Fecn {
    /// [bytes]; the largest number: off.
    threshold: Bytes,
    marking_rate: u16,
    packet_size: u16,
    /// Eligible frames that go by before the next mark.
    skip: u16,
    marks_victims: bool,
    /// The queue lacks credits.
    off: bool,
    /// The frame at the head had to wait for credits.
    waited: bool,
}

impl Fecn {
    /// A queue that has never lacked credits; the first eligible frame is marked.
    pub fn new(p: &Params, place: &Place) -> Self {
        Fecn {
            threshold: p.threshold.bytes(place.link.buffer).unwrap_or(Bytes(u64::MAX)),
            marking_rate: p.marking_rate as u16,
            packet_size: p.packet_size as u16,
            skip: 0,
            marks_victims: match p.victim_mask {
                VictimMask::None => false,
                VictimMask::Hosts => place.to_host,
                VictimMask::All => true,
            },
            off: false,
            waited: false,
        }
    }
}

impl Detector for Fecn {
    fn on_dequeue(
        &mut self,
        _now: Time,
        queue: Bytes,
        len: Bytes,
        _draw: &mut dyn FnMut() -> f64,
    ) -> Mark {
        let victim = std::mem::take(&mut self.waited);
        let small = len.0 < UNIT * u64::from(self.packet_size);
        if queue <= self.threshold || (victim && !self.marks_victims) || small {
            return Mark::None;
        }
        if self.skip > 0 {
            self.skip -= 1;
            return Mark::None;
        }
        self.skip = self.marking_rate;
        Mark::Ce
    }

    fn on_off(&mut self, _now: Time) {
        self.off = true;
    }

    fn on_on(&mut self, _now: Time, queue: Bytes) {
        // No frame waits at an empty queue.
        if std::mem::take(&mut self.off) {
            self.waited = queue > Bytes::ZERO;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::LinkFacts;
    use crate::flow_control::{FlowControl, cbfc};
    use xoff_units::params::Defaults;
    use xoff_units::{Rate, Span};

    const MEMORY: Bytes = Bytes(1_000_000);

    /// TCD section 3.1.1: 40 Gb/s, 4 us, ingress buffer of 280 KB.
    fn link() -> LinkFacts {
        LinkFacts::plain(Rate::from_gbps(40), Span::from_us(4), Bytes(1_000), Bytes::from_kb(280))
    }

    fn credits() -> FlowControl {
        FlowControl::Cbfc(cbfc::Params {
            period: Span::from_us(52),
            buffer_blocks: 4_375,
            conformance: false,
        })
    }

    fn read(given: &[(&str, &str)]) -> Result<Params, ParamError> {
        Params::read(
            &mut given.iter().fold(Defaults::of(PARAMS), |v, (key, value)| v.with(key, value)),
        )
    }

    fn port(to_host: bool, given: &[(&str, &str)]) -> Fecn {
        Fecn::new(
            &read(given).unwrap(),
            &Place { link: &link(), flow_control: &credits(), to_host },
        )
    }

    /// A frame of 1000 B leaves with this much behind it.
    fn leaves(d: &mut Fecn, queue: u64) -> Mark {
        d.on_dequeue(Time::ZERO, Bytes(queue), Bytes(1_000), &mut || panic!("no draw"))
    }

    /// TCD section 2.1 (a): over the threshold with credits is the root, and marks. At the
    /// threshold it is not over it.
    #[test]
    fn a_root_marks_above_the_threshold() {
        let mut d = port(false, &[]);
        assert_eq!(
            [leaves(&mut d, 0), leaves(&mut d, 50_000), leaves(&mut d, 50_001)],
            [Mark::None, Mark::None, Mark::Ce]
        );
        assert_eq!(d.state(Time::ZERO), None);
    }

    /// TCD section 2.1 (b): the frame that waited for credits is a victim. Section 3.1.2: those
    /// behind it leave with the same portion of credits, have not waited at the head, and are
    /// marked, although the port is no root.
    #[test]
    fn only_the_frame_that_waited_is_a_victim() {
        let mut d = port(false, &[]);
        for _ in 0..3 {
            d.on_off(Time::ZERO);
            d.on_on(Time::ZERO, Bytes::from_kb(300));
            assert_eq!(
                [leaves(&mut d, 299_000), leaves(&mut d, 298_000), leaves(&mut d, 297_000)],
                [Mark::None, Mark::Ce, Mark::Ce]
            );
        }
        d.on_off(Time::ZERO);
        d.on_on(Time::ZERO, Bytes::ZERO);
        assert_eq!(leaves(&mut d, 60_000), Mark::Ce, "nothing waited while there were no credits");
    }

    /// IBA A10, Victim_Mask: a port in the mask marks its victims too; `hosts` are the ports that
    /// face a channel adapter.
    #[test]
    fn the_victim_mask_names_ports() {
        for (mask, to_switch, to_host) in [
            ("none", Mark::None, Mark::None),
            ("hosts", Mark::None, Mark::Ce),
            ("all", Mark::Ce, Mark::Ce),
        ] {
            for (faces_host, want) in [(false, to_switch), (true, to_host)] {
                let mut d = port(faces_host, &[("victim_mask", mask)]);
                d.on_off(Time::ZERO);
                d.on_on(Time::ZERO, Bytes::from_kb(100));
                assert_eq!(leaves(&mut d, 99_000), want, "{mask}, to a host: {faces_host}");
            }
        }
    }

    /// IBA A10, Marking_Rate: that many eligible frames between two marks, 0 marks all. Small
    /// frames, victims and frames at a short queue are not eligible and are not counted.
    #[test]
    fn the_marking_rate_counts_eligible_frames() {
        let mut d = port(false, &[("marking_rate", "3")]);
        let marks: String =
            (0..10).map(|_| if leaves(&mut d, 60_000) == Mark::Ce { 'x' } else { '.' }).collect();
        assert_eq!(marks, "x...x...x.");
        let mut d = port(false, &[("marking_rate", "1")]);
        assert_eq!(leaves(&mut d, 60_000), Mark::Ce);
        assert_eq!(leaves(&mut d, 40_000), Mark::None, "a short queue");
        assert_eq!(
            d.on_dequeue(Time::ZERO, Bytes(60_000), Bytes(64), &mut || 0.0),
            Mark::None,
            "small"
        );
        d.on_off(Time::ZERO);
        d.on_on(Time::ZERO, Bytes(61_000));
        assert_eq!(leaves(&mut d, 60_000), Mark::None, "a victim");
        assert_eq!([leaves(&mut d, 60_000), leaves(&mut d, 60_000)], [Mark::None, Mark::Ce]);
    }

    /// IBA A10, Packet_Size: 8 x 64 = 512 bytes.
    #[test]
    fn small_frames_are_not_marked() {
        let mut d = port(false, &[]);
        let mut of = |len| d.on_dequeue(Time::ZERO, Bytes(60_000), Bytes(len), &mut || 0.0);
        assert_eq!([of(511), of(512)], [Mark::None, Mark::Ce]);
        let mut all = port(false, &[("packet_size", "0")]);
        assert_eq!(all.on_dequeue(Time::ZERO, Bytes(60_000), Bytes(1), &mut || 0.0), Mark::Ce);
    }

    /// IBA A10, Threshold: 0 is off, 1 the mildest, 15 the most aggressive.
    #[test]
    fn a_weight_is_a_part_of_the_buffer() {
        let bytes = |w| Threshold::Weight(w).bytes(Bytes::from_kb(280));
        assert_eq!(
            [bytes(0), bytes(1), bytes(13), bytes(15)],
            [None, Some(Bytes(262_500)), Some(Bytes(52_500)), Some(Bytes(17_500))]
        );
        assert!((1..15).all(|w| bytes(w) > bytes(w + 1)));
        assert_eq!(Threshold::Weight(15).bytes(Bytes(u64::MAX)), Some(Bytes(u64::MAX / 16)));
        assert_eq!(Threshold::Weight(9).bytes(Bytes(100)), Some(Bytes(43)), "43.75 cut off");
        let mut d = port(false, &[("weight", "15")]);
        assert_eq!([leaves(&mut d, 17_500), leaves(&mut d, 17_501)], [Mark::None, Mark::Ce]);
        assert_eq!(leaves(&mut port(false, &[("weight", "0")]), 1_000_000_000), Mark::None);
    }

    /// Reported twice, too early, or never: each frame is judged by the reports before it left.
    #[test]
    fn repeated_and_early_calls_are_tolerated() {
        let mut d = port(false, &[]);
        d.on_on(Time::ZERO, Bytes(60_000));
        assert_eq!(leaves(&mut d, 60_000), Mark::Ce, "credits never lacked");
        (0..3).for_each(|_| d.on_off(Time::ZERO));
        (0..2).for_each(|_| d.on_on(Time::ZERO, Bytes(61_000)));
        assert_eq!([leaves(&mut d, 60_000), leaves(&mut d, 60_000)], [Mark::None, Mark::Ce]);
        d.on_off(Time::ZERO);
        assert_eq!(leaves(&mut d, 60_000), Mark::Ce, "it did not wait");
        d.on_on(Time::ZERO, Bytes(60_000));
        assert_eq!(leaves(&mut d, 60_000), Mark::None);
    }

    #[test]
    fn impossible_parameters_are_refused() {
        let refused = |given: &[(&str, &str)]| {
            let place = Place { link: &link(), flow_control: &credits(), to_host: false };
            let e = read(given).and_then(|p| p.validate(&place, MEMORY)).unwrap_err();
            assert!(!e.hint.is_empty(), "{e}");
            e.key
        };
        assert_eq!(refused(&[("weight", "16")]), "weight");
        assert_eq!(refused(&[("weight", "3"), ("threshold", "50KB")]), "weight");
        assert_eq!(refused(&[("threshold", "1001KB")]), "threshold");
        assert_eq!(refused(&[("packet_size", "16")]), "packet_size");
        assert_eq!(refused(&[("packet_size", "65536")]), "packet_size");
        assert_eq!(refused(&[("marking_rate", "65536")]), "marking_rate");
    }
}
