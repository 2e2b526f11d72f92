"""The answers of `torch.cpu`."""

from __future__ import annotations

from typing import Any


def is_available() -> bool:
    """Whether there is a CPU: True."""
    return True


def is_initialized() -> bool:
    """Whether it is ready: True."""
    return True


def device_count() -> int:
    """How many CPU devices there are: 1."""
    return 1


def current_device() -> str:
    """The CPU device in use: 'cpu'."""
    return "cpu"


def set_device(device: Any) -> None:
    """Does nothing: there is one CPU device."""


def synchronize(device: Any = None) -> None:
    """Does nothing: calls have finished when they return."""
