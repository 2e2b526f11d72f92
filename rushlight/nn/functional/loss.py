"""Losses: the arguments of torch's functions, checked and brought to one form for the operators.

``reduction``: 'mean', 'sum' or 'none'. ``size_average`` and ``reduce`` are torch's older way to say so, and warn.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

from rushlight.core.dispatch.mode import no_grad
from rushlight.core.tensor.tensor import Tensor
from rushlight.nn.reduction import legacy_reduction

from .operators import ops

__all__ = [
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "cosine_embedding_loss",
    "cross_entropy",
    "ctc_loss",
    "gaussian_nll_loss",
    "hinge_embedding_loss",
    "huber_loss",
    "kl_div",
    "l1_loss",
    "margin_ranking_loss",
    "mse_loss",
    "multi_margin_loss",
    "multilabel_margin_loss",
    "multilabel_soft_margin_loss",
    "nll_loss",
    "poisson_nll_loss",
    "smooth_l1_loss",
    "soft_margin_loss",
    "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
]


def _reduce(loss: Tensor, reduction: str) -> Tensor:
    if reduction == "mean":
        return loss.mean()
    return loss.sum() if reduction == "sum" else loss


def _check_reduction(reduction: str) -> str:
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return reduction


# Classes -------------------------------------------------------------------------------------------------------------


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """-log softmax(input)[target] of each sample, reduced.

    Args:
        target: class indices (int64), or probabilities of all classes, of the input's shape.
        weight: a factor for each class; the mean of losses by index is the weighted one.
        size_average, reduce: deprecated forms of `reduction`.
        ignore_index: a class index whose samples do not count.
        reduction: "mean", "sum" or "none".
        label_smoothing: the share of each target that is spread over all classes, in [0, 1].
    Shape: input (N, C, *) or (C), target (N, *) or () -> (), or as the target with reduction="none"
    Raises:
        IndexError: a class is out of range, as in `cross_entropy(ones(1, 2), tensor([2]))`.
        RuntimeError: `label_smoothing` is outside [0, 1], as in
            `cross_entropy(ones(1, 2), tensor([1]), label_smoothing=2.0)`.
        ValueError: the batches differ, as in `cross_entropy(ones(1, 2), tensor([1, 1]))`.

    >>> cross_entropy(tensor([[0.0, 0.0], [0.0, 100.0]]), tensor([0, 1]))
    tensor(0.3466)
    """
    reduction = _check_reduction(legacy_reduction(size_average, reduce, reduction))
    return ops.cross_entropy(
        input, target, weight, ignore_index=ignore_index, reduction=reduction, label_smoothing=label_smoothing
    )


def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """-input[target] of each sample, for log-probabilities, reduced.

    Args:
        target: class indices (int64).
        weight: a factor for each class; the mean is the weighted one.
        size_average, reduce: deprecated forms of `reduction`.
        ignore_index: a class index whose samples do not count.
        reduction: "mean", "sum" or "none".
    Shape: input (N, C, *) or (C), target (N, *) or () -> (), or as the target with reduction="none"
    Raises:
        IndexError: a class is out of range, as in `nll_loss(ones(1, 2), tensor([2]))`.
        ValueError: the batches differ, as in `nll_loss(ones(1, 2), tensor([1, 1]))`.

    >>> nll_loss(tensor([[-1.0, -2.0], [-3.0, -4.0]]), tensor([1, 0]))
    tensor(2.5000)
    """
    reduction = _check_reduction(legacy_reduction(size_average, reduce, reduction))
    return ops.nll_loss(input, target, weight, ignore_index=ignore_index, reduction=reduction)


def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """sum over i != target of max(0, margin - x[target] + x[i])^p / C of each sample, reduced.

    Args:
        p: 1 or 2.
        weight: a factor for each class.
        size_average, reduce: deprecated forms of `reduction`.
        reduction: "mean", "sum" or "none".
    Shape: (N, C), (N) -> (), or (N) with reduction="none"; without N for a single sample
    Raises:
        ValueError: `p` is neither 1 nor 2, as in `multi_margin_loss(ones(1, 2), tensor([0]), p=3)`.

    >>> multi_margin_loss(tensor([[0.5, 1.0]]), tensor([1]))
    tensor(0.2500)
    """
    reduction = _check_reduction(legacy_reduction(size_average, reduce, reduction))
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.dim() != 1:
        raise ValueError("weight must be one-dimensional")
    return ops.multi_margin_loss(input, target, p=p, margin=margin, weight=weight, reduction=reduction)


def multilabel_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """sum over targets j and others i of max(0, 1 - x[j] + x[i]) / C of each sample, reduced.

    Args:
        target: int64; a row's targets end at the first -1.
        size_average, reduce: deprecated forms of `reduction`.
        reduction: "mean", "sum" or "none".
    Shape: (N, C), (N, C) -> (), or (N) with reduction="none"; without N for a single sample
    Raises:
        RuntimeError: the shapes differ, as in `multilabel_margin_loss(ones(1, 2), tensor([[0]]))`.

    >>> multilabel_margin_loss(tensor([[0.5, 1.0]]), tensor([[1, -1]]))
    tensor(0.2500)
    """
    reduction = _check_reduction(legacy_reduction(size_average, reduce, reduction))
    return ops.multilabel_margin_loss(input, target, reduction=reduction)


def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The mean over classes of the binary cross entropy of sigmoid(input), reduced.

    Args:
        weight: a factor for each class.
        size_average, reduce: deprecated forms of `reduction`.
        reduction: "mean", "sum" or "none".
    Shape: (N, C), (N, C) -> (), or (N) with reduction="none"
    Raises:
        ValueError: `reduction` is another text, as in
            `multilabel_soft_margin_loss(ones(1, 2), ones(1, 2), reduction="x")`.

    >>> multilabel_soft_margin_loss(tensor([[0.0, 100.0]]), tensor([[1.0, 1.0]]))
    tensor(0.3466)
    """
    reduction = _check_reduction(legacy_reduction(size_average, reduce, reduction))
    loss = -(target * ops.logsigmoid(input) + (1 - target) * ops.logsigmoid(-input))
    if weight is not None:
        loss = loss * weight
    return _reduce(loss.sum(dim=-1) / input.size(-1), reduction)


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """Connectionist temporal classification: minus the log-probability of all alignments of each target sequence.

    Source: Graves et al., Connectionist Temporal Classification, 2006.

    Args:
        log_probs: log-probabilities of C labels at each time; the gradient is that by what `log_softmax` made them of.
        targets: labels of each sequence, or all of them concatenated.
        input_lengths, target_lengths: the length of each sequence.
        blank: the label that means none.
        reduction: "mean" (each loss divided by its target's length first), "sum" or "none".
        zero_infinity: whether the loss of a target that does not fit is 0 rather than infinite.
    Shape: log_probs (T, N, C) or (T, C), targets (N, S) or (sum of lengths), lengths (N) -> (), or (N) with
        reduction="none"
    Raises:
        RuntimeError: the number of lengths differs from N, as in
            `ctc_loss(ones(3, 2, 4), ones(2, 1).long(), (3,), (1,))`.

    >>> ctc_loss(log_softmax(zeros(2, 1, 2), 2), tensor([[1]]), (2,), (1,))
    tensor(0.2877)
    """
    return ops.ctc_loss(
        log_probs, targets, input_lengths, target_lengths, blank, _check_reduction(reduction), zero_infinity
    )


# Probabilities -------------------------------------------------------------------------------------------------------


def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """-(target * log(input) + (1 - target) * log(1 - input)) of each element, logarithms at least -100, reduced.

    Args:
        input: probabilities.
        weight: a factor for each element, broadcast.
        size_average, reduce: deprecated forms of `reduction`.
        reduction: "mean", "sum" or "none".
    Shape: (*), (*) -> (), or (*) with reduction="none"
    Raises:
        ValueError: the shapes differ, as in `binary_cross_entropy(ones(2), ones(3))`.
        RuntimeError: an input is outside [0, 1], as in `binary_cross_entropy(tensor([2.0]), ones(1))`.

    >>> binary_cross_entropy(tensor([0.5, 1.0]), tensor([1.0, 1.0]))
    tensor(0.3466)
    """
    reduction = _check_reduction(legacy_reduction(size_average, reduce, reduction))
    if target.shape != input.shape:
        raise ValueError(
            f"Using a target size ({target.size()}) that is different to the input size ({input.size()}) is "
            "deprecated. Please ensure they have the same size."
        )
    return ops.binary_cross_entropy(input, target, weight, reduction=reduction)


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """`binary_cross_entropy` of sigmoid(input), computed without overflow.

    Args:
        weight: a factor for each element, broadcast.
        size_average, reduce: deprecated forms of `reduction`.
        reduction: "mean", "sum" or "none".
        pos_weight: a factor for the target's term, broadcast.
    Shape: (*), (*) -> (), or (*) with reduction="none"
    Raises:
        ValueError: the shapes differ, as in `binary_cross_entropy_with_logits(ones(2), ones(3))`.

    >>> binary_cross_entropy_with_logits(tensor([0.0, 100.0]), tensor([1.0, 1.0]))
    tensor(0.3466)
    """
    reduction = _check_reduction(legacy_reduction(size_average, reduce, reduction))
    if target.shape != input.shape:
        raise ValueError(f"Target size ({target.size()}) must be the same as input size ({input.size()})")
    return ops.binary_cross_entropy_with_logits(input, target, weight, pos_weight=pos_weight, reduction=reduction)


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
        return ops.kl_div(input, target, reduction=_check_reduction(reduction), log_target=log_target)
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
    reduction = _check_reduction(legacy_reduction(size_average, reduce, reduction))
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
    _check_reduction(reduction)
    if not isinstance(var, Tensor):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        var = var * ops.ones_like(input)
    elif (var < 0).any():
        raise ValueError("var has negative entry/entries")
    var = _match_variance(var, input).clone()
    with no_grad():
        var.clamp_(min=eps)
    loss = 0.5 * (var.log() + (input - target) ** 2 / var)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return _reduce(loss, reduction)


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
    reduction = _check_reduction(legacy_reduction(size_average, reduce, reduction))
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
    reduction = _check_reduction(legacy_reduction(size_average, reduce, reduction))
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
    reduction = _check_reduction(legacy_reduction(size_average, reduce, reduction))
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
    _check_reduction(reduction)
    if weight is None:
        return ops.huber_loss(input, target, reduction=reduction, delta=delta)
    _check_weight(input, weight)
    return _reduce(ops.huber_loss(input, target, reduction="none", delta=delta) * weight, reduction)


def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """log(1 + exp(-target * input)) for targets 1 and -1, reduced.

    Args:
        size_average, reduce: deprecated forms of `reduction`.
        reduction: "mean", "sum" or "none".
    Shape: (*), (*) -> (), or (*) with reduction="none"
    Raises:
        ValueError: `reduction` is another text, as in `soft_margin_loss(ones(2), ones(2), reduction="x")`.

    >>> soft_margin_loss(tensor([0.0, 100.0]), tensor([1.0, 1.0]))
    tensor(0.3466)
    """
    reduction = _check_reduction(legacy_reduction(size_average, reduce, reduction))
    return ops.soft_margin_loss(input, target, reduction=reduction)


def _warn_unless_same_size(input: Tensor, target: Tensor) -> None:
    if target.shape != input.shape:
        warnings.warn(
            f"Using a target size ({target.size()}) that is different to the input size ({input.size()}). This will "
            "likely lead to incorrect results due to broadcasting. Please ensure they have the same size.",
            stacklevel=3,
        )


def _check_weight(input: Tensor, weight: Tensor) -> None:
    if weight.shape != input.shape:
        raise ValueError("Weights and input must have the same size.")


def _weighted(errors: Tensor, input: Tensor, weight: Tensor, reduction: str) -> Tensor:
    _check_weight(input, weight)
    if reduction == "mean":
        return (errors * weight).sum() / weight.sum()
    return _reduce(errors * weight, reduction)


# Similarities --------------------------------------------------------------------------------------------------------


def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """input where the target is 1, max(0, margin - input) where it is -1, reduced.

    Args:
        size_average, reduce: deprecated forms of `reduction`.
        reduction: "mean", "sum" or "none".
    Shape: (*), (*) -> (), or (*) with reduction="none"
    Raises:
        ValueError: `reduction` is another text, as in `hinge_embedding_loss(ones(2), ones(2), reduction="x")`.

    >>> hinge_embedding_loss(tensor([0.5, 0.25]), tensor([1.0, -1.0]))
    tensor(0.6250)
    """
    reduction = _check_reduction(legacy_reduction(size_average, reduce, reduction))
    return ops.hinge_embedding_loss(input, target, margin=margin, reduction=reduction)


def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """1 - cos(input1, input2) where the target is 1, max(0, cos(input1, input2) - margin) where it is -1, reduced.

    Args:
        size_average, reduce: deprecated forms of `reduction`.
        reduction: "mean", "sum" or "none".
    Shape: (N, D), (N, D), (N) -> (), or (N) with reduction="none"; without N for single vectors
    Raises:
        RuntimeError: the dimensions do not fit, as in `cosine_embedding_loss(ones(2, 3), ones(2, 3), ones(2, 3))`.

    >>> cosine_embedding_loss(tensor([[1.0, 0.0]]), tensor([[0.0, 1.0]]), tensor([1]))
    tensor(1.)
    """
    reduction = _check_reduction(legacy_reduction(size_average, reduce, reduction))
    return ops.cosine_embedding_loss(input1, input2, target, margin=margin, reduction=reduction)


def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """max(0, -target * (input1 - input2) + margin), reduced: a target of 1 says that the first should be larger.

    Args:
        size_average, reduce: deprecated forms of `reduction`.
        reduction: "mean", "sum" or "none".
    Shape: (N), (N), (N) -> (), or (N) with reduction="none"
    Raises:
        RuntimeError: the dimensions differ, as in `margin_ranking_loss(ones(2), ones(2), ones(1, 2))`.

    >>> margin_ranking_loss(tensor([1.0, 1.0]), tensor([3.0, 0.0]), tensor([1.0, 1.0]))
    tensor(1.)
    """
    reduction = _check_reduction(legacy_reduction(size_average, reduce, reduction))
    if not input1.dim() == input2.dim() == target.dim():
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {input1.size()}, input2: {input2.size()}, target: {target.size()} "
        )
    return ops.margin_ranking_loss(input1, input2, target, margin=margin, reduction=reduction)


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """max(0, d(anchor, positive) - d(anchor, negative) + margin), d the p-norm of the difference, reduced.

    Source: Balntas et al., Learning Shallow Convolutional Feature Descriptors with Triplet Losses, 2016.

    Args:
        swap: whether the distance of `positive` and `negative` counts where it is less than that of `anchor` and
            `negative`.
        size_average, reduce: deprecated forms of `reduction`.
        reduction: "mean", "sum" or "none".
    Shape: (N, D), (N, D), (N, D) -> (), or (N) with reduction="none"; without N for single vectors
    Raises:
        ValueError: `margin` is not positive, as in `triplet_margin_loss(ones(2), ones(2), ones(2), margin=0)`.

    >>> triplet_margin_loss(tensor([[0.0]]), tensor([[1.0]]), tensor([[1.5]]))
    tensor(0.5000)
    """
    reduction = _check_reduction(legacy_reduction(size_average, reduce, reduction))
    _check_margin(margin)
    return ops.triplet_margin_loss(
        anchor, positive, negative, margin=margin, p=p, eps=eps, swap=swap, reduction=reduction
    )


def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """`triplet_margin_loss` with any distance.

    Args:
        distance_function: of two tensors (N, D) -> (N); `pairwise_distance` by default.
        swap: whether the distance of `positive` and `negative` counts where it is less than that of `anchor` and
            `negative`.
        reduction: "mean", "sum" or "none".
    Shape: (N, D), (N, D), (N, D) -> (), or (N) with reduction="none"
    Raises:
        ValueError: `margin` is not positive, as in
            `triplet_margin_with_distance_loss(ones(1, 2), ones(1, 2), ones(1, 2), margin=0)`.

    >>> triplet_margin_with_distance_loss(tensor([[0.0]]), tensor([[1.0]]), tensor([[1.5]]))
    tensor(0.5000)
    """
    _check_reduction(reduction)
    _check_margin(margin)
    if not anchor.dim() == positive.dim() == negative.dim():
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: "
            f"anchor {anchor.dim()}D, positive {positive.dim()}D, and negative {negative.dim()}D inputs"
        )
    distance = ops.pairwise_distance if distance_function is None else distance_function
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = ops.minimum(far, distance(positive, negative))
    return _reduce((margin + near - far).clamp_min(0), reduction)


def _check_margin(margin: float) -> None:
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
