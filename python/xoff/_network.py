"""A network that a Python program drives: messages in, their results out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from os import PathLike, fspath
from typing import Any, Literal, NamedTuple

from . import _core
from ._numbers import perhaps, whole
from ._run import Run, open
from ._settings import settings


class Happened(NamedTuple):
    """Something that has happened in a :class:`Network`."""

    what: Literal["sent", "delivered", "acknowledged", "received", "timer", "deadlock"]
    """``sent``: the last frame of a message begins to leave its source. ``delivered``: its last byte has arrived. ``acknowledged``: its source
    knows that. ``received``: the bytes of a receive have arrived. ``deadlock``: ports that can never send again; from then on each wait without
    a limit ends so."""
    time_ps: int
    """When."""
    id: int
    """Number of the message, receive or timer, as :meth:`Network.send`, :meth:`Network.receive` or :meth:`Network.schedule` returned it."""
    tag: int
    """The tag that was given with it; of a receive, the token."""


class Network:
    """A lossless network beneath your own simulator. The C library has the same functions (docs/c-library.md).

        net = xoff.Network("star.toml")
        net.send("H0", "H1", 1_000_000, tag=7)
        for event in net:
            print(event)
        run = net.finish("out/driven")

    Simulated time stops at the last event that you took. A message that you send next begins at that time.
    """

    def __init__(
        self,
        scenario: str | PathLike[str],
        settings_: Mapping[str, Any] | None = None,
        /,
        *,
        priorities: Sequence[int] = (0,),
        acknowledged: bool = False,
        threads: int = 1,
        **overrides: Any,
    ) -> None:
        """A network at rest, from a scenario file, which needs no flows; ``run.duration`` ends nothing. Overrides are those of :func:`xoff.run`.

        ``priorities``: those that messages may have. ``acknowledged``: acknowledgements are events too (the scenario needs ``host.acks``).
        ``threads``: for :meth:`advance`; no result depends on it.
        Raises :class:`xoff.ScenarioError` if something is wrong with the scenario.
        """
        all_settings = settings(settings_ or {}, overrides)
        numbers = [whole("priorities", p, 0, 255) for p in priorities]
        self._net = _core.Network(fspath(scenario), all_settings, numbers, acknowledged, whole("threads", threads, 1, 65_535))
        self._priority = self._net.priority()

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Network:
        """The network that :meth:`save` wrote into a file. It continues as the other one would: the same events, results and numbers.

        Raises :class:`xoff.RunError` if the file cannot be used; only the same build of xoff can read it.
        """
        net = cls.__new__(cls)
        net._net = _core.Network.load(fspath(path))
        net._priority = net._net.priority()
        return net

    def save(self, path: str | PathLike[str]) -> None:
        """Writes the state into a file, with the scenario and the events that were not taken: whole, or not at all. Raises
        :class:`xoff.RunError` if that is not possible."""
        self._net.save(fspath(path))

    @property
    def hosts(self) -> list[str]:
        """Names of the hosts, in their order."""
        return self._net.hosts()

    @property
    def threads(self) -> int:
        """Threads that :meth:`advance` uses: fewer than were asked for where the network cannot be divided so."""
        return self._net.threads()

    @property
    def now_ps(self) -> int:
        """How far time has come."""
        return self._net.now()

    @property
    def lost_frames(self) -> int:
        """Frames that were lost until now, for any cause."""
        return self._net.lost_frames()

    def host_rate_bps(self, host: str) -> int:
        """Rate of a host: of all its links that are up [bit/s]."""
        return self._net.host_rate(host)

    def send(self, src: str, dst: str, size_bytes: int, *, tag: int = 0, priority: int | None = None, queue_pair: int | None = None) -> int:
        """A message begins now. Returns its number.

        Messages of one ``queue_pair`` (0 to 65535, by source and destination) leave one after the other and share their congestion state;
        ``None``: the message has a pair of its own. ``priority``: by default the first of the network's. Raises ``ValueError`` if there is no
        such host or no route.
        """
        chosen = self._priority if priority is None else whole("priority", priority, 0, 7)
        return self._net.send(src, dst, whole("size_bytes", size_bytes), chosen, perhaps("queue_pair", queue_pair, 0, 65_535), whole("tag", tag))

    def receive(self, dst: str, src: str, size_bytes: int, *, tag: int = 0, token: int = 0) -> int:
        """``dst`` expects so many bytes from ``src`` in messages with this tag. Returns the number of the receive."""
        return self._net.receive(dst, src, whole("tag", tag), whole("size_bytes", size_bytes), whole("token", token))

    def schedule(self, after_ps: int, *, tag: int = 0) -> int:
        """A timer, so long from now. Returns its number."""
        return self._net.schedule(whole("after_ps", after_ps), whole("tag", tag))

    def fail_link(self, link: str) -> None:
        """A link such as ``"S1-S2"`` fails now, for the rest of the run."""
        self._net.fail_link(link)

    def set_rate(self, link: str, rate_bps: int) -> None:
        """A link has this rate from its next frames on: more than 0, and at most that of the scenario."""
        self._net.set_rate(link, whole("rate_bps", rate_bps))

    def next(self, until_ps: int | None = None) -> Happened | None:
        """What happens next; ``None``: nothing until ``until_ps``, which is now then, or, without it, nothing ever.

        Ctrl-C ends the wait, and the network continues with the next call.
        """
        event = self._net.next(perhaps("until_ps", until_ps))
        return None if event is None else Happened(*event)

    def advance(self, until_ps: int) -> None:
        """Nothing is sent before ``until_ps``: the network runs until then without stops, on all its threads. That time is now then, and
        :meth:`next` returns what has happened, each event with its time; ``next(0)`` returns ``None`` after the last of them."""
        self._net.advance(whole("until_ps", until_ps))

    def __iter__(self) -> Iterator[Happened]:
        """All events until nothing happens any more, or until a deadlock."""
        while (event := self.next()) is not None:
            yield event
            if event.what == "deadlock":
                return

    def finish(self, out: str | PathLike[str]) -> Run:
        """Writes the results until now into a folder, as ``xoff run`` does, and returns them. The messages run a second time for this, with
        all that the scenario records. Raises :class:`xoff.RunError` if that is not possible."""
        self._net.finish(fspath(out))
        return open(out)
