//! The report as one HTML page.

use xoff_report::{Card, Cell, Section, Table, Tone};

use crate::{Context, Judged, Mode, Report, ReproduceError, Verdict};

/// Draws the page with every entry that is judged.
pub(crate) fn draw(report: &Report, cx: &Context) -> Result<xoff_report::Report, ReproduceError> {
    let count = |v: Verdict| report.entries.iter().filter(|e| e.verdict == v).count().to_string();
    let cards = [
        Card::new("Reproduced", count(Verdict::Reproduced)).tone(Tone::Good),
        Card::new("Reproduced under assumption", count(Verdict::UnderAssumption))
            .note("the paper leaves a setting open")
            .tone(Tone::Caution),
        Card::new("Not reproduced", count(Verdict::NotReproduced)).note("with the reason").tone(Tone::Bad),
        Card::new("Extensions", count(Verdict::Extension)).note("not claimed by the paper").tone(Tone::Info),
    ];
    let mut page = xoff_report::Report::new(report.paper.title)
        .lead("Each claim runs its scenario, measures, and compares with the paper. Its verdict follows from its checks.")
        .cards(cards)
        .verdicts(verdicts(report))
        .provenance("xoff", xoff_run::VERSION)
        .provenance("mode", cx.mode.name())
        .provenance("seed", cx.seed.to_string());
    if cx.mode == Mode::Quick {
        page = page.lead("This is the quick sample: fewer seeds and networks than in the full run.");
    }
    if report.interrupted {
        page = page.lead("The run was stopped before all claims were judged. Repeat the command to continue.");
    }
    for e in &report.entries {
        page = page.section(section(e, cx)?);
    }
    Ok(page)
}

/// Table with one line per entry.
fn verdicts(report: &Report) -> Table {
    let mut table = Table::new(["Claim", "Title", "Paper", "Measured", "Verdict"]);
    for e in &report.entries {
        table.push([
            Cell::code(&e.id),
            Cell::Text(e.title.clone()),
            Cell::Text(e.paper.clone()),
            Cell::Text(e.measured.clone()),
            Cell::badge(e.tone(), e.verdict.name()),
        ]);
    }
    table
}

fn section(e: &Judged, cx: &Context) -> Result<Section, ReproduceError> {
    let mut s = Section::new(format!("{}: {}", e.id, e.title)).badge(e.tone(), e.verdict.name());
    s = s.text(format!("Paper: {}", e.paper)).text(format!("Measured: {}", e.measured)).text(format!("Expected: {}", e.band));
    for why in &e.why {
        s = s.text(format!("Why: {why}"));
    }
    for picture in &e.figures {
        let read = |file: &str| {
            let path = cx.out.join(file);
            std::fs::read_to_string(&path).map_err(|source| ReproduceError::file(&path, source))
        };
        s = s.drawn(read(&picture.file)?, read(&picture.narrow)?, &picture.caption);
    }
    for table in &e.tables {
        s = s.table(table.clone());
    }
    for note in &e.notes {
        s = s.text(format!("Note: {note}"));
    }
    if !e.assumptions.is_empty() {
        let table =
            e.assumptions.iter().fold(Table::new(["What the paper leaves open, and what xoff assumes"]), |t, a| t.row([a.as_str()]));
        s = s.table(table);
    }
    if !e.changes.is_empty() {
        s = s.table(e.changes.iter().fold(Table::new(["Bands changed after the data were seen"]), |t, c| t.row([c.as_str()])));
    }
    Ok(s.details(e.checks_name(), e.checks_table()))
}
