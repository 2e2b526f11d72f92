"""What threads share: locks that a forked child finds open, and things that are made once in a process.

Generated code and primitives are called by their addresses, so whoever holds an address has to hold what owns it. A
`functools.cache` gives two threads that miss at the same time two objects, and forgets the first: its code is freed while
the address is still called. `made_once` makes one.

All that is made once shares one lock, `making`, as the making of one thing asks for others. A fork waits until nobody
holds it: the child then finds the compiler in no intermediate state.
"""

from __future__ import annotations

import os
from _thread import RLock, allocate_lock
from collections.abc import Callable
from functools import cache, wraps
from typing import Any, TypeVar
from weakref import WeakSet

__all__ = ["lock", "made_once", "making"]

_Made = TypeVar("_Made", bound=Callable[..., Any])

making = RLock()
_open: WeakSet[Any] = WeakSet()


def lock(make: Callable[[], Any] = allocate_lock) -> Any:
    """A lock that is open in a forked child, whose other threads are gone, whoever held it before."""
    made = make()
    _open.add(made)
    return made


def made_once(make: _Made) -> _Made:
    """Call `make` once for each of its (hashable) arguments and keep what it returns as long as the process.

    Unlike with `functools.cache`, threads that ask at the same time get the same object. What raises is tried again.
    `cache_clear()` forgets everything, for tests that hold all that depends on it.
    """
    known: dict[Any, Any] = {}

    @cache  # without a lock, at C speed, once the object is there
    @wraps(make)
    def get(*key: Any) -> Any:
        with making:
            if key not in known:
                known[key] = make(*key)
            return known[key]

    clear = get.cache_clear

    def cache_clear() -> None:
        with making:
            known.clear()
            clear()

    get.cache_clear = cache_clear  # type: ignore[method-assign]
    get.__wrapped__ = make
    return get  # type: ignore[return-value]


def _in_child() -> None:
    for held in list(_open):
        held._at_fork_reinit()
    making.release()


os.register_at_fork(before=making.acquire, after_in_parent=making.release, after_in_child=_in_child)
