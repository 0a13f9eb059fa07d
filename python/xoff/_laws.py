"""Flow control, rate control and load balancing written in Python: for experiments, about ten times slower than the built-in ones.

::

      upstream port                              downstream port
      egress queue -> Sender.gate --- data --->  ingress buffer -> Receiver
                      Sender.on_message <------- message --------------+

      source: RateControl.rate, window <--- acknowledgements, CNPs, CNMs --- destination, switches
      switch: frame in -> LoadBalancing.pick(next hops) -> egress queue

Times are whole picoseconds since the start (``now_ps``), sizes bytes, rates bit/s. A hook that a class does not define costs nothing: its default is
what its documentation says, and is not called. Hooks get no clock, no random source and no file: draw from ``random.Random(flow.seed)`` or ``hops.draw()``,
and the same scenario gives the same result.

The protocols may be used as base classes, or only be followed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from ._core import Ack, Arrival, FlowFacts, Link, NextHops, Occupancy, Pause, Timers

__all__ = ["Ack", "Arrival", "FlowControl", "FlowFacts", "Link", "LoadBalancing", "Message", "NextHops", "Occupancy", "Pause", "RateControl", "Receiver", "Sender", "Timers"]

if TYPE_CHECKING:
    from typing import Literal

Message = int | Pause
"""Message from a receiver to its sender: a number below 2**64 that the mechanism defines, or a PAUSE of 802.1Q."""


class Receiver(Protocol):
    """The downstream half, one for each direction of a link and priority: measures an ingress buffer and sends messages upstream."""

    def on_arrival(self, now_ps: int, occupancy: Occupancy, frame_bytes: int) -> Message | None:
        """A frame was admitted; ``occupancy`` is the state after it. Returns a message to send. Default: none."""
        return None

    def on_departure(self, now_ps: int, occupancy: Occupancy, frame_bytes: int) -> Message | None:
        """A frame left the buffer; ``occupancy`` is the state after it. Returns a message to send. Default: none."""
        return None

    def on_wake(self, now_ps: int, occupancy: Occupancy) -> Message | None:
        """The clock reached :meth:`next_wake`; it may be called early, late and again. Returns a message to send. Default: none."""
        return None

    def next_wake(self) -> int | None:
        """When the clock matters next [ps]; ``None``: not. Asked at the start, after a message was sent and after :meth:`on_wake`. Default: never."""
        return None

    def holds(self, occupancy: Occupancy, stuck_bytes: int, frame_bytes: int) -> bool:
        """Of what ``occupancy`` has now, ``stuck_bytes`` never leave and the rest does: does the upstream port then stay unable to send a frame
        of ``frame_bytes`` for ever? The deadlock detector asks. Default: ``False``: no deadlock is ever found."""
        return False


class Sender(Protocol):
    """The upstream half: obeys messages and answers for one egress queue."""

    credits: bool = False
    """True if missing credits block it, not messages: table ``pauses`` then has cause ``credits``."""

    def gate(self, now_ps: int, frame_bytes: int) -> bool | int:
        """Whether this frame may start now: ``True``; ``False``: not until a message; or a time after now [ps]: not before it. It must change nothing: how often it is asked depends on the engine. Default: ``True``."""
        return True

    def on_sent(self, now_ps: int, frame_bytes: int, duration_ps: int) -> None:
        """A frame starts now and occupies the wire for ``duration_ps``. Default: nothing."""
        return None

    def on_message(self, now_ps: int, message: Message) -> None:
        """A message of the peer takes effect. Default: nothing."""
        return None

    def held(self, now_ps: int, frame_bytes: int) -> bool:
        """Whether the peer's messages pause the queue, whatever timer may run. Default: ``gate(...) is False``."""
        return self.gate(now_ps, frame_bytes) is False

    def rate(self, now_ps: int) -> float:
        """The allowed rate [bit/s]; 0 while paused. For records only: :meth:`gate` enforces it. Default: 0 while paused, else the link's."""
        return 0.0

    def restart(self, now_ps: int) -> None:
        """The link has been down: earlier messages no longer count. Default: nothing."""
        return None


class FlowControl(Protocol):
    """A hop-by-hop flow control: ``xoff.run(scenario, flow_control=MyFlowControl)``, a class without arguments or an object.

    An attribute ``message_bytes`` is the size of a message on the wire [bytes] (default: 64); 0: it takes no time there.
    """

    def receiver(self, link: Link) -> Receiver:
        """The downstream half for one direction of a link and one priority."""
        ...

    def sender(self, link: Link) -> Sender:
        """The upstream half."""
        ...


class RateControl(Protocol):
    """An end-to-end rate control: ``xoff.run(scenario, rate_control=MyRateControl)``. An object of the class is made for each flow.

    Which hooks the class defines decides what its hosts are sent: :meth:`on_ack` or :meth:`window` needs ``host.acks = "per-frame"``, :meth:`on_cnp` a
    detection that marks, :meth:`on_cnm` one that sends CNMs (``qcn``).
    """

    cnp_interval_ps: int = 50_000_000
    """Shortest distance between two CNPs of a flow [ps]; those of DCQCN: 50 us."""
    undetermined: bool = False
    """CNPs report frames marked UE too (detection ``tcd``)."""

    def __init__(self, flow: FlowFacts) -> None:
        """A new flow."""
        return None

    def rate(self) -> float:
        """The rate at which the flow may send now [bit/s], 1 or more; rounded down."""
        ...

    def window(self) -> float | None:
        """Largest number of unacknowledged bytes, 1 or more; ``None``: no limit. Default: none."""
        return None

    def on_sent(self, now_ps: int, frame_bytes: int, timers: Timers) -> None:
        """A frame of the flow was sent. Default: nothing."""
        return None

    def on_ack(self, now_ps: int, ack: Ack, timers: Timers) -> None:
        """An acknowledgement. Default: nothing."""
        return None

    def on_cnp(self, now_ps: int, mark: Literal["ce", "ue"], timers: Timers) -> None:
        """A CNP: marked frames have arrived. Default: nothing."""
        return None

    def on_cnm(self, now_ps: int, degree: int, timers: Timers) -> None:
        """A CNM of a congested switch, degree 1 to 63. Default: nothing."""
        return None

    def on_wake(self, now_ps: int, timer: int, timers: Timers) -> None:
        """Timer ``timer`` may be due; one for a time that no longer counts is to be ignored. Default: nothing."""
        return None


class LoadBalancing(Protocol):
    """A choice among the next hops of a frame: ``xoff.run(scenario, load_balancing=MyLoadBalancing)``. An object of the class is made for each switch.

    xoff asks for frames of data that have two next hops or more. Acknowledgements and notifications keep the path of their hash.
    """

    reorders: bool = True
    """True if frames of a flow may overtake each other: then ``host.order`` is ``buffer`` by default, and a frame ahead of a gap breaks no promise."""
    capacities: bool = False
    """True if :meth:`pick` reads ``hops.capacity_bps``: computing them takes time."""

    def __init__(self, switch: str) -> None:
        """The switch of this name, at the start of the run."""
        return None

    def pick(self, now_ps: int, frame: Arrival, hops: NextHops) -> int:
        """The next hop of a frame whose last bit has arrived: a number from 0 to ``len(hops) - 1``."""
        ...
