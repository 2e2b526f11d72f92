"""Images sampled at the places of a grid: places and weights are stored once, for all channels."""

from __future__ import annotations

from math import prod
from typing import Any

from ...ops.spatial.grid import combined_taps, taps_of
from ..ir.expression import gather, index
from ..ir.lazy import Builder, Lazy, Untraceable, where
from .joining import stack
from .table import rule


@rule("grid_sampler_2d", "grid_sampler_3d")
def grid_sampler(b, input, grid, mode, padding_mode, align_corners):
    images = _images(b, input)
    out: Any = None
    for place, outside, weights, _ in combined_taps(*_taps(grid, input, mode, padding_mode, align_corners)):
        weight: Any = prod(weights)
        if input.ndim == 4:  # the value at a place that is nan is nan in images, and 0 in volumes
            outside = outside & (weight == weight)
        part = _picked(b, images, place) * _for_channels(b, _of_inside([weight], outside))
        out = part if out is None else out + part
    return out.reshape(*input.shape[:2], *grid.shape[1:-1])


@rule("grid_sampler.backward")
def grid_sampler_backward(b, g, input, grid, mode, padding_mode, align_corners):
    images, axes = _images(b, input), input.ndim - 2
    g = b.lazy(b.store(g.reshape(*input.shape[:2], -1)))
    onto: tuple[Any, ...] = (None,)
    of_grid: list[Any] = [None] * axes
    for place, outside, weights, slopes in combined_taps(*_taps(grid, input, mode, padding_mode, align_corners)):
        place = b.lazy(b.store(place))
        part = b.store(g * _for_channels(b, _of_inside(weights, outside)))
        operands = part, b.lines(_for_channels(b, place).broadcast_to(g.shape), 2)
        onto = (b.extern("scatter_add", operands, (images.shape, g.dtype), axis=2, onto=onto)[0].value,)
        value = _of_inside([(g * _picked(b, images, place)).sum(1)], outside)
        for i, slope in enumerate(slopes):
            term = value * slope * prod(w for j, w in enumerate(weights) if j != i)
            of_grid[axes - 1 - i] = term if of_grid[axes - 1 - i] is None else of_grid[axes - 1 - i] + term
    return b.lazy(onto[0].ref()).reshape(input.shape), stack(b, *of_grid, dim=-1).reshape(grid.shape)


def _taps(grid: Lazy, input: Lazy, mode: str, padding_mode: str, align_corners: bool) -> tuple[list, list[int]]:
    """The taps along each axis of the image, for places (N, M), and the axes' sizes."""
    if input.dtype.itemsize == 2:
        raise Untraceable("a sampled image of 16-bit floats: .float() before")
    sizes = list(input.shape[2:])
    return taps_of(grid, sizes, mode, padding_mode, align_corners), sizes


def _images(b: Builder, input: Lazy) -> Lazy:
    """(N, C, elements), in memory of which an element can be named."""
    return b.lazy(input.reshape(*input.shape[:2], prod(input.shape[2:])).ref())


def _picked(b: Builder, images: Lazy, place: Lazy) -> Lazy:
    """The elements of each channel at places (N, M), which are inside: (N, C, M)."""
    shape = (*images.shape[:2], place.shape[1])
    at = _for_channels(b, place).broadcast_to(shape)
    return Lazy(b, shape, gather(images.ref(), (index(0), index(1), at.expr)))


def _of_inside(factors: list, outside: Lazy) -> Lazy:
    """The product of these, 0 outside of the image."""
    x: Any = prod(factors)
    return where(outside, x.dtype.type(0), x)


def _for_channels(b: Builder, x: Lazy) -> Lazy:
    """(N, M) in memory, as (N, 1, M)."""
    return b.lazy(x.ref()).reshape(len(x), 1, x.shape[1])
