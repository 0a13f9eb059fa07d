"""Runs the farm's random fabrics with `xoff run` and verifies all that each prints.

    .venv/bin/python tools/farm/verify.py --cases 1500            # of each family
    .venv/bin/python tools/farm/verify.py --only tiny --out out/verify

`ledger.json` in the folder has the cases that are done: the same command goes on. Folders whose numbers differ stay there.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import xoff

ROOT = Path(__file__).parents[2]
FAMILIES = ("smallest", "tiny", "small", "infiniband", "by-flow", "lossy", "engines")
CHUNK = 40


def case(family: str, number: int, out: Path) -> tuple[int, dict[str, int], list[str]]:
    """Numbers compared, numbers not derived by reason, and differences."""
    programs = ROOT / "target" / "release"
    work = Path(tempfile.mkdtemp(prefix="xoff-verify-"))
    try:
        scenario, folder = work / f"{family}-{number}.toml", work / "run"
        scenario.write_text(said([programs / "xoff-farm", "show", family, str(number)]))
        run: list[str | Path] = [programs / "xoff", "run", scenario, "--out", folder]
        text = said([*run, "--verbose"])
        # Each second one also answers in JSON.
        answer = said([*run, "--json"]) if number % 2 else None
        # The answer is of the run that the folder now holds.
        found = xoff.verify(folder, answer=answer, printed=text)
        if not found.ok:
            shutil.copytree(work, out / scenario.stem, dirs_exist_ok=True)
            (out / scenario.stem / "printed.txt").write_text(text)
        unknown: Counter[str] = Counter()
        for (_, why), n in found.not_derived.items():
            unknown[why] += n
        return found.compared, dict(unknown), [f"{family} {number}: {d.place}: printed {d.printed}, derived {d.derived} from {d.table}" for d in found.differences]
    except (subprocess.SubprocessError, xoff.ScenarioError) as e:
        return 0, {}, [f"{family} {number}: {e}"]
    finally:
        shutil.rmtree(work, ignore_errors=True)


def said(words: list[str | Path]) -> str:
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120, env={"COLUMNS": "160", "LC_ALL": "C.UTF-8"})
    if done.returncode not in (0, 1):
        raise subprocess.SubprocessError(done.stderr)
    return done.stdout


def chunk(family: str, numbers: range, out: Path) -> tuple[int, dict[str, int], list[str]]:
    compared, unknown, wrong = 0, Counter[str](), []
    for number in numbers:
        n, u, w = case(family, number, out)
        compared += n
        unknown.update(u)
        wrong += w
    return compared, dict(unknown), wrong


def main() -> int:
    parser = argparse.ArgumentParser(description="Verifies random fabrics of the farm.")
    parser.add_argument("--cases", type=int, default=100, help="cases of each family")
    parser.add_argument("--only", action="append", choices=FAMILIES)
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "verify")
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    path = given.out / "ledger.json"
    ledger = json.loads(path.read_text()) if path.exists() else {"done": {}, "compared": 0, "not_derived": {}, "differences": []}
    work = []
    for family in given.only or FAMILIES:
        begin = ledger["done"].get(family, 0)
        work += [(family, range(a, min(a + CHUNK, given.cases))) for a in range(begin, given.cases, CHUNK)]
    work.sort(key=lambda w: w[1].start)
    with ProcessPoolExecutor(given.jobs) as pool:
        for (family, numbers), (compared, unknown, wrong) in zip(work, pool.map(chunk, *zip(*work, strict=True), [given.out] * len(work)), strict=True) if work else ():
            ledger["done"][family] = numbers.stop
            ledger["compared"] += compared
            for why, n in unknown.items():
                ledger["not_derived"][why] = ledger["not_derived"].get(why, 0) + n
            ledger["differences"] += wrong
            for w in wrong:
                print(w, flush=True)
            path.write_text(json.dumps(ledger, indent=1))
    cases = sum(ledger["done"].values())
    print(f"{cases:,} cases, {ledger['compared']:,} numbers compared, {len(ledger['differences'])} differ, {sum(ledger['not_derived'].values()):,} not derived")
    return 1 if ledger["differences"] else 0


if __name__ == "__main__":
    sys.exit(main())
