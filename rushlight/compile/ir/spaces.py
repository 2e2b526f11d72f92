"""Changing the space that a loop runs over: splitting and reordering axes, and following a load to where it was stored."""

from __future__ import annotations

from math import prod
from typing import NamedTuple

import numpy as np

from .expression import Expr, apply, const, gather, index, load
from .graph import Loop, Reduce, Ref, Store


def refine(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...] | None:
    """The coarsest shape into which both shapes can be split, or None. Axes of length 1 vanish."""
    if prod(a) != prod(b) or 0 in a:
        return None
    x, y = [n for n in a if n != 1], [n for n in b if n != 1]
    out: list[int] = []
    while x and y:
        m, n = x.pop(), y.pop()
        small, large = min(m, n), max(m, n)
        if large % small:
            return None
        out.append(small)
        if large != small:
            (x if m > n else y).append(large // small)
    return tuple(reversed(out))


def splits(space: tuple[int, ...], finer: tuple[int, ...]) -> list[tuple[int, ...]]:
    """For each axis of `space` the consecutive axes of `finer` that it becomes."""
    out: list[tuple[int, ...]] = []
    rest = list(finer)
    for n in space:
        parts: list[int] = []
        while prod(parts) < n:
            parts.append(rest.pop(0))
        out.append(tuple(parts))
    return out


class Change(NamedTuple):
    """A new space for an old one: for each old axis, (new axis, step) pairs and a start; what is not named is 0."""

    space: tuple[int, ...]
    axes: tuple[tuple[tuple[tuple[int, int], ...], int], ...]

    def ref(self, r: Ref) -> Ref:
        """An old window as the new space sees it."""
        strides, offset = [0] * len(self.space), r.offset
        for (parts, start), s in zip(self.axes, r.strides, strict=True):
            offset += start * s
            for axis, step in parts:
                strides[axis] += step * s
        return Ref(r.value, self.space, tuple(strides), offset)

    def position(self, old: int) -> Expr:
        """The position along an old axis."""
        parts, start = self.axes[old]
        total = const(start, np.int64)
        for axis, step in parts:
            here = index(axis) if step == 1 else apply("mul", index(axis), const(step, np.int64))
            total = here if total.op == "const" and not total.data else apply("add", total, here)
        return total

    def expr(self, e: Expr) -> Expr:
        """An old expression, at the new space's points."""

        def change(x: Expr) -> Expr | None:
            if x.op == "load":
                return load(self.ref(x.data))
            return self.position(x.data) if x.op == "index" else None

        return e.rebuild(change)


def splitting(space: tuple[int, ...], parts: list[tuple[int, ...]]) -> Change:
    """The change that splits each axis into `parts` (of the same product, outermost first)."""
    axes, new = [], []
    for n in parts:
        mapped = []
        for i, m in enumerate(n):
            mapped.append((len(new), prod(n[i + 1 :])))
            new.append(m)
        axes.append((tuple(mapped), 0))
    return Change(tuple(new), tuple(axes))


def reordering(space: tuple[int, ...], order: tuple[int, ...]) -> Change:
    """The change that puts old axis order[i] in place i; axes left out must have length 1."""
    axes = tuple(((((order.index(a), 1),), 0) if a in order else ((), 0)) for a in range(len(space)))
    return Change(tuple(space[a] for a in order), axes)


def changed(node: Loop | Reduce, change: Change) -> Loop | Reduce:
    """The same work over another space (one that the old maps onto point by point)."""
    if isinstance(node, Loop):
        return Loop(change.space, [Store(change.ref(s.ref), change.expr(s.expr), s.onto) for s in node.stores])
    axes = tuple(axis for a in node.axes for axis, _ in change.axes[a][0])
    strides = [0] * len(change.space)
    for a, s in zip(node.kept(), node.strides, strict=True):
        for axis, step in change.axes[a][0]:
            strides[axis] = step * s
    kept = tuple(s for i, s in enumerate(strides) if i not in axes)
    return Reduce(change.space, axes, node.kind, change.expr(node.expr), node.result, kept)


def squeezed(node: Loop | Reduce) -> Loop | Reduce:
    """Without axes of length 1. (A reduction along such axes alone keeps one.)"""
    kept = [i for i, n in enumerate(node.space) if n != 1]
    if isinstance(node, Reduce) and not any(a in kept for a in node.axes):
        kept = sorted({*kept, node.axes[-1]})
    if len(kept) == len(node.space):
        return node
    return changed(node, reordering(node.space, tuple(kept)))


def follow(ref: Ref, space: tuple[int, ...], stored: Ref) -> tuple[Change, Change] | None:
    """Where a load finds what a loop stored.

    ref: the load's window, over `space`; stored: the window, covering the value, that the loop stored through. Returns
    (how the loading space has to be split, where each of its points is in the storing space), or None.
    """
    order = sorted((i for i, n in enumerate(stored.shape) if n != 1), key=lambda i: -stored.strides[i])
    starts: dict[int, int] = {}
    rest = ref.offset
    for i in order:
        starts[i], rest = divmod(rest, stored.strides[i])
    if rest or any(starts[i] >= stored.shape[i] for i in order):
        return None
    parts: list[tuple[int, ...]] = []
    found: list[tuple[int, int]] = []  # for each new axis: (storing axis or -1, step)
    for n, s in zip(space, ref.strides, strict=True):
        if n == 1 or s == 0:
            parts.append((n,))
            found.append((-1, 0))
            continue
        pieces = _locate(n, s, order, stored, starts)
        if pieces is None:
            return None
        parts.append(tuple(m for m, _, _ in pieces))
        found += [(axis, step) for _, axis, step in pieces]
    split = splitting(space, parts)
    reach = dict(starts)
    for m, (axis, step) in zip(split.space, found, strict=True):
        if axis >= 0:
            reach[axis] += (m - 1) * step
    if any(reach[i] >= stored.shape[i] for i in order):
        return None
    axes = tuple(
        (tuple((new, step) for new, (axis, step) in enumerate(found) if axis == i), starts.get(i, 0))
        for i in range(len(stored.shape))
    )
    return split, Change(split.space, axes)


def _locate(n: int, s: int, order: list[int], stored: Ref, starts: dict[int, int]):
    """(length, storing axis, step) pieces, outermost first, of an axis of n points with stride s."""
    pieces: list[tuple[int, int, int]] = []
    for i in reversed(order):  # innermost in memory first
        size, stride = stored.shape[i], stored.strides[i]
        if s >= stride * size:
            continue
        if s < stride or s % stride:
            return None
        step = s // stride
        if starts[i] + (n - 1) * step < size:
            return [(n, i, step), *pieces]
        if step != 1 or starts[i] or n % size:
            return None
        pieces.insert(0, (size, i, 1))
        n //= size
        s = stride * size
        if n == 1:
            return pieces
    return None


def at(e: Expr, coordinates: tuple[Expr, ...]) -> Expr:
    """A loop's expression at computed coordinates: its loads become gathers."""

    def change(x: Expr) -> Expr | None:
        if x.op == "load":
            r = x.data
            kept = [i for i, (n, s) in enumerate(zip(r.shape, r.strides, strict=True)) if s and n != 1]
            window = Ref(r.value, tuple(r.shape[i] for i in kept), tuple(r.strides[i] for i in kept), r.offset)
            return gather(window, tuple(coordinates[i] for i in kept))
        return coordinates[x.data] if x.op == "index" else None

    return e.rebuild(change)
