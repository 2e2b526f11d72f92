"""Seeds of device generators. Where there is no device, seeds are accepted and reach no generator, as in torch."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .._stand_ins import lookup, stand_in


def manual_seed(seed: int) -> None:
    """Seed the selected device's generator; without a device there is none."""
    int(seed)


def manual_seed_all(seed: int) -> None:
    """Seed every device's generator; without a device there is none."""
    int(seed)


def seed() -> None:
    """Seed the selected device's generator at random; without a device there is none."""


def seed_all() -> None:
    """Seed every device's generator at random; without a device there is none."""


def get_rng_state_all() -> list[Any]:
    """The states of all devices' generators: none."""
    return []


def set_rng_state(new_state: Any, device: Any = "cuda") -> None:
    """Restore a device's generator; without a device there is none."""


def set_rng_state_all(new_states: Iterable[Any]) -> None:
    """Restore the generators of all devices; raises AssertionError where a state names a device that is absent."""
    if list(new_states):
        stand_in("cuda.random.get_rng_state")()


__getattr__, __dir__ = lookup(__name__)
