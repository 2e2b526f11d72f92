"""Which overload of an operator a call in TorchScript's source is, by the types of its arguments."""

from __future__ import annotations

import re
from typing import Any

from ....core.dispatch.aten.run import default_of
from ..ir.graph import BOOL, COMPLEX, FLOAT, INT, NUMBER, TENSOR, Type, list_of
from ..ir.literals import type_of_constant
from ..ir.schemas import Parameter, Schema, element_of, is_list, overloads

__all__ = ["match", "types_of_returns"]

_FITS = {
    "int": ("int",), "SymInt": ("int",), "float": ("float", "int"), "bool": ("bool",), "str": ("str",),
    "complex": ("complex",),
    "Scalar": ("int", "float", "bool", "complex", "Scalar"), "ScalarType": ("int",), "Layout": ("int",),
    "MemoryFormat": ("int",), "Device": ("Device",), "Tensor": ("Tensor",), "Generator": (), "Dict": ("Dict",),
}  # fmt: skip
_RETURNS = {
    "Tensor": TENSOR,
    "int": INT,
    "SymInt": INT,
    "float": FLOAT,
    "bool": BOOL,
    "Scalar": NUMBER,
    "complex": COMPLEX,
}


def match(name: str, given: list[Type], named: dict[str, Type]) -> tuple[Schema, dict[str, tuple[Any, Type]]] | None:
    """The overload, and the values of the parameters that are not given."""
    for schema in overloads(name):
        positional = [p for p in schema.parameters if not p.keyword]
        types = dict(zip([p.name for p in positional], given, strict=False)) | named
        if len(given) > len(positional) or len(types) != len(given) + len(named):
            continue
        if types.keys() <= {p.name for p in schema.parameters} and all(
            _takes(p, types.get(p.name)) for p in schema.parameters
        ):
            return schema, {p.name: _default(p) for p in schema.parameters if p.name not in types}
    return None


def _default(p: Parameter) -> tuple[Any, Type]:
    value = default_of(p)
    size = p.type.rstrip("?")[:-1].rpartition("[")[2]
    if type(value) is int and is_list(p.type.rstrip("?")) and size.isdecimal():
        value = [value] * int(size)
    return (list(value), list_of(INT)) if isinstance(value, (list, tuple)) else (value, type_of_constant(value))


def _takes(p: Parameter, given: Type | None) -> bool:
    if given is None:
        return p.default is not None
    if given.kind == "NoneType":
        return p.type.endswith("?") or p.default == "None"
    if given.kind == "Optional":
        return p.type.endswith("?") and _takes(p, given.parts[0])
    kind = p.type.rstrip("?")
    if not is_list(kind):
        if given.kind == "Class":
            return given.detail.endswith(f".{kind}")
        return given.kind in _FITS.get(kind, ()) or kind == "t" or kind == "Dict" and given.kind == "Dict"
    element = element_of(kind)
    if given.kind != "List":
        return not kind.endswith("[]") and given.kind in _FITS.get(element, ())
    part = given.parts[0]
    if part.kind == "Optional":
        return "?" in kind and part.parts[0].kind in _FITS.get(element.rstrip("?"), ())
    return element == "t" or part.kind in _FITS.get(element.rstrip("?"), ())


def types_of_returns(schema: Schema, given: list[Type]) -> list[Type]:
    """The types of an operator's results."""
    text = schema.returns
    if text == "()":
        return []
    parts = text[1:-1].split(", ") if text.startswith("(") else [text]
    found = []
    for part in parts:
        kind = re.sub(r"\(.*?\)", "", part).split(" ")[0]  # without marks of aliasing
        if kind.endswith("[]"):
            found.append(list_of(_RETURNS[kind[:-2]]))
        elif kind == "t":
            found.append(given[0].parts[-1])
        elif kind.startswith("quantized."):
            found.append(Type("Class", detail=f"__torch__.torch.classes.{kind}"))
        elif kind.endswith("?"):
            found.append(Type("Optional", (_RETURNS[kind[:-1]],)))
        else:
            found.append(_RETURNS[kind])
    return found
