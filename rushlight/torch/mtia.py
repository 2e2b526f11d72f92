"""`torch.mtia` where there is no MTIA device: questions are answered, seeds accepted, the rest raises and says why."""

from __future__ import annotations

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
    """Whether an MTIA device can be used: False."""
    return False


def is_initialized() -> bool:
    """Whether it has been started: False."""
    return False


def is_bf16_supported() -> bool:
    """Whether MTIA devices compute in bfloat16: True, all of them do."""
    return True


def device_count() -> int:
    """How many MTIA devices there are: 0."""
    return 0


def memory_stats(device: Any = None) -> dict[str, Any]:
    """The allocator's counters: none."""
    return {}


def memory_allocated(device: Any = None) -> int:
    """Bytes of device memory: 0."""
    return 0


max_memory_allocated = memory_allocated


def reset_peak_memory_stats(device: Any = None) -> None:
    """Reset the maxima; there are none."""


def _needs_device(name: str, doc: str, error: type[Exception] = RuntimeError) -> Any:
    def f(*arguments: Any, **keywords: Any) -> NoReturn:
        words = "Torch not compiled with MTIA enabled" if error is AssertionError else "No MTIA backend"
        raise error(f"{words}: torch.mtia.{name}() needs a device. Guard the call with torch.mtia.is_available().")

    f.__name__ = f.__qualname__ = name
    f.__doc__ = f"{doc} Raises {error.__name__}: there is no MTIA device."
    return f


init = _needs_device("init", "Start the device.", AssertionError)
get_rng_state = _needs_device("get_rng_state", "The state of a device's generator.", AssertionError)
initial_seed = _needs_device("initial_seed", "The seed of a device's generator.", AssertionError)
synchronize = _needs_device("synchronize", "Wait for a device's kernels.")
current_device = _needs_device("current_device", "The index of the selected device.")
set_device = _needs_device("set_device", "Select a device.")
current_stream = _needs_device("current_stream", "The selected stream.")
default_stream = _needs_device("default_stream", "The stream selected at the start.")
set_stream = _needs_device("set_stream", "Select a stream.")
stream = _needs_device("stream", "Select a stream within a context.")
get_device_capability = _needs_device("get_device_capability", "What a device can do.")
get_device_properties = _needs_device("get_device_properties", "What a device can do.")
empty_cache = _needs_device("empty_cache", "Give cached memory back.")
snapshot = _needs_device("snapshot", "The allocator's segments.")
record_memory_history = _needs_device("record_memory_history", "Record allocations.")
attach_out_of_memory_observer = _needs_device("attach_out_of_memory_observer", "Be told when memory is full.")
Stream = _needs_device("Stream", "A queue of kernels.")
Event = _needs_device("Event", "A mark in a stream.")


class DeferredMtiaCallError(Exception):
    """A call that was kept until the device started has failed."""


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
