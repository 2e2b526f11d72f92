"""Device memory where there is no device: nothing is allocated, and nothing can be limited."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from typing import Any

from .._stand_ins import lookup


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


def memory_stats_as_nested_dict(device: Any = None) -> dict[str, Any]:
    """The allocator's counters: none."""
    return {}


host_memory_stats_as_nested_dict = memory_stats_as_nested_dict


def host_memory_stats() -> dict[str, Any]:
    """The counters of pinned memory: none."""
    return {}


def caching_allocator_enable(value: bool = True) -> None:
    """Let the allocator keep freed memory; there is no device memory."""


__getattr__, __dir__ = lookup(__name__)
