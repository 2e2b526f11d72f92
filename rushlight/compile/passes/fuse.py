"""Loops become nests: work over the same points runs together, each row while it is in the cache.

A nest has an outer space, whose points are independent, and an inner one. Reductions along the innermost memory (the
rows of softmax) and the loops around them share a nest with the rows outside. Reductions along other axes (the columns
of a bias' gradient) share one only with each other and with what runs once for each column.
"""

from __future__ import annotations

from math import prod

from ..ir.graph import Graph, Loop, Nest, Node, Reduce, Ref, Value
from ..ir.spaces import changed, refine, reordering, splits, splitting, squeezed

_LONGEST_ROW = 1 << 16
_SMALL = 1 << 14


def fuse(graph: Graph) -> Graph:
    """The graph with every loop and reduction in a nest."""
    groups: list[_Group | Node] = []
    maker: dict[Value, int] = dict.fromkeys((*graph.inputs, *graph.constants), -1)
    for node in _early_first(graph):
        if not isinstance(node, Loop | Reduce):
            groups.append(node)
            maker.update((v, len(groups) - 1) for v in node.writes())
            continue
        node = canonical(squeezed(node))
        earliest = max((maker[r.value] for r in node.reads()), default=-1)
        place = _join(groups, node, max(0, earliest))
        if place is None:
            groups.append(_Group(node))
            place = len(groups) - 1
        maker.update((v, place) for v in node.writes())
    needed = _read_outside(groups, graph)
    graph.nodes = [g.nest(needed) if isinstance(g, _Group) else g for g in groups]
    return graph


def _early_first(graph: Graph) -> list[Node]:
    """The nodes with small ones that need nothing but inputs in front: what waits for them can then join its own kind."""
    known: set[Value] = {*graph.inputs, *graph.constants}
    early, late = [], []
    for node in graph.nodes:
        small = isinstance(node, Loop | Reduce) and prod(node.space) <= _SMALL
        if small and all(r.value in known for r in node.reads()):
            known.update(node.writes())
            early.append(node)
        else:
            late.append(node)
    return early + late


def _join(groups: list, node: Loop | Reduce, earliest: int) -> int | None:
    """The index of the group that took the node, latest first."""
    for i in range(len(groups) - 1, earliest - 1, -1):
        if isinstance(groups[i], _Group) and groups[i].take(node):
            return i
    return None


def _read_outside(groups: list, graph: Graph) -> set[Value]:
    """The values that something outside of the group that makes them reads."""
    home = {v: i for i, g in enumerate(groups) if isinstance(g, _Group) for v in g.made}
    users: dict[Value, set[int]] = {}
    for i, g in enumerate(groups):
        for node in g.stages if isinstance(g, _Group) else (g,):
            for ref in node.reads():
                users.setdefault(ref.value, set()).add(i)
    inside = {v for v, where in users.items() if where == {home.get(v)}}
    return {ref.value for ref, _ in graph.outputs} | {v for v, *_ in graph.checks} | (users.keys() - inside)


def canonical(node: Loop | Reduce) -> Loop | Reduce:
    """The node with its axes in the order of memory: those that a reduction keeps before those that it reduces."""
    if isinstance(node, Loop):
        ref = node.stores[0].ref
        order = sorted(range(len(node.space)), key=lambda i: -ref.strides[i])
    else:
        weight = _memory_order(node)
        kept = [i for i in range(len(node.space)) if i not in node.axes]
        order = kept + sorted(node.axes, key=weight)
    return changed(node, reordering(node.space, tuple(order))) if order != list(range(len(order))) else node


def _memory_order(node: Reduce):
    """A key that sorts axes by the largest stride that a load has along them, farthest first."""
    loads = [r for r in node.expr.loads() if r.shape == node.space]
    if not loads or node.kind.startswith("arg"):
        return lambda i: i
    return lambda i: (-max(r.strides[i] for r in loads), i)


def _is_row(node: Reduce) -> bool:
    """Whether the reduced axes are the innermost in memory."""
    loads = [r for r in node.expr.loads() if r.shape == node.space]
    kept = len(node.space) - len(node.axes)
    for r in loads:
        inner = [s for s in r.strides[kept:] if s]
        outer = [s for s, n in zip(r.strides[:kept], r.shape, strict=False) if s and n > 1]
        if inner and outer and min(outer) < min(inner):
            return False
    return True


class _Group:
    """A nest in the making. `outer` and `inner` are refined as stages join; every stage is over one or both."""

    def __init__(self, node: Loop | Reduce):
        self.stages: list[Loop | Reduce] = [node]
        self.made: dict[Value, Loop | Reduce] = dict.fromkeys(node.writes(), node)
        self.rows = True
        self.partial = isinstance(node, Loop) and any(s.onto is not None for s in node.stores)
        if isinstance(node, Reduce):
            kept = len(node.space) - len(node.axes)
            self.outer, self.inner = node.space[:kept], node.space[kept:]
            self.rows = _is_row(node)
        else:
            self.outer, self.inner = node.space, ()

    def take(self, node: Loop | Reduce) -> bool:
        """Make the node a stage, if it fits and shares something with those there."""
        if self.partial or (isinstance(node, Loop) and any(s.onto is not None for s in node.stores)):
            return False
        if not self._shares(node):
            return False
        plan = self._plan_reduce(node) if isinstance(node, Reduce) else self._plan_loop(node)
        if plan is None:
            return False
        outer, inner, node = plan
        stages = self._over(outer, inner)
        if stages is None:
            return False
        made = {v: stage for stage in stages for v in stage.writes()}
        if not all(_same_point(r, made, len(outer)) for r in node.reads()) or _looks_up(node, made):
            return False
        if prod(inner) > _LONGEST_ROW and any(r.value in made for r in node.reads()):
            return False
        self.outer, self.inner = outer, inner
        self.stages = [*stages, node]
        self.made = {**made, **dict.fromkeys(node.writes(), node)}
        return True

    def _shares(self, node: Loop | Reduce) -> bool:
        mine = {r.value for stage in self.stages for r in stage.reads()} | set(self.made)
        return any(r.value in mine for r in node.reads())

    # --------------------------------------------------------------------------------------------- spaces

    def _plan_reduce(self, node: Reduce):
        """(outer, inner, the node over them) where a reduction joins."""
        kept = len(node.space) - len(node.axes)
        outer, inner = node.space[:kept], node.space[kept:]
        rows = _is_row(node)
        if not self.inner and self.outer:
            if not rows:
                return None
            whole = refine(self.outer, outer + inner)
            if whole is None:
                return None
            at = _boundary(whole, prod(outer))
            if at is None:
                return None
            new_outer, new_inner = whole[:at], whole[at:]
        else:
            if rows != self.rows:
                return None
            new_outer, new_inner = refine(self.outer, outer), refine(self.inner, inner)
            if new_outer is None or new_inner is None:
                return None
        if not new_inner:
            return None
        return new_outer, new_inner, _split(node, new_outer + new_inner)

    def _plan_loop(self, node: Loop):
        total = prod(node.space)
        if total == prod(self.outer) * prod(self.inner) and self.rows:
            whole = refine(self.outer + self.inner, node.space)
            at = None if whole is None else _boundary(whole, prod(self.outer))
            if whole is not None and at is not None:
                return whole[:at], whole[at:], _split(node, whole)
        if self.inner and total == prod(self.outer):
            outer = refine(self.outer, node.space)
            if outer is not None:
                return outer, self.inner, _split(node, outer)
        return None

    def _over(self, outer: tuple[int, ...], inner: tuple[int, ...]) -> list[Loop | Reduce] | None:
        """The stages over refined spaces."""
        out = []
        for stage in self.stages:
            total = prod(stage.space)
            space = outer + inner if total == prod(outer) * prod(inner) and _has_inner(stage, self) else outer
            if prod(space) != total:
                return None
            out.append(_split(stage, space))
        return out

    # ---------------------------------------------------------------------------------------------- result

    def nest(self, needed: set[Value]) -> Nest:
        """The finished nest; values that are not needed outside are local to it."""
        for stage in self.stages:
            if isinstance(stage, Reduce):
                stage.settle()
        local = set() if self.partial else {v for v in self.made if v not in needed}
        return Nest(self.outer, self.inner, self.stages, local)


def _has_inner(stage: Loop | Reduce, group: _Group) -> bool:
    return isinstance(stage, Reduce) or not group.inner or prod(stage.space) != prod(group.outer)


def _boundary(space: tuple[int, ...], outer: int) -> int | None:
    """How many leading axes make up `outer` points."""
    for i in range(len(space) + 1):
        if prod(space[:i]) == outer:
            return i
    return None


def _split(node: Loop | Reduce, space: tuple[int, ...]) -> Loop | Reduce:
    return node if node.space == space else changed(node, splitting(node.space, splits(node.space, space)))


def _looks_up(node: Loop | Reduce, made: dict[Value, Loop | Reduce]) -> bool:
    """Whether it gathers from a value made in the nest: that may be an element which another point stores."""
    exprs = [s.expr for s in node.stores] if isinstance(node, Loop) else [node.expr]
    return any(x.op == "gather" and x.data.value in made for e in exprs for x in e.walk())


def _same_point(ref: Ref, made: dict[Value, Loop | Reduce], outer: int) -> bool:
    """Whether a load of a value made in the nest reads, at each outer point, what was stored at that point."""
    stage = made.get(ref.value)
    if stage is None:
        return True
    stored = _stored(stage, ref.value)
    if len(stored) == len(ref.strides):
        return _agree(ref, stored)
    if len(stored) == outer:  # one for each outer point
        if len(ref.strides) == outer:
            return _agree(ref, stored)
        return not any(ref.strides[outer:]) and _agree(ref, (*stored, *ref.strides[outer:]))
    return False


def _agree(ref: Ref, strides: tuple[int, ...]) -> bool:
    return ref.offset == 0 and all(n == 1 or a == b for n, a, b in zip(ref.shape, ref.strides, strides, strict=True))


def _stored(stage: Loop | Reduce, value: Value) -> tuple[int, ...]:
    """The strides through which a stage writes a value, over the axes that it has."""
    if isinstance(stage, Loop):
        return next(s.ref.strides for s in stage.stores if s.ref.value is value)
    return stage.strides
