"""How a loss reduces its elements to a result, and torch's two older arguments that say so."""

from __future__ import annotations

import warnings

from rushlight.core.tensor.tensor import Tensor

__all__ = ["check_reduction", "legacy_reduction", "reduce_loss"]


def legacy_reduction(size_average: bool | None, reduce: bool | None, reduction: str, stacklevel: int = 3) -> str:
    """``reduction``, unless one of the older arguments is given: then what they mean, with a warning."""
    if size_average is None and reduce is None:
        return reduction
    by_size = "mean" if size_average is None or size_average else "sum"
    reduction = by_size if reduce is None or reduce else "none"
    warnings.warn(
        f"size_average and reduce args will be deprecated, please use reduction='{reduction}' instead.",
        stacklevel=stacklevel,
    )
    return reduction


def check_reduction(reduction: str) -> str:
    """`reduction`. ValueError where it is not "none", "mean" or "sum"."""
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return reduction


def reduce_loss(loss: Tensor, reduction: str) -> Tensor:
    """The losses of the elements, reduced."""
    if reduction == "mean":
        return loss.mean()
    return loss.sum() if reduction == "sum" else loss
