"""Python's numbers as elements of a type: wrapped around among tensors, refused where one is written out of range."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ..tensor import dtype as dtypes
from .call_site import type_name
from .python_signatures import call_error

__all__ = [
    "NUMBERS",
    "check_flag",
    "check_number",
    "check_parsed",
    "exact",
    "filling",
    "flag_type",
    "float_of",
    "number_as",
    "python_number",
    "scalar_of",
    "type_name",
]

NUMBERS = (bool, int, float, complex, np.generic)
_COMPLEX: Any = (complex, np.complexfloating)
_LONG = 1 << 63
_F32, _F64 = np.dtype(np.float32), np.dtype(np.float64)
_MAX_F32 = float(np.finfo(np.float32).max)
_LARGEST = {"float16": 65504.0, "bfloat16": 3.3895313892515355e38, "float32": _MAX_F32, "complex64": _MAX_F32}
_C_NAMES = {
    "float32": "float", "float64": "double", "float16": "c10::Half", "bfloat16": "c10::BFloat16", "int64": "int64_t",
    "int32": "int", "int16": "int16_t", "int8": "int8_t", "uint8": "uint8_t", "uint16": "uint16_t", "uint32": "uint32_t",
    "uint64": "uint64_t", "complex64": "c10::complex<float>",
}  # fmt: skip


def _lost(d: dtypes.dtype) -> RuntimeError:
    return RuntimeError(f"value cannot be converted to type {_C_NAMES.get(d.name, d.name)} without overflow")


def check_parsed(value: Any) -> None:
    """Raise torch's OverflowError for an integer that its parser of arguments cannot read, which takes 64 bits."""
    if isinstance(value, int) and not -_LONG <= value < 2 * _LONG:
        raise OverflowError("can't convert negative int to unsigned" if value < 0 else "int too big to convert")


def number_as(value: Any, d: dtypes.dtype) -> np.ndarray:
    """A Python number as a 0-d array of type `d`; integers wrap around as in torch. Raises `check_parsed`'s error."""
    check_parsed(value)
    if isinstance(value, _COMPLEX) and 0 < d.category < 3:
        if value.imag:
            raise _lost(d)
        value = value.real
    if d.category == 1:
        value = int(value)
        bits = 8 * d.itemsize
        value &= (1 << bits) - 1
        if d.is_signed and value >> (bits - 1):
            value -= 1 << bits
    with np.errstate(over="ignore"):
        return np.array(_held(value, d), d.numpy)


def _held(value: Any, d: dtypes.dtype) -> Any:
    """The number as one that NumPy can make an element of: its bfloat16 knows no integer of more than 64 bits."""
    return float(value) if d is dtypes.bfloat16 and isinstance(value, int) else value


def check_number(name: str, argument: str, value: Any, kind: str = "Number") -> None:
    """Raise torch's TypeError where an argument of function `name` that has to be a number is text, a list or None."""
    if not isinstance(value, NUMBERS):
        raise call_error() or TypeError(f"{name}(): argument '{argument}' must be {kind}, not {type_name(value)}")


def flag_type(name: str, option: str, value: Any, position: int = 0) -> TypeError:
    """torch's error for an option that has to be a bool; position: its place where it is given by place."""
    place = f" (position {position})" if position else ""
    return call_error() or TypeError(f"{name}(): argument '{option}'{place} must be bool, not {type_name(value)}")


def check_flag(name: str, option: str, value: Any, position: int = 0) -> None:
    """Raise torch's TypeError where an option of function `name` that has to be a bool is anything else, also 0 or None."""
    if value is not True and value is not False:
        raise flag_type(name, option, value, position)


def float_of(name: str, argument: str, value: Any) -> float:
    """An argument of function `name` as a float. Raises ValueError for text, also for that which Python's `float` reads."""
    if isinstance(value, (str, bytes)):
        raise ValueError(f"{name}(): argument '{argument}' must be float, not {type_name(value)}")
    return float(value)


def python_number(value: Any) -> Any:
    """A number of NumPy's as Python's, which has no say in the type of a result; anything else itself."""
    if isinstance(value, np.bool_):  # torch takes it for a float
        return float(value)
    return value.item() if isinstance(value, np.generic) else value


def fits_floats(value: Any) -> bool:
    """Whether a value is a Python number, no bool, that float32 holds without infinity or NaN."""
    kind = type(value)
    return -3e38 < value < 3e38 if kind is float else kind is int and -_LONG <= value < _LONG


def fits(value: Any, kind: np.dtype) -> bool:
    """Whether a value is a Python number that elements of NumPy's type hold: any for floats of 32 and 64 bits, else of their kind."""
    if kind is _F32 or kind is _F64:
        return fits_floats(value)
    if type(value) is int and kind.kind in "iu":
        low, high = _limits(kind)
        return low <= value <= high
    return type(value) is bool and kind.kind == "b"


def exact(value: Any, kind: np.dtype) -> Any:
    """The number as Python's, fit for elements of NumPy's type `kind`. Raises torch's error where the type cannot hold it.

    Negative integers wrap around in unsigned types.
    """
    given = type(value)
    if (kind is _F32 or kind is _F64) and (
        (given is float and -_MAX_F32 <= value <= _MAX_F32) or (given is int and -_LONG <= value < _LONG)
    ):
        return value
    if given is int and 0 <= value < 128 and kind.kind in "iu":
        return value
    d = dtypes.from_numpy(kind)
    if isinstance(value, np.generic):
        value = value.item()
    check_parsed(value)
    if isinstance(value, complex) and d.category < 3:
        if value.imag and d.category:
            raise _lost(d)
        value = value.real if d.category else bool(value)
    if d.category == 1 and not _fits(value, *_limits(kind)):
        raise _lost(d)
    largest = _LARGEST.get(d.name)
    if largest is not None and any(largest < abs(part) < np.inf for part in _parts(value)):
        raise _lost(d)
    return number_as(value, d).item() if d.category == 1 else bool(value) if not d.category else _held(value, d)


def filling(value: Any, kind: np.dtype, count: int) -> Any:
    """The number that fills `count` elements of NumPy's type `kind`, by `exact`, but for one element of 16-bit floats.

    torch writes that as a double: a number beyond its range is infinity.
    """
    if count != 1 or kind.itemsize != 2 or kind.kind in "iu":
        return exact(value, kind)
    if isinstance(value, _COMPLEX) and value.imag:
        raise _lost(dtypes.float64)
    return number_as(value, dtypes.from_numpy(kind)).item()


@functools.cache
def _limits(kind: np.dtype) -> tuple[int, int]:
    return int(np.iinfo(kind).min), int(np.iinfo(kind).max)


def _fits(value: Any, low: int, high: int) -> bool:
    if isinstance(value, int):
        return -value <= high if value < 0 and not low else low <= value <= high
    return low <= value <= float(high)  # nan compares false; 2.0**63 fits int64, and wraps around


def _parts(value: Any) -> tuple:
    return (value.real, value.imag) if isinstance(value, complex) else (value,)


def scalar_of(value: Any, name: str, argument: str, position: int) -> Any:
    """A number that was given as one or in a tensor without dimensions. Raises torch's TypeError for anything else."""
    if isinstance(value, NUMBERS):
        return value
    if hasattr(value, "item") and getattr(value, "ndim", 1) == 0 and not isinstance(value, np.ndarray):
        return value.item()
    wrong = f"{name}(): argument '{argument}' (position {position}) must be Number, not {type_name(value)}"
    raise call_error() or TypeError(wrong)
