//! Bins of flow sizes.

use xoff_units::measured::size;

use crate::compare::{CompareError, Run};

/// Sizes at which a bin begins, unless they are given [bytes].
const EDGES: [u64; 6] = [0, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];

/// Bins of flows by size.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Bins {
    /// Decades from 10 KB to 100 MB.
    #[default]
    Decades,
    /// Bins that begin at these sizes [bytes].
    At(Vec<u64>),
    /// So many bins with about as many flows each.
    Equal(usize),
}

impl Bins {
    /// Sizes at which bins begin.
    pub(crate) fn starts<'r>(
        &self,
        runs: impl Iterator<Item = &'r Run>,
    ) -> Result<Vec<u64>, CompareError> {
        match self {
            Bins::Decades => Ok(EDGES.to_vec()),
            Bins::At(given) => {
                if given.is_empty() || given.windows(2).any(|w| w[0] >= w[1]) {
                    return Err(CompareError::new(
                        format!(
                            "bins: expected sizes in bytes that grow, such as [0, 10_000, 1_000_000], not {given:?}"
                        ),
                        "give the sizes at which bins start, the smallest first",
                    ));
                }
                let zero = (given[0] > 0).then_some(0);
                Ok(zero.into_iter().chain(given.iter().copied()).collect())
            }
            Bins::Equal(0) => Err(CompareError::new(
                "bins: expected 1 or more, not 0",
                "give the number of bins, or the sizes at which they start",
            )),
            Bins::Equal(n) => {
                let mut sizes: Vec<u64> = runs
                    .flat_map(|r| r.flows.iter().filter(|f| f.is_sized()).map(|f| f.size_bytes))
                    .collect();
                sizes.sort_unstable();
                let mut starts = vec![0];
                starts.extend((1..*n).filter_map(|i| sizes.get(sizes.len() * i / n)));
                starts.sort_unstable();
                starts.dedup();
                Ok(starts)
            }
        }
    }
}

/// `10 KB to 100 KB`.
pub(crate) fn label(from: u64, to: Option<u64>) -> String {
    match to {
        None => format!("{} and more", size(from as f64)),
        Some(to) if from == 0 => format!("below {}", size(to as f64)),
        Some(to) => format!("{} to {}", size(from as f64), size(to as f64)),
    }
}
