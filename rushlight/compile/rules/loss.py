"""Losses that pick a class: the index becomes a gather, its gradient a comparison of positions."""

from __future__ import annotations

import numpy as np

from ..ir.expression import gather, index
from ..ir.lazy import Builder, Lazy, Untraceable, where
from .table import rule


def _classes_last(x: Lazy) -> Lazy:
    """(C,), (N, C) or (N, C, *) as (N, ..., C)."""
    if x.ndim < 2:
        return x.reshape(1, x.shape[0])
    return x.transpose((0, *range(2, x.ndim), 1))


def _valid(b: Builder, t: Lazy, classes: int, ignore_index: int) -> tuple[Lazy, Lazy | None]:
    """The targets, with 0 for those to ignore, and which count (None: all); the others are checked."""
    valid = None if ignore_index < 0 and not _may_be_negative(t) else t != t.dtype.type(ignore_index)
    wrong = (t < 0) | (t >= classes)
    wrong = wrong if valid is None else wrong & valid
    b.check(wrong, IndexError, f"a target is out of bounds: the loss has {classes} classes")
    safe = where(wrong, t.dtype.type(0), t)
    return (safe if valid is None else where(valid, safe, t.dtype.type(0))), valid


def _may_be_negative(t: Lazy) -> bool:
    return t.dtype.kind == "i"


def _weights(b: Builder, t: Lazy, valid: Lazy | None, weight: Lazy | None, dtype) -> Lazy | None:
    """What each target counts; None: one."""
    if weight is None:
        return None if valid is None else valid.astype(dtype)
    w = Lazy(b, t.shape, gather(weight.ref(), (t.astype(np.int64).expr,)))
    return w if valid is None else where(valid, w, dtype.type(0))


@rule("nll_loss", "nll_loss2d", checks=True)
def nll_loss(b, input, target, weight=None, ignore_index=-100, reduction="mean"):
    if input.dtype.kind != "f" or input.dtype.itemsize == 2 or target.dtype.kind not in "iu":
        raise Untraceable(
            "nll_loss of a dtype other than float32 and float64, or of targets that are not integers: convert the scores with .float(), "
            "the targets with .long()"
        )
    x = _classes_last(input)
    t = target.reshape(x.shape[:-1])
    t, valid = _valid(b, t, x.shape[-1], ignore_index)
    w = _weights(b, t, valid, weight, x.dtype)
    at = (*(index(i) for i in range(t.ndim)), t.astype(np.int64).expr)
    loss = -Lazy(b, t.shape, gather(x.ref(), at))
    if w is not None:
        loss = where(w == 0, x.dtype.type(0), loss * w)
    if reduction == "none" and input.ndim > 1:
        return loss.reshape(target.shape)
    total = loss.sum()
    if reduction != "mean":
        return total
    return total / (x.dtype.type(t.size) if w is None else w.sum())


@rule("nll_loss_backward")
def nll_loss_backward(b, g, target, weight=None, shape=(), ignore_index=-100, reduction="mean"):
    if g.dtype.kind != "f" or g.dtype.itemsize == 2 or target.dtype.kind not in "iu":
        raise Untraceable(
            "the gradient of nll_loss of a dtype other than float32 and float64, or of targets that are not integers: convert the scores with .float(), "
            "the targets with .long()"
        )
    n, classes = (1, shape[0]) if len(shape) == 1 else (shape[0], shape[1])
    places = (n, *shape[2:])
    t = target.reshape(places)
    t, valid = _valid(b, t, classes, ignore_index)
    w = _weights(b, t, valid, weight, g.dtype)
    value = -(g.reshape(places) if reduction == "none" else g.reshape((1,) * len(places)))
    if reduction == "mean":
        value = value / (g.dtype.type(t.size) if w is None else w.sum())
    if w is not None:
        value = where(w == 0, g.dtype.type(0), value * w)
    spread = (n, 1, *places[1:])
    full = (n, classes, *places[1:])
    hit = b.positions(full, 1) == t.astype(np.int32).reshape(spread)
    return where(hit, value.broadcast_to(places).reshape(spread), g.dtype.type(0)).reshape(tuple(shape))
