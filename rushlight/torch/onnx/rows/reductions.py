"""Sums, means, extremes, softmax, and what orders elements."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ....core.tensor import dtype as dtypes
from ....core.tensor.tensor import Tensor
from ..graph import Builder, CannotExport, Item, plain

__all__ = ["ROWS"]


def _dims(dim: Item | None) -> list[int] | None:
    value = None if dim is None else plain(dim)
    if value is None or (isinstance(value, (list, tuple)) and not value):
        return None
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _reduced(g: Builder, kind: str, name: str, dims: list[int] | None, keep: bool) -> str:
    inputs = [name] if dims is None else [name, g.constant(dims)]
    return g.emit(kind, *inputs, keepdims=int(keep))


def reduction(kind: str) -> Callable:
    """A row of `f(input, dim, keepdim, *, dtype)` and of `f(input, *, dtype)`."""

    def row(g: Builder, out: Tensor, x: Item, *rest: Item) -> str:
        if len(rest) > 1:
            return _reduced(g, kind, g.name(x, out.dtype), _dims(rest[0]), plain(rest[1]))
        return _reduced(g, kind, g.name(x, out.dtype), None, False)

    return row


def extreme(kind: str, arg: str) -> Callable:
    """A row of `max` and `min`: of all elements, of two tensors, or along a dimension, with the places."""

    def row(g: Builder, out: Any, x: Item, *rest: Item) -> Any:
        if isinstance(out, Tensor):
            if rest:
                return g.emit(kind, g.name(x, out.dtype), g.name(rest[0], out.dtype))
            return _reduced(g, f"Reduce{kind}", g.name(x), None, False)
        dim, keep = plain(rest[0]), plain(rest[1])
        places = g.emit(arg, g.name(x), axis=dim, keepdims=int(keep))
        return [_reduced(g, f"Reduce{kind}", g.name(x), [dim], keep), places]

    return row


def amount(kind: str) -> Callable:
    """A row of `amax` and `amin`."""
    return lambda g, out, x, dim, keep: _reduced(g, kind, g.name(x), _dims(dim), plain(keep))


def place(kind: str) -> Callable:
    """A row of `argmax` and `argmin`."""

    def row(g: Builder, out: Tensor, x: Item, dim: Item, keep: Item) -> str:
        if plain(dim) is None:
            flat = g.emit("Reshape", g.name(x), g.constant([-1]))
            return g.emit(kind, flat, axis=0, keepdims=0)
        return g.emit(kind, g.name(x), axis=plain(dim), keepdims=int(plain(keep)))

    return row


def softmax(kind: str) -> Callable:
    """A row of `softmax` and `log_softmax`."""
    return lambda g, out, x, dim, dtype=None: g.emit(kind, g.name(x, out.dtype), axis=plain(dim))


def any_all(g: Builder, kind: str, x: Item, rest: tuple) -> str:
    name = g.cast(g.name(x, dtypes.bool_), dtypes.int32)
    dims, keep = (_dims(rest[0]), plain(rest[1])) if rest else (None, False)
    return g.cast(_reduced(g, kind, name, dims, keep), dtypes.bool_)


def any_(g: Builder, out: Tensor, x: Item, *rest: Item) -> str:
    return any_all(g, "ReduceMax", x, rest)


def all_(g: Builder, out: Tensor, x: Item, *rest: Item) -> str:
    return any_all(g, "ReduceMin", x, rest)


def var(g: Builder, out: Tensor, x: Item, *rest: Item) -> str:
    values = [plain(item) for item in rest]
    if len(values) == 1:  # unbiased
        dims, correction, keep = None, float(values[0]), False
    else:
        dims, correction, keep = _dims(rest[0]), values[1], values[2]
        correction = 1.0 if correction is None else float(correction)
    name = g.name(x, out.dtype)
    centred = g.emit("Sub", name, _reduced(g, "ReduceMean", name, dims, True))
    total = _reduced(g, "ReduceSum", g.emit("Mul", centred, centred), dims, keep)
    return g.emit("Div", total, _degrees_of_freedom(g, x, dims, correction, out.dtype))


def _degrees_of_freedom(g: Builder, x: Item, dims: list[int] | None, correction: float, kind: dtypes.dtype) -> str:
    """How many elements a variance is taken of, less the correction, and at least 0."""
    over = range(x.value.ndim) if dims is None else dims
    if all(x.fixes(dim) for dim in over):
        count = math.prod(x.value.shape[dim] for dim in over)
        return g.constant(max(float(count - correction), 0.0), kind)
    sizes = [g.size_of(x, dim) for dim in over]
    count = g.emit("ReduceProd", sizes[0] if len(sizes) == 1 else g.emit("Concat", *sizes, axis=0), keepdims=0)
    return g.emit("Max", g.emit("Sub", g.cast(count, kind), g.constant(correction, kind)), g.constant(0.0, kind))


def with_mean(row: Callable) -> Callable:
    """A row of `var_mean` and `std_mean`."""

    def both(g: Builder, out: Any, x: Item, *rest: Item) -> list[str]:
        dims, keep = (None, False) if len(rest) == 1 else (_dims(rest[0]), plain(rest[2]))
        return [row(g, out[0], x, *rest), _reduced(g, "ReduceMean", g.name(x, out[0].dtype), dims, keep)]

    return both


def std(g: Builder, out: Tensor, x: Item, *rest: Item) -> str:
    return g.emit("Sqrt", var(g, out, x, *rest))


def norm(g: Builder, out: Tensor, x: Item, p: Item, *rest: Item) -> str:
    order = 2 if plain(p) is None else plain(p)
    dims, keep = (_dims(rest[0]), plain(rest[1])) if rest else (None, False)
    if isinstance(order, str):
        raise CannotExport(f"a norm of order {order!r}")
    name = g.name(x, out.dtype)
    if order in (1, 2):
        return _reduced(g, f"ReduceL{int(order)}", name, dims, keep)
    size = g.emit("Abs", name)
    if order in (math.inf, -math.inf):
        return _reduced(g, "ReduceMax" if order > 0 else "ReduceMin", size, dims, keep)
    if order == 0:
        return _reduced(g, "ReduceSum", g.emit("Sign", size), dims, keep)
    total = _reduced(g, "ReduceSum", g.emit("Pow", size, g.constant(float(order), out.dtype)), dims, keep)
    return g.emit("Pow", total, g.constant(1 / float(order), out.dtype))


def linalg_norm(g: Builder, out: Tensor, x: Item, order: Item, dim: Item, keep: Item, dtype: Item | None = None) -> str:
    """`linalg.norm` and `linalg.matrix_norm`."""
    p, dims = plain(order), _dims(dim)
    if p in (None, "fro"):
        return _reduced(g, "ReduceL2", g.name(x, out.dtype), dims, plain(keep))
    over = dims or list(range(x.value.ndim))
    if len(over) == 1:
        return norm(g, out, x, order, dim, keep)
    if p not in (1, -1, math.inf, -math.inf):
        raise CannotExport(f"a norm of singular values, order {p!r}")
    first, second = over if abs(p) == 1 else reversed(over)
    sums = _reduced(g, "ReduceL1", g.name(x, out.dtype), [first], True)
    largest = _reduced(g, "ReduceMax" if p > 0 else "ReduceMin", sums, [second], True)
    return largest if plain(keep) else g.emit("Squeeze", largest, g.constant(over))


def determinant(g: Builder, out: Tensor, x: Item) -> str:
    return g.emit("Det", g.name(x))


def log_determinant(g: Builder, out: Tensor, x: Item) -> str:
    return g.emit("Log", g.emit("Det", g.name(x)))


def sign_and_log_determinant(g: Builder, out: Any, x: Item) -> list[str]:
    value = g.emit("Det", g.name(x))
    return [g.emit("Sign", value), g.emit("Log", g.emit("Abs", value))]


def cumsum(g: Builder, out: Tensor, x: Item, dim: Item, dtype: Item | None = None) -> str:
    return g.emit("CumSum", g.name(x, out.dtype), g.constant(plain(dim)))


def topk(g: Builder, out: Any, x: Item, k: Item, dim: Item, largest: Item, ordered: Item) -> list[str]:
    options = {"axis": plain(dim), "largest": int(plain(largest)), "sorted": int(plain(ordered))}
    return g.several("TopK", [g.name(x), g.vector(k)], 2, **options)


def sort(g: Builder, out: Any, x: Item, *rest: Item) -> list[str]:
    dim, descending = [plain(item) for item in rest[-2:]]
    size = g.size_of(x, dim)
    return g.several("TopK", [g.name(x), size], 2, axis=dim, largest=int(descending), sorted=1)


def kth_value(g: Builder, out: Any, x: Item, k: Item, dim: Item, keep: Item) -> list[str]:
    return _last_of(g, x, g.vector(k), plain(dim), plain(keep))


def median(g: Builder, out: Any, x: Item, dim: Item | None = None, keep: Item | None = None) -> Any:
    if dim is None or keep is None:
        flat = Item(x.value.flatten(), g.emit("Reshape", g.name(x), g.constant([-1])))
        return _last_of(g, flat, _middle(g, g.emit("Reshape", g.emit("Size", g.name(x)), g.constant([1]))), 0, False)[0]
    return _last_of(g, x, _middle(g, g.size_of(x, plain(dim))), plain(dim), plain(keep))


def _middle(g: Builder, size: str) -> str:
    return g.emit("Div", g.emit("Add", size, g.constant([1])), g.constant([2]))


def _last_of(g: Builder, x: Item, count: str, dim: int, keep: bool) -> list[str]:
    """The last of the `count` smallest elements, and its place."""
    parts = g.several("TopK", [g.name(x), count], 2, axis=dim, largest=0, sorted=1)
    last = g.constant([-1] if keep else -1)
    return [g.emit("Gather", part, last, axis=dim) for part in parts]


def argsort(g: Builder, out: Any, x: Item, *rest: Item) -> str:
    return sort(g, out, x, *rest)[1]


def logsumexp(g: Builder, out: Tensor, x: Item, dim: Item, keep: Item) -> str:
    return _reduced(g, "ReduceLogSumExp", g.name(x, out.dtype), _dims(dim), plain(keep))


def aminmax(g: Builder, out: Any, x: Item, dim: Item, keep: Item) -> list[str]:
    return [_reduced(g, f"Reduce{kind}", g.name(x), _dims(dim), plain(keep)) for kind in ("Min", "Max")]


def count_nonzero(g: Builder, out: Tensor, x: Item, dim: Item | None = None) -> str:
    return _reduced(g, "ReduceSum", g.cast(g.name(x, dtypes.bool_), dtypes.int64), _dims(dim), False)


def nansum(g: Builder, out: Tensor, x: Item, dim: Item, keep: Item, dtype: Item) -> str:
    name = g.name(x, out.dtype)
    if out.dtype.is_floating_point:
        name = g.emit("Where", g.emit("IsNaN", name), g.constant(0.0, out.dtype), name)
    return _reduced(g, "ReduceSum", name, _dims(dim), plain(keep))


ROWS: dict[str, Callable] = {
    "sum": reduction("ReduceSum"), "mean": reduction("ReduceMean"), "prod": reduction("ReduceProd"),
    "max": extreme("Max", "ArgMax"), "min": extreme("Min", "ArgMin"), "amax": amount("ReduceMax"), "amin": amount("ReduceMin"),
    "argmax": place("ArgMax"), "argmin": place("ArgMin"), "var_mean": with_mean(var), "std_mean": with_mean(std),
    "kthvalue": kth_value, "median": median, "any": any_, "all": all_, "var": var, "std": std, "norm": norm,
    "linalg_vector_norm": norm, "linalg_norm": linalg_norm, "linalg_matrix_norm": linalg_norm, "det": determinant,
    "linalg_det": determinant, "logdet": log_determinant, "slogdet": sign_and_log_determinant,
    "linalg_slogdet": sign_and_log_determinant, "cumsum": cumsum, "topk": topk, "sort": sort, "argsort": argsort, "logsumexp": logsumexp,
    "softmax": softmax("Softmax"), "_softmax": softmax("Softmax"), "log_softmax": softmax("LogSoftmax"),
    "_log_softmax": softmax("LogSoftmax"), "aminmax": aminmax, "count_nonzero": count_nonzero, "nansum": nansum,
}  # fmt: skip
