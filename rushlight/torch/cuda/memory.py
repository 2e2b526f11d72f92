"""Device memory where there is no device: nothing is allocated, and nothing can be limited."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from typing import Any

from .absent import needs_device


def empty_cache() -> None:
    """Give cached device memory back; there is none."""


def memory_allocated(device: Any = None) -> int:
    """Bytes of device memory in tensors: 0."""
    return 0


def memory_reserved(device: Any = None) -> int:
    """Bytes of device memory held by the allocator: 0."""
    return 0


max_memory_allocated = memory_allocated
max_memory_reserved = memory_reserved


def memory_cached(device: Any = None) -> int:
    """The old name of `memory_reserved`."""
    _renamed("memory_cached", "memory_reserved")
    return 0


def max_memory_cached(device: Any = None) -> int:
    """The old name of `max_memory_reserved`."""
    _renamed("max_memory_cached", "max_memory_reserved")
    return 0


def _renamed(old: str, new: str) -> None:
    warnings.warn(f"`torch.cuda.{old}` has been renamed to `torch.cuda.{new}`", FutureWarning, stacklevel=3)


def memory_stats(device: Any = None) -> OrderedDict[str, int]:
    """The allocator's counters: none."""
    return OrderedDict()


mem_get_info = needs_device("mem_get_info", "Free and total bytes of a device.")
memory_summary = needs_device("memory_summary", "The allocator's counters as a table.")
memory_snapshot = needs_device("memory_snapshot", "The allocator's segments.")
reset_peak_memory_stats = needs_device("reset_peak_memory_stats", "Reset the maxima.")
reset_max_memory_allocated = needs_device("reset_max_memory_allocated", "Reset the maxima.")
reset_max_memory_cached = needs_device("reset_max_memory_cached", "Reset the maxima.")
set_per_process_memory_fraction = needs_device("set_per_process_memory_fraction", "Limit this process's memory.")
