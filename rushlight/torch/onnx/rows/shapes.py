"""Views, joining, indexing, and tensors that are made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....core.tensor import dtype as dtypes
from ....core.tensor.tensor import Tensor
from ..graph import Builder, CannotExport, Item, plain

__all__ = ["ROWS", "ROWS_OF_NUMBERS"]

_END = 2**62


def size(g: Builder, out: Any, x: Item, dim: Item | None = None) -> Item | None:
    if not g.dynamic or x.is_constant:
        return None
    if dim is None:
        return Item([_one_size(g, x, i) for i in range(x.value.ndim)])
    return _one_size(g, x, plain(dim))


def _one_size(g: Builder, x: Item, dim: int) -> Item:
    name = g.emit("Squeeze", g.size_of(x, dim), g.constant([0]))
    return Item(x.value.shape[dim], name)


def numel(g: Builder, out: int, x: Item) -> Item | None:
    return Item(out, g.emit("Size", g.name(x))) if g.dynamic else None


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
    if not g.dynamic:
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
    return g.emit("Squeeze", g.name(x), g.constant(dims)) if dims else g.name(x)


def itself(g: Builder, out: Tensor, x: Item, *rest: Item) -> str:
    return g.name(x)


def expand(g: Builder, out: Tensor, x: Item, sizes: Item, *rest: Item) -> str:
    parts = sizes.value if isinstance(sizes.value[0], Item) else [Item(n) for n in sizes.value]
    return g.emit("Expand", g.name(x), g.sizes(Item([Item(1) if p.value == -1 else p for p in parts])))


def expand_as(g: Builder, out: Tensor, x: Item, other: Item) -> str:
    return g.emit("Expand", g.name(x), g.shape_of(other))


def repeat(g: Builder, out: Tensor, x: Item, counts: Item) -> str:
    name, more = g.name(x), len(plain(counts)) - x.value.ndim
    if more:
        name = g.emit("Unsqueeze", name, g.constant(list(range(more))))
    return g.emit("Tile", name, g.sizes(counts))


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
    first = int(plain(start))
    return g.emit(
        "Slice", g.name(x), g.constant([first]), g.constant([first + plain(length)]), g.constant([plain(dim)])
    )


def select(g: Builder, out: Tensor, x: Item, dim: Item, index: Item) -> str:
    return g.emit("Gather", g.name(x), g.name(index, dtypes.int64), axis=plain(dim))


def cat(g: Builder, out: Tensor, parts: Item, dim: Item) -> str:
    kept = [p for p in parts.value if tuple(p.value.shape) != (0,)]
    return g.emit("Concat", *[g.name(p, out.dtype) for p in kept], axis=plain(dim))


def stack(g: Builder, out: Tensor, parts: Item, dim: Item) -> str:
    at = g.constant([plain(dim) % out.ndim])
    return g.emit("Concat", *[g.emit("Unsqueeze", g.name(p, out.dtype), at) for p in parts.value], axis=plain(dim))


def split(g: Builder, out: Any, x: Item, sizes: Item, dim: Item) -> list[str]:
    lengths = g.constant([part.shape[plain(dim)] for part in out])
    return g.several("Split", [g.name(x), lengths], len(out), axis=plain(dim))


def unbind(g: Builder, out: Any, x: Item, dim: Item) -> list[str]:
    return [g.emit("Gather", g.name(x), g.constant(i), axis=plain(dim)) for i in range(len(out))]


def gather(g: Builder, out: Tensor, x: Item, dim: Item, index: Item, *rest: Item) -> str:
    return g.emit("GatherElements", g.name(x), g.name(index), axis=plain(dim))


def scatter(g: Builder, out: Tensor, x: Item, dim: Item, index: Item, source: Item, *rest: Item) -> str:
    if rest:
        raise CannotExport("scatter that reduces")
    values = g.name(source, out.dtype)
    if not isinstance(source.value, Tensor) or source.value.ndim == 0:
        values = g.emit("Expand", values, g.shape_of(index))
    return g.emit("ScatterElements", g.name(x), g.name(index), values, axis=plain(dim))


def index_select(g: Builder, out: Tensor, x: Item, dim: Item, index: Item) -> str:
    return g.emit("Gather", g.name(x), g.name(index), axis=plain(dim))


def index(g: Builder, out: Tensor, x: Item, indices: Item) -> str:
    given = [(i, item) for i, item in enumerate(indices.value) if item.value is not None]
    if len(given) == 1:
        at, item = given[0]
        if item.value.dtype in (dtypes.bool_, dtypes.uint8):
            if at:
                raise CannotExport("a mask that is not the first index")
            places = g.emit("Transpose", g.emit("NonZero", g.name(item, dtypes.bool_)), perm=[1, 0])
            return g.emit("GatherND", g.name(x), places)
        return g.emit("Gather", g.name(x), g.name(item, dtypes.int64), axis=at)
    if any(item.value.dtype is dtypes.bool_ for _, item in given):
        raise CannotExport("a mask among several indices")
    return _gathered(g, x, given)


def _gathered(g: Builder, x: Item, given: list[tuple[int, Item]]) -> str:
    """x[..., i, j, ...] with several tensors: the indexed dimensions in front, one tuple of indices for each element."""
    places, n = [i for i, _ in given], x.value.ndim
    rest = [d for d in range(n) if d not in places]
    name = g.name(x)
    if places != list(range(len(places))):
        name = g.emit("Transpose", name, perm=[*places, *rest])
    shape = None
    tensors = [g.name(item, dtypes.int64) for _, item in given]
    total = tensors[0]
    for other in tensors[1:]:
        total = g.emit("Add", total, other)
    shape = g.emit("Shape", total)
    spread = [g.emit("Unsqueeze", g.emit("Expand", name_, shape), g.constant([-1])) for name_ in tensors]
    result = g.emit("GatherND", name, g.emit("Concat", *spread, axis=-1))
    if places == list(range(places[0], places[0] + len(places))) and places[0]:
        wide = max(item.value.ndim for _, item in given)
        order = [*range(wide, wide + places[0]), *range(wide), *range(wide + places[0], wide + len(rest))]
        result = g.emit("Transpose", result, perm=order)
    return result


def unfold(g: Builder, out: Tensor, x: Item, dim: Item, size: Item, step: Item) -> str:
    at, length, stride = plain(dim) % x.value.ndim, plain(size), plain(step)
    windows = [[i * stride + j for j in range(length)] for i in range(out.shape[at])]
    order = [d for d in range(out.ndim) if d != at + 1]
    name = g.emit("Gather", g.name(x), g.constant(windows), axis=at)
    return g.emit("Transpose", name, perm=[*order, at + 1])


def roll(g: Builder, out: Tensor, x: Item, shifts: Item, dims: Item) -> str:
    name, at = g.name(x), plain(dims)
    if not at:
        raise CannotExport("roll of all elements")
    for shift, dim in zip(plain(shifts), at, strict=True):
        axis = g.constant([dim])
        back = g.emit("Slice", name, g.constant([-shift]), g.constant([_END]), axis)
        front = g.emit("Slice", name, g.constant([0]), g.constant([-shift]), axis)
        name = g.emit("Concat", back, front, axis=dim) if shift else name
    return name


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


def constant_pad(g: Builder, out: Tensor, x: Item, pad: Item, value: Item) -> str:
    return padded(g, x, plain(pad), "constant", value)


def pad(g: Builder, out: Tensor, x: Item, amounts: Item, mode: Item, value: Item) -> str:
    how = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}[plain(mode)]
    return padded(g, x, plain(amounts), how, value)


def padded(g: Builder, x: Item, amounts: Any, mode: str, value: Item) -> str:
    """torch counts from the last dimension; ONNX has all beginnings, then all ends."""
    n = x.value.ndim
    before, after = [0] * n, [0] * n
    for i in range(len(amounts) // 2):
        before[n - 1 - i], after[n - 1 - i] = amounts[2 * i], amounts[2 * i + 1]
    kind = x.value.dtype
    fill = "" if mode != "constant" or value.value is None else g.name(value, kind)
    inputs = [g.name(x), g.constant([*before, *after]), *([fill] if fill else [])]
    return g.emit("Pad", *inputs, mode=mode)


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
    "unflatten": unflatten, "permute": permute, "transpose": transpose, "swapaxes": transpose, "t": t, "numpy_T": t,
    "movedim": movedim, "unsqueeze": unsqueeze, "squeeze": squeeze, "contiguous": itself, "detach": itself, "clone": itself,
    "alias": itself, "lift_fresh": itself, "cpu": itself, "requires_grad_": itself, "expand": expand,
    "expand_as": expand_as, "broadcast_to": expand, "repeat": repeat, "tile": repeat, "repeat_interleave": repeat_interleave,
    "slice": slice_, "narrow": narrow, "select": select, "cat": cat, "concat": cat, "stack": stack, "split": split,
    "split_with_sizes": split, "chunk": split, "tensor_split": split, "unbind": unbind, "gather": gather, "scatter": scatter,
    "index_select": index_select, "index": index, "roll": roll, "unfold": unfold, "flip": flip, "triu": triangle(1), "tril": triangle(0),
    "full": full, "zeros": filled(0), "ones": filled(1), "empty": filled(0), "zeros_like": filled_like(0),
    "ones_like": filled_like(1), "empty_like": filled_like(0), "full_like": full_like, "new_zeros": new_filled(0),
    "new_ones": new_filled(1), "new_empty": new_filled(0), "new_full": new_full, "fill": full_like, "zero": filled_like(0),
    "arange": arange, "constant_pad_nd": constant_pad, "pad": pad, "meshgrid": meshgrid, "size": size,
}  # fmt: skip
