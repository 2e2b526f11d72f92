"""Processes that mpiexec, mpirun or srun has started: they know their ranks, and torch's variables are set from that.

Where the launcher is that of the MPI library, the processes' MPI world is there already; through it process 0 tells the
others where to meet it, and the job's key. Else the launcher only has numbered them, and they meet as under `env://`.
"""

from __future__ import annotations

import os
import re
import socket
import sys
from contextlib import suppress
from datetime import timedelta
from multiprocessing.util import Finalize

from . import start
from .library import Library, library

__all__ = ["enter"]

# launcher: variables of rank, number of processes, rank on this host, processes on this host
_LAUNCHERS = {
    "PMI": ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"),
    "Open MPI": (
        "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE",
    ),
    "Slurm": ("SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_NTASKS_PER_NODE"),
}  # fmt: skip
_OURS = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
_FIRST_PORT, _PORTS = 20_000, 10_000
_ABSENT = "A process of the job has ended before init_process_group, or does not come to it."


def enter(timeout: timedelta) -> None:
    """Set the variables of `env://` that are missing, where a launcher has numbered this process.

    Raises DistBackendError where the others do not come within the time.
    """
    for launcher, names in _LAUNCHERS.items():
        if "RANK" in os.environ or not {names[0], names[1]} <= os.environ.keys():
            continue
        found = library()
        fits = found is not None and {
            "PMI": found.starts_anywhere and bool({"PMI_FD", "PMI_PORT"} & os.environ.keys()),
            "Open MPI": not found.starts_anywhere,
        }.get(launcher, False)
        for ours, theirs in zip(_OURS, names, strict=True):
            if theirs in os.environ:
                os.environ.setdefault(ours, os.environ[theirs])
        if fits and int(os.environ["WORLD_SIZE"]) > 1:
            _meet_by_mpi(found, timeout)  # type: ignore[arg-type]
        else:
            os.environ.setdefault("MASTER_ADDR", _first_host(launcher))
            os.environ.setdefault("MASTER_PORT", str(_common_port(launcher)))


def _meet_by_mpi(found: Library, timeout: timedelta) -> None:
    """Start MPI, and get from process 0 what only one process can decide."""
    start.remove_stale()
    begun = found.mpi.Is_initialized()
    try:
        told = start.in_time(lambda: _told(found, begun), timeout, "starting MPI", lambda: None, lambda: _ABSENT)
    finally:
        start.remove_own_names()  # all have the memory by now, or none needs it any more
    if not begun:
        Finalize(None, _end, (found,), exitpriority=0)  # after what the groups do at the end
    world = found.mpi.COMM_WORLD
    start.started_by_launcher(told.pop("world"), world.Get_rank(), world.Get_size())
    for name, value in told.items():
        os.environ.setdefault(name, value)


def _told(found: Library, begun: bool) -> dict[str, str]:
    """What process 0 has decided. Waits for all others."""
    if not begun:
        found.start()
    world = found.mpi.COMM_WORLD
    hosts = world.allgather(start.host_name())
    return world.bcast(_decided(len(set(hosts)) > 1))


def _decided(several_hosts: bool) -> dict[str, str]:
    host = socket.gethostbyname(socket.gethostname()) if several_hosts else "127.0.0.1"
    with socket.create_server((host, 0)) as probe:
        port = probe.getsockname()[1]
    return {
        "MASTER_ADDR": os.environ.get("MASTER_ADDR", host),
        "MASTER_PORT": os.environ.get("MASTER_PORT", str(port)),
        "RUSHLIGHT_JOB_KEY": os.environ.get("RUSHLIGHT_JOB_KEY") or os.urandom(32).hex(),
        "RUSHLIGHT_JOB_ID": os.environ.get("RUSHLIGHT_JOB_ID") or os.urandom(4).hex(),
        "world": os.urandom(8).hex(),
    }


def _end(found: Library) -> None:
    """MPI_Finalize, which the launcher expects; where a process has died, or this one ends by an error, it would wait for ever."""
    by_error = getattr(sys, "last_value", None) is not None
    if not by_error and not start.has_failed() and not found.mpi.Is_finalized():
        found.c.MPI_Finalize()


def _first_host(launcher: str) -> str:
    """The host of process 0."""
    if launcher != "Slurm":
        return "127.0.0.1"
    names = os.environ.get("SLURM_STEP_NODELIST") or os.environ.get("SLURM_NODELIST") or "127.0.0.1"
    first = re.match(r"([^,\[]+)(?:\[(\d+))?", names)
    host = "".join(part or "" for part in first.groups()) if first else names
    with suppress(OSError):
        return "127.0.0.1" if host == socket.gethostname() and _on_one_host() else host
    return host


def _on_one_host() -> bool:
    return os.environ.get("SLURM_STEP_NUM_NODES", os.environ.get("SLURM_NNODES", "1")) == "1"


def _common_port(launcher: str) -> int:
    """A port that all processes of the job compute alike, and other jobs hardly."""
    if launcher == "Slurm":
        number = int(os.environ.get("SLURM_JOB_ID", 0)) * 97 + int(os.environ.get("SLURM_STEP_ID", 0))
    else:
        number = os.getppid()
    return _FIRST_PORT + number % _PORTS
