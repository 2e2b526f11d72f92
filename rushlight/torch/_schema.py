"""Schemas of operators that programs register: parsing one, inferring one from annotations, arranging arguments by one.

A schema reads `(Tensor x, float eps=1e-5, *, Tensor(a!)? out=None) -> (Tensor, Tensor)`.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, get_args, get_origin

from ..core.device.devices import device
from ..core.tensor import dtype as dtypes
from ..core.tensor.dtype import dtype
from ..core.tensor.tensor import Tensor

__all__ = ["Argument", "Schema", "infer_schema", "parse_schema"]

_WHOLE = re.compile(r"\s*([\w.:]*)\s*\((.*)\)\s*->\s*(.+?)\s*", re.S)
_ARGUMENT = re.compile(r"(?P<type>.+?)\s+(?P<name>\w+)\s*(?:=(?P<default>.+))?", re.S)
_MISSING = inspect.Parameter.empty


class Argument(NamedTuple):
    """An argument of an operator. `written` says that the operator writes into it."""

    name: str
    type: str
    default_value: Any = _MISSING
    kwarg_only: bool = False
    written: bool = False

    @property
    def is_tensor(self) -> bool:
        """Whether the argument is a tensor, or None where that is allowed."""
        return self.type.rstrip("?") == "Tensor"

    def __str__(self) -> str:
        shown = self.type.replace("Tensor", "Tensor(!)", 1) if self.written else self.type
        return f"{shown} {self.name}" + ("" if self.default_value is _MISSING else f"={self.default_value}")


class Schema:
    """What an operator takes and gives."""

    def __init__(self, name: str, arguments: Sequence[Argument], returns: Sequence[str], text: str):
        self.name, self.arguments, self.returns, self.text = name, list(arguments), list(returns), text

    def __str__(self) -> str:
        return f"{self.name}{self.text}"

    __repr__ = __str__

    @property
    def has_keyword_arguments(self) -> bool:
        """Whether some arguments go by keyword only."""
        return any(a.kwarg_only for a in self.arguments)

    def bind(self, args: tuple, kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """The arguments in order, defaults filled in, and those by keyword. Raises RuntimeError where they do not fit."""
        positional = [a for a in self.arguments if not a.kwarg_only]
        if len(args) > len(positional):
            raise RuntimeError(
                f"{self.name}() takes {len(positional)} positional argument(s) but {len(args)} was/were given.  "
                f"Declaration: {self}"
            )
        values = dict(zip((a.name for a in positional), args, strict=False))
        for name, value in kwargs.items():
            if name not in {a.name for a in self.arguments} or name in values:
                raise RuntimeError(f"Unknown keyword argument '{name}' for operator '{self.name}'. Schema: {self}")
            values[name] = value
        for position, argument in enumerate(self.arguments):
            self._check(argument, position, values)
        return (
            [values[a.name] for a in positional],
            {a.name: values[a.name] for a in self.arguments if a.kwarg_only},
        )

    def _check(self, argument: Argument, position: int, values: dict[str, Any]) -> None:
        name = argument.name
        if name not in values:
            if argument.default_value is _MISSING:
                raise RuntimeError(f"{self.name}() is missing value for argument '{name}'. Declaration: {self}")
            values[name] = argument.default_value
        value = values[name]
        if argument.is_tensor and not isinstance(value, Tensor) and not (value is None and "?" in argument.type):
            raise RuntimeError(
                f"{self.name}() Expected a value of type '{argument.type}' for argument '{name}' but instead found type "
                f"'{type(value).__name__}'.\nPosition: {position}\nValue: {value!r}\nDeclaration: {self}"
            )


# ------------------------------------------------------------------------------------------ parsing


def parse_schema(text: str, name: str = "") -> Schema:
    """The schema that a text says. Raises RuntimeError for one that is none."""
    found = _WHOLE.fullmatch(text)
    if found is None:
        raise RuntimeError(f"expected schema to look like e.g. '(Tensor x) -> Tensor' but got {text!r}")
    arguments, keyword = [], False
    for part in _split(found[2]):
        if part == "*":
            keyword = True
        else:
            arguments.append(_argument(part, keyword))
    returns = found[3]
    inside = _split(returns[1:-1]) if returns.startswith("(") and returns.endswith(")") else [returns]
    return Schema(name or found[1], arguments, inside, f"({found[2]}) -> {returns}")


def _split(text: str) -> list[str]:
    """The parts between commas that are in no bracket."""
    parts, depth = [""], 0
    for c in text:
        depth += (c in "([") - (c in ")]")
        if c == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return [p.strip() for p in parts if p.strip()]


def _argument(text: str, keyword: bool) -> Argument:
    alias = re.search(r"\(([^)]*)\)", text.partition("=")[0])
    plain = text.replace(alias[0], "", 1) if alias else text
    found = _ARGUMENT.fullmatch(plain)
    if found is None:
        raise RuntimeError(f"expected 'Type name' or 'Type name=default' in a schema but got {text!r}")
    default = _MISSING if found["default"] is None else _default(found["default"].strip(), found["type"])
    return Argument(found["name"], found["type"], default, keyword, bool(alias and "!" in alias[1]))


def _default(text: str, kind: str) -> Any:
    import ast

    if kind.startswith("ScalarType") and text != "None":
        return getattr(dtypes, {"float": "float32", "int": "int32", "bool": "bool_"}.get(text, text))
    value = ast.literal_eval(text)
    return device(value) if kind.startswith("Device") and isinstance(value, str) else value


# ------------------------------------------------------------------------------------------ inferring


def infer_schema(
    prototype_function: Callable, /, *, mutates_args: str | Iterable[str], op_name: str | None = None
) -> str:
    """The schema of a function with annotations.

    mutates_args: the names of the arguments that it writes into, or "unknown" (any). Raises ValueError for a parameter or
    result without an annotation, or with one that no schema can say.

    >>> def scaled(x: Tensor, factor: float = 2.0) -> Tensor: ...
    >>> infer_schema(scaled, mutates_args=())
    '(Tensor x, float factor=2.0) -> Tensor'
    """
    signature = inspect.signature(prototype_function)
    if isinstance(mutates_args, str) and mutates_args != "unknown":
        raise ValueError(
            "mutates_args must either be a sequence of the names of the arguments that are mutated or the string 'unknown'. "
        )
    written = None if mutates_args == "unknown" else set(mutates_args)

    def fail(what: str) -> None:
        raise ValueError(f"infer_schema(func): {what} Got func with signature {signature})")

    parts, starred = [], False
    for i, (name, parameter) in enumerate(signature.parameters.items()):
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            fail("We do not support positional-only args, varargs, or varkwargs.")
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            parts.append("*")
            starred = True
        kind = _parameter_kind(prototype_function, name, parameter, fail)
        if (written is None and kind.startswith("Tensor")) or (written and name in written):
            if not kind.startswith("Tensor"):
                fail(f"Parameter {name} is in mutable_args but only Tensors or collections of Tensors can be mutated")
            kind = f"Tensor(a{i}!){kind[len('Tensor') :]}"
        parts.append(f"{kind} {name}" + _shown_default(name, parameter.default, fail))
    if unseen := (written or set()) - set(signature.parameters):
        fail(f"{unseen} in mutates_args were not found in the custom op's signature.")
    returned = _return_kind(_evaluated(prototype_function, signature.return_annotation, fail), fail)
    return f"{op_name or ''}({', '.join(parts)}) -> {returned}"


def _parameter_kind(function: Callable, name: str, parameter: inspect.Parameter, fail: Callable) -> str:
    if parameter.annotation is _MISSING:
        fail(f"Parameter {name} must have a type annotation.")
    kind = _kind(_evaluated(function, parameter.annotation, fail))
    if kind is None:
        fail(f"Parameter {name} has unsupported type {parameter.annotation}. The valid types are: {_names()}.")
    return str(kind)


def _evaluated(function: Callable, annotation: Any, fail: Callable) -> Any:
    if not isinstance(annotation, str):
        return annotation
    try:
        return eval(annotation, function.__globals__)  # type: ignore[attr-defined]
    except Exception as error:
        fail(f"Unsupported type annotation {annotation}. It is not a type. ({type(error).__name__}: {error})")


_KINDS = {Tensor: "Tensor", int: "SymInt", float: "float", bool: "bool", str: "str", dtype: "ScalarType", device: "Device"}  # fmt: skip
_LISTS = ("Tensor", "SymInt", "float", "bool", "Scalar", "Tensor?")


def _names() -> list[str]:
    return [t.__name__ for t in _KINDS] + ["Number", "Optional, Sequence and list of these"]


def _kind(annotation: Any) -> str | None:
    """The schema's word for an annotation, or None."""
    import types
    import typing

    if annotation in _KINDS:
        return _KINDS[annotation]
    origin, inside = get_origin(annotation), get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        plain = [a for a in inside if a is not type(None)]
        if len(plain) == 1:
            kind = _kind(plain[0])
            return f"{kind}?" if kind and not kind.endswith("?") else None
        return "Scalar" + "?" * (len(plain) < len(inside)) if set(plain) == {int, float, bool} else None
    if origin in (list, Sequence) and len(inside) == 1:
        kind = _kind(inside[0])
        return f"{kind}[]" if kind in _LISTS else None
    return None


def _shown_default(name: str, value: Any, fail: Callable) -> str:
    if value is _MISSING:
        return ""
    if value is None or isinstance(value, (int, float)):
        return f"={value}"
    if isinstance(value, (str, device)):
        return f'="{value}"'
    if not isinstance(value, dtype):
        fail(f"Parameter {name} has an unsupported default value type {type(value)}.")
    return f"={str(value).rpartition('.')[2]}"


def _return_kind(annotation: Any, fail: Callable) -> str:
    if annotation is None:
        return "()"
    if annotation is _MISSING:
        fail("No return type annotation was provided. Please add one.")
    if get_origin(annotation) is tuple:
        return f"({', '.join(_return_kind(part, fail) for part in get_args(annotation))})"
    kind = _kind(annotation)
    if kind not in ("Tensor", "Tensor[]", "SymInt", "float", "bool", "Scalar"):
        fail(f"Return has unsupported type {annotation}.")
    return str(kind)
