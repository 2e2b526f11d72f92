"""Whether a value of a trace depends on the elements of its inputs, or only on their sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..ir.graph import Node, Value, reads_of

if TYPE_CHECKING:
    from .builder import Frame

__all__ = ["is_of_data"]

_SIZES = {"aten::size", "aten::numel", "aten::dim"}


def is_of_data(value: Value, root: Frame) -> bool:
    """Follow a value back to what made it, in all calls below `root`."""
    made_by: dict[Value, Node] = {}
    same: dict[Value, Value] = {}  # a value and what it is in another call
    frames = [root]
    while frames:
        frame = frames.pop()
        frames += frame.children
        made_by |= {output: node for node in frame.graph.all_nodes() for output in node.outputs}
        same |= {inner: outer for outer, inner in frame.imports.items() if outer is not inner}
        same |= {outer: inner for inner, outer in frame.exports.items()}
    inputs = set(root.graph.inputs) - set(root.attributes.values())
    todo, seen = [value], set()
    while todo:
        value = todo.pop()
        if value in seen:
            continue
        seen.add(value)
        if value in inputs:
            return True
        if value in same:
            todo.append(same[value])
        elif value in made_by and made_by[value].kind not in _SIZES:
            todo += reads_of(made_by[value])
    return False
