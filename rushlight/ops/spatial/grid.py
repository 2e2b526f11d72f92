"""Images sampled at the places of a grid, and grids made by affine maps.

A grid gives places in (-1, 1) along each axis, the last axis of the image first. Along each axis a sample is a
weighted sum of a few elements (`_axis_taps`): one for 'nearest', two for 'bilinear', four for 'bicubic'.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from itertools import product as places
from math import prod
from typing import Any

import numpy as np

from ...core.device.backend import on_device_of
from ...core.dispatch.errors import argument_type
from ...core.dispatch.mode import thread
from ...core.dispatch.op import composite, primitive
from ...core.dispatch.scalars import check_flag
from ...core.tensor.dtype import from_numpy
from ...core.tensor.node import shown_as
from ...core.tensor.tensor import Tensor, constant, type_word, wrap
from ...core.warn import warn
from ..creation.spacing import spaced
from ..index.duplicate_index import add_at
from ..nn.activation import tied
from ..pointwise.building_blocks import ANY, zero_where
from ..pointwise.checks import not_implemented
from ..product.matmul import bmm
from ..shape.concatenate import stack
from .adaptive_pool import scatter_places, take_places
from .interpolate import cubic_weights

_LARGEST_KEPT = 1 << 16  # places of a grid

# ---------------------------------------------------------------------------------------------- along one axis


def _reflected(at, low, high):
    """(places mirrored into [low, high], the sign of the derivative)."""
    if high == low:
        return np.zeros_like(at), np.zeros_like(at)
    span = high - low
    distance = np.abs(at - low)
    turns = np.floor(distance / span)
    rest = distance - turns * span
    even = turns % 2 == 0
    return np.where(even, rest + low, span - rest + low), np.where(at < low, -1, 1) * np.where(even, 1, -1)


def _kept_inside(at, n, padding_mode, align_corners, nan_to):
    """(places with the padding applied, the derivative).

    nan_to: the place of nan, and of infinities by reflection: in torch the first element of an image's axis, a volume's last.
    """
    slope = np.ones_like(at)
    if padding_mode == "reflection":
        at, slope = _reflected(at, *((0.0, n - 1.0) if align_corners else (-0.5, n - 0.5)))
    if padding_mode != "zeros":
        slope = np.where((at <= 0) | (at >= n - 1), 0, slope)
        at = np.clip(at, 0, n - 1)
        at = np.where(np.isnan(at), nan_to, at)
    return at, slope


def _cubic_slopes(part):
    a = -0.75

    def near(x):
        return (3 * (a + 2) * x - 2 * (a + 3)) * x

    def far(x):
        return (3 * a * x - 10 * a) * x + 8 * a

    return far(part + 1), near(part), -near(1 - part), -far(2 - part)


def _place(c, n, align_corners):
    """Where places c in (-1, 1) along an axis of n elements are, counted in elements."""
    return (c + 1) * ((n - 1) / 2) if align_corners else ((c + 1) * n - 1) / 2


def _place_within(c, n, align_corners):
    """How far past an element, in (0, 1)."""
    at = _place(c, n, align_corners)
    return at - np.floor(at)


def _axis_taps(c, n, mode, padding_mode, align_corners, nan_to):
    """For places c in (-1, 1) along an axis of n elements: a list of (element, outside, weight, its slope by c)."""
    scale = (n - 1) / 2 if align_corners else n / 2
    at = _place(c, n, align_corners)
    if mode == "bicubic":
        low = np.floor(at)
        part = at - low
        taps = []
        for t, (weight, slope) in enumerate(zip(cubic_weights(part), _cubic_slopes(part), strict=True)):
            index, _ = _kept_inside(low + (t - 1), n, padding_mode, align_corners, nan_to)
            taps.append((*_element(index, n), weight, slope * scale))
        return taps
    at, slope = _kept_inside(at, n, padding_mode, align_corners, nan_to)
    if mode == "nearest":
        return [(*_element(np.rint(at), n), np.ones_like(at), np.zeros_like(at))]
    low = np.floor(at)
    part = at - low
    return [
        (*_element(low, n), 1 - part, -slope * scale),
        (*_element(low + 1, n), part, slope * scale),
    ]


def _zero_where(values, mask):
    """In 0.5 ns an element, np.where in 5."""
    return zero_where.record.reference(values, mask) if type(values) is np.ndarray else np.where(mask, 0, values)


def _element(at, n):
    """(the index of an element, or of some element where it is outside, whether it is outside)."""
    outside = ~((at >= 0) & (at < n))  # nan is
    return _zero_where(at, outside).astype(np.int64), outside


def combined_taps(taps: Any, sizes: Any) -> Iterator[tuple[Any, Any, list[Any], list[Any]]]:
    """For each combination of one tap per axis: (flat index, outside, weights, slopes), the last two with an entry per
    axis.
    """
    for chosen in places(*taps):
        flat = sum(index * prod(sizes[i + 1 :]) for i, (index, *_) in enumerate(chosen))
        outside = functools.reduce(np.logical_or, [t[1] for t in chosen])
        yield flat, outside, [t[2] for t in chosen], [t[3] for t in chosen]


def taps_of(grid, sizes, mode, padding_mode, align_corners):
    """The taps along each axis, at flat places. Shape: (N, *, n) -> (N, M) for each entry, M the number of places."""
    n = len(sizes)
    flat = grid.reshape(len(grid), prod(grid.shape[1:-1]), n)
    options = mode, padding_mode, align_corners
    return [_axis_taps(flat[..., n - 1 - i], s, *options, 0 if n == 2 else s - 1) for i, s in enumerate(sizes)]


# ---------------------------------------------------------------------------------------------- the operators

# A call takes the kernel 80 us and more, and a program is made in the time of some 150.
_AS_PROGRAM: dict[str, Any] = {"public": False, "jit_min_elements": ANY, "jit_warmup": 5_000_000}


def _check_sampled(x, grid, mode):
    sizes = f"but got input with sizes {list(x.shape)} and grid with sizes {list(grid.shape)}"
    if x.ndim < 1 or grid.ndim < 1 or x.shape[0] != grid.shape[0]:
        raise RuntimeError(f"grid_sampler(): expected grid and input to have same batch size, {sizes}")
    if grid.shape[-1] != x.ndim - 2:
        raise RuntimeError(
            f"grid_sampler(): expected grid to have size {x.ndim - 2} in last dimension, but got grid with sizes "
            f"{list(grid.shape)}"
        )
    if x.ndim not in (4, 5) or grid.ndim != x.ndim:
        which = f"{x.ndim}D" if x.ndim in (4, 5) else "4D or 5D"
        raise RuntimeError(f"grid_sampler(): expected {which} input and grid with same number of dimensions, {sizes}")
    for i in range(2, x.ndim):
        if not x.shape[i]:
            raise RuntimeError(
                "grid_sampler(): expected input to have non-empty spatial dimensions, but input has sizes "
                f"{list(x.shape)} with dimension {i} being empty"
            )
    if x.ndim == 5 and mode == "bicubic":
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    if x.dtype != grid.dtype:
        words = [type_word(from_numpy(a.dtype)) for a in (x, grid)]
        raise RuntimeError(f"expected scalar type {words[0]} but found {words[1]}")


def _grid_sampler(input, grid, /, mode, padding_mode, align_corners):
    """Shape: (N, C, *), (N, *out, n) -> (N, C, *out)"""
    _check_sampled(input, grid, mode)
    n, c, *sizes = input.shape
    x = input.reshape(n, c, prod(sizes))
    out = np.zeros((n, c, prod(grid.shape[1:-1])), input.dtype, like=input)
    is_finite = type(x) is np.ndarray and np.isfinite(x.sum(dtype=np.float64))
    shows_nan = len(sizes) == 2 and not np.isfinite(
        grid.sum(dtype=np.float64)
    )  # volumes have 0 outside, whatever the place
    for flat, outside, weights, _ in combined_taps(taps_of(grid, sizes, mode, padding_mode, align_corners), sizes):
        if shows_nan:
            outside = outside & ~np.isnan(prod(weights))
        weight = _zero_where(prod(weights), outside).astype(x.dtype, copy=False)
        if type(x) is not np.ndarray:  # a device's, all at once
            out += np.where(outside[:, None], 0, np.take_along_axis(x, flat[:, None], 2) * weight[:, None])
            continue
        for k, (image, places_of, w, to) in enumerate(
            zip(x, flat, weight, out, strict=True)
        ):  # 2 ns an element, all at once 9
            part = image.take(places_of, 1)
            part *= w
            if not is_finite:  # elements outside are read as some element of the image, which may be nan
                part[:, outside[k]] = 0
            to += part
    return out.reshape(n, c, *grid.shape[1:-1])


@primitive(name="grid_sampler.backward", outputs=2, node="GridSampler2DBackwardBackward0", **_AS_PROGRAM)
def _grid_sampler_backward(g, input, grid, /, mode, padding_mode, align_corners):
    """The gradients of input and grid."""
    n, c, *sizes = input.shape
    x, g = input.reshape(n, c, prod(input.shape[2:])), g.reshape(n, c, prod(g.shape[2:]))
    gx, gg = np.zeros_like(x, order="C"), np.zeros((n, g.shape[2], len(sizes)), grid.dtype, like=x)
    rows, channels = np.arange(n)[:, None, None], np.arange(c)[:, None]
    for flat, outside, weights, slopes in combined_taps(taps_of(grid, sizes, mode, padding_mode, align_corners), sizes):
        weight = _zero_where(prod(weights), outside)
        add_at(gx, (rows, channels, flat[:, None]), g * weight[:, None].astype(x.dtype))
        if mode == "nearest":  # which does not depend on where between elements a place is
            continue
        value = _zero_where(np.add.reduce(g * np.take_along_axis(x, flat[:, None], 2), 1), outside)
        for i, slope in enumerate(slopes):
            others = prod(w for j, w in enumerate(weights) if j != i)
            gg[..., len(sizes) - 1 - i] += value * slope * others
    return gx.reshape(input.shape), gg.reshape(grid.shape)


def _recorded_backward(g, input, grid, mode, padding_mode, align_corners):
    """As `_grid_sampler_backward`, in the tensor language, for gradients of gradients.

    Which elements count is a fact of the grid's values; the weights are polynomials in the places between them.
    """
    n, c, *sizes = input._array.shape
    axes, out = len(sizes), grid._array.shape[1:-1]
    x, g = input.reshape(n, c, prod(sizes)), g.reshape(n, c, prod(out))
    flat_grid = grid.reshape(n, prod(out), axes)
    numbers = thread.state.run(taps_of, grid._array, sizes, mode, padding_mode, align_corners)
    recorded = [
        _recorded_taps(flat_grid.select(2, axes - 1 - i), numbers[i], sizes[i], mode, align_corners)
        for i in range(axes)
    ]
    gx: Any = None
    gg: list[Any] = [None] * axes
    for at in places(*(range(len(t)) for t in numbers)):
        chosen = [numbers[i][t] for i, t in enumerate(at)]
        flat: Any = sum(tap[0] * prod(sizes[i + 1 :]) for i, tap in enumerate(chosen))
        inside = wrap((~functools.reduce(np.logical_or, [tap[1] for tap in chosen])).astype(x._array.dtype))
        weights, slopes = zip(*(recorded[i][t] for i, t in enumerate(at)), strict=True)
        index = wrap(np.ascontiguousarray(np.broadcast_to(flat[:, None], (n, c, flat.shape[1]))))
        part = scatter_places(g * (prod(weights) * inside).unsqueeze(1), index, (prod(sizes),))
        gx = part if gx is None else gx + part
        value = (g * take_places(x, index, 1)).sum(1) * inside
        for i, slope in enumerate(slopes):
            term = value * slope * prod(w for j, w in enumerate(weights) if j != i)
            gg[axes - 1 - i] = term if gg[axes - 1 - i] is None else gg[axes - 1 - i] + term
    return gx.reshape(input._array.shape), stack(gg, 2).reshape(grid._array.shape)


def _recorded_taps(c, taps, n, mode, align_corners):
    """[(weight, its slope by c)] of the taps along one axis as tensors that depend on c.

    Between two elements a place is linear in c, so its slope is a constant there, and the place follows from the
    weights.
    """
    kind = c._array.dtype
    if mode == "nearest":
        return [(wrap(taps[0][2].astype(kind)), wrap(taps[0][3].astype(kind)))]
    if mode == "bilinear":
        slope = wrap(taps[1][3].astype(kind))
        part = wrap(taps[1][2].astype(kind)) + (c - c.detach()) * slope
        return [(1 - part, -slope), (part, slope)]
    scale = (n - 1) / 2 if align_corners else n / 2
    within = thread.state.run(_place_within, c._array, n, align_corners)
    part = wrap(within.astype(kind)) + (c - c.detach()) * scale
    return [(w, s * scale) for w, s in zip(cubic_weights(part), _cubic_slopes(part), strict=True)]


def _grid_operator(n):
    operator = primitive(name=f"grid_sampler_{n}d", node=f"GridSampler{n}DBackward0", **_AS_PROGRAM)(_grid_sampler)

    @operator.vjp
    def _(g, input, grid, mode, padding_mode, align_corners):
        if not thread.state.grad:
            return _grid_sampler_backward(g, input, grid, mode, padding_mode, align_corners)
        of_input, of_grid = _recorded_backward(g, input, grid, mode, padding_mode, align_corners)
        shown = f"GridSampler{n}DBackwardBackward0"
        return shown_as(tied(of_input, input), shown), shown_as(tied(of_grid, grid), shown)

    return operator


_grid_sampler_2d, _grid_sampler_3d = _grid_operator(2), _grid_operator(3)

_CORNERS = (
    "Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. Please specify "
    "align_corners=True if the old behavior is desired. See the documentation of grid_sample for details."
)


@composite(functional=True)
def grid_sample(input, grid, mode="bilinear", padding_mode="zeros", align_corners=None):
    """The image (or volume) at the places of a grid; (-1, -1) is its upper left corner, x comes before y.

    Args:
        mode: "bilinear", "nearest" or, of images, "bicubic".
        padding_mode: outside of the image: "zeros", "border" (the nearest element) or "reflection".
        align_corners: whether -1 and 1 are the centres of the corner elements rather than their outer edges (False).
    Shape: (N, C, H, W), (N, H', W', 2) -> (N, C, H', W'); (N, C, D, H, W), (N, D', H', W', 3) -> (N, C, D', H', W')
    Raises:
        ValueError: `mode` is another text, as in `grid_sample(ones(1, 1, 2, 2), zeros(1, 1, 1, 2), mode="x")`.
        RuntimeError: the batches differ, as in `grid_sample(ones(1, 1, 2, 2), zeros(2, 1, 1, 2))`.

    >>> grid_sample(tensor([[[[1.0, 2.0], [3.0, 4.0]]]]), tensor([[[[0.0, 0.0], [1.0, 1.0]]]]), align_corners=True)
    tensor([[[[2.5000, 4.0000]]]])
    """
    if mode not in ("bilinear", "nearest", "bicubic"):
        raise ValueError(
            f"nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '{mode}'"
        )
    if padding_mode not in ("zeros", "border", "reflection"):
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', but got: "
            f"'{padding_mode}'"
        )
    for i, (name, t) in enumerate((("input", input), ("grid", grid))):
        if not isinstance(t, Tensor):
            raise argument_type("grid_sample", name, i + 1, t)
    if align_corners is None:
        warn(_CORNERS)
    else:
        check_flag("grid_sampler", "align_corners", align_corners, 5)
    sampler = _grid_sampler_3d if input._array.ndim == 5 else _grid_sampler_2d
    return sampler(input, grid, mode, padding_mode, bool(align_corners))


def _numbered(sampler, name):
    """The operator by torch's own name, which takes numbers for the modes."""

    def f(input, grid, interpolation_mode, padding_mode, align_corners):
        mode = ("bilinear", "nearest", "bicubic")[interpolation_mode]
        return sampler(input, grid, mode, ("zeros", "border", "reflection")[padding_mode], align_corners)

    f.__name__, f.__doc__ = (
        name,
        "`grid_sample` with the modes as numbers, in the order of its documentation. Shape: as for `grid_sample`.",
    )
    return composite()(f)


grid_sampler_2d = _numbered(_grid_sampler_2d, "grid_sampler_2d")
grid_sampler_3d = _numbered(_grid_sampler_3d, "grid_sampler_3d")


@composite()
def grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners):
    """`grid_sampler_2d` of images, `grid_sampler_3d` of volumes.

    Args:
        interpolation_mode: 0 bilinear, 1 nearest, 2 bicubic.
        padding_mode: 0 zeros, 1 border, 2 reflection.
    Shape: (N, C, H, W), (N, H', W', 2) -> (N, C, H', W'); (N, C, D, H, W), (N, D', H', W', 3) -> (N, C, D', H', W')
    Raises:
        RuntimeError: the batches differ, as in `grid_sampler(ones(1, 1, 2, 2), zeros(2, 1, 1, 2), 0, 0, True)`.

    >>> grid_sampler(ones(1, 1, 2, 2), zeros(1, 1, 1, 2), 0, 0, True)
    tensor([[[[1.]]]])
    """
    sampler = grid_sampler_3d if input._array.ndim == 5 else grid_sampler_2d
    return sampler(input, grid, interpolation_mode, padding_mode, align_corners)


@composite()
def affine_grid_generator(theta, size, align_corners):
    """`affine_grid`, as torch's core has it.

    Args:
        theta: a matrix for each image, from places of the result to places of the input.
    Shape: theta (N, 2, 3), size (N, C, H, W) -> (N, H, W, 2); theta (N, 3, 4), size (N, C, D, H, W) -> (N, D, H, W, 3)

    >>> affine_grid_generator(zeros(1, 2, 3), (1, 1, 4, 5), False).shape
    torch.Size([1, 4, 5, 2])
    """
    return affine_grid(theta, size, align_corners)


@composite(functional=True)
def affine_grid(theta, size, align_corners=None):
    """The grid that samples an image of `size` under the affine maps theta.

    Args:
        theta: a matrix for each image, from places of the result to places of the input.
        size: of the result: (N, C, H, W) or (N, C, D, H, W).
        align_corners: whether -1 and 1 are the centres of the corner elements rather than their outer edges (False).
    Shape: theta (N, 2, 3), size (N, C, H, W) -> (N, H, W, 2); theta (N, 3, 4), size (N, C, D, H, W) -> (N, D, H, W, 3)
    Raises:
        ValueError: theta has another shape, as in `affine_grid(ones(1, 3, 3), (1, 1, 2, 2), align_corners=True)`.
        ValueError: theta is of integers, as in
            `affine_grid(tensor([[[1, 0, 0], [0, 1, 0]]]), (1, 1, 2, 2), align_corners=True)`.

    >>> affine_grid(tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]]), (1, 1, 2, 2), align_corners=True).reshape(-1, 2)
    tensor([[-1., -1.],
            [ 1., -1.],
            [-1.,  1.],
            [ 1.,  1.]])
    """
    if align_corners is None:
        warn(_CORNERS)
        align_corners = False
    check_flag("affine_grid_generator", "align_corners", align_corners, 3)
    if not theta.is_floating_point():
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    size = tuple(size)
    n = len(size) - 2
    if n not in (2, 3):
        raise NotImplementedError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. Got size "
            f"{size}."
        )
    if theta._array.ndim != 3 or theta._array.shape[1:] != (n, n + 1):
        raise ValueError(
            f"Expected a batch of {n}D affine matrices of shape Nx{n}x{n + 1} for size {size}. Got {theta.shape}."
        )
    if align_corners and min(size[2:]) == 1:
        warn(
            "Since version 1.3.0, affine_grid behavior has changed for unit-size grids when align_corners=True. This "
            "is not "
            "an intended use case of affine_grid. See the documentation of affine_grid for details.",
        )
    elif min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {size}")
    if 1 in size[2:] and theta.dtype.itemsize == 2:
        raise not_implemented("tensor_cpu", theta._array.dtype)
    places = on_device_of(theta._array, _new_base_grid, size[2:], align_corners, theta.dtype.numpy)
    base = constant(places).expand(size[0], prod(size[2:]), n + 1)
    return bmm(base, theta.transpose(1, 2)).view((size[0], *size[2:], n))


def _new_base_grid(sizes, align_corners, d):
    """An array of its own of `_base_grid`, for which each image of a data pipeline asks again."""
    if prod(sizes) > _LARGEST_KEPT:
        return _base_grid(sizes, align_corners, d)
    return _kept_base_grid(sizes, align_corners, np.dtype(d)).copy()


@functools.lru_cache(16)
def _kept_base_grid(sizes, align_corners, d):
    return _base_grid(sizes, align_corners, d)


def _base_grid(sizes, align_corners, d):
    """The places of all elements, the last axis first, then a 1. Shape: -> (elements, n + 1)"""
    d, wide = np.dtype(d), np.dtype(np.float32) if np.dtype(d).itemsize == 2 else np.dtype(d)
    lines = []
    for s in sizes:  # each step rounds as torch's
        line = spaced(-1, 1, s, d) if s > 1 else np.zeros(1, d)
        if not align_corners:
            line = (line.astype(wide) * wide.type(s - 1)).astype(d)
            line = (line.astype(wide) / wide.type(s)).astype(d)
        lines.append(line)
    grids = np.meshgrid(*lines, indexing="ij")
    return np.stack([g.reshape(-1) for g in reversed(grids)] + [np.ones(prod(sizes))], 1).astype(d)
