"""Products with a quantized weight of activations that are quantized in each call ("dynamic"), with FBGEMM's numbers.

A call finds the least and the greatest activation, chooses a scale and a zero point by them, rounds the activations to
levels 0..127, multiplies whole numbers, which is exact, and scales the sums: out = sum x_scale w_scale + bias, rounded
once as by a fused multiply-add.
"""

from __future__ import annotations

import warnings
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ...autograd.function import Function
from ...backend.onednn.integer_matmul import integer_matmul
from ...core.dispatch.mode import is_grad_enabled
from ...core.tensor import dtype as dtypes
from ...core.tensor.tensor import Tensor, type_word, wrap
from ...ops.quantized.channels import ChannelQuantizedTensor
from ...ops.quantized.recorded import program_tracer
from ...ops.quantized.tensor import QuantizedTensor, array_of, rounded_levels

__all__ = ["PackedLinear", "activation_parameters", "linear_dynamic"]

_LEVELS = np.dtype(np.uint8)
_REDUCED, _FULL = (
    127,
    255,
)  # levels; 127: sums of two products fit into 16 bits, which processors without VNNI add them in
_SMALLEST_SCALE = np.float32(6.1e-5)
_EXACT_TERMS = 1024  # products below 2**14, whose sum float32 holds
_EXACT_SUM = 1 << 24  # up to which whole numbers are float32
_CHUNK = (
    1 << 15
)  # elements: float64 temporaries stay in the cache (with all of (64, 3072) at once 245 us instead of 163)


class PackedLinear:
    """A weight of levels, qint8 (out_features, in_features), and a float32 bias, or None, as products need them."""

    def __init__(self, weight: Any, bias: Tensor | None):
        if not isinstance(weight, QuantizedTensor) or weight.dtype is not dtypes.qint8:
            raise RuntimeError(f"expected scalar type QInt8 but found {type_word(weight.dtype)}")
        if weight.dim() != 2:
            raise RuntimeError("The weight tensor for quantized::linear_prepack (fbgemm) should be 2-dimensional.")
        if bias is not None and bias.dim() != 1:
            raise RuntimeError("bias should be a vector (1D Tensor)")
        if bias is not None and bias.numel() != weight.size(0):
            raise RuntimeError(f"bias should have N elements: {weight.size(0)}")
        self.weight, self.bias = weight, bias

    # made at the first product: the levels of an old file come at its end

    @cached_property
    def _levels(self) -> np.ndarray:
        return np.ascontiguousarray(self.weight._levels)

    @cached_property
    def scales(self) -> Any:
        """The weight's scale, or those of its rows (K,), as float32."""
        weight = self.weight
        if not isinstance(weight, ChannelQuantizedTensor):
            return np.float32(weight._scale)
        if weight._axis or weight._zero_points.any():
            raise NotImplementedError("weights of products have scales by rows, and 0 as their zero points")
        return weight._scales.astype(np.float32)

    @cached_property
    def _sums(self) -> np.ndarray:
        return self._levels.sum(1, dtype=np.int32)

    @cached_property
    def has_exact_sums(self) -> bool:
        """Whether all sums of products are float32 numbers as they are."""
        most = np.abs(self._levels, dtype=np.int32).sum(1).max(initial=0)
        return not self.weight._zero_point and bool(most * (_FULL + 1) <= _EXACT_SUM)

    def unpack(self) -> tuple[QuantizedTensor, Tensor | None]:
        """(weight, bias)."""
        return self.weight, self.bias

    def __reduce__(self):
        return PackedLinear, (self.weight, self.bias)

    def integer_product(self, levels: np.ndarray, zero_point: int) -> np.ndarray:
        """(levels - zero_point) (weight - its zero point)^T as int32, which wraps around as the processor's sums do."""
        weight, other = self._levels, self.weight._zero_point
        out = integer_matmul(levels, weight) if levels.size and weight.size else NotImplemented
        if out is NotImplemented:
            out = _by_floats(levels, weight)
        if zero_point:
            out -= self._sums * np.int32(zero_point)
        if other:
            rows = levels.sum(1, dtype=np.int32) - np.int32(levels.shape[1] * zero_point)
            out -= rows[:, None] * np.int32(other)
        return out


def _by_floats(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """x @ w^T as int32 by products of float32, of few enough terms to be exact."""
    out = np.zeros((len(x), len(w)), np.int32)
    for k in range(0, x.shape[1], _EXACT_TERMS):
        part = x[:, k : k + _EXACT_TERMS].astype(np.float32) @ w[:, k : k + _EXACT_TERMS].astype(np.float32).T
        out += part.astype(np.int32)
    return out


class _Parameters(NamedTuple):
    scale: float
    zero_point: int


def activation_parameters(least: Any, greatest: Any, top: int = _REDUCED) -> _Parameters:
    """The scale and the zero point by which levels 0..top hold all values from `least` to `greatest`, and zero.

    Raises:
        RuntimeError: one of them is not a number, as in `activation_parameters(float("nan"), 1.0)`.

    >>> activation_parameters(-64.0, 63.0)
    _Parameters(scale=1.0, zero_point=64)
    """
    low, high = min(np.float32(least), np.float32(0)), max(np.float32(greatest), np.float32(0))
    if not low <= high or np.isnan(least) or np.isnan(greatest):
        raise RuntimeError("In ChooseQuantizationParams, min should be less than or equal to max")
    if np.isinf(low) or np.isinf(high):  # all results are infinite or not numbers
        return _Parameters(np.inf, 0)
    scale = (float(high) - float(low)) / top
    with np.errstate(over="ignore", divide="ignore"):
        if np.isinf(np.float32(1) / np.float32(scale)):
            scale = 0.1
    if scale < _SMALLEST_SCALE:
        low, high, scale = _widened(low, high, scale, top)
    return _Parameters(scale, _zero_point(float(low) / scale, float(high) / scale, top))


def _widened(low: Any, high: Any, scale: float, top: int) -> tuple[Any, Any, float]:
    """Limits for the smallest scale that there may be."""
    width = _SMALLEST_SCALE * np.float32(top)
    if low == 0:
        high = width
    elif high == 0:
        low = -width
    else:
        factor = _SMALLEST_SCALE / np.float32(scale)
        low, high = low * factor, high * factor
    return low, high, float(_SMALLEST_SCALE)


def _zero_point(low: float, high: float, top: int) -> int:
    """The level of zero, from the limit (in levels) that is nearer to it and so more exact."""
    at = -low if abs(low) < top + abs(high) else top - high
    return round(min(max(at, 0), top))


def linear_dynamic(input: Tensor, packed: PackedLinear, reduce_range: bool = True) -> Tensor:
    """input @ weight^T + bias for a quantized weight, with the input rounded to 7 bits, or to 8 without `reduce_range`.

    Shape: input (*, in_features) float32 -> (*, out_features)
    """
    tracer = program_tracer()
    if tracer is not None:
        return tracer.operator("quantized::linear_dynamic", input, packed, reduce_range)
    top = _REDUCED if reduce_range else _FULL
    if input.requires_grad and is_grad_enabled():
        return _WithoutDerivative.apply(input, packed, top)
    return _linear(input, packed, top)


def _linear(input: Tensor, packed: PackedLinear, top: int) -> Tensor:
    n, k = packed.weight._levels.shape
    if input.dim() < 2:
        raise RuntimeError("The dimension of input tensor should be larger than or equal to 2")
    if input.dtype is not dtypes.float32:
        raise RuntimeError(f"expected scalar type Float but found {type_word(input.dtype)}")
    if input.size(-1) != k:
        raise RuntimeError(f"The number of rows in the packB should be equal to K: {input.size(-1)}")
    x = array_of(input, "quantized::linear_dynamic")
    limits = (x.min(), x.max()) if x.size else (0.0, 0.0)
    scale, zero_point = activation_parameters(*limits, top)
    sums = packed.integer_product(_activation_levels(x.reshape(-1, k), scale, zero_point, top), zero_point)
    factor = np.float32(scale) * packed.scales
    bias = None if packed.bias is None else packed.bias._array
    return wrap(_scaled(sums, factor, bias, packed.has_exact_sums).reshape(*x.shape[:-1], n))


def _activation_levels(x: np.ndarray, scale: float, zero_point: int, top: int) -> np.ndarray:
    """What `rounded_levels` gives; with a finite scale no value is more than one level beyond the top, and none is missing."""
    if np.isinf(scale) or top == _FULL:
        return rounded_levels(x, scale, zero_point, _LEVELS)
    out, inverse = np.empty(x.shape, _LEVELS), np.float64(np.float32(1) / np.float32(scale))
    for rows in _chunks(x.shape):
        exact = x[rows].astype(np.float64)
        exact *= inverse
        exact += zero_point
        levels = exact.astype(np.float32)
        np.rint(levels, out=levels)
        np.maximum(levels, 0, out=levels)
        out[rows] = levels
    return out


def _scaled(sums: np.ndarray, factor: Any, bias: np.ndarray | None, are_exact: bool) -> np.ndarray:
    """sums factor + bias as float32, rounded once. are_exact: the sums are float32 numbers as they are."""
    with np.errstate(all="ignore"):
        if bias is None:
            return sums.astype(np.float32) * factor
        out, bias, factor = np.empty(sums.shape, np.float32), bias.astype(np.float64), np.asarray(factor, np.float64)
        for rows in _chunks(sums.shape):
            exact = (sums[rows] if are_exact else sums[rows].astype(np.float32)).astype(np.float64)
            exact *= factor
            exact += bias
            out[rows] = exact
    return out


def _chunks(shape: tuple[int, ...]) -> list[slice]:
    """Spans of rows of a matrix."""
    step = max(1, _CHUNK // max(1, shape[1]))
    return [slice(a, a + step) for a in range(0, shape[0], step)]


_NO_DERIVATIVE = (
    "quantized::linear_dynamic: an autograd kernel was not registered to the Autograd key(s) but we are trying to backprop "
    "through it. This may lead to silently incorrect behavior. This behavior is deprecated and will be removed in a future "
    "version of PyTorch. Rounding to levels has no derivative: the input gets no gradient from here."
)


class _WithoutDerivative(Function):
    """The product in a recorded computation. As in torch, backward warns and gives the input no gradient."""

    @staticmethod
    def forward(ctx: Any, input: Tensor, packed: PackedLinear, top: int) -> Tensor:
        return _linear(input, packed, top)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:  # type: ignore[override]
        warnings.warn(_NO_DERIVATIVE, UserWarning, stacklevel=2)
        return None, None, None
