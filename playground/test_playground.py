"""The laboratory in a real browser, and its simulator in node: `make test-playground`, after `make playground`."""

from __future__ import annotations

import functools
import http.server
import json
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest

ROOT = Path(__file__).parents[1]
SITE = ROOT / "out/playground"
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
WASM = TARGET / "wasm32-wasip1/playground/xoff.wasm"
XOFF = TARGET / "release/xoff"
NODE = shutil.which("node")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
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


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[str, list[str]]]:
    """The folder behind a server, with the requests that reach it."""
    if not (SITE / "index.html").is_file():
        missing("playground", "out/playground is not built: make playground")
    seen: list[str] = []

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            seen.append(self.path)

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(SITE)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/", seen
    server.shutdown()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if CHROMIUM is None:
        missing("chromium", "no chromium is installed (Debian: apt-get install chromium)")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as p:
        browser = p.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


class Opened:
    """The page with its errors."""

    def __init__(self, browser: Any, address: str, width: int = 1400, scheme: str = "light") -> None:
        self.context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, accept_downloads=True)
        self.page = self.context.new_page()
        self.errors: list[str] = []
        self.page.on("pageerror", lambda e: self.errors.append(str(e)))
        self.page.on("console", lambda m: self.errors.append(m.text) if m.type == "error" else None)
        self.page.goto(address)
        self.page.wait_for_selector("html[data-ready]", timeout=60_000)

    def __enter__(self) -> Opened:
        return self

    def __exit__(self, *_: object) -> None:
        self.context.close()
        assert self.errors == []

    def until(self, what: str) -> None:
        """Waits until an expression is true; Playwright's own way evaluates texts, which the page forbids."""
        for _ in range(1200):
            if self.page.evaluate(what):
                return
            self.page.wait_for_timeout(100)
        pytest.fail(f"never true: {what}")

    def drawn(self, slot: str = "A") -> Any:
        self.page.wait_for_selector(f"article[data-slot={slot}] iframe[data-painted]", timeout=120_000)
        return self.page.frame_locator(f"article[data-slot={slot}] iframe")

    def ask(self, command: str, as_json: bool = False) -> tuple[str, str]:
        self.page.evaluate("document.getElementById('files-part').open = true; document.getElementById('answer').dataset.exit = ''")
        self.page.fill("#words", command)
        self.page.set_checked("#json", as_json)
        self.page.click("#ask")
        self.until("document.getElementById('answer').dataset.exit !== ''")
        return self.page.get_attribute("#answer", "data-exit"), self.page.inner_text("#answer")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1400, 2560])
def test_from_opening_to_the_deadlock(browser: Any, served: tuple[str, list[str]], width: int, scheme: str) -> None:
    with Opened(browser, served[0], width, scheme) as o:
        frame = o.drawn()
        assert "deadlock at 2.795 ms" in frame.locator("h1").inner_text().lower()
        assert o.page.evaluate("document.documentElement.scrollWidth") <= width
        print(f"drawn after {o.page.get_attribute('html', 'data-drawn')} ms")
        o.page.wait_for_timeout(1500)
        SHOTS.mkdir(parents=True, exist_ok=True)
        o.page.screenshot(path=SHOTS / f"ring-{width}-{scheme}.png")
        o.page.click("#run")
        o.until("document.documentElement.dataset.ran === '2'")
        o.drawn()
        o.page.wait_for_timeout(1500)
        assert o.page.locator("article iframe").bounding_box()["y"] < 900, "the result is on the screen"
        o.page.screenshot(path=SHOTS / f"ring-{width}-{scheme}-report.png")


def test_it_opens_as_a_file(browser: Any) -> None:
    if not (SITE / "index.html").is_file():
        missing("playground", "out/playground is not built: make playground")
    with Opened(browser, (SITE / "index.html").as_uri()) as o:
        frame = o.drawn()
        # The report asks the simulator of the page around it, as it asks the server of `xoff view`.
        frame.locator("button:has-text('run it here')").first.click()
        frame.locator("#explained:has-text('None of these ports can send again')").wait_for(timeout=60_000)


def test_a_problem_has_its_place(browser: Any, served: tuple[str, list[str]], tmp_path: Path) -> None:
    """The same text as the command, with the line marked."""
    with Opened(browser, served[0]) as o:
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


def test_the_keyboard_is_enough(browser: Any, served: tuple[str, list[str]]) -> None:
    with Opened(browser, served[0]) as o:
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
        unnamed = "[...document.querySelectorAll('button, input, select, textarea, iframe')].filter((e) => !(e.labels?.length || e.ariaLabel || e.title || e.textContent.trim())).map((e) => e.outerHTML)"
        assert page.evaluate(unnamed) == []
        page.select_option("#preset", "ring")
        ran = int(page.get_attribute("html", "data-ran") or 0)
        page.focus("#text")
        page.keyboard.press("Control+Enter")
        o.until(f"Number(document.documentElement.dataset.ran) > {ran}")


def test_two_runs_side_by_side_with_one_slider(browser: Any, served: tuple[str, list[str]]) -> None:
    with Opened(browser, served[0] + "#preset=gfc", 2560) as o:
        assert "deadlock at" in o.drawn("A").locator("h1").inner_text().lower()
        assert "no deadlock" in o.drawn("B").locator("h1").inner_text().lower()
        ran = int(o.page.get_attribute("html", "data-ran") or 0)
        o.page.focus(".slider input")
        o.page.keyboard.press("ArrowLeft")
        o.until(f"Number(document.documentElement.dataset.ran) > {ran}")
        o.drawn("A"), o.drawn("B")
        o.page.wait_for_timeout(1000)
        SHOTS.mkdir(parents=True, exist_ok=True)
        o.page.screenshot(path=SHOTS / "side-by-side.png")
        assert "topology.rate=9.5Gbps" in o.page.inner_text("#same")


def test_every_preset_runs(browser: Any, served: tuple[str, list[str]]) -> None:
    with Opened(browser, served[0]) as o:
        for preset in o.page.evaluate("XOFF.presets.map((p) => p.id)"):
            ran = int(o.page.get_attribute("html", "data-ran") or 0)
            o.page.select_option("#preset", preset)
            o.until(f"Number(document.documentElement.dataset.ran) > {ran}")
            o.drawn()
            assert o.page.inner_text("#status").startswith("Done in"), (preset, o.page.inner_text("#problems"))


def test_a_folder_stays_in_the_browser(browser: Any, served: tuple[str, list[str]]) -> None:
    """A dropped folder of SONiC has the answer of the command, and no request is made."""
    address, seen = served
    with Opened(browser, address) as o:
        o.drawn()
        o.page.wait_for_timeout(1500)  # the service worker has its files
        before = len(seen)
        asked: list[str] = []
        o.page.on("request", lambda r: asked.append(r.url))
        o.page.evaluate("document.getElementById('files-part').open = true")
        o.page.set_input_files("#choose-folder", ROOT / "scenarios/tutorial/roce")
        o.page.wait_for_selector("#dropped li")
        assert o.page.input_value("#words") == "plan sonic:roce"
        exit, text = o.ask("plan sonic:roce", as_json=True)
        theirs = subprocess.run([XOFF, "plan", "sonic:roce", "--json"], capture_output=True, text=True, cwd=ROOT / "scenarios/tutorial", check=False)
        assert (int(exit), o.page.evaluate("document.getElementById('answer').firstChild.textContent")) == (theirs.returncode, theirs.stdout)
        assert [a for a in asked if not a.startswith("blob:")] == [] and len(seen) == before, (asked, seen[before:])
        assert json.loads(theirs.stdout) == json.loads(text)


def test_it_works_offline(browser: Any, served: tuple[str, list[str]]) -> None:
    with Opened(browser, served[0]) as o:
        o.page.evaluate("navigator.serviceWorker.ready.then(() => 1)")
        o.page.wait_for_timeout(1000)
        o.context.set_offline(True)
        o.page.reload()
        o.page.wait_for_selector("html[data-ready]", timeout=60_000)
        assert "2.795 ms" in o.drawn().locator("h1").inner_text()


def test_a_link_holds_the_scenario(browser: Any, served: tuple[str, list[str]]) -> None:
    with Opened(browser, served[0]) as o:
        o.drawn()
        text = o.page.input_value("#text") + "\n# own <b>words</b>\n"
        o.page.fill("#text", text)
        o.page.click("#share")
        o.until("location.hash.startsWith('#s=')")
        address = o.page.evaluate("location.href")
    with Opened(browser, address) as o:
        assert o.page.input_value("#text") == text
        assert o.page.locator("iframe").count() == 0, "the reader starts a run of somebody else"
    for broken in ("#s=", "#s=!!!", "#s=AAAA", "#preset=%E0%A4%A", "#preset=nothing"):
        with Opened(browser, served[0] + broken) as o:
            assert o.page.is_enabled("#run")


def test_a_run_can_be_stopped(browser: Any, served: tuple[str, list[str]]) -> None:
    with Opened(browser, served[0]) as o:
        o.drawn()
        text = (ROOT / "scenarios/bench/websearch.toml").read_text()
        o.page.fill("#text", text)
        o.page.click("#run")
        o.until("document.getElementById('status').textContent.includes('left')")
        print(o.page.inner_text("#status"))
        o.page.click("#stop")
        o.until("document.getElementById('status').textContent.startsWith('Stopped')")
        assert o.page.input_value("#text") == text
        # xoff refuses a run that does not fit, with an estimate.
        o.page.fill("#text", text)
        o.page.fill("#settings", "topology.k=64" if 'kind = "fat-tree"' in text else "run.duration=1ms")
        o.page.click("#run")
        o.page.wait_for_timeout(500)
        o.page.click("#stop")


def test_hostile_texts_do_not_hang_the_page(browser: Any, served: tuple[str, list[str]]) -> None:
    texts = ["", "\0", "[" * 100_000, "a" * 1_000_000, "[[flow]]\n" * 20_000, "<script>alert(1)</script>", "\ud7ff[run]\ntitle = '</script><img src=x onerror=alert(1)>'"]
    with Opened(browser, served[0]) as o:
        o.drawn()
        o.page.on("dialog", lambda d: pytest.fail("a script of the text ran"))
        for text in texts:
            ran = int(o.page.get_attribute("html", "data-ran") or 0)
            o.page.evaluate("(text) => { const t = document.getElementById('text'); t.value = text; t.dispatchEvent(new Event('input')); }", text)
            o.page.click("#run")
            o.until(f"Number(document.documentElement.dataset.ran) > {ran}")
        broken = sorted((ROOT / "crates/scenario/tests/import").glob("*/broken/*"))
        assert len(broken) > 20
        o.page.set_input_files("#choose", broken)
        o.until(f"document.querySelectorAll('#dropped li').length === {len({b.name for b in broken})}")
        for file in broken[::6]:
            exit, text = o.ask(f"check {file.parent.parent.name.replace('graph', 'graphml').replace('ib', 'ibnetdiscover')}:{file.name}")
            assert exit in ("0", "1", "2"), (file, text)


def test_the_lab(browser: Any, served: tuple[str, list[str]]) -> None:
    """Each question answered wrongly and rightly, from start to end."""
    answers = [("S3->S1", "S2->S3"), ("4", "3"), ("cbfc", "gfc-buffer"), ("switch.discipline=fifo", "switch.discipline=round-robin")]
    with Opened(browser, served[0]) as o:
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
