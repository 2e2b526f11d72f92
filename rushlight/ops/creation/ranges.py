"""Equally spaced numbers as tensors: arange, range, linspace, logspace. `spacing.py` has their values."""

from __future__ import annotations

import math
import warnings
from functools import partial
from typing import Any

import numpy as np

from ...core.device import devices
from ...core.device.backend import out_of_memory, run_on
from ...core.dispatch.errors import type_error
from ...core.dispatch.op import composite
from ...core.dispatch.scalars import exact, type_name
from ...core.tensor import dtype as dtypes
from ...core.tensor.tensor import Tensor, type_word
from ...core.warn import warn
from .arguments import backend_for, backend_like, check_options, fresh, numpy_type
from .into import kind_of, put, sized
from .spacing import counted, powers, spaced


def _number(v: Any) -> Any:
    return v.item() if isinstance(v, (Tensor, np.generic)) else v


def _real(name: str, argument: str, v: Any) -> Any:
    """An argument as a real number; None stays. Raises torch's error for what is none."""
    if isinstance(v, Tensor) and v.numel() != 1:
        raise type_error(f"{name}(): argument '{argument}' must be Number, not Tensor of shape {list(v.shape)}")
    number = _number(v)
    if isinstance(number, complex):
        if number.imag:
            raise RuntimeError(f"{name}(): value cannot be converted to type double without overflow: {number}")
        return number.real
    if not (number is None or isinstance(number, (int, float)) or hasattr(number, "__index__")):
        raise type_error(f"{name}(): argument '{argument}' must be Number, not {type(v).__name__}")
    return number


def _check_count(name: str, steps: Any) -> None:
    if isinstance(steps, (float, np.floating, np.bool_)):
        raise type_error(f"{name}(): argument 'steps' must be int, not {type_name(steps)}")


def _made(
    name: str, make: Any, out: Any, dtype: Any, default: dtypes.dtype, requires_grad: bool, device: Any
) -> Tensor:
    """The tensor of `make(type)`, or its numbers in `out`, which keeps its shape where it has as many elements."""
    kind = numpy_type(dtype, default) if out is None else kind_of(name, out, dtype)
    if kind.kind in _REFUSED.get(name, ""):
        raise _no_loop(name, kind)
    a = run_on(backend_for(device) if out is None else backend_like(out), make, kind)
    if out is None:
        return fresh(a, requires_grad)
    if name == "arange" and out._array.size not in (0, a.size):
        warn(
            f"The number of elements in the out tensor of shape {list(out._array.shape)} is {out._array.size} which does "
            f"not match the computed number of elements {a.size}. Note that this may occur as a result of rounding error. "
            f"The out tensor will be resized to a tensor of shape ({a.size},).",
        )
    return put(name, sized(out, a.shape, flat=True), fresh(a), requires_grad)


_REFUSED = {"arange": "bc", "range": "bc"}  # kinds that torch has no loop for


def _no_loop(name: str, kind: np.dtype) -> NotImplementedError:
    return NotImplementedError(f"\"{name}_cpu\" not implemented for '{type_word(dtypes.from_numpy(kind))}'")


def _limits(name: str, start: Any, end: Any, steps: int, kind: np.dtype) -> tuple[Any, Any]:
    """The first and last numbers, as the type that is made holds them. Raises torch's error where it cannot."""
    if kind.kind == "b" and steps > 1:
        raise _no_loop(name, kind)
    start, end = _number(start), _number(end)
    if steps == 1 and not isinstance(start, complex):
        return start, start
    return exact(start, kind), exact(end, kind)


def _default(start: Any, end: Any, dtype: Any, name: str) -> dtypes.dtype:
    """The default float type, or its complex one between complex limits. Raises where `dtype` cannot hold those."""
    if not any(isinstance(_number(v), complex) for v in (start, end)):
        return dtypes.get_default_dtype()
    inferred = dtypes.of_number(1j)
    if dtype is not None and not dtype.is_complex:
        part = {8: "float", 16: "double"}.get(inferred.itemsize, "Half")
        raise RuntimeError(
            f"torch.{name}(): inferred dtype c10::complex<{part}> can't be safely cast to passed dtype {type_word(dtype)}"
        )
    return inferred


@composite()
def arange(
    start=...,
    end=...,
    step=1,
    *,
    out=None,
    dtype=None,
    layout=None,
    device=None,
    requires_grad=False,
    pin_memory=False,
):
    """The numbers start, start + step, ... below `end`; `arange(end)` starts at 0.

    Args:
        out: the tensor to write the result to.
        dtype: by default int64 for integers, else the default float type.
    Shape: -> (ceil((end - start) / step))
    Raises:
        RuntimeError: `step` is 0, as in `arange(0, 2, 0)`.
        RuntimeError: `end` is on the other side, as in `arange(2, 0)`.

    >>> arange(1, 2, 0.5)
    tensor([1.0000, 1.5000])
    """
    if (
        type(start) is int
        and end is ...
        and step == 1
        and start >= 0
        and dtype is None
        and out is device is layout is None
        and not pin_memory
        and not devices.redirected
    ):
        try:
            return fresh(np.arange(start), requires_grad)
        except MemoryError as error:
            raise out_of_memory(error) from None
    check_options(layout, pin_memory)
    first, last = (0, start if end is ... else end) if start is ... or end is ... else (start, end)
    if last is ...:
        raise type_error('arange() missing 1 required positional arguments: "end"')
    if first is None or last is None or step is None:
        got = ", ".join(map(type_name, (first, last, step)))
        raise type_error(
            f"arange() received an invalid combination of arguments - got ({got}), but expected three numbers"
        )
    first, last, each = _real("arange", "start", first), _real("arange", "end", last), _real("arange", "step", step)
    if each == 0:
        raise RuntimeError("step must be nonzero")
    if (last - first) * each < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    if not (math.isfinite(first) and math.isfinite(last)):
        raise RuntimeError(f"unsupported range: {first} -> {last}")
    floats = any(isinstance(v, float) for v in (first, last, each))
    default = dtypes.get_default_dtype() if floats else dtypes.int64
    return _made("arange", partial(_counted, first, last, each), out, dtype, default, requires_grad, device)


def _counted(start: Any, end: Any, step: Any, kind: np.dtype) -> np.ndarray:
    n = math.ceil((end - start) / step)
    if kind.kind in "iu":  # torch counts in whole steps; only for int64 does it also truncate the end first
        start, step = _whole(start), _whole(step)
        if kind.itemsize == 8:
            if not step:
                raise ValueError("step must be nonzero")
            n = -((start - _whole(end)) // step)
        return (np.arange(n, dtype=_LONG) * step + start).astype(kind, copy=False)
    return counted(start, step, n, kind)


def _whole(v: Any) -> int:
    """A number cut to a whole one. Raises where int64 does not hold it."""
    return v if type(v) is int and abs(v) < 1 << 63 else exact(v, _LONG)


_LONG = np.dtype(np.int64)


def _ranged(start: Any, step: Any, n: int, kind: np.dtype) -> np.ndarray:
    if kind.kind in "iu":
        start, step = _whole(start), _whole(step)
    return (start + np.arange(n) * step).astype(kind)


@composite()
def range(start, end, step=1, *, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """The numbers start, start + step, ... up to and including `end` (deprecated: use `arange`).

    Args:
        dtype: by default the default float type.
    Shape: -> (floor((end - start) / step) + 1)
    """
    warnings.warn(
        "torch.range is deprecated and will be removed in a future release because its behavior is inconsistent with "
        "Python's range builtin. Instead, use torch.arange, which produces values in [start, end).",
        stacklevel=2,
    )
    check_options(layout, pin_memory)
    start, end, step = _real("range", "start", start), _real("range", "end", end), _real("range", "step", step)
    n = math.floor((end - start) / step) + 1
    default = dtypes.get_default_dtype()
    return _made("range", lambda kind: _ranged(start, step, n, kind), out, dtype, default, requires_grad, device)


@composite()
def linspace(
    start, end, steps, *, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False
):
    """`steps` numbers from `start` to `end`, both included, evenly spaced.

    Args:
        start, end: numbers or 0-d tensors.
        out: the tensor to write the result to.
        dtype: by default the default float type, or its complex type where a limit is complex.
    Shape: -> (steps)
    Raises:
        RuntimeError: `steps` is negative, as in `linspace(0, 1, -1)`.

    >>> linspace(0, 1, 5)
    tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])
    """
    check_options(layout, pin_memory)
    _check_count("linspace", steps)
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    default = _default(start, end, dtype, "linspace")
    return _made(
        "linspace", lambda kind: spaced(*_limits("linspace", start, end, steps, kind), int(steps), kind), out, dtype,
        default, requires_grad, device,
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
    """`base` to the power of `steps` numbers from `start` to `end`, both included, evenly spaced.

    Args:
        start, end: numbers or 0-d tensors.
        out: the tensor to write the result to.
        dtype: by default the default float type, or its complex type where a limit is complex.
    Shape: -> (steps)
    Raises:
        RuntimeError: `steps` is negative, as in `logspace(0, 1, -1)`.

    >>> logspace(0, 2, 3)
    tensor([  1.,  10., 100.])
    """
    check_options(layout, pin_memory)
    _check_count("logspace", steps)
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    default = _default(start, end, dtype, "logspace")
    return _made(
        "logspace", lambda kind: powers(base, *_limits("logspace", start, end, steps, kind), int(steps), kind), out, dtype,
        default, requires_grad, device,
    )  # fmt: skip
