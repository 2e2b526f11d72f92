"""Numbers that a captured function read from a tensor: they may be computed with and returned, nothing else.

`loss.item()` inside a captured function gives a `ReadFloat` or `ReadInt`: a Python number of the value that the capture
saw, which remembers how it came about, so that a replay can compute it again. What would let the number decide anything
(a comparison, a text, an index) is told to the recorder, which refuses it. Once the capture has ended, or was given up,
such a number is like any other.
"""

from __future__ import annotations

import math
import operator
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

from ...core.dispatch.mode import thread
from ..ir.graph import Ref


class _Token:
    """Lives as long as its number, which cannot be referred to weakly."""

    __slots__ = ("__weakref__",)


class Read(NamedTuple):
    """The value of a one-element tensor."""

    ref: Ref
    kind: type


class Computed(NamedTuple):
    """A Python operation on numbers of which at least one was read."""

    function: Callable
    arguments: tuple


def is_read(value: Any) -> bool:
    """Whether a value is a number that was read from a tensor, in this capture or an earlier one."""
    return isinstance(value, (ReadFloat, ReadInt))


def marked(value: Any, how: Any, recorder: Any) -> Any:
    """A number that remembers where it came from, and in which capture."""
    kind = ReadFloat if isinstance(value, float) else ReadInt
    number = kind(value)
    number.origin, number.recorder = how, recorder
    number.token = token = _Token()
    recorder.handed_out.append(weakref.ref(token))
    return number


def plain(value: Any) -> Any:
    """A read number as an ordinary one."""
    if isinstance(value, ReadFloat):
        return float.__float__(value)
    return int.__int__(value) if isinstance(value, ReadInt) else value


def _origin(number: Any) -> Any:
    """How a number came about: a `Read`, a `Computed`, or the number itself."""
    return number.origin if is_read(number) else number


def _computing(function: Callable, reflected: bool = False) -> Callable:
    def method(self: Any, *others: Any) -> Any:
        if not all(isinstance(v, (int, float)) for v in others):
            return NotImplemented
        values = (*others, self) if reflected else (self, *others)
        result = function(*map(plain, values))
        recorder = getattr(thread.state.listener, "recorder", None)
        if recorder is None or self.recorder is not recorder or not isinstance(result, (int, float)):
            return result
        return marked(result, Computed(function, tuple(map(_origin, values))), recorder)

    return method


def _refusing(function: Callable, what: str) -> Callable:
    def method(self: Any, *others: Any) -> Any:
        listener = thread.state.listener
        if getattr(listener, "recorder", None) is self.recorder and self.recorder is not None:
            listener.used(what)
        return function(plain(self), *map(plain, others))

    return method


_OPERATORS = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "truediv": operator.truediv,
    "floordiv": operator.floordiv, "mod": operator.mod, "pow": operator.pow,
}  # fmt: skip
_METHODS: dict[str, Callable] = {f"__{n}__": _computing(f) for n, f in _OPERATORS.items()}
_METHODS |= {f"__r{n}__": _computing(f, reflected=True) for n, f in _OPERATORS.items()}
_METHODS |= {"__neg__": _computing(operator.neg), "__abs__": _computing(abs), "__round__": _computing(round)}
_COMPARISONS = {n: getattr(operator, n) for n in ("lt", "le", "gt", "ge", "eq", "ne")}
_CONVERSIONS = {
    "int": int, "float": float, "complex": complex, "divmod": divmod,
    "rdivmod": lambda y, x: divmod(x, y), "trunc": math.trunc, "floor": math.floor, "ceil": math.ceil,
}  # fmt: skip
for _uses, _what in (
    (_COMPARISONS, "a comparison"),
    ({"bool": bool}, "a condition (if, while, and, or, not)"),
    ({"repr": repr, "str": str}, "str() or print()"),
    ({"format": format}, "an f-string"),
    ({"index": operator.index}, "an index, a size or range()"),
    (_CONVERSIONS, "a conversion such as int()"),
    ({"hash": hash}, "a dict key or a set"),
):
    _METHODS |= {f"__{n}__": _refusing(f, f"{_what} uses") for n, f in _uses.items()}
_METHODS["__array_ufunc__"] = lambda self, function, method, *values, **options: _refusing(
    lambda number: getattr(function, method)(*(plain(v) for v in values), **options), "a NumPy function uses"
)(self)
_METHODS["__reduce__"] = lambda self: (float if isinstance(self, float) else int, (plain(self),))
_METHODS["__reduce_ex__"] = lambda self, protocol: self.__reduce__()
_METHODS["__deepcopy__"] = lambda self, memo: plain(self)

_FIELDS: dict[str, Any] = {**_METHODS, "origin": None, "token": None, "recorder": None, "__module__": __name__}
ReadFloat: Any = type("ReadFloat", (float,), _FIELDS)
ReadInt: Any = type("ReadInt", (int,), _FIELDS)
