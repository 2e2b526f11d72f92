"""The stubs are what the registry says, and pyright checks users' programs by them: no false error, no mistake missed."""

import inspect
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import rushlight as torch
import rushlight.nn.functional as F

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
# what pyright rightly finds in the examples: a docstring may be missing, a loop may have no round, an option that raises
OWN = re.compile(r'"splitlines" is not a known attribute|is possibly unbound|No parameter named "retain_variables"')


def test_stubs_are_current():
    # in a process of its own: other tests register operators
    done = subprocess.run([sys.executable, "-m", "tools.stubs", "--check"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, f"run `python -m tools.stubs`: {done.stdout}{done.stderr}"


def _as_rushlight(text: str) -> str:
    """A program with `import rushlight as torch` in place of `import torch`, line by line."""
    text = re.sub(r"^(\s*)import torchvision$", r"\1import rushlight_vision as torchvision", text, flags=re.M)
    text = re.sub(r"^(\s*)import torch$", r"\1import rushlight as torch", text, flags=re.M)
    text = re.sub(r"^(\s*(?:import|from) )torchvision\b", r"\1rushlight_vision", text, flags=re.M)
    return re.sub(r"^(\s*(?:import|from) )torch\b", r"\1rushlight", text, flags=re.M)


@pytest.fixture(scope="module")
def complaints(tmp_path_factory):
    """What pyright says: file name -> line -> messages. One run for all programs."""
    pyright = shutil.which("pyright", path=str(Path(sys.executable).parent)) or shutil.which("pyright")
    if pyright is None:
        pytest.skip("pyright is not installed")
    folder = tmp_path_factory.mktemp("programs")
    for path in (*EXAMPLES, HERE / "typical.py", HERE / "wrong.py"):
        (folder / path.name).write_text(_as_rushlight(path.read_text()))
    settings = {"include": ["."], "pythonVersion": "3.11", "typeCheckingMode": "standard"}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    done = subprocess.run(
        [pyright, "--outputjson", "--pythonpath", sys.executable], cwd=folder, capture_output=True, text=True
    )
    if done.returncode not in (0, 1):
        pytest.skip(f"pyright does not run here: {done.stderr.strip()[-200:]}")
    found: dict[str, dict[int, list[str]]] = {}
    for each in json.loads(done.stdout)["generalDiagnostics"]:
        if each["severity"] == "error" and not OWN.search(each["message"]):
            lines = found.setdefault(Path(each["file"]).name, {})
            lines.setdefault(each["range"]["start"]["line"] + 1, []).append(each["message"])
    return found


@pytest.mark.parametrize("name", [*(p.name for p in EXAMPLES), "typical.py"])
def test_right_programs_have_no_errors(complaints, name):
    assert complaints.get(name, {}) == {}


def test_every_wrong_line_has_an_error(complaints):
    lines = (HERE / "wrong.py").read_text().splitlines()
    marked = {i for i, line in enumerate(lines, 1) if line.endswith("# wrong")}
    assert len(marked) >= 30
    assert set(complaints["wrong.py"]) == marked, [lines[i - 1] for i in marked ^ set(complaints["wrong.py"])]


@pytest.mark.parametrize(
    "function, shown",
    [
        (torch.add, "(input, other, *, alpha=1, out=None)"),
        (torch.sin, "(input, *, out=None)"),
        (torch.eq, "(input, other, *, out=None)"),
        (torch.topk, "(input, k, dim=-1, largest=True, sorted=True, *, axis=None, out=None)"),
        (torch.addmm, "(input, mat1, mat2, *, beta=1, alpha=1, out=None)"),
        (torch.sum, "(input, dim=None, keepdim=False, *, dtype=None, out=None, axis=None, keepdims=None)"),
        (torch.cat, "(tensors, dim=0, *, axis=None, out=None)"),
        (torch.mm, "(input, mat2, *, out=None)"),
        (torch.index_add, "(input, dim, index, source, *, alpha=1, axis=None, out=None)"),
        (torch.diff, "(input, n=1, dim=-1, prepend=None, append=None, *, axis=None, out=None)"),
        (torch.block_diag, "(*tensors)"),
        (F.hardshrink, "(input, lambd=0.5, *, out=None)"),
        (torch.Tensor.__add__, "(self, other)"),
        (torch.Tensor.addmm_, "(self, mat1, mat2, *, beta=1, alpha=1)"),
        (torch.Tensor.index_add_, "(input, dim, index, source, *, alpha=1)"),
        (torch.zeros(2).topk, "(k, dim=-1, largest=True, sorted=True, *, axis=None, out=None)"),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_signatures_at_run_time(function, shown):
    assert str(inspect.signature(function)) == shown
