"""Conditions on Python objects, each with a quick test.

`holds()` is the condition itself: the same objects are where they were, or plain values that are equal. `words()` gives
addresses and their contents as long as nothing has been written: a dict's version, the pointers of a cell, a list, a
function. One native loop over these words (`word_table.py`) tells in a microsecond that nothing has changed; where a word
differs, `holds()` decides.
"""

from __future__ import annotations

import array
import math
from collections import OrderedDict, deque
from collections.abc import Callable
from functools import lru_cache
from operator import attrgetter, is_
from types import CellType, FunctionType
from typing import Any

import numpy as np

from ...core.tensor.dtype import dtype
from ...core.tensor.tensor import Tensor
from . import layouts
from .containers import copied, getter, iterated, length

PLAIN = (int, float, bool, str, bytes, complex, type(None), dtype)
_IMMUTABLE = (*PLAIN, np.generic, range, slice)
MISSING: Any = object()


def is_same(now: Any, before: Any) -> bool:
    """The same object, or plain values that no arithmetic could distinguish."""
    if now is before:
        return True
    if type(now) is not type(before):
        return False
    if isinstance(before, float):
        return (now == before and math.copysign(1, now) == math.copysign(1, before)) or (
            now != now and before != before
        )
    if isinstance(before, complex):
        return is_same(now.real, before.real) and is_same(now.imag, before.imag)
    if isinstance(before, np.generic):
        return now.dtype == before.dtype and now.tobytes() == before.tobytes()
    if isinstance(before, tuple):
        return len(now) == len(before) and all(map(is_same, now, before))
    return isinstance(before, _IMMUTABLE) and bool(now == before)


class Check:
    """One condition. `what` names it in the warning that says why a program no longer fits."""

    __slots__ = ("what",)
    what: str

    def holds(self) -> bool:
        raise NotImplementedError

    def said(self) -> str:
        """What changed, for a message."""
        return self.what

    def words(self) -> list[tuple[int, int]] | None:
        """(address, content) of what stays as it is while nothing writes; None where there is no such word.

        The contents are those of the condition itself (objects that it holds), or were read before `holds` is asked.
        """
        return None


class Entries(Check):
    """Values of a dict: of these keys, present or not, or of all of them, in their order."""

    __slots__ = ("free", "get", "keys", "table", "values", "whole")

    def __init__(self, table: dict, keys: Any = None, what: str = ""):
        self.table, self.whole, self.what = table, keys is None, what
        self.get = getter(table)
        self.keys = tuple(iterated(table)) if keys is None else tuple(keys)
        self.values = tuple([self.get(k, MISSING) for k in self.keys])
        self.free: tuple = ()  # keys of the whole table whose values may change

    def holds(self) -> bool:
        return self.changed() is None

    def changed(self) -> tuple | None:
        """The first key whose value is another one, in a tuple; None if there is none."""
        table, get = self.table, self.get
        if self.whole and length(table) != len(self.keys) + len(self.free):
            known = set(map(id, (*self.keys, *self.free)))
            return (next((k for k in iterated(table) if id(k) not in known), "a key that is gone"),)
        now = [get(k, MISSING) for k in self.keys]
        if not all(map(is_, now, self.values)):
            for key, a, b in zip(self.keys, now, self.values, strict=True):
                if not is_same(a, b):
                    return (key,)
        if self.whole and not self.free and not all(map(is_same_key, iterated(table), self.keys)):
            return ("the order of keys",)
        return None

    def said(self) -> str:
        changed = self.changed()
        if not changed or not isinstance(changed[0], str):
            return self.what
        known = dict(zip(self.keys, self.values, strict=True))
        before, now = known.get(changed[0], MISSING), self.get(changed[0], MISSING)
        if isinstance(now, PLAIN) and isinstance(before, PLAIN):
            return f"{self.what}: {changed[0]!r}, {before!r} became {now!r}"
        return f"{self.what}: {changed[0]!r}"

    def replace(self, key: Any, value: Any) -> None:
        """Take another value for one that is there."""
        self.values = tuple(value if k == key else v for k, v in zip(self.keys, self.values, strict=True))

    def without(self, dropped: set) -> None:
        """Let the values of some keys change."""
        if dropped:
            kept = [(k, v) for k, v in zip(self.keys, self.values, strict=True) if k not in dropped]
            if self.whole:
                self.free += tuple(k for k in self.keys if k in dropped)
            self.keys, self.values = tuple(k for k, _ in kept), tuple(v for _, v in kept)

    def words(self) -> list[tuple[int, int]] | None:
        if isinstance(self.table, OrderedDict) and length(self.table) > 1:
            return None  # move_to_end is no write to the dict
        return layouts.of_dict(self.table)


def is_same_key(a: Any, b: Any) -> bool:
    return a is b or (type(a) is type(b) and not isinstance(a, Tensor) and a == b)


class Cell(Check):
    """What a free variable is."""

    __slots__ = ("cell", "value")

    def __init__(self, cell: CellType, what: str = ""):
        self.cell, self.what = cell, what
        self.value = contents(cell)

    def holds(self) -> bool:
        return is_same(contents(self.cell), self.value)

    def words(self) -> list[tuple[int, int]] | None:
        return layouts.of_cell(self.cell, self.value) if self.value is not MISSING else None


def contents(cell: CellType) -> Any:
    """What is in a cell, MISSING where nothing is."""
    try:
        return cell.cell_contents
    except ValueError:
        return MISSING


class Items(Check):
    """The items of a list or deque."""

    __slots__ = ("items", "values")

    def __init__(self, items: list | deque, what: str = ""):
        self.items, self.values, self.what = items, tuple(iterated(items)), what

    def holds(self) -> bool:
        now = tuple(iterated(self.items))
        if len(now) != len(self.values):
            return False
        return all(map(is_, now, self.values)) or all(map(is_same, now, self.values))

    def words(self) -> list[tuple[int, int]] | None:
        return layouts.of_list(self.items, self.values) if isinstance(self.items, list) else None


class Content(Check):
    """What a set, a bytearray, an array or a NumPy array holds."""

    __slots__ = ("container", "copy")

    def __init__(self, container: Any, what: str = ""):
        self.container, self.what = container, what
        self.copy = snapshot(container)

    def holds(self) -> bool:
        return same_content(self.container, self.copy)


def snapshot(container: Any) -> Any:
    """A copy that `same_content` compares with."""
    if isinstance(container, np.ndarray):
        if container.dtype.hasobject:
            return container.dtype, container.shape, tuple(container.ravel().tolist())
        return container.dtype, container.shape, container.tobytes()
    if isinstance(container, array.array):
        return container.typecode, container.tobytes()
    return copied(container)


def same_content(container: Any, copy: Any) -> bool:
    """Whether a container holds what it held when the copy was taken."""
    now = snapshot(container)
    if isinstance(container, np.ndarray) and container.dtype.hasobject:
        return now[:2] == copy[:2] and len(now[2]) == len(copy[2]) and all(map(is_same, now[2], copy[2]))
    return now == copy


_code_of = attrgetter("__code__", "__defaults__", "__kwdefaults__")


class Function(Check):
    """A function's code and the defaults of its parameters."""

    __slots__ = ("function", "parts")

    def __init__(self, function: FunctionType, what: str = ""):
        self.function, self.what = function, what
        self.parts = _code_of(function)

    def holds(self) -> bool:
        return all(map(is_, _code_of(self.function), self.parts))

    def words(self) -> list[tuple[int, int]] | None:
        return layouts.of_function(self.function, self.parts)


class Kind(Check):
    """An object's class."""

    __slots__ = ("kind", "of")

    def __init__(self, of: Any, what: str = ""):
        self.of, self.what = of, what
        self.kind = type(of)

    def holds(self) -> bool:
        return type(self.of) is self.kind

    def words(self) -> list[tuple[int, int]] | None:
        return layouts.of_class(self.of, self.kind)


class Order(Check):
    """The classes in which a class looks for its attributes."""

    __slots__ = ("cls", "mro")

    def __init__(self, cls: type, what: str = ""):
        self.cls, self.what = cls, what
        self.mro = cls.__mro__

    def holds(self) -> bool:
        return self.cls.__mro__ is self.mro

    def words(self) -> list[tuple[int, int]] | None:
        return layouts.of_order(self.cls, self.mro)


class Facts(Check):
    """What Python may ask of a tensor: its shape, strides and type, whether it wants a gradient, whether it has one."""

    __slots__ = ("array", "edge", "graded", "tensor")

    def __init__(self, tensor: Tensor, with_grad: bool, what: str = ""):
        self.tensor, self.what = tensor, what
        self.array, self.edge = tensor._array, tensor._edge
        self.graded = tensor._grad is not None if with_grad else None

    def holds(self) -> bool:
        t = self.tensor
        a, b = t._array, self.array
        if a is not b and (a.shape != b.shape or a.strides != b.strides or a.dtype != b.dtype):
            return False
        if (t._edge is None) is not (self.edge is None):
            return False
        return self.graded is None or (t._grad is not None) is self.graded

    def words(self) -> list[tuple[int, int]] | None:
        t = self.tensor
        places = [(t, "_array", self.array), (t, "_edge", self.edge)]
        if self.graded is not None:
            g = t._grad
            if (g is not None) is not self.graded:
                return None
            places.append((t, "_grad", g))
        words = [layouts.of_slot(*place) for place in places]
        return None if None in words else [w for pair in words for w in pair or ()]


class Slots(Check):
    """Which objects some slots of an object hold."""

    __slots__ = ("names", "of", "values")

    def __init__(self, of: Any, names: tuple[str, ...], what: str = ""):
        self.of, self.names, self.what = of, names, what
        self.values = [getattr(of, name) for name in names]

    def holds(self) -> bool:
        return all(getattr(self.of, name) is value for name, value in zip(self.names, self.values, strict=True))

    def words(self) -> list[tuple[int, int]] | None:
        slots = zip(self.names, self.values, strict=True)
        words = [layouts.of_slot(self.of, name, value) for name, value in slots]
        return None if None in words else [w for pair in words for w in pair or ()]


class Reading(Check):
    """What a function of an object gives: a slot, the object behind a weak reference."""

    __slots__ = ("read", "of", "value")

    def __init__(self, read: Callable, of: Any, what: str = ""):
        self.read, self.of, self.what = read, of, what
        self.value = self._now()

    def _now(self) -> Any:
        try:
            return self.read(self.of)
        except AttributeError:
            return MISSING

    def holds(self) -> bool:
        return is_same(self._now(), self.value)


class Holds(Check):
    """What a function says: True where the condition holds."""

    __slots__ = ("says",)

    def __init__(self, says: Callable[[], bool], what: str = ""):
        self.says, self.what = says, what

    def holds(self) -> bool:
        return self.says()


class Checks:
    """Many conditions, tested together."""

    def __init__(self, checks: list[Check]):
        self.checks = checks
        self._table: Any = None

    def failed(self) -> Check | None:
        """The first that does not hold, None if all do."""
        table = self._table
        if table is None:
            table = self._table = _maker()(self.checks)
        return table.failed()


class _Plainly:
    """Tests one condition after the other."""

    def __init__(self, checks: list[Check]):
        self._checks = checks

    def failed(self) -> Check | None:
        return next((c for c in self._checks if not c.holds()), None)


@lru_cache(maxsize=1)
def _maker() -> Callable[[list[Check]], Any]:
    from .word_table import WordTable, available

    return WordTable if available() else _Plainly
