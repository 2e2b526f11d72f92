"""Quantized tensors: whole numbers (levels) with one scale and one zero point, value = scale (level - zero_point).

A `QuantizedTensor` is made by `quantize_per_tensor`, shows its levels, scale and zero point, and becomes an ordinary
tensor by `dequantize()`. Operators see a `Placeholder` in place of an array and raise with their name. Numbers are those
of torch on x86 processors (FBGEMM), where 8-bit levels are rounded after a fused multiply-add.
"""

from __future__ import annotations

import copy
import pickle
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, NoReturn

import ml_dtypes
import numpy as np

from ...core.dispatch.errors import type_error
from ...core.dispatch.mode import emit_event, thread
from ...core.dispatch.op import composite
from ...core.dispatch.torch_function import disabled_impl
from ...core.tensor import dtype as dtypes
from ...core.tensor.channels_last import in_suggested_format
from ...core.tensor.layout import (
    contiguous_format,
    per_channel_affine,
    per_channel_affine_float_qparams,
    per_tensor_affine,
    preserve_format,
)  # fmt: skip
from ...core.tensor.pickling import Memory, rebuild_tensor_v2
from ...core.tensor.placeholder import NoArray, Placeholder, operator_above
from ...core.tensor.printing import _add_suffixes, _contents
from ...core.tensor.strides import element_strides
from ...core.tensor.tensor import Tensor, type_word, wrap
from .recorded import recorded

if TYPE_CHECKING:
    from ...core.dispatch.op import Op

__all__ = [
    "LEVELS",
    "QuantizedTensor",
    "assemble",
    "dequantize",
    "int_repr",
    "limits_of",
    "packed_pairs",
    "q_scale",
    "q_zero_point",
    "quantize_per_tensor",
    "rounded_levels",
    "saved_levels",
]  # fmt: skip

LEVELS = {
    dtypes.qint8: np.dtype(np.int8), dtypes.quint8: np.dtype(np.uint8), dtypes.qint32: np.dtype(np.int32),
    dtypes.quint4x2: dtypes.PAIRS.numpy,
}  # fmt: skip
_PAIRS = dtypes.PAIRS.numpy
CHANNEL_SCHEMES = (per_channel_affine, per_channel_affine_float_qparams)
_new = object.__new__


def _rules() -> Any:
    """The operators of quantized tensors, which load with the first of them."""
    from . import operators

    return operators


class _Levels(Placeholder):
    """What operators see of a quantized tensor."""

    __slots__ = ()

    def _error(self) -> NoArray:
        return _no_kernel(operator_above())


def _no_kernel(name: str) -> NoArray:
    return NoArray(
        f"Could not run 'aten::{name}' with arguments from the 'QuantizedCPU' backend: {name} is not implemented for "
        "quantized tensors; dequantize() makes them float32"
    )


class QuantizedTensor(Tensor):
    """A tensor of levels with a scale and a zero point. Made by `quantize_per_tensor`."""

    __slots__ = ()
    __torch_function__: Any = staticmethod(disabled_impl)
    is_quantized = True
    _levels: np.ndarray
    _type: dtypes.dtype
    _scale: float
    _zero_point: int

    # ---------------------------------------------------------------- what it is made of

    @property
    def dtype(self) -> dtypes.dtype:
        return self._type

    def int_repr(self) -> Tensor:
        """The levels: int8, uint8 or int32. Those of 4 bits are two in a byte, the first in the low bits, in one dimension."""
        if self._levels.dtype == _PAIRS:
            return wrap(packed_pairs(self._levels))
        return wrap(self._levels.copy(order="K"))

    def q_scale(self) -> float:
        """The value of one level."""
        return self._scale

    def q_zero_point(self) -> int:
        """The level of zero."""
        return self._zero_point

    def q_per_channel_scales(self) -> Any:
        """Raises RuntimeError: there is one scale."""
        raise RuntimeError(
            "Expected quantizer->qscheme() == kPerChannelAffine || quantizer->qscheme() == kPerChannelAffineFloatQParams to "
            "be true, but got false."
        )

    q_per_channel_zero_points = q_per_channel_axis = q_per_channel_scales

    def qscheme(self) -> Any:
        """`per_tensor_affine`: one scale and one zero point for all elements."""
        return per_tensor_affine

    @recorded
    def dequantize(self) -> Tensor:
        """The values as a float32 tensor: scale (level - zero_point)."""
        return wrap(self._values())

    def _values(self) -> np.ndarray:
        levels = self._levels
        if levels.dtype.itemsize > 1 or self._zero_point:
            levels = levels.astype(np.int32) - np.int32(self._zero_point)  # wraps around in 32 bits, as torch's does
        return levels.astype(np.float32) * np.float32(self._scale)

    # ---------------------------------------------------------------- as a tensor

    def is_floating_point(self) -> bool:
        """False: the elements are whole numbers with a scale."""
        return False

    def stride(self, dim: int | None = None) -> Any:
        """The strides in elements, or that of `dim`."""
        strides = element_strides(self._levels)
        return strides if dim is None else strides[dim]

    def is_contiguous(self, memory_format: Any = contiguous_format) -> bool:
        """Whether the levels are contiguous in memory, in an order of dimensions."""
        return wrap(self._levels).is_contiguous(memory_format=memory_format)

    def contiguous(self, memory_format: Any = contiguous_format) -> Any:
        """The tensor with its levels in this order, itself where they are."""
        if self.is_contiguous(memory_format):
            return self
        return self._moved(lambda levels: levels.contiguous(memory_format=memory_format), "contiguous")

    def to(self, *args: Any, **kwargs: Any) -> Any:
        """The tensor on a device, of which there is the CPU, or in an order of dimensions."""
        for value in (*args, *kwargs.values()):
            if isinstance(value, dtypes.dtype) and value is not self._type:
                raise RuntimeError("Creation of quantized tensor requires quantized dtype like torch.quint8")
        moved = wrap(self._levels).to(*[a for a in args if not isinstance(a, dtypes.dtype)],  # type: ignore[attr-defined]
                                      **{k: v for k, v in kwargs.items() if k != "dtype"})  # fmt: skip
        return self if moved._array is self._levels else self._like(moved._array)

    def type(self, dtype: Any = None, non_blocking: bool = False) -> Any:
        """The name of the tensor's type, such as 'torch.quantized.QInt8Tensor'."""
        return f"torch.quantized.{type_word(self._type)}Tensor" if dtype is None else _refuse("to")

    def detach(self) -> Any:
        """The tensor itself: quantized tensors have no history."""
        return self._like(self._levels)

    @property
    def data(self) -> Any:
        return self.detach()

    @data.setter
    def data(self, value: Any) -> None:
        _refuse("set_data")

    def cpu(self, memory_format: Any = None) -> Any:
        """The tensor itself, which is on the CPU."""
        return self if memory_format is None else self.contiguous(memory_format)

    def clone(self, *, memory_format: Any = preserve_format) -> Any:
        """A copy in memory of its own."""
        return self._moved(lambda levels: levels.clone(memory_format=memory_format), "clone")

    def equal(self, other: Tensor) -> bool:
        """Whether `other` is quantized alike and has the same levels."""
        return (
            isinstance(other, QuantizedTensor)
            and (self._type, self._scale, self._zero_point) == (other._type, other._scale, other._zero_point)
            and np.array_equal(self._levels, other._levels)
        )

    def _round(self, values: np.ndarray) -> np.ndarray:
        """float32 values as levels of this tensor's scale and zero point."""
        return rounded_levels(values, self._scale, self._zero_point, self._levels.dtype)

    def _like(self, levels: np.ndarray) -> QuantizedTensor:
        return assemble(levels, self._type, self._scale, self._zero_point)

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        """Raises RuntimeError, unless `requires_grad` is False: there are no gradients of levels."""
        if requires_grad:
            raise RuntimeError("only Tensors of floating point dtype can require gradients")
        return self

    def item(self) -> Any:
        """The value of a one-element tensor as a Python number."""
        return self.dequantize().item()

    def numpy(self, *, force: bool = False) -> Any:
        """Raises TypeError: NumPy has no such type."""
        raise type_error(f"Got unsupported ScalarType {type_word(self._type)}")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self.numpy()

    def tolist(self) -> Any:
        """Raises RuntimeError, as torch does; `dequantize().tolist()` gives the values."""
        raise RuntimeError("load_scalar: invalid type")

    def storage_offset(self) -> int:
        """0: the levels are in memory of their own."""
        return 0

    @property
    def nbytes(self) -> int:
        return self._levels.nbytes

    def data_ptr(self) -> int:
        """The address of the first level."""
        return wrap(self._levels).data_ptr()

    def __len__(self) -> int:
        if not self._levels.ndim:
            raise type_error("len() of a 0-d tensor")
        return len(self._levels)

    def __bool__(self) -> bool:
        return bool(self.dequantize())

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        suffixes = [
            f"size={tuple(self.shape)}", f"dtype={self._type!r}", "quantization_scheme=torch.per_tensor_affine",
            f"scale={self._scale!r}", f"zero_point={self._zero_point}",
        ]  # fmt: skip
        indent = len("tensor(")
        contents = _contents(self._values(), indent) if tensor_contents is None else tensor_contents
        return _add_suffixes("tensor(" + contents, suffixes, indent)

    def __format__(self, spec: str) -> str:
        return object.__format__(self, spec)

    def __reduce_ex__(self, protocol: Any):
        return rebuild, (*saved_levels(self), (per_tensor_affine, self._scale, self._zero_point), False, OrderedDict())

    def __deepcopy__(self, memo: dict) -> Any:
        if id(self) not in memo:
            memo[id(self)] = self._like(copy.deepcopy(self._levels))
        return memo[id(self)]

    def _call_operator(self, record: Op, tensors: tuple, metadata: tuple) -> Any:
        return _rules().call(record, tensors, metadata)

    def _write_operator(self, record: Op, target: Tensor, others: tuple, metadata: tuple) -> Any:
        return _rules().write(record, target, others, metadata)

    def __getitem__(self, index: Any) -> Any:
        return self._moved(lambda levels: levels[index], "__getitem__")

    def __setitem__(self, index: Any, value: Any) -> None:
        levels: Any = wrap(self._levels)
        levels[index] = wrap(_rules().levels_for(self, value))

    def __iter__(self) -> Any:
        return iter([self[k] for k in range(len(self))])

    def copy_(self, src: Any, non_blocking: bool = False) -> Any:
        """Take the values of another tensor, rounded to the levels of this one."""
        self._levels[...] = _rules().levels_for(self, src)
        return self

    def fill_(self, value: Any) -> Any:
        """Take a value for all elements, rounded to a level."""
        return self.copy_(value)

    def _moved(self, move: Any, name: str) -> Any:
        """A tensor of the levels that `move` picks from those of this one."""
        return self._like(move(wrap(self._levels))._array)


def _refuse(name: str) -> NoReturn:
    raise _no_kernel(name)


def _refusing(name: str) -> Any:
    def method(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
        raise _no_kernel(name)

    method.__name__ = name
    return method


for _name in ("new", "new_zeros", "new_ones", "new_empty", "new_full", "new_tensor", "share_memory_", "storage",
              "untyped_storage", "register_hook", "backward", "_filled_like"):  # fmt: skip
    setattr(QuantizedTensor, _name, _refusing(_name))


def assemble(levels: np.ndarray, dtype: dtypes.dtype, scale: float, zero_point: int) -> QuantizedTensor:
    """The quantized tensor of an array of levels; nothing is checked."""
    t: Any = _new(QuantizedTensor)
    t._levels, t._type, t._scale, t._zero_point = levels, dtype, float(scale), int(zero_point)
    t._array = _Levels(levels.shape, levels.dtype)
    t._storage = t._view = t._edge = t._grad = None
    return t


_DTYPES = {levels: dtype for dtype, levels in LEVELS.items()}


def limits_of(levels: np.dtype) -> Any:
    """The least and the greatest level, as `min` and `max`, and the `bits`."""
    return ml_dtypes.iinfo(levels)


def packed_pairs(levels: np.ndarray) -> np.ndarray:
    """Levels of 4 bits as bytes of two, the first in the low bits. Shape: (*), n of them -> (ceil(n / 2),)"""
    flat = levels.reshape(-1).astype(np.uint8)
    if flat.size % 2:
        flat = np.append(flat, np.uint8(0))
    return flat[::2] | flat[1::2] << 4


def saved_levels(t: Any) -> tuple:
    """The memory of a quantized tensor's levels as files have it, and where they are in it: offset, sizes and strides."""
    levels = np.ascontiguousarray(t._levels)
    flat = packed_pairs(levels).view(_PAIRS) if levels.dtype == _PAIRS else levels.reshape(-1)
    return Memory(flat, t._levels, True), 0, tuple(levels.shape), element_strides(levels)


def _loaded_levels(memory: Memory, offset: int, size: Any, stride: Any) -> Tensor:
    if memory.flat.dtype != _PAIRS:
        return rebuild_tensor_v2(memory, offset, size, stride, False, OrderedDict())
    pairs = memory.flat.view(np.uint8)
    flat = np.stack([pairs & 15, pairs >> 4], 1).reshape(-1).astype(_PAIRS)
    return rebuild_tensor_v2(Memory(flat), offset, size, stride, False, OrderedDict())


def rebuild(
    memory: Memory, offset: int, size: Any, stride: Any, parameters: Any, requires_grad: bool = False, hooks: Any = None
) -> QuantizedTensor:  # fmt: skip
    """A quantized tensor from its pickle, torch's `_rebuild_qtensor`; parameters: (per_tensor_affine, scale, zero_point)."""
    scheme, *numbers = parameters if isinstance(parameters, tuple) else (None,)
    if scheme in CHANNEL_SCHEMES:
        is_good = len(numbers) == 3 and all(isinstance(t, Tensor) for t in numbers[:2]) and type(numbers[2]) is int
        if not is_good or memory.flat.dtype not in _DTYPES or requires_grad:
            raise pickle.UnpicklingError("a quantized tensor is made of levels, scales, zero points and a dimension")
        levels = _loaded_levels(memory, offset, size, stride)
        return _rules().of_channels(levels, _DTYPES[memory.flat.dtype], *numbers)
    if scheme is not per_tensor_affine:
        raise NotImplementedError(f"quantized tensors with {scheme} are not implemented")
    if [type(n) for n in numbers] != [float, int] or memory.flat.dtype not in _DTYPES or requires_grad:
        raise pickle.UnpicklingError(
            "a quantized tensor is made of levels, a scale and a zero point, without a gradient"
        )
    levels = _loaded_levels(memory, offset, size, stride)
    _check_zero_point(numbers[1], memory.flat.dtype)
    return assemble(levels._array, _DTYPES[memory.flat.dtype], *numbers)


# ---------------------------------------------------------------------------------------------- from and to other tensors


@recorded
def quantize_per_tensor(input: Any, scale: Any, zero_point: Any, dtype: dtypes.dtype) -> Any:
    """A float32 tensor as levels of `dtype` (qint8, quint8 or qint32): round(input / scale) + zero_point, kept in range.

    A list of tensors gives a tuple; scale and zero_point are then tensors with an element for each.

    Shape: (*), scale and zero_point a number or () -> (*)
    Raises:
        RuntimeError: the input is not float32, as in `quantize_per_tensor(arange(3), 0.1, 0, qint8)`.
        RuntimeError: the zero point is no level, as in `quantize_per_tensor(ones(3), 0.1, 128, qint8)`.
        RuntimeError: no such type of levels, as in `quantize_per_tensor(ones(3), 0.1, 0, int8)`.

    >>> t = quantize_per_tensor(tensor([-1.0, 0.0, 1.0, 2.0]), 0.1, 10, quint8)
    >>> t
    tensor([-1.,  0.,  1.,  2.], size=(4,), dtype=torch.quint8,
           quantization_scheme=torch.per_tensor_affine, scale=0.1, zero_point=10)
    >>> t.int_repr()
    tensor([ 0, 10, 20, 30], dtype=torch.uint8)
    """
    if isinstance(input, (list, tuple)):
        pairs = zip(input, scale, zero_point, strict=True)
        return tuple(quantize_per_tensor(t, s, z, dtype) for t, s, z in pairs)
    scale, zero_point = _number(scale, float), _number(zero_point, int)
    levels = LEVELS.get(dtype)
    if levels is None:
        raise RuntimeError(f"ScalarType {type_word(dtype)} is not supported in new_qtensor.")
    if input.dtype is not dtypes.float32:
        raise RuntimeError(f"Quantize only works on Float Tensor, got {type_word(input.dtype)}")
    _check_zero_point(zero_point, levels)
    return assemble(
        in_suggested_format(rounded_levels(array_of(input, "quantize_per_tensor"), scale, zero_point, levels)),
        dtype,
        scale,
        zero_point,
    )


def _check_zero_point(zero_point: int, levels: np.dtype) -> None:
    limits = np.iinfo(np.uint8 if levels == _PAIRS else levels)  # as torch, which takes levels of 4 bits for bytes here
    for wrong, side in ((zero_point < limits.min, "below lower"), (zero_point > limits.max, "above upper")):
        if wrong:
            raise RuntimeError(f"quantize_tensor_per_tensor_affine zero_point {zero_point} is {side} bound.")


def _number(value: Any, kind: type) -> Any:
    if isinstance(value, Tensor):
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, (int, np.integer) if kind is int else (int, float, np.number)):
        raise type_error(
            "quantize_per_tensor() received an invalid combination of arguments: scale must be a float and zero_point an "
            f"int, or both tensors; got {type(value).__name__}"
        )
    return kind(value)


def array_of(t: Tensor, what: str) -> np.ndarray:
    """The array of a tensor whose values `what` computes with, below the operators; recorders are told."""
    if thread.state.level > 1:
        emit_event("read", t, what)
    array = t._array
    if not isinstance(array, np.ndarray):
        raise NotImplementedError(
            f"{what} works on plain tensors on the CPU, not on those of vmap, sparse ones or on other devices (this is on "
            f"{t.device})"
        )
    return array


def rounded_levels(x: np.ndarray, scale: float, zero_point: int, levels: np.dtype) -> np.ndarray:
    """round(x / scale + zero_point) within the limits of `levels`, with FBGEMM's roundings.

    The reciprocal of the scale is rounded to float32. For 8 bits x / scale + zero_point is rounded once (a fused
    multiply-add: products are exact in float64), for 32 bits the product and the sum are.
    """
    narrow, limits = levels.itemsize == 1, limits_of(levels)
    with np.errstate(all="ignore"):
        inverse = np.float32(1) / np.float32(scale) if scale else np.float32(1)
        if narrow:
            exact = np.multiply(x, np.float64(inverse), dtype=np.float64)
            exact += zero_point
            values = np.asarray(np.rint(exact.astype(np.float32)))
        else:
            values = np.asarray(np.rint(x * inverse + np.float32(zero_point)).astype(np.float64))
    values[np.isnan(values)] = limits.max if narrow else limits.min
    return np.clip(values, limits.min, limits.max).astype(levels)


@composite(name="dequantize", method=True, function=False)
def _as_float(input: Tensor) -> Tensor:
    """The values of a quantized tensor as float32; of any other tensor, the tensor as float32.

    >>> quantize_per_tensor(tensor([0.26]), 0.5, 0, qint8).dequantize()
    tensor([0.5000])
    """
    return input.to(dtypes.float32)  # type: ignore[attr-defined]


def _not_quantized(name: str) -> Any:
    def method(self: Tensor) -> NoReturn:
        raise NotImplementedError(
            f"Could not run 'aten::{name}' with arguments from the 'CPU' backend: the tensor is not quantized, "
            "quantize_per_tensor() makes quantized ones"
        )

    method.__name__, method.__qualname__ = name, f"Tensor.{name}"
    method.__doc__ = f"`{name}` of a quantized tensor; see `rushlight.ops.quantized.tensor.QuantizedTensor`."
    return method


for _name in (
    "int_repr", "q_scale", "q_zero_point", "qscheme", "q_per_channel_scales", "q_per_channel_zero_points", "q_per_channel_axis",
):  # fmt: skip
    composite(name=_name, method=True, function=False)(_not_quantized(_name))


def dequantize(input: Any) -> Any:
    """The values of a quantized tensor as float32; of a list of such, a tuple.

    Shape: (*) -> (*)

    >>> dequantize(quantize_per_tensor(tensor([0.26]), 0.5, 0, qint8))
    tensor([0.5000])
    """
    return tuple(t.dequantize() for t in input) if isinstance(input, (list, tuple)) else input.dequantize()


def int_repr(input: Any) -> Any:
    """The levels of a quantized tensor.

    Shape: (*) -> (*)

    >>> int_repr(quantize_per_tensor(tensor([1.0]), 0.5, 3, qint8))
    tensor([5], dtype=torch.int8)
    """
    return input.int_repr()


def q_scale(input: Any) -> float:
    """The scale of a quantized tensor.

    Shape: (*) -> a number

    >>> q_scale(quantize_per_tensor(tensor([1.0]), 0.5, 3, qint8))
    0.5
    """
    return input.q_scale()


def q_zero_point(input: Any) -> int:
    """The zero point of a quantized tensor.

    Shape: (*) -> a number

    >>> q_zero_point(quantize_per_tensor(tensor([1.0]), 0.5, 3, qint8))
    3
    """
    return input.q_zero_point()
