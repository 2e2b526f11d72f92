"""The file of torch's names, and what a program gets for a name: Rushlight's own thing, a stand-in, or torch's error."""

import json

import pytest

from rushlight.alias import absent, lookup, torch_names
from rushlight.alias.suggestions import hint, nearest


def test_names_and_kinds():
    nn = torch_names.of_module("torch.nn.modules.activation")
    assert nn["MultiheadAttention"].kind == "c" and nn["MultiheadAttention"].exported
    assert nn["MultiheadAttention"].path == "torch.nn.MultiheadAttention"
    assert nn["MultiheadAttention"].home == "torch.nn.modules.activation:MultiheadAttention"
    top = torch_names.of_module("torch")
    assert [top[name].kind for name in ("Tensor", "relu", "float32", "nn", "OutOfMemoryError")] == list("cfkme")
    assert top["OutOfMemoryError"].base == "RuntimeError"
    assert torch_names.of_module("torchvision.models")["resnet18"].kind == "f"
    assert torch_names.of_module("torch.no_such") == {} and not torch_names.is_module("torch.no_such")
    assert torch_names.is_module("torch.nn.modules.linear") and torch_names.is_package("torch.nn.modules")
    assert torch_names.of_class("torch.Tensor")["add_"] == "f" and torch_names.of_class("torch.Tensor")["grad"] == "v"
    assert (
        torch_names.of_class("torch.nn.Linear")["reset_parameters"] == "f" and torch_names.of_class("torch.no") is None
    )
    assert "weight_norm" in torch_names.conflicts("torch.nn.utils")
    assert torch_names.homes("torch.optim")["Adam"] == "torch.optim.adam"


def test_nearest():
    assert nearest("torch.nn.Linaer")[0] == "torch.nn.Linear"
    assert nearest("torch.Tensor.reshpe")[0] == "torch.Tensor.reshape"
    assert hint("torch.qqqqqq") == ""


CLASSES = """
import importlib, json, pickle
import torch, torchvision
from rushlight.alias import lookup, torch_names
PACKAGES = ("torch", "torch.nn", "torch.nn.utils.rnn", "torch.optim", "torch.optim.lr_scheduler", "torch.utils.data",
    "torch.autograd", "torchvision.datasets", "torchvision.transforms")
wrong, count = [], 0
for package in PACKAGES:
    for name, known in torch_names.of_module(package).items():
        value = lookup.own_by_any_path(package, name)
        if known.kind not in "ce" or name.startswith("_") or not isinstance(value, type):
            continue
        home, _, qualified = known.home.partition(":")
        if value.__qualname__ != qualified or value.__name__.endswith("Storage"):
            continue
        count += 1
        if value.__module__ != home or getattr(importlib.import_module(home), qualified) is not value:
            wrong.append((package, name, value.__module__, home))
        elif pickle.loads(pickle.dumps(value)) is not value or getattr(importlib.import_module(package), name) is not value:
            wrong.append((package, name, "pickle"))
print(json.dumps([count, wrong]))
"""


def test_classes_are_where_torch_defines_them(program):
    """`__module__` is torch's, the class is importable from there, and pickle finds it."""
    count, wrong = json.loads(program.prints(CLASSES))
    assert count > 250
    assert wrong == []


LISTED = """
import torch

torch.set_default_dtype(torch.float32), torch.nn.functional.relu, torch.cross_entropy
torch.of_a_program = 3
missing = [name for name in dir(torch) if not hasattr(torch, name)]
ours = {"alias", "backend", "cli", "core", "doctor", "_dtypes", "_lazy", "_torch", "cross_entropy_"} & set(dir(torch))
known = {"Tensor", "add", "nn", "float32", "__name__", "of_a_program"} - set(dir(torch))
print(missing, ours, known)
"""


def test_dir_lists_what_torch_has(program):
    """array_api_compat takes every name that `dir(torch)` lists."""
    assert program.prints(LISTED).strip() == "[] set() set()"


FILES = """
import io, pickle, pickletools, zipfile
import torch
from torch import nn
from torch.nn.modules.channelshuffle import ChannelShuffle
from torch.nn.modules.linear import Linear
from torch.nn.modules.utils import _pair
from torch.optim._muon import Muon

assert ChannelShuffle is nn.ChannelShuffle and Linear is nn.Linear and _pair(3) == (3, 3) and Muon is torch.optim.Muon
file = io.BytesIO()
torch.save(nn.Sequential(nn.Linear(2, 3), nn.MultiheadAttention(4, 2), nn.ChannelShuffle(2)), file)
with zipfile.ZipFile(file) as archive:
    names = {a for op, a, _ in pickletools.genops(archive.read("archive/data.pkl")) if op.name == "GLOBAL"}
print(sorted(name for name in names if "modules" in name or "Tensor" in name))
file.seek(0)
print(type(torch.load(file, weights_only=False)[1]) is nn.MultiheadAttention, type(torch.ones(1)), repr(nn.Linear))
with torch.serialization.safe_globals([nn.Linear]):
    file = io.BytesIO()
    torch.save(nn.Linear, file)
    file.seek(0)
    print(torch.load(file) is nn.Linear)
schedule = torch.optim.lr_scheduler.StepLR(torch.optim.SGD([nn.Parameter(torch.ones(1))], 0.1), 1)
print(type(pickle.loads(pickle.dumps(schedule))))
"""


def test_files_name_torchs_classes(program):
    names = ["container Sequential", "linear Linear", "linear NonDynamicallyQuantizableLinear"]
    names = ["activation MultiheadAttention", "channelshuffle ChannelShuffle", *names]
    assert program.prints(FILES).splitlines() == [
        str([f"torch.nn.modules.{name}" for name in names]),
        "True <class 'torch.Tensor'> <class 'torch.nn.modules.linear.Linear'>",
        "True",
        "<class 'torch.optim.lr_scheduler.StepLR'>",
    ]


IMPORTS = """
import torch, torch.ao.quantization
import torch.nn.utils.weight_norm, torch.nn.parallel.data_parallel
from torch.ao.quantization import get_block_size
from torch.package import PackageExporter, PackagingError
from torch import *

class Derived(PackageExporter): pass

@torch.compiler.wrap_numpy
def decorated(x: "torch.package.PackageImporter | None" = None): ...

def says(call):
    try: print(call())
    except (NotImplementedError, AttributeError, OSError) as error: print(type(error).__name__, error)

try: raise ValueError
except PackagingError: pass
except ValueError: print(isinstance(3, PackageExporter), issubclass(PackagingError, ValueError), PackageExporter | None)
says(lambda: get_block_size(3))
says(lambda: Derived())
says(decorated)
says(lambda: torch.ones(2).to_mkldnn())
says(lambda: torch.quint4x2 in (torch.float32, torch.quint4x2))
says(lambda: torch.nn.Linaer)
says(lambda: torch.core)
says(lambda: torch.ops.load_library("x"))
print(hasattr(torch.ops.some, "nms"), torch.ops.aten.relu(torch.ones(1)))
says(lambda: hasattr(torch, "no_such") or hasattr(torch.nn, "NoSuch") or hasattr(torch.ones(1), "no_such"))
says(lambda: hasattr(torch._C, "_functions"))  # a module in torch that is not here
print(callable(torch.nn.utils.weight_norm), callable(torch.nn.parallel.data_parallel), relu is torch.relu)
print(torch.nn.modules.conv.math.pi > 3, torch.nn.modules.linear.F is torch.nn.functional)
"""


def test_missing_names_fail_where_they_are_used(program):
    assert program.prints(IMPORTS).splitlines() == [
        "False False torch.package.package_exporter.PackageExporter | None",
        "NotImplementedError Rushlight does not have torch.ao.quantization.get_block_size",
        "NotImplementedError Rushlight does not have torch.package.PackageExporter, from which Derived is derived",
        "NotImplementedError Rushlight does not have torch.compiler.wrap_numpy, which decorates decorated",
        "NotImplementedError Rushlight does not have torch.Tensor.to_mkldnn (nearest: torch.Tensor.is_mkldnn)",
        "True",
        "AttributeError module 'torch.nn' has no attribute 'Linaer' (nearest: torch.nn.Linear)",
        "AttributeError module 'torch' has no attribute 'core'",
        "OSError Could not load this library: x. Rushlight does not have torch.ops.load_library",
        "False tensor([1.])",
        "False",
        "False",
        "True True True",
        "True True",
    ]


@pytest.mark.parametrize(
    "use",
    [
        bool,
        int,
        float,
        len,
        iter,
        str,
        hash,
        lambda v: v + 1,
        lambda v: v < 2,
        lambda v: v == 1,
        lambda v: v(),
        lambda v: v.real,
    ]
    + [lambda v: v[0], lambda v: f"{v}", lambda v: setattr(v, "a", 1)],
)
def test_values_refuse_to_be_used(use):
    with pytest.raises(NotImplementedError, match=r"Rushlight does not have torch\.something"):
        use(absent.absent_value("torch.something", "v"))


def test_constants_equal_themselves_alone():
    one, other = absent.absent_value("torch.qint7", "k"), absent.absent_value("torch.qint9", "k")
    assert one == one and one != other and one not in (1, "torch.qint7") and {one: 1}[one] == 1
    assert "torch.qint7" in f"{one}"
    with pytest.raises(NotImplementedError):
        bool(one)


def test_questions_are_answered():
    assert absent.absent_function("torch.xyz.is_available")() is False
    assert absent.absent_function("torch.xyz.device_count")() == 0


@pytest.mark.parametrize(
    ("name", "theirs"),
    [
        ("rushlight.nn.functional", "torch.nn.functional"),
        ("rushlight.vision.datasets", "torchvision.datasets"),
        ("rushlight", "torch"),
        ("rushlight.torch.version", "torch.version"),
        ("numpy", "numpy"),
    ],
)
def test_torchs_names_of_our_modules(name, theirs):
    assert lookup.theirs_of(name) in (theirs, "torch.torch_version")


def test_packages_are_known_without_a_search():
    """Each `from ... import` in a function asks a module whether it is a package: a search took a millisecond."""
    known = torch_names.modules()
    for name in (*known, "torch.no_such", "torch.n"):
        assert torch_names.is_package(name) == any(k.startswith(name + ".") for k in known)
    torch_names._packages()
    asked = torch_names._index
    torch_names._index = None
    try:
        assert torch_names.is_package("torch.nn") and not torch_names.is_package("torch.autograd.graph")
    finally:
        torch_names._index = asked
