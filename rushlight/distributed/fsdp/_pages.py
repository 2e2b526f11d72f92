"""Memory that is given back to the system while its address stays: what a module's whole parameters are in.

A tape, a view or a program that has seen the parameters goes on to see the same address, which is filled again before it is
read. In between the pages take no memory.
"""

from __future__ import annotations

import mmap

import numpy as np

__all__ = ["Pages"]

_CAN_GIVE_BACK = hasattr(mmap, "MADV_DONTNEED") and hasattr(mmap, "MAP_ANONYMOUS")


class Pages:
    """`size_bytes` of memory, of zeros at first."""

    def __init__(self, size_bytes: int):
        self._map = None
        if _CAN_GIVE_BACK:
            self._map = mmap.mmap(-1, max(size_bytes, 1), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
            self.array = np.frombuffer(self._map, np.uint8)[:size_bytes]
        else:
            self.array = np.zeros(size_bytes, np.uint8)

    def give_back(self) -> None:
        """Free the memory; the array is of zeros (where the system has no such call: it stays as it is)."""
        if self._map is not None:
            self._map.madvise(mmap.MADV_DONTNEED)
