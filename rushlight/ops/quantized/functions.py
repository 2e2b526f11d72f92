"""Functions of quantized tensors whose results have a scale and a zero point of their own: `torch.ops.quantized`.

Values are computed in float32 and rounded to levels: round(value / scale) + zero_point.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import ops
from ...core.dispatch.mode import no_grad
from ...core.tensor.tensor import Tensor, wrap
from .recorded import recorded
from .tensor import LEVELS, QuantizedTensor, assemble, rounded_levels

__all__ = [
    "add",
    "add_relu",
    "add_scalar",
    "add_scalar_relu",
    "batch_norm",
    "batch_norm_relu",
    "cat",
    "cat_relu",
    "check_quantized",
    "computed",
    "elu",
    "group_norm",
    "hardswish",
    "instance_norm",
    "layer_norm",
    "leaky_relu",
    "matmul",
    "mul",
    "mul_relu",
    "mul_scalar",
    "mul_scalar_relu",
    "of_each",
    "prelu",
    "relu6",
    "rounded",
    "sigmoid",
    "softmax",
    "tanh",
]  # fmt: skip


def check_quantized(t: Any, name: str) -> None:
    """Raise NotImplementedError where an argument of `quantized::name` is an ordinary tensor, as torch does."""
    if not isinstance(t, QuantizedTensor):
        raise NotImplementedError(
            f"Could not run 'quantized::{name}' with arguments from the 'CPU' backend: its input must be a quantized tensor, "
            "as quantize_per_tensor() and QuantStub() make them"
        )


def rounded(values: np.ndarray, scale: Any, zero_point: Any, dtype: Any) -> Any:
    """float32 values as a quantized tensor: round(value / scale) + zero_point, with the reciprocal in float32."""
    scale, zero_point = float(scale), int(zero_point)
    return assemble(_levels(values, scale, zero_point, LEVELS[dtype]), dtype, scale, zero_point)


def _levels(values: np.ndarray, scale: float, zero_point: int, kind: np.dtype) -> np.ndarray:
    limits = np.iinfo(kind)
    with np.errstate(all="ignore"):
        levels = np.rint(values * (np.float32(1) / np.float32(scale))).astype(np.float64)
    levels = np.asarray(levels + zero_point)
    levels[np.isnan(levels)] = limits.min
    return np.clip(levels, limits.min, limits.max).astype(kind)


_BLOCK = 64  # elements: torch's vectorized loops take so many (AVX2), and its plain loops the rest


def computed(function: Any, tensors: Any, scale: Any, zero_point: Any) -> Any:
    """A pointwise function of the values of quantized tensors, as levels, with the roundings of torch's two kinds of loops.

    Vectorized ones compute a value as level scale - zero_point scale with one rounding, and add the zero point after
    rounding; plain ones compute (level - zero_point) scale, and add the zero point before rounding.
    """
    first, scale, zero_point = tensors[0], float(scale), int(zero_point)
    kind, levels = first._levels.dtype, [t._levels for t in tensors]
    order = "K" if all(x.shape == levels[0].shape and x.strides == levels[0].strides for x in levels) else "C"
    flat = (
        [np.ravel(x, order) for x in np.broadcast_arrays(*levels)] if order == "C" else [x.ravel("K") for x in levels]
    )
    out, cut = np.empty(flat[0].shape, kind), flat[0].size - flat[0].size % _BLOCK
    with np.errstate(all="ignore"):
        if cut:
            values = [_fused(x[:cut], t) for x, t in zip(flat, tensors, strict=True)]
            out[:cut] = _levels(function(*values), scale, zero_point, kind)
        if cut < len(out):
            values = [_plain(x[cut:], t) for x, t in zip(flat, tensors, strict=True)]
            out[cut:] = rounded_levels(np.asarray(function(*values), np.float32), scale, zero_point, kind)
    shape = np.broadcast_shapes(*[x.shape for x in levels])
    if order == "C":
        return assemble(out.reshape(shape), first.dtype, scale, zero_point)
    return assemble(_in_order_of(levels[0], out), first.dtype, scale, zero_point)


def _fused(levels: np.ndarray, t: Any) -> np.ndarray:
    scale = np.float32(t._scale)
    return (levels.astype(np.float64) * np.float64(scale) + np.float64(scale * np.float32(-t._zero_point))).astype(
        np.float32
    )


def _plain(levels: np.ndarray, t: Any) -> np.ndarray:
    return (levels.astype(np.int64) - t._zero_point).astype(np.float32) * np.float32(t._scale)


def _in_order_of(like: np.ndarray, flat: np.ndarray) -> np.ndarray:
    """Elements in memory order, in the shape and the order of dimensions of `like`."""
    out = np.empty_like(like, dtype=flat.dtype)
    if out.ndim and out.flags.c_contiguous:
        return flat.reshape(like.shape)
    order = np.argsort([-s for s in out.strides], kind="stable")
    out.transpose(order)[...] = flat.reshape([out.shape[d] for d in order])
    return out


def _check_pair(qa: Any, qb: Any, name: str) -> None:
    for t in (qa, qb):
        check_quantized(t, name)
    if qa.dtype is not qb.dtype:
        raise RuntimeError(f"quantized::{name}: Both inputs must have same dtype; {qa.dtype} and {qb.dtype}")


@recorded
def add(qa: Any, qb: Any, scale: float, zero_point: int) -> Any:
    """a + b as levels. Shape: broadcast (*) -> (*)"""
    _check_pair(qa, qb, "add")
    return computed(np.add, (qa, qb), scale, zero_point)


@recorded
def add_relu(qa: Any, qb: Any, scale: float, zero_point: int) -> Any:
    """max(a + b, 0) as levels. Shape: broadcast (*) -> (*)"""
    _check_pair(qa, qb, "add_relu")
    return computed(lambda a, b: np.maximum(a + b, np.float32(0)), (qa, qb), scale, zero_point)


@recorded
def mul(qa: Any, qb: Any, scale: float, zero_point: int) -> Any:
    """a b as levels. Shape: broadcast (*) -> (*)"""
    return _multiplied(qa, qb, scale, zero_point, "mul", False)


@recorded
def mul_relu(qa: Any, qb: Any, scale: float, zero_point: int) -> Any:
    """max(a b, 0) as levels. Shape: broadcast (*) -> (*)"""
    return _multiplied(qa, qb, scale, zero_point, "mul_relu", True)


def _multiplied(qa: Any, qb: Any, scale: float, zero_point: int, name: str, is_cut: bool) -> Any:
    _check_pair(qa, qb, name)
    a, b = (t._levels.astype(np.int32) - np.int32(t._zero_point) for t in (qa, qb))
    factor = np.float32(np.float32(qa._scale) * np.float32(qb._scale)) * (np.float32(1) / np.float32(scale))
    levels, limits = np.rint((a * b).astype(np.float32) * factor) + zero_point, np.iinfo(qa._levels.dtype)
    low = max(limits.min, zero_point) if is_cut else limits.min
    return assemble(np.clip(levels, low, limits.max).astype(qa._levels.dtype), qa.dtype, float(scale), int(zero_point))


@recorded
def matmul(qa: Any, qb: Any, scale: float, zero_point: int) -> Any:
    """a @ b as levels, for tensors with as many dimensions each."""
    check_quantized(qa, "matmul")
    check_quantized(qb, "matmul")
    a, b = (t._levels.astype(np.float64) - t._zero_point for t in (qa, qb))
    factor = np.float32(np.float32(qa._scale) * np.float32(qb._scale))
    return rounded((a @ b).astype(np.float32) * factor, scale, zero_point, qa.dtype)


@recorded
def add_scalar(qa: Any, b: float) -> Any:
    """a + b: the zero point moves, and where it would be no level, the scale widens."""
    check_quantized(qa, "add_scalar")
    limits, scale, zero = np.iinfo(qa._levels.dtype), qa._scale, qa._zero_point
    moved = zero - round(b / np.float32(scale))
    if moved < limits.min:
        new, at = (limits.max - float(moved)) / (limits.max - float(limits.min)) * scale, limits.min
    elif moved > limits.max:
        new, at = (float(moved) - limits.min) / (limits.max - float(limits.min)) * scale, limits.max
    else:
        return assemble(qa._levels.copy(order="K"), qa.dtype, scale, moved)
    factor = np.float32(np.float32(scale) / np.float32(new))
    levels = np.rint((qa._levels.astype(np.int64) - moved).astype(np.float32) * factor) + at
    return assemble(np.clip(levels, limits.min, limits.max).astype(qa._levels.dtype), qa.dtype, float(new), int(at))


@recorded
def mul_scalar(qa: Any, b: float) -> Any:
    """a b: the scale changes, and for b < 0 levels are turned around."""
    check_quantized(qa, "mul_scalar")
    limits, levels = np.iinfo(qa._levels.dtype), qa._levels
    if b == 0:
        return assemble(np.zeros_like(levels), qa.dtype, 1.0, 0)
    if b > 0:
        return assemble(levels.copy(order="K"), qa.dtype, b * qa._scale, qa._zero_point)
    both = int(limits.max) + int(limits.min)
    turned = (both - levels.astype(np.int64)).astype(levels.dtype)
    return assemble(turned, qa.dtype, -b * qa._scale, both - qa._zero_point)


@recorded
def add_scalar_relu(qa: Any, b: float) -> Any:
    """max(a + b, 0)"""
    return ops.relu(add_scalar(qa, b))


@recorded
def mul_scalar_relu(qa: Any, b: float) -> Any:
    """max(a b, 0)"""
    return ops.relu(mul_scalar(qa, b))


@recorded
def cat(qx: Any, dim: int, scale: float | None = None, zero_point: int | None = None) -> Any:
    """The tensors one after the other in dimension `dim`, by default with the first one's scale and zero point."""
    return _joined(qx, dim, scale, zero_point, "cat")


@recorded
def cat_relu(qx: Any, dim: int, scale: float | None = None, zero_point: int | None = None) -> Any:
    """`cat` without what is below zero."""
    return ops.relu(_joined(qx, dim, scale, zero_point, "cat_relu"))


def _joined(qx: Any, dim: int, scale: Any, zero_point: Any, name: str) -> Any:
    for t in qx:
        check_quantized(t, name)
    first = qx[0]
    scale = first._scale if scale is None else float(scale)
    zero_point = first._zero_point if zero_point is None else int(zero_point)
    same = [
        t
        if (t._scale, t._zero_point) == (scale, zero_point)
        else assemble(rounded_levels(t._values(), scale, zero_point, t._levels.dtype), first.dtype, scale, zero_point)
        for t in qx
    ]
    return ops.cat(same, dim)


# ---------------------------------------------------------------------------------------------- functions of one tensor


def _of_values(qx: Any, function: Any, scale: Any, zero_point: Any, name: str) -> Any:
    """A function of a float32 tensor of values, as levels."""
    check_quantized(qx, name)
    with no_grad():
        out = function(wrap(qx._values()))
    return rounded(out._array, scale, zero_point, qx.dtype)


def of_each(qx: Any, function: Any, scale: Any, zero_point: Any, name: str) -> Any:
    """`_of_values` for a pointwise function, with the roundings of torch's loops."""
    check_quantized(qx, name)
    with no_grad():
        return computed(lambda x: function(wrap(x))._array, (qx,), scale, zero_point)


@recorded
def relu6(qx: Any, inplace: bool = False) -> Any:
    """min(max(x, 0), 6)"""
    check_quantized(qx, "relu6")
    out = ops.hardtanh(qx, 0.0, 6.0)
    return qx.copy_(out) if inplace else out


@recorded
def leaky_relu(qx: Any, negative_slope: float, inplace: bool, output_scale: float, output_zero_point: int) -> Any:
    """x above zero, negative_slope x below."""
    return of_each(qx, lambda x: ops.leaky_relu(x, negative_slope), output_scale, output_zero_point, "leaky_relu")


@recorded
def hardswish(input: Any, output_scale: float, output_zero_point: int) -> Any:
    """x min(max(x + 3, 0), 6) / 6"""
    return of_each(input, ops.hardswish, output_scale, output_zero_point, "hardswish")


@recorded
def elu(
    self: Any, output_scale: float, output_zero_point: int, alpha: float = 1.0, scale: float = 1.0, input_scale: float = 1.0
) -> Any:  # fmt: skip
    """scale x above zero, scale alpha (exp(input_scale x) - 1) below."""

    def function(x: Any) -> Any:
        return ops.where(x <= 0, (x * input_scale).expm1() * (alpha * scale), x * scale)

    return of_each(self, function, output_scale, output_zero_point, "elu")


@recorded
def sigmoid(qx: Any, output_scale: float, output_zero_point: int) -> Any:
    """1 / (1 + exp(-x))"""
    return of_each(qx, ops.sigmoid, output_scale, output_zero_point, "sigmoid")


def tanh(qx: Any, output_scale: float, output_zero_point: int) -> Any:
    """The hyperbolic tangent."""
    return of_each(qx, ops.tanh, output_scale, output_zero_point, "tanh")


@recorded
def softmax(qx: Any, dim: int, output_scale: float, output_zero_point: int) -> Any:
    """exp(x) / sum exp(x) over dimension `dim`."""
    return _of_values(qx, lambda x: ops.softmax(x, dim), output_scale, output_zero_point, "softmax")


@recorded
def prelu(qx: Any, weight: Any, output_scale: float, output_zero_point: int) -> Any:
    """x above zero, weight x below; weight has one element or one for each channel, quantized or not."""
    weight = weight.dequantize() if isinstance(weight, QuantizedTensor) else weight
    return _of_values(qx, lambda x: ops.prelu(x, weight), output_scale, output_zero_point, "prelu")


# ---------------------------------------------------------------------------------------------- normalization


@recorded
def batch_norm(
    qx: Any, weight: Tensor | None, bias: Tensor | None, mean: Tensor, var: Tensor, eps: float, output_scale: Any,
    output_zero_point: Any,
) -> Any:  # fmt: skip
    """(x - mean) / sqrt(var + eps) weight + bias by channel, with the statistics of training.

    Shape: (N, C, *), the others (C,) -> (N, C, *)
    """
    return _normalized(qx, weight, bias, mean, var, eps, output_scale, output_zero_point, False)


@recorded
def batch_norm_relu(
    qx: Any, weight: Tensor | None, bias: Tensor | None, mean: Tensor, var: Tensor, eps: float, output_scale: Any,
    output_zero_point: Any,
) -> Any:  # fmt: skip
    """`batch_norm` without what is below zero."""
    return _normalized(qx, weight, bias, mean, var, eps, output_scale, output_zero_point, True)


def _normalized(qx, weight, bias, mean, var, eps, scale, zero_point, is_cut) -> Any:  # type: ignore[no-untyped-def]
    check_quantized(qx, "batch_norm")
    arrays: Any = [None if t is None else np.asarray(t.detach()._array, np.float32) for t in (weight, bias, mean, var)]
    w, b, m, v = arrays
    inverse = np.float32(1) / np.sqrt(v + np.float32(eps))
    alpha = inverse if w is None else inverse * w
    beta = -m * alpha if b is None else b - m * alpha
    in_scale, out_scale = np.float32(qx._scale), np.float32(scale)
    sizes = (1, -1) + (1,) * (qx.dim() - 2)
    alpha, beta = ((alpha * in_scale) / out_scale).reshape(sizes), (beta / out_scale).reshape(sizes)
    centered = (qx._levels.astype(np.int32) - qx._zero_point).astype(np.float32)
    values = (centered.astype(np.float64) * alpha + beta).astype(np.float32)  # a fused multiply-add
    if is_cut:
        values = np.maximum(values, np.float32(0))
    limits, zero_point = np.iinfo(qx._levels.dtype), int(zero_point)
    levels = np.clip(np.rint(values) + zero_point, limits.min, limits.max).astype(qx._levels.dtype)
    levels = np.moveaxis(np.ascontiguousarray(np.moveaxis(levels, 1, -1)), -1, 1)
    return assemble(levels, qx.dtype, float(scale), zero_point)


@recorded
def layer_norm(
    input: Any, normalized_shape: Any, weight: Any, bias: Any, eps: float, output_scale: float, output_zero_point: int
) -> Any:  # fmt: skip
    """Layer normalization of values. See `nn.functional.layer_norm`."""
    return _of_values(
        input, lambda x: ops.layer_norm(x, tuple(normalized_shape), weight, bias, eps), output_scale, output_zero_point,
        "layer_norm",
    )  # fmt: skip


@recorded
def group_norm(
    qx: Any, num_groups: int, weight: Any, bias: Any, eps: float, output_scale: float, output_zero_point: int
) -> Any:  # fmt: skip
    """Normalization of groups of channels. See `nn.functional.group_norm`."""
    return _of_values(
        qx, lambda x: ops.group_norm(x, num_groups, weight, bias, eps), output_scale, output_zero_point, "group_norm"
    )


@recorded
def instance_norm(
    input: Any, weight: Any, bias: Any, eps: float, output_scale: float, output_zero_point: int
) -> Any:  # fmt: skip
    """Normalization of each channel of each element of a batch. See `nn.functional.instance_norm`."""
    check_quantized(input, "instance_norm")
    return group_norm(input, input.size(1), weight, bias, eps, output_scale, output_zero_point)
