//! A plan in SONiC's form: rows of `pg_profile_lookup.ini`, and tables of `config_db.json` for each
//! switch.
//!
//! In SONiC `xoff` is headroom, the room above the trigger. What `size` is depends on the chip: it
//! contains the headroom on Spectrum, and is the reserve alone on Broadcom and where headroom is
//! shared. The kind of threshold depends on the pool. Both are taken from today's profile; without
//! one they are Spectrum's.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use xoff_analysis::plan::Plan;
use xoff_scenario::Problem;
use xoff_scenario::import::Threshold;
use xoff_units::{Bytes, Length, Rate};

use super::fabric::Row;

const HEAD: &str = "\
# pg_profile_lookup.ini, written by xoff plan. In SONiC xoff is HEADROOM (what arrives after the pause), not the pause threshold;
# the threshold is today's, else dynamic_th = 0: a group may take as much as the pool has free. Without a profile today size contains the
# headroom, as on Spectrum; where size is the reserve alone (Broadcom), set it to xon. xon and xoff are rounded up to KiB. Check alpha and
# the pool's size for the chip.
";

/// A profile of one lossless group [bytes].
#[derive(Clone, Copy, PartialEq, Eq)]
struct Profile {
    xon: u64,
    xon_offset: Option<u64>,
    xoff: u64,
    /// Today's `size`, where it is the reserve alone.
    reserve: Option<u64>,
    threshold: Threshold,
}

impl Profile {
    /// Without a profile of today.
    fn of(xon: Bytes, headroom: Bytes) -> Profile {
        Profile {
            xon: kib(xon.0),
            xon_offset: None,
            xoff: kib(headroom.0),
            reserve: None,
            threshold: Threshold::Dynamic(0),
        }
    }

    /// Profile of a port: larger values of today stay, and so do the kinds of `size` and threshold.
    fn of_port(r: &Row) -> Profile {
        let own = Profile::of(r.xon, r.headroom.max(Bytes(r.today.unwrap_or(0))));
        let Some(today) = &r.profile else { return own };
        // Where the distance to the limit decides alone, it still does.
        let by_offset = today.xon_offset.is_some() && today.xon == Bytes::ZERO;
        Profile {
            xon: if by_offset { 0 } else { own.xon },
            xon_offset: today.xon_offset.map(|b| b.0),
            reserve: (!today.contains_headroom()).then_some(today.size.0),
            threshold: today.threshold,
            ..own
        }
    }

    fn size(self) -> u64 {
        self.reserve.unwrap_or(self.xon + self.xoff)
    }

    /// The larger of both in everything; `None`: their thresholds are of two kinds.
    fn with(self, o: Profile) -> Option<Profile> {
        let threshold = match (self.threshold, o.threshold) {
            (Threshold::Dynamic(a), Threshold::Dynamic(b)) => Threshold::Dynamic(a.min(b)),
            (Threshold::Static(a), Threshold::Static(b)) => Threshold::Static(a.min(b)),
            _ => return None,
        };
        let (xon, xoff) = (self.xon.max(o.xon), self.xoff.max(o.xoff));
        Some(Profile {
            xon,
            xon_offset: self.xon_offset.max(o.xon_offset),
            xoff,
            reserve: self.reserve.max(o.reserve),
            threshold,
        })
    }

    fn line(self, mbps: u64, cable: &str) -> String {
        let threshold = match self.threshold {
            Threshold::Dynamic(n) => i64::from(n),
            Threshold::Static(b) => b.0 as i64,
        };
        let offset = self.xon_offset.map_or(String::new(), |b| format!("  {b}"));
        format!(
            "{mbps:>7} {cable:>5}  {:<7} {:<6} {:<6} {threshold}{offset}\n",
            self.size(),
            self.xon,
            self.xoff
        )
    }

    /// As BUFFER_PROFILE has it.
    fn table(self, pool: &str) -> Value {
        let mut table = json!({
            "pool": pool,
            "size": self.size().to_string(),
            "xon": self.xon.to_string(),
            "xoff": self.xoff.to_string(),
        });
        match self.threshold {
            Threshold::Dynamic(n) => table["dynamic_th"] = json!(n.to_string()),
            Threshold::Static(b) => table["static_th"] = json!(b.0.to_string()),
        }
        if let Some(offset) = self.xon_offset {
            table["xon_offset"] = json!(offset.to_string());
        }
        table
    }
}

fn kib(bytes: u64) -> u64 {
    bytes.div_ceil(1024) * 1024
}

/// A table's head and its rows, with the seventh column where a row has one.
fn table(lines: &str) -> String {
    let seven = lines.lines().any(|l| l.split_whitespace().count() > 6);
    format!(
        "{HEAD}# speed cable size    xon    xoff   threshold{}\n{lines}",
        if seven { " xon_offset" } else { "" }
    )
}

/// The row of one link.
pub fn row(plan: &Plan, rate: Rate, length: Length) -> String {
    let number = |symbol| plan.integer(symbol).map(Bytes).unwrap_or_default();
    let metres = length.0.div_ceil(1_000);
    table(
        &Profile::of(number("XOFF") - number("XON"), number("H"))
            .line(rate.0 / 1_000_000, &format!("{metres}m")),
    )
}

/// Speed [Mb/s] and cable, by which SONiC looks a profile up.
type Kind = (u64, String);

fn kind(r: &Row) -> Kind {
    // Text for people has a space before the unit; SONiC's columns are separated by spaces.
    (r.rate.0 / 1_000_000, r.cable.replace(' ', ""))
}

/// The profile of every kind of port among these; `None`: one of them would need thresholds of two
/// kinds.
fn kinds<'r>(rows: impl IntoIterator<Item = &'r Row>) -> Option<BTreeMap<Kind, Profile>> {
    let mut kinds: BTreeMap<Kind, Profile> = BTreeMap::new();
    for r in rows {
        let own = Profile::of_port(r);
        let with = kinds.get(&kind(r)).map_or(Some(own), |known| known.with(own))?;
        kinds.insert(kind(r), with);
    }
    Some(kinds)
}

/// The lookup table of a fabric, one for all its switches; one for each where pools are static here
/// and dynamic there.
pub fn lookup(rows: &[Row]) -> Result<String, Problem> {
    let text = |kinds: BTreeMap<Kind, Profile>| {
        kinds.into_iter().map(|((mbps, cable), p)| p.line(mbps, &cable)).collect::<String>()
    };
    if let Some(kinds) = kinds(rows) {
        return Ok(table(&text(kinds)));
    }
    let one = |(switch, rows): (&str, Vec<&Row>)| {
        Ok(format!("# ---- of {switch} alone ----\n{}", table(&text(of_switch(switch, &rows)?))))
    };
    switches_of(rows).into_iter().map(one).collect()
}

/// The profiles of one switch.
fn of_switch(switch: &str, rows: &[&Row]) -> Result<BTreeMap<Kind, Profile>, Problem> {
    kinds(rows.iter().copied()).ok_or_else(|| {
        let what = format!("{switch}: ports of one speed and cable have profiles with dynamic_th and with static_th");
        Problem::new(what, "a row of pg_profile_lookup.ini holds one of the two: give these ports one kind")
    })
}

/// BUFFER_PROFILE and BUFFER_PG of each switch.
pub fn profiles(rows: &[Row]) -> Result<BTreeMap<String, Value>, Problem> {
    let mut switches: BTreeMap<String, Value> = BTreeMap::new();
    for (switch, own) in switches_of(rows) {
        let kinds = of_switch(switch, &own)?;
        for r in own {
            let (mbps, cable) = kind(r);
            let name = format!("pg_lossless_{mbps}_{cable}_profile");
            let pool = r.profile.as_ref().map_or("ingress_lossless_pool", |p| &p.pool);
            let tables = switches
                .entry(r.switch.clone())
                .or_insert_with(|| json!({"BUFFER_PROFILE": {}, "BUFFER_PG": {}}));
            tables["BUFFER_PROFILE"][&name] = kinds[&kind(r)].table(pool);
            for run in r.priorities.chunk_by(|a, b| a + 1 == *b) {
                let groups = if run.len() == 1 {
                    run[0].to_string()
                } else {
                    format!("{}-{}", run[0], run[run.len() - 1])
                };
                tables["BUFFER_PG"][format!("{}|{groups}", r.port)] = json!({"profile": name});
            }
        }
    }
    Ok(switches)
}

fn switches_of(rows: &[Row]) -> BTreeMap<&str, Vec<&Row>> {
    let mut switches: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
    rows.iter().for_each(|r| switches.entry(&r.switch).or_default().push(r));
    switches
}
