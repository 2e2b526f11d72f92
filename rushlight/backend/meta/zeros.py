"""Arrays of zeros that take no memory, and NumPy's functions on them that compute nothing.

`Zeros` is an array in the address range of outlines, where the system reads zeros. A ufunc of one is run on a small array
with the same dimensions and layout (at most two elements in each), which tells type, order in memory and errors of types;
shapes follow from the real ones. What has no rule here runs on the zeros themselves: slower, and with the same shape.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from operator import index
from typing import Any

import numpy as np

from ...core.device.buffer import outline, outlined


def holds(a: np.ndarray) -> bool:
    """Whether an array is in the range of outlines, so that it takes no memory."""
    return outlined(a)


def plain(a: np.ndarray) -> np.ndarray:
    """The array without its class."""
    return a.view(np.ndarray) if type(a) is not np.ndarray else a


class Zeros(np.ndarray):
    """An array of zeros without memory."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **kwargs: Any) -> Any:
        if method == "at":
            return None
        rule = _METHODS.get(method)
        if rule is None or ufunc.signature is not None and ufunc not in _CORE:
            given = [plain(a) if isinstance(a, np.ndarray) else a for a in inputs]
            return getattr(ufunc, method)(*given, **({} if out is None else {"out": out}), **kwargs)
        small, shapes = rule(ufunc, inputs, kwargs)
        results = [shaped(s, shape) for s, shape in zip(small, shapes, strict=True)]
        if out is not None:
            _check_out(results, out)
            return out[0] if len(out) == 1 else out
        return results[0] if len(results) == 1 else tuple(results)

    def __array_function__(self, function: Callable, types: Any, args: tuple, kwargs: dict) -> Any:
        rule = _FUNCTIONS.get(function)
        if rule is not None:
            return rule(*args, **kwargs)
        return super().__array_function__(function, types, args, kwargs)

    def copy(self, order: Any = "C") -> Any:
        return _copied(self, order)

    def astype(
        self, dtype: Any, order: Any = "K", casting: Any = "unsafe", subok: bool = True, copy: bool = True
    ) -> Any:
        sample_of(self).astype(dtype, casting=casting)  # raises where there is no such cast
        return _copied(self, order, np.dtype(dtype))

    def __setitem__(self, index: Any, value: Any) -> None:
        np.broadcast_to(value, self[index].shape)  # raises where it does not fit; there is nothing to write

    def __getitem__(self, index: Any) -> Any:
        parts = index if isinstance(index, tuple) else (index,)
        if any(isinstance(i, np.ndarray) and i.ndim and i.dtype.kind in "iu" for i in parts):
            return _taken(self, parts)
        return super().__getitem__(index)

    def argmax(self, axis: Any = None, out: Any = None, *, keepdims: bool = False) -> Any:
        return _places(self, axis, out, keepdims=keepdims)

    argmin = argmax

    def argsort(self, axis: Any = -1, *rest: Any, **kwargs: Any) -> Any:
        return _order(self, axis)

    def repeat(self, repeats: Any, axis: Any = None) -> Any:
        if not isinstance(repeats, (int, np.integer)):
            return plain(self).repeat(repeats, axis)
        a = self.reshape(-1) if axis is None else self
        d = np.lib.array_utils.normalize_axis_index(axis or 0, a.ndim)
        return outline((*a.shape[:d], a.shape[d] * int(repeats), *a.shape[d + 1 :]), a.dtype).view(Zeros)

    def take(self, indices: Any, axis: Any = None, out: Any = None, mode: Any = "raise") -> Any:
        return _take(self, indices, axis, out)

    def sort(self, *args: Any, **kwargs: Any) -> None:
        pass

    partition = fill = sort  # type: ignore[assignment]

    def dot(self, b: Any, out: Any = None) -> Any:
        return _dot(self, b, out)

    def reshape(self, *shape: Any, order: Any = "C", copy: Any = None) -> Any:
        """Without a copy: where NumPy would make one, zeros elsewhere."""
        wanted = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
        try:
            return plain(self).reshape(*shape, order=order, copy=False).view(Zeros)
        except ValueError:
            return outline(_completed(tuple(wanted), self), self.dtype).view(Zeros)

    def ravel(self, order: Any = "C") -> Any:
        return self.reshape(-1)

    def flatten(self, order: Any = "C") -> Any:
        return outline((self.size,), self.dtype).view(Zeros)


def _completed(shape: tuple[int, ...], a: np.ndarray) -> tuple[int, ...]:
    """`shape` with the size of the entry that is -1. Raises ValueError where `a` does not have as many elements."""
    shape = tuple(map(index, shape))
    if shape.count(-1) == 1:
        rest = prod(n for n in shape if n != -1)
        shape = tuple(a.size // rest if n == -1 and rest else n for n in shape)
    if prod(shape) != a.size or min(shape, default=0) < 0:
        raise ValueError(f"cannot reshape array of size {a.size} into shape {shape}")
    return shape


# ---------------------------------------------------------------------------------------------- small arrays


def sample_of(a: Any) -> Any:
    """A small array with the dimensions' order in memory of `a`; numbers as they are."""
    if not isinstance(a, np.ndarray):
        return a
    shape = [min(n, 2) for n in a.shape]
    order = sorted(range(a.ndim), key=lambda d: (-abs(a.strides[d]), d))
    repeated = [d for d in range(a.ndim) if not a.strides[d] and a.shape[d] > 1]
    base = np.zeros([1 if d in repeated else shape[d] for d in order], a.dtype)
    base = base.transpose(np.argsort(order)) if a.ndim else base
    return np.broadcast_to(base, shape) if repeated else base


def shaped(small: np.ndarray, shape: tuple[int, ...]) -> Any:
    """Zeros of this shape, with the type and the order in memory of a small array."""
    small = np.asarray(small)
    order = sorted(range(len(shape)), key=lambda d: (-abs(small.strides[d]), d))
    if any(n < 2 for n in small.shape):  # strides of dimensions with one element say nothing
        known = [d for d in order if small.shape[d] > 1]
        order = _filled_in(known, len(shape))
    strides, n = [0] * len(shape), small.itemsize
    for d in reversed(order):
        strides[d] = n
        n *= max(shape[d], 1)
    return outline(shape, small.dtype, tuple(strides)).view(Zeros)


def _filled_in(known: list[int], ndim: int) -> list[int]:
    """All dimensions, those known in their order; each other one after that before it."""
    if known == sorted(known):
        return list(range(ndim))
    rest = [d for d in range(ndim) if d not in known]
    return [*rest, *known]


def _copied(a: np.ndarray, order: Any, kind: Any = None) -> Any:
    if order == "C" or (order == "A" and not a.flags.f_contiguous):
        return outline(a.shape, kind or a.dtype).view(Zeros)
    small = sample_of(a)
    small = small.astype(kind or a.dtype, order="F" if order in ("F", "A") else "K")
    return shaped(small, a.shape)


def _check_out(results: list, out: tuple) -> None:
    for r, o in zip(results, out, strict=True):
        if o is not None and np.broadcast_shapes(r.shape, o.shape) != o.shape:
            raise ValueError(f"non-broadcastable output operand with shape {o.shape} doesn't match {r.shape}")


# ---------------------------------------------------------------------------------------------- ufuncs

Rule = Callable[[Any, tuple, dict], tuple[list, list]]


def _shape(a: Any) -> tuple[int, ...]:
    return np.shape(a)


def _call(ufunc: Any, inputs: tuple, kwargs: dict) -> tuple[list, list]:
    kwargs = {k: sample_of(v) if k == "where" else v for k, v in kwargs.items()}
    small = ufunc(*[sample_of(a) if ufunc.signature is None else _core(a) for a in inputs], **kwargs)
    small = list(small) if isinstance(small, tuple) else [small]
    if ufunc.signature is not None:
        shape = _CORE[ufunc](*map(_shape, inputs))
        return [np.zeros([min(n, 2) for n in shape], np.asarray(s).dtype) for s in small], [shape] * len(small)
    return small, [np.broadcast_shapes(*map(_shape, inputs))] * len(small)


def _core(a: Any) -> Any:
    return np.zeros((1,) * np.ndim(a), a.dtype)


def _axes(axis: Any, ndim: int) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(ndim))
    axes = axis if isinstance(axis, tuple) else (axis,)
    return tuple(np.lib.array_utils.normalize_axis_index(int(a), ndim) for a in axes)


def _reduce(ufunc: Any, inputs: tuple, kwargs: dict) -> tuple[list, list]:
    a, *rest = inputs
    names = ("axis", "dtype", "out", "keepdims", "initial", "where")
    kwargs = {**dict(zip(names, rest, strict=False)), **kwargs}
    kwargs.pop("out", None)
    if "where" in kwargs:
        kwargs["where"] = sample_of(kwargs["where"])
    small = ufunc.reduce(sample_of(a), **kwargs)
    axes = _axes(kwargs.get("axis", 0), a.ndim)
    if kwargs.get("keepdims"):
        shape = tuple(1 if d in axes else n for d, n in enumerate(a.shape))
    else:
        shape = tuple(n for d, n in enumerate(a.shape) if d not in axes)
    if 0 in a.shape:
        ufunc.reduce(plain(a), **{k: v for k, v in kwargs.items() if k != "where"})  # raises where it has no identity
    return [small], [shape]


def _accumulate(ufunc: Any, inputs: tuple, kwargs: dict) -> tuple[list, list]:
    return [ufunc.accumulate(sample_of(inputs[0]), *inputs[1:], **kwargs)], [inputs[0].shape]


def _outer(ufunc: Any, inputs: tuple, kwargs: dict) -> tuple[list, list]:
    a, b = inputs
    return [ufunc.outer(sample_of(a), sample_of(b), **kwargs)], [(*_shape(a), *_shape(b))]


_METHODS: dict[str, Rule] = {"__call__": _call, "reduce": _reduce, "accumulate": _accumulate, "outer": _outer}


def _matmul_shape(a: tuple, b: tuple) -> tuple[int, ...]:
    if a[-1] != b[-2 if len(b) > 1 else 0]:
        raise ValueError(f"matmul: Input operand 1 has a mismatch in its core dimension 0 (shapes {a} and {b})")
    lead = np.broadcast_shapes(a[:-2], b[:-2])
    return (*lead, *a[-2:-1], *(b[-1:] if len(b) > 1 else ()))


_CORE: dict[Any, Callable] = {
    np.matmul: _matmul_shape,
    np.vecdot: lambda a, b: np.broadcast_shapes(a[:-1], b[:-1]),
}

# ---------------------------------------------------------------------------------------------- functions


def _dot(a: Any, b: Any, out: Any = None) -> Any:
    if not (np.ndim(a) and np.ndim(b)):
        return np.multiply(a, b)
    k = -2 if np.ndim(b) > 1 else -1
    if a.shape[-1] != b.shape[k]:
        raise ValueError(f"shapes {a.shape} and {b.shape} not aligned")
    shape = (*a.shape[:-1], *b.shape[:k], *(b.shape[-1:] if k == -2 else ()))
    kind = np.dot(_core(a).reshape(-1), _core(b).reshape(-1)).dtype
    return out if out is not None else outline(shape, kind).view(Zeros)


def _einsum(subscripts: str, *operands: Any, **kwargs: Any) -> Any:
    terms, _, result = subscripts.replace(" ", "").partition("->")
    if "." in subscripts or "->" not in subscripts or kwargs.get("out") is not None:
        return np.einsum(subscripts, *map(plain, operands), **kwargs)
    small = np.einsum(subscripts, *map(_core, operands))
    sizes: dict[str, int] = {}
    for term, a in zip(terms.split(","), operands, strict=True):
        for letter, n in zip(term, a.shape, strict=True):
            if sizes.setdefault(letter, n) != n and 1 not in (n, sizes[letter]):
                raise ValueError(f"operands could not be broadcast together: {letter} is {sizes[letter]} and {n}")
            sizes[letter] = max(sizes[letter], n)
    return outline(tuple([sizes[letter] for letter in result]), small.dtype).view(Zeros)


def _where(condition: Any, *both: Any) -> Any:
    if not both:
        return np.where(plain(condition))
    small = np.where(*map(sample_of, (condition, *both)))
    return shaped(small, np.broadcast_shapes(*map(_shape, (condition, *both))))


def _made_like(
    a: Any, fill_value: Any = 0, dtype: Any = None, order: Any = "K", subok: bool = True, shape: Any = None
) -> Any:
    kind = np.dtype(dtype or a.dtype)
    if shape is not None:
        return outline(tuple(np.atleast_1d(shape)), kind).view(Zeros)
    return _copied(a, order, kind)


def _places(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Any:
    """One place for each slice along `axis`."""
    small = np.argmax(sample_of(a), axis, keepdims=bool(keepdims))
    axes = _axes(axis, a.ndim)
    if not np.prod([a.shape[d] for d in axes]):
        raise ValueError("attempt to get argmax of an empty sequence")
    kept = [1 if d in axes else n for d, n in enumerate(a.shape)]
    shape = kept if keepdims else [n for d, n in enumerate(kept) if d not in axes]
    return outline(tuple(shape), small.dtype).view(Zeros) if out is None else out


def _order(a: Any, axis: Any = -1, *rest: Any, **kwargs: Any) -> Any:
    """A place for each element."""
    if axis is None:
        return outline((a.size,), np.intp).view(Zeros)
    np.lib.array_utils.normalize_axis_index(axis, a.ndim)
    return outline(a.shape, np.intp).view(Zeros)


def _sorted(a: Any, axis: Any = -1, *rest: Any, **kwargs: Any) -> Any:
    return a.flatten() if axis is None else _copied(a, "K")


def _take(a: Any, indices: Any, axis: Any = None, out: Any = None, mode: Any = "raise") -> Any:
    given = _shape(indices)
    if axis is None:
        shape: tuple[int, ...] = given
    else:
        d = np.lib.array_utils.normalize_axis_index(axis, np.ndim(a))
        shape = (*a.shape[:d], *given, *a.shape[d + 1 :])
    return outline(shape, a.dtype).view(Zeros) if out is None else out


def _take_along(a: Any, indices: Any, axis: Any = -1) -> Any:
    d = np.lib.array_utils.normalize_axis_index(axis, a.ndim)
    rest = np.broadcast_shapes(*[(*_shape(x)[:d], 1, *_shape(x)[d + 1 :]) for x in (a, indices)])
    return outline((*rest[:d], indices.shape[d], *rest[d + 1 :]), a.dtype).view(Zeros)


def _taken(a: Any, parts: tuple) -> Any:
    """`a[parts]` with arrays of integers among the parts, which NumPy would read element by element."""
    arrays = [i for i in parts if isinstance(i, (np.ndarray, int, np.integer)) and not isinstance(i, bool)]
    lead = np.broadcast_shapes(*map(_shape, arrays))
    chosen = [i is not None and i is not Ellipsis and not isinstance(i, slice) for i in parts]
    spans = [slice(0, 1) if c else i for i, c in zip(parts, chosen, strict=True)]
    marked = np.broadcast_to(np.zeros(()), a.shape)[tuple(spans)]  # raises where there are too many
    before = _dimensions_before(parts, chosen.index(True), a.ndim)
    places = [_dimensions_before(parts, k, a.ndim) for k, c in enumerate(chosen) if c]
    rest = tuple(n for d, n in enumerate(marked.shape) if d not in places)
    together = places == list(range(before, before + len(places)))
    shape = (*rest[:before], *lead, *rest[before:]) if together else (*lead, *rest)
    return outline(shape, a.dtype).view(Zeros)


def _dimensions_before(parts: tuple, k: int, ndim: int) -> int:
    """How many dimensions of the result, each array's counted as one, come before the k-th part."""
    used = sum(i is not None and i is not Ellipsis for i in parts)
    return sum(ndim - used if i is Ellipsis else 1 for i in parts[:k])


def _contiguous(a: Any, dtype: Any, order: Any) -> Any:
    if (order != "C" or a.flags.c_contiguous) and dtype in (None, a.dtype):
        return a
    return _copied(a, order or "K", dtype)


def _padded(a: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Any:
    pairs = np.broadcast_to(pad_width, (a.ndim, 2)).tolist()
    return outline(tuple(n + b + e for n, (b, e) in zip(a.shape, pairs, strict=True)), a.dtype).view(Zeros)


def _cumulated(ufunc: Any) -> Callable:
    def rule(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        kind = ufunc(sample_of(a), axis, dtype).dtype
        return out if out is not None else outline((a.size,) if axis is None else a.shape, kind).view(Zeros)

    return rule


def _made(shape: Any, *rest: Any, dtype: Any = None, **options: Any) -> Any:
    """`like=` an array of zeros: (shape, dtype)."""
    return outline(tuple(np.atleast_1d(shape).tolist()), dtype or (rest[0] if rest else np.float64)).view(Zeros)


def _made_full(shape: Any, fill_value: Any, dtype: Any = None, **options: Any) -> Any:
    return _made(shape, dtype or np.asarray(fill_value).dtype)


def _concatenate(arrays: Any, axis: Any = 0, out: Any = None, **kwargs: Any) -> Any:
    small = np.concatenate([sample_of(a) for a in arrays], axis, **kwargs)
    if axis is None:
        return outline((sum(prod(a.shape) for a in arrays),), small.dtype).view(Zeros)
    d = np.lib.array_utils.normalize_axis_index(axis, arrays[0].ndim)
    for a in arrays:
        if a.shape[:d] != arrays[0].shape[:d] or a.shape[d + 1 :] != arrays[0].shape[d + 1 :]:
            raise ValueError(f"all the input array dimensions except for the concatenation axis must match: {a.shape}")
    shape = (*arrays[0].shape[:d], sum(a.shape[d] for a in arrays), *arrays[0].shape[d + 1 :])
    if out is not None:
        return out
    return shaped(small, shape)


def _nothing(*args: Any, **kwargs: Any) -> None:
    pass


_FUNCTIONS: dict[Callable, Callable] = {
    np.copyto: lambda dst, src, *rest, **kwargs: np.broadcast_to(src, dst.shape) is None,
    np.put_along_axis: _nothing,
    np.putmask: _nothing,
    np.place: _nothing,
    np.put: _nothing,
    np.dot: _dot,
    np.einsum: _einsum,
    np.where: _where,
    np.concatenate: _concatenate,
    np.argmax: _places,
    np.argmin: _places,
    np.argsort: _order,
    np.sort: _sorted,
    np.take: _take,
    np.take_along_axis: _take_along,
    np.pad: _padded,
    np.cumsum: _cumulated(np.cumsum),
    np.cumprod: _cumulated(np.cumprod),
    np.tril: lambda a, k=0: _copied(a, "C"),
    np.triu: lambda a, k=0: _copied(a, "C"),
    np.tri: lambda n, m=None, k=0, dtype=float, **kw: _made((n, n if m is None else m), dtype),
    np.empty: _made,
    np.zeros: _made,
    np.ones: _made,
    np.full: _made_full,
    np.reshape: lambda a, shape, order="C", *, copy=None: a.view(Zeros).reshape(shape),
    np.ascontiguousarray: lambda a, dtype=None: _contiguous(a if a.ndim else a.reshape(1), dtype, "C"),
    np.asarray: lambda a, dtype=None, order=None, **kw: _contiguous(a, dtype, order),
    np.array: lambda a, dtype=None, order="K", **kw: _copied(a, order or "K", dtype),
    np.empty_like: lambda a, dtype=None, order="K", subok=True, shape=None, **kw: _made_like(a, 0, dtype, order, subok, shape),
    np.zeros_like: lambda a, dtype=None, order="K", subok=True, shape=None, **kw: _made_like(a, 0, dtype, order, subok, shape),
    np.ones_like: lambda a, dtype=None, order="K", subok=True, shape=None, **kw: _made_like(a, 0, dtype, order, subok, shape),
    np.full_like: lambda a, fill_value, dtype=None, order="K", subok=True, shape=None, **kw: _made_like(a, 0, dtype, order, subok, shape),
}  # fmt: skip
# NumPy hands over its own functions, also where someone has wrapped them.
_FUNCTIONS.update({getattr(f, "__wrapped__", f): rule for f, rule in _FUNCTIONS.items()})
