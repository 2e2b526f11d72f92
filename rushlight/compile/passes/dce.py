"""Dead code: what no output and no check depends on, and what is not run for more than its results."""

from __future__ import annotations

from ..ir.graph import Extern, Graph, Loop
from ..ir.may_raise import stays


def dce(graph: Graph) -> Graph:
    """The graph without nodes, and stores of loops, whose values nothing reads."""
    needed = {ref.value for ref, _ in graph.outputs} | {value for value, *_ in graph.checks}
    kept = []
    for node in reversed(graph.nodes):
        if isinstance(node, Loop):
            stores = []
            for s in reversed(node.stores):  # a store may continue what one before it began
                if s.ref.value in needed:
                    stores.append(s)
                    needed.add(s.onto or s.ref.value)
            if not stores:
                continue
            node = node if len(stores) == len(node.stores) else Loop(node.space, stores[::-1])
        elif not any(v in needed for v in node.writes()) and not stays(node):
            continue
        if isinstance(node, Extern) and "saved" in node.options:
            node = _unsaved(node, needed)
        needed.update(r.value for r in node.reads())
        kept.append(node)
    graph.nodes = kept[::-1]
    return graph


def _unsaved(node: Extern, needed: set) -> Extern:
    """The node without the results that it saves for a backward pass, if nothing reads any of them."""
    saved = [node.results[i] for i in node.options["saved"]]
    if any(r is None or r.value in needed for r in saved):
        return node
    # those that continue an operand stay, for their place, and are not written to the end
    results = tuple(
        r if i not in node.options["saved"] or node.onto[i] is not None else None for i, r in enumerate(node.results)
    )
    return Extern(node.kind, node.operands, results, node.onto, **node.options)
