"""Which call of a public function failed, read from the frames of a traceback: `topk(input [2, 3], k 4)`.

Nothing is kept while calls run: the frames are looked at when an error is shown. An argument that its function has bound
to something else since is left out, and so is a number or text that is its parameter's default.
"""

from __future__ import annotations

import builtins
import dis
import inspect
import re
import sys
from functools import cache
from types import CodeType, FrameType, TracebackType
from typing import Any

__all__ = ["failed_call"]

_INTERNAL = {"call", "f", "g", "method", "operator", "plain", "run", "wrapper", "__call__", "__getattr__"}
_OPERATORS = re.compile(
    r"[/\\](core|ops|backend)[/\\](?!linalg|signal|special)"
)  # where functions are public by being listed
_NAMES = {
    "_getitem": "indexing", "__getitem__": "indexing", "_setitem": "assignment by index",
    "__setitem__": "assignment by index", "_tensor_backward": "backward", "_operator": "matmul",
}  # fmt: skip
_MOST = 8  # frames to look at, and arguments to show


def failed_call(frames: list[TracebackType], with_types: bool = False) -> str:
    """The call that the first of Rushlight's frames belongs to, or the operator that it came to; "" where that is not clear.

    with_types: float32 is named as well.
    """
    outer, numbers = "", ""
    entry: FrameType | None = None  # an operator's entry point, which has no name of its own
    for traceback in frames[:_MOST]:
        frame = traceback.tb_frame
        if frame.f_code.co_filename.startswith("<rushlight entry"):
            entry = frame
        record: Any = frame.f_locals.get("record")
        if isinstance(getattr(record, "name", None), str):
            name = record.name.partition(".")[0].lstrip("_")
            values = {} if entry is None else _arguments(entry, as_given=False)
        else:
            name, values = _name_of(frame), _arguments(frame)
        shown = _shown(values, frame, name, with_types)
        if name and any(map(_has_shapes, values.values())):
            call = f"{name}({shown})"
            return call if outer in ("", name) else f"{outer}: {call}"
        if not outer:
            outer, numbers = name, shown
    return f"{outer}({numbers})" if outer else ""


def _shown(values: dict[str, Any], frame: FrameType, name: str, with_types: bool) -> str:
    given = [n for n, v in values.items() if _has_shapes(v) or _is_short(v)]
    if not all(_has_shapes(values[n]) for n in given):
        defaults = _defaults(frame, name, set(given))
        given = [n for n in given if _has_shapes(values[n]) or n not in defaults or values[n] != defaults[n]]
    return ", ".join(f"{n} {_described(values[n], with_types)}" for n in given[:_MOST])


def _defaults(frame: FrameType, name: str, given: set[str]) -> dict[str, Any]:
    """The defaults of the function that a frame runs, as its module, its class or the package has it under its name."""
    package = sys.modules[__name__.partition(".")[0]]
    owner = type(frame.f_locals.get("self"))
    for found in (
        getattr(owner, frame.f_code.co_name, None),
        frame.f_globals.get(frame.f_code.co_name),
        getattr(package, name, None),
    ):
        try:
            parameters = inspect.signature(found).parameters  # type: ignore[arg-type]
        except (TypeError, ValueError):
            continue
        if given <= parameters.keys():
            return {n: p.default for n, p in parameters.items() if p.default is not p.empty}
    return {}


def _name_of(frame: FrameType) -> str:
    """The function's name, the class's for a constructor; "" for a wrapper or a function that is not public."""
    name = frame.f_code.co_name
    if name in ("__init__", "__new__"):
        first = frame.f_locals.get("self", frame.f_locals.get("cls"))
        return (first if isinstance(first, type) else type(first)).__name__
    if name in _NAMES:
        return _NAMES[name]
    is_pythons = vars(builtins).get(name[:-1]) is not None or not _is_listed(name, frame.f_code.co_filename)
    if name.endswith("_") and is_pythons and not _is_method(name):
        name = name[:-1]  # of functions that are named as one of Python's
    if (
        name in _INTERNAL
        or not _is_listed(name, frame.f_code.co_filename)
        or (name.startswith("_") and not name.endswith("__"))
        or name.startswith("<")
    ):
        return ""
    return name.strip("_") if name.startswith("__") else name


def _is_listed(name: str, file: str) -> bool:
    """Whether a function of the operators' folders is one of the package's, or a tensor's method; True elsewhere."""
    package = __name__.partition(".")[0]
    if not _OPERATORS.search(file[file.rfind(package) :]) or name.startswith("__"):
        return True
    return callable(vars(sys.modules[package]).get(name)) or _is_method(name)


def _is_method(name: str) -> bool:
    package = __name__.partition(".")[0]
    return callable(vars(sys.modules[package + ".core.tensor.tensor"].Tensor).get(name))


def _arguments(frame: FrameType, as_given: bool = True) -> dict[str, Any]:
    code = frame.f_code
    has_star = bool(code.co_flags & inspect.CO_VARARGS)
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + has_star]
    changed = _bound_again(code) if as_given and code.co_name not in _NAMES else ()
    return {
        n: frame.f_locals[n] for n in names if n in frame.f_locals and n not in changed and n != "args"
    }  # a wrapper's


@cache
def _bound_again(code: CodeType) -> frozenset[str]:
    stores = (i.argval for i in dis.get_instructions(code) if i.opname.startswith(("STORE_FAST", "DELETE_FAST")))
    return frozenset(n for value in stores for n in (value if isinstance(value, tuple) else (value,)))


def _has_shapes(value: Any) -> bool:
    """Whether a value is a tensor, or a list of such."""
    if isinstance(value, (tuple, list)):
        return bool(value) and all(map(_is_tensor, value))
    return _is_tensor(value)


def _is_short(value: Any) -> bool:
    """Whether a value is a number, a short text, or some whole numbers."""
    if isinstance(value, (tuple, list)):
        return 0 < len(value) <= _MOST and all(type(v) is int for v in value)
    return type(value) in (int, float) or type(value) is str and len(value) <= 2 * _MOST


def _is_tensor(value: Any) -> bool:
    kind = type(value)  # stand-ins for absent names raise when they are asked for attributes
    return hasattr(kind, "_array") and hasattr(kind, "requires_grad")


def _described(value: Any, with_types: bool) -> str:
    if _is_short(value):
        return repr(value)
    if isinstance(value, (tuple, list)):
        return f"[{', '.join(_described(v, with_types) for v in value[:4])}{', ...' if len(value) > 4 else ''}]"
    kind = str(value.dtype).removeprefix("torch.")
    return f"{list(value.shape)}" + ("" if kind == "float32" and not with_types else f" {kind}")
