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
from typing import Any

from ...core.determinism import mode
from ..capture.sources import Argument, External, Gradient, Incoming, Kept, Option, Window
from ..ir.exchange import exchanged_by, is_among_several, is_exchange
from ..ir.expression import Expr
from ..ir.graph import Call, Extern, Graph, Loop, Nest, Node, Reduce, Value, Write
from ..ir.scalar_ops import SCALAR_OPS

__all__ = ["is_rounded_alike", "replicated"]

_ROUNDED_ONCE = {"square", "sqrt", "reciprocal", "add", "sub", "mul", "div", "fma"}
_IN_ANY_ORDER = {"max", "min", "any", "all", "argmax", "argmin"}


def replicated(graph: Graph) -> set[int]:
    """The identities of the nodes that all processes compute alike, where there are several."""
    if not mode.shared and not any(exchanged_by(node) for node in graph.nodes):
        return set()
    kinds = _kinds(graph)
    needed = {ref.value for ref, _ in graph.outputs}
    found: set[int] = set()
    for node in reversed(graph.nodes):
        written = list(node.writes())
        if is_exchange(node) or not needed.intersection(written) or not _ALIKE.intersection(map(kinds.get, written)):
            continue
        found.add(id(node))
        needed.update(r.value for r in node.reads())
    return found


# What a value depends on: something that this process alone has; else on what was exchanged; else on tensors of which nothing is
# known, such as statistics, or data that a function refers to; or on parameters and numbers alone.
_OWN, _EXCHANGED, _UNKNOWN, _PARAMETERS = range(4)
_ALIKE = {_EXCHANGED, _PARAMETERS}


def _kinds(graph: Graph) -> dict[Value, int]:
    """What each value depends on."""
    kinds = {value: _kind_of(source, value) for value, source in graph.inputs.items()}
    kinds.update(dict.fromkeys(graph.constants, _PARAMETERS))
    joined: dict[
        Value, list[Value]
    ] = {}  # what a value was put together of: who sends that sends these, and goes on with them
    for node in graph.nodes:
        if exchanged := exchanged_by(node):
            kinds.update(dict.fromkeys(exchanged, _EXCHANGED))
            for value in exchanged:
                kinds.update(dict.fromkeys(joined.get(value, ()), _EXCHANGED))
            continue
        if isinstance(node, Call) and node.record.name == "cat":
            joined.update((value, [r.value for r in node.reads()]) for value in node.writes())
        if is_among_several(node):  # such as a part of a sum
            kind = _OWN
        elif isinstance(node, Write) and kinds[node.source.value] == _EXCHANGED:
            kind = _EXCHANGED  # also where the rest of it is this process's own: that costs time only
        elif isinstance(node, Call) and node.record.draws:
            kind = _UNKNOWN
        else:
            kind = min((kinds[r.value] for r in node.reads()), default=_PARAMETERS)
        kinds.update(dict.fromkeys(node.writes(), kind))
    return kinds


def _kind_of(source: Any, value: Value) -> int:
    while isinstance(source, Window):
        source = source.source
    if isinstance(source, Incoming | Kept):
        return _OWN
    if isinstance(source, Argument):  # a number is rather one for all
        return _OWN if value.size > 1 else _UNKNOWN
    if isinstance(source, Gradient):  # what averages gradients is outside of the graph, or adds to them what is its own
        return _EXCHANGED if isinstance(source.of, External) else _OWN
    is_parameter = isinstance(source, External) and source.held.requires_grad
    return _PARAMETERS if is_parameter or isinstance(source, Option) else _UNKNOWN


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
