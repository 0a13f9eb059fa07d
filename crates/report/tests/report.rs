//! The page and the Markdown.

use xoff_report::{
    Align, Axis, Card, Cell, Figure, Mark, Panel, Report, Section, Table, Tone, Unit,
};

fn sample() -> Report {
    let table = Table::new(["Run", "Measured"])
        .align([Align::Left, Align::Right])
        .row([Cell::from("Fig. 5"), "75 KB".into()])
        .row([Cell::code("x<y"), "a `b` <c>".into()]);
    let figure = Figure::new("Queue").caption("With `S1`").panel(
        Panel::new("", Axis::new("Time", Unit::Picoseconds), Axis::new("Queue", Unit::Bytes))
            .mark(Mark::line("S1", [(0.0, 0.0), (1e9, 1.0)])),
    );
    Report::new("Ring <1>")
        .lead("One & only")
        .cards([Card::new("Frames lost", "0").note("of 10").tone(Tone::Good)])
        .section(
            Section::new("A <section>")
                .badge(Tone::Bad, "deadlock")
                .text("run `xoff`")
                .figure(&figure)
                .table(table.clone()),
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
        ">75 KB</td>",
        "<code>x&lt;y</code></td>",
        ">a <code>b</code> &lt;c&gt;</td>",
        "<figcaption>With <code>S1</code></figcaption>",
        "<summary>Parameters <span class=\"count\">(2)</span></summary>",
        "<dt>result hash</dt><dd><code>0123abcd</code></dd>",
        "</svg>",
    ] {
        assert!(html.contains(wanted), "{wanted}\n{html}");
    }
    assert!(!html.contains("<script") && !html.contains(" src="));
    // Only the namespace: nothing is fetched.
    assert_eq!(html.matches("http").count(), html.matches("http://www.w3.org/2000/svg").count());
}

#[test]
fn contents_appear_with_the_fourth_section() {
    let report = |n: usize| {
        (0..n)
            .fold(Report::new("r"), |report, i| report.section(Section::new(format!("s {i}"))))
            .to_html()
    };
    assert!(!report(3).contains("<nav"));
    assert!(
        report(4).contains("<a href=\"#s4\">s 3</a>") && report(4).contains("<section id=\"s4\">")
    );
}

#[test]
fn markdown() {
    let table = Table::new(["Key", "Value [ps]"])
        .align([Align::Left, Align::Right])
        .caption("All of *them*")
        .row([Cell::code("a|b`c"), "1,234,567".into()])
        .row([Cell::from("Fig. 5"), "x | y\n<z> `code|d`".into()])
        .row([Cell::from("one ` tick")])
        .row([Cell::from(""), "".into(), "dropped".into()]);
    let expected = "All of \\*them\\*\n\n\
        | Key | Value \\[ps\\] |\n\
        | --- | ---: |\n\
        | `` a\\|b`c `` | 1,234,567 |\n\
        | Fig. 5 | x \\| y &lt;z&gt; `code\\|d` |\n\
        | one \\` tick |  |\n\
        |  |  |\n";
    assert_eq!(table.to_markdown(), expected);
}
