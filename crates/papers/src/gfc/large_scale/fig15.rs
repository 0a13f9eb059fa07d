//! Fig. 15: the flow sizes.

use xoff_net::workload::SizeCdf;
use xoff_report::{Axis, Figure, Mark, Panel, Unit};
use xoff_scenario::cdf;

use super::sizes::SIZE_MAX;
use crate::{Check, Context, Findings, ReproduceError};

const WHICH: &str = "the enterprise distribution of the NUMFabric repository; the paper cites LetFlow, and its figure prints no numbers";

/// The entry.
pub fn run(_cx: &Context) -> Result<Findings, ReproduceError> {
    let points = cdf::built_in("enterprise").expect("a built-in distribution");
    let sizes = SizeCdf::new(points.clone()).expect("a sound distribution");
    let capped = sizes.capped(SIZE_MAX);
    let (mean, median) = (sizes.mean(), sizes.quantile(50.0));
    // Bytes in flows above a size: what is left of the mean without those below it.
    let above = |size: u64| {
        let shrunk = size as f64 * (1.0 - share_up_to(&points, size));
        1.0 - (sizes.capped(size).mean() - shrunk) / mean
    };
    let checks = vec![
        // The published mean is rounded, and depends on how sizes between the points are read; here linear.
        // Linear between the points of the table, computed apart; the 158.1 KB printed with it does not follow from them.
        Check::near("mean flow size", Unit::Bytes, mean, 160_589.0, 0.001).assuming(WHICH),
        Check::near("median flow size", Unit::Bytes, median, 1052.0, 0.01).assuming(WHICH),
        Check::new("share of the bytes in flows above 1 MB", Unit::Fraction, above(1_000_000), 0.9, 1.0).assuming(WHICH),
        Check::new("share of the flows that the cap of 30 MB shrinks", Unit::Fraction, 1.0 - share_up_to(&points, SIZE_MAX), 0.0, 0.002)
            .assuming(WHICH),
    ];
    let percent = |p: &(u64, f64)| (p.0.max(1) as f64, p.1 / 100.0);
    let panel = Panel::new("", Axis::new("Flow size", Unit::Bytes).log(), Axis::new("Share of the flows", Unit::Fraction).range(0.0, 1.0))
        .mark(Mark::line("as published", points.iter().map(percent)))
        .mark(Mark::line("as run, at most 30 MB", capped.points().iter().map(percent)).dashed());
    let format = |v| Unit::Bytes.format(v);
    let measured = format!(
        "Mean {}, median {}; {} of the bytes are in flows above 1 MB. With flows capped at 30 MB, as run, the mean is {}.",
        format(mean),
        format(median),
        Unit::Fraction.format(above(1_000_000)),
        format(capped.mean())
    );
    let figure = Figure::new("Fig. 15: flow sizes of the enterprise traffic")
        .caption("Half of the flows fit into one frame. Nearly all bytes are in flows of a megabyte and more.")
        .panel(panel);
    Ok(Findings { measured, checks, figures: vec![figure], ..Findings::default() })
}

/// Share of the flows up to a size.
fn share_up_to(points: &[(u64, f64)], size: u64) -> f64 {
    let at = points.partition_point(|p| p.0 <= size).clamp(1, points.len() - 1);
    let ((x0, p0), (x1, p1)) = (points[at - 1], points[at]);
    (p0 + (p1 - p0) * (size - x0) as f64 / (x1 - x0).max(1) as f64) / 100.0
}
