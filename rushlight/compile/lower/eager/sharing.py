"""The units of an eager kernel, shared between threads in pieces.

A thread takes the next piece when it is done with one: a core that something else keeps busy delays the others by no more
than its piece.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....backend.onednn.threads import settled_threads
from ....core.foreign import ctypes
from ....core.locks import made_once
from ..llvm import parallel

__all__ = ["pieces", "run"]

_PARALLEL_NS, _PIECE_NS = 20_000, 5_000  # less work is not worth waking a thread for, and no piece is shorter


def pieces(units: int, work_ns: float, piece_ns: float = _PIECE_NS) -> int:
    """Into how many pieces so much work is divided."""
    return min(units, int(work_ns / piece_ns)) if work_ns >= _PARALLEL_NS else 1


def run(function: int, table: Any, units: int, count: int) -> None:
    """Call the function at an address, `void (table, from, to)`, for all units, in so many pieces."""
    if count > 1:
        settled_threads()
    _share()(function, table, units, 1, count)


@made_once
def _share() -> Callable[..., None]:
    """`pool_share` of `llvm/pool_loops.py`."""
    kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int)
    return kind(parallel.share_address())
