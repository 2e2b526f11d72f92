"""The command: output, status and files of programs that end in each way; what is watched, ignored, and said in tests."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import rushlight as torch
from rushlight.doctor import watch
from rushlight.doctor.pages import page_of

ROOT = Path(__file__).parents[2]
HEAD = "import torch\nm = torch.nn.Linear(2, 1)\no = torch.optim.SGD(m.parameters(), lr=0.1)\n"
LOOP = "for i in range(4):\n    loss = m(torch.ones(3, 2)).pow(2).mean()\n    loss.backward()\n    o.step()\nprint('done', flush=True)\n"


def doctor(tmp_path, source, *options, **more):
    path = tmp_path / "train.py"
    path.write_text(source)
    command = [sys.executable, "-m", "rushlight", "doctor", *options, "--json", str(tmp_path / "o.json"), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, **more)
    written = tmp_path / "o.json"
    return done, json.loads(written.read_text()) if written.exists() else None


ENDS = {
    "plain": ("", 0),
    "status": ("raise SystemExit(7)\n", 7),
    "error": ("raise ValueError('no')\n", 1),
    "interrupt": (
        "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\nimport time; time.sleep(5)\n",
        -signal.SIGINT,
    ),
    "term": ("import os, signal\nos.kill(os.getpid(), signal.SIGTERM)\nimport time; time.sleep(5)\n", -signal.SIGTERM),
    "thread": ("import threading\nthreading.Thread(target=print, args=('late',)).start()\n", 0),
}


@pytest.mark.parametrize("end", ENDS)
def test_however_it_ends(end, tmp_path):
    source, status = ENDS[end]
    done, written = doctor(tmp_path, HEAD + LOOP + source)
    assert done.returncode == status
    assert done.stdout.startswith("done\n") and "gradient" not in done.stdout
    assert [(f["check"], f["line"]) for f in written["findings"]] == [("stale-grad", 6)]
    assert done.stderr.count("[stale-grad]") == 1 and "gradient doctor: 1 finding" in done.stderr
    assert Path(written["program"]).name == "train.py" and oct((tmp_path / "o.json").stat().st_mode)[-3:] == "644"


EPOCHS = """import os, signal, sys
import torch
from torch.utils.data import DataLoader, TensorDataset

m = torch.nn.Linear(2, 1)
o = torch.optim.SGD(m.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.StepLR(o, 1)
batches = DataLoader(TensorDataset(torch.ones(40, 2)), batch_size=4)
for epoch in range(3):
    for i, (x,) in enumerate(batches):
        o.zero_grad()
        m(x).mean().backward()
        o.step()
        if epoch == LAST and i == 6:
            END
"""


@pytest.mark.parametrize("end", ["sys.exit()", "1 / 0", "os.kill(os.getpid(), signal.SIGTERM)", "break"])
@pytest.mark.parametrize("last", [0, 1])
def test_what_comes_after_an_epoch_is_not_missed_before(end, last, tmp_path):
    """A program that is left in the middle of its first epoch has not come to its scheduler's step."""
    _, written = doctor(tmp_path, EPOCHS.replace("LAST", str(last)).replace("END", end))
    found = [(f["check"], f["line"]) for f in written["findings"]]
    assert found == ([("scheduler-never-stepped", 7)] if last or end == "break" else [])


def test_files_are_written_where_nobody_reads_the_report(tmp_path):
    """`rushlight doctor ... 2>&1 | head -1`"""
    (tmp_path / "train.py").write_text(HEAD + LOOP)
    words = [
        "rushlight",
        "doctor",
        "--json",
        tmp_path / "o.json",
        "--report",
        tmp_path / "o.html",
        tmp_path / "train.py",
    ]
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([sys.executable, "-m", *map(str, words)], stderr=write, stdout=subprocess.PIPE, cwd=ROOT)
    os.close(write)
    assert done.stdout == b"done\n" and done.returncode == 0
    assert len(json.loads((tmp_path / "o.json").read_text())["findings"]) == 1
    assert (tmp_path / "o.html").read_text().startswith("<!doctype html>")


def test_option_after_the_program(tmp_path):
    """It is the program's own; the command says so unless the program wrote the file."""
    (tmp_path / "train.py").write_text("import sys\nopen(sys.argv[2], 'w').close()\n")
    words = ["doctor", "train.py", "--json", "own.json", "--report", "page.html"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "rushlight", *words]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, check=True)
    assert done.stderr.count("was passed to the program") == 1
    assert done.stderr.endswith("rushlight doctor --report page.html train.py\n")


WORKERS = """
import multiprocessing, subprocess, sys
import torch

def work():
    m = torch.nn.Linear(2, 1)
    o = torch.optim.SGD(m.parameters(), lr=0.1)
    for i in range(4):
        loss = m(torch.ones(3, 2)).pow(2).mean()
        loss.backward()
        o.step()

if __name__ == "__main__":
    if "START" == "subprocess":
        command = [sys.executable, "-c", "import train; train.work()"]
        processes = [subprocess.Popen(command) for _ in range(2)]
        assert [p.wait() for p in processes] == [0, 0]
    else:
        context = multiprocessing.get_context("START")
        processes = [context.Process(target=work) for _ in range(2)]
        [p.start() for p in processes]
        [p.join() for p in processes]
    print("done")
"""


@pytest.mark.parametrize("start", ["fork", "spawn", "forkserver", "subprocess"])
def test_processes_that_the_program_starts_are_followed(start, tmp_path):
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}", "TMPDIR": str(tmp_path)}
    done, written = doctor(tmp_path, WORKERS.replace("START", start), env=environment)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    (finding,) = written["findings"]
    assert (finding["check"], finding["line"], finding["count"], finding["first_step"]) == ("stale-grad", 10, 6, 2)
    assert "(so in 2 processes)" in finding["message"]
    assert finding["related"][0]["line"] == 11
    assert not list(tmp_path.glob("rushlight-doctor-*"))


def test_a_failed_process_of_spawn(tmp_path):
    source = (
        "import torch\nimport torch.multiprocessing as mp\n\ndef work(rank):\n    w = torch.ones(2, requires_grad=True)\n"
        "    loss = w.sum().item()\n    loss = torch.tensor(loss)\n    loss.backward()\n\n"
        "if __name__ == '__main__':\n    mp.spawn(work, nprocs=1)\n"
    )
    done, written = doctor(tmp_path, source)
    assert done.returncode == 1 and "ProcessRaisedException" in done.stderr
    assert [(f["check"], f["line"]) for f in written["findings"]] == [("no-grad-path", 6)]


DEPTHS = """
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 16))

    def forward(self, x):
        return x if torch.rand(()).item() < 0.5 else x + self.f(x)

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(5, 16), *[Block() for _ in range(4)], nn.Linear(16, 2))
optimizer = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9)
x = torch.randn(20, 5)
for step in range(30):
    optimizer.zero_grad()
    nn.functional.cross_entropy(net(x), (x.sum(1) > 0).long()).backward()
    print(net[0].weight.grad.sum().item(), flush=True)
    optimizer.step()
"""


def test_backward_programs_are_used_as_without_the_doctor(tmp_path):
    """Their rounding is their own: in other steps they would change the last digits."""
    done, _ = doctor(tmp_path, DEPTHS)
    command = [sys.executable, "-m", "rushlight", "run", str(tmp_path / "train.py")]
    assert done.stdout == subprocess.run(command, capture_output=True, text=True, cwd=ROOT).stdout
    assert done.stdout.count("\n") == 30


def test_strict_and_arguments(tmp_path):
    source = HEAD + LOOP + "import sys; print(sys.argv[1:])\n"
    done, _ = doctor(tmp_path, source, "--strict")
    assert done.returncode == 1
    path = tmp_path / "train.py"
    command = [sys.executable, "-m", "rushlight", "doctor", str(path), "--lr", "3"]
    assert subprocess.run(command, capture_output=True, text=True, cwd=ROOT).stdout.endswith("['--lr', '3']\n")
    done, written = doctor(tmp_path, source.replace("loss.backward()", "o.zero_grad(); loss.backward()"), "--strict")
    assert done.returncode == 0 and written["findings"] == []


def test_a_folder_that_is_missing(tmp_path):
    done, _ = doctor(tmp_path, HEAD, "--sarif", str(tmp_path / "no" / "o.sarif"))
    assert done.returncode == 2 and "there is no folder" in done.stderr


def _train(clear):
    w = torch.ones(2, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)
    for _ in range(4):
        (w * w).sum().backward()  # the line
        optimizer.step()
        if clear:
            optimizer.zero_grad()
    return w.detach()


def test_watch():
    with watch() as report:
        watched = _train(False)
    assert torch.equal(watched, _train(False))
    (finding,) = report.findings
    assert finding.check == "stale-grad" and "# the line" in finding.place.text
    assert "stale-grad" in str(report) and report and "<iframe" in report._repr_html_()
    with watch() as report:
        _train(True)
    assert not report and str(report) == "gradient doctor: nothing found"
    with watch(), pytest.raises(RuntimeError, match="does not nest"), watch():
        pass


def _ignored(comment):
    source = f"for _ in range(3):\n    (w * w).sum().backward()  {comment}\n    o.step()\n"
    return HEAD + "w = torch.ones(2, requires_grad=True)\no = torch.optim.SGD([w], lr=0.1)\n" + source


@pytest.mark.parametrize(
    ("comment", "left"),
    [("# doctor: ignore", 0), ("# doctor: ignore[stale-grad, x]", 0), ("# doctor: ignore[clip-scaled]", 1), ("", 1)],
)
def test_ignored_line(comment, left, tmp_path):
    _, written = doctor(tmp_path, _ignored(comment))
    assert len(written["findings"]) == left


def test_sarif_and_page(tmp_path):
    sarif, page = tmp_path / "o.sarif", tmp_path / "o.html"
    source = HEAD + "text = '</script><b>'\n" + LOOP
    doctor(tmp_path, source, "--sarif", str(sarif), "--report", str(page))
    log = json.loads(sarif.read_text())
    (run,) = log["runs"]
    (result,) = run["results"]
    assert log["version"] == "2.1.0" and run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
    assert result["locations"][0]["physicalLocation"]["region"] == {"startLine": 7, "endLine": 7}
    html = page.read_text()
    assert "http://" not in html.replace("http://www.w3.org/2000/svg", "") and "https://" not in html
    data = html.split('id="data">')[1].split("</script>")[0]
    shown = json.loads(data)
    assert [f["check"] for f in shown["findings"]] == ["stale-grad"] and shown["steps"] == 4
    assert {e["kind"] for e in shown["events"]} == {"forward", "backward", "step"}
    assert any(e["i"] in shown["findings"][0]["moments"] for e in shown["events"])


def test_pages_of_errors():
    said = "Trying to backward through the graph a second time (or directly access saved tensors)"
    assert page_of(said).startswith("# double-backward")
    assert page_of("stale-grad").startswith("# stale-grad") and page_of("no such thing") is None


def test_pytest_plugin(tmp_path):
    (tmp_path / "test_loops.py").write_text(
        "import pytest\nimport rushlight as torch\n\n"
        "def train(clear):\n    w = torch.ones(2, requires_grad=True)\n    o = torch.optim.SGD([w], lr=0.1)\n"
        "    for _ in range(4):\n        if clear:\n            o.zero_grad()\n        (w * w).sum().backward()\n        o.step()\n\n"
        "def test_right():\n    train(True)\n\ndef test_wrong():\n    train(False)\n\n"
        "@pytest.mark.gradients_unwatched\ndef test_meant():\n    train(False)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-m", "pytest", "-p", "pytest_rushlight", "-q", str(tmp_path)]
    done = subprocess.run(
        [*command, "--gradient-doctor"], capture_output=True, text=True, env=environment, cwd=tmp_path
    )
    assert "1 failed, 2 passed" in done.stdout and "[stale-grad]" in done.stdout
    assert subprocess.run(command, capture_output=True, env=environment, cwd=tmp_path).returncode == 0


@pytest.mark.parametrize("is_torch_there", [False, True])
def test_pytest_plugin_serves_torch(tmp_path, is_torch_there):
    """To the conftest as well; where another torch was imported before, nothing would be followed, which is an error."""
    (tmp_path / "conftest.py").write_text("import torch\n")
    (tmp_path / "early.py").write_text("import sys, types\nsys.modules['torch'] = types.ModuleType('torch')\n")
    (tmp_path / "test_loops.py").write_text(
        "import torch\n\ndef test_wrong():\n    w = torch.ones(2, requires_grad=True)\n"
        "    o = torch.optim.SGD([w], lr=0.1)\n"
        "    for _ in range(4):\n        (w * w).sum().backward()\n        o.step()\n"
    )
    path = os.pathsep.join([str(ROOT), str(tmp_path)])
    environment = {**os.environ, "PYTHONPATH": path, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    early = ["-p", "early"] if is_torch_there else []
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "pytest_rushlight",
        *early,
        "-q",
        "--gradient-doctor",
        str(tmp_path),
    ]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path)
    if is_torch_there:
        assert done.returncode == 4 and "torch is imported already" in done.stderr
    else:
        assert "1 failed" in done.stdout and "test_loops.py:7" in done.stdout and "[stale-grad]" in done.stdout


def test_a_check_that_fails_is_off(capsys, monkeypatch):
    monkeypatch.delenv("RUSHLIGHT_CHECK", raising=False)
    with watch() as report:
        stale = next(c for c in report.doctor.checks if c.name == "stale-grad")
        monkeypatch.setattr(stale, "doctor", None)
        _train(False)
    assert not report
    assert capsys.readouterr().err.count("stale-grad failed and is off: AttributeError") == 1
