"""What operators do with quantized tensors: those of torch's kernels for `QuantizedCPU`; all others raise by their name.

Views and moves act on levels, order too (a greater level is a greater value). Pointwise functions act on values and round
the results to levels with the scale and zero point of the input, or with fixed ones where the range is known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.tensor import dtype as dtypes
from ...core.tensor.size import wrap_dim
from ...core.tensor.tensor import Tensor, wrap
from . import functions
from .channels import ChannelQuantizedTensor, of_channels
from .tensor import QuantizedTensor, _no_kernel, array_of, assemble, rounded_levels

if TYPE_CHECKING:
    from ...core.dispatch.op import Op

__all__ = ["call", "levels_for", "of_channels", "requantized", "write"]


def call(record: Op, tensors: tuple, metadata: tuple) -> Any:
    """Operator `record` with tensors of which one is quantized."""
    name = record.name.partition(".")[0]
    first = tensors[0]
    if any(isinstance(t, ChannelQuantizedTensor) for t in tensors):
        return first._by_channels(record, tensors, metadata)
    rule = _moved if record.view and isinstance(first, QuantizedTensor) else _RULES.get(name)
    if rule is None or not isinstance(first, QuantizedTensor):
        raise _no_kernel(name)
    return rule(record, tensors, metadata)


def write(record: Op, target: Any, others: tuple, metadata: tuple) -> Any:
    """The in-place form of `record`: its result as levels of `target`."""
    name = record.name.partition(".")[0]
    if not isinstance(target, QuantizedTensor) or name not in _IN_PLACE:
        raise _no_kernel(name + "_")
    out = call(record, (target, *others), metadata)
    target._levels[...] = levels_for(target, out)
    return target


def levels_for(target: Any, value: Any) -> np.ndarray:
    """The values of a tensor, or a number, as levels of `target`."""
    if isinstance(value, QuantizedTensor):
        if value._type is target._type and (value._scale, value._zero_point) == (target._scale, target._zero_point):
            return value._levels
        values = value._values()
    elif isinstance(value, Tensor):
        if value.dtype is not dtypes.float32:
            raise RuntimeError("Quantized copy only works with kFloat as source Tensor")
        values = array_of(value, "copy_")
    else:
        values = np.asarray(value, np.float32)
    return target._round(values)


def requantized(values: np.ndarray, like: Any) -> Any:
    """float32 values as levels, with the type, scale and zero point of `like`."""
    return assemble(like._round(values), like._type, like._scale, like._zero_point)


# ---------------------------------------------------------------------------------------------- kinds of operators


def _invoke(record: Op, tensors: Any, metadata: tuple) -> Any:
    return record.invoke(record.function, tensors, metadata)


def _plain(tensors: tuple, first: np.ndarray) -> list[Any]:
    """The operands with `first` in place of the quantized one."""
    if any(isinstance(t, QuantizedTensor) for t in tensors[1:]):
        raise _no_kernel("an operator of several quantized tensors")
    return [wrap(first), *tensors[1:]]


def _moved(record: Op, tensors: tuple, metadata: tuple) -> Any:
    """Elements that are elsewhere: views share their levels."""
    q = tensors[0]
    if record.name.startswith("upsample") and q._levels.dtype.kind == "i":  # which has no kernel for int8
        out = _invoke(record, [wrap(q._levels.view(np.uint8))], metadata)._array
        return q._like(out.view(np.int8))
    out = _invoke(record, _plain(tensors, q._levels), metadata)
    return type(out)(q._like(t._array) for t in out) if isinstance(out, (tuple, list)) else q._like(out._array)


def _ordered(record: Op, tensors: tuple, metadata: tuple) -> Any:
    """Maxima and orders: by levels, which float32 holds."""
    q = tensors[0]
    if q._levels.dtype.itemsize > 1:
        raise _no_kernel(record.name)
    out = _invoke(record, _plain(tensors, q._levels.astype(np.float32)), metadata)

    def back(t: Any) -> Any:
        return q._like(np.asarray(t._array).astype(q._levels.dtype)) if t.dtype is dtypes.float32 else t

    if isinstance(out, tuple):
        return type(out)(*map(back, out)) if hasattr(out, "_fields") else type(out)(map(back, out))
    return back(out)


def _pointwise(record: Op, tensors: tuple, metadata: tuple) -> Any:
    """A function of each value, rounded to levels of the input."""
    q = tensors[0]
    if len(tensors) > 1:
        return _of_values(record, tensors, metadata)
    scale = float(np.float32(q._scale)) if record.name == "gelu" else q._scale
    return functions.of_each(q, lambda x: _invoke(record, [x], metadata), scale, q._zero_point, record.name)


def _of_values(record: Op, tensors: tuple, metadata: tuple) -> Any:
    """A function of all values, rounded to levels of the input."""
    q = tensors[0]
    out = _invoke(record, _plain(tensors, q._values()), metadata)
    return requantized(out._array, q)


_FIXED = {"sigmoid": (1 / 256, 0), "hardsigmoid": (1 / 256, 0), "tanh": (2 / 256, 128)}  # (scale, zero point) of quint8


def _with_known_range(record: Op, tensors: tuple, metadata: tuple) -> Any:
    """A function whose values fill a known range."""
    q = tensors[0]
    scale, zero_point = _FIXED[record.name]
    if q._type is dtypes.qint8:
        zero_point -= 128
    elif q._type is not dtypes.quint8:
        raise _no_kernel(record.name)
    out = _invoke(record, _plain(tensors, q._values()), metadata)
    return assemble(rounded_levels(out._array, scale, zero_point, q._levels.dtype), q._type, scale, zero_point)


def _compared(record: Op, tensors: tuple, metadata: tuple) -> Any:
    """Comparisons, of values."""
    return _invoke(record, [t.dequantize() if isinstance(t, QuantizedTensor) else t for t in tensors], metadata)


def _averaged(record: Op, tensors: tuple, metadata: tuple) -> Any:
    """Averages of levels, rounded to the nearest level, to even ones in the middle."""
    q = tensors[0]
    centered = q._levels.astype(np.float64) - q._zero_point
    averages = _invoke(record, _plain(tensors, centered), metadata)._array.astype(np.float32)
    limits = np.iinfo(q._levels.dtype)
    levels = np.clip(np.rint(np.asarray(averages + np.float32(q._zero_point))), limits.min, limits.max)
    return q._like(np.asarray(levels, q._levels.dtype))


def _mean(record: Op, tensors: tuple, metadata: tuple) -> Any:
    """Means: over the last dimensions of levels, over others of values."""
    q = tensors[0]
    if record.name != "mean" and metadata[2] not in (None, q._type):
        raise RuntimeError("mean of a quantized tensor has the type of the tensor")
    dims = metadata[0] if metadata else None
    dims = range(q.dim()) if dims is None else ((dims,) if isinstance(dims, int) else dims)
    wrapped = {wrap_dim(d, q.dim()) for d in dims}
    plain = (metadata[0], metadata[1], None) if metadata else metadata
    is_last = wrapped == set(range(q.dim() - len(wrapped), q.dim())) and q._levels.flags.c_contiguous
    return (_averaged if is_last or q._levels.ndim == 4 and wrapped == {2, 3} else _of_values)(record, tensors, plain)


def _joined(record: Op, tensors: tuple, metadata: tuple) -> Any:
    """`cat` and `stack`: with the scale and zero point of the first tensor."""
    first = tensors[0]
    if not all(isinstance(t, QuantizedTensor) and t._type is first._type for t in tensors):
        raise RuntimeError("All dtypes must be the same.")
    return first._like(_invoke(record, [wrap(levels_for(first, t)) for t in tensors], metadata)._array)


def _padded(record: Op, tensors: tuple, metadata: tuple) -> Any:
    """A border of a value, rounded to a level."""
    q = tensors[0]
    sizes, value = metadata
    level = int(q._round(np.asarray(value, np.float32)))
    return q._like(_invoke(record, [wrap(q._levels)], (sizes, level))._array)


_MOVES = (
    "flip", "index_select", "repeat", "gather", "roll", "channel_shuffle", "pixel_shuffle", "pixel_unshuffle",
    "upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d", "reflection_pad1d", "reflection_pad2d", "alias",
)  # fmt: skip
_ORDERS = ("max", "min", "amax", "amin", "sort", "topk", "max_pool")
_FUNCTIONS = ("relu", "hardtanh", "clamp", "leaky_relu", "threshold", "gelu")
_OF_ALL = ("std",)
_AVERAGES = (
    "avg_pool1d", "avg_pool2d", "avg_pool3d", "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d",
    "upsample_bilinear2d",
)  # fmt: skip
_RULES: dict[str, Any] = {
    **dict.fromkeys((*_MOVES, "_unsafe_view"), _moved),
    **dict.fromkeys(_ORDERS, _ordered),
    **dict.fromkeys(_FUNCTIONS, _pointwise),
    **dict.fromkeys(_OF_ALL, _of_values),
    **dict.fromkeys(_FIXED, _with_known_range),
    **dict.fromkeys(("eq", "ne", "lt", "le", "gt", "ge"), _compared),
    **dict.fromkeys(_AVERAGES, _averaged),
    "mean": _mean,
    "cat": _joined,
    "stack": _joined,
    "constant_pad_nd": _padded,
}
_IN_PLACE = frozenset({"relu", "hardtanh", "clamp", "leaky_relu", "threshold"})
