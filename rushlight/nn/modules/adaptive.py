"""Softmax over many classes whose rare ones are in clusters after the frequent ones."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from rushlight import ops
from rushlight.core.tensor.tensor import Tensor
from rushlight.nn import functional as F

from .container import ModuleList, Sequential
from .linear import Linear
from .module import Module

__all__ = ["AdaptiveLogSoftmaxWithLoss"]

_Scored = namedtuple("_ASMoutput", ["output", "loss"])
_Scored.__module__ = "torch.nn.modules.adaptive"


class AdaptiveLogSoftmaxWithLoss(Module):
    """Adaptive softmax (Grave et al., 2016): classes ordered by frequency, cut into a shortlist and clusters.

    The head scores the classes below `cutoffs[0]` and each cluster; the tail's i-th part scores the classes between
    `cutoffs[i]` and the next, from `in_features / div_value^(i + 1)` features.

    Shape: input (N, in_features), target (N,) -> output (N,), the targets' log probabilities, and loss (), minus their
    mean; both also without N. ValueError for cutoffs that are not increasing integers below `n_classes`; RuntimeError
    for shapes that do not fit, or targets that are no class.

    Raises:
        ValueError: the cutoffs are not increasing, as in `AdaptiveLogSoftmaxWithLoss(4, 10, [5, 3])`.
        RuntimeError: the input has other features, as in
            `AdaptiveLogSoftmaxWithLoss(4, 10, [5])(ones(1, 3), tensor([1]))`.

    >>> AdaptiveLogSoftmaxWithLoss(4, 10, [5])(ones(2, 4), tensor([1, 7])).output.shape
    torch.Size([2])
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        cutoffs = list(cutoffs)
        _check_cutoffs(cutoffs, n_classes)
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = [*cutoffs, n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = cutoffs[0]
        self.n_clusters = len(cutoffs)
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(in_features, self.head_size, bias=head_bias, device=device, dtype=dtype)
        self.tail = ModuleList()
        for i, (low, high) in enumerate(pairwise(self.cutoffs)):
            size = int(in_features // (div_value ** (i + 1)))
            project = Linear(in_features, size, bias=False, device=device, dtype=dtype)
            score = Linear(size, high - low, bias=False, device=device, dtype=dtype)
            self.tail.append(Sequential(project, score))

    def reset_parameters(self) -> None:
        """Re-initialise the weights."""
        self.head.reset_parameters()
        for project, score in self.tail:  # type: ignore[misc]
            project.reset_parameters()
            score.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> Any:
        _check_shapes(input_, target_)
        batched = target_.dim() > 0
        input, target = (input_, target_) if batched else (input_.unsqueeze(0), target_.unsqueeze(0))
        output = input.new_zeros(target.size(0))
        in_head = target.new_empty(target.size(0))
        seen = 0
        for i, (low, high) in enumerate(pairwise([0, *self.cutoffs])):
            inside = (target >= low) & (target < high)
            rows = inside.nonzero().squeeze()
            if rows.numel() == 0:
                continue
            seen += rows.numel()
            if i == 0:
                in_head.index_copy_(0, rows, target[inside])
                continue
            scores = F.log_softmax(self.tail[i - 1](input.index_select(0, rows)), dim=1)
            in_head.index_fill_(0, rows, self.shortlist_size + i - 1)
            output.index_copy_(0, rows, scores.gather(1, (target[inside] - low).unsqueeze(1)).squeeze(1))
        if seen != target.size(0):
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range "
                f"[{target.min().item()}, {target.max().item()}] were found. "
            )
        scores = F.log_softmax(self.head(input), dim=1)
        output += scores.gather(1, in_head.unsqueeze(1)).squeeze()
        loss = (-output).mean()
        return _Scored(output if batched else output.squeeze(0), loss)

    def log_prob(self, input: Tensor) -> Tensor:
        """The log probabilities of all classes. Shape: (N, in_features) -> (N, n_classes)"""
        return self._all_scores(input, self.head(input))

    def _all_scores(self, input: Tensor, head: Tensor) -> Tensor:
        scores = F.log_softmax(head, dim=1)
        clusters = [
            F.log_softmax(tail(input), dim=1) + scores[:, self.shortlist_size + i].unsqueeze(1)
            for i, tail in enumerate(self.tail)
        ]
        return ops.cat([scores[:, : self.shortlist_size], *clusters], 1)

    def predict(self, input: Tensor) -> Tensor:
        """The most likely class of each row. Shape: (N, in_features) -> (N,)"""
        head = self.head(input)
        best = ops.argmax(head, dim=1)
        in_tail = best >= self.shortlist_size
        if in_tail.any():
            best[in_tail] = ops.argmax(self._all_scores(input[in_tail], head[in_tail]), dim=1)
        return best


def _check_cutoffs(cutoffs: list[Any], n_classes: int) -> None:
    if not cutoffs:
        raise ValueError("cutoffs should be a sequence of length larger than 0")
    whole = all(int(c) == c for c in cutoffs)
    if not whole or cutoffs != sorted(set(cutoffs)) or cutoffs[0] <= 0 or cutoffs[-1] > n_classes - 1:
        raise ValueError(
            "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where each value "
            "is between 1 and n_classes-1"
        )


def _check_shapes(input: Tensor, target: Tensor) -> None:
    if target.dim() > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if target.dim() == 1 and input.size(0) != target.size(0):
        raise RuntimeError("Input and target should have the same size in the batch dimension.")
    if input.dim() != target.dim() + 1:
        raise RuntimeError(
            f"{target.dim()}D target tensor expects {target.dim() + 1}D input tensors, but found inputs with size "
            f"{input.size()}"
        )
