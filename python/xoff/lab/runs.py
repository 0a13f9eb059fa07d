"""Runs of a claim: their list, their execution with every finished run kept, and the input of the metrics."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import inspect
import io
import itertools
import json
import os
import re
import tomllib
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import _core, _sweep
from .._errors import RunError, ScenarioError, ScenarioWarning
from .._identity import identity
from .._progress import StepCallback
from . import code, real
from .code import Function, defined, reads
from .given import ClaimError, shown

if TYPE_CHECKING:
    import polars as pl

Settings = dict[str, Any]


def cases(spec: Mapping[str, Any], seed: int) -> list[tuple[str, Settings]]:
    """Name and settings of every run: cases x grid x seeds; ``over`` replaces settings of all. Each has its seed in ``run.seed``."""
    grid: Mapping[str, Any] = spec.get("grid", {})
    named: Mapping[str, Settings] = spec.get("case", {"": {}})
    given = spec.get("seeds", 1)
    seeds = list(given) if isinstance(given, (list, tuple, range)) else [seed + i for i in range(int(given))]
    fixed: Settings = dict(spec.get("set", {}))
    all_: list[tuple[str, Settings]] = []
    for name, own in named.items():
        for values in itertools.product(*grid.values()):
            settings = fixed | own | dict(zip(grid, values, strict=True)) | spec.get("over", {})
            own_seed = settings.pop("run.seed", None)
            all_ += [(name, settings | {"run.seed": s}) for s in (seeds if own_seed is None else [own_seed])]
    return all_


class Row(Mapping[str, Any]):
    """A finished run: ``case``, its settings, ``seed``, the columns of a sweep and what the claim measured, by name; frames are read when
    they are asked for."""

    def __init__(self, values: dict[str, Any], frames: Mapping[str, Callable[[], pl.DataFrame]]) -> None:
        self.values_, self.frames = values, frames
        self.read: dict[str, pl.DataFrame] = {}

    def __getitem__(self, name: str) -> Any:
        if name in self.values_:
            return self.values_[name]
        if name not in self.read:
            if name not in self.frames:
                raise KeyError(f"the run has no '{name}' (it has {', '.join([*self.values_, *self.frames])})")
            self.read[name] = self.frames[name]()
        return self.read[name]

    def __iter__(self) -> Iterator[str]:
        return iter([*self.values_, *self.frames])

    def __len__(self) -> int:
        return len(self.values_) + len(self.frames)


class Runs(Sequence[Row]):
    """Finished runs of a ``[[run]]``, in its order."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._rows = list(rows)

    def __getitem__(self, at: Any) -> Any:
        """``runs["late"]``: the run of a case; ``runs[0]``: by number."""
        return self.row(case=at) if isinstance(at, str) else self._rows[at]

    def __len__(self) -> int:
        return len(self._rows)

    def where(self, settings: Mapping[str, Any] | None = None, /, **named: Any) -> Runs:
        """The runs with these settings; ``__`` in a name stands for a dot: ``runs.where(switch__discipline="fifo")``."""
        wanted = {**(settings or {}), **{k.replace("__", "."): v for k, v in named.items()}}
        return Runs([r for r in self._rows if all(r.get(k) == v for k, v in wanted.items())])

    def row(self, settings: Mapping[str, Any] | None = None, /, **named: Any) -> Row:
        """The only run with these settings."""
        found = self.where(settings, **named)
        if len(found) != 1:
            raise KeyError(f"{len(found)} runs have {dict(settings or {}) | named}, not one")
        return found._rows[0]

    def column(self, name: str) -> list[Any]:
        """A value of every run."""
        return [r[name] for r in self._rows]

    def frame(self, name: str | None = None) -> pl.DataFrame:
        """A row for each run; with a name, the measured frames of all runs, each with the columns of its case, settings and seed."""
        import polars as pl

        if name is None:
            return pl.DataFrame([r.values_ for r in self._rows], infer_schema_length=None)
        keys = [{k: v for k, v in r.values_.items() if k in r.values_["keys"]} for r in self._rows]
        frames: list[pl.DataFrame] = [r[name].with_columns(**{k: pl.lit(v) for k, v in own.items()}) for r, own in zip(self._rows, keys, strict=True)]
        joined: pl.DataFrame = pl.concat(frames, how="diagonal_relaxed")
        return joined


class Runner:
    """Executes the runs of a paper's claims; what is finished is kept in its folder."""

    def __init__(self, folder: Path, out: Path, executor: Any, workers: int | None, force: bool, report: StepCallback | None) -> None:
        self.folder, self.out, self.executor, self.workers, self.force, self.report = folder, out, executor, workers, force, report

    def run(self, spec: Mapping[str, Any], module: str, todo: Sequence[tuple[str, Settings]]) -> Runs:
        """Executes these; equal ones once."""
        real = self._settings(spec, module, [s for _, s in todo])
        unique = list({json.dumps(s, sort_keys=True): s for s in real}.values())
        if not unique:
            return Runs([])
        measure = Function(self.folder, module, spec["measure"]) if "measure" in spec else None
        executor, workers = self.executor, spec.get("workers", self.workers)
        before, kept = reads(self.folder, module), self._kept()
        if "testbed" in spec:
            # Two at a time would disturb each other.
            core: Any = RealRuns(self.folder / spec["scenario"], spec["testbed"], Function(self.folder, module, spec["measure"]), unique, before)
            executor, workers = None, 1
        elif "function" in spec:
            core = Calls(Function(self.folder, module, spec["function"]), unique, before)
        else:
            core = self._sweep(self.folder / spec["scenario"], unique, "" if measure is None else f"measure {identity(measure.function)} {before}")
        core.claim(self.out / "runs", self.force)
        try:
            lost = _sweep.drive(core, executor, measure, workers, self.report)
            if lost:
                raise _sweep.not_returned(core, lost, f" (finished runs are kept in {self.out}; the same call continues)")
            found = [self._row(core, i) for i in range(len(unique))]
        finally:
            core.release()
            if reads(self.folder, module) != before:
                # Nobody knows which text they have read.
                for file in self._kept() - kept:
                    file.unlink()
        at = {json.dumps(s, sort_keys=True): row for s, row in zip(unique, found, strict=True)}
        rows = []
        for (name, given), own in zip(todo, real, strict=True):
            values, frames = at[json.dumps(own, sort_keys=True)]
            shown = {"case": name} | {k: v for k, v in given.items() if k != "run.seed"} | {"seed": given["run.seed"]}
            for taken in ({*values, *frames} & {*shown, "keys"}) - {k for k, v in shown.items() if values.get(k) == v}:
                raise ScenarioError(f"a run returns '{taken}', which is the name of a setting or of a column that each run has; choose another name")
            rows.append(Row({"case": name, **values, **shown, "keys": list(shown)}, frames))
        return Runs(rows)

    def _settings(self, spec: Mapping[str, Any], module: str, given: Sequence[Settings]) -> Sequence[Settings]:
        """The settings of each run. A function of the claim may compute them from those that its file gives, and from the scenario."""
        if "settings" not in spec:
            return given
        function = getattr(code.module(self.folder, module), spec["settings"])
        scenario = tomllib.loads((self.folder / spec["scenario"]).read_text(encoding="utf-8"))
        found = [function(dict(s), scenario) for s in given]
        for one in found:
            if not isinstance(one, Mapping):
                raise ClaimError(f"{defined(self.folder, function)}{spec['settings']} returned {shown(one)} (expected a mapping from settings to values)")
        return found

    def _kept(self) -> set[Path]:
        return {f for below in ("runs/finished", "functions") for f in (self.out / below).rglob("*") if f.is_file()}

    def _sweep(self, scenario: Path, todo: Sequence[Settings], measure: str) -> Any:
        plan = _plan(scenario, todo)
        try:
            return _core.Sweep("", plan, measure)
        except ScenarioError as e:
            # The lines of the plan are settings of the claim.
            lines = plan.splitlines()
            texts = [f"{lines[p.line - 1].partition(' = ')[0]}: {p.message}{f' ({p.hint})' if p.hint else ''}" if p.file == "plan" and p.line else str(p) for p in e.problems]
            raise ClaimError("\n".join(dict.fromkeys(texts))) from None

    def _row(self, core: Any, index: int) -> tuple[dict[str, Any], dict[str, Callable[[], pl.DataFrame]]]:
        """What was measured of a run: values and frames."""
        kept = core.kept(index)
        if kept is None:
            raise RunError(f"a run has no result: {core.words(index)}")
        shard = json.loads(kept)
        if shard["status"] != "done":
            raise RunError(f"a run failed ({core.words(index)}): {shard['error']}")
        files = {name: core.kept_table(index, name) for name, _ in shard.get("tables", [])}
        return dict(shard["values"]), {name: functools.partial(_frame, data) for name, data in files.items()}


def _frame(parquet: bytes) -> pl.DataFrame:
    import polars as pl

    frame: pl.DataFrame = pl.read_parquet(io.BytesIO(parquet))
    return frame


def _plan(scenario: Path, todo: Sequence[Settings]) -> str:
    # flow[10] after flow[9]: settings may append flows.
    points = [{k: s[k] for k in sorted(s, key=lambda k: [int(p) if p.isdigit() else p for p in re.split(r"(\d+)", k)])} for s in todo]
    return _sweep._given({"scenario": str(scenario), "point": points})[1] or ""


class Calls:
    """Calls of a function with settings as keywords, in place of runs of a scenario: what :class:`_core.Sweep` is for these."""

    def __init__(self, function: Function, settings: Sequence[Settings], reads: str) -> None:
        takes_seed = "seed" in inspect.signature(function.function).parameters
        self.function: Callable[..., Any] = function
        self.settings = [{k: v for k, v in s.items() if takes_seed or k != "run.seed"} for s in settings]
        self.keys = _keys([identity(function.function), reads], self.settings)
        self.folder = Path()

    def __len__(self) -> int:
        return len(self.keys)

    def claim(self, folder: Path, _force: bool) -> None:
        # Beside the runs: a folder of runs contains nothing else.
        self.folder = folder.with_name("functions")
        self.folder.mkdir(parents=True, exist_ok=True)

    def release(self) -> None:
        pass

    def words(self, index: int) -> str:
        return ", ".join(f"{k}={v}" for k, v in self.settings[index].items())

    def unfinished(self) -> list[int]:
        return [i for i in range(len(self)) if not (kept := self.kept(i)) or json.loads(kept)["status"] != "done"]

    def task(self, index: int) -> tuple[Any, ...]:
        return _call, self.function, self.settings[index]

    def put(self, index: int, shard: str, tables: list[tuple[str, bytes]]) -> bool:
        kept = json.loads(shard)
        for name, data in tables:
            write(self.folder / f"{self.keys[index]}.{name}.parquet", data)
        write(self.folder / f"{self.keys[index]}.json", json.dumps(kept | {"tables": [[name, ""] for name, _ in tables]}).encode())
        return bool(kept["status"] == "done")

    def kept(self, index: int) -> str | None:
        file = self.folder / f"{self.keys[index]}.json"
        if not file.exists():
            return None
        try:
            text = file.read_text(encoding="utf-8")
            # The last bytes of a whole Parquet file.
            whole = all((self.kept_table(index, name) or b"").endswith(b"PAR1") for name, _ in json.loads(text)["tables"])
        except (OSError, ValueError, KeyError, TypeError):
            whole = False
        if not whole:
            warnings.warn(f"{file} cannot be read; the function is called again", ScenarioWarning, stacklevel=2)
        return text if whole else None

    def kept_table(self, index: int, name: str) -> bytes | None:
        return (self.folder / f"{self.keys[index]}.{name}.parquet").read_bytes()


class RealRuns(Calls):
    """Runs of a scenario with real frames. The first one that fails ends all: it lacks something that the others lack, too."""

    def __init__(self, scenario: Path, options: Mapping[str, Any], measure: Function, settings: Sequence[Settings], reads: str) -> None:
        self.function = functools.partial(real.run, scenario, options, measure)
        self.settings = list(settings)
        self.keys = _keys([scenario.read_text(encoding="utf-8"), dict(options), identity(measure.function), reads], settings)
        self.folder = Path()

    def unfinished(self) -> list[int]:
        # Cases take turns, so that the machine is the same for all.
        return sorted(super().unfinished(), key=lambda i: self.settings[i]["run.seed"])

    def put(self, index: int, shard: str, tables: list[tuple[str, bytes]]) -> bool:
        if not super().put(index, shard, tables):
            raise RunError(json.loads(shard)["error"])
        return True


def _keys(basis: Any, settings: Sequence[Settings]) -> list[str]:
    program = [_core.VERSION, _program()]
    return [hashlib.sha256(json.dumps([basis, program, s], sort_keys=True).encode()).hexdigest()[:32] for s in settings]


def keywords(settings: Mapping[str, Any], seeded: bool) -> dict[str, Any]:
    """Settings as keywords of a function; ``seed`` if it takes one."""
    return {("seed" if k == "run.seed" else k.replace(".", "__")): v for k, v in settings.items() if seeded or k != "run.seed"}


def _call(function: Callable[..., Any], settings: Settings) -> _sweep.Returned:
    shard: dict[str, Any] = {"status": "done", "values": []}
    tables: list[tuple[str, bytes]] = []
    try:
        shard["values"], tables = _sweep.split(function(**keywords(settings, "run.seed" in settings)))
    except Exception as e:  # noqa: BLE001 - it is the call's
        shard |= {"status": "failed", "error": str(e) if isinstance(e, RunError) else f"{type(e).__name__}: {e}"}
    return json.dumps(shard), tables


def write(path: Path, data: bytes) -> None:
    """All of it or nothing."""
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        part.write_bytes(data)
        part.replace(path)
    except OSError as e:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
        raise RunError(f"{path} cannot be written: {e.strerror} (make room, or allow it; finished runs are kept, so that the same call continues)") from None


def _program() -> str:
    """Identity of a build: size and time of the extension module."""
    of = os.stat(_core.__file__)
    return f"{of.st_size}-{of.st_mtime_ns}"
