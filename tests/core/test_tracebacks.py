"""The program's own frames, one line for those inside Rushlight, and the module that an error comes from."""

import copy
import io
import os
import subprocess
import sys
import traceback

import pytest

import rushlight as torch
from rushlight import nn
from rushlight.core.tracebacks import shorten

PROGRAM = """
import torch
from torch import nn
net = nn.Sequential(nn.Linear(4, 21), nn.ReLU(), nn.Linear(20, 2))
def train(x):
    return net(x)
train(torch.ones(3, 4))
"""


def caught(function, *args):
    with pytest.raises(Exception) as info:
        function(*args)
    return info.value


def run(path, **environment):
    done = subprocess.run(
        [sys.executable, "-m", "rushlight", "run", str(path)], capture_output=True, text=True, check=False,
        env={**os.environ, **environment},
    )  # fmt: skip
    assert done.returncode == 1
    return done.stderr


def test_rushlight_run_shows_the_programs_frames(tmp_path):
    path = tmp_path / "train.py"
    path.write_text(PROGRAM)
    text = run(path, RUSHLIGHT_TRACEBACK="")
    assert [line.split(",")[1] for line in text.splitlines() if line.startswith("  File")] == [" line 7", " line 6"]
    assert "mat1 and mat2 shapes cannot be multiplied (3x21 and 20x2)\n" in text
    assert "in `2: Linear(20 -> 2)` of `Sequential`: input (3, 21)\n" in text
    assert "frames inside Rushlight left out" in text.splitlines()[-1]
    full = run(path, RUSHLIGHT_TRACEBACK="full")
    assert full.count("  File") > 8
    assert "left out" not in full


def test_frames_called_back_stay_and_causes_are_shortened(monkeypatch):
    monkeypatch.delenv("RUSHLIGHT_TRACEBACK")

    class Net(nn.Module):
        def forward(self, x):
            try:
                return x @ x
            except RuntimeError as error:
                raise ValueError("mine") from error

    error = caught(Net(), torch.ones(2, 3))
    shorten(error)
    assert [f.name for f in traceback.extract_tb(error.__traceback__)] == ["caught", "forward"]
    assert [f.name for f in traceback.extract_tb(error.__cause__.__traceback__)] == ["forward"]
    (note,) = error.__notes__
    assert "inside Rushlight left out" in note


def names_of_frames(error):
    return [f.name for f in traceback.extract_tb(error.__traceback__)]


def test_frames_of_the_standard_library_that_rushlight_called_go(monkeypatch):
    monkeypatch.delenv("RUSHLIGHT_TRACEBACK", raising=False)
    error = caught(torch.save, lambda x: x, io.BytesIO())
    shorten(error)
    assert names_of_frames(error) == ["caught"] and error.__context__ is None
    whole = io.BytesIO()
    torch.save({"a": torch.ones(3)}, whole)
    error = caught(torch.load, io.BytesIO(whole.getvalue()[:300]))
    shorten(error)
    assert names_of_frames(error) == ["caught"]
    assert type(error.__cause__).__name__ == "BadZipFile" and error.__cause__.__traceback__ is None


def test_frames_of_the_standard_library_that_the_program_called_stay(monkeypatch):
    monkeypatch.delenv("RUSHLIGHT_TRACEBACK", raising=False)

    class Copied:
        def __deepcopy__(self, memo):
            return torch.ones(2) @ torch.ones(3)

    error = caught(copy.deepcopy, Copied())
    shorten(error)
    assert names_of_frames(error) == ["caught", "deepcopy", "__deepcopy__"]


def test_a_traceback_without_frames_of_the_program_stays():
    error = caught(torch.ones(2, 3).__matmul__, torch.ones(2, 3))
    error.__traceback__ = error.__traceback__.tb_next
    before = traceback.extract_tb(error.__traceback__)
    shorten(error)
    assert traceback.extract_tb(error.__traceback__) == before


@pytest.mark.parametrize(
    ("module", "arguments", "note"),
    [
        (nn.Linear(4, 2), (torch.ones(3, 5),), "in `Linear(4 -> 2)`: input (3, 5)"),
        (nn.LSTM(4, 8), (torch.ones(3, 5),), "in `LSTM(4 -> 8)`: input (3, 5)"),
        (nn.Embedding(4, 2), (torch.tensor([7]),), "in `Embedding(4, 2)`: input (1,) int64"),
        (nn.ModuleDict({"a": nn.Linear(1, 1)})["a"], (torch.ones(3, 5),), "in `Linear(1 -> 1)`: input (3, 5)"),
        (nn.Sequential(nn.ReLU(), nn.Sequential(nn.Conv2d(3, 4, 3))), (torch.ones(1, 2, 8, 8),),
         "in `1.0: Conv2d(3 -> 4)` of `Sequential`: input (1, 2, 8, 8)"),
        (nn.CrossEntropyLoss(), (torch.ones(3, 5), torch.ones(2, dtype=torch.int64)),
         "in `CrossEntropyLoss`: input (3, 5), (2,) int64"),
    ],
)  # fmt: skip
def test_the_module_is_named(module, arguments, note):
    assert caught(module, *arguments).__notes__ == [note]


def test_an_error_of_the_programs_own_code_has_no_note():
    class Net(nn.Module):
        def forward(self, x):
            raise KeyError(x.shape)

    assert not hasattr(caught(nn.Sequential(Net()), torch.ones(1)), "__notes__")


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda t: t(2, 3).mv(t(2)), "in mv(input [2, 3], vec [2]), "),
        (lambda t: t(2, 3) + t(4).double(), "in add(input [2, 3], other [4] float64), "),
        (lambda t: torch.atan2(t(2), t(3)), "in atan2(input [2], other [3]), "),
        (
            lambda t: nn.functional.conv2d(t(1, 2, 3, 3), t(1, 3, 1, 1)),
            "in conv2d(input [1, 2, 3, 3], weight [1, 3, 1, 1]), ",
        ),
        (lambda t: torch.cat([t(2), t(2, 2)]), "in cat(tensors [[2], [2, 2]]), "),
        (
            lambda t: t(2, 3).index_add(1, torch.tensor([9]), t(2, 1)),
            "in index_add(input [2, 3], index [1] int64, source [2, 1], dim 1), ",
        ),
        (lambda t: t(2, 3)[5], "in indexing(self [2, 3], index 5), "),
        (lambda t: nn.MultiheadAttention(5, 2), "in MultiheadAttention(embed_dim 5, num_heads 2), "),
        (lambda t: t(3).topk(4), "in topk(input [3], k 4), "),
        (lambda t: torch.fft.fft2(t(4)), "in fft2(input [4]), "),
        (lambda t: torch.complex(t(2), t(2).double()), "in complex(real [2] float32, imag [2] float64), "),
        (lambda t: nn.functional.one_hot(t(2)), "in one_hot(tensor [2] float32), "),
        (lambda t: torch.arange(0, 3, -1), "in arange("),
    ],
)
def test_the_line_names_the_call(call, named, monkeypatch):
    monkeypatch.delenv("RUSHLIGHT_TRACEBACK")
    error = caught(call, torch.ones)
    shorten(error)
    (note,) = error.__notes__
    assert note.startswith(f"({named}") and "inside Rushlight left out" in note


def test_an_absent_name_as_an_argument_does_not_hide_the_error(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import torch\ntorch.nn.Linear(2, 3)(torch.ao.quantization.float_qparams_weight_only_qconfig_4bit)\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "rushlight", "run", str(program)], capture_output=True, text=True, check=False
    )
    assert "program.py" in done.stderr and "During handling" not in done.stderr


def test_a_recursion_too_deep_is_shortened(monkeypatch):
    """A copy that goes too deep ends in a thousand frames of the standard library, which Rushlight has called."""

    class Chain:
        next = None

    first = link = Chain()
    for _ in range(3 * sys.getrecursionlimit()):
        link.next = Chain()
        link = link.next
    network = nn.Linear(2, 2)
    network.chain = first
    monkeypatch.delenv("RUSHLIGHT_TRACEBACK", raising=False)
    error = caught(torch.optim.swa_utils.AveragedModel, network)  # which copies it
    assert isinstance(error, RecursionError)
    shorten(error)
    files = {frame.filename for frame in traceback.extract_tb(error.__traceback__)}
    assert __file__ in files and not any("rushlight/" in name for name in files)
    while first is not None:  # or the chain's own end would go too deep
        first.next, first = None, first.next
