"""The report of a run in a real browser: Debian's chromium, headless, driven by Playwright."""

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest

ROOT = Path(__file__).parents[2]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
READY = "html[data-ready]"
# Names of the ports of a drawn cycle, states of the charts, width of the whole page.
CYCLE = "[...document.querySelectorAll('#deadlocks svg g text')].map((t) => t.textContent)"
DRAWN = "[...document.querySelectorAll('.plot')].map((p) => p.dataset.drawn)"
WIDTH = "document.documentElement.scrollWidth"


def missing(what: str, why: str) -> NoReturn:
    """Skips; a failure where no skip is allowed."""
    allowed = os.environ.get("XOFF_TEST_MAY_SKIP", "").split(",")
    if os.environ.get("XOFF_TEST_NO_SKIPS", "0") not in ("", "0") and what not in (a.strip() for a in allowed):
        pytest.fail(f"XOFF_TEST_NO_SKIPS is set, and something is missing: {what}: {why}")
    pytest.skip(f"{what}: {why}")


def xoff(*args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "xoff", *args], capture_output=True, text=True, cwd=ROOT, check=False)


def report(folder: Path, scenario: str, *options: str, name: str = "out", code: int = 0) -> Path:
    """The report of a run of a scenario, which is a file of the repository or a text."""
    if "\n" in scenario:
        (folder / "scenario.toml").write_text(scenario)
        scenario = str(folder / "scenario.toml")
    ran = xoff("run", scenario, "--out", str(folder / name), *options)
    assert ran.returncode == code, ran.stderr + ran.stdout
    return folder / name / "report.html"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if CHROMIUM is None:
        missing("chromium", "no chromium is installed (Debian: apt-get install chromium)")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as p:
        # In a container the browser's own sandbox has no namespaces to make.
        browser = p.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def ring_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return report(tmp_path_factory.mktemp("ring"), "scenarios/tutorial/ring.toml", code=1)


@pytest.fixture(scope="module")
def pods_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """128 hosts with flows of many sizes, some of them unfinished."""
    return report(tmp_path_factory.mktemp("pods"), PODS)


PODS = """
[run]
title = "128 hosts"
duration = "300us"
[topology]
kind = "fat-tree"
k = 8
rate = "100Gbps"
[flow_control]
kind = "pfc"
[flow_control.pfc]
xoff = "60KB"
xon = "50KB"
[[workload]]
kind = "poisson"
load = 0.6
cdf = "websearch"
duration = "300us"
[[workload]]
kind = "incast"
receiver = "H0"
fan_in = 40
size = "500KB"
"""


class Opened:
    """A page with its errors and its requests."""

    def __init__(self, browser: Any, page: Path | str, width: int = 1400, scheme: str = "light") -> None:
        self.context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, accept_downloads=True)
        self.page = self.context.new_page()
        self.requests: list[str] = []
        self.errors: list[str] = []
        self.page.on("request", lambda r: self.requests.append(r.url))
        self.page.on("pageerror", lambda e: self.errors.append(str(e)))
        self.page.on("console", lambda m: self.errors.append(m.text) if m.type == "error" else None)
        self.page.goto(page.as_uri() if isinstance(page, Path) else page)
        self.page.wait_for_selector(READY, timeout=60_000)

    def __enter__(self) -> "Opened":
        return self

    def __exit__(self, *_: object) -> None:
        self.context.close()
        assert self.errors == []

    def download(self, selector: str) -> tuple[str, bytes]:
        with self.page.expect_download() as download:
            self.page.click(selector)
        path = download.value.path()
        return download.value.suggested_filename, Path(path).read_bytes()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1400, 2560])
def test_it_fits_and_asks_for_nothing(browser: Any, ring_page: Path, pods_page: Path, width: int, scheme: str) -> None:
    for page in (ring_page, pods_page):
        with Opened(browser, page, width, scheme) as o:
            # The file itself, and no other.
            assert o.requests == [page.as_uri()]
            assert o.page.evaluate(WIDTH) <= width
            clipped = "[...document.querySelectorAll('h1, h2, h3, .card .value, .note')].filter((e) => e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).display !== 'inline').map((e) => e.textContent)"
            assert o.page.evaluate(clipped) == []
            drawn = o.page.evaluate(DRAWN)
            assert len(drawn) >= 2 and set(drawn) == {"yes"}
            dark = o.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(18, 22, 27)"
            assert dark == (scheme == "dark")


def test_the_verdict_is_the_heading(browser: Any, ring_page: Path) -> None:
    """The first thing to read is the verdict, in its colour; the scenario, its flow control and its seed come below."""
    verdict = json.loads((ring_page.parent / "manifest.json").read_text())["verdict"]["headline"]
    with Opened(browser, ring_page) as o:
        assert o.page.text_content("h1") == verdict
        assert o.page.get_attribute("h1", "class") == "verdict bad"
        assert o.page.inner_text("header .subject") == "Three-switch ring · PFC · seed 1"
        # A chart keeps its context in another document.
        name, svg = o.download("[data-chart=port] button:has-text('SVG')")
        assert name == "port.svg" and "Three-switch ring · PFC · seed 1" in svg.decode()
        assert "S1-&#62;S2 over time" in svg.decode()


def test_the_network_and_the_reason_are_seen_together(browser: Any, ring_page: Path, pods_page: Path) -> None:
    for page in (ring_page, pods_page):
        with Opened(browser, page, 1400) as o:
            for selector in (".canvas", "#time", "#chain .root", "#chain ol li"):
                box = o.page.locator(selector).first.bounding_box()
                assert box["y"] >= 0 and box["y"] + box["height"] <= 900, (selector, box)
            # The column below the drawing is filled: both columns end within a third of a screen of each other.
            left, right = o.page.evaluate("['#waits', '#port'].map((s) => document.querySelector(s).getBoundingClientRect().bottom)")
            assert abs(left - right) < 300, (left, right)


def test_the_report_is_small(ring_page: Path) -> None:
    assert ring_page.stat().st_size < 750_000


def test_the_chart_library_is_the_published_one() -> None:
    import gzip
    import hashlib

    folder = ROOT / "crates/report/assets/plotly"
    script = gzip.decompress((folder / "plotly-basic.min.js.gz").read_bytes())
    readme = (folder / "README.md").read_text()
    assert hashlib.sha256(script).hexdigest() in readme
    version = script[:200].decode().split("minified) v")[1].split("\n")[0]
    assert f"`plotly.js-basic-dist-min` {version}" in readme
    assert f'PLOTLY_VERSION: &str = "{version}"' in (ROOT / "crates/report/src/view/page.rs").read_text()


def test_keys_move_over_the_network(browser: Any, ring_page: Path) -> None:
    with Opened(browser, ring_page) as o:
        page = o.page
        page.focus(".canvas canvas")
        page.keyboard.press("ArrowDown")
        assert page.inner_text(".tip").startswith("S1->S2: "), "the first key shows the chosen port"
        page.keyboard.press("ArrowLeft")
        there = page.evaluate("page.names[page.net.hovered()]")
        assert there != "S1->S2"
        page.keyboard.press("Enter")
        assert page.inner_text("#port-name") == there
        page.keyboard.press("+")
        assert page.evaluate("page.net.view.scale") > 1
        page.keyboard.press("0")
        assert page.evaluate("page.net.view.scale") == 1
        page.keyboard.press("Escape")
        assert page.evaluate("page.net.hovered()") == -1
        # The keys of the drawing do not scroll the report, Tab leaves it.
        assert page.evaluate("window.scrollY") == 0
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.tagName") != "CANVAS"


def test_a_wide_table_says_that_it_scrolls(browser: Any, ring_page: Path) -> None:
    with Opened(browser, ring_page, 400) as o:
        assert o.page.is_visible("#flows .hint")
        o.page.evaluate("document.querySelector('#flows .scroll').scrollLeft = 10000")
        o.page.wait_for_function("() => document.querySelector('#flows .hint').hidden")
    with Opened(browser, ring_page, 1400) as o:
        assert not o.page.is_visible("#flows .hint")


def test_lines_are_labelled_at_their_ends(browser: Any, ring_page: Path) -> None:
    with Opened(browser, ring_page, 1400) as o:
        o.page.wait_for_selector("[data-chart=port] .annotation-text")
        boxes = o.page.evaluate("[...document.querySelectorAll('[data-chart=port] .annotation')].map((a) => { const b = a.getBoundingClientRect(); return [a.textContent, b.top, b.bottom]; })")
        assert {b[0].replace("\n", " ") for b in boxes} >= {"sent", "paused", "egress queue"}
        boxes.sort(key=lambda b: b[1])
        assert all(a[2] <= b[1] + 1 for a, b in zip(boxes, boxes[1:], strict=False)), boxes
        assert o.page.locator("[data-chart=port] .legend").count() == 0


def test_the_slider_moves_the_whole_page(browser: Any, ring_page: Path) -> None:
    with Opened(browser, ring_page) as o:
        page = o.page
        page.evaluate("page.go(0)")
        assert "neither pauses nor limits this port" in page.inner_text("#chain")
        assert page.evaluate("page.net.scheme().length") > 8
        before = page.evaluate(PIXELS)
        page.evaluate("document.getElementById('time').value = 1000; document.getElementById('time').dispatchEvent(new Event('input'))")
        page.wait_for_timeout(300)
        assert page.evaluate("page.state.sample") == page.evaluate("page.data.course.times.length - 1")
        assert page.inner_text("#now").startswith("20 ms")
        assert page.evaluate(PIXELS) != before
        # All six ports that take part are paused; three of them wait in a cycle.
        assert "in a cycle" in page.inner_text("#tree")
        assert "Root: these ports wait for each other in a cycle" in page.inner_text("#chain")
        # The command names the time of the shown sample: the last one that recorded the waiting ports.
        asked = page.inner_text("#chain code.command").split()[-1]
        noted = page.evaluate("page.data.course.times[page.data.course.waiters.findLastIndex((w) => w)]")
        assert asked == page.evaluate(f"xoff.time({noted}, 9).replace(' ', '')")


PIXELS = "(() => { const c = document.querySelector('.canvas canvas'); return [...c.getContext('2d').getImageData(0, 0, c.width, c.height).data].reduce((a, v, i) => (a * 31 + v * (i % 251)) % 1000000007, 7); })()"


def test_a_click_on_a_link_shows_its_port(browser: Any, ring_page: Path) -> None:
    with Opened(browser, ring_page) as o:
        page = o.page
        port = page.evaluate("page.names.indexOf('H2->S2')")
        box = page.locator(".canvas canvas").bounding_box()
        x, y = page.evaluate(f"page.net.middle({port})")
        page.mouse.move(box["x"] + x, box["y"] + y)
        assert page.inner_text(".tip").startswith("H2->S2: ")
        page.mouse.click(box["x"] + x, box["y"] + y)
        assert page.inner_text("#port-name") == "H2->S2"
        assert "xoff explain" in page.inner_text("#chain") and "H2:S2" in page.inner_text("#chain")
        # The same numbers as the table of ports of the run.
        import polars

        row = polars.read_parquet(ring_page.parent / "ports.parquet").filter(polars.col("port") == "H2->S2").row(0, named=True)
        total = page.evaluate(f"[page.data.totals.tx[{port}], page.data.totals.pauses[{port}], page.data.totals.paused_ps[{port}], page.data.totals.ingress_max[{port}]]")
        assert total == [row["tx_bytes"], row["pauses"], row["paused_ps"], row["ingress_bytes_max"]]
        # What its course sums up to is what the table counts.
        sent = page.evaluate(f"(() => {{ const c = page.data.course; const n = c.times.length; return c.sent.slice({port} * n, {port} * n + n).reduce((a, b) => a + b, 0); }})()")
        assert sent == row["tx_bytes"]


def free_roots(page: Any) -> list[str]:
    """Samples at which the report calls a port free to send that was paused all the time, by its own data."""
    return list(page.evaluate("""(() => {
      const [c, wrong] = [page.data.course, []];
      const n = c.times.length;
      for (let i = 0; i < n; i++) {
        page.go(i);
        for (const li of document.querySelectorAll('#tree li')) {
          const [name, what] = [li.querySelector('.port').textContent, li.querySelector('.note').textContent];
          const p = page.names.indexOf(name);
          if (what === 'free to send' && c.stopped[p * n + i] === 10000 && c.limit[p * n + i] === 0) wrong.push(`${i}: ${name}`);
        }
      }
      return wrong;
    })()"""))


def test_a_host_that_stops_its_switch_is_the_root(browser: Any, tmp_path: Path) -> None:
    page = report(tmp_path, "scenarios/operation/broken-nic.toml")
    with Opened(browser, page) as o:
        assert free_roots(o.page) == []
        o.page.evaluate("page.go(page.sampleAt(733e6)); page.choose(page.names.indexOf('H0->L1'))")
        assert "L4->H7 has been paused since 101.1 us" in o.page.inner_text("#chain")
        assert "H7 itself is the cause" in o.page.inner_text("#chain")
        o.page.evaluate("page.choose(page.names.indexOf('L4->H7'))")
        assert "H7 itself is the cause" in o.page.inner_text("#chain")
        assert "L4->H7 paused since 101.1 us by H7, which buffers none of its frames" in o.page.inner_text("#tree")
    # The command has the same root at the same instant.
    explained = xoff("explain", str(page.parent), "H0:L1", "733us").stdout
    assert "L4->H7" in explained and "H7 then held no frame from it" in explained, explained


def test_the_ranks_of_a_job_are_those_of_its_table(browser: Any, tmp_path: Path) -> None:
    import polars

    page = report(tmp_path, "scenarios/training/all-reduce.toml")
    table = polars.read_parquet(page.parent / "ranks.parquet").filter(polars.col("iteration") == 2)
    with Opened(browser, page) as o:
        view = o.page
        assert "--straggler=train:0" in view.inner_text("#straggler")
        # Rows are chosen by number; the slider follows a click on them.
        view.evaluate("page.ranks.turn(2); page.ranks.show([5, 3, 99, 4])")
        assert view.evaluate("page.ranks.rows()") == [3, 4, 5]
        assert view.input_value("#rank-rows") == "3-5"
        sums = view.evaluate("""(() => { const j = page.data.jobs[0]; const w = j.iterations.length + 1; return Object.fromEntries(j.ranks.map((r, k) => {
          const s = [0, 0, 0]; for (let i = j.first[k * w + 2]; i < j.first[k * w + 3]; i++) s[j.state[i]] += j.to[i] - j.from[i];
          return [r, [s[0] + s[1], s[1] + s[2], s[2]]]; })); })()""")
        rows = table.select("rank", "compute_ps", "comm_ps", "exposed_ps").rows()
        assert {str(r): [c, m, e] for r, c, m, e in rows} == sums
        # The canvas lies below what the window shows at first; clicking by locator scrolls there.
        canvas = view.locator(".canvas.ranks canvas")
        canvas.click(position={"x": canvas.bounding_box()["width"] / 2, "y": 20})
        first, last = view.evaluate("[page.data.jobs[0].iterations[2].start_ps, page.data.jobs[0].iterations[2].end_ps]")
        assert first < view.evaluate("page.data.course.times[page.state.sample]") < last


def test_two_priorities_of_a_port_wait_in_two_trees(browser: Any, tmp_path: Path) -> None:
    flows = "".join(f"[[flow]]\nsrc = 'src'\ndst = '{d}'\npriority = {p}\n" for d, p in (("dA", 3), ("dB", 5)))
    links = "'src S1 100Gbps', 'S1 dA 10Gbps', 'S1 dB 1Gbps'"
    page = report(tmp_path, f"[run]\nduration = '2ms'\n[topology]\nkind = 'custom'\nrate = '100Gbps'\nhosts = ['src', 'dA', 'dB']\nlinks = [{links}]\n[flow_control]\nkind = 'pfc'\n{flows}")
    with Opened(browser, page) as o:
        sample = o.page.evaluate("page.data.course.waiters.findIndex((w) => w && w.filter((x) => x[3].length).length === 2)")
        assert sample > 0
        o.page.evaluate(f"page.go({sample}); page.choose(page.names.indexOf('src->S1'))")
        tree, chain = o.page.inner_text("#tree"), o.page.inner_text("#chain")
        for text in ("S1->dA priority 3 free to send", "S1->dB priority 5 free to send", "src->S1 priority 3 paused", "src->S1 priority 5 paused"):
            assert text in tree, tree
        assert "(priority 3)" in chain and "(priority 5)" in chain and chain.count("Root: ") == 2, chain
        shares = o.page.evaluate("[...document.querySelectorAll('#ports tbody td:nth-child(5)')].map((e) => parseFloat(e.textContent))")
        assert max(shares) <= 100, shares


def test_marks_are_those_of_the_table(browser: Any, tmp_path: Path) -> None:
    import polars

    page = report(tmp_path, "scenarios/mechanisms/tcd.toml")
    table = polars.read_parquet(page.parent / "ports.parquet")
    assert int(table["marked_ue"].sum()) > 0
    with Opened(browser, page) as o:
        names, ce, ue = o.page.evaluate("[page.names, [...page.data.totals.marked], [...page.data.totals.marked_ue]]")
        of = {port: (c, u) for port, c, u in table.select(polars.col("port").cast(polars.String), "marked", "marked_ue").rows()}
        assert {name: (c, u) for name, c, u in zip(names, ce, ue, strict=True)} == of


def test_a_deadlock_of_many_ports_is_readable(browser: Any, tmp_path: Path) -> None:
    flows = "".join(f"[[flow]]\nsrc = 'H{i + 1}'\ndst = 'H{(i + 2) % 23 + 1}'\n" for i in range(23))
    page = report(tmp_path, f"[run]\nduration = '20ms'\n[topology]\nkind = 'ring'\nswitches = 23\nrate = '10Gbps'\n[flow_control]\nkind = 'pfc'\n[switch]\ndiscipline = 'fifo'\n{flows}", code=1)
    with Opened(browser, page) as o:
        boxes = o.page.evaluate("[...document.querySelectorAll('#deadlocks svg rect')].map((r) => ['x', 'y', 'width', 'height'].map((k) => Number(r.getAttribute(k))))")
        x0, y0, w, h = (float(v) for v in o.page.get_attribute("#deadlocks svg", "viewBox").split())
        assert len(boxes) == 23
        assert all(x0 <= x and x + bw <= x0 + w and y0 <= y and y + bh <= y0 + h for x, y, bw, bh in boxes)
        apart = [abs(a[0] - b[0]) >= a[2] or abs(a[1] - b[1]) >= a[3] for i, a in enumerate(boxes) for b in boxes[:i]]
        assert all(apart)
        assert "and 9 more steps" in o.page.inner_text("#chain")


def test_zooming_one_time_axis_zooms_all(browser: Any, ring_page: Path) -> None:
    with Opened(browser, ring_page) as o:
        page = o.page
        page.wait_for_selector("[data-chart=port] .plot[data-drawn]")
        page.evaluate("Plotly.relayout(document.querySelector('[data-chart=network-time] .plot'), {'xaxis.range': [1, 3]})")
        page.wait_for_timeout(500)
        ranges = page.evaluate("['network-time', 'port'].map((c) => document.querySelector(`[data-chart=${c}] .plot`).layout.xaxis.range)")
        assert ranges == [[1, 3], [1, 3]]


def test_the_network_zooms(browser: Any, pods_page: Path) -> None:
    with Opened(browser, pods_page) as o:
        page = o.page
        before = page.evaluate(PIXELS)
        page.click("#network .tools button[title='Zoom in']")
        page.wait_for_timeout(200)
        assert page.evaluate("page.net.view.scale") == pytest.approx(1.6)
        assert page.evaluate(PIXELS) != before
        page.click("#network .tools button:has-text('Fit')")
        page.wait_for_timeout(200)
        assert page.evaluate(PIXELS) == before


NAMED = """(() => {
  const c = document.querySelector('.canvas canvas').getContext('2d');
  return [...page.net.labels()].flatMap((t, i) => t === undefined ? [] : [[t, page.data.nodes.host[i], ...page.net.at(i), c.measureText(t).width]]);
})()"""


def over_each_other(labels: list[Any]) -> list[tuple[str, str]]:
    """Pairs of names of one kind that touch."""
    return [(a[0], b[0]) for i, a in enumerate(labels) for b in labels[:i] if a[1] == b[1] and abs(a[3] - b[3]) < 12 and abs(a[2] - b[2]) < (a[4] + b[4]) / 2]


@pytest.mark.parametrize("width", [400, 1400, 2560])
def test_as_many_names_as_fit_stand_in_the_network(browser: Any, pods_page: Path, width: int) -> None:
    with Opened(browser, pods_page, width) as o:
        labels = o.page.evaluate(NAMED)
        hosts = [t for t, host, *_ in labels if host]
        # Of hosts in a row not only those whose names are short.
        assert any(len(t) > 3 for t in hosts) and len(hosts) >= (4 if width == 400 else 16), hosts
        assert over_each_other(labels) == []


def test_long_names_are_shortened_where_there_is_no_room(browser: Any, tmp_path: Path) -> None:
    names = [f"rack{i:02}-gpu-node-of-the-cluster-{i:02}" for i in range(30)]
    links = "".join(f'"{n} leaf-switch-of-the-first-row", ' for n in names)
    hosts = ", ".join(f'"{n}"' for n in names)
    page = report(tmp_path, f'[run]\nduration = "50us"\n[topology]\nkind = "custom"\nrate = "10Gbps"\nhosts = [{hosts}]\nlinks = [{links}]\n[[flow]]\nsrc = "{names[0]}"\ndst = "{names[1]}"\n')
    with Opened(browser, page) as o:
        labels = o.page.evaluate(NAMED)
        hosts_shown = [t for t, host, *_ in labels if host]
        assert len(hosts_shown) >= 6 and all("…" in t and t[-2:].isdigit() for t in hosts_shown), hosts_shown
        assert over_each_other(labels) == []
        # Nothing was paused: the page opens with the load instead of an idle colour everywhere.
        assert o.page.evaluate("page.state.metric") == "rate"
        assert o.page.get_attribute("[data-metric=rate]", "aria-checked") == "true"


def test_charts_follow_the_width_of_the_window(browser: Any, ring_page: Path) -> None:
    """A phone that is turned, a window made narrow: as high as if the page had been opened like that, and no wider than the page."""
    shape = "['network-time', 'port'].map((c) => { const l = document.querySelector(`[data-chart=${c}] .plot`)._fullLayout; return [l.width, l.height]; })"
    with Opened(browser, ring_page, 400) as o:
        narrow = o.page.evaluate(shape)
    with Opened(browser, ring_page, 1400) as o:
        wide = o.page.evaluate(shape)
        for width, wanted in ((400, narrow), (1400, wide)):
            o.page.set_viewport_size({"width": width, "height": 900})
            o.page.wait_for_timeout(800)
            assert o.page.evaluate(shape) == wanted
            assert o.page.evaluate(WIDTH) <= width


def test_a_long_step_counts_all_that_was_sent(browser: Any, tmp_path: Path) -> None:
    """Fast-forward makes one step of 20 s, in which a port sends more than 32 bits hold; and the numbers at the top are readable."""
    import polars

    flows = "".join(f"[[flow]]\nsrc = '{h}'\ndst = 'H1'\n" for h in ("H0", "H2"))
    control = "[flow_control]\nkind = 'pfc'\n[flow_control.pfc]\nxoff = '60KB'\nxon = '50KB'\n"
    page = report(tmp_path, ONE.replace("1ms", "20s").replace("10Gbps", "100Gbps") + control + flows)
    table = polars.read_parquet(page.parent / "ports.parquet")
    with Opened(browser, page) as o:
        names, sums = o.page.evaluate("(() => { const c = page.data.course; const n = c.times.length; return [page.names, page.names.map((_, p) => c.sent.slice(p * n, p * n + n).reduce((a, b) => a + b, 0))]; })()")
        assert dict(zip(names, sums, strict=True)) == dict(zip(table["port"].to_list(), table["tx_bytes"].to_list(), strict=True))
        assert max(sums) > 2**32
        pauses = int(table["pauses"].sum())
        assert pauses > 1000 and f"{pauses:,}" in o.page.inner_text(".cards")


def test_downloads(browser: Any, ring_page: Path) -> None:
    with Opened(browser, ring_page) as o:
        name, svg = o.download("[data-chart=network-time] button:has-text('SVG')")
        assert name == "network-time.svg" and b"<svg" in svg[:300]
        name, png = o.download("[data-chart=network-time] button:has-text('PNG')")
        assert name == "network-time.png" and png.startswith(b"\x89PNG")
        name, text = o.download("[data-chart=network-time] button:has-text('CSV')")
        lines = text.decode().splitlines()
        assert lines[0].startswith("series,time_ms") and len(lines) > 50
        name, svg = o.download("#network button:has-text('SVG')")
        assert name == "network.svg" and svg.count(b"<line") == 12
        name, text = o.download("#ports button:has-text('CSV')")
        lines = text.decode().splitlines()
        assert name == "ports.csv" and len(lines) == 13 and "paused_share,egress_queue_max_bytes" in lines[0]


def test_a_deadlock_is_drawn(browser: Any, ring_page: Path) -> None:
    with Opened(browser, ring_page) as o:
        labels = o.page.evaluate(CYCLE)
        manifest = json.loads((ring_page.parent / "manifest.json").read_text())
        assert labels == manifest["deadlock"]
        assert o.page.locator("#deadlocks svg line").count() == 3


def test_flows_are_counted_and_unfinished_ones_named(browser: Any, pods_page: Path) -> None:
    import polars

    flows = polars.read_parquet(pods_page.parent / "flows.parquet")
    unfinished = flows.filter(polars.col("fct_ps").is_null()).height
    assert unfinished > 0, "the scenario of this test is meant to leave some"
    with Opened(browser, pods_page) as o:
        view = o.page.evaluate("({ total: page.data.flows.total, unfinished: page.data.flows.unfinished, last: page.data.flows.fct.y.at(-1), sizes: page.data.flows.sizes })")
        assert (view["total"], view["unfinished"]) == (flows.height, unfinished)
        assert view["last"] == pytest.approx(1 - unfinished / flows.height)
        assert sum(s["flows"] for s in view["sizes"]) == flows.filter(polars.col("ideal_fct_ps").is_not_null()).height
        assert "The curve ends below 1" in o.page.inner_text("[data-chart=fct-cdf]")
        assert "unfinished" in o.page.inner_text("#flows")
        assert "≥" in o.page.inner_text("#sizes")


def test_the_page_of_a_scheduled_fabric(browser: Any, tmp_path: Path) -> None:
    page = report(tmp_path, "scenarios/fabric/hotspots.toml", "--set", "run.duration=60us", "--set", "run.warm_up=10us")
    with Opened(browser, page, 400) as o:
        assert o.requests == [page.as_uri()]
        assert o.page.locator(".plot[data-drawn]").count() >= 3
        assert o.page.evaluate(WIDTH) <= 400


def test_view_serves_a_run_piece_by_piece(browser: Any, ring_page: Path) -> None:
    command = [sys.executable, "-m", "xoff", "view", str(ring_page.parent), "--no-browser"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as view:
        try:
            assert view.stderr is not None
            line = view.stderr.readline()
            address = line.split(" is at ")[1].split(" ")[0]
            assert address.startswith("http://127.0.0.1:")
            with Opened(browser, address) as o:
                o.page.evaluate("page.choose(page.names.indexOf('S1->S2'))")
                o.page.wait_for_function("() => [...document.querySelectorAll('[data-chart=port] .annotation-text')].some((t) => t.textContent.startsWith('recorded'))")
                o.page.click("#chain button:has-text('run it here')")
                o.page.wait_for_selector("#explained pre")
                assert "Deadlock: " in o.page.inner_text("#explained")
                assert all(r.startswith(address) for r in o.requests)
                assert o.context.request.get(address + "manifest.json").status == 404
                # A host name of another site that leads here is rejected.
                assert o.context.request.get(address, headers={"Host": "example.org"}).status == 403
        finally:
            view.terminate()


def test_a_thousand_hosts_stay_fluid(browser: Any, tmp_path: Path) -> None:
    """Moving the slider over 1,024 hosts costs a fraction of a second a picture, even where no graphics card helps."""
    page = report(tmp_path, PODS.replace("k = 8", "k = 16").replace("300us", "100us"))
    assert page.stat().st_size < 8_000_000
    with Opened(browser, page) as o:
        assert o.page.evaluate("page.data.nodes.host.reduce((a, b) => a + b, 0)") == 1024
        # A network of this size has 16 samples over time or more, or none at all (LOOKS_MIN in crates/run/src/network/course.rs): also on
        # several threads, whose stretches are longer.
        assert o.page.evaluate("page.data.course.times.length") >= 16
        median = o.page.evaluate(FRAMES)
        assert median < 500, f"{median} ms a picture"


FRAMES = """async () => {
  const times = [];
  for (let i = 0; i < 8; i++) {
    const start = performance.now();
    page.go(i);
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    times.push(performance.now() - start);
  }
  return times.sort((a, b) => a - b)[4];
}"""


def test_the_page_of_a_run_that_goes_on(browser: Any, tmp_path: Path) -> None:
    """Real frames through a ring that deadlocks, seen while it runs."""
    out = str(tmp_path / "live")
    command = [sys.executable, "-m", "xoff", "testbed", "scenarios/testbed/ring-pfc.toml", "--out", out, "--set", "run.duration=60s", "--live"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, cwd=ROOT) as testbed:
        try:
            assert testbed.stderr is not None
            lines: list[str] = []
            while not lines or " is at http://" not in lines[-1]:
                line = testbed.stderr.readline()
                lines.append(line)
                if not line:
                    missing("namespaces", "".join(lines))
            address = lines[-1].split(" is at ")[1].strip()
            assert address.startswith("http://127.0.0.1:")
            with Opened(browser, address) as o:
                o.page.wait_for_selector("#deadlocks figure", timeout=30_000)
                labels = o.page.evaluate(CYCLE)
                assert sorted(labels) == ["S1->S2", "S2->S3", "S3->S1"]
                first = o.page.inner_text("#now")
                o.page.wait_for_timeout(2500)
                assert o.page.inner_text("#now") != first, "the slider follows the run"
                assert all(r.startswith(address) for r in o.requests)
        finally:
            testbed.terminate()


def test_real_frames_leave_their_page(browser: Any, tmp_path: Path) -> None:
    """The page of a testbed holds its course, and offers nothing that would need the run again."""
    out = tmp_path / "real"
    ran = xoff("testbed", "scenarios/testbed/ring-pfc.toml", "--out", str(out), "--set", "run.duration=2s")
    if "namespace" in ran.stderr and ran.returncode == 2:
        missing("namespaces", ran.stderr)
    assert ran.returncode == 1, ran.stderr
    with Opened(browser, (out / "report.html").as_uri()) as o:
        # Every 250 ms, and at both ends.
        assert o.page.evaluate("page.data.course.times.length") >= 6
        assert o.page.evaluate("page.data.real") is True
        assert o.page.locator("#chain .command").count() == 0
        labels = o.page.evaluate(CYCLE)
        assert sorted(labels) == ["S1->S2", "S2->S3", "S3->S1"]
    explained = xoff("explain", str(out), "H1:S1", "1s")
    assert explained.returncode == 2 and "cannot be repeated" in " ".join(explained.stderr.replace("│", " ").split()), explained.stderr
    (out / "report.html").unlink()
    # A run that cannot come again is not replaced by a simulation of it.
    viewed = xoff("view", str(out), "--no-browser")
    assert viewed.returncode == 2 and "real frames cannot be repeated" in " ".join(viewed.stderr.replace("│", " ").split()), viewed.stderr


def test_a_run_that_was_interrupted(browser: Any, tmp_path: Path) -> None:
    """Ctrl-C leaves a page of what there was; a process that is killed leaves none, and `xoff view` says so."""
    for name, number in (("asked", signal.SIGINT), ("killed", signal.SIGKILL)):
        out = tmp_path / name
        command = [sys.executable, "-m", "xoff", "run", "scenarios/bench/websearch.toml", "--out", str(out), "--set", "run.duration=10s"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as run:
            while not (out / ".xoff").exists():
                assert run.poll() is None, run.communicate()[1]
                time.sleep(0.05)
            time.sleep(1.5)
            run.send_signal(number)
            run.communicate()
    with Opened(browser, (tmp_path / "asked" / "report.html").as_uri()) as o:
        assert "interrupted" in o.page.inner_text("h1").lower()
        assert o.page.evaluate("page.data.course.times.length") > 2
    assert not (tmp_path / "killed" / "report.html").exists()
    viewed = xoff("view", str(tmp_path / "killed"), "--no-browser")
    assert viewed.returncode == 2 and "has no complete results" in " ".join(viewed.stderr.replace("│", " ").split()), viewed.stderr


def test_more_ports_than_a_course_holds(browser: Any, tmp_path: Path) -> None:
    """65,000 hosts: the page opens, says why it has no course of time, and shows totals."""
    page = report(tmp_path, MANY)
    with Opened(browser, page) as o:
        assert o.page.evaluate("page.names.length") == 130_000
        assert "130000 ports are too many for time series of all ports" in o.page.inner_text("#network")
        assert o.page.inner_text("#port-name") == "H0->S1"
        assert o.page.is_disabled("#time")
        assert o.page.locator("#ports tbody tr").count() == 12


MANY = """
[topology]
kind = "star"
hosts = 65000
rate = "100Gbps"
[run]
duration = "20us"
[[flow]]
src = "H0"
dst = "H1"
size = "100KB"
"""


ODD = ["<b>H1</b>", "Zürich-東京", "a'quoted'name", 'double"quoted"', "</script><script>alert(1)</script>", "a&amp;b"]


def test_names_are_texts(browser: Any, tmp_path: Path) -> None:
    """Names of hosts are shown as they are written, whatever they hold, and a command on the page is one for a shell."""
    hosts = json.dumps(ODD, ensure_ascii=False)
    rows = ['a,b,rate,length\n', *(f'"{name.replace(chr(34), chr(34) * 2)}",s,10Gbps,5m\n' for name in ODD)]
    (tmp_path / "links.csv").write_text("".join(rows))
    flows = "".join(f"[[flow]]\nsrc = {json.dumps(a, ensure_ascii=False)}\ndst = {json.dumps(ODD[0], ensure_ascii=False)}\nsize = '2MB'\n" for a in ODD[1:])
    page = report(tmp_path, f"[run]\ntitle = '<i>odd</i> & more'\nduration = '1ms'\n[topology]\nkind = 'custom'\nhosts = {hosts}\nlinks_file = 'links.csv'\n{flows}", name="out put")
    with Opened(browser, page) as o:
        assert o.page.inner_text("header .subject").startswith("<i>odd</i> & more")
        assert set(ODD) < set(o.page.evaluate("page.data.nodes.name"))
        for name in ODD:
            o.page.evaluate(f"page.choose(page.names.indexOf({json.dumps(name + '->s')}))")
            assert o.page.inner_text("#port-name") == f"{name}->s"
            command = o.page.inner_text("#chain .command")
            words = shlex.split(command)
            assert words[:3] == ["xoff", "explain", str(page.parent)] and words[3] == f"{name}:s", command
            asked = subprocess.run([sys.executable, "-m", *words], capture_output=True, text=True, cwd=ROOT)
            assert asked.returncode == 0, (command, asked.stderr)


ONE = "[topology]\nkind = 'star'\nhosts = 3\nrate = '10Gbps'\n[run]\nduration = '1ms'\n"


@pytest.mark.parametrize(("flows", "words"), [
    ("[[flow]]\nsrc = 'H0'\ndst = 'H1'\nsize = '100KB'\nstart = '2ms'\n", "0 of 0"),
    ("[[flow]]\nsrc = 'H0'\ndst = 'H1'\nsize = '100KB'\n", "1 of 1"),
    ("[[flow]]\nsrc = 'H0'\ndst = 'H1'\nsize = '1GB'\n[[flow]]\nsrc = 'H2'\ndst = 'H1'\nsize = '2GB'\n", "0 of 2"),
    ("[[flow]]\nsrc = 'H0'\ndst = 'H1'\nsize = '1B'\n[[flow]]\nsrc = 'H2'\ndst = 'H1'\nsize = '1TB'\n", "1 of 2"),
], ids=["none", "one", "unfinished", "huge-range"])
def test_few_flows(browser: Any, tmp_path: Path, flows: str, words: str) -> None:
    page = report(tmp_path, ONE + flows)
    with Opened(browser, page, 400) as o:
        assert words in o.page.inner_text(".cards")
        assert o.page.evaluate(WIDTH) <= 400
        assert "NaN" not in o.page.inner_text("body") and "undefined" not in o.page.inner_text("body")


def test_a_browser_without_webgl(browser: Any, ring_page: Path) -> None:
    """Nothing on the page needs WebGL or a graphics card."""
    plain = browser.browser_type.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu", "--disable-3d-apis"])
    with Opened(plain, ring_page) as o:
        assert o.page.evaluate("document.createElement('canvas').getContext('webgl')") is None
        drawn = o.page.evaluate(DRAWN)
        assert len(drawn) >= 2 and set(drawn) == {"yes"}
        assert o.page.evaluate(PIXELS) > 0
    plain.close()
