"""Images of another size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .... import ops
from ....core.tensor import dtype as dtypes
from ....core.tensor.tensor import Tensor
from ....nn import functional as F
from ..graph import Builder, Item, plain

__all__ = ["ROWS"]


def upsample(mode: str, exact: bool = False, antialias: bool = False) -> Callable:
    """A row of `upsample_*`: the input, sizes or None, align_corners where the mode has it, and factors or None."""

    def row(g: Builder, out: Tensor, x: Item, sizes: Item, *rest: Item) -> str:
        align = bool(plain(rest[0])) if mode != "nearest" else False
        if align and antialias:
            return _resized_by_matrices(g, out, x, mode)
        factors = [plain(o) for o in rest[mode != "nearest" :]]
        factors = list(factors[0]) if factors and isinstance(factors[0], (list, tuple)) else factors
        if not (mode == "nearest" or antialias or any(factors)) and _rounds_places(out, x, sizes, align):
            return _weighted(g, out, x, mode, align)
        options: dict[str, Any] = {"mode": mode} | ({"antialias": 1, "exclude_outside": 1} if antialias else {})
        if mode == "nearest":
            how = ("half_pixel", "round_prefer_ceil") if exact else ("asymmetric", "floor")
            options |= {"coordinate_transformation_mode": how[0], "nearest_mode": how[1]}
        else:
            options["coordinate_transformation_mode"] = "align_corners" if align else "half_pixel"
        if mode == "cubic":
            options["cubic_coeff_a"] = -0.5 if antialias else -0.75
        if factors and all(f is not None for f in factors):
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


def _rounds_places(out: Tensor, x: Item, sizes: Item, align: bool) -> bool:
    """Whether the sizes are numbers of the model, and pixels of the result are at places of `x` that float32 rounds.

    Runtimes round them in another way than torch: images that ONNX Runtime takes from 64 to 160 pixels differ by 1e-5 of
    the largest value, which the layers of a detector make ten times as large.
    """
    if not sizes.is_constant or out.dtype not in (dtypes.float32, dtypes.float64):
        return False
    dims = range(2, out.ndim)
    if not all(x.fixes(dim) for dim in dims):
        return False
    pairs = [sorted((x.value.shape[dim], out.shape[dim])) for dim in dims]
    return any(
        large % small or (large // small).bit_count() != 1 or (align and small != large) for small, large in pairs
    )


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
