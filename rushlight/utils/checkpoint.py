"""torch.utils.checkpoint's names."""

from typing import Any

from ..autograd.checkpoint import (
    CheckpointError,
    CheckpointFunction,
    check_backward_validity,
    checkpoint,
    checkpoint_sequential,
    detach_variable,
    noop_context_fn,
    set_checkpoint_debug_enabled,
    set_checkpoint_early_stop,
)

__all__ = [
    "CheckpointError",
    "CheckpointFunction",
    "check_backward_validity",
    "checkpoint",
    "checkpoint_sequential",
    "detach_variable",
    "get_device_states",
    "noop_context_fn",
    "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
    "set_device_states",
]


def get_device_states(*args: Any) -> tuple[list[int], list[Any]]:
    """The states of the random generators of the devices of tensors other than the CPU's: none."""
    return [], []


def set_device_states(devices: Any, states: Any, *, device_type: str | None = None) -> None:
    """Put such states back. Raises RuntimeError for a device, as there is none but the CPU."""
    if len(devices):
        raise RuntimeError(f"set_device_states: Rushlight has no device {list(devices)} with a generator of its own")
