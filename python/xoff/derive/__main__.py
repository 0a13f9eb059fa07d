"""What ``xoff verify`` starts: the answer, or why there is none, is JSON on stdout."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from .._errors import RunError, ScenarioError
from . import verify


def main(args: list[str] | None = None) -> int:
    """Exit code 0: there is an answer; 2: there is none."""
    parser = argparse.ArgumentParser(prog="python -m xoff.derive")
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--answer")
    parser.add_argument("--printed")
    given = parser.parse_args(args)
    try:
        answer, printed = (Path(f).read_text(encoding="utf-8") if f else None for f in (given.answer, given.printed))
        found, code = verify(*given.folders, answer=answer, printed=printed).to_json(), 0
    except (ScenarioError, RunError, OSError, ValueError) as e:
        found, code = {"refused": str(e)}, 2
    sys.stdout.write(json.dumps(found))
    return code


if __name__ == "__main__":
    sys.exit(main())
