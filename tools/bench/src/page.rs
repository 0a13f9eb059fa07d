//! The tables of docs/performance.md from bench.json, a CSV file for each, and the figures of its
//! curves.

use std::path::Path;

use crate::Failed;
use crate::growth::Curve;
use crate::results::Report;
use crate::table;
use crate::targets::Unit;

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

fn tables(r: &Report) -> [(&'static str, Rows); 3] {
    let m = &r.machine;
    let machine = row([&r.measured, &r.xoff_version, &m.cpu, &m.cores.to_string(), &m.rustc]);
    let targets = r.rows.iter().map(|row| table::cells(row).into());
    let hashes = r.hashes.iter().map(|h| row([&h.threads.to_string(), &h.hash]));
    [
        ("machine", vec![row(["measured", "xoff", "processor", "cores", "compiler"]), machine]),
        ("targets", std::iter::once(row(table::HEADINGS)).chain(targets).collect()),
        ("hashes", std::iter::once(row(["Threads", "Result hash"])).chain(hashes).collect()),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::tests::sample;

    #[test]
    fn the_files_hold_targets_growth_and_threads() {
        let report = Report { growth: vec![crate::growth::tests::sample()], ..sample(8.4e6) };
        let dir = tempfile::tempdir().unwrap();
        write(&report, &dir.path().join("tables"), &dir.path().join("figures")).unwrap();
        let rows = [
            ("targets", "\"at least 16.00 M/s\",\"8.40 M/s\""),
            ("time", "\"1 ms\",\"125 ns\",\"1.0 M\",\"50 MiB\""),
            ("time", "\"not measured\",\"10000 us simulated: left out by --quick\",\"-\",\"-\""),
            ("hashes", "\"1\",\"ab\"\n\"2\",\"ab\""),
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
