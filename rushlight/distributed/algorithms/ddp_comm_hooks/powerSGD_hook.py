"""Gradients that travel as two thin matrices each (Vogels, Karimireddy and Jaggi, PowerSGD, 2019).

A gradient M (n, m) becomes P (n, r) and Q (m, r) with M ~ P Q^T:

    P = mean over processes of M Q, orthogonalized;  Q = mean of M^T P;  M <- P Q^T

What is lost goes into the next step's gradient (error feedback), and Q of one step begins the next (warm start).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ....core.dispatch.mode import no_grad
from ....core.random import Generator
from ....core.tensor.tensor import Tensor
from ....nn.parallel.grad_bucket import GradBucket
from ....ops import bmm, cat, randn, stack
from ....ops.linalg import qr
from ...collectives import all_reduce
from ...work import Future, completed
from ...world import default_group, group_of
from .default_hooks import allreduce_hook

__all__ = ["PowerSGDState", "batched_powerSGD_hook", "powerSGD_hook"]


class PowerSGDState:
    """Options and memory of the hook.

    matrix_approximation_rank: r. start_powerSGD_iter: plain averages before. min_compression_rate: how much smaller P and Q
    must be than M. orthogonalization_epsilon: added to the norms of columns, so that columns of zeros stay finite.
    batch_tensors_with_same_shape: matrices of one shape are multiplied together.
    compression_stats_logging_frequency: kept; `compression_stats` tells the figures at any time.

    Raises ValueError for a start before iteration 2 together with error feedback or warm start, as in torch.
    """

    def __init__(
        self,
        process_group: Any,
        matrix_approximation_rank: int = 1,
        start_powerSGD_iter: int = 1_000,
        min_compression_rate: float = 2,
        use_error_feedback: bool = True,
        warm_start: bool = True,
        orthogonalization_epsilon: float = 0,
        random_seed: int = 0,
        compression_stats_logging_frequency: int = 10_000,
        batch_tensors_with_same_shape: bool = False,
    ):
        if (use_error_feedback or warm_start) and start_powerSGD_iter <= 1:
            raise ValueError(
                "Expect `start_powerSGD_iter` > 1 if `use_error_feedback` or `warm_start` is enabled, because PowerSGD can "
                "only be applied after the first two iterations in DDP."
            )
        self.process_group = process_group
        self.matrix_approximation_rank = matrix_approximation_rank
        self.start_powerSGD_iter = start_powerSGD_iter
        self.min_compression_rate = min_compression_rate
        self.use_error_feedback, self.warm_start = use_error_feedback, warm_start
        self.orthogonalization_epsilon = orthogonalization_epsilon
        self.rng = np.random.RandomState(random_seed)
        self.error_dict: dict[int, Tensor] = {}
        self.p_memory_dict: dict[int, list[Tensor]] = {}
        self.q_memory_dict: dict[int, list[Tensor]] = {}
        self.iter = 0
        self.total_numel_before_compression = self.total_numel_after_compression = 0
        self.compression_stats_logging_frequency = max(1, compression_stats_logging_frequency)
        self.batch_tensors_with_same_shape = batch_tensors_with_same_shape

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "process_group"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, process_group=default_group())

    def maybe_increase_iter(self, bucket: GradBucket) -> None:
        """Count an iteration, at its last bucket."""
        self.iter += bucket.is_last()

    def compression_stats(self) -> tuple[float, int, int]:
        """(elements before / elements after compression, elements before, elements after)"""
        before, after = self.total_numel_before_compression, self.total_numel_after_compression
        return (before / after if after else 0), before, after


def powerSGD_hook(state: PowerSGDState, bucket: GradBucket) -> Future:
    """The average of a bucket; matrices that become small enough travel as P and Q, and the others as they are.

    The calls are made one after the other, in the same order in every process.
    """
    if state.iter < state.start_powerSGD_iter:
        state.maybe_increase_iter(bucket)
        return allreduce_hook(state.process_group, bucket)
    with no_grad():
        flat = bucket.buffer()
        before = _with_error(state, bucket.index(), flat)
        matrices, plain = _sorted(state, bucket.gradients())
        _average(plain, state.process_group)
        _compressed(state, bucket.index(), _batches(matrices, state.batch_tensors_with_same_shape))
        _remember(state, bucket.index(), before, flat)
    state.maybe_increase_iter(bucket)
    return completed(flat)


def batched_powerSGD_hook(state: PowerSGDState, bucket: GradBucket) -> Future:
    """The average of a bucket, which becomes one square matrix (zeros at its end) and travels as P and Q."""
    if state.iter < state.start_powerSGD_iter:
        state.maybe_increase_iter(bucket)
        return allreduce_hook(state.process_group, bucket)
    with no_grad():
        flat = bucket.buffer()
        side = math.ceil(math.sqrt(flat.numel()))
        state.total_numel_before_compression += flat.numel()
        state.total_numel_after_compression += side * state.matrix_approximation_rank * 2
        square = cat([flat, flat.new_zeros(side * side - flat.numel())])
        before = _with_error(state, bucket.index(), square)
        _compressed(state, bucket.index(), [[square.view(side, side)]])
        _remember(state, bucket.index(), before, square)
        flat.copy_(square[: flat.numel()])
    state.maybe_increase_iter(bucket)
    return completed(flat)


def _with_error(state: PowerSGDState, index: int, flat: Tensor) -> Tensor | None:
    """Add what the last step has lost; a copy of the sum."""
    if not state.use_error_feedback:
        return None
    if index in state.error_dict:
        flat.add_(state.error_dict[index])
    return flat.clone()


def _remember(state: PowerSGDState, index: int, before: Tensor | None, flat: Tensor) -> None:
    if before is not None:
        state.error_dict[index] = before - flat
    if not state.warm_start:
        state.p_memory_dict.clear()
        state.q_memory_dict.clear()


def _sorted(state: PowerSGDState, gradients: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
    """(matrices to compress, tensors to leave as they are)"""
    matrices, plain = [], []
    for g in gradients:
        matrix = g.view(g.shape[0] if g.dim() else 1, -1)
        n, m = matrix.shape
        small = (n + m) * min(n, m, state.matrix_approximation_rank)
        compresses = small * state.min_compression_rate < n * m
        state.total_numel_before_compression += n * m
        state.total_numel_after_compression += small if compresses else n * m
        (matrices if compresses else plain).append(matrix if compresses else g)
    return matrices, plain


def _batches(matrices: list[Tensor], together: bool) -> list[list[Tensor]]:
    """Matrices that are multiplied together: by shape, the first shape first; else each by itself."""
    by_shape: dict[Any, list[Tensor]] = {}
    for matrix in matrices:
        by_shape.setdefault(tuple(matrix.shape), []).append(matrix)
    return [part for same in by_shape.values() for part in ([same] if together else [[m] for m in same])]


def _average(tensors: list[Tensor], group: Any, divide: bool = True) -> None:
    """The average (or sum) over processes, in place; all tensors travel as one."""
    if not tensors:
        return
    flat = cat([t.reshape(-1) for t in tensors])
    all_reduce(flat, group=group)
    if divide:
        flat.div_(group_of(group).size())
    at = 0
    for t in tensors:
        t.copy_(flat[at : at + t.numel()].view(t.shape))
        at += t.numel()


def _compressed(state: PowerSGDState, index: int, batches: list[list[Tensor]]) -> None:
    """Replace each matrix by P Q^T."""
    if not batches:
        return
    stacked = [stack(batch) for batch in batches]
    epsilon = state.orthogonalization_epsilon
    if state.warm_start and index in state.q_memory_dict:
        qs = state.q_memory_dict[index]
    else:
        qs = _random(state, stacked)
    for q in qs:
        _orthogonalize(q, epsilon)
    ps = [bmm(m, q) for m, q in zip(stacked, qs, strict=True)]
    _average(ps, state.process_group, divide=False)  # they are normalized next
    for p in ps:
        _orthogonalize(p, epsilon)
    qs = [bmm(m.transpose(1, 2), p) for m, p in zip(stacked, ps, strict=True)]
    _average(qs, state.process_group)
    state.p_memory_dict[index], state.q_memory_dict[index] = ps, qs
    for batch, p, q in zip(batches, ps, qs, strict=True):
        for matrix, values in zip(batch, bmm(p, q.transpose(1, 2)), strict=True):
            matrix.copy_(values)


def _random(state: PowerSGDState, stacked: list[Tensor]) -> list[Tensor]:
    """Normal numbers for each Q, the same in every process; the default generator goes on as if nothing were drawn."""
    own = Generator().manual_seed(int(state.rng.randint(1_000_000_000)))
    return [
        randn(b, m, min(n, m, state.matrix_approximation_rank), dtype=batch.dtype, generator=own)
        for batch in stacked
        for b, n, m in [batch.shape]
    ]


def _orthogonalize(matrices: Tensor, epsilon: float) -> None:
    """Make the columns of each matrix (b, n, r) orthonormal, in place: by Gram-Schmidt where r <= 2 or numbers have 16 bits."""
    columns = matrices.shape[2]
    if columns > 2 and matrices.element_size() > 2:
        matrices.copy_(qr(matrices)[0])
        return
    for i in range(columns):
        column = matrices[:, :, i : i + 1]
        column.div_((column * column).sum(1, keepdim=True).sqrt() + epsilon)
        if i + 1 < columns:
            rest = matrices[:, :, i + 1 :]
            rest.sub_((column * rest).sum(1, keepdim=True) * column)
