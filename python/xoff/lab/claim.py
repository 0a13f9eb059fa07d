"""A claim of a paper: its file, and its result."""

from __future__ import annotations

import difflib
import hashlib
import itertools
import json
import math
import re
import string
import types
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from .._errors import RunError
from . import draw as drawing
from . import judge, readings, units
from .code import defined, files, module
from .given import CLAIM, NUMBER_TEXT, PATH, TABLES, TEXT, TEXTS, UNITS, ClaimError, Names, about, band, fill, known_unit, of_mode, possible, shown, toml, whole
from .judge import Check
from .readings import Cell, Grid, Reading
from .runs import Runner, Runs, cases, keywords
from .stats import Mean, Share

PAPER = "paper.toml"
"""Title and list of claims of a paper, in its folder."""
Mode = Literal["quick", "full"]

_PAPER = {"name": TEXT, "title": TEXT, "claims": TEXTS, "assumptions": UNITS}


@dataclass(frozen=True)
class Paper:
    """A folder with claims."""

    folder: Path
    title: str
    """Authors, title, place."""
    claims: list[str]
    """Its claims in the order of the paper."""
    assumptions: dict[str, str]
    """Assumptions that several checks name."""
    name: str
    """Short name: that of the folder, unless ``paper.toml`` has another."""

    @classmethod
    def read(cls, folder: Path) -> Paper:
        """From ``paper.toml``."""
        file = folder / PAPER
        if not file.is_file():
            raise ClaimError(f"{folder} is not the folder of a paper: there is no {file.name} (expected a folder such as papers/gfc)")
        given = toml(file, _PAPER)
        name = given.get("name", folder.resolve().name)
        for key in ("title", "claims"):
            if key not in given:
                raise ClaimError(f"{file}: missing key '{key}' (expected a title, and a list of names of claims)")
        if not given["claims"] or len({*given["claims"]}) < len(given["claims"]):
            raise ClaimError(f"{file}: claims (expected names of claims, each once)")
        if not re.fullmatch(r"[\w.+-]+", name) or set(name) == {"."}:
            raise ClaimError(f"{file}: name '{name}' (expected letters, digits, . + - _)")
        return cls(folder, given["title"], list(given["claims"]), dict(given.get("assumptions", {})), name)


@dataclass(frozen=True)
class Judged:
    """A claim with its result."""

    id: str
    title: str
    paper: str
    band: str
    verdict: judge.Verdict
    measured: str
    assumptions: list[str]
    changes: list[str]
    distance: str
    """How far the value that decides is from the paper's; may be empty."""
    cause: str
    """The main cause of a verdict, in a few words; may be empty."""
    checks: list[Check]
    why: list[str]
    notes: list[str]
    figures: list[dict[str, str]] = field(default_factory=list)
    """``file``, ``title`` and ``caption`` of each, the main one first."""
    tables: list[dict[str, Any]] = field(default_factory=list)
    """``caption``, ``columns`` and ``rows`` of each; the cells are texts. ``right``: columns of numbers."""


class Results:
    """What the metrics of a claim get: its finished runs, and the values of other metrics."""

    def __init__(self, mode: Mode, seed: int, functions: types.ModuleType) -> None:
        self.mode, self.seed, self._functions = mode, seed, functions
        self.named: dict[str, Runs] = {}
        self.cell: Cell = {}
        """The value of each reading."""
        self.check: Callable[[Results], list[Check]] | None = None
        """The checks of the claim on other results, once there are any."""
        self._values: dict[str, Any] = {}

    @property
    def full(self) -> bool:
        """Whether this is a full run."""
        return self.mode == "full"

    @property
    def runs(self) -> Runs:
        """The runs of the first ``[[run]]``."""
        return next(iter(self.named.values()))

    def __getitem__(self, name: str) -> Runs:
        """The runs of a ``[[run]]`` by its name."""
        if name not in self.named:
            raise KeyError(f"there is no run '{name}' (expected one of {', '.join(self.named)})")
        return self.named[name]

    def checks(self, runs: str | Runs | None = None) -> list[Check]:
        """The checks of the claim; with runs, or the name of a ``[[run]]``, on these in place of the first ones: the same under another reading."""
        other = Results(self.mode, self.seed, self._functions)
        other.cell = self.cell
        other.named = dict(self.named)
        if runs is not None:
            other.named[next(iter(self.named))] = self[runs] if isinstance(runs, str) else runs
        return self.check(other) if self.check is not None else []

    def value(self, name: str) -> Any:
        """The value of a metric: a function of the module, which is called once with these results, or a constant."""
        if name not in self._values:
            if not hasattr(self._functions, name):
                raise ClaimError(f"{self._functions.__name__.partition('.')[2]}.py has no metric '{name}'")
            found = getattr(self._functions, name)
            self._values[name] = self._called(found) if isinstance(found, types.FunctionType) else found
        return self._values[name]

    def _called(self, metric: types.FunctionType) -> Any:
        try:
            return metric(self)
        except TypeError as e:
            nothing = (f"'{k}' of the run {row['case']} seed {row['seed']}" for runs in self.named.values() for row in runs for k, v in row.values_.items() if v is None)
            if (name := next(nothing, None)) is None:
                raise
            raise TypeError(f"{e}; {' '.join(name.split())} is None: the run returned None, or a number that is infinite or NaN").with_traceback(e.__traceback__) from None

    def defined(self, path: str) -> str:
        """Where a metric begins."""
        metric = getattr(self._functions, path.partition("[")[0], None)
        return defined(Path(str(self._functions.__file__)).parent, metric)


class _Sentences(string.Formatter):
    """Format strings over metrics: ``{settled[late]:bytes}``."""

    def __init__(self, results: Results) -> None:
        self.results = results

    def get_field(self, field_name: str, args: Any, kwargs: Any) -> Any:
        path = PATH.fullmatch(field_name)
        if path is None:
            raise ClaimError(f"'{field_name}': expected the name of a metric, with keys in brackets")
        first, rest = path.groups()
        found = self.results.value(first)
        for key in re.findall(r"\[([^]]*)\]", rest):
            try:
                if isinstance(found, (Mean, Share)):
                    found = getattr(found, key)
                    continue
                # A number is the place in a list, or a key.
                found = found[int(key) if key.isdigit() and (not isinstance(found, Mapping) or int(key) in found) else key]
            except (KeyError, IndexError, TypeError, AttributeError) as e:
                raise ClaimError(f"'{field_name}': there is no '{key}' ({type(e).__name__}: {e})") from None
        return found, first

    def number(self, path: str, value: Any) -> float:
        """A value that must be one."""
        if value is None:
            return math.nan
        if not hasattr(value, "__float__"):
            raise ClaimError(f"{self.results.defined(path)}{path} is {shown(value)}, of type {type(value).__name__} (expected a number, a Mean or a Share)")
        return float(value)

    def format_field(self, value: Any, spec: str) -> str:
        try:
            return self._formatted(value, spec)
        except (TypeError, ValueError) as e:
            raise ClaimError(f"{shown(value)} in the format '{spec}': {e} (expected a number)") from None

    def _formatted(self, value: Any, spec: str) -> str:
        if spec in units.SPECS:
            unit = units.SPECS[spec]
            if isinstance(value, Mean):
                return value.words(lambda v: units.words(v, unit))
            if isinstance(value, (list, tuple)):
                return ", ".join(units.words(v, unit) for v in value)
            return units.words(None if value is None else float(value), unit)
        if spec and isinstance(value, Mean):
            return value.words(lambda v: format(v, spec))
        return str(format(value, spec))

    def path(self, path: str) -> Any:
        """The value of ``settled[late]``."""
        return self.get_field(path, (), {})[0]


class Claim:
    """A claim, read from its file."""

    def __init__(self, paper: Paper, id: str) -> None:
        self.paper, self.id = paper, id
        self.file = paper.folder / f"{id}.toml"
        if not re.fullmatch(r"[\w.+-]+", str(id)):
            raise ClaimError(f"{paper.folder / PAPER}: claim '{id}' (expected the name of a file without .toml: letters, digits, . + - _)")
        if not self.file.is_file():
            if id in paper.claims:
                raise ClaimError(f"{paper.folder / PAPER}: claims: '{id}': there is no {self.file} (expected a file for each claim)")
            raise ClaimError(f"{paper.folder} has no claim '{id}' (expected one of {', '.join(paper.claims)})")
        self.given = toml(self.file, CLAIM)
        whole(self.file, self.given)
        self.is_extension = self.given.get("kind", "claim") == "extension"
        self.module = self.given.get("module", "metrics")

    def resolve(self, mode: Mode) -> None:
        """Refuses names that the Python files of the folder lack, and scenarios that do not exist. It imports the files, and runs nothing."""
        names = self._names(self.module)
        self._resolve_runs(names, mode)
        names.sentence("measured", self.given["measured"])
        for check in self.given.get("check", []):
            where = f"the check '{check['what']}'"
            for args in names.filled(where, check):
                filled = {k: fill(v, args) if isinstance(v, str) else v for k, v in check.items()}
                names.metric(where, filled["value"])
                names.sentence(where, filled["what"])

                def number(value: Any, where: str = where, args: Mapping[str, Any] = args) -> float:
                    return names.number(where, fill(value, args) if isinstance(value, str) else value)

                with about(where):
                    for key in ("beside", "erratum"):
                        if key in filled:
                            number(filled[key])
                    band(filled, number)
                    known_unit(filled.get("unit", ""))
                    self._assumption(filled.get("assuming", ""))
                self._resolve_when(names, where, check, args)
        for key in ("why", "notes"):
            for one in self.given.get(key, []):
                given = {"text": one} if isinstance(one, str) else one
                for args in names.filled(key, given):
                    names.sentence(key, fill(given["text"], args))
                    self._resolve_when(names, key, given, args)
        for table in self.given.get("table", []):
            names.metric("[[table]]", table["rows"])
            names.sentence("[[table]]: caption", table.get("caption", ""))
            self._resolve_when(names, "[[table]]", table, {})
        for figure in self.given.get("figure", []):
            self._names("figures").takes("[[figure]]", figure["draw"], "results")
            for key in ("title", "caption"):
                names.sentence(f"[[figure]]: {key}", figure.get(key, ""))
            self._resolve_when(names, "[[figure]]", figure, {})

    def files(self) -> dict[str, str]:
        """Hashes of the files that its result depends on, by name."""
        return files(self.paper.folder, [self.file.name, PAPER, f"{self.module}.py", "figures.py"])

    @staticmethod
    def inputs(files: Mapping[str, str]) -> str:
        """One hash of :meth:`files`."""
        return hashlib.sha256(repr(sorted(files.items())).encode()).hexdigest()[:32]

    def _names(self, python: str) -> Names:
        file = self.paper.folder / f"{python}.py"
        if not file.is_file():
            raise ClaimError(f"{self.file}: there is no {file} (expected a Python file with functions that the claim names)")
        return Names(self.file, module(self.paper.folder, python))

    def _resolve_runs(self, names: Names, mode: Mode) -> None:
        for name, spec in self._specs(mode):
            where = f"[[run]] {name}".rstrip()
            if "scenario" in spec and not (self.paper.folder / spec["scenario"]).is_file():
                raise ClaimError(f"{self.file}: {where}: there is no scenario {self.paper.folder / spec['scenario']} (expected a file, relative to the folder)")
            for key, arguments in (("measure", ["run"]), ("cases", ["results"]), ("settings", ["settings", "scenario"])):
                if key in spec:
                    names.takes(f"{where}: {key}", spec[key], *arguments)
            if "function" in spec:
                seeded = "seed" in names.function(f"{where}: function", spec["function"]).parameters
                # Other settings are known once there are results.
                every = self.readings(mode)
                over = readings.settings(spec, every, readings.cells(every)[0])
                for _, settings in [] if "cases" in spec or "settings" in spec else cases({**spec, "over": over}, 1):
                    names.takes(f"{where}: function", spec["function"], **keywords(settings, seeded))

    def _resolve_when(self, names: Names, where: str, given: Mapping[str, Any], args: Mapping[str, Any]) -> None:
        if "when" in given:
            names.metric(f"{where}: when", fill(given["when"], args))

    def _specs(self, mode: Mode) -> list[tuple[str, dict[str, Any]]]:
        """Name and keys of each run of a mode."""
        specs = [(of_mode(given, mode), nth) for nth, given in enumerate(self.given.get("run", [])) if given.get("only", mode) == mode]
        named = [(spec.get("name", "" if nth == 0 else str(nth)), spec) for spec, nth in specs]
        for name, count in Counter(name for name, _ in named).items():
            if count > 1:
                raise ClaimError(f"{self.file}: {count} sections [[run]] have the name '{name}' (expected a name for each)")
        return named

    def readings(self, mode: Mode) -> list[Reading]:
        """Its readings with the values of a mode."""

        def one(given: Mapping[str, Any]) -> Reading:
            values = {k: v for k, v in given["values"].items() if mode == "full" or k in given.get("quick", given["values"])}
            return Reading(given["name"], values, given["source"])

        return [one(given) for given in self.given.get("reading", [])]

    def measure(self, runner: Runner, mode: Mode, seed: int) -> list[tuple[Cell, Results]]:
        """Executes its runs, for every combination of its readings."""
        all_ = self.readings(mode)
        return [(cell, self._measured(runner, mode, seed, all_, cell)) for cell in readings.cells(all_)]

    def _measured(self, runner: Runner, mode: Mode, seed: int, all_: list[Reading], cell: Cell) -> Results:
        results = Results(mode, seed, module(self.paper.folder, self.module))
        results.cell = cell
        for name, given in self._specs(mode):
            spec = {**given, "over": readings.settings(given, all_, cell)}
            with about(f"[[run]] {name}".rstrip()):
                if "cases" in spec:
                    results.named[name] = self._searched(runner, spec, results, name)
                else:
                    results.named[name] = runner.run(spec, self.module, cases(spec, seed))
        return results

    def _searched(self, runner: Runner, spec: dict[str, Any], results: Results, name: str) -> Runs:
        """Runs whose cases a function gives, again with every result until there are no new ones."""
        function: Callable[[Results], Mapping[str, Any]] = getattr(module(self.paper.folder, self.module), spec["cases"])
        results.named[name] = Runs([])
        known: set[str] = set()
        while True:
            found = function(results)
            if not TABLES.is_one(found):
                raise ClaimError(f"{defined(self.paper.folder, function)}{spec['cases']} returned {shown(found)} (expected a mapping from names to settings)")
            given = {json.dumps(c, sort_keys=True): c for c in cases({**spec, "case": found}, results.seed)}
            new = [c for key, c in given.items() if key not in known]
            if not new:
                return results.named[name]
            known |= given.keys()
            results.named[name] = Runs([*results.named[name], *runner.run(spec, self.module, new)])

    def judge(self, cells: Sequence[tuple[Cell, Results]], draw: Callable[[Claim, Results, dict[str, Any], int], str] | None = None) -> Judged:
        """Its checks, sentences, tables and figures: those of the reading under which most holds. ``draw`` draws a figure and returns its file."""
        for _, one in cells:
            one.check = lambda other: self._checks(_Sentences(other))
        grid = Grid(self.readings(cells[0][1].mode), [(cell, self._checks(_Sentences(one))) for cell, one in cells])
        results, checks = cells[grid.shown][1], grid.judged()
        say = _Sentences(results)
        assumptions = list(self.given.get("assumptions", []))
        drawn: list[dict[str, str]] = []
        for figure in self.given.get("figure", []):
            with about(f"[[figure]] {figure['draw']}"):
                if self._when(say, figure, {}) and draw is not None:
                    texts = {key: say.format(figure.get(key, "")) for key in ("title", "caption")}
                    drawn.append({"file": draw(self, results, figure, len(drawn)), **texts})
        if grid.readings and draw is not None:
            texts = {"title": f"{self.given['title']}: readings", "caption": "Checks that hold under each combination of readings, and the distance of the one that is farthest."}
            drawn.append({"file": draw(self, results, {"draw": lambda _: drawing.heat(*grid.heat())}, len(drawn)), **texts})
        return Judged(
            id=self.id,
            title=self.given["title"],
            paper=self.given["paper"],
            band=self.given["band"],
            verdict=judge.verdict(checks, self.is_extension),
            measured=self._said(say, "measured", self.given["measured"]),
            assumptions=assumptions + [a for a in judge.assumed(checks) if a not in assumptions],
            changes=list(self.given.get("changes", [])),
            distance="" if self.is_extension else judge.distance(checks),
            cause=self.given.get("cause", ""),
            checks=checks,
            why=judge.reasons(checks) + self._sentences(say, "why"),
            notes=self._sentences(say, "notes"),
            figures=drawn,
            tables=[*([grid.table()] if grid.readings else []), *self._tables(say)],
        )

    def _tables(self, say: _Sentences) -> Iterator[dict[str, Any]]:
        for table in self.given.get("table", []):
            with about(f"[[table]] {table['rows']}"):
                if self._when(say, table, {}):
                    yield self._table(say, table)

    def _said(self, say: _Sentences, key: str, text: str) -> str:
        with about(key):
            return say.format(text)

    def _sentences(self, say: _Sentences, key: str) -> list[str]:
        found = []
        for one in self.given.get(key, []):
            given = {"text": one} if isinstance(one, str) else one
            with about(key):
                found += [say.format(fill(given["text"], args)) for args in self._each(say, given)]
        return found

    def _each(self, say: _Sentences, given: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """The arguments of a repeated check or sentence."""
        each: Mapping[str, Any] = given.get("each", {})
        values = [say.path(v) if isinstance(v, str) else v for v in each.values()]
        for path, value in zip(each.values(), values, strict=True):
            if isinstance(value, str) or not isinstance(value, Iterable):
                raise ClaimError(f"each: {say.results.defined(path)}{path} is {shown(value)} (expected a list)")
        for chosen in itertools.product(*values):
            args = dict(zip(each, chosen, strict=True))
            if self._when(say, given, args):
                yield args

    def _when(self, say: _Sentences, given: Mapping[str, Any], args: Mapping[str, Any]) -> bool:
        return bool(say.path(fill(given["when"], args))) if "when" in given else True

    def _checks(self, say: _Sentences) -> list[Check]:
        found = []
        for check in self.given.get("check", []):
            with about(f"the check '{check['what']}'"):
                found += [self._check(say, check, args) for args in self._each(say, check)]
        return found

    def _check(self, say: _Sentences, given: Mapping[str, Any], args: Mapping[str, Any]) -> Check:
        def number(value: Any) -> float:
            if isinstance(value, str):
                value = fill(value, args)
                value = float(value) if NUMBER_TEXT.fullmatch(value) else say.number(value, say.path(value))
            return float(value)

        path = fill(given["value"], args)
        found = say.path(path)
        interval = single = None
        if isinstance(found, Share):
            found = found.mean()
        elif isinstance(found, tuple):
            found = Mean(*found)
        if isinstance(found, Mean):
            interval, single = ((found.low, found.high), found.single) if found.n > 1 else (None, None)
            found = found.mean
        low, high, source = band(given, number)
        check = Check(
            what=say.format(fill(given["what"], args)),
            value=say.number(path, found),
            low=low,
            high=high,
            unit=fill(given.get("unit", ""), args),
            interval=interval,
            single=single,
            prints=given.get("prints", "mean"),
            source=source,
            assumption=self._assumption(fill(given.get("assuming", ""), args)),
            tried=given.get("tried", ""),
        )
        if "possible" in given:
            check = replace(check, possible=possible(given, number))
        if given.get("claimed"):
            check = judge.claimed(check)
        if "paper" in given:
            check = judge.around(check, number(given["paper"]))
        if "beside" in given:
            check = replace(check, paper=number(given["beside"]))
        if "source" in given:
            check = replace(check, source=given["source"])
        if "erratum" in given:
            around = {k: v for k, v in given.items() if k in ("within", "off")} | {"near" if "near" in given else "exactly": given["erratum"]}
            check = replace(check, right=band(around, number)[:2])
        return check

    def _assumption(self, text: str) -> str:
        """A name in ``paper.toml``, or a text of several words."""
        known = self.paper.assumptions
        if text in known or not re.fullmatch(r"[^\s?]+", text):
            return known.get(text, text)
        near = difflib.get_close_matches(text, known, 1)
        hint = f"did you mean {near[0]}?" if near else f"expected one of {', '.join(known)}" if known else "there are none"
        raise ClaimError(f"assuming is '{text}', which is no name in the assumptions of {PAPER} ({hint}; or a text of several words)")

    def _table(self, say: _Sentences, given: Mapping[str, Any]) -> dict[str, Any]:
        found = say.path(given["rows"])
        rows = found.to_dicts() if hasattr(found, "to_dicts") else found
        if not isinstance(rows, Sequence) or not all(isinstance(r, Mapping) for r in rows):
            raise ClaimError(f"{say.results.defined(given['rows'])}{given['rows']} is {shown(found)} (expected a Polars frame, or a list of mappings)")
        own: Mapping[str, str] = given.get("units", {})
        columns = list(rows[0]) if rows else []

        def cell(name: str, value: Any) -> str:
            if value is None or isinstance(value, (str, bool)):
                return "" if value is None else str(value)
            return units.words(value, own.get(name, ""))

        right = [c for c in columns if c in own or all(isinstance(r[c], (int, float)) for r in rows)]
        texts = [[cell(c, r.get(c)) for c in columns] for r in rows]
        return {"caption": say.format(given.get("caption", "")), "columns": columns, "right": right, "rows": texts}


def as_json(judged: Judged) -> dict[str, Any]:
    """The claim as ``claims.json`` has it; numbers that are not finite are null."""

    def number(v: float | None) -> float | None:
        return v if v is not None and math.isfinite(v) else None

    checks = [
        {**vars(c.judged()), "value": number(c.value), "low": number(c.low), "high": number(c.high), "interval": None if c.interval is None else [number(v) for v in c.interval], "unit": c.unit}
        for c in judged.checks
    ]
    figure = judged.figures[0]["file"] if judged.figures else None
    return json.loads(json.dumps({**vars(judged), "checks": checks, "figure": figure}))  # type: ignore[no-any-return]


__all__ = ["Claim", "ClaimError", "Judged", "Mode", "Paper", "Results", "RunError", "as_json"]
