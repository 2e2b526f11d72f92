"""What a launcher's command line says: machines, addresses, and the environment of the processes."""

from __future__ import annotations

import argparse
import os
import socket

__all__ = ["endpoint_of", "environment_of", "free_port", "local_size_of", "nodes_of"]


def nodes_of(args: argparse.Namespace) -> tuple[int, int]:
    """The least and the greatest number of machines that `--nnodes` allows. Raises ValueError for what is no such range."""
    least, _, most = str(args.nnodes).partition(":")
    numbers = int(least), int(most or least)
    if not 0 < numbers[0] <= numbers[1]:
        raise ValueError(f"--nnodes {args.nnodes}: expected a number of machines, or MIN:MAX")
    return numbers


def local_size_of(args: argparse.Namespace) -> int:
    """How many processes this machine starts."""
    return os.cpu_count() or 1 if args.nproc_per_node in ("auto", "cpu") else int(args.nproc_per_node)


def endpoint_of(args: argparse.Namespace) -> tuple[str, int]:
    """Where the processes, or the launchers, meet."""
    host, _, port = args.rdzv_endpoint.rpartition(":") if ":" in args.rdzv_endpoint else (args.rdzv_endpoint, "", "")
    return host or args.master_addr, int(port or args.master_port)


def environment_of(
    args: argparse.Namespace,
    attempt: int,
    master: tuple[str, int],
    group: tuple[int, int],
    local_size: int,
    world_size: int,
) -> dict[str, str]:
    """What each process of this machine finds in its environment. group: the machine's number, and how many there are."""
    environment = {
        **os.environ,
        "MASTER_ADDR": master[0],
        "MASTER_PORT": str(master[1]),
        "WORLD_SIZE": str(world_size),
        "LOCAL_WORLD_SIZE": str(local_size),
        "GROUP_RANK": str(group[0]),
        "GROUP_WORLD_SIZE": str(group[1]),
        "ROLE_NAME": args.role,
        "ROLE_WORLD_SIZE": str(world_size),
        "TORCHELASTIC_RUN_ID": str(args.rdzv_id),
        "TORCHELASTIC_RESTART_COUNT": str(attempt),
        "TORCHELASTIC_MAX_RESTARTS": str(args.max_restarts),
        "RUSHLIGHT_AGENT": str(os.getpid()),  # who looks after the processes
    }
    if local_size > 1:
        environment.setdefault("OMP_NUM_THREADS", "1")
    return environment


def free_port() -> int:
    """A port that nothing uses now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
