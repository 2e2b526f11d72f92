"""`torch.accelerator` where the CPU is all there is: no accelerator is available, and what needs one raises."""

from __future__ import annotations

import warnings
from typing import Any, NoReturn

__all__ = [
    "Graph",
    "current_accelerator",
    "current_device_idx",
    "current_device_index",
    "current_stream",
    "device_count",
    "device_index",
    "empty_cache",
    "empty_host_cache",
    "get_device_capability",
    "get_memory_info",
    "is_available",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "reset_accumulated_memory_stats",
    "reset_peak_memory_stats",
    "set_device_idx",
    "set_device_index",
    "set_stream",
    "synchronize",
]


def is_available() -> bool:
    """Whether an accelerator can be used: False."""
    return False


def current_accelerator(check_available: bool = False) -> None:
    """The accelerator of this build as a device: None, there is none."""


def device_count() -> int:
    """How many accelerators there are: 0."""
    return 0


def _needs_accelerator(name: str, doc: str) -> Any:
    def f(*arguments: Any) -> NoReturn:
        raise RuntimeError(
            f"Cannot access accelerator device when none is available. torch.accelerator.{name}() needs one: guard the "
            "call with torch.accelerator.is_available()."
        )

    f.__name__ = f.__qualname__ = name
    f.__doc__ = f"{doc} Raises RuntimeError: there is no accelerator."
    return f


current_device_index = _needs_accelerator("current_device_index", "The index of the selected accelerator.")
set_device_index = _needs_accelerator("set_device_index", "Select an accelerator.")
current_stream = _needs_accelerator("current_stream", "The selected stream of an accelerator.")
set_stream = _needs_accelerator("set_stream", "Select a stream.")
synchronize = _needs_accelerator("synchronize", "Wait for an accelerator's kernels.")
get_device_capability = _needs_accelerator("get_device_capability", "What an accelerator can do.")
get_memory_info = _needs_accelerator("get_memory_info", "Free and total bytes of an accelerator.")
empty_cache = _needs_accelerator("empty_cache", "Give cached memory back.")
empty_host_cache = _needs_accelerator("empty_host_cache", "Give cached pinned memory back.")
memory_allocated = _needs_accelerator("memory_allocated", "Bytes of an accelerator's memory in tensors.")
max_memory_allocated = _needs_accelerator("max_memory_allocated", "The maximum of `memory_allocated`.")
memory_reserved = _needs_accelerator("memory_reserved", "Bytes of an accelerator's memory held by the allocator.")
max_memory_reserved = _needs_accelerator("max_memory_reserved", "The maximum of `memory_reserved`.")
memory_stats = _needs_accelerator("memory_stats", "The allocator's counters.")
reset_peak_memory_stats = _needs_accelerator("reset_peak_memory_stats", "Reset the maxima.")
reset_accumulated_memory_stats = _needs_accelerator("reset_accumulated_memory_stats", "Reset the sums.")


def current_device_idx() -> int:
    """Deprecated: `current_device_index`."""
    warnings.warn("Use `current_device_index` instead.", FutureWarning, stacklevel=2)
    return current_device_index()


def set_device_idx(device: Any, /) -> None:
    """Deprecated: `set_device_index`."""
    warnings.warn("Use `set_device_index` instead.", FutureWarning, stacklevel=2)
    set_device_index(device)


class device_index:
    """Context manager that selects an accelerator by index; None changes nothing, an index raises RuntimeError."""

    def __init__(self, device: int | None, /):
        self.idx = device

    def __enter__(self) -> None:
        if self.idx is not None:
            set_device_index(self.idx)

    def __exit__(self, *error: object) -> None:
        pass


class Graph:
    """A recorded sequence of an accelerator's kernels. Raises RuntimeError: there is no accelerator."""

    def __init__(self, *arguments: Any, **keywords: Any):
        _needs_accelerator("Graph", "")()
