"""How values of several processes become one."""

from __future__ import annotations

import warnings
from enum import IntEnum
from typing import Any

import numpy as np

from ..backend.onednn.address import address
from ..core.tensor.dtype import from_numpy, type_word
from ..core.tensor.tensor import Tensor

__all__ = [
    "OlderReduceOp",
    "RedOpType",
    "ReduceOp",
    "combine",
    "in_place",
    "joined",
    "make_premultiplied_sum",
    "put_parts",
    "scaled",
    "silence",
    "supports_complex",
]


class RedOpType(IntEnum):
    """The kinds of reductions."""

    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4
    BAND = 5
    BOR = 6
    BXOR = 7
    PREMUL_SUM = 8

    def __str__(self) -> str:
        return f"RedOpType.{self.name}"

    def __format__(self, format_spec: str, /) -> str:
        return format(str(self), format_spec)


class _Names(type):
    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, RedOpType)

    def __iter__(cls):
        return iter(RedOpType)


class ReduceOp(metaclass=_Names):
    """The reductions by name: `ReduceOp.SUM`, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR (bits of integers)."""

    RedOpType = RedOpType
    SUM, AVG, PRODUCT, MIN, MAX = RedOpType.SUM, RedOpType.AVG, RedOpType.PRODUCT, RedOpType.MIN, RedOpType.MAX
    BAND, BOR, BXOR, PREMUL_SUM = RedOpType.BAND, RedOpType.BOR, RedOpType.BXOR, RedOpType.PREMUL_SUM

    def __new__(cls, op: Any) -> Any:
        return RedOpType(op)


class OlderReduceOp:
    """`torch.distributed.reduce_op`: the names of `ReduceOp`, of which it warns."""

    def __getattr__(self, name: str) -> Any:
        value = getattr(RedOpType, name)  # what it does not have is no reason to warn
        warnings.warn(
            "`torch.distributed.reduce_op` is deprecated, please use `torch.distributed.ReduceOp` instead",
            FutureWarning,
            stacklevel=2,
        )
        return value


_UFUNCS: dict[RedOpType, Any] = {
    RedOpType.SUM: np.add,
    RedOpType.AVG: np.add,
    RedOpType.PRODUCT: np.multiply,
    RedOpType.MIN: np.minimum,
    RedOpType.MAX: np.maximum,
    RedOpType.BAND: np.bitwise_and,
    RedOpType.BOR: np.bitwise_or,
    RedOpType.BXOR: np.bitwise_xor,
}
_SUM = RedOpType.SUM  # reading it from the class takes 0.2 us
_WIDE = (RedOpType.SUM, RedOpType.AVG, RedOpType.PRODUCT)


def silence() -> np.errstate:
    """Within this context NumPy does not warn of overflow and NaN: reductions of gradients that are not finite are no news."""
    return np.errstate(all="ignore")


def check_op(op: Any, dtype: np.dtype, name: str = "all_reduce") -> RedOpType:
    """`op` as a kind of reduction. Raises for one that does not exist or does not fit the type of what `name` reduces."""
    if op is _SUM:
        return op
    if not isinstance(op, RedOpType):
        raise TypeError(f"expected a torch.distributed.ReduceOp, got {type(op).__name__}")
    if op is RedOpType.PREMUL_SUM:
        raise RuntimeError("Cannot use ReduceOp.PREMUL_SUM with Gloo: multiply first, then use ReduceOp.SUM")
    if dtype.kind == "c" and not supports_complex(op):
        raise ValueError(f"{name} does not support {op} on complex tensors")
    if op in (RedOpType.BAND, RedOpType.BOR, RedOpType.BXOR) and dtype.kind not in "iub":
        raise RuntimeError(f"Cannot use ReduceOp.{op.name} with non-integral dtype")
    if op is RedOpType.AVG and dtype.kind in "iub":
        word = type_word(from_numpy(dtype))
        raise RuntimeError(f"result type Float can't be cast to the desired output type {word}")
    return op


def supports_complex(reduceOp: Any) -> bool:
    """Whether torch reduces complex numbers so: sums and averages."""
    return reduceOp in (RedOpType.SUM, RedOpType.AVG, RedOpType.PREMUL_SUM)


def make_premultiplied_sum(factor: Any) -> RedOpType:
    """NCCL's sum of products with a factor, a float or a tensor. torch's other backends, and so Rushlight, refuse a call with it."""
    if type(factor) is not float and not isinstance(factor, Tensor):
        raise TypeError(f"_make_nccl_premul_sum(): factor has to be a float or a torch.Tensor, not {factor!r}")
    return RedOpType.PREMUL_SUM


def combine(op: RedOpType, arrays: list[np.ndarray]) -> np.ndarray:
    """The reduction of arrays of one shape, from the first to the last; numbers of 16 bits are added in float32."""
    dtype, ufunc = arrays[0].dtype, _UFUNCS[op]
    wide = np.dtype(np.float32) if dtype.name in ("float16", "bfloat16") and op in _WIDE else dtype
    with silence():
        total = arrays[0].astype(wide)
        for array in arrays[1:]:
            total = np.asarray(ufunc(total, array), wide)
        if op is RedOpType.AVG:
            total /= np.asarray(len(arrays), wide)
        return total.astype(dtype, copy=False)


def scaled(array: np.ndarray, factor: float) -> np.ndarray:
    """The array times a factor of its type, in its own memory."""
    if factor != 1.0:
        with silence():
            np.multiply(array, array.dtype.type(factor), out=array)
    return array


def in_place(array: np.ndarray) -> bool:
    """Whether a result can be put into an array's memory as it is."""
    flags = array.flags
    return flags.c_contiguous and flags.writeable


def joined(parts: list[np.ndarray]) -> np.ndarray:
    """The parts one after the other, flat: their own memory where they are so already."""
    if all(in_place(part) for part in parts):
        ends = [address(part) + part.nbytes for part in parts]
        if [address(part) for part in parts[1:]] == ends[:-1]:
            first = parts[0]
            return np.lib.stride_tricks.as_strided(first.reshape(-1), (sum(part.size for part in parts),))
    return np.concatenate([part.reshape(-1) for part in parts])


def put_parts(parts: list[np.ndarray], values: np.ndarray) -> None:
    """Write values, flat, into flat parts, where they are not there already."""
    at = 0
    for part in parts:
        own = values[at : at + part.size]
        if address(own) != address(part):
            np.copyto(part, own)
        at += part.size
