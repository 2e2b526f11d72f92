"""A worker's ties to the process that loads from it: it must not outlive it, and shares its interrupts."""

import os
import sys
from contextlib import contextmanager

from rushlight.core.foreign import loaded_functions

_PR_SET_PDEATHSIG = 1


def die_with_parent(parent: int, tied_to_thread: bool) -> None:
    """Have the kernel kill this process when the one that forked it dies.

    The kernel means the forking thread's death, so a process that was forked by another thread than the main one must
    not ask for it (`tied_to_thread=False`); it notices by `watch_process` instead, between two batches. So does one on
    Windows.
    """
    import signal

    if sys.platform == "win32":  # where os.kill(parent, 0) sends it a Ctrl-C
        return

    if tied_to_thread and (prctl := getattr(loaded_functions(), "prctl", None)) is not None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if not is_alive(parent):  # it died before the kernel knew
        os._exit(1)


def start_servers(context) -> None:
    """Start what Python starts with the first process of a context, before interrupts are held back: it would inherit that,
    and so would each process of the program that a fork server forks later. The tracker's start lets interrupts through.
    """
    method = context.get_start_method()
    if method == "fork" or sys.platform == "win32":
        return
    from multiprocessing import forkserver, resource_tracker

    resource_tracker.ensure_running()
    if method == "forkserver":
        forkserver.ensure_running()


@contextmanager
def interrupts_held():
    """Hold Ctrl-C back while a process starts: it inherits that, until `release_interrupts` where it can handle one.

    Blocking the signal is not enough: another native thread, such as one of OpenBLAS, may receive it, and Python then
    runs the handler in this one. So the handler only takes a note meanwhile. Windows has no such blocking: there a
    process that is interrupted while it starts prints that, as those of torch do.
    """
    import signal

    mask = getattr(signal, "pthread_sigmask", None)
    before = mask and mask(signal.SIG_BLOCK, [])
    try:
        if mask is not None:
            mask(signal.SIG_BLOCK, [signal.SIGINT])  # raises, after it has blocked, what came before
        _notes.take()
        yield
    finally:
        if mask is not None:
            mask(signal.SIG_SETMASK, before)
        _notes.hand_over()


def release_interrupts() -> None:
    """Let a Ctrl-C that came while this process started, or comes later, raise KeyboardInterrupt."""
    import signal

    _notes.hand_over()
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])


class _Notes:
    """Takes the place of the handler of SIGINT, which only the main thread can exchange."""

    def __init__(self):
        self._handler, self._count = None, 0

    def __call__(self, signum, frame):
        self._count += 1

    def take(self) -> None:
        """Note what comes from now on."""
        import signal
        import threading

        handler = signal.getsignal(signal.SIGINT)
        if threading.current_thread() is threading.main_thread() and handler not in (None, self):
            self._handler, self._count = handler, 0
            signal.signal(signal.SIGINT, self)

    def hand_over(self) -> None:
        """Let the program's own handler come back, and have what was noted."""
        import signal

        handler, self._handler = self._handler, None
        if handler is not None:
            signal.signal(signal.SIGINT, handler)
            if self._count:
                signal.raise_signal(signal.SIGINT)


_notes = _Notes()


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def watch_process(pid: int, fallback: int) -> int:
    """A descriptor that becomes readable when the process dies: a pidfd, or a duplicate of multiprocessing's sentinel.

    The sentinel is a pipe, which stays silent while any other forked process holds its far end. On Windows it is the
    process's handle, which stays multiprocessing's. `stop_watching` gives back what was taken.
    """
    if sys.platform == "win32":
        return fallback
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return os.dup(fallback)


def stop_watching(watch: int) -> None:
    """Close what `watch_process` has opened."""
    if sys.platform != "win32":
        os.close(watch)
