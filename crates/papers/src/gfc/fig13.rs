//! Fig. 13: CBFC and time-based GFC on the fat-tree with three failed links.

use super::fat_tree;
use super::schemes::{CBFC, GFC_TIME};
use crate::{Context, Findings, ReproduceError};

/// The entry. At 5 Gb/s the mapping gives (B_m + B_0)/2 = 229.5 KB; 2 %.
pub fn run(cx: &Context) -> Result<Findings, ReproduceError> {
    fat_tree::pair(cx, "CBFC and time-based GFC on the fat-tree (paper: Fig. 13)", CBFC, GFC_TIME, (229.5e3 * 0.98, 229.5e3 * 1.02))
}
