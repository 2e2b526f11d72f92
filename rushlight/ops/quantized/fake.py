"""Fake quantization: float values rounded to those that levels can have, with the gradient of the identity.

A level is round(input / scale) + zero_point (with a zero point that is no integer, it is added before rounding); one outside of quant_min..quant_max becomes the nearest of these, and its
gradient is 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.dispatch.op import primitive
from ...core.tensor import dtype as dtypes
from ...core.tensor.size import wrap_dim
from ...core.tensor.tensor import Tensor, type_word
from ..pointwise.building_blocks import widened
from ..pointwise.checks import not_implemented, refuse_history

__all__ = ["fake_quantize_per_channel_affine", "fake_quantize_per_tensor_affine"]


def _levels(x: np.ndarray, scale: Any, zero_point: Any) -> np.ndarray:
    """The levels before they are kept in range, as floats; the reciprocal of the scale is rounded to float32."""
    with np.errstate(all="ignore"):
        scaled = x * (np.float32(1) / scale).astype(x.dtype)
        return np.rint(scaled + zero_point) if _is_float(zero_point) else np.rint(scaled) + zero_point


def _is_float(zero_point: Any) -> bool:
    return isinstance(zero_point, np.ndarray) and zero_point.dtype.kind == "f"


@widened
def _rounded(x: np.ndarray, scale: Any, zero_point: Any, quant_min: int, quant_max: int) -> np.ndarray:
    kept = np.fmin(np.fmax(_levels(x, scale, zero_point), quant_min), quant_max)
    return np.asarray((kept - zero_point) * scale, x.dtype)


def _inside(x: np.ndarray, scale: Any, zero_point: Any, quant_min: int, quant_max: int) -> np.ndarray:
    levels = _levels(x, scale, zero_point)
    return (levels >= quant_min) & (levels <= quant_max)


@primitive(public=False, name="fake_quantize", node="FakeQuantizePerTensorAffineCachemaskBackward0")
def _fake_quantize(input, /, scale, zero_point, quant_min, quant_max):
    return _rounded(input, np.float32(scale), zero_point, quant_min, quant_max)


@_fake_quantize.vjp
def _(g, input, scale, zero_point, quant_min, quant_max):
    return _where_inside(g, input, scale=scale, zero_point=zero_point, quant_min=quant_min, quant_max=quant_max)


@primitive(public=False, name="fake_quantize_gradient", node="FakeQuantizePerTensorAffineCachemaskBackward0")
def _where_inside(grad, input, /, scale, zero_point, quant_min, quant_max):
    x = input.astype(np.float32) if input.dtype.itemsize == 2 else input
    return grad * _inside(x, np.float32(scale), zero_point, quant_min, quant_max)


@primitive(public=False, name="fake_quantize_channels", node="FakeQuantizePerChannelAffineCachemaskBackward0")
def _fake_quantize_channels(input, scale, zero_point, /, quant_min, quant_max):
    return _rounded(input, scale, zero_point, quant_min, quant_max)


@_fake_quantize_channels.vjp
def _(g, input, scale, zero_point, quant_min, quant_max):
    inside = _channels_inside(input, scale, zero_point, quant_min=quant_min, quant_max=quant_max)
    return g * inside, None, None


@primitive(public=False, name="fake_quantize_channels_inside", differentiable=False)
def _channels_inside(input, scale, zero_point, /, quant_min, quant_max):
    x = input.astype(np.float32) if input.dtype.itemsize == 2 else input
    return _inside(x, scale, zero_point, quant_min, quant_max)


def _check(input: Tensor, zero_points: Any, quant_min: int, quant_max: int) -> None:
    if quant_min > quant_max:
        raise RuntimeError("`quant_min` should be less than or         equal to `quant_max`.")
    if not np.all((np.asarray(zero_points) >= quant_min) & (np.asarray(zero_points) <= quant_max)):
        raise RuntimeError("`zero_point` must be between `quant_min` and `quant_max`.")
    if not input.dtype.is_floating_point:
        raise not_implemented("fake_quantize_tensor_cachemask_kernel_type_handling", input._array.dtype)


def fake_quantize_per_tensor_affine(
    input: Tensor, scale: Any, zero_point: Any, quant_min: int, quant_max: int
) -> Tensor:
    """The values that quantization with one scale and zero point leaves, in the input's type.

    out = (clamp(round(input / scale) + zero_point, quant_min, quant_max) - zero_point) scale

    Shape: (*), scale and zero_point a number or one element -> (*)
    Raises:
        RuntimeError: the zero point is not a level, as in `fake_quantize_per_tensor_affine(ones(2), 0.1, 20, 0, 10)`.
        RuntimeError: the limits are in the wrong order, as in `fake_quantize_per_tensor_affine(ones(2), 0.1, 0, 1, 0)`.

    >>> fake_quantize_per_tensor_affine(tensor([-9.0, 0.26, 9.0]), 0.1, 0, -10, 10)
    tensor([-1.0000,  0.3000,  1.0000])
    """
    given = {name: t for name, t in (("scale", scale), ("zero_point", zero_point)) if isinstance(t, Tensor)}
    refuse_history("_fake_quantize_per_tensor_affine_cachemask_tensor_qparams", **given)
    scale, zero_point = (v.item() if isinstance(v, Tensor) else v for v in (scale, zero_point))
    zero_point = int(zero_point)
    _check(input, zero_point, quant_min, quant_max)
    return _fake_quantize(input, scale=float(scale), zero_point=zero_point, quant_min=quant_min, quant_max=quant_max)


def fake_quantize_per_channel_affine(
    input: Tensor, scale: Tensor, zero_point: Tensor, axis: int, quant_min: int, quant_max: int
) -> Tensor:
    """`fake_quantize_per_tensor_affine` with a scale and a zero point for each index of one dimension.

    Args:
        axis: that dimension.
    Shape: (*, C, *), scale and zero_point (C) -> (*, C, *)
    Raises:
        RuntimeError: sizes that do not fit, as in
            `fake_quantize_per_channel_affine(ones(2, 3), ones(2), zeros(2, dtype=int32), 1, 0, 10)`.

    >>> fake_quantize_per_channel_affine(ones(2, 1), tensor([0.3, 0.7]), tensor([0, 1], dtype=int32), 0, -10, 10)
    tensor([[0.9000],
            [0.7000]])
    """
    if scale.dtype not in (dtypes.float32, dtypes.bfloat16):
        raise RuntimeError(f"Scale must be Float or BFloat16, found {type_word(scale.dtype)}")
    if zero_point.dtype not in (dtypes.int32, dtypes.float32, dtypes.float16):
        raise RuntimeError(f"Zero-point must be Int32, Float or Half, found {type_word(zero_point.dtype)}")
    refuse_history("fake_quantize_per_channel_affine_cachemask", scale=scale, zero_point=zero_point)
    axis = wrap_dim(axis, input.dim())
    if not scale.shape == zero_point.shape == input.shape[axis : axis + 1]:
        raise RuntimeError("dimensions of scale and zero-point are not consistent with input tensor")
    _check(input, zero_point._array, quant_min, quant_max)
    sizes = [1] * input.dim()
    sizes[axis] = -1
    scale, zero_point = scale.detach().float().view(sizes), zero_point.detach().view(sizes)  # type: ignore[attr-defined]
    zero_point = zero_point.float() if zero_point.dtype is dtypes.float16 else zero_point  # type: ignore[attr-defined]
    return _fake_quantize_channels(input, scale, zero_point, quant_min=quant_min, quant_max=quant_max)
