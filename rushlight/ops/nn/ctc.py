"""Connectionist temporal classification: the probability of all alignments of a sequence of labels.

A target's labels are written with blanks around and between them in a row of L = 2 S + 1 places. alpha[t, n, l] is the
logarithm of the probability of all ways through the first t + 1 steps that end at place l, beta that of all ways from there
on. Source: Graves et al., Connectionist Temporal Classification, 2006; numbers and errors as in torch.
"""

from __future__ import annotations

from typing import Any, NamedTuple, NoReturn

import numpy as np

from ...core.dispatch.errors import type_error
from ...core.dispatch.op import OPS, composite, primitive
from ...core.tensor.dtype import from_numpy, type_word
from ...core.tensor.tensor import Tensor
from ..pointwise.building_blocks import F32, F64

_CHECKED = "(while checking arguments for ctc_loss_allocate_outputs)"
_REDUCTIONS = ("none", "mean", "sum")


@composite()
def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction=0, zero_infinity=False):
    """Connectionist temporal classification; torch's core form of `nn.functional.ctc_loss`.

    Args:
        log_probs: log-probabilities of C labels at each time; the gradient is that by what `log_softmax` made them of.
        targets: labels of each sequence, or all of them concatenated.
        blank: the label that means none.
        reduction: "none", "mean" (each loss divided by its target's length first) or "sum", or 0, 1, 2.
        zero_infinity: whether the loss of a target that does not fit is 0 rather than infinite.
    Shape: log_probs (T, N, C) or (T, C), targets (N, S) or (sum of lengths), lengths (N) -> () or (N)
    Raises:
        RuntimeError: the number of lengths differs from N, as in
            `ctc_loss(ones(3, 2, 4), ones(2, 1).long(), (3,), (1,))`.

    >>> ctc_loss(log_softmax(zeros(2, 1, 2), 2), tensor([[1]]), (2,), (1,))
    tensor([0.2877])
    """
    lengths = _given(log_probs, targets, input_lengths, target_lengths)
    reduction = reduction if isinstance(reduction, str) else dict(enumerate(_REDUCTIONS)).get(reduction, "none")
    batched = log_probs._array.ndim == 3
    x = log_probs if batched else log_probs.unsqueeze(1)
    tensors = (None, None) if lengths else (input_lengths, target_lengths)
    loss = _ctc_losses(x, targets, *tensors, lengths, blank, zero_infinity)
    if zero_infinity:
        loss = OPS["where"](loss == float("inf"), loss.new_zeros(()), loss)
    if reduction == "mean":
        sizes = loss.new_tensor(lengths[1]) if lengths else target_lengths.to(loss.dtype).reshape(-1)
        return (loss / sizes.clamp_min(1)).mean()
    return loss.sum() if reduction == "sum" else loss if batched else loss.squeeze(0)


def _given(log_probs: Any, targets: Any, *lengths: Any) -> tuple[tuple[int, ...], ...]:
    """The lengths as numbers, or nothing where they are tensors. TypeError for anything else."""
    if all(isinstance(v, Tensor) for v in (log_probs, targets, *lengths)):
        for name, v in zip(("input_lengths", "target_lengths"), lengths, strict=True):
            if v._array.dtype.kind not in "iu":
                raise RuntimeError(f"{name} must be integral")
        return ()
    lists = all(isinstance(v, (tuple, list)) and all(type(n) is int for n in v) for v in lengths)
    if not lists or not isinstance(log_probs, Tensor) or not isinstance(targets, Tensor):
        given = ", ".join(type(v).__name__ for v in (log_probs, targets, *lengths))
        raise type_error(
            f"ctc_loss() received an invalid combination of arguments - got ({given}), but expected one of:\n"
            " * (Tensor log_probs, Tensor targets, tuple of ints input_lengths, tuple of ints target_lengths, int blank = 0, "
            "int reduction = at::Reduction::Mean, bool zero_infinity = False)\n"
            " * (Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int blank = 0, "
            "int reduction = at::Reduction::Mean, bool zero_infinity = False)\n"
        )
    return tuple(tuple(v) for v in lengths)


# ---------------------------------------------------------------------------------------------- the operator


@primitive(name="ctc_loss.each", public=False, node="CtcLossBackward0")
def _ctc_losses(
    log_probs, targets, input_lengths=None, target_lengths=None, /, lengths=(), blank=0, zero_infinity=False
):
    """The loss of each sequence."""
    ways = _ways(log_probs, targets, lengths or (input_lengths, target_lengths), blank)
    alpha, rows, n = _alpha(ways), np.arange(len(ways.sizes)), 2 * ways.sizes
    at_end = alpha[np.maximum(ways.steps - 1, 0), rows]
    last, before = at_end[rows, n], np.where(n > 0, at_end[rows, n - 1], -np.inf)
    loss = -_log_sum(last, before)
    without_steps = np.where(ways.sizes == 0, -0.0, np.inf)  # there is one way to the empty target, and none to others
    return np.where(ways.steps == 0, without_steps, loss).astype(log_probs.dtype)


@_ctc_losses.vjp("log_probs")
def _(g, out, log_probs, targets, input_lengths, target_lengths, lengths, blank, zero_infinity):
    return _ctc_losses_backward(
        g, out, log_probs, targets, input_lengths, target_lengths, lengths, blank, zero_infinity
    )


@primitive(name="ctc_loss.backward", public=False, node="NotImplemented")
def _ctc_losses_backward(
    g, loss, log_probs, targets, input_lengths=None, target_lengths=None, /, lengths=(), blank=0, zero_infinity=False
):
    """The gradient of what log_softmax made `log_probs` of: its probabilities less those of each class given the target.

    alpha is computed once more: its shape depends on the lengths' values, which a compiled step could not keep.
    """
    ways = _ways(log_probs, targets, lengths or (input_lengths, target_lengths), blank)
    with np.errstate(all="ignore"):
        share = _share(ways, _alpha(ways), loss)
        slope = np.where(np.isneginf(log_probs), np.nan, np.exp(log_probs))
        for n, labels in enumerate(ways.labels):
            classes, own = np.unique(labels, return_inverse=True)
            slope[:, n, classes] -= share[:, n] @ (own[:, None] == np.arange(len(classes))).astype(share.dtype)
        slope[:, np.isinf(loss)] = np.nan
        slope *= g[:, None]
    if zero_infinity:
        slope[:, np.isinf(loss)] = 0
    slope[np.arange(len(slope))[:, None] >= ways.steps] = 0
    return slope.astype(log_probs.dtype, copy=False)


@_ctc_losses_backward.vjp
def _(g) -> NoReturn:
    raise RuntimeError("derivative for aten::_ctc_loss_backward is not implemented")


# ---------------------------------------------------------------------------------------------- its arrays


class _Ways(NamedTuple):
    """What ways there are: labels (N, L); emit (T, N, L), the log-probability of each place's label at each step;
    skip (N, L), whether a way may come from two places before; steps and sizes (N)."""

    labels: np.ndarray
    emit: np.ndarray
    skip: np.ndarray
    steps: np.ndarray
    sizes: np.ndarray


def _ways(log_probs: np.ndarray, targets: np.ndarray, lengths: tuple, blank: int) -> _Ways:
    steps, sizes = (np.asarray(v).reshape(-1) for v in lengths)
    _check(log_probs, targets, steps, sizes, blank)
    labels = _labels(targets, sizes, blank, log_probs.shape[2])
    skip = np.zeros(labels.shape, bool)
    skip[:, 2:] = labels[:, 2:] != labels[:, :-2]
    emit = np.take_along_axis(log_probs, labels[None], 2)
    return _Ways(labels, emit, skip, steps, sizes)


def _check(log_probs: np.ndarray, targets: np.ndarray, steps: np.ndarray, sizes: np.ndarray, blank: int) -> None:
    if log_probs.dtype not in (F32, F64):
        raise NotImplementedError(f"\"ctc_loss_cpu\" not implemented for '{type_word(from_numpy(log_probs.dtype))}'")
    if not log_probs.size:
        raise RuntimeError("log_probs tensor must not be empty")
    if log_probs.ndim != 3:
        raise RuntimeError(
            f"Expected 3-dimensional tensor, but got {log_probs.ndim}-dimensional tensor for argument #1 'log_probs' {_CHECKED}"
        )
    if targets.ndim not in (1, 2):
        raise RuntimeError(
            f"Expected 1 to 2 dimensions, but got {targets.ndim}-dimensional tensor for argument #2 'targets' {_CHECKED}"
        )
    t, n, c = log_probs.shape
    if not 0 <= blank < c:
        raise RuntimeError("blank must be in label range")
    for name, v in (("input_lengths", steps), ("target_lengths", sizes)):
        if len(v) != n:
            raise RuntimeError(f"{name} must be of size batch_size")
    _check_lengths("target_lengths", sizes)
    _check_targets(targets, sizes)
    _check_lengths("input_lengths", steps)
    if steps.max() > t:
        value = steps[steps > t][0]
        raise RuntimeError(f"Expected input_lengths to have value at most {t}, but got value {value} {_CHECKED}")


def _check_lengths(name: str, v: np.ndarray) -> None:
    if v.min() < 0:
        raise RuntimeError(f"Expected {name} to have value at least 0, but got value {v[v < 0][0]} {_CHECKED}")


def _check_targets(targets: np.ndarray, sizes: np.ndarray) -> None:
    size, wanted = targets.shape[0], len(sizes) if targets.ndim == 2 else sizes.sum()
    most = sizes.max()
    if size != wanted:
        raise RuntimeError(
            f"Expected tensor to have size {wanted} at dimension 0, but got size {size} for argument #2 'targets' {_CHECKED}"
        )
    if targets.ndim == 2 and targets.shape[1] < most:
        raise RuntimeError(
            f"Expected tensor to have size at least {most} at dimension 1, but got size {targets.shape[1]} for argument #2 "
            f"'targets' {_CHECKED}"
        )


def _labels(targets: np.ndarray, sizes: np.ndarray, blank: int, classes: int) -> np.ndarray:
    """(N, L): each target with blanks around and between its labels, and after its end. IndexError for no class."""
    places = np.arange(sizes.max())
    inside = places < sizes[:, None]
    rows = np.full(inside.shape, blank)
    rows[inside] = targets if targets.ndim == 1 else targets[:, : len(places)][inside]
    if rows.size and not 0 <= rows.min() <= rows.max() < classes:
        wrong = rows[(rows < 0) | (rows >= classes)][0]
        raise IndexError(f"Target {wrong} is out of bounds: ctc_loss has {classes} classes")
    labels = np.full((len(sizes), 2 * len(places) + 1), blank)
    labels[:, 1::2] = rows
    return labels


def _log_sum(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """log(exp(x) + exp(y)), -inf where both are."""
    most = np.maximum(x, y)
    most = np.where(np.isneginf(most), 0, most)
    with np.errstate(divide="ignore"):
        return np.log(np.exp(x - most) + np.exp(y - most)) + most


def _memory_for(counts: np.ndarray, kind: np.dtype) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What `_log_sum_of_three` works on at every step of time: its z counts only where `counts`."""
    left_out = np.where(counts, 0, -np.inf).astype(kind)
    return np.empty((3, *counts.shape), kind), left_out, np.full(counts.shape, np.finfo(kind).min, kind)


def _log_sum_of_three(memory: tuple, x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    """log(exp(x) + exp(y) + exp(z)) of arrays (N, L), -inf where all are. Warnings of log(0) are the caller's."""
    terms, left_out, lowest = memory
    terms[0], terms[1] = x, y
    np.add(z, left_out, terms[2])
    most = np.maximum(terms.max(0), lowest)  # a finite number, from which -inf stays as far
    np.subtract(terms, most, terms)
    np.exp(terms, terms)
    return np.log(terms.sum(0)) + most


def _alpha(ways: _Ways) -> np.ndarray:
    steps, n, places = ways.emit.shape
    padded = np.full((steps, n, places + 2), -np.inf, ways.emit.dtype)  # two places that nothing comes from
    alpha = padded[:, :, 2:]
    alpha[0, :, :2] = ways.emit[0, :, :2]
    memory = _memory_for(ways.skip, ways.emit.dtype)
    with np.errstate(divide="ignore"):
        for t in range(1, steps):
            before = padded[t - 1]
            np.add(_log_sum_of_three(memory, before[:, 2:], before[:, 1:-1], before[:, :-2]), ways.emit[t], alpha[t])
    return np.ascontiguousarray(alpha)


def _share(ways: _Ways, alpha: np.ndarray, loss: np.ndarray) -> np.ndarray:
    """(T, N, L): the part of all ways that is at a place at a step."""
    steps, n, places = ways.emit.shape
    beta = np.full((n, places + 2), -np.inf, ways.emit.dtype)
    skip, rows = np.zeros((n, places), bool), np.arange(n)
    skip[:, :-2] = ways.skip[:, 2:]
    end = np.full((n, places), -np.inf, ways.emit.dtype)
    end[rows, 2 * ways.sizes] = 0
    end[rows[ways.sizes > 0], 2 * ways.sizes[ways.sizes > 0] - 1] = 0
    share = alpha + loss[:, None]
    memory = _memory_for(skip, ways.emit.dtype)
    with np.errstate(divide="ignore"):
        for t in range(steps - 1, -1, -1):
            onward = _log_sum_of_three(memory, beta[:, :-2], beta[:, 1:-1], beta[:, 2:])
            ends = ways.steps == t + 1
            if ends.any():
                onward[ends] = end[ends]
            share[t] += onward
            np.add(onward, ways.emit[t], beta[:, :-2])
    return np.exp(share, share)
