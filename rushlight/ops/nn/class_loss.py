"""Losses of classes: `nll_loss` and `cross_entropy`, with indices or probabilities as targets.

`mean` divides by the total weight of the targets that count.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.dispatch.aten.operators import operator, register
from ...core.dispatch.aten.run import REDUCTIONS
from ...core.dispatch.aten.torch_dispatch import ask_mode, without_modes
from ...core.dispatch.errors import type_error
from ...core.dispatch.mode import no_grad, thread
from ...core.dispatch.op import composite, primitive
from ...core.tensor import dtype as dtypes
from ...core.tensor.node import shown_as
from ...core.tensor.size import wrap_dim
from ...core.tensor.tensor import Tensor, type_word
from ..pointwise.checks import lies_within, refuse_history
from ..reduce.sums import mean_of_picked, sum_of_batch
from .activation import tied


def _check_targets(input: np.ndarray, target: np.ndarray) -> None:
    if input.ndim == 0:
        raise ValueError("Expected 1 or more dimensions (got 0)")
    if input.ndim > 1 and (target.ndim == 0 or input.shape[0] != target.shape[0]):
        n = target.shape[0] if target.ndim else 0
        raise ValueError(f"Expected input batch_size ({input.shape[0]}) to match target batch_size ({n}).")
    if input.ndim <= 2 and target.ndim > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if input.ndim == 4:
        if target.ndim != 3:
            raise RuntimeError(
                f"only batches of spatial targets supported (3D tensors) but got targets of dimension: {target.ndim}"
            )
        if input.shape[2:] != target.shape[1:]:
            raise RuntimeError(f"size mismatch (got input: {list(input.shape)} , target: {list(target.shape)})")
    elif input.ndim > 2 and input.shape[2:] != target.shape[1:]:
        expected = [input.shape[0], *input.shape[2:]]
        raise RuntimeError(f"Expected target size {expected}, got {list(target.shape)}")
    if target.dtype != np.int64 and target.dtype != np.uint8:
        raise RuntimeError(
            f"expected target dtype to be Long or Byte, but got {type_word(dtypes.from_numpy(target.dtype))}"
        )
    if input.ndim == 1 and target.size != 1:
        raise ValueError(f"For 1D input, 1D target must have size 1, but got target size: {target.size}")


def _rows(input: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """(classes last and flattened to rows, the target of each row, number of classes)."""
    c = input.shape[0] if input.ndim == 1 else input.shape[1]
    x = input if input.ndim < 3 else np.moveaxis(input, 1, -1)
    return x.reshape(-1, c), target.reshape(-1), c


def _valid(target: np.ndarray, c: int, ignore_index: int) -> np.ndarray | None:
    """Which targets count: None for all. Raises IndexError for a class that does not exist."""
    if target.dtype == np.uint8:
        target = target.astype(np.int64)
    if lies_within(target, 0, c) and (not target.size or not 0 <= ignore_index < c):
        return None
    valid = target != ignore_index
    bad = target[valid & ((target < 0) | (target >= c))]
    if bad.size:
        raise IndexError(f"Target {bad[0]} is out of bounds.")
    return valid


def _check_weight(weight: Any, c: int, name: str = "") -> None:
    if tuple(weight.shape) != (c,):
        raise RuntimeError(
            f"{name}weight tensor should be defined either for all {c} classes or no classes but got weight tensor of shape: "
            f"{list(weight.shape)}"
        )


def _weights(target: np.ndarray, valid: Any, weight: Any, c: int, kind: np.dtype) -> np.ndarray | None:
    """The weight of each row, or None where all are 1."""
    if weight is not None:
        _check_weight(weight, c)
    if weight is None:
        return None if valid is None else valid.astype(kind)
    if weight.dtype != kind:
        words = [type_word(dtypes.from_numpy(d)) for d in (kind, weight.dtype)]
        raise RuntimeError(f"expected scalar type {words[0]} but found {words[1]}")
    w = weight[np.where(valid, target, 0) if valid is not None else target]
    return w if valid is None else np.where(valid, w, 0)


_I64, _F32 = np.dtype(np.int64), np.dtype(np.float32)


def mean_of_rows(x: np.ndarray, target: np.ndarray) -> np.ndarray | None:
    """The usual case in a third of the time: every target a class, none of them ignored. None where that has to be looked into."""
    if len(target) != len(x) or not len(x) or x.dtype is not _F32:
        return None
    return mean_of_picked(x, target)


def _sum(a: np.ndarray) -> Any:
    return (
        sum_of_batch(a)
        if a.size and type(a) is np.ndarray and a.dtype.itemsize > 2
        else np.add.reduce(a, dtype=np.float32 if a.dtype.itemsize == 2 else None)
    )


@primitive(public=False, name="nll_loss")
def _nll_loss(input, target, weight=None, /, ignore_index=-100, reduction="mean"):
    usual = weight is None and reduction == "mean" and ignore_index < 0
    if usual and input.ndim == 2 and target.ndim == 1 and target.dtype is _I64:
        quick = mean_of_rows(input, target)
        if quick is not None:
            return quick
    _check_targets(input, target)
    x, t, c = _rows(input, target)
    valid = _valid(t, c, ignore_index)
    w = _weights(t, valid, weight, c, input.dtype)
    n = len(t)
    loss = -x[np.arange(n), t if valid is None else np.where(valid, t, 0)]
    if w is not None:
        loss = np.where(w == 0, 0, loss * w).astype(input.dtype)
    if reduction == "none" and input.ndim > 1:
        return loss.reshape(target.shape)
    total = _sum(loss)
    if reduction == "mean":
        total = total / (input.dtype.type(n) if w is None else _sum(w).astype(total.dtype))
    return np.asarray(total, input.dtype)


@_nll_loss.vjp("input")
def _(g, input, target, weight, ignore_index, reduction):
    if thread.state.dispatching and not thread.state.grad and input._array.ndim in _FORMS:
        number = REDUCTIONS[reduction]
        with without_modes():
            total = _total_weight(input, target, weight, number, ignore_index)
        name = f"{_FORMS[input._array.ndim]}_backward"
        return ask_mode(operator(name).default, (g, input, target, weight, number, ignore_index, total), {})
    slope = _nll_loss_backward(g, target, weight, input._array.shape, ignore_index, reduction)
    return shown_as(
        tied(slope, input), "NllLossBackwardBackward0" if input._array.ndim < 3 else "NllLoss2DBackwardBackward0"
    )


@primitive(public=False, name="nll_loss_backward")
def _nll_loss_backward(g, target, weight=None, /, shape=(), ignore_index=-100, reduction="mean"):
    """Zeros of `shape` with minus the weighted gradient at each target."""
    c = shape[0] if len(shape) == 1 else shape[1]
    t = target.reshape(-1)
    valid = _valid(t, c, ignore_index)
    w = _weights(t, valid, weight, c, g.dtype)
    n = len(t)
    value = -g.reshape(-1)
    if reduction == "mean":
        value = value / (g.dtype.type(n) if w is None else w.sum())
    if w is not None:
        value = value * w
        if valid is not None:
            value = np.where(valid, value, 0)
    out = np.zeros((n, c), g.dtype, like=g)
    out[np.arange(n), t if valid is None else np.where(valid, t, 0)] = value
    if len(shape) < 3:
        return out.reshape(shape)
    return np.ascontiguousarray(np.moveaxis(out.reshape(shape[0], *shape[2:], c), -1, 1))


@_nll_loss_backward.vjp("g")
def _(g, target, weight, ignore_index, reduction):
    return _nll_loss(g, target, weight, ignore_index, reduction)


_nll_loss2d = primitive(public=False, name="nll_loss2d", node="NllLoss2DBackward0")(_nll_loss.record.kernel)
for _name, _rule in list(_nll_loss.record.rules.items()):
    _nll_loss2d.vjp(_name)(_rule)


@composite()
def nll_loss(input, target, weight=None, ignore_index=-100, reduction="mean"):
    """-weight[target] * input[target] for log-probabilities. Shape: (N, C, *), (N, *) -> () or (N, *)."""
    return _picked(input, target, weight, ignore_index, reduction)


_FORMS = {1: "nll_loss", 2: "nll_loss", 4: "nll_loss2d"}  # torch's operators, by the number of dimensions
_WORDS = {number: word for word, number in REDUCTIONS.items()}


def _total_weight(input: Tensor, target: Tensor, weight: Tensor | None, reduction: int, ignore_index: int) -> Any:
    """The sum of the weights of the rows that count, which torch's kernel gives with the loss; 0 where it gives each loss."""
    with no_grad():
        if reduction == 0 and input._array.ndim > 1:
            return input.new_zeros(())
        counts = target != ignore_index  # type: ignore[operator]
        if weight is None:
            return counts.sum().to(input.dtype)
        return (weight[target.masked_fill(~counts, 0)] * counts).sum()  # type: ignore[index]


def _nll_loss_forward(self, target, weight, reduction, ignore_index):
    loss = _picked(self, target, weight, ignore_index, _WORDS[reduction])
    return loss, _total_weight(self, target, weight, reduction, ignore_index)


def _nll_loss_gradient(grad_output, self, target, weight, reduction, ignore_index, total_weight):
    return _nll_loss_backward(grad_output, target, weight, self._array.shape, ignore_index, _WORDS[reduction])


for _form in ("nll_loss", "nll_loss2d"):
    register(f"{_form}_forward", _nll_loss_forward)
    register(f"{_form}_backward", _nll_loss_gradient)


def _picked(logp: Tensor, target: Tensor, weight: Any, ignore_index: int, reduction: str) -> Tensor:
    n = logp._array.ndim
    if thread.state.dispatching and n in _FORMS:
        given = (logp, target, weight, REDUCTIONS[reduction], ignore_index)
        return ask_mode(operator(f"{_FORMS[n]}_forward").default, given, {})[0]
    refuse_history("nll_loss_forward" if n < 3 else "nll_loss2d_forward", weight=weight)
    if n < 3:
        return _nll_loss(logp, target, weight, ignore_index, reduction)
    loss = _nll_loss2d(logp, target, weight, ignore_index, reduction)
    return shown_as(loss, "ViewBackward0") if n != 4 and reduction == "none" else loss  # torch's kernel is of images


@composite()
def cross_entropy(input, target, weight=None, ignore_index=-100, reduction="mean", label_smoothing=0.0):
    """-log softmax(input)[target], for class indices or class probabilities as target.

    Shape: (C), (N, C) or (N, C, *); target without C (indices, int64) or of the same shape (probabilities).
    """
    if not isinstance(input, Tensor) or not isinstance(target, Tensor):
        wrong = target if isinstance(input, Tensor) else input
        place = "'target' (position 2)" if isinstance(input, Tensor) else "'input' (position 1)"
        raise type_error(f"cross_entropy_loss(): argument {place} must be Tensor, not {type(wrong).__name__}")
    if not 0.0 <= label_smoothing <= 1.0:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    d = 0 if input._array.ndim == 1 else 1
    if target._array.shape == input._array.shape and not target.is_floating_point():
        words = type_word(target.dtype)
        raise RuntimeError(f"Expected floating point type for target with class probabilities, got {words}")
    wrap_dim(d, input._array.ndim)
    if not input._array.shape[d] and target._array.size and not target.is_floating_point():
        _check_targets(input._array, target._array)
        raise IndexError(f"Target {target.reshape(-1)[0].item()} is out of bounds.")
    if target._array.shape == input._array.shape and target.is_floating_point():
        return _with_probabilities(input.log_softmax(d), target, weight, d, reduction, label_smoothing)
    if target.is_floating_point():
        _check_targets(input._array, target._array)
    logp = input.log_softmax(d)
    loss = _picked(logp, target, weight, ignore_index, reduction)
    if not label_smoothing:
        return loss
    return loss * (1 - label_smoothing) + _smooth(logp, target, weight, ignore_index, reduction, d) * (
        label_smoothing / input._array.shape[d]
    )


def _with_probabilities(logp: Tensor, p: Tensor, weight: Any, d: int, reduction: str, smoothing: float) -> Tensor:
    c = logp._array.shape[d]
    if smoothing:
        p = p * (1 - smoothing) + smoothing / max(1, c)
    terms = logp * p
    if weight is not None:
        _check_weight(weight, c, "cross_entropy: ")
        terms = terms * weight.reshape((c,) + (1,) * (logp._array.ndim - d - 1))
    if reduction == "none":
        return -terms.sum(d)
    if reduction != "mean":
        return -terms.sum()
    return shown_as(-terms.sum() / (logp._array.size // max(1, c)), "DivBackward1", 1)  # of none: nan


def _smooth(logp: Tensor, target: Tensor, weight: Any, ignore_index: int, reduction: str, d: int) -> Tensor:
    """The part of a smoothed loss that is spread over all classes."""
    if weight is None:
        loss = -logp.sum(d)
    else:
        loss = -(logp * weight.reshape((-1,) + (1,) * (logp._array.ndim - d - 1))).sum(d)
    ignored = target == ignore_index
    loss = loss.masked_fill(ignored, 0.0)
    if reduction != "mean":
        return loss if reduction == "none" else loss.sum()
    if weight is None:
        return loss.sum() / (~ignored).sum()
    return loss.sum() / weight[target.masked_fill(ignored, 0)].masked_fill(ignored, 0).sum()
