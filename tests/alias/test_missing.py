"""`rushlight run --missing`: the record of missing names; `rushlight check`: the same from a program's text."""

import json

import pytest

from rushlight import cli
from rushlight.alias.program_names import names_in, python_files

TOUCHING = """
import subprocess, sys
import torch
from torch.ao.quantization import get_block_size

torch.package.PackageImporter
subprocess.run([sys.executable, "-c", "import torch; torch.package.PackageExporter"])
try: torch.ones(1).to_mkldnn()
except NotImplementedError: pass
get_block_size(torch.ones(1))
"""


def test_record_of_a_program_that_fails(program):
    script = program.write("script.py", TOUCHING)
    done = program.run("--missing", "report.json", script, "argument")
    assert done.returncode == 1
    assert done.stderr.endswith("NotImplementedError: Rushlight does not have torch.ao.quantization.get_block_size\n")
    missing = {item["name"]: item for item in json.loads((program.folder / "report.json").read_text())["missing"]}
    touched = {name: [(t["how"], t["where"]) for t in item["touched"]] for name, item in missing.items()}
    assert touched == {
        "torch.Tensor.to_mkldnn": [("call", f"{script}:8")],
        "torch.ao.quantization.get_block_size": [("import", f"{script}:4"), ("call", f"{script}:10")],
        "torch.package.PackageExporter": [("attribute", "<string>:1")],
        "torch.package.PackageImporter": [("attribute", f"{script}:6")],
    }
    assert missing["torch.Tensor.to_mkldnn"]["nearest"] == ["torch.Tensor.is_mkldnn"]
    assert [path.name for path in program.folder.iterdir() if "tmp" in path.name] == []


def test_record_of_nothing(program):
    done = program.run("--missing", "report.json", program.write("script.py", "import torch; torch.ones(1)"))
    assert done.returncode == 0
    assert json.loads((program.folder / "report.json").read_text()) == {"missing": []}


READ = """
import torch as t, torch.nn as nn, numpy as np
import torch.nn.functional as F
from torch import optim
from torch.package import PackageExporter as PE
import neighbour
from part import inner

def f(x, F=None):
    F.no_such(x)            # an argument
    return nn.Linaer(2), x.to_mkldnn(), x.item(), np.no_such

def g(x):
    t = x
    t.no_such_either()      # a local name
    net = nn
    return F.no_such_here(x), optim.Adam, net.functional.relu, net.NoSuch

class Model(nn.Module):
    layer = nn.Linear(2, 2)
    def forward(self, x): return self.layer(x).no_such_method()
"""


def names(uses, file):
    return {(use.name, use.line) for use in uses if use.file == str(file) and not use.name.startswith(".")}


def test_reading_a_program(program):
    script = program.write("script.py", READ)
    neighbour = program.write("neighbour.py", "from torch.nn import Conv2d\nConv2d.foo\n")
    inner = program.write("part/inner.py", "from . import other\nimport torchvision.no_such\n")
    program.write("part/__init__.py", "")
    other = program.write("part/other.py", "from torch import *\n")
    program.write("unread.py", "import torch.no\n")
    uses, errors = names_in([script])
    assert errors == []
    assert names(uses, script) == {
        ("torch", 2), ("torch.nn", 2), ("torch.nn.functional", 3), ("torch.optim", 4), ("torch.package.PackageExporter", 5),
        ("torch.nn.Linaer", 11), ("torch.nn", 16), ("torch.nn.functional.no_such_here", 17), ("torch.optim.Adam", 17),
        ("torch.nn.functional.relu", 17), ("torch.nn.NoSuch", 17), ("torch.nn.Module", 19), ("torch.nn.Linear", 20),
    }  # fmt: skip
    assert names(uses, neighbour) == {("torch.nn.Conv2d", 1), ("torch.nn.Conv2d.foo", 2)}
    assert names(uses, inner) == {("torchvision.no_such", 2)}
    assert names(uses, other) == {("torch", 1)}
    assert python_files(program.folder) == sorted(program.folder.rglob("*.py"))


def test_check(program):
    script = program.write("script.py", READ)
    program.write("neighbour.py", "")
    program.write("part.py", "inner = 1\nimport torchaudio")
    done = program.python("-m", "rushlight", "check", "script.py")
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.splitlines() == [
        "part.py:2: torchaudio is absent",
        "script.py:5: torch.package.PackageExporter is absent",
        "script.py:11: torch.Tensor.to_mkldnn is absent; nearest: torch.Tensor.is_mkldnn",
        "script.py:11: torch.nn.Linaer is absent (not in torch 2.13 either); nearest: torch.nn.Linear",
        "script.py:17: torch.nn.NoSuch is absent (not in torch 2.13 either)",
        "script.py:17: torch.nn.functional.no_such_here is absent (not in torch 2.13 either)",
    ]
    script.write_text(
        "import torch, torchvision\nfrom torch import nn\nnn.Linear(1, 1)(torch.ones(1)).sum().backward()"
    )
    done = program.python("-m", "rushlight", "check", "script.py", "--json")
    assert (done.returncode, json.loads(done.stdout)) == (0, {"missing": [], "unreadable": []})


def test_check_of_what_is_no_program(tmp_path, capsys):
    assert cli.main(["check", str(tmp_path / "absent.py")]) == 2
    assert "absent.py" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["x = (", "\0"])
def test_reading_what_is_not_python(program, text):
    uses, errors = names_in([program.write("script.py", text)])
    assert uses == [] and len(errors) == 1 and "script.py" in errors[0]


def test_a_function_hides_its_module(program):
    program.write(
        "script.py",
        """\
from torch.autograd.gradcheck import gradcheck, nonesuch
from torch.nn.parallel.parallel_apply import parallel_apply
from torch.nn.parallel.data_parallel import DataParallel
from torch.autograd.gradcheck import get_numerical_jacobian
import torch
torch.autograd.gradcheck(torch.nn.functional.relu.none, ())
""",
    )
    done = program.python("-m", "rushlight", "check", "script.py")
    assert [line.partition(";")[0] for line in done.stdout.splitlines()] == [
        "script.py:1: torch.autograd.gradcheck.nonesuch is absent (not in torch 2.13 either)",
        "script.py:4: torch.autograd.gradcheck.get_numerical_jacobian is absent",
        "script.py:6: torch.nn.functional.relu.none is absent (not in torch 2.13 either)",
    ]
