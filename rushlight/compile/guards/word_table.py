"""The words of many conditions (`checks.py`), compared by one native loop."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ...core.foreign import ctypes
from ..lower.llvm import engine
from .checks import Check

_ASSEMBLY = """
define i64 @differs(ptr %places, ptr %contents, i64 %from, i64 %to) #0 {
entry:
  br label %head
head:
  %i = phi i64 [ %from, %entry ], [ %next, %body ]
  %left = icmp slt i64 %i, %to
  br i1 %left, label %body, label %done
body:
  %p = getelementptr i64, ptr %places, i64 %i
  %address = load i64, ptr %p
  %place = inttoptr i64 %address to ptr
  %now = load i64, ptr %place
  %q = getelementptr i64, ptr %contents, i64 %i
  %before = load i64, ptr %q
  %same = icmp eq i64 %now, %before
  %next = add i64 %i, 1
  br i1 %same, label %head, label %done
done:
  ret i64 %i
}
"""
_DIFFERING = 8  # times that a condition's words may differ though it holds
_SHARE = 8  # ... and one in how many calls; from then on it is tested itself


def available() -> bool:
    """Whether there is native code."""
    return engine.available()


@lru_cache(maxsize=1)
def _differs() -> Any:
    """The native loop: the index of the first word that differs, or `to`. It holds the interpreter's lock."""
    code = engine.build(_ASSEMBLY + engine.attributes())
    kind = ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
    made = kind(code.address("differs"))
    made.code = code  # type: ignore[attr-defined]
    return made


class _Table(NamedTuple):
    """The words of the conditions at one time. Replaced whole: other threads may be comparing the words of this one."""

    places: np.ndarray  # addresses of words
    contents: np.ndarray  # what the words were
    at: tuple[int, int]  # the addresses of these two arrays
    owner: list[int]  # for each word, the index of its condition in `worded`
    worded: list[tuple[Check, int, int]]  # (condition, its first word, the one after its last)
    others: list[Check]  # conditions without words


def _table(places: np.ndarray, contents: np.ndarray, owner: list, worded: list, others: list) -> _Table:
    return _Table(places, contents, (places.ctypes.data, contents.ctypes.data), owner, worded, others)


class WordTable:
    """Conditions, tested by their words where they have any and the last test has found them to hold.

    Threads may test at the same time. Each works on the table that it found, whose arrays it keeps alive while the native
    loop reads them, and puts another one in its place where words have changed.
    """

    def __init__(self, checks: list[Check]):
        self._loop = _differs()
        self._checks = checks
        self._plain: set[int] = set()  # those that are always tested themselves, by identity
        self._differed: dict[int, int] = {}
        self._calls = 0
        self._filled: _Table | None = None

    def failed(self) -> Check | None:
        """The first condition that does not hold, None if all do."""
        self._calls += 1
        table = self._filled
        if table is None:
            return self._fill()
        count = len(table.owner)
        i = self._loop(*table.at, 0, count)
        if i < count:
            places, contents = table.places.copy(), table.contents.copy()
            while i < count:
                check, first, end = table.worded[table.owner[i]]
                words = check.words()
                if not check.holds():
                    return check
                times = self._differed[id(check)] = self._differed.get(id(check), 0) + 1
                if words is None or len(words) != end - first or (times > _DIFFERING and times * _SHARE > self._calls):
                    self._plain.add(id(check))
                    return self._fill()
                places[first:end] = [a for a, _ in words]
                contents[first:end] = [c for _, c in words]
                i = self._loop(places.ctypes.data, contents.ctypes.data, end, count)
            self._filled = _table(places, contents, table.owner, table.worded, table.others)
        for check in table.others:
            if not check.holds():
                return check
        return None

    def _fill(self) -> Check | None:
        """Test each condition, and take its words, as they were just before, into a new table."""
        places: list[int] = []
        contents: list[int] = []
        owner: list[int] = []
        worded: list[tuple[Check, int, int]] = []
        others: list[Check] = []
        for check in self._checks:
            words = None if id(check) in self._plain else check.words()
            if not check.holds():
                self._filled = None
                return check
            if words is None:
                others.append(check)
                continue
            owner += [len(worded)] * len(words)
            worded.append((check, len(places), len(places) + len(words)))
            places += [a for a, _ in words]
            contents += [c for _, c in words]
        self._filled = _table(np.array(places, np.uint64), np.array(contents, np.uint64), owner, worded, others)
        return None
