"""What a captured graph need not do."""

from __future__ import annotations

from .graph import Graph, Node, Update
from .may_raise import stays


def prune(graph: Graph) -> Graph:
    """The graph without the nodes whose results nothing reads, and which do nothing else."""
    wanted = {ref.value for ref, _ in graph.outputs}
    kept: list[Node] = []
    for node in reversed(graph.nodes):
        if stays(node) or isinstance(node, Update) or any(v in wanted for v in node.writes()):
            kept.append(node)
            wanted.update(r.value for r in node.reads())
    graph.nodes = kept[::-1]
    graph.constants = {v: a for v, a in graph.constants.items() if v in wanted}
    return graph
