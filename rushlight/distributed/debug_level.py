"""How much is checked while processes exchange data: TORCH_DISTRIBUTED_DEBUG, or what the program sets."""

from __future__ import annotations

import os
from enum import Enum, IntEnum

__all__ = ["DebugLevel", "get_debug_level", "set_debug_level", "set_debug_level_from_env"]


class DebugLevel(IntEnum):
    """OFF and INFO: calls are compared between processes now and then; DETAIL: each call is, before data moves."""

    OFF = 0
    INFO = 1
    DETAIL = 2

    __str__ = Enum.__str__


_level: DebugLevel | None = None  # until a group is made or a program sets it


def get_debug_level() -> DebugLevel:
    """The level. It has to be the same in all processes."""
    if _level is None:
        set_debug_level_from_env()
    return _level  # type: ignore[return-value]


def set_debug_level(level: DebugLevel) -> None:
    """Set the level, for all groups from their next call on."""
    global _level
    _level = DebugLevel(level)


def set_debug_level_from_env() -> None:
    """Set the level that TORCH_DISTRIBUTED_DEBUG names. Raises ValueError for a name that is none."""
    name = os.environ.get("TORCH_DISTRIBUTED_DEBUG", "OFF").upper()
    if name not in DebugLevel.__members__:
        raise ValueError("The value of TORCH_DISTRIBUTED_DEBUG must be OFF, INFO, or DETAIL.")
    set_debug_level(DebugLevel[name])


DebugLevel.__module__ = "torch.distributed.distributed_c10d"
