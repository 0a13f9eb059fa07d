"""``python -m xoff.lab FOLDER [CLAIM ...] [--full] [--out DIR] [--seed N] [--record]``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from . import reproduce, results


def main(args: list[str] | None = None) -> int:
    """Runs the claims, prints the answer; exit code 0: all are reproduced."""
    parser = argparse.ArgumentParser(prog="python -m xoff.lab")
    parser.add_argument("folder")
    parser.add_argument("claims", nargs="*")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--out")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int)
    parser.add_argument("--record", action="store_true", help="Keep the measured values in results.json of the folder.")
    given = parser.parse_args(args)
    answer = reproduce(given.folder, given.claims or None, mode="full" if given.full else "quick", out=given.out, seed=given.seed, workers=given.workers)
    if given.record:
        results.record(Path(given.folder), answer.json)
    print(answer)
    return 0 if answer else 1


if __name__ == "__main__":
    sys.exit(main())
