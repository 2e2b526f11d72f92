"""`torch.random`: the default generator by functions."""

from __future__ import annotations

from contextlib import contextmanager

from ..core.random import default_generator, initial_seed, manual_seed, seed
from ..ops.random.sample import get_rng_state, set_rng_state

__all__ = ["default_generator", "fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state"]


@contextmanager
def fork_rng(devices=None, enabled=True, device_type="cuda"):
    """Within the block draws go on as usual; after it the default generator is as it was before."""
    if not enabled:
        yield
        return
    state = get_rng_state()
    try:
        yield
    finally:
        set_rng_state(state)
