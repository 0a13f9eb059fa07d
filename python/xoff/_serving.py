"""Inference with separate prefill and decode pools, on a network that it drives.

    request --> prefill instance --> keys and values --> decode instance --> tokens
                layer: compute, exchange among ranks     step: all its sequences, layer by layer

Pools and their measures are those of DistServe (Zhong et al., OSDI'24), the transfer layer by layer that of Splitwise (Patel et al., ISCA'24),
the batch that changes at each step that of Orca (Yu et al., OSDI'22), the exchange with experts that of GShard (Lepikhin et al., ICLR'21).
"""

from __future__ import annotations

import heapq
import random
from collections import deque
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate, pairwise
from math import floor
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _units
from ._network import Happened, Network
from ._numbers import shown, whole
from ._progress import Line, Step, StepCallback

if TYPE_CHECKING:
    import polars as pl

    from ._run import Run


class Request(NamedTuple):
    """A request to an inference service."""

    arrival_ps: int
    """Time at which it arrives."""
    prompt_tokens: int
    """Tokens of its prompt."""
    output_tokens: int
    """Tokens of its answer. The prefill instance makes the first one."""


def poisson_requests(rate_per_s: float, count: int, *, prompt_tokens: int, output_tokens: int, seed: int = 1) -> list[Request]:
    """Requests of one size with exponential times between them, the first of these from time 0.

    Raises ``ValueError`` and ``TypeError`` for arguments that cannot be.
    """
    _real("rate_per_s", rate_per_s, 1e-6, 1e12)
    _sizes("", prompt_tokens, output_tokens)
    draw = random.Random(whole("seed", seed))
    gaps = (draw.expovariate(rate_per_s) for _ in range(whole("count", count, 1)))
    return [Request(round(at * 1e12), prompt_tokens, output_tokens) for at in accumulate(gaps)]


def _real(name: str, value: Any, least: float, most: float) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{name}: expected a number, not {shown(value)}")
    if not least <= value <= most:
        raise ValueError(f"{name}: expected {least:g} to {most:g}, not {shown(value)}")


def _sizes(of: str, prompt_tokens: Any, output_tokens: Any) -> None:
    whole(f"{of}prompt_tokens", prompt_tokens, 1, 10_000_000)
    whole(f"{of}output_tokens", output_tokens, 1, 10_000_000)


@dataclass(frozen=True, kw_only=True)
class Model:
    """A transformer and the time that it computes. Networks see no more of it."""

    layers: int
    """Layers, each with its exchange among the ranks of an instance."""
    token_bytes: int
    """Activations of one token, as ranks exchange them [bytes]."""
    kv_bytes_per_token: int
    """Keys and values of one token in all layers [bytes]."""
    prefill_ps_per_token: int
    """Computing of a prompt's token in all layers, on a prefill instance."""
    decode_ps_per_step: int
    """Computing of a step of a decode instance, whatever its batch."""
    decode_ps_per_sequence: int = 0
    """What each sequence of the batch adds to it."""
    experts: int = 0
    """Experts of a layer; 0: the layers are dense. Expert e of a layer is on rank e mod n of an instance."""
    experts_per_token: int = 1
    """Experts that a token goes to."""
    expert_skew: float = 0.0
    """Exponent of Zipf's law for the popularity of experts; 0: all are equal. Which ones are popular differs by layer."""

    def __post_init__(self) -> None:
        # What a time or a message may reach at most keeps products below 2^63.
        whole("layers", self.layers, 1, 100_000)
        whole("token_bytes", self.token_bytes, 1, 10**9)
        whole("kv_bytes_per_token", self.kv_bytes_per_token, 0, 10**9)
        whole("prefill_ps_per_token", self.prefill_ps_per_token, 0, 10**11)
        whole("decode_ps_per_step", self.decode_ps_per_step, 0, 10**15)
        whole("decode_ps_per_sequence", self.decode_ps_per_sequence, 0, 10**12)
        whole("experts", self.experts, 0, 10_000)
        whole("experts_per_token", self.experts_per_token, 1, self.experts or 10_000)
        _real("expert_skew", self.expert_skew, 0, 10)


@dataclass(frozen=True, kw_only=True, eq=False)
class Served:
    """Answer of :func:`xoff.serve`."""

    answer: str
    """``yes``: all requests are complete, and no frame was lost; ``no`` otherwise."""
    headline: str
    """The answer in one line."""
    requests: pl.DataFrame = field(repr=False)
    """A row for each request, in the order given (docs/inference.md)."""
    tokens: pl.DataFrame = field(repr=False)
    """A row for each token of an answer, by request and position (docs/inference.md)."""
    run: Run | None = field(repr=False)
    """Tables and report of the network, if ``out`` was given."""

    def __bool__(self) -> bool:
        return self.answer == "yes"

    def __str__(self) -> str:
        return self.headline


class _Wait:
    """A number of things that a process waits for."""

    __slots__ = ("left", "resume")

    def __init__(self, left: int) -> None:
        self.left = left
        self.resume: Callable[[], None] | None = None

    def done(self) -> None:
        self.left -= 1
        if self.left == 0 and self.resume is not None:
            self.resume()


_Process = Generator[_Wait, None, None]


class _Sequence:
    """A request on its way."""

    def __init__(self, number: int, request: Request) -> None:
        self.number, self.request = number, request
        self.prefill = self.decode = 0
        self.start_ps: int | None = None
        self.kv_ps: int | None = None
        self.end_ps: int | None = None
        # Time and network's part of each token.
        self.tokens: list[tuple[int, int]] = []
        # Messages with keys and values under way, and whether all have been sent.
        self.kv_messages, self.kv_sent = 0, False


class _Instance:
    """An instance of a pool."""

    def __init__(self, ranks: Sequence[str]) -> None:
        self.ranks = list(ranks)
        self.queue: deque[_Sequence] = deque()
        # What it was given and has not finished: tokens to prefill, or sequences to decode.
        self.load = 0
        self.idle: _Wait | None = None

    def give(self, sequence: _Sequence) -> None:
        self.queue.append(sequence)
        if self.idle is not None:
            idle, self.idle = self.idle, None
            idle.done()

    def wait(self) -> _Wait:
        self.idle = _Wait(1)
        return self.idle


def _part(total: int, n: int, i: int) -> int:
    """The i-th of n parts."""
    return total * (i + 1) // n - total * i // n


def _shares(model: Model) -> list[float]:
    """Share of each expert in all copies of tokens, by popularity. A token has one copy for an expert at most."""
    weights = [(e + 1) ** -model.expert_skew for e in range(model.experts)]
    # Each with those after it, from the smallest on: differences of sums would lose the small ones.
    tails = list(accumulate(reversed(weights)))[::-1]
    copies, shares = float(model.experts_per_token), []
    for w, tail in zip(weights, tails, strict=True):
        expected = min(1.0, copies * w / tail)
        shares.append(expected / model.experts_per_token)
        copies -= expected
    return shares


class _Service:
    def __init__(self, net: Network, model: Model, prefill: Sequence[Sequence[str]], decode: Sequence[Sequence[str]], **options: Any) -> None:
        self.net, self.model = net, model
        self.prefill, self.decode = [_Instance(p) for p in prefill], [_Instance(d) for d in decode]
        self.batch_max: int = options["batch_max"]
        self.kv_by_layer: bool = options["kv_by_layer"]
        self.sent: dict[int, tuple[int, Callable[[], None]]] = {}
        self.rate = min(net.host_rate_bps(host) for pool in (prefill, decode) for ranks in pool for host in ranks)
        self.timers: dict[int, Callable[[], None]] = {}
        self.open = 0
        self.deadlock_ps: int | None = None
        self.last_ps = self.messages = 0
        draw = random.Random(options["seed"])
        shares = _shares(model)
        # By layer: share of the copies of tokens that goes to each expert.
        self.shares = [draw.sample(shares, len(shares)) for _ in range(model.layers if shares else 0)]

    def run(self, sequences: list[_Sequence], progress: StepCallback) -> None:
        self.open = len(sequences)
        for s in sequences:
            self.timers[self.net.schedule(s.request.arrival_ps)] = partial(self._arrived, s)
        for instance in self.prefill:
            self._go(self._prefills(instance))
        for instance in self.decode:
            self._go(self._decodes(instance))
        shown = 0
        while self.open and (event := self._next()) is not None:
            self.last_ps = event.time_ps
            if event.what == "delivered":
                self.sent.pop(event.id)[1]()
            elif event.what == "timer":
                self.timers.pop(event.id)()
            elif event.what == "deadlock":
                self.deadlock_ps = event.time_ps
                return
            done = len(sequences) - self.open
            if done > shown:
                shown = done
                progress(Step(done / len(sequences), f"{done:,} of {len(sequences):,} requests"))

    def _next(self) -> Happened | None:
        """What happens next; ``None``: nothing. Where receivers send credits by the clock, a network that has lost a message never comes to
        rest. There a second without an event, and ten times as long as all that is under way takes, is the end."""
        bits = 8 * sum(size for size, _ in self.sent.values())
        silence = 10**12 + 10 * bits * 10**12 // max(self.rate, 1)
        while (event := self.net.next(self.net.now_ps + silence)) is None and self.timers:
            pass
        return event

    def _go(self, process: _Process) -> None:
        """Runs a process until it has to wait."""
        for wait in process:
            if wait.left:
                wait.resume = lambda: self._go(process)
                return

    def _timer(self, ps: int) -> _Wait:
        wait = _Wait(1)
        self.timers[self.net.schedule(ps)] = wait.done
        return wait

    def _compute(self, ps: int) -> _Wait:
        return self._timer(ps) if ps else _Wait(0)

    def _send(self, src: str, dst: str, size: int, queue_pair: int, done: Callable[[], None]) -> None:
        self.sent[self.net.send(src, dst, size, queue_pair=queue_pair)] = (size, done)
        self.messages += 1

    def _arrived(self, s: _Sequence) -> None:
        """A request goes to the prefill instance with the fewest tokens and the decode instance with the fewest sequences, the first of these."""
        s.prefill = min(range(len(self.prefill)), key=lambda i: self.prefill[i].load)
        s.decode = min(range(len(self.decode)), key=lambda i: self.decode[i].load)
        self.prefill[s.prefill].load += s.request.prompt_tokens
        self.decode[s.decode].load += 1
        self.prefill[s.prefill].give(s)

    def _prefills(self, instance: _Instance) -> _Process:
        layers = self.model.layers
        while True:
            if not instance.queue:
                yield instance.wait()
            s = instance.queue.popleft()
            tokens, network = s.request.prompt_tokens, 0
            s.start_ps = self.net.now_ps
            for layer in range(layers):
                yield self._compute(_part(tokens * self.model.prefill_ps_per_token, layers, layer))
                before = self.net.now_ps
                yield from self._exchange(instance.ranks, layer, tokens)
                network += self.net.now_ps - before
                if self.kv_by_layer:
                    self._send_kv(s, instance, layer)
            s.tokens.append((self.net.now_ps, network))
            if not self.kv_by_layer:
                for layer in range(layers):
                    self._send_kv(s, instance, layer)
            s.kv_sent = True
            instance.load -= tokens
            if s.request.output_tokens == 1:
                self._end(s)
            elif not s.kv_messages:
                self._kv_there(s)

    def _send_kv(self, s: _Sequence, instance: _Instance, layer: int) -> None:
        """Keys and values of a layer, from the ranks that have them to the ranks that need them: each has an equal part of them, in order."""
        if s.request.output_tokens == 1:
            return
        total = _part(s.request.prompt_tokens * self.model.kv_bytes_per_token, self.model.layers, layer)
        have, need = instance.ranks, self.decode[s.decode].ranks
        cuts = sorted({total * i // len(have) for i in range(len(have) + 1)} | {total * i // len(need) for i in range(len(need) + 1)})
        i = j = 0
        for start, end in pairwise(cuts):
            while total * (i + 1) // len(have) <= start:
                i += 1
            while total * (j + 1) // len(need) <= start:
                j += 1
            s.kv_messages += 1
            self._send(have[i], need[j], end - start, 1, lambda: self._kv_delivered(s))

    def _kv_delivered(self, s: _Sequence) -> None:
        s.kv_messages -= 1
        if s.kv_sent and not s.kv_messages:
            self._kv_there(s)

    def _kv_there(self, s: _Sequence) -> None:
        s.kv_ps = self.net.now_ps
        self.decode[s.decode].give(s)

    def _decodes(self, instance: _Instance) -> _Process:
        model = self.model
        batch: list[_Sequence] = []
        while True:
            if not batch and not instance.queue:
                yield instance.wait()
            # Everything else that happens at this time comes first.
            yield self._timer(0)
            while instance.queue and len(batch) < self.batch_max:
                batch.append(instance.queue.popleft())
            time, network = model.decode_ps_per_step + len(batch) * model.decode_ps_per_sequence, 0
            for layer in range(model.layers):
                yield self._compute(_part(time, model.layers, layer))
                before = self.net.now_ps
                yield from self._exchange(instance.ranks, layer, len(batch))
                network += self.net.now_ps - before
            for s in batch:
                first = (s.kv_ps or 0) - s.tokens[0][0] if len(s.tokens) == 1 else 0
                s.tokens.append((self.net.now_ps, network + first))
                if len(s.tokens) == s.request.output_tokens:
                    self._end(s)
            batch = [s for s in batch if s.end_ps is None]

    def _end(self, s: _Sequence) -> None:
        s.end_ps = self.net.now_ps
        self.decode[s.decode].load -= 1
        self.open -= 1

    def _exchange(self, ranks: list[str], layer: int, tokens: int) -> _Process:
        """The messages of a layer among the ranks of an instance, which continue when the last one is there.

        Dense: an all-reduce after the attention and one after the feed-forward part (Shoeybi et al., Megatron-LM, 2019, section 3). With
        experts: the first of these, then tokens to their experts and back.
        """
        size = tokens * self.model.token_bytes
        yield self._all_reduce(ranks, size)
        if not self.shares:
            yield self._all_reduce(ranks, size)
            return
        n, shares = len(ranks), self.shares[layer]
        to = [sum(shares[e] for e in range(j, len(shares), n)) for j in range(n)]
        cut = [0.0, *accumulate(to)]
        cut[n] = 1.0
        there = {}
        for i in range(n):
            sent = _part(tokens, n, i) * self.model.experts_per_token
            # Each rank rounds at another place. Else the few tokens of a decode step would all go to the same experts.
            offset = (i + layer) % n / n
            for j in range(n):
                # A product may lie just below the whole number that it is.
                copies = floor(sent * cut[j + 1] + offset + 1e-6) - floor(sent * cut[j] + offset + 1e-6)
                if i != j and copies:
                    there[i, j] = copies * self.model.token_bytes
        yield self._all_to_all(ranks, there)
        yield self._all_to_all(ranks, {(j, i): size for (i, j), size in there.items()})

    def _all_reduce(self, ranks: list[str], size: int) -> _Wait:
        """A ring: in step k rank r sends part r - k, which it received in step k - 1."""
        n = len(ranks)
        steps = 2 * (n - 1)
        wait = _Wait(n * steps)

        def send(r: int, k: int) -> None:
            self._send(ranks[r], ranks[(r + 1) % n], _part(size, n, (r - k) % n), 0, lambda: received((r + 1) % n, k))

        def received(r: int, k: int) -> None:
            if k + 1 < steps:
                send(r, k + 1)
            wait.done()

        for r in range(n if steps else 0):
            send(r, 0)
        return wait

    def _all_to_all(self, ranks: list[str], sizes: Mapping[tuple[int, int], int]) -> _Wait:
        wait = _Wait(len(sizes))
        for (i, j), size in sizes.items():
            self._send(ranks[i], ranks[j], size, 0, wait.done)
        return wait


def serve(
    scenario: str | PathLike[str],
    settings_: Mapping[str, Any] | None = None,
    /,
    *,
    model: Model,
    prefill: Sequence[Sequence[str]],
    decode: Sequence[Sequence[str]],
    requests: Sequence[Request],
    batch_max: int = 256,
    kv_by_layer: bool = True,
    seed: int = 1,
    priority: int = 0,
    out: str | PathLike[str] | None = None,
    progress: bool | StepCallback = True,
    **overrides: Any,
) -> Served:
    """Inference over a network: a prefill pool, a decode pool, and how long each request and token takes (docs/inference.md).

    ``prefill``, ``decode``: the hosts of each instance, one for each rank. ``batch_max``: sequences of a decode instance at a time.
    ``kv_by_layer``: keys and values leave after each layer, not after the last one. ``seed``: which experts are popular. ``priority``: of
    all messages. ``out``: also write tables and report of the network there, if it had a message. ``progress``: a line on
    stderr if that is a terminal; or a function that is called with :class:`xoff.Step`. The other arguments are those of :class:`xoff.Network`.

    Raises :class:`xoff.ScenarioError` if something is wrong with the scenario, ``ValueError`` and ``TypeError`` for the other arguments, and
    :class:`xoff.RunError` if ``out`` cannot be written.
    """
    if not isinstance(model, Model):
        raise TypeError(f"model: expected an xoff.Model, not {shown(model)}")
    pools = {"prefill": _pool("prefill", prefill), "decode": _pool("decode", decode)}
    sequences = [_sequence(number, request) for number, request in enumerate(requests)]
    if not sequences:
        raise ValueError("requests: expected one or more")
    whole("batch_max", batch_max, 1, 1_000_000)
    net = Network(scenario, settings_, priorities=[whole("priority", priority, 0, 7)], **overrides)
    known = set(net.hosts)
    for name, pool in pools.items():
        if unknown := [host for instance in pool for host in instance if host not in known]:
            raise ValueError(f"{name}: there is no host {unknown[0]!r}; the hosts are {', '.join(heapq.nsmallest(8, known))}...")
    service = _Service(net, model, pools["prefill"], pools["decode"], batch_max=batch_max, kv_by_layer=kv_by_layer, seed=whole("seed", seed))
    line = Line()
    service.run(sequences, progress if callable(progress) else line.step("requests") if progress else lambda _: None)
    line.clear()
    return _answer(service, sequences, None if out is None or not service.messages else net.finish(out))


def _pool(name: str, pool: Any) -> list[list[str]]:
    try:
        instances = [] if isinstance(pool, str) else [[] if isinstance(instance, str) else list(instance) for instance in pool]
    except TypeError:
        instances = []
    if not instances or not all(instances) or not all(isinstance(host, str) for instance in instances for host in instance):
        raise ValueError(f'{name}: expected lists of hosts, such as [["H0", "H1"], ["H2", "H3"]]')
    if twice := [instance for instance in instances if len(set(instance)) < len(instance)]:
        raise ValueError(f"{name}: an instance has the same host twice: {', '.join(twice[0])}")
    return instances


def _sequence(number: int, request: Any) -> _Sequence:
    of = f"requests[{number}]"
    try:
        arrival, prompt, output = request
    except (TypeError, ValueError):
        raise TypeError(f"{of}: expected an xoff.Request, not {shown(request)}") from None
    whole(f"{of}.arrival_ps", arrival, 0, 10**18)
    _sizes(f"{of}.", prompt, output)
    return _Sequence(number, Request(arrival, prompt, output))


def _answer(service: _Service, sequences: list[_Sequence], run: Run | None) -> Served:
    import polars as pl

    columns = "request prefill decode prompt_tokens output_tokens arrival_ps start_ps first_token_ps first_token_network_ps kv_ps end_ps"
    rows = [
        (s.number, s.prefill, s.decode, r.prompt_tokens, r.output_tokens, r.arrival_ps, s.start_ps, *(s.tokens[0] if s.tokens else (None, None)), s.kv_ps, s.end_ps)
        for s in sequences
        for r in [s.request]
    ]
    requests = pl.DataFrame(rows, schema=dict.fromkeys(columns.split(), pl.UInt64), orient="row")
    tokens = pl.DataFrame(
        [(s.number, nth, time, network) for s in sequences for nth, (time, network) in enumerate(s.tokens)],
        schema=dict.fromkeys(("request", "token", "time_ps", "network_ps"), pl.UInt64),
        orient="row",
    )
    done, lost = len(sequences) - service.open, service.net.lost_frames
    first = [(s.tokens[0][0] - s.request.arrival_ps, s.tokens[0][1]) for s in sequences if s.tokens]
    gaps = [b[0] - a[0] for s in sequences for a, b in pairwise(s.tokens)]
    parts = [f"{done:,} of {len(sequences):,} requests complete"]
    if service.deadlock_ps is not None:
        parts.append(f"stopped at {_units.time(service.deadlock_ps)} by a deadlock")
    elif service.open:
        parts.append(f"nothing more arrives from {_units.time(service.last_ps)} on: a message is lost or has no route")
    if lost:
        parts.append(f"{lost:,} frames lost")
    if first:
        total, network = (sorted(f[i] for f in first) for i in (0, 1))
        parts.append(f"first token after {_both(total)}, network {_both(network)}")
    if gaps:
        parts.append(f"then a token every {_both(sorted(gaps))}")
    yes = done == len(sequences) and not lost
    return Served(answer="yes" if yes else "no", headline="; ".join(parts), requests=requests, tokens=tokens, run=run)


def _both(ordered: list[int]) -> str:
    """Median and 99th percentile, by the nearest rank."""
    at = [ordered[max(0, -(-q * len(ordered) // 100) - 1)] for q in (50, 99)]
    return f"{_units.time(at[0])} (99th percentile {_units.time(at[1])})"
