"""DCTCP as a rate control: a window that is cut by half the share of marked bytes."""

import xoff


class Dctcp(xoff.RateControl):
    def __init__(self, flow: xoff.FlowFacts) -> None:
        self.line, self.cwnd, self.alpha = flow.line_bps, 15_000.0, 1.0
        self.acked = self.round_end = self.marked = self.total = 0

    def rate(self) -> float:
        return self.line

    def window(self) -> float:
        return self.cwnd

    def on_ack(self, now_ps: int, ack: xoff.Ack, timers: xoff.Timers) -> None:
        new, self.acked = ack.acked_bytes - self.acked, ack.acked_bytes
        self.total += new
        self.marked += new if ack.mark == "ce" else 0
        if ack.acked_bytes < self.round_end:
            return
        # A round trip is over. g is 1/16 (section 3.5).
        self.alpha += (self.marked / self.total - self.alpha) / 16
        self.cwnd = max(self.cwnd * (1 - self.alpha / 2), 1500.0) if self.marked else self.cwnd + 1500
        self.round_end, self.marked, self.total = ack.sent_bytes, 0, 0
