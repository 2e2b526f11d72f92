"""Elements of one type as those of another, by torch's rules, and the memory that holds them.

Where a whole number cannot hold a float (too large, infinity, NaN), torch's cast on x86-64 is the processor's: to int32
and to narrower types the lowest int32, cut to the type's bits; to int64 its lowest number; to uint64 what C compilers make
of two such instructions. So is NumPy's cast on such a machine, measured for all types, sizes and strides:
tests/core/test_casting.py holds the numbers. `castable` prepares the elements where it is not; on other processors, whose
casts end at the nearest number, all floats: the numbers are the same everywhere. Every cast of a tensor's
elements goes through this file; numbers that are known to fit may be cast by `astype`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..device.buffer import Buffer
from ..dispatch.extension_points import copy_elements
from ..dispatch.mode import thread
from ..warn import warn_once
from .strides import dense_strides, with_strides

if TYPE_CHECKING:
    from ..types import Array

LARGE = 16384  # elements of a copy that generated code may make
_I32, _I64, _F16 = (np.dtype(t) for t in (np.int32, np.int64, np.float16))
with np.errstate(invalid="ignore"):
    _AS_X86 = int(np.array([3e9], np.float32).astype(_I32)[0]) == -(2**31)  # whether NumPy's cast is that of x86-64


def castable(a: Array, new: np.dtype) -> np.ndarray:
    """The elements from which NumPy's cast to `new` makes torch's.

    Of complex numbers the real parts. float64 becomes uint8 through int64: 2**32 + 5.0 gives 5.
    """
    if a.dtype.kind == "c":
        if new.kind in "cb":
            return a
        warn_once("Casting complex values to real discards the imaginary part")
        return castable(a.real, new)
    if new.kind == "u" and a.dtype.kind in "fV":
        if new.itemsize == 4:
            return _unsigned(a, _I32)
        if new.itemsize == 1 and a.dtype.itemsize == 8:
            return _whole(a, _I64)
        if new.itemsize == 8 and not _AS_X86:
            return _unsigned(a, _I64)
    if not _AS_X86 and new.kind in "iu" and a.dtype.kind in "fV":
        return _whole(a, _I64 if new.itemsize == 8 else _I32)
    return a


def _whole(a: np.ndarray, new: np.dtype) -> np.ndarray:
    """Floats as int32 or int64: the lowest number for those that do not fit."""
    if _AS_X86:
        return a.astype(new)
    wide = a if a.dtype.itemsize > 2 else a.astype(np.float32)
    limit = 2.0 ** (8 * new.itemsize - 1)
    return np.where((wide > -limit - 1) & (wide < limit), wide, -limit).astype(new)


def _unsigned(a: np.ndarray, signed: np.dtype) -> np.ndarray:
    """Floats as unsigned numbers of the size of `signed`: of its own range, or as far above it.

    To uint32 by the rule that torch's vectors follow; single elements, such as the last ones, it cuts from int64, as
    NumPy's loops do, too. Here all elements are converted alike.
    """
    if a.dtype == _F16 and signed == _I32:
        return _whole(a, _I64)
    a = a if a.dtype.itemsize > 2 else a.astype(np.float32)
    bits = 8 * signed.itemsize - 1
    high, unsigned = a >= 2.0**bits, np.dtype(f"u{signed.itemsize}")
    return _whole(np.where(high, a - 2.0**bits, a), signed).view(unsigned) ^ (high.astype(unsigned) << bits)


def cast(a: np.ndarray, new: np.dtype) -> np.ndarray:
    """`a` itself if it has the type `new`, else its elements in that type. Outside kernels NumPy may warn."""
    if isinstance(a, Buffer):
        return a if a.dtype == new else a.backend.apply(cast, (a, new), {})
    if a.dtype == new:
        return a
    if not isinstance(a, np.ndarray):  # what the compiler traces kernels with
        return a.astype(new)
    return cast_like(a, new) if 0 in a.strides or 1 in a.shape else castable(a, new).astype(new)


def cast_like(a: np.ndarray, new: np.dtype) -> np.ndarray:
    """A copy of `a` in the type `new`, in the memory of `dense_like`."""
    if 0 not in a.strides and (a.size < LARGE or a.dtype is not new):
        return keep_strides(castable(a, new).astype(new), a)
    out = dense_like(a, new)
    if a.dtype is new:
        copy_into(out, a)
    else:
        np.copyto(out, castable(a, new), "unsafe")
    return out


def copy_with_gaps(a: np.ndarray) -> np.ndarray:
    """A copy of `a` with its strides, also where there are gaps between its elements; one without where places repeat."""
    steps = sorted((s, n) for s, n in zip(a.strides, a.shape, strict=True) if n > 1)
    ends = [0, *(s * (n - 1) for s, n in steps)]
    apart = all(s > sum(ends[: i + 1]) for i, (s, _) in enumerate(steps))
    if type(a) is not np.ndarray or not a.size or not apart:
        return cast_like(a, a.dtype)
    memory = np.empty(sum(ends) // a.itemsize + 1, a.dtype)
    out = np.lib.stride_tricks.as_strided(memory, a.shape, a.strides)
    np.copyto(out, a)
    return out


def copy_into(out: np.ndarray, a: Any) -> None:
    """Overwrite `out` with the elements of `a`, an array that can be broadcast to it; without NumPy's warnings."""
    if a.dtype is out.dtype:
        copy = copy_elements.value if out.size >= LARGE and type(out) is type(a) is np.ndarray else None
        if copy is None or a.shape != out.shape or np.may_share_memory(out, a) or not copy(out, a):
            np.copyto(out, a)
    elif isinstance(out, Buffer):
        out.backend.apply(copy_into, (out, a), {})
    else:
        thread.state.run(_copy_cast, out, a)


def copy_in_rows(a: np.ndarray) -> np.ndarray:
    """A copy of the elements in the order of their indices: C-contiguous."""
    if a.size < LARGE or type(a) is not np.ndarray:
        return np.array(a, order="C", like=a)
    out = np.empty(a.shape, a.dtype)
    copy_into(out, a)
    return out


def add_into(out: np.ndarray, a: Any) -> None:
    """`out += a` for elements of one type; without NumPy's warnings."""
    if isinstance(out, Buffer):
        np.add(out, a, out=out)
    else:
        thread.state.run(np.add, out, a, out)


def _copy_cast(out: np.ndarray, a: np.ndarray) -> None:
    np.copyto(out, castable(a, out.dtype), "unsafe")


# ---------------------------------------------------------------------------------------------- the memory of a result


def dense_like(a: np.ndarray, dtype: Any = None) -> np.ndarray:
    """Uninitialised elements in the shape of `a`, its dimensions in the same order in memory, without gaps.

    Where `a` repeats elements (a stride of 0), the order is torch's: such a dimension stays between its neighbours.
    NumPy would make it the innermost one.
    """
    if isinstance(a, Buffer):
        return a.backend.apply(dense_like, (a, dtype), {})
    return keep_strides(np.empty_like(a, dtype=dtype, subok=False), a)


def keep_strides(r: np.ndarray, a: np.ndarray) -> np.ndarray:
    """`r` in the memory of `dense_like(a)`: NumPy takes other strides along dimensions of one element, or repeated ones.

    They move nothing in the first case; torch shows them, and tells memory formats by them.
    """
    if (1 in a.shape or 0 in a.strides or not a.size) and type(r) is np.ndarray:
        return with_strides(r, dense_strides(a))
    return r
