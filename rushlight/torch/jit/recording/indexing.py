"""`x[...]` as torch records it: select, slice, unsqueeze and index, and what writes through them."""

from __future__ import annotations

from typing import Any

from ....core.tensor.dtype import int64
from ....core.tensor.tensor import Tensor
from ....ops.creation.from_data import tensor
from ..ir.literals import number_tensor

__all__ = ["get", "put"]

_END = 9223372036854775807


class _Skip:
    """An ellipsis: so many dimensions as they are."""

    def __init__(self, count: int):
        self.count = count


def get(tracer: Any, t: Tensor, index: Any) -> Any:
    """t[index]; NotImplemented where it holds something that no program can name."""
    parts = _parts(tracer, t, index)
    if parts is None:
        return NotImplemented
    view, tensors = _view(tracer, t, parts)
    if tensors:
        return tracer.operator("index", view, tensors, overload="Tensor")
    return tracer.operator("alias", view) if view is t else view


def put(tracer: Any, t: Tensor, index: Any, value: Any) -> Any:
    """t[index] = value."""
    parts = _parts(tracer, t, index)
    if parts is None:
        return NotImplemented
    view, tensors = _view(tracer, t, parts)
    if not isinstance(value, Tensor):
        with tracer.off():
            value = tracer.build.made(number_tensor(value).to(t.dtype))
    if tensors:
        tracer.operator("index_put_", view, tensors, value, False)
    elif not value._array.ndim and not tracer.build.computed(value):
        tracer.operator("fill_", view, value, overload="Tensor")
    else:
        while value._array.ndim > view._array.ndim and value._array.shape[0] == 1:
            value = tracer.operator("select", value, 0, 0, overload="int")
        tracer.operator("copy_", view, value, False)
    return None


def _parts(tracer: Any, t: Tensor, index: Any) -> list[Any] | None:
    """The parts of an index, with a `_Skip` for an ellipsis; None where a part is none of those that programs
    have.
    """
    parts = list(index) if isinstance(index, tuple) else [index]
    parts = [_of_numbers(tracer, p) if isinstance(p, list) and not _holds_tensors(p) else p for p in parts]
    if not all(_is_known(p) for p in parts):
        return None
    rest = t._array.ndim - sum(map(_dims, parts))
    return [_Skip(rest) if p is Ellipsis else p for p in parts]


def _of_numbers(tracer: Any, values: list[Any]) -> Tensor:
    """A list of numbers as a tensor."""
    with tracer.off():
        found = tracer.build.made(tensor(values))
    return tracer.operator("to", found, found.device, found.dtype, False, False, None, overload="device")


def _holds_tensors(values: Any) -> bool:
    return any(isinstance(v, Tensor) or isinstance(v, list) and _holds_tensors(v) for v in values)


def _is_known(part: Any) -> bool:
    return part is None or part is Ellipsis or isinstance(part, (bool, slice, Tensor)) or _is_number(part)


def _is_number(part: Any) -> bool:
    if isinstance(part, Tensor):
        return not part._array.ndim and part._array.dtype.kind in "iu"
    return not isinstance(part, (bool, slice)) and hasattr(part, "__index__")


def _dims(part: Any) -> int:
    """How many dimensions a part of an index is for."""
    if part is None or part is Ellipsis or isinstance(part, bool):
        return 0
    return part._array.ndim if isinstance(part, Tensor) and part._array.dtype.kind == "b" else 1


def _view(tracer: Any, t: Tensor, parts: list[Any]) -> tuple[Tensor, list[Tensor | None]]:
    """What the numbers, slices and None of an index show, and the tensors for `aten::index`, None where there is
    none.
    """
    dim, entries = 0, []
    for part in parts:
        if isinstance(part, _Skip):
            entries += [None] * part.count
            dim += part.count
        elif isinstance(part, Tensor) and not _is_number(part):
            entries.append(part)
            dim += _dims(part)
        elif isinstance(part, bool):
            with tracer.off():
                entries.append(tracer.build.made(tensor([0] if part else [], dtype=int64)))
            t, dim = tracer.operator("unsqueeze", t, dim), dim + 1
        elif _is_number(part):
            t = tracer.operator("select", t, dim, part, overload="int")
        else:
            t = tracer.operator("unsqueeze", t, dim) if part is None else _sliced(tracer, t, dim, part)
            entries.append(None)
            dim += 1
    return t, entries if any(e is not None for e in entries) else []


def _sliced(tracer: Any, t: Tensor, dim: int, part: Any) -> Tensor:
    start = 0 if part.start is None else part.start
    stop = _END if part.stop is None else part.stop
    return tracer.operator("slice", t, dim, start, stop, 1 if part.step is None else part.step, overload="Tensor")
