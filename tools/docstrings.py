"""What the public docstrings say: which functions and classes are public, and whether a docstring gives shapes, errors, an example.

The markup is that of STYLE: `Args:` (a line for each parameter), `Shape:` (arguments `->` result), `Raises:` (a line for
each error, with a call that raises it: "RuntimeError: the shapes do not broadcast, as in `add(ones(2), ones(3))`"), and
`>>>` with what is printed. `tests/docs/test_docstrings.py` runs each example and each call that is said to raise.
"""

from __future__ import annotations

import builtins
import importlib
import inspect
import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

# namespaces of functions that take or give tensors; of `rushlight` itself the operators
FUNCTIONS = (
    "rushlight.linalg", "rushlight.fft", "rushlight.special", "rushlight.nn.functional", "rushlight.nn.init",
    "rushlight.nn.utils", "rushlight.nn.utils.rnn", "rushlight.func", "rushlight.autograd", "rushlight.autograd.functional",
    "rushlight.signal.windows", "rushlight_vision.ops", "rushlight_vision.transforms.functional",
)  # fmt: skip
CLASSES = (
    "rushlight.nn",
    "rushlight.optim",
    "rushlight.distributions",
    "rushlight_vision.ops",
    "rushlight_vision.transforms",
)
_NOT_ABOUT_TENSORS = {
    "nn.init.calculate_gain", "autograd.is_multithreading_enabled", "autograd.is_view_replay_enabled",
    "func.functionalize", "func.rearrange",
}  # fmt: skip
_MODULES = ("autograd", "distributions", "fft", "func", "linalg", "nn", "optim", "special")  # at hand in examples

_SHAPE = re.compile(r"Shapes?: [^>]*\([^>]*->.*(\(|bool|int|float|the same)|Shapes?: ->.*\(", re.DOTALL)
_RAISES = re.compile(r"^(?P<indent> *)Raises:\n(?P<lines>(?:(?P=indent) +\S.*\n?)+)", re.MULTILINE)
_ERROR = re.compile(r"(\w+(?:\.\w+)*): (.+?), as in `(.+?)`")
_ARGS = re.compile(r"^(?P<indent> *)Args:\n(?P<lines>(?:(?P=indent) +\S.*\n?)+)", re.MULTILINE)


class Public(NamedTuple):
    """A public function or class: the first of its names, and what it is."""

    name: str
    value: Any

    @property
    def doc(self) -> str:
        """Its docstring, without indentation."""
        return inspect.getdoc(self.value) or ""

    def names(self) -> dict[str, Any]:
        """What its examples may use: torch's names, those of its module, and itself."""
        record = getattr(self.value, "record", None)
        module = inspect.getmodule(getattr(record, "reference", None) or self.value)
        own = {self.name.rpartition(".")[2]: self.value}
        return {**vars(module or builtins), **torch_names(), **own}


@cache
def torch_names() -> dict[str, Any]:
    """The names of `rushlight` that hide no builtin function."""
    import rushlight

    for module in _MODULES:
        importlib.import_module(f"rushlight.{module}")
    return {name: value for name, value in vars(rushlight).items() if not hasattr(builtins, name)}


def _of_module(name: str, kind: str) -> Iterator[tuple[str, Any]]:
    """(name, function or class) of what torch's or torchvision's module has and this package's has too."""
    from rushlight.alias.torch_names import of_module

    module = importlib.import_module(name)
    torchs = name.replace("rushlight_vision", "torchvision").replace("rushlight", "torch")
    prefix = name.replace("rushlight_vision", "vision").removeprefix("rushlight").removeprefix(".")
    for n, known in of_module(torchs).items():
        if known.kind == kind and not n.startswith("_") and hasattr(module, n):
            yield (f"{prefix}.{n}" if prefix else n), getattr(module, n)


def _named() -> Iterator[tuple[str, Any]]:
    from rushlight.ops import OPS

    yield from (
        (n, f) for n, f in _of_module("rushlight", "f") if n in OPS or f.__module__.startswith("rushlight.ops.")
    )
    for name in FUNCTIONS:
        yield from (pair for pair in _of_module(name, "f") if pair[0] not in _NOT_ABOUT_TENSORS)


@cache
def functions() -> tuple[Public, ...]:
    """The public functions that take or give tensors, each once."""
    found: dict[int, Public] = {}
    for name, f in _named():
        if callable(f) and not isinstance(f, type):
            found.setdefault(id(f), Public(name, f))
    return tuple(found.values())


@cache
def classes() -> tuple[Public, ...]:
    """The public layers, optimizers, distributions and transforms, each once."""
    found: dict[int, Public] = {}
    for name in CLASSES:
        for n, value in _of_module(name, "c"):
            if isinstance(value, type):
                found.setdefault(id(value), Public(n, value))
    return tuple(found.values())


def own_doc(public: Public) -> str:
    """The docstring that is not a base class's."""
    return public.doc if not isinstance(public.value, type) or public.value.__doc__ else ""


def has_shapes(doc: str) -> bool:
    """Whether it gives the shapes of arguments and result."""
    return bool(_SHAPE.search(doc))


def errors(doc: str) -> list[tuple[str, str]]:
    """(name of the error, a call that raises it) of each line below `Raises:`."""
    found = _RAISES.search(doc)
    return [(name, call) for name, _, call in _ERROR.findall(_one_line(found["lines"]))] if found else []


def has_errors(doc: str) -> bool:
    """Whether it names errors with calls that raise them."""
    return bool(errors(doc))


def has_example(doc: str) -> bool:
    """Whether it has an example."""
    return ">>> " in doc


def arguments(doc: str) -> list[str]:
    """The names of the parameters that it describes."""
    found = _ARGS.search(doc)
    if not found:
        return []
    lines = found["lines"].splitlines()
    indent = min(len(line) - len(line.lstrip()) for line in lines)
    heads = [line.strip().partition(":")[0] for line in lines if len(line) - len(line.lstrip()) == indent]
    return [name.strip().lstrip("*") for head in heads for name in head.split(",")]


def _one_line(text: str) -> str:
    return re.sub(r"\s+", " ", text)


def share(publics: tuple[Public, ...], what: Callable[[str], bool]) -> float:
    """The share of docstrings that say it, in percent."""
    return round(100 * sum(1 for p in publics if what(own_doc(p))) / len(publics), 1)
