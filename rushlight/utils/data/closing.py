"""Closing a worker pool when its iterator dies, without losing a Ctrl-C that comes meanwhile.

An iterator that a loop leaves early dies wherever its last reference goes, and what a weak reference's callback raises
there is printed and forgotten, KeyboardInterrupt too. So no exception may leave the callback: signals are noted while the
pool is closed, and arrive again when the callback is over. The outermost part of it is C, where no signal is handled:

    methodcaller("close") -> next(map(interrupt_main, generator)) -> the generator is resumed, within its `try`

`interrupt_main` only marks the signal as having arrived. Python handles it at the next instruction of the program.
"""

import atexit
import operator
import signal
import threading
import weakref
from _thread import interrupt_main
from functools import partial

__all__ = ["close_after"]

_HELD = (signal.SIGINT, signal.SIGTERM)

_closers: dict[int, "_Closer"] = {}
_used: list["_Closer"] = []  # what is left of a generator must not be cleared away within a callback either


class _Closer(weakref.ref):
    """A weak reference to an iterator, whose `close()` closes the iterator's pool."""

    __slots__ = ("close", "pool", "rest")


def close_after(owner, pool) -> None:
    """Close `pool` when `owner` dies, or the process ends."""
    while _used:
        next(_used.pop().rest, None)
    closer = _Closer(owner, operator.methodcaller("close"))
    closer.pool = pool
    closer.rest = _closing(pool, id(closer))
    next(closer.rest)
    closer.close = partial(next, map(interrupt_main, closer.rest), None)
    _closers[id(closer)] = closer


def _closing(pool, number: int):
    """Waits at its first `yield` for the owner's death; at the second one, a signal that came meanwhile."""
    noted: list[int] = []
    try:
        yield
        _close_and_note(pool, noted, number)
    except KeyboardInterrupt:  # it came before signals were noted, or after
        noted.append(signal.SIGINT)
        _close_and_note(pool, noted, number)
    if noted:
        yield noted[0]


def _close_and_note(pool, noted: list[int], number: int) -> None:
    def note(signum, frame) -> None:
        noted.append(signum)
        pool.hurry()

    before = {}
    try:
        if threading.current_thread() is threading.main_thread():  # no other one handles signals
            for signum in _HELD:
                handler = signal.getsignal(signum)
                if callable(handler):
                    before[signum] = handler
                    signal.signal(signum, note)
        pool.close()
        closer = _closers.pop(number, None)
        if closer is not None:
            _used.append(closer)
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler)


@atexit.register
def _close_all() -> None:
    while _closers:
        _closers.popitem()[1].pool.close()
