"""What the C library does with freed memory: given back to the system, or kept for the next step."""

from __future__ import annotations

import os

from ...core.foreign import loaded_functions
from ...core.locks import made_once

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # mallopt's
_KEPT_BYTES = 1 << 30
_LARGEST_BYTES = 1 << 28
_LARGEST_BY_ITSELF = 1 << 25
_OF_THE_USER = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "MALLOC_TOP_PAD_")


def give_back() -> None:
    """Give freed memory back to the system, from the heap's gaps too."""
    trim = getattr(loaded_functions(), "malloc_trim", None)
    if trim is not None:
        trim(0)


def keep_some() -> None:
    """Let glibc start with the limits that it reaches by itself: 64 MB kept at the heap's end, blocks up to 32 MB in it.

    It starts with 128 KB and follows the largest block that was freed. Two such blocks at a time are more than it then keeps,
    and the kernel clears their pages in each call: a stack of 64 permuted images took 1.1 ms, 0.1 so.
    """
    _limit(_LARGEST_BY_ITSELF, 2 * _LARGEST_BY_ITSELF)


@made_once
def keep_freed() -> None:
    """Let glibc keep up to 1 GB of freed memory at the heap's end, as a loop asks for it again in each step.

    By itself it gives back what is beyond 64 MB, and all blocks above 32 MB. The kernel then has to clear the pages
    again: in GPT's step 500 of 2 MB, 13 to 42 of 340 ms.
    """
    _limit(_LARGEST_BYTES, _KEPT_BYTES)


def _limit(largest: int, kept: int) -> None:
    """Set the size from which blocks have memory of their own, and how much is kept. What the user set in the environment stays."""
    mallopt = getattr(loaded_functions(), "mallopt", None)
    if mallopt is None or any(name in os.environ for name in _OF_THE_USER):
        return
    if "glibc.malloc" in os.environ.get("GLIBC_TUNABLES", ""):
        return
    mallopt(_MMAP_THRESHOLD, largest)
    mallopt(_TRIM_THRESHOLD, kept)
