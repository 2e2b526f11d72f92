"""Operators of scripts on Python's numbers, texts, lists and dictionaries: `aten::add(int, int)`, `aten::append`, ...

`plain(name, types)` gives the overload that takes values of these types. They run as Python does.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any, NamedTuple

from ....core.dispatch.aten.schemas import Parameter
from ....core.warn import warn
from ....ops.creation.from_data import tensor
from .graph import BOOL, FLOAT, INT, NONE, NUMBER, STRING, TENSOR, Type, list_of
from .literals import object_of

__all__ = ["ON_ANYTHING", "TENSOR_OF", "PlainOperator", "plain"]

ON_ANYTHING = (
    "__is__",
    "__isnot__",
    "append",
    "format",
    "_set_item",
    "len",
)  # also where a tensor is among the arguments


class PlainOperator(NamedTuple):
    """An overload for values that are no tensors. result: its type; function: what runs."""

    name: str
    overload: str
    parameters: tuple[Parameter, ...]
    result: Type
    function: Callable[..., Any]

    @property
    def gives_nothing(self) -> bool:
        """Whether the call is a statement: `v.sort()`, `d[k] = 1`."""
        return self.result == NONE or self.name == "_set_item" and self.parameters[0].type.startswith("Dict")


_NUMBERS = ("bool", "int", "float", "Scalar")  # Scalar: what `item()` gives
_ARITHMETIC: dict[str, Callable] = {"add": operator.add, "sub": operator.sub, "mul": operator.mul, "pow": operator.pow}
_ARITHMETIC |= {"remainder": operator.mod, "floordiv": operator.floordiv}
_COMPARISONS: dict[str, Callable] = {n: getattr(operator, n) for n in ("lt", "le", "gt", "ge", "eq", "ne")}
_WHOLE: dict[str, Callable] = {"__and__": operator.and_, "__or__": operator.or_, "__xor__": operator.xor}
_WHOLE |= {"__lshift__": operator.lshift, "__rshift__": operator.rshift}


def _append(values: list, value: Any) -> list:
    values.append(value)
    return values


def _range_length(start: int, end: int, step: int) -> int:
    return len(range(start, end, step))


def _set_item(container: Any, key: Any, value: Any) -> Any:
    container[key] = value
    return container


def _arithmetic(name: str, kinds: list[str]) -> Type | None:
    if len(kinds) == 2 and all(k in _NUMBERS for k in kinds) and kinds != ["bool", "bool"]:
        return NUMBER if "Scalar" in kinds else FLOAT if "float" in kinds else INT
    return None


def _shared(types: list[Type]) -> Callable[[str], tuple[Type, Callable] | None]:
    """What takes lists, dictionaries and texts, by name."""
    first = types[0] if types else NONE
    part = first.parts[-1] if first.parts else NONE
    kinds = [t.kind for t in types]

    def find(name: str) -> tuple[Type, Callable] | None:
        if first.kind == "List":
            return _of_list(name, first, part, kinds)
        if first.kind == "Dict":
            return _of_dict(name, first, part, kinds)
        return _of_text(name, kinds) if first.kind == "str" else None

    return find


def _of_list(name: str, first: Type, part: Type, kinds: list[str]) -> tuple[Type, Callable] | None:
    if name == "append" and len(kinds) == 2:
        return first, _append
    if name == "len":
        return INT, len
    if name == "__getitem__" and kinds[1:] == ["int"]:
        return part, operator.getitem
    if name == "_set_item" and kinds[1:2] == ["int"]:
        return first, _set_item
    if name == "pop":
        return part, list.pop
    if name == "extend":
        return NONE, list.extend
    if name == "reverse":
        return NONE, list.reverse
    if name == "sort":
        return NONE, list.sort
    if name == "sorted" and part.kind != "Tensor" and len(kinds) == 1:
        return first, sorted
    if name == "insert" and kinds[1:2] == ["int"] and len(kinds) == 3:
        return NONE, list.insert
    if name == "remove" and len(kinds) == 2:
        return NONE, list.remove
    if name in ("index", "count") and part.kind != "Tensor" and len(kinds) == 2:
        return INT, getattr(list, name)
    if name == "copy":
        return first, list.copy
    if name == "clear":
        return NONE, list.clear
    if name == "add" and kinds[1:] == ["List"]:
        return first, operator.add
    if name == "mul" and kinds[1:] == ["int"]:
        return first, operator.mul
    if name in ("eq", "ne") and kinds[1:] == ["List"]:
        return BOOL, _COMPARISONS[name]
    if name == "__contains__" and part.kind != "Tensor":
        return BOOL, operator.contains
    return (part, sum) if name == "sum" and part.kind in ("int", "float") else None


def _of_dict(name: str, first: Type, part: Type, kinds: list[str]) -> tuple[Type, Callable] | None:
    key = first.parts[0]
    if name == "len":
        return INT, len
    if name == "__getitem__":
        return part, operator.getitem
    if name == "_set_item":
        return first, _set_item
    if name == "__contains__":
        return BOOL, operator.contains
    if name == "pop" and len(kinds) in (2, 3):
        return part, dict.pop
    if name == "keys":
        return list_of(key), lambda d: list(d)
    if name == "values":
        return list_of(part), lambda d: list(d.values())
    if name == "items":
        return list_of(Type("Tuple", (key, part))), lambda d: list(d.items())
    return None


_TEXT_METHODS = (
    (STRING, ("capitalize", "join", "lower", "lstrip", "replace", "rstrip", "strip", "swapcase", "title", "upper")),
    (list_of(STRING), ("rsplit", "split", "splitlines")),
    (BOOL, ("endswith", "isalnum", "isalpha", "isdigit", "islower", "isspace", "istitle", "isupper", "startswith")),
    (INT, ("count", "find", "index", "rfind")),
)


def _of_text(name: str, kinds: list[str]) -> tuple[Type, Callable] | None:
    if name == "len":
        return INT, len
    if name == "add" and kinds[1:] == ["str"]:
        return STRING, operator.add
    if name in _COMPARISONS and kinds[1:] == ["str"]:
        return BOOL, _COMPARISONS[name]
    if name == "format":
        return STRING, str.format
    if name == "__getitem__" and kinds[1:] == ["int"]:
        return STRING, operator.getitem
    for result, words in _TEXT_METHODS:
        if name in words and all(k in ("str", "int", "List") for k in kinds[1:]):
            return result, getattr(str, name)
    return (BOOL, operator.contains) if name == "__contains__" and kinds[1:] == ["str"] else None


def _of_numbers(name: str, types: list[Type]) -> tuple[Type, Callable] | None:
    kinds = [t.kind for t in types]
    numbers = all(k in _NUMBERS for k in kinds)
    if name in _ARITHMETIC:
        result = _arithmetic(name, kinds)
        return (result, _ARITHMETIC[name]) if result is not None else None
    if name == "div" and len(kinds) == 2 and numbers:
        return FLOAT, operator.truediv
    if name in _COMPARISONS and len(kinds) == 2 and numbers:
        return BOOL, _COMPARISONS[name]
    if name in _WHOLE and len(kinds) == 2 and numbers and not {"float", "Scalar"} & {*kinds}:
        return (BOOL if kinds == ["bool", "bool"] else INT), _WHOLE[name]
    if name == "neg" and numbers and len(kinds) == 1:
        return types[0], operator.neg
    if name == "__not__" and kinds == ["bool"]:
        return BOOL, operator.not_
    if name in ("Int", "Float", "Bool") and len(kinds) == 1 and (numbers or kinds == ["str"]):
        return {"Int": (INT, int), "Float": (FLOAT, float), "Bool": (BOOL, bool)}[name]
    if name in ("sqrt", "exp", "log", "sin", "cos", "tan", "tanh") and numbers and len(kinds) == 1:
        return FLOAT, getattr(math, name)
    if name in ("floor", "ceil") and numbers and len(kinds) == 1:
        return INT, getattr(math, name)
    return (types[0], abs) if name == "abs" and numbers and len(kinds) == 1 else None


def _common(name: str, types: list[Type]) -> tuple[Type, Callable] | None:
    if name in ("__is__", "__isnot__") and len(types) == 2:
        return BOOL, operator.is_ if name == "__is__" else operator.is_not
    if name == "warn" and [t.kind for t in types[:1]] == ["str"]:
        return NONE, lambda message, stacklevel=2: warn(message)
    if name == "list" and [t.kind for t in types] == ["List"]:
        return types[0], list
    if name == "str" and len(types) == 1:
        return STRING, str
    if name == "slice" and types and types[0].kind in ("List", "str"):
        return types[0], lambda values, start=None, end=None, step=1: values[start:end:step]
    if name == "__range_length" and len(types) == 3:
        return INT, _range_length
    if name == "__derive_index" and len(types) == 3:
        return INT, lambda index, start, step: start + index * step
    if name == "len" and [t.kind for t in types] == ["Tensor"]:
        return INT, len
    return None


def plain(name: str, types: list[Type]) -> PlainOperator | None:
    """The overload of an operator for these types, None where there is none."""
    found = _of_numbers(name, types) if types else None
    found = found or _shared(types)(name) or _common(name, types)
    if found is None:
        return None
    defaults = {1: "None", 2: "None", 3: "1"} if name == "slice" else {}
    parameters = tuple(Parameter(chr(ord("a") + i), str(t), defaults.get(i), False) for i, t in enumerate(types))
    return PlainOperator(name, "_".join(t.kind.lower() for t in types[:1]), parameters, *found)


def _tensor(data: Any, dtype: Any, device: Any, requires_grad: bool) -> Any:
    return tensor(data, dtype=object_of("ScalarType", dtype), device=device, requires_grad=requires_grad)


_OPTIONS = (("dtype", "ScalarType?", "None"), ("device", "Device?", "None"), ("requires_grad", "bool", "False"))
TENSOR_OF = PlainOperator(
    "tensor",
    "default",
    (Parameter("data", "t", None, False), *(Parameter(*option, True) for option in _OPTIONS)),
    TENSOR,
    _tensor,
)
