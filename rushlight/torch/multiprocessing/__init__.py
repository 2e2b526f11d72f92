"""`torch.multiprocessing`: Python's `multiprocessing`, with tensors that travel through shared memory (Linux).

A tensor that is sent to another process is moved into shared memory: both processes see the same values from then on.
"""

import multiprocessing
from multiprocessing import *  # noqa: F403

from . import reductions
from .reductions import init_reductions, watch_forks
from .spawn import (
    ProcessContext,
    ProcessException,
    ProcessExitedException,
    ProcessRaisedException,
    SpawnContext,
    spawn,
    start_processes,
)

__all__ = [
    "ProcessContext",
    "ProcessException",
    "ProcessExitedException",
    "ProcessRaisedException",
    "SpawnContext",
    "get_all_sharing_strategies",
    "get_sharing_strategy",
    "reductions",
    "set_sharing_strategy",
    "spawn",
    "start_processes",
]
__all__ += multiprocessing.__all__  # type: ignore[attr-defined]

_strategy = "file_descriptor"


def get_all_sharing_strategies() -> set[str]:
    """The ways to share memory: by descriptors of anonymous files, and the name that torch has for named files."""
    return {"file_descriptor", "file_system"}


def set_sharing_strategy(new_strategy: str) -> None:
    """Choose a way. Both use anonymous files here, which need no cleaning up. Raises AssertionError for another name."""
    global _strategy
    if new_strategy not in get_all_sharing_strategies():
        raise AssertionError(
            f"invalid sharing strategy {new_strategy!r}, expected one of {get_all_sharing_strategies()}"
        )
    _strategy = new_strategy


def get_sharing_strategy() -> str:
    """The way that was chosen."""
    return _strategy


init_reductions()
watch_forks()
