"""Losses of classification: the arguments of torch's functions, checked and brought to one form for the operators.

`reduction`: "mean", "sum" or "none". `size_average` and `reduce` are torch's deprecated arguments for it, and warn.
"""

from __future__ import annotations

from typing import Any

from rushlight.core.tensor.size import broadcast_shapes
from rushlight.core.tensor.tensor import Tensor
from rushlight.nn.reduction import check_reduction, legacy_reduction, reduce_loss

from .operators import ops


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
    reduction = check_reduction(legacy_reduction(size_average, reduce, reduction))
    return ops.cross_entropy(
        input, target, weight, ignore_index=ignore_index, reduction=reduction, label_smoothing=label_smoothing
    )


def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: Any = None,
) -> Tensor:
    """`cross_entropy` of input @ linear_weight^T + linear_bias.

    Args:
        linear_weight: a row for each class; with more dimensions between, a loss for each of their places.
        linear_bias: of linear_weight's shape without the last dimension.
        weight: a factor for each class.
        reduction: "mean", "sum" or "none".
        ignore_index: a class index whose samples do not count (default: -100); not for probabilities.
        label_smoothing: the share of each target that is spread over all classes, in [0, 1].
        options: None; torch computes the loss in chunks by them.
    Shape: input (N, F) or (F), linear_weight (C, *, F), target (N, *) or () of classes, or (N, C, *) of probabilities -> (),
        or (N, *) with reduction="none"
    Raises:
        NotImplementedError: `options` are given, as in
            `linear_cross_entropy(ones(1, 2), ones(3, 2), tensor([1]), options=1)`.
        RuntimeError: the numbers of features differ, as in `linear_cross_entropy(ones(1, 2), ones(3, 4), tensor([1]))`.

    >>> linear_cross_entropy(ones(1, 2), zeros(4, 2), tensor([1]))
    tensor(1.3863)
    """
    if input.dim() not in (1, 2):
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {input.dim()}")
    if linear_weight.dim() < 2:
        raise RuntimeError(f"expected linear_weight with dimensionality at least 2, got {linear_weight.dim()}")
    batch, features = tuple(input.shape[:-1]), input.shape[-1]
    classes, *places = linear_weight.shape[:-1]
    if features != linear_weight.shape[-1]:
        raise RuntimeError(
            "expected equal input and linear_weight last dimensions (in_features), "
            f"got {features} and {linear_weight.shape[-1]}, respectively"
        )
    if linear_bias is not None and tuple(linear_bias.shape) != (classes, *places):
        raise RuntimeError(f"expected linear_bias shape {(classes, *places)}, got {tuple(linear_bias.shape)}")
    if places and not batch:
        raise RuntimeError(
            f"K-dimensional loss defined by linear_weight shape {tuple(linear_weight.shape)} requires batched input, "
            f"(N, {features}), got unbatched input with shape {tuple(input.shape)}"
        )
    shape = (*batch, classes, *places)
    if tuple(target.shape) == shape and ignore_index is not None:
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    if options is not None:
        raise NotImplementedError(
            "linear_cross_entropy: a loss in chunks, which `options` ask for, is not implemented; options=None gives the same "
            "numbers up to rounding"
        )
    if places:
        linear_weight = linear_weight.reshape(-1, features)  # type: ignore[attr-defined]
        linear_bias = None if linear_bias is None else linear_bias.reshape(-1)  # type: ignore[attr-defined]
    logits = ops.linear(input, linear_weight, linear_bias).reshape(shape)
    return cross_entropy(
        logits, target, weight, ignore_index=-100 if ignore_index is None else ignore_index, reduction=reduction,
        label_smoothing=label_smoothing,
    )  # fmt: skip


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
    reduction = check_reduction(legacy_reduction(size_average, reduce, reduction))
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
    reduction = check_reduction(legacy_reduction(size_average, reduce, reduction))
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
    reduction = check_reduction(legacy_reduction(size_average, reduce, reduction))
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
    reduction = check_reduction(legacy_reduction(size_average, reduce, reduction))
    loss = -(target * ops.logsigmoid(input) + (1 - target) * ops.logsigmoid(-input))
    if weight is not None:
        loss = loss * weight
    classes = input.dim() - 1  # of the input, also where the weight has made the loss larger
    return reduce_loss(loss.sum(dim=classes) / input.size(classes), reduction)


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
        log_probs, targets, input_lengths, target_lengths, blank, check_reduction(reduction), zero_infinity
    )


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
    reduction = check_reduction(legacy_reduction(size_average, reduce, reduction))
    if target.size() != input.size():
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
    reduction = check_reduction(legacy_reduction(size_average, reduce, reduction))
    if target.size() != input.size():
        raise ValueError(f"Target size ({target.size()}) must be the same as input size ({input.size()})")
    return ops.binary_cross_entropy_with_logits(input, target, weight, pos_weight=pos_weight, reduction=reduction)


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
    reduction = check_reduction(legacy_reduction(size_average, reduce, reduction))
    shape = broadcast_shapes(input.shape, target.shape)
    if shape != input.shape:
        raise RuntimeError(f"output with shape {list(input.shape)} doesn't match the broadcast shape {list(shape)}")
    return ops.soft_margin_loss(input, target, reduction=reduction)
