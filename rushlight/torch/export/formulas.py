"""Decompositions of operators that are formulas of others: losses, activations, reductions, parts and rows of tensors.

A rule is called with what emits calls, and with an operator's arguments. The calls are those that torch's decomposition
makes of float32 and float64 tensors; of narrower floats and of integers it makes others, with casts, so that these are
refused.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from ...core.tensor.dtype import float32, float64
from ...core.tensor.layout import contiguous_format, strided
from ...fx import Node

__all__ = ["FORMULAS"]


def _of_floats(rule: Callable) -> Callable:
    """A rule that refuses what torch casts first."""

    @functools.wraps(rule)
    def checked(e: Any, x: Node, *args: Any, **options: Any) -> Any:
        kind = x.meta["val"].dtype
        if kind not in (float32, float64):
            raise NotImplementedError(f"run_decompositions: aten.{rule.__name__.strip('_')} of {kind}")
        return rule(e, x, *args, **options)

    return checked


def _number(e: Any, value: float, x: Node) -> Node:
    """A number as a tensor of the type of x."""
    like = x.meta["val"]
    return e("scalar_tensor", value, dtype=like.dtype, layout=strided, device=like.device)


def _plain(name: str, **given: tuple[Any, Any]) -> None:
    """Refuse options that differ from those of the formula: each is (given, the formula's)."""
    for option, (value, formula) in given.items():
        if value != formula:
            raise NotImplementedError(f"run_decompositions: aten.{name} with {option}={value}")


# ------------------------------------------------------------------------------------------ losses, reductions


def _reduce(e: Any, x: Node, reduction: int) -> Node:
    if reduction == 0:
        return x
    return e("mean", x) if reduction == 1 else e("sum.dim_IntList", x, [])


@_of_floats
def _mse_loss(e: Any, x: Node, target: Node, reduction: int = 1) -> Node:
    return _reduce(e, e("pow.Tensor_Scalar", e("sub.Tensor", x, target), 2), reduction)


@_of_floats
def _l1_loss(e: Any, x: Node, target: Node, reduction: int = 1) -> Node:
    return _reduce(e, e("abs", e("sub.Tensor", x, target)), reduction)


@_of_floats
def _huber_loss(e: Any, x: Node, target: Node, reduction: int = 1, delta: float = 1.0) -> Node:
    size = e("abs", e("sub.Tensor", x, target))
    small = e("lt.Scalar", size, delta)
    square = e("mul.Tensor", e("mul.Tensor", size, 0.5), size)
    line = e("mul.Tensor", e("sub.Tensor", size, 0.5 * delta), delta)
    return _reduce(e, e("where.self", small, square, line), reduction)


@_of_floats
def _logsumexp(e: Any, x: Node, dim: list[int], keepdim: bool = False) -> Node:
    most = e("amax", x, dim, True)
    infinite = e("eq.Scalar", e("abs", most), math.inf)
    most = e("where.self", infinite, _number(e, 0.0, x), most)
    squeezed = most if keepdim else e("squeeze.dims", most, dim)
    total = e("exp", e("sub.Tensor", x, most))
    total = e("sum.dim_IntList", total, dim, *([True] if keepdim else []))
    return e("add.Tensor", e("log", total), squeezed)


def _variance(e: Any, x: Node, dim: Any, unbiased: bool, keepdim: bool, number: type) -> Node:
    options: dict[str, Any] = {"correction": number(unbiased)} | ({"keepdim": True} if keepdim else {})
    return e("var.correction", x, *([] if dim is None else [dim]), **options)


def _var_dim(e: Any, x: Node, dim: Any = None, unbiased: bool = True, keepdim: bool = False) -> Node:
    return _variance(e, x, dim, unbiased, keepdim, int)


@_of_floats
def _std_dim(e: Any, x: Node, dim: Any = None, unbiased: bool = True, keepdim: bool = False) -> Node:
    return e("sqrt", _variance(e, x, dim, unbiased, keepdim, float))


def _all(e: Any, x: Node, dim: int | None = None, keepdim: bool = False) -> Node:
    options = [] if dim is None else [dim, *([True] if keepdim else [])]
    return e("logical_not", e("any.dims" if dim is None else "any.dim", e("logical_not", x), *options))


def _aminmax(e: Any, x: Node, *, dim: int | None = None, keepdim: bool = False) -> list[Node]:
    options = [] if dim is None else [[dim], *([True] if keepdim else [])]
    return [e("amin", x, *options), e("amax", x, *options)]


def _dot(e: Any, x: Node, y: Node) -> Node:
    return e("sum.dim_IntList", e("mul.Tensor", x, y), [])


# ------------------------------------------------------------------------------------------ activations


def _between(e: Any, x: Node) -> Node:
    """x + 3 between 0 and 6."""
    return e("clamp", e("clamp", e("add.Tensor", x, 3), 0), None, 6)


@_of_floats
def _hardswish(e: Any, x: Node) -> Node:
    return e("div.Tensor", e("mul.Tensor", x, _between(e, x)), 6)


@_of_floats
def _hardsigmoid(e: Any, x: Node) -> Node:
    return e("div.Tensor", _between(e, x), 6)


@_of_floats
def _softplus(e: Any, x: Node, beta: float = 1, threshold: float = 20) -> Node:
    scaled = x if beta == 1 else e("mul.Tensor", x, beta)
    soft = e("log1p", e("exp", scaled))
    soft = soft if beta == 1 else e("div.Tensor", soft, beta)
    return e("where.self", e("gt.Scalar", scaled, threshold), x, soft)


@_of_floats
def _mish(e: Any, x: Node) -> Node:
    return e("mul.Tensor", x, e("tanh", _softplus(e, x)))


@_of_floats
def _glu(e: Any, x: Node, dim: int = -1) -> Node:
    dim %= len(shape := x.meta["val"].shape)
    half = shape[dim] // 2
    first, second = e("slice.Tensor", x, dim, 0, half), e("slice.Tensor", x, dim, half, 2 * half)
    return e("mul.Tensor", first, e("sigmoid", second))


@_of_floats
def _threshold(e: Any, x: Node, threshold: float, value: float) -> Node:
    return e("where.self", e("le.Scalar", x, threshold), _number(e, value, x), x)


@_of_floats
def _selu(e: Any, x: Node) -> Node:
    return e("elu", x, 1.6732632423543772, 1.0507009873554805)


@_of_floats
def _celu(e: Any, x: Node, alpha: float = 1.0) -> Node:
    _plain("celu", alpha=(alpha, 1.0))
    low = e("expm1", x)
    return e("where.self", e("gt.Scalar", x, 0), x, low)


# ------------------------------------------------------------------------------------------ element by element


def _rsub(e: Any, x: Node, other: Any, alpha: float = 1) -> Node:
    return e("sub.Tensor", other, x, **({} if alpha == 1 else {"alpha": alpha}))


@_of_floats
def _sinc(e: Any, x: Node) -> Node:
    angle = e("mul.Tensor", x, math.pi)
    zero = e("eq.Scalar", angle, 0)
    ratio = e("div.Tensor", e("sin", angle), angle)
    return e("where.self", zero, _number(e, 1, x), ratio)


@_of_floats
def _frac(e: Any, x: Node) -> Node:
    return e("sub.Tensor", x, e("trunc", x))


@_of_floats
def _masked_fill(e: Any, x: Node, mask: Node, value: float) -> Node:
    return e("where.self", mask, _number(e, value, x), x)


@_of_floats
def _addcmul(e: Any, x: Node, a: Node, b: Node, *, value: float = 1) -> Node:
    return e("add.Tensor", x, e("mul.Tensor", a if value == 1 else e("mul.Tensor", a, value), b))


# ------------------------------------------------------------------------------------------ parts and rows


def _split(e: Any, x: Node, split_size: int, dim: int = 0) -> list[Node]:
    size = x.meta["val"].shape[dim]
    sizes = [min(split_size, size - i) for i in range(0, size, split_size)]
    parts = e("split_with_sizes", x, sizes, *([dim] if dim else []))
    return [e.item(parts, i) for i in range(len(sizes))]


def _narrow(e: Any, x: Node, dim: int, start: int, length: int) -> Node:
    return e("slice.Tensor", x, dim, start, start + length)


def _stack(e: Any, tensors: list[Node], dim: int = 0) -> Node:
    shape = list(tensors[0].meta["val"].shape)
    place = dim % (len(shape) + 1)
    if place == len(shape):
        return e("cat", [e("unsqueeze", x, place) for x in tensors], dim)
    joined = e("cat", tensors, *([dim] if dim else []))
    return e("view", joined, [*shape[:place], len(tensors), *shape[place:]])


def _repeat_interleave(e: Any, x: Node, repeats: int, dim: int | None = None) -> Node:
    if dim is None:
        raise NotImplementedError("run_decompositions: aten.repeat_interleave without a dimension")
    shape = list(x.meta["val"].shape)
    dim %= len(shape)
    spread = e("expand", e("unsqueeze", x, dim + 1), [*shape[: dim + 1], repeats, *shape[dim + 1 :]])
    copied = e("clone", spread, memory_format=contiguous_format)
    return e("view", copied, [*shape[:dim], repeats * shape[dim], *shape[dim + 1 :]])


def _outer(e: Any, x: Node, y: Node) -> Node:
    return e("mul.Tensor", e("view", x, [x.meta["val"].shape[0], 1]), y)


def _baddbmm(e: Any, x: Node, a: Node, b: Node, *, beta: float = 1, alpha: float = 1) -> Node:
    _plain("baddbmm", beta=(beta, 1), alpha=(alpha, 1))
    return e("add.Tensor", x, e("bmm", a, b))


FORMULAS: dict[str, Callable] = {
    "addcmul.default": _addcmul,
    "all.default": _all,
    "all.dim": _all,
    "aminmax.default": _aminmax,
    "baddbmm.default": _baddbmm,
    "celu.default": _celu,
    "clamp_max.default": lambda e, x, most: e("clamp", x, None, most),
    "clamp_min.default": lambda e, x, least: e("clamp", x, least),
    "dot.default": _dot,
    "frac.default": _frac,
    "glu.default": _glu,
    "hardsigmoid.default": _hardsigmoid,
    "hardswish.default": _hardswish,
    "huber_loss.default": _huber_loss,
    "l1_loss.default": _l1_loss,
    "logsumexp.default": _logsumexp,
    "masked_fill.Scalar": _masked_fill,
    "mish.default": _mish,
    "mse_loss.default": _mse_loss,
    "narrow.default": _narrow,
    "outer.default": _outer,
    "repeat_interleave.self_int": _repeat_interleave,
    "rsub.Scalar": _rsub,
    "rsub.Tensor": _rsub,
    "selu.default": _selu,
    "sinc.default": _sinc,
    "softplus.default": _softplus,
    "split.Tensor": _split,
    "stack.default": _stack,
    "std.default": lambda e, x, unbiased=True: _std_dim(e, x, None, unbiased),
    "std.dim": _std_dim,
    "threshold.default": _threshold,
    "var.dim": _var_dim,
}
"""The rule of each operator."""
