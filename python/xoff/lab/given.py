"""Keys, types and names in the file of a claim. All of them are checked before anything runs."""

from __future__ import annotations

import contextlib
import difflib
import inspect
import itertools
import math
import re
import string
import tomllib
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from .._errors import ScenarioError
from . import judge, units
from .readings import KINDS


class ClaimError(ScenarioError):
    """Something is wrong with a file of a paper's folder."""


class Kind(NamedTuple):
    """Type of a key."""

    words: str
    is_one: Callable[[Any], bool]


def _whole(v: Any) -> bool:
    return isinstance(v, int) and not isinstance(v, bool)


def _number(v: Any) -> bool:
    return isinstance(v, str) or (isinstance(v, (int, float)) and not isinstance(v, bool) and abs(v) < _LARGEST)


def _bound(v: Any) -> bool:
    return _number(v) or (isinstance(v, float) and math.isinf(v))


_LARGEST = 1e300


def _all(v: Any, kind: type | tuple[type, ...]) -> bool:
    return isinstance(v, list) and all(isinstance(one, kind) for one in v)


TEXT = Kind("a text", lambda v: isinstance(v, str))
TEXTS = Kind("a list of texts", lambda v: _all(v, str))
SENTENCES = Kind("a list of texts, or of tables with text", lambda v: _all(v, (str, dict)))
NUMBER = Kind("a finite number, or the name of a metric", _number)
RANGE = Kind("two numbers, or names of metrics", lambda v: isinstance(v, list) and len(v) == 2 and all(map(_bound, v)))
TRUE = Kind("true, or no such key", lambda v: v is True)
BOOL = Kind("true or false", lambda v: isinstance(v, bool))
COUNT = Kind("a number of 1 or more", lambda v: _whole(v) and v > 0)
SEEDS = Kind("a number of 1 or more, or a list of numbers", lambda v: COUNT.is_one(v) or (isinstance(v, list) and bool(v) and all(map(_whole, v))))
TABLE = Kind("a table", lambda v: isinstance(v, dict))
LISTS = Kind("a table of lists", lambda v: isinstance(v, dict) and all(isinstance(one, list) and one for one in v.values()))
EACH = Kind("a table of lists, or of names of metrics", lambda v: isinstance(v, dict) and all(isinstance(one, (list, str)) for one in v.values()))
TABLES = Kind("a table of tables", lambda v: isinstance(v, dict) and all(isinstance(one, dict) for one in v.values()))
UNITS = Kind("a table of texts", lambda v: isinstance(v, dict) and all(isinstance(one, str) for one in v.values()))


def _one_of(*names: str) -> Kind:
    return Kind(" or ".join(names) if len(names) < 3 else f"one of {', '.join(names)}", lambda v: v in names)


def _sections(name: str) -> Kind:
    return Kind(f"sections [[{name}]]", lambda v: _all(v, dict))


CLAIM = {
    "title": TEXT, "paper": TEXT, "band": TEXT, "cause": TEXT, "kind": _one_of("claim", "extension"), "assumptions": TEXTS, "changes": TEXTS,
    "measured": TEXT, "why": SENTENCES, "notes": SENTENCES, "module": TEXT,
} | {name: _sections(name) for name in ("reading", "run", "check", "table", "figure")}  # fmt: skip
RUN = {
    "name": TEXT, "scenario": TEXT, "function": TEXT, "testbed": TABLE, "measure": TEXT, "settings": TEXT, "set": TABLE, "grid": LISTS,
    "case": TABLES, "cases": TEXT, "seeds": SEEDS, "workers": COUNT, "readings": TEXTS, "only": _one_of("quick", "full"), "quick": TABLE, "full": TABLE,
}  # fmt: skip
OF_MODE = {k: v for k, v in RUN.items() if k not in ("only", "quick", "full")}
READING = {"name": TEXT, "values": TABLES, "source": UNITS, "quick": TEXTS}
TESTBED = {"observe": TEXT, "ip": TEXTS, "run": TEXTS, "capture": BOOL}
CHECK = {
    "what": TEXT, "value": TEXT, "unit": TEXT, "low": NUMBER, "high": NUMBER, "near": NUMBER, "within": NUMBER, "off": NUMBER, "exactly": NUMBER,
    "none": TRUE, "some": TRUE, "possible": RANGE, "paper": NUMBER, "beside": NUMBER, "claimed": BOOL, "source": _one_of(*judge.SOURCES),
    "assuming": TEXT, "tried": TEXT, "prints": _one_of("mean", "run"), "erratum": NUMBER, "each": EACH, "when": TEXT,
}  # fmt: skip
TABLE_OF_ROWS = {"rows": TEXT, "caption": TEXT, "units": UNITS, "when": TEXT}
FIGURE = {"draw": TEXT, "title": TEXT, "caption": TEXT, "when": TEXT}
SENTENCE = {"text": TEXT, "each": EACH, "when": TEXT}


# ---- keys and types -----------------------------------------------------------------------------------------------------------------


def toml(file: Path, known: Mapping[str, Kind]) -> dict[str, Any]:
    """The keys of a file."""
    try:
        given: dict[str, Any] = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as e:
        raise ClaimError(f"{file}: {e}") from None
    keys(f"{file}: the file", given, known)
    return given


def keys(where: str, given: Mapping[str, Any], known: Mapping[str, Kind], needed: Iterable[str] = ()) -> None:
    """Refuses unknown keys, values of another type, and missing keys."""
    for key, value in given.items():
        if key not in known:
            raise ClaimError(f"{where} has an unknown key '{key}' (expected one of {', '.join(sorted(known))})")
        if not known[key].is_one(value):
            raise ClaimError(f"{where}: {key} is {shown(value)} (expected {known[key].words})")
    for key in needed:
        if key not in given:
            raise ClaimError(f"{where}: missing {known[key].words.removeprefix('a ')} '{key}'")


def shown(value: Any) -> str:
    """A value in an error."""
    text = str(value).lower() if isinstance(value, bool) else f"'{value}'" if isinstance(value, str) else str(value)
    return text if len(text) <= 60 else f"{text[:60]}..."


def whole(file: Path, given: Mapping[str, Any]) -> None:
    """Refuses a claim whose sections lack a key, contradict each other or have an unknown unit."""
    for key in ("title", "paper", "band", "measured"):
        if key not in given:
            raise ClaimError(f"{file}: missing text '{key}'")
    if not given.get("check") and given.get("kind") != "extension":
        raise ClaimError(f'{file} has no [[check]] (expected one or more, or kind = "extension" for findings without a verdict)')
    for nth, run in enumerate(given.get("run", []), 1):
        where = f"{file}: [[run]] {run.get('name', nth)}"
        keys(where, run, RUN)
        for mode in ("quick", "full"):
            keys(f"{where}: {mode}", run.get(mode, {}), OF_MODE)
            spec = of_mode(run, mode)
            if ("scenario" in spec) == ("function" in spec):
                raise ClaimError(f"{where} needs scenario or function, and not both (expected a scenario file, or a function that makes the run)")
            if "testbed" in spec:
                keys(f"{where}: testbed", spec["testbed"], TESTBED)
                if "scenario" not in spec or "measure" not in spec:
                    raise ClaimError(f"{where}: testbed needs scenario and measure (a run with real frames has no other values)")
    _readings(file, given)
    for check in given.get("check", []):
        _check(f"{file}: the check '{check.get('what', '')}'", check)
    for nth, table in enumerate(given.get("table", []), 1):
        keys(f"{file}: [[table]] {nth}", table, TABLE_OF_ROWS, ["rows"])
    for nth, figure in enumerate(given.get("figure", []), 1):
        keys(f"{file}: [[figure]] {nth}", figure, FIGURE, ["draw"])
    for key in ("why", "notes"):
        for one in given.get(key, []):
            if not isinstance(one, str):
                keys(f"{file}: {key}", one, SENTENCE, ["text"])


def _readings(file: Path, given: Mapping[str, Any]) -> None:
    """Refuses readings without sources, and runs that name others."""
    known = [r.get("name", "") for r in given.get("reading", [])]
    if known and given.get("kind") == "extension":
        raise ClaimError(f"{file}: an extension has no [[reading]] (expected a claim: readings decide a verdict)")
    for reading in given.get("reading", []):
        where = f"{file}: [[reading]] {reading.get('name', '')}"
        keys(where, reading, READING, ["name", "values", "source"])
        if known.count(reading["name"]) > 1:
            raise ClaimError(f"{where}: {known.count(reading['name'])} readings have this name (expected a name for each)")
        if len(reading["values"]) < 2:
            raise ClaimError(f"{where}: values has {len(reading['values'])} (expected two or more; what has one value is an assumption)")
        if [*reading["values"]] != [*reading["source"]]:
            raise ClaimError(f"{where}: source has {', '.join(reading['source'])} (expected a source for each value, in their order: {', '.join(reading['values'])})")
        for value, source in reading["source"].items():
            if source.partition(":")[0] not in KINDS:
                raise ClaimError(f"{where}: source of {value} is {shown(source)} (expected {', '.join(KINDS)}, with details after a colon)")
        for value in reading.get("quick", []):
            if value not in reading["values"]:
                raise ClaimError(f"{where}: quick has '{value}' (expected some of {', '.join(reading['values'])})")
        if not any(reading["name"] in of_mode(run, mode).get("readings", []) for run in given.get("run", []) for mode in ("quick", "full")):
            raise ClaimError(f"{where}: no [[run]] has it (expected its name in readings of a run)")
    for nth, run in enumerate(given.get("run", []), 1):
        for name in run.get("readings", []):
            if name not in known:
                raise ClaimError(f"{file}: [[run]] {run.get('name', nth)}: readings has '{name}' (expected names of [[reading]]: {', '.join(known) or 'there are none'})")


def of_mode(run: Mapping[str, Any], mode: str) -> dict[str, Any]:
    """A ``[[run]]`` in a mode: the keys of its table ``quick`` or ``full`` replace its own."""
    return {**{k: v for k, v in run.items() if k not in ("quick", "full")}, **run.get(mode, {})}


def _check(where: str, check: Mapping[str, Any]) -> None:
    keys(where, check, CHECK, ["what", "value"])
    bands = {"low" if k == "high" else k for k in ("none", "some", "exactly", "near", "low", "high") if k in check}
    widths = [k for k in ("within", "off") if k in check]
    if widths and "near" not in check:
        raise ClaimError(f"{where}: {widths[0]} without near (expected near, a number that the band is around)")
    if not bands:
        raise ClaimError(f"{where} has no band (expected none, some, exactly, near with within or off, low, high)")
    if len(bands) > 1:
        raise ClaimError(f"{where} has several bands: {', '.join(sorted(bands))} (expected one)")
    if "near" in check and len(widths) != 1:
        raise ClaimError(f"{where}: near needs within (a share of it) or off (a distance), and not both")
    for key, why in (("prints", "it says what the paper's number is"), ("erratum", "it replaces the paper's number")):
        if key in check and "paper" not in check:
            raise ClaimError(f"{where}: {key} without paper ({why})")
    if "erratum" in check and "near" not in check and "exactly" not in check:
        raise ClaimError(f"{where}: erratum without near or exactly (expected a band around the printed number; the right number has the same)")
    if "tried" in check and "assuming" not in check:
        raise ClaimError(f"{where}: tried without assuming (expected the reading to which others are the alternative)")


def band(check: Mapping[str, Any], number: Callable[[Any], float]) -> tuple[float, float, str]:
    """Smallest and largest accepted value, and their source. ``number``: of a key; NaN if it is not known yet. Refuses one that contradicts
    itself."""
    low, high, source = -math.inf, math.inf, "chosen"
    if "none" in check or "some" in check:
        low, high = (0.0, 0.0) if "none" in check else (1.0, math.inf)
    elif "exactly" in check or "near" in check:
        middle = number(check.get("exactly", check.get("near")))
        width = number(check["off"]) if "off" in check else abs(middle) * number(check.get("within", 0))
        if width < 0:
            raise ClaimError(f"{'off' if 'off' in check else 'within'} is {check.get('off', check.get('within'))} (expected 0 or more)")
        low, high, source = middle - width, middle + width, "recomputed"
    else:
        low, high = (number(check[key]) if key in check else open_ for key, open_ in (("low", low), ("high", high)))
    if low > high:
        raise ClaimError(f"low {low:g} is above high {high:g} (no value is in this band)")
    bottom, top = possible(check, number)
    if bottom > top:
        raise ClaimError(f"possible: {bottom:g} is above {top:g} (expected the smallest value, then the largest)")
    if "paper" in check:
        paper = number(check["paper"])
        if "near" in check and abs(middle - paper) > _AROUND * abs(paper):
            raise ClaimError(f"near is {middle:g}, but paper is {paper:g} (expected a number of that size; beside is for one that has no part in the band)")
        if not (low <= paper <= high) and not math.isnan(low + high + paper):
            raise ClaimError(f"paper is {paper:g}, which is not in the band from {low:g} to {high:g} (expected a number in it; beside is for one that has no part in the band)")
    return low, high, source


def possible(check: Mapping[str, Any], number: Callable[[Any], float]) -> tuple[float, float]:
    """The smallest and the largest value that the quantity can have."""
    bottom, top = (v if isinstance(v, float) and math.isinf(v) else number(v) for v in check.get("possible", (-math.inf, math.inf)))
    return bottom, top


_AROUND = 0.5
"""Largest difference, as a share of the paper's number, of the middle of a band around it."""


_LIKE_UNITS = {
    "bytes": r"[kmgt]?i?(b|bits?|bytes?)",
    "bit/s": r"[kmgt]?(b|bits?)(/s|ps)",
    "ps": r"[mun\u00b5p]s",
    "s": r"s|secs?|seconds?",
    "fraction": r"%|per ?cent|fractions?",
}
"""Texts that are taken for a unit of a quantity, by the unit of a check that has the quantity."""


def known_unit(unit: str) -> None:
    """Refuses a text for a quantity that has a unit of its own: its numbers would be shown without their prefix."""
    meant = next((base for base, like in _LIKE_UNITS.items() if unit != base and re.fullmatch(like, unit, re.IGNORECASE)), None)
    if meant is not None:
        known = ", ".join([*units.BASE, "fraction"])
        hint = "values are shares of 1" if meant == "fraction" else "values are in it, and xoff shows them with the prefix that fits"
        raise ClaimError(f"unknown unit '{unit}' (expected {known}, or a word such as frames); '{meant}' is meant for this: {hint}")


@contextlib.contextmanager
def about(where: str) -> Iterator[None]:
    """An error in here gets a note on the part of the claim."""
    try:
        yield
    except Exception as e:
        e.add_note(where)
        raise


# ---- names of functions ---------------------------------------------------------------------------------------------------------------


class Names:
    """Names in the file of a claim, which a module must have."""

    def __init__(self, file: Path, functions: types.ModuleType) -> None:
        self.file, self.functions = file, functions

    def function(self, where: str, name: str) -> inspect.Signature:
        """Refuses a function that does not exist."""
        found = self._found(where, name, "function")
        if not callable(found):
            raise ClaimError(f"{self.file}: {where}: {name} in {self._module()} is {shown(found)} (expected a function)")
        return inspect.signature(found)

    def takes(self, where: str, name: str, *arguments: str, **named: Any) -> None:
        """Refuses a function that does not exist or takes other arguments."""
        signature = self.function(where, name)
        try:
            signature.bind(*arguments, **named)
        except TypeError as e:
            wanted = ", ".join([*arguments, *named]) or "no arguments"
            raise ClaimError(f"{self.file}: {where}: {name} in {self._module()}: {e} (expected a function of {wanted})") from None

    def metric(self, where: str, path: str) -> Any:
        """Refuses a metric that does not exist: the name in ``settled[late]``. Returns the value of a constant."""
        name = path.partition("[")[0]
        if UNKNOWN in name:
            return None
        if not PATH.fullmatch(path):
            raise ClaimError(f"{self.file}: {where}: '{path}' (expected the name of a metric, with keys in brackets)")
        found = self._found(where, name, "metric")
        if isinstance(found, types.FunctionType):
            self.takes(where, name, "results")
            return None
        return found

    def number(self, where: str, value: Any) -> float:
        """The value of a number or a constant; NaN: only results give it. Refuses other texts."""
        if isinstance(value, str) and not NUMBER_TEXT.fullmatch(value):
            found = self.metric(where, value)
            if found is None or "[" in value:
                return math.nan
            if not hasattr(found, "__float__") or not abs(float(found)) < _LARGEST:
                raise ClaimError(f"{self.file}: {where}: {value} in {self._module()} is {shown(found)} (expected {NUMBER.words})")
            return float(found)
        if not abs(float(value)) < _LARGEST:
            raise ClaimError(f"{self.file}: {where}: {shown(value)} (expected {NUMBER.words})")
        return float(value)

    def sentence(self, where: str, text: str) -> None:
        """Refuses metrics that do not exist, and unknown formats."""
        try:
            parts = list(string.Formatter().parse(text))
        except ValueError as e:
            raise ClaimError(f"{self.file}: {where}: {e} in '{text}' (expected names of metrics in braces; a brace itself is doubled)") from None
        for _, field, spec, _ in parts:
            if field is None:
                continue
            self.metric(where, field)
            if spec and UNKNOWN not in spec and spec not in units.SPECS and not any(_formats(v, spec) for v in (1.0, 1, "")):
                raise ClaimError(f"{self.file}: {where}: unknown format '{spec}' (expected {', '.join(units.SPECS)}, or one of Python's such as .1f)")

    def filled(self, where: str, given: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """The arguments of a repeated section; :data:`UNKNOWN` for those that only results give."""
        each: Mapping[str, Any] = given.get("each", {})
        values = [self.metric(f"{where}: each", v) if isinstance(v, str) else v for v in each.values()]
        for chosen in itertools.product(*(_Unknown if v is None else v for v in values)):
            yield dict(zip(each, chosen, strict=True))

    def _found(self, where: str, name: str, kind: str) -> Any:
        if not hasattr(self.functions, name):
            names = [n for n in vars(self.functions) if not n.startswith("_")]
            near = difflib.get_close_matches(name, names, 1)
            hint = f"did you mean {near[0]}?" if near else f"define it in {self._module()}"
            raise ClaimError(f"{self.file}: {where}: {self._module()} has no {kind} '{name}' ({hint})")
        return getattr(self.functions, name)

    def _module(self) -> str:
        return f"{self.functions.__name__.rpartition('.')[2]}.py"


UNKNOWN = "?"
"""In the place of a text that only results give."""


class _Anything:
    """An argument that only results give; its items are unknown, too."""

    def __getitem__(self, _: str) -> str:
        return UNKNOWN

    def __str__(self) -> str:
        return UNKNOWN


_Unknown = (_Anything(),)
PATH = re.compile(r"(\w+)((?:\[[^]]*\])*)")
NUMBER_TEXT = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?")


def fill(text: str, args: Mapping[str, Any]) -> str:
    """``{flow}`` and ``{flow.title}`` of the arguments, other fields untouched."""

    def value(match: re.Match[str]) -> str:
        name, _, key = match[1].partition(".")
        if name not in args:
            return match[0]
        return str(args[name][key] if key else args[name])

    return re.sub(r"\{(\w+(?:\.\w+)?)\}", value, text) if args else text


def _formats(value: Any, spec: str) -> bool:
    try:
        return isinstance(format(value, spec), str)
    except ValueError:
        return False


__all__ = ["CLAIM", "NUMBER_TEXT", "PATH", "ClaimError", "Kind", "Names", "about", "band", "fill", "keys", "known_unit", "of_mode", "possible", "shown", "toml", "whole"]
