"""How processes that know each other (by the connections of a `Mesh`) come to share an MPI world.

They first tell each other what they have: all of them use MPI, or none. A process starts MPI once in its life; a later
group of the same processes, or of some of them, uses the same world.
"""

from __future__ import annotations

import glob
import json
import os
import socket
import threading
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from .. import handshake
from ..errors import DistBackendError
from ..mesh import Mesh
from .host_sums import HostSums, by_host
from .library import Library, library, why_not
from .pmi import PmiServer
from .waiting import Watch
from .wire import Wire

__all__ = [
    "World",
    "give_up",
    "has_failed",
    "host_name",
    "in_time",
    "join",
    "remove_own_names",
    "remove_stale",
    "started_by_launcher",
]

_EXTRA = "Install the extra: pip install 'rushlight[mpi]'"
_SHARED = "/dev/shm/mpich_shm_"
_STALE_S = 60.0  # shared memory that no process uses and that is older was left by a job that was killed
_LEAVE_S = 2.0  # for the others to receive what this process has sent, before it goes


@dataclass
class _State:
    """MPI in this process."""

    name: str  # of the world, the same in all its processes
    rank: int
    size: int
    failed: bool = False  # a process of the world has died: it takes no new group


_state: _State | None = None


def started_by_launcher(name: str, rank: int, size: int) -> None:
    """Note that MPI runs in this process, as rank `rank` of `size`."""
    global _state
    _state = _State(name, rank, size)


def give_up() -> None:
    """Note that this process's MPI world is of no use any more: MPI_Finalize would wait for ever."""
    if _state is not None:
        _state.failed = True


def has_failed() -> bool:
    """Whether a process of this one's MPI world has died."""
    return _state is not None and _state.failed


def host_name() -> str:
    """What tells this machine from others: memory is shared within it."""
    boot = ""
    with suppress(OSError), open("/proc/sys/kernel/random/boot_id") as file:
        boot = file.read().strip()
    return f"{socket.gethostname()} {boot}"


def join(mesh: Mesh, name: str, timeout: timedelta) -> World | None:
    """The MPI world of the processes of a mesh; None where they exchange data over TCP.

    Raises RuntimeError where there is no MPI and the processes are on several hosts.
    """
    if mesh.size == 1:
        return None
    own = {
        "host": host_name(),
        "mpi": library().version if library() else "",  # type: ignore[union-attr]
        "why": why_not(),
        "state": [_state.name, _state.rank, _state.size] if _state else None,
        "failed": bool(_state and _state.failed),
        "alone": bool(library() and _state is None and library().mpi.Is_initialized()),  # type: ignore[union-attr]
        "starts": bool(library() and library().starts_anywhere),  # type: ignore[union-attr]
        "nonce": os.urandom(8).hex(),
    }
    everyone = [json.loads(part) for part in mesh.exchange(f"{name}/mpi".encode(), json.dumps(own), timeout)]
    reason = _why_tcp(everyone)
    if reason:
        _stay_with_tcp(mesh, everyone, reason)
        return None
    found = library()
    assert found is not None
    if everyone[0]["state"] is None:
        _start(found, mesh, everyone, name, timeout)
        ranks = list(range(mesh.size))
    else:
        ranks = [each["state"][1] for each in everyone]
    return World(found, mesh, ranks, [each["host"] for each in everyone], name, timeout)


def _why_tcp(everyone: list[dict[str, Any]]) -> str:
    """Why these processes cannot use MPI together, or ''."""
    for rank, each in enumerate(everyone):
        if not each["mpi"]:
            return f"process {rank} has no MPI ({each['why']})"
        if each["mpi"] != everyone[0]["mpi"]:
            return f"process 0 has {everyone[0]['mpi']}, process {rank} has {each['mpi']}"
        if each["alone"]:
            return f"process {rank} had started MPI before, by itself: `from mpi4py import MPI` does"
        if each["failed"]:
            return "a process of the MPI world that they were started in has died"
    states = [each["state"] for each in everyone]
    if all(state is None for state in states):
        return "" if everyone[0]["starts"] else f"{everyone[0]['mpi']} starts by its own launcher only (mpiexec, srun)"
    if any(state is None or state[0] != states[0][0] for state in states):  # type: ignore[index]
        return "some of them were in an MPI world before, which others do not belong to"
    if len({state[1] for state in states}) < len(states):
        return "two of them have the same rank in their MPI world"
    return ""


def _stay_with_tcp(mesh: Mesh, everyone: list[dict[str, Any]], reason: str) -> None:
    hosts = sorted({each["host"].partition(" ")[0] for each in everyone})
    wished = all(each["why"].startswith("RUSHLIGHT_MPI=0") for each in everyone)
    if len({each["host"] for each in everyone}) > 1 and not wished:
        raise RuntimeError(
            f"processes on several hosts ({', '.join(hosts)}) exchange data by MPI, which is missing: {reason}. "
            f"{_EXTRA} on all of them."
        )
    if mesh.rank == 0 and not wished:
        advice = f" {_EXTRA}" if not all(each["mpi"] for each in everyone) else ""
        warnings.warn(
            f"torch.distributed: data goes over TCP, more slowly than by MPI: {reason}.{advice}", stacklevel=4
        )


def _start(found: Library, mesh: Mesh, everyone: list[dict[str, Any]], name: str, timeout: timedelta) -> None:
    """MPI_Init in all processes of the mesh."""
    global _state
    remove_stale()
    number = iter(range(1 << 30))

    def exchange(table: dict[str, str]) -> dict[str, str]:
        key = f"{name}/pmi/{next(number)}".encode()
        tables = mesh.exchange(key, json.dumps(table), timeout)
        return {k: v for text in tables for k, v in json.loads(text).items()}

    job = f"rushlight-{handshake.job_name()[:100]}-{everyone[0]['nonce']}".replace(" ", "_").replace("=", "_")
    server = PmiServer(mesh.rank, mesh.size, job, [each["host"] for each in everyone], exchange)
    try:
        with server.in_environment():
            guarded(mesh, found.start, timeout, "starting MPI")
        mesh.exchange(f"{name}/started".encode(), "", timeout)
    finally:
        remove_own_names()  # all have the memory by now, and a job that is killed later leaves no name behind
    _state = _State(job, mesh.rank, mesh.size)


def guarded(mesh: Mesh, call: Callable[[], Any], timeout: timedelta, what: str) -> Any:
    """What a call that may wait for other processes returns. Raises DistBackendError when one of them dies meanwhile."""
    return in_time(call, timeout, what, lambda: mesh.trouble(b"", range(mesh.size)), mesh.last_calls)


def in_time(
    call: Callable[[], Any], timeout: timedelta, what: str, trouble: Callable[[], str | None], late: Callable[[], str]
) -> Any:
    """What a call returns that Python cannot interrupt. Raises DistBackendError for a trouble meanwhile, or when it is late."""
    outcome: list[Any] = []
    done = threading.Event()

    def run() -> None:
        try:
            outcome.extend((call(), None))
        except BaseException as error:
            outcome.extend((None, error))
        done.set()

    threading.Thread(target=run, daemon=True, name="rushlight-mpi").start()
    deadline = time.monotonic() + timeout.total_seconds()
    while not done.wait(0.05):
        problem = trouble()
        if not problem and time.monotonic() > deadline:
            problem = f"no end within {timeout.total_seconds():g} s. {late()}"
        if problem:
            raise DistBackendError(f"{what}: {problem}")
    value, error = outcome
    if error is not None:
        raise error
    return value


def _own_names() -> set[str]:
    """The files of MPICH's shared memory that this process uses."""
    with suppress(OSError), open("/proc/self/maps") as file:
        return {word for line in file for word in line.split() if word.startswith(_SHARED)}
    return set()


def remove_own_names() -> None:
    """Remove the names of this process's shared memory: it stays as long as a process uses it."""
    for path in _own_names():
        with suppress(OSError):  # another process was first
            os.unlink(path)


def remove_stale() -> None:
    """Remove shared memory that jobs of this user have left which were killed while they started."""
    old = []
    for path in glob.glob(f"{_SHARED}*"):
        with suppress(OSError):
            about = os.stat(path)
            if about.st_uid == os.getuid() and time.time() - about.st_mtime > _STALE_S:
                old.append(path)
    if not old:
        return
    used: set[str] = set()
    for process in glob.glob("/proc/[0-9]*/maps"):
        with suppress(OSError), open(process) as file:
            used.update(word for line in file for word in line.split() if word.startswith(_SHARED))
    for path in set(old) - used:
        with suppress(OSError):
            os.unlink(path)


class World:
    """The MPI processes behind a mesh, with their ranks in MPI's world and their hosts: groups get their communicators here."""

    def __init__(self, found: Library, mesh: Mesh, ranks: list[int], hosts: list[str], name: str, timeout: timedelta):
        self.library, self.mesh, self.ranks, self.hosts, self.name = found, mesh, ranks, hosts, name
        self.watch = Watch(mesh)
        self._own = self._wire(list(range(mesh.size)), f"{name}/control", timeout)

    def wire(self, members: list[int], name: str, timeout: timedelta) -> Wire:
        """The connections of a group of processes, given by their ranks in the mesh: each of them has to ask for it."""
        wire = self._wire(members, name, timeout)

        def part(some: list[int], what: str) -> Wire:
            made = self._wire(some, f"{name}/{what}", timeout, members)
            made.in_background = lambda: wire.in_background()
            made.is_local = lambda: all(m == self.mesh.rank or self.mesh.is_beside(m) for m in some)
            return made

        wire.host_sums = HostSums.make(wire, by_host(members, self.hosts), part)
        return wire

    def _wire(self, members: list[int], name: str, timeout: timedelta, watched: list[int] | None = None) -> Wire:
        mpi = self.library.mpi
        tag = int.from_bytes(name.encode(), "little") % 32749

        def create() -> Any:
            everyone = mpi.COMM_WORLD.Get_group()
            return mpi.COMM_WORLD.Create_group(everyone.Incl([self.ranks[m] for m in members]), tag)

        communicator = guarded(self.mesh, create, timeout, "making a communicator")
        communicator.Set_errhandler(mpi.ERRORS_RETURN)
        spans_hosts = len(by_host(members, self.hosts)) > 1
        return Wire(self.library, self.mesh, communicator, members, self.watch, spans_hosts, watched)

    def leave(self, by_error: bool = False) -> None:
        """Wait until the others have what this process has sent; not for long, since they may go on without it."""
        if by_error or self.mesh.trouble(b"", range(self.mesh.size)):
            give_up()
        else:
            self._own.settle(_LEAVE_S)
        self.watch.close()
