"""How the lanes of a vector are arranged in memory, and which plain loads and stores reach them.

A pattern is the distance of every lane's element from the first lane's. Lanes that run along memory, or repeat what
is there, or take every second element of it, are cheaper by a few whole vectors and shuffles than by a gather.
"""

from __future__ import annotations

import functools
from bisect import bisect_left
from typing import NamedTuple

Pattern = tuple[int, ...]


@functools.cache
def pattern(stride: int, within: int, short: int, width: int) -> Pattern:
    """Of `width` lanes over two axes: `within` between the `short` points of the inner one, `stride` in the outer."""
    return tuple(i // short * stride + i % short * within for i in range(width))


@functools.cache
def is_plain(lanes: Pattern) -> bool:
    """Whether the lanes are neighbours in memory, in order."""
    return lanes == tuple(range(len(lanes)))


class Cover(NamedTuple):
    """Vectors of `size` elements from `starts` on, which hold all of a pattern. pick: (vector, element) of each lane."""

    size: int
    starts: tuple[int, ...]
    pick: tuple[tuple[int, int], ...]


@functools.cache
def cover(lanes: Pattern, width: int) -> Cover | None:
    """Loads for the lanes, none of them outside of the range between two lanes. None: a gather is cheaper."""
    wanted = sorted(set(lanes))
    span = wanted[-1] - wanted[0] + 1
    size = min(width, 1 << span.bit_length() - 1)
    starts: list[int] = []
    for x in wanted:
        if not starts or x >= starts[-1] + size:
            starts.append(min(x, wanted[-1] + 1 - size))
    if 2 * len(starts) > max(len(wanted), 2):
        return None
    place = [bisect_left(starts, x + 1) - 1 for x in lanes]
    return Cover(size, tuple(starts), tuple((p, x - starts[p]) for p, x in zip(place, lanes, strict=True)))


@functools.cache
def spread(lanes: Pattern, width: int) -> dict[int, Pattern] | None:
    """Stores under masks: from which lane (-1: none) each element of the vector at a start comes. None: a scatter."""
    least = min(lanes)
    found: dict[int, list[int]] = {}
    for i, x in enumerate(lanes):
        piece, element = divmod(x - least, width)
        found.setdefault(least + piece * width, [-1] * width)[element] = i
    return {s: tuple(f) for s, f in found.items()} if 2 * len(found) <= max(len(lanes), 2) else None


def price(lanes: Pattern, stored: bool) -> float:
    """Roughly how many instructions a load or store of the lanes takes."""
    width, wanted = len(lanes), len(set(lanes))
    if wanted == 1 and not stored:
        return 0.2
    if is_plain(lanes):
        return 1.0
    if stored:
        parts = spread(lanes, width)
        return width / 2 if parts is None else 2.0 * len(parts)
    found = cover(lanes, width)
    return wanted / 2 if found is None else 0.5 + len(found.starts)
