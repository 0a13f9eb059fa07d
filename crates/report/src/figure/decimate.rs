//! Reduction of long series without a visible change.
//!
//! Of all consecutive points that fall into one pixel column the first, the least, the greatest and
//! the last stay, in their order. The drawn curve then covers the same pixels as the full one: a
//! spike of one sample survives.

/// A point in pixels.
pub(super) type Point = (f64, f64);

/// Lines of more pieces than this are drawn as points: with gaps everywhere there is no line to
/// see.
const PIECES_MAX: usize = 1500;

/// A line as it is drawn.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Drawn {
    /// Connected pieces of two or more points.
    pub pieces: Vec<Vec<Point>>,
    /// Points with a gap on either side.
    pub dots: Vec<Point>,
}

/// Splits at gaps, drops points outside `left .. right`, and reduces to about `budget` points in
/// all.
pub(super) fn line(
    points: impl Iterator<Item = Option<Point>>,
    (left, right): (f64, f64),
    budget: usize,
) -> Drawn {
    let mut pieces: Vec<Vec<Point>> = vec![Vec::new()];
    for point in points {
        match (point, pieces.last_mut()) {
            (Some(point), Some(piece)) => piece.push(point),
            (None, Some(piece)) if !piece.is_empty() => pieces.push(Vec::new()),
            _ => {}
        }
    }
    let mut pieces: Vec<Vec<Point>> =
        pieces.iter().flat_map(|piece| visible(piece, left, right)).collect();
    if pieces.len() > PIECES_MAX {
        return Drawn { pieces: Vec::new(), dots: dots(pieces.into_iter().flatten(), budget) };
    }
    let mut column = 1.0;
    while pieces.iter().map(Vec::len).sum::<usize>() > budget {
        let before: usize = pieces.iter().map(Vec::len).sum();
        pieces = pieces
            .iter()
            .map(|piece| reduce(piece, |_, point| (point.0 / column).floor() as i64))
            .collect();
        let after: usize = pieces.iter().map(Vec::len).sum();
        column *= 2.0;
        if column > 8.0 && after > budget {
            // x runs back and forth: columns do not gather, so equal runs of points do.
            let run = (before * 4).div_ceil(budget.max(4)).max(8);
            pieces = pieces.iter().map(|piece| reduce(piece, |i, _| (i / run) as i64)).collect();
            break;
        }
    }
    let (single, pieces): (Vec<_>, Vec<_>) = pieces.into_iter().partition(|piece| piece.len() == 1);
    Drawn { pieces, dots: dots(single.into_iter().flatten(), budget) }
}

/// The stretches of a piece that touch the window; a neighbour outside stays, since the line leads
/// to it.
fn visible(piece: &[Point], left: f64, right: f64) -> Vec<Vec<Point>> {
    let side = |point: &Point| if point.0 < left { -1 } else { i32::from(point.0 > right) };
    let mut out: Vec<Vec<Point>> = Vec::new();
    let mut open = false;
    for (i, point) in piece.iter().enumerate() {
        let here = side(point);
        let keep = here == 0
            || i.checked_sub(1).and_then(|j| piece.get(j)).is_some_and(|p| side(p) != here)
            || piece.get(i + 1).is_some_and(|p| side(p) != here);
        match (keep, open) {
            (true, true) => out.last_mut().into_iter().for_each(|stretch| stretch.push(*point)),
            (true, false) => out.push(vec![*point]),
            (false, _) => {}
        }
        open = keep;
    }
    out
}

/// First, least, greatest and last of each run of points with the same key.
fn reduce(piece: &[Point], key: impl Fn(usize, Point) -> i64) -> Vec<Point> {
    let mut out = Vec::new();
    let mut start = 0;
    while start < piece.len() {
        let run = key(start, piece[start]);
        let end = (start..piece.len()).find(|i| key(*i, piece[*i]) != run).unwrap_or(piece.len());
        let by_y = |a: &usize, b: &usize| piece[*a].1.total_cmp(&piece[*b].1);
        let mut kept = [
            start,
            (start..end).min_by(by_y).unwrap_or(start),
            (start..end).max_by(by_y).unwrap_or(start),
            end - 1,
        ];
        kept.sort_unstable();
        out.extend(
            kept.iter()
                .enumerate()
                .filter(|(n, i)| *n == 0 || kept[n - 1] != **i)
                .map(|(_, i)| piece[*i]),
        );
        start = end;
    }
    out
}

/// At most about `budget` separate points. One of every square of a coarse grid stays, so that no
/// outlier is lost; the rest of the budget is a sample of the others. What is kept depends on the
/// set of points, not on their order.
pub(super) fn dots(points: impl Iterator<Item = Point>, budget: usize) -> Vec<Point> {
    let mut all: Vec<(i64, i64)> =
        points.map(|(x, y)| ((x * 10.0).round() as i64, (y * 10.0).round() as i64)).collect();
    all.sort_unstable();
    all.dedup();
    if all.len() > budget {
        all.sort_by_cached_key(|point| (shuffled(*point), *point));
        let (mut grid, mut first) = (20, firsts(&all, 20));
        while first.len() > budget / 2 && grid < 1 << 20 {
            grid *= 2;
            first = firsts(&all, grid);
        }
        let others = (0..all.len()).filter(|i| first.binary_search(i).is_err());
        all = first
            .iter()
            .copied()
            .chain(others.take(budget.saturating_sub(first.len())))
            .map(|i| all[i])
            .collect();
        all.sort_unstable();
    }
    all.into_iter().map(|(x, y)| (x as f64 / 10.0, y as f64 / 10.0)).collect()
}

/// Indices of the first point in each square of `grid` tenths of a pixel, ascending.
fn firsts(points: &[(i64, i64)], grid: i64) -> Vec<usize> {
    let mut squares: Vec<((i64, i64), usize)> = points
        .iter()
        .enumerate()
        .map(|(i, (x, y))| ((x.div_euclid(grid), y.div_euclid(grid)), i))
        .collect();
    squares.sort_unstable();
    squares.dedup_by_key(|(square, _)| *square);
    let mut first: Vec<usize> = squares.into_iter().map(|(_, i)| i).collect();
    first.sort_unstable();
    first
}

/// A fixed shuffle (the SplitMix64 finalizer), so that a sample has no visible pattern.
fn shuffled((x, y): (i64, i64)) -> u64 {
    let mut z = (x as u64)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .wrapping_add(y as u64)
        .wrapping_mul(0xd134_2543_de82_ef95);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ALL: (f64, f64) = (0.0, 600.0);

    #[test]
    fn a_spike_of_one_sample_survives_a_million() {
        let wave = |i: usize| {
            (
                i as f64 * 600.0 / 1e6,
                if i == 123_456 {
                    3.0
                } else if i == 777_777 {
                    199.0
                } else {
                    100.0 + (i % 7) as f64
                },
            )
        };
        let drawn = line((0..1_000_000).map(|i| Some(wave(i))), ALL, 2400);
        let kept: Vec<Point> = drawn.pieces.concat();
        assert!(kept.len() <= 2404, "{}", kept.len());
        assert!(kept.contains(&wave(123_456)) && kept.contains(&wave(777_777)));
        assert_eq!((kept[0], kept[kept.len() - 1]), (wave(0), wave(999_999)));
    }

    #[test]
    fn short_series_are_untouched() {
        let points = [(0.0, 1.0), (0.1, 5.0), (0.2, 2.0), (0.3, 4.0)];
        assert_eq!(line(points.iter().copied().map(Some), ALL, 100).pieces, [points.to_vec()]);
    }

    #[test]
    fn gaps_split_and_single_points_become_dots() {
        let points = [None, Some((1.0, 1.0)), None, None, Some((3.0, 1.0)), Some((4.0, 2.0)), None];
        let drawn = line(points.into_iter(), ALL, 100);
        assert_eq!(
            drawn,
            Drawn { pieces: vec![vec![(3.0, 1.0), (4.0, 2.0)]], dots: vec![(1.0, 1.0)] }
        );
    }

    #[test]
    fn outside_the_window_only_the_neighbours_stay() {
        let points = (-50..=50).map(|i| Some((f64::from(i) * 10.0, 0.0)));
        let drawn = line(points, (0.0, 30.0), 1000);
        let xs: Vec<f64> = drawn.pieces.concat().iter().map(|p| p.0).collect();
        assert_eq!(xs, [-10.0, 0.0, 10.0, 20.0, 30.0, 40.0]);
    }

    #[test]
    fn a_line_across_the_window_stays_though_no_point_is_inside() {
        let drawn = line([Some((-5.0, 0.0)), Some((700.0, 9.0))].into_iter(), ALL, 100);
        assert_eq!(drawn.pieces, [vec![(-5.0, 0.0), (700.0, 9.0)]]);
    }

    #[test]
    fn back_and_forth_is_reduced_too() {
        let drawn = line(
            (0..100_000).map(|i| Some((if i % 2 == 0 { 0.0 } else { 600.0 }, f64::from(i % 100)))),
            ALL,
            1000,
        );
        let kept: usize = drawn.pieces.iter().map(Vec::len).sum();
        assert!(kept <= 1100, "{kept}");
    }

    #[test]
    fn dots_are_thinned_keep_outliers_and_do_not_depend_on_order() {
        let cloud = |i: u32| {
            if i == 77_777 {
                (590.0, 500.0)
            } else {
                (f64::from(i % 1000) * 0.5, f64::from(i / 1000))
            }
        };
        let forward = dots((0..200_000).map(cloud), 3000);
        let backward = dots((0..200_000).rev().map(cloud), 3000);
        assert_eq!(forward.len(), 3000);
        assert!(forward.contains(&(590.0, 500.0)));
        assert_eq!(forward, backward);
    }

    proptest! {
        #[test]
        fn extremes_and_ends_stay(ys in prop::collection::vec(-1000.0..1000.0f64, 2..3000)) {
            let step = 600.0 / ys.len() as f64;
            let points: Vec<Point> = ys.iter().enumerate().map(|(i, y)| (i as f64 * step, *y)).collect();
            let kept = line(points.iter().copied().map(Some), ALL, 200).pieces.concat();
            let least = |points: &[Point]| points.iter().map(|p| p.1).fold(f64::INFINITY, f64::min);
            let greatest = |points: &[Point]| points.iter().map(|p| p.1).fold(f64::NEG_INFINITY, f64::max);
            prop_assert_eq!(least(&kept), least(&points));
            prop_assert_eq!(greatest(&kept), greatest(&points));
            prop_assert_eq!(kept[0], points[0]);
            prop_assert_eq!(kept[kept.len() - 1], points[points.len() - 1]);
            prop_assert!(kept.windows(2).all(|w| w[0].0 <= w[1].0));
        }
    }
}
