"""The scenario that most tests run: three switches in a ring."""

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import xoff

ROOT = Path(__file__).parents[2]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--full", action="store_true", help="the large variants of tests that have one")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Records each skipped test for `make test`, as the Rust tests do. Workers send their reports to the main process."""
    skips = os.environ.get("XOFF_TEST_SKIPS")
    if report.skipped and not hasattr(report, "wasxfail") and skips and "PYTEST_XDIST_WORKER" not in os.environ:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        with open(skips, "a", encoding="utf-8") as file:
            file.write(f"skipped: {report.nodeid}: {reason.removeprefix('Skipped: ')}\n")


@pytest.fixture(scope="session")
def full(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--full"))


@pytest.fixture(scope="session")
def ring() -> Path:
    return ROOT / "scenarios" / "tutorial" / "ring.toml"


@pytest.fixture(scope="session")
def pfc(ring: Path) -> xoff.Run:
    """Under PFC it deadlocks."""
    return xoff.run(ring)


interrupts: list[threading.Timer] = []


def interrupt_soon(after: float = 0.3) -> None:
    """Ctrl-C in 0.3 s; not after the end of the test, where it would meet the next one."""
    # A shell starts background jobs with SIGINT ignored, and Python then installs no handler: the test would never end.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    interrupts.append(threading.Timer(after, lambda: signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)))
    interrupts[-1].start()


@pytest.fixture(autouse=True)
def no_interrupt_is_left() -> Iterator[None]:
    yield
    while interrupts:
        interrupts.pop().cancel()
