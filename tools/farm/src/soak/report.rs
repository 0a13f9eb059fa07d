//! Result of a soak, as a page.

use std::collections::BTreeMap;
use std::fmt::Write;

use xoff_units::grouped;

use super::{FAULTS, KINDS, Round};

/// Memory that the switch that stays may gain after its first rounds [KiB].
pub const GROWTH_MAX: u64 = 2048;
/// Rounds until it has all the memory that it needs.
const WARM: usize = 2;

/// Memory of the switch that stays, by flow control: over the longest of its lives, after its first
/// rounds and at its end [KiB], and how long it lived [s].
pub fn memory(rounds: &[Round], kind: &str) -> Option<(u64, u64, f64)> {
    let mut lives: Vec<Vec<&Round>> = Vec::new();
    for r in rounds.iter().filter(|r| r.kind == kind) {
        match lives.last_mut() {
            Some(life) if life.last().is_some_and(|l| l.age < r.age) => life.push(r),
            _ => lives.push(vec![r]),
        }
    }
    let longest = lives.into_iter().max_by(|a, b| a.len().cmp(&b.len()))?;
    let (first, last) = (longest.get(WARM.min(longest.len() - 1))?, longest.last()?);
    Some((first.memory, last.memory, last.age))
}

/// Problems of rounds, and memory that grows.
pub fn problems(rounds: &[Round]) -> Vec<String> {
    let of = |r: &Round| {
        r.problems.iter().map(|p| format!("{}, {}: {p}", r.kind, r.fault)).collect::<Vec<_>>()
    };
    let mut all: Vec<String> = rounds.iter().flat_map(of).collect();
    for (kind, _) in KINDS {
        if let Some((first, last, _)) =
            memory(rounds, kind).filter(|(first, last, _)| *last > first + GROWTH_MAX)
        {
            all.push(format!("{kind}: the memory of S1 grew from {first} to {last} KiB"));
        }
    }
    all
}

/// Bytes that are lost where none may be.
fn lost(rounds: &[&Round]) -> u64 {
    let lost = |r: &&&Round| r.sent.iter().sum::<u64>().saturating_sub(r.delivered.iter().sum());
    rounds.iter().filter(|r| r.lossless).map(|r| lost(&r)).sum()
}

/// Frames that nodes dropped, by reason, in words.
fn dropped(rounds: &[&Round]) -> String {
    let mut by_reason: BTreeMap<&str, u64> = BTreeMap::new();
    for (place, n) in rounds.iter().flat_map(|r| &r.dropped) {
        *by_reason.entry(place.split_once(' ').map_or(place, |p| p.1)).or_default() += n;
    }
    let words: Vec<String> =
        by_reason.into_iter().map(|(reason, n)| format!("{reason} {}", grouped(n))).collect();
    if words.is_empty() { "none".into() } else { words.join(", ") }
}

/// The page.
pub fn page(all: &[Round], left_over: &str) -> String {
    let rounds: Vec<Round> = all.iter().filter(|r| !r.is_void()).cloned().collect();
    let (void, rounds) = (all.len() - rounds.len(), rounds.as_slice());
    let mut t = String::new();
    let hours = rounds.iter().map(|r| r.seconds).sum::<f64>() / 3600.0;
    let data: u64 = rounds.iter().map(|r| r.cables.data).sum();
    let control: u64 = rounds.iter().map(|r| r.cables.control).sum();
    let _ = writeln!(
        t,
        "{} rounds, {hours:.1} hours, {} data frames and {} control frames over cables. Left over at the end: {left_over}.\n",
        grouped(rounds.len() as u64),
        grouped(data),
        grouped(control)
    );
    let stood = rounds.iter().map(|r| r.stood / r.seconds).fold(0.0, f64::max);
    let _ = writeln!(
        t,
        "The clock of a node stops while its process is not scheduled, and pauses then last longer: {:.0} % of the time of all rounds, {:.0} % of the worst one. The longest time\n\
         without a data frame on any cable, before the last frame of each flow arrived or was lost: {:.1} s.\n",
        100.0 * rounds.iter().map(|r| r.stood).sum::<f64>() / (hours * 3600.0).max(1.0),
        100.0 * stood,
        rounds.iter().map(|r| r.still).fold(0.0, f64::max)
    );
    if void > 0 {
        let _ = writeln!(
            t,
            "{void} more rounds are left out: the soak's own process was not scheduled in time, so the kernel dropped frames of its cables.\n"
        );
    }
    t += "| fault | effect | rounds | frames affected | lossless bytes lost | problems |\n| --- | --- | ---: | ---: | ---: | ---: |\n";
    for f in &FAULTS {
        let of: Vec<&Round> = rounds.iter().filter(|r| r.fault == f.name).collect();
        let met = of.iter().map(|r| {
            let c = &r.cables;
            c.doubled + c.late + c.lost + c.forged + c.data_lost + c.control_lost
        });
        let lost = if of.iter().any(|r| r.lossless) { grouped(lost(&of)) } else { "-".into() };
        let problems: usize = of.iter().map(|r| r.problems.len()).sum();
        let _ = writeln!(
            t,
            "| {} | {} | {} | {} | {lost} | {problems} |",
            f.name,
            f.about,
            of.len(),
            grouped(met.sum::<u64>())
        );
    }
    t += "\nIf frames may be lost, traffic must continue after the fault, and the sources must send everything. If a cable is dead unnoticed, exactly the frames that it took must be\n\
          missing.\n\n\
          | flow control | rounds | delivered | lossless bytes lost | dropped by nodes, all rounds | longest life of S1 | its memory after two rounds | at its end |\n\
          | --- | ---: | ---: | ---: | --- | ---: | ---: | ---: |\n";
    for (kind, _) in KINDS {
        let of: Vec<&Round> = rounds.iter().filter(|r| r.kind == kind).collect();
        let Some((first, last, age)) = memory(rounds, kind) else { continue };
        let delivered: u64 = of.iter().flat_map(|r| r.delivered).sum();
        let _ = writeln!(
            t,
            "| {kind} | {} | {:.0} MB | {} | {} | {:.0} min | {first} KiB | {last} KiB |",
            of.len(),
            delivered as f64 / 1e6,
            grouped(lost(&of)),
            dropped(&of),
            age / 60.0
        );
    }
    let problems = problems(rounds);
    t += "\n## Problems\n\n";
    if problems.is_empty() {
        t += "None.\n";
    }
    problems.iter().for_each(|p| {
        let _ = writeln!(t, "- {p}");
    });
    t
}
