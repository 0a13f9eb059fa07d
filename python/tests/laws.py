"""Mechanisms written in Python that repeat built-in ones."""

from __future__ import annotations

import xoff

NEVER = 2**63


class PfcReceiver:
    """Pauses above XOFF, resumes at XON, repeats at half life."""

    def __init__(self, link: xoff.Link, xoff_bytes: int, xon_bytes: int, quanta: int | None) -> None:
        self.link, self.xoff, self.xon, self.quanta = link, xoff_bytes, xon_bytes, quanta
        self.pausing, self.repeat_at = False, NEVER

    def _pause(self, now_ps: int) -> xoff.Pause:
        self.pausing = True
        if self.quanta is not None:
            self.repeat_at = now_ps + self.link.time_for(64 * self.quanta) // 2
        return xoff.Pause(self.quanta)

    def on_arrival(self, now_ps: int, occupancy: xoff.Occupancy, frame_bytes: int) -> xoff.Pause | None:
        return self._pause(now_ps) if not self.pausing and occupancy.bytes > self.xoff else None

    def on_departure(self, now_ps: int, occupancy: xoff.Occupancy, frame_bytes: int) -> xoff.Pause | None:
        if not self.pausing or occupancy.bytes > self.xon:
            return None
        self.pausing, self.repeat_at = False, NEVER
        return xoff.Pause(0)

    def on_wake(self, now_ps: int, occupancy: xoff.Occupancy) -> xoff.Pause | None:
        return self._pause(now_ps) if self.repeat_at <= now_ps else None

    def next_wake(self) -> int | None:
        return None if self.repeat_at == NEVER else self.repeat_at

    def holds(self, occupancy: xoff.Occupancy, stuck_bytes: int, frame_bytes: int) -> bool:
        return self.pausing and stuck_bytes > self.xon


class PfcSender(xoff.Sender):
    """Obeys pauses with a time."""

    def __init__(self, link: xoff.Link) -> None:
        self.link, self.until = link, 0

    def gate(self, now_ps: int, frame_bytes: int) -> bool | int:
        return now_ps >= self.until or (self.until if self.until != NEVER else False)

    def held(self, now_ps: int, frame_bytes: int) -> bool:
        return now_ps < self.until

    def on_message(self, now_ps: int, message: xoff.Message) -> None:
        assert isinstance(message, xoff.Pause)
        q = message.quanta
        self.until = NEVER if q is None else 0 if q == 0 else now_ps + self.link.time_for(64 * q)

    def restart(self, now_ps: int) -> None:
        self.until = 0


class Pfc:
    """802.1Q with static thresholds."""

    def __init__(self, xoff_bytes: int = 800_000, xon_bytes: int = 797_000, quanta: int | None = 65_535) -> None:
        self.thresholds = (xoff_bytes, xon_bytes, quanta)

    def receiver(self, link: xoff.Link) -> PfcReceiver:
        return PfcReceiver(link, *self.thresholds)

    def sender(self, link: xoff.Link) -> PfcSender:
        return PfcSender(link)


class FixedWindow(xoff.RateControl):
    """What ``host.window`` does."""

    def __init__(self, flow: xoff.FlowFacts) -> None:
        self.line = flow.line_bps

    def rate(self) -> float:
        return self.line

    def window(self) -> float:
        return 15_000


class Dctcp(xoff.RateControl):
    """DCTCP (RFC 8257) with a window in bytes: alpha from the share of marked bytes in a round trip."""

    G = 1 / 16

    def __init__(self, flow: xoff.FlowFacts) -> None:
        self.line, self.cwnd, self.alpha = flow.line_bps, 100_000.0, 1.0
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
        share = self.marked / self.total if self.total else 0.0
        self.alpha += self.G * (share - self.alpha)
        self.cwnd = max(self.cwnd * (1 - self.alpha / 2), 1500.0) if self.marked else self.cwnd + 1500
        self.round_end, self.marked, self.total = ack.sent_bytes, 0, 0




class Dcqcn(xoff.RateControl):
    """DCQCN's reaction point (SIGCOMM'15) with alpha = 0.5 at the start."""

    cnp_interval_ps = 50_000_000
    G, PERIOD_PS, COUNTER, STAGES = 1 / 256, 55_000_000, 10_000_000, 5
    RATE_AI, RATE_HAI, RATE_MIN = 40_000_000, 200_000_000, 100_000_000
    ALPHA, INCREASE = 0, 2

    def __init__(self, flow: xoff.FlowFacts) -> None:
        self.line = self.current = self.target = flow.line_bps
        self.alpha, self.cut_once = 0.5, False
        self.time_stage = self.byte_stage = 0
        self.bytes_left = self.COUNTER
        self.due: dict[int, int] = {}

    def _arm(self, timer: int, now_ps: int, timers: xoff.Timers) -> None:
        self.due[timer] = now_ps + self.PERIOD_PS
        timers.arm(timer, self.due[timer])

    def rate(self) -> float:
        return self.current

    def on_cnp(self, now_ps: int, mark: str, timers: xoff.Timers) -> None:
        self.cut_once = True
        self.target = self.current
        self.current = max(self.RATE_MIN, int(self.current * (1 - self.alpha / 2)))
        self.time_stage = self.byte_stage = 0
        self.bytes_left = self.COUNTER
        self._arm(self.INCREASE, now_ps, timers)
        self.alpha = (1 - self.G) * self.alpha + self.G
        self._arm(self.ALPHA, now_ps, timers)

    def on_sent(self, now_ps: int, frame_bytes: int, timers: xoff.Timers) -> None:
        if not self.cut_once:
            return
        if self.bytes_left > frame_bytes:
            self.bytes_left -= frame_bytes
        else:
            self.bytes_left = self.COUNTER
            self.byte_stage += 1
            self._increase()

    def on_wake(self, now_ps: int, timer: int, timers: xoff.Timers) -> None:
        if self.due.get(timer) != now_ps:
            return  # armed again since
        self._arm(timer, now_ps, timers)
        if timer == self.ALPHA:
            self.alpha *= 1 - self.G
        else:
            self.time_stage += 1
            self._increase()

    def _increase(self) -> None:
        low, high = sorted((self.time_stage, self.byte_stage))
        if high >= self.STAGES:
            self.target += self.RATE_HAI * (low - self.STAGES) if low > self.STAGES else self.RATE_AI
        self.target = min(self.target, self.line)
        self.current = min(self.current // 2 + self.target // 2, self.line)


class Credits:
    """A credit for every byte of the buffer that is free: no frame is lost, and nothing is ever paused."""

    def receiver(self, link: xoff.Link) -> CreditReceiver:
        return CreditReceiver(link)

    def sender(self, link: xoff.Link) -> CreditSender:
        return CreditSender()


class CreditReceiver(xoff.Receiver):
    """Sends every 10 us up to which byte the peer may send, counted from the start."""

    def __init__(self, link: xoff.Link) -> None:
        self.buffer, self.arrived, self.next = link.buffer_bytes, 0, 0

    def on_arrival(self, now_ps: int, occupancy: xoff.Occupancy, frame_bytes: int) -> None:
        self.arrived += frame_bytes

    def on_wake(self, now_ps: int, occupancy: xoff.Occupancy) -> int | None:
        if now_ps < self.next:
            return None
        self.next = now_ps + 10_000_000
        return self.arrived + self.buffer - occupancy.bytes

    def next_wake(self) -> int:
        return self.next

    def holds(self, occupancy: xoff.Occupancy, stuck_bytes: int, frame_bytes: int) -> bool:
        return stuck_bytes + frame_bytes > self.buffer


class CreditSender(xoff.Sender):
    """Sends while it has credits."""

    credits = True

    def __init__(self) -> None:
        self.limit = self.sent = 0

    def gate(self, now_ps: int, frame_bytes: int) -> bool:
        return self.sent + frame_bytes <= self.limit

    def on_sent(self, now_ps: int, frame_bytes: int, duration_ps: int) -> None:
        self.sent += frame_bytes

    def on_message(self, now_ps: int, message: xoff.Message) -> None:
        assert isinstance(message, int)
        self.limit = max(self.limit, message)


class SprayRoundRobin(xoff.LoadBalancing):
    """The next hops of a set in turn, from that of the first frame's hash."""

    def __init__(self, switch: str) -> None:
        self.latest: dict[int, int] = {}

    def pick(self, now_ps: int, frame: xoff.Arrival, hops: xoff.NextHops) -> int:
        latest = self.latest.get(frame.hop_set)
        self.latest[frame.hop_set] = hops.hashed if latest is None else (latest + 1) % len(hops)
        return self.latest[frame.hop_set]


class Drill(xoff.LoadBalancing):
    """DRILL(choices, memory)."""

    def __init__(self, choices: int, memory: int, switch: str) -> None:
        self.choices, self.memory = choices, memory
        self.best: dict[int, list[int]] = {}

    def pick(self, now_ps: int, frame: xoff.Arrival, hops: xoff.NextHops) -> int:
        n, drawn = len(hops), list[int]()
        for last in range(n - min(self.choices, n), n):
            at = int(hops.draw() * (last + 1))
            drawn.append(last if at in drawn else at)
        compared = sorted(self.best.get(frame.hop_set, []) + drawn, key=lambda hop: hops.waiting_bytes[hop])
        self.best[frame.hop_set] = list(dict.fromkeys(compared))[: self.memory]
        return compared[0]


class Hash(xoff.LoadBalancing):
    """ECMP."""

    reorders = False

    def pick(self, now_ps: int, frame: xoff.Arrival, hops: xoff.NextHops) -> int:
        return hops.hashed
