"""`torch.random`: the default generator by functions."""

from __future__ import annotations

from contextlib import contextmanager

from ..core.device.devices import device
from ..core.random import continue_from, default_generator, initial_seed, manual_seed, seed, states
from ..ops.random.sample import get_rng_state, set_rng_state

__all__ = ["default_generator", "fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state"]


@contextmanager
def fork_rng(devices=None, enabled=True, device_type="cuda"):
    """Within the block draws go on as usual; after it the default stream, and those of devices in use, are as before it.

    devices: those of `device_type`, by index or name; by default all.
    """
    if not enabled:
        yield
        return
    named = None if devices is None else {_index(d) for d in devices}
    before = states(lambda where: where.device.type == device_type and (named is None or where.device.index in named))
    try:
        yield
    finally:
        continue_from(before)


def _index(where):
    return where if isinstance(where, int) else device(where).index or 0
