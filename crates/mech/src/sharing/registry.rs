//! The registry: one line per policy, and nothing else lists them.

use xoff_units::params::{ParamError, Values};
use xoff_units::state::State;
use xoff_units::{Bytes, Rate, Time};

use super::{ALPHA, Sharing, Supply, abm::Abm, dynamic::Dynamic, fixed::Fixed, reverie::Reverie};
use super::{abm, dynamic, fixed, reverie};

/// A policy.
pub type Entry = crate::choice::Choice<AnySharing>;

/// All policies.
pub const REGISTRY: &[Entry] = &[
    Entry {
        name: "dynamic",
        about: "dynamic threshold: alpha times the free pool (SONiC dynamic_th)",
        params: &[dynamic::PARAMS],
        read: |v| Dynamic::read(v).map(AnySharing::Dynamic),
    },
    Entry {
        name: "static",
        about: "a fixed number of bytes (SONiC static_th)",
        params: &[fixed::PARAMS],
        read: |v| Fixed::read(v).map(AnySharing::Fixed),
    },
    Entry {
        name: "abm",
        about: "active buffer management, SIGCOMM 2022: a dynamic threshold by congested ports and drain",
        params: &[abm::PARAMS],
        read: |v| Abm::read(v).map(AnySharing::Abm),
    },
    Entry {
        name: "reverie",
        about: "Reverie, NSDI 2024: a dynamic threshold for a smoothed queue",
        params: &[ALPHA, reverie::PARAMS],
        read: |v| Reverie::read(v).map(AnySharing::Reverie),
    },
];

/// The law of a member, of any policy.
#[derive(Clone, Debug, PartialEq, Eq, State)]
pub enum AnySharing {
    /// See [`dynamic`].
    Dynamic(Dynamic),
    /// See [`fixed`].
    Fixed(Fixed),
    /// See [`abm`].
    Abm(Abm),
    /// See [`reverie`].
    Reverie(Reverie),
}

impl AnySharing {
    /// No limit but the pool.
    pub const UNLIMITED: AnySharing = AnySharing::Fixed(Fixed { limit: Bytes::ZERO });

    /// Reads the policy of this name.
    ///
    /// # Errors
    /// A key that is out of range.
    pub fn read(name: &str, v: &mut dyn Values) -> Result<AnySharing, ParamError> {
        let entry = REGISTRY.iter().find(|e| e.name == name).expect("a kind of the registry");
        (entry.read)(v)
    }

    /// At a port of this rate.
    pub fn at(&self, line: Rate) -> AnySharing {
        match self {
            AnySharing::Abm(a) => AnySharing::Abm(a.at(line)),
            other => other.clone(),
        }
    }
}

impl Sharing for AnySharing {
    fn limit(&self, supply: &Supply) -> Bytes {
        match self {
            AnySharing::Dynamic(d) => d.limit(supply),
            AnySharing::Fixed(f) => f.limit(supply),
            AnySharing::Abm(a) => a.limit(supply),
            AnySharing::Reverie(r) => r.limit(supply),
        }
    }
    fn measured(&self, shared: Bytes) -> Bytes {
        match self {
            AnySharing::Dynamic(d) => d.measured(shared),
            AnySharing::Fixed(f) => f.measured(shared),
            AnySharing::Abm(a) => a.measured(shared),
            AnySharing::Reverie(r) => r.measured(shared),
        }
    }
    fn crowding(&self, held: Bytes) -> Bytes {
        match self {
            AnySharing::Dynamic(d) => d.crowding(held),
            AnySharing::Fixed(f) => f.crowding(held),
            AnySharing::Abm(a) => a.crowding(held),
            AnySharing::Reverie(r) => r.crowding(held),
        }
    }
    fn on_departure(&mut self, now: Time, left: Bytes, len: Bytes) {
        match self {
            AnySharing::Dynamic(d) => d.on_departure(now, left, len),
            AnySharing::Fixed(f) => f.on_departure(now, left, len),
            AnySharing::Abm(a) => a.on_departure(now, left, len),
            AnySharing::Reverie(r) => r.on_departure(now, left, len),
        }
    }
}
