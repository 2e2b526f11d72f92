"""The random streams of GPUs. Where there is no GPU, seeds are accepted and reach no generator, as in torch."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .._stand_ins import lookup
from .selected import every_gpu, gpu, gpu_if_any


def manual_seed(seed: int) -> None:
    """Restart the first GPU's stream from a seed; without a GPU there is none."""
    seed, where = int(seed), gpu_if_any(None)
    if where is not None:
        where.manual_seed(seed)


def manual_seed_all(seed: int) -> None:
    """Restart every GPU's stream from a seed."""
    seed = int(seed)
    for where in every_gpu():
        where.manual_seed(seed)


def seed() -> None:
    """Restart the first GPU's stream from a seed of the operating system."""
    for where in every_gpu()[:1]:
        where.generator.seed()


def seed_all() -> None:
    """Restart every GPU's stream from one seed of the operating system."""
    for where in every_gpu()[:1]:
        manual_seed_all(where.generator.seed())


def initial_seed():
    """The seed from which the first GPU's stream started. Raises AssertionError where there is no GPU."""
    return gpu(None, "cuda.random.initial_seed").generator.initial_seed()


def get_rng_state(device="cuda"):
    """The state of a GPU's stream, a tensor of bytes. Raises AssertionError where there is no GPU."""
    return gpu(device, "cuda.random.get_rng_state").generator.get_state()


def get_rng_state_all() -> list[Any]:
    """The states of all GPUs' streams, tensors of bytes; an empty list where there is no GPU."""
    return [where.generator.get_state() for where in every_gpu()]


def set_rng_state(new_state: Any, device: Any = "cuda") -> None:
    """Restore a GPU's stream; without a GPU there is none."""
    where = gpu_if_any(device)
    if where is not None:
        where.generator.set_state(new_state)


def set_rng_state_all(new_states: Iterable[Any]) -> None:
    """Restore the streams of all GPUs; raises AssertionError where there is no GPU for a state."""
    for i, state in enumerate(new_states):
        gpu(i, "cuda.random.get_rng_state").generator.set_state(state)


__getattr__, __dir__ = lookup(__name__)
