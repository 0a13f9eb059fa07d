//! Changes, in one line.

use xoff_units::measured;

use crate::compare::{Measure, SideFacts};

const PAUSED: &str = "time paused, all ports";
const BLOCKED: &str = "time blocked, all ports";
/// Measures of the headline, and their names in it.
const HEADLINE: [(&str, &str); 6] = [
    ("lost frames", "frames lost"),
    ("flows unfinished", "flows unfinished"),
    ("slowdown, 99th percentile", "99th percentile of slowdown"),
    (PAUSED, "time paused"),
    (BLOCKED, "time blocked"),
    ("fullest ingress", "fullest ingress"),
];
/// Other measures in it, where none of those differs.
const OTHERS_MAX: usize = 2;

/// `pfc -> gfc-buffer: deadlock in 1 of 1 (pfc), 0 of 1 (gfc-buffer); time paused 1.043e+05 us -> 0 us`.
pub(crate) fn headline(sides: &[SideFacts], measures: &[Measure]) -> String {
    let mut parts = Vec::new();
    if sides.iter().any(|s| s.deadlocks > 0) {
        let of: Vec<String> = sides
            .iter()
            .map(|s| format!("{} of {} ({})", s.deadlocks, s.seeds.len(), s.name))
            .collect();
        parts.push(format!("deadlock in {}", of.join(", ")));
    }
    // With PFC, ports are blocked while they are paused, and one of the two is enough; credits
    // block without a pause.
    let of = |measure: &str| -> Vec<f64> {
        measures.iter().filter(|m| m.measure == measure).filter_map(|m| m.value.mean).collect()
    };
    let (paused, blocked) = (of(PAUSED), of(BLOCKED));
    let without_pause = blocked
        .iter()
        .enumerate()
        .any(|(i, h)| *h > 0.0 && paused.get(i).is_none_or(|p| *p == 0.0));
    let in_it = HEADLINE.iter().filter(|(measure, _)| *measure != BLOCKED || without_pause);
    parts.extend(in_it.filter_map(|(measure, name)| change(measures, sides.len(), measure, name)));
    if parts.is_empty() {
        let all =
            measures.chunk_by(|a, b| a.measure == b.measure).map(|rows| rows[0].measure.as_str());
        parts.extend(
            all.filter_map(|measure| change(measures, sides.len(), measure, measure))
                .take(OTHERS_MAX),
        );
    }
    let head: Vec<&str> = sides.iter().map(|s| s.name.as_str()).collect();
    let what = if parts.is_empty() { "no measure differs".into() } else { parts.join("; ") };
    format!("{}: {what}", head.join(" -> "))
}

/// Difference of a measure between all sides, in words; `None`: no difference.
fn change(measures: &[Measure], sides: usize, measure: &str, name: &str) -> Option<String> {
    let rows: Vec<&Measure> = measures.iter().filter(|m| m.measure == measure).collect();
    let values: Vec<f64> = rows.iter().map(|m| m.value.mean).collect::<Option<_>>()?;
    if values.len() != sides || values.iter().all(|v| *v == values[0]) {
        return None;
    }
    let last = rows.last()?;
    let sure = match last.difference.as_ref().and_then(crate::compare::Estimate::is_beyond_chance) {
        None => "",
        // Of a lower bound the interval says nothing.
        Some(_) if last.at_least => "",
        Some(true) => " (beyond chance at 95 %)",
        Some(false) => " (within chance at 95 %)",
    };
    let shown: Vec<String> = rows
        .iter()
        .zip(&values)
        .map(|(m, v)| format!("{}{}", bound(m.at_least), words(*v, &last.unit)))
        .collect();
    Some(format!("{name} {}{sure}", shown.join(" -> ")))
}

/// In front of a value that is a lower bound.
pub(crate) fn bound(at_least: bool) -> &'static str {
    if at_least { "≥ " } else { "" }
}

/// A value with its unit.
pub(crate) fn words(value: f64, unit: &str) -> String {
    match unit {
        "bytes" => measured::size(value),
        "bit/s" => measured::rate(value),
        "us" => measured::time(value * 1e6),
        // The name of the measure has it.
        "" | "frames" | "flows" | "share of runs" => measured::short(value),
        unit => format!("{} {unit}", measured::short(value)),
    }
}
