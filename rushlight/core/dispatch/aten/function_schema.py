"""What an overload's `_schema` is: torch's text of its parameters and results, with an object for each of them."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from .run import default_of
from .schemas import Parameter, Schema

__all__ = ["AliasInfo", "Argument", "FunctionSchema", "schema_of_own"]

_MARK = re.compile(r"Tensor\(([a-z])(!?)(?: -> \*)?\)(\S*) ?(\w*)")
_LIST = re.compile(r"(\w+\??)\[\d*\]")
_SHOWN_TYPES = {"Scalar": "number", "ScalarType": "int", "SymInt": "int", "MemoryFormat": "int", "Layout": "int"}


class AliasInfo(NamedTuple):
    """The memory that an argument or a result shares with others, and whether it is written."""

    before_set: frozenset[str]
    is_write: bool


class Argument(NamedTuple):
    """A parameter, or a result, which has no name."""

    name: str
    type: str
    default_value: Any
    kwarg_only: bool
    alias_info: AliasInfo | None

    @property
    def is_out(self) -> bool:
        """Whether it is where the result goes."""
        return self.kwarg_only and self.alias_info is not None and self.alias_info.is_write


def _argument(p: Parameter, marks: dict[str, AliasInfo]) -> Argument:
    kind, optional = p.type.removesuffix("?"), p.type.endswith("?")
    element = _LIST.fullmatch(kind)
    word = f"List[{_shown(element[1])}]" if element else _shown(kind)
    default = None if p.default is None else default_of(p)
    return Argument(p.name, f"Optional[{word}]" if optional else word, default, p.keyword, marks.get(p.name))


def _shown(kind: str) -> str:
    plain = kind.removesuffix("?")
    word = _SHOWN_TYPES.get(plain, plain)
    return word if plain == kind else f"Optional[{word}]"


class FunctionSchema:
    """The schema of an overload: `name.overload(arguments) -> returns`."""

    def __init__(self, schema: Schema, namespace: str = "aten", text: str | None = None):
        self._text, overload = str(schema) if text is None else text, schema.overload
        self._head = f"{namespace}::" if namespace else ""
        self.name, self.overload_name = f"{self._head}{schema.name}", "" if overload == "default" else overload
        given, _, results = self._text.rpartition(" -> ")
        marks = {name: AliasInfo(frozenset(mark), bool(write)) for mark, write, _, name in _MARK.findall(given)}
        self.arguments = [_argument(p, marks) for p in schema.parameters]
        self.returns = [_result(text) for text in _parts(results)]
        self.is_mutable = any(mark.is_write for mark in marks.values())
        shared = {mark for a in marks.values() if not a.is_write for mark in a.before_set}
        self.is_view = any(r.alias_info is not None and r.alias_info.before_set & shared for r in self.returns)

    def __str__(self) -> str:
        return f"{self._head}{self._text}"

    __repr__ = __str__


def _parts(results: str) -> list[str]:
    inside = results[1:-1] if results.startswith("(") and results.endswith(")") else results
    return [text for text in inside.split(", ") if text]


def _result(text: str) -> Argument:
    mark = _MARK.match(text)
    alias = None if mark is None else AliasInfo(frozenset(mark[1]), bool(mark[2]))
    return Argument("", text.partition("(")[0] if mark else text, None, False, alias)


def schema_of_own(name: str, overload: str) -> Schema:
    """The schema of an operator of Rushlight's own: any arguments, and a tensor."""
    return Schema(name, overload, (), "Tensor")
