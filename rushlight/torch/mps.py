"""`torch.mps` where there is no Apple GPU: questions are answered, the rest raises and says why."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, NoReturn

__all__ = [
    "Event",
    "compile_shader",
    "current_allocated_memory",
    "device_count",
    "driver_allocated_memory",
    "empty_cache",
    "event",
    "get_rng_state",
    "is_available",
    "load_metallib",
    "manual_seed",
    "profiler",
    "recommended_max_memory",
    "seed",
    "set_per_process_memory_fraction",
    "set_rng_state",
    "synchronize",
]


def is_available() -> bool:
    """Whether an Apple GPU can be used: False."""
    return False


def device_count() -> int:
    """How many Apple GPUs there are: 0."""
    return 0


def manual_seed(seed: int) -> None:
    """Seed the GPU's generator; without a GPU there is none."""
    int(seed)


def _needs_mps(name: str, doc: str, torch_word: str) -> Any:
    def f(*arguments: Any, **keywords: Any) -> NoReturn:
        raise RuntimeError(
            f"Cannot execute {torch_word}() without MPS backend. torch.mps.{name}() needs an Apple GPU: guard the call "
            "with torch.backends.mps.is_available()."
        )

    f.__name__ = f.__qualname__ = name.rpartition(".")[2]
    f.__doc__ = f"{doc} Raises RuntimeError: there is no Apple GPU."
    return f


synchronize = _needs_mps("synchronize", "Wait for the GPU's kernels.", "deviceSynchronize")
seed = _needs_mps("seed", "Seed the GPU's generator at random.", "getDefaultGenerator")
get_rng_state = _needs_mps("get_rng_state", "The state of the GPU's generator.", "getDefaultGenerator")
set_rng_state = _needs_mps("set_rng_state", "Restore the GPU's generator.", "getDefaultGenerator")
empty_cache = _needs_mps("empty_cache", "Give cached memory back.", "emptyCache")
set_per_process_memory_fraction = _needs_mps(
    "set_per_process_memory_fraction", "Limit this process's memory.", "setMemoryFraction"
)
current_allocated_memory = _needs_mps("current_allocated_memory", "Bytes in tensors.", "getCurrentAllocatedMemory")
driver_allocated_memory = _needs_mps("driver_allocated_memory", "Bytes held.", "getDriverAllocatedMemory")
recommended_max_memory = _needs_mps("recommended_max_memory", "Bytes to stay below.", "getRecommendedMaxMemory")
compile_shader = _needs_mps("compile_shader", "Compile Metal source.", "compileShader")
load_metallib = _needs_mps("load_metallib", "Load a compiled Metal library.", "loadMetallib")


class Event:
    """A mark in the GPU's queue. Raises RuntimeError: there is no Apple GPU."""

    def __init__(self, enable_timing: bool = False):
        _needs_mps("Event", "", "acquireEvent")()


event = SimpleNamespace(Event=Event)
profiler = SimpleNamespace(
    start=_needs_mps("profiler.start", "Start a trace.", "profilerStartTrace"),
    stop=_needs_mps("profiler.stop", "End a trace.", "profilerStopTrace"),
    profile=_needs_mps("profiler.profile", "Trace a block.", "profilerStartTrace"),
)
