"""The HTML report in a browser: rendered, clicked, driven by keys, without an error on its console."""

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
const detail = () => document.getElementById("detail").textContent;
const press = (node, key) => node.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true, cancelable: true}));
report.findings = [...document.querySelectorAll("#findings article .tag")].map(n => n.textContent);
report.marked = [...document.querySelectorAll("#findings pre span.marked")].map(n => n.textContent.trim());
const events = [...document.querySelectorAll("#timeline .ev")];
report.events = events.length;
report.lanes = new Set([...document.querySelectorAll("#timeline rect")].map(r => r.getAttribute("y"))).size;
report.norms = [...document.querySelectorAll("#norms .card p")].map(n => n.textContent);
report.graphs = document.querySelectorAll("#graphs path").length;
report.sources = document.querySelectorAll("#sources rect").length;
events[0].dispatchEvent(new MouseEvent("click", {bubbles: true}));
report.clicked = detail();
const button = document.querySelector("#findings button");
if (button) {
  button.click();
  report.shown = detail();
  report.focused = document.activeElement.classList.contains("on");
  const link = document.querySelector("#detail a");
  report.link = link && link.getAttribute("href");
}
press(events[0], "End");
report.last = events.length - 1 === events.findIndex(e => e.classList.contains("on"));
press(document.activeElement, "ArrowLeft");
report.left = events.length - 2 === events.findIndex(e => e.classList.contains("on"));
press(document.activeElement, "Home");
report.home = events[0].classList.contains("on");
report.tabs = document.querySelectorAll('#timeline .ev[tabindex="0"]').length;
report.wide = document.documentElement.scrollWidth - document.documentElement.clientWidth;
report.said = said;
document.body.dataset.report = JSON.stringify(report);
})();
</script>"""
LOOP = """
import rushlight as torch
from rushlight import nn
torch.manual_seed(0)
generator, critic = nn.Linear(2, 3), nn.Linear(3, 1)
first, second = torch.optim.SGD(generator.parameters(), lr=0.01), torch.optim.SGD(critic.parameters(), lr=0.01)
for _ in range(5):
    second.zero_grad()
    critic(generator(torch.randn(4, 2)).detach()).mean().backward()
    second.step()
    {clear}
    critic(generator(torch.randn(4, 2))).mean().backward()
    first.step()
"""


def driven(tmp_path, clear, width):
    path = tmp_path / "train.py"
    path.write_text(LOOP.replace("{clear}", clear))
    with watch() as report:
        exec(compile(path.read_text(), str(path), "exec"), {"__name__": "__main__"})
    text = page.text(report).replace("<head>", "<head>" + WATCHER).replace("</body>", DRIVER + "</body>")
    (tmp_path / "report.html").write_text(text)
    command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", f"--window-size={width},900"]
    command += [f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", f"file://{tmp_path / 'report.html'}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    (said,) = re.findall(r'<body data-report="([^"]*)"', done.stdout)
    return json.loads(html.unescape(said))


@pytest.mark.skipif(BROWSER is None, reason="no Chromium here")
@pytest.mark.parametrize("width", [1280, 380])
def test_a_finding_leads_to_its_moment(width, tmp_path):
    found = driven(tmp_path, "pass", width)
    assert found["said"] == [] and found["wide"] <= 0
    assert found["findings"] == ["stale-grad"] and found["marked"] == [
        "12    critic(generator(torch.randn(4, 2))).mean().backward()"
    ]
    assert found["events"] > 30 and found["lanes"] == 3 and found["sources"] == 10 and found["graphs"] == 2
    assert {"generator.weight", "generator.bias", "critic.weight", "critic.bias"} == set(found["norms"])
    assert found["clicked"].startswith("clear at train.py:8")
    assert "train.py" in found["shown"] and found["focused"] and found["link"] == "#finding-0"
    assert found["last"] and found["left"] and found["home"] and found["tabs"] == 1


@pytest.mark.skipif(BROWSER is None, reason="no Chromium here")
def test_a_page_without_findings(tmp_path):
    found = driven(tmp_path, "first.zero_grad()", 800)
    assert found["said"] == [] and found["findings"] == [] and found["last"] and found["wide"] <= 0
