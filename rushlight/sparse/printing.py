"""The printed form of sparse tensors: indices, values, size, number of entries, layout."""

from __future__ import annotations

from typing import Any

from ..core.tensor.dtype import get_default_dtype
from ..core.tensor.printing import _contents, _options


def describe(t: Any) -> str:
    """torch's text for a sparse tensor."""
    parts = (
        {"indices": t._indices()} if t.is_sparse else dict(zip(t.indices_named, (t._starts, t._others), strict=True))
    )
    indent = len("tensor(")
    lines = [_part(name, part._array, indent) for name, part in {**parts, "values": t._entries}.items()]
    text = "tensor(" + (",\n" + " " * indent).join(lines)
    shown = _with_suffixes(text, list(_suffixes(t)), indent, forced=t.is_sparse)
    return f"Parameter containing:\n{shown}" if getattr(t, "_is_param", False) else shown


def _part(name: str, array: Any, indent: int) -> str:
    head = name + "=tensor("
    size = f", size={tuple(array.shape)}" if not array.size else ""
    return head + _contents(array, indent + len(head)) + size + ")"


def _suffixes(t: Any):
    yield f"size={tuple(t.shape)}"
    yield f"nnz={t._nnz()}"
    default = get_default_dtype().name
    known = (default, "complex128" if default == "float64" else "complex64", "int64", "bool")
    if t.dtype.name not in known:
        yield f"dtype={t.dtype!r}"
    yield f"layout={t.layout!r}"
    if t.grad_fn is not None:
        yield f"grad_fn=<{type(t.grad_fn).__name__}>"
    elif t.requires_grad:
        yield "requires_grad=True"


def _with_suffixes(text: str, suffixes: list[str], indent: int, forced: bool) -> str:
    parts = [text]
    length = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if forced or length + len(suffix) + 2 > _options.linewidth:
            parts.append(",\n" + " " * indent + suffix)
            length, forced = indent + len(suffix), False
        else:
            parts.append(", " + suffix)
            length += len(suffix) + 2
    return "".join(parts) + ")"
