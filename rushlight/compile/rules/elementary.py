"""Elementwise operators whose kernels look at their operands' memory or test for arrays."""

from __future__ import annotations

import numpy as np

from ...core.tensor.dtype import bfloat16
from ..ir.expression import Expr, apply, const, gather, index
from ..ir.lazy import Lazy, Untraceable, where
from ..ir.scalar_ops import SCALAR_OPS
from .table import rule, through_float32


def _of_floats(name: str, function) -> None:
    def elementwise(b, *operands, **metadata):
        arrays = [x for x in operands if isinstance(x, Lazy)]
        if metadata or not arrays or any(x.dtype.kind != "f" or x.dtype.itemsize == 2 for x in arrays):
            raise Untraceable(f"{name} of a dtype other than float32 and float64")
        return function(*operands)

    rule(name)(elementwise)


for _name in ("maximum", "minimum", "fmax", "fmin", "hypot", "logaddexp", "atan2", "pow.tensor"):
    _of_floats(_name, SCALAR_OPS[_name.removesuffix(".tensor")].numpy)


@rule("where")
def where_rule(b, condition, input, other):
    if condition.dtype != np.bool_ or input.dtype != other.dtype:
        raise Untraceable("where of mixed dtypes")
    return where(condition, input, other)


@rule("bitwise_not")
def bitwise_not(b, input):
    if input.dtype.kind not in "biu":
        raise Untraceable(f"the bits of {input.dtype}")
    return np.invert(input)


# --------------------------------------------------------------------------------------------- rounded once


def _multiply_add(b, x, y, z):
    """x y + z; x or y may be a number, which takes the arrays' type."""
    if any(isinstance(a, Lazy) and a.dtype not in (np.float32, np.float64) for a in (x, y, z)):
        raise Untraceable(f"a product and a sum of {z.dtype}")
    args = [a if isinstance(a, Lazy) else b.constant(a, z.dtype) for a in (x, y, z)]
    shape = np.broadcast_shapes(*(a.shape for a in args))
    return Lazy(b, shape, apply("fma", *(a.broadcast_to(shape).expr for a in args)))


@rule("add.scaled")
def add_scaled(b, input, other, alpha):
    short = bfloat16.numpy if input.dtype == bfloat16.numpy else None
    number = float(alpha if short is None else short.type(alpha))
    return _add_scaled(b, input, other, number)


@through_float32()
def _add_scaled(b, input, other, alpha):
    return _multiply_add(b, other, alpha, input)


@rule("sub.scaled")
def sub_scaled(b, input, other, alpha):
    return add_scaled(b, input, other, -alpha)


@rule("lerp.scalar")
@through_float32()
def lerp(b, input, end, weight):
    one = input.dtype.type(1)
    weight = input.dtype.type(weight)
    if abs(weight) < 0.5:
        return _multiply_add(b, end - input, weight, input)
    return _multiply_add(b, end - input, weight - one, end)


@rule("lerp.tensor")
@through_float32()
def lerp_by(b, input, end, weight):
    small = np.abs(weight) < 0.5
    part = where(small, weight, weight - weight.dtype.type(1))
    return _multiply_add(b, end - input, part, where(small, input, end))


@rule("addcmul")
@through_float32()
def addcmul(b, input, tensor1, tensor2, value=1):
    if input.dtype.kind != "f":
        return input + tensor1 * value * tensor2
    return _multiply_add(b, tensor1 if value == 1 else tensor1 * input.dtype.type(value), tensor2, input)


# -----------------------------------------------------------------------------------------------------------


@rule("xlogy")
def xlogy(b, x, y):
    if any(not isinstance(a, Lazy) or a.dtype.kind != "f" or a.dtype.itemsize == 2 for a in (x, y)):
        raise Untraceable(
            "xlogy of a Python number, or of a dtype other than float32 and float64: give tensors, with .float()"
        )
    return where(np.isnan(y), y, where(x == 0, x.dtype.type(0), x * np.log(y)))


@rule("flip")
def flip(b, input, dims):
    if not input.ndim:
        return input
    axes = {d % input.ndim for d in ((dims,) if isinstance(dims, int) else dims)}
    at = tuple(_mirrored(i, n) if i in axes else index(i) for i, n in enumerate(input.shape))
    return Lazy(b, input.shape, gather(input.ref(), at))


def _mirrored(axis: int, n: int) -> Expr:
    return apply("sub", const(n - 1, np.int64), index(axis))
