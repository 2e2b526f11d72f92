"""Values that programs write as numbers: types, layouts and memory formats, and tensors of one number."""

from __future__ import annotations

from typing import Any

from ....core.device.devices import device
from ....core.tensor import dtype as dtypes
from ....core.tensor import layout as layouts
from ....core.tensor.tensor import Tensor
from ....ops.creation.from_data import tensor
from .graph import BOOL, COMPLEX, FLOAT, INT, NONE, STRING, Type

__all__ = [
    "NAMES_OF_TYPES",
    "code_of",
    "exact_number_tensor",
    "number_of",
    "number_tensor",
    "object_of",
    "type_of_constant",
]

_TYPES = {
    0: ("uint8", "Byte"), 1: ("int8", "Char"), 2: ("int16", "Short"), 3: ("int32", "Int"), 4: ("int64", "Long"),
    5: ("float16", "Half"), 6: ("float32", "Float"), 7: ("float64", "Double"), 9: ("complex64", "ComplexFloat"),
    10: ("complex128", "ComplexDouble"), 11: ("bool", "Bool"), 12: ("qint8", "QInt8"), 13: ("quint8", "QUInt8"),
    14: ("qint32", "QInt32"), 15: ("bfloat16", "BFloat16"),
    23: ("float8_e5m2", "Float8_e5m2"), 24: ("float8_e4m3fn", "Float8_e4m3fn"), 27: ("uint16", "UInt16"),
    28: ("uint32", "UInt32"), 29: ("uint64", "UInt64"),
}  # fmt: skip
_BY_CODE = {code: dtypes._by_name(name) for code, (name, _) in _TYPES.items()}
_CODES: dict[Any, int] = {kind: code for code, kind in _BY_CODE.items()}
NAMES_OF_TYPES = {_BY_CODE[code]: shown for code, (_, shown) in _TYPES.items()}
_FORMATS = (layouts.contiguous_format, layouts.preserve_format, layouts.channels_last, layouts.channels_last_3d)
_CODES |= {f: code for code, f in enumerate(_FORMATS)} | {layouts.strided: 0}


def code_of(value: Any) -> int:
    """The number that a dtype, a layout or a memory format is in a program."""
    if type(value) is int:
        return value
    if value not in _CODES:
        raise NotImplementedError(f"torch.jit: programs cannot name {value!r}")
    return _CODES[value]


def object_of(kind: str, value: Any) -> Any:
    """What a parameter of type `kind` is given by a program, as our functions take it."""
    if value is None:
        return None
    if kind == "ScalarType":
        return _BY_CODE[value] if type(value) is int else value
    if kind == "Layout":
        if value not in (0, layouts.strided):
            raise NotImplementedError(f"torch.jit: layout {value} is not implemented")
        return layouts.strided
    if kind == "MemoryFormat":
        return _FORMATS[value] if type(value) is int else value
    return device(value) if kind == "Device" else value


def number_tensor(value: Any) -> Tensor:
    """A tensor without dimensions of the type that a number has by itself."""
    return tensor(value, dtype=dtypes.of_number(value))


def exact_number_tensor(value: Any) -> Tensor:
    """The same with all digits of Python's numbers: how a graph holds a number in a tensor's place."""
    wide = {float: dtypes.float64, complex: dtypes.complex128}.get(type(value))
    return number_tensor(value) if wide is None else tensor(value, dtype=wide)


def number_of(constant: Any) -> Any:
    """A constant as operators get it: of a number with all digits, the number, which decides no type."""
    is_number = (
        isinstance(constant, Tensor) and not constant.dim() and constant.dtype in (dtypes.float64, dtypes.complex128)
    )
    return constant.item() if is_number else constant


def type_of_constant(value: Any) -> Type:
    """The type of a number, a text or None."""
    return NONE if value is None else _OF_CONSTANTS[type(value)]


_OF_CONSTANTS = {bool: BOOL, int: INT, float: FLOAT, complex: COMPLEX, str: STRING}
