//! Statistics of counts.

/// Normal quantile of a two-sided 95 % interval.
const Z: f64 = 1.959963984540054;

/// Wilson's 95 % interval of a share, `cases` of `of`.
pub fn wilson(cases: u64, of: u64) -> (f64, f64) {
    if of == 0 {
        return (0.0, 1.0);
    }
    let (n, p) = (of as f64, cases as f64 / of as f64);
    let centre = (p + Z * Z / (2.0 * n)) / (1.0 + Z * Z / n);
    let half = Z / (1.0 + Z * Z / n) * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt();
    // Rounding must not leave the values that are certain.
    (if cases == 0 { 0.0 } else { centre - half }, if cases == of { 1.0 } else { centre + half })
}

/// The value below which a share of a histogram lies: the smallest index with at least `share` of the weight up to it.
pub fn quantile(histogram: &[u64], share: f64) -> usize {
    let total: u64 = histogram.iter().sum();
    let mut below = 0;
    histogram
        .iter()
        .position(|n| {
            below += n;
            below as f64 >= share * total as f64
        })
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of Wilson (1927) as in Newcombe (1998), table I: 15 of 148, 81 of 263, 0 of 20.
    #[test]
    fn wilson_is_wilson() {
        let close = |(a, b): (f64, f64), (c, d): (f64, f64)| (a - c).abs() < 5e-5 && (b - d).abs() < 5e-5;
        assert!(close(wilson(81, 263), (0.2553, 0.3662)));
        assert!(close(wilson(15, 148), (0.0624, 0.1605)));
        assert!(close(wilson(0, 20), (0.0, 0.1611)));
        assert_eq!(wilson(0, 0), (0.0, 1.0));
    }

    #[test]
    fn quantiles_of_a_histogram() {
        assert_eq!(quantile(&[50, 30, 19, 1], 0.5), 0);
        assert_eq!(quantile(&[50, 30, 19, 1], 0.99), 2);
        assert_eq!(quantile(&[50, 30, 19, 1], 1.0), 3);
    }
}
