"""Losses of similarity and rank: the arguments of torch's functions, checked and brought to one form for the operators.

`reduction`: "mean", "sum" or "none". `size_average` and `reduce` are torch's deprecated arguments for it, and warn.
"""

from __future__ import annotations

from collections.abc import Callable

from rushlight.core.tensor.tensor import Tensor
from rushlight.nn.reduction import check_reduction, legacy_reduction, reduce_loss
from rushlight.ops.nn.loss import check_triplet

from .operators import ops


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
    reduction = check_reduction(legacy_reduction(size_average, reduce, reduction))
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
    reduction = check_reduction(legacy_reduction(size_average, reduce, reduction))
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
    reduction = check_reduction(legacy_reduction(size_average, reduce, reduction))
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
    reduction = check_reduction(legacy_reduction(size_average, reduce, reduction))
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
    check_reduction(reduction)
    _check_margin(margin)
    check_triplet(anchor, positive, negative)
    distance = ops.pairwise_distance if distance_function is None else distance_function
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = ops.minimum(far, distance(positive, negative))
    return reduce_loss((margin + near - far).clamp_min(0), reduction)


def _check_margin(margin: float) -> None:
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
