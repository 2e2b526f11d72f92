"""`torch.mps` where there is no Apple GPU: questions are answered, the rest (`unavailable.py`) raises and says why."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

from ._stand_ins import lookup, stand_in
from .unavailable import exported

__all__ = [
    "device_count",
    "event",
    "is_available",
    "manual_seed",
]
__all__ += exported("mps")


def is_available() -> bool:
    """Whether an Apple GPU can be used: False."""
    return False


def device_count() -> int:
    """How many Apple GPUs there are: 0."""
    return 0


def manual_seed(seed: int) -> None:
    """Seed the GPU's generator; without a GPU there is none."""
    int(seed)


event = SimpleNamespace(Event=stand_in("mps.Event"))
if not TYPE_CHECKING:  # else every name would be one of the module's
    __getattr__, __dir__ = lookup(__name__)
