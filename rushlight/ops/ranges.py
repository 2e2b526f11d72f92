"""Equally spaced numbers as tensors: arange, range, linspace, logspace. `spacing.py` has their values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..core import device as devices
from ..core import dtype as dtypes
from ..core.record import composite
from ..core.slow import write_out
from ..core.tensor import Tensor
from .create import check_options, fresh, numpy_type
from .spacing import counted, powers, spaced


def _number(v: Any) -> Any:
    return v.item() if isinstance(v, (Tensor, np.generic)) else v


def _counted_into(name: str, t: Tensor, out: Any) -> Any:
    """Write numbers into `out`, which keeps its shape where it has as many elements, as torch's does."""
    if isinstance(out, Tensor) and out._array.size == t._array.size:
        t = t.view(out._array.shape)  # type: ignore[attr-defined]
    return write_out(name, (), t, out)


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
    if step == 0 or (step < 1 and out is not None and out.dtype.category < 2 and int(step) == 0):
        raise (RuntimeError if step == 0 else ValueError)("step must be nonzero")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    if not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"unsupported range: {start} -> {end}")
    floats = any(isinstance(v, float) for v in (start, end, step))
    kind = numpy_type(dtype, dtypes.get_default_dtype() if floats else dtypes.int64)
    t = fresh(_counted(start, end, step, kind), requires_grad)
    return t if out is None else _counted_into("arange", t, out)


def _counted(start: Any, end: Any, step: Any, kind: np.dtype) -> np.ndarray:
    n = math.ceil((end - start) / step)
    if kind.kind in "iu":  # torch counts in whole steps; only for int64 does it also truncate the end first
        start, end, step = int(start), int(end), int(step)
        if kind.itemsize == 8:
            n = -((start - end) // step)
        return start + np.arange(n, dtype=kind) * kind.type(step)
    return counted(start, step, n, kind)


@composite()
def range(
    start=0, end=None, step=1, *, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False
):
    """The numbers start, start + step, ... up to and including `end` (deprecated: use arange)."""
    import warnings

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
    t = fresh((start + np.arange(n) * step).astype(numpy_type(dtype, dtypes.get_default_dtype())), requires_grad)
    return t if out is None else _counted_into("range", t, out)


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
    t = fresh(
        spaced(_number(start), _number(end), int(steps), numpy_type(dtype, dtypes.get_default_dtype())), requires_grad
    )
    return t if out is None else _counted_into("linspace", t, out)


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
    kind = numpy_type(dtype, dtypes.get_default_dtype())
    t = fresh(powers(base, _number(start), _number(end), int(steps), kind), requires_grad)
    return t if out is None else _counted_into("logspace", t, out)
