"""Complex numbers, which ONNX's operators lack: the name of a complex tensor is that of one with a last dimension of 2.

Graphs have their inputs and results in the same form, as torch's exporter. A row here is taken where an argument or the
result is complex; other operators have no form for complex numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ....core.tensor import dtype as dtypes
from ....core.tensor.tensor import Tensor
from ....ops import view_as_real
from ..graph import Builder, CannotExport, Item, plain
from .pointwise import ROWS as POINTWISE_ROWS
from .shapes import ROWS as SHAPE_ROWS

__all__ = ["ROWS", "has_complex", "of_parts", "real_type"]

_REAL = {dtypes.complex64: dtypes.float32, dtypes.complex128: dtypes.float64}


def has_complex(value: Any) -> bool:
    """Whether a value, or an item in it, is a complex tensor or number."""
    if isinstance(value, Item):
        return has_complex(value.value)
    if isinstance(value, (list, tuple)):
        return any(map(has_complex, value))
    return value.dtype.is_complex if isinstance(value, Tensor) else isinstance(value, complex)


def real_type(kind: dtypes.dtype) -> dtypes.dtype:
    """The type of the parts of complex numbers; of other types themselves."""
    if kind.is_complex and kind not in _REAL:
        raise CannotExport(f"tensors of {kind}")
    return _REAL.get(kind, kind)


def pair(g: Builder, x: Item, kind: dtypes.dtype) -> str:
    """The name of a tensor or number with its real and imaginary parts in a last dimension."""
    value, real = x.value, real_type(kind)
    if isinstance(value, complex):
        return g.constant([value.real, value.imag], real)
    if has_complex(value):
        return g.constant(view_as_real(value.detach().resolve_conj()), real) if x.name is None else x.name
    part = g.emit("Unsqueeze", g.name(x, real), g.constant([-1]))
    return _joined(g, part, g.emit("Sub", part, part))


def of_parts(g: Builder, x: Item) -> Item:
    """A complex item as the real one of its parts."""
    value = view_as_real(x.value.resolve_conj())
    other = view_as_real(x.other.resolve_conj()) if isinstance(x.other, Tensor) else x.other
    return Item(value, None if x.name is None else x.name).follows(x, other=other)


def _part(g: Builder, name: str, i: int) -> str:
    return g.emit("Gather", name, g.constant(i), axis=-1)


def _parts(g: Builder, name: str) -> tuple[str, str]:
    """The real and the imaginary part, each with a last dimension of 1."""
    a, b = g.several("Split", [name, g.constant([1, 1])], 2, axis=-1)
    return a, b


def _joined(g: Builder, a: str, b: str) -> str:
    return g.emit("Concat", a, b, axis=-1)


def _as_real(g: Builder, out: Tensor, x: Item) -> str:
    return pair(g, x, x.value.dtype)


def _as_complex(g: Builder, out: Tensor, x: Item) -> str:
    return g.name(x)


def _part_of(i: int) -> Callable:
    return lambda g, out, x: _part(g, pair(g, x, x.value.dtype), i)


def _of_two_parts(g: Builder, out: Tensor, real: Item, imag: Item) -> str:
    wide = [g.emit("Expand", g.name(part), g.emit("Shape", _sum_of(g, real, imag))) for part in (real, imag)]
    return _joined(g, *(g.emit("Unsqueeze", name, g.constant([-1])) for name in wide))


def _sum_of(g: Builder, a: Item, b: Item) -> str:
    return g.emit("Add", g.name(a), g.name(b))


def _polar(g: Builder, out: Tensor, size: Item, angle: Item) -> str:
    a, r = g.name(angle), g.name(size)
    parts = [g.emit("Mul", r, g.emit(kind, a)) for kind in ("Cos", "Sin")]
    return _joined(g, *(g.emit("Unsqueeze", name, g.constant([-1])) for name in parts))


def _absolute(g: Builder, out: Tensor, x: Item) -> str:
    return g.emit("ReduceL2", pair(g, x, x.value.dtype), g.constant([-1]), keepdims=0)


def _angle(g: Builder, out: Tensor, x: Item) -> str:
    name, real = pair(g, x, x.value.dtype), x.value.detach()
    a, b = Item(real.real, _part(g, name, 0)), Item(real.imag, _part(g, name, 1))
    return POINTWISE_ROWS["atan2"](g, out, b, a)


def _conjugate(g: Builder, out: Tensor, x: Item) -> str:
    return g.emit("Mul", pair(g, x, x.value.dtype), g.constant([1.0, -1.0], real_type(x.value.dtype)))


def _kept(g: Builder, out: Tensor, x: Item, *rest: Item) -> str:
    return pair(g, x, x.value.dtype)


def _negative(g: Builder, out: Tensor, x: Item) -> str:
    return g.emit("Neg", pair(g, x, x.value.dtype))


def _sum_or_difference(kind: str) -> Callable:
    def row(g: Builder, out: Tensor, x: Item, y: Item, alpha: Item | None = None) -> str:
        if alpha is not None and plain(alpha) != 1:
            raise CannotExport("complex numbers with alpha")
        return g.emit(kind, pair(g, x, out.dtype), pair(g, y, out.dtype))

    return row


def _product(g: Builder, out: Tensor, x: Item, y: Item) -> str:
    return _product_by("Mul", g, pair(g, x, out.dtype), pair(g, y, out.dtype))


def _quotient(g: Builder, out: Tensor, x: Item, y: Item) -> str:
    """x conj(y) / |y|^2."""
    if not has_complex(y.value):
        kind = real_type(out.dtype)
        name = g.name(y, kind)
        wide = g.emit("Unsqueeze", name, g.constant([-1])) if isinstance(y.value, Tensor) else name
        return g.emit("Div", pair(g, x, out.dtype), wide)
    top, below = pair(g, x, out.dtype), pair(g, y, out.dtype)
    conjugate = g.emit("Mul", below, g.constant([1.0, -1.0], real_type(out.dtype)))
    size = g.emit("ReduceSumSquare", below, g.constant([-1]), keepdims=1)
    return g.emit("Div", _product_by("Mul", g, top, conjugate), size)


def _product_by(kind: str, g: Builder, x: str, y: str) -> str:
    (a, b), (c, d) = _parts(g, x), _parts(g, y)
    return _combined(g, lambda p, q: g.emit(kind, p, q), (a, b), (c, d), lambda name: name)


def _combined(g: Builder, times: Callable, x: Sequence[str], y: Sequence[str], shown: Callable) -> str:
    """(a + bi)(c + di) = (ac - bd) + (ad + bc)i, of a bilinear operator."""
    (a, b), (c, d) = x, y
    real = g.emit("Sub", times(a, c), times(b, d))
    imag = g.emit("Add", times(a, d), times(b, c))
    return _joined(g, shown(real), shown(imag))


def _matmul(g: Builder, out: Tensor, x: Item, y: Item) -> str:
    names = [pair(g, item, out.dtype) for item in (x, y)]
    x_parts, y_parts = [(_part(g, name, 0), _part(g, name, 1)) for name in names]
    return _combined(
        g, lambda p, q: g.emit("MatMul", p, q), x_parts, y_parts, lambda n: g.emit("Unsqueeze", n, g.constant([-1]))
    )


def _einsum(g: Builder, out: Tensor, equation: Item, operands: Item, *rest: Item) -> str:
    given = operands.value
    if len(given) != 2:
        raise CannotExport("complex numbers in other than two operands")
    text = plain(equation).replace(" ", "")
    x_parts, y_parts = [(_part(g, name, 0), _part(g, name, 1)) for name in (pair(g, item, out.dtype) for item in given)]
    times = lambda p, q: g.emit("Einsum", p, q, equation=text)  # noqa: E731
    return _combined(g, times, x_parts, y_parts, lambda n: g.emit("Unsqueeze", n, g.constant([-1])))


def _exponential(g: Builder, out: Tensor, x: Item) -> str:
    a, b = _parts(g, pair(g, x, x.value.dtype))
    size = g.emit("Exp", a)
    return _joined(g, *(g.emit("Mul", size, g.emit(kind, b)) for kind in ("Cos", "Sin")))


def _sum(g: Builder, out: Tensor, x: Item, dim: Item | None = None, keep: Item | None = None, *rest: Item) -> str:
    n = x.value.ndim
    given = None if dim is None or not isinstance(plain(dim), (list, tuple, int)) else plain(dim)
    dims = (
        list(range(n)) if not given and given != 0 else [d % n for d in ([given] if isinstance(given, int) else given)]
    )
    name = pair(g, x, out.dtype)
    return g.emit("ReduceSum", name, g.constant(dims), keepdims=int(bool(keep is not None and plain(keep))))


def _by_shape(name: str, *places: int) -> Callable:
    """A row of an operator that moves elements: that of the parts, with dimensions counted from the front.

    places: of the arguments that are dimensions, or lists of them.
    """

    def row(g: Builder, out: Tensor, x: Item, *rest: Item) -> Any:
        n = max(out.ndim if name == "unsqueeze" else x.value.ndim, 1)
        options = list(rest)
        for i in places:
            dims = plain(options[i])
            options[i] = Item([d % n for d in dims] if isinstance(dims, (list, tuple)) else dims % n)
        if name == "permute":
            options[0] = Item([*options[0].value, n])
        return SHAPE_ROWS[name](g, view_as_real(out.resolve_conj()), of_parts(g, x), *options)

    return row


def _flipped(g: Builder, out: Tensor, x: Item) -> str:
    """`mT` and `t`: the last two dimensions are exchanged."""
    n = x.value.ndim
    order = [*range(n - 2), n - 1, n - 2, n] if n > 1 else [0, 1]
    return g.emit("Transpose", pair(g, x, out.dtype), perm=order)


def _reshaped(g: Builder, out: Tensor, x: Item, sizes: Item) -> str:
    given = sizes.value if sizes.has_items else [Item(n) for n in sizes.value]
    return g.emit("Reshape", pair(g, x, out.dtype), g.sizes(Item([*given, Item(2)])))


def _concatenated(g: Builder, out: Tensor, parts: Item, dim: Item) -> str:
    return g.emit("Concat", *(pair(g, p, out.dtype) for p in parts.value), axis=plain(dim) % out.ndim)


ROWS: dict[str, Callable] = {
    "view_as_real": _as_real, "view_as_complex": _as_complex, "real": _part_of(0), "imag": _part_of(1),
    "complex": _of_two_parts, "polar": _polar, "abs": _absolute, "absolute": _absolute, "angle": _angle, "conj": _conjugate,
    "conj_physical": _conjugate, "resolve_conj": _kept, "detach": _kept, "clone": _kept, "contiguous": _kept, "neg": _negative,
    "add": _sum_or_difference("Add"), "sub": _sum_or_difference("Sub"), "mul": _product, "div": _quotient, "matmul": _matmul,
    "mm": _matmul, "bmm": _matmul, "einsum": _einsum, "exp": _exponential, "sum": _sum, "reshape": _reshaped, "view": _reshaped,
    "cat": _concatenated, "mT": _flipped, "t": _flipped, "unsqueeze": _by_shape("unsqueeze", 0), "transpose": _by_shape("transpose", 0, 1),
    "permute": _by_shape("permute", 0), "slice": _by_shape("slice", 0), "select": _by_shape("select", 0),
}  # fmt: skip
