//! The report in the order of the draft's section 13, as a page, as Markdown and as CSV.

use xoff_report::{
    Align, Axis, Bar, BarGroup, Card, Figure, Mark, Panel, Report, Section, Table, Tone, Unit,
};

use crate::bench::DRAFT;
use crate::bench::dut::Dut;
use crate::bench::outcome::{Benchmark, Fact, Outcome, State};

/// Runs that are listed as findings of a test.
const LISTED_MAX: usize = 20;

/// Section 3.2: what the device under test is.
pub(crate) fn facts(dut: &Dut) -> Vec<Fact> {
    let t = dut.topology();
    let s = &dut.scenario;
    let mut all = Vec::new();
    let mut fact = |name: &str, value: String| {
        if !value.is_empty() {
            all.push(Fact { name: name.into(), value });
        }
    };
    let down = t.links.iter().filter(|l| !l.up).count();
    fact(
        "Topology",
        format!(
            "{}: {} hosts, {} switches, {} links{}",
            dut.parameter("topology.kind"),
            t.hosts().count(),
            t.switches().count(),
            t.links.len(),
            if down > 0 { format!(", {down} of them down") } else { String::new() }
        ),
    );
    fact("Leaves", format!("{}, {} links upwards", dut.racks.len(), dut.uplinks.len()));
    fact("Port speed of hosts", Unit::BitsPerSecond.format(dut.rate));
    let (payload, header) = s.frame();
    fact("Largest frame", format!("{} B, {header} B of it header", payload + header));
    fact("Routing", dut.parameter("routing.kind").into());
    fact("Load balancing", dut.parameter("load_balancing.kind").into());
    fact("Flow control", s.flow_control.into());
    fact(
        "Buffer",
        format!("{} {}", dut.parameter("switch.memory"), dut.parameter("switch.buffer"))
            .trim()
            .into(),
    );
    fact("Discipline", dut.parameter("switch.discipline").into());
    fact("Detection", s.detection.into());
    fact("Rate control", s.rate_control.into());
    fact("Watchdog", dut.parameter("watchdog.kind").into());
    fact("Acknowledgements", dut.parameter("host.acks").into());
    fact("Recovery", dut.parameter("host.recovery").into());
    fact("Priority of the traffic", dut.priority.to_string());
    fact("Replaced", dut.ignored.join(", "));
    fact("xoff", xoff_run::VERSION.into());
    all
}

fn table(o: &Outcome) -> Table {
    let align = o.labels.iter().map(|_| Align::Left).chain(o.kpis.iter().map(|_| Align::Right));
    let mut t = Table::new(o.columns()).align(align);
    o.cells().into_iter().for_each(|row| t.push(row));
    t
}

/// The primary indicator of each case.
fn figure(o: &Outcome) -> Figure {
    let kpi = &o.kpis[0];
    let label = |case: &[String]| case.join(" ");
    let bars = o.rows.iter().map(|r| match r.values[0] {
        None => Bar::new(f64::NAN),
        Some(v) if v.low == v.high => Bar::new(v.mean),
        Some(v) => Bar::with_interval(v.mean, v.low.max(0.0), v.high),
    });
    let panel = Panel::new(
        "",
        Axis::new(o.labels.join(", "), Unit::None),
        Axis::new(kpi.label, kpi.shown.clone()),
    );
    Figure::new(o.title)
        .caption(format!("{}: {}. Error bars are 95 % intervals.", kpi.label, kpi.definition))
        .panel(panel.mark(Mark::bars(
            o.rows.iter().map(|r| label(&r.case)),
            [BarGroup::new(kpi.label, bars)],
        )))
}

/// Most cases that a figure shows.
const BARS_MAX: usize = 12;

fn section(o: &Outcome) -> Section {
    let mut s = Section::new(format!("{} {}", o.sections, o.title));
    s = match o.state {
        State::NotApplicable => s.badge(Tone::Neutral, "not applicable"),
        State::Incomplete => s.badge(Tone::Caution, "incomplete"),
        State::Done if o.findings.is_empty() => s,
        State::Done => s.badge(Tone::Bad, format!("{} findings", o.findings.len())),
    };
    s = s.text(o.definition);
    if let Some(why) = &o.why {
        return s.text(format!("Not applicable: {why}."));
    }
    if !o.rows.is_empty() {
        s = s.table(table(o));
        if o.rows.len() <= BARS_MAX && o.rows.iter().any(|r| r.values[0].is_some()) {
            s = s.figure(&figure(o));
        }
        let mut kpis = Table::new(["Indicator", "Definition"]);
        o.kpis.iter().for_each(|k| kpis.push([k.label, k.definition]));
        s = s.table(kpis);
    }
    for note in &o.notes {
        s = s.text(note.as_str());
    }
    for f in o.findings.iter().take(LISTED_MAX) {
        s = s.text(format!("Finding: {}.", f.what));
    }
    if o.findings.len() > LISTED_MAX {
        s = s.text(format!("And {} more findings.", o.findings.len() - LISTED_MAX));
    }
    s.text(format!("Scenarios: `{}`.", o.scenarios.join("`, `")))
}

fn dut_table(b: &Benchmark) -> Table {
    let mut t = Table::new(["Parameter", "Value"]);
    b.dut.iter().for_each(|f| t.push([f.name.as_str(), f.value.as_str()]));
    t
}

/// The largest coefficient of variation of each test's primary indicator.
fn repeatability(b: &Benchmark) -> Table {
    let mut t = Table::new(["Section", "Primary indicator", "Seeds", "Largest CV"]).align([
        Align::Left,
        Align::Left,
        Align::Right,
        Align::Right,
    ]);
    for o in b.tests.iter().filter(|o| !o.rows.is_empty()) {
        let cv = o.rows.iter().filter_map(|r| r.values[0]?.cv).fold(f64::NAN, f64::max);
        let text = if cv.is_finite() { Unit::Fraction.format(cv) } else { "-".into() };
        t.push([o.sections.to_owned(), o.kpis[0].label.into(), b.seeds.len().to_string(), text]);
    }
    t
}

fn not_covered(b: &Benchmark) -> Table {
    let mut t = Table::new(["Section", "Test", "Why not"]);
    b.not_covered.iter().for_each(|n| t.push([n.section, n.title, n.why]));
    t
}

const INTERVALS: &str = "Means over the seeds; in parentheses the 95 % interval (Student's t) of the first indicator of each test, those of the others are in `results.csv`. The draft defines no thresholds, and none are applied: the answer is \"no\" for a deadlock, lost frames, a violated check or work that does not end.";
const FRAMES: &str = "Real frames: `xoff testbed FILE` runs the scenario of a case with real Ethernet frames on this machine where its links are slow enough for it, such as 100 Mb/s: docs/bench-fabric.md has the settings.";

/// The page.
pub(crate) fn page(b: &Benchmark) -> Report {
    let title = if b.title.is_empty() { b.scenario.as_str() } else { &b.title };
    let findings: usize = b.tests.iter().map(|t| t.findings.len()).sum();
    let tone = |n: usize| if n > 0 { Tone::Bad } else { Tone::Good };
    let done = b.tests.iter().filter(|t| t.state == State::Done).count();
    let mut r = Report::new(format!("AI fabric benchmark: {title}"))
        .lead(format!("{}. Tests of {DRAFT}, simulated.", b.headline))
        .lead(INTERVALS)
        .cards([
            Card::new("Tests done", done.to_string()).note(format!("of {}", b.tests.len())),
            Card::new("Findings", findings.to_string()).tone(tone(findings)),
            Card::new("Runs", b.runs.done.to_string()).note(format!("of {}", b.runs.total)),
            Card::new("Seeds", b.seeds.len().to_string()),
        ])
        .section(
            Section::new("DUT, topology and configuration")
                .text(format!("Scenario: `{}`.", b.scenario))
                .table(dut_table(b)),
        );
    for o in &b.tests {
        r = r.section(section(o));
    }
    let mut anomalies = Section::new("Anomalies and deviations");
    for d in &b.deviations {
        anomalies = anomalies.text(d.as_str());
    }
    r.section(anomalies.text(FRAMES))
        .section(Section::new("Repeatability").table(repeatability(b)))
        .section(Section::new("Sections without a test").table(not_covered(b)))
        .provenance("xoff", b.xoff_version)
        .provenance("draft", DRAFT)
}

/// The same as Markdown.
pub(crate) fn markdown(b: &Benchmark) -> String {
    let title = if b.title.is_empty() { b.scenario.as_str() } else { &b.title };
    let mut out = format!(
        "# AI fabric benchmark: {title}\n\n{}. Tests of {DRAFT}, simulated.\n\n{INTERVALS}\n\n## DUT, topology and configuration\n\nScenario: `{}`.\n\n{}",
        b.headline,
        b.scenario,
        dut_table(b).to_markdown()
    );
    for o in &b.tests {
        out += &format!("\n## {} {}\n\n{}\n", o.sections, o.title, o.definition);
        if let Some(why) = &o.why {
            out += &format!("\nNot applicable: {why}.\n");
            continue;
        }
        if !o.rows.is_empty() {
            out += &format!("\n{}", table(o).to_markdown());
        }
        if o.state == State::Incomplete {
            out += "\nIncomplete: some runs have no result yet.\n";
        }
        for note in &o.notes {
            out += &format!("\n{note}\n");
        }
        for f in o.findings.iter().take(LISTED_MAX) {
            out += &format!("\n- {}", f.what);
        }
        if !o.findings.is_empty() {
            out.push('\n');
        }
    }
    out += "\n## Anomalies and deviations\n\n";
    b.deviations.iter().for_each(|d| out += &format!("- {d}\n"));
    out + &format!(
        "\n{FRAMES}\n\n## Repeatability\n\n{}\n## Sections without a test\n\n{}",
        repeatability(b).to_markdown(),
        not_covered(b).to_markdown()
    )
}

/// A line for each value.
pub(crate) fn csv(b: &Benchmark) -> String {
    let mut w = csv::Writer::from_writer(Vec::new());
    let mut line = |cells: [&str; 10]| w.write_record(cells).expect("memory");
    line(["sections", "test", "case", "kpi", "unit", "mean", "low", "high", "cv", "n"]);
    for o in &b.tests {
        for r in &o.rows {
            let case = r.case.join(" ");
            for (k, v) in o.kpis.iter().zip(&r.values) {
                let Some(v) = v else { continue };
                let [mean, low, high] = [v.mean, v.low, v.high].map(|x| x.to_string());
                let cv = v.cv.map_or(String::new(), |cv| cv.to_string());
                line([
                    o.sections,
                    o.test,
                    &case,
                    k.name,
                    k.unit,
                    &mean,
                    &low,
                    &high,
                    &cv,
                    &v.n.to_string(),
                ]);
            }
        }
    }
    String::from_utf8(w.into_inner().expect("memory")).expect("texts")
}
