"""Views, joining, indexing, and tensors that are made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .... import ops
from ....core.tensor import dtype as dtypes
from ....core.tensor.layout import iinfo
from ....core.tensor.tensor import Tensor
from ..graph import UNKNOWN, Builder, CannotExport, Item, plain

__all__ = ["PAD_MODES", "ROWS", "ROWS_OF_NUMBERS"]

_END = 2**62


def size(g: Builder, out: Any, x: Item, dim: Item | None = None) -> Item | None:
    if dim is None:
        return Item([_one_size(g, x, i) for i in range(x.value.ndim)])
    return _one_size(g, x, plain(dim))


def _one_size(g: Builder, x: Item, dim: int) -> Item:
    if x.fixes(dim):
        return Item(x.value.shape[dim])
    name = g.emit("Squeeze", g.size_of(x, dim), g.constant([0]))
    return Item(x.value.shape[dim], name)


def numel(g: Builder, out: int, x: Item) -> Item | None:
    return None if x.fixes_shape else Item(out, g.emit("Size", g.name(x)))


def reshape(g: Builder, out: Tensor, x: Item, shape: Item, *rest: Item) -> str:
    return g.emit("Reshape", g.name(x), g.sizes(shape), allowzero=1 if out.numel() == 0 else None)


def like(g: Builder, out: Tensor, x: Item, other: Item) -> str:
    return g.emit("Reshape", g.name(x), g.shape_of(other))


def _pieces(g: Builder, x: Item, first: int, last: int) -> list[str]:
    return [g.size_of(x, dim) for dim in range(first, last)]


def _shaped(g: Builder, x: Item, parts: list[str]) -> str:
    return g.emit("Reshape", g.name(x), parts[0] if len(parts) == 1 else g.emit("Concat", *parts, axis=0))


def flatten(g: Builder, out: Tensor, x: Item, start: Item, end: Item) -> str:
    ndim = max(x.value.ndim, 1)
    first, last = plain(start) % ndim, plain(end) % ndim
    if x.fixes_shape:
        return g.emit("Reshape", g.name(x), g.constant(list(out.shape)))
    if first == 1 and last == ndim - 1 and ndim > 1:
        return g.emit("Flatten", g.name(x), axis=1)
    parts = [*_pieces(g, x, 0, first), g.constant([-1]), *_pieces(g, x, last + 1, x.value.ndim)]
    return _shaped(g, x, parts)


def unflatten(g: Builder, out: Tensor, x: Item, dim: Item, sizes: Item) -> str:
    at = plain(dim) % x.value.ndim
    return _shaped(g, x, [*_pieces(g, x, 0, at), g.sizes(sizes), *_pieces(g, x, at + 1, x.value.ndim)])


def permute(g: Builder, out: Tensor, x: Item, dims: Item) -> str:
    return g.emit("Transpose", g.name(x), perm=[d % x.value.ndim for d in plain(dims)])


def transpose(g: Builder, out: Tensor, x: Item, a: Item, b: Item) -> str:
    order = list(range(x.value.ndim))
    if order:
        i, j = plain(a) % len(order), plain(b) % len(order)
        order[i], order[j] = order[j], order[i]
    return g.emit("Transpose", g.name(x), perm=order)


def t(g: Builder, out: Tensor, x: Item) -> str:
    return g.emit("Transpose", g.name(x), perm=list(range(x.value.ndim))[::-1])


def matrix_transpose(g: Builder, out: Tensor, x: Item) -> str:
    return transpose(g, out, x, Item(-2), Item(-1))


def movedim(g: Builder, out: Tensor, x: Item, source: Item, target: Item) -> str:
    n = x.value.ndim
    a, b = [[d % n for d in (v if isinstance(v, (list, tuple)) else [v])] for v in map(plain, (source, target))]
    order = [d for d in range(n) if d not in a]
    for place, d in sorted(zip(b, a, strict=True)):
        order.insert(place, d)
    return g.emit("Transpose", g.name(x), perm=order)


def unsqueeze(g: Builder, out: Tensor, x: Item, dim: Item) -> str:
    return g.emit("Unsqueeze", g.name(x), g.constant([plain(dim) % out.ndim]))


def squeeze(g: Builder, out: Tensor, x: Item, dim: Item | None = None) -> str:
    given = range(x.value.ndim) if dim is None else plain(dim)
    dims = [d for d in (given if isinstance(given, (list, tuple, range)) else [given]) if x.value.shape[d] == 1]
    dims = [d for d in dims if x.fixed_size(d)]
    return g.emit("Squeeze", g.name(x), g.constant(dims)) if dims else g.name(x)


def itself(g: Builder, out: Tensor, x: Item, *rest: Item) -> str:
    return g.name(x)


def expand(g: Builder, out: Tensor, x: Item, sizes: Item, *rest: Item) -> str:
    parts = sizes.value if isinstance(sizes.value[0], Item) else [Item(n) for n in sizes.value]
    return g.emit("Expand", g.name(x), g.sizes(Item([Item(1) if p.value == -1 else p for p in parts])))


def expand_as(g: Builder, out: Tensor, x: Item, other: Item) -> str:
    return g.emit("Expand", g.name(x), g.shape_of(other))


def repeat(g: Builder, out: Tensor, x: Item, counts: Item) -> str:
    name, more = g.name(x), len(counts.value) - x.value.ndim
    if more:
        name = g.emit("Unsqueeze", name, g.constant(list(range(more))))
    return g.emit("Tile", name, g.sizes(counts))


def tile(g: Builder, out: Tensor, x: Item, counts: Item) -> str:
    ones = [Item(1)] * (x.value.ndim - len(counts.value))
    parts = counts.value if counts.has_items else [Item(n) for n in counts.value]
    return repeat(g, out, x, Item([*ones, *parts]))


def repeat_interleave(g: Builder, out: Tensor, x: Item, count: Item, dim: Item, *rest: Item) -> str:
    times, at = plain(count), plain(dim)
    if not isinstance(times, int) or at is None:
        raise CannotExport("another number of repetitions for each element")
    at %= x.value.ndim
    wide = g.emit("Unsqueeze", g.name(x), g.constant([at + 1]))
    wide = g.emit("Tile", wide, g.constant([times if i == at + 1 else 1 for i in range(x.value.ndim + 1)]))
    parts = [*_pieces(g, x, 0, at), g.constant([-1]), *_pieces(g, x, at + 1, x.value.ndim)]
    return g.emit("Reshape", wide, parts[0] if len(parts) == 1 else g.emit("Concat", *parts, axis=0))


def slice_(g: Builder, out: Tensor, x: Item, dim: Item, start: Item, end: Item, step: Item) -> str:
    first = g.constant([0]) if start.value is None else g.vector(start)
    last = g.constant([_END]) if end.value is None else g.vector(end)
    return g.emit("Slice", g.name(x), first, last, g.constant([plain(dim)]), g.vector(step))


def narrow(g: Builder, out: Tensor, x: Item, dim: Item, start: Item, length: Item) -> str:
    if not (start.is_constant and length.is_constant):
        first = g.vector(start)
        return g.emit("Slice", g.name(x), first, g.emit("Add", first, g.vector(length)), g.constant([plain(dim)]))
    first, last = int(plain(start)), int(plain(start)) + plain(length)
    last = _END if first < 0 and last == 0 else last
    return g.emit("Slice", g.name(x), g.constant([first]), g.constant([last]), g.constant([plain(dim)]))


def select(g: Builder, out: Tensor, x: Item, dim: Item, index: Item) -> str:
    return g.emit("Gather", g.name(x), g.name(index, dtypes.int64), axis=plain(dim))


def cat(g: Builder, out: Tensor, parts: Item, dim: Item) -> str:
    kept = [p for p in parts.value if p.value.ndim == out.ndim]  # torch passes over empty ones of one dimension
    return g.emit("Concat", *[g.name(p, out.dtype) for p in kept], axis=plain(dim))


def stacked(dim: int, least: int) -> Callable:
    """A row of `hstack`, `vstack` and `dstack`: the parts joined, with at least so many dimensions."""

    def row(g: Builder, out: Tensor, parts: Item) -> str:
        at = 0 if dim == 1 and out.ndim == 1 else dim
        names = [g.name(p, out.dtype) for p in parts.value]
        if any(p.value.ndim < least for p in parts.value):
            raise CannotExport(f"parts of fewer than {least} dimensions")
        return g.emit("Concat", *names, axis=at)

    return row


def diagonal(g: Builder, out: Tensor, x: Item, offset: Item, dim1: Item, dim2: Item) -> str:
    n, moved = x.value.ndim, plain(offset)
    a, b = plain(dim1) % n, plain(dim2) % n
    if moved:  # the main one of what is after the first columns, or rows
        axis, first = g.constant([b if moved > 0 else a]), g.constant([abs(moved)])
        cut = (
            x.value.narrow(b, moved, x.value.shape[b] - moved)
            if moved > 0
            else x.value.narrow(a, -moved, x.value.shape[a] + moved)
        )
        x = Item(cut, g.emit("Slice", g.name(x), first, g.constant([_END]), axis))
    order = [*[d for d in range(n) if d not in (a, b)], a, b]
    name = g.emit("Transpose", g.name(x), perm=order)
    count = g.emit("Min", g.size_of(x, a), g.size_of(x, b))
    places = g.emit("Range", g.constant(0), g.emit("Reshape", count, g.constant([], dtypes.int64)), g.constant(1))
    lead = _pieces(g, Item(x.value.permute(order), name), 0, n - 2)
    shape = g.emit("Concat", *lead, g.emit("Mul", count, g.constant([1])), g.constant([1]), axis=0)
    where = g.emit("Expand", g.emit("Unsqueeze", places, g.constant([1])), shape)
    return g.emit("Squeeze", g.emit("GatherElements", name, where, axis=n - 1), g.constant([n - 1]))


def diff(g: Builder, out: Tensor, x: Item, n: Item, dim: Item, prepend: Item, append: Item) -> str:
    if prepend.value is not None or append.value is not None or x.value.dtype is dtypes.bool_:
        raise CannotExport("prepend, append, or truth values")
    name, axis = g.name(x), g.constant([plain(dim)])
    for _ in range(plain(n)):
        after = g.emit("Slice", name, g.constant([1]), g.constant([_END]), axis)
        name = g.emit("Sub", after, g.emit("Slice", name, g.constant([0]), g.constant([-1]), axis))
    return name


def stack(g: Builder, out: Tensor, parts: Item, dim: Item) -> str:
    at = g.constant([plain(dim) % out.ndim])
    return g.emit("Concat", *[g.emit("Unsqueeze", g.name(p, out.dtype), at) for p in parts.value], axis=plain(dim))


def split(g: Builder, out: Any, x: Item, sizes: Item, dim: Item) -> list[str]:
    at = plain(dim)
    lengths = g.constant([x.fixed_size(at) and part.shape[at] for part in out])
    return g.several("Split", [g.name(x), lengths], len(out), axis=at)


def split_by_sizes(g: Builder, out: Any, x: Item, sizes: Item, dim: Item) -> list[str]:
    if not isinstance(sizes.value, (list, tuple)):
        return split(g, out, x, sizes, dim)
    return g.several("Split", [g.name(x), g.sizes(sizes)], len(out), axis=plain(dim))


def chunk(g: Builder, out: Any, x: Item, count: Item, dim: Item) -> list[str]:
    if x.fixes(plain(dim)) or len(out) != plain(count):
        return split(g, out, x, count, dim)
    if len(out) == 1:
        return [g.name(x)]
    return g.several("Split", [g.name(x)], len(out), axis=plain(dim), num_outputs=len(out))


def unbind(g: Builder, out: Any, x: Item, dim: Item) -> list[str]:
    return [g.emit("Gather", g.name(x), g.constant(i), axis=plain(dim)) for i in range(len(out))]


def gather(g: Builder, out: Tensor, x: Item, dim: Item, index: Item, *rest: Item) -> str:
    return g.emit("GatherElements", g.name(x), g.name(index), axis=plain(dim))


def take_along(g: Builder, out: Tensor, x: Item, index: Item, dim: Item) -> str:
    if plain(dim) is None:
        raise CannotExport("take_along_dim without a dimension")
    at = plain(dim) % x.value.ndim
    if any(x.value.shape[d] != index.value.shape[d] for d in range(x.value.ndim) if d != at):
        raise CannotExport("take_along_dim that broadcasts")
    return g.emit("GatherElements", g.name(x), g.name(index), axis=at)


_REDUCED = {"add": "add", "sum": "add", "multiply": "mul", "prod": "mul", "amax": "max", "amin": "min"}


def scatter(g: Builder, out: Tensor, x: Item, dim: Item, index: Item, source: Item, reduce: Item | None = None) -> str:
    kind = None if reduce is None else _REDUCED[plain(reduce)]
    return _scattered(g, out, g.name(x), dim, index, source, kind)


def scatter_add(g: Builder, out: Tensor, x: Item, dim: Item, index: Item, source: Item) -> str:
    return _scattered(g, out, g.name(x), dim, index, source, "add")


def _scattered(g: Builder, out: Tensor, x: str, dim: Item, index: Item, source: Item, kind: str | None) -> str:
    """What ScatterElements makes of the part of `source` that has the index's shape, or of one number."""
    values = g.name(source, out.dtype)
    if not isinstance(source.value, Tensor) or source.value.ndim == 0:
        values = g.emit("Expand", values, g.shape_of(index))
    elif not (source.value.shape == index.value.shape and source.other is not UNKNOWN and index.other is not UNKNOWN
              and source.other.shape == index.other.shape):  # fmt: skip
        axes = list(range(source.value.ndim))
        values = g.emit("Slice", values, g.constant([0 for _ in axes]), g.shape_of(index), g.constant(axes))
    return g.emit("ScatterElements", x, g.name(index), values, axis=plain(dim), reduction=kind)


_NEUTRAL = {"sum": 0, "mean": 0, "prod": 1}


def scatter_reduce(
    g: Builder, out: Tensor, x: Item, dim: Item, index: Item, source: Item, how: Item, include: Item
) -> str:
    """Places to which nothing is scattered keep their element, whether the result includes it or not."""
    kind, ones = plain(how), Item(ops.ones(1, dtype=out.dtype)[0])
    zeros = _full(g, out, g.shape_of(x), Item(0))
    count = _scattered(g, out, zeros, dim, index, ones, "add") if kind == "mean" or not plain(include) else ""
    start, reached = g.name(x), g.emit("Greater", count, g.constant(0, out.dtype)) if count else ""
    if not plain(include):
        neutral = _NEUTRAL[kind] if kind in _NEUTRAL else _least(out.dtype, kind == "amin")
        start = g.emit("Where", reached, g.constant(neutral, out.dtype), start)
    name = _scattered(g, out, start, dim, index, source, _REDUCED.get(kind, "add"))
    if kind != "mean":
        return name
    own = g.constant(1 if plain(include) else 0, out.dtype)
    total = g.emit("Max", g.emit("Add", count, own), g.constant(1, out.dtype))
    if out.dtype.is_floating_point:
        return g.emit("Div", name, total)
    raise CannotExport("the mean of integers")


def _least(kind: dtypes.dtype, most: bool) -> Any:
    if kind.is_floating_point:
        return float("inf") if most else float("-inf")
    limits = iinfo(kind)
    return limits.max if most else limits.min


def index_reduce(
    g: Builder, out: Tensor, x: Item, dim: Item, index: Item, source: Item, how: Item, include: Item
) -> str:
    """`scatter_reduce` by the index, which has one dimension, expanded to the shape of what is written."""
    at, n = plain(dim) % x.value.ndim, x.value.ndim
    shape = [-1 if d == at else 1 for d in range(n)]
    name = g.emit("Expand", g.emit("Reshape", g.name(index), g.constant(shape)), g.shape_of(source))
    wide = Item(index.value.view(shape).expand(source.value.shape), name)
    return scatter_reduce(g, out, x, dim, wide, source, how, include)


def index_add(g: Builder, out: Tensor, x: Item, dim: Item, index: Item, source: Item, alpha: Item) -> str:
    values = g.name(source, out.dtype)
    if plain(alpha) != 1:
        values = g.emit("Mul", values, g.constant(plain(alpha), out.dtype))
    return _written_along(g, x, dim, index, values, g.shape_of(source), "add")


def index_copy(g: Builder, out: Tensor, x: Item, dim: Item, index: Item, source: Item) -> str:
    return _written_along(g, x, dim, index, g.name(source, out.dtype), g.shape_of(source), None)


def index_fill(g: Builder, out: Tensor, x: Item, dim: Item, index: Item, value: Item) -> str:
    at, n = plain(dim) % x.value.ndim, x.value.ndim
    count = g.emit("Reshape", g.emit("Size", g.name(index)), g.constant([1]))
    parts = [*_pieces(g, x, 0, at), count, *_pieces(g, x, at + 1, n)]
    shape = parts[0] if n == 1 else g.emit("Concat", *parts, axis=0)
    return _written_along(g, x, dim, index, _full(g, out, shape, value), shape, None)


def _written_along(g: Builder, x: Item, dim: Item, index: Item, values: str, shape: str, kind: str | None) -> str:
    """ScatterElements of slices: the index, which has one dimension, expanded to the shape of what is written."""
    at, n = plain(dim) % x.value.ndim, x.value.ndim
    wide = g.emit("Reshape", g.name(index, dtypes.int64), g.constant([-1 if d == at else 1 for d in range(n)]))
    return g.emit("ScatterElements", g.name(x), g.emit("Expand", wide, shape), values, axis=at, reduction=kind)


def index_put(g: Builder, out: Tensor, x: Item, indices: Item, values: Item, accumulate: Item) -> str:
    """The indexed dimensions in front, ScatterND, and the dimensions back in their order."""
    kind = "add" if plain(accumulate) else None
    masks = [item for item in indices.value if item.value is not None]
    if len(masks) == 1 and indices.value[0] is masks[0] and _is_mask(masks[0]) and _one_for_each(x, masks[0], values):
        return _masked_put(g, x, masks[0], values, kind)
    given = _without_masks(g, indices)
    places, n = [at for at, _ in given], x.value.ndim
    rest = [d for d in range(n) if d not in places]
    tuples, wide = _tuples(g, [item for _, item in given]), max(item.value.ndim for _, item in given)
    before = places[0] if places == list(range(places[0], places[0] + len(places))) else 0
    sizes = [g.size_of(x, d) for d in rest]
    sizes.insert(before, g.emit("Shape", tuples, start=0, end=wide))
    shape = sizes[0] if len(sizes) == 1 else g.emit("Concat", *sizes, axis=0)
    written = g.emit("Expand", g.name(values, out.dtype), shape)
    if before:
        order = [*range(before, before + wide), *range(before), *range(before + wide, wide + len(rest))]
        written = g.emit("Transpose", written, perm=order)
    order = [*places, *rest]
    if order == list(range(n)):
        return g.emit("ScatterND", g.name(x), tuples, written, reduction=kind)
    name = g.emit("ScatterND", g.emit("Transpose", g.name(x), perm=order), tuples, written, reduction=kind)
    return g.emit("Transpose", name, perm=sorted(range(n), key=order.__getitem__))


def _is_mask(item: Item) -> bool:
    return item.value.dtype in (dtypes.bool_, dtypes.uint8)


def _without_masks(g: Builder, indices: Item) -> list[tuple[int, Item]]:
    """Indices with their dimensions; a mask is an index for each of its dimensions, the places where it holds."""
    found, at = [], 0
    for item in indices.value:
        if item.value is None or not _is_mask(item):
            found += [] if item.value is None else [(at, item)]
            at += 1
            continue
        holds = g.emit("NonZero", g.name(item, dtypes.bool_))
        for d in range(item.value.ndim):
            column = item.value.bool().nonzero()[:, d]
            found.append((at + d, Item(column, g.emit("Gather", holds, g.constant(d), axis=0))))
        at += item.value.ndim
    return found


def _one_for_each(x: Item, mask: Item, values: Item) -> bool:
    """Whether each place of a mask gets the same values."""
    return not values.value.ndim or values.value.shape == x.value.shape[mask.value.ndim :][-values.value.ndim :]


def _masked_put(g: Builder, x: Item, mask: Item, values: Item, kind: str | None) -> str:
    """One value, or one for each place outside the mask's dimensions, where the mask holds."""
    name, own = g.name(mask, dtypes.bool_), g.name(values, x.value.dtype)
    if x.value.ndim > mask.value.ndim:
        name = g.emit("Unsqueeze", name, g.constant(list(range(mask.value.ndim, x.value.ndim))))
    return g.emit("Where", name, g.emit("Add", g.name(x), own) if kind else own, g.name(x))


def nonzero(g: Builder, out: Tensor, x: Item) -> str:
    return g.emit("Transpose", g.emit("NonZero", g.name(x)), perm=[1, 0])


def masked_select(g: Builder, out: Tensor, x: Item, mask: Item) -> str:
    shape = g.emit("Shape", g.emit("Or", g.name(mask), g.emit("Equal", g.name(x), g.name(x))))
    wide, where = g.emit("Expand", g.name(x), shape), g.emit("Expand", g.name(mask), shape)
    return g.emit("GatherND", wide, g.emit("Transpose", g.emit("NonZero", where), perm=[1, 0]))


def index_select(g: Builder, out: Tensor, x: Item, dim: Item, index: Item) -> str:
    return g.emit("Gather", g.name(x), g.name(index), axis=plain(dim))


def index(g: Builder, out: Tensor, x: Item, indices: Item) -> str:
    if len(indices.value) == 1 and _is_mask(indices.value[0]):
        mask = indices.value[0]
        return g.emit("GatherND", g.name(x), nonzero(g, out, Item(mask.value, g.name(mask, dtypes.bool_))))
    given = _without_masks(g, indices)
    if len(given) == 1:
        at, item = given[0]
        return g.emit("Gather", g.name(x), g.name(item, dtypes.int64), axis=at)
    return _gathered(g, x, given)


def _gathered(g: Builder, x: Item, given: list[tuple[int, Item]]) -> str:
    """x[..., i, j, ...] with several tensors: the indexed dimensions in front, one tuple of indices for each element."""
    places, n = [i for i, _ in given], x.value.ndim
    rest = [d for d in range(n) if d not in places]
    name = g.name(x)
    if places != list(range(len(places))):
        name = g.emit("Transpose", name, perm=[*places, *rest])
    result = g.emit("GatherND", name, _tuples(g, [item for _, item in given]))
    if places == list(range(places[0], places[0] + len(places))) and places[0]:
        wide = max(item.value.ndim for _, item in given)
        order = [*range(wide, wide + places[0]), *range(wide), *range(wide + places[0], wide + len(rest))]
        result = g.emit("Transpose", result, perm=order)
    return result


def _tuples(g: Builder, indices: list[Item]) -> str:
    """Indices broadcast together, as tuples in a last dimension."""
    tensors = [g.name(item, dtypes.int64) for item in indices]
    if len(tensors) == 1:
        return g.emit("Unsqueeze", tensors[0], g.constant([-1]))
    total = tensors[0]
    for other in tensors[1:]:
        total = g.emit("Add", total, other)
    shape = g.emit("Shape", total)
    spread = [g.emit("Unsqueeze", g.emit("Expand", name, shape), g.constant([-1])) for name in tensors]
    return g.emit("Concat", *spread, axis=-1)


def unfold(g: Builder, out: Tensor, x: Item, dim: Item, size: Item, step: Item) -> str:
    at, length, stride = plain(dim) % x.value.ndim, plain(size), plain(step)
    count = (x.fixed_size(at) - length) // stride + 1
    windows = [[i * stride + j for j in range(length)] for i in range(count)]
    order = [d for d in range(out.ndim) if d != at + 1]
    name = g.emit("Gather", g.name(x), g.constant(windows), axis=at)
    return g.emit("Transpose", name, perm=[*order, at + 1])


def cross(g: Builder, out: Tensor, x: Item, y: Item, dim: Item) -> str:
    """The vector product along a dimension of three, the first if none is named: each element from the two others of both."""
    along = plain(dim)
    at = (
        out.shape.index(3) if along is None else along % out.ndim
    ) - out.ndim  # from the end: the arrays may have different numbers of dimensions
    next_, last = [1, 2, 0], [2, 0, 1]
    a, b = g.name(x, out.dtype), g.name(y, out.dtype)

    def of(name: str, places: list[int]) -> str:
        return g.emit("Gather", name, g.constant(places), axis=at)

    return g.emit("Sub", g.emit("Mul", of(a, next_), of(b, last)), g.emit("Mul", of(a, last), of(b, next_)))


def kron(g: Builder, out: Tensor, x: Item, y: Item) -> str:
    """Each element of the first times the whole second: all dimensions in pairs, each pair then one."""
    n = out.ndim
    pairs, sizes = [], []
    for item, own in ((x, 1), (y, 0)):
        name = g.name(item, out.dtype)
        if missing := n - item.value.ndim:
            name = g.emit("Unsqueeze", name, g.constant(list(range(missing))))
        sizes.append(g.emit("Shape", name))
        pairs.append(g.emit("Unsqueeze", name, g.constant([2 * i + own for i in range(n)])) if n else name)
    return g.emit("Reshape", g.emit("Mul", *pairs), g.emit("Mul", *sizes))


def roll(g: Builder, out: Tensor, x: Item, shifts: Item, dims: Item) -> str:
    name, at = g.name(x), plain(dims)
    if not at:
        flat = g.emit("Reshape", name, g.constant([-1]))
        size = g.emit("Reshape", g.emit("Size", name), g.constant([1]))
        return g.emit("Reshape", _rolled(g, flat, plain(shifts)[0], size, 0), g.shape_of(x))
    for shift, dim in zip(plain(shifts), at, strict=True):
        name = _rolled(g, name, shift, g.size_of(x, dim), dim)
    return name


def _rolled(g: Builder, name: str, shift: int, size: str, dim: int) -> str:
    """The last `shift` places of a dimension, modulo its size, before the others."""
    axis = g.constant([dim])
    cut = g.emit("Mod", g.emit("Sub", size, g.constant([shift])), size)
    back = g.emit("Slice", name, cut, g.constant([_END]), axis)
    return g.emit("Concat", back, g.emit("Slice", name, g.constant([0]), cut, axis), axis=dim)


def flip(g: Builder, out: Tensor, x: Item, dims: Item) -> str:
    at, n = plain(dims), len(plain(dims))
    ends, steps = g.constant([-_END] * n), g.constant([-1] * n)
    return g.emit("Slice", g.name(x), g.constant([-1] * n), ends, g.constant(list(at)), steps)


def triangle(upper: int) -> Callable:
    """A row of `triu` and `tril`."""
    return lambda g, out, x, k: (
        g.emit("Trilu", g.name(x), g.constant(plain(k)), upper=upper)
        if out.dtype is not dtypes.bool_
        else g.cast(g.emit("Trilu", g.name(x, dtypes.int32), g.constant(plain(k)), upper=upper), dtypes.bool_)
    )


# ------------------------------------------------------------------------------------------ tensors that are made


def _full(g: Builder, out: Tensor, sizes: str, value: Item) -> str:
    return g.emit("Expand", g.name(value, out.dtype), sizes)


def full(g: Builder, out: Tensor, sizes: Item, value: Item, *rest: Item) -> str:
    return _full(g, out, g.sizes(sizes), value)


def filled(value: int) -> Callable:
    """A row of `zeros`, `ones` and of `empty`, whose elements are anything."""
    return lambda g, out, sizes, *rest: _full(g, out, g.sizes(sizes), Item(value))


def new_filled(value: int) -> Callable:
    """A row of `new_zeros` and `new_ones`."""
    return lambda g, out, x, sizes, *rest: _full(g, out, g.sizes(sizes), Item(value))


def filled_like(value: int) -> Callable:
    """A row of `zeros_like` and `ones_like`."""
    return lambda g, out, x, *rest: _full(g, out, g.shape_of(x), Item(value))


def new_full(g: Builder, out: Tensor, x: Item, sizes: Item, value: Item, *rest: Item) -> str:
    return _full(g, out, g.sizes(sizes), value)


def full_like(g: Builder, out: Tensor, x: Item, value: Item, *rest: Item) -> str:
    return _full(g, out, g.shape_of(x), value)


def arange(g: Builder, out: Tensor, *given: Item) -> str:
    numbers = [
        item for item in given if isinstance(item.value, (int, float, Tensor)) and not isinstance(item.value, bool)
    ]
    numbers = numbers[:3] if len(given) > 6 else numbers[: len(given) - 4]
    start, end, step = {1: (Item(0), *numbers, Item(1)), 2: (*numbers, Item(1)), 3: tuple(numbers)}[len(numbers)]
    scalars = [g.emit("Reshape", g.name(n, out.dtype), g.constant([], dtypes.int64)) for n in (start, end, step)]
    return g.emit("Range", *scalars)


def linspace(g: Builder, out: Tensor, start: Item, end: Item, steps: Item, *rest: Item) -> str:
    """start + i (end - start) / (steps - 1)"""
    kind = out.dtype
    count = g.name(steps, dtypes.int64)
    count = g.emit("Reshape", count, g.constant([], dtypes.int64))
    places = g.cast(g.emit("Range", g.constant(0), count, g.constant(1)), kind)
    whole = g.emit("Max", g.cast(g.emit("Sub", count, g.constant(1)), kind), g.constant(1, kind))
    first = g.name(start, kind)
    step = g.emit("Div", g.emit("Sub", g.name(end, kind), first), whole)
    return g.emit("Add", first, g.emit("Mul", places, step))


def eye(g: Builder, out: Tensor, n: Item, *rest: Item) -> str:
    m = rest[0] if len(rest) > 4 else n
    shape = g.emit("Concat", g.vector(n), g.vector(m), axis=0)
    if out.dtype is dtypes.bool_:
        return g.cast(g.emit("EyeLike", g.emit("Expand", g.constant(0), shape)), out.dtype)
    return g.emit("EyeLike", _full(g, out, shape, Item(0)))


def diag_embed(g: Builder, out: Tensor, x: Item, offset: Item, dim1: Item, dim2: Item) -> str:
    """Zeros where an identity matrix, moved by the offset, has none."""
    n, moved = out.ndim, plain(offset)
    size = g.emit("Add", g.size_of(x, -1), g.constant([abs(moved)]))
    one = g.emit("EyeLike", g.emit("Expand", g.constant(0), g.emit("Concat", size, size, axis=0)), k=moved)
    wide = g.emit(
        "Unsqueeze", padded(g, x, _ends(max(-moved, 0), max(moved, 0)), "constant", Item(0)), g.constant([-1])
    )
    name = g.emit("Where", g.cast(one, dtypes.bool_), wide, g.constant(0, out.dtype))
    order, at = list(range(n - 2)), sorted([(plain(dim1) % n, n - 2), (plain(dim2) % n, n - 1)])
    for place, source in at:
        order.insert(place, source)
    return g.emit("Transpose", name, perm=order)


def _ends(first: int, last: int) -> Item:
    return Item([first, last])


def ravel(g: Builder, out: Tensor, x: Item) -> str:
    return g.emit("Reshape", g.name(x), g.constant([-1]))


def flipped(dim: int) -> Callable:
    """A row of `flipud` and `fliplr`."""
    return lambda g, out, x: flip(g, out, x, Item([dim]))


def trace(g: Builder, out: Tensor, x: Item) -> str:
    on = diagonal(g, out, x, Item(0), Item(0), Item(1))
    return g.emit("ReduceSum", on if x.value.dtype is out.dtype else g.cast(on, out.dtype), keepdims=0)


def constant_pad(g: Builder, out: Tensor, x: Item, pad: Item, value: Item) -> str:
    return padded(g, x, pad, "constant", value)


PAD_MODES = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


def pad(g: Builder, out: Tensor, x: Item, amounts: Item, mode: Item, value: Item) -> str:
    return padded(g, x, amounts, PAD_MODES[plain(mode)], value)


def padded_by(mode: str) -> Callable:
    """A row of `reflection_pad2d` and its relatives."""
    return lambda g, out, x, amounts: padded(g, x, amounts, PAD_MODES[mode], Item(None))


def padded(g: Builder, x: Item, amounts: Item, mode: str, value: Item) -> str:
    """torch counts from the last dimension; ONNX has all beginnings, then all ends."""
    n = x.value.ndim
    given = amounts.value if amounts.has_items else [Item(a) for a in amounts.value]
    before, after = [Item(0)] * n, [Item(0)] * n
    for i in range(len(given) // 2):
        before[n - 1 - i], after[n - 1 - i] = given[2 * i], given[2 * i + 1]
    fill = "" if mode != "constant" or value.value is None else g.name(value, x.value.dtype)
    name = g.name(x)
    if mode == "wrap" and g.opset < 19:
        return _wrapped(g, x, before, after)
    if x.value.dtype is dtypes.bool_:
        name, fill = g.cast(name, dtypes.int32), fill and g.cast(fill, dtypes.int32)
    inputs = [name, g.sizes(Item([*before, *after])), *([fill] if fill else [])]
    name = g.emit("Pad", *inputs, mode=mode)
    return g.cast(name, dtypes.bool_) if x.value.dtype is dtypes.bool_ else name


def _wrapped(g: Builder, x: Item, before: list[Item], after: list[Item]) -> str:
    """Circular padding by parts of the tensor itself, for opsets whose Pad has no such mode."""
    name = g.name(x)
    for dim, (low, high) in enumerate(zip(before, after, strict=True)):
        a, b, axis = plain(low), plain(high), g.constant([dim])
        parts = [name]
        if a < 0 or b < 0:
            raise CannotExport("circular padding by a negative amount")
        if a:
            parts.insert(0, g.emit("Slice", name, g.constant([-a]), g.constant([_END]), axis))
        if b:
            parts.append(g.emit("Slice", name, g.constant([0]), g.constant([b]), axis))
        name = g.emit("Concat", *parts, axis=dim) if len(parts) > 1 else name
    return name


def meshgrid(g: Builder, out: Any, parts: Item, indexing: Item | None = None) -> list[str]:
    order = [g.name(p) for p in parts.value]
    swap = indexing is not None and plain(indexing) == "xy"
    n, result = len(order), []
    for i, name in enumerate(order):
        at = {0: 1, 1: 0}.get(i, i) if swap else i
        result.append(g.emit("Reshape", name, g.constant([-1 if d == at else 1 for d in range(n)])))
    total = result[0]
    for other in result[1:]:
        total = g.emit("Add", total, other)
    shape = g.emit("Shape", total)
    return [g.emit("Expand", name, shape) for name in result]


ROWS_OF_NUMBERS: dict[str, Callable] = {"size": size, "numel": numel, "dim": lambda g, out, x: None}
ROWS: dict[str, Callable] = {
    "view": reshape, "reshape": reshape, "_unsafe_view": reshape, "view_as": like, "reshape_as": like, "flatten": flatten,
    "unflatten": unflatten, "permute": permute, "transpose": transpose, "swapaxes": transpose, "t": t, "numpy_T": t, "mT": matrix_transpose,
    "hstack": stacked(1, 1), "vstack": stacked(0, 2), "dstack": stacked(2, 3), "diagonal": diagonal, "diff": diff,
    "movedim": movedim, "unsqueeze": unsqueeze, "squeeze": squeeze, "contiguous": itself, "detach": itself, "clone": itself,
    "alias": itself, "lift_fresh": itself, "cpu": itself, "requires_grad_": itself, "expand": expand,
    "expand_as": expand_as, "broadcast_to": expand, "repeat": repeat, "tile": tile, "repeat_interleave": repeat_interleave,
    "slice": slice_, "narrow": narrow, "select": select, "cat": cat, "concat": cat, "stack": stack, "split": split_by_sizes,
    "split_with_sizes": split_by_sizes, "chunk": chunk, "tensor_split": split, "unbind": unbind, "gather": gather, "scatter": scatter,
    "index_select": index_select, "index": index, "roll": roll, "cross": cross, "linalg_cross": cross, "kron": kron, "unfold": unfold, "flip": flip, "triu": triangle(1), "tril": triangle(0),
    "full": full, "zeros": filled(0), "ones": filled(1), "empty": filled(0), "zeros_like": filled_like(0),
    "ones_like": filled_like(1), "empty_like": filled_like(0), "full_like": full_like, "new_zeros": new_filled(0),
    "new_ones": new_filled(1), "new_empty": new_filled(0), "new_full": new_full, "fill": full_like, "zero": filled_like(0),
    "scatter_add": scatter_add, "scatter_reduce": scatter_reduce, "index_add": index_add, "index_reduce": index_reduce, "index_copy": index_copy,
    "index_fill": index_fill, "index_put": index_put, "nonzero": nonzero, "masked_select": masked_select,
    "take_along_dim": take_along, "linspace": linspace, "eye": eye, "diag_embed": diag_embed,
    "ravel": ravel, "flipud": flipped(0), "fliplr": flipped(1), "trace": trace, "data": itself,
    **{f"reflection_pad{n}d": padded_by("reflect") for n in (1, 2, 3)},
    **{f"replication_pad{n}d": padded_by("replicate") for n in (1, 2, 3)},
    "arange": arange, "constant_pad_nd": constant_pad, "pad": pad, "meshgrid": meshgrid, "size": size,
}  # fmt: skip
