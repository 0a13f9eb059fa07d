//! `PFC_WD`: the watchdog of a switch, by port.

use std::collections::BTreeSet;

use crate::{Problem, suggest};
use xoff_units::Span;

use crate::import::network::Watchdog;
use crate::import::tree::{Document, Tree};

/// sonic-utilities `pfcwd/main.py`: milliseconds between two polls, where GLOBAL says nothing.
const POLL_INTERVAL: u64 = 200;
/// The longest time there [ms].
const LONGEST: u64 = 60_000;
const ACTIONS: [&str; 3] = ["drop", "forward", "alert"];

/// Settings of a switch's ports, each setting once.
///
/// # Errors
/// A time or an action that the watchdog does not have, and a detection that is shorter than the
/// time between two polls.
pub(super) fn read(d: &Document) -> Result<BTreeSet<Watchdog>, Problem> {
    let mut all = BTreeSet::new();
    let Some(table) = d.root.get("PFC_WD") else { return Ok(all) };
    let time = |at: &Tree, key: &str, of: &str| {
        at.get(key).map(|t| d.count(t, &format!("PFC_WD|{of}: {key}"), LONGEST)).transpose()
    };
    let poll = table
        .get("GLOBAL")
        .map(|g| time(g, "POLL_INTERVAL", "GLOBAL"))
        .transpose()?
        .flatten()
        .unwrap_or(POLL_INTERVAL);
    for (port, set) in d.object(table, "PFC_WD")?.iter().filter(|(key, _)| key.name != "GLOBAL") {
        let name = suggest::clip(&port.name);
        let Some(detect) = time(set, "detection_time", &name)? else { continue };
        let restore = time(set, "restoration_time", &name)?.unwrap_or(2 * detect);
        if poll == 0 || restore == 0 || detect < poll {
            let what = format!(
                "PFC_WD|{name}: detection_time {detect}, restoration_time {restore}, POLL_INTERVAL {poll}"
            );
            let at = set.get("detection_time").unwrap_or(set);
            return Err(d.problem(
                at,
                what,
                "expected milliseconds above zero, and a detection no shorter than the interval",
            ));
        }
        let action = match set.get("action") {
            None => ACTIONS[0],
            Some(action) => {
                let word = d.text(action, "action")?;
                let unknown = || {
                    d.problem(
                        action,
                        format!("PFC_WD|{name}: action '{}'", suggest::clip(word)),
                        "expected drop, forward or alert",
                    )
                };
                ACTIONS.into_iter().find(|a| *a == word).ok_or_else(unknown)?
            }
        };
        all.insert(Watchdog {
            detect: Span::from_ms(detect),
            restore: Span::from_ms(restore),
            poll: Span::from_ms(poll),
            action,
        });
    }
    Ok(all)
}
