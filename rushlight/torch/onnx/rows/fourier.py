"""Fourier transforms by ONNX's DFT and STFT."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ....core.tensor import dtype as dtypes
from ....core.tensor.tensor import Tensor
from ..graph import Builder, CannotExport, Item, plain
from .complex_numbers import has_complex, pair, real_type
from .shapes import PAD_MODES, padded

__all__ = ["ROWS"]


def _dft(g: Builder, name: str, axis: int, length: int | None, **how: int) -> str:
    """One dimension of a tensor with a last dimension of 1 (real numbers) or 2."""
    size = "" if length is None else g.constant(length)
    if g.opset < 20:
        return g.emit("DFT", name, *([size] if size else []), axis=axis, **how)
    return g.emit("DFT", name, size, g.constant(axis), **how)


def _scale(norm: str | None, length: Any, inverse: bool) -> float:
    """What the transform without a factor is multiplied by; `length()` is how many numbers it is of."""
    if norm == "ortho":
        return 1 / math.sqrt(length())
    return 1 / length() if (norm in (None, "backward")) == inverse else 1.0


def _scaled(g: Builder, name: str, factor: float, kind: dtypes.dtype) -> str:
    return name if factor == 1 else g.emit("Mul", name, g.constant(factor, kind))


def _forward(g: Builder, name: str, x: Item, axis: int, length: int | None, norm: Any, onesided: int) -> str:
    """A transform with exp(-...)."""
    name = _dft(g, name, axis, length, onesided=onesided)
    return _scaled(g, name, _scale(norm, lambda: length or x.fixed_size(axis), False), real_type(x.value.dtype))


def _backward(g: Builder, name: str, x: Item, axis: int, length: int | None, norm: Any) -> str:
    """A transform with exp(+...), which ONNX divides by its length."""
    name = _dft(g, name, axis, length, inverse=1)
    if norm in (None, "backward"):
        return name
    n = length or x.fixed_size(axis)
    return _scaled(g, name, n * _scale(norm, lambda: n, True), real_type(x.value.dtype))


def _halves(g: Builder, name: str, x: Item, axis: int, length: int | None, norm: Any, inverse: bool) -> str:
    """The real numbers of which `name` is the first half of the transform."""
    have = x.fixed_size(axis)
    n = length or 2 * (have - 1)
    if n < 1:
        raise CannotExport("a transform of no numbers")
    places = [k if k <= n // 2 else n - k for k in range(n)]
    parts = [[float(p < have), (1.0 if p == k else -1.0) * (p < have)] for k, p in enumerate(places)]
    kind = real_type(x.value.dtype)
    whole = g.emit("Gather", name, g.constant([min(p, have - 1) for p in places]), axis=axis)
    ones = [1] * (x.value.ndim - axis - 1)
    signs = g.emit("Reshape", g.constant(parts, kind), g.constant([n, *ones, 2]))
    whole = g.emit("Mul", whole, signs)
    if not inverse:  # of the conjugates
        whole = g.emit("Mul", whole, g.constant([1.0, -1.0], kind))
    real = g.emit("Gather", _dft(g, whole, axis, None, inverse=1), g.constant(0), axis=-1)
    return _scaled(g, real, n * _scale(norm, lambda: n, inverse), kind)


def _with_last(g: Builder, x: Item) -> str:
    """The tensor with a last dimension of 1 or 2, as DFT takes it."""
    if has_complex(x.value):
        return pair(g, x, x.value.dtype)
    kind = x.value.dtype if x.value.dtype.is_floating_point else dtypes.float32
    return g.emit("Unsqueeze", g.name(x, kind), g.constant([-1]))


def _batched(row: Callable) -> Callable:
    """DFT needs a dimension of a batch: a single signal gets one."""

    def batched(g: Builder, out: Tensor, x: Item, size: Item, dim: Item, norm: Item) -> str:
        if x.value.ndim > 1:
            return row(g, x, plain(size), plain(dim), plain(norm))
        first = g.constant([0])
        name = g.emit("Unsqueeze", pair(g, x, x.value.dtype) if has_complex(x.value) else g.name(x), first)
        other = x.other.unsqueeze(0) if isinstance(x.other, Tensor) else x.other
        wide = Item(x.value.unsqueeze(0), name).follows(x, other=other)
        return g.emit("Squeeze", row(g, wide, plain(size), _behind(plain(dim)), plain(norm)), first)

    return batched


def _behind(dim: Any) -> Any:
    """Dimensions of a signal, counted from the back."""
    if dim is None:
        return [-1]
    return [_behind(d) for d in dim] if isinstance(dim, (list, tuple)) else -1


def _axes(x: Item, sizes: Any, dims: Any) -> tuple[list[int], list[int | None]]:
    n = x.value.ndim
    if dims is None:
        dims = range(n) if sizes is None else range(n - len(sizes), n)
    given: list[int | None] = [None if s == -1 else s for s in sizes or [-1] * len(dims)]
    return [d % n for d in dims], given


def of_one(inverse: bool, onesided: bool = False) -> Callable:
    """A row of `fft`, `ifft`, `rfft` and `ihfft`."""

    def row(g: Builder, x: Item, length: int | None, dim: int, norm: str | None) -> str:
        axis, name = dim % x.value.ndim, _with_last(g, x)
        if not onesided:
            return (_backward if inverse else _forward)(g, name, x, axis, length, norm, *(() if inverse else (0,)))
        if not inverse:
            return _forward(g, name, x, axis, length, norm, 1)
        kind, n = real_type(x.value.dtype), lambda: length or x.fixed_size(axis)
        signs = g.constant([1.0, -1.0], kind)
        half = g.emit("Mul", _dft(g, name, axis, length, onesided=1), signs)
        return _scaled(g, half, _scale(norm, n, True), kind)

    return _batched(row)


def of_halves(inverse: bool) -> Callable:
    """A row of `irfft` and `hfft`."""

    def row(g: Builder, x: Item, length: int | None, dim: int, norm: str | None) -> str:
        return _halves(g, pair(g, x, _complex_of(x)), x, dim % x.value.ndim, length, norm, inverse)

    return _batched(row)


def _complex_of(x: Item) -> dtypes.dtype:
    return dtypes.complex128 if x.value.dtype in (dtypes.float64, dtypes.complex128) else dtypes.complex64


def of_several(inverse: bool) -> Callable:
    """A row of `fftn` and `ifftn`: one dimension after the other."""

    def row(g: Builder, x: Item, sizes: Any, dims: Any, norm: str | None) -> str:
        name = _with_last(g, x)
        for axis, length in zip(*_axes(x, sizes, dims), strict=True):
            name = (_backward if inverse else _forward)(g, name, x, axis, length, norm, *(() if inverse else (0,)))
        return name

    return _batched(row)


def real_of_several(g: Builder, x: Item, sizes: Any, dims: Any, norm: str | None) -> str:
    """`rfftn`: half of the last dimension, then the others."""
    axes, lengths = _axes(x, sizes, dims)
    name = _forward(g, _with_last(g, x), x, axes[-1], lengths[-1], norm, 1)
    for axis, length in zip(axes[:-1], lengths[:-1], strict=True):
        name = _forward(g, name, x, axis, length, norm, 0)
    return name


def halves_of_several(g: Builder, x: Item, sizes: Any, dims: Any, norm: str | None) -> str:
    """`irfftn`: the other dimensions, then the last from its half."""
    axes, lengths = _axes(x, sizes, dims)
    name = pair(g, x, _complex_of(x))
    for axis, length in zip(axes[:-1], lengths[:-1], strict=True):
        name = _backward(g, name, x, axis, length, norm)
    return _halves(g, name, x, axes[-1], lengths[-1], norm, True)


def short_time(g: Builder, out: Tensor, x: Item, n_fft: Item, *rest: Item) -> str:
    """`stft`: windows of a signal, padded where they are centred, by ONNX's STFT."""
    hop, size, window, *centred, normalized, onesided, _returned, aligned = rest
    if has_complex(x.value) or has_complex(window.value) or plain(aligned):
        raise CannotExport("complex signals or windows, or align_to_window")
    n, kind, single = plain(n_fft), x.value.dtype, x.value.ndim == 1
    length = n if plain(size) is None else plain(size)
    name = g.emit("Unsqueeze", g.name(x), g.constant([0])) if single else g.name(x)
    if centred and plain(centred[0]):
        value = x.value.unsqueeze(0) if single else x.value
        mode = PAD_MODES[plain(centred[1])]
        wide = Item(value.unsqueeze(0), g.emit("Unsqueeze", name, g.constant([0])))
        name = g.emit("Squeeze", padded(g, wide, Item([n // 2, n // 2]), mode, Item(None)), g.constant([0]))
    left = (n - length) // 2
    shape = g.constant([1.0] * length, kind) if window.value is None else g.name(window, kind)
    if length < n:
        shape = g.emit("Pad", shape, g.constant([left, n - length - left]))
    half = True if plain(onesided) is None else plain(onesided)
    step = n // 4 if plain(hop) is None else plain(hop)
    inputs = [g.emit("Unsqueeze", name, g.constant([-1])), g.constant(step), shape, g.constant(n)]
    found = g.emit("Transpose", g.emit("STFT", *inputs, onesided=int(half)), perm=[0, 2, 1, 3])
    found = _scaled(g, found, 1 / math.sqrt(n) if plain(normalized) else 1.0, kind)
    return g.emit("Squeeze", found, g.constant([0])) if single else found


ROWS: dict[str, Callable] = {
    "fft_fft": of_one(False), "fft_ifft": of_one(True), "fft_rfft": of_one(False, True), "fft_ihfft": of_one(True, True),
    "fft_irfft": of_halves(True), "fft_hfft": of_halves(False), "fft_fft2": of_several(False), "fft_ifft2": of_several(True),
    "fft_fftn": of_several(False), "fft_ifftn": of_several(True), "fft_rfft2": _batched(real_of_several),
    "fft_rfftn": _batched(real_of_several), "fft_irfft2": _batched(halves_of_several),
    "fft_irfftn": _batched(halves_of_several), "stft": short_time,
}  # fmt: skip
