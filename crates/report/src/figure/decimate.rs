//! Long series made short without losing what the eye would see.
//!
//! Of all consecutive points that fall into one pixel column the first, the least, the greatest and the last stay, in
//! their order. The drawn curve then covers the same pixels as the full one: a spike of one sample survives.

/// A point in pixels.
pub(super) type Point = (f64, f64);

/// Lines of more pieces than this are drawn as points: with gaps everywhere there is no line to see.
const PIECES_MAX: usize = 1500;

/// A line as it is drawn.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Drawn {
    /// Connected pieces of two or more points.
    pub pieces: Vec<Vec<Point>>,
    /// Points with a gap on either side.
    pub dots: Vec<Point>,
}

/// Splits at gaps, drops what lies outside `left .. right`, and reduces to about `budget` points in all.
pub(super) fn line(points: impl Iterator<Item = Option<Point>>, (left, right): (f64, f64), budget: usize) -> Drawn {
    let mut pieces: Vec<Vec<Point>> = vec![Vec::new()];
    for point in points {
        match (point, pieces.last_mut()) {
            (Some(point), Some(piece)) => piece.push(point),
            (None, Some(piece)) if !piece.is_empty() => pieces.push(Vec::new()),
            _ => {}
        }
    }
    let mut pieces: Vec<Vec<Point>> = pieces.iter().flat_map(|piece| visible(piece, left, right)).collect();
    if pieces.len() > PIECES_MAX {
        return Drawn { pieces: Vec::new(), dots: dots(pieces.into_iter().flatten(), budget) };
    }
    let mut column = 1.0;
    while pieces.iter().map(Vec::len).sum::<usize>() > budget {
        let before: usize = pieces.iter().map(Vec::len).sum();
        pieces = pieces.iter().map(|piece| reduce(piece, |_, point| (point.0 / column).floor() as i64)).collect();
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

/// The stretches of a piece that touch the window; a neighbour outside stays, since the line leads to it.
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
        out.extend(kept.iter().enumerate().filter(|(n, i)| *n == 0 || kept[n - 1] != **i).map(|(_, i)| piece[*i]));
        start = end;
    }
    out
}

/// Separate points, one per square of a grid that is as fine as the budget allows. Sorted, hence independent of order.
pub(super) fn dots(points: impl Iterator<Item = Point>, budget: usize) -> Vec<Point> {
    let all: Vec<Point> = points.collect();
    if all.len() <= budget {
        return all;
    }
    let mut grid = 0.5;
    loop {
        let mut squares: Vec<(i64, i64)> =
            all.iter().map(|(x, y)| ((x / grid).round() as i64, (y / grid).round() as i64)).collect();
        squares.sort_unstable();
        squares.dedup();
        if squares.len() <= budget || grid > 1e6 {
            return squares.into_iter().map(|(x, y)| (x as f64 * grid, y as f64 * grid)).collect();
        }
        grid *= 1.5;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ALL: (f64, f64) = (0.0, 600.0);

    #[test]
    fn a_spike_of_one_sample_survives_a_million() {
        let wave = |i: usize| (i as f64 * 600.0 / 1e6, if i == 123_456 { 3.0 } else if i == 777_777 { 199.0 } else { 100.0 + (i % 7) as f64 });
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
        assert_eq!(drawn, Drawn { pieces: vec![vec![(3.0, 1.0), (4.0, 2.0)]], dots: vec![(1.0, 1.0)] });
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
        let drawn = line((0..100_000).map(|i| Some((if i % 2 == 0 { 0.0 } else { 600.0 }, f64::from(i % 100)))), ALL, 1000);
        let kept: usize = drawn.pieces.iter().map(Vec::len).sum();
        assert!(kept <= 1100, "{kept}");
    }

    #[test]
    fn dots_are_thinned_and_do_not_depend_on_order() {
        let cloud = |i: u32| (f64::from(i % 1000) * 0.6, f64::from(i / 1000));
        let forward = dots((0..200_000).map(cloud), 4000);
        let backward = dots((0..200_000).rev().map(cloud), 4000);
        assert!(forward.len() <= 4000 && forward.len() > 1000);
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
