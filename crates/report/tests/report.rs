//! The page and the Markdown.

use xoff_report::{Align, Axis, Card, Cell, Figure, Mark, Panel, Report, Section, Table, Tone, Unit};

fn sample() -> Report {
    let table = Table::new(["Entry", "Measured", "Verdict"])
        .align([Align::Left, Align::Right, Align::Centre])
        .row([Cell::link("Fig. 5", "gfc/fig5.svg"), 75_000u64.into(), Cell::badge(Tone::Good, "reproduced")])
        .row([Cell::link("bad", "javascript:alert(1)"), "a `b` <c>".into(), Cell::code("x<y")]);
    let figure = Figure::new("Queue").caption("With `S1`").panel(
        Panel::new("", Axis::new("Time", Unit::Picoseconds), Axis::new("Queue", Unit::Bytes))
            .mark(Mark::line("S1", [(0.0, 0.0), (1e9, 1.0)])),
    );
    Report::new("Ring <1>")
        .lead("One & only")
        .cards([Card::new("Frames lost", "0").note("of 10").tone(Tone::Good)])
        .verdicts(table.clone())
        .section(
            Section::new("A <section>")
                .badge(Tone::Bad, "deadlock")
                .text("run `xoff`")
                .pre("a\n  b <c>")
                .figure(&figure)
                .details("Rows", table.clone()),
        )
        .details("Parameters", table)
        .provenance("result hash", "0123abcd")
}

#[test]
fn everything_is_there_and_escaped() {
    let html = sample().to_html();
    for wanted in [
        "<title>Ring &lt;1&gt;</title>",
        "One &amp; only",
        "<div class=\"card good\"><div class=\"label\">Frames lost</div><div class=\"value\">0</div>",
        "<h2>A &lt;section&gt; <span class=\"badge bad\">deadlock</span></h2>",
        "<p>run <code>xoff</code></p>",
        "<pre>\na\n  b &lt;c&gt;</pre>",
        "<a href=\"gfc/fig5.svg\">Fig. 5</a>",
        ">75,000</td>",
        "<span class=\"badge good\">reproduced</span>",
        ">a <code>b</code> &lt;c&gt;</td>",
        "<figcaption>With <code>S1</code></figcaption>",
        "<summary>Parameters <span class=\"count\">(2)</span></summary>",
        "<dt>result hash</dt><dd><code>0123abcd</code></dd>",
        "</svg>",
    ] {
        assert!(html.contains(wanted), "{wanted}\n{html}");
    }
    assert!(!html.contains("javascript:") && !html.contains("<script") && !html.contains(" src="));
    // Only the namespace: nothing is fetched.
    assert_eq!(html.matches("http").count(), html.matches("http://www.w3.org/2000/svg").count());
}

#[test]
fn contents_appear_with_the_fourth_section() {
    let report = |n: usize| (0..n).fold(Report::new("r"), |report, i| report.section(Section::new(format!("s {i}")))).to_html();
    assert!(!report(3).contains("<nav"));
    assert!(report(4).contains("<a href=\"#s4\">s 3</a>") && report(4).contains("<section id=\"s4\">"));
}

#[test]
fn written_whole_or_not_at_all() {
    let folder = std::env::temp_dir().join(format!("xoff-report-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("report.html");
    sample().write(&path).unwrap();
    sample().write(&path).unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), sample().to_html());
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1, "no temporary file stays");
    let missing = folder.join("missing").join("report.html");
    let error = sample().write(&missing).unwrap_err();
    assert_eq!(error.path, missing);
    assert!(error.to_string().starts_with(&format!("cannot write {}: ", missing.display())), "{error}");
    // A folder in the way: the temporary file is removed again.
    std::fs::create_dir(folder.join("taken")).unwrap();
    assert!(sample().write(folder.join("taken")).is_err());
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 2);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn markdown() {
    let table = Table::new(["Key", "Value [ps]", "Verdict"])
        .align([Align::Left, Align::Right, Align::Centre])
        .caption("All of *them*")
        .row([Cell::code("a|b`c"), 1_234_567u64.into(), Cell::badge(Tone::Good, "reproduced")])
        .row([Cell::link("Fig. 5", "fig 5.svg"), "x | y\n<z> `code|d`".into()])
        .row([Cell::link("bad", "javascript:x"), "one ` tick".into(), "".into(), "dropped".into()]);
    let expected = "All of \\*them\\*\n\n\
        | Key | Value \\[ps\\] | Verdict |\n\
        | --- | ---: | :---: |\n\
        | `` a\\|b`c `` | 1,234,567 | reproduced |\n\
        | [Fig. 5](<fig 5.svg>) | x \\| y &lt;z&gt; `code\\|d` |  |\n\
        | bad | one \\` tick |  |\n";
    assert_eq!(table.to_markdown(), expected);
}
