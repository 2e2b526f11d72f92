"""The memory of GPUs, as CuPy's pool counts it; where there is no GPU, nothing is allocated, and nothing can be limited."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from typing import Any

from ...backend import gpus
from .._stand_ins import lookup
from .selected import every_gpu, gpu, gpu_if_any


def empty_cache() -> None:
    """Give memory of GPUs that no tensor uses back to the driver."""
    for where in every_gpu():
        where.empty_cache()


def memory_allocated(device: Any = None) -> int:
    """Bytes of a GPU's memory in tensors: 0 where there is no GPU."""
    where = gpu_if_any(device)
    return 0 if where is None else where.memory()[0]


def memory_reserved(device: Any = None) -> int:
    """Bytes of a GPU's memory that the pool holds: 0 where there is no GPU."""
    where = gpu_if_any(device)
    return 0 if where is None else where.memory()[1]


def mem_get_info(device=None):
    """Free and total bytes of a GPU. Raises AssertionError where there is none."""
    return gpu(device, "cuda.memory.mem_get_info").memory()[2:]


def max_memory_allocated(device: Any = None) -> int:
    """The maximum of `memory_allocated`: 0 where there is no GPU. Raises NotImplementedError where there is one."""
    return _kept_by_no_pool("max_memory_allocated", 0)


def max_memory_reserved(device: Any = None) -> int:
    """The maximum of `memory_reserved`: 0 where there is no GPU. Raises NotImplementedError where there is one."""
    return _kept_by_no_pool("max_memory_reserved", 0)


def _kept_by_no_pool(name: str, nothing: Any) -> Any:
    if gpus.count():
        raise NotImplementedError(f"torch.cuda.{name} is not implemented: CuPy's pool keeps no counters of the past")
    return nothing


def memory_cached(device: Any = None) -> int:
    """The old name of `memory_reserved`."""
    _renamed("memory_cached", "memory_reserved")
    return memory_reserved(device)


def max_memory_cached(device: Any = None) -> int:
    """The old name of `max_memory_reserved`."""
    _renamed("max_memory_cached", "max_memory_reserved")
    return max_memory_reserved(device)


def _renamed(old: str, new: str) -> None:
    warnings.warn(f"`torch.cuda.{old}` has been renamed to `torch.cuda.{new}`", FutureWarning, stacklevel=3)


def memory_stats(device: Any = None) -> OrderedDict[str, int]:
    """The allocator's counters: none where there is no GPU. Raises NotImplementedError where there is one."""
    return _kept_by_no_pool("memory_stats", OrderedDict())


def memory_stats_as_nested_dict(device: Any = None) -> dict[str, Any]:
    """The allocator's counters: none where there is no GPU. Raises NotImplementedError where there is one."""
    return _kept_by_no_pool("memory_stats", {})


host_memory_stats_as_nested_dict = memory_stats_as_nested_dict


def host_memory_stats() -> dict[str, Any]:
    """The counters of pinned memory: none."""
    return {}


def caching_allocator_enable(value: bool = True) -> None:
    """Let the allocator keep freed memory; there is no device memory."""


__getattr__, __dir__ = lookup(__name__)
