"""Writes into a view: what the tensor that it is a view of holds then."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ...core.tensor.tensor import Tensor
from ..jit.ir.graph import Node, Value
from ..jit.ir.running import runner
from .graph import Builder, Item, plain

__all__ = ["VIEWS", "View", "share_memory", "viewed"]

_END = 2**62


class View(NamedTuple):
    """A value that shows the memory of another one, `parent`, by a node.

    one: which of the parts that the node gives; always: whether it does so for all sizes that were tried.
    """

    parent: Value
    node: Node
    one: int | None = None
    always: bool = True

    @property
    def is_alias(self) -> bool:
        """Whether it is the parent itself: the result of a write, or another path of a buffer."""
        return self.node.schema is None or bool(self.node.writes)

    @property
    def name(self) -> str:
        """The operator that reads it."""
        return "alias" if self.is_alias else self.node.schema.name

    def read(self, whole: Tensor, *options: Any) -> Tensor:
        """The view of a tensor."""
        if self.is_alias:
            return whole
        found = runner(self.node.schema)(whole, *options)
        return found if self.one is None else found[self.one]


def share_memory(a: Tensor, b: Tensor) -> bool:
    """Whether two tensors show the same memory."""
    return a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()


def viewed(read: Callable, part: Tensor, whole: Tensor, *options: Any) -> Tensor:
    """A copy of `whole` in whose view `part` was written."""
    whole = whole.detach().clone()
    read(whole, *options).copy_(part.detach())
    return whole


def _slice(g: Builder, whole: Item, part: Item, options: list[Item], one: int | None) -> str:
    dim, *place = options
    at = plain(dim) % whole.value.ndim
    if all(option.is_constant for option in place) and plain(place[2]) in (None, 1):
        return _joined(g, whole, part, at, slice(*map(plain, place)), single=False)
    first = g.constant([0]) if place[0].value is None else g.vector(place[0])
    last = g.constant([_END]) if place[1].value is None else g.vector(place[1])
    return _scattered(g, whole, part, at, first, last, g.vector(place[2]))


def _narrow(g: Builder, whole: Item, part: Item, options: list[Item], one: int | None) -> str:
    first = g.vector(options[1])
    at = plain(options[0]) % whole.value.ndim
    if options[1].is_constant and plain(options[1]) < 0:
        first = g.emit("Add", first, g.size_of(whole, at))
    last = g.emit("Add", first, g.vector(options[2]))
    return _scattered(g, whole, part, at, first, last, g.constant([1]))


def _scattered(g: Builder, whole: Item, part: Item, at: int, first: str, last: str, step: str) -> str:
    """The places are cut from 0, 1, 2, ... as the slice is cut from the tensor."""
    size = g.emit("Squeeze", g.size_of(whole, at), g.constant([0]))
    every = g.emit("Range", g.constant(0), size, g.constant(1))
    places = g.emit("Slice", every, first, last, g.constant([0]), step)
    return _put_along(g, whole, g.name(part, whole.value.dtype), g.shape_of(part), at, places)


def _put_along(g: Builder, whole: Item, part: str, shape: str, at: int, places: str) -> str:
    column = g.emit("Reshape", places, g.constant([-1 if d == at else 1 for d in range(whole.value.ndim)]))
    return g.emit("ScatterElements", g.name(whole), g.emit("Expand", column, shape), part, axis=at)


def _select(g: Builder, whole: Item, part: Item, options: list[Item], one: int | None) -> str:
    dim, place = options
    at = plain(dim) % whole.value.ndim
    if place.is_constant:
        index = plain(place)
        return _joined(g, whole, part, at, slice(index, index + 1 or None), single=True)
    wide = g.emit("Unsqueeze", g.name(part, whole.value.dtype), g.constant([at]))
    return _put_along(g, whole, wide, g.emit("Shape", wide), at, g.vector(place))


def _joined(g: Builder, whole: Item, part: Item, at: int, place: slice, single: bool) -> str:
    """What is before a slice, the slice, and what is after it."""
    first, rest = _bounds(g, whole, at, place)
    middle, source, axis = g.name(part, whole.value.dtype), g.name(whole), g.constant([at])
    parts = [g.emit("Unsqueeze", middle, axis) if single else middle]
    if first:
        parts.insert(0, g.emit("Slice", source, g.constant([0]), g.constant([first]), axis))
    if rest is not None:
        parts.append(g.emit("Slice", source, rest, g.constant([_END]), axis))
    return g.emit("Concat", *parts, axis=at)


def _bounds(g: Builder, whole: Item, dim: int, part: slice) -> tuple[int, str | None]:
    """Where a written slice begins, and the name of where the rest begins (None: no rest), for every size of `dim`."""
    start, end = part.start or 0, part.stop
    if whole.fixes(dim):
        size = whole.value.shape[dim]
        start, end, _ = slice(start, end).indices(size)
        end = None if max(start, end) >= size else end
    if end is None or end >= _END:
        return start, None
    if (start < 0) == (end < 0):
        return start, g.constant([max(start, end)])
    below, above = sorted((start, end))
    return start, g.emit("Max", g.emit("Add", g.size_of(whole, dim), g.constant([below])), g.constant([above]))


def _one_of(length: Callable) -> Callable:
    """A part of a tensor cut along a dimension: `length(whole size, option)` is how long each part is at most."""

    def row(g: Builder, whole: Item, part: Item, options: list[Item], one: int | None) -> str:
        at = plain(options[-1]) % whole.value.ndim
        each = length(whole.fixed_size(at), plain(options[0]))
        before = sum(each[:one]) if isinstance(each, list) else each * (one or 0)
        place = slice(before, before + part.value.shape[at])
        return _joined(g, whole, part, at, place, single=False)

    return row


def _unbound(g: Builder, whole: Item, part: Item, options: list[Item], one: int | None) -> str:
    return _select(g, whole, part, [options[0], Item(one)], None)


def _permuted(order: Callable) -> Callable:
    """Dimensions in another order: `order(ndim, *options)`, and back."""

    def row(g: Builder, whole: Item, part: Item, options: list[Item], one: int | None) -> str:
        forth = [d % whole.value.ndim for d in order(whole.value.ndim, *map(plain, options))]
        back = sorted(range(len(forth)), key=forth.__getitem__)
        return g.emit("Transpose", g.name(part, whole.value.dtype), perm=back)

    return row


def _swapped(n: int, a: int, b: int) -> list[int]:
    found = list(range(n))
    found[a], found[b] = found[b], found[a]
    return found


def _reshaped(g: Builder, whole: Item, part: Item, options: list[Item], one: int | None) -> str:
    return g.emit("Reshape", g.name(part, whole.value.dtype), g.shape_of(whole))


def _diagonal(g: Builder, whole: Item, part: Item, options: list[Item], one: int | None) -> str:
    """The two dimensions in front, and tuples of places (i, i) moved by the offset."""
    offset, a, b = map(plain, options)
    n, k = whole.value.ndim, part.value.ndim - 1
    a, b = a % n, b % n
    order = [a, b, *[d for d in range(n) if d not in (a, b)]]
    name = g.emit("Transpose", g.name(whole), perm=order)
    values = g.emit("Transpose", g.name(part, whole.value.dtype), perm=[k, *range(k)])
    count = g.emit("Squeeze", g.emit("Shape", values, start=0, end=1), g.constant([0]))
    places = g.emit("Unsqueeze", g.emit("Range", g.constant(0), count, g.constant(1)), g.constant([1]))
    moved = g.emit("Add", places, g.constant([abs(offset)]))
    pair = (moved, places) if offset < 0 else (places, moved)
    name = g.emit("ScatterND", name, g.emit("Concat", *pair, axis=1), values)
    return g.emit("Transpose", name, perm=sorted(range(n), key=order.__getitem__))


VIEWS: dict[str, Callable] = {
    "slice": _slice, "select": _select, "narrow": _narrow, "unbind": _unbound, "diagonal": _diagonal,
    "split": _one_of(lambda size, each: each), "split_with_sizes": _one_of(lambda size, each: list(each)),
    "chunk": _one_of(lambda size, count: -(-size // count)),
    "permute": _permuted(lambda n, dims: dims), "transpose": _permuted(_swapped), "t": _permuted(lambda n: range(n)[::-1]),
    "numpy_T": _permuted(lambda n: range(n)[::-1]), "mT": _permuted(lambda n: _swapped(n, -2, -1)),
    "swapaxes": _permuted(_swapped), "swapdims": _permuted(_swapped),
    **dict.fromkeys(("alias", "detach", "contiguous", "to", "type_as"), lambda g, whole, part, *rest: g.name(part, whole.value.dtype)),
    **dict.fromkeys(("view", "reshape", "view_as", "reshape_as", "flatten", "unflatten", "unsqueeze", "squeeze", "expand", "expand_as"), _reshaped),
}  # fmt: skip
