//! The drawing as a whole: well-formed, complete, the same every time, and of bounded size.

use proptest::prelude::*;
use xoff_report::{Axis, Bar, BarGroup, Colour, Figure, Mark, Panel, Unit};

const NONE: Unit = Unit::None;

fn panel(mark: Mark) -> Panel {
    Panel::new("panel", Axis::new("Time", Unit::Picoseconds), Axis::new("Queue", Unit::Bytes))
        .mark(mark)
}

fn figure(mark: Mark) -> Figure {
    Figure::new("figure").panel(panel(mark))
}

/// Parses, or the test fails with the position.
fn parsed(svg: &str) -> roxmltree::Document<'_> {
    roxmltree::Document::parse(svg).unwrap_or_else(|error| panic!("{error}\n{svg}"))
}

fn texts(svg: &str) -> Vec<String> {
    parsed(svg)
        .descendants()
        .filter(|node| node.has_tag_name("text"))
        .filter_map(|node| node.text().map(str::to_owned))
        .collect()
}

/// Path data of elements in a colour.
fn paths(svg: &str, colour: Colour) -> Vec<String> {
    let document = parsed(svg);
    let ours = document.descendants().filter(|node| node.attribute("stroke") == Some(colour.hex()));
    ours.filter_map(|node| node.attribute("d").map(str::to_owned)).collect()
}

#[test]
fn golden() {
    let figure = Figure::new("Tiny").caption("A & B").note("made up").panel(
        Panel::new(
            "Queue",
            Axis::new("Time", Unit::Picoseconds),
            Axis::new("Queue", Unit::Bytes).range(0.0, 2000.0),
        )
        .mark(Mark::line("S1", [(0.0, 0.0), (1e6, 2000.0), (2e6, 500.0)]))
        .mark(Mark::hline(1000.0, "XOFF")),
    );
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/tiny.svg");
    xoff_testing::golden(path.as_ref(), &figure.to_svg());
}

#[test]
fn units_are_scaled_and_written_out() {
    let svg = figure(Mark::line("S1", [(0.0, 0.0), (4e9, 300_000.0)])).to_svg();
    let texts = texts(&svg);
    for wanted in ["figure", "panel", "S1", "Time (ms)", "Queue (KB)", "4", "300"] {
        assert!(texts.iter().any(|text| text == wanted), "{wanted} in {texts:?}");
    }
}

#[test]
fn text_is_escaped_and_unprintable_text_replaced() {
    let nasty = "<script>\"&'\u{0}\u{8}]]>";
    let svg = Figure::new(nasty)
        .caption(nasty)
        .note(nasty)
        .panel(panel(Mark::line(nasty, [(0.0, 1.0)])).mark(Mark::vline(0.0, nasty)))
        .to_svg();
    assert!(!svg.contains("<script"));
    let shown = "<script>\"&'\u{fffd}\u{fffd}]]>";
    assert_eq!(
        texts(&svg).iter().filter(|text| *text == shown).count(),
        4,
        "title, note and two legend entries"
    );
}

#[test]
fn an_empty_series_is_labelled() {
    let svg = figure(Mark::line("S1", [])).to_svg();
    let texts = texts(&svg);
    assert!(texts.contains(&"S1 (no data)".to_owned()) && texts.contains(&"no data".to_owned()));
    parsed(&Figure::new("nothing at all").to_svg());
    parsed(&Figure::default().to_svg());
}

#[test]
fn a_single_point_is_a_dot() {
    let svg = figure(Mark::line("S1", [(1e9, 5000.0)])).to_svg();
    let paths = paths(&svg, Colour::Blue);
    assert_eq!(paths.iter().filter(|d| d.ends_with("h0")).count(), 1, "{paths:?}");
}

#[test]
fn nan_is_a_gap() {
    let points = [
        (0.0, 1.0),
        (1e9, 2.0),
        (2e9, f64::NAN),
        (3e9, 1.0),
        (4e9, f64::INFINITY),
        (f64::NAN, 3.0),
        (5e9, 1.0),
        (6e9, 2.0),
    ];
    let svg = figure(Mark::line("S1", points)).to_svg();
    assert!(!svg.contains("NaN") && !svg.contains("inf"));
    let moves: Vec<usize> =
        paths(&svg, Colour::Blue).iter().map(|d| d.matches('M').count()).collect();
    // The legend's sample is a `line` element: one path with two pieces, one dot.
    assert_eq!(moves, [2, 1]);
}

#[test]
fn zero_on_a_logarithmic_axis_is_a_gap() {
    let axis = Axis::new("Rate", Unit::BitsPerSecond).log();
    let mark = Mark::line("S1", [(0.0, 1e3), (1.0, 1e6), (2.0, 0.0), (3.0, 1e9), (4.0, 1e8)]);
    let svg = Figure::new("").panel(Panel::new("", Axis::new("x", NONE), axis).mark(mark)).to_svg();
    assert_eq!(paths(&svg, Colour::Blue).iter().map(|d| d.matches('M').count()).sum::<usize>(), 2);
    let texts = texts(&svg);
    assert!(
        texts.contains(&"1 kb/s".to_owned())
            && texts.contains(&"1 Gb/s".to_owned())
            && texts.contains(&"Rate".to_owned()),
        "{texts:?}"
    );
}

#[test]
fn one_name_has_one_colour_in_all_panels() {
    let figure = Figure::new("")
        .panel(
            panel(Mark::line("GFC", [(0.0, 1.0), (1.0, 1.0)]))
                .mark(Mark::line("PFC", [(0.0, 2.0), (1.0, 2.0)])),
        )
        .panel(panel(Mark::line("PFC", [(0.0, 2.0), (1.0, 2.0)])));
    assert_eq!(paths(&figure.to_svg(), Colour::Vermilion).len(), 2);
}

/// A series that was given another colour in each panel has that colour in the legend of that
/// panel.
#[test]
fn a_legend_has_the_colour_that_its_panel_draws() {
    let line = |colour| panel(Mark::line("series", [(0.0, 2.0), (1.0, 2.0)]).colour(colour));
    let svg = Figure::new("figure")
        .columns(2)
        .panel(line(Colour::Blue))
        .panel(line(Colour::Purple))
        .to_svg();
    let drawn = |colour: Colour| {
        let document = parsed(&svg);
        document.descendants().filter(|n| n.attribute("stroke") == Some(colour.hex())).count()
    };
    // The line, and its sample.
    assert_eq!((drawn(Colour::Blue), drawn(Colour::Purple)), (2, 2));
}

#[test]
fn automatic_colours_avoid_chosen_ones() {
    let figure = figure(Mark::line("first", [(0.0, 1.0), (1.0, 1.0)]));
    let chosen = Mark::line("second", [(0.0, 2.0), (1.0, 2.0)]).colour(Colour::Blue);
    let figure = Figure { panels: vec![figure.panels[0].clone().mark(chosen)], ..figure };
    let svg = figure.to_svg();
    assert_eq!((paths(&svg, Colour::Blue).len(), paths(&svg, Colour::Vermilion).len()), (1, 1));
}

#[test]
fn panels_with_the_same_axes_share_their_range() {
    let figure = Figure::new("")
        .columns(2)
        .panel(panel(Mark::line("a", [(0.0, 0.0), (1e9, 1e6)])))
        .panel(panel(Mark::line("b", [(0.0, 0.0), (1e9, 1e3)])));
    let texts = texts(&figure.to_svg());
    assert_eq!(
        texts.iter().filter(|text| *text == "1").count(),
        4,
        "1 MB on both left axes, 1 ms on both x axes: {texts:?}"
    );
}

#[test]
fn a_million_samples_fit_into_200_kilobytes() {
    let wave = |k: usize| {
        (0..1_000_000).map(move |i| (i as f64 * 1e4, ((i * (k + 7919)) % 10_007) as f64))
    };
    let mut figure = Figure::new("");
    for k in 0..3 {
        figure = figure.panel(
            panel(Mark::line(format!("line {k}"), wave(k)))
                .mark(Mark::line(format!("other {k}"), wave(k + 10))),
        );
    }
    let svg = figure.to_svg();
    assert!(svg.len() < 200_000, "{} bytes", svg.len());
    let cloud =
        (0..300_000).map(|i| (((i * 7919) % 100_003) as f64, ((i * 104_729) % 99_991) as f64));
    let svg = Figure::new("").panel(panel(Mark::points("cloud", cloud))).to_svg();
    assert!(svg.len() < 200_000, "{} bytes", svg.len());
}

#[test]
fn bars_show_values_and_intervals() {
    let bars = [Bar::with_interval(0.0032, 0.0022, 0.0045), Bar::new(f64::NAN), Bar::new(0.0)];
    let mark = Mark::bars(["k = 4", "k = 8", "k = 16"], [BarGroup::new("PFC", bars)]);
    let svg = Figure::new("")
        .panel(Panel::new("", Axis::new("", NONE), Axis::new("Share", Unit::Fraction)).mark(mark))
        .to_svg();
    let texts = texts(&svg);
    for wanted in ["0.32 %", "n/a", "0", "k = 16", "PFC", "Share (%)"] {
        assert!(texts.iter().any(|text| text == wanted), "{wanted} in {texts:?}");
    }
    assert!(svg.contains("<title>k = 4, PFC: 0.32 % (0.22 % to 0.45 %)</title>"), "{svg}");
}

fn any_value() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<f64>(),
        -1e6..1e6f64,
        Just(f64::NAN),
        Just(f64::INFINITY),
        Just(f64::MAX),
        Just(f64::MIN),
        Just(f64::MIN_POSITIVE),
        Just(0.0),
        Just(-0.0),
    ]
}

fn any_mark() -> impl Strategy<Value = Mark> {
    let points = || prop::collection::vec((any_value(), any_value()), 0..40);
    prop_oneof![
        ("\\PC{0,12}", points()).prop_map(|(name, points)| Mark::line(name, points)),
        ("\\PC{0,12}", points()).prop_map(|(name, points)| Mark::line(name, points).dashed()),
        (".{0,12}", points()).prop_map(|(name, points)| Mark::points(name, points)),
        any_value().prop_map(|y| Mark::hline(y, "h")),
        any_value().prop_map(|x| Mark::vline(x, "v")),
        points().prop_map(|values| {
            let labels: Vec<String> = (0..values.len()).map(|i| format!("category {i}")).collect();
            Mark::bars(
                labels,
                [BarGroup::new("bars", values.iter().map(|(a, b)| Bar::with_interval(*a, *b, *a)))],
            )
        }),
    ]
}

proptest! {
    #[test]
    fn whatever_the_data_the_drawing_is_well_formed_finite_and_repeatable(
        marks in prop::collection::vec(any_mark(), 0..4),
        (log_x, log_y) in any::<(bool, bool)>(),
        range in prop::option::of((any_value(), any_value())),
    ) {
        let mut panel = Panel::new("p", Axis::new("x", Unit::Picoseconds), Axis::new("y", Unit::Bytes)).marks(marks);
        (panel.x.log, panel.y.log, panel.y.range) = (log_x, log_y, range);
        let figure = Figure::new("f").columns(2).panel(panel.clone()).panel(panel);
        let svg = figure.to_svg();
        parsed(&svg);
        prop_assert_eq!(&svg, &figure.clone().to_svg());
        prop_assert!(svg.len() < 200_000);
        for node in parsed(&svg).descendants() {
            for attribute in node.attributes().filter(|a| ["x", "y", "x1", "y1", "x2", "y2", "d", "width", "height"].contains(&a.name())) {
                prop_assert!(!attribute.value().contains("NaN") && !attribute.value().contains("inf"));
            }
        }
    }
}
