//! The tables of docs/performance.md from bench.json, a CSV file for each, and the figures of its
//! curves.

use std::path::Path;

use crate::Failed;
use crate::growth::Curve;
use crate::results::Report;
use crate::table;
use crate::targets::Unit;

/// A peer's run, measured by us on one core of a 2.6 GHz EPYC with optimized builds.
struct Peer {
    name: &'static str,
    work: &'static str,
    cpu_seconds: &'static str,
    /// Million frame-hops per CPU second; data and ACKs, one link each.
    speed: f64,
    memory: &'static str,
    /// Comparable value of xoff.
    ours: Ours,
}

#[derive(Clone, Copy)]
enum Ours {
    /// A row of the table, by id.
    Row(&'static str),
    /// Nothing alike.
    None,
}

const fn peer(
    name: &'static str,
    work: &'static str,
    cpu_seconds: &'static str,
    speed: f64,
    memory: &'static str,
    ours: Ours,
) -> Peer {
    Peer { name, work, cpu_seconds, speed, memory, ours }
}

const PEERS: &[Peer] = &[
    peer(
        "HPCC simulator (ns-3.17)",
        "32:1 incast of 10 MB, 40 hosts, 100G, DCQCN, PFC",
        "5.95",
        0.62,
        "95 MiB",
        Ours::None,
    ),
    peer(
        "HPCC simulator",
        "k = 8, 128 hosts, WebSearch 50 %, 1 ms of arrivals",
        "11.9",
        0.65,
        "319 MiB",
        Ours::None,
    ),
    peer(
        "HPCC simulator",
        "the same, 5 ms of arrivals",
        "104.7",
        0.42,
        "353 MiB",
        Ours::Row("hpcc-speed"),
    ),
    peer(
        "HPCC simulator",
        "320 hosts, 100G and 400G, Hadoop 50 %, 2 ms of arrivals",
        "116.9",
        0.38,
        "370 MiB",
        Ours::None,
    ),
    peer(
        "ns3-datacenter (ns-3.39)",
        "k = 8, 128 hosts, WebSearch 50 %, 1 ms of arrivals",
        "16.4",
        0.46,
        "310 MiB",
        Ours::None,
    ),
    peer(
        "uet-htsim, RoCE, PFC, no rate control",
        "k = 8, 128 hosts, 10 MB permutation, 100G",
        "1.85",
        1.93,
        "12 MiB",
        Ours::Row("k8-permutation"),
    ),
    peer(
        "uet-htsim, RoCE, PFC, no rate control",
        "k = 16, 1024 hosts, 2 MB permutation",
        "9.4",
        0.62,
        "94 MiB",
        Ours::Row("k16-permutation"),
    ),
    peer(
        "uet-htsim, HPCC",
        "k = 8, permutation",
        "2.8",
        1.29,
        "31 MiB",
        Ours::Row("k8-permutation"),
    ),
    peer(
        "uet-htsim, HPCC",
        "k = 16, permutation",
        "12.4",
        0.47,
        "116 MiB",
        Ours::Row("k16-permutation"),
    ),
    peer("rustasim (TCP with losses, no PFC)", "k = 8", "1.5", 6.7, "805 MiB", Ours::None),
    peer("rustasim (TCP with losses, no PFC)", "k = 16", "8.5", 1.9, "1502 MiB", Ours::None),
];

/// Writes the tables into `out`, and the figures of the curves into `figures`.
pub fn write(report: &Report, out: &Path, figures: &Path) -> Result<(), Failed> {
    for folder in [out, figures] {
        std::fs::create_dir_all(folder)
            .map_err(|e| format!("cannot write {}: {e}", folder.display()))?;
    }
    for curve in report.growth.iter().filter(|c| !c.points.is_empty()) {
        curve.write_svg(figures)?;
    }
    let curves = report.growth.iter().map(|c| (c.id.as_str(), curve(c)));
    for (name, rows) in tables(report).into_iter().chain(curves) {
        let path = out.join(name).with_extension("csv");
        xoff_record::output::write(&path, csv(&rows).as_bytes()).map_err(|e| e.what)?;
    }
    Ok(())
}

/// A row for each line; the first has the headings.
type Rows = Vec<Vec<String>>;

/// Every cell in quotes.
fn csv(rows: &Rows) -> String {
    let line = |row: &Vec<String>| {
        row.iter().map(|c| format!("\"{}\"", c.replace('"', "\"\""))).collect::<Vec<_>>().join(",")
            + "\n"
    };
    rows.iter().map(line).collect()
}

fn row<const N: usize>(cells: [&str; N]) -> Vec<String> {
    cells.map(str::to_owned).into()
}

fn tables(r: &Report) -> [(&'static str, Rows); 4] {
    let m = &r.machine;
    let machine = row([&r.measured, &r.xoff_version, &m.cpu, &m.cores.to_string(), &m.rustc]);
    let targets = r.rows.iter().map(|row| table::cells(row).into());
    let hashes = r.hashes.iter().map(|h| row([&h.threads.to_string(), &h.hash]));
    [
        ("machine", vec![row(["measured", "xoff", "processor", "cores", "compiler"]), machine]),
        ("targets", std::iter::once(row(table::HEADINGS)).chain(targets).collect()),
        ("hashes", std::iter::once(row(["Threads", "Result hash"])).chain(hashes).collect()),
        ("peers", peers(r)),
    ]
}

fn curve(c: &Curve) -> Rows {
    let points = c.points.iter().map(|p| {
        let (hop, hops) = (
            format!("{:.0} ns", p.per_hop.median * 1e9),
            format!("{:.1} M", p.frame_hops as f64 / 1e6),
        );
        row([&c.show_x(p.x), &hop, &hops, &Unit::Bytes.show(p.peak_bytes as f64)])
    });
    let missing = c.missing.iter().map(|m| row(["not measured", m, "-", "-"]));
    let headings = row([&c.grows, "CPU time per frame-hop", "Frame-hops of a run", "Peak memory"]);
    std::iter::once(headings).chain(points).chain(missing).collect()
}

fn peers(r: &Report) -> Rows {
    let headings = row([
        "Simulator",
        "Work",
        "CPU time",
        "Frame-hops per CPU second",
        "Peak memory",
        "xoff, same network",
        "Ratio",
    ]);
    let rows = PEERS.iter().map(|p| {
        let ours = match p.ours {
            Ours::Row(id) => r.median(id).map(|v| v / 1e6),
            Ours::None => None,
        };
        let speed = ours.map_or("-".into(), |v| format!("{v:.2} M"));
        let ratio = ours.map_or("-".into(), |v| format!("{:.1}x", v / p.speed));
        row([
            p.name,
            p.work,
            &format!("{} s", p.cpu_seconds),
            &format!("{} M", p.speed),
            p.memory,
            &speed,
            &ratio,
        ])
    });
    std::iter::once(headings).chain(rows).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::tests::sample;

    #[test]
    fn the_files_hold_targets_growth_threads_and_peers() {
        let report = Report { growth: vec![crate::growth::tests::sample()], ..sample(8.4e6) };
        let dir = tempfile::tempdir().unwrap();
        write(&report, &dir.path().join("tables"), &dir.path().join("figures")).unwrap();
        let rows = [
            ("targets", "\"at least 16.00 M/s\",\"8.40 M/s\""),
            ("time", "\"1 ms\",\"125 ns\",\"1.0 M\",\"50 MiB\""),
            ("time", "\"not measured\",\"10000 us simulated: left out by --quick\",\"-\",\"-\""),
            ("hashes", "\"1\",\"ab\"\n\"2\",\"ab\""),
            ("peers", "\"104.7 s\",\"0.42 M\",\"353 MiB\",\"8.40 M\",\"20.0x\""),
            ("machine", "\"A processor\",\"2\""),
        ];
        for (name, part) in rows {
            let text =
                std::fs::read_to_string(dir.path().join("tables").join(name).with_extension("csv"))
                    .unwrap();
            assert!(text.contains(part), "{part} in\n{text}");
        }
        assert!(dir.path().join("figures/time.svg").exists());
    }
}
