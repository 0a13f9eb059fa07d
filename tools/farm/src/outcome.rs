//! Values by which two runs that should be the same are compared.

use xoff_sim::Outcome;

/// Everything that a run reports but its rows and its number of events: as text, to be compared.
pub fn stated(o: &Outcome) -> String {
    format!(
        "{:?} {:?} {:?} {:?} {} {} {} {} {:?} {:?} {:?} {} {:?} {:?} {:?} {:?} {:?}",
        o.ended,
        o.now,
        (o.lost, o.retry),
        o.lossless,
        o.frame_hops,
        o.data_frame_hops,
        o.delivered_frames,
        o.rate_changes,
        o.completions,
        o.deadlocks,
        o.storms,
        o.flow_collisions,
        (&o.violations, o.violations_total),
        o.cnms,
        o.ports,
        o.flows,
        o.ranks
    )
}

/// Position at which two texts begin to differ, with the text around it.
pub fn first_difference(a: &str, b: &str) -> Option<String> {
    let at = a
        .bytes()
        .zip(b.bytes())
        .position(|(a, b)| a != b)
        .or((a.len() != b.len()).then_some(a.len().min(b.len())))?;
    let around = |s: &str| s[at.saturating_sub(200)..(at + 100).min(s.len())].to_owned();
    Some(format!("{} <> {}", around(a), around(b)))
}
