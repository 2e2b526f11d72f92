"""What a machine may lack, taken away in a process of its own: the same program prints the same numbers."""

import os
import subprocess
import sys
import textwrap

import pytest

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


@pytest.mark.parametrize("part", BLOCKED)
def test_what_remains_gives_the_same_numbers(part):
    text = textwrap.dedent(BLOCKED[part]).strip() + "\n" + PROGRAM
    environment = {**os.environ, "RUSHLIGHT_JIT": "1"}
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["0.8377", "0.6870", "-2.2703", "3.1142"]  # torch's
    said = done.stderr.count("programs are interpreted here")
    assert said == (part in ("ctypes", "llvmlite")), done.stderr
