//! `xoff export --perfetto` of a job: every operation is a slice of its rank, and an arrow leads
//! from each send to the end of the receive that took its message.

#[path = "support/perfetto.rs"]
mod perfetto;
mod support;

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use perfetto::trace;
use support::{folder, path, xoff};

/// The rows of a CSV table, by column; none of its cells holds a comma.
fn rows(dir: &Path, table: &str) -> Vec<HashMap<String, String>> {
    let text = std::fs::read_to_string(dir.join("csv").join(format!("{table}.csv"))).unwrap();
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    lines
        .map(|l| {
            names.iter().zip(l.split(',')).map(|(n, c)| ((*n).to_owned(), c.to_owned())).collect()
        })
        .collect()
}

/// Time [ns] and track.
type End = (u64, String);

#[test]
fn operations_are_slices_and_messages_are_arrows() {
    let dir = folder("export-jobs");
    let (run, file) = (path(&dir, "run"), path(&dir, "job.pftrace"));
    let scenario = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../scenarios/training/all-reduce.toml")
        .display()
        .to_string();
    assert_eq!(xoff(&["run", &scenario, "--out", &run, "--no-report"]).code, 0);
    let ran = xoff(&["export", &run, "--perfetto", &file, "--csv", &path(&dir, "csv"), "--json"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let t = trace(Path::new(&file));

    let ranks = rows(&dir, "ranks");
    let host: HashMap<&str, &str> =
        ranks.iter().map(|r| (r["rank"].as_str(), r["host"].as_str())).collect();
    let ns = |row: &HashMap<String, String>, column: &str| {
        row[column].parse::<u64>().map(|ps| ps / 1000).ok()
    };
    let group = |rank: &str| format!("{} | train rank {rank}: operations", host[rank]);

    // Slices by rank: the same as the rows, in whatever row of the group they stand.
    let mut wanted: BTreeMap<String, Vec<(u64, Option<u64>, String)>> = BTreeMap::new();
    let (mut sends, mut arrows): (HashMap<String, End>, Vec<(End, End)>) =
        (HashMap::new(), Vec::new());
    let operations = rows(&dir, "operations");
    for r in &operations {
        let word = if r["work"] == "send" { " to " } else { " from " };
        let name = if r["peer"].is_empty() {
            r["work"].clone()
        } else {
            format!("{}{word}{}", r["work"], r["peer"])
        };
        wanted.entry(group(&r["rank"])).or_default().push((
            ns(r, "start_ps").unwrap(),
            ns(r, "end_ps"),
            name,
        ));
        if r["work"] == "send" {
            sends.insert(r["flow"].clone(), (ns(r, "start_ps").unwrap(), group(&r["rank"])));
        }
    }
    for r in operations.iter().filter(|r| r["work"] == "receive") {
        arrows.push((sends[&r["flow"]].clone(), (ns(r, "end_ps").unwrap(), group(&r["rank"]))));
    }
    let of_group = |track: &str| track.rsplit_once(" | ").map_or(String::new(), |x| x.0.to_owned());
    let mut found: BTreeMap<String, Vec<(u64, Option<u64>, String)>> = BTreeMap::new();
    for (track, slices) in t.slices.iter().filter(|s| s.0.contains(": operations")) {
        // One behind the other: slices of a track that cross are drawn wrongly.
        assert!(slices.windows(2).all(|w| w[0].1.is_some_and(|end| end <= w[1].0)), "{track}");
        found
            .entry(of_group(track))
            .or_default()
            .extend(slices.iter().map(|s| (s.0, s.1, s.2.clone())));
    }
    wanted.values_mut().for_each(|v| v.sort());
    found.values_mut().for_each(|v| v.sort());
    assert_eq!(found, wanted);

    let mut drawn: Vec<(End, End)> = Vec::new();
    for [from, to] in t.arrows.values() {
        let ends =
            [from, to].map(|e| e.clone().unwrap_or_else(|| panic!("an arrow has both ends")));
        let [from, to] = ends.map(|(ns, track)| (ns, of_group(&track)));
        assert!(from.0 < to.0, "an arrow leads to a later event");
        drawn.push((from, to));
    }
    arrows.sort();
    drawn.sort();
    assert!(arrows.len() > 3_000, "{}", arrows.len());
    assert_eq!(drawn, arrows);
    assert_eq!(ran.json()["perfetto"]["arrows"], arrows.len());

    // An iteration of each rank, and the critical path without a gap.
    let iterations =
        t.slices.iter().filter(|s| s.0.contains(": iterations")).map(|s| s.1.len()).sum::<usize>();
    assert_eq!(iterations, ranks.len());
    let path: Vec<_> = t
        .slices
        .iter()
        .filter(|s| s.0.starts_with("job train | critical path"))
        .flat_map(|s| s.1)
        .collect();
    assert_eq!(path.len(), rows(&dir, "critical_path").len());
    assert!(path.iter().any(|s| s.2.starts_with("pause, rank ")), "{path:?}");
}
