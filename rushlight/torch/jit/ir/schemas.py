"""The schemas that programs of TorchScript call: those of `torch.ops.aten`, and two files for what only they have.

Operators that programs register (`torch.library`) have their own schemas, under namespace::name.

`accepts` says whether a value of Python fits a parameter. A tensor without dimensions fits a number's place too where
`loose` says so: a traced size is such a tensor.
"""

from __future__ import annotations

import numbers
from functools import cache
from pathlib import Path
from typing import Any

from ....core.device.devices import device
from ....core.dispatch.aten import schemas as dispatched
from ....core.dispatch.aten.schemas import Parameter, Schema
from ....core.tensor.dtype import dtype
from ....core.tensor.layout import layout, memory_format
from ....core.tensor.tensor import Tensor
from ... import library

__all__ = ["Parameter", "Schema", "accepts", "element_of", "is_list", "kind_of", "named", "overloads"]

TAKES_NUMBERS = frozenset(
    f"{name}{end}"
    for name in ("add", "sub", "mul", "div", "divide", "multiply", "subtract", "true_divide", "floor_divide")
    for end in ("", "_")
)  # torch makes a tensor of a number that is their operand


@cache
def _more() -> dict[str, list[Schema]]:
    found: dict[str, list[Schema]] = {}
    for file in ("schemas.txt", "quantized.txt"):
        for line in Path(__file__).with_name(file).read_text().splitlines():
            schema = dispatched.parse(line)
            found.setdefault(schema.name, []).append(schema)
    return found


def kind_of(schema: Schema) -> str:
    """The kind of the node that calls an operator: aten::add, quantized::add."""
    return schema.name if "::" in schema.name else f"aten::{schema.name}"


def overloads(name: str) -> tuple[Schema, ...]:
    """The overloads of an operator, those first that a call from Python prefers."""
    registered = library.registered(*name.split("::")) if "::" in name else None
    return _known(name) if registered is None else (_of_library(str(registered._schema)),)


_of_library = cache(dispatched.parse)


@cache
def _known(name: str) -> tuple[Schema, ...]:
    found = [*dispatched.overloads(name), *_more().get(name, ())]
    return tuple(sorted(found, key=lambda s: s.overload != "Tensor") if name in TAKES_NUMBERS else found)


def named(name: str, overload: str = "") -> Schema:
    """One overload. Raises KeyError where it is not known."""
    for schema in overloads(name):
        if not overload or schema.overload == overload:
            return schema
    raise KeyError(f"{name}.{overload}")


def is_list(kind: str) -> bool:
    """Whether a parameter's type is a list, such as int[2]?."""
    return "[" in kind


def element_of(kind: str) -> str:
    """The type of a list's elements; a number in its brackets says how long the list is that one number is taken
    for.
    """
    return kind.rstrip("?").partition("[")[0]


def accepts(p: Parameter, value: Any, loose: bool, number_too: bool) -> bool:
    """Whether a value fits. number_too: a number fits where a tensor is asked for."""
    kind = p.type
    if value is None:
        return kind.endswith("?") or p.default == "None"
    if is_list(kind):
        return _accepts_list(kind.rstrip("?"), value, loose)
    return _accepts_one(kind.rstrip("?"), value, loose) or kind == "Tensor" and number_too and _is_number(value)


def _accepts_list(kind: str, value: Any, loose: bool) -> bool:
    element = element_of(kind)
    if isinstance(value, (list, tuple)):
        optional = element.endswith("?")
        element = element.rstrip("?")
        return all(_accepts_one(element, v, loose) or optional and v is None for v in value)
    return not kind.endswith("[]") and element != "Tensor" and _accepts_one(element, value, loose)


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Number)


def _is_scalar_tensor(value: Any) -> bool:
    return isinstance(value, Tensor) and not value._array.ndim


def _accepts_one(kind: str, value: Any, loose: bool) -> bool:
    if kind == "Tensor":
        return isinstance(value, Tensor)
    if kind in _PYTHON:
        if _is_scalar_tensor(value):
            whole = kind in ("int", "SymInt")
            return loose and kind != "bool" and not (whole and value._array.dtype.kind not in "iub")
        return isinstance(value, _PYTHON[kind]) and (kind in ("bool", "Scalar") or not isinstance(value, bool))
    return isinstance(value, _OBJECTS.get(kind, ()))


_PYTHON: dict[str, Any] = {
    "int": numbers.Integral,
    "SymInt": numbers.Integral,
    "float": numbers.Real,
    "bool": bool,
    "Scalar": numbers.Number,
    "complex": numbers.Complex,
}
_OBJECTS: dict[str, Any] = {
    "str": str,
    "ScalarType": dtype,
    "Device": (device, str),
    "Layout": layout,
    "MemoryFormat": memory_format,
}
