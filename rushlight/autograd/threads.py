"""`torch.autograd.set_multithreading_enabled`: kept for those who ask; a backward pass runs on its caller's thread here."""

from __future__ import annotations

from typing import Any

__all__ = ["is_multithreading_enabled", "is_view_replay_enabled", "set_multithreading_enabled"]

_enabled = [True]


class set_multithreading_enabled:
    """Say whether torch may run a backward pass on several threads: from now on, or in the block. It changes nothing."""

    def __init__(self, mode: bool):
        self.before, self.mode = _enabled[0], mode
        _enabled[0] = mode

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        _enabled[0] = self.before

    def clone(self) -> Any:
        """Another one of the same mode."""
        return type(self)(self.mode)


def is_multithreading_enabled() -> bool:
    """What `set_multithreading_enabled` said last; True at first."""
    return _enabled[0]


def is_view_replay_enabled() -> bool:
    """False: histories of views that are written to are rebuilt by strides."""
    return False
