"""Discrete Fourier transforms, by NumPy's pocketfft in the type of the input.

Three operators are enough: complex to complex, real to complex, and complex to real. Each transforms several dimensions,
scales by 1, 1/sqrt(n) or 1/n (`scale` 0, 1, 2, as torch counts them), and goes forward, exp(-2 pi i j k / n), or back.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...core.dispatch.docs import like
from ...core.dispatch.errors import type_error
from ...core.dispatch.op import OPS, primitive
from ...core.dispatch.slow_path import write_out
from ...core.dispatch.torch_function import publish
from ...core.tensor import dtype as dtypes
from ...core.tensor.size import wrap_dim
from ...core.tensor.tensor import Tensor, type_word

_FORWARD = ("backward", "ortho", "forward")  # NumPy's `norm` for a scale of a forward transform, and of one back
_BACK = ("forward", "ortho", "backward")


def _order(strides: Any, dims: Any, last: bool = False) -> list[int]:
    """The dimensions in the memory order of torch's result: the others, then `dims`, each by falling stride of the input.

    last: the last of `dims` stays the last one.
    """
    others = sorted((d for d in range(len(strides)) if d not in dims), key=lambda d: -strides[d])
    moving, kept = (dims[:-1], dims[-1:]) if last else (dims, ())
    return [*others, *sorted(moving, key=lambda d: -strides[d]), *kept]


def _laid(r: np.ndarray, order: list[int]) -> np.ndarray:
    """The array with its dimensions in that order in memory."""
    if r.transpose(order).flags.c_contiguous:
        return r
    return np.ascontiguousarray(r.transpose(order)).transpose(np.argsort(order))


@primitive(name="_fft_c2c", public=False, node="FftC2CBackward0")
def _c2c(input, /, dims, scale, forward):
    """Shape: complex (*) -> complex (*)"""
    if not dims:
        return input.copy()
    f, norm = (np.fft.fftn, _FORWARD) if forward else (np.fft.ifftn, _BACK)
    return _laid(f(input, axes=dims, norm=norm[scale]), _order(input.strides, dims))


@_c2c.vjp
def _(g, dims, scale, forward):
    return _c2c(g, dims, scale, not forward)


@primitive(name="_fft_r2c", public=False, node="FftR2CBackward0")
def _r2c(input, /, dims, scale, onesided):
    """Forward. Shape: real (*, n) -> complex (*, n // 2 + 1) if onesided, else (*, n)"""
    order = _order(input.strides, dims, last=True)
    if onesided:
        return _laid(np.fft.rfftn(input, axes=dims, norm=_FORWARD[scale]), order)
    kind = np.complex128 if input.dtype == np.float64 else np.complex64
    return _laid(np.fft.fftn(input.astype(kind), axes=dims, norm=_FORWARD[scale]), order)


@_r2c.vjp
def _(g, input, dims, scale, onesided):  # torch keeps the input, whose size this needs: freed or changed, it raises
    if onesided:
        g = _resized(g, {dims[-1]: input.shape[dims[-1]]})
    return _c2c(g, dims, scale, False).real


@primitive(name="_fft_c2r", public=False, node="FftC2RBackward0")
def _c2r(input, /, dims, scale, n):
    """Back, taking the missing half to be the conjugate. Shape: complex (*, n // 2 + 1) -> real (*, n)"""
    sizes = [n if d == dims[-1] else input.shape[d] for d in dims]
    r = np.fft.irfftn(input, s=sizes, axes=dims, norm=_BACK[scale])
    strides = list(input.strides)
    for place, d in enumerate(reversed(_order(input.strides, dims[:-1]) if dims[1:] else ())):
        strides[d] = place  # of what the complex transform along all dimensions but the last one gives
    return _laid(r, _order(strides, dims[-1:]))


@_c2r.vjp
def _(g, dims, scale, n):
    half = _r2c(g, dims, scale, True)
    last = dims[-1]
    doubled = n - half.shape[last]  # those with a conjugate partner count for two
    weights = np.ones(half.shape[last], g._array.dtype)
    weights[1 : 1 + doubled] = 2
    shape = [1] * g._array.ndim
    shape[last] = -1
    return half * OPS["tensor"](weights).reshape(shape)


# ---------------------------------------------------------------------------------------------- arguments

_SCALES = {  # forward, back
    None: (0, 2), "backward": (0, 2), "ortho": (1, 1), "forward": (2, 0),
}  # fmt: skip


def _scale(norm: str | None, forward: bool) -> int:
    try:
        return _SCALES[norm][not forward]
    except KeyError:
        raise RuntimeError(f'Invalid normalization mode: "{norm}"') from None


def _floating(input: Any, name: str) -> Any:
    """The input as a floating-point or complex tensor; 16-bit types raise as on torch's CPU."""
    if not isinstance(input, Tensor):
        raise type_error(f"fft_{name}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
    kind = input.dtype
    if kind.category < 2:
        return input.to(dtypes.get_default_dtype())  # type: ignore[attr-defined]
    if kind in (dtypes.float16, dtypes.bfloat16):
        raise RuntimeError(f"Unsupported dtype {type_word(kind)}")
    return input


def _complex(input: Any) -> Any:
    if input.is_complex():
        return input
    return input.to(dtypes.complex128 if input.dtype is dtypes.float64 else dtypes.complex64)


def _real(input: Any, name: str) -> Any:
    input = _floating(input, name)
    if input.is_complex():
        raise RuntimeError(f"{name} expects a real input tensor, but got {type_word(input.dtype)}")
    return input


def _wrapped(dim: int, rank: int) -> int:
    if not rank:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return wrap_dim(dim, rank)


def _resized(input: Any, sizes: dict[int, int]) -> Any:
    """The input cut or filled with zeros at the end of its dimensions to `sizes`."""
    for d, n in sizes.items():
        have = input._array.shape[d]
        if n < have:
            input = input.narrow(d, 0, n)
        elif n > have:
            behind = (0, 0) * (input._array.ndim - 1 - d % input._array.ndim)
            input = OPS["pad"](input, (*behind, 0, n - have)).contiguous()
    return input


def _check_size(n: int) -> None:
    if n < 1:
        raise RuntimeError(f"Invalid number of data points ({n}) specified")


def _dims_and_sizes(input: Any, s: Any, dim: Any) -> tuple[tuple[int, ...], list[int]]:
    """The dimensions of an n-dimensional transform, and how many points of each."""
    rank = input._array.ndim
    s = None if s is None else [s] if isinstance(s, int) else list(s)
    if dim is None:
        if s is not None and len(s) > rank:
            raise RuntimeError(f"Got shape with {len(s)} values but input tensor only has {rank} dimensions.")
        dims = tuple(range(rank if s is None else len(s)))
        dims = tuple(rank - len(dims) + d for d in dims)
    else:
        dims = tuple(_wrapped(d, rank) for d in ([dim] if isinstance(dim, int) else dim))
        if len(set(dims)) != len(dims):
            raise RuntimeError("FFT dims must be unique")
        if s is not None and len(s) != len(dims):
            raise RuntimeError("When given, dim and shape arguments must have the same length")
    sizes = [input._array.shape[d] if s is None or s[i] == -1 else s[i] for i, d in enumerate(dims)]
    for n in sizes:
        _check_size(n)
    return dims, sizes


def _points(input: Any, n: int | None, dim: int) -> tuple[Any, int]:
    """The input with n points along `dim`, and that dimension counted from the front."""
    d = _wrapped(dim, input._array.ndim)
    if n is not None:
        _check_size(n)
        return _resized(input, {d: n}), d
    _check_size(input._array.shape[d])
    return input, d


def _finished(name: str, input: Any, result: Any, out: Any) -> Any:
    if out is None:
        return result
    return write_out(name, (input,), result, out)


# ---------------------------------------------------------------------------------------------- one dimension


def fft(input, n=None, dim=-1, norm=None, *, out=None):
    """The discrete Fourier transform X[k] = sum_j x[j] exp(-2 pi i j k / n) along `dim`.

    Args:
        n: the number of points: the input is cut or filled with zeros; by default its size.
        norm: "backward" (no scaling, the default), "ortho" (1 / sqrt(n)) or "forward" (1 / n).
        out: the tensor to write the result to.
    Shape: (*, m) -> (*, n) complex
    Raises:
        RuntimeError: `n` is not positive, as in `fft(ones(2), 0)`.
        RuntimeError: `norm` is another text, as in `fft(ones(2), norm="x")`.
        IndexError: `dim` is out of range, as in `fft(ones(2), dim=1)`.

    >>> fft(tensor([1.0, 2.0, 3.0, 4.0]))
    tensor([10.+0.j, -2.+2.j, -2.+0.j, -2.-2.j])
    """
    x, d = _points(_floating(input, "fft"), n, dim)
    scale = _scale(norm, True)
    return _finished(
        "fft_fft", input, _c2c(x, (d,), scale, True) if x.is_complex() else _r2c(x, (d,), scale, False), out
    )


def ifft(input, n=None, dim=-1, norm=None, *, out=None):
    """The inverse of `fft`: sum_k X[k] exp(2 pi i j k / n) / n along `dim`.

    Args:
        n: the number of points: the input is cut or filled with zeros; by default its size.
        norm: "backward" (1 / n, the default), "ortho" (1 / sqrt(n)) or "forward" (no scaling).
        out: the tensor to write the result to.
    Shape: (*, m) -> (*, n) complex
    Raises:
        RuntimeError: `n` is not positive, as in `ifft(ones(2), 0)`.
        IndexError: `dim` is out of range, as in `ifft(ones(2), dim=1)`.

    >>> ifft(tensor([10.0, -2.0, -2.0, -2.0]))
    tensor([1.+0.j, 3.+0.j, 3.+0.j, 3.+0.j])
    """
    x, d = _points(_floating(input, "ifft"), n, dim)
    return _finished("fft_ifft", input, _c2c(_complex(x), (d,), _scale(norm, False), False), out)


def rfft(input, n=None, dim=-1, norm=None, *, out=None):
    """`fft` of a real input, without the half that is the conjugate of the other.

    Args:
        n: the number of points: the input is cut or filled with zeros; by default its size.
        norm: "backward" (no scaling, the default), "ortho" (1 / sqrt(n)) or "forward" (1 / n).
        out: the tensor to write the result to.
    Shape: (*, m) -> (*, n // 2 + 1) complex
    Raises:
        RuntimeError: `input` is complex, as in `rfft(tensor([1.0j]))`.
        RuntimeError: `n` is not positive, as in `rfft(ones(2), 0)`.

    >>> rfft(tensor([1.0, 2.0, 3.0, 4.0]))
    tensor([10.+0.j, -2.+2.j, -2.+0.j])
    """
    x, d = _points(_real(input, "rfft"), n, dim)
    return _finished("fft_rfft", input, _r2c(x, (d,), _scale(norm, True), True), out)


def _half(input: Any, n: int | None, dim: int) -> tuple[Any, int, int]:
    """A half spectrum cut or filled for n real points, the dimension, and n."""
    x = _complex(input)
    d = _wrapped(dim, x._array.ndim)
    points = 2 * (x._array.shape[d] - 1) if n is None else n
    _check_size(points)
    return _resized(x, {d: points // 2 + 1}), d, points


def irfft(input, n=None, dim=-1, norm=None, *, out=None):
    """The inverse of `rfft`: a real result.

    Args:
        n: the number of real points; 2 (m - 1) by default.
        norm: "backward" (1 / n, the default), "ortho" (1 / sqrt(n)) or "forward" (no scaling).
        out: the tensor to write the result to.
    Shape: (*, m) -> (*, n) real
    Raises:
        RuntimeError: `n` is not positive, as in `irfft(ones(2), 0)`.

    >>> irfft(tensor([10.0 + 0.0j, -2.0 + 2.0j, -2.0 + 0.0j]))
    tensor([1., 2., 3., 4.])
    """
    x, d, n = _half(_floating(input, "irfft"), n, dim)
    return _finished("fft_irfft", input, _c2r(x, (d,), _scale(norm, False), n), out)


def hfft(input, n=None, dim=-1, norm=None, *, out=None):
    """`fft` of a signal of which only the first half is given, the rest being its conjugate: a real result.

    Args:
        n: the number of real points; 2 (m - 1) by default.
        norm: "backward" (no scaling, the default), "ortho" (1 / sqrt(n)) or "forward" (1 / n).
        out: the tensor to write the result to.
    Shape: (*, m) -> (*, n) real
    Raises:
        RuntimeError: `n` is not positive, as in `hfft(ones(2), 0)`.

    >>> hfft(tensor([1.0, 2.0, 3.0]))
    tensor([ 8., -2.,  0., -2.])
    """
    x, d, n = _half(_floating(input, "hfft"), n, dim)
    return _finished("fft_hfft", input, _c2r(x.conj_physical(), (d,), _scale(norm, True), n), out)


def ihfft(input, n=None, dim=-1, norm=None, *, out=None):
    """The inverse of `hfft`: the first half of `ifft` of a real input.

    Args:
        n: the number of points: the input is cut or filled with zeros; by default its size.
        norm: "backward" (1 / n, the default), "ortho" (1 / sqrt(n)) or "forward" (no scaling).
        out: the tensor to write the result to.
    Shape: (*, m) -> (*, n // 2 + 1) complex
    Raises:
        RuntimeError: `input` is complex, as in `ihfft(tensor([1.0j]))`.

    >>> ihfft(tensor([8.0, -2.0, 0.0, -2.0])).real
    tensor([1., 2., 3.])
    """
    x, d = _points(_real(input, "ihfft"), n, dim)
    return _finished("fft_ihfft", input, _r2c(x, (d,), _scale(norm, False), True).conj(), out)


# ---------------------------------------------------------------------------------------------- several dimensions


def fftn(input, s=None, dim=None, norm=None, *, out=None):
    """`fft` along several dimensions.

    Args:
        s: the number of points of each.
        dim: the dimensions; by default the last len(s), or all of them.
        norm: "backward" (no scaling, the default), "ortho" or "forward" (divided by the number n of all points).
        out: the tensor to write the result to.
    Shape: (*) -> (*, *s) complex
    Raises:
        RuntimeError: the numbers of sizes and dimensions differ, as in `fftn(ones(2, 2), (2,), (0, 1))`.

    >>> fftn(ones(2, 2)).real
    tensor([[4., 0.],
            [0., 0.]])
    """
    x = _complex(_floating(input, "fftn"))
    dims, sizes = _dims_and_sizes(x, s, dim)
    x = _resized(x, dict(zip(dims, sizes, strict=True)))
    return _finished("fft_fftn", input, _c2c(x, dims, _scale(norm, True), True), out)


def ifftn(input, s=None, dim=None, norm=None, *, out=None):
    """The inverse of `fftn`.

    Args:
        s: the number of points of each dimension.
        dim: the dimensions; by default the last len(s), or all of them.
        norm: "backward" (divided by the number of all points, the default), "ortho" or "forward" (no scaling).
        out: the tensor to write the result to.
    Shape: (*) -> (*, *s) complex
    Raises:
        RuntimeError: the numbers of sizes and dimensions differ, as in `ifftn(ones(2, 2), (2,), (0, 1))`.

    >>> ifftn(ones(2, 2)).real
    tensor([[1., 0.],
            [0., 0.]])
    """
    x = _complex(_floating(input, "ifftn"))
    dims, sizes = _dims_and_sizes(x, s, dim)
    x = _resized(x, dict(zip(dims, sizes, strict=True)))
    return _finished("fft_ifftn", input, _c2c(x, dims, _scale(norm, False), False), out)


def _real_dims(input: Any, s: Any, dim: Any, name: str) -> tuple[Any, tuple[int, ...]]:
    x = _real(input, name)
    dims, sizes = _dims_and_sizes(x, s, dim)
    if not dims:
        raise RuntimeError(f"{name} must transform at least one axis")
    return _resized(x, dict(zip(dims, sizes, strict=True))), dims


def rfftn(input, s=None, dim=None, norm=None, *, out=None):
    """`fftn` of a real input; the last dimension of `dim` is halved.

    Args:
        s: the number of points of each dimension.
        dim: the dimensions; by default the last len(s), or all of them.
        norm: "backward" (no scaling, the default), "ortho" or "forward" (divided by the number of all points).
        out: the tensor to write the result to.
    Shape: (*, m) -> (*, m // 2 + 1) complex
    Raises:
        RuntimeError: `input` is complex, as in `rfftn(tensor([1.0j]))`.

    >>> rfftn(ones(2, 4)).shape
    torch.Size([2, 3])
    """
    x, dims = _real_dims(input, s, dim, "rfftn")
    return _finished("fft_rfftn", input, _r2c(x, dims, _scale(norm, True), True), out)


def _half_dims(input: Any, s: Any, dim: Any, name: str) -> tuple[Any, tuple[int, ...], int]:
    """A spectrum halved along its last dimension, cut or filled; the dimensions; the real points of the last."""
    x = _complex(_floating(input, name))
    sizes = None if s is None else [s] if isinstance(s, int) else list(s)
    dims, points = _dims_and_sizes(x, sizes, dim)
    if not dims:
        raise RuntimeError(f"{name} must transform at least one axis")
    default = sizes is None or sizes[-1] == -1
    n = 2 * (x._array.shape[dims[-1]] - 1) if default else points[-1]
    _check_size(n)
    return _resized(x, dict(zip(dims, [*points[:-1], n // 2 + 1], strict=True))), dims, n


def irfftn(input, s=None, dim=None, norm=None, *, out=None):
    """The inverse of `rfftn`: a real result.

    Args:
        s: the number of points of each dimension; of the last one 2 (m - 1) by default.
        dim: the dimensions; by default the last len(s), or all of them.
        norm: "backward" (divided by the number of all points, the default), "ortho" or "forward" (no scaling).
        out: the tensor to write the result to.
    Shape: (*, m) -> (*, 2 (m - 1)) real
    Raises:
        RuntimeError: the numbers of sizes and dimensions differ, as in `irfftn(ones(2, 2), (2,), (0, 1))`.

    >>> irfftn(ones(2, 3)).shape
    torch.Size([2, 4])
    """
    x, dims, n = _half_dims(input, s, dim, "irfftn")
    return _finished("fft_irfftn", input, _c2r(x, dims, _scale(norm, False), n), out)


def hfftn(input, s=None, dim=None, norm=None, *, out=None):
    """`hfft` along several dimensions; the last of them is the one of which half is given.

    Args:
        s: the number of points of each dimension; of the last one 2 (m - 1) by default.
        dim: the dimensions; by default the last len(s), or all of them.
        norm: "backward" (no scaling, the default), "ortho" or "forward" (divided by the number of all points).
        out: the tensor to write the result to.
    Shape: (*, m) -> (*, 2 (m - 1)) real
    Raises:
        RuntimeError: the numbers of sizes and dimensions differ, as in `hfftn(ones(2, 2), (2,), (0, 1))`.

    >>> hfftn(ones(2, 3)).shape
    torch.Size([2, 4])
    """
    x, dims, n = _half_dims(input, s, dim, "hfftn")
    return _finished("fft_hfftn", input, _c2r(x.conj_physical(), dims, _scale(norm, True), n), out)


def ihfftn(input, s=None, dim=None, norm=None, *, out=None):
    """The inverse of `hfftn`, of a real input; the last dimension of `dim` is halved.

    Args:
        s: the number of points of each dimension.
        dim: the dimensions; by default the last len(s), or all of them.
        norm: "backward" (divided by the number of all points, the default), "ortho" or "forward" (no scaling).
        out: the tensor to write the result to.
    Shape: (*, m) -> (*, m // 2 + 1) complex
    Raises:
        RuntimeError: `input` is complex, as in `ihfftn(tensor([1.0j]))`.

    >>> ihfftn(ones(2, 4)).shape
    torch.Size([2, 3])
    """
    x, dims = _real_dims(input, s, dim, "ihfftn")
    scale = _scale(norm, False)
    result = _r2c(x, dims[-1:], scale, True).conj()
    return _finished("fft_ihfftn", input, _c2c(result, dims[:-1], scale, False) if dims[1:] else result, out)


def _two(function: Any) -> Any:
    """The two-dimensional form of an n-dimensional transform."""

    def transform(input, s=None, dim=(-2, -1), norm=None, *, out=None):
        return function(input, s, dim, norm, out=out)

    transform.__name__ = transform.__qualname__ = function.__name__[:-1] + "2"
    transform.__code__ = transform.__code__.replace(co_name=transform.__name__)  # which errors name
    text = f"`{function.__name__}` along two dimensions, by default the last two."
    transform.__doc__ = like(function, transform.__name__, text)
    return transform


fft2, ifft2, rfft2, irfft2, hfft2, ihfft2 = map(_two, (fftn, ifftn, rfftn, irfftn, hfftn, ihfftn))


# ---------------------------------------------------------------------------------------------- frequencies


def fftfreq(n, d=1.0, *, out=None, dtype=None, layout=None, device=None, requires_grad=False):
    """The frequencies of `fft` of n points at distance d: (0, 1, ..., -2, -1) / (n d).

    Args:
        d: the distance of samples; 1 / d is the unit of the result.
        out: the tensor to write the result to.
        dtype: by default the default float type.
    Shape: -> (n)

    >>> fftfreq(4)
    tensor([ 0.0000,  0.2500, -0.5000, -0.2500])
    """
    options = {"dtype": dtype or dtypes.get_default_dtype(), "layout": layout, "device": device}
    k = OPS["arange"](n, **options)
    k[(n + 1) // 2 :] -= n
    return _frequencies("fft_fftfreq", k, n, d, requires_grad, out)


def rfftfreq(n, d=1.0, *, out=None, dtype=None, layout=None, device=None, requires_grad=False):
    """The frequencies of `rfft` of n points at distance d: (0, 1, ..., n // 2) / (n d).

    Args:
        d: the distance of samples; 1 / d is the unit of the result.
        out: the tensor to write the result to.
        dtype: by default the default float type.
    Shape: -> (n // 2 + 1)

    >>> rfftfreq(4)
    tensor([0.0000, 0.2500, 0.5000])
    """
    options = {"dtype": dtype or dtypes.get_default_dtype(), "layout": layout, "device": device}
    return _frequencies("fft_rfftfreq", OPS["arange"](n // 2 + 1, **options), n, d, requires_grad, out)


def _frequencies(name: str, k: Any, n: int, d: float, requires_grad: bool, out: Any) -> Any:
    if isinstance(d, complex):
        raise type_error(f"{name}(): argument 'd' (position 2) must be float, not complex")
    span = float(n * d)
    result = k.mul_(1.0 / span if span else math.copysign(math.inf, span))
    return _finished(name, k, result.requires_grad_() if requires_grad else result, out)


def fftshift(input, dim=None):
    """The zero frequency in the middle: each dimension rolled by half its size.

    Args:
        dim: an int or a tuple; all dimensions by default.
    Shape: (*) -> (*)
    Raises:
        IndexError: `dim` is out of range, as in `fftshift(ones(2), 1)`.

    >>> fftshift(tensor([0, 1, 2, -2, -1]))
    tensor([-2, -1,  0,  1,  2])
    """
    dims = _shift_dims(input, dim)
    return input.roll([input._array.shape[d] // 2 for d in dims], dims)


def ifftshift(input, dim=None):
    """The inverse of `fftshift`.

    Args:
        dim: an int or a tuple; all dimensions by default.
    Shape: (*) -> (*)
    Raises:
        IndexError: `dim` is out of range, as in `ifftshift(ones(2), 1)`.

    >>> ifftshift(tensor([-2, -1, 0, 1, 2]))
    tensor([ 0,  1,  2, -2, -1])
    """
    dims = _shift_dims(input, dim)
    return input.roll([(input._array.shape[d] + 1) // 2 for d in dims], dims)


def _shift_dims(input: Any, dim: Any) -> tuple[int, ...]:
    if dim is None:
        return tuple(range(input._array.ndim))
    return tuple(wrap_dim(d, input._array.ndim) for d in ((dim,) if isinstance(dim, int) else dim))


__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "hfft2", "hfftn", "ifft", "ifft2", "ifftn", "ifftshift",
    "ihfft", "ihfft2", "ihfftn", "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn",
]  # fmt: skip

publish({name: globals()[name] for name in __all__})
