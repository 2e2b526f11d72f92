"""Replacing a pattern of calls in a graph by another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ._symbolic_trace import symbolic_trace
from .graph import Graph
from .graph_module import GraphModule
from .node import Node

__all__ = ["Match", "replace_pattern"]


class Match(NamedTuple):
    """A place where a pattern was found: the node of its result, and which node matches which of the pattern's."""

    anchor: Node
    nodes_map: dict[Node, Any]


def replace_pattern(
    gm: GraphModule, pattern: Callable | GraphModule, replacement: Callable | GraphModule
) -> list[Match]:
    """Replace each place of `gm` that computes what `pattern` does by the calls of `replacement`; the places.

    Both take the same parameters, which match any value. Places that share a node are replaced once.
    """
    wanted, new = _graph_of(pattern), _graph_of(replacement)
    found: list[Match] = []
    taken: set[Node] = set()
    result = wanted.output_node().args[0]
    for node in list(gm.graph.nodes):
        known: dict[Node, Any] = {}
        if not matches(result, node, known):
            continue
        inside = {v for k, v in known.items() if k.op != "placeholder" and isinstance(v, Node)}
        if inside & taken or any(u not in inside for n in inside - {node} for u in n.users):
            continue
        taken |= inside
        found.append(Match(node, known))
    for match in found:
        _replace(gm.graph, match, wanted, new)
    gm.recompile()
    return found


def _graph_of(pattern: Callable | GraphModule) -> Graph:
    return pattern.graph if isinstance(pattern, GraphModule) else symbolic_trace(pattern).graph


def _target(node: Node) -> Any:
    return node.target


def _equal(wanted: Any, given: Any) -> bool:
    return type(wanted) is type(given) and wanted == given


def matches(
    wanted: Any,
    given: Any,
    known: dict[Node, Any],
    called: Callable[[Node], Any] = _target,
    equal: Callable[[Any, Any], bool] = _equal,
) -> bool:
    """Whether a part of a pattern is a part of a graph.

    known: what the pattern's nodes are there, as found so far. called: what of a node has to be the same; equal: compares what
    is no node.
    """
    if isinstance(wanted, (tuple, list)) and isinstance(given, (tuple, list)):
        same = len(wanted) == len(given)
        return same and all(matches(w, g, known, called, equal) for w, g in zip(wanted, given, strict=True))
    if not isinstance(wanted, Node):
        return not isinstance(given, Node) and equal(wanted, given)
    if wanted in known:
        return known[wanted] is given
    if wanted.op == "placeholder":
        known[wanted] = given
        return True
    if not isinstance(given, Node) or (wanted.op, called(wanted)) != (given.op, called(given)):
        return False
    if len(wanted.args) != len(given.args) or wanted.kwargs.keys() != given.kwargs.keys():
        return False
    known[wanted] = given
    pairs = [*zip(wanted.args, given.args, strict=True), *((v, given.kwargs[k]) for k, v in wanted.kwargs.items())]
    return all(matches(w, g, known, called, equal) for w, g in pairs)


def _replace(graph: Graph, match: Match, wanted: Graph, new: Graph) -> None:
    parameters = zip(wanted.find_nodes(op="placeholder"), new.find_nodes(op="placeholder"), strict=True)
    values = {theirs: match.nodes_map[ours] for ours, theirs in parameters}
    with graph.inserting_before(match.anchor):
        result = graph.graph_copy(new, values)
    match.anchor.replace_all_uses_with(result)
    for node in reversed(list(wanted.nodes)):
        old = match.nodes_map.get(node)
        if node.op != "placeholder" and isinstance(old, Node) and not old.users and not old._erased:
            graph.erase_node(old)
