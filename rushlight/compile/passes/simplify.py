"""Sums that have one term: the gradient of a picked class is zero everywhere else, and its sum is the pick itself."""

from __future__ import annotations

from math import prod

import numpy as np

from ..ir.expression import Expr, apply, cast, const, load
from ..ir.graph import Graph, Loop, Node, Reduce, Store, Value
from ..ir.spaces import reordering


def simplify(graph: Graph) -> Graph:
    """The graph with sums over an axis of `where(position == i, x, 0)` replaced by x, or 0 where i is outside."""
    graph.nodes = [_one_term(n) or n if isinstance(n, Reduce) else n for n in graph.nodes]
    return graph


def _one_term(node: Reduce) -> Loop | None:
    if node.kind != "sum" or len(node.axes) != 1:
        return None
    (axis,), e = node.axes, node.expr
    if e.op != "where" or not _is_zero(e.args[2]) or e.args[0].op != "eq":
        return None
    for position, place in (e.args[0].args, e.args[0].args[::-1]):
        if _is_position(position, axis) and not _varies(place, axis) and not _varies(e.args[1], axis):
            return _picked(node, axis, place, e.args[1])
    return None


def _picked(node: Reduce, axis: int, place: Expr, value: Expr) -> Loop:
    kept = tuple(i for i in range(len(node.space)) if i != axis)
    change = _without(node.space, axis, kept)
    i, x = change(place), change(value)
    inside = apply("and", apply("ge", i, const(0, i.dtype)), apply("lt", i, const(node.space[axis], i.dtype)))
    expr = apply("where", inside, x, const(0, x.dtype))
    return Loop(change.space, [Store(node.result.ref(), cast(expr, node.result.dtype))])


class _without:
    """Expressions that do not vary along an axis, over the space without it."""

    def __init__(self, space: tuple[int, ...], axis: int, kept: tuple[int, ...]):
        short = tuple(1 if i == axis else n for i, n in enumerate(space))
        self.axis, self.change, self.space = axis, reordering(short, kept), tuple(space[i] for i in kept)

    def __call__(self, e: Expr) -> Expr:
        def shortened(x: Expr) -> Expr | None:
            if x.op != "load":
                return None
            r = x.data
            shape = tuple(1 if i == self.axis else n for i, n in enumerate(r.shape))
            return load(r._replace(shape=shape))

        return self.change.expr(e.rebuild(shortened))


def _is_zero(e: Expr) -> bool:
    return e.op == "const" and not np.asarray(e.data).any() and e.dtype.kind in "fiu"


def _is_position(e: Expr, axis: int) -> bool:
    while e.op == "cast" and e.dtype.kind in "iu" and e.dtype.itemsize >= 4:
        e = e.args[0]
    return e.op == "index" and e.data == axis


def _varies(e: Expr, axis: int) -> bool:
    return any(x.op == "load" and x.data.strides[axis] or x.op == "index" and x.data == axis for x in e.walk())


# ------------------------------------------------------------------------------------------------- lookups

_LARGE = 1 << 16


def hoist_lookups(graph: Graph) -> Graph:
    """The graph with a few elements of a large value picked as soon as they are there.

    The loop that then reads all of it is the last one to do so, and may write over it.
    """
    known = {*graph.inputs, *graph.constants}
    made: dict[Value, list[Node]] = {}
    nodes: list[Node] = []
    for node in graph.nodes:
        if isinstance(node, Loop | Reduce):
            node = _without_lookups(node, known, made)
        nodes.append(node)
    graph.nodes = [n for node in nodes for n in (node, *(pick for v in node.writes() for pick in made.get(v, ())))]
    return graph


def _without_lookups(node: Loop | Reduce, known: set[Value], made: dict[Value, list[Node]]) -> Loop | Reduce:
    def change(e: Expr) -> Expr | None:
        if e.op != "gather" or e.data.value in known or e.data.value.size < max(_LARGE, 16 * prod(node.space)):
            return None
        if not all(r.value in known for a in e.args for r in a.loads()):
            return None
        picked = Value(node.space, e.dtype)
        made.setdefault(e.data.value, []).append(Loop(node.space, [Store(picked.ref(), e)]))
        return load(picked.ref())

    if isinstance(node, Reduce):
        return Reduce(node.space, node.axes, node.kind, node.expr.rebuild(change), node.result, node.strides)
    return Loop(node.space, [s._replace(expr=s.expr.rebuild(change)) for s in node.stores])
