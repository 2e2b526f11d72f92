"""Losses of regression: the arguments of torch's functions, checked and brought to one form for the operators.

`reduction`: "mean", "sum" or "none". `size_average` and `reduce` are torch's deprecated arguments for it, and warn.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

from rushlight.core.dispatch.scalars import check_number, exact
from rushlight.core.tensor.tensor import Tensor
from rushlight.nn.reduction import check_reduction, legacy_reduction, reduce_loss
from rushlight.ops.nn.loss import at_least

from .operators import ops

# Likelihoods -------------------------------------------------------------------------------------------------------


def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """target * (log(target) - input) for log-probabilities `input`, reduced.

    Args:
        reduction: "mean", "sum", "none", or "batchmean" (the sum divided by N), which is the divergence.
        size_average, reduce: deprecated forms of `reduction`.
        log_target: whether the target has log-probabilities, too.
    Shape: (*), (*) -> (), or (*) with reduction="none"
    Raises:
        RuntimeError: the shapes do not broadcast, as in `kl_div(ones(2), ones(3))`.

    >>> kl_div(tensor([[0.5, 0.5]]).log(), tensor([[1.0, 0.0]]), reduction="batchmean")
    tensor(0.6931)
    """
    if size_average is None and reduce is None and reduction == "mean":
        warnings.warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size."
            "'batchmean' divides only by the batch size, and aligns with the KL div math definition."
            "'mean' will be changed to behave the same as 'batchmean' in the next major release.",
            stacklevel=2,
        )
    reduction = legacy_reduction(size_average, reduce, reduction)
    if reduction != "batchmean":
        return ops.kl_div(input, target, reduction=check_reduction(reduction), log_target=log_target)
    total = ops.kl_div(input, target, reduction="sum", log_target=log_target)
    return total / input.size(0) if input.dim() else total


def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """exp(input) - target * input of each element, reduced.

    Args:
        log_input: False for input - target * log(input + eps).
        full: whether to add Stirling's approximation of log(target!), for targets above 1.
        size_average, reduce: deprecated forms of `reduction`.
        reduction: "mean", "sum" or "none".
    Shape: (*), (*) -> (), or (*) with reduction="none"
    Raises:
        ValueError: `reduction` is another text, as in `poisson_nll_loss(ones(2), ones(2), reduction="x")`.

    >>> poisson_nll_loss(tensor([0.0, 1.0]), tensor([1.0, 2.0]))
    tensor(0.8591)
    """
    reduction = check_reduction(legacy_reduction(size_average, reduce, reduction))
    return ops.poisson_nll_loss(input, target, log_input=log_input, full=full, eps=eps, reduction=reduction)


def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Tensor | float,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """(log(var) + (input - target)^2 / var) / 2 of each element, reduced.

    Args:
        var: variances, of the input's shape, or one for each row of the last dimension, or a number.
        full: whether to add log(2 pi) / 2.
        eps: what each variance is at least.
        reduction: "mean", "sum" or "none".
    Shape: (*), (*), var (*) -> (), or (*) with reduction="none"
    Raises:
        ValueError: a variance is negative, as in `gaussian_nll_loss(ones(2), ones(2), -ones(2))`.
        ValueError: `var` has another shape, as in `gaussian_nll_loss(ones(2), ones(2), ones(3))`.

    >>> gaussian_nll_loss(tensor([1.0, 2.0]), tensor([1.0, 4.0]), tensor([1.0, 2.0]))
    tensor(0.6733)
    """
    check_reduction(reduction)
    if not isinstance(var, Tensor):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        var = var * ops.ones_like(input)
    elif (var < 0).any():
        raise ValueError("var has negative entry/entries")
    if isinstance(eps, Tensor):
        eps = eps.item()
    check_number("clamp_", "min", eps)
    variance = _match_variance(var, input)
    variance = at_least(variance, exact(eps, variance._array.dtype))
    loss = 0.5 * (variance.log() + (input - target) ** 2 / variance)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return reduce_loss(loss, reduction)


def _match_variance(var: Any, input: Tensor) -> Tensor:
    """The variance with the input's number of dimensions, at most one of which it holds only once."""
    if var.shape == input.shape:
        return var
    if var.shape == input.shape[:-1]:
        return var.unsqueeze(-1)
    if var.dim() == input.dim():
        differing = [held for have, held in zip(input.shape, var.shape, strict=True) if have != held]
        if sum(differing) == 1:
            return var
    raise ValueError("var is of incorrect size")


# Differences ---------------------------------------------------------------------------------------------------------


def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """|input - target| of each element, reduced.

    Args:
        reduction: "mean", "sum" or "none".
        size_average, reduce: deprecated forms of `reduction`.
        weight: a factor for each element; the mean is the weighted one.
    Shape: (*), (*) -> (), or (*) with reduction="none"
    Raises:
        ValueError: `reduction` is another text, as in `l1_loss(ones(2), ones(2), reduction="x")`.

    >>> l1_loss(tensor([1.0, 2.0]), tensor([1.0, 4.0]))
    tensor(1.)
    """
    _warn_unless_same_size(input, target)
    input, target = _expanded(input, target)
    reduction = check_reduction(legacy_reduction(size_average, reduce, reduction))
    if weight is None:
        return ops.l1_loss(input, target, reduction=reduction)
    return _weighted((input - target).abs(), input, weight, reduction)


def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """(input - target)^2 of each element, reduced.

    Args:
        reduction: "mean", "sum" or "none".
        size_average, reduce: deprecated forms of `reduction`.
        weight: a factor for each element; the mean is the weighted one.
    Shape: (*), (*) -> (), or (*) with reduction="none"
    Raises:
        ValueError: `reduction` is another text, as in `mse_loss(ones(2), ones(2), reduction="x")`.
        RuntimeError: the shapes do not broadcast, as in `mse_loss(ones(2), ones(3))`.

    >>> mse_loss(tensor([1.0, 2.0]), tensor([1.0, 4.0]))
    tensor(2.)
    """
    _warn_unless_same_size(input, target)
    input, target = _expanded(input, target)
    reduction = check_reduction(legacy_reduction(size_average, reduce, reduction))
    if weight is None:
        return ops.mse_loss(input, target, reduction=reduction)
    return _weighted((input - target) ** 2, input, weight, reduction)


def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """d^2 / (2 beta) where d = |input - target| < beta, d - beta / 2 elsewhere, reduced.

    Args:
        reduction: "mean", "sum" or "none".
        size_average, reduce: deprecated forms of `reduction`.
        beta: where the quadratic part ends; 0 gives `l1_loss`.
    Shape: (*), (*) -> (), or (*) with reduction="none"
    Raises:
        RuntimeError: `beta` is negative, as in `smooth_l1_loss(ones(2), ones(2), beta=-1.0)`.

    >>> smooth_l1_loss(tensor([1.0, 5.0]), tensor([1.5, 2.0]), reduction="none")
    tensor([0.1250, 2.5000])
    """
    _warn_unless_same_size(input, target)
    input, target = _expanded(input, target)
    reduction = check_reduction(legacy_reduction(size_average, reduce, reduction))
    if beta == 0.0:
        return ops.l1_loss(input, target, reduction=reduction)
    return ops.smooth_l1_loss(input, target, reduction=reduction, beta=beta)


def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Tensor | None = None
) -> Tensor:
    """d^2 / 2 where d = |input - target| < delta, delta * (d - delta / 2) elsewhere, reduced.

    Args:
        reduction: "mean", "sum" or "none".
        delta: where the quadratic part ends.
        weight: a factor for each element; the mean is the weighted one.
    Shape: (*), (*) -> (), or (*) with reduction="none"
    Raises:
        RuntimeError: `delta` is not positive, as in `huber_loss(ones(2), ones(2), delta=0.0)`.

    >>> huber_loss(tensor([1.0, 5.0]), tensor([1.5, 2.0]), reduction="none")
    tensor([0.1250, 2.5000])
    """
    _warn_unless_same_size(input, target)
    check_reduction(reduction)
    if weight is None:
        return ops.huber_loss(input, target, reduction=reduction, delta=delta)
    _check_weight(input, weight)
    return reduce_loss(ops.huber_loss(input, target, reduction="none", delta=delta) * weight, reduction)


def _warn_unless_same_size(input: Tensor, target: Tensor) -> None:
    if target.size() != input.size():
        warnings.warn(
            f"Using a target size ({target.size()}) that is different to the input size ({input.size()}). This will "
            "likely lead to incorrect results due to broadcasting. Please ensure they have the same size.",
            stacklevel=3,
        )


def _expanded(input: Tensor, target: Tensor) -> Any:
    """Both in one shape: only then is their common type found, so that a scalar counts like any tensor."""
    if input.shape == target.shape or input.dtype == target.dtype:
        return input, target
    return ops.broadcast_tensors(input, target)


def _check_weight(input: Tensor, weight: Tensor) -> None:
    if weight.shape != input.shape:
        raise ValueError("Weights and input must have the same size.")


def _weighted(errors: Tensor, input: Tensor, weight: Tensor, reduction: str) -> Tensor:
    _check_weight(input, weight)
    if reduction == "mean":
        return (errors * weight).sum() / weight.sum()
    return reduce_loss(errors * weight, reduction)
