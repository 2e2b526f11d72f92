"""Plain `rushlight run`: a few certain mistakes, each once, as a warning with its line; silent on right loops."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HEAD = "import torch\nm = torch.nn.Linear(2, 1)\no = torch.optim.SGD(m.parameters(), lr=0.1)\nfor i in range(4):\n"
LOSS = "    loss = m(torch.ones(3, 2)).pow(2).mean()\n"
PROGRAMS = {
    "stale-grad": (LOSS + "    loss.backward()\n    o.step()\n", 6),
    "zeroed-before-step": (LOSS + "    loss.backward()\n    o.zero_grad()\n    o.step()\n", 7),
    "step-without-grad": ("    o.zero_grad()\n" + LOSS + "    o.step()\n", 7),
    "no-grad-path": ("    o.zero_grad()\n" + LOSS + "    loss.detach().requires_grad_().backward()\n    o.step()\n", 7),
    "": (LOSS + "    o.zero_grad()\n    loss.backward()\n    o.step()\n", 0),
}


def _run(path, **environment):
    command = [sys.executable, "-m", "rushlight", "run", str(path)]
    cwd = Path(__file__).parents[2]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment}, cwd=cwd)
    assert done.returncode == 0 and done.stdout == "", done.stderr
    return done.stderr


@pytest.mark.parametrize("name", PROGRAMS)
def test_hint(name, tmp_path):
    body, line = PROGRAMS[name]
    path = tmp_path / "train.py"
    path.write_text(HEAD + body)
    said = _run(path)
    if not name:
        assert said == ""
        return
    assert said.count("GradientWarning") == 1
    assert f"train.py:{line}: GradientWarning:" in said and f"rushlight explain {name}" in said


def test_the_line_is_that_of_the_method_that_is_only_named(tmp_path):
    path = tmp_path / "train.py"
    path.write_text(HEAD + LOSS + "    o.zero_grad\n    loss.backward()\n    o.step()\n")
    assert "train.py:6: GradientWarning: o.zero_grad is only named here, and not called; so at line 7:" in _run(path)


TWO = HEAD.replace("for i", "d = torch.nn.Linear(1, 1)\no_d = torch.optim.SGD(d.parameters(), lr=0.1)\nfor i") + (
    "    x = torch.ones(3, 2)\n{}    (d(m(x).detach()) - 1).pow(2).mean().backward()\n    o_d.step()\n"
    "    o.zero_grad()\n    d(m(x)).mean().backward()\n    o.step()\n"
)
CLEARED = {
    "by its optimizer": "    o_d.zero_grad()\n",
    "by the module, in place": "    d.zero_grad(set_to_none=False)\n",
    "in place": "    for p in d.parameters():\n        p.grad is None or p.grad.zero_()\n",
    "by assignment": "    for p in d.parameters():\n        p.grad = None\n",
}


@pytest.mark.parametrize("how", CLEARED)
def test_what_another_loss_adds_is_cleared_before_it_is_used(how, tmp_path):
    path = tmp_path / "train.py"
    path.write_text(TWO.format(CLEARED[how]))
    assert _run(path) == ""


def test_what_another_loss_adds_is_used(tmp_path):
    path = tmp_path / "train.py"
    path.write_text(TWO.format(""))
    assert _run(path).count("GradientWarning") == 1


def test_off(tmp_path):
    path = tmp_path / "train.py"
    path.write_text(HEAD + PROGRAMS["stale-grad"][0])
    assert _run(path, RUSHLIGHT_HINTS="0") == ""


@pytest.mark.parametrize("first", [1, 127, 300, 385])
def test_a_fault_that_begins_late(first, tmp_path):
    """A loop that has been right for long is looked at now and then, and is judged by what is seen from then on."""
    path = tmp_path / "train.py"
    loss = "    loss = m(torch.ones(3, 2)).mean()\n"  # whose gradient never vanishes
    body = loss + f"    loss.backward()\n    o.step()\n    if i < {first}:\n        o.zero_grad()\n"
    path.write_text(HEAD.replace("range(4)", f"range({first + 160})") + body)
    assert _run(path).count("GradientWarning") == 1
    path.write_text(HEAD.replace("range(4)", f"range({first + 160})") + body.replace(f"i < {first}", f"i != {first}"))
    assert _run(path) == ""


@pytest.mark.parametrize("before", [150, 250])
def test_another_loop_of_the_program(before, tmp_path):
    """An optimizer that is made late is looked at from its first step on, whatever came before."""
    path = tmp_path / "train.py"
    path.write_text(f"""
import torch

def train(steps, clears):
    m = torch.nn.Linear(2, 1)
    o = torch.optim.SGD(m.parameters(), lr=0.1)
    for _ in range(steps):
        m(torch.ones(3, 2)).mean().backward()
        o.step()
        if clears:
            o.zero_grad()

train({before}, True)
train(10, True)
train(5, False)
""")
    assert _run(path).count("GradientWarning") == 1


def test_a_sparse_gradient_that_another_loop_finds(tmp_path):
    path = tmp_path / "train.py"
    path.write_text(
        "import torch\nfor sparse in (True, False):\n    e = torch.nn.Embedding(3, 2, sparse=sparse)\n"
        "    o = torch.optim.SGD(e.parameters(), lr=0.1)\n    for i in range(3):\n        o.zero_grad()\n"
        "        e(torch.tensor([0, 2])).sum().backward()\n        o.step()\n    kept = [e, o] if sparse else kept\n"
    )
    assert _run(path) == ""


def test_sharded_gradients_that_accumulate(tmp_path):
    path = tmp_path / "train.py"
    path.write_text(
        "import torch, torch.distributed as dist\nfrom torch.distributed.fsdp import fully_shard\n"
        f"dist.init_process_group('gloo', 'file://{tmp_path}/meet', rank=0, world_size=1)\n"
        "m = fully_shard(torch.nn.Linear(2, 1))\no = torch.optim.SGD(m.parameters(), lr=0.1)\nfor i in range(3):\n"
        "    for _ in range(2):\n        m(torch.ones(3, 2)).mean().backward()\n    o.step()\n    o.zero_grad(set_to_none=False)\n"
        "dist.destroy_process_group()\n"
    )
    assert _run(path) == ""
