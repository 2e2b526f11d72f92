"""`torch.xpu` where there is no Intel GPU: questions are answered, seeds accepted, the rest (`unavailable.py`) raises and says why."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from ._no_device import (  # noqa: F401  (public names)
    get_rng_state_all,
    manual_seed,
    manual_seed_all,
    seed,
    seed_all,
    set_rng_state,
    set_rng_state_all,
)
from ._stand_ins import lookup, stand_in


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


if not TYPE_CHECKING:  # else every name would be one of the module's
    __getattr__, __dir__ = lookup(__name__)


class device:
    """Context manager that selects a device by index; None or a negative index changes nothing, others raise."""

    def __init__(self, device: Any):
        index = getattr(device, "index", device)
        self.idx = -1 if device is None else index if isinstance(index, int) else 0

    def __enter__(self) -> None:
        if self.idx >= 0:
            stand_in("xpu.set_device")(self.idx)

    def __exit__(self, *error: object) -> None:
        pass


class stream:
    """Context manager that selects a stream; only None, which changes nothing, can be given without a device."""

    def __init__(self, stream: None):
        if stream is not None:
            stand_in("xpu.set_stream")(stream)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        pass


StreamContext = stream
default_generators = ()
