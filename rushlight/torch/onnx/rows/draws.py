"""Random numbers: operators that draw others in each run, by the generator of the runtime."""

from __future__ import annotations

from collections.abc import Callable

from ....core.tensor import dtype as dtypes
from ....core.tensor.tensor import Tensor
from ..graph import Builder, CannotExport, Item, onnx_type, plain

__all__ = ["ROWS", "WITHOUT_FORM"]

WITHOUT_FORM = ("poisson", "randperm", "rrelu")


def _like(g: Builder, kind: str, name: str, dtype: dtypes.dtype, **how: float) -> str:
    """Draws of the shape of a tensor."""
    if not dtype.is_floating_point:
        raise CannotExport(f"draws of {dtype}")
    return g.emit(kind, name, dtype=onnx_type(dtype), **how)


def _of_sizes(g: Builder, sizes: Item) -> str:
    return g.emit("ConstantOfShape", g.sizes(sizes))


def like(kind: str) -> Callable:
    """A row of `rand_like` and `randn_like`."""
    return lambda g, out, x, *rest: _like(g, kind, g.name(x), out.dtype)


def of_sizes(kind: str) -> Callable:
    """A row of `rand` and `randn`."""
    return lambda g, out, sizes, *rest: _like(g, kind, _of_sizes(g, sizes), out.dtype)


def _whole(g: Builder, out: Tensor, shown: str, low: int, high: int) -> str:
    """Whole numbers from low to high - 1."""
    drawn = _like(g, "RandomUniformLike", shown, dtypes.float32, low=float(low), high=float(high))
    last = g.constant(float(high - 1), dtypes.float32)  # a draw may round to `high`
    return g.cast(g.emit("Min", g.emit("Floor", drawn), last), out.dtype)


def whole(g: Builder, out: Tensor, *given: Item) -> str:
    """`randint(high, size)` and `randint(low, high, size)`."""
    at = next(i for i, item in enumerate(given) if isinstance(item.value, (list, tuple)))
    bounds = [plain(item) for item in given[:at]]
    return _whole(g, out, _of_sizes(g, given[at]), *(bounds if at == 2 else [0, *bounds]))


def whole_like(g: Builder, out: Tensor, x: Item, *given: Item) -> str:
    """`randint_like(x, high)` and `randint_like(x, low, high)`."""
    bounds = [v for v in map(plain, given[:2]) if isinstance(v, int) and not isinstance(v, (bool, dtypes.dtype))]
    return _whole(g, out, g.name(x), *(bounds if len(bounds) == 2 else [0, *bounds]))


def normal(g: Builder, out: Tensor, mean: Item, std: Item, *rest: Item) -> str:
    """mean + std z."""
    if rest and isinstance(rest[0].value, (list, tuple)):
        drawn = _like(g, "RandomNormalLike", _of_sizes(g, rest[0]), out.dtype)
    else:
        both = g.emit("Add", g.name(mean, out.dtype), g.name(std, out.dtype))
        drawn = _like(g, "RandomNormalLike", both, out.dtype)
    return g.emit("Add", g.name(mean, out.dtype), g.emit("Mul", g.name(std, out.dtype), drawn))


def bernoulli(g: Builder, out: Tensor, x: Item, *rest: Item) -> str:
    """1 with the probability x, or p where it is given."""
    numbers = [plain(item) for item in rest if isinstance(item.value, (int, float))]
    drawn = _like(g, "RandomUniformLike", g.name(x), out.dtype)
    return g.cast(g.emit("Less", drawn, g.constant(numbers[0], out.dtype) if numbers else g.name(x)), out.dtype)


def multinomial(g: Builder, out: Tensor, x: Item, count: Item, replacement: Item, *rest: Item) -> str:
    if not plain(replacement) and plain(count) != 1:
        raise CannotExport("draws without replacement")
    if x.value.ndim != 2:
        raise CannotExport("weights without a batch")
    return g.emit("Multinomial", g.emit("Log", g.name(x)), dtype=onnx_type(dtypes.int64), sample_size=plain(count))


ROWS: dict[str, Callable] = {
    "rand_like": like("RandomUniformLike"), "randn_like": like("RandomNormalLike"), "rand": of_sizes("RandomUniformLike"),
    "randn": of_sizes("RandomNormalLike"), "randint": whole, "randint_like": whole_like, "normal": normal,
    "bernoulli": bernoulli, "multinomial": multinomial,
}  # fmt: skip
