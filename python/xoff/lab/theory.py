"""Solvers and searches of xoff's analysis, for metrics. They run without the lock of the interpreter."""

from .._core import gfc_onset, gfc_overshoot, gfc_smallest_gap

__all__ = ["gfc_onset", "gfc_overshoot", "gfc_smallest_gap"]
