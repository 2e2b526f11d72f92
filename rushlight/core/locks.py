"""What threads share: locks that a forked child finds open, and things that are made once in a process.

Generated code and primitives are called by their addresses, so whoever holds an address has to hold what owns it. A
`functools.cache` gives two threads that miss at the same time two objects, and forgets the first: its code is freed while
the address is still called. `made_once` makes one.

All that is made once shares one lock, `making`, as making one thing asks for others. A fork waits until no thread
holds it, nor a lock of a library (`held_by_forks`), and until no other thread is importing, and lets none begin: the child then
finds the compiler in no intermediate state, and no half module whose lock would never be released.
"""

from __future__ import annotations

import _imp
import os
import sys
import time
from _thread import RLock, allocate_lock, get_ident
from collections.abc import Callable
from functools import cache, wraps
from typing import Any, TypeVar
from weakref import WeakSet

__all__ = ["held_by_forks", "lock", "made_once", "making", "open_in_child"]

_Made = TypeVar("_Made", bound=Callable[..., Any])

making = RLock()
_open: WeakSet[Any] = WeakSet()


def lock(make: Callable[[], Any] = allocate_lock) -> Any:
    """A lock that is open in a forked child, whose other threads are gone, whoever held it before."""
    return open_in_child(make())


def open_in_child(lock: Any) -> Any:
    """See to it that a lock of Python's is open in a forked child. Returns it."""
    _open.add(lock)
    return lock


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


# ---------------------------------------------------------------------------------------------- forks


def held_by_forks(lock: Any) -> None:
    """Let forks take this lock of a library, too, so that no thread is inside the library meanwhile.

    Whoever waits for `making` must not hold it: forks take it last.
    """
    _of_libraries.append(lock)


_of_libraries: list[Any] = []
_LONGEST_IMPORT_S = 10.0  # then the import waits for this thread, or for something else that will not come
_PACKAGES = frozenset({"rushlight", "torch", "torchvision", "numpy", "llvmlite", "ml_dtypes"}) | sys.stdlib_module_names


def _before() -> None:
    """Take all locks while no thread imports; an import may be waiting for `making`, so that is not held meanwhile.

    The last one is the interpreter's own lock of imports, which a thread takes for a moment when it begins one. Without it
    another thread could begin between the look and the fork, as other functions run before the fork, too.
    """
    deadline = time.monotonic() + _LONGEST_IMPORT_S
    while True:
        making.acquire()
        for other in _of_libraries:
            other.acquire()
        _imp.acquire_lock()
        if not _others_import() or time.monotonic() > deadline:
            return
        _release()
        time.sleep(0.001)


def _others_import() -> bool:
    """Whether another thread is in the middle of a module that this process may want.

    Python waits for none of them, and what a thread has begun to import is never finished in the child. (The imports of
    programs are left alone: one that runs as long as the program would hold up every fork.)
    """
    locks = getattr(sys.modules.get("_frozen_importlib"), "_module_locks", {})
    held = [made for reference in list(locks.values()) if (made := reference()) is not None and _owner(made)]
    return any(_owner(made) != get_ident() and made.name.partition(".")[0] in _PACKAGES for made in held)


def _owner(module_lock: Any) -> int | None:
    """The thread that holds the lock of a module."""
    return getattr(module_lock, "owner", None)


def _release() -> None:
    _imp.release_lock()
    for other in reversed(_of_libraries):
        other.release()
    making.release()


def _in_child() -> None:
    for held in list(_open):
        held._at_fork_reinit()
    _release()


if hasattr(os, "register_at_fork"):  # Windows has no forks
    os.register_at_fork(before=_before, after_in_parent=_release, after_in_child=_in_child)
