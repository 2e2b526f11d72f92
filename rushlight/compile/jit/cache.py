"""The cache of what is compiled while a program runs: counts, limits, eviction, and the log.

Each way into the compiler is a `Route`, a client with its key and its way of building:

    step       what `compile(function)` captured (`step.py`); the compiled function holds it
    backward   backward passes of eager loops (`backward.py`)
    eager      single operators (`eager.py`)
    optimizer  an optimizer's steps over a group of parameters (`optimizer.py`); the group holds them
    update     the code of an optimizer's update, for all groups (`native_update.py`)
    loop       elementwise loops over large arrays (`loops.py`)
    flat       elementwise operators over arrays of any shape (`flat.py`)

**Counts.** Something is compiled once it has come often enough (`is_due`). Routes whose results differ from the eager ones by
rounding count, and keep what they made, in each thread by itself: a thread's digits do not depend on others.

**Limits.** A route keeps so many programs, and so many bytes of their memory (`limits`, `set_limits`), in a thread or in
the process. Beyond that the one used least recently makes room, if it has been passed by `IDLE` uses of others and is not
running; if it has not, there is no room, and the newcomer runs eagerly: making programs in turns would take longer than
they save.

**Log.** `RUSHLIGHT_LOG=jit` shows on stderr what each route compiled, refused and evicted, and why; `summary()` says what
there is.

**Threads.** Tables that threads share change under the one lock of all that is made once (decision 27), and are read
without it. `RUSHLIGHT_JIT=0` turns off all routes but `step` (`core/jit_switch.py`).
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Hashable, MutableMapping
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import count
from typing import Any, Generic, TypeVar
from weakref import WeakValueDictionary

from ...core.interrupts import raise_if_interrupted
from ...core.locks import making
from ..log import show

__all__ = ["Entry", "Limits", "Refused", "Route", "forget", "limits", "set_limits", "summary"]

IDLE = 1000  # uses of other programs of a route after which one may make room
_KEYS = 4096  # that are counted, and that are remembered as refused


@dataclass
class Limits:
    """programs: how many a route keeps. size_bytes: of the memory that they keep, None without a limit of its own."""

    programs: int
    size_bytes: int | None = None


limits: dict[str, Limits] = {
    "step": Limits(4096),
    "backward": Limits(16),
    "eager": Limits(64, 1 << 28),
    "optimizer": Limits(4096),
    "update": Limits(512),
    "loop": Limits(512),
    "flat": Limits(512),
}
_routes: dict[str, Route[Any]] = {}
_Program = TypeVar("_Program", bound="Entry")


class Refused(Exception):
    """The eager way is the better one."""


class Entry:
    """What a route runs. size_bytes: memory that it keeps; used: the route's clock at its last use; uses: how many."""

    __slots__ = ("size_bytes", "used", "uses", "__weakref__")

    def __init__(self, size_bytes: int = 0):
        self.size_bytes, self.used, self.uses = size_bytes, 0, 0

    def is_running(self) -> bool:
        """Whether a thread is in the middle of it."""
        return False

    def evicted(self) -> None:
        """It is no longer in the cache: whoever else finds it should forget it."""


class _State:
    """What a route knows: counts by key, programs by key, refused keys."""

    def __init__(self, is_held: bool = False):
        self.clock = count(1).__next__
        self.counts: dict[Hashable, int] = {}
        self.refused: set[Hashable] = set()
        self.programs: MutableMapping[Any, Any] = WeakValueDictionary() if is_held else {}


class _OfThread(threading.local, _State):
    """That of each thread."""


class Route(Generic[_Program]):
    """A way into the compiler. is_shared: by all threads. is_held: its programs live as long as another object holds them."""

    def __init__(self, name: str, is_shared: bool = False, is_held: bool = False):
        self.name = name
        self.state = _State(is_held) if is_shared else _OfThread(is_held)
        self._lock: Any = making if is_shared else nullcontext()
        _routes[name] = self

    # -------------------------------------------------------------------------------------------- counts

    def count(self, key: Hashable, amount: int = 1) -> int:
        """How much of a key has come until now, with this."""
        counts = self.state.counts
        if len(counts) >= _KEYS:
            counts.clear()
        seen = counts[key] = counts.get(key, 0) + amount
        return seen

    def is_due(self, key: Hashable, amount: int, warmup: int) -> bool:
        """Count a call; whether it is time for a program, and there may be one more. Then its count begins again."""
        if key in self.state.refused or self.count(key, amount) < warmup or not self.has_room():
            return False
        self.state.counts.pop(key, None)
        return True

    # -------------------------------------------------------------------------------------------- programs

    def make(self, key: Hashable, build: Callable[[], _Program], what: Callable[[], str]) -> _Program | None:
        """The program of a key, built where there is none; None, from now on, where it cannot be.

        `what` names it in the log. With RUSHLIGHT_CHECK=1 errors of the compiler are raised.
        """
        known = self.state.programs.get(key)
        if known is not None:
            return known
        try:
            return self.add(key, build(), what)
        except Exception as why:  # whatever the compiler cannot do, the eager way can
            raise_if_interrupted(why)
            if os.environ.get("RUSHLIGHT_CHECK") == "1" and not isinstance(why, Refused):
                raise
            self.refuse(key, what, why)
            return None

    def add(self, key: Hashable, program: _Program, what: Callable[[], str]) -> _Program:
        """Keep a program. Returns it, or the one that another thread has added meanwhile.

        Raises Refused where the limits do not allow it.
        """
        with self._lock:
            known = self.state.programs.get(key)
            if known is not None:
                return known
            if not self.has_room(program.size_bytes):
                raise Refused("compiled programs would exceed their limits")
            program.used = self.state.clock()
            self.state.programs[key] = program
        show("jit", lambda: f"{self.name}: {what()} is compiled, {program.size_bytes} bytes of memory")
        return program

    def refuse(self, key: Hashable, what: Callable[[], str], why: Exception) -> None:
        """Leave a key to the eager way."""
        refused = self.state.refused
        if len(refused) >= _KEYS:
            refused.clear()
        refused.add(key)
        self.tell_refused(what, why)

    def tell_refused(self, what: Callable[[], str], why: Exception) -> None:
        """Say in the log why something is not compiled."""
        show("jit", lambda: f"{self.name}: {what()} is not compiled: {why}")

    def drop(self, program: _Program, why: str) -> None:
        """Take a program out of the cache."""
        with self._lock:
            programs = self.state.programs
            for key in [key for key, known in list(programs.items()) if known is program]:
                programs.pop(key, None)
        show("jit", lambda: f"{self.name}: a program of {program.size_bytes} bytes, used {program.uses} times, {why}")
        program.evicted()

    def has_room(self, size_bytes: int = 0) -> bool:
        """Whether there may be one more program, with so much memory; evicts others for it, where it may."""
        limit = limits[self.name]
        if len(self.state.programs) < limit.programs and limit.size_bytes is None:
            return True
        return self._shrink(limit.programs - 1, limit.size_bytes, size_bytes, IDLE)

    def _shrink(self, most: int, most_bytes: int | None, size_bytes: int, idle: int) -> bool:
        if most_bytes is not None and size_bytes > most_bytes:
            return False
        with self._lock:
            while True:
                programs = list(self.state.programs.values())
                kept_bytes = sum(p.size_bytes for p in programs) + size_bytes
                if len(programs) <= most and (most_bytes is None or kept_bytes <= most_bytes):
                    return True
                resting = [p for p in programs if not p.is_running()]
                oldest = min(resting, key=lambda p: p.used, default=None)
                passed_by = 0 if oldest is None else self.state.clock() - oldest.used
                if oldest is None or passed_by < idle:
                    return False
                self.drop(oldest, f"is evicted: {passed_by} uses of others have passed by")

    def forget(self) -> None:
        """Drop all programs (in a thread's route, this thread's) and what was counted."""
        with self._lock:
            programs = list(self.state.programs.values())
            for table in (self.state.programs, self.state.counts, self.state.refused):
                table.clear()
        for program in programs:
            program.evicted()


def set_limits(route: str, programs: int | None = None, size_bytes: int | None = None) -> None:
    """Change what a route keeps; None leaves a limit. What is beyond is dropped at once, in this thread, unless it runs.

    Raises KeyError for an unknown route and ValueError for a negative number.
    """
    if min(programs or 0, size_bytes or 0) < 0:
        raise ValueError(f"limits of the cache of programs are not negative: {programs}, {size_bytes}")
    if route not in limits:
        raise KeyError(f"no route {route!r}; the routes are {', '.join(limits)}")
    limit = limits[route]
    limit.programs = limit.programs if programs is None else programs
    limit.size_bytes = limit.size_bytes if size_bytes is None else size_bytes
    if route in _routes:
        _routes[route]._shrink(limit.programs, limit.size_bytes, 0, idle=0)


def forget() -> None:
    """Drop what all routes have compiled: those of this thread, and what threads share."""
    for route in list(_routes.values()):
        route.forget()


def summary() -> str:
    """What there is, in this thread and in what threads share, a line for each route."""
    lines = []
    for name, route in sorted(_routes.items()):
        programs = list(route.state.programs.values())
        kept = sum(p.size_bytes for p in programs) / 1e6
        limit = limits[name]
        most = "" if limit.size_bytes is None else f", {limit.size_bytes / 1e6:.1f} MB"
        refused = f"; {len(route.state.refused)} refused" * bool(route.state.refused)
        lines.append(f"{name}: {len(programs)} programs, {kept:.1f} MB (at most {limit.programs}{most}){refused}")
    return "\n".join(lines)
