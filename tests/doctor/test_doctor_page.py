"""The HTML report in a browser: rendered, clicked, driven by keys, without an error on its console.

A script in a copy of the page plays the user and writes what it saw into the document, which Chromium prints. The narrow page
is in a frame, since windows have a least width; so is the notebook's.
"""

import html
import json
import re
import shutil
import subprocess

import pytest

from rushlight.doctor import watch
from rushlight.doctor.report import page

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
WATCHER = """<script>
window.said = [];
window.addEventListener("error", e => said.push(String(e.message)));
for (const name of ["error", "warn"]) console[name] = (...words) => said.push(words.join(" "));
</script>"""
DRIVER = """<script>
(() => {
const report = {};
const all = selector => [...document.querySelectorAll(selector)];
const detail = () => document.getElementById("detail").textContent;
const press = key => document.activeElement.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true, cancelable: true}));
const click = node => node.dispatchEvent(new MouseEvent("click", {bubbles: true, cancelable: true}));
const events = all("#timeline .ev"), on = () => events.findIndex(e => e.classList.contains("on"));
report.findings = all("#findings article .tag").map(n => n.textContent);
report.marked = all("#findings pre span.marked").map(n => n.textContent.trim());
report.diffs = all("#findings pre span.plus").map(n => n.textContent);
report.contents = all(".contents a").length;
report.events = events.length;
report.lanes = all("#lanes ol li").map(n => n.textContent);
report.moments = all("#timeline path").length;
report.norms = all("#norms .card p span:first-child").map(n => n.textContent);
report.sources = all("#sources li").map(n => n.textContent);
report.lines = all("#lines code").map(n => n.textContent);
report.graphs = all("#graphs path").length;
click(events[0]);
report.clicked = detail();
const button = document.querySelector("#findings button");
if (button) {
  button.click();
  report.shown = detail();
  report.focused = document.activeElement === events[on()];
  const first = on();
  button.click();
  report.second = on() > first;
  press("ArrowUp");
  report.back = on() === first;
  click(document.querySelector("#detail a"));
  report.finding = document.activeElement.id;
}
events[0].focus();
press("End");
report.last = on() === events.length - 1;
press("ArrowLeft");
report.left = on() === events.length - 2;
press("Home");
press("ArrowRight");
report.right = on() === 1 && document.activeElement === events[1];
press("Enter");
report.entered = on() === 1;
report.tabs = all('#timeline .ev[tabindex="0"]').length;
const bars = all("#sources .ev");
click(bars[bars.length - 1]);
report.bar = [bars[bars.length - 1].textContent, detail()];
click(document.querySelector("#norms svg"));
report.norm = detail();
click(document.querySelector("nav a:last-child"));
report.section = document.activeElement.id;
report.outside = all("main *").filter(n => !n.closest("pre, .scroll") && n.getBoundingClientRect().right > innerWidth + 1).map(n => n.outerHTML.slice(0, 80));
report.colors = [getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor];
report.width = innerWidth;
report.said = said;
(window === parent ? document : parent.document).body.dataset.report = JSON.stringify(report);
})();
</script>"""
LOOP = """
import rushlight as torch
from rushlight import nn
torch.manual_seed(0)
generator, critic = nn.Linear(2, 3), nn.Linear(3, 1)
opt_g = torch.optim.SGD(generator.parameters(), lr=0.01)
opt_d = torch.optim.SGD(critic.parameters(), lr=0.01)
for _ in range(5):
    opt_d.zero_grad()
    critic(generator(torch.randn(4, 2)).detach()).mean().backward()
    opt_d.step()
    {clear}
    critic(generator(torch.randn(4, 2))).mean().backward()
    opt_g.step()
"""


def reported(tmp_path, clear):
    path = tmp_path / "train.py"
    path.write_text(LOOP.replace("{clear}", clear))
    with watch() as report:
        exec(compile(path.read_text(), str(path), "exec"), {"__name__": "__main__"})
    return report


def driven(report, tmp_path, monkeypatch, width, *options):
    whole = page.text
    played = whole(report).replace("<head>", "<head>" + WATCHER).replace("</body>", DRIVER + "</body>")
    if width < 500:
        monkeypatch.setattr(page, "text", lambda report: played)
        frame = report._repr_html_().replace("width:100%", f"width:{width}px")
        played = f"<!doctype html><html><body>{frame}</body></html>"
    (tmp_path / "report.html").write_text(played)
    command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", f"--window-size={max(width, 500)},900", *options]
    command += [f"--user-data-dir={tmp_path / 'profile'}", "--virtual-time-budget=5000", "--dump-dom"]
    done = subprocess.run(
        [*command, f"file://{tmp_path / 'report.html'}"], capture_output=True, text=True, timeout=120, check=True
    )
    found = re.search(r'<body data-report="([^"]*)"', done.stdout)
    assert found is not None, done.stdout[-2000:] + done.stderr[-2000:]
    seen = json.loads(html.unescape(found[1]))
    assert seen["said"] == [] and seen["outside"] == [] and seen["width"] == width
    return seen


def brightness(color):
    return sum(map(int, re.findall(r"\d+", color))) / 3


@pytest.mark.skipif(BROWSER is None, reason="no Chromium here")
@pytest.mark.parametrize("width", [1280, 380])
def test_a_finding_leads_to_its_moment(width, tmp_path, monkeypatch):
    seen = driven(reported(tmp_path, "pass"), tmp_path, monkeypatch, width)
    assert seen["findings"] == ["stale-grad"] and seen["contents"] == 0
    assert seen["marked"] == ["13critic(generator(torch.randn(4, 2))).mean().backward()"]
    assert seen["diffs"] == ["+ opt_g.zero_grad()"]
    assert seen["events"] > 30 and seen["graphs"] == 2 and seen["moments"] == 4
    assert seen["lanes"] == ["step", "forward", "opt_g", "opt_d"]
    assert {"generator.weight", "generator.bias", "critic.weight", "critic.bias"} == set(seen["norms"])
    assert seen["sources"] == ["opt_d", "critic.weight", "critic.bias", "opt_g", "generator.weight", "generator.bias"]
    assert len(seen["lines"]) == 2
    assert seen["clicked"].startswith("clear at train.py:9")
    assert seen["shown"].startswith("step at train.py:14") and "hold 2 backward calls" in seen["shown"]
    assert seen["focused"] and seen["second"] and seen["back"] and seen["finding"] == "finding-0"
    assert seen["last"] and seen["left"] and seen["right"] and seen["entered"] and seen["tabs"] == 1
    assert seen["bar"][0] == "generator.bias, step 5: 5 backward calls of line 13"
    assert seen["bar"][1].startswith("step at train.py:14, in the window of step 10 (opt_g)")
    assert seen["norm"].startswith("step at train.py:11") and seen["section"] == "graphs-head"


@pytest.mark.skipif(BROWSER is None, reason="no Chromium here")
def test_a_page_without_findings_in_the_dark(tmp_path, monkeypatch):
    report = reported(tmp_path, "opt_g.zero_grad()")
    light = driven(report, tmp_path, monkeypatch, 800)
    assert light["findings"] == [] and light["last"] and light["moments"] == 0
    dark = driven(report, tmp_path, monkeypatch, 800, "--blink-settings=preferredColorScheme=0")
    ink, back = map(brightness, light["colors"])
    assert ink < 60 and back > 200
    ink, back = map(brightness, dark["colors"])
    assert ink > 200 and back < 60


def test_names_tell_networks_apart(tmp_path):
    report = reported(tmp_path, "pass")
    shown = report.doctor.history.as_dict()
    names = [(series["optimizer"], series["name"]) for series in shown["series"]]
    assert names == [(2, "critic.weight"), (2, "critic.bias"), (1, "generator.weight"), (1, "generator.bias")]
    assert [(o["number"], o["name"]) for o in shown["optimizers"]] == [(1, "opt_g"), (2, "opt_d")]
    for series in shown["series"]:
        lines = [[shown["places"][p]["line"] for p, _ in shown["mixes"][mix]] for _, _, mix in series["values"]]
        counts = [sum(n for _, n in shown["mixes"][mix]) for _, _, mix in series["values"]]
        assert lines == [[10 if series["optimizer"] == 2 else 13]] * 5
        assert counts == ([1, 1, 1, 1, 1] if series["optimizer"] == 2 else [1, 2, 3, 4, 5])


OPTIMIZERS = """
import rushlight as torch
a, b = torch.nn.Linear(2, 1), torch.nn.Linear(2, 1)
class Trainer: pass
trainer = Trainer()
lr = 0.1; opt_a = torch.optim.SGD(a.parameters(), lr=lr); opt_b = torch.optim.SGD(b.parameters(), lr=lr)
first, second = torch.optim.SGD(a.parameters(), lr=lr), torch.optim.SGD(
    b.parameters(), lr=lr)
trainer.opt: object = torch.optim.Adam(
    [*a.parameters(), *b.parameters()])
for opt in [opt_a, opt_b, first, second, trainer.opt, torch.optim.SGD(a.parameters())]:
    opt.zero_grad()
    (a(torch.ones(1, 2)) + b(torch.ones(1, 2))).sum().backward()
    opt.step()
"""


def test_an_optimizer_is_called_as_the_program_calls_it(tmp_path):
    path = tmp_path / "train.py"
    path.write_text(OPTIMIZERS)
    with watch() as report:
        exec(compile(OPTIMIZERS, str(path), "exec"), {})
    names = [o["name"] for o in report.doctor.history.as_dict()["optimizers"]]
    assert sorted(names) == sorted(["opt_a", "opt_b", "first", "second", "trainer.opt", ""])
