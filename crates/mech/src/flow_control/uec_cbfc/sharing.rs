//! Credits that the virtual channels of a port share at its sender, as SAI has them (CBFC credit
//! pool and profile).
//!
//! ```text
//!   limit of the port |-- reserved, channel 0 --|-- reserved, channel 1 --| ... |------- shared --------|
//!   a channel uses its reserve first, then of the shared part up to   n credits, or 2^n x the free shared credits
//! ```

use xoff_units::params::{Kind, ParamError, ParamSpec, Values};
use xoff_units::state::State;

use super::PARAMS;

/// The keys, behind those of the rest.
pub(super) const OWN: [ParamSpec; 4] = [
    ParamSpec::new(
        "sharing",
        Kind::Choice(&["none", "static", "dynamic"]),
        "none",
        "none: each priority has its own buffer and limit; static, dynamic: the port has both, each priority has `reserved` credits and may use the rest up to a fixed number, or a share of the free credits",
        "SAI CBFC: credit pool; threshold mode of a credit profile",
    ),
    ParamSpec::optional(
        "reserved",
        Kind::Count,
        "credits of each priority that no other priority may use; default: the credits of the longest frame",
        "SAI CBFC: RESERVED_CREDIT_SIZE",
    ),
    ParamSpec::new(
        "shared_limit",
        Kind::Count,
        "0",
        "static: credits of the shared part that a priority may use; 0: all",
        "SAI CBFC: SHARED_STATIC_TH",
    ),
    ParamSpec::new(
        "shared_th",
        Kind::Integer,
        "0",
        "dynamic: a priority may use 2^this times the free shared credits, -8 to 7",
        "SAI CBFC: SHARED_DYNAMIC_TH",
    ),
];

/// Limit of a channel in the shared part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Threshold {
    /// Fixed number of credits.
    Static(u64),
    /// 2^n times the free credits.
    Dynamic(i8),
}

/// The rule of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sharing {
    reserved: u64,
    threshold: Threshold,
}

impl Sharing {
    /// Reads its keys; `frame`: credits of the longest frame.
    pub(super) fn read(v: &mut dyn Values, frame: u64) -> Result<Option<Sharing>, ParamError> {
        debug_assert!(PARAMS.iter().any(|p| p.key == OWN[0].key));
        let (mode, reserved) = (v.text("sharing")?, v.count_opt("reserved")?);
        let (most, th) = (v.count("shared_limit")?, v.integer("shared_th")?);
        if !(-8..=7).contains(&th) {
            return Err(ParamError::new(
                "shared_th",
                format!("a factor of 2^{th}"),
                "expected -8 to 7: 1/256 to 128 times the free credits",
            ));
        }
        let unread: &[&str] = match mode.as_str() {
            "static" => &["shared_th"],
            "dynamic" => &["shared_limit"],
            _ => &["reserved", "shared_limit", "shared_th"],
        };
        let why = format!("sharing = \"{mode}\" does not use the key");
        unread.iter().for_each(|key| {
            v.without_effect(key, &why, "remove the key, or choose the sharing in its description")
        });
        let threshold = match mode.as_str() {
            "static" => Threshold::Static(if most == 0 { u64::MAX } else { most }),
            "dynamic" => Threshold::Dynamic(th as i8),
            _ => return Ok(None),
        };
        Ok(Some(Sharing { reserved: reserved.unwrap_or(frame), threshold }))
    }

    /// A fixed number that no channel reaches, as the shared part of this limit has fewer.
    pub(super) fn out_of_reach(&self, limit: u64) -> Option<String> {
        let shared = limit.saturating_sub(self.reserved);
        match self.threshold {
            Threshold::Static(most) if most != u64::MAX && most > shared => {
                Some(format!("shared_limit {most} > {shared}, the credits of the shared part"))
            }
            _ => None,
        }
    }

    /// Credits that one channel may use at most, if no other one uses any.
    pub(super) fn most(&self, limit: u64) -> u64 {
        let shared = limit.saturating_sub(self.reserved);
        let may = match self.threshold {
            Threshold::Static(most) => most.min(shared),
            // alpha S / (1 + alpha)
            Threshold::Dynamic(n) if n >= 0 => (shared << n) / (1 + (1 << n)),
            Threshold::Dynamic(n) => shared / (1 + (1 << -n)),
        };
        self.reserved.saturating_add(may)
    }

    /// Rejects parameters that leave some channel without a frame, or no room for the reserves of
    /// all.
    pub(super) fn fits(&self, limit: u64, frame: u64, channels: u64) -> Result<(), ParamError> {
        let reserves = self.reserved.saturating_mul(channels);
        if reserves > limit {
            let what = format!(
                "{channels} priorities x {} reserved credits = {reserves} > {limit}, the limit of the port",
                self.reserved
            );
            return Err(ParamError::new(
                "reserved",
                what,
                "use fewer reserved credits, or a larger buffer or limit",
            ));
        }
        let most = self.most(limit - (reserves - self.reserved));
        if most < frame {
            let what =
                format!("a priority may use at most {most} credits, but a frame takes {frame}");
            return Err(ParamError::new(
                "sharing",
                what,
                "use more reserved credits, or a higher threshold",
            ));
        }
        Ok(())
    }

    /// True if a frame may leave whatever the other channels use.
    pub(super) fn bears(&self, frame: u64) -> bool {
        self.reserved >= frame
    }

    /// Credits that are reserved for each.
    pub(super) fn reserved(&self) -> u64 {
        self.reserved
    }
}

/// State of the port, as a channel knows it.
#[derive(Clone, Debug, PartialEq, Eq, State)]
pub(super) struct Shared {
    #[state(built)] // constant
    rule: Sharing,
    /// Shared credits that the other channels use.
    others: u64,
    /// Channels that share, itself included.
    channels: u64,
}

impl Shared {
    pub fn new(rule: Sharing) -> Shared {
        Shared { rule, others: 0, channels: 1 }
    }

    /// Shared credits of a channel with `in_use` credits in use.
    pub fn used(&self, in_use: u64) -> u64 {
        in_use.saturating_sub(self.rule.reserved)
    }

    /// Notes the bytes that others use.
    pub fn note(&mut self, others: u64, channels: u64) {
        (self.others, self.channels) = (others, channels);
    }

    /// True if a channel with `in_use` credits may take `cost` more, of `limit` of the port.
    pub fn allows(&self, limit: u64, in_use: u64, cost: u64) -> bool {
        let (before, after) = (self.used(in_use), self.used(in_use.saturating_add(cost)));
        if after == 0 {
            return true;
        }
        let shared = limit.saturating_sub(self.rule.reserved.saturating_mul(self.channels));
        let free = shared.saturating_sub(self.others.saturating_add(before));
        let may = match self.rule.threshold {
            Threshold::Static(most) => most,
            Threshold::Dynamic(n) if n >= 0 => free << n,
            Threshold::Dynamic(n) => free >> -n,
        };
        after - before <= free && after <= may
    }
}
