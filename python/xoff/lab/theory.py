"""Solvers and searches of xoff's analysis, for metrics. They run without the lock of the interpreter."""

from .._core import (
    gfc_onset,
    gfc_overshoot,
    gfc_smallest_gap,
    granters_in_slots,
    lemma_1_figures,
    lemma_1_random,
    lemma_1_sharing,
    theorem_1_example,
    theorem_1_trial,
)

__all__ = [
    "gfc_onset",
    "gfc_overshoot",
    "gfc_smallest_gap",
    "granters_in_slots",
    "lemma_1_figures",
    "lemma_1_random",
    "lemma_1_sharing",
    "theorem_1_example",
    "theorem_1_trial",
]
