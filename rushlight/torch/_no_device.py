"""The generators of devices that are not there: seeds and states are accepted and mean nothing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def manual_seed(seed: int) -> None:
    """Seed the selected device's generator; without a device there is none."""
    int(seed)


manual_seed_all = manual_seed


def seed() -> None:
    """Seed a device's generator at random; without a device there is none."""


seed_all = seed


def get_rng_state_all() -> list[Any]:
    """The states of all devices' generators: none."""
    return []


def set_rng_state(new_state: Any, device: Any = None) -> None:
    """Restore a device's generator; without a device there is none."""


def set_rng_state_all(new_states: Iterable[Any]) -> None:
    """Restore the generators of all devices; there are none."""
    for state in new_states:
        set_rng_state(state)
