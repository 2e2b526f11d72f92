"""`torch.backends.nnpack`: NNPACK, which is not used."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["flags", "is_available", "set_flags"]


def is_available() -> bool:
    """Whether NNPACK computes: False."""
    return False


def set_flags(_enabled: bool) -> tuple[bool]:
    """Allow NNPACK or not: there is none to allow. Returns what it was."""
    return (False,)


@contextmanager
def flags(enabled: bool = False) -> Iterator[None]:
    """Within the context NNPACK is allowed or not."""
    set_flags(enabled)
    yield
