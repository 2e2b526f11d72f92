"""Modules are found under every name that they have had: public names, and those in pickles written before a move."""

import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import rushlight
from rushlight.torch import NAMES, _moved

GOLDEN = Path(__file__).parent.parent / "golden" / "module_names_at_928511f.txt"


def test_modules_are_found_under_the_names_that_they_had():
    """At commit 928511f every file had this name."""
    names = GOLDEN.read_text().split()
    optional = ("rushlight.utils.tensorboard",)
    code = (
        "import importlib, sys, rushlight, types\nimport rushlight.nn.functional as F, rushlight.compile, rushlight.optim\n"
        "spaces = rushlight, rushlight.ops, F, rushlight.compile, rushlight.optim, rushlight.autograd\n"
        "def functions(): return [{k: v for k, v in vars(s).items() if not isinstance(v, types.ModuleType)} for s in spaces]\n"
        "before = functions()\nfor n in sys.stdin.read().split():\n try: importlib.import_module(n)\n"
        " except ModuleNotFoundError as e:\n  print(n, e)\n"
        "for s, old, new in zip(spaces, before, functions()):\n"
        " for k, v in old.items():\n  if k in ('_lazy', '__getattr__') or k.startswith('__'): continue\n"
        "  if new.get(k) is not v: print(s.__name__, k, 'is another thing now')"
    )
    asked = "\n".join(n for n in names if not n.startswith(optional))
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], input=asked, text=True, capture_output=True)
    assert (done.stdout, done.returncode) == ("", 0), done.stderr


@pytest.mark.parametrize("name", sorted(NAMES))
def test_public_name_and_home_are_one_module(name):
    public, home = (__import__(f"rushlight.{path}{name}", fromlist=["_"]) for path in ("", "torch."))
    assert public is home
    value = rushlight
    for part in name.split("."):
        value = getattr(value, part)
    assert value is home
    assert home.__spec__.name == home.__name__ == f"rushlight.torch.{name}"


def test_pickle_with_an_older_path_loads():
    data = b"crushlight.futures\nFuture\n."
    assert pickle.loads(data) is rushlight.futures.Future
    assert pickle.loads(b"crushlight.operator_schema\nArgument\n.") is sys.modules["rushlight.torch._schema"].Argument


SPLIT = {  # files that are several now, and functions that pickles find in them
    "nn.functional.loss": ["huber_loss", "cross_entropy"],
    "ops.activation": ["relu", "threshold"],
    "ops.comparison": ["eq"],
    "ops.nn.activation": ["leaky_relu", "rrelu", "selu"],
    "ops.pointwise.comparison": ["clamp"],
    "ops.create": ["zeros"],
    "ops.shape.create": ["tensor"],
    "ops.shape.join": ["roll"],
    "ops.special": ["sigmoid"],
    "ops.special.special": ["sigmoid"],
    "ops.pointwise": ["add", "sub", "true_divide", "positive"],
    "ops.join": ["tile"],
}


@pytest.mark.parametrize(("path", "name"), [(path, name) for path, names in SPLIT.items() for name in names])
def test_pickle_finds_functions_of_a_file_that_was_split(path, name):
    function = getattr(rushlight.nn.functional if path.startswith("nn.") else rushlight.ops, name)
    assert pickle.loads(f"crushlight.{path}\n{name}\n.".encode()) is function


METHODS = {
    "ops.pointwise": ["add_", "div_", "sub_"],
    "ops.create": ["new", "new_full", "new_tensor"],
    "ops.join": ["repeat", "_flip_method", "_tile_method"],
}


@pytest.mark.parametrize(("path", "name"), [(path, name) for path, names in METHODS.items() for name in names])
def test_pickle_finds_methods_of_a_file_that_was_split(path, name):
    method = pickle.loads(f"crushlight.{path}\n{name}\n.".encode())
    new = getattr(rushlight.Tensor, name.removeprefix("_").removesuffix("_method"))
    argument = ([0],) if "flip" in name else (2,)
    here, there = rushlight.ones(2, dtype=rushlight.int64), rushlight.ones(2, dtype=rushlight.int64)
    if name == "new_full":
        argument = ((2,), 3)
    if name == "div_":
        here, there = here.double(), there.double()
    assert method(here, *argument).equal(new(there, *argument)) or name == "new"


@pytest.mark.parametrize("path", ["core.device", "core.device.device", "core.tensor.device", "core.device.devices"])
def test_pickle_of_a_device_loads_from_every_place_that_its_class_had(path):
    """In a process that has loaded one from another place before, as well."""
    for first in ("core.device", "core.device.device", "core.tensor.device"):
        assert pickle.loads(f"crushlight.{first}\ndevice\n(S'cpu'\ntR.".encode()) == rushlight.device("cpu")
    assert pickle.loads(f"crushlight.{path}\ndevice\n(S'cuda'\nI1\ntR.".encode()) == rushlight.device("cuda", 1)


def test_pickle_finds_the_function_complex_in_its_old_place():
    assert pickle.loads(b"crushlight.ops.create\ncomplex_\n.") is rushlight.complex


def test_moved_names_lead_to_modules_that_are_there():
    import importlib.util

    for old, new in _moved.MOVED.items():
        assert importlib.util.find_spec(f"rushlight.{new}") is not None, (old, new)
        assert _moved.new_name(f"rushlight.{old}.below") == f"rushlight.{new}.below"
    assert _moved.new_name("rushlight.nn.modules") == "rushlight.nn.modules"


def test_unknown_module_is_still_unknown():
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'rushlight.nothing'"):
        __import__("rushlight.nothing")
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'rushlight.cuda.nothing'"):
        __import__("rushlight.cuda.nothing")
