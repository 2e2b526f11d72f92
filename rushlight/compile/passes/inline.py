"""Producers move into the loops that use them, where recomputing costs less than keeping.

A value with one reader that reads each element once is always worth inlining; one with several readers, or read more
than once by broadcasting, only if it is cheap to compute from few loads.
"""

from __future__ import annotations

from math import prod

from ..ir import scalar_ops
from ..ir.expression import Expr
from ..ir.graph import Graph, Loop, Node, Reduce, Ref, Value
from ..ir.spaces import at, changed, follow, squeezed

_CHEAP = 10
_LARGEST = 200  # operations in one expression


def inline(graph: Graph) -> Graph:
    """The graph with loops merged into their readers."""
    nodes: list[Node] = []
    producers: dict[Value, tuple[Loop, float, int]] = {}
    readers = _readers(graph)
    kept = {ref.value for ref, _ in graph.outputs}
    for node in graph.nodes:
        if isinstance(node, Loop | Reduce):
            node = _with_producers(squeezed(node), producers, readers)
            if isinstance(node, Reduce):
                node.settle()
        nodes.append(node)
        if isinstance(node, Loop) and len(node.stores) == 1 and node.stores[0].onto is None:
            s = node.stores[0]
            if s.ref.covers() and s.ref.value not in kept:
                producers[s.ref.value] = (node, cost(s.expr, node.space), _large_loads(s.expr, node.space))
    graph.nodes = nodes
    return graph


def _readers(graph: Graph) -> dict[Value, int]:
    """How many windows onto each value are loaded, over the whole graph."""
    count: dict[Value, int] = {}
    for node in graph.nodes:
        for ref in node.reads():
            count[ref.value] = count.get(ref.value, 0) + 1
    for ref, _ in graph.outputs:
        count[ref.value] = count.get(ref.value, 0) + 1
    return count


def _with_producers(node: Loop | Reduce, producers: dict, readers: dict[Value, int]) -> Loop | Reduce:
    """The node with the producers of its loads in place of the loads, as far as that pays."""
    for _ in range(_LARGEST):
        step = _next(node, producers, readers)
        if step is None:
            return node
        node = step
    return node


def _next(node: Loop | Reduce, producers: dict, readers: dict[Value, int]) -> Loop | Reduce | None:
    exprs = [s.expr for s in node.stores] if isinstance(node, Loop) else [node.expr]
    ops = sum(1 for e in exprs for _ in e.walk())
    seen: set[Ref] = set()
    for e in exprs:
        for x in e.walk():
            if x.op not in ("load", "gather") or x.data in seen:
                continue
            seen.add(x.data)
            known = producers.get(x.data.value)
            if known is None:
                continue
            producer, price, loads = known
            if ops + sum(1 for _ in producer.stores[0].expr.walk()) > _LARGEST:
                continue
            if not _pays(x, node.space, producer, price, loads, readers):
                continue
            merged = _merge(node, x, producer)
            if merged is not None:
                return merged
    return None


def _pays(x: Expr, space: tuple[int, ...], producer: Loop, price: float, loads: int, readers: dict) -> bool:
    value = x.data.value
    if x.op == "gather":
        return prod(space) * 4 <= value.size or price <= _CHEAP
    if loads == 0 and price <= 2:
        return True
    repeated = prod(space) > value.size
    if readers.get(value, 0) <= 1 and not repeated:
        return True
    return price <= (1.0 if repeated else _CHEAP) and loads <= 1


def _merge(node: Loop | Reduce, x: Expr, producer: Loop) -> Loop | Reduce | None:
    """The node with the window `x.data` computed by the producer's expression."""
    stored = producer.stores[0]
    if x.op == "gather":
        return _merge_gather(node, x, producer)
    found = follow(x.data, node.space, stored.ref)
    if found is None:
        return None
    split, place = found
    wanted = split.ref(x.data)
    node = changed(node, split)
    expr = place.expr(stored.expr)
    return _substituted(node, lambda e: expr if e.op == "load" and e.data == wanted else None)


def _merge_gather(node: Loop | Reduce, x: Expr, producer: Loop) -> Loop | Reduce | None:
    stored = producer.stores[0]
    found = follow(x.data, x.data.shape, stored.ref)
    if found is None or found[0].space != x.data.shape:
        return None
    inner = found[1].expr(stored.expr)
    return _substituted(node, lambda e: at(inner, e.args) if e.op == "gather" and e.data == x.data else None)


def _substituted(node: Loop | Reduce, change) -> Loop | Reduce:
    if isinstance(node, Loop):
        return Loop(node.space, [s._replace(expr=s.expr.rebuild(change)) for s in node.stores])
    return Reduce(node.space, node.axes, node.kind, node.expr.rebuild(change), node.result, node.strides)


def cost(e: Expr, space: tuple[int, ...]) -> float:
    """What each point of a space costs, but for loads; what does not vary along an axis is shared along it."""
    total = 0.0
    whole = max(1, prod(space))
    varies: dict[int, frozenset[int]] = {}
    for x in e.walk():
        if x.op == "load":
            axes = frozenset(i for i, s in enumerate(x.data.strides) if s)
        elif x.op == "index":
            axes = frozenset((x.data,))
        else:
            axes = frozenset().union(*(varies[id(a)] for a in x.args))
        varies[id(x)] = axes
        if x.op not in ("load", "index"):
            total += scalar_ops.cost(x.op) * prod(space[i] for i in axes) / whole
    return total


def _large_loads(e: Expr, space: tuple[int, ...]) -> int:
    """How many different windows are read whose size is that of the space; a lookup counts as two."""
    whole = prod(space)
    lookups = {x.data for x in e.walk() if x.op == "gather"}
    windows = {x.data for x in e.walk() if x.op == "load"}
    full = sum(prod(n for n, s in zip(r.shape, r.strides, strict=True) if s) >= whole for r in windows)
    return full + 2 * len(lookups)
