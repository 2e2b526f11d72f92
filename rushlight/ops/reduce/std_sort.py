"""The order in which std::sort leaves what nans make incomparable: torch's `mode` and `unique(dim=)` show it.

The algorithm is that of libstdc++: partitions by the median of three down to 16 elements, then insertion.
"""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["std_sort"]

_SHORT = 16


def std_sort(n: int, is_before: Callable[[int, int], bool]) -> list[int]:
    """The numbers below n, sorted by a relation that need not be an order."""
    order = list(range(n))
    _partition(order, 0, n, 2 * (n.bit_length() - 1), is_before)
    for i in range(n):
        x, place = order[i], i
        if i < _SHORT and is_before(x, order[0]):
            place = 0
        else:
            while place and is_before(x, order[place - 1]):
                place -= 1
        order[place : i + 1] = [x, *order[place:i]]
    return order


def _partition(order: list[int], first: int, last: int, depth: int, is_before: Callable[[int, int], bool]) -> None:
    while last - first > _SHORT and depth:  # std::sort goes on by a heap where partitions do not help
        depth -= 1
        cut = _cut(order, first, last, is_before)
        _partition(order, cut, last, depth, is_before)
        last = cut


def _cut(order: list[int], first: int, last: int, is_before: Callable[[int, int], bool]) -> int:
    """Where the part begins whose elements are not before the pivot."""
    a, b, c = first + 1, first + (last - first) // 2, last - 1
    x, y, z = order[a], order[b], order[c]
    if is_before(x, y):
        middle = b if is_before(y, z) else c if is_before(x, z) else a
    else:
        middle = a if is_before(x, z) else c if is_before(y, z) else b
    order[first], order[middle] = order[middle], order[first]
    pivot, low, high = order[first], first + 1, last
    while True:
        while low < last and is_before(order[low], pivot):
            low += 1
        high -= 1
        while high > first and is_before(pivot, order[high]):
            high -= 1
        if low >= high:
            return low
        order[low], order[high] = order[high], order[low]
        low += 1
