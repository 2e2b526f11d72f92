"""The site builds without a warning; in Chromium, each of its pages is whole: links, console, pictures, three widths, the dark, search.

Chromium opens a page that loads the site's pages one after the other into a frame, and sends what it saw to the test's server.
"""

import functools
import html.parser
import http.server
import importlib.util
import json
import queue
import re
import shutil
import subprocess
import sys
import threading
import urllib.parse
from pathlib import Path

import pytest

from tools.site import api, pictures
from tools.site.__main__ import NEEDED

ROOT = Path(__file__).parents[2]
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
pytestmark = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in NEEDED), reason="the extra `docs` is not installed"
)
WIDTHS = (1280, 768, 375)
WATCHER = """<script>
window.said = [];
window.addEventListener("error", e => said.push(e.message || "cannot load " + (e.target.src || e.target.href)), true);
window.addEventListener("unhandledrejection", e => said.push(String(e.reason)));
for (const name of ["error", "warn"]) console[name] = (...words) => said.push(words.join(" "));
</script>"""
DRIVER = """<!doctype html><body style="margin:0"><script>
const pages = PAGES, widths = WIDTHS, report = {};
const frame = document.createElement("iframe");
frame.style.cssText = "height:900px;border:0";
document.body.append(frame);
const sleep = ms => new Promise(done => setTimeout(done, ms));
const load = url => new Promise(done => { frame.onload = done; frame.src = url; });
const light = color => color.match(/[0-9.]+/g).slice(0, 3).reduce((sum, n) => sum + Number(n), 0) / 3;
(async () => {
  for (const page of pages) {
    frame.style.width = widths[0] + "px";
    await load(page);
    const seen = report[page] = {wide: []}, inside = frame.contentDocument, root = inside.documentElement;
    for (const width of widths) {
      frame.style.width = width + "px";
      if (root.scrollWidth > width) seen.wide.push([width, root.scrollWidth]);
    }
    const back = () => light(frame.contentWindow.getComputedStyle(inside.body).backgroundColor);
    inside.body.dataset.theme = "light";
    seen.light = back();
    inside.body.dataset.theme = "dark";
    seen.dark = back();
    seen.broken = [...inside.images].filter(i => !i.hidden && i.complete && !i.naturalWidth).map(i => i.src);
    seen.said = frame.contentWindow.said;
  }
  await load("search.html?q=zero_grad");
  let found = [];
  for (let i = 0; i < 200 && !found.length; i++) {
    await sleep(50);
    found = [...frame.contentDocument.querySelectorAll("#search-results li a")].map(a => a.textContent);
  }
  report.search = {found, said: frame.contentWindow.said};
  await fetch("/seen", {method: "POST", body: JSON.stringify(report)});
})();
</script></body>"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of the built pages."""
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run([sys.executable, "-m", "tools.site", folder], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "html"


class Page(html.parser.HTMLParser):
    """The links, anchors and pictures of a page."""

    def __init__(self, path):
        super().__init__()
        self.targets, self.anchors = [], {""}
        self.feed(path.read_text())

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.anchors |= {found[key] for key in ("id", "name") if found.get(key)}
        self.targets += [found[key] for key in ("href", "src") if found.get(key)]


def dead_links(folder):
    """(page, target) of every link within the site that leads nowhere."""
    read = functools.cache(Page)
    for path in sorted(folder.rglob("*.html")):
        for target in read(path).targets:
            parts = urllib.parse.urlsplit(target)
            if parts.scheme or parts.netloc or not (parts.path or parts.fragment):
                continue
            file = (path.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else path
            if not file.is_file() or (
                file.suffix == ".html" and urllib.parse.unquote(parts.fragment) not in read(file).anchors
            ):
                yield path.relative_to(folder).as_posix(), target


def test_no_link_is_dead(site):
    assert list(dead_links(site)) == []


def test_a_dead_link_is_found(tmp_path):
    (tmp_path / "a.html").write_text('<p id="x"><a href="#x"></a><a href="b.html"></a><a href="#y"></a>')
    assert list(dead_links(tmp_path)) == [("a.html", "b.html"), ("a.html", "#y")]


def test_what_belongs_into_the_site_is_there(site):
    lessons = sorted(p.stem for p in site.glob("docs/lessons/[1-6]-*.html"))
    assert [name[0] for name in lessons] == list("123456")
    assert len(list((site / "_downloads").rglob("*.ipynb"))) == 6
    assert 'id="torch.nn.Linear"' in (site / "api/torch.nn.html").read_text()
    assert "NotImplementedError" in (site / "coverage/torch.html").read_text()
    for page in ("api/torch.nn", "coverage/torch.amp", "docs/decisions/0001-dependencies", "docs/recipes/operator"):
        text = (site / f"{page}.html").read_text()
        assert re.search(r'<p><a class="reference internal" href="index.html">.*?</a> / ', text), page  # where one is


def test_signatures_are_read_as_written():
    quoted = [
        line for text in api.pages().values() for line in text.splitlines() if re.search(r"\{py:.*'(Any|int)'", line)
    ]
    assert quoted == []
    assert "} torch.nn.Dropout(p: float = 0.5, inplace: bool = False)\n" in api.pages()["torch.nn.md"]


class Server(http.server.SimpleHTTPRequestHandler):
    """Serves the site, with the watcher in each page; takes the report."""

    def do_GET(self):
        path = Path(self.translate_path(self.path))
        if self.path == "/drive.html":
            self.answer(self.server.driver)
        elif path.suffix == ".html" and path.is_file():
            self.answer(path.read_text().replace("<head>", "<head>" + WATCHER, 1))
        else:
            super().do_GET()

    def do_POST(self):
        self.server.seen.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.answer("")

    def answer(self, text):
        data = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args):
        pass


def driven(folder, pages, tmp_path):
    """What Chromium saw of the pages."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Server, directory=folder)) as server:
        server.seen = queue.Queue()
        server.driver = DRIVER.replace("PAGES", json.dumps(pages)).replace("WIDTHS", json.dumps(WIDTHS))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        options = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--window-size=1400,900",
            f"--user-data-dir={tmp_path}",
        ]
        options += ["--disable-background-networking", "--no-first-run"]
        address = f"http://127.0.0.1:{server.server_port}/drive.html"
        # --dump-dom would end before the pages are loaded; the debugging port keeps the browser open
        process = subprocess.Popen(
            [BROWSER, *options, "--remote-debugging-port=0", address],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            return server.seen.get(timeout=300)
        finally:
            process.terminate()
            process.wait(30)
            server.shutdown()


@pytest.mark.skipif(BROWSER is None, reason="no Chromium here")
def test_every_page_in_a_browser(site, tmp_path):
    pages = sorted(p.relative_to(site).as_posix() for p in site.rglob("*.html") if "_static" not in p.parts)
    seen = driven(site, pages, tmp_path)
    search = seen.pop("search")
    assert list(seen) == pages and len(pages) > 150
    assert {page: s["wide"] for page, s in seen.items() if s["wide"]} == {}
    assert {page: s["said"] for page, s in seen.items() if s["said"]} == {}
    assert {page: s["broken"] for page, s in seen.items() if s["broken"]} == {}
    assert [page for page, s in seen.items() if not s["light"] > 230 > 60 > s["dark"]] == []
    assert search["said"] == [] and any("zero_grad" in title for title in search["found"])


@pytest.mark.skipif(BROWSER is None, reason="no Chromium here")
def test_a_faulty_page_is_found(tmp_path):
    (tmp_path / "site").mkdir()
    body = (
        "<p style='width:2000px'>wide</p><img src='none.png'><script>console.error('wrong'); undefined_name();</script>"
    )
    (tmp_path / "site" / "bad.html").write_text(f"<!doctype html><html><head></head><body>{body}</body></html>")
    (tmp_path / "site" / "search.html").write_text(
        "<html><head></head><ul id='search-results'><li><a>one</a></ul></html>"
    )
    seen = driven(tmp_path / "site", ["bad.html"], tmp_path / "profile")
    assert [width for width, _ in seen["bad.html"]["wide"]] == list(WIDTHS)
    assert seen["bad.html"]["said"][0] == "wrong" and "undefined_name" in "".join(seen["bad.html"]["said"])
    assert len(seen["bad.html"]["broken"]) == 1 and seen["search"]["found"] == ["one"]


@pytest.mark.parametrize("name", pictures.PICTURES)
def test_pictures_are_current(name):
    """`python -m tools.site.pictures` draws them."""
    assert (pictures.FOLDER / f"{name}.svg").read_text() == pictures.PICTURES[name]()
