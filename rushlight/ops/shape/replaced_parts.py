"""A tensor with a part of it replaced: select_scatter, slice_scatter, diagonal_scatter, as_strided_scatter, fill_diagonal_."""

from __future__ import annotations

from typing import Any

from ...core.dispatch.op import composite
from ...core.tensor.tensor import Tensor


def _embedding(name: str, view: Any, doc: str) -> None:
    def f(input, src, *args, **kwargs):
        out = input.clone()
        part = view(out, *args, **kwargs)
        if part._array.shape != src._array.shape:
            raise RuntimeError(
                f"{name}: expected src to have a size equal to the slice of self. src size = {list(src.shape)}, slice size = {list(part.shape)}"
            )
        part.copy_(src)
        return out

    f.__name__, f.__doc__ = name, doc
    composite(method=True, out=True)(f)


_embedding("select_scatter", lambda t, dim, index: t.select(dim, index), "The input with `src` at `index` of `dim`.")
_embedding(
    "diagonal_scatter",
    lambda t, offset=0, dim1=0, dim2=1: t.diagonal(offset, dim1, dim2),
    "The input with `src` on its diagonal.",
)
_embedding(
    "slice_scatter",
    lambda t, dim=0, start=None, end=None, step=1: _sliced(t, dim, start, end, step),
    "The input with `src` in a slice of `dim`.",
)


def _sliced(t: Tensor, dim: int, start: Any, end: Any, step: int) -> Tensor:
    from .slicing import slice_

    return slice_(t, dim, start, end, step)


@composite(method=True)
def as_strided_scatter(input, src, size, stride, storage_offset=None):
    """The input with `src` at the places that `as_strided` would show."""
    out = input.clone()
    out.as_strided(size, stride, storage_offset).copy_(src)
    return out


@composite(method=True, function=True)
def fill_diagonal_(input, fill_value, wrap=False):
    """Fill the main diagonal of a tensor of at least two dimensions in place; wrap: go on below a tall matrix."""
    a = input._array
    if a.ndim < 2:
        raise RuntimeError("dimensions must larger than 1")
    if a.ndim > 2 and len(set(a.shape)) != 1:
        raise RuntimeError("all dimensions of input must be of equal length")
    step = sum(input.stride())
    n = min(a.shape)
    input.as_strided((n,), (step,)).fill_(fill_value)
    if wrap and a.ndim == 2 and a.shape[0] > a.shape[1] + 1:
        start = input.storage_offset() + input.stride(0) * (a.shape[1] + 1)
        rest = -(-a.size // (a.shape[1] + 1)) - n
        input.as_strided((rest,), (step,), start).fill_(fill_value)
    return input
