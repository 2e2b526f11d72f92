"""Places for the nodes of an acyclic graph: in layers from top to bottom, with few crossings and straight lines.

Layers by the longest path to the end; order by repeated sorting by neighbours' mean places; distances by least squares.
Source: Sugiyama, Tagawa and Toda, Methods for visual understanding of hierarchical system structures, 1981.

An edge over several layers is a chain of points, one a layer. The edges of a node share one chain, which ends branch off, so
that a parameter that a thousand steps use costs a thousand points and not half a million.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Layout", "arrange"]

_SWEEPS, _WORK = 12, 24_000  # downward or upward, at most; and nodes times sweeps, for large graphs
_GAP = 18.0  # between neighbours in a layer
_LAYER_GAP = 34.0  # between layers
_LINE = 6.0  # width of a chain's point


@dataclass
class Layout:
    """Where everything is. Places are those of centres, from the upper left corner.

    Attributes:
        nodes: (x, y) of each node.
        lines: (x0, y0, x1, y1, whether it is a bend, edge) of each piece of an edge: from the bottom of a layer to the top
            of the next, or straight through a layer; `edge` is the number of the edge that ends there in a node, else None.
        width, height: of the whole.
    """

    nodes: list[tuple[float, float]]
    lines: list[tuple[float, float, float, float, int | None]]
    width: float
    height: float


def arrange(sizes: Sequence[tuple[float, float]], edges: Sequence[tuple[int, int]]) -> Layout:
    """The layout of nodes of these sizes (width, height), for edges (from, to), which form no circle."""
    graph = _Graph(sizes, edges)
    graph.order()
    return graph.layout()


class _Graph:
    """The nodes and the chains' points, by number: points come after the nodes."""

    def __init__(self, sizes: Sequence[tuple[float, float]], edges: Sequence[tuple[int, int]]):
        self.sizes = list(sizes)
        self.count = len(sizes)
        self.rank = _ranks(self.count, edges)
        self.above: list[list[int]] = [[] for _ in sizes]
        self.below: list[list[int]] = [[] for _ in sizes]
        self.ends: dict[tuple[int, int], int] = {}  # the edge's number by its last piece
        self._chains(edges)
        self.layers: list[list[int]] = [[] for _ in range(max(self.rank, default=0) + 1)]
        for n, rank in enumerate(self.rank):
            self.layers[rank].append(n)

    def _chains(self, edges: Sequence[tuple[int, int]]) -> None:
        last: dict[int, list[int]] = {}  # of each node: itself, and its chain's points
        for number in sorted(range(len(edges)), key=lambda n: self.rank[edges[n][1]]):
            start, end = edges[number]
            chain = last.setdefault(start, [start])
            while self.rank[chain[0]] + len(chain) < self.rank[end]:
                point = len(self.sizes)
                self.sizes.append((_LINE, 0.0))
                self.rank.append(self.rank[start] + len(chain))
                self.above.append([])
                self.below.append([])
                self._join(chain[-1], point)
                chain.append(point)
            before = chain[self.rank[end] - self.rank[start] - 1]
            if (before, end) not in self.ends:
                self._join(before, end)
            self.ends[before, end] = number

    def _join(self, upper: int, lower: int) -> None:
        self.below[upper].append(lower)
        self.above[lower].append(upper)

    def _sweeps(self) -> int:
        return max(2, min(_SWEEPS, _WORK // max(len(self.sizes), 1)))

    # ------------------------------------------------------------------------------------------------ order in layers

    def order(self) -> None:
        """Sort each layer by where its neighbours are, downward and upward in turn; the best order found stays."""
        best, least = [list(layer) for layer in self.layers], self._crossings()
        for sweep in range(self._sweeps()):
            if not least:
                break
            down = sweep % 2 == 0
            layers = self.layers[1:] if down else self.layers[-2::-1]
            before = self.layers[0] if down else self.layers[-1]
            for layer in layers:
                at = {n: i for i, n in enumerate(before)}
                neighbours = self.above if down else self.below
                own = {n: i for i, n in enumerate(layer)}
                means = {
                    n: sum(at[m] for m in neighbours[n]) / len(neighbours[n]) if neighbours[n] else own[n]
                    for n in layer
                }
                layer.sort(key=means.__getitem__)
                before = layer
            if (found := self._crossings()) < least:
                best, least = [list(layer) for layer in self.layers], found
        self.layers = best

    def _crossings(self) -> int:
        """How many pairs of lines cross."""
        total = 0
        for upper, lower in zip(self.layers, self.layers[1:]):
            at = {n: i for i, n in enumerate(lower)}
            ends = [end for n in upper for end in sorted(at[m] for m in self.below[n])]
            total += _inversions(ends, len(lower))
        return total

    # ---------------------------------------------------------------------------------------------------------- places

    def layout(self) -> Layout:
        """The places, for the order as it is."""
        x = self._columns()
        heights = [max((self.sizes[n][1] for n in layer), default=0.0) for layer in self.layers]
        tops, y = [], 0.0
        for height in heights:
            tops.append(y)
            y += height + _LAYER_GAP
        left = min((x[n] - self.sizes[n][0] / 2 for n in range(len(x))), default=0.0)
        right = max((x[n] + self.sizes[n][0] / 2 for n in range(len(x))), default=0.0)
        places = [(x[n] - left, tops[self.rank[n]] + heights[self.rank[n]] / 2) for n in range(len(x))]

        lines: list[tuple[float, float, float, float, int | None]] = []
        for n, (px, py) in enumerate(places):
            half = self.sizes[n][1] / 2
            bottom = tops[self.rank[n]] + heights[self.rank[n]]
            if n >= self.count:
                lines.append((px, tops[self.rank[n]], px, bottom, None))
            elif self.below[n] and bottom > py + half:
                lines.append((px, py + half, px, bottom, None))
            for m in self.below[n]:
                if m >= self.count:
                    lines.append((px, bottom, places[m][0], tops[self.rank[m]], None))
                else:
                    lines.append((px, bottom, places[m][0], places[m][1] - self.sizes[m][1] / 2, self.ends[n, m]))
        return Layout(places[: self.count], lines, right - left, max(y - _LAYER_GAP, 0.0))

    def _columns(self) -> list[float]:
        """The horizontal place of each node: near its neighbours, in order, without overlaps."""
        x = [0.0] * len(self.sizes)
        for layer in self.layers:
            at = 0.0
            for n in layer:
                x[n] = at + self.sizes[n][0] / 2
                at += self.sizes[n][0] + _GAP
        for sweep in range(self._sweeps()):
            down = sweep % 2 == 0
            neighbours = self.above if down else self.below
            for layer in self.layers if down else self.layers[::-1]:
                wanted, weights = [], []
                for n in layer:
                    near = neighbours[n] or (self.below if down else self.above)[n]
                    wanted.append(sum(x[m] for m in near) / len(near) if near else x[n])
                    weights.append(8.0 if n >= self.count else 1.0)  # long lines are straight first
                for n, place in zip(layer, _apart(wanted, weights, [self.sizes[n][0] for n in layer])):
                    x[n] = place
        return x


def _ranks(count: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """The layer of each node: the last ones are at the bottom, and all others just above what needs them first."""
    after: list[list[int]] = [[] for _ in range(count)]
    before: list[list[int]] = [[] for _ in range(count)]
    waiting = [0] * count
    for start, end in edges:
        before[end].append(start)
        after[start].append(end)
        waiting[start] += 1
    distance = [0] * count
    ready = [n for n in range(count) if not waiting[n]]
    done = 0
    while ready:
        n = ready.pop()
        done += 1
        for m in before[n]:
            distance[m] = max(distance[m], distance[n] + 1)
            waiting[m] -= 1
            if not waiting[m]:
                ready.append(m)
    if done < count:
        raise ValueError("arrange: the graph has a circle")
    deepest = max(distance, default=0)
    return [deepest - d for d in distance]


def _inversions(numbers: list[int], limit: int) -> int:
    """How many pairs are in falling order (numbers below the limit), counted in a Fenwick tree."""
    tree, total = [0] * (limit + 1), 0
    for seen, number in enumerate(numbers):
        i, smaller = number + 1, 0
        while i:
            smaller += tree[i]
            i &= i - 1
        total += seen - smaller
        i = number + 1
        while i <= limit:
            tree[i] += 1
            i += i & -i
    return total


def _apart(wanted: list[float], weights: list[float], widths: list[float]) -> list[float]:
    """The places nearest to those wanted (least squares) at which neighbours keep their distance.

    Without the distances that each needs from the first, it is a regression by a rising sequence: neighbours in the wrong
    order are joined into blocks at their mean (pool adjacent violators).
    """
    shifts, at = [], 0.0
    for n, width in enumerate(widths):
        at += (widths[n - 1] + width) / 2 + _GAP if n else 0.0
        shifts.append(at)
    blocks: list[list[float]] = []  # mean, weight, members
    for place, weight, shift in zip(wanted, weights, shifts):
        block = [place - shift, weight, 1.0]
        while blocks and blocks[-1][0] > block[0]:
            mean, heavy, members = blocks.pop()
            total = heavy + block[1]
            block = [(mean * heavy + block[0] * block[1]) / total, total, members + block[2]]
        blocks.append(block)
    means = [mean for mean, _, members in blocks for _ in range(int(members))]
    return [mean + shift for mean, shift in zip(means, shifts)]
