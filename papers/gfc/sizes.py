"""Fig. 15: the flow sizes."""

from bisect import bisect_right

from xoff.lab import Results, theory

NAME = "enterprise"
CAP = 30_000_000
"""Largest flow of the runs [bytes]."""
POINTS, MEAN, MEDIAN = theory.flow_sizes(NAME)
CAPPED_POINTS, CAPPED_MEAN, _ = theory.flow_sizes(NAME, CAP)


def share_up_to(size: int) -> float:
    """Share of the flows up to a size; linear between the points."""
    at = min(max(bisect_right([point[0] for point in POINTS], size), 1), len(POINTS) - 1)
    (x0, p0), (x1, p1) = POINTS[at - 1], POINTS[at]
    return (p0 + (p1 - p0) * (size - x0) / max(x1 - x0, 1)) / 100


def above(r: Results) -> float:
    """Share of the bytes in flows above 1 MB: what is left of the mean without those below it."""
    size = 1_000_000
    return 1 - (theory.flow_sizes(NAME, size)[1] - size * (1 - share_up_to(size))) / MEAN


def shrunk(r: Results) -> float:
    """Share of the flows that the cap shrinks."""
    return 1 - share_up_to(CAP)
