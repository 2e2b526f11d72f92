"""torch's names that raise: each is found, raises what it raised before there was a table, and is made when looked up."""

import importlib
import importlib.util
import inspect
import json
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import rushlight
from rushlight.torch import _lazy
from rushlight.torch._parameters import PARAMETERS
from rushlight.torch.unavailable import ROWS, exported, names_of

# {name: [kind, error, message]} of commit b52be04, where 13 factories made them; four messages are reworded since
RECORDED = json.loads((Path(__file__).parent.parent / "golden" / "unavailable.json").read_text())
NOT_RECORDED = {path for path, row in ROWS.items() if row.kind in ("module", "namespace")}


def _find(path: str):
    """The object that `rushlight.<path>` is, importing modules on the way."""
    value, module = rushlight, "rushlight"
    for name in path.split("."):
        module += f".{name}"
        if hasattr(value, "__path__") and importlib.util.find_spec(module):
            importlib.import_module(module)
        value = getattr(value, name)
    return value


def _arguments(function):
    """Positional and keyword arguments that a call must have, and more of each kind where it takes any."""
    args, kwargs = [], {}
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is parameter.VAR_POSITIONAL:
            args += [1, 2]
        elif parameter.kind is parameter.VAR_KEYWORD:
            kwargs["name_"] = 3
        elif parameter.default is parameter.empty:
            if parameter.kind is parameter.KEYWORD_ONLY:
                kwargs[name] = 1
            else:
                args.append(1)
    return args, kwargs


def test_no_name_is_lost():
    assert set(ROWS) - NOT_RECORDED == set(RECORDED)


@pytest.mark.parametrize("path", sorted(RECORDED))
def test_raises_as_before(path):
    kind, error, message = RECORDED[path]
    value = _find(path)
    value = value.fget if isinstance(value, property) else value
    assert (kind == "class") == isinstance(value, type) == (ROWS[path].kind == "class")
    args, kwargs = _arguments(value)
    with pytest.raises(Exception) as raised:
        value(*args, **kwargs)
    assert (type(raised.value).__name__, str(raised.value)) == (error, message)
    assert error in value.__doc__ and value.__doc__ == value.__doc__.strip()
    assert value.__name__ == path.rpartition(".")[2]


@pytest.mark.parametrize("path", sorted(PARAMETERS))
def test_has_torchs_parameters(path):
    value = _find(path)
    assert str(inspect.signature(value)) == PARAMETERS[path]
    args, kwargs = _arguments(value)
    if args and "*args" not in PARAMETERS[path]:
        with pytest.raises(TypeError, match=r"missing .* required positional argument"):
            value()
    if "**" not in PARAMETERS[path]:
        with pytest.raises(TypeError, match="unexpected keyword argument 'unheard_of'"):
            value(*args, unheard_of=1, **kwargs)


def test_subclasses_have_parameters_of_their_own():
    class Marked(rushlight.cuda.Event):
        def __init__(self, name, *, colour): ...

    assert str(inspect.signature(Marked)) == "(name, *, colour)"
    with pytest.raises(RuntimeError, match="requires CUDA support"):
        Marked("start", colour="red")


@pytest.mark.parametrize("path", sorted(p for p, row in ROWS.items() if row.kind in ("function", "class")))
def test_is_one_object_that_can_be_pickled(path):
    value = _find(path)
    assert value is _find(path)
    if "profiler." not in path:  # below a namespace, which is no module
        assert pickle.loads(pickle.dumps(value)) is value
    if isinstance(value, type):
        with pytest.raises(ROWS[path].reason.error):
            type("Derived", (value,), {})()
        assert not isinstance(1, value)


@pytest.mark.parametrize("module", sorted({p.rpartition(".")[0] for p, row in ROWS.items() if row.kind in ("function", "class")} - {"", "cuda.profiler", "mps.profiler"}))  # fmt: skip
def test_modules_list_their_names(module):
    found = importlib.import_module(f"rushlight.{module}")
    assert set(names_of(module)) <= set(dir(found))
    assert set(exported(module)) <= set(getattr(found, "__all__", exported(module)))
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = found.nothing


@pytest.mark.parametrize("path", sorted(p for p, row in ROWS.items() if row.kind == "module"))
def test_modules_of_nothing_else(path):
    module = importlib.import_module(f"rushlight.{path}")
    assert sorted(module.__all__) == sorted(exported(path))
    assert module.__doc__ == ROWS[path].doc()
    assert importlib.util.find_spec(f"rushlight.{path}") is not None


def test_names_of_the_package_and_methods_are_those_of_the_table():
    assert {n for n, home in _lazy.NAMES.items() if home == "torch._stand_ins"} == set(names_of(""))
    assert set(_lazy.METHODS["torch._stand_ins"].split()) == set(names_of("Tensor"))


def test_the_table_loads_at_the_first_use():
    code = (
        "import sys, rushlight\nassert 'rushlight.torch.unavailable' not in sys.modules\n"
        "x = rushlight.ones(1)\ntry: x.eig()\nexcept RuntimeError as e: assert 'torch.linalg.eig' in str(e)\n"
        "assert 'rushlight.torch.unavailable' in sys.modules\n"
        "from rushlight.distributed.tensor import parallel\nfrom rushlight.func import *\nrearrange\n"
        "from rushlight.distributed import *\nassert breakpoint is __builtins__.breakpoint"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
