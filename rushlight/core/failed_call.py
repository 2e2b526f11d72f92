"""Which call of a public function failed, read from the frames of a traceback: `mv(input [2, 3], vec [2])`.

Nothing is kept while calls run: the frames are looked at when an error is shown. An argument that its function has bound
to something else since is left out.
"""

from __future__ import annotations

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


def failed_call(frames: list[TracebackType]) -> str:
    """The call that the first of Rushlight's frames belongs to, or the operator that it came to; "" where that is not clear."""
    outer = ""
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
        shown = [f"{n} {_described(v)}" for n, v in values.items() if _has_shapes(v)][:_MOST]
        if name and shown:
            call = f"{name}({', '.join(shown)})"
            return call if outer in ("", name) else f"{outer}: {call}"
        outer = outer or name
    return f"{outer}()" if outer else ""


def _name_of(frame: FrameType) -> str:
    """The function's name, the class's for a constructor; "" for a wrapper or a function that is not public."""
    name = frame.f_code.co_name
    if name in ("__init__", "__new__"):
        first = frame.f_locals.get("self", frame.f_locals.get("cls"))
        return (first if isinstance(first, type) else type(first)).__name__
    if name in _NAMES:
        return _NAMES[name]
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
    return any(
        callable(vars(place).get(name))
        for place in (sys.modules[package], sys.modules[package + ".core.tensor.tensor"].Tensor)
    )


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


def _is_tensor(value: Any) -> bool:
    kind = type(value)  # stand-ins for absent names raise when they are asked for attributes
    return hasattr(kind, "_array") and hasattr(kind, "requires_grad")


def _described(value: Any) -> str:
    if isinstance(value, (tuple, list)):
        return f"[{', '.join(map(_described, value[:4]))}{', ...' if len(value) > 4 else ''}]"
    kind = str(value.dtype).removeprefix("torch.")
    return f"{list(value.shape)}" + ("" if kind == "float32" else f" {kind}")
