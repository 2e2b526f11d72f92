"""Equally spaced numbers as tensors: arange, range, linspace, logspace. `spacing.py` has their values."""

from __future__ import annotations

import math
import warnings
from functools import partial
from typing import Any

import numpy as np

from ..core import device as devices
from ..core import dtype as dtypes
from ..core.record import composite
from ..core.scalars import number_as
from ..core.tensor import Tensor, type_word
from .create import check_options, fresh, numpy_type
from .into import kind_of, put, sized
from .spacing import counted, powers, spaced


def _number(v: Any) -> Any:
    return v.item() if isinstance(v, (Tensor, np.generic)) else v


def _made(name: str, make: Any, out: Any, dtype: Any, default: dtypes.dtype, requires_grad: bool) -> Tensor:
    """The tensor of `make(type)`, or its numbers in `out`, which keeps its shape where it has as many elements."""
    kind = numpy_type(dtype, default) if out is None else kind_of(name, out, dtype)
    if kind.kind in _REFUSED[name]:
        raise NotImplementedError(f"\"{name}_cpu\" not implemented for '{type_word(dtypes.from_numpy(kind))}'")
    a = make(kind)
    if out is None:
        return fresh(a, requires_grad)
    if name == "arange" and out._array.size not in (0, a.size):
        warnings.warn(
            f"The number of elements in the out tensor of shape {list(out._array.shape)} is {out._array.size} which does "
            f"not match the computed number of elements {a.size}. Note that this may occur as a result of rounding error. "
            f"The out tensor will be resized to a tensor of shape ({a.size},).",
            stacklevel=3,
        )
    return put(name, sized(out, a.shape, flat=True), fresh(a), requires_grad)


_REFUSED = {"arange": "bc", "range": "bc", "linspace": "b", "logspace": "b"}  # kinds that torch has no loop for


def _limit(v: Any, kind: np.dtype) -> Any:
    """A first or last number in the type that is made. Raises torch's error for a complex number among real ones."""
    v = _number(v)
    return number_as(v, dtypes.from_numpy(kind))[()] if isinstance(v, complex) or kind.kind in "iu" else v


@composite()
def arange(
    start, end=None, step=1, *, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False
):
    """The numbers start, start + step, ... below `end`."""
    if (
        type(start) is int
        and end is None
        and step == 1
        and start >= 0
        and dtype is None
        and out is device is layout is None
        and not pin_memory
    ):
        return fresh(np.arange(start), requires_grad)
    devices.check(device)
    check_options(layout, pin_memory)
    start, end, step = _number(start), _number(end), _number(step)
    if end is None:
        start, end = 0, start
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    if not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"unsupported range: {start} -> {end}")
    floats = any(isinstance(v, float) for v in (start, end, step))
    default = dtypes.get_default_dtype() if floats else dtypes.int64
    return _made("arange", partial(_counted, start, end, step), out, dtype, default, requires_grad)


def _counted(start: Any, end: Any, step: Any, kind: np.dtype) -> np.ndarray:
    n = math.ceil((end - start) / step)
    if kind.kind in "iu":  # torch counts in whole steps; only for int64 does it also truncate the end first
        start, end, step = int(start), int(end), int(step)
        if kind.itemsize == 8:
            if not step:
                raise ValueError("step must be nonzero")
            n = -((start - end) // step)
        return start + np.arange(n, dtype=kind) * kind.type(step)
    return counted(start, step, n, kind)


@composite()
def range(
    start=0, end=None, step=1, *, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False
):
    """The numbers start, start + step, ... up to and including `end` (deprecated: use arange)."""
    warnings.warn(
        "torch.range is deprecated and will be removed in a future release because its behavior is inconsistent with "
        "Python's range builtin. Instead, use torch.arange, which produces values in [start, end).",
        stacklevel=2,
    )
    devices.check(device)
    check_options(layout, pin_memory)
    if end is None:
        start, end = 0, start
    n = math.floor((end - start) / step) + 1
    default = dtypes.get_default_dtype()
    return _made("range", lambda kind: (start + np.arange(n) * step).astype(kind), out, dtype, default, requires_grad)


@composite()
def linspace(
    start, end, steps, *, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False
):
    """`steps` numbers from `start` to `end`, both included, equally far apart."""
    devices.check(device)
    check_options(layout, pin_memory)
    if isinstance(steps, float):
        raise TypeError("linspace(): argument 'steps' must be int, not float")
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    return _made(
        "linspace", lambda kind: spaced(_limit(start, kind), _limit(end, kind), int(steps), kind), out, dtype,
        dtypes.get_default_dtype(), requires_grad,
    )  # fmt: skip


@composite()
def logspace(
    start,
    end,
    steps,
    base=10.0,
    *,
    out=None,
    dtype=None,
    layout=None,
    device=None,
    requires_grad=False,
    pin_memory=False,
):
    """`base` to the power of `steps` numbers from `start` to `end`."""
    devices.check(device)
    check_options(layout, pin_memory)
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    return _made(
        "logspace", lambda kind: powers(base, _limit(start, kind), _limit(end, kind), int(steps), kind), out, dtype,
        dtypes.get_default_dtype(), requires_grad,
    )  # fmt: skip
