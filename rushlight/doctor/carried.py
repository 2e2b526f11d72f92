"""Where the graph of an earlier iteration enters the one of a later backward: what a loop carries on without detach()."""

from __future__ import annotations

from typing import Any

from ..core.tensor.node import Output
from .lines import Lines
from .places import Place, attribute_carried
from .tape import Tape

__all__ = ["crossing", "link", "node_of"]


def crossing(tape: Tape, old: set[int]) -> tuple[Any, Any]:
    """(the latest node of those with the identities `old` that another node uses, that node); None where there is none."""
    for node in tape.nodes:
        if id(node) not in old:
            for edge in node.edges:
                if edge is not None and id(node_of(edge)) in old:
                    return node_of(edge), node
    return None, None


def link(lines: Lines, tape: Tape, made: Any, user: Any) -> tuple[Place | None, Place | None]:
    """(the line that made what is carried on, the line that goes on with it), of the loop where it is the loop that carries it."""
    inner_made, inner_used = lines.of(made, tape), lines.of(user, tape)
    kept = attribute_carried(inner_made, inner_used) if inner_made is not None and inner_used is not None else None
    if kept is not None:
        return kept, inner_used  # by the module itself, and not by the loop that calls it
    used = lines.outer_of(user) or inner_used
    return lines.outer_of(made) or inner_made or used, used


def node_of(edge: Any) -> Any:
    """The node that an edge leads to."""
    return edge.edges[0] if type(edge) is Output else edge
