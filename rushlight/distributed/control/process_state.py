"""What the system says of a process: running, stopped by a signal (SIGSTOP), or gone. Linux; elsewhere nothing is known.

Run as a program, this file is the helper of one process: it kills that once it has been stopped for long, since the others of
its job have given it up by then, and a stopped process ends by itself never.

    python -I -S process_state.py PID BORN LOOK_S
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from contextlib import suppress

__all__ = ["LOOK_S", "Looks", "birth", "identity", "same_space", "start_helper", "state"]

LOOK_S = 1.0  # between two looks at a process
STOPPED_LOOKS = 5  # in a row, until the others of its job give up a stopped process
KILLED_LOOKS = 6  # until it is killed: the others have had the time to say why


def identity() -> tuple[int, int, str]:
    """This process: its number, when it began, and the space in which the number holds; '' where there is none."""
    pid = os.getpid()
    try:
        return pid, _fields(pid)[1], f"{os.stat('/proc/self/ns/pid').st_ino} {_boot()}"
    except (OSError, ValueError, IndexError):
        return pid, 0, ""


def _boot() -> str:
    with open("/proc/sys/kernel/random/boot_id") as file:
        return file.read().strip()


def same_space(one: tuple[int, int, str], other: tuple[int, int, str]) -> bool:
    """Whether each of two processes sees the other one in /proc: they run on one machine, in one container."""
    return bool(one[2]) and one[2] == other[2]


def state(pid: int, born: int) -> str:
    """'T': stopped by a signal; 'X': gone; else another letter of /proc/PID/stat, or '?' where it cannot be read."""
    try:
        letter, began = _fields(pid)
    except FileNotFoundError:
        return "X"
    except (OSError, ValueError, IndexError):
        return "?"
    return letter if began == born and letter != "Z" else "X"


def birth(pid: int) -> int:
    """When a process began, by the system's clock; 0 where nothing is known."""
    try:
        return _fields(pid)[1]
    except (OSError, ValueError, IndexError):
        return 0


def _fields(pid: int) -> tuple[str, int]:
    with open(f"/proc/{pid}/stat", "rb") as file:
        words = file.read().rpartition(b")")[2].split()
    return words[0].decode(), int(words[19])


class Looks:
    """Counts for how many looks in a row a process has been stopped.

    The time itself would be wrong: whoever stops a whole job (Ctrl-Z) and lets it go on stops those that look as well.
    """

    def __init__(self, patience: int = STOPPED_LOOKS) -> None:
        self._patience = patience
        self._seen: dict[tuple[int, int], int] = {}

    def given_up(self, pid: int, born: int) -> bool:
        """Look once; whether the process has been stopped for so long that it counts as dead."""
        who = (pid, born)
        self._seen[who] = self._seen.get(who, 0) + 1 if state(pid, born) == "T" else 0
        return self._seen[who] >= self._patience


_helped: set[int] = set()  # processes that have their helper: this one, not a forked copy


def start_helper() -> None:
    """Start this process's helper, where it has none and no launcher looks after it."""
    pid, born, space = identity()
    if not space or pid in _helped or os.environ.get("RUSHLIGHT_AGENT") == str(os.getppid()) or not sys.executable:
        return
    _helped.add(pid)
    nothing = [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_RDWR, 0) for stream in range(3)]
    command = [sys.executable, "-I", "-S", __file__, str(pid), str(born), str(LOOK_S)]
    with suppress(OSError):
        starter = os.posix_spawn(sys.executable, command, os.environ, file_actions=nothing)
        threading.Thread(target=_reap, args=(starter,), daemon=True, name="rushlight-helper").start()


def _reap(pid: int) -> None:
    with suppress(OSError):
        os.waitpid(pid, 0)


def _help(pid: int, born: int, look_s: float) -> None:
    looks = Looks(KILLED_LOOKS)
    while state(pid, born) not in "X?":
        if looks.given_up(pid, born):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(look_s)


def _main(pid: str, born: str, look_s: str) -> None:
    if os.fork():  # the helper is no child of the process, which may wait for its children
        os._exit(0)
    os.closerange(3, 1024)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _help(int(pid), int(born), float(look_s))


if __name__ == "__main__":
    _main(*sys.argv[1:])
