"""Writing into memory that the same call reads, such as `x[:, 1:] = x[:, :-1]`.

torch refuses it where both tensors fill their memory without gaps. Elsewhere it does not look, and goes through the
elements in the order of the written tensor's memory: what was written before is read again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds
from numpy.lib.stride_tricks import as_strided

from ..device.buffer import Buffer, outline_of

_BLOCK_BYTES = 64  # what torch's copy reads before it writes, in a row without gaps (measured with 2.13 on x86)


def check_apart(out: np.ndarray) -> None:
    """Raise RuntimeError where two elements of `out` share one place, as in an expanded tensor."""
    if (
        0 in out.strides
        and out.size
        and any(stride == 0 and n > 1 for stride, n in zip(out.strides, out.shape, strict=True))
    ):
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
            "Please clone() the tensor before performing the operation."
        )


def is_read_again(out: np.ndarray, x: np.ndarray) -> bool:
    """Whether `out` is written over parts of `x` that other elements of it depend on.

    Raises RuntimeError where both are dense and overlap in part, as torch does.
    """
    out, x = outline_of(out), outline_of(x)
    if not np.may_share_memory(out, x) or not out.size:
        return False
    same_bounds = byte_bounds(out) == byte_bounds(x)
    same = same_bounds and out.shape == x.shape and _strides(out) == _strides(x)
    if not same and _is_dense(out) and _is_dense(x):
        raise _overlapping()
    return not same and _share_elements(out, x)


def check_disjoint(out: np.ndarray, x: np.ndarray) -> None:
    """Raise RuntimeError where torch sees that `x` is in the memory that is written: both are dense, or one and the same."""
    out, x = outline_of(out), outline_of(x)
    if out is x or (
        isinstance(x, np.ndarray) and np.may_share_memory(out, x) and x.size and _is_dense(out) and _is_dense(x)
    ):
        raise _overlapping()


def _overlapping() -> RuntimeError:
    return RuntimeError(
        "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory "
        "location. Please clone() the tensor before performing the operation."
    )


def _share_elements(out: np.ndarray, x: np.ndarray) -> bool:
    """Whether they have an element in common; True where that takes too long to find out."""
    try:
        return np.shares_memory(out, x, max_work=10_000)  # pyright: ignore[reportArgumentType]: NumPy has any number
    except np.exceptions.TooHardError:
        return True


def _strides(a: np.ndarray) -> list[int]:
    return [stride for stride, n in zip(a.strides, a.shape, strict=True) if n != 1]


def _is_dense(a: np.ndarray) -> bool:
    expected = a.itemsize
    for stride, n in sorted((stride, n) for stride, n in zip(a.strides, a.shape, strict=True) if n != 1):
        if stride != expected:
            return False
        expected *= n
    return True


def write_in_order(function: Callable, out: np.ndarray, *sources: Any) -> None:
    """`out[...] = function(*sources)`, element after element in the order of `out`'s memory."""
    if isinstance(out, Buffer):
        return out.backend.apply(write_in_order, (function, out, *sources), {})
    with np.errstate(all="ignore"):
        _in_order(function, *_rows([out, *(np.broadcast_to(x, out.shape) for x in sources)]))


def _rows(arrays: list[np.ndarray]) -> list[np.ndarray]:
    """The arrays with the dimensions in the order of the first one's memory, those that continue each other joined."""
    order = sorted(range(arrays[0].ndim), key=lambda dim: -arrays[0].strides[dim])
    shape, strides = [], []
    for dim in order:
        n, steps = arrays[0].shape[dim], [a.strides[dim] for a in arrays]
        if n == 1:
            continue
        if shape and all(before == n * step for before, step in zip(strides[-1], steps, strict=True)):
            shape[-1], strides[-1] = shape[-1] * n, steps
        else:
            shape.append(n)
            strides.append(steps)
    return [as_strided(a, shape, [steps[i] for steps in strides]) for i, a in enumerate(arrays)]


def _in_order(function: Callable, out: np.ndarray, *sources: np.ndarray) -> None:
    if out.ndim == 0 or not any(np.may_share_memory(out, x) for x in sources):
        out[...] = function(*sources)
    elif out.ndim > 1:
        for i in range(len(out)):
            _in_order(function, out[i], *(x[i] for x in sources))
    else:
        contiguous = all(x.strides[0] == x.itemsize for x in (out, *sources))
        step = _BLOCK_BYTES // out.itemsize if contiguous else 1
        whole = len(out) - len(out) % step
        for i in (*range(0, whole, step), *range(whole, len(out))):
            part = slice(i, i + (step if i < whole else 1))
            out[part] = function(*(x[part] for x in sources))
