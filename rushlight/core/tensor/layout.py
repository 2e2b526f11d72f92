"""How elements are laid out in memory: torch's `memory_format` and `layout` values, and the limits of number types."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from . import dtype as dtypes


class _Named:
    """A value known by its name alone; prints, pickles and compares by it."""

    __slots__ = ("name",)

    def __init__(self, name: str):
        self.name = name

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self):
        return _by_name, (self.name,)

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self


class memory_format(_Named):
    """The order of dimensions in memory."""


class layout(_Named):
    """Dense (strided) or sparse storage."""

    def __reduce__(self):
        return get_layout, (repr(self),)


class qscheme(_Named):
    """How the scale and the zero point of a quantized tensor are chosen, and for which of its elements."""


contiguous_format = memory_format("contiguous_format")
preserve_format = memory_format("preserve_format")
channels_last = memory_format("channels_last")
channels_last_3d = memory_format("channels_last_3d")
strided = layout("strided")
sparse_coo = layout("sparse_coo")
sparse_csr = layout("sparse_csr")
sparse_csc = layout("sparse_csc")
jagged = layout("jagged")
per_tensor_affine = qscheme("per_tensor_affine")
per_tensor_symmetric = qscheme("per_tensor_symmetric")
per_channel_affine = qscheme("per_channel_affine")
per_channel_symmetric = qscheme("per_channel_symmetric")
per_channel_affine_float_qparams = qscheme("per_channel_affine_float_qparams")
_VALUES = {
    v.name: v
    for v in (
        contiguous_format, preserve_format, channels_last, channels_last_3d, strided, sparse_coo, sparse_csr, sparse_csc, jagged,
        per_tensor_affine, per_tensor_symmetric, per_channel_affine, per_channel_symmetric,
        per_channel_affine_float_qparams,
    )
}  # fmt: skip


def _by_name(name: str) -> Any:
    return _VALUES[name]


def get_layout(name: str) -> layout:
    """The layout that prints as `name`, for pickles."""
    found = _VALUES.get(name.removeprefix("torch."))
    if not isinstance(found, layout):
        raise NotImplementedError(f"the layout {name} is not implemented")
    return found


class finfo:
    """The limits of a floating type: bits, eps, max, min, tiny, smallest_normal, resolution, dtype."""

    def __init__(self, type: dtypes.dtype | None = None):
        d = dtypes.of_argument(type or dtypes.get_default_dtype())
        if not (d.is_floating_point or d.is_complex):
            raise TypeError(f"torch.finfo() requires a floating point input type. Use torch.iinfo to handle '{d}'")
        d = d.to_real()
        if d is dtypes.bfloat16 or d in dtypes.FLOAT8:
            from ml_dtypes import finfo as other

            info: Any = other(d.numpy)
        else:
            info = np.finfo(d.numpy)
        self.dtype, self.bits = d.name, 8 * d.itemsize
        self.eps, self.max, self.min = float(info.eps), float(info.max), float(info.min)
        self.tiny = self.smallest_normal = float(info.smallest_normal)
        digits = int(-math.log10(self.eps))  # the decimal digits that every number keeps
        self.resolution = float(f"1e-{digits}")

    def __repr__(self) -> str:
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, eps={self.eps:g}, "
            f"smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, dtype={self.dtype})"
        )


class iinfo:
    """The limits of an integer type: bits, max, min, dtype."""

    def __init__(self, type: dtypes.dtype):
        type = dtypes.of_argument(type)
        if type.category != 1:
            raise TypeError(f"torch.iinfo() requires an integer input type. Use torch.finfo to handle '{type}'")
        info = np.iinfo(type.numpy)
        self.dtype, self.bits, self.max, self.min = type.name, info.bits, int(info.max), int(info.min)

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"
