"""`torch.xpu` where there is no Intel GPU: questions are answered, seeds accepted, the rest raises and says why."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, NoReturn

from ._no_device import (  # noqa: F401  (public names)
    get_rng_state_all,
    manual_seed,
    manual_seed_all,
    seed,
    seed_all,
    set_rng_state,
    set_rng_state_all,
)


def is_available() -> bool:
    """Whether an Intel GPU can be used: False."""
    return False


def is_initialized() -> bool:
    """Whether it has been started: False."""
    return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether it computes in bfloat16: False."""
    return False


def is_tf32_supported() -> bool:
    """Whether it computes in TensorFloat32: False."""
    return False


def device_count() -> int:
    """How many Intel GPUs there are: 0."""
    return 0


def get_arch_list() -> list[str]:
    """The architectures that kernels were compiled for: none."""
    return []


def get_gencode_flags() -> str:
    """The compiler's flags for these architectures: none."""
    return ""


def empty_cache() -> None:
    """Give cached device memory back; there is none."""


def memory_allocated(device: Any = None) -> int:
    """Bytes of device memory: 0."""
    return 0


max_memory_allocated = memory_reserved = max_memory_reserved = memory_allocated


def memory_stats(device: Any = None) -> OrderedDict[str, int]:
    """The allocator's counters: none."""
    return OrderedDict()


def memory_stats_as_nested_dict(device: Any = None) -> dict[str, Any]:
    """The allocator's counters: none."""
    return {}


def _needs_device(name: str, doc: str) -> Any:
    def f(*arguments: Any, **keywords: Any) -> NoReturn:
        raise AssertionError(
            f"Torch not compiled with XPU enabled: there is no Intel GPU here, and torch.xpu.{name}() needs one. Guard "
            "the call with torch.xpu.is_available()."
        )

    f.__name__ = f.__qualname__ = name
    f.__doc__ = f"{doc} Raises AssertionError: there is no Intel GPU."
    return f


init = _needs_device("init", "Start the device.")
current_device = _needs_device("current_device", "The index of the selected device.")
set_device = _needs_device("set_device", "Select a device.")
get_device_name = _needs_device("get_device_name", "The name of a device.")
get_device_properties = _needs_device("get_device_properties", "What a device can do.")
get_device_capability = _needs_device("get_device_capability", "What a device can do.")
synchronize = _needs_device("synchronize", "Wait for a device's kernels.")
current_stream = _needs_device("current_stream", "The selected stream.")
set_stream = _needs_device("set_stream", "Select a stream.")
get_stream_from_external = _needs_device("get_stream_from_external", "A stream made elsewhere.")
get_rng_state = _needs_device("get_rng_state", "The state of a device's generator.")
initial_seed = _needs_device("initial_seed", "The seed of a device's generator.")
mem_get_info = _needs_device("mem_get_info", "Free and total bytes of a device.")
reset_peak_memory_stats = _needs_device("reset_peak_memory_stats", "Reset the maxima.")
reset_accumulated_memory_stats = _needs_device("reset_accumulated_memory_stats", "Reset the sums.")
set_per_process_memory_fraction = _needs_device("set_per_process_memory_fraction", "Limit this process's memory.")
get_per_process_memory_fraction = _needs_device("get_per_process_memory_fraction", "This process's limit.")
can_device_access_peer = _needs_device("can_device_access_peer", "Whether one device reads another's memory.")


class _NeedsDevice:
    def __init__(self, *arguments: Any, **keywords: Any):
        raise RuntimeError(
            f"Tried to instantiate dummy base class {type(self).__name__}: torch.xpu.{type(self).__name__} needs an "
            "Intel GPU, and there is none."
        )


class Stream(_NeedsDevice):
    """A queue of kernels. Raises RuntimeError: there is no Intel GPU."""


class Event(_NeedsDevice):
    """A mark in a stream. Raises RuntimeError: there is no Intel GPU."""


class device:
    """Context manager that selects a device by index; None or a negative index changes nothing, others raise."""

    def __init__(self, device: Any):
        index = getattr(device, "index", device)
        self.idx = -1 if device is None else index if isinstance(index, int) else 0

    def __enter__(self) -> None:
        if self.idx >= 0:
            set_device(self.idx)

    def __exit__(self, *error: object) -> None:
        pass


class stream:
    """Context manager that selects a stream; only None, which changes nothing, can be given without a device."""

    def __init__(self, stream: None):
        if stream is not None:
            set_stream(stream)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        pass


StreamContext = stream
default_generators = ()
