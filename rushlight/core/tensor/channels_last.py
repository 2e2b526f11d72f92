"""Results that are channels-last because what they were made of is, as torch suggests a memory format."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .casting import copy_in_rows
from .strides import new_strides

CHANNELS_LAST = {
    "channels_last": ((0, 2, 3, 1), (0, 3, 1, 2)),
    "channels_last_3d": ((0, 2, 3, 4, 1), (0, 4, 1, 2, 3)),
}  # the order of dimensions in memory, and the way back
_BY_RANK = {len(order): (order, back) for order, back in CHANNELS_LAST.values()}


def is_channels_last(a: np.ndarray) -> bool:
    """Whether torch would take the strides for channels-last; gaps, as of a part of the channels, do not matter."""
    n = a.ndim
    if n not in _BY_RANK or not a.strides[1]:
        return False
    least = 0
    for axis in (1, *range(n - 1, 1, -1), 0):
        stride, size = a.strides[axis], a.shape[axis]
        if not stride and size == 1 and axis + 1 < n:  # NumPy's for a new axis
            stride = a.shape[axis + 1] * a.strides[axis + 1]
        if not size or stride < least or (not axis and least == a.strides[1]):
            return False
        least = stride * max(size, 1)
    return True


def dense_rows(a: np.ndarray) -> np.ndarray:
    """The elements in the order of the indices, with the strides of their shape also along dimensions of one element."""
    if type(a) is not np.ndarray:
        rows = np.asarray(a, order="C", like=a)
    else:
        rows = a if a.flags.c_contiguous else copy_in_rows(a)
    if not a.size:
        return new_strides(rows)
    return rows.reshape(-1).reshape(a.shape) if 1 in a.shape else rows


def in_channels_last(a: np.ndarray) -> np.ndarray:
    """The elements of a batch of images or volumes, channels-last in memory."""
    if a.ndim not in _BY_RANK:
        return a
    order, back = _BY_RANK[a.ndim]
    return dense_rows(a.transpose(order)).transpose(back)


def in_suggested_format(a: np.ndarray) -> np.ndarray:
    """The array made C-contiguous, unless it is channels-last."""
    return a if is_channels_last(a) else np.ascontiguousarray(a)


def in_format_of(r: np.ndarray, a: np.ndarray) -> np.ndarray:
    """A result C-contiguous if `a` is, whatever its strides along dimensions of one element, or else channels-last if it is."""
    if a.flags.c_contiguous or a.ndim not in _BY_RANK:
        return np.ascontiguousarray(r)
    is_last = a.transpose(_BY_RANK[a.ndim][0]).flags.c_contiguous or is_channels_last(a)
    return in_channels_last(r) if is_last else np.ascontiguousarray(r)


def follow_channels(kernel: Callable, positions: tuple[int, ...], volumes: Any = True) -> Callable:
    """`kernel`, whose results are channels-last if one of the arrays at these positions is.

    volumes: whether those of volumes are, or a function that says so of the kernel's arguments.
    """
    most = 5 if volumes else 4
    says = volumes if callable(volumes) else None

    def following(*arguments: Any, **metadata: Any) -> Any:
        r = kernel(*arguments, **metadata)
        for i in positions:
            a = arguments[i]
            if 3 < a.ndim <= most and a.strides[1] <= a.strides[-1] and is_channels_last(a):
                if a.ndim == 5 and says is not None and not says(*arguments):
                    return r
                return tuple(map(in_channels_last, r)) if type(r) is tuple else in_channels_last(r)
        return r

    following.__name__, following.__doc__ = getattr(kernel, "__name__", ""), kernel.__doc__
    return following
