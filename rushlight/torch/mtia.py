"""`torch.mtia` where there is no MTIA device: questions are answered, seeds accepted, the rest (`unavailable.py`) raises and says why."""

from __future__ import annotations

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


if not TYPE_CHECKING:  # else every name would be one of the module's
    __getattr__, __dir__ = lookup(__name__)


class DeferredMtiaCallError(Exception):
    """A call that was kept until the device started has failed."""


class device:
    """Context manager that selects a device by index; None or a negative index changes nothing, others raise."""

    def __init__(self, device: Any):
        index = getattr(device, "index", device)
        self.idx = -1 if device is None else index if isinstance(index, int) else 0

    def __enter__(self) -> None:
        if self.idx >= 0:
            stand_in("mtia.set_device")(self.idx)

    def __exit__(self, *error: object) -> None:
        pass
