"""Shapes, element types and the order in which torch fills a tensor."""

from __future__ import annotations

from functools import cache
from math import prod
from typing import Any

import numpy as np

_NAMES = {
    "bool": "Bool", "uint8": "Byte", "int8": "Char", "int16": "Short", "int32": "Int", "int64": "Long",
    "float16": "Half", "bfloat16": "BFloat16", "float32": "Float", "float64": "Double", "uint16": "UInt16",
    "uint32": "UInt32", "uint64": "UInt64", "complex64": "ComplexFloat", "complex128": "ComplexDouble",
}  # fmt: skip
_MANTISSA = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}
FLOATING = frozenset(_MANTISSA)
INTEGRAL = frozenset(["uint8", "int8", "int16", "int32", "int64"])
NUMBERS = FLOATING | INTEGRAL
NUMBERS_OR_BOOL = NUMBERS | {"bool"}
UNSIGNED = frozenset(["uint16", "uint32", "uint64"])


def count(shape: Any) -> tuple[tuple[int, ...], int]:
    """A shape as a tuple, and its number of elements."""
    shape = (int(shape),) if isinstance(shape, (int, np.integer)) else tuple(shape)
    return shape, prod(shape)


@cache
def name_of(dtype: np.dtype) -> str:
    """NumPy's name of an element type: `dtype.name` makes the text again each time, in 4 us."""
    return dtype.name


def mantissa(dtype: np.dtype) -> int:
    """The significant bits of a floating type, the hidden one included."""
    return _MANTISSA[name_of(dtype)]


def torch_name(dtype: np.dtype) -> str:
    """What torch's messages call an element type."""
    return _NAMES.get(name_of(dtype), name_of(dtype))


def require(dtype: np.dtype, allowed: frozenset[str], kernel: str) -> None:
    """Raise torch's error for an element type that a kernel lacks."""
    if dtype.num < 256 and dtype.kind == "f" and allowed is FLOATING:
        return
    if name_of(dtype) not in allowed:
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{torch_name(dtype)}'")


def cast(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Values as C++ converts them: to a 16-bit float by way of float32, so with two roundings."""
    if dtype.itemsize == 2 and name_of(dtype) in FLOATING:
        values = values.astype(np.float32, copy=False)
    elif name_of(dtype) in INTEGRAL and values.dtype.kind == "f":
        values = values.astype(np.int64)
    return values.astype(dtype, copy=False)


def store(out: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Write draws into `out` in the order of its memory, which is how torch fills a tensor of any layout in place.

    Shape: out (*) any strides, values: any shape of as many elements, read in C order. Returns out.
    """
    if out.flags.c_contiguous:
        out[...] = values.reshape(out.shape)
        return out
    order = sorted(range(out.ndim), key=lambda dim: -out.strides[dim])
    view = out.transpose(order)
    view[...] = values.reshape(view.shape)
    return out
