"""In which order a recurrent layer's inputs get their gradients: torch's, which hooks on parameters can see.

A composed layer's come in the reverse order of its graph. torch's engine takes those of its LSTM operator from
`std::priority_queue`, in which all leaves are equal, so their order follows from how the heap moves its elements.
"""

from __future__ import annotations

from functools import cache

from ...core.tensor.node import Leaf, Node

# Positions of: input, h0, (c0,) weight_ih, weight_hh, bias_ih, bias_hh, (weight_hr)
COMPOSED_LSTM = (7, 6, 4, 5, 3, 2, 1, 0)
COMPOSED = (5, 3, 4, 2, 1, 0)
_ARRAYS = (0, 3, 4, 5, 6, 1, 2)  # the edges of torch's LSTM operator

_Entry = tuple[bool, int]  # whether it is a leaf, which comes before all other nodes; its position


def of_lstm(node: Node) -> tuple[int, ...]:
    """The positions of an LSTM operator's edges, in the order in which torch's engine takes them."""
    leaves = tuple(None if edge is None else type(edge) is Leaf for edge in node.edges[:7])
    return _taken(leaves, isinstance(node.saved, tuple) and node.saved[node.saved_names.index("reverse")] is True)


@cache
def _taken(leaves: tuple[bool | None, ...], is_reverse: bool) -> tuple[int, ...]:
    """leaves: whether each edge is a leaf, or None without one. A reversed layer comes before the forward one, which waits.

    Both share their input, whose turn is after the second of them.
    """
    heap: list[_Entry] = [(False, -1)] if is_reverse else []
    for position in _ARRAYS:
        if leaves[position] is not None and not (is_reverse and position == 0):
            _push(heap, (bool(leaves[position]), position))
    taken = [_pop(heap)[1] for _ in range(len(heap))]
    return (*(i for i in taken if i >= 0), *(i for i in range(8) if i not in taken))


def _push(heap: list[_Entry], entry: _Entry) -> None:
    """libstdc++'s push_heap, of entries of which only the first part is compared."""
    heap.append(entry)
    _raise(heap, len(heap) - 1, 0, entry)


def _raise(heap: list[_Entry], hole: int, top: int, entry: _Entry) -> None:
    while hole > top and heap[(hole - 1) // 2][0] < entry[0]:
        heap[hole] = heap[(hole - 1) // 2]
        hole = (hole - 1) // 2
    heap[hole] = entry


def _pop(heap: list[_Entry]) -> _Entry:
    """libstdc++'s pop_heap: the hole goes down to the end along the larger children, the second of equal ones."""
    last = heap.pop()
    if not heap:
        return last
    first, hole = heap[0], 0
    while (child := 2 * hole + 2) <= len(heap):
        if child == len(heap) or heap[child][0] < heap[child - 1][0]:
            child -= 1
        heap[hole] = heap[child]
        hole = child
    _raise(heap, hole, 0, last)
    return first
