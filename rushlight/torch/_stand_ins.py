"""Stand-ins for the names of `unavailable.py`: made when a name is first looked up, the same object each time.

A module in `torch/` has them by `if not TYPE_CHECKING:  # else every name would be one of the module's
    __getattr__, __dir__ = lookup(__name__)`. A module of a layer below, which may not import
this one, gets them as it is loaded, by `find_spec`; so do modules of nothing but stand-ins, which have no file.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any, NoReturn

from ..backend import gpus
from ..core.dispatch.op import composite
from ._parameters import PARAMETERS
from .unavailable import ROWS, Row, exported, names_of

if TYPE_CHECKING:
    from inspect import Signature

__all__ = ["find_spec", "lookup", "stand_in"]

_ROOT = __name__.partition(".")[0]
_made: dict[str, Any] = {}


def stand_in(path: str) -> Any:
    """The object for a row of the table."""
    if path not in _made:
        row = ROWS[path]
        _made.setdefault(path, _MAKERS[row.kind](row))
    return _made[path]


def _error(row: Row) -> Exception:
    """What using a name raises; with a GPU to use, not that there is none."""
    if row.path.startswith("cuda.") and gpus.count():
        return NotImplementedError(f"torch.{row.path} is not implemented, though there is a GPU to use")
    return row.error()


def _function(row: Row) -> Callable[..., NoReturn]:
    """Takes torch's parameters, so that Python itself refuses other arguments, with torch's TypeError."""
    scope: dict[str, Any] = {"row": row, "error": _error}
    exec(f"def unavailable{PARAMETERS.get(row.path, '(*args, **kwargs)')}: raise error(row)", scope)
    unavailable = scope["unavailable"]
    module, _, name = f"{_ROOT}.{row.path}".rpartition(".")
    unavailable.__module__, unavailable.__name__, unavailable.__qualname__ = module, name, name
    unavailable.__doc__ = row.doc()
    return unavailable


def _method(row: Row) -> Callable[..., NoReturn]:
    method = _function(row)
    module, _, owner = method.__module__.rpartition(".")
    method.__module__, method.__qualname__ = module, f"{owner}.{method.__name__}"
    return method


def _class(row: Row) -> type:
    call = _function(row)

    def __new__(cls: type, *args: Any, **kwargs: Any) -> NoReturn:
        if cls is made:  # a subclass may have parameters of its own
            call(*args, **kwargs)
        raise _error(row)

    module, _, name = f"{_ROOT}.{row.path}".rpartition(".")
    methods = {below: staticmethod(stand_in(f"{row.path}.{below}")) for below in names_of(row.path)}
    own = {"__new__": __new__, "__signature__": _Signature(call), "__module__": module, "__doc__": row.doc()}
    made = type(name, (), {**own, **methods})
    return made


class _Signature:
    """The attribute `__signature__` of a stand-in for a class: what the call takes, made when `inspect` asks for it."""

    __slots__ = ("_call",)

    def __init__(self, call: Callable[..., NoReturn]):
        self._call = call

    def __get__(self, instance: object, owner: type) -> Signature:
        if vars(owner).get("__signature__") is not self:  # a subclass has its own
            raise AttributeError("__signature__")
        from inspect import signature

        return signature(self._call)


def _namespace(row: Row) -> SimpleNamespace:
    return SimpleNamespace(**{name: stand_in(f"{row.path}.{name}") for name in names_of(row.path)})


_MAKERS: dict[str, Callable[[Row], Any]] = {
    "function": _function, "method": _method, "class": _class, "namespace": _namespace,
}  # fmt: skip


# ---------------------------------------------------------------------------------------------- modules that have them


def lookup(module: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a module: the names of the table besides its own."""
    path = _path_of(module)
    space = vars(sys.modules[module])
    names = names_of(path)
    before = space.get("__getattr__")

    def __getattr__(name: str) -> Any:
        if name in names:
            made = space[name] = stand_in(f"{path}.{name}".lstrip("."))
            return made
        if before is not None:
            return before(name)
        raise AttributeError(f"module {module!r} has no attribute {name!r}", name=name, obj=sys.modules[module])

    return __getattr__, lambda: sorted({*space, *names})


def _path_of(module: str) -> str:
    """The dotted name below the package: of `rushlight.torch.cuda` it is "cuda", of this module ""."""
    return "" if module == __name__ else module.removeprefix(f"{_ROOT}.").removeprefix("torch.")


_MODULES = frozenset(row.path for row in ROWS.values() if row.kind == "module")
_WITH_NAMES = frozenset(path.rpartition(".")[0] for path in ROWS)


def find_spec(name: str, path: Sequence[str] | None) -> ModuleSpec | None:
    """The spec of a module below `torch/` that has names in the table; None for any other."""
    below = name.removeprefix(f"{_ROOT}.")
    if below in _MODULES:
        return ModuleSpec(name, _Loader())  # type: ignore[arg-type]
    spec = PathFinder.find_spec(name, path) if below in _WITH_NAMES else None
    if spec is not None and spec.loader is not None:
        run = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            run(module)
            _attach(module)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
    return spec


def _attach(module: ModuleType) -> None:
    names = exported(_path_of(module.__name__))
    module.__all__ = sorted({*vars(module).get("__all__", ()), *names})  # type: ignore[attr-defined]
    module.__getattr__, module.__dir__ = lookup(module.__name__)  # type: ignore[method-assign,assignment]


class _Loader:
    """Makes a module of nothing but stand-ins."""

    def create_module(self, spec: ModuleSpec) -> None:
        """The import system makes the module."""

    def exec_module(self, module: ModuleType) -> None:
        """Fill the module."""
        module.__doc__ = ROWS[_path_of(module.__name__)].doc()
        _attach(module)


# the methods take the places of those that loaded this module (`_lazy.METHODS`)
for _name in names_of("Tensor"):
    composite(name=_name, method=True, function=False)(stand_in(f"Tensor.{_name}"))

if not TYPE_CHECKING:  # else every name would be one of the module's
    __getattr__, __dir__ = lookup(__name__)
