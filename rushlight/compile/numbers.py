"""Numbers that a captured function read from a tensor: they may be computed with and returned, nothing else.

`loss.item()` inside a captured function gives a `ReadFloat` or `ReadInt`: a Python number of the value that the capture
saw, which remembers how it came about, so that a replay can compute it again. What would let the number decide anything
(a comparison, a text, an index) raises.
"""

from __future__ import annotations

import operator
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

from ..core.storage import describe, user_line
from .graph import Ref
from .sources import CaptureError


class _Token:
    """Lives as long as its number, which cannot be referred to weakly."""

    __slots__ = ("__weakref__",)


handed_out: list[weakref.ref] = []  # the tokens of the numbers of the capture that runs: see Outcome.check_kept


class Read(NamedTuple):
    """The value of a one-element tensor."""

    ref: Ref
    kind: type


class Computed(NamedTuple):
    """A Python operation on numbers of which at least one was read."""

    function: Callable
    arguments: tuple


def origin(number: Any) -> Any:
    """How a number came about: a `Read`, a `Computed`, or the number itself."""
    return number.origin if isinstance(number, (ReadFloat, ReadInt)) else number


def is_read(value: Any) -> bool:
    """Whether a value is a number that was read from a tensor."""
    return isinstance(value, (ReadFloat, ReadInt))


def marked(value: Any, how: Any) -> Any:
    """A number that remembers where it came from."""
    kind = ReadFloat if isinstance(value, float) else ReadInt
    number = kind(value)
    number.origin = how
    number.token = token = _Token()
    handed_out.append(weakref.ref(token))
    return number


def plain(value: Any) -> Any:
    """A read number as an ordinary one."""
    if isinstance(value, ReadFloat):
        return float.__float__(value)
    return int.__int__(value) if isinstance(value, ReadInt) else value


def _computing(function: Callable, reflected: bool = False) -> Callable:
    def method(self: Any, *others: Any) -> Any:
        if not all(isinstance(v, (int, float)) for v in others):
            return NotImplemented
        values = (*others, self) if reflected else (self, *others)
        result = function(*map(plain, values))
        return marked(result, Computed(function, tuple(map(origin, values))))

    return method


def _refusing(what: str) -> Callable:
    def method(self: Any, *others: Any) -> Any:
        raise CaptureError(
            f"{describe(user_line(2))}: a number that was read from a tensor inside a compiled function is used for {what}: it is known only when "
            "the program runs. Return the number (or the tensor) and do this outside."
        )

    return method


_OPERATORS = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "truediv": operator.truediv,
    "floordiv": operator.floordiv, "mod": operator.mod, "pow": operator.pow,
}  # fmt: skip
_METHODS: dict[str, Callable] = {f"__{n}__": _computing(f) for n, f in _OPERATORS.items()}
_METHODS |= {f"__r{n}__": _computing(f, reflected=True) for n, f in _OPERATORS.items()}
_METHODS |= {"__neg__": _computing(operator.neg), "__abs__": _computing(abs), "__round__": _computing(round)}
for _name in ("lt", "le", "gt", "ge", "eq", "ne", "bool"):
    _METHODS[f"__{_name}__"] = _refusing("a decision")
for _name in ("repr", "str", "format"):
    _METHODS[f"__{_name}__"] = _refusing("a text")
for _name in ("int", "index", "float", "complex", "divmod", "rdivmod", "trunc", "floor", "ceil"):
    _METHODS[f"__{_name}__"] = _refusing("a conversion")
_METHODS["__hash__"] = _refusing("a key")

ReadFloat: Any = type("ReadFloat", (float,), {**_METHODS, "origin": None, "token": None, "__module__": __name__})
ReadInt: Any = type("ReadInt", (int,), {**_METHODS, "origin": None, "token": None, "__module__": __name__})
