"""The functions of `torch.masked`: reductions and normalizations that leave elements out where a mask is False.

The mask is broadcast to the input. What is left out takes the value that does not count (0 in a sum, minus infinity in a
maximum), which is also what a slice gives whose elements are all left out; mean, median, var and std give NaN there.
"""

from __future__ import annotations

from typing import Any

from .. import ops
from ..core.tensor import dtype as dtypes
from ..core.tensor.layout import iinfo
from ..core.tensor.tensor import Tensor
from ..ops.linalg.linalg import vector_norm

__all__ = [
    "amax",
    "amin",
    "argmax",
    "argmin",
    "cumprod",
    "cumsum",
    "log_softmax",
    "logaddexp",
    "logsumexp",
    "mean",
    "median",
    "norm",
    "normalize",
    "prod",
    "softmax",
    "softmin",
    "std",
    "sum",
    "var",
]

_INF = float("inf")


def _lowest(input: Tensor) -> float:
    return -_INF if input.is_floating_point() else iinfo(input.dtype).min


def _highest(input: Tensor) -> float:
    return _INF if input.is_floating_point() else iinfo(input.dtype).max


def _kept(input: Tensor, mask: Tensor | None, neutral: float) -> Tensor:
    """The input with `neutral` where the mask is False."""
    if mask is None:
        return input
    return ops.where(_broadcast(input, mask), input, ops.tensor(neutral, dtype=input.dtype))


def _broadcast(input: Tensor, mask: Tensor) -> Tensor:
    if mask.dim() > input.dim():
        raise IndexError("_input_mask expected broadcastable mask (got mask dimensionality higher than of the input)")
    return ops.broadcast_to(mask.to(dtypes.bool_), input.shape)


def _dims(dim: Any, ndim: int) -> tuple[int, ...]:
    if dim is None or dim == ():
        return tuple(range(ndim))
    found: list[int] = []
    for d in (dim,) if isinstance(dim, int) else dim:
        if d in found:
            raise RuntimeError(f"dim={d} appears multiple times in the list of dims")
        if not -max(ndim, 1) <= d < max(ndim, 1):
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-max(ndim, 1)}, {max(ndim, 1) - 1}], but got {d})"
            )
        found.append(d % max(ndim, 1))
    return tuple(sorted(found))


def _sum_type(input: Tensor, dtype: Any) -> Any:
    return dtype or (input.dtype if input.is_floating_point() or input.is_complex() else dtypes.int64)


# ---------------------------------------------------------------------------------------------- reductions


def sum(
    input: Tensor, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The sum of what the mask keeps, over `dim`, an index or several; None is all."""
    return ops.sum(_kept(input, mask, 0), _dims(dim, input.dim()), keepdim, dtype=_sum_type(input, dtype))


def prod(
    input: Tensor, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The product."""
    result = _kept(input, mask, 1).to(dtype=_sum_type(input, dtype))
    for d in reversed(_dims(dim, input.dim())):
        result = result.prod(dim=d, keepdim=keepdim)
    return result


def amax(
    input: Tensor, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The largest element."""
    return ops.amax(_kept(input, mask, _lowest(input)), _dims(dim, input.dim()), keepdim).to(dtype or input.dtype)


def amin(
    input: Tensor, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The smallest element."""
    return ops.amin(_kept(input, mask, _highest(input)), _dims(dim, input.dim()), keepdim).to(dtype or input.dtype)


def argmax(
    input: Tensor, dim: int | None = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """Where the largest element is; in the input's type, as torch gives it, unless `dtype` says another."""
    return ops.argmax(_kept(input, mask, _lowest(input)), dim, keepdim).to(dtype or input.dtype)


def argmin(
    input: Tensor, dim: int | None = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """Where the smallest element is; in the input's type, as torch gives it, unless `dtype` says another."""
    return ops.argmin(_kept(input, mask, _highest(input)), dim, keepdim).to(dtype or input.dtype)


def logsumexp(
    input: Tensor, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """log(sum(exp(x)))"""
    neutral = -_INF if input.is_complex() else _lowest(input)
    return ops.logsumexp(_kept(input, mask, neutral), _dims(dim, input.dim()), keepdim).to(dtype or input.dtype)


def _count(input: Tensor, dim: Any, keepdim: bool, mask: Tensor | None) -> Tensor:
    kept = ops.ones(input.shape, dtype=dtypes.int64) if mask is None else _broadcast(input, mask)
    return ops.sum(kept, _dims(dim, input.dim()), keepdim)


def mean(
    input: Tensor, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The mean. ValueError for a type that is neither floating point nor complex."""
    given = dtype or input.dtype
    if not (given.is_floating_point or given.is_complex):
        source = "Input" if dtype is None else "Optional"
        raise ValueError(
            f"mean(): Could not infer output dtype. {source} dtype must be either a floating point or complex dtype. "
            f"Got: {given}"
        )
    return sum(input, dim, keepdim=keepdim, dtype=given, mask=mask) / _count(input, dim, keepdim, mask)


def median(
    input: Tensor, dim: int = -1, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The median (the lower one of two). ValueError for integers of which a slice has none left."""
    floats = input if input.is_floating_point() else input.float()
    output = ops.nanmedian(_kept(floats, mask, float("nan")), _dims(dim, input.dim())[0], keepdim).values
    if input.is_floating_point():
        return output
    if output.isnan().any():
        raise ValueError("masked median expects no fully masked out rows if dtype is not floating point")
    return output.to(dtype or input.dtype)


def norm(
    input: Tensor,
    ord: float = 2.0,
    dim: Any = None,
    *,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """(sum |x|^ord)^(1 / ord)"""
    kept = _kept(input, mask, _INF if ord == -_INF else 0)
    return vector_norm(kept, ord, _dims(dim, input.dim()), keepdim, dtype=dtype or input.dtype)


def var(
    input: Tensor,
    dim: Any = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The sum of |x - mean|^2 over (count - correction), which is 1 unless said otherwise; unbiased=False says 0."""
    if unbiased is not None and correction is not None:
        raise AssertionError("Only one of unbiased and correction may be given")
    less = correction if correction is not None else 0 if unbiased is False else 1
    result = dtype or (input.dtype if input.is_floating_point() or input.is_complex() else dtypes.float32)
    work = result if result.is_floating_point or result.is_complex else dtypes.float32
    centre = sum(input, dim, keepdim=True, dtype=result, mask=mask) / _count(input, dim, True, mask)
    x = input - centre
    total = sum(x * x.conj_physical(), dim, keepdim=keepdim, dtype=work, mask=mask)
    count = _count(input, dim, keepdim, mask)
    if less != 0:
        real = {dtypes.complex64: dtypes.float32, dtypes.complex128: dtypes.float64}.get(work, work)
        count = (count.to(real) - less).clamp(min=0)
    return (total / count).to(result)


def std(
    input: Tensor,
    dim: Any = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The square root of `var`."""
    return var(input, dim, unbiased, correction=correction, keepdim=keepdim, dtype=dtype, mask=mask).sqrt()


# ---------------------------------------------------------------------------------- what keeps the input's shape


def cumsum(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """The sums of the elements up to each."""
    return ops.cumsum(_kept(input, mask, 0), _dims(dim, input.dim())[0], dtype=dtype or input.dtype)


def cumprod(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """The products of the elements up to each."""
    return ops.cumprod(_kept(input, mask, 1), _dims(dim, input.dim())[0], dtype=dtype or input.dtype)


def softmax(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """exp(x) over the sum of what is kept; 0 for what is left out, NaN where nothing is kept."""
    return ops.softmax(_kept(input, mask, _lowest(input)), _dims(dim, input.dim())[0], dtype=dtype or input.dtype)


def log_softmax(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """The logarithm of `softmax`."""
    return ops.log_softmax(_kept(input, mask, _lowest(input)), _dims(dim, input.dim())[0], dtype=dtype or input.dtype)


def softmin(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """`softmax` of -x."""
    return ops.softmax(-_kept(input, mask, _highest(input)), _dims(dim, input.dim())[0], dtype=dtype or input.dtype)


def normalize(
    input: Tensor, ord: float, dim: int, *, eps: float = 1e-12, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """x over the larger of its norm and `eps`; 0 for what is left out."""
    length = norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask)
    return _kept(input, mask, 0) / length.clamp(min=eps)


def logaddexp(
    input: Tensor,
    other: Tensor,
    *,
    dtype: Any = None,
    input_mask: Tensor | None = None,
    other_mask: Tensor | None = None,
) -> Tensor:
    """log(exp(x) + exp(y)), each with its own mask."""
    kept = _kept(input, input_mask, _lowest(input)), _kept(other, other_mask, _lowest(other))
    return ops.logaddexp(*kept).to(dtype or input.dtype)
