"""Python's collector of cyclic garbage, paused."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["FIRST", "Marker", "collection_paused"]


class Marker:
    """An object that the collector knows, by which `live_objects` tells where what was made before or after it is."""


# Made before any tensor. While the collector shows it, `gc.freeze()` has hidden no tensor. (Python 3.12 begins with 375
# frozen objects of its own.)
FIRST = Marker()


@contextmanager
def collection_paused() -> Iterator[None]:
    """No collection within, in any thread: for what makes many objects that stay, such as loading modules."""
    is_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if is_on:
            gc.enable()
