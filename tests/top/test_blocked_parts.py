"""What a machine may lack, taken away in a process of its own: the same program prints the same numbers."""

import os
import subprocess
import sys
import textwrap
from importlib.util import find_spec

import pytest
from elsewhere import ELSEWHERE, SYSTEMS

from rushlight.backend.onednn import library

PROGRAM = """
import rushlight as torch
from rushlight import nn
from rushlight.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(32, 1, 10, 10)
y = (x.mean((1, 2, 3)) > 0).long()
model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(64, 2))
optimizer = torch.optim.Adam(model.parameters())


def step(x, y):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    return loss


for how in step, torch.compile(step):
    for _ in range(3):
        for part in DataLoader(TensorDataset(x, y), 16, shuffle=True):
            loss = how(*part)
    print(f"{loss.item():.4f}")
print(f"{nn.LSTM(3, 4)(x[:5, 0, 0, :3].unsqueeze(1))[0].sum().item():.4f}")
print(f"{torch.linalg.solve(torch.eye(3) + 0.1 * torch.randn(3, 3), torch.ones(3)).sum().item():.4f}")
"""
BLOCKED = {
    "nothing": "",
    "threads": """
        def refuse(*args, **kwargs):
            raise RuntimeError("can't start new thread")
        import _thread, threading
        _thread.start_new_thread = threading.Thread.start = refuse
    """,
    "processes": """
        def refuse(*args, **kwargs):
            raise OSError("no processes")
        import os, subprocess
        os.fork = subprocess.Popen.__init__ = refuse
    """,
    "ctypes": "import sys; sys.modules['ctypes'] = sys.modules['_ctypes'] = None",
    "llvmlite": "import sys; sys.modules['llvmlite'] = None",
    "oneDNN": "import os; os.environ['RUSHLIGHT_ONEDNN'] = '0'",
    "anonymous files": "import os; vars(os).pop('memfd_create', None)",
}

FILES_AND_GROUPS = """
import contextlib, io, tempfile
import torch.distributed as dist
import torch.distributed.checkpoint as checkpoint
import torch.distributed.fsdp, torch.distributed.run
from rushlight.cli import main

folder = tempfile.mkdtemp()
torch.save({"a": torch.ones(3)}, folder + "/a.pt")
print(torch.load(folder + "/a.pt", mmap=True)["a"].sum().item())
dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
dist.all_reduce(total := torch.ones(3))
checkpoint.save({"w": total}, checkpoint_id=folder + "/c")
into = {"w": torch.zeros(3)}
checkpoint.load(into, checkpoint_id=folder + "/c")
dist.destroy_process_group()
print(into["w"].sum().item(), torch.empty(10**4, 10**4, device="meta").shape[0])
with contextlib.redirect_stdout(io.StringIO()):
    main(["env"])
"""


@pytest.mark.parametrize("part", BLOCKED)
def test_what_remains_gives_the_same_numbers(part):
    text = textwrap.dedent(BLOCKED[part]).strip() + "\n" + PROGRAM
    environment = {**os.environ, "RUSHLIGHT_JIT": "1"}
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["0.8377", "0.6870", "-2.2703", "3.1142"]  # torch's
    said = done.stderr.count("programs are interpreted here")
    interpreted = part in ("ctypes", "llvmlite") or find_spec("llvmlite") is None
    assert said == interpreted, done.stderr


@pytest.mark.parametrize("system", SYSTEMS)
def test_without_what_another_system_lacks(system):
    pytest.importorskip("llvmlite")
    text = ELSEWHERE.format(**SYSTEMS[system]) + "import rushlight.alias; rushlight.alias.install()\n" + PROGRAM
    environment = {**os.environ, "RUSHLIGHT_JIT": "1"}
    done = subprocess.run(
        [sys.executable, "-c", text + FILES_AND_GROUPS], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["0.8377", "0.6870", "-2.2703", "3.1142", "3.0", "3.0", "10000"]
    assert done.stderr.count("programs are interpreted here") == (system == "Windows"), done.stderr


LOOP = """
import sys
import rushlight as torch
from rushlight.backend.onednn import library

{blocked}
model = torch.nn.Sequential(torch.nn.Conv2d(1, 4, 3), torch.nn.Flatten(), torch.nn.Linear(256, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(12):
    optimizer.zero_grad()
    model(torch.ones(4, 1, 10, 10)).square().mean().backward()
    optimizer.step()
"""
SAID = {
    "nothing": ("", "always", []),
    "llvmlite": ("sys.modules['llvmlite'] = None", "always", ["run operator by operator here, more slowly"]),
    "llvmlite, and no programs are wanted": ("sys.modules['llvmlite'] = None", "0", []),
    "oneDNN": ("library._candidates = lambda: ()", "always", ["was not found; pip install onednn-cpu-gomp"]),
}


@pytest.mark.parametrize("part", SAID)
def test_what_is_missing_is_said_once(part):
    blocked, programs, expected = SAID[part]
    if part == "nothing" and find_spec("llvmlite") is None:
        pytest.skip("llvmlite is not here")
    if part == "oneDNN" and not library._is_required():
        pytest.skip("oneDNN is not required here")
    environment = {**os.environ, "RUSHLIGHT_JIT": programs}
    environment.pop("RUSHLIGHT_ONEDNN", None)
    command = [sys.executable, "-c", LOOP.format(blocked=blocked)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    if find_spec("llvmlite") is None and programs == "always":
        expected = {*expected, "run operator by operator here, more slowly"}
    assert done.stderr.count("Warning: ") == len(expected), done.stderr
    assert all(done.stderr.count(text) == 1 for text in expected), done.stderr
