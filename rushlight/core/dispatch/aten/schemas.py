"""torch's schemas of the operators that Rushlight has, and which overload some arguments take.

schemas.txt has those that `torch.ops.aten` shows, composite.txt those that torch itself makes of others.
"""

from __future__ import annotations

import os.path
import re
from functools import cache
from typing import Any, NamedTuple

from ...device.devices import device
from ...tensor.dtype import dtype
from ...tensor.tensor import Tensor

__all__ = ["Parameter", "Schema", "composite_overloads", "overloads", "parse"]

_LINE = re.compile(r"((?:\w+::)?\w+)(?:\.(\w+))?\((.*)\) -> (.*)")
_ALIASING = re.compile(r"\([a-z]\d*!?( -> [*a-z|]+)?\)")
_PARAMETER = re.compile(r"(?P<type>\S+) (?P<name>\w+)(?:=(?P<default>.*))?")


class Parameter(NamedTuple):
    """A parameter of an overload: its type as torch writes it, without marks of aliasing. written: in place."""

    name: str
    type: str
    default: str | None
    keyword: bool
    written: bool = False

    def accepts(self, value: Any) -> bool:
        """Whether a value is of the parameter's type."""
        kind = self.type
        if kind.endswith("?"):
            if value is None:
                return True
            kind = kind[:-1]
        if kind == "Tensor":
            return isinstance(value, Tensor)
        if kind in ("Tensor[]", "Tensor?[]"):
            return isinstance(value, (list, tuple)) and all(
                isinstance(v, Tensor) or (v is None and "?" in kind) for v in value
            )
        if "[" in kind:
            sized = kind[-2] != "["  # int[1]: one number will do for the list
            if sized and isinstance(value, (int, float)):
                return True
            return isinstance(value, (list, tuple)) and not any(isinstance(v, Tensor) for v in value)
        known = _KINDS.get(kind)
        if known is None:
            return not isinstance(value, Tensor)
        if isinstance(value, bool) and bool not in known:
            return False
        return isinstance(value, known)


_NUMBERS = (int, float, complex, bool)
_KINDS: dict[str, tuple[type, ...]] = {
    "Scalar": _NUMBERS,
    "int": (int,),
    "SymInt": (int,),
    "float": (float, int),
    "bool": (bool,),
    "str": (str,),
    "ScalarType": (dtype,),
    "Device": (device, str),
}


class Schema(NamedTuple):
    """An overload: `name.overload(parameters) -> returns`."""

    name: str
    overload: str
    parameters: tuple[Parameter, ...]
    returns: str

    def __str__(self) -> str:
        beginnings = (f"{self.name}.{self.overload}(", f"{self.name}(")
        return next(
            (line for line in _lines().get(self.name, ()) if line.startswith(beginnings)),
            f"{self.name}(...) -> {self.returns}",
        )


@cache
def _lines(file_name: str = "schemas.txt") -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    with open(os.path.join(os.path.dirname(__file__), file_name), encoding="utf-8") as file:
        lines = file.read().splitlines()
    for line in lines:
        found.setdefault(re.split(r"[.(]", line, maxsplit=1)[0], []).append(line)
    return found


@cache
def overloads(name: str) -> tuple[Schema, ...]:
    """The overloads of an operator in torch's order; none where Rushlight does not have it."""
    return tuple(map(parse, _lines().get(name, ())))


@cache
def composite_overloads(name: str) -> tuple[Schema, ...]:
    """The overloads of an operator that torch makes of others, such as `chunk`; none for other names."""
    return tuple(map(parse, _lines("composite.txt").get(name, ())))


def parse(line: str) -> Schema:
    """A schema from torch's text of it."""
    found = _LINE.fullmatch(line)
    assert found is not None, line
    name, overload, given, returns = found.groups()
    parameters, keyword = [], False
    for text in re.split(r", (?![^(\[]*[)\]])", given) if given else ():
        if text == "*":
            keyword = True
            continue
        part = _PARAMETER.fullmatch(_ALIASING.sub("", text))
        assert part is not None, (line, text)
        written = "!" in text.partition("=")[0]
        parameters.append(Parameter(part["name"], part["type"], part["default"], keyword, written))
    return Schema(name, overload or "default", tuple(parameters), returns)
