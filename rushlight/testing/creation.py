"""`make_tensor`: tensors of random values within the range of any element type."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import ops
from ..core import random
from ..core.device.devices import check as check_device
from ..core.tensor import dtype as dtypes
from ..core.tensor.tensor import Tensor, wrap

if TYPE_CHECKING:
    from ..core.types import Array


__all__ = ["make_tensor"]


def make_tensor(
    *shape: Any,
    dtype: dtypes.dtype,
    device: Any,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """A tensor of `shape` with values drawn uniformly from [low, high).

    low, high: by default [-9, 9) for floating and complex types, [-9, 10) for signed integers, [0, 10) for uint8 and
    [0, 2) for bool; cut to what the type can hold. noncontiguous: every second element of a wider tensor.
    exclude_zero: zeros become 1 (integers) or the smallest normal number.
    Raises ValueError for NaN bounds, low >= high, bounds outside the type's range, or requires_grad with integers.
    >>> make_tensor(2, 3, dtype=float32, device="cpu").shape
    torch.Size([2, 3])
    """
    if len(shape) == 1 and isinstance(shape[0], Sequence):
        shape = shape[0]  # type: ignore[assignment]
    shape = tuple(shape)
    if noncontiguous and memory_format is not None:
        raise ValueError(
            "The parameters `noncontiguous` and `memory_format` are mutually exclusive, but got "
            f"{noncontiguous=} and {memory_format=}"
        )
    inexact = dtype.is_floating_point or dtype.is_complex
    if requires_grad and not inexact:
        raise ValueError(f"`requires_grad=True` is not supported for boolean and integral dtypes, but got {dtype=}")
    noncontiguous = noncontiguous and math.prod(shape) > 1
    if noncontiguous:
        shape = (*shape[:-1], 2 * shape[-1])
    lowest, highest = _bounds(dtype, low, high)
    if inexact:
        check_device(device)
        result = wrap(_uniform(shape, dtype, lowest, highest))
    else:
        result = ops.randint(lowest, highest, shape, dtype=dtype, device=device)
    if noncontiguous:
        result = result[..., 1::2]
    elif memory_format is not None:
        result = result.clone(memory_format=memory_format)
    if exclude_zero:
        result[result == 0] = _finite_limits(dtype)[2] if inexact else 1
    return result.requires_grad_(requires_grad) if inexact else result


def _uniform(shape: tuple[int, ...], dtype: dtypes.dtype, low: float, high: float) -> np.ndarray:
    """Uniform numbers; for a complex type its two parts in the order of memory."""
    kind = _real(dtype)
    if dtype.is_complex:
        shape = (*shape, 2)
    if high - low >= _finite_limits(dtype)[1]:  # the width itself is no finite number
        a = random.uniform(None, shape, kind, low / 2, high / 2) * kind.type(2)
    else:
        a = random.uniform(None, shape, kind, low, high)
    return a.view(dtype.numpy)[..., 0] if dtype.is_complex else a


def _real(dtype: dtypes.dtype) -> np.dtype:
    """The type of the real part."""
    a: Array = np.zeros(0, dtype.numpy)
    return a.real.dtype


def _finite_limits(dtype: dtypes.dtype) -> tuple[float, float, float]:
    """The lowest and the highest finite value of a floating or complex type, and the smallest normal one."""
    import ml_dtypes

    kind = _real(dtype)
    info = ml_dtypes.finfo(kind)
    return float(info.min), float(info.max), float(info.tiny)


def _bounds(dtype: dtypes.dtype, low: float | None, high: float | None) -> tuple[Any, Any]:
    inexact = dtype.is_floating_point or dtype.is_complex
    if inexact:
        lowest, highest, _ = _finite_limits(dtype)
        default_low, default_high = -9, 9
    elif dtype is dtypes.bool_:
        lowest, highest, default_low, default_high = 0, 2, 0, 2
    else:
        info = np.iinfo(dtype.numpy)
        lowest, highest = int(info.min), int(info.max) + (dtype is not dtypes.int64)
        default_low, default_high = -9, 10
    low = default_low if low is None else low
    high = default_high if high is None else high
    _check_bounds(dtype, low, high, lowest, highest, inexact)
    low, high = min(max(low, lowest), highest), min(max(high, lowest), highest)
    return (low, high) if inexact else (math.ceil(low), math.ceil(high))


def _check_bounds(dtype: Any, low: float, high: float, lowest: float, highest: float, inexact: bool) -> None:
    if any(isinstance(v, float) and math.isnan(v) for v in (low, high)):
        raise ValueError(f"`low` and `high` cannot be NaN, but got {low=} and {high=}")
    if low == high and inexact:
        warnings.warn(
            "Passing `low==high` to `torch.testing.make_tensor` for floating or complex types is deprecated since 2.1 and "
            "will be removed in 2.3. Use `torch.full(...)` instead.",
            FutureWarning,
            stacklevel=4,
        )
    elif low >= high:
        raise ValueError(f"`low` must be less than `high`, but got {low} >= {high}")
    elif high < lowest or low >= highest:
        raise ValueError(
            f"The value interval specified by `low` and `high` is [{low}, {high}), but {dtype} only supports "
            f"[{lowest}, {highest})"
        )
