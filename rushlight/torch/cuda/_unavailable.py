"""Names of `torch.cuda` that few programs use: graphs, pools, the allocator's inner counters, the driver's figures."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from .absent import _NeedsDevice, needs_device

cudart = needs_device("cudart", "The CUDA runtime library.")
check_error = needs_device("check_error", "Raise for an error code of the CUDA runtime.")
current_solver_handle = needs_device("current_solver_handle", "The cuSOLVER handle.")
clock_rate = needs_device("clock_rate", "A device's clock, in MHz.")
power_draw = needs_device("power_draw", "A device's power, in mW.")
temperature = needs_device("temperature", "A device's temperature, in degrees Celsius.")
memory_usage = needs_device("memory_usage", "How busy a device's memory is, in per cent.")
device_memory_used = needs_device("device_memory_used", "Bytes of a device in use.")
get_allocator_backend = needs_device("get_allocator_backend", "The allocator's name.")
get_per_process_memory_fraction = needs_device("get_per_process_memory_fraction", "This process's limit.")
get_stream_from_external = needs_device("get_stream_from_external", "A stream made elsewhere.")
get_sync_debug_mode = needs_device("get_sync_debug_mode", "What synchronizing calls report.")
set_sync_debug_mode = needs_device("set_sync_debug_mode", "Let synchronizing calls report.")
graph_pool_handle = needs_device("graph_pool_handle", "A memory pool for graphs.")
is_current_stream_capturing = needs_device("is_current_stream_capturing", "Whether a graph is being captured.")
make_graphed_callables = needs_device("make_graphed_callables", "Callables that replay graphs.")
caching_allocator_alloc = needs_device("caching_allocator_alloc", "Allocate bytes.")
caching_allocator_delete = needs_device("caching_allocator_delete", "Free bytes.")
change_current_allocator = needs_device("change_current_allocator", "Use another allocator.")
reset_accumulated_memory_stats = needs_device("reset_accumulated_memory_stats", "Reset the sums.")
reset_accumulated_host_memory_stats = needs_device("reset_accumulated_host_memory_stats", "Reset the sums.")
reset_peak_host_memory_stats = needs_device("reset_peak_host_memory_stats", "Reset the maxima.")
use_mem_pool = needs_device("use_mem_pool", "Allocate from a pool.")


def is_tf32_supported() -> bool:
    """Whether the device computes in TensorFloat32: False."""
    return False


def list_gpu_processes(device: Any = None) -> str:
    """A table of the processes on a device, or why there is none."""
    return "no CUDA device is available"


def memory_stats_as_nested_dict(device: Any = None) -> dict[str, Any]:
    """The allocator's counters: none."""
    return {}


host_memory_stats_as_nested_dict = memory_stats_as_nested_dict


def host_memory_stats() -> dict[str, Any]:
    """The counters of pinned memory: none."""
    return {}


def caching_allocator_enable(value: bool = True) -> None:
    """Let the allocator keep freed memory; there is no device memory."""


class CudaError(RuntimeError):
    """An error code of the CUDA runtime."""

    def __init__(self, code: int):
        super().__init__(f"CUDA error {code}")


class DeferredCudaCallError(Exception):
    """A call that was kept until CUDA started has failed."""


class cudaStatus:
    """Codes of the CUDA runtime."""

    SUCCESS: int = 0
    ERROR_NOT_READY: int = 34


class CUDAGraph(_NeedsDevice):
    """Recorded kernels. Raises RuntimeError: there is no CUDA device."""


class graph(_NeedsDevice):
    """Context manager that records kernels. Raises RuntimeError: there is no CUDA device."""


class MemPool(_NeedsDevice):
    """A memory pool. Raises RuntimeError: there is no CUDA device."""


class CUDAPluggableAllocator(_NeedsDevice):
    """An allocator from a library. Raises RuntimeError: there is no CUDA device."""


class ExternalStream(_NeedsDevice):
    """A stream made elsewhere. Raises RuntimeError: there is no CUDA device."""


profiler = SimpleNamespace(
    start=needs_device("profiler.start", "Start NVIDIA's profiler."),
    stop=needs_device("profiler.stop", "Stop NVIDIA's profiler."),
    profile=needs_device("profiler.profile", "Profile a block."),
)
