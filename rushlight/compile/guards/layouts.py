"""Where CPython keeps what changes when a dict, a cell, a list or a function is written.

An accelerator only: each place is looked for in sample objects of the running interpreter, and used if writes to the samples
show there, every kind of write. Where one is not found (another interpreter, a version without dict versions), the conditions
of `checks.py` are tested in Python.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable
from functools import lru_cache
from types import CellType, FunctionType, MemberDescriptorType
from typing import Any

from ...core.foreign import HAS_CTYPES, ctypes

_WORD = 8
_SPAN = 192  # bytes of a sample that are searched

Words = list[tuple[int, int]]


def read(address: int) -> int:
    """The eight bytes at an address."""
    return ctypes.c_uint64.from_address(address).value


@lru_cache(maxsize=1)
def supported() -> bool:
    """Whether this is CPython with 64-bit pointers and a lock around the interpreter."""
    locked = getattr(sys, "_is_gil_enabled", lambda: True)()
    return HAS_CTYPES and sys.implementation.name == "cpython" and struct.calcsize("P") == _WORD and locked


def of_dict(table: dict) -> Words | None:
    """A dict's version, or its watcher's count, which every write to it changes."""
    find = _version_of_dicts()
    place = None if find is None else find(table)
    return None if place is None else [(place, read(place))]


def of_cell(cell: CellType, value: Any) -> Words | None:
    """The pointer to what is in a cell."""
    offset = _cell_contents()
    return None if offset is None else [(id(cell) + offset, id(value))]


def of_function(f: FunctionType, parts: tuple) -> Words | None:
    """The pointers to a function's code and defaults; one that is None is a null pointer."""
    offsets = _function_parts()
    if offsets is None:
        return None
    return [(id(f) + o, 0 if part is None else id(part)) for o, part in zip(offsets, parts, strict=True)]


def of_list(items: list, values: tuple) -> Words | None:
    """A list's length, the address of its items, and the items: in this order, so that no freed memory is looked at."""
    offsets = _list_parts()
    if offsets is None:
        return None
    length, pointer = (id(items) + o for o in offsets)
    start = read(pointer)
    return [(length, len(values)), (pointer, start), *((start + _WORD * i, id(v)) for i, v in enumerate(values))]


def of_class(o: Any, kind: type) -> Words | None:
    """The pointer to an object's class."""
    return [(id(o) + _WORD, id(kind))] if supported() and read(id(o) + _WORD) == id(type(o)) else None


def of_order(cls: type, mro: tuple) -> Words | None:
    """The pointer to a class's method resolution order."""
    offset = _order()
    return None if offset is None else [(id(cls) + offset, id(mro))]


def of_slot(o: Any, name: str, value: Any) -> Words | None:
    """The pointer in a slot of an object's class."""
    offset = _slot(next(c for c in type(o).__mro__ if name in vars(c)), name)
    return None if offset is None else [(id(o) + offset, id(value))]


@lru_cache(maxsize=64)
def _slot(cls: type, name: str) -> int | None:
    """The offset of a slot, which its descriptor knows: a pointer to a PyMemberDef after its head of five words."""
    if not supported() or type(vars(cls)[name]) is not MemberDescriptorType:
        return None
    offset = read(read(id(vars(cls)[name]) + 5 * _WORD) + 2 * _WORD)
    return offset if 16 <= offset <= 512 else None


def _find(o: Any, word: int) -> int | None:
    """The offset of a word in an object."""
    span = min(_SPAN, sys.getsizeof(o))
    return next((k for k in range(16, span - _WORD + 1, _WORD) if read(id(o) + k) == word), None)


class _Sample:
    value: object


@lru_cache(maxsize=1)
def _version_of_dicts() -> Callable[[dict], int | None] | None:
    """What gives the address of a word that changes with a dict."""
    from .dict_watcher import counter_of

    if not supported():
        return None
    return next((find for find in (_version, counter_of) if _tells_writes(find)), None)


def _version(table: dict) -> int | None:
    """After the reference count, the type and the number of entries comes the dict's version, up to CPython 3.12."""
    return id(table) + 3 * _WORD if sys.version_info < (3, 13) else None


def _tells_writes(find: Callable[[dict], int | None]) -> bool:
    """Whether the word, where there is one, changes with every kind of write to sample dicts, and with nothing else."""

    def changes(table: dict, write: Any) -> bool:
        place = find(table)
        if place is None:
            write()
            return table is state
        before = read(place)
        write()
        return read(place) != before

    o = _Sample()
    state = o.__dict__

    def store() -> None:
        o.value = object()

    d: dict = {"a": 1, "b": 2}
    writes = (
        lambda: d.update(a=3),
        lambda: d.__setitem__("c", 4),
        lambda: d.__setitem__("c", 5),
        lambda: d.pop("c"),
        lambda: d.setdefault("e", 1),
        lambda: d.__delitem__("e"),
        lambda: d.popitem(),
        lambda: d.__ior__({"q": 2}),
        lambda: d.clear(),
    )
    quiet = (lambda: d.get("a"), lambda: list(d), lambda: d == {})
    stores = [changes(state, store) for _ in range(100)]  # so often that the interpreter specialises them
    return all(stores) and all(changes(d, w) for w in writes) and not any(changes(d, w) for w in quiet)


@lru_cache(maxsize=1)
def _order() -> int | None:
    if not supported():
        return None
    offset = next((k for k in range(16, 512, _WORD) if read(id(_Sample) + k) == id(_Sample.__mro__)), None)
    known = (Exception, OSError, dict)
    return offset if offset is not None and all(read(id(c) + offset) == id(c.__mro__) for c in known) else None


@lru_cache(maxsize=1)
def _cell_contents() -> int | None:
    sample = object()
    return _find(CellType(sample), id(sample)) if supported() else None


@lru_cache(maxsize=1)
def _function_parts() -> tuple[int, ...] | None:
    """The offsets of a function's code, its defaults, and those of its keywords."""
    if not supported():
        return None

    def f(a: Any = _Sample, *, b: Any = _Sample) -> None:
        pass

    found = tuple(_find(f, id(part)) for part in (f.__code__, f.__defaults__, f.__kwdefaults__))
    return None if None in found else found  # type: ignore[return-value]


@lru_cache(maxsize=1)
def _list_parts() -> tuple[int, int] | None:
    """The offsets of a list's length and of the pointer to its items."""
    if not supported():
        return None
    items = [object(), object(), object()]
    length, pointer = 16, 24
    if read(id(items) + length) != 3 or [read(read(id(items) + pointer) + _WORD * i) for i in range(3)] != list(
        map(id, items)
    ):
        return None
    items.append(object())
    return (length, pointer) if read(id(items) + length) == 4 else None
