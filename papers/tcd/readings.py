"""Readings of "average link loads to 60 %" (section 5.2.1) and of the hash that spreads the flows.

                     offered, per load of a host        of those links that a flow can take
  hosts              1
  edge, aggregation  share of flows to another switch   x 1
  core               share of flows to another pod      x 1, or x k / 2 where every switch has the same hash: the n-th aggregation
                                                        switch of a pod gets what hashes to n, and sends all of it to its n-th core
"""

import math
from dataclasses import dataclass
from typing import Any

LOAD = 0.6
"""The paper's load."""
HASHES = {"ecmp-polarised": "one hash for all switches", "ecmp": "a different hash at each switch"}
"""``ecmp-polarised``: as ns3-rdma has it."""
MEANINGS = {"hosts": "on hosts' links", "tiers": "on average of the tiers", "links": "on average of the links in use"}
"""Links that carry the load: those of the hosts; the three tiers on average, or all links, of those that a flow can take."""


@dataclass(frozen=True)
class Reading:
    """A reading of the paper's fabric."""

    hash: str
    load: str | float
    """Which links carry 60 %; a number: the hosts' links carry this share instead."""

    def tiers(self, k: int) -> list[float]:
        """Offered load of hosts', edge and core links in a fat-tree of ``k``, for a host load of 1."""
        half, hosts = k / 2, k**3 // 4
        leaving = [(hosts - inside) / (hosts - 1) for inside in (half, half * half)]
        return [1.0, leaving[0], leaving[1] * (half if self.hash == "ecmp-polarised" else 1.0)]

    def host_load(self, k: int) -> float:
        """The load of a host's link."""
        tiers = self.tiers(k)
        # Every tier has as many links; a same hash everywhere leaves but 2 / k of those to the core.
        used = [1.0, 1.0, 2 / k if self.hash == "ecmp-polarised" else 1.0]
        if isinstance(self.load, float):
            exact = self.load
        elif self.load == "hosts":
            exact = LOAD
        elif self.load == "tiers":
            exact = LOAD * 3 / sum(tiers)
        else:
            exact = LOAD * sum(used) / sum(t * u for t, u in zip(tiers, used, strict=True))
        return math.floor(exact * 1000 + 0.5) / 1000

    def settings(self, k: int) -> dict[str, Any]:
        """Over the scenario."""
        return {"routing.kind": self.hash, "workload[0].load": self.host_load(k)}

    @property
    def name(self) -> str:
        """In words."""
        share, where = (self.load, MEANINGS["hosts"]) if isinstance(self.load, float) else (LOAD, MEANINGS[self.load])
        return f"{HASHES[self.hash]}, {share * 100:.0f} % {where}"


BASE = Reading("ecmp-polarised", "tiers")
"""The reading that is judged."""
READINGS = [
    Reading("ecmp-polarised", 0.2),
    Reading("ecmp-polarised", 0.35),
    Reading("ecmp-polarised", "links"),
    Reading("ecmp-polarised", "hosts"),
    Reading("ecmp", "hosts"),
    Reading("ecmp", "tiers"),
]
"""The others, and loads between them."""
