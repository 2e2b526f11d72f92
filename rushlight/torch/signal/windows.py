"""Windows for filter design and spectral analysis: symmetric by default, periodic with sym=False."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from ...core.dispatch.op import OPS
from ...core.tensor import dtype as dtypes
from ...core.tensor.layout import strided

__all__ = [
    "bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine", "general_hamming", "hamming", "hann",
    "kaiser", "nuttall",
]  # fmt: skip


def _options(name: str, size: int, dtype: Any, layout: Any, device: Any, requires_grad: bool) -> dict[str, Any]:
    """The options of the tensor to make, after torch's checks."""
    dtype = dtype or dtypes.get_default_dtype()
    if size < 0:
        raise ValueError(f"{name} requires non-negative window length, got M={size}")
    if layout is not strided:
        raise ValueError(f"{name} is implemented for strided tensors only, got: {layout}")
    if dtype not in (dtypes.float32, dtypes.float64):
        raise ValueError(f"{name} expects float32 or float64 dtypes, got: {dtype}")
    return {"dtype": dtype, "device": device, "requires_grad": requires_grad}


def _grid(start: Any, end: Any, size: int, options: dict[str, Any]) -> Any:
    return OPS["linspace"](start, end, size, **options)


def exponential(M, *, center=None, tau=1.0, sym=True, dtype=None, layout=strided, device=None, requires_grad=False):
    """The window exp(-|n - center| / tau).

    Args:
        center: where the window is 1; by default its middle, the only one for symmetric windows.
        sym: False for a periodic window: M + 1 points without the last.
        dtype: by default the default float type.
    Shape: -> (M)
    Raises:
        ValueError: `M` is negative, as in `exponential(-1)`.
        ValueError: `tau` is not positive, as in `exponential(3, tau=0)`.

    >>> exponential(3)
    tensor([0.3679, 1.0000, 0.3679])
    """
    options = _options("exponential", M, dtype, layout, device, requires_grad)
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")
    if not M:
        return OPS["empty"](0, **options)
    if center is None:
        center = (M if not sym and M > 1 else M - 1) / 2.0
    k = _grid(-center / tau, (-center + (M - 1)) * (1 / tau), M, options)
    return OPS["exp"](-k.abs())


def cosine(M, *, sym=True, dtype=None, layout=strided, device=None, requires_grad=False):
    """The window sin(pi (n + 0.5) / M).

    Args:
        sym: False for a periodic window: M + 1 points without the last.
        dtype: by default the default float type.
    Shape: -> (M)
    Raises:
        ValueError: `M` is negative, as in `cosine(-1)`.

    >>> cosine(3)
    tensor([0.5000, 1.0000, 0.5000])
    """
    options = _options("cosine", M, dtype, layout, device, requires_grad)
    if not M:
        return OPS["empty"](0, **options)
    step = math.pi / (M + 1 if not sym and M > 1 else M)
    return _grid(0.5 * step, (0.5 + (M - 1)) * step, M, options).sin()


def gaussian(M, *, std=1.0, sym=True, dtype=None, layout=strided, device=None, requires_grad=False):
    """The window exp(-(n - center)^2 / (2 std^2)).

    Args:
        sym: False for a periodic window: M + 1 points without the last.
        dtype: by default the default float type.
    Shape: -> (M)
    Raises:
        ValueError: `M` is negative, as in `gaussian(-1)`.
        ValueError: `std` is not positive, as in `gaussian(3, std=0)`.

    >>> gaussian(3)
    tensor([0.6065, 1.0000, 0.6065])
    """
    options = _options("gaussian", M, dtype, layout, device, requires_grad)
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    if not M:
        return OPS["empty"](0, **options)
    start, step = -(M if not sym and M > 1 else M - 1) / 2.0, 1 / (std * math.sqrt(2))
    k = _grid(start * step, (start + (M - 1)) * step, M, options)
    return OPS["exp"](-(k**2))


def kaiser(M, *, beta=12.0, sym=True, dtype=None, layout=strided, device=None, requires_grad=False):
    """The window I0(beta sqrt(1 - (2 n / (M - 1) - 1)^2)) / I0(beta).

    Args:
        sym: False for a periodic window: M + 1 points without the last.
        dtype: by default the default float type.
    Shape: -> (M)
    Raises:
        ValueError: `M` is negative, as in `kaiser(-1)`.
        ValueError: `beta` is negative, as in `kaiser(3, beta=-1.0)`.

    >>> kaiser(3, beta=1.0)
    tensor([0.7898, 1.0000, 0.7898])
    """
    options = _options("kaiser", M, dtype, layout, device, requires_grad)
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")
    if M < 2:
        return (OPS["ones"] if M else OPS["empty"])(M, **options)
    b = OPS["tensor"](beta, dtype=options["dtype"], device=device)
    step = 2.0 * b / (M if not sym else M - 1)
    k = _grid(-b, OPS["minimum"](b, -b + (M - 1) * step), M, options)
    return OPS["i0"](OPS["sqrt"](b * b - OPS["pow"](k, 2))) / OPS["i0"](b)


def hamming(M, *, sym=True, dtype=None, layout=strided, device=None, requires_grad=False):
    """The window 0.54 - 0.46 cos(2 pi n / (M - 1)).

    Args:
        sym: False for a periodic window: M + 1 points without the last.
        dtype: by default the default float type.
    Shape: -> (M)
    Raises:
        ValueError: `M` is negative, as in `hamming(-1)`.

    >>> hamming(3)
    tensor([0.0800, 1.0000, 0.0800])
    """
    return general_hamming(M, sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad)


def hann(M, *, sym=True, dtype=None, layout=strided, device=None, requires_grad=False):
    """The window 0.5 - 0.5 cos(2 pi n / (M - 1)).

    Args:
        sym: False for a periodic window: M + 1 points without the last.
        dtype: by default the default float type.
    Shape: -> (M)
    Raises:
        ValueError: `M` is negative, as in `hann(-1)`.

    >>> hann(5)
    tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    return general_hamming(
        M, alpha=0.5, sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad
    )


def blackman(M, *, sym=True, dtype=None, layout=strided, device=None, requires_grad=False):
    """The window 0.42 - 0.5 cos(2 pi n / (M - 1)) + 0.08 cos(4 pi n / (M - 1)).

    Args:
        sym: False for a periodic window: M + 1 points without the last.
        dtype: by default the default float type.
    Shape: -> (M)
    Raises:
        ValueError: `M` is negative, as in `blackman(-1)`.

    >>> blackman(5)[2]
    tensor(1.0000)
    """
    _options("blackman", M, dtype, layout, device, requires_grad)
    return general_cosine(
        M, a=[0.42, 0.5, 0.08], sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad
    )


def bartlett(M, *, sym=True, dtype=None, layout=strided, device=None, requires_grad=False):
    """The triangular window 1 - |2 n / (M - 1) - 1|.

    Args:
        sym: False for a periodic window: M + 1 points without the last.
        dtype: by default the default float type.
    Shape: -> (M)
    Raises:
        ValueError: `M` is negative, as in `bartlett(-1)`.

    >>> bartlett(5)
    tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    options = _options("bartlett", M, dtype, layout, device, requires_grad)
    if M < 2:
        return (OPS["ones"] if M else OPS["empty"])(M, **options)
    step = 2 / (M if not sym else M - 1)
    return 1 - _grid(-1, -1 + (M - 1) * step, M, options).abs()


def general_cosine(M, *, a, sym=True, dtype=None, layout=strided, device=None, requires_grad=False):
    """The window sum_i (-1)^i a[i] cos(2 pi i n / (M - 1)).

    Args:
        a: the coefficients.
        sym: False for a periodic window: M + 1 points without the last.
        dtype: by default the default float type.
    Shape: -> (M)
    Raises:
        ValueError: `M` is negative, as in `general_cosine(-1, a=[1.0])`.
        TypeError: `a` is not a list or tuple, as in `general_cosine(3, a=1.0)`.

    >>> general_cosine(3, a=[0.5, 0.5])
    tensor([0., 1., 0.])
    """
    options = _options("general_cosine", M, dtype, layout, device, requires_grad)
    if M < 2:
        return (OPS["ones"] if M else OPS["empty"])(M, **options)
    if not isinstance(a, Iterable):
        raise TypeError("Coefficients must be a list/tuple")
    a = list(a)
    if not a:
        raise ValueError("Coefficients cannot be empty")
    step = 2 * math.pi / (M if not sym else M - 1)
    k = _grid(0, (M - 1) * step, M, options)
    weights = OPS["tensor"]([(-1) ** i * w for i, w in enumerate(a)], **options)
    i = OPS["arange"](len(a), **options)
    return (weights.unsqueeze(-1) * OPS["cos"](i.unsqueeze(-1) * k)).sum(0)


def general_hamming(M, *, alpha=0.54, sym=True, dtype=None, layout=strided, device=None, requires_grad=False):
    """The window alpha - (1 - alpha) cos(2 pi n / (M - 1)).

    Args:
        sym: False for a periodic window: M + 1 points without the last.
        dtype: by default the default float type.
    Shape: -> (M)
    Raises:
        ValueError: `M` is negative, as in `general_hamming(-1)`.

    >>> general_hamming(3)
    tensor([0.0800, 1.0000, 0.0800])
    """
    return general_cosine(
        M, a=[alpha, 1.0 - alpha], sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad
    )


def nuttall(M, *, sym=True, dtype=None, layout=strided, device=None, requires_grad=False):
    """The window 0.3635819 - 0.4891775 cos(z) + 0.1365995 cos(2 z) - 0.0106411 cos(3 z), z = 2 pi n / (M - 1).

    Args:
        sym: False for a periodic window: M + 1 points without the last.
        dtype: by default the default float type.
    Shape: -> (M)
    Raises:
        ValueError: `M` is negative, as in `nuttall(-1)`.

    >>> nuttall(3)[1]
    tensor(1.0000)
    """
    return general_cosine(
        M, a=[0.3635819, 0.4891775, 0.1365995, 0.0106411], sym=sym, dtype=dtype, layout=layout, device=device,
        requires_grad=requires_grad,
    )  # fmt: skip
