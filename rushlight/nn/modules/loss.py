"""Losses as modules: each keeps its options and calls the function of the same meaning.

``reduction``: 'mean', 'sum' or 'none'. ``size_average`` and ``reduce`` are torch's older way to say so, and warn.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from rushlight.core.tensor.tensor import Tensor
from rushlight.nn import functional as F
from rushlight.nn.reduction import legacy_reduction

from .distance import PairwiseDistance
from .module import Module

__all__ = [
    "BCELoss",
    "BCEWithLogitsLoss",
    "CTCLoss",
    "CosineEmbeddingLoss",
    "CrossEntropyLoss",
    "GaussianNLLLoss",
    "HingeEmbeddingLoss",
    "HuberLoss",
    "KLDivLoss",
    "L1Loss",
    "MSELoss",
    "MarginRankingLoss",
    "MultiLabelMarginLoss",
    "MultiLabelSoftMarginLoss",
    "MultiMarginLoss",
    "NLLLoss",
    "NLLLoss2d",
    "PoissonNLLLoss",
    "SmoothL1Loss",
    "SoftMarginLoss",
    "TripletMarginLoss",
    "TripletMarginWithDistanceLoss",
]


class _Loss(Module):
    def __init__(self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean") -> None:
        super().__init__()
        self.reduction = legacy_reduction(size_average, reduce, reduction, stacklevel=4)


class _WeightedLoss(_Loss):
    weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


# Classes -------------------------------------------------------------------------------------------------------------


class CrossEntropyLoss(_WeightedLoss):
    """-log softmax(input)[target], or for target probabilities -sum of target * log softmax(input), reduced.

    Args:
        weight: a factor for each class.
        size_average, reduce: deprecated forms of `reduction`.
        ignore_index: a target that does not count.
        reduction: "mean", "sum" or "none".
        label_smoothing: the share of the target that is spread over all classes.
    Shape: (N, C, *) or (C), target (N, *) or () of classes, or the input's shape of probabilities -> (), or the
        target's with reduction="none"
    Raises:
        IndexError: a class is out of range, as in `CrossEntropyLoss()(ones(1, 2), tensor([2]))`.

    >>> CrossEntropyLoss()(tensor([[0.0, 0.0], [0.0, 100.0]]), tensor([0, 1]))
    tensor(0.3466)
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.cross_entropy(
            input,
            target,
            weight=self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
            label_smoothing=self.label_smoothing,
        )


class NLLLoss(_WeightedLoss):
    """-input[target] for log-probabilities, reduced.

    Args:
        weight: a factor for each class; the mean is the weighted one.
        size_average, reduce: deprecated forms of `reduction`.
        ignore_index: a target that does not count.
        reduction: "mean", "sum" or "none".
    Shape: (N, C, *) or (C), target (N, *) or () -> (), or the target's shape (N, *) with reduction="none"
    Raises:
        IndexError: a class is out of range, as in `NLLLoss()(ones(1, 2), tensor([2]))`.

    >>> NLLLoss()(tensor([[-1.0, -2.0], [-3.0, -4.0]]), tensor([1, 0]))
    tensor(2.5000)
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.nll_loss(input, target, weight=self.weight, ignore_index=self.ignore_index, reduction=self.reduction)


class NLLLoss2d(NLLLoss):
    """The old name of `NLLLoss` for images; warns."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warnings.warn(
            "`NLLLoss2d` has been deprecated. Please use `NLLLoss` instead as a drop-in replacement and see "
            "https://pytorch.org/docs/main/nn.html#torch.nn.NLLLoss for more details.",
            FutureWarning,
            stacklevel=2,
        )
        super().__init__(*args, **kwargs)


class MultiMarginLoss(_WeightedLoss):
    """sum over i != target of max(0, margin - x[target] + x[i])^p / C, reduced.

    Args:
        p: 1 or 2.
        weight: a factor for each class.
        reduction: "mean", "sum" or "none".
        size_average, reduce: deprecated forms of `reduction`.
    Shape: (N, C), (N) -> (), or (N) with reduction="none"
    Raises:
        ValueError: `p` is neither 1 nor 2, as in `MultiMarginLoss(p=3)`.

    >>> MultiMarginLoss()(tensor([[0.5, 1.0]]), tensor([1]))
    tensor(0.2500)
    """

    def __init__(
        self,
        p: int = 1,
        margin: float = 1.0,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        if p not in (1, 2):
            raise ValueError("only p == 1 and p == 2 supported")
        if weight is not None and weight.dim() != 1:
            raise ValueError(f"MultiMarginLoss: expected weight to be None or 1D tensor, got {weight.dim()}D instead")
        self.p = p
        self.margin = margin

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multi_margin_loss(
            input, target, p=self.p, margin=self.margin, weight=self.weight, reduction=self.reduction
        )


class MultiLabelMarginLoss(_Loss):
    """sum over targets j, others i of max(0, 1 - x[j] + x[i]) / C; targets end at the first -1; reduced.

    Args:
        reduction: "mean", "sum" or "none".
        size_average, reduce: deprecated forms of `reduction`.
    Shape: (N, C), (N, C) -> (), or (N) with reduction="none"
    Raises:
        RuntimeError: the shapes differ, as in `MultiLabelMarginLoss()(ones(1, 2), tensor([[0]]))`.

    >>> MultiLabelMarginLoss()(tensor([[0.5, 1.0]]), tensor([[1, -1]]))
    tensor(0.2500)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multilabel_margin_loss(input, target, reduction=self.reduction)


class MultiLabelSoftMarginLoss(_WeightedLoss):
    """The mean over classes of the binary cross entropy of sigmoid(input), reduced.

    Args:
        weight: a factor for each class.
        reduction: "mean", "sum" or "none".
        size_average, reduce: deprecated forms of `reduction`.
    Shape: (N, C), (N, C) -> (), or (N) with reduction="none"
    Raises:
        ValueError: `reduction` is another text, as in
            `MultiLabelSoftMarginLoss(reduction="x")(ones(1, 2), ones(1, 2))`.

    >>> MultiLabelSoftMarginLoss()(tensor([[0.0, 100.0]]), tensor([[1.0, 1.0]]))
    tensor(0.3466)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multilabel_soft_margin_loss(input, target, weight=self.weight, reduction=self.reduction)


class CTCLoss(_Loss):
    """Connectionist temporal classification.

    Source: Graves et al., Connectionist Temporal Classification, 2006.

    Args:
        blank: the label that means none.
        reduction: "mean" (each loss divided by its target's length first), "sum" or "none".
        zero_infinity: whether the loss of a target that does not fit is 0 rather than infinite.
    Shape: log_probs (T, N, C), targets (N, S) or (total), input_lengths (N), target_lengths (N) -> (), or (N) with
        reduction="none"
    Raises:
        RuntimeError: the number of lengths differs from N, as in
            `CTCLoss()(ones(3, 2, 4), ones(2, 1).long(), (3,), (1,))`.

    >>> CTCLoss()(log_softmax(zeros(2, 1, 2), 2), tensor([[1]]), (2,), (1,))
    tensor(0.2877)
    """

    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False) -> None:
        super().__init__(reduction=reduction)
        self.blank = blank
        self.zero_infinity = zero_infinity

    def forward(self, log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any) -> Tensor:
        return F.ctc_loss(
            log_probs, targets, input_lengths, target_lengths, self.blank, self.reduction, self.zero_infinity
        )


# Probabilities -------------------------------------------------------------------------------------------------------


class BCELoss(_WeightedLoss):
    """-(target * log(input) + (1 - target) * log(1 - input)), logarithms at least -100, reduced.

    Args:
        weight: a factor for each element, broadcast.
        size_average, reduce: deprecated forms of `reduction`.
        reduction: "mean", "sum" or "none".
    Shape: (*), (*) -> (), or (*) with reduction="none"
    Raises:
        ValueError: the shapes differ, as in `BCELoss()(ones(2), ones(3))`.
        RuntimeError: an input is outside [0, 1], as in `BCELoss()(tensor([2.0]), ones(1))`.

    >>> BCELoss()(tensor([0.5, 1.0]), tensor([1.0, 1.0]))
    tensor(0.3466)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy(input, target, weight=self.weight, reduction=self.reduction)


class BCEWithLogitsLoss(_Loss):
    """`BCELoss` of sigmoid(input), without overflow.

    Args:
        weight: a factor for each element, broadcast.
        size_average, reduce: deprecated forms of `reduction`.
        reduction: "mean", "sum" or "none".
        pos_weight: a factor for the target's term, broadcast.
    Shape: (*), (*) -> (), or (*) with reduction="none"
    Raises:
        ValueError: the shapes differ, as in `BCEWithLogitsLoss()(ones(2), ones(3))`.

    >>> BCEWithLogitsLoss()(tensor([0.0, 100.0]), tensor([1.0, 1.0]))
    tensor(0.3466)
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        pos_weight: Tensor | None = None,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy_with_logits(
            input, target, self.weight, pos_weight=self.pos_weight, reduction=self.reduction
        )


class KLDivLoss(_Loss):
    """target * (log(target) - input) for log-probabilities `input`, reduced.

    Args:
        size_average, reduce: deprecated forms of `reduction`.
        reduction: "mean", "sum", "none", or "batchmean" (the sum divided by N), which is the divergence.
        log_target: the target is logarithms, too.
    Shape: (*), (*) -> (), or (*) with reduction="none"
    Raises:
        RuntimeError: the shapes do not broadcast, as in `KLDivLoss()(ones(2), ones(3))`.

    >>> KLDivLoss(reduction="batchmean")(tensor([[0.5, 0.5]]).log(), tensor([[1.0, 0.0]]))
    tensor(0.6931)
    """

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        log_target: bool = False,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_target = log_target

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.kl_div(input, target, reduction=self.reduction, log_target=self.log_target)


class PoissonNLLLoss(_Loss):
    """exp(input) - target * input, reduced.

    Args:
        log_input: False for input - target * log(input + eps).
        full: with Stirling's approximation of log(target!).
        size_average, reduce: deprecated forms of `reduction`.
        reduction: "mean", "sum" or "none".
    Shape: (*), (*) -> (), or (*) with reduction="none"
    Raises:
        ValueError: `reduction` is another text, as in `PoissonNLLLoss(reduction="x")(ones(2), ones(2))`.

    >>> PoissonNLLLoss()(tensor([0.0, 1.0]), tensor([1.0, 2.0]))
    tensor(0.8591)
    """

    def __init__(
        self,
        log_input: bool = True,
        full: bool = False,
        size_average: bool | None = None,
        eps: float = 1e-8,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_input = log_input
        self.full = full
        self.eps = eps

    def forward(self, log_input: Tensor, target: Tensor) -> Tensor:
        return F.poisson_nll_loss(
            log_input, target, log_input=self.log_input, full=self.full, eps=self.eps, reduction=self.reduction
        )


class GaussianNLLLoss(_Loss):
    """(log(var) + (input - target)^2 / var) / 2 with `var` at least eps, reduced.

    Args:
        full: with the constant log(2 pi) / 2.
        reduction: "mean", "sum" or "none".
    Shape: (N, *), (N, *), var (N, *), (N, 1) or () -> (), or (N, *) with reduction="none"
    Raises:
        ValueError: a variance is negative, as in `GaussianNLLLoss()(ones(2), ones(2), -ones(2))`.

    >>> GaussianNLLLoss()(tensor([1.0, 2.0]), tensor([1.0, 4.0]), tensor([1.0, 2.0]))
    tensor(0.6733)
    """

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(None, None, reduction)
        self.full = full
        self.eps = eps

    def forward(self, input: Tensor, target: Tensor, var: Tensor | float) -> Tensor:
        return F.gaussian_nll_loss(input, target, var, full=self.full, eps=self.eps, reduction=self.reduction)


# Differences ---------------------------------------------------------------------------------------------------------


class L1Loss(_Loss):
    """|input - target|, reduced.

    Args:
        reduction: "mean", "sum" or "none".
        size_average, reduce: deprecated forms of `reduction`.
    Shape: (*), (*) -> (), or (*) with reduction="none"
    Raises:
        RuntimeError: the shapes do not broadcast, as in `L1Loss()(ones(2), ones(3))`.

    >>> L1Loss()(tensor([1.0, 2.0]), tensor([1.0, 4.0]))
    tensor(1.)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.l1_loss(input, target, reduction=self.reduction)


class MSELoss(_Loss):
    """(input - target)^2, reduced.

    Args:
        reduction: "mean", "sum" or "none".
        size_average, reduce: deprecated forms of `reduction`.
    Shape: (*), (*) -> (), or (*) with reduction="none"
    Raises:
        RuntimeError: the shapes do not broadcast, as in `MSELoss()(ones(2), ones(3))`.

    >>> MSELoss()(tensor([1.0, 2.0]), tensor([1.0, 4.0]))
    tensor(2.)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.mse_loss(input, target, reduction=self.reduction)


class SmoothL1Loss(_Loss):
    """d^2 / (2 beta) where d = |input - target| < beta, d - beta / 2 elsewhere, reduced.

    Args:
        reduction: "mean", "sum" or "none".
        size_average, reduce: deprecated forms of `reduction`.
        beta: where the quadratic part ends.
    Shape: (*), (*) -> (), or (*) with reduction="none"
    Raises:
        RuntimeError: `beta` is negative, as in `SmoothL1Loss(beta=-1.0)(ones(2), ones(2))`.

    >>> SmoothL1Loss()(tensor([1.0, 5.0]), tensor([1.5, 2.0]))
    tensor(1.3125)
    """

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        beta: float = 1.0,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.beta = beta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)


class HuberLoss(_Loss):
    """d^2 / 2 where d = |input - target| < delta, delta * (d - delta / 2) elsewhere, reduced.

    Args:
        reduction: "mean", "sum" or "none".
        delta: where the quadratic part ends.
    Shape: (*), (*) -> (), or (*) with reduction="none"
    Raises:
        RuntimeError: `delta` is not positive, as in `HuberLoss(delta=0.0)(ones(2), ones(2))`.

    >>> HuberLoss()(tensor([1.0, 5.0]), tensor([1.5, 2.0]))
    tensor(1.3125)
    """

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        if not isinstance(delta, (float, int)):
            raise TypeError(f"delta must be a float or int, got: {type(delta)}")
        super().__init__(reduction=reduction)
        self.delta = delta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.huber_loss(input, target, reduction=self.reduction, delta=self.delta)


class SoftMarginLoss(_Loss):
    """log(1 + exp(-target * input)) for targets 1 and -1, reduced.

    Args:
        reduction: "mean", "sum" or "none".
        size_average, reduce: deprecated forms of `reduction`.
    Shape: (*), (*) -> (), or (*) with reduction="none"
    Raises:
        ValueError: `reduction` is another text, as in `SoftMarginLoss(reduction="x")(ones(2), ones(2))`.

    >>> SoftMarginLoss()(tensor([0.0, 100.0]), tensor([1.0, 1.0]))
    tensor(0.3466)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.soft_margin_loss(input, target, reduction=self.reduction)


# Similarities --------------------------------------------------------------------------------------------------------


class _MarginLoss(_Loss):
    def __init__(
        self,
        margin: float = 0.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin


class HingeEmbeddingLoss(_MarginLoss):
    """x for target 1, max(0, margin - x) for target -1, reduced.

    Args:
        reduction: "mean", "sum" or "none".
        size_average, reduce: deprecated forms of `reduction`.
    Shape: (*), (*) -> (), or (*) with reduction="none"
    Raises:
        ValueError: `reduction` is another text, as in `HingeEmbeddingLoss(reduction="x")(ones(2), ones(2))`.

    >>> HingeEmbeddingLoss()(tensor([0.5, 0.25]), tensor([1.0, -1.0]))
    tensor(0.6250)
    """

    def __init__(
        self,
        margin: float = 1.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(margin, size_average, reduce, reduction)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.hinge_embedding_loss(input, target, margin=self.margin, reduction=self.reduction)


class CosineEmbeddingLoss(_MarginLoss):
    """1 - cos(x1, x2) for target 1, max(0, cos(x1, x2) - margin) for -1, reduced.

    Args:
        reduction: "mean", "sum" or "none".
        size_average, reduce: deprecated forms of `reduction`.
    Shape: (N, D), (N, D), (N) -> (), or (N) with reduction="none"
    Raises:
        RuntimeError: the dimensions do not fit, as in `CosineEmbeddingLoss()(ones(2, 3), ones(2, 3), ones(2, 3))`.

    >>> CosineEmbeddingLoss()(tensor([[1.0, 0.0]]), tensor([[0.0, 1.0]]), tensor([1]))
    tensor(1.)
    """

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return F.cosine_embedding_loss(input1, input2, target, margin=self.margin, reduction=self.reduction)


class MarginRankingLoss(_MarginLoss):
    """max(0, -target * (x1 - x2) + margin), reduced.

    Args:
        reduction: "mean", "sum" or "none".
        size_average, reduce: deprecated forms of `reduction`.
    Shape: (N), (N), (N) -> (), or (N) with reduction="none"
    Raises:
        RuntimeError: the dimensions differ, as in `MarginRankingLoss()(ones(2), ones(2), ones(1, 2))`.

    >>> MarginRankingLoss()(tensor([1.0, 1.0]), tensor([3.0, 0.0]), tensor([1.0, 1.0]))
    tensor(1.)
    """

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return F.margin_ranking_loss(input1, input2, target, margin=self.margin, reduction=self.reduction)


class TripletMarginLoss(_Loss):
    """max(0, d(anchor, positive) - d(anchor, negative) + margin), d the p-norm of the difference, reduced.

    Source: Balntas et al., Learning Shallow Convolutional Feature Descriptors with Triplet Losses, 2016.

    Args:
        swap: the negative's distance is the smaller of those to anchor and positive.
        reduction: "mean", "sum" or "none".
        size_average, reduce: deprecated forms of `reduction`.
    Shape: (N, D), (N, D), (N, D) -> (), or (N) with reduction="none"
    Raises:
        ValueError: `margin` is not positive, as in `TripletMarginLoss(margin=0)`.

    >>> TripletMarginLoss()(tensor([[0.0]]), tensor([[1.0]]), tensor([[1.5]]))
    tensor(0.5000)
    """

    def __init__(
        self,
        margin: float = 1.0,
        p: float = 2.0,
        eps: float = 1e-6,
        swap: bool = False,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        _require_positive_margin(self, margin)
        self.margin = margin
        self.p = p
        self.eps = eps
        self.swap = swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return F.triplet_margin_loss(
            anchor,
            positive,
            negative,
            margin=self.margin,
            p=self.p,
            eps=self.eps,
            swap=self.swap,
            reduction=self.reduction,
        )


class TripletMarginWithDistanceLoss(_Loss):
    """`TripletMarginLoss` with any distance.

    Args:
        distance_function: of two tensors (N, D) -> (N); `PairwiseDistance` by default.
        swap: the negative's distance is the smaller of those to anchor and positive.
        reduction: "mean", "sum" or "none".
    Shape: (N, D), (N, D), (N, D) -> (), or (N) with reduction="none"
    Raises:
        ValueError: `margin` is not positive, as in `TripletMarginWithDistanceLoss(margin=0)`.

    >>> TripletMarginWithDistanceLoss()(tensor([[0.0]]), tensor([[1.0]]), tensor([[1.5]]))
    tensor(0.5000)
    """

    def __init__(
        self,
        *,
        distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
        margin: float = 1.0,
        swap: bool = False,
        reduction: str = "mean",
    ) -> None:
        super().__init__(reduction=reduction)
        _require_positive_margin(self, margin)
        self.distance_function = PairwiseDistance() if distance_function is None else distance_function
        self.margin = margin
        self.swap = swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return F.triplet_margin_with_distance_loss(
            anchor,
            positive,
            negative,
            distance_function=self.distance_function,
            margin=self.margin,
            swap=self.swap,
            reduction=self.reduction,
        )


def _require_positive_margin(loss: Module, margin: float) -> None:
    if margin <= 0:
        raise ValueError(f"{type(loss).__name__}: expected margin to be greater than 0, got {margin} instead")
