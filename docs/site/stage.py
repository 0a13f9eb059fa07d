"""Makes the source of the site out of pages that are also read in the repository: `stage.py OUT XOFF`.

```text
  docs/**                    as it is                                       OUT/docs-source/...
  README.md, ...             OUT/docs-source/project/*.md
  a file that a page names   OUT/docs-source/source/<path>.md, with its text       crates/real/src/wire/cbfc.rs, scenarios/tutorial/ring.toml
  a folder that a page names <folder>/index.md, a list of its files
  XOFF COMMAND --help        OUT/docs-source/cli.md
  papers/<paper>/README.md   OUT/docs-source/papers/<paper>.md, with every claim of results.json, and figures from OUT/papers/<paper>
  <!-- csv FILE -->           the table of this file of docs
  <!-- xoff ARGUMENTS -->     what XOFF prints with these arguments, in the place of this line
  XOFF schema                OUT/docs-source/*.schema.json, with a link below what `xoff schema --markdown` prints
  playground/presets.json    a link to the laboratory in the browser on the pages of each preset and below its claims, where `make playground` has
                             built it; the page of a mechanism leads to its scenario
  docs/site/mkdocs.yml       OUT/docs.yml, its `*` replaced by the pages of the folder
```

A link is written for the repository; on the site it leads to the same thing. One that leads to nothing stays as it is: the build finds it.
"""

from __future__ import annotations

import csv
import importlib.util
import json
import os
import posixpath
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
PROJECT = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")
LINK = re.compile(r"(?<=\]\()(?P<target>[^)\s#]+)(?P<anchor>#[^)\s]*)?(?=\))")
PAPERS = sorted(f.parent.name for f in (ROOT / "papers").glob("*/results.json"))
CLAIM = re.compile(rf"papers/({'|'.join(PAPERS)})(?:/(testbed)(?=/))?(?:/(?:README\.md|(?!paper\.toml)([^/]+)\.toml))?")
FENCE = re.compile(r"^ *(```|~~~)")
PRINTED = re.compile(r"^<!-- xoff (?P<arguments>.+) -->$", re.MULTILINE)
CSV = re.compile(r"^<!-- csv (?P<file>.+) -->$", re.MULTILINE)
LANGUAGES = {".rs": "rust", ".toml": "toml", ".py": "python", ".json": "json", ".lua": "lua", ".yml": "yaml"}


def main(out: Path, xoff: Path) -> None:
    docs = out / "docs-source"
    shutil.rmtree(docs, ignore_errors=True)
    shutil.copytree(ROOT / "docs", docs, ignore=shutil.ignore_patterns("*.sh", "*.py", "*.txt", "mkdocs.yml", "__pycache__"))
    pages = {str(p.relative_to(ROOT)): p.read_text() for p in sorted((ROOT / "docs").rglob("*.md"))}
    pages |= {name: (ROOT / name).read_text() for name in (*PROJECT, "papers/README.md")}
    pages |= {f"papers/{name}/README.md": _paper(name, out / "papers" / name, docs / "papers" / name) for name in PAPERS}
    pages = {page: CSV.sub(_table, _printed(xoff, docs, text)) for page, text in pages.items()}
    if (out / "playground/index.html").is_file():
        for page, link in _presets().items():
            page, _, claim = page.partition("#")
            pages[page] = _tried(page, pages[page], link, claim)
    folders = {posixpath.dirname(p) for p in pages if p.count("/") > 1}
    named = {path for page, text in pages.items() for path in _named(page, text)}
    for path in sorted(named | folders):
        if (ROOT / path).is_dir() and not {f"{path}/index.md", f"{path}/README.md"} & pages.keys():
            _write(docs / _place(path), _listing(path))
        elif (ROOT / path).is_file() and path not in pages and not path.startswith("docs/") and "#" not in _place(path):
            _write(docs / _place(path), _source(path))
    for page, text in pages.items():
        _write(docs / _place(page), _moved(page, text))
    _write(docs / "cli.md", _commands(xoff))
    config = yaml.safe_load((ROOT / "docs/site/mkdocs.yml").read_text())
    config["nav"] = _expanded(config["nav"])
    _write(out / "docs.yml", yaml.safe_dump(config, sort_keys=False))
    missing = sorted(set(_in_site(pages)) - set(_in_nav(config["nav"])))
    if missing:
        sys.exit(f"docs/site/mkdocs.yml: the navigation does not lead to {', '.join(missing)}")


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def _expanded(item: object) -> object:
    """The navigation with the pages of a folder in the place of its `*`."""
    if isinstance(item, list):
        return [_expanded(i) for i in item]
    if isinstance(item, dict):
        return {name: _expanded(i) for name, i in item.items()}
    folder, star, _ = str(item).partition("/*")
    if not star:
        return item
    names = sorted(p.name for p in (ROOT / "docs" / folder).glob("*.md"))
    return [f"{folder}/index.md", *(f"{folder}/{n}" for n in names if n != "index.md")]


def _in_nav(item: object) -> list[str]:
    if isinstance(item, list):
        return [page for i in item for page in _in_nav(i)]
    if isinstance(item, dict):
        return [page for i in item.values() for page in _in_nav(i)]
    return [str(item)]


def _in_site(pages: dict[str, str]) -> list[str]:
    return [_place(page) for page in pages]


def _lines(markdown: str) -> list[tuple[str, bool]]:
    """Lines with their ends, and whether each is code."""
    lines, fenced = [], False
    for line in markdown.splitlines(keepends=True):
        fence = bool(FENCE.match(line))
        lines.append((line, fenced or fence))
        fenced ^= fence
    return lines


def _moved(page: str, text: str) -> str:
    """A page with its links as the site needs them."""
    here = posixpath.dirname(_place(page)) or "."

    def link(match: re.Match[str]) -> str:
        path = _resolved(page, match["target"])
        if path is None or not (ROOT / path).exists():
            return match[0]
        return posixpath.relpath(_place(path), here) + (match["anchor"] or "")

    return "".join(line if code else LINK.sub(link, line) for line, code in _lines(text))


def _named(page: str, text: str) -> set[str]:
    """Files and folders of the repository to which a page leads."""
    targets = [m["target"] for line, code in _lines(text) if not code for m in LINK.finditer(line)]
    return {path for t in targets if (path := _resolved(page, t)) is not None and (ROOT / path).exists()}


def _resolved(page: str, target: str) -> str | None:
    """Path in the repository of a target that a page names."""
    if "://" in target or target.startswith(("mailto:", "/")):
        return None
    path = posixpath.normpath(posixpath.join(posixpath.dirname(page), target))
    return None if path.startswith("..") else path


def _place(path: str) -> str:
    """Where on the site a file or folder of the repository is."""
    inside = path.removeprefix("docs/")
    if inside != path and (ROOT / path / "README.md").is_file():
        return f"{inside}/README.md"
    if claim := CLAIM.fullmatch(path):
        paper, testbed, id = claim.groups()
        return f"papers/{paper}.md" + ("" if id is None else f"#{'testbed-' if testbed else ''}{id}")
    if (ROOT / path).is_dir():
        return f"{inside}/index.md" if inside != path else f"source/{path}/index.md"
    if path == "papers/README.md":
        return path
    if path in PROJECT:
        return f"project/{path}"
    return inside if inside != path else f"source/{path}.md"


def _presets() -> dict[str, str]:
    """Pages, or their claims, that lead to the laboratory in the browser, each with its place there."""
    scenarios = {f.stem: f"preset={f.stem}" for f in (ROOT / "scenarios/mechanisms").glob("*.toml")}
    mechanisms = {f"docs/mechanisms/{name}.md": place for name, place in scenarios.items() if (ROOT / f"docs/mechanisms/{name}.md").is_file()}
    presets = json.loads((ROOT / "playground/presets.json").read_text())
    return mechanisms | {"docs/tutorials/teacher.md": "lab=1"} | {page: f"preset={p['id']}" for p in presets for page in p.get("pages", [])}


def _tried(page: str, text: str, place: str, claim: str) -> str:
    """A page with a link to the laboratory below its title, or below the heading of a claim."""
    address = posixpath.relpath(f"playground/index.html#{place}", posixpath.dirname(_place(page)) or ".")
    head, end, rest = text.partition(f" {{ #{claim} }}\n" if claim else "\n")
    if not end:
        sys.exit(f"playground/presets.json: {page} has no claim {claim}")
    return f'{head}{end}\n<a class="md-button" href="{address}">Try it in the browser</a>\n{rest}'


def _title(path: Path) -> str:
    """The first heading of a page."""
    found = re.search(r"^# (.+)$", path.read_text(), re.MULTILINE)
    return found[1] if found else path.stem


def _output(xoff: Path, *args: str) -> str:
    environment = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1"}
    return subprocess.run([xoff, *args], capture_output=True, text=True, check=True, env=environment).stdout


def _printed(xoff: Path, docs: Path, text: str) -> str:
    """A page with the program's output in the place of each line that names a command."""

    def printed(match: re.Match[str]) -> str:
        command, of, *options = match["arguments"].split()
        output = _output(xoff, command, of, *options)
        if (command, options) != ("schema", ["--markdown"]):
            return output
        name = f"{'scenario' if of == 'network' else of}.schema.json"
        _write(docs / name, _output(xoff, command, of))
        return f"For programs: [{name}]({name}).\n\n{output}"

    return PRINTED.sub(printed, text)


def _table(match: re.Match[str]) -> str:
    """The rows of a CSV file as a table; a column of numbers stands on the right."""
    with (ROOT / "docs" / match["file"]).open(newline="") as file:
        heads, *rows = csv.reader(file)
    right = [all(re.match(r"[\d.]", cell) for cell in column) for column in zip(*rows, strict=True)]
    lines = [heads, ["---:" if r else "---" for r in right], *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _paper(name: str, drawn: Path, place: Path) -> str:
    """The page of a paper: what people wrote, then every claim with its checks, tables, and the figures that are drawn."""
    folder = ROOT / "papers" / name
    spec = importlib.util.spec_from_file_location("page", ROOT / "python/xoff/lab/page.py")
    page: Any = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]
    spec.loader.exec_module(page)  # type: ignore[union-attr]
    lines = [(folder / "README.md").read_text(), "Figures are those of the last `make papers`. Without one there are none."]
    for part, prefix in (("", ""), (page.TESTBED, "testbed-")):
        if not (folder / part / page.RESULTS).is_file():
            continue
        figures = _figures(drawn / part, place, prefix)
        lines += ["", "With real frames:"] if part else []
        for claim in page.kept(folder / part):
            heading, *section = page.section({**claim, "figures": figures.get(claim["id"], [])})
            lines += ["", f"{heading} {{ #{prefix}{claim['id']} }}", *section]
    return "\n".join(lines) + "\n"


def _figures(drawn: Path, place: Path, prefix: str) -> dict[str, list[dict[str, str]]]:
    """Copies the figures of a reproduction next to the page of its paper. Returns them by claim."""
    if not (drawn / "claims.json").is_file():
        return {}
    answer = json.loads((drawn / "claims.json").read_text())
    found: dict[str, list[dict[str, str]]] = {}
    for claim in [*answer["earlier"], *answer["claims"]]:
        for figure in claim["figures"]:
            file = place / f"{prefix}{posixpath.basename(figure['file'])}"
            file.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(drawn / figure["file"], file)
            caption = figure["caption"] + (" Of a quick run." if claim["mode"] == "quick" else "")
            found.setdefault(claim["id"], []).append({**figure, "file": f"{place.name}/{file.name}", "caption": caption})
    return found


def _commands(xoff: Path) -> str:
    """The long help of every command, in the order of their names."""
    with tempfile.TemporaryDirectory() as folder:
        _output(xoff, "man", "--out", folder)
        names = sorted(p.stem.removeprefix("xoff-") for p in Path(folder).glob("xoff-*.1"))
    parts = ["# Command line\n\nThe help of every command, as `xoff COMMAND --help` prints it.\n", f"```text\n{_output(xoff, '--help')}```\n"]
    parts += [f"## xoff {name}\n\n```text\n{_output(xoff, name, '--help')}```\n" for name in names]
    return "\n".join(parts)


def _listing(path: str) -> str:
    folder = ROOT / path
    children = sorted(p for p in folder.iterdir() if not p.name.startswith("."))
    if path.startswith("docs/"):
        rows = [f"- [{_title(p)}]({p.name})" for p in children if p.suffix == ".md"]
        name = folder.name.capitalize()
    else:
        rows = [f"- `{p.name}`" for p in children]
        name = f"`{path}`"
    return f"# {name}\n\n" + "\n".join(rows) + "\n"


def _source(path: str) -> str:
    text = (ROOT / path).read_text(errors="replace")
    return f"---\nsearch: {{ exclude: true }}\n---\n# `{path}`\n\n`````{LANGUAGES.get(Path(path).suffix, 'text')}\n{text}\n`````\n"


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]).resolve())
