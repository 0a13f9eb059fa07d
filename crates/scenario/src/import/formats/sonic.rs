//! SONiC: `config_db.json` of each switch, and the lookup table from which a switch makes the
//! profiles of its lossless groups.
//!
//! ```text
//!   PORT, DEVICE_NEIGHBOR, CABLE_LENGTH           nodes, links, rates, lengths
//!   PORT_QOS_MAP                                  priorities with PFC, by port
//!   BUFFER_POOL, BUFFER_PROFILE, BUFFER_PG        memory, headroom and thresholds, by port and priority group
//!   PFC_WD                                        the watchdog
//!   pg_profile_lookup.ini                         the profiles that buffermgrd makes at run time, by speed and cable
//! ```
//!
//! In SONiC `xoff` is headroom: room for bytes that arrive after the pause, not the occupancy that
//! sends it.

mod device;
mod fabric;
mod lookup;
mod maps;
mod members;
mod unread;
mod watchdog;

use std::sync::Arc;

use crate::{Problem, Problems, Source};

use crate::import::{Network, Options, json};
use device::Device;
use lookup::Lookup;

/// One line for help.
pub const DOC: &str = "SONiC: a config_db.json of each switch, and pg_profile_lookup.ini";

/// Reads it.
pub(super) fn read(sources: &[Arc<Source>], _: &Options) -> Result<Network, Problems> {
    let (mut problems, mut devices, mut lookups) = (Problems::default(), Vec::new(), Vec::new());
    for source in sources {
        if source.text().trim_start().starts_with(['{', '[']) || source.name().ends_with(".json") {
            match json::parse(source).and_then(|d| Device::read(&d)) {
                Ok(device) => devices.push(device),
                Err(p) => problems.push(p),
            }
        } else {
            match Lookup::read(source) {
                Ok(lookup) => lookups.push(lookup),
                Err(p) => problems.extend(p),
            }
        }
    }
    if let [_, second, ..] = lookups.as_slice() {
        problems.push(
            Problem::new("a second lookup table", "expected one pg_profile_lookup.ini")
                .at(second.source.place(0..0)),
        );
    }
    problems.or(())?;
    if let (true, [lookup]) = (devices.is_empty(), lookups.as_slice()) {
        let what = format!(
            "the files have a lookup table of {} rows, but no config_db.json",
            lookup.rows.len()
        );
        return Err(Problem::new(what, "also give the config_db.json of each switch")
            .at(lookup.source.place(0..0))
            .into());
    }
    fabric::join(devices, lookups.pop())
}
