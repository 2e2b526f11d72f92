"""Where a value is stored when a program runs."""

from __future__ import annotations

from typing import Any

# ("arena", byte offset), ("table", slot), ("table", slot, byte offset) or ("address", number)
Place = tuple[Any, ...]


def shifted(place: Place, nbytes: int) -> Place:
    """The place so many bytes further on."""
    if not nbytes:
        return place
    if place[0] == "table":
        return ("table", place[1], nbytes + (place[2] if len(place) > 2 else 0))
    return (place[0], place[1] + nbytes)
