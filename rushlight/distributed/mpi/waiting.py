"""Waiting for MPI in a way that ends when another process dies.

MPI waits for ever for a process that is gone. So each wait is for an operation's request, or several, and for an alarm, a
"generalized request" that this process completes itself: when the connection to another process ends, when a group fails,
and each fifth of a second while a call waits, so that time limits and signals (Ctrl-C) are seen. The wait itself is
MPI_Waitany, which gives MPI's lock away between looks where another thread of this process needs it.

MPICH looks without a pause, so that where there are more processes than processors the one that is waited for gets no
processor until the scheduler takes this one's away: milliseconds for each call. It asks a request with a poll function (an
extension of MPICH, and of libraries made from it) at each look, and the alarm's is sched_yield.
"""

from __future__ import annotations

import threading
import weakref

from ...core.foreign import ctypes, loaded_functions
from ...core.locks import made_once
from ..mesh import Mesh
from .library import STATUS_BYTES, Library

__all__ = ["Alarm", "Watch"]

_TICK_S = 0.2

# The callbacks of a generalized request have nothing to do but to return MPI_SUCCESS, which is 0. They are called with MPI's
# own lock held, so that they must not wait for the interpreter's: C's sigemptyset(address) writes some bytes there and
# returns 0. sched_yield reads no argument and returns 0 as well.


@made_once
def _callbacks() -> tuple:
    """The callback that does nothing, the one that gives the processor away, and the address that they are given."""
    functions = loaded_functions()
    nothing, give_way = (ctypes.cast(f, ctypes.c_void_p) for f in (functions.sigemptyset, functions.sched_yield))
    return nothing, give_way, ctypes.create_string_buffer(1024)


class Alarm:
    """The requests of some operations, and one more, which `ring` completes."""

    def __init__(self, library: Library, operations: int = 1):
        self.library, self.operations = library, operations
        self.requests = (library.Handle * (operations + 1))(*[library.no_request] * (operations + 1))
        self.address = ctypes.addressof(self.requests)
        self.ended = 0  # the number of the operation for which the last wait was
        self.waits = self.seen = 0
        self.waiting = False
        self._index = ctypes.c_int()
        self._where = ctypes.addressof(self._index)
        self._status = ctypes.create_string_buffer(STATUS_BYTES)
        self._flag = ctypes.c_int()
        self._lock = threading.Lock()
        self._rung = True
        self.arm()

    def place(self, operation: int) -> int:
        """The address of an operation's request."""
        return self.address + operation * ctypes.sizeof(self.library.Handle)

    def arm(self) -> None:
        """Get a new request to be completed, after the last one has been."""
        with self._lock:
            last = ctypes.c_void_p(self.place(self.operations))
            nothing, give_way, where = _callbacks()
            if self.library.polls_requests:
                name, more = "MPIX_Grequest_start", (give_way, give_way)  # the second: in waits for such requests only
            else:
                name, more = "MPI_Grequest_start", ()
            status = getattr(self.library.c, name)(nothing, nothing, nothing, *more, where, last)
            self.library.check(status, name)
            self._rung = False

    def ring(self) -> None:
        """Let the present or the next wait end."""
        with self._lock:
            if not self._rung:
                self._rung = True
                self.library.c.MPI_Grequest_complete(self.library.Handle(self.requests[self.operations]))

    def wait(self) -> bool:
        """Whether an operation has ended, rather than that the alarm has rung."""
        self.waits += 1
        self.waiting = True
        status = self.library.wait_any(self.operations + 1, self.address, self._where, self._status)
        self.waiting = False
        self.ended = self._index.value
        if self.ended == self.operations:
            self.arm()
            return False
        if status:
            self.library.check(status, "MPI_Waitany")
        return True

    def is_done(self) -> bool:
        """Whether an operation has ended, without waiting."""
        flag = ctypes.addressof(self._flag)
        status = self.library.test_any(self.operations, self.address, self._where, flag, self._status)
        self.library.check(status, "MPI_Testany")
        self.ended = self._index.value
        return bool(self._flag.value)


class Watch:
    """Rings the alarms of a mesh's groups: at each trouble, and regularly those of calls that wait."""

    def __init__(self, mesh: Mesh):
        self._mesh = mesh
        self._alarms: weakref.WeakSet[Alarm] = weakref.WeakSet()
        self._changing = threading.Lock()
        self._over = threading.Event()
        mesh.when_in_trouble = self._ring_all
        threading.Thread(target=self._tick, daemon=True, name="rushlight-watch").start()

    def add(self, alarm: Alarm) -> None:
        """Ring it from now on."""
        with self._changing:
            self._alarms.add(alarm)

    def close(self) -> None:
        """Ring no more."""
        self._over.set()
        self._mesh.when_in_trouble = None

    def _all(self) -> list[Alarm]:
        with self._changing:
            return list(self._alarms)

    def _ring_all(self) -> None:
        for alarm in self._all():
            alarm.ring()

    def _tick(self) -> None:
        while not self._over.wait(_TICK_S):
            for alarm in self._all():
                if alarm.waiting and alarm.seen == alarm.waits:
                    alarm.ring()
                alarm.seen = alarm.waits
