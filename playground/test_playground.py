"""The laboratory in Chromium and Firefox, and its simulator in node: `make test-playground`, after `make playground`."""

from __future__ import annotations

import base64
import functools
import http.server
import json
import os
import re
import shlex
import shutil
import subprocess
import threading
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest

ROOT = Path(__file__).parents[1]
SITE = ROOT / "out/playground"
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
WASM = TARGET / "wasm32-wasip1/playground/xoff-small.wasm"
XOFF = TARGET / "release/xoff"
NODE = shutil.which("node")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FIREFOX = shutil.which("firefox-esr") or shutil.which("firefox")
SHOTS = ROOT / "out/playground-pictures"
# Not compared: too long for a test, or no scenario of a run.
LEFT_OUT = {
    "bench/websearch.toml": "48 million frame-hops",
    "training/thousand.toml": "hours",
    "balancing/half-rate.toml": "has no flows: part of a study",
    "sweeps/ring.toml": "a sweep",
}
SCENARIOS = sorted(p for p in (ROOT / "scenarios").glob("*/*.toml") if str(p.relative_to(ROOT / "scenarios")) not in LEFT_OUT)


def missing(what: str, why: str) -> NoReturn:
    """Skips; a failure where no skip is allowed."""
    allowed = os.environ.get("XOFF_TEST_MAY_SKIP", "").split(",")
    skips = os.environ.get("XOFF_TEST_SKIPS")
    if os.environ.get("XOFF_TEST_NO_SKIPS", "0") not in ("", "0") and what not in (a.strip() for a in allowed):
        pytest.fail(f"XOFF_TEST_NO_SKIPS is set, and something is missing: {what}: {why}")
    if skips:
        with open(skips, "a", encoding="utf-8") as file:
            file.write(f"skipped: playground: {what}: {why}\n")
    pytest.skip(f"{what}: {why}")


def native(*args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([XOFF, *args], capture_output=True, text=True, cwd=ROOT, check=False)


def in_node(given: list[str], *args: str) -> dict[str, Any]:
    if NODE is None:
        missing("node", "no node is installed")
    ran = subprocess.run([NODE, ROOT / "playground/run.js", WASM, *given, "--", *args], capture_output=True, text=True, cwd=ROOT, check=False)
    assert ran.returncode == 0, ran.stderr
    return dict(json.loads(ran.stdout))


@pytest.mark.parametrize("file", SCENARIOS, ids=lambda p: str(p.relative_to(ROOT / "scenarios")))
def test_the_result_is_that_of_the_command(file: Path, tmp_path: Path) -> None:
    """Every scenario has the same result hash, and the same answer."""
    name = str(file.relative_to(ROOT))
    theirs = native("run", name, "--no-report", "--out", str(tmp_path / "out"), "--threads", "1")
    assert theirs.returncode < 2, theirs.stderr
    expected = json.loads((tmp_path / "out/manifest.json").read_text())
    ours = in_node([str(file.parent.relative_to(ROOT))], "run", name, "--no-report", "--out", "out/t")
    assert ours["exit"] == theirs.returncode, ours["stderr"]
    assert ours["manifest"]["result_hash"] == expected["result_hash"]
    assert ours["manifest"]["verdict"] == expected["verdict"]
    hops = expected["frame_hops"]
    seconds = [m["cpu_seconds"] for m in (expected, ours["manifest"])]
    print(f"{hops} frame-hops: {hops / seconds[0] / 1e6:.2f} million/s native, {hops / seconds[1] / 1e6:.2f} in node, {ours['memory'] / 1e6:.0f} MB")


def test_files_of_other_programs_have_the_answer_of_the_command() -> None:
    imports = "crates/scenario/tests/import"
    for args in (
        ["plan", "sonic:scenarios/tutorial/roce"],
        ["check", f"ibnetdiscover:{imports}/ib/ring5-minhop/ibnetdiscover.topo,{imports}/ib/ring5-minhop/opensm-lfts.dump"],
        ["check", f"containerlab:{imports}/containerlab/leafspine.clab.yml"],
        ["check", f"graphml:{imports}/graph/leafspine.graphml"],
    ):
        theirs = native(*args, "--json")
        ours = in_node(["scenarios/tutorial", imports], *args, "--json")
        assert (ours["exit"], ours["stdout"]) == (theirs.returncode, theirs.stdout), ours["stderr"]


def test_a_streamed_job_has_the_result_of_the_command(tmp_path: Path) -> None:
    """Before: its file could not be read."""
    (tmp_path / "g.goal").write_text("num_ranks 2\nrank 0 {\nl1: send 100b to 1 tag 0\n}\nrank 1 {\nl1: recv 100b from 0 tag 0\n}\n")
    scenario = tmp_path / "s.toml"
    scenario.write_text(f'[run]\nduration = "1ms"\n[topology]\n{STAR}[flow_control]\nkind = "pfc"\n[[job]]\nstream = true\ngoal = "g.goal"\n')
    theirs = native("run", str(scenario), "--no-report", "--out", str(tmp_path / "out"))
    assert theirs.returncode == 0, theirs.stderr
    ours = in_node([str(tmp_path / "g.goal"), str(scenario)], "run", str(scenario), "--no-report", "--out", "out/t")
    assert ours["exit"] == 0, ours["stderr"]
    assert ours["manifest"]["result_hash"] == json.loads((tmp_path / "out/manifest.json").read_text())["result_hash"]


class Server:
    """The folder behind a server, with the requests that reach it."""

    def __init__(self) -> None:
        if not (SITE / "index.html").is_file():
            missing("playground", "out/playground is not built: make playground")
        seen = self.seen = []  # type: list[str]

        class Handler(http.server.SimpleHTTPRequestHandler):
            def log_message(self, *_: object) -> None:
                seen.append(self.path)

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(SITE)))
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.address = f"http://127.0.0.1:{self.server.server_port}/"

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


@pytest.fixture(scope="module")
def served(server: Server) -> str:
    return server.address


class Browser:
    """Chromium, or Firefox by WebDriver BiDi, which has no way to choose the scheme later."""

    def __init__(self, playwright: Any, name: str) -> None:
        self.name = name
        self.playwright = playwright
        self.started: dict[str, Any] = {}

    def context(self, width: int, scheme: str) -> Any:
        size = {"width": width, "height": 900}
        if self.name == "chromium":
            if not self.started:
                self.started[""] = self.playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
            return self.started[""].new_context(viewport=size, color_scheme=scheme)
        if scheme not in self.started:
            prefs = {"layout.css.prefers-color-scheme.content-override": 0 if scheme == "dark" else 1}
            self.started[scheme] = self.playwright.firefox.launch(executable_path=FIREFOX, channel="moz-firefox", firefox_user_prefs=prefs)
        return self.started[scheme].new_context(viewport=size)

    def close(self) -> None:
        for started in self.started.values():
            started.close()


@pytest.fixture(scope="module", params=["chromium", "firefox"])
def browser(request: pytest.FixtureRequest) -> Iterator[Browser]:
    if (CHROMIUM if request.param == "chromium" else FIREFOX) is None:
        missing(request.param, f"no {request.param} is installed (Debian: apt-get install {'firefox-esr' if request.param == 'firefox' else 'chromium'})")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as p:
        browser = Browser(p, request.param)
        yield browser
        browser.close()


class Opened:
    """The page with its errors."""

    def __init__(self, browser: Browser, address: str, width: int = 1400, scheme: str = "light", init: str = "") -> None:
        self.context = browser.context(width, scheme)
        self.page = self.context.new_page()
        if init:
            self.page.add_init_script(init)
        self.errors: list[str] = []
        self.page.on("pageerror", lambda e: self.errors.append(str(e)))
        self.page.on("console", lambda m: self.errors.append(m.text) if m.type == "error" else None)
        self.open(address)

    def open(self, address: str) -> None:
        self.page.goto(address)
        self.page.wait_for_selector("html[data-ready]", timeout=60_000)

    def __enter__(self) -> Opened:
        return self

    def __exit__(self, failed: object, *_: object) -> None:
        self.context.close()
        if failed is None:
            assert self.errors == [], self.errors

    def until(self, what: str, seconds: float = 120) -> None:
        """Waits until an expression is true; Playwright's own way evaluates texts, which the page forbids."""
        end = time.monotonic() + seconds
        while not self.page.evaluate(what):
            assert time.monotonic() < end, f"never true: {what}"
            self.page.wait_for_timeout(50)

    def drawn(self, slot: str = "A") -> Any:
        self.page.wait_for_selector(f"article[data-slot={slot}] iframe[data-painted]", timeout=120_000)
        return self.page.frame_locator(f"article[data-slot={slot}] iframe")

    def shoot(self, name: str, **options: Any) -> None:
        """A picture. Playwright puts a style into the page, which Firefox forbids and reports."""
        SHOTS.mkdir(parents=True, exist_ok=True)
        before = len(self.errors)
        self.page.screenshot(path=SHOTS / f"{name}.png", **options)
        self.page.wait_for_timeout(100)
        self.errors[before:] = [e for e in self.errors[before:] if "inline style" not in e]

    def drop(self, folder: Path) -> None:
        """Drops a folder: in Chromium as a mouse does, in Firefox by an event that holds the folder."""
        if "chromium" in self.context.browser.browser_type.name:
            session = self.context.new_cdp_session(self.page)
            data = {"items": [], "files": [str(folder)], "dragOperationsMask": 1}
            for kind in ("dragEnter", "dragOver", "drop"):
                session.send("Input.dispatchDragEvent", {"type": kind, "x": 200, "y": 300, "data": data})
        else:
            self.page.evaluate(
                """([folder, files]) => {
                  const file = ([name, text]) => ({ isFile: true, fullPath: `/${folder}/${name}`, file: (done) => done(new File([text], name)) });
                  const parts = [files.map(file), []];
                  const entry = { isFile: false, createReader: () => ({ readEntries: (done) => done(parts.shift()) }) };
                  const e = new Event("drop", { bubbles: true, cancelable: true });
                  e.dataTransfer = { items: [{ webkitGetAsEntry: () => entry }] };
                  document.body.dispatchEvent(e);
                }""",
                [folder.name, [[f.name, f.read_text()] for f in sorted(folder.iterdir())]],
            )

    def ran(self) -> int:
        return int(self.page.get_attribute("html", "data-ran") or 0)

    def ask_later(self, command: str, as_json: bool = False) -> None:
        self.page.evaluate("document.getElementById('files-part').open = true; document.getElementById('answer').dataset.exit = ''")
        self.page.fill("#words", command)
        self.page.set_checked("#json", as_json)
        self.page.click("#ask")

    def ask(self, command: str, as_json: bool = False) -> tuple[str, str]:
        self.ask_later(command, as_json)
        self.until("document.getElementById('answer').dataset.exit !== ''")
        return self.page.get_attribute("#answer", "data-exit"), self.page.inner_text("#answer")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1400, 2560])
def test_from_opening_to_the_deadlock(browser: Browser, served: str, width: int, scheme: str) -> None:
    with Opened(browser, served, width, scheme) as o:
        frame = o.drawn()
        assert "deadlock at 2.795 ms" in frame.locator("h1").inner_text().lower()
        assert o.page.evaluate("document.documentElement.scrollWidth") <= width
        print(f"{browser.name}: drawn after {o.page.get_attribute('html', 'data-drawn')} ms")
        o.page.wait_for_timeout(1500)
        o.shoot(f"{browser.name}-ring-{width}-{scheme}")
        o.page.click("#run")
        o.until("document.documentElement.dataset.ran === '2'")
        o.drawn()
        o.page.wait_for_timeout(1500)
        assert o.page.locator("article iframe").bounding_box()["y"] < 900, "the result is on the screen"
        o.shoot(f"{browser.name}-ring-{width}-{scheme}-report")


def test_it_opens_as_a_file(browser: Browser) -> None:
    if not (SITE / "index.html").is_file():
        missing("playground", "out/playground is not built: make playground")
    with Opened(browser, (SITE / "index.html").as_uri()) as o:
        frame = o.drawn()
        # The report asks the simulator of the page around it, as it asks the server of `xoff view`.
        frame.locator("button:has-text('run it here')").first.click()
        frame.locator("#explained:has-text('None of these ports can send again')").wait_for(timeout=60_000)


def test_a_problem_has_its_place(browser: Browser, served: str, tmp_path: Path) -> None:
    """The same text as the command, with the line marked."""
    with Opened(browser, served) as o:
        o.drawn()
        text = o.page.input_value("#text").replace('kind = "ring"', 'kind = "rink"')
        (tmp_path / "ring.toml").write_text(text)
        o.page.fill("#text", text)
        o.page.click("#run")
        o.page.wait_for_selector("#problems:not([hidden])")
        line = text[: text.index('"rink"')].count("\n") + 1
        assert o.page.locator("#numbers .bad").all_inner_texts() == [str(line)]
        env = {"LANG": "C.UTF-8", "COLUMNS": "84", "PATH": os.environ["PATH"]}
        theirs = subprocess.run([XOFF, "run", "ring.toml"], capture_output=True, text=True, cwd=tmp_path, env=env, check=False)
        assert o.page.inner_text("#problems").strip() == theirs.stderr.strip()


# The last file that was saved.
SAVED = "const made = URL.createObjectURL; URL.createObjectURL = (blob) => { window.saved = blob; return made.call(URL, blob); };"


def test_the_keyboard_is_enough(browser: Browser, served: str) -> None:
    with Opened(browser, served, init=SAVED) as o:
        o.drawn()
        page = o.page
        page.focus("#text")
        page.keyboard.press("Control+End")
        page.keyboard.type("\n[run]\nti")
        page.keyboard.press("Control+Space")
        assert page.locator("#keys li").first.inner_text().startswith("title")
        page.keyboard.press("Enter")
        assert page.input_value("#text").endswith("title = ")
        seen = set()
        for _ in range(40):
            page.keyboard.press("Tab")
            seen.add(page.evaluate("document.activeElement.id"))
        assert {"settings", "run", "share"} <= seen
        # From the top: a preset, a slider, a run and its stop, a command, and the lab, without a mouse.
        page.focus("#preset")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowDown")
        o.until("document.getElementById('about').textContent.startsWith('The same ring twice')")
        o.drawn("B")
        ran = o.ran()
        page.focus(".slider input")
        page.keyboard.press("ArrowLeft")
        o.until(f"Number(document.documentElement.dataset.ran) > {ran}")
        ran = o.ran()
        page.focus("#text")
        page.keyboard.press("Control+Enter")
        o.until(f"Number(document.documentElement.dataset.ran) > {ran}")
        page.focus("#files-part summary")
        page.keyboard.press("Enter")
        page.focus("#words")
        page.keyboard.type("check ring.toml")
        page.keyboard.press("Enter")
        o.until("document.getElementById('answer').dataset.exit === '1'")
        for button, place in (("Remove", "choose"), ("Edit", "text")):
            page.set_input_files("#choose", [{"name": "a.toml", "mimeType": "text/plain", "buffer": b"# a"}])
            page.focus(f"#dropped [aria-label='{button} a.toml']")
            page.keyboard.press("Enter")
            assert page.evaluate("document.activeElement.id") == place
        page.focus("#lab-open")
        page.keyboard.press("Enter")
        for answer in ("S2->S3", "3"):
            page.keyboard.type(answer)
            page.keyboard.press("Enter")
            o.until("document.activeElement.textContent === 'Next question'")
            page.keyboard.press("Enter")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        o.until("document.activeElement.textContent === 'Next question'")
        # Stop, and the focus is not lost with the button.
        page.fill("#text", (ROOT / "scenarios/bench/websearch.toml").read_text())
        page.focus("#run")
        page.keyboard.press("Enter")
        page.wait_for_selector("#stop:not([disabled])")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        o.until("document.getElementById('status').textContent.startsWith('Stopped')")
        assert page.evaluate("document.activeElement.id") == "run"
        # A download, at the end: Firefox asks in a window of its own.
        page.focus("article summary")
        page.keyboard.press("Enter")
        page.keyboard.press("Tab")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        assert page.evaluate("window.saved.size") > 1000


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1400])
def test_names_roles_and_contrast(browser: Browser, served: str, width: int, scheme: str) -> None:
    """axe finds nothing with everything open: names, roles, labels, contrast."""
    from axe_playwright_python.sync_playwright import Axe

    with Opened(browser, served, width, scheme) as o:
        o.drawn()
        o.page.click("#lab-open")
        o.page.fill("#lab form input", "S3->S1")
        o.page.click("#lab form button")
        o.page.wait_for_selector("#lab p.wrong")
        o.page.fill("#text", o.page.input_value("#text").replace('kind = "ring"', 'kind = "rink"'))
        o.page.wait_for_selector("#problems:not([hidden])")
        o.page.set_input_files("#choose", ROOT / "scenarios/tutorial/ring.toml")
        o.ask("check ring.toml")
        o.page.evaluate("warn('A warning.')")
        o.page.focus("#text")
        o.page.keyboard.press("Control+Space")
        found = Axe().run(o.page, options={"iframes": False})
        violations = [(v["id"], n["target"]) for v in found.response["violations"] for n in v["nodes"]]
        # The editor's arrow keys scroll the list of keys.
        assert violations == [("scrollable-region-focusable", ["#keys"])], found.generate_report()
        assert o.page.evaluate("document.documentElement.scrollWidth") <= width
        live = o.page.evaluate("['status', 'estimate', 'warning', 'problems', 'answer'].map((id) => document.getElementById(id).role)")
        assert live == ["status", "status", "alert", "log", "log"]
        o.shoot(f"{browser.name}-open-{width}-{scheme}", full_page=True)


def test_two_runs_side_by_side_with_one_slider(browser: Browser, served: str) -> None:
    with Opened(browser, served + "#preset=gfc", 2560) as o:
        assert "deadlock at" in o.drawn("A").locator("h1").inner_text().lower()
        assert "no deadlock" in o.drawn("B").locator("h1").inner_text().lower()
        ran = o.ran()
        o.page.focus(".slider input")
        o.page.keyboard.press("ArrowLeft")
        o.until(f"Number(document.documentElement.dataset.ran) > {ran}")
        o.drawn("A"), o.drawn("B")
        o.page.wait_for_timeout(1000)
        o.shoot(f"{browser.name}-side-by-side")
        assert "topology.rate=9.5Gbps" in o.page.inner_text("#same")


def test_every_preset_runs(browser: Browser, served: str) -> None:
    with Opened(browser, served) as o:
        for preset in o.page.evaluate("XOFF.presets.map((p) => p.id)"):
            ran = o.ran()
            o.page.select_option("#preset", preset)
            o.until(f"Number(document.documentElement.dataset.ran) > {ran}")
            o.drawn()
            assert o.page.inner_text("#status").startswith("Done in"), (preset, o.page.inner_text("#problems"))


def test_a_folder_stays_in_the_browser(browser: Browser, server: Server) -> None:
    """A dropped folder of SONiC has the answer of the command, and no request is made."""
    seen = server.seen
    with Opened(browser, server.address) as o:
        o.drawn()
        o.page.wait_for_timeout(1500)  # the service worker has its files
        before = len(seen)
        asked: list[str] = []
        o.page.on("request", lambda r: asked.append(r.url))
        o.drop(ROOT / "scenarios/tutorial/roce")
        o.until("document.querySelectorAll('#dropped li').length === 4")
        assert o.page.input_value("#words") == "plan sonic:roce"
        exit, text = o.ask("plan sonic:roce", as_json=True)
        theirs = subprocess.run([XOFF, "plan", "sonic:roce", "--json"], capture_output=True, text=True, cwd=ROOT / "scenarios/tutorial", check=False)
        assert (int(exit), o.page.evaluate("document.getElementById('answer').firstChild.textContent")) == (theirs.returncode, theirs.stdout)
        assert [a for a in asked if not a.startswith("blob:")] == [] and len(seen) == before, (asked, seen[before:])
        assert json.loads(theirs.stdout) == json.loads(text)


def test_commands_read_the_results_of_the_page(browser: Browser, served: str, tmp_path: Path) -> None:
    """Before: no Parquet table could be read, a folder could not be written a second time, and threads ended the program."""
    row = next(line for line in (ROOT / "docs/playground.md").read_text().splitlines() if line.startswith("| ask another command"))
    commands = [*re.findall("`([^`]+)`", row), "export out/A --csv sheets", "check ring.toml --json"]
    assert len(commands) == 6
    with Opened(browser, f"{served}#preset=gfc") as o:
        o.drawn("A"), o.drawn("B")
        (tmp_path / "ring.toml").write_text(o.page.input_value("#text"))
        env = {"LANG": "C.UTF-8", "COLUMNS": "84", "PATH": os.environ["PATH"]}
        for slot, settings in (("A", "#settings"), ("B", "#beside")):
            sets = [w for s in shlex.split(o.page.input_value(settings)) for w in ("--set", s)]
            assert subprocess.run([XOFF, "run", "ring.toml", "--out", f"out/{slot}", *sets], cwd=tmp_path, capture_output=True, check=False).returncode < 2
        for command in commands:
            theirs = subprocess.run([XOFF, *shlex.split(command)], capture_output=True, text=True, cwd=tmp_path, env=env, check=False)
            exit, _ = o.ask(command)
            text = o.page.evaluate("document.getElementById('answer').firstChild.textContent")
            assert (int(exit), text) == (theirs.returncode, theirs.stdout + theirs.stderr), command
        assert "compare" in " ".join(commands) and "perfetto" in " ".join(commands)
        exit, text = o.ask("run ring.toml --out out/A --threads 4")
        assert exit == "1" and "one thread instead of 4: WebAssembly has no more" in text
        exit, text = o.ask("run ring.toml --out ring.toml")
        assert exit == "2" and "is a file" in text


def test_it_works_offline(browser: Browser) -> None:
    server = Server()
    with Opened(browser, server.address) as o:
        o.page.evaluate("navigator.serviceWorker.ready.then(() => 1)")
        o.until("caches.keys().then((k) => caches.open(k[0])).then((c) => c.keys()).then((k) => k.length === 7)")
        server.close()
        o.open(server.address)
        assert "2.795 ms" in o.drawn().locator("h1").inner_text()


def test_a_link_holds_the_scenario(browser: Browser, served: str) -> None:
    with Opened(browser, served) as o:
        o.drawn()
        text = o.page.input_value("#text") + "\n# own <b>words</b>\n"
        o.page.fill("#text", text)
        o.page.click("#share")
        o.until("location.hash.startsWith('#s=')")
        address = o.page.evaluate("location.href")
    with Opened(browser, address) as o:
        assert o.page.input_value("#text") == text
        assert o.page.locator("iframe").count() == 0, "the reader starts a run of somebody else"
    damaged, nothing = "This link is damaged or cut off. Copy the whole address", "This link names no preset"
    cut = address.removeprefix(served)[:-20]
    for broken, told in (("#s=", damaged), ("#s=!!!", damaged), ("#s=AAAA", damaged), (cut, damaged), (link_of({"text": 7}), damaged), (link_of({"text": "x" * 2**20}), "The scenario of this link has more than 1.049 MB"), ("#preset=%E0%A4%A", nothing), ("#preset=nothing", nothing)):
        with Opened(browser, served + broken) as o:
            assert o.page.is_enabled("#run")
            assert o.page.inner_text("#status").startswith(told), broken[:40]


def link_of(state: object) -> str:
    """The fragment of a link, as a stranger might write it."""
    packed = zlib.compressobj(wbits=-15)
    data = packed.compress(json.dumps(state).encode()) + packed.flush()
    return "#s=" + base64.urlsafe_b64encode(data).decode().rstrip("=")


def test_names_are_those_of_plain_files(browser: Browser, served: str) -> None:
    """Before: a link and a dropped file could be named `..` or `--help`."""
    for name in ("..", ".", "--help", "-.toml", "out", "a/b.toml", "../x.toml", "x.toml\n", "\u202ex.toml", 7):
        with Opened(browser, served + link_of({"name": name, "text": "[run]\n", "settings": "run.seed=2\u0007"})) as o:
            assert o.page.inner_text("#same code") == "xoff run scenario.toml --set run.seed=2", name
    with Opened(browser, served) as o:
        o.drawn()
        names = ["--help", "-x.toml", "a.toml"]
        o.page.set_input_files("#choose", [{"name": n, "mimeType": "text/plain", "buffer": b"x"} for n in names])
        o.page.wait_for_selector("#dropped li")
        assert o.page.locator("#dropped li").count() == 1
        assert o.page.inner_text("#status") == "Not taken: --help and 1 other file. Rename it: the command would not read this name as that of a file."
        o.page.set_viewport_size({"width": 400, "height": 900})
        for name in ("b" * 240 + ".toml", "-" + "b" * 240):
            o.page.set_input_files("#choose", [{"name": name, "mimeType": "text/plain", "buffer": b"x"}])
            o.page.wait_for_timeout(500)
        o.page.check("#beside-on")
        o.page.fill("#beside", "run.title=" + "b" * 240)
        ran = o.ran()
        o.page.click("#run")
        o.until(f"Number(document.documentElement.dataset.ran) > {ran}")
        assert o.page.evaluate("document.documentElement.scrollWidth") <= 400
        paths = ["a/../b", "..", "./x", "a//b", "", "a\\b", "a\nb", "-", "a/b", ".git/x", "my net/x y.json"]
        assert o.page.evaluate("(paths) => paths.map(isPlain)", paths) == [False] * 8 + [True] * 3


def test_words_are_those_of_a_shell(browser: Browser, served: str) -> None:
    lines = [
        "a b", "  a   b ", "'a b' \"c d\"", "key=\"a b\" c", "'it'\\''s' x", "a\\ b", "'x=[{ host = \"H0\" }]' y", '"a \\"b\\" c" d', "a'b'\"c\"d", "'' x", '"a\\nb"', "x='a \"b'",
    ]  # fmt: skip
    with Opened(browser, served) as o:
        assert o.page.evaluate("(lines) => lines.map(wordsOf)", lines) == [shlex.split(line) for line in lines]
        words = ["it's", "a b", 'a"b', "a\\b", "", "key=a b", "$HOME `x`", "''"]
        assert o.page.evaluate("(words) => wordsOf(words.map(xoff.quoted).join(' '))", words) == words
        assert o.page.evaluate("wordsOf(\"it's a\")") == ["it's", "a"]
        o.page.set_input_files("#choose", [{"name": "my net's.clab.yml", "mimeType": "text/plain", "buffer": (ROOT / "crates/scenario/tests/import/containerlab/leafspine.clab.yml").read_bytes()}])
        o.page.wait_for_selector("#dropped li")
        command = o.page.input_value("#words")
        assert shlex.split(command) == ["check", "containerlab:my net's.clab.yml"]
        assert o.ask(command)[0] in "01"


def test_a_file_that_is_too_large_keeps_no_other_out(browser: Browser, served: str, tmp_path: Path) -> None:
    with open(tmp_path / "a.bin", "wb") as large:
        large.truncate(200_000_001)
    (tmp_path / "b.toml").write_text("x")
    with Opened(browser, served) as o:
        o.drawn()
        o.page.set_input_files("#choose", [tmp_path / "a.bin", tmp_path / "b.toml"])
        o.until("document.getElementById('status').textContent.startsWith('Not taken: a.bin.')")
        assert o.page.locator("#dropped li").all_inner_texts() == ["b.toml (1 B) remove edit"]


def test_an_address_changed_by_hand_keeps_the_text(browser: Browser, served: str) -> None:
    """Before: one that names nothing put the first preset into the editor, and the lab did not open."""
    with Opened(browser, served) as o:
        o.drawn()
        mine = "# mine\n" + o.page.input_value("#text")
        o.page.fill("#text", mine)
        for fragment in ("nothing", "s=AAAA", "preset=nothing", "text", ""):
            o.page.evaluate("(f) => { document.getElementById('status').textContent = ''; location.hash = f; }", fragment)
            o.page.wait_for_timeout(300)
            assert o.page.input_value("#text") == mine, fragment
            assert o.page.inner_text("#status").startswith("This link ") == (fragment != ""), fragment
        for _ in range(2):
            o.page.evaluate("location.hash = 'lab=1'")
            o.page.wait_for_selector("#lab form")
            o.page.click("#lab-open")
            o.page.wait_for_selector("#lab", state="hidden")
        assert o.page.input_value("#text") == mine
        o.page.evaluate("location.hash = 'preset=gfc'")
        o.drawn("B")
        o.page.click("#last")
        assert o.page.input_value("#text") == mine


def test_both_sides_are_told_before_a_run(browser: Browser, served: str) -> None:
    with Opened(browser, served) as o:
        o.drawn()
        o.page.fill("#text", (ROOT / "scenarios/bench/websearch.toml").read_text())
        o.page.fill("#settings", "run.duration=20us")
        o.page.check("#beside-on")
        o.until("/^Run A takes about .* Run B takes about .* at least/.test(document.getElementById('estimate').textContent)", 60)
        assert o.page.inner_text("#warning").startswith("Run B takes about")
        assert o.page.inner_text("#warning code") == "xoff run ring.toml --out out/B"
        assert o.page.locator("#same code").all_inner_texts() == ["xoff run ring.toml --out out/A --set run.duration=20us", "xoff run ring.toml --out out/B"]
        o.page.fill("#beside", "flow_control=nonsense")
        o.until("document.getElementById('problems').textContent.includes('nonsense')", 60)
        assert o.page.inner_text("#estimate").startswith("Run A takes about")
        assert o.page.is_hidden("#warning")


def test_what_is_saved_and_shared_has_sliders_and_settings(browser: Browser, served: str) -> None:
    with Opened(browser, f"{served}#preset=ring", init=SAVED) as o:
        page = o.page
        o.drawn()
        text = page.input_value("#text")
        page.click("#save")
        assert page.evaluate("window.saved.text()") == text
        page.focus(".slider input")
        page.keyboard.press("ArrowLeft")
        page.fill("#settings", "run.seed=2 'run.title=my ring'")
        page.select_option("#format", "csv")
        page.click("#save")
        line = "# xoff run ring.toml --set flow_control.pfc.xoff=790KB --set flow_control.pfc.xon=787KB --set run.seed=2 --set 'run.title=my ring' --format csv\n"
        assert page.evaluate("window.saved.text()") == line + text
        assert "command line" in page.inner_text("#status")
        page.click("#share")
        o.until("location.hash.startsWith('#s=')")
        link = page.url
    with Opened(browser, link) as o:
        assert o.page.inner_text("#same code") == line[2:].strip()


def test_what_the_user_wrote_outlives_links_presets_and_reloads(browser: Browser, served: str) -> None:
    """Before: a link that was only opened replaced it, a reload went back to the link, and side B of a link had no sliders."""
    with Opened(browser, f"{served}#preset=gfc") as o:
        page = o.page
        o.drawn("B")
        page.locator("#sliders input[type=range]").first.evaluate("(e) => { e.value = 8; e.dispatchEvent(new Event('input')); }")
        assert page.evaluate("location.hash") == ""
        page.click("#share")
        o.until("location.hash.startsWith('#s=')")
        link = page.url
        page.fill("#text", "# mine\n" + page.input_value("#text"))
        mine = page.evaluate("localStorage.xoff")
        page.select_option("#preset", "ring")
        assert page.is_visible("#last")
        page.goto("about:blank")
        o.open(link)
        for side in ("#settings", "#beside"):
            assert "rate=8Gbps" in page.input_value(side)
        page.wait_for_timeout(1000)
        assert page.evaluate("localStorage.xoff") == mine
        page.fill("#settings", "switch.discipline=round-robin")
        page.reload()
        page.wait_for_selector("html[data-ready]")
        assert page.input_value("#settings") == "switch.discipline=round-robin"


def test_a_result_is_named_by_the_settings_that_it_ran_with(browser: Browser, served: str) -> None:
    """Before: by those in the field when it ended; and a report stayed beside a run that was refused."""
    with Opened(browser, f"{served}#preset=ring") as o:
        page = o.page
        o.drawn()
        heads = "[...document.querySelectorAll('#results h2')].map((h) => h.textContent).join('|')"
        page.check("#beside-on")
        for settings, wanted in [("flow_control=cbfc", "B: flow_control=cbfc"), ("flow_control=nonsense", "Of an earlier run: B: flow_control=cbfc")]:
            page.fill("#beside", settings)
            before = o.ran()
            page.click("#run")
            page.fill("#beside", "flow_control=pffc")
            o.until(f"Number(document.documentElement.dataset.ran) > {before}")
            assert page.evaluate(heads) == f"A: the scenario|{wanted}"
        page.set_input_files("#choose", [{"name": "ring.toml", "mimeType": "text/plain", "buffer": b"x"}])
        page.wait_for_selector("#dropped >> text=is not read")


def test_a_long_run_is_told_before_and_can_be_stopped(browser: Browser, served: str) -> None:
    with Opened(browser, served) as o:
        o.drawn()
        text = (ROOT / "scenarios/bench/websearch.toml").read_text()
        o.page.fill("#text", text)
        o.until("document.getElementById('estimate').textContent.startsWith('This run takes about')", 60)
        print(browser.name, o.page.inner_text("#estimate"))
        assert "xoff run ring.toml" in o.page.inner_text("#warning")
        o.page.click("#warning button")
        o.until("document.getElementById('status').textContent.startsWith('The command line is')")
        o.page.click("#run")
        o.until("document.getElementById('status').textContent.includes('left')")
        o.page.click("#stop")
        o.until("document.getElementById('status').textContent.startsWith('Stopped')")
        assert o.page.input_value("#text") == text
        o.ask_later("run ring.toml")
        o.page.click("#stop")
        o.until("document.getElementById('answer').textContent === 'Stopped.'")


def test_a_run_that_does_not_fit_shows_the_command(browser: Browser, served: str) -> None:
    with Opened(browser, served) as o:
        o.drawn()
        text = o.page.input_value("#text")
        o.page.fill("#settings", "topology.delay=1000s flow_control=none")
        o.until("document.getElementById('warning').textContent.includes('a machine with more than')")
        assert "xoff run ring.toml --set topology.delay=1000s --set flow_control=none" in o.page.inner_text("#warning")
        assert "of memory" in o.page.inner_text("#problems")
        assert o.page.input_value("#text") == text


@pytest.mark.parametrize("death", ["throw new Error('out of memory')", "runCommand = () => { throw new WebAssembly.RuntimeError('unreachable'); }"])
def test_a_dead_worker_loses_nothing(browser: Browser, served: str, death: str) -> None:
    """Workers die while `dying` is set; then the text, the settings and the sliders are as they were, and the next run runs."""
    init = """const Real = Worker;
        window.Worker = function (url) {
          if (!window.dying) return new Real(url);
          const text = window.dying.startsWith("throw") ? `onmessage = () => { ${window.dying}; }` : XOFF.worker.replace("const runCommand =", "let runCommand =") + window.dying;
          return new Real(URL.createObjectURL(new Blob([text], { type: "text/javascript" })));
        };"""
    with Opened(browser, served, init=init) as o:
        o.drawn()
        text = o.page.input_value("#text") + "\n# mine\n"
        o.page.fill("#text", text)
        o.page.fill("#settings", "run.seed=7")
        o.page.evaluate("(death) => (window.dying = death)", death)
        ran = o.ran()
        o.page.click("#run")
        o.until(f"Number(document.documentElement.dataset.ran) > {ran}")
        assert "ended before the run did" in o.page.inner_text("#status")
        assert (o.page.input_value("#text"), o.page.input_value("#settings")) == (text, "run.seed=7")
        o.page.evaluate("window.dying = ''")
        o.page.click("#run")
        o.until(f"Number(document.documentElement.dataset.ran) > {ran + 1}")
        assert o.page.inner_text("#status").startswith("Done in")
        # A reload, and a tab that was closed and opened again.
        o.page.reload()
        o.page.wait_for_selector("html[data-ready]", timeout=60_000)
        assert (o.page.input_value("#text"), o.page.input_value("#settings")) == (text, "run.seed=7")
        again = o.context.new_page()
        o.page.close()
        again.goto(served)
        again.wait_for_selector("html[data-ready]", timeout=60_000)
        again.click("#last")
        assert (again.input_value("#text"), again.input_value("#settings")) == (text, "run.seed=7")
        o.errors = [e for e in o.errors if "out of memory" not in e]


def test_hostile_texts_do_not_hang_the_page(browser: Browser, served: str) -> None:
    texts = ["", "\0", "[" * 100_000, "a" * 1_000_000, "[[flow]]\n" * 20_000, "x = y\n" * 20_000, "[[flow]]\na = 1\na = y\n" * 20_000, "<script>alert(1)</script>", "\ud7ff[run]\ntitle = '</script><img src=x onerror=alert(1)>'"]
    with Opened(browser, served) as o:
        o.drawn()
        o.page.on("dialog", lambda d: pytest.fail("a script of the text ran"))
        for text in texts:
            ran = o.ran()
            o.page.evaluate("(text) => { const t = document.getElementById('text'); t.value = text; t.dispatchEvent(new Event('input')); }", text)
            o.page.click("#run")
            o.until(f"Number(document.documentElement.dataset.ran) > {ran}", 20)
        broken = sorted((ROOT / "crates/scenario/tests/import").glob("*/broken/*"))
        assert len(broken) > 20
        o.page.set_input_files("#choose", broken)
        o.until(f"document.querySelectorAll('#dropped li').length === {len({b.name for b in broken})}")
        for file in broken[::6]:
            exit, text = o.ask(f"check {file.parent.parent.name.replace('graph', 'graphml').replace('ib', 'ibnetdiscover')}:{file.name}")
            assert exit in ("0", "1", "2"), (file, text)


STAR = 'kind = "star"\nhosts = 4\nrate = "100Gbps"\ndelay = "1us"\n'
# How a scenario names a file of the corpus: topology, and the rest.
NAMED = {
    "job-goal": (STAR, '[[job]]\ngoal = "x"\n'),
    "job-goal-stream": (STAR, '[[job]]\nstream = true\ngoal = "x"\n'),
    "job-msccl": (STAR, '[[job]]\nmsccl = "x"\nmessage_size = "64KB"\n'),
    "job-htsim": (STAR, '[[job]]\nhtsim = "x"\n'),
    "job-simai": (STAR, '[[job]]\nsimai = "x"\n'),
    "job-chakra": (STAR, '[[job]]\nchakra = "x"\nranks = 1\n'),
    "job-chakra-stream": (STAR, '[[job]]\nstream = true\nchakra = "x"\nranks = 1\n'),
    "job-groups": (STAR, '[[job]]\nchakra = "x"\nchakra_groups = "x"\nranks = 1\n'),
    "job-matrix": (STAR, '[[job]]\n[[collective]]\nkind = "all-to-all"\nmatrix = "x"\n'),
    "cdf": (STAR, '[[workload]]\nkind = "poisson"\ncdf = "x"\nload = 0.5\nduration = "1ms"\n'),
    "topology-file": ('kind = "file"\npath = "x"\n', '[[workload]]\nkind = "permutation"\nsize = "1KB"\n'),
    "topology-links": ('kind = "custom"\nhosts = ["h1", "h2", "h3"]\nlinks_file = "x"\n', '[[workload]]\nkind = "permutation"\nsize = "1KB"\n'),
}


def question(reader: str) -> tuple[list[str], str]:
    """What is asked of a file `x` of the corpus, and a scenario next to it."""
    if reader in NAMED:
        topology, rest = NAMED[reader]
        return ["check", "s.toml"], f'[run]\nduration = "1ms"\n[topology]\n{topology}[flow_control]\nkind = "pfc"\n{rest}'
    if reader.startswith("import-"):
        return ["check", f"{reader.removeprefix('import-')}:x"], ""
    if reader == "manifest":
        return ["compare", "d", "d"], ""
    if reader == "hpcc-flows":
        return ["check", "star:hosts=64", "--flows", "x"], ""
    return ["check", "x"], ""


def test_every_file_of_the_fuzzers_corpus_has_an_answer(browser: Browser, served: str) -> None:
    """All of it in Chromium, a fifth in Firefox; what belongs into the editor goes there."""
    files = sorted((ROOT / "tools/fuzz/corpus").glob("*/*"))[:: 1 if browser.name == "chromium" else 5]
    assert len(files) > 100
    slowest, seen = 0.0, 0
    with Opened(browser, served) as o:
        o.drawn()
        for file in files:
            reader, content = file.parent.name, file.read_bytes()
            began = time.monotonic()
            if reader in ("scenario", "sweep"):
                o.page.evaluate("(t) => { const e = document.getElementById('text'); e.value = t; e.dispatchEvent(new Event('input')); clearTimeout(tryLater); window.tried = false; tryRun().then(() => (window.tried = true)); }", content.decode(errors="replace"))
                o.until("window.tried", 20)
            else:
                args, scenario = question(reader)
                path = "d/manifest.json" if reader == "manifest" else "x"
                exit = o.page.evaluate(
                    "([args, path, bytes, text]) => ask(args, new Map([['s.toml', bytesOf(text)], [path, Uint8Array.from(bytes)]])).then((d) => d.answer.exit, (e) => `${e.message} ${e.stderr}`)",
                    [args, path, list(content), scenario],
                )
                assert exit in (0, 1, 2), (file, exit)
            slowest, seen = max(slowest, time.monotonic() - began), seen + 1
            assert slowest < 20, file
        o.page.select_option("#preset", "ring")
        o.drawn()
    print(f"{browser.name}: {seen} files, the slowest took {slowest:.1f} s")


def test_the_lab_tests_the_form_of_an_answer_before_a_run(browser: Browser, served: str) -> None:
    count = "const Real = Worker; window.started = 0; window.Worker = function (url) { window.started++; return new Real(url); };"
    wrong = {0: ["", "S1", "a port", "S1->"], 1: ["three", "", "-3", "3.5", "1e1"], 3: ["", "round-robin", "a=1 b=2", "=3"], 7: ["pffc", "", "flow_control="]}
    with Opened(browser, served, init=count) as o:
        o.drawn()
        o.page.wait_for_timeout(1000)
        o.page.click("#lab-open")
        right = ["S2 -> S3", " 3 ", "gfc-buffer", "'switch.discipline=round-robin'", "S2:H6", "0", "tcd"]
        for at in range(8):
            field = o.page.locator("#lab form input, #lab form select")
            before = o.page.evaluate("window.started")
            for answer in wrong.get(at, []):
                field.fill(answer)
                field.press("Enter")
                assert o.page.inner_text("#lab p.wrong").startswith("Expected "), answer
            assert o.page.evaluate("window.started") == before
            if at < 7:
                if field.evaluate("(f) => f.tagName") == "SELECT":
                    field.select_option(right[at])
                else:
                    field.fill(right[at])
                o.page.click("#lab form button")
                o.page.click("#lab button:has-text('Next question')")
        assert o.page.is_disabled("#stop"), "nothing runs"


def test_the_lab(browser: Browser, served: str) -> None:
    """Each question answered wrongly and rightly, from start to end."""
    answers = [
        ("S3->S1", "S2->S3"),
        ("4", "3"),
        ("cbfc", "gfc-buffer"),
        ("switch.discipline=fifo", "switch.discipline=round-robin"),
        ("S1->S2", "S2:H6"),
        ("1", "0"),
        ("red", "tcd"),
        ("flow_control=gfc-buffer", "flow_control=pffc"),
    ]
    with Opened(browser, served) as o:
        o.drawn()
        o.page.click("#lab-open")
        for wrong, right in answers:
            for answer, judged in ((wrong, "wrong"), (right, "right")):
                field = o.page.locator("#lab form input, #lab form select")
                if field.evaluate("(f) => f.tagName") == "SELECT":
                    field.select_option(answer)
                else:
                    field.fill(answer)
                o.page.click("#lab form button")
                o.page.wait_for_selector(f"#lab p.{judged}", timeout=60_000)
            if (wrong, right) != answers[-1]:
                o.page.click("#lab button:has-text('Next question')")
        assert "last question" in o.page.inner_text("#lab p.right")
