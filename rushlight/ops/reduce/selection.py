"""libstdc++'s sort, partial sort and selection, and torch's own: where equal elements end up is their doing.

The functions move `places` with `keys`, from number `first` up to `last`; lists or, in generated code, memory. They are
written in the part of Python that `compile/lower/eager/selection.py` translates: whole numbers, `if` and `while`.
"""

# ruff: noqa: SIM102 - conditions that read elements are nested, so that what is outside is not read

from __future__ import annotations

from typing import Any

__all__ = ["FUNCTIONS", "KTH", "SORT", "TOP", "TOP_UNSORTED", "select"]

SORT, TOP, TOP_UNSORTED, KTH = 0, 1, 2, 3


def swap(keys: Any, places: Any, i: int, j: int) -> None:
    """Exchange two elements."""
    key = keys[i]
    keys[i] = keys[j]
    keys[j] = key
    place = places[i]
    places[i] = places[j]
    places[j] = place


def move(keys: Any, places: Any, i: int, j: int) -> None:
    """Put element j at i."""
    keys[i] = keys[j]
    places[i] = places[j]


def adjust_heap(keys: Any, places: Any, first: int, n: int, hole: int, key: int, place: int) -> None:
    """Fill a hole of a heap of n elements: the greater child moves up, then the element rises from where that ends."""
    top = hole
    child = hole
    while child < (n - 1) // 2:
        child = 2 * (child + 1)
        if keys[first + child] < keys[first + child - 1]:
            child = child - 1
        move(keys, places, first + hole, first + child)
        hole = child
    if n == n // 2 * 2:
        if child == (n - 2) // 2:
            child = 2 * child + 1
            move(keys, places, first + hole, first + child)
            hole = child
    goes_on = 1
    while goes_on == 1:
        goes_on = 0
        if hole > top:
            if keys[first + (hole - 1) // 2] < key:
                move(keys, places, first + hole, first + (hole - 1) // 2)
                hole = (hole - 1) // 2
                goes_on = 1
    keys[first + hole] = key
    places[first + hole] = place


def heap_select(keys: Any, places: Any, first: int, middle: int, last: int) -> None:
    """Bring the least elements to the front, as a heap."""
    n = middle - first
    parent = (n - 2) // 2
    while parent >= 0:
        adjust_heap(keys, places, first, n, parent, keys[first + parent], places[first + parent])
        parent = parent - 1
    i = middle
    while i < last:
        if keys[i] < keys[first]:
            key = keys[i]
            place = places[i]
            move(keys, places, i, first)
            adjust_heap(keys, places, first, n, 0, key, place)
        i = i + 1


def sort_heap(keys: Any, places: Any, first: int, last: int) -> None:
    """Sort a heap."""
    while last - first > 1:
        last = last - 1
        key = keys[last]
        place = places[last]
        move(keys, places, last, first)
        adjust_heap(keys, places, first, last - first, 0, key, place)


def cut(keys: Any, places: Any, first: int, last: int) -> int:
    """Where the part begins whose elements are not before the pivot, the median of three."""
    a = first + 1
    b = first + (last - first) // 2
    c = last - 1
    middle = a
    if keys[a] < keys[b]:
        if keys[b] < keys[c]:
            middle = b
        elif keys[a] < keys[c]:
            middle = c
    elif keys[a] >= keys[c]:
        middle = b
        if keys[b] < keys[c]:
            middle = c
    swap(keys, places, first, middle)
    low = first + 1
    high = last
    pivot = keys[first]
    found = -1
    while found < 0:
        while keys[low] < pivot:
            low = low + 1
        high = high - 1
        while pivot < keys[high]:
            high = high - 1
        if low >= high:
            found = low
        else:
            swap(keys, places, low, high)
            low = low + 1
    return found


def insertion_sort(keys: Any, places: Any, first: int, last: int) -> None:
    """Sort by insertion: equal elements keep their order."""
    i = first + 1
    while i < last:
        key = keys[i]
        place = places[i]
        to = i
        goes_on = 1
        while goes_on == 1:
            goes_on = 0
            if to > first:
                if key < keys[to - 1]:
                    move(keys, places, to, to - 1)
                    to = to - 1
                    goes_on = 1
        keys[to] = key
        places[to] = place
        i = i + 1


def depth_limit(n: int) -> int:
    """Twice the logarithm of n: how often a part is cut before a heap takes over."""
    depth = 0
    while n > 1:
        n = n // 2
        depth = depth + 2
    return depth


def cut_all(keys: Any, places: Any, first: int, last: int, depth: int) -> None:
    """std::sort down to parts of 16 elements."""
    while last - first > 16:
        if depth == 0:
            heap_select(keys, places, first, last, last)
            sort_heap(keys, places, first, last)
            last = first
        else:
            depth = depth - 1
            at = cut(keys, places, first, last)
            cut_all(keys, places, at, last, depth)
            last = at


def sort(keys: Any, places: Any, first: int, last: int) -> None:
    """std::sort."""
    cut_all(keys, places, first, last, depth_limit(last - first))
    insertion_sort(keys, places, first, last)


def nth_element(keys: Any, places: Any, first: int, nth: int, last: int) -> None:
    """std::nth_element."""
    depth = depth_limit(last - first)
    done = 0
    while last - first > 3:
        if depth == 0:
            heap_select(keys, places, first, nth + 1, last)
            swap(keys, places, first, nth)
            done = 1
            last = first
        else:
            depth = depth - 1
            at = cut(keys, places, first, last)
            if at <= nth:
                first = at
            else:
                last = at
    if done == 0:
        insertion_sort(keys, places, first, last)


def top(keys: Any, places: Any, first: int, n: int, k: int, is_sorted: int) -> None:
    """torch's topk: the k least come first."""
    if k * 64 <= n:
        heap_select(keys, places, first, first + k, first + n)
        sort_heap(keys, places, first, first + k)
    else:
        nth_element(keys, places, first, first + k - 1, first + n)
        if is_sorted == 1:
            sort(keys, places, first, first + k - 1)


def kth(keys: Any, places: Any, first: int, n: int, k: int) -> None:
    """torch's kthvalue: number k, from 1, is brought to its place."""
    low = first
    high = first + n - 1
    at = first + k - 1
    while high - low > 1:
        swap(keys, places, low + (high - low) // 2, low + 1)
        if keys[low + 1] > keys[high]:
            swap(keys, places, low + 1, high)
        if keys[low] > keys[high]:
            swap(keys, places, low, high)
        if keys[low + 1] > keys[low]:
            swap(keys, places, low, low + 1)
        i = low + 1
        j = high
        pivot = keys[low]
        goes_on = 1
        while goes_on == 1:
            i = i + 1
            while pivot > keys[i]:
                i = i + 1
            j = j - 1
            while keys[j] > pivot:
                j = j - 1
            goes_on = 0
            if j >= i:
                swap(keys, places, i, j)
                goes_on = 1
        swap(keys, places, low, j)
        if j <= at:
            low = i
        if j >= at:
            high = j - 1
    if high - low == 1:
        if keys[low] > keys[high]:
            swap(keys, places, low, high)


def select(keys: Any, places: Any, rows: int, n: int, k: int, how: int) -> None:
    """Bring each row of n elements into the order that torch leaves. how: 0 sort, 1 topk, 2 topk unsorted, 3 kthvalue."""
    row = 0
    while row < rows:
        first = row * n
        if how == 0:
            sort(keys, places, first, first + n)
        elif how == 3:
            kth(keys, places, first, n, k)
        else:
            top(keys, places, first, n, k, 2 - how)
        row = row + 1


FUNCTIONS = (
    swap, move, adjust_heap, heap_select, sort_heap, cut, insertion_sort, depth_limit, cut_all, sort, nth_element, top, kth,
    select,
)  # fmt: skip
