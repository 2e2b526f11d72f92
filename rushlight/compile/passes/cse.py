"""Common subexpressions: nodes that compute the same from the same are computed once."""

from __future__ import annotations

from typing import Any

from ..ir.expression import Expr
from ..ir.graph import Extern, Graph, Loop, Node, Reduce, Value, same_strides
from ..ir.rewrite import renamed


def cse(graph: Graph) -> Graph:
    """The graph with one node for each computation. Values that outputs need for themselves stay."""
    known: dict[Any, tuple[Value, ...]] = {}
    numbers = Numbers()
    alias: dict[Value, Value] = {}
    own = {ref.value for ref, _ in graph.outputs}
    nodes: list[Node] = []
    for node in graph.nodes:
        node = renamed(node, alias)
        key = _key(node, numbers)
        values = tuple(node.writes())
        if key is None:
            nodes.append(node)
        elif key in known and not own.intersection(values) and _alike(values, known[key]):
            alias.update(zip(values, known[key], strict=True))
        else:
            known.setdefault(key, values)
            nodes.append(node)
    graph.nodes = nodes
    graph.checks = list(dict.fromkeys((alias.get(v, v), e, t) for v, e, t in graph.checks))
    return graph


def _alike(a: tuple[Value, ...], b: tuple[Value, ...]) -> bool:
    return all(
        x.dtype == y.dtype and x.size == y.size and (x.shape != y.shape or same_strides(x.shape, x.strides, y.strides))
        for x, y in zip(a, b, strict=True)
    )


def _key(node: Node, numbers: Numbers) -> Any:
    """What a node computes, or None for one that must not be joined with another."""
    if isinstance(node, Loop) and len(node.stores) == 1 and node.stores[0].onto is None:
        s = node.stores[0]
        return "loop", node.space, s.ref.shape, s.ref.strides, s.ref.offset, numbers.of(s.expr)
    if isinstance(node, Reduce):
        return "reduce", node.space, node.axes, node.strides, node.kind, numbers.of(node.expr)
    if isinstance(node, Extern) and node.kind != "blank" and not any(node.onto):
        results = tuple((r.shape, r.strides, r.offset, r.dtype) for r in node.results)
        return node.kind, node.operands, results, repr(sorted(node.options.items()))
    return None


class Numbers:
    """Numbers for expressions: equal for equal computations from the same values."""

    def __init__(self) -> None:
        self._known: dict[Any, int] = {}
        self._of: dict[int, int] = {}
        self._alive: list[Expr] = []  # an id names an expression only while that lives

    def of(self, e: Expr) -> int:
        """The expression's number."""
        for x in e.walk():
            if id(x) not in self._of:
                data = repr(x.data) if x.op == "const" else x.data
                key = (x.op, x.dtype.str, data, *(self._of[id(a)] for a in x.args))
                self._of[id(x)] = self._known.setdefault(key, len(self._known))
                self._alive.append(x)
        return self._of[id(e)]
