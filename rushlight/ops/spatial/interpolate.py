"""Images resampled to another size.

Along each axis an element of the result is a weighted sum of a few of the input's: `_taps` lists for each place in the
result which ones, and their weights. The transpose of that list makes the gradient, so both directions are the same
loop over taps.
"""

from __future__ import annotations

import functools
import itertools
import math

import numpy as np

from ...core.dispatch.errors import argument_type, type_error
from ...core.dispatch.op import composite, primitive
from ...core.dispatch.scalars import check_flag
from ...core.tensor.dtype import from_numpy
from ...core.tensor.tensor import Tensor, type_word
from ..pointwise.building_blocks import F32
from . import bilinear
from .adaptive_pool import adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d
from .avg_pool import avg_pool_2d

# ---------------------------------------------------------------------------------------------- which elements, how
# much


def _ratio(n, out, scale, align_corners):
    """The distance between two places of the result, in the input's elements."""
    if align_corners:
        return (n - 1) / (out - 1) if out > 1 else 0.0
    return 1.0 / scale if scale is not None and scale > 0 else n / out


def _nearest_taps(n, out, scale, exact, whole):
    if whole and not exact and out in (n, 2 * n):
        return (np.arange(out) * n // out)[:, None], np.ones((out, 1))
    ratio = np.float32(1.0 / scale) if scale is not None and scale > 0 else np.float32(n) / np.float32(out)
    places = np.arange(out, dtype=np.float32)
    at = np.floor((places + np.float32(0.5)) * ratio if exact else places * ratio).astype(np.int64)
    return np.minimum(at, n - 1)[:, None], np.ones((out, 1))


def _linear_taps(n, out, scale, align_corners, d):
    found = bilinear.taps(n, out, scale, align_corners, d)
    return np.stack(found[:2], 1).astype(np.int64), np.stack(found[2:], 1)


def cubic_weights(part):
    """The weights of the four elements around a place `part` after the second (a = -0.75)."""
    a = -0.75

    def near(x):
        return ((a + 2) * x - (a + 3)) * x * x + 1

    def far(x):
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a

    return far(part + 1), near(part), near(1 - part), far(2 - part)


def _cubic_taps(n, out, scale, align_corners, d, is_fused):
    at = bilinear.sources(n, out, scale, align_corners, d, is_fused)
    low = np.minimum(np.floor(at).astype(np.int64), n - 1)
    part = np.clip(at - low.astype(d), 0, 1)
    where = np.clip(low[:, None] + np.arange(-1, 3), 0, n - 1)
    return where, np.stack(_fused_cubic_weights(part) if is_fused and d is F32 else cubic_weights(part), 1)


def _fused_cubic_weights(part):
    """The same in float32, each product and the sum after it rounded once, as torch's compiler has it."""
    a = -0.75

    def fused(x, y, z):
        return (x.astype(np.float64) * y + z).astype(F32)

    def near(x):
        return fused(fused(x, a + 2, -(a + 3)) * x, x, 1)

    def far(x):
        return fused(fused(fused(x, a, -5 * a), x, 8 * a), x, -4 * a)

    one = F32.type(1)
    return far(part + one), near(part), near(one - part), far((one - part) + one)


def _triangle(x):
    return np.maximum(0, 1 - np.abs(x))


def _cubic(x, a=-0.5):
    x = np.abs(x)
    near, far = ((a + 2) * x - (a + 3)) * x * x + 1, (((x - 5) * x + 8) * x - 4) * a
    return np.where(x < 1, near, np.where(x < 2, far, 0))


def _lanczos(x):
    return np.where(np.abs(x) < 3, np.sinc(x) * np.sinc(x / 3), 0)


_FILTERS = {"bilinear": (_triangle, 1), "bicubic": (_cubic, 2), "lanczos": (_lanczos, 3)}


def _wide_taps(n, out, scale, align_corners, mode, d):
    """The taps of an anti-aliasing filter, which widens as the image shrinks; rounded to `d` where torch rounds."""
    kernel, radius = _FILTERS[mode]
    ratio = float(d.type(_ratio(n, out, scale, align_corners)))
    support = d.type(radius * max(ratio, 1.0))
    inverse = float(d.type(1 / max(ratio, 1.0)))
    centers = (ratio * (np.arange(out) + 0.5)).astype(d)
    first = np.maximum(((centers - support).astype(np.float64) + 0.5).astype(np.int64), 0)
    last = np.minimum(((centers + support).astype(np.float64) + 0.5).astype(np.int64), n)
    where = first[:, None] + np.arange(int((last - first).max()))
    places = ((where.astype(d) - centers[:, None]).astype(np.float64) + 0.5) * inverse
    weights = kernel(places.astype(d)) * (where < last[:, None]).astype(d)
    return np.minimum(where, n - 1), weights / np.add.accumulate(weights, 1)[:, -1:]


@functools.lru_cache(256)
def _taps(n, out, scale, mode, align_corners, antialias, d, whole=True, is_fused=True):
    """(where, weights) along one axis from n to `out` elements. Shape: (out, taps) twice

    d: the type that torch computes linear and cubic weights in, that of the elements: places are rounded to it.
    whole: the nearest element where the size stays or doubles follows from the sizes alone. torch does so for images,
    and for the gradients of sequences and volumes but not for their values, so that those differ for uneven scale
    factors.
    """
    if mode.startswith("nearest"):
        return _nearest_taps(n, out, scale, mode == "nearest-exact", whole)
    if antialias:
        return _wide_taps(n, out, scale, align_corners, mode, d)
    if mode == "bicubic":
        return _cubic_taps(n, out, scale, align_corners, d, is_fused)
    return _linear_taps(n, out, scale, align_corners, d)


def _kept_in(d, weights, mode):
    """Weights as torch's kernels keep them, rounded to 16 bits; the first of two is 1 less the second then."""
    kept = weights.astype(d).astype(F32)
    if mode != "bicubic" and weights.shape[1] == 2:
        kept[:, 0] = (1 - kept[:, 1]).astype(d)
    return kept


@functools.lru_cache(256)
def _transposed_taps(n, out, scale, mode, align_corners, antialias, d):
    """The taps of the transpose: for each of the n elements, where in the result it counts, and how much."""
    where, weights = _taps(n, out, scale, mode, align_corners, antialias, d, is_fused=mode != "bicubic")
    lists: list[list] = [[] for _ in range(n)]
    for o in range(out):
        for i, w in zip(where[o], weights[o], strict=True):
            lists[i].append((o, w))
    width = max(map(len, lists))
    rows = [entries + [(entries[0][0] if entries else 0, 0.0)] * (width - len(entries)) for entries in lists]
    table = np.array(rows, np.float64).reshape(n, width, 2)
    return table[..., 0].astype(np.int64), table[..., 1]


def _resampled(x, axis, where, weights):
    """The sum over taps of the elements at `where` times `weights` along one axis."""
    first = x.take(where[:, 0], axis)
    if where.shape[1] == 1 and (weights == 1).all():
        return first
    shape = (-1,) + (1,) * (x.ndim - axis - 1)
    total = np.multiply(first, weights[:, 0].reshape(shape).astype(x.dtype), first)
    for t in range(1, where.shape[1]):
        here = x.take(where[:, t], axis)
        total += np.multiply(here, weights[:, t].reshape(shape).astype(x.dtype), here)
    return total


# ---------------------------------------------------------------------------------------------- the operators


def _working_type(d):
    return F32 if d.itemsize < 4 and d.kind not in "iub" else np.dtype(np.float64) if d.kind == "u" else d


@functools.lru_cache(256)
def _factors(sizes, size, scales, mode, whole=True):
    """By how much each axis grows where each element of the input is repeated as often as its neighbours, else None."""
    if not mode.startswith("nearest") or any(n == 0 or out % n for n, out in zip(sizes, size, strict=True)):
        return None
    for n, out, scale in zip(sizes, size, scales, strict=True):
        where, _ = _taps(n, out, scale, mode, False, False, F32, whole)
        if not np.array_equal(where[:, 0], np.arange(out) * n // out):
            return None
    factors = tuple(out // n for n, out in zip(sizes, size, strict=True))
    return factors if max(factors) > 1 else None


def _repeated(x, factors):
    """Each element of the last axes as often as `factors` say. Shape: (N, C, *) -> (N, C, *)"""
    sizes = x.shape[2:]
    if type(x) is np.ndarray and factors[-1] > 1:  # NumPy's loops would be as short as a factor
        wide = np.empty((*x.shape[:-1], x.shape[-1] * factors[-1]), x.dtype)
        for r in range(factors[-1]):
            wide[..., r :: factors[-1]] = x
        x, sizes, factors = wide, wide.shape[2:], (*factors[:-1], 1)
        if max(factors) == 1:
            return x
    ones = [k for n in sizes for k in (n, 1)]
    grown = [k for n, f in zip(sizes, factors, strict=True) for k in (n, f)]
    grid = np.broadcast_to(x.reshape(*x.shape[:2], *ones), (*x.shape[:2], *grown))
    return grid.reshape(*x.shape[:2], *[n * f for n, f in zip(sizes, factors, strict=True)])


def _gathered(g, factors):
    """The transpose of `_repeated`: the elements of each block added row by row, as torch adds them."""
    if type(g) is np.ndarray and len(factors) == 2 and max(factors) > 1:
        return avg_pool_2d.record.kernel(g, factors, factors, (0, 0), False, True, 1)
    total = None
    for place in itertools.product(*map(range, factors)):
        part = g[(..., *[slice(r, None, f) for r, f in zip(place, factors, strict=True)])]
        total = part + 0 if total is None else total + part
    return total


def _contiguous(x, d):
    """A fresh array in the type `d`; a placeholder of one is stored by the program that is captured."""
    return np.ascontiguousarray(x, d) if isinstance(x, np.ndarray) else x.astype(d)


def axes_taps(sizes, size, scales, align_corners, d):
    """The taps of both axes of images, in torch's arithmetic."""
    return [bilinear.taps(n, out, s, align_corners, d) for n, out, s in zip(sizes, size, scales, strict=True)]


def _upsample(input, /, size, scales, mode, align_corners, antialias):
    """The input resampled along its last axes. Shape: (N, C, *) -> (N, C, *size)"""
    d = input.dtype
    if d.kind == "b" or d.kind in "iu" and d != np.uint8:
        raise NotImplementedError(f"\"upsample_{mode}\" not implemented for '{type_word(from_numpy(d))}'")
    if antialias and d.itemsize == 2:
        raise NotImplementedError(f"\"compute_index_ranges_weights\" not implemented for '{type_word(from_numpy(d))}'")
    x = input.astype(_working_type(d), copy=False)
    whole = len(size) == 2
    factors = _factors(x.shape[2:], size, scales, mode, whole)
    if factors is not None:
        return _contiguous(_repeated(x, factors), d)
    if mode == "bilinear" and not antialias and d is F32 and type(x) is np.ndarray:
        return bilinear.upsampled(x, *axes_taps(x.shape[2:], size, scales, align_corners, d))
    for i in reversed(range(len(size))):
        where, weights = _taps(x.shape[2 + i], size[i], scales[i], mode, align_corners, antialias, x.dtype, whole)
        if d.itemsize == 2 and mode in ("linear", "trilinear", "bicubic"):
            weights = _kept_in(d, weights, mode)
        x = _resampled(x, 2 + i, where, weights)
        if d.kind == "u":  # each axis' result is rounded to bytes
            x = np.clip(np.floor(x + 0.5), 0, 255)
    return np.array(x, d, order="C") if x is input else np.ascontiguousarray(x, d)


@primitive(name="upsample.backward", public=False, follows=(0,), node="UpsampleBackwardBackward0")
def upsample_backward(g, /, sizes, scales, mode, align_corners, antialias):
    """The transpose of resampling from `sizes`. Shape: (N, C, *) -> (N, C, *sizes)"""
    d = g.dtype
    x = g.astype(_working_type(d), copy=False)
    if mode == "bicubic" and not antialias and tuple(sizes) == g.shape[2:]:  # as torch, whatever the scale factor
        return np.array(x, d, order="C") if isinstance(x, np.ndarray) else x.astype(d)
    factors = _factors(sizes, g.shape[2:], scales, mode)
    if factors is not None:
        return _contiguous(_gathered(x, factors), d)
    for i, n in enumerate(sizes):
        where, weights = _transposed_taps(n, x.shape[2 + i], scales[i], mode, align_corners, antialias, x.dtype)
        x = _resampled(x, 2 + i, where, weights)
    return np.ascontiguousarray(x, d)


@upsample_backward.vjp
def _(g, g_shape, scales, mode, align_corners, antialias):
    return _OPERATORS[mode, len(scales), antialias](g, g_shape[2:], scales, mode, align_corners, antialias)


def _upsample_operator(word, n, antialias):
    suffix = "_aa" if antialias else ""
    name = f"upsample_{word}{n}d{suffix}"
    node = f"Upsample{''.join(w.capitalize() for w in word.split('_'))}{n}D{'Aa' if antialias else ''}Backward0"
    operator = primitive(name=name, public=False, follows=(0,), node=node)(_upsample)

    @operator.vjp
    def _(g, input_shape, scales, mode, align_corners, antialias):
        g = g.contiguous() if mode == "bicubic" and not antialias else g  # torch's ignores channels-last there alone
        return upsample_backward(g, input_shape[2:], scales, mode, align_corners, antialias)

    return operator


_LINEAR = {3: "linear", 4: "bilinear", 5: "trilinear"}  # by the rank of the input
_OPERATORS = {
    **{("nearest", n, False): _upsample_operator("nearest", n, False) for n in (1, 2, 3)},
    **{("nearest-exact", n, False): _upsample_operator("nearest_exact", n, False) for n in (1, 2, 3)},
    **{(mode, rank - 2, False): _upsample_operator(mode, rank - 2, False) for rank, mode in _LINEAR.items()},
    ("bicubic", 2, False): _upsample_operator("bicubic", 2, False),
    **{(mode, 2, True): _upsample_operator(mode, 2, True) for mode in _FILTERS},
}
upsample_bilinear2d = _OPERATORS["bilinear", 2, False]
_AREA = {3: adaptive_avg_pool1d, 4: adaptive_avg_pool2d, 5: adaptive_avg_pool3d}

# ---------------------------------------------------------------------------------------------- the public function


def _sizes_and_scales(shape, size, scale_factor):
    """(the spatial size or None, the scale factors or None), each with an entry for each axis."""
    n, sizes = len(shape) - 2, list(shape[2:])
    if size is not None:
        if scale_factor is not None:
            raise ValueError("only one of size or scale_factor should be defined")
        if isinstance(size, (list, tuple)):
            if len(size) != n:
                raise ValueError(
                    "Input and output must have the same number of spatial dimensions, but got input with spatial "
                    "dimensions "
                    f"of {sizes} and output size of {size}. Please provide input tensor in (N, C, d1, d2, ...,dK) "
                    "format and "
                    "output size in (o1, o2, ...,oK) format."
                )
        else:
            size = (size,) * n
        if any(isinstance(s, float) for s in size):
            raise type_error(f"interpolate(): argument 'size' must be int or tuple of ints, but got {size}")
        return tuple(int(s) for s in size), None
    if scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    if isinstance(scale_factor, (list, tuple)):
        if len(scale_factor) != n:
            raise ValueError(
                "Input and scale_factor must have the same number of spatial dimensions, but got input with spatial "
                f"dimensions of {sizes} and scale_factor of shape {scale_factor}. Please provide input tensor in (N, "
                "C, d1, "
                "d2, ...,dK) format and scale_factor in (s1, s2, ...,sK) format."
            )
        return None, tuple(map(float, scale_factor))
    return None, (float(scale_factor),) * n


def _check_modes(rank, mode, align_corners, antialias):
    """Whether corners are aligned, or torch's error for a mode that does not fit."""
    if mode in ("nearest", "area", "nearest-exact") and align_corners is not None:
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear"
        )
    if antialias and not (mode in _FILTERS and rank == 4):
        raise ValueError(
            "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D tensor as input"
        )
    if mode == "lanczos" and rank == 4:
        if align_corners:
            raise ValueError("Lanczos mode does not support align_corners=True")
        if not antialias:
            raise ValueError("Lanczos mode requires antialias=True")
    if rank in _LINEAR and mode in _LINEAR.values() and _LINEAR[rank] != mode:
        needed = {m: r for r, m in _LINEAR.items()}[mode]
        raise NotImplementedError(f"Got {rank}D input, but {mode} mode needs {needed}D input")
    if rank not in _LINEAR or mode != "area" and (mode, rank - 2, antialias) not in _OPERATORS:
        raise NotImplementedError(
            f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {rank}D) for the modes: nearest | linear | "
            "bilinear "
            f"| bicubic | trilinear | lanczos | area | nearest-exact (got {mode})"
        )
    return bool(align_corners)


def _check_shapes(shape, size):
    if min(size) <= 0 or not all(shape[2:]):
        letters = {1: "W", 2: "HW", 3: "DHW"}[len(size)]
        sides = [", ".join(f"{c}: {s}" for c, s in zip(letters, sides, strict=True)) for sides in (shape[2:], size)]
        raise RuntimeError(
            f"Input and output sizes should be greater than 0, but got input ({sides[0]}) output ({sides[1]})"
        )
    if not shape[1]:
        raise RuntimeError(f"Non-empty {len(shape)}D data tensor expected but got a tensor with sizes {list(shape)}")


@composite(functional=True)
def interpolate(
    input,
    size=None,
    scale_factor=None,
    mode="nearest",
    align_corners=None,
    recompute_scale_factor=None,
    antialias=False,
):
    """The sequence, image or volume resampled to `size`, or to its size times `scale_factor`.

    Args:
        size: an int or one for each spatial dimension.
        scale_factor: a number or one for each spatial dimension, instead of `size`.
        mode: nearest, nearest-exact, linear (3-D), bilinear, bicubic (4-D), trilinear (5-D), area, lanczos (antialias
            only).
        align_corners: the centres of the corner elements stay where they are, instead of the elements' outer edges.
        recompute_scale_factor: whether the scale is computed from the rounded size.
        antialias: whether windows grow with the step when an image shrinks (bilinear, bicubic).
    Shape: (N, C, L), (N, C, H, W) or (N, C, D, H, W) -> (N, C, *size)
    Raises:
        ValueError: size and scale_factor are both given or both missing, as in `interpolate(ones(1, 1, 2))`.
        NotImplementedError: `mode` does not go with the dimensions, as in
            `interpolate(ones(1, 1, 2), 4, mode="bilinear")`.

    >>> interpolate(tensor([[[1.0, 2.0]]]), scale_factor=2)
    tensor([[[1., 1., 2., 2.]]])
    """
    if not isinstance(input, Tensor):
        raise argument_type("interpolate", "input", 1, input)
    shape = input._array.shape
    rank = len(shape)
    if align_corners is not None:
        check_flag("interpolate", "align_corners", align_corners, 5)
    if mode in ("nearest", "area", "nearest-exact") and align_corners is not None:
        _check_modes(rank, mode, align_corners, False)
    size, scales = _sizes_and_scales(shape, size, scale_factor)
    if recompute_scale_factor and scales is None:
        raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
    aligned = _check_modes(rank, mode, align_corners, antialias)
    if size is None:
        assert scales is not None  # one of the two is given
        size = tuple(math.floor(n * s) for n, s in zip(shape[2:], scales, strict=True))
        if recompute_scale_factor or mode == "area":
            scales = None
    if mode == "area":
        return _AREA[rank](input, size if rank > 3 else size[0])
    _check_shapes(shape, size)
    scales = scales or (None,) * (rank - 2)
    return _OPERATORS[mode, rank - 2, antialias](input, size, scales, mode, aligned, antialias)
