"""The same checks on the egress of ns3-rdma, the simulator that the paper's grew from: its egress is FIFO.

The claims serve ingresses round robin, which gives the paper's figures. The paper names no discipline, so that the page has both.
"""

from xoff.lab import Results


def second_reading(r: Results) -> list[dict[str, str]]:
    """The checks under round robin and under FIFO, the runs "fifo"."""
    words = {True: "yes", False: "no"}
    return [
        {"Check": a.what, "Expected": a.range, "Round robin": a.measured, "Holds": words[a.holds], "Under FIFO": b.measured, "Holds ": words[b.holds]}
        for a, b in zip(r.checks(), r.checks("fifo"), strict=True)
    ]


def under_fifo(r: Results) -> str:
    """How many of them hold, and which differ."""
    pairs = list(zip(r.checks(), r.checks("fifo"), strict=True))
    hold = f"{sum(b.holds for _, b in pairs)} of {len(pairs)} checks hold"
    changed = [f"{b.what} ({b.measured} instead of {a.measured})" for a, b in pairs if a.holds != b.holds]
    return f"{hold}. These differ: {'; '.join(changed)}." if changed else f"the same {hold} (table)."
