"""`torch.accelerator` where the CPU is all there is: no accelerator is available, and what needs one (`unavailable.py`) raises."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from ._stand_ins import lookup, stand_in
from .unavailable import exported

__all__ = [
    "current_accelerator",
    "current_device_idx",
    "device_count",
    "device_index",
    "is_available",
    "set_device_idx",
]
__all__ += exported("accelerator")


def is_available() -> bool:
    """Whether an accelerator can be used: False."""
    return False


def current_accelerator(check_available: bool = False) -> None:
    """The accelerator of this build as a device: None, there is none."""


def device_count() -> int:
    """How many accelerators there are: 0."""
    return 0


def current_device_idx() -> int:
    """Deprecated: `current_device_index`."""
    warnings.warn("Use `current_device_index` instead.", FutureWarning, stacklevel=2)
    return stand_in("accelerator.current_device_index")()


def set_device_idx(device: Any, /) -> None:
    """Deprecated: `set_device_index`."""
    warnings.warn("Use `set_device_index` instead.", FutureWarning, stacklevel=2)
    stand_in("accelerator.set_device_index")(device)


class device_index:
    """Context manager that selects an accelerator by index; None changes nothing, an index raises RuntimeError."""

    def __init__(self, device: int | None, /):
        self.idx = device

    def __enter__(self) -> None:
        if self.idx is not None:
            stand_in("accelerator.set_device_index")(self.idx)

    def __exit__(self, *error: object) -> None:
        pass


if not TYPE_CHECKING:  # else every name would be one of the module's
    __getattr__, __dir__ = lookup(__name__)
