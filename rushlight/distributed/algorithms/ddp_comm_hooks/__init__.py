"""Ways to combine gradients, for `DistributedDataParallel.register_comm_hook`."""

from __future__ import annotations

from enum import Enum
from typing import Any

from . import debugging_hooks, default_hooks, post_localSGD_hook, powerSGD_hook

__all__ = [
    "DDPCommHookType",
    "debugging_hooks",
    "default_hooks",
    "post_localSGD_hook",
    "powerSGD_hook",
    "register_ddp_comm_hook",
]


class _Registration:
    """Registers a hook with a model. rank: of PowerSGD's approximation, whose state is made of the process group."""

    def __init__(self, hook: Any, rank: int | None = None):
        self.hook, self.rank = hook, rank

    def __call__(self, model: Any, state: Any) -> None:
        if self.rank is not None:
            state = powerSGD_hook.PowerSGDState(process_group=state, matrix_approximation_rank=self.rank)
        model.register_comm_hook(state, self.hook)


class DDPCommHookType(Enum):
    """The hooks by name; `value(model=, state=)` registers one. torch's hooks that quantize are not among them."""

    ALLREDUCE = _Registration(default_hooks.allreduce_hook)
    FP16_COMPRESS = _Registration(default_hooks.fp16_compress_hook)
    BF16_COMPRESS = _Registration(default_hooks.bf16_compress_hook)
    POWER_SGD = _Registration(powerSGD_hook.powerSGD_hook, 1)
    POWER_SGD_RANK2 = _Registration(powerSGD_hook.powerSGD_hook, 2)
    BATCHED_POWER_SGD = _Registration(powerSGD_hook.batched_powerSGD_hook, 1)
    BATCHED_POWER_SGD_RANK2 = _Registration(powerSGD_hook.batched_powerSGD_hook, 2)
    NOOP = _Registration(debugging_hooks.noop_hook)


def register_ddp_comm_hook(comm_hook_type: DDPCommHookType, model: Any, state: Any = None) -> None:
    """Register a hook with a `DistributedDataParallel` module.

    state: of PowerSGD hooks the process group, of others what they take.
    """
    comm_hook_type.value(model=model, state=state)
