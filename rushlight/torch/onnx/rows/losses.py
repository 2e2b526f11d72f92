"""Losses, whose results a network returns too when it is called with its targets."""

from __future__ import annotations

from collections.abc import Callable

from ....core.tensor import dtype as dtypes
from ....core.tensor.tensor import Tensor
from ..graph import Builder, CannotExport, Item, plain

__all__ = ["ROWS"]

_REDUCTIONS = ("none", "mean", "sum")


def _reduced(g: Builder, name: str, reduction: Item) -> str:
    how = _REDUCTIONS[plain(reduction)]
    return name if how == "none" else g.emit("ReduceMean" if how == "mean" else "ReduceSum", name, keepdims=0)


def of_difference(size: Callable) -> Callable:
    """A row of a loss of each difference: `size(g, kind, difference, *options)`."""

    def row(g: Builder, out: Tensor, x: Item, target: Item, reduction: Item, *options: Item) -> str:
        difference = g.emit("Sub", g.name(x, out.dtype), g.name(target, out.dtype))
        return _reduced(g, size(g, out.dtype, difference, *map(plain, options)), reduction)

    return row


def _square(g: Builder, kind: dtypes.dtype, x: str) -> str:
    return g.emit("Mul", x, x)


def _absolute(g: Builder, kind: dtypes.dtype, x: str) -> str:
    return g.emit("Abs", x)


def _huber(g: Builder, kind: dtypes.dtype, x: str, delta: float) -> str:
    size, half, end = g.emit("Abs", x), g.constant(0.5, kind), g.constant(delta, kind)
    near = g.emit("Mul", half, g.emit("Mul", x, x))
    far = g.emit("Mul", end, g.emit("Sub", size, g.constant(0.5 * delta, kind)))
    return g.emit("Where", g.emit("LessOrEqual", size, end), near, far)


def _smooth(g: Builder, kind: dtypes.dtype, x: str, beta: float) -> str:
    if beta == 0:
        return _absolute(g, kind, x)
    return g.emit("Div", _huber(g, kind, x, beta), g.constant(beta, kind))


def binary(g: Builder, out: Tensor, x: Item, target: Item, weight: Item, reduction: Item) -> str:
    """-(t log x + (1 - t) log(1 - x)), with logarithms of at least -100."""
    one, least = g.constant(1.0, out.dtype), g.constant(-100.0, out.dtype)
    p, t = g.name(x), g.name(target, out.dtype)
    logs = [g.emit("Max", g.emit("Log", name), least) for name in (p, g.emit("Sub", one, p))]
    total = g.emit("Add", g.emit("Mul", t, logs[0]), g.emit("Mul", g.emit("Sub", one, t), logs[1]))
    return _weighted(g, out, g.emit("Neg", total), weight, reduction)


def binary_of_logits(
    g: Builder, out: Tensor, x: Item, target: Item, weight: Item, pos_weight: Item, reduction: Item
) -> str:
    """(1 - t) x + (1 + (w - 1) t) log(1 + exp(-x))."""
    one, z, t = g.constant(1.0, out.dtype), g.name(x), g.name(target, out.dtype)
    soft = g.emit("Add", g.emit("Max", g.emit("Neg", z), g.constant(0.0, out.dtype)), _log1p_exp(g, out.dtype, z))
    if pos_weight.value is not None:
        more = g.emit("Mul", g.emit("Sub", g.name(pos_weight, out.dtype), one), t)
        soft = g.emit("Mul", g.emit("Add", one, more), soft)
    total = g.emit("Add", g.emit("Mul", g.emit("Sub", one, t), z), soft)
    return _weighted(g, out, total, weight, reduction)


def _log1p_exp(g: Builder, kind: dtypes.dtype, x: str) -> str:
    """log(1 + exp(-|x|))."""
    return g.emit("Log", g.emit("Add", g.constant(1.0, kind), g.emit("Exp", g.emit("Neg", g.emit("Abs", x)))))


def _weighted(g: Builder, out: Tensor, name: str, weight: Item, reduction: Item) -> str:
    if weight.value is not None:
        name = g.emit("Mul", name, g.name(weight, out.dtype))
    return _reduced(g, name, reduction)


def nll(g: Builder, out: Tensor, x: Item, target: Item, weight: Item, reduction: Item, ignored: Item) -> str:
    inputs = [g.name(x), g.name(target), *([] if weight.value is None else [g.name(weight)])]
    how = _REDUCTIONS[plain(reduction)]
    if x.value.ndim == 1:
        raise CannotExport("one example without a batch")
    return g.emit("NegativeLogLikelihoodLoss", *inputs, reduction=how, ignore_index=plain(ignored))


def cross_entropy(
    g: Builder, out: Tensor, x: Item, target: Item, weight: Item, reduction: Item, ignored: Item, smoothing: Item
) -> str:
    if target.value.dtype.is_floating_point:
        return _of_probabilities(g, out, x, target, weight, reduction, plain(smoothing))
    log = g.emit("LogSoftmax", g.name(x), axis=min(1, x.value.ndim - 1))
    if plain(smoothing):
        return _smoothed(
            g, out, Item(x.value, log, other=x.other), target, weight, reduction, ignored, plain(smoothing)
        )
    return nll(g, out, Item(x.value, log), target, weight, reduction, ignored)


def _smoothed(
    g: Builder, out: Tensor, log: Item, target: Item, weight: Item, reduction: Item, ignored: Item, smoothing: float
) -> str:
    """(1 - s) loss + s / C (the sum of the losses of all C classes); the mean is over the weights of the targets."""
    kind, zero = out.dtype, g.constant(0.0, out.dtype)
    total = nll(g, out, log, target, weight, Item(_REDUCTIONS.index("none")), ignored)
    every = _weighted_classes(g, log.value, g.name(log), weight, kind)
    every = g.emit("Neg", g.emit("ReduceSum", every, g.constant([1]), keepdims=0))
    kept = g.emit("Not", g.emit("Equal", g.name(target), g.constant(plain(ignored), target.value.dtype)))
    every = g.emit("Mul", g.emit("Where", kept, every, zero), g.constant(smoothing / log.fixed_size(1), kind))
    total = g.emit("Add", g.emit("Mul", total, g.constant(1 - smoothing, kind)), every)
    how = _REDUCTIONS[plain(reduction)]
    if how != "mean":
        return _reduced(g, total, reduction)
    share = g.cast(kept, kind)
    if weight.value is not None:
        places = g.emit("Where", kept, g.name(target), g.constant(0, target.value.dtype))
        share = g.emit("Mul", share, g.emit("Gather", g.name(weight, kind), places))
    return g.emit("Div", g.emit("ReduceSum", total, keepdims=0), g.emit("ReduceSum", share, keepdims=0))


def _weighted_classes(g: Builder, x: Tensor, name: str, weight: Item, kind: dtypes.dtype) -> str:
    """What belongs to the classes, multiplied by their weights."""
    if weight.value is None:
        return name
    wide = g.constant([-1] + [1] * (x.ndim - min(2, x.ndim)))
    return g.emit("Mul", name, g.emit("Reshape", g.name(weight, kind), wide))


def _of_probabilities(
    g: Builder, out: Tensor, x: Item, target: Item, weight: Item, reduction: Item, smoothing: float
) -> str:
    """The mean is that over examples, not over classes or weights."""
    at, kind = min(1, x.value.ndim - 1), out.dtype
    log = g.emit("LogSoftmax", g.name(x), axis=at)
    wanted = g.name(target, kind)
    if smoothing:
        wanted = g.emit("Mul", wanted, g.constant(1 - smoothing, kind))
        wanted = g.emit("Add", wanted, g.constant(smoothing / x.fixed_size(at), kind))
    products = _weighted_classes(g, x.value, g.emit("Mul", log, wanted), weight, kind)
    return _reduced(g, g.emit("Neg", g.emit("ReduceSum", products, g.constant([at]), keepdims=0)), reduction)


def divergence(g: Builder, out: Tensor, x: Item, target: Item, reduction: Item, log_target: Item) -> str:
    """t (log t - x), where t is 0: 0."""
    name = g.name(target, out.dtype)
    if plain(log_target):
        t, log = g.emit("Exp", name), name
    else:
        t, log = name, g.emit("Log", name)
    total = g.emit("Mul", t, g.emit("Sub", log, g.name(x)))
    if not plain(log_target):
        zero = g.constant(0.0, out.dtype)
        total = g.emit("Where", g.emit("Equal", t, zero), zero, total)
    return _reduced(g, total, reduction)


ROWS: dict[str, Callable] = {
    "mse_loss": of_difference(_square), "l1_loss": of_difference(_absolute), "huber_loss": of_difference(_huber),
    "smooth_l1_loss": of_difference(_smooth), "binary_cross_entropy": binary,
    "binary_cross_entropy_with_logits": binary_of_logits, "nll_loss": nll, "nll_loss_nd": nll,
    "cross_entropy_loss": cross_entropy, "kl_div": divergence,
}  # fmt: skip
