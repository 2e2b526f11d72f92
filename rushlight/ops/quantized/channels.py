"""Quantized tensors with a scale and a zero point for each index of one dimension, as weights have them."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from ...core.tensor import dtype as dtypes
from ...core.tensor.layout import per_channel_affine, per_channel_affine_float_qparams
from ...core.tensor.printing import _add_suffixes, _contents
from ...core.tensor.size import wrap_dim
from ...core.tensor.tensor import Tensor, type_word, wrap
from .recorded import recorded
from .tensor import LEVELS, QuantizedTensor, _Levels, _no_kernel, array_of, assemble, limits_of, rebuild, saved_levels

if TYPE_CHECKING:
    from ...core.dispatch.op import Op

__all__ = [
    "ChannelQuantizedTensor", "of_channels", "q_per_channel_axis", "q_per_channel_scales", "q_per_channel_zero_points",
    "quantize_per_channel",
]  # fmt: skip


class ChannelQuantizedTensor(QuantizedTensor):
    """A tensor of levels with a scale and a zero point for each index of a dimension. Made by `quantize_per_channel`."""

    __slots__ = ()
    _scales: np.ndarray
    _zero_points: np.ndarray
    _axis: int

    def q_per_channel_scales(self) -> Tensor:
        """The scales (C,), float64."""
        return wrap(self._scales.copy())

    def q_per_channel_zero_points(self) -> Tensor:
        """The zero points (C,), int64."""
        return wrap(self._zero_points.copy())

    def q_per_channel_axis(self) -> int:
        """The dimension of the channels."""
        return self._axis

    def q_scale(self) -> NoReturn:
        """Raises RuntimeError: there are several."""
        raise RuntimeError("Expected quantizer->qscheme() == kPerTensorAffine to be true, but got false.")

    q_zero_point = q_scale  # type: ignore[assignment]

    def qscheme(self) -> Any:
        """`per_channel_affine`, or with zero points that are no levels `per_channel_affine_float_qparams`."""
        return per_channel_affine_float_qparams if self._zero_points.dtype.kind == "f" else per_channel_affine

    def _along(self, numbers: np.ndarray) -> np.ndarray:
        sizes = [1] * self._levels.ndim
        sizes[self._axis] = -1
        return numbers.reshape(sizes)

    def _values(self) -> np.ndarray:
        centered = self._levels.astype(np.int32) - self._along(self._zero_points)
        return centered.astype(np.float32) * self._along(self._scales).astype(np.float32)

    def _round(self, values: np.ndarray) -> np.ndarray:
        return _rounded(values, self._along(self._scales), self._along(self._zero_points), self._levels.dtype)

    def _like(self, levels: np.ndarray) -> ChannelQuantizedTensor:
        return _assemble(levels, self._type, self._scales, self._zero_points, self._axis)

    def _by_channels(self, record: Op, tensors: tuple, metadata: tuple) -> Any:
        """A view after which the channels have a dimension of their own: of a channel, or one that adds a dimension."""
        if record.name == "select":
            dim, index = metadata
            if wrap_dim(dim, self.dim()) == self._axis:
                part = record.invoke(record.function, [wrap(self._levels)], metadata)._array
                return assemble(part, self._type, float(self._scales[index]), int(self._zero_points[index]))
        raise _no_kernel(record.name)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, int) and self._axis == 0:
            return assemble(self._levels[index], self._type, self._scales[index], int(self._zero_points[index]))
        raise _no_kernel("__getitem__")

    def equal(self, other: Tensor) -> bool:
        """Whether `other` is quantized alike and has the same levels."""
        return (
            isinstance(other, ChannelQuantizedTensor)
            and (self._type, self._axis) == (other._type, other._axis)
            and all(
                np.array_equal(a, b)
                for a, b in (
                    (self._scales, other._scales),
                    (self._zero_points, other._zero_points),
                    (self._levels, other._levels),
                )
            )
        )

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        indent = len("tensor(")
        suffixes = [
            f"size={tuple(self.shape)}", f"dtype={self._type!r}", f"quantization_scheme={self.qscheme()!r}",
            f"scale={wrap(self._scales)!r}", f"zero_point={wrap(self._zero_points)!r}", f"axis={self._axis}",
        ]  # fmt: skip
        contents = _contents(self._values(), indent) if tensor_contents is None else tensor_contents
        return _add_suffixes("tensor(" + contents, suffixes, indent)

    def __reduce_ex__(self, protocol: Any):
        parameters = (self.qscheme(), wrap(self._scales), wrap(self._zero_points), self._axis)
        return rebuild, (*saved_levels(self), parameters, False, OrderedDict())


def _assemble(levels: np.ndarray, dtype: Any, scales: np.ndarray, zero_points: np.ndarray, axis: int) -> Any:
    t: Any = object.__new__(ChannelQuantizedTensor)
    t._levels, t._type, t._scales, t._zero_points, t._axis = levels, dtype, scales, zero_points, axis
    t._scale = t._zero_point = None
    t._array = _Levels(levels.shape, levels.dtype)
    t._storage = t._view = t._edge = t._grad = None
    return t


def of_channels(levels: Tensor, dtype: Any, scales: Any, zero_points: Any, axis: int) -> Any:
    """The quantized tensor of a tensor of levels."""
    scales, zero_points = _numbers(scales, zero_points, levels.size(axis))
    return _assemble(array_of(levels, "quantize_per_channel"), dtype, scales, zero_points, axis)


def _numbers(scales: Tensor, zero_points: Tensor, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Scales and zero points as they are kept: float64 and int64, or float32 both."""
    is_float = zero_points.dtype.is_floating_point
    kinds = (np.float32, np.float32) if is_float else (np.float64, np.int64)
    made = [np.array(array_of(t, "quantize_per_channel"), k) for t, k in zip((scales, zero_points), kinds, strict=True)]
    for numbers, name in zip(made, ("scales", "zero_points"), strict=True):
        if numbers.ndim != 1:
            raise RuntimeError(f"{name} tensor should have one dimension")
        if len(numbers) != count:
            raise RuntimeError(f"length of {name} must equal to channel, expected {count} got, {len(numbers)}")
    return made[0], made[1]


def _rounded(x: np.ndarray, scales: np.ndarray, zero_points: np.ndarray, levels: np.dtype) -> np.ndarray:
    limits = limits_of(levels)
    with np.errstate(all="ignore"):
        scaled = x * (np.float32(1) / scales.astype(np.float32))
        # halves go to the even level, as in torch
        out = np.rint(scaled + zero_points.astype(np.float32)).astype(np.float64)
    out[np.isnan(out)] = limits.min
    return np.clip(out, limits.min, limits.max).astype(levels)


@recorded
def quantize_per_channel(input: Tensor, scales: Tensor, zero_points: Tensor, axis: int, dtype: Any) -> Any:
    """A float32 tensor as levels with a scale and a zero point for each index of dimension `axis`.

    level = clamp(round(input / scale[c]) + zero_point[c]) within the limits of `dtype`: qint8, quint8 or qint32.

    Args:
        zero_points: whole numbers, or of a floating type, which are then added before rounding.
    Shape: (*, C, *), scales (C,) and zero_points (C,) -> (*, C, *)
    Raises:
        RuntimeError: sizes do not fit, as in
            `quantize_per_channel(ones(2, 3), ones(2), zeros(2, dtype=int64), 1, qint8)`.
        RuntimeError: the input is not float32, as in
            `quantize_per_channel(arange(2), ones(2), zeros(2, dtype=int64), 0, qint8)`.

    >>> quantize_per_channel(tensor([[1.0], [1.0]]), tensor([0.3, 0.7]), tensor([0, 1]), 0, qint8).int_repr()
    tensor([[3],
            [2]], dtype=torch.int8)
    """
    if input.dtype is not dtypes.float32:
        raise RuntimeError(f"quantize_tensor_per_channel_affine expects a Float Tensor, got {type_word(input.dtype)}")
    levels = LEVELS.get(dtype)
    if levels is None:
        raise RuntimeError(f"ScalarType {type_word(dtype)} is not supported in new_qtensor.")
    axis = wrap_dim(axis, input.dim())
    if dtype is dtypes.quint4x2 and not zero_points.dtype.is_floating_point:
        raise NotImplementedError("\"quantize_tensor_per_channel_affine\" not implemented for 'QUInt4x2'")
    kept: Any = _numbers(scales, zero_points, input.size(axis))
    sizes = [1] * input.dim()
    sizes[axis] = -1
    x = array_of(input, "quantize_per_channel")
    values = np.ascontiguousarray(_rounded(x, kept[0].reshape(sizes), kept[1].reshape(sizes), levels))
    return _assemble(values, dtype, kept[0], kept[1], axis)


def _of(input: Any) -> ChannelQuantizedTensor:
    if not isinstance(input, ChannelQuantizedTensor):
        raise RuntimeError(
            "Expected quantizer->qscheme() == kPerChannelAffine || quantizer->qscheme() == kPerChannelAffineFloatQParams to "
            "be true, but got false."
        )
    return input


def q_per_channel_scales(input: Any) -> Tensor:
    """The scales of a tensor of `quantize_per_channel`, one for each channel.

    Shape: (*) -> (C,)

    >>> q_per_channel_scales(quantize_per_channel(ones(2), tensor([0.5, 0.25]), tensor([0, 1]), 0, qint8))
    tensor([0.5000, 0.2500], dtype=torch.float64)
    """
    return _of(input).q_per_channel_scales()


def q_per_channel_zero_points(input: Any) -> Tensor:
    """The zero points of a tensor of `quantize_per_channel`, one for each channel.

    Shape: (*) -> (C,)

    >>> q_per_channel_zero_points(quantize_per_channel(ones(2), tensor([0.5, 0.25]), tensor([0, 1]), 0, qint8))
    tensor([0, 1])
    """
    return _of(input).q_per_channel_zero_points()


def q_per_channel_axis(input: Any) -> int:
    """The dimension of the channels of a tensor of `quantize_per_channel`.

    Shape: (*) -> an int

    >>> q_per_channel_axis(quantize_per_channel(ones(2), tensor([0.5, 0.25]), tensor([0, 1]), 0, qint8))
    0
    """
    return _of(input).q_per_channel_axis()
