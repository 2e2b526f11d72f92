"""What all processes compute alike, to the bit: what becomes of the results of collectives, parameters above all.

One process replays a program while another one, with a smaller batch, runs eagerly or captures. What they average has the same
bits; so has what follows, if a program rounds there as eager calls do. So such an operator becomes loops only where each
of their operations has one right result. Sums, products of matrices and elementary functions, which generated code makes in
another order or by other polynomials, are left to the operator's kernel, and updates are not made by quicker arithmetic.

Only what reaches a result of the program counts, and not by way of another collective: of a batch normalization over all
processes the statistics are replicated, but what they normalize is each process's own.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..capture.sources import Argument
from ..ir.exchange import exchanged_by, is_exchange
from ..ir.expression import Expr
from ..ir.graph import Extern, Graph, Loop, Nest, Node, Reduce, Value, Write
from ..ir.scalar_ops import SCALAR_OPS

__all__ = ["is_rounded_alike", "replicated"]

_ROUNDED_ONCE = {"square", "sqrt", "reciprocal", "add", "sub", "mul", "div", "fma"}
_IN_ANY_ORDER = {"max", "min", "any", "all", "argmax", "argmin"}


def replicated(graph: Graph) -> set[int]:
    """The identities of the nodes that all processes compute alike, if collectives among several are in the graph."""
    if not any(exchanged_by(node) for node in graph.nodes):
        return set()
    own = _own(graph)
    needed = {ref.value for ref, _ in graph.outputs}
    found: set[int] = set()
    for node in reversed(graph.nodes):
        if is_exchange(node) or not needed.intersection(node.writes()) or own.intersection(node.writes()):
            continue
        found.add(id(node))
        needed.update(r.value for r in node.reads())
    return found


def _own(graph: Graph) -> set[Value]:
    """The values that depend on what this process alone has: its arguments, if they are more than a number."""
    own = {v for v, source in graph.inputs.items() if isinstance(source, Argument) and v.size > 1}
    shared: set[Value] = set()
    for node in graph.nodes:
        if is_exchange(node):
            values = exchanged_by(node)
            shared.update(values)
            own.difference_update(values)
        elif isinstance(node, Write) and node.source.value in shared:
            shared.add(node.result)  # also where the rest of it is this process's own: that costs time only
        elif any(r.value in own for r in node.reads()):
            own.update(node.writes())
        elif any(r.value in shared for r in node.reads()):
            shared.update(node.writes())
    return own


def is_rounded_alike(nodes: Iterable[Node]) -> bool:
    """Whether loops give the bits of any other way to compute the same."""
    return all(_node_is_rounded_alike(node) for node in nodes)


def _node_is_rounded_alike(node: Node) -> bool:
    if isinstance(node, Nest):
        return is_rounded_alike(node.stages)
    if isinstance(node, Loop):
        return all(_is_exact(s.expr) for s in node.stores)
    if isinstance(node, Reduce):
        whole = node.expr.dtype.kind in "biu"
        return (whole or node.kind in _IN_ANY_ORDER) and _is_exact(node.expr)
    return isinstance(node, Extern) and node.kind == "blank"


def _is_exact(expr: Expr) -> bool:
    return all(_has_one_result(e) for e in expr.walk())


def _has_one_result(e: Expr) -> bool:
    op = SCALAR_OPS.get(e.op)
    whole = all(a.dtype.kind in "biu" for a in e.args)
    return op is None or op.exact or whole or op.gives_bool or e.op in _ROUNDED_ONCE
