"""Windows for spectral analysis: `hann_window` and its kin, periodic by default."""

from __future__ import annotations

import math
from typing import Any

from ...core.dispatch.op import OPS
from ...core.dispatch.scalars import check_flag
from ...core.tensor import dtype as dtypes


def _base(name: str, size: int, periodic: bool, options: dict[str, Any]) -> tuple[Any, int, Any]:
    """(a window that is done already or None, the number of points to compute, their numbers)."""
    check_flag(name, "periodic", periodic, 2)
    kind = options["dtype"] = dtypes.of_argument(options["dtype"] or dtypes.get_default_dtype())
    if not (kind.is_floating_point or kind.is_complex):
        raise RuntimeError(f"{name} expects floating point dtypes, got: {kind}")
    if size < 0:
        raise RuntimeError(f"{name} requires non-negative window_length, got window_length={size}")
    if size < 2:
        return (OPS["ones"] if size else OPS["empty"])(size, **options), size, None
    points = size + 1 if periodic else size
    return None, points, OPS["arange"](points, **{**options, "requires_grad": False})


def _cut(window: Any, size: int, requires_grad: bool) -> Any:
    window = window.narrow(0, 0, size) if window._array.shape[0] > size else window
    return window.requires_grad_() if requires_grad else window


def hamming_window(
    window_length, periodic=True, alpha=0.54, beta=0.46, *, dtype=None, layout=None, device=None, pin_memory=False,
    requires_grad=False,
):  # fmt: skip
    """The window alpha - beta cos(2 pi n / (N - 1)), with N = window_length + 1 if periodic.

    Args:
        dtype: by default the default float type.
    Shape: -> (window_length)
    Raises:
        RuntimeError: the length is negative, as in `hamming_window(-1)`.

    >>> hamming_window(4)
    tensor([0.0800, 0.5400, 1.0000, 0.5400])
    """
    return _raised_cosine(
        "hamming_window", window_length, periodic, alpha, beta,
        {"dtype": dtype, "layout": layout, "device": device, "pin_memory": pin_memory, "requires_grad": requires_grad},
    )  # fmt: skip


def hann_window(
    window_length, periodic=True, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False
):
    """The window 0.5 - 0.5 cos(2 pi n / (N - 1)), with N = window_length + 1 if periodic.

    Args:
        dtype: by default the default float type.
    Shape: -> (window_length)
    Raises:
        RuntimeError: the length is negative, as in `hann_window(-1)`.

    >>> hann_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    return _raised_cosine(
        "hann_window", window_length, periodic, 0.5, 0.5,
        {"dtype": dtype, "layout": layout, "device": device, "pin_memory": pin_memory, "requires_grad": requires_grad},
    )  # fmt: skip


def _raised_cosine(name: str, size: int, periodic: bool, alpha: float, beta: float, options: dict[str, Any]) -> Any:
    done, points, k = _base(name, size, periodic, options)
    if done is not None:
        return done
    window = k.mul_(2.0 * math.pi / (points - 1)).cos_().mul_(-beta).add_(alpha)
    return _cut(window, size, options["requires_grad"])


def blackman_window(
    window_length, periodic=True, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False
):
    """The window 0.42 - 0.5 cos(2 pi n / (N - 1)) + 0.08 cos(4 pi n / (N - 1)), with N = window_length + 1 if periodic.

    Args:
        dtype: by default the default float type.
    Shape: -> (window_length)
    Raises:
        RuntimeError: the length is negative, as in `blackman_window(-1)`.

    >>> blackman_window(4)[2]
    tensor(1.)
    """
    options = {
        "dtype": dtype,
        "layout": layout,
        "device": device,
        "pin_memory": pin_memory,
        "requires_grad": requires_grad,
    }
    done, points, k = _base("blackman_window", window_length, periodic, options)
    if done is not None:
        return done
    k = k.mul_(math.pi / (points - 1))
    window = k.mul(4).cos_().mul_(0.08) - k.mul(2).cos_().mul_(0.5) + 0.42
    return _cut(window, window_length, requires_grad)


def bartlett_window(
    window_length, periodic=True, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False
):
    """The triangular window 1 - |2 n / (N - 1) - 1|, with N = window_length + 1 if periodic.

    Args:
        dtype: by default the default float type.
    Shape: -> (window_length)
    Raises:
        RuntimeError: the length is negative, as in `bartlett_window(-1)`.
        RuntimeError: `dtype` is of integers, as in `bartlett_window(3, dtype=int64)`.

    >>> bartlett_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    options = {
        "dtype": dtype,
        "layout": layout,
        "device": device,
        "pin_memory": pin_memory,
        "requires_grad": requires_grad,
    }
    done, points, k = _base("bartlett_window", window_length, periodic, options)
    if done is not None:
        return done
    window = k.mul_(2.0 / (points - 1))
    window[((points - 1) >> 1) + 1 :].mul_(-1).add_(2)
    return _cut(window, window_length, requires_grad)


def kaiser_window(
    window_length,
    periodic=True,
    beta=12.0,
    *,
    dtype=None,
    layout=None,
    device=None,
    pin_memory=False,
    requires_grad=False,
):
    """The window I0(beta sqrt(1 - (2 n / (N - 1) - 1)^2)) / I0(beta), with N = window_length + 1 if periodic.

    Args:
        dtype: by default the default float type.
    Shape: -> (window_length)
    Raises:
        RuntimeError: the length is negative, as in `kaiser_window(-1)`.

    >>> kaiser_window(4).shape
    torch.Size([4])
    """
    options = {
        "dtype": dtype,
        "layout": layout,
        "device": device,
        "pin_memory": pin_memory,
        "requires_grad": requires_grad,
    }
    done, points, k = _base("kaiser_window", window_length, periodic, options)
    if done is not None:
        return done
    wide = k.to(dtypes.float64)
    ratio = wide.mul_(2.0 / (points - 1)).sub_(1)
    bend = OPS["i0"]((1 - ratio * ratio).clamp_(min=0).sqrt_().mul_(beta))
    window = (bend / OPS["i0"](OPS["tensor"](beta, dtype=dtypes.float64))).to(options["dtype"])
    return _cut(window, window_length, requires_grad)
