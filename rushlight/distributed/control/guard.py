"""The thread by which a process of a job looks after the others, and after itself when one of them has died."""

from __future__ import annotations

import sys
import threading
import time
from typing import TYPE_CHECKING, Any

from ...core.foreign import ctypes
from ..errors import DistBackendError
from . import process_state

if TYPE_CHECKING:
    from ..mesh import Mesh

__all__ = ["Guard", "notice"]

_UNNOTICED_LOOKS = 6  # for a call to raise after a death, before the main thread is interrupted
_BUSY = 0.2  # of the time between two looks: a thread that has run so long computes
_noticed = threading.Event()


def notice() -> None:
    """Note that a death has been reported to the program, which does from now on what it wants."""
    if threading.current_thread() is threading.main_thread():
        _noticed.set()


class Guard:
    """Gives up peers that are stopped, on this machine, or cut off, on others.

    Where a process has died and the main thread makes no call that could say so, but computes (perhaps for ever), the error
    is raised there after a while. A thread that waits, such as an idle server's, is left alone.
    """

    def __init__(self, mesh: Mesh):
        self._mesh = mesh
        self._looks, self._over = process_state.Looks(), threading.Event()
        self._unnoticed, self._cpu_s = 0, 0.0
        _noticed.clear()
        threading.Thread(target=self._watch, daemon=True, name="rushlight-guard").start()

    def close(self) -> None:
        """Look no more."""
        self._over.set()

    def _watch(self) -> None:
        while not self._over.wait(process_state.LOOK_S):
            for peer, pid, born in self._mesh.watched():
                if self._looks.given_up(pid, born):
                    looks = process_state.STOPPED_LOOKS * process_state.LOOK_S
                    self._mesh.bury(peer, f"it has been stopped by a signal (SIGSTOP) for {looks:g} s")
            for peer in self._mesh.cut_off():
                self._mesh.bury(peer, "it cannot be reached any more: its host is off, or the network between is cut")
            if self._mesh.death and not _noticed.is_set():
                self._interrupt(self._mesh.death)

    def _interrupt(self, text: str) -> None:
        """Raise in the main thread, where it computes."""
        thread = threading.main_thread().ident or 0
        cpu_s, before_s = _cpu_s(thread), self._cpu_s
        self._cpu_s = cpu_s
        self._unnoticed += 1
        computes = cpu_s - before_s > _BUSY * process_state.LOOK_S
        if self._unnoticed >= _UNNOTICED_LOOKS and computes and not _is_interactive():
            _noticed.set()
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(_error(text)))


def _is_interactive() -> bool:
    """Whether a person types the program: what runs there then may have nothing to do with the job."""
    return hasattr(sys, "ps1") or bool(sys.flags.interactive) or "IPython" in sys.modules


def _cpu_s(thread: int) -> float:
    """The processor time of a thread; 0 where the system does not say it."""
    try:
        return time.clock_gettime(time.pthread_getcpuclockid(thread))
    except (AttributeError, OSError):
        return 0.0


def _error(text: str) -> type[DistBackendError]:
    """A class whose objects, which the interpreter makes, have a text."""

    class PeerError(DistBackendError):
        def __init__(self, *texts: Any):
            super().__init__(*(texts or (text,)))

    PeerError.__name__ = PeerError.__qualname__ = "DistBackendError"
    PeerError.__module__ = DistBackendError.__module__
    return PeerError
