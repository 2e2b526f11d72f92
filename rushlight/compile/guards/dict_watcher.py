"""Counters of the writes to single dicts, for versions of CPython whose dicts have no version of their own (3.13 on).

CPython (3.12 on) calls a watcher before a dict that it watches is changed. The one here is native code that looks the dict
up in a table of addresses and counts. The table is never emptied: a dict that is gone leaves its entry to one where
it was.
"""

from __future__ import annotations

import atexit

import numpy as np

from ...core.foreign import ctypes
from ...core.locks import made_once, making
from ..lower.llvm import engine

_PLACES = 1 << 16  # of two words each: a dict's address, its count
_MOST = _PLACES // 2
_VALUES = 40  # where a dict has its pointer to values stored elsewhere

_ASSEMBLY = """
define i32 @changed(i32 %event, ptr %dict, ptr %key, ptr %value) #0 {{
entry:
  %address = ptrtoint ptr %dict to i64
  %mixed = mul i64 %address, {factor}
  %first = lshr i64 %mixed, {shift}
  br label %look
look:
  %i = phi i64 [ %first, %entry ], [ %next, %other ]
  %at = shl i64 %i, 1
  %place = getelementptr i64, ptr inttoptr (i64 {table} to ptr), i64 %at
  %found = load i64, ptr %place
  %mine = icmp eq i64 %found, %address
  br i1 %mine, label %count, label %differs
differs:
  %empty = icmp eq i64 %found, 0
  br i1 %empty, label %done, label %other
other:
  %beyond = add i64 %i, 1
  %next = and i64 %beyond, {mask}
  br label %look
count:
  %counter = getelementptr i64, ptr %place, i64 1
  %before = load i64, ptr %counter
  %after = add i64 %before, 1
  store i64 %after, ptr %counter
  br label %done
done:
  ret i32 0
}}
"""
_FACTOR = 0x9E3779B97F4A7C15  # 2^64 by the golden ratio: the high bits of a product are well mixed
_SHIFT = 64 - (_PLACES.bit_length() - 1)


class _Watcher:
    """The table, the native function, and the number that CPython gave to it."""

    def __init__(self) -> None:
        api = ctypes.pythonapi
        self.table = np.zeros(2 * _PLACES, np.uint64)
        text = _ASSEMBLY.format(
            factor=_FACTOR - (1 << 64), shift=_SHIFT, mask=_PLACES - 1, table=self.table.ctypes.data
        )
        self.code = engine.build(text + engine.attributes())
        add = api.PyDict_AddWatcher
        add.argtypes, add.restype = [ctypes.c_void_p], ctypes.c_int
        self.number = add(self.code.address("changed"))
        atexit.register(api.PyDict_ClearWatcher, self.number)  # the code is gone before the last dicts are
        self.watch = api.PyDict_Watch
        self.watch.argtypes, self.watch.restype = [ctypes.c_int, ctypes.py_object], ctypes.c_int
        self.count = 0

    def counter(self, table: dict) -> int | None:
        """The address of a dict's counter; None where there is no more room."""
        address = id(table)
        i = ((address * _FACTOR) & (1 << 64) - 1) >> _SHIFT
        places = self.table
        while (found := int(places[2 * i])) not in (0, address):
            i = (i + 1) & (_PLACES - 1)
        if not found:
            if self.count >= _MOST:
                return None
            self.count += 1
            places[2 * i] = address
        self.watch(self.number, table)  # again, too, where it is another dict than the one that was there
        return places.ctypes.data + 8 * (2 * i + 1)


@made_once
def _watcher() -> _Watcher | None:
    if not engine.available() or not hasattr(ctypes.pythonapi, "PyDict_AddWatcher"):
        return None
    try:
        return _Watcher()
    except Exception:  # all numbers are taken: eight in a process
        return None


def counter_of(table: dict) -> int | None:
    """The address of a word that changes with each write to a dict; None where there is none.

    An object's attributes may be stored in the object itself (CPython 3.13); the interpreter then stores them past
    the dict, and its watchers are not called.
    """
    watcher = _watcher()
    if watcher is None or ctypes.c_uint64.from_address(id(table) + _VALUES).value:
        return None
    with making:
        return watcher.counter(table)
