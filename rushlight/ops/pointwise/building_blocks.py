"""What kernels and gradients of elements are built from: masks by arithmetic on bits, wider types, pieces, memory order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.dispatch.errors import type_error
from ...core.dispatch.mode import take_target
from ...core.dispatch.op import primitive
from ...core.tensor.casting import cast, cast_like
from ...core.tensor.channels_last import dense_rows
from ...core.tensor.strides import ordered_among
from ...core.tensor.tensor import Tensor
from .checks import not_implemented

if TYPE_CHECKING:
    from ...core.types import Reduce

F32, F64 = np.dtype(np.float32), np.dtype(np.float64)
ZERO32, ONE32, ONE64 = (
    np.zeros((), F32),
    np.ones((), F32),
    np.ones((), F64),
)  # a Python number costs a ufunc 0.25 us more
_ufuncs: Any = np  # see `Reduce`
add_reduce: Reduce = _ufuncs.add.reduce
multiply_reduce: Reduce = _ufuncs.multiply.reduce
max_reduce: Reduce = _ufuncs.maximum.reduce
min_reduce: Reduce = _ufuncs.minimum.reduce
_SMALL = 1024  # elements below which NumPy's own selection beats arithmetic on bits


def dense(r):
    """A reduction's result made C-contiguous, as torch has it; NumPy keeps the order of the operand's axes."""
    if isinstance(r, np.ndarray) and r.ndim > 1:
        if not r.flags.c_contiguous:
            return np.ascontiguousarray(r, like=r)  # like: on meta, no memory
        if 1 in r.shape and (r.ndim > 2 or r.strides != (r.shape[1] * r.itemsize, r.itemsize)):
            return dense_rows(r)
    return r


def in_order_of(r, *arrays):
    """A fresh result of the operands `arrays` in the order of its axes that torch gives it; None among them is left out."""
    return ordered_among(r, arrays)


def shared_order(x, y, kind):
    """An empty array for the broadcast `x` and `y`, in the memory order that torch gives to their result."""
    return in_order_of(np.empty(np.broadcast_shapes(x.shape, y.shape), kind, like=x), x, y)


def in_shared_order(kernel):
    """A kernel of two broadcast arrays, whose result has the memory order that torch gives it."""

    def run(x, y):
        r = kernel(x, y)
        return in_order_of(r, x, y) if r.size else r

    return run


_NUMBERS = np.generic, int, float  # what kernels may return for no dimensions
_PYTHON_NUMBERS = (*_NUMBERS, complex)


def _single(b):
    """An array, or a placeholder of one while a program is captured, as float32; numbers as they are."""
    return b if isinstance(b, _NUMBERS) else b.astype(F32)


def widened(kernel):
    """A kernel of several NumPy calls that works on 16-bit floats in float32, and rounds once at the end."""

    def run(a, *rest):
        d = a.dtype
        if d is F32 or d is F64 or d.itemsize != 2 or d.kind in "iu":
            return kernel(a, *rest)
        rest = [_single(b) if getattr(b, "dtype", None) == d else b for b in rest]
        r = kernel(cast(a, F32), *rest)
        return (np.asanyarray(r) if isinstance(r, _NUMBERS) else r).astype(d)

    run.__name__, run.__doc__, run.__module__ = (
        kernel.__name__,
        kernel.__doc__,
        kernel.__module__,
    )
    return run


def in_single(t):
    """16-bit floats as float32: torch compares them with an option as float32 has it, where its own type would round it."""
    return t.float() if t.dtype.itemsize == 2 and t.dtype.is_floating_point else t


def rounded_as(t, like):
    """The tensor in the type of `like`: what was computed `in_single` of 16-bit floats is rounded once, as by torch's kernels."""
    return t if t.dtype is like.dtype else t.to(like.dtype)


def bits_of(d: np.dtype):
    """The signed integer type as wide as `d`, or None."""
    return _INTEGERS.get(d.itemsize) if d.kind in "fiuV" else None  # V: bfloat16


_INTEGERS = {2: np.dtype(np.int16), 4: np.dtype(np.int32), 8: np.dtype(np.int64)}


@primitive(public=False, name="zero_where", node="MaskedFillBackward0")
def zero_where(input, mask, /):
    """`input` with zeros where `mask` is true, also for infinities and nans.

    np.where costs 8 ns an element on a mask without order, and clearing the bits 0.4 ns.
    """
    d = input.dtype
    bits = bits_of(d)
    if input.size < _SMALL or bits is None or mask.dtype.kind != "b" or input.shape != mask.shape:
        r = np.where(mask, d.type(0), input)
        return r if mask.flags.c_contiguous and input.flags.c_contiguous else in_order_of(r, mask, input)
    keep = mask.astype(bits)
    keep -= 1
    keep &= input.view(bits)
    return in_order_of(keep.view(d), mask, input)


@zero_where.vjp("input")
def _(g, mask):
    return zero_where(g, mask)


@primitive(public=False, name="zeros_of", differentiable=False)
def zeros_of(input, /):
    """Zeros of the shape and type of `input`."""
    return np.zeros_like(input)


def zero_rule(g):
    """The gradient of a function that is flat almost everywhere."""
    return zeros_of(g)


def conjugate(t):
    """The conjugate of a tensor of complex numbers or of a Python number; any other tensor itself."""
    if not isinstance(t, Tensor):
        return t.conjugate()
    return t if t._array.dtype.kind != "c" else t.conj_physical()


# ---------------------------------------------------------------------------------------------- places


def elements_along(a, places, dim):
    """`np.take_along_axis`, which takes 10 us for its index; of vectors and the rows of a matrix in a fourth of that."""
    if type(a) is np.ndarray and a.ndim == places.ndim:
        if a.ndim == 1:
            return a[places]
        if a.ndim == 2 and dim in (1, -1) and len(a) == len(places):
            return a[np.arange(len(a))[:, None], places]
    return np.take_along_axis(a, places, dim)


# ---------------------------------------------------------------------------------------------- pieces

MANY = 1 << 17  # elements: a kernel of several NumPy calls, 0.2 to 3 ms then, may become a program (`jit_min_elements`)
SOME = 1 << 13  # elements: such a kernel of each element by itself, 20 us and more then
ANY = 1  # such a kernel of so many NumPy calls that one of few elements takes 50 us and more
DEAR = (
    500_000  # elements that a kernel of 20 ns and more an element works on before it becomes a program (`jit_warmup`)
)
COMPUTE_BOUND: dict[str, Any] = {"jit_min_elements": ANY, "jit_warmup": DEAR}
"""Options of a kernel of many steps an element, each a NumPy call: 20 ns to 1 us an element, by a program a tenth."""
LEAST_COUNTED = 1 << 12  # elements that a call counts for: fewer take such a kernel as long
CHUNK = 16384  # elements: the temporaries of one chunk stay in the cache (2.1 times faster than whole arrays at 7.3 million)


def in_chunks(step, arrays, *rest):
    """Call `step` on pieces of contiguous arrays of one shape."""
    flat = [a.reshape(-1) for a in arrays]
    if type(arrays[0]) is not np.ndarray:  # a device's, all at once
        return step(*flat, *rest)
    for i in range(0, flat[0].size, CHUNK):
        step(*[a[i : i + CHUNK] for a in flat], *rest)


def pieced(kernel):
    """A kernel of several NumPy calls on arrays of one shape that takes large arrays in pieces that fit the cache."""

    def run(a, *rest):
        if a.size <= 4 * CHUNK or not a.flags.c_contiguous or type(a) is not np.ndarray:
            return kernel(a, *rest)
        arrays = [a, *[b for b in rest if type(b) is np.ndarray]]
        if not all(b.shape == a.shape and b.dtype is a.dtype and b.flags.c_contiguous for b in arrays):
            return kernel(a, *rest)
        flat, metadata = [b.reshape(-1) for b in arrays], rest[len(arrays) - 1 :]
        r = a if take_target(a) else np.empty(a.shape, a.dtype)
        to = r.reshape(-1)
        for i in range(0, a.size, CHUNK):
            to[i : i + CHUNK] = kernel(*[b[i : i + CHUNK] for b in flat], *metadata)
        return r

    run.__name__, run.__doc__, run.__module__ = kernel.__name__, kernel.__doc__, kernel.__module__
    run.whole = kernel  # a GPU takes everything at once
    return run


def in_memory_order(kernel):
    """A kernel `f(x, ...)` of each element by itself whose result has the layout of `x`."""

    def run(x, *rest):
        if x.ndim < 2 or x.flags.c_contiguous:
            return kernel(x, *rest)
        if 0 in x.strides:  # repeated elements have no order of their own
            x = cast_like(x, x.dtype)
        order = sorted(range(x.ndim), key=lambda dim: -x.strides[dim])
        return kernel(np.asarray(x.transpose(order), order="C", like=x), *rest).transpose(np.argsort(order))

    run.__name__, run.__doc__, run.__module__ = kernel.__name__, kernel.__doc__, kernel.__module__
    return run


def by_rows(kernel):
    """A kernel `f(*arrays, dim)` on arrays of one shape that treats each slice along `dim` by itself, in blocks of rows."""

    def run(a, *rest):
        if a.size <= 4 * CHUNK or not a.flags.c_contiguous or type(a) is not np.ndarray:
            return kernel(a, *rest)
        *others, dim = rest
        if dim not in (-1, a.ndim - 1):
            return kernel(a, *rest)
        if not all(b.shape == a.shape and b.flags.c_contiguous for b in others):
            return kernel(a, *rest)
        n = a.shape[-1]
        rows, step = [b.reshape(-1, n) for b in (a, *others)], max(1, CHUNK // n)
        r = np.empty(a.shape, a.dtype)
        to = r.reshape(-1, n)
        for i in range(0, len(to), step):
            to[i : i + step] = kernel(*[b[i : i + step] for b in rows], -1)
        return r

    run.__name__, run.__doc__, run.__module__ = kernel.__name__, kernel.__doc__, kernel.__module__
    run.whole = kernel
    return run


def of_arrays(ufunc):
    """`ufunc` for two arrays: a number makes it raise, so that the careful path can explain (see `tensors_only`)."""

    def run(x, y):
        if isinstance(y, _PYTHON_NUMBERS):
            raise type_error("a number where torch wants a tensor")
        return ufunc(x, y)

    return run


def for_types(kinds: str, word: str, kernel):
    """`kernel`, with torch's error for arrays whose NumPy kind is not among `kinds` (bfloat16 is 'V')."""

    def run(a, *rest):
        if a.dtype.kind not in kinds:
            raise not_implemented(word, a.dtype)
        return kernel(a, *rest)

    run.__name__, run.__doc__ = getattr(kernel, "__name__", word), kernel.__doc__
    return run
