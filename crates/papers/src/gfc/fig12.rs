//! Fig. 12: PFC and buffer-based GFC on the fat-tree with three failed links.

use super::fat_tree;
use super::schemes::{GFC_BUFFER, PFC};
use crate::{Context, Findings, ReproduceError};

/// The entry. Stage 1, 5 Gb/s, is [B_1, B_2) = [281, 290.5) KB.
pub fn run(cx: &Context) -> Result<Findings, ReproduceError> {
    fat_tree::pair(cx, "PFC and buffer-based GFC on the fat-tree (paper: Fig. 12)", PFC, GFC_BUFFER, (281e3, 290.5e3))
}
