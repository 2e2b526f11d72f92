"""Images of another size."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .... import ops
from ....core.tensor import dtype as dtypes
from ....core.tensor.tensor import Tensor
from ....nn import functional as F
from ..graph import UNKNOWN, Builder, Item, plain, plain_other

__all__ = ["ROWS"]


def upsample(mode: str, exact: bool = False, antialias: bool = False) -> Callable:
    """A row of `upsample_*`: the input, sizes or None, align_corners where the mode has it, and factors or None."""

    def row(g: Builder, out: Tensor, x: Item, sizes: Item, *rest: Item) -> str:
        align = bool(plain(rest[0])) if mode != "nearest" else False
        if align and antialias:
            return _resized_by_matrices(g, out, x, mode)
        factors = [plain(o) for o in rest[mode != "nearest" :]]
        factors = list(factors[0]) if factors and isinstance(factors[0], (list, tuple)) else factors
        factors = factors if all(factors) else []  # by each axis, or by none
        if mode != "nearest" and not antialias and out.dtype in (dtypes.float32, dtypes.float64):
            if _has_fixed_sizes(out, x, sizes) and not factors:
                if any(_rounds_places(x.value.shape[dim], out.shape[dim], align) for dim in range(2, out.ndim)):
                    return _weighted(g, out, x, mode, align)
            elif _may_round_places(out, x, sizes, align, factors):
                return _weighted_by_graph(g, out, x, sizes, mode, align, factors)
        options: dict[str, Any] = {"mode": mode} | ({"antialias": 1, "exclude_outside": 1} if antialias else {})
        if mode == "nearest":
            how = ("half_pixel", "round_prefer_ceil") if exact else ("asymmetric", "floor")
            options |= {"coordinate_transformation_mode": how[0], "nearest_mode": how[1]}
        else:
            options["coordinate_transformation_mode"] = "align_corners" if align else "half_pixel"
        if mode == "cubic":
            options["cubic_coeff_a"] = -0.5 if antialias else -0.75
        if factors:
            scales = g.constant([1.0, 1.0, *map(float, factors)], dtypes.float32)
            return g.emit("Resize", g.name(x), "", scales, **options)
        target = [g.constant([size]) for size in out.shape[2:]]
        if sizes.value is not None and not sizes.is_constant:
            target = [g.sizes(sizes)]
        parts = [g.size_of(x, 0), g.size_of(x, 1), *target]
        return g.emit("Resize", g.name(x), "", "", g.emit("Concat", *parts, axis=0), **options)

    return row


def _resized_by_matrices(g: Builder, out: Tensor, x: Item, mode: str) -> str:
    """A product for each dimension: where corners are aligned, ONNX's antialiasing filters are not where torch's are."""
    kind = "bicubic" if mode == "cubic" else "bilinear"
    rows, columns = (
        F.interpolate(
            ops.eye(n, dtype=out.dtype).view(1, n, n, 1), (m, 1), mode=kind, align_corners=True, antialias=True
        ).view(n, m)
        for n, m in ((x.fixed_size(dim), out.shape[dim]) for dim in (2, 3))
    )
    return g.emit("MatMul", g.emit("MatMul", g.constant(rows.t().contiguous()), g.name(x)), g.constant(columns))


def _has_fixed_sizes(out: Tensor, x: Item, sizes: Item) -> bool:
    """Whether the sizes of the image and of the result are numbers of the model."""
    return sizes.is_constant and all(x.fixes(dim) for dim in range(2, out.ndim))


def _rounds_places(n: int, m: int, align: bool) -> bool:
    """Whether the m pixels of a row are at places among its n that float32 rounds.

    Runtimes round them in another way than torch: images that ONNX Runtime takes from 64 to 160 pixels differ by 1e-5 of
    the largest value, which the layers of a detector make ten times as large.
    """
    small, large = sorted((n, m))
    return large % small != 0 or (large // small).bit_count() != 1 or (align and small != large)


def _may_round_places(out: Tensor, x: Item, sizes: Item, align: bool, factors: list) -> bool:
    """The same of sizes that may change, by the example and the other sizes that are known."""
    if factors:
        return align or any(math.frexp(f)[0] != 0.5 for f in factors)
    other = plain_other(sizes)
    if x.other is UNKNOWN or other is UNKNOWN or other is None:
        return True
    pairs = [*zip(x.value.shape[2:], out.shape[2:], strict=True), *zip(x.other.shape[2:], other, strict=True)]
    return any(_rounds_places(n, int(m), align) for n, m in pairs)


def _weighted(g: Builder, out: Tensor, x: Item, mode: str, align: bool) -> str:
    """A sum over few neighbours along each dimension, the last one first as in torch, with the weights of the result."""
    name = g.name(x)
    for dim in reversed(range(2, out.ndim)):
        n, m = x.value.shape[dim], out.shape[dim]
        weights = _weights(n, m, mode, align, out.dtype)
        count = min(n, 4 if mode == "cubic" else 2)
        first = weights.ne(0).to(dtypes.int64).argmax(1).clamp(max=n - count)
        total = None
        for place in (first + k for k in range(count)):
            share = weights.gather(1, place[:, None]).view(m, *[1] * (out.ndim - 1 - dim))
            part = g.emit("Mul", g.emit("Gather", name, g.constant(place), axis=dim), g.constant(share))
            total = part if total is None else g.emit("Add", total, part)
        name = total or name
    return name


def _weighted_by_graph(g: Builder, out: Tensor, x: Item, sizes: Item, mode: str, align: bool, factors: list) -> str:
    """The same for sizes that are known when the graph runs: places and weights are computed there, as torch rounds them."""
    name = g.name(x)
    zero, one = g.constant(0.0, out.dtype), g.constant(1.0, out.dtype)
    for i, dim in reversed(list(enumerate(range(2, out.ndim)))):
        factor = factors[i] if factors else None
        size = g.size_of(x, dim)
        scalar = [_scalar(g, n) for n in (size, _size_of_result(g, out, x, sizes, factors, i))]
        n, m = scalar
        last = g.emit("Sub", n, g.constant(1))
        at = _places(g, n, m, align, factor, out.dtype)
        at = at if mode == "cubic" else g.emit("Max", at, zero)
        low = g.emit("Min", g.cast(g.emit("Floor", at), dtypes.int64), last)
        part = g.emit("Clip", g.emit("Sub", at, g.cast(low, out.dtype)), zero, one)
        shares = _cubic_shares(g, part, out.dtype) if mode == "cubic" else [g.emit("Sub", one, part), part]
        total = None
        for offset, share in zip(range(-1, 3) if mode == "cubic" else range(2), shares, strict=True):
            place = g.emit("Max", g.emit("Min", g.emit("Add", low, g.constant(offset)), last), g.constant(0))
            column = g.emit("Reshape", share, g.constant([-1] + [1] * (out.ndim - 1 - dim)))
            piece = g.emit("Mul", g.emit("Gather", name, place, axis=dim), column)
            total = piece if total is None else g.emit("Add", total, piece)
        name = total or name
    return name


def _scalar(g: Builder, vector: str) -> str:
    return g.emit("Reshape", vector, g.constant([], dtypes.int64))


def _size_of_result(g: Builder, out: Tensor, x: Item, sizes: Item, factors: list, i: int) -> str:
    """A size of the result, a 1-d tensor: given, or the image's times a factor, rounded down."""
    if not factors:
        given = sizes.value[i]
        return g.vector(given) if isinstance(given, Item) else g.constant([int(given)])
    size = g.cast(g.size_of(x, 2 + i), dtypes.float64)
    return g.cast(g.emit("Floor", g.emit("Mul", size, g.constant([factors[i]], dtypes.float64))), dtypes.int64)


def _places(g: Builder, n: str, m: str, align: bool, factor: float | None, kind: dtypes.dtype) -> str:
    """The places of m pixels among n, in the image's type; torch multiplies and adds with one rounding."""
    steps = g.cast(g.emit("Range", g.constant(0), m, g.constant(1)), kind)
    if align:
        gaps = [g.emit("Sub", size, g.constant(1)) for size in (n, m)]
        gaps[1] = g.emit("Max", gaps[1], g.constant(1))
        return g.emit("Mul", steps, g.emit("Div", *(g.cast(gap, kind) for gap in gaps)))
    ratio = g.constant(1.0 / factor, kind) if factor else g.emit("Div", g.cast(n, kind), g.cast(m, kind))
    middles = g.emit("Add", steps, g.constant(0.5, kind))
    wide = g.emit("Mul", *(g.cast(part, dtypes.float64) for part in (middles, ratio)))
    return g.cast(g.emit("Sub", wide, g.constant(0.5, dtypes.float64)), kind)


def _cubic_shares(g: Builder, part: str, kind: dtypes.dtype) -> list[str]:
    """The weights of the four pixels around places, `part` after the second of them."""
    wide = g.cast(part, dtypes.float64)

    def polynomial(t: str, *factors: float) -> str:
        total = g.constant(factors[0], dtypes.float64)
        for factor in factors[1:]:
            total = g.emit("Add", g.emit("Mul", total, t), g.constant(factor, dtypes.float64))
        return g.cast(total, kind)

    a = -0.75
    rest = g.emit("Sub", g.constant(1.0, dtypes.float64), wide)
    near, far = (a + 2, -(a + 3), 0.0, 1.0), (a, -2 * a, a, 0.0)  # the outer ones as polynomials of the distance less 1
    return [polynomial(wide, *far), polynomial(wide, *near), polynomial(rest, *near), polynomial(rest, *far)]


def _weights(n: int, m: int, mode: str, align: bool, kind: dtypes.dtype) -> Tensor:
    """(m, n): how much each of n pixels in a row is of each of the m."""
    pixels = ops.eye(n, dtype=kind)
    if mode == "linear":
        return F.interpolate(pixels[None], m, mode="linear", align_corners=align)[0].t().contiguous()
    stretched = F.interpolate(pixels.view(1, n, n, 1), (m, 1), mode="bicubic", align_corners=align)
    return stretched.view(n, m).t().contiguous()


ROWS: dict[str, Callable] = {
    **{f"upsample_nearest{n}d": upsample("nearest") for n in (1, 2, 3)}, "upsample_linear1d": upsample("linear"),
    "upsample_bilinear2d": upsample("linear"), "upsample_trilinear3d": upsample("linear"),
    "upsample_bicubic2d": upsample("cubic"),
    **{f"upsample_nearest_exact{n}d": upsample("nearest", exact=True) for n in (1, 2, 3)},
    **{f"_upsample_nearest_exact{n}d": upsample("nearest", exact=True) for n in (1, 2, 3)},
    "_upsample_bilinear2d_aa": upsample("linear", antialias=True),
    "_upsample_bicubic2d_aa": upsample("cubic", antialias=True),
}  # fmt: skip
