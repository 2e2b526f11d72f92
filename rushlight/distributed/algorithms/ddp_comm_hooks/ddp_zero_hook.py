"""Hooks that step a `ZeroRedundancyOptimizer` within the backward pass. torch refuses them for gloo, and so for CPUs."""

from __future__ import annotations

from typing import Any, NoReturn

from ...world import get_backend

__all__ = ["hook_with_zero_step", "hook_with_zero_step_interleaved"]


def hook_with_zero_step(hook: Any, ddp: Any, zero: Any, shard_buckets: bool = False) -> NoReturn:
    """Raises ValueError for an optimizer without overlap_with_ddp=True, else, as torch with gloo, RuntimeError."""
    if not zero._overlap_with_ddp:
        raise ValueError(
            "ZeroRedundancyOptimizer must be constructed with `overlap_with_ddp=True` to use this hook properly"
        )
    if get_backend(ddp.process_group) == "gloo":
        raise RuntimeError("Gloo backend using Overlapping DDP with ZeRO may meet hangs")
    raise NotImplementedError("steps of ZeroRedundancyOptimizer within the backward pass are not implemented")


hook_with_zero_step_interleaved = hook_with_zero_step
