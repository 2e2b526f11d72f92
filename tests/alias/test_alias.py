"""The names torch and torchvision, in this process and in those it starts."""

import sys

import pytest

from rushlight.alias import lookup
from rushlight.torch.version import TorchVersion


def test_modules_are_rushlights_own(program):
    text = """
import torch, rushlight
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset
from torch import optim
import torchvision, torchvision.transforms as T
from torchvision.datasets.utils import check_integrity
import rushlight.nn, rushlight.utils.data, rushlight.vision
print(nn is rushlight.nn, F is rushlight.nn.functional, Dataset is rushlight.utils.data.Dataset, torch.nn is nn)
print(torch.nn.functional is F, optim is rushlight.optim, torchvision is rushlight.vision, T is torchvision.transforms)
print(torch.Tensor is rushlight.Tensor, nn.__name__, nn.__spec__.name, F.__spec__.name, torch.__name__)
print(torch.__version__, torch.version.__version__, torch.version.cuda, torchvision.__version__)
"""
    assert program.prints(text).splitlines() == [
        "True True True True",
        "True True True True",
        "True rushlight.nn rushlight.nn rushlight.nn.functional torch",
        "2.13.0+rushlight 2.13.0+rushlight None 0.28.0+rushlight",
    ]


def test_import_torch_dot_something_first(program):
    assert (
        program.prints("import torch.optim.lr_scheduler as s, torch; print(torch.optim.lr_scheduler is s)") == "True\n"
    )


def test_missing_names(program):
    text = """
import importlib.util
import torch, torch.nn
for get in (lambda: torch.no_such_name, lambda: torch.nn.NoSuchLayer):
    try: get()
    except AttributeError as error: print(error)
print(hasattr(torch, "no_such_name"), getattr(torch, "no_such_name", 5))
for name in ("torch.no_such_module", "torch.nn.functional.deeper"):
    try: importlib.import_module(name)
    except ModuleNotFoundError as error: print(error, error.name)
try: from torch.nn import NoSuchLayer
except ImportError as error: print(type(error).__name__, "NoSuchLayer" in str(error))
print(importlib.util.find_spec("torch") is not None, importlib.util.find_spec("torch.nn") is not None)
"""
    lines = program.prints(text).splitlines()
    assert lines[0] == "module 'torch' has no attribute 'no_such_name'"
    assert "NoSuchLayer" in lines[1]
    assert lines[2] == "False 5"
    assert lines[3].startswith("No module named 'torch.no_such_module': Rushlight has no rushlight.no_such_module")
    assert lines[4].startswith("No module named 'torch.nn.functional.deeper'")
    assert lines[5:] == ["ImportError True", "True True"]


def test_install_from_code(program):
    script = program.write(
        "a.py",
        "import rushlight.alias\nrushlight.alias.install(); rushlight.alias.install()\nimport sys, torch\n"
        "print(torch.__version__, sum(type(f).__name__ == 'AliasFinder' for f in sys.meta_path))\n"
        "print(rushlight.alias.installed())",
    )
    done = program.python(script)
    assert (done.stdout, done.stderr) == ("2.13.0+rushlight 1\nTrue\n", "")


def test_install_after_the_real_torch(program):
    real = program.folder.parent / "real" / "torch" / "__init__.py"
    real.write_text("")
    done = program.python("-c", "import torch, rushlight.alias\nrushlight.alias.install()")
    assert f"RuntimeError: torch is imported already, from {real}" in done.stderr


def test_children_by_subprocess(program):
    text = """
import subprocess, sys
subprocess.run([sys.executable, "-c", "import torchvision, torch.nn; print(torch.__version__)"], check=True)
"""
    assert program.prints(text) == "2.13.0+rushlight\n"


WORKERS = """
import multiprocessing, sys
import torch

def work(queue):
    import torch.nn
    queue.put((torch.__version__, torch.nn.__name__))

if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    queue = context.SimpleQueue()
    process = context.Process(target=work, args=(queue,))
    process.start()
    print(*queue.get())
    process.join()
"""


@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
def test_children_by_multiprocessing(program, method):
    assert program.prints(WORKERS, method) == "2.13.0+rushlight rushlight.nn\n"


LOADER = """
import sys
import torch
from torch.utils.data import DataLoader, Dataset

class Squares(Dataset):
    def __len__(self): return 6
    def __getitem__(self, index): return torch.tensor(index) ** 2

if __name__ == "__main__":
    loader = DataLoader(Squares(), batch_size=2, num_workers=2, multiprocessing_context=sys.argv[1])
    print([batch.tolist() for batch in loader])
"""


@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
def test_data_loader_workers(program, method):
    assert program.prints(LOADER, method) == "[[0, 1], [4, 9], [16, 25]]\n"


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("torch", "rushlight"),
        ("torch.nn.functional", "rushlight.nn.functional"),
        ("torch.version", "rushlight.torch.version"),
        ("torchvision.datasets.cifar", "rushlight_vision.datasets.cifar"),
        ("torchaudio", None),
        ("torch_geometric.nn", None),
        ("numpy", None),
    ],
)
def test_sources(name, source):
    assert lookup.source_of(name) == source


def test_version_compares_by_numbers():
    version = TorchVersion("2.13.0+rushlight")
    assert version > "2.9" and version >= "1.10.0" and version >= (2, 13) and version < "2.13.1" and version <= "3"
    assert version == "2.13" and version == "2.13.0+rushlight" and version != "2.13.0+cpu" and version != (2, 12)
    assert not version < "2.2"
    assert version.split("+")[0].split(".") == ["2", "13", "0"]
    assert {version: 1}["2.13.0+rushlight"] == 1


def test_this_process_was_left_alone():
    assert not any(name in sys.modules and "rushlight" in str(sys.modules[name]) for name in ("torch", "torchvision"))
