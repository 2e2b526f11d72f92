"""Linear layers and convolutions of quantized tensors: whole numbers are multiplied, sums rounded to levels once.

The sums are exact, and are rounded as one of torch's engines does (see `ops/quantized/engine.py`):

    fbgemm, x86    round((sum + bias / (x_scale w_scale)) (x_scale w_scale / scale)) + zero_point
    onednn         round((sum x_scale w_scale + bias) (1 / scale) + zero_point)
    qnnpack        round((sum + round(bias / (x_scale w_scale))) (x_scale w_scale / scale)) + zero_point

all in float32. On processors without VNNI instructions torch's sums may overflow for levels above 127 (of 255), for which
its default observers leave the upper half unused; these do not.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....core.dispatch.mode import no_grad
from ....core.tensor import dtype as dtypes
from ....core.tensor.tensor import Tensor, type_word, wrap
from ....ops.quantized import engine
from ....ops.quantized.channels import ChannelQuantizedTensor
from ....ops.quantized.functions import check_quantized
from ....ops.quantized.recorded import program_tracer
from ....ops.quantized.tensor import QuantizedTensor, assemble
from ... import functional as F
from ..products import PackedLinear

__all__ = ["PackedConv", "conv", "linear", "requantize"]

_EXACT = 1 << 24  # up to which whole numbers are float32


class PackedConv:
    """A weight of levels, qint8 (K, C / groups, *), a float32 bias (K,) or None, and where the kernel moves."""

    def __init__(
        self, weight: Any, bias: Tensor | None, stride: Any, padding: Any, dilation: Any, groups: int,
        output_padding: Any = None,
    ) -> None:  # fmt: skip
        """output_padding: of a transposed convolution, whose weight is (C, K / groups, *); None for others."""
        if not isinstance(weight, QuantizedTensor) or weight.dtype is not dtypes.qint8:
            raise RuntimeError(f"expected scalar type QInt8 but found {type_word(weight.dtype)}")
        self.weight, self.bias = weight, bias
        self.stride, self.padding, self.dilation, self.groups = tuple(stride), tuple(padding), tuple(dilation), groups
        self.output_padding = None if output_padding is None else tuple(output_padding)
        self._centered: np.ndarray | None = None

    def unpack(self) -> tuple[Any, Tensor | None]:
        """(weight, bias)."""
        return self.weight, self.bias

    def in_two_dimensions(self) -> PackedConv:
        """The same convolution with a height of 1, as torch packs those of one dimension."""
        if len(self.stride) != 1:
            return self
        around = None if self.output_padding is None else (0, *self.output_padding)
        moves = (1, *self.stride), (0, *self.padding), (1, *self.dilation)
        return PackedConv(
            self.weight._like(np.expand_dims(self.weight._levels, 2)), self.bias, *moves, self.groups, around
        )

    def in_one_dimension(self) -> PackedConv:
        """The same convolution without its height of 1."""
        if len(self.stride) != 2 or self.weight.size(2) != 1:
            return self
        around = None if self.output_padding is None else self.output_padding[1:]
        moves = self.stride[1:], self.padding[1:], self.dilation[1:]
        return PackedConv(self.weight._like(np.squeeze(self.weight._levels, 2)), self.bias, *moves, self.groups, around)

    def centered(self) -> np.ndarray:
        """Levels less their zero points, float32."""
        if self._centered is None:
            self._centered = _centered(self.weight)
        return self._centered

    def __reduce__(self) -> Any:
        parts = (self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups, self.output_padding)
        return PackedConv, parts


def _centered(weight: Any) -> np.ndarray:
    zero_points = weight._zero_points if isinstance(weight, ChannelQuantizedTensor) else weight._zero_point
    if isinstance(weight, ChannelQuantizedTensor):
        zero_points = weight._along(zero_points)
    return np.ascontiguousarray(weight._levels.astype(np.float32) - np.asarray(zero_points, np.float32))


def _scales(weight: Any, axis: int) -> np.ndarray:
    """The scales of a weight, float32 (1,) or (K,)."""
    if not isinstance(weight, ChannelQuantizedTensor):
        return np.full(1, weight._scale, np.float32)
    if weight._axis != axis:
        raise RuntimeError(f"the weight of a quantized product has scales along dimension {axis}, not {weight._axis}")
    return weight._scales.astype(np.float32)


def requantize(
    sums: np.ndarray, x_scale: float, w_scales: np.ndarray, bias: np.ndarray | None, scale: float, zero_point: int,
    dtype: Any, is_cut: bool,
) -> np.ndarray:  # fmt: skip
    """Exact sums of products (*, K) as levels. is_cut: without what is below zero."""
    kind = np.dtype(np.int8 if dtype is dtypes.qint8 else np.uint8)
    limits = np.iinfo(kind)
    factor, out_scale = np.float32(x_scale) * w_scales, np.float32(scale)
    values = np.asarray(sums, np.float32)
    which = engine.current()
    if which == "onednn":
        values = values * factor
        if bias is not None:
            values += bias
        values *= np.float32(1) / out_scale
        values += np.float32(zero_point)
        np.rint(values, out=values)
    else:
        if bias is not None:
            added = bias / factor
            values = values + (np.rint(added) if which == "qnnpack" else added)
        values = values * (factor / out_scale)
        np.rint(values, out=values)
        values += np.float32(zero_point)
    low = max(limits.min, zero_point) if is_cut else limits.min
    return np.clip(values, low, limits.max).astype(kind)


def _check(input: Any, name: str) -> None:
    check_quantized(input, name)
    if input.dtype is not dtypes.quint8 and not (input.dtype is dtypes.qint8 and engine.current() != "fbgemm"):
        raise RuntimeError(f"{name}: expected scalar type QUInt8 but found {type_word(input.dtype)}")


def linear(input: Any, packed: PackedLinear, scale: float, zero_point: int, is_cut: bool = False) -> Any:
    """input weight^T + bias as levels. is_cut: without what is below zero.

    Shape: input (*, in_features) -> (*, out_features)
    """
    tracer = program_tracer()
    if tracer is not None:
        return tracer.operator(
            "quantized::linear_relu" if is_cut else "quantized::linear", input, packed, scale, zero_point
        )
    _check(input, "quantized::linear")
    rows, columns = packed.weight._levels.shape
    if input.size(-1) != columns:
        raise RuntimeError(f"The number of rows in the packB should be equal to K: {input.size(-1)}")
    levels = np.ascontiguousarray(input._levels).reshape(-1, columns)
    w_scales = _scales(packed.weight, 0)
    if input.dtype is dtypes.quint8 and not isinstance(packed.weight, ChannelQuantizedTensor):
        sums = packed.integer_product(levels, input._zero_point)
    else:
        sums = _product(levels.astype(np.float32) - np.float32(input._zero_point), _centered(packed.weight))
    bias = None if packed.bias is None else packed.bias._array
    out = requantize(sums, input._scale, w_scales, bias, scale, zero_point, input.dtype, is_cut)
    return assemble(out.reshape(*input.shape[:-1], rows), input.dtype, scale, zero_point)


def _product(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """x w^T of whole numbers, exact."""
    if _is_exact(x, w, w.shape[0]):
        return x @ w.T
    return x.astype(np.float64) @ w.T.astype(np.float64)


def _is_exact(x: np.ndarray, w: np.ndarray, rows: int) -> bool:
    """Whether float32 holds each sum of products with a row of the weight."""
    most = np.abs(w).reshape(rows, -1).sum(1, dtype=np.float64).max(initial=0) if rows else 0
    return bool(most * max(float(x.max(initial=0)), -float(x.min(initial=0))) <= _EXACT)


_FORWARD = {3: F.conv1d, 4: F.conv2d, 5: F.conv3d}
_TRANSPOSED = {3: F.conv_transpose1d, 4: F.conv_transpose2d, 5: F.conv_transpose3d}


def conv(input: Any, packed: PackedConv, scale: float, zero_point: int, is_cut: bool = False) -> Any:
    """A convolution as levels, channels last in memory. is_cut: without what is below zero.

    Shape: input (N, C, *) -> (N, K, *)
    """
    kind = "_transpose" if packed.output_padding is not None else ""
    name = f"quantized::conv{kind}{input.dim() - 2}d{'_relu' if is_cut else ''}"
    tracer = program_tracer()
    if tracer is not None:
        return tracer.operator(name, input, packed, scale, zero_point)
    _check(input, "quantized::conv")
    if input.dim() == 3:
        packed = packed.in_one_dimension()
    w = packed.centered()
    x = input._levels.astype(np.float32) - np.float32(input._zero_point)
    is_transposed = packed.output_padding is not None
    kind = np.float32 if not is_transposed and _is_exact(x, w, len(w)) else np.float64
    run = (_TRANSPOSED if is_transposed else _FORWARD)[w.ndim]
    options: dict[str, Any] = {"output_padding": packed.output_padding} if is_transposed else {}
    with no_grad():
        out = run(
            wrap(x.astype(kind, copy=False)), wrap(w.astype(kind, copy=False)), None, packed.stride, packed.padding,
            dilation=packed.dilation, groups=packed.groups, **options,
        )  # fmt: skip
    sums = np.rint(np.ascontiguousarray(np.moveaxis(out._array, 1, -1)))  # whole already, but for other algorithms
    w_scales = _scales(packed.weight, 1 if is_transposed else 0)
    bias = None if packed.bias is None else packed.bias._array
    levels = requantize(sums, input._scale, w_scales, bias, scale, zero_point, input.dtype, is_cut)
    return assemble(np.moveaxis(levels, -1, 1), input.dtype, scale, zero_point)
