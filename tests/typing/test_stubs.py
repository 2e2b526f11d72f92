"""The stubs are what the registry says, and pyright checks users' programs by them: no false error, no mistake missed."""

import importlib
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
from rushlight.alias import torch_names
from rushlight.torch import unavailable
from tools import stub_package

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
# ray, which two of them need, is not installed where this runs
EXAMPLES = sorted(p for p in (ROOT / "examples").glob("*.py") if "import ray" not in p.read_text())
TYPICAL = sorted(HERE.glob("typical*.py"))
# what pyright rightly finds in the examples: a docstring may be missing, a loop may have no round, an option that raises
OWN = re.compile(r'"splitlines" is not a known attribute|is possibly unbound|No parameter named "retain_variables"')


def test_stubs_are_current():
    # in a process of its own: other tests register operators
    done = subprocess.run([sys.executable, "-m", "tools.stubs", "--check"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, f"run `python -m tools.stubs`: {done.stdout}{done.stderr}"


def test_no_member_of_a_tensor_is_spelled_so_that_jedi_completes_nothing():
    """`Tensor | Any` has no completions there; `Union[Tensor, Any]` has."""
    text = (ROOT / "rushlight" / "core" / "tensor" / "tensor.pyi").read_text()
    assert "def grad(self) -> Union[Tensor, Any]" in text
    assert not re.findall(r"(?:->|:) \w+ \| Any\b", text)


def _as_rushlight(text: str) -> str:
    """A program with `import rushlight as torch` in place of `import torch`, line by line."""
    text = re.sub(r"^(\s*)import torchvision$", r"\1import rushlight_vision as torchvision", text, flags=re.M)
    text = re.sub(r"^(\s*)import torch$", r"\1import rushlight as torch", text, flags=re.M)
    text = re.sub(r"^(\s*(?:import|from) )torchvision\b", r"\1rushlight_vision", text, flags=re.M)
    return re.sub(r"^(\s*(?:import|from) )torch\b", r"\1rushlight", text, flags=re.M)


def _errors(folder: Path) -> list[dict]:
    """What pyright finds in a folder of programs, as a user's editor would run it."""
    pyright = shutil.which("pyright", path=str(Path(sys.executable).parent)) or shutil.which("pyright")
    if pyright is None:
        pytest.skip("pyright is not installed")
    settings = {"include": ["."], "pythonVersion": "3.11", "typeCheckingMode": "standard"}
    settings |= {"reportUnusedExpression": False}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    done = subprocess.run(
        [pyright, "--outputjson", "--pythonpath", sys.executable], cwd=folder, capture_output=True, text=True
    )
    if done.returncode not in (0, 1):
        pytest.skip(f"pyright does not run here: {done.stderr.strip()[-200:]}")
    return [each for each in json.loads(done.stdout)["generalDiagnostics"] if each["severity"] == "error"]


@pytest.fixture(scope="module")
def complaints(tmp_path_factory):
    """What pyright says: file name -> line -> messages. One run for all programs."""
    folder = tmp_path_factory.mktemp("programs")
    for path in (*EXAMPLES, *TYPICAL, HERE / "wrong.py"):
        (folder / path.name).write_text(_as_rushlight(path.read_text()))
    found: dict[str, dict[int, list[str]]] = {}
    for each in _errors(folder):
        if not OWN.search(each["message"]):
            lines = found.setdefault(Path(each["file"]).name, {})
            lines.setdefault(each["range"]["start"]["line"] + 1, []).append(each["message"])
    return found


@pytest.mark.parametrize("name", [p.name for p in (*EXAMPLES, *TYPICAL)])
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


def _public_names():
    """(expression, import that it needs) for each public name of torch that Rushlight has, by torch's list of names."""
    modules = [m for m in torch_names.modules() if m.split(".")[0] == "torch" and "._" not in m]
    for module in modules:
        own = "rushlight" + module.removeprefix("torch")
        try:
            loaded = importlib.import_module(own)
        except (ImportError, AttributeError, RuntimeError):
            continue
        for name, entry in torch_names.of_module(module).items():
            shown = module == "torch" or entry.exported or entry.kind == "m"
            absent = f"{module}.{name}".removeprefix("torch.") in unavailable.ROWS
            if shown and not absent and not name.startswith("_") and hasattr(loaded, name):
                yield f"{own}.{name}", own


def test_every_public_name_is_known(tmp_path):
    # in a process of its own: after an old pickle was loaded, more modules can be imported
    out = subprocess.run(
        [sys.executable, "-W", "ignore", __file__], capture_output=True, text=True, check=True, cwd=ROOT
    )
    names = json.loads(out.stdout.splitlines()[-1])
    assert len(names) > 2000
    imports = sorted(set(names.values()))
    (tmp_path / "program.py").write_text("\n".join([*(f"import {m}" for m in imports), *names]) + "\n")
    unknown = {[*imports, *names][each["range"]["start"]["line"]] for each in _errors(tmp_path)}
    # functions that hide the module of their name, what torch's modules import by the way, modules that only refuse, and
    # the second names of `ao.nn.intrinsic`, `.qat` and `.quantized` below `nn`
    assert len(unknown) <= 77, sorted(unknown)


def test_a_wheel_has_the_stubs_of_public_names(tmp_path):
    """What `pip install` of a wheel gives: the public names that have no file, and the marker that checkers look for."""
    files = {str(path): text for path, text in stub_package.contents(ROOT).items()}
    assert files["py.typed"] == "partial\n" == (ROOT / "rushlight" / "py.typed").read_text()
    assert files["linalg.pyi"] == "from rushlight.torch.linalg import *\n"
    assert "from rushlight_vision.transforms import *" in files["vision/transforms/__init__.pyi"]
    assert "from . import cudnn as cudnn" in files["backends/__init__.pyi"]
    assert "def relu" in files["nn/functional/__init__.pyi"] or "relu as relu" in files["nn/functional/__init__.pyi"]
    shutil.copytree(ROOT / "rushlight" / "torch", tmp_path / "rushlight" / "torch")
    shutil.copytree(ROOT / "rushlight_vision" / "transforms", tmp_path / "rushlight_vision" / "transforms")
    (tmp_path / "rushlight_vision" / "__init__.py").touch()
    stub_package.write(tmp_path)
    assert stub_package.stale(tmp_path) == []
    (tmp_path / stub_package.FOLDER / "gone.pyi").touch()
    (tmp_path / stub_package.FOLDER / "linalg.pyi").write_text("old")
    assert sorted(map(str, stub_package.stale(tmp_path))) == ["gone.pyi", "linalg.pyi"]
    stub_package.write(tmp_path)
    assert stub_package.stale(tmp_path) == []


if __name__ == "__main__":
    print(json.dumps(dict(_public_names())))
