"""torch.utils.checkpoint's names."""

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
    "noop_context_fn",
    "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
]
