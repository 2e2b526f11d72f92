"""Places in sorted numbers, members of a set, counts, and elements by their place in the whole."""

from __future__ import annotations

from collections.abc import Callable

from ....core.tensor import dtype as dtypes
from ....core.tensor.tensor import Tensor
from ..graph import Builder, CannotExport, Item, plain
from .pointwise import common_type

__all__ = ["ROWS"]


def searchsorted(
    g: Builder, out: Tensor, row: Item, x: Item, int32: Item, right: Item, side: Item, sorter: Item | None = None
) -> str:
    """How many of the sorted numbers come before each value: all are compared with it."""
    kind = common_type(row, x)
    name = g.name(row, kind)
    if sorter is not None and sorter.value is not None:
        name = g.emit("GatherElements", name, g.name(sorter), axis=-1)
    wide = g.emit("Unsqueeze", name, g.constant([-2])) if row.value.ndim > 1 else name
    values = g.name(x, kind)
    if isinstance(x.value, Tensor) and x.value.ndim or row.value.ndim > 1:
        values = g.emit("Unsqueeze", values, g.constant([-1]))
    after = "Greater" if plain(right) or plain(side) == "right" else "GreaterOrEqual"
    before = g.cast(g.emit("Not", g.emit(after, wide, values)), out.dtype)
    return g.emit("ReduceSum", before, g.constant([-1]), keepdims=0)


def bucketize(g: Builder, out: Tensor, x: Item, boundaries: Item, int32: Item, right: Item) -> str:
    return searchsorted(g, out, boundaries, x, int32, right, Item(None))


def isin(g: Builder, out: Tensor, x: Item, members: Item, unique: Item, invert: Item) -> str:
    kind = common_type(x, members)
    name = g.name(x, kind)
    if isinstance(x.value, Tensor) and x.value.ndim:
        name = g.emit("Unsqueeze", name, g.constant([-1]))
    same = g.emit("Equal", name, g.emit("Reshape", g.name(members, kind), g.constant([-1])))
    found = g.emit(
        "Greater", g.emit("ReduceSum", g.cast(same, dtypes.int64), g.constant([-1]), keepdims=0), g.constant(0)
    )
    return g.emit("Not", found) if plain(invert) else found


def bincount(g: Builder, out: Tensor, x: Item, weights: Item, least: Item) -> str:
    """Ones, or the weights, added up in the place of each number."""
    name, size = g.name(x, dtypes.int64), g.constant([plain(least)])
    ends = g.emit("Concat", g.emit("Add", name, g.constant([1])), size, axis=0)
    zeros = g.emit("Expand", g.constant(0, out.dtype), g.emit("ReduceMax", ends, g.constant([0]), keepdims=1))
    if weights.value is None:
        added = g.emit("Expand", g.constant(1, out.dtype), g.shape_of(x))
    else:
        added = g.name(weights, out.dtype)
    return g.emit("ScatterElements", zeros, name, added, axis=0, reduction="add")


def take(g: Builder, out: Tensor, x: Item, index: Item) -> str:
    return g.emit("Gather", _flat(g, x), g.name(index), axis=0)


def put(g: Builder, out: Tensor, x: Item, index: Item, source: Item, accumulate: Item) -> str:
    places, values = (g.emit("Reshape", g.name(item), g.constant([-1])) for item in (index, source))
    kind = "add" if plain(accumulate) else None
    return _shaped_as(g, g.emit("ScatterElements", _flat(g, x), places, values, axis=0, reduction=kind), x)


def masked_scatter(g: Builder, out: Tensor, x: Item, mask: Item, source: Item) -> str:
    """The first elements of the source, in the places where the mask holds."""
    wide = g.emit("Expand", g.name(mask, dtypes.bool_), g.shape_of(x))
    places = g.emit("Transpose", g.emit("NonZero", wide), perm=[1, 0])
    count = g.emit("Shape", places, start=0, end=1)
    values = g.emit("Slice", _flat(g, source, out.dtype), g.constant([0]), count, g.constant([0]))
    return g.emit("ScatterND", g.name(x), places, values)


def _flat(g: Builder, x: Item, kind: dtypes.dtype | None = None) -> str:
    return g.emit("Reshape", g.name(x, kind), g.constant([-1]))


def _shaped_as(g: Builder, name: str, x: Item) -> str:
    return g.emit("Reshape", name, g.shape_of(x))


def histc(g: Builder, out: Tensor, x: Item, bins: Item, low: Item, high: Item) -> str:
    """Each element counted in its bin; the last bin has its end too."""
    count, first, last = plain(bins), plain(low), plain(high)
    if first == last:
        raise CannotExport("limits that depend on the elements")
    name = _flat(g, x)
    first_name, last_name = g.constant(first, out.dtype), g.constant(last, out.dtype)
    inside = g.emit("And", g.emit("GreaterOrEqual", name, first_name), g.emit("LessOrEqual", name, last_name))
    share = g.emit("Div", g.emit("Sub", name, first_name), g.constant(last - first, out.dtype))
    place = g.cast(g.emit("Mul", share, g.constant(count, out.dtype)), dtypes.int64)
    place = g.emit("Clip", g.emit("Where", inside, place, g.constant(0)), g.constant(0), g.constant(count - 1))
    zeros = g.constant([0] * count, out.dtype)
    return g.emit("ScatterElements", zeros, place, g.cast(inside, out.dtype), axis=0, reduction="add")


ROWS: dict[str, Callable] = {
    "searchsorted": searchsorted, "bucketize": bucketize, "isin": isin, "bincount": bincount, "take": take, "put": put,
    "masked_scatter": masked_scatter, "histc": histc,
}  # fmt: skip
