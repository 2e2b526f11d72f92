"""Scratchpads of the check build: filled before a primitive runs, and between guards that are checked after it."""

from __future__ import annotations

from ....backend.onednn.address import ALIGNMENT_BYTES, address
from ....core import poison
from ....core.foreign import ctypes

__all__ = ["Guarded"]

_CALL = ctypes.CFUNCTYPE(ctypes.c_int)


class Guarded:
    """Room for one primitive. `fill` and `check` are addresses of native functions `int f()`."""

    def __init__(self, size_bytes: int):
        self.buffer, self.start = poison.guarded(size_bytes, ALIGNMENT_BYTES)
        self.size_bytes = size_bytes
        self._functions = _CALL(self._fill), _CALL(self._check)
        self.fill, self.check = (ctypes.cast(f, ctypes.c_void_p).value or 0 for f in self._functions)

    @property
    def address(self) -> int:
        """Where the room begins."""
        return address(self.buffer) + self.start

    def _fill(self) -> int:
        poison.fill(self.buffer[self.start : self.start + self.size_bytes])
        return 0

    def _check(self) -> int:
        return 0 if poison.intact(self.buffer, self.start, self.size_bytes) else 1
