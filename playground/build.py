"""Puts the page of the browser's laboratory together: `build.py OUT WASM XOFF`.

```text
  WASM                    compressed, as characters in engine.js: a page that is opened as a file may not read another
  wasi, lzma, worker.js   as text in engine.js, from which workers are started
  frame.html              as text in engine.js: a frame without an origin has no service worker, and must open offline
  presets.json            with the text of each scenario; one more for each of scenarios/mechanisms
  XOFF schema             keys of each section with the first sentence about them, for completion
  page.*, lab.js, ...     as they are; the style sheet and the helpers are those of the reports
```
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import lzma
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
ASSETS = ROOT / "crates/report/assets"
ABOUT_MAX = 90
LIMIT = 3_000_000
FILTERS: list[dict[str, Any]] = [{"id": lzma.FILTER_LZMA1, "preset": 9 | lzma.PRESET_EXTREME, "dict_size": 1 << 24}]


def main(out: Path, wasm: Path, xoff: Path) -> None:
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    engine = {
        "wasm": base64.b64encode(lzma.compress(wasm.read_bytes(), format=lzma.FORMAT_ALONE, filters=FILTERS)).decode(),
        "size": wasm.stat().st_size,
        "worker": "".join((HERE / name).read_text() for name in ("wasi.js", "lzma.js", "worker.js")),
        "frame": (HERE / "frame.html").read_text(),
        "presets": presets(),
        "keys": keys(json.loads(subprocess.run([xoff, "schema"], capture_output=True, check=True).stdout)),
    }
    pages = {name: (HERE / name).read_text() for name in ("index.html", "page.js", "lab.js", "sw.js")}
    pages["base.js"] = (ASSETS / "base.js").read_text()
    pages["page.css"] = (ASSETS / "view.css").read_text() + (HERE / "page.css").read_text()
    # Names the cache of the service worker, and is the nonce of inline scripts.
    version = hashlib.sha256(json.dumps([engine, pages]).encode()).hexdigest()[:16]
    engine["frame"] = engine["frame"].replace("VERSION", version)
    for name in ("index.html", "sw.js"):
        pages[name] = pages[name].replace("VERSION", version)
    pages["engine.js"] = f"const XOFF = {json.dumps(engine, separators=(',', ':'))};\n"
    for name, text in pages.items():
        (out / name).write_text(text)
    sent = sum(len(gzip.compress(f.read_bytes(), 9)) for f in out.iterdir())
    print(f"playground: {wasm.stat().st_size:,} bytes of WebAssembly, {sent:,} bytes compressed in all")
    if sent > LIMIT:
        print(f"playground: more than {LIMIT:,} bytes", file=sys.stderr)


def presets() -> list[dict[str, Any]]:
    """Those of presets.json, and the scenarios of single mechanisms."""
    named = json.loads((HERE / "presets.json").read_text())
    mechanisms = [
        {"id": f.stem, "title": f.stem, "group": "Mechanisms", "file": str(f.relative_to(ROOT)), "about": opening(f), "sliders": []}
        for f in sorted((ROOT / "scenarios/mechanisms").glob("*.toml"))
    ]
    return [preset(p) for group in (None, "Papers", "Mechanisms") for p in [*named, *mechanisms] if p.get("group") == group]


def opening(scenario: Path) -> str:
    """The first paragraph of a scenario's comment."""
    comment = scenario.read_text().split("\n\n")[0].split("\n#\n")[0]
    return " ".join(line.removeprefix("#").strip() for line in comment.splitlines())


def preset(p: dict[str, Any]) -> dict[str, Any]:
    file = ROOT / p.pop("file")
    p.pop("pages", None)  # of the documentation that lead here
    return {**p, "name": file.name, "text": file.read_text()}


def keys(schema: dict[str, Any]) -> dict[str, dict[str, str]]:
    """Sections, and by section its keys, each with the start of its description."""
    found: dict[str, dict[str, str]] = {"": {}}

    def walk(name: str, item: dict[str, Any]) -> None:
        item = item.get("items", item) if item.get("type") == "array" else item
        for part in (item, *item.get("oneOf", []), *item.get("anyOf", [])):
            for key, value in part.get("properties", {}).items():
                if value.get("type") == "object" or "oneOf" in value:
                    found[""].setdefault(f"[{name}.{key}]", about(value))
                    walk(f"{name}.{key}", value)
                else:
                    found.setdefault(name, {}).setdefault(key, about(value))

    for name, value in schema["properties"].items():
        many = value.get("type") == "array"
        found[""][f"[[{name}]]" if many else f"[{name}]"] = about(value)
        walk(name, value)
    return found


def about(value: dict[str, Any]) -> str:
    words = value.get("const") or value.get("description", "")
    sentence = re.split(r"(?<=[.;:]) ", str(words), maxsplit=1)[0]
    default = f" Default {value['default']}." if "default" in value else ""
    return sentence[:ABOUT_MAX] + default


if __name__ == "__main__":
    main(*(Path(a) for a in sys.argv[1:4]))
