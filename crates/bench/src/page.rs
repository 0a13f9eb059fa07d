//! docs/performance.md from bench.json: everything but the profile, which people write between two markers.

use std::path::Path;

use xoff_report::{Align, Cell, Table};

use crate::Failed;
use crate::growth::Curve;
use crate::results::Report;
use crate::table;
use crate::targets::Unit;

const BEGIN: &str = "<!-- profile:begin -->";
const END: &str = "<!-- profile:end -->";

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

const fn peer(name: &'static str, work: &'static str, cpu_seconds: &'static str, speed: f64, memory: &'static str, ours: Ours) -> Peer {
    Peer { name, work, cpu_seconds, speed, memory, ours }
}

const PEERS: &[Peer] = &[
    peer("HPCC simulator (ns-3.17)", "32:1 incast of 10 MB, 40 hosts, 100G, DCQCN, PFC", "5.95", 0.62, "95 MiB", Ours::None),
    peer("HPCC simulator", "k = 8, 128 hosts, WebSearch 50 %, 1 ms of arrivals", "11.9", 0.65, "319 MiB", Ours::None),
    peer("HPCC simulator", "the same, 5 ms of arrivals", "104.7", 0.42, "353 MiB", Ours::Row("hpcc-speed")),
    peer("HPCC simulator", "320 hosts, 100G and 400G, Hadoop 50 %, 2 ms of arrivals", "116.9", 0.38, "370 MiB", Ours::None),
    peer("ns3-datacenter (ns-3.39)", "k = 8, 128 hosts, WebSearch 50 %, 1 ms of arrivals", "16.4", 0.46, "310 MiB", Ours::None),
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
    peer("uet-htsim, HPCC", "k = 8, permutation", "2.8", 1.29, "31 MiB", Ours::Row("k8-permutation")),
    peer("uet-htsim, HPCC", "k = 16, permutation", "12.4", 0.47, "116 MiB", Ours::Row("k16-permutation")),
    peer("rustasim (TCP with losses, no PFC)", "k = 8", "1.5", 6.7, "805 MiB", Ours::None),
    peer("rustasim (TCP with losses, no PFC)", "k = 16", "8.5", 1.9, "1502 MiB", Ours::None),
];

/// Writes the page and its figures.
pub fn write(report: &Report, out: &Path) -> Result<(), Failed> {
    let failed = |e: std::io::Error| format!("cannot write {}: {e}", out.display());
    let name = out.file_stem().unwrap_or_default();
    let figures = out.with_file_name(name);
    std::fs::create_dir_all(&figures).map_err(failed)?;
    for curve in report.growth.iter().filter(|c| !c.points.is_empty()) {
        curve.write_svg(&figures)?;
    }
    let earlier = std::fs::read_to_string(out).unwrap_or_default();
    xoff_output::write(out, render(report, profile(&earlier)?, &name.to_string_lossy()).as_bytes()).map_err(|e| e.what)
}

/// Text between the markers of the existing page.
fn profile(page: &str) -> Result<&str, Failed> {
    match (page.find(BEGIN), page.find(END)) {
        (None, None) => Ok("\n"),
        (Some(from), Some(to)) if from + BEGIN.len() <= to => Ok(&page[from + BEGIN.len()..to]),
        // Writing the page now would lose what was written by hand.
        _ => Err(format!("the page has only one of the markers {BEGIN} and {END}, or in the wrong order")),
    }
}

fn render(r: &Report, profile: &str, figures: &str) -> String {
    let m = &r.machine;
    let rows = r.rows.iter().fold(Table::new(table::HEADINGS).align(TARGETS_ALIGN), |t, row| t.row(table::cells(row)));
    let growth: String = r.growth.iter().map(|c| curve(c, figures)).collect();
    let hashes = r.hashes.iter().fold(Table::new(["Threads", "Result hash"]).align([Align::Right]), |t, h| {
        t.row([Cell::from(u64::from(h.threads)), Cell::code(&h.hash)])
    });
    format!(
        "\
# Performance

`make bench` generates this page, except the sections after *Peers*. Measured {measured} with xoff {version} on
{cpu}, {cores} cores, {rustc}.

## Targets

{rows}
A *frame-hop* is one frame, data or ACK, over one link. CPU time covers the whole process, from the start of the simulation until all tables
are closed, with default probes. *Set-up* is the remaining time from start to exit. Values are medians. `xoff-bench` generates the traffic of the first
rows with the shape of the HPCC simulator's example. Their ratio compares frame-hops per CPU second: the HPCC simulator needed 104.7 CPU seconds
for such a run, 0.42 million frame-hops per CPU second.

## Growth

Cost should grow in proportion to the work: the CPU time per frame-hop should stay flat.

{growth}## Threads

{same}.

{hashes}
## Peers

CPU time of whole runs with optimized builds, one thread each. Every data packet has an ACK, so frame-hops are twice the packet-hops.

Side by side: the same work, alternately on one machine (2 cores, EPYC 7003, 2026-11-26). Medians, and peak memory:

| Simulator | Work | Its CPU time | xoff's CPU time | Ratio | Same answer? |
| --- | --- | ---: | ---: | ---: | --- |
| HPCC simulator (ns-3) | k = 8, 128 hosts, WebSearch 50 %, 5 ms of arrivals, one run | 272.65 s, 343 MiB | 13.17 s, 28 MiB (`xoff hpcc`) | 20.7x | yes, all 2,264 flows |
| uet-htsim, RoCE, PFC, no rate control | k = 8, 128 hosts, 10 MB permutation, 3 runs | 4.13 s, 12 MiB | 0.88 s, 30 MiB | 4.7x | yes |
| uet-htsim, RoCE, PFC, no rate control | k = 16, 1024 hosts, 2 MB permutation, 3 runs | 23.05 s, 94 MiB | 2.84 s, 50 MiB | 8.1x | other ECMP paths |

The table below has more simulators, but each ratio divides figures of two machines, and xoff's runs have DCQCN in addition to PFC and ACKs. The other
simulators were measured by us on one core of a 2.6 GHz EPYC, xoff on the machine at the top of this page. For htsim at 1024 hosts such a ratio is too high.

{peers}
## Where the time of a frame-hop goes

{BEGIN}{profile}{END}
",
        measured = r.measured,
        version = r.xoff_version,
        cpu = m.cpu,
        cores = m.cores,
        rustc = m.rustc,
        rows = rows.to_markdown(),
        same = upper(&table::hashes(r)),
        hashes = hashes.to_markdown(),
        peers = peers(r).to_markdown(),
    )
}

const TARGETS_ALIGN: [Align; 6] = [Align::Left, Align::Left, Align::Right, Align::Right, Align::Right, Align::Left];

fn curve(c: &Curve, figures: &str) -> String {
    let ns = |s: f64| format!("{:.0} ns", s * 1e9);
    let headings = [c.grows.as_str(), "CPU time per frame-hop", "Frame-hops of a run", "Peak memory"];
    let points = c.points.iter().fold(Table::new(headings).align([Align::Right; 4]), |t, p| {
        let memory = Unit::Bytes.show(p.peak_bytes as f64);
        t.row([c.show_x(p.x), ns(p.per_hop.median), format!("{:.1} M", p.frame_hops as f64 / 1e6), memory])
    });
    let image = match c.points.is_empty() {
        true => String::new(),
        false => format!("![CPU time per frame-hop against {}]({figures}/{}.svg)\n\n", c.grows.to_lowercase(), c.id),
    };
    let missing: String = c.missing.iter().map(|m| format!("\nNot measured: {m}.\n")).collect();
    format!("### {}\n\n{}\n\n{image}{}{missing}\n", c.grows, c.held, points.to_markdown())
}

fn peers(r: &Report) -> Table {
    let headings = ["Simulator", "Work", "CPU time", "Frame-hops per CPU second", "Peak memory", "xoff, same network", "Ratio"];
    let align = [Align::Left, Align::Left, Align::Right, Align::Right, Align::Right, Align::Right, Align::Right];
    PEERS.iter().fold(Table::new(headings).align(align), |t, p| {
        let ours = match p.ours {
            Ours::Row(id) => r.median(id).map(|v| v / 1e6),
            Ours::None => None,
        };
        t.row([
            p.name.to_owned(),
            p.work.to_owned(),
            format!("{} s", p.cpu_seconds),
            format!("{} M", p.speed),
            p.memory.to_owned(),
            ours.map_or("-".into(), |v| format!("{v:.2} M")),
            ours.map_or("-".into(), |v| format!("{:.1}x", v / p.speed)),
        ])
    })
}

fn upper(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |c| c.to_uppercase().chain(chars).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::tests::sample;

    fn report() -> Report {
        Report { growth: vec![crate::growth::tests::sample()], ..sample(8.4e6) }
    }

    #[test]
    fn the_page_holds_targets_growth_threads_and_peers() {
        let page = render(&report(), "\n", "performance");
        for part in [
            "| at least 16.00 M/s | 8.40 M/s |",
            "![CPU time per frame-hop against simulated time](performance/time.svg)",
            "| 1 ms | 125 ns | 1.0 M | 50 MiB |",
            "Not measured: 10000 us simulated: left out by --quick.",
            "The same result hash ab with 1, 2 threads.",
            "| 104.7 s | 0.42 M | 353 MiB | 8.40 M | 20.0x |",
            "measured by us",
            "<!-- profile:begin -->\n<!-- profile:end -->",
        ] {
            assert!(page.to_lowercase().contains(&part.to_lowercase()), "{part} in\n{page}");
        }
    }

    #[test]
    fn what_people_wrote_stays_to_the_letter() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("performance.md");
        write(&report(), &out).unwrap();
        let page = std::fs::read_to_string(&out).unwrap();
        let words = "\nHalf of it is *waiting* for memory.\n\n| a | b |\n";
        std::fs::write(&out, page.replace("begin -->\n", &format!("begin -->{words}"))).unwrap();
        write(&Report { measured: "later".into(), ..report() }, &out).unwrap();
        let page = std::fs::read_to_string(&out).unwrap();
        assert!(page.contains(&format!("{BEGIN}{words}{END}")) && page.contains("Measured later"), "{page}");
        assert!(dir.path().join("performance/time.svg").exists());
    }

    #[test]
    fn a_page_with_one_marker_is_not_overwritten() {
        assert!(profile(&format!("text {BEGIN} words")).is_err());
        assert!(profile(&format!("{END} {BEGIN}")).is_err());
    }
}
