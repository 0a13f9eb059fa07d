"""The scenario that most tests run: three switches in a ring."""

import signal
import threading
from pathlib import Path

import pytest
import xoff

ROOT = Path(__file__).parents[2]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--full", action="store_true", help="the large variants of tests that have one")


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


def interrupt_soon() -> None:
    """Ctrl-C in 0.3 s."""
    # A shell starts background jobs with SIGINT ignored, and Python then installs no handler: the test would never end.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Timer(0.3, lambda: signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)).start()
