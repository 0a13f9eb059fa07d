//! Means over seeds with their intervals: for sweeps, comparisons, Python and the papers.

pub use xoff_record::quantile;

/// Two-sided 95 % quantiles of Student's t for 1, 2, 3 ... degrees of freedom.
const T: [f64; 20] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
];
/// Two-sided 95 % quantile of the normal distribution.
const Z: f64 = 1.959_963_984_540_054;

/// Two-sided 95 % quantile of Student's t. Beyond the table by the expansion in 1/n of Abramowitz
/// and Stegun (26.7.5), whose error is below 2e-6 there.
fn t(degrees: usize) -> f64 {
    if let Some(&known) = T.get(degrees - 1) {
        return known;
    }
    let (n, z) = (degrees as f64, Z);
    let power = |k: i32| (0..k).fold(1.0, |all, _| all * z);
    let terms = [
        (power(3) + z) / 4.0,
        (5.0 * power(5) + 16.0 * power(3) + 3.0 * z) / 96.0,
        (3.0 * power(7) + 19.0 * power(5) + 17.0 * power(3) - 15.0 * z) / 384.0,
        (79.0 * power(9) + 776.0 * power(7) + 1482.0 * power(5) - 1920.0 * power(3) - 945.0 * z)
            / 92_160.0,
    ];
    terms.iter().rev().fold(0.0, |sum, term| (sum + term) / n) + z
}

/// True if several runs have one result: nothing in them is drawn at random, so they count once.
pub fn are_one<H: PartialEq>(results: &[H]) -> bool {
    results.len() > 1 && results.iter().all(|r| *r == results[0])
}

/// A mean over seeds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mean {
    /// The mean; NaN of nothing.
    pub mean: f64,
    /// Lower end of the 95 % interval; the mean itself where one value is all there is.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Values.
    pub n: usize,
}

impl Mean {
    /// Mean of independent values. NaN (no flow of that size) does not count.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Mean {
        let values: Vec<f64> = values.into_iter().filter(|v| v.is_finite()).collect();
        let n = values.len();
        let mean = values.iter().sum::<f64>() / n as f64;
        let half = if n < 2 {
            0.0
        } else {
            let variance =
                values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / (n - 1) as f64;
            t(n - 1) * (variance / n as f64).sqrt()
        };
        Mean { mean, low: mean - half, high: mean + half, n }
    }

    /// Geometric mean of the ratios of values that belong together: the same traffic under two
    /// schemes.
    pub fn ratio(over: &[f64], under: &[f64]) -> Mean {
        let logs = Mean::of(over.iter().zip(under).map(|(a, b)| libm::log(a / b)));
        Mean {
            mean: libm::exp(logs.mean),
            low: libm::exp(logs.low),
            high: libm::exp(logs.high),
            n: logs.n,
        }
    }

    /// Text for people: the value and its interval, each formatted by `one`.
    pub fn words(&self, one: impl Fn(f64) -> String) -> String {
        if self.n < 2 {
            one(self.mean)
        } else {
            format!("{} ({} to {})", one(self.mean), one(self.low), one(self.high))
        }
    }
}

/// Share of some runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Runs for which something is true.
    pub of: usize,
    /// All runs.
    pub n: usize,
}

impl Share {
    /// The share itself; NaN of nothing.
    pub fn value(self) -> f64 {
        self.of as f64 / self.n as f64
    }

    /// The 95 % interval of Wilson, which knows that few runs say little: 3 of 3 are 44 % or more.
    /// Of nothing: all shares. Rounding does not leave the values that are certain.
    pub fn interval(self) -> (f64, f64) {
        if self.n == 0 {
            return (0.0, 1.0);
        }
        let (p, n) = (self.value(), self.n as f64);
        let (middle, scale) = (p + Z * Z / (2.0 * n), 1.0 + Z * Z / n);
        let half = Z * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt();
        let low = if self.of == 0 { 0.0 } else { (middle - half) / scale };
        (low, if self.of == self.n { 1.0 } else { (middle + half) / scale })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_of_three_values() {
        // Mean 2, standard deviation 1: half = 4.303 / sqrt 3.
        let m = Mean::of([1.0, 2.0, 3.0, f64::NAN]);
        assert_eq!((m.mean, m.n), (2.0, 3));
        assert!(
            (m.high - 2.0 - 2.4843).abs() < 1e-3 && (2.0 - m.low - 2.4843).abs() < 1e-3,
            "{m:?}"
        );
        assert_eq!(Mean::of([5.0]), Mean { mean: 5.0, low: 5.0, high: 5.0, n: 1 });
        assert!(Mean::of([]).mean.is_nan());
    }

    /// Values of tables: beyond 20 degrees of freedom they still fall, towards 1.96.
    #[test]
    fn intervals_of_many_values() {
        for (degrees, table) in [(1, 12.706), (20, 2.086), (21, 2.080), (25, 2.060), (30, 2.042)] {
            assert!((t(degrees) - table).abs() < 5e-4, "{degrees}: {}", t(degrees));
        }
        for (degrees, table) in [(60, 2.000_30), (120, 1.979_93), (999, 1.962_34)] {
            assert!((t(degrees) - table).abs() < 1e-5, "{degrees}: {}", t(degrees));
        }
        assert!(are_one(&["a", "a"]) && !are_one(&["a", "b"]) && !are_one(&["a"]));
    }

    #[test]
    fn few_runs_give_wide_intervals() {
        let (low, high) = Share { of: 3, n: 3 }.interval();
        assert!((low - 0.4385).abs() < 1e-3 && high == 1.0);
        let (low, high) = Share { of: 0, n: 10 }.interval();
        assert!(low == 0.0 && (high - 0.2775).abs() < 1e-3);
        assert_eq!(Share { of: 0, n: 0 }.interval(), (0.0, 1.0));
    }

    #[test]
    fn ratios_are_taken_pair_by_pair() {
        let m = Mean::ratio(&[2.0, 40.0, 6.0], &[1.0, 20.0, 3.0]);
        assert!((m.mean - 2.0).abs() < 1e-12 && (m.high - m.low).abs() < 1e-9);
        let m = Mean::ratio(&[1.0, 4.0], &[1.0, 1.0]);
        assert!((m.mean - 2.0).abs() < 1e-12 && m.low < 1.0);
    }

    #[test]
    fn quantiles_are_values() {
        let v: Vec<f64> = (1..=100).map(f64::from).collect();
        assert_eq!(
            [quantile(&v, 0.5), quantile(&v, 0.99), quantile(&v, 1.0), quantile(&v, 0.0)],
            [50.0, 99.0, 100.0, 1.0]
        );
        assert!(quantile(&[], 0.5).is_nan());
        assert_eq!(quantile(&[3.0], 0.99), 3.0);
    }
}
