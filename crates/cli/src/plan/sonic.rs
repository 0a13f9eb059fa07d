//! A plan in SONiC's form: rows of `pg_profile_lookup.ini`, and tables of `config_db.json` for each switch.
//!
//! In SONiC `xoff` is headroom, the room above the trigger, and `size` holds what is reserved for the group. Here `size` contains the
//! headroom, as on Spectrum; on chips whose `size` is the reserve alone it has to be `xon`.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use xoff_analysis::plan::Plan;
use xoff_units::{Bytes, Length, Rate};

use super::fabric::Row;

const HEAD: &str = "\
# pg_profile_lookup.ini, written by xoff plan. In SONiC xoff is HEADROOM (what arrives after the pause), not the pause threshold;
# the threshold is dynamic_th = 0: a group may take as much as the pool has free. size contains the headroom, as on Spectrum;
# where size is the reserve alone (Broadcom), set it to xon. Sizes are rounded up to KiB. Check alpha and the pool's size for the chip.
# speed cable size    xon    xoff   threshold
";

/// A profile of one lossless group [bytes].
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Profile {
    xon: u64,
    xoff: u64,
}

impl Profile {
    fn of(xon: Bytes, headroom: Bytes) -> Profile {
        Profile { xon: kib(xon.0), xoff: kib(headroom.0) }
    }
    fn size(self) -> u64 {
        self.xon + self.xoff
    }
    fn line(self, mbps: u64, cable: &str) -> String {
        format!("{mbps:>7} {cable:>5}  {:<7} {:<6} {:<6} 0\n", self.size(), self.xon, self.xoff)
    }
}

fn kib(bytes: u64) -> u64 {
    bytes.div_ceil(1024) * 1024
}

/// The row of one link.
pub fn row(plan: &Plan, rate: Rate, length: Length) -> String {
    let number = |symbol| plan.integer(symbol).map(Bytes).unwrap_or_default();
    let metres = length.0.div_ceil(1_000);
    format!("{HEAD}{}", Profile::of(number("XOFF") - number("XON"), number("H")).line(rate.0 / 1_000_000, &format!("{metres}m")))
}

/// Speed [Mb/s], cable and profile of every kind of port: what is larger today stays.
fn kinds(rows: &[Row]) -> BTreeMap<(u64, String), Profile> {
    let mut kinds: BTreeMap<(u64, String), Profile> = BTreeMap::new();
    for r in rows {
        let own = Profile::of(r.xon, r.headroom.max(Bytes(r.today.unwrap_or(0))));
        let kind = kinds.entry((r.rate.0 / 1_000_000, r.cable.clone())).or_default();
        *kind = Profile { xon: kind.xon.max(own.xon), xoff: kind.xoff.max(own.xoff) };
    }
    kinds
}

/// The lookup table of a fabric, one for all its switches.
pub fn lookup(rows: &[Row]) -> String {
    let lines = kinds(rows).into_iter().map(|((mbps, cable), profile)| profile.line(mbps, &cable));
    format!("{HEAD}{}", lines.collect::<String>())
}

/// BUFFER_PROFILE and BUFFER_PG of each switch.
pub fn profiles(rows: &[Row]) -> BTreeMap<String, Value> {
    let kinds = kinds(rows);
    let mut switches: BTreeMap<String, Value> = BTreeMap::new();
    for r in rows {
        let mbps = r.rate.0 / 1_000_000;
        let (profile, name) = (kinds[&(mbps, r.cable.clone())], format!("pg_lossless_{mbps}_{}_profile", r.cable));
        let tables = switches.entry(r.switch.clone()).or_insert_with(|| json!({"BUFFER_PROFILE": {}, "BUFFER_PG": {}}));
        tables["BUFFER_PROFILE"][&name] = json!({
            "pool": "ingress_lossless_pool",
            "size": profile.size().to_string(),
            "xon": profile.xon.to_string(),
            "xoff": profile.xoff.to_string(),
            "dynamic_th": "0",
        });
        for run in r.priorities.chunk_by(|a, b| a + 1 == *b) {
            let groups = if run.len() == 1 { run[0].to_string() } else { format!("{}-{}", run[0], run[run.len() - 1]) };
            tables["BUFFER_PG"][format!("{}|{groups}", r.port)] = json!({"profile": name});
        }
    }
    switches
}
