"""Makes the built site self-contained: `finish.py SITE`. The laboratory for a browser, if there is one next to the site, moves in.

A page that is opened as a file may not start a worker from another file, which the search does. The theme would load a substitute for workers
from a server; here the worker's own text goes into a script next to it, and a worker is started from that text. No page asks a server for anything.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from pathlib import Path

SUBSTITUTE = re.compile(r'<script src="https://unpkg\.com/iframe-worker/shim"[^>]*></script>')
# What a page would load by itself; a link that a reader follows is no load.
LOADS = re.compile(r'<(?:script|img|iframe|source)[^>]+src="(?:https?:)?//[^"]*"|<link[^>]+rel="(?:stylesheet|preconnect|preload)"[^>]+href="(?:https?:)?//[^"]*"')
SCRIPT = """\
if (location.protocol === "file:") {
  const Native = Worker, text = %s;
  window.Worker = function (url, options) {
    return new Native(URL.createObjectURL(new Blob([text], { type: "text/javascript" })), options);
  };
}
"""


def main(site: Path) -> None:
    (worker,) = (site / "assets/javascripts/workers").glob("search.*.js")
    script = site / "assets/javascripts/offline.js"
    script.write_text(SCRIPT % json.dumps(worker.read_text()))
    pages = sorted(site.rglob("*.html"))
    for page in pages:
        text = page.read_text()
        # The page for a missing address is served from any folder.
        place = "/assets/javascripts/offline.js" if page.name == "404.html" else os.path.relpath(script, page.parent)
        text, count = SUBSTITUTE.subn(f'<script src="{place}"></script>', text)
        if count != 1:
            sys.exit(f"{page}: {count} substitutes for workers, expected 1: look at what this version of the generator writes")
        if found := LOADS.search(text):
            sys.exit(f"{page}: would ask a server: {found[0]}")
        page.write_text(text)
    if (laboratory := site.parent / "playground").is_dir():
        shutil.copytree(laboratory, site / "playground", dirs_exist_ok=True)
    print(f"site: {len(pages)} pages, self-contained")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
